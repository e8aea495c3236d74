"""Scan: counts what may be wrong in a run's rows, which are read once from end to end."""

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from cranfield.arrays.ids import decode
from cranfield.arrays.ranked import Floats
from cranfield.arrays.threads import map_in_threads
from cranfield.data.judging import Judging
from cranfield.data.order import GroupedBlock, rank_documents
from cranfield.data.regroup import regroup_queries
from cranfield.data.run import Run
from cranfield.data.run_notes import ScoreOrder
from cranfield.formats.block import Block, FaultyRows, Load

_MAX_ODD_IDS = 10_000
_INVISIBLE = {"Cc", "Cf", "Co", "Cn", "Cs", "Zs", "Zl", "Zp"}  # kinds of characters, as Unicode has
_COUNTS = (
    *("n_rows", "n_split_queries", "left_out", "n_tied", "n_tied_at_top", "n_all_tied"),
    *("score_order", "n_infinite"),
)
# Returns the number of a line, the text of its row, and the query.
LocateRow = Callable[[], tuple[int | None, str | None, str]]


@dataclass
class Scan:
    """What may be wrong in a run's rows, or in some of them: counts, and where to see it."""

    n_rows: int = 0
    queries: dict[bytes, None] = field(default_factory=dict)
    n_split_queries: int = 0  # queries whose rows are not together
    left_out: FaultyRows = field(default_factory=FaultyRows)
    n_tied: int = 0  # rows whose score another row of the query has
    n_tied_at_top: int = 0  # queries with tied rows in the first k ranks, or across them
    locate_tie: LocateRow | None = None
    n_all_tied: int = 0  # queries of several documents, all of the same score
    score_order: ScoreOrder = field(default_factory=ScoreOrder)
    n_infinite: int = 0
    locate_contradiction: LocateRow | None = None
    odd_ids: dict[str, None] = field(default_factory=dict)  # some of them, if there are many

    def add(self, other: "Scan") -> None:
        """Add the counts of more rows."""
        self.n_split_queries += len(self.queries.keys() & other.queries.keys())
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.queries |= other.queries
        self.locate_tie = self.locate_tie or other.locate_tie
        self.locate_contradiction = self.locate_contradiction or other.locate_contradiction
        if len(self.odd_ids) < _MAX_ODD_IDS:
            self.odd_ids |= other.odd_ids


def scan_run(run: Run, k: int) -> Scan:
    """Return the scan of a run's rows; ties in the first `k` ranks are counted, too."""
    scan = _scan_blocks(run, run.read_columns(sorted(run.extra_roles)), k)
    scan.left_out += run.left_out
    if not scan.n_split_queries:
        return scan
    regrouped_blocks = regroup_queries(run.read_columns(sorted(run.extra_roles)))
    whole_scan = _scan_blocks(run, regrouped_blocks, k)
    whole_scan.n_split_queries = scan.n_split_queries
    return whole_scan


def _scan_blocks(run: Run, loads: Iterable[Load], k: int) -> Scan:
    """Return the scan of a run's blocks."""
    scan = Scan()
    for block_scan in map_in_threads(partial(_scan_block, run, k=k), loads):
        scan.add(block_scan)
    return scan


def _scan_block(run: Run, load: Load, k: int) -> Scan:
    """Return the scan of one block of a run."""
    grouped_block = run.group_block(load(), Judging(duplicates="first"))
    block = grouped_block.block
    scan = Scan(n_rows=len(block), queries=dict.fromkeys(grouped_block.queries.to_list()))
    scan.left_out = block.left_out + grouped_block.repeats
    scan.n_split_queries = len(grouped_block.queries) - len(scan.queries)
    for ids, is_odd in ((grouped_block.queries, is_odd_query), (block.doc, is_odd_id)):
        if not ids.are_visible():  # a byte of theirs is no visible ASCII character
            scan.odd_ids |= dict.fromkeys(filter(is_odd, map(decode, dict.fromkeys(ids.to_list()))))
    if block.score_or_grade is None or grouped_block.sort_score is None or len(block) == 0:
        return scan
    scan.n_infinite = int(np.count_nonzero(np.isinf(grouped_block.sort_score)))
    scan.score_order = ScoreOrder.of_rows(
        grouped_block.starts, grouped_block.sort_score, block.rank
    )
    if scan.score_order.first_row is not None:
        scan.locate_contradiction = partial(_locate_row, block, scan.score_order.first_row)
    _count_ties(scan, grouped_block, grouped_block.sort_score, k)
    return scan


def _count_ties(scan: Scan, grouped_block: GroupedBlock, scores: Floats, k: int) -> None:
    """Set the counts of ties in a scan, and where the first tie is."""
    group, placement = grouped_block.group, rank_documents(grouped_block)
    scan.n_tied, scan.n_all_tied = int(placement.n_tied_of_rank.sum()), placement.n_all_tied
    tied_rows = np.flatnonzero(placement.tie_size > 1)
    top_rows = tied_rows[placement.tie_first[tied_rows] <= k]
    scan.n_tied_at_top = len(set(group[top_rows].tolist()))
    rows = top_rows if len(top_rows) else tied_rows
    if len(rows):
        rows = rows[np.lexsort((placement.rank[rows], group[rows]))]
        upper, lower = int(rows[0]), int(rows[1])
        scan.locate_tie = partial(_locate_tie, grouped_block.block, scores, upper, lower)


def _locate_row(block: Block, row: int) -> tuple[int | None, str | None, str]:
    """Return the number of a row's line, the row's text, and its query."""
    return *block.find_line(row), decode(block.query[row])


def _locate_tie(
    block: Block, scores: Floats, upper: int, lower: int
) -> tuple[int | None, str, str]:
    """Return the number of the lower row's line in a tie, what both rows hold, and their query."""
    line, _, query = _locate_row(block, lower)
    first, second = (decode(block.doc[row]) for row in (upper, lower))
    return line, f"query {query!r}: {first!r} and {second!r} have {scores[upper]:g}", query


def is_odd_query(text: str) -> bool:
    """Tell what `is_odd_id` does of a query's id, which may be a question: words with blanks."""
    return is_odd_id(text) and any(not word or is_odd_id(word) for word in text.split(" "))


def is_odd_id(text: str) -> bool:
    """Tell whether an id holds white space, or invisible characters."""
    if text.isascii() and text.isprintable() and " " not in text:
        return False
    return any(
        character.isspace() or unicodedata.category(character) in _INVISIBLE for character in text
    )
