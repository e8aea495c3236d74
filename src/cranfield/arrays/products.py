"""Matrix products in one thread, and work in blocks that fit into memory.

A library for linear algebra splits a large product among its own threads, which wait busily for
each other. Where another program uses one of the cores, that takes many times as long. A small
product stays in the calling thread (OpenBLAS: up to 4 * 65,536 multiplications), and many small
products take no longer than a large one.
"""

from collections.abc import Iterator

import numpy as np

from cranfield.arrays.ranked import Floats

MAX_MULTIPLICATIONS = 4 * 65_536  # multiplications of one product
_MIN_ROWS, _MAX_COLUMNS = 8, 256  # of one product; at least so many rows, at most so many columns
BLOCK_CELLS = 1_000_000  # numbers of a block: 8 MB


def block_slices(n: int, cells_per_row: int, n_blocks: int = 1) -> Iterator[slice]:
    """Yield 0 to n in slices: each number takes `each` cells, a slice up to `times` CELLS.

    >>> list(blocks(5, 400_000))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, n_blocks * BLOCK_CELLS // max(1, cells_per_row))
    for begin in range(0, n, step):
        yield slice(begin, min(begin + step, n))


def matrix_product(left_factor: Floats, right_factor: Floats) -> Floats:
    """Return left @ right, computed in the calling thread.

    `left` is (..., n_rows, n), `right` (..., n, n_columns); the result (..., n_rows, n_columns).

    >>> import numpy as np
    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    *stack, n, inner = left_factor.shape
    columns = right_factor.shape[-1]
    found: Floats = np.zeros((*stack, n, columns))
    wide = max(1, min(columns, _MAX_COLUMNS))
    deep = max(1, min(inner, MAX_MULTIPLICATIONS // (wide * _MIN_ROWS)))
    high = MAX_MULTIPLICATIONS // (wide * deep)
    for column in range(0, columns, wide):
        these = slice(column, column + wide)
        for begin in range(0, inner, deep):
            part = right_factor[..., begin : begin + deep, these]
            for row in range(0, n, high):
                rows = slice(row, row + high)
                found[..., rows, these] += left_factor[..., rows, begin : begin + deep] @ part
    return found
