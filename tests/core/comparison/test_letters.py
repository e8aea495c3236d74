"""comparison.letters: systems share a letter if and only if they do not differ."""

import string
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.comparison.letters import assign_letters

Pairs = set[tuple[int, int]]


def sets(letter_texts: list[str]) -> list[set[str]]:
    return [
        set(letter_text.split(",") if any("," in other for other in letter_texts) else letter_text)
        for letter_text in letter_texts
    ]


def explains(letter_texts: list[str], different: Pairs) -> bool:
    """Tell whether letters say of each pair whether it differs."""
    letter_sets = sets(letter_texts)
    return all(letter_sets) and all(
        bool(letter_sets[i] & letter_sets[j]) == ((i, j) not in different)
        for i, j in combinations(range(len(letter_texts)), 2)
    )


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Pairs]:
    n = draw(st.integers(1, 12))
    pairs = list(combinations(range(n), 2))
    return n, set(draw(st.lists(st.sampled_from(pairs)))) if pairs else set()


def insert_and_absorb(n: int, different: Pairs) -> list[set[int]]:
    """Return the columns of Piepho (2004): all the largest sets of systems that are alike."""
    columns = [set(range(n))]
    for i, j in sorted(different):
        shared_columns = [column for column in columns if {i, j} <= column]
        columns = [column for column in columns if column not in shared_columns]
        for half in [column - {system} for column in shared_columns for system in (i, j)]:
            if not any(half <= column for column in columns):
                columns = [column for column in columns if not column <= half] + [half]
    return columns


@given(graphs())
def test_a_letter_is_shared_if_and_only_if_systems_are_alike(graph: tuple[int, Pairs]) -> None:
    n, different = graph
    letter_texts = assign_letters(n, different)
    assert explains(letter_texts, different)
    assert letter_texts == assign_letters(n, {(j, i) for i, j in different})
    n_letters = len(set().union(*sets(letter_texts)))
    # No more than one for each pair that is alike, and one for each system like no other.
    assert n_letters <= n + n * (n - 1) // 2 - len(different)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_no_more_letters_than_insert_and_absorb(share: float) -> None:
    chance = np.random.default_rng(6)
    for _ in range(100):
        n = int(chance.integers(2, 10))
        different = {pair for pair in combinations(range(n), 2) if chance.random() < share}
        n_letters = len(set().union(*sets(assign_letters(n, different))))
        assert n_letters <= len(insert_and_absorb(n, different))


def test_means_that_lie_apart_by_more_than_a_limit() -> None:
    # Systems 0, 1, ..., 5 of which those differ that lie 3 or more apart: 012, 123, 234, 345.
    different = {(i, j) for i, j in combinations(range(6), 2) if j - i >= 3}
    assert assign_letters(6, different) == ["a", "ab", "abc", "bcd", "cd", "d"]


def test_none_and_all_differ() -> None:
    assert assign_letters(0, []) == []
    assert assign_letters(1, []) == ["a"]
    assert assign_letters(60, []) == ["a"] * 60
    names = [*string.ascii_lowercase, *("a" + c for c in string.ascii_lowercase)]
    assert assign_letters(52, combinations(range(52), 2)) == names
    assert assign_letters(703, combinations(range(703), 2))[-1] == "aaa"  # 26 + 26 * 26 are shorter


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_sixty_systems_that_differ_as_it_happens(share: float) -> None:
    chance = np.random.default_rng(60)
    different = {pair for pair in combinations(range(60), 2) if chance.random() < share}
    assert explains(assign_letters(60, different), different)


def test_what_insert_and_absorb_has_a_million_columns_for() -> None:
    # Pairs of which the two differ, and all else is alike: each way to choose one of each pair is
    # a largest set of systems that are alike, and 2^20 of them there are.
    different = {(i, i + 1) for i in range(0, 40, 2)}
    letter_texts = assign_letters(40, different)
    assert explains(letter_texts, different)
    assert len(set().union(*sets(letter_texts))) < 20
