"""Write the pages of the documentation that are generated: python scripts/make_docs.py.

Under docs/reference, `measures` comes from the register of measures, `command-line` from the
commands' help, `api` from the docstrings, the tables of `formats.md` from the registers of formats
and columns, the sections of `conventions-of-tools.md` from the conventions. The table of
docs/background/speed.md comes from `benchmarks/results.json`. `pictures` come from
`cranfield.figures`; the notebooks in `start` from the pages with the same names. A test fails if
one is out of date. With `--transcripts`, the output of the commands in the console blocks of all
pages is first written again (for commands on the shared data, if CRANFIELD_DATA names its folder).

In the source, it writes what options functions take as keywords, for type checkers.
"""

import argparse
import ast
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from doctest import DocTestParser
from pathlib import Path
from typing import Any

import transcripts
from api_pages import make_api_pages
from command_pages import make_command_pages
from keyword_types import make_keyword_types
from measure_pages import make_measure_pages, make_weight_pictures
from speed_table import make_speed_table, read_rows

from cranfield import CranfieldWarning, compare, demo, evaluate, figures, parse, trend
from cranfield.compat.names import columns_of, measure_names
from cranfield.extensions.tools.conventions import CONVENTIONS
from cranfield.extensions.tools.rule import Convention
from cranfield.formats.columns import COLUMNS, Side
from cranfield.formats.files import FORMATS

ROOT = Path(__file__).parent.parent
NAMES_TABLE = re.compile(r"(<!-- names: begin -->\n).*(<!-- names: end -->)", re.S)
FORMATS_TABLE = re.compile(r"(<!-- formats: begin -->\n).*(<!-- formats: end -->)", re.S)
COLUMNS_TABLE = re.compile(r"(<!-- columns: begin -->\n).*(<!-- columns: end -->)", re.S)
CONVENTION_SECTIONS = re.compile(
    r"(<!-- conventions: begin -->\n).*(<!-- conventions: end -->)", re.S
)
SPEED_TABLE = re.compile(r"(<!-- speed: begin -->\n).*(<!-- speed: end -->)", re.S)
NOTEBOOKS = (
    "tutorial",
    "tutorial-two-systems",
    "examples",
    "examples-grades",
    "examples-conventions",
)
EXAMPLES = ("nDCG@2", "AP@2", "P@2", "R@2", "RR@2", "Success@2", "ERR@2")
BLOCK = re.compile(r"^```(pycon|console)\n(.*?)^```\n", re.S | re.M)
SECTION = re.compile(r"^(?=## )", re.M)


def fill_trec_eval_names() -> str:
    """Return the page on trec_eval with the table of names put in."""
    rows = ["| trec_eval | here |", "|---|---|"]
    for name in measure_names():
        if name != "runid":
            measure_texts = [str(column.measure) for column in columns_of(name, None, {})]
            measures_text = f"`{measure_texts[0]}`" + (
                f" to `{measure_texts[-1]}`" if len(measure_texts) > 1 else ""
            )
            rows.append(f"| `{name}` | {measures_text} |")
    text = (ROOT / "docs" / "how-to" / "trec-eval.md").read_text("utf-8")
    return NAMES_TABLE.sub(lambda match: match[1] + "\n".join(rows) + "\n" + match[2], text)


def fill_speed() -> str:
    """Return the page on speed with the table of the benchmarks put in."""
    text = (ROOT / "docs" / "background" / "speed.md").read_text("utf-8")
    table = make_speed_table(read_rows())
    return SPEED_TABLE.sub(lambda match: f"{match[1]}{table}\n{match[2]}", text)


def fill_formats() -> str:
    """Return the page on formats with the tables of formats and columns put in."""
    rows = [
        "| format | `format=`, `--run-format`, `--qrels-format` | suffixes | judgments | runs |",
        "|---|---|---|---|---|",
    ]
    for form in FORMATS.values():
        names = f"`{form.name}`" + "".join(
            f", for judgments also `{name}`" for name in form.aliases
        )
        suffixes = ", ".join(f"`{suffix}`" for suffix in form.suffixes) or "-"
        row_descriptions = [
            (side_format and side_format.row_description) or "-"
            for side_format in (form.qrels, form.runs)
        ]
        judgments, runs = row_descriptions
        rows.append(f"| {form.title} | {names} | {suffixes} | {judgments} | {runs} |")
    column_rows = ["| column | of | names |", "|---|---|---|"]
    for column in filter(lambda column: column.sides, COLUMNS.values()):
        meaning = f": {column.meaning}" if column.meaning else ""
        sides_text = (
            "both" if len(column.sides) > 1 else "runs" if Side.RUN in column.sides else "judgments"
        )
        column_rows.append(
            f"| `{column.public}`{meaning} | {sides_text} | {', '.join(column.names)} |"
        )
        name_of_side = {Side.RUN: "runs", Side.QRELS: "judgments", Side.EXCLUDED: "exclusions"}
        for words, names_of_side in (
            ("with several in a cell", column.list_names),
            ("as texts, in one table of both sides", column.text_names),
        ):
            column_rows += [
                f"| the same, {words} | {name_of_side[side]} | {', '.join(shorten_names(names))} |"
                for side, names in names_of_side.items()
            ]
    text = (ROOT / "docs" / "reference" / "formats.md").read_text("utf-8")
    text = FORMATS_TABLE.sub(lambda match: match[1] + "\n".join(rows) + "\n" + match[2], text)
    return COLUMNS_TABLE.sub(
        lambda match: match[1] + "\n".join(column_rows) + "\n" + match[2], text
    )


