"""Mean explanation: shows which queries lower the value over all queries, and by how much."""

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
from cranfield.measures import Measure, find_definition, parse
from cranfield.measures.parameters import Depth
from cranfield.notes import Note, lines_below_table
from cranfield.render.numbers import format_number, format_query_count, format_signed, numeric_order
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, legend
from cranfield.scoring.assembly import ideal_ranking_notes
from cranfield.scoring.evaluate import score_runs
from cranfield.scoring.scores import Scores, format_score

# What a query contributes: what it lacks to 1; how far it is from the mean; its own value, of a
# sum; how far its logarithm is from the mean of the logarithms.
Kind = Literal["missing", "difference", "sum", "logarithm"]

_MAX_TERMS = 4  # of a formula, before some are left out
_MAX_ROWS = 10  # of a table, before the others are left out


@dataclass(frozen=True)
class QueryPart:
    """One query's part of the value over all. What does not apply, or was not counted, is None."""

    query_id: str
    value: float
    term: float  # what is added up: the value, or ln(max(value, 0.00001)) of a geometric mean
    part: float  # 1 - value, value - mean, value, or term - mean of the terms
    share: float | None  # part / sum of the parts, if that sum says something
    so_far: float | None  # the share of this query and those above it
    retrieved: int | None  # documents, as are the next two
    relevant: int | None  # judged so, retrieved or not
    relevant_retrieved: int | None
    marks: tuple[str, ...]  # what explains the value


