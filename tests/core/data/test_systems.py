"""A table of several systems is a run of each; rows and lists, in memory and in files."""

import io
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

from cranfield import Qrels, Run, check, compare, evaluate, explain, gate, read_qrels, read_run
from cranfield.cli import cli
from cranfield.errors import DuplicateError, InputError, OptionError

JUDGED = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 1}}
RUN: list[dict[str, Any]] = [
    {"query_id": query, "doc_id": doc, "score": score, "retriever": retriever}
    for retriever, query, doc, score in (
        ("bm25", "q1", "d2", 0.9),
        ("bm25", "q1", "d1", 0.8),
        ("bm25", "q2", "d3", 0.2),
        ("hybrid", "q1", "d1", 0.7),
        ("hybrid", "q1", "d2", 0.1),
        ("hybrid", "q2", "d3", 0.1),
    )
]
LISTS: list[dict[str, Any]] = [
    {"question": "q1", "gold_ids": ["d1"], "retriever": "bm25", "retrieved_ids": ["d2", "d1"]},
    {"question": "q1", "gold_ids": ["d1"], "retriever": "hybrid", "retrieved_ids": ["d1", "d2"]},
]
TABLES: dict[str, list[dict[str, Any]]] = {
    "run": RUN,
    "run of lists": [{name: row[name] for name in row if name != "gold_ids"} for row in LISTS],
    "both sides": [{**row, "relevance": JUDGED[row["query_id"]][row["doc_id"]]} for row in RUN],
    "both sides as lists": LISTS,
}
MEAN = {"bm25": (1 / 2 + 1) / 2, "hybrid": 1.0}  # of RR, in the flat tables
LIST_MEAN = {"bm25": 1 / 2, "hybrid": 1.0}  # of the one query with lists
EXPECTED = {
    "run": MEAN,
    "run of lists": {name: mean / 2 for name, mean in LIST_MEAN.items()},  # of two queries
    "both sides": MEAN,
    "both sides as lists": LIST_MEAN,
}


def write_lines(rows: list[dict[str, Any]], folder: Path) -> str:
    path = folder / "long.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def write_list(rows: list[dict[str, Any]], folder: Path) -> str:
    (folder / "long.json").write_text(json.dumps(rows))
    return str(folder / "long.json")


def write_fields(sign: str, suffix: str) -> Callable[[list[dict[str, Any]], Path], str]:
    def write(rows: list[dict[str, Any]], folder: Path) -> str:
        path = folder / f"long{suffix}"
        pd.DataFrame(rows).to_csv(path, sep=sign, index=False)
        return str(path)

    return write


def write_parquet(rows: list[dict[str, Any]], folder: Path) -> str:
    pd.DataFrame(rows).to_parquet(folder / "long.parquet")
    return str(folder / "long.parquet")


FORMS: dict[str, Callable[[list[dict[str, Any]], Path], Any]] = {
    "rows": lambda rows, folder: rows,
    "pandas": lambda rows, folder: pd.DataFrame(rows),
    "polars": lambda rows, folder: pl.DataFrame(rows),
    "lazy": lambda rows, folder: pl.DataFrame(rows).lazy(),
    "arrow": lambda rows, folder: pa.Table.from_pylist(rows),
    "stream": lambda rows, folder: pa.Table.from_pylist(rows).to_reader(),
    "csv": write_fields(",", ".csv"),
    "tsv": write_fields("\t", ".tsv"),
    "json lines": write_lines,
    "json list": write_list,
    "parquet": write_parquet,
}


def evaluate_table(kind: str, table: Any, **options: Any) -> Any:
    if kind.startswith("both"):
        return evaluate(table, "RR", **options)
    return evaluate(JUDGED, table, "RR", **options)


def means(result: Any) -> dict[str, float]:
    return {name: scores["RR"] for name, scores in result.items()}


def codes(result: Any) -> set[str]:
    return {note.code for note in result.notes}


@pytest.mark.parametrize("options", [{}, {"duplicates": "first"}, {"errors": "skip"}])
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("form", FORMS)
def test_a_table_of_two_systems_is_a_run_of_each(
    form: str, kind: str, options: dict[str, Any], tmp_path: Path
) -> None:
    result = evaluate_table(kind, FORMS[form](TABLES[kind], tmp_path), **options)
    assert means(result) == EXPECTED[kind]
    assert "split-systems" in codes(result)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("form", FORMS)
