"""Reading TREC files: every way to write one, and an error for every way to spoil one."""

import gzip
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke
from hypothesis import given
from hypothesis import strategies as st

from cranfield import evaluate
from cranfield.data.qrels import read_qrels
from cranfield.data.run import read_run
from cranfield.errors import InputError
from cranfield.formats.block import SIZES
from cranfield.formats.files import stem_of
from cranfield.formats.source import Source

RUN = "q1 Q0 d1 1 3.5 tag\nq1 Q0 d2 2 2.5 tag\nq2 Q0 d1 1 1e-3 tag\n"
ROWS = [("q1", "d1", 3.5), ("q1", "d2", 2.5), ("q2", "d1", 0.001)]


def rows(path: str) -> list[tuple[str, str, float | None]]:
    rows_of_blocks = []
    for load in read_run(path).blocks():
        block = load()
        scores = (
            [None] * len(block) if block.score_or_grade is None else block.score_or_grade.tolist()
        )
        queries, docs = block.query.to_list(), block.doc.to_list()
        rows_of_blocks += [
            (q.decode("utf-8", "surrogateescape"), d.decode("utf-8", "surrogateescape"), v)
            for q, d, v in zip(queries, docs, scores, strict=True)
        ]
    return rows_of_blocks


SPELLINGS = {
    "plain": RUN,
    "tabs": RUN.replace(" ", "\t"),
    "aligned with spaces": RUN.replace(" ", "   "),
    "indented": "  " + RUN.replace("\n", "\n  "),
    "trailing spaces": RUN.replace("\n", "  \n"),
    "CRLF": RUN.replace("\n", "\r\n"),
    "no final line end": RUN[:-1],
    "blank lines": "\n\n" + RUN.replace("\n", "\n \n"),
    "comments": "# a run\n" + RUN.replace("\nq2", "\n  # q9 Q0 d9 1 9 tag\n#\nq2"),
    "a comment that looks like a line": RUN + "# q9 Q0 d9 1 9 tag\n#q9 Q0 d9 rank score tag\n",
    "byte order mark": "\ufeff" + RUN,
    "more columns": RUN.replace("tag\n", "my own tag\n"),
    "more columns here and there": RUN.replace("2.5 tag", "2.5 tag with blanks"),
    "form feeds": RUN.replace(" Q0 ", "\fQ0\v"),
    "plus signs": RUN.replace("3.5", "+3.5"),
    "mixed white space": RUN.replace(" Q0 ", "\t Q0  "),
}


