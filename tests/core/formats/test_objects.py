"""Judgments and runs in memory: rows, arrays, sparse matrices, tables of every library."""

import contextlib
import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict, namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.profile import sample_cases
from pyarrow import parquet
from scipy import sparse

from cranfield import (
    AP,
    InputError,
    MeasureError,
    Qrels,
    Run,
    compare,
    evaluate,
    grades,
    nDCG,
    read_qrels,
    read_run,
)
from cranfield.data.run_names import make_several_runs
from cranfield.formats.block import SIZES

Row = namedtuple("Row", "query_id doc_id score")
Short = namedtuple("Short", "qid docno rank")


class Judgment(NamedTuple):
    """As ir_datasets and ir_measures have it."""

    query_id: str
    doc_id: str
    relevance: int


@dataclass
class Scored:
    """A row that is neither a tuple nor a dict."""

    query_id: str
    doc_id: str
    score: float


TWO = {"q": {"a": 1.0, "b": 2.5}}
ROWS: dict[str, Any] = {
    "tuples": [("q", "a", 1), ("q", "b", 2.5)],
    "lists": [["q", "a", 1], ["q", "b", 2.5]],
    "numpy's numbers and texts": [
        (np.str_("q"), np.str_("a"), np.float32(1)),
        (np.str_("q"), np.str_("b"), np.float64(2.5)),
    ],
    "named tuples": [Row("q", "a", 1), Row("q", "b", 2.5)],
    "objects": [Scored("q", "a", 1), Scored("q", "b", 2.5)],
    "dicts": [{"qid": "q", "docno": "a", "score": 1}, {"score": 2.5, "docno": "b", "qid": "q"}],
    "a generator": lambda: (Row("q", doc, score) for doc, score in (("a", 1), ("b", 2.5))),
    "a tuple of tuples": (("q", "a", 1), ("q", "b", 2.5)),
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_rows_are_a_run(rows: Any) -> None:
    assert Run(rows() if callable(rows) else rows).to_dict() == TWO


def test_rows_in_other_forms() -> None:
    assert Run([("q", "b"), ("q", "a"), ("r", "a")]).to_dict() == {
        "q": {"b": -1, "a": -2},
        "r": {"a": -1},
    }
    assert Run([Short("q", "b", 2), Short("q", "a", 1)]).to_dict() == {"q": {"b": -2, "a": -1}}
    assert Run([(1, 2, 3), (1, np.int64(-7), 4)]).to_dict() == {"1": {"2": 3, "-7": 4}}
    assert Qrels([("q", "a", 1), ("q", "b", 0.0)]).to_dict() == {"q": {"a": 1, "b": 0}}
    assert Qrels([Judgment("q", "a", 3)]).to_dict() == {"q": {"a": 3}}


def test_a_list_of_rows_is_one_run_and_a_list_of_runs_several() -> None:
    qrels: Any = [("q", "b", 1)]
    run: Any = [("q", "a", 1), ("q", "b", 2.5)]
    assert evaluate(qrels, run, "RR").means() == {"RR": 1}
    systems = evaluate(qrels, [{"q": ["a", "b"]}, {"q": ["b"]}], "RR")
    assert [scores["RR"] for scores in systems.values()] == [1 / 2, 1]


@pytest.mark.parametrize(
    ("rows", "user_columns"),
    [
        ([{"u": "q", "i": "a", "p": 1}], {"query_id": "u", "doc_id": "i", "score": "p"}),
        ([("a", 1, "q")], {"query_id": 3, "doc_id": 1, "score": 2}),
        ([("x", "q", "a", 7, 1)], {"query_id": 2, "doc_id": 3, "score": 5}),
        ([{"x": 0, "u": "q", "i": "a", "p": 1}], {"query_id": 2, "doc_id": 3, "score": 4}),
        (
            np.array([("x", "a", "q", 1)], [(n, "O") for n in ("x", "i", "u", "p")]),
            {"query_id": 3, "doc_id": 2, "score": 4},
        ),
        (pa.table({"i": ["a"], "u": ["q"], "p": [1]}), {"query_id": 2, "doc_id": 1, "score": "p"}),
    ],
)
def test_columns_in_memory_may_be_stated(rows: Any, user_columns: dict[str, str | int]) -> None:
    assert Run(rows, columns=user_columns).to_dict() == {"q": {"a": 1}}


BAD_ROWS: dict[str, tuple[Any, str]] = {
    "nothing": ([], "holds no rows"),
    "too short": ([("q", "a", 1), ("q", "b")], r"row 1: expected 3 values.*\('q', 'b'\)"),
    "too long": ([("q", "a", 1), ("q", "b", 1, 2)], "row 1: expected 3 values"),
    "no rows": ([("q", "a", 1), "qb1"], "row 1: expected 3 values.*'qb1'"),
    "whole numbers": ([1, 2], r"row 0: expected \(query_id, doc_id, score\), got 1"),
    "None": ([None], "row 0: expected .*, got None"),
    "texts": (["a", "b"], "row 0: expected .*, got 'a'"),
    "a key missing": (
        [{"qid": "q", "docno": "a", "score": 1}, {"qid": "q", "docno": "b"}],
        "row 1: has no 'score'",
    ),
    "no such column": ([{"u": "q", "docno": "a"}], "the run: has no column 'query_id'"),
    "no score": ([("q", "a", 1), ("q", "b", None)], "row 1: expected a number in .*, got None"),
    "text as score": ([("q", "a", "1")], "row 0: expected a number in column 'score', got '1'"),
    "NaN": ([("q", "a", float("nan"))], "row 0: expected a number in column 'score', got nan"),
    "too large": ([("q", "a", 10**400)], "row 0: expected a number in column 'score'"),
    "no document": ([("q", "a", 1), ("q", None, 1)], "row 1: column 'doc_id': .* got None"),
    "fraction as id": ([("q", "a", 1), (1.0, "b", 1)], "row 1: column 'query_id': .* got 1.0"),
    "true as id": ([("q", True, 1)], "row 0: column 'doc_id': .* got True"),
    "bytes as id": ([("q", b"a", 1)], "row 0: column 'doc_id': .* got b'a'"),
    "empty id": ([("q", "", 1)], "row 0: column 'doc_id': the id '' is empty"),
    "null byte": ([("q", "a\0", 1)], "row 0: column 'doc_id': .* null byte"),
    "twice": ([("q", "a", 1), ("r", "a", 1), ("q", "a", 1)], "'a' occurs twice for query 'q'"),
    "a text": ("run.trec", "got str"),
    "a number": (5, "got int"),
    "a plain array": (np.zeros((2, 3)), "got ndarray"),
}


@pytest.mark.parametrize(("rows", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_rows_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Run(rows).to_dict()


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ([("q", "a", 1), ("q", "b", None), ("q", None, 2), ("q", "", 2), ("q", "c", "x")], 4),
        ([("q", "a", 1), ("q", "b"), "x", (1.5, "b", 2)], 3),
        ([{"qid": "q", "docno": "a", "score": 1}, {"qid": "q"}, {"qid": "q", "docno": "b"}], 2),
        (
            np.array([("q", "a", 1), ("q", "b", np.nan), ("", "c", 1)], "U1,U1,f4").astype(
                [("qid", "U1"), ("docno", "U1"), ("score", "f4")]
            ),
            2,
        ),
        (pd.DataFrame({"qid": ["q", "q", None], "docno": ["a", "", "b"], "score": [1, 2, 3]}), 2),
    ],
)
def test_bad_rows_are_skipped_and_counted(rows: Any, count: int) -> None:
    scores = evaluate({"q": {"a": 1, "b": 0}}, Run(rows, errors="skip"), "NumRet RR")
    assert scores.means() == {"NumRet": 1, "RR": 1}
    assert scores.counts.rows_left_out == count
    assert f"{count} rows of the run left out (errors='skip'); the first: the run: " in str(scores)


# ---- arrays and matrices --------------------------------------------------------------------

FIELDS = [("q", "a", 1), ("q", "b", 2.5)]


@pytest.mark.parametrize("text", ["U5", "S5", "O"])
@pytest.mark.parametrize("number", ["f8", ">f8", "f4", "f2", "g", "O"])
def test_structured_arrays(text: str, number: str) -> None:
    rows: list[Any] = (
        [(t.encode(), d.encode(), s) for t, d, s in FIELDS] if text == "S5" else FIELDS
    )
    kind = [("query_id", text), ("docno", text), ("score", number)]
    array = np.array(rows, np.dtype(kind))
    assert Run(array).to_dict() == TWO
    assert Run(array.reshape(2, 1)).to_dict() == TWO
    assert Run(array.view(np.recarray)).to_dict() == TWO
    assert Run(np.repeat(array, 2)[::2]).to_dict() == TWO


@pytest.mark.parametrize("kind", ["i1", "u1", ">i4", "i8", "u8"])
def test_structured_arrays_of_whole_numbers(kind: str) -> None:
    array = np.array([(1, 2, 3)], [("user", kind), ("item", kind), ("rating", kind)])
    assert Qrels(array).to_dict() == {"1": {"2": 3}}
    assert Qrels(array.astype([("user", kind), ("item", kind), ("rating", "?")])).to_dict() == {
        "1": {"2": 1}
    }


def test_fields_that_are_not_needed_may_hold_anything() -> None:
    kind = [("qid", "U1"), ("docno", "U1"), ("score", "f8"), ("when", "M8[s]"), ("v", "f4", 3)]
    array = np.array([("q", "a", 1, 0, (1, 2, 3))], np.dtype(kind))
    assert Run(array).to_dict() == {"q": {"a": 1}}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ([("qid", "M8[s]"), ("docno", "i4"), ("score", "f8")], "'qid' holds datetime64"),
        ([("qid", "c8"), ("docno", "i4"), ("score", "f8")], "'qid' holds complex64"),
        ([("qid", "i4", 2), ("docno", "i4"), ("score", "f8")], r"'qid' holds \(2,\) of int32"),
        ([("qid", "f8"), ("docno", "i4"), ("score", "f8")], "'qid' holds double"),
        ([("qid", "i4"), ("docno", "i4"), ("score", "U3")], "'score' holds <U3, expected numbers"),
    ],
)
def test_fields_of_other_types_are_refused(kind: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Run(np.zeros(1, np.dtype(kind)))


SPARSE = ["csr", "csc", "coo", "lil", "bsr", "dok"]


@pytest.mark.parametrize("form", SPARSE)
@pytest.mark.parametrize("of", [sparse.coo_matrix, sparse.coo_array])
def test_sparse_matrices_are_users_by_items(form: str, of: Any) -> None:
    entries = [2.0, 1.5, -3.0], ([2, 0, 0], [0, 2, 1])
    matrix = of(entries, shape=(3, 4)).asformat(form)
    expected = {"0": {"1": -3.0, "2": 1.5}, "2": {"0": 2.0}}
    assert Run(matrix).to_dict() == expected
    assert evaluate({0: {1: 1}, 1: {1: 1}, 2: {0: 1}}, matrix, "RR").per_query("RR") == {
        "0": 1 / 2,
        "1": 0,
        "2": 1,
    }
    assert Qrels(matrix.astype(np.int32)).to_dict() == {"0": {"1": -3, "2": 1}, "2": {"0": 2}}


def test_a_stored_zero_counts_and_an_absent_one_does_not() -> None:
    matrix = sparse.csr_array(([0.0, 1.0], ([0, 0], [3, 1])), shape=(1, 5))
    assert Run(matrix).to_dict() == {"0": {"3": 0.0, "1": 1.0}}
    assert Qrels(matrix).to_dict() == {"0": {"3": 0, "1": 1}}


def test_what_occurs_twice_in_a_matrix_is_refused() -> None:
    matrix = sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 5))
    with pytest.raises(InputError, match="'1' occurs twice for query '0'"):
        evaluate({0: {1: 1}}, matrix, "RR")


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (sparse.csr_array((3, 3)), "holds no rows"),
        (sparse.csr_array(np.array([[1j]])), "complex128, expected real numbers"),
        (sparse.csr_array(np.array([[1e10]])), "a number in column 'relevance', got 10000000000"),
        (sparse.csr_array(np.array([[np.nan]])), "a number in column 'relevance', got nan"),
    ],
)
def test_bad_matrices_are_refused(matrix: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Qrels(matrix)


# ---- tables of other libraries --------------------------------------------------------------

FRAME = {"qid": ["q", "q", "r"], "docno": ["a", "b" * 20, "a"], "score": [1.0, 2.5, 3.0]}
EXPECTED = {"q": {"a": 1.0, "b" * 20: 2.5}, "r": {"a": 3.0}}


def frame(**kinds: str) -> pd.DataFrame:
    return pd.DataFrame(FRAME).astype(kinds)


def relation(kind: str) -> Any:
    """Return a DuckDB relation; its connection lives as long."""
    row_texts = "('q', 'a', 1.0), ('q', repeat('b', 20), 2.5), ('r', 'a', 3.0)"
    return duckdb.connect().sql(
        f"select qid, docno, score::{kind} as score from (values {row_texts}) t(qid, docno, score)"  # noqa: S608
    )


TABLE = pa.table(FRAME)
TABLES: dict[str, Callable[[], Any]] = {
    "pandas, objects": lambda: frame(qid="object", docno="object"),
    "pandas, strings": lambda: frame(qid="string", docno="string"),
    "pandas, Arrow strings": lambda: frame(qid="string[pyarrow]", docno="string[pyarrow]"),
    "pandas, categories": lambda: frame(qid="category", docno="category"),
    "pandas, index": lambda: frame().set_index("qid"),
    "pandas, rows taken": lambda: pd.concat([frame(), frame()])[3:],
    "pandas, single scores": lambda: frame(score="float32"),
    "polars": lambda: pl.DataFrame(FRAME),
    "polars, categories": lambda: pl.DataFrame(FRAME).with_columns(
        pl.col("qid", "docno").cast(pl.Categorical)
    ),
    "polars, enum": lambda: pl.DataFrame(FRAME).with_columns(
        pl.col("qid").cast(pl.Enum(["r", "q"]))
    ),
    "polars, bytes": lambda: pl.DataFrame(FRAME).with_columns(
        pl.col("qid", "docno").cast(pl.Binary)
    ),
    "polars, chunks": lambda: pl.concat([pl.DataFrame(FRAME)[:1], pl.DataFrame(FRAME)[1:]]),
    "polars, decimals": lambda: pl.DataFrame(FRAME).with_columns(
        pl.col("score").cast(pl.Decimal(20, 3))
    ),
    "DuckDB, doubles": lambda: relation("double"),
    "DuckDB, singles": lambda: relation("float"),
    "DuckDB, decimals": lambda: relation("decimal(9, 2)"),
    "pyarrow": lambda: TABLE,
    "pyarrow, chunks": lambda: pa.concat_tables([TABLE[:1], TABLE[1:1], TABLE[1:]]),
    "pyarrow, slices": lambda: pa.concat_tables([TABLE, TABLE])[3:],
    "pyarrow, a batch": lambda: TABLE.to_batches()[0],
    "pyarrow, a reader": lambda: TABLE.to_reader(1),
    "pyarrow, large texts": lambda: TABLE.cast(
        pa.schema(
            [("qid", pa.large_string()), ("docno", pa.string_view()), ("score", pa.float64())]
        )
    ),
    "pyarrow, dictionaries that differ": lambda: pa.concat_tables(
        [
            TABLE[i : i + 1].set_column(1, "docno", TABLE["docno"][i : i + 1].dictionary_encode())
            for i in range(3)
        ]
    ),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_tables_of_every_library(make: Callable[[], Any]) -> None:
    run = Run(make())
    assert run.to_dict() == EXPECTED
    assert run.to_dict() == EXPECTED, "a stream is read once, the run as often as needed"
    qrels = {"q": {"a": 2}, "r": {"a": 1}}
    assert evaluate(qrels, make(), "RR").per_query("RR") == {"q": 1 / 2, "r": 1}


NUMBERS = {"user": [7, 7, -1], "item": [1, 2**40, 1], "score": [1, 0, 3]}


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.DataFrame(NUMBERS),
        lambda: pd.DataFrame(NUMBERS).astype("Int64"),
        lambda: pd.DataFrame(NUMBERS).astype({"user": "category", "item": "object"}),
        lambda: pl.DataFrame(NUMBERS),
        lambda: pa.table(NUMBERS),
        lambda: duckdb.connect().sql(
            "select * from "
            "(values (7, 1, 1), (7, 1099511627776, 0), (-1, 1, 3)) t(user_id, item, score)"
        ),
        lambda: list(zip(*NUMBERS.values(), strict=True)),
    ],
    ids=["pandas", "pandas, nullable", "pandas, mixed", "polars", "pyarrow", "DuckDB", "rows"],
)
def test_whole_numbers_are_ids_in_every_library(make: Callable[[], Any]) -> None:
    expected = {"7": {"1": 1, str(2**40): 0}, "-1": {"1": 3}}
    assert Run(make()).to_dict() == expected
    assert Qrels(make()).to_dict() == expected
    assert evaluate({7: {1: 1}, "-1": {"1": 1}}, make(), "RR")["RR"] == 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame(NUMBERS | {"user": [7.0, np.nan, 1]}), "'user' holds double, expected text"),
        (pd.DataFrame(NUMBERS | {"user": [7, "x", 1]}), "ids are all texts or all whole numbers"),
        (pd.DataFrame(NUMBERS | {"user": ["a", None, "b"]}), "row 1: the id in column 'user'"),
        (pd.DataFrame(NUMBERS | {"score": [1, None, 3]}), "row 1: expected a number in .* None"),
        (pl.DataFrame(NUMBERS | {"user": [7, None, 1]}), "row 1: the id in column 'user'"),
        (pl.DataFrame(NUMBERS | {"score": [1.0, float("nan"), 3.0]}), "row 1: expected a number"),
        (pl.DataFrame(NUMBERS | {"score": ["1", "2", "3"]}), "'score' holds string_view, expected"),
        (pl.Series("user", [1]), "row 0: expected"),
        (pd.Series([1], name="user"), "row 0: expected"),
        (pa.table(NUMBERS).schema.empty_table(), "holds no rows"),
        (pa.array([1, 2]), "row 0: expected"),
    ],
)
def test_bad_tables_of_every_library_are_refused(table: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Run(table).to_dict()
    assert "Traceback" not in str(caught.value)


def test_a_reader_that_fails_is_an_error_without_a_traceback() -> None:
    def batches() -> Any:
        yield TABLE.to_batches()[0]
        raise ZeroDivisionError("by hand")

    with pytest.raises(InputError, match=r"cannot be read as a table: .*by hand") as caught:
        Run(pa.RecordBatchReader.from_batches(TABLE.schema, batches()))
    assert "Traceback" not in str(caught.value)


def test_streams_that_come_once_are_read_once() -> None:
    judged = pa.table({"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "relevance": [0, 1]})
    ranked = pa.table({"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    two_sided_table = pa.table(
        {"query_id": ["q1"], "expected_ids": [["b"]], "retrieved_ids": [["a", "b"]]}
    )

    def stream(table: pa.Table) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches()))

    assert evaluate(stream(judged), stream(ranked), "RR")["RR"] == 1 / 2
    assert evaluate(stream(judged), ranked, "RR")["RR"] == 1 / 2
    assert evaluate(stream(two_sided_table), measures="RR")["RR"] == 1 / 2
    systems = evaluate(stream(judged), {"one": stream(ranked), "two": stream(ranked)}, "RR")
    assert [scores["RR"] for scores in systems.values()] == [1 / 2] * 2


def test_arrow_data_are_shared_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SIZES, "rows", 400)
    queries = [f"q{i // 100}" for i in range(1000)]
    docs = pa.array([f"d{i:09}" for i in range(1000)], pa.large_string())
    table = pa.table({"qid": queries, "docno": docs, "score": np.arange(1000.0)})
    # Of the last block, a word would reach beyond the data.
    block = next(Run(table).blocks())()
    address = block.doc._buffer.__array_interface__["data"][0]
    buffer = docs.buffers()[2]
    assert buffer.address <= address < buffer.address + buffer.size
    assert block.score_or_grade is not None
    assert (
        block.score_or_grade.__array_interface__["data"][0]
        == table["score"].chunk(0).buffers()[1].address
    )


# ---- ids of other spelling ------------------------------------------------------------------

SPELLINGS = [("1", "1.0"), ("7", "007"), ("d1", "D1"), ("d1", " d1"), ("10", "10."), ("0", "000")]


@pytest.mark.parametrize(
    ("spelling", "other_spelling"), [*SPELLINGS, *((b, a) for a, b in SPELLINGS)]
)
@pytest.mark.parametrize("as_table", [False, True])
def test_ids_of_other_spelling_are_said_and_not_scored(
    spelling: str, other_spelling: str, as_table: bool
) -> None:
    def run(query: str, doc: str) -> Any:
        rows = {"qid": [query, query], "docno": ["other", doc], "score": [2.0, 1.0]}
        return pa.table(rows) if as_table else {query: {"other": 2.0, doc: 1.0}}

    for qrels, other_run, message in (
        ({spelling: {"d": 1}}, run(other_spelling, "d"), "share no query"),
        ({"q": {spelling: 1}}, run("q", other_spelling), "share no document as they are written"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            evaluate(qrels, other_run, "RR")
        assert repr(spelling) in str(caught.value)
        assert repr(other_spelling) in str(caught.value)
        assert "They differ only in" in str(caught.value)


def test_other_spelling_is_found_behind_queries_without_judgments(write: Any) -> None:
    lines = [f"other{i} Q0 d{j} 1 {-j} t\n" for i in range(5000) for j in range(20)]
    path = write("run", "".join(lines) + "q Q0 D1 1 1 t\n")
    with pytest.raises(InputError, match="the run has 'D1', the qrels 'd1'"):
        evaluate({"q": {"d1": 1}}, path, "RR")


def test_whole_numbers_meet_texts() -> None:
    for qrels in ({1: {2: 1}}, {"1": {"2": 1}}):
        for ids in ([1, 2], ["1", "2"], [np.int8(1), np.uint64(2)]):
            assert evaluate(qrels, Run([(*ids, 1.0)]), "RR")["RR"] == 1
            assert evaluate(qrels, {ids[0]: {ids[1]: 1.0}}, "RR")["RR"] == 1


# ---- nothing is imported --------------------------------------------------------------------

OTHERS = {"pandas", "polars", "scipy", "duckdb", "datasets"}
IMPORTS = {
    "polars": "import polars\ndata = polars.DataFrame(rows)",
    "pandas": "import pandas\ndata = pandas.DataFrame(rows)",
    "duckdb": "import duckdb\n"
    "data = duckdb.connect().sql(\"select 'q' qid, 'a' docno, 1::double score, 1 relevance\")",
    "scipy": "from scipy import sparse\ndata = sparse.csr_array([[1.0]])\nqrels = {0: {0: 1}}",
    "numpy": "import numpy\n"
    "data = numpy.array([('q', 'a', 1.0)], [('qid', 'O'), ('docno', 'U1'), ('score', 'f4')])",
    "rows": "data = [('q', 'a', 1.0)]",
}


# Some, as each starts a process.
@pytest.mark.parametrize("library", sample_cases(IMPORTS))
def test_the_library_of_a_table_brings_in_no_other(library: str) -> None:
    code = (
        "import sys\nqrels = {'q': {'a': 1}}\n"
        "rows = {'qid': ['q'], 'docno': ['a'], 'score': [1.0]}\n"
        f"{IMPORTS[library]}\nbefore = set(sys.modules)\nfrom cranfield import evaluate\n"
        "assert evaluate(qrels, data, 'RR')['RR'] == 1\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not set(process.stdout.split()) & (OTHERS - {library})


# ---- numbers of 16 bits ---------------------------------------------------------------------


def half(number: float) -> Any:
    return np.float16(number)


def test_numbers_of_16_bits_are_taken_as_what_they_are() -> None:
    plain, ranking = {"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"c": 2.5, "a": 1.25, "b": 0.5}}
    short_floats = {"q": {doc: half(grade) for doc, grade in plain["q"].items()}}
    scores_16 = {"q": {doc: half(score) for doc, score in ranking["q"].items()}}
    expected = evaluate(plain, ranking, "nDCG AP")
    assert evaluate(short_floats, scores_16, "nDCG AP").means() == expected.means()
    assert Qrels(short_floats).to_dict() == plain
    assert Qrels({"q": {"g": scores_16["q"]}}).to_dict() == {"q": {"g": [ranking["q"]]}}
    assert nDCG([half(0), half(2), half(1)]) == nDCG([0, 2, 1])
    assert nDCG(gain={1: half(0.5)}) == nDCG(gain={1: 0.5})
    saved_scores: Any = {
        "x": {"1": half(0.5), "2": half(0.25)},
        "y": {"1": half(0.75), "2": half(0)},
    }
    assert compare(saved_scores, test="sign").rows()[0]["difference"] == (0.25 - 0.25) / 2


@pytest.mark.parametrize("grade", [half(np.nan), half(np.inf), np.float32(2**31)])
def test_grades_of_few_bits_that_are_none_are_refused(grade: Any) -> None:
    with pytest.raises(InputError, match="query 'q', document 'a': expected a number"):
        Qrels({"q": {"a": grade, "b": 2}})
    assert Qrels({"q": {"a": grade, "b": half(2)}}, errors="skip").to_dict() == {"q": {"b": 2}}


def test_a_run_says_its_size_where_that_is_known(tmp_path: Path) -> None:
    assert repr(Run({})) == "Run('run', 0 queries, 0 documents)"
    assert repr(Run({"q": ["a", "b"], "r": ["a"]}, "x")) == "Run('x', 2 queries, 3 documents)"
    assert repr(Run([("q", "a", 1)])) == "Run('run', 1 row)"
    assert repr(Run(pl.DataFrame(FRAME))) == "Run('run', 3 rows)"
    assert (
        repr(Run({"q": ["a"], "r": ["a"]}).select_query("q")) == "Run('run', 1 query, 1 document)"
    )
    file = tmp_path / "mine.run"
    assert repr(read_run(file)) == "Run('mine')", "it is not there"
    file.write_text("q Q0 a 1 2.5 t\n" * 100)
    assert repr(read_run(file)) == f"Run('mine', {100 * 15:,} bytes)", "it was not read"


# ---- LazyFrames -----------------------------------------------------------------------------


def test_a_lazy_frame_is_collected(tmp_path: Path) -> None:
    qrels: Any = pl.LazyFrame({"qid": ["q", "r"], "docno": ["a", "a"], "relevance": [2, 1]})
    lazy: Any = pl.LazyFrame(FRAME).filter(pl.col("score") > 0)
    assert Run(lazy).to_dict() == EXPECTED
    expected = {"q": 1 / 2, "r": 1}
    assert evaluate(qrels, lazy, "RR").per_query("RR") == expected
    for lazy_tables in ([lazy, lazy], {"one": lazy, "two": lazy}):
        systems = evaluate(qrels, lazy_tables, "RR")
        assert [scores.per_query("RR") for scores in systems.values()] == [expected] * 2
    with pytest.raises(InputError, match=r"the run: cannot be collected: .*nothing"):
        Run(pl.LazyFrame(FRAME).select("nothing"))


# ---- halves of surrogate pairs --------------------------------------------------------------

HALF, BYTE = "\ud800", "\udcff"  # the second stands for a byte that is no UTF-8
RUNS_WITH: dict[str, Callable[[str], Any]] = {
    "dict": lambda id_: {"q": {id_: 2.0, "a": 1.0}},
    "dict with a tie": lambda id_: {"q": {id_: 1.0, "a": 1.0}},
    "dict with such a query": lambda id_: {"q": {"a": 1.0}, id_: {"a": 1.0}},
    "list": lambda id_: {"q": [id_, "a"]},
    "list with such a query": lambda id_: {"q": ["a"], id_: ["a"]},
    "tuples": lambda id_: [("q", id_, 2.0), ("q", "a", 1.0)],
    "dicts": lambda id_: [{"query_id": "q", "doc_id": id_, "score": 2.0}],
    "structured array": lambda id_: np.array(
        [("q", id_, 2.0)], [("qid", "U1"), ("docno", "U1"), ("score", "f8")]
    ),
}
QRELS_WITH: dict[str, Callable[[str], Any]] = {
    "dict": lambda id_: {"q": {"a": 1, id_: 1}},
    "set": lambda id_: {"q": {"a", id_}},
    "dict with such a query": lambda id_: {id_: {"a": 1}},
    "groups": lambda id_: {"q": {"g": {id_: 1, "a": 2}}},
    "groups of such a name": lambda id_: {"q": {id_: {"a": 2}}},
    "tuples": lambda id_: [("q", id_, 1), ("q", "a", 1)],
}


@pytest.mark.parametrize("make", RUNS_WITH.values(), ids=RUNS_WITH)
def test_half_of_a_surrogate_pair_is_refused_in_every_form_of_a_run(make: Any) -> None:
    qrels = {"q": {"a": 1}}
    with pytest.raises(InputError, match="is no text: it holds half of a surrogate pair"):
        evaluate(qrels, make(HALF), "RR")
    assert evaluate(qrels, make(BYTE), "RR").means()["RR"] in (0, 1 / 2, 1)


@pytest.mark.parametrize("make", QRELS_WITH.values(), ids=QRELS_WITH)
def test_half_of_a_surrogate_pair_is_refused_in_every_form_of_judgments(make: Any) -> None:
    with pytest.raises(InputError, match="is no text: it holds half of a surrogate pair"):
        Qrels(make(HALF))
    assert len(Qrels(make(BYTE)).query_ids) == 1


@pytest.mark.parametrize("id_", [HALF, BYTE])
def test_a_table_holds_text_alone(id_: str) -> None:
    objects = {name: pd.Series(column, dtype=object) for name, column in FRAME.items()}
    frame_of_objects = pd.DataFrame(objects | {"docno": pd.Series([id_, "b", "a"], dtype=object)})
    with pytest.raises(InputError, match=r"the run: cannot be read as a table: .*surrogates"):
        Run(frame_of_objects)


# ---- dicts of somebody's own kind -----------------------------------------------------------


class Lacking(dict):  # type: ignore[type-arg]
    """Shows none of its keys one by one."""

    def __iter__(self) -> Any:
        return iter(())


class Long(dict):  # type: ignore[type-arg]
    """Has a value too many."""

    def values(self) -> Any:
        return [*super().values(), 1]


class Other(Mapping):  # type: ignore[type-arg]
    """A mapping that is no dict."""

    def __init__(self, mapping: Any) -> None:
        self._data = mapping

    def __getitem__(self, key: Any) -> Any:
        return self._data[key]

    def __iter__(self) -> Any:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)


@pytest.mark.parametrize("kind", [Lacking, Long])
def test_a_mapping_that_contradicts_itself_is_refused(kind: Any) -> None:
    plain = {"a": 1, "b": 0}
    for make in (Qrels, Run):
        for mapping in ({"q": kind(plain)}, kind({"q": plain})):
            with pytest.raises(InputError, match=f"{kind.__name__} has other keys, or another"):
                make(mapping).to_dict()
    with pytest.raises(InputError, match=f"{kind.__name__} has other keys, or another"):
        Qrels({"q": {"g": kind(plain)}})
    with pytest.raises(InputError, match=f"{kind.__name__} has other keys, or another"):
        nDCG(kind(plain), ["a", "b"])


@pytest.mark.parametrize("kind", [Other, OrderedDict, Counter, partial(defaultdict, int)])
def test_every_mapping_that_does_not_is_taken(kind: Any) -> None:
    plain = {"a": 1, "b": 0}
    assert Qrels({"q": kind(plain)}).to_dict() == Run({"q": kind(plain)}).to_dict() == {"q": plain}
    assert Run(Other({"q": kind(plain)})).to_dict() == {"q": plain}
    assert evaluate({"q": kind(plain)}, {"q": kind(plain)}, "RR")["RR"] == 1
    assert nDCG(kind(plain), kind(plain)) == 1


# ---- shapes that could be mistaken for each other -------------------------------------------

Q, G, ONE, SEVERAL, AP_OF = "judgments", "grades", "one run", "several runs", "AP"
# What is read, from every shape of data in memory, by those who take it: Qrels(x), grades(x), the
# runs of evaluate(...), AP(x). A function that is not named refuses it. A shape that several take
# has another meaning for each; those are marked, with the reading that wins.
READINGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "{query: {document: whole number}}": (  # who takes judgments reads grades, who runs scores
        {"q": {"a": 2, "b": 1}},
        {Q: {"q": {"a": 2, "b": 1}}, ONE: {"q": {"a": 2, "b": 1}}},
    ),
    "{query: {document: number}}": (
        {"q": {"a": 2.5, "b": 1}},
        {Q: {"q": {"a": 2.5, "b": 1}}, ONE: {"q": {"a": 2.5, "b": 1}}},
    ),
    "{query: {document: text}}": ({"q": {"a": "2"}}, {}),
    "{query: [text]}": (  # the relevant documents, or the ranking
        {"q": ["b", "a"]},
        {Q: {"q": {"b": 1, "a": 1}}, ONE: {"q": {"b": 0, "a": -1}}},
    ),
    "{query: [whole number]}": (  # ids, except grades()
        {"q": [2, 1]},
        {
            Q: {"q": {"2": 1, "1": 1}},
            ONE: {"q": {"2": 0, "1": -1}},
            G: {"q": {"#1": 2, "#2": 1}},
        },
    ),
    "{query: [whole number twice]}": ({"q": [1, 0, 1]}, {G: {"q": {"#1": 1, "#2": 0, "#3": 1}}}),
    "{query: [number]}": ({"q": [0.5]}, {G: {"q": {"#1": 0.5}}}),
    "{query: (text, whole number)}": ({"q": ("a", 2)}, {}),
    "{query: [(text, number)]}": (
        {"q": [("a", 2)]},
        {Q: {"q": {"a": 2}}, ONE: {"q": {"a": 2}}},
    ),
    "{query: [[number, text]]}": (
        {"q": [[2.5, "a"]]},
        {Q: {"q": {"a": 2.5}}, ONE: {"q": {"a": 2.5}}},
    ),
    "{query: [(whole number, fraction)]}": (
        {"q": [(3, 2.5)]},
        {Q: {"q": {"3": 2.5}}, ONE: {"q": {"3": 2.5}}},
    ),
    "{query: {(text, number)}}": (
        {"q": {("a", 2)}},
        {Q: {"q": {"a": 2}}, ONE: {"q": {"a": 2}}},
    ),
    "{query: [(whole number, whole number)]}": ({"q": [(3, 2)]}, {}),
    "{query: [(text, text)]}": ({"q": [("a", "b")]}, {}),
    "{query: [(text, number)], query: [text]}": ({"q": [("a", 2)], "p": ["ab"]}, {}),
    "{query: [{document: number}]}": ({"q": [{"a": 2}]}, {}),
    "{query: {text}}": ({"q": {"a"}}, {Q: {"q": {"a": 1}}}),  # a set has no order
    "{query: text}": ({"q": "a"}, {SEVERAL: {"q": "the file a"}}),  # {name: path}
    "{query: {}}": ({"q": {}}, {Q: {"q": {}}, ONE: {}}),
    "{document: whole number}": ({"a": 2}, {}),
    "{document: number}": ({"a": 2.5}, {}),
    "{name: {query: {document: number}}}": (  # judgments in groups, or several runs
        {"x": {"q": {"a": 2}}},
        {Q: {"x": {"q": [{"a": 2}]}}, SEVERAL: {"x": {"q": {"a": 2}}}},
    ),
    "{name: {query: [text]}}": ({"x": {"q": ["a"]}}, {SEVERAL: {"x": {"q": {"a": 0}}}}),
    "{name: {query: {text}}}": ({"x": {"q": {"a"}}}, {}),
    "{query: {group: [{document: number}]}}": (
        {"x": {"q": [{"a": 2}]}},
        {Q: {"x": {"q": [{"a": 2}]}}},
    ),
    "{name: [row]}": ({"x": [("q", "a", 2)]}, {SEVERAL: {"x": {"q": {"a": 2}}}}),
    "{name: [(text, number, text)]}": ({"x": [("a", 2, "q")]}, {}),
    "{name: Run}": ({"x": Run({"q": ["a"]})}, {SEVERAL: {"x": {"q": {"a": 0}}}}),
    "{column: [value]}": ({"user": [1, 2], "item": [3, 4], "rating": [5, 6]}, {}),
    "{column: {row: value}}": ({"user": {0: 1}, "item": {0: 3}, "rating": {0: 5}}, {}),
    "[(text, text, number)]": (
        [("q", "a", 2)],
        {Q: {"q": {"a": 2}}, ONE: {"q": {"a": 2}}},
    ),
    "[(whole number, whole number, whole number)]": (  # rows, except grades()
        [(1, 2, 3)],
        {
            Q: {"1": {"2": 3}},
            ONE: {"1": {"2": 3}},
            G: {"1": {"#1": 1, "#2": 2, "#3": 3}},
        },
    ),
    "[(text, text)]": ([("q", "a")], {Q: {"q": {"a": 1}}, ONE: {"q": {"a": -1}}}),
    "[(whole number, whole number)]": (
        [(1, 2)],
        {Q: {"1": {"2": 1}}, ONE: {"1": {"2": -1}}, G: {"1": {"#1": 1, "#2": 2}}},
    ),
    "[[text, text, number]]": (
        [["q", "a", 2]],
        {Q: {"q": {"a": 2}}, ONE: {"q": {"a": 2}}},
    ),
    "[[whole number, whole number, fraction]]": (  # rows, except grades()
        [[1, 2, 0.5]],
        {
            Q: {"1": {"2": 0.5}},
            ONE: {"1": {"2": 0.5}},
            G: {"1": {"#1": 1, "#2": 2, "#3": 0.5}},
        },
    ),
    "[[text, text, true]]": ([["q", "a", True]], {Q: {"q": {"a": 1}}, ONE: {"q": {"a": 1}}}),
    "[[whole number, ...]]": (  # neither rows nor rankings, unless grades() is told
        [[3, 2, 1], [9, 2, 4]],
        {G: {"1": {"#1": 3, "#2": 2, "#3": 1}, "2": {"#1": 9, "#2": 2, "#3": 4}}},
    ),
    "[[whole number], []]": ([[3], []], {G: {"1": {"#1": 3}, "2": {}}}),
    "[[text, text, text]]": ([["a", "b", "c"]], {}),
    "[[text, text]]": ([["q", "a"]], {}),
    "[[fraction]]": ([[0.5, 0.25]], {G: {"1": {"#1": 0.5, "#2": 0.25}}}),
    "[{column: value}]": (
        [{"query_id": "q", "doc_id": "a", "score": 2}],
        {Q: {"q": {"a": 2}}, ONE: {"q": {"a": 2}}},
    ),
    "[{document: number}]": ([{"a": 2, "b": 1}], {}),
    "[{text}]": ([{"a"}], {}),
    "[{query: {document: number}}]": ([{"q": {"a": 2}}], {SEVERAL: {"run": {"q": {"a": 2}}}}),
    "[{query: [text]}]": ([{"q": ["a"]}], {SEVERAL: {"run": {"q": {"a": 0}}}}),
    "[[row]]": ([[("q", "a", 2)]], {SEVERAL: {"run": {"q": {"a": 2}}}}),
    "[whole number]": ([2, 1], {G: {"1": {"#1": 2, "#2": 1}}, AP_OF: (1 / 1 + 2 / 2) / 2}),
    "[whole number, null]": ([None, 2], {G: {"1": {"#2": 2}}, AP_OF: 1 / 2}),
    "[text]": (["a", "b"], {SEVERAL: {"a": "the file a", "b": "the file b"}}),
    "[fraction]": ([0.5, 0.25], {G: {"1": {"#1": 0.5, "#2": 0.25}}}),  # relevant from where?
    "{text}": ({"a"}, {}),
    "(text, text, number)": (("q", "a", 2), {}),
    "[]": ([], {SEVERAL: {}, G: {"1": {}}, AP_OF: 0}),  # no run is refused later
    "{}": ({}, {ONE: {}}),
    "text": ("a", {}),
    "whole number": (2, {}),
    "null": (None, {}),
}


def reading_of_runs(source: Any) -> tuple[str, Any]:
    runs = make_several_runs(source, "strict")
    if runs is None:
        return ONE, Run(source).to_dict()
    return SEVERAL, {
        name: f"the file {run.sources[0].path}" if run.sources else run.to_dict()
        for name, run in runs.items()
    }


@pytest.mark.parametrize(("source", "expected"), READINGS.values(), ids=READINGS)
def test_every_shape_has_its_reading_or_none(source: Any, expected: dict[str, Any]) -> None:
    takers: list[Callable[[], tuple[str, Any]]] = [
        lambda: (Q, Qrels(source).to_dict()),
        lambda: reading_of_runs(source),
        lambda: (G, grades(source).qrels.to_dict()),
        lambda: (AP_OF, AP(source)),
    ]
    reading_of_taker = {}
    for take in takers:
        with contextlib.suppress(InputError, MeasureError, TypeError):
            taker, reading = take()
            reading_of_taker[taker] = reading
    assert reading_of_taker == expected


NO_VALUE = None
CALLS: dict[str, tuple[Any, Any, float | None]] = {
    "{document: grade}, [document]": ({"a": 3, "b": 1}, ["x", "a"], 1 / 2 / 2),
    "{document: grade}, {document: whole score}": ({"a": 1}, {"x": 2, "a": 1}, 1 / 2),
    "{document: fraction}, anything: relevant from where?": ({"a": 0.5}, ["a"], NO_VALUE),
    "{document}, [document]": ({"a"}, ["x", "a"], 1 / 2),
    "{document}, {document: whole score}": ({"a"}, {"x": 2, "a": 1}, 1 / 2),
    "[document], [document]: the truth is the first": (["a"], ["x", "a"], 1 / 2),
    "[document], {document: fraction}": (["a"], {"x": 2.5, "a": 1}, 1 / 2),
    "[document], {document: whole number}: swapped?": (["a", "x"], {"x": 2, "a": 1}, NO_VALUE),
    "[], {document: whole number}: swapped?": ([], {"a": 1}, NO_VALUE),
    "[document], {}: nothing was retrieved": (["a"], {}, 0),
    "[document], {document}: swapped": (["a"], {"a"}, NO_VALUE),
    "[whole number], [whole number] are ids": ([1, 3, 5], [3, 2, 1], (1 / 1 + 2 / 3) / 3),
    "[whole number twice], [whole number]": ([1, 0, 0], [3, 2, 1], NO_VALUE),
    "[whole number], [text]: grades?": ([3, 2], ["a", "b"], NO_VALUE),
    "[text], [whole number]: grades?": (["a", "b"], [1, 0], NO_VALUE),
    "[whole number], [its text]": ([3, 2], ["3", "x"], 1 / 2),
    "[whole number], [fraction]: grades and scores": ([3, 2], [0.5, 0.25], NO_VALUE),
    "[text, whole number]: a document and its grade?": (("a", 3), ["a"], NO_VALUE),
    "[[whole number]], [[whole number]]": ([[1, 0]], [[2, 1]], NO_VALUE),
}


@pytest.mark.parametrize(("truth", "ranking", "expected"), CALLS.values(), ids=CALLS)
def test_every_call_of_a_measure_has_its_reading_or_none(
    truth: Any, ranking: Any, expected: float | None
) -> None:
    if expected is not NO_VALUE:
        assert AP(truth, ranking) == pytest.approx(expected, rel=1e-15)
        return
    with pytest.raises((InputError, MeasureError)):
        AP(truth, ranking)


def test_what_may_be_rows_or_rankings_is_refused_with_the_right_call() -> None:
    qrels: Any = [[1, 3, 5], [2, 4, 6], [7, 8, 9]]
    run: Any = [[3, 2, 1], [9, 2, 4], [1, 2, 3]]
    with pytest.raises(InputError) as caught:
        Qrels(qrels)
    assert str(caught.value) == (
        "the qrels: lists with only whole numbers, as [1, 3, 5]: is each one a row, or the "
        "documents of one query?\n"
        "Write lists of ids with their queries: {'1': [1, 3, 5], '2': [2, 4, 6], ...}; rows are "
        "tuples: (query_id, doc_id, relevance). If qrels and run are both such lists, or both "
        "JSON files of them, they are read as lists of ids."
    )
    truth, ranking = (dict(zip("123", lists, strict=True)) for lists in (qrels, run))
    with pytest.raises(InputError, match=r"rows are tuples: \(query_id, doc_id, score\)"):
        evaluate(truth, run, "AP@3")
    expected = ((1 / 1 + 2 / 3) / 3 + (1 / 2 + 2 / 3) / 3 + 0) / 3
    assert evaluate(truth, ranking, "AP@3")["AP@3"] == pytest.approx(expected, rel=1e-15)
    rows: Any = [tuple(row) for row in qrels]
    assert Qrels(rows).to_dict() == {"1": {"3": 5}, "2": {"4": 6}, "7": {"8": 9}}
    user_columns = {"query_id": 1, "doc_id": 2, "relevance": 3}
    assert Qrels(qrels, columns=user_columns).to_dict() == Qrels(rows).to_dict(), (
        "they are rows, then"
    )


def test_truth_and_ranking_swapped_are_refused() -> None:
    measure = nDCG(gain="exp2") @ 5
    with pytest.raises(InputError) as caught:
        measure(["a", "b"], {"a": 1, "b": 3})
    assert "got a list, and then a dict of whole numbers" in str(caught.value)
    assert f"{measure}({{document: grade}}, [document, ...])" in str(caught.value)
    assert measure({"a": 1, "b": 3}, ["a", "b"]) == measure([1, 3])
    numbers: Any = {"q": {"a": 1, "b": 3}}
    assert evaluate({"q": ["a"]}, numbers, "RR")["RR"] == 1 / 2, "there it is no mistake"


def test_a_query_may_go_on_in_a_batch_with_another_dictionary() -> None:
    n = 100  # entries each; together, they are more than 8 bits can count

    def batch(name: str) -> pa.RecordBatch:
        codes = pa.array(range(n), pa.int8())
        docs = pa.DictionaryArray.from_arrays(codes, pa.array([f"{name}{i}" for i in range(n)]))
        columns = {"query_id": ["q"] * n, "doc_id": docs, "score": [1.0 * i for i in range(n)]}
        return pa.RecordBatch.from_pydict(columns)

    table = pa.Table.from_batches([batch("a"), batch("b")])
    expected = {f"{name}{i}": 1.0 * i for name in "ab" for i in range(n)}
    assert Run(table).to_dict() == {"q": expected}


# ---- bytes, empty tables, and what was read already --------------------------------------------

UUIDS = [bytes([200 + i] * 16) for i in range(3)]
BYTE_TYPES = [pa.binary(16), pa.binary(), pa.large_binary(), pa.binary_view()]


@pytest.mark.parametrize("kind", BYTE_TYPES, ids=str)
@pytest.mark.parametrize("side", [Qrels, Run])
def test_ids_of_bytes_that_are_no_text_are_refused(side: Any, kind: Any) -> None:
    number = {"relevance" if side is Qrels else "score": [3, 2, 1]}
    table = pa.table({"query_id": ["1"] * 3, "doc_id": pa.array(UUIDS, kind), **number})
    with pytest.raises(InputError, match=r"frame\['doc_id'\]\.map\(bytes\.hex\)"):
        side(table).to_dict()


def test_the_remedy_for_ids_of_bytes_works() -> None:
    frame = pd.DataFrame({"query_id": ["1"] * 3, "doc_id": UUIDS, "score": [3.0, 2.0, 1.0]})
    with pytest.raises(InputError, match="holds bytes that are not text"):
        Run(frame).to_dict()
    frame["doc_id"] = frame["doc_id"].map(bytes.hex)
    assert [*Run(frame).to_dict()["1"]] == ["c8" * 16, "c9" * 16, "ca" * 16]


def test_ids_of_bytes_that_are_text_are_read() -> None:
    docs = pa.array([b"abc", b"def"], pa.binary(3))
    table = pa.table({"query_id": ["1"] * 2, "doc_id": docs, "score": [2.0, 1.0]})
    assert Run(table).to_dict() == {"1": {"abc": 2.0, "def": 1.0}}
    lists = pa.table(
        {"query_id": ["1"], "retrieved_ids": pa.array([[b"a"]], pa.list_(pa.binary()))}
    )
    assert Run(lists).to_dict() == {"1": {"a": -1.0}}


def test_bytes_in_a_file_or_a_structured_array_are_refused(tmp_path: Path) -> None:
    parquet.write_table(
        pa.table({"query_id": ["1"], "doc_id": pa.array(UUIDS[:1], pa.binary(16)), "score": [1.0]}),
        tmp_path / "a.parquet",
    )
    fields = [("query_id", "U1"), ("doc_id", "S16"), ("score", "f8")]
    with pytest.raises(InputError, match=r"a\.parquet: column 'doc_id' holds bytes"):
        read_run(tmp_path / "a.parquet").to_dict()
    with pytest.raises(InputError, match="column 'doc_id' holds bytes"):
        Run(np.array([("1", UUIDS[0], 1.0)], dtype=fields))


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows"])
def test_ids_that_are_no_text_are_read_from_what_cranfield_wrote(
    tmp_path: Path, suffix: str
) -> None:
    scores = {"q": {"caf\udce9": 2.0}}
    Run(scores).write(tmp_path / f"a.{suffix}")
    assert read_run(tmp_path / f"a.{suffix}").to_dict() == scores


EMPTY: dict[str, list[Any]] = {"user_id": [], "item_id": [], "score": []}


@pytest.mark.parametrize("side", [Qrels, Run])
def test_an_empty_frame_holds_no_rows(side: Any, tmp_path: Path) -> None:
    frames: list[Any] = [pd.DataFrame(columns=[*EMPTY]), pd.DataFrame(EMPTY), pl.DataFrame(EMPTY)]
    for frame in frames:
        with pytest.raises(InputError, match="holds no rows"):
            side(frame)
    frames[0].to_parquet(tmp_path / "e.parquet")
    with pytest.raises(InputError, match=r"e\.parquet: holds no rows"):
        (read_run if side is Run else read_qrels)(tmp_path / "e.parquet").to_dict()


@pytest.mark.parametrize("side", [Qrels, Run])
def test_an_iterator_that_was_read_already_is_named(side: Any) -> None:
    rows = iter([("q", "a", 1)])
    lists = {"q": iter(["a"]), "p": iter(["b"])}
    batches = pa.table({"query_id": ["q"], "doc_id": ["a"], "score": [1]}).to_reader()
    for source in (rows, lists, batches):
        side(source)
        with pytest.raises(InputError, match="Was it read already"):
            side(source)


def test_an_iterator_may_hold_nothing_for_a_query() -> None:
    assert Run({"q": iter(["a"]), "p": iter([])}).to_dict() == {"q": {"a": 0.0}}


def test_a_folder_or_a_glob_is_named_by_itself(tmp_path: Path) -> None:
    table = pa.table({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]})
    for folder in ("fA", "fB"):
        for part in ("day=1", "day=2"):
            path = tmp_path / folder / part
            path.mkdir(parents=True)
            rows = table.set_column(0, "query_id", [[part]])
            parquet.write_table(rows, path / "27a3b81b-0.parquet")
    pattern = str(tmp_path / "fA" / "*" / "*.parquet")
    paths = [str(tmp_path / "fA"), f"{tmp_path / 'fB'}/", pattern]
    assert [read_run(path).name for path in paths] == ["fA", "fB", pattern]
    assert [*evaluate({"day=1": {"a": 1}}, paths[:2], "RR")] == ["fA", "fB"]


def test_decimals_without_a_fraction_are_whole_numbers() -> None:
    from decimal import Decimal

    judged = {"7": {"3": 1}, "8": {"4": 1}}
    decimal_ids = [Decimal(7), Decimal("7.0"), Decimal(8)]
    rows = [
        {"user": user, "item": Decimal(doc), "score": score}
        for user, doc, score in zip(decimal_ids, (3, 9, 4), (0.1, 0.2, 0.3), strict=True)
    ]
    mean = (1 / 2 + 1) / 2
    assert evaluate(judged, Run(rows), "RR")["RR"] == mean
    kinds = pa.schema(
        [("user", pa.decimal128(38, 0)), ("item", pa.decimal128(10, 0)), ("score", pa.float64())]
    )
    table = pa.Table.from_pylist(rows, kinds)
    for frame in (table, table.to_pandas(), pl.from_arrow(table)):
        assert evaluate(judged, frame, "RR")["RR"] == mean
    lists = pa.table(
        {
            "user": table["user"].take([0, 2]),
            "retrieved_ids": pa.array(
                [[Decimal(9), Decimal(3)], [Decimal(4)]], pa.list_(pa.decimal128(10, 0))
            ),
        }
    )
    for frame in (lists, lists.to_pylist()):
        assert evaluate(judged, frame, "RR")["RR"] == mean
