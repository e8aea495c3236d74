"""Collection files: finds the judgments and runs of several collections.

A folder has one for each collection; or a table names the files.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.files import stem_of
from cranfield.formats.small.read import Table, TableForm, read_table
from cranfield.formats.source import Source
from cranfield.formats.url import URL
from cranfield.notes import Note
from cranfield.render.numbers import format_count, format_names

_TABLE_COLUMNS = ("collection", "qrels", "run", "path")
_TABLE_FORM = TableForm("the collections", _TABLE_COLUMNS, required_names=_TABLE_COLUMNS)
_MEASURE_COLUMN = "measure"
_QRELS_NAME = re.compile(r"(.*[0-9._-])?qrels?(?![a-z]).*", re.IGNORECASE)
_RUN_NAME = re.compile(
    r".*\.(run|runs|res|results|trec)(\..*)?|(run|runs|res)[._-].*", re.IGNORECASE
)


@dataclass(frozen=True)
class CollectionFiles:
    """The files of a collection, as paths or URLs, and its own measure."""

    qrels: str
    runs: Mapping[str, str]  # by the name of the system
    measure: str | None = None  # None: as everywhere


def find_collections(path: str) -> tuple[dict[str, CollectionFiles], list[Note]]:
    """Return the files of each collection, and notes on files that are not read.

    Raises InputError for a folder or a table without collections, for a collection without a run or
    one file of judgments, and for a table that is wrong; DuplicateError for two runs of a system.
    """
    if os.path.isdir(path):
        return _search_folder(path)
    return _read_table(path), []


def _search_folder(path: str) -> tuple[dict[str, CollectionFiles], list[Note]]:
    """Return the files of each collection, a folder in this one, and a note on other files."""
    files_of_collection, unread_files = {}, []
    for name in sorted(os.listdir(path)):
        folder = os.path.join(path, name)
        if os.path.isdir(folder) and not name.startswith("."):
            files_of_collection[name], unread_names = _search_collection(name, folder)
            unread_files += [f"{name}/{file}" for file in unread_names]
    if not files_of_collection:
        raise InputError(
            "holds no folder of a collection",
            source=path,
            hint="A folder for each collection, with its judgments (qrels.txt) and runs "
            "(bm25.run); or a table of files: collection,qrels,run,path.",
        )
    if not unread_files:
        return files_of_collection, []
    text = f"Not read, as neither judgments nor runs: {format_names(unread_files)}."
    return files_of_collection, [Note("not-read", "info", text, len(unread_files))]


def _search_collection(name: str, folder: str) -> tuple[CollectionFiles, list[str]]:
    """Return the judgments and runs in a collection's folder, its qrels/ and runs/; other files."""
    entries = sorted(entry for entry in os.listdir(folder) if not entry.startswith("."))
    file_names = [entry for entry in entries if os.path.isfile(os.path.join(folder, entry))]
    qrels_files = [file for file in file_names if _QRELS_NAME.fullmatch(file)]
    run_files = [
        file for file in file_names if _RUN_NAME.fullmatch(file) and file not in qrels_files
    ]
    for entry in entries:
        if os.path.isdir(os.path.join(folder, entry)) and entry in ("qrels", "runs"):
            names = sorted(os.listdir(os.path.join(folder, entry)))
            names = [f"{entry}/{file}" for file in names if not file.startswith(".")]
            if entry == "runs":
                run_files += names
            elif not qrels_files:
                qrels_files = [file for file in names if file.startswith("qrels/test.")] or names
    if len(qrels_files) != 1:
        problem = f"{format_count(len(qrels_files), 'file')} of them"
        if not qrels_files:
            problem = "no file of judgments"
        raise InputError(
            f"the collection {name!r:.80}: expected one file of judgments, got {problem}"
            + (f": {format_names(qrels_files)}" if qrels_files else ""),
            source=folder,
            hint="Call it qrels.txt, or name the files in a table: collection,qrels,run,path.",
        )
    if not run_files:
        raise InputError(
            f"the collection {name!r:.80}: there is no run",
            source=folder,
            hint="Runs are files such as bm25.run, or those in a folder runs.",
        )
    paths = [os.path.join(folder, file) for file in run_files]
    unread_names = [file for file in file_names if file not in (*qrels_files, *run_files)]
    qrels = os.path.join(folder, qrels_files[0])
    return CollectionFiles(qrels, _path_of_system(name, paths)), unread_names


def _path_of_system(collection: str, paths: Sequence[str]) -> dict[str, str]:
    """Return {system: path} of runs; a system is called as its file is."""
    path_of_system: dict[str, str] = {}
    for path in paths:
        system = stem_of(Source(path))
        if system in path_of_system:
            raise DuplicateError(
                f"the collection {collection!r:.80}: two files are called {system!r:.80}",
                source=path,
                hint=f"The other is {path_of_system[system]}.",
            )
        path_of_system[system] = path
    return path_of_system


def _read_table(path: str) -> dict[str, CollectionFiles]:
    """Return the files of each collection in a table with a row for each collection and run."""
    table = read_table(path, _TABLE_FORM)
    if not isinstance(table, Table):
        raise table.row_error(None, "expected a table: collection,qrels,run,path")
    problem = _TABLE_FORM.find_missing_names(table.names)
    if problem:
        raise table.row_error(
            0 if table.n_rows else None, f"{problem}, got {', '.join(table.names)}"
        )
    columns = [
        table.columns[position]
        for column_name in _TABLE_COLUMNS
        if (position := table.find_column([column_name])) is not None
    ]
    measure_position = table.find_column([_MEASURE_COLUMN])
    measures = (
        [None] * table.n_rows if measure_position is None else table.columns[measure_position]
    )
    folder, files_of_collection = os.path.dirname(path), dict[str, CollectionFiles]()
    for row, (*cells, measure) in enumerate(zip(*columns, measures, strict=True)):
        if not all(map(_cell_text, cells)):
            raise table.row_error(row, "expected a collection, its judgments, a system and its run")
        collection, qrels, system, run = (table.read_id(row, cell).strip() for cell in cells)
        row_files = CollectionFiles(_resolve_path(folder, qrels), {}, _cell_text(measure))
        files = files_of_collection.setdefault(collection, row_files)
        if (files.qrels, files.measure) != (row_files.qrels, row_files.measure):
            kind_of_conflict = (
                "files of judgments" if files.qrels != row_files.qrels else "measures"
            )
            raise table.row_error(
                row, f"the collection {collection!r:.80} has two {kind_of_conflict}"
            )
        if system in files.runs:
            problem = f"the collection {collection!r:.80} has two runs of {system!r:.80}"
            raise table.row_error(row, problem, kind=DuplicateError)
        files.runs[system] = _resolve_path(folder, run)  # type: ignore[index] # built here
    if not files_of_collection:
        raise table.row_error(None, "holds no collection")
    return files_of_collection


def _resolve_path(folder: str, path: str) -> str:
    """Return a path, relative to the folder of the table, joined to it; a URL as it is."""
    return path if URL.match(path) else os.path.join(folder, path)


def _cell_text(cell: Any) -> str | None:
    """Return the text of a cell; None if it is empty."""
    return str(cell).strip() or None if cell is not None else None
