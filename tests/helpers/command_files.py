"""Files for commands, and what all commands do with formulas in cells."""

import csv
import io
from pathlib import Path

import pytest
from click.testing import CliRunner

from cranfield.cli import cli


def comparison_arguments(folder: Path) -> list[str]:
    """Write judgments and two runs into a folder, and return the arguments that compare them."""
    qrels = [f"q{i} 0 d 1" for i in range(8)]
    old = [f"q{i} Q0 {'x' if i < 6 else 'd'} 1 1 t" for i in range(8)]
    new = [f"q{i} Q0 d 1 1 t" for i in range(7)]
    for name, lines in (("qrels", qrels), ("old.run", old), ("new.run", new)):
        folder.joinpath(name).write_text("\n".join(lines) + "\n")
    return ["compare", *(str(folder / name) for name in ("qrels", "old.run", "new.run"))]


def write_score_files(folder: Path) -> list[str]:
    """Write the scores of two systems under two measures, and one file with both systems."""
    scores = {"old": [0.1, 0.4, 0.3, 0.5, 0.2, 0.6], "new": [0.2, 0.5, 0.6, 0.5, 0.4, 0.7]}
    for name, values in scores.items():
        lines = [
            f"{m} q{i} {v / n}" for m, n in (("map", 1), ("P_10", 2)) for i, v in enumerate(values)
        ]
        folder.joinpath(f"{name}.txt").write_text("\n".join(lines) + "\n")
    rows = [f"q{i},{scores['old'][i]},{scores['new'][i]}" for i in range(6)]
    folder.joinpath("wide.csv").write_text("\n".join(["query_id,old,new", *rows]) + "\n")
    return [str(folder / name) for name in ("old.txt", "new.txt", "wide.csv")]


WITHOUT_EFFECT: dict[str, list[str]] = {
    "--qrels-format": ["trec"],
    "--run-format": ["trec"],
    "--qrels-columns": ["query_id=1"],
    "--run-columns": ["query_id=1"],
    "--errors": ["skip"],
    "--depth": ["3"],
    "--judged-only": [],
    "--order": ["rank"],
    "--scores": ["single"],
    "--ties": ["best"],
    "--rel": ["2"],
}


_QRELS = "=1+1 0 a 1\nq2 0 =b 1\n"


_RUN = "=1+1 Q0 a 1 2.5 t\nq2 Q0 c 1 2 t\nq2 Q0 =b 2 1 t\n"


def check_formulas(arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Assert that cells of a command's rows are quoted where they begin as formulas do."""
    monkeypatch.chdir(tmp_path)
    for name in ("qrels", "other.qrels", "@one"):
        Path(name).write_text(_QRELS)
    for name in ("@one.run", "three.run"):
        Path(name).write_text(_RUN)
    Path("two.run").write_text(_RUN.replace("2.5", "1.5").replace("c 1 2 ", "c 1 0.5 "))
    Path("nuggets.csv").write_text(
        "query,answer,nugget,importance,assignment\n=1+1,@one,n,vital,support\n"
    )

    def rows(*options: str) -> list[list[str]]:
        invocation = CliRunner().invoke(cli, [*arguments.split(), "--format", "csv", *options])
        assert invocation.exit_code in (0, 1, 3), invocation.output
        return list(csv.reader(io.StringIO(invocation.stdout, newline="")))

    plain = rows()
    assert any(cell in ("=1+1", "=b", "@one") for row in plain for cell in row)
    assert rows("--formulas", "plain") == plain
    expected = [
        [f"'{cell}" if cell[:1] in "=@" and cell else cell for cell in row] for row in plain
    ]
    assert rows("--formulas", "quoted") == expected
    for form in ["markdown"] if arguments[:7] != "nuggets" else ["table"]:
        invocation = CliRunner().invoke(
            cli, [*arguments.split(), "--format", form, "--formulas", "quoted"]
        )
        assert invocation.exit_code == 2
        assert f"--formulas is for --format csv and tsv: this prints {form}" in invocation.stderr
