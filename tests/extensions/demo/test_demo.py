"""The demonstration: what the command prints and saves, and whether the collection is sound."""

import os
from pathlib import Path

import pytest
from helpers.commands import invoke, run_bytes, run_command
from transcripts import remove_colours, run_on_pty

import cranfield
from cranfield import OptionError, demo, evaluate


def test_the_demonstration_is_saved_by_a_file_url(tmp_path: Path) -> None:
    outcome = invoke("demo", "--save", (tmp_path / "demo folder").as_uri())
    assert outcome.exit_code == 0, outcome.stderr
    assert (tmp_path / "demo folder" / "qrels.txt").is_file()


def test_the_demonstration(tmp_path: Path) -> None:
    status, terminal_text = run_on_pty("demo")
    assert status == 0
    lines = remove_colours(terminal_text).splitlines()
    assert [line.split()[0] for line in lines[2:6]] == ["bm25", "tfidf", "dense", "fusion"]
    joined_text = " ".join(" ".join(lines).split())  # they are folded to the terminal's width
    assert "Seen: for 40 questions" in joined_text
    assert "Next: `cranfield demo --save demo`" in joined_text
    scores = evaluate(str(demo.QRELS), str(demo.RUNS[2]), "nDCG@10")
    assert f"(nDCG@10 {scores['nDCG@10']:.3f};" in joined_text
    outcome = run_command("demo", "--save", "demo", cwd=tmp_path)
    assert outcome.returncode == 0
    assert len(outcome.stdout.splitlines()) == 8
    assert (tmp_path / "demo" / "qrels.txt").read_bytes() == demo.QRELS.read_bytes()
    (tmp_path / "file").write_text("")
    assert run_command("demo", "--save", "file", cwd=tmp_path).returncode == 2
    (tmp_path / "half" / "bm25.run").mkdir(parents=True)
    refusal = run_command("demo", "--save", "half", cwd=tmp_path)
    place = os.path.join("half", "bm25.run")
    assert refusal.stderr == f"Error: {place}: cannot be written: it is a directory\n"
    refusal = run_command("demo", "--save", os.path.join("file", "folder"), cwd=tmp_path)
    assert refusal.stderr.startswith(f"Error: {os.path.join('file', 'folder')}: cannot read or")


def test_rows_of_an_unknown_system_are_refused() -> None:
    with pytest.raises(OptionError, match=r"bm52.*choose one of 'bm25', 'tfidf'"):
        demo.rows("bm52")


def test_the_demonstration_collection_is_sound() -> None:
    """Every query has a best answer; everything that is in a top 10 is judged."""
    qrels = cranfield.read_qrels(demo.QRELS)
    assert qrels.query_ids == sorted(demo.queries())
    assert set(qrels.grade.tolist()) == {0, 1, 2, 3}
    systems = evaluate(qrels, [str(path) for path in demo.RUNS], "Judged@10 nDCG@10 NumRel(rel=3)")
    assert list(systems) == ["bm25", "tfidf", "dense", "fusion"]
    for scores in systems.values():
        assert scores["Judged@10"] == 1
        assert scores.counts.without_relevant == 0
        assert min(scores.per_query("NumRel(rel=3)").values()) >= 1
    assert len({scores["nDCG@10"] for scores in systems.values()}) == 4


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
def test_other_encodings_than_utf8(encoding: str) -> None:
    outcome = run_bytes("demo", encoding=encoding)
    assert (outcome.returncode, outcome.stderr) == (0, b"")
