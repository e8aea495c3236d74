"""test="bounded" of a gate: bets on the mean, for any number of queries."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.gate_tests import GateTest, Limits
from cranfield.errors import OptionError
from cranfield.extensions.bounded.betting import N_BETS, DifferenceRange, bet_on_bounds, log_wealth

if TYPE_CHECKING:
    from cranfield.comparison.margins import Contrast


class BoundedTest(GateTest):
    """A test that assumes only that scores have a least and a greatest value."""

    name, title = "bounded", "bounded test"
    holds_always = needs_range = True
    bets = N_BETS

    def least_p(self, settings: Any, n_units: int) -> float:
        """Return the least p-value that n queries can give."""
        return math.exp(-log_wealth(np.ones(n_units), -1.0))

    def find_test_range(self, contrast: "Contrast") -> DifferenceRange:
        """Return the range of differences; OptionError for a share where scores may be below 0."""
        low, high = contrast.compared_range
        if contrast.weights is not None and low < 0:
            margin = contrast.stated_margin.statement
            raise OptionError(
                f"margin={margin!r}: as a share, it needs scores of at least 0 for "
                f"the test 'bounded', but {contrast.measure} may be {low:g}; state a number"
            )
        baseline_mean = None if contrast.weights is None else contrast.baseline_mean
        return DifferenceRange(low, high, contrast.higher_is_better, baseline_mean)

    def find_score_test_range(self, low: float, high: float, number: float) -> DifferenceRange:
        """Return the range of the differences of scores from a number."""
        return DifferenceRange(low, high, target=number)

    def limits(
        self, gains: Floats, bounds: Floats, test_range: Any, alpha: float, weights: Floats | None
    ) -> Limits:
        """Return the limits of the mean gains of systems, and their p-values, by betting."""
        return Limits(*bet_on_bounds(gains, bounds, test_range, alpha, weights))
