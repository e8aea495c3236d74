"""Pointer: writes how to see why two runs differ, for results that only say that they do."""

import contextlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from cranfield.errors import MeasureError
from cranfield.measures import Measure, parse


@dataclass(frozen=True)
class CommandLine:
    """The files and options of a command line, from which a `cranfield explain` is made."""

    qrels: str | None  # None: the file of each system holds judgments, too
    files: Mapping[str, str]  # {system: file}, of those read from one
    options: Sequence[str]

    def write_command(self, systems: Sequence[str], verb: str = "explain") -> str | None:
        """Return a command with the files of some systems, None if it cannot be pasted.

        That is so without systems, if the file of one is unknown, or if a word is not printable.
        """
        files = [self.files[system] for system in systems if system in self.files]
        if not files or len(files) < len(systems):
            return None
        qrels_files = [] if self.qrels is None else [self.qrels]
        paths = [f"./{path}" if path.startswith("-") else path for path in (*qrels_files, *files)]
        words = ["cranfield", verb, *paths, *self.options]
        return shlex.join(words) if all(map(str.isprintable, words)) else None


_COMMAND_LINE: ContextVar[CommandLine | None] = ContextVar("_COMMAND_LINE", default=None)


@contextlib.contextmanager
def use_command_line(command_line: CommandLine) -> Iterator[None]:
    """Have the sentences in the block name the files and options of a command line."""
    token = _COMMAND_LINE.set(command_line)
    try:
        yield
    finally:
        _COMMAND_LINE.reset(token)


def explain_hint(measure: Measure | str, query: str, systems: Sequence[str] = ()) -> str:
    """Return a sentence on how to see why some systems, the baseline first, differ on a query.

    Where `use_command_line` knows the files of `systems`, it is a command that can be pasted. A
    name that saved scores have, and that is no measure, is left out.

    >>> explain_hint("AP", "q 7")
    "Why: cranfield explain ... -m AP --query 'q 7', or explain(..., 'AP', 'q 7') in Python."
    >>> explain_hint("score", "q7")
    "Why: cranfield explain ... --query q7, or explain(..., query='q7') in Python."
    >>> files = {"old": "old.run", "new": "new.run"}
    >>> with use_command_line(CommandLine("qrels.txt", files, ["--rel", "2"])):
    ...     print(explain_hint("AP", "q7", ["old", "new"]))
    Why: cranfield explain qrels.txt old.run new.run --rel 2 -m AP --query q7
    """
    try:
        name = str(parse(measure) if isinstance(measure, str) else measure)
    except MeasureError:
        words, arguments = "", f"query={query!r}"
    else:
        words, arguments = f"-m {shlex.quote(name)} ", f"{name!r}, {query!r}"
    words += f"--query{'=' if query.startswith('-') else ' '}{shlex.quote(query)}"
    command_line = _COMMAND_LINE.get()
    command = command_line.write_command(systems) if command_line is not None else None
    if command is not None:
        return f"Why: {command} {words}"
    return f"Why: cranfield explain ... {words}, or explain(..., {arguments}) in Python."


def compare_hint(measure: str, systems: Sequence[str], *, is_partial: bool) -> str:
    """Return how to see where two systems, the baseline first, differ; or lack queries, too."""
    command_line = _COMMAND_LINE.get()
    command = command_line and command_line.write_command(systems, "compare")
    text = f"Which queries: {command or 'cranfield compare ...'} -m {shlex.quote(measure)}"
    text += " --missing drop" * is_partial
    return f"{text} --changes 10{'' if command else ', or compare(...).changes() in Python.'}"
