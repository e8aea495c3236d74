"""Ranked: sums from left to right, many cutoffs at once, one 0/0 rule."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from cranfield.arrays.elementary import log2
from cranfield.arrays.ranked import Ranked, geometric_mean, mean, ratio


def left_to_right(values: list[float]) -> float:
    total = 0.0
    for number in values:
        total += number
    return total


def ranked(lengths: list[int], gaps: bool = True, seed: int = 0) -> Ranked:
    """Make rankings with `lengths` rows each, at ranks with gaps between them."""
    chance = np.random.default_rng(seed)
    query = np.repeat(np.arange(len(lengths)), lengths)
    steps = chance.integers(1, 4 if gaps else 2, len(query))
    rank = np.concatenate(
        [np.cumsum(steps[query == q]) for q in range(len(lengths))] or [np.zeros(0, int)]
    ).astype(np.int64)
    return Ranked(len(lengths), query, rank, chance.integers(-2, 4, len(query)))


@pytest.fixture(params=[[3, 0, 1, 7, 64, 0, 65, 200, 2, 0], [0, 0], [40], [0]], ids=str)
def rankings(request: pytest.FixtureRequest) -> Ranked:
    return ranked(request.param)


def test_bincount_adds_from_left_to_right() -> None:
    """That is behaviour of numpy, not a promise; every total rests on it."""
    chance = np.random.default_rng(1)
    query = np.repeat(np.arange(300), 1000)
    numbers = chance.normal(size=len(query)) * 10.0 ** chance.integers(-8, 8, len(query))
    sums = np.bincount(query, numbers)
    for q in range(300):
        assert sums[q] == left_to_right(numbers[query == q].tolist())


def test_numpys_own_sum_does_not() -> None:
    """If it did, there would be no need for the rule above."""
    matrix = np.random.default_rng(2).random((500, 1000))
    differ = sum(matrix[i].sum() != left_to_right(matrix[i].tolist()) for i in range(500))
    assert differ > 250


def test_mean_adds_from_left_to_right() -> None:
    numbers = np.random.default_rng(3).random(6980)
    assert mean(numbers) == left_to_right(numbers.tolist()) / 6980


def test_geometric_mean_has_a_floor() -> None:
    logs = (math.log(0.5) + math.log(1e-5)) / 2
    assert geometric_mean(np.array([0.5, 0.0])) == math.exp(logs)


def test_log2_is_the_c_librarys() -> None:
    """Numpy's own differs at 1621 and 3241 on CPUs with AVX-512, which no stored file reaches."""
    ranks = np.array([1, 2, 3, 1620, 1621, 3240, 3241, 65535, 65536, 10**9])
    assert log2(ranks).tolist() == [math.log2(rank) for rank in ranks.tolist()]
    assert log2(ranks[:8]).tolist() == [math.log2(rank) for rank in ranks[:8].tolist()]
    assert log2(np.arange(1, 5000)).tolist() == [math.log2(i) for i in range(1, 5000)]


def test_ratio_decides_zero_by_zero() -> None:
    ratios = ratio(np.array([[1], [0], [0]]), np.array([[2], [4], [0]]))
    assert ratios.tolist() == [[0.5], [0.0], [0.0]]


def test_totals_and_running_sums_add_from_left_to_right(rankings: Ranked) -> None:
    numbers = np.random.default_rng(5).normal(size=len(rankings.query))
    running = rankings.running(numbers)
    for q in range(rankings.n_queries):
        query_numbers = numbers[rankings.query == q].tolist()
        assert rankings.total(numbers)[q, 0] == left_to_right(query_numbers)
        sums = [left_to_right(query_numbers[: i + 1]) for i in range(len(query_numbers))]
        assert running[rankings.query == q].tolist() == sums


def test_whole_numbers_run_exactly(rankings: Ranked) -> None:
    for numbers in (rankings.grade, rankings.grade >= 1):
        running = rankings.running(numbers)
        for q in range(rankings.n_queries):
            query_numbers = numbers[rankings.query == q].tolist()
            sums = [sum(query_numbers[: i + 1]) for i in range(len(query_numbers))]
            assert running[rankings.query == q].tolist() == sums


def test_ordinals_count_within_the_query(rankings: Ranked) -> None:
    for q in range(rankings.n_queries):
        ordinals = rankings.ordinal[rankings.query == q].tolist()
        assert ordinals == list(range(1, len(ordinals) + 1))


