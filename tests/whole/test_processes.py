"""Processes: children that are forked at a bad moment, and objects that are sent to workers."""

import copy
import errno
import io
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cranfield import (
    AP,
    Comparison,
    InputError,
    Qrels,
    Run,
    agreement,
    check,
    compare,
    correlate,
    evaluate,
    explain,
    figures,
    gate,
    joint_bounds,
    nDCG,
    rbo,
    read_qrels,
    read_run,
)
from cranfield.arrays.ids import Ids
from cranfield.formats.source import Source, open_to_write
from cranfield.lazy import cached_property

PATIENCE = 60  # seconds, after which a child is taken to wait for ever


def run_in_fork(work: Callable[[], bool]) -> bool:
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
    timer = threading.Timer(PATIENCE, os.kill, (child, signal.SIGKILL))
    timer.start()
    _, status = os.waitpid(child, 0)
    timer.cancel()
    assert os.waitstatus_to_exitcode(status) != -signal.SIGKILL, "the child waited for ever"
    return os.waitstatus_to_exitcode(status) == 0


def test_a_child_forked_within_a_cached_property_evaluates(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go_on = threading.Event(), threading.Event()
    parent, hash_ids = os.getpid(), Ids.hash

    def slow_hash(ids: Ids, *arguments: Any) -> Any:
        if os.getpid() == parent:
            inside.set()
            assert go_on.wait(PATIENCE)
        return hash_ids(ids, *arguments)

    # A thread is within a cached property of Qrels at the fork, and stays there.
    query_ids = Ids.of([b"q1"])
    qrels = Qrels([("q1", "d1", 1), ("q1", "d2", 0)])
    monkeypatch.setattr(Ids, "hash", slow_hash)
    thread = threading.Thread(target=lambda: qrels.find_codes(query_ids))
    thread.start()
    try:
        assert inside.wait(PATIENCE)

        def child() -> bool:
            child_qrels = Qrels([("q1", "d1", 1), ("q1", "d2", 0)])
            scores = evaluate(child_qrels, Run([("q1", "d2", 2.0), ("q1", "d1", 1.0)]), "AP")
            return child_qrels.find_codes(query_ids).tolist() == [0] and scores["AP"] == 1 / 2

        assert run_in_fork(child)
    finally:
        go_on.set()
        thread.join(PATIENCE)


def test_who_may_not_write_a_file_does_not_replace_it() -> None:
    """By the rights that the system knows: `root`, who may write everything, gives its own up."""

    def write() -> bool:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        with (
            pytest.raises(InputError, match="cannot be written: Permission denied"),
            open_to_write(old_path),
        ):
            pass
        with open_to_write(new_path) as stream:
            stream.write(b"new")
        return True

    with tempfile.TemporaryDirectory() as folder:  # that of pytest is closed to others
        os.chmod(folder, 0o777)  # noqa: S103 - for the child, which is somebody else
        old_path, new_path = Path(folder, "old.csv"), Path(folder, "new.csv")
        with open_to_write(
            old_path
        ) as stream:  # and what that imports may be out of the child's reach
            stream.write(b"old")
        old_path.chmod(0o444)
        assert run_in_fork(write)
        assert (old_path.read_bytes(), new_path.read_bytes()) == (b"old", b"new")


class CountingObject:
    """An object with a cached property."""

    n_computed = 0

    @cached_property
    def value(self) -> int:
        """A number that is computed once."""
        self.n_computed += 1
        return 7


def test_a_cached_property_is_computed_once_for_each_object() -> None:
    first_object, second_object = CountingObject(), CountingObject()
    assert (first_object.value, first_object.value, second_object.value) == (7, 7, 7)
    assert (first_object.n_computed, second_object.n_computed) == (1, 1)
    assert CountingObject.value.__doc__ == "A number that is computed once."


# ---- objects that are sent to workers ----------------------------------------------------------

# Ids of several words: they are matched by hashes, which are others in every process.
GRADES = {f"query {q}": {f"document number {d}": d % 3 for d in range(q, 40)} for q in range(9)}
SCORES = {
    f"query {q}": {f"document number {d}": float(d * 7 % 29) for d in range(50)} for q in range(9)
}
MEASURES = [AP, nDCG @ 10]


def evaluate_all(qrels: Qrels, run: Run) -> dict[str, dict[str, float]]:
    return evaluate(qrels, run, MEASURES).to_dict()


@contextmanager
def start_worker() -> Iterator[Any]:
    """A process that shares no memory with this process, and that ends with the block."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield lambda *inputs: pool.apply_async(evaluate_all, inputs).get(PATIENCE)


def test_what_was_read_from_files_is_evaluated_by_a_worker(tmp_path: Path) -> None:
    plain = {
        query.replace(" ", "_"): {doc.replace(" ", "_"): n for doc, n in docs.items()}
        for query, docs in GRADES.items()
    }
    plain_scores = {
        query.replace(" ", "_"): {doc.replace(" ", "_"): n for doc, n in docs.items()}
        for query, docs in SCORES.items()
    }
    expected = evaluate_all(Qrels(plain), Run(plain_scores))
    with start_worker() as work:
        for suffix in (".txt", ".txt.gz", ".csv", ".json", ".jsonl", ".parquet", ".arrow"):
            qrels_path, run_path = tmp_path / f"qrels{suffix}", tmp_path / f"run{suffix}"
            Qrels(plain).write(qrels_path)
            Run(plain_scores).write(run_path)
            qrels, run = read_qrels(qrels_path), read_run(run_path)
            assert work(qrels, run) == expected, suffix
            assert (
                evaluate_all(qrels, run) == expected
            )  # now that they hold what was computed of them,
            assert work(qrels, run) == expected, suffix  # again
        assert work(Qrels(GRADES), Run(SCORES)) == evaluate_all(Qrels(GRADES), Run(SCORES))


def test_a_relative_path_is_found_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Run(SCORES).write("a.csv")
    pickled_run = pickle.dumps(read_run("a.csv"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert pickle.loads(pickled_run).to_dict() == SCORES  # noqa: S301 - our own


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickled": lambda run: pickle.loads(pickle.dumps(run)),  # noqa: S301 - our own
    "deep copy": copy.deepcopy,
}


@pytest.mark.parametrize("copy_name", COPIES)
@pytest.mark.parametrize("is_opened", [False, True])
@pytest.mark.parametrize("is_url", [False, True])
def test_a_file_that_changed_since_it_was_copied_is_refused(
    copy_name: str, is_opened: bool, is_url: bool, write: Any
) -> None:
    path = write("a.run", "q1 Q0 d1 1 2.5 t\n")
    run = read_run(f"file://{path}" if is_url else path)
    if is_opened:
        assert run.to_dict() == {"q1": {"d1": 2.5}}
    run_copy, late_copy = COPIES[copy_name](run), COPIES[copy_name](run)
    assert run_copy.to_dict() == {"q1": {"d1": 2.5}}
    write("a.run", "q1 Q0 d2 1 7.5 t\nq1 Q0 d1 2 2.5 t\n")
    for refused_run in (run_copy, late_copy, COPIES[copy_name](late_copy)):
        with pytest.raises(InputError, match="the file changed"):
            refused_run.to_dict()


def test_a_worker_refuses_a_file_that_changed(write: Any) -> None:
    run = read_run(write("a.run", "q1 Q0 d1 1 2.5 t\n"))
    assert run.to_dict() == {"q1": {"d1": 2.5}}
    write("a.run", "q1 Q0 d2 1 7.5 t\nq1 Q0 d1 2 2.5 t\n")
    with start_worker() as work, pytest.raises(InputError, match="the file changed"):
        work(Qrels({"q1": {"d1": 1}}), run)


def test_the_standard_input_is_read_to_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"q1 Q0 d2 1 2.5 t\nq1 Q0 d1 2 1.5 t\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    run = read_run("-")
    with start_worker() as work:
        assert work(Qrels({"q1": {"d1": 1}}), run)["q1"]["AP"] == 1 / 2
    assert evaluate_all(Qrels({"q1": {"d1": 1}}), run)["q1"]["AP"] == 1 / 2, "and here it still is"


def judge_and_return(comparison: Comparison) -> Comparison:
    """Return a comparison after a figure's points were computed, for which its runs are judged."""
    figures.judged_by_rank(comparison, 5)
    return comparison


RESULTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "qrels": lambda qrels, a, b: qrels,
    "run": lambda qrels, a, b: a,
    "run of a query": lambda qrels, a, b: a.select_query("q01"),
    "scores": lambda qrels, a, b: evaluate(qrels, a, MEASURES, bounds=True),
    "systems": lambda qrels, a, b: evaluate(qrels, [a, b], MEASURES),
    "comparison": lambda qrels, a, b: compare(qrels, [a, b], MEASURES),
    "comparison that was drawn": lambda qrels, a, b: judge_and_return(compare(qrels, [a, b], "AP")),
    "gate": lambda qrels, a, b: gate(qrels, [a, b], MEASURES, baseline="bm25", margin=0.01),
    "explanation": lambda qrels, a, b: explain(qrels, a, nDCG @ 10, "q01"),
    "mean": lambda qrels, a, b: explain(qrels, a, nDCG @ 10),
    "difference": lambda qrels, a, b: explain(qrels, [a, b], nDCG @ 10, "q17"),
    "report": lambda qrels, a, b: check(qrels, a),
    "correlation": lambda qrels, a, b: correlate(qrels, [a, b], MEASURES),
    "agreement": lambda qrels, a, b: agreement(qrels, qrels, [a, b]),
    "joint bounds": lambda qrels, a, b: joint_bounds(qrels, [a, b], nDCG @ 10),
    "overlap": lambda qrels, a, b: rbo(a, b),
    "measure": lambda qrels, a, b: nDCG @ 10,
}


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_can_be_copied_and_pickled(name: str, demo_folder: Path) -> None:
    demo = demo_folder / "demo"
    paths = [demo / "qrels.txt", demo / "bm25.run", demo / "dense.run"]
    result = RESULTS[name](read_qrels(paths[0]), read_run(paths[1]), read_run(paths[2]))

    def content(any_result: Any) -> Any:
        to_dict = getattr(any_result, "to_dict", None)
        return repr(any_result) if to_dict is None else to_dict()

    for result_copy in (
        copy.copy(result),
        copy.deepcopy(result),
        pickle.loads(pickle.dumps(result)),  # noqa: S301 - our own
    ):
        assert type(result_copy) is type(result)
        assert repr(content(result_copy)) == repr(content(result))


