"""Options: declares the options of functions and commands once: default, check and one sentence.

A family of options is a frozen dataclass that inherits from `Options`; `option` makes its fields.
From the fields come the checks, Python's signatures and docstrings (`takes`), the options of the
command line (`cranfield.cli.flags`), what a result records of them, and keywords for type
checkers, which `scripts/make_docs.py` writes into the source. A new option is one more field.
"""

import inspect
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from numbers import Integral, Number
from textwrap import fill
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

import numpy as np

from cranfield.errors import OptionError, check_choice

if TYPE_CHECKING:  # "Unpack[keywords.Compare]" is for type checkers only
    from cranfield import keywords as keywords
else:
    keywords = None

# Returns a value in its canonical form, or raises ValueError with what was expected: "a number".
Check = Callable[[Any], Any]


# ---- checks ---------------------------------------------------------------------------------


def is_whole_number(candidate: object) -> bool:
    """Tell whether an object is an integer of Python or NumPy, and no bool."""
    return isinstance(candidate, int | np.integer) and not isinstance(candidate, bool)


def finite_number(candidate: object) -> int | float | None:
    """Return a number as an int or a float; None for a truth value and what is not finite or real.

    >>> [finite_number(candidate) for candidate in (2, 0.5, True, "2", float("nan"))]
    [2, 0.5, None, None, None]
    """
    if isinstance(candidate, bool) or not isinstance(candidate, Number):
        return None
    try:
        x = operator.index(candidate) if isinstance(candidate, Integral) else float(candidate)  # type: ignore[arg-type]
        return x if math.isfinite(x) else None
    except (TypeError, ValueError, OverflowError):  # complex; signalling NaN; beyond any float
        return None


def number_check(lowest: float = -math.inf, highest: float = math.inf) -> Check:
    """Return a check for numbers from `lowest` to `highest`, both included; they become float."""
    expectation = f"a number from {lowest:g} to {highest:g}"
    if highest == math.inf:
        expectation = "a number" if lowest == -math.inf else f"a number of at least {lowest:g}"
    return _make_number_check(expectation, float, lambda x: lowest <= x <= highest)


def whole_check(lowest: int, highest: int | None = None) -> Check:
    """Return a check for whole numbers from `lowest` to `highest`, both included; 2.0 is one."""
    expectation = f"a whole number of at least {lowest}"
    if highest is not None:
        expectation = f"a whole number from {lowest} to {highest:,}"
    upper = math.inf if highest is None else highest
    return _make_number_check(expectation, int, lambda x: x == int(x) and lowest <= x <= upper)


def level_check(lowest: float = 0, highest: int | None = None) -> Check:
    """Return a check for grades, numbers from `lowest` to `highest`; whole numbers become int.

    >>> check = level_check()
    >>> check(2.0), check(0.5)
    (2, 0.5)
    """
    expectation = f"a number of at least {lowest:g}"
    if highest is not None:
        expectation = f"a number from {lowest:g} to {highest:,}"
    upper = math.inf if highest is None else highest
    check_number = _make_number_check(expectation, float, lambda x: lowest <= x <= upper)

    def check(value: object) -> int | float:
        checked_number: float = check_number(value)
        return int(checked_number) if checked_number == int(checked_number) else checked_number

    return check


MIN_SHARE = 1e-9  # the tails of distributions are still numbers there


def share_check(upper: float = 1.0) -> Check:
    """Return a check for numbers above 0 (by 1e-9 at least) and below `upper`, such as a level."""
    expectation = f"a number above 0 and below {upper:g}"
    return _make_number_check(expectation, float, lambda x: MIN_SHARE <= x < upper)


def _make_number_check(
    expectation: str, number_type: type[int] | type[float], is_allowed: Callable[[float], bool]
) -> Check:
    """Return a check that converts allowed numbers to a type; others raise `expectation`."""

    def check(value: object) -> int | float:
        checked_number = finite_number(value)
        if checked_number is None or not is_allowed(checked_number):
            raise ValueError(expectation)
        return number_type(checked_number)

    return check


