"""The recorder behind `explain`: arrays and objects that remember how they were made.

A measure that is run on them gives its value and, with it, the steps that led to the value. It runs
the same code on the same numbers: what is shown cannot differ from what is computed. A step is a
call of one of numpy's functions, of a function that is marked as a `step`, or of a method or
property of a `Recordable`. All other code simply runs, and is recorded by the steps that it takes.
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

# These reduce an array to decide what to do: how deep to look, whether a row is there.
_DECISION_UFUNCS = frozenset({np.maximum, np.minimum, np.logical_or, np.logical_and})
# These write into their first argument.
_WRITING_FUNCTIONS = {np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal}
# These change the shape or the type of an array, and no number.
_VALUE_KEEPING_FUNCTIONS = {
    np.hstack,
    np.column_stack,
    np.broadcast_to,
    np.hsplit,
    np.copy,
    np.reshape,
}
# Steps that no function takes.
UNKNOWN, CONSTANT, ITEM = "unknown", "constant", "item"


@dataclass(frozen=True, eq=False)
class Step:
    """How an array or an object was made: by `op` from `inputs`.

    `op` is the function itself, numpy's or ours, the name of an attribute that was read, or
    UNKNOWN, CONSTANT or ITEM. `row_owner` is the ranking, or the object with groups, whose rows or
    groups the rows of an array are; None: the array belongs to the query itself. `name` is the
    measure's word for the array.
    """

    op: Any
    inputs: tuple[Any, ...] = ()
    row_owner: Any = None
    name: str = ""


@dataclass(eq=False)
class Record:
    """What all arrays of one call of a measure share.

    `is_incomplete`: a number became a bare number without steps, as by float(), or was
    overwritten. `is_strict`: an array that the measure makes on its own is no constant, since it
    may be made of anything, as by np.asarray(); the registry's own measures make constants only,
    and are tested. `is_over`: the measure has returned, and what its arrays do from then on is no
    step. `names` knows the names of documents and groups, which a measure does not see.
    """

    is_strict: bool = False
    names: Any = None
    is_incomplete: bool = False
    is_over: bool = False


class TracedArray(np.ndarray[Any, np.dtype[Any]]):  # NDArray is no class from numpy 2.5 on
    """An array with the step that made it. Arrays that are computed from it are traced, too."""

    step: Step
    record: Record

    @classmethod
    def of(cls, array: NDArray[Any], step: Step, record: Record) -> "TracedArray":
        """Return an array with the step that made it."""
        traced_array = np.asarray(array).view(cls)
        traced_array.step, traced_array.record = step, record
        return traced_array

    @property
    def values(self) -> NDArray[Any]:
        """The numbers alone, as a plain array."""
        return self.view(np.ndarray)

    def __array_finalize__(self, parent: Any) -> None:
        self.step = Step(UNKNOWN)
        self.record = parent.record if isinstance(parent, TracedArray) else Record()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        numbers = getattr(ufunc, method)(*map(remove_trace, inputs), **remove_trace(options))
        if method == "reduce":
            if ufunc not in _DECISION_UFUNCS:  # over all queries, which no measure should add up
                self.mark_incomplete()
            if ufunc not in _DECISION_UFUNCS or isinstance(numbers, np.bool_):
                return numbers
            # For decisions, not for numbers.
            return TracedArray.of(numbers, Step(UNKNOWN), Record())
        if "out" in options:
            return self._note_overwriting(options["out"], numbers)
        op = ufunc if method == "__call__" else getattr(ufunc, method)
        condition = options.get("where")
        if isinstance(condition, TracedArray):  # as in `ratio`
            inputs = (*inputs, condition)
        return _trace_result(numbers, op, inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        numbers = function(*map(remove_trace, inputs), **remove_trace(options))
        if function in _WRITING_FUNCTIONS:
            return self._note_overwriting(inputs[:1], numbers)
        if options.get("out") is not None:
            return self._note_overwriting((options["out"],), numbers)
        return _trace_result(numbers, function, inputs)

    def __getitem__(self, key: Any) -> Any:
        selection = self.values[remove_trace(key)]
        if np.size(selection) == self.size and _keeps_positions(key):
            return TracedArray.of(selection, self.step, self.record)
        return _trace_result(selection, ITEM, (self,))

    def __setitem__(self, key: Any, replacement: Any) -> None:
        self.values[remove_trace(key)] = remove_trace(replacement)
        self._note_overwriting((self,), None)

    def _note_overwriting(self, targets: Iterable[Any], result: Any) -> Any:
        """Record overwriting; return the first traced target where `result` is an array."""
        self.mark_incomplete()
        for target in targets:
            if isinstance(target, TracedArray):
                target.step = Step(UNKNOWN, (), target.step.row_owner)
                if isinstance(result, np.ndarray):
                    return target
        return result

    def mark_incomplete(self) -> None:
        """Record that numbers were used without a step."""
        self.record.is_incomplete |= not self.record.is_over

    @property
    def flat(self) -> Any:
        """The numbers in a row, without steps."""
        self.mark_incomplete()
        return self.values.flat

    def astype(self, *inputs: Any, **options: Any) -> Any:
        """Return the array as another type; the record is incomplete if a real number changes."""
        new_array = self.values.astype(*inputs, **options)
        if new_array.dtype.kind in "biuf" and (new_array != self.values).any():
            self.mark_incomplete()
        return _trace_result(new_array, np.copy, (self,))

    def copy(self, *inputs: Any, **options: Any) -> Any:
        """Return a copy, which may be written into."""
        return _trace_result(self.values.copy(*inputs, **options), np.copy, (self,))


def _make_leaving_method(name: str) -> Callable[..., Any]:
    """Return numpy's method of a name, made to record that numbers are used without a step."""

    def method(self: TracedArray, *inputs: Any, **options: Any) -> Any:
        self.mark_incomplete()
        return getattr(self.values, name)(*map(remove_trace, inputs), **remove_trace(options))

    return method


