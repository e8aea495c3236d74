"""Rank-biased overlap of two rankings, or of two runs."""

import math
import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Union, get_args, overload

import numpy as np

from cranfield.arrays.elementary import powers
from cranfield.arrays.ids import encode
from cranfield.arrays.ranked import Floats, Ints, mean, ratio, total
from cranfield.data.run import Run, make_run
from cranfield.errors import InputError, NothingSharedError, OptionError, check_choice
from cranfield.formats.identifiers import to_id_text
from cranfield.formats.values import to_scores
from cranfield.notes import Note, format_notes
from cranfield.options import finite_number
from cranfield.render.numbers import format_count, format_number, format_query_count
from cranfield.render.shown import Shown
from cranfield.render.table import Table

TiedRanks = Literal["w", "a", "b"]
RankingLike = Union[Sequence[Any], Mapping[Any, float]]  # noqa: UP007 - of documents, or {document: score}
_HEADER = ["RBO", "at least", "at most"]
RunSource = Union[Run, str, os.PathLike[str], Mapping[Any, Mapping[Any, float]]]  # noqa: UP007


@dataclass(frozen=True, repr=False)
class RBO(Shown):
    """Rank-biased overlap of two rankings of which the beginnings are known.

    `min` and `max` are the least and the greatest that it can be, for all that may follow; `ext` is
    what it is if the rankings go on to agree as they do so far.

    >>> rbo(["a"], ["a"], p=0.5).residual < 0.31  # min is ln 2
    True
    """

    header = ("ext", "min", "max")
    notes = ()

    ext: float
    min: float
    max: float

    @property
    def residual(self) -> float:
        """The width of the range of possible values: max - min."""
        return self.max - self.min

    def tables(self) -> list[Table]:
        """Return the three numbers as a table, four decimals each."""
        return [Table(_HEADER, [_cells(self)], [], 0)]


@dataclass(frozen=True, repr=False)
class RunRBO(Shown):
    """Rank-biased overlap of two runs, query by query.

    >>> rbo({"q1": {"a": 2.0, "b": 1.0}}, {"q1": {"b": 9.0, "a": 8.0}}, p=0.5).per_query["q1"].ext
    0.5
    """

    header = ("query_id", "ext", "min", "max")

    per_query: Mapping[str, RBO]  # of the queries that both have
    mean: RBO  # over these
    left_out: int  # queries that only one of the two has

    @property
    def notes(self) -> tuple[Note, ...]:
        """What to know beside the numbers."""
        n, n_left_out = len(self.per_query), self.left_out
        notes = [Note("queries", "info", f"{format_query_count(n)} averaged.", n)]
        if n_left_out:
            n_queries = format_count(n_left_out, "query is", "queries are")
            text = f"{n_queries} in one of the runs only: left out."
            notes.append(Note("in-one", "info", text, n_left_out))
        return tuple(notes)

    def tables(self) -> list[Table]:
        """Return a row for each query, and the means, four decimals each."""
        rules = frozenset({len(self.per_query)})
        rows = [[query, *_cells(overlap)] for query, overlap in self._rows_with_mean]
        return [Table(["query_id", *_HEADER], rows, format_notes(self.notes), ruled_rows=rules)]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each query; that of the means has the query_id "all"."""
        return [{"query_id": query, **overlap.to_dict()} for query, overlap in self._rows_with_mean]

    @property
    def _rows_with_mean(self) -> list[tuple[str, RBO]]:
        return [*self.per_query.items(), ("all", self.mean)]

    def to_dict(self) -> dict[str, Any]:
        """Return each query's numbers, the means, and the number of queries left out."""
        return {
            "per_query": {query: overlap.to_dict() for query, overlap in self.per_query.items()},
            "mean": self.mean.to_dict(),
            "left_out": self.left_out,
        }


def _cells(overlap: RBO) -> list[str]:
    return [format_number(overlap.ext), format_number(overlap.min), format_number(overlap.max)]


