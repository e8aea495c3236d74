"""Notes on the verdicts of a gate: what a reader should know of each, and of the baseline."""

import math
from collections.abc import Iterator, Sequence

from cranfield.comparison.effects import FEW_UNITS
from cranfield.comparison.flips import MANY_UNITS
from cranfield.comparison.margins import Contrast, exceeds
from cranfield.comparison.noninferiority import SCORE_METHODS
from cranfield.comparison.remarks import note_sum_measure, unlike_share_text
from cranfield.comparison.settings import GateSettings
from cranfield.comparison.thresholds import Threshold
from cranfield.comparison.verdict import Verdict
from cranfield.notes import Note
from cranfield.render.numbers import format_count, format_query_count


def note_verdicts(
    verdicts: Sequence[Verdict],
    n_systems: int,
    baseline: str | None,
    contrasts: Sequence[Contrast],
    settings: GateSettings,
) -> Iterator[Note]:
    """Yield notes on the verdicts, the contrasts with a baseline, and the systems tested."""
    contrast_of_measure = {contrast.measure: contrast for contrast in contrasts}
    for verdict in verdicts:
        yield from _note_verdict(verdict, contrast_of_measure[verdict.measure], settings)
    for contrast in contrasts:
        measure_verdicts = [verdict for verdict in verdicts if verdict.measure == contrast.measure]
        if not settings.gate_test.holds_always:
            yield from _note_shapes(contrast, measure_verdicts, settings)
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
    if n_systems > settings.tried:
        chance = 1 - (1 - settings.alpha) ** n_systems
        text = (
            f"{n_systems:,} systems are judged: if each just missed its bound, one or more would "
            f"pass with a chance of up to {chance:.2g}; tried={n_systems} (--tried {n_systems}) "
            "corrects for it."
        )
        yield Note("several-candidates", "info", text, count=n_systems)
    if contrasts and not settings.gate_test.holds_always:
        yield from _note_unseen_losses(verdicts, contrasts, settings.alpha)


def note_student(verdicts: Sequence[Verdict], thresholds: Sequence[Threshold]) -> Iterator[Note]:
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
    is_safe = settings.gate_test.holds_always or verdict.method in SCORE_METHODS
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
            n_unchanged = contrast.find_n_unchanged(settings.alpha)
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
    elif verdict.changed_units < FEW_UNITS and not is_safe:
        n_changed = verdict.changed_units
        differ_verb = "differs" if n_changed == 1 else "differ"
        rare_event = "difference" if settings.equivalence else "loss"
        units = contrast.units
        n_units = units.n_groups or verdict.n
        of_all = format_count(n_units, units.unit_word, units.unit_words)
        message = f"only {n_changed} of {of_all} {differ_verb}"
        if n_changed == n_units:
            message = f"only {of_all} {differ_verb}, as there are no more"
        if verdict.outcome == "PASS":
            mean_phrase = "the same" if settings.equivalence else "not lower"
            message += (
                f": it passes as its mean is {mean_phrase}, but a rare, large {rare_event} is not "
                "ruled out."
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


def _note_shapes(
    contrast: Contrast, verdicts: Sequence[Verdict], settings: GateSettings
) -> Iterator[Note]:
    """Yield a note on each system that has one difference on all queries, or skewed ones."""
    n_units, unit_words = contrast.units.n_groups or verdicts[0].n, contrast.units.unit_words
    n_unchanged = contrast.find_n_unchanged(settings.alpha)
    for verdict, shape in zip(verdicts, contrast.shapes, strict=True):
        hides_losses = shape.hides_losses(settings, n_units, n_unchanged)
        if verdict.method in SCORE_METHODS or n_units < 2:
            continue
        if shape.doubt == "constant":
            message = (
                f"the same difference on all {n_units:,} {unit_words}, so that the limits have no "
                f"width; of other {unit_words}, {unlike_share_text(n_units, settings.alpha)} may "
                "have another"
            )
            if hides_losses and n_unchanged == math.inf:
                message += "; without the least and greatest score (range) it cannot pass"
            elif hides_losses:
                message += f": it takes {n_unchanged:,} to pass"
            message += "."
        elif shape.doubt == "skewed" and (hides_losses or verdict.outcome != "PASS"):
            message = (
                f"a few large differences to one side (skewness {shape.skewness:+.1f}) make the "
                f"limits too narrow; with {shape.n_to_hold:,} {unit_words} they would hold"
            )
            message += ", so that it could pass." if hides_losses else "."
        else:
            continue
        name = f"{verdict.system} ({verdict.measure})"
        yield Note(shape.doubt, "warning", message, verdict.n, name)


def _note_unseen_losses(
    verdicts: Sequence[Verdict], contrasts: Sequence[Contrast], alpha: float
) -> Iterator[Note]:
    """Yield a note if some pass by so few queries that none of them may have a rare loss."""
    units = contrasts[0].units
    n_units = units.n_groups or verdicts[0].n
    measures = {
        verdict.measure
        for verdict in verdicts
        if verdict.outcome == "PASS" and verdict.changed and verdict.method not in SCORE_METHODS
    }
    if any(
        contrast.measure in measures and n_units < contrast.find_n_unchanged(alpha)
        for contrast in contrasts
    ):
        text = (
            f"{format_count(n_units, units.unit_word, units.unit_words)} miss a loss, however "
            f"large, on {unlike_share_text(n_units, alpha)} of {units.unit_words}."
        )
        yield Note("unseen-loss", "info", text, n_units)
