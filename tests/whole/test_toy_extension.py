"""The extension that the page on the architecture shows: its files are written, and it works."""

import re
import subprocess
import sys
from pathlib import Path

from helpers.folders import ROOT

PAGE = (ROOT / "docs/background/architecture.md").read_text("utf-8")
# {file: its code}, as the page has it.
FILES = dict(re.findall(r"^```python\n# (\S+)\n(.*?)^```", PAGE, re.S | re.M))
IMPORTS = {
    "options.py": """
from dataclasses import dataclass, replace
from typing import ClassVar

from cranfield.comparison.comparing import ComparingOptions
from cranfield.comparison.extra_columns import ExtraColumns
from cranfield.options import option
""",
    "halves_command.py": """
from cranfield import compare
from cranfield.cli import flags
from cranfield.cli.terminal import format_option, show
""",
}
# The package finds the extension in another folder; the table gets the lines of the page.
SCRIPT = """
import sys
from cranfield import extensions

folder, table, *typed = sys.argv[1:]
extensions.__path__.append(folder)
exec(table, vars(extensions))

from cranfield import compare
from cranfield.cli import cli

old = {f"q{i}": i / 10 for i in range(10)}
new = {query: score + (0.3 if i % 2 else 0.1) for i, (query, score) in enumerate(old.items())}
pair = compare({"old": old, "new": new}, halves=True)["score"]["new"]
print(round(pair.difference, 12), round(pair.half_difference, 12), list(pair.to_dict())[-1])
print(compare({"old": old, "new": new})["score"]["new"].half_difference)
print("halves" in compare.__doc__.partition("Halves:")[2])
cli(typed)
"""


def run_toy(folder: Path, *typed: str) -> str:
    """Return the output of a process that has the toy extension."""
    for name, code in FILES.items():
        if name != "extensions/__init__.py":
            path = folder / name.removeprefix("extensions/")
            path.parent.mkdir(parents=True, exist_ok=True)
            (path.parent / "__init__.py").write_text("")
            path.write_text(f"{IMPORTS[path.name]}\n{code}")
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(folder)]
    table = FILES["extensions/__init__.py"]
    process = subprocess.run([*command, table, *typed], capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_an_extension_adds_an_option_and_a_column(tmp_path: Path) -> None:
    """Every query gains 0.1 or 0.3, in turn: 0.2 on average, 0.1 on every second one."""
    lines = run_toy(tmp_path, "compare", "--help").splitlines()
    assert lines[0].split()[:2] == ["0.2", "0.1"]
    assert lines[1:3] == ["None", "True"]
    assert lines[lines.index("Halves:") + 1].split()[0] == "--halves"


def test_an_extension_adds_a_command(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 a 1\n")
    for name, first_doc in (("old", "b"), ("new", "a")):
        rows = [f"q{i} Q0 {first_doc} 1 1.0 t\n" for i in (1, 2)]
        (tmp_path / f"{name}.run").write_text("".join(rows))
    files = [str(tmp_path / name) for name in ("qrels.txt", "old.run", "new.run")]
    header, row = run_toy(tmp_path, "halves", *files, "--format", "csv").splitlines()[3:]
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert (cells["difference"], cells["half_difference"]) == ("1.0", "1.0")


def test_the_help_lists_the_command_of_an_extension(tmp_path: Path) -> None:
    assert "halves" in run_toy(tmp_path, "--help")
