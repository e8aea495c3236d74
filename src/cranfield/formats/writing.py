"""Rows to files: every format that is read is written, too."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from cranfield.errors import InputError, OptionError
from cranfield.formats.block import Block
from cranfield.formats.columns import What
from cranfield.formats.lines import BYTE_ORDER_MARK
from cranfield.formats.objects import Grouping
from cranfield.formats.source import SUFFIXES, Source, written
from cranfield.ids import Ids, decode, encode

if TYPE_CHECKING:
    import pyarrow as pa


class NotTextError(Exception):
    """Some identifiers are no UTF-8, which columns of text cannot hold."""


def form_of(path: str | os.PathLike[str], form: str | None) -> str:
    """Return the format to write: the one stated, or the one that the file's suffix names."""
    suffix = Source(path).suffix
    if form is None and suffix and suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise OptionError(f"the suffix {suffix!r} names no format ({known}): state it by format=")
    form = form or SUFFIXES.get(suffix, "trec")
    if form == "arrow" and suffix == ".arrows":
        return "arrows"  # a stream
    return "trec" if form == "qrels" else form


def write_rows(
    path: str | os.PathLike[str],
    form: str,
    what: What,
    blocks: Callable[[], Iterable[Block]],
    tag: str,
) -> None:
    """Write rows to a file, compressed as its suffix says.

    `form` is what `form_of` returned. The blocks of a run have a `rank` where the format needs one
    (TREC, MS MARCO, and all if there is no score), those for JSON hold whole queries. `tag` is the
    system's name in a TREC run. Raises InputError for an identifier that the format cannot hold.
    """
    writers: dict[str, Callable[[IO[bytes], Iterable[Block], What, str], None]] = {
        "trec": _write_trec,
        "strata": _write_sampled("stratum"),
        "prels": _write_sampled("probability"),
        "msmarco": _write_marco,
        "beir": _write_delimited(b"\t", ("query-id", "corpus-id", "score")),
        "tsv": _write_delimited(b"\t"),
        "csv": _write_delimited(b","),
        "json": _write_json,
        "jsonl": _write_json_lines,
    }
    if what == "qrels" and form != "json":
        for block in blocks():
            if block.empty:
                raise InputError(
                    f"the query {decode(block.empty[0])!r} has no judgment, which only JSON can "
                    "say",
                    source=os.fspath(path),
                    kind="id",
                )
    if form == "beir" and what == "a run":
        raise OptionError("format='beir' is for judgments; a run is written as tsv or csv")
    try:
        with written(path) as stream:
            if form in writers:
                writers[form](stream, blocks(), what, tag)
            else:
                _write_columnar(stream, blocks(), what, form, is_text=True)
    except NotTextError:
        with written(path) as stream:
            _write_columnar(stream, blocks(), what, form, is_text=False)
    except InputError as error:
        if error.source is not None:
            raise
        raise error.at(os.fspath(path)) from None  # of data in memory


def write_groups(
    path: str | os.PathLike[str],
    form: str | None,
    groups: Grouping,
    weights: Mapping[str, Mapping[str, float]] | None,
) -> None:
    """Write judgments in groups: as trec_eval has them, or a table with a column of subtopics."""
    subgroups = any(len(parts) > 1 for named in groups.values() for parts in named.values())
    levels = (
        level
        for named in groups.values()
        for parts in named.values()
        for part in parts
        for level in part.values()
    )
    whole = all(float(level).is_integer() for level in levels)
    tables = ["csv", "tsv", "jsonl", "parquet", "arrow"] if whole and not subgroups else []
    able = [] if subgroups else (["qrels_jg"] if whole else []) + ["qrels_prefs"]
    able = [*able, "prefs", *tables] if weights is None else tables
    if form is None:
        form = form_of(path, None)
        form = able[0] if form == "trec" and weights is None else form
    if form in tables:
        block = _groups_block(groups, weights)
        write_rows(path, form_of(path, form), "qrels", lambda: [block], "")
        return
    if form not in able:
        raise OptionError(
            f"format={form!r} cannot hold these judgments in groups; choose of {', '.join(able)}"
        )
    with written(path) as stream:
        for query, named in groups.items():
            for group, parts in named.items():
                for number, part in enumerate(parts):
                    for doc, level in part.items():
                        texts = [query, group, *([str(number)] if form == "prefs" else []), doc]
                        fields = list(map(encode, texts))
                        for field in fields:
                            fault = _fault_in_trec(field, field is fields[0])
                            if fault is not None:
                                raise fault.at(os.fspath(path))
                        shown = str(int(level)) if whole else repr(float(level))
                        stream.write(b" ".join([*fields, shown.encode()]) + b"\n")


