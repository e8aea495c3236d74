"""The documents that were retrieved, beside those that count: unjudged ones are seen, too."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Ranked
from cranfield.data.judged import Judged
from cranfield.explanation.entries import Column, Entry, Line, Sheet, Total, Worksheet
from cranfield.explanation.follow import trace_value
from cranfield.explanation.scene import Scene
from cranfield.explanation.words import BASES
from cranfield.explanation.worksheet import write_worksheet
from cranfield.measures import Measure

N_FIRST = 10  # ranks to show of a measure that looks at all of them, or at many
_MAX_CUTOFF = 20
_HITS_TITLE = BASES["hits"].words
_EVERY_TITLE = f"{BASES[Judged.every].words} (-: unjudged, counts as 0)"


def count_visible(n_docs: int, cutoff: int | None) -> int:
    """Return how many of the documents retrieved are shown, whether they count or not.

    Down to the cutoff, if that is no deeper than rank 20; else, and without one, ten.
    """
    return min(n_docs, cutoff if cutoff and cutoff <= _MAX_CUTOFF else N_FIRST)


def add_unjudged(sheet: Worksheet, measure: Measure, scene: Scene, k: int) -> Worksheet:
    """Return a worksheet whose table of judged documents has the unjudged ones of rank <= k, too.

    The measure is run once more, with these among the hits, unjudged and of grade 0. Of what comes
    out, everything has to be as it was, except their rows, which then add nothing; else, as where
    judged documents are counted, the worksheet is returned as it is.
    """
    judged, docs = scene.judged, scene.docs
    is_plain = not (judged.hits.columns or judged.has_groups) and judged.cost is None
    if sheet.is_incomplete or not is_plain or all(doc in scene.grades for doc in docs[:k]):
        return sheet
    hits, top_ranks = judged.hits, judged.every(np.array([[k]]))
    lower_hits = hits.where(hits.rank > k)
    is_judged = np.append(top_ranks.judged, lower_hits.judged)
    rank, grade = (
        np.append(top_ranks.rank, lower_hits.rank),
        np.append(top_ranks.grade, lower_hits.grade),
    )
    columns = {"known": is_judged}
    wider_hits = Ranked(1, np.zeros(len(rank), np.int64), rank, grade, columns=columns)
    meeting = replace(scene.meeting, judged=replace(judged, hits=wider_hits))
    wider_worksheet = write_worksheet(
        str(measure), trace_value(measure, replace(scene, meeting=meeting))
    )
    pairs = zip(
        [*wider_worksheet.entries, wider_worksheet.value_line],
        [*sheet.entries, sheet.value_line],
        strict=False,
    )
    is_comparable = (
        len(wider_worksheet.entries) == len(sheet.entries) and not wider_worksheet.is_incomplete
    )
    if not (is_comparable and all(_is_unchanged(*pair) for pair in pairs)):
        return sheet
    for entry, old_entry in zip(wider_worksheet.entries, sheet.entries, strict=True):
        if (
            isinstance(entry, Sheet)
            and isinstance(old_entry, Sheet)
            and entry.n_rows > old_entry.n_rows
        ):
            entry.title = entry.title.replace(_HITS_TITLE, _EVERY_TITLE)
            if entry.labels["rank"][-1] > k:
                entry.title += f", below rank {k} judged ones only"
    return wider_worksheet


def _is_unchanged(entry: Entry, old_entry: Entry) -> bool:
    """Tell whether an entry is as before, except for more rows that change no number."""
    if isinstance(entry, Line) or isinstance(old_entry, Line):
        return entry == old_entry
    if entry.n_rows == old_entry.n_rows:
        rows: Sequence[int] = range(entry.n_rows)
    elif "rank" not in old_entry.labels:
        return False
    else:
        ranks = set(old_entry.labels["rank"])
        rows = [i for i, rank in enumerate(entry.labels["rank"]) if rank in ranks]
    return (
        entry.title == old_entry.title
        and {name: _select_rows(values, rows) for name, values in entry.labels.items()}
        == _label_lists(old_entry)
        and [replace(column, values=_select_rows(column.values, rows)) for column in entry.columns]
        == [Column(column.header, [*column.values], column.formula) for column in old_entry.columns]
        and [_total_fields(total, rows) for total in entry.totals]
        == [_total_fields(total, range(old_entry.n_rows)) for total in old_entry.totals]
    )


def _select_rows(values: Sequence[object], rows: Sequence[int]) -> list[object]:
    return [values[row] for row in rows]


def _label_lists(sheet: Sheet) -> dict[str, list[object]]:
    return {name: [*values] for name, values in sheet.labels.items()}


def _total_fields(total: Total, rows: Sequence[int]) -> tuple[object, ...]:
    running = None if total.running is None else _select_rows(total.running, rows)
    return (total.symbol, total.words, [*total.values], total.column, running)


def ranking_sheet(docs: Sequence[tuple[int, str, float | None]], n_docs: int, title: str) -> Sheet:
    """Return the table of the first documents retrieved: (rank, document, grade) of each."""
    names = ("rank", "document", "grade")
    labels: dict[str, Sequence[Any]] = {
        name: [row[i] for row in docs] for i, name in enumerate(names)
    }
    if len(docs) < n_docs:
        title = f"the first {len(docs):,} of the {n_docs:,} {title}"
    return Sheet(title, labels)
