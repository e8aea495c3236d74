"""agreement: how far two or more qrels agree, and what that does to the ordering of systems."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from string import ascii_uppercase
from typing import Any, Union, Unpack

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.level import ALPHA
from cranfield.comparison.remarks import note_few_queries
from cranfield.comparison.settings import SEED_OPTION, count_check
from cranfield.data.judging import RANKING_OPTIONS, Judging
from cranfield.data.meeting import list_qrels_notes
from cranfield.data.qrels import Qrels, QrelsLike, make_qrels
from cranfield.data.run import Run, RunLike, SeveralRuns
from cranfield.errors import MeasureError, NothingSharedError, OptionError, escape_unprintable
from cranfield.extensions import keywords
from cranfield.extensions.labels.assessors.agreement import Agreement
from cranfield.extensions.labels.assessors.beyond_chance import count_grades, estimate_coefficients
from cranfield.extensions.labels.assessors.judgments import (
    WHOLE_GRADES,
    TwoJudgments,
    count_confusion,
    judgments_from_matrix,
    match_two,
    measure_agreement,
)
from cranfield.extensions.labels.assessors.relabel import score_relabelled, select_on_scale
from cranfield.extensions.labels.assessors.stability import Stability, measure_stability
from cranfield.extensions.labels.pools.draw import select_drawn
from cranfield.extensions.labels.rates import read_rates
from cranfield.extensions.whatif.variants import split_variants
from cranfield.formats.columns import Side
from cranfield.formats.source import Path
from cranfield.formats.stated_columns import select_columns
from cranfield.measures import Measure
from cranfield.notes import Note, merge_notes
from cranfield.options import (
    Options,
    finite_number,
    is_whole_number,
    option,
    refuse_unknown_options,
    takes,
)
from cranfield.progress import Watching, add_progress, watch_slices
from cranfield.render.numbers import format_count
from cranfield.scoring.arguments import Reading, check_qrels_and_runs
from cranfield.scoring.evaluate import MeasuresLike, list_measures, score_runs
from cranfield.scoring.scores import Systems
from cranfield.version import __version__

# {(true grade, given grade): rate}, or {true grade: {given grade: rate}}
Rates = Union[  # noqa: UP007
    Mapping[tuple[int, int], float], Mapping[int, Mapping[int, float]]
]


@dataclass(frozen=True, kw_only=True)
class AgreementSettings(Options):
    """The options of `agreement`."""

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

    Agreement is computed over the queries that both qrels have; `PairAgreement` explains the
    numbers.

    With runs, the systems are scored under A, under B, and under mixtures, in which the judgments
    of each query are those of an assessor drawn by chance (Voorhees, SIGIR 1998). A query's score
    depends on its own judgments and on the highest grade of the scale, which is that of both qrels
    together: so each query is scored twice, and the mixtures put these scores together.

    `coefficients` compare all assessors together, with intervals: Fleiss' kappa (Psychological
    Bulletin 1971), Gwet's AC1 (British Journal of Mathematical and Statistical Psychology 2008) and
    Krippendorff's alpha (Content Analysis; 2011), nominal and ordinal. Documents that two
    assessors or more judge count; for Fleiss' kappa, those that all judge.

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
        extra_qrels: judgments of further assessors, `{name: qrels}` or a list, called C, D, ...:
            `pairs` has how far each two agree, and with runs A is compared with each of them, too.
        **options: each option of `AgreementSettings` and `Reading`, and `duplicates` of `Judging`.

    A difference is significant if p is at most alpha: that of the t test, in every mixture, under A
    and under B, as as many sign-flip tests of each pair would take too long.

    Raises:
        NothingSharedError: qrels without a common query, or document.
        InputError: judgments in groups, or grades that are not whole; qrels or a run that cannot
            be read.
        OptionError: both or neither of qrels_b and confusion, extra_qrels without qrels_b or with
            a name that is taken, confusion with impossible rates or with judgments in groups or of
            a sample, or an option with an impossible value.
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
    judging, reading = Judging.of(options), Reading.of(options)
    qrels_columns = select_columns(reading.columns, Side.QRELS)
    first_qrels = make_qrels(qrels_a, "strict", qrels_columns, judging.duplicates)
    recipe = {"cranfield": __version__, **settings.to_dict(), "duplicates": judging.duplicates}
    recipe["confusion"] = None
    if qrels_b is None and extra_qrels is not None:
        raise OptionError("extra_qrels are further assessors: state the second one, too (qrels_b)")
    qrels_of_name = {"A": first_qrels}
    other_sources = {} if qrels_b is None else {"B": qrels_b, **_name_assessors(extra_qrels)}
    for name, source in other_sources.items():
        qrels_of_name[name] = make_qrels(source, "strict", qrels_columns, judging.duplicates)
    # All judgments are opened by now.
    run_of_name = reading.make_runs(runs) if runs is not None else reading.leave_out({}) or None
    if confusion is None:
        return _compare_assessors(qrels_of_name, run_of_name, measures, judging, recipe)
    rates = confusion if isinstance(confusion, Mapping) else read_rates(confusion)
    return _compare_with_rates(first_qrels, rates, run_of_name, measures, judging, recipe)


def _name_assessors(
    extra_qrels: Mapping[str, QrelsLike] | Sequence[QrelsLike] | None,
) -> dict[str, Any]:
    """Return {name: qrels} of the extra assessors: C, D, ... unless they have names."""
    if extra_qrels is None:
        return {}
    if isinstance(extra_qrels, Mapping):
        qrels_of_name = {str(name): qrels for name, qrels in extra_qrels.items()}
        taken_names = {"A", "B"} & qrels_of_name.keys()
        if taken_names or "" in qrels_of_name:
            raise OptionError(
                f"extra_qrels: {next(iter(taken_names), '')!r} is no name for a further assessor: "
                "A and B are the first two"
            )
        return qrels_of_name
    if isinstance(extra_qrels, str) or not isinstance(extra_qrels, Sequence):
        raise OptionError("extra_qrels: expected {name: qrels}, or a list of qrels")
    if len(extra_qrels) > len(_EXTRA_NAMES):
        raise OptionError(f"extra_qrels: {len(extra_qrels)} are too many for letters: name them")
    return dict(zip(_EXTRA_NAMES, extra_qrels, strict=False))


_EXTRA_NAMES = ascii_uppercase[2:]


def _compare_assessors(
    qrels: Mapping[str, Qrels],
    runs: Mapping[str, Run] | None,
    measures: MeasuresLike,
    judging: Judging,
    recipe: dict[str, Any],
) -> Agreement:
    """Compare A with each other assessor, each two on all documents, and all together."""
    a_name, b_name, *extra_names = qrels
    recipe["assessors"] = len(qrels)
    drawn_qrels = {name: select_drawn(judgments) for name, judgments in qrels.items()}
    samples = [name for name in qrels if len(drawn_qrels[name]) < len(qrels[name])]
    qrels, sample_notes = drawn_qrels, []
    for name in map(escape_unprintable, samples):
        text = f"{name} is a sample: coefficients are of labelled documents alone; cranfield trust"
        if runs is not None:
            raise OptionError(f"{text} scores runs by it: leave them out here")
        sample_notes.append(Note("sample", "info", f"{text} weights them."))
    for name in extra_names:  # raises an error with names, before anything is scored
        _match_assessors(a_name, name, qrels)
    agreements = {}  # of A with each other assessor, by name
    for name in (b_name, *extra_names):
        with_a = _compare_two(qrels[a_name], qrels[name], runs, measures, judging, {**recipe}, name)
        agreements[name] = replace(with_a, second=name)
    agreement_of_pair = {}
    for a, b in combinations(qrels, 2) if extra_names else ():
        judgments = _match_assessors(a, b, qrels)
        [agreement_of_pair[a, b]] = measure_agreement(judgments, recipe["rel"], pooled=True)
    grade_counts = count_grades([*qrels.values()])
    n = grade_counts.n_queries
    notes = [*sample_notes, *note_few_queries(n, "query" if n == 1 else "queries")]
    notes += [note for agreement in agreements.values() for note in agreement.on_judgments]
    return replace(
        agreements[b_name],
        on_judgments=tuple(dict.fromkeys(notes)),
        coefficients=estimate_coefficients(grade_counts, recipe["rel"], recipe["alpha"]),
        others={name: agreements[name] for name in extra_names},
        pairs=agreement_of_pair,
    )


def _match_assessors(a: str, b: str, qrels: Mapping[str, Qrels]) -> TwoJudgments:
    """Match the judgments of the assessors `a` and `b`, whom the error of nothing shared names."""
    try:
        return match_two(qrels[a], qrels[b])
    except NothingSharedError as error:
        reason = f"These are the assessors {a} and {escape_unprintable(b)}."
        raise error.add_reason(reason) from None


def _compare_two(
    a: Qrels,
    b: Qrels,
    runs: Mapping[str, Run] | None,
    measures: MeasuresLike,
    judging: Judging,
    recipe: dict[str, Any],
    second: str,
) -> Agreement:
    """Return the agreement of A and the assessor named `second`, on the queries of both.

    Their number is put into `recipe`. `second` is named in notes alone: not yet in the result.
    """
    judgments = match_two(a, b)
    [pooled] = measure_agreement(judgments, recipe["rel"], pooled=True)
    query_agreements = measure_agreement(judgments, recipe["rel"], pooled=False)
    recipe["queries"] = len(judgments.query_ids)
    named_notes = [("A", note) for note in list_qrels_notes(a)]
    named_notes += [(second, note) for note in list_qrels_notes(b)]
    notes = [*_judgment_notes(judgments, second), *merge_notes(named_notes)]
    orderings: list[Stability] = []
    run_notes: list[Note] = []
    if runs is not None:
        top_grade = max(a.top_grade, b.top_grade)
        if a.top_grade != b.top_grade:
            text = (
                f"The highest grade is {a.top_grade} in A and {b.top_grade} in {second}: measures "
                f"that ask for it take {top_grade}."
            )
            notes.append(Note("highest-grade", "info", text))
        qrels_on_scale = (
            select_on_scale(source, top_grade, judgments.query_ids) for source in (a, b)
        )
        under_a, under_b = (
            score_runs(qrels, runs, list_measures(measures), judging) for qrels in qrels_on_scale
        )
        old_notes = {note for _, note in named_notes}
        new_notes = [("Under A", note) for note in under_a.notes if note not in old_notes]
        new_notes += [(f"Under {second}", note) for note in under_b.notes if note not in old_notes]
        run_notes = merge_notes(new_notes, n_sources=2)
        scores_a, scores_b = _score_array(under_a), _score_array(under_b)
        mixtures = _mix_scores(scores_a, scores_b, recipe["mixtures"], recipe["seed"])
        parsed_measures = _check_orderable(under_a.measures)
        orderings = measure_stability(
            parsed_measures, list(runs), scores_a, scores_b, mixtures, recipe["alpha"]
        )
    grades, matrix = count_confusion(judgments)
    per_query = dict(zip(judgments.query_ids, query_agreements, strict=True))
    on_judgments, on_runs = tuple(notes), tuple(run_notes)
    return Agreement(pooled, per_query, grades, matrix, orderings, recipe, on_judgments, on_runs)


def _judgment_notes(judgments: TwoJudgments, second: str) -> Iterator[Note]:
    """Yield notes on queries that both assessors judged, grades below 0, and other queries."""
    n_shared = len(judgments.query_ids)
    are = format_count(n_shared, "query is", "queries are")
    yield Note("in-both", "info", f"{are} judged in both qrels.", n_shared)
    for name, grades in (("A", judgments.grade_a), (second, judgments.grade_b)):
        if n_below := int((grades < 0).sum()):
            text = (
                f"{format_count(n_below, 'grade')} of {escape_unprintable(name)} below 0, compared "
                "as any other: where -1 says that nobody judged the document, leave such rows out."
            )
            yield Note("below-0", "warning", text, count=n_below)
    for name, n in (("A", judgments.n_queries_only_a), (second, judgments.n_queries_only_b)):
        if n:
            are = format_count(n, "query is", "queries are")
            yield Note("in-one", "info", f"{are} judged in {name} only: left out.", n, name)


def _mix_scores(under_a: Floats, under_b: Floats, n: int, seed: int) -> Iterator[Floats]:
    """Yield n mixtures in batches: each query has its scores under A or under B, by chance.

    Scores are (n_queries, n_systems, n_measures), a batch has a first axis of mixtures.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    for block in watch_slices(split_variants(n, under_a.size), "mixtures", n):
        is_from_a = generator.random((block.stop - block.start, len(under_a))) < 0.5
        yield np.where(is_from_a[:, :, None, None], under_a, under_b)


