"""Gate: whether systems are not worse than the baseline by more than a margin, or good enough.

A test that finds no difference has not shown that there is none. Here the margin is stated first,
and a system passes if its mean difference is significantly above -margin (non-inferiority) or
between -margin and margin (equivalence by two one-sided tests: Schuirmann, Journal of
Pharmacokinetics and Biopharmaceutics 15, 1987).

A margin that is a share of the baseline's mean applies to each query in proportion to the
baseline's score: a system keeps 98 % of the mean if the mean of new - 0.98 * old is above 0. So the
baseline's mean is not taken as known. Limits are those of the ratio of the two means (Fieller,
JRSS-B 16, 1954), in the unit of the difference; where these do not exist, the t test takes those of
new - 0.98 * old.

A threshold is a number that a mean must reach, without a baseline.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Never, Unpack

import numpy as np

from cranfield.comparison.alignment import DEFAULT_MEASURES, AlignedScores, align, hash_query_ids
from cranfield.comparison.comparing import ComparingOptions
from cranfield.comparison.effects import FEW_UNITS, find_doubt, skewness
from cranfield.comparison.flips import MANY_UNITS
from cranfield.comparison.margins import (
    Contrast,
    StatedMargin,
    aggregate_scores,
    build_contrast,
    exceeds,
)
from cranfield.comparison.noninferiority import (
    GainTests,
    decide_outcome,
    find_n_to_pass,
    find_n_unchanged,
    run_gain_tests,
)
from cranfield.comparison.remarks import note_sum_measure, unlike_share_text
from cranfield.comparison.result import column_to_list
from cranfield.comparison.scale import clip_ends, is_geometric
from cranfield.comparison.score_columns import canonical_names
from cranfield.comparison.settings import Alignment, GateSettings
from cranfield.comparison.significance import TIE, Moments
from cranfield.comparison.thresholds import N_WORST, Threshold, judge_thresholds, resolve_at_least
from cranfield.comparison.verdict import Change, Gate, Verdict
from cranfield.data.judging import Judging
from cranfield.errors import InputError, OptionError
from cranfield.extensions import load_families
from cranfield.notes import Note, warn_about
from cranfield.options import keywords, refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import finite_or_none, format_count, format_query_count
from cranfield.scoring.arguments import Reading, could_be_measures
from cranfield.scoring.evaluate import MeasuresLike, refuse_mapping
from cranfield.scoring.sides import hold_both_sides

FAMILIES = load_families("gate")


@add_progress
@takes(GateSettings, *FAMILIES, Alignment, Reading, Judging, Watching, omit=("queries",))
def gate(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    *_more: Never,
    baseline: str | None = None,
    margin: float | str | None = None,
    **options: "Unpack[keywords.Gate]",
) -> Gate:
    """Judge whether systems are not worse than a baseline by more than a margin, or good enough.

    With `at_least`, the mean of each system must reach a number (with `limit`, its lower limit
    must). With a baseline and a margin, its difference is judged. With both, both must hold.

    For each system and measure: PASS if the lower limit of the mean difference is above -margin;
    FAIL if not, and the upper limit is below 0: it is significantly worse; else UNDECIDED. With
    `equivalence`, PASS if both limits are within the margin; FAIL if the upper one is below -margin
    or the lower one above margin; else UNDECIDED. Every measure must pass at alpha, so that several
    measures need no correction (an intersection-union test: Berger, Technometrics 24, 1982).

    Limits of a mean do not hold where few queries differ: a rare, large loss may not be among those
    that were sampled. If fewer than 10 queries differ, a system whose mean is lower (with
    `equivalence`: different) is UNDECIDED at best; if no query differs, it passes, and the verdict
    says that the two are identical. If every score of both is the worst possible, for example
    because no judged document was retrieved, nothing is shown: the system is UNDECIDED. The test
    "bounded" is valid for any number of queries, without these rules.

    A measure whose mean over the queries is geometric (GMAP) is judged by the ratio of the means.

    Args:
        qrels: judgments, as `evaluate` takes them; or, without runs, scores of several systems, as
            `compare` takes them.
        runs: several runs, as `evaluate` takes them. None: the first argument holds scores.
        measures: which to judge by the margin. [default: nDCG@10 for runs, else all that have
            scores]
        baseline: the name of the system that the others are compared with, or its file; it is one
            of the runs.
        margin: by how much a system may be worse: a number above 0 in the unit of the measures, or
            "2%" of the baseline's mean.
        **options: each option of `GateSettings`, of extensions and of `Alignment`; for judgments
            and runs, also of `Reading` and `Judging`.

    Returns:
        A Gate: a verdict for each system and measure, the notes, and the recipe that repeats it.

    Warns:
        CranfieldWarning: once, if a verdict may mislead: few queries differ, a few large
            differences decide, the margin is too wide, or the baseline cannot be worse.
            `found.notes` has the same.

    Raises:
        InputError: scores that are missing, or out of the range; an unknown baseline, or no other
            system.
        OptionError: neither a margin nor `at_least`; a margin that is not above 0, or is larger
            than any possible loss; an option with a value out of its range; the test "bounded" for
            a measure whose range is unknown; a number in `at_least` that no system can reach, or
            that every system reaches.

    >>> old = {f"q{i}": 0.5 for i in range(15)}
    >>> new = {f"q{i}": 0.5 + 0.01 * (i % 3) for i in range(15)}
    >>> found = gate({"old": old, "new": new}, baseline="old", margin=0.01)
    >>> str(found.verdicts[0]), found.verdicts[0].changed, found.verdicts[0].p == 2**-15
    ('PASS, better', 10, True)
    >>> gate({"new": new}, at_least={"score": 0.5}).passed
    True

    """
    refuse_unknown_options(gate, options, _more)
    settings = GateSettings.of(options)
    families = [family.of(options) for family in FAMILIES]
    for family in families:
        settings = family.gate_settings(settings)
    refuse_mapping(measures)
    if (
        measures is None
        and could_be_measures(runs)
        and hold_both_sides([qrels], options.get("columns"))
    ):
        measures, runs = runs, None  # a table of both sides needs no run beside it
    goals = resolve_at_least(settings.at_least)
    stated_margin = _read_margin(baseline, margin, measures, goals)
    compared_measures: list[str] | None = []  # None: all measures that were saved
    if stated_margin is not None and (measures is not None or (runs is not None and goals)):
        compared_measures = canonical_names(DEFAULT_MEASURES if measures is None else measures)
    elif stated_margin is not None:
        compared_measures = None
    all_measures = None
    if compared_measures is not None:
        all_measures = list(dict.fromkeys([*compared_measures, *goals]))
    aligned_scores = align(
        qrels,
        runs,
        all_measures,
        Alignment.of(options),
        Judging.of(options),
        Reading.of(options),
        families,
    )
    for family in families:
        has_limits = stated_margin is not None or settings.limit
        aligned_scores = family.prepare_gate(aligned_scores, has_limits=has_limits)
    aligned_scores.units.check(settings)
    judged_systems = list(aligned_scores.system_names)
    notes: list[Note] = []
    contrasts: list[Contrast] = []
    verdicts: list[Verdict] = []
    if stated_margin is not None:
        baseline = aligned_scores.find_baseline(baseline)
        judged_systems.remove(baseline)
        if not judged_systems:
            raise InputError(f"the baseline {baseline} is the only system: add one to judge")
        contrasts = [
            build_contrast(
                aligned_scores, measure, baseline, stated_margin, settings.range, settings.gate_test
            )
            for measure in aligned_scores.measures
            if compared_measures is None or measure in compared_measures
        ]
        verdicts = _judge_systems(contrasts, judged_systems, settings, aligned_scores.query_ids)
        notes += _note_verdicts(verdicts, baseline, contrasts, settings)
    thresholds, threshold_notes = judge_thresholds(aligned_scores, goals, judged_systems, settings)
    notes += [note for note in threshold_notes if note not in notes]
    notes += [*_note_student(verdicts, thresholds), *aligned_scores.notes]
    warn_about(notes)
    recipe = {"margin": margin, "at_least": goals}
    recipe |= _recipe(aligned_scores, settings, families, contrasts)
    return Gate(tuple(verdicts), baseline, settings, tuple(notes), recipe, tuple(thresholds))


def _recipe(
    aligned_scores: AlignedScores,
    settings: GateSettings,
    families: Iterable[ComparingOptions],
    contrasts: Sequence[Contrast],
) -> dict[str, Any]:
    """Return what is needed to repeat a gate, apart from the margin and the thresholds."""
    ids, units = aligned_scores.query_ids, aligned_scores.units
    flips = settings.make_flips(units.n_groups or len(ids))
    return {
        "limit": settings.limit,
        **{name: part for family in families for name, part in family.gate_recipe().items()},
        "equivalence": settings.equivalence,
        "alpha": settings.alpha,
        "test": settings.test,
        "flips": flips.n_flips if flips else None,
        "exact": flips.is_exact if flips else None,
        "seed": settings.seed,
        "ranges": {
            contrast.measure: list(contrast.range) for contrast in contrasts if contrast.range
        },
        "bets": settings.gate_test.bets,
        "n_queries": len(ids),
        "n_clusters": units.n_groups,
        "clusters": units.labels and list(units.labels),
        "queries_sha256": hash_query_ids(ids),
        **aligned_scores.recipe,
    }


def _read_margin(
    baseline: str | None,
    margin: object,
    measures: MeasuresLike | None,
    goals: Mapping[str, float],
) -> StatedMargin | None:
    """Return the margin, None for goals alone; OptionError for a baseline or a margin alone."""
    if baseline is not None:
        if margin is None:
            raise OptionError(
                "a baseline needs a margin, the largest loss that does not matter: margin=0.01, or "
                "'2%' of the baseline's mean"
            )
        return StatedMargin.of(margin)
    if margin is not None:
        raise OptionError(
            f"margin={margin!r:.40}: a margin needs a baseline: state it, too (--baseline)"
        )
    if not goals:
        raise OptionError(
            "nothing to judge by: state a baseline and a margin, or what the means must reach, "
            "at_least={'R@5': 0.8} (--at-least R@5=0.8)"
        )
    if measures is not None and not goals.keys() >= set(canonical_names(measures)):
        raise OptionError(
            "without a baseline, at_least names the measures: leave the others out, or state a "
            "baseline and a margin"
        )
    return None


def _judge_systems(
    contrasts: Sequence[Contrast],
    system_names: Sequence[str],
    settings: GateSettings,
    query_ids: Sequence[str],
) -> list[Verdict]:
    """Return the verdict on each of the named systems under each measure."""
    tests_of_contrasts = [(contrast, run_gain_tests(contrast, settings)) for contrast in contrasts]
    return [
        _judge_system(tests, contrast, i, name, settings, query_ids)
        for i, name in enumerate(system_names)
        for contrast, tests in tests_of_contrasts
    ]


def _judge_system(
    tests: GainTests,
    contrast: Contrast,
    i: int,
    name: str,
    settings: GateSettings,
    query_ids: Sequence[str],
) -> Verdict:
    """Return the verdict on the system in column i of a contrast, by its tests."""
    n_changed = int(np.count_nonzero(contrast.is_changed[:, i]))
    outcome = decide_outcome(tests, i, settings)
    if not n_changed and contrast.is_at_worst:  # for example, with judgments of other documents
        outcome = "UNDECIDED"
    # A margin may be larger only where the baseline cannot be worse.
    largest = max(contrast.largest_difference, contrast.margin)
    lower, upper = clip_ends(tests.lower[[i]], tests.upper[[i]], -largest, largest)
    p = tests.p_above[0, i]
    if settings.equivalence:
        p = np.maximum(p, tests.p_below[2, i])
    # Where no query differs, only a test that holds for any number of differences has a result.
    is_untested = not n_changed and not settings.gate_test.holds_always
    columns = contrast.units.columns(tests.unit_moments, tests.moments, tests.n_changed)
    n_changes = settings.changes
    if n_changes is None and tests.n_changed[i] < FEW_UNITS:
        n_changes = n_changed
    elif n_changes is None:
        n_changes = 0 if outcome == "PASS" else N_WORST
    n_needed = None
    if outcome == "UNDECIDED":
        n_needed = _find_queries_needed(tests, contrast, i, settings)
    return Verdict(
        system=name,
        measure=contrast.measure,
        outcome=outcome,
        better=bool(tests.is_above[1, i]) and not is_untested,
        worse=bool(tests.is_below[1, i]) and not is_untested,
        n=tests.moments.n_units,
        changed=n_changed,
        mean=aggregate_scores(contrast.parsed_measure, contrast.scores[:, i]),
        baseline_mean=contrast.baseline_mean,
        difference=float(tests.moments.mean[i]) + 0.0,
        sd=finite_or_none(tests.moments.sd[i]),
        margin=contrast.margin,
        lower=None if is_untested else finite_or_none(lower[0]),
        upper=None if is_untested else finite_or_none(upper[0]),
        p=None if is_untested else finite_or_none(p),
        p_worse=None if is_untested else finite_or_none(tests.p_below[1, i]),
        queries_needed=n_needed,
        turned=not contrast.higher_is_better,
        scale="ratio" if is_geometric(contrast.parsed_measure) else "difference",
        method=tests.method[i],
        changes=_list_changes(contrast, i, query_ids, n_changes),
        **{
            name: column_to_list(column)[i] if isinstance(column, np.ndarray) else column
            for name, column in columns.items()
        },
    )


def _find_queries_needed(
    tests: GainTests, contrast: Contrast, i: int, settings: GateSettings
) -> int | None:
    """Return how many queries a system as good as the baseline needs to pass, if that is known.

    It is not known where no query differs, or for a test that holds for any number of differences.
    """
    n_units, n_changed = tests.unit_moments.n_units, int(tests.n_changed[i])
    is_unknown = finite_or_none(tests.moments.sd[i]) is None or settings.gate_test.holds_always
    if is_unknown or not contrast.is_changed[:, i].any():
        return None
    variances = [
        (float(part.variance[i]), float(part.degrees[i])) for part in contrast.added_variances
    ]
    unit_sd = float(tests.unit_moments.sd[i])
    n_needed = find_n_to_pass(settings, contrast.margin, unit_sd, variances)
    if n_needed is None:
        return None
    if n_changed < FEW_UNITS:  # with fewer queries, fewer than FEW_UNITS would differ
        n_needed = max(n_needed, math.ceil(FEW_UNITS * n_units / n_changed))
    return math.ceil(n_needed * tests.moments.n_units / n_units)


def _list_changes(
    contrast: Contrast, i: int, query_ids: Sequence[str], n_changes: int
) -> tuple[Change, ...]:
    """Return the worst `n_changes` queries on which a system and the baseline differ."""
    gains = contrast.gains[:, i]
    order = np.argsort(gains, kind="stable")
    order = order[np.abs(gains[order]) > TIE][:n_changes]
    old_scores, new_scores = contrast.baseline_scores[order], contrast.scores[order, i]
    difference = (new_scores - old_scores) * (1 if contrast.higher_is_better else -1)
    rows = zip(order, old_scores.tolist(), new_scores.tolist(), difference.tolist(), strict=True)
    return tuple(Change(query_ids[q], *numbers) for q, *numbers in rows)


# ---- notes --------------------------------------------------------------------------------------


def _note_verdicts(
    verdicts: Sequence[Verdict],
    baseline: str,
    contrasts: Sequence[Contrast],
    settings: GateSettings,
) -> Iterator[Note]:
    """Yield notes on the verdicts, and on each measure's contrast with the baseline."""
    contrast_of_measure = {contrast.measure: contrast for contrast in contrasts}
    for verdict in verdicts:
        yield from _note_verdict(verdict, contrast_of_measure[verdict.measure], settings)
    for contrast in contrasts:
        measure_verdicts = [verdict for verdict in verdicts if verdict.measure == contrast.measure]
        if not settings.gate_test.holds_always:
            yield from _note_shape(contrast, measure_verdicts, settings)
        mean, measure, margin = contrast.baseline_mean, contrast.measure, contrast.stated_margin
        has_negative = min(contrast.baseline_scores.min(), contrast.scores.min()) < 0
        is_unbounded = contrast.range is None and contrast.higher_is_better and not has_negative
        if contrast.is_at_worst:
            if any(verdict.changed for verdict in measure_verdicts):
                score = contrast.baseline_scores[0]
                message = f"every {measure} is {score:g}, the worst possible: no system can fail."
                yield Note("baseline-at-worst", "warning", message, source=baseline)
        elif is_unbounded and not margin.is_share and exceeds(margin.size, mean):
            message = (
                f"{measure} of {baseline} is {mean:.4g}: if no score can be below 0, a "
                f"margin of {margin.statement} lets every system "
                f"pass{margin.percent_hint or '.'}"
            )
            yield Note("wide-margin", "warning", message)
        yield from note_sum_measure(contrast.parsed_measure)


