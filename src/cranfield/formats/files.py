"""Files of runs and judgments: how they are found, recognised, read and written."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cranfield.arrays.ids import decode
from cranfield.errors import InputError, OptionError, one_of
from cranfield.formats import columnar, delimited, json, jsonl, trec
from cranfield.formats.block import Block, Errors, Load, Role, Rows
from cranfield.formats.columns import COLUMNS, ColumnsLike, What, roles_of
from cranfield.formats.format import Beginning, Format, Target
from cranfield.formats.groups import Groups
from cranfield.formats.list_cells import apart
from cranfield.formats.source import Path, Source, written
from cranfield.formats.stated_columns import stated_roles
from cranfield.formats.text import LONGEST_LINE, data_begin, is_data, no_data_error, refuse_binary
from cranfield.formats.url import local_path
from cranfield.formats.values import WHOLE
from cranfield.formats.write import NotTextError
from cranfield.notes import Note

_SAMPLE = 1 << 16
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
SUFFIXES = {suffix: one.name for one in FORMATS.values() for suffix in one.suffixes}


def names_of(what: What) -> list[str]:
    """Return the names of the formats that hold runs, or judgments."""
    some = [one for one in FORMATS.values() if one.holds(what)]
    aliases = [alias for one in some for alias in one.aliases if what is What.QRELS]
    return [*(one.name for one in some), *aliases]


def _format_of(name: str) -> Format:
    """Return the format with this name or alias, which must exist."""
    return next(one for one in FORMATS.values() if name in (one.name, *one.aliases))


def stem_of(source: Source) -> str:
    """Return the file's name without suffixes of format and compression: the name of a run."""
    if source.path == "-":
        return "stdin"
    root, suffix = source.name_parts
    return root if suffix.lower() in SUFFIXES and root else root + suffix


# ---- reading --------------------------------------------------------------------------------


def _of_files(name: str, combine: Callable[[Iterator[Any]], Any]) -> Any:
    """Return a property of Files: what its files have, combined, once they are opened."""
    return property(lambda files: combine(getattr(rows, name) for rows in files.rows))


