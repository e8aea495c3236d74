"""Time and memory of one evaluation from every form of the data, compared with other tools.

    pip install '.[bench]'
    python benchmarks/formats.py [--quick] [--repeats 3] [--huge] [--only WORD...]

The data is made here, from a fixed seed, in a temporary folder (TMPDIR sets where): the size of MS
MARCO, 6,980 queries with 1,000 documents each, ids that are numbers as text, two judgments for each
query, no tied scores. All sides take turns, on two cores; the printed times are medians. A side is
a separate process. It imports what it needs, loads data in memory, makes the call once on a tiny
collection (so that imports inside the call and compilation do not count), and then times that call
alone. The peak memory is that of the call, and includes the memory held before it. A side that
fails prints the error.
"""

import argparse
import contextlib
import gzip
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SEED = 20_261_120
MEASURES = ["nDCG@10", "AP", "RR"]
DEPTH = 1000
QUERIES_IN_BLOCK = 500  # made and written at a time
# The result that one process prints for another follows this, in the last line.
MARK = "measured: "

# The three measures in SQL, for both polars and DuckDB. A 1.0 would be a decimal of few digits in
# polars.
SQL = """
WITH ranked AS (
    SELECT query_id, doc_id,
        ROW_NUMBER() OVER (PARTITION BY query_id ORDER BY score DESC) AS place
    FROM run
), found AS (
    SELECT r.query_id AS query_id, r.place AS place, q.relevance AS relevance,
        ROW_NUMBER() OVER (PARTITION BY r.query_id ORDER BY r.place) AS nth
    FROM ranked AS r JOIN qrels AS q ON r.query_id = q.query_id AND r.doc_id = q.doc_id
    WHERE q.relevance > 0
), scored AS (
    SELECT query_id,
        SUM(CASE WHEN place <= 10 THEN relevance / LOG2(place + 1) ELSE 0 END) AS dcg,
        SUM(CAST(nth AS DOUBLE) / place) AS precisions,
        1 / CAST(MIN(place) AS DOUBLE) AS rr
    FROM found GROUP BY query_id
), best AS (
    SELECT query_id, relevance,
        ROW_NUMBER() OVER (PARTITION BY query_id ORDER BY relevance DESC) AS nth
    FROM qrels WHERE relevance > 0
), ideal AS (
    SELECT query_id, COUNT(*) AS n,
        SUM(CASE WHEN nth <= 10 THEN relevance / LOG2(nth + 1) ELSE 0 END) AS dcg
    FROM best GROUP BY query_id
)
SELECT AVG(COALESCE(s.dcg, 0) / i.dcg), AVG(COALESCE(s.precisions, 0) / i.n) AS ap,
    AVG(COALESCE(s.rr, 0)) AS rr
FROM ideal AS i LEFT JOIN scored AS s ON i.query_id = s.query_id
"""

# ---- the data --------------------------------------------------------------------------------


