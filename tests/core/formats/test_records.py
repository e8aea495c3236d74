"""Rows whose queries come back, as records: any ids, any batches, the same bits and order."""

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.notes import codes

from cranfield import Run, evaluate
from cranfield.arrays.ids import Ids
from cranfield.arrays.records import Layout, Records
from cranfield.formats.block import SIZES

# Ids of one word, of several, of more than a record holds, and of more than are taken as words.
ENDS = ["", "-of-two", "é" * 20, "x" * 60, "y" * 200, "z" * 600]
MEASURES = "nDCG@5 AP RR NumRet"


def rows_of(width: int) -> list[tuple[str, str, float]]:
    """Return rows in random order whose ids have the first so many of the ends."""
    chance = random.Random(width)
    ends = ENDS[:width]
    rows = [
        (f"q{q}{ends[q % width]}", f"d{d}{ends[d % width]}", chance.randrange(8) / 4)
        for q in range(60)
        for d in chance.sample(range(40), 9)
    ]
    chance.shuffle(rows)
    return rows


def group_by_query(rows: list[tuple[str, str, float]]) -> dict[str, dict[str, float]]:
    docs_of_query: dict[str, dict[str, float]] = {}
    for query, doc, score in rows:
        docs_of_query.setdefault(query, {})[doc] = score
    return docs_of_query


def judged(rows: list[tuple[str, str, float]]) -> dict[str, dict[str, int]]:
    return {
        query: {doc: i % 3 for i, doc in enumerate(sorted(docs)[::2])}
        for query, docs in group_by_query(rows).items()
    }


@pytest.mark.parametrize("size", [1, 50, SIZES.rows])
@pytest.mark.parametrize("width", range(1, len(ENDS) + 1))
def test_rows_in_any_order_are_those_of_a_dict(
    width: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SIZES, "rows", size)
    rows = rows_of(width)
    expected = evaluate(judged(rows), group_by_query(rows), MEASURES)
    columns = dict(zip(("query_id", "doc_id", "score"), zip(*rows, strict=True), strict=True))
    table = pa.table({name: list(column) for name, column in columns.items()})
    scores = evaluate(judged(rows), table, MEASURES)
    assert scores.values.tobytes() == expected.values.tobytes()
    assert scores.counts == expected.counts
    assert "apart" in codes(scores.notes)


@pytest.mark.parametrize("size", [1, 50, SIZES.rows])
def test_rows_keep_their_order_within_a_query(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SIZES, "rows", size)
    rows = rows_of(4)
    lists = {query: list(docs) for query, docs in group_by_query(rows).items()}
    table = pa.table({"query_id": [row[0] for row in rows], "doc_id": [row[1] for row in rows]})
    table_with_scores = table.append_column("score", pa.array([1.0] * len(rows)))
    expected = evaluate(judged(rows), lists, MEASURES)
    runs_with_options: list[tuple[Any, dict[str, Any]]] = [
        (table, {"order": "given"}),
        (table_with_scores, {"ties": "given"}),
    ]
    for run, options in runs_with_options:
        scores = evaluate(judged(rows), run, MEASURES, **options)
        assert scores.values.tobytes() == expected.values.tobytes()


@pytest.mark.parametrize("batch", [1, 7, 100])
@pytest.mark.parametrize("size", [1, 5, 64, SIZES.rows])
def test_small_batches_are_blocks_of_whole_queries(
    batch: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SIZES, "rows", size)
    rows = sorted(rows_of(3), key=lambda row: row[0])
    table = pa.table({"query_id": [row[0] for row in rows], "doc_id": [row[1] for row in rows]})
    small = pa.Table.from_batches(table.to_batches(batch))
    blocks = [load() for load in Run(small).read_columns([])]
    ids = [(block.query[i], block.doc[i]) for block in blocks for i in range(len(block))]
    assert ids == [(query.encode(), doc.encode()) for query, doc, _ in rows]
    assert all(block.query[len(block) - 1] != other.query[0] for block, other in pairwise(blocks))
    assert len(blocks) <= 4 * len(rows) / size + 2  # each piece has half of that size at least


