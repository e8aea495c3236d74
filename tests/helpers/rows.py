"""Rows of a table, in the forms that a run may have, and read in blocks large and small."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from cranfield import Run, read_run
from cranfield.formats.block import SIZES

Row = tuple[str, str, float]  # query, document, score
Write = Callable[[str, str], Any]  # a name and a content to the path of the file


def frame(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(names))


def table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pa.Table:
    return pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))


def csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    return "".join(",".join(map(str, row)) + "\n" for row in (names, *rows))


def json_lines(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


def trec(rows: Iterable[Row]) -> str:
    return "".join(f"{query} Q0 {doc} 1 {score} t\n" for query, doc, score in rows)


def nest_rows(rows: Iterable[Row]) -> dict[str, dict[str, float]]:
    scores_of_query: dict[str, dict[str, float]] = {}
    for query, doc, score in rows:
        scores_of_query.setdefault(query, {})[doc] = score
    return scores_of_query


def scatter_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the first row of each query, then the second of each: a query's rows are apart."""
    n_rows_of_query: Counter[str] = Counter()
    numbered_rows = []
    for row in rows:
        numbered_rows.append((n_rows_of_query[row[0]], row))
        n_rows_of_query[row[0]] += 1
    return [row for _, row in sorted(numbered_rows, key=itemgetter(0))]


_NAMES = ("query_id", "doc_id", "score")
Forms = dict[str, Callable[[list[Row], Write], Any]]

# In which a document may be more than once for a query.
FORMS: Forms = {
    "rows": lambda rows, write: rows,
    "apart": lambda rows, write: scatter_rows(rows),
    "frame": lambda rows, write: frame(("query", "doc", "score"), rows),
    "table": lambda rows, write: table(("qid", "docno", "score"), rows),
    "TREC": lambda rows, write: write("a.run", trec(rows)),
    "CSV": lambda rows, write: write("a.csv", csv(_NAMES, rows)),
    "JSON lines": lambda rows, write: write("a.jsonl", json_lines(_NAMES, rows)),
}
# And those in which it cannot be.
ALL_FORMS: Forms = {
    **FORMS,
    "dict": lambda rows, write: nest_rows(rows),
    "JSON": lambda rows, write: write("a.json", json.dumps(nest_rows(rows))),
}


def make_run(source: Any) -> Run:
    return read_run(source) if isinstance(source, str) else Run(source)


def vary_block_sizes(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Let files and tables be read in blocks of the usual size, and then of a row each."""
    for n_rows, n_bytes in ((SIZES.rows, SIZES.bytes), (1, 30)):
        monkeypatch.setattr(SIZES, "rows", n_rows)
        monkeypatch.setattr(SIZES, "bytes", n_bytes)
        yield n_rows
