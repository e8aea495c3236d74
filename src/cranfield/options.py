"""options: what a function or a command can be told, said once: default, check and one sentence.

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

# Returns a value in its one form, or raises ValueError with what was expected: "a number".
Check = Callable[[Any], Any]


# ---- checks ---------------------------------------------------------------------------------


def is_whole_number(candidate: object) -> bool:
    """Tell whether the type of a value is one of whole numbers, and not bool."""
    return isinstance(candidate, int | np.integer) and not isinstance(candidate, bool)


def finite_number(candidate: object) -> int | float | None:
    """Return a number as an int or a float; None for any other value, infinity and truth values.

    >>> finite(2), finite(0.5), finite(True), finite("2"), finite(float("nan"))
    (2, 0.5, None, None, None)
    """
    if isinstance(candidate, bool) or not isinstance(candidate, Number):
        return None
    try:
        found = operator.index(candidate) if isinstance(candidate, Integral) else float(candidate)  # type: ignore[arg-type]
        return found if math.isfinite(found) else None
    except (TypeError, ValueError, OverflowError):  # complex; signalling NaN; beyond any float
        return None


def number_check(lowest: float = -math.inf, highest: float = math.inf) -> Check:
    """Return a check for numbers from `least` to `most`, both included."""
    expected = f"a number from {lowest:g} to {highest:g}"
    if highest == math.inf:
        expected = "a number" if lowest == -math.inf else f"a number of at least {lowest:g}"
    return _make_number_check(expected, float, lambda found: lowest <= found <= highest)


def whole_check(lowest: int, highest: int | None = None) -> Check:
    """Return a check for whole numbers from `least` to `most`, both included."""
    expected = f"a whole number of at least {lowest}"
    if highest is not None:
        expected = f"a whole number from {lowest} to {highest:,}"
    last = math.inf if highest is None else highest
    return _make_number_check(expected, int, lambda found: found == int(found) and lowest <= found <= last)


def level_check(lowest: float = 0, highest: int | None = None) -> Check:
    """Return a check for numbers that a grade may be, which are whole numbers where they can be.

    >>> check = level()
    >>> check(2.0), check(0.5)
    (2, 0.5)
    """
    expected = f"a number of at least {lowest:g}"
    if highest is not None:
        expected = f"a number from {lowest:g} to {highest:,}"
    last = math.inf if highest is None else highest
    as_number = _make_number_check(expected, float, lambda found: lowest <= found <= last)

    def check(value: object) -> int | float:
        found: float = as_number(value)
        return int(found) if found == int(found) else found

    return check


MIN_SHARE = 1e-9  # the tails of distributions are still numbers there


def share_check(upper: float = 1.0) -> Check:
    """Return a check for numbers above 0 (by 1e-9 at least) and below `below`, such as a level."""
    expected = f"a number above 0 and below {upper:g}"
    return _make_number_check(expected, float, lambda found: MIN_SHARE <= found < upper)


def _make_number_check(expected: str, kind: type[int] | type[float], holds: Callable[[float], bool]) -> Check:
    """Return a check for the numbers of which something holds, which are then of a kind."""

    def check(value: object) -> int | float:
        found = finite_number(value)
        if found is None or not holds(found):
            raise ValueError(expected)
        return kind(found)

    return check


def check_flag(candidate: object) -> bool:
    """Check for a truth value."""
    if not isinstance(candidate, bool | np.bool_):
        raise ValueError("True or False")
    return bool(candidate)


def check_numbers_by_name(numbers: Any) -> dict[str, float] | None:
    """Check for one number for each of some names: {name: number}, or texts as NAME=NUMBER.

    One text is taken, too: "R@5=0.8", or "R@5>=0.8".

    >>> numbers_by_name(["R@5=0.8", "RR>=.6"]), numbers_by_name({"R@5": 0.8}), numbers_by_name([])
    ({'R@5': 0.8, 'RR': 0.6}, {'R@5': 0.8}, None)
    """
    found: dict[str, float] = {}
    check = number_check()
    try:
        if isinstance(numbers, Mapping):
            pairs = [(str(name), check(one)) for name, one in numbers.items()]
        else:
            texts = [numbers] if isinstance(numbers, str) else numbers
            parts = [text.rpartition("=") for text in texts]
            pairs = [(name.removesuffix(">"), check(float(one))) for name, _, one in parts]
    except (AttributeError, TypeError, ValueError):
        pairs = [("", 0)]
    if not all(name.strip() for name, _ in pairs):
        raise ValueError("one number for each measure, as in {'R@5': 0.8} or R@5=0.8")
    for name, one in pairs:
        if found.setdefault(name.strip(), one) != one:
            raise ValueError(f"one number for {name}, not {found[name.strip()]:g} and {one:g}")
    return found or None


def check_option(name: str, candidate: object, check: Check) -> Any:
    """Return a value in its one form; raise OptionError that names the option if it has none.

    >>> checked("depth", 10.0, whole(1))
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
    kind: Any  # the type of its value, without None and without choices: int, float, bool, str
    default: Any
    sentence: str  # what it does, in words that suit a docstring and `--help`
    choices: tuple[str, ...]  # its only values; empty: `check` decides
    check: Check | None
    allows_none: bool  # whether None is a value
    heading: str  # of its family in help; empty for those of the core

    def validate(self, candidate: object, name: str | None = None) -> Any:
        """Return a value in its one form; raise OptionError, under `name` if that is another."""
        if candidate in self.choices or (candidate is None and self.allows_none):
            return candidate
        if self.choices:
            check_choice(name or self.name, candidate, self.choices)
        return candidate if self.check is None else check_option(name or self.name, candidate, self.check)


