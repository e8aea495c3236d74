"""Search for input that breaks the readers: python scripts/fuzz.py --seconds 60.

This tests a promise: reading any file ends with a result, or with a CranfieldError that can be
printed and names the file, within ten seconds and 2 GB of memory.

An input is a few bytes that choose how a file is read (as judgments, as a run, as scores or labels
of queries, the format, the other options, the file's suffix and its compression), followed by the
file's content. Atheris makes such inputs from the seeds below, and continues with those that reach
new parts of the code. Before that, a quarter of the time is for inputs of megabytes: the good files
with a long id, a long query, many columns, a long line, very many blanks or lines:

    pip install '.[fuzz]'
    python scripts/fuzz.py --seconds 60       exits with 1 if it found something, and prints it
    python scripts/fuzz.py --replay FILE      read the input in FILE again; needs no Atheris
    python scripts/fuzz.py --corpus DIR       keep the inputs there, and continue with them
"""

import argparse
import bz2
import contextlib
import gzip
import hashlib
import inspect
import io
import json
import lzma
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import cranfield  # it imports the rest on first use, where Atheris can see it

SECONDS = 10  # of the processors' time, for one input
MAX_SECONDS_WAITING = 120  # seconds, after which an input is taken to be waited for for ever
MEGABYTES = 2048
MAX_BYTES = 8192  # bytes of an input
JUDGMENTS = {"q1": {"d1": 1}}
MEASURES = "AP nDCG@10"

READERS: dict[str, Callable[..., Any]] = {
    "run": lambda *args, **options: cranfield.read_run(*args, **options),
    "qrels": lambda *args, **options: cranfield.read_qrels(*args, **options),
    "scores": lambda path: _read_scores(path, "measures"),
    "systems": lambda path: _read_scores(path, "systems"),
    "labels": lambda path: _read_labels(path),
}
MEASURE_NAMES = frozenset({"AP", "map", "P_5", "nDCG@10", "ndcg_cut_10"})
ORDERS = ("score", "rank", "given")


def _read_scores(path: Path, layout: Any) -> Any:
    from cranfield.formats.small.score_files import read_scores

    return read_scores(path, MEASURE_NAMES.__contains__, layout)


def _read_labels(path: Path) -> Any:
    from cranfield.formats.small.labels import read_labels

    return read_labels(path)


_UNDETECTED_FORMATS = {
    "qrels_jg",
    "qrels_prefs",
    "prefs",
    "subtopics",
    "strata",
    "prels",
}  # never detected
SUFFIXES = (
    *("", ".run", ".qrels", ".txt", ".csv", ".tsv", ".json", ".jsonl", ".ndjson"),
    *(".parquet", ".arrow", ".feather", ".gz", ".bz2", ".xz", ".zst", ".lz4", ".csv.gz"),
)


def _compress_by_arrow(content: bytes, codec: str) -> bytes:
    import pyarrow as pa

    compressed_bytes: bytes = pa.compress(content, codec=codec, asbytes=True)
    return compressed_bytes


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gz": lambda content: gzip.compress(content, 1, mtime=0),
    "bz2": bz2.compress,
    "xz": lambda content: lzma.compress(content, preset=0),
    "zst": lambda content: _compress_by_arrow(content, "zstd"),
    "lz4": lambda content: _compress_by_arrow(content, "lz4"),
}


# ---- an input -------------------------------------------------------------------------------


@cache
def list_choices(reader: str, option: str) -> tuple[Any, ...]:
    """Return the values of a reader's option, the default first; empty if there is no such option.

    They come from the library: formats from its register, the others from its annotations.
    """
    function = getattr(cranfield, f"read_{reader}", None)
    if function is None:
        return ()
    parameter = inspect.signature(function).parameters.get(option)
    if parameter is None:
        return ()
    if option == "format":
        from cranfield.formats.columns import Side
        from cranfield.formats.files import format_names

        literals: list[Any] = format_names(Side.QRELS if reader == "qrels" else Side.RUN)
    else:
        literals = _list_literals(get_type_hints(function)[option])
    if not literals:
        raise TypeError(f"read_{reader}: no Literal says what {option} may be")
    return tuple(dict.fromkeys([parameter.default, *literals]))


def _list_literals(hint: Any) -> list[Any]:
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [literal for argument in get_args(hint) for literal in _list_literals(argument)]


