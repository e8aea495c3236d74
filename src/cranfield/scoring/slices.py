"""Slices: the queries that share a label, for scores and comparisons of each group."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools
from cranfield.errors import InputError
from cranfield.formats.small.labels import LabelRows
from cranfield.notes import Note


class Slice(NamedTuple):
    """Some queries: those that have a label, such as the type "how to"."""

    label: str | None  # what is labelled, such as "type"; None: these are all queries
    name: str | None  # the label
    has_label: Bools  # (n_queries,) which of the queries have it


def find_slices(label_rows: LabelRows | None, query_ids: Sequence[str]) -> tuple[list[Slice], list[Note]]:
    """Return the slices of some queries, kind after kind, and how many queries have no label.

    Raises InputError for a kind of label that none of them has.
    """
    if label_rows is None:
        return [], []
    found: list[Slice] = []
    said = [*label_rows.notes]
    for label, of_query in label_rows.labels.items():
        number = {name: i for i, name in enumerate(dict.fromkeys(of_query.values()))}
        places = (number[of_query[one]] if one in of_query else -1 for one in query_ids)
        every = np.fromiter(places, np.int64, len(query_ids))
        for name, i in number.items():
            rows = every == i
            if rows.any():
                found.append(Slice(label, name, rows))
        without = int(np.count_nonzero(every < 0))
        if without == len(every):
            raise InputError(
                f"{label}: none of the {len(every):,} queries here has a label",
                hint=f"The first of them is {query_ids[0]!r:.80}, the first with a label "
                f"{next(iter(of_query))!r:.80}.",
            )
        if without:
            text = f"{label}: {without:,} of {len(every):,} queries have no label."
            said.append(Note("without-label", "info", text, without))
    return found, said
