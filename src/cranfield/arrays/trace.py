"""The recorder behind `explain`: arrays and objects that remember how they were made.

A measure that is run on them gives its value and, with it, all that the value was made of. It runs
the same code on the same numbers: what is shown cannot differ from what is computed. One step is
what is marked as a `step`: numpy's functions, a function of arrays, a method of a `Recordable`. All
other code simply runs, and is recorded by the steps that it takes.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache, wraps
from inspect import BoundArguments, signature
from types import FrameType
from typing import Any, ClassVar, Literal, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield.lazy import cached_property

# They reduce an array to decide what to do: how deep to look, whether there is any.
_DECIDING = frozenset({np.maximum, np.minimum, np.logical_or, np.logical_and})
# They write into their first argument.
_WRITING = {np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal}
# What changes the shape or the type of an array, and no value.
_SAME_VALUES = {np.hstack, np.column_stack, np.broadcast_to, np.hsplit, np.copy, np.reshape}
# Steps that no function takes.
UNKNOWN, CONSTANT, ITEM = "unknown", "constant", "item"


@dataclass(frozen=True, eq=False)
class Step:
    """How something was made: by `op` from `inputs`.

    `op` is the function itself, numpy's or ours; of what an object holds, the attribute's name.
    `space` is what the rows of an array are: those of a ranking, the groups of a query, or None:
    the query itself. `name` is what the measure calls it.
    """

    op: Any
    inputs: tuple[Any, ...] = ()
    space: Any = None
    name: str = ""


@dataclass(eq=False)
class Record:
    """What all arrays of one run of a measure share.

    `was_left`: a number of theirs became one that remembers nothing, as by float(), or was
    overwritten. `is_strict`: an array that the measure makes on its own may come of anything, as
    one by np.asarray() does; the registry's own measures make constants only, and are tested.
    `is_over`: the measure has returned, and what its arrays do from then on is no step.
    `names` is what knows the names of documents and groups, which a measure does not see.
    """

    is_strict: bool = False
    names: Any = None
    was_left: bool = False
    is_over: bool = False


class Derived(np.ndarray[Any, np.dtype[Any]]):  # NDArray is no class from numpy 2.5 on
    """An array with the step that made it. What is computed from it is derived, too."""

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
        self.step = Step(UNKNOWN)
        self.record = of.record if isinstance(of, Derived) else Record()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        result = getattr(ufunc, method)(*map(plain, inputs), **plain(options))
        if method == "reduce":
            if ufunc not in _DECIDING:  # over all queries, which no measure should add up
                self.leave()
            if ufunc not in _DECIDING or isinstance(result, np.bool_):
                return result
            return Derived.of(result, Step(UNKNOWN), Record())  # to decide by, not to compute with
        if "out" in options:
            return self._overwritten(options["out"], result)
        op = ufunc if method == "__call__" else getattr(ufunc, method)
        condition = options.get("where")
        if isinstance(condition, Derived):  # as in `ratio`
            inputs = (*inputs, condition)
        return _derived(result, op, inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        result = function(*map(plain, inputs), **plain(options))
        if function in _WRITING:
            return self._overwritten(inputs[:1], result)
        if options.get("out") is not None:
            return self._overwritten((options["out"],), result)
        return _derived(result, function, inputs)

    def __getitem__(self, key: Any) -> Any:
        found = self.values[plain(key)]
        if np.size(found) == self.size and _moves_nothing(key):
            return Derived.of(found, self.step, self.record)
        return _derived(found, ITEM, (self,))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.values[plain(key)] = plain(value)
        self._overwritten((self,), None)

    def _overwritten(self, targets: Iterable[Any], result: Any) -> Any:
        """Note that arrays were written into; return the first of them if that is the result."""
        self.leave()
        for one in targets:
            if isinstance(one, Derived):
                one.step = Step(UNKNOWN, (), one.step.space)
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
        return _derived(found, np.copy, (self,))

    def copy(self, *inputs: Any, **options: Any) -> Any:
        """Return a copy, which may be written into."""
        return _derived(self.values.copy(*inputs, **options), np.copy, (self,))


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
    if isinstance(value, Recording):
        return value.plain
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


def _derived(result: Any, op: Any, inputs: Iterable[Any]) -> Any:
    if isinstance(result, list):
        return [_derived(one, op, inputs) for one in result]
    if not isinstance(result, np.ndarray | np.generic) or isinstance(result, np.bool_):
        return result
    flat = tuple(_flat(inputs))
    arrays = [one for one in flat if isinstance(one, Derived)]
    made = Step(op, flat, space_of(flat))
    if op in _SAME_VALUES and len(arrays) == 1 and np.size(result) == arrays[0].size:
        made = arrays[0].step
    elif np.size(result) < max(one.size for one in arrays) and op != ITEM:
        made = Step(UNKNOWN)  # numpy's sum, say: over all rows of all queries
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
    return next((space for space in known if space.level == "row"), (known or [None])[0])


# ---- objects that hold arrays ---------------------------------------------------------------


class Recordable:
    """What holds arrays, and does something with them: a measure may ask for either.

    `level` is what each entry of its arrays is of: a row of the ranking (the object itself, or the
    one that it holds as `ranked`); a group of the query; None: as of the object that it came from.
    A row of a column (n_queries, ...) is that of a query, or of a group in its place.
    """

    level: ClassVar[Literal["row", "group"] | None] = None


class Recording:
    """A Recordable that records how it is used: `recorded` makes it a subclass of its class.

    `plain` is the object itself, `step` how it came about. `home` is what takes the place of the
    query: an object whose groups are looked at one by one, or None.
    """

    plain: Any
    step: Step
    record: Record
    home: Any
    level: ClassVar[Literal["row", "group"] | None]

    def once(self, name: object, compute: Callable[[], Any]) -> Any:
        """Return what is else kept: here it is computed, so that it is recorded."""
        return compute()

    def _asked(self, method: Any, bound: BoundArguments) -> Any:
        """Run a method on plain arrays, as one step."""
        given = [(one, plain(one)) for one in bound.args]
        found = method(*(bare for _, bare in given), **plain(bound.kwargs))
        for one, bare in given:
            if found is bare and isinstance(bare, np.ndarray) and not isinstance(one, Derived):
                return Derived.of(found, Step(CONSTANT, (found,)), self.record)
            if found is bare:
                return one
        for name, held in vars(self.plain).items():
            if found is held and name in vars(self):
                return vars(self)[name]
        return self._recorded(found, method, bound.args)

    def _held(self, name: str) -> Any:
        return self._recorded(getattr(self.plain, name), name, ())

    def _recorded(self, found: Any, op: Any, inputs: tuple[Any, ...]) -> Any:
        rows_of = getattr(op, "rows_of", "same")
        home = None if rows_of == "query" else self.home
        if isinstance(found, Recordable):
            return recorded(found, Step(op, inputs or (self,)), self.record, home)
        if not isinstance(found, np.ndarray):
            return found
        space = home
        if rows_of == "other":
            space = inputs[1]
        elif self.level == "row" and found.ndim == 1:
            space = vars(self).get("ranked", self)
        return Derived.of(found.copy(), Step(op, inputs, space), self.record)


def recorded(plain: Recordable, step: Step, record: Record, home: Any = None) -> Any:
    """Return an object of the same class that records how it is used."""
    kind: Any = type(plain)
    found: Any = object.__new__(_recording(kind))
    home = found if plain.level == "group" else home
    vars(found).update(plain=plain, step=step, record=record, home=home)
    for one in sorted(fields(plain), key=lambda one: one.name != "ranked"):  # type: ignore[arg-type] # a dataclass
        vars(found)[one.name] = found._held(one.name)
    return found


@cache
def _recording(cls: Any) -> type:
    """Return the subclass whose steps and properties are recorded; all else is inherited."""
    body: dict[str, Any] = {}
    for name, one in vars(cls).items():
        if isinstance(one, property | cached_property):
            body[name] = cached_property(lambda self, name=name: self._held(name))  # type: ignore[misc]
        elif hasattr(one, "rows_of"):
            body[name] = _asking(one)
    return type(cls.__name__, (Recording, cls), body)


def _asking(method: Any) -> Callable[..., Any]:
    arguments = signature(method)

    @wraps(method)
    def asked(self: Recording, *inputs: Any, **options: Any) -> Any:
        return self._asked(method, arguments.bind(self, *inputs, **options))

    return asked


# ---- what is one step -----------------------------------------------------------------------

_Given = ParamSpec("_Given")
_Function = Callable[_Given, NDArray[Any]]
_Method = TypeVar("_Method", bound=Callable[..., Any])


def step(function: "_Function[_Given]") -> "_Function[_Given]":
    """Let a function of arrays be one step of what is computed from derived ones."""

    @wraps(function)
    def either(*inputs: _Given.args, **options: _Given.kwargs) -> NDArray[Any]:
        for one in inputs:
            if isinstance(one, Derived):
                result = function(*map(plain, inputs), **options)
                return Derived.of(result, Step(either, inputs, space_of(inputs)), one.record)
        return function(*inputs, **options)

    return either


def step_of(rows_of: Literal["same", "other", "query"] = "same") -> Callable[[_Method], _Method]:
    """Let a method of a Recordable be one step: a mark, so that it costs nothing elsewhere.

    `rows_of` says what the rows of its result are of: the same as what the object holds; another
    ranking, its first argument; the query, of whose groups it makes one number.
    """

    def mark(method: _Method) -> _Method:
        method.rows_of = rows_of  # type: ignore[attr-defined]
        return method

    return mark


# ---- the words for them ---------------------------------------------------------------------


def named(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Give values the name under which `explain` shows them, where no local variable has it."""
    if isinstance(values, Derived):
        return Derived.of(values.values, replace(values.step, name=name), values.record)
    return values


