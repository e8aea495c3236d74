"""SystemPairs: which systems a comparison compares with which, as columns of their scores."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from cranfield.arrays.ranked import Ints


class SystemPairs(NamedTuple):
    """Pairs of systems: the difference of a pair is the score of the left minus the right one.

    >>> [column.tolist() for column in SystemPairs.choose(3)]
    [[0, 0, 1], [1, 2, 2]]
    >>> [column.tolist() for column in SystemPairs.choose(4, [1, 0])]
    [[0, 2, 3, 2, 3], [1, 1, 1, 0, 0]]
    """

    left_column: Ints  # (n_pairs,) columns of the scores
    right_column: Ints  # (n_pairs,)

    @classmethod
    def choose(cls, n_systems: int, baselines: Sequence[int] = ()) -> Self:
        """Return each pair of systems once, the system that comes first on the left.

        With baselines, each system with each of them, and each two of them once, the later left.
        """
        if not baselines:
            return cls(*np.triu_indices(n_systems, 1))
        systems = np.arange(n_systems)
        left_systems = [np.delete(systems, baselines[: i + 1]) for i in range(len(baselines))]
        n_pairs = [*map(len, left_systems)]
        return cls(np.concatenate(left_systems), np.repeat(baselines, n_pairs))
