"""Messages on a command line that is almost right: the option, the file or the name meant."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.typed import BM25, DENSE, QRELS, refusal_text

from cranfield import compare, gate
from cranfield.cli import cli


@pytest.fixture(autouse=True)
def _demo_folder(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo_folder)


def test_an_option_that_the_command_does_not_have_is_not_meant() -> None:
    assert "--layout" not in refusal_text("evaluate", QRELS, BM25, "--columns", "a")
    assert "--query" not in refusal_text("gate", QRELS, BM25, "-q", "q20")


def test_a_query_named_twice() -> None:
    message = refusal_text("explain", QRELS, BM25, "q20", "--query", "q21")
    assert "q20" in message
    assert "--query q21" in message
    assert "once" in message
    outcome = CliRunner().invoke(cli, ["explain", QRELS, BM25, DENSE, "--query", "q21"])
    assert outcome.exit_code == 0


@pytest.mark.parametrize(
    "runs", [(BM25, DENSE), (DENSE, BM25), (DENSE, "demo/tfidf.run", BM25), (BM25,)], ids=len
)
def test_the_baseline_of_a_gate_may_be_named(runs: tuple[str, ...]) -> None:
    """As in compare, and in Python: the same as its file."""
    gate = ["gate", QRELS, *runs, "--margin", "0.1", "--format", "csv", "--baseline"]
    outcomes = [CliRunner().invoke(cli, [*gate, baseline]) for baseline in ("bm25", BM25)]
    assert outcomes[0].exit_code == outcomes[1].exit_code != 2
    assert outcomes[0].stdout == outcomes[1].stdout


def test_a_baseline_that_is_nothing_is_told_what_there_is() -> None:
    gate = ("gate", QRELS, BM25, DENSE, "--margin", "0.1", "--baseline")
    assert "bm25, dense" in refusal_text(*gate, "bm52")
    message = refusal_text(*gate, "demo/nowhere.run")
    assert "no such file" in message
    assert "bm25, dense" in message


def test_a_wrong_line_of_judgments_is_no_hint_at_saved_scores(
    write: Callable[[str, str], str],
) -> None:
    wrong = write("wrong.txt", "q1 0 d1 1\nq1 0 d2 x\n")
    assert "--saved" not in refusal_text("compare", wrong, BM25, DENSE)


def test_columns_are_refused_by_the_option() -> None:
    for option in ("--run-columns", "--qrels-columns"):
        message = refusal_text("evaluate", QRELS, BM25, option, "foo=1")
        assert "--columns: 'foo' is not known" in message
        assert "query_id" in message


def test_convert_names_its_own_option(tmp_path: Path) -> None:
    message = refusal_text("convert", BM25, str(tmp_path / "q.bad"))
    assert "--to" in message
    assert "format=" not in message


def test_convert_does_not_write_onto_what_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("q1 Q0 d1 1 2.0 t\n")
    (tmp_path / "link.run").symlink_to(path)
    before = path.read_bytes()
    for target in (path, tmp_path / "." / "a.run", tmp_path / "link.run"):
        assert "another file" in refusal_text("convert", str(path), str(target), "--run")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("recall@", "there is no number behind @, as in recall@10"),
        ("iprec@", "there is no number behind @, as in iprec@0.1"),
        ("Rprec@", "Rprec takes no cutoff: leave out @"),
        ("nDCG@10@5", "two cutoffs: write nDCG@10, or nDCG@5"),
        (f"nDCG@{'9' * 30}", "there are no rankings so long"),
    ],
)
def test_a_cutoff_that_is_none_is_named(name: str, message: str) -> None:
    assert message in refusal_text("evaluate", QRELS, BM25, "-m", name)


@pytest.mark.parametrize("command", ["compare", "gate"])
def test_systems_are_compared_over_the_same_queries(command: str) -> None:
    assert "--missing drop" in refusal_text(command, QRELS, BM25, DENSE, "--queries", "both")
    verb = {"compare": compare, "gate": gate}[command]
    with pytest.raises(TypeError, match=r"takes no queries=\.\.\.: .* missing='drop'"):
        verb(QRELS, [BM25, DENSE], queries="both")  # type: ignore[operator]


def test_dropped_queries_are_said_once(tmp_path: Path) -> None:
    lines = Path(DENSE).read_text().splitlines(keepends=True)
    path = tmp_path / "part.run"
    path.write_text("".join(line for line in lines if not line.startswith("q03")))
    outcome = CliRunner().invoke(cli, ["compare", QRELS, BM25, str(path), "--missing", "drop"])
    assert outcome.stdout.count("left out") == 1
    assert "1 of 40 queries left out: not every system has a score." in outcome.stdout
    assert "queries=both" not in outcome.stdout


def test_a_gate_of_the_baseline_alone_warns() -> None:
    outcome = CliRunner().invoke(cli, ["gate", QRELS, BM25, "--baseline", BM25, "--margin", "0.1"])
    assert outcome.exit_code == 0
    assert "warning: the only run is the baseline itself" in outcome.stderr
    outcome = CliRunner().invoke(cli, ["gate", QRELS, DENSE, "--baseline", BM25, "--margin", "0.1"])
    assert outcome.stderr == ""


def test_what_is_typed_is_quoted_as_it_is() -> None:
    message = refusal_text("gate", QRELS, BM25, "--at-least", "P(rel=2)@5")
    assert "--at-least P(rel=2)@5:" in message
    assert "--at-least" in refusal_text(
        "gate", QRELS, BM25, "--baseline", BM25, "--margin", "1%", "--limit"
    )
    assert "--topics" in refusal_text("evaluate", QRELS, BM25, "--topics", QRELS)
    assert "is a measure" not in refusal_text("evaluate", QRELS, "--", "-q")


def test_a_command_that_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-q.txt").write_text("-q1 0 a 1\nq2 0 b 1\n")
    Path("-new.run").write_text("-q1 Q0 x 1 2 t\nq2 Q0 b 1 2 t\n")
    Path("old.run").write_text("-q1 Q0 a 1 2 t\nq2 Q0 b 1 2 t\n")
    command = ["gate", "--baseline", "old.run", "--margin", "0.1", "--", "-q.txt", "-new.run"]
    outcome = CliRunner().invoke(cli, command)
    why = " ".join(outcome.stdout.partition("Why: ")[2].split())
    assert why == "cranfield explain ./-q.txt old.run ./-new.run -m nDCG@10 --query=-q1"
    outcome = CliRunner().invoke(cli, shlex.split(why)[1:])
    assert outcome.exit_code == 0
    Path("old.run").rename("o\nld.run")
    command = ["gate", "--baseline", "o\nld.run", "--margin", "0.1", "--", "-q.txt", "-new.run"]
    outcome = CliRunner().invoke(cli, command)
    assert "Why: cranfield explain ... -m nDCG@10 --query=-q1, or explain(..." in outcome.stdout
