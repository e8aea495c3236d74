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
from cranfield.comparison.margins import Contrast, StatedMargin, build_contrast, exceeds, aggregate_scores
from cranfield.comparison.noninferiority import (
    GainTests,
    run_gain_tests,
    decide_outcome,
    find_n_to_pass,
    find_n_unchanged,
)
from cranfield.comparison.remarks import note_sum_measure, unlike_share_text
from cranfield.comparison.result import column_to_list
from cranfield.comparison.scale import clip_ends, is_geometric
from cranfield.comparison.score_columns import canonical_names
from cranfield.comparison.settings import Alignment, GateSettings
from cranfield.comparison.significance import TIE, Moments
from cranfield.comparison.thresholds import N_WORST, Threshold, resolve_at_least, judge_thresholds
from cranfield.comparison.verdict import Change, Gate, Verdict
from cranfield.data.judging import Judging
from cranfield.errors import InputError, OptionError
from cranfield.extensions import load_families
from cranfield.notes import Note, warn_about
from cranfield.options import keywords, refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import format_count, finite_or_none, format_query_count
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
    if measures is None and could_be_measures(runs) and hold_both_sides([qrels], options.get("columns")):
        measures, runs = runs, None  # a table of both sides needs no run beside it
    least = resolve_at_least(settings.at_least)
    most_loss = _read_margin(baseline, margin, measures, least)
    compared: list[str] | None = []  # None: all that were saved
    if most_loss is not None and (measures is not None or (runs is not None and least)):
        compared = canonical_names(DEFAULT_MEASURES if measures is None else measures)
    elif most_loss is not None:
        compared = None
    asked = None if compared is None else list(dict.fromkeys([*compared, *least]))
    aligned = align(
        *(qrels, runs, asked, Alignment.of(options), Judging.of(options), Reading.of(options)),
        families,
    )
    for family in families:
        has_limits = most_loss is not None or settings.limit
        aligned = family.prepare_gate(aligned, has_limits=has_limits)
    aligned.units.check(settings)
    names = list(aligned.system_names)
    notes: list[Note] = []
    contrasts: list[Contrast] = []
    verdicts: list[Verdict] = []
    if most_loss is not None:
        baseline = aligned.find_baseline(baseline)
        names.remove(baseline)
        if not names:
            raise InputError(f"the baseline {baseline} is the only system: add one to judge")
        contrasts = [
            build_contrast(aligned, measure, baseline, most_loss, settings.range, settings.gate_test)
            for measure in aligned.measures
            if compared is None or measure in compared
        ]
        verdicts = _judge_systems(contrasts, names, settings, aligned.query_ids)
        notes += _note_verdicts(verdicts, baseline, contrasts, settings)
    thresholds, of_thresholds = judge_thresholds(aligned, least, names, settings)
    notes += [note for note in of_thresholds if note not in notes]
    notes += [*_note_student(verdicts, thresholds), *aligned.notes]
    warn_about(notes)
    recipe = {"margin": margin, "at_least": least}
    recipe |= _recipe(aligned, settings, families, contrasts)
    return Gate(tuple(verdicts), baseline, settings, tuple(notes), recipe, tuple(thresholds))


def _recipe(
    aligned: AlignedScores,
    settings: GateSettings,
    families: Iterable[ComparingOptions],
    contrasts: Sequence[Contrast],
) -> dict[str, Any]:
    """Return what is needed to repeat a gate, apart from the margin and the thresholds."""
    ids, units = aligned.query_ids, aligned.units
    drawn = settings.make_flips(units.n_groups or len(ids))
    return {
        "limit": settings.limit,
        **{name: value for one in families for name, value in one.gate_recipe().items()},
        "equivalence": settings.equivalence,
        "alpha": settings.alpha,
        "test": settings.test,
        "flips": drawn.n_flips if drawn else None,
        "exact": drawn.is_exact if drawn else None,
        "seed": settings.seed,
        "ranges": {one.measure: list(one.range) for one in contrasts if one.range},
        "bets": settings.gate_test.bets,
        "n_queries": len(ids),
        "n_clusters": units.n_groups,
        "clusters": units.labels and list(units.labels),
        "queries_sha256": hash_query_ids(ids),
        **aligned.recipe,
    }