def make_blocks(n_queries: int, depth: int) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield a run by rank, some queries at a time, with their judgments."""
    random = np.random.default_rng(SEED)
    queries = np.sort(random.choice(1_100_000, n_queries, replace=False))
    for start in range(0, n_queries, QUERIES_IN_BLOCK):
        query = queries[start : start + QUERIES_IN_BLOCK]
        docs = random.integers(0, 8_841_823, (len(query), depth))
        redrawn = np.arange(len(query))
        while len(redrawn):  # queries with a document twice are drawn again
            sorted_docs = np.sort(docs[redrawn], axis=1)
            redrawn = redrawn[(sorted_docs[:, 1:] == sorted_docs[:, :-1]).any(axis=1)]
            docs[redrawn] = random.integers(0, 8_841_823, (len(redrawn), depth))
        # Scores with six decimals, as whole millionths, each lower than the one above.
        millionths = np.sort((random.normal(20, 5, docs.shape) * 1e6).astype(np.int64))[:, ::-1]
        row = np.arange(depth)
        millionths = np.minimum.accumulate(millionths + row, axis=1) - row
        run = {
            "query_id": _to_texts(np.repeat(query, depth)),
            "doc_id": _to_texts(docs.ravel()),
            "rank": _to_texts(np.tile(row + 1, len(query))),
            "score": pa.array(millionths.ravel() / 1e6),
        }
        # One judged document that the run retrieves, and one that it does not.
        retrieved = docs[np.arange(len(query)), random.integers(0, depth, len(query))]
        unretrieved = random.integers(8_841_823, 9_000_000, len(query))
        qrels = {
            "query_id": _to_texts(np.repeat(query, 2)),
            "doc_id": _to_texts(np.column_stack([retrieved, unretrieved]).ravel()),
            "relevance": pa.array(random.integers(1, 4, 2 * len(query))),
        }
        yield pa.table(run), pa.table(qrels)


def _to_texts(numbers: Any) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


Write = Callable[[Path, Iterable[pa.Table]], None]


def write_lines(out: IO[bytes], columns: list[Any], separator: str = " ", end: str = "\n") -> None:
    """Write a line for each row, of columns and of texts that are the same in all rows."""
    *first_columns, last_column = columns
    line_ends = pc.binary_join_element_wise(last_column, end, "")
    joined_lines = pc.binary_join_element_wise(*first_columns, line_ends, separator)
    out.write(joined_lines.buffers()[2])  # the buffer of the concatenated texts


def format_scores(table: pa.Table) -> pa.Array:
    """Return the scores as texts with six decimals."""
    return _combine_chunks(table["score"]).cast(pa.decimal128(12, 6)).cast(pa.string())


def _combine_chunks(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks)


def write_trec(
    path: Path,
    blocks: Iterable[pa.Table],
    separator: str = " ",
    end: str = "\n",
    open_file: Callable[[Path], IO[bytes]] = lambda path: path.open("wb"),
) -> None:
    """Write the six columns of a TREC run."""
    with open_file(path) as out:
        for block in blocks:
            query, doc, rank = (
                _combine_chunks(block[name]) for name in ("query_id", "doc_id", "rank")
            )
            columns = [query, "Q0", doc, rank, format_scores(block), "bm25"]
            write_lines(out, columns, separator, end)


def _open_gzip(path: Path) -> IO[bytes]:
    return gzip.GzipFile(path, "wb", compresslevel=1)  # type: ignore[return-value] # it is one


def _open_zstd(path: Path) -> IO[bytes]:
    stream: IO[bytes] = pa.CompressedOutputStream(str(path), "zstd")
    return stream


def write_shuffled(path: Path, blocks: Iterable[pa.Table]) -> None:
    """Write a TREC run with all its rows in random order."""
    table = pa.concat_tables(list(blocks)).combine_chunks()
    order = np.random.default_rng(SEED).permutation(len(table))
    write_trec(
        path,
        (table.take(pa.array(rows)) for rows in np.array_split(order, len(table) // 10**6 + 1)),
    )


def write_shuffled_within(path: Path, blocks: Iterable[pa.Table]) -> None:
    """Write a TREC run with the rows of each query in random order."""
    random = np.random.default_rng(SEED)

    def shuffle_rows(block: pa.Table) -> pa.Table:
        query = block["query_id"].combine_chunks().dictionary_encode().indices.to_numpy()
        return block.take(pa.array(np.lexsort((random.random(len(query)), query))))

    write_trec(path, map(shuffle_rows, blocks))


def write_csv(path: Path, blocks: Iterable[pa.Table]) -> None:
    """Write a CSV file with a header."""
    with path.open("wb") as out:
        out.write(b"query_id,doc_id,score\n")
        for block in blocks:
            write_lines(
                out,
                [
                    _combine_chunks(block["query_id"]),
                    _combine_chunks(block["doc_id"]),
                    format_scores(block),
                ],
                ",",
            )


def write_ms_marco(path: Path, blocks: Iterable[pa.Table]) -> None:
    """Write the three columns of an MS MARCO run, which has ranks and no scores."""
    with path.open("wb") as out:
        for block in blocks:
            write_lines(
                out, [_combine_chunks(block[name]) for name in ("query_id", "doc_id", "rank")], "\t"
            )


def write_json_dict(path: Path, blocks: Iterable[pa.Table]) -> None:
    """Write one JSON object {query: {document: score}}."""
    with path.open("w") as out:
        mark = "{"
        for block in blocks:
            json_pairs = pc.binary_join_element_wise(
                '"', _combine_chunks(block["doc_id"]), '": ', format_scores(block), ""
            )
            query = block["query_id"].to_numpy()
            query_starts = np.flatnonzero(np.append(True, query[1:] != query[:-1]))
            bounds = pa.array(np.append(query_starts, len(query)).astype(np.int32))
            texts = pc.binary_join(pa.ListArray.from_arrays(bounds, json_pairs), ", ")
            for name, text in zip(query[query_starts], texts.to_pylist(), strict=True):
                out.write(f'{mark}"{name}": {{{text}}}')
                mark = ",\n"
        out.write("}\n")


def write_json_lines(path: Path, blocks: Iterable[pa.Table]) -> None:
    """Write a JSON object for each row."""
    with path.open("wb") as out:
        for block in blocks:
            query, doc = _combine_chunks(block["query_id"]), _combine_chunks(block["doc_id"])
            columns = ['{"query_id": "', query, '", "doc_id": "', doc, '", "score": ']
            write_lines(out, [*columns, format_scores(block), "}"], "")


def write_parquet(path: Path, blocks: Iterable[pa.Table], compression: str = "snappy") -> None:
    """Write the three columns as Parquet, as pandas does."""
    writer = None
    for block in map(_three_columns, blocks):
        writer = writer or pq.ParquetWriter(path, block.schema, compression=compression)
        writer.write_table(block)
    assert writer is not None
    writer.close()


def _three_columns(block: pa.Table) -> pa.Table:
    return block.select(["query_id", "doc_id", "score"])


def write_arrow(path: Path, blocks: Iterable[pa.Table]) -> None:
    """Write the three columns as an Arrow IPC file, uncompressed."""
    table = pa.concat_tables(map(_three_columns, blocks))
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def write_feather_file(path: Path, blocks: Iterable[pa.Table]) -> None:
    """Write the three columns as Feather does, compressed."""
    from pyarrow.feather import write_feather

    write_feather(pa.concat_tables(map(_three_columns, blocks)), str(path))


# The forms of a run as a file: {name: (file name, function that writes it)}.
FILES: dict[str, tuple[str, Write]] = {
    "TREC text": ("text.run", write_trec),
    "TREC text, all rows shuffled": ("shuffled.run", write_shuffled),
    "TREC text, shuffled within queries": ("within.run", write_shuffled_within),
    "TREC text, tabs and CRLF": ("crlf.run", partial(write_trec, separator="\t", end="\r\n")),
    "TREC text, gzip -1": ("text.run.gz", partial(write_trec, open_file=_open_gzip)),
    "TREC text, zstd": ("text.run.zst", partial(write_trec, open_file=_open_zstd)),
    "CSV with a header": ("run.csv", write_csv),
    "MS MARCO, three columns": ("run.tsv", write_ms_marco),
    "JSON, a dict of dicts": ("run.json", write_json_dict),
    "JSON lines": ("run.jsonl", write_json_lines),
    "Parquet, snappy": ("run.parquet", write_parquet),
    "Parquet, zstd": ("zstd.parquet", partial(write_parquet, compression="zstd")),
    "Arrow IPC": ("run.arrow", write_arrow),
    "Feather, lz4": ("run.feather", write_feather_file),
}


def write_collection(folder: Path, n_queries: int, depth: int, forms: Iterable[str]) -> None:
    """Write a collection in some forms; the judgments as TREC text and Parquet."""
    folder.mkdir()
    forms = list(forms)
    is_streamed = (
        n_queries > 10_000
    )  # then it is made again for each form, and never held in memory
    blocks = [] if is_streamed else list(make_blocks(n_queries, depth))
    for form in forms:
        name, writer = FILES[form]
        writer(
            folder / name,
            (run for run, _ in (make_blocks(n_queries, depth) if is_streamed else blocks)),
        )
    qrels = pa.concat_tables(
        judgments for _, judgments in (blocks or make_blocks(n_queries, depth))
    )
    qrels = qrels.combine_chunks()
    with (folder / "qrels.txt").open("wb") as out:
        grade = _combine_chunks(qrels["relevance"]).cast(pa.string())
        write_lines(
            out, [_combine_chunks(qrels["query_id"]), "0", _combine_chunks(qrels["doc_id"]), grade]
        )
    pq.write_table(qrels, folder / "qrels.parquet")


# ---- the sides -------------------------------------------------------------------------------

Call = Callable[[], Any]  # returns cranfield's Scores, or the means of MEASURES, or nothing
Side = Callable[[Path], Call]  # imports and loads what is needed; the call is timed


def evaluate_file(name: str, folder: Path) -> Call:
    """Return the call that evaluates a file."""
    from cranfield import evaluate

    qrels, run = str(folder / "qrels.txt"), str(folder / name)
    return lambda: evaluate(qrels, run, MEASURES)


def evaluate_object(load: Callable[[Path], Any], folder: Path) -> Call:
    """Return the call that evaluates data in memory; the judgments have the same form."""
    from cranfield import evaluate

    qrels, run = load(folder / "qrels.parquet"), load(folder / "run.parquet")
    return lambda: evaluate(qrels, run, MEASURES)


def evaluate_unchecked(folder: Path) -> Call:
    """Return the call that evaluates the text without searching its blocks for duplicates."""
    from cranfield.data import order

    call = evaluate_file("text.run", folder)
    n_calls = 0

    def find_no_repeats(keys: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        return np.zeros(0, np.int64)

    vars(order)["find_repeated_keys"] = find_no_repeats  # in this process

    def call_checked() -> Any:
        scores = call()
        if not n_calls:
            raise RuntimeError(
                "`group_rows` does not call find_repeated_keys any more: change this side"
            )
        return scores

    return call_checked


def read_arrow_table(path: Path) -> Any:
    """Read an Arrow table."""
    return pq.read_table(path)


def read_shuffled_table(path: Path) -> Any:
    """Read an Arrow table with rows in random order."""
    table = read_arrow_table(path)
    order = np.random.default_rng(SEED).permutation(len(table))
    return table.take(pa.array(order)).combine_chunks()


def read_small_batches(path: Path) -> Any:
    """Read an Arrow table in batches of 10,000 rows."""
    return pa.Table.from_batches(read_arrow_table(path).combine_chunks().to_batches(10_000))


def cast_ids(table: Any) -> Any:
    """Return an Arrow table whose ids are whole numbers."""
    for position, name in enumerate(["query_id", "doc_id"]):
        table = table.set_column(position, name, table[name].cast(pa.int64()))
    return table


def read_encoded_table(path: Path) -> Any:
    """Read an Arrow table with dictionary-encoded ids."""
    table = read_arrow_table(path).combine_chunks()
    for position, name in enumerate(["query_id", "doc_id"]):
        table = table.set_column(position, name, table[name].combine_chunks().dictionary_encode())
    return table


def read_lists(path: Path, as_structs: bool = False) -> Any:
    """Read an Arrow table with a row for each query: lists of documents and their numbers."""
    table = read_arrow_table(path).combine_chunks()
    query, doc, number = (_combine_chunks(column) for column in table.columns)
    codes = query.dictionary_encode().indices.to_numpy()
    query_starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    bounds = pa.array(np.append(query_starts, len(query)).astype(np.int32))
    docs, numbers = ("expected_ids", "grades")
    if table.column_names[2] == "score":
        docs, numbers = ("retrieved_ids", "scores")
    columns = {"query_id": query.take(pa.array(query_starts))}
    if as_structs:
        cells = pa.StructArray.from_arrays([doc, number], ["item", "rating"])
        columns[docs] = pa.ListArray.from_arrays(bounds, cells)
    else:
        columns[docs] = pa.ListArray.from_arrays(bounds, doc)
        columns[numbers] = pa.ListArray.from_arrays(bounds, number)
    return pa.table(columns)


def read_pandas(path: Path) -> Any:
    """Read a pandas frame with Arrow texts."""
    import pandas as pd

    frame = pd.read_parquet(path)
    if pd.api.types.is_object_dtype(frame["doc_id"]):  # before pandas 3
        frame = frame.astype({"query_id": "string[pyarrow]", "doc_id": "string[pyarrow]"})
    return frame


def read_object_frame(path: Path) -> Any:
    """Read a pandas frame with Python texts."""
    return read_pandas(path).astype({"query_id": object, "doc_id": object})


def read_polars(path: Path) -> Any:
    """Read a polars frame."""
    import polars as pl

    return pl.read_parquet(path)


def read_dicts(path: Path) -> dict[str, dict[str, Any]]:
    """Read a dict of dicts."""
    numbers_of_query: dict[str, dict[str, Any]] = {}
    columns = [column.to_pylist() for column in read_arrow_table(path).columns]
    for query, doc, number in zip(*columns, strict=True):
        numbers_of_query.setdefault(query, {})[doc] = number
    return numbers_of_query


def read_structured_array(path: Path) -> Any:
    """Read a numpy array with named fields."""
    table = read_arrow_table(path)
    columns = [np.array(column.to_pylist()) for column in table.columns]
    field_types = [(name, c.dtype) for name, c in zip(table.column_names, columns, strict=True)]
    array = np.empty(len(table), field_types)
    for name, column in zip(table.column_names, columns, strict=True):
        array[name] = column
    return array


def read_csv_only(folder: Path) -> Call:
    """Return the call that only reads the text's three columns, with pyarrow and all threads."""
    from pyarrow import csv

    column_types = {"query": pa.binary(), "doc": pa.binary(), "score": pa.float64()}
    names = ["query", "q0", "doc", "rank", "score", "tag"]
    read = csv.ReadOptions(column_names=names)
    parse = csv.ParseOptions(delimiter=" ", quote_char=False)
    convert = csv.ConvertOptions(column_types=column_types, include_columns=list(column_types))

    def call() -> None:
        csv.read_csv(folder / "text.run", read, parse, convert)

    return call


