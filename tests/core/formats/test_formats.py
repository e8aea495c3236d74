"""Files of every format: its odd cases, how it is recognised, and what each refuses."""

import bz2
import contextlib
import gzip
import json
import lzma
import os
import random
import re
import subprocess
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from cranfield import (
    CranfieldWarning,
    InputError,
    OptionError,
    Qrels,
    Run,
    evaluate,
    explain,
    read_qrels,
    read_run,
)
from cranfield.arrays.ids import Ids
from cranfield.formats.batches import read_ids
from cranfield.formats.block import SIZES
from cranfield.formats.columns import Side
from cranfield.formats.compression import Unclosable
from cranfield.formats.files import FORMAT_OF_SUFFIX, FORMATS
from cranfield.formats.source import Source
from cranfield.progress import watch_calls

Found = dict[str, dict[str, float]]


def run_of(path: str | list[str], **options: Any) -> Found:
    return read_run(path, **options).to_dict()


def qrels_of(path: str | list[str], **options: Any) -> Found:
    return read_qrels(path, **options).to_dict()


def small_blocks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Cut files into blocks of so many bytes or rows."""
    monkeypatch.setattr(SIZES, "bytes", size)
    monkeypatch.setattr(SIZES, "tail", max(8, size // 2))
    monkeypatch.setattr(SIZES, "rows", size)


ROW = '{"query_id": "q1", "doc_id": "d1", "score": 1.5}\n'
TWO: Found = {"q1": {"d1": 1.5, "d2": 2.0}}

# what it is called: (name of the file, content, what is in it)
RUNS: dict[str, tuple[str, str | bytes, Found]] = {
    "csv": ("run.csv", "query_id,doc_id,score\nq1,d1,1.5\nq1,d2,2\n", TWO),
    "csv, CRLF": ("run.csv", "qid,docno,score\r\nq1,d1,1.5\r\nq1,d2,2\r\n", TWO),
    "csv, CR": ("run.csv", "qid,docno,score\rq1,d1,1.5\rq1,d2,2\r", TWO),
    "csv, mixed line ends": ("run.csv", "qid,docno,score\r\nq1,d1,1.5\nq1,d2,2\r\n", TWO),
    "csv, no last line end": ("run.csv", "qid,docno,score\nq1,d1,1.5\nq1,d2,2", TWO),
    "csv, byte order mark": ("run.csv", "\ufeffqid,docno,score\nq1,d1,1.5\nq1,d2,2\n", TWO),
    "csv, mark and quotes": ("run.csv", '\ufeff"qid",docno,score\nq1,d1,1.5\nq1,d2,2\n', TWO),
    "csv, blank lines": ("run.csv", "\n\nqid,docno,score\n\nq1,d1,1.5\n\nq1,d2,2\n\n", TWO),
    "csv, all quoted": ("run.csv", '"qid","docno","score"\n"q1","d1","1.5"\n"q1","d2","2"\n', TWO),
    "csv, some quoted": ("run.csv", 'qid,docno,score\nq1,"d1",1.5\n"q1",d2,"2"\n', TWO),
    "csv, other order": ("run.csv", "score,x,docno,qid\n1.5,,d1,q1\n2,y,d2,q1\n", TWO),
    "csv, blanks at numbers": ("run.csv", "qid,docno,score\nq1,d1, 1.5\nq1,d2,2 \n", TWO),
    "csv, any case of names": ("run.csv", "Query ID,Doc-Id,SCORE\nq1,d1,1.5\nq1,d2,2\n", TWO),
    "csv, score before rank": (
        "run.csv",
        "qid,docno,rank,score\nq1,d1,1,1.5\nq1,d2,2,2\n",
        TWO,
    ),
    "csv, under another name": ("run.trec", "qid,docno,score\nq1,d1,1.5\nq1,d2,2\n", TWO),
    "semicolons": ("run.csv", "qid;docno;score\nq1;d1;1.5\nq1;d2;2\n", TWO),
    "bars": ("run", "qid|docno|score\nq1|d1|1.5\nq1|d2|2\n", TWO),
    "tsv": ("run.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1.5\nq1\td2\t2\n", TWO),
    "csv, separator in an id": ("a.csv", 'qid,docno,score\nq1,"d,1",1\n', {"q1": {"d,1": 1}}),
    "csv, line ends in a text": (
        "a.csv",
        'qid,docno,score,text\nq1,d1,1,"a\nb"\nq1,d2,2,"a\r\nb"\n\nq2,d3,3,"\n"\n',
        {"q1": {"d1": 1, "d2": 2}, "q2": {"d3": 3}},
    ),
    "tsv, quotation marks that are characters": (
        "a.tsv",
        'qid\tdocno\tscore\nq1\t"Heroes\t1\nq1\tb"\t2\nq1\t"x" (album)\t3\nq2\t"\t4\n"q\t3"\t5\n',
        {"q1": {'"Heroes': 1, 'b"': 2, '"x" (album)': 3}, "q2": {'"': 4}, '"q': {'3"': 5}},
    ),
    "tsv, quotation marks around fields": (
        "a.tsv",
        'qid\tdocno\tscore\n"q1"\t"d1"\t"1"\nq1\t"a ""b"""\t2\nq1\t"c\td"\t3\n',
        {"q1": {"d1": 1, 'a "b"': 2, "c\td": 3}},
    ),
    "csv, quotation marks in ids": (
        "a.csv",
        'qid,docno,score\nq1,<dbpedia:"Heroes"_(album)>,1\nq1,"""x""",2\nq1,a"b,3\nq1,5",4\n',
        {"q1": {'<dbpedia:"Heroes"_(album)>': 1, '"x"': 2, 'a"b': 3, '5"': 4}},
    ),
    "tsv, quotation marks in ids": (
        "a.tsv",
        'qid\tdocno\tscore\nq1\t<dbpedia:"Heroes"_(album)>\t1\nq1\td\t2\n',
        {"q1": {'<dbpedia:"Heroes"_(album)>': 1, "d": 2}},
    ),
    "csv, ids that look like nothing": (
        "a.csv",
        "qid,docno,score\nNULL,NA,1\nNULL,nan,2\nNULL,None,3\nNULL,true,4\n#,#x,5\n",
        {"NULL": {"NA": 1, "nan": 2, "None": 3, "true": 4}, "#": {"#x": 5}},
    ),
    "csv, ids as they are written": (
        "a.csv",
        "qid,docno,score\n007,1.0,1\n007, d ,2\n007,1e3,3\n7,\u2028é\x85,4\n",
        {"007": {"1.0": 1, " d ": 2, "1e3": 3}, "7": {"\u2028é\x85": 4}},
    ),
    "csv, numbers": (
        "a.csv",
        "qid,docno,score\nq,a,+1e5\nq,b,-.5\nq,c,inf\nq,d,-Infinity\nq,e,1.\nq,f,1E-400\n",
        {"q": {"a": 1e5, "b": -0.5, "c": np.inf, "d": -np.inf, "e": 1, "f": 0}},
    ),
    "csv, ranks": ("a.csv", "qid,docno,rank\nq,a,2\nq,b,1.0\n", {"q": {"a": -2, "b": -1}}),
    "MS MARCO": (
        "a.tsv",
        "7\tb\t1\n7\ta\t2\n9\tb\t1\n",
        {"7": {"b": -1, "a": -2}, "9": {"b": -1}},
    ),
    "two columns": ("a.run", "q b\nq\ta\nr  b\n", {"q": {"b": -1, "a": -2}, "r": {"b": -1}}),
    "three columns": ("a.run", "q b 0.5\nq a 7\n", {"q": {"b": 0.5, "a": 7}}),
    "four columns": ("a.run", "q Q0 b 0.5\nq Q0 a 7\n", {"q": {"b": 0.5, "a": 7}}),
    "four, ranks counted": ("a.run", "q b 1 9\nq a 2 7\n", {"q": {"b": 9, "a": 7}}),
    "five columns, no tag": ("a.run", "q Q0 b 1 9\nq Q0 a 2 7\n", {"q": {"b": 9, "a": 7}}),
    "five columns, no Q0": ("a.run", "q b 1 9.5 t\nq a 2 7.5 t\n", {"q": {"b": 9.5, "a": 7.5}}),
    "TREC, commas within": ("a.run", "q,1 Q0 d,1 1 2 t,x\n", {"q,1": {"d,1": 2}}),
    "json": ("a.json", '{"q1": {"d1": 1.5, "d2": 2}}', TWO),
    "json, white space": ("a.json", ' \r\n{ "q1"\t:\n{"d1":1.5 ,\n"d2":2}\n}\n\n', TWO),
    "json, byte order mark": ("a.json", '\ufeff{"q1": {"d1": 1.5, "d2": 2}}', TWO),
    "json, under another name": ("a", '{"q1":\n{"d1": 1.5, "d2": 2}}', TWO),
    "json, a query twice": ("a.json", '{"q1": {"d1": 1.5}, "q1": {"d2": 2}}', TWO),
    "json, a query without": ("a.json", '{"q0": {}, "q1": {"d1": 1.5, "d2": 2}, "q2": {}}', TWO),
    "json, escapes": (
        "a.json",
        r'{"\u0071\n": {"\ud83d\ude00": 1, "a\"b\\": 2, "[": 3, "{": 4}}',
        {"q\n": {"\U0001f600": 1, 'a"b\\': 2, "[": 3, "{": 4}},
    ),
    "json, numbers": (
        "a.json",
        '{"q": {"a": -0.0, "b": 1E5, "c": Infinity, "d": -Infinity, "e": 123456789012345678901}}',
        {"q": {"a": 0.0, "b": 1e5, "c": np.inf, "d": -np.inf, "e": 123456789012345678901.0}},
    ),
    "json, lists": (
        "a.json",
        '{"q": ["b", "a"], "r": [], "s": ["b", 7]}',
        {"q": {"b": -1, "a": -2}, "s": {"b": -1, "7": -2}},
    ),
    "json, brackets in ids": ("a.json", '{"q[1": {"a": 1, "b": 2}}', {"q[1": {"a": 1, "b": 2}}),
    "json, braces in ids": ("a.json", '{"{": ["b", "a"]}', {"{": {"b": -1, "a": -2}}),
    "json, objects": (
        "a.json",
        '[{"qid":"q1","docno":"d1","score":1.5},\n {"score": 2, "docno": "d2", "qid": "q1"}]\n',
        TWO,
    ),
    "json, objects, no name": ("a", '[\n{"qid":"q1","docno":7,"score":1}]', {"q1": {"7": 1}}),
    "json lines": ("a.jsonl", ROW + '{"query_id":"q1","doc_id":"d2","score":2}\n', TWO),
    "json lines, one": ("a.jsonl", ROW, {"q1": {"d1": 1.5}}),
    "json lines named json": ("a.json", ROW + '{"query_id":"q1","doc_id":"d2","score":2}', TWO),
    "json lines, no name": ("a", ROW + '{"query_id":"q1","doc_id":"d2","score":2}', TWO),
    "json lines, odd lines": (
        "a.jsonl",
        "\ufeff"
        + ROW
        + '\r\n\n {"x": [{"y": 1}], "score": 2, "doc_id": "d2", "query_id": "q1"}\r\n',
        TWO,
    ),
    "json lines, whole ids": (
        "a.jsonl",
        '{"qid":1,"docno":20000000000000000000,"score":1}\n{"qid":-1,"docno":0,"score":2}',
        {"1": {"20000000000000000000": 1}, "-1": {"0": 2}},
    ),
    "json lines, ids of both kinds": (
        "a.jsonl",
        '{"qid": 1, "docno": "a", "score": 1}\n{"qid": "1", "docno": 2, "score": 2}\n',
        {"1": {"a": 1, "2": 2}},
    ),
    "json lines, escapes": (
        "a.jsonl",
        r'{"qid": "\u0071", "docno": "a\n\"\\", "score": 1}'
        + '\n{"qid":"q","docno":"\u2028","score":2}',
        {"q": {'a\n"\\': 1, "\u2028": 2}},
    ),
    "TREC, no UTF-8": ("run", b"q1 Q0 caf\xe9 1 1.0 t\n", {"q1": {"caf\udce9": 1.0}}),
    "csv, no UTF-8": ("a.csv", b"qid,docno,score\nq,caf\xe9,1\n", {"q": {"caf\udce9": 1}}),
    "json, no UTF-8": ("a.json", b'{"q": {"caf\xe9": 1}}', {"q": {"caf\udce9": 1}}),
    "json lines, no UTF-8": (
        "a.jsonl",
        b'{"qid": "q", "docno": "caf\xe9", "score": 1}',
        {"q": {"caf\udce9": 1}},
    ),
}


