"""How the tests read saved scores, and what they are scores of."""

from typing import Any

from cranfield import CranfieldError
from cranfield.formats.small.score_files import Layout, ScoreRows, read_scores
from cranfield.measures import parse

QRELS = {"q1": {"d1": 1, "d2": 0, "d3": 2}, "q2": {"d1": 1}}
RUN = {"q1": {"d1": 0.5, "d2": 2.0, "d3": 1.0}, "q2": {"d2": 0.7, "d1": 0.2}}


def is_measure(name: str) -> bool:
    try:
        parse(name, glued=False)
    except CranfieldError:
        return False
    return True


def read_saved(source: Any, layout: Layout = "measures") -> ScoreRows:
    return read_scores(source, is_measure, layout)


def read_score_dicts(source: Any, layout: Layout = "measures") -> dict[Any, dict[str, float]]:
    return {key: dict(values) for key, values in read_saved(source, layout).scores.items()}
