"""What tests of `explain` share: calls of it, and a slow loop that ranks documents."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cranfield import explain
from cranfield.explanation.difference import Difference
from cranfield.explanation.query import Explanation
from helpers.commands import invoke

Write = Callable[[str, str | bytes], str]
Judgments = Mapping[str, int]
Scores = Mapping[str, float]


def run_explain(*arguments: str) -> Any:
    return invoke("explain", *arguments)


def explain_pair(*arguments: Any, **options: Any) -> Difference:
    difference = explain(*arguments, **options)
    assert isinstance(difference, Difference)
    return difference


def last_line(printed_text: str) -> str:
    return printed_text.rstrip("\n").split("\n")[-1]


def same_bits(left: float | str, right: float | str) -> bool:
    """Tell whether two numbers are the same to the bit."""
    return np.float64(left).tobytes() == np.float64(right).tobytes()


def join_notes(explanation: Explanation | Difference, n_rows: int = 20) -> str:
    """Return the notes of an explanation's tables, in one line."""
    return " ".join(note for table in explanation.tables(n_rows) for note in table.notes)


def to_single(score: float) -> float:
    return float(np.float32(score))


def rank_docs(
    run: Scores,
    judgments: Judgments,
    *,
    order: str = "score",
    scores: str = "double",
    ties: str = "document",
    depth: int | None = None,
    judged_only: bool = False,
) -> list[str]:
    """Return the ids of a run's documents, best first, by a slow loop."""
    by_id = sorted(run, key=str.encode, reverse=ties != "ascending")
    single = scores == "single"
    score_of_doc = {doc: to_single(score) if single else score for doc, score in run.items()}
    lowest = min([*judgments.values(), 0]) - 1
    if ties in ("best", "worst"):
        direction = -1 if ties == "best" else 1
        by_id.sort(key=lambda doc: direction * judgments.get(doc, lowest))
    docs = list(run) if order == "given" else sorted(by_id, key=lambda doc: -score_of_doc[doc])
    docs = docs[:depth]
    return [doc for doc in docs if not judged_only or judgments.get(doc, -1) >= 0]