for _name in (
    *("__float__", "__int__", "__index__", "__complex__", "__iter__", "item", "tolist", "tobytes"),
    *("sort", "fill", "put", "partition", "resize"),
):
    setattr(TracedArray, _name, _make_leaving_method(_name))


def _keeps_positions(key: Any) -> bool:
    """Tell whether a key, which takes all of an array, only inserts or drops axes of length 1."""
    keys = key if isinstance(key, tuple) else (key,)
    return all(
        key_part is None
        or key_part is Ellipsis
        or (isinstance(key_part, int | np.integer) and not isinstance(key_part, bool))
        or (isinstance(key_part, slice) and key_part == slice(None))
        for key_part in keys
    )


def remove_trace(argument: Any) -> Any:
    """Return an object, or the members of a list, a tuple or a dict, without steps."""
    if isinstance(argument, TracedArray):
        return argument.values
    if isinstance(argument, Recorder):
        return argument.original
    if isinstance(argument, list | tuple):
        return type(argument)(map(remove_trace, argument))
    if isinstance(argument, dict):
        return {key: remove_trace(inner) for key, inner in argument.items()}
    return argument


def _trace_result(result: Any, op: Any, inputs: Iterable[Any]) -> Any:
    """Return what `op` made of `inputs`, arrays and numbers traced; a single truth value is not."""
    if isinstance(result, list):
        return [_trace_result(member, op, inputs) for member in result]
    if not isinstance(result, np.ndarray | np.generic) or isinstance(result, np.bool_):
        return result
    flat_inputs = tuple(_flatten(inputs))
    arrays = [array for array in flat_inputs if isinstance(array, TracedArray)]
    result_step = Step(op, flat_inputs, find_row_owner(flat_inputs))
    if op in _VALUE_KEEPING_FUNCTIONS and len(arrays) == 1 and np.size(result) == arrays[0].size:
        result_step = arrays[0].step
    elif np.size(result) < max(array.size for array in arrays) and op != ITEM:
        result_step = Step(UNKNOWN)  # numpy's sum, say: over all rows of all queries
    return TracedArray.of(np.asarray(result), result_step, arrays[0].record)


