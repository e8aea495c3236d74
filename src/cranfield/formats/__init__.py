"""What is this? Bytes, files and objects to rows of judgments or of a run; and rows to files.

Nothing else reads or writes data. It knows no Qrels and no Run.
"""

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, cast, get_args

import numpy as np

from cranfield.errors import InputError, one_of
from cranfield.formats import trec
from cranfield.formats.block import Errors, Load, Number, Progress, Rows
from cranfield.formats.columnar import Columnar, ColumnarFormat, columnar_form
from cranfield.formats.columns import ColumnsLike, What, stated_roles
from cranfield.formats.delimited import delimited_rows
from cranfield.formats.frames import (
    array_rows,
    arrow_rows,
    is_sparse,
    is_table,
    listed_rows,
    sparse_rows,
)
from cranfield.formats.groups import GroupsFormat
from cranfield.formats.json import JsonNested
from cranfield.formats.jsonl import JsonLines, JsonList
from cranfield.formats.lines import (
    BYTE_ORDER_MARK,
    LONGEST_LINE,
    NO_DATA,
    WHOLE,
    Lines,
    refuse_binary,
    too_long,
)
from cranfield.formats.source import SUFFIXES, Source
from cranfield.formats.trec import data_begin, is_data

TableFormat = Literal["trec", "msmarco", "beir", "csv", "tsv", "json", "jsonl", "parquet", "arrow"]
SampledFormat = Literal["strata", "prels"]
QrelsFormat = TableFormat | Literal["qrels", "subtopics"] | SampledFormat | GroupsFormat
RunFormat = TableFormat
RUN_FORMATS: tuple[str, ...] = get_args(TableFormat)
QRELS_FORMATS: tuple[str, ...] = (
    *get_args(TableFormat),
    "qrels",
    *get_args(SampledFormat),
    *get_args(GroupsFormat),
    "subtopics",
)
Path = str | os.PathLike[str]

SAMPLE = 1 << 16
_LONGEST_PREFACE = 1 << 24  # blank lines and comments, before the first line of data


def table_rows(data: Any, what: What, columns: ColumnsLike | None, errors: Errors) -> Rows:
    """Return the rows of a table in memory, of any kind."""
    if type(data).__module__.startswith("datasets.") and hasattr(data, "with_format"):
        data = data.with_format("arrow")[:]  # Hugging Face's: its own Arrow table, select()ed
    if is_table(data):
        return arrow_rows(data, what, columns)
    if isinstance(data, np.ndarray) and data.dtype.names:
        return array_rows(data, what, columns, errors)
    if is_sparse(data):
        return sparse_rows(data, what)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | np.ndarray):
        return listed_rows(data, what, columns, errors)
    name = "the run" if what == "a run" else "the judgments"
    raise InputError(
        f"expected {name} as a dict of dicts, a table, a list of rows, a structured array or a "
        f"sparse matrix, got {type(data).__name__}"
    )


