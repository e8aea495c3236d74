"""The reader of small tables: the fields of text, the place of a row, and what it takes."""

import csv
import gzip
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.bombs import check_bomb
from helpers.profile import sample_cases
from hypothesis import example, given
from hypothesis import strategies as st

from cranfield import InputError
from cranfield.formats.small import read
from cranfield.formats.small.chunk_files import read_chunks
from cranfield.formats.small.labels import read_cluster_labels
from cranfield.formats.small.read import TableForm, read_text_table
from cranfield.formats.small.texts import read_texts

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n\ufeff")
PLAIN = st.text(CHARACTERS).map(lambda field: re.sub(r'["\s,;|]', "x", field))
THREE = TableForm("t", ("a", "b", "c"), bare_description="three fields,")


def columns(text: str, form: TableForm) -> list[list[str]]:
    return [list(column) for column in read_text_table("t", text, form).columns]


@given(st.lists(st.lists(PLAIN, min_size=3, max_size=3), min_size=1), st.sampled_from("\t,;|"))
@example([["a", "", "b"], ["", "", ""], [" ", "é\u2028", "#"]], "\t")
def test_the_columns_of_a_text_are_its_fields(rows: list[list[str]], separator: str) -> None:
    rows = [["q1", "", ""], *rows]  # the first line tells the separator: it is not blank
    for end in ("\n", "\r\n", "\n\n"):
        text = "".join(separator.join(row) + end for row in rows)
        assert columns(text, THREE) == [list(column) for column in zip(*rows, strict=True)]


@given(st.lists(st.lists(st.text(CHARACTERS), min_size=2, max_size=2), min_size=1))
def test_a_row_knows_its_line(rows: list[list[str]]) -> None:
    """Fields may hold anything, line ends too; blank lines may be between."""
    stream = io.StringIO()
    stream.write("\nquery_id,label\n\n")
    lines = []
    for name, other in rows:
        lines.append(stream.getvalue().count("\n") + 1)
        csv.writer(stream, lineterminator="\n\n").writerow([name, f"{other}\n,"])
    table = read_text_table("t", stream.getvalue(), TableForm("t", ()))
    assert list(table.rows()) == [(name, f"{other}\n,") for name, other in rows]
    assert table.find_line is not None
    assert [table.find_line(row)[0] for row in range(len(rows))] == lines
    assert table.row_error(len(rows) - 1, "no").line == lines[-1]


def test_white_space_is_that_of_ascii_and_a_comment_is_none_of_the_rows() -> None:
    text = "# a b c\nq\u00a01  a\tx \n\n  # b\nq2 b y\n"
    form = TableForm("t", ("a", "b", "c"), bare_description="three fields,", separators="")
    assert columns(text, form) == [["q\u00a01", "q2"], ["a", "b"], ["x", "y"]]
    with pytest.raises(InputError, match="t:6: expected three fields, got 2 columns"):
        read_text_table("t", text + "q3 c\n", form)


def test_a_field_that_a_row_lacks_is_none() -> None:
    rows = [{"a": 1}, {"b": "x", "a": 2}]
    table = read.read_table(rows, TableForm("the rows", ("a", "b")))
    assert isinstance(table, read.Table)
    assert (table.names, list(table.rows())) == (["a", "b"], [(1, None), (2, "x")])


def query_texts(path: str) -> dict[str, str]:
    return read_texts(path, ["q1", "q2"])


def test_a_line_below_very_many_blank_ones_has_its_number(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"c1,d1\n" + b"\n" * (1 << 20) + b"c1,d2\n")
    with pytest.raises(InputError, match=f"a.csv:{2 + (1 << 20)}: the chunk 'c1' has") as error:
        read_chunks(str(path))
    assert error.value.text == "c1,d2"


# Some, as each unpacks megabytes.
@pytest.mark.parametrize(
    ("name", "read_file", "begin", "filler"),
    sample_cases(
        [
            ("a.csv", read_chunks, "c1,d1\n", f"{'c' * 999},d1\n"),
            ("a.csv", read_chunks, "c1,d1\n", " "),
            ("a.csv", read_chunks, "c1,d1\n", "\n"),
            ("a.tsv", read_cluster_labels, "q1\ta\n", f"{'q' * 999}\ta\n"),
            ("a.json", read_cluster_labels, '{"q1": "a"', " "),
            ("a.json", read_cluster_labels, '{"q1": "a",\n', "\n"),
            ("a.tsv", query_texts, "q1\ta\n", f"q1\t{'a' * 999}\n"),
            ("a.xml", query_texts, "<top>", f"<num>q1<title>{'a' * 999}"),
        ]
    ),
)
def test_a_small_file_that_would_fill_the_memory_is_refused(
    name: str, read_file: Callable[[str], Any], begin: str, filler: str, tmp_path: Path
) -> None:
    check_bomb(name, read_file, begin, filler, tmp_path)


def test_a_compressed_table_of_different_rows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wt") as stream:
        stream.writelines(f"chunk{i:0200d},document{i // 5:0200d}\n" for i in range(43_000))
    assert 20 < 43_000 * 415 / path.stat().st_size < 100  # and more than 4 MB
    assert len(read_chunks(str(path))) == 43_000


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_the_text_wherever_a_piece_ends(end: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    rows = [(f"q{i}", "x" * (i % 97)) for i in range(2000)]
    path.write_bytes("".join(f"{query}\tl{label}{end}" for query, label in rows).encode())
    assert read_cluster_labels(str(path)) == {query: f"l{label}" for query, label in rows}


def test_blank_lines_within_quotation_marks_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'query_id,type\nq1,"a\n\n  \nb"\n')
    assert read_cluster_labels(str(path)) == {"q1": "a\n\n  \nb"}
