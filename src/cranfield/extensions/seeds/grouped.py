"""Average the scores of the runs of each system, and show both in a comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.extensions.seeds.columns import SeedColumns
from cranfield.extensions.seeds.seeds import SeedGroup, average_runs, find_groups, list_notes


def average_groups(
    aligned_scores: AlignedScores,
    runs_of_system: Mapping[str, Sequence[str]],
    deterministic: Sequence[str],
) -> AlignedScores:
    """Return the scores of systems, of each the mean of the scores of its runs."""
    runs = {} if aligned_scores.evaluated_runs is None else aligned_scores.evaluated_runs.runs
    paths = {
        name: [source.path for source in run.sources if source.path is not None]
        for name, run in runs.items()
    }
    run_names = aligned_scores.system_names
    groups = tuple(
        SeedGroup(
            name,
            tuple(run_names[i] for i in run_indices),
            aligned_scores.scores[:, :, run_indices],
            name in deterministic,
        )
        for name, run_indices in find_groups(runs_of_system, deterministic, run_names, paths)
    )
    measures = [aligned_scores.find_measure(name) for name in aligned_scores.measures]
    columns = [
        [
            average_runs(measure, scores)
            for measure, scores in zip(measures, group.scores, strict=True)
        ]
        for group in groups
    ]
    judged_shares = aligned_scores.judged_share
    if judged_shares is not None:
        index_of_run = {name: i for i, name in enumerate(run_names)}
        runs_shares = [
            judged_shares[:, :, [index_of_run[run] for run in group.runs]] for group in groups
        ]
        judged_shares = np.stack([shares.mean(axis=2) for shares in runs_shares], axis=2)
    return replace(
        aligned_scores,
        system_names=tuple(group.name for group in groups),
        scores=np.stack([np.stack(column) for column in columns], axis=2),
        notes=(*aligned_scores.notes, *list_notes(groups)),
        recipe={
            **aligned_scores.recipe,
            "groups": {group.name: list(group.runs) for group in groups},
            "deterministic": [group.name for group in groups if group.is_deterministic],
        },
        evaluated_runs=None,  # rankings are those of runs
        judged_share=judged_shares,
        extra_columns=(*aligned_scores.extra_columns, SeedColumns(groups)),
    )
