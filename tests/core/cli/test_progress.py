"""How far a call is: shown as a bar, told to a function; and how a long one is broken off."""

import contextlib
import io
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from helpers.bars import SCORES, Bar, watch_all, write_blocks

from cranfield import Run, check, compare, evaluate, explain, progress, read_qrels, read_run
from cranfield.arrays import threads
from cranfield.arrays.threads import map_in_threads
from cranfield.formats.block import SIZES
from cranfield.progress import (
    Watch,
    stage,
    watch_calls,
    watch_files,
    watch_reading,
    watch_slices,
    watch_steps,
)

PATIENCE = 120  # seconds, after which a process is taken to wait for ever


@pytest.fixture
def bar(monkeypatch: pytest.MonkeyPatch) -> Bar:
    return watch_all(monkeypatch)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, list[Path]]:
    return write_blocks(tmp_path)


# ---- a function hears of bytes ------------------------------------------------------------------


@pytest.mark.parametrize(
    "verb",
    [
        lambda q, runs, **options: evaluate(q, runs, "RR", **options),
        lambda q, runs, **options: compare(q, runs, "RR", **options),
        lambda q, runs, **options: explain(q, runs, "RR", **options),
    ],
)
def test_a_function_hears_of_every_stored_byte_once(
    verb: Callable[..., Any], files: tuple[Path, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the judgments and of each run: not of what is looked at beforehand."""
    monkeypatch.setattr(SIZES, "bytes", 1 << 10)
    qrels, runs = files
    byte_counts: list[int] = []
    verb(qrels, runs, progress=byte_counts.append)
    assert sum(byte_counts) == sum(os.path.getsize(path) for path in (qrels, *runs))
    assert len(byte_counts) > 3, "not all at once"


def test_whatever_reads_tells_of_it(files: tuple[Path, list[Path]], tmp_path: Path) -> None:
    qrels, runs = files
    n_qrels, n_run = os.path.getsize(qrels), os.path.getsize(runs[0])
    for call, n_bytes in (
        (lambda hear: read_qrels(qrels, progress=hear), n_qrels),
        (lambda hear: read_run(runs[0]).write(tmp_path / "out.csv", progress=hear), n_run),
        (lambda hear: check(qrels, runs[0], progress=hear), n_qrels + n_run),
    ):
        byte_counts: list[int] = []
        call(byte_counts.append)
        assert sum(byte_counts) >= n_bytes


def test_parquet_tells_of_its_share(files: tuple[Path, list[Path]], tmp_path: Path) -> None:
    read_run(files[1][0]).write(path := tmp_path / "a.parquet")
    byte_counts: list[int] = []
    evaluate(read_qrels(files[0]), path, "RR", progress=byte_counts.append)
    assert sum(byte_counts) == os.path.getsize(path)


def test_nothing_watches_after_the_call(files: tuple[Path, list[Path]]) -> None:
    byte_counts: list[int] = []
    qrels, runs = files
    evaluate(qrels, runs, "RR", progress=byte_counts.append)
    n = len(byte_counts)
    evaluate(qrels, runs, "RR")
    evaluate(qrels, runs, "RR", progress=False)
    assert len(byte_counts) == n


# ---- a bar shows all ----------------------------------------------------------------------------


def test_stages_within_steps_are_a_part_of_them(bar: Bar) -> None:
    """Of the second of four steps, a quarter is done: so is 1.25 / 4."""
    with watch_calls(True):
        for i in watch_steps("abcd", "letters"):
            if i == "b":
                with stage("flips", 100, "flips") as report_done:
                    report_done(25)
    assert ("flips", (1 + 25 / 100) / 4, (25, "flips")) in bar.drawings
    assert bar.drawings[-2:] == [("letters", 3 / 4, (3, "steps")), ("letters", None, (4, "steps"))]
    assert bar.n_closed == 1


def test_stages_one_after_the_other_share_a_step(bar: Bar) -> None:
    """Of the first step, each has half of what is left; later, as many as in the step before."""
    with watch_calls(True):
        for _ in watch_steps("ab", "letters"):
            for activity in ("flips", "resamples"):
                with stage(activity, 4, activity) as report_done:
                    report_done(2)
    half_done = [share for _, share, progress in bar.drawings if progress[0] == 2 and share]
    first_step = [(1 / 2) * (1 / 2), 1 / 2 + (1 / 2) * (1 / 2) * (1 / 2)]
    second_step = [(0 + 1 / 2) / 2, (1 + 1 / 2) / 2]
    assert half_done == [share / 2 for share in (*first_step, *(1 + x for x in second_step))]


def test_a_share_never_falls_and_is_not_shown_where_only_the_end_is_left(bar: Bar) -> None:
    """Also where a step has more stages than the one before."""
    with watch_calls(True):
        for n_stages in watch_steps([2, 4], "letters"):
            for _ in range(n_stages):
                with stage("flips", 1, "flips") as report_done:
                    report_done(1)
    assert bar.drawings[-1][1] is None, "all but the end is done"
    shares = [share for _, share, _ in bar.drawings if share is not None]
    assert shares == sorted(shares)
    assert 0 < max(shares) < 1


def test_work_that_follows_reading_counts_as_much(bar: Bar) -> None:
    """100 bytes are read, and half of their rows fused: 3 / 4 is done."""
    file = SimpleNamespace(name="a.run", size=100)
    with watch_calls(True), watch_files([file]) as report_share:
        report_share(0)
        with watch_reading(file) as report_bytes:
            assert report_bytes is not None
            report_bytes(100)
        assert bar.drawings[-1] == ("reading a.run", (1 + 0) / 2, (100, "bytes"))
        report_share(1 / 2)
        with stage("rows", None, "rows"):
            assert bar.drawings[-1] == ("rows", (1 + 1 / 2) / 2, (0, "rows"))


def test_of_what_has_no_known_end_no_share_is_shown(bar: Bar) -> None:
    with watch_calls(True), stage("reading a pipe", None, "bytes") as report_done:
        report_done(10)
    assert bar.drawings[-1] == ("reading a pipe", None, (10, "bytes"))


def test_parts_count_what_is_in_them(bar: Bar) -> None:
    with watch_calls(True):
        assert [*watch_slices([slice(0, 6), slice(6, 8)], "resamples", 8)] == [
            slice(0, 6),
            slice(6, 8),
        ]
    assert [share for _, share, _ in bar.drawings] == [0, 6 / 8, None]


@pytest.mark.parametrize(
    ("call", "activity"),
    [
        (lambda: compare(SCORES, progress=True), "flips"),
        (lambda: compare(SCORES, test="bootstrap", flips=50, progress=True), "resamples"),
        (
            lambda: compare(SCORES, all_pairs=True, correction="rtukey", progress=True),
            "permutations",
        ),
    ],
)
def test_the_statistics_show_what_they_draw(
    call: Callable[[], Any], activity: str, bar: Bar
) -> None:
    call()
    shares_and_counts = [
        (share, n_done) for stage_name, share, n_done in bar.drawings if stage_name == activity
    ]
    assert shares_and_counts
    assert all(unit == activity for _, (_, unit) in shares_and_counts)
    assert all(share is None or 0 <= share < 1 for share, _ in shares_and_counts)
    assert bar.n_closed


def test_runs_are_one_stage(files: tuple[Path, list[Path]], bar: Bar) -> None:
    """Of all of their bytes, with the name of the one that is read."""
    qrels, runs = files
    evaluate(read_qrels(qrels), runs, "RR", progress=True)
    total = sum(map(os.path.getsize, runs))
    read = [
        (stage_name, share, n)
        for stage_name, share, (n, unit) in bar.drawings
        if unit == "bytes" and n
    ]
    assert {stage_name for stage_name, _, _ in read} == {"reading a.run", "reading b.run.gz"}
    assert all(share == (n / total if n < total else None) for _, share, n in read)
    assert read[-1][2] == total


def test_it_is_looked_at_while_threads_work(bar: Bar, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first result takes long, too: here, until the bar was drawn twice."""
    monkeypatch.setattr(threads, "_LOOK_INTERVAL", 0.001)
    drawn_twice = threading.Event()

    def work(number: int) -> int:
        assert drawn_twice.wait(PATIENCE)
        return number

    def draw(*_: Any) -> None:
        bar.drawings.append(("", None, (0, "")))
        if len(bar.drawings) > 1:
            drawn_twice.set()

    monkeypatch.setattr(bar, "draw", draw)
    with watch_calls(True), stage("work"):
        assert [*map_in_threads(work, range(3))] == [0, 1, 2]


def test_other_threads_are_not_watched(bar: Bar) -> None:
    """A bar is drawn by the thread that called, and by no other."""
    with watch_calls(True):
        thread = threading.Thread(target=lambda: [*watch_steps("abc", "letters")])
        thread.start()
        thread.join(PATIENCE)
    assert bar.drawings == []


# ---- where it is shown --------------------------------------------------------------------------


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stays at the last of its times."""
    times = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: times[-1])
    return times


def test_a_terminal_has_a_bar_after_a_second(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := _Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with watch_calls(True), stage("reading [red]\x1b[31ma.run", 100, "bytes") as report_done:
        clock.append(0.9)
        report_done(10)
        assert terminal.getvalue() == "", "nothing in the first second"
        clock.append(2.0)
        report_done(15)
        output = terminal.getvalue()
        assert "25%, 0:06 left" in output, "a quarter took 2 seconds: three take 6"
        assert "reading [red]\\x1b[31ma.run" in output, (
            "a name is shown as it is, and commands nothing"
        )
        clock.append(2.05)
        report_done(1)
        assert terminal.getvalue() == output, "nor more often than can be seen"
    assert terminal.getvalue().endswith("\x1b[2K"), "the line is erased"


@pytest.mark.parametrize(("stream", "term"), [(io.StringIO, "xterm"), (_Terminal, "dumb")])
def test_what_is_no_terminal_gets_nothing(
    stream: type[io.StringIO],
    term: str,
    clock: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", stderr_stream := stream())
    monkeypatch.setenv("TERM", term)
    with watch_calls(True), stage("flips", 100, "flips") as report_done:
        clock.append(5.0)
        report_done(10)
    assert stderr_stream.getvalue() == ""


def test_a_notebook_has_one_bar_that_changes(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One output of the cell, no matter what happens: that of `display`, changed by its handle."""
    bars: list[dict[str, str]] = []

    class Handle:
        def update(self, bundle: dict[str, str], *, raw: bool) -> None:
            assert raw
            bars.append(bundle)

    def display(bundle: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        assert bars == [], "only once"
        bars.append(bundle)
        return Handle()

    module: Any = ModuleType("IPython")
    module.get_ipython = lambda: SimpleNamespace(kernel=object())
    module.display = SimpleNamespace(display=display)
    monkeypatch.setitem(sys.modules, "IPython", module)
    with watch_calls(True), stage("reading <b>.run", 10, "bytes") as report_done:
        clock.append(2.0)
        report_done(5)
        clock.append(4.0)
        report_done(3)
    first, second, last = bars
    assert first["text/plain"] == "reading <b>.run 50%, 0:02 left"
    assert "reading &lt;b&gt;.run <progress" in second["text/html"]
    assert set(last.values()) == {""}


def test_a_short_call_loads_nothing() -> None:
    code = (
        "import sys; from cranfield import evaluate\n"
        "evaluate({'q': {'d': 1}}, {'q': ['d']}, 'RR', progress=True)\n"
        "print([name for name in sys.modules if name.startswith(('rich', 'IPython'))])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == "[]\n"


# ---- broken off ---------------------------------------------------------------------------------


def _interrupt(*_: Any) -> None:
    signal.raise_signal(signal.SIGINT)


def test_python_is_interrupted_while_it_reads(
    files: tuple[Path, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """KeyboardInterrupt comes through, no thread is left, and nobody watches any more."""
    monkeypatch.setattr(SIZES, "bytes", 1 << 10)
    n_threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        evaluate(*files, "RR", progress=_interrupt)
    assert threading.active_count() == n_threads
    assert progress.waiting_callback() is None
    evaluate(*files, "RR")


@pytest.mark.parametrize(
    "call",
    [
        lambda: compare(SCORES, flips=1_000_000, progress=True),
        lambda: compare(SCORES, test="bootstrap", progress=True),
    ],
)
def test_python_is_interrupted_while_it_draws(
    call: Callable[[], Any], bar: Bar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bar, "draw", _interrupt)
    n_threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        call()
    assert threading.active_count() == n_threads
    assert bar.n_closed == 1


def test_an_interrupted_write_leaves_what_was_there(
    files: tuple[Path, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SIZES, "bytes", 1 << 10)
    (folder := tmp_path / "folder").mkdir()
    (path := folder / "out.csv").write_text("what was there")
    with pytest.raises(KeyboardInterrupt):
        read_run(files[1][0]).write(path, progress=_interrupt)
    assert path.read_text() == "what was there"
    assert os.listdir(folder) == ["out.csv"]


@contextlib.contextmanager
def _run_on_terminal(
    *arguments: str, **popen_options: Any
) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[bytes], bytes]]]:
    """A command whose standard error is a terminal; and what waits until it has printed something.

    Of b"", that is the end. Its bar does not wait for a second, which not every machine takes.
    """
    import pty

    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    # Where tests run in the background of a shell, they inherit that SIGINT is ignored.
    byte_counts = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    at_once = (
        f"{byte_counts}; from cranfield import cli, progress; progress.SHOW_AFTER = 0.0; cli.main()"
    )
    command = [sys.executable, "-c", at_once, *arguments]
    process = subprocess.Popen(command, stderr=theirs, env=env, **popen_options)
    os.close(theirs)
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()
    output = b""

    def waits(expected: bytes) -> bytes:
        nonlocal output
        while not expected or expected not in output:
            ready, _, _ = select.select([ours], [], [], PATIENCE)
            assert ready
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                piece = b""
            if not piece:
                assert not expected, output
                break
            output += piece
        return output

    try:
        yield process, waits
    finally:
        timer.cancel()
        process.kill()
        process.wait(PATIENCE)
        os.close(ours)
        if process.stdout is not None:
            process.stdout.close()


def _last_line(output: bytes) -> bytes:
    """Return what a terminal shows when all before it was erased."""
    return output.rpartition(b"\x1b[2K")[2]


@pytest.fixture
def saved_paths(tmp_path: Path) -> list[str]:
    """Scores of two systems that are alike, with which a comparison has its time."""
    paths = []
    for name, step in (("a", 3), ("b", 5)):
        path = tmp_path / f"{name}.txt"
        path.write_text(
            "".join(f"map q{i} {((i * step) % 1009) / 1009:.4f}\n" for i in range(2000))
        )
        paths.append(str(path))
    return paths


def test_a_command_shows_a_bar_and_takes_it_away(saved_paths: list[str]) -> None:
    arguments = ("compare", "--saved", *saved_paths, "--flips", "1000000", "--format", "csv")
    with _run_on_terminal(*arguments, stdout=subprocess.PIPE) as (process, waits):
        waits(b"flips")
        printed_output, _ = process.communicate(timeout=PATIENCE)
        output = waits(b"")
    assert process.returncode == 0
    assert b"\x1b" not in printed_output, "what goes into a pipe is the result alone"
    assert b"\x1b[?25h" in output, "the cursor is there again"
    assert b"left" not in _last_line(output)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_command_is_broken_off_while_it_draws(
    ending: signal.Signals, saved_paths: list[str], tmp_path: Path
) -> None:
    """One line reports it, and the file that it was to write is not there."""
    arguments = (
        "compare",
        "--saved",
        *saved_paths,
        "--flips",
        "10000000",
        "-o",
        str(tmp_path / "o.csv"),
    )
    with _run_on_terminal(*arguments, stdout=subprocess.DEVNULL) as (process, waits):
        waits(b" left")
        process.send_signal(ending)
        process.wait(PATIENCE)
        output = waits(b"")
    assert process.returncode == -ending
    last_line = _last_line(output).decode()
    assert last_line.count("\n") == 1
    assert last_line.startswith("Interrupted" if ending == signal.SIGINT else "Ended")
    assert b"Traceback" not in output
    assert not (tmp_path / "o.csv").exists()


def test_a_shell_is_told_130(saved_paths: list[str]) -> None:
    """That is what it makes of a process that SIGINT ended; scripts stop by it."""
    code = (
        "from cranfield import progress; progress.Watch.redraw = lambda self: "
        "__import__('signal').raise_signal(2)\n"
        "from cranfield.cli import main; main()"
    )
    line = '"$@"; echo $?'
    command = [
        "sh",
        "-c",
        line,
        "sh",
        sys.executable,
        "-c",
        code,
        "compare",
        "--saved",
        *saved_paths,
    ]
    process = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert process.stdout == "130\n"
    assert process.stderr.count("\n") == 1


def test_a_watch_forgets_stages_that_end_in_another_order() -> None:
    """As where a generator is left before its end, and closed later."""
    watch = Watch(shows_bar=True)
    outer, inner = (watch.begin(stage_name, None, "steps") for stage_name in ("outer", "inner"))
    watch.end(outer)
    assert watch.stages == [inner]
    watch.end(inner)
    assert watch.stages == []


def test_a_run_in_memory_needs_no_function_to_hear(bar: Bar) -> None:
    byte_counts: list[int] = []
    evaluate({"q": {"d": 1}}, Run({"q": ["d"]}), "RR", progress=byte_counts.append)
    assert byte_counts == []
    assert bar.drawings == []
