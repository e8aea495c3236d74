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

# They reduce an array to decide what to do: how deep to look, whether there is any.
_DECIDING = frozenset({np.maximum, np.minimum, np.logical_or, np.logical_and})
# They write into their first argument.
_WRITING = frozenset({"copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal"})
# What changes the shape or the type of an array, and no value.
_SAME_VALUES = frozenset(
    {"hstack", "column_stack", "broadcast_to", "hsplit", "astype", "copy", "reshape"}
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


@dataclass(eq=False)
class Record:
    """What all arrays of one run of a measure share.

    `was_left`: a number of theirs became one that remembers nothing, as by float(), or was
    overwritten. `is_strict`: an array that the measure makes by itself may come of anything, as
    one by np.asarray() does; the registry's own measures make constants only, and are tested.
    `is_over`: the measure has returned, and what is asked of its arrays from then on is no step.
    """

    is_strict: bool = False
    was_left: bool = False
    is_over: bool = False


class Derived(NDArray[Any]):
    """An array with the step that made it. What is reckoned from it is derived, too."""

    step: Step
    record: Record

    @classmethod
    def of(cls, values: NDArray[Any], step: Step, record: Record) -> "Derived":
        """Return the values with the step that made them."""
        derived = np.asarray(values).view(cls)
        derived.step, derived.record = step, record
        return derived

    @property
    def values(self) -> NDArray[Any]:
        """The values alone."""
        return self.view(np.ndarray)

    def __array_finalize__(self, of: Any) -> None:
        self.step = Step("unknown")
        self.record = of.record if isinstance(of, Derived) else Record()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        result = getattr(ufunc, method)(*map(plain, inputs), **plain(options))
        if method == "reduce":
            if ufunc not in _DECIDING:  # over all queries, which no measure should add up
                self.leave()
            if ufunc not in _DECIDING or isinstance(result, np.bool_):
                return result
            return Derived.of(result, Step("unknown"), Record())  # to decide by, not to reckon with
        if "out" in options:
            return self._overwritten(options["out"], result)
        op = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        condition = options.get("where")
        if isinstance(condition, Derived):  # as in `ratio`
            inputs = (*inputs, condition)
        return _derived(result, op, inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        result = function(*map(plain, inputs), **plain(options))
        if function.__name__ in _WRITING:
            return self._overwritten(inputs[:1], result)
        if options.get("out") is not None:
            return self._overwritten((options["out"],), result)
        return _derived(result, function.__name__, inputs)

    def __getitem__(self, key: Any) -> Any:
        found = self.values[plain(key)]
        if np.size(found) == self.size and _moves_nothing(key):
            return Derived.of(found, self.step, self.record)
        return _derived(found, "item", (self,))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.values[plain(key)] = plain(value)
        self._overwritten((self,), None)

    def _overwritten(self, targets: Iterable[Any], result: Any) -> Any:
        """Note that arrays were written into; return the first of them if that is the result."""
        self.leave()
        for one in targets:
            if isinstance(one, Derived):
                one.step = Step("unknown", (), one.step.space)
                if isinstance(result, np.ndarray):
                    return one
        return result

    def leave(self) -> None:
        """Note that numbers leave the record."""
        self.record.was_left |= not self.record.is_over

    @property
    def flat(self) -> Any:
        """The values one by one, which remember nothing."""
        self.leave()
        return self.values.flat

    def astype(self, *inputs: Any, **options: Any) -> Any:
        """Return the values as another type; a type that cannot hold them makes others of them."""
        found = self.values.astype(*inputs, **options)
        if found.dtype.kind in "biuf" and (found != self.values).any():
            self.leave()
        return _derived(found, "astype", (self,))

    def copy(self, *inputs: Any, **options: Any) -> Any:
        """Return a copy, which may be written into."""
        return _derived(self.values.copy(*inputs, **options), "copy", (self,))


def _leaving(name: str) -> Callable[..., Any]:
    """Return numpy's method of that name, noting that it returns bare numbers, or overwrites."""

    def method(self: Derived, *inputs: Any, **options: Any) -> Any:
        self.leave()
        return getattr(self.values, name)(*map(plain, inputs), **plain(options))

    return method


for _name in (
    *("__float__", "__int__", "__index__", "__complex__", "__iter__", "item", "tolist", "tobytes"),
    *("sort", "fill", "put", "partition", "resize"),
):
    setattr(Derived, _name, _leaving(_name))


def _moves_nothing(key: Any) -> bool:
    """Tell whether a key that takes all of an array only inserts or drops axes of length 1."""
    keys = key if isinstance(key, tuple) else (key,)
    return all(
        one is None
        or one is Ellipsis
        or (isinstance(one, int | np.integer) and not isinstance(one, bool))
        or (isinstance(one, slice) and one == slice(None))
        for one in keys
    )


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
    made = Step(op, flat, space_of(flat))
    if op in _SAME_VALUES and len(arrays) == 1 and np.size(result) == arrays[0].size:
        made = arrays[0].step
    elif np.size(result) < max(one.size for one in arrays) and op != "item":
        made = Step("unknown", (), None)  # numpy's sum, say: over all rows of all queries
    return Derived.of(np.asarray(result), made, arrays[0].record)


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
                made = Step(function.__name__, inputs, space_of(inputs))
                return Derived.of(result, made, one.record)
        return function(*inputs, **options)

    return either


def named(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Say what some values are, for whoever explains the measure: its reader's word for them."""
    if isinstance(values, Derived):
        made = values.step
        renamed = Step(made.op, made.inputs, made.space, name)
        return Derived.of(values.values, renamed, values.record)
    return values
