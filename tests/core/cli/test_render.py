"""render: nothing that stood in a file can break what is shown."""

import csv
import io
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from cranfield.errors import OptionError, escape_unprintable
from cranfield.render.latex import to_latex
from cranfield.render.plain import to_text
from cranfield.render.table import Table, to_delimited, to_html, to_markdown

cells = st.text(max_size=12)
NASTY = Table(
    ["run", "AP"],
    [["[bold]x[/bold]", "0.5"], ["a\tb\nc", "0.25"], ["\x1b[2J", "1"], ["日本語", "0"]],
    ["a note\x1b[31m"],
    bold_cells=frozenset({(0, 1)}),
)


def test_columns_are_aligned_and_markup_is_text() -> None:
    shown_text = to_text(NASTY)
    assert shown_text == (
        " run               AP\n"
        " ────────────────────\n"
        " [bold]x[/bold]   0.5\n"
        " a\\tb\\nc         0.25\n"
        " \\x1b[2J            1\n"
        " 日本語             0\n"
        "\n"
        "a note\\x1b[31m\n"
    )


def test_color_makes_the_best_bold_and_nothing_else() -> None:
    shown_text = to_text(NASTY, color=True)
    assert "\x1b[1m0.5\x1b[0m" in shown_text
    assert "\x1b[1m0.25" not in shown_text
    assert "\x1b[2J" not in shown_text


def test_a_table_too_wide_is_turned_and_loses_nothing() -> None:
    names = [f"measure-{i}" for i in range(20)]
    table = Table(["run", *names], [["bm25", *(f"0.{i:04}" for i in range(20))]])
    shown_text = to_text(table, width=60)
    assert max(map(len, shown_text.splitlines())) <= 60
    for i, name in enumerate(names):
        assert f"{name}" in shown_text
        assert f"0.{i:04}" in shown_text


@pytest.mark.parametrize("width", [None, 1, 20, 80])
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=4))
def test_every_cell_is_shown_whole(width: int | None, rows: list[tuple[str, str]]) -> None:
    """Blanks are ignored where it is folded to fit a terminal."""
    shown_text = to_text(Table(["a", "b"], [list(row) for row in rows]), width=width)
    for row in rows:
        for cell in row:
            cell_text = escape_unprintable(cell).strip()
            for part in [cell_text] if width is None else cell_text.split(" "):
                assert part in shown_text


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.data: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.data.append(data)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=4))
def test_no_cell_becomes_a_tag(rows: list[tuple[str, str]]) -> None:
    parser = _Tags()
    parser.feed(to_html(Table(["a", "b"], [list(row) for row in rows], ["<script>"])))
    assert parser.tags == ["table", "thead", "tr", "th", "th", "tbody"] + [
        "tr",
        "td",
        "td",
    ] * len(rows) + ["p"]


COMPARISON_TABLE = Table(
    ["system", "mean", "diff"],
    [["bm25", ".4120", ""], ["de|nse_v*2", ".4703", "-.0583 ^"], ["[x]--a", ".1", "-"]],
    ["^ better than bm25 (p < .05)", "1. one", "- two"],
    bold_cells=frozenset({(1, 1)}),
    ruled_rows=frozenset({1}),
    title=["nDCG@10   50 queries", "Holm; alpha .05"],
)


def test_a_title_stands_above() -> None:
    above = "nDCG@10   50 queries\nHolm; alpha .05\n\n"
    assert to_text(COMPARISON_TABLE).startswith(above + " system")
    one_row = Table(
        COMPARISON_TABLE.header, COMPARISON_TABLE.rows[:1], title=COMPARISON_TABLE.title
    )
    assert to_text(one_row, width=19).startswith(
        "nDCG@10   50\n  queries\nHolm; alpha .05\n\n        bm25\n"
    )
    assert to_html(COMPARISON_TABLE).split(">", 1)[1].startswith("nDCG@10   50 queries</p>")
    assert to_html(COMPARISON_TABLE).count("border-top") == 3  # the rule, in each cell of its row


def test_markdown_as_github_has_it() -> None:
    assert to_markdown(COMPARISON_TABLE) == (
        "nDCG@10 &emsp; 50 queries\n"
        "\n"
        "Holm; alpha .05\n"
        "\n"
        "| system        |      mean |     diff |\n"
        "| :------------ | --------: | -------: |\n"
        "| bm25          |     .4120 |          |\n"
        "| de\\|nse\\_v\\*2 | **.4703** | -.0583 ^ |\n"
        "| \\[x\\]--a      |        .1 |        - |\n"
        "\n"
        "- ^ better than bm25 (p \\< .05)\n"
        "- 1\\. one\n"
        "- \\- two\n"
    )


