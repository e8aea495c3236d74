"""Gates of made scores, and of the demonstration."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from cranfield import Gate, gate
from cranfield.cli import cli
from helpers.folders import DEMO_QRELS, DEMO_RUNS
from helpers.vectors import CASE_A

A, B, C = CASE_A.values()


def make_scores(hundredths: Sequence[float]) -> dict[str, float]:
    return {f"q{i:03}": score / 100 for i, score in enumerate(hundredths)}


def gate_scores(left: Sequence[float], right: Sequence[float], margin: Any, **options: Any) -> Gate:
    scores = {"left": make_scores(left), "right": make_scores(right)}
    return gate(scores, baseline="right", margin=margin, **options)


def gate_differences(hundredths: Sequence[float], margin: Any, **options: Any) -> Gate:
    return gate_scores(hundredths, [0] * len(hundredths), margin, **options)


QRELS = str(DEMO_QRELS)


BM25, DENSE, FUSION, TFIDF = (
    str(path)
    for name in ("bm25", "dense", "fusion", "tfidf")
    for path in DEMO_RUNS
    if path.stem == name
)


def number_queries(scores: Any) -> dict[str, float]:
    return {f"q{i:03}": float(score) for i, score in enumerate(scores)}


def run_gate(*arguments: str) -> tuple[int, str, str]:
    invocation = CliRunner().invoke(cli, ["gate", *arguments])
    return invocation.exit_code, invocation.stdout, invocation.stderr


def save_scores(folder: Path, name: str, scores: Sequence[float], measure: str = "nDCG@10") -> str:
    path = folder / f"{name}.csv"
    rows = [f"q{i},{score}" for i, score in enumerate(scores)]
    path.write_text("\n".join([f"query_id,{measure}", *rows]) + "\n")
    return str(path)
