"""Derived: an array that remembers how it was made.

A measure that is run on such arrays gives its value and, with it, all that the value was made of.
It runs the same code on the same numbers: what is shown cannot drift from what is computed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

# What changes the shape or the type of an array, and no value.
_SAME_VALUES = frozenset(
    {"hstack", "column_stack", "broadcast_to", "hsplit", "astype", "item", "copy", "reshape"}
)


@dataclass(frozen=True, eq=False)
class Step:
    """How an array was made: by `op` from `inputs`, which are arrays and numbers.

    `space` is what its rows are: a ranking, the groups of a query, or None: the query itself.
    `name` is what the measure calls it, if it says so.
    """

    op: str
    inputs: tuple[Any, ...] = ()
    space: Any = None
    name: str = ""


class Derived(NDArray[Any]):
    """An array with the step that made it. What is reckoned from it is derived, too."""

    step: Step

    @classmethod
    def of(cls, values: NDArray[Any], step: Step) -> "Derived":
        """Return the values with the step that made them."""
        derived = np.asarray(values).view(cls)
        derived.step = step
        return derived

    @property
    def values(self) -> NDArray[Any]:
        """The values alone."""
        return self.view(np.ndarray)

    def __array_finalize__(self, of: Any) -> None:
        self.step = Step("unknown")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        result = getattr(ufunc, method)(*map(plain, inputs), **plain(options))
        if method == "reduce":  # to decide what to do; a sum over queries would be wrong
            return result
        op = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        condition = options.get("where")
        if isinstance(condition, Derived):  # as in `ratio`
            inputs = (*inputs, condition)
        return _derived(result, op, inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        result = function(*map(plain, inputs), **plain(options))
        return _derived(result, function.__name__, inputs)

    def __getitem__(self, key: Any) -> Any:
        return _derived(self.values[plain(key)], "item", (self,))

    def astype(self, *inputs: Any, **options: Any) -> Any:
        """Return the values as another type."""
        return _derived(self.values.astype(*inputs, **options), "astype", (self,))


def plain(value: Any) -> Any:
    """Return a value, or what is in a list, a tuple or a dict, without how it was made."""
    if isinstance(value, Derived):
        return value.values
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


def _derived(result: Any, op: str, inputs: Iterable[Any]) -> Any:
    if isinstance(result, list):
        return [_derived(one, op, inputs) for one in result]
    if not isinstance(result, np.ndarray | np.generic) or isinstance(result, np.bool_):
        return result
    flat = tuple(_flat(inputs))
    arrays = [one for one in flat if isinstance(one, Derived)]
    if op in _SAME_VALUES and len(arrays) == 1 and np.size(result) == arrays[0].size:
        return Derived.of(np.asarray(result), arrays[0].step)
    return Derived.of(np.asarray(result), Step(op, flat, space_of(flat)))


def _flat(inputs: Iterable[Any]) -> Iterable[Any]:
    for one in inputs:
        if isinstance(one, list | tuple):
            yield from _flat(one)
        else:
            yield one


def space_of(inputs: Iterable[Any]) -> Any:
    """Return what the rows are of that come of these: of a ranking, else of groups, else None."""
    spaces = [one.step.space for one in inputs if isinstance(one, Derived)]
    known = [space for space in spaces if space is not None]
    return next((space for space in known if hasattr(space, "documents")), (known or [None])[0])


_Given = ParamSpec("_Given")
_Function = Callable[_Given, NDArray[Any]]


def step(function: "_Function[_Given]") -> "_Function[_Given]":
    """Let a function of arrays be one step of what is derived from these, under its own name."""

    @wraps(function)
    def either(*inputs: _Given.args, **options: _Given.kwargs) -> NDArray[Any]:
        for one in inputs:
            if isinstance(one, Derived):
                result = function(*map(plain, inputs), **options)
                return Derived.of(result, Step(function.__name__, inputs, space_of(inputs)))
        return function(*inputs, **options)

    return either


def named(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Say what some values are, for whoever explains the measure: its reader's word for them."""
    if isinstance(values, Derived):
        made = values.step
        return Derived.of(values.values, Step(made.op, made.inputs, made.space, name))
    return values
