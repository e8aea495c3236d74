"""Writing: what is written is read again as the same, in every format, or refused."""

import bz2
import csv
import gzip
import io
import json
import lzma
import string
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.profile import examples
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from cranfield import InputError, OptionError, Qrels, Run, evaluate, read_qrels, read_run

SUFFIXES = [".run", ".csv", ".tsv", ".json", ".jsonl", ".parquet", ".arrow", ".arrows", ".feather"]
COMPRESSIONS = ["", ".gz", ".bz2", ".xz", ".zst", ".lz4"]
IN_A_FOLDER = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
ID_FAULTS = "cannot be written in columns of text"


def texts(exclude: str = "", categories: str = "Cs") -> st.SearchStrategy[str]:
    """Any text that is an id: not empty, without null bytes, and of characters."""
    of = st.characters(exclude_categories=[categories], exclude_characters="\0" + exclude)  # type: ignore[list-item]
    signs = ['"', '""', ",", "\t", "\n", "\r\n", " ", "#", "\ufeff", "1", "01", "NaN", ";", "'"]
    lists = ["[", "]", "[1]", "['d1']", '["d1", "d2"]', "[]", "a;b", "{", "}", '{"d1": 1}', "d 1"]
    odd = st.sampled_from([*signs, *lists])
    return st.text(of, min_size=1, max_size=12) | odd | st.lists(odd, min_size=1).map("".join)


def plain_ids() -> st.SearchStrategy[str]:
    """Texts without white space, which columns of text can hold."""
    of = st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"])
    return st.text(of, min_size=1, max_size=12).filter(lambda t: not t.startswith("#"))


def bytes_ids() -> st.SearchStrategy[str]:
    """Bytes that are no UTF-8, as they are held in texts."""
    of = st.binary(min_size=1, max_size=9).filter(lambda b: b"\0" not in b)
    return of.map(lambda b: b.decode("utf-8", "surrogateescape"))