@pytest.mark.parametrize(("name", "content", "expected"), RUNS.values(), ids=RUNS)
def test_a_run_is_read_in_blocks_of_any_size(
    name: str,
    content: str | bytes,
    expected: Found,
    write: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = write(name, content)
    assert run_of(path) == expected
    for size in (1, 7, 30):
        small_blocks(monkeypatch, size)
        assert run_of(path) == expected


ONE: Found = {"q1": {"d1": 1, "d2": 0}}
QRELS: dict[str, tuple[str, str, Found]] = {
    "TREC": ("qrels", "q1 0 d1 1\nq1 0 d2 0\n", ONE),
    "MS MARCO": ("qrels.tsv", "q1\t0\td1\t1\nq1\t0\td2\t0\n", ONE),
    "BEIR": ("test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n", ONE),
    "ratings": ("ratings.csv", "user,item,rating\nq1,d1,1\nq1,d2,0.0\n", ONE),
    "labels": ("a.csv", "q_id,docid,label\nq1,d1,1\nq1,d2,0\n", ONE),
    "rel before rating": ("a.csv", "user_id,item_id,rating,rel\nq1,d1,5,1\nq1,d2,5,0\n", ONE),
    "relevance before score": ("a.csv", "qid,docid,score,relevance\nq1,d1,5,1\nq1,d2,5,0\n", ONE),
    "json": ("a.json", '{"q1": {"d1": 1, "d2": 0.0}}', ONE),
    "json, relevant ones": ("a.json", '{"q1": ["d1", "d2"]}', {"q1": {"d1": 1, "d2": 1}}),
    "json lines": (
        "a.jsonl",
        '{"query-id":"q1","corpus-id":"d1","score":1}\n{"query-id":"q1","corpus-id":"d2","score":0.0}\n',
        ONE,
    ),
    "queries apart": (
        "a.csv",
        "qid,docno,rel\nb,d1,1\na,d1,-2\nb,d2,0\n",
        {"b": {"d1": 1, "d2": 0}, "a": {"d1": -2}},
    ),
}


@pytest.mark.parametrize(("name", "content", "expected"), QRELS.values(), ids=QRELS)
def test_qrels_are_read(
    name: str, content: str, expected: Found, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(name, content)
    for size in (1, 30, 1 << 20):
        small_blocks(monkeypatch, size)
        assert qrels_of(path) == expected


@pytest.mark.parametrize("name", ["query_id", "qid", "q_id", "query-id", "user", "user_id"])
@pytest.mark.parametrize("doc", ["doc_id", "docno", "docid", "corpus-id", "item", "item_id"])
def test_columns_have_the_names_that_are_usual(name: str, doc: str, write: Any) -> None:
    assert run_of(write("a.csv", f"{name},{doc},score\nq,d,1\n")) == {"q": {"d": 1}}
    for grade in ("relevance", "label", "rel", "score", "rating"):
        assert qrels_of(write("q.csv", f"{grade},{doc},{name}\n3,d,q\n")) == {"q": {"d": 3}}


def test_a_run_has_no_rating_and_qrels_no_rank(write: Any) -> None:
    with pytest.raises(InputError, match="has no column 'score'"):
        run_of(write("a.csv", "qid,docno,rating\nq,d,1\n"))
    with pytest.raises(InputError, match="has no column 'relevance'"):
        qrels_of(write("a.csv", "qid,docno,rank\nq,d,1\n"))


@pytest.mark.parametrize(
    ("content", "user_columns"),
    [
        ("a,b,c\nq1,d1,1.5\nq1,d2,2\n", {"query_id": "a", "doc_id": "b", "score": "c"}),
        ("qid,b,c\nq1,d1,1.5\nq1,d2,2\n", {"doc_id": "b", "score": "c"}),
        ("qid,docno,score,new\nq1,d1,8,1.5\nq1,d2,9,2\n", {"score": "new"}),
        ("q1 d1 1.5\nq1 d2 2\n", {"query_id": 1, "doc_id": 2, "score": 3}),
        ("1.5 x d1 q1\n2 x d2 q1 y\n", {"query_id": 4, "doc_id": 3, "score": 1}),
    ],
)
def test_columns_may_be_stated(
    content: str, user_columns: dict[str, str | int], write: Any
) -> None:
    assert run_of(write("run", content), columns=user_columns) == TWO


def test_numbered_columns_of_a_file_with_or_without_header(write: Any) -> None:
    user_columns = {"query_id": 1, "doc_id": 3, "score": 2}
    for header in ("", "one,two,three\n"):
        path = write("a.csv", header + "q1,1.5,d1\nq1,2,d2\n")
        assert run_of(path, columns=user_columns) == TWO


RANKS_CALLED_SCORE = [("q", "a", 1), ("q", "b", 2), ("q", "c", 3)]
AS_ROWS = [
    dict(zip(("query_id", "doc_id", "score"), row, strict=True)) for row in RANKS_CALLED_SCORE
]


def _write_every_format(folder: Path) -> dict[str, Any]:
    """Return a table of ranks whose column is called score, in each format that has columns."""
    frame = pd.DataFrame(AS_ROWS)
    frame.to_csv(folder / "a.csv", index=False)
    frame.to_csv(folder / "a.tsv", index=False, sep="\t")
    frame.to_json(folder / "a.jsonl", orient="records", lines=True)
    frame.to_json(folder / "a.json", orient="records")
    frame.to_parquet(folder / "a.parquet")
    frame.to_feather(folder / "a.arrow")
    files = {path.name: str(path) for path in sorted(folder.iterdir())}
    fields = [("query_id", "U1"), ("doc_id", "U1"), ("score", "i8")]
    array = np.array(RANKS_CALLED_SCORE, fields)
    return {
        **files,
        "pandas": frame,
        "tuples": RANKS_CALLED_SCORE,
        "dicts": AS_ROWS,
        "array": array,
    }


@pytest.mark.parametrize(
    "name",
    [
        *("a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet", "a.arrow"),
        *("pandas", "tuples", "dicts", "array"),
    ],
)
def test_a_column_stated_as_the_rank_is_no_score(name: str, tmp_path: Path) -> None:
    data = _write_every_format(tmp_path)[name]
    qrels = {"q": {"a": 1}}

    def run(columns: Any = None) -> Run:
        if isinstance(data, str):
            return read_run(data, columns=columns)
        return Run(data, columns=columns)

    assert run({"rank": "score"}).extra_roles == {"rank"}
    ranked = evaluate(qrels, run({"rank": "score"}), "RR")  # and there is no warning
    assert ranked["RR"] == 1 / 1
    with pytest.warns(CranfieldWarning, match="--columns rank="):
        assert evaluate(qrels, run(), "RR")["RR"] == 1 / 3
    assert run({"rank": 3, "query_id": 1, "doc_id": 2}).extra_roles == {"rank"}
    with pytest.raises(InputError, match="has no column for 'doc_id': 'doc_id' is stated as score"):
        list(run({"score": "doc_id"}).read_columns(()))
    with pytest.raises(OptionError, match="'doc_id' is stated as doc_id and as query_id"):
        run({"doc_id": "doc_id", "query_id": "doc_id"})


@pytest.mark.parametrize(
    ("side", "user_columns", "missing"),
    [
        ("run", {"doc_id": "query_id"}, "query_id"),
        ("run", {"score": "doc_id"}, "doc_id"),
        ("run", {"rank": "doc_id"}, "doc_id"),
        ("run", {"rank": "query_id"}, "query_id"),
        ("qrels", {"relevance": "doc_id"}, "doc_id"),
        ("qrels", {"probability": "relevance"}, "relevance"),
        ("qrels", {"stratum": "relevance"}, "relevance"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt"])
def test_a_column_has_one_role(
    side: str, user_columns: dict[str, str], missing: str, suffix: str, write: Any
) -> None:
    number = "score" if side == "run" else "relevance"
    content = f"query_id,doc_id,{number}\nq,a,1\nq,b,2\n"
    path = write(f"a.{suffix}", content.replace(",", "\t") if suffix == "tsv" else content)
    with pytest.raises(InputError, match=f"no column for '{missing}': '{missing}' is stated as"):
        (run_of if side == "run" else qrels_of)(path, columns=user_columns)


def test_one_column_stated_for_two_roles_is_refused(write: Any) -> None:
    path = write("a.csv", "x,doc_id,score\nq,a,1\n")
    with pytest.raises(OptionError, match="'x' is stated as query_id and as doc_id"):
        run_of(path, columns={"query_id": "x", "doc_id": "x"})
    with pytest.raises(OptionError, match="'x' is stated as query_id and as doc_id"):
        run_of(path, columns={"query_id": 1, "doc_id": "x"})  # the same, by its number
    with pytest.raises(OptionError, match="1 is stated as query_id and as doc_id"):
        run_of(path, columns={"query_id": 1, "doc_id": 1})


def test_what_is_stated_leaves_another_usual_name_free(write: Any) -> None:
    path = write("a.csv", "query_id,doc_id,item,score\nq1,x,d1,1.5\nq1,x,d2,2\n")
    user_columns: dict[str, str | int] = {
        "query_id": "query_id",
        "score": "score",
        "doc_id": "item",
    }
    assert run_of(path, columns=user_columns) == TWO
    path = write("b.csv", "qid,docno,relevance,label\nq,a,7,1\nq,b,8,0\n")
    assert qrels_of(path, columns={"stratum": "relevance"}) == {"q": {"a": 1, "b": 0}}


@pytest.mark.parametrize("query", ["{}", "[]", "{", "["])
def test_ids_that_look_like_json_are_ids(query: str, write: Any) -> None:
    for name in ("a.run", "a"):
        assert run_of(write(name, f"{query} Q0 d1 1 2 t\n")) == {query: {"d1": 2.0}}


@pytest.mark.parametrize(
    ("user_columns", "problem"),
    [
        ({"scoer": "a"}, "'scoer' is not known"),
        ({"relevance": "a"}, "'relevance' is not known"),
        ({"score": 0}, "a column's name, or its number, from 1"),
        ({"score": True}, "a column's name, or its number, from 1"),
        ({"score": 1.5}, "a column's name, or its number, from 1"),
        ({"score": None}, "as relevance=None"),
    ],
)
def test_columns_that_cannot_be_are_refused(user_columns: Any, problem: str, write: Any) -> None:
    with pytest.raises(OptionError, match=problem):
        run_of(write("a.csv", "qid,docno,score\nq,d,1\n"), columns=user_columns)


@pytest.mark.parametrize(
    ("content", "user_columns", "problem"),
    [
        ("qid,docno,score\nq,d,1\n", {"score": "x"}, "has no column 'x'; its columns are 'qid', "),
        ("qid,docno,s,s\nq,d,1,2\n", {"score": "s"}, "has two columns 's'"),
        ("qid,docno,score\nq,d,1\n", {"score": 4}, "has 3 columns, no column 4"),
        ("qid,docno,score,score\nq,d,1,2\n", None, "has 2 columns named 'score'"),
        ("qid,score\nq,1\n", None, "has no column 'doc_id'; its columns are 'qid', 'score'"),
    ],
)
def test_columns_that_are_not_there_are_named(
    content: str, user_columns: Any, problem: str, write: Any
) -> None:
    path = write("a.csv", content)
    with pytest.raises(InputError, match=problem) as caught:
        run_of(path, columns=user_columns)
    assert caught.value.source == path


CONTENTS = {
    "trec": "q1 Q0 d1 1 1.5 t\nq1 Q0 d2 2 2 t\n",
    "csv": "qid,docno,score\nq1,d1,1.5\nq1,d2,2\n",
    "tsv": "qid\tdocno\tscore\nq1\td1\t1.5\nq1\td2\t2\n",
    "json": '{"q1": {"d1": 1.5, "d2": 2}}',
    "jsonl": ROW + '{"query_id":"q1","doc_id":"d2","score":2}\n',
}


@pytest.mark.parametrize("name", ["run", "run.csv", "run.json", "run.parquet", "run.trec"])
@pytest.mark.parametrize("form", CONTENTS)
def test_a_stated_format_beats_the_name(form: Any, name: str, write: Any) -> None:
    assert run_of(write(name, CONTENTS[form]), format=form) == TWO


@pytest.mark.parametrize("form", [*CONTENTS, "msmarco", "parquet", "arrow"])
@pytest.mark.parametrize("content", CONTENTS)
def test_a_stated_format_that_it_is_not_is_refused(form: Any, content: str, write: Any) -> None:
    path = write("run", CONTENTS[content])
    # CSV finds out its separator; JSON lines are often named JSON.
    if form != content and (form, content) not in {("csv", "tsv"), ("json", "jsonl")}:
        with pytest.raises(InputError) as caught:
            run_of(path, format=form)
        assert caught.value.source == path
        assert "decompress" not in str(caught.value)


def test_a_format_that_does_not_exist_is_refused(write: Any) -> None:
    with pytest.raises(OptionError, match="'xml' is not known; choose one of 'trec'"):
        read_run(write("run", CONTENTS["trec"]), format="xml")


def test_ranks_of_three_columns_need_not_count_where_it_is_stated(write: Any) -> None:
    path = write("run", "q a 7\nq b 3\n")
    with pytest.raises(InputError, match="the third may be a rank, a score or a grade"):
        run_of(path)
    assert run_of(path, format="msmarco") == {"q": {"a": -7, "b": -3}}


# ---- what is refused ------------------------------------------------------------------------

# what it is called: (name, content, number of the line, what is reported, what is shown)
BAD_RUNS: dict[str, tuple[str, str, int | None, str, str]] = {
    "csv, too few": ("a.csv", "qid,docno,score\nq,a,1\nq,b\n", 3, "expected 3 columns", "q,b"),
    "csv, too many": ("a.csv", "qid,docno,score\nq,a,1\nq,b,2,3\n", 3, "got 4", "q,b,2,3"),
    "csv, no query": ("a.csv", "qid,docno,score\n,a,1\n", 2, "the query_id is empty", ",a,1"),
    "csv, no document": ("a.csv", "qid,docno,score\nq,,1\n", 2, "doc_id is empty", "q,,1"),
    "csv, quoted nothing": ("a.csv", 'qid,docno,score\nq,"",1\n', 2, "doc_id is empty", 'q,"",1'),
    "csv, no score": ("a.csv", "qid,docno,score\nq,a,\n", 2, "expected a number", "q,a,"),
    "csv, text as score": ("a.csv", "qid,docno,score\nq,a,x\n", 2, "(column 'score')", "q,a,x"),
    "csv, NaN": ("a.csv", "qid,docno,score\nq,a,NaN\n", 2, "got 'NaN'", "q,a,NaN"),
    "csv, missing": ("a.csv", "qid,docno,score\nq,a,NA\n", 2, "got 'NA'", "q,a,NA"),
    "csv, decimal comma": ("a.csv", "qid;docno;score\nq;a;1,5\n", 2, "got '1,5'", "q;a;1,5"),
    "csv, underscore": ("a.csv", "qid,docno,score\nq,a,1_0\n", 2, "got '1_0'", "q,a,1_0"),
    "csv, hexadecimal": ("a.csv", "qid,docno,score\nq,a,0x1\n", 2, "got '0x1'", "q,a,0x1"),
    "csv, rank 1.5": ("a.csv", "qid,docno,rank\nq,a,1.5\n", 2, "a whole number", "q,a,1.5"),
    "csv, quote open": ("a.csv", 'qid,docno,score\nq,"a,1\nq,b,2\n', 2, "is not closed", 'q,"a,1'),
    "csv, after the quote": (
        *("a.csv", 'qid,docno,score\nq,b,1\nq,"a"x,1\n', 3),
        *("quotation mark", 'q,"a"x,1'),
    ),
    "csv, behind quoted lines": (
        *("a.csv", 'qid,docno,text,score\nq,a,"a\nb",1\nq,c,,x\n', 4),
        *("expected a number", "q,c,,x"),
    ),
    "csv, a line break in a document's id": (
        *("a.csv", 'qid,docno,score\nq,a,1\nq,"b\nq,c",1\n', 3),
        *("'docno' holds a line break (lines 3 to 4)", 'q,"b'),
    ),
    "csv, a line break in a query's id": (
        *("a.csv", 'qid;docno;score\n"q\r\n2";"a";1\n', 2),
        *("'qid' holds a line break (lines 2 to 3)", '"q'),
    ),
    "csv, a line break in a query's id that looks like a list": (
        *("a.csv", 'qid,retrieved_ids\n"[q\n2]","[""a""]"\n', 2),
        *("'qid' holds a line break (lines 2 to 3)", '"[q'),
    ),
    "csv, null byte": (
        *("a.csv", "qid,docno,score\n" + "q,a,1\n" * 1000 + "q,b\0,1\n", 1002),
        *("null byte", r"q,b\x00,1"),
    ),
    "csv, only a header": ("a.csv", "qid,docno,score\n", None, "holds no data", ""),
    "csv, no header": ("a.csv", "q,a,1\nq,b,2\n", 1, "has no column 'query_id'", "q,a,1"),
    "csv, a document twice": (
        *("a.csv", "qid,docno,score\nq,a,1\nr,a,1\nq,a,2\n", 4),
        *("the document 'a' occurs twice for query 'q'", "q,a,2"),
    ),
    "MS MARCO, text as rank": ("a", "q a 1\nq b two\n", 1, "expected 6 columns", "q a 1"),
    "json, NaN": ("a.json", '{"q": {"a": 1,\n"b": NaN}}', 2, "got nan", '"b": NaN'),
    "json, text as score": ("a.json", '{"q":\n{"a": "1"}}', 2, "got '1'", '"a": "1"'),
    "json, null": ("a.json", '{"q": {"a": null}}', 1, "got None", '"a": null'),
    "json, a list as score": ("a.json", '{"q": {"a": [1]}}', 1, "got [1]", '"a": [1]'),
    "json, nested once more": ("a.json", '{"q": {"a": {"b": 1}}}', 1, "query 'q'", '"a"'),
    "json, text for a query": (
        *("a.json", '{"q": {"a": 1},\n"r": "b"}', 2),
        *("query 'r'", '"r": "b"'),
    ),
    "json, first scores, then a list": (
        *("a.json", '{"q": {"a": 1},\n"r": ["b"]}', 2),
        *("query 'r': expected {document: number}", '"r": ["b"]'),
    ),
    "json, first a list, then scores": (
        *("a.json", '{"q": ["a"],\n"r": {"b": 1, "c": 2}}', 2),
        *("query 'r': expected a list of documents", '"r": {"b": 1'),
    ),
    "json, no query": ("a.json", "{}", None, "holds no query", ""),
    "json, empty id": ("a.json", '{"q": {"a": 1,\n"": 1}}', None, "empty", '"'),
    "json, empty query": ("a.json", '{"q": {"a": 1},\n"": {"b": 1}}', 2, "empty", '"": {"b"'),
    "json, null byte": ("a.json", r'{"q": {"a\u0000": 1}}', 1, "null byte", ""),
    "json, surrogate": ("a.json", r'{"q": {"\ud800": 1}}', 1, "", ""),
    "json, surrogate as query": ("a.json", r'{"\ud800": {"a": 1}}', 1, "", ""),
    "json, a document twice": (
        *("a.json", '{"q": {"a": 1,\n"b": 1,\n"a": 1}}', 3),
        *("the document 'a' occurs twice for query 'q'", '"a": 1}}'),
    ),
    "json, twice in a list": ("a.json", '{"q": ["a", "a"]}', 1, "'a' occurs twice", '["a", "a"]'),
    "json, fraction in a list": ("a.json", '{"q": ["a", 1.5]}', 1, "query 'q'", ""),
    "json, cut": ("a.json", '{"q":\n{"a": 1', 2, "is not valid JSON", '{"a": 1'),
    "json, cut between": ("a.json", '{"q": {"a": 1},\n', 2, "is not valid JSON", ""),
    "json, goes on": ("a.json", '{"q": {"a": 1}}\n}', 2, "continues after the end", "}"),
    "json, comma at the end": ("a.json", '{"q": {"a": 1},\n}', 2, "is not valid JSON", "}"),
    "json, single quotes": ("a.json", "{'q': {'a': 1}}", 1, "is not valid JSON", "'q': {'a'"),
    "json, no comma": ("a.json", '{"q": {"a": 1\n"b": 1}}', 2, "is not valid JSON", '"b": 1'),
    "json, names without quotes": ("a.json", "{1: {2: 3}}", 1, "quotation marks", "{1:"),
    "json, deep": ("a.json", '{"q": {"a": ' + "[" * 100_000, 1, "nested too deeply", ""),
    "json, endless digits": ("a.json", '{"q": {"a": ' + "9" * 5000 + "}}", 1, "", '"a": 999'),
    "json, a query on a later line": (
        *("a.json", '{"q": {"b": 1},\n\n"r":\n{"a": 1,\n"b": "x"}}', 5),
        *("query 'r', document 'b'", '"b": "x"'),
    ),
    "json, objects and a number": ("a.json", f"[{ROW},\n5]", 3, "expected a JSON object", "5"),
    "json, objects, cut": (
        "a.json",
        f'[{ROW},\n{{"qid": "q"',
        3,
        "is not valid JSON",
        '"qid": "q"',
    ),
    "json, objects, no column": ("a.json", f"[{ROW},\n{{}}]", 3, "has no 'query_id'", ""),
    "json, a document in two objects": ("a.json", f"[{ROW},{ROW}]", 2, "'d1' occurs twice", "d1"),
    "json lines, no column": (
        *("a.jsonl", ROW + '{"query_id": "q", "doc_id": "a"}', 2),
        *("has no 'score'", '"doc_id": "a"}'),
    ),
    "json lines, twice": (
        *("a.jsonl", ROW + '{"query_id": "q", "doc_id": "a", "score": 1, "score": 2}', 2),
        *("has more than one 'score'", '"score": 2'),
    ),
    "json lines, no object": ("a.jsonl", ROW + "[1]\n", 2, "expected a JSON object", "[1]"),
    "json lines, no JSON": ("a.jsonl", ROW + "\n{,}\n", 3, "is not valid JSON", "{,}"),
    "json lines, cut": ("a.jsonl", ROW + ROW[:-3], 2, "is not valid JSON", ROW[:-3]),
    "json lines, deep": ("a.jsonl", ROW + '{"query_id":' * 100_000, 2, "nested too deeply", ""),
    "json lines, no documents": ("a.jsonl", '{"qid": "q", "hits": []}', 1, "'doc_id'", "hits"),
    "json lines, a document twice": ("a.jsonl", ROW + ROW, 2, "'d1' occurs twice", ROW[:-1]),
}
for _name, _field, _value, _message in (
    ("null as score", "score", "null", "expected a number as the score ('score')"),
    ("text as score", "score", '"2"', "expected a number as the score ('score')"),
    ("NaN", "score", "NaN", "expected a number as the score ('score')"),
    ("list as score", "score", "[2]", "expected a number as the score ('score')"),
    ("null as id", "doc_id", "null", "expected a string or a whole number as 'doc_id'"),
    ("fraction as id", "doc_id", "1.0", "expected a string or a whole number as 'doc_id'"),
    ("true as id", "query_id", "true", "expected a string or a whole number as 'query_id'"),
    ("list as id", "query_id", '["q"]', "expected a string or a whole number as 'query_id'"),
    ("empty id", "doc_id", '""', "'doc_id'"),
    ("null byte", "doc_id", r'"a\u0000"', ""),
    ("surrogate", "doc_id", r'"\ud800"', ""),
):
    _line = json.dumps({"query_id": "q", "doc_id": "a", "score": 1, _field: "?"})
    _line = _line.replace('"?"', _value)
    BAD_RUNS[f"json lines, {_name}"] = ("a.jsonl", ROW + _line + "\n", 2, _message, _line)


@pytest.mark.parametrize("size", [100, 2 << 20])
@pytest.mark.parametrize(
    ("name", "content", "line", "message", "excerpt"), BAD_RUNS.values(), ids=BAD_RUNS
)
def test_a_bad_line_is_refused_with_file_line_and_text(
    size: int,
    name: str,
    content: str,
    line: int | None,
    message: str,
    excerpt: str,
    write: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small_blocks(monkeypatch, size)
    path = write(name, content)
    with pytest.raises(InputError) as caught:
        evaluate({"q": {"a": 1}}, path, "RR", queries="both")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 2000
    if line is not None:
        assert (caught.value.source, caught.value.line) == (path, line)
        assert caught.value.text is not None
        assert excerpt in str(caught.value)


BAD_QRELS: dict[str, tuple[str, str, int, str]] = {
    "csv, no number": ("a.csv", "qid,docno,rel\nq,a,1\nq,b,1.5x\n", 3, "a number as the grade"),
    "csv, too large": ("a.csv", "qid,docno,rel\nq,b,2147483648\n", 2, "a number"),
    "csv, endless": ("a.csv", "qid,docno,rel\nq,b," + "9" * 5000 + "\n", 2, "a number"),
    "csv, exponent": ("a.csv", "qid,docno,rel\nq,b,1e10\n", 2, "a number"),
    "csv, twice": ("a.csv", "qid,docno,rel\nq,b,1\nr,b,1\nq,b,1\n", 4, "'b' occurs twice"),
    "json, null": ("a.json", '{"q": {"a": 1,\n"b": null}}', 2, "a number as the grade"),
    "json, too large": ("a.json", '{"q": {"a": 2147483648}}', 1, "a number"),
    "json, text": ("a.json", '{"q": {"a": "1"}}', 1, "got '1'"),
    "json, twice": ("a.json", '{"q": {"a": 1},\n"q": {"a": 2}}', 2, "'a' occurs twice"),
    "json lines, text": ("a.jsonl", '{"qid":"q","docno":"a","rel":"1.5"}', 1, "a number"),
}


@pytest.mark.parametrize("separator", [" ", "\n"])
def test_an_error_late_in_a_large_json_file_names_its_place(separator: str, write: Any) -> None:
    rows = [f'"document {i}":{i}' for i in range(150_000)]  # some megabytes, read in pieces
    rows[140_000] = '"document 140000":null'
    path = write("a.json", '{"q": {' + f",{separator}".join(rows) + "}}")
    with pytest.raises(InputError, match="expected a number") as caught:
        evaluate({"q": {"a": 1}}, path, "RR")
    assert caught.value.line == (140_001 if separator == "\n" else 1)
    assert caught.value.text is not None
    assert '"document 140000":null' in caught.value.text
    assert len(caught.value.text) < 300


@pytest.mark.parametrize("row", ["1 0 New York 1\n", "1\t0 my doc 1\t1\n"])
def test_blanks_in_ids_of_judgments_get_the_hint_of_runs(row: str, write: Any) -> None:
    with pytest.raises(InputError, match="do ids hold blanks") as caught:
        qrels_of(write("a.qrels", row + "2 0 Rome 1\n"))
    assert caught.value.hint == "Separate columns by tabs, or write CSV, JSON, Parquet or Arrow."


@pytest.mark.parametrize(("name", "content", "line", "message"), BAD_QRELS.values(), ids=BAD_QRELS)
def test_bad_qrels_are_refused_with_file_and_line(
    name: str, content: str, line: int, message: str, write: Any
) -> None:
    path = write(name, content)
    with pytest.raises(InputError) as caught:
        qrels_of(path)
    assert message in str(caught.value)
    assert (caught.value.source, caught.value.line) == (path, line)
    assert len(str(caught.value)) < 2000


# what it is called: (name, content, what is left, how many rows are not, line of the first)
FAULTY_RUNS: dict[str, tuple[str, str, Found, int, int]] = {
    "TREC": (
        "run",
        "q Q0 a 1 9 t\nq Q0 b x t\nq Q0 c 1 y t\nq Q0 d 1 7 t\n",
        {"q": {"a": 9, "d": 7}},
        2,
        2,
    ),
    "csv": (
        "a.csv",
        'qid,docno,score\nq,a,9\nq,,1\nq,b\nq,c,y\nq,"d\n",7\nq,e,7,7\n',
        {"q": {"a": 9}},
        5,
        3,
    ),
    "csv, a quote left open": (
        "a.csv",
        'qid,docno,score\nq,a,9\nq,"b,8\n',
        {"q": {"a": 9}},
        1,
        3,
    ),
    "csv, a quote closed early": (
        "a.csv",
        'qid,docno,score\nq,"b"b,8\nq,a,9\n',
        {"q": {"a": 9}},
        1,
        2,
    ),
    "json": (
        "a.json",
        '{"q": {"a": 9,\n"b": null, "c": "1", "": 3, "d": 7},\n"r": 5, "s": {"x": NaN}}',
        {"q": {"a": 9, "d": 7}},
        5,
        2,
    ),
    "json, surrogate": ("a.json", r'{"q": {"a": 9, "\ud800": 3}}', {"q": {"a": 9}}, 1, 1),
    "json lines": (
        "a.jsonl",
        '{"qid":"q","docno":"a","score":9}\nx\n{"qid":"q","docno":"b"}\n{"qid":"q","docno":null,'
        '"score":1}\n{"qid":"q","docno":"c","score":"x"}\n{"qid":"q","docno":"d","score":7}\n',
        {"q": {"a": 9, "d": 7}},
        4,
        2,
    ),
}


@pytest.mark.parametrize("size", [40, 2 << 20])
@pytest.mark.parametrize(
    ("name", "content", "remaining_docs", "count", "line"), FAULTY_RUNS.values(), ids=FAULTY_RUNS
)
def test_skipping_leaves_out_what_is_bad_and_says_so(
    size: int,
    name: str,
    content: str,
    remaining_docs: Found,
    count: int,
    line: int,
    write: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small_blocks(monkeypatch, size)
    path = write(name, content)
    qrels = {"q": dict.fromkeys("abcde", 1) | {"d\n": 1}}
    scores = evaluate(qrels, path, "NumRet NumRelRet RR", errors="skip")
    assert scores.means() == {
        "NumRet": len(remaining_docs["q"]),
        "NumRelRet": len(remaining_docs["q"]),
        "RR": 1,
    }
    assert scores.counts.rows_left_out == count
    rows = "1 row" if count == 1 else f"{count} rows"
    message = f"{rows} of the run left out (errors='skip'); the first: {path}:{line}: "
    assert message in str(scores)
    whole_scores = evaluate(qrels, remaining_docs, "NumRet NumRelRet RR")
    assert scores.to_dict() == whole_scores.to_dict()


@pytest.mark.parametrize(
    ("name", "content", "count"),
    [
        ("a.csv", "qid,docno,rel\nq,a,1\nq,b,1.5x\nq,c\n", 2),
        ("a.json", '{"q": {"a": 1, "b": "1.5", "c": null}, "r": {"a": "x"}}', 3),
        ("qrels", "q 0 a 1\nq 0 b 1.5x\nq 0 c\n", 2),
    ],
)
def test_skipping_in_qrels(name: str, content: str, count: int, write: Any) -> None:
    path = write(name, content)
    qrels = read_qrels(path, errors="skip")
    assert qrels.to_dict() == {"q": {"a": 1}}
    assert qrels.left_out.count == count
    scores = evaluate(qrels, {"q": ["b", "a"]}, "RR")
    assert scores["RR"] == 1 / 2
    assert f"{count} rows of the qrels left out" in str(scores)


def test_nothing_left_is_an_error_that_says_why(write: Any) -> None:
    with pytest.raises(InputError, match="hold no judgment") as caught:
        read_qrels(write("a.csv", "qid,docno,rel\nq,a,x\n"), errors="skip")
    assert "expected a number" in str(caught.value)


# ---- several files --------------------------------------------------------------------------


def test_several_files_are_one_table(write: Any) -> None:
    first = write("1.run", "q Q0 a 1 9 t\nr Q0 a 1 1 t\n")
    paths = [first, write("2.csv", "qid,docno,score\nq,b,8\n"), write("3.json", '{"s": {"a": 1}}')]
    assert run_of(paths) == {"q": {"a": 9, "b": 8}, "r": {"a": 1}, "s": {"a": 1}}
    assert read_run(paths).name == "1"
    assert evaluate({"q": {"b": 1}}, read_run(paths), "RR")["RR"] == 1 / 2


def test_files_with_and_without_scores_are_no_table(write: Any) -> None:
    paths = [write("1.run", "q Q0 a 1 9 t\n"), write("2.csv", "qid,docno,rank\nq,b,1\n")]
    with pytest.raises(InputError, match=r"2\.csv: was read as CSV .*have scores, or none of them"):
        run_of(paths)


def test_json_alone_tells_a_query_without_documents(write: Any, tmp_path: Path) -> None:
    qrels = write("q.json", '{"r": {}, "q": {"a": 1}}')
    for judged in (qrels, {"q": {"a": 1}, "r": {}}):
        for run in (write("r.json", '{"q": {"a": 1}, "r": {}}'), {"q": {"a": 1}, "r": {}}):
            scores = evaluate(judged, run, "RR", queries="both")
            assert scores.per_query("RR") == {"q": 1.0, "r": 0.0}
    assert read_qrels(qrels).to_dict() == {"q": {"a": 1}, "r": {}}
    read_qrels(qrels).write(tmp_path / "again.json")
    assert read_qrels(tmp_path / "again.json").to_dict() == {"q": {"a": 1}, "r": {}}
    with pytest.raises(InputError, match="'r' has no judgment, which only JSON"):
        read_qrels(qrels).write(tmp_path / "again.csv")


def test_more_columns_than_six_are_the_tag_unless_an_id_holds_white_space(write: Any) -> None:
    assert run_of(write("a.run", "q Q0 a 1 2.5 my own tag\n" * 1)) == {"q": {"a": 2.5}}
    for second_row in ("", "q Q0 b 2 1 t\n"):
        with pytest.raises(InputError, match="do ids hold blanks"):
            run_of(write("b.run", second_row + "q Q0 New York 1 9.5 t\n"))


BY_TABS = {
    "qrels": ("qrels", "1\t0\tNew York\t1\n1\t0\tRome\t0\n", {"1": {"New York": 1, "Rome": 0}}),
    "qrels, a blank behind an id": (
        "qrels",
        "2 \t0\tB B\t1\n2\t0\te\t1\n",
        {"2": {"B B": 1, "e": 1}},
    ),
    "run": (
        "run",
        "q\tQ0\tNew York\t1\t9\tt\nq\tQ0\tRome\t2\t8\tt\n",
        {"q": {"New York": 9, "Rome": 8}},
    ),
    "run, a number in each id": (
        "run",
        "q\tQ0\tRoute 66\t1\t9\tt\nq\tQ0\tRoute 1\t2\t8\tt\n",
        {"q": {"Route 66": 9, "Route 1": 8}},
    ),
    "run, three columns": (
        "run",
        "q\tNew York\t.5\nq r\tRome\t1\n",
        {"q": {"New York": 0.5}, "q r": {"Rome": 1}},
    ),
    "run, three columns, as many words": ("run", "q\tNew York\t.5\n", {"q": {"New York": 0.5}}),
    "MS MARCO": ("run", "q\ta b\t1\nq\tc\t2\n", {"q": {"a b": 2, "c": 1}}),
}


@pytest.mark.parametrize(("side", "text", "expected"), BY_TABS.values(), ids=BY_TABS)
def test_tabs_separate_columns_where_ids_hold_blanks(
    side: str, text: str, expected: Any, write: Any
) -> None:
    path = write(f"a.{side}", text)
    judged = {query: dict.fromkeys(docs, 1) for query, docs in expected.items()}
    if side == "qrels":
        assert qrels_of(path) == expected
        scores = evaluate(path, {query: [*docs] for query, docs in expected.items()}, "P@1")
    else:
        scores = evaluate(judged, path, "P@1 AP")
        assert scores["AP"] == 1
        if "\tt\n" in text:
            assert run_of(path) == expected
    assert [str(note) for note in scores.notes if note.code == "tabs"] == [
        f"Ids of the {side} hold blanks: tabs separate columns."
    ]


@pytest.mark.parametrize("text", ["q Q0 a\t1 2.5 my tag\n", "q\tQ0\ta\t1\t2.5\tmy own tag\n"])
def test_tags_may_hold_blanks(text: str, write: Any) -> None:
    path = write("a.run", text)
    assert run_of(path) == {"q": {"a": 2.5}}
    assert "tabs" not in [note.code for note in evaluate({"q": {"a": 1}}, path, "AP").notes]


QUOTES = "query-id\tcorpus-id\tscore\n"
OPEN_QUOTES = {
    "opens": '1\t"Heroes\t1\n2\tb"\t1\n',
    "opens and goes on": '1\t"Heroes"_(album)\t1\n2\tb\t1\n',
    "of the query": '"1\t"Heroes\t1\n',
}


@pytest.mark.parametrize("rows", OPEN_QUOTES.values(), ids=OPEN_QUOTES)
def test_quotation_marks_that_open_ids_of_tsv_are_noted(rows: str, write: Any) -> None:
    path = write("a.tsv", QUOTES + rows)
    judgments = qrels_of(path)
    fields = [line.split("\t") for line in rows.splitlines()]
    assert judgments == {query: {doc: 1} for query, doc, _ in fields}
    scores = evaluate(path, {query: [*docs] for query, docs in judgments.items()}, "AP")
    assert [note.code for note in scores.notes if note.code == "quotes"] == ["quotes"]


NO_OPEN_QUOTES = {
    "closed": '1\t"Low"\t1\n',
    "in the middle": '1\t<dbpedia:"Heroes">\t1\n1\tO"Brien\t0\n',
    "tab in an id": '1\t"c\td"\t1\n1\t"x"\t0\n',
}


@pytest.mark.parametrize("rows", NO_OPEN_QUOTES.values(), ids=NO_OPEN_QUOTES)
def test_other_quotation_marks_of_tsv_are_not_noted(rows: str, write: Any) -> None:
    path = write("a.tsv", QUOTES + rows)
    scores = evaluate(path, {"1": [*qrels_of(path)["1"]]}, "AP")
    assert "quotes" not in [note.code for note in scores.notes]


def test_a_text_in_quotation_marks_beside_an_id_that_opens_one_is_read(write: Any) -> None:
    path = write("a.tsv", 'qid\tdocno\trel\ttitle\n1\t"Heroes\t1\t"x"\n1\tb\t0\t"y z"\n')
    assert qrels_of(path) == {"1": {'"Heroes': 1, "b": 0}}


@pytest.mark.linux
@pytest.mark.parametrize("n_between", [0, 300])
@pytest.mark.parametrize("is_closed_first", [False, True])
def test_ids_in_quotation_marks_beside_ids_that_open_one_are_asked_about(
    n_between: int,
    is_closed_first: bool,
    write: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small_blocks(monkeypatch, 64)
    rows = ['1\t"Low"\t1\n', *(f"{i}\td\t1\n" for i in range(3, n_between + 3)), '2\t"Heroes\t1\n']
    path = write("a.tsv", QUOTES + "".join(rows if is_closed_first else rows[::-1]))
    for errors in ("strict", "skip"):
        with pytest.raises(
            InputError, match='the id "Low" is in quotation marks, and "Heroes'
        ) as caught:
            read_qrels(path, errors=errors)
    hint = caught.value.hint or ""
    command = hint[hint.index("sed") : hint.index(" says so")]
    command = command.replace("FILE", "a.tsv").replace("NEW", "b.tsv")
    subprocess.run(["sh", "-c", command], check=True, cwd=tmp_path)
    judgments = qrels_of(str(tmp_path / "b.tsv"))
    assert (judgments["1"], judgments["2"]) == ({'"Low"': 1}, {'"Heroes': 1})
    Path(path).write_text(QUOTES + "".join(rows).replace('"Heroes', '"""Heroes"'))
    judgments = qrels_of(path)
    assert (judgments["1"], judgments["2"]) == ({"Low": 1}, {'"Heroes': 1})


NTCIR = {
    "three columns": ("q1 d1 L2\nq1 d2 L0 \nq2 d2 L10\n", True),
    "four columns": ("q1 0 d1 L2\nq1 0 d2 L0\nq2 0 d2 L10\n", False),
}


@pytest.mark.posix
@pytest.mark.parametrize(("text", "needs_numbers"), NTCIR.values(), ids=NTCIR)
def test_ntcirs_grades_are_refused_with_what_to_type(
    text: str, needs_numbers: bool, write: Any, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"a\.qrels:1: expected") as caught:
        qrels_of(write("a.qrels", text))
    hint = caught.value.hint or ""
    command = hint[hint.index("sed") : hint.index(" takes the L away")]
    command = command.replace("FILE", "a.qrels")
    subprocess.run(["sh", "-c", command], check=True, cwd=tmp_path)
    assert ("qrels.query_id=1,qrels.doc_id=2,qrels.relevance=3" in hint) == needs_numbers
    columns = {"query_id": 1, "doc_id": 2, "relevance": 3} if needs_numbers else None
    judgments = read_qrels(tmp_path / "qrels.txt", columns=columns)
    assert judgments.to_dict() == {"q1": {"d1": 2, "d2": 0}, "q2": {"d2": 10}}


def test_scores_are_not_taken_for_ranks(write: Any) -> None:
    for numbers in (range(2000, 950, -7), (3, 2, 1), (2, 3, 4), (1, 1, 2)):
        lines = "".join(f"q d{i} {number}\n" for i, number in enumerate(numbers))
        with pytest.raises(InputError, match="may be a rank, a score or a grade"):
            run_of(write("a.run", lines))


def test_a_text_may_begin_as_a_binary_file_or_an_archive_does(write: Any) -> None:
    for query in ("PAR1", "ARROW1", "PAR1x", "FEAx", "BZh91"):
        assert run_of(write("a", f"{query} Q0 a 1 2.5 t\n")) == {query: {"a": 2.5}}


def test_two_objects_on_a_line_are_refused_with_the_line(write: Any) -> None:
    row = '{"query_id": "q", "doc_id": "a%d", "score": 1}'
    path = write("a.jsonl", row % 1 + "\n" + row % 2 + row % 3 + "\n")
    with pytest.raises(InputError, match="extra data") as caught:
        run_of(path)
    assert caught.value.line == 2


def test_nothing_of_a_file_stands_raw_in_an_error(write: Any) -> None:
    for errors in ("strict", "skip"):
        with pytest.raises(InputError) as caught:
            read_qrels(write("a.tsv", 'query-id\tcorpus-id\tscore\n"q": \x1b0d'), errors=errors)
        assert str(caught.value).replace("\n", "").isprintable()


def test_a_glob_is_sorted_and_one_table(write: Any, tmp_path: Path) -> None:
    for i in (3, 1, 2):
        write(f"part{i}.csv", f"qid,docno,rel\nq,d{i},{i}\n")
    write("other.csv", "qid,docno,rel\nq,d9,9\n")
    assert qrels_of(str(tmp_path / "part*.csv")) == {"q": {"d1": 1, "d2": 2, "d3": 3}}
    assert read_run(str(tmp_path / "[p]art*.csv")).sources[0].path.endswith("part1.csv")
    with pytest.raises(InputError, match="no file has such a name"):
        qrels_of(str(tmp_path / "none*.csv"))


def test_a_name_with_brackets_is_a_name(write: Any) -> None:
    assert run_of(write("run[1].csv", "qid,docno,score\nq,a,1\n")) == {"q": {"a": 1}}


def test_a_fault_in_one_of_several_files_names_it(write: Any) -> None:
    good, bad = write("good", "q Q0 a 1 9 t\n"), write("bad", "q Q0 b 1 9 t\nq Q0 c 1 x t\n")
    with pytest.raises(InputError) as caught:
        run_of([good, bad])
    assert (caught.value.source, caught.value.line) == (bad, 2)
    scores = evaluate({"q": {"b": 1}}, read_run([good, bad], errors="skip"), "NumRet")
    assert scores["NumRet"] == 2
    assert f"1 row of the run left out (errors='skip'); the first: {bad}:2: " in str(scores)


def test_a_document_in_two_files_occurs_twice(write: Any) -> None:
    paths = [write("1.csv", "qid,docno,rel\nq,a,1\n"), write("2.csv", "qid,docno,rel\nq,a,1\n")]
    with pytest.raises(InputError, match="'a' occurs twice") as caught:
        qrels_of(paths)
    assert (caught.value.source, caught.value.line) == (paths[1], 2)


def test_no_file_is_refused() -> None:
    with pytest.raises(InputError, match="no file is given"):
        read_run([])


@pytest.mark.parametrize("form", [None, "beir"])
def test_of_a_beir_folder_the_test_judgments_are_read(form: Any, tmp_path: Path) -> None:
    folder = tmp_path / "nfcorpus"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "a", "title": "", "text": ""}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": ""}\n')
    header = "query-id\tcorpus-id\tscore\n"
    (folder / "qrels" / "test.tsv").write_text(header + "q\ta\t1\n")
    (folder / "qrels" / "dev.tsv").write_text(header + "q\tb\t1\n")
    for path in (folder, folder / "qrels", folder / "qrels" / "test.tsv"):
        assert read_qrels(path, form).to_dict() == {"q": {"a": 1}}
    assert qrels_of(str(folder / "qrels" / "dev.tsv")) == {"q": {"b": 1}}
    with pytest.raises(InputError, match=r"is a directory, not a file; it holds 'corpus\.jsonl'"):
        run_of(str(folder))


def test_the_parquet_files_of_a_folder_are_one_table(tmp_path: Path) -> None:
    for i in range(3):
        table = pa.table({"qid": ["q"], "docno": [f"d{i}"], "score": [float(i)]})
        parquet.write_table(table, tmp_path / f"part-{i}.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    for folder in ("_delta_log", ".venv/lib", "language=de/_temporary"):
        (tmp_path / folder).mkdir(parents=True)
        parquet.write_table(pa.table({"version": [1]}), tmp_path / folder / "part-0.parquet")
    assert run_of(str(tmp_path)) == {"q": {"d0": 0, "d1": 1, "d2": 2}}


# ---- compressed -----------------------------------------------------------------------------


def compress_bytes(content: bytes, kind: str) -> bytes:
    if kind in ("zst", "lz4"):
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, {"zst": "zstd"}.get(kind, kind)) as stream:
            stream.write(content)
        return bytes(sink.getvalue())
    compress: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress}
    return compress[kind](content) if kind in compress else lzma.compress(content)


KINDS = ["gz", "bz2", "xz", "zst", "lz4"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", CONTENTS)
def test_compressed_files_are_known_by_suffix_and_content(form: str, kind: str, write: Any) -> None:
    suffix = "" if form == "trec" else f".{form}"
    compressed = compress_bytes(CONTENTS[form].encode(), kind)
    for name in (f"run{suffix}.{kind}", f"run{suffix}", "run"):
        path = write(name, compressed)
        assert run_of(path) == TWO
        assert read_run(path).name == "run"
    assert run_of(write(f"plain{suffix}.{kind}", CONTENTS[form])) == TWO, "though it is not"


@pytest.mark.parametrize("kind", KINDS)
def test_streams_one_behind_the_other_are_one_file(kind: str, write: Any) -> None:
    parts = [b"qid,docno,score\nq1,d1,1.5\n", b"q1,d2,2\n"]
    assert run_of(write("run.csv", b"".join(compress_bytes(part, kind) for part in parts))) == TWO


@pytest.mark.parametrize("by_pipe", [False, True])
def test_zeros_behind_a_gzip_file_are_read_in_pieces(
    by_pipe: bool, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {"readings": 0}
    readinto = Unclosable.readinto

    def count_readings(self: Any, buffer: Any) -> int:
        counts["readings"] += 1
        return readinto(self, buffer)

    monkeypatch.setattr(Unclosable, "readinto", count_readings)
    path = write("run.gz", gzip.compress(b"q1 Q0 d1 1 1.5 t\nq1 Q0 d2 2 2 t\n") + bytes(1 << 20))
    source = Source(path)
    if by_pipe:
        source._is_pipe = True
    with watch_calls(lambda n: None), source.open(reports_progress=True) as stream:
        assert stream.read().count(b"\n") == 2
    assert 1 <= counts["readings"] <= 2 * (1 << 20) / 4096


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_cut_or_broken_is_refused(kind: str, write: Any) -> None:
    rows = "".join(f"q{i},d{i * 7919 % 1000},{i}\n" for i in range(3000))
    compressed = compress_bytes(("qid,docno,score\n" + rows).encode(), kind)
    assert len(run_of(write("whole.csv", compressed))) == 3000
    for broken_bytes in (
        compressed[: len(compressed) // 2],
        compressed[:-9],
        compressed[:5000] + b"\xa5" * 50 + compressed[5050:],
    ):
        path = write("broken.csv", broken_bytes)
        with pytest.raises(InputError) as caught:
            run_of(path)
        assert caught.value.source == path


# ---- Parquet and Arrow ----------------------------------------------------------------------


def save(table: pa.Table, path: Path, rows: int = 1 << 20) -> str:
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=rows)
    elif path.suffix == ".feather":
        views = any("view" in str(column.type) for column in table.columns)
        packing = "uncompressed" if views else "lz4"  # pyarrow before 26 crashes if it packs views
        feather.write_feather(table, path, compression=packing, chunksize=rows)
    else:
        open_writer = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
        with pa.OSFile(str(path), "wb") as file, open_writer(file, table.schema) as writer:
            writer.write_table(table, rows)
    return str(path)


COLUMNAR = [".parquet", ".arrow", ".arrows", ".feather"]
columnar_files = pytest.mark.parametrize("suffix", COLUMNAR)


def texts(kind: pa.DataType) -> pa.Table:
    table = pa.table({"qid": ["q", "q", "r"], "docno": ["a", "bb" * 20, "a"], "score": [1, 2.5, 3]})
    ids = [table[name].cast(pa.string()).cast(kind) for name in ("qid", "docno")]
    return table.set_column(0, "qid", ids[0]).set_column(1, "docno", ids[1])


TEXTS = {"q": {"a": 1.0, "bb" * 20: 2.5}, "r": {"a": 3.0}}
TYPES = [
    *(pa.string(), pa.large_string(), pa.string_view()),
    *(pa.binary(), pa.large_binary(), pa.binary_view()),
    pa.dictionary(pa.int32(), pa.string()),
]


@columnar_files
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_text_columns_of_any_type(suffix: str, kind: pa.DataType, tmp_path: Path) -> None:
    assert run_of(save(texts(kind), tmp_path / f"run{suffix}")) == TEXTS
    assert run_of(save(texts(kind), tmp_path / f"run{suffix}", rows=1)) == TEXTS


@columnar_files
@pytest.mark.parametrize("index", [pa.int8(), pa.uint8(), pa.int64()], ids=str)
def test_dictionaries_of_any_index(suffix: str, index: pa.DataType, tmp_path: Path) -> None:
    codes = pa.array([1, 0, 1], index)
    queries = pa.DictionaryArray.from_arrays(pa.array([1, 1, 0], index), pa.array(["r", "q"]))
    docs = pa.DictionaryArray.from_arrays(codes, pa.array(["x", "y", "unused"]))
    table = pa.table({"qid": queries, "docno": docs, "score": [1.0, 2.0, 3.0]})
    expected = {"q": {"y": 1, "x": 2}, "r": {"y": 3}}
    assert run_of(save(table, tmp_path / f"run{suffix}")) == expected


@pytest.mark.parametrize("kind", [*TYPES[:6], pa.int64(), pa.binary(4)], ids=str)
def test_of_a_large_dictionary_only_what_is_used_is_taken(kind: pa.DataType) -> None:
    entries: list[Any] = list(range(1000, 1200))
    if not pa.types.is_integer(kind):
        entries = [str(text).encode() for text in entries]
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        entries = [text.decode() for text in entries]
    codes = pa.array([7, 3, None, 199, 7, 5], pa.int16())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(entries, kind))
    ids, missing = read_ids(column.slice(1))
    assert ids.take(np.array([0, 2, 3, 4])).to_list() == [b"1003", b"1199", b"1007", b"1005"]
    assert missing is not None
    assert missing.tolist() == [False, True, False, False, False]
    assert len(ids._buffer) < 16 * len(ids) + 100, "200 entries would be 800 bytes, or more"


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view()], ids=str)
@pytest.mark.parametrize("long", ["", "x" * 40])
def test_a_missing_entry_of_a_large_dictionary_is_missing(kind: pa.DataType, long: str) -> None:
    entries = pa.array(["0", "a", None, "b" + long, *"cdefg"], kind).slice(1)
    column = pa.DictionaryArray.from_arrays(pa.array([2, 1, 0]), entries)
    ids, missing = read_ids(column)
    assert (ids[0], ids[2]) == (b"b" + long.encode(), b"a")
    assert missing is not None
    assert missing.tolist() == [False, True, False]


@pytest.mark.parametrize("suffix", [".arrow", ".arrows"])
def test_a_dictionary_that_many_batches_share_is_read_once(suffix: str, tmp_path: Path) -> None:
    """The whole of it, once a batch, would be 200 times 4 MB."""
    n, n_batches = 200_000, 200
    entries = pa.array([f"doc{i:017d}" for i in range(n)])
    docs = pa.DictionaryArray.from_arrays(pa.array(range(n_batches), pa.int32()), entries)
    scores = [float(-i) for i in range(n_batches)]
    table = pa.table({"qid": ["q"] * n_batches, "docno": docs, "score": scores})
    path = save(table, tmp_path / f"run{suffix}", rows=1)
    tracemalloc.start()
    try:
        scores_of = evaluate({"q": {entries[3].as_py(): 1}}, path, "RR")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert scores_of["RR"] == 1 / 4
    assert peak < 10 * 20 * n


@pytest.mark.parametrize("suffix", [".arrow", ".arrows"])
def test_each_dictionary_of_a_file_is_checked(suffix: str, tmp_path: Path) -> None:
    """Its texts, and every batch's places in it."""
    codes = pa.array([0, 1, 2], pa.int8())
    docs = pa.DictionaryArray.from_arrays(codes, pa.array(["one of these", "two", "three"]))
    table = pa.table({"qid": ["q"] * 3, "docno": docs, "score": [4.0, 3.0, 2.0]})
    path = Path(save(table, tmp_path / f"run{suffix}", rows=1))
    good = path.read_bytes()
    assert run_of(str(path)) == {"q": {"one of these": 4.0, "two": 3.0, "three": 2.0}}
    path.write_bytes(good.replace(b"one of these", b"one of \xfe\xffese"))
    with pytest.raises(InputError, match="cannot be read as arrow"):
        run_of(str(path))
    last = good.rfind(b"\x02" + bytes(7))  # the index of the last batch, and what pads it
    for wrong in (b"\x03", b"\xff"):
        path.write_bytes(good[:last] + wrong + good[last + 1 :])
        with pytest.raises(InputError, match="cannot be read as arrow"):
            run_of(str(path))


@columnar_files
@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint64"])
def test_whole_numbers_are_ids_and_scores(suffix: str, kind: str, tmp_path: Path) -> None:
    top = int(np.iinfo(kind).max)
    docs = pa.array([top, 0, 7], getattr(pa, kind)())
    table = pa.table({"qid": docs, "docno": docs, "score": pa.array([1, 0, 3], docs.type)})
    path = save(table, tmp_path / f"run{suffix}")
    assert run_of(path) == {str(top): {str(top): 1}, "0": {"0": 0}, "7": {"7": 3}}
    assert qrels_of(path) == {str(top): {str(top): 1}, "0": {"0": 0}, "7": {"7": 3}}


@columnar_files
@pytest.mark.parametrize(
    "scores",
    [
        pa.array([1.5, -2.0], pa.float16() if hasattr(pa, "float16") else pa.float32()),
        pa.array([1.5, -2.0], pa.float32()),
        pa.array([1.5, -2.0]).dictionary_encode(),
    ],
    ids=["half", "single", "dictionary"],
)
def test_scores_of_any_type(suffix: str, scores: pa.Array, tmp_path: Path) -> None:
    table = pa.table({"qid": ["q", "q"], "docno": ["a", "b"], "score": scores})
    assert run_of(save(table, tmp_path / f"run{suffix}")) == {"q": {"a": 1.5, "b": -2.0}}


@columnar_files
@pytest.mark.parametrize("scale", [0, 2, 20])
def test_decimals_are_numbers(suffix: str, scale: int, tmp_path: Path) -> None:
    """DuckDB's 0.1 is one; they become the nearest double, as in any text."""
    decimals = ["1", "-3"] if scale == 0 else ["0.1", "-3.30"]
    score = pa.array(decimals).cast(pa.decimal128(38, scale))
    table = pa.table({"qid": ["q", "q"], "docno": ["a", "b"], "score": score})
    path = save(table, tmp_path / f"run{suffix}")
    assert run_of(path) == {"q": {"a": float(decimals[0]), "b": float(decimals[1])}}


def columnar_fault(**other: Any) -> pa.Table:
    return pa.table({"qid": ["q"] * 3, "docno": ["a", "b", "c"], "score": [1.0, 2, 3]} | other)


FAULTS = {
    "null id": (columnar_fault(docno=["a", None, "c"]), "the id in column 'docno' is empty or"),
    "null query": (columnar_fault(qid=["q", None, "q"]), "the id in column 'qid' is empty or"),
    "empty id": (columnar_fault(docno=["a", "", "c"]), "the id in column 'docno' is empty or"),
    "null byte": (columnar_fault(docno=["a", "\0", "c"]), "or holds a null byte"),
    "null in a dictionary": (
        columnar_fault(docno=pa.array(["a", None, "c"]).dictionary_encode()),
        "the id in column 'docno' is empty or missing",
    ),
    "null whole number": (columnar_fault(docno=[1, None, 3]), "the id in column 'docno' is empty"),
    "null score": (columnar_fault(score=[1.0, None, 3]), "a number in column 'score', got None"),
    "NaN": (columnar_fault(score=[1.0, np.nan, 3]), "a number in column 'score', got nan"),
}


@columnar_files
@pytest.mark.parametrize("rows", [1, 100])
@pytest.mark.parametrize(("table", "message"), FAULTS.values(), ids=FAULTS)
def test_a_bad_row_is_refused_or_left_out(
    suffix: str, rows: int, table: pa.Table, message: str, tmp_path: Path
) -> None:
    path = save(table, tmp_path / f"run{suffix}", rows)
    with pytest.raises(InputError) as caught:
        run_of(path)
    assert caught.value.source == path
    assert "row 1: " in str(caught.value)
    assert message in str(caught.value)
    with pytest.raises(InputError, match="row 1: .*" + re.escape(message)):
        Run(table).to_dict()
    scores = evaluate({"q": {"c": 1, "3": 1}}, path, "RR NumRet", errors="skip")
    assert scores.means() == {"RR": 1, "NumRet": 2}
    assert f"1 row of the run left out (errors='skip'); the first: {path}: row 1: " in str(scores)


WRONG = {
    "fractions as ids": (columnar_fault(docno=[1.0, 2.0, 3.0]), "'docno' holds double, expected"),
    "text as scores": (columnar_fault(score=["1", "2", "3"]), "'score' holds string, expected num"),
    "times as ids": (
        columnar_fault(docno=pa.array([1, 2, 3], pa.timestamp("ms"))),
        "expected text or whole numbers",
    ),
    "lists as ids": (columnar_fault(qid=[["q"]] * 3), "expected text or whole numbers"),
    "nothing but nulls": (columnar_fault(docno=pa.nulls(3)), "'docno' holds null, expected"),
    "no query": (columnar_fault().drop_columns(["qid"]), "has no column 'query_id'"),
    "no score": (columnar_fault().drop_columns(["score"]), "has no column 'score'"),
    "no rows": (columnar_fault().slice(0, 0), "holds no rows"),
    "a document twice": (columnar_fault(docno=["a", "b", "a"]), "'a' occurs twice for query 'q'"),
    "a column twice": (
        pa.table([["q"], ["q"], ["a"], [1.0]], ["qid", "qid", "docno", "score"]),
        "has 2 columns named 'qid'",
    ),
}


@columnar_files
@pytest.mark.parametrize(("table", "message"), WRONG.values(), ids=WRONG)
def test_a_table_of_other_columns_is_refused(
    suffix: str, table: pa.Table, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        run_of(save(table, tmp_path / f"run{suffix}"))
    with pytest.raises(InputError, match=re.escape(message)):
        Run(table).to_dict()


@columnar_files
@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize("rows", [1, 5, 100])
def test_queries_across_row_groups_and_blocks(
    suffix: str, size: int, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch, size)
    queries = [f"q{i // 4}" for i in range(24)]
    docs, scores = [f"d{i}" for i in range(24)], [float(-i % 5) for i in range(24)]
    together = pa.table({"qid": queries, "docno": docs, "score": scores})
    apart = together.take(list(range(0, 24, 2)) + list(range(1, 24, 2)))
    docs_of_query: Found = {}
    for query, doc, score in zip(queries, docs, scores, strict=True):
        docs_of_query.setdefault(query, {})[doc] = score
    qrels = {f"q{i}": {f"d{4 * i + 1}": 1, f"d{4 * i + 2}": 2} for i in range(6)}
    names = "nDCG@3 AP RR NumRet"
    expected = evaluate(qrels, docs_of_query, names).to_dict()
    for table in (together, apart):
        path = save(table, tmp_path / f"run{suffix}", rows)
        assert run_of(path) == docs_of_query
        assert evaluate(qrels, path, names).to_dict() == expected


@columnar_files
@pytest.mark.parametrize("kind", KINDS)
def test_columns_in_a_compressed_file(suffix: str, kind: str, tmp_path: Path, write: Any) -> None:
    path = save(texts(pa.string()), tmp_path / f"plain{suffix}")
    compressed = compress_bytes(Path(path).read_bytes(), kind)
    assert run_of(write(f"run{suffix}.{kind}", compressed)) == TEXTS
    assert run_of(write("run", compressed)) == TEXTS, "known by its content"


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy", "gzip", "none"])
def test_columns_that_are_compressed(codec: str, tmp_path: Path) -> None:
    parquet.write_table(texts(pa.string()), tmp_path / "run.parquet", compression=codec)
    assert run_of(str(tmp_path / "run.parquet")) == TEXTS
    if codec in ("zstd", "lz4"):
        feather.write_feather(texts(pa.string()), tmp_path / "run.feather", compression=codec)
        assert run_of(str(tmp_path / "run.feather")) == TEXTS


def test_feather_1_is_named(write: Any) -> None:
    with pytest.raises(InputError, match="Feather file of version 1"):
        run_of(write("run.feather", b"FEA1" + bytes(100)))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"PAR1", b"PAR1PAR1", b"PAR1" + b"x" * 99 + b"PAR1", b"ARROW1", b"ARROW1\0\0"),
        *(b"ARROW1\0\0" + b"\x7f" * 99 + b"ARROW1", b"\xff" * 4, b"\xff" * 4 + b"\xff\xff\xff\x7f"),
        b"these are not columns\n",
    ],
)
def test_what_only_begins_like_columns_is_refused(name: str, content: bytes, write: Any) -> None:
    path = write(name, content)
    with pytest.raises(InputError) as caught:
        run_of(path)
    assert caught.value.source == path
    assert "decompress" not in str(caught.value)
    assert str(caught.value).count("\n") <= 2


def test_other_bytes_are_not_taken_for_the_length_of_an_arrow_message(write: Any) -> None:
    path = write("run", b"\xff\x16\x00{" * 9)  # two gigabytes, as a length
    with pytest.raises(InputError, match="neither an Arrow file nor a stream"):
        run_of(path, format="arrow")


def test_columns_that_ask_for_too_much_memory_are_refused(
    write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_stream(file: Any) -> None:
        raise MemoryError

    path = write("run", b"\xff" * 8)
    monkeypatch.setattr(pa.ipc, "open_stream", open_stream)
    with pytest.raises(InputError, match="needs more memory than there is"):
        run_of(path)


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_bytes_that_cannot_be_decompressed_leave_no_memory_behind(codec: str, write: Any) -> None:
    compressed = pa.compress(b"q Q0 a 1 9 t\n" * 100, codec=codec, asbytes=True)
    path = write("run", compressed[:-20] + b"\xff" * 20)

    def use_memory() -> int:
        for _ in range(20):
            with pytest.raises(InputError, match="cannot be read"):
                run_of(path)
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        assert use_memory() + (1 << 19) > use_memory()
    finally:
        tracemalloc.stop()


# ---- any damage -----------------------------------------------------------------------------


PIECES = [b"\0", b"\xff" * 8, b'"', b"\n", b"\r", b"{", b","]


def damage(content: bytes, chance: random.Random) -> Iterator[bytes]:
    for offset in range(0, len(content), max(1, len(content) // 12)):
        yield content[:offset]
        yield content[:offset] + content[offset + 3 :]
    for _ in range(24):
        offset = chance.randrange(len(content))
        yield content[:offset] + bytes([chance.randrange(256)]) + content[offset + 1 :]
        yield content[:offset] + chance.choice(PIECES) + content[offset:]


@pytest.mark.parametrize("n_bytes", [1, 2, 3])
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()], ids=str)
def test_offsets_may_end_within_one_that_is_not_needed(kind: pa.DataType, n_bytes: int) -> None:
    """As Arrow's own check allows, where a bit of a buffer's length is wrong."""
    _, offsets, text_buffer = pa.array([b"a", b"bc", b"d"], kind).buffers()
    width = 8 if kind == pa.large_binary() else 4
    longer = pa.py_buffer(offsets.to_pybytes()[: 4 * width] + bytes(n_bytes))
    column = pa.Array.from_buffers(kind, 3, [None, longer, text_buffer])
    column.validate(full=True)
    assert Ids.of_arrow(column.slice(1)).to_list() == [b"bc", b"d"]


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl", *(f"a{s}" for s in COLUMNAR)])
@pytest.mark.parametrize("errors", ["strict", "skip"])
def test_a_damaged_file_is_read_or_refused(
    name: str, errors: Any, write: Any, tmp_path: Path
) -> None:
    suffix = os.path.splitext(name)[1]
    if suffix in COLUMNAR:
        content_of_file = Path(save(texts(pa.string()), tmp_path / f"good{suffix}", 2)).read_bytes()
    else:
        content_of_file = CONTENTS[suffix[1:]].encode() * (1 if suffix == ".json" else 3)
    for content in damage(content_of_file, random.Random(name)):
        path = write(name, content)
        with contextlib.suppress(InputError):
            scores = evaluate({"q1": {"d1": 1}, "q": {"a": 1}}, path, "NumRet", errors=errors)
            assert scores["NumRet"] >= 1


def test_an_id_may_begin_as_a_file_does(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any block but the first, a byte order mark is a part of the id."""
    small_blocks(monkeypatch, 30)
    text = "".join(f"\ufeffq{i} Q0 d 1 {i} t\n" for i in range(20))
    expected = {f"\ufeffq{i}": {"d": float(i)} for i in range(20)}
    assert run_of(write("run", "\ufeff" + text)) == expected


def test_a_header_may_stand_behind_many_blank_lines(write: Any) -> None:
    blank = "\n" * (SIZES.bytes + 7)
    assert run_of(write("a.csv", blank + "qid,docno,score\nq1,d1,1.5\nq1,d2,2\n")) == TWO


ONE = {"q": {"a": 1}}
REFUSALS: dict[str, tuple[str, str, Callable[[Path], Any], str]] = {
    "no rank column": (
        "a.csv",
        "query_id,doc_id,score\nq,a,1\n",
        lambda path: evaluate(ONE, path, "AP", order="rank"),
        "the run 'a' has no column 'rank'",
    ),
    "no rank column, of JSON": (
        "a.json",
        '{"q": {"a": 1}}',
        lambda path: evaluate(ONE, path, "AP", order="rank"),
        "the run 'a' has no column 'rank'",
    ),
    "no judgment that can be used": (
        "a.qrels",
        "q 0 a x\n",
        lambda path: read_qrels(path, errors="skip"),
        "the qrels: hold no judgment",
    ),
    "no judgment in groups that can be used": (
        "a.qrels",
        "q 0 a x\n",
        lambda path: read_qrels(path, "subtopics", errors="skip"),
        "the qrels: hold no judgment",
    ),
    "weights that add up to nothing": (
        "a.csv",
        "query_id,doc_id,relevance,subtopic,weight\nq,a,1,s,0\n",
        read_qrels,
        "the weights of the subtopics of query 'q' add up to 0",
    ),
    "a sample with subtopics": (
        "a.csv",
        "query_id,doc_id,relevance,subtopic,stratum\nq,a,1,s,0\n",
        read_qrels,
        "the qrels have subtopics and a column stratum",
    ),
    "two columns of one name, unstated": (
        "a.txt",
        "query_id,doc_id,doc_id,relevance\nq,a,b,1\n",
        read_qrels,
        "has 2 columns named 'doc_id'\n    query_id,doc_id,doc_id,relevance\n",
    ),
    "preferences in a circle": (
        "a.prefs",
        "q g 0 a 1\nq g 0 b 2\nq g 1 a 2\nq g 1 b 1\n",
        lambda path: evaluate(read_qrels(path, "prefs"), {"q": ["a"]}, "prefs_simp"),
        "its subgroups contradict each other",
    ),
    "no query": (
        "x.json",
        "{}",
        lambda path: evaluate(ONE, path, "AP"),
        "holds no query",
    ),
    "no query that can be used": (
        "x.run",
        "q Q0 a 1 high t\n",
        lambda path: evaluate(ONE, read_run(path, errors="skip"), "AP"),
        "the run 'x' holds no query",
    ),
    "no query in common": (
        "x.run",
        "r Q0 a 1 2 t\n",
        lambda path: evaluate(ONE, path, "AP"),
        "the run 'x' and the qrels share no query",
    ),
    "no document in common": (
        "x.run",
        "q Q0 A 1 2 t\n",
        lambda path: evaluate(ONE, path, "AP"),
        "the run 'x' and the qrels share no document as they are written",
    ),
    "a query that is not judged": (
        "a.qrels",
        "q 0 a 1\n",
        lambda path: explain(path, {"q": ["a"], "r": ["a"]}, "AP", "r"),
        "the qrels have no query 'r'",
    ),
    "an id that cannot be written": (
        "a.csv",
        "query_id,doc_id,score\nq,a,1\nq,b c,2\n",
        lambda path: read_run(path).write(path.with_name("out.run")),
        "3: the id 'b c' cannot be written in columns of text: it holds white space\n    q,b c,2\n",
    ),
    "a document twice, for JSON": (
        "a.csv",
        "query_id,doc_id,score\nq,a,1\nq,a,2\n",
        lambda path: read_run(path).write(path.with_name("out.json")),
        "'a' occurs twice for query 'q'",
    ),
}


@pytest.mark.parametrize(("name", "text", "read", "message"), REFUSALS.values(), ids=REFUSALS)
def test_what_is_refused_names_its_file(
    name: str, text: str, read: Callable[[Path], Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:")
    assert message in str(caught.value)


def test_several_files_that_are_refused_are_named_by_the_first(write: Any) -> None:
    paths = [write(f"{name}.run", f"r Q0 {name} 1 2 t\n") for name in "abc"]
    with pytest.raises(InputError) as caught:
        evaluate(ONE, read_run(paths), "AP")
    assert str(caught.value).startswith(f"{paths[0]} (and 2 more files): the run 'a' and the qrels")


def test_what_cannot_be_written_names_the_file_that_it_was_for(tmp_path: Path) -> None:
    path = tmp_path / "out.run"
    for subject, message in (
        (Run({"q": ["a b"]}), "the run: the id 'a b' cannot be written"),
        (Qrels({"q": {"a b": 1}}), f"{path}: the id 'a b' cannot be written"),
        (Qrels({"q q": {"g": {"a": 1}}}), f"{path}: the id 'q q' cannot be written"),
        (Qrels({"q": {"a": 1}, "r": {}}), f"{path}: the query 'r' has no judgment"),
    ):
        with pytest.raises(InputError) as caught:
            subject.write(path)
        assert str(caught.value).startswith(message)
    with pytest.raises(InputError, match=r"out\.parquet: there are no rows to write"):
        Run({"q": {}}).write(tmp_path / "out.parquet")


# ---- columns as one JSON object -----------------------------------------------------------------

COLUMNS_AS_JSON = {
    "objects": '{"user": {"0": 1, "1": 1}, "item": {"0": 5, "1": 6}, "score": {"0": 3, "1": 2}}',
    "objects with texts": '{"user": {"0": "u"}, "item": {"0": "i"}, "score": {"0": 3}}',
    "numbers first": '{"score": {"0": 3}, "Query ID": {"0": "u"}, "doc-id": {"0": "i"}}',
    "lists": '{"user": ["u", "v"], "item": ["i", "j"], "score": [3, 2]}',
}


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("name", COLUMNS_AS_JSON)
def test_a_json_file_of_columns_is_refused(
    name: str, size: int, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch, size)
    content = COLUMNS_AS_JSON[name]
    for read in (run_of, qrels_of):
        for path in (write("a.json", content), write("a", content)):
            with pytest.raises(InputError, match=r"are they columns, or queries\?") as caught:
                read(path)
            assert caught.value.source == path
    with pytest.raises(InputError, match=r"are they columns, or queries\?"):  # as in memory
        Run(json.loads(content))


def test_queries_called_as_columns_are_read_where_they_are_many(write: Any) -> None:
    queries = {name: {"d": 1.0} for name in ("user", "item", *map(str, range(49)))}
    assert len(queries) == 51
    assert run_of(write("a.json", json.dumps(queries))) == Run(queries).to_dict() == queries
    other_run = {"user": {"d": 1.0}, "other": {"d": 2.0}}
    assert run_of(write("a.json", json.dumps(other_run))) == other_run


def test_what_the_refusal_of_columns_advises_is_read(tmp_path: Path) -> None:
    frame = pd.DataFrame({"user": ["q1", "q1"], "item": ["d1", "d2"], "score": [1.5, 2.0]})
    frame.to_json(tmp_path / "a.json")
    with pytest.raises(InputError, match=r"or pandas' to_json\(path, orient='records'\)"):
        run_of(str(tmp_path / "a.json"))
    frame.to_json(tmp_path / "a.json", orient="records")
    assert run_of(str(tmp_path / "a.json")) == TWO


def test_files_of_one_table_all_have_a_column_or_none_has(write: Any) -> None:
    rows = "query_id,doc_id,relevance{}\nq1,d{},1{}\n"
    for name in ("probability", "stratum", "subtopic"):
        path = write(f"{name}.csv", rows.format(f",{name}", 1, ",1"))
        other = write("other.csv", rows.format("", 2, ""))
        with pytest.raises(InputError, match="either all files of one table have") as caught:
            read_qrels([path, other])
        assert caught.value.kind == "columns"


def test_every_format_is_known_by_its_name_and_suffixes_alone() -> None:
    for name, file_format in FORMATS.items():
        assert file_format.name == name
        assert file_format.qrels is not None or file_format.runs is not None
        assert [FORMAT_OF_SUFFIX[suffix] for suffix in file_format.suffixes] == [name] * len(
            file_format.suffixes
        )


def test_a_format_of_runs_alone_is_not_tried_for_judgments(write: Any, monkeypatch: Any) -> None:
    sides: list[Side] = []
    sniff = lambda file: sides.append(file.side)  # noqa: E731
    other = replace(FORMATS["csv"], name="other", qrels=None, sniff=sniff)
    monkeypatch.setattr("cranfield.formats.files.FORMATS", {"other": other, **FORMATS})
    read_qrels(write("qrels", "q1 0 d1 1\n"))
    assert read_run(write("run", "q1 Q0 d1 1 2.0 t\n")).to_dict() == {"q1": {"d1": 2.0}}
    assert sides == [Side.RUN]
