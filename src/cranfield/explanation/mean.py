"""The value over all queries explained: which queries lower it, and by how much."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from cranfield.arrays.grades import SMALLEST_POSITIVE, are_whole_grades
from cranfield.arrays.ranked import GEOMETRIC_FLOOR, Floats, Ints, floored_log, mean, total
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import MeasureError
from cranfield.explanation.query import check_limit
from cranfield.measures import Measure, definitions, parse
from cranfield.measures.parameters import Depth
from cranfield.notes import Note, lines_below_table
from cranfield.render.numbers import numeric_order, format_number, format_query_count, format_signed
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, legend
from cranfield.scoring.assembly import ideal_ranking_notes
from cranfield.scoring.evaluate import score_runs
from cranfield.scoring.scores import Scores, format_score

# What a query contributes: what it lacks to 1; how far it is from the mean; its own value, of a
# sum; how far its logarithm is from the mean of the logarithms.
Kind = Literal["missing", "difference", "sum", "logarithm"]

_MAX_TERMS = 4
_MAX_ROWS = 10  # of a table, before the others are left out


@dataclass(frozen=True)
class QueryPart:
    """One query's part of the value over all. What does not apply, or was not counted, is None."""

    query_id: str
    value: float
    term: float  # what is added up: the value, or ln(max(value, 0.00001)) of a geometric mean
    part: float  # 1 - value, value - mean, value, or term - mean of the terms
    share: float | None  # of the sum of the parts, 0 to 1, if their sum says something
    so_far: float | None  # the share of this query and those above it
    retrieved: int | None
    relevant: int | None  # judged so, retrieved or not
    relevant_retrieved: int | None
    marks: tuple[str, ...]  # what explains the value