def _pytrec_eval_means(scores: dict[str, dict[str, float]]) -> list[float]:
    return [
        sum(values[name] for values in scores.values()) / len(scores)
        for name in ("ndcg_cut_10", "map", "recip_rank")
    ]


def pytrec_eval_text(folder: Path) -> Call:
    """Return the call that reads the text with pytrec_eval's reader and evaluates it."""
    import pytrec_eval

    def call() -> list[float]:
        with (folder / "qrels.txt").open() as qrels_file, (folder / "text.run").open() as run_file:
            qrels, run = pytrec_eval.parse_qrel(qrels_file), pytrec_eval.parse_run(run_file)
        names = {"map", "ndcg_cut.10", "recip_rank"}
        return _pytrec_eval_means(pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run))

    return call


def pytrec_eval_dicts(folder: Path) -> Call:
    """Return the call that evaluates dicts with pytrec_eval."""
    import pytrec_eval

    qrels, run = read_dicts(folder / "qrels.parquet"), read_dicts(folder / "run.parquet")

    def call() -> list[float]:
        names = {"map", "ndcg_cut.10", "recip_rank"}
        return _pytrec_eval_means(pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run))

    return call


def ir_measures_text(folder: Path) -> Call:
    """Return the call that reads and evaluates the text with ir_measures."""
    import ir_measures

    untyped_module: Any = ir_measures  # its readers have no types
    measures = [untyped_module.parse_measure(name) for name in MEASURES]

    def call() -> list[float]:
        qrels = untyped_module.read_trec_qrels(str(folder / "qrels.txt"))
        run = untyped_module.read_trec_run(str(folder / "text.run"))
        means = untyped_module.calc_aggregate(measures, qrels, run)
        return [means[measure_side] for measure_side in measures]

    return call


