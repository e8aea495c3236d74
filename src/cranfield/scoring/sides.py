"""Sides: tables that hold both judgments and a run, in the place of both."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.data.qrels import Qrels
from cranfield.data.run import Run, numbering
from cranfield.errors import InputError
from cranfield.formats import both_rows_of
from cranfield.formats.block import Duplicates, Errors, Rows
from cranfield.formats.columns import ColumnsOfBoth
from cranfield.formats.frames import is_row, is_table
from cranfield.formats.objects import refuse_columns
from cranfield.notes import Note


@dataclass(frozen=True)
class Sides:
    """The judgments and the run of each of some tables: (name, judgments, run).

    Several tables are as many systems over the same queries; `is_one`: it was no list of tables.
    """

    tables: Sequence[tuple[str | None, Rows, Rows]]
    is_one: bool

    def read(
        self, errors: Errors, duplicates: Duplicates = "refuse"
    ) -> tuple[Qrels, Run | dict[str, Run]]:
        """Return the judgments, and the run, or the runs by name.

        Raises InputError for what cannot be read, and for tables with other judgments.
        """
        runs: dict[str, Run] = {}
        judgments: dict[str, Qrels] = {}
        numbered = numbering()
        for given, judged, ranked in self.tables:
            run = Run(ranked, given, errors=errors)
            run.name = numbered(run.name)
            runs[run.name] = run
            judgments[run.name] = _qrels_of(judged, ranked, errors, duplicates)
        first, *others = judgments
        for other in others:
            _refuse_other_judgments(first, judgments[first], other, judgments[other])
        return judgments[first], runs[first] if self.is_one else runs


def sides_of(data: Any, columns: ColumnsOfBoth | None, errors: Errors) -> Sides | None:
    """Return what a table holds, or several: a list of tables or files, or a dict {name: table}.

    None if the data are no tables; InputError if one of them does not hold both.
    """
    named = _tables(data)
    is_one = named is None
    if named is None:
        if isinstance(data, dict):
            refuse_columns(data, "the first argument")
        if not _is_table(data):
            return None
        named = [(None, data)]
    found = []
    for name, one in named:
        is_path = isinstance(one, str | os.PathLike)
        both = both_rows_of(one, columns=columns, errors=errors, is_path=is_path)
        found.append((name, *both))
    return Sides(found, is_one)


def _qrels_of(judged: Rows, ranked: Rows, errors: Errors, duplicates: Duplicates) -> Qrels:
    qrels = Qrels(judged, errors=errors, duplicates=duplicates)
    if judged.taken["doc"] != ranked.taken["doc"]:
        return qrels
    text = "Judged: the documents of the table alone, all of which were retrieved."
    return qrels.replaced(notes=(*qrels.notes, Note("judged-retrieved", "info", text)))


def _refuse_other_judgments(name: str, ours: Qrels, other: str, theirs: Qrels) -> None:
    """Raise InputError unless two tables hold the same judgments."""
    one, two = ours.to_dict(), theirs.to_dict()
    if one == two:
        return
    query = next(q for q in [*one, *two] if one.get(q) != two.get(q))
    shown = [
        f"{_shown(judged[query])} in {where}" if query in judged else f"none in {where}"
        for where, judged in ((name, one), (other, two))
    ]
    raise InputError(
        f"the judgments of {name} and {other} differ: query {query!r:.80} has {', '.join(shown)}",
        hint="Several tables are several systems over the same judgments; of others, give the "
        "judgments first, once, and then the runs.",
    )


def _shown(judged: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{doc!r}: {grade}" for doc, grade in [*judged.items()][:3])
    return f"{{{listed}{', ...' if len(judged) > 3 else ''}}}"


def _tables(data: Any) -> list[tuple[str | None, Any]] | None:
    """Return (name, table) of each of several tables; None for anything else."""
    if isinstance(data, dict) and data and all(map(_is_table, data.values())):
        return [(str(name), one) for name, one in data.items()]
    if isinstance(data, list | tuple) and data and all(map(_is_table, data)):
        return [(None, one) for one in data]
    return None


def _is_table(data: Any) -> bool:
    """Tell whether the data may be a table of named columns: a file, a frame, a list of dicts."""
    if isinstance(data, str | os.PathLike) or is_table(data):
        return True
    if isinstance(data, list):
        named = len(data) > 0 and (isinstance(data[0], Mapping) or hasattr(data[0], "_fields"))
        return named and is_row(data[0])
    return getattr(getattr(data, "dtype", None), "names", None) is not None
