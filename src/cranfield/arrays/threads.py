"""Work done in several threads at once; the results come in the order of the items."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeVar

_In = TypeVar("_In")


_Out = TypeVar("_Out")


def in_threads(work: Callable[[_In], _Out], items: Iterable[_In]) -> Iterator[_Out]:
    """Apply `work` to items in several threads, in order, with only a few of them in memory."""
    items = iter(items)
    first, second = next(items, None), next(items, None)
    if first is None:
        return
    if second is None:
        yield work(first)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    n_threads = min(8, _n_cores()) + 1  # one more: a thread waits whenever Python itself is busy
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[Future[_Out]] = deque()
        try:
            for item in chain((first, second), items):
                waiting.append(pool.submit(work, item))
                if len(waiting) > n_threads + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
