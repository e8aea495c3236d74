"""Margins: by how much a system may be worse, and what a stated margin is under each measure."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats, mean
from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.binary import are_binary
from cranfield.comparison.decisions import Shape, find_n_unchanged, find_shapes
from cranfield.comparison.noninferiority import GainSample
from cranfield.comparison.scale import (
    compared_range,
    is_geometric,
    possible_range,
    to_compared_unit,
)
from cranfield.comparison.settings import GateSettings
from cranfield.errors import OptionError
from cranfield.lazy import cached_property
from cranfield.measures import Measure


class StatedMargin(NamedTuple):
    """A margin as the user stated it: a number, or a share of the baseline's mean."""

    statement: float | str
    size: float  # of 2%, 0.02
    is_share: bool

    @property
    def percent_hint(self) -> str:
        """The question whether percent was meant, if the number is 1 to below 100; else empty."""
        may_be_share = not self.is_share and 1 <= self.size < 100
        return f": did you mean '{self.size:g}%'?" if may_be_share else ""

    @classmethod
    def of(cls, margin: object) -> "StatedMargin":
        """Return the margin of an option: a number above 0, or a share of the mean below 100 %."""
        statement = margin.strip() if isinstance(margin, str) else margin
        is_share = isinstance(statement, str) and statement.endswith("%")
        try:
            margin_size = (
                math.nan if isinstance(statement, bool) else float(str(statement).removesuffix("%"))
            )
        except ValueError:
            margin_size = math.nan
        if not 0 < margin_size < math.inf:
            raise OptionError(
                f"margin={margin!r:.40}: expected the largest loss that does not matter, a number "
                "above 0, as in 0.01 or '2%'"
            )
        if is_share and margin_size >= 100:
            raise OptionError(
                f"margin={margin!r:.40}: a share of the baseline's mean must be below 100%; "
                "expected for example '2%'"
            )
        return cls(statement, margin_size / 100 if is_share else margin_size, is_share)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False, kw_only=True)
class Contrast(GainSample):
    """The gains to test under one measure, and the scores that they are differences of."""

    measure: str
    parsed_measure: Measure | None
    higher_is_better: bool
    scores: Floats  # (n_queries, n_systems), the baseline left out
    baseline_scores: Floats  # (n_queries,)
    stated_margin: StatedMargin
    range: tuple[float, float] | None  # of a query's score; None: unknown

    @cached_property
    def baseline_mean(self) -> float:
        """The baseline's mean over all queries, geometric for a measure with such a mean."""
        return aggregate_scores(self.parsed_measure, self.baseline_scores)

    @cached_property
    def compared_range(self) -> tuple[float, float]:
        """The range in the unit that is compared, such as logarithms; infinite if it is unknown."""
        if self.range is None:
            return -math.inf, math.inf
        return compared_range(self.parsed_measure, *self.range)

    @property
    def worst_score(self) -> float:
        """The worst score of a query, in the unit that is compared."""
        return self.compared_range[0 if self.higher_is_better else 1]

    @property
    def largest_difference(self) -> float:
        """The largest difference that a query may have; infinite if the range is unknown."""
        return self.compared_range[1] - self.compared_range[0]

    @cached_property
    def shapes(self) -> list[Shape]:
        """The shape of each system's gains."""
        return find_shapes(self, self.n_changed_units)

    def find_n_unchanged(self, alpha: float) -> float:
        """Return how many queries without a change rule out a mean loss of the margin."""
        return find_n_unchanged(alpha, self.margin, self.largest_difference)

    @property
    def is_at_worst(self) -> bool:
        """Whether all scores of the baseline are the worst possible, as far as that is known."""
        if self.range is None:
            has_no_negative = not (self.scores < 0).any()
            return self.higher_is_better and has_no_negative and not self.baseline_scores.any()
        return bool(
            (to_compared_unit(self.parsed_measure, self.baseline_scores) == self.worst_score).all()
        )


def exceeds(margin: float, largest_difference: float) -> bool:
    """Tell whether a margin exceeds the largest possible loss by more than rounding."""
    return margin > largest_difference * (1 + 1e-9)


def aggregate_scores(parsed_measure: Measure | None, scores: Floats) -> float:
    """Return the mean of scores (n_queries,), geometric for a measure with a geometric mean."""
    if parsed_measure and is_geometric(parsed_measure):
        return parsed_measure.aggregate(scores)
    return mean(scores)


