"""What an agreement of two assessors is, and how it is shown: tables, rows, plain values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cranfield.cached import cached_property
from cranfield.comparison.shown import number, probability, signed
from cranfield.comparison.stability import Stability
from cranfield.notes import Note, lines_of
from cranfield.pairs.judgments import Agreed
from cranfield.ranked import Floats, mean
from cranfield.render import Table, text, to_html

_PAIRS_SHOWN = 10
_OF_CHANGES = (
    "A - B: diff A less diff B, and p of a paired t test of that: whether A and B see two systems "
    "differently. Significant under one of them only does not show that they do."
)


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far two assessors agree, and what it does to the ordering of systems.

    `pooled` is of all documents together, `per_query` of each query (empty without a second
    qrels). `matrix` (n_grades, n_grades) counts the documents judged in both: rows are A's
    `grades`, columns B's. `orderings` has one entry for each measure, if runs were given.

    >>> from cranfield import agreement
    >>> found = agreement({"q": {"d1": 1, "d2": 1, "d3": 0}}, {"q": {"d1": 1, "d2": 0, "d3": 0}})
    >>> found.pooled.overlap, found.matrix.tolist()
    (0.5, [[1, 0], [1, 1]])
    """

    pooled: Agreed
    per_query: Mapping[str, Agreed]
    grades: Sequence[int]
    matrix: Floats
    orderings: Sequence[Stability]
    recipe: Mapping[str, Any]
    remarks: tuple[Note, ...] = ()  # what else to know of the judgments
    notes: tuple[Note, ...] = ()  # and of the runs

    @cached_property
    def rates(self) -> dict[int, dict[int, float]]:
        """How often B gives each grade to what has a grade in A: {A's grade: {B's grade: rate}}."""
        rows = zip(self.grades, self.matrix.tolist(), strict=True)
        return {
            true: {given: count / sum(row) for given, count in zip(self.grades, row, strict=True)}
            for true, row in rows
            if sum(row)
        }

    def table(self, *, per_query: bool = False) -> Table:
        """Return the agreement as a table: of each query if wanted, the mean of these, of all."""
        rows = [[query, *_cells(asdict(one))] for query, one in self.per_query.items()]
        n_queries, rel = len(rows), self.recipe["rel"]
        if not per_query:
            rows = []
        rules = frozenset({n_queries} if rows else ())
        if n_queries > 1:
            means = [_mean_of(self.per_query, name) for name in _COLUMNS]
            rows.append(
                [f"mean of {n_queries:,}", *_cells(dict(zip(_COLUMNS, means, strict=True)))]
            )
        rows.append(["all together", *_cells(asdict(self.pooled))])
        one_sided = [
            f"{n:,} of these queries' documents are judged in {name} only."
            for name, n in (("A", self.pooled.only_a), ("B", self.pooled.only_b))
            if n
        ]
        notes = [
            *lines_of(self.remarks),
            *one_sided,
            "both: documents judged in both. rel. A, rel. B: relevant there (grade "
            f"{rel} or more).",
            "agree: the share of both on which A and B agree whether it is relevant. kappa: the "
            "same beyond chance, 1 at best, 0 as by chance (Cohen).",
            "same: the share with the same grade. w. kappa: kappa of grades, a disagreement "
            "counting by its square.",
            "overlap: documents relevant in A and in B / in A or in B, of both. of all: the same "
            "of all documents, one that is not judged being not relevant.",
            "-: no value: nothing to divide by, or chance alone would agree on all.",
        ]
        title = ["How far A, the first qrels, and B, the second, agree"]
        if not self.per_query:
            title = ["How far A, the qrels, and B, which the rates make of it, would agree"]
        return Table(["query_id", *_COLUMNS.values()], rows, notes, rules=rules, title=title)

    def confusion_table(self) -> Table:
        """Return how often each grade of A met each grade of B, as a table."""
        whole = bool(self.per_query)
        rows = [
            [f"A: {grade}", *(f"{n:,}" if whole else f"{n:,.1f}" for n in counts)]
            for grade, counts in zip(self.grades, self.matrix.tolist(), strict=True)
        ]
        what = "judged in both" if whole else "to be expected"
        title = [f"Documents {what}, by the grades that A and B give"]
        notes = ["A row for each grade of A, a column for each of B."]
        return Table(["", *(f"B: {grade}" for grade in self.grades)], rows, notes, title=title)

    def ordering_table(self) -> Table:
        """Return what it does to the ordering of the systems, a row for each measure."""
        header = ["measure", "systems", "pairs"]
        rows = [[one.measure, str(len(one.systems)), str(len(one.pairs))] for one in self.orderings]
        notes = []
        if self.per_query:
            header += ["tau", "swapped", "sig."]
            for row, one in zip(rows, self.orderings, strict=True):
                row += [number(one.tau), str(one.swapped), str(one.swapped_significant)]
            notes.append(
                "tau: Kendall's tau-b of the ordering under A with that under B: 1 the same, -1 "
                "reversed. swapped: pairs of systems that stand the other way round; sig.: of "
                "these, significant under both."
            )
        header += ["mean tau", "min tau"]
        for row, one in zip(rows, self.orderings, strict=True):
            row += [number(one.mean_tau), number(one.min_tau)]
        what = "the same" if self.per_query else "Kendall's tau-b of the ordering under A"
        notes.append(f"mean tau, min tau: {what} with that under each of {self._mixtures}.")
        return Table(header, rows, notes, title=["Whether the systems are ordered alike"])

    def system_table(self) -> Table:
        """Return each system's mean under A, under B and under the mixtures, best under A first."""
        rows: list[list[str]] = []
        rules = set()
        for one in self.orderings:
            rules.add(len(rows))
            of_b = [] if one.mean_b is None else [one.mean_b]
            columns = [one.mean_a, *of_b, one.mean_mixed, one.low, one.high]
            for name, *means in zip(one.systems, *columns, strict=True):
                rows.append([one.measure, name, *map(number, means)])
        second = ["B"] if self.per_query else []
        notes = [
            *lines_of(self.notes),
            f"{' and '.join(['A', *second])}: the mean over the queries. mixed, lowest, highest: "
            f"the mean, the lowest and the highest of that under {self._mixtures}.",
            self._how,
        ]
        header = ["measure", "system", "A", *second, "mixed", "lowest", "highest"]
        title = ["What each system scores"]
        return Table(header, rows, notes, 2, rules=frozenset(rules - {0}), title=title)

    def pair_table(self) -> Table:
        """Return the pairs of systems that are not the same under every mixture, most shaky first.

        At most 10 of each measure; `to_dict` has all.
        """
        rows: list[list[str]] = []
        rules, notes = set(), []
        for one in self.orderings:
            rules.add(len(rows))
            moved = [pair for pair in one.pairs if min(pair.same_sign, pair.same_verdict) < 1]
            moved.sort(key=lambda pair: (pair.same_sign, pair.same_verdict))
            for pair in moved[:_PAIRS_SHOWN]:
                of_a = [signed(pair.difference_a), probability(pair.p_a)]
                of_b = [signed(pair.difference_b), probability(pair.p_b)] if self.per_query else []
                of_b += [signed(pair.change), probability(pair.p_change)] if self.per_query else []
                shares = [number(pair.same_sign), number(pair.same_verdict)]
                rows.append([one.measure, pair.left, pair.right, *of_a, *of_b, *shares])
            notes.append(
                f"{one.measure}: {len(one.pairs) - len(moved):,} of {len(one.pairs):,} pairs are "
                "the same under each"
                + (f", {len(moved) - _PAIRS_SHOWN:,} more are not" if moved[_PAIRS_SHOWN:] else "")
                + ": not shown (--format csv or json has all)."
            )
        header = ["measure", "system", "against", "diff A", "p A"]
        header += ["diff B", "p B", "A - B", "p A - B"] if self.per_query else []
        notes += [
            "diff: the difference of the means, system minus against. p: of a two-sided paired t "
            "test, not corrected for the number of pairs.",
            *([_OF_CHANGES] if self.per_query else []),
            f"same sign: the share of {self._mixtures} where the difference has the sign that it "
            f"has under A. same verdict: where it is significant (p <= {self.recipe['alpha']}) if "
            "it is so under A, and not if not, with the same sign.",
        ]
        header += ["same sign", "same verdict"]
        rules = rules - {0, len(rows)}
        title = ["The pairs of systems that change most"]
        return Table(header, rows, notes, 3, rules=frozenset(rules), title=title)

    @property
    def _mixtures(self) -> str:
        what = "mixtures" if self.recipe["confusion"] is None else "generated qrels"
        return f"{self.recipe['mixtures']:,} {what}"

    @property
    def _how(self) -> str:
        """How the mixtures were made."""
        seed = self.recipe["seed"]
        if self.recipe["confusion"] is None:
            return (
                "A mixture has, for each query, the judgments of A or those of B, drawn by chance "
                f"(seed {seed})."
            )
        return f"Generated qrels have all grades of A drawn anew, by the rates (seed {seed})."

    def tables(self, *, per_query: bool = False) -> list[Table]:
        """Return all tables, in the order in which they are to be read."""
        found = [self.table(per_query=per_query), self.confusion_table()]
        if self.orderings:
            found.append(self.system_table())
            if self.orderings[0].pairs:
                found.append(self.ordering_table())
                changing = self.pair_table()
                found += [changing] if changing.rows else []
        return found

    def rows(self, *, per_query: bool = False) -> Iterator[tuple[str, str, str, str, str, Any]]:
        """Yield (part, measure, name, other, quantity, value), a row for each number."""
        of = [*(self.per_query.items() if per_query else ()), ("all", self.pooled)]
        for query, one in of:
            for quantity, value in asdict(one).items():
                yield "agreement", "", query, "", quantity, value
        for grade, counts in zip(self.grades, self.matrix.tolist(), strict=True):
            for other, count in zip(self.grades, counts, strict=True):
                yield "confusion", "", str(grade), str(other), "documents", count
        for ordering in self.orderings:
            whole = ordering.to_dict()
            measure, systems, pairs = (whole.pop(key) for key in ("measure", "systems", "pairs"))
            for quantity, value in whole.items():
                yield "ordering", measure, "", "", quantity, value
            for system in systems:
                name = system.pop("system")
                for quantity, value in system.items():
                    yield "system", measure, name, "", quantity, value
            for pair in pairs:
                left, right = pair.pop("left"), pair.pop("right")
                for quantity, value in pair.items():
                    yield "pair", measure, left, right, quantity, value

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "recipe": dict(self.recipe),
            "remarks": [note.to_dict() for note in self.remarks],
            "pooled": asdict(self.pooled),
            "per_query": {query: asdict(one) for query, one in self.per_query.items()},
            "grades": list(self.grades),
            "matrix": self.matrix.tolist(),
            "notes": [note.to_dict() for note in self.notes],
            "orderings": [one.to_dict() for one in self.orderings],
        }

    def __str__(self) -> str:
        return "\n".join(text(table) for table in self.tables())

    def __repr__(self) -> str:
        numbers = ", ".join(
            f"{name} {number(getattr(self.pooled, name))}" for name in ("kappa", "overlap")
        )
        return f"Agreement({numbers}, {len(self.orderings)} orderings)"

    def _repr_html_(self) -> str:
        return "".join(to_html(table) for table in self.tables())


_COLUMNS = {
    "both": "both",
    "relevant_a": "rel. A",
    "relevant_b": "rel. B",
    "agreement": "agree",
    "kappa": "kappa",
    "same_grade": "same",
    "weighted_kappa": "w. kappa",
    "overlap": "overlap",
    "overlap_all": "of all",
}


def _cells(numbers: Mapping[str, float | None]) -> list[str]:
    """Return the cells of a row: counts whole, or with one decimal if they are expected ones."""
    cells = []
    for name in _COLUMNS:
        value = numbers[name]
        if value is None or not name.startswith(("both", "rel")):
            cells.append(number(value))
        else:
            cells.append(f"{value:,}" if isinstance(value, int) else f"{value:,.1f}")
    return cells


def _mean_of(per_query: Mapping[str, Agreed], name: str) -> float | None:
    """Return the mean over the queries that have a value."""
    values = [value for one in per_query.values() if (value := getattr(one, name)) is not None]
    return mean(np.array(values) * 1.0) if values else None
