"""Judgments in groups: subtopics, each with its weight, or preferences by group and subgroup."""

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from cranfield.arrays.ids import Ids, decode
from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import (
    LARGEST_GRADE,
    DUPLICATE_HINT,
    Block,
    Duplicates,
    Errors,
    FaultLog,
    FaultyRows,
    Load,
    Role,
    Rows,
)
from cranfield.formats.columns import sort_roles
from cranfield.formats.identifiers import with_text_ids
from cranfield.formats.objects import MAPPINGS, as_dict
from cranfield.formats.values import is_number
from cranfield.lazy import cached_property

# {query: {group: [{document: level}, ...]}}, a dict for each subgroup
LevelsOfGroups = dict[str, dict[str, list[dict[str, float]]]]
Weights = dict[str, dict[str, float]]  # {query: {group: weight}}


class GroupRows(Rows):
    """Judgments in groups: {query: {group: [{document: level}, ...]}}, a dict for each subgroup.

    `weights`, if there are any, are {query: {group: weight}}. `rows` are the rows that the groups
    were read from, None for a dict.
    """

    def __init__(
        self,
        groups: LevelsOfGroups,
        weights: Weights | None = None,
        left_out: FaultyRows | None = None,
        rows: Rows | None = None,
        duplicate_rows: FaultyRows | None = None,
    ) -> None:
        self.groups, self.weights, self.description = groups, weights, "dict of dicts"
        if left_out is not None:
            self.left_out = left_out
        if duplicate_rows is not None:
            self.duplicate_rows = duplicate_rows
        if rows is not None:
            self.description, self.sources, self.is_text = rows.description, rows.sources, rows.is_text

    @cached_property
    def extra_roles(self) -> frozenset[Role]:
        """Which columns the judgments need: levels are grades where all are whole numbers."""
        every = [parts for named in self.groups.values() for parts in named.values()]
        levels = (level for parts in every for part in parts for level in part.values())
        found = {"group", "grade" if all(float(one).is_integer() for one in levels) else "level"}
        if any(len(parts) > 1 for parts in every):
            found.add("subgroup")
        return frozenset(found if self.weights is None else {*found, "weight"})

    def select_queries(self, query_ids: Iterable[str]) -> "GroupRows":
        """Return the judgments of some queries."""
        ids = list(query_ids)
        weights = None if self.weights is None else {query: self.weights[query] for query in ids}
        groups = {query: self.groups[query] for query in ids}
        return GroupRows(groups, weights, self.left_out, self, self.duplicate_rows)

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows as one block, with the number of each row's subgroup, if any."""
        yield self.build_block

    def build_block(self) -> Block:
        """Return the rows, with the number of each row's subgroup if there are several."""
        queries, names, docs, numbers, levels = zip(
            *(
                (query, name, doc, number, level)
                for query, named in self.groups.items()
                for name, parts in named.items()
                for number, part in enumerate(parts)
                for doc, level in part.items()
            ),
            strict=True,
        )
        columns: dict[Role, Any] = {
            "group": Ids.of_texts(names),
            "grade": np.array(levels, np.float64 if "level" in self.extra_roles else np.int64),
        }
        if "subgroup" in self.extra_roles:
            columns["subgroup"] = np.array(numbers)
        if self.weights is not None:
            of = zip(queries, names, strict=True)
            columns["weight"] = np.array([self.weights[query][name] for query, name in of])
        return Block(Ids.of_texts(queries), Ids.of_texts(docs), columns)


# ---- from dicts -----------------------------------------------------------------------------


def read_group_dict(data: Mapping[Any, Any]) -> GroupRows | None:
    """Return judgments in groups with text ids; None if the data are plain judgments."""
    if not any(map(_has_groups, data.values())):
        return None
    found: LevelsOfGroups = {}
    for query, groups in with_text_ids(as_dict(data, "the qrels"), "the qrels").items():
        if not _has_groups(groups):
            raise InputError(
                f"the qrels: query {query!r} has no groups, but others have",
                hint="All queries must have {group: {document: level}}, or all {document: grade}.",
            )
        where = f"the qrels: query {query!r}"
        found[query] = {
            name: [
                _check_levels(part, f"{where}, group {name!r}")
                for part in (parts if isinstance(parts, list | tuple) else [parts])
            ]
            for name, parts in with_text_ids(as_dict(groups, where), where).items()
        }
    return GroupRows(found)


