"""prediction_powered: means and differences from a few labels by people and many by a model."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.alignment import align
from cranfield.comparison.corrections import holm
from cranfield.comparison.result import Outcome
from cranfield.comparison.scale import score_range
from cranfield.comparison.settings import Alignment
from cranfield.comparison.significance import TIE, t_interval, t_test
from cranfield.data.judging import Judging
from cranfield.errors import MeasureError
from cranfield.extensions import keywords
from cranfield.extensions.labels.human.human_samples import sample_labels
from cranfield.extensions.labels.human.powered import MIN_RELIABLE_QUERIES, Sample, find_moments
from cranfield.extensions.labels.human.powered_result import Order, PoweredMean, PredictionPowered
from cranfield.extensions.labels.human.powered_settings import PoweredSettings
from cranfield.notes import Note, warn_about
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.render.numbers import finite_or_none, format_shortest
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike


@add_progress
@takes(PoweredSettings, Alignment, Reading, Judging, Watching, omit=("queries",))
def prediction_powered(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    *,
    human: Any,
    **options: "Unpack[keywords.PredictionPowered]",
) -> PredictionPowered:
    """Estimate means and differences from a model's labels and a few by people (PPI++).

    The model labelled everything, people a part that was drawn by chance (`cranfield pool --by
    chance` draws it). The estimate is the model's mean, corrected by what people's labels say that
    it is off by. Its interval holds however wrong the model is; the better the model, the narrower.

    People labelled either whole queries or single documents. Queries: each of theirs has all the
    labels that its score needs, and any measure that is a mean over the queries can be estimated.
    A column `query_probability` says with which probability each was drawn; without it, each is
    taken to be as likely as another. Documents: a column `probability` says with which probability
    each was drawn; the measure must add its documents up, as P@10, DCG@10 and RBP do, and look at
    none that could not be drawn.

    Args:
        qrels: the model's labels, as `evaluate` takes judgments; or scores by them, as `compare`
            takes scores, if `human` has scores, too.
        runs: one run or several, as `evaluate` takes them.
        measures: which to estimate. [default: nDCG@10 for runs, else all that have scores]
        human: people's labels, as `evaluate` takes judgments, with the columns above; or scores of
            the queries that people judged.
        **options: each option of `PoweredSettings` and `Alignment`; for judgments and runs, also of
            `Reading` and `Judging` (except `queries`); and of `Watching`.

    The interval is Student's, with one degree of freedom less than labelled queries (for
    documents: than all queries). Its ends are cut to the range that the measure has, or that a
    difference of two of its means has, unless the estimate is outside: it is then an end itself.

    Returns:
        PredictionPowered, which prints as tables.

    Warns:
        CranfieldWarning: once, where what people labelled does not look drawn by chance, is
            too little, or was partly left out, and where `compare` warns.

    Raises:
        InputError: fewer than two labelled queries, or none that the model labelled, too; different
            probabilities within a query, or those of queries and of documents; labels that are all
            below 0; other systems among the human scores.
        MeasureError: a measure that is no mean over the queries; for documents, one in which a
            document's value depends on others.
        OptionError: an option with an impossible value, or that documents cannot be labelled under.

    Sources: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic, Science 2023; Angelopoulos, Duchi &
    Zrnic, arXiv 2311.01453 (2023); Oosterhuis et al., KDD 2024; Särndal, Swensson & Wretman, Model
    Assisted Survey Sampling, 1992, chapter 6.

    >>> model = {"new": {f"q{i}": i % 5 / 4 for i in range(40)}}
    >>> human = {"new": {f"q{i}": i % 5 / 5 for i in range(0, 40, 3)}}
    >>> one = prediction_powered(model, human=human).means["score"]["new"]
    >>> one.model, round(one.mean, 2), one.labelled, one.worth > 14
    (0.5, 0.4, 14, True)

    """
    refuse_unknown_options(prediction_powered, options)
    settings, reading = PoweredSettings.of(options), Reading.of(options)
    alignment, judging = Alignment.of(options), Judging.of(options)
    scores = align(qrels, runs, measures, alignment, judging, reading)
    estimation = sample_estimation(scores, human, alignment, judging, settings)
    estimates = PredictionPowered(**estimation.estimate_all())
    warn_about(estimates.notes)
    return estimates


class Estimation(NamedTuple):
    """Scores by a model's labels, and the sample that people labelled, which corrects them."""

    scores: AlignedScores
    sample: Sample
    settings: PoweredSettings
    baseline_column: int  # of the scores
    notes: tuple[Note, ...]  # on the scores, on the sample, and on what its intervals are worth

    def estimate_all(self) -> dict[str, Any]:
        """Return {field: value} of a PredictionPowered."""
        names, base = self.scores.system_names, self.baseline_column
        pairs = [(i, base) for i in range(len(names)) if i != base]
        measures = [*enumerate(self.scores.measures)]
        means = {
            measure: {name: self._make_mean(m, i, None) for i, name in enumerate(names)}
            for m, measure in measures
        }
        differences = {
            measure: {mean.system: mean for mean in self.estimate_differences(m, pairs)}
            for m, measure in measures
            if pairs
        }
        return {
            "means": means,
            "differences": differences,
            "settings": self.settings,
            "notes": self.notes,
            "recipe": self.scores.recipe,
            "unit": self.sample.unit,
            "n_queries": self.sample.n_queries,
        }

    def estimate_differences(
        self, m: int, pairs: Iterable[tuple[int, int]], width: float | None = None
    ) -> list[PoweredMean]:
        """Return the differences of pairs of systems, by their numbers, the second subtracted.

        With `width`, also about how many labels make half the interval as wide as this.
        """
        differences = [self._make_mean(m, i, base, width) for i, base in pairs]
        sign = 1 if self.scores.is_higher_better(self.scores.measures[m]) else -1
        p_values = [np.nan if mean.p is None else mean.p for mean in differences]
        for place, p_adjusted in enumerate(holm(np.array(p_values)).tolist()):
            mean, model = differences[place].mean, differences[place].model
            verdict: Outcome | None = None
            order: Order = "open"
            if p_adjusted <= self.settings.alpha:
                verdict = "better" if (mean > 0) == (sign > 0) else "worse"
                order = "same" if (mean > 0) == (model > 0) else "reversed"
            differences[place] = replace(
                differences[place],
                p_adjusted=finite_or_none(p_adjusted),
                verdict=verdict,
                order="tied" if abs(model) <= TIE else order,
            )
        return differences

    def _make_mean(
        self, m: int, i: int, base: int | None, width: float | None = None
    ) -> PoweredMean:
        """Return a mean, or a difference, with intervals, which are cut to its range.

        An estimate may be outside of its range: it is then an end of the interval.
        """
        scores, sample, alpha = self.scores, self.sample, self.settings.alpha
        estimate, measure = sample.estimate(m, i, base), scores.measures[m]
        arrays = [scores.scores[m]]
        if sample.human_scores is not None:
            arrays.append(sample.human_scores[m])
        limits = lowest, highest = score_range(scores.find_measure(measure), np.concatenate(arrays))
        if base is not None:
            limits = lowest - highest, highest - lowest
        degrees, off = sample.degrees, estimate.model - estimate.estimate
        off_degrees = estimate.excess_degrees
        optional_fields: dict[str, Any] = {}
        for prefix, mean, error, n, (lowest, highest) in (
            ("", estimate.estimate, estimate.error, degrees, limits),
            ("human_", estimate.human, estimate.human_error, degrees, limits),
            ("off_", off, estimate.excess_error, off_degrees, (-np.inf, np.inf)),
        ):
            if error:  # else it is 0, or not known, and there is no interval
                low, high = t_interval(find_moments(mean, error, n), alpha)
                optional_fields[f"{prefix}low"] = max(float(low[0]), min(lowest, mean))
                optional_fields[f"{prefix}high"] = min(float(high[0]), max(highest, mean))
        p = t_test(find_moments(estimate.estimate, estimate.error, degrees))[0]
        if width is not None:
            labelled_scores, levels = sample.select(m, i, base), [1 - alpha / 2]
            n_needed = labelled_scores.count_labels(self.settings.lam, width, levels)
            optional_fields["labels_needed"] = n_needed
        return PoweredMean(
            measure=measure,
            system=scores.system_names[i],
            other=None if base is None else scores.system_names[base],
            mean=estimate.estimate,
            error=estimate.error,
            p=None if base is None else finite_or_none(p),
            lam=estimate.lam,
            labelled=sample.n_labelled,
            worth=estimate.worth,
            human=estimate.human,
            model=estimate.model,
            off=off,
            **optional_fields,
        )