@overload
def rbo(a: RunSource, b: RunSource, p: float = ..., ties: TiedRanks = ...) -> RunRBO: ...
@overload
def rbo(a: RankingLike, b: RankingLike, p: float = ..., ties: TiedRanks = ...) -> RBO: ...
def rbo(a: Any, b: Any, p: float = 0.9, ties: TiedRanks = "a") -> RBO | RunRBO:
    """Return the rank-biased overlap of two rankings (Webber, Moffat & Zobel, ACM TOIS 2010).

    (1 - p) times the sum, over all depths d, of p^(d-1) times the agreement of the two rankings
    down to d. The greater p, the deeper it looks: the first 10 ranks weigh 0.86 with p = 0.9.

    A ranking is a list of documents, best first, in which a set or a list holds tied documents; or
    a dict `{document: score}`, where equal scores are ties. Of two runs (Run, path, or a dict of
    dicts), each query that both have is compared, and the mean is taken.

    Tied documents take up as many ranks as they are. `ties` says how they count (Corsi & Urbano,
    SIGIR 2024): "w", all are at the first of these ranks, and the agreement is twice the overlap
    by the number of documents that are there in both rankings; "a", each is at each rank with
    the same probability, and the overlap is the expected one; "b", as "a", but divided by how much
    each ranking agrees with itself, so that a ranking with ties, too, has 1 with itself. Without
    ties all three are the same.

    What follows a known beginning is taken to be without ties. Where one ranking is longer, `ext`
    takes each document that the shorter one lacks to be one of the other's that it has not yet met,
    as often as the two agree at the shorter one's end. Two empty rankings have ext 0.

    Args:
        a: a ranking, or a run.
        b: another ranking, or another run.
        p: how deep it looks, above 0 and below 1.
        ties: how tied documents count: "w", "a" or "b".

    Raises InputError if a document is there twice, for what is no ranking, or for runs that share
    no query; OptionError for p or ties.

    >>> rbo(["a", "b", "c"], ["b", "a", "c"], p=0.5).ext
    0.5
    >>> rbo(["a", {"b", "c"}], {"a": 3.5, "b": 1.0, "c": 1.0}, ties="b").ext
    1.0

    """
    check_choice("ties", ties, get_args(TiedRanks))
    if not 0 < (finite_number(p) or 0) < 1:
        raise OptionError(f"p={p!r:.40}: expected a number between 0 and 1, neither of which it is")
    if not (_is_run(a) or _is_run(b)):
        return _compute_rbo(
            _read_ranking("the first list", a), _read_ranking("the second list", b), p, ties
        )
    run_a, run_b = make_run(a), make_run(b)
    lists_a, lists_b = run_a.to_dict(), run_b.to_dict()  # {query: ranking}
    shared_queries = sorted(lists_a.keys() & lists_b.keys(), key=encode)
    if not shared_queries:
        raise NothingSharedError(f"the runs {run_a.name!r} and {run_b.name!r} share no query")
    per_query = {}
    for query in shared_queries:
        list_a, list_b = (_read_ranking(query, lists[query]) for lists in (lists_a, lists_b))
        per_query[query] = _compute_rbo(list_a, list_b, p, ties)
    columns = np.array(
        [(overlap.ext, overlap.min, overlap.max) for overlap in per_query.values()]
    ).T
    ext, low, high = map(mean, columns)
    return RunRBO(per_query, RBO(ext, low, high), len(lists_a.keys() ^ lists_b.keys()))


def _is_run(ranking: Any) -> bool:
    """Tell whether an argument of `rbo` is a run, not one ranking."""
    if isinstance(ranking, Mapping):
        return any(isinstance(query_ranking, Mapping | list) for query_ranking in ranking.values())
    return isinstance(ranking, Run | str | os.PathLike)


