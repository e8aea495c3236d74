"""Finds the grades of unjudged documents that make a ratio of gains, such as nDCG, the greatest.

The ratio is (D + sum of gain times d_u) / I, where d_u is what one unit of gain of the unjudged
document u adds, and I, the DCG of the ideal ranking, depends only on how many documents have each
gain. Of all completions with the same numbers of documents, the greatest ratio has the higher gains
where d_u is greater. So a completion is given by s_1 <= s_2 <= ...: the numbers of unjudged
documents with at least each gain, the greatest gain first. Then the numerator less t I is a sum of
terms that depend on at most one s each, and a pass over s for each gain finds its maximum. t is the
ratio of the round before, until it no longer rises (Dinkelbach, Management Science 1967).
"""

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, ratio


def find_rungs(*gains: Floats) -> Floats:
    """Return the distinct gains above 0, ascending, (n_rungs,): the steps of an ideal ranking."""
    rung = np.unique(np.concatenate(gains))
    return rung[rung > 0]


def sum_prefixes(terms: Floats) -> Floats:
    """Return the sums of the first 0, 1, ..., n terms: (n + 1,)."""
    return np.concatenate((np.zeros(1), np.cumsum(terms)))


def find_highest_ratio(
    level_gain: Floats,
    rung: Floats,
    n_judged: Ints,
    judged_gain: Floats,
    unit_gain: Floats,
    n_rows: Ints,
    n_documents: Ints,
    ideal_unit_gain: Floats,
) -> tuple[Floats, list[Ints]]:
    """Return the highest ratio of each query, (n_queries,), and the completions of each round.

    The completions of a round are s (n_levels - 1, queries): how many unjudged rows have at least
    the gain of a level. In the first round, of all queries, all rows have the highest gain; a later
    round has the queries whose ratio rose in the round before.

    `level_gain` (n_levels,) is what an unjudged document may gain, most first; `rung` (n_rungs,)
    what any document may gain, above 0, ascending; `n_judged` (n_queries, n_rungs) how many judged
    documents gain at least as much; `judged_gain` (n_queries,) what these add. `unit_gain`
    (n_queries, max_rows + 1) is what 0, 1, ... unjudged rows add at a gain of 1, the greatest
    first; a query has the first `n_rows` (n_queries,). `n_documents`, which has the shape of
    `unit_gain` or one row for all queries, is the number of documents in the first 0, 1, ... rows.
    `ideal_unit_gain` is what 0, 1, ... documents of gain 1 add to an ideal ranking.
    """
    n_queries, max_rows = len(n_rows), unit_gain.shape[1] - 1
    query_index, n_taken = np.arange(n_queries), np.arange(max_rows + 1)
    is_beyond = n_taken > n_rows[:, None]
    level_step, rung_rise = -np.diff(level_gain), np.diff(rung, prepend=0.0)
    # The lowest level at which an unjudged document gains as much as a rung; -1: no level does.
    rung_level = np.searchsorted(-level_gain, -rung, side="right") - 1
    ideal_dcg = np.zeros((len(level_gain), n_queries, max_rows + 1))
    base_dcg = np.zeros(n_queries)
    for rise, level, count in zip(rung_rise.tolist(), rung_level.tolist(), n_judged.T, strict=True):
        if level < 0:
            base_dcg += rise * ideal_unit_gain[np.minimum(count, len(ideal_unit_gain) - 1)]
        else:
            ideal_dcg[level] += (
                rise
                * ideal_unit_gain[
                    np.minimum(count[:, None] + n_documents, len(ideal_unit_gain) - 1)
                ]
            )
    base_dcg += ideal_dcg[-1, query_index, n_rows]  # all rows have the lowest level's gain
    base_gain = judged_gain + level_gain[-1] * unit_gain[query_index, n_rows]
    highest = np.full(n_queries, -np.inf)
    rounds = [np.repeat(n_rows[None], len(level_step), axis=0)]
    rising_query = query_index  # the queries whose ratio rose in the last round
    while True:
        numerator, denominator = base_gain[rising_query], base_dcg[rising_query]
        for level, count in enumerate(rounds[-1]):
            numerator = numerator + level_step[level] * unit_gain[rising_query, count]
            denominator = denominator + ideal_dcg[level, rising_query, count]
        t = ratio(numerator, denominator)
        is_higher = t > highest[rising_query]
        rising_query = rising_query[is_higher]
        highest[rising_query] = t[is_higher]
        if not len(rising_query) or not len(level_step):
            return highest, rounds
        total, choices = np.zeros((len(rising_query), max_rows + 1)), []
        for level, step in enumerate(level_step.tolist()):
            total = (
                total
                + step * unit_gain[rising_query]
                - highest[rising_query, None] * ideal_dcg[level, rising_query]
            )
            total[is_beyond[rising_query]] = -np.inf
            best_total = np.maximum.accumulate(total, axis=1)
            choices.append(np.maximum.accumulate(np.where(total == best_total, n_taken, 0), axis=1))
            total = best_total
        limit = n_rows[rising_query]
        n_at_least = np.empty((len(level_step), len(rising_query)), np.int64)
        for level in range(len(level_step) - 1, -1, -1):
            limit = n_at_least[level] = choices[level][np.arange(len(rising_query)), limit]
        rounds.append(n_at_least)
