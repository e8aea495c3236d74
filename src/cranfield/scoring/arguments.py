"""The arguments that every verb begins with, qrels, runs and measures: each in its place."""

import os
from typing import Any

from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import InputError, MeasureError
from cranfield.measures import Measure, parse_all
from cranfield.scoring.scores import Scores, Systems

_QRELS, _RUNS = (dict, Qrels), (dict, Run)
_ORDER = "The order is: qrels, runs, measures."
_SCORES_ALONE = "Scores take the place of qrels and runs; say measures=... by name."


def check_judged(qrels: Any, runs: Any) -> None:
    """Raise InputError, which says what to write, unless qrels and runs may be what they are.

    Only what is seen at a glance is found here; whatever reads the data finds the rest.

    >>> check_judged({"q1": {"d1": 1}}, "nDCG@10")
    Traceback (most recent call last):
      ...
    cranfield.errors.InputError: runs='nDCG@10' is a measure
    The order is: qrels, runs, measures. Scores take the place of qrels and runs; say \
measures=... by name.
    """
    if type(runs) in _RUNS and type(qrels) in _QRELS:
        return  # what is given most often, and must cost least
    _refuse_pair(qrels)
    if isinstance(qrels, Scores | Systems) or _are_scores(qrels):
        raise InputError("qrels are scores, and runs are given, too", hint=_SCORES_ALONE)
    if isinstance(runs, Scores | Systems):
        raise InputError("runs are scores, which were made of runs already", hint=_SCORES_ALONE)
    if isinstance(qrels, Run):
        raise InputError("qrels are a run", hint=_ORDER)
    if isinstance(runs, Qrels):
        raise InputError("runs are judgments", hint=_ORDER)
    if isinstance(runs, str | Measure | list | tuple) and _are_measures(runs):
        raise InputError(f"runs={runs!r:.60} is a measure", hint=f"{_ORDER} {_SCORES_ALONE}")


def check_scores(scores: Any) -> None:
    """Raise InputError, which says what to write, for what is no scores where there are no runs."""
    if isinstance(scores, Qrels | Run):
        what = "judgments without runs" if isinstance(scores, Qrels) else "a run without judgments"
        raise InputError(f"qrels are {what}", hint=_ORDER)
    _refuse_pair(scores)


def _refuse_pair(data: Any) -> None:
    pair = isinstance(data, tuple) and len(data) == 2
    if pair and not isinstance(data[0], Scores | Systems):
        raise InputError(
            "qrels are a pair: judgments and runs are two arguments",
            hint="Leave out the inner parentheses: (qrels, runs, measures).",
        )


def _are_scores(data: Any) -> bool:
    if isinstance(data, dict):
        return isinstance(next(iter(data.values()), None), Scores | Systems)
    several = isinstance(data, list | tuple) and len(data) > 0
    return several and isinstance(data[0], Scores | Systems | str | os.PathLike)


def _are_measures(runs: Any) -> bool:
    """Tell whether these, or the first of them, are measures or their names, and no file."""
    first = runs if isinstance(runs, str | Measure) else next(iter(runs), None)
    if not isinstance(first, str) or os.path.exists(first):
        return isinstance(first, Measure)
    try:
        return bool(parse_all(first))
    except MeasureError:
        return False
