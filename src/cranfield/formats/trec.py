"""TREC qrels and runs, and MS MARCO runs: text in columns, separated by any white space.

A run line is `query_id Q0 doc_id rank score tag`; what follows the sixth column is ignored. The tag
or the Q0 may be missing where the other columns are unambiguous. Three columns are an MS MARCO run,
`query_id doc_id rank`, or, if the third holds fractions, `query_id doc_id score`. A run of two
columns, `query_id doc_id`, has no numbers: its order is the ranking. A qrels line is `query_id
iteration doc_id grade`. Blank lines, and lines whose first character is `#`, are comments; one that
has the columns of a row, and no blank behind the `#`, is refused, but not by trec_eval.
"""

from collections.abc import Iterable
from functools import partial
from io import SEEK_END, FileIO
from itertools import islice
from typing import IO, Any

import numpy as np

from cranfield.arrays.ids import decode, encode
from cranfield.errors import InputError, OptionError
from cranfield.formats.block import SIZES, Block
from cranfield.formats.columns import COLUMNS, What, in_order
from cranfield.formats.format import Beginning, Format, Holds, Target
from cranfield.formats.source import Source
from cranfield.formats.stated_columns import stated_roles
from cranfield.formats.text import at_lines, is_data, no_data_error, raw_blocks
from cranfield.formats.values import NUMBER, WHOLE, whole
from cranfield.formats.white_space import ROLES, WhiteSpace
from cranfield.formats.write import write_blank_separated

_RUN = "query_id Q0 doc_id rank score tag"
TREC_RUN = f"TREC run: {_RUN}"  # the name of the complete form
_MARCO = ("query_id doc_id rank", "MS MARCO run")


def trec_rows(file: Beginning) -> WhiteSpace:
    """Return judgments or a run in TREC's form, or rows whose columns the user has numbered."""
    if file.columns:
        return _numbered(file)
    if file.what is What.QRELS:
        names = "query_id iteration doc_id grade"
        rows = WhiteSpace(file.source, What.QRELS, names, "TREC qrels")
        rows.twice = _BY_SUBTOPIC
        return rows
    return run_rows(file.source, file.sample)


_BY_SUBTOPIC = (
    "To read judgments by subtopic (query, subtopic, document, grade): format='subtopics', "
    "--qrels-format subtopics."
)


def run_rows(source: Source, sample: bytes) -> WhiteSpace:
    """Return a run in TREC's form; `sample` (the first lines) shows which columns it has."""
    lines = [line.split() for line in _sampled(sample)]
    n = len(lines[0]) if lines else 6
    if n == 2:
        return WhiteSpace(source, What.RUN, "query_id doc_id", "ranked list")
    if n not in (3, 4, 5) or any(len(line) != n for line in lines):
        return WhiteSpace(source, What.RUN, _RUN, "TREC run", more=True)
    try:
        return WhiteSpace(source, What.RUN, *_columns_of(lines))
    except InputError as error:
        number, text = next(
            (i, line) for i, line in enumerate(sample.splitlines(), 1) if is_data(line)
        )
        raise error.at(source.name, number, text.decode("utf-8", "replace")) from None


def _marco_rows(file: Beginning) -> WhiteSpace:
    """Return a run in MS MARCO's form: query, document, rank."""
    if file.columns or file.what is What.QRELS:
        return trec_rows(file)
    return WhiteSpace(file.source, What.RUN, *_MARCO)


def _named_rows(names: str, form: str, file: Beginning) -> WhiteSpace:
    """Return judgments in lines of the named columns."""
    if file.columns:
        return _numbered(file)
    return WhiteSpace(file.source, What.QRELS, names, form)


def _numbered(file: Beginning) -> WhiteSpace:
    """Return rows whose columns the user has numbered."""
    roles = stated_roles(file.columns, file.what)
    columns = {role: one - 1 for role, one in roles.items() if isinstance(one, int)}
    if len(columns) < len(roles) or not {"query", "doc"} <= columns.keys():
        raise InputError(
            "has no header with the columns that were stated",
            source=file.source.name,
            text=(file.sample.splitlines() or [b""])[0].decode("utf-8", "replace"),
            hint="For a file without a header, state the columns by their numbers, from 1: "
            "query_id, doc_id and the score or grade.",
            kind="columns",
        )
    ids = {"query": "query_id", "doc": "doc_id"}
    at = {position: ids.get(role, role) for role, position in columns.items()}
    names = " ".join(at.get(i, "-") for i in range(max(at) + 1))
    return WhiteSpace(file.source, file.what, names, "columns as stated", more=True)


