"""How much the tests try: the quick profile, which is the default, the thorough or the full one.

Each runs every test of every file. `pytest --profile full` (or CRANFIELD_PROFILE=full, for
processes that pytest does not start) tries all that a test asks for, as before a release; the
thorough profile, with which a change lands, half of it; the quick profile a quarter or less: what a
test asks for many of comes from a function below.
"""

import math
import os
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

PROFILES = ("quick", "thorough", "full")
VARIABLE = "CRANFIELD_PROFILE"

Case = TypeVar("Case")


def is_thorough() -> bool:
    """Tell whether more is tried than in the quick profile."""
    return os.environ.get(VARIABLE) in PROFILES[1:]


def choose_step(quick_step: int) -> int:
    """Return the step between two tries; `quick_step` is that of the quick profile."""
    steps = {"thorough": max(2, quick_step // 2), "full": 1}
    return steps.get(os.environ.get(VARIABLE, "quick"), quick_step)


def choose_cases(cases: Sequence[Sequence[Hashable]]) -> list[bool]:
    """Return whether each case of a test with several parameter lists is tried.

    A case is its value of each list. Every fourth is tried in the quick profile, or every fifth or
    seventh where that meets more combinations; and then those with a value that none so far has:
    every value is tried. In the thorough profile it is every second or third, in the full one all.
    """
    lengths = [len(set(values)) for values in zip(*cases, strict=True)]
    steps = {4: (4, 5, 7), 2: (2, 3, 5), 1: (1,)}[choose_step(4)]
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
