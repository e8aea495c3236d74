"""comparison.products: against a loop from the definition; and where a product may be used."""

import ast
from pathlib import Path

import numpy as np
import pytest

import cranfield.arrays.products as module
from cranfield.arrays.products import MAX_MULTIPLICATIONS, matrix_product
from cranfield.arrays.ranked import Floats

SOURCE = Path(module.__file__).parent.parent


class ShapeRecorder(np.ndarray):
    """An array that notes the shape of each product in which it is the left side."""

    shapes: list[tuple[int, ...]] = []  # noqa: RUF012 - of the class, cleared by the test

    def __array_ufunc__(self, ufunc, method, *inputs, **options):  # type: ignore[no-untyped-def]
        plain = [np.asarray(operand) for operand in inputs]
        if ufunc is np.matmul:
            ShapeRecorder.shapes.append((*plain[0].shape[-2:], plain[1].shape[-1]))
        return getattr(ufunc, method)(*plain, **options)


SHAPES = [
    (1, 1, 1),
    (3, 0, 2),
    (0, 4, 2),
    (2, 3, 0),
    (7, 20_011, 1),
    (500, 2_000, 2),
    (30, 3_001, 66),
    (9, 50, 1_225),
    (70_001, 5, 1),
]


@pytest.mark.parametrize(("n", "inner", "columns"), SHAPES)
def test_a_product_is_that_of_the_definition(n: int, inner: int, columns: int) -> None:
    chance = np.random.default_rng(n)
    left_factor, right_factor = chance.random((n, inner)), chance.random((inner, columns))
    product = matrix_product(left_factor, right_factor)
    assert product.shape == (n, columns)
    for i, j in ((0, 0), (n // 2, columns // 2), (n - 1, columns - 1)):
        if 0 <= i < n and 0 <= j < columns:
            slow = sum(
                factor * right_value
                for factor, right_value in zip(
                    left_factor[i].tolist(), right_factor[:, j].tolist(), strict=True
                )
            )
            assert product[i, j] == pytest.approx(slow, rel=1e-12)
    stacked_products = matrix_product(
        np.stack((left_factor, 2 * left_factor)), np.stack((right_factor, right_factor))
    )
    np.testing.assert_allclose(stacked_products, np.stack((product, 2 * product)), 1e-12)


@pytest.mark.parametrize(("n", "inner", "columns"), SHAPES)
def test_none_is_dealt_out_to_threads(n: int, inner: int, columns: int) -> None:
    ShapeRecorder.shapes.clear()
    left_factor: Floats = np.ones((n, inner)).view(ShapeRecorder)
    assert (matrix_product(left_factor, np.ones((inner, columns))) == inner).all()
    n_done = 0
    for rows, n_inner, n_columns in ShapeRecorder.shapes:
        assert rows * n_inner * n_columns <= MAX_MULTIPLICATIONS
        n_done += rows * n_inner * n_columns
    assert n_done == n * inner * columns  # each multiplication once


def test_products_stand_nowhere_else() -> None:
    """Sums of a few weights are exempt: in needed.py, and of a query in completions.py.

    In departures.py, @ writes the cutoff of a measure. What `describe` has of vectors and shares is
    held to 1e-9, not to the bit.
    """
    places = set()
    for path in sorted([*SOURCE.glob("comparison/*.py"), *SOURCE.glob("extensions/*/*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            is_product_call = getattr(node, "attr", None) in (
                "matmul",
                "dot",
                "einsum",
                "tensordot",
            )
            if is_product_call or (
                isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
            ):
                places.add(path.name)
    assert places == {
        *("completions.py", "departures.py", "needed.py"),
        *("facts.py", "user_lists.py"),
    }
