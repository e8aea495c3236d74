"""Exclusions: which documents of a table `without` leaves out, and what it says of them."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke

from cranfield import InputError, OptionError, Run, evaluate, read_run
from cranfield.errors import CranfieldWarning, NothingSharedError
from cranfield.formats.block import SIZES

SCORES = {"0": {"x": 0.9, "a": 0.8, "y": 0.7}, "1": {"x": 0.9, "b": 0.8}}
WITHOUT_X = {"0": {"a": 0.8, "y": 0.7}, "1": SCORES["1"]}
GOLD = [{"id": "0", "gold_ids": ["a"]}, {"id": "1", "gold_ids": ["b"]}]
WITHOUT_GOLD = {"0": {"x": 0.9, "y": 0.7}, "1": {"x": 0.9}}
BRIGHT = [
    {**row, "excluded_ids": excluded_ids}
    for row, excluded_ids in zip(GOLD, (["x"], ["N/A"]), strict=True)
]
QUESTIONS = [{**row, "query": text} for row, text in zip(BRIGHT, ("why", "how"), strict=True)]


@pytest.fixture
def run() -> Run:
    return Run(SCORES, "w")


def write_table(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as JSON lines, or separated by the commas or tabs of the path's suffix."""
    if path.suffix == ".jsonl":
        lines = list(map(json.dumps, rows))
    else:
        separator = "\t" if path.suffix == ".tsv" else ","
        cells = [
            [";".join(cell) if isinstance(cell, list) else cell for cell in row.values()]
            for row in rows
        ]
        lines = list(map(separator.join, [list(rows[0]), *cells]))
    path.write_text("\n".join(lines) + "\n")
    return path


def convert(folder: Path, *arguments: str) -> tuple[str, dict[str, dict[str, float]]]:
    """Convert the run by the command line; return what it says, and the run that it writes."""
    (folder / "w.json").write_text(json.dumps(SCORES))
    paths = str(folder / "w.json"), str(folder / "o.run")
    invocation = invoke("convert", *paths, "--run", *arguments)
    assert invocation.exit_code == 0, invocation.stderr
    return invocation.stderr, read_run(folder / "o.run").to_dict()


SUFFIXES = ("jsonl", "csv", "tsv")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_excluded_ids_are_left_out_and_gold_ids_stay(tmp_path: Path, run: Run, suffix: str) -> None:
    path = write_table(tmp_path / f"w1.{suffix}", BRIGHT)
    assert run.without(path).to_dict() == WITHOUT_X
    message, lines = convert(tmp_path, "--without", str(path))
    assert lines == WITHOUT_X
    assert "1 of 5 rows removed" in message
    assert "4 of 5 rows left" in message


@pytest.mark.parametrize(
    "name", ["excluded_ids", "excluded", "seen_ids", "seen", "seen_items", "history", "train_ids"]
)
def test_each_name_of_exclusions_is_taken_before_a_document(run: Run, name: str) -> None:
    rows = [{"user": "0", "item": "a", name: ["x"]}, {"user": "1", "item": "b", name: []}]
    assert run.without(rows).to_dict() == WITHOUT_X


@pytest.mark.parametrize("name", ["gold_ids", "expected_ids", "retrieved_ids", "relevant_docs"])
def test_expected_or_retrieved_documents_are_no_exclusions(run: Run, name: str) -> None:
    rows = [{"id": row["id"], name: row["gold_ids"]} for row in GOLD]
    with pytest.raises(InputError, match=f"--columns query_id=id,excluded_ids={name}"):
        run.without(rows)
    assert run.without(rows, columns={"excluded_ids": name}).to_dict() == WITHOUT_GOLD


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_remedy_for_gold_ids_works_as_it_is_printed(tmp_path: Path, suffix: str) -> None:
    rows = [
        {"id": row["id"], "query": row["query"], "gold_ids": row["gold_ids"]} for row in QUESTIONS
    ]
    path = str(write_table(tmp_path / f"w7.{suffix}", rows))
    (tmp_path / "w.json").write_text(json.dumps(SCORES))
    paths = str(tmp_path / "w.json"), str(tmp_path / "o.run")
    invocation = invoke("convert", *paths, "--run", "--without", path)
    remedy = "query_id=id,excluded_ids=gold_ids"
    assert f"--columns {remedy}." in invocation.stderr
    message, lines = convert(tmp_path, "--without", path, "--columns", remedy)
    assert lines == WITHOUT_GOLD
    assert "2 of 5 rows" in message
    assert "3 of 5 rows left" in message


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_query_beside_its_text_is_asked_for(tmp_path: Path, run: Run, suffix: str) -> None:
    path = write_table(tmp_path / f"excl.{suffix}", QUESTIONS)
    with pytest.raises(InputError, match="'id' and 'query' may both be the query_id"):
        run.without(path)
    assert run.without(path, columns={"query_id": "id"}).to_dict() == WITHOUT_X


def test_two_columns_of_exclusions_are_asked_for(run: Run) -> None:
    rows = [{"id": "0", "excluded_ids": ["x"], "seen": ["a"]}]
    with pytest.raises(InputError, match="'excluded_ids' and 'seen' may both"):
        run.without(rows)
    remaining = run.without(rows, columns={"excluded_ids": "seen"}).to_dict()
    assert remaining == {"0": {"x": 0.9, "y": 0.7}, "1": SCORES["1"]}


def test_other_columns_are_not_asked_about(tmp_path: Path, run: Run) -> None:
    pandas = pytest.importorskip("pandas")
    train = pandas.DataFrame({"user_id": ["0"], "item_id": ["x"], "price": [9.5], "rating": [None]})
    assert run.without(train).to_dict() == WITHOUT_X
    train.to_csv(tmp_path / "train.csv", index=False)
    assert convert(tmp_path, "--without", str(tmp_path / "train.csv"))[1] == WITHOUT_X


