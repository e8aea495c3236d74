"""Doubts: where a test of a mean difference, and its limits, may not keep their promise."""

from typing import Literal

FEW = 10  # queries, or queries that differ

Doubt = Literal["identical", "few-changes", "skewed"]


def doubt_of(n: int, changed: int, skewness: float | None) -> Doubt | None:
    """Return why a test and an interval of a mean difference may not keep their promise.

    `changed` of `n` queries differ. Where none does, the interval has no width; where fewer than 10
    do, the sample need not hold the large differences that are rare. Else by the skewness G of the
    differences, where n < 25 G^2 (Cochran, Sampling Techniques, 3rd ed. 1977, p. 42). Fewer than 10
    queries in all are a doubt by themselves, which has a note of its own.

    >>> doubt_of(50, 0, None), doubt_of(5_000, 9, 0.1)
    ('identical', 'few-changes')
    >>> doubt_of(50, 40, 2.0), doubt_of(100, 40, 2.0)
    ('skewed', None)
    """
    if changed == 0:
        return "identical"
    if n < FEW:
        return None
    if changed < FEW:
        return "few-changes"
    return "skewed" if skewness is not None and n < 25 * skewness**2 else None
