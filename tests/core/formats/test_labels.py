"""Labels of queries: every form holds the same; numbers go into ranges; refusals say where."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.notes import codes, sentence
from helpers.profile import seeds

from cranfield import InputError
from cranfield.errors import DuplicateError
from cranfield.formats.small.labels import read_labels

Write = Callable[[str, str], str]
TYPE = {"q1": "long", "q2": "short", "q3": "long"}
LANGUAGE = {"q1": "en", "q2": "de"}
BOTH = {"type": TYPE, "language": LANGUAGE}


def labels(source: Any) -> dict[str, dict[str, str]]:
    return {name: dict(of) for name, of in read_labels(source).labels.items()}


def test_every_form_holds_the_same(write: Write, tmp_path: Path) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyarrow import parquet

    rows = [{"query_id": q, "type": TYPE[q], "language": LANGUAGE.get(q)} for q in TYPE]
    frame, table = pd.DataFrame(rows), pa.table(pl.DataFrame(rows))
    parquet.write_table(table, tmp_path / "a.parquet")
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    text = "query_id,type,language\nq1,long,en\nq2, short ,de\n\nq3,long,\n"
    frame.to_csv(tmp_path / "index.csv.gz")
    for labels_like in (
        write("a.csv", "\ufeff" + text.replace("\n", "\r\n")),
        write("a.tsv", text.replace(",", "\t").replace("query_id", "QID")),
        write("b.csv", text.replace(",", ";").replace("query_id", "_id")),
        write("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows)),
        write("a.json", json.dumps(rows, indent=1)),
        write("b.json", json.dumps(BOTH)),
        *(tmp_path / name for name in ("a.parquet", "a.arrow", "index.csv.gz")),
        *(frame, frame.astype("category"), frame.set_index("query_id"), pl.DataFrame(rows), table),
        *(rows, iter(rows), BOTH),
    ):
        label_rows = read_labels(labels_like)
        assert label_rows.labels == BOTH, labels_like
        assert codes(label_rows.notes) == ["one-query-each"]  # of "language", which q3 has not


def test_one_kind_needs_no_name(write: Write) -> None:
    for rows in (
        TYPE,
        list(TYPE.items()),
        write("a.tsv", "".join(f"{q}\t{label}\n" for q, label in TYPE.items())),
        write("a.txt", "".join(f"{q} {label}\n" for q, label in TYPE.items())),
        write("a.json", json.dumps(TYPE)),
        write("b.json", json.dumps({"slice": TYPE})),
    ):
        assert labels(rows) == {"slice": TYPE}


def test_labels_are_text(write: Write) -> None:
    rows = [{"qid": 1, "hops": 2, "yes": True}, {"qid": 2, "hops": 3.0, "yes": False}]
    rows.append({"qid": 3, "hops": 2.5, "yes": None})
    labels_of_kind = labels(rows)
    assert labels_of_kind["hops"] == {"1": "2", "2": "3", "3": "2.5"}
    assert labels_of_kind["yes"] == {"1": "True", "2": "False"}


def test_a_query_may_stand_twice_with_the_same_label(write: Write) -> None:
    assert labels(write("a.csv", "qid,type\nq1,a\nq1,a\n")) == {"type": {"q1": "a"}}


def test_ranges_by_hand() -> None:
    lengths = {f"q{n}": n for n in range(3, 15)}  # 3, ..., 14: twelve, three in each range
    label_rows = read_labels({"length": lengths})
    ranges = ["3-5", "6-8", "9-11", "12-14"]
    assert list(dict.fromkeys(label_rows.labels["length"].values())) == ranges
    assert label_rows.labels["length"]["q3"] == label_rows.labels["length"]["q5"] == "3-5"
    assert label_rows.labels["length"]["q14"] == "12-14"
    assert codes(label_rows.notes) == ["ranges"]
    assert "12 different numbers" in sentence(label_rows.notes, "ranges")


def test_ranges_against_a_slow_loop(write: Write) -> None:
    for seed in seeds(30):
        chance = random.Random(seed)
        count = chance.randint(11, 60)
        numbers = {f"q{i}": chance.randint(-5, 5) ** 3 + i % 2 / 2 for i in range(count)}
        if len(set(numbers.values())) <= 10:
            continue
        text = "".join(f"{q},{n}\n" for q, n in numbers.items())
        ranges = read_labels(write(f"{seed}.csv", "qid,n\n" + text)).labels["n"]
        assert set(ranges) == set(numbers)
        sorted_numbers = sorted(numbers.values())
        ends = [sorted_numbers[-(-count * i // 4) - 1] for i in (1, 2, 3, 4)]
        quarter_of_query = {q: min(i for i in range(4) if n <= ends[i]) for q, n in numbers.items()}
        for query in numbers:
            for other in numbers:
                assert (ranges[query] == ranges[other]) == (
                    quarter_of_query[query] == quarter_of_query[other]
                )
        for label in set(ranges.values()):
            inside = [numbers[q] for q in numbers if ranges[q] == label]
            assert [float(end) for end in re.split("(?<=[0-9])-| to ", label)] == sorted(
                {min(inside), max(inside)}
            )


def test_equal_numbers_stay_together() -> None:
    numbers = {**{f"a{i}": 1 for i in range(30)}, **{f"b{i}": 2 + i for i in range(12)}}
    ranges = read_labels({"n": numbers}).labels["n"]
    assert list(dict.fromkeys(ranges.values())) == ["1", "2-3", "4-13"]


def test_few_numbers_stay_as_they_are() -> None:
    numbers = {f"q{i}": i % 10 for i in range(40)}
    assert set(labels(numbers)["slice"].values()) == set("0123456789")


def test_labels_of_one_query_each_are_said() -> None:
    distinct_labels = {f"q{i}": f"kind {i}" for i in range(10)}
    assert read_labels(distinct_labels).labels["slice"] == distinct_labels
    assert codes(read_labels(distinct_labels).notes) == ["one-query-each"]
    assert codes(read_labels({**distinct_labels, "q10": "kind 0"}).notes) == []  # one label has two
    assert codes(read_labels({"q": "only"}).notes) == []


def test_texts_of_queries_are_no_labels(write: Write) -> None:
    texts = "".join(f"{i}\twhat is the meaning of {i}\n" for i in range(60))
    with pytest.raises(InputError, match=r"a.tsv: no labels for slices: .* 60 labels of 60") as no:
        read_labels(write("a.tsv", texts))
    assert "lengths, are put into ranges" in str(no.value)
    rows = [{"qid": i, "text": f"what is {i}", "type": "ab"[i % 2]} for i in range(60)]
    label_rows = read_labels(rows)
    assert list(label_rows.labels) == ["type"]
    assert codes(label_rows.notes) == ["labels-left-out"]
    assert "60 labels of 60 queries" in sentence(label_rows.notes, "labels-left-out")
    few_texts = [{"qid": i, "text": f"what is {i}", "type": "ab"[i % 2]} for i in range(11)]
    assert list(read_labels(few_texts).labels) == ["type"]
    with pytest.raises(InputError, match="11 labels of 11 queries"):
        read_labels({row["qid"]: row["text"] for row in few_texts})
    many_kinds = {str(i): f"kind {i // 2}" for i in range(120)}  # 60 kinds, of two queries each
    assert labels(many_kinds)["slice"] == many_kinds


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.csv",
            "qid,type\nq1,a\nq1,b\n",
            "a.csv:3: query 'q1' is 'b' as 'type' here, and 'a' ab",
        ),
        ("a.csv", "qid,type\n,a\n", "a.csv:2: the id '' is empty"),
        ("a.csv", "qid,type\nq1,a,b\n", "a.csv:2: expected 2 columns, qid, type; got 3"),
        ("a.csv", "qid,type,type\nq1,a,b\n", "a.csv:1: has several columns named 'type'"),
        ("a.csv", "name,type,size\nq1,a,b\n", "a.csv:2: has no column of queries; it has name, ty"),
        ("a.tsv", "q1\ta\nq2\ta\tb\n", "a.tsv:2: expected a query and its label, got 3 columns"),
        ("a.csv", "qid,type\nq1,\n", "a.csv: holds no label of a query"),
        ("a.csv", "qid\nq1\n", "a.csv: holds no label of a query"),
        ("a.csv", "", "a.csv: holds no label of a query"),
        ("a.json", '{"type": {"q1": "a"}, "size": 3}', "got both"),
        ("a.json", '{"type": {"q1": ["a"]}}', "expected a label of query 'q1', got"),
        (
            "a.jsonl",
            '{"qid": 1, "type": "a"}\n{"qid": 1, "type": "b"}\n',
            "a.jsonl:2: query '1' is",
        ),
    ],
)
def test_what_is_refused_says_where(name: str, text: str, message: str, write: Write) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_labels(write(name, text))
    assert isinstance(caught.value, DuplicateError) == (" is 'b'" in str(caught.value))


def test_rows_that_are_refused() -> None:
    with pytest.raises(InputError, match="expected labels as a file, a table or rows, got int"):
        read_labels(3)
    with pytest.raises(InputError, match=r"the labels: row 0: expected \(query_id, slice\) or a"):
        read_labels([("q", "a", "b")])
    with pytest.raises(DuplicateError, match="the labels: row 1: query 'q' is 'b'"):
        read_labels([("q", "a"), ("q", "b")])
