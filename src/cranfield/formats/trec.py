"""TREC qrels and runs, and MS MARCO's: text in columns, separated by any white space.

A run line is `query_id Q0 doc_id rank score tag`; what follows the sixth column is ignored. The tag
or the Q0 may be missing where the rest cannot be mistaken. Three columns are MS MARCO's, `query_id
doc_id rank`, or, if the third holds fractions, `query_id doc_id score`. A run of two columns,
`query_id doc_id`, has no numbers: its order is the ranking. A qrels line is `query_id iteration
doc_id grade`. Blank lines, and lines whose first character is `#`, are comments.
"""

import re
from collections.abc import Iterator, Mapping
from io import SEEK_END, FileIO
from typing import TYPE_CHECKING

import numpy as np

from cranfield.errors import InputError
from cranfield.formats.columns import Role, What
from cranfield.formats.lines import (
    BYTE_ORDER_MARK,
    NEWLINE,
    NO_DATA,
    NUMBER,
    TAIL,
    WHOLE,
    Bytes,
    Lines,
    Record,
    at_lines,
    raw_blocks,
    read_csv,
    whole,
)
from cranfield.formats.source import Source
from cranfield.ids import Ids, decode

if TYPE_CHECKING:
    import pyarrow as pa

_WINDOW = 1 << 16
_HASH = 35
_TO_SPACES = bytes.maketrans(b"\t\v\f", b"   ")

_RUN = "6 columns: query_id Q0 doc_id rank score tag"
TREC_RUN = f"TREC run: {_RUN.partition(': ')[2]}"  # what a whole one is called
_QRELS = "4 columns: query_id iteration doc_id grade"


class WhiteSpace(Lines):
    """Lines of columns with white space between them; `more` columns may follow the last."""

    decimals = True

    def __init__(
        self,
        source: Source,
        what: What,
        columns: Mapping[Role, int],
        expected: str,
        *,
        form: str,
        more: bool = False,
    ) -> None:
        super().__init__(source, what, 0, columns, f"{form}: {expected.partition(': ')[2]}")
        self._n_columns = int(expected.split()[0])
        self._expected = expected
        self._more = more

    @property
    def is_ranking(self) -> bool:
        """Whether the order of the lines is the ranking: there are but two columns."""
        return self._n_columns == 2

    def query_of(self, line: bytes) -> bytes | None:
        """Return the line's query, None for a line that is no data."""
        columns = line.split(None, self.columns["query"] + 1)
        if not columns or columns[0].startswith(b"#"):
            return None
        return columns[min(self.columns["query"], len(columns) - 1)]

    def records(self, raw: bytes) -> Iterator[Record]:
        """Yield the lines of data, and what is wrong with their columns."""
        for i, line in enumerate(raw.splitlines()):
            if not is_data(line):
                continue
            columns = line.split(None, self._n_columns)  # and the rest, if there are more
            n = len(columns)
            fault = None
            if n < self._n_columns or (n > self._n_columns and not self._more):
                fault = InputError(
                    f"expected {self._expected}; got {_count(line)}",
                    hint=self._other_file(line.split(None, 6)),
                    kind="columns",
                )
            elif n > self._n_columns and not self._is_ranked(columns):
                fault = InputError(
                    f"expected {self._expected}; got {_count(line)}, and column "
                    f"{self.columns['rank'] + 1} is no rank: does an id hold white space?",
                    hint="Write such ids in CSV, JSON, Parquet or Arrow.",
                    kind="columns",
                )
            yield Record(i, line, columns, fault)

    def tables(
        self, raw: Bytes, columns: "dict[int, pa.DataType]"
    ) -> Iterator["list[pa.Array] | None"]:
        """Try to read the columns with Arrow; None if the block is not clean."""
        for prepare in (_as_it_is, _single_spaces, _respaced):
            yield self._read(prepare(raw), columns)

    def _read(self, raw: Bytes, columns: "dict[int, pa.DataType]") -> "list[pa.Array] | None":
        if len(raw) == 0:
            return None
        n_columns = _first_line(raw).count(b" ") + 1
        if n_columns < self._n_columns or (n_columns > self._n_columns and not self._more):
            return None
        arrays = read_csv(raw, " ", n_columns, columns)
        if arrays is None or not _is_clean(raw, n_columns, len(arrays[0])):
            return None
        if n_columns > self._n_columns and "rank" in self.columns:
            import pyarrow as pa

            ranks = read_csv(raw, " ", n_columns, {self.columns["rank"]: pa.binary()})
            if ranks is None or not Ids.of_arrow(ranks[0]).are_digits():
                return None
        # A comment begins with the first column, which is the query's nearly always.
        query = Ids.of_arrow(arrays[0])
        comments = query.begin_with(_HASH) if self.columns["query"] == 0 else b"\n#" in bytes(raw)
        return None if comments else arrays

    def _is_ranked(self, columns: list[bytes]) -> bool:
        """Tell whether the rank column, if there is one, holds a whole number."""
        return (
            "rank" not in self.columns or WHOLE.fullmatch(columns[self.columns["rank"]]) is not None
        )

    def _other_file(self, columns: list[bytes]) -> str | None:
        """Guess what was given in place of what was expected."""
        if self.what == "qrels" and len(columns) >= 6 and NUMBER.fullmatch(columns[4]):
            return "This looks like a run. The judgments come first: QRELS RUN."
        if self.what == "a run" and len(columns) == 4 and WHOLE.fullmatch(columns[3]):
            return "This looks like qrels. The judgments come first, once: QRELS RUN."
        return None


