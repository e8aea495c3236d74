"""Matrix products in one thread, and work in blocks that fit into memory.

A library for linear algebra splits a large product among its own threads, which wait busily for
each other. Where another program uses one of the cores, that takes many times as long. A small
product stays in the calling thread (OpenBLAS: up to 4 * 65,536 multiplications), and many small
products take no longer than a large one.
"""

from collections.abc import Iterator

import numpy as np

from cranfield.arrays.ranked import Floats

MAX_MULTIPLICATIONS = 4 * 65_536  # at most, in one product
_MIN_ROWS, _MAX_COLUMNS = 8, 256  # of the left (if it has as many) and of the right factor
BLOCK_CELLS = 1_000_000  # numbers of a block, at most: 8 MB


def block_slices(n: int, cells_per_row: int, n_blocks: int = 1) -> Iterator[slice]:
    """Yield slices of 0 to n, of up to `n_blocks` times BLOCK_CELLS cells, or of a single row.

    >>> list(block_slices(5, 400_000))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, n_blocks * BLOCK_CELLS // max(1, cells_per_row))
    for begin in range(0, n, step):
        yield slice(begin, min(begin + step, n))


def matrix_product(left_factor: Floats, right_factor: Floats) -> Floats:
    """Return left_factor @ right_factor, computed in the calling thread.

    `left_factor` is (..., n_rows, n), `right_factor` (..., n, n_columns), the product
    is (..., n_rows, n_columns).

    >>> import numpy as np
    >>> matrix_product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    *stack_shape, n_rows, n_inner = left_factor.shape
    n_columns = right_factor.shape[-1]
    product: Floats = np.zeros((*stack_shape, n_rows, n_columns))
    block_columns = max(1, min(n_columns, _MAX_COLUMNS))
    block_inner = max(1, min(n_inner, MAX_MULTIPLICATIONS // (block_columns * _MIN_ROWS)))
    block_rows = MAX_MULTIPLICATIONS // (block_columns * block_inner)
    for column in range(0, n_columns, block_columns):
        column_slice = slice(column, column + block_columns)
        for begin in range(0, n_inner, block_inner):
            right_block = right_factor[..., begin : begin + block_inner, column_slice]
            for row in range(0, n_rows, block_rows):
                rows = slice(row, row + block_rows)
                product[..., rows, column_slice] += (
                    left_factor[..., rows, begin : begin + block_inner] @ right_block
                )
    return product
