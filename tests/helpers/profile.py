"""How much the tests try: the quick profile, which is the default, or the thorough one.

Both run every test of every file. `pytest --profile thorough` (or CRANFIELD_PROFILE=thorough, for
processes that pytest does not start) tries all that a test asks for; the quick profile tries a
share of it: what a test asks for many of comes from a function below.
"""

import math
import os
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

PROFILES = ("quick", "thorough")
VARIABLE = "CRANFIELD_PROFILE"

Case = TypeVar("Case")


def thorough() -> bool:
    """Tell whether everything is tried."""
    return os.environ.get(VARIABLE) == "thorough"


def combined(cases: Sequence[Sequence[Hashable]]) -> list[bool]:
    """Return which cases of a test with several lists of parameters the quick profile tries.

    A case is its value of each list. Every fourth is tried, or every fifth or seventh where that
    meets more combinations; and then those with a value that none so far has: every value is tried.
    """
    lengths = [len(set(values)) for values in zip(*cases, strict=True)]
    every = next((n for n in (4, 5, 7) if math.gcd(n, math.prod(lengths)) == 1), 5)
    tried = [i % every == 0 for i in range(len(cases))]
    seen = {pair for i, case in enumerate(cases) if tried[i] for pair in enumerate(case)}
    for i, case in enumerate(cases):
        if not seen.issuperset(enumerate(case)):
            tried[i] = True
            seen.update(enumerate(case))
    return tried


def some_of(cases: Iterable[Case], every: int = 4) -> list[Case]:
    """Return all cases; in the quick profile every fourth, and the last one."""
    listed = list(cases)
    if thorough() or len(listed) <= 2:
        return listed
    chosen = listed[::every]
    return chosen if (len(listed) - 1) % every == 0 else [*chosen, listed[-1]]


def seeds(n: int, every: int = 4) -> range:
    """Return the seeds of n generated collections; in the quick profile every fourth of them."""
    return range(0, n, 1 if thorough() else every)


def examples(n: int) -> int:
    """Return how many examples Hypothesis tries; in the quick profile a quarter of n."""
    return n if thorough() else -(-n // 4)


def repetitions(n: int, every: int = 5) -> int:
    """Return how often a simulation is repeated; in the quick profile a fifth of n.

    Its limits are computed from this number.
    """
    return n if thorough() else n // every
