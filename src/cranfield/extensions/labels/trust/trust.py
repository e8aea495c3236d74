"""trust: how far a model's labels go, by what people say of a few of the same documents."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Unpack

import numpy as np

from cranfield.arrays.ranked import means
from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.alignment import DEFAULT_MEASURES, align
from cranfield.comparison.settings import Alignment
from cranfield.data.judging import Judging
from cranfield.data.qrels import QrelsLike, make_qrels
from cranfield.errors import OptionError
from cranfield.extensions import keywords
from cranfield.extensions.labels.human.human_labels import sample_estimation
from cranfield.extensions.labels.human.human_samples import refuse_models
from cranfield.extensions.labels.human.powered_result import PoweredMean
from cranfield.extensions.labels.pools.draw import select_drawn
from cranfield.extensions.labels.trust.grade_pairs import estimate_agreement, pair_grades
from cranfield.extensions.labels.trust.trust_result import Trust, TrustSettings
from cranfield.formats.columns import Side
from cranfield.formats.stated_columns import select_columns
from cranfield.notes import Note, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import format_count
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike


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
    columns = select_columns(reading.columns, Side.QRELS)
    model_labels = make_qrels(model, "strict", columns, judging.duplicates)
    labels = make_qrels(human, duplicates=judging.duplicates)
    refuse_models(labels, model_labels)
    grades = pair_grades(model_labels, select_drawn(labels))
    agreement = estimate_agreement(grades, settings.rel, settings.alpha)
    if runs is None:
        needless_names = settings.changed_options().keys() - {"alpha", "rel"}
        for name in ["measures"] * (measures is not None) + sorted(needless_names):
            raise OptionError(f"{name} says something of systems: name their runs, too")
        unit, n = "document", len(model_labels.query_ids)
        return Trust({}, {}, settings, (), {}, unit, n, {}, agreement, grades, 0)
    if measures is None:
        precision = "P@10" if settings.rel == 1 else f"P(rel={settings.rel:g})@10"
        measures = precision if "probability" in labels.columns else DEFAULT_MEASURES
    scores = align(model_labels, runs, measures, alignment, judging, reading)
    estimation = sample_estimation(scores, labels, alignment, judging, settings)
    pairs = {
        measure: estimation.estimate_differences(
            m, combinations(_rank_systems(estimation.scores, m), 2), settings.width
        )
        for m, measure in enumerate(scores.measures)
    }
    order_notes = [note for measure in pairs for note in _note_orders(measure, pairs[measure])]
    estimates = estimation.estimate_all()
    estimates["notes"] = (*order_notes, *estimation.notes)
    warn_about(estimates["notes"])
    n_pooled = estimation.sample.n_pooled
    return Trust(**estimates, pairs=pairs, agreement=agreement, grades=grades, n_pooled=n_pooled)


def _rank_systems(scores: AlignedScores, m: int) -> list[int]:
    """Return the numbers of the systems, the best by the model's labels first."""
    sign = -1 if scores.is_higher_better(scores.measures[m]) else 1
    ranked_systems: list[int] = np.argsort(sign * means(scores.scores[m]), kind="stable").tolist()
    return ranked_systems


def _note_orders(measure: str, pairs: Sequence[PoweredMean]) -> Iterator[Note]:
    """Yield how many of the model's orders people confirm: a warning if they reverse some."""
    counts = Counter(pair.order for pair in pairs)
    if pairs:
        text = (
            f"People confirm the model's order of {counts['same']:,} of "
            f"{format_count(len(pairs), 'pair')} of systems, reverse {counts['reversed']:,}, leave "
            f"{counts['open']:,} open."
        )
        if n := counts["tied"]:
            n_ordered = sum(pair.order == "tied" and pair.verdict is not None for pair in pairs)
            text += f" The model ties {n:,}, of which people order {n_ordered:,}."
        yield Note("orders", "warning" if counts["reversed"] else "info", text, source=measure)