class Files:
    """The rows of one file, or of several as one table; opened when they are first asked for."""

    def __init__(
        self,
        sources: Sequence[Source],
        what: What,
        form: str | None,
        columns: ColumnsLike | None,
    ) -> None:
        self.sources = sources
        self._what = what
        self._form = form
        self._columns = columns
        self._rows: list[Rows] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: wherever it is, it opens the files anew."""
        return {**self.__dict__, "_rows": None}

    @property
    def rows(self) -> list[Rows]:
        """The rows of each file."""
        if self._rows is None:
            self._rows = [
                _recognised(source, self._what, self._form, self._columns)
                for source in self.sources
            ]
            for one, source in zip(self._rows, self.sources, strict=True):
                if ("group" in one.numbers) != ("group" in self._rows[0].numbers):
                    raise InputError(
                        f"was read as {one.form}, and {self.sources[0].name} as "
                        f"{self._rows[0].form}: files of one table all have subtopics, or none has",
                        source=source.name,
                        kind="columns",
                    )
                if ("score" in one.numbers) != ("score" in self._rows[0].numbers):
                    raise InputError(
                        f"was read as {one.form}, and {self.sources[0].name} as "
                        f"{self._rows[0].form}: files of one table all have scores, or none has",
                        source=source.name,
                        kind="columns",
                    )
                if ("cost" in one.numbers) != ("cost" in self._rows[0].numbers):
                    raise InputError(
                        f"was read as {one.form}, and {self.sources[0].name} as "
                        f"{self._rows[0].form}: files of one table all have costs, or none has",
                        source=source.name,
                        kind="columns",
                    )
        return self._rows

    @property
    def form(self) -> str:
        """What the files were understood to be, in words."""
        forms = "; ".join(dict.fromkeys(one.form for one in self.rows))
        return forms if len(self.rows) == 1 else f"{len(self.rows):,} files, {forms}"

    @property
    def numbers(self) -> frozenset[Number]:
        """Which columns of numbers all of the files have."""
        return frozenset.intersection(*(one.numbers for one in self.rows))

    @property
    def is_text(self) -> bool:
        """Whether the files are lines of text."""
        return any(isinstance(one, Lines) for one in self.rows)

    @property
    def is_ranking(self) -> bool:
        """Whether the order of the rows is the ranking."""
        return all(one.is_ranking for one in self.rows)

    def blocks(
        self, wanted: Iterable[Number], errors: Errors, progress: Progress | None = None
    ) -> Iterator[Load]:
        """Yield the rows in blocks, file after file."""
        wanted = tuple(wanted)
        for one in self.rows:
            yield from one.blocks(wanted, errors, progress)


def file_rows(
    path: Path | Sequence[Path],
    what: What,
    form: str | None = None,
    columns: ColumnsLike | None = None,
) -> Files:
    """Return the rows of a file, a folder, a URL, or of several files as one table.

    Raises OptionError for a form or a column that does not exist. What is wrong with the files
    is said when they are read.
    """
    if form is not None:
        one_of("format", form, RUN_FORMATS if what == "a run" else QRELS_FORMATS)
    stated_roles(columns, what)
    if isinstance(path, str | os.PathLike):
        paths = _expanded(os.fspath(path), what)
    else:
        paths = [one for each in path for one in _expanded(os.fspath(each), what)]
        if not paths:
            raise InputError("no file is given")
    return Files([Source(one) for one in paths], what, form, columns)


def _expanded(path: str, what: What) -> list[str]:
    """Return the files that a path stands for: itself, or those of a glob or a folder."""
    if os.path.isdir(path):
        return _in_folder(path, what)
    if glob.has_magic(path) and "://" not in path and not os.path.exists(path):
        found = sorted(one for one in glob.glob(path, recursive=True) if os.path.isfile(one))
        if not found:
            raise InputError("no file has such a name", source=path)
        return found
    return [path]


def _in_folder(path: str, what: What) -> list[str]:
    """Return the files of a BEIR folder's judgments, or of a table written in parts."""
    names = sorted(name for name in os.listdir(path) if not name.startswith((".", "_")))
    if what == "qrels" and "qrels" in names and os.path.isdir(os.path.join(path, "qrels")):
        return _in_folder(os.path.join(path, "qrels"), what)
    tests = [name for name in names if os.path.splitext(name)[0] == "test" and "." in name]
    if what == "qrels" and len(tests) == 1:
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
    if what == "qrels" and len(qrels) == 1:
        return [os.path.join(path, qrels[0])]
    shown = ", ".join(map(repr, names[:10])) or "nothing"
    raise InputError(
        f"is a directory, not a file; it holds {shown}",
        source=path,
        hint="Of a BEIR folder, qrels/test.tsv is read; of any other, its Parquet files, as one "
        "table. Name the file, or several by a glob in quotation marks.",
    )


def _recognised(source: Source, what: What, form: str | None, columns: ColumnsLike | None) -> Rows:
    """Return a file's rows, in the form that is stated, or else found from content and name."""
    sample = _sample(source)
    if form is None:
        form = columnar_form(source, sample)
    if form is None:
        _refuse_no_text(source, sample)
        form = _named(source) or _json_form(sample)
    if form in ("parquet", "arrow"):
        return Columnar(source, what, cast(ColumnarFormat, form), columns)
    _refuse_no_text(source, sample)
    numbered = any(isinstance(at, int) for at in (columns or {}).values())
    if form == "json" and _json_form(sample) == "jsonl":
        form = "jsonl"  # some tools write lines under this name
    if form == "json" and sample.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"["):
        return JsonList(source, what, sample, columns)
    if form == "json":
        return JsonNested(source, what, sample)
    begin = data_begin(sample) or 0
    end = sample.find(b"\n", begin)
    if (end if end >= 0 else len(sample)) - begin >= LONGEST_LINE:
        raise too_long(source, sample.rfind(b"\n", 0, begin) + 1)
    if form == "jsonl":
        return JsonLines(source, what, sample, columns)
    separators = {"csv": None, "tsv": b"\t", "beir": b"\t"}
    if form in separators:
        separator = separators[form] or _separator(sample)
        found = delimited_rows(source, what, sample, separator, columns)
        assert found is not None  # noqa: S101 - a stated separator is taken
        return found
    if form is None and not numbered:
        delimited = delimited_rows(source, what, sample, None, columns)
        if delimited is not None:
            return delimited
    return _white_space(source, what, form, columns, sample)


