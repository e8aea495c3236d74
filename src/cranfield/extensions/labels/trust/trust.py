"""trust: how far a model's labels go, by what people say of a few of the same documents."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Unpack

from cranfield.comparison.alignment import DEFAULT_MEASURES, align
from cranfield.comparison.settings import Alignment
from cranfield.comparison.significance import TIE
from cranfield.data.judging import Judging
from cranfield.data.qrels import QrelsLike, make_qrels
from cranfield.errors import OptionError
from cranfield.extensions import keywords
from cranfield.extensions.labels.human.human_labels import (
    Estimation,
    find_interval,
    sample_estimation,
)
from cranfield.extensions.labels.human.powered_settings import PoweredSettings
from cranfield.extensions.labels.samples import select_drawn
from cranfield.extensions.labels.trust.grades import estimate_agreement, pair_grades
from cranfield.extensions.labels.trust.trust_result import Order, Trust, TrustedMean
from cranfield.notes import Note, Severity, warn_about
from cranfield.options import (
    MIN_SHARE,
    level_check,
    number_check,
    option,
    refuse_unknown_options,
    takes,
)
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import format_count, format_query_count
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike


@dataclass(frozen=True, kw_only=True)
class TrustSettings(PoweredSettings):
    """The options of `trust`."""

    rel: float = option(
        1,
        "The lowest grade that is relevant, for how far people and the model agree (a measure "
        "states its own).",
        level_check(),
    )
    width: float | None = option(
        None,
        "Half the width that the interval of a difference is to have: tells about how many labels "
        "that takes.",
        number_check(MIN_SHARE),
    )


@add_progress
@takes(TrustSettings, Alignment, Reading, Judging, Watching, omit=("queries",))
def trust(
    model: QrelsLike,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    *,
    human: QrelsLike,
    **options: "Unpack[keywords.Trust]",
) -> Trust:
    """Say how far a model's labels go, where people labelled a part that was drawn by chance.

    For each two systems: whether people confirm the order that the model's labels make, reverse it,
    or leave it open. For each system: how far its mean by the model's labels is off, and whether
    that favours it. The estimates are those of `prediction_powered`, with its notes. For the
    documents that people labelled: how far both agree, weighted by 1 / the probability with which
    each was drawn. Without runs, this alone.

    Args:
        model: the model's labels, as `evaluate` takes judgments.
        runs: one run or several, as `evaluate` takes them.
        measures: which to estimate. [default: P@10 where people labelled single documents, nDCG@10
            where they labelled whole queries]
        human: people's labels, as `prediction_powered` takes them.
        **options: each option of `TrustSettings`, `Alignment`, `Reading`, `Judging` (except
            `queries`) and `Watching`.

    Warns:
        CranfieldWarning: once, where people reverse an order, and where `prediction_powered` warns.

    Raises:
        InputError, MeasureError, OptionError: as `prediction_powered` does; OptionError, too, for
            options that need runs.

    >>> model = {f"q{i}": {"a": 1, "b": i % 2} for i in range(8)}
    >>> people = {query: {"a": 1, "b": 0} for query in model}
    >>> trust(model, human=people).agreement["specificity"].value
    0.5

    """
    refuse_unknown_options(trust, options)
    settings, reading = TrustSettings.of(options), Reading.of(options)
    alignment, judging = Alignment.of(options), Judging.of(options)
    model_labels, labels = (make_qrels(q, duplicates=judging.duplicates) for q in (model, human))
    grades = pair_grades(model_labels, select_drawn(labels))
    agreement = estimate_agreement(grades, settings.rel, settings.alpha)
    if runs is None:
        needless_options = [*settings.changed_options().keys() - {"alpha", "rel"}]
        if needless_options or measures is not None:
            name = "measures" if measures is not None else needless_options[0]
            raise OptionError(f"{name} says something of systems: name their runs, too")
        return Trust({}, {}, agreement, grades, settings, (), {}, "")
    if measures is None:
        measures = "P@10" if "probability" in labels.columns else DEFAULT_MEASURES
    scores = align(model_labels, runs, measures, alignment, judging, reading)
    estimation = sample_estimation(scores, labels, alignment, judging, settings)
    sample = estimation.sample
    coverage = f"{sample.n_labelled:,} of {format_query_count(sample.n_queries)} labelled by people"
    if sample.unit == "document":
        coverage = (
            f"{format_query_count(sample.n_queries)}, {sample.n_labelled:,} of about "
            f"{sample.n_pooled:,.0f} pooled documents labelled by people, drawn by chance"
        )
    means, pairs, notes = {}, {}, []
    for m, measure in enumerate(scores.measures):
        means[measure] = _trust_means(estimation, m)
        pairs[measure] = _trust_order(estimation, m, settings)
        notes += _note_orders(measure, pairs[measure])
    notes += estimation.notes
    warn_about(notes)
    recipe = estimation.scores.recipe
    return Trust(means, pairs, agreement, grades, settings, tuple(notes), recipe, coverage)


def _find_excess(
    estimation: Estimation, name: str, m: int, i: int, base: int | None
) -> dict[str, Any]:
    """Return how far the model's mean or difference is off, called `name`, and its interval."""
    scores = estimation.sample.select(m, i, base)
    estimate = scores.estimate(estimation.settings.lam)
    low, high = find_interval(scores.find_excess(estimate), estimation.settings.alpha)
    return {name: estimate.model - estimate.estimate, f"{name}_low": low, f"{name}_high": high}