def test_a_column_of_another_name_is_stated(form: str, kind: str, tmp_path: Path) -> None:
    rows = [{**row, "who": row["retriever"]} for row in map(dict, TABLES[kind])]
    for row in rows:
        del row["retriever"]
    table = FORMS[form](rows, tmp_path)
    result = evaluate_table(kind, table, columns={"system": "who"})
    assert means(result) == EXPECTED[kind]
    assert "split-systems" not in codes(result)
    if form == "stream":
        table = FORMS[form](rows, tmp_path)
    alone = evaluate_table(kind, table, columns={"system": "who=hybrid"})
    assert alone["RR"] == EXPECTED[kind]["hybrid"]


@pytest.mark.parametrize("column", ["system", "run", "Run Name", "model", "method"])
def test_every_such_column_is_looked_at(column: str) -> None:
    rows = [
        {"run": "monday", "retriever": "x", column: row.pop("retriever"), **row}
        for row in map(dict, RUN)
    ]
    assert means(evaluate(JUDGED, rows, "RR")) == MEAN


def test_two_columns_that_tell_rows_apart_are_asked_about() -> None:
    rows = [{**row, "model": f"{row['retriever']}-2"} for row in RUN]
    with pytest.raises(InputError, match=r"system=retriever.*system=model"):
        evaluate(JUDGED, rows, "RR")
    assert means(evaluate(JUDGED, rows, "RR", columns={"system": "retriever"})) == MEAN


def test_systems_without_a_document_in_common_are_one_run_unless_stated() -> None:
    apart = [{**row, "doc_id": f"{row['doc_id']}{row['retriever'][0]}"} for row in RUN]
    qrels = {"q1": {"d1b": 1, "d1h": 1}, "q2": {"d3b": 1}}
    result = evaluate(qrels, pd.DataFrame(apart), "RR")
    assert result["RR"] == (1 / 2 + 1) / 2  # d2b, d1b, d1h, d2h; d3b, d3h
    (note,) = [note for note in result.notes if note.code == "one-system"]
    assert "--columns system=retriever" in note.text
    scores = evaluate(qrels, pd.DataFrame(apart), "RR", columns={"system": "retriever"})
    assert means(scores) == {"bm25": (1 / 2 + 1) / 2, "hybrid": 1 / 2}


def test_one_value_is_no_system_and_needs_no_note() -> None:
    result = evaluate(JUDGED, pd.DataFrame(RUN[:3]), "RR")
    assert result["RR"] == MEAN["bm25"]
    assert not {"one-system", "split-systems"} & codes(result)
    twice = [RUN[0], *RUN[:3]]
    with pytest.raises(DuplicateError, match="choose which one counts"):
        evaluate(JUDGED, pd.DataFrame(twice), "RR")
    lists = TABLES["run of lists"]
    with pytest.raises(DuplicateError, match="occurs in two rows"):
        evaluate(JUDGED, [lists[0], lists[0]], "RR")


def test_a_column_that_has_another_role_is_no_system() -> None:
    rows = [{"query_id": "q1", "model": doc, "score": 1} for doc in ("d1", "d2", "d1")]
    run = Run(rows, columns={"doc_id": "model"})
    assert evaluate(JUDGED, run, "RR", duplicates="first")["RR"] == 1 / 2 / 2


def test_every_verb_takes_the_systems(tmp_path: Path) -> None:
    path = write_lines(RUN, tmp_path)
    with pytest.warns(match="Only 2 queries"):
        assert "hybrid" in str(compare(JUDGED, path, "RR"))
    with pytest.warns(match="queries"):
        assert len(gate(JUDGED, RUN, "RR", baseline="bm25", margin=0.5).verdicts) == 1
    assert [*check(JUDGED, path).facts][1:] == [f"{path} (bm25)", f"{path} (hybrid)"]
    assert "split-systems" in {finding.code for finding in check(JUDGED, path).findings}
    assert "hybrid" in str(explain(JUDGED, path, "RR", "q1"))
    scores_of_run: Any = evaluate(JUDGED, [path, {"q1": ["d1"]}], "RR")
    assert list(scores_of_run) == ["bm25", "hybrid", "run"]
    tables: dict[str, Any] = {"monday": path, "other": Run({"q1": ["d1"]})}
    scores_of_table: Any = evaluate(JUDGED, tables, "RR")
    assert list(scores_of_table) == ["monday bm25", "monday hybrid", "other"]