@dataclass(frozen=True, eq=False, repr=False)
class MeanExplanation(Shown):
    """The value over all queries, as the sum of what its queries contribute.

    `queries` has them all, the most harmful first, of a sum the greatest value first, and where it
    is not known whether more is better, the farthest from the mean; equal ones are in the order of
    their ids. Last are those known to have no relevant document, which no ranking helps, if they
    have 0, and `kind` is "missing" or "logarithm". `kind` says what their `part` is:

    "missing": the measure's best value is 1, and part is 1 - value.
    "difference": part is value - mean, and all parts add up to 0 (up to rounding).
    "sum": the value over all is a sum, and part is the query's own value.
    "logarithm": of a geometric mean; part is ln(max(value, 0.00001)) less the mean of these.

    `total` is the sum of the queries' terms, in the order of the bytes of their ids, from left to
    right; `value` is total / n, for a sum the total, for a geometric mean exp(total / n): to the
    last bit what `evaluate` returns.

    >>> from cranfield import evaluate
    >>> qrels = {"q1": {"d1": 1}, "q2": {"d2": 1}, "q3": {"d3": 1}}
    >>> run = {"q1": ["d1"], "q2": ["d1", "d2"], "q3": ["d1", "d2"]}
    >>> page = MeanExplanation.of(evaluate(qrels, run, "RR"), "RR")
    >>> [(query.query_id, query.part, round(query.share, 4)) for query in page.queries]
    [('q3', 1.0, 0.6667), ('q2', 0.5, 0.3333), ('q1', 0.0, 0.0)]
    >>> page.total / page.n == page.value == 0.5
    True
    """

    header = (*(field.name for field in fields(QueryPart) if field.name != "marks"), "why")

    name: str  # of the run
    measure: Measure
    kind: Kind
    value: float
    total: float
    terms: Sequence[float]  # in the order in which they are added
    queries: Sequence[QueryPart]
    level: float  # the lowest grade that was counted as relevant
    recipe: Mapping[str, Any]  # that of the scores
    notes: Sequence[Note]  # what else to know of the scores

    @property
    def n(self) -> int:
        """The number of queries."""
        return len(self.queries)

    @classmethod
    def of(cls, scores: Scores, measure: Measure | str, least: float = 1) -> "MeanExplanation":
        """Explain one measure's value over all queries.

        NumRet, NumRel and NumRelRet, at its level, are shown beside it if `scores` has them, and
        mark queries without results, without relevant documents, or without any of these retrieved;
        Success at the measure's cutoff marks queries without any of these down to there.

        Args:
            scores: what `evaluate` returned for one run.
            measure: one that was evaluated.
            least: the grade from which on a document is relevant to a measure that states none: 1,
                or where grades are fractions the smallest number above 0.

        Raises:
            MeasureError: the measure was not evaluated, or its values are texts.

        """
        numeric_measure = _check_numeric(measure)
        value = scores[numeric_measure]
        values = scores.columns[str(numeric_measure)][1].astype(np.float64)
        kind = _find_kind(numeric_measure, values)
        terms = floored_log(values) if kind == "logarithm" else values
        rows = np.array(numeric_order(scores.query_ids), np.int64)  # the order of equals
        higher_is_better = numeric_measure.definition.higher_is_better
        parts, order = _compute_parts(kind, terms, higher_is_better, rows)
        count_columns = [
            scores.per_query(side_measure) if str(side_measure) in scores.columns else {}
            for side_measure in _side_measures(numeric_measure, least)
        ]
        if kind in ("missing", "logarithm") and count_columns[1]:
            # A query that no ranking helps comes last.
            n_relevant = np.array([count_columns[1][query_id] for query_id in scores.query_ids])
            is_hopeless = (n_relevant == 0) & (values == 0)
            order = order[np.argsort(is_hopeless[order], kind="stable")]
        queries = []
        shares = _compute_shares(kind, parts[order])
        for row, share, running_share in zip(order.tolist(), *shares, strict=True):
            query_id = scores.query_ids[row]
            counts = [int(column[query_id]) if column else None for column in count_columns]
            judged_only = scores.recipe["judged_only"]
            retrieved, relevant, relevant_retrieved, *_ = counts
            part = QueryPart(
                query_id=query_id,
                value=float(values[row]),
                term=float(terms[row]),
                part=float(parts[row]) + 0.0,
                share=share,
                so_far=running_share,
                retrieved=retrieved,
                relevant=relevant,
                relevant_retrieved=relevant_retrieved,
                marks=tuple(_list_marks(counts, numeric_measure, judged_only=judged_only)),
            )
            queries.append(part)
        notes = [
            replace(note, text=f"{format_query_count(note.queries or 0)} added up.")
            if (kind, note.code) == ("sum", "queries")
            else note
            for note in scores.notes
        ]
        return cls(
            name=scores.name,
            measure=numeric_measure,
            kind=kind,
            value=value,
            total=total(terms),
            terms=terms.tolist(),
            queries=queries,
            level=_relevance_level(numeric_measure, least),
            recipe=scores.recipe,
            notes=notes,
        )

    @classmethod
    def of_run(
        cls, qrels: Qrels, run: Run, measure: Measure, judging: Judging
    ) -> "MeanExplanation":
        """Explain a run's value over all queries, with counts beside it.

        The counts: documents retrieved, relevant ones (by the grade that the measure takes for
        that), and relevant ones retrieved; not the last with ties="expected", where a cut by
        `depth` leaves open which they are; none for judgments in groups, where a document has
        several grades.

        Raises what `evaluate` does; MeasureError, too, for a measure whose values are texts.
        """
        numeric_measure = _check_numeric(measure)
        lowest_grade = 1 if are_whole_grades(qrels.grade) else SMALLEST_POSITIVE
        side_measures = [] if qrels.has_groups else _side_measures(numeric_measure, lowest_grade)
        if judging.ties == "expected":
            side_measures = side_measures[:2]
        all_measures = dict.fromkeys([numeric_measure, *side_measures])
        scores = score_runs(qrels, {run.name: run}, all_measures, judging)[run.name]
        explanation = cls.of(scores, numeric_measure, lowest_grade)
        # The measures beside it have no ideal ranking.
        side_notes = {*ideal_ranking_notes(scores.measures, qrels)}
        side_notes -= {*ideal_ranking_notes([numeric_measure], qrels)}
        notes = [note for note in explanation.notes if note not in side_notes]
        return replace(explanation, notes=notes)

    def tables(self, limit: int | None = _MAX_ROWS) -> list[Table]:
        """Return the queries as a table, the first `limit` of them (None: all).

        Raises OptionError if `limit` is not a whole number of 1 or more.
        """
        check_limit(limit)
        shown_parts = self.queries[:limit]
        columns = [*self._columns(shown_parts)]
        rows = [[part.query_id, *(column.cell(part) for column in columns)] for part in shown_parts]
        title = f"{self.measure} of {self.name}: {format_score(self.measure, self.value)}, the "
        title += f"{self.measure.definition.aggregation_text} of {format_query_count(self.n)}"
        header = ["query_id", *(column.heading for column in columns)]
        lines = self._lines_below(len(shown_parts), legend(columns))
        return [Table(header, rows, lines, title=[title], n_sentences=header.count("why"))]

    def _columns(self, parts: Sequence[QueryPart]) -> Iterator[Column]:
        """Yield the columns behind the query's; the rows of the table are `parts`."""
        yield Column(str(self.measure), lambda part: format_score(self.measure, part.value))
        if self.kind == "logarithm":
            floor = f"{GEOMETRIC_FLOOR:.5f}"
            meaning = f"ln: the logarithm of the value, or of {floor} if that is more."
            yield Column("ln", lambda part: format_number(part.term), meaning)
        if self.kind == "missing":
            yield Column("1 - value", lambda part: format_number(part.part))
        elif self.kind != "sum":
            label = "ln - mean ln" if self.kind == "logarithm" else "value - mean"
            higher_is_better = self.measure.definition.higher_is_better
            first_text = "lowest" if higher_is_better else "farthest"
            if higher_is_better is False:
                first_text = "highest, here the worst,"
            meaning = f"The {first_text} first; over all queries the differences add up to 0."
            yield Column(label, lambda part: format_signed(part.part), meaning)
        if self.queries[0].share is not None:
            meaning = f"share: value / {format_score(self.measure, self.total)}, the sum."
            if self.kind == "missing":
                parts_sum = f"{total(np.array([part.part for part in self.queries])):.4f}"
                meaning = f"share: (1 - value) / {parts_sum}, the sum of 1 - value of all queries."
            yield Column("share", lambda part: _format_percent(part.share, 1), meaning)
            yield Column("so far", lambda part: _format_percent(part.so_far, 1))
        is_lowest = self.level in (1, SMALLEST_POSITIVE)
        level_text = "" if is_lowest else f" (of grade {self.level} or more)"
        count_meaning = f"found: relevant documents{level_text} that were retrieved, at any rank."
        for name in ("retrieved", "relevant", "relevant_retrieved"):
            if None not in (getattr(part, name) for part in parts):
                heading, meaning = ("found", count_meaning) if "_" in name else (name, "")
                yield Column(heading, lambda part, name=name: f"{getattr(part, name):,}", meaning)
        if any(part.marks for part in parts):
            yield Column("why", lambda part: ", ".join(part.marks))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each query: all of its QueryPart, the marks as one text, `why`."""
        return self._rows_as_dicts(
            (*(getattr(part, name) for name in self.header[:-1]), ", ".join(part.marks))
            for part in self.queries
        )

    def _lines_below(self, n_visible: int, lines: list[str]) -> list[str]:
        """Return all lines below a table of `n_visible` queries; `lines` explain its columns."""
        running_share = self.queries[n_visible - 1].so_far
        if self.kind == "missing" and running_share is None:
            lines = ["Nothing is missing: every query has 1.", *lines]
        elif self.kind == "missing":
            for reason in self.measure.imperfect:
                lines.append(f"A perfect ranking may have less than 1, too: {reason}.")
        if self.n > n_visible:
            n_hopeless = sum(part.relevant == 0 for part in self.queries[n_visible:])
            if running_share is not None:
                whole = "what is missing" if self.kind == "missing" else "the sum"
                percent = _format_percent(running_share)
                lines.append(f"The first {n_visible:,} of {self.n:,}: {percent} of {whole}.")
            hopeless_text = f", {n_hopeless:,} of them without a relevant document"
            hopeless_text = hopeless_text if n_hopeless else ""
            lines.append(f"Not shown: {format_query_count(self.n - n_visible)}{hopeless_text}.")
        lines = lines_below_table(lines, self.notes)
        return [*lines, "Added up in the order of the query ids:", self.formula]

    @property
    def formula(self) -> str:
        """How the value came about: the terms, in the order in which they are added."""
        texts = list(map(format_number, self.terms))
        if self.measure.definition.aggregation == "sum":
            texts = [format_score(self.measure, term) for term in self.terms]
        if self.n > _MAX_TERMS:
            texts = [*texts[: _MAX_TERMS - 2], "...", texts[-1]]
        sum_text = " + ".join(texts).replace("+ -", "- ")
        if self.kind == "sum":
            return f"sum = {sum_text} = {self.total!r}"
        division, quotient = f"({sum_text}) / {self.n}", f"{self.total!r} / {self.n}"
        if self.kind == "logarithm":
            return f"geometric mean = exp({division}) = exp({quotient}) = {self.value!r}"
        return f"mean = {division} = {quotient} = {self.value!r}"

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
            "queries": [{**asdict(part), "marks": list(part.marks)} for part in self.queries],
            "recipe": dict(self.recipe),
            "notes": [note.to_dict() for note in self.notes],
        }


def _check_numeric(measure: Measure | str) -> Measure:
    """Return a measure that has numbers as values; MeasureError for a measure of texts."""
    measure = parse(measure) if isinstance(measure, str) else measure
    if measure.definition.is_text:
        raise MeasureError(
            f"{measure} is a string for each query: there is no mean to explain; name a measure "
            "whose value is a number, such as nDCG@10"
        )
    return measure


def _find_kind(measure: Measure, values: Floats) -> Kind:
    """Return what a query contributes to the value over all, by the measure and its values."""
    definition = measure.definition
    if definition.aggregation == "sum":
        return "sum"
    if definition.aggregation == "geometric":
        return "logarithm"
    ends_at_1 = definition.range[1] == 1 and definition.higher_is_better is True
    return "missing" if ends_at_1 and values.max() <= 1 else "difference"


def _compute_parts(
    kind: Kind, terms: Floats, higher_is_better: bool | None, rows: Ints
) -> tuple[Floats, Ints]:
    """Return the part of each query, (n_queries,), and the rows from the most harmful query on.

    Of a sum, the greatest value is first; where neither direction is better, the value farthest
    from the mean. Equal ones are in the order of `rows`, (n_queries,).
    """
    if kind == "sum":
        return terms, rows[np.argsort(-terms[rows], kind="stable")]
    parts = 1 - terms if kind == "missing" else terms - mean(terms)
    key = -np.abs(parts) if higher_is_better is None else terms if higher_is_better else -terms
    return parts, rows[np.argsort(key[rows], kind="stable")]


# The parameter of measures that is the lowest relevant grade: others mean something else by `rel`.
_REL = find_definition("NumRel").parameters["rel"]


def _compute_shares(kind: Kind, part: Floats) -> Sequence[Sequence[float | None]]:
    """Return the share of each part in their sum, and that of all parts down to it: (2, n_queries).

    Without a sum to have a share in, all are None.
    """
    parts_sum = total(part)
    if kind not in ("missing", "sum") or parts_sum == 0:
        return [[None] * len(part)] * 2
    return [(part / parts_sum).tolist(), (np.cumsum(part) / parts_sum).tolist()]


def _relevance_level(measure: Measure, lowest_grade: float) -> float:
    """Return the lowest grade relevant to the measure, `lowest_grade` if it states none.

    It states none without `_REL`, or where grades are fractions, and so `lowest_grade` is not 1, of
    which `rel` is no level.
    """
    takes_rel = measure.definition.parameters.get("rel") == _REL
    states_level = takes_rel and (lowest_grade == 1 or measure.fractions == "level")
    level: float = measure.parameters["rel"] if states_level else lowest_grade
    return level


def _side_measures(measure: Measure, lowest_grade: float) -> list[Measure]:
    """Return measures that count documents: retrieved, relevant, both; and Success at the cutoff.

    The last is only for a cutoff that is the same for all: "the first R" would say little.
    """
    level, cutoff = _relevance_level(measure, lowest_grade), measure.cutoff
    counts = [Measure("NumRet"), Measure("NumRel")(rel=level), Measure("NumRelRet")(rel=level)]
    if isinstance(cutoff, Depth) and not cutoff.at_relevant:
        counts.append((Measure("Success") @ cutoff)(rel=level))
    return counts


def _list_marks(
    counts: Sequence[int | None], measure: Measure, *, judged_only: bool
) -> Iterator[str]:
    """Yield what explains a low value; `counts` are values of `_side_measures`, None if unknown."""
    n_retrieved, n_relevant, n_relevant_retrieved, *success = counts
    if n_retrieved == 0:
        yield "no judged results" if judged_only else "no results"
    if n_relevant == 0:
        yield "no relevant document"
    if n_retrieved and n_relevant and n_relevant_retrieved == 0:
        yield "nothing relevant retrieved"
    elif n_retrieved and n_relevant and success == [0]:
        cutoff = str(measure.cutoff)
        first = "at rank 1" if cutoff == "1" else f"in the first {cutoff}"
        yield f"nothing relevant {first}"


def _format_percent(share: float | None, decimals: int = 0) -> str:
    return "-" if share is None else f"{100 * share + 0.0:.{decimals}f} %"
