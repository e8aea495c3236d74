"""Cells that hold lists, many rows at a time: as rows of one document each, for any table."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.notes import codes

from cranfield import InputError, Run, evaluate, read_run
from cranfield.errors import DuplicateError
from cranfield.formats.block import SIZES
from cranfield.formats.list_cells import ListRows
from cranfield.formats.source import Source

Table = list[dict[str, Any]]

RANDOM = np.random.default_rng(7)
# Lists of different lengths, among them empty ones; ids that are texts, and not only ASCII.
ROWS: Table = [
    {
        "query_id": f"q{i}",
        "expected_ids": [f"d{j}" for j in RANDOM.permutation(9)[: i % 4].tolist()],
        "retrieved_ids": [f"d{j}" for j in RANDOM.permutation(9)[: i % 6].tolist()] + ["é"],
        "scores": [float(s) for s in RANDOM.permutation(40)[: i % 6 + 1]],
    }
    for i in range(23)
]


def _csv(rows: Table, folder: Path, cell: Callable[[list[Any]], str]) -> str:
    page = io.StringIO()
    writer = csv.writer(page)
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow(
            [cell(field) if isinstance(field, list) else field for field in row.values()]
        )
    path = folder / "a.csv"
    path.write_text(page.getvalue())
    return str(path)


def _write_text(name: str, text: str, folder: Path) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def _cut_chunks(rows: Table) -> pa.Table:
    """Return an Arrow table whose arrays begin in the middle of others, in several chunks."""
    longer_table = pa.Table.from_pylist([*rows[-2:], *rows, rows[0]])
    return pa.concat_tables([longer_table.slice(2, 4), longer_table.slice(6, len(rows) - 4)])


FORMS: dict[str, Callable[[Table, Path], Any]] = {
    "dicts": lambda rows, folder: rows,
    "Arrow": lambda rows, folder: pa.Table.from_pylist(rows),
    "cut Arrow": lambda rows, folder: _cut_chunks(rows),
    "large lists": lambda rows, folder: pa.Table.from_pylist(rows).cast(
        pa.schema(
            [
                ("query_id", pa.large_string()),
                ("expected_ids", pa.large_list(pa.large_string())),
                ("retrieved_ids", pa.large_list(pa.string())),
                ("scores", pa.large_list(pa.float32())),
            ]
        )
    ),
    "pandas": lambda rows, folder: pd.DataFrame(rows),
    "polars": lambda rows, folder: pl.DataFrame(rows),
    "JSON": lambda rows, folder: _write_text("a.json", json.dumps(rows, indent=1), folder),
    "JSON lines": lambda rows, folder: _write_text(
        "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows), folder
    ),
    "CSV with JSON": lambda rows, folder: _csv(rows, folder, json.dumps),
}


@pytest.fixture(params=[1, 2, 5, SIZES.lists])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(SIZES, "lists", request.param)
    monkeypatch.setattr(SIZES, "bytes", 64 * request.param)
    return int(request.param)


def _evaluate_rows(rows: Table) -> dict[str, Any]:
    """Return what evaluate says of the same as dicts of dicts."""
    qrels: Any = {row["query_id"]: dict.fromkeys(row["expected_ids"], 1) for row in rows}
    run: Any = {
        row["query_id"]: dict(zip(row["retrieved_ids"], row["scores"], strict=True)) for row in rows
    }
    scores: dict[str, Any] = evaluate(qrels, run, "AP RR NumRet NumRel").to_dict()
    return scores


@pytest.mark.parametrize("form", FORMS)
def test_every_table_of_lists_is_read_as_its_rows(form: str, size: int, tmp_path: Path) -> None:
    scores = evaluate(FORMS[form](ROWS, tmp_path), "AP RR NumRet NumRel")
    assert scores.to_dict() == _evaluate_rows(ROWS)


@pytest.mark.parametrize("form", FORMS)
def test_whole_numbers_as_ids_are_their_texts(form: str, size: int, tmp_path: Path) -> None:
    rows: Table = [
        {"query_id": 7 + i, "expected_ids": [i, 100], "retrieved_ids": [i, 5], "scores": [2, i]}
        for i in range(6, 11)
    ]
    texts = [
        {**row, "query_id": str(row["query_id"])}
        | {name: list(map(str, row[name])) for name in ("expected_ids", "retrieved_ids")}
        for row in rows
    ]
    scores = evaluate(FORMS[form](rows, tmp_path), "AP RR NumRet NumRel")
    assert scores.to_dict() == _evaluate_rows(texts)


BROKEN_ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "an empty id": ({"retrieved_ids": ["a", ""]}, "empty"),
    "a null byte": ({"retrieved_ids": ["a", "b\0"]}, "column 'retrieved_ids'"),
    "a null in a list": ({"retrieved_ids": ["a", None]}, "empty or missing"),
    "too few scores": ({"scores": [1.0]}, "2 in column 'retrieved_ids', and 1"),
    "no score": ({"scores": [1.0, None]}, "column 'scores'"),
    "no list of judgments": ({"expected_ids": None}, "column 'expected_ids' is empty"),
    "no query": ({"query_id": None}, "column 'query_id' is empty or missing"),
}


@pytest.mark.parametrize("form", ["dicts", "Arrow", "cut Arrow", "pandas", "JSON lines"])
@pytest.mark.parametrize(("cells", "message"), BROKEN_ROWS.values(), ids=BROKEN_ROWS)
def test_a_broken_row_is_named_by_its_own_number(
    form: str, cells: dict[str, Any], message: str, size: int, tmp_path: Path
) -> None:
    good = {"expected_ids": ["a"], "retrieved_ids": ["a", "b"], "scores": [2.0, 1.0]}
    rows: Table = [{"query_id": f"q{i}", **good} for i in range(12)]
    rows[9] |= cells
    row_pattern = r"a.jsonl:10\b" if form == "JSON lines" else r"row 9\b"
    with pytest.raises(InputError, match=message) as caught:
        evaluate(FORMS[form](rows, tmp_path), "RR")
    caught.match(row_pattern)
    scores = evaluate(FORMS[form](rows, tmp_path), "RR", errors="skip")
    is_judged = not {"expected_ids", "query_id"} & cells.keys()
    assert scores["RR"] == 11 / (12 if is_judged else 11)
    assert "left-out" in codes(scores.notes)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", [0, 8])
def test_a_query_has_one_list_however_far_apart(
    form: str, first: int, size: int, tmp_path: Path
) -> None:
    rows = [*ROWS[:9], ROWS[first], *ROWS[9:12]]
    with pytest.raises(DuplicateError, match=f"the query 'q{first}' occurs in two rows"):
        evaluate(FORMS[form](rows, tmp_path), "RR")


def test_a_list_that_is_missing_is_a_query_without_results() -> None:
    table = pa.table(
        {"query_id": ["a", "b"], "retrieved_ids": pa.array([None, ["x"]], pa.list_(pa.string()))}
    )
    scores = evaluate({"a": {"x"}, "b": {"x"}}, Run(table), "RR")
    assert scores.per_query("RR") == {"a": 0, "b": 1}
    assert scores.counts.without_results == 1


def test_lists_of_one_length_are_lists_as_well() -> None:
    pairs = pa.array([["x", "y"], ["y", "x"]], pa.list_(pa.string(), 2))
    run = Run(pa.table({"query_id": ["a", "b"], "retrieved_ids": pairs}))
    assert evaluate({"a": {"x"}, "b": {"x"}}, run, "RR").per_query("RR") == {"a": 1, "b": 1 / 2}


def test_a_frame_of_several_kinds_says_which_column_and_what_to_do() -> None:
    good = {"query_id": "q", "expected_ids": ["a"], "retrieved_ids": ["a"]}
    for ids in ([{"id": "a"}], [1.5, "a"], "a"):
        with pytest.raises(InputError, match="column retrieved_ids") as caught:
            evaluate(pd.DataFrame([good, {**good, "query_id": "r", "retrieved_ids": ids}]), "RR")
        assert "several types" in (caught.value.hint or "")
        assert "('" not in caught.value.problem


# ---- lists as pandas prints them into text, and lists that are filled up ------------------------

PRINTED_TEXTS = [
    "one\nline",
    "it's",
    'say "x"',
    "both ' and \"",
    "tab\t, \\n and \\",
    "é\u2028\x7f",
    "\U0001f600",
]


@pytest.mark.parametrize(
    "print_list", [repr, lambda texts: str(np.array(texts, object)), json.dumps]
)
def test_texts_with_line_breaks_are_read_as_they_are_printed(
    print_list: Callable[[Any], str], tmp_path: Path
) -> None:
    path, texts = tmp_path / "rag.csv", PRINTED_TEXTS
    row = {"user_input": "q1", "reference_contexts": print_list(texts[:1])}
    pd.DataFrame([{**row, "retrieved_contexts": print_list(texts)}]).to_csv(path, index=False)
    expected: Any = [
        {"user_input": "q1", "reference_contexts": texts[:1], "retrieved_contexts": texts}
    ]
    for table in (str(path), pd.read_csv(path)):
        scores = evaluate(table, "RR NumRet")
        assert scores.to_dict() == evaluate(expected, "RR NumRet").to_dict()
    assert read_run(path).to_dict() == Run(expected).to_dict()


FILLED_ROWS: Table = [
    {
        "query_id": "q1",
        "expected_ids": [5, 9, -1],
        "retrieved_ids": [9, 4, -1],
        "scores": [3, 2, 0],
    },
    {
        "query_id": "q2",
        "expected_ids": [7, -1, -1],
        "retrieved_ids": [3, 7, 1],
        "scores": [3, 2, 1],
    },
    {"query_id": "q3", "expected_ids": [7], "retrieved_ids": [-1, -1, -1], "scores": [0, 0, 0]},
]


def _strip(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of FILLED_ROWS without -1, and without its scores."""
    names = ("expected_ids", "retrieved_ids")
    ids_of_name = {name: [doc for doc in row[name] if doc != -1] for name in names}
    return {**row, **ids_of_name, "scores": row["scores"][: len(ids_of_name["retrieved_ids"])]}


