"""test="bounded": betting on the mean, for any number of queries."""

import math
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.gate_tests import GateTest, Limits
from cranfield.errors import OptionError
from cranfield.extensions.bounded.betting import BETS, Reach, bounded, wealth


class Bounded(GateTest):
    """A test that assumes only that scores have a least and a greatest value."""

    name, title = "bounded", "bounded test"
    any_number = needs_range = True
    bets = BETS

    def least_p(self, settings: Any, n: int) -> float:
        """Return the least p-value that n queries can give."""
        return math.exp(-wealth(np.ones(n), -1.0))

    def reach(self, contrast: Any) -> Reach:
        """Return how far differences may lie from bounds, given the range of scores."""
        low, high = contrast.ends
        if contrast.weights is not None and low < 0:
            raise OptionError(
                f"margin={contrast.given.stated!r}: as a share, it needs scores of at least 0 for "
                f"the test 'bounded', but {contrast.measure} may be {low:g}; state a number"
            )
        whole = None if contrast.weights is None else contrast.base_mean
        return Reach(low, high, contrast.rising, whole)

    def reach_of_scores(self, low: float, high: float, number: float) -> Reach:
        """Return how far scores may lie from a number."""
        return Reach(low, high, against=number)

    def limits(
        self, gains: Floats, bounds: Floats, reach: Any, alpha: float, weights: Floats | None
    ) -> Limits:
        """Return the limits of mean gains by betting, and p-values."""
        return bounded(gains, bounds, reach, alpha, weights)