MARKED_TABLE = Table(
    ["system", "AP", "n"],
    [["a_1", "0.75", "9"], ["b", "0.5", "10.5"], ["c", "\N{EN DASH}", ""]],
    bold_cells=frozenset({(0, 1)}),
    underlined_cells=frozenset({(1, 2)}),
    superscripts={(0, 1): "b|\N{DAGGER}", (1, 2): "a"},
    group_headings=["", "one", "tw&o"],
    ruled_rows=frozenset({1}),
    title=["Means.", "p \N{LESS-THAN OR EQUAL TO} 0.05."],
    label="tab:x",
    wide=True,
)


def test_superscripts_underlined_cells_and_headings_above_others() -> None:
    assert to_latex(MARKED_TABLE).split("\n")[1:-1] == [
        r"\begin{table*}",
        r"\centering",
        r"\caption{Means. p~$\leq$~0.05.}",
        r"\label{tab:x}",
        r"\smallskip",
        r"\begin{tabular}{@{}lll@{}}",
        r"\toprule",
        r" & \multicolumn{1}{c}{one} & \multicolumn{1}{c}{tw\&o} \\",
        r"\cmidrule(lr){2-2}\cmidrule(lr){3-3}",
        r"system & AP & n \\",
        r"\midrule",
        r"a\_1 & \textbf{0.75}\textsuperscript{b\textbar{}$\dagger$} & \phantom{000}9 \\",
        r"\midrule",
        r"b & \phantom{0}0.5 & \underline{10.5}\textsuperscript{a} \\",
        r"c & -- &  \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table*}",
    ]
    space = "\N{FIGURE SPACE}"
    assert to_markdown(MARKED_TABLE).split("\n")[4:-1] == [
        "| system | one<br>AP               | tw\\&o<br>n              |",
        "| :----- | :---------------------- | :---------------------- |",
        f"| a\\_1   | **0.75**<sup>b\\|\N{DAGGER}</sup> | {space * 3}9{' ' * 20}|",
        f"| b      | {space}0.5{' ' * 20}| <u>10.5</u><sup>a</sup> |",
        f"| c      | \N{EN DASH}{' ' * 23}|{' ' * 25}|",
    ]
    page = to_html(MARKED_TABLE)
    assert f">{space * 3}9<" in page
    sup = '<sup style="line-height: 0">'
    assert f"><strong>0.75</strong>{sup}b|\N{DAGGER}</sup><" in page
    assert f"><u>10.5</u>{sup}a</sup><" in page
    assert page.count('colspan="1"') == 3
    assert 'border-bottom: 1px solid">tw&amp;o</div></th>' in page


def test_superscripts_in_text() -> None:
    rule = "\N{BOX DRAWINGS LIGHT HORIZONTAL}"
    assert to_text(MARKED_TABLE, signs=True).split("\n")[3:-1] == [
        f"         {rule * 2} one {rule * 3}  {rule} tw&o {rule}",
        " system          AP         n",
        f" {rule * 28}",
        " a_1     *0.75* b|\N{DAGGER}      9",
        f" {rule * 28}",
        " b         0.5       _10.5_ a",
        " c           \N{EN DASH}",
    ]
    colour_text = to_text(MARKED_TABLE, color=True)
    assert "\x1b[1m0.75\x1b[0m b|\N{DAGGER}" in colour_text
    assert "\x1b[4m10.5\x1b[0m a" in colour_text
    assert "*" not in colour_text


def test_parts_of_a_table_keep_what_is_marked() -> None:
    part = MARKED_TABLE.select_columns([0, 2])
    assert part.underlined_cells == {(1, 1)}
    assert part.superscripts == {(1, 1): "a"}
    assert part.group_spans() == [("", 1), ("tw&o", 1)]
    assert not part.bold_cells
    transpose = MARKED_TABLE.transpose()
    assert transpose.rows == [("one AP", "0.75", "0.5", "\N{EN DASH}"), ("tw&o n", "9", "10.5", "")]
    assert transpose.bold_cells == {(0, 1)}
    assert transpose.underlined_cells == {(1, 2)}
    assert transpose.superscripts == {(0, 1): "b|\N{DAGGER}", (1, 2): "a"}


