"""Files of runs and judgments: finds files, recognises their format, and reads and writes them."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from cranfield.arrays.ids import decode
from cranfield.errors import InputError, OptionError, check_choice
from cranfield.formats import columnar, delimited, json, svmlight, trec
from cranfield.formats.block import Block, Errors, Load, Role, Rows
from cranfield.formats.columns import COLUMNS, ColumnsLike, ColumnsOfBoth, Side, roles_of
from cranfield.formats.format import Format, InputFile, OutputFile
from cranfield.formats.groups import GroupRows
from cranfield.formats.list_cells import to_document_rows
from cranfield.formats.shapes import are_files
from cranfield.formats.source import File, Path, Source, is_handle, open_to_write
from cranfield.formats.stated_columns import find_stated_side, resolve_roles, select_columns
from cranfield.formats.text import (
    LONGEST_LINE,
    find_data,
    is_data_line,
    no_data_error,
    refuse_binary,
)
from cranfield.formats.url import local_path
from cranfield.formats.values import INTEGER
from cranfield.formats.write import NotTextError

_SAMPLE_BYTES = 1 << 16
_LONGEST_PREFACE = 1 << 24  # bytes of blank lines and comments, before the first line of data


#: Every format by its name, in the order in which formats are shown; and tried, `magic` first.
FORMATS: Mapping[str, Format] = {
    file_format.name: file_format
    for formats in (
        trec.FORMATS,
        svmlight.FORMATS,
        delimited.FORMATS,
        json.FORMATS,
        columnar.FORMATS,
        trec.GROUP_FORMATS,
    )
    for file_format in formats
}
# The format that a file name's suffix means.
FORMAT_OF_SUFFIX = {
    suffix: file_format.name for file_format in FORMATS.values() for suffix in file_format.suffixes
}


def format_names(side: Side) -> list[str]:
    """Return the names of the formats that can hold one side, and for judgments the aliases."""
    formats = [file_format for file_format in FORMATS.values() if file_format.capacity(side)]
    aliases = [
        alias for file_format in formats for alias in file_format.aliases if side is Side.QRELS
    ]
    return [*(file_format.name for file_format in formats), *aliases]


def _find_format(name: str) -> Format:
    """Return the format with this name or alias, which must exist."""
    return next(
        file_format
        for file_format in FORMATS.values()
        if name in (file_format.name, *file_format.aliases)
    )


def stem_of(source: Source) -> str:
    """Return a file's name without suffixes of format and compression: the name of its run."""
    if source.path in ("", "-"):
        return "stdin" if source.path else "run"
    root, suffix = source.name_parts
    return root if suffix.lower() in FORMAT_OF_SUFFIX and root else root + suffix


def _combine_files(name: str, combine: Callable[[Iterator[Any]], Any]) -> Any:
    """Return a property of FileRows: an attribute of the rows of its files, combined."""
    return property(lambda files: combine(getattr(rows, name) for rows in files.rows))


