"""Work done in several threads at once; the results come in the order of the items."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from cranfield.progress import looked_at

if TYPE_CHECKING:
    from concurrent.futures import Future

_In = TypeVar("_In")


_Out = TypeVar("_Out")


_MOST: ContextVar[int | None] = ContextVar("_MOST", default=None)


class at_most:  # noqa: N801 - it reads as a function: with at_most(2)
    """Have `in_threads` start no more threads than that in the block; None: as many as usual.

    With 1, all is done in the thread of the caller. (A class, as a generator takes 2 us more, which
    small evaluations would notice.)
    """

    def __init__(self, threads: int | None) -> None:
        self._threads = threads

    def __enter__(self) -> None:
        self._before = _MOST.set(self._threads)

    def __exit__(self, *_: object) -> None:
        _MOST.reset(self._before)


def in_threads(work: Callable[[_In], _Out], items: Iterable[_In]) -> Iterator[_Out]:
    """Apply `work` to items in several threads, in order, with only a few of them in memory."""
    most = _MOST.get()
    if most == 1:
        yield from map(work, items)
        return
    items = iter(items)
    first, second = next(items, None), next(items, None)
    if first is None:
        return
    if second is None:
        yield work(first)
        return
    from concurrent.futures import ThreadPoolExecutor

    # One more: a thread waits whenever Python itself is busy.
    n_threads = min(8, _n_cores()) + 1 if most is None else most
    work = work if most is None else _alone(work)
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[Future[_Out]] = deque()
        try:
            for item in chain((first, second), items):
                waiting.append(pool.submit(work, item))
                if len(waiting) > n_threads + 1:
                    yield _result(waiting.popleft())
            while waiting:
                yield _result(waiting.popleft())
        finally:
            for future in waiting:
                future.cancel()


def _alone(work: Callable[[_In], _Out]) -> Callable[[_In], _Out]:
    """Return work that starts no threads of its own: a thread does not know the caller's limit."""

    def done(item: _In) -> _Out:
        with at_most(1):
            return work(item)

    return done


def _result(future: "Future[_Out]") -> _Out:
    """Wait for what a thread makes; those who watch may look meanwhile."""
    look = looked_at()
    if look is not None and not future.done():
        from concurrent.futures import wait

        while not wait((future,), _LOOK_EVERY).done:
            look()
    return future.result()


_LOOK_EVERY = 0.2  # seconds


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
