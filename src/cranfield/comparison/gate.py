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

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Never, Unpack

import numpy as np

from cranfield.comparison.aligned_scores import AlignedScores, hash_query_ids
from cranfield.comparison.alignment import DEFAULT_MEASURES, align
from cranfield.comparison.comparing import ComparingOptions
from cranfield.comparison.decisions import (
    decide_outcome,
    find_detectable_loss,
    find_greatest_p,
    find_n_to_decide,
)
from cranfield.comparison.effects import FEW_UNITS
from cranfield.comparison.gate_notes import note_student, note_verdicts
from cranfield.comparison.margins import Contrast, StatedMargin, aggregate_scores, build_contrast
from cranfield.comparison.noninferiority import GainTests, run_gain_tests
from cranfield.comparison.result import column_to_list
from cranfield.comparison.scale import clip_ends, is_geometric
from cranfield.comparison.score_columns import canonical_names, find_measure
from cranfield.comparison.settings import Alignment, GateSettings
from cranfield.comparison.significance import TIE
from cranfield.comparison.thresholds import (
    N_WORST,
    build_requirement,
    judge_thresholds,
    resolve_at_least,
)
from cranfield.comparison.verdict import Change, Gate, Verdict
from cranfield.data.judging import Judging
from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.extensions import load_families
from cranfield.notes import warn_about
from cranfield.options import keywords, refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import finite_or_none
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
    stated_settings, columns = GateSettings.of(options), options.get("columns")
    families = [family.of(options) for family in FAMILIES]
    for family in families:
        stated_settings = family.gate_settings(stated_settings)
    settings = stated_settings.correct_alpha()
    refuse_mapping(measures)
    if measures is None and could_be_measures(runs) and hold_both_sides([qrels], columns):
        measures, runs = runs, None  # a table of both sides needs no run beside it
    goals = resolve_at_least(settings.at_least)
    stated_margin = _read_margin(baseline, margin, measures, goals)
    if settings.tried > 1 and stated_margin is None and not settings.limit:
        raise OptionError(f"tried={settings.tried}: applies to a margin, or to at_least with limit")
    compared_measures = _choose_compared(stated_margin, measures, runs, goals)
    names = None if compared_measures is None else [*dict.fromkeys([*compared_measures, *goals])]
    alignment, judging, reading = Alignment.of(options), Judging.of(options), Reading.of(options)
    scores = align(qrels, runs, names, alignment, judging, reading, families)
    for family in families:
        has_limits = stated_margin is not None or settings.limit
        scores = family.prepare_gate(scores, has_limits=has_limits)
    scores.units.check(GateSettings.of(options))
    for measure in filter(None, map(find_measure, scores.measures)):
        if measure.definition.of == "lists" and measure.definition.higher_is_better is None:
            raise MeasureError(f"neither more nor less {measure} is better")
    if baseline is not None:
        baseline = scores.find_baseline(baseline)
    systems = [name for name in scores.system_names if name != baseline]
    if not systems:
        raise InputError(f"the baseline {baseline} is the only system: add one to judge")
    contrasts = [
        build_contrast(scores, measure, baseline, stated_margin, settings)
        for measure in scores.measures
        if baseline is not None and stated_margin is not None
        if compared_measures is None or measure in compared_measures
    ]
    needs = [build_requirement(scores, m, goal, systems, settings) for m, goal in goals.items()]
    gain_tests = [run_gain_tests(contrast, settings) for contrast in contrasts]
    p_values = [tests.p_of_failing(settings) for tests in gain_tests]
    p_values += [need.tests.p_below[0] for need in needs if need.tests is not None]
    greatest_p = find_greatest_p(p_values, settings.alpha)
    n_rows, query_ids = sum(map(len, p_values)), scores.query_ids
    verdicts = [
        _judge_system(tests, contrast, i, name, settings, query_ids, greatest_p, n_rows)
        for i, name in enumerate(systems)
        for contrast, tests in zip(contrasts, gain_tests, strict=True)
    ]
    notes = [*note_verdicts(verdicts, len(systems) * (n_rows > 0), baseline, contrasts, settings)]
    thresholds, threshold_notes = judge_thresholds(needs, systems, settings, query_ids, greatest_p)
    notes += [note for note in threshold_notes if note not in notes]
    notes += [*note_student(verdicts, thresholds), *scores.notes]
    recipe = {"margin": margin, "at_least": goals, "n_rows": n_rows}
    recipe |= _recipe(scores, stated_settings, families, contrasts)
    result = Gate(tuple(verdicts), baseline, settings, tuple(notes), recipe, tuple(thresholds))
    for family in families:
        result = family.review_gate(result, scores, options)
    warn_about(result.notes)
    return result


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
        "tried": settings.tried,
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
    baseline: str | None, margin: object, measures: MeasuresLike | None, goals: Mapping[str, float]
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


def _choose_compared(
    margin: StatedMargin | None,
    measures: MeasuresLike | None,
    runs: Any,
    goals: Mapping[str, float],
) -> list[str] | None:
    """Return the names of the measures to judge by the margin; None for all that were saved."""
    if margin is None:
        return []
    if measures is None and (runs is None or not goals):
        return None
    return canonical_names(DEFAULT_MEASURES if measures is None else measures)


def _judge_system(
    tests: GainTests,
    contrast: Contrast,
    i: int,
    name: str,
    settings: GateSettings,
    query_ids: Sequence[str],
    greatest_p: float,
    n_rows: int,
) -> Verdict:
    """Return the verdict on the system in column i of a contrast, one of `n_rows` of the gate."""
    n_changed = int(np.count_nonzero(contrast.is_changed[:, i]))
    shape, n_unchanged = contrast.shapes[i], contrast.find_n_unchanged(settings.alpha)
    hides_losses = shape.hides_losses(settings, tests.unit_moments.n_units, n_unchanged)
    outcome = decide_outcome(tests, i, settings, greatest_p, hides_losses=hides_losses)
    if not n_changed and contrast.is_at_worst:  # for example, with judgments of other documents
        outcome = "UNDECIDED"
    # A margin may be larger only where the baseline cannot be worse.
    largest = max(contrast.largest_difference, contrast.margin)
    lower, upper = clip_ends(tests.lower[[i]], tests.upper[[i]], -largest, largest)
    p = np.maximum(tests.p_above[0, i], tests.p_below[2, i] if settings.equivalence else 0.0)
    # Where no query differs, only a test that holds for any number of differences has a result.
    is_untested = not n_changed and not settings.gate_test.holds_always
    columns = contrast.units.columns(tests.unit_moments, tests.moments, tests.n_changed)
    n_changes = settings.changes
    if n_changes is None:
        has_few_changes = tests.n_changed[i] < FEW_UNITS
        n_changes = n_changed if has_few_changes else N_WORST * (outcome != "PASS")
    n_needed, least_n_units, variances = None, 0.0, contrast.added_variances
    if hides_losses:
        least_n_units = shape.n_to_hold if shape.doubt == "skewed" else n_unchanged
    if outcome == "UNDECIDED":
        n_needed = find_n_to_decide(tests, i, settings, contrast.margin, variances, least_n_units)
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
        detectable=None
        if variances  # the queries' variance is not all
        else find_detectable_loss(tests, i, settings, contrast.margin, n_rows),
        turned=not contrast.higher_is_better,
        scale="ratio" if is_geometric(contrast.parsed_measure) else "difference",
        method=tests.method[i],
        changes=_list_changes(contrast, i, query_ids, n_changes),
        **{name: column_to_list(column, i + 1)[i] for name, column in columns.items()},
    )


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