def _columns_of(lines: list[list[bytes]]) -> tuple[str, str]:
    """Return the columns of lines with three, four or five, and the name of this form.

    Raises InputError if the columns are ambiguous.
    """
    n = len(lines[0])
    number = [all(NUMBER.fullmatch(line[i]) for line in lines) for i in range(n)]
    whole = [number[i] and all(WHOLE.fullmatch(line[i]) for line in lines) for i in range(n)]
    if n == 3:
        if number[2] and not whole[2]:
            return "query_id doc_id score", "run without Q0, rank and tag"
        if _are_ranks(lines, 2):
            return _MARCO
        raise _ambiguous(3, "the third may be a rank, a score or a grade")
    has_q0 = all(line[1].upper() == b"Q0" for line in lines)
    if n == 5 and has_q0 and whole[3] and number[4]:
        return "query_id Q0 doc_id rank score", "TREC run without tag"
    if all(line[0].upper() == b"Q0" for line in lines):
        raise _ambiguous(n, "the query's column seems to be missing")
    if n == 5 and not has_q0 and whole[2] and number[3] and not number[4]:
        return "query_id doc_id rank score tag", "TREC run without Q0"
    if n == 4 and has_q0 and number[3] and not whole[3]:
        return "query_id Q0 doc_id score", "TREC run without rank and tag"
    if n == 4 and not has_q0 and _are_ranks(lines, 2) and number[3]:
        return "query_id doc_id rank score", "run without Q0 and tag"
    if n == 4 and whole[3]:
        raise _ambiguous(4, "these may be a grade", "This looks like qrels. ")
    raise _ambiguous(n, "it is not clear which columns these are")


def _are_ranks(lines: list[list[bytes]], column: int) -> bool:
    """Tell whether the column counts 1, 2, 3, ... for each query, line by line."""
    seen: dict[bytes, int] = {}
    for line in lines:
        seen[line[0]] = seen.get(line[0], 0) + 1
        if whole(line[column]) != seen[line[0]]:
            return False
    return True


def _ambiguous(n: int, why: str, guess: str = "") -> InputError:
    hint = (
        guess + "Judgments come first, once: QRELS RUN. If this is a run, state its columns, "
        "counted from 1, as in columns={'query_id': 1, 'doc_id': 3, 'score': 4} "
        "(--run-columns query_id=1,doc_id=3,score=4)."
    )
    return InputError(f"expected 6 columns: {_RUN}; got {n}: {why}", hint=hint, kind="columns")


_SAMPLED_LINES = 100


def _sampled(sample: bytes) -> list[bytes]:
    """Return the first lines of data; the last one is complete."""
    lines = sample.splitlines()[: 50 * _SAMPLED_LINES]
    return list(islice(filter(is_data, lines), _SAMPLED_LINES))


def run_tag(source: Source) -> str:
    """Return the sixth column of a run's last line, the system's name.

    Raises InputError if that line does not have six columns.
    """
    last = b""
    with source.open() as stream:
        if isinstance(stream, FileIO):  # not compressed
            last = _last_at_end(stream)
        else:
            for _, raw in raw_blocks(source, at_lines, []):
                last = _last_data(raw.tobytes().splitlines()) or last
    columns = last.split()
    if not columns:
        raise no_data_error(source)
    if len(columns) < 6:
        text = last.decode("utf-8", "replace")
        problem = f"expected 6 columns: {_RUN}; got {len(columns)}"
        raise InputError(problem, source=source.name, text=text)
    return decode(columns[5])


def _last_at_end(file: FileIO) -> bytes:
    """Return the last line of data, reading only as much of the file's end as needed."""
    length, size = file.seek(0, SEEK_END), SIZES.tail
    while True:
        file.seek(max(0, length - size))
        lines = (file.readall() or b"").splitlines()
        last = _last_data(lines if size >= length else lines[1:])  # the first line may be cut off
        if last or size >= length:
            return last
        size *= 8


