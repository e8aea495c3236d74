"""Notes on a run: faults of its ids or scores that make numbers misleading, found as it is read."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import chain, islice, pairwise
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.data.qrels import Qrels
from cranfield.data.sketch import QuerySketch
from cranfield.errors import escape_unprintable
from cranfield.formats.block import Block, Duplicates, FaultyRows, Role, Rows
from cranfield.formats.objects import DocsOfQuery
from cranfield.notes import Note, Severity
from cranfield.progress import hide_progress
from cranfield.render.numbers import format_count, format_query_count

if TYPE_CHECKING:
    from cranfield.data.run import Run

_MIN_SELF_RETRIEVALS = 5  # queries
_MIN_RANKED_DOCS = 3  # the fewest documents whose scores 1, 2, 3 are taken for ranks


def count_rank_gaps(block: Block) -> int:
    """Return how many queries of a block, which it has whole, have a rank beyond their last row.

    0 where rows were left out. Ranks begin at 0 or 1.
    """
    starts = block.query.find_changes()
    if block.rank is None or not len(starts) or block.left_out.count:
        return 0
    first, last = (edge.reduceat(block.rank, starts) for edge in (np.minimum, np.maximum))
    return int(np.count_nonzero(last - np.minimum(first, 1) >= np.diff([*starts, len(block)])))


def are_ranks(scores: Floats) -> bool:
    """Tell whether the scores of a query are 1, 2, 3, ... or 0, 1, 2, ..., in any order."""
    first, n = float(scores.min()), len(scores)
    return first in (0.0, 1.0) and bool((np.sort(scores) == np.arange(first, first + n)).all())


@dataclass
class ScoreOrder:
    """Counts of queries whose scores contradict the ranks, or look like ranks or distances."""

    n_multi_doc: int = 0  # queries of several documents
    n_like_ranks: int = 0  # of these: whose scores are 1, 2, 3, ..., in any order
    n_falling: int = 0  # of these: whose scores fall from row to row, as n - rank does
    n_long: int = 0  # queries of three documents or more
    n_rising: int = 0  # of these: whose scores rise, and never fall from row to row
    n_ranked: int = 0  # in how many blocks the rank column distinguishes documents
    n_contradicting: int = 0  # queries whose ranks contradict their scores
    first_row: int | None = None  # the first row where they do

    @classmethod
    def of_rows(cls, starts: Ints, scores: Floats, rank: Ints | None) -> "ScoreOrder":
        """Return the counts for rows of whole queries; `starts` is (n_queries + 1,)."""
        counts, bounds = np.diff(starts), pairwise(starts.tolist())
        group = np.repeat(np.arange(len(counts)), counts)
        is_pair, lower_group, n = group[1:] == group[:-1], group[1:], len(counts)
        rises = np.bincount(lower_group[is_pair & (scores[1:] > scores[:-1])], minlength=n) > 0
        falls = np.bincount(lower_group[is_pair & (scores[1:] < scores[:-1])], minlength=n) > 0
        is_long = counts >= _MIN_RANKED_DOCS
        look = cls(
            int(np.count_nonzero(counts > 1)),
            sum(end - begin > 1 and are_ranks(scores[begin:end]) for begin, end in bounds),
            int(np.count_nonzero(falls & ~rises)),
            int(np.count_nonzero(is_long)),
            int(np.count_nonzero(is_long & rises & ~falls)),
        )
        if rank is not None:
            look.n_ranked = int((is_pair & (rank[1:] != rank[:-1])).any())
            order = np.lexsort((rank, group))
            upper, lower = order[:-1], order[1:]  # neighbours in the order of the ranks
            contradicts = (group[upper] == group[lower]) & (rank[upper] < rank[lower])
            rows = lower[contradicts & (scores[upper] < scores[lower])]
            look.n_contradicting = len(set(group[rows].tolist()))
            look.first_row = int(rows[0]) if len(rows) else None
        return look

    def __add__(self, addend: "ScoreOrder") -> "ScoreOrder":
        counts, addend_counts = astuple(self)[:-1], astuple(addend)[:-1]
        return ScoreOrder(*map(add, counts, addend_counts))

    def notes(
        self, rows: Rows, *, is_whole_run: bool = True, severity: Severity = "warning"
    ) -> Iterator[Note]:
        """Yield notes on ranks that contradict scores, and on scores that seem ranks or distances.

        `rows` are the rows of the run. `is_whole_run`: whether all of the run was read, not only
        its beginning. `severity`: of the notes on scores that seem ranks or distances. Scores that
        are ranks in few queries, or in lists of two documents or less, tell nothing.
        """
        extent = "" if is_whole_run else " at the beginning of the run"
        if self.n_contradicting:
            text = f"{extent}, the rank column contradicts the scores: by default scores decide; "
            text += "order='rank' (--order rank) takes the rank column"
            n, n_queries = self.n_contradicting, self.n_multi_doc
            yield _query_share_note("ranks", "warning", n, n_queries, text)
        elif not self.n_ranked and self.are_mostly_ranks:
            text = f"{extent} with several documents, the scores count the documents, as ranks do, "
            text += "and the highest score comes first: are they ranks? "
            text += self._remedy(rows, "rank")
            n, n_queries = self.n_like_ranks, self.n_multi_doc
            yield _query_share_note("ranks-as-scores", severity, n, n_queries, text)
        elif not self.n_ranked and self.n_rising > 1 and holds_mostly(self.n_rising, self.n_long):
            order, meaning, role = "scores rise", "distances", "distance"
            if rows.distance_column is not None:
                order, meaning, role = "distances fall", "similarities", "score"
            text = f"{extent} with three documents or more, the {order} from row to row, and what "
            text += f"comes last is ranked first: are they {meaning}? {self._remedy(rows, role)}"
            yield _query_share_note("scores-rise", severity, self.n_rising, self.n_long, text)

    @property
    def are_mostly_ranks(self) -> bool:
        """Whether the scores are 1, 2, 3, ... in most queries of several documents.

        Not if they fall from row to row in most queries: then the highest score is the best. In
        another order than that of the rows, one query of three documents may be so by chance.
        """
        may_be_chance = self.n_long < 2 and not self.n_rising
        is_best_first = holds_mostly(self.n_falling, self.n_multi_doc)
        is_frequent = holds_mostly(self.n_like_ranks, self.n_multi_doc)
        return is_frequent and not (may_be_chance or is_best_first)

    def _remedy(self, rows: Rows, role: str) -> str:
        """Return a hint how to rank the documents if their scores are numbers of another role."""
        from shlex import quote

        remedies, column_name = [], rows.distance_column or rows.name_of_role.get("score")
        if column_name is not None and column_name in rows.column_names:
            option = quote(f"{role}={escape_unprintable(column_name)}")
            remedies.append(f"columns={{{role!r}: {column_name!r}}} (--columns {option}) says so")
        if holds_mostly(self.n_rising, self.n_long):
            remedies.append("order='given' (--order given) takes the rows in their order")
        return "; ".join(remedies) or "give minus the rank as the score"


_MAX_BLOCKS = 2
_MAX_DICTS = 20  # queries of three documents or more


def _read_score_order(docs_of_query: DocsOfQuery, query_ids: Iterable[str]) -> ScoreOrder | None:
    """Read the order of a dict's scores; None if its first queries show that nothing is odd.

    Only queries with judgments are read: the scores of other queries were never checked.
    """
    rankings = [docs.values() for docs in map(docs_of_query.get, query_ids) if docs]
    n_odd = n_first = 0
    for doc_scores in islice(
        (doc_scores for doc_scores in rankings if len(doc_scores) > 2), _MAX_DICTS
    ):
        n_first, n_docs = n_first + 1, len(doc_scores)
        first, last = float(next(iter(doc_scores))), float(next(reversed(doc_scores)))
        may_be_ranks = first.is_integer() and 0 <= min(first, last) <= max(first, last) <= n_docs
        n_odd += may_be_ranks or (first < last and len(rankings) > 1)
    if 5 * n_odd < 4 * max(n_first, 1):
        return None
    column = np.array([*chain.from_iterable(rankings)], np.float64)
    return ScoreOrder.of_rows(np.cumsum([0, *map(len, rankings)]), column, None)


def list_order_notes(runs: "Iterable[Run]") -> list[Note]:
    """Return the notes of `find_order_notes` on several runs, for results that do not have them."""
    return [
        note.add_source(run.name)
        for run in runs
        for note in (
            *(run.rows.notes if run.exclusions else ()),
            *(find_order_notes(None, run) if run.has_scores else ()),
        )
    ]


def find_order_notes(qrels: Qrels | None, run: "Run") -> Iterator[Note]:
    """Yield notes if the scores of a run look like ranks or distances, or contradict its ranks.

    Of a run that is no dict, the first blocks are read. Faults of the rank column itself do
    not matter: the run is ranked by its scores.
    """
    if run.docs_of_query is not None:
        with contextlib.suppress(TypeError, ValueError):  # where one query is explained, of others
            query_ids = run.docs_of_query if qrels is None else qrels.query_ids
            if dict_order := _read_score_order(run.docs_of_query, query_ids):
                yield from dict_order.notes(run.rows)
        return
    from cranfield.data.regroup import gather_queries

    roles: list[Role] = ["score", "rank"] if "rank" in run.extra_roles else ["score"]
    with hide_progress():  # it was read before
        loads = list(islice(run.skip_faults().read_columns(roles), _MAX_BLOCKS + 1))
    score_order = ScoreOrder()
    for load in loads[:_MAX_BLOCKS]:
        block = gather_queries(load())
        if block.score_or_grade is not None:
            score_order += ScoreOrder.of_rows(
                np.append(block.query.find_changes(), len(block)), block.score_or_grade, block.rank
            )
    yield from score_order.notes(run.rows, is_whole_run=len(loads) <= _MAX_BLOCKS)


def holds_mostly(n: int, n_queries: int) -> bool:
    """Tell whether a fact that holds in n queries holds in nearly all of them."""
    return n > 0 and 10 * n >= 9 * n_queries


def equal_scores_note(n: int, n_queries: int, severity: Severity = "warning") -> Note:
    """Return the note on queries with several documents whose scores are all equal."""
    text = " with several documents, all scores are equal: the ranking is that of the document ids"
    return _query_share_note("level-scores", severity, n, n_queries, text)


def _query_share_note(code: str, severity: Severity, n: int, of: int, text: str) -> Note:
    """Return a note on n of some queries: `text` begins with which they are."""
    return Note(code, severity, f"in {n:,} of {format_query_count(of)}{text}", n, count=n)


def select_list_notes(notes: Iterable[Note]) -> Iterator[Note]:
    """Yield the notes on cells of lists that became several documents, and on stated columns."""
    yield from (note for note in notes if note.code in ("list-cells", "columns"))


def self_retrieval_notes(
    sketches: Sequence[QuerySketch], n_own_ids: int, n_queries: int
) -> Iterator[Note]:
    """Yield a note if many of n queries retrieve an unjudged document of their own id.

    Not where queries and documents are both numbered, so that they do so by chance: as often as
    they retrieve the id of another query, and at any rank.
    """
    if n_own_ids < _MIN_SELF_RETRIEVALS or 10 * n_own_ids < n_queries:
        return
    query_ids = {sketch.query_id for sketch in sketches}
    n_self_hits = n_top_hits = n_other_ids = 0  # of the sketches
    for query_id, _, _, docs in sketches:
        n_other_ids += len(query_ids.intersection(docs) - {query_id})
        if query_id in docs:
            n_self_hits += 1
            n_top_hits += 8 * docs.index(query_id) <= len(docs)
    is_rare = 5 * n_other_ids <= n_self_hits * (len(query_ids) - 1)
    is_seen = 2 * n_self_hits * n_queries >= n_own_ids * len(query_ids)  # in the sketches
    if is_seen and (is_rare or 4 * n_top_hits >= 3 * n_self_hits):
        text = (
            f"{n_own_ids:,} of {format_query_count(n_queries)} retrieve the document of their own "
            "id, which is not judged for them: if the queries are documents themselves, "
            "identical_ids='drop' (--identical-ids drop) leaves these out before ranking"
        )
        yield Note("self-retrieval", "warning", text, n_own_ids, count=n_own_ids)


def distance_note(column: str) -> Note:
    """Return the note that a run is ranked by the distances in a column."""
    text = f"Ranked by distance, the lowest first (column {column!r:.60})."
    return Note("distance", "info", text)


def duplicates_note(side: str, repeats: FaultyRows, duplicates: Duplicates) -> Note:
    """Return the note on rows of a side that repeat a document, and on the rule for them."""
    action = {
        "first": "the first of each is kept",
        "best": "the best of each is kept",
        "once": "each has its rank, and the best one counts",
        "each": "each counts at its rank, and values may be above 1",
        "joined": "each counts at its rank, and once more among the relevant",
    }
    example = str(repeats.first_error()).split("\n")[0]
    n_rows = format_count(repeats.count, "row")
    text = (
        f"Documents occur more than once in {side}, in {n_rows} too many: "
        f"{action[duplicates]} (duplicates={duplicates!r}); the first: {example}"
    )
    return Note("duplicates", "info", text, count=repeats.count)
