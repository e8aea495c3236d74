"""Processes: children that are forked at a bad moment, and objects that are sent to workers."""

import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from cranfield import Qrels, Run, evaluate
from cranfield.cached import cached_property
from cranfield.ids import Ids

PATIENCE = 60  # seconds, after which a child is taken to wait for ever


def in_a_fork(work: Callable[[], bool]) -> bool:
    """Return what `work` returns in a child of this process; False if it raises.

    Fails if the child does not end in time.
    """
    with warnings.catch_warnings():
        # Python 3.12 and later warn that a child forked beside threads may wait for ever.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 2
        try:
            status = 0 if work() else 1
        except BaseException:  # noqa: BLE001 - nothing may go up into the test that was forked
            traceback.print_exc()
        finally:
            os._exit(status)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child waited for ever")


def test_a_child_forked_within_a_cached_property_evaluates(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go_on = threading.Event(), threading.Event()
    parent, hash_ids = os.getpid(), Ids.hash

    def slow_hash(ids: Ids, *more: Any) -> Any:
        if os.getpid() == parent:
            inside.set()
            assert go_on.wait(PATIENCE)
        return hash_ids(ids, *more)

    # A thread is within Qrels.doc_hashes at the fork, and stays there.
    qrels = Qrels([("q1", "d1", 1), ("q1", "d2", 0)])
    monkeypatch.setattr(Ids, "hash", slow_hash)
    thread = threading.Thread(target=lambda: qrels.doc_hashes)
    thread.start()
    try:
        assert inside.wait(PATIENCE)

        def child() -> bool:
            other = Qrels([("q1", "d1", 1), ("q1", "d2", 0)])
            found = evaluate(other, Run([("q1", "d2", 2.0), ("q1", "d1", 1.0)]), "AP")
            return len(other.doc_hashes) == 2 and found["AP"] == 1 / 2

        assert in_a_fork(child)
    finally:
        go_on.set()
        thread.join(PATIENCE)


class Counted:
    """An object with a cached property."""

    computed = 0

    @cached_property
    def value(self) -> int:
        """What is computed once."""
        self.computed += 1
        return 7


def test_a_cached_property_is_computed_once_for_each_object() -> None:
    one, other = Counted(), Counted()
    assert (one.value, one.value, other.value) == (7, 7, 7)
    assert (one.computed, other.computed) == (1, 1)
    assert Counted.value.__doc__ == "What is computed once."
