"""Judgments in SVMlight's form, and runs that are a number for each of their rows."""

import gzip
import random
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke

from cranfield import InputError, OptionError, compare, evaluate, read_qrels, read_run
from cranfield.formats.block import SIZES

ROWS = ["2 qid:b 1:0.5 7:1", "0 qid:b 1:0.25", "1 qid:a 3:2", "0 qid:a"]
COMMENTS = {
    "nothing": (["", "", "", ""], ["#1", "#2", "#1", "#2"]),
    "words": ([" # d1", " #d2 second", "#\td3", " # d4 # x"], ["d1", "d2", "d3", "d4"]),
    "LETOR": (
        [f" #docid = GX{i} inc = 1 prob = 0.{i}" for i in range(4)],
        ["GX0", "GX1", "GX2", "GX3"],
    ),
    "docid without blanks": ([f" # docid=G{i}" for i in range(4)], ["G0", "G1", "G2", "G3"]),
    "some": ([" # d1", "", " #", " # d4"], ["d1", "#2", "#1", "d4"]),
}


def write(folder: Path, name: str, lines: list[str], end: str = "\n") -> str:
    path = folder / name
    path.write_bytes("".join(line + end for line in lines).encode())
    return str(path)


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"])
@pytest.mark.parametrize(("comments", "docs"), COMMENTS.values(), ids=COMMENTS)
def test_the_comment_names_the_document_or_its_place_does(
    tmp_path: Path, comments: list[str], docs: list[str], end: str
) -> None:
    lines = [row + comment for row, comment in zip(ROWS, comments, strict=True)]
    path = write(tmp_path, "a.txt", ["# made by hand", "", *lines], end)
    judgments = read_qrels(path)
    assert judgments.to_dict() == {
        "b": {docs[0]: 2, docs[1]: 0},
        "a": {docs[2]: 1, docs[3]: 0},
    }
    run = write(tmp_path, "a.scores", ["0.1", "7", "-1e-3", "-2"])
    assert evaluate(path, run, "RR").per_query("RR") == {"b": 1 / 2, "a": 1}
    assert evaluate(judgments, read_run(run), "RR")["RR"] == 3 / 4
    assert evaluate(judgments, {"other": run}, "RR")["other"]["RR"] == 3 / 4


def loop_over_ranks(rows: list[tuple[str, int, float]]) -> dict[str, float]:
    """Return 1 / rank of the first relevant row of each query."""
    value_of_query = {}
    for query in {query for query, _, _ in rows}:
        ranked = sorted((-score, grade) for other, grade, score in rows if other == query)
        ranks = [rank for rank, (_, grade) in enumerate(ranked, 1) if grade > 0]
        value_of_query[query] = 1 / ranks[0] if ranks else 0
    return value_of_query


@pytest.mark.parametrize("size", [64, 2 << 20])
@pytest.mark.parametrize("is_mixed", [False, True])
@pytest.mark.parametrize("is_compressed", [False, True])
def test_rows_may_lie_apart_and_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, is_mixed: bool, is_compressed: bool
) -> None:
    monkeypatch.setattr(SIZES, "bytes", size)
    draw = random.Random(7)
    rows = [(f"q{i // 5}", draw.choice([0, 0, 1]), draw.random()) for i in range(200)]
    if is_mixed:
        draw.shuffle(rows)
    lines = [f"{grade} qid:{query} 1:{score}" for query, grade, score in rows]
    path = write(tmp_path, "a.svm", lines)
    if is_compressed:
        Path(path).write_bytes(gzip.compress(Path(path).read_bytes()))
    run = write(tmp_path, "a.txt", [repr(score) for _, _, score in rows])
    assert evaluate(path, run, "RR").per_query("RR") == loop_over_ranks(rows)


def test_fractions_are_grades(tmp_path: Path) -> None:
    path = write(tmp_path, "a.svm", ["0.5 qid:1 1:1", "0 qid:1 1:2"])
    assert read_qrels(path).to_dict() == {"1": {"#1": 0.5, "#2": 0}}


def test_a_trec_run_and_numbers_are_compared(tmp_path: Path) -> None:
    lines = [f"{row} # d{i}" for i, row in enumerate(ROWS)]
    qrels = write(tmp_path, "a.svm", lines)
    numbers = write(tmp_path, "a.txt", ["2", "1", "1", "2"])
    ranked = ["b Q0 d0 1 9 t", "b Q0 d1 2 8 t", "a Q0 d3 1 2 t", "a Q0 d2 2 1 t"]
    run = write(tmp_path, "b.run", ranked)
    rows = compare(qrels, [numbers, run], "RR").rows()
    assert [row["mean"] for row in rows] == [3 / 4]
    assert evaluate(qrels, numbers, "RR")["RR"] == evaluate(qrels, run, "RR")["RR"] == 3 / 4


