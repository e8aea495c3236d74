"""Files of runs and judgments: how they are found, recognised, read and written."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cranfield.arrays.ids import decode
from cranfield.errors import InputError, OptionError, check_choice
from cranfield.formats import columnar, delimited, json, jsonl, trec
from cranfield.formats.block import Block, Errors, Load, Role, Rows
from cranfield.formats.columns import COLUMNS, ColumnsLike, Side, roles_of
from cranfield.formats.format import InputFile, Format, OutputFile
from cranfield.formats.groups import GroupRows
from cranfield.formats.list_cells import to_document_rows
from cranfield.formats.source import Path, Source, open_to_write
from cranfield.formats.stated_columns import resolve_roles
from cranfield.formats.text import LONGEST_LINE, find_data, is_data_line, no_data_error, refuse_binary
from cranfield.formats.url import local_path
from cranfield.formats.values import INTEGER
from cranfield.formats.write import NotTextError
from cranfield.notes import Note

_SAMPLE_BYTES = 1 << 16
_LONGEST_PREFACE = 1 << 24  # blank lines and comments, before the first line of data


#: Every format by its name, in the order in which formats are shown and tried on a file.
FORMATS: Mapping[str, Format] = {
    one.name: one
    for several in (
        trec.FORMATS,
        delimited.FORMATS,
        jsonl.FORMATS,
        json.FORMATS,
        columnar.FORMATS,
        trec.GROUP_FORMATS,
    )
    for one in several
}
# The format that a file name's suffix means.
FORMAT_OF_SUFFIX = {suffix: one.name for one in FORMATS.values() for suffix in one.suffixes}


def format_names(side: Side) -> list[str]:
    """Return the names of the formats that hold runs, or judgments."""
    some = [one for one in FORMATS.values() if one.capacity(side)]
    aliases = [alias for one in some for alias in one.aliases if side is Side.QRELS]
    return [*(one.name for one in some), *aliases]


def _find_format(name: str) -> Format:
    """Return the format with this name or alias, which must exist."""
    return next(one for one in FORMATS.values() if name in (one.name, *one.aliases))


def stem_of(source: Source) -> str:
    """Return the file's name without suffixes of format and compression: the name of a run."""
    if source.path == "-":
        return "stdin"
    root, suffix = source.name_parts
    return root if suffix.lower() in FORMAT_OF_SUFFIX and root else root + suffix


# ---- reading --------------------------------------------------------------------------------


def _combine_files(name: str, combine: Callable[[Iterator[Any]], Any]) -> Any:
    """Return a property of Files: what its files have, combined, once they are opened."""
    return property(lambda files: combine(getattr(rows, name) for rows in files.rows))


