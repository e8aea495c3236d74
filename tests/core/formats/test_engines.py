"""Tables of engines and warehouses: lazy ones, those in files, their keys, and other files.

The average precision is 1/2 for q1 (d2, d1 with d1 relevant) and 1 for q2: 3/4 in the mean.
"""

import gzip
import io
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pytest
from pyarrow import dataset, fs, orc, parquet

from cranfield import InputError, Run, compare, evaluate, read_qrels, read_run
from cranfield.formats.url import file_system

QRELS = pa.table({"query_id": ["1", "2"], "doc_id": ["11", "21"], "relevance": [1, 1]})
RUN = pa.table(
    {"query_id": ["1", "1", "2"], "doc_id": ["12", "11", "21"], "score": [0.9, 0.8, 0.7]}
)
MEAN_AP = (1 / 2 + 1) / 2
SIDES = pa.table(
    {
        "query_id": ["1", "2"],
        "expected_ids": [["11"], ["21"]],
        "retrieved_ids": [["12", "11"], ["21"]],
    }
)


def mean_ap(qrels: Any, *run: Any, **options: Any) -> Any:
    """Return the mean average precision of judgments and a run, or of a table of both."""
    return evaluate(qrels, *run, measures="AP", **options)["AP"]


# ---- tables that are not in memory ----------------------------------------------------------


def to_dask(table: pa.Table) -> Any:
    """Return a frame of Dask in two parts."""
    frame = pytest.importorskip("dask.dataframe")
    return frame.from_pandas(table.to_pandas(), npartitions=2)


LAZY: dict[str, Callable[[pa.Table], Any]] = {
    "dataset": dataset.dataset,
    "scanner": lambda table: dataset.dataset(table).scanner(),
    "scanner of a stream": lambda table: dataset.Scanner.from_batches(table.to_reader()),
    "reader": pa.Table.to_reader,
    "dask": to_dask,
}


@pytest.mark.filterwarnings("ignore")  # of Dask, on pandas
@pytest.mark.parametrize("kind", LAZY)
def test_a_table_that_is_not_in_memory(kind: str) -> None:
    make = LAZY[kind]
    assert mean_ap(make(QRELS), make(RUN)) == MEAN_AP
    assert evaluate(QRELS, {"a": make(RUN), "b": make(RUN)}, "AP")["b"]["AP"] == MEAN_AP
    if kind != "dask":  # pandas has no lists that Dask would keep
        assert mean_ap(make(SIDES)) == MEAN_AP


