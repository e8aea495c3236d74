"""Rows of a run, (query, document, score), in the forms that a run may have."""

import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa

Row = tuple[str, str, float]
Write = Callable[[str, str], Any]  # a name and a content to the path of the file

FORMS: dict[str, Callable[[list[Row], Write], Any]] = {
    "rows": lambda rows, write: rows,
    "frame": lambda rows, write: pd.DataFrame(rows, columns=["query", "doc", "score"]),
    "table": lambda rows, write: pa.table(
        dict(zip(("qid", "docno", "score"), zip(*rows, strict=True), strict=True))
    ),
    "TREC": lambda rows, write: write(
        "a.run", "".join(f"{query} Q0 {doc} 1 {score} t\n" for query, doc, score in rows)
    ),
    "CSV": lambda rows, write: write(
        "a.csv",
        "query_id,doc_id,score\n" + "".join(f"{q},{doc},{score}\n" for q, doc, score in rows),
    ),
    "JSON lines": lambda rows, write: write(
        "a.jsonl",
        "".join(
            json.dumps({"query_id": q, "doc_id": doc, "score": score}) + "\n"
            for q, doc, score in rows
        ),
    ),
}
