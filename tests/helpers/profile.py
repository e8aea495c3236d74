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


def is_thorough() -> bool:
    """Tell whether everything is tried."""
    return os.environ.get(VARIABLE) == "thorough"


def choose_cases(cases: Sequence[Sequence[Hashable]]) -> list[bool]:
    """Return whether the quick profile tries each case of a test with several parameter lists.

    A case is its value of each list. Every fourth is tried, or every fifth or seventh where that
    meets more combinations; and then those with a value that none so far has: every value is tried.
    """
    lengths = [len(set(values)) for values in zip(*cases, strict=True)]
    step = next((n for n in (4, 5, 7) if math.gcd(n, math.prod(lengths)) == 1), 5)
    is_tried = [i % step == 0 for i in range(len(cases))]
    tried_pairs = {pair for i, case in enumerate(cases) if is_tried[i] for pair in enumerate(case)}
    for i, case in enumerate(cases):
        if not tried_pairs.issuperset(enumerate(case)):
            is_tried[i] = True
            tried_pairs.update(enumerate(case))
    return is_tried


def sample_cases(cases: Iterable[Case], step: int = 4) -> list[Case]:
    """Return all cases; in the quick profile every fourth, and the last one."""
    case_list = list(cases)
    if is_thorough() or len(case_list) <= 2:
        return case_list
    sampled_cases = case_list[::step]
    return sampled_cases if (len(case_list) - 1) % step == 0 else [*sampled_cases, case_list[-1]]


def seeds(n: int, step: int = 4) -> range:
    """Return the seeds of n generated collections; in the quick profile every fourth of them."""
    return range(0, n, 1 if is_thorough() else step)


def examples(n: int) -> int:
    """Return how many examples Hypothesis tries; in the quick profile a quarter of n."""
    return n if is_thorough() else -(-n // 4)


def repetitions(n: int, step: int = 5) -> int:
    """Return how often a simulation is repeated; in the quick profile a fifth of n.

    Its limits are computed from this number.
    """
    return n if is_thorough() else n // step
