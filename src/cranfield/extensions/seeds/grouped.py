"""Systems, each of which is the mean of its runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cranfield.comparison.alignment import Aligned
from cranfield.extensions.seeds.columns import Seeds
from cranfield.extensions.seeds.seeds import Group, averaged, groups_of, notes_on


def join_groups(
    aligned: Aligned, runs_of_system: Mapping[str, Sequence[str]], deterministic: Sequence[str]
) -> Aligned:
    """Return the scores of systems, each of which is the mean of its runs."""
    runs = {} if aligned.source is None else aligned.source.runs
    paths = {
        name: [source.path for source in run.sources if source.path is not None]
        for name, run in runs.items()
    }
    groups = tuple(
        Group(
            name,
            tuple(aligned.names[i] for i in places),
            aligned.values[:, :, places],
            name in deterministic,
        )
        for name, places in groups_of(runs_of_system, deterministic, aligned.names, paths)
    )
    measures = [aligned.known(name) for name in aligned.measures]
    columns = [
        [averaged(measure, scores) for measure, scores in zip(measures, group.values, strict=True)]
        for group in groups
    ]
    judged_shares = aligned.judged
    if judged_shares is not None:
        place_of_run = {name: i for i, name in enumerate(aligned.names)}
        runs_shares = [
            judged_shares[:, :, [place_of_run[run] for run in group.runs]] for group in groups
        ]
        judged_shares = np.stack([shares.mean(axis=2) for shares in runs_shares], axis=2)
    return replace(
        aligned,
        names=tuple(group.name for group in groups),
        values=np.stack([np.stack(column) for column in columns], axis=2),
        notes=(*aligned.notes, *notes_on(groups)),
        recipe={
            **aligned.recipe,
            "groups": {group.name: list(group.runs) for group in groups},
            "deterministic": [group.name for group in groups if group.deterministic],
        },
        source=None,  # rankings are those of runs
        judged=judged_shares,
        extra_columns=(*aligned.extra_columns, Seeds(groups)),
    )
