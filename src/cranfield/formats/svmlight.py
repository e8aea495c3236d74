"""SVMlight: judgments as learning to rank has them, and a run that is a number for each row.

A line is `grade qid:query feature:value ... # comment`, as in LETOR and RankLib. The document is
`docid = X` of the comment, else its first word, else its place among the query's rows: `#1`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import IO, TYPE_CHECKING

import numpy as np

from cranfield.arrays.ids import Ids
from cranfield.errors import InputError, OptionError
from cranfield.formats.block import Block, Errors, Load, MemoryRows, Role, Rows, join_blocks
from cranfield.formats.columns import Side
from cranfield.formats.format import Capacity, Format, InputFile, OutputFile
from cranfield.formats.lines import DataLine
from cranfield.formats.source import Source, describe_sources
from cranfield.formats.text import Bytes, count_rows, is_data_line
from cranfield.formats.values import NUMBER
from cranfield.formats.white_space import WhiteSpaceLines

if TYPE_CHECKING:
    import pyarrow as pa

# A grade, a query, features, and maybe a document behind #.
_ROW = re.compile(
    rb"(?m)^[ \t]*([^\s#]+)[ \t]+qid:(\S+)[^#\n]*(?:#[ \t]*(?:docid[ \t]*=[ \t]*)?(\S*).*)?"
)


def _cut_features(text: bytes) -> bytes:
    """Return lines without features: grade, query, and the document's name behind a #."""
    return _ROW.sub(rb"\1 \2 #\3", text)


class SvmLines(WhiteSpaceLines):
    """Lines of a grade, a query, features, and a comment that may name the document."""

    duplicate_reason = "The document is the first word behind #; without, the row: sed 's/#.*//'."

    def __init__(self, source: Source) -> None:
        super().__init__(source, Side.QRELS, "grade query_id doc_id", "SVMlight")
        self._expected = "columns: grade qid:query ... # document"
        self.description = self._expected.replace("columns", "SVMlight")

    def parse_lines(self, raw: bytes) -> Iterator[DataLine]:
        """Yield the lines of data in the bytes of a block, with their faults."""
        return super().parse_lines(_cut_features(raw))

    def read_tables(
        self, raw: Bytes, type_of_position: "dict[int, pa.DataType]"
    ) -> Iterator["list[pa.Array] | None"]:
        """Yield the columns of a block as Arrow reads them."""
        lines = np.frombuffer(_cut_features(raw.tobytes()), np.uint8)
        return super().read_tables(lines, type_of_position)

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Yield the rows in blocks; a document without a name is called by its place."""
        n_rows_of_query: dict[bytes, int] = {}
        for load in super().blocks(roles, errors):
            block = load()
            docs = block.doc.to_list()
            for row, place in enumerate(count_rows(block.query.to_list(), n_rows_of_query)):
                if not docs[row].startswith(b"#"):
                    raise block.row_error(row, f"expected {self._expected}")
                docs[row] = docs[row][1:] or b"#%d" % place
            yield partial(replace, block, doc=Ids.of(docs))


class NumberRows(Rows):
    """A run that is a number on each line, for the rows of judgments beside it."""

    description = "a number on each line"
    extra_roles = frozenset({"score"})

    def __init__(self, source: Source) -> None:
        self.source = source

    def blocks(self, roles: Iterable[Role], errors: Errors) -> Iterator[Load]:
        """Raise an error: the rows are unknown."""
        hint = "Such a run is read beside judgments in the format svmlight, row by row."
        problem = "holds a number on each line, and no documents"
        raise InputError(problem, source=self.source.name, hint=hint)


def follow_rows(rows: Rows, sources: Sequence[Source], errors: Errors) -> Rows:
    """Return a run's rows, with those of judgments in SVMlight files if it has but numbers.

    Raises InputError for more or fewer numbers than rows, and for RankLib's numbers of rows.
    """
    file_rows = getattr(rows, "rows", [rows])[0]
    if file_rows.description.startswith("run without Q0, rank and tag"):
        block = next(rows.blocks((), errors))()
        places = count_rows(block.query.to_list())
        if block.doc.to_list() == [b"%d" % (place - 1) for place in places]:
            raise InputError(
                "has numbers of rows in the place of documents, as RankLib writes them",
                source=file_rows.source.name,
                hint="Keep the scores: cut -f3 FILE > scores.txt; each is that of a row.",
            )
    if not isinstance(file_rows, NumberRows):
        return rows
    block = join_blocks([load() for file in sources for load in SvmLines(file).blocks((), errors)])
    with file_rows.source.open() as stream:
        texts = stream.read().split()
    n_numbers = sum(1 for text in texts if NUMBER.fullmatch(text))
    if not len(texts) == n_numbers == len(block):
        raise InputError(
            f"holds {n_numbers:,} numbers, and {describe_sources(sources)} {len(block):,} rows",
            source=file_rows.source.name,
            hint="There is a number for each row of the judgments, in their order.",
        )
    scores = np.array([*map(float, texts)])
    return MemoryRows(replace(block, columns={"score": scores}), rows)


def _read(file: InputFile) -> Rows:
    return NumberRows(file.source) if file.side is Side.RUN else SvmLines(file.source)


def _sniff(file: InputFile) -> Rows | None:
    """Return the rows if the first lines are numbers, of a run, or the first line is a row."""
    is_run = file.side is Side.RUN
    lines = [*islice(filter(is_data_line, file.sample.splitlines()), 100 if is_run else 1)]
    is_form = NUMBER.fullmatch if is_run else _ROW.match
    are_known = file.side is not Side.EXCLUDED and all(map(is_form, map(bytes.strip, lines)))
    return _read(file) if lines and are_known else None


def _refuse_to_write(stream: IO[bytes], blocks: Iterable[Block], target: OutputFile) -> None:
    raise OptionError("format='svmlight' is only read")


FORMATS = (
    Format(
        "svmlight",
        "SVMlight, LETOR, RankLib",
        _refuse_to_write,
        read=_read,
        sniff=_sniff,
        qrels=Capacity("`grade qid:query feature:value ... # document`; only read", ("grade",)),
        runs=Capacity("beside such judgments: a number for each of their rows"),
    ),
)
