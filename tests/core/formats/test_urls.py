"""Files by URL: from Arrow's file systems or a web server, here a small server of our own.

The server answers what Arrow's S3 file system asks to read one object: HEAD for its length, GET
for a range of its bytes. Nothing outside this machine is reached.
"""

import copy
import gzip
import io
import os
import pickle
import re
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pytest
from helpers.commands import invoke
from helpers.url_files import RUN_TEXT, spellings
from pyarrow import fs, parquet

from cranfield import CranfieldError, InputError, Qrels, Run, evaluate, read_qrels, read_run
from cranfield.formats import url
from cranfield.formats.source import open_to_write

QRELS = {"q1": {"d1": 1}}
RUN = b"q1 Q0 d2 1 2.5 t\nq1 Q0 d1 2 1.5 t\n"  # AP is 1/2
TABLE = {"query_id": ["q1", "q1"], "doc_id": ["d2", "d1"], "score": [2.5, 1.5]}
PATIENCE = 60  # seconds, after which a client is taken to have left


def parquet_bytes() -> bytes:
    """Return the run as a Parquet file."""
    sink = io.BytesIO()
    parquet.write_table(pa.table(TABLE), sink)
    return sink.getvalue()


OBJECTS = {
    "plain.run": RUN,
    "packed.run.gz": gzip.compress(RUN),
    "table.parquet": parquet_bytes(),
    "odd name & more.run": RUN,
    "long.run": RUN + b"".join(b"q2 Q0 d%d 1 %d t\n" % (i, -i) for i in range(300_000)),
    "qrels.txt": b"q1 0 d1 1\nq1 0 d2 0\n",
    "wrong.run": RUN + b"q1 Q0\n",
}


class Server(ThreadingHTTPServer):
    """An S3 that holds OBJECTS in its only bucket, `bucket`."""

    daemon_threads = True
    block_on_close = False  # clients keep their connections

    def url(self, name: str) -> str:
        """Return the URL of an object."""
        return s3(name, self.server_port)


def s3(name: str, port: int) -> str:
    """Return the URL of an object of an S3 server on this machine."""
    options = f"endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
    return f"s3://key:secret@bucket/{quote(name)}?{options}"


class Handler(BaseHTTPRequestHandler):
    """What Arrow asks to read an object, no more."""

    protocol_version = "HTTP/1.1"
    timeout = PATIENCE

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        path = unquote(self.path.partition("?")[0])
        content = OBJECTS.get(path.removeprefix("/bucket/"))
        if path.startswith("/short/"):  # it breaks off half-way
            self.send_response(200)
            self.send_header("Content-Length", str(2 * len(RUN)))
            self.end_headers()
            self.wfile.write(RUN)
            self.close_connection = True
            return
        if path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", f"/bucket/{path.removeprefix('/moved/')}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if path.startswith("/bucket/closed"):
            self.send_response(403)
            content = b""
        elif content is None:
            self.send_response(404)
            content = b""
        elif byte_range := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", "")):
            begin, end = int(byte_range[1]), min(int(byte_range[2]) + 1, len(content))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
            content = content[begin:end]
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Last-Modified", self.date_time_string(0))
        self.send_header("ETag", '"1"')
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def stored_run(tmp_path: Path) -> Path:
    path = tmp_path / "my run.run"
    path.write_text(RUN_TEXT)
    return path


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join(PATIENCE)


