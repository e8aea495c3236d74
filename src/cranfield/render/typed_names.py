"""Typed names: people read a name as it was typed, programs the one name that it always has."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Self

from cranfield.render.numbers import format_names
from cranfield.render.table import Table


class TypedName(str):
    """A name as programs have it, which was typed in another way.

    >>> name = TypedName("R@5", "recall@5")
    >>> name == "R@5", f"{name}", name.typed_text
    (True, 'R@5', 'recall@5')
    """

    typed_text: str

    def __new__(cls, name: str, typed_text: str) -> Self:
        """Make the name."""
        typed_name = super().__new__(cls, name)
        typed_name.typed_text = typed_text
        return typed_name

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override] # to copy and pickle it
        return f"{self}", self.typed_text


def as_typed(name: str) -> str:
    """Return a name as it was typed."""
    return name.typed_text if isinstance(name, TypedName) else name


def write_as_typed(text: str, names: Iterable[str], other_names: Iterable[str] = ()) -> str:
    """Return a text with the names as they were typed; in a command, only those without a blank.

    Left as they are: a name within another word or a file's, and the `other_names` of the text,
    those of systems and queries.

    >>> names = [TypedName("R@5", "recall@5"), TypedName("AP", "mean average precision")]
    >>> write_as_typed("R@5 0.1, R@50 0.2, AP 0.3: cranfield explain ... -m AP", names)
    'recall@5 0.1, R@50 0.2, mean average precision 0.3: cranfield explain ... -m AP'
    >>> write_as_typed("R@5 of bm25-R@5.run, of my R@5", names, ["my R@5"])
    'recall@5 of bm25-R@5.run, of my R@5'
    """
    text_of_name = {f"{name}": name.typed_text for name in names if isinstance(name, TypedName)}
    if not text_of_name:
        return text
    any_name = "|".join(map(re.escape, text_of_name))
    any_other_name = "|".join(map(re.escape, sorted(other_names, key=len, reverse=True)))

    def choose_name(match: re.Match[str]) -> str:
        if match[2] is None:
            return match[0]
        typed_text = text_of_name[match[2]]
        return match[0] if match[1] and " " in typed_text else match[1] + typed_text

    pattern = rf"((?:-m |--at-least )?)(?<![\w@./-])({any_name})(?![\w@(/-]|\.\w)"
    if any_other_name:
        pattern = rf"(?<!\w)(?:{any_other_name})(?!\w)|{pattern}"
    return re.sub(pattern, choose_name, text)


def describe_typed_names(names: Iterable[str]) -> str:
    """Return the line that tells what the typed names are elsewhere; empty if there are none."""
    parts = [f"{name.typed_text} is {name}" for name in names if isinstance(name, TypedName)]
    return f"{format_names(parts)} in csv, json and Python." if parts else ""


def write_tables_as_typed(
    tables: Sequence[Table], names: Iterable[str], system_names: Iterable[str] = ()
) -> list[Table]:
    """Return tables with the names as typed; a line below the last tells what they are elsewhere.

    Rewritten are headings, the lines above and below, and the cells of a column "measure". The
    names of systems and queries stay: `system_names`, and those that a column of the tables has.
    A measure whose name is that of a system or query, too, keeps it.
    """
    typed_names = list(dict.fromkeys(name for name in names if isinstance(name, TypedName)))
    if not typed_names:
        return [*tables]
    other_names = {
        name
        for name in (*system_names, *_list_own_names(tables))
        if any(f"{typed_name}" in name for typed_name in typed_names)
    }
    typed_names = [name for name in typed_names if f"{name}" not in other_names]
    if not typed_names:
        return [*tables]

    def rewrite(texts: Sequence[str]) -> list[str]:
        return [write_as_typed(text, typed_names, other_names) for text in texts]

    new_tables = []
    for table in tables:
        columns = [*zip(*table.rows, strict=True)]
        for c, heading in enumerate(table.header):
            if heading == "measure" and columns:
                columns[c] = tuple(rewrite(columns[c]))
        new_tables.append(
            replace(
                table,
                header=rewrite(table.header),
                rows=[[*row] for row in zip(*columns, strict=True)],
                notes=rewrite(table.notes),
                title=rewrite(table.title),
                group_headings=rewrite(table.group_headings),
            )
        )
    last_table = new_tables[-1]
    notes = [*last_table.notes, describe_typed_names(typed_names)]
    return [*new_tables[:-1], replace(last_table, notes=notes)]


def _list_own_names(tables: Iterable[Table]) -> Iterator[str]:
    """Yield the names in the columns of systems, runs and queries."""
    for table in tables:
        for c, heading in enumerate(table.header):
            if heading.lower() in ("system", "run", "query_id"):
                yield from (row[c] for row in table.rows)
