"""One collection, from every file and object: the same bits in every measure of every query."""

import csv
import gzip
import json
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from scipy import sparse

from cranfield import evaluate, read_qrels, read_run
from cranfield.formats.block import SIZES

MEASURES = "nDCG@10 nDCG(gain='exp2') AP RR P@5 R@20 Rprec Bpref RBP infAP Judged@10 NumRet"
Table = Sequence[tuple[int, int, float]]
NestedRows = dict[str, dict[str, float]]
ORDERS = ["as it is", "rows shuffled", "rows of each query shuffled", "queries shuffled"]


@cache
def make_collection() -> tuple[list[tuple[int, int, int]], list[tuple[int, int, float]]]:
    """Make 200 judged queries; ids are whole numbers, which every form can hold."""
    chance = random.Random(4)
    judgment_rows: list[tuple[int, int, int]] = []
    run_rows: list[tuple[int, int, float]] = []
    for query in range(220):
        pool = chance.sample(range(100_000), 60)
        if query < 200:
            judgment_rows += [
                (query, doc, chance.choice([-1, 0, 0, 1, 1, 2, 3])) for doc in pool[:20]
            ]
        if query % 11:
            common_scores = [0.0, -1.5, 2.0, 0.1, 1 / 3, 1e-300]
            for doc in chance.sample(pool, chance.randint(1, 30)):
                score = (
                    chance.choice(common_scores) if chance.random() < 0.5 else chance.gauss(0, 3)
                )
                run_rows.append((query, doc, score))
    return judgment_rows, run_rows


@cache
def order_rows(side: int, order: str) -> list[Any]:
    """Return the rows of a side, the judgments (0) or the run (1), in another order."""
    chance = random.Random(order)
    rows: list[Any] = list(make_collection()[side])
    queries = list(dict.fromkeys(query for query, _, _ in rows))
    if order == "rows shuffled":
        chance.shuffle(rows)
    if order == "queries shuffled":
        chance.shuffle(queries)
    if order in ("queries shuffled", "rows of each query shuffled"):
        shuffle_within = order == "rows of each query shuffled"
        return [
            row
            for query in queries
            for row in (
                lambda query_rows: (
                    chance.sample(query_rows, len(query_rows)) if shuffle_within else query_rows
                )
            )([row for row in rows if row[0] == query])
        ]
    return rows


def nest_rows(rows: Table) -> NestedRows:
    number_of_doc: NestedRows = {}
    for query, doc, number in rows:
        number_of_doc.setdefault(str(query), {})[str(doc)] = number
    return number_of_doc


def write_trec(rows: Table, path: Path, value_column: str) -> None:
    with path.open("w") as file:
        for query, doc, number in rows:
            columns = [query, "Q0", doc, 1, repr(number), "t"]
            columns = columns if value_column == "score" else [query, 0, doc, number]
            print(*columns, file=file)


def delimited_writer(separator: str) -> Callable[[Table, Path, str], None]:
    def write_rows(rows: Table, path: Path, value: str) -> None:
        with path.open("w", newline="") as file:
            writer = csv.writer(file, delimiter=separator)
            writer.writerow(["query-id", "corpus-id", "score"])
            writer.writerows(rows)

    return write_rows


def write_json_lines(rows: Table, path: Path, value_column: str) -> None:
    names = "query_id", "doc_id", value_column
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))


def write_json_list(rows: Table, path: Path, value_column: str) -> None:
    names = "query_id", "doc_id", value_column
    path.write_text(json.dumps([dict(zip(names, row, strict=True)) for row in rows]))


def make_frame(rows: Table, value_column: str) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=["qid", "docno", value_column])


def write_compressed(rows: Table, path: Path, value_column: str) -> None:
    path.write_bytes(gzip.compress(make_frame(rows, value_column).to_csv(index=False).encode()))


def make_category_frame(rows: Table, value_column: str) -> Any:
    return make_frame(rows, value_column).astype({"qid": "category", "docno": str})


def make_matrix(rows: Table, value_column: str) -> Any:
    query, doc, number = (np.array(column) for column in zip(*rows, strict=True))
    return sparse.coo_array((number, (query, doc)))


def make_relation(rows: Table, value_column: str) -> Any:
    table = pa.table(make_frame(rows, value_column))
    return duckdb.connect().from_arrow(table)


FILES: dict[str, Callable[[Table, Path, str], Any]] = {
    "a.trec": write_trec,
    "a.csv": delimited_writer(","),
    "a.tsv": delimited_writer("\t"),
    "semicolons.csv": delimited_writer(";"),
    "a.csv.gz": write_compressed,
    "a.json": lambda rows, path, value: path.write_text(json.dumps(nest_rows(rows))),
    "indented.json": lambda rows, path, value: path.write_text(
        json.dumps(nest_rows(rows), indent=1)
    ),
    "list.json": write_json_list,
    "a.jsonl": write_json_lines,
    "a.parquet": lambda rows, path, value: parquet.write_table(
        pa.table(make_frame(rows, value)), path, row_group_size=500
    ),
    "texts.parquet": lambda rows, path, value: make_category_frame(rows, value).to_parquet(path),
    "a.feather": lambda rows, path, value: feather.write_feather(
        make_frame(rows, value), path, chunksize=700
    ),
    "a.arrow": lambda rows, path, value: pl.DataFrame(make_frame(rows, value)).write_ipc(path),
}
OBJECTS: dict[str, Callable[[Table, str], Any]] = {
    "dict of dicts": lambda rows, value: nest_rows(rows),
    "rows": lambda rows, value: list(rows),
    "structured array": lambda rows, value: make_frame(rows, value).to_records(index=False),
    "sparse, COO": make_matrix,
    "sparse, CSR": lambda rows, value: make_matrix(rows, value).tocsr(),
    "pandas": make_frame,
    "pandas, texts": make_category_frame,
    "polars": lambda rows, value: pl.DataFrame(make_frame(rows, value)),
    "polars, categories": lambda rows, value: pl.DataFrame(make_category_frame(rows, value)),
    "pyarrow": lambda rows, value: pa.table(make_frame(rows, value)),
    "DuckDB": make_relation,
}


@cache
def expected_scores() -> dict[str, dict[str, Any]]:
    judgment_rows, run_rows = make_collection()
    scores = evaluate(
        {
            query: {doc: int(grade) for doc, grade in docs.items()}
            for query, docs in nest_rows(judgment_rows).items()
        },
        nest_rows(run_rows),
        MEASURES,
    )
    assert len(scores.query_ids) == 200
    assert len(set(scores.per_query("AP").values())) > 120, "hardly any are equal by chance"
    return scores.to_dict()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("size", [500, None], ids=["small blocks", "blocks"])
def test_every_file_gives_the_same_bits(
    name: str, order: str, size: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if size is not None:
        monkeypatch.setattr(SIZES, "bytes", 20 * size)
        monkeypatch.setattr(SIZES, "tail", size)
        monkeypatch.setattr(SIZES, "rows", size)
    paths = [tmp_path / f"{i}{name}" for i in range(2)]
    for i, value in enumerate(("relevance", "score")):
        FILES[name](order_rows(i, order), paths[i], value)
    scores = evaluate(read_qrels(paths[0]), read_run(paths[1]), MEASURES)
    assert scores.to_dict() == expected_scores()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", OBJECTS)
def test_every_object_gives_the_same_bits(name: str, order: str) -> None:
    qrels: Any = OBJECTS[name](order_rows(0, order), "relevance")
    run: Any = OBJECTS[name](order_rows(1, order), "score")
    assert evaluate(qrels, run, MEASURES).to_dict() == expected_scores()