def test_what_was_left_out_is_said_in_a_copy(write: Any) -> None:
    qrels = read_qrels(write("qrels.txt", "q 0 a 1\nq 0 b x\n"), errors="skip")
    pickled_qrels = pickle.dumps(qrels)
    os.unlink(qrels.sources[0].path)  # it cannot be looked up any more
    qrels_copy = pickle.loads(pickled_qrels)  # noqa: S301 - our own
    assert "qrels.txt:2: expected a number" in qrels_copy.left_out.describe("the qrels")


def test_an_error_comes_back_whole_from_a_worker() -> None:
    error = InputError("is odd", source="a.run", line=3, text="q x", hint="Mend it.", kind="id")
    error_copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert (str(error_copy), vars(error_copy)) == (str(error), vars(error))


# ---- pipes and forks ---------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [True, False])
def test_a_pipe_that_cannot_be_kept_says_where(
    at_once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    row = b"q1 Q0 d1 1 1.5 t\n"
    writer = threading.Thread(target=path.write_bytes, args=(row,), daemon=True)
    writer.start()

    def raise_full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Full(io.BytesIO):
        write = raise_full

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tempfile, "TemporaryFile", raise_full if at_once else lambda **_: Full())
    with pytest.raises(InputError, match=os.strerror(errno.ENOSPC)) as excinfo:
        read_run(path).to_dict()
    if not at_once:  # else nothing reads the pipe, and the writer waits
        writer.join(PATIENCE)
    assert excinfo.value.source == str(path)
    assert str(tmp_path) in str(excinfo.value.hint)