class FileRows(Rows):
    """The rows of one file, or of several as one table; opened on first use."""

    def __init__(
        self,
        sources: Sequence[Source],
        side: Side,
        file_format: Format | None,
        user_columns: ColumnsLike | None,
    ) -> None:
        self.sources = sources
        self._side = side
        self._format = file_format
        self.user_columns = user_columns
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
                    _recognize_rows(source, self._side, self._format, self.user_columns),
                    self._side,
                    self.user_columns,
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
        """Return one side of the same files, with shared sources: a pipe is read once."""
        rows = FileRows(self.sources, side, self._format, user_columns)
        rows.run_name = self.run_name
        return rows

    column_names = _combine_files("column_names", next)  # of the first file
    name_of_role = _combine_files("name_of_role", next)
    list_columns = _combine_files("list_columns", next)
    list_kind = _combine_files("list_kind", next)
    is_numbered = _combine_files("is_numbered", any)
    system = _combine_files("system", next)
    distance_column = _combine_files("distance_column", next)
    duplicate_reason = _combine_files("duplicate_reason", next)
    has_grades = _combine_files("has_grades", all)
    holds_texts = _combine_files("holds_texts", all)
    is_text = _combine_files("is_text", any)
    is_ranking = _combine_files("is_ranking", all)
    # The roles of the columns that all files have, and what is odd about the rows of each.
    extra_roles = _combine_files("extra_roles", lambda roles: frozenset.intersection(*roles))
    notes = _combine_files("notes", lambda notes: tuple(dict.fromkeys(chain.from_iterable(notes))))

    def _refuse_mixture(self, rows_of_files: Sequence[Rows]) -> None:
        """Raise InputError for files of one table of which only some have a column with a `plural`.

        Several files of lists of ids are refused, too: their queries are numbered within one file.
        """
        for rows, source in zip(rows_of_files, self.sources, strict=True):
            if rows.list_kind == "ids" and len(rows_of_files) > 1:
                raise InputError(
                    f"was read as {rows.description}: these are numbered in one file, not in "
                    "several",
                    source=source.name,
                    hint='Put the lists into one file, or give them names: {"q1": [...], ...}.',
                    kind="columns",
                )
        # `name_of_role` has distances, too.
        roles_of_files = [{*rows.extra_roles, *rows.name_of_role} for rows in rows_of_files]
        first_name, first_rows = self.sources[0].name, rows_of_files[0]
        for role, column in COLUMNS.items():
            has_role = [role in roles for roles in roles_of_files]
            if column.plural and any(has_role) and not all(has_role):
                other = has_role.index(not has_role[0])
                raise InputError(
                    f"was read as {rows_of_files[other].description}, and {first_name} as "
                    f"{first_rows.description}: either all files of one table have "
                    f"{column.plural}, or none of them",
                    source=self.sources[other].name,
                    kind="columns",
                )

    @property
    def description(self) -> str:  # type: ignore[override] # known once they are opened
        """As which formats and columns the files were understood, in words."""
        descriptions = "; ".join(dict.fromkeys(rows.description for rows in self.rows))
        return descriptions if len(self.rows) == 1 else f"{len(self.rows):,} files, {descriptions}"

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks, file after file."""
        roles, n_rows_above = tuple(roles), 0
        for rows in self.rows:
            rows.n_rows_above = n_rows_above
            yield from rows.blocks(roles, errors)
            n_rows_above = rows.n_rows_below


def open_files(
    path_or_paths: File | Sequence[File],
    side: Side,
    format_name: str | None = None,
    user_columns: ColumnsLike | None = None,
) -> FileRows:
    """Return the rows of a file or a URL, or of a folder, a glob or several files as one table.

    `format_name`: None if the format is to be detected. Raises OptionError for a format or a column
    that does not exist, InputError without a file. Errors in files are raised when they are read.
    """
    file_format = None
    if format_name is not None:
        check_choice("format", format_name, format_names(side))
        file_format = _find_format(format_name)
        if file_format.is_for_groups and user_columns:
            raise OptionError(f"format={format_name!r} takes no columns")
    resolve_roles(user_columns, side)
    paths: list[Any] = [path_or_paths]
    if isinstance(path_or_paths, Iterable) and not isinstance(path_or_paths, str):
        paths = paths if is_handle(path_or_paths) else list(path_or_paths)
    if paths and not are_files(paths):
        raise InputError(
            f"expected the path of a file, or a list of paths, got {path_or_paths!r:.80}"
        )
    files = [file for path in paths for file in _expand_path(path, side)]
    if not files:
        raise InputError("no file is given")
    sources = [file if isinstance(file, Source) else Source(file) for file in files]
    rows = FileRows(sources, side, file_format, user_columns)
    if len(paths) == 1 and files not in (paths, [str(paths[0])]):  # a folder or a glob
        path = local_path(os.fspath(paths[0]))
        rows.run_name = os.path.basename(os.path.abspath(path)) if os.path.isdir(path) else path
    return rows


def _expand_path(path: Any, side: Side) -> list[Any]:
    """Return the paths of the files that a path means, or an open file, or a source, itself.

    A path means a file, or the files of a glob or a folder.
    """
    if is_handle(path) or isinstance(path, Source):
        return [path]
    path = os.fspath(path)
    if os.path.isdir(folder := local_path(path)):
        return _list_folder(folder, side)
    if glob.has_magic(path) and "://" not in path and not os.path.exists(path):
        file_paths = sorted(filter(os.path.isfile, glob.glob(path, recursive=True)))
        if not file_paths:
            raise InputError("no file has such a name", source=path)
        return file_paths
    return [path]


def _list_folder(path: str, side: Side) -> list[str]:
    """Return the paths of a BEIR folder's judgments, or of a table's parts; InputError without."""
    file_names = _select_visible(os.listdir(path))
    qrels_folder = os.path.join(path, "qrels")
    if side is not Side.RUN and "qrels" in file_names and os.path.isdir(qrels_folder):
        return _list_folder(qrels_folder, side)
    name_parts = [os.path.splitext(name) for name in file_names]
    test_files = [root + suffix for root, suffix in name_parts if root == "test" and suffix]
    if side is not Side.RUN and len(test_files) == 1:
        return [os.path.join(path, test_files[0])]
    parquet_paths = []
    for folder, subfolders, names in os.walk(path):
        subfolders[:] = _select_visible(subfolders)  # which `os.walk` looks into
        file_paths = (os.path.join(folder, name) for name in _select_visible(names))
        parquet_paths += [file for file in file_paths if file.lower().endswith(_PARQUET_SUFFIXES)]
    if parquet_paths:
        return sorted(parquet_paths)
    qrels_files = [name for name in file_names if name.endswith((".tsv", ".jsonl"))]
    if side is not Side.RUN and len(qrels_files) == 1:
        return [os.path.join(path, qrels_files[0])]
    name_list = ", ".join(map(repr, file_names[:10])) or "nothing"
    raise InputError(
        f"is a directory, not a file; it holds {name_list}",
        source=path,
        hint="In a BEIR folder, qrels/test.tsv is read; in any other, the Parquet files, as one "
        "table. Name the file, or several files by a glob in quotation marks.",
    )


_PARQUET_SUFFIXES = ".parquet", ".pq"


def _select_visible(names: Iterable[str]) -> list[str]:
    """Return the names of data in a folder, sorted: others begin with . or _, as logs of tables."""
    return sorted(name for name in names if not name.startswith((".", "_")))


def _recognize_rows(
    source: Source, side: Side, file_format: Format | None, user_columns: ColumnsLike | None
) -> Rows:
    """Return the rows of a file in the stated format, or as its first lines and its name say."""
    file = InputFile(source, side, _read_sample(source), user_columns)
    if file_format is None:
        formats = [candidate for candidate in FORMATS.values() if candidate.capacity(side)]
        rows = _sniff_rows(file, [candidate for candidate in formats if candidate.magic])
        if rows is not None:
            return rows
        _refuse_non_text(file)
        file_format = FORMATS.get(FORMAT_OF_SUFFIX.get(source.suffix, ""))
        if file_format not in formats or not file_format.is_decided_by_suffix:
            rows = _sniff_rows(file, [candidate for candidate in formats if not candidate.magic])
            if rows is not None:
                return rows
            file_format = FORMATS["trec"]
            if side is Side.EXCLUDED and not file.has_numbered_columns:
                file = replace(file, side=guess_side(source.path) or Side.QRELS)
    if not file_format.magic:
        _refuse_non_text(file)
    return file_format.read(file)


def _sniff_rows(file: InputFile, formats: Iterable[Format]) -> Rows | None:
    """Return the rows of a file in the first format that it looks like; None without one."""
    candidates = (file_format.sniff(file) for file_format in formats)
    return next((rows for rows in candidates if rows is not None), None)


def _refuse_non_text(file: InputFile) -> None:
    """Raise InputError if a file's first bytes are not text, or hold no line of data."""
    source, sample = file.source, file.sample
    refuse_binary(source, sample[:4096])
    if find_data(sample) is None and not file.has_numbered_columns:
        if len(sample) < _LONGEST_PREFACE:
            raise no_data_error(source, sample)
        raise InputError(
            f"holds no data in its first {len(sample):,} bytes, only comments and blank lines",
            source=source.name,
            hint="Remove the lines above the data: the file is not read further.",
        )


