"""Samples by strata: judgments in which a document that was not drawn has a row, with grade -1."""

import numpy as np

from cranfield.data.qrels import Qrels
from cranfield.extensions.labels.pools.pool_result import NOT_DRAWN


def select_drawn(qrels: Qrels) -> Qrels:
    """Return the judgments without the documents of a stratum that were not drawn.

    >>> rows = [("q", "d1", 2, 1), ("q", "d2", -1, 1)]
    >>> columns = ["query_id", "doc_id", "relevance", "stratum"]
    >>> len(select_drawn(Qrels([dict(zip(columns, row)) for row in rows])))
    1
    """
    rows = np.flatnonzero(qrels.grade != NOT_DRAWN)
    return qrels.select_rows(rows) if "stratum" in qrels.columns else qrels