def _compare_with_rates(
    a: Qrels,
    rates: Rates,
    runs: Mapping[str, Run] | None,
    measures: MeasuresLike,
    judging: Judging,
    recipe: dict[str, Any],
) -> Agreement:
    """Return the agreement to expect of A and an assessor with these rates."""
    if a.has_groups or a.columns:
        raise OptionError(
            "confusion=... takes one grade for each document: not judgments in groups, nor those "
            "that are a sample"
        )
    a.check_whole_grades(*WHOLE_GRADES)
    grades_of_a, counts = np.unique(a.grade, return_counts=True)
    rates_of_grade = _normalize_rates(rates, grades_of_a.tolist())
    recipe["confusion"] = {
        str(true): {str(grade): rate for grade, rate in rate_of_grade.items()}
        for true, rate_of_grade in rates_of_grade.items()
    }
    recipe["queries"] = len(a.query_ids)
    grades = sorted({*rates_of_grade}.union(*rates_of_grade.values()))
    matrix = np.zeros((len(grades), len(grades)))
    for true_grade, count in zip(grades_of_a.tolist(), counts.tolist(), strict=True):
        for given_grade, rate in rates_of_grade[true_grade].items():
            matrix[grades.index(true_grade), grades.index(given_grade)] = rate * count
    orderings: list[Stability] = []
    text = "B is made from A by rates: its numbers are expectations, not counts."
    notes, run_notes = [Note("expected", "info", text), *list_qrels_notes(a)], list[Note]()
    if runs is not None:
        top_grade = max(a.top_grade, *grades)
        qrels_on_scale = select_on_scale(a, top_grade, a.query_ids)
        scores = score_runs(qrels_on_scale, runs, list_measures(measures), judging)
        run_notes = [note for note in scores.notes if note not in notes]
        parsed_measures = _check_orderable(scores.measures)
        batches = score_relabelled(
            a,
            list(runs.values()),
            parsed_measures,
            top_grade,
            rates_of_grade,
            recipe["mixtures"],
            recipe["seed"],
            judging,
        )
        orderings = measure_stability(
            parsed_measures, list(runs), _score_array(scores), None, batches, recipe["alpha"]
        )
    [pooled] = measure_agreement(judgments_from_matrix(grades, matrix), recipe["rel"], pooled=True)
    return Agreement(pooled, {}, grades, matrix, orderings, recipe, tuple(notes), tuple(run_notes))