def test_a_pipe_that_is_half_read_is_refused_in_a_child(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    text = b"q1 Q0 d1 1 1.5 t\n" * 1000
    go_on = threading.Event()

    def write() -> None:
        with open(path, "wb", buffering=0) as pipe:
            pipe.write(text[:5000])
            assert go_on.wait(PATIENCE)
            pipe.write(text[5000:])

    writer = threading.Thread(target=write)
    writer.start()
    source = Source(path)
    try:
        assert source.read_start(17) == text[:17]
        # Another thread waits for the rest at the fork: what it holds is held in the child, too.
        reader = threading.Thread(target=lambda: source.read_start(len(text)))
        reader.start()
        (lock,) = source._pipe._locks.values()
        while not lock.locked():
            time.sleep(0.001)

        def child() -> bool:
            assert source.read_start(17) == text[:17], "what had been read is there"
            with pytest.raises(InputError, match="forked"):
                source.read_start(len(text))
            return True

        assert run_in_fork(child)
    finally:
        go_on.set()
        writer.join(PATIENCE)
    reader.join(PATIENCE)
    assert source.read_start(len(text) + 1) == text

    def late_child() -> bool:
        return source.read_start(len(text) + 1) == text

    assert run_in_fork(late_child), "what is read whole is there in a child"
