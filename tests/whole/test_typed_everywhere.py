"""What is typed by mistake, to commands of the core and of extensions."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.typed import BM25, DENSE, QRELS, refusal_text

from cranfield.cli import cli


@pytest.fixture(autouse=True)
def _run_in_demo_folder(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo_folder)


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (("explain", QRELS, BM25, "-q", "q20"), "--query"),
        (("explain", QRELS, BM25, "--rows", "5"), "--limit"),
        (("figure", "precision-recall", QRELS, BM25, "-q", "q22", "-o", "a.svg"), "--query"),
    ],
    ids=str,
)
def test_an_option_that_is_spelt_otherwise(arguments: tuple[str, ...], suggestion: str) -> None:
    message = refusal_text(*arguments)
    assert "No such option" in message
    assert f"Did you mean '{suggestion}'?" in message


def test_saved_scores_without_saved() -> None:
    for name, path in (("a.csv", BM25), ("b.csv", DENSE)):
        invocation = CliRunner().invoke(cli, ["evaluate", QRELS, path, "-q", "--format", "csv"])
        Path(name).write_text(invocation.stdout)
    Path("c.txt").write_text("map\tq1\t0.5\nmap\tq2\t0.25\n")  # as trec_eval -q writes it
    try:
        assert "--saved" in refusal_text("compare", "a.csv", "b.csv")
        assert "--saved" in refusal_text("correlate", "a.csv", "b.csv")
        assert "--saved" in refusal_text("compare", "c.txt", "c.txt")
        saved_arguments = ("a.csv", "b.csv", "--margin", "0.1", "--baseline", "a.csv")
        assert "--saved" in refusal_text("gate", *saved_arguments)
        assert CliRunner().invoke(cli, ["compare", "--saved", "a.csv", "b.csv"]).exit_code == 0
    finally:
        for name in ("a.csv", "b.csv", "c.txt"):
            Path(name).unlink()


def test_lines_are_left_out_by_commands_that_can(tmp_path: Path) -> None:
    path = tmp_path / "short.run"
    path.write_text("q01 Q0 csv 1 2 t\nq02 Q0 csv\nq03 Q0 csv 1 2 t\n")
    assert "(--errors skip) leaves" in refusal_text("evaluate", QRELS, str(path))
    assert "(cranfield evaluate --errors skip) leaves" in refusal_text(
        "trec-eval", QRELS, str(path)
    )