def build_contrast(
    aligned_scores: AlignedScores,
    measure: str,
    baseline: str,
    margin: StatedMargin,
    settings: GateSettings,
) -> Contrast:
    """Return the contrast of all systems with the baseline under one measure.

    Raises OptionError for a margin that has no meaning here, or that is larger than any possible
    loss, and for a test that needs an unknown range; InputError for a score out of the range.
    """
    baseline_column = aligned_scores.system_names.index(baseline)
    scores = aligned_scores.measure_scores(measure)
    parsed_measure = aligned_scores.find_measure(measure)
    higher_is_better = aligned_scores.is_higher_better(measure)
    score_range = find_score_range(aligned_scores, measure, settings)
    compared_scores = to_compared_unit(parsed_measure, scores)
    gains = (
        np.delete(compared_scores, baseline_column, axis=1) - compared_scores[:, [baseline_column]]
    )
    baseline_scores = scores[:, baseline_column]
    margin_size, weights = _compute_margin(
        margin, measure, parsed_measure, baseline, baseline_scores
    )
    mean = aggregate_scores(parsed_measure, baseline_scores)
    other_columns = [i for i in range(scores.shape[1]) if i != baseline_column]
    contrast = Contrast(
        gains if higher_is_better else -gains,
        margin_size,
        weights,
        signed_baseline_mean=mean * (1 if higher_is_better else -1),
        units=aligned_scores.units,
        added_variances=aligned_scores.select_variances(
            measure, other_columns, [baseline_column] * len(other_columns)
        ),
        measure=measure,
        parsed_measure=parsed_measure,
        higher_is_better=higher_is_better,
        scores=np.delete(scores, baseline_column, axis=1),
        baseline_scores=baseline_scores,
        stated_margin=margin,
        range=score_range,
    )
    _refuse_excessive(contrast, baseline)
    can_use_scores = weights is None and aligned_scores.units.n_groups is None
    if can_use_scores and not contrast.added_variances and not is_geometric(parsed_measure):
        is_binary = are_binary(contrast.scores) & are_binary(baseline_scores[:, None])
        contrast = replace(contrast, is_binary=is_binary)
    return replace(contrast, test_range=settings.gate_test.find_test_range(contrast))


def _compute_margin(
    margin: StatedMargin,
    measure: str,
    parsed_measure: Measure | None,
    baseline: str,
    baseline_scores: Floats,
) -> tuple[float, Floats | None]:
    """Return the margin as compared, and each query's weight for a share of an arithmetic mean."""
    if is_geometric(parsed_measure):
        if not margin.is_share:
            raise OptionError(
                f"margin={margin.statement!r}: {measure} is a geometric mean and judged by ratios: "
                "state a share of it, as in '2%'"
            )
        return -math.log1p(-margin.size), None
    if not margin.is_share:
        return margin.size, None
    baseline_mean = aggregate_scores(parsed_measure, baseline_scores)
    if baseline_mean == 0:
        raise OptionError(
            f"margin={margin.statement!r}: the mean {measure} of {baseline} is 0; state a number"
        )
    weights = baseline_scores / baseline_mean
    if (weights < 0).any():
        raise OptionError(
            f"margin={margin.statement!r}: {measure} of {baseline} is below 0 for some queries and "
            "above 0 for others: a share is not defined; state a number"
        )
    return margin.size * abs(baseline_mean), weights


def find_score_range(
    aligned_scores: AlignedScores, measure: str, settings: GateSettings
) -> tuple[float, float] | None:
    """Return the least and the greatest score that a query may have; None if not known.

    Raises OptionError if the test needs them, InputError for a score outside.
    """
    test = settings.gate_test
    low, high = settings.range or possible_range(aligned_scores.find_measure(measure))
    if not math.isfinite(high - low):
        if test.needs_range:
            raise OptionError(
                f"test={test.name!r}: the least and the greatest {measure} of a query are not "
                "known; state them: range=(0, 1), --range 0,1"
            )
        return None
    hint = "Scores in another unit have another range: range=(0, 100), --range 0,100."
    aligned_scores.check_range(measure, (low, high), hint, {})
    return low, high


def _refuse_excessive(contrast: Contrast, baseline: str) -> None:
    """Raise OptionError for a margin larger than this baseline's largest possible loss."""
    mean = np.array([contrast.baseline_mean])
    mean_compared = float(to_compared_unit(contrast.parsed_measure, mean)[0])
    largest_loss = abs(mean_compared - contrast.worst_score)  # in the unit of the margin
    if contrast.is_at_worst or not exceeds(contrast.margin, largest_loss):
        return
    direction_verb = "fall" if contrast.higher_is_better else "rise"
    limit_phrase = f"by more than {largest_loss:.4g}"
    if is_geometric(contrast.parsed_measure):
        limit_phrase = f"to less than {math.exp(-largest_loss):.4g} of it"
    raise OptionError(
        f"margin={contrast.stated_margin.statement!r}: {contrast.measure} of {baseline} is "
        f"{contrast.baseline_mean:.4g}, and cannot {direction_verb} {limit_phrase}, so that every "
        f"system would pass{contrast.stated_margin.percent_hint}"
    )
