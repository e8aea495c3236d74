"""SVMlight: judgments as learning to rank has them, and runs that are a number for each row.

A line is `grade qid:query feature:value ... # comment`, as in LETOR and RankLib. The document is
`docid = X` of the comment, else its first word, else its place among the query's rows: `#1`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from cranfield.arrays.ids import Ids
from cranfield.errors import InputError, OptionError
from cranfield.formats.block import Block, Errors, Load, MemoryRows, Role, Rows, join_blocks
from cranfield.formats.columns import Side
from cranfield.formats.format import Capacity, Format, InputFile, OutputFile
from cranfield.formats.lines import DataLine, Lines
from cranfield.formats.source import Source, describe_sources
from cranfield.formats.text import Bytes, is_data_line
from cranfield.formats.values import NUMBER
from cranfield.formats.write import write_blank_separated

if TYPE_CHECKING:
    import pyarrow as pa

SVMLIGHT = "SVMlight: grade qid:query ... # document"
_COMMENT = rb"(?:#[^\S\n]*(?:docid[^\S\n]*=[^\S\n]*)?(\S+)?.*)?"
_ROW = re.compile(rb"(?m)^[^\S\n]*([^\s#]+)[^\S\n]+qid:(\S+)[^#\n]*" + _COMMENT + rb"$")
_NO_DOC = b"#"


class SvmLines(Lines):
    """Lines of a grade, a query, features, and a comment that may name the document."""

    allows_decimals = True
    duplicate_reason = (
        "The document is the first word behind #; without, it is the row: sed 's/#.*//'."
    )

    def __init__(self, source: Source) -> None:
        super().__init__(source, Side.QRELS, 0, {"query": 1, "doc": 2, "grade": 0}, SVMLIGHT)

    def find_query(self, line: bytes) -> bytes | None:
        """Return a line's query, of a line without one its text; None for one without data."""
        match = _ROW.match(line.rstrip())
        return match[2] if match else line.strip() if is_data_line(line) else None

    def parse_lines(self, raw: bytes) -> Iterator[DataLine]:
        """Yield the lines of data in the bytes of a block, with their faults."""
        for i, line in enumerate(raw.splitlines()):
            if is_data_line(line):
                match = _ROW.fullmatch(line)
                fault = None if match else InputError(f"expected {SVMLIGHT}", kind="columns")
                yield DataLine(i, line, match.groups(_NO_DOC) if match else (), fault)

    def read_tables(
        self, raw: Bytes, type_of_position: "dict[int, pa.DataType]"
    ) -> Iterator["list[pa.Array] | None"]:
        """Yield the columns of a block whose lines are all rows."""
        import pyarrow as pa

        text = raw.tobytes().replace(b"\r\n", b"\n").rstrip(b"\n")
        rows = _ROW.findall(text)
        if len(rows) == text.count(b"\n") + 1 and b"\0" not in text:
            columns = list(zip(*rows, strict=True))
            yield [pa.array(columns[i], pa.large_binary()) for i in type_of_position]

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks; a document without a name is called by its place."""
        n_rows_of_query: Counter[bytes] = Counter()
        for load in super().blocks(roles, errors):
            block = load()
            places = count_rows(block.query.to_list(), n_rows_of_query)
            docs = zip(block.doc.to_list(), places, strict=True)
            names = [b"#%d" % i if doc in (b"", _NO_DOC) else doc for doc, i in docs]
            yield partial(replace, block, doc=Ids.of(names))


def count_rows(queries: Iterable[Any], n_rows_of_query: Counter[Any]) -> Iterator[int]:
    """Yield the place of each row among those of its query, from 1, after the rows counted."""
    for query in queries:
        n_rows_of_query[query] += 1
        yield n_rows_of_query[query]


class NumberRows(Rows):
    """A run that is a number on each line: the scores of the rows of judgments beside it."""

    description = "a number on each line"
    extra_roles = frozenset({"score"})

    def __init__(self, source: Source) -> None:
        self.source = source

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Raise an error: which documents the numbers are of is unknown."""
        raise InputError(
            "holds a number on each line, and no documents",
            source=self.source.name,
            hint="Such a run is read beside judgments in the format svmlight, row by row.",
        )

    def read_scores(self) -> list[float]:
        """Return the numbers; InputError for another text."""
        with self.source.open() as stream:
            texts = stream.read().split()
        for text in texts:
            if not NUMBER.fullmatch(text):
                raise InputError(f"expected a number, got {text!r:.80}", source=self.source.name)
        return [*map(float, texts)]


def follow_rows(rows: Rows, sources: Sequence[Source], errors: Errors) -> Rows:
    """Return a run's rows, with those of judgments in SVMlight files if it has but numbers.

    Raises InputError for more or fewer numbers than rows, and for RankLib's numbers of rows.
    """
    file_rows = getattr(rows, "rows", [rows])[0]
    if file_rows.description.startswith("run without Q0, rank and tag"):
        block = next(rows.blocks((), errors))()
        places = count_rows(block.query.to_list(), Counter())
        if block.doc.to_list() == [b"%d" % (place - 1) for place in places]:
            raise InputError(
                "has numbers of rows in the place of documents, as RankLib writes them",
                source=rows.sources[0].name,
                hint="Keep the scores: cut -f3 FILE > scores.txt; each is that of a row.",
            )
    if not isinstance(file_rows, NumberRows):
        return rows
    block = join_blocks([load() for file in sources for load in SvmLines(file).blocks((), errors)])
    scores = file_rows.read_scores()
    if len(scores) != len(block):
        raise InputError(
            f"holds {len(scores):,} numbers, and {describe_sources(sources)} {len(block):,} rows",
            source=file_rows.source.name,
            hint="There is a number for each row of the judgments, in their order.",
        )
    return MemoryRows(replace(block, columns={"score": np.array(scores)}), rows)


def _read(file: InputFile) -> Rows:
    return NumberRows(file.source) if file.side is Side.RUN else SvmLines(file.source)


def _sniff(file: InputFile) -> Rows | None:
    lines = list(islice(filter(is_data_line, file.sample.splitlines()), 100))
    if file.side is Side.RUN:
        is_known = bool(lines) and all(NUMBER.fullmatch(line.strip()) for line in lines)
    else:
        is_known = file.side is Side.QRELS and bool(lines and _ROW.fullmatch(lines[0]))
    return _read(file) if is_known else None


def _write(stream: IO[bytes], blocks: Iterable[Block], target: OutputFile) -> None:
    if target.side is Side.RUN:
        raise OptionError("format='svmlight' is for judgments")

    def list_columns(block: Block) -> list[Any]:
        query = Ids.of([b"qid:" + query for query in block.query.to_list()])
        return [block.score_or_grade, query, b"# docid =", block.doc]

    write_blank_separated(stream, blocks, list_columns, b" ")


FORMATS = (
    Format(
        "svmlight",
        "SVMlight, LETOR, RankLib",
        _write,
        read=_read,
        sniff=_sniff,
        qrels=Capacity("`grade qid:query feature:value ... # document`", ("grade",)),
        runs=Capacity("beside such judgments: a number for each of their rows"),
    ),
)
