"""Every result in every form: its own reader takes it back, no matter what the ids are."""

import csv
import gzip
import io
import json
import pkgutil
import re
import warnings
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from inspect import isabstract
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from helpers.hard_names import NUGGETS, OTHER_QRELS, QRELS, RESULTS, RUNS, SYSTEM_NAMES
from markdown_it import MarkdownIt

import cranfield
from cranfield import CranfieldWarning, evaluate
from cranfield.cli import cli
from cranfield.errors import escape_unprintable
from cranfield.render.shown import FORMS, Shown

WIDE = (
    "scores",
    "systems",
    "lists",
)  # whose frames have a column for each measure, as they always had


@pytest.fixture(params=RESULTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def result(name: str) -> Shown:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        result: Shown = RESULTS[name]()
    return result


def test_every_result_of_the_package_is_here() -> None:
    for module in pkgutil.walk_packages(cranfield.__path__, "cranfield."):
        if not module.name.endswith("__main__") and ".adapters." not in module.name:
            import_module(module.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        tested_types = {type(make()) for make in RESULTS.values()}
    results = {
        result_type
        for result_type in list_subclasses(Shown)
        if result_type.__module__.startswith("cranfield.")
    }
    assert {result_type for result_type in results if not isabstract(result_type)} == tested_types


def list_subclasses(parent: type[Any]) -> Iterator[type[Any]]:
    for subclass in type.__subclasses__(parent):
        yield subclass
        yield from list_subclasses(subclass)


def test_rows_have_the_header(result: Shown) -> None:
    rows = result.rows()
    assert all(list(row) == list(result.header) for row in rows)
    assert rows == json.loads(json.dumps(rows)), "plain values"


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_separated_values(result: Shown, delimiter: str) -> None:
    make = result.to_csv if delimiter == "," else result.to_tsv
    header, *rows = csv.reader(io.StringIO(make(), newline=""), delimiter=delimiter)
    assert header == list(result.header)
    expected = [
        ["" if cell is None else str(cell) for cell in row.values()] for row in result.rows()
    ]
    assert rows == expected
    _, *quoted_rows = csv.reader(io.StringIO(make("quoted"), newline=""), delimiter=delimiter)
    number = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", re.IGNORECASE)
    for row, plain_cells in zip(quoted_rows, expected, strict=True):
        for cell, plain_cell in zip(row, plain_cells, strict=True):
            assert number.fullmatch(cell) or not cell.startswith(("=", "+", "-", "@"))
            assert cell.removeprefix("'") == plain_cell.removeprefix("'")


def test_json(name: str, result: Shown) -> None:
    assert [json.loads(line) for line in result.to_jsonl().splitlines()] == result.rows()
    document = json.loads(result.to_json())
    assert json.loads(json.dumps(result.to_dict()))
    if name in WIDE:
        assert [run["run"] for run in document["runs"]] == SYSTEM_NAMES[: len(document["runs"])]
    elif name == "nuggets":
        assert list(document["means"]) == SYSTEM_NAMES
    else:
        assert document == json.loads(json.dumps(result.to_dict()))


def test_frames(name: str, result: Shown) -> None:
    table, pandas, polars = result.to_arrow(), result.to_pandas(), result.to_polars()
    assert list(table.column_names) == list(pandas.columns) == list(polars.columns)
    assert len(table) == len(pandas) == len(polars)
    assert polars.rows() == [tuple(row.values()) for row in table.to_pylist()]
    if name in WIDE:
        assert table.column_names[:2] == ["run", "query_id"]
        return
    assert table.column_names == list(result.header)
    for column in result.header:
        values = [row[column] for row in result.rows()]
        has_texts = any(isinstance(cell, str) for cell in values)  # among numbers, all are texts
        expected = [None if cell is None or not has_texts else str(cell) for cell in values]
        assert table[column].to_pylist() == (expected if has_texts else values)


class ParsedPage(HTMLParser):
    """A page's tags, and the texts of its cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.is_in_cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.is_in_cell = True
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self.is_in_cell = self.is_in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.is_in_cell:
            self.cells[-1] += data


def list_cells(result: Shown, *, with_superscripts: bool = True) -> list[str]:
    """Return the texts of all cells as they are shown, with superscripts or without."""
    return [
        escape_unprintable(str(cell))
        + (table.superscripts.get((r, c), "") if with_superscripts else "")
        for table in result.tables()
        for r, row in enumerate([table.header, *table.rows], -1)
        for c, cell in enumerate(row)
    ]


FRAGMENT_TAGS = {"p", "table", "thead", "tbody", "tr", "th", "td", "strong", "u", "sup", "div"}
PAGE_TAGS = FRAGMENT_TAGS | {"html", "head", "meta", "title", "style", "body"}


def test_html(result: Shown) -> None:
    expected = list_cells(result)
    for page, tags in (
        (result.to_html(), FRAGMENT_TAGS),
        (result.to_html(full_page=True), PAGE_TAGS),
    ):
        parsed_page = ParsedPage(page)
        assert parsed_page.cells == expected
        assert parsed_page.tags <= tags
    assert result.to_html(full_page=True).startswith("<!DOCTYPE html>\n<html>")
    assert '<meta charset="utf-8">' in result.to_html(full_page=True)
    assert ParsedPage(result._repr_html_()).cells == expected


def test_markdown(result: Shown) -> None:
    tokens = MarkdownIt("commonmark").enable(["table"]).parse(result.to_markdown())
    opening_tags = [token.type for token in tokens if token.nesting == 1]
    assert opening_tags.count("table_open") == len(result.tables())
    assert "html_block" not in {token.type for token in tokens}
    cells = [
        "".join(
            inline_token.content
            for inline_token in next_token.children or ()
            if inline_token.type != "html_inline"
        )
        for token, next_token in pairwise(tokens)
        if token.type in ("td_open", "th_open")
    ]
    assert [cell.split() for cell in cells] == [cell.split() for cell in list_cells(result)]


def test_latex_and_text(result: Shown) -> None:
    latex, tables = result.to_latex(), result.tables()
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == len(tables)
    n_rows = sum(1 + len(table.rows) for table in tables)
    assert sum(line.endswith(" \\\\") for line in latex.splitlines()) == n_rows
    text = result.to_text()
    assert text == str(result)
    assert all(line.isprintable() for line in text.split("\n"))
    for cell in (
        list_cells(result, with_superscripts=False)
        if not isinstance(result, cranfield.Check)
        else ()
    ):
        assert cell.strip() in text


@pytest.mark.parametrize(
    ("name", "table_options"),
    [
        ("scores", {"per_query": True}),
        ("systems", {"per_query": True}),
        ("nuggets", {"per_query": True}),
        ("agreement", {"per_query": True}),
        ("comparison", {"means": True, "changes": 2}),
        ("explanation", {"limit": 1}),
        ("explanation of a mean", {"limit": 1}),
        ("difference", {"limit": 1}),
    ],
)
def test_what_tables_take_each_form_takes(result: Shown, table_options: dict[str, Any]) -> None:
    n_rows = sum(len(table.rows) for table in result.tables(**table_options))
    assert n_rows != sum(len(table.rows) for table in result.tables())
    for page in (result.to_html(**table_options), result.to_html(full_page=True, **table_options)):
        assert page.count("<tr>") == n_rows + page.count("<thead>")
    assert result.to_text(**table_options) != result.to_text()
    assert result.to_markdown(**table_options) != result.to_markdown()
    assert result.to_latex(**table_options) != result.to_latex()
    if "per_query" in table_options:
        assert len(result.rows(**table_options)) > len(result.rows())
        assert result.to_csv(**table_options).startswith(",".join(result.header))


# ---- what one run's scores can do, several runs' can --------------------------------------------


def test_several_runs_give_what_each_gives() -> None:
    systems = evaluate(QRELS, RUNS, "AP P@2")
    for run, scores in systems.items():
        assert systems.means()[run] == scores.means()
        assert systems.per_query("AP")[run] == scores.per_query("AP")
        assert systems.to_dict()[run] == scores.to_dict()
        assert [row for row in systems.rows(per_query=True) if row["run"] == run] == scores.rows(
            per_query=True
        )


# ---- -o FILE -----------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with judgments, runs and nuggets, in which commands run."""
    monkeypatch.chdir(tmp_path)
    for path, content in {
        **{f"r{i}.json": RUNS[name] for i, name in enumerate(SYSTEM_NAMES)},
        "qrels.json": QRELS,
        "others.json": OTHER_QRELS,
    }.items():
        (tmp_path / path).write_text(json.dumps(content))
    rows = [
        dict(zip(("query", "answer", "nugget", "importance", "assignment"), row, strict=True))
        for row in NUGGETS
    ]
    (tmp_path / "nuggets.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


COMMANDS = {
    "evaluate": "qrels.json r0.json r1.json",
    "compare": "qrels.json r0.json r1.json -m AP --flips 20",
    "gate": "qrels.json r0.json r1.json --baseline r0.json --margin 0.5 -m AP --flips 20",
    "explain": "qrels.json r0.json -m AP",
    "correlate": "qrels.json r0.json r1.json r2.json -m AP -m P@2 --flips 20 --resamples 10",
    "trend": "qrels.json r0.json r1.json r2.json -m AP --flips 20",
    "reproduce": "qrels.json r0.json r1.json r1.json r2.json -m AP",
    "agreement": "qrels.json others.json",
    "power": "--effect 0.3",
    "nuggets": "nuggets.jsonl",
    "check": "qrels.json r0.json",
    "describe": "r0.json r1.json -m Filled@2",
}


def invoke(command: str, *options: str) -> Result:
    return CliRunner().invoke(cli, [command, *COMMANDS[command].split(), *options])


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", FORMS)
def test_a_file_has_what_is_printed(command: str, form: str, files: Path) -> None:
    invocation = invoke(command, "--format", form)
    output_options = [f"-o{files}/made{suffix}" for suffix in FORMS.values()]
    invocation_with_files = invoke(command, "--format", form, *output_options)
    assert (invocation_with_files.exit_code, invocation_with_files.stdout) == (
        invocation.exit_code,
        invocation.stdout,
    )
    page = (files / f"made{FORMS[form]}").read_bytes().decode()
    assert page == invocation.stdout, "and no file has another form than its suffix says"
    assert len({path.read_bytes() for path in files.glob("made.*")}) == len(FORMS)


def test_a_file_is_compressed_as_its_name_says(files: Path) -> None:
    invocation = invoke("evaluate", "--format", "csv", "-o", "made.csv.gz")
    assert gzip.decompress((files / "made.csv.gz").read_bytes()).decode() == invocation.stdout


@pytest.mark.parametrize("path", ["made.xlsx", "made", "-", "made.csv.doc"])
def test_an_unknown_suffix_is_refused_before_anything_is_read(path: str, files: Path) -> None:
    invocation = CliRunner().invoke(cli, ["evaluate", "no.qrels", "no.run", "-o", path])
    assert invocation.exit_code == 2
    assert ".txt, .md, .tex, .html, .csv, .tsv, .json, .jsonl" in invocation.stderr
    assert not list(files.glob("made*"))


def test_no_file_that_is_read_is_written(files: Path) -> None:
    bytes_before = (files / "r1.json").read_bytes()
    invocation = invoke("compare", "-o", f"{files}/r1.json")
    assert invocation.exit_code == 2
    assert "is read by this command" in invocation.stderr
    assert (files / "r1.json").read_bytes() == bytes_before


def test_a_folder_that_is_not_there_is_refused_before_anything_is_read(files: Path) -> None:
    invocation = CliRunner().invoke(
        cli, ["evaluate", "no.qrels", "no.run", "-o", "nowhere/made.csv"]
    )
    assert invocation.exit_code == 2
    assert "there is no folder nowhere" in invocation.stderr


def test_one_file_that_cannot_be_written_keeps_nothing_back(files: Path) -> None:
    (files / "made.csv").mkdir()
    invocation = invoke("evaluate", "-o", "made.csv", "-o", "made.md", "--format", "csv")
    assert invocation.exit_code == 2
    assert "made.csv: cannot be written" in invocation.stderr
    assert invocation.stdout.startswith("run,measure,query_id,value\n")
    assert (files / "made.md").read_text().startswith("| run ")


def test_formulas_are_quoted_in_a_file(files: Path) -> None:
    invocation = invoke(
        "evaluate", "-q", "--format", "table", "--formulas", "quoted", "-o", "made.csv"
    )
    assert invocation.exit_code == 0, invocation.stderr
    assert '"\'=1+1"' in (files / "made.csv").read_text()