def sample_estimation(
    scores: AlignedScores,
    human: Any,
    alignment: Alignment,
    judging: Judging,
    settings: PoweredSettings,
) -> Estimation:
    """Return what corrects scores by a model's labels, as `prediction_powered` does it.

    Raises its errors.
    """
    for measure in scores.measures:
        parsed_measure = scores.find_measure(measure)
        if parsed_measure is not None and parsed_measure.definition.aggregation != "mean":
            raise MeasureError(f"{measure}: is no mean over the queries, which is estimated here")
    baseline = scores.find_baseline(
        scores.system_names[0] if settings.baseline is None else settings.baseline
    )
    column = scores.system_names.index(baseline)
    scores, sample = sample_labels(scores, human, alignment, judging, settings.lam, column)
    score_notes = [note for note in scores.notes if note.code != "model-labels"]
    notes = (*score_notes, *sample.notes, *_list_remarks(sample, settings))
    return Estimation(scores, sample, settings, column, notes)


def _list_remarks(sample: Sample, settings: PoweredSettings) -> Iterator[Note]:
    """Yield notes on intervals of few labelled queries, and on a stated lam."""
    if sample.unit == "query" and sample.n_labelled < MIN_RELIABLE_QUERIES:
        text = (
            f"With fewer than {MIN_RELIABLE_QUERIES} labelled queries, intervals hold less often "
            "than they say: 95% intervals held the true value in 90 to 94% of simulated cases with "
            "10 queries, in 92 to 95% with 20, and in only 65 to 91% where most queries score near "
            "0 or 1."
        )
        yield Note("few-labelled", "info", text, sample.n_labelled)
    if settings.lam is not None:
        lam = format_shortest(settings.lam)
        text = f"lam {lam} was stated, rather than found from the labels."
        if sample.unit == "query" and sample.n_labelled == sample.n_queries:
            text = f"lam {lam} has no effect where people labelled all queries."
        yield Note("lam", "info", text)
