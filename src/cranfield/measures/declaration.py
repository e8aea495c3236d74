"""A function as a declaration: its parameters, its documentation, its formula and its source."""

import inspect
import math
import re
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.lazy import cached_property
from cranfield.measures.parameters import Parameter
from cranfield.options import finite_number

# python -OO and PYTHONOPTIMIZE=2 remove docstrings, and with them every formula and source.
WITHOUT_DOCSTRINGS = sys.flags.optimize > 1
# The lines of a docstring that tell how the number is made, and where that is defined.
_FORMULA_AND_SOURCE = re.compile(
    r"^Formula:(?P<formula>.*?)^Source:(?P<source>.*?)(?:\n\n|\Z)", re.M | re.S
)


@dataclass(eq=False, repr=False)
class Declaration:
    """What a function, `kernel`, declares: of a measure, or of a user model.

    Its keyword-only arguments are the parameters; its docstring has a line `Formula:` and a line
    `Source:`.
    """

    name: str
    kernel: Callable[..., Any]

    @cached_property
    def arguments(self) -> list[inspect.Parameter]:
        """The arguments of the function."""
        return list(inspect.signature(self.kernel).parameters.values())

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The annotations of the function."""
        return typing.get_type_hints(self.kernel, include_extras=True)

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """{parameter: its default}."""
        return {
            argument.name: argument.default
            for argument in self.arguments
            if argument.kind is argument.KEYWORD_ONLY
        }

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """{parameter: what it means, and which values it takes}."""
        return {name: self.hints[name].__metadata__[0] for name in self.defaults}

    @cached_property
    def _docstring(self) -> tuple[str, Mapping[str, str]]:
        """The docstring without its formula and source, and {"formula": text, "source": text}."""
        text = inspect.getdoc(self.kernel) or ""
        match = _FORMULA_AND_SOURCE.search(text)
        if match is None:
            return text, {}
        named_parts = {name: " ".join(text.split()) for name, text in match.groupdict().items()}
        texts = text[: match.start()].strip(), text[match.end() :]
        return "\n\n".join(filter(None, texts)), named_parts

    @property
    def documentation(self) -> str:
        """What is measured: the docstring without the formula and the source."""
        return self._docstring[0]

    @property
    def formula(self) -> str:
        """How the number is made, in plain text."""
        return self._docstring[1].get("formula", "")

    @property
    def source(self) -> str:
        """The paper (authors, venue, year), or the tool that defines it."""
        return self._docstring[1].get("source", "")


def is_range(value: object) -> bool:
    """Tell whether a value is a pair of a lowest and a highest number, as (0, 1) or (0, None)."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return False
    low = -math.inf if value[0] == -math.inf else finite_number(value[0])
    high = math.inf if value[1] is None else finite_number(value[1])
    return low is not None and high is not None and low < high
