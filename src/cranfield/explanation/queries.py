"""Two runs over all queries: on which the second one is worse, on which better."""

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

_MAX_ROWS = 10


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
    >>> found = explain(qrels, {"old": old, "new": new}, "RR")
    >>> [(one.query_id, one.difference) for one in found.queries]
    [('q1', -0.5), ('q3', 0.5), ('q2', 0.0)]
    >>> found.counts
    {'worse': 1, 'better': 1, 'same': 1}
    """

    header = tuple(one.name for one in fields(QueryDifference))

    names: tuple[str, str]
    measure: Measure
    left: float  # the value over all queries
    right: float
    queries: Sequence[QueryDifference]
    options: Mapping[str, Any]
    notes: Sequence[Note]  # what else to know of the scores

    @property
    def counts(self) -> dict[str, int]:
        """How many queries are worse, better and the same."""
        found = Counter(one.direction for one in self.queries)
        ways: tuple[Direction, ...] = ("worse", "better", "same")
        return {way: found[way] for way in ways}

    @classmethod
    def of_runs(
        cls, qrels: Qrels, runs: Mapping[str, Run], measure: Measure, judging: Judging
    ) -> "QueryDifferences":
        """Score two runs, by name, and compare them query by query."""
        systems = score_runs(qrels, runs, [measure], judging)
        left, right = systems.values()
        mine, its = (one.per_query(measure) for one in (left, right))
        queries = [query for query in mine if query in its]
        values = np.array([[of[query] for query in queries] for of in (mine, its)])
        by_ratio = measure.definition.aggregation == "geometric"
        compared = floored_log(values) if by_ratio else values
        gains = compared[1] - compared[0]
        gains[np.abs(gains) <= TIE] = 0.0
        if measure.definition.higher_is_better is False:
            gains = -gains
        found = []
        # Worse ones come first, each way the farthest from 0 first, what is the same last.
        for row in np.lexsort((-np.abs(gains), np.array([2, 1, 0])[np.sign(gains).astype(int)])):
            old, new = values[:, row].tolist()
            ratio = math.exp(compared[1, row] - compared[0, row]) if by_ratio else None
            gain = gains[row]
            way: Direction = "worse" if gain < 0 else "better" if gain > 0 else "same"
            found.append(QueryDifference(queries[row], old, new, new - old, ratio, way))
        names = tuple(runs)
        return cls(
            (names[0], names[1]),
            measure,
            left[measure],
            right[measure],
            found,
            judging.changed_options(),
            systems.notes,
        )

    def tables(self, limit: int | None = _MAX_ROWS) -> list[Table]:
        """Return the queries that changed as a table, the first `limit` of them (None: all).

        Raises OptionError if `limit` is not a whole number of 1 or more.
        """
        check_limit(limit)
        left, right = self.names
        counts = self.counts
        changed = [one for one in self.queries if one.direction != "same"]
        first = changed[:limit]
        by_ratio = self.measure.definition.aggregation == "geometric"
        rows = [
            [
                one.query_id,
                format_score(self.measure, one.left),
                format_score(self.measure, one.right),
                format_change(one.difference) if one.ratio is None else f"x{one.ratio:.4g}",
                one.direction,
            ]
            for one in first
        ]
        values = [format_score(self.measure, value) for value in (self.left, self.right)]
        title = [
            f"{self.measure}: {values[0]} ({left}), {values[1]} ({right})",
            f"{right} is worse on {format_query_count(counts['worse'])}, better on {counts['better']:,}, "
            f"the same on {counts['same']:,}",
        ]
        n_worse = sum(one.direction == "worse" for one in first)
        rules = {n_worse} if 0 < n_worse < len(first) else set()
        header = ["query_id", left, right, "ratio" if by_ratio else "change", ""]
        notes = [*self._row_notes(first, len(changed)), *format_notes(self.notes)]
        return [Table(header, rows, notes, ruled_rows=frozenset(rules), title=title, n_sentences=1)]

    def _row_notes(self, shown_queries: Sequence[QueryDifference], n_changed: int) -> list[str]:
        """Return what to say of the rows that are shown, and of those that are not."""
        if not n_changed:
            return ["No query changed."]
        said = []
        if self.measure.definition.higher_is_better is False:
            said.append(f"{self.measure}: less is better.")
        hidden = Counter(self.counts) - Counter(one.direction for one in shown_queries)
        listed = [f"{hidden[way]:,} {way}" for way in ("worse", "better") if hidden[way]]
        if listed:
            said.append(f"Not shown: {' and '.join(listed)}.")
        return [*said, explain_hint(self.measure, shown_queries[0].query_id)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "measure": str(self.measure),
            "runs": list(self.names),
            "values": [self.left, self.right],
            "counts": self.counts,
            "queries": [asdict(one) for one in self.queries],
            "options": dict(self.options),
            "notes": [one.to_dict() for one in self.notes],
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each query: all of its QueryDifference."""
        return [asdict(one) for one in self.queries]
