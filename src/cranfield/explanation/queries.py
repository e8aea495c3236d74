"""Query differences: shows on which queries the second of two runs is worse, on which better."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from cranfield.arrays.ranked import floored_log
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.explanation.pointer import explain_hint
from cranfield.explanation.query import check_limit
from cranfield.explanation.sentences import format_change
from cranfield.measures import Measure
from cranfield.notes import Note, format_notes
from cranfield.render.numbers import format_query_count
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.evaluate import score_runs
from cranfield.scoring.scores import TIE, Direction, format_score

_MAX_ROWS = 10  # of a table, before the others are left out


@dataclass(frozen=True)
class QueryDifference:
    """A query's value in each of two runs; `difference` is right - left.

    `direction` says what the second run is: worse, better or the same; of a measure for which it
    is not known whether more is better, more counts as better. `ratio` is right / left where the
    measure has a geometric mean, values below 0.00001 taken as 0.00001; else None.
    """

    query_id: str
    left: float
    right: float
    difference: float
    ratio: float | None
    direction: Direction


@dataclass(frozen=True, eq=False, repr=False)
class QueryDifferences(Shown):
    """On which queries the second of two runs is worse than the first, and on which better.

    `queries` has all that both runs were scored on: those that got worse, the worst first; those
    that got better, the best first; then those whose values are the same up to rounding
    (1e-9). Equal ones are in the order of their ids. Where the measure has a geometric mean, the
    ratio of the two values decides.

    >>> from cranfield import explain
    >>> qrels = {"q1": {"d1": 1}, "q2": {"d2": 1}, "q3": {"d3": 1}}
    >>> old = {"q1": ["d1"], "q2": ["d2"], "q3": ["d1", "d3"]}
    >>> new = {"q1": ["d2", "d1"], "q2": ["d2"], "q3": ["d3"]}
    >>> page = explain(qrels, {"old": old, "new": new}, "RR")
    >>> [(query.query_id, query.difference) for query in page.queries]
    [('q1', -0.5), ('q3', 0.5), ('q2', 0.0)]
    >>> page.counts
    {'worse': 1, 'better': 1, 'same': 1}
    """

    header = tuple(field.name for field in fields(QueryDifference))

    names: tuple[str, str]
    measure: Measure
    left: float  # the value over all queries
    right: float
    queries: Sequence[QueryDifference]
    options: Mapping[str, Any]  # of `Judging`, those that are not at their defaults
    notes: Sequence[Note]  # what else to know of the scores

    @property
    def counts(self) -> dict[str, int]:
        """How many queries are worse, better and the same."""
        counts = Counter(difference.direction for difference in self.queries)
        directions: tuple[Direction, ...] = ("worse", "better", "same")
        return {direction: counts[direction] for direction in directions}

    @classmethod
    def of_runs(
        cls, qrels: Qrels, runs: Mapping[str, Run], measure: Measure, judging: Judging
    ) -> "QueryDifferences":
        """Score two runs, by name, and compare them query by query."""
        systems = score_runs(qrels, runs, [measure], judging)
        left_scores, right_scores = systems.values()
        left_values, right_values = (
            scores.per_query(measure) for scores in (left_scores, right_scores)
        )
        queries = [query for query in left_values if query in right_values]
        columns = ([side[query] for query in queries] for side in (left_values, right_values))
        values = np.array(list(columns))
        by_ratio = measure.definition.aggregation == "geometric"
        terms = floored_log(values) if by_ratio else values
        gains = terms[1] - terms[0]
        gains[np.abs(gains) <= TIE] = 0.0
        if measure.definition.higher_is_better is False:
            gains = -gains
        differences = []
        # Worse queries come first, then better ones, the farthest from 0 first; the same come last.
        for row in np.lexsort((-np.abs(gains), np.array([2, 1, 0])[np.sign(gains).astype(int)])):
            old, new = values[:, row].tolist()
            ratio = math.exp(terms[1, row] - terms[0, row]) if by_ratio else None
            gain = gains[row]
            direction: Direction = "worse" if gain < 0 else "better" if gain > 0 else "same"
            differences.append(QueryDifference(queries[row], old, new, new - old, ratio, direction))
        names = tuple(runs)
        return cls(
            names=(names[0], names[1]),
            measure=measure,
            left=left_scores[measure],
            right=right_scores[measure],
            queries=differences,
            options=judging.changed_options(),
            notes=systems.notes,
        )

    def tables(self, limit: int | None = _MAX_ROWS) -> list[Table]:
        """Return the queries that changed as a table, the first `limit` of them (None: all).

        Raises OptionError if `limit` is not a whole number of 1 or more.
        """
        check_limit(limit)
        left_name, right_name = self.names
        counts = self.counts
        changed_queries = [query for query in self.queries if query.direction != "same"]
        shown_queries = changed_queries[:limit]
        by_ratio = self.measure.definition.aggregation == "geometric"
        rows = []
        for query in shown_queries:
            texts = [format_score(self.measure, value) for value in (query.left, query.right)]
            change = format_change(query.difference)
            change = change if query.ratio is None else f"x{query.ratio:.4g}"
            rows.append([query.query_id, *texts, change, query.direction])
        texts = [format_score(self.measure, value) for value in (self.left, self.right)]
        title = [
            f"{self.measure}: {texts[0]} ({left_name}), {texts[1]} ({right_name})",
            f"{right_name} is worse on {format_query_count(counts['worse'])}, "
            f"better on {counts['better']:,}, the same on {counts['same']:,}",
        ]
        n_worse = sum(query.direction == "worse" for query in shown_queries)
        rules = {n_worse} if 0 < n_worse < len(shown_queries) else set()
        header = ["query_id", left_name, right_name, "ratio" if by_ratio else "change", ""]
        notes = [*self._row_notes(shown_queries, len(changed_queries)), *format_notes(self.notes)]
        return [Table(header, rows, notes, ruled_rows=frozenset(rules), title=title, n_sentences=1)]

    def _row_notes(self, shown_queries: Sequence[QueryDifference], n_changed: int) -> list[str]:
        """Return the lines below the table; `n_changed` queries are worse or better in all."""
        if not n_changed:
            return ["No query changed."]
        lines = []
        if self.measure.definition.higher_is_better is False:
            lines.append(f"{self.measure}: less is better.")
        counts = Counter(self.counts) - Counter(query.direction for query in shown_queries)
        directions = [direction for direction in ("worse", "better") if counts[direction]]
        count_texts = [f"{counts[direction]:,} {direction}" for direction in directions]
        if count_texts:
            lines.append(f"Not shown: {' and '.join(count_texts)}.")
        return [*lines, explain_hint(self.measure, shown_queries[0].query_id)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "measure": str(self.measure),
            "runs": list(self.names),
            "values": [self.left, self.right],
            "counts": self.counts,
            "queries": [asdict(difference) for difference in self.queries],
            "options": dict(self.options),
            "notes": [note.to_dict() for note in self.notes],
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each query: all of its QueryDifference."""
        return [asdict(difference) for difference in self.queries]