def qrels_rows(source: Source) -> WhiteSpace:
    """Return judgments in TREC's form."""
    columns: dict[Role, int] = {"query": 0, "doc": 2, "grade": 3}
    return WhiteSpace(source, "qrels", columns, _QRELS, form="TREC qrels")


def strata_rows(source: Source) -> WhiteSpace:
    """Return judgments sampled by strata, as sample_eval.pl takes them."""
    columns: dict[Role, int] = {"query": 0, "doc": 2, "grade": 4, "stratum": 3}
    expected = "5 columns: query_id iteration doc_id stratum grade"
    return WhiteSpace(source, "qrels", columns, expected, form="sampled qrels")


def prels_rows(source: Source) -> WhiteSpace:
    """Return judgments with inclusion probabilities, as the Million Query track has them."""
    columns: dict[Role, int] = {"query": 0, "doc": 1, "grade": 2, "probability": 4}
    expected = "5 columns: query_id doc_id grade method probability"
    return WhiteSpace(source, "qrels", columns, expected, form="prels")


def run_rows(source: Source, sample: bytes) -> WhiteSpace:
    """Return a run in TREC's form; `sample` (some first lines) tells which columns it has."""
    lines = [line.split() for line in _sampled(sample)]
    n = len(lines[0]) if lines else 6
    if n == 2:
        return _run(source, "2 columns: query_id doc_id", "ranked list")
    if n not in (3, 4, 5) or any(len(line) != n for line in lines):
        return _run(source, _RUN, "TREC run", more=True)
    read = _three_columns if n == 3 else _four_or_five_columns
    try:
        return read(source, lines)
    except InputError as error:
        number, text = next(
            (i, line) for i, line in enumerate(sample.splitlines(), 1) if is_data(line)
        )
        raise error.at(source.name, number, text.decode("utf-8", "replace")) from None


def marco_rows(source: Source) -> WhiteSpace:
    """Return a run in MS MARCO's form: query, document, rank."""
    return _run(source, "3 columns: query_id doc_id rank", "MS MARCO run")


