"""Generated groups of grades and scores, for comparisons with libraries that take such groups."""

import math
import random
import warnings
from typing import Any

from cranfield import evaluate

Groups = list[list[tuple[int, float]]]  # of each query, (grade, score) of each document


def make_groups(seed: int, *, grades: tuple[int, ...] = (0, 0, 1, 2, 3), ties: bool) -> Groups:
    """Return some groups; the first is empty of relevant documents, the second has only these."""
    chance = random.Random(seed)
    choices: list[tuple[int, ...]] = [(0,), tuple(g for g in grades if g > 0), *[grades] * 4]
    groups = []
    for group_grades in choices:
        n_docs = chance.choice([2, 3, 5, 12])
        levels = [x / 8 for x in range(1, 5)] if ties else [x / 64 for x in range(1, 64)]
        scores = [chance.choice(levels) for _ in range(n_docs)] if ties else []
        scores = scores or chance.sample(levels, n_docs)
        groups.append([(chance.choice(group_grades), score) for score in scores])
    return groups[:1] * chance.randint(0, 1) + groups[1:2] * chance.randint(0, 1) + groups[2:]


def split_sides(groups: Groups, *, share_retrieved: float = 1, seed: int = 0) -> tuple[Any, Any]:
    """Return the judgments and the run of some groups, of which a share was share_retrieved."""
    chance = random.Random(seed)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for i, group in enumerate(groups):
        for j, (grade, score) in enumerate(group):
            qrels.setdefault(str(i), {})[f"d{j}"] = grade
            if chance.random() < share_retrieved:
                run.setdefault(str(i), {})[f"d{j}"] = score
    return qrels, run


def score(qrels: Any, run: Any, measures: list[str], convention: str) -> dict[str, float]:
    """Return values under a convention, by the measures as they are named."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = evaluate(qrels, run, measures, convention=convention)
        return {name: scores[name] for name in measures}


def assert_equal(
    values: dict[str, float], tool_values: dict[str, float], case: object, tolerance: float = 1e-9
) -> None:
    """Compare values by measure."""
    for name, value in tool_values.items():
        assert math.isclose(values[name], value, abs_tol=tolerance), (
            case,
            name,
            values[name],
            value,
        )


def flatten_groups(groups: Groups) -> tuple[list[int], list[float], list[int]]:
    """Return the grades, the scores and the sizes of groups."""
    rows = [row for group in groups for row in group]
    return [grade for grade, _ in rows], [score for _, score in rows], [*map(len, groups)]
