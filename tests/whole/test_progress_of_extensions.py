"""How far a call is that an extension adds: told to a function, shown as a bar, broken off."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.bars import SCORES, Bar, watch_all, write_blocks

from cranfield import conventions, discriminative_power, evaluate, swap_rate
from cranfield.formats.block import SIZES


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
    assert all(share is not None and 0 <= share <= 1 for share, _ in drawings)
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


def test_python_is_interrupted_while_it_draws(bar: Bar, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(bar, "draw", interrupt)
    n_threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        discriminative_power(SCORES, progress=True)
    assert threading.active_count() == n_threads
    assert bar.n_closed == 1
