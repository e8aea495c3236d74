"""Tables of engines and warehouses: lazy ones, those in files, their keys, and other files.

The average precision is 1/2 for q1 (d2, d1 with d1 relevant) and 1 for q2: 3/4 in the mean.
"""

import gzip
import io
import json
import pickle
import subprocess
import sys
import uuid
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


def mean_ap(qrels: Any, run: Any = None, columns: dict[str, str] | None = None) -> Any:
    """Return the mean average precision of judgments and a run, or of a table of both."""
    return evaluate(qrels, run, "AP", columns=columns)["AP"]


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
@pytest.mark.parametrize(
    "kind",
    [pytest.param(name, marks=pytest.mark.more) if name == "dask" else name for name in LAZY],
)
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


def test_a_dataset_with_a_damaged_file_is_refused(tmp_path: Path) -> None:
    parquet.write_table(RUN, tmp_path / "a.parquet")
    table = dataset.dataset(tmp_path)
    assert mean_ap(QRELS, Run(table, "stored")) == mean_ap(QRELS, table) == MEAN_AP
    raw = bytearray((tmp_path / "a.parquet").read_bytes())
    raw[30:120] = b"\xff" * 90
    (tmp_path / "a.parquet").write_bytes(raw)
    with pytest.raises(InputError, match="the run: cannot be collected: "):
        mean_ap(QRELS, table)


@pytest.mark.parametrize("make", [dataset.dataset, pa.Table.to_reader])
def test_a_table_without_rows_is_refused(make: Any) -> None:
    with pytest.raises(InputError, match="the run: holds no rows"):
        mean_ap(QRELS, make(RUN.slice(0, 0)))


# ---- keys and lists -------------------------------------------------------------------------


def write_partitions(folder: Path, system: str = "") -> Path:
    """Write the run with a folder for each query, as Spark and Hive do; return the folder."""
    for query in ("1", "2"):
        path = folder / system / f"query_id={query}" / "part-0.parquet"
        path.parent.mkdir(parents=True)
        rows = RUN.filter([query_id == query for query_id in RUN["query_id"].to_pylist()])
        parquet.write_table(rows.drop_columns(["query_id"]), path)
    return folder


def test_folders_of_partitions_are_columns(tmp_path: Path) -> None:
    folder = write_partitions(tmp_path / "mine")
    assert mean_ap(QRELS, str(folder)) == MEAN_AP
    assert mean_ap(QRELS, f"{folder}/*/*.parquet") == MEAN_AP
    assert read_run(folder).to_dict() == Run(RUN).to_dict()
    assert read_run(folder).name == "mine"
    parquet.write_table(RUN, tmp_path / "mine" / "query_id=2" / "part-0.parquet")  # its own column
    (tmp_path / "mine" / "query_id=1" / "part-0.parquet").unlink()
    assert mean_ap(QRELS, str(folder)) == MEAN_AP


def test_a_partition_is_read_as_hive_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "query_id=a%2Fb%3D007" / "part-0.parquet"
    path.parent.mkdir()
    parquet.write_table(RUN.slice(0, 2).drop_columns(["query_id"]), path)
    assert list(read_run(path).to_dict()) == ["a/b=007"]


def test_systems_in_partitions_are_systems(tmp_path: Path) -> None:
    for system in ("a", "b"):
        write_partitions(tmp_path, f"system={system}")
    runs = evaluate(QRELS, str(tmp_path), "AP")
    assert {name: runs[name]["AP"] for name in ("a", "b")} == {"a": MEAN_AP, "b": MEAN_AP}  # type: ignore[index]


KEYS = [pa.decimal128(38, 0), pa.decimal256(50, 0), pa.decimal128(20, 0), pa.int64()]


@pytest.mark.parametrize("key", KEYS)
def test_decimal_keys_are_whole_numbers(key: pa.DataType, tmp_path: Path) -> None:
    tables = [
        table.set_column(0, "query_id", table["query_id"].cast(pa.int64()).cast(key)).set_column(
            1, "doc_id", table["doc_id"].cast(pa.int64()).cast(key)
        )
        for table in (QRELS, RUN)
    ]
    assert mean_ap(*tables) == mean_ap(tables[0], RUN) == mean_ap(QRELS, tables[1]) == MEAN_AP
    for table, name in zip(tables, ("qrels.parquet", "run.parquet"), strict=True):
        parquet.write_table(table, tmp_path / name)
    assert mean_ap(str(tmp_path / "qrels.parquet"), str(tmp_path / "run.parquet")) == MEAN_AP


