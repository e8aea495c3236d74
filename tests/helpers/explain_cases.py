"""Collections whose queries are explained, and what an explanation is compared with."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from cranfield import explain
from cranfield.explanation.query import Explanation
from helpers import oracle
from helpers.explained import Judgments, Scores
from helpers.profile import seeds

OPTIONS: list[dict[str, Any]] = [
    {},
    {"order": "rank"},
    {"order": "given"},
    {"scores": "single"},
    {"ties": "ascending"},
    {"ties": "best"},
    {"ties": "worst"},
    {"ties": "expected"},
    {"depth": 4},
    {"judged_only": True},
    {"judged_only": True, "depth": 7, "scores": "single", "ties": "ascending"},
]


SEEDS = seeds(5)


def explain_query(*arguments: Any, **options: Any) -> Explanation:
    explanation = explain(*arguments, **options)
    assert isinstance(explanation, Explanation)
    return explanation


@cache
def make_collection(seed: int) -> tuple[oracle.Qrels, oracle.Run]:
    return oracle.make_collection(seed, n_queries=6)


def query_cases(seed: int) -> Iterator[tuple[str, Judgments, Scores]]:
    qrels, run = make_collection(seed)
    for query, judgments in qrels.items():
        yield query, judgments, run.get(query, {})


IN_MEMORY = [
    options for options in OPTIONS if options.get("order") != "rank"
]  # dicts have no rank column
