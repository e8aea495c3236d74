"""Makes several runs, by name, of what `evaluate` and others take in the place of one run."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from cranfield.data.run import Run, make_run
from cranfield.formats.block import Errors
from cranfield.formats.columns import ColumnsLike, Side
from cranfield.formats.frames import is_sparse, is_table
from cranfield.formats.object_rows import is_row
from cranfield.formats.objects import MAPPINGS, refuse_lists_of_ids
from cranfield.formats.source import is_handle


def make_unique_namer() -> Callable[[str], str]:
    """Return a function that makes names unique: it adds a number to a name that was used."""
    taken_names: set[str] = set()

    def name_uniquely(name: str) -> str:
        unique_name, n = name, 1
        while unique_name in taken_names:
            n += 1
            unique_name = f"{name} ({n})"
        taken_names.add(unique_name)
        return unique_name

    return name_uniquely


def _is_nonempty(run: object) -> bool:
    return bool(getattr(run, "__len__", lambda: 1)())


def make_runs(runs: Any, columns: ColumnsLike | None) -> dict[str, Run]:
    """Return {name: run} of one run, or of several."""
    run_of_name = make_several_runs(runs, "strict", columns)
    if run_of_name is not None:
        return run_of_name
    run = make_run(runs, "strict", columns)
    return {run.name: run}


def make_several_runs(
    runs: Any, errors: Errors, columns: ColumnsLike | None = None
) -> dict[str, Run] | None:
    """Return {name: run} of a list, or of a dict {name: run}; None for a single run."""
    if isinstance(runs, list | tuple):
        refuse_lists_of_ids(runs, Side.RUN)
        if len(runs) > 0 and is_row(runs[0]):
            return None
        name_uniquely = make_unique_namer()
        return {
            name_uniquely(run.name): run
            for run in [make_run(run_like, errors, columns) for run_like in runs]
        }
    if isinstance(runs, MAPPINGS) and not is_sparse(runs):
        nonempty_runs = (
            run_like for run_like in runs.values() if is_sparse(run_like) or _is_nonempty(run_like)
        )
        first_run = next(nonempty_runs, None)
        if type(first_run) is dict and type(next(iter(first_run.values()), None)) is float:
            return None  # a score: as in nearly every run in memory
        value_types = (
            set(map(type, first_run.values())) if isinstance(first_run, Mapping) else set()
        )
        holds_lists = any(issubclass(kind, Mapping | list | tuple) for kind in value_types)
        is_run_like = isinstance(first_run, Run | str | os.PathLike) or is_handle(first_run)
        if holds_lists or is_run_like or is_table(first_run) or is_sparse(first_run):
            run_of_name = {}
            for name, run_like in runs.items():
                run_of_name[str(name)] = new_run = make_run(run_like, errors, columns)
                if new_run is not run_like:
                    new_run.name = str(name)
            return run_of_name
    return None