def _read_margin(
    baseline: str | None, margin: object, measures: MeasuresLike | None, least: Mapping[str, float]
) -> StatedMargin | None:
    """Return the margin, None if there is none and no baseline; OptionError for half of it."""
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
    if not least:
        raise OptionError(
            "nothing to judge by: state a baseline and a margin, or what the means must reach, "
            "at_least={'R@5': 0.8} (--at-least R@5=0.8)"
        )
    if measures is not None and not least.keys() >= set(canonical_names(measures)):
        raise OptionError(
            "without a baseline, at_least names the measures: leave the others out, or state a "
            "baseline and a margin"
        )
    return None


def _judge_systems(
    contrasts: Sequence[Contrast],
    names: Sequence[str],
    settings: GateSettings,
    query_ids: Sequence[str],
) -> list[Verdict]:
    """Return a verdict on each system, which have these names, under each measure."""
    tests = [(contrast, run_gain_tests(contrast, settings)) for contrast in contrasts]
    return [
        _judge_system(test, contrast, i, name, settings, query_ids)
        for i, name in enumerate(names)
        for contrast, test in tests
    ]


def _judge_system(
    test: GainTests,
    contrast: Contrast,
    i: int,
    name: str,
    settings: GateSettings,
    query_ids: Sequence[str],
) -> Verdict:
    """Return the verdict on the system at a place of the contrast, by the test of all of them."""
    changed = int(np.count_nonzero(contrast.is_changed[:, i]))
    outcome = decide_outcome(test, i, settings)
    if not changed and contrast.is_at_worst:  # for example, with judgments of other documents
        outcome = "UNDECIDED"
    # A margin may be larger only where the baseline cannot be worse.
    most = max(contrast.largest_difference, contrast.margin)
    lower, upper = clip_ends(test.lower[[i]], test.upper[[i]], -most, most)
    p = test.p_above[0, i]
    if settings.equivalence:
        p = np.maximum(p, test.p_below[2, i])
    # Where nothing differs, only a test for any number of differences has a result.
    silent = not changed and not settings.gate_test.is_valid_for_any_n
    columns = contrast.units.columns(test.unit_moments, test.moments, test.n_changed)
    n_changes = settings.changes
    if n_changes is None and test.n_changed[i] < FEW_UNITS:
        n_changes = changed
    elif n_changes is None:
        n_changes = 0 if outcome == "PASS" else N_WORST
    return Verdict(
        system=name,
        measure=contrast.measure,
        outcome=outcome,
        better=bool(test.is_above[1, i]) and not silent,
        worse=bool(test.is_below[1, i]) and not silent,
        n=test.moments.n_units,
        changed=changed,
        mean=aggregate_scores(contrast.parsed_measure, contrast.scores[:, i]),
        baseline_mean=contrast.baseline_mean,
        difference=float(test.moments.mean[i]) + 0.0,
        sd=finite_or_none(test.moments.sd[i]),
        margin=contrast.margin,
        lower=None if silent else finite_or_none(lower[0]),
        upper=None if silent else finite_or_none(upper[0]),
        p=None if silent else finite_or_none(p),
        p_worse=None if silent else finite_or_none(test.p_below[1, i]),
        queries_needed=_find_queries_needed(test, contrast, i, settings) if outcome == "UNDECIDED" else None,
        turned=not contrast.higher_is_better,
        scale="ratio" if is_geometric(contrast.parsed_measure) else "difference",
        method=test.method[i],
        changes=_list_changes(contrast, i, query_ids, n_changes),
        **{
            name: column_to_list(column)[i] if isinstance(column, np.ndarray) else column
            for name, column in columns.items()
        },
    )