def _groups_block(groups: Grouping, weights: Mapping[str, Mapping[str, float]] | None) -> Block:
    rows = [
        (query, name, doc, level, 0.0 if weights is None else weights[query][name])
        for query, named in groups.items()
        for name, (part,) in named.items()
        for doc, level in part.items()
    ]
    queries, names, docs, levels, shares = zip(*rows, strict=True)
    return Block(
        Ids.of_texts(queries),
        Ids.of_texts(docs),
        np.array(levels).astype(np.int64),
        group=Ids.of_texts(names),
        weight=None if weights is None else np.array(shares),
    )


# ---- text -----------------------------------------------------------------------------------


def _write_trec(stream: IO[bytes], blocks: Iterable[Block], what: What, tag: str) -> None:
    label = b"_".join(encode(tag).split()) or b"run"

    def columns(block: Block) -> list[Any]:
        if what == "qrels":
            return [block.query, b"0", block.doc, block.value]
        assert block.rank is not None  # noqa: S101 - as the caller promises
        score = block.value if block.value is not None else _falling(block)
        return [block.query, b"Q0", block.doc, block.rank, score, label]

    _write_blank_separated(stream, blocks, columns, b" ")


def _write_marco(stream: IO[bytes], blocks: Iterable[Block], what: What, tag: str) -> None:
    def columns(block: Block) -> list[Any]:
        if what == "qrels":
            return [block.query, b"0", block.doc, block.value]
        assert block.rank is not None  # noqa: S101 - as the caller promises
        begins = np.zeros(len(block), np.int64)
        begins[block.query.begins()] = 1
        rows = np.lexsort((block.rank, np.cumsum(begins)))
        return [block.query.take(rows), block.doc.take(rows), block.rank[rows]]

    _write_blank_separated(stream, blocks, columns, b"\t")


def _write_sampled(
    role: Literal["stratum", "probability"],
) -> Callable[[IO[bytes], Iterable[Block], What, str], None]:
    def columns(block: Block) -> list[Any]:
        if role not in block.sampling:
            raise OptionError(f"these judgments have no {role}, which the format needs")
        sampling = block.sampling[role]
        if role == "stratum":
            return [block.query, b"0", block.doc, sampling, block.value]
        return [block.query, block.doc, block.value, b"0", sampling]

    def write(stream: IO[bytes], blocks: Iterable[Block], what: What, tag: str) -> None:
        _write_blank_separated(stream, blocks, columns, b" ")

    return write


def _falling(block: Block) -> Any:
    """Return scores by which the rows rank as by their rank: the last of a query has 1."""
    assert block.rank is not None  # noqa: S101 - as the caller promises
    begins = block.query.begins()
    last = np.maximum.reduceat(block.rank, begins)
    return np.repeat(last, np.diff(np.append(begins, len(block)))) + 1 - block.rank


def _write_blank_separated(
    stream: IO[bytes],
    blocks: Iterable[Block],
    columns: Callable[[Block], list[Any]],
    separator: bytes,
) -> None:
    first = True
    for block in blocks:
        if len(block) == 0:
            continue
        for ids in (block.query, block.doc):
            for field in _distinct(ids):
                fault = _fault_in_trec(field, ids is block.query)
                if fault is not None:
                    raise _placed(fault, block, ids.to_list().index(field))
        if first and block.query[0].startswith(BYTE_ORDER_MARK):
            stream.write(BYTE_ORDER_MARK)  # one is taken for the file's own
        first = False
        stream.write(_joined(columns(block), separator))