@dataclass(frozen=True)
class Case:
    """A file, and how to read it. An option with the value None is left out."""

    reader: str
    content: bytes
    format: str | None = None
    errors: str | None = None
    order: str = "score"
    suffix: str = ""
    packing: str = "none"

    @property
    def stored_bytes(self) -> bytes:
        """The bytes of the file."""
        return PACKINGS[self.packing](self.content)

    def options(self) -> dict[str, str]:
        """Return the options for the reader."""
        options = {"format": self.format, "errors": self.errors}
        return {name: value for name, value in options.items() if value is not None}

    def encode(self) -> bytes:
        """Return the case as an input, without options that the reader does not have."""
        option_codes = []
        for choices, choice in zip(_field_choices(self.reader), self._field_values(), strict=True):
            option_codes.append(choices.index(choice) if choice in choices else 0)
        return bytes(option_codes) + self.content

    def _field_values(self) -> tuple[Any, ...]:
        return self.reader, self.format, self.errors, self.order, self.suffix, self.packing

    @classmethod
    def decode(cls, data: bytes) -> "Case":
        """Return the case that any bytes stand for."""
        option_codes, content = data[:6].ljust(6, b"\0"), data[6:]
        readers = list(READERS)
        fields = _field_choices(readers[option_codes[0] % len(readers)])
        reader, *options = (
            choices[i % len(choices)] for i, choices in zip(option_codes, fields, strict=True)
        )
        form, errors, order, suffix, packing = options
        return cls(reader, content, form, errors, order, suffix, packing)


def _field_choices(reader: str) -> list[tuple[Any, ...]]:
    options = [list_choices(reader, option) or (None,) for option in ("format", "errors")]
    return [tuple(READERS), *options, ORDERS, SUFFIXES, tuple(PACKINGS)]


class BrokenPromiseError(AssertionError):
    """Two values that should be equal differ, or a text that should be printable is not."""


def check_case(case: Case, folder: Path) -> Exception | None:
    """Read the case from a file in the folder; return the CranfieldError that refused it, if any.

    Any other exception is a fault, and so is a warning that is not cranfield's own.
    """
    path = folder / f"case{case.suffix}"
    path.write_bytes(case.stored_bytes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)
            _check_reads(case, path)
    except cranfield.CranfieldError as error:
        for character in str(error):
            if character != "\n" and not character.isprintable():
                raise BrokenPromiseError(f"an error shows {character!r}") from error
        if isinstance(error, cranfield.InputError) and str(path) not in str(error):
            raise BrokenPromiseError(f"an error does not name the file: {error}") from error
        return error
    return None


def _check_reads(case: Case, path: Path) -> None:
    """Read the file several times; all results must be the same."""
    options = case.options()
    first_result = _read_case(case, path, options)
    if options.get("errors") == "skip":
        return
    if not list_choices(case.reader, "errors") and _read_case(case, path, options) != first_result:
        raise BrokenPromiseError("another read has a different result")
    for errors in ("strict", "skip"):
        if errors in list_choices(case.reader, "errors"):
            options["errors"] = errors
        if _read_case(case, path, options) != first_result:
            raise BrokenPromiseError(f"another read, with {options}, has a different result")


def _read_case(case: Case, path: Path, options: dict[str, str]) -> Any:
    data = READERS[case.reader](path, **options)
    if case.reader == "run":
        with contextlib.suppress(cranfield.CranfieldError):
            repr(data.tag)
        return cranfield.evaluate(JUDGMENTS, data, MEASURES, order=case.order).to_dict()  # type: ignore[call-overload] # any order
    if case.reader == "labels":
        return data
    if case.reader != "qrels":
        scores = [(key, list(values.items())) for key, values in data.scores.items()]
        return [scores, list(map(str, data.notes())), data.n_missing]
    repr(data)
    judgments = data.to_dict()
    if cranfield.Qrels(judgments).to_dict() != judgments:
        raise BrokenPromiseError("the judgments do not survive as a dict")
    return judgments


# ---- good files, and changes that may spoil them -------------------------------------------

RUN = "q1 Q0 d1 1 3.5 tag\nq1 Q0 d2 2 2.5 tag\nq2 Q0 d1 1 1e-3 tag\n"
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 3\n"
RUN_ROWS = [("q1", "d1", 1, 3.5), ("q1", "d2", 2, 2.5), ("q2", "d1", 1, 0.001)]
QRELS_ROWS = [("q1", "d1", 1), ("q1", "d2", 0), ("q2", "d1", 3)]