def check_flag(candidate: object) -> bool:
    """Return a truth value, of Python or NumPy, as a bool; ValueError for another value."""
    if not isinstance(candidate, bool | np.bool_):
        raise ValueError("True or False")
    return bool(candidate)


def check_numbers_by_name(numbers: Any) -> dict[str, float] | None:
    """Check for one number for each of some names: {name: number}, or texts as NAME=NUMBER.

    One text is taken, too: "R@5=0.8", or "R@5>=0.8".

    >>> cases = ["R@5=0.8", "RR>=.6"], {"R@5": 0.8}, []
    >>> [check_numbers_by_name(numbers) for numbers in cases]
    [{'R@5': 0.8, 'RR': 0.6}, {'R@5': 0.8}, None]
    """
    number_of_name: dict[str, float] = {}
    check = number_check()
    try:
        if isinstance(numbers, Mapping):
            pairs = [(str(name), check(number)) for name, number in numbers.items()]
        else:
            texts = [numbers] if isinstance(numbers, str) else numbers
            splits = [text.rpartition("=") for text in texts]
            pairs = [(name.removesuffix(">"), check(float(digits))) for name, _, digits in splits]
    except (AttributeError, TypeError, ValueError):
        pairs = [("", 0)]
    if not all(name.strip() for name, _ in pairs):
        raise ValueError("one number for each measure, as in {'R@5': 0.8} or R@5=0.8")
    for name, number in pairs:
        first = number_of_name.setdefault(name.strip(), number)
        if first != number:
            raise ValueError(f"one number for {name}, not {first:g} and {number:g}")
    return number_of_name or None


def check_option(name: str, candidate: object, check: Check) -> Any:
    """Return the checked value of an option; raise OptionError, which names it, if it is refused.

    >>> check_option("depth", 10.0, whole_check(1))
    10
    """
    try:
        return check(candidate)
    except ValueError as error:
        raise OptionError(f"{name}={candidate!r:.40}: expected {error}") from None


# ---- families of options --------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """One option of a family, as its field declares it."""

    name: str
    kind: Any  # the type of its value, None apart, if it is one class; else (a Literal) str
    default: Any
    sentence: str  # its effect, in words that suit a docstring and `--help`
    choices: tuple[str, ...]  # its only values; empty: `check` decides
    check: Check | None
    allows_none: bool  # whether None is a value
    heading: str  # of its family in help; empty for those of the core

    def validate(self, candidate: object, name: str | None = None) -> Any:
        """Return the checked value; raise OptionError, under another `name` if it is stated."""
        if candidate in self.choices or (candidate is None and self.allows_none):
            return candidate
        if self.choices:
            check_choice(name or self.name, candidate, self.choices)
        if self.check is None:
            return candidate
        return check_option(name or self.name, candidate, self.check)


def option(default: Any, sentence: str, check: Check | tuple[str, ...] | None = None) -> Any:
    """Return a field of a family of options.

    A Literal has its choices and a bool is True or False: numbers need a `check`, texts have one or
    a tuple of their choices. None is a value if the annotation says so.
    """
    return field(default=default, metadata={"sentence": sentence, "check": check})