@dataclass(frozen=True, eq=False)
class _RankSpans:
    """The ranks that some documents of a ranking occupy.

    `first` and `last` (documents,) are the first and the last rank of a document's tie. `tie_share`
    (ranks of the whole ranking,) is the share of a rank's tie that is above the cut at this rank;
    empty if ties are not spread over ranks.
    """

    first: Ints
    last: Ints
    tie_share: Floats

    @classmethod
    def of(cls, first: Ints, last: Ints) -> "_RankSpans":
        """Return the ranks of all documents of a ranking, by the ends of their ties."""
        return cls(first, last, (np.arange(1, len(first) + 1) - first + 1) / (last - first + 1))

    @classmethod
    def at_first_rank(cls, first: Ints) -> "_RankSpans":
        """Return ranks where all documents of a tie are at its first rank."""
        return cls(first, first, np.zeros(0))

    def take(self, rows: Any) -> "_RankSpans":
        """Return the ranks of some of the documents, by row numbers, a mask or a slice."""
        return _RankSpans(self.first[rows], self.last[rows], self.tie_share)

    def tie_shares(self, depth: int) -> Floats:
        """Return `tie_share` of the ranks down to a depth, 1 beyond the ranking's end: (depth,)."""
        return np.append(self.tie_share, np.ones(depth))[:depth]


class _Ranking(NamedTuple):
    """The documents of a ranking, the best first, and the ranks that they occupy."""

    docs: list[str]
    ranks: _RankSpans


def _read_ranking(name: str, ranking: Any) -> _Ranking:
    """Read a list or {document: score}; InputError, with the name, if it is no such ranking."""
    if isinstance(ranking, Mapping):
        key = -to_scores(name, ranking)[0] if ranking else np.zeros(0)  # the best has the lowest
        order = key.argsort(kind="stable")
        key, unsorted_docs = key[order], [to_id_text(doc, name) for doc in ranking]
        docs = [unsorted_docs[i] for i in order.tolist()]
        first, last = key.searchsorted(key) + 1, key.searchsorted(key, "right")
    elif isinstance(ranking, Set) or not hasattr(ranking, "__iter__"):
        raise InputError(f"{name}: expected a list or a dict, got {type(ranking).__name__}")
    else:
        ties = [
            list(doc_or_tie) if isinstance(doc_or_tie, Set | list | tuple) else [doc_or_tie]
            for doc_or_tie in ranking
        ]
        tie_size = np.array(list(map(len, ties)), np.int64)
        last = np.repeat(np.cumsum(tie_size), tie_size)
        first = last - np.repeat(tie_size, tie_size) + 1
        docs = [to_id_text(doc, name) for tie in ties for doc in tie]
    if len(set(docs)) < len(docs):
        repeated_doc = next(doc for doc in docs if docs.count(doc) > 1)
        raise InputError(f"{name}: the document {repeated_doc!r} occurs twice")
    return _Ranking(docs, _RankSpans.of(first, last))


