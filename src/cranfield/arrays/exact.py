"""Exact sums of doubles: the same bits in any order, and however the numbers were divided.

A sum is one whole number of units of 2^-1126, of which every double is a multiple. Two sums are
added as whole numbers, so nothing is rounded until the end, and then once.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats

UNIT = 1126  # the unit is 2^-UNIT: the least double, 2^-1074, has it as the last of 53 bits
_HALF_BITS = 27  # bits of the lower half of a mantissa
_MAX_NUMBERS = 1 << 25  # numbers added in one call: sums of as many halves are below 2^53, so exact
_SPLIT = 134217729.0  # 2^27 + 1: Dekker, Numerische Mathematik 18, 1971


def count_units(numbers: Floats) -> int:
    """Return the sum of finite doubles, (n,), as a whole number of units.

    >>> count_units(np.array([1e300, 1.0, -1e300])) == 2**UNIT
    True
    """
    n_units = 0
    for begin in range(0, len(numbers), _MAX_NUMBERS):
        mantissa, exponent = np.frexp(numbers[begin : begin + _MAX_NUMBERS])
        integer_mantissa = (mantissa * 2.0**53).astype(np.int64)
        last_bit = exponent + (UNIT - 53)  # the position of the last bit of the whole number
        upper, lower = integer_mantissa >> _HALF_BITS, integer_mantissa & ((1 << _HALF_BITS) - 1)
        lowest_bit = int(last_bit.min(initial=0))
        for half, shift in ((upper, _HALF_BITS), (lower, 0)):
            sums = np.bincount(last_bit - lowest_bit, half)
            for bit in np.flatnonzero(sums).tolist():
                n_units += int(sums[bit]) << (bit + lowest_bit + shift)
    return n_units


def count_square_units(numbers: Floats) -> int:
    """Return the sum of the squares of doubles, (n,), as a whole number of units.

    Each square is taken as two doubles whose sum it is (Dekker 1971). That is exact for numbers
    that are 0, or of a size between 1e-140 and 1e150.
    """
    squares = numbers * numbers
    upper = _SPLIT * numbers
    upper -= upper - numbers
    lower = numbers - upper
    remainder = ((upper * upper - squares) + 2 * upper * lower) + lower * lower
    return count_units(squares) + count_units(remainder)


def fraction_of_units(n_units: int) -> Fraction:
    """Return a number of units as an exact fraction."""
    return Fraction(n_units, 1 << UNIT)


def mean_of_units(n_units: int, n: int) -> float:
    """Return the mean of n numbers whose sum is `n_units`, rounded once, to the nearest double.

    >>> mean_of_units(count_units(np.array([0.1] * 10)), 10)
    0.1
    """
    return n_units / (n << UNIT)


def variance_of_units(n_units: int, n_square_units: int, n: int) -> float:
    """Return the variance, with the divisor n - 1, of n numbers, 2 or more; rounded once.

    >>> numbers = np.array([1.0, 2.0, 4.0])
    >>> variance_of_units(count_units(numbers), count_square_units(numbers), 3) == 7 / 3
    True
    """
    squared_sum_by_n = Fraction(n_units * n_units, n << (2 * UNIT))
    return float((fraction_of_units(n_square_units) - squared_sum_by_n) / (n - 1))


def units_to_text(n_units: int) -> str:
    """Return a number of units as text: a hexadecimal factor, "p", and an exponent of 2.

    >>> units_to_text(count_units(np.array([0.5, 0.25])))
    '3p-2'
    >>> text_to_units("3p-2") == count_units(np.array([0.75]))
    True
    """
    zeros = (n_units & -n_units).bit_length() - 1 if n_units else UNIT
    return f"{n_units >> zeros:x}p{zeros - UNIT}"


def text_to_units(text: str) -> int:
    """Return the units in a text of `units_to_text`; ValueError if a part is no such number."""
    digits, _, power = text.partition("p")
    return int(digits, 16) << (int(power) + UNIT)


class Sums(NamedTuple):
    """A count of numbers, their exact sum, and the exact sum of their squares, both in units.

    >>> sums = Sums.of(np.array([0.5])).plus(Sums.of(np.array([0.25])))
    >>> sums.n, sums.mean, Sums.of_texts(sums.to_texts()) == sums
    (2, 0.375, True)
    """

    n: int = 0
    n_units: int = 0
    n_square_units: int = 0

    @classmethod
    def of(cls, numbers: Floats) -> "Sums":
        """Return the sums of finite doubles, (n,)."""
        numbers = np.ascontiguousarray(numbers)
        return cls(len(numbers), count_units(numbers), count_square_units(numbers))

    def plus(self, addend: "Sums") -> "Sums":
        """Return the sums over the numbers of both."""
        pairs = zip(self, addend, strict=True)
        return Sums(*(count + addend_count for count, addend_count in pairs))

    @property
    def mean(self) -> float:
        """The mean, rounded once; there must be a number."""
        return mean_of_units(self.n_units, self.n)

    @property
    def total(self) -> float:
        """The sum, rounded once."""
        return mean_of_units(self.n_units, 1)

    @property
    def std_error(self) -> float | None:
        """The standard error of the mean; None for fewer than two values."""
        if self.n < 2:
            return None
        return math.sqrt(variance_of_units(self.n_units, self.n_square_units, self.n) / self.n)

    def to_texts(self) -> list[int | str]:
        """Return the three sums in types that JSON has: a number and two texts."""
        return [self.n, units_to_text(self.n_units), units_to_text(self.n_square_units)]

    @classmethod
    def of_texts(cls, texts: Sequence[int | str]) -> "Sums":
        """Return the sums in a list of `to_texts`; ValueError or TypeError for another form."""
        n, units_text, squares_text = texts
        return cls(int(n), text_to_units(str(units_text)), text_to_units(str(squares_text)))