class Options:
    """A family of options: each field of the frozen dataclass is checked, unless at its default.

    A family of an extension has a `heading` of its own in help; `flags` are settings of the command
    line for an option, beside those of its field: {option: {"metavar": ..., "names": ...}}.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Cutting(Options):
    ...     depth: int | None = option(None, "Keep the best so many documents.", whole_check(1))
    >>> Cutting(depth=5).changed_options(), Cutting().to_dict()
    ({'depth': 5}, {'depth': None})
    >>> Cutting(depth=0)
    Traceback (most recent call last):
        ...
    cranfield.errors.OptionError: depth=0: expected a whole number of at least 1
    """

    heading: ClassVar[str] = ""
    flags: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def __post_init__(self) -> None:
        values = vars(self)
        for member in list_options(type(self)):
            value = values[member.name]
            if value is not member.default:
                values[member.name] = member.validate(value)  # frozen for others

    @classmethod
    def of(cls, option_values: Mapping[str, object]) -> Self:
        """Return the family with the values of its own options, the others at their defaults."""
        own_values = {}
        if option_values:
            own_fields: Mapping[str, Any] = cls.__dataclass_fields__  # type: ignore[attr-defined]
            own_values = {name: option_values[name] for name in option_values if name in own_fields}
        options: Self = cls(**own_values) if own_values else _default_family(cast(Any, cls))
        return options

    def to_dict(self) -> dict[str, Any]:
        """Return {name: value}."""
        return dict(vars(self))

    def changed_options(self) -> dict[str, Any]:
        """Return {name: value} of the options that are not at their defaults."""
        if self is _default_family(cast(Any, type(self))):  # as most often
            return {}
        values = vars(self)
        return {
            member.name: values[member.name]
            for member in list_options(type(self))
            if not _is_default(values[member.name], member.default)
        }


def _is_default(value: Any, default: Any) -> bool:
    """Tell whether a value is the default; a table has no answer to `==`."""
    return value is default or (default is not None and value == default)


def list_options(family: type[Options]) -> tuple[Option, ...]:
    """Return the options of a family, in the order of its fields."""
    return _list_options(cast(Any, family))


@cache
def _list_options(family: type[Any]) -> tuple[Option, ...]:
    options = []
    for option_field in fields(family):
        members = _union_members(option_field.type)
        types = [member for member in members if member is not NoneType]
        is_plain = isinstance(types[0], type) and types[0] is not Any and len(types) == 1
        kind = types[0] if is_plain else str
        stated_check = option_field.metadata["check"]
        choices = get_args(types[0]) if get_origin(types[0]) is Literal else stated_check
        choices = choices if isinstance(choices, tuple) else ()
        check = None if choices else stated_check or (check_flag if kind is bool else None)
        options.append(
            Option(
                option_field.name,
                kind,
                option_field.default,
                option_field.metadata["sentence"],
                choices,
                check,
                allows_none=NoneType in members,
                heading=family.heading,
            )
        )
    return tuple(options)


def _union_members(kind: Any) -> tuple[Any, ...]:
    """Return the members of a union of types, or the only type."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


@cache
def _default_family(family: type[Any]) -> Any:
    return family()


# ---- signatures -----------------------------------------------------------------------------

_Function = TypeVar("_Function", bound=Callable[..., Any])
_KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY


class _UnquotedText(str):
    """A text that signatures show without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def takes(*families: type[Options], omit: Collection[str] = ()) -> Callable[[_Function], _Function]:
    """Write the options of families into the signature and the Args of a function.

    The function takes them by `**name`; the line of its docstring that begins with `**name:` is
    replaced by a line for each option; families with a heading follow, each a section. Types are
    left out of the signature, for people to read it; type checkers have the function's annotations.
    `omit` has names of options that the function does not take.
    """
    options = [
        option for family in families for option in list_options(family) if option.name not in omit
    ]

    def describe_function(function: _Function) -> _Function:
        signature = inspect.signature(function)
        *own_parameters, last_parameter = signature.parameters.values()
        parameters = [
            parameter.replace(annotation=inspect.Parameter.empty)
            for parameter in own_parameters
            if parameter.kind is not parameter.VAR_POSITIONAL  # see `refuse_unknown_options`
        ]
        parameters += [
            inspect.Parameter(option.name, _KEYWORD_ONLY, default=option.default)
            for option in options
        ]
        returns = _UnquotedText(_short_annotation(signature.return_annotation))
        function.__signature__ = inspect.Signature(parameters, return_annotation=returns)  # type: ignore[attr-defined]
        # The annotation in the source names a type of `cranfield.keywords`.
        function.__annotations__[last_parameter.name] = Any

        def describe_options(line: re.Match[str]) -> str:
            indent = line[1]
            lines = []
            for heading in dict.fromkeys(["", *(option.heading for option in options)]):
                lines += [f"\n{indent[4:]}{heading}:"] if heading else []
                for option in options:
                    if option.heading == heading:
                        text = f"{option.name}: {option.sentence[0].lower()}{option.sentence[1:]}"
                        deep_indent = f"{indent}    "
                        lines.append(
                            fill(text, 100, initial_indent=indent, subsequent_indent=deep_indent)
                        )
            return "".join(f"{text}\n" for text in lines)

        function.__doc__ = re.sub(
            rf"^( {{8,}})\*\*{last_parameter.name}:.*\n(?:\1 +.*\n)*",
            describe_options,
            function.__doc__ or "",
            flags=re.MULTILINE,
        )
        return function

    return describe_function


