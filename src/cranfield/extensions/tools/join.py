"""Joins the scores of measures for which a tool ranks documents differently."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.arrays.ids import encode
from cranfield.data.counts import Counts
from cranfield.extensions.tools.computations import Computation
from cranfield.extensions.tools.rule import Convention
from cranfield.measures import Measure
from cranfield.notes import Note, merge_notes
from cranfield.scoring.scores import Scores, Systems


def join_systems(
    convention: Convention,
    measures: Sequence[Measure],
    computations: Mapping[Measure, Computation],
    groups: Sequence[Sequence[Computation]],
    group_systems: Sequence[Systems],
) -> Systems:
    """Join systems' scores by each group of a convention; a note names measures that it lacks."""
    runs = [[systems[name] for systems in group_systems] for name in group_systems[0]]
    systems = Systems(join_scores(convention, computations, groups, scores) for scores in runs)
    if len(computations) == len(measures):
        return systems
    missing_names = ", ".join(str(measure) for measure in measures if measure not in computations)
    text = f"Not computed, since {convention.name} has no such measure: {missing_names}."
    note = Note("lacking", "info", text)
    return Systems(replace(scores, notes=(*scores.notes, note)) for scores in systems.values())


def join_scores(
    convention: Convention,
    computations: Mapping[Measure, Computation],
    groups: Sequence[Sequence[Computation]],
    group_scores: Sequence[Scores],
) -> Scores:
    """Return the scores of one run under a convention: `group_scores` has the scores of each group.

    The columns are in the order of `computations`. A query that a group does not average is NaN in
    its columns, and is left out of their means. The recipe has the options that all groups share.
    """
    query_ids = list(dict.fromkeys(query for scores in group_scores for query in scores.query_ids))
    if len(group_scores) > 1:
        query_ids.sort(key=encode)
    row_of_query = {query_id: row for row, query_id in enumerate(query_ids)}
    column_of_computation: dict[Computation, Any] = {}
    for group, scores in zip(groups, group_scores, strict=True):
        rows = [row_of_query[query_id] for query_id in scores.query_ids]
        for computation in group:
            column = np.full(len(query_ids), np.nan, scores.values.dtype)
            column[rows] = computation.adjust_values(scores)
            column_of_computation[computation] = column
    # Two measures that are computed alike are one column.
    columns = {
        computation: column_of_computation[computation] for computation in computations.values()
    }
    largest_scores = max(group_scores, key=lambda scores: len(scores.query_ids))
    slices = []
    for label, name in dict.fromkeys(key[:2] for scores in group_scores for key in scores.slices):
        slice_scores = [_find_slice(scores, label, name) for scores in group_scores]
        slices.append((label, name, join_scores(convention, computations, groups, slice_scores)))
    group_names = [", ".join(str(computation.measure) for computation in group) for group in groups]
    notes = merge_notes(
        (
            (name, note)
            for name, scores in zip(group_names, group_scores, strict=True)
            for note in scores.notes
        ),
        n_sources=len(group_scores),
    )
    options = {
        name: value
        for name, value in largest_scores.recipe.items()
        if all(scores.recipe[name] == value for scores in group_scores)
    }
    text = f"Convention {convention.name}: {convention.tool}."
    return replace(
        largest_scores,
        measures=tuple(computation.measure for computation in columns),
        query_ids=query_ids,
        values=np.column_stack([*columns.values()]),
        decimals=tuple(computation.decimals for computation in columns),
        renamed={
            str(measure): str(computation.measure) for measure, computation in computations.items()
        },
        recipe={**options, "convention": convention.name},
        notes=(*notes, Note("convention", "info", text)),
        slices=tuple(slices),
    )


def _find_slice(group_scores: Scores, label: str, name: str) -> Scores:
    """Return a group's scores on a slice of the queries, which may be missing: no query then."""
    for slice_label, slice_name, scores in group_scores.slices:
        if (slice_label, slice_name) == (label, name):
            return scores
    is_selected = np.zeros(len(group_scores.query_ids), np.bool_)
    return group_scores.select_queries(is_selected, Counts(0, 0, 0, 0))