def ranx_text(folder: Path) -> Call:
    """Return the call that reads and evaluates the text with ranx."""
    import ranx

    names = ["ndcg@10", "map", "mrr"]

    def call() -> list[float]:
        qrels = ranx.Qrels.from_file(str(folder / "qrels.txt"), kind="trec")
        run = ranx.Run.from_file(str(folder / "text.run"), kind="trec")
        means = ranx.evaluate(qrels, run, names)
        return [float(means[name]) for name in names]

    return call


def polars_text(folder: Path) -> Call:
    """Return the call that computes the measures in SQL with polars on text; ids are numbers."""
    import polars as pl

    def call() -> list[float]:
        names = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
        run = pl.scan_csv(
            folder / "text.run", separator=" ", has_header=False, new_columns=names, quote_char=None
        )
        names = ["query_id", "iteration", "doc_id", "relevance"]
        qrels = pl.scan_csv(
            folder / "qrels.txt", separator=" ", has_header=False, new_columns=names
        )
        return list(pl.SQLContext(run=run, qrels=qrels).execute(SQL).collect().row(0))

    return call


def duckdb_parquet(folder: Path) -> Call:
    """Return the call that computes the measures in SQL with DuckDB on Parquet."""
    import duckdb

    def call() -> list[float]:
        with duckdb.connect() as database:
            database.execute(f"SET threads = {count_cores()}")
            for name in ("run", "qrels"):
                file = folder / f"{name}.parquet"
                database.execute(f"CREATE VIEW {name} AS FROM read_parquet('{file}')")
            means = database.execute(SQL).fetchone()
        assert means is not None
        return list(means)

    return call


