"""Applies a function to inputs in several threads; the results come in the order of the inputs."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from cranfield.progress import waiting_callback

if TYPE_CHECKING:
    from concurrent.futures import Future

_In = TypeVar("_In")


_Out = TypeVar("_Out")


# See `limit_threads`.
_MAX_THREADS: ContextVar[int | None] = ContextVar("_MAX_THREADS", default=None)


class limit_threads:  # noqa: N801 - it reads as a function: with limit_threads(2)
    """Limit the threads that `map_in_threads` starts in the block; None: the usual number.

    With 1, all work is done in the thread of the caller. (A class, as a generator takes 2 us
    more, which small evaluations would notice.)
    """

    def __init__(self, n_threads: int | None) -> None:
        self._threads = n_threads

    def __enter__(self) -> None:
        self._before = _MAX_THREADS.set(self._threads)

    def __exit__(self, *_: object) -> None:
        _MAX_THREADS.reset(self._before)


def map_in_threads(work: Callable[[_In], _Out], inputs: Iterable[_In]) -> Iterator[_Out]:
    """Yield `work` of each input, in order, from several threads, with few results in memory.

    No input is None. A single input is worked on in the caller's thread.
    """
    max_threads = _MAX_THREADS.get()
    if max_threads == 1:
        yield from map(work, inputs)
        return
    inputs = iter(inputs)
    first, second = next(inputs, None), next(inputs, None)
    if first is None:
        return
    if second is None:
        yield work(first)
        return
    from concurrent.futures import ThreadPoolExecutor

    # One more: a thread waits whenever Python itself is busy.
    n_threads = min(8, _count_cores()) + 1 if max_threads is None else max_threads
    work = work if max_threads is None else _run_single_threaded(work)
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[Future[_Out]] = deque()
        try:
            for task_input in chain((first, second), inputs):
                waiting.append(pool.submit(work, task_input))
                if len(waiting) > n_threads + 1:
                    yield _wait_for_result(waiting.popleft())
            while waiting:
                yield _wait_for_result(waiting.popleft())
        finally:
            for future in waiting:
                future.cancel()


def _run_single_threaded(work: Callable[[_In], _Out]) -> Callable[[_In], _Out]:
    """Return `work` made to start no threads: a thread does not know the caller's limit."""

    def run_alone(task_input: _In) -> _Out:
        with limit_threads(1):
            return work(task_input)

    return run_alone


def _wait_for_result(future: "Future[_Out]") -> _Out:
    """Wait for the result of a thread; meanwhile a progress bar is redrawn."""
    redraw = waiting_callback()
    if redraw is not None and not future.done():
        from concurrent.futures import wait

        while not wait((future,), _LOOK_INTERVAL).done:
            redraw()
    return future.result()


_LOOK_INTERVAL = 0.2  # seconds


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