def _find_queries_needed(test: GainTests, contrast: Contrast, i: int, settings: GateSettings) -> int | None:
    """Return how many queries a system as good as the baseline needs to pass, if that is known.

    They are not known where nothing differs, or for a test of any number of differences.
    """
    n_units, n_changed = test.unit_moments.n_units, int(test.n_changed[i])
    no_sd = finite_or_none(test.moments.sd[i]) is None
    if no_sd or settings.gate_test.is_valid_for_any_n or not contrast.is_changed[:, i].any():
        return None
    added = [(float(one.variance[i]), float(one.degrees[i])) for one in contrast.added_variances]
    needed = find_n_to_pass(settings, contrast.margin, float(test.unit_moments.sd[i]), added)
    if needed is None:
        return None
    if n_changed < FEW_UNITS:  # with fewer queries, too few would differ
        needed = max(needed, math.ceil(FEW_UNITS * n_units / n_changed))
    return math.ceil(needed * test.moments.n_units / n_units)


def _list_changes(contrast: Contrast, i: int, query_ids: Sequence[str], most: int) -> tuple[Change, ...]:
    """Return the queries on which a system differs, the worst first."""
    gains = contrast.gains[:, i]
    order = np.argsort(gains, kind="stable")
    order = order[np.abs(gains[order]) > TIE][:most]
    old, new = contrast.baseline_scores[order], contrast.scores[order, i]
    difference = (new - old) * (1 if contrast.higher_is_better else -1)
    columns = old.tolist(), new.tolist(), difference.tolist()
    return tuple(Change(query_ids[q], *one) for q, *one in zip(order, *columns, strict=True))


# ---- notes --------------------------------------------------------------------------------------


def _note_verdicts(
    verdicts: Sequence[Verdict],
    baseline: str,
    contrasts: Sequence[Contrast],
    settings: GateSettings,
) -> Iterator[Note]:
    """Yield notes on the verdicts."""
    by_measure = {one.measure: one for one in contrasts}
    for one in verdicts:
        yield from _note_verdict(one, by_measure[one.measure], settings)
    for contrast in contrasts:
        of_this = [one for one in verdicts if one.measure == contrast.measure]
        if not settings.gate_test.is_valid_for_any_n:
            yield from _note_shape(contrast, of_this, settings)
        value, measure, stated = contrast.baseline_mean, contrast.measure, contrast.stated_margin
        below_0 = min(contrast.baseline_scores.min(), contrast.scores.min()) < 0
        unknown = contrast.range is None and contrast.higher_is_better and not below_0
        if contrast.is_at_worst:
            if any(one.changed for one in of_this):
                said = f"every {measure} is {contrast.baseline_scores[0]:g}, the worst possible: no system "
                yield Note("baseline-at-worst", "warning", f"{said}can fail.", source=baseline)
        elif unknown and not stated.is_share and exceeds(stated.size, value):
            said = f"{measure} of {baseline} is {value:.4g}: if no score can be below 0, a margin "
            said += f"of {stated.statement} lets every system pass{stated.percent_hint or '.'}"
            yield Note("wide-margin", "warning", said)
        yield from note_sum_measure(contrast.parsed_measure)


def _note_student(verdicts: Sequence[Verdict], thresholds: Sequence[Threshold]) -> Iterator[Note]:
    """Yield a note if limits of the randomization test are Student's."""
    if "t" in {*(one.method for one in verdicts), *(one.method for one in thresholds)}:
        text = (
            f"More than {MANY_UNITS:,} queries: limits and p by Student's t. Its limits differ from "
            "those of all flips by less than 0.0001 and a hundredth of their distance."
        )
        yield Note("t-interval", "info", text)