TEXT, SHUFFLED, PARQUET = "TREC text", "TREC text, all rows shuffled", "Parquet, snappy"
PANDAS, POLARS = "pandas, texts in Arrow", "polars"
SORTED, SHUFFLED_TABLE = "pyarrow table", "pyarrow table, all rows shuffled"
TABLES: dict[str, Callable[[Path], Any]] = {  # each is compared with the first
    SORTED: read_arrow_table,
    SHUFFLED_TABLE: read_shuffled_table,
    "pyarrow table, batches of 10,000": read_small_batches,
    "pyarrow table, lists": read_lists,
    "pyarrow table, lists of structs": partial(read_lists, as_structs=True),
    "pyarrow table, dictionaries": read_encoded_table,
    "pyarrow table, whole numbers": lambda path: cast_ids(read_arrow_table(path)),
    "the same, all rows shuffled": lambda path: cast_ids(read_shuffled_table(path)),
}
CRANFIELD: dict[str, Side] = {
    **{form: partial(evaluate_file, name) for form, (name, _) in FILES.items()},
    PANDAS: partial(evaluate_object, read_pandas),
    "pandas, texts as objects": partial(evaluate_object, read_object_frame),
    POLARS: partial(evaluate_object, read_polars),
    **{form: partial(evaluate_object, load) for form, load in TABLES.items()},
    "dict of dicts": partial(evaluate_object, read_dicts),
    "numpy, structured": partial(evaluate_object, read_structured_array),
}
UNCHECKED = "TREC text, no search for duplicates"
ARROW_CSV, PYTREC_EVAL = "pyarrow.csv, reads only", "pytrec_eval, its reader"
PYTREC_EVAL_DICTS = "pytrec_eval, dict of dicts"
PEERS: dict[str, Side] = {
    UNCHECKED: evaluate_unchecked,
    ARROW_CSV: read_csv_only,
    PYTREC_EVAL: pytrec_eval_text,
    PYTREC_EVAL_DICTS: pytrec_eval_dicts,
    "ir_measures, TREC text": ir_measures_text,
    "ranx, TREC text": ranx_text,
    "polars, SQL on TREC text": polars_text,
    "DuckDB, SQL on Parquet": duckdb_parquet,
}
# In this order, sides that are compared run at about the same time.
FIRST = [TEXT, UNCHECKED, ARROW_CSV, SHUFFLED, PARQUET, PYTREC_EVAL]
FIRST += [PANDAS, POLARS, PYTREC_EVAL_DICTS, *TABLES]
ALL_SIDES = CRANFIELD | PEERS
SIDES = {side: ALL_SIDES[side] for side in dict.fromkeys([*FIRST, *ALL_SIDES])}