def option(default: Any, sentence: str, check: Check | tuple[str, ...] | None = None) -> Any:
    """Return a field of a family of options.

    A Literal has its choices and a bool is True or False: numbers need a `check`, texts have one or
    a tuple of their choices. None is a value if the annotation says so.
    """
    return field(default=default, metadata={"sentence": sentence, "check": check})


class Options:
    """A family of options: each field of the frozen dataclass is checked when it is made.

    A family of an extension has a `heading` of its own in help; `flags` says what the command line
    is told of an option, beside what its field says: {option: {"metavar": ..., "names": ...}}.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Cutting(Options):
    ...     depth: int | None = option(None, "Keep the best so many documents.", whole(1))
    >>> Cutting(depth=5).unusual(), Cutting().to_dict()
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
        for one in list_options(type(self)):
            value = values[one.name]
            if value is not one.default:
                values[one.name] = one.validate(value)  # frozen for others

    @classmethod
    def of(cls, option_values: Mapping[str, object]) -> Self:
        """Return the options of this family among those given, the others at their defaults."""
        own = {}
        if option_values:
            known: Mapping[str, Any] = cls.__dataclass_fields__  # type: ignore[attr-defined]
            own = {name: value for name, value in option_values.items() if name in known}
        options: Self = cls(**own) if own else _default_family(cast(Any, cls))
        return options

    def to_dict(self) -> dict[str, Any]:
        """Return {name: value}."""
        return dict(vars(self))

    def changed_options(self) -> dict[str, Any]:
        """Return {name: value} of those that are not at their defaults."""
        if self is _default_family(cast(Any, type(self))):  # as most often
            return {}
        values = vars(self)
        return {
            one.name: values[one.name]
            for one in list_options(type(self))
            if not _is_default(values[one.name], one.default)
        }


def _is_default(value: Any, default: Any) -> bool:
    """Tell whether a value is the default; a table has no answer to `==`."""
    return value is default or (default is not None and value == default)


def list_options(family: type[Options]) -> tuple[Option, ...]:
    """Return the options of a family, in the order of its fields."""
    return _list_options(cast(Any, family))


@cache
def _list_options(family: type[Any]) -> tuple[Option, ...]:
    found = []
    for one in fields(family):
        kinds = [kind for kind in _union_members(one.type) if kind is not NoneType]
        plain = isinstance(kinds[0], type) and kinds[0] is not Any and len(kinds) == 1
        kind = kinds[0] if plain else str
        given = one.metadata["check"]
        choices = get_args(kinds[0]) if get_origin(kinds[0]) is Literal else given
        choices = choices if isinstance(choices, tuple) else ()
        check = None if choices else given or (check_flag if kind is bool else None)
        sentence, or_none = one.metadata["sentence"], NoneType in _union_members(one.type)
        found.append(
            Option(one.name, kind, one.default, sentence, choices, check, or_none, family.heading)
        )
    return tuple(found)


def _union_members(kind: Any) -> tuple[Any, ...]:
    """Return the members of a union of types, or the only type."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


