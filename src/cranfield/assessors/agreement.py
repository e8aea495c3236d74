"""What an agreement of two assessors is, and how it is shown: tables, rows, plain values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Floats, mean
from cranfield.assessors.judgments import Agreed
from cranfield.assessors.stability import Stability
from cranfield.lazy import cached_property
from cranfield.notes import Note, around
from cranfield.render.numbers import number, probability, signed
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, legend, wanted

_PAIRS_SHOWN = 10
_ON_JUDGMENTS = ("in-both", "in-one", "highest-grade", "expected")  # codes of notes
_OF_CHANGES = (
    "A - B: diff A less diff B, and p of a paired t test of that: whether A and B see two systems "
    "differently. Significant under one of them only does not show that they do."
)


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Shown):
    """How far two assessors agree, and what it does to the ordering of systems.

    `pooled` counts all documents together, `per_query` those of each query (empty without a
    second qrels). `matrix` (n_grades, n_grades) counts the documents judged in both: rows are A's
    `grades`, columns B's. `orderings` has one entry for each measure, if runs were given.

    >>> from cranfield import agreement
    >>> found = agreement({"q": {"d1": 1, "d2": 1, "d3": 0}}, {"q": {"d1": 1, "d2": 0, "d3": 0}})
    >>> found.pooled.overlap, found.matrix.tolist()
    (0.5, [[1, 0], [1, 1]])
    """

    header = ("part", "measure", "name", "other", "quantity", "value")

    pooled: Agreed
    per_query: Mapping[str, Agreed]
    grades: Sequence[int]
    matrix: Floats
    orderings: Sequence[Stability]
    recipe: Mapping[str, Any]
    notes: tuple[Note, ...] = ()  # what else to know of the judgments, and of the runs

    @cached_property
    def rates(self) -> dict[int, dict[int, float]]:
        """How often B gives each grade to what has a grade in A: {A's grade: {B's grade: rate}}."""
        rows = zip(self.grades, self.matrix.tolist(), strict=True)
        return {
            true: {given: count / sum(row) for given, count in zip(self.grades, row, strict=True)}
            for true, row in rows
            if sum(row)
        }

    def tables(self, *, per_query: bool = False) -> list[Table]:
        """Return all tables, in the order in which they are to be read.

        How far the two agree (`per_query`: on each query, too); how often each grade of A met each
        of B; with runs, what each system scores, whether they are ordered alike, and the pairs
        that change most.
        """
        found = [self._agreement(per_query), self._confusion()]
        if self.orderings:
            found.append(self._systems())
            if self.orderings[0].pairs:
                found.append(self._orderings())
                changing = self._pairs()
                found += [changing] if changing.rows else []
        return found

    def _agreement(self, per_query: bool) -> Table:
        """Return the agreement on each query if wanted, the mean of these, and that on all."""
        columns = list(_columns(self.recipe["rel"]))
        n_queries = len(self.per_query)
        shown = {query: asdict(one) for query, one in self.per_query.items()} if per_query else {}
        rules = frozenset({n_queries} if shown else ())
        every = [*shown.items()]
        if n_queries > 1:
            means = {name: _mean_of(self.per_query, name) for name in asdict(self.pooled)}
            every.append((f"mean of {n_queries:,}", means))
        every.append(("all together", asdict(self.pooled)))
        rows = [[name, *(one.cell(numbers) for one in columns)] for name, numbers in every]
        said = legend(columns)
        said.append("-: no value: nothing to divide by, or chance alone would agree on all.")
        for name, n in (("A", self.pooled.only_a), ("B", self.pooled.only_b)):
            if n:
                said.append(f"{n:,} of these queries' documents are judged in {name} only.")
        notes = around(said, (one for one in self.notes if one.code in _ON_JUDGMENTS))
        title = ["How far A, the first qrels, and B, the second, agree"]
        if not self.per_query:
            title = ["How far A, the qrels, and B, which the rates make of it, would agree"]
        header = ["query_id", *(one.heading for one in columns)]
        return Table(header, rows, notes, rules=rules, title=title)

    def _confusion(self) -> Table:
        """Return how often each grade of A met each grade of B."""
        whole = bool(self.per_query)
        rows = [
            [f"A: {grade}", *(f"{n:,}" if whole else f"{n:,.1f}" for n in counts)]
            for grade, counts in zip(self.grades, self.matrix.tolist(), strict=True)
        ]
        what = "judged in both" if whole else "to be expected"
        title = [f"Documents {what}, by the grades that A and B give"]
        notes = ["A row for each grade of A, a column for each of B."]
        return Table(["", *(f"B: {grade}" for grade in self.grades)], rows, notes, title=title)

    def _orderings(self) -> Table:
        """Return what it does to the ordering of the systems, a row for each measure."""
        both = bool(self.per_query)
        what = "the same" if both else "Kendall's tau-b of the ordering under A"
        columns = wanted(
            [
                Column("systems", lambda one: str(len(one.systems))),
                Column("pairs", lambda one: str(len(one.pairs))),
                Column(
                    "tau",
                    lambda one: number(one.tau),
                    "tau: Kendall's tau-b of the ordering under A with that under B: 1 the same, "
                    "-1 reversed.",
                    both,
                ),
                Column(
                    "swapped",
                    lambda one: str(one.swapped),
                    "swapped: pairs of systems that stand the other way round; sig.: of these, "
                    "significant under both.",
                    both,
                    goes_on=True,
                ),
                Column("sig.", lambda one: str(one.swapped_significant), "", both),
                Column(
                    "mean tau",
                    lambda one: number(one.mean_tau),
                    f"mean tau, min tau: {what} with that under each of {self._mixtures}.",
                ),
                Column("min tau", lambda one: number(one.min_tau)),
            ]
        )
        rows = [[one.measure, *(each.cell(one) for each in columns)] for one in self.orderings]
        header = ["measure", *(one.heading for one in columns)]
        return Table(header, rows, legend(columns), title=["Whether the systems are ordered alike"])

    def _systems(self) -> Table:
        """Return each system's mean under A, under B and under the mixtures, best under A first."""
        rows: list[list[str]] = []
        rules = []
        for one in self.orderings:
            rules.append(len(rows))
            of_b = [] if one.mean_b is None else [one.mean_b]
            columns = [one.mean_a, *of_b, one.mean_mixed, one.low, one.high]
            for name, *means in zip(one.systems, *columns, strict=True):
                rows.append([one.measure, name, *map(number, means)])
        second = ["B"] if self.per_query else []
        how = "Generated qrels have all grades of A drawn anew, by the rates"
        if self.recipe["confusion"] is None:
            how = "A mixture has, for each query, the judgments of A or those of B, drawn by chance"
        said = [
            f"{' and '.join(['A', *second])}: the mean over the queries. mixed, lowest, highest: "
            f"the mean, the lowest and the highest of that under {self._mixtures}.",
            f"{how} (seed {self.recipe['seed']}).",
        ]
        notes = around(said, (one for one in self.notes if one.code not in _ON_JUDGMENTS))
        header = ["measure", "system", "A", *second, "mixed", "lowest", "highest"]
        title = ["What each system scores"]
        return Table(header, rows, notes, 2, rules=frozenset(rules[1:]), title=title)

    def _pairs(self) -> Table:
        """Return the pairs of systems that are not the same under every mixture, most shaky first.

        At most 10 of each measure; `to_dict` has all.
        """
        columns = wanted(self._pair_columns())
        rows: list[list[str]] = []
        rules, said = set(), []
        for one in self.orderings:
            rules.add(len(rows))
            moved = [pair for pair in one.pairs if min(pair.same_sign, pair.same_verdict) < 1]
            moved.sort(key=lambda pair: (pair.same_sign, pair.same_verdict))
            for pair in moved[:_PAIRS_SHOWN]:
                cells = [column.cell(pair) for column in columns]
                rows.append([one.measure, pair.left, pair.right, *cells])
            more = f", {len(moved) - _PAIRS_SHOWN:,} more are not" if moved[_PAIRS_SHOWN:] else ""
            said.append(
                f"{one.measure}: {len(one.pairs) - len(moved):,} of {len(one.pairs):,} pairs are "
                f"the same under each{more}: not shown (--format csv or json has all)."
            )
        header = ["measure", "system", "against", *(one.heading for one in columns)]
        rules = rules - {0, len(rows)}
        title = ["The pairs of systems that change most"]
        notes = [*said, *legend(columns)]
        return Table(header, rows, notes, 3, rules=frozenset(rules), title=title)

    def _pair_columns(self) -> Iterator[Column]:
        """Yield the columns of two systems: a cell shows a SystemPair."""
        both, alpha = bool(self.per_query), self.recipe["alpha"]
        yield Column(
            "diff A",
            lambda one: signed(one.difference_a),
            "diff: the difference of the means, system minus against. p: of a two-sided paired t "
            "test, not corrected for the number of pairs.",
        )
        yield Column("p A", lambda one: probability(one.p_a))
        yield Column("diff B", lambda one: signed(one.difference_b), "", both)
        yield Column("p B", lambda one: probability(one.p_b), "", both)
        yield Column("A - B", lambda one: signed(one.change), _OF_CHANGES, both)
        yield Column("p A - B", lambda one: probability(one.p_change), "", both)
        yield Column(
            "same sign",
            lambda one: number(one.same_sign),
            f"same sign: the share of {self._mixtures} where the difference has the sign that it "
            f"has under A. same verdict: where it is significant (p <= {alpha}) if it is so under "
            "A, and not if not, with the same sign.",
        )
        yield Column("same verdict", lambda one: number(one.same_verdict))

    @property
    def _mixtures(self) -> str:
        what = "mixtures" if self.recipe["confusion"] is None else "generated qrels"
        return f"{self.recipe['mixtures']:,} {what}"

    def rows(self, *, per_query: bool = False) -> list[dict[str, Any]]:
        """Return a row for each number: where it belongs, its name, its value."""
        return self._dicts(self._values(per_query))

    def _values(self, per_query: bool) -> Iterator[tuple[str, str, str, str, str, Any]]:
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
            "pooled": asdict(self.pooled),
            "per_query": {query: asdict(one) for query, one in self.per_query.items()},
            "grades": list(self.grades),
            "matrix": self.matrix.tolist(),
            "notes": [note.to_dict() for note in self.notes],
            "orderings": [one.to_dict() for one in self.orderings],
        }

    def __repr__(self) -> str:
        numbers = ", ".join(
            f"{name} {number(getattr(self.pooled, name))}" for name in ("kappa", "overlap")
        )
        return f"Agreement({numbers}, {len(self.orderings)} orderings)"


