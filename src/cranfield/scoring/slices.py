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


def find_slices(
    label_rows: LabelRows | None, query_ids: Sequence[str]
) -> tuple[list[Slice], list[Note]]:
    """Return the slices of some queries, kind after kind, and how many queries have no label.

    Raises InputError for a kind of label that none of them has.
    """
    if label_rows is None:
        return [], []
    slices: list[Slice] = []
    notes = [*label_rows.notes]
    for label, label_of_query in label_rows.labels.items():
        number = {name: i for i, name in enumerate(dict.fromkeys(label_of_query.values()))}
        codes = (
            number[label_of_query[query_id]] if query_id in label_of_query else -1
            for query_id in query_ids
        )
        code_of_query = np.fromiter(codes, np.int64, len(query_ids))
        for name, i in number.items():
            has_label = code_of_query == i
            if has_label.any():
                slices.append(Slice(label, name, has_label))
        n_unlabelled = int(np.count_nonzero(code_of_query < 0))
        if n_unlabelled == len(code_of_query):
            raise InputError(
                f"{label}: none of the {len(code_of_query):,} queries here has a label",
                hint=f"The first of them is {query_ids[0]!r:.80}, the first with a label "
                f"{next(iter(label_of_query))!r:.80}.",
            )
        if n_unlabelled:
            text = f"{label}: {n_unlabelled:,} of {len(code_of_query):,} queries have no label."
            notes.append(Note("without-label", "info", text, n_unlabelled))
    return slices, notes