@pytest.mark.parametrize("numbers", [["1"], ["1", "2", "3"], ["1", "2", "3", "4", "5"]])
def test_another_number_of_numbers_is_refused_with_both(tmp_path: Path, numbers: list[str]) -> None:
    qrels, run = write(tmp_path, "a.svm", ROWS), write(tmp_path, "a.txt", numbers)
    with pytest.raises(InputError, match=rf"a\.txt: holds {len(numbers)} numbers, and .*a\.svm 4"):
        evaluate(qrels, run, "RR")


def test_numbers_beside_other_judgments_are_refused(tmp_path: Path) -> None:
    run = write(tmp_path, "a.txt", ["1", "2"])
    with pytest.raises(InputError, match=r"expected 6 columns: .*; got 1"):
        evaluate({"1": {"1": 1}}, run, "RR")


OTHER_RUNS = {
    "json": ("a.json", '{"b":{"#1":0.5,"#2":0.9},"a":{"#1":1}}'),
    "csv": ("a.csv", "qid,docno,score\nb,#1,0.5\nb,#2,0.9\na,#1,1"),
    "json lines": (
        "a.jsonl",
        '{"qid":"b","docno":"#2","rank":1}\n{"qid":"b","docno":"#1","rank":2}\n'
        '{"qid":"a","docno":"#1","rank":1}',
    ),
    "three columns": ("a.txt", "b #1 0.5\nb #2 0.9\na #1 0.5"),
}


@pytest.mark.parametrize(("name", "text"), OTHER_RUNS.values(), ids=OTHER_RUNS)
def test_any_other_run_may_stand_beside_them(tmp_path: Path, name: str, text: str) -> None:
    qrels, run = write(tmp_path, "a.svm", ROWS), write(tmp_path, name, [text])
    assert evaluate(qrels, run, "RR")["RR"] == 3 / 4
    runs: Any = {"file": run, "dict": {"b": ["#2", "#1"], "a": ["#1"]}}
    assert [scores["RR"] for scores in evaluate(qrels, runs, "RR").values()] == [3 / 4, 3 / 4]


@pytest.mark.linux
def test_ranklibs_scores_are_refused_with_what_to_type(tmp_path: Path) -> None:
    qrels = write(tmp_path, "a.svm", ROWS)
    run = write(tmp_path, "a.txt", ["b\t0\t0.4", "b\t1\t0.9", "a\t0\t0.3", "a\t1\t0.1"])
    with pytest.raises(InputError, match="numbers of rows in the place of documents") as caught:
        evaluate(qrels, run, "RR")
    assert "cut -f3 FILE > scores.txt" in (caught.value.hint or "")
    scores = [line.split("\t")[2] for line in Path(run).read_text().splitlines()]  # as cut does
    assert evaluate(qrels, write(tmp_path, "b.txt", scores), "RR")["RR"] == 3 / 4


def test_lines_without_a_query_are_refused(tmp_path: Path) -> None:
    for line in ("1 1:0.5 2:0.5", "1 1:0.5", "1 a b", "x qid:1 1:2"):
        path = write(tmp_path, "a.svm", [*ROWS, line])
        with pytest.raises(InputError, match=r"a\.svm:5: expected (columns|a number)"):
            read_qrels(path)
    with pytest.raises(InputError, match="expected columns: grade qid:query"):
        read_qrels(write(tmp_path, "b.txt", ["1 0 d1 1 5"]), "svmlight")


def test_a_word_for_several_rows_is_refused_with_the_rule(tmp_path: Path) -> None:
    path = write(tmp_path, "a.svm", [f"{row} # good" for row in ROWS])
    with pytest.raises(InputError, match="The document is the first word behind #"):
        read_qrels(path)


def test_they_are_not_written(tmp_path: Path) -> None:
    judgments = read_qrels(write(tmp_path, "a.svm", ROWS))
    with pytest.raises(OptionError, match="is only read"):
        judgments.write(tmp_path / "a.txt", format="svmlight")
    judgments.write(tmp_path / "a.tsv")
    assert read_qrels(tmp_path / "a.tsv").to_dict() == judgments.to_dict()


def test_the_command_reads_them(tmp_path: Path) -> None:
    files = [write(tmp_path, "a.svm", ROWS), write(tmp_path, "a.txt", ["1", "2", "3", "4"])]
    options: Any = ["-m", "RR", "--format", "csv", "--qrels-format", "svmlight"]
    process = invoke("evaluate", *files, *options)
    assert process.exit_code == 0
    assert "0.5" in process.stdout
    checked = invoke("check", *files)
    assert "0 errors" in checked.stdout