@dataclass(frozen=True, eq=False, repr=False)
class MeanExplanation(Shown):
    """The value over all queries, as the sum of what its queries contribute.

    `queries` has them all, the most harmful first; those that are equal in this are in the
    order of their ids. Last are those without a relevant document, which no ranking helps, if they
    have 0, and `kind` is "missing" or "logarithm". `kind` says what their `part` is:

    "missing": the measure's best value is 1, and part is 1 - value; share is part / sum of parts.
    "difference": part is value - mean, and all parts add up to 0 (up to rounding).
    "sum": the value over all is a sum, and part is the query's own value.
    "logarithm": of a geometric mean; part is ln(max(value, 0.00001)) less the mean of these.

    `total` is the sum of the queries' terms, in the order of the bytes of their ids, from left to
    right; `value` is total / n, for a sum the total, for a geometric mean exp(total / n): to the
    last bit what `evaluate` returns.

    >>> from cranfield import evaluate
    >>> qrels = {"q1": {"d1": 1}, "q2": {"d2": 1}, "q3": {"d3": 1}}
    >>> run = {"q1": ["d1"], "q2": ["d1", "d2"], "q3": ["d1", "d2"]}
    >>> found = MeanExplanation.of(evaluate(qrels, run, "RR"), "RR")
    >>> [(one.query_id, one.part, round(one.share, 4)) for one in found.queries]
    [('q3', 1.0, 0.6667), ('q2', 0.5, 0.3333), ('q1', 0.0, 0.0)]
    >>> found.total / found.n == found.value == 0.5
    True
    """

    header = (*(one.name for one in fields(QueryPart) if one.name != "marks"), "why")

    name: str  # of the run
    measure: Measure
    kind: Kind
    value: float
    total: float
    terms: Sequence[float]  # in the order in which they are added
    queries: Sequence[QueryPart]
    level: float  # the lowest grade that was counted as relevant
    recipe: Mapping[str, Any]
    notes: Sequence[Note]  # what else to know of the scores

    @property
    def n(self) -> int:
        """The number of queries."""
        return len(self.queries)

    @classmethod
    def of(cls, scores: Scores, measure: Measure | str, least: float = 1) -> "MeanExplanation":
        """Explain one measure's value over all queries.

        What `scores` also has of NumRet, NumRel and NumRelRet is shown beside, and marks queries
        without results, without relevant documents, and those for which none of them was found;
        with Success at the measure's cutoff, those for which none was found down to there, too.

        Args:
            scores: what `evaluate` returned for one run.
            measure: one that was evaluated.
            least: the lowest grade above 0, from which on a document is relevant to a measure
                that has no `rel`.

        Raises:
            MeasureError: the measure was not evaluated, or its values are texts.

        """
        wanted = _check_numeric(measure)
        value = scores[wanted]
        values = scores.columns[str(wanted)][1].astype(np.float64)
        kind = _find_kind(wanted, values)
        terms = floored_log(values) if kind == "logarithm" else values
        at = np.array(numeric_order(scores.query_ids), np.int64)  # as equal ones are to be
        parts, order = _compute_parts(kind, terms, wanted.definition.higher_is_better, at)
        counted = [
            scores.per_query(one) if str(one) in scores.columns else {}
            for one in _side_measures(wanted, least)
        ]
        if kind in ("missing", "logarithm") and counted[1]:  # what no ranking helps comes last
            without = np.array([counted[1][one] == 0 for one in scores.query_ids]) & (values == 0)
            order = order[np.argsort(without[order], kind="stable")]
        in_order = parts[order]
        whole = total(in_order)
        shares: Sequence[Sequence[float | None]] = [[None] * len(values)] * 2
        if kind in ("missing", "sum") and whole != 0:
            shares = [(in_order / whole).tolist(), (np.cumsum(in_order) / whole).tolist()]
        queries = []
        for row, share, so_far in zip(order.tolist(), *shares, strict=True):
            query = scores.query_ids[row]
            counts = [int(column[query]) if column else None for column in counted]
            marks = tuple(_list_marks(counts, wanted, judged_only=scores.recipe["judged_only"]))
            numbers = (float(values[row]), float(terms[row]), float(parts[row]) + 0.0)
            retrieved, relevant, both, *_ = counts
            shared = (share, so_far, retrieved, relevant, both)
            queries.append(QueryPart(query, *numbers, *shared, marks))
        notes = [
            replace(one, text=f"{format_query_count(one.queries or 0)} added up.")
            if (kind, one.code) == ("sum", "queries")
            else one
            for one in scores.notes
        ]
        return cls(
            *(scores.name, wanted, kind, value, total(terms), terms.tolist(), queries),
            *(_relevance_level(wanted, least), scores.recipe, notes),
        )

    @classmethod
    def of_run(
        cls, qrels: Qrels, run: Run, measure: Measure, judging: Judging
    ) -> "MeanExplanation":
        """Explain a run's value over all queries, with counts beside it.

        Counted are the documents retrieved, those relevant (by the grade that the measure takes for
        that), and the relevant ones retrieved; the last not with ties="expected", where a cut by
        `depth` leaves open which they are; none for judgments in groups, where a document has
        several grades.

        Raises what `evaluate` does; MeasureError, too, for a measure whose values are texts.
        """
        wanted = _check_numeric(measure)
        least = 1 if are_whole_grades(qrels.grade) else SMALLEST_POSITIVE
        beside = [] if qrels.has_groups else _side_measures(wanted, least)
        if judging.ties == "expected":
            beside = beside[:2]
        wished = dict.fromkeys([wanted, *beside])
        scores = score_runs(qrels, {run.name: run}, wished, judging)[run.name]
        found = cls.of(scores, wanted, least)
        # What is counted beside it has no ideal ranking.
        unsaid = {*ideal_ranking_notes(scores.measures, qrels)} - {*ideal_ranking_notes([wanted], qrels)}
        return replace(found, notes=[one for one in found.notes if one not in unsaid])

    def tables(self, limit: int | None = _MAX_ROWS) -> list[Table]:
        """Return the queries as a table, the `limit` most harmful ones (None: all).

        Raises OptionError if `limit` is not a whole number of 1 or more.
        """
        check_limit(limit)
        first = self.queries[:limit]
        columns = [*self._columns(first)]
        rows = [[one.query_id, *(column.cell(one) for column in columns)] for one in first]
        title = f"{self.measure} of {self.name}: {format_score(self.measure, self.value)}, the "
        title += f"{self.measure.definition.aggregation_text} of {format_query_count(self.n)}"
        header = ["query_id", *(column.heading for column in columns)]
        beside, n_sentences = self._lines_below(len(first), legend(columns)), header.count("why")
        return [Table(header, rows, beside, title=[title], n_sentences=n_sentences)]

    def _columns(self, parts: Sequence[QueryPart]) -> Iterator[Column]:
        """Yield the columns behind the query's, of the rows that are shown: of a QueryPart."""
        yield Column(str(self.measure), lambda one: format_score(self.measure, one.value))
        if self.kind == "logarithm":
            meaning = f"ln: the logarithm of the value, or of {GEOMETRIC_FLOOR:.5f} if that is more."
            yield Column("ln", lambda one: format_number(one.term), meaning)
        if self.kind == "missing":
            yield Column("1 - value", lambda one: format_number(one.part))
        elif self.kind != "sum":
            label = "ln - mean ln" if self.kind == "logarithm" else "value - mean"
            rising = self.measure.definition.higher_is_better
            first_is = "lowest" if rising else "farthest"
            if rising is False:
                first_is = "highest, here the worst,"
            meaning = f"The {first_is} first; over all queries the differences add up to 0."
            yield Column(label, lambda one: format_signed(one.part), meaning)
        if self.queries[0].share is not None:
            meaning = f"share: value / {format_score(self.measure, self.total)}, the sum."
            if self.kind == "missing":
                whole = total(np.array([one.part for one in self.queries]))
                meaning = f"share: (1 - value) / {whole:.4f}, the sum of 1 - value of all queries."
            yield Column("share", lambda one: _format_percent(one.share, 1), meaning)
            yield Column("so far", lambda one: _format_percent(one.so_far, 1))
        level = "" if self.level in (1, SMALLEST_POSITIVE) else f" (of grade {self.level} or more)"
        found = f"found: relevant documents{level} that were retrieved, at any rank."
        for name in ("retrieved", "relevant", "relevant_retrieved"):
            if None not in (getattr(one, name) for one in parts):
                heading, meaning = ("found", found) if "_" in name else (name, "")
                yield Column(heading, lambda one, name=name: f"{getattr(one, name):,}", meaning)
        if any(one.marks for one in parts):
            yield Column("why", lambda one: ", ".join(one.marks))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each query: all of its QueryPart, the marks as one text, `why`."""
        return self._rows_as_dicts(
            (*(getattr(one, name) for name in self.header[:-1]), ", ".join(one.marks))
            for one in self.queries
        )

    def _lines_below(self, n_visible: int, lines: list[str]) -> list[str]:
        """Return the lines below the table, of which `said` explain its columns."""
        until = self.queries[n_visible - 1].so_far
        if self.kind == "missing" and until is None:
            lines = ["Nothing is missing: every query has 1.", *lines]
        elif self.kind == "missing":
            for why in self.measure.imperfect:
                lines.append(f"A perfect ranking may have less than 1, too: {why}.")
        if self.n > n_visible:
            hopeless = sum(one.relevant == 0 for one in self.queries[n_visible:])
            if until is not None:
                of = "what is missing" if self.kind == "missing" else "the sum"
                lines.append(f"The first {n_visible:,} of {self.n:,}: {_format_percent(until)} of {of}.")
            without = f", {hopeless:,} of them without a relevant document" * bool(hopeless)
            lines.append(f"Not shown: {format_query_count(self.n - n_visible)}{without}.")
        return [*lines_below_table(lines, self.notes), "Added up in the order of the query ids:", self.formula]

    @property
    def formula(self) -> str:
        """How the value came about: the terms, in the order in which they are added."""
        terms = list(map(format_number, self.terms))
        if self.measure.definition.aggregation == "sum":
            terms = [format_score(self.measure, one) for one in self.terms]
        if self.n > _MAX_TERMS:
            terms = [*terms[: _MAX_TERMS - 2], "...", terms[-1]]
        added = " + ".join(terms).replace("+ -", "- ")
        if self.kind == "sum":
            return f"sum = {added} = {self.total!r}"
        average, value = f"({added}) / {self.n}", f"{self.total!r} / {self.n}"
        if self.kind == "logarithm":
            return f"geometric mean = exp({average}) = exp({value}) = {self.value!r}"
        return f"mean = {average} = {value} = {self.value!r}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as for JSON: every query, and all numbers in full."""
        return {
            "run": self.name,
            "measure": str(self.measure),
            "over_queries": self.measure.definition.aggregation_text,
            "value": self.value,
            "total": self.total,
            "n": self.n,
            "formula": self.formula,
            "kind": self.kind,
            "rel": self.level,
            "queries": [{**asdict(one), "marks": list(one.marks)} for one in self.queries],
            "recipe": dict(self.recipe),
            "notes": [one.to_dict() for one in self.notes],
        }


