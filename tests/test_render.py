"""render: nothing that stood in a file can break what is shown."""

import csv
import io
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.errors import printable
from cranfield.render import Table, delimited, text, to_html

cells = st.text(max_size=12)
NASTY = Table(
    ["run", "AP"],
    [["[bold]x[/bold]", "0.5"], ["a\tb\nc", "0.25"], ["\x1b[2J", "1"], ["日本語", "0"]],
    ["a note\x1b[31m"],
    strong=frozenset({(0, 1)}),
)


def test_columns_are_aligned_and_markup_is_text() -> None:
    shown = text(NASTY)
    assert shown == (
        " run                AP\n"
        " ─────────────────────\n"
        " [bold]x[/bold]    0.5\n"
        " a\\tb\\nc          0.25\n"
        " \\x1b[2J             1\n"
        " 日本語              0\n"
        "\n"
        "a note\\x1b[31m\n"
    )


def test_color_makes_the_best_bold_and_nothing_else() -> None:
    shown = text(NASTY, color=True)
    assert "\x1b[1m0.5\x1b[0m" in shown
    assert "\x1b[1m0.25" not in shown
    assert "\x1b[2J" not in shown


def test_a_table_too_wide_is_turned_and_loses_nothing() -> None:
    names = [f"measure-{i}" for i in range(20)]
    table = Table(["run", *names], [["bm25", *(f"0.{i:04}" for i in range(20))]])
    shown = text(table, width=60)
    assert max(map(len, shown.splitlines())) <= 60
    for i, name in enumerate(names):
        assert f"{name}" in shown
        assert f"0.{i:04}" in shown


@pytest.mark.parametrize("width", [None, 1, 20, 80])
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=4))
def test_every_cell_is_shown_whole(width: int | None, rows: list[tuple[str, str]]) -> None:
    shown = text(Table(["a", "b"], [list(row) for row in rows]), width=width)
    for row in rows:
        for cell in row:
            assert printable(cell).strip() in shown


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.data: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)

    def handle_data(self, data: str) -> None:
        self.data.append(data)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=4))
def test_no_cell_becomes_a_tag(rows: list[tuple[str, str]]) -> None:
    parser = _Tags()
    parser.feed(to_html(Table(["a", "b"], [list(row) for row in rows], ["<script>"])))
    assert parser.seen == ["table", "thead", "tr", "th", "th", "tbody"] + [
        "tr",
        "td",
        "td",
    ] * len(rows) + ["p"]


@given(st.lists(st.tuples(cells, cells), min_size=1), st.sampled_from([",", "\t"]))
def test_separated_values_come_back(rows: list[tuple[str, str]], delimiter: str) -> None:
    page = delimited(rows, delimiter)
    assert [
        tuple(row) for row in csv.reader(io.StringIO(page, newline=""), delimiter=delimiter)
    ] == rows


@given(st.text())
def test_printable_text_is_printable(content: str) -> None:
    assert printable(content).isprintable()
    assert len(printable(content, 10).encode("unicode_escape")) <= 10 * 10


def test_printable_cuts_long_text() -> None:
    assert printable("x" * 50, 10) == "xxxxxxx..."