def test_one_run_is_taken_by_its_name(tmp_path: Path) -> None:
    path = write_lines(RUN, tmp_path)
    for run in (Run(RUN), read_run(path)):
        with pytest.raises(DuplicateError, match="system=retriever") as caught:
            evaluate(JUDGED, run, "RR")
        assert "2 values, 'bm25', 'hybrid'" in str(caught.value)
        assert "retriever=bm25 " in str(caught.value)
    alone = read_run(path, columns={"system": "retriever=bm25"}).to_dict()
    assert alone == {"q1": {"d2": 0.9, "d1": 0.8}, "q2": {"d3": 0.2}}
    for duplicates in ("refuse", "best"):
        with pytest.raises(DuplicateError, match="Column 'retriever' has 2 values"):
            Run(RUN).write(tmp_path / "out.run", duplicates=duplicates)
    run = Run(RUN, columns={"system": "retriever"})
    assert means(evaluate(JUDGED, run, "RR")) == MEAN


def test_systems_that_are_stated_are_no_single_run(tmp_path: Path) -> None:
    apart = [{**row, "doc_id": f"{row['doc_id']}{row['retriever'][0]}"} for row in RUN]
    lists = [{"query_id": name, "retriever": name, "retrieved_ids": [name]} for name in "ab"]
    columns: Any = {"system": "retriever"}
    for rows in (apart, lists):
        for run in (Run(pd.DataFrame(rows), columns=columns), Run(rows, columns=columns)):
            for read in (run.to_dict, partial(run.write, tmp_path / "one.run")):
                with pytest.raises(InputError, match="'retriever' of systems is stated") as caught:
                    read()
                statement = f"retriever={rows[0]['retriever']}"
                assert f"columns={{'system': '{statement}'}} takes one" in str(caught.value)
        alone = Run(rows, columns={"system": statement})
        assert alone.to_dict() == Run(rows[: len(rows) // 2]).to_dict()


def test_systems_of_judgments_are_refused_or_chosen(tmp_path: Path) -> None:
    rows = [
        {"query_id": "q1", "doc_id": doc, "relevance": 1, "judge": judge}
        for doc, judge in (("d1", "ann"), ("d2", "bob"))
    ]
    pd.DataFrame(rows).to_csv(path := tmp_path / "qrels.csv", index=False)
    columns: Any = {"system": "judge"}
    for read in (partial(Qrels, rows), partial(read_qrels, path)):
        with pytest.raises(InputError, match=r"judgments are the same(.|\n)*'judge=ann'} takes"):
            read(columns=columns)
    assert Qrels(rows, columns={"system": "judge=bob"}).to_dict() == {"q1": {"d2": 1}}
    with pytest.raises(InputError, match=r"no run has a column 'judge'\nthe qrels: its columns"):
        evaluate(pd.DataFrame(rows), {"q1": ["d1"]}, "RR", columns=columns)


@pytest.mark.parametrize("separator", [",", "\t", " "])
def test_columns_without_names_have_systems(separator: str, tmp_path: Path) -> None:
    tuples = [("q1", "d1", 0.5, "a"), ("q1", "d2", 0.25, "a"), ("q1", "d2", 0.75, "b")]
    path = tmp_path / ("run.csv" if separator == "," else "run.txt")
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in tuples))
    numbers: Any = {"query_id": 1, "doc_id": 2, "score": 3, "system": 4}
    qrels = {"q1": {"d2": 1}}
    for runs in (path, str(path), tuples):
        assert means(evaluate(qrels, runs, "RR", columns=numbers)) == {"a": 1 / 2, "b": 1}
    with pytest.raises(InputError, match="'column 4=a'} takes one"):
        read_run(path, columns=numbers).to_dict()
    with pytest.raises(InputError, match=r"no column 5|'column 5' cannot be read"):
        evaluate(qrels, path, "RR", columns={**numbers, "system": 5})
    numbers["system"] = "column 4=b"
    assert read_run(path, columns=numbers).to_dict() == {"q1": {"d2": 0.75}}


def test_the_tags_of_a_trec_run_are_systems_where_stated(tmp_path: Path) -> None:
    path = tmp_path / "two.run"
    path.write_text("q1 Q0 d2 1 3 a\nq1 Q0 d1 2 2 a\nq1 Q0 d1 1 3 b\n")
    for columns in ({}, {"score": 5}):
        numbers: Any = {"query_id": 1, "doc_id": 3, **columns, "system": 6}
        result = evaluate({"q1": {"d1": 1}}, path, "RR", columns=numbers)
        assert means(result) == {"a": 1 / 2, "b": 1}


