"""TREC qrels and runs, MS MARCO runs, and judgments with more columns: text with white space.

A run line is `query_id Q0 doc_id rank score tag`; what follows the sixth column is ignored. The tag
or the Q0 may be missing where the other columns are unambiguous. Three columns are an MS MARCO run,
`query_id doc_id rank`, or, if the third holds fractions, `query_id doc_id score`. A run of two
columns, `query_id doc_id`, has no numbers: its order is the ranking. A qrels line is `query_id
iteration doc_id grade`. Blank lines, and lines that begin with `#`, after blanks, are comments; one
that has the columns of a row, and no blank behind the `#`, is refused, but not by trec_eval; where
the user numbers the columns, it is a row.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import SEEK_END, FileIO
from itertools import islice
from typing import IO, Any

import numpy as np

from cranfield.arrays.ids import decode, encode
from cranfield.errors import InputError, OptionError
from cranfield.formats.block import SIZES, Block
from cranfield.formats.columns import COLUMNS, Side, sort_roles
from cranfield.formats.format import Capacity, Format, InputFile, OutputFile
from cranfield.formats.source import Source
from cranfield.formats.stated_columns import resolve_roles, take_statements
from cranfield.formats.text import (
    count_rows,
    cut_lines,
    is_data_line,
    no_data_error,
    read_raw_blocks,
)
from cranfield.formats.values import INTEGER, NUMBER, parse_integer
from cranfield.formats.white_space import ROLE_OF_NAME, WhiteSpaceLines
from cranfield.formats.write import write_blank_separated

_RUN = "query_id Q0 doc_id rank score tag"
TREC_RUN = f"TREC run: {_RUN}"  # the name of the complete form
_MARCO_FORM = ("query_id doc_id rank", "MS MARCO run")


def read_trec(file: InputFile) -> WhiteSpaceLines:
    """Return the rows of a file in TREC's form, or in columns that the user has numbered."""
    if take_statements(file.user_columns, ()):
        return _read_numbered(file)
    if file.side is Side.QRELS:
        names = "query_id iteration doc_id grade"
        rows = WhiteSpaceLines(file.source, Side.QRELS, names, "TREC qrels")
        rows.duplicate_reason = _SUBTOPICS_HINT
        return rows
    return read_run(file.source, file.sample)


_SUBTOPICS_HINT = (
    "To read judgments by subtopic (query, subtopic, document, grade): format='subtopics', "
    "--qrels-format subtopics."
)


def read_run(source: Source, sample: bytes) -> WhiteSpaceLines:
    """Return a run's rows in TREC's form; `sample`, its start, shows its columns, or InputError."""
    data_lines, fault = _first_data_lines(sample), None
    if data_lines and len(data_lines[0].split()) == 2:
        return WhiteSpaceLines(source, Side.RUN, "query_id doc_id", "ranked list")
    for separator in (None, b"\t"):
        lines = [line.split(separator) for line in data_lines]
        if {*map(len, lines)} in ({3}, {4}, {5}):
            try:
                return WhiteSpaceLines(source, Side.RUN, *_guess_columns(lines))
            except InputError as error:
                fault = fault or error
        elif all(len(line) > 5 and INTEGER.fullmatch(line[3]) for line in lines):
            break
    if fault is None:
        return WhiteSpaceLines(source, Side.RUN, _RUN, "TREC run", allows_more=True)
    numbered_lines = enumerate(sample.splitlines(), 1)
    number, text = next((i, line) for i, line in numbered_lines if is_data_line(line))
    raise fault.locate(source.name, number, text.decode("utf-8", "replace")) from None


def _read_line_format(names: str, title: str, side: Side, file: InputFile) -> WhiteSpaceLines:
    """Return the rows of a side in lines of the columns `names`, or as stated by the user."""
    if take_statements(file.user_columns, ()):
        return _read_numbered(file)
    return WhiteSpaceLines(file.source, side, names, title)


def _read_numbered(file: InputFile) -> WhiteSpaceLines:
    """Return the rows of a file without a header by the user's column numbers; or InputError."""
    first_line = next(iter(_first_data_lines(file.sample)), b"")
    column_names = [f"column {i}" for i, _ in enumerate(first_line.split(), 1)]
    column_of_role = resolve_roles(take_statements(file.user_columns, column_names), file.side)
    position_of_role = {
        role: column - 1 if isinstance(column, int) else column_names.index(column)
        for role, column in column_of_role.items()
        if isinstance(column, int) or column in column_names
    }
    has_ids = {"query", "doc"} <= position_of_role.keys()
    if len(position_of_role) < len(column_of_role) or not has_ids:
        raise InputError(
            "has no header with the columns that were stated",
            source=file.source.name,
            text=(file.sample.splitlines() or [b""])[0].decode("utf-8", "replace"),
            hint="For a file without a header, state the columns by their numbers, from 1: "
            "query_id, doc_id and the score or grade.",
            kind="columns",
        )
    ids = {role: position for role, position in position_of_role.items() if role != "system"}
    if len(ids) == 2 and ids["doc"] > 1:
        with suppress(InputError):  # the grade or score is where TREC has it
            rows = read_trec(replace(file, user_columns=None))
            are_rows = all(map(rows.is_row, _first_data_lines(file.sample)))
            if are_rows and ids.items() <= rows.position_of_role.items():
                position_of_role |= rows.position_of_role
    id_names = {"query": "query_id", "doc": "doc_id"}
    name_of_position = {
        position: id_names.get(role, role) for role, position in position_of_role.items()
    }
    names = " ".join(name_of_position.get(i, "-") for i in range(max(name_of_position) + 1))
    rows = WhiteSpaceLines(file.source, file.side, names, "columns as stated", allows_more=True)
    rows.reads_hash_rows = True
    if "system" in position_of_role:
        rows.column_names = column_names
        rows.name_of_role = {role: f"column {i + 1}" for role, i in position_of_role.items()}
    return rows