def _placed(fault: InputError, block: Block, row: int) -> InputError:
    """Return an error that says where the row was read, as far as that is known."""
    place = block.error(row, fault.problem)
    return fault.at(place.source, place.line, place.text)


def _distinct(ids: Ids) -> Iterable[bytes]:
    """Return the identifiers of which one may be unfit for a column of text."""
    text = bytes(ids.to_arrow().buffers()[2] or b"")
    special = any(byte in text for byte in (b" ", b"\t", b"\n", b"\r", b"\v", b"\f", b"#"))
    return dict.fromkeys(ids.to_list()) if special else ()


def _fault_in_trec(field: bytes, is_query: bool) -> InputError | None:
    if len(field.split()) != 1 or field.split()[0] != field:
        problem = "it holds white space"
    elif is_query and field.startswith(b"#"):
        problem = "a line that begins with # is a comment"
    else:
        return None
    return InputError(
        f"the id {decode(field)!r} cannot be written in columns of text: {problem}",
        hint="Write CSV, JSON, Parquet or Arrow instead.",
        kind="id",
    )


def _joined(columns: Sequence[Any], separator: bytes) -> memoryview:
    """Return lines of columns: ids, numbers, or the same text in every line."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fields = [
        pa.scalar(one, pa.large_binary()) if isinstance(one, bytes) else _fields(one)
        for one in columns
    ]
    lines = pc.binary_join_element_wise(*fields, pa.scalar(separator, pa.large_binary()))
    ended = pc.binary_join_element_wise(lines, *(pa.scalar(b, lines.type) for b in (b"", b"\n")))
    _, offsets, data = ended.buffers()
    bounds = np.frombuffer(offsets, np.int64)[ended.offset : ended.offset + len(ended) + 1]
    return memoryview(data)[int(bounds[0]) : int(bounds[-1])]


def _fields(column: Any) -> Any:
    import pyarrow as pa

    if isinstance(column, Ids):
        return column.to_arrow()
    return _number_column(column).cast(pa.large_string()).view(pa.large_binary())


def _number_column(values: Any) -> "pa.Array":
    import pyarrow as pa

    kind = pa.float64() if values.dtype.kind == "f" else pa.int64()
    wide = np.ascontiguousarray(values, np.float64 if kind == pa.float64() else np.int64)
    return pa.Array.from_buffers(kind, len(wide), [None, pa.py_buffer(wide)])


def _names(what: What, block: Block) -> tuple[str, ...]:
    if what == "qrels":
        group = () if block.group is None else ("subtopic",)
        weight = () if block.weight is None else ("weight",)
        return ("query_id", *group, "doc_id", "relevance", *weight, *block.sampling)
    score = () if block.value is None else ("score",)
    rank = () if block.rank is None else ("rank",)
    cost = () if block.cost is None else ("cost",)
    return ("query_id", "doc_id", *score, *rank, *cost)


def _columns(block: Block) -> list[Any]:
    numbers = (block.value, block.rank, block.weight, block.cost, *block.sampling.values())
    every = (block.query, block.group, block.doc, *numbers)
    return [one for one in every if one is not None]


def _write_delimited(
    separator: bytes, header: tuple[str, ...] | None = None
) -> Callable[[IO[bytes], Iterable[Block], What, str], None]:
    def write(stream: IO[bytes], blocks: Iterable[Block], what: What, tag: str) -> None:
        first = True
        for block in blocks:
            if first:
                stream.write(separator.join(map(str.encode, header or _names(what, block))) + b"\n")
                first = False
            if len(block) == 0:
                continue
            columns = [
                _quoted(one, separator) if isinstance(one, Ids) else one for one in _columns(block)
            ]
            stream.write(_joined(columns, separator))

    return write


def _quoted(ids: Ids, separator: bytes) -> Ids:
    """Return ids in quotation marks where they hold what has a meaning in the file."""
    special = (separator, b'"', b"\r", b"\n", b" ", b"\t", b"\v", b"\f")
    text = bytes(ids.to_arrow().buffers()[2] or b"")
    if not any(one in text for one in special):
        return ids
    return Ids.of(
        [
            b'"' + field.replace(b'"', b'""') + b'"'
            if any(one in field for one in special)
            else field
            for field in ids.to_list()
        ]
    )


# ---- JSON -----------------------------------------------------------------------------------


def _write_json(stream: IO[bytes], blocks: Iterable[Block], what: What, tag: str) -> None:
    separator = b"{\n"
    for block in blocks:
        docs = list(map(decode, block.doc.to_list()))
        begins = block.query.begins().tolist()
        values = None if block.value is None else block.value.tolist()
        for begin, end in pairwise([*begins, len(block)]):
            query = json.dumps(decode(block.query[begin]))
            some: Any = docs[begin:end]
            if values is not None:
                some = dict(zip(some, values[begin:end], strict=True))
            elif block.rank is not None:
                order = np.argsort(block.rank[begin:end], kind="stable").tolist()
                some = [some[i] for i in order]
            if values is not None and len(some) < end - begin:
                twice = next(doc for doc in some if docs[begin:end].count(doc) > 1)
                raise InputError(
                    f"the document {twice!r} stands twice for query {query}: JSON cannot hold both",
                    kind="duplicate",
                )
            stream.write(separator + f"{query}: {json.dumps(some)}".encode())
            separator = b",\n"
        for nothing in block.empty:
            some = [] if block.value is None else {}
            stream.write(separator + f"{json.dumps(decode(nothing))}: {some}".encode())
            separator = b",\n"
    stream.write((b"{" if separator == b"{\n" else b"") + b"\n}\n")


def _write_json_lines(stream: IO[bytes], blocks: Iterable[Block], what: What, tag: str) -> None:
    for block in blocks:
        names = [json.dumps(name) for name in _names(what, block)]
        columns = [
            [json.dumps(decode(one)) for one in column.to_list()]
            if isinstance(column, Ids)
            else list(map(json.dumps, column.tolist()))
            for column in _columns(block)
        ]
        lines = (
            ", ".join([f"{name}: {field}" for name, field in zip(names, row, strict=True)])
            for row in zip(*columns, strict=True)
        )
        stream.write("".join([f"{{{line}}}\n" for line in lines]).encode())


# ---- Parquet and Arrow ----------------------------------------------------------------------

_GROUP_ROWS = 1 << 19


def _write_columnar(
    stream: IO[bytes], blocks: Iterable[Block], what: What, form: str, *, is_text: bool
) -> None:
    import pyarrow as pa

    tables = (_table(block, what, is_text) for block in blocks if len(block))
    first = next(tables, None)
    if first is None:
        raise InputError("there are no rows to write")
    sink = pa.PythonFile(stream, "w")
    if form == "parquet":
        from pyarrow import parquet

        with parquet.ParquetWriter(sink, first.schema, compression="zstd") as writer:
            for table in _large(chain([first], tables)):
                writer.write_table(table, _GROUP_ROWS)
        return
    create = pa.ipc.new_stream if form == "arrows" else pa.ipc.new_file
    with create(sink, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _large(tables: "Iterator[pa.Table]") -> "Iterator[pa.Table]":
    """Put tables together until they are as large as a row group should be."""
    import pyarrow as pa

    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(map(len, held)) >= _GROUP_ROWS:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


def _table(block: Block, what: What, is_text: bool) -> "pa.Table":
    import pyarrow as pa

    arrays = []
    for column in _columns(block):
        if isinstance(column, Ids):
            array = column.to_arrow()
            if is_text:
                array = array.view(pa.large_string())
                try:
                    array.validate(full=True)
                except pa.ArrowInvalid:
                    raise NotTextError from None
        else:
            array = _number_column(column)
        arrays.append(array)
    return pa.Table.from_arrays(arrays, list(_names(what, block)))
