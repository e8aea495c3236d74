"""Blocks of text: where they are cut, which rows of one share a document, who starts threads."""

import concurrent.futures
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import invoke

from cranfield import OptionError, Qrels, evaluate
from cranfield.arrays.byte_strings import find_repeated_keys
from cranfield.formats.block import SIZES
from cranfield.formats.text import find_query_change


@pytest.mark.parametrize("n", [0, 1, 2, 300, 65_536, 65_537])
@pytest.mark.parametrize("n_keys", [1, 50, 60_000, 2**63])
def test_rows_that_share_a_key_are_found(n: int, n_keys: int) -> None:
    keys = np.random.default_rng(n).integers(0, n_keys, n).astype(np.uint64)
    count = Counter(keys.tolist())
    expected = [row for row, key in enumerate(keys.tolist()) if count[key] > 1]
    assert find_repeated_keys(keys).tolist() == expected


def query_of(line: bytes) -> bytes:
    return line.split()[0]


def changes_of(text: bytes) -> list[int]:
    """Return where lines begin whose query is not that of the line above."""
    starts, begin, last = [], 0, None
    for line in text[: text.rfind(b"\n") + 1].splitlines(keepends=True):
        if last is not None and query_of(line) != last:
            starts.append(begin)
        last = query_of(line)
        begin += len(line)
    return starts


def lines_of(chance: random.Random) -> list[bytes]:
    lines = []
    for query in range(chance.randint(1, 6)):
        n = chance.choice([1, 2, 3, 8, 200])
        lines += [b"q%d Q0 d%d 1 2.5 t\n" % (query, doc) for doc in range(n)]
    return lines


@pytest.mark.parametrize("seed", range(60))
def test_a_block_is_cut_where_its_last_query_begins(seed: int) -> None:
    chance = random.Random(seed)
    text = b"".join(lines_of(chance)) + chance.choice([b"", b"q9 Q0 cut"])
    assert find_query_change(text, query_of) == ([0, *changes_of(text)])[-1]


@pytest.mark.parametrize("seed", range(60))
def test_where_queries_come_back_a_block_is_cut_where_one_begins(seed: int) -> None:
    chance = random.Random(seed)
    lines = lines_of(chance)
    chance.shuffle(lines)
    text = b"".join(lines)
    assert find_query_change(text, query_of) in (changes_of(text) or [0])


def test_one_other_query_between_rows_of_the_last_is_found() -> None:
    rows = [b"q1 Q0 d%d 1 2.5 t\n" % doc for doc in range(1000)]
    for at in (1, 137, 998):
        text = b"".join([*rows[:at], b"q2 Q0 x 1 2.5 t\n", *rows[at:]])
        assert find_query_change(text, query_of) in changes_of(text)


@pytest.mark.parametrize("n_threads", [None, "3"])
def test_the_command_line_starts_no_threads_for_algebra_unless_it_is_told_to(
    n_threads: str | None,
) -> None:
    code = (
        "import os, sys, cranfield, cranfield.cli\n"
        "sys.argv = ['cranfield', '--version']\n"
        "before = os.environ.get('OPENBLAS_NUM_THREADS')\n"
        "try:\n    cranfield.cli.main()\n"
        "finally:\n    print(before, os.environ['OPENBLAS_NUM_THREADS'])\n"
    )
    env = {name: setting for name, setting in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    env |= {} if n_threads is None else {"OPENBLAS_NUM_THREADS": n_threads}
    process = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert process.stdout.splitlines()[-1] == f"{n_threads} {n_threads or '1'}"


def test_one_thread_is_that_of_the_caller(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run, qrels = tmp_path / "many.run", tmp_path / "qrels.txt"
    run.write_text("".join(f"q{i} Q0 d{j} 1 {j} t\n" for i in range(400) for j in range(9)))
    judged = {f"q{i}": {f"d{i % 9}": 1} for i in range(400)}
    Qrels(judged).write(qrels, "trec")
    monkeypatch.setattr(SIZES, "bytes", 1 << 10)
    usual = evaluate(judged, str(run), "AP RR")
    scores_in_two_threads = evaluate(judged, str(run), "AP RR", threads=2)

    def refuse_threads(*_: object) -> None:
        raise AssertionError("a thread was started")

    monkeypatch.setattr(concurrent.futures, "ThreadPoolExecutor", refuse_threads)
    scores_in_one_thread = evaluate(judged, str(run), "AP RR", threads=1)
    assert (
        usual.values.tobytes()
        == scores_in_two_threads.values.tobytes()
        == scores_in_one_thread.values.tobytes()
    )
    process = invoke("evaluate", str(qrels), str(run), "-m", "AP", "--threads", "1")
    assert process.exit_code == 0
    with pytest.raises(AssertionError, match="a thread was started"):
        evaluate(judged, str(run), "AP RR")
    with pytest.raises(OptionError, match="threads=0"):
        evaluate(judged, str(run), "AP RR", threads=0)