def test_columns_by_number_need_no_header(tmp_path: Path, run: Run) -> None:
    (tmp_path / "train.csv").write_text("0,2024,x\n1,2024,q\n")
    columns = {"query_id": 1, "excluded_ids": 3}
    assert run.without(tmp_path / "train.csv", columns=columns).to_dict() == WITHOUT_X
    with pytest.raises(InputError, match="by names or numbers of columns"):
        run.without(tmp_path / "train.csv")


def test_columns_of_exclusions_are_not_those_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("query_id,doc_id,score\n0,x,0.9\n0,a,0.8\n")
    gold = str(write_table(tmp_path / "gold.csv", GOLD))
    invocation = invoke(
        *("convert", str(tmp_path / "run.csv"), str(tmp_path / "o.run")),
        *("--without", gold, "--columns", "query_id=id,excluded_ids=gold_ids"),
    )
    assert invocation.exit_code == 0, invocation.stderr
    assert read_run(tmp_path / "o.run").to_dict() == {"0": {"x": 0.9}}


def test_columns_need_a_table(run: Run) -> None:
    with pytest.raises(OptionError, match="columns= is for a table"):
        run.without({"0": ["x"]}, columns={"excluded_ids": "seen"})


@pytest.mark.parametrize(
    ("exclusions", "example"),
    [({"q0": ["x"]}, "q0"), ([{"id": "why", "seen": ["x"]}], "why")],
)
def test_exclusions_of_other_queries_are_refused(run: Run, exclusions: Any, example: str) -> None:
    with pytest.raises(NothingSharedError, match=f"share no query: .* '0', .* '{example}'"):
        run.without(exclusions)
    with pytest.raises(NothingSharedError, match="share no query"):
        run.without(queries=["q0"])


def test_queries_that_are_written_otherwise_are_named(run: Run) -> None:
    with pytest.raises(NothingSharedError, match="leading zeros"):
        run.without({"7": ["x"], "01": ["x"]})


@pytest.mark.parametrize("exclusions", [{"0": ["z"]}, ["z"], [{"id": "0", "seen": []}]])
def test_a_warning_says_that_nothing_was_removed(run: Run, exclusions: Any) -> None:
    with pytest.warns(CranfieldWarning, match="0 of 5 rows removed"):
        remaining = run.without(exclusions)
    assert remaining.to_dict() == SCORES


def test_the_command_warns_if_nothing_was_removed(tmp_path: Path) -> None:
    path = write_table(tmp_path / "none.jsonl", [{"id": "0", "excluded_ids": ["z"]}])
    message, lines = convert(tmp_path, "--without", str(path))
    assert f"warning: {path}: 0 of 5 rows" in message
    assert lines == SCORES


def test_rows_of_a_query_that_comes_back_are_counted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SIZES, "rows", 4)
    rows = [(f"q{i % 3}", f"d{i}", -float(i)) for i in range(12)]
    with pytest.warns(CranfieldWarning, match="0 of 12 rows removed"):
        Run(rows).without({"q1": ["D0"]})
    notes = Run(rows).without({"q1": ["d1"]}).rows.notes
    (text,) = [note.text for note in notes]
    assert text == "1 of 12 rows removed, in 1 query: 11 of 12 rows left."


def test_results_say_how_many_rows_were_removed(run: Run) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = evaluate({"0": {"a": 1}}, run.without({"0": ["x"]}).top(2), "P@1")
    assert scores["P@1"] == 1
    texts = [note.text for note in scores.notes]
    assert "1 of 5 rows removed, in 1 query: 4 of 5 rows left." in texts


def test_judgments_without_queries_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\n")
    for text, status, words in (
        ("query_id\nq1\n", 0, "1 of 3 rows left"),
        ("query_id\nq9\n", 2, "lists no query of the judgments"),
    ):
        (tmp_path / "ids.txt").write_text(text)
        arguments = ("convert", str(tmp_path / "a.qrels"), str(tmp_path / "o.qrels"))
        invocation = invoke(*arguments, "--without", str(tmp_path / "ids.txt"))
        assert (invocation.exit_code, words in invocation.stderr) == (status, True), (
            invocation.stderr
        )


def test_stated_columns_settle_which_of_a_tsv_is_the_query(tmp_path: Path) -> None:
    path = tmp_path / "both.tsv"
    path.write_text("id\tquestion\texpected_ids\tretrieved_ids\n1\twhy\ta\ta;b\n")
    invocation = invoke("evaluate", str(path), "-m", "P@1", "--columns", "query_id=id")
    assert invocation.exit_code == 0, invocation.stderr
    assert "1.0" in invocation.stdout


def test_a_flag_beside_the_document_is_asked_about(tmp_path: Path) -> None:
    run = Run({"u1": {"1": 3.0, "7": 2.0}})
    rows = [{"user_id": "u1", "item_id": "7", "seen": 1}]
    with pytest.raises(InputError, match="'seen' and 'item_id' may both be the excluded_ids"):
        run.without(rows)
    assert run.without(rows, columns={"excluded_ids": "item_id"}).to_dict() == {"u1": {"1": 3.0}}


@pytest.mark.parametrize("empty_exclusions", [{}, {"q1": []}])
def test_no_exclusions_remove_nothing_without_a_warning(empty_exclusions: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Run({"q1": {"a": 1.0}}).without(empty_exclusions).to_dict() == {"q1": {"a": 1.0}}
