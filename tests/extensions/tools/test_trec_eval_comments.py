"""What trec_eval takes for a comment."""

from pathlib import Path

from helpers.commands import invoke


def test_trec_eval_takes_every_line_that_begins_with_a_hash_for_a_comment(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("#rain 0 d2 1\nsun 0 d3 1\n")
    (tmp_path / "a.run").write_text("#rain Q0 d9 1 3.0 t\nsun Q0 d3 1 2.0 t\n")
    outcome = invoke("trec-eval", "-m", "map", str(tmp_path / "a.qrels"), str(tmp_path / "a.run"))
    assert outcome.stdout.split() == ["map", "all", "1.0000"]
