"""JSON text: reads values one after the other, and finds their lines."""

import codecs
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from cranfield.errors import InputError
from cranfield.formats.source import Source
from cranfield.formats.text import LONGEST_LINE

_PIECE = 1 << 20
_AROUND = 60  # characters of a line to show before a place
_BLANK = re.compile(r"[ \t\n\r]*")


class WrittenNumber(str):
    """A number as its text in the file."""


class Repeated(list[tuple[str, Any]]):
    """An object's pairs (name, value), with a name that occurs twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Repeated:
    found = dict(pairs)
    return found if len(found) == len(pairs) else Repeated(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
# The same, with numbers as their text.
RECORDS = json.JSONDecoder(
    parse_float=WrittenNumber,
    parse_int=WrittenNumber,
    parse_constant=WrittenNumber,
    object_pairs_hook=_object,
)


class Window:
    """A piece of a JSON text, to read values from one after the other."""

    def __init__(self, stream: Any, source: Source, decoder: json.JSONDecoder = _DECODER) -> None:
        self._decoder = decoder
        self._stream = stream
        self._source = source
        # A byte order mark is removed; a piece may end within a character.
        self._text_of = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
        self._text = ""
        self._at = 0
        self._begin = 0  # of the last value
        self._ended = False
        self.line = 1

    def _more(self) -> None:
        """Double what is held, or read at least one piece."""
        raw = self._stream.read(max(_PIECE, len(self._text) - self._at)) or b""
        self._ended = not raw
        self._text = self._text[self._at :] + self._text_of(raw, self._ended)
        self._at = 0

    def next(self) -> str:
        """Return the next character that is not a blank, "" at the end."""
        while True:
            at = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr] # it always matches
            self.line += self._text.count("\n", self._at, at)
            self._at = at
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._more()

    def take(self, character: str) -> None:
        """Skip a character that must be next."""
        if self.next() != character:
            raise self.error(f"expected {character!r}, got {self.next() or 'the end'!r}")
        self._at += 1

    def members(self, brackets: str) -> Iterator[int]:
        """Yield the line of each member of an object, "{}", or list, "[]": then read it."""
        self.take(brackets[0])
        more = self.next() != brackets[1]
        while more:
            self.next()
            yield self.line
            more = self.next() != brackets[1]
            if more:
                self.take(",")
        self.take(brackets[1])
        if self.next():
            raise self.error(
                "continues after the end of its JSON object",
                hint="If each line is an object, these are JSON lines: name the file .jsonl, or "
                "state format='jsonl' (--run-format jsonl, --qrels-format jsonl).",
            )

    def value(self) -> Any:
        """Return the value that is next."""
        self.next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except (json.JSONDecodeError, RecursionError, ValueError) as error:
                # A value cut off by the window's end has its error there, or in a text before it.
                cut_off = isinstance(error, json.JSONDecodeError) and (
                    len(self._text) - error.pos <= LONGEST_LINE
                    or error.msg.startswith("Unterminated string")
                )
                if not self._ended and cut_off:
                    self._more()
                    continue
                if isinstance(error, json.JSONDecodeError):
                    self.line += self._text.count("\n", self._at, error.pos)
                    self._at = error.pos
                    raise self.error(error.msg[:1].lower() + error.msg[1:]) from None
                too_deep = isinstance(error, RecursionError)
                raise self.error("is nested too deeply" if too_deep else str(error)) from None
            if end == len(self._text) and not self._ended:  # a number may continue
                self._more()
                continue
            self.line += self._text.count("\n", self._at, end)
            self._begin, self._at = self._at, end
            return value

    def error(self, problem: str, hint: str | None = None) -> InputError:
        """Return an error with the place."""
        return InputError(
            f"is not valid JSON: {problem}",
            source=self._source.name,
            line=self.line,
            text=self.shown(),
            hint=hint,
            kind="text",
        )

    def shown(self, at: int | None = None) -> str:
        """Return the text around a place, or around the next one, in its line."""
        at = self._at if at is None else at
        begin = self._text.rfind("\n", 0, at) + 1
        end = self._text.find("\n", at)
        return self._text[max(begin, at - _AROUND) : end if end >= 0 else None][:200]

    def within(self, name: str, above: int) -> tuple[int, str] | None:
        """Return the line of a name in the last value, and the text around; None if not found.

        `above` is the number of earlier occurrences of the name.
        """
        spellings = {json.dumps(name), json.dumps(name, ensure_ascii=False)}
        names = re.compile("|".join(map(re.escape, spellings)))
        places = (found.start() for found in names.finditer(self._text, self._begin, self._at))
        at = next(islice(places, above, None), None)
        if at is None:
            return None
        return self.line - self._text.count("\n", at, self._at), self.shown(at)
