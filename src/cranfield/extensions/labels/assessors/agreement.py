"""What an agreement of two assessors is, and how it is shown: tables, rows, plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Floats, mean
from cranfield.extensions.labels.assessors.beyond_chance import FLEISS, Coefficient
from cranfield.extensions.labels.assessors.judgments import PairAgreement
from cranfield.extensions.labels.assessors.stability import Stability
from cranfield.extensions.labels.assessors.stability_tables import StabilityTables
from cranfield.lazy import cached_property
from cranfield.notes import Note
from cranfield.render.numbers import format_interval, format_number, format_count, format_percent
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, make_table


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

    pooled: PairAgreement
    per_query: Mapping[str, PairAgreement]
    grades: Sequence[int]
    matrix: Floats
    orderings: Sequence[Stability]
    recipe: Mapping[str, Any]
    on_judgments: tuple[Note, ...] = ()  # what else to know of them
    on_runs: tuple[Note, ...] = ()
    coefficients: Sequence[Coefficient] = ()  # of all assessors together
    second: str = "B"  # the name of the second assessor
    others: Mapping[str, "Agreement"] = field(default_factory=dict)  # A with each further assessor
    pairs: Mapping[tuple[str, str], PairAgreement] = field(default_factory=dict)  # of three or more

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
        found = [self._agreement_table(per_query)]
        found += [self._coefficients_table()] if self.coefficients else []
        found += [self._pairs_table()] if self.pairs else []
        found += [one._confusion_table() for one in (self, *self.others.values())]
        for one in (self, *self.others.values()):
            found += StabilityTables(
                one.orderings, one.second, bool(one.per_query), one.recipe, one.on_runs
            ).tables()
        return found

    def _coefficients_table(self) -> Table:
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
                    for cell in (format_number(one.value), format_interval(one.low, one.high, signs=False))
                ),
            ]
            for name in names
        ]
        level = format_percent(1 - self.recipe["alpha"])
        shared, by_all = (
            next(one.documents for one in self.coefficients if (one.name == FLEISS) == by_fleiss)
            for by_fleiss in (False, True)
        )
        n = self.recipe["assessors"]
        unit = self.coefficients[0].left_out
        notes = [
            f"Of {format_count(shared, 'document')} that two or more judge; Fleiss' kappa of "
            f"{format_count(by_all, 'document')} that all {n} judge.",
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

    def _pairs_table(self) -> Table:
        """Return how far each two assessors agree, on all documents together."""
        every = [(f"{a} - {b}", asdict(one)) for (a, b), one in self.pairs.items()]
        first, *others = _agreement_columns(self.recipe["rel"])
        columns = [replace(first, heading="assessors")]
        columns += [replace(one, meaning="") for one in others if not one.heading.startswith("rel")]
        return make_table(every, columns, title=["Each two assessors, on all documents together"])

    def _agreement_table(self, per_query: bool) -> Table:
        """Return the agreement on each query if wanted, the mean of these, and that on all."""
        n_queries, pooled = len(self.per_query), asdict(self.pooled)
        every = [(name, asdict(one)) for name, one in self.per_query.items()] if per_query else []
        rules = [n_queries] if every else []
        if n_queries > 1:
            means = {name: _mean_over_queries(self.per_query, name) for name in pooled}
            every.append((f"mean of {n_queries:,}", means))
        every.append(("all together", pooled))
        said = ["-: no value: nothing to divide by, or chance alone would agree on all."]
        for name, n in (("A", self.pooled.only_a), ("B", self.pooled.only_b)):
            if n:
                said.append(f"{n:,} of these queries' documents are judged in {name} only.")
        title = "How far A, the first qrels, and B, the second, agree"
        if not self.per_query:
            title = "How far A, the qrels, and B, which the rates make of it, would agree"
        columns = _agreement_columns(self.recipe["rel"])
        notes = self.on_judgments
        return make_table(every, columns, sentences=said, notes=notes, rules=rules, title=[title])

    def _confusion_table(self) -> Table:
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
        return self._rows_as_dicts((*at, *item) for *at, values in parts for item in values.items())

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
            f"{name} {format_number(getattr(self.pooled, name))}" for name in ("kappa", "overlap")
        )
        return f"Agreement({numbers}, {len(self.orderings)} orderings)"


def _agreement_columns(rel: int) -> list[Column]:
    """Return the columns of how far two agree: a cell shows a query and {name: number}."""

    def of(name: str, heading: str, meaning: str = "") -> Column:
        return Column(heading, lambda row: _format_number(name, row[1][name]), meaning)

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


def _format_number(name: str, value: float | None) -> str:
    """Return a number: counts whole, or with one decimal if they are expected ones."""
    if value is None or not name.startswith(("both", "rel")):
        return format_number(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _mean_over_queries(per_query: Mapping[str, PairAgreement], name: str) -> float | None:
    """Return the mean over the queries that have a value."""
    values = [value for one in per_query.values() if (value := getattr(one, name)) is not None]
    return mean(np.array(values) * 1.0) if values else None
