"""Comparison: the result of `compare`, as tables, rows and plain values."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, Literal

import numpy as np

from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.extra_columns import join_columns
from cranfield.comparison.judged_share import judged_legend
from cranfield.comparison.result import Change, Pair, Result
from cranfield.comparison.scale import to_compared_unit
from cranfield.comparison.score_columns import canonical_name
from cranfield.comparison.settings import Settings
from cranfield.comparison.significance import TIE
from cranfield.comparison.tables import (
    changes_table,
    comparison_table,
    differences_table,
    mark_legend,
    means_table,
)
from cranfield.errors import OptionError, check_choice
from cranfield.measures import Measure
from cranfield.notes import Note, lines_below_table, merge_notes
from cranfield.options import check_option, whole_check
from cranfield.render.shown import Shown
from cranfield.render.table import Table, put_lines_last

_ALL_MARKS_STAY = r"keeps (\S+) of \1 marks"  # of a note that tables leave out
_COLUMNS = [name for name in Pair.names() if name != "changes"]
# Of the systems of a pair, with all pairs.
_RANK_COLUMNS = [
    f"{side}{name}" for side in ("", "other_") for name in ("rank_low", "rank_high", "p_best")
]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """Systems compared: a Result for each measure, and for each slice of the queries.

    `comparison["nDCG@10"]` is the Result on all queries, `comparison["nDCG@10"]["dense"]` one
    system's Pair with the baseline.

    >>> from cranfield import compare
    >>> found = compare("demo/qrels.txt", ["demo/bm25.run", "demo/dense.run"], "nDCG@10 AP")
    >>> pair = found["AP"]["dense"]
    >>> round(pair.difference, 4), pair.verdict, (pair.wins, pair.ties, pair.losses)
    (0.2739, 'better', (35, 4, 1))
    >>> found.changes("dense", measure="AP", n=1)
    {'q29': 0.8571428571428572}

    With all pairs and a correction for any false alarm, `ranks` of a Result has the places that
    each system may have, all right at once with a chance of 1 - `alpha`, and whether it may be the
    best: {system: Rank}, with `low`, `high`, `p_best` and `may_be_best`.

    >>> runs = [f"demo/{name}.run" for name in ("bm25", "dense", "fusion", "tfidf")]
    >>> ranks = compare("demo/qrels.txt", runs, "nDCG@10", all_pairs=True)["nDCG@10"].ranks
    >>> {name: (rank.low, rank.high) for name, rank in ranks.items()}
    {'bm25': (3, 4), 'dense': (1, 1), 'fusion': (2, 2), 'tfidf': (3, 4)}
    >>> [name for name, rank in ranks.items() if rank.may_be_best]
    ['dense']
    """

    header = ("measure", "label", "slice", "comparisons", *_COLUMNS, *_RANK_COLUMNS)

    aligned: AlignedScores
    settings: Settings
    results: Sequence[Result]
    data_notes: tuple[Note, ...]
    has_first_baseline: bool = False  # whether the baseline is the first system, as none was named

    def __getitem__(self, measure: str | Measure) -> Result:
        """Return the result of one measure on all queries."""
        return self.slice(measure, None)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes on each result, with its measure and slice, and on the data."""
        return (*self._merge_result_notes(), *self.data_notes)

    def _merge_result_notes(self, n_results: int | None = None) -> list[Note]:
        """Return each note on results once, with the results that it applies to, unless to all.

        `n_results` is the number of all; if it is given, the measure is not named where it is the
        only one, or where the note names it.
        """
        names_measures = n_results is None or len(self.aligned.measures) > 1
        named_notes = []
        for result in self.results:
            for note in result.notes:
                is_named = n_results and note.text.startswith(f"{result.measure}:")
                measure = result.measure if names_measures and not is_named else ""
                named_notes.append((" of ".join(filter(None, (measure, result.slice_label))), note))
        return merge_notes(named_notes, n_results)

    @property
    def _measure_names(self) -> Sequence[str]:
        return self.aligned.measures

    def slice(self, measure: str | Measure, name: str | None, label: str | None = None) -> Result:
        """Return the result of one measure on the queries of one slice of one label.

        If `name` is None, on all queries; if `label` is None, of the first label with such a slice.
        Raises KeyError if there is none.
        """
        measure_name = canonical_name(measure, self.aligned.measures)
        for result in self.results:
            has_label = label in (None, result.label)
            if has_label and (result.measure, result.slice) == (measure_name, name):
                return result
        of_all = name is None
        all_names = dict.fromkeys(
            result.measure if of_all else str(result.slice) for result in self.results
        )
        raise KeyError(f"{measure if of_all else name}: there are {', '.join(all_names)}")

    def changes(
        self,
        system: str,
        other: str | None = None,
        measure: str | Measure | None = None,
        n: int | None = None,
        only: Literal["better", "worse"] | None = None,
    ) -> dict[str, float]:
        """Return {query_id: score of `system` - score of `other`}, the largest changes first.

        Queries that do not change are left out. `other` is the baseline unless stated, `measure`
        the first one; `n` is the most to return, `only` keeps those on which `system` is better, or
        worse. Where the measure has a geometric mean, the largest change is that with the ratio
        farthest from 1. Raises OptionError if `n` is not a count or `only` another word, or
        if there is no baseline and no `other`; KeyError for an unknown system or measure.
        """
        max_changes = None if n is None else check_option("n", n, whole_check(0))
        names = self.aligned.system_names
        other = other if other is not None else self.settings.only_baseline
        if other is None:
            kind = "several baselines" if self.settings.baselines else "all pairs"
            raise OptionError(f"other: with {kind}, state one of the systems {', '.join(names)}")
        for name in (system, other):
            if name not in names:
                raise KeyError(f"{name!r}: the systems are {', '.join(names)}")
        if only is not None:
            check_choice("only", only, ("better", "worse"))
        result = self[self.aligned.measures[0] if measure is None else measure]
        all_changes = [
            change
            for change, gain in self._list_changes(result, system, str(other))
            if only is None or (gain > 0) == (only == "better")
        ]
        changes = all_changes[:max_changes]
        return {change.query_id: change.score - change.other_score for change in changes}

    def _list_changes(self, result: Result, system: str, other: str) -> list[tuple[Change, float]]:
        """Return (change, gain) of each query on which two systems differ, largest changes first.

        The gain is by how much `system` is better, in the unit in which scores are compared.
        """
        names, query_ids = self.aligned.system_names, self.aligned.query_ids
        columns = [names.index(other), names.index(system)]
        scores = self.aligned.measure_scores(result.measure)[:, columns]
        compared_scores = to_compared_unit(self.aligned.find_measure(result.measure), scores)
        gain = (compared_scores[:, 1] - compared_scores[:, 0]) * (
            1 if result.higher_is_better else -1
        )
        gain_size = np.abs(gain)
        order = np.argsort(-gain_size, kind="stable")
        order = order[gain_size[order] > min(self.settings.tie, TIE)]
        return [(Change(query_ids[i], *scores[i].tolist()), float(gain[i])) for i in order.tolist()]

    def tables(self, *, means: bool = False, changes: int = 0) -> list[Table]:
        """Return a table for each measure; then, if there are slices, one for each label.

        Behind them are those that extensions or options add. The lines that explain all of them are
        below the last.

        `means` adds each system's mean with its own interval. `changes` is how many queries of each
        pair to list on which the system is worse, the worst first, and how many on which it is
        better. Raises OptionError if it is not a count.
        """
        n_changes = check_option("changes", changes, whole_check(0))
        measures = self.aligned.measures
        tables: list[Table] = []
        named_legends: list[tuple[str, Note]] = []
        for measure in measures:
            measure_tables = self._list_tables(measure, means=means, n_changes=n_changes)
            lines = dict.fromkeys(line for table in measure_tables for line in table.notes)
            named_legends += [
                ("" if measure in line else measure, Note("legend", "info", line)) for line in lines
            ]
            if tables and tables[0].title[1:] == measure_tables[0].title[1:]:
                first_table = replace(measure_tables[0], title=measure_tables[0].title[:1])
                measure_tables = [first_table, *measure_tables[1:]]
            tables += measure_tables
        legend_lines = [
            *mark_legend(self.results, self.settings),
            *map(str, merge_notes(named_legends, len(measures))),
            *judged_legend(self.results),
        ]
        result_notes = self._merge_result_notes(len(self.results))
        notes = [
            note
            for note in (*result_notes, *self.data_notes)
            if not re.search(_ALL_MARKS_STAY, note.text)
        ]
        if self.has_first_baseline:
            names = self.aligned.system_names
            text = f"Baseline: {names[0]}, the first of {len(names):,}."
            notes.append(Note("baseline", "info", text))
        return put_lines_last(tables, lines_below_table(legend_lines, notes))

    def _list_tables(self, measure: str, *, means: bool, n_changes: int) -> list[Table]:
        """Return the tables of a measure, each with the legend of its columns below."""
        tables = []
        result = self[measure]
        for label in dict.fromkeys(result.label for result in self.results):
            key = measure, label
            label_results = [
                result for result in self.results if (result.measure, result.label) == key
            ]
            tables.append(comparison_table(label_results, self.settings))
            for block in self.aligned.extra_columns if label is None else ():
                tables += block.tables(label_results[0], self.settings)
            differences = None if label else differences_table(result, self.settings)
            tables += [] if differences is None else [differences]
        if means and len(result.systems) > 1:
            tables.append(means_table(result, self.settings))
        if n_changes and result.pairs:
            tables.append(changes_table(result, [*self._most_changed(result, n_changes)]))
        return tables

    def _most_changed(
        self, result: Result, n: int
    ) -> Iterator[tuple[Pair, list[Change], list[Change]]]:
        """Yield of each pair the n changes that lose most, and the n changes that gain most."""
        for pair in result.pairs:
            changes = self._list_changes(result, pair.system, pair.other)
            losses, gains = (
                [change for change, gain in changes if (gain > 0) == is_better][:n]
                for is_better in (False, True)
            )
            yield pair, losses, gains

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each measure, slice and pair; what does not exist is None.

        A row has every field of a Pair except `changes`, which is a list, and the `Result.ranks` of
        both systems: `rank_low`, `rank_high`, `p_best`, and the same of the other as `other_...`.
        """
        return self._rows_as_dicts(
            (
                result.measure,
                result.label,
                result.slice,
                result.comparisons,
                *(getattr(pair, name) for name in _COLUMNS),
                *(
                    value
                    for name in (pair.system, pair.other)
                    for value in (astuple(ranks[name])[:3] if ranks else (None,) * 3)
                ),
            )
            for result in self.results
            for ranks in [result.ranks]
            for pair in result.pairs
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as for JSON, with what is needed to repeat it.

        `scores`, and `clusters` if there are any, are in the order of `query_ids`; with several
        runs of a system, so are the scores of each run in `run_scores`.
        """
        labels = self.aligned.units.labels
        return {
            "settings": self.settings.to_dict(),
            "recipe": dict(self.aligned.recipe),
            "systems": list(self.aligned.system_names),
            "query_ids": list(self.aligned.query_ids),
            "clusters": labels and list(labels),
            "scores": {
                measure: dict(zip(self.aligned.system_names, columns.T.tolist(), strict=True))
                for measure, columns in zip(self.aligned.measures, self.aligned.scores, strict=True)
            },
            "run_scores": None,
            **join_columns(block.to_dict(self.aligned) for block in self.aligned.extra_columns),
            "results": [result.to_dict() for result in self.results],
            "notes": [note.to_dict() for note in self.notes],
        }