CUTOFFS = [1, 2, 3, 5, 10, 30, 100, 10**15]


def test_many_cutoffs_at_once_are_each_alone_to_the_bit(rankings: Ranked) -> None:
    numbers = np.random.default_rng(6).random(len(rankings.query))
    together = rankings.relevant().top(np.array([CUTOFFS]))
    numbers = numbers[rankings.grade >= 1]
    for column, cutoff in enumerate(CUTOFFS):
        alone = rankings.relevant().top(np.array([[cutoff]]))
        rows_above = numbers[rankings.relevant().rank <= cutoff]
        assert np.array_equal(together.total(numbers)[:, column], alone.total(rows_above)[:, 0])
        assert np.array_equal(together.count()[:, column], alone.count()[:, 0])
        assert np.array_equal(together.first(numbers)[:, column], alone.first(rows_above)[:, 0])
        assert np.array_equal(together.maximum(numbers)[:, column], alone.maximum(rows_above)[:, 0])


def test_what_stands_below_and_what_remains(rankings: Ranked) -> None:
    numbers = np.random.default_rng(7).random(len(rankings.query))
    below, remaining = rankings.below(numbers).tolist(), rankings.remaining(numbers).tolist()
    for begin, end in pairwise(rankings.starts.tolist()):
        query_numbers = numbers[begin:end].tolist()
        assert below[begin:end] == [*query_numbers[1:], 0][: len(query_numbers)]
        assert remaining[begin:end] == [
            left_to_right(query_numbers[i:][::-1]) for i in range(len(query_numbers))
        ]


def test_cutoffs_of_their_own_for_each_query() -> None:
    rankings = ranked([3, 0, 5], gaps=False)
    cut_rankings = rankings.top(np.array([[2], [7], [0]]))
    assert cut_rankings.count().tolist() == [[2], [0], [0]]
    cut_twice = rankings.top(np.array([[2, 3], [7, 1], [0, 4]]))
    assert cut_twice.count().tolist() == [[2, 3], [0, 0], [0, 4]]


def test_uneven_queries_cost_no_more_memory_than_rows() -> None:
    """One query of 100,000 rows beside 20,000 short ones: no matrix of both sizes."""
    rankings = ranked([100_000, *([2] * 20_000)])
    numbers = np.ones(len(rankings.query)) / 3
    assert rankings.running(numbers)[99_999] == left_to_right([1 / 3] * 100_000)
    assert np.all(rankings.running(numbers)[100_001::2] == 1 / 3 + 1 / 3)


COLUMNS = {
    "known": np.array([True, False, True]),
    "cost": np.array([0.5, 1.5, 2.5]),
    "tie_first": np.array([1, 1, 3]),
    "tie_size": np.array([2, 2, 1]),
    "stratum": np.array([0, 1, 0]),
    "probability": np.array([0.25, 0.5, 0.75]),
    "a column of tomorrow": np.array([7, 8, 9]),
}


@pytest.mark.parametrize(
    ("subset", "rows"),
    [
        (lambda ranked: ranked.where(np.array([False, True, True])), [1, 2]),
        (lambda ranked: ranked.relevant(2), [1]),
        (lambda ranked: ranked.top(np.array([[2]])), [0, 1]),
        (lambda ranked: ranked.top(np.array([[1, 2]])), [0, 1, 2]),
        (lambda ranked: ranked.reordered(ranked.grade), [1, 0, 2]),
    ],
    ids=["where", "relevant", "top", "several cutoffs", "reordered"],
)
def test_every_column_goes_along(subset: Callable[[Ranked], Ranked], rows: list[int]) -> None:
    ranked = Ranked(
        1, np.zeros(3, np.int64), np.array([1, 2, 3]), np.array([1, 3, 0]), columns=COLUMNS
    )
    columns = subset(ranked).columns
    assert {name: column.tolist() for name, column in columns.items()} == {
        name: column[rows].tolist() for name, column in COLUMNS.items()
    }


def test_reordered_ranks_again_within_each_query() -> None:
    rankings = Ranked(2, np.array([0, 0, 1]), np.array([4, 9, 2]), np.array([1, 3, 2]))
    reordered_rankings = rankings.reordered(np.array([0.5, 2.0, 1.0]))
    assert reordered_rankings.grade.tolist() == [3, 1, 2]
    assert reordered_rankings.rank.tolist() == [1, 2, 1]
