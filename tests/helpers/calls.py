"""How many calls of functions a call makes, and a run of n documents."""

import sys
from types import FrameType
from typing import Any


def count_calls(function: Any, *arguments: Any) -> int:
    """Count the calls of functions, Python's and C's, and the steps of generators."""
    n_calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal n_calls
        n_calls += event in ("call", "c_call")

    previous_profiler = sys.getprofile()
    sys.setprofile(count)
    try:
        function(*arguments)
    finally:
        sys.setprofile(previous_profiler)
    return n_calls


def make_ranking(n: int) -> dict[str, dict[str, float]]:
    return {"q": {f"d{i}": n - i + 0.25 for i in range(n)}}
