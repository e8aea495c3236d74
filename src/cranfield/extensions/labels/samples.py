"""Samples by strata: judgments in which a document that was not drawn has a row, with grade -1."""

import numpy as np

from cranfield.data.qrels import Qrels
from cranfield.extensions.labels.pools.pool_result import NOT_DRAWN


def select_drawn(qrels: Qrels) -> Qrels:
    """Return the judgments without the documents of a stratum that were not drawn."""
    if "stratum" not in qrels.columns:
        return qrels
    return qrels.select_rows(np.flatnonzero(qrels.grade != NOT_DRAWN))
