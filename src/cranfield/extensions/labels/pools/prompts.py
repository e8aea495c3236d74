"""Prompts: what a model is told of the documents that it is to grade, by name or from a file."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cranfield.errors import InputError
from cranfield.formats.small.text_lines import read_text
from cranfield.formats.source import Source

_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_MOST_CHARACTERS = 100_000  # of a prompt
GRADES = (0, 1, 2, 3)  # of a prompt that states none
_GRADES_OF_NAME = {"graded": GRADES, "binary": (0, 1)}  # the texts are in files beside this one


def hash_json(document: Any, n_digits: int) -> str:
    """Return the first hexadecimal digits of the hash of a document as JSON."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:n_digits]


class Prompt(NamedTuple):
    """What a model is told: a system message, or, with variables, the whole message of a user."""

    text: str
    grades: tuple[int, ...] = GRADES  # those that the model may give
    name: str = ""  # empty for the text of a file

    @property
    def digits(self) -> str:
        """The hash of text and grades, by which answers name the prompt."""
        return hash_json([self.text, self.grades], 8)

    @property
    def is_template(self) -> bool:
        """Whether the text has places for the query and the document."""
        return _VARIABLE.search(self.text) is not None

    def fill(self, text_of_variable: Mapping[str, str]) -> str:
        """Return the text with each variable replaced, in one pass: values are not searched."""
        return _VARIABLE.sub(lambda match: text_of_variable[match[1]], self.text)


def read_prompt(name: str, grades: tuple[int, ...] | None = None) -> Prompt:
    """Return the prompt of a name, or of a text file, with `grades` in place of its own.

    Raises InputError for a file without text, too long, or with other variables than both.
    """
    own_grades = _GRADES_OF_NAME.get(name)
    path = name if own_grades is None else Path(__file__).with_name(f"prompt.{name}.txt")
    text, name = read_text(Source(path)).strip(), "" if own_grades is None else name
    if not 0 < len(text) <= _MOST_CHARACTERS:
        problem = f"a prompt has 1 to {_MOST_CHARACTERS:,} characters, got {len(text):,}"
        raise InputError(problem, source=str(path))
    variables = {*_VARIABLE.findall(text)}
    if variables not in (set(), {"query", "document"}):
        wrong_name = min(variables - {"query", "document"} or variables)
        problem = f"the prompt names {{{{{wrong_name}}}}}: variables are "
        raise InputError(problem + "{{query}} and {{document}}, both or none", source=str(path))
    return Prompt(text, grades or own_grades or GRADES, name)


PROMPT_OF_DIGITS = {prompt.digits: prompt for prompt in map(read_prompt, _GRADES_OF_NAME)}
