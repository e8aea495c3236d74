"""LaTeX: writes a table for a paper.

Cells may hold any text from a file; none of it becomes a command.
"""

import re

from cranfield.errors import escape_unprintable
from cranfield.render.table import Table

_LATEX_OF_CHARACTER = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "`": r"\textasciigrave{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # else it would be an option of the line break before it
    "*": "{*}",  # else it would be a part of the line break before it
    "\N{MINUS SIGN}": "$-$",
    "\N{DAGGER}": r"$\dagger$",
    "\N{DOUBLE DAGGER}": r"$\ddagger$",
    "\N{DOWNWARDS ARROW}": r"$\downarrow$",
    **{c: f"\\{c}" for c in "{}$&#%_"},
}


def to_latex(table: Table) -> str:
    """Return a table for LaTeX with the package booktabs: the title is its caption, notes below it.

    A table of upright headings needs the package graphicx, too.

    Letters beyond ASCII stay as they are, and need an engine and a font that know them.
    """
    rows = [
        [
            _escape_latex(cell if table.is_text(c) else re.sub(_MINUS, "\N{MINUS SIGN}", cell))
            for c, cell in enumerate(row)
        ]
        for row in table.rows
    ]
    for r, c in table.bold_cells:
        rows[r][c] = rf"\textbf{{{rows[r][c]}}}"
    for r, c in table.underlined_cells:
        rows[r][c] = rf"\underline{{{rows[r][c]}}}"
    for r, row in enumerate(table.cell_indents()):
        rows[r] = [
            rf"\phantom{{{'0' * n}}}" * bool(n) + cell for n, cell in zip(row, rows[r], strict=True)
        ]
    for (r, c), mark in table.superscripts.items():
        rows[r][c] += rf"\textsuperscript{{{_escape_latex(mark)}}}"
    lines = [" & ".join(row) + r" \\" for row in rows]
    for r in sorted(table.ruled_rows, reverse=True):
        lines.insert(r, r"\midrule")
    sides = ["l" if table.is_left(c) else "r" for c in range(len(table.header))]
    if table.n_labels > 1 and not table.header[0]:
        sides[0] += r"@{\hspace{0.7em}}"  # a letter or a number, next to what it names
    columns = "".join(sides)
    # Superscripts already separate the columns.
    narrow_gaps = bool(table.superscripts) and not table.wide
    title = [re.sub(" {2,}", r" \\quad ", _escape_latex(line)) for line in table.title]
    caption = re.sub(r"(?<=\.);(?= )", "", "; ".join(title))  # a sentence has its own full stop
    notes = [_escape_latex(note) + r"\par" for note in table.notes]
    kind = "table*" if table.wide else "table"
    header = [*map(_escape_latex, table.header)]
    if table.upright:
        labels, headings = header[: table.n_labels], header[table.n_labels :]
        header = [*labels, *(rf"\rotatebox{{90}}{{{heading}}}" for heading in headings)]
    return "\n".join(
        [
            r"% \usepackage{booktabs}" + r" \usepackage{graphicx}" * table.upright,
            rf"\begin{{{kind}}}",
            r"\centering",
            *([r"\setlength{\tabcolsep}{4pt}"] if narrow_gaps and not table.upright else []),
            *([rf"\caption{{{caption}}}"] if caption else []),
            *([rf"\label{{{table.label}}}"] if table.label else []),
            *([r"\smallskip"] if caption else []),  # many classes leave no space below it
            *([r"\scriptsize\setlength{\tabcolsep}{1.5pt}"] if table.upright else []),
            rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
            r"\toprule",
            *_group_heading_lines(table),
            " & ".join(header) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            *([r"\par\medskip", r"{\footnotesize\raggedright", *notes, "}"] if notes else []),
            rf"\end{{{kind}}}",
            "",
        ]
    )


def _group_heading_lines(table: Table) -> list[str]:
    """Return the lines of the headings above others, and the rules below them."""
    cells, rules, first = [], [], 1
    for name, n in table.group_spans():
        heading = rf"\multicolumn{{{n}}}{{c}}{{{_escape_latex(name)}}}"
        cells.append(heading if name else " & " * (n - 1))
        rules += [rf"\cmidrule(lr){{{first}-{first + n - 1}}}"] if name else []
        first += n
    return [" & ".join(cells) + r" \\", "".join(rules)] if rules else []


# A hyphen that is a minus sign: before a number, or in an exponent such as 1e-05.
_MINUS = r"(?<![\w.-])-(?=\.?\d)|(?<=\de)-(?=\d)"


def _escape_latex(text: str) -> str:
    r"""Return text escaped for LaTeX: nothing in it is a command.

    >>> print(_escape_latex("50% of {a_b} -- $5"))
    50\% of \{a\_b\} -{}- \$5
    """
    latex_text = "".join(_LATEX_OF_CHARACTER.get(c, c) for c in escape_unprintable(text))
    # Two of these signs in a row would become one character.
    latex_text = re.sub(r"([-,'])(?=\1)", r"\1{}", latex_text)
    latex_text = latex_text.replace("\N{EN DASH}", "--")
    return re.sub(r"( ?)\N{LESS-THAN OR EQUAL TO}( ?)", _join_sign, latex_text)


def _join_sign(match: re.Match[str]) -> str:
    """Return the sign <= of a match, which no line break separates from its neighbours."""
    before, after = ("~" * len(blank) for blank in match.groups())
    return rf"{before}$\leq${after}"
