"""Axis: a range of numbers across the width of a column, and where its ticks are."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_MARGIN = 0.04  # of the range, to either side
_N_TICKS = 5  # at most, or one more


@dataclass(frozen=True)
class Axis:
    """The numbers from `low` to `high`, as shares of a width."""

    low: float
    high: float

    @classmethod
    def around(cls, numbers: Iterable[float]) -> "Axis":
        """Return an axis with some room beside the numbers; as wide as they are large if equal."""
        number_list = list(numbers)
        low, high = min(number_list), max(number_list)
        margin = _MARGIN * (high - low) or 0.5 * max(abs(low), 1e-9)
        return cls(low - margin, high + margin)

    def position(self, number: float) -> str:
        """Return where a number is, in percent of the width.

        >>> Axis(0, 2).position(0.5)
        '25%'
        """
        return percent(number - self.low, self.high - self.low)

    @property
    def ticks(self) -> Sequence[float]:
        """The round numbers within it, two to six.

        >>> Axis(0.43, 0.82).ticks
        [0.5, 0.6, 0.7, 0.8]
        """
        span = self.high - self.low
        magnitude = 10.0 ** math.floor(math.log10(span / _N_TICKS))
        step = next(magnitude * n for n in (1, 2, 5, 10) if span / (magnitude * n) <= _N_TICKS)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [float(f"{n * step:.12g}") for n in range(first, last + 1)]


def percent(part: float, total: float) -> str:
    """Return a part in percent of a total, as an attribute of SVG.

    >>> percent(1, 3), percent(0, 0)
    ('33.333%', '0%')
    """
    return f"{100 * part / total if total else 0:.5g}%"
