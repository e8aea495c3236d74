"""Retrieved documents: puts unjudged ones into a worksheet, where they change no number."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Ranked
from cranfield.data.judged import Judged
from cranfield.explanation.entries import Line, Section, Sheet, Total, Worksheet
from cranfield.explanation.follow import trace_value
from cranfield.explanation.scene import Scene
from cranfield.explanation.words import BASES
from cranfield.explanation.worksheet import write_worksheet
from cranfield.measures import Measure

N_FIRST = 10  # ranks to show of a measure that looks at all of them, or at many
_MAX_CUTOFF = 20  # the deepest rank to show of a measure that looks no deeper
_HITS_TITLE = BASES["hits"].words
_EVERY_TITLE = f"{BASES[Judged.every].words} (-: unjudged, counts as 0)"


def count_visible(n_docs: int, cutoff: int | None) -> int:
    """Return how many of the documents retrieved are shown, whether they count or not.

    Down to the cutoff, if that is 1 to 20; else, and without one, ten.
    """
    return min(n_docs, cutoff if cutoff and cutoff <= _MAX_CUTOFF else N_FIRST)


def add_unjudged(sheet: Worksheet, measure: Measure, scene: Scene, k: int) -> Worksheet:
    """Return a worksheet whose table of judged documents has the unjudged ones of rank <= k, too.

    The measure is run once more, with these among the hits, unjudged and of grade 0. Of what comes
    out, everything has to be as it was, except their rows, which then add nothing; else, as where
    judged documents are counted, the worksheet is returned as it is; so it is with steps not known,
    with groups, with costs and with further columns of hits.
    """
    judged, docs = scene.judged, scene.docs
    is_plain = not (judged.hits.columns or judged.has_groups) and judged.cost is None
    if sheet.is_incomplete or not is_plain or all(doc in scene.grades for doc in docs[:k]):
        return sheet
    hits, top_ranks = judged.hits, judged.every(np.array([[k]]))
    lower_hits = hits.where(hits.rank > k)
    is_judged = np.append(top_ranks.judged, lower_hits.judged)
    rank = np.append(top_ranks.rank, lower_hits.rank)
    grade = np.append(top_ranks.grade, lower_hits.grade)
    columns = {"known": is_judged}
    wider_hits = Ranked(1, np.zeros(len(rank), np.int64), rank, grade, columns=columns)
    matched_run = replace(scene.matched_run, judged=replace(judged, hits=wider_hits))
    value = trace_value(measure, replace(scene, matched_run=matched_run))
    wider_sheet = write_worksheet(str(measure), value)
    sections, old_sections = wider_sheet.sections, sheet.sections
    if wider_sheet.is_incomplete or len(sections) != len(old_sections):
        return sheet
    pairs = zip(sections, old_sections, strict=True)
    is_unchanged = all(_is_unchanged(section, old_section) for section, old_section in pairs)
    if not is_unchanged or wider_sheet.value_line != sheet.value_line:
        return sheet
    for section, old_section in zip(sections, old_sections, strict=True):
        if not isinstance(section, Sheet) or not isinstance(old_section, Sheet):
            continue
        if section.n_rows > old_section.n_rows:
            section.title = section.title.replace(_HITS_TITLE, _EVERY_TITLE)
            if section.labels["rank"][-1] > k:
                section.title += f", below rank {k} judged ones only"
    return wider_sheet


def _is_unchanged(section: Section, old_section: Section) -> bool:
    """Tell whether a section is as before, except for more rows that change no number."""
    if isinstance(section, Line) or isinstance(old_section, Line):
        return section == old_section
    if section.n_rows == old_section.n_rows:
        rows: Sequence[int] = range(section.n_rows)
    elif "rank" not in old_section.labels:
        return False
    else:
        ranks = set(old_section.labels["rank"])
        rows = [i for i, rank in enumerate(section.labels["rank"]) if rank in ranks]
    old_rows = range(old_section.n_rows)
    return _sheet_fields(section, rows) == _sheet_fields(old_section, old_rows)


def _sheet_fields(sheet: Sheet, rows: Sequence[int]) -> tuple[object, ...]:
    """Return the title, the labels, the columns and the totals of some rows of a sheet."""
    labels = {name: _select_rows(values, rows) for name, values in sheet.labels.items()}
    columns = [
        replace(column, values=_select_rows(column.values, rows)) for column in sheet.columns
    ]
    return sheet.title, labels, columns, [_total_fields(total, rows) for total in sheet.totals]


def _select_rows(values: Sequence[object], rows: Sequence[int]) -> list[object]:
    return [values[row] for row in rows]


def _total_fields(total: Total, rows: Sequence[int]) -> tuple[object, ...]:
    """Return what a total shows, with its sums so far of some rows."""
    running = None if total.running is None else _select_rows(total.running, rows)
    return (total.symbol, total.words, [*total.values], total.column, running)


def ranking_sheet(docs: Sequence[tuple[int, str, float | None]], n_docs: int, title: str) -> Sheet:
    """Return a table of (rank, document, grade), of the first of `n_docs`; `title` is for all."""
    names = ("rank", "document", "grade")
    columns = ([row[i] for row in docs] for i in range(len(names)))
    labels: dict[str, Sequence[Any]] = dict(zip(names, columns, strict=True))
    if len(docs) < n_docs:
        title = f"the first {len(docs):,} of the {n_docs:,} {title}"
    return Sheet(title, labels)