@pytest.fixture
def nowhere() -> Iterator[int]:
    """A port that refuses connections: it is taken, and nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield listener.getsockname()[1]


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_the_server_serves_what_arrow_asks_for(name: str, server: Server) -> None:
    """If this fails, the other tests here say nothing about cranfield."""
    system, path = fs.FileSystem.from_uri(server.url(name))
    with system.open_input_file(path) as file:
        file.seek(3)
        assert file.read(5) == OBJECTS[name][3:8]
    with system.open_input_stream(path, compression=None) as stream:
        assert stream.read() == OBJECTS[name]


@pytest.mark.parametrize(
    "name", ["plain.run", "packed.run.gz", "table.parquet", "odd name & more.run", "long.run"]
)
def test_a_run_is_read_from_s3(name: str, server: Server) -> None:
    assert evaluate(QRELS, server.url(name), "AP")["AP"] == 0.5


def test_qrels_are_read_from_s3(server: Server) -> None:
    assert read_qrels(server.url("qrels.txt")).to_dict() == {"q1": {"d1": 1, "d2": 0}}


@pytest.mark.parametrize("name", ["plain.run", "packed.run.gz", "table.parquet"])
def test_a_run_is_read_by_a_file_url(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(OBJECTS[name])
    assert evaluate(QRELS, path.as_uri(), "AP")["AP"] == 0.5


def test_qrels_are_read_by_a_file_url(tmp_path: Path) -> None:
    path = tmp_path / "my qrels.txt"  # a blank, which the URL writes as %20
    path.write_bytes(OBJECTS["qrels.txt"])
    assert read_qrels(path.as_uri()).to_dict() == {"q1": {"d1": 1, "d2": 0}}


def test_qrels_are_written_to_a_file_url_compressed_as_its_suffix_says(tmp_path: Path) -> None:
    docs_of_query = {"q": {"a": 1}}
    Qrels(docs_of_query).write(f"file://{tmp_path}/qrels.csv.gz")
    assert (tmp_path / "qrels.csv.gz").read_bytes().startswith(b"\x1f\x8b")
    assert read_qrels(tmp_path / "qrels.csv.gz").to_dict() == docs_of_query


def test_an_error_names_the_line_of_an_object(server: Server) -> None:
    with pytest.raises(CranfieldError, match=r"wrong\.run.*:3: expected 6 columns"):
        evaluate(QRELS, server.url("wrong.run"), "AP")


def test_an_error_does_not_show_the_secret(server: Server) -> None:
    for name in ("wrong.run", "missing.run", "closed.run"):
        with pytest.raises(CranfieldError) as caught:
            evaluate(QRELS, server.url(name), "AP")
        assert "secret" not in str(caught.value)


def refusal(url: str) -> str:
    """Return what cranfield says instead of reading the URL."""
    with pytest.raises(CranfieldError) as caught:
        evaluate(QRELS, url, "AP")
    return str(caught.value)


@pytest.mark.parametrize("name", ["missing.run", "closed.run"])
def test_an_object_that_cannot_be_had_is_an_error(name: str, server: Server) -> None:
    assert name in refusal(server.url(name))


def test_a_refused_connection_is_an_error(nowhere: int) -> None:
    assert "plain.run" in refusal(s3("plain.run", nowhere))


def test_a_file_url_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    assert "missing.run" in refusal((tmp_path / "missing.run").as_uri())


@pytest.mark.parametrize(
    "url",
    [
        "nonsense://bucket/plain.run",
        "s3://bucket/plain.run?no_such_option=1",
        "file://elsewhere/plain.run",
        "http://[bad/plain.run",
        "http://127.0.0.1:port/plain.run",
    ],
)
def test_a_url_that_is_none_is_an_error(url: str) -> None:
    assert refusal(url)


# ---- web servers -------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["bucket", "moved"])
@pytest.mark.parametrize(
    "name", ["plain.run", "packed.run.gz", "table.parquet", "odd name & more.run", "long.run"]
)
def test_a_run_is_read_from_a_web_server(name: str, folder: str, server: Server) -> None:
    url = f"http://127.0.0.1:{server.server_port}/{folder}/{quote(name)}"
    run = read_run(url)
    assert run.name == quote(name).partition(".")[0]
    assert [evaluate(QRELS, run, "AP")["AP"] for _ in range(2)] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("bucket/wrong.run", r"wrong\.run:3: expected 6 columns"),
        ("bucket/missing.run", "the server says 404"),
        ("bucket/closed.run", "the server says 403"),
        ("short/a.run", f"the answer ends {len(RUN)} bytes too early"),
    ],
)
def test_what_a_web_server_does_not_give_is_an_error(
    place: str, message: str, server: Server
) -> None:
    assert re.search(message, refusal(f"http://127.0.0.1:{server.server_port}/{place}"))


@pytest.mark.parametrize("is_read", [False, True])
def test_what_a_web_server_gave_is_sent_along_with_a_run(
    is_read: bool, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OBJECTS, "once.run", RUN)
    run = read_run(f"http://127.0.0.1:{server.server_port}/bucket/once.run")
    if is_read:
        assert evaluate(QRELS, run, "AP")["AP"] == 0.5
    run_copy, sent = copy.deepcopy(run), pickle.dumps(run)
    monkeypatch.delitem(OBJECTS, "once.run")  # it cannot be fetched again
    for same_run in (run, run_copy, pickle.loads(sent)):  # noqa: S301 - our own
        assert evaluate(QRELS, same_run, "AP")["AP"] == 0.5


def test_an_object_that_changed_since_the_run_was_sent_is_refused(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OBJECTS, "other.run", RUN)
    run = read_run(server.url("other.run"))
    assert evaluate(QRELS, run, "AP")["AP"] == 0.5
    sent = pickle.dumps(run)
    monkeypatch.setitem(OBJECTS, "other.run", RUN + b"q1 Q0 d9 1 99 t\n")
    with pytest.raises(InputError, match="the file changed"):
        evaluate(QRELS, pickle.loads(sent), "AP")  # noqa: S301 - our own


def test_a_web_server_that_is_not_there_is_an_error(nowhere: int) -> None:
    assert "refused" in refusal(f"http://127.0.0.1:{nowhere}/plain.run")


def test_a_web_server_that_says_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url, "_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert "timed out" in refusal(f"http://127.0.0.1:{silent.getsockname()[1]}/plain.run")


def test_a_password_for_a_web_server_is_neither_sent_nor_shown(server: Server) -> None:
    message = refusal(f"http://me:secret@127.0.0.1:{server.server_port}/bucket/plain.run")
    assert "Download the file" in message
    assert "secret" not in message
    with pytest.raises(InputError, match="it is a web page") as caught:
        Run({"q1": {"d1": 0.5}}).write("https://me:secret@127.0.0.1/plain.run")
    assert "secret" not in str(caught.value)


# ---- what is not there -------------------------------------------------------------------------


class Without:
    """A finder of modules that has neither fsspec nor what it needs for `hf://`."""

    def find_spec(self, name: str, *_: object) -> None:
        if name in ("fsspec", "huggingface_hub"):
            raise ImportError(f"no {name} here")


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fsspec", "huggingface_hub"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Without(), *sys.meta_path])
    message = refusal("hf://datasets/someone/something/plain.run")
    assert "pip install fsspec huggingface_hub" in message


def test_a_url_of_an_unknown_kind_names_those_that_are_known() -> None:
    assert "https://, http://, s3://" in refusal("nonsense://bucket/plain.run")


@pytest.mark.parametrize(
    "url", ["hf://datasets/a/b/c.run", "https://127.0.0.1/c.run", "nonsense://a/c.run"]
)
def test_a_url_that_cannot_be_written_is_an_error(url: str) -> None:
    with pytest.raises(CranfieldError, match="cannot be"):
        Run({"q1": {"d1": 1.0}}).write(url)


# ---- files of this machine by their URL --------------------------------------------------------


@pytest.mark.parametrize("spelling", range(3))
def test_a_file_url_is_read_as_its_path_is(spelling: int, stored_run: Path) -> None:
    run = read_run(spellings(stored_run)[spelling])
    assert (run.to_dict(), run.name) == ({"q1": {"d1": 2.5, "d2": 1.5}}, "my run")


def test_a_null_byte_in_a_file_url_is_no_files_name(stored_run: Path, tmp_path: Path) -> None:
    url = f"{stored_run.as_uri()}%00"
    with pytest.raises(InputError, match="run%00: is no file's name: it holds a null byte"):
        read_run(url)
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    path, qrels = str(stored_run), str(tmp_path / "qrels.txt")
    for arguments in (["evaluate", qrels, url], ["convert", url, path], ["convert", path, url]):
        process = invoke(*arguments)
        assert process.exit_code == 2
        assert "run%00: is no file's name: it holds a null byte" in process.stderr


@pytest.mark.parametrize("spelling", range(3))
def test_a_run_is_recognised_by_a_file_url(spelling: int, stored_run: Path, tmp_path: Path) -> None:
    for source in (str(stored_run), spellings(stored_run)[spelling]):
        process = invoke("convert", source, str(tmp_path / "out.csv"))
        assert process.exit_code == 0, process.stderr
        assert (tmp_path / "out.csv").read_text().splitlines()[1] == "q1,d1,2.5,1"


@pytest.mark.parametrize("spelling", range(3))
def test_a_file_url_that_is_read_is_not_written(
    spelling: int, stored_run: Path, tmp_path: Path
) -> None:
    path, url = str(stored_run), spellings(stored_run)[spelling]
    (tmp_path / "other.run").write_text(RUN_TEXT)
    other = str(tmp_path / "other.run")
    commands = [
        ("convert", "--run", path, url),
        ("convert", "--run", url, path),
        ("convert", "--run", url, url),
        ("convert", "--run", other, url, "--without", path),
    ]
    for command in commands:
        process = invoke(*command)
        assert process.exit_code == 2, command
        assert "is read by this command; name another file" in process.stderr, command
        assert stored_run.read_text() == RUN_TEXT, command


@pytest.mark.parametrize("spelling", range(3))
@pytest.mark.parametrize("command", ["evaluate", "compare", "explain", "check"])
def test_a_result_is_not_written_over_what_is_read_by_its_url(
    command: str, spelling: int, tmp_path: Path
) -> None:
    run = tmp_path / "run.json"
    run.write_text(content := '{"q1": {"d1": 2.5, "d2": 1.5}}')
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("q1 0 d1 1\n")
    process = invoke(command, str(qrels), str(run), "-o", spellings(run)[spelling])
    assert process.exit_code == 2
    assert "is read by this command; name another file" in process.stderr
    assert run.read_text() == content


@pytest.mark.parametrize("spelling", range(3))
def test_a_file_url_is_replaced_whole_or_not_at_all(spelling: int, stored_run: Path) -> None:
    url = spellings(stored_run)[spelling]
    with pytest.raises(TypeError), open_to_write(url) as stream:
        stream.writelines([b"half", "no bytes"])  # type: ignore[list-item] # what is wrong
    assert stored_run.read_text() == RUN_TEXT
    with open_to_write(url) as stream:
        assert stored_run.read_text() == RUN_TEXT
        stream.write(b"whole")
    assert stored_run.read_text() == "whole"
    assert os.listdir(stored_run.parent) == [stored_run.name]


def test_an_error_in_the_input_leaves_what_was_at_a_file_url(
    stored_run: Path, tmp_path: Path
) -> None:
    (tmp_path / "wrong.run").write_text(RUN_TEXT + "q2 Q0 d1 1\n")
    process = invoke("convert", "--run", str(tmp_path / "wrong.run"), stored_run.as_uri())
    assert process.exit_code == 2
    assert "wrong.run: expected 6 columns" in process.stderr
    assert stored_run.read_text() == RUN_TEXT


def test_a_result_is_written_to_a_file_url(stored_run: Path, tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    url = (tmp_path / "page one.csv").as_uri()
    process = invoke(
        "evaluate", str(tmp_path / "qrels.txt"), str(stored_run), "-m", "RR", "-o", url
    )
    assert process.exit_code == 0, process.stderr
    assert (tmp_path / "page one.csv").read_text().splitlines()[1].endswith(",1.0")


def test_a_file_url_of_no_file_here_is_refused(stored_run: Path) -> None:
    url = "file://elsewhere/out.run"
    for command in (("--run", str(stored_run), url), ("--run", url, str(stored_run) + ".csv")):
        process = invoke("convert", *command)
        assert process.exit_code == 2
        assert process.stderr.startswith(f"Error: {url}: cannot be opened: ")
    assert "no such file" in invoke("convert", f"{stored_run.as_uri()}.none", "-").stderr.lower()
