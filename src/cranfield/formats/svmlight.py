"""SVMlight: judgments as learning to rank has them, and a run that is a number for each row.

A line is `grade qid:query feature:value ... # comment`, as in LETOR and RankLib. The document is
`docid = X` of the comment, else its first word, else its place among the query's rows: `#1`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import IO, TYPE_CHECKING

import numpy as np

from cranfield.arrays.ids import Ids, decode
from cranfield.errors import InputError, OptionError
from cranfield.formats.block import Block, Errors, Load, MemoryRows, Role, Rows, join_blocks
from cranfield.formats.columns import Side
from cranfield.formats.format import Capacity, Format, InputFile, OutputFile
from cranfield.formats.lines import DataLine
from cranfield.formats.source import Source, describe_sources
from cranfield.formats.text import Bytes, count_rows, find_data
from cranfield.formats.values import NUMBER
from cranfield.formats.white_space import WhiteSpaceLines

if TYPE_CHECKING:
    import pyarrow as pa

# A grade, a query, features, and maybe a document behind #.
_ROW = re.compile(
    rb"(?m)^[ \t]*([^\s#]+)[ \t]+qid:(\S+)[^#\n]*(?:#[ \t]*(?:docid[ \t]*=[ \t]*)?(\S*).*)?"
)
_NO_DATA = re.compile(rb"(?m)^[ \t]*(?:#.*)?(?:\r?\n|\Z)")  # blank lines and comments


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


def follow_rows(rows: Rows, sources: Sequence[Source], errors: Errors) -> Rows:
    """Return a run's rows; of a number on each line, as scores of the rows of SVMlight judgments.

    `sources` are the judgments' files; a name in the first line, and comments do not count. Raises
    InputError for what is no number, more or fewer numbers than rows, and RankLib's row numbers.
    """
    start = rows.sources[0].read_start(4096) if len(rows.sources) == 1 else b""
    lines = [*map(bytes.split, _NO_DATA.sub(b"", start).splitlines()[:9])]
    if not lines:
        return rows
    (source,), places = rows.sources, count_rows(line[0] for line in lines)
    if all(len(line) == 3 and line[1] == b"%d" % (next(places) - 1) for line in lines):
        raise InputError(
            "has numbers of rows in the place of documents, as RankLib writes them",
            source=source.name,
            hint="Keep the scores: cut -f3 FILE > scores.txt; each is that of a row.",
        )
    if {*map(len, lines)} != {1} or not any(NUMBER.fullmatch(line[0]) for line in lines):
        return rows
    block = join_blocks([load() for file in sources for load in SvmLines(file).blocks((), errors)])
    with source.open() as stream:
        texts = _NO_DATA.sub(b"", stream.read()).split()
    is_header = not NUMBER.fullmatch(texts[0]) and texts[0].lower() not in (b"nan", b"none")
    for row, text in enumerate(texts[is_header:], 1):
        if not NUMBER.fullmatch(text):
            problem = f"expected a number as the score of row {row}, got {decode(text)!r:.80}"
            raise InputError(problem, source=source.name)
    scores = [*map(float, texts[is_header:])]
    if len(scores) != len(block):
        raise InputError(
            f"holds {len(scores):,} numbers, and {describe_sources(sources)} {len(block):,} rows",
            source=source.name,
            hint="A run beside such judgments is a number for each row, or has documents.",
        )
    block = replace(block, columns={"score": np.array(scores)})
    return MemoryRows(block, rows, "a number on each line", {"score"})


def _sniff(file: InputFile) -> SvmLines | None:
    is_row = file.side is Side.QRELS and _ROW.match(file.sample, find_data(file.sample) or 0)
    return SvmLines(file.source) if is_row else None


def _refuse_to_write(stream: IO[bytes], blocks: Iterable[Block], target: OutputFile) -> None:
    raise OptionError("format='svmlight' is only read")


FORMATS = (
    Format(
        "svmlight",
        "SVMlight, LETOR, RankLib",
        _refuse_to_write,
        read=lambda file: SvmLines(file.source),
        sniff=_sniff,
        qrels=Capacity(
            "`grade qid:query feature:value ... # document`; only read. A run beside it may be a "
            "number on each line, for each row"
        ),
    ),
)
