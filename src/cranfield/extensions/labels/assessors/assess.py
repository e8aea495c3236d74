"""Another assessor: how far two qrels agree, and what that does to the ordering of systems."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from string import ascii_uppercase
from typing import Any, Union, Unpack

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.level import ALPHA
from cranfield.comparison.settings import SEED_OPTION, count_check
from cranfield.data.judging import RANKING_OPTIONS, Judging
from cranfield.data.meeting import list_qrels_notes
from cranfield.data.qrels import Qrels, QrelsLike, make_qrels
from cranfield.data.run import Run, RunLike, SeveralRuns
from cranfield.data.run_names import make_runs
from cranfield.errors import MeasureError, NothingSharedError, OptionError, escape_unprintable
from cranfield.extensions import keywords
from cranfield.extensions.labels.assessors.agreement import Agreement
from cranfield.extensions.labels.assessors.beyond_chance import estimate_coefficients, count_grades
from cranfield.extensions.labels.assessors.judgments import (
    WHOLE_GRADES,
    TwoJudgments,
    measure_agreement,
    count_confusion,
    judgments_from_matrix,
    match_two,
)
from cranfield.extensions.labels.assessors.relabel import select_on_scale, score_relabelled
from cranfield.extensions.labels.assessors.stability import Stability, measure_stability
from cranfield.extensions.labels.rates import read_rates
from cranfield.extensions.whatif.variants import split_variants
from cranfield.formats.columns import Side
from cranfield.formats.source import Path
from cranfield.formats.stated_columns import select_columns
from cranfield.measures import Measure
from cranfield.notes import Note, merge_notes
from cranfield.options import Options, finite_number, is_whole_number, option, refuse_unknown_options, takes
from cranfield.progress import Watching, watch_slices, add_progress
from cranfield.render.numbers import format_count
from cranfield.scoring.arguments import Reading, check_columns, check_qrels_and_runs
from cranfield.scoring.evaluate import MeasuresLike, list_measures, score_runs
from cranfield.scoring.scores import Systems
from cranfield.version import __version__

# {(true grade, given grade): rate}, or {true grade: {given grade: rate}}
Rates = Union[  # noqa: UP007
    Mapping[tuple[int, int], float], Mapping[int, Mapping[int, float]]
]


@dataclass(frozen=True, kw_only=True)
class AgreementSettings(Options):
    """How two assessors are compared."""

    rel: int = option(
        1,
        "The lowest grade that is relevant, for kappa and overlap (a measure states its own).",
        count_check(0),
    )
    mixtures: int = option(
        1_000,
        "How many mixtures of both qrels to draw, or, with confusion, how many qrels.",
        count_check(1),
    )
    seed: int = option(*SEED_OPTION)
    alpha: float = option(*ALPHA)


@add_progress
@takes(AgreementSettings, Reading, Judging, Watching, omit=RANKING_OPTIONS)
def agreement(
    qrels_a: QrelsLike,
    qrels_b: QrelsLike | None = None,
    runs: RunLike | SeveralRuns | None = None,
    measures: MeasuresLike = "nDCG@10",
    *,
    confusion: Rates | Path | None = None,
    extra_qrels: Mapping[str, QrelsLike] | Sequence[QrelsLike] | None = None,
    **options: "Unpack[keywords.Agreement]",
) -> Agreement:
    """Compare two assessors' judgments, and what they make of systems.

    Agreement is computed over the queries that both qrels have; `Agreed` says what each number is.

    With runs, the systems are scored under A, under B, and under mixtures, in which the judgments
    of each query are those of an assessor drawn by chance (Voorhees, SIGIR 1998). A query's score
    depends on its own judgments and on the highest grade of the scale, which is that of both qrels
    together: so each query is scored twice, and the mixtures put these scores together.

    `coefficients` compare all assessors together, with intervals: Fleiss' kappa (Psychological
    Bulletin 1971), Gwet's AC1 (British Journal of Mathematical and Statistical Psychology 2008) and
    Krippendorff's alpha (Content Analysis; 2011), nominal and ordinal. Documents that only some
    assessors judge count, except for Fleiss' kappa.

    Without a second assessor, `confusion` says how often one would give which grade to a document
    of A's: all of A's grades are drawn again, each from its rates, and the systems are scored under
    each of the qrels made so. What is not judged stays so.

    Args:
        qrels_a: A's judgments, as `evaluate` takes them.
        qrels_b: B's.
        runs: what the systems returned, as `evaluate` takes them; None compares the qrels alone.
        measures: by which the systems are ordered; those whose value over all is a mean or a sum.
        confusion: in place of qrels_b: {(true grade, given grade): rate}, or {true: {given:
            rate}}, or a file of rows (grade, given, rate); rates or counts: those of each true
            grade are divided by their sum.
        others: judgments of further assessors, `{name: qrels}` or a list, called C, D, ...: `pairs`
            has how far each two agree, and with runs A is compared with each of them, too.
        **options: each option of `AgreementSettings` and `Reading`, and `duplicates` of `Judging`.

    A difference is significant if p is at most alpha: that of the t test, in every mixture, under A
    and under B, as as many sign-flip tests of each pair would take too long.

    Raises:
        NothingSharedError: qrels without a common query, or document.
        InputError: judgments in groups, or grades that are not whole; qrels or a run that cannot
            be read.
        OptionError: both or neither of qrels_b and confusion, others without qrels_b, or an option
            with an impossible value.
        MeasureError: a measure by which systems cannot be ordered so.

    >>> found = agreement({"q": {"d": 1, "e": 0}}, {"q": {"d": 0, "e": 1}}, [{"q": ["d", "e"]},
    ...                    {"q": ["e", "d"]}], "RR", mixtures=10)
    >>> found.orderings[0].tau
    -1.0

    """
    refuse_unknown_options(agreement, options)
    if (qrels_b is None) == (confusion is None):
        raise OptionError("agreement takes a second qrels, or confusion=..., and not both")
    settings = AgreementSettings.of(options)
    if runs is not None:
        check_qrels_and_runs(qrels_a, runs, agreement)
    how, columns = Judging.of(options), Reading.of(options).columns
    check_columns(columns, *(one for one in (qrels_a, qrels_b, runs) if one is not None))
    own = select_columns(columns, Side.QRELS)
    first = make_qrels(qrels_a, "strict", own, how.duplicates)
    several = None if runs is None else make_runs(runs, select_columns(columns, Side.RUN))
    recipe = {"cranfield": __version__, **settings.to_dict(), "duplicates": how.duplicates}
    recipe["confusion"] = None
    if qrels_b is not None:
        second = make_qrels(qrels_b, "strict", own, how.duplicates)
        further = {
            name: make_qrels(one, "strict", own, how.duplicates)
            for name, one in _name_assessors(extra_qrels).items()
        }
        return _compare_assessors({"A": first, "B": second, **further}, several, measures, how, recipe)
    if extra_qrels is not None:
        raise OptionError("others are further assessors: state the second one, too (qrels_b)")
    assert confusion is not None  # noqa: S101 - one of the two
    rates = confusion if isinstance(confusion, Mapping) else read_rates(confusion)
    return _compare_with_rates(first, rates, several, measures, how, recipe)


def _name_assessors(others: Mapping[str, QrelsLike] | Sequence[QrelsLike] | None) -> dict[str, Any]:
    """Return further assessors by name: C, D, ... unless they have names."""
    if others is None:
        return {}
    if isinstance(others, Mapping):
        found = {str(name): one for name, one in others.items()}
        taken = {"A", "B"} & found.keys()
        if taken or "" in found:
            raise OptionError(
                f"others: {next(iter(taken), '')!r} is no name for a further assessor: A and B are "
                "the first two"
            )
        return found
    if isinstance(others, str) or not isinstance(others, Sequence):
        raise OptionError("others: expected {name: qrels}, or a list of qrels")
    if len(others) > len(_FURTHER_NAMES):
        raise OptionError(f"others: {len(others)} are too many for letters: name them")
    return dict(zip(_FURTHER_NAMES, others, strict=False))


_FURTHER_NAMES = ascii_uppercase[2:]


def _compare_assessors(
    qrels: Mapping[str, Qrels],
    runs: Mapping[str, Run] | None,
    measures: MeasuresLike,
    how: Judging,
    recipe: dict[str, Any],
) -> Agreement:
    first, second, *others = qrels
    recipe["assessors"] = len(qrels)
    for name in others:
        _match_assessors(first, name, qrels)
    found = {
        name: replace(
            _compare_two(qrels[first], qrels[name], runs, measures, how, {**recipe}, name), second=name
        )
        for name in (second, *others)
    }
    pairs = {}
    if others:
        for a, b in combinations(qrels, 2):
            pairs[a, b] = measure_agreement(_match_assessors(a, b, qrels), recipe["rel"], pooled=True)[0]
    judged = count_grades([*qrels.values()])
    notes = dict.fromkeys(one for each in found.values() for one in each.on_judgments)
    return replace(
        found[second],
        on_judgments=tuple(notes),
        coefficients=estimate_coefficients(judged, recipe["rel"], recipe["alpha"]),
        others={name: found[name] for name in others},
        pairs=pairs,
    )


def _match_assessors(a: str, b: str, qrels: Mapping[str, Qrels]) -> TwoJudgments:
    """Match two of several assessors' judgments; an error says which two."""
    try:
        return match_two(qrels[a], qrels[b])
    except NothingSharedError as error:
        raise error.add_reason(f"These are the assessors {a} and {escape_unprintable(b)}.") from None