class FileRows(Rows):
    """The rows of one file, or of several as one table; opened on first use."""

    def __init__(
        self,
        sources: Sequence[Source],
        side: Side,
        form: Format | None,
        columns: ColumnsLike | None,
    ) -> None:
        self.sources = sources
        self._side = side
        self._form = form
        self._columns = columns
        self._rows: list[Rows] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: it opens the files again."""
        return {**self.__dict__, "_rows": None}

    @property
    def rows(self) -> list[Rows]:
        """The rows of each file."""
        if self._rows is None:
            self._rows = [
                to_document_rows(
                    _recognize_rows(source, self._side, self._form, self._columns),
                    self._side,
                    self._columns,
                )
                for source in self.sources
            ]
            for rows in self._rows:
                rows.read_side = self.read_side  # type: ignore[method-assign] # of all the files
                rows.sources = self.sources
                rows.ignores_hash_rows = self.ignores_hash_rows
            self._refuse_mixture(self._rows)
        return self._rows

    def read_side(self, side: Side, user_columns: ColumnsLike | None) -> "FileRows":
        """Return the other side of the same files, with shared sources: a pipe is read once."""
        rows = FileRows(self.sources, side, self._form, user_columns)
        rows.run_name = self.run_name
        return rows

    column_names = _combine_files("names", next)  # of the first file
    name_of_role = _combine_files("taken", next)
    list_columns = _combine_files("lists", next)
    list_kind = _combine_files("lists_of", next)
    distance_column = _combine_files("distance", next)
    duplicate_reason = _combine_files("twice", next)
    has_grades = _combine_files("graded", all)
    is_text = _combine_files("is_text", any)
    is_ranking = _combine_files("is_ranking", all)

    def _refuse_mixture(self, rows_of_files: Sequence[Rows]) -> None:
        """Raise InputError unless all files have the same columns, where that matters.

        Also for several files of plain lists, whose queries are numbered within one file.
        """
        for one, source in zip(rows_of_files, self.sources, strict=True):
            if one.list_kind == "ids" and len(rows_of_files) > 1:
                raise InputError(
                    f"was read as {one.description}: these are numbered in one file, not in several",
                    source=source.name,
                    hint='Put the lists into one file, or give them names: {"q1": [...], ...}.',
                    kind="columns",
                )
        roles_of_files = [{*file.extra_roles, *file.name_of_role} for file in rows_of_files]  # also distances
        for role, column in COLUMNS.items():
            for one, roles, source in zip(rows_of_files, roles_of_files, self.sources, strict=True):
                if column.plural and (role in roles) != (role in roles_of_files[0]):
                    raise InputError(
                        f"was read as {one.description}, and {self.sources[0].name} as {rows_of_files[0].description}: "
                        f"either all files of one table have {column.plural}, or none of them",
                        source=source.name,
                        kind="columns",
                    )

    @property
    def description(self) -> str:  # type: ignore[override] # known once they are opened
        """What the files were understood to be, in words."""
        forms = "; ".join(dict.fromkeys(one.description for one in self.rows))
        return forms if len(self.rows) == 1 else f"{len(self.rows):,} files, {forms}"

    @property
    def extra_roles(self) -> frozenset[Role]:  # type: ignore[override] # known once they are opened
        """Which columns of numbers all of the files have."""
        return frozenset.intersection(*(one.extra_roles for one in self.rows))

    @property
    def notes(self) -> tuple[Note, ...]:  # type: ignore[override] # known once they were read
        """What is odd about the rows of each file."""
        return tuple(note for rows in self.rows for note in rows.notes)

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks, file after file."""
        roles = tuple(roles)
        for one in self.rows:
            yield from one.blocks(roles, errors)


def open_files(
    paths_like: Path | Sequence[Path],
    side: Side,
    format_name: str | None = None,
    user_columns: ColumnsLike | None = None,
) -> FileRows:
    """Return the rows of a file, a folder, a URL, or of several files as one table.

    `name` is the format's; None: it is detected. Raises OptionError for a format or a column that
    does not exist. Errors in the files are raised when they are read.
    """
    form = None
    if format_name is not None:
        check_choice("format", format_name, format_names(side))
        form = _find_format(format_name)
        if form.is_for_groups and user_columns:
            raise OptionError(f"format={format_name!r} takes no columns")
    resolve_roles(user_columns, side)
    paths = list(paths_like) if isinstance(paths_like, Iterable) and not isinstance(paths_like, str) else [paths_like]
    for one in paths:
        if not isinstance(one, str | os.PathLike):
            raise InputError(f"expected the path of a file, or a list of paths, got {paths_like!r:.80}")
    every = [one for each in paths for one in _expand_path(os.fspath(each), side)]
    if not every:
        raise InputError("no file is given")
    rows = FileRows([Source(one) for one in every], side, form, user_columns)
    if len(paths) == 1 and every != [os.fspath(paths[0])]:  # a folder or a glob
        paths_like = local_path(os.fspath(paths[0]))
        rows.run_name = os.path.basename(os.path.abspath(paths_like)) if os.path.isdir(paths_like) else paths_like
    return rows