def _flatten(inputs: Iterable[Any]) -> Iterable[Any]:
    for member in inputs:
        if isinstance(member, list | tuple):
            yield from _flatten(member)
        else:
            yield member


def find_row_owner(inputs: Iterable[Any]) -> Any:
    """Return the owner of the rows that the inputs share: a ranking, else groups, else None."""
    owners = [member.step.row_owner for member in inputs if isinstance(member, TracedArray)]
    row_owners = [owner for owner in owners if owner is not None]
    return next((owner for owner in row_owners if owner.level == "row"), (row_owners or [None])[0])


# ---- objects that hold arrays ---------------------------------------------------------------


class Recordable:
    """An object of arrays whose attributes and methods a measure uses.

    `level` says what each row of its arrays belongs to: a row of the ranking (the object itself, or
    its attribute `ranked`); a group of the query; None: the same as in the object that it was made
    from. A row of a column (n_queries, ...) belongs to a query, or to a group in its place.
    """

    level: ClassVar[Literal["row", "group"] | None] = None


class Recorder:
    """A Recordable that records how it is used: `make_recorder` subclasses the object's class.

    `original` is the object itself, `step` how it was made. `grouping` is the object whose groups
    take the place of the query, one group at a time, or None.
    """

    original: Any
    step: Step
    record: Record
    grouping: Any
    level: ClassVar[Literal["row", "group"] | None]

    def once(self, name: object, compute: Callable[[], Any]) -> Any:
        """Call `compute` each time, so that its steps are recorded."""
        return compute()

    def _run_method(self, method: Any, bound_arguments: BoundArguments) -> Any:
        """Run a method on plain arrays as one step; return its result, traced if it can be."""
        plain_arguments = [remove_trace(argument) for argument in bound_arguments.args]
        result = method(*plain_arguments, **remove_trace(bound_arguments.kwargs))
        for argument, plain in zip(bound_arguments.args, plain_arguments, strict=True):
            if result is plain:
                if isinstance(plain, np.ndarray) and not isinstance(argument, TracedArray):
                    return TracedArray.of(result, Step(CONSTANT, (result,)), self.record)
                return argument
        for name, attribute in vars(self.original).items():
            if result is attribute and name in vars(self):
                return vars(self)[name]
        return self._record_result(result, method, bound_arguments.args)

    def _read_attribute(self, name: str) -> Any:
        return self._record_result(getattr(self.original, name), name, ())

    def _record_result(self, result: Any, op: Any, inputs: tuple[Any, ...]) -> Any:
        """Return what `op` gave: an array traced, a Recordable as a recorder, else as it is."""
        rows_of = getattr(op, "rows_of", "same")
        grouping = None if rows_of == "query" else self.grouping
        if isinstance(result, Recordable):
            return make_recorder(result, Step(op, inputs or (self,)), self.record, grouping)
        if not isinstance(result, np.ndarray):
            return result
        row_owner = grouping
        if rows_of == "other":
            row_owner = inputs[1]
        elif self.level == "row" and result.ndim == 1:
            row_owner = vars(self).get("ranked", self)
        return TracedArray.of(result.copy(), Step(op, inputs, row_owner), self.record)


def make_recorder(original: Recordable, step: Step, record: Record, grouping: Any = None) -> Any:
    """Return a recorder of an object, of a subclass of its class."""
    plain_class: Any = type(original)
    recorder: Any = object.__new__(_recorder_class(plain_class))
    grouping = recorder if original.level == "group" else grouping
    vars(recorder).update(original=original, step=step, record=record, grouping=grouping)
    for member in sorted(fields(original), key=lambda member: member.name != "ranked"):  # type: ignore[arg-type] # a dataclass
        vars(recorder)[member.name] = recorder._read_attribute(member.name)
    return recorder


