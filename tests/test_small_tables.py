"""The reader of small tables: the fields of text, the place of a row, and what it takes."""

import csv
import io
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cranfield import InputError
from cranfield.formats.small import read
from cranfield.formats.small.read import Form, text_table

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n\ufeff")
PLAIN = st.text(CHARACTERS).map(lambda field: re.sub(r'["\s,;|]', "x", field))
THREE = Form("t", ("a", "b", "c"), bare="three fields,")


def columns(text: str, form: Form) -> list[list[str]]:
    return [list(column) for column in text_table("t", text, form).columns]


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
    for one, other in rows:
        lines.append(stream.getvalue().count("\n") + 1)
        csv.writer(stream, lineterminator="\n\n").writerow([one, f"{other}\n,"])
    table = text_table("t", stream.getvalue(), Form("t", ()))
    assert list(table.rows()) == [(one, f"{other}\n,") for one, other in rows]
    assert table.where is not None
    assert [table.where(row)[0] for row in range(len(rows))] == lines
    assert table.error(len(rows) - 1, "no").line == lines[-1]


def test_white_space_is_that_of_ascii_and_a_comment_is_none_of_the_rows() -> None:
    text = "# a b c\nq\u00a01  a\tx \n\n  # b\nq2 b y\n"
    form = Form("t", ("a", "b", "c"), bare="three fields,", separators="")
    assert columns(text, form) == [["q\u00a01", "q2"], ["a", "b"], ["x", "y"]]
    with pytest.raises(InputError, match="t:6: expected three fields, got 2 columns"):
        text_table("t", text + "q3 c\n", form)


def test_a_field_that_a_row_lacks_is_none() -> None:
    rows = [{"a": 1}, {"b": "x", "a": 2}]
    table = read.read_table(rows, Form("the rows", ("a", "b")))
    assert isinstance(table, read.Table)
    assert (table.names, list(table.rows())) == (["a", "b"], [(1, None), (2, "x")])