def _make_table(reader: str) -> dict[str, list[Any]]:
    names = ("query_id", "doc_id", "rank", "score")
    rows: list[Any] = RUN_ROWS
    if reader == "qrels":
        names, rows = ("query_id", "doc_id", "relevance"), QRELS_ROWS  # type: ignore[assignment]
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _make_records(reader: str) -> list[dict[str, Any]]:
    table = _make_table(reader)
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def _write_separated(reader: str, separator: str, quote: str = "") -> str:
    table = _make_table(reader)
    rows = [tuple(table), *zip(*table.values(), strict=True)]
    return "".join(separator.join(f"{quote}{v}{quote}" for v in row) + "\n" for row in rows)


def _write_columnar(table: Any, form: str) -> bytes:
    """Return an Arrow table as the bytes of a file."""
    import pyarrow as pa
    from pyarrow import parquet

    sink = io.BytesIO()
    if form == "parquet":
        parquet.write_table(table, sink, compression="none", store_schema=False)
    else:
        open_writer = pa.ipc.new_stream if form == "stream" else pa.ipc.new_file
        with open_writer(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


def make_good_cases() -> dict[str, Case]:
    """Return a good file of every kind, by name."""
    import pyarrow as pa

    run, qrels = "run", "qrels"
    nested_run = {"q1": {"d1": 3.5, "d2": 2.5}, "q2": {"d1": 0.001}}
    nested_qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 3}}
    case_of_name = {
        "trec run": Case(run, RUN.encode(), "trec", suffix=".run"),
        "trec run of two columns": Case(run, b"q1 d1\nq1 d2\nq2 d1\n", suffix=".run"),
        "trec run with CRLF": Case(run, RUN.replace("\n", "\r\n").encode(), suffix=".txt"),
        "trec run with a BOM": Case(run, b"\xef\xbb\xbf" + RUN.encode()),
        "trec run, aligned": Case(run, b"# a run\n\n" + RUN.replace(" ", "\t  ").encode()),
        "trec run, mixed": Case(run, RUN.encode() + b"q1  Q0 d3 4 -inf t\nq3 Q0 d1 1 1e999 t"),
        "trec qrels": Case(qrels, QRELS.encode(), "trec", suffix=".qrels"),
        "trec qrels, trec_eval's name": Case(qrels, QRELS.encode(), "qrels"),
        "trec qrels with CRLF": Case(qrels, QRELS.replace("\n", "\r\n").encode()),
        "qrels_jg": Case(qrels, b"q1 ann d1 1\nq1 bob d1 0\nq1 bob d2 1\n", "qrels_jg"),
        "subtopics": Case(qrels, b"q1 1 d1 1\nq1 2 d1 0\nq1 2 d2 1\n", "subtopics"),
        "strata": Case(qrels, b"q1 0 d1 1 1\nq1 0 d2 2 -1\n", "strata"),
        "prels": Case(qrels, b"q1 d1 1 0 0.5\nq1 d2 0 1 1\n", "prels"),
        "qrels_prefs": Case(qrels, b"q1 ann d1 1.5\nq1 ann d2 1\nq2 bob d1 3\n", "qrels_prefs"),
        "prefs": Case(qrels, b"q1 ann 0 d1 1.5\nq1 ann 1 d2 1\nq1 ann 1 d1 2\n", "prefs"),
        "svmlight": Case(
            qrels, b"1 qid:q1 1:.5 2:3 # d1\n0 qid:q1 1:.2 # d2\n2 qid:q2 2:1 # d1\n", "svmlight"
        ),
        "msmarco run": Case(run, b"q1\td1\t1\nq1\td2\t2\nq2\td1\t1\n", "msmarco", suffix=".tsv"),
        "msmarco qrels": Case(qrels, b"q1\t0\td1\t1\nq2\t0\td1\t2\n", "msmarco", suffix=".tsv"),
        "beir qrels": Case(
            qrels, b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td1\t2\n", "beir", suffix=".tsv"
        ),
        "beir run": Case(
            run, b"query-id\tcorpus-id\tscore\nq1\td1\t1.5\nq2\td1\t2\n", "beir", suffix=".tsv"
        ),
    }
    for reader, nested_rows in ((run, nested_run), (qrels, nested_qrels)):
        records = _make_records(reader)
        lines = "".join(json.dumps(record) + "\n" for record in records)
        comma = _write_separated(reader, ",")
        table = pa.table(_make_table(reader))
        encoded_table = pa.table(
            {
                **_make_table(reader),
                "query_id": pa.array(_make_table(reader)["query_id"]).dictionary_encode(),
                "doc_id": pa.array([1, 2, 1], pa.int32()),
            }
        )
        case_of_name |= {
            f"csv {reader}": Case(reader, comma.encode(), "csv", suffix=".csv"),
            f"csv {reader}, quoted": Case(
                reader, _write_separated(reader, ",", '"').encode(), "csv", suffix=".csv"
            ),
            f"csv {reader}, BOM and CRLF": Case(
                reader,
                b"\xef\xbb\xbf" + comma.replace("\n", "\r\n").encode(),
                "csv",
                suffix=".csv",
            ),
            f"tsv {reader}": Case(
                reader, _write_separated(reader, "\t").encode(), "tsv", suffix=".tsv"
            ),
            f"json {reader}": Case(
                reader, json.dumps(nested_rows).encode(), "json", suffix=".json"
            ),
            f"json {reader}, pretty": Case(
                reader, json.dumps(nested_rows, indent=2).encode(), "json", suffix=".json"
            ),
            f"json {reader}, records": Case(
                reader, json.dumps(records, indent=1).encode(), "json", suffix=".json"
            ),
            f"jsonl {reader}": Case(reader, lines.encode(), "jsonl", suffix=".jsonl"),
        }
        for form in ("parquet", "arrow", "stream"):
            suffix = ".parquet" if form == "parquet" else ".arrow"
            name = "arrow" if form == "stream" else form
            case_of_name[f"{form} {reader}"] = Case(
                reader, _write_columnar(table, form), name, suffix=suffix
            )
            case_of_name[f"{form} {reader}, other types"] = Case(
                reader, _write_columnar(encoded_table, form), name, suffix=suffix
            )
    case_of_name |= make_score_cases()
    case_of_name["json run of lists"] = Case(
        run, json.dumps({"q1": ["d1", "d2"], "q2": ["d1"]}).encode(), "json", suffix=".json"
    )
    for base in ("trec run", "trec qrels", "csv run", "json qrels", "jsonl run"):
        for packing in list(PACKINGS)[1:]:
            packed_case = replace(case_of_name[base], packing=packing)
            case_of_name[f"{base}, {packing}"] = packed_case
            case_of_name[f"{base}, {packing}, unchanged"] = replace(
                packed_case, content=packed_case.stored_bytes, packing="none"
            )
    for name, case in list(case_of_name.items()):
        if case.format is not None and case.format not in _UNDETECTED_FORMATS:
            case_of_name[f"{name}, recognised"] = replace(case, format=None)
    return case_of_name


