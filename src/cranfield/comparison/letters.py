"""Compact letter display: which of many systems do not differ significantly.

Two systems share a letter if and only if they were not found to differ (Piepho, Journal of
Computational and Graphical Statistics, 2004). A letter is a set of systems of which no two differ;
the sets are grown one after the other, each around a pair that has no letter in common yet, as by
Gramm, Guo, Hueffner & Niedermeier, Algorithms for compact letter displays, Computational Statistics
& Data Analysis, 2007. Piepho's own algorithm finds all maximal sets first, and there may be 3^(n/3)
of them; here there is at most one for each pair, and one for each system that is like no other.
"""

from collections.abc import Iterable
from itertools import chain, count, product
from string import ascii_lowercase


def assign_letters(n_systems: int, differing_pairs: Iterable[tuple[int, int]]) -> list[str]:
    """Return the letters of each of `n_systems` systems; the first systems have `a`.

    Systems are numbered from 0 in the order in which they are shown, the best first; the two
    systems of each of `differing_pairs` were found to differ. After `z` come `aa`, `ab` and so on,
    and a system's letters are then set apart by commas.

    >>> assign_letters(4, [(0, 2), (0, 3), (1, 3)])
    ['a', 'ab', 'bc', 'c']
    """
    # A set of systems is an integer with one bit per system.
    alike_sets = [(1 << n_systems) - 1 ^ 1 << i for i in range(n_systems)]
    for i, j in differing_pairs:
        alike_sets[i] &= ~(1 << j)
        alike_sets[j] &= ~(1 << i)
    groups = _drop_redundant(_grow_groups(alike_sets), n_systems)
    letter_names = chain.from_iterable(product(ascii_lowercase, repeat=n) for n in count(1))
    lettered_groups = [
        ("".join(word), group) for group, word in zip(groups, letter_names, strict=False)
    ]
    separator = "," if len(groups) > 26 else ""
    return [
        separator.join(name for name, group in lettered_groups if group >> i & 1)
        for i in range(n_systems)
    ]


def _grow_groups(alike_sets: list[int]) -> list[int]:
    """Return sets of alike systems that together hold every pair of alike systems."""
    groups = []
    # Of each system: the alike systems with which it shares no letter.
    uncovered_sets = list(alike_sets)
    for i, alike_systems in enumerate(alike_sets):
        if not alike_systems:
            groups.append(1 << i)
        while uncovered_sets[i]:
            group, candidates = 1 << i, alike_sets[i]
            # The farthest: systems between are often alike, too.
            next_system = uncovered_sets[i].bit_length() - 1
            while True:
                group |= 1 << next_system
                candidates &= alike_sets[next_system]
                if not candidates:
                    break
                next_system = max(
                    _list_members(candidates), key=lambda k: (uncovered_sets[k] & group).bit_count()
                )
            groups.append(group)
            for member in _list_members(group):
                uncovered_sets[member] &= ~group
    return groups


def _drop_redundant(groups: list[int], n_systems: int) -> list[int]:
    """Return the sets, sorted, without each set whose pairs are all in other sets."""
    n_shared = [[0] * n_systems for _ in range(n_systems)]
    for group in groups:
        for i, j in product(_list_members(group), repeat=2):
            n_shared[i][j] += 1
    needed_groups = []
    for group in groups:
        pairs = list(product(_list_members(group), repeat=2))
        if all(n_shared[i][j] > 1 for i, j in pairs):
            for i, j in pairs:
                n_shared[i][j] -= 1
        else:
            needed_groups.append(group)
    return sorted(needed_groups, key=_list_members)


def _list_members(group: int) -> list[int]:
    return [i for i in range(group.bit_length()) if group >> i & 1]
