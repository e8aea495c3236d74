"""Parameters of measures: what they mean, which values they take, how they are written; cutoffs."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cranfield.arrays.ranked import Ints, Numbers
from cranfield.data.judged import Judged
from cranfield.formats.block import LARGEST_GRADE
from cranfield.options import Check, finite_number, level_check, number_check, whole_check

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Parameter:
    """What a parameter means and which values it takes.

    `check` returns the value in its one canonical, hashable form, or raises ValueError saying
    what was expected. Use it in an annotation: `rel: Annotated[int, Parameter(...)] = 1`.

    >>> from cranfield.measures.parameters import between
    >>> Parameter("the probability of going on", between(0, 1)).check(1)
    1.0
    """

    meaning: str
    check: Check


def whole_between(lowest: int, highest: int = LARGEST_GRADE) -> Check:
    """Return a check for whole numbers from `lowest` to `highest`."""
    return whole_check(lowest, highest)


def optional(check: Check) -> Check:
    """Return a check that accepts None, too."""
    return lambda value: None if value is None else check(value)


def choice(*choices: str | int) -> Check:
    """Return a check for one of a few values; a text may be in upper or lower case."""
    *first_texts, last_text = map(repr, choices)
    expected = f"{', '.join(first_texts)} or {last_text}"
    lower_choices = [_to_lower(choice) for choice in choices]

    def check(value: Any) -> str | int:
        if isinstance(value, bool) or _to_lower(value) not in lower_choices:
            raise ValueError(expected)
        return choices[lower_choices.index(_to_lower(value))]

    return check


def _to_lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


between = number_check


def positive_number(value: Any) -> float:
    """Return a number that is greater than 0 and can be squared; ValueError for any other value."""
    number = finite_number(value)
    if number is None or not 0 < number <= 1e9:
        raise ValueError("a number greater than 0, and no more than 1e9")
    return float(number)


def tuple_of(check: Check, expected: str, n: int | None = None) -> Check:
    """Return a check for a list or tuple of values, of `n` if stated, or for a single value."""

    def check_values(value: Any) -> tuple[Any, ...]:
        values = value if isinstance(value, list | tuple) else (value,)
        if len(values) != n if n else not values:
            raise ValueError(expected)
        try:
            return tuple(map(check, values))
        except ValueError:
            raise ValueError(expected) from None

    return check_values


def word_or_mapping(
    words: Collection[str], check: Check, expected: str, *, lowest: float = 0
) -> Check:
    """Return a check for some words, in upper or lower case, or a mapping {grade: number}.

    `check` checks the numbers; the grades are at least `lowest`; errors say `expected`. The word
    'binary' may come with the lowest grade that is relevant, if that is not 1: ('binary', 2).
    """
    check_grade = level_check(lowest, LARGEST_GRADE)

    def check_value(value: Any) -> str | tuple[str, float] | Gains:
        if isinstance(value, str) and value.lower() in words:
            return value.lower()
        try:
            if (
                isinstance(value, list | tuple)
                and len(value) == 2
                and value[0] == "binary" in words
            ):
                return "binary", check_rel(value[1])
            if isinstance(value, Mapping) and 0 < len(value) <= _MAX_GRADES:
                return Gains(sorted((check_grade(g), check(number)) for g, number in value.items()))
        except ValueError:
            pass
        raise ValueError(expected)

    return check_value


check_rel = level_check(0, LARGEST_GRADE)
_MAX_GRADES = 100  # that a mapping may name


class Gains(tuple[tuple[float, float], ...]):
    """A mapping grade -> number, in the hashable form in which a measure keeps it."""

    __slots__ = ()


def look_up_numbers(grades: Numbers, numbers: Mapping[float, float], default: Numbers) -> Numbers:
    """Return the number that a mapping has for each grade, in their shape, else the `default`."""
    number_of_row = default
    for grade, number in numbers.items():
        number_of_row = np.where(grades == grade, number, number_of_row)
    return number_of_row


Rel = Annotated[float, Parameter("the lowest grade that counts as relevant", check_rel)]
"""The annotation of a parameter `rel` of a measure of your own: a grade."""
Persistence = Annotated[
    float, Parameter("the probability of going on to the next document", between(0, 1))
]
Cutoff = Annotated[Ints, "cutoff"]  # what a kernel gets for `@10`: see Ranked.top
"""The annotation of `k` in a measure of your own that takes a cutoff, as in `@10`."""
RecallPoint = Annotated[float, "recall point"]
"""The annotation of the cutoff of a measure of your own whose `@` is a level of recall, 0 to 1."""


# ---- the cutoff -----------------------------------------------------------------------------


NUMBER = r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_MIN_WITH_R = r"min\(\s*(?:(\d+)\s*,\s*R|R\s*,\s*(\d+))\s*\)"


@dataclass(frozen=True)
class Depth:
    """Where a ranking is cut.

    After `n_ranks`; after as many as the query has relevant documents, if `at_relevant`; after the
    smaller of both, if both are given.
    """

    n_ranks: int | None
    at_relevant: bool = False

    def __str__(self) -> str:
        if self.n_ranks is None:
            return "R"
        return f"min({self.n_ranks},R)" if self.at_relevant else str(self.n_ranks)

    def cutoff_column(self, judged: Judged, rel: float) -> Ints:
        """Return the cutoff of each query, (n_queries, 1), or of all, (1, 1)."""
        if not self.at_relevant:
            return np.array([[self.n_ranks]])
        n_relevant = judged.n_relevant(rel)
        return n_relevant if self.n_ranks is None else np.minimum(self.n_ranks, n_relevant)

    @classmethod
    def parse(cls, text: str) -> "Depth | None":
        """Return the cutoff that the text names, None if it names none."""
        text = text.strip()
        if text in {"R", "r"}:
            return cls(None, True)
        match = re.fullmatch(_MIN_WITH_R, text, re.IGNORECASE)
        digits = (match[1] or match[2]) if match else text
        if not re.fullmatch(r"\d{1,15}", digits, re.ASCII) or int(digits) < 1:
            return None
        return cls(int(digits), match is not None)


# ---- how they are written ---------------------------------------------------------------------


def write_parameters(parameters: Iterable[tuple[str, Any]], positional: str | None = None) -> str:
    """Return the parameters as written behind a name, `(rel=2)`; `positional` without its name.

    Parameters of None are left out; without any other, the text is empty.
    """
    texts = [
        _write_literal(value) if name == positional else f"{name}={_write_literal(value)}"
        for name, value in parameters
        if value is not None
    ]
    return f"({', '.join(texts)})" if texts else ""


def _write_literal(value: Any) -> str:
    if isinstance(value, Gains):
        return "{" + ", ".join(f"{g}: {_write_literal(gain)}" for g, gain in value) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_write_literal, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return repr(value)
