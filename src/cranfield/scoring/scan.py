"""Scan: what is seen of a run's rows, read once from one end to the other."""

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from cranfield.arrays.ids import decode
from cranfield.arrays.ranked import Floats
from cranfield.arrays.threads import in_threads
from cranfield.data.judging import Judging
from cranfield.data.order import Grouped, placed
from cranfield.data.regroup import regrouped
from cranfield.data.run import Run
from cranfield.data.run_notes import Look
from cranfield.formats.block import Block, LeftOut, Load

_MANY = 10_000
_UNSEEN = {"Cc", "Cf", "Co", "Cn", "Cs", "Zs", "Zl", "Zp"}  # kinds of characters, as Unicode has
_ADDED = ("rows", "apart", "left_out", "tied", "tied_top", "level", "look", "infinite")
# The number of a line, what is there, and of which query.
Where = Callable[[], tuple[int | None, str | None, str]]


@dataclass
class Scan:
    """What was seen of a run's rows, some or all."""

    rows: int = 0
    queries: dict[bytes, None] = field(default_factory=dict)
    apart: int = 0  # queries whose rows are not together
    left_out: LeftOut = field(default_factory=LeftOut)
    tied: int = 0  # rows whose score another of the query has
    tied_top: int = 0  # queries with such rows in the first k ranks, or across them
    tied_at: Where | None = None
    level: int = 0  # queries of several documents, all of the same score
    look: Look = field(default_factory=Look)
    infinite: int = 0
    against_at: Where | None = None
    odd: dict[str, None] = field(default_factory=dict)  # some of them, if there are many

    def add(self, other: "Scan") -> None:
        """Take what was seen of more rows."""
        self.apart += len(self.queries.keys() & other.queries.keys())
        for name in _ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.queries |= other.queries
        self.tied_at = self.tied_at or other.tied_at
        self.against_at = self.against_at or other.against_at
        if len(self.odd) < _MANY:
            self.odd |= other.odd


def scan_of(run: Run, k: int) -> Scan:
    """Return what is seen of a run's rows; ties are counted down to rank `k`, too."""
    scan = _added(run, run.every_row(sorted(run.numbers)), k)
    scan.left_out += run.left_out
    if not scan.apart:
        return scan
    whole = _added(run, regrouped(run.every_row(sorted(run.numbers))), k)
    whole.apart = scan.apart
    return whole


def _added(run: Run, loads: Iterable[Load], k: int) -> Scan:
    scan = Scan()
    for part in in_threads(partial(_scanned, run, k=k), loads):
        scan.add(part)
    return scan


def _scanned(run: Run, load: Load, k: int) -> Scan:
    whole = run.grouped(load(), Judging(duplicates="first"))
    block = whole.block
    scan = Scan(rows=len(block), queries=dict.fromkeys(whole.queries.to_list()))
    scan.left_out = block.left_out + whole.repeated
    scan.apart = len(whole.queries) - len(scan.queries)
    for ids, found in ((whole.queries, is_odd_query), (block.doc, is_odd)):
        if not ids.are_visible():  # among their bytes is one that is no visible ASCII
            scan.odd |= dict.fromkeys(filter(found, map(decode, dict.fromkeys(ids.to_list()))))
    if block.value is None or whole.by is None or len(block) == 0:
        return scan
    scan.infinite = int(np.count_nonzero(np.isinf(whole.by)))
    scan.look = Look.at(whole.starts, whole.by, block.rank)
    if scan.look.row is not None:
        scan.against_at = partial(_place, block, scan.look.row)
    _look_for_ties(scan, whole, whole.by, k)
    return scan


def _look_for_ties(scan: Scan, whole: Grouped, scores: Floats, k: int) -> None:
    group, place = whole.group, placed(whole, with_ties=True)
    scan.tied, scan.level = place.n_tied, place.n_level
    tied = np.flatnonzero(place.tie_size > 1)
    top = tied[place.tie_first[tied] <= k]
    scan.tied_top = len(set(group[top].tolist()))
    rows = top if len(top) else tied
    if len(rows):
        rows = rows[np.lexsort((place.rank[rows], group[rows]))]
        scan.tied_at = partial(_tie, whole.block, scores, int(rows[0]), int(rows[1]))


def _place(block: Block, row: int) -> tuple[int | None, str | None, str]:
    """Return the line of a row, what it holds, and its query."""
    return *block.where(row), decode(block.query[row])


def _tie(block: Block, scores: Floats, upper: int, lower: int) -> tuple[int | None, str, str]:
    """Return the line of the lower of two rows of the same score, what both hold, their query."""
    line, _, query = _place(block, lower)
    first, second = (decode(block.doc[row]) for row in (upper, lower))
    return line, f"query {query!r}: {first!r} and {second!r} have {scores[upper]:g}", query


def is_odd_query(text: str) -> bool:
    """Tell the same of a query's id, which may be a question: words with a blank between them."""
    return is_odd(text) and any(not word or is_odd(word) for word in text.split(" "))


def is_odd(text: str) -> bool:
    """Tell whether an id holds white space, or invisible characters."""
    if text.isascii() and text.isprintable() and " " not in text:
        return False
    return any(one.isspace() or unicodedata.category(one) in _UNSEEN for one in text)