def _check_numeric(measure: Measure | str) -> Measure:
    one = parse(measure) if isinstance(measure, str) else measure
    if one.definition.is_text:
        raise MeasureError(
            f"{one} is a string for each query: there is no mean to explain; name a measure whose "
            "value is a number, such as nDCG@10"
        )
    return one


def _find_kind(measure: Measure, values: Floats) -> Kind:
    of = measure.definition
    if of.aggregation == "sum":
        return "sum"
    if of.aggregation == "geometric":
        return "logarithm"
    ends_at_1 = of.range[1] == 1 and of.higher_is_better is True
    return "missing" if ends_at_1 and values.max() <= 1 else "difference"


def _compute_parts(kind: Kind, terms: Floats, higher_is_better: bool | None, rows: Ints) -> tuple[Floats, Ints]:
    """Return each query's part (n,), and the rows (n,) from the most harmful on.

    Equal ones are in the order of `at` (n,), which has the rows.
    """
    if kind == "sum":
        return terms, rows[np.argsort(-terms[rows], kind="stable")]
    parts = 1 - terms if kind == "missing" else terms - mean(terms)
    key = -np.abs(parts) if higher_is_better is None else terms if higher_is_better else -terms
    return parts, rows[np.argsort(key[rows], kind="stable")]


_REL = next(one for one in definitions() if one.name == "NumRel").parameters["rel"]