@cache
def _recorder_class(cls: Any) -> type:
    """Return the subclass that records the class's own step methods and properties."""
    members: dict[str, Any] = {}
    for name, attribute in vars(cls).items():
        if isinstance(attribute, property | cached_property):
            members[name] = cached_property(lambda self, name=name: self._read_attribute(name))  # type: ignore[misc]
        elif hasattr(attribute, "rows_of"):
            members[name] = _record_calls(attribute)
    return type(cls.__name__, (Recorder, cls), members)


def _record_calls(method: Any) -> Callable[..., Any]:
    method_signature = signature(method)

    @wraps(method)
    def call_recorded(self: Recorder, *inputs: Any, **options: Any) -> Any:
        return self._run_method(method, method_signature.bind(self, *inputs, **options))

    return call_recorded


# ---- what is one step -----------------------------------------------------------------------

_Arguments = ParamSpec("_Arguments")
_Function = Callable[_Arguments, NDArray[Any]]
_Method = TypeVar("_Method", bound=Callable[..., Any])


def step(function: "_Function[_Arguments]") -> "_Function[_Arguments]":
    """Make each call of a function of arrays one step, where a positional argument is traced."""

    @wraps(function)
    def either(*inputs: _Arguments.args, **options: _Arguments.kwargs) -> NDArray[Any]:
        for argument in inputs:
            if isinstance(argument, TracedArray):
                numbers = function(*map(remove_trace, inputs), **options)
                return TracedArray.of(
                    numbers, Step(either, inputs, find_row_owner(inputs)), argument.record
                )
        return function(*inputs, **options)

    return either


def step_method(
    rows_of: Literal["same", "other", "query"] = "same", words: str | None = None
) -> Callable[[_Method], _Method]:
    """Make a method of a Recordable one step: a mark, so that it costs nothing elsewhere.

    `rows_of` says who owns the rows of the result: the owner of the object's rows; another
    ranking, the first argument; the query, for whose groups the method returns one number. `words`
    describe the result, with {1} for the first argument, where a measure is explained.
    """

    def mark(method: _Method) -> _Method:
        vars(method).update(rows_of=rows_of, words=words)
        return method

    return mark


# ---- the words for them ---------------------------------------------------------------------


def give_name(name: str, column: NDArray[Any]) -> NDArray[Any]:
    """Name a column for `explain`, where no local variable has the right name."""
    if isinstance(column, TracedArray):
        return TracedArray.of(column.values, replace(column.step, name=name), column.record)
    return column


@contextmanager
def name_variables(is_measure_file: Callable[[str], bool]) -> Iterator[None]:
    """Name the traced arrays without a name after the local variables that hold them at a return.

    No parameter counts, nor an array that was made of nothing. `average_gain = ...` is "average
    gain", `n_others` the "number of others"; a trailing _ is left out, so that there may be `gain_`
    beside a parameter `gain`. Truth values get no name: the condition itself is shown.
    `is_measure_file` tells whether the variables of a file count. Python calls a function at each
    call and return in this thread, and after the block the profiler set before.
    """

    def name_locals(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "return" or not is_measure_file(code.co_filename):
            return
        parameter_names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        for name, local_value in list(frame.f_locals.items()):
            if (
                name in parameter_names
                or not isinstance(local_value, TracedArray)
                or local_value.dtype == np.bool_
            ):
                continue
            if local_value.step.inputs and not local_value.step.name:
                local_value.step = replace(local_value.step, name=_describe_variable(name))

    outer_profile: Any = sys.getprofile()
    sys.setprofile(name_locals)
    try:
        yield
    finally:
        sys.setprofile(outer_profile if callable(outer_profile) else None)
        # A profiler such as Python's own, which is no function.
        if hasattr(outer_profile, "enable"):
            outer_profile.enable()


def _describe_variable(variable: str) -> str:
    """Return the name of a variable in words.

    >>> [_describe_variable(name) for name in ("n_others", "average_gain", "gain_")]
    ['number of others', 'average gain', 'gain']
    """
    word = variable.replace("_", " ").strip()
    return f"number of {word[2:]}" if word.startswith("n ") else word