@pytest.mark.parametrize(
    "form",
    ["CSV with semicolons", *sorted(FORMS.keys() - {"large lists", "cut Arrow"})],  # of texts
)
def test_minus_1_fills_up_lists_in_tables_as_it_does_in_memory(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SIZES, "lists", 1)
    rows, join = FILLED_ROWS, lambda cells: ";".join(map(str, cells))
    make: Callable[[Any, Path], Any] = FORMS.get(form, lambda rows, path: _csv(rows, path, join))
    scores = evaluate(make(rows, tmp_path), "AP NumRet NumRel")
    assert scores.to_dict() == evaluate([_strip(row) for row in rows], "AP NumRet NumRel").to_dict()
    qrels, run = (
        {row["query_id"]: row[name] for row in rows} for name in ("expected_ids", "retrieved_ids")
    )
    notes = [
        sorted((note.text, note.count) for note in result.notes if note.code == "padding")
        for result in (scores, evaluate(qrels, run, "AP"))
    ]
    assert notes[0] == notes[1]
    assert [count for _, count in notes[0]] == [3, 4]


def test_lists_filled_up_are_not_read_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ListRows, "_split_one_by_one")
    rows = [{**row, "scores": [float(score) for score in row["scores"]]} for row in FILLED_ROWS]
    for table in (pd.DataFrame(rows), pa.Table.from_pylist(rows)):
        assert evaluate(table, "NumRet").per_query("NumRet") == {
            row["query_id"]: sum(doc != -1 for doc in row["retrieved_ids"]) for row in rows
        }