SCORE_ROWS = [("bm25", "AP", "q1", 0.25), ("bm25", "AP", "q2", 0.5), ("bm25", "P_5", "q1", 0.2)]


def make_score_cases() -> dict[str, Case]:
    """Return good files of scores and of labels, by name."""
    import pyarrow as pa

    names = ("run", "measure", "query_id", "value")
    records = [dict(zip(names, row, strict=True)) for row in SCORE_ROWS]
    rows_text = "".join(",".join(map(str, row)) + "\n" for row in (names, *SCORE_ROWS))
    lines = "".join(f"{m:22}\t{q}\t{v}\n" for _, m, q, v in SCORE_ROWS)
    lines_by_query = "".join(f"{q}\t{m}\t{v}\n" for _, m, q, v in SCORE_ROWS)
    nested_rows = {"q1": {"AP": 0.25, "P_5": 0.2}, "q2": {"AP": 0.5}}
    run = {"run": "bm25", "all": {"AP": 0.375}, "queries": nested_rows}
    wide = {"query_id": ["q1", "q2"], "AP": [0.25, 0.5], "bm25": [0.2, None]}
    table = pa.table(wide)
    labels = {"qid": ["q1", "q2"], "type": ["long", "short"], "length": [12, 3]}
    jsonl = "".join(json.dumps(record) + "\n" for record in records)
    score_cases = {
        "trec_eval": Case("scores", f"runid \tall\tx\n{lines}AP\tall\t0.4\n".encode()),
        "ir_measures": Case("scores", lines_by_query.encode(), suffix=".tsv"),
        "csv": Case("scores", rows_text.encode(), suffix=".csv"),
        "tsv": Case("scores", rows_text.replace(",", "\t").encode(), suffix=".tsv"),
        "jsonl": Case("scores", jsonl.encode(), suffix=".jsonl"),
        "json": Case("scores", json.dumps({"recipe": {}, "runs": [run]}).encode(), suffix=".json"),
        "nested": Case("scores", json.dumps(nested_rows, indent=1).encode(), suffix=".json"),
        "nested by system": Case(
            "scores", json.dumps({"bm25": nested_rows}).encode(), suffix=".json"
        ),
        "records": Case("scores", json.dumps(records).encode(), suffix=".json"),
        "wide": Case("scores", b"query_id,AP,P_5\nq1,.5,.2\nq2,1,\n", suffix=".csv"),
        "wide, systems": Case("systems", b"qid;a;b\nq1;.5;.2\nq2;1;0\n", suffix=".csv"),
        "nested, systems": Case("systems", json.dumps({"a": {"q1": 0.5}}).encode()),
        "parquet": Case("scores", _write_columnar(table, "parquet"), suffix=".parquet"),
        "arrow, systems": Case("systems", _write_columnar(table, "arrow"), suffix=".arrow"),
    }
    label_cases = {
        "csv": Case("labels", b"query_id,type,length\nq1,long,12\nq2,short,3\n", suffix=".csv"),
        "pairs": Case("labels", b"q1\tlong\nq2\tshort\n", suffix=".tsv"),
        "json": Case("labels", b'{"type": {"q1": "long"}, "size": {"q1": 1}}', suffix=".json"),
        "jsonl": Case("labels", b'{"_id": "1", "type": "a"}\n{"_id": "2", "type": "b"}\n'),
        "numbers": Case("labels", b"".join(b"q%d,%d\n" % (i, i * i) for i in range(20))),
        "parquet": Case("labels", _write_columnar(pa.table(labels), "parquet"), suffix=".parquet"),
    }
    return {
        **{f"scores, {name}": case for name, case in score_cases.items()},
        **{f"labels, {name}": case for name, case in label_cases.items()},
    }


