"""Systems, each of which is the mean of its runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from cranfield.comparison.alignment import Aligned
from cranfield.extensions.seeds.columns import Seeds
from cranfield.extensions.seeds.seeds import Group, averaged, groups_of, notes_on


def grouped(
    found: Aligned, runs_of: Mapping[str, Sequence[str]], deterministic: Sequence[str]
) -> Aligned:
    """Return the scores of systems, each of which is the mean of its runs."""
    runs = {} if found.source is None else found.source.runs
    paths = {
        name: [one.path for one in run.sources if one.path is not None]
        for name, run in runs.items()
    }
    groups = tuple(
        Group(
            name,
            tuple(found.names[i] for i in at),
            found.values[:, :, at],
            name in deterministic,
        )
        for name, at in groups_of(runs_of, deterministic, found.names, paths)
    )
    known = [found.known(measure) for measure in found.measures]
    columns = [
        [averaged(measure, one) for measure, one in zip(known, group.values, strict=True)]
        for group in groups
    ]
    judged = found.judged
    if judged is not None:
        places = {name: i for i, name in enumerate(found.names)}
        shares = (judged[:, :, [places[run] for run in one.runs]] for one in groups)
        judged = np.stack([one.mean(axis=2) for one in shares], axis=2)
    return replace(
        found,
        names=tuple(one.name for one in groups),
        values=np.stack([np.stack(column) for column in columns], axis=2),
        notes=(*found.notes, *notes_on(groups)),
        recipe={
            **found.recipe,
            "groups": {one.name: list(one.runs) for one in groups},
            "deterministic": [one.name for one in groups if one.deterministic],
        },
        source=None,  # rankings are those of runs
        judged=judged,
        extra_columns=(*found.extra_columns, Seeds(groups)),
    )