def _relevance_level(measure: Measure, lowest_grade: float) -> float:
    """Return the lowest grade that the measure takes for relevant, the `least` if it has none."""
    takes = measure.definition.parameters.get("rel") == _REL
    known = takes and (lowest_grade == 1 or measure.fractions == "level")
    level: float = measure.parameters["rel"] if known else lowest_grade
    return level


def _side_measures(measure: Measure, lowest_grade: float) -> list[Measure]:
    """Return what is counted beside it: retrieved, relevant, both; and relevant above the cutoff.

    The last not at a cutoff that depends on the query: there "the first R" would say little.
    """
    level, cutoff = _relevance_level(measure, lowest_grade), measure.cutoff
    counts = [Measure("NumRet"), Measure("NumRel")(rel=level), Measure("NumRelRet")(rel=level)]
    if isinstance(cutoff, Depth) and not cutoff.at_relevant:
        counts.append((Measure("Success") @ cutoff)(rel=level))
    return counts


def _list_marks(counts: Sequence[int | None], measure: Measure, *, judged_only: bool) -> Iterator[str]:
    """Yield what explains a low value; the counts are those of `_beside`."""
    retrieved, relevant, both, *reached = counts
    if retrieved == 0:
        yield "no judged results" if judged_only else "no results"
    if relevant == 0:
        yield "no relevant document"
    if retrieved and relevant and both == 0:
        yield "nothing relevant retrieved"
    elif retrieved and relevant and reached == [0]:
        cutoff = str(measure.cutoff)
        first = "at rank 1" if cutoff == "1" else f"in the first {cutoff}"
        yield f"nothing relevant {first}"


def _format_percent(share: float | None, decimals: int = 0) -> str:
    return "-" if share is None else f"{100 * share + 0.0:.{decimals}f} %"