def fill_conventions() -> str:
    """Return the page on the conventions of tools with a section for each put in.

    Its examples use the judgments and the run of the page on conventions.
    """
    folder = ROOT / "docs" / "reference"
    page = (folder / "conventions.md").read_text("utf-8")
    (example,) = (block[2] for block in BLOCK.finditer(page) if "qrels = {" in block[2])
    namespace: dict[str, Any] = {}
    for page_example in DocTestParser().get_examples(example)[1:3]:  # the judgments and the run
        exec(page_example.source, namespace)  # noqa: S102 - code of the page
    parts = [
        describe_convention(convention, namespace["qrels"], namespace["run"])
        for convention in CONVENTIONS.values()
    ]
    text = (folder / "conventions-of-tools.md").read_text("utf-8")
    return CONVENTION_SECTIONS.sub(
        lambda match: match[1] + "\n".join(parts) + "\n" + match[2], text
    )


def describe_convention(convention: Convention, qrels: Any, run: Any) -> str:
    """Return a convention's part of the page."""
    run_remark = "" if convention.was_run else " Read in its source, not run."
    rows = ["| measures | choices |", "|---|---|"]
    for rule in convention.rules:
        measures = ", ".join(f"`{text}`" for text in rule.measure_texts)
        rows.append(f"| {measures} | {', '.join(f'`{text}`' for text in rule.choices) or '-'} |")
    value_rows = []
    for text in EXAMPLES:
        measure = parse(text)
        if convention.translate(measure) is not None:
            default_value = evaluate(qrels, run, measure)[measure]
            convention_value = evaluate(qrels, run, measure, convention=convention.name)[measure]
            value_rows.append(f"| `{measure}` | {default_value:.4f} | {convention_value:.4f} |")
    return "\n".join(
        [
            *(
                f"## {convention.name}",
                "",
                f"{convention.tool}; `{convention.source}`.{run_remark}",
                "",
                *rows,
                "",
            ),
            *[f"- {remark}" for remark in convention.remarks],
            *([""] if convention.remarks else []),
            *("| example | the default | this convention |", "|---|---|---|", *value_rows, ""),
        ]
    )


def shorten_names(names: Sequence[str]) -> Iterator[str]:
    """Yield names; names that combine several words with the same endings are one text."""
    words = [name.removesuffix("_ids") for name in names if name.endswith("_ids")]
    words = [word for word in words if f"{word}_doc_ids" in names]
    if words:
        endings = [name.removeprefix(words[0]) for name in names if name.startswith(f"{words[0]}_")]
        endings = [
            ending for ending in endings if all(f"{word}{ending}" in names for word in words)
        ]
        yield f"{', '.join(words)}, each with {', '.join(endings)}"
        names = [
            name
            for name in names
            if not any(name == w + ending for w in words for ending in endings)
        ]
    yield from names


def split_commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield a cell's (source, output) for every command of a console block."""
    for part in block.split("$ ")[1:]:
        command, _, output = part.partition("\n")
        yield f"!{command}", output


def split_examples(block: str) -> Iterator[tuple[str, str]]:
    """Yield a cell's (source, output) for the examples up to one that shows something."""
    sources = ""
    for example in DocTestParser().get_examples(block):
        sources += example.source
        if example.want:
            yield sources, re.sub(r"^<BLANKLINE>$", "", example.want, flags=re.M)
            sources = ""
    if sources:
        yield sources, ""


def ends_in_value(source: str, printing_functions: set[str]) -> bool:
    """Tell whether a cell's output is the value of its last line; else it is printed.

    `printing` holds the names of functions that return nothing; the cell's own are added.
    """
    if source.startswith("!"):
        return False
    body = ast.parse(source).body
    for statement in body:
        if isinstance(statement, ast.FunctionDef) and not re.search(r"^\s*return\b", source, re.M):
            printing_functions.add(statement.name)
    last_function = ast.unparse(body[-1]).partition("(")[0]
    return isinstance(body[-1], ast.Expr) and last_function not in printing_functions


def notebook_lines(text: str) -> list[str]:
    """Return a text as the list of lines in a notebook."""
    return text.splitlines(keepends=True)