@pytest.mark.parametrize(
    "query_type", [pa.int32(), pa.string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_partitions_of_a_dataset_are_columns(query_type: pa.DataType, tmp_path: Path) -> None:
    flavor = dataset.partitioning(pa.schema([("query_id", pa.int32())]), flavor="hive")
    table = RUN.set_column(0, "query_id", RUN["query_id"].cast(pa.int32()))
    dataset.write_dataset(table, tmp_path, format="parquet", partitioning=flavor)
    is_dictionary = pa.types.is_dictionary(query_type)
    schema = pa.schema([("query_id", query_type)])
    partitioning = dataset.partitioning(
        schema,
        flavor="hive",
        dictionaries={"query_id": pa.array(["1", "2"])} if is_dictionary else None,
    )
    run = Run(dataset.dataset(tmp_path, partitioning=partitioning), "stored")
    assert run.to_dict() == {"1": {"12": 0.9, "11": 0.8}, "2": {"21": 0.7}}
    assert mean_ap(QRELS, pickle.loads(pickle.dumps(run)))  # noqa: S301 - our own == MEAN_AP


def test_a_dataset_is_read_by_its_columns_whenever_it_is_evaluated(tmp_path: Path) -> None:
    parquet.write_table(RUN.append_column("text", [["long"] * 3]), tmp_path / "a.parquet")
    run = Run(dataset.dataset(tmp_path), "stored")
    assert mean_ap(QRELS, run) == mean_ap(QRELS, run) == MEAN_AP
    assert repr(run) == "Run('stored', 3 rows)"
    raw = bytearray((tmp_path / "a.parquet").read_bytes())
    raw[30:120] = b"\xff" * 90
    (tmp_path / "a.parquet").write_bytes(raw)
    with pytest.raises(InputError, match="the run: cannot be read: "):
        mean_ap(QRELS, run)


@pytest.mark.parametrize("make", [dataset.dataset, pa.Table.to_reader])
def test_a_table_without_rows_is_refused(make: Any) -> None:
    with pytest.raises(InputError, match="the run: holds no rows"):
        mean_ap(QRELS, make(RUN.slice(0, 0)))


# ---- open files -----------------------------------------------------------------------------

TREC_RUN = "1 Q0 12 1 0.9 t\n1 Q0 11 2 0.8 t\n2 Q0 21 1 0.7 t\n"
CSV_RUN = "query_id,doc_id,score\n1,12,0.9\n1,11,0.8\n2,21,0.7\n"


def write_parquet(table: pa.Table = RUN) -> bytes:
    """Return a table as a Parquet file."""
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def add_to_zip(raw: bytes) -> IO[bytes]:
    """Return an open file with these bytes in an archive, which cannot be sought as a disk can."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("my.run", raw)
    return zipfile.ZipFile(archive).open("my.run")


class Answer:
    """A stream of bytes that is read once, as that of a server."""

    def __init__(self, raw: bytes) -> None:
        self.read = io.BytesIO(raw).read


OPEN_FILES: dict[str, Callable[[], Any]] = {
    "Parquet": lambda: io.BytesIO(write_parquet()),
    "Parquet in a zip": lambda: add_to_zip(write_parquet()),
    "text": lambda: io.StringIO(TREC_RUN),
    "CSV": lambda: io.StringIO(CSV_RUN),
    "bytes of text": lambda: io.BytesIO(TREC_RUN.encode()),
    "packed": lambda: io.BytesIO(gzip.compress(CSV_RUN.encode())),
    "unpacked": lambda: io.TextIOWrapper(
        gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(TREC_RUN.encode())))
    ),
    "stream": lambda: Answer(TREC_RUN.encode()),
}


@pytest.mark.parametrize("kind", OPEN_FILES)
def test_an_open_file_is_read(kind: str) -> None:
    run = Run(OPEN_FILES[kind](), "mine")
    assert mean_ap(QRELS, run) == mean_ap(QRELS, run) == MEAN_AP
    assert mean_ap(QRELS, pickle.loads(pickle.dumps(run))) == MEAN_AP  # noqa: S301 - our own
    assert mean_ap(QRELS, read_run(OPEN_FILES[kind]())) == MEAN_AP
    runs = evaluate(QRELS, {"a": OPEN_FILES[kind](), "b": OPEN_FILES[kind]()}, "AP")
    assert [runs[name]["AP"] for name in ("a", "b")] == [MEAN_AP, MEAN_AP]


def test_an_open_file_is_read_from_its_beginning_and_again() -> None:
    sink = io.BytesIO()
    parquet.write_table(RUN, sink)  # it stands at its end
    assert mean_ap(QRELS, sink) == mean_ap(QRELS, sink) == MEAN_AP


def test_an_open_file_has_the_name_and_the_suffix_of_its_path(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(CSV_RUN)
    with (tmp_path / "mine.csv").open() as text, (tmp_path / "mine.csv").open("rb") as raw:
        for file in (text, raw):
            run = Run(file)
            assert (run.name, mean_ap(QRELS, run)) == ("mine", MEAN_AP)
    assert Run(io.StringIO(TREC_RUN)).name == "run"
    with pytest.raises(InputError, match=r"mine.csv: cannot be read: I/O operation on closed file"):
        mean_ap(QRELS, text)


def test_an_error_in_an_open_file_names_the_line() -> None:
    with pytest.raises(InputError, match="open file:2: expected a number as the score"):
        mean_ap(QRELS, io.StringIO("1 Q0 12 1 0.9 t\n1 Q0 11 2 high t\n"))


def test_judgments_and_tables_of_both_sides_in_open_files() -> None:
    judgments, rankings = io.StringIO("1 0 11 1\n2 0 21 1\n"), io.StringIO(TREC_RUN)
    assert mean_ap(judgments, rankings) == MEAN_AP
    assert mean_ap(read_qrels(judgments), rankings) == MEAN_AP
    assert mean_ap(io.BytesIO(write_parquet(SIDES))) == MEAN_AP
    assert mean_ap(add_to_zip(write_parquet(SIDES))) == MEAN_AP


# ---- several files --------------------------------------------------------------------------


def test_a_list_of_judgments_is_one_table(tmp_path: Path) -> None:
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path, line in zip(paths, ["1 0 11 1\n", "2 0 21 1\n"], strict=True):
        path.write_text(line)
    (tmp_path / "my.run").write_text(TREC_RUN)
    run_path = str(tmp_path / "my.run")
    assert mean_ap(paths, run_path) == mean_ap(read_qrels(paths), run_path) == MEAN_AP
    assert mean_ap([str(path) for path in paths], RUN) == MEAN_AP
    assert mean_ap([io.StringIO(path.read_text()) for path in paths], RUN) == MEAN_AP
    means = compare(paths, {"a": RUN, "b": RUN}, "AP").to_dict()
    assert str(MEAN_AP) in str(means)


def test_a_list_of_runs_is_a_run_each_and_a_list_to_read_one_table(tmp_path: Path) -> None:
    first, last = TREC_RUN.splitlines(keepends=True)[:2], TREC_RUN.splitlines(keepends=True)[2:]
    paths = [tmp_path / "a.run", tmp_path / "b.run"]
    for path, lines in zip(paths, [first, last], strict=True):
        path.write_text("".join(lines))
    assert mean_ap(QRELS, read_run(paths)) == MEAN_AP
    runs = evaluate(QRELS, paths, "AP")
    assert (runs["a"]["AP"], runs["b"]["AP"]) == ((1 / 2 + 0) / 2, (0 + 1) / 2)


@pytest.mark.parametrize("qrels", [["d1", "d2"], ["a.txt", "b.txt"]])
def test_a_list_that_is_no_list_of_judgments_is_refused_as_before(qrels: list[str]) -> None:
    with pytest.raises(InputError, match="scores, or several files"):
        evaluate(qrels, "AP" if "." in qrels[0] else {"q1": {"d1": 1.0}})


# ---- files that are not read ----------------------------------------------------------------


def write_foreign(kind: str, path: Path) -> None:
    """Write the run in a format that is not read."""
    if kind == "orc":
        orc.write_table(RUN, path)
    elif kind == "avro":
        polars = pytest.importorskip("polars")
        polars.from_arrow(RUN).write_avro(path)
    else:
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(path)) as database:
            database.register("arrow", RUN)
            database.execute("CREATE TABLE rankings AS FROM arrow")


@pytest.mark.parametrize("kind", ["orc", "avro", "duckdb"])
def test_the_line_to_type_reads_a_file_that_is_not_read(kind: str, tmp_path: Path) -> None:
    write_foreign(kind, tmp_path / f"my.{kind}")
    with pytest.raises(InputError, match="which is not read") as caught:
        mean_ap(QRELS, str(tmp_path / f"my.{kind}"))
    hint = str(caught.value.hint).replace("'TABLE'", "'rankings'")
    _, begin, code = hint.partition('Write it as Parquet: python -c "')
    assert begin
    subprocess.run([sys.executable, "-c", code.removesuffix('"')], check=True, cwd=tmp_path)
    assert mean_ap(QRELS, str(tmp_path / "my.parquet")) == MEAN_AP


def test_text_that_begins_as_orc_is_text(tmp_path: Path) -> None:
    (tmp_path / "my.run").write_text("ORC1 Q0 11 1 2.5 mine\n")
    assert mean_ap({"ORC1": {"11": 1}}, str(tmp_path / "my.run")) == 1


@pytest.mark.parametrize(
    ("url", "opened"),
    [
        ("gs://bucket/my.run", "gs://bucket/my.run?retry_limit_seconds=20"),
        (
            "gcs://bucket/my.run?scheme=http",
            "gcs://bucket/my.run?scheme=http&retry_limit_seconds=20",
        ),
        ("gs://bucket/my.run?retry_limit_seconds=5", "gs://bucket/my.run?retry_limit_seconds=5"),
        ("s3://bucket/my.run", "s3://bucket/my.run"),  # it ends by itself, after seconds
    ],
)
def test_a_cloud_is_not_asked_for_ever(
    url: str, opened: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened_urls: list[str] = []

    class Files:
        @staticmethod
        def from_uri(uri: str) -> tuple[None, str]:
            opened_urls.append(uri)
            return None, uri

    monkeypatch.setattr(fs, "FileSystem", Files)
    file_system(url)
    assert opened_urls == [opened]


def test_the_limit_is_an_option_of_arrow() -> None:
    system, path = file_system("gs://anonymous@bucket/my.run")
    assert (type(system), path) == (fs.GcsFileSystem, "bucket/my.run")