def test_dictionaries_of_small_batches_differ() -> None:
    rows = sorted(rows_of(3), key=lambda row: row[0])
    batches = []
    for begin in range(0, len(rows), 11):
        rows_of_batch = rows[begin : begin + 11]
        ids = [
            pa.array([row[column] for row in rows_of_batch])
            .dictionary_encode()
            .cast(pa.dictionary(pa.int8(), pa.string()))
            for column in (0, 1)
        ]
        batches.append(
            pa.record_batch([*ids, pa.array([row[2] for row in rows_of_batch])], names="qds")
        )
    names = {"query_id": "q", "doc_id": "d", "score": "s"}
    docs_of_query = Run(pa.Table.from_batches(batches), columns=names).to_dict()
    assert docs_of_query == group_by_query(rows)


@pytest.mark.parametrize("kind", ["int8", "uint16", "int32", "int64", "uint64"])
@pytest.mark.parametrize("n", [1, 3, 40])
def test_whole_numbers_are_their_texts(kind: str, n: int) -> None:
    numbers_of_rows = np.array([0, 0, 7, 100, 7] * n, kind)
    table = pa.table(
        {
            "query_id": np.sort(numbers_of_rows),
            "doc_id": np.arange(len(numbers_of_rows)),
            "rank": [1] * len(numbers_of_rows),
        }
    )
    docs_of_query = Run(table.slice(1)).to_dict()
    expected: dict[str, list[str]] = {}
    for doc, query in list(enumerate(np.sort(numbers_of_rows).tolist()))[1:]:
        expected.setdefault(str(query), []).append(str(doc))
    assert {query: list(docs) for query, docs in docs_of_query.items()} == expected


def test_a_number_below_a_missing_one_is_its_text() -> None:
    column = pa.array([None, 0, 0, 0, 0, 0, 0, 0, 0], pa.int64())
    table = pa.table({"query_id": column, "doc_id": [*"abcdefghi"], "score": [1.0] * 9})
    run = Run(table, errors="skip")
    assert run.to_dict() == {"0": dict.fromkeys("bcdefghi", 1.0)}


def test_records_are_the_columns_they_were_made_of_in_any_layout() -> None:
    chance = np.random.default_rng(3)
    queries, docs = [b"q", b"a longer one"], [b"d" * 70, b"e", b"f" * 9]
    numbers: dict[str, Any] = {"score": np.array([1.5, -np.inf, 0.0]), "rank": np.arange(3)}
    query = Ids.of([queries[i % 2] for i in range(3)])
    layout_of_rows = Layout.of(query, Ids.of(docs), numbers)
    wide = layout_of_rows.merge(Layout(5, 5, {"score": np.dtype(float), "rank": np.dtype(float)}))
    assert (wide.query_words, wide.doc_words) == (5, 0)  # the documents are too long for a record
    rows = chance.permutation(3)
    for layout in (layout_of_rows, wide):
        records = Records.of(
            layout_of_rows, query, Ids.of(docs), numbers, np.array([4, 2**32 - 1, 0])
        )
        joined_records = Records.concatenate(
            [records.change_layout(layout), records.change_layout(layout)]
        ).take(rows + 3)
        assert joined_records.query.to_list() == [query[i] for i in rows]
        assert joined_records.doc.to_list() == [docs[i] for i in rows]
        assert joined_records.position.tolist() == [[4, 2**32 - 1, 0][i] for i in rows]
        for name, column in numbers.items():
            assert joined_records.numbers[name].tolist() == column[rows].tolist()


def test_files_with_and_without_scores_that_are_whole_are_dealt_alike(tmp_path: Path) -> None:
    lines = [("b", "x", "2"), ("a", "x", "1"), ("b", "y", "2.5"), ("a", "y", "3")]
    path = tmp_path / "a.run"
    path.write_text("".join(f"{q} Q0 {d} 1 {s} t\n" for q, d, s in lines))
    assert evaluate({"a": {"x": 1}, "b": {"y": 1}}, str(path), "RR").per_query("RR") == {
        "a": 1 / 2,
        "b": 1,
    }


def test_a_json_list_is_cut_between_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SIZES, "rows", 2)
    path = tmp_path / "run.json"
    rows = [{"query_id": f"q{i // 5}", "doc_id": f"d{i}", "score": 9.5 - i} for i in range(10)]
    path.write_text(json.dumps(rows))
    scores = evaluate({"q0": {"d1": 1}, "q1": {"d9": 1}}, path, "RR")
    assert scores.per_query("RR") == {"q0": 1 / 2, "q1": 1 / 5}
    assert "apart" not in codes(scores.notes)  # read in one pass