def _compute_rbo(a: _Ranking, b: _Ranking, p: float, ties: TiedRanks) -> RBO:
    """Compute the overlap of two rankings; s and l are the lengths of the shorter and longer."""
    short, long = (a, b) if len(a.docs) <= len(b.docs) else (b, a)
    s, l = len(short.docs), len(long.docs)
    if l == 0:
        return RBO(0.0, 0.0, 1.0)
    short_ranks, long_ranks = short.ranks, long.ranks
    if ties == "w":
        short_ranks = _RankSpans.at_first_rank(short_ranks.first)
        long_ranks = _RankSpans.at_first_rank(long_ranks.first)
    row_of_doc = {doc: i for i, doc in enumerate(long.docs)}
    long_row = np.array([row_of_doc.get(doc, -1) for doc in short.docs], np.int64)
    is_shared = long_row >= 0  # (s,)
    is_long_only = np.ones(l, np.bool_)
    is_long_only[long_row[is_shared]] = False
    long_only_ranks = long_ranks.take(is_long_only)

    depth = np.arange(1, l + 1)
    n_unseen = np.maximum(depth - s, 0)  # ranks beyond the end of the shorter list
    overlap = _compute_overlap(short_ranks.take(is_shared), long_ranks.take(long_row[is_shared]), l)
    norm: Floats = depth * 1.0
    if ties != "a":
        short_self = _compute_overlap(short_ranks, short_ranks, l) + n_unseen
        long_self = _compute_overlap(long_ranks, long_ranks, l)
        norm = np.sqrt(short_self * long_self) if ties == "b" else (short_self + long_self) / 2
    weight = (1 - p) * powers(p, depth - 1)
    weight_below = p**l  # the sum of the weights of all depths below

    first_of_all = _RankSpans.at_first_rank(np.ones_like(long_only_ranks.first))
    n_reached = _compute_overlap(long_only_ranks, first_of_all, l)
    first_ranks = _RankSpans.at_first_rank(long_only_ranks.first)
    mean_share = ratio(n_reached, _compute_overlap(first_ranks, first_ranks, l))
    agreement_at_end = overlap[s - 1] / norm[s - 1] if s else 0.0
    agreement = (overlap + agreement_at_end * n_unseen * mean_share) / norm
    ext = total(weight * agreement) + float(agreement[-1]) * weight_below

    # The sum of p^d / d over all depths d below.
    unseen_weight = -math.log1p(-p) - total(powers(p, depth) / depth)
    lowest = total(weight * overlap / norm)
    lowest += float(overlap[-1]) * (1 - p) / p * max(unseen_weight, 0.0)

    # At best, the shorter list goes on with the documents that only the longer list has, in their
    # order; below, each list goes on with the documents that it lacks, and all agree from the depth
    # of `union_size` on.
    slots = _RankSpans.at_first_rank(np.arange(s + 1, l + 1))
    best_overlap = overlap + _compute_overlap(slots, long_only_ranks.take(slice(l - s)), l)
    union_size = l + s - int(overlap[-1])
    deeper_depth = np.arange(l + 1, union_size + 1)
    union_terms = (1 - p) * powers(p, deeper_depth - 1) * (2 - union_size / deeper_depth)
    highest = total(np.concatenate((weight * best_overlap / norm, union_terms))) + p**union_size
    highest = min(highest, 1.0)  # up to rounding
    ext = min(ext, highest)
    return RBO(ext, min(lowest, ext), highest)


def _compute_overlap(a: _RankSpans, b: _RankSpans, depth: int) -> Floats:
    """Return the expected overlap at each depth of documents at the ranks `a` and `b`: (depth,).

    A row of `a` and of `b` is the same document. At any depth, at most one tie of each ranking is
    cut, so that counts of documents in whole and in part are enough.
    """
    begin, end = np.maximum(a.first, b.first), np.maximum(a.last, b.last)
    middle = np.maximum(np.minimum(a.last, b.last), begin)  # down to here, both ties are cut
    a_ends_later = a.last > b.last

    def count_between(begins: Ints, ends: Ints) -> Ints:
        """Return how many documents are cut at each depth, from begin to below end: (depth,)."""
        changes = np.bincount(begins, minlength=depth + 1) - np.bincount(ends, minlength=depth + 1)
        return changes.cumsum()[1 : depth + 1]

    share_a, share_b = a.tie_shares(depth), b.tie_shares(depth)
    n_full = np.bincount(end, minlength=depth + 1).cumsum()[1 : depth + 1]
    n_cut_a, n_cut_b = (
        count_between(middle[rows], end[rows]) for rows in (a_ends_later, ~a_ends_later)
    )
    n_cut = count_between(begin, middle)  # in both
    overlap: Floats = n_full + share_a * n_cut_a + share_b * n_cut_b + share_a * share_b * n_cut
    return overlap
