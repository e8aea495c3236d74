"""Variants: a query many times over, with other grades, other orders, or one more document.

Bounds, what-ifs and judgments with other grades ask what a measure would be if grades or ranks were
different. Each variant is a query of its own in one bigger Judged, and the measure is called once
for a whole block of variants. A query has the same value alone and among others, so that these are
the values that `evaluate` returns for data that are really changed so.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, Numbers, Ranked
from cranfield.data.judge import drop_unjudged
from cranfield.data.judged import Judged, RankedLevels
from cranfield.data.preferences import Levels
from cranfield.data.qrels import Qrels
from cranfield.measures import Measure

ROWS = 1 << 16  # of hits and ideal in one block: columns of half a MB, which stay in the cache

_Source = TypeVar("_Source")

# ---- blocks of variants -----------------------------------------------------------------------


def pack_variants(
    variant_groups: Iterable[tuple[_Source, int, int]],
) -> Iterator[list[tuple[_Source, slice]]]:
    """Yield blocks of about ROWS rows: which variants of which sources are in each block.

    A group of variants is (their source, their number, the rows of each variant).

    >>> [*pack_variants([("a", 2, ROWS // 4), ("b", 3, ROWS // 2)])]
    [[('a', slice(0, 2, None)), ('b', slice(0, 1, None))], [('b', slice(1, 3, None))]]
    """
    block: list[tuple[_Source, slice]] = []
    n_free_rows = ROWS
    for source, n_variants, n_rows in variant_groups:
        begin = 0
        while begin < n_variants:
            end = min(n_variants, begin + max(1, n_free_rows // max(n_rows, 1)))
            block.append((source, slice(begin, end)))
            n_free_rows -= (end - begin) * n_rows
            begin = end
            if n_free_rows < n_rows:
                yield block
                block, n_free_rows = [], ROWS
    if block:
        yield block


def split_variants(n_variants: int, n_rows: int) -> Iterator[slice]:
    """Yield which of `n_variants` are measured together, if each has `n_rows` rows."""
    for ((_, variants),) in pack_variants([(None, n_variants, n_rows)]):
        yield variants


def measure_variants(
    measure: Measure, n_variants: int, n_rows: int, make_judged: Callable[[slice], Judged]
) -> Floats:
    """Return the value of each variant: (n_variants,). Each has `n_rows` rows of hits and ideal.

    `make_judged` returns some of the variants as one Judged.
    """
    depth = measure.parameters.get("depth")  # how many ranks are looked at, if it says so
    n_rows += depth if isinstance(depth, int) else 0
    block_values = [
        measure.values(make_judged(variants))[:, 0]
        for variants in split_variants(n_variants, n_rows + 1)
    ]
    return np.concatenate([np.zeros(0), *block_values])


# ---- other grades -----------------------------------------------------------------------------


def make_rankings(grade_matrices: Sequence[Numbers]) -> Ranked:
    """Return rankings whose documents have these grades, from rank 1 on.

    Each row of a matrix (n_rankings, n_ranks) is a ranking; the matrices may differ in length.

    >>> rankings = make_rankings([np.array([[2, 1], [0, 0]]), np.array([[3]])])
    >>> rankings.query, rankings.rank, rankings.grade
    (array([0, 0, 1, 1, 2]), array([1, 2, 1, 2, 1]), array([2, 1, 0, 0, 3]))
    """
    shapes = [matrix.shape for matrix in grade_matrices]
    lengths = np.repeat([length for _, length in shapes], [n for n, _ in shapes])
    query = np.repeat(np.arange(len(lengths)), lengths)
    rank = np.arange(1, len(query) + 1) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return Ranked(
        len(lengths), query, rank, np.concatenate([matrix.ravel() for matrix in grade_matrices])
    )


def repeat_ranking(ranked: Ranked, n_copies: int, grades: Numbers | None = None) -> Ranked:
    """Return a ranking's queries several times, with other `grades` (n_copies, rows) if given."""
    query = (np.arange(n_copies)[:, None] * ranked.n_queries + ranked.query).ravel()
    return Ranked(
        n_copies * ranked.n_queries,
        query,
        np.tile(ranked.rank, n_copies),
        np.tile(ranked.grade, n_copies) if grades is None else grades.ravel(),
        columns={name: np.tile(column, n_copies) for name, column in ranked.columns.items()},
    )


def regrade_ideal(ideal: Ranked, grades: Ints) -> Ranked:
    """Return an ideal ranking n times, of documents that have other `grades` (n, rows).

    Within a query, the grades may come in any order.
    """
    copies = repeat_ranking(ideal, len(grades), grades)
    top_grade = int(copies.grade.max(initial=0))
    grade_span = top_grade - int(copies.grade.min(initial=0)) + 1
    grade_drop = np.sort(copies.query * grade_span + top_grade - copies.grade) % grade_span
    return replace(copies, grade=top_grade - grade_drop)


# ---- other orders -----------------------------------------------------------------------------


def rerank_query(
    judged: Judged,
    qrels: Qrels,
    judgment_row: Ints,
    n_retrieved: Ints,
    *,
    judged_only: bool = False,
    cost: Floats | None = None,
    tie_first: Ints | None = None,
    tie_size: Ints | None = None,
    extra_grade: float | None = None,
    rank_index: Ints | None = None,
    ideal_cache: dict[object, Ranked] | None = None,
) -> Judged:
    """Return several rankings of one query, with its `judged` and its `qrels`, as one Judged.

    `judgment_row` (n, ranks) holds the row of each document's judgment, -1 for a document that is
    not judged and below the end of a ranking; `n_retrieved` (n, 1) is the number of documents, of
    which `judged_only` drops the unjudged. `cost` has every retrieved document, ranking after
    ranking. `tie_first` and `tie_size` (ranks,) are the places of tied documents, the same in all
    rankings, for averages over ties.

    `extra_grade` is the grade of one more judgment, which has the row len(qrels). Judgments in
    groups take none; in a sample it has the stratum and the probability 1.

    `rank_index` (ranks,), ascending, are the ranks less 1 of the columns of `judgment_row`, if
    ranks without a judged document are left out. `ideal_cache` keeps the ideal rankings, which are
    the same for as many rankings of the same query: a measure then ranks them once.
    """
    n_rankings, ideal, levels = len(judgment_row), judged.ideal, qrels.levels
    grade, sampling = qrels.grade, qrels.sampling
    if extra_grade is not None:
        grade = np.append(grade, extra_grade)
        sampling = {name: np.append(column, 1) for name, column in sampling.items()}
        ideal = _add_ideal_document(ideal, extra_grade)
        levels = _add_level(levels, len(qrels), extra_grade)
    query, place = (judgment_row >= 0).nonzero()
    row = judgment_row[query, place]
    if rank_index is not None:
        place = rank_index[place]
    columns = {name: column[row] for name, column in sampling.items()}
    if tie_first is not None and tie_size is not None:
        columns |= {"tie_first": tie_first[place], "tie_size": tie_size[place]}
    hits = Ranked(n_rankings, query, place + 1, grade[row], columns=columns)

    def make_parts() -> RankedLevels:
        rank = np.zeros(n_rankings * len(grade), np.int64)
        rank[query * len(grade) + row] = place + 1
        level_copies = levels.repeat(n_rankings, len(grade))
        return RankedLevels(n_rankings, level_copies, rank[level_copies.row], judged_only, qrels)

    if judged_only:
        hits, n_retrieved, cost = drop_unjudged(hits, n_retrieved, cost)
    ideal_cache = {} if ideal_cache is None else ideal_cache
    if (n_rankings, extra_grade) not in ideal_cache:
        ideal_cache[n_rankings, extra_grade] = repeat_ranking(ideal, n_rankings)
    return Judged(
        hits,
        ideal_cache[n_rankings, extra_grade],
        n_retrieved,
        max(judged.top_grade, extra_grade or 0),
        judged.has_groups,
        make_parts,
        cost,
        # All other equal scores keep the order of the rankings.
        ties="expected" if judged.ties == "expected" else "document",
        is_cut=judged.is_cut,
    )


def _add_ideal_document(ideal: Ranked, grade: float) -> Ranked:
    """Return one query's ideal ranking with one more document, the last of its grade."""
    position = np.count_nonzero(ideal.grade >= grade)
    return Ranked(
        1,
        np.append(ideal.query, 0),
        np.append(ideal.rank, len(ideal.rank) + 1),
        np.insert(ideal.grade, position, grade),
        columns={name: np.insert(column, position, 1) for name, column in ideal.columns.items()},
    )


def _add_level(levels: Levels, row: int, grade: float) -> Levels:
    """Return one query's plain judgments, which are a single group, with one more judgment."""
    return replace(
        levels,
        group=np.append(levels.group, 0),
        subgroup=np.append(levels.subgroup, 0),
        row=np.append(levels.row, row),
        level=np.append(levels.level, float(grade)),
    )