def _normalize_rates(rates: Rates, grades_of_a: Sequence[int]) -> dict[int, dict[int, float]]:
    """Return {true grade: {given grade: rate}}; the rates of a true grade add up to 1.

    Raises OptionError for what is no grade or no rate, or if a grade of A has no rates.
    """
    rates_of_grade: dict[int, dict[int, float]] = {}
    for key, rate_or_row in rates.items():
        true_grade: Any = key
        if isinstance(rate_or_row, Mapping):
            given_rates = dict(rate_or_row)
        elif isinstance(key, tuple) and len(key) == 2:
            true_grade, given_rates = key[0], {key[1]: rate_or_row}
        else:
            raise OptionError(
                f"confusion: {key!r:.40}: expected (true grade, given grade): rate, or true grade: "
                "{given grade: rate}"
            )
        for given_grade, rate in given_rates.items():
            if not (is_whole_number(true_grade) and is_whole_number(given_grade)):
                raise OptionError(
                    f"confusion: grades are whole numbers, not {true_grade!r}, {given_grade!r}"
                )
            if (finite_number(rate) or 0) < 0 or finite_number(rate) is None:
                raise OptionError(
                    f"confusion: {true_grade} to {given_grade}: {rate!r:.40} is no rate"
                )
            rates_of_grade.setdefault(int(true_grade), {})[int(given_grade)] = float(rate)
    for true_grade in grades_of_a:
        if sum(rates_of_grade.get(true_grade, {}).values()) <= 0:
            raise OptionError(
                f"confusion: the qrels have grade {true_grade}, of which it says nothing; add the "
                f"rates of what is given in its place, {{{true_grade}: {{{true_grade}: 1}}}} if it "
                "is always kept"
            )
    return {
        true_grade: {given_grade: rate / sum(rates.values()) for given_grade, rate in rates.items()}
        for true_grade, rates in rates_of_grade.items()
        if sum(rates.values()) > 0
    }


def _check_orderable(measures: Sequence[Measure]) -> Sequence[Measure]:
    """Return the measures; MeasureError for one whose value over all is no mean or sum."""
    for measure in measures:
        if measure.definition.aggregation not in ("mean", "sum"):
            raise MeasureError(
                f"{measure}: agreement orders systems by the mean over their queries, and this "
                "measure has another value over all"
            )
    return measures


def _score_array(scores: Systems) -> Floats:
    """Return the scores as an array: (n_queries, n_systems, n_measures)."""
    return np.stack([system_scores.values for system_scores in scores.values()], axis=1)