def _has_groups(docs: object) -> bool:
    first = next(iter(docs.values()), None) if isinstance(docs, MAPPINGS) else None
    return isinstance(first[0] if isinstance(first, list | tuple) and first else first, Mapping)


def _check_levels(part: object, where: str) -> dict[str, float]:
    if not isinstance(part, Mapping):
        raise InputError(f"{where}: expected {{document: level}}, got {part!r:.80}")
    if not part:
        raise InputError(f"{where}: holds no judgment")
    levels = with_text_ids(as_dict(part, where), where)
    for doc, level in levels.items():
        if not is_number(level) or abs(float(level)) > LARGEST_GRADE:
            raise InputError(f"{where}, document {doc!r}: expected a level, got {level!r:.80}")
    return levels


# ---- from rows ------------------------------------------------------------------------------


def read_group_rows(rows: Rows, errors: Errors, duplicates: Duplicates = "refuse") -> GroupRows:
    """Read rows that have a column of groups: subtopics, or groups of preferences.

    Raises InputError for the first row that is wrong, DuplicateError for a document twice in a
    group unless `duplicates` says which one counts, InputError for a query whose weights add up to
    0.
    """
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    weights: Weights = {}
    faults = FaultLog(errors)
    repeated = FaultLog("strict" if duplicates not in ("first", "best") else "skip")
    wanted = sort_roles(rows.extra_roles)
    number = "level" if "level" in wanted else "grade"
    # Judgments whose rows are all relevant have no column of numbers.
    called = "group" if number == "level" else "subtopic"
    for load in rows.blocks(wanted, errors):
        block = load()
        faults.left_out += block.left_out
        columns = block.columns
        of = [block.query, columns["group"], block.doc]
        of += [columns["subgroup"]] if "subgroup" in columns else []
        ids = zip(*(map(decode, one.to_list()) for one in of), strict=True)
        levels_of = columns[number].tolist() if number in columns else [1.0] * len(block)
        shares = columns["weight"].tolist() if "weight" in columns else [None] * len(block)
        for row, ((query, group, doc, *part), level, share) in enumerate(
            zip(ids, levels_of, shares, strict=True)
        ):
            subgroup = "".join(f", subgroup {name!r}" for name in part)
            where = f"{called} {group!r} of query {query!r}{subgroup}"
            levels = found.get(query, {}).get(group, {}).get(subgroup, {})
            known = weights.get(query, {}).get(group, share)
            fault, hint = None, None
            if abs(level) > LARGEST_GRADE:
                fault = f"expected a level of at most {LARGEST_GRADE:,} for {where}, got {level}"
            elif share is not None and not 0 <= share < math.inf:
                fault = f"expected a weight of 0 or more for {where}, got {share!r}"
            elif share != known:
                fault = f"{where} has the weight {share!r} here, and {known!r} above"
                hint = "All rows of a subtopic must have the same weight."
            if fault is not None:
                faults.add("number", partial(block.row_error, row, fault, hint), 1, block.find_input_row(row))
                continue
            if doc in levels:
                problem = f"the document {doc!r} occurs twice for {where}"
                error = partial(block.row_error, row, problem, DUPLICATE_HINT, DuplicateError)
                repeated.add("duplicate", error, 1, block.find_input_row(row))
                level = levels[doc] if duplicates == "first" else max(level, levels[doc])
            groups = found.setdefault(query, {}).setdefault(group, {})
            groups.setdefault(subgroup, {})[doc] = level
            weights.setdefault(query, {})[group] = share
    grouping = {
        query: {group: list(parts.values()) for group, parts in groups.items()}
        for query, groups in found.items()
    }
    if "weight" not in wanted:
        return GroupRows(grouping, None, faults.left_out, rows, repeated.left_out)
    for query, of_groups in weights.items():
        total = sum(of_groups.values())
        if not 0 < total < math.inf:
            raise InputError(f"the weights of the subtopics of query {query!r} add up to {total!r}")
    return GroupRows(grouping, weights, faults.left_out, rows, repeated.left_out)