@pytest.mark.parametrize("content", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_a_run_is_read_however_it_is_spaced_in_blocks_of_any_size(
    content: str, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("run", content)
    assert rows(path) == ROWS
    for size in (1, 7, 20, 33, 64):
        monkeypatch.setattr(SIZES, "bytes", size)
        monkeypatch.setattr(SIZES, "tail", max(size, 8))
        assert rows(path) == ROWS


ids = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"], exclude_characters="#"),
    min_size=1,
)


@given(
    st.lists(st.tuples(ids, ids, st.floats(allow_nan=False)), min_size=1),
    st.sampled_from([" ", "\t", "  ", " \t"]),
    st.sampled_from(["\n", "\r\n", " \n"]),
    st.integers(1, 300),
)
def test_any_ids_and_scores_come_back(
    expected: list[tuple[str, str, float]], space: str, end: str, size: int
) -> None:
    path = Path(tempfile.gettempdir(), f"cranfield-{os.getpid()}.run")
    text = "".join(space.join([q, "Q0", d, "1", repr(s), "t"]) + end for q, d, s in expected)
    path.write_text(text, "utf-8", newline="")
    saved_sizes = SIZES.bytes, SIZES.tail
    try:
        SIZES.bytes, SIZES.tail = size, max(8, size // 2)
        assert rows(str(path)) == expected
    finally:
        SIZES.bytes, SIZES.tail = saved_sizes
        path.unlink()


def test_no_query_is_cut_in_two(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "".join(f"q{i // 7} Q0 d{i} 1 {-i} t\n" for i in range(500))
    path = write("run", content)
    for size in (30, 100, 1000):
        monkeypatch.setattr(SIZES, "bytes", size)
        monkeypatch.setattr(SIZES, "tail", 64)
        blocks = [load() for load in read_run(path).blocks()]
        assert len(blocks) > 1
        queries = [set(block.query.to_list()) for block in blocks]
        assert sum(map(len, queries)) == len(set.union(*queries)) == 72


def test_a_pipe_is_read_and_its_errors_have_lines(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def feed() -> None:
        path.write_text(RUN + "q3 Q0 d1 1 high tag\n")

    thread = threading.Thread(target=feed)
    thread.start()
    with pytest.raises(InputError, match=r"pipe:4: expected a number as the score") as caught:
        rows(str(path))
    thread.join()
    assert caught.value.line == 4


# ---- what is refused ------------------------------------------------------------------------

SPOILT_RUNS = {
    "q1 Q0 d1 1\nq1 Q0 d1 1 3.5 t\n": (
        1,
        "expected 6 columns: query_id Q0 doc_id rank score tag; got 4",
    ),
    "q1 Q0 d1 1 3.5 t\nq1 Q0 d2 2.5 t\n": (2, "expected 6 columns"),
    "q1 Q0 d1  3.5 t\n": (1, "expected 6 columns"),
    "q1  d1 1 3.5 7\n": (1, "expected 6 columns"),
    " Q0 d1 1 3.5 t\n": (1, "expected 6 columns"),
    "q1 Q0 d1 1 high\n": (1, "expected 6 columns"),
    "q1 Q0 d1 1 3.5\nq1 Q0 d2 2\n": (1, "expected 6 columns"),
    "# c\n\nq1 Q0 d1 1 high t\n": (3, "expected a number as the score (column 5), got 'high'"),
    "q1 Q0 d1 1 NaN t\n": (1, "expected a number as the score (column 5), got 'NaN'"),
    "q1 Q0 d1 1 nan t\n": (1, "expected a number"),
    "q1 Q0 d1 1 1_000 t\n": (1, "expected a number"),
    "q1 Q0 d1 1 0x10 t\n": (1, "expected a number"),
    "q1 Q0 d1 1 1,5 t\n": (1, "expected a number"),
    "q1 Q0 d1 1 3.5 t\nq1 Q0 d2 1 \u0663 t\n": (2, "expected a number"),
    "q1 Q0 d1 0\n": (1, "This looks like qrels"),
    "q1 d1 5\n": (1, "got 3: the third may be a rank, a score or a grade"),
    "q1 d1 0.5 t\n": (1, "got 4: it is not clear which columns these are"),
    "q1 d1\nq1 d2 d3\n": (2, "expected 2 columns: query_id doc_id; got 3"),
    "": (None, "holds no data"),
    "\n \n# nothing\n": (None, "holds no data"),
    "q1 Q0 d1 1 1 t\nq1 Q0 d\0 1 1 t\n": (None, "null bytes"),
}


@pytest.mark.parametrize(("content", "expected"), SPOILT_RUNS.items(), ids=map(repr, SPOILT_RUNS))
def test_a_spoilt_run_is_refused_with_its_line(
    content: str, expected: tuple[int | None, str], write: Any
) -> None:
    path = write("bad.run", content)
    with pytest.raises(InputError) as caught:
        rows(path)
    line, problem = expected
    assert caught.value.source == path
    assert caught.value.line == line
    assert problem in str(caught.value)
    if line is not None:
        assert content.split("\n")[line - 1] in str(caught.value), "the line itself is shown"


SPOILT_QRELS = {
    "q1 0 d1 1\nq1 0 d2\n": (2, "expected 4 columns: query_id iteration doc_id grade; got 3"),
    "q1 0 d1 1 x\n": (1, "got 5"),
    " q1 d1 1\nq1 0 d2 1\n": (1, "got 3"),
    "q1 0 d1 0x10\n": (1, "expected a number as the grade (column 4), got '0x10'"),
    "q1 0 d1 1_0\n": (1, "expected a number"),
    "q1 0 d1 4611686018427387904\n": (1, "Grades must be from -2,147,483,647 to 2,147,483,647"),
    "q1 0 d1 relevant\n": (1, "expected a number as the grade (column 4), got 'relevant'"),
    "q1 0 d1 inf\n": (1, "expected a number as the grade"),
    "q1 0 d1 nan\n": (1, "expected a number as the grade"),
    "q1 0 d1 99999999999999999999\n": (1, "expected a number"),
    "q1 Q0 d1 1 3.5 tag\n": (1, "This looks like a run"),
    "q1 0 d1 1\nq2 0 d1 1\nq1 0 d1 2\n": (3, "the document 'd1' occurs twice for query 'q1'"),
    "q1 0 d1 1\nq1 0 d1 1\n": (2, "occurs twice"),
    "": (None, "holds no data"),
}


@pytest.mark.parametrize(("content", "expected"), SPOILT_QRELS.items(), ids=map(repr, SPOILT_QRELS))
def test_spoilt_qrels_are_refused_with_their_line(
    content: str, expected: tuple[int | None, str], write: Any
) -> None:
    path = write("bad.qrels", content)
    with pytest.raises(InputError) as caught:
        read_qrels(path)
    line, problem = expected
    assert (caught.value.source, caught.value.line) == (path, line)
    assert problem in str(caught.value)


@pytest.mark.parametrize("size", [40, 200, 2 << 20])
@pytest.mark.parametrize("bad", [1, 2, 57, 99, 100])
def test_the_line_number_is_right_in_every_block(
    size: int, bad: int, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SIZES, "bytes", size)
    monkeypatch.setattr(SIZES, "tail", 64)
    lines = [f"q{i // 3} Q0 d{i} 1 {i}.5 t" for i in range(1, 101)]
    lines[bad - 1] = "q Q0 this-is-bad 1 x t"
    with pytest.raises(InputError) as caught:
        rows(write("run", "\n".join(lines)))
    assert caught.value.line == bad
    assert caught.value.text == lines[bad - 1]


def test_a_carriage_return_alone_ends_a_line_and_is_counted(
    write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SIZES, "bytes", 50)
    lines = [f"q{i} Q0 d{i} 1 {i}.5 t" for i in range(1, 41)]
    lines[33] = "q34 Q0 d34 1 x t"
    ends = ["\r", "\n", "\r\n", "\n"]
    text = "".join(line + ends[i % 4] for i, line in enumerate(lines))
    with pytest.raises(InputError) as caught:
        rows(write("run", text))
    assert caught.value.line == 34
    assert caught.value.text == lines[33]


def test_lone_carriage_returns_also_where_the_layout_is_chosen(write: Any) -> None:
    assert rows(write("run", "q1 d1\rq1 d2\r")) == [("q1", "d1", None), ("q1", "d2", None)]
    assert rows(write("run", "# c\rq1 Q0 d1 1 9 x\r")) == [("q1", "d1", 9.0)]


def test_whole_numbers_are_read_alike_by_arrow_and_line_by_line(write: Any) -> None:
    lines = [f"q 0 d{g} {g}\n" for g in ("+5", "-0", "007", "2147483647", "0" * 20 + "1")]
    grades = {"d+5": 5, "d-0": 0, "d007": 7, "d2147483647": 2**31 - 1, "d" + "0" * 20 + "1": 1}
    assert read_qrels(write("qrels", "".join(lines))).to_dict() == {"q": grades}
    by_line = "".join(lines) + "q 0 x\x1c 1\n"  # which Arrow's block is not clean with
    assert read_qrels(write("qrels", by_line)).to_dict() == {"q": {**grades, "x\x1c": 1}}
    for grade in ("2147483648", "1e10", "0x1", "1_0", "9" * 5000):
        with pytest.raises(InputError, match="expected a number"):
            read_qrels(write("qrels", f"q 0 d {grade}\n"))


def test_blocks_of_nothing_but_comments(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rows(write("run", RUN + "\n" * 3_000_000)) == ROWS
    monkeypatch.setattr(SIZES, "bytes", 50)
    content = "# nothing yet\n" * 20 + RUN + "\n" * 200 + "# done\n" * 50
    assert rows(write("run", content)) == ROWS
    assert evaluate({"q1": {"d2": 1}}, write("run", content), "RR")["RR"] == 1 / 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_utf16_is_told_by_its_mark_or_its_zeros(encoding: str, end: str, write: Any) -> None:
    content = RUN.replace("\n", end).encode(encoding)
    with pytest.raises(InputError, match="It looks like UTF-16; save it as UTF-8"):
        rows(write("run", content))


@pytest.mark.parametrize(
    "content",
    [
        b"\0\1\2",
        b"\0\1\2\3\0\1\2\3\nq1 Q0 d1 1 1 t\n",
        b"\0\1\0\2\0\3",
        b"q\0\0\1\0\0\0",
        b"\0\0\0\0",
        b"\0q1 Q0 d1 1 1 t\n",
        b"q1\0Q0 d1 1 1 t\n",
    ],
)
def test_binary_files_are_not_taken_for_utf16(content: bytes, write: Any) -> None:
    for name in ("run", "run.csv", "run.jsonl"):
        with pytest.raises(InputError, match="is binary, not text: it holds null bytes") as caught:
            rows(write(name, content))
        assert "UTF-16" not in str(caught.value)


def test_a_broken_archive_is_named(write: Any) -> None:
    for content in (gzip.compress(RUN.encode() * 50)[:60], b"\x1f\x8bthis is no gzip"):
        with pytest.raises(InputError, match=r"run\.gz: cannot be"):
            rows(write("run.gz", content))


def test_a_file_without_lines_is_refused_before_it_fills_the_memory(write: Any) -> None:
    with pytest.raises(InputError, match="run:1: the line is longer than 1,048,576 bytes"):
        rows(write("run", b"x" * (5 << 20)))


def test_control_characters_of_a_line_are_shown_escaped(write: Any) -> None:
    with pytest.raises(InputError) as caught:
        rows(write("run", "q1 Q0 \x1b[31md1\u202e 1 x t\n"))
    assert "\x1b" not in str(caught.value)
    assert "\u202e" not in str(caught.value)
    assert r"\x1b[31md1\u202e" in str(caught.value)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("runs/bm25.run", "bm25"),
        ("bm25.run.gz", "bm25"),
        ("bm25.txt.zst", "bm25"),
        ("input.NLE_pr1", "input.NLE_pr1"),
        ("input.NLE_pr1.gz", "input.NLE_pr1"),
        ("run", "run"),
        ("-", "stdin"),
        ("bm25.v2.trec", "bm25.v2"),
    ],
)
def test_a_run_is_named_by_its_file(path: str, name: str) -> None:
    assert stem_of(Source(path)) == name


# ---- query ids that begin with # ----------------------------------------------------------------


HASH_ROWS = {
    "qrels": ("evaluate", "sun 0 d3 1\n#rain 0 d2 1\n", "sun Q0 d3 1 2 t\n"),
    "qrels, tabs": ("evaluate", "sun\t0\td3\t1\n#rain\t0\td2\t1\n", "sun Q0 d3 1 2 t\n"),
    "run": ("evaluate", "sun 0 d3 1\n", "#rain Q0 d2 1 3 t\nsun Q0 d3 1 2 t\n"),
    "run, indented": ("compare", "sun 0 d3 1\n", "sun Q0 d3 1 2 t\n  #rain Q0 d2 1 3 t\n"),
    "run, a rank that is not a number": (
        "evaluate",
        "sun 0 d3 1\n",
        "sun Q0 d3 1 2 t\n#x Q0 d - 3 t\n",
    ),
    "run, a tag of words": ("evaluate", "sun 0 d3 1\n", "sun Q0 d3 1 2 t\n#x Q0 d 1 3 t u v\n"),
    "MS MARCO": ("evaluate", "sun 0 d3 1\n", "sun d3 1\n#rain d2 1\n"),
    "ranked list": ("evaluate", "sun 0 d3 1\n", "sun d3\n#rain d2\n"),
}


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize(("verb", "qrels", "run"), HASH_ROWS.values(), ids=HASH_ROWS.keys())
def test_a_row_that_begins_with_a_hash_is_no_comment(
    tmp_path: Path, verb: str, qrels: str, run: str, is_compressed: bool
) -> None:
    pack = gzip.compress if is_compressed else bytes
    paths = [str(tmp_path / name) for name in ("a.qrels", "a.run", "b.run")]
    for path, text in zip(paths, (qrels, run, "sun Q0 d3 1 2 t\n"), strict=True):
        Path(path).write_bytes(pack(text.encode()))
    process = invoke(verb, *paths, "-m", "AP")
    line = next(n for n, text in enumerate((qrels + run).split("\n"), 1) if "#" in text)
    line -= qrels.count("\n") if "#" in run else 0
    assert process.exit_code == 2
    assert f":{line}: a line that begins with # has the columns of a row" in process.stderr
    assert "put a blank behind # (a comment), or number the columns" in process.stderr
    assert "--columns query_id=1,doc_id=3,relevance=4,score=5" in process.stderr
    assert "every line is a row" in process.stderr


@pytest.mark.parametrize(
    ("columns", "hash_run"),
    [
        ("query_id=1,doc_id=3,relevance=4", "#rain Q0 d9 1 3 t\n#rain Q0 d2 2 2 t\n# 2 sun\n"),
        ("query_id=1,doc_id=3,relevance=4,score=5", "#rain Q0 d9 1 3 t\n#rain Q0 d2 2 2 t\n"),
    ],
)
def test_by_numbers_a_row_that_begins_with_a_hash_is_a_row(
    tmp_path: Path, columns: str, hash_run: str
) -> None:
    (tmp_path / "a.qrels").write_text("# made by hand\n#rain 0 d2 1\nsun 0 d3 1\n# sun 0 d4 no\n")
    (tmp_path / "a.run").write_text(hash_run + "sun Q0 d3 1 2 t\n")
    files = [str(tmp_path / name) for name in ("a.qrels", "a.run")]
    process = invoke("evaluate", *files, "-m", "AP", "-q", "--columns", columns, "--format", "csv")
    values = [line.split(",")[-1] for line in process.stdout.splitlines() if "#rain" in line]
    assert [*map(float, values)] == [1 / 2]
    alone = {"query_id": 1, "doc_id": 3, "relevance": 4}
    assert read_qrels(files[0], columns=alone).to_dict() == {"#rain": {"d2": 1}, "sun": {"d3": 1}}


def test_by_numbers_a_file_may_have_no_other_rows(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("#rain 0 d2 1\n#rain 0 d3 0\n")
    judgments = read_qrels(tmp_path / "a.qrels", columns={"query_id": 1, "doc_id": 3})
    assert judgments.to_dict() == {"#rain": {"d2": 1, "d3": 0}}


def test_by_numbers_without_a_grade_a_list_of_three_columns_is_relevant(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("sun 0 d2\nsun 0 d3\n")
    judgments = read_qrels(tmp_path / "a.txt", columns={"query_id": 1, "doc_id": 3})
    assert judgments.to_dict() == {"sun": {"d2": 1, "d3": 1}}


def test_rows_that_begin_with_a_hash_are_counted_where_faults_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("#rain 0 d2 1\nsun 0 d3 1\n")
    assert read_qrels(tmp_path / "a.qrels", errors="skip").left_out.count == 1


def test_subtopics_of_a_query_that_begins_with_a_hash_are_no_comments(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("sun 1 d3 1\n#rain 1 d2 1\n")
    with pytest.raises(InputError, match=r"a\.txt:2: a line that begins with #"):
        read_qrels(tmp_path / "a.txt", "subtopics")


def test_a_file_of_nothing_but_such_rows_names_the_rule(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("#rain 0 d2 1\n")
    with pytest.raises(InputError, match="put a blank behind #"):
        read_qrels(tmp_path / "a.qrels")
