"""Margins: by how much a system may be worse, and how much that is under each measure."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats, mean
from cranfield.comparison.alignment import Aligned
from cranfield.comparison.gate_tests import GateTest
from cranfield.comparison.noninferiority import Question
from cranfield.comparison.scale import ends_of, is_geometric, logs, possible
from cranfield.errors import OptionError
from cranfield.lazy import cached_property
from cranfield.measures import Measure


class Margin(NamedTuple):
    """A margin as it was stated."""

    stated: float | str
    size: float
    percent: bool

    @property
    def meant(self) -> str:
        """A question whether percent were meant, if the number is from 1 to 99."""
        share = not self.percent and 1 <= self.size < 100
        return f": did you mean '{self.size:g}%'?" if share else ""

    @classmethod
    def of(cls, margin: object) -> "Margin":
        """Read a margin: a number above 0, or a share of the baseline's mean below 100 %."""
        said = margin.strip() if isinstance(margin, str) else margin
        percent = isinstance(said, str) and said.endswith("%")
        try:
            size = math.nan if isinstance(said, bool) else float(str(said).removesuffix("%"))
        except ValueError:
            size = math.nan
        if not 0 < size < math.inf:
            raise OptionError(
                f"margin={margin!r:.40}: expected the largest loss that does not matter, a number "
                "above 0, as in 0.01 or '2%'"
            )
        if percent and size >= 100:
            raise OptionError(
                f"margin={margin!r:.40}: a share of the baseline's mean must be below 100%; "
                "expected for example '2%'"
            )
        return cls(said, size / 100 if percent else size, percent)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False, kw_only=True)
class Contrast(Question):
    """The differences to test under one measure, and the scores that they come from."""

    measure: str
    known: Measure | None
    rising: bool
    scores: Floats  # (n_queries, n_systems) without the baseline
    base: Floats  # (n_queries,)
    given: Margin
    range: tuple[float, float] | None  # of a query's score, if that is known

    @cached_property
    def base_mean(self) -> float:
        """The baseline's value over all queries."""
        return over_all(self.known, self.base)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The range in the unit that is compared, such as logarithms; infinite if it is unknown."""
        if self.range is None:
            return -math.inf, math.inf
        return ends_of(self.known, *self.range)

    @property
    def worst(self) -> float:
        """The worst score of a query, in the unit that is compared."""
        return self.ends[0 if self.rising else 1]

    @property
    def most(self) -> float:
        """The largest difference that a query may have; infinite if the range is unknown."""
        return self.ends[1] - self.ends[0]

    @property
    def at_worst(self) -> bool:
        """Whether every score of the baseline is the worst possible, as far as is known."""
        if self.range is None:
            nowhere_below = not (self.scores < 0).any()
            return self.rising and nowhere_below and not self.base.any()
        return bool((logs(self.known, self.base) == self.worst).all())


def exceeds(margin: float, most: float) -> bool:
    """Tell whether a margin exceeds the largest possible loss, by more than rounding."""
    return margin > most * (1 + 1e-9)


def over_all(known: Measure | None, scores: Floats) -> float:
    """Return the value over all queries: a geometric mean, or the mean."""
    return known.aggregate(scores) if known and is_geometric(known) else mean(scores)


def contrast_of(
    aligned: Aligned,
    measure: str,
    baseline: str,
    margin: Margin,
    stated: tuple[float, float] | None,
    test: GateTest,
) -> Contrast:
    """Return the contrast of all systems with the baseline under one measure.

    `stated` is the range of scores if it was given. Raises OptionError for a margin that has no
    meaning here, or that is larger than any possible loss; InputError for a score that is out of
    the range.
    """
    at = aligned.names.index(baseline)
    values, known = aligned.column(measure), aligned.known(measure)
    rising = aligned.rising(measure)
    ends = scores_range(aligned, measure, stated, test)
    compared = logs(known, values)
    gains = np.delete(compared, at, axis=1) - compared[:, [at]]
    base, scores = values[:, at], np.delete(values, at, axis=1)
    size, weights = _size(margin, measure, known, baseline, base)
    others = [i for i in range(len(aligned.names)) if i != at]
    contrast = Contrast(
        gains if rising else -gains,
        size,
        weights,
        whole=over_all(known, base) * (1 if rising else -1),
        units=aligned.units,
        added=aligned.added_to(measure, others, [at] * len(others)),
        measure=measure,
        known=known,
        rising=rising,
        scores=scores,
        base=base,
        given=margin,
        range=ends,
    )
    _refuse_all_of_it(contrast, baseline)
    return replace(contrast, reach=test.reach(contrast))


def _size(
    margin: Margin, measure: str, known: Measure | None, baseline: str, base: Floats
) -> tuple[float, Floats | None]:
    """Return the margin in the unit that is compared, and for a share each query's weight."""
    if is_geometric(known):
        if not margin.percent:
            raise OptionError(
                f"margin={margin.stated!r}: {measure} is a geometric mean and judged by ratios: "
                "state a share of it, as in '2%'"
            )
        return -math.log1p(-margin.size), None
    if not margin.percent:
        return margin.size, None
    whole = over_all(known, base)
    if whole == 0:
        raise OptionError(
            f"margin={margin.stated!r}: the mean {measure} of {baseline} is 0; state a number"
        )
    weights = base / whole
    if (weights < 0).any():
        raise OptionError(
            f"margin={margin.stated!r}: {measure} of {baseline} is below 0 for some queries and "
            "above 0 for others: a share is not defined; state a number"
        )
    return margin.size * abs(whole), weights


def scores_range(
    aligned: Aligned, measure: str, stated: tuple[float, float] | None, test: GateTest
) -> tuple[float, float] | None:
    """Return the least and the greatest score of a query; None if that is not known."""
    low, high = stated or possible(aligned.known(measure))
    if not math.isfinite(high - low):
        if test.needs_range:
            raise OptionError(
                f"test={test.name!r}: the least and the greatest {measure} of a query are not "
                "known; state them: range=(0, 1), --range 0,1"
            )
        return None
    hint = "Scores in another unit have another range: range=(0, 100), --range 0,100."
    aligned.check_range(measure, (low, high), hint, {})
    return low, high


def _refuse_all_of_it(contrast: Contrast, baseline: str) -> None:
    """Raise OptionError for a margin larger than this baseline's largest possible loss."""
    mean_compared = float(logs(contrast.known, np.array([contrast.base_mean]))[0])
    most = abs(mean_compared - contrast.worst)  # in the unit of the margin
    if contrast.at_worst or not exceeds(contrast.margin, most):
        return
    way = "fall" if contrast.rising else "rise"
    far = f"by more than {most:.4g}"
    if is_geometric(contrast.known):
        far = f"to less than {math.exp(-most):.4g} of it"
    raise OptionError(
        f"margin={contrast.given.stated!r}: {contrast.measure} of {baseline} is "
        f"{contrast.base_mean:.4g}, and cannot {way} {far}, so that every system would pass"
        f"{contrast.given.meant}"
    )
