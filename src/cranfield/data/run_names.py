"""Makes several runs, by name, of what `evaluate` and others take in the place of one run."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cranfield.arrays.ids import encode
from cranfield.data.run import Run, make_run
from cranfield.errors import InputError
from cranfield.formats import split_systems
from cranfield.formats.block import Errors
from cranfield.formats.columns import ColumnsLike, Side
from cranfield.formats.frames import hold_stream
from cranfield.formats.header import NO_IDS
from cranfield.formats.rewrite import open_envelope, plain
from cranfield.formats.shapes import (
    first_of,
    hold_queries,
    is_row,
    kind_of,
    kinds_in,
    read_path,
    refuse_lists_of_ids,
)
from cranfield.formats.stated_columns import expand_systems, list_pairs, states_numbers
from cranfield.notes import join_names


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
    run_or_runs = open_runs(plain(runs, Side.RUN), "strict", columns)
    return {run_or_runs.name: run_or_runs} if isinstance(run_or_runs, Run) else run_or_runs


def open_run(
    run_like: Any, errors: Errors, columns: Any = None, *options: Any
) -> Run | dict[str, Run]:
    """Return a run, or {system: run} of a table of several; `options` are those of `make_run`."""
    run_data = hold_stream(run_like, "the run")
    columns_of_system = expand_systems(columns)
    runs: dict[str | None, Run] = {}
    fault: InputError | None = None  # of a system that another file has
    for system, system_columns in columns_of_system.items():
        try:
            run = make_run(run_data, errors, system_columns, *options)
            if system is None or system.isdigit() or _has_column(run, system):
                runs[system] = run
        except InputError as error:
            if system is None or error.kind not in ("columns", NO_IDS):
                raise
            fault = fault or error
    if not runs:
        names = join_names([*map(str, columns_of_system)])
        raise fault or InputError(f"has none of the columns {names}")
    if len(runs) < len(columns_of_system) and len(runs) == 1:
        return runs.popitem()[1]
    if None in runs:
        run = runs[None]
        if isinstance(run_like, Run) and "system" not in (run.rows.user_columns or {}):
            return run
        rows_of_system, notes = split_systems(run.rows)
        run.notes = (*run.notes, *notes)
        if None in rows_of_system:
            return run
        runs = {system: run.replace_rows(rows) for system, (rows,) in rows_of_system.items()}
    for system, run in runs.items():
        run.name = str(system)
    return {run.name: run for run in runs.values()}


def _has_column(run: Run, name: str) -> bool:
    """Tell whether the rows of a run have a column, or a field of their objects."""
    names = (*run.rows.column_names, *map(str, run.rows.name_of_role.values()))
    return any(name == column or column.endswith(f".{name}") for column in names)


def open_runs(
    runs: Any, errors: Errors, columns: ColumnsLike | None = None
) -> Run | dict[str, Run]:
    """Return a run, or {name: run} of several: of a list, a dict, or a table of several systems."""
    if type(runs) is Run:
        return open_run(runs, errors, columns)
    if isinstance(runs, list | tuple):
        refuse_lists_of_ids(runs, Side.RUN)
        first_run = next(iter(runs), None)
        is_object = kind_of(first_run) not in ("table", "records", "list")
        paths = [path for _, path in list_pairs(columns or {}) if is_object]
        has_paths = any(read_path(first_run, str(path)) is not None for path in paths)
        has_numbers = kind_of(first_run) == "tuple" and states_numbers(columns)
        if has_paths or has_numbers or is_row(first_run):
            return open_run(runs, errors, columns)
        is_own_row = is_object and kind_of(first_run) == "object" and not isinstance(first_run, Run)
        if is_own_row or open_envelope(runs, Side.RUN) is not runs:
            return open_run(runs, errors, columns)
        opened_runs = [open_run(run_like, errors, columns) for run_like in runs]
        name_uniquely = make_unique_namer()
        return {name_uniquely(run.name): run for run in list_runs(opened_runs)}
    if kind_of(runs) == "dict":
        first_run = first_of(runs)
        if type(first_run) is dict and type(next(iter(first_run.values()), None)) is float:
            return make_run(runs, errors, columns)  # scores: as in nearly every run in memory
        is_run_like = isinstance(first_run, Run) or kind_of(first_run) in ("path", "text", "file")
        begins_below = "rows" in (columns or ()) and not is_run_like
        if begins_below or open_envelope(runs, Side.RUN) is not runs:
            return open_run(runs, errors, columns)
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
                opened_run = open_run(run_like, errors, columns)
                for run in list_runs([opened_run]):
                    run_name = str(name) if run is opened_run else f"{name} {run.name}"
                    run_of_name[run_name] = run
                    if run is not run_like:
                        run.name = run_name
            if kind in ("table", "records"):
                _refuse_groups(dict(zip(runs, run_of_name.values(), strict=False)))
            return run_of_name
        return make_run(runs, errors, columns)
    return open_run(runs, errors, columns)


def _refuse_groups(run_of_query: Mapping[Any, Run]) -> None:
    """Raise InputError if each of several tables has rows of the query alone that is its name."""
    queries = [query[0] if isinstance(query, tuple) else query for query in run_of_query]
    if len(queries) > 1 and all(
        {*load().query.to_list()} == {encode(str(query))}
        for query, run in zip(queries, run_of_query.values(), strict=True)
        for load in run.rows.blocks((), "skip")
    ):
        raise InputError(
            f"tables with rows of the query that is their name, {queries[0]!r:.80}: is it one run?",
            hint="One: pandas.concat(run.values()), polars.concat(run.values()). Several: rename.",
        )


def list_runs(opened_runs: Iterable[Run | dict[str, Run]]) -> list[Run]:
    """Return all runs, one or several from each of the inputs of `open_run`."""
    return [
        run
        for opened_run in opened_runs
        for run in ([opened_run] if isinstance(opened_run, Run) else opened_run.values())
    ]