def _guess_columns(lines: list[list[bytes]]) -> tuple[str, str]:
    """Return the names of the columns of lines with three to five fields, and the form's title.

    Raises InputError if the columns are ambiguous.
    """
    n = len(lines[0])
    is_number = [all(map(NUMBER.fullmatch, column)) for column in zip(*lines, strict=True)]
    is_integer = [
        is_number[i] and all(INTEGER.fullmatch(line[i]) for line in lines) for i in range(n)
    ]
    if n == 3:
        if is_number[2] and not is_integer[2]:
            return "query_id doc_id score", "run without Q0, rank and tag"
        if _are_ranks(lines, 2):
            return _MARCO_FORM
        raise _ambiguity_error(3, "the third may be a rank, a score or a grade")
    has_q0 = all(line[1].upper() == b"Q0" for line in lines)
    if n == 5 and has_q0 and is_integer[3] and is_number[4]:
        return "query_id Q0 doc_id rank score", "TREC run without tag"
    if all(line[0].upper() == b"Q0" for line in lines):
        raise _ambiguity_error(n, "the query's column seems to be missing")
    if n == 5 and not has_q0 and is_integer[2] and is_number[3] and not is_number[4]:
        return "query_id doc_id rank score tag", "TREC run without Q0"
    if n == 4 and has_q0 and is_number[3] and not is_integer[3]:
        return "query_id Q0 doc_id score", "TREC run without rank and tag"
    if n == 4 and not has_q0 and _are_ranks(lines, 2) and is_number[3]:
        return "query_id doc_id rank score", "run without Q0 and tag"
    if n == 4 and is_integer[3]:
        raise _ambiguity_error(4, "these may be a grade", "This looks like qrels. ")
    raise _ambiguity_error(n, "it is not clear which columns these are")


def _are_ranks(lines: list[list[bytes]], position: int) -> bool:
    """Tell whether the fields at a position count 1, 2, 3, ... for each query, line by line."""
    places = count_rows(line[0] for line in lines)
    return all(parse_integer(line[position]) == next(places) for line in lines)


def _ambiguity_error(n: int, why: str, guess: str = "") -> InputError:
    """Return the error that the columns of lines with n fields are ambiguous, and `why`."""
    hint = (
        guess + "Judgments come first, once: QRELS RUN. If this is a run, state its columns, "
        "counted from 1, as in columns={'run': {'query_id': 1, 'doc_id': 3, 'score': 4}} "
        "(--columns run.query_id=1,run.doc_id=3,run.score=4)."
    )
    return InputError(f"expected 6 columns: {_RUN}; got {n}: {why}", hint=hint, kind="columns")


_N_SAMPLE_LINES = 100  # of data, from which the columns are guessed


def _first_data_lines(sample: bytes) -> list[bytes]:
    """Return the first lines of data in a sample whose last line is complete."""
    lines = sample.splitlines()[: 50 * _N_SAMPLE_LINES]
    return list(islice(filter(is_data_line, lines), _N_SAMPLE_LINES))


def run_tag(source: Source) -> str:
    """Return the sixth column of a run's last line of data, the system's name.

    Raises InputError if that line has fewer columns, or if there is none.
    """
    last_line = b""
    with source.open() as stream:
        if isinstance(stream, FileIO):  # a file on this machine, not compressed
            last_line = _read_last_line(stream)
        else:
            for _, raw in read_raw_blocks(source, cut_lines, []):
                last_line = _find_last_data_line(raw.tobytes().splitlines()) or last_line
    fields = last_line.split()
    if not fields:
        raise no_data_error(source)
    if len(fields) < 6:
        text = last_line.decode("utf-8", "replace")
        problem = f"expected 6 columns: {_RUN}; got {len(fields)}"
        raise InputError(problem, source=source.name, text=text)
    return decode(fields[5])


def _read_last_line(file: FileIO) -> bytes:
    """Return the last line of data, reading only as much of the file's end as needed."""
    length, size = file.seek(0, SEEK_END), SIZES.tail
    while True:
        file.seek(max(0, length - size))
        lines = (file.readall() or b"").splitlines()
        is_whole_file = size >= length  # else the first line may be cut off
        last_line = _find_last_data_line(lines if is_whole_file else lines[1:])
        if last_line or is_whole_file:
            return last_line
        size *= 8