def _expand_path(path: str, what: Side) -> list[str]:
    """Return the files that a path names: the path alone, or the files of a glob or folder."""
    if os.path.isdir(folder := local_path(path)):
        return _list_folder(folder, what)
    if glob.has_magic(path) and "://" not in path and not os.path.exists(path):
        found = sorted(one for one in glob.glob(path, recursive=True) if os.path.isfile(one))
        if not found:
            raise InputError("no file has such a name", source=path)
        return found
    return [path]


def _list_folder(path: str, what: Side) -> list[str]:
    """Return the files with a BEIR folder's judgments, or with the parts of a table."""
    names = sorted(name for name in os.listdir(path) if not name.startswith((".", "_")))
    if what is not Side.RUN and "qrels" in names and os.path.isdir(os.path.join(path, "qrels")):
        return _list_folder(os.path.join(path, "qrels"), what)
    tests = [name for name in names if os.path.splitext(name)[0] == "test" and "." in name]
    if what is not Side.RUN and len(tests) == 1:
        return [os.path.join(path, tests[0])]
    parts = sorted(
        os.path.join(folder, name)
        for folder, _, files in os.walk(path)
        for name in files
        if name.lower().endswith((".parquet", ".pq")) and not name.startswith((".", "_"))
    )
    if parts:
        return parts
    qrels = [name for name in names if name.endswith((".tsv", ".jsonl"))]
    if what is not Side.RUN and len(qrels) == 1:
        return [os.path.join(path, qrels[0])]
    shown = ", ".join(map(repr, names[:10])) or "nothing"
    raise InputError(
        f"is a directory, not a file; it holds {shown}",
        source=path,
        hint="In a BEIR folder, qrels/test.tsv is read; in any other, the Parquet files, as one "
        "table. Name the file, or several files by a glob in quotation marks.",
    )


def _recognize_rows(
    source: Source, what: Side, form: Format | None, columns: ColumnsLike | None
) -> Rows:
    """Return a file's rows, in the stated format or the one detected from content and name."""
    file = InputFile(source, what, _read_sample(source), columns)
    if form is None:
        able = [one for one in FORMATS.values() if one.capacity(what)]
        found = _sniff_rows(file, [one for one in able if one.magic])
        if found is not None:
            return found
        _refuse_non_text(source, file.sample)
        form = FORMATS.get(FORMAT_OF_SUFFIX.get(source.suffix, ""))
        if form is None or not form.is_decided_by_suffix or not form.capacity(what):
            found = _sniff_rows(file, [one for one in able if not one.magic])
            if found is not None:
                return found
            form = FORMATS["trec"]
            if what is Side.EXCLUDED and not columns:
                file = replace(file, what=guess_side(source.path) or Side.QRELS)
    if not form.magic:
        _refuse_non_text(source, file.sample)
    return form.read(file)


def _sniff_rows(file: InputFile, formats: Iterable[Format]) -> Rows | None:
    """Return the rows in the first format that the file looks like."""
    return next((rows for one in formats if (rows := one.sniff(file)) is not None), None)


def _is_binary(sample: bytes) -> bool:
    """Tell whether the first bytes of a file are not text."""
    return any(sample.startswith(magic) for one in FORMATS.values() for magic in one.magic)


def _refuse_non_text(source: Source, sample: bytes) -> None:
    refuse_binary(source, sample[:4096])
    if find_data(sample) is None:
        if len(sample) < _LONGEST_PREFACE:
            raise no_data_error(source, sample)
        raise InputError(
            f"holds no data in its first {len(sample):,} bytes, only comments and blank lines",
            source=source.name,
            hint="Remove the lines above the data: the file is not read further.",
        )


def guess_side(path: Path) -> Side | None:
    """Distinguish runs and judgments by the file's columns, or else its name; None if unclear."""
    first = local_path(_expand_path(os.fspath(path), Side.QRELS)[0])
    if not os.path.isfile(first):
        return None  # a pipe is not read for this
    source = Source(first)
    name = os.path.basename(source.path).lower()
    if "qrels" in name or source.suffix == ".qrels":
        return Side.QRELS
    try:
        taken = _recognize_rows(source, Side.QRELS, None, None).description.split(", ")
    except InputError:
        return Side.RUN
    if taken[0].startswith("JSON: "):  # these may be grades or scores
        return Side.RUN if source.suffix == ".run" else None
    if taken[0].startswith("TREC"):
        lines = [line.split() for line in _read_sample(source).splitlines() if is_data_line(line)]
        judged = all(len(line) == 4 and INTEGER.fullmatch(line[3]) for line in lines)
        return Side.QRELS if judged else Side.RUN
    return Side.RUN if taken[-1] == "score" and "corpus-id" not in taken else Side.QRELS


