"""Errors: what is wrong, where and what to do; and checks that raise some, for all of cranfield."""

from collections.abc import Iterable
from typing import Any


def escape_unprintable(text: str, limit: int | None = None) -> str:
    r"""Return `text` with every character escaped that `str.isprintable` refuses.

    Identifiers and lines come from other people's files. Escaped, they cannot move the cursor,
    recolour a terminal, reverse the reading direction or break a table. Longer than `limit`
    characters (3 or more) before that, the text is cut to them and ends in `...`.

    >>> escape_unprintable("doc\x1b[31m\u202e")
    'doc\\x1b[31m\\u202e'
    """
    if limit is not None and len(text) > limit:
        text = text[: limit - 3] + "..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


# What is shown in the place of documentation where Python has none.
NO_DOCSTRINGS = "(python -OO, or PYTHONOPTIMIZE=2, takes documentation away. Run it without.)"
_MAX_LINE_LENGTH = 2000  # characters of a line of an error, to which later escapes add


class CranfieldError(Exception):
    """Everything that cranfield refuses; catch this to catch all of it."""


class CranfieldWarning(UserWarning):
    """A result that holds a number which may not mean what it seems to.

    Given once by a call, of `evaluate` or `compare` for example, that has such notes; the values
    are computed anyway. `warnings.simplefilter("ignore", CranfieldWarning)` turns it off.

    >>> import warnings
    >>> from cranfield import evaluate
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", CranfieldWarning)
    ...     scores = evaluate({"q1": {"a": 1}}, {"q1": {"x": 2.0, "y": 2.0}}, "AP")
    >>> [note.code for note in scores.notes if note.is_grave]
    ['level-scores', 'nothing-judged']
    """


class InputError(CranfieldError, ValueError):
    """Input that cannot be scored.

    `problem` says what is wrong and what was expected; `source` (a file's name; in memory
    "the run" or the like), `line` (its number, from 1) and `text` (the line itself) say where,
    `query_id` which query it is about; `hint` says what to do. Each but `problem` may be None.
    `kind` is a word for what sort of fault it is: "columns", "no ids" (columns of them are
    missing), "number", "id", "text", "duplicate" or "other".
    """

    kind = "other"

    def __init__(
        self,
        problem: str,
        *,
        source: str | None = None,
        line: int | None = None,
        text: str | None = None,
        hint: str | None = None,
        kind: str | None = None,
        query_id: str | None = None,
    ) -> None:
        self.problem = problem
        self.source = source
        self.line = line
        self.text = text
        self.hint = hint
        self.kind = kind or self.kind
        self.query_id = query_id
        paragraphs = [problem]
        if source is not None:
            place = (
                escape_unprintable(source)
                if line is None
                else f"{escape_unprintable(source)}:{line}"
            )
            paragraphs = [f"{place}: {problem}"]
        if text is not None:
            paragraphs.append(f"    {escape_unprintable(text, 200)}")
        if hint is not None:
            paragraphs.append(hint)
        # What other libraries say may quote anything of a file, too; an id may have any length.
        lines = (line for paragraph in paragraphs for line in paragraph.split("\n"))
        super().__init__("\n".join(escape_unprintable(line, _MAX_LINE_LENGTH) for line in lines))

    def locate(
        self, source: str | None, line: int | None = None, text: str | None = None
    ) -> "InputError":
        """Return a copy of the error with the place of the fault: a source, and a line or lines."""
        problem, n_breaks = self.problem, (text or "").rstrip("\r\n").count("\n")
        if line is not None and n_breaks:
            problem = f"{problem} (lines {line} to {line + n_breaks})"
        return self.replace(problem=problem, source=source, line=line, text=text)

    def add_reason(self, reason: str) -> "InputError":
        """Return a copy of the error, with a reason added to its hint."""
        return self.replace(hint=reason if self.hint is None else f"{self.hint}\n{reason}")

    def replace(self, **changes: Any) -> "InputError":
        """Return a copy of the error, with some arguments of `InputError` changed."""
        names = ("problem", "source", "line", "text", "hint", "kind", "query_id")
        return type(self)(**{**{name: getattr(self, name) for name in names}, **changes})


class NothingSharedError(InputError):
    """Inputs, such as a run and judgments, that have no query or no document in common."""


class ContradictionError(InputError):
    """Preferences of one group that cannot all be true."""


class DuplicateError(InputError):
    """A document, or another row or name, that occurs twice where it may occur once."""

    kind = "duplicate"


class MeasureError(CranfieldError, ValueError):
    """A measure that does not exist or cannot be used here, or a parameter that it cannot have."""


class OptionError(CranfieldError, ValueError):
    """An option with a value that it does not take, alone or beside the others."""


class LibraryError(CranfieldError, ImportError):
    """A library that a feature needs, cranfield itself does not, and that is not installed."""


_PACKAGES = {"vl_convert": "vl-convert-python"}  # {module: package}, where they differ


def require_libraries(libraries: Iterable[str], feature: str) -> None:
    """Raise LibraryError unless the libraries that a feature needs are installed.

    >>> require_libraries(["math", "no_such_library"], "This")
    Traceback (most recent call last):
    ...
    cranfield.errors.LibraryError: This needs no_such_library: pip install no_such_library
    """
    from importlib.util import find_spec

    missing_libraries = [name for name in libraries if find_spec(name) is None]
    if missing_libraries:
        packages = " ".join(_PACKAGES.get(name, name) for name in missing_libraries)
        raise LibraryError(
            f"{feature} needs {' and '.join(missing_libraries)}: pip install {packages}"
        )


def check_choice(option: str, choice: object, allowed_values: Iterable[str]) -> None:
    """Raise OptionError unless the value of an option is among `allowed_values`."""
    allowed_values = tuple(allowed_values)
    if choice not in allowed_values:
        choices = ", ".join(map(repr, allowed_values))
        raise OptionError(f"{option}={choice!r} is not known; choose one of {choices}")


def nearest_words(
    word: str, words: Iterable[str], n: int = 3, min_similarity: float = 0.6
) -> list[str]:
    """Return the words that are spelt most like a word, the nearest first: at most n.

    All are at least as similar as `min_similarity`, 0 to 1 by difflib.

    >>> nearest_words("relevence", ["relevance", "score"])
    ['relevance']
    """
    import difflib

    return difflib.get_close_matches(word, list(words), n, min_similarity)
