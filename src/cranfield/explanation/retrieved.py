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
    plain = not (judged.hits.columns or judged.has_groups) and judged.cost is None
    if sheet.is_incomplete or not plain or all(doc in scene.grades for doc in docs[:k]):
        return sheet
    hits, every = judged.hits, judged.every(np.array([[k]]))
    below = hits.where(hits.rank > k)
    known = np.append(every.judged, below.judged)
    rank, grade = np.append(every.rank, below.rank), np.append(every.grade, below.grade)
    columns = {"known": known}
    wider = Ranked(1, np.zeros(len(rank), np.int64), rank, grade, columns=columns)
    meeting = replace(scene.meeting, judged=replace(judged, hits=wider))
    found = write_worksheet(str(measure), trace_value(measure, replace(scene, meeting=meeting)))
    pairs = zip([*found.entries, found.value_line], [*sheet.entries, sheet.value_line], strict=False)
    same = len(found.entries) == len(sheet.entries) and not found.is_incomplete
    if not (same and all(_is_unchanged(*pair) for pair in pairs)):
        return sheet
    for one, before in zip(found.entries, sheet.entries, strict=True):
        if isinstance(one, Sheet) and isinstance(before, Sheet) and one.n_rows > before.n_rows:
            one.title = one.title.replace(_HITS_TITLE, _EVERY_TITLE)
            if one.labels["rank"][-1] > k:
                one.title += f", below rank {k} judged ones only"
    return found


def _is_unchanged(one: Entry, before: Entry) -> bool:
    """Tell whether an entry is as before, except for more rows that change no number."""
    if isinstance(one, Line) or isinstance(before, Line):
        return one == before
    if one.n_rows == before.n_rows:
        rows: Sequence[int] = range(one.n_rows)
    elif "rank" not in before.labels:
        return False
    else:
        ranks = set(before.labels["rank"])
        rows = [i for i, rank in enumerate(one.labels["rank"]) if rank in ranks]
    return (
        one.title == before.title
        and {name: _select_rows(values, rows) for name, values in one.labels.items()} == _label_lists(before)
        and [replace(column, values=_select_rows(column.values, rows)) for column in one.columns]
        == [Column(column.header, [*column.values], column.formula) for column in before.columns]
        and [_total_fields(total, rows) for total in one.totals]
        == [_total_fields(total, range(before.n_rows)) for total in before.totals]
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
        name: [one[i] for one in docs] for i, name in enumerate(names)
    }
    if len(docs) < n_docs:
        title = f"the first {len(docs):,} of the {n_docs:,} {title}"
    return Sheet(title, labels)
