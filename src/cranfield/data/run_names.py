"""Makes several runs, by name, of what `evaluate` and others take in the place of one run."""

from collections.abc import Callable
from typing import Any

from cranfield.data.run import Run, make_run
from cranfield.formats.block import Errors
from cranfield.formats.columns import ColumnsLike, Side
from cranfield.formats.envelopes import open_envelope, read_path
from cranfield.formats.shapes import (
    first_of,
    hold_queries,
    is_row,
    kind_of,
    kinds_in,
    plain,
    refuse_lists_of_ids,
)
from cranfield.formats.stated_columns import list_pairs


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


def make_runs(runs: Any, columns: ColumnsLike | None) -> dict[str, Run]:
    """Return {name: run} of one run, or of several."""
    runs = plain(runs, Side.RUN)
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
        is_object = len(runs) > 0 and kind_of(runs[0]) not in ("table", "records", "list")
        paths = [str(path) for _, path in list_pairs(columns or {}) if is_object]
        has_paths = any(read_path(runs[0], path) is not None for path in paths)
        if len(runs) > 0 and (is_row(runs[0]) or has_paths):
            return None
        if open_envelope(runs, Side.RUN) is not runs:
            return None
        name_uniquely = make_unique_namer()
        return {
            name_uniquely(run.name): run
            for run in [make_run(run_like, errors, columns) for run_like in runs]
        }
    if kind_of(runs) == "dict":
        first_run = first_of(runs)
        if type(first_run) is dict and type(next(iter(first_run.values()), None)) is float:
            return None  # a score: as in nearly every run in memory
        is_run_like = isinstance(first_run, Run) or kind_of(first_run) in ("path", "text")
        begins_below = "rows" in (columns or ()) and not is_run_like
        if begins_below or open_envelope(runs, Side.RUN) is not runs:
            return None
        plain_run = plain(first_run, Side.RUN)
        kind = kind_of(plain_run)
        kinds_in_run = kinds_in(plain_run.values()) if kind == "dict" else set()
        if (
            is_run_like
            or kind in ("table", "records", "sparse")
            or kinds_in_run & {"dict", "list", "tuple"}
            or hold_queries(plain_run, runs, columns)
        ):
            run_of_name = {}
            for name, run_like in runs.items():
                run_like = plain_run if run_like is first_run else run_like  # it may be read once
                run_of_name[str(name)] = new_run = make_run(run_like, errors, columns)
                if new_run is not run_like:
                    new_run.name = str(name)
            return run_of_name
    return None