def _find_last_data_line(lines: list[bytes]) -> bytes:
    return next((line for line in reversed(lines) if is_data_line(line)), b"")


def _write_trec(stream: IO[bytes], blocks: Iterable[Block], target: OutputFile) -> None:
    tag = b"_".join(encode(target.tag).split()) or b"run"

    def list_columns(block: Block) -> list[Any]:
        if target.side is Side.QRELS:
            return [block.query, b"0", block.doc, block.score_or_grade]
        score, rank = block.score_or_grade, block.columns["rank"]
        if score is None:  # it falls with the rank, to 1
            first_row = block.query.find_changes()
            last_rank = np.maximum.reduceat(rank, first_row)
            score = np.repeat(last_rank, np.diff(np.append(first_row, len(block)))) + 1 - rank
        return [block.query, b"Q0", block.doc, rank, score, tag]

    write_blank_separated(stream, blocks, list_columns, b" ")


def _write_marco(stream: IO[bytes], blocks: Iterable[Block], target: OutputFile) -> None:
    def list_columns(block: Block) -> list[Any]:
        if target.side is Side.QRELS:
            return [block.query, b"0", block.doc, block.score_or_grade]
        rank = block.columns["rank"]
        begins_query = np.zeros(len(block), np.int64)
        begins_query[block.query.find_changes()] = 1
        order = np.lexsort((rank, np.cumsum(begins_query)))
        return [block.query.take(order), block.doc.take(order), rank[order]]

    write_blank_separated(stream, blocks, list_columns, b"\t")


def _write_line_format(
    names: str, stream: IO[bytes], blocks: Iterable[Block], target: OutputFile
) -> None:
    """Write judgments in lines of the columns `names`; OptionError if they lack one."""
    roles = [ROLE_OF_NAME.get(name, name) for name in names.split()]  # or the name without one

    def list_columns(block: Block) -> list[Any]:
        column_of_role = {
            "query": block.query,
            "doc": block.doc,
            "level": block.score_or_grade,
            **block.columns,
        }
        for role in sort_roles(roles):
            if Side.QRELS in COLUMNS[role].sides and role not in column_of_role:
                raise OptionError(f"these judgments have no {role}, which the format needs")
        return [column_of_role.get(role, b"0") for role in roles]

    write_blank_separated(stream, blocks, list_columns, b" ")


def _make_format(
    name: str, title: str, read_title: str, names: str, remark: str = "", *aliases: str
) -> Format:
    """Return a format of judgments in lines of the columns `names`.

    `title` is its name in the documentation, where `remark` follows `names`; `read_title` begins
    the description of rows that were read.
    """
    roles = {ROLE_OF_NAME[column] for column in names.split() if column in ROLE_OF_NAME}
    roles = roles - {"query", "doc"} | {"grade"}  # a level can be a grade
    return Format(
        name,
        title,
        partial(_write_line_format, names),
        read=partial(_read_line_format, names, read_title, Side.QRELS),
        qrels=Capacity(f"`{names}`{remark}", sort_roles(roles)),
        aliases=aliases,
    )


FORMATS = (
    Format(
        "trec",
        "TREC, any white space",
        _write_trec,
        read=read_trec,
        suffixes=(".run", ".trec", ".qrels", ".txt", ".res"),
        is_decided_by_suffix=False,
        qrels=Capacity("`query_id iteration doc_id grade`", ("grade",)),
        runs=Capacity(
            "`query_id Q0 doc_id rank score tag`; also without the tag or the Q0 (five columns), "
            "`query_id Q0 doc_id score` with fractions, `query_id doc_id rank score` (four), "
            "`query_id doc_id score` with fractions (three), `query_id doc_id` in order (two)",
            ("score", "rank"),
            needs_rank=True,
        ),
        aliases=("qrels",),
    ),
    Format(
        "msmarco",
        "MS MARCO",
        _write_marco,
        read=lambda file: (
            read_trec(file)
            if file.side is Side.QRELS
            else _read_line_format(*_MARCO_FORM, Side.RUN, file)
        ),
        qrels=Capacity("`query_id 0 doc_id grade`", ("grade",)),
        runs=Capacity(
            "`query_id doc_id rank`; detected if the ranks of each query are 1, 2, 3, ...",
            ("rank",),
            needs_rank=True,
        ),
    ),
    _make_format(
        "strata",
        "judgments sampled by strata, as sample_eval.pl takes them",
        "sampled qrels",
        "query_id iteration doc_id stratum grade",
    ),
    _make_format(
        "prels",
        "the Million Query track's prels",
        "prels",
        "query_id doc_id grade method probability",
    ),
)
GROUP_FORMATS = (
    _make_format(
        "qrels_jg",
        "judgments by subtopic",
        "judgments by subtopic",
        "query_id subtopic doc_id grade",
        "; or any of the tables above, with a column of subtopics",
        "subtopics",
    ),
    _make_format(
        "qrels_prefs", "preferences by group", "preferences", "query_id group doc_id level"
    ),
    _make_format(
        "prefs",
        "preferences in groups of groups",
        "preferences",
        "query_id group subgroup doc_id level",
    ),
)
