"""highest_ratio: which grades of unjudged documents make a ratio of gains the greatest.

A value (D + sum of gain times d_u) / I is sought, where d_u is what one unit of gain of the
unjudged document u adds, and I, the DCG of the ideal ranking, depends only on how many documents
have each gain. So among all ways with the same numbers of documents, the greatest value has the
higher gains where d_u is greater, and a way is told by s_1 <= s_2 <= ...: how many unjudged
documents have at least each gain, the greatest first. Then D - t I is a sum of terms, each of one s
alone, and a pass over s for each gain finds its maximum. t is the ratio found in the round before,
until it rises no more (Dinkelbach, Management Science 1967).
"""

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, ratio


def find_rungs(*gains: Floats) -> Floats:
    """Return what any document may gain, above 0, ascending: the steps of an ideal ranking."""
    rungs = np.unique(np.concatenate(gains))
    return rungs[rungs > 0]


def sum_prefixes(terms: Floats) -> Floats:
    """Return 0, the first value, the first two added up, ...: (n + 1,)."""
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
    """Return the highest ratio of each query, (n_queries,), and the choices of each round.

    The choices, s (n_levels - 1, queries whose ratio rose), begin with all at the highest level.

    `worth` (n_levels,) is what an unjudged document may gain, most first; `rungs` (n_rungs,) what
    any document may gain, above 0, ascending; `judged` (n_queries, n_rungs) how many judged
    documents gain at least as much; `fixed` (n_queries,) what these add. `above` (n_queries,
    longest + 1) is what 0, 1, ... unjudged rows add at a gain of 1, the greatest first, of which a
    query has the first `n` (n_queries,); `documents`, of the same shape, how many documents these
    rows are. `best` is what 0, 1, ... documents of gain 1 add to an ideal ranking.
    """
    n_queries, longest = len(n_rows), unit_gain.shape[1] - 1
    every, taken = np.arange(n_queries), np.arange(longest + 1)
    beyond = taken > n_rows[:, None]
    steps, rises = -np.diff(level_gain), np.diff(rung, prepend=0.0)
    # Which level an unjudged document has to have, to gain as much as a rung; -1: none does.
    owner = np.searchsorted(-level_gain, -rung, side="right") - 1
    ideal = np.zeros((len(level_gain), n_queries, longest + 1))
    base = np.zeros(n_queries)
    for rise, level, count in zip(rises.tolist(), owner.tolist(), n_judged.T, strict=True):
        if level < 0:
            base += rise * ideal_unit_gain[np.minimum(count, len(ideal_unit_gain) - 1)]
        else:
            ideal[level] += rise * ideal_unit_gain[np.minimum(count[:, None] + n_documents, len(ideal_unit_gain) - 1)]
    base += ideal[-1, every, n_rows]  # of the lowest level, which they all have
    judged_gain = judged_gain + level_gain[-1] * unit_gain[every, n_rows]
    found = np.full(n_queries, -np.inf)
    rounds = [np.repeat(n_rows[None], len(steps), axis=0)]
    rising = every  # the queries whose ratio rose in the last round
    while True:
        gained, shared = judged_gain[rising], base[rising]
        for level, count in enumerate(rounds[-1]):
            gained = gained + steps[level] * unit_gain[rising, count]
            shared = shared + ideal[level, rising, count]
        t = ratio(gained, shared)
        higher = t > found[rising]
        rising = rising[higher]
        found[rising] = t[higher]
        if not len(rising) or not len(steps):
            return found, rounds
        total, choices = np.zeros((len(rising), longest + 1)), []
        for level, step in enumerate(steps.tolist()):
            total = total + step * unit_gain[rising] - found[rising, None] * ideal[level, rising]
            total[beyond[rising]] = -np.inf
            greatest = np.maximum.accumulate(total, axis=1)
            choices.append(np.maximum.accumulate(np.where(total == greatest, taken, 0), axis=1))
            total = greatest
        last, chosen = n_rows[rising], np.empty((len(steps), len(rising)), np.int64)
        for level in range(len(steps) - 1, -1, -1):
            last = chosen[level] = choices[level][np.arange(len(rising)), last]
        rounds.append(chosen)