# {option of the command line alone: what to do in Python}
_PYTHON_ALTERNATIVES = dict.fromkeys(
    ("map_docs", "map_docs_pattern", "map_docs_keep"),
    "chunks become documents before, by Run(rows).map_docs(...), or read_run(path).map_docs(...), "
    "in the place of the run; of a table of both sides, Qrels(rows), or read_qrels(path), in that "
    "of the qrels",
)
_PYTHON_ALTERNATIVES["queries"] = (
    "systems are compared over the same queries; missing='drop' leaves out those that one of them "
    "has not answered"
)
_PYTHON_ALTERNATIVES |= dict.fromkeys(
    ("groups", "group", "mask"),
    "labels and scores as flat columns, or with a mask, are given by grades(labels, scores=..., "
    "groups=..., mask=...), with an asterisk before it",
)
_PYTHON_ALTERNATIVES |= dict.fromkeys(
    ("exclude", "excluded", "excluded_ids", "seen"), "without=... leaves documents out of the runs"
)
_PYTHON_ALTERNATIVES["k"] = "a measure has its cutoff, or several: 'nDCG@1,5,10'"
_PYTHON_ALTERNATIVES["catalog"] = "describe has catalogue=..., a number of items or their ids"
_PYTHON_ALTERNATIVES["span_pattern"] = (
    "spans are found before, by Run(rows).spans(...) in the place of the run"
)


def refuse_unknown_options(
    function: Callable[..., Any],
    option_values: Mapping[str, object],
    extra_arguments: Sequence[object] = (),
) -> None:
    """Raise TypeError for a keyword that is no option of a function with `takes`.

    The same if there are `extra_arguments`, beyond those that the function takes by their order.
    """
    if not option_values and not extra_arguments:  # as most often
        return
    parameters = function.__signature__.parameters  # type: ignore[attr-defined]
    function_name = function.__qualname__.removesuffix(".__init__")
    if extra_arguments:
        order = [name for name in parameters if parameters[name].kind is not _KEYWORD_ONLY]
        raise TypeError(
            f"{function_name}() takes {', '.join(order)} by their order, and got "
            f"{len(extra_arguments)} more; several runs are one argument, a list or a dict "
            f"{{name: run}}: "
            f"{function_name}(qrels, [one, other], ...)"
        )
    for name in option_values:
        if name in ("metric", "metrics", "measure") and "measures" in parameters:
            raise TypeError(
                f"{function_name}() takes measures={option_values[name]!r:.80}, not {name}=..."
            )
        if name not in parameters and name in _PYTHON_ALTERNATIVES:
            raise TypeError(f"{function_name}() takes no {name}=...: {_PYTHON_ALTERNATIVES[name]}")
        if name in ("qrels_columns", "run_columns") and "columns" in parameters:
            side = name.removesuffix("_columns")
            raise TypeError(
                f"{function_name}() takes columns={{{side!r}: ...}}, not {name}=...; "
                "columns={...} where both sides have the same names"
            )
        if name not in parameters:
            options = [key for key in parameters if parameters[key].kind is _KEYWORD_ONLY]
            raise TypeError(
                f"{function_name}() got an unexpected keyword argument {name!r}; its options "
                f"are {', '.join(options)}"
            )


def _short_annotation(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    names = (
        member.__name__ if isinstance(member, type) and not get_args(member) else str(member)
        for member in _union_members(annotation)
    )
    return " | ".join("None" if name == "NoneType" else name for name in names)