def test_latex_with_booktabs() -> None:
    assert to_latex(COMPARISON_TABLE) == (
        "% \\usepackage{booktabs}\n"
        "\\begin{table}\n"
        "\\centering\n"
        "\\caption{nDCG@10 \\quad 50 queries; Holm; alpha .05}\n"
        "\\smallskip\n"
        "\\begin{tabular}{@{}lrr@{}}\n"
        "\\toprule\n"
        "system & mean & diff \\\\\n"
        "\\midrule\n"
        "bm25 & .4120 &  \\\\\n"
        "\\midrule\n"
        "de\\textbar{}nse\\_v{*}2 & \\textbf{.4703} & $-$.0583 \\textasciicircum{} \\\\\n"
        "{[}x]-{}-a & .1 & - \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\\par\\medskip\n"
        "{\\footnotesize\\raggedright\n"
        "\\textasciicircum{} better than bm25 (p \\textless{} .05)\\par\n"
        "1. one\\par\n"
        "- two\\par\n"
        "}\n"
        "\\end{table}\n"
    )


@pytest.mark.parametrize(
    ("cell", "latex"),
    [
        ("[-.03, +.05]", "{[}$-$.03, +.05]"),
        ("-1", "$-$1"),
        ("1e-05", "1e$-$05"),
        ("2019-07-01", "2019-07-01"),
        ("-", "-"),
    ],
)
def test_minus_signs_of_numbers_in_latex(cell: str, latex: str) -> None:
    assert f"x & {latex} " in to_latex(Table(["a", "b"], [["x", cell]]))


marked_texts = st.text(
    st.sampled_from("|\\`*_[]<>#~&$%{}^!-+=.:/@1w a\n\té\0") | st.characters(), max_size=12
)


# What GitHub makes a link of in the text that it shows, but not in code: a mention, which sends
# that person a message, the number of an issue, an address of e-mail.
NOTIFYING = re.compile(
    r"(?:^|[^A-Za-z0-9_])@[A-Za-z0-9]|#[0-9]|[A-Za-z0-9._+-]@[A-Za-z0-9_-]+\.[A-Za-z0-9]"
)


@pytest.mark.parametrize(
    ("content", "page"),
    [
        ("@someone", "`@`someone"),
        ("\\@someone", "\\\\`@`someone"),
        ("`@someone`", "\\``@`someone\\`"),
        ("x @org/team, @@a", "x `@`org/team, `@@`a"),
        ("mailto:a@b.c", "mailto:a`@`b.c"),
        ("P(rel=2)@5", "P(rel=2)`@`5"),
        ("IPrec@0.1", "IPrec`@`0.1"),
        ("nDCG@10", "nDCG@10"),
        ("#12 a#b", "`#`12 a\\#b"),
    ],
)
def test_nobody_is_notified_by_markdown(content: str, page: str) -> None:
    markdown = to_markdown(Table(["run", "AP"], [[content, "1"]], [content]))
    assert f"\n| {page} " in markdown
    assert markdown.endswith(f"\n- {page}\n")
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)
    assert "<a" not in html
    text_of_cell = re.sub(
        "<[^>]*>", "", html.partition("<td")[2].partition(">")[2].split("</td")[0]
    )
    assert text_of_cell == content, "what is copied"


@given(st.lists(st.tuples(marked_texts, marked_texts), min_size=1, max_size=4), st.booleans())
def test_no_text_is_markup_in_markdown(rows: list[tuple[str, str]], strong: bool) -> None:
    table = Table(
        list(rows[0]),
        rows[1:],
        rows[0],
        bold_cells=frozenset({(0, 0), (0, 1)} if strong and rows[1:] else ()),
        title=rows[0],
    )
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(to_markdown(table))
    expected = [cell for row in (rows[0], *rows, rows[0]) for cell in row]
    kinds = {"paragraph", "table", "thead", "tbody", "tr", "th", "td", "bullet_list", "list_item"}
    assert {token.type.removesuffix("_open") for token in tokens if token.nesting == 1} <= kinds
    for kind, n in ("table", 1), ("tr", len(rows)), ("th", 2), ("td", 2 * len(rows) - 2):
        assert sum(token.type == f"{kind}_open" for token in tokens) == n
    assert sum(token.type == "list_item_open" for token in tokens) == 2
    inline_tokens = [token for token in tokens if token.type == "inline"]
    for token in inline_tokens:
        inner = {part.type for part in token.children or ()}
        assert inner <= {"text", "text_special", "strong_open", "strong_close", "code_inline"}
        signs = [part.content for part in token.children or () if part.type == "code_inline"]
        assert all(set(sign) in ({"@"}, {"#"}) for sign in signs)
        visible_text = "".join(
            "\0" if part.type == "code_inline" else part.content for part in token.children or ()
        )
        assert not NOTIFYING.search(visible_text), visible_text
    texts = ["".join(part.content for part in token.children or ()) for token in inline_tokens]

    def blanks(content: str) -> str:
        return " ".join(escape_unprintable(content).split())

    assert [blanks(text_line) for text_line in texts if blanks(text_line)] == [
        blanks(text_line) for text_line in expected if blanks(text_line)
    ]