# ---- one side, in a separate process ---------------------------------------------------------


def measure_in_process(side: str, folder: Path, tiny: Path) -> dict[str, Any]:
    """Measure one call in this process; errors are returned, too."""
    try:
        SIDES[side](tiny)()
        call = SIDES[side](folder)
        held_before = _reset_peak()
        cpu, wall = time.process_time(), time.perf_counter()
        outcome = call()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        measurements: dict[str, Any] = {
            "wall": wall,
            "cpu": cpu,
            "peak": _read_peak(),
            "held": held_before,
        }
    except ImportError as error:
        return {"error": f"not installed: {error}"}
    except Exception as error:  # noqa: BLE001 - any error of a form or a tool is reported
        return {"error": " ".join(f"{type(error).__name__}: {error}".split())}
    if isinstance(outcome, list):
        measurements["means"] = outcome
    elif outcome is not None:
        measurements["means"] = list(outcome.means().values())
        value_bytes = (
            "\n".join(outcome.query_ids).encode() + np.asarray(outcome.values, float).tobytes()
        )
        measurements["each"] = hashlib.sha256(value_bytes).hexdigest()
    return measurements


def _reset_peak() -> float:
    """Reset the peak of the memory; return the memory held now, in MB."""
    with contextlib.suppress(OSError):  # not on Linux: the peak of the whole process
        Path("/proc/self/clear_refs").write_text("5")
    return _read_peak()


def _read_peak() -> float:
    """Return the peak memory, in MB; getrusage would include the parent's before the exec."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


# ---- all sides in turn -----------------------------------------------------------------------


@dataclass
class Cost:
    """The costs of one side's call, as medians, and its result."""

    wall: float  # seconds
    cpu: float  # seconds, all threads
    peak: float  # MB, at most
    held_before: float  # MB, before the call
    means: list[float] | None
    scores_hash: str | None  # a hash of every query's values
    turns: list[dict[str, Any]]  # the measurements of each turn


Results = dict[str, Cost | str]  # by side; a text is an error


def measure_side(side: str, folder: Path, tiny: Path) -> dict[str, Any]:
    """Measure one side in a fresh process."""
    process = subprocess.run(
        [sys.executable, __file__, "--side", side, str(folder), str(tiny)],
        capture_output=True,
        text=True,
        env={**os.environ, "POLARS_MAX_THREADS": str(count_cores())},
    )
    last_line = process.stdout.rpartition(MARK)
    if process.returncode or not last_line[1]:
        error_text = " ".join(process.stderr.split())[-200:]
        return {"error": f"the process ended with {process.returncode}: {error_text}"}
    measurements: dict[str, Any] = json.loads(last_line[2])
    return measurements


