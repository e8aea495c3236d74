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
Nested = dict[str, dict[str, float]]
ORDERS = ["as it is", "rows shuffled", "rows of each query shuffled", "queries shuffled"]


@cache
def collection() -> tuple[list[tuple[int, int, int]], list[tuple[int, int, float]]]:
    """Make 200 judged queries; ids are whole numbers, which every form can hold."""
    chance = random.Random(4)
    judged: list[tuple[int, int, int]] = []
    found: list[tuple[int, int, float]] = []
    for query in range(220):
        pool = chance.sample(range(100_000), 60)
        if query < 200:
            judged += [(query, doc, chance.choice([-1, 0, 0, 1, 1, 2, 3])) for doc in pool[:20]]
        if query % 11:
            few = [0.0, -1.5, 2.0, 0.1, 1 / 3, 1e-300]
            for doc in chance.sample(pool, chance.randint(1, 30)):
                score = chance.choice(few) if chance.random() < 0.5 else chance.gauss(0, 3)
                found.append((query, doc, score))
    return judged, found


@cache
def in_order(which: int, order: str) -> list[Any]:
    """Return the judgments (0) or the run (1), in another order."""
    chance = random.Random(order)
    rows: list[Any] = list(collection()[which])
    queries = list(dict.fromkeys(query for query, _, _ in rows))
    if order == "rows shuffled":
        chance.shuffle(rows)
    if order == "queries shuffled":
        chance.shuffle(queries)
    if order in ("queries shuffled", "rows of each query shuffled"):
        within = order == "rows of each query shuffled"
        return [
            row
            for query in queries
            for row in (lambda one: chance.sample(one, len(one)) if within else one)(
                [row for row in rows if row[0] == query]
            )
        ]
    return rows


def nested(rows: Table) -> Nested:
    found: Nested = {}
    for query, doc, number in rows:
        found.setdefault(str(query), {})[str(doc)] = number
    return found


def trec(rows: Table, path: Path, value: str) -> None:
    with path.open("w") as file:
        for query, doc, number in rows:
            columns = [query, "Q0", doc, 1, repr(number), "t"]
            columns = columns if value == "score" else [query, 0, doc, number]
            print(*columns, file=file)


def delimited(separator: str) -> Callable[[Table, Path, str], None]:
    def write(rows: Table, path: Path, value: str) -> None:
        with path.open("w", newline="") as file:
            writer = csv.writer(file, delimiter=separator)
            writer.writerow(["query-id", "corpus-id", "score"])
            writer.writerows(rows)

    return write


def json_lines(rows: Table, path: Path, value: str) -> None:
    names = "query_id", "doc_id", value
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))


def json_list(rows: Table, path: Path, value: str) -> None:
    names = "query_id", "doc_id", value
    path.write_text(json.dumps([dict(zip(names, row, strict=True)) for row in rows]))


def frame(rows: Table, value: str) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=["qid", "docno", value])


def zipped(rows: Table, path: Path, value: str) -> None:
    path.write_bytes(gzip.compress(frame(rows, value).to_csv(index=False).encode()))


def categories(rows: Table, value: str) -> Any:
    return frame(rows, value).astype({"qid": "category", "docno": str})


def matrix(rows: Table, value: str) -> Any:
    query, doc, number = (np.array(column) for column in zip(*rows, strict=True))
    return sparse.coo_array((number, (query, doc)))


def relation(rows: Table, value: str) -> Any:
    table = pa.table(frame(rows, value))
    return duckdb.connect().from_arrow(table)


FILES: dict[str, Callable[[Table, Path, str], Any]] = {
    "a.trec": trec,
    "a.csv": delimited(","),
    "a.tsv": delimited("\t"),
    "semicolons.csv": delimited(";"),
    "a.csv.gz": zipped,
    "a.json": lambda rows, path, value: path.write_text(json.dumps(nested(rows))),
    "indented.json": lambda rows, path, value: path.write_text(json.dumps(nested(rows), indent=1)),
    "list.json": json_list,
    "a.jsonl": json_lines,
    "a.parquet": lambda rows, path, value: parquet.write_table(
        pa.table(frame(rows, value)), path, row_group_size=500
    ),
    "texts.parquet": lambda rows, path, value: categories(rows, value).to_parquet(path),
    "a.feather": lambda rows, path, value: feather.write_feather(
        frame(rows, value), path, chunksize=700
    ),
    "a.arrow": lambda rows, path, value: pl.DataFrame(frame(rows, value)).write_ipc(path),
}
OBJECTS: dict[str, Callable[[Table, str], Any]] = {
    "dict of dicts": lambda rows, value: nested(rows),
    "rows": lambda rows, value: list(rows),
    "structured array": lambda rows, value: frame(rows, value).to_records(index=False),
    "sparse, COO": matrix,
    "sparse, CSR": lambda rows, value: matrix(rows, value).tocsr(),
    "pandas": frame,
    "pandas, texts": categories,
    "polars": lambda rows, value: pl.DataFrame(frame(rows, value)),
    "polars, categories": lambda rows, value: pl.DataFrame(categories(rows, value)),
    "pyarrow": lambda rows, value: pa.table(frame(rows, value)),
    "DuckDB": relation,
}


@cache
def expected() -> dict[str, dict[str, Any]]:
    judged, found = collection()
    scores = evaluate(
        {q: {d: int(g) for d, g in docs.items()} for q, docs in nested(judged).items()},
        nested(found),
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
        FILES[name](in_order(i, order), paths[i], value)
    scores = evaluate(read_qrels(paths[0]), read_run(paths[1]), MEASURES)
    assert scores.to_dict() == expected()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", OBJECTS)
def test_every_object_gives_the_same_bits(name: str, order: str) -> None:
    qrels: Any = OBJECTS[name](in_order(0, order), "relevance")
    run: Any = OBJECTS[name](in_order(1, order), "score")
    assert evaluate(qrels, run, MEASURES).to_dict() == expected()
