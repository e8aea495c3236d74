"""Ranks of systems on clusters of queries: a cluster is flipped as a whole."""

import numpy as np

from cranfield import compare


def test_clusters_are_flipped_as_a_whole() -> None:
    # The sums over three clusters are a: 3, 3, 3 and b: 0, 0, 0; of 2 x 2 x 2 flips, one has b as
    # far behind a, and all have a, which is behind nothing, as far behind.
    scores = {"a": np.repeat([2.0, 1.0], 3), "b": np.zeros(6)}
    clusters = {f"q{i}": f"c{i % 3}" for i in range(6)}
    named_scores = {
        name: {f"q{i}": float(score) for i, score in enumerate(column)}
        for name, column in scores.items()
    }
    ranks = compare(named_scores, all_pairs=True, clusters=clusters)["score"].ranks
    assert ranks is not None
    assert (ranks["a"].p_best, ranks["b"].p_best) == (1.0, 1 / 2**3)
    by_query = compare(named_scores, all_pairs=True)["score"].ranks
    assert by_query is not None
    assert by_query["b"].p_best == 1 / 2**6