def make_odd_cases() -> dict[str, Case]:
    """Return files that readers refuse, or may refuse, by name: cases far from the good files."""
    import pyarrow as pa

    case_of_name = {
        "UTF-16": Case("run", RUN.encode("utf-16"), "trec", suffix=".run"),
        "UTF-16, csv": Case(
            "qrels", _write_separated("qrels", ",").encode("utf-16"), suffix=".csv"
        ),
        "a document twice": Case("run", (RUN + RUN).encode(), "trec"),
        "no number": Case("run", RUN.replace("2.5", "nan").encode(), "trec"),
        "a short line": Case("qrels", QRELS.encode() + b"q3 0\n", "trec"),
        "a key twice": Case("run", b'{"q1": {"d1": 1, "d1": 2}, "q1": {}}', "json"),
        "deep": Case("run", b"[" * 5000, "json", suffix=".json"),
        "long number": Case("qrels", b'{"q1": {"d1": ' + b"9" * 5000 + b"}}", "json"),
        "nothing": Case("run", b""),
    }
    ids = pa.array(["q1", "q1", "q2"])
    columns = {
        "nulls": pa.array([1.0, None, 2.0]),
        "no numbers": pa.array([1.0, float("nan"), 2.0]),
        "texts": ids,
        "lists": pa.array([[1.0], [], [2.0]]),
        "structs": pa.array([{"a": 1}] * 3),
        "decimals": pa.array([1, 2, 3]).cast(pa.decimal128(38, 2)),
        "times": pa.array([1, 2, 3], pa.timestamp("us")),
        "half floats": pa.array([1, 2, 3]).cast(pa.float16()),
        "none": pa.nulls(3),
    }
    for name, column in columns.items():
        table = pa.table({"query_id": ids, "doc_id": ["d1", "d2", "d1"], "score": column})
        for form in ("parquet", "arrow"):
            if form == "arrow" or name != "half floats":
                case = Case("run", _write_columnar(table, form), form, suffix=f".{form}")
                case_of_name[f"{name}, {form}"] = case
    empty_table = pa.table({"query_id": ids, "doc_id": ids, "score": columns["nulls"]}).slice(0, 0)
    repeated_column = pa.table([ids, ids, ids], names=["query_id", "query_id", "doc_id"])
    for form in ("parquet", "arrow"):
        case_of_name[f"no rows, {form}"] = Case("run", _write_columnar(empty_table, form), form)
        case_of_name[f"a column twice, {form}"] = Case(
            "run", _write_columnar(repeated_column, form), form
        )
    return case_of_name


