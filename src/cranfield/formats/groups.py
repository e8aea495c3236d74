"""Other files that trec_eval reads: judgments in groups, preferences, means and deviations."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import LARGEST_GRADE, Errors, Faults, LeftOut
from cranfield.formats.lines import NO_DATA, NUMBER, at_lines, raw_blocks, whole
from cranfield.formats.objects import Grouping
from cranfield.formats.source import Source
from cranfield.formats.trec import is_data
from cranfield.ids import decode

GroupsFormat = Literal["qrels_jg", "qrels_prefs", "prefs"]

_GROUPS = {
    "qrels_jg": "4 columns: query_id group doc_id grade",
    "qrels_prefs": "4 columns: query_id group doc_id level",
    "prefs": "5 columns: query_id group subgroup doc_id level",
}


def group_lines(
    source: Source, form: GroupsFormat, errors: Errors = "strict"
) -> tuple[Grouping, LeftOut]:
    """Read judgments in groups: {query: {group: [{document: level}, ...]}}, and what was left out.

    `form` is one of trec_eval's formats: "qrels_jg", "qrels_prefs" or "prefs". Raises InputError
    for the first line that is wrong, DuplicateError for a document twice in a subgroup.
    """
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    faults = Faults(errors)
    for line in _lines(source, _GROUPS[form], faults):
        query, group, *subgroup, doc, field = map(decode, line.columns)
        level = _level(line.columns[-1])
        if level is None or (form == "qrels_jg" and whole(line.columns[-1]) is None):
            kind = "whole number as the grade" if form == "qrels_jg" else "number as the level"
            problem = f"expected a {kind} (column {len(line.columns)}), got {field!r}"
            faults.add("number", partial(line.error, problem))
            continue
        parts = found.setdefault(query, {}).setdefault(group, {})
        levels = parts.setdefault("".join(subgroup), {})
        if doc in levels:
            where = ", ".join([f"group {group!r}", *(f"subgroup {name!r}" for name in subgroup)])
            problem = f"the document {doc!r} stands twice for query {query!r}, {where}"
            hint = "Remove one of the two; cranfield does not guess which one is meant."
            faults.add("duplicate", partial(line.error, problem, hint, DuplicateError))
            continue
        levels[doc] = level
    groups_of = {
        query: {group: list(parts.values()) for group, parts in groups.items()}
        for query, groups in found.items()
    }
    return groups_of, faults.left_out


def zscore_lines(source: Source) -> dict[tuple[str, str], tuple[float, float]]:
    """Read means and standard deviations: {(query, measure): (mean, standard deviation)}.

    Raises InputError for the first line that is wrong, DuplicateError for one that comes twice.
    """
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for line in _lines(
        source, "4 columns: query_id measure mean standard_deviation", Faults("strict")
    ):
        query, measure = decode(line.columns[0]), decode(line.columns[1])
        mean, deviation = map(_level, line.columns[2:])
        if mean is None or deviation is None or deviation < 0:
            raise line.error("expected a mean and a standard deviation in columns 3 and 4")
        if (query, measure) in found:
            problem = f"the measure {measure!r} stands twice for query {query!r}"
            raise line.error(problem, kind=DuplicateError)
        found[query, measure] = mean, deviation
    return found


@dataclass(frozen=True)
class _Line:
    """A line of data, of as many columns as it should have."""

    source: Source
    number: int
    text: bytes
    columns: list[bytes]

    def error(
        self, problem: str, hint: str | None = None, kind: type[InputError] = InputError
    ) -> InputError:
        text = self.text.decode("utf-8", "replace")
        return kind(problem, source=self.source.name, line=self.number, text=text, hint=hint)


def _lines(source: Source, expected: str, faults: Faults) -> Iterator[_Line]:
    """Yield the lines of data; InputError if there are none. Others are faults."""
    number, any_data = 0, False
    for _, raw in raw_blocks(source, at_lines, []):
        for text in raw.tobytes().splitlines():
            number += 1
            if not is_data(text):
                continue
            any_data = True
            line = _Line(source, number, text, text.split())
            if len(line.columns) != int(expected[0]):
                problem = f"expected {expected}; got {len(line.columns)}"
                faults.add("columns", partial(line.error, problem))
            elif b"\0" in text:
                faults.add("text", partial(line.error, "holds a null byte: this is no text"))
            else:
                yield line
    if not any_data:
        raise InputError(NO_DATA, source=source.name)


def _level(field: bytes) -> float | None:
    """Return the number that the field holds, None if it holds none or one too large."""
    number = float(field) if NUMBER.fullmatch(field) else math.inf
    return number if abs(number) <= LARGEST_GRADE else None