def _named(source: Source) -> str | None:
    """Return the format that the name says, unless it may hold columns of several kinds."""
    form = SUFFIXES.get(source.suffix)
    return None if form in ("trec", "tsv") else form


def _refuse_no_text(source: Source, sample: bytes) -> None:
    refuse_binary(source, sample[:4096])
    if data_begin(sample) is None:
        if len(sample) < _LONGEST_PREFACE:
            raise InputError(NO_DATA, source=source.name)
        raise InputError(
            f"holds no data in its first {len(sample):,} bytes, only comments and blank lines",
            source=source.name,
            hint="The file is read no further: remove what stands above the data.",
        )


def what_is(path: Path) -> What | None:
    """Tell a run from judgments by the file's columns, or else its name; None if that cannot be."""
    first = _expanded(os.fspath(path), "qrels")[0]
    if not os.path.isfile(first):
        return None  # what can be read only once is not looked at
    source = Source(first)
    name = os.path.basename(source.path).lower()
    if "qrels" in name or source.suffix == ".qrels":
        return "qrels"
    try:
        taken = _recognised(source, "qrels", None, None).form.split(", ")
    except InputError:
        return "a run"
    if taken[0].startswith("JSON: "):  # grades or scores, both are numbers
        return "a run" if source.suffix == ".run" else None
    if taken[0].startswith("TREC"):
        lines = [line.split() for line in _sample(source).splitlines() if is_data(line)]
        judged = all(len(line) == 4 and WHOLE.fullmatch(line[3]) for line in lines)
        return "qrels" if judged else "a run"
    return "a run" if taken[-1] == "score" and "corpus-id" not in taken else "qrels"


def _white_space(
    source: Source, what: What, form: str | None, columns: ColumnsLike | None, sample: bytes
) -> Rows:
    if columns:
        roles = stated_roles(columns, what)
        at = {role: one - 1 for role, one in roles.items() if isinstance(one, int)}
        if len(at) < len(roles) or not {"query", "doc"} <= at.keys():
            raise InputError(
                "has no header with the columns that were stated",
                source=source.name,
                text=(sample.splitlines() or [b""])[0].decode("utf-8", "replace"),
                hint="Of a file without a header, say the columns by their numbers, from 1: "
                "query_id, doc_id and the number's.",
                kind="columns",
            )
        return trec.numbered_rows(source, what, at, sample)
    if form == "strata":
        return trec.strata_rows(source)
    if form == "prels":
        return trec.prels_rows(source)
    if what == "qrels":
        return trec.qrels_rows(source)
    return trec.marco_rows(source) if form == "msmarco" else trec.run_rows(source, sample)


def _sample(source: Source) -> bytes:
    """Return some first lines of the file, so many that a line of data is among them.

    A line longer than any that is read may be cut off, and so may be what is no text.
    """
    size = SAMPLE
    while True:
        sample = source.start(size)
        if len(sample) < size:
            return sample
        lines = sample[: sample.rfind(b"\n") + 1]
        if data_begin(lines) is not None:
            return lines
        begin = data_begin(sample)
        if columnar_form(source, sample) is not None or size >= _LONGEST_PREFACE:
            return sample
        if begin is not None and size - begin >= LONGEST_LINE:
            return sample
        size *= 16


def _json_form(sample: bytes) -> TableFormat | None:
    """Tell JSON from JSON lines: in these, the first line is an object of plain values."""
    text = sample.removeprefix(BYTE_ORDER_MARK).lstrip()
    if re.match(rb"\[\s*[{\]]", text):
        return "json"
    if not text.startswith(b"{") or text[1:].lstrip()[:1] not in (b'"', b"}", b""):
        return None
    import json

    try:  # a line that the sample cuts off is no JSON
        first = json.loads(text.split(b"\n", 1)[0].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return "json"
    plain = any(not isinstance(value, dict | list) for value in first.values())
    return "jsonl" if plain else "json"


def _separator(sample: bytes) -> bytes:
    """Return the separator of a CSV file: the one that its first line has most of."""
    first = next((line for line in sample.splitlines() if line.strip()), b"")
    return max((b",", b";", b"\t", b"|"), key=first.count)
