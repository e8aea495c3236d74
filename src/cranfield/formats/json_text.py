"""JSON text: reads the values in a JSON file one after the other, and finds their lines."""

import codecs
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from cranfield.errors import InputError
from cranfield.formats.source import Source
from cranfield.formats.text import LONGEST_LINE

_PIECE_BYTES = 1 << 20
_N_CONTEXT = 60  # characters of a line to show before a position
_BLANK = re.compile(r"[ \t\n\r]*")


class NumberText(str):
    """The text of a number in a file."""


class DuplicatePairs(list[tuple[str, Any]]):
    """The pairs (name, value) of a JSON object in which a name occurs twice."""


def unite_pairs(pairs: list[tuple[Any, Any]]) -> dict[Any, Any] | DuplicatePairs:
    """Return pairs as a dict, or as they are if a name occurs twice."""
    members = dict(pairs)
    return members if len(members) == len(pairs) else DuplicatePairs(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=unite_pairs)
# The same, with numbers as their text.
RECORD_DECODER = json.JSONDecoder(
    parse_float=NumberText,
    parse_int=NumberText,
    parse_constant=NumberText,
    object_pairs_hook=unite_pairs,
)


class Window:
    """A piece of a JSON text, from which values are read one after the other."""

    def __init__(self, stream: Any, source: Source, decoder: json.JSONDecoder = _DECODER) -> None:
        self._decoder = decoder
        self._stream = stream
        self._source = source
        # A byte order mark is removed; a piece may end within a character.
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
        self._text = ""
        self._position = 0
        self._value_begin = 0  # the position of the last value
        self._is_at_end = False
        self.line = 1  # the number of the line at the position

    def _read_more(self) -> None:
        """Double the text that is held, or read at least one piece."""
        raw = self._stream.read(max(_PIECE_BYTES, len(self._text) - self._position)) or b""
        self._is_at_end = not raw
        self._text = self._text[self._position :] + self._decode(raw, self._is_at_end)
        self._position = 0

    def next_character(self) -> str:
        """Skip blanks, and return the next character without reading it, "" at the end."""
        while True:
            match = _BLANK.match(self._text, self._position)
            position = self._position if match is None else match.end()  # it always matches
            self.line += self._text.count("\n", self._position, position)
            self._position = position
            if self._position < len(self._text) or self._is_at_end:
                return self._text[self._position : self._position + 1]
            self._read_more()

    def skip(self, character: str) -> None:
        """Skip a character that must be next."""
        if (following := self.next_character()) != character:
            raise self.syntax_error(f"expected {character!r}, got {following or 'the end'!r}")
        self._position += 1

    def read_members(self, brackets: str) -> Iterator[int]:
        """Yield the line of each member of an object, "{}", or a list, "[]"; callers read it."""
        self.skip(brackets[0])
        has_more = self.next_character() != brackets[1]
        while has_more:
            self.next_character()
            yield self.line
            has_more = self.next_character() != brackets[1]
            if has_more:
                self.skip(",")
        self.skip(brackets[1])
        if self.next_character():
            raise self.syntax_error(
                "continues after the end of its JSON object",
                hint="If each line is an object, these are JSON lines: name the file .jsonl, or "
                "state format='jsonl' (--run-format jsonl, --qrels-format jsonl).",
            )

    def read_value(self) -> Any:
        """Return the value that is next; InputError if it is not valid JSON."""
        self.next_character()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._position)
            except (json.JSONDecodeError, RecursionError, ValueError) as error:
                # A value cut off by the window's end has its error there, or in a text before it.
                is_cut_off = isinstance(error, json.JSONDecodeError) and (
                    len(self._text) - error.pos <= LONGEST_LINE
                    or error.msg.startswith("Unterminated string")
                )
                if not self._is_at_end and is_cut_off:
                    self._read_more()
                    continue
                if isinstance(error, json.JSONDecodeError):
                    self.line += self._text.count("\n", self._position, error.pos)
                    self._position = error.pos
                    raise self.syntax_error(error.msg[:1].lower() + error.msg[1:]) from None
                is_too_deep = isinstance(error, RecursionError)
                problem = "is nested too deeply" if is_too_deep else str(error)
                raise self.syntax_error(problem) from None
            if end == len(self._text) and not self._is_at_end:  # a number may continue
                self._read_more()
                continue
            self.line += self._text.count("\n", self._position, end)
            self._value_begin, self._position = self._position, end
            return value

    def syntax_error(self, problem: str, hint: str | None = None) -> InputError:
        """Return the error that the text is not valid JSON at the next character."""
        return InputError(
            f"is not valid JSON: {problem}",
            source=self._source.name,
            line=self.line,
            text=self.text_around(),
            hint=hint,
            kind="text",
        )

    def text_around(self, position: int | None = None) -> str:
        """Return some text around a position, by default the next character's, in its line."""
        position = self._position if position is None else position
        begin = self._text.rfind("\n", 0, position) + 1
        end = self._text.find("\n", position)
        return self._text[max(begin, position - _N_CONTEXT) : end if end >= 0 else None][:200]

    def find_name(self, name: str, n_above: int) -> tuple[int, str] | None:
        """Return the line of a name in the last value, and the text around it; None without it.

        `n_above` is the number of earlier occurrences of the name.
        """
        spellings = {json.dumps(name), json.dumps(name, ensure_ascii=False)}
        names = re.compile("|".join(map(re.escape, spellings)))
        positions = (
            match.start() for match in names.finditer(self._text, self._value_begin, self._position)
        )
        position = next(islice(positions, n_above, None), None)
        if position is None:
            return None
        line = self.line - self._text.count("\n", position, self._position)
        return line, self.text_around(position)
