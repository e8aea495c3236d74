"""Judgments in groups: trec_eval's files, and tables with a column of subtopics."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import IO

from cranfield.arrays.ids import decode
from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import LARGEST_GRADE, Block, Errors, Faults, Progress, Rows
from cranfield.formats.objects import Grouping, Groups, Weights
from cranfield.formats.register import Format, Holds, Target, register
from cranfield.formats.source import Source
from cranfield.formats.text import NO_DATA, at_lines, is_data, raw_blocks
from cranfield.formats.values import NUMBER, whole
from cranfield.formats.write import write_blank_separated

GROUPS = {
    "qrels_jg": "4 columns: query_id group doc_id grade",
    "qrels_prefs": "4 columns: query_id group doc_id level",
    "prefs": "5 columns: query_id group subgroup doc_id level",
}


def group_lines(form: str, source: Source, errors: Errors = "strict") -> Groups:
    """Read judgments in groups.

    `form` is one of trec_eval's formats: "qrels_jg", "qrels_prefs" or "prefs". Raises InputError
    for the first line that is wrong, DuplicateError for a document twice in a subgroup.
    """
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    faults = Faults(errors)
    for line in _lines(source, GROUPS[form], faults):
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
    found_in = Groups(groups_of, None, faults.left_out, f"judgments in groups ({form})")
    found_in.sources = [source]
    return found_in


_ONE = "Remove one of the two; cranfield does not guess which one is meant."


def subtopic_rows(rows: Rows, errors: Errors, progress: Progress | None = None) -> Groups:
    """Read the rows of a table with subtopics, and their weights, if any.

    Raises InputError for the first row that is wrong, or for a query whose weights add up to 0.
    """
    weighted = "weight" in rows.numbers
    groups: Grouping = {}
    weights: Weights = {}
    faults = Faults(errors)
    wanted = ("group", "grade", *(("weight",) if weighted else ()))
    for load in rows.blocks(wanted, errors, progress):
        block = load()
        faults.left_out += block.left_out
        of = (block.query, block.columns["group"], block.doc)
        ids = (map(decode, one.to_list()) for one in of)
        grades = block.columns["grade"].tolist()
        shares = block.columns["weight"].tolist() if weighted else grades
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
        return Groups(groups, None, faults.left_out, rows=rows)
    for query, of_groups in weights.items():
        total = sum(of_groups.values())
        if not 0 < total < math.inf:
            raise InputError(f"the weights of the subtopics of query {query!r} add up to {total!r}")
    return Groups(groups, weights, faults.left_out, rows=rows)


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


# ---- the formats ----------------------------------------------------------------------------


def _write(form: str, stream: IO[bytes], blocks: Iterable[Block], target: Target) -> None:
    def columns(block: Block) -> list[object]:
        subgroup = [block.columns["subgroup"]] if form == "prefs" else []
        return [block.query, block.columns["group"], *subgroup, block.doc, block.value]

    write_blank_separated(stream, blocks, columns, b" ")


_TAKES: dict[str, Callable[[Groups], bool]] = {
    "qrels_jg": lambda groups: groups.are_grades and not groups.has_subgroups,
    "qrels_prefs": lambda groups: not groups.has_subgroups,
    "prefs": lambda groups: True,
}


def _takes(form: str, groups: Groups) -> bool:
    return groups.weights is None and _TAKES[form](groups)


for _form, _title, _row in (
    (
        "qrels_jg",
        "judgments by subtopic",
        "`query_id subtopic doc_id grade`; or any of the tables above, with a column of subtopics",
    ),
    ("qrels_prefs", "preferences by group", "`query_id group doc_id level`"),
    ("prefs", "preferences in groups of groups", "`query_id group subgroup doc_id level`"),
):
    register(
        Format(
            _form,
            _title,
            partial(_write, _form),
            read_groups=partial(group_lines, _form),
            qrels=Holds(_row),
            aliases=("subtopics",) if _form == "qrels_jg" else (),
            takes=partial(_takes, _form),
        )
    )