def _compare_two(
    a: Qrels,
    b: Qrels,
    runs: Mapping[str, Run] | None,
    measures: MeasuresLike,
    how: Judging,
    recipe: dict[str, Any],
    second: str,
) -> Agreement:
    """Return the agreement of A and the assessor named `second`, on the queries of both."""
    two = match_two(a, b)
    [pooled] = measure_agreement(two, recipe["rel"], pooled=True)
    each = measure_agreement(two, recipe["rel"], pooled=False)
    recipe["queries"] = len(two.query_ids)
    of_each = [(name, note) for name, one in (("A", a), (second, b)) for note in list_qrels_notes(one)]
    notes = [*_judgment_notes(two, second), *merge_notes(of_each)]
    orderings: list[Stability] = []
    on_runs: list[Note] = []
    if runs is not None:
        top = max(a.top_grade, b.top_grade)
        if a.top_grade != b.top_grade:
            text = (
                f"The highest grade is {a.top_grade} in A and {b.top_grade} in {second}: measures "
                f"that ask for it take {top}."
            )
            notes.append(Note("highest-grade", "info", text))
        under_a, under_b = (
            score_runs(select_on_scale(qrels, top, two.query_ids), runs, list_measures(measures), how)
            for qrels in (a, b)
        )
        named = (("Under A", under_a), (f"Under {second}", under_b))
        known = {note for _, note in of_each}
        new = ((name, note) for name, each in named for note in each.notes if note not in known)
        on_runs = merge_notes(new, n_sources=2)
        values = _score_array(under_a), _score_array(under_b)
        orderings = measure_stability(
            *(_check_orderable(under_a.measures), list(runs), *values),
            _mix_scores(*values, recipe["mixtures"], recipe["seed"]),
            recipe["alpha"],
        )
    grades, matrix = count_confusion(two)
    per_query = dict(zip(two.query_ids, each, strict=True))
    return Agreement(
        *(pooled, per_query, grades, matrix, orderings, recipe), tuple(notes), tuple(on_runs)
    )


