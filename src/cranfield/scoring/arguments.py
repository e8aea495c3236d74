"""The arguments that every verb begins with, qrels, runs and measures: each in its place."""

import glob
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from cranfield.data.qrels import Qrels, as_qrels
from cranfield.data.run import Run, as_run, numbering, several_runs
from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.formats import both_rows_of
from cranfield.formats.block import Errors
from cranfield.formats.columns import ColumnsOfBoth, What
from cranfield.formats.frames import is_row, is_table
from cranfield.formats.header import columns_for
from cranfield.measures import Measure, parse_all
from cranfield.notes import Note
from cranfield.options import Options, option
from cranfield.scoring.scores import Scores, Systems

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
            both = both_sides(qrels, columns, errors)
        except InputError as error:
            if runs is None:
                raise
            if are_measures and _tables(qrels) is None:
                reason = f"runs={runs!r:.60} is a measure, so the first argument must hold both."
                raise error.because(reason) from None
            both = None
        if both is not None:
            return *both, runs if shifted else measures
    if runs is None:
        raise InputError("no runs are given", hint=_ORDER)
    check_judged(qrels, runs)
    if columns is not None and _are_read(qrels) and _are_read(runs):
        raise OptionError("columns applies to tables and files, which are still to be read")
    judgments = as_qrels(qrels, errors, columns_for(columns, What.QRELS))
    own = columns_for(columns, What.RUN)
    several = several_runs(runs, errors, own)
    return judgments, as_run(runs, errors, own) if several is None else several, measures


def both_sides(
    data: Any, columns: ColumnsOfBoth | None, errors: Errors
) -> tuple[Qrels, Run | dict[str, Run]] | None:
    """Return the judgments and the run that one table holds, or the runs of several tables.

    Several, a list of tables or files or a dict {name: table}, are as many systems over the same
    queries: their judgments must be the same. None if the data can be no such table; InputError if
    they are one, and do not hold both.
    """
    named = _tables(data)
    if named is None:
        if not _is_table(data):
            return None
        return _both_of(data, None, columns, errors)
    runs: dict[str, Run] = {}
    first: tuple[str, Qrels] | None = None
    numbered = numbering()
    for name, one in named:
        judgments, run = _both_of(one, name, columns, errors)
        run.name = numbered(run.name)
        runs[run.name] = run
        if first is None:
            first = run.name, judgments
        else:
            _refuse_other_judgments(*first, run.name, judgments)
    assert first is not None  # noqa: S101 - there is a table at least
    return first[1], runs


def _both_of(
    data: Any, name: str | None, columns: ColumnsOfBoth | None, errors: Errors
) -> tuple[Qrels, Run]:
    is_path = isinstance(data, str | os.PathLike)
    judged, ranked = both_rows_of(data, columns=columns, errors=errors, is_path=is_path)
    qrels = Qrels(judged, errors=errors)
    if judged.taken["doc"] == ranked.taken["doc"]:
        text = "Judged: the documents of the table alone, all of which were retrieved."
        qrels = qrels.replaced(notes=(*qrels.notes, Note("judged-retrieved", "info", text)))
    return qrels, Run(ranked, name, errors=errors)


def _refuse_other_judgments(name: str, ours: Qrels, other: str, theirs: Qrels) -> None:
    """Raise InputError unless two tables hold the same judgments."""
    one, two = ours.to_dict(), theirs.to_dict()
    if one == two:
        return
    query = next(q for q in [*one, *two] if one.get(q) != two.get(q))
    shown = [
        f"{_shown(judged[query])} in {where}" if query in judged else f"none in {where}"
        for where, judged in ((name, one), (other, two))
    ]
    raise InputError(
        f"the judgments of {name} and {other} differ: query {query!r:.80} has {', '.join(shown)}",
        hint="Several tables are several systems over the same judgments; of others, give the "
        "judgments first, once, and then the runs.",
    )


def _shown(judged: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{doc!r}: {grade}" for doc, grade in [*judged.items()][:3])
    return f"{{{listed}{', ...' if len(judged) > 3 else ''}}}"


def _tables(data: Any) -> list[tuple[str | None, Any]] | None:
    """Return (name, table) of each of several tables; None for anything else."""
    if isinstance(data, dict) and data and all(map(_is_table, data.values())):
        return [(str(name), one) for name, one in data.items()]
    if isinstance(data, list | tuple) and data and all(map(_is_table, data)):
        return [(None, one) for one in data]
    return None


def _is_table(data: Any) -> bool:
    """Tell whether the data may be a table of named columns: a file, a frame, a list of dicts."""
    if isinstance(data, str | os.PathLike) or is_table(data):
        return True
    if isinstance(data, list):
        named = len(data) > 0 and (isinstance(data[0], Mapping) or hasattr(data[0], "_fields"))
        return named and is_row(data[0])
    return getattr(getattr(data, "dtype", None), "names", None) is not None


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
