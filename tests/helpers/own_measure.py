"""A measure of a user's, in a module that other processes can import."""

import numpy as np

from cranfield import measure
from cranfield.arrays.ranked import Floats
from cranfield.data.judged import Judged


@measure("OwnFirst")
def own_first(judged: Judged) -> Floats:
    """Whether the first document is relevant.

    Formula: 1 if the grade at rank 1 is above 0
    Source: these tests
    """
    first = judged.hits.relevant(1).top(np.array([[1]]))
    return first.total(np.ones_like(first.rank)) * 1.0