def take_turns(sides: Iterable[str], folder: Path, tiny: Path, repeats: int) -> Results:
    """Measure sides in turn; one that fails is not tried again."""
    turns_of_side: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
    error_of_side: dict[str, str] = {}
    for turn in range(repeats):
        for side, earlier_turns in turns_of_side.items():
            if side in error_of_side:
                continue
            print(f"turn {turn + 1}: {side}", file=sys.stderr, flush=True)
            measurements = measure_side(side, folder, tiny)
            if "error" in measurements:
                error_of_side[side] = measurements["error"]
            elif earlier_turns and measurements.get("each") != earlier_turns[0].get("each"):
                error_of_side[side] = "other values than in the first turn"
            else:
                earlier_turns.append(measurements)
    return {
        side: error_of_side[side]
        if side in error_of_side
        else Cost(
            statistics.median(measurements["wall"] for measurements in results),
            statistics.median(measurements["cpu"] for measurements in results),
            max(measurements["peak"] for measurements in results),
            max(measurements["held"] for measurements in results),
            results[0].get("means"),
            results[0].get("each"),
            results,
        )
        for side, results in turns_of_side.items()
    }


def print_costs(title: str, results: Results, of: str) -> None:
    """Print the costs of each side, and their ratio to those of side `of`."""
    print(f"\n{title}")
    base_cost = results.get(of)
    for side, cost in results.items():
        if isinstance(cost, str):
            print(f"  {side:36} error: {cost:.200}")
            continue
        ratio_text = f"{cost.wall / base_cost.wall:7.2f} x" if isinstance(base_cost, Cost) else ""
        print(
            f"  {side:36} {cost.wall:8.3f} s wall {cost.cpu:8.3f} s cpu {cost.peak:7.0f} MB peak"
            f" ({cost.held_before:5.0f} MB before) {ratio_text}"
        )