def test_systems_need_a_column_of_queries(tmp_path: Path) -> None:
    rows = [
        {"expected_ids": ["d1"], "retrieved_ids": [doc], "retriever": name}
        for name, doc in (("a", "d1"), ("b", "d2"))
    ]
    for table in (rows, pd.DataFrame(rows), write_lines(rows, tmp_path)):
        with pytest.raises(InputError, match=r"cannot be read(.|\n)*--columns query_id="):
            evaluate(table, "RR", columns={"system": "retriever"})
        assert evaluate(table, "RR", columns={"system": "retriever=b"})["RR"] == 0


def test_a_repeat_names_a_column_of_another_name() -> None:
    rows = [{"pipeline": row["retriever"], **row} for row in RUN]
    table = pd.DataFrame(rows).drop(columns="retriever")
    with pytest.raises(DuplicateError, match="'d1' occurs twice for query 'q1'") as caught:
        evaluate(JUDGED, table, "RR")
    assert "--columns system=pipeline" in str(caught.value)
    assert "choose which one counts" in str(caught.value)
    assert evaluate(JUDGED, table, "RR", duplicates="first")["RR"] == MEAN["bm25"]


def test_judgments_that_differ_between_systems_are_refused() -> None:
    rows = [{**row, "relevance": 1} for row in RUN]
    rows[3]["relevance"] = 2
    with pytest.raises(InputError, match="'d1': has the grades 1, 2, and so differ"):
        evaluate(rows, "RR")
    lists = [LISTS[0], {**LISTS[1], "gold_ids": ["d2"]}]
    with pytest.raises(InputError, match="the judgments of bm25 and hybrid differ: query 'q1'"):
        evaluate(lists, "RR")


def test_what_one_system_retrieved_is_judged_for_all() -> None:
    rows = [{**row, "relevance": 1} for row in RUN if row["query_id"] == "q1"]
    result: Any = evaluate(rows[:1] + rows[2:], "R@5")
    assert {name: scores["R@5"] for name, scores in result.items()} == {"bm25": 1 / 2, "hybrid": 1}


def test_a_row_without_a_system_is_a_fault() -> None:
    for rows in (RUN, TABLES["run of lists"]):
        table = pd.DataFrame([*rows, {**rows[0], "query_id": "q3", "question": "q3"}])
        table.loc[len(table) - 1, "retriever"] = None
        if "score" not in rows[0]:
            table = table.drop(columns="query_id")
        else:
            table = table.drop(columns="question")
        with pytest.raises(InputError, match=r"empty or missing|no system"):
            evaluate(JUDGED, table, "RR", columns={"system": "retriever"})
        scores_of_run: Any = evaluate(
            JUDGED, table, "RR", columns={"system": "retriever"}, errors="skip"
        )
        assert list(scores_of_run) == ["bm25", "hybrid"]
        assert "left-out" in codes(scores_of_run)


def test_empty_lists_belong_to_their_system() -> None:
    lists = [*TABLES["run of lists"], {"question": "q2", "retriever": "bm25", "retrieved_ids": []}]
    result = evaluate(JUDGED, lists, "RR", queries="both")
    assert [scores.counts.queries for scores in result.values()] == [2, 1]


WIDE = [
    {"question": "q1", "gold": ["d1"], "bm25": ["d2", "d1"], "dense": ["d1"]},
    {"question": "q2", "gold": ["d3"], "bm25": ["d3"], "dense": ["d4", "d5", "d3"]},
]
WIDE_MEAN = {"bm25": (1 / 2 + 1) / 2, "dense": (1 + 1 / 3) / 2}


@pytest.mark.parametrize("form", FORMS)
def test_columns_of_lists_are_systems(form: str, tmp_path: Path) -> None:
    wide = {"retrieved_ids": ["bm25", "dense"]}
    columns = {"expected_ids": "gold", **wide}
    assert means(evaluate(FORMS[form](WIDE, tmp_path), "RR", columns=columns)) == WIDE_MEAN
    if form == "stream":
        return
    run_table = [{name: row[name] for name in row if name != "gold"} for row in WIDE]
    result = evaluate(JUDGED, FORMS[form](run_table, tmp_path), "RR", columns=wide)
    assert means(result) == WIDE_MEAN
    columns_of_side: Any = {"run": wide}
    result = evaluate(JUDGED, FORMS[form](run_table, tmp_path), "RR", columns=columns_of_side)
    assert means(result) == WIDE_MEAN


