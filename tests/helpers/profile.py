"""How much the tests try: the quick profile, which is the default, or the full one.

Each runs every test of every file. `pytest --profile full` (or CRANFIELD_PROFILE=full, for
processes that pytest does not start) tries all that a test asks for, as before a release; the quick
profile, with which a change lands, a quarter or less: what a test asks for many of comes from a
function below.
"""

import math
import os
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

PROFILES = ("quick", "full")
VARIABLE = "CRANFIELD_PROFILE"

Case = TypeVar("Case")


def is_full() -> bool:
    """Tell whether all is tried that a test asks for."""
    return os.environ.get(VARIABLE) == "full"


def choose_step(quick_step: int) -> int:
    """Return the step between two tries; `quick_step` is that of the quick profile."""
    return 1 if is_full() else quick_step


def choose_cases(cases: Sequence[Sequence[Hashable]]) -> list[bool]:
    """Return whether each case of a test with several parameter lists is tried.

    A case is its value of each list. Every fourth is tried in the quick profile, or every fifth or
    seventh where that meets more combinations; and then those with a value that none so far has:
    every value is tried. In the full profile it is all.
    """
    lengths = [len(set(values)) for values in zip(*cases, strict=True)]
    steps = (1,) if is_full() else (4, 5, 7)
    step = next((n for n in steps if math.gcd(n, math.prod(lengths)) == 1), steps[len(steps) // 2])
    is_tried = [i % step == 0 for i in range(len(cases))]
    tried_pairs = {pair for i, case in enumerate(cases) if is_tried[i] for pair in enumerate(case)}
    for i, case in enumerate(cases):
        if not tried_pairs.issuperset(enumerate(case)):
            is_tried[i] = True
            tried_pairs.update(enumerate(case))
    return is_tried


def sample_cases(cases: Iterable[Case], step: int = 4) -> list[Case]:
    """Return every fourth case, and the last one, in the quick profile; all in the full one."""
    case_list, step = list(cases), choose_step(step)
    if len(case_list) <= 2:
        return case_list
    sampled_cases = case_list[::step]
    return sampled_cases if (len(case_list) - 1) % step == 0 else [*sampled_cases, case_list[-1]]


def seeds(n: int, step: int = 4) -> range:
    """Return seeds of n generated collections: every fourth of them in the quick profile."""
    return range(0, n, choose_step(step))


def examples(n: int) -> int:
    """Return how many examples Hypothesis tries: a quarter of n in the quick profile."""
    return -(-n // choose_step(4))


def repetitions(n: int, step: int = 5) -> int:
    """Return how often a simulation is repeated: n // step times in the quick profile.

    Its limits are computed from this number.
    """
    return n // choose_step(step)
