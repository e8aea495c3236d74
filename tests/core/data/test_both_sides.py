"""Rows that hold both sides: expected and retrieved documents, in every form; names of columns."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.commands import invoke, run_command
from helpers.notes import codes
from pyarrow import parquet

from cranfield import (
    InputError,
    MeasureError,
    OptionError,
    Qrels,
    Run,
    Scores,
    check,
    compare,
    evaluate,
    explain,
    gate,
    parse,
    read_qrels,
    read_run,
)
from cranfield.errors import DuplicateError

ROWS: list[dict[str, Any]] = [
    {"question": "How?", "expected_ids": ["a", "b"], "retrieved_ids": ["x", "a", "y"]},
    {"question": "Why so?", "expected_ids": ["c"], "retrieved_ids": ["c", "a"]},
]
RECALL = {"How?": 1 / 2, "Why so?": 1 / 1}
RR = {"How?": 1 / 2, "Why so?": 1 / 1}


def as_csv(rows: list[dict[str, Any]], cell: Callable[[list[str]], str], separator: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([cell(v) if isinstance(v, list) else v for v in row.values()] for row in rows)
    return out.getvalue()


def write_tables(rows: list[dict[str, Any]], folder: Path) -> dict[str, Path]:
    """Return files of the rows, in every format that has columns."""
    texts = {
        "a.json": json.dumps(rows),
        "b.json": json.dumps(rows, indent=2),
        "a.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "json.csv": as_csv(rows, json.dumps, ","),
        "python.csv": as_csv(rows, repr, ","),
        "semicolons.csv": as_csv(rows, ";".join, ","),
        "semicolons.tsv": as_csv(rows, ";".join, "\t"),
    }
    paths = {name: folder / name for name in [*texts, "a.parquet", "a.arrow"]}
    for name, text in texts.items():
        paths[name].write_text(text)
    table = pa.Table.from_pylist(rows)
    parquet.write_table(table, paths["a.parquet"])
    with pa.ipc.new_file(paths["a.arrow"], table.schema) as writer:
        writer.write_table(table)
    return paths


FRAMES: dict[str, Callable[[Any], Any]] = {
    "dicts": list,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.Table.from_pylist,
    "pandas, texts": lambda rows: pd.DataFrame(
        [{k: repr(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows]
    ),
    "tuples as lists": lambda rows: [
        {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows
    ],
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_table_of_both_sides_stands_alone(make: Any) -> None:
    table = make(ROWS)
    for scores in (
        evaluate(table, "recall@5 RR"),
        evaluate(table, measures="recall@5 RR"),
        evaluate(table, None, ["recall@5", "RR"]),
        evaluate(table, table, "recall@5 RR"),
        evaluate(Qrels(table), Run(table), "recall@5 RR"),
    ):
        assert isinstance(scores, Scores)
        assert scores.per_query("R@5") == RECALL
        assert scores.per_query("RR") == RR
        assert codes(scores) == []  # that what is expected is relevant goes without saying


def test_a_file_of_both_sides_stands_alone(tmp_path: Path) -> None:
    for path in write_tables(ROWS, tmp_path).values():
        assert evaluate(path, "recall@5").per_query("R@5") == RECALL, path
        assert evaluate(str(path), str(path), "RR").per_query("RR") == RR, path
        assert read_qrels(path).to_dict() == {"How?": {"a": 1, "b": 1}, "Why so?": {"c": 1}}
        invocation = invoke("evaluate", str(path), "-m", "recall@5", "--format", "json")
        assert invocation.exit_code == 0, invocation.output
        [run_scores] = json.loads(invocation.stdout)["runs"]
        assert run_scores["all"] == {"R@5": (1 / 2 + 1) / 2}


def test_a_pipe_of_both_sides_is_read_once() -> None:
    process = run_command(
        "evaluate", "-", "-m", "recall@5", "--format", "csv", input=json.dumps(ROWS)
    )
    assert (process.returncode, process.stdout.split(",")[-1].strip()) == (0, repr((1 / 2 + 1) / 2))


def test_scores_and_grades_beside_the_lists() -> None:
    rows = [
        {
            "id": 7,
            "relevant_ids": [1, 2, 3],
            "grades": [3, 1, 0],
            "label": "easy",
            "retrieved_ids": [1, 2, 3],
            "scores": [0.1, 0.9, 0.5],
            "score": 0.2,
        }
    ]
    for table in (rows, pd.DataFrame(rows)):
        assert Qrels(table).to_dict() == {"7": {"1": 3, "2": 1, "3": 0}}
        assert Run(table).to_dict() == {"7": {"1": 0.1, "2": 0.9, "3": 0.5}}
        assert codes(evaluate(table, "nDCG@5")) == []
        assert evaluate(table, "RR(rel=3)")["RR(rel=3)"] == 1 / 3


def test_long_rows_with_a_grade_and_a_score_hold_both_sides() -> None:
    rows = [("q", "a", 0, 0.9), ("q", "b", 2, 0.5), ("r", "c", 1, 0.1)]
    frame = pd.DataFrame(rows, columns=["qid", "docid", "label", "score"])
    scores = evaluate(frame, "RR")
    assert scores.per_query("RR") == {"q": 1 / 2, "r": 1.0}
    assert "judged-retrieved" in codes(scores)
    with pytest.raises(InputError, match="does not hold judgments and a run side by side; its"):
        evaluate(frame.drop(columns="score"), "RR")


# ---- several tables ----------------------------------------

OTHER = [{**row, "retrieved_ids": ["z", *row["expected_ids"]]} for row in ROWS]


def test_several_tables_are_several_systems(tmp_path: Path) -> None:
    old_path, new_path = tmp_path / "old.json", tmp_path / "new.jsonl"
    old_path.write_text(json.dumps(ROWS))
    new_path.write_text("".join(json.dumps(row) + "\n" for row in OTHER))
    expected = {"old": (1 / 2 + 1) / 2, "new": (1 / 2 + 1 / 2) / 2}
    for tables in ([old_path, new_path], {"old": ROWS, "new": pd.DataFrame(OTHER)}):
        systems: Any = evaluate(tables, "RR")
        assert {name: scores["RR"] for name, scores in systems.items()} == expected
    invocation = invoke("evaluate", str(old_path), str(new_path), "-m", "RR", "--format", "json")
    runs = json.loads(invocation.stdout)["runs"]
    assert {run_scores["run"]: run_scores["all"]["RR"] for run_scores in runs} == expected


@pytest.mark.parametrize("verb", ["evaluate", "compare", "gate"])
def test_one_table_given_twice_is_two_systems_as_a_copy_is(tmp_path: Path, verb: str) -> None:
    (tmp_path / "old.json").write_text(json.dumps(ROWS))
    (tmp_path / "copy.json").symlink_to(tmp_path / "old.json")
    old, link, dotted_path = (
        f"{tmp_path}/{name}" for name in ("old.json", "copy.json", "./old.json")
    )
    options = ["--baseline", old, "--margin", "0.5"] if verb == "gate" else []
    options += ["--format", "csv"]
    for files in ([old, old], [old, dotted_path], [old, link], [old, old, link]):
        command = invoke(verb, *files, "-m", "RR", *options)
        assert command.exit_code == 0, command.output
        if verb == "evaluate":
            assert command.stdout.count(",0.75") == len(files)
        elif verb == "compare":
            assert "Identical on all 2 queries" in command.output + command.stderr
        else:
            assert f"{old} (2),RR,PASS" in command.stdout
    if verb == "gate":
        assert invoke(verb, old, "-m", "RR", *options).exit_code == 0


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_one_table_in_memory_given_twice_is_compared_with_itself(make: Any) -> None:
    table = make(ROWS)
    comparison = compare(table, table, "RR")
    assert comparison.aligned.system_names == ("run", "run (2)")
    assert "identical" in codes(comparison)
    assert gate(table, table, "RR", baseline="run", margin=0.5)["run (2)", "RR"].changed == 0
    sides: Any = {"qrels": {"query_id": "question"}, "run": {"query_id": "question"}}
    assert compare(table, table, "RR", columns=sides).aligned.system_names == ("run",)


def test_tables_with_other_judgments_are_refused(tmp_path: Path) -> None:
    changed_rows = [ROWS[0], {**ROWS[1], "expected_ids": ["zz"]}]
    with pytest.raises(InputError, match="judgments of old and new differ: query 'Why so"):
        evaluate({"old": ROWS, "new": changed_rows}, "RR")
    with pytest.raises(InputError, match="none in new"):
        compare({"old": ROWS, "new": ROWS[:1]})
    for name, rows in (("old", ROWS), ("new", changed_rows)):
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    for command in ("evaluate", "compare", "check"):
        invocation = invoke(command, str(tmp_path / "old.json"), str(tmp_path / "new.json"))
        assert invocation.exit_code == 2
        assert "differ: query 'Why so?'" in invocation.stderr


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # so few queries differ
def test_the_verbs_take_tables_of_both_sides(tmp_path: Path) -> None:
    tables = {"old": ROWS, "new": OTHER}
    qrels, runs = Qrels(ROWS), {name: Run(rows) for name, rows in tables.items()}
    assert compare(tables, "RR").rows() == compare(qrels, runs, "RR").rows()
    assert compare(tables, measures="RR").rows() == compare(qrels, runs, "RR").rows()
    options: Any = {"baseline": "old", "margin": 0.1}
    assert gate(tables, "RR", **options).verdicts == gate(qrels, runs, "RR", **options).verdicts
    assert explain(ROWS, "RR", "How?").value == 1 / 2  # type: ignore[union-attr]
    assert explain(ROWS, measure="RR", query="How?").value == 1 / 2  # type: ignore[union-attr]
    assert explain(ROWS, "RR", query="How?").value == 1 / 2  # type: ignore[union-attr]
    assert explain(ROWS, "RR").value == (1 / 2 + 1) / 2  # type: ignore[union-attr]
    usual = explain(qrels, runs["old"], "nDCG@10", "How?").to_dict()
    for explanation in (explain(ROWS, "nDCG@10", "How?"), explain(ROWS, query="How?")):
        assert {**explanation.to_dict(), "run": "old"} == {**usual, "run": "old"}
    with pytest.raises(OptionError, match="a query id is a string or a whole number"):
        explain(ROWS, "RR", parse("AP"))
    assert set(check(ROWS).facts) == {"qrels", "run"}
    paths = [str(tmp_path / f"{name}.json") for name in tables]
    for path, rows in zip(paths, tables.values(), strict=True):
        Path(path).write_text(json.dumps(rows))
    old_path, new_path = paths
    outcome = run_command("check", "-", input=json.dumps(ROWS))
    assert outcome.stdout.count("standard input") == 2, "judgments, and a run"
    assert "judgments" in run_command("check", "-", input="q1 0 d1 1\n").stdout
    for command in (
        ["check", old_path],
        ["compare", old_path, new_path],
        ["explain", old_path],
        ["explain", old_path, "How?", "-m", "RR"],
    ):
        assert invoke(*command).exit_code == 0, command
    assert invoke("gate", new_path, "--baseline", old_path, "--margin", "0.1").exit_code in (0, 3)


# ---- cells ----------------------------------------


def one_row(**cells: Any) -> list[dict[str, Any]]:
    return [{"question": "q", "expected_ids": ["a"], "retrieved_ids": ["a"], **cells}]


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "other lengths": ({"retrieved_ids": ["a", "b"], "scores": [1]}, "columns", "2 in .* 1 in"),
    "grades of other lengths": ({"grades": [1, 2]}, "columns", "1 in .* 2 in column 'grades'"),
    "no expected": ({"expected_ids": None}, "id", "'expected_ids' is empty"),
    "empty text": ({"expected_ids": " "}, "id", "'expected_ids' is empty"),
    "a null within": ({"retrieved_ids": ["a", None]}, "id", "empty or missing"),
    "an empty id": ({"retrieved_ids": "a;;b"}, "id", "empty or missing"),
    "a fraction as id": ({"retrieved_ids": [0.5]}, "id", "string or a whole number"),
    "a fraction in a text": ({"retrieved_ids": "[0.5]"}, "id", "string or a whole number"),
    "an object": ({"expected_ids": {"a": 1}}, "columns", "holds objects"),
    "objects": ({"retrieved_ids": [{"title": "a"}]}, "columns", "holds objects"),
    "a set": ({"retrieved_ids": {"a", "b"}}, "columns", "has no order"),
    "a comma": ({"expected_ids": "a, b"}, "columns", "one id or several"),
    "a bar": ({"expected_ids": "a|b"}, "columns", "one id or several"),
    "blanks": ({"retrieved_ids": "d1 d2"}, "columns", "one id or several"),
    "whole numbers": ({"retrieved_ids": "1 2 3"}, "columns", "one id or several"),
    "numpy's print, cut off": ({"expected_ids": "['a' ... 'b']"}, "text", "no list that can"),
    "Python's print, cut off": ({"expected_ids": "[1, 2, ..., 9]"}, "text", "no list that can"),
    "two notations": ({"expected_ids": "['a' 'b', 'c']"}, "text", "no list that can be read"),
    "bare words": ({"expected_ids": "[New York]"}, "text", "no list that can be read"),
    "no score": ({"scores": ["high"]}, "number", "expected a number as the score"),
    "no grade": ({"grades": ["good"]}, "number", "expected a number as the grade"),
}


@pytest.mark.parametrize(("cells", "kind", "message"), WRONG.values(), ids=WRONG)
def test_cells_that_cannot_be_are_refused_or_left_out(
    cells: dict[str, Any], kind: str, message: str
) -> None:
    rows = one_row(**cells)
    with pytest.raises(InputError, match=message) as caught:
        evaluate(rows, "RR")
    assert caught.value.kind == kind
    rows = [{**one_row()[0], "question": "first"} | {k: ["a"] for k in cells}, *rows]
    for name in {"scores", "grades"} & cells.keys():
        rows[0][name] = [1]
    scores = evaluate(rows, "RR", errors="skip")
    assert scores.counts.rows_left_out == 1
    assert scores.per_query("RR")["first"] == 1


@pytest.mark.parametrize(
    ("column", "ids"), [("expected_ids", ["a", "a"]), ("retrieved_ids", ["a", "b", "a"])]
)
def test_an_id_twice_in_a_cell_is_a_duplicate(column: str, ids: list[str]) -> None:
    rows = one_row(**{column: ids})
    with pytest.raises(DuplicateError, match="'a' occurs twice"):
        evaluate(rows, "RR")
    scores = evaluate(rows, "RR", duplicates="first")
    assert scores["RR"] == 1
    assert "duplicates" in codes(scores)


@pytest.mark.parametrize("name", ["u.jsonl", "u.csv"])
def test_an_error_names_the_line(name: str, write: Any) -> None:
    rows = [*one_row(), {**one_row()[0], "question": "r", "retrieved_ids": ["a", "b", "a"]}]
    texts = {
        "u.jsonl": "\n".join(map(json.dumps, rows)),
        "u.csv": as_csv(rows, json.dumps, ","),
    }
    path = write(name, texts[name])
    with pytest.raises(InputError, match="'a' occurs twice for query 'r'") as caught:
        evaluate(path, "RR")
    assert caught.value.line == (2 if name == "u.jsonl" else 3)
    assert caught.value.source == path
    assert "retrieved_ids" in str(caught.value.text) or name == "u.csv"


def test_a_query_without_a_relevant_or_a_retrieved_document_counts() -> None:
    rows = [*ROWS, {"question": "r", "expected_ids": [], "retrieved_ids": ["a"]}]
    rows.append({"question": "s", "expected_ids": ["a"], "retrieved_ids": None})
    rows.append({"question": "t", "expected_ids": ["a"]})
    scores = evaluate(rows, "RR")
    assert scores["RR"] == (1 / 2 + 1 + 0 + 0 + 0) / 5
    assert {"without-results", "without-relevant"} <= set(codes(scores))
    assert (scores.counts.without_results, scores.counts.without_relevant) == (2, 1)


def test_a_ranking_in_two_rows_is_refused_and_expected_ids_may_be() -> None:
    rows = [*one_row(), *one_row(expected_ids=["b"], retrieved_ids=["b"])]
    assert Qrels(rows).to_dict() == {"q": {"a": 1, "b": 1}}
    with pytest.raises(InputError, match="the query 'q' occurs in two rows") as caught:
        evaluate(rows, "RR")
    assert caught.value.kind == "duplicate"
    assert evaluate(rows, "RR", errors="skip")["RR"] == 1


def test_a_single_id_is_never_split(write: Any) -> None:
    path = write("a.csv", 'query_id,doc_id,score\nq,a;b,2\nq,"[""c"", ""d""]",1\n')
    assert list(read_run(path).to_dict()["q"]) == ["a;b", '["c", "d"]']
    path = write("b.csv", "question,expected_id,retrieved_ids\nq,a;b,a;b\n")
    assert read_qrels(path).to_dict() == {"q": {"a;b": 1}}
    assert list(read_run(path).to_dict()["q"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("['it''s', 'b']".replace("''", "\\'"), ["it's", "b"]),
        ("""["a'b", 'c']""", ["a'b", "c"]),
        ("[1, 2]", ["1", "2"]),
        ("[ 'a' , ]", ["a"]),
        ('["\\u00e9", "b"]', ["é", "b"]),
        ("[]", []),
        ("a ; b", ["a", "b"]),
        ("a 1; b 2", ["a 1", "b 2"]),
        ("['a|b', 'c 1 d 2']", ["a|b", "c 1 d 2"]),
        ("[1 2\n 3]", ["1", "2", "3"]),
        ("['a' 'b'\n 'c']", ["a", "b", "c"]),
        ("7", ["7"]),
    ],
)
def test_texts_that_hold_lists(text: str, ids: list[str]) -> None:
    assert list(Run(one_row(retrieved_ids=text)).to_dict().get("q", {})) == ids


def test_words_are_one_id_only_where_other_cells_tell() -> None:
    words = one_row(expected_ids="alpha beta", retrieved_ids=["gamma", "alpha beta"])
    for retrieved_ids in ("alpha beta", "alpha;beta", ["alpha", "beta"]):
        with pytest.raises(InputError, match="'alpha beta': is this one id or several"):
            evaluate(one_row(expected_ids="alpha beta", retrieved_ids=retrieved_ids), "RR")
    other_row = {"question": "r", "expected_ids": "a;b", "retrieved_ids": ["b"]}
    other_words = one_row(expected_ids="alpha beta", retrieved_ids="gamma; alpha beta")
    for rows in (words, other_words, [*words, other_row]):
        assert evaluate(rows, "RR").per_query("RR")["q"] == 1 / 2


# ---- judgments without grades ----------------------------------------

PAIRS = [("u", "i"), ("u", "j"), ("v", "i")]
PAIRS_WITHOUT_GRADES: dict[str, Any] = {
    "pandas": pd.DataFrame(PAIRS, columns=["user", "item"]),
    "polars": pl.DataFrame(PAIRS, schema=["uid", "iid"], orient="row"),
    "a time beside": pd.DataFrame([(*p, 5) for p in PAIRS], columns=["user", "sku", "timestamp"]),
    "tuples": PAIRS,
    "dicts": [{"user": user, "item": item} for user, item in PAIRS],
    "sets": {"u": {"i", "j"}, "v": {"i"}},
    "lists": {"u": ["i", "j"], "v": ["i"]},
    "exploded": pd.DataFrame({"question": ["u", "v"], "expected_ids": [["i", "j"], ["i"]]}).explode(
        "expected_ids"
    ),
}


@pytest.mark.parametrize("data", PAIRS_WITHOUT_GRADES.values(), ids=PAIRS_WITHOUT_GRADES)
def test_judgments_without_grades_are_relevant(data: Any) -> None:
    ranking = {"u": ["x", "i"], "v": ["i"]}
    scores = evaluate(data, ranking)
    assert Qrels(data).to_dict() == {"u": {"i": 1, "j": 1}, "v": {"i": 1}}
    assert scores["RR"] == (1 / 2 + 1) / 2
    goes_without_saying = data is PAIRS_WITHOUT_GRADES["exploded"]  # of documents called expected
    assert ("no-grades" in codes(scores)) != goes_without_saying
    assert "Judged@10" not in scores.means(), "which would be P@10"
    assert evaluate(data, ranking, "Judged@2")["Judged@2"] == (1 / 2 + 1 / 1) / 2, "asked for"
    assert "no-grades" not in codes(evaluate({"u": {"i": 1}}, ranking, "RR"))


def test_files_without_grades(write: Any) -> None:
    for name, text in (
        ("a.csv", "query,doc\nu,i\nu,j\nv,i\n"),
        ("a.jsonl", '{"user":"u","item":"i"}\n{"user":"u","item":"j"}\n{"user":"v","item":"i"}\n'),
        ("a.json", '{"u": ["i", "j"], "v": ["i"]}'),
    ):
        qrels = read_qrels(write(name, text))
        assert (qrels.graded, qrels.to_dict()) == (False, {"u": {"i": 1, "j": 1}, "v": {"i": 1}})
    assert read_qrels(write("b.json", '{"u": {"i": 1}}')).graded


@pytest.mark.parametrize("column", ["stars", "rank", "similarity", "position"])
def test_a_column_that_may_be_a_grade_or_a_rank_is_not_passed_over(column: str) -> None:
    frame = pd.DataFrame([(*pair, 3) for pair in PAIRS], columns=["user", "item", column])
    with pytest.raises(InputError, match=f"no column 'relevance'; .*'{column}'") as caught:
        Qrels(frame)
    assert "'relevance': None" in str(caught.value.hint)
    assert ("looks like a run" in str(caught.value.hint)) == (column != "stars")
    assert not Qrels(frame, columns={"relevance": None}).graded
    assert Qrels(frame, columns={"relevance": column}).to_dict()["v"] == {"i": 3}


# ---- columns ----------------------------------------


def test_columns_of_both_sides_are_said_once(tmp_path: Path) -> None:
    rows: Any = [
        {"q": r["question"], "g": r["expected_ids"], "r": r["retrieved_ids"]} for r in ROWS
    ]
    columns: Any = {"query_id": "q", "expected_ids": "g", "retrieved_ids": "r"}
    assert evaluate(rows, "RR", columns=columns).per_query("RR") == RR
    assert evaluate(rows, rows, "RR", columns=columns).per_query("RR") == RR
    compare({"a": rows, "b": rows}, measures="RR AP", columns=columns)
    assert check(rows, columns=columns).ok
    assert explain(rows, "RR", "How?", columns=columns).value == 1 / 2  # type: ignore[union-attr]
    path = tmp_path / "a.csv"
    path.write_text(as_csv(rows, ";".join, ","))
    column_option = "query_id=q,expected_ids=g,retrieved_ids=r"
    invocation = invoke(
        "evaluate", str(path), "-m", "RR", "--columns", column_option, "--format", "csv"
    )
    assert invocation.stdout.split(",")[-1].strip() == repr((1 / 2 + 1) / 2)


def test_columns_of_two_tables() -> None:
    judged = pd.DataFrame({"reader": ["u"], "book": ["i"], "stars": [4]})
    ranked = pd.DataFrame({"reader": ["u", "u"], "book": ["x", "i"], "guess": [0.9, 0.1]})
    columns: Any = {"query_id": "reader", "doc_id": "book"}
    columns |= {"relevance": "stars", "score": "guess"}
    assert evaluate(judged, ranked, "RR", columns=columns)["RR"] == 1 / 2
    renamed_table = ranked.rename(columns={"reader": "user"})
    apart = {
        "qrels": {"query_id": "reader", "doc_id": "book", "relevance": "stars"},
        "run": {"doc_id": "book", "score": "guess"},
    }
    assert evaluate(judged, renamed_table, "RR", columns=apart)["RR"] == 1 / 2
    assert evaluate(judged, renamed_table, "RR", columns=columns)["RR"] == 1 / 2
    unknown_table = renamed_table.rename(columns={"user": "leser"})
    with pytest.raises(InputError, match="no column 'reader'; its columns are 'leser'"):
        evaluate(judged, unknown_table, "RR", columns=columns)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"scoer": "x"}, "'scoer' is not known .did you mean 'score'"),
        (
            {"qrels": {"query_id": "question"}, "doc": {"doc_id": "y"}},
            "expected the columns of both",
        ),
        ("query_id=x", "expected a dict"),
        ({"doc_id": "retrieved_ids", "expected_ids": "expected_ids"}, "doc_id is stated twice"),
    ],
)
def test_columns_that_cannot_be(columns: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        evaluate(ROWS, "RR", columns=columns)


def test_columns_of_what_is_read_already_have_no_effect() -> None:
    with pytest.raises(OptionError, match="not read yet"):
        evaluate(Qrels(ROWS), Run(ROWS), "RR", columns={"query_id": "x"})
    with pytest.raises(OptionError, match="columns: applies to judgments and runs"):
        compare({"a": {"q": 1.0}, "b": {"q": 0.5}}, columns={"query_id": "x"})


@pytest.mark.parametrize(
    "renaming", [{"score": "sim"}, {"sim": "score"}, {"similarity": "sim"}, {"sim": "similarity"}]
)
def test_a_renaming_turned_round_is_understood(renaming: dict[str, str], write: Any) -> None:
    path = write("a.csv", "topic,document,sim\nq,a,0.5\nq,b,0.7\n")
    assert read_run(path, columns=renaming).to_dict() == {"q": {"a": 0.5, "b": 0.7}}


def test_known_names_are_as_they_were_where_there_are_two(write: Any) -> None:
    path = write("a.csv", "id,query,doc_id,sku,rank,similarity,score\n5,q,a,s,1,9,0.5\n")
    assert read_run(path).to_dict() == {"q": {"a": 0.5}}
    path = write("b.csv", "question,id,position\nq,a,2\nq,b,1\n")
    assert list(read_run(path).to_dict()["q"]) == ["a", "b"]
    assert evaluate({"q": {"b": 1}}, path, "RR")["RR"] == 1, "by its position"


def test_what_may_be_two_columns_is_asked() -> None:
    rows = [{"id": i, **row} for i, row in enumerate(ROWS)]
    with pytest.raises(InputError, match="'id' and 'question' may both be the query_id"):
        evaluate(rows, "RR")
    assert set(evaluate(rows, "RR", columns={"query_id": "id"}).per_query("RR")) == {"0", "1"}
    for query_column in ("topic", "user_id"):
        rows = [{query_column: "x", **row} for row in ROWS]
        with pytest.raises(
            InputError, match=f"'question' and '{query_column}' may both be the query_id"
        ):
            evaluate(rows, "RR")
        assert evaluate(rows, "RR", columns={"query_id": "question"}).per_query("RR") == RR
    rows = [{"question_id": i, "id": "x", **row} for i, row in enumerate(ROWS)]
    assert set(evaluate(rows, "RR").per_query("RR")) == {"0", "1"}, "which is sure"
    rows = [{**row, "predicted_ids": []} for row in ROWS]
    with pytest.raises(InputError, match="may both be the retrieved_ids"):
        evaluate(rows, "RR")
    scores = evaluate(rows, "RR", columns={"retrieved_ids": "retrieved_ids"})
    assert scores.per_query("RR") == RR


def test_the_error_has_all_columns_and_none_of_pandas() -> None:
    frame = pd.DataFrame(ROWS).explode("expected_ids").rename(columns={"expected_ids": "gg"})
    for table in (frame[["question", "gg"]], frame[["question", "gg"]].assign(other=1)):
        with pytest.raises(InputError, match="its columns are 'question', 'gg'") as caught:
            Qrels(table)
        assert "__index" not in str(caught.value)
    frame = pd.DataFrame([("q", "a", 1, 2.0)], columns=["topic", "document", "pos", "sim"])
    with pytest.raises(InputError, match="its columns are 'topic', 'document', 'pos', 'sim'"):
        evaluate({"q": {"a": 1}}, frame, "RR")


@pytest.mark.parametrize("name", ["a.txt", "a.tsv", "a.csv"])
def test_three_columns_without_a_header(name: str, write: Any) -> None:
    separator = {"a.txt": " ", "a.tsv": "\t", "a.csv": ","}[name]
    path = write(name, "q01 csv 3\nq02 heapq 1\n".replace(" ", separator))
    with pytest.raises(InputError) as caught:
        read_qrels(path)
    assert "--columns qrels.query_id=1,qrels.doc_id=2,qrels.relevance=3" in str(caught.value.hint)
    column_numbers = {"query_id": 1, "doc_id": 2, "relevance": 3}
    assert read_qrels(path, columns=column_numbers).to_dict() == {
        "q01": {"csv": 3},
        "q02": {"heapq": 1},
    }


def test_a_decimal_comma_is_named(write: Any) -> None:
    path = write("a.csv", "topic;document;score\nq;a;4,684842\n")
    with pytest.raises(InputError, match=r"got '4,684842'") as caught:
        read_run(path).to_dict()
    assert "4.684842" in str(caught.value.hint)


# ---- what does not stand alone ----------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"question": "q", "expected_ids": ["a"]}], "lacks a run beside the qrels; its columns"),
        ([{"question": "q", "retrieved_ids": ["a"]}], "lacks judgments beside the run; its col"),
        ([{"prompt": "q", "found": ["a"]}], "no column 'query_id'; its columns are 'prompt', 'fo"),
    ],
)
def test_what_is_missing_is_said(rows: Any, message: str, write: Any) -> None:
    with pytest.raises(InputError, match=message) as caught:
        evaluate(rows, "RR")
    assert "expected_ids" in str(caught.value.hint)
    invocation = invoke("evaluate", write("a.json", json.dumps(rows)), "-m", "RR")
    assert invocation.exit_code == 2
    assert message.split(";")[0] in invocation.stderr


def test_files_of_one_side_need_the_other(write: Any) -> None:
    qrels = write("qrels.txt", "q 0 a 1\n")
    with pytest.raises(InputError, match="which has no columns, and so holds either"):
        evaluate(qrels, "RR")
    for command in ("evaluate", "compare", "explain"):
        invocation = invoke(command, qrels)
        assert (invocation.exit_code, "Missing argument 'RUN...'" in invocation.stderr) == (2, True)
    assert invoke("check", qrels).exit_code == 0
    with pytest.raises(MeasureError, match="unknown measure 'recal@5'"):
        evaluate(ROWS, "recal@5")
    with pytest.raises(InputError, match="are they columns, or queries"):
        evaluate({"question": ["q"], "expected_ids": [["a"]], "retrieved_ids": [["a"]]}, "RR")


def test_questions_as_ids_are_not_odd() -> None:
    assert "odd-ids" not in [finding.code for finding in check(ROWS).findings]
    for wrong in ("two  blanks", "at the end ", "a\tTab", "no\u00a0break"):
        rows = one_row(question=wrong)
        assert "odd-ids" in [finding.code for finding in check(rows).findings]


@pytest.mark.parametrize("name", ["twice.json", "twice.jsonl"])
def test_a_name_twice_in_the_first_object_is_named(name: str, write: Any) -> None:
    row = '{"question": "a", "expected_ids": ["x"], "expected_ids": ["y"], "retrieved_ids": ["x"]}'
    path = write(name, f"[{row}]" if name.endswith("json") else f"{row}\n")
    with pytest.raises(InputError, match="has more than one 'expected_ids'"):
        evaluate(path, "AP")


def test_a_frame_with_sets_as_rankings_is_refused() -> None:
    columns = {"question": ["a", "b"], "retrieved_ids": [["x"], {"x", "y"}]}
    frame = pd.DataFrame({**columns, "expected_ids": [{"x"}, {"y", "x"}]})
    with pytest.raises(InputError, match="'retrieved_ids' holds a set"):
        evaluate(frame, "AP")
    frame["retrieved_ids"] = [["x"], ["z", "x"]]
    assert evaluate(frame, "R@2")["R@2"] == (1 / 1 + 1 / 2) / 2