@pytest.mark.parametrize("form", ["csv", "json lines", "parquet"])
def test_columns_of_a_pipe_are_systems(form: str, tmp_path: Path) -> None:
    rows = [
        {"query_id": "q1", "doc_id": doc, "relevance": int(doc == "d1"), "old": old, "new": new}
        for doc, old, new in (("d1", 2, 3), ("d2", 3, 2))
    ]
    content = Path(FORMS[form](rows, tmp_path)).read_bytes()
    Qrels({"q1": {"d1": 1}}).write(tmp_path / "judged.txt")
    options = ["-m", "RR", "--columns", "score=old,score=new", "--format", "json"]
    for command in ("evaluate", "compare"):
        for files in (["-"], [str(tmp_path / "judged.txt"), "-"]):
            outcome = CliRunner().invoke(cli, [command, *files, *options], input=content)
            assert outcome.exit_code == 0, outcome.output
            assert '"old"' in outcome.stdout
            assert '"new"' in outcome.stdout
    columns: Any = {"score": ["old", "new"]}
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    with open(reader, "rb") as pipe:
        assert means(evaluate(pipe, "RR", columns=columns)) == {"old": 1 / 2, "new": 1}


def test_systems_of_an_open_file_do_not_take_its_bytes_from_each_other() -> None:
    n_rows = 4_000  # more bytes than are read to tell the format
    lines = ["query_id,doc_id,old,new", *(f"q{i},d1,2,3\nq{i},d2,3,2" for i in range(n_rows))]
    file = io.BytesIO("\n".join([*lines, ""]).encode())
    qrels = {f"q{i}": {"d1": 1} for i in range(n_rows)}
    result = evaluate(qrels, file, "RR", columns={"score": ["old", "new"]})
    assert means(result) == {"old": 1 / 2, "new": 1}


@pytest.mark.parametrize(
    ("name", "sign"), [("score", 1), ("distance", -1), ("rank", -1)], ids=lambda value: str(value)
)
def test_columns_of_numbers_are_systems(name: str, sign: int) -> None:
    rows: list[dict[str, Any]] = [
        {"query_id": "q1", "doc_id": doc, "relevance": int(doc == "d1"), "old": old, "new": new}
        for doc, old, new in (("d1", 2 * sign, 3 * sign), ("d2", 3 * sign, 2 * sign))
    ]
    if name == "rank":
        rows = [{**row, "old": row["old"] + 4, "new": row["new"] + 4} for row in rows]
    columns: Any = {name: ["old", "new"]}
    expected = {"old": 1 / 2, "new": 1.0}
    assert means(evaluate(pd.DataFrame(rows), "RR", columns=columns)) == expected
    table = pd.DataFrame(rows).drop(columns="relevance")
    assert means(evaluate({"q1": {"d1": 1}}, table, "RR", columns=columns)) == expected


def test_other_names_are_stated_once() -> None:
    for name in ("doc_id", "query_id", "relevance", "expected_ids"):
        with pytest.raises(OptionError, match=f"columns: {name} is stated twice"):
            evaluate(WIDE, "RR", columns={name: ["bm25", "dense"]})
    for columns in ({"score": ["a", "a"]}, {"score": ["a", "b"], "rank": ["c"]}):
        with pytest.raises(OptionError, match="each system has one column of each NAME"):
            evaluate(WIDE, "RR", columns=columns)


@pytest.mark.parametrize("form", FORMS)
def test_columns_of_lists_without_a_statement_are_asked_about(form: str, tmp_path: Path) -> None:
    if form in ("csv", "tsv"):
        return  # texts, as of titles
    wide = [{"gold_ids": row["gold"], **row} for row in WIDE]
    for row in wide:
        del row["gold"]
    for verb in (evaluate, compare):
        with pytest.raises(InputError, match="--columns retrieved_ids=bm25,retrieved_ids=dense"):
            verb(FORMS[form](wide, tmp_path))