@pytest.mark.parametrize("form", ["Arrow", "JSON", "CSV with JSON"])
def test_minus_1_is_an_id_beside_texts_and_other_numbers_below_0(form: str, tmp_path: Path) -> None:
    for ids, docs in ((["-1", "a"], ["a", "-1"]), ([-7, 5], [5, -7, -1])):
        row = {"query_id": "q0", "expected_ids": ids[::-1], "retrieved_ids": ids[:1], "scores": [1]}
        filled_row = {
            "query_id": "q1",
            "expected_ids": ids,
            "retrieved_ids": docs,
            "scores": [*range(len(docs))],
        }
        scores = evaluate(FORMS[form]([row, filled_row], tmp_path), "NumRet")
        assert scores.per_query("NumRet") == {"q0": 1, "q1": len(docs)}
        assert "padding" not in codes(scores)


def test_minus_1_between_ids_of_a_table_is_refused(tmp_path: Path) -> None:
    row = {**FILLED_ROWS[0], "retrieved_ids": [9, -1, 4, -1], "scores": [4, 3, 2, 1]}
    for form in ("Arrow", "CSV with JSON"):
        with pytest.raises(InputError, match="-1 fills up some lists, and is between ids"):
            evaluate(FORMS[form]([row], tmp_path), "AP")


@pytest.mark.parametrize("suffix", ["jsonl", "json"])
def test_a_file_with_lists_filled_up_is_read_once(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many lists are filled up, and whether or not they are split at once."""
    path, judgments = tmp_path / f"run.{suffix}", {"q0": {"3": 1}}
    source_names, open_source = list[str](), Source.open

    def record_opening(source: Source, **options: Any) -> Any:
        source_names.append(source.name)
        return open_source(source, **options)

    monkeypatch.setattr(Source, "open", record_opening)
    monkeypatch.setattr(SIZES, "lists", 1)
    counts = []
    for filler in (4, -1):
        lists = {f"q{i}": [3, filler] for i in range(5)}
        rows = [{"query_id": query, "retrieved_ids": ids} for query, ids in lists.items()]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(lines if suffix == "jsonl" else json.dumps(lists))
        source_names.clear()
        evaluate(judgments, path, "RR")
        counts.append(len(source_names))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("element", [[1, 2], {"a": 1}])
def test_a_list_in_a_list_is_a_fault_of_its_row_beside_padding(element: Any) -> None:
    rows = [
        {"query_id": "q1", "retrieved_ids": [1, -1]},
        {"query_id": "q2", "retrieved_ids": [3, element]},
    ]
    with pytest.raises(InputError, match="expected a string or a whole number"):
        evaluate({"q1": {"1": 1}, "q2": {"3": 1}}, rows, "RR")


def test_a_list_that_cannot_be_read_is_blamed_on_its_row(tmp_path: Path) -> None:
    """Not on another row, whose blanks are asked about."""
    path = tmp_path / "run.csv"
    path.write_text('query_id,retrieved_ids\nq1,doc one\nq2,"[a, b c]"\nq3,x;y z\n')
    judgments = {"q1": {"doc one": 1}, "q2": {"a": 1}, "q3": {"x": 1}}
    with pytest.raises(InputError, match="no list that can be read") as caught:
        evaluate(judgments, path, "RR")
    assert caught.value.line == 3
    scores = evaluate(judgments, path, "RR", errors="skip").per_query("RR")
    assert scores == {"q1": 1, "q2": 0, "q3": 1}
