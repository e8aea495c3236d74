"""The arguments that every verb begins with, qrels, runs and measures: each in its place."""

import glob
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from cranfield.data.qrels import Qrels, as_qrels
from cranfield.data.run import Run, as_run, several_runs
from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.formats.block import Errors
from cranfield.formats.columns import ColumnsOfBoth, What
from cranfield.formats.frames import is_table
from cranfield.formats.header import columns_for
from cranfield.measures import Measure, parse_all
from cranfield.options import Options, option
from cranfield.scoring.scores import Scores, Systems
from cranfield.scoring.sides import sides_of

_QRELS, _RUNS = (dict, Qrels), (dict, Run)
_ORDER = "The order is: qrels, runs, measures."
_SCORES_ALONE = "Scores take the place of qrels and runs; say measures=... by name."


def _columns(value: Any) -> ColumnsOfBoth:
    if not isinstance(value, Mapping):
        raise ValueError("a dict, as in {'query_id': 'user', 'doc_id': 'item'}")
    return value


@dataclass(frozen=True, kw_only=True)
class Reading(Options):
    """How data are read that are not yet a Qrels or a Run."""

    columns: ColumnsOfBoth | None = option(
        None,
        "Which column of a table or a file is which, where that cannot be told by their names: "
        '{"query_id": "reader", "doc_id": "book", "relevance": "stars", "score": "prediction"}, '
        'for judgments and runs alike; or {"qrels": {...}, "run": {...}} where they differ. A '
        'table that holds both has "expected_ids" and "retrieved_ids".',
        _columns,
    )


def arranged(
    qrels: Any,
    runs: Any,
    measures: Any,
    usual: Any,
    *,
    columns: ColumnsOfBoth | None = None,
    errors: Errors = "strict",
) -> tuple[Qrels, Run | dict[str, Run], Any]:
    """Return the judgments, the run or several by name, and the measures that a verb was given.

    Where `qrels` hold both sides, they stand alone, and the measures may take the place of the
    runs; `usual` are those that no one named. Raises InputError, which says what to write, for an
    argument out of place.
    """
    if columns is None and type(runs) in _RUNS and type(qrels) in _QRELS:
        judgments = qrels if type(qrels) is Qrels else as_qrels(qrels, errors)
        several = several_runs(runs, errors)
        return judgments, as_run(runs, errors) if several is None else several, measures
    shifted = runs is not None and measures is usual and _may_be_measures(runs)
    if runs is None or shifted:
        are_measures = runs is not None and _are_measures(runs)
        try:
            sides = sides_of(qrels, columns, errors)
        except InputError:
            if runs is None or (are_measures and not _are_scores(qrels)):
                raise
            sides = None
        if sides is not None:
            return *sides.read(errors), runs if shifted else measures
    if runs is None:
        raise InputError("no runs are given", hint=_ORDER)
    check_judged(qrels, runs)
    if columns is not None and _are_read(qrels) and _are_read(runs):
        raise OptionError("columns applies to tables and files, which are still to be read")
    judgments = as_qrels(qrels, errors, columns_for(columns, What.QRELS))
    own = columns_for(columns, What.RUN)
    several = several_runs(runs, errors, own)
    return judgments, as_run(runs, errors, own) if several is None else several, measures


def _are_read(data: Any) -> bool:
    """Tell whether the data are judgments, a run, or dicts, which have no columns."""
    if isinstance(data, list | tuple):
        return len(data) > 0 and all(isinstance(one, Run) for one in data)
    if isinstance(data, Mapping):
        return not any(isinstance(one, str | os.PathLike) or is_table(one) for one in data.values())
    return isinstance(data, Qrels | Run)


def _may_be_measures(runs: Any) -> bool:
    """Tell whether these are measures, or a text that names neither a file nor a measure."""
    if isinstance(runs, str) and not os.path.exists(runs):
        return not glob.has_magic(runs) and "://" not in runs and not os.path.dirname(runs)
    return isinstance(runs, Measure | list | tuple) and _are_measures(runs)


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


# ---- made from the families by scripts/make_docs.py


class ReadingOptions(TypedDict, total=False):
    """The options of Reading, as keywords of a function."""

    columns: ColumnsOfBoth | None


# ---- end