def _columns(rel: int) -> Iterator[Column]:
    """Yield the columns of how far two agree: a cell shows {name: number} of an Agreed."""
    for name, heading, meaning in (
        ("both", "both", "both: documents judged in both."),
        ("relevant_a", "rel. A", f"rel. A, rel. B: relevant there (grade {rel} or more)."),
        ("relevant_b", "rel. B", ""),
        (
            "agreement",
            "agree",
            "agree: the share of both on which A and B agree whether it is relevant.",
        ),
        (
            "kappa",
            "kappa",
            "kappa: the same beyond chance, 1 at best, 0 as by chance (Cohen).",
        ),
        ("same_grade", "same", "same: the share with the same grade."),
        (
            "weighted_kappa",
            "w. kappa",
            "w. kappa: kappa of grades, a disagreement counting by its square.",
        ),
        (
            "overlap",
            "overlap",
            "overlap: documents relevant in A and in B / in A or in B, of both.",
        ),
        (
            "overlap_all",
            "of all",
            "of all: the same of all documents, one that is not judged being not relevant.",
        ),
    ):
        goes_on = name in ("relevant_a", "kappa", "weighted_kappa", "overlap_all")
        yield Column(heading, partial(_cell, name), meaning, goes_on=goes_on)


def _cell(name: str, numbers: Mapping[str, float | None]) -> str:
    """Return a number: counts whole, or with one decimal if they are expected ones."""
    value = numbers[name]
    if value is None or not name.startswith(("both", "rel")):
        return number(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _mean_of(per_query: Mapping[str, Agreed], name: str) -> float | None:
    """Return the mean over the queries that have a value."""
    values = [value for one in per_query.values() if (value := getattr(one, name)) is not None]
    return mean(np.array(values) * 1.0) if values else None