def make_notebook(page: str) -> str:
    """Return a page as a notebook: prose, and a cell for each example that shows something.

    Examples that need other data than the demonstration are prose, too.
    """
    cells: list[dict[str, Any]] = []
    printing = {"print"}

    def add(cell_type: str, source: str, **cell_fields: Any) -> None:
        cells.append(
            {
                "cell_type": cell_type,
                "id": "",
                "metadata": {},
                **cell_fields,
                "source": notebook_lines(source.strip()),
            }
        )

    def prose(text: str) -> None:
        for section in SECTION.split(text):
            if section.strip():
                add("markdown", section)

    count, end = 0, 0
    text = (ROOT / "docs" / "start" / page).read_text("utf-8")
    for block in BLOCK.finditer(text):
        if any(folder in block[2] for folder in transcripts.SHARED_FOLDERS):
            continue
        prose(text[end : block.start()])
        end = block.end()
        for source, output in (split_commands if block[1] == "console" else split_examples)(
            block[2]
        ):
            count += 1
            cell_output: dict[str, Any] = {
                "name": "stdout",
                "output_type": "stream",
                "text": notebook_lines(output.rstrip() + "\n"),
            }
            if ends_in_value(source, printing):
                cell_output = {
                    "data": {"text/plain": notebook_lines(output.rstrip())},
                    "execution_count": count,
                    "metadata": {},
                    "output_type": "execute_result",
                }
            add("code", source, execution_count=count, outputs=[cell_output] if output else [])
    prose(text[end:])
    for number, cell in enumerate(cells, 1):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _place_pages(folder: str, pages: dict[str, str]) -> dict[Path, str]:
    """Return the pages of a folder of the reference, by their paths."""
    return {ROOT / "docs" / "reference" / folder / name: page for name, page in pages.items()}


def make_pages() -> dict[Path, str]:
    """Return every generated page."""
    return {
        **_place_pages("measures", make_measure_pages()),
        **_place_pages("command-line", make_command_pages()),
        **_place_pages("api", make_api_pages()),
        ROOT / "docs" / "reference" / "formats.md": fill_formats(),
        ROOT / "docs" / "reference" / "conventions-of-tools.md": fill_conventions(),
        ROOT / "docs" / "how-to" / "trec-eval.md": fill_trec_eval_names(),
        ROOT / "docs" / "background" / "speed.md": fill_speed(),
        **{
            ROOT / "docs" / "start" / f"{name}.ipynb": make_notebook(f"{name}.md")
            for name in NOTEBOOKS
        },
        **make_keyword_types(),
    }


def make_pictures() -> dict[Path, figures.Figure]:
    """Return every picture of the documentation."""
    folder = ROOT / "docs" / "pictures"
    dense = demo.HERE / "dense.run"
    return {
        folder / "reciprocal-rank.svg": figures.reciprocal_rank(),
        folder / "weights.svg": figures.rank_weights(),
        folder / "precision-recall.svg": figures.precision_recall(demo.QRELS, dense, "q22"),
        **{folder / name: figure for name, figure in make_weight_pictures().items()},
    }


def make_gallery() -> dict[Path, figures.Figure]:
    """Return the pictures of docs/how-to/figures.md: each kind, from the demonstration."""
    lines = (demo.HERE / "queries.tsv").read_text("utf-8").splitlines()
    text_of_query = dict(line.split("\t") for line in lines)
    labels = {
        query: "short (up to 6 words)" if len(text.split()) <= 6 else "long"
        for query, text in text_of_query.items()
    }
    stages = [demo.HERE / f"{name}.run" for name in ("tfidf", "bm25", "fusion", "dense")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)  # the pictures have these notes
        comparison = compare(demo.QRELS, list(demo.RUNS), "nDCG@10", slices={"length": labels})
    figure_of_name = {
        "leaderboard": figures.leaderboard(comparison),
        "differences": figures.differences(comparison),
        "scatter": figures.scatter(comparison),
        "by-cutoff": figures.by_cutoff(comparison),
        "mean-precision-recall": figures.precision_recall(comparison),
        "spread": figures.spread(comparison),
        "pair-matrix": figures.pair_matrix(comparison),
        "judged-by-rank": figures.judged_by_rank(comparison),
        "by-relevant": figures.by_relevant(comparison),
        "by-slice": figures.by_slice(comparison),
        "over-time": figures.over_time(trend(demo.QRELS, stages, "nDCG@10")),
        "paper": figures.leaderboard(comparison, style="paper"),
    }
    return {
        ROOT / "docs" / "pictures" / f"{name}.svg": figure
        for name, figure in figure_of_name.items()
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--transcripts", action="store_true", help="also rewrite console blocks")
    if parser.parse_args().transcripts:
        for path in transcripts.rewrite_pages(
            [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
        ):
            print(f"wrote the transcripts of {path.relative_to(ROOT)}")
    for path, page_text in make_pages().items():
        path.write_text(page_text, "utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    for path, figure in {**make_pictures(), **make_gallery()}.items():
        path.parent.mkdir(exist_ok=True)
        figure.save(path)
        print(f"wrote {path.relative_to(ROOT)}")