def guess_side(path: Path, columns: ColumnsOfBoth | None = None) -> Side | None:
    """Return what a file holds, by its name or columns; None if that is unclear, or for no file.

    The stated columns tell first. What cannot be read as judgments is taken for a run.
    """
    if (stated_side := find_stated_side(columns)) is not None:
        return stated_side
    first = local_path(_expand_path(path, Side.QRELS)[0])
    if not os.path.isfile(first):
        return None  # a pipe is not read for this
    source = Source(first)
    name = os.path.basename(source.path).lower()
    if "qrels" in name or source.suffix == ".qrels":
        return Side.QRELS
    try:
        qrels_columns = select_columns(columns, Side.QRELS)
        phrases = _recognize_rows(source, Side.QRELS, None, qrels_columns).description.split(", ")
    except InputError:
        return Side.RUN
    if phrases[0].startswith("JSON: "):  # its numbers may be grades or scores
        return Side.RUN if source.suffix == ".run" else None
    if phrases[0].startswith("TREC"):
        lines = [line.split() for line in _read_sample(source).splitlines() if is_data_line(line)]
        are_qrels = all(len(line) == 4 and INTEGER.fullmatch(line[3]) for line in lines)
        return Side.QRELS if are_qrels else Side.RUN
    return Side.RUN if phrases[-1] == "score" and "corpus-id" not in phrases else Side.QRELS


