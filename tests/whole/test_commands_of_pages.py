"""Every command of every page and notebook can be typed; those of the demonstration run.

`test_pages_run.py` runs the commands of shell blocks, `test_docs.py` the transcripts,
`test_tutorial.py` the cells of notebooks; here are those in sentences and in other blocks, too.
"""

import contextlib
import itertools
import json
import re
import shlex
import shutil
from pathlib import Path

import click
import pytest
from helpers.commands import invoke
from helpers.folders import DOCS, ROOT

from cranfield.cli import cli

INLINE = re.compile(r"(?<!`)`cranfield\s+([a-z][^`]*)`(?!`)")
BLOCK_LINE = re.compile(r"^ *(?:\$ |!|- run: )?cranfield +([a-z].*)$", re.M)


def read_texts() -> dict[str, str]:
    """Return {page or notebook: its text}."""
    pages = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    text_of_name = {str(page.relative_to(ROOT)): page.read_text("utf-8") for page in pages}
    for notebook in sorted(DOCS.rglob("*.ipynb")):
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        sources = ("".join(cell["source"]) for cell in cells)
        text_of_name[str(notebook.relative_to(ROOT))] = "\n\n".join(sources)
    return text_of_name


def list_sentences(text: str) -> list[str]:
    """Return the commands in the sentences of a page, `cranfield` left out."""
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    return [" ".join(line.split()) for line in INLINE.findall(prose)]


def list_lines(text: str) -> list[str]:
    """Return the commands in the blocks and cells of a page, `cranfield` left out."""
    blocks = re.findall(r"^ *```.*?^ *```|^!cranfield .*?$", text, re.M | re.S)
    return [line for block in blocks for line in BLOCK_LINE.findall(block.replace("\\\n", " "))]


TEXTS = read_texts()
SENTENCES = {name: list_sentences(text) for name, text in TEXTS.items()}
LINES = {name: [*SENTENCES[name], *list_lines(text)] for name, text in TEXTS.items()}


def split_line(line: str) -> list[str]:
    """Return the words of a command, up to a pipe or a redirection, without `...`."""
    words = shlex.split(line, comments=True)
    end = next((i for i, word in enumerate(words) if re.match(r"[|;>]|&&|2>", word)), len(words))
    return [word for word in words[:end] if word != "..."]


def check_line(line: str) -> None:
    """Have click read a command without running it; an argument may be missing."""
    name, *words = split_line(line)
    if name in ("help", "version"):
        assert invoke(name, *words).exit_code == 0, line
        return
    context = click.Context(cli, info_name="cranfield")
    command = cli.get_command(context, name)
    if isinstance(command, click.Group) and words and not words[0].startswith("-"):
        kind, *words = words
        if kind.isupper():
            return  # a placeholder
        command = command.get_command(context, kind)
    assert command is not None, f"{line}: there is no such command"
    with contextlib.suppress(click.MissingParameter, click.exceptions.Exit):
        try:
            command.make_context(name, [*words], parent=context)
        except click.BadOptionUsage:  # a sentence may name an option without a value
            if not words[-1].startswith("-"):
                raise


@pytest.mark.parametrize("name", [name for name, lines in LINES.items() if lines])
def test_every_command_of_a_page_can_be_typed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # without files: nothing is read
    for line in LINES[name]:
        try:
            check_line(line)
        except (click.ClickException, ValueError) as error:
            pytest.fail(f"{name}: cranfield {line}\n{error}")


def is_runnable(line: str) -> bool:
    """Tell whether a command of a sentence can be run on the demonstration alone."""
    words = shlex.split(line)
    outputs = {name for option, name in itertools.pairwise(words) if option in ("-o", "--report")}
    paths = {word for word in words if re.fullmatch(r"[\w/*.-]+\.[a-z]+", word)} - outputs
    has_placeholder = re.search(r"\.\.\.|\b(QRELS|RUN|FILE|DIR|KIND|QUERY|OUT)\b", line)
    are_files_there = all(path.startswith("demo/") for path in paths)
    is_without_files = words[0] in ("power", "demo") or words[:2] == ["figure", "rank-weights"]
    is_complete = bool(paths) or (is_without_files and len(words) > 2)
    return not has_placeholder and are_files_there and is_complete


RUNNABLE = sorted({line for lines in SENTENCES.values() for line in lines if is_runnable(line)})


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=[pytest.mark.more] * bool(re.search("figure|report", line)))
        for line in RUNNABLE
    ],
)
def test_every_command_in_a_sentence_runs_on_the_demonstration(
    line: str, demo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(demo_folder / "demo", tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    words = [
        path
        for word in shlex.split(line)
        for path in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
    ]
    invocation = invoke(*words)
    assert invocation.exit_code == 0, f"{line}\n{invocation.output}"


def test_a_command_that_is_not_there_is_found() -> None:
    check_line("figure rank-weights -m nDCG -o weights.svg")
    check_line("evaluate ... -q --format csv | head")
    with pytest.raises(AssertionError):
        check_line("figure weights -m nDCG -o weights.svg")
    for line in ("evaluate a b --no-such", "evaluate a b --ties never", "compare a b --seed x"):
        with pytest.raises((click.ClickException, ValueError)):
            check_line(line)
    assert sum(map(len, LINES.values())) >= 300