def _note_student(verdicts: Sequence[Verdict], thresholds: Sequence[Threshold]) -> Iterator[Note]:
    """Yield a note if limits of the randomization test were computed by Student's t."""
    methods = {verdict.method for verdict in verdicts}
    if "t" in methods | {threshold.method for threshold in thresholds}:
        text = (
            f"More than {MANY_UNITS:,} queries: limits and p by Student's t. Its limits differ "
            "from those of all flips by less than 0.0001 and a hundredth of their distance."
        )
        yield Note("t-interval", "info", text)


def _note_verdict(verdict: Verdict, contrast: Contrast, settings: GateSettings) -> Iterator[Note]:
    """Yield notes on one verdict."""
    name = f"{verdict.system} ({verdict.measure})"
    if not verdict.changed and contrast.is_at_worst:
        message = (
            f"every score is {contrast.baseline_scores[0]:g}, also the baseline's: nothing is "
            "shown, so it is UNDECIDED. Do the judgments match the runs? See `cranfield check`."
        )
        yield Note("nothing-shown", "warning", message, verdict.n, name)
        return
    if not verdict.changed:
        message = f"identical on {'all ' * (verdict.n > 1)}{format_query_count(verdict.n)}."
        largest = contrast.largest_difference
        if verdict.margin < largest < math.inf and not settings.gate_test.holds_always:
            n_unchanged = find_n_unchanged(settings.alpha, verdict.margin, largest)
            count_phrase = "are that many" if verdict.n >= n_unchanged else f"are {verdict.n:,}"
            loss_phrase = f"lose as much as {largest:.4g}"
            margin_phrase = f"a mean loss of {verdict.margin:.4g}"
            if verdict.scale == "ratio":
                loss_phrase = f"fall to one in {math.exp(largest):,.0f}"
                margin_phrase = f"a ratio of {math.exp(-verdict.margin):.4g}"
            message += (
                f" If a query may {loss_phrase}, it takes {n_unchanged:,} queries without a change "
                f"to rule out {margin_phrase}; these {count_phrase}."
            )
        yield Note("identical", "info", message, verdict.n, name)
    elif verdict.changed_units < FEW_UNITS and not settings.gate_test.holds_always:
        n_changed = verdict.changed_units
        differ_verb = "differs" if n_changed == 1 else "differ"
        rare_event = "difference" if settings.equivalence else "loss"
        units = contrast.units
        n_units = units.n_groups or verdict.n
        of_all = format_count(n_units, units.unit_word, units.unit_words)
        message = f"only {n_changed} of {of_all} {differ_verb}"
        if verdict.outcome == "PASS":
            mean = "the same" if settings.equivalence else "not lower"
            message += (
                f": it passes as its mean is {mean}, but a rare, large {rare_event} is not ruled "
                "out."
            )
        elif verdict.outcome == "FAIL":
            message += ", which is few for limits of a mean."
        else:
            message += (
                f", too few for limits of a mean: a rare, large {rare_event} is not ruled out."
            )
        yield Note("few-changes", "warning", message, n_changed, name)
    n_needed = verdict.queries_needed
    if verdict.outcome == "UNDECIDED" and contrast.added_variances and n_needed is None:
        message = (
            "with so few runs of each system, no number of queries is enough to pass with a "
            "chance of 80%: add runs with other seeds."
        )
        yield Note("few-runs", "warning", message, verdict.n, name)
    if n_needed is not None and n_needed <= verdict.n:
        message = "has as many queries as needed: the true difference may be near the margin."
        yield Note("near-margin", "info", message, verdict.n, name)