LATEX_MEANINGS = {
    r"\textbackslash{}": "\\",
    r"\textasciicircum{}": "^",
    r"\textasciitilde{}": "~",
    r"\textasciigrave{}": "`",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    "{[}": "[",
    "{*}": "*",
    "$-$": "-",
    **{f"\\{c}": c for c in "{}$&#%_"},
    "-{}": "-",
    ",{}": ",",
    "'{}": "'",
}


def latex_to_text(latex: str) -> str:
    """Return the text that LaTeX sets; fail at what is no text."""
    command_pattern = "|".join(map(re.escape, LATEX_MEANINGS))
    rest = re.sub(command_pattern, "", latex)
    assert not set(rest) & set("\\{}$&#%_^~`<>|[*"), rest
    return re.sub(command_pattern, lambda match: LATEX_MEANINGS[match[0]], latex)


def plain(content: str) -> str:
    return escape_unprintable(content).replace("\N{MINUS SIGN}", "-")


@given(st.lists(st.tuples(marked_texts, marked_texts, marked_texts), min_size=1, max_size=4))
def test_no_text_is_a_command_in_latex(rows: list[tuple[str, str, str]]) -> None:
    table = Table(list(rows[0]), rows, rows[0], ruled_rows=frozenset({0}), title=rows[0])
    lines = to_latex(table).splitlines()
    begin, end = lines.index(r"\toprule"), lines.index(r"\bottomrule")
    body_lines = [line for line in lines[begin + 1 : end] if line != r"\midrule"]
    for line, row in zip(body_lines, [rows[0], *rows], strict=True):
        # No cell begins with what the line break before it would take for its own.
        assert not re.match(r"\s*[\[*]", line)
        assert line.endswith(r" \\")
        cells = re.split(r"(?<!\\)&", line.removesuffix(r" \\"))
        got = [latex_to_text(cell).strip() for cell in cells]
        assert got == [plain(cell).strip() for cell in row]
    notes = [latex_to_text(line.removesuffix(r"\par")) for line in lines[end + 4 : -2]]
    assert notes == [plain(cell) for cell in rows[0]]


@given(st.lists(st.tuples(cells, cells), min_size=1), st.sampled_from([",", "\t"]))
def test_separated_values_come_back(rows: list[tuple[str, str]], delimiter: str) -> None:
    page = to_delimited(rows, delimiter)
    assert [
        tuple(row) for row in csv.reader(io.StringIO(page, newline=""), delimiter=delimiter)
    ] == rows


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_formulas_are_quoted_where_that_is_asked_for(delimiter: str) -> None:
    bad = ["=cmd|'/C calc'!A0", "+1+1", "-1-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1"]
    good = ["a=1", "-1.5", "+3", "-.5e-3", "", "'=1", "2-1", f"x{delimiter}=1", 'say "=1"']
    rows: list[list[object]] = [["name", "value"], *([cell, -1.5] for cell in [*bad, *good])]

    def read(page: str) -> list[list[str]]:
        return list(csv.reader(io.StringIO(page, newline=""), delimiter=delimiter))

    assert read(to_delimited(rows, delimiter)) == [[str(cell) for cell in row] for row in rows]
    page = to_delimited(rows, delimiter, "quoted")
    inert = [[f"'{cell}", "-1.5"] for cell in bad] + [[cell, "-1.5"] for cell in good]
    assert read(page) == [["name", "value"], *inert]
    # Where the separator is another, no cell begins but at a quotation mark.
    assert to_delimited([["a|=1", 2]], delimiter, "quoted") == f'"a|=1"{delimiter}2\n'
    with pytest.raises(OptionError, match="formulas='off' is not known"):
        to_delimited(rows, delimiter, "off")  # type: ignore[arg-type]


@given(st.text())
def test_printable_text_is_printable(content: str) -> None:
    assert escape_unprintable(content).isprintable()
    assert len(escape_unprintable(content, 10).encode("unicode_escape")) <= 10 * 10


def test_printable_cuts_long_text() -> None:
    assert escape_unprintable("x" * 50, 10) == "xxxxxxx..."