def make_seeds() -> list[bytes]:
    """Return the distinct inputs with which the search begins."""
    cases = list({**make_good_cases(), **make_odd_cases()}.values())
    cases += [replace(case, errors="skip") for case in cases]
    cases += [replace(case, order=order) for case in cases[:8] for order in ORDERS[1:]]
    return list(dict.fromkeys(case.encode() for case in cases))


# ---- inputs of megabytes --------------------------------------------------------------------

LARGE = 1 << 20  # bytes to insert, about
BLANKS = 200_000_000


def _extend_first_line(content: bytes, addition: bytes) -> bytes:
    first, end, rest = content.partition(b"\n")
    return first + addition + end + rest


def _add_columns(content: bytes, n: int) -> bytes:
    if content[:1] in b"{[":
        keys = b"".join(b'"k%07d": 1, ' % i for i in range(n // 14))
        return content.replace(b'{"', b"{" + keys + b'"', 1)
    first = content.partition(b"\n")[0]
    separator = next((separator for separator in (b",", b"\t") if separator in first), b" ")
    return _extend_first_line(content, (separator + b"x") * (n // 2))


#: Changes of a file's content, by name; each inserts about n bytes.
STRETCHES: dict[str, Callable[[bytes, int], bytes]] = {
    "a long id": lambda content, n: content.replace(b"d1", b"d" * n, 1),
    "a long id below others": lambda content, n: b"d".join(
        [*content.rsplit(b"d1", 1)[:1], b"d" * n, *content.rsplit(b"d1", 1)[1:]]
    ),
    "a long query": lambda content, n: content.replace(b"q1", b"q" * n),
    "many columns": _add_columns,
    "a long line": lambda content, n: _extend_first_line(content, b" " * n),
    "blanks above": lambda content, n: b" " * n + content,
    "blank lines above": lambda content, n: b"\n" * n + content,
    "blank lines between": lambda content, n: _extend_first_line(content, b"\n" * n),
    "many lines": lambda content, n: content * (n // max(1, len(content))),
}
_STRETCHED_CASES = (
    *("trec run", "trec qrels", "csv run", "tsv qrels", "json run", "jsonl run"),
    *("json qrels, records", "qrels_jg"),
)


def _make_long_tables(n: int) -> Iterator[tuple[str, Case]]:
    """Yield tables with a long id, and with a long id in many rows."""
    import pyarrow as pa

    rows = 1000
    docs = [f"d{i}" for i in range(rows)]
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["q" * n])
    long_id_table = pa.table(
        {"query_id": ["q1"] * rows, "doc_id": ["d" * n, *docs[1:]], "score": [1.0] * rows}
    )
    for form in ("parquet", "arrow"):
        yield (
            f"a long id, {form}",
            Case("run", _write_columnar(long_id_table, form), form, suffix=f".{form}"),
        )
    long_query_table = pa.table({"query_id": shared, "doc_id": docs, "score": [1.0] * rows})
    yield (
        "a long query, arrow",
        Case("run", _write_columnar(long_query_table, "arrow"), "arrow", suffix=".arrow"),
    )


def make_large_cases(seed: int) -> Iterator[tuple[str, Case]]:
    """Yield inputs of megabytes, by name: first every kind, then others endlessly."""
    good_cases = make_good_cases()
    yield from _make_long_tables(LARGE)
    for name in _STRETCHED_CASES:
        for change, stretch in STRETCHES.items():
            content = stretch(
                good_cases[name].content, LARGE * 7 // 8
            )  # a line may have one megabyte
            yield f"{name}, {change}", replace(good_cases[name], content=content)
    blanks = b" " * BLANKS
    yield (
        "json run, very many blanks above",
        replace(good_cases["json run"], content=blanks + good_cases["json run"].content),
    )
    draw = random.Random(seed)  # noqa: S311 - no secret
    texts = [name for name in good_cases if b"d1" in good_cases[name].content]
    while True:
        name, change = draw.choice(texts), draw.choice(list(STRETCHES))
        n = int(2 ** draw.uniform(10, 23))
        case = replace(good_cases[name], content=STRETCHES[change](good_cases[name].content, n))
        yield f"{name}, {change}, {n:,} bytes", replace(case, errors=draw.choice((None, "skip")))


@contextlib.contextmanager
def limit_time(seconds: float = SECONDS) -> Iterator[None]:
    """Raise TimeoutError if the block takes more time of the processors; or if it waits for ever.

    Time of the processors: that the machine is busy with other work is no fault.
    """

    def end_work(*_: object) -> None:
        raise TimeoutError(f"took longer than {seconds} seconds of the processors' time")

    def end_waiting(*_: object) -> None:
        raise TimeoutError(f"did not end within {MAX_SECONDS_WAITING} seconds")

    handlers = [signal.signal(signal.SIGPROF, end_work), signal.signal(signal.SIGALRM, end_waiting)]
    begin = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS_WAITING)
        yield
        if time.process_time() - begin > seconds:  # the signal comes after the end
            end_work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGPROF, handlers[0])
        signal.signal(signal.SIGALRM, handlers[1])


def check_large(
    seconds: float, seed: int, findings: Path, limit: float = SECONDS, n_least: int | None = None
) -> int:
    """Check inputs of megabytes for some time, every kind at least once; count the faults.

    `n_least`: check at least this many, instead of every kind. Faults are kept in `findings`.
    """
    if n_least is None:
        n_least = 3 + len(_STRETCHED_CASES) * len(STRETCHES) + 1
    end, n_faults = time.monotonic() + seconds, 0
    with make_workplace() as folder:
        for i, (name, case) in enumerate(make_large_cases(seed)):
            if i >= n_least and time.monotonic() > end:
                print(f"{i} inputs of megabytes: {n_faults} faults")
                return n_faults
            try:
                with limit_time(limit):
                    check_case(case, Path(folder))
            except Exception as fault:  # noqa: BLE001 - any exception
                n_faults += 1
                path = findings / f"large-{i}"
                path.write_bytes(case.encode())
                print(f"{name}: {fault!r:.200}\nAgain: python scripts/fuzz.py --replay {path}")
    raise AssertionError("the inputs are endless")


TOKENS = (
    *(b"query_id", b"doc_id", b"score", b"rank", b"relevance", b"query-id", b"corpus-id"),
    *(b"query", b"qid", b"docno", b"iteration", b"group", b"tag", b"Q0", b"q1", b"d1"),
    *(b"nan", b"NaN", b"inf", b"-inf", b"Infinity", b"1e999", b"-0.0", b"1e-400", b"0x1p3"),
    *(b"2147483647", b"-2147483648", b"9223372036854775808", b"1_000", b"+1", b".5", b"null"),
    *(b"true", b'"', b'""', b"'", b"\\", b"\\u0000", b"\\ud800", b"{", b"}", b"[", b"]", b"{}"),
    *(b'":', b'": {"', b'": [', b"},", b", ", b",", b"\t", b"\n", b"\r\n", b"\r", b"\n\n", b"#"),
    *(b"\0", b"\x1b[31m", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xe2\x80\xa8", b"\x85"),
    *(b"\xa0", b"\xed\xa0\x80", b"\xc0\x80", b"\x1f\x8b", b"BZh9", b"BZh91AY&SY", b"\xfd7zXZ\0"),
    *(b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff"),
)


def write_tokens() -> str:
    """Return the tokens as libFuzzer reads them."""
    lines = ("".join(f"\\x{byte:02x}" for byte in token) for token in TOKENS)
    return "".join(f'"{line}"\n' for line in lines)


# ---- the search -----------------------------------------------------------------------------


def make_workplace() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder, in memory if the system has one."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder made there has a unique name
    return tempfile.TemporaryDirectory(
        prefix="cranfield-fuzz-", dir=memory if os.access(memory, os.W_OK) else None
    )


def limit_memory() -> None:
    """Limit this process to the promised memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    # Untouched memory does not count as resident; with the limit, allocating it is a MemoryError.
    limit = pages * resource.getpagesize() + 2 * MEGABYTES * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def run_fuzzer(folder: Path, arguments: list[str]) -> None:
    """Run libFuzzer in this process, which it ends."""
    import atheris

    def run_input(data: bytes) -> None:
        begin = time.process_time()
        check_case(Case.decode(data), folder)
        if time.process_time() - begin > SECONDS:
            raise TimeoutError(f"took longer than {SECONDS} seconds of the processors' time")

    with atheris.instrument_imports(include=["cranfield"]):
        check_case(Case.decode(b""), folder)  # imports what reading needs, at any price
        limit_memory()
        atheris.Setup([sys.argv[0], *arguments], run_input)
        atheris.Fuzz()


def search(seconds: int, runs: int, seed: int, corpus: Path | None, findings: Path) -> int:
    """Search for faults for `seconds`; return the exit status."""
    findings.mkdir(parents=True, exist_ok=True)
    earlier_findings = set(findings.iterdir())
    large_command = [sys.executable, __file__, "--large", str(findings)]
    large_command += ["--seconds", str(seconds // 4), "--seed", str(seed)]
    faults = subprocess.run(large_command, check=False).returncode  # noqa: S603 - this file
    seconds -= seconds // 4
    with make_workplace() as place:
        folder = Path(place)
        corpus = corpus or folder / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        for seed_input in make_seeds():
            (corpus / hashlib.sha256(seed_input).hexdigest()[:16]).write_bytes(seed_input)
        tokens = folder / "tokens"
        tokens.write_text(write_tokens(), "ascii")
        options = {
            "max_total_time": seconds,
            "seed": seed,
            "runs": runs,
            "max_len": MAX_BYTES,
            "timeout": MAX_SECONDS_WAITING,
            "rss_limit_mb": MEGABYTES,
            "malloc_limit_mb": MEGABYTES,
            "dict": tokens,
            "artifact_prefix": f"{findings}{os.sep}",
            "print_final_stats": 1,
            "reload": 0,
        }
        arguments = [f"-{name}={option_value}" for name, option_value in options.items()]
        command = [sys.executable, __file__, "--hunt", place, *arguments, str(corpus)]
        try:
            # If libFuzzer itself is stuck, it is killed.
            # A seed for Python, too: hashes decide the order of sets, and so which code is reached.
            environ = os.environ | {"PYTHONHASHSEED": "0"}
            status = subprocess.run(  # noqa: S603 - this file
                command, check=False, timeout=seconds * 2 + 2 * MAX_SECONDS_WAITING, env=environ
            ).returncode
        except subprocess.TimeoutExpired:
            status = -1
    new_findings = sorted(set(findings.iterdir()) - earlier_findings)
    for path in new_findings:
        print_case(path)
    if status == faults == 0 and not new_findings:
        print("nothing found")
        return 0
    print(f"ended with status {status}; {len(new_findings)} inputs found, in {findings.resolve()}")
    return 1


def print_case(path: Path) -> Case:
    """Print the input in a file; return it."""
    case = Case.decode(path.read_bytes())
    print(f"{path}: {case}\nAgain: python scripts/fuzz.py --replay {path}")
    return case


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=60, help="how long to search")
    parser.add_argument("--runs", type=int, default=-1, help="the greatest number of inputs")
    parser.add_argument("--seed", type=int, default=1, help="0: a different one every time")
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="keep the inputs there")
    parser.add_argument("--findings", type=Path, metavar="DIR", default=Path("fuzz-findings"))
    parser.add_argument("--replay", type=Path, metavar="FILE", help="read the input in FILE")
    parser.add_argument("--hunt", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--large", type=Path, help=argparse.SUPPRESS)
    options, unknown_arguments = parser.parse_known_args()
    if options.hunt is not None:
        run_fuzzer(options.hunt, unknown_arguments)
    elif options.large is not None:
        limit_memory()
        return min(1, check_large(options.seconds, options.seed, options.large))
    elif unknown_arguments:
        parser.error(f"unknown: {' '.join(unknown_arguments)}")
    elif options.replay is not None:
        with make_workplace() as place:
            print(check_case(print_case(options.replay), Path(place)) or "read without an error")
    elif find_spec("atheris") is None:
        parser.error("Atheris is not installed: pip install '.[fuzz]'")
    else:
        return search(options.seconds, options.runs, options.seed, options.corpus, options.findings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
