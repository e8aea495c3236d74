"""Saved scores, as ir_measures writes them on its command line."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.saved import QRELS, RUN, read_score_dicts

from cranfield import evaluate


@pytest.mark.parametrize("form", ["tsv", "jsonl"])
def test_ir_measures_command_line(form: str, tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    qrels.write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, docs in QRELS.items() for d, g in docs.items())
    )
    run.write_text(
        "".join(f"{q} Q0 {d} 0 {s} t\n" for q, docs in RUN.items() for d, s in docs.items())
    )
    command = [
        sys.executable,
        "-m",
        "ir_measures",
        str(qrels),
        str(run),
        "AP P@2",
        "-q",
        "-o",
        form,
    ]
    (tmp_path / "out").write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    saved_scores = read_score_dicts(tmp_path / "out")
    own_scores = evaluate(QRELS, RUN, "AP P@2")
    assert set(saved_scores) == {(None, "AP"), (None, "P@2")}
    for (_, measure), values in saved_scores.items():
        assert values == {
            q: pytest.approx(v, abs=5e-5) for q, v in own_scores.per_query(measure).items()
        }
