"""Elementary functions, to the same bits on every processor: the C library's, or products."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.arrays.trace import step

Numbers = NDArray[Any]


@step
def log2(x: Numbers) -> Numbers:
    """Return the binary logarithm of x >= 1, as the C library has it.

    numpy's own vector log2 differs from it in the last bit on CPUs with AVX-512 (first at 1621),
    so that the same code would give other bits on another machine. An array of an integer type is
    looked up in a table if all its numbers are below `_LARGEST_TABLE`.
    """
    if x.dtype.kind != "f":
        size = 1024
        while size <= _LARGEST_TABLE:
            try:
                return _log2_table(size).take(x)
            except IndexError:  # cheaper than to look for the greatest beforehand
                size *= 8
    return _apply_to_each(math.log2, x)


@step
def log(x: Numbers) -> Numbers:
    """Return the natural logarithm of x > 0, as the C library has it: see `log2`."""
    return _apply_to_each(math.log, x)


@step
def exp(x: Numbers) -> Numbers:
    """Return the exponential function of x < 709, as the C library has it: see `log2`."""
    return _apply_to_each(math.exp, x)


def _apply_to_each(function: Callable[[float], float], x: Numbers) -> Numbers:
    return np.fromiter(map(function, x.ravel().tolist()), float, x.size).reshape(x.shape)


@step
def powers(base: float, exponents: Numbers) -> Numbers:
    """Return base ** exponents for whole exponents >= 0, by repeated products: 1, b, b b, ...

    A measure weights ranks in this way, rank by rank; ** differs in the last bits.
    """
    factors = np.full(int(exponents.max(initial=0)) + 1, base)
    factors[0] = 1.0
    return np.multiply.accumulate(factors).take(exponents)


@step
def power(x: Numbers, exponent: float) -> Numbers:
    """Return x ** exponent for x > 0, as the C library has it: see `log2`."""
    return _apply_to_each(lambda number: math.pow(number, exponent), x)


_LARGEST_TABLE = 1 << 16  # entries; deeper ranks are rare, and a rank of a billion has no table


@lru_cache(maxsize=8)
def _log2_table(size: int) -> Numbers:
    table = np.fromiter((math.log2(i) if i else -math.inf for i in range(size)), float, size)
    table.setflags(write=False)
    return table
