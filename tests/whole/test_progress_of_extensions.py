"""How far a call is that an extension adds: told to a function, shown as a bar, broken off."""

import itertools
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.bars import SCORES, Bar, watch_all, write_blocks
from helpers.commands import run_command

from cranfield import conventions, discriminative_power, evaluate, progress, swap_rate
from cranfield.formats.block import SIZES
from cranfield.progress import Status


@pytest.fixture
def bar(monkeypatch: pytest.MonkeyPatch) -> Bar:
    return watch_all(monkeypatch)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, list[Path]]:
    return write_blocks(tmp_path)


def test_a_function_hears_of_every_stored_byte_once(
    files: tuple[Path, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SIZES, "bytes", 1 << 10)
    qrels, runs = files
    byte_counts: list[int] = []
    swap_rate(qrels, runs, "RR", progress=byte_counts.append)
    assert sum(byte_counts) == sum(os.path.getsize(path) for path in (qrels, *runs))
    assert len(byte_counts) > 3, "not all at once"


def test_conventions_tell_of_what_they_read(files: tuple[Path, list[Path]]) -> None:
    qrels, runs = files
    byte_counts: list[int] = []
    conventions(qrels, runs[0], "RR", progress=byte_counts.append)
    assert sum(byte_counts) >= os.path.getsize(qrels) + os.path.getsize(runs[0])


@pytest.mark.parametrize(
    ("call", "stage_name"), [(discriminative_power, "flips"), (swap_rate, "splits")]
)
def test_the_statistics_show_what_they_draw(
    call: Callable[..., Any], stage_name: str, bar: Bar
) -> None:
    call(SCORES, progress=True)
    drawings = [
        (share, progress) for activity, share, progress in bar.drawings if activity == stage_name
    ]
    assert drawings
    assert all(unit == stage_name for _, (_, unit) in drawings)
    assert all(share is None or 0 <= share < 1 for share, _ in drawings)
    assert bar.n_closed


def test_buckets_show_no_reading_of_files(files: tuple[Path, list[Path]], bar: Bar) -> None:
    """Their rows were read before, and come from a file of their own."""
    qrels, runs = files
    evaluate(qrels, runs, "RR", buckets=4, progress=True)
    activities = [activity for activity, _, _ in bar.drawings]
    first_bucket = activities.index("buckets")
    assert {activity.split()[0] for activity in activities[:first_bucket]} == {"reading"}
    assert set(activities[first_bucket:]) == {"buckets"}


def test_bounds_and_conventions_show_their_steps(bar: Bar) -> None:
    qrels, run = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}, {"q1": ["a", "x"], "q2": ["y", "c"]}
    evaluate(qrels, run, "AP nDCG@10", bounds=True, progress=True)
    conventions(qrels, run, "AP", progress=True)
    assert {"bounds", "conventions"} <= {activity for activity, _, _ in bar.drawings}


@pytest.mark.parametrize(
    "command",
    [
        "compare qrels.txt RUNS -m AP",
        "holes qrels.txt RUNS -m AP",
        "fuse RUNS -o fused.run",
        "report qrels.txt RUNS -m AP -o page.html",
    ],
)
def test_commands_of_many_runs_show_how_long_they_take(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the fifth drawing of a bar; no share is 100 %, and none falls, until it is taken away."""
    (tmp_path / "qrels.txt").write_text("q1 0 a 2\nq2 0 b 1\nq3 0 a 1\n")
    names = [f"{i:02}.run" for i in range(12)]
    for i, name in enumerate(names):  # x and y are not judged
        rows = itertools.product((1, 2, 3), "abxy")
        lines = (f"q{query} Q0 {doc} 0 {(i + ord(doc)) % 7} t\n" for query, doc in rows)
        (tmp_path / name).write_text("".join(lines))
    ticks = itertools.count()  # the clock goes on with each look
    bars: list[list[Status]] = [[]]

    class Line:
        def draw(self, status: Status) -> None:
            bars[-1].append(status)

        def close(self) -> None:
            bars.append([])

    watch_all(monkeypatch)
    monkeypatch.setattr(progress, "monotonic", lambda: next(ticks) / 10)
    monkeypatch.setattr(progress, "find_bar", Line)
    process = run_command(*command.replace("RUNS", " ".join(names)).split(), cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    assert len(bars) < len(names), "none for each run"
    for statuses in bars:
        shares = [status.share for status in statuses if status.share is not None]
        assert shares == sorted(shares)
        assert not [status for status in statuses if "100%" in status.describe()]
        assert len(statuses) < 5 or any(status.seconds_left for status in statuses[:5])


def test_python_is_interrupted_while_it_draws(bar: Bar, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(bar, "draw", interrupt)
    n_threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        discriminative_power(SCORES, progress=True)
    assert threading.active_count() == n_threads
    assert bar.n_closed == 1