def _trust_means(estimation: Estimation, m: int) -> dict[str, TrustedMean]:
    """Return {system: its mean by measure m}, with how far the model's is off and favours it."""
    base, means = estimation.baseline_column, {}
    for i, (name, mean) in enumerate(estimation.estimate_means(m).items()):
        excess = _find_excess(estimation, "off", m, i, None)
        if i != base:
            excess |= _find_excess(estimation, "favoured", m, i, base)
        means[name] = TrustedMean(**vars(mean), **excess)
    return means


def _trust_order(estimation: Estimation, m: int, settings: TrustSettings) -> list[TrustedMean]:
    """Return the difference of each two systems, the better by the model's labels first."""
    scores, sample = estimation.scores, estimation.sample
    sign = 1 if scores.is_higher_better(scores.measures[m]) else -1
    model_means = [sample.estimate(m, i).model for i in range(len(scores.system_names))]
    systems = sorted(range(len(model_means)), key=lambda i: -sign * model_means[i])
    pairs = [*combinations(systems, 2)]
    differences = []
    for (i, base), mean in zip(pairs, estimation.estimate_differences(m, pairs), strict=True):
        order: Order = "open"
        if abs(mean.model) <= TIE:
            order = "tied"
        elif mean.verdict is not None:
            order = "same" if (mean.mean > 0) == (mean.model > 0) else "reversed"
        n_needed = None
        if settings.width is not None:
            estimate, quantiles = sample.estimate(m, i, base), [1 - settings.alpha / 2]
            n_needed = sample.select(m, i, base).count_labels(estimate, settings.width, quantiles)
        excess = _find_excess(estimation, "off", m, i, base)
        differences.append(TrustedMean(**vars(mean), **excess, order=order, labels_needed=n_needed))
    return differences


def _note_orders(measure: str, pairs: Sequence[TrustedMean]) -> Iterator[Note]:
    """Yield how many of the model's orders people confirm: a warning if they reverse some."""
    counts = Counter(pair.order for pair in pairs)
    if pairs:
        text = (
            f"People confirm the model's order of {counts['same']:,} of "
            f"{format_count(len(pairs), 'pair')} of systems, reverse {counts['reversed']:,}, leave "
            f"{counts['open'] + counts['tied']:,} open."
        )
        severity: Severity = "warning" if counts["reversed"] else "info"
        yield Note("orders", severity, text, source=measure)
