"""How the command line ends: by signals, without a reader, with nowhere to write to."""

import io
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import run_bytes

from cranfield import InputError, Run
from cranfield.formats import source
from cranfield.formats.pipe import Pipe
from cranfield.formats.source import open_to_write

PATIENCE = 120  # seconds, after which a process is taken to wait for ever
QUERY = b"q%d Q0 d1 2 2.5 t\nq%d Q0 d2 1 1.5 t\n"
# Where no file can be without a name, as on some file systems: only the handler cleans up.
NAMED = "import os; del os.O_TMPFILE; "
MAIN = "from cranfield.cli import main; main()"


@contextmanager
def start_process(code: str, *arguments: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with pipes, whose temporary files are in `folder`; it is ended with the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    # What waits for it then reaches the end of the file.
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        process.kill()
        process.wait(PATIENCE)
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def feed(process: subprocess.Popen[bytes], n_bytes: int) -> None:
    """Write lines of so many bytes to the process, and do not end: almost all are read then."""
    assert process.stdin is not None
    text = b"".join(QUERY % (i, i) for i in range(1 + n_bytes // 32))
    process.stdin.write(text[: text.index(b"\n", n_bytes) + 1])
    process.stdin.flush()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("code", [MAIN, NAMED + MAIN])
@pytest.mark.parametrize("command", ["evaluate", "convert"])
def test_a_signal_leaves_no_file(command: str, code: str, name: str, tmp_path: Path) -> None:
    ending = getattr(signal, name)
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    (folder := tmp_path / "folder").mkdir()
    arguments = {
        "evaluate": ["evaluate", str(tmp_path / "qrels.txt"), "-"],
        "convert": ["convert", "-", str(folder / "out.csv"), "--run"],
    }[command]
    with start_process(code, *arguments, folder=folder) as process:
        feed(process, 8 << 20)  # it returns when nearly all has been read
        process.send_signal(ending)
        _, message = process.communicate(timeout=PATIENCE)
    assert process.returncode == -ending
    assert b"Traceback" not in message
    assert os.listdir(folder) == []


# In the place of a command: a signal comes while a file is written, and then nothing ends.
LOSING = """
import signal, sys, weakref
import cranfield.cli.measures
from cranfield.formats.source import open_to_write

def raise_signal(*_):
    signal.raise_signal(getattr(signal, signal_name))

class Thing:
    __del__ = raise_signal

class Reader:
    def __del__(self):
        sys.stdin.read()

class Field:
    __set_name__ = raise_signal

def refer():
    target = set()
    return weakref.ref(target, raise_signal)

def clear():
    try:
        raise_signal()
    except BaseException:
        print("lost", flush=True)

def write_for_ever(**_):
    with open_to_write(path) as stream:
        stream.write(b"half")
        stream.flush()
        {lose}
        sys.stdin.read()

*_, path, signal_name = sys.argv
del sys.argv[-2:]
cranfield.cli.measures.command.callback = write_for_ever
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("nameless", ["", NAMED])
@pytest.mark.parametrize(
    "lose",
    ["Thing()", "Thing(); Reader()", "refer()", "type('Class', (), {'field': Field()})"],
)
def test_a_signal_that_python_ignores_ends_the_command(
    lose: str, nameless: str, name: str, tmp_path: Path
) -> None:
    """As it does where it comes in `__del__` or at the end of an import."""
    (folder := tmp_path / "folder").mkdir()
    code = nameless + LOSING.replace("{lose}", lose) + MAIN
    arguments = ("measures", str(folder / "out.csv"), name)
    with start_process(code, *arguments, folder=folder) as process:
        process.wait(PATIENCE)
        assert process.stderr is not None
        error_text = process.stderr.read().decode()
    word = "Interrupted" if name == "SIGINT" else "Ended by a signal"
    assert error_text == f"{word}: what was not finished is undone.\n"
    assert process.returncode == -getattr(signal, name)
    assert os.listdir(folder) == []


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_second_signal_ends_the_command(second: signal.Signals, tmp_path: Path) -> None:
    code = LOSING.replace("{lose}", "clear()") + MAIN
    arguments = ("measures", str(tmp_path / "out.csv"), "SIGTERM")
    with start_process(code, *arguments, folder=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"lost\n"
        process.send_signal(second)
        process.wait(PATIENCE)
    assert process.returncode in (-second, -signal.SIGTERM)


def test_a_signal_that_was_lost_is_the_status_at_the_end(tmp_path: Path) -> None:
    code = LOSING.replace("{lose}", "clear()") + MAIN
    arguments = ("measures", str(tmp_path / "out.csv"), "SIGTERM")
    with start_process(code, *arguments, folder=tmp_path) as process:
        _, error_text = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGTERM
    assert error_text == b"Ended by a signal: what was not finished is undone.\n"


def test_python_leaves_no_half_written_file(tmp_path: Path) -> None:
    code = (
        "import sys; from cranfield.formats.source import open_to_write\n"
        "with open_to_write(sys.argv[1]) as file:\n"
        "    file.write(b'x' * (1 << 20)); file.flush(); print('now', flush=True)\n"
        "    sys.stdin.read()"
    )
    with start_process(code, str(tmp_path / "out.csv"), folder=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"now\n"
        assert os.listdir(tmp_path) == [], "it has no name yet"
        process.terminate()  # Python's own handler: the process ends at once
        process.wait(PATIENCE)
    assert os.listdir(tmp_path) == []


def test_python_leaves_no_copy_of_a_pipe(tmp_path: Path) -> None:
    code = (
        "import sys; from cranfield.formats.source import Source\n"
        "print(len(Source('-').read_start(1 << 20)), flush=True); sys.stdin.read()"
    )
    with start_process(code, folder=tmp_path) as process:
        feed(process, 1 << 20)
        assert process.stdout is not None
        assert process.stdout.readline() == b"%d\n" % (1 << 20)
        assert os.listdir(tmp_path) == []
        process.terminate()
        process.wait(PATIENCE)
    assert os.listdir(tmp_path) == []


def no_tmpfile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE")


def no_handles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_HANDLES", "/no/such/folder")


def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("not here")

    monkeypatch.setattr(os, "link", refuse)


def as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Change nothing."""


@pytest.mark.parametrize("lacking", [no_tmpfile, no_handles, no_links, as_it_is])
def test_a_file_is_replaced_when_it_is_whole(
    lacking: Callable[[pytest.MonkeyPatch], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lacking(monkeypatch)
    path = tmp_path / "a.csv"
    with open_to_write(path) as file:
        file.write(b"first")
    mode = path.stat().st_mode & 0o777
    os.umask(mask := os.umask(0))
    assert mode == 0o666 & ~mask, "as any new file"
    path.chmod(0o640)
    with open_to_write(path) as file:
        file.write(b"second")
        assert path.read_bytes() == b"first"
    assert path.read_bytes() == b"second"
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(TypeError), open_to_write(path) as file:
        file.writelines([b"third", "no bytes"])  # type: ignore[list-item] # what is wrong
    assert path.read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_a_protected_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is what a link to it leads to. `root`, who may write everything, is asked here, too."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"first")
    path.chmod(0o444)
    (tmp_path / "link.csv").symlink_to(path)
    mode_allows = lambda place, mode: bool(os.stat(place).st_mode & 0o222)  # noqa: E731
    monkeypatch.setattr(os, "access", mode_allows)
    for target in (str(path), str(tmp_path / "link.csv"), path.as_uri()):
        with (
            pytest.raises(
                InputError, match=r"a\.csv: cannot be written: Permission|link\.csv: cann"
            ),
            open_to_write(str(target)),
        ):
            pass
    assert path.read_bytes() == b"first"
    path.chmod(0o644)
    with open_to_write(path) as stream:
        stream.write(b"second")
    assert path.read_bytes() == b"second"


def test_an_error_of_the_system_names_the_file(tmp_path: Path) -> None:
    code = (
        "import cranfield.cli.measures as m\n"
        "def broken(**_): open('/no/such/folder/file')\n"
        "m.command.callback = broken\n" + MAIN
    )
    with start_process(code, "measures", folder=tmp_path) as process:
        _, error_text = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    problem = "cannot read or write: No such file or directory"
    assert error_text.decode() == f"Error: /no/such/folder/file: {problem}\n"


# ---- devices without an end --------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "QRELS", "PATH"],
        ["evaluate", "PATH", "QRELS"],
        ["evaluate", "--grades", "PATH"],
        ["check", "QRELS", "PATH"],
        ["convert", "--run", "PATH", "OUT.csv"],
        ["convert", "--qrels", "PATH", "OUT.csv", "--qrels-format", "json"],
        ["compare", "--saved", "PATH", "PATH"],
    ],
    ids=" ".join,
)
def test_a_device_without_an_end_is_refused(
    arguments: list[str], path: str, tmp_path: Path
) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    names = {"QRELS": str(tmp_path / "qrels.txt"), "PATH": path, "OUT.csv": str(tmp_path / "o.csv")}
    outcome = run_bytes(*(names.get(argument, argument) for argument in arguments))
    assert outcome.returncode == 2, outcome.stderr
    assert b"Traceback" not in outcome.stderr
    assert b"null bytes" in outcome.stderr + outcome.stdout


def cranfield(arguments: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "cranfield", *arguments],
        capture_output="stderr" not in options,
        timeout=PATIENCE,
        check=False,
        **options,
    )


def test_a_text_without_an_end_is_refused_where_it_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    with subprocess.Popen(["yes", "q1 d1 x\nq2 d1 x"], stdout=subprocess.PIPE) as endless:
        outcome = cranfield(["evaluate", str(tmp_path / "qrels.txt"), "-"], stdin=endless.stdout)
        endless.kill()
    assert outcome.returncode == 2
    assert b"standard input:1: expected" in outcome.stderr


def test_a_pipe_that_waits_for_nobody_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe opened without waiting has nothing at first: that is not its end."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    stream = open(reader, "rb", buffering=0)  # noqa: SIM115 - closed by the pipe

    def wait(*_: object) -> None:
        os.write(writer, b"at last")
        os.close(writer)

    monkeypatch.setattr(select, "select", wait)
    assert Pipe(lambda: (stream, stream.close), "a pipe").open().read() == b"at last"


# ---- exit statuses -----------------------------------------------------------------------------

CANNOT_READ = [
    ["gate", "QRELS", "RUN", "--baseline", "/nonexistent", "--margin", "0.01"],
    ["gate", "QRELS", "/nonexistent", "--baseline", "RUN", "--margin", "0.01"],
    ["gate", "QRELS", "RUN", "--baseline", "RUN"],  # without a margin
    ["check", "QRELS", "/nonexistent"],
    ["evaluate", "QRELS", "/nonexistent"],
    ["trec-eval", "QRELS", "/nonexistent"],
]


@pytest.mark.parametrize("ending_place", ["2>/dev/full", "2>&-", ">/dev/full 2>&1", ">&- 2>&-"])
@pytest.mark.parametrize("arguments", CANNOT_READ, ids=" ".join)
def test_what_cannot_be_read_is_status_2_whatever_can_be_said(
    arguments: list[str], ending_place: str, tmp_path: Path
) -> None:
    (tmp_path / "QRELS").write_text("q1 0 d1 1\n")
    (tmp_path / "RUN").write_text("q1 Q0 d1 1 1 t\n")
    command = f"{sys.executable} -m cranfield {' '.join(arguments)} {ending_place}"
    process = subprocess.run(command, shell=True, cwd=tmp_path, timeout=PATIENCE, check=False)  # noqa: S602 - redirections
    assert process.returncode == 2


def test_a_usage_that_trec_eval_refuses_is_its_status(tmp_path: Path) -> None:
    command = f"{sys.executable} -m cranfield trec-eval -m nonsense a b 2>/dev/full"
    process = subprocess.run(command, shell=True, timeout=PATIENCE, check=False)  # noqa: S602 - redirections
    assert process.returncode == 1


def test_a_gate_whose_reader_has_left_has_not_failed(tmp_path: Path) -> None:
    (tmp_path / "QRELS").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    Run({"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}, "a").write(tmp_path / "a.run")
    Run({"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}, "b").write(tmp_path / "b.run")
    reader, writer = os.pipe()
    os.close(reader)
    paths = [str(tmp_path / name) for name in ("QRELS", "a.run")]
    more_arguments = ["--baseline", str(tmp_path / "b.run"), "--margin", "0.01"]
    outcome = cranfield(["gate", *paths, *more_arguments], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert outcome.returncode == -signal.SIGPIPE
    assert outcome.stderr == b""


def test_a_mistake_of_ours_is_no_verdict(tmp_path: Path) -> None:
    code = (
        "import cranfield.cli.gate as g\n"
        "def broken(*_, **__): raise ZeroDivisionError('ours')\n"
        "g.SystemFiles = broken\n" + MAIN
    )
    arguments = ["gate", "a", "b", "--baseline", "c", "--margin", "1"]
    with start_process(code, *arguments, folder=tmp_path) as process:
        _, message = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert b"ZeroDivisionError: ours" in message


def test_a_handler_that_ignores_stays(tmp_path: Path) -> None:
    """As with nohup: what is ignored from the start stays ignored."""
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); " + MAIN
    arguments = ["evaluate", str(tmp_path / "qrels.txt"), "-", "-m", "RR", "--format", "tsv"]
    with start_process(code, *arguments, folder=tmp_path) as process:
        feed(process, 1 << 20)
        process.send_signal(signal.SIGHUP)
        message, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert b"stdin\tRR\t" in message


def test_two_threads_read_one_pipe(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    text = QUERY * 100_000
    code = f"open({str(path)!r}, 'wb').write({QUERY!r} * 100_000)"
    from concurrent.futures import ThreadPoolExecutor

    shared_source = source.Source(path)
    with start_process(code, folder=tmp_path), ThreadPoolExecutor(4) as pool:
        beginnings = list(
            pool.map(lambda _: shared_source.read_start(len(text) + 1), range(4), timeout=PATIENCE)
        )
    assert beginnings == [text] * 4


def test_a_directory_is_no_pipe(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory"):
        source.Source(tmp_path).read_start(1)


def test_a_page_whose_reader_has_left_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "QRELS").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    Run({"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}, "a").write(tmp_path / "a.run")
    reader, writer = os.pipe()
    os.close(reader)
    paths = [str(tmp_path / name) for name in ("QRELS", "a.run")]
    outcome = cranfield(["report", *paths, "-o", "-"], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert outcome.returncode == -signal.SIGPIPE
    assert outcome.stderr == b""


def test_a_pipe_that_no_file_can_be_made_for_is_not_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    streams: list[io.BytesIO] = []

    def open_once() -> tuple[io.BytesIO, Callable[[], None]]:
        streams.append(io.BytesIO(b"q1 a"))
        return streams[-1], streams[-1].close

    def refuse_file(**_: str) -> None:
        raise OSError("no space")

    pipe = Pipe(open_once, "a pipe")
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "TemporaryFile", refuse_file)
        with pytest.raises(InputError, match="no space"):
            pipe.open().read()
    assert not streams
    assert pipe.open().read() == pipe.open().read() == b"q1 a"
    assert len(streams) == 1