def one_line_ids(ids: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Ids without line breaks, which CSV and TSV can hold."""
    return ids.filter(lambda text: "\n" not in text and "\r" not in text)


scores = st.floats(allow_nan=False) | st.integers(-(2**70), 2**70).map(float)
grades = st.integers(1 - 2**31, 2**31 - 1)


def nested_dicts(ids: st.SearchStrategy[str], numbers: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(
        ids, st.dictionaries(ids, numbers, min_size=1, max_size=5), min_size=1, max_size=4
    )


def show_signs(docs_of_query: Any) -> Any:
    """Numbers as texts, so that -0.0 is not 0.0."""
    return {q: {d: repr(s) for d, s in docs.items()} for q, docs in docs_of_query.items()}


def same_run(run: dict[str, Any], path: Path) -> None:
    Run(run).write(path)
    docs_of_query = read_run(path).to_dict()
    assert show_signs(docs_of_query) == show_signs(run)
    assert [list(docs) for docs in docs_of_query.values()] == [list(run[q]) for q in docs_of_query]


def data_with_suffix(numbers: Any) -> st.SearchStrategy[tuple[dict[str, Any], str]]:
    """Data and the suffix of a format that can hold its ids."""
    any_text = texts() | bytes_ids()
    return (
        st.tuples(nested_dicts(any_text, numbers), st.sampled_from(SUFFIXES[3:]))
        | st.tuples(
            nested_dicts(one_line_ids(any_text), numbers), st.sampled_from([".csv", ".tsv"])
        )
        | st.tuples(nested_dicts(plain_ids(), numbers), st.just(".trec"))
    )


@settings(IN_A_FOLDER, max_examples=examples(200))
@given(data_with_suffix(scores), st.sampled_from(COMPRESSIONS))
def test_a_run_of_any_ids_comes_back(
    tmp_path: Path, table_and_suffix: Any, compression: str
) -> None:
    run, suffix = table_and_suffix
    same_run(run, tmp_path / f"run{suffix}{compression}")


@settings(IN_A_FOLDER, max_examples=examples(200))
@given(data_with_suffix(grades), st.sampled_from(COMPRESSIONS))
def test_qrels_of_any_ids_come_back(
    tmp_path: Path, table_and_suffix: Any, compression: str
) -> None:
    qrels, suffix = table_and_suffix
    path = tmp_path / f"qrels{suffix}{compression}"
    Qrels(qrels).write(path)
    assert read_qrels(path).to_dict() == qrels


@IN_A_FOLDER
@given(nested_dicts(one_line_ids(texts()), grades), st.booleans())
def test_beir_comes_back(tmp_path: Path, qrels: dict[str, Any], states_format: bool) -> None:
    path = tmp_path / "test.tsv"
    Qrels(qrels).write(path, format="beir")
    assert path.read_bytes().startswith(b"query-id\tcorpus-id\tscore\n")
    assert read_qrels(path, "beir" if states_format else None).to_dict() == qrels


@IN_A_FOLDER
@given(
    st.dictionaries(
        one_line_ids(texts()), st.lists(one_line_ids(texts()), min_size=1, unique=True), min_size=1
    ),
    st.sampled_from(SUFFIXES[1:]),
)
def test_an_order_comes_back(tmp_path: Path, run: dict[str, Any], suffix: str) -> None:
    """Rows without scores are a ranking; every format keeps its order."""
    path = tmp_path / f"run{suffix}"
    Run([(query, doc) for query, docs in run.items() for doc in docs]).write(path)
    docs_of_query = read_run(path).to_dict()
    assert {
        query: sorted(docs, key=lambda d: -docs[d]) for query, docs in docs_of_query.items()
    } == run


SPOILT = ["a b", " a", "a ", "a\tb", "a\nb", "a\r", "a\x0bb", "a\x0cb"]


@pytest.mark.parametrize("bad", SPOILT)
@pytest.mark.parametrize("form", ["trec", "msmarco"])
@pytest.mark.parametrize("column", ["query", "doc"])
def test_an_id_that_columns_of_text_cannot_hold_is_refused(
    bad: str, form: Any, column: str, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    path.write_text("what stood there")
    docs_of_query = (
        {"q": {"good": 1}, bad: {"d": 1}} if column == "query" else {"q": {"good": 1, bad: 1}}
    )
    for qrels_or_run in (Qrels(docs_of_query), Run(docs_of_query)):
        with pytest.raises(InputError, match=ID_FAULTS) as caught:
            qrels_or_run.write(path, format=form)
        assert repr(bad) in str(caught.value)
        assert path.read_text() == "what stood there"
        assert list(tmp_path.iterdir()) == [path], "nothing else is left behind"


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("bad_id", ["a\nb", "\n", "a\r"])
@pytest.mark.parametrize("column", ["query", "doc"])
def test_an_id_with_a_line_break_is_not_written_as_csv(
    bad_id: str, suffix: str, column: str, tmp_path: Path
) -> None:
    docs_of_query = {bad_id: {"d": 1}} if column == "query" else {"q": {"d": 1, bad_id: 1}}
    for qrels_or_run in (Qrels(docs_of_query), Run(docs_of_query)):
        with pytest.raises(InputError, match="holds a line break") as caught:
            qrels_or_run.write(tmp_path / f"out{suffix}")
        assert repr(bad_id) in str(caught.value)
    assert not any(tmp_path.iterdir())


@IN_A_FOLDER
@given(nested_dicts(texts(), grades))
def test_columns_of_text_hold_ids_or_refuse_them(
    tmp_path: Path, docs_of_query: dict[str, Any]
) -> None:
    for path, write, read in (
        (tmp_path / "a.run", Run(docs_of_query).write, lambda p: read_run(p).to_dict()),
        (tmp_path / "a.qrels", Qrels(docs_of_query).write, lambda p: read_qrels(p).to_dict()),
    ):
        try:
            write(path)
        except InputError as error:
            assert ID_FAULTS in str(error)  # noqa: PT017 - either this, or it comes back
        else:
            assert read(path) == docs_of_query


def test_a_comment_is_no_query(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a line that begins with # is a comment"):
        Run({"#q": {"d": 1}}).write(tmp_path / "a.run")
    same_run({"q": {"#d": 1.0}}, tmp_path / "b.run")


# ---- read by others -------------------------------------------------------------------------

DATA = {"q1": {"d1": 1.5, 'd"2,\t': -2.0}, "q2": {"é;": 1e300}}
ROWS = [(q, d, s) for q, docs in DATA.items() for d, s in docs.items()]


def decompress_file(path: Path) -> bytes:
    content = path.read_bytes()
    decompressors = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
    if path.suffix in (".zst", ".lz4"):
        codec = {".zst": "zstd", ".lz4": "lz4"}[path.suffix]
        with pa.CompressedInputStream(pa.BufferReader(content), codec) as stream:
            return bytes(stream.read())
    return decompressors[path.suffix](content) if path.suffix in decompressors else content


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize(("suffix", "separator"), [(".csv", ","), (".tsv", "\t")])
def test_others_read_the_csv(suffix: str, separator: str, compression: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{suffix}{compression}"
    Run(DATA).write(path)
    text = decompress_file(path).decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    assert header == ["query_id", "doc_id", "score"]
    assert [(q, d, float(s)) for q, d, s in rows] == ROWS
    frame = pd.read_csv(io.StringIO(text), sep=separator)
    assert list(frame.itertuples(index=False, name=None)) == ROWS


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_others_read_the_json(compression: str, tmp_path: Path) -> None:
    path = tmp_path / f"run.json{compression}"
    Run(DATA).write(path)
    assert json.loads(decompress_file(path)) == DATA
    path = tmp_path / f"run.jsonl{compression}"
    Run(DATA).write(path)
    objects = map(json.loads, decompress_file(path).decode().splitlines())
    assert [(row["query_id"], row["doc_id"], row["score"]) for row in objects] == ROWS


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".arrows"])
def test_others_read_the_columns(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{suffix}"
    Run(DATA).write(path)
    if suffix == ".parquet":
        table = parquet.read_table(path)
    elif suffix == ".arrows":
        with pa.ipc.open_stream(path.read_bytes()) as stream:
            table = stream.read_all()
    else:
        table = feather.read_table(path)
    assert table.column_names == ["query_id", "doc_id", "score"]
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == ROWS


def test_a_trec_file_is_as_trec_eval_has_it(tmp_path: Path) -> None:
    run = Run({"q": {"a": 1.0, "b": 2.5, "c": 2.5}, "r": {"a": -1e-7}}, "my system")
    run.write(tmp_path / "a.run")
    lines = [line.split(" ") for line in (tmp_path / "a.run").read_text().splitlines()]
    assert [(q, q0, d, rank) for q, q0, d, rank, _, _ in lines] == [
        *(("q", "Q0", "a", "3"), ("q", "Q0", "b", "2"), ("q", "Q0", "c", "1")),
        ("r", "Q0", "a", "1"),
    ]
    assert [float(score) for *_, score, _ in lines] == [1.0, 2.5, 2.5, -1e-7]
    assert {tag for *_, tag in lines} == {"my_system"}
    Qrels({"q": {"a": 1, "b": -2}}).write(tmp_path / "a.qrels")
    assert (tmp_path / "a.qrels").read_text() == "q 0 a 1\nq 0 b -2\n"


def test_an_ms_marco_run_has_ranks(tmp_path: Path) -> None:
    Run({"q": {"a": 1.0, "b": 2.5}, "r": {"a": 1.0}}).write(tmp_path / "a.tsv", format="msmarco")
    assert (tmp_path / "a.tsv").read_text() == "q\tb\t1\nq\ta\t2\nr\ta\t1\n"


# ---- the file -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["trec", "csv", "tsv", "json", "jsonl", "parquet", "arrow"])
def test_a_stated_format_beats_the_suffix(form: Any, tmp_path: Path) -> None:
    path = tmp_path / "data.unknown"
    with pytest.raises(OptionError, match=r"the suffix '\.unknown' names no format"):
        Run({"q": {"d": 1.5}}).write(path)
    assert not path.exists()
    Run({"q": {"d": 1.5}}).write(path, format=form)
    assert read_run(path, format=form).to_dict() == {"q": {"d": 1.5}}


def test_a_format_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="'xml' is not known"):
        Run({"q": {"d": 1}}).write(tmp_path / "a", format="xml")
    with pytest.raises(OptionError, match="is for judgments"):
        Run({"q": {"d": 1}}).write(tmp_path / "a", format="beir")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere/a\.run: cannot be written: No such file"):
        Run({"q": {"d": 1}}).write(tmp_path / "nowhere" / "a.run")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_run_is_written_onto_the_file_that_it_is_read_from(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    run = {"q": {"a": 1.5, "b": 2.0}, "r": {"a": 1.0}}
    same_run(run, path)
    read_run(path).write(path)
    assert read_run(path).to_dict() == run


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_same_data_are_the_same_bytes(suffix: str, compression: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}{suffix}{compression}" for i in range(2)]
    for path in paths:
        Run({"q": {"a": 1.5}}, "x").write(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_run_with_a_fault_is_not_written(suffix: str, write: Any, tmp_path: Path) -> None:
    path = write("bad.csv", "qid,docno,score\nq,a,1\nq,b,x\n")
    with pytest.raises(InputError, match=r"bad\.csv:3: expected a number"):
        read_run(path).write(tmp_path / f"a{suffix}")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]
    read_run(path, errors="skip").write(tmp_path / f"a{suffix}")
    assert read_run(tmp_path / f"a{suffix}").to_dict() == {"q": {"a": 1}}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_queries_that_stand_apart_are_written(suffix: str, tmp_path: Path) -> None:
    rows = [("q", "a", 1.0), ("r", "a", 3.0), ("q", "b", 2.0)]
    path = tmp_path / f"a{suffix}"
    Run(rows).write(path)
    assert read_run(path).to_dict() == {"q": {"a": 1, "b": 2}, "r": {"a": 3}}


@IN_A_FOLDER
@given(st.data())
def test_any_format_leads_to_any_other(tmp_path: Path, draws: Any) -> None:
    run = draws.draw(nested_dicts(plain_ids(), scores))
    assume(any(docs for docs in run.values()))
    suffix, other = (draws.draw(st.sampled_from(SUFFIXES)) for _ in range(2))
    Run(run).write(tmp_path / f"one{suffix}")
    read_run(tmp_path / f"one{suffix}").write(tmp_path / f"other{other}")
    assert show_signs(read_run(tmp_path / f"other{other}").to_dict()) == show_signs(run)


def test_many_rows_are_written_in_blocks(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    letters = list(string.ascii_letters)
    run = {
        f"q{i}": {
            "".join(chance.choice(letters, 6)): float(score)
            for score in chance.normal(size=1 + i % 50)
        }
        for i in range(600)
    }
    qrels = {query: dict.fromkeys(list(docs)[::3], 1) for query, docs in run.items()}
    expected = evaluate(qrels, run, "nDCG@10 AP").to_dict()
    for suffix in SUFFIXES:
        path = tmp_path / f"a{suffix}"
        Run(run).write(path)
        assert evaluate(qrels, str(path), "nDCG@10 AP").to_dict() == expected


def test_ranks_are_made_of_scores_that_the_format_has_no_place_for(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("query_id,doc_id,score\nq1,d1,0.5\nq1,d2,2.0\n")
    path_of_run = read_run(path).write(tmp_path / "marco.tsv", "msmarco")
    assert (tmp_path / "marco.tsv").read_text() == "q1\td2\t1\nq1\td1\t2\n"
    assert path_of_run.lost_roles == ["score"]
