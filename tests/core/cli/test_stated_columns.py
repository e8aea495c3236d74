"""Columns are stated once for all files; each takes those that it has."""

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner, Result

from cranfield import Qrels, Run, check, compare, evaluate, read_qrels, read_run
from cranfield.cli import cli
from cranfield.errors import InputError, OptionError

QRELS = "reader,url,stars\nq1,d1,2\nq1,d2,0\nq2,d3,1\n"
OWN_RUN = "reader,url,guess\nq1,d2,0.9\nq1,d1,0.5\nq2,d3,0.4\n"
USUAL_RUN = OWN_RUN.replace("reader,url,guess", "query_id,doc_id,score")
COLUMNS = "query_id=reader,doc_id=url,relevance=stars,score=guess"
RR = (1 / 2 + 1) / 2  # d1 is second, d3 first
JUDGED = pd.DataFrame({"reader": ["q1", "q2"], "url": ["d1", "d3"], "stars": [2, 1]})
OWN = pd.DataFrame({"reader": ["q1", "q1", "q2"], "url": ["d2", "d1", "d3"], "guess": [3, 2, 1]})
USUAL = OWN.set_axis(["query_id", "doc_id", "score"], axis=1)
COLUMN_NAMES: dict[str, Any] = {"query_id": "reader", "doc_id": "url", "relevance": "stars"}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the files, which is the current one."""
    monkeypatch.chdir(tmp_path)
    contents = {"qrels.csv": QRELS, "own.csv": OWN_RUN, "usual.csv": USUAL_RUN}
    for name, text in contents.items():
        Path(name).write_text(text)
    return tmp_path


def invoke(*arguments: str) -> Result:
    """Return what a command prints."""
    return CliRunner().invoke(cli, list(arguments))


@pytest.mark.parametrize(
    "options",
    [
        ["--columns", COLUMNS],
        ["--columns", "query_id=reader", "--columns", "doc_id=url,relevance=stars,score=guess"],
        ["--columns", "query_id=reader,doc_id=url,qrels.relevance=stars,run.score=guess"],
        [
            "--columns",
            "query_id=reader,doc_id=url",
            "--qrels-columns",
            "relevance=stars",
            "--run-columns",
            "score=guess",
        ],
    ],
)
def test_statements_add_up(files: Path, options: list[str]) -> None:
    answer = invoke("evaluate", "qrels.csv", "own.csv", "-m", "RR", "--format", "json", *options)
    assert answer.exit_code == 0, answer.output
    assert f'"RR": {RR}' in answer.stdout
    assert '"columns"' not in answer.stdout.split('"notes"')[1]


def test_a_file_takes_the_columns_that_it_has(files: Path) -> None:
    arguments = ["qrels.csv", "own.csv", "usual.csv", "-m", "RR", "--columns", COLUMNS]
    answer = invoke("compare", *arguments)
    assert answer.exit_code == 0, answer.output
    assert answer.output.count(f"{RR:.4f}") == 2
    assert (
        "usual: usual.csv has no reader: query_id, no url: doc_id, no guess: score."
        in answer.output
    )


def test_a_column_that_no_file_has_is_refused_with_the_columns_of_all(files: Path) -> None:
    columns = COLUMNS.replace("guess", "gess")
    answer = invoke("evaluate", "qrels.csv", "own.csv", "-m", "RR", "--columns", columns)
    assert answer.exit_code == 2
    assert "score=gess: no file has a column 'gess' (did you mean 'guess'?)" in answer.output
    assert "qrels.csv: its columns are 'reader', 'url', 'stars'." in answer.output
    assert "own.csv: its columns are 'reader', 'url', 'guess'." in answer.output
    columns = COLUMNS.replace("reader", "readr")
    answer = invoke("evaluate", "qrels.csv", "own.csv", "-m", "RR", "--columns", columns)
    assert "no column 'readr' (did you mean 'reader'?)" in answer.output


def test_a_column_of_one_side_must_be_there(files: Path) -> None:
    columns = "query_id=reader,doc_id=url,relevance=stars,run.score=stars"
    answer = invoke("evaluate", "qrels.csv", "own.csv", "-m", "RR", "--columns", columns)
    assert answer.exit_code == 2
    assert "score=stars: no file has a column 'stars'" in answer.output
    with pytest.raises(InputError, match="relevance=guess: no file"):
        evaluate("qrels.csv", "own.csv", "RR", columns={**COLUMN_NAMES, "qrels.relevance": "guess"})


def test_a_name_may_have_a_column_in_each_file(files: Path) -> None:
    text = OWN_RUN.replace("reader,url,guess", "leser,adresse,punkte")
    Path("third.csv").write_text(text)
    columns = f"{COLUMNS},query_id=leser,doc_id=adresse,score=punkte"
    answer = invoke(
        "compare", "qrels.csv", "own.csv", "third.csv", "-m", "RR", "--columns", columns
    )
    assert answer.exit_code == 0, answer.output
    assert answer.output.count(f"{RR:.4f}") == 2
    Path("both.csv").write_text("reader,leser,url,guess\nq1,q1,d1,1\n")
    answer = invoke("evaluate", "qrels.csv", "both.csv", "-m", "RR", "--columns", columns)
    assert answer.exit_code == 2
    assert "query_id is stated twice" in answer.output


def test_trec_files_stand_beside_files_with_own_columns(files: Path) -> None:
    Path("qrels.txt").write_text("q1 0 d1 2\nq2 0 d3 1\n")
    columns = COLUMNS.replace("relevance=stars,", "")
    answer = invoke("evaluate", "qrels.txt", "own.csv", "-m", "RR", "--columns", columns)
    assert answer.exit_code == 0, answer.output
    assert f"{RR:.4f}" in answer.output
    numbers = "run.query_id=1,run.doc_id=3,run.score=2,query_id=reader,doc_id=url,relevance=stars"
    Path("run.txt").write_text("q1 0.9 d2\nq1 0.5 d1\nq2 0.4 d3\n")
    answer = invoke("evaluate", "qrels.csv", "run.txt", "-m", "RR", "--columns", numbers)
    assert answer.exit_code == 0, answer.output
    assert f"{RR:.4f}" in answer.output


def test_tables_in_memory_take_the_columns_that_they_have() -> None:
    columns = {**COLUMN_NAMES, "run.score": "guess"}
    systems = evaluate(JUDGED, {"own": OWN, "usual": USUAL}, "RR", columns=columns)
    assert [systems[name]["RR"] for name in ("own", "usual")] == [RR, RR]
    notes = [str(note) for note in systems.notes if note.code == "columns"]
    assert notes == ["usual: the run has no reader: query_id, no url: doc_id, no guess: score."]
    polars_run = pl.from_pandas(OWN)
    assert evaluate(JUDGED, polars_run, "RR", columns=columns)["RR"] == RR
    rows: Any = OWN.to_dict("records")
    assert evaluate(JUDGED, rows, "RR", columns=columns)["RR"] == RR
    columns_of_side = {
        "qrels": COLUMN_NAMES,
        "run": {"query_id": "reader", "doc_id": "url", "score": "guess"},
    }
    assert evaluate(JUDGED, OWN, "RR", columns=columns_of_side)["RR"] == RR
    with pytest.raises(InputError, match=r"score=gess: no file .* mean 'guess'"):
        compare(JUDGED, [OWN, USUAL], "RR", columns={**COLUMN_NAMES, "score": "gess"})
    with pytest.raises(InputError, match="no column 'gess'"):
        Run(OWN, columns={"query_id": "reader", "doc_id": "url", "score": "gess"})


def test_every_verb_refuses_a_column_that_no_file_has() -> None:
    with pytest.raises(InputError, match="no file has a column 'stras'"):
        check(JUDGED.assign(relevance=1), columns={**COLUMN_NAMES, "relevance": "stras"})
    with pytest.raises(OptionError, match="not read yet"):
        evaluate(Qrels({"q": {"d": 1}}), Run({"q": {"d": 1.0}}), "RR", columns=COLUMN_NAMES)


def test_judgments_to_convert_are_told_by_the_statements(files: Path) -> None:
    columns = ["--columns", "query_id=reader,doc_id=url,relevance=stars"]
    answer = invoke("convert", "qrels.csv", "out.qrels", *columns)
    assert "wrote 3 rows" in answer.output
    assert Path("out.qrels").read_text() == "q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\n"
    answer = invoke("convert", "own.csv", "out.run", "--columns", "query_id=reader,doc_id=url")
    assert answer.exit_code == 2  # `guess` is no grade
    columns = ["--columns", "query_id=reader,doc_id=url,run.score=guess"]
    assert "wrote 3 rows" in invoke("convert", "own.csv", "out.run", *columns).output
    assert Path("out.run").read_text().startswith("q1 Q0 d2 1 0.9 ")


def test_convert_reads_all_files_by_the_same_statements(files: Path) -> None:
    Path("new.csv").write_text("reader,url,stars\nq2,d9,1\n")
    columns = ["--columns", COLUMNS]
    answer = invoke("convert", "qrels.csv", "out.qrels", "--merge", "new.csv", *columns)
    assert "wrote 4 rows" in answer.output, answer.output
    Path("seen.csv").write_text("reader,url\nq1,d2\n")
    answer = invoke("convert", "own.csv", "out.run", "--run", "--without", "seen.csv", *columns)
    assert "1 of 3 rows removed" in answer.output, answer.output
    answer = invoke("convert", "own.csv", "out.run", "--run", "--only", "new.csv", *columns)
    assert "wrote 0 rows" in answer.output or answer.exit_code == 2
    Path("new.csv").write_text("reader,url,stars\nq1,d1,1\n")
    answer = invoke("convert", "own.csv", "out.run", "--run", "--only", "new.csv", *columns)
    assert "wrote 1 rows" in answer.output, answer.output


def test_a_number_beside_ranks_is_asked(files: Path) -> None:
    Path("spans.csv").write_text("query_id,position,doc_id,score\nq1,1,d2,0\nq1,2,d1,3\n")
    answer = invoke("evaluate", "spans.csv", "-m", "RR")
    assert answer.exit_code == 2
    assert "--columns relevance=score" in answer.output
    answer = invoke("evaluate", "spans.csv", "-m", "RR", "--columns", "relevance=score")
    assert f"{1 / 2:.4f}" in answer.output, answer.output


def test_a_grade_called_score_is_of_the_judgments_alone(files: Path) -> None:
    Path("grades.csv").write_text("query_id,doc_id,score\nq1,d1,2\nq2,d3,1\n")
    columns = "relevance=score"
    answer = invoke("evaluate", "grades.csv", "usual.csv", "-m", "RR", "--columns", columns)
    assert answer.exit_code == 0, answer.output
    assert f"{RR:.4f}" in answer.output


def test_help_shows_one_option() -> None:
    help_text = invoke("evaluate", "--help").output
    assert "--columns NAME=COLUMN" in help_text
    assert "--qrels-columns" not in help_text
    assert "--run-columns" not in help_text


@pytest.mark.parametrize(
    "columns",
    [
        {"run.score": "guess", "qrels.relevance": "stars", "query_id": "reader", "doc_id": "url"},
        {
            "run": {"query_id": "reader", "doc_id": "url", "score": "guess"},
            "qrels": {"query_id": "reader", "doc_id": "url", "relevance": "stars"},
        },
    ],
    ids=["names", "dicts"],
)
def test_one_side_alone_takes_its_own_statements(files: Path, columns: Any) -> None:
    run = {"q1": {"d2": 3.0, "d1": 2.0}, "q2": {"d3": 1.0}}
    assert Run(OWN, columns=columns).to_dict() == run
    assert Run(OWN.to_dict("records"), columns=columns).to_dict() == run
    assert [*read_run("own.csv", columns=columns).to_dict()["q1"].values()] == [0.9, 0.5]
    assert Qrels(JUDGED, columns=columns).to_dict() == {"q1": {"d1": 2}, "q2": {"d3": 1}}
    grades = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}}
    assert read_qrels("qrels.csv", columns=columns).to_dict() == grades
    both = OWN.assign(score=7, stars=1)
    columns = {"query_id": "reader", "doc_id": "url", "qrels.relevance": "score"}
    assert Qrels(both, columns=columns).grade.tolist() == [7, 7, 7]
    with pytest.raises(OptionError, match=r"'scor' is not known \(did you mean 'score'"):
        Run(OWN, columns={"run.scor": "guess"})
