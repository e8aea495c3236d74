"""Comparison: what compare returns, and the forms that it goes out in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from cranfield.comparison.alignment import Aligned
from cranfield.comparison.geometric import logs
from cranfield.comparison.result import Pair, Result
from cranfield.comparison.settings import Settings
from cranfield.comparison.significance import TIE
from cranfield.comparison.tables import changes_table, differences_of, means_of, table_of
from cranfield.errors import one_of
from cranfield.measures import Measure, parse
from cranfield.notes import Note, merged
from cranfield.render.numbers import some
from cranfield.render.shown import Shown
from cranfield.render.table import Table

_COLUMNS = [one.name for one in fields(Pair) if one.name != "changes"]


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
    """

    header = ("measure", "label", "slice", "comparisons", *_COLUMNS)

    aligned: Aligned
    settings: Settings
    results: Sequence[Result]
    data_notes: tuple[Note, ...]
    bounds: bool = False  # whether to show what unjudged documents may change

    def __getitem__(self, measure: str | Measure) -> Result:
        """Return the result of one measure on all queries."""
        return self._find(measure, None, None)

    @property
    def notes(self) -> tuple[Note, ...]:
        """All that there is to know: of each result, with its measure, and of the data."""
        found = merged(
            (
                (one.measure if one.slice is None else f"{one.measure} of {one.slice}", note)
                for one in self.results
                for note in one.notes
            ),
            listed=some,
        )
        return (*found, *self.data_notes)

    def slice(self, measure: str | Measure, name: str, label: str | None = None) -> Result:
        """Return the result of one measure on the queries of one slice, of one label."""
        return self._find(measure, name, label)

    def _find(self, measure: str | Measure, name: str | None, label: str | None) -> Result:
        wanted = self._canonical(measure)
        for one in self.results:
            if (one.measure, one.slice) == (wanted, name) and label in (None, one.label):
                return one
        of_all = name is None
        known = dict.fromkeys(one.measure if of_all else str(one.slice) for one in self.results)
        raise KeyError(f"{measure if of_all else name}: there are {', '.join(known)}")

    def _canonical(self, measure: str | Measure) -> str:
        names = self.aligned.measures
        if str(measure) in names or not isinstance(measure, str):
            return str(measure)
        return str(parse(measure))

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
        the first one; `n` keeps so many, `only` those on which `system` is better, or worse. Where
        the measure has a geometric mean, the largest change is that with the ratio farthest from 1.
        """
        aligned = self.aligned
        other = other if other is not None else self.settings.baseline
        for name in (system, other):
            if name not in aligned.names:
                raise KeyError(f"{name!r}: the systems are {', '.join(aligned.names)}")
        if only is not None:
            one_of("only", only, ("better", "worse"))
        chosen = aligned.measures[0] if measure is None else self[measure].measure
        pair = [aligned.names.index(str(one)) for one in (system, other)]
        values = aligned.column(chosen)[:, pair]
        change = values[:, 0] - values[:, 1]
        compared = logs(aligned.known(chosen), values)
        gain = compared[:, 0] - compared[:, 1]
        if not self[chosen].rising:
            gain = -gain
        kept = {None: np.abs(gain), "better": gain, "worse": -gain}[only] > min(
            self.settings.tie, TIE
        )
        order = [i for i in np.argsort(-np.abs(gain), kind="stable").tolist() if kept[i]]
        return {aligned.query_ids[i]: float(change[i]) for i in order[:n]}

    def tables(self, *, means: bool = False, changes: int = 0) -> list[Table]:
        """Return a table for each measure; then, if there are slices, one for each label.

        `means` adds each system's mean with its own interval, `changes` the so many queries that
        change most, of each pair: first those on which the system is worse, then those on which it
        is better.
        """
        found: list[Table] = []
        labels = dict.fromkeys(one.label for one in self.results)
        for measure in self.aligned.measures:
            for label in labels:
                some = [one for one in self.results if (one.measure, one.label) == (measure, label)]
                notes = () if found else self.data_notes  # once
                found.append(table_of(some, self.settings, notes, bounds=self.bounds))
                differences = differences_of(some[0], self.settings) if label is None else None
                if differences is not None:
                    found.append(differences)
            if means and len(self.aligned.names) > 1:
                found.append(means_of(self[measure], self.settings))
            if changes and self[measure].pairs:
                found.append(changes_table(measure, list(self._changes(measure, changes))))
        return found

    def _changes(self, measure: str, n: int) -> Iterator[tuple[str, str, str, float, float, float]]:
        values = self.aligned.column(measure)
        row = {query: i for i, query in enumerate(self.aligned.query_ids)}
        column = {name: i for i, name in enumerate(self.aligned.names)}
        for pair in self[measure].pairs:
            most = self.changes(pair.system, pair.other, measure, n)
            worse = self.changes(pair.system, pair.other, measure, only="worse")
            for query in sorted(most, key=lambda query: query not in worse):
                scores = values[row[query]]
                ours, theirs = scores[column[pair.system]], scores[column[pair.other]]
                yield pair.system, pair.other, query, float(ours), float(theirs), most[query]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each measure, slice and pair; what does not exist is None.

        A row has all that a Pair has but `changes`, which is a list.
        """
        return self._dicts(
            (
                one.measure,
                one.label,
                one.slice,
                one.comparisons,
                *(getattr(pair, name) for name in _COLUMNS),
            )
            for one in self.results
            for pair in one.pairs
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as for JSON: also what it takes to do it again.

        `scores` are in the order of `query_ids`.
        """
        return {
            "settings": self.settings.to_dict(),
            "recipe": dict(self.aligned.recipe),
            "systems": list(self.aligned.names),
            "query_ids": list(self.aligned.query_ids),
            "scores": {
                measure: dict(zip(self.aligned.names, columns.T.tolist(), strict=True))
                for measure, columns in zip(self.aligned.measures, self.aligned.values, strict=True)
            },
            "results": [one.to_dict() for one in self.results],
            "notes": [note.to_dict() for note in self.notes],
        }
