"""Of documents that occur more than once, the first of all rows is named, and all are counted."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.profile import seeds

from cranfield import InputError, Run, check, evaluate, read_qrels, read_run
from cranfield.errors import DuplicateError
from cranfield.formats.block import SIZES

JUDGED = {f"u{i}": {"d1": 1} for i in range(30)}
PAIRS = [("u1", "a"), ("u1", "c"), ("u1", "a"), ("u2", "b"), ("u2", "d"), ("u2", "b")]
PAIRS += [("u3", "x"), ("u3", "x")]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("bytes", 200), ("tail", 50), ("rows", 50)):
        monkeypatch.setattr(SIZES, name, size)


def rows_of(seed: int) -> tuple[list[tuple[str, str]], list[int]]:
    """Return pairs, queries apart or together, and the places of those that occur above already."""
    draw = random.Random(seed)
    pairs = [
        (f"u{draw.randrange(30)}", f"d{draw.randrange(40)}")
        for _ in range(draw.choice([20, 60, 300]))
    ]
    if seed % 2:
        pairs.sort(key=lambda pair: pair[0])
    return pairs, [i for i, pair in enumerate(pairs) if pair in pairs[:i]]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", seeds(20, step=3))
def test_the_first_row_of_all_is_named(seed: int, tmp_path: Path) -> None:
    pairs, repeat_rows = rows_of(seed)
    if not repeat_rows:
        pairs, repeat_rows = [*pairs, pairs[0]], [len(pairs)]
    scored_rows = [(query, doc, len(pairs) - i) for i, (query, doc) in enumerate(pairs)]
    run, qrels = tmp_path / "a.run", tmp_path / "qrels.txt"
    run.write_text("".join(f"{q} Q0 {d} 1 {score} t\n" for q, d, score in scored_rows))
    qrels.write_text("".join(f"{q} 0 {d} 1\n" for q, d in pairs))
    calls: list[Callable[[], Any]] = [
        lambda: evaluate(JUDGED, run, "AP"),
        lambda: evaluate(JUDGED, {"good": Run({"u1": ["d1"]}), "bad": read_run(run)}, "AP"),
        lambda: read_run(run).to_dict(),
        lambda: read_qrels(qrels),
        lambda: evaluate(JUDGED, Run(scored_rows), "AP"),
    ]
    for call in calls:
        with pytest.raises(DuplicateError) as caught:
            call()
        row_label = f"row {repeat_rows[0]}: "
        assert caught.value.line == repeat_rows[0] + 1 or row_label in str(caught.value)
        assert len(repeat_rows) == 1 or f"; {len(repeat_rows):,} rows" in caught.value.problem
    notes = evaluate(JUDGED, run, "AP", duplicates="first").notes
    note = next(note for note in notes if note.code == "duplicates")
    assert note.count == len(repeat_rows)
    assert f"a.run:{repeat_rows[0] + 1}: " in note.text


def test_check_names_the_first_too(tmp_path: Path) -> None:
    path = tmp_path / "clicks.csv"
    path.write_text("user,item\n" + "".join(f"{user},{doc}\n" for user, doc in PAIRS))
    findings = check(path, {"u1": ["a"]}).findings
    twice = next(finding for finding in findings if finding.code == "duplicate")
    assert (twice.line, twice.count) == (4, 3)


def test_pairs_without_a_grade_are_alike() -> None:
    with pytest.raises(InputError) as caught:
        evaluate(PAIRS, {"u1": ["a"]}, "AP")
    assert "alike" in str(caught.value.hint)
    graded_rows = [(user, doc, 1) for user, doc in PAIRS]
    with pytest.raises(InputError) as caught:
        evaluate(graded_rows, {"u1": ["a"]}, "AP")
    assert "alike" not in str(caught.value.hint)
