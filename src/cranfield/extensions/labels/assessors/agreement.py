"""Agreement: the result of `agreement`, with its tables, rows and plain values."""

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
from cranfield.render.numbers import format_count, format_interval, format_number, format_percent
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, make_table


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Shown):
    """How far two or more assessors agree, and what it does to the ordering of systems.

    `pooled` counts all documents together, `per_query` those of each query (empty without a
    second qrels). `matrix` (n_grades, n_grades) counts the documents judged in both, or to be
    expected: rows are A's `grades`, columns B's. `orderings` has one entry for each measure, if
    runs were given.

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

        How far the two agree (`per_query`: on each query, too); the coefficients of all assessors,
        and each two of several; how often each grade of A met each of the other; with runs, what
        each system scores, whether they are ordered alike, and the pairs that change most.
        """
        tables = [self._agreement_table(per_query)]
        tables += [self._coefficients_table()] if self.coefficients else []
        tables += [self._pairs_table()] if self.pairs else []
        tables += [agreement._confusion_table() for agreement in (self, *self.others.values())]
        for agreement in (self, *self.others.values()):
            tables += StabilityTables(
                agreement.orderings,
                agreement.second,
                bool(agreement.per_query),
                agreement.recipe,
                agreement.on_runs,
            ).tables()
        return tables

    def _coefficients_table(self) -> Table:
        """Return the coefficients of all assessors together, with their intervals."""
        row_of_name: dict[str, list[str]] = {}  # all of relevance come before those of grades
        n_documents: dict[bool, int] = {}  # {whether it is Fleiss' kappa: documents}
        for coefficient in self.coefficients:
            row = row_of_name.setdefault(coefficient.name, [coefficient.name])
            ends = format_interval(coefficient.low, coefficient.high, signs=False)
            row += [format_number(coefficient.value), ends]
            n_documents.setdefault(coefficient.name == FLEISS, coefficient.documents)
        level = format_percent(1 - self.recipe["alpha"])
        n = self.recipe["assessors"]
        jackknife_unit = self.coefficients[0].left_out
        notes = [
            f"Of {format_count(n_documents[False], 'document')} that two or more judge; Fleiss' "
            f"kappa of {format_count(n_documents[True], 'document')} that all {n} judge.",
            "Each is 1 where all agree; all but agreement are 0 as by chance. relevance: relevant "
            "or not; grade: the same grade. AC1 does not fall where nearly all have one grade, as "
            "kappa and alpha do; ordinal: grades farther apart differ more.",
            f"The intervals leave out one {jackknife_unit} after the other (jackknife, Student's "
            "t).",
        ]
        if any(coefficient.value is None for coefficient in self.coefficients):
            notes.append("-: no value: chance alone would agree on all, or nothing to divide by.")
        if any(entry.value is not None and entry.low is None for entry in self.coefficients):
            notes.append(f"-: no interval: no {jackknife_unit} changes it, or one alone counts.")
        title = [f"Agreement of {n} assessors beyond chance"]
        header = ["coefficient", "relevance", f"{level} interval", "grade", f"{level} interval"]
        return Table(header, [*row_of_name.values()], notes, title=title)

    def _pairs_table(self) -> Table:
        """Return how far each two assessors agree, on all documents together."""
        pair_rows = [(f"{a} - {b}", asdict(numbers)) for (a, b), numbers in self.pairs.items()]
        first_column, *columns = _agreement_columns(self.recipe["rel"])
        columns = [column for column in columns if not column.heading.startswith("rel")]
        columns = [replace(column, meaning="") for column in columns]
        columns.insert(0, replace(first_column, heading="assessors"))
        title = ["Each two assessors, on all documents together"]
        return make_table(pair_rows, columns, title=title)

    def _agreement_table(self, per_query: bool) -> Table:
        """Return a table of the agreement: on each query, if wanted; the mean; on all."""
        n_queries, pooled = len(self.per_query), asdict(self.pooled)
        table_rows = (
            [(name, asdict(query_agreement)) for name, query_agreement in self.per_query.items()]
            if per_query
            else []
        )
        rules = [n_queries] if table_rows else []
        if n_queries > 1:
            means = {name: _mean_over_queries(self.per_query, name) for name in pooled}
            table_rows.append((f"mean of {n_queries:,}", means))
        table_rows.append(("all together", pooled))
        sentences = ["-: no value: nothing to divide by, or chance alone would agree on all."]
        for name, n in (("A", self.pooled.only_a), ("B", self.pooled.only_b)):
            if n:
                sentences.append(f"{n:,} of these queries' documents are judged in {name} only.")
        title = "How far A, the first qrels, and B, the second, agree"
        if not self.per_query:
            title = "How far A, the qrels, and B, which the rates make of it, would agree"
        columns = _agreement_columns(self.recipe["rel"])
        notes = self.on_judgments
        return make_table(
            table_rows, columns, sentences=sentences, notes=notes, rules=rules, title=[title]
        )

    def _confusion_table(self) -> Table:
        """Return a table of how many documents have each pair of grades of A and the second."""
        second, is_counted = self.second, bool(self.per_query)
        rows = [
            [f"A: {grade}", *(f"{count:,}" if is_counted else f"{count:,.1f}" for count in counts)]
            for grade, counts in zip(self.grades, self.matrix.tolist(), strict=True)
        ]
        documents_phrase = "judged in both" if is_counted else "to be expected"
        title = [f"Documents {documents_phrase}, by the grades that A and {second} give"]
        notes = [f"A row for each grade of A, a column for each of {second}."]
        columns = ["", *(f"{second}: {grade}" for grade in self.grades)]
        return Table(columns, rows, notes, title=title)

    def rows(self, *, per_query: bool = False) -> list[dict[str, Any]]:
        """Return a row for each number (of `others`, orderings alone): its place, name, value."""
        fields = self.to_dict()
        fields_of_query = {**(fields["per_query"] if per_query else {}), "all": fields["pooled"]}
        parts = [
            ("agreement", "", query, "", numbers) for query, numbers in fields_of_query.items()
        ]
        for grade, counts in zip(fields["grades"], fields["matrix"], strict=True):
            for other, n in zip(fields["grades"], counts, strict=True):
                parts.append(("confusion", "", str(grade), str(other), {"documents": n}))
        parts += [
            ("coefficient", "", coefficient.pop("name"), coefficient.pop("of"), coefficient)
            for coefficient in fields["coefficients"]
        ]
        parts += [
            ("assessors", "", pair.pop("assessor"), pair.pop("other"), pair)
            for pair in fields["pairs"]
        ]
        for suffix, orderings in (
            ("", fields["orderings"]),
            *(
                (f", A and {name}", other_agreement["orderings"])
                for name, other_agreement in fields["others"].items()
            ),
        ):
            for ordering in orderings:
                measure, systems, pairs = (
                    ordering.pop(key) for key in ("measure", "systems", "pairs")
                )
                parts.append((f"ordering{suffix}", measure, "", "", ordering))
                parts += [
                    (f"system{suffix}", measure, system.pop("system"), "", system)
                    for system in systems
                ]
                parts += [
                    (f"pair{suffix}", measure, *map(pair.pop, ("left", "right")), pair)
                    for pair in pairs
                ]
        return self._rows_as_dicts(
            (*labels, *name_and_number)
            for *labels, numbers in parts
            for name_and_number in numbers.items()
        )

    def _document(self, *, per_query: bool = False) -> dict[str, Any]:
        return self.to_dict()  # which has every query

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, those of every query among them."""
        return {
            "recipe": dict(self.recipe),
            "pooled": asdict(self.pooled),
            "per_query": {
                query: asdict(query_agreement) for query, query_agreement in self.per_query.items()
            },
            "grades": list(self.grades),
            "matrix": self.matrix.tolist(),
            "notes": [note.to_dict() for note in self.notes],
            "orderings": [ordering.to_dict() for ordering in self.orderings],
            "coefficients": [asdict(coefficient) for coefficient in self.coefficients],
            "pairs": [
                {"assessor": a, "other": b, **asdict(pair_agreement)}
                for (a, b), pair_agreement in self.pairs.items()
            ],
            "others": {
                name: {
                    key: field
                    for key, field in agreement.to_dict().items()
                    if key in ("pooled", "per_query", "grades", "matrix", "orderings", "notes")
                }
                for name, agreement in self.others.items()
            },
        }

    def __repr__(self) -> str:
        numbers = ", ".join(
            f"{name} {format_number(getattr(self.pooled, name))}" for name in ("kappa", "overlap")
        )
        return f"Agreement({numbers}, {len(self.orderings)} orderings)"


def _agreement_columns(rel: int) -> list[Column]:
    """Return the columns of an agreement; a row is (label, {name: number})."""

    def number_column(name: str, heading: str, meaning: str = "") -> Column:
        return Column(heading, lambda row: _format_number(name, row[1][name]), meaning)

    return [
        Column("query_id", lambda row: str(row[0])),
        number_column(
            "both",
            "both",
            f"both: documents judged in both. rel. A, rel. B: relevant there (grade {rel} or "
            "more).",
        ),
        number_column("relevant_a", "rel. A"),
        number_column("relevant_b", "rel. B"),
        number_column(
            "agreement",
            "agree",
            "agree: the share of both on which A and B agree whether it is relevant. "
            "kappa: the same beyond chance, 1 at best, 0 as by chance (Cohen).",
        ),
        number_column("kappa", "kappa"),
        number_column(
            "same_grade",
            "same",
            "same: the share with the same grade. "
            "w. kappa: kappa of grades, a disagreement counting by its square.",
        ),
        number_column("weighted_kappa", "w. kappa"),
        number_column(
            "overlap",
            "overlap",
            "overlap: documents relevant in A and in B / in A or in B, of both. "
            "of all: the same of all documents, one that is not judged being not relevant.",
        ),
        number_column("overlap_all", "of all"),
    ]


def _format_number(name: str, number_or_none: float | None) -> str:
    """Return the number called `name` as text: a count whole, a mean or expected one to .1."""
    if number_or_none is None or not name.startswith(("both", "rel")):
        return format_number(number_or_none)
    return f"{number_or_none:,}" if isinstance(number_or_none, int) else f"{number_or_none:,.1f}"


def _mean_over_queries(per_query: Mapping[str, PairAgreement], name: str) -> float | None:
    """Return the mean of a number over the queries that have it; None if none has."""
    query_values = [
        value
        for query_agreement in per_query.values()
        if (value := getattr(query_agreement, name)) is not None
    ]
    return mean(np.array(query_values) * 1.0) if query_values else None