def test_the_commands_take_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Qrels(JUDGED).write("qrels.txt")
    write_lines(RUN, tmp_path)
    Path("wide.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in WIDE))
    wide = "expected_ids=gold,retrieved_ids=bm25,retrieved_ids=dense"

    def run(*arguments: str) -> str:
        return CliRunner().invoke(cli, arguments).output

    for command in ("evaluate", "compare", "check", "pool", "holes"):
        output = run(command, "qrels.txt", "long.jsonl")
        assert ("bm25" in output and "hybrid" in output) or command == "pool"
        assert "Error" not in output
    assert "2 runs" in run("pool", "qrels.txt", "long.jsonl")
    run("report", "qrels.txt", "long.jsonl", "-o", "report.html")
    assert "hybrid" in Path("report.html").read_text()
    for command in ("evaluate", "compare"):
        assert "dense" in run(command, "wide.jsonl", "-m", "RR", "--columns", wide)
    gate_text = run("gate", "qrels.txt", "long.jsonl", "--baseline", "hybrid", "--margin", "0.1")
    assert "bm25" in gate_text
    assert "PASS" in gate_text or "FAIL" in gate_text or "UNDECIDED" in gate_text
    run("convert", "long.jsonl", "one.run", "--run", "--columns", "system=retriever=bm25")
    assert evaluate(JUDGED, "one.run", "RR")["RR"] == MEAN["bm25"]
    error_text = run("convert", "long.jsonl", "two.run", "--run")
    assert "holds 2 systems, and one run is taken: bm25, hybrid" in error_text
    assert "--columns system=retriever=bm25" in error_text


def test_judgments_of_two_are_asked_about() -> None:
    rows = [
        {"query_id": "q1", "doc_id": "d1", "relevance": grade, "model": model}
        for model, grade in (("a", 1), ("b", 0))
    ]
    with pytest.raises(DuplicateError, match="Column 'model' has 2 values, 'a', 'b'"):
        Qrels(rows)
    assert Qrels(rows, duplicates="best").to_dict() == {"q1": {"d1": 1}}  # two judges


def test_the_tags_of_a_trec_run_are_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "two.run"
    path.write_text("q1 Q0 d1 1 2 bm25\nq1 Q0 d1 2 1 hybrid\n")
    with pytest.raises(DuplicateError, match="choose which one counts"):
        evaluate(JUDGED, str(path), "RR")
    assert evaluate(JUDGED, str(path), "RR", duplicates="first")["RR"] == 1 / 2


def test_a_structured_array_has_systems() -> None:
    kinds = [("query_id", "U9"), ("doc_id", "U9"), ("score", "f8"), ("retriever", "U9")]
    array = np.array([tuple(row.values()) for row in RUN], kinds)
    assert means(evaluate(JUDGED, array, "RR")) == MEAN


@pytest.mark.parametrize("cell", [["a"], ("a",), None, 0.5, {"name": "a"}])
def test_cells_that_are_no_names_are_no_systems(cell: Any) -> None:
    rows = [
        {"model": cell, "query_id": "q1", "doc_id": "d1", "score": 1.0},
        {"model": [cell], "query_id": "q1", "doc_id": "d1", "score": 0.5},
    ]
    assert evaluate(JUDGED, Run(rows, duplicates="best"), "RR", queries="both")["RR"] == 1


def test_a_table_of_distances_has_systems() -> None:
    rows = [{**row, "distance": -row["score"]} for row in RUN]
    for row in rows:
        del row["score"]
    assert means(evaluate(JUDGED, rows, "RR")) == MEAN


@pytest.mark.parametrize(
    "rows",
    [
        [("q1", "d1", 1.0)],
        RUN[:1],
        pd.DataFrame(RUN[:1]),
        [{"query_id": "q1", "retrieved_ids": ["d1"]}],
        [{"query_id": "q1", "doc_id": "d1", "distance": 0.5}],
    ],
    ids=["tuples", "dicts", "pandas", "lists", "distances"],
)
def test_a_run_in_memory_is_sent_to_another_process(rows: Any) -> None:
    import pickle

    run = Run(rows)
    assert pickle.loads(pickle.dumps(run)).to_dict() == run.to_dict()  # noqa: S301 - our own


def test_a_system_with_a_fault_is_not_left_out() -> None:
    rows = [("q1", "d1", 0.5, 0.25), ("q1", "d2", 0.25, "high")]
    table = pd.DataFrame(rows, columns=["query_id", "doc_id", "old", "new"])
    with pytest.raises(InputError, match="new"):
        evaluate({"q1": {"d2": 1}}, table, "RR", columns={"score": ["old", "new"]})