@cache
def _default_family(family: type[Any]) -> Any:
    return family()


# ---- signatures -----------------------------------------------------------------------------

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _UnquotedText(str):
    """A text that signatures show without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def takes(
    *families: type[Options], omit: Collection[str] = ()
) -> Callable[[_Function], _Function]:
    """Name the options of some families in the signature and the Args of a function.

    The function takes them by `**name`; the line of its docstring that begins with `**name:` is
    replaced by a line for each option; families with a heading follow, each a section. Types are
    left out of the signature, for people to read it; type checkers have the function's annotations.
    """
    options = [
        option for family in families for option in list_options(family) if option.name not in omit
    ]

    def named(function: _Function) -> _Function:
        plain = inspect.signature(function)
        *own, last = plain.parameters.values()
        own = [one for one in own if one.kind is not one.VAR_POSITIONAL]  # see `refuse_others`
        parameters = [one.replace(annotation=inspect.Parameter.empty) for one in own]
        parameters += [
            inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default)
            for option in options
        ]
        returns = _UnquotedText(_short_annotation(plain.return_annotation))
        function.__signature__ = inspect.Signature(parameters, return_annotation=returns)  # type: ignore[attr-defined]
        function.__annotations__[last.name] = Any  # its own names a type of `cranfield.keywords`

        def describe(line: re.Match[str]) -> str:
            indent = line[1]
            lines = []
            for heading in dict.fromkeys(["", *(option.heading for option in options)]):
                lines += [f"\n{indent[4:]}{heading}:"] if heading else []
                for option in options:
                    if option.heading == heading:
                        text = f"{option.name}: {option.sentence[0].lower()}{option.sentence[1:]}"
                        under = f"{indent}    "
                        lines.append(
                            fill(text, 100, initial_indent=indent, subsequent_indent=under)
                        )
            return "".join(f"{text}\n" for text in lines)

        function.__doc__ = re.sub(
            rf"^( {{8,}})\*\*{last.name}:.*\n(?:\1 +.*\n)*",
            describe,
            function.__doc__ or "",
            flags=re.MULTILINE,
        )
        return function

    return named


# Options of the command line that in Python are done to a run before: what to write.
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
_PYTHON_ALTERNATIVES["span_pattern"] = "spans are found before, by Run(rows).spans(...) in the place of the run"


def refuse_unknown_options(
    function: Callable[..., Any], option_values: Mapping[str, object], extra_arguments: Sequence[object] = ()
) -> None:
    """Raise TypeError for what is none of the options that `takes` has given to the function.

    `more` are arguments beyond those that the function takes by their order.
    """
    if not option_values and not extra_arguments:  # as most often
        return
    known = function.__signature__.parameters  # type: ignore[attr-defined]
    called = function.__qualname__.removesuffix(".__init__")
    if extra_arguments:
        order = [one.name for one in known.values() if one.kind is not one.KEYWORD_ONLY]
        raise TypeError(
            f"{called}() takes {', '.join(order)} by their order, and got {len(extra_arguments)} "
            "more; several runs are one argument, a list or a dict {name: run}: "
            f"{called}(qrels, [one, other], ...)"
        )
    for name in option_values:
        if name in ("metric", "metrics", "measure") and "measures" in known:
            raise TypeError(f"{called}() takes measures={option_values[name]!r:.80}, not {name}=...")
        if name not in known and name in _PYTHON_ALTERNATIVES:
            raise TypeError(f"{called}() takes no {name}=...: {_PYTHON_ALTERNATIVES[name]}")
        if name in ("qrels_columns", "run_columns") and "columns" in known:
            side = name.removesuffix("_columns")
            raise TypeError(
                f"{called}() takes columns={{{side!r}: ...}}, not {name}=...; "
                "columns={...} where both sides have the same names"
            )
        if name not in known:
            options = [one.name for one in known.values() if one.kind is one.KEYWORD_ONLY]
            raise TypeError(
                f"{called}() got an unexpected keyword argument {name!r}; its options "
                f"are {', '.join(options)}"
            )


def _short_annotation(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    names = (
        one.__name__ if isinstance(one, type) and not get_args(one) else str(one)
        for one in _union_members(annotation)
    )
    return " | ".join("None" if name == "NoneType" else name for name in names)