@contextmanager
def naming(is_known: Callable[[str], bool]) -> Iterator[None]:
    """Name what is recorded meanwhile after the local variables that hold it.

    `average_gain = ...` is "average gain", `n_others` the "number of others"; a trailing _ is left
    out, so that there may be `gain_` beside a parameter `gain`. Truth values get no name: the
    condition itself is shown. `is_known` tells of which files the variables count. Python calls a
    function at each return of this thread alone, and afterwards the one that it called before.
    """

    def name_locals(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "return" or not is_known(code.co_filename):
            return
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        for name, value in list(frame.f_locals.items()):
            if name in given or not isinstance(value, Derived) or value.dtype == np.bool_:
                continue
            if value.step.inputs and not value.step.name:
                value.step = replace(value.step, name=_word(name))

    before: Any = sys.getprofile()
    sys.setprofile(name_locals)
    try:
        yield
    finally:
        sys.setprofile(before if callable(before) else None)
        if hasattr(before, "enable"):  # a profiler such as Python's own, which is no function
            before.enable()


def _word(variable: str) -> str:
    """Return the words for what a variable holds.

    >>> _word("n_others"), _word("average_gain"), _word("gain_")
    ('number of others', 'average gain', 'gain')
    """
    word = variable.replace("_", " ").strip()
    return f"number of {word[2:]}" if word.startswith("n ") else word
