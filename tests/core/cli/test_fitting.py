"""Tables and lines within the width of a terminal: nothing is lost, nothing broken in a word."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from cranfield.errors import escape_unprintable
from cranfield.render.plain import fold_line, to_text
from cranfield.render.table import Table, text_width

WORDS = st.text("abc1.-日", min_size=1, max_size=9)
LINES = st.lists(st.tuples(WORDS, st.integers(1, 3)), min_size=1, max_size=20).map(
    lambda parts: "".join(word + " " * n for word, n in parts).rstrip(" ")
)


@given(LINES, st.integers(1, 40))
def test_a_line_is_folded_at_blanks_and_keeps_its_words(line: str, width: int) -> None:
    parts = fold_line(line, width, "  ")
    assert " ".join(parts).split() == line.split()
    for i, part in enumerate(parts):
        assert text_width(part) <= width or len(part.split()) == 1
        assert part.startswith("  ") == (i > 0)
    for part, after in pairwise(parts):  # no line ends before it has to
        assert text_width(part) + 3 + text_width(after.split()[0]) > width
    assert fold_line(line, None) == fold_line(line, text_width(line)) == [line]


def lines_of(table: Table, width: int) -> list[str]:
    lines = to_text(table, width=width).rstrip("\n").split("\n")
    assert all(text_width(line) <= width for line in lines)
    return lines


def test_headings_are_folded_first_and_end_at_the_rule() -> None:
    table = Table(["document", "gain / discount", "sum so far"], [["d1", "0.500000", "0.500000"]])
    assert lines_of(table, 34) == [
        "             gain /    sum so",
        " document  discount       far",
        " ────────────────────────────",
        " d1        0.500000  0.500000",
    ]
    assert to_text(table, width=38) == to_text(table)


def test_a_label_is_folded_where_its_row_would_be_too_wide() -> None:
    question = "How do I reset the password of my account"
    table = Table(["query_id", "R@5"], [[question, "0.5000"], ["q2", "1.0000"]])
    lines = lines_of(table, 30)
    at = [line[:21].strip() for line in lines[2:]]
    assert " ".join(at).startswith(question)
    assert lines[2].endswith("0.5000")
    assert lines[-1].split() == ["q2", "1.0000"]


def test_sentences_go_below_their_row_where_there_is_no_room_beside() -> None:
    sentence = "nothing relevant in the first 10 of the documents"
    rows = [["q1", "0.0000", sentence], ["q2", "0.5000", ""]]
    table = Table(["query_id", "nDCG@10", "why"], rows, n_sentences=1)
    wide_lines = lines_of(table, 90)
    assert wide_lines[2] == f" q1         0.0000  {sentence}"
    assert lines_of(table, 60)[2:4] == [
        " q1         0.0000  nothing relevant in the first 10 of the",
        "                    documents",
    ]
    assert lines_of(table, 40)[2:] == [
        " q1         0.0000",
        "      nothing relevant in the first 10",
        "      of the documents",
        " q2         0.5000",
    ]


def test_sentences_of_rows_that_do_not_fit_are_a_column_of_their_own() -> None:
    rows = [["q1", "0.25", "0.5000", "nothing relevant"], ["q2", "0.75", "1.0000", "all of it"]]
    table = Table(["query_id", "nDCG@10", "Judged@10", "why"], rows, n_sentences=1)
    lines = lines_of(table, 28)
    assert "\n".join(lines).count("\n\n") == 2
    for row in rows:
        of_row = [line.split(maxsplit=1)[1] for line in lines if line.split()[:1] == row[:1]]
        assert of_row == row[1:]


def test_columns_are_put_below_each_other_where_turning_does_not_help() -> None:
    names = [f"measure-{i}" for i in range(9)]
    rows = [[f"run{r}", *(f"0.{r}{c}" for c in range(9))] for r in range(9)]
    table = Table(["run", *names], rows, bold_cells=frozenset({(3, 7)}), ruled_rows=frozenset({5}))
    lines = lines_of(table, 40)
    blocks = "\n".join(lines).split("\n\n")
    assert len(blocks) == 3
    for row in rows:
        of_row = [line.split() for line in lines if line.split()[:1] == row[:1]]
        assert [cell for cells in of_row for cell in cells[1:]] == row[1:]
        assert len(of_row) == len(blocks)
    assert [line.split()[1:] for line in lines if line.startswith(" run  ")] == [
        names[i : i + 3] for i in range(0, 9, 3)
    ]
    assert to_text(table, width=40, color=True).count("\x1b[1m0.36\x1b[0m") == 1


@pytest.mark.parametrize("width", [1, 8])
def test_what_cannot_be_narrower_is_as_wide_as_it_has_to_be(width: int) -> None:
    table = Table(["document", "grade"], [["d" * 50, "3"]], n_labels=2)
    assert f" {'d' * 50}  3" in to_text(table, width=width)


def test_letters_with_accents_are_as_wide_as_rich_says() -> None:
    """Without it: it is not imported where nothing needs it."""
    for number in range(0x20, 0x400):
        printable_text = escape_unprintable(chr(number))
        assert text_width(f"x{printable_text}") == 1 + cell_len(printable_text)
