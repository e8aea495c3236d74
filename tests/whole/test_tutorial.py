"""The tutorial: its notebook runs, and what its prose says is so."""

import ast
import json
import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from helpers.terminal import run_on_terminal
from make_docs import BLOCK, NOTEBOOKS, ROOT
from transcripts import cut_output, remove_colours

from cranfield import demo, evaluate, read_qrels, read_run

DOCS = ROOT / "docs" / "start"
PAGE = "\n".join(
    (DOCS / f"{name}.md").read_text("utf-8") for name in ("tutorial", "tutorial-two-systems")
)
COLUMNS = 80  # what IPython gives a command to write on


def run_cell(source: str, names: dict[str, Any]) -> list[tuple[str, str]]:
    """Run a cell as a notebook does; return its outputs, (kind of output, text) each."""
    if source.startswith("!"):
        program, *arguments = shlex.split(source[1:])
        assert program == "cranfield"
        status, terminal_text = run_on_terminal(*arguments, columns=COLUMNS, cwd=Path.cwd())
        assert status == 0, terminal_text
        return [("stream", remove_colours(terminal_text))]
    tree, value, output_stream = ast.parse(source), None, StringIO()
    last_expression = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(output_stream):
        exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102 - the notebook's own
        if isinstance(last_expression, ast.Expr):
            value = eval(compile(ast.Expression(last_expression.value), "<cell>", "eval"), names)  # noqa: S307
    outputs = [("stream", output_stream.getvalue())] if output_stream.getvalue() else []
    if value is not None:
        assert len(repr(value)) < COLUMNS, "IPython would break this line"
        outputs.append(("execute_result", repr(value)))
    return outputs


def read_notebook(name: str) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads((DOCS / f"{name}.ipynb").read_text("utf-8"))
    return notebook


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_notebook_shows_what_its_cells_do(
    name: str, demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo_folder)
    names: dict[str, Any] = {}
    for cell in read_notebook(name)["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        stored_outputs = [
            (
                output["output_type"],
                "".join(output.get("text") or output["data"]["text/plain"]).rstrip(),
            )
            for output in cell["outputs"]
        ]
        cell_outputs = [(kind, text.rstrip()) for kind, text in run_cell(source, names)]
        if source.startswith("!") and stored_outputs:  # a page leaves lines out, marked ...
            cell_outputs = [
                (kind, cut_output(text, stored_outputs[0][1])) for kind, text in cell_outputs
            ]
        assert cell_outputs == stored_outputs, source


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_notebook_has_the_form_of_notebooks(name: str) -> None:
    notebook = read_notebook(name)
    code_cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    identifiers = [cell["id"] for cell in notebook["cells"]]
    assert len(set(identifiers)) == len(identifiers)
    assert all(re.fullmatch(r"[\w-]{1,64}", identifier, re.ASCII) for identifier in identifiers)
    assert [cell["execution_count"] for cell in code_cells] == list(range(1, len(code_cells) + 1))
    for cell in notebook["cells"]:
        keys = {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            keys |= {"execution_count", "outputs"}
        assert cell.keys() == keys
    for cell in code_cells:
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                assert output.keys() == {"output_type", "name", "text"}
            else:
                assert output.keys() == {"output_type", "data", "metadata", "execution_count"}
                assert output["execution_count"] == cell["execution_count"]


@pytest.mark.parametrize("name", ["tutorial", "tutorial-two-systems"])
def test_the_notebook_has_the_text_of_the_page(name: str) -> None:
    page = (DOCS / f"{name}.md").read_text("utf-8")
    prose = "".join(
        "".join(cell["source"])
        for cell in read_notebook(name)["cells"]
        if cell["cell_type"] == "markdown"
    )

    def drop_spaces(text: str) -> str:
        return "".join(text.split())

    assert drop_spaces(prose) == drop_spaces(BLOCK.sub("", page))
    assert "```" not in prose  # a block that would not run
    assert "$" not in prose  # which begins a formula in a notebook
    for target in re.findall(r"\]\(([^)#]+)", prose):
        assert (DOCS / target).exists(), target


def test_the_sums_in_the_prose_are_right() -> None:
    text = " ".join(BLOCK.sub("", PAGE).split())
    terms = r"[\d(](?:[\d.()+*/ -]*[\d)])?"
    sums = re.findall(rf"(?<![@\w.]){terms}(?: = {terms})+(?: %)?", text)
    assert len(sums) >= 10
    for equation in sums:
        unit = 100 if equation.endswith("%") else 1
        *parts, right_side = equation.removesuffix("%").split("=")
        right_text = right_side.strip()
        tolerance = 10.0 ** -len(right_text.partition(".")[2]) * 0.51
        for term in parts:
            assert eval(term) * unit == pytest.approx(float(right_text), abs=tolerance), equation  # noqa: S307


def test_what_the_prose_says_of_the_collection_is_so() -> None:
    qrels = read_qrels(demo.QRELS).to_dict()
    bm25, dense = (read_run(demo.HERE / f"{name}.run").to_dict() for name in ("bm25", "dense"))
    rows = re.findall(r"^\| (\d+) \| (\w+) \| (\d) \| (yes)? ?\|$", PAGE, re.M)
    assert rows == [
        (str(rank), document, str(grade), "yes" if grade else "")
        for rank, document in enumerate(bm25["q22"], 1)
        for grade in [qrels["q22"][document]]
    ]
    assert f"ranking = [{', '.join(grade for _, _, grade, _ in rows)}]" in PAGE
    mail_grades = [qrels["q07"][document] for document in bm25["q07"]]
    assert f"mail = {mail_grades}" in PAGE
    assert next(iter(bm25["q07"])) == "smtplib"
    assert f"judged = {sorted(qrels['q07'].values(), reverse=True)}" in PAGE
    assert f'"{demo.queries()["q07"]}"' in " ".join(PAGE.split())
    has_few_relevant = [
        sum(grade > 0 for grade in grades.values()) <= 5 for grades in qrels.values()
    ]
    assert sum(has_few_relevant) > len(has_few_relevant) / 2
    ndcg = evaluate(demo.QRELS, demo.HERE / "bm25.run", "nDCG@10").per_query("nDCG@10")
    assert sum(value == 0 for value in ndcg.values()) == 9
    assert next(iter(dense["q17"])) == "functools"
    assert list(dense["q22"]).index("shutil") + 1 == 6
    top_docs = [list(dense[query])[:20] for query in dense]
    assert all(len(docs) == 20 for docs in top_docs)
