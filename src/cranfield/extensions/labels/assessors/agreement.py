"""What an agreement of two assessors is, and how it is shown: tables, rows, plain values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Floats, mean
from cranfield.extensions.labels.assessors.beyond_chance import FLEISS, Coefficient
from cranfield.extensions.labels.assessors.judgments import Agreed
from cranfield.extensions.labels.assessors.stability import Stability, SystemPair
from cranfield.lazy import cached_property
from cranfield.notes import Note
from cranfield.render.numbers import interval, number, number_of, percent, probability, signed
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, table_of

_PAIRS_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Shown):
    """How far two assessors agree, and what it does to the ordering of systems.

    `pooled` counts all documents together, `per_query` those of each query (empty without a
    second qrels). `matrix` (n_grades, n_grades) counts the documents judged in both: rows are A's
    `grades`, columns B's. `orderings` has one entry for each measure, if runs were given.

    `coefficients` are those of all assessors together, with intervals. If there are more than two,
    `others` compares A with each further one, and `pairs` has how far each two agree.

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
    on_judgments: tuple[Note, ...] = ()  # what else to know of them
    on_runs: tuple[Note, ...] = ()
    coefficients: Sequence[Coefficient] = ()  # of all assessors together
    second: str = "B"  # the name of the second assessor
    others: Mapping[str, "Agreement"] = field(default_factory=dict)  # A with each further assessor
    pairs: Mapping[tuple[str, str], Agreed] = field(default_factory=dict)  # of three or more

    @property
    def notes(self) -> tuple[Note, ...]:
        """What else to know of the judgments, and of the runs."""
        return (*self.on_judgments, *self.on_runs)

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
        found = [self._agreement(per_query)]
        found += [self._of_all()] if self.coefficients else []
        found += [self._of_pairs()] if self.pairs else []
        found += [one._confusion() for one in (self, *self.others.values())]
        for one in (self, *self.others.values()):
            found += one._on_systems()
        return found

    def _on_systems(self) -> list[Table]:
        """Return what it does to the ordering of systems, if runs were given."""
        if not self.orderings:
            return []
        found = [self._systems()]
        if self.orderings[0].pairs:
            found.append(self._orderings())
            changing = self._pairs()
            found += [changing] if changing.rows else []
        return found

    def _of_all(self) -> Table:
        """Return the coefficients of all assessors together, with their intervals."""
        named = {(one.name, one.of): one for one in self.coefficients}
        names = dict.fromkeys(one.name for one in self.coefficients)
        rows = [
            [
                name,
                *(
                    cell
                    for of in ("relevance", "grade")
                    for one in [named[name, of]]
                    for cell in (number(one.value), interval(one.low, one.high, signs=False))
                ),
            ]
            for name in names
        ]
        level = percent(1 - self.recipe["alpha"])
        shared, by_all = (
            next(one.documents for one in self.coefficients if (one.name == FLEISS) == by_fleiss)
            for by_fleiss in (False, True)
        )
        n = self.recipe["assessors"]
        unit = self.coefficients[0].left_out
        notes = [
            f"Of {number_of(shared, 'document')} that two or more judge; Fleiss' kappa of "
            f"{number_of(by_all, 'document')} that all {n} judge.",
            "Each is 1 where all agree; all but agreement are 0 as by chance. relevance: relevant "
            "or not; grade: the same grade. AC1 does not fall where nearly all have one grade, as "
            "kappa and alpha do; ordinal: grades farther apart differ more.",
            f"The intervals leave out one {unit} after the other (jackknife, Student's t).",
        ]
        if any(one.value is None for one in self.coefficients):
            notes.append("-: no value: chance alone would agree on all, or nothing to divide by.")
        title = [f"Agreement of {n} assessors beyond chance"]
        header = ["coefficient", "relevance", f"{level} interval", "grade", f"{level} interval"]
        return Table(header, rows, notes, title=title)

    def _of_pairs(self) -> Table:
        """Return how far each two assessors agree, on all documents together."""
        every = [(f"{a} - {b}", asdict(one)) for (a, b), one in self.pairs.items()]
        first, *others = _columns(self.recipe["rel"])
        columns = [replace(first, heading="assessors")]
        columns += [replace(one, meaning="") for one in others if not one.heading.startswith("rel")]
        return table_of(every, columns, title=["Each two assessors, on all documents together"])

    def _agreement(self, per_query: bool) -> Table:
        """Return the agreement on each query if wanted, the mean of these, and that on all."""
        n_queries, pooled = len(self.per_query), asdict(self.pooled)
        every = [(name, asdict(one)) for name, one in self.per_query.items()] if per_query else []
        rules = [n_queries] if every else []
        if n_queries > 1:
            means = {name: _mean_of(self.per_query, name) for name in pooled}
            every.append((f"mean of {n_queries:,}", means))
        every.append(("all together", pooled))
        said = ["-: no value: nothing to divide by, or chance alone would agree on all."]
        for name, n in (("A", self.pooled.only_a), ("B", self.pooled.only_b)):
            if n:
                said.append(f"{n:,} of these queries' documents are judged in {name} only.")
        title = "How far A, the first qrels, and B, the second, agree"
        if not self.per_query:
            title = "How far A, the qrels, and B, which the rates make of it, would agree"
        columns = _columns(self.recipe["rel"])
        notes = self.on_judgments
        return table_of(every, columns, said=said, notes=notes, rules=rules, title=[title])

    def _confusion(self) -> Table:
        """Return how often each grade of A met each grade of the second assessor."""
        other, whole = self.second, bool(self.per_query)
        rows = [
            [f"A: {grade}", *(f"{n:,}" if whole else f"{n:,.1f}" for n in counts)]
            for grade, counts in zip(self.grades, self.matrix.tolist(), strict=True)
        ]
        what = "judged in both" if whole else "to be expected"
        title = [f"Documents {what}, by the grades that A and {other} give"]
        notes = [f"A row for each grade of A, a column for each of {other}."]
        columns = ["", *(f"{other}: {grade}" for grade in self.grades)]
        return Table(columns, rows, notes, title=title)

    def _orderings(self) -> Table:
        """Return what it does to the ordering of the systems, a row for each measure."""
        both = bool(self.per_query)
        what = "the same" if both else "Kendall's tau-b of the ordering under A"
        columns = [
            Column("measure", lambda one: one.measure),
            Column("systems", lambda one: str(len(one.systems))),
            Column("pairs", lambda one: str(len(one.pairs))),
            Column(
                "tau",
                lambda one: number(one.tau),
                f"tau: Kendall's tau-b of the ordering under A with that under {self.second}: 1 "
                "the same, -1 reversed. swapped: pairs of systems in the other order; sig.: of "
                "these, significant under both.",
                both,
            ),
            Column("swapped", lambda one: str(one.swapped), "", both),
            Column("sig.", lambda one: str(one.swapped_significant), "", both),
            Column(
                "mean tau",
                lambda one: number(one.mean_tau),
                f"mean tau, min tau: {what} with that under each of {self._mixtures}.",
            ),
            Column("min tau", lambda one: number(one.min_tau)),
        ]
        return table_of(
            self.orderings, columns, title=[f"Whether the systems are ordered alike{self._which}"]
        )

    def _systems(self) -> Table:
        """Return each system's mean under A, under B and under the mixtures, best under A first."""
        both = bool(self.per_query)
        rows = [(each.measure, one) for each in self.orderings for one in each.by_system()]
        how = "Generated qrels have all grades of A drawn again, by the rates"
        if self.recipe["confusion"] is None:
            how = "A mixture has, for each query, the judgments of A or those of "
            how += f"{self.second}, drawn by chance"
        said = (
            f"{f'A and {self.second}' if both else 'A'}: the mean over the queries. mixed, lowest, "
            f"highest: the mean, the lowest and the highest of that under {self._mixtures}.",
            f"{how} (seed {self.recipe['seed']}).",
        )
        columns = [
            Column("measure", lambda row: str(row[0])),
            Column("system", lambda row: str(row[1]["system"])),
            Column("A", lambda row: number(row[1]["mean_a"])),
            Column(self.second, lambda row: number(row[1]["mean_b"]), "", both),
            Column("mixed", lambda row: number(row[1]["mean_mixed"])),
            Column("lowest", lambda row: number(row[1]["low"])),
            Column("highest", lambda row: number(row[1]["high"])),
        ]
        rules = range(len(self.orderings[0].systems), len(rows), len(self.orderings[0].systems))
        title = [f"What each system scores{self._which}"]
        notes = self.on_runs
        return table_of(rows, columns, said=said, notes=notes, title=title, n_labels=2, rules=rules)

    def _pairs(self) -> Table:
        """Return the pairs of systems that are not the same under every mixture, most shaky first.

        At most 10 of each measure; `to_dict` has all.
        """
        rows: list[tuple[str, SystemPair]] = []
        rules, said = set(), []
        for one in self.orderings:
            rules.add(len(rows))
            moved = [pair for pair in one.pairs if min(pair.same_sign, pair.same_verdict) < 1]
            moved.sort(key=lambda pair: (pair.same_sign, pair.same_verdict))
            rows += [(one.measure, pair) for pair in moved[:_PAIRS_SHOWN]]
            more = f", {len(moved) - _PAIRS_SHOWN:,} more are not" if moved[_PAIRS_SHOWN:] else ""
            said.append(
                f"{one.measure}: {len(one.pairs) - len(moved):,} of {len(one.pairs):,} pairs are "
                f"the same under each{more}: not shown (--format csv or json has all)."
            )
        columns = self._pair_columns("\n".join(said))
        title = [f"The pairs of systems that change most{self._which}"]
        return table_of(rows, columns, title=title, n_labels=3, rules=rules - {0, len(rows)})

    def _pair_columns(self, same: str) -> list[Column]:
        """Return the columns of two systems; `same` says which of them are not shown."""
        both, alpha, second = bool(self.per_query), self.recipe["alpha"], self.second

        def of(show: Callable[[float | None], str], name: str) -> Callable[[Any], str]:
            return lambda row: show(getattr(row[1], name))

        return [
            Column("measure", lambda row: str(row[0]), same),
            Column("system", of(str, "left")),
            Column("against", of(str, "right")),
            Column(
                "diff A",
                of(signed, "difference_a"),
                "diff: the difference of the means, system minus against. p: of a two-sided paired "
                "t test, not corrected for the number of pairs.",
            ),
            Column("p A", of(probability, "p_a")),
            Column(f"diff {second}", of(signed, "difference_b"), "", both),
            Column(f"p {second}", of(probability, "p_b"), "", both),
            Column(
                f"A - {second}",
                of(signed, "change"),
                f"A - {second}: diff A less diff {second}, and p of a paired t test of that: "
                f"whether A and {second} see two systems differently. Significant under one of "
                "them only does not show that they do.",
                both,
            ),
            Column(f"p A - {second}", of(probability, "p_change"), "", both),
            Column(
                "same sign",
                of(number, "same_sign"),
                f"same sign: the share of {self._mixtures} where the difference has the sign that "
                "it has under A. same verdict: where it is significant (p <= "
                f"{alpha}) if it is so under A, and not if not, with the same sign.",
            ),
            Column("same verdict", of(number, "same_verdict")),
        ]

    @property
    def _which(self) -> str:
        """What follows a title where there are more than two assessors."""
        return f", under A and {self.second}" if self.recipe.get("assessors", 2) > 2 else ""

    @property
    def _mixtures(self) -> str:
        what = "mixtures" if self.recipe["confusion"] is None else "generated qrels"
        return f"{self.recipe['mixtures']:,} {what}"

    def rows(self, *, per_query: bool = False) -> list[dict[str, Any]]:
        """Return a row for each number: where it belongs, its name, its value."""
        whole = self.to_dict()
        of = {**(whole["per_query"] if per_query else {}), "all": whole["pooled"]}
        parts = [("agreement", "", query, "", values) for query, values in of.items()]
        for grade, counts in zip(whole["grades"], whole["matrix"], strict=True):
            for other, n in zip(whole["grades"], counts, strict=True):
                parts.append(("confusion", "", str(grade), str(other), {"documents": n}))
        parts += [
            ("coefficient", "", one.pop("name"), one.pop("of"), one)
            for one in whole["coefficients"]
        ]
        parts += [
            ("assessors", "", one.pop("assessor"), one.pop("other"), one) for one in whole["pairs"]
        ]
        for which, orderings in (
            ("", whole["orderings"]),
            *((f", A and {name}", one["orderings"]) for name, one in whole["others"].items()),
        ):
            for one in orderings:
                measure, systems, pairs = (one.pop(key) for key in ("measure", "systems", "pairs"))
                parts.append((f"ordering{which}", measure, "", "", one))
                parts += [
                    (f"system{which}", measure, each.pop("system"), "", each) for each in systems
                ]
                parts += [
                    (f"pair{which}", measure, *map(each.pop, ("left", "right")), each)
                    for each in pairs
                ]
        return self._dicts((*at, *item) for *at, values in parts for item in values.items())

    def _document(self, *, per_query: bool = False) -> dict[str, Any]:
        return self.to_dict()  # which has every query

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
            "coefficients": [asdict(one) for one in self.coefficients],
            "pairs": [
                {"assessor": a, "other": b, **asdict(one)} for (a, b), one in self.pairs.items()
            ],
            "others": {
                name: {
                    key: value
                    for key, value in one.to_dict().items()
                    if key in ("pooled", "per_query", "grades", "matrix", "orderings", "notes")
                }
                for name, one in self.others.items()
            },
        }

    def __repr__(self) -> str:
        numbers = ", ".join(
            f"{name} {number(getattr(self.pooled, name))}" for name in ("kappa", "overlap")
        )
        return f"Agreement({numbers}, {len(self.orderings)} orderings)"


