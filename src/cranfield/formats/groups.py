"""Judgments in groups: trec_eval's files, and tables with a column of subtopics."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import (
    LARGEST_GRADE,
    Errors,
    Faults,
    LeftOut,
    Number,
    Progress,
    Rows,
)
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
            faults.add("duplicate", partial(line.error, problem, _ONE, DuplicateError))
            continue
        levels[doc] = level
    groups_of = {
        query: {group: list(parts.values()) for group, parts in groups.items()}
        for query, groups in found.items()
    }
    return groups_of, faults.left_out


Weights = dict[str, dict[str, float]]  # {query: {subtopic: weight}}
_ONE = "Remove one of the two; cranfield does not guess which one is meant."


def subtopic_rows(
    rows: Rows, errors: Errors, progress: Progress | None = None
) -> tuple[Grouping, Weights | None, LeftOut]:
    """Read the rows of a table with subtopics: the judgments, weights if any, what was left out.

    Raises InputError for the first row that is wrong, or for a query whose weights add up to 0.
    """
    weighted = "weight" in rows.numbers
    groups: Grouping = {}
    weights: Weights = {}
    faults = Faults(errors)
    wanted: tuple[Number, ...] = ("group", "grade", *(("weight",) if weighted else ()))
    for load in rows.blocks(wanted, errors, progress):
        block = load()
        faults.left_out += block.left_out
        assert block.group is not None and block.value is not None  # noqa: S101, PT018 - wanted
        ids = (map(decode, one.to_list()) for one in (block.query, block.group, block.doc))
        grades = block.value.tolist()
        shares = grades if block.weight is None else block.weight.tolist()
        for row, (query, group, doc, grade, share) in enumerate(
            zip(*ids, grades, shares, strict=True)
        ):
            where = f"subtopic {group!r} of query {query!r}"
            (levels,) = groups.get(query, {}).get(group, [{}])
            known = weights.get(query, {}).get(group, share) if weighted else share
            if doc in levels:
                problem = f"the document {doc!r} stands twice for {where}"
                fault = partial(block.error, row, problem, _ONE, DuplicateError)
                faults.add("duplicate", fault)
            elif weighted and not 0 <= share < math.inf:
                problem = f"expected a weight of 0 or more for {where}, got {share!r}"
                faults.add("number", partial(block.error, row, problem))
            elif share != known and weighted:
                problem = f"{where} has the weight {share!r} here, and {known!r} above"
                hint = "A subtopic has one weight, which all its rows state."
                faults.add("number", partial(block.error, row, problem, hint))
            else:
                groups.setdefault(query, {}).setdefault(group, [levels])
                levels[doc] = grade
                weights.setdefault(query, {})[group] = share
    if not weighted:
        return groups, None, faults.left_out
    for query, of_groups in weights.items():
        total = sum(of_groups.values())
        if not 0 < total < math.inf:
            raise InputError(f"the weights of the subtopics of query {query!r} add up to {total!r}")
    return groups, weights, faults.left_out


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