def make_array_table(kind: pa.DataType, **columns: Any) -> pa.Table:
    """Return the table of both sides with arrays of ids of a type, and no column of queries."""
    lists = {"label": [[11], [21]], "prediction": [[12, 11], [21]], **columns}
    return pa.table({name: pa.array(lists[name], pa.list_(kind)) for name in lists})


ARRAY_FORMS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "arrow": lambda table, folder: table,
    "pandas": lambda table, folder: table.to_pandas(),
    "dicts": lambda table, folder: table.to_pylist(),
    "parquet": lambda table, folder: write_file(folder, "a.parquet", write_parquet(table)),
    "jsonl": lambda table, folder: write_file(
        folder, "a.jsonl", "".join(f"{json.dumps(row)}\n" for row in table.to_pylist()).encode()
    ),
    "json": lambda table, folder: write_file(
        folder, "a.json", json.dumps(table.to_pylist()).encode()
    ),
}


def write_file(folder: Path, name: str, raw: bytes) -> str:
    """Write a file; return its path."""
    (folder / name).write_bytes(raw)
    return str(folder / name)


@pytest.mark.parametrize("form", ARRAY_FORMS)
@pytest.mark.parametrize("kind", [pa.float64(), pa.int32(), pa.string()])
def test_a_row_of_arrays_without_a_user_is_a_query(
    kind: pa.DataType, form: str, tmp_path: Path
) -> None:
    table = make_array_table(pa.int64())
    table = table.cast(pa.schema([(name, pa.list_(kind)) for name in table.column_names]))
    table = table.rename_columns(["expected_ids", "retrieved_ids"])
    scores = evaluate(ARRAY_FORMS[form](table, tmp_path), "AP")
    assert (scores["AP"], scores.per_query("AP")) == (MEAN_AP, {"1": 1 / 2, "2": 1.0})
    (note,) = (note for note in scores.notes if note.code == "row-queries")
    assert note.text == "No column of queries: each row is a query, numbered from 1."


def test_rows_of_several_files_are_numbered_on(tmp_path: Path) -> None:
    for name in ("part-0.parquet", "part-1.parquet"):
        parquet.write_table(make_array_table(pa.float64()), tmp_path / name)
    for n_buckets in (None, 2):
        scores = evaluate(str(tmp_path), "AP", buckets=n_buckets)
        assert scores.per_query("AP") == {"1": 1 / 2, "2": 1.0, "3": 1 / 2, "4": 1.0}
    columns = {"expected_ids": "label", "retrieved_ids": "prediction"}
    assert mean_ap(make_array_table(pa.float64()), columns=columns) == MEAN_AP


@pytest.mark.parametrize(
    "table",
    [
        make_array_table(pa.int64()).drop_columns(["label"]),
        pa.table({"expected_id": ["a", "b"], "retrieved_id": ["a", "c"]}),  # no lists
    ],
)
def test_other_tables_without_queries_are_refused(table: pa.Table) -> None:
    with pytest.raises(InputError, match="has no column 'query_id'"):
        evaluate(table, "AP")


@pytest.mark.parametrize("bad_id", [1.5, 2.0**53, -(2.0**60), float("inf"), float("nan")])
def test_a_double_that_is_no_whole_number_is_no_id(bad_id: float, tmp_path: Path) -> None:
    table = make_array_table(pa.float64(), prediction=[[12, bad_id], [21]])
    for form in ("arrow", "dicts"):
        with pytest.raises(
            InputError, match=r"expected a string or a whole number|empty or missing"
        ):
            mean_ap(ARRAY_FORMS[form](table, tmp_path))
    largest = 2.0**53 - 1
    table = make_array_table(pa.float64(), prediction=[[largest, 11], [21]])
    assert mean_ap(table) == MEAN_AP
    assert Run(table).to_dict()["1"] == {"9007199254740991": -1.0, "11": -2.0}


UUIDS = [uuid.UUID(int=number << 64 | 0xDEADBEEF << 90) for number in range(2)]


def test_binary_ids_are_refused_with_the_way_to_write_them() -> None:
    raw = pa.array([identifier.bytes for identifier in UUIDS], pa.binary(16))
    extension = pa.ExtensionArray.from_storage(pa.uuid(), raw)
    for column, remedy in ((raw, "map(bytes.hex)"), (extension, ".map(str), CAST(doc_id AS")):
        with pytest.raises(InputError, match="column 'doc_id' holds") as caught:
            mean_ap(QRELS.set_column(1, "doc_id", column), RUN)
        assert remedy in str(caught.value.hint)


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
    parquet.write_table(RUN, sink)  # its position is its end
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
        ("s3://bucket/my.run", "s3://bucket/my.run"),  # Arrow gives up after seconds
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
