"""Collection files: where the judgments and runs of several collections are.

A folder has one for each collection; or a table names the files.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.files import stem_of
from cranfield.formats.small.read import TableForm, Table, read_table
from cranfield.formats.source import Source
from cranfield.formats.url import URL
from cranfield.notes import Note
from cranfield.render.numbers import format_count, format_names

_TABLE_COLUMNS = ("collection", "qrels", "run", "path")
_TABLE_FORM = TableForm("the collections", _TABLE_COLUMNS, required_names=_TABLE_COLUMNS)
_MEASURE_COLUMN = "measure"
_QRELS_NAME = re.compile(r"(.*[0-9._-])?qrels?(?![a-z]).*", re.IGNORECASE)
_RUN_NAME = re.compile(r".*\.(run|runs|res|results|trec)(\..*)?|(run|runs|res)[._-].*", re.IGNORECASE)


@dataclass(frozen=True)
class CollectionFiles:
    """The files of a collection."""

    qrels: str
    runs: Mapping[str, str]  # by the name of the system
    measure: str | None = None  # None: as everywhere


def find_collections(path: str) -> tuple[dict[str, CollectionFiles], list[Note]]:
    """Return the files of each collection, and notes on files that are not read.

    Raises InputError for a folder or a table without collections, and for a collection without
    judgments, or without a run.
    """
    if os.path.isdir(path):
        return _search_folder(path)
    return _read_table(path), []


def _search_folder(path: str) -> tuple[dict[str, CollectionFiles], list[Note]]:
    """Look for a folder of each collection: a file or folder of judgments, and runs."""
    found, left = {}, []
    for name in sorted(os.listdir(path)):
        folder = os.path.join(path, name)
        if os.path.isdir(folder) and not name.startswith("."):
            found[name], others = _search_collection(name, folder)
            left += [f"{name}/{one}" for one in others]
    if not found:
        raise InputError(
            "holds no folder of a collection",
            source=path,
            hint="A folder for each collection, with its judgments (qrels.txt) and runs "
            "(bm25.run); or a table of files: collection,qrels,run,path.",
        )
    if not left:
        return found, []
    text = f"Not read, as neither judgments nor runs: {format_names(left)}."
    return found, [Note("not-read", "info", text, len(left))]


def _search_collection(name: str, folder: str) -> tuple[CollectionFiles, list[str]]:
    """Return the files of a collection, and what else is there."""
    there = sorted(one for one in os.listdir(folder) if not one.startswith("."))
    files = [one for one in there if os.path.isfile(os.path.join(folder, one))]
    qrels = [one for one in files if _QRELS_NAME.fullmatch(one)]
    runs = [one for one in files if _RUN_NAME.fullmatch(one) and one not in qrels]
    for inside in there:
        if os.path.isdir(os.path.join(folder, inside)) and inside in ("qrels", "runs"):
            names = sorted(os.listdir(os.path.join(folder, inside)))
            names = [f"{inside}/{one}" for one in names if not one.startswith(".")]
            if inside == "runs":
                runs += names
            elif not qrels:
                tests = [one for one in names if one.startswith("qrels/test.")]
                qrels = tests or names
    if len(qrels) != 1:
        which = "no file of judgments" if not qrels else f"{format_count(len(qrels), 'file')} of them"
        raise InputError(
            f"the collection {name!r:.80}: expected one file of judgments, got {which}"
            + (f": {format_names(qrels)}" if qrels else ""),
            source=folder,
            hint="Call it qrels.txt, or name the files in a table: collection,qrels,run,path.",
        )
    if not runs:
        raise InputError(
            f"the collection {name!r:.80}: there is no run",
            source=folder,
            hint="Runs are files such as bm25.run, or those in a folder runs.",
        )
    paths = [os.path.join(folder, one) for one in runs]
    others = [one for one in files if one not in (*qrels, *runs)]
    return CollectionFiles(os.path.join(folder, qrels[0]), _path_of_system(name, paths)), others


def _path_of_system(collection: str, paths: Sequence[str]) -> dict[str, str]:
    """Return the files by the names of the systems, which are those of the files."""
    found: dict[str, str] = {}
    for path in paths:
        system = stem_of(Source(path))
        if system in found:
            raise DuplicateError(
                f"the collection {collection!r:.80}: two files are called {system!r:.80}",
                source=path,
                hint=f"The other is {found[system]}.",
            )
        found[system] = path
    return found


def _read_table(path: str) -> dict[str, CollectionFiles]:
    """Read a table of files: a row for each collection and run."""
    table = read_table(path, _TABLE_FORM)
    if not isinstance(table, Table):
        raise table.row_error(None, "expected a table: collection,qrels,run,path")
    problem = _TABLE_FORM.find_missing_names(table.names)
    if problem:
        raise table.row_error(0 if table.n_rows else None, f"{problem}, got {', '.join(table.names)}")
    columns = [table.columns[at] for one in _TABLE_COLUMNS if (at := table.find_column([one])) is not None]
    at_measure = table.find_column([_MEASURE_COLUMN])
    measures = [None] * table.n_rows if at_measure is None else table.columns[at_measure]
    folder, found = os.path.dirname(path), dict[str, CollectionFiles]()
    for row, (*cells, measure) in enumerate(zip(*columns, measures, strict=True)):
        if not all(map(_cell_text, cells)):
            raise table.row_error(row, "expected a collection, its judgments, a system and its run")
        collection, qrels, system, run = (table.read_id(row, one).strip() for one in cells)
        own = CollectionFiles(_resolve_path(folder, qrels), {}, _cell_text(measure))
        known = found.setdefault(collection, own)
        if (known.qrels, known.measure) != (own.qrels, own.measure):
            what = "files of judgments" if known.qrels != own.qrels else "measures"
            raise table.row_error(row, f"the collection {collection!r:.80} has two {what}")
        if system in known.runs:
            problem = f"the collection {collection!r:.80} has two runs of {system!r:.80}"
            raise table.row_error(row, problem, kind=DuplicateError)
        known.runs[system] = _resolve_path(folder, run)  # type: ignore[index] # built here
    if not found:
        raise table.row_error(None, "holds no collection")
    return found


def _resolve_path(folder: str, path: str) -> str:
    """Return a path as seen from the folder of the table; an address as it is."""
    return path if URL.match(path) else os.path.join(folder, path)


def _cell_text(value: Any) -> str | None:
    """Return what a cell holds, None if it is empty."""
    return str(value).strip() or None if value is not None else None