def _last_data(lines: list[bytes]) -> bytes:
    return next((line for line in reversed(lines) if is_data(line)), b"")


# ---- writing --------------------------------------------------------------------------------


def _write_trec(stream: IO[bytes], blocks: Iterable[Block], target: Target) -> None:
    label = b"_".join(encode(target.tag).split()) or b"run"

    def columns(block: Block) -> list[Any]:
        if target.what is What.QRELS:
            return [block.query, b"0", block.doc, block.value]
        score = block.value if block.value is not None else _falling(block)
        return [block.query, b"Q0", block.doc, block.rank, score, label]

    write_blank_separated(stream, blocks, columns, b" ")


def _write_marco(stream: IO[bytes], blocks: Iterable[Block], target: Target) -> None:
    def columns(block: Block) -> list[Any]:
        if target.what is What.QRELS:
            return [block.query, b"0", block.doc, block.value]
        rank = block.columns["rank"]
        begins = np.zeros(len(block), np.int64)
        begins[block.query.begins()] = 1
        rows = np.lexsort((rank, np.cumsum(begins)))
        return [block.query.take(rows), block.doc.take(rows), rank[rows]]

    write_blank_separated(stream, blocks, columns, b"\t")


def _falling(block: Block) -> Any:
    """Return scores that give the rows the same order as their ranks: the last of a query has 1."""
    rank, begins = block.columns["rank"], block.query.begins()
    last = np.maximum.reduceat(rank, begins)
    return np.repeat(last, np.diff(np.append(begins, len(block)))) + 1 - rank


def _write_named(names: str, stream: IO[bytes], blocks: Iterable[Block], target: Target) -> None:
    """Write judgments in lines of the named columns."""
    places = [ROLES.get(name, name) for name in names.split()]

    def columns(block: Block) -> list[Any]:
        known = {"query": block.query, "doc": block.doc, "level": block.value, **block.columns}
        for role in in_order(places):
            if What.QRELS in COLUMNS[role].of and role not in known:
                raise OptionError(f"these judgments have no {role}, which the format needs")
        return [known.get(role, b"0") for role in places]

    write_blank_separated(stream, blocks, columns, b" ")


def _named(name: str, title: str, form: str, names: str, more: str = "", *aliases: str) -> Format:
    """Return a format of judgments in lines of the named columns."""
    holds = {ROLES[one] for one in names.split() if one in ROLES} - {"query", "doc"}
    return Format(
        name,
        title,
        partial(_write_named, names),
        read=partial(_named_rows, names, form),
        qrels=Holds(f"`{names}`{more}", in_order({*holds, "grade"})),  # a level can be a grade
        aliases=aliases,
    )


FORMATS = (
    Format(
        "trec",
        "TREC, any white space",
        _write_trec,
        read=trec_rows,
        suffixes=(".run", ".trec", ".qrels", ".txt", ".res"),
        is_named=False,
        qrels=Holds("`query_id iteration doc_id grade`", ("grade",)),
        runs=Holds(
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
        read=_marco_rows,
        qrels=Holds("`query_id 0 doc_id grade`", ("grade",)),
        runs=Holds(
            "`query_id doc_id rank`; detected if the ranks of each query are 1, 2, 3, ...",
            ("rank",),
            needs_rank=True,
        ),
    ),
    _named(
        "strata",
        "judgments sampled by strata, as sample_eval.pl takes them",
        "sampled qrels",
        "query_id iteration doc_id stratum grade",
    ),
    _named(
        "prels",
        "the Million Query track's prels",
        "prels",
        "query_id doc_id grade method probability",
    ),
)
GROUP_FORMATS = (
    _named(
        "qrels_jg",
        "judgments by subtopic",
        "judgments by subtopic",
        "query_id subtopic doc_id grade",
        "; or any of the tables above, with a column of subtopics",
        "subtopics",
    ),
    _named("qrels_prefs", "preferences by group", "preferences", "query_id group doc_id level"),
    _named(
        "prefs",
        "preferences in groups of groups",
        "preferences",
        "query_id group subgroup doc_id level",
    ),
)