def numbered_rows(
    source: Source, what: What, columns: Mapping[Role, int], sample: bytes
) -> WhiteSpace:
    """Return rows whose columns the user has numbered."""
    names = {"query": "query_id", "doc": "doc_id"}
    at = {position: names.get(role, role) for role, position in columns.items()}
    n = max(at) + 1
    text = " ".join(at.get(i, "-") for i in range(n))
    form = "columns as stated"
    return WhiteSpace(source, what, columns, f"{n} columns: {text}", form=form, more=True)


_ROLES: Mapping[str, Role] = {
    "query_id": "query",
    "doc_id": "doc",
    "rank": "rank",
    "score": "score",
}


def _run(source: Source, expected: str, form: str, *, more: bool = False) -> WhiteSpace:
    names = expected.partition(": ")[2].split()
    columns = {_ROLES[name]: i for i, name in enumerate(names) if name in _ROLES}
    return WhiteSpace(source, "a run", columns, expected, form=form, more=more)


def _three_columns(source: Source, lines: list[list[bytes]]) -> WhiteSpace:
    third = [line[2] for line in lines if len(line) == 3]
    if all(map(NUMBER.fullmatch, third)) and not all(map(WHOLE.fullmatch, third)):
        return _run(source, "3 columns: query_id doc_id score", "run without Q0, rank and tag")
    if _are_ranks(lines, 2):
        return marco_rows(source)
    raise _ambiguous(3, "the third may be a rank, a score or a grade")


def _are_ranks(lines: list[list[bytes]], column: int) -> bool:
    """Tell whether the column counts 1, 2, 3, ... for each query, line by line."""
    seen: dict[bytes, int] = {}
    for line in lines:
        seen[line[0]] = seen.get(line[0], 0) + 1
        if whole(line[column]) != seen[line[0]]:
            return False
    return True


def _four_or_five_columns(source: Source, lines: list[list[bytes]]) -> WhiteSpace:
    n = len(lines[0])
    has_q0 = all(line[1].upper() == b"Q0" for line in lines)
    number = [all(NUMBER.fullmatch(line[i]) for line in lines) for i in range(n)]
    ranks = [number[i] and all(WHOLE.fullmatch(line[i]) for line in lines) for i in range(n)]
    if n == 5 and has_q0 and ranks[3] and number[4]:
        return _run(source, "5 columns: query_id Q0 doc_id rank score", "TREC run without tag")
    if all(line[0].upper() == b"Q0" for line in lines):
        raise _ambiguous(n, "the query's seems to be missing")
    if n == 5 and not has_q0 and ranks[2] and number[3] and not number[4]:
        return _run(source, "5 columns: query_id doc_id rank score tag", "TREC run without Q0")
    if n == 4 and has_q0 and number[3] and not ranks[3]:
        return _run(source, "4 columns: query_id Q0 doc_id score", "TREC run without rank and tag")
    if n == 4 and not has_q0 and _are_ranks(lines, 2) and number[3]:
        return _run(source, "4 columns: query_id doc_id rank score", "run without Q0 and tag")
    if n == 4 and ranks[3]:
        raise _ambiguous(4, "these may be a grade", "This looks like qrels. ")
    raise _ambiguous(n, "which these are cannot be told for certain")


def _ambiguous(n: int, why: str, guess: str = "") -> InputError:
    hint = (
        guess
        + "Judgments come first, once: QRELS RUN. If this is a run, say which columns it has, "
        "counted from 1, as in columns={'query_id': 1, 'doc_id': 3, 'score': 4} "
        "(--run-columns query_id=1,doc_id=3,score=4)."
    )
    return InputError(f"expected {_RUN}; got {n}: {why}", hint=hint, kind="columns")


_SAMPLED_LINES = 100


def _sampled(sample: bytes) -> list[bytes]:
    """Return some first lines of data, of which the last is whole."""
    lines = [line for line in sample.splitlines()[: 50 * _SAMPLED_LINES] if is_data(line)]
    return lines[:_SAMPLED_LINES]