def _note_shape(
    contrast: Contrast, verdicts: Sequence[Verdict], settings: GateSettings
) -> Iterator[Note]:
    """Yield a note on each system that has one difference on all queries, or skewed ones."""
    weights = contrast.weights
    if weights is None:
        weights = np.ones(len(contrast.baseline_scores))
    margin_gains = contrast.pair_gains(contrast.gains + contrast.margin * weights[:, None])
    units = contrast.units.unit_words
    skews = skewness(margin_gains, Moments.of(margin_gains))
    for verdict, skew in zip(verdicts, skews.tolist(), strict=True):
        doubt = find_doubt(margin_gains.n_units, verdict.changed_units, skew)
        if doubt == "constant":
            n = margin_gains.n_units
            message = (
                f"the same difference on all {n:,} {units}, so that the limits have no width; of "
                f"other {units}, {unlike_share_text(n, settings.alpha)} may have another."
            )
            yield Note(
                "constant", "warning", message, verdict.n, f"{verdict.system} ({verdict.measure})"
            )
        if doubt == "skewed":
            message = (
                f"a few large differences to one side (skewness {skew:+.1f}) make the limits too "
                f"narrow; {math.ceil(25 * skew**2):,} {units} would be enough."
            )
            yield Note(
                "skewed", "warning", message, verdict.n, f"{verdict.system} ({verdict.measure})"
            )