def _judgment_notes(two: TwoJudgments, second: str) -> Iterator[Note]:
    """Yield how many queries both assessors judged, grades below 0, and what only one judged."""
    n = len(two.query_ids)
    are = format_count(n, "query is", "queries are")
    yield Note("in-both", "info", f"{are} judged in both qrels.", n)
    for name, grades in (("A", two.grade_a), (second, two.grade_b)):
        if below := int((grades < 0).sum()):
            text = (
                f"{format_count(below, 'grade')} of {escape_unprintable(name)} below 0, compared as any other: "
                "where -1 says that nobody judged the document, leave such rows out."
            )
            yield Note("below-0", "warning", text, count=below)
    for name, n in (("A", two.n_queries_only_a), (second, two.n_queries_only_b)):
        if n:
            are = format_count(n, "query is", "queries are")
            yield Note("in-one", "info", f"{are} judged in {name} only: left out.", n, name)


def _mix_scores(under_a: Floats, under_b: Floats, n: int, seed: int) -> Iterator[Floats]:
    """Yield n mixtures, some at a time: of each query, the scores under A or B, by chance.

    The scores are (n_queries, n_systems, n_measures).
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    for some in watch_slices(split_variants(n, under_a.size), "mixtures", n):
        from_a = generator.random((some.stop - some.start, len(under_a))) < 0.5
        yield np.where(from_a[:, :, None, None], under_a, under_b)


def _compare_with_rates(
    a: Qrels,
    rates: Rates,
    runs: Mapping[str, Run] | None,
    measures: MeasuresLike,
    how: Judging,
    recipe: dict[str, Any],
) -> Agreement:
    if a.has_groups or a.columns:
        raise OptionError(
            "confusion=... takes one grade for each document: not judgments in groups, nor those "
            "that are a sample"
        )
    a.check_whole_grades(*WHOLE_GRADES)
    there, counts = np.unique(a.grade, return_counts=True)
    table = _normalize_rates(rates, there.tolist())
    recipe["confusion"] = {
        str(true): {str(g): r for g, r in row.items()} for true, row in table.items()
    }
    recipe["queries"] = len(a.query_ids)
    grades = sorted({*table, *(given for row in table.values() for given in row)})
    matrix = np.zeros((len(grades), len(grades)))
    for true, count in zip(there.tolist(), counts.tolist(), strict=True):
        for given, rate in table[true].items():
            matrix[grades.index(true), grades.index(given)] = rate * count
    found: list[Stability] = []
    text = "B is made from A by rates: its numbers are expectations, not counts."
    notes, on_runs = [Note("expected", "info", text), *list_qrels_notes(a)], list[Note]()
    if runs is not None:
        top = max(a.top_grade, *grades)
        scored = score_runs(select_on_scale(a, top, a.query_ids), runs, list_measures(measures), how)
        on_runs = [note for note in scored.notes if note not in notes]
        wanted = _check_orderable(scored.measures)
        batches = score_relabelled(
            *(a, list(runs.values()), wanted, top, table, recipe["mixtures"], recipe["seed"], how)
        )
        found = measure_stability(wanted, list(runs), _score_array(scored), None, batches, recipe["alpha"])
    [pooled] = measure_agreement(judgments_from_matrix(grades, matrix), recipe["rel"], pooled=True)
    return Agreement(pooled, {}, grades, matrix, found, recipe, tuple(notes), tuple(on_runs))


def _normalize_rates(rates: Rates, there: Sequence[int]) -> dict[int, dict[int, float]]:
    """Return {true: {given: rate}}, the rates of each true grade adding up to 1."""
    found: dict[int, dict[int, float]] = {}
    for key, value in rates.items():
        true: Any = key
        if isinstance(value, Mapping):
            cells = dict(value)
        elif isinstance(key, tuple) and len(key) == 2:
            true, cells = key[0], {key[1]: value}
        else:
            raise OptionError(
                f"confusion: {key!r:.40}: expected (true grade, given grade): rate, or true grade: "
                "{given grade: rate}"
            )
        for given, rate in cells.items():
            if not (is_whole_number(true) and is_whole_number(given)):
                raise OptionError(f"confusion: grades are whole numbers, not {true!r}, {given!r}")
            if (finite_number(rate) or 0) < 0 or finite_number(rate) is None:
                raise OptionError(f"confusion: {true} to {given}: {rate!r:.40} is no rate")
            found.setdefault(int(true), {})[int(given)] = float(rate)
    for true in there:
        if sum(found.get(true, {}).values()) <= 0:
            raise OptionError(
                f"confusion: the qrels have grade {true}, of which it says nothing; add the rates "
                f"of what is given in its place, {{{true}: {{{true}: 1}}}} if it is always kept"
            )
    return {
        true: {given: rate / sum(row.values()) for given, rate in row.items()}
        for true, row in found.items()
        if sum(row.values()) > 0
    }


def _check_orderable(measures: Sequence[Measure]) -> Sequence[Measure]:
    """Return the measures, all of which order systems by a mean over queries."""
    for one in measures:
        if one.definition.aggregation not in ("mean", "sum"):
            raise MeasureError(
                f"{one}: agreement orders systems by the mean over their queries, and this measure "
                "has another value over all"
            )
    return measures


def _score_array(scores: Systems) -> Floats:
    """Return (n_queries, n_systems, n_measures)."""
    return np.stack([one.values for one in scores.values()], axis=1)