def read_first_line(source: Source) -> str:
    """Return the first line of a text file, stripped; of a file that is not text, any string."""
    return _read_sample(source).partition(b"\n")[0].decode(errors="replace").strip("\ufeff \t\r")


def _read_sample(source: Source) -> bytes:
    """Return the first lines of a file, enough to include a line of data, if one comes early.

    A line beyond the greatest length, a binary file, and what has no data may be cut off.
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
        magic = [prefix for file_format in FORMATS.values() for prefix in file_format.magic]
        if sample.startswith(tuple(magic)) or size >= _LONGEST_PREFACE:
            return sample
        if begin is not None and size - begin >= LONGEST_LINE:
            return sample
        size *= 16


def choose_format(path: Path, format_name: str | None) -> Format:
    """Return the format in which to write a file: as stated, as its suffix says, or else "trec"."""
    suffix = Source(path).suffix
    if format_name is None and suffix and suffix not in FORMAT_OF_SUFFIX:
        suffixes = ", ".join(FORMAT_OF_SUFFIX)
        raise OptionError(
            f"the suffix {suffix!r} names no format ({suffixes}): choose one of these, or state "
            "it, as in format='jsonl'"
        )
    return _find_format(format_name or FORMAT_OF_SUFFIX.get(suffix, "trec"))


def write_rows(
    file_format: Format, target: OutputFile, blocks: Callable[[], Iterable[Block]]
) -> None:
    """Write rows to a file, compressed as its suffix says.

    `blocks` yields them again at each call. Those of a run have a `rank` where the format needs it,
    or if there is no score; for JSON, a block holds whole queries. Raises InputError for an id, or
    a query without judgments, that the format cannot hold.
    """
    if target.side is Side.QRELS and not file_format.holds_empty_queries:
        for block in blocks():
            if block.empty_queries:
                query = decode(block.empty_queries[0])
                raise InputError(
                    f"the query {query!r} has no judgment, which only JSON can say",
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
    formats = [candidate for candidate in FORMATS.values() if _can_hold(candidate, groups)]
    file_format = choose_format(path, format_name)
    if format_name is None and file_format.name == "trec" and groups.weights is None:
        file_format = next(candidate for candidate in formats if candidate.is_for_groups)
    if file_format not in formats:
        raise OptionError(
            f"format={file_format.name!r} cannot hold these judgments in groups; choose one of "
            f"{', '.join(candidate.name for candidate in formats)}"
        )
    write_rows(
        file_format,
        OutputFile(os.fspath(path), Side.QRELS),
        lambda: (load() for load in groups.blocks((), "strict")),
    )


def _can_hold(file_format: Format, groups: GroupRows) -> bool:
    """Tell whether a format can hold all columns that these judgments in groups have."""
    if file_format.qrels is None:
        return False
    roles = file_format.qrels.roles
    # In a table, fractions are grades as whole numbers are.
    writable_roles = {*roles_of(Side.QRELS), "level"} if roles is None else set(roles)
    return groups.extra_roles <= writable_roles
