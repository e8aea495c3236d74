"""Several runs, by name: what a verb is given in the place of one."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from cranfield.data.run import Run, make_run
from cranfield.formats.block import Errors
from cranfield.formats.columns import ColumnsLike, Side
from cranfield.formats.frames import is_row, is_sparse, is_table
from cranfield.formats.objects import MAPPINGS, refuse_lists_of_ids


def make_unique_namer() -> Callable[[str], str]:
    """Return what names systems: a number is added where two have the same name."""
    taken: set[str] = set()

    def numbered(name: str) -> str:
        found, n = name, 1
        while found in taken:
            n += 1
            found = f"{name} ({n})"
        taken.add(found)
        return found

    return numbered


def _is_nonempty(one: object) -> bool:
    return bool(getattr(one, "__len__", lambda: 1)())


def make_runs(runs: Any, columns: ColumnsLike | None) -> dict[str, Run]:
    """Return one run, or several, by name."""
    run_of_name = make_several_runs(runs, "strict", columns)
    if run_of_name is not None:
        return run_of_name
    run = make_run(runs, "strict", columns)
    return {run.name: run}


def make_several_runs(
    runs: Any, errors: Errors, columns: ColumnsLike | None = None
) -> dict[str, Run] | None:
    """Return the runs of a list, or of a dict {name: run}, by name; None if it is one run."""
    if isinstance(runs, list | tuple):
        refuse_lists_of_ids(runs, Side.RUN)
        if len(runs) > 0 and is_row(runs[0]):
            return None
        numbered = make_unique_namer()
        return {numbered(one.name): one for one in [make_run(one, errors, columns) for one in runs]}
    if isinstance(runs, MAPPINGS) and not is_sparse(runs):
        some = (one for one in runs.values() if is_sparse(one) or _is_nonempty(one))
        first = next(some, None)
        if type(first) is dict and type(next(iter(first.values()), None)) is float:
            return None  # a score: as in nearly every run in memory
        kinds = set(map(type, first.values())) if isinstance(first, Mapping) else set()
        nested = any(issubclass(kind, Mapping | list | tuple) for kind in kinds)
        of_other_kind = isinstance(first, Run | str | os.PathLike)
        if nested or of_other_kind or is_table(first) or is_sparse(first):
            named = {}
            for name, one in runs.items():
                named[str(name)] = made = make_run(one, errors, columns)
                if made is not one:
                    made.name = str(name)
            return named
    return None