def run_tag(source: Source) -> str:
    """Return the sixth column of the last line of a run, which names the system.

    Raises InputError if that line has no six columns.
    """
    last = b""
    with source.open() as stream:
        if isinstance(stream, FileIO):  # stored as it is
            last = _last_at_end(stream)
        else:
            for _, raw in raw_blocks(source, at_lines, []):
                last = _last_data(raw.tobytes().splitlines()) or last
    columns = last.split()
    if not columns:
        raise InputError(NO_DATA, source=source.name)
    if len(columns) < 6:
        text = last.decode("utf-8", "replace")
        problem = f"expected {_RUN}; got {len(columns)}"
        raise InputError(problem, source=source.name, text=text)
    return decode(columns[5])


def _last_at_end(file: FileIO) -> bytes:
    """Return the last line of data, looking at no more of the file's end than it takes."""
    length, size = file.seek(0, SEEK_END), TAIL
    while True:
        file.seek(max(0, length - size))
        lines = (file.readall() or b"").splitlines()
        last = _last_data(lines if size >= length else lines[1:])  # the first may be cut
        if last or size >= length:
            return last
        size *= 8


def _last_data(lines: list[bytes]) -> bytes:
    return next((line for line in reversed(lines) if is_data(line)), b"")


def is_data(line: bytes) -> bool:
    """Tell whether a line is neither blank nor a comment."""
    line = line.lstrip()
    return bool(line) and not line.startswith(b"#")


# The first character of the first line, below another, that is neither blank nor a comment.
_DATA = re.compile(rb"[\r\n][^\S\r\n]*+([^\s#])")
_BLANK_LINES = re.compile(rb"[\r\n]\s*+")


def data_begin(text: bytes) -> int | None:
    """Return where the first line of data begins, behind its blanks; None if there is none."""
    begin = len(text) - len(text.removeprefix(BYTE_ORDER_MARK).lstrip())
    if begin == len(text):
        return None
    if text[begin] != _HASH:
        return begin
    found = _DATA.search(text, begin)
    return None if found is None else found.start(1)


_COLUMN = re.compile(rb"\S+")
_LONG = 1 << 16  # of a longer line, a list of its columns may take 40 times the memory


def _count(line: bytes) -> int:
    """Return how many columns the line has."""
    return sum(1 for _ in _COLUMN.finditer(line))


def _as_it_is(raw: Bytes) -> Bytes:
    return raw if raw[-1] == NEWLINE else np.append(raw, np.uint8(NEWLINE))


def _single_spaces(raw: Bytes) -> Bytes:
    text = raw.tobytes().replace(b"\r\n", b"\n").translate(_TO_SPACES)
    return _as_it_is(np.frombuffer(text, np.uint8))


def _respaced(raw: Bytes) -> Bytes:
    lines = [
        b" ".join(line.split()) if len(line) < _LONG else _respaced_long(line)
        for line in _BLANK_LINES.sub(b"\n", raw.tobytes()).splitlines()
        if is_data(line)
    ]
    return np.frombuffer(b"\n".join([*lines, b""]), np.uint8)


def _respaced_long(line: bytes) -> bytes:
    line = line.strip().translate(_TO_SPACES)
    while b"  " in line:
        line = line.replace(b"  ", b" ")
    return line


def _is_clean(raw: Bytes, n_columns: int, n_rows: int) -> bool:
    """Tell whether one white space character follows each column, none stands beside another.

    Then nothing was read as a part of an identifier, or as an empty column, that the eye would
    not see there.
    """
    n_spaces = 0
    for begin in range(0, len(raw), _WINDOW):  # small pieces stay in the cache
        piece = raw[begin : begin + _WINDOW + 1]
        space = piece <= 32
        n_spaces += int(np.count_nonzero(space[:_WINDOW]))
        if (space[1:] & space[:-1]).any():
            return False
    return bool(n_spaces == n_columns * n_rows and raw[0] > 32)


def _first_line(raw: Bytes) -> bytes:
    start = raw[:4096].tobytes()
    return (start if b"\n" in start else raw.tobytes()).split(b"\n", 1)[0]
