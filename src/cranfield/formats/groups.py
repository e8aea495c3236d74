"""Judgments in groups: subtopics, each with its weight, or preferences by group and subgroup."""

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from cranfield.arrays.ids import Ids, decode
from cranfield.errors import DuplicateError, InputError
from cranfield.formats.block import (
    DUPLICATE_HINT,
    LARGEST_GRADE,
    NO_FAULTY_ROWS,
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
    """The rows of {query: {group: [{document: level}, ...]}}, with a dict for each subgroup.

    `weights` are {query: {group: weight}}, None if no weights are stated. `rows` are the rows that
    the groups were read from, None for a dict.
    """

    def __init__(
        self,
        groups: LevelsOfGroups,
        weights: Weights | None = None,
        left_out: FaultyRows = NO_FAULTY_ROWS,
        rows: Rows | None = None,
        duplicate_rows: FaultyRows = NO_FAULTY_ROWS,
    ) -> None:
        self.groups, self.weights, self.description = groups, weights, "dict of dicts"
        self.left_out, self.duplicate_rows = left_out, duplicate_rows
        if rows is not None:
            self.description, self.sources = rows.description, rows.sources
            self.is_text = rows.is_text

    @cached_property
    def extra_roles(self) -> frozenset[Role]:
        """The roles of the columns: levels are grades where all of them are whole numbers."""
        subgroup_lists = [
            subgroups for groups in self.groups.values() for subgroups in groups.values()
        ]
        levels = chain.from_iterable(
            subgroup.values() for subgroups in subgroup_lists for subgroup in subgroups
        )
        are_grades = all(float(level).is_integer() for level in levels)
        roles = {"group", "grade" if are_grades else "level"}
        if any(len(subgroups) > 1 for subgroups in subgroup_lists):
            roles.add("subgroup")
        return frozenset(roles if self.weights is None else {*roles, "weight"})

    def select_queries(self, query_ids: Iterable[str]) -> "GroupRows":
        """Return the judgments of some queries."""
        ids = list(query_ids)
        weights = None if self.weights is None else {query: self.weights[query] for query in ids}
        groups = {query: self.groups[query] for query in ids}
        return GroupRows(groups, weights, self.left_out, self, self.duplicate_rows)

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows as one block, with all their columns."""
        yield self.build_block

    def build_block(self) -> Block:
        """Return the block of all rows, levels as "grade"; with subgroups if a group has two."""
        queries, names, docs, numbers, levels = zip(
            *(
                (query, group, doc, subgroup_number, level)
                for query, groups in self.groups.items()
                for group, subgroups in groups.items()
                for subgroup_number, subgroup in enumerate(subgroups)
                for doc, level in subgroup.items()
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
            pairs = zip(queries, names, strict=True)
            columns["weight"] = np.array([self.weights[query][group] for query, group in pairs])
        return Block(Ids.of_texts(queries), Ids.of_texts(docs), columns)


def read_group_dict(data: Mapping[Any, Any]) -> GroupRows | None:
    """Return judgments in groups with text ids; None if the data are plain judgments."""
    if not any(map(_has_groups, data.values())):
        return None
    grouping: LevelsOfGroups = {}
    for query, groups in with_text_ids(as_dict(data, "the qrels"), "the qrels").items():
        if not _has_groups(groups):
            raise InputError(
                f"the qrels: query {query!r} has no groups, but others have",
                hint="All queries must have {group: {document: level}}, or all {document: grade}.",
            )
        location = f"the qrels: query {query!r}"
        grouping[query] = {
            group: [
                _check_levels(subgroup, f"{location}, group {group!r}")
                for subgroup in (subgroups if isinstance(subgroups, list | tuple) else [subgroups])
            ]
            for group, subgroups in with_text_ids(as_dict(groups, location), location).items()
        }
    return GroupRows(grouping)


def _has_groups(docs: object) -> bool:
    """Tell whether a query's first group has {document: level}, or a list of such dicts."""
    first = next(iter(docs.values()), None) if isinstance(docs, MAPPINGS) else None
    return isinstance(first[0] if isinstance(first, list | tuple) and first else first, Mapping)


def _check_levels(subgroup: object, location: str) -> dict[str, float]:
    """Return {document: level} with text ids; InputError for anything else, or if it is empty."""
    if not isinstance(subgroup, Mapping):
        raise InputError(f"{location}: expected {{document: level}}, got {subgroup!r:.80}")
    if not subgroup:
        raise InputError(f"{location}: holds no judgment")
    levels = with_text_ids(as_dict(subgroup, location), location)
    for doc, level in levels.items():
        if not is_number(level) or abs(float(level)) > LARGEST_GRADE:
            raise InputError(f"{location}, document {doc!r}: expected a level, got {level!r:.80}")
    return levels


def read_group_rows(rows: Rows, errors: Errors, duplicates: Duplicates = "refuse") -> GroupRows:
    """Return judgments in groups from rows with a column of subtopics, or groups of preferences.

    Raises InputError for the first row that is wrong, if `errors` are strict; DuplicateError for a
    document twice in a group (of preferences, a subgroup) unless `duplicates` says which row
    counts; InputError for a query whose weights add up to 0 or to infinity.
    """
    levels_of_query: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    weights: Weights = {}
    faults = FaultLog(errors)
    duplicate_faults = FaultLog("strict" if duplicates not in ("first", "best") else "skip")
    roles = sort_roles(rows.extra_roles)
    level_role = "level" if "level" in roles else "grade"
    group_word = "group" if level_role == "level" else "subtopic"
    for load in rows.blocks(roles, errors):
        block = load()
        faults.left_out += block.left_out
        columns = block.columns
        id_columns = [block.query, columns["group"], block.doc]
        id_columns += [columns["subgroup"]] if "subgroup" in columns else []
        ids = zip(*(map(decode, column.to_list()) for column in id_columns), strict=True)
        # Judgments whose rows are all relevant have no column of numbers.
        level_column = columns[level_role].tolist() if level_role in columns else [1.0] * len(block)
        weight_column = columns["weight"].tolist() if "weight" in columns else [None] * len(block)
        for row, ((query, group, doc, *subgroup_names), level, weight) in enumerate(
            zip(ids, level_column, weight_column, strict=True)
        ):
            subgroup_text = "".join(f", subgroup {name!r}" for name in subgroup_names)
            location = f"{group_word} {group!r} of query {query!r}{subgroup_text}"
            levels = levels_of_query.get(query, {}).get(group, {}).get(subgroup_text, {})
            first_weight = weights.get(query, {}).get(group, weight)
            fault, hint = None, None
            if abs(level) > LARGEST_GRADE:
                fault = f"expected a level of at most {LARGEST_GRADE:,} for {location}, got {level}"
            elif weight is not None and not 0 <= weight < math.inf:
                fault = f"expected a weight of 0 or more for {location}, got {weight!r}"
            elif weight != first_weight:
                fault = f"{location} has the weight {weight!r} here, and {first_weight!r} above"
                hint = "All rows of a subtopic must have the same weight."
            if fault is not None:
                make_error = partial(block.row_error, row, fault, hint)
                faults.add("number", make_error, 1, block.find_input_row(row))
                continue
            if doc in levels:
                problem = f"the document {doc!r} occurs twice for {location}"
                make_error = partial(block.row_error, row, problem, DUPLICATE_HINT, DuplicateError)
                duplicate_faults.add("duplicate", make_error, 1, block.find_input_row(row))
                level = levels[doc] if duplicates == "first" else max(level, levels[doc])
            groups = levels_of_query.setdefault(query, {}).setdefault(group, {})
            groups.setdefault(subgroup_text, {})[doc] = level
            weights.setdefault(query, {})[group] = weight
    grouping = {
        query: {group: list(subgroups.values()) for group, subgroups in groups.items()}
        for query, groups in levels_of_query.items()
    }
    if "weight" not in roles:
        return GroupRows(grouping, None, faults.left_out, rows, duplicate_faults.left_out)
    for query, group_weights in weights.items():
        total = sum(group_weights.values())
        if not 0 < total < math.inf:
            raise InputError(f"the weights of the subtopics of query {query!r} add up to {total!r}")
    return GroupRows(grouping, weights, faults.left_out, rows, duplicate_faults.left_out)
