"""join: scores of measures that a tool ranks differently, as one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.arrays.ids import encode
from cranfield.data.counts import Counts
from cranfield.extensions.tools.rule import Convention, Group
from cranfield.measures import Measure
from cranfield.notes import Note, merge_notes
from cranfield.scoring.scores import Scores, Systems


def join_systems(
    convention: Convention,
    measures: Sequence[Measure],
    supported_measures: Sequence[Measure],
    groups: Sequence[Group],
    group_systems: Sequence[Systems],
) -> Systems:
    """Return the scores by each rule of a convention as one; a note names measures it lacks."""
    parts = [[found[name] for found in group_systems] for name in group_systems[0]]
    systems = Systems(join_scores(convention, supported_measures, groups, one) for one in parts)
    if len(supported_measures) == len(measures):
        return systems
    lacking = ", ".join(str(one) for one in measures if one not in supported_measures)
    text = f"Not computed, since {convention.name} has no such measure: {lacking}."
    note = Note("lacking", "info", text)
    return Systems(replace(one, notes=(*one.notes, note)) for one in systems.values())


def join_scores(
    convention: Convention,
    measures: Sequence[Measure],
    groups: Sequence[Group],
    group_scores: Sequence[Scores],
) -> Scores:
    """Return the scores of one run under a convention: of its `groups`, one of `parts` each.

    The columns are in the order of `wanted`. A query that a part does not average is NaN in its
    columns, and is left out of their means. The recipe has the options that all parts share.
    """
    ids = list(dict.fromkeys(query for part in group_scores for query in part.query_ids))
    if len(group_scores) > 1:
        ids.sort(key=encode)
    row_of = {query: row for row, query in enumerate(ids)}
    found: dict[Measure, tuple[Measure, int | None, Any]] = {}
    for group, part in zip(groups, group_scores, strict=True):
        rows = [row_of[query] for query in part.query_ids]
        for i, (asked, its) in enumerate(group.computed_measures.items()):
            column = np.full(len(ids), np.nan, part.values.dtype)
            column[rows] = part.values[:, i]
            found[asked] = its, group.decimals, column
    # Two that are computed alike are one column.
    ordered = [*{found[one][0]: found[one] for one in measures}.values()]
    largest = max(group_scores, key=lambda one: len(one.query_ids))
    labels = dict.fromkeys((of, name) for part in group_scores for of, name, _ in part.slices)
    slices = [
        (of, name, join_scores(convention, measures, groups, [_find_slice(part, of, name) for part in group_scores]))
        for of, name in labels
    ]
    named = [", ".join(map(str, group.measures)) for group in groups]
    notes = merge_notes(
        ((name, note) for name, part in zip(named, group_scores, strict=True) for note in part.notes),
        n_sources=len(group_scores),
    )
    options = {
        name: value
        for name, value in largest.recipe.items()
        if all(part.recipe[name] == value for part in group_scores)
    }
    text = f"Convention {convention.name}: {convention.tool}."
    return replace(
        largest,
        measures=tuple(its for its, _, _ in ordered),
        query_ids=ids,
        values=np.column_stack([column for _, _, column in ordered]),
        decimals=tuple(decimals for _, decimals, _ in ordered),
        renamed={str(asked): str(its) for asked, (its, _, _) in found.items()},
        recipe={**options, "convention": convention.name},
        notes=(*notes, Note("convention", "info", text)),
        slices=tuple(slices),
    )


def _find_slice(part: Scores, label: str, name: str) -> Scores:
    """Return the scores of the queries that have a label; of a part without such, of no query."""
    for of, its_name, scores in part.slices:
        if (of, its_name) == (label, name):
            return scores
    return part.select_queries(np.zeros(len(part.query_ids), np.bool_), Counts(0, 0, 0, 0))
