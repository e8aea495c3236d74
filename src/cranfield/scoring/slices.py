"""Slices: finds the queries that share a label, for scores and comparisons of each slice."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools
from cranfield.errors import InputError
from cranfield.formats.small.labels import LabelRows
from cranfield.notes import Note


class Slice(NamedTuple):
    """The queries that have a label, such as the type "how to"."""

    label: str | None  # the kind of label, such as "type"; None: these are all queries
    name: str | None  # the label
    has_label: Bools  # (n_queries,) which queries have the label


def find_slices(
    label_rows: LabelRows | None, query_ids: Sequence[str]
) -> tuple[list[Slice], list[Note]]:
    """Return the slices of queries, kind after kind, and notes: the rows', and on unlabelled ones.

    Raises InputError for a kind of label that none of the queries has.
    """
    if label_rows is None:
        return [], []
    slices: list[Slice] = []
    notes = [*label_rows.notes]
    for label, label_of_query in label_rows.labels.items():
        code_of_name = {name: i for i, name in enumerate(dict.fromkeys(label_of_query.values()))}
        names = map(label_of_query.get, query_ids)
        codes = (-1 if name is None else code_of_name[name] for name in names)
        code = np.fromiter(codes, np.int64, len(query_ids))  # of each query's label; -1: none
        for name, i in code_of_name.items():
            has_label = code == i
            if has_label.any():
                slices.append(Slice(label, name, has_label))
        n_unlabelled = int(np.count_nonzero(code < 0))
        if n_unlabelled == len(query_ids):
            raise InputError(
                f"{label}: none of the {len(query_ids):,} queries here has a label",
                hint=f"The first of them is {query_ids[0]!r:.80}, the first with a label "
                f"{next(iter(label_of_query))!r:.80}.",
            )
        if n_unlabelled:
            text = f"{label}: {n_unlabelled:,} of {len(query_ids):,} queries have no label."
            notes.append(Note("without-label", "info", text, n_unlabelled))
    return slices, notes