def _note_verdict(one: Verdict, contrast: Contrast, settings: GateSettings) -> Iterator[Note]:
    """Yield notes on one verdict."""
    named = f"{one.system} ({one.measure})"
    if not one.changed and contrast.is_at_worst:
        said = (
            f"every score is {contrast.baseline_scores[0]:g}, also the baseline's: nothing is shown, so it is "
            "UNDECIDED. Do the judgments match the runs? See `cranfield check`."
        )
        yield Note("nothing-shown", "warning", said, one.n, named)
        return
    if not one.changed:
        said = f"identical on {'all ' * (one.n > 1)}{format_query_count(one.n)}."
        most = contrast.largest_difference
        if one.margin < most < math.inf and not settings.gate_test.is_valid_for_any_n:
            needed = find_n_unchanged(settings.alpha, one.margin, most)
            are = "are that many" if one.n >= needed else f"are {one.n:,}"
            lose = f"lose as much as {most:.4g}"
            loss = f"a mean loss of {one.margin:.4g}"
            if one.scale == "ratio":
                lose = f"fall to one in {math.exp(most):,.0f}"
                loss = f"a ratio of {math.exp(-one.margin):.4g}"
            said += (
                f" If a query may {lose}, it takes {needed:,} queries without a change to rule out "
                f"{loss}; these {are}."
            )
        yield Note("identical", "info", said, one.n, named)
    elif (few := one.changed_units) < FEW_UNITS and not settings.gate_test.is_valid_for_any_n:
        verb = "differs" if few == 1 else "differ"
        rare = "difference" if settings.equivalence else "loss"
        units = contrast.units
        n_units = units.n_groups or one.n
        of_all = format_count(n_units, units.unit_word, units.unit_words)
        said = f"only {few} of {of_all} {verb}"
        if one.outcome == "PASS":
            mean = "the same" if settings.equivalence else "not lower"
            said += f": it passes as its mean is {mean}, but a rare, large {rare} is not ruled out."
        elif one.outcome == "FAIL":
            said += ", which is few for limits of a mean."
        else:
            said += f", too few for limits of a mean: a rare, large {rare} is not ruled out."
        yield Note("few-changes", "warning", said, few, named)
    if one.outcome == "UNDECIDED" and contrast.added_variances and one.queries_needed is None:
        said = "with so few runs of each system, no number of queries is enough to pass with a "
        said += "chance of 80%: add runs with other seeds."
        yield Note("few-runs", "warning", said, one.n, named)
    if one.queries_needed is not None and one.queries_needed <= one.n:
        said = "has as many queries as needed: the true difference may be near the margin."
        yield Note("near-margin", "info", said, one.n, named)


def _note_shape(
    contrast: Contrast, verdicts: Sequence[Verdict], settings: GateSettings
) -> Iterator[Note]:
    """Yield a note on each system that has one difference on all queries, or skewed ones."""
    weights = np.ones(len(contrast.baseline_scores)) if contrast.weights is None else contrast.weights
    paired = contrast.pair_gains(contrast.gains + contrast.margin * weights[:, None])
    units = contrast.units.unit_words
    skews = skewness(paired, Moments.of(paired))
    for one, skew in zip(verdicts, skews.tolist(), strict=True):
        doubt = find_doubt(paired.n_units, one.changed_units, skew)
        if doubt == "constant":
            n = paired.n_units
            said = (
                f"the same difference on all {n:,} {units}, so that the limits have no width; of "
                f"other {units}, {unlike_share_text(n, settings.alpha)} may have another."
            )
            yield Note("constant", "warning", said, one.n, f"{one.system} ({one.measure})")
        if doubt == "skewed":
            said = (
                f"a few large differences to one side (skewness {skew:+.1f}) make the limits too "
                f"narrow; {math.ceil(25 * skew**2):,} {units} would be enough."
            )
            yield Note("skewed", "warning", said, one.n, f"{one.system} ({one.measure})")