def read_first_line(source: Source) -> str:
    """Return the first line of a text, without white space around it; of other data, anything."""
    return _read_sample(source).partition(b"\n")[0].decode(errors="replace").strip("\ufeff \t\r")


def _read_sample(source: Source) -> bytes:
    """Return the first lines of the file, enough to include a line of data.

    A line beyond the greatest length, and a binary file, may be cut off.
    """
    size = _SAMPLE_BYTES
    while True:
        sample = source.read_start(size)
        if len(sample) < size:
            return sample
        lines = sample[: sample.rfind(b"\n") + 1]
        if find_data(lines) is not None:
            return lines
        begin = find_data(sample)
        if _is_binary(sample) or size >= _LONGEST_PREFACE:
            return sample
        if begin is not None and size - begin >= LONGEST_LINE:
            return sample
        size *= 16


# ---- writing --------------------------------------------------------------------------------


def choose_format(path: Path, format_name: str | None) -> Format:
    """Return the format to write: the stated one, or the one that the file's suffix names."""
    suffix = Source(path).suffix
    if format_name is None and suffix and suffix not in FORMAT_OF_SUFFIX:
        known = ", ".join(FORMAT_OF_SUFFIX)
        raise OptionError(
            f"the suffix {suffix!r} names no format ({known}): choose one of these, or state it, "
            "as in format='jsonl'"
        )
    return _find_format(format_name or FORMAT_OF_SUFFIX.get(suffix, "trec"))


def write_rows(file_format: Format, target: OutputFile, blocks: Callable[[], Iterable[Block]]) -> None:
    """Write rows to a file, compressed as its suffix says.

    The blocks of a run have a `rank` where the format needs one, or if there is no score; for JSON,
    a block holds whole queries. Raises InputError for an identifier that the format cannot hold.
    """
    if target.side is Side.QRELS and not file_format.holds_empty_queries:
        for block in blocks():
            if block.empty_queries:
                raise InputError(
                    f"the query {decode(block.empty_queries[0])!r} has no judgment, which only JSON can "
                    "say",
                    source=target.path,
                    kind="id",
                )
    try:
        with open_to_write(target.path) as stream:
            file_format.write(stream, blocks(), target)
    except NotTextError:
        with open_to_write(target.path) as stream:
            file_format.write(stream, blocks(), replace(target, is_text=False))
    except InputError as error:
        if error.source is not None:
            raise
        raise error.locate(target.path) from None  # the error of data in memory


def write_groups(path: Path, format_name: str | None, groups: GroupRows) -> None:
    """Write judgments in groups: in a format of trec_eval, or as a table with subtopics."""
    able = [one for one in FORMATS.values() if _can_hold(one, groups)]
    form = choose_format(path, format_name)
    if format_name is None and form.name == "trec" and groups.weights is None:
        form = next(one for one in able if one.is_for_groups)
    if form not in able:
        raise OptionError(
            f"format={form.name!r} cannot hold these judgments in groups; choose one of "
            f"{', '.join(one.name for one in able)}"
        )
    write_rows(
        form,
        OutputFile(os.fspath(path), Side.QRELS),
        lambda: (one() for one in groups.blocks((), "strict")),
    )


def _can_hold(form: Format, groups: GroupRows) -> bool:
    if form.qrels is None:
        return False
    columns = form.qrels.roles
    # In a table, fractions are grades like any others.
    held = {*roles_of(Side.QRELS), "level"} if columns is None else set(columns)
    return groups.extra_roles <= held