def print_table_ratios(results: Results) -> None:
    """Print the ratio of each table's time to the sorted table's, turn by turn."""
    sorted_cost = results.get(SORTED)
    if not isinstance(sorted_cost, Cost):
        return
    print(f"\ntables, times {SORTED} in the same turn: the median, the least and the greatest")
    for side in TABLES:
        cost = results.get(side)
        if side == SORTED or not isinstance(cost, Cost):
            continue
        ratios_text = []
        for quantity in ("cpu", "wall"):
            pairs = zip(cost.turns, sorted_cost.turns, strict=True)
            ratios = [
                side_turn[quantity] / sorted_turn[quantity] for side_turn, sorted_turn in pairs
            ]
            median = statistics.median(ratios)
            ratios_text.append(f"{quantity} {median:5.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
        print(f"  {side:36} {'  '.join(ratios_text)}")


def print_bars(results: Results) -> None:
    """Print which bars are met."""
    print("\nbars")
    for title, side, rival_side, bar, at_least in [
        ("text, times pyarrow.csv alone", TEXT, ARROW_CSV, 2.2, False),
        ("pytrec_eval with its reader, times text", PYTREC_EVAL, TEXT, 8.0, True),
        ("Parquet, times text", PARQUET, TEXT, 1.0, False),
        ("all rows shuffled, times text", SHUFFLED, TEXT, 2.5, False),
        ("a table's rows shuffled, times the table", SHUFFLED_TABLE, SORTED, 1.7, False),
        ("pandas, times pytrec_eval on dicts", PANDAS, PYTREC_EVAL_DICTS, 0.2, False),
        ("polars, times pytrec_eval on dicts", POLARS, PYTREC_EVAL_DICTS, 0.2, False),
    ]:
        side_cost, rival_cost = results.get(side), results.get(rival_side)
        if isinstance(side_cost, Cost) and isinstance(rival_cost, Cost):
            _print_bar(title, side_cost.wall / rival_cost.wall, bar, at_least)
        else:
            print(f"  {title}: not measured")
    text_cost, unchecked_cost = results.get(TEXT), results.get(UNCHECKED)
    title = "the duplicate check, share of text's time"
    if isinstance(text_cost, Cost) and isinstance(unchecked_cost, Cost):
        _print_bar(title, 1 - unchecked_cost.wall / text_cost.wall, 0.3, False)
    else:
        print(f"  {title}: not measured")


def _print_bar(title: str, figure: float, bar: float, at_least: bool) -> None:
    is_passed = figure >= bar if at_least else figure <= bar
    direction = "at least" if at_least else "at most"
    verdict = "met" if is_passed else "NOT MET"
    print(f"  {title}: {figure:.2f}, bar {direction} {bar:.2f}: {verdict}")


def compare_values(results: Results) -> None:
    """Print whether all of cranfield's forms have the same values, and other tools' differences."""
    print("\nvalues")
    cost_of_side = {side: cost for side, cost in results.items() if isinstance(cost, Cost)}
    cranfield_costs = {
        side: cost for side, cost in cost_of_side.items() if cost.scores_hash is not None
    }
    cranfield_sides = [side for side in CRANFIELD if side in results]
    failed_sides = [side for side in cranfield_sides if side not in cranfield_costs]
    if not cranfield_costs:
        print("  no form was evaluated")
        return
    first_side, first_cost = next(iter(cranfield_costs.items()))
    assert first_cost.means is not None
    means_text = ", ".join(
        f"{name} {mean!r}" for name, mean in zip(MEASURES, first_cost.means, strict=True)
    )
    print(f"  cranfield, {first_side}: {means_text}")
    sides_of_other_means = [
        side for side, cost in cranfield_costs.items() if cost.means != first_cost.means
    ]
    sides_of_other_scores = [
        side for side, cost in cranfield_costs.items() if cost.scores_hash != first_cost.scores_hash
    ]
    for quantity, differing_sides in [
        ("means", sides_of_other_means),
        ("every query's values", sides_of_other_scores),
    ]:
        if differing_sides:
            print(f"  {quantity}: NOT the same from {', '.join(differing_sides)}")
        else:
            n_equal = len(cranfield_sides) - len(failed_sides)
            print(
                f"  {quantity}: bit-identical from {n_equal} forms of {len(cranfield_sides)}; "
                f"{len(failed_sides)} failed"
            )
    for side, cost in cost_of_side.items():
        if side not in cranfield_costs and cost.means is not None:
            deviation = max(abs(a - b) for a, b in zip(cost.means, first_cost.means, strict=True))
            print(f"  {side}: at most {deviation:.1e} from cranfield's means")


def print_sizes(sizes: dict[int, Results]) -> None:
    """Print how time and memory grow with the rows."""
    print("\nby rows")
    for side in (TEXT, PARQUET):
        for n_rows, results in sorted(sizes.items()):
            cost = results.get(side)
            if isinstance(cost, str):
                print(f"  {side:20} {n_rows:12,} rows  error: {cost:.200}")
            elif cost is not None:
                print(
                    f"  {side:20} {n_rows:12,} rows {cost.wall:8.3f} s wall,"
                    f" {cost.wall / n_rows * 1e6:7.4f} s for a million {cost.peak:7.0f} MB peak"
                )


def count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--huge", action="store_true", help="also ten times the rows")
    parser.add_argument(
        "--only", nargs="+", metavar="WORD", help="only sides whose names hold one of these"
    )
    parser.add_argument("--side", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        side, folder, tiny = arguments.side
        print(MARK + json.dumps(measure_in_process(side, Path(folder), Path(tiny))))
        return
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    words = [word.lower() for word in arguments.only or [""]]
    chosen_sides = [side for side in SIDES if any(word in side.lower() for word in words)]
    n_queries = 698 if arguments.quick else 6980
    n_rows = n_queries * DEPTH
    print(f"on {count_cores()} cores; medians of {arguments.repeats} turns; seed {SEED}")
    print(f"measures {', '.join(MEASURES)}; in process, after imports and a call on tiny data")
    with tempfile.TemporaryDirectory() as name:
        tiny, base = Path(name, "tiny"), Path(name, "base")
        start = time.perf_counter()
        write_collection(tiny, 5, 20, FILES)
        write_collection(base, n_queries, DEPTH, FILES)
        os.sync()
        print(
            f"{n_rows:,} rows, written in {len(FILES)} forms in {time.perf_counter() - start:.1f} s"
        )
        results = take_turns(chosen_sides, base, tiny, arguments.repeats)
        results_of_rows = {n_rows: results}
        for factor in (0.1, 10) if arguments.huge else (0.1,):
            sides = [side for side in (TEXT, PARQUET) if side in chosen_sides]
            if sides:
                folder = Path(name, f"by {factor}")
                write_collection(folder, int(n_queries * factor), DEPTH, sides)
                os.sync()
                results_of_rows[int(n_rows * factor)] = take_turns(
                    sides, folder, tiny, arguments.repeats
                )
    print_costs("cranfield, from", {s: results[s] for s in CRANFIELD if s in results}, TEXT)
    peer_results = {s: results[s] for s in (TEXT, *PEERS) if s in results}
    print_costs(f"beside cranfield, {TEXT}", peer_results, TEXT)
    print_table_ratios(results)
    print_bars(results)
    compare_values(results)
    if len(results_of_rows) > 1:
        print_sizes(results_of_rows)


if __name__ == "__main__":
    main()
