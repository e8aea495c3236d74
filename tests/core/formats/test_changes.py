"""Files that change while they are read."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import ipc

from cranfield import InputError, Run, evaluate, read_qrels, read_run
from cranfield.formats.source import Source
from cranfield.formats.trec import read_run as read_trec_run

QRELS = {"q1": {"d1": 1}}
N_QUERIES, N_DOCS = 100, 300  # several blocks: with these ids, their text has 3 MB
CHANGE_MESSAGE = "changed while it was read"


def cut_off(path: Path) -> None:
    """Cut the file at a third."""
    os.truncate(path, path.stat().st_size // 3)


def cut_at_a_line(path: Path) -> None:
    """Take the last line away: what is left is whole lines."""
    content = path.read_bytes().rstrip(b"\n")
    os.truncate(path, content.rfind(b"\n") + 1)


def add(path: Path) -> None:
    """Write the file's first line behind its last one."""
    with open(path, "ab") as file:
        file.write(b"q999 Q0 d1 1 1 t\n")


def write_again(path: Path) -> None:
    """Write into the file: its size stays, the time of its modification changes."""
    with open(path, "r+b") as file:
        begin = file.read(1)
        file.seek(0)
        file.write(begin)
    os.utime(path, ns=(1, 1))


def the_run() -> Run:
    docs = {f"d{i}{'-' * 80}": float(i) for i in range(N_DOCS)}
    return Run({f"q{q}": docs for q in range(N_QUERIES)})


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The same run in every format, as bytes."""
    folder = tmp_path_factory.mktemp("originals")
    bytes_of_suffix = {}
    suffixes = (".run", ".csv", ".tsv", ".json", ".jsonl", ".parquet", ".arrow", ".run.gz")
    for suffix in (*suffixes, ".run.zst", ".csv.bz2", ".parquet.gz"):
        the_run().write(folder / f"a{suffix}")
        bytes_of_suffix[suffix] = (folder / f"a{suffix}").read_bytes()
    lines = bytes_of_suffix[".jsonl"].decode().splitlines()
    bytes_of_suffix[" list.json"] = f"[{', '.join(lines)}]".encode()
    table = ipc.open_file(pa.BufferReader(bytes_of_suffix[".arrow"])).read_all()
    for suffix, new in ((".arrow", ipc.new_file), (".arrows", ipc.new_stream)):
        sink = pa.BufferOutputStream()
        with new(sink, table.schema) as writer:
            writer.write_table(table, 1000)  # rows in each batch
        bytes_of_suffix[suffix] = sink.getvalue().to_pybytes()
    return bytes_of_suffix


FORMS = [
    *(".run", ".csv", ".tsv", ".json", ".jsonl", " list.json", ".parquet", ".arrow", ".arrows"),
    *(".run.gz", ".run.zst", ".csv.bz2", ".parquet.gz"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", [cut_off, write_again])
def test_a_run_that_changes_while_it_is_read(
    form: str, change: Callable[[Path], None], originals: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / f"a{form}"
    path.write_bytes(originals[form])
    byte_counts: list[int] = []

    def progress(n_bytes: int) -> None:
        if not byte_counts:
            change(path)
        byte_counts.append(n_bytes)

    with pytest.raises(InputError, match=CHANGE_MESSAGE) as caught:
        evaluate(QRELS, read_run(path), "AP", progress=progress)
    assert byte_counts
    assert caught.value.source == str(path)


@pytest.mark.parametrize("change", [cut_at_a_line, add])
def test_whole_lines_that_come_or_go_are_a_change(
    change: Callable[[Path], None], originals: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(originals[".run"])
    byte_counts: list[int] = []

    def progress(n_bytes: int) -> None:
        if not byte_counts:
            change(path)
        byte_counts.append(n_bytes)

    with pytest.raises(InputError, match=CHANGE_MESSAGE):
        evaluate(QRELS, read_run(path), "AP", progress=progress)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("a.run", b"q1 Q0 d1 1 1.5 t\n", b"q1 Q0 d2 2 x t\n"),
        ("a.csv", b"query_id,doc_id,score\nq1,d1,1.5\n", b"q1,d2,x\n"),
        ("a.jsonl", b'{"qid": "q1", "doc_id": "d1", "score": 1}\n', b'{"qid": "q1"}\n'),
        ("a.run", b"q1 Q0 d1 1 1.5 t\n", b"q1 Q0 d1 2 1.5 t\n"),  # a document twice
    ],
)
def test_a_line_that_is_gone_when_it_is_to_be_shown(
    name: str, good: bytes, bad: bytes, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(good + bad)
    run = read_run(path)
    with pytest.raises(InputError, match=CHANGE_MESSAGE):
        evaluate(QRELS, run, "AP", progress=lambda n: os.truncate(path, len(good)))


def test_a_line_that_is_not_there_any_more_is_a_change(write: Callable[..., str]) -> None:
    """Where size and time of modification are as they were, too."""
    path = write("a.run", b"q1 Q0 d1 1 1.5 t\n")
    rows = read_trec_run(Source(path), b"q1 Q0 d1 1 1.5 t\n")
    with pytest.raises(InputError, match=CHANGE_MESSAGE):
        rows._find_line(0, 18, 1)


def test_judgments_that_change_while_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_bytes(b"q1 0 d1 1\nq1 0 d2 0\n")
    with pytest.raises(InputError, match=CHANGE_MESSAGE):
        read_qrels(path, progress=lambda n: os.truncate(path, 10))


def test_a_file_that_was_put_in_the_place_of_another_is_a_change(tmp_path: Path) -> None:
    """The columns of the run are those of the first; in the other they are elsewhere."""
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("query_id,doc_id,score\nq1,d1,2\nq1,d2,1\n")
    run = read_run(path)
    assert evaluate(QRELS, run, "RR")["RR"] == 1
    other.write_text("doc_id,query_id,score\nd1,q1,1\nd2,q1,2\n")
    os.utime(other, ns=(1, 1))
    os.replace(other, path)
    with pytest.raises(InputError, match="open it again"):
        evaluate(QRELS, run, "RR")
    assert evaluate(QRELS, read_run(path), "RR")["RR"] == 1 / 2


def test_another_file_of_the_same_size_and_time_is_a_change(tmp_path: Path) -> None:
    path, other = tmp_path / "a.run", tmp_path / "b.run"
    path.write_bytes(b"q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\n")
    other.write_bytes(b"q1 Q0 d1 2 1 t\nq1 Q0 d2 1 2 t\n")
    for file in (path, other):
        os.utime(file, ns=(1, 1))
    run = read_run(path)
    assert evaluate(QRELS, run, "RR")["RR"] == 1
    os.replace(other, path)
    with pytest.raises(InputError, match="open it again"):
        evaluate(QRELS, run, "RR")


def test_a_file_that_stays_is_read_as_often_as_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a.run.gz"
    path.write_bytes(gzip.compress(b"q1 Q0 d2 1 2.5 t\nq1 Q0 d1 2 1.5 t\n"))
    run = read_run(path)
    assert [evaluate(QRELS, run, "RR")["RR"] for _ in range(3)] == [1 / 2] * 3