class Files(Rows):
    """The rows of one file, or of several as one table; opened on first use."""

    def __init__(
        self,
        sources: Sequence[Source],
        what: What,
        form: Format | None,
        columns: ColumnsLike | None,
    ) -> None:
        self.sources = sources
        self._what = what
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
                apart(
                    _recognised(source, self._what, self._form, self._columns),
                    self._what,
                    self._columns,
                )
                for source in self.sources
            ]
            for rows in self._rows:
                rows.beside = self.beside  # type: ignore[method-assign] # of all the files
                rows.sources = self.sources
                rows.ignores_hash_rows = self.ignores_hash_rows
            self._refuse_mixture(self._rows)
        return self._rows

    def beside(self, what: What, columns: ColumnsLike | None) -> "Files":
        """Return the other side of the same files, with shared sources: a pipe is read once."""
        rows = Files(self.sources, what, self._form, columns)
        rows.run_name = self.run_name
        return rows

    names = _of_files("names", next)  # of the first file
    taken = _of_files("taken", next)
    lists = _of_files("lists", next)
    lists_of = _of_files("lists_of", next)
    distance = _of_files("distance", next)
    twice = _of_files("twice", next)
    graded = _of_files("graded", all)
    is_text = _of_files("is_text", any)
    is_ranking = _of_files("is_ranking", all)

    def _refuse_mixture(self, rows: Sequence[Rows]) -> None:
        """Raise InputError unless all files have the same columns, where that matters.

        Also for several files of plain lists, whose queries are numbered within one file.
        """
        for one, source in zip(rows, self.sources, strict=True):
            if one.lists_of == "ids" and len(rows) > 1:
                raise InputError(
                    f"was read as {one.form}: these are numbered in one file, not in several",
                    source=source.name,
                    hint='Put the lists into one file, or give them names: {"q1": [...], ...}.',
                    kind="columns",
                )
        roles_of_files = [{*file.numbers, *file.taken} for file in rows]  # also distances
        for role, column in COLUMNS.items():
            for one, roles, source in zip(rows, roles_of_files, self.sources, strict=True):
                if column.several and (role in roles) != (role in roles_of_files[0]):
                    raise InputError(
                        f"was read as {one.form}, and {self.sources[0].name} as {rows[0].form}: "
                        f"either all files of one table have {column.several}, or none of them",
                        source=source.name,
                        kind="columns",
                    )

    @property
    def form(self) -> str:  # type: ignore[override] # known once they are opened
        """What the files were understood to be, in words."""
        forms = "; ".join(dict.fromkeys(one.form for one in self.rows))
        return forms if len(self.rows) == 1 else f"{len(self.rows):,} files, {forms}"

    @property
    def numbers(self) -> frozenset[Role]:  # type: ignore[override] # known once they are opened
        """Which columns of numbers all of the files have."""
        return frozenset.intersection(*(one.numbers for one in self.rows))

    @property
    def notes(self) -> tuple[Note, ...]:  # type: ignore[override] # known once they were read
        """What is odd about the rows of each file."""
        return tuple(note for rows in self.rows for note in rows.notes)

    def blocks(self, wanted: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks, file after file."""
        wanted = tuple(wanted)
        for one in self.rows:
            yield from one.blocks(wanted, errors)


def file_rows(
    path: Path | Sequence[Path],
    what: What,
    name: str | None = None,
    columns: ColumnsLike | None = None,
) -> Files:
    """Return the rows of a file, a folder, a URL, or of several files as one table.

    `name` is the format's; None: it is detected. Raises OptionError for a format or a column that
    does not exist. Errors in the files are raised when they are read.
    """
    form = None
    if name is not None:
        one_of("format", name, names_of(what))
        form = _format_of(name)
        if form.is_for_groups and columns:
            raise OptionError(f"format={name!r} takes no columns")
    stated_roles(columns, what)
    paths = list(path) if isinstance(path, Iterable) and not isinstance(path, str) else [path]
    for one in paths:
        if not isinstance(one, str | os.PathLike):
            raise InputError(f"expected the path of a file, or a list of paths, got {path!r:.80}")
    every = [one for each in paths for one in _expanded(os.fspath(each), what)]
    if not every:
        raise InputError("no file is given")
    rows = Files([Source(one) for one in every], what, form, columns)
    if len(paths) == 1 and every != [os.fspath(paths[0])]:  # a folder or a glob
        path = local_path(os.fspath(paths[0]))
        rows.run_name = os.path.basename(os.path.abspath(path)) if os.path.isdir(path) else path
    return rows


def _expanded(path: str, what: What) -> list[str]:
    """Return the files that a path names: the path alone, or the files of a glob or folder."""
    if os.path.isdir(folder := local_path(path)):
        return _in_folder(folder, what)
    if glob.has_magic(path) and "://" not in path and not os.path.exists(path):
        found = sorted(one for one in glob.glob(path, recursive=True) if os.path.isfile(one))
        if not found:
            raise InputError("no file has such a name", source=path)
        return found
    return [path]


def _in_folder(path: str, what: What) -> list[str]:
    """Return the files with a BEIR folder's judgments, or with the parts of a table."""
    names = sorted(name for name in os.listdir(path) if not name.startswith((".", "_")))
    if what is not What.RUN and "qrels" in names and os.path.isdir(os.path.join(path, "qrels")):
        return _in_folder(os.path.join(path, "qrels"), what)
    tests = [name for name in names if os.path.splitext(name)[0] == "test" and "." in name]
    if what is not What.RUN and len(tests) == 1:
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
    if what is not What.RUN and len(qrels) == 1:
        return [os.path.join(path, qrels[0])]
    shown = ", ".join(map(repr, names[:10])) or "nothing"
    raise InputError(
        f"is a directory, not a file; it holds {shown}",
        source=path,
        hint="In a BEIR folder, qrels/test.tsv is read; in any other, the Parquet files, as one "
        "table. Name the file, or several files by a glob in quotation marks.",
    )


def _recognised(
    source: Source, what: What, form: Format | None, columns: ColumnsLike | None
) -> Rows:
    """Return a file's rows, in the stated format or the one detected from content and name."""
    file = Beginning(source, what, _sample(source), columns)
    if form is None:
        able = [one for one in FORMATS.values() if one.holds(what)]
        found = _sniffed(file, [one for one in able if one.magic])
        if found is not None:
            return found
        _refuse_no_text(source, file.sample)
        form = FORMATS.get(SUFFIXES.get(source.suffix, ""))
        if form is None or not form.is_named or not form.holds(what):
            found = _sniffed(file, [one for one in able if not one.magic])
            if found is not None:
                return found
            form = FORMATS["trec"]
            if what is What.EXCLUDED and not columns:
                file = replace(file, what=what_is(source.path) or What.QRELS)
    if not form.magic:
        _refuse_no_text(source, file.sample)
    return form.read(file)


def _sniffed(file: Beginning, formats: Iterable[Format]) -> Rows | None:
    """Return the rows in the first format that the file looks like."""
    return next((rows for one in formats if (rows := one.sniff(file)) is not None), None)


def _is_binary(sample: bytes) -> bool:
    """Tell whether the first bytes of a file are not text."""
    return any(sample.startswith(magic) for one in FORMATS.values() for magic in one.magic)


def _refuse_no_text(source: Source, sample: bytes) -> None:
    refuse_binary(source, sample[:4096])
    if data_begin(sample) is None:
        if len(sample) < _LONGEST_PREFACE:
            raise no_data_error(source, sample)
        raise InputError(
            f"holds no data in its first {len(sample):,} bytes, only comments and blank lines",
            source=source.name,
            hint="Remove the lines above the data: the file is not read further.",
        )


def what_is(path: Path) -> What | None:
    """Distinguish runs and judgments by the file's columns, or else its name; None if unclear."""
    first = local_path(_expanded(os.fspath(path), What.QRELS)[0])
    if not os.path.isfile(first):
        return None  # a pipe is not read for this
    source = Source(first)
    name = os.path.basename(source.path).lower()
    if "qrels" in name or source.suffix == ".qrels":
        return What.QRELS
    try:
        taken = _recognised(source, What.QRELS, None, None).form.split(", ")
    except InputError:
        return What.RUN
    if taken[0].startswith("JSON: "):  # these may be grades or scores
        return What.RUN if source.suffix == ".run" else None
    if taken[0].startswith("TREC"):
        lines = [line.split() for line in _sample(source).splitlines() if is_data(line)]
        judged = all(len(line) == 4 and WHOLE.fullmatch(line[3]) for line in lines)
        return What.QRELS if judged else What.RUN
    return What.RUN if taken[-1] == "score" and "corpus-id" not in taken else What.QRELS


def first_line(source: Source) -> str:
    """Return the first line of a text, without white space around it; of other data, anything."""
    return _sample(source).partition(b"\n")[0].decode(errors="replace").strip("\ufeff \t\r")


def _sample(source: Source) -> bytes:
    """Return the first lines of the file, enough to include a line of data.

    A line beyond the greatest length, and a binary file, may be cut off.
    """
    size = _SAMPLE
    while True:
        sample = source.start(size)
        if len(sample) < size:
            return sample
        lines = sample[: sample.rfind(b"\n") + 1]
        if data_begin(lines) is not None:
            return lines
        begin = data_begin(sample)
        if _is_binary(sample) or size >= _LONGEST_PREFACE:
            return sample
        if begin is not None and size - begin >= LONGEST_LINE:
            return sample
        size *= 16


# ---- writing --------------------------------------------------------------------------------


def format_to_write(path: Path, name: str | None) -> Format:
    """Return the format to write: the stated one, or the one that the file's suffix names."""
    suffix = Source(path).suffix
    if name is None and suffix and suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise OptionError(
            f"the suffix {suffix!r} names no format ({known}): choose one of these, or state it, "
            "as in format='jsonl'"
        )
    return _format_of(name or SUFFIXES.get(suffix, "trec"))


def write_rows(form: Format, target: Target, blocks: Callable[[], Iterable[Block]]) -> None:
    """Write rows to a file, compressed as its suffix says.

    The blocks of a run have a `rank` where the format needs one, or if there is no score; for JSON,
    a block holds whole queries. Raises InputError for an identifier that the format cannot hold.
    """
    if target.what is What.QRELS and not form.has_empty:
        for block in blocks():
            if block.empty:
                raise InputError(
                    f"the query {decode(block.empty[0])!r} has no judgment, which only JSON can "
                    "say",
                    source=target.path,
                    kind="id",
                )
    try:
        with written(target.path) as stream:
            form.write(stream, blocks(), target)
    except NotTextError:
        with written(target.path) as stream:
            form.write(stream, blocks(), replace(target, is_text=False))
    except InputError as error:
        if error.source is not None:
            raise
        raise error.at(target.path) from None  # the error of data in memory


def write_groups(path: Path, name: str | None, groups: Groups) -> None:
    """Write judgments in groups: in a format of trec_eval, or as a table with subtopics."""
    able = [one for one in FORMATS.values() if _can_hold(one, groups)]
    form = format_to_write(path, name)
    if name is None and form.name == "trec" and groups.weights is None:
        form = next(one for one in able if one.is_for_groups)
    if form not in able:
        raise OptionError(
            f"format={form.name!r} cannot hold these judgments in groups; choose one of "
            f"{', '.join(one.name for one in able)}"
        )
    write_rows(
        form,
        Target(os.fspath(path), What.QRELS),
        lambda: (one() for one in groups.blocks((), "strict")),
    )


def _can_hold(form: Format, groups: Groups) -> bool:
    if form.qrels is None:
        return False
    columns = form.qrels.columns
    # In a table, fractions are grades like any others.
    held = {*roles_of(What.QRELS), "level"} if columns is None else set(columns)
    return groups.numbers <= held