def _columns(rel: int) -> list[Column]:
    """Return the columns of how far two agree: a cell shows a query and {name: number}."""

    def of(name: str, heading: str, meaning: str = "") -> Column:
        return Column(heading, lambda row: _cell(name, row[1][name]), meaning)

    return [
        Column("query_id", lambda row: str(row[0])),
        of(
            "both",
            "both",
            f"both: documents judged in both. rel. A, rel. B: relevant there (grade {rel} or "
            "more).",
        ),
        of("relevant_a", "rel. A"),
        of("relevant_b", "rel. B"),
        of(
            "agreement",
            "agree",
            "agree: the share of both on which A and B agree whether it is relevant. "
            "kappa: the same beyond chance, 1 at best, 0 as by chance (Cohen).",
        ),
        of("kappa", "kappa"),
        of(
            "same_grade",
            "same",
            "same: the share with the same grade. "
            "w. kappa: kappa of grades, a disagreement counting by its square.",
        ),
        of("weighted_kappa", "w. kappa"),
        of(
            "overlap",
            "overlap",
            "overlap: documents relevant in A and in B / in A or in B, of both. "
            "of all: the same of all documents, one that is not judged being not relevant.",
        ),
        of("overlap_all", "of all"),
    ]


def _cell(name: str, value: float | None) -> str:
    """Return a number: counts whole, or with one decimal if they are expected ones."""
    if value is None or not name.startswith(("both", "rel")):
        return number(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _mean_of(per_query: Mapping[str, Agreed], name: str) -> float | None:
    """Return the mean over the queries that have a value."""
    values = [value for one in per_query.values() if (value := getattr(one, name)) is not None]
    return mean(np.array(values) * 1.0) if values else None
