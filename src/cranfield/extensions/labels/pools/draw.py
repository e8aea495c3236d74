"""Drawing by chance for `pool`, with stated probabilities: one sample, or one of each stratum."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.data.qrels import Qrels
from cranfield.options import finite_number

NOT_DRAWN = -1  # the grade of a document of the pool that is not drawn, as sample_eval has it
Strata = Mapping[int, float]  # {down to this rank: the share that is drawn}, rank by rank


def read_strata(raw_shares: Any) -> Strata:
    """Read the shares to draw by rank, {10: 1, 100: 0.1} or "10=100%,100=10%"; else ValueError.

    >>> read_strata("10=100%, 100=.1"), read_strata({50: 0.2})
    ({10: 1.0, 100: 0.1}, {50: 0.2})
    """
    expected = (
        "ranks and the share of documents to draw down to each, as in '10=100%,100=10%' or "
        "{10: 1, 100: 0.1}; ranks rise, shares are above 0 and at most 1"
    )
    try:
        share_of_rank = _parse_strata(raw_shares)
    except (AttributeError, TypeError, ValueError):
        raise ValueError(expected) from None
    ranks, shares = [*share_of_rank], [*share_of_rank.values()]
    if (
        not ranks
        or ranks[0] < 1
        or sorted({*ranks}) != ranks
        or not 0 < min(shares) <= max(shares) <= 1
    ):
        raise ValueError(expected)
    return share_of_rank


def _parse_strata(shares: Any) -> dict[int, float]:
    if isinstance(shares, Mapping):
        pairs = [(finite_number(rank), finite_number(share)) for rank, share in shares.items()]
    else:
        parts = [part.partition("=") for part in shares.split(",")]
        pairs = [(int(rank), _parse_share(share.strip())) for rank, _, share in parts]
    if any(rank is None or rank != int(rank) or share is None for rank, share in pairs):
        raise ValueError
    if len({rank for rank, _ in pairs}) < len(pairs):
        raise ValueError
    return {int(rank): float(share) for rank, share in pairs}  # type: ignore[arg-type]


def _parse_share(text: str) -> float:
    share = finite_number(float(text.removesuffix("%")))
    if share is None:
        raise ValueError
    return share / (100 if text.endswith("%") else 1)


def proportional_chances(size: Floats, n: int) -> Floats:
    """Return probabilities (rows,) proportional to sizes, at most 1, whose sum is n.

    All are 1 if there are no more than n rows.

    >>> proportional_chances(np.array([1.0, 1.0, 2.0, 16.0]), 2).tolist()
    [0.25, 0.25, 0.5, 1.0]
    """
    chance = np.ones(len(size))
    is_open, n_left = np.ones(len(size), np.bool_), min(n, len(size))
    while n_left > 0 and is_open.any():
        chance[is_open] = size[is_open] * (n_left / size[is_open].sum())
        is_certain = is_open & (chance >= 1)
        if not is_certain.any():
            break
        chance[is_certain] = 1.0
        is_open &= ~is_certain
        n_left -= int(np.count_nonzero(is_certain))
    return chance


def draw_rows(chance: Floats, generator: np.random.Generator) -> Bools:
    """Draw each row with its probability; the number drawn is the sum of these: a mask (rows,).

    With equal probabilities, every part of that size is as likely as any other. Systematic sampling
    from an order by chance (Madow, Annals of Mathematical Statistics 1949).

    >>> int(draw_rows(np.array([0.5, 0.5, 1.0]), np.random.default_rng(1)).sum())
    2
    """
    order = np.argsort(generator.random(len(chance)), kind="stable")
    cumulative_chances = np.cumsum(chance[order])
    if len(cumulative_chances):
        # Whole again, so that rounding changes no count.
        cumulative_chances *= round(float(cumulative_chances[-1])) / cumulative_chances[-1]
    n_passed = np.floor(cumulative_chances + generator.random())
    is_drawn = np.zeros(len(chance), np.bool_)
    is_drawn[order] = np.diff(n_passed, prepend=0) > 0
    return is_drawn


def draw_from_strata(
    query: Ints, rank: Ints, shares: Strata, generator: np.random.Generator
) -> tuple[Bools, Floats, Ints]:
    """Draw from each stratum of each query its share, rounded, but one document at least.

    `query` and `rank` are (documents,). Returns which documents are drawn, their probabilities, and
    the numbers of their strata, from 1 for the best ranks: (documents,) each.
    """
    stratum = np.searchsorted(list(shares), rank) + 1
    share = np.array([1.0, *shares.values()])
    is_drawn, chance = np.zeros(len(rank), np.bool_), np.ones(len(rank))
    order = np.lexsort((stratum, query))
    first_rows = np.flatnonzero(
        np.diff(query[order], prepend=-1) | np.diff(stratum[order], prepend=-1)
    )
    for rows in np.split(order, first_rows[1:]):  # the documents of one stratum of a query
        n = max(1, int(share[stratum[rows[0]]] * len(rows) + 0.5))
        chance[rows] = n / len(rows)
        is_drawn[rows] = draw_rows(chance[rows], generator)
    return is_drawn, chance, stratum


def draw_sample(
    query: Ints,
    rank: Ints,
    n: int,
    generator: np.random.Generator,
    *,
    whole_queries: bool,
    by_rank: bool,
) -> tuple[Bools, Floats]:
    """Draw n documents, or n queries with all their documents.

    Returns which documents are drawn and their probabilities, (documents,) each. With `by_rank`, a
    probability is proportional to 1 / log2(rank + 1).
    """
    if whole_queries:
        chance = proportional_chances(np.ones(int(query.max(initial=-1)) + 1), n)
        return draw_rows(chance, generator)[query], chance[query]
    chance = proportional_chances(1 / np.log2(rank + 1) if by_rank else np.ones(len(rank)), n)
    return draw_rows(chance, generator), chance


def select_drawn(qrels: Qrels) -> Qrels:
    """Return the judgments without the documents of a stratum that were not drawn."""
    if "stratum" not in qrels.columns:
        return qrels
    return qrels.select_rows(np.flatnonzero(qrels.grade != NOT_DRAWN))
