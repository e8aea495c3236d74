"""Scan: what is seen of a run's rows, read once from one end to the other."""

import math
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from cranfield.arrays.ids import decode
from cranfield.arrays.threads import in_threads
from cranfield.data.order import Grouped, grouped, placed, sorting_scores
from cranfield.data.qrels import Qrels
from cranfield.data.regroup import regrouped
from cranfield.data.run import Run
from cranfield.data.run_notes import are_ranks, contradicted, varied
from cranfield.formats.block import LeftOut, Load, Progress

_MANY = 10_000
_UNSEEN = {"Cc", "Cf", "Co", "Cn", "Cs", "Zs", "Zl", "Zp"}  # kinds of characters, as Unicode has
_ADDED = (
    *("rows", "apart", "left_out", "tied", "tied_top", "several", "level", "like_ranks"),
    *("infinite", "against"),
)
Where = Callable[[], tuple[int | None, str | None]]


@dataclass
class Scan:
    """What was seen of a run's rows, some or all."""

    rows: int = 0
    queries: dict[bytes, None] = field(default_factory=dict)
    apart: int = 0  # queries whose rows are not together
    left_out: LeftOut = field(default_factory=LeftOut)
    tied: int = 0  # rows whose score another of the query has
    tied_top: int = 0  # queries with such rows in the first k ranks, or across them
    tied_row: str | None = None
    tied_at: Where | None = None
    several: int = 0  # queries of several documents
    level: int = 0  # queries of several documents, all of the same score
    like_ranks: int = 0  # queries of several documents, whose scores are 1, 2, 3, ...
    longest: int = 0  # documents of a query
    has_ranks: bool = False  # whether the rank column tells documents apart
    infinite: int = 0
    low: float = math.inf  # of the scores, or the ranks
    high: float = -math.inf
    whole: bool = True  # whether all of these are whole numbers
    against: int = 0  # queries whose ranks contradict their scores
    against_at: Where | None = None
    odd: dict[str, None] = field(default_factory=dict)  # some of them, if there are many

    def add(self, other: "Scan") -> None:
        """Take what was seen of more rows."""
        self.apart += len(self.queries.keys() & other.queries.keys())
        for name in _ADDED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.queries |= other.queries
        if self.tied_row is None:
            self.tied_row, self.tied_at = other.tied_row, other.tied_at
        self.longest = max(self.longest, other.longest)
        self.has_ranks = self.has_ranks or other.has_ranks
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.whole = self.whole and other.whole
        self.against_at = self.against_at or other.against_at
        if len(self.odd) < _MANY:
            self.odd |= other.odd

    def like_grades(self, qrels: Qrels) -> bool:
        """Tell whether the numbers may be the grades of the judgments."""
        grades = qrels.grade
        return self.whole and (self.low, self.high) == (int(grades.min()), int(grades.max()))


def scan_of(run: Run, k: int, progress: Progress | None) -> Scan:
    """Return what is seen of a run's rows; ties are counted down to rank `k`, too."""
    scan = _added(run.every_row(sorted(run.numbers), progress), k)
    scan.left_out += run.left_out
    if not scan.apart:
        return scan
    whole = _added(regrouped(run.every_row(sorted(run.numbers))), k)
    whole.apart = scan.apart
    return whole


def _added(loads: Iterable[Load], k: int) -> Scan:
    scan = Scan()
    for part in in_threads(partial(_scanned, k=k), loads):
        scan.add(part)
    return scan


def _scanned(load: Load, k: int) -> Scan:
    whole = grouped(load(), "skip")
    block = whole.block
    scan = Scan(rows=len(block), queries=dict.fromkeys(whole.queries), left_out=block.left_out)
    scan.apart = len(whole.queries) - len(scan.queries)
    for ids in (block.query.take(whole.starts[:-1]), block.doc):
        if not ids.are_visible():  # among their bytes is one that is no visible ASCII
            scan.odd |= dict.fromkeys(filter(is_odd, map(decode, dict.fromkeys(ids.to_list()))))
    numbers = block.value if block.value is not None else block.rank
    if numbers is not None and len(block):
        scan.low, scan.high = float(numbers.min()), float(numbers.max())
        scan.whole = bool((numbers == np.floor(numbers)).all())
    if block.value is None or len(block) == 0:
        return scan
    scores = sorting_scores(block)
    assert scores is not None  # noqa: S101 - there is a value
    counts = np.diff(whole.starts)
    scan.several, scan.longest = int(np.count_nonzero(counts > 1)), int(counts.max())
    ends = whole.starts.tolist()
    scan.like_ranks = sum(
        end - begin > 1 and are_ranks(scores[begin:end]) for begin, end in pairwise(ends)
    )
    scan.infinite = int(np.count_nonzero(np.isinf(scores)))
    _look_for_ties(scan, whole, scores, k)
    if block.rank is not None:
        scan.has_ranks = varied(whole.group, block.rank)
        wrong = contradicted(whole.group, block.rank, scores)
        scan.against = len(set(whole.group[wrong].tolist()))
        if scan.against:
            scan.against_at = partial(block.where, int(wrong[0]))
    return scan


def _look_for_ties(scan: Scan, whole: Grouped, scores: Any, k: int) -> None:
    block = whole.block
    every = np.arange(len(block))
    rank = placed(whole, scores, every).rank
    order = np.empty(len(block), np.int64)
    order[whole.starts[whole.group] + rank - 1] = every
    ranked = scores[order]
    equal = (ranked[1:] == ranked[:-1]) & (whole.group[1:] == whole.group[:-1])
    if not equal.any():
        return
    tied = np.append(False, equal) | np.append(equal, False)
    scan.tied = int(np.count_nonzero(tied))
    upper = np.flatnonzero(equal)  # the upper of a pair
    top = upper[upper - whole.starts[whole.group[upper]] < k]
    scan.tied_top = len(set(whole.group[top].tolist()))
    row = int(top[0] if len(top) else upper[0])
    query, first, second = (
        decode(one) for one in (block.query[row], block.doc[order[row]], block.doc[order[row + 1]])
    )
    scan.tied_at = partial(block.where, int(order[row + 1]))
    scan.tied_row = f"query {query!r}: {first!r} and {second!r} have {ranked[row]:g}"
    n_equal, n = (
        np.bincount(whole.group[upper], minlength=len(whole.queries)),
        np.diff(whole.starts),
    )
    scan.level = int(np.count_nonzero((n_equal == n - 1) & (n > 1)))


def is_odd(text: str) -> bool:
    """Tell whether an id holds white space, or what the eye cannot see."""
    if text.isascii() and text.isprintable() and " " not in text:
        return False
    return any(one.isspace() or unicodedata.category(one) in _UNSEEN for one in text)
