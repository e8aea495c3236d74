"""Long lines, wide tables and very many blanks: read, or refused as what they are."""

import json
from pathlib import Path

import pytest
from helpers.profile import is_full

from cranfield import InputError, Run, evaluate, read_run
from cranfield.formats.text import LONGEST_LINE

QRELS = {"q1": {"d1": 1, "d2": 2}}
ROWS = [("q1", "d1", 2.0), ("q1", "d2", 1.0), ("q2", "d1", 1.0)]


def score(path: Path, content: str) -> float:
    path.write_text(content)
    return evaluate(QRELS, read_run(path), "nDCG")["nDCG"]


EXPECTED = evaluate(QRELS, Run(ROWS), "nDCG")["nDCG"]


def join_cells(n: int, separator: str, ids_last: bool) -> str:
    """Return a table with so many other columns."""
    lines = []
    for ids, other_cells in (
        (("query_id", "doc_id", "score"), [f"column {i}" for i in range(n)]),
        *((tuple(map(str, row)), ["0"] * n) for row in ROWS),
    ):
        lines.append(separator.join([*other_cells, *ids] if ids_last else [*ids, *other_cells]))
    return "\n".join(lines) + "\n"


def objects(n: int) -> list[str]:
    other_keys = {f"key {i}": i for i in range(n)}
    names = ("query_id", "doc_id", "score")
    return [json.dumps({**other_keys, **dict(zip(names, row, strict=True))}) for row in ROWS]


@pytest.mark.parametrize("ids_last", [False, True])
@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("tsv", "\t")])
def test_a_header_longer_than_the_sample_is_read(
    suffix: str, separator: str, ids_last: bool, tmp_path: Path
) -> None:
    content = join_cells(12_000, separator, ids_last)
    assert 1 << 16 < content.index("\n") < LONGEST_LINE
    assert score(tmp_path / f"run.{suffix}", content) == EXPECTED


@pytest.mark.parametrize("suffix", ["jsonl", "run"])
def test_a_long_line_of_json_is_read(suffix: str, tmp_path: Path) -> None:
    content = "\n".join(objects(12_000))
    assert 1 << 16 < content.index("\n") < LONGEST_LINE
    assert score(tmp_path / f"run.{suffix}", content) == EXPECTED


@pytest.mark.parametrize("above", ["", "\n\n"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "run"])
def test_a_line_that_is_too_long_is_refused_as_that(
    suffix: str, above: str, tmp_path: Path
) -> None:
    if suffix == "jsonl":
        content = "\n".join(objects(100_000))
    elif suffix == "run":
        content = "".join(f"{q} Q0 {d} 1 {s} tag" + " x" * 600_000 + "\n" for q, d, s in ROWS)
    else:
        content = join_cells(120_000, "," if suffix == "csv" else "\t", ids_last=False)
    path = tmp_path / f"run.{suffix}"
    with pytest.raises(InputError, match=r"the line is longer than 1,048,576 bytes") as caught:
        score(path, above + content)
    assert caught.value.line == 1 + len(above)
    assert caught.value.text is not None
    assert content.startswith(caught.value.text[:500])
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("n", [20_000, 1_000_000])
def test_many_columns_behind_those_of_a_run_are_passed_over(n: int, tmp_path: Path) -> None:
    lines = [f"{q} Q0 {d} 1 {s} tag" + " x" * (n * (s == 1.0)) for q, d, s in ROWS[:2]]
    assert score(tmp_path / "run", "\n".join(lines) + "\n") == EXPECTED


def test_how_many_columns_there_are_is_said(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("q1 Q0 d1 1 2.0 tag\nq1 Q0 my d2 2 1.0 tag" + " x" * 100_000)
    with pytest.raises(InputError, match=r"got 100007, and column 4 is not a rank"):
        evaluate(QRELS, read_run(path), "AP")


@pytest.mark.parametrize("n", [3_000_000])
def test_a_text_of_megabytes_in_json_is_read(n: int, tmp_path: Path) -> None:
    run = {"q1": {"d1": 2.0, "d2": 1.0, "d" * n: 0.5}, "q" * n: {"d1": 1.0}}
    assert score(tmp_path / "run.json", json.dumps(run)) == EXPECTED


def test_json_that_goes_on_names_json_lines(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="continues after the end") as caught:
        score(tmp_path / "run.json", '{"q1": {"d1": 1}}\n{"q2": {"d1": 1}}\n')
    assert "format='jsonl'" in str(caught.value)


@pytest.mark.parametrize("blank", [" ", "\n", "\t\r\n", "# a comment\n"])
@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "run"])
def test_blanks_without_an_end_are_refused_as_that(suffix: str, blank: str, tmp_path: Path) -> None:
    content = blank * (20_000_000 // len(blank)) + '{"q1": {"d1": 2.0, "d2": 1.0}}'
    with pytest.raises(InputError, match="holds no data in its first 16,777,216 bytes"):
        score(tmp_path / f"run.{suffix}", content)


@pytest.mark.parametrize("blank", ["\n", "\r\n", " \n", "\n  \n"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_very_many_blank_lines_are_passed_over(blank: str, at: int, tmp_path: Path) -> None:
    """And the numbers of the lines below are right."""
    lines = [f"{q} Q0 {d} 1 {s} tag" for q, d, s in ROWS]
    n = (5_000_000 if is_full() else 500_000) // len(blank)
    blanks = blank * n
    content = "\n".join(lines[:at]) + "\n" + blanks + "\n".join([*lines[at:], ""])
    assert score(tmp_path / "run", content) == EXPECTED
    with pytest.raises(InputError) as caught:
        score(tmp_path / "run", content + "q3 Q0 d1 1 no-score tag\n")
    assert caught.value.line == 4 + blanks.count("\n")
    assert caught.value.text == "q3 Q0 d1 1 no-score tag"


def test_an_error_about_a_long_id_is_short() -> None:
    with pytest.raises(InputError) as caught:
        evaluate(QRELS, {"q" * 1_000_000: {"d1": 1.0}}, "AP")
    assert len(str(caught.value)) < 5000
