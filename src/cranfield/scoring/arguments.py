"""Arguments: checks and reads the first arguments of `evaluate` and other verbs."""

import glob
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.data.lists import Graded, GradedSystems, grades, unequal_lists_error
from cranfield.data.qrels import Qrels, make_qrels
from cranfield.data.reader import QrelsReader, open_qrels
from cranfield.data.run import Run, make_run
from cranfield.data.run_names import make_several_runs
from cranfield.errors import InputError, MeasureError
from cranfield.formats import read_id_lists
from cranfield.formats.block import Duplicates, Errors
from cranfield.formats.columns import ColumnsOfBoth, Side
from cranfield.formats.objects import as_lists_of_ids, is_sequence
from cranfield.formats.shapes import hold_labels_and_scores, match_sparse, note_unstored_zeros
from cranfield.formats.stated_columns import (
    Statements,
    refuse_unread,
    select_columns,
    select_side_columns,
)
from cranfield.measures import Measure, parse_all
from cranfield.options import Options, is_whole_number, option, whole_check
from cranfield.scoring.scores import Scores, Systems
from cranfield.scoring.sides import are_same_table, find_two_sided_tables, open_table_pair

_QRELS_TYPES, _RUN_TYPES = (dict, Qrels), (dict, Run)
_COMPARE_ARGUMENTS = ["qrels", "runs", "measures"]
_SCORES_ORDER = "Scores are given instead of qrels and runs; write measures=... by name."


def _check_columns_option(value: Any) -> ColumnsOfBoth:
    if not isinstance(value, Mapping):
        raise ValueError("a dict, as in {'query_id': 'user', 'doc_id': 'item'}")
    return Statements(value)


@dataclass(frozen=True, kw_only=True)
class Reading(Options):
    """How data are read that are not yet a Qrels or a Run."""

    columns: ColumnsOfBoth | None = option(
        None,
        "Which column of a table or a file is which, where that cannot be told by their names: "
        '{"query_id": "reader", "doc_id": "book", "relevance": "stars", "score": "prediction"}. '
        'Each table or file takes what it has; "run.score", or {"run": {...}}, is for runs alone. '
        'A table that holds both has "expected_ids" and "retrieved_ids".',
        _check_columns_option,
    )


@dataclass(frozen=True, kw_only=True)
class Threads(Options):
    """How many threads are used."""

    threads: int | None = option(
        None,
        "How many threads read and rank rows at the same time. 1: that of the caller alone, as for "
        "one of many processes. None: one more than there are cores, 9 at most.",
        whole_check(1, 1 << 10),
    )


def arrange_arguments(
    qrels: Any,
    runs: Any,
    measures: Any,
    default_measures: Any,
    *,
    columns: ColumnsOfBoth | None,
    duplicates: Duplicates,
    errors: Errors = "strict",
    verb: Callable[..., Any] | None = None,
) -> tuple[Qrels, Run | dict[str, Run], Any]:
    """Return what `open_arguments` does, with the judgments in memory."""
    judgments, run_or_runs, measures = open_arguments(
        qrels,
        runs,
        measures,
        default_measures,
        columns=columns,
        duplicates=duplicates,
        errors=errors,
        verb=verb,
    )
    if isinstance(judgments, QrelsReader):
        judgments = judgments.read()
    return judgments, run_or_runs, measures


def open_arguments(
    qrels: Any,
    runs: Any,
    measures: Any,
    default_measures: Any,
    *,
    columns: ColumnsOfBoth | None,
    duplicates: Duplicates,
    errors: Errors = "strict",
    verb: Callable[..., Any] | None = None,
) -> tuple[Qrels | QrelsReader, Run | dict[str, Run], Any]:
    """Return the judgments, the run or {name: run}, and the measures that a verb was given.

    Where `qrels` hold both sides, no runs are given, and the measures may be given instead of the
    runs; where the runs hold both sides, too, each table is a system. `default_measures` are the
    verb's default. `verb` is as in `check_qrels_and_runs`. Raises InputError, which says what to
    write, for an argument out of place, OptionError for `columns` of what is already read.
    """
    if columns is None and type(runs) in _RUN_TYPES and type(qrels) in _QRELS_TYPES:
        judgments = qrels if type(qrels) is Qrels else make_qrels(qrels, errors, None, duplicates)
        runs_by_name = make_several_runs(runs, errors)
        return judgments, make_run(runs, errors) if runs_by_name is None else runs_by_name, measures
    qrels, runs = convert_id_lists(qrels, runs, duplicates)
    uses_default = measures is default_measures
    runs_are_measures = runs is not None and uses_default and could_be_measures(runs)
    if runs is None or runs_are_measures:
        are_measures = runs is not None and _are_measures(runs)
        try:
            sides = find_two_sided_tables(qrels, columns, errors)
        except InputError:
            if runs is None or (are_measures and not _are_scores(qrels)):
                raise
            sides = None
        if sides is not None:
            reader, run_or_runs = sides.open(errors, duplicates)
            measures = runs if runs_are_measures else measures
            return reader, run_or_runs, measures
    elif (table_pair := open_table_pair(qrels, runs, columns, errors)) is not None:
        return *table_pair.read(errors, duplicates), measures
    if runs is None:
        names = _COMPARE_ARGUMENTS if verb is None else _argument_names(verb)
        raise InputError("no runs are given", hint=_order_hint(names))
    check_qrels_and_runs(qrels, runs, verb)
    select = select_side_columns if are_same_table(qrels, runs) else select_columns
    reader = open_qrels(qrels, errors, select(columns, Side.QRELS), duplicates)
    run_columns = select(columns, Side.RUN)
    runs_by_name = make_several_runs(runs, errors, run_columns)
    run_or_runs = make_run(runs, errors, run_columns) if runs_by_name is None else runs_by_name
    refuse_unread(columns)
    return reader, run_or_runs, measures


def could_be_measures(runs: Any) -> bool:
    """Tell whether `runs` begin with a measure, or are a string, but no file, glob, path or URL."""
    if isinstance(runs, str) and not os.path.exists(runs):
        return not glob.has_magic(runs) and "://" not in runs and not os.path.dirname(runs)
    return isinstance(runs, Measure | list | tuple) and _are_measures(runs)


def check_qrels_and_runs(qrels: Any, runs: Any, verb: Callable[..., Any] | None = None) -> None:
    """Raise InputError, which says what to write, unless these may be judgments and runs.

    `verb` is the function whose first arguments they are; None for a function that takes scores in
    their place, as `compare` does. No file is read: types are checked, and what texts may name.

    >>> check_qrels_and_runs({"q1": {"d1": 1}}, "nDCG@10")
    Traceback (most recent call last):
      ...
    cranfield.errors.InputError: runs='nDCG@10' is a measure
    The order is: qrels, runs, measures. Scores are given instead of qrels and runs; write \
measures=... by name.
    """
    if type(runs) in _RUN_TYPES and type(qrels) in _QRELS_TYPES:
        return  # what is given most often, and must cost least
    names = _COMPARE_ARGUMENTS if verb is None else _argument_names(verb)
    first, second = names[0], next(name for name in names if name.startswith("run"))
    order_hint = _order_hint(names)
    scores_hint = order_hint if verb is not None else _SCORES_ORDER
    _refuse_pair(qrels, names)
    if _are_ids(qrels) and _are_ids(runs):
        name = "evaluate" if verb is None else verb.__name__
        raise InputError(
            f"{first} and {second} are one list each, without queries",
            hint=f"Ids of one query: {name}([{first}], [{second}], ...), or a measure alone, "
            "AP(truth, ranking). The grades of what was retrieved are one list: "
            f"{name}(*grades([3, 2, 0]), ...).",
        )
    if isinstance(qrels, Scores | Systems) or _are_scores(qrels):
        problem = "scores, and runs are given, too"
        if verb is not None:
            problem = f"scores, or several files: {verb.__name__} takes judgments, and runs"
        raise InputError(f"{first} are {problem}", hint=scores_hint)
    if isinstance(runs, Scores | Systems):
        raise InputError(f"{second}: these are scores; runs are expected here", hint=scores_hint)
    if isinstance(qrels, Run):
        raise InputError(f"{first} are a run", hint=order_hint)
    if isinstance(runs, Qrels):
        raise InputError(f"{second}: these are judgments", hint=order_hint)
    if isinstance(runs, str | Measure | list | tuple) and _are_measures(runs):
        hint = order_hint if verb is not None else f"{order_hint} {_SCORES_ORDER}"
        if _are_grades(qrels):
            name = "evaluate" if verb is None else verb.__name__
            hint = f"Grades alone are judgments and a run: {name}(*grades({qrels!r:.60}), "
            hint += f"{runs!r:.60})."
        raise InputError(f"{second}={runs!r:.60} is a measure", hint=hint)


def convert_id_lists(qrels: Any, runs: Any, duplicates: Duplicates = "refuse") -> tuple[Any, Any]:
    """Return judgments and runs from parallel lists of ids; any other arguments unchanged.

    A list of `qrels` has the relevant documents of a query, a list of `runs` its ranking: the
    queries are "1", "2", ... Several runs are a dict {name: lists}, or a list of runs. Only both
    sides together tell lists of ids from rows. Raises InputError for another number of lists on one
    side than on the other.

    >>> qrels, run = convert_id_lists([[1, 3], [2]], [[3, 5, 1], [4, 2]])
    >>> qrels.to_dict(), run
    ({'1': {'1': 1, '3': 1}, '2': {'2': 1}}, Run('run', 2 queries, 5 documents))
    """
    if type(qrels) in _QRELS_TYPES:
        return qrels, runs
    if hold_labels_and_scores(qrels, runs):
        qrels, runs = grades(qrels, scores=runs)
        return qrels, runs
    qrels, runs = match_sparse(qrels, runs)
    if notes := note_unstored_zeros(qrels, runs):
        runs = Run(runs)
        runs.rows.notes = notes
    relevant_lists, rankings = as_lists_of_ids(qrels), as_lists_of_ids(runs)
    if relevant_lists is None:
        if rankings is not None and _is_empty(qrels):
            raise unequal_lists_error(0, len(rankings))
        return qrels, runs
    if _is_empty(runs):
        raise unequal_lists_error(len(relevant_lists), 0)
    if rankings is not None:
        run_or_runs: Any = _make_run_of_lists(relevant_lists, rankings, "run")
    elif isinstance(runs, Mapping):
        rankings_of_name = {name: as_lists_of_ids(lists) for name, lists in runs.items()}
        if None in rankings_of_name.values():
            return qrels, runs
        run_or_runs = {
            str(name): _make_run_of_lists(relevant_lists, rankings, name)
            for name, rankings in rankings_of_name.items()
        }
    elif isinstance(runs, list | tuple):
        rankings_of_runs = [*map(as_lists_of_ids, runs)]
        if None in rankings_of_runs:
            return qrels, runs
        run_or_runs = [
            _make_run_of_lists(relevant_lists, rankings, "run") for rankings in rankings_of_runs
        ]
    else:
        return qrels, runs
    return Qrels(read_id_lists(relevant_lists, Side.QRELS), duplicates=duplicates), run_or_runs


def _make_run_of_lists(relevant_lists: list[Any], rankings: Any, name: Any) -> Run:
    """Return a run from its rankings, which must be as many as the lists of relevant documents."""
    if len(relevant_lists) != len(rankings):
        raise unequal_lists_error(len(relevant_lists), len(rankings))
    return Run(read_id_lists(rankings, Side.RUN), str(name))


def _is_empty(data: Any) -> bool:
    return isinstance(data, list | tuple | np.ndarray) and len(data) == 0


def check_scores(scores: Any) -> None:
    """Raise InputError, which says what to write, for judgments, a run or a pair as scores."""
    hint = _order_hint(_COMPARE_ARGUMENTS)
    if isinstance(scores, Qrels):
        raise InputError("qrels are judgments without runs", hint=hint)
    if isinstance(scores, Run):
        raise InputError("qrels are a run without judgments", hint=hint)
    _refuse_pair(scores, _COMPARE_ARGUMENTS)


def _argument_names(verb: Callable[..., Any]) -> list[str]:
    """Return the names of the arguments that a function takes by their order."""
    by_order = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = inspect.signature(verb).parameters.items()
    return [name for name, parameter in parameters if parameter.kind is by_order]


def _order_hint(names: Sequence[str]) -> str:
    return f"The order is: {', '.join(names)}."


def _refuse_pair(data: Any, names: Sequence[str]) -> None:
    """Raise InputError for a pair, but of scores: it may be judgments and runs in one argument."""
    is_pair = isinstance(data, tuple) and len(data) == 2
    if is_pair and not isinstance(data[0], Scores | Systems):
        raise InputError(
            f"{names[0]} are a pair: judgments and runs are two arguments",
            hint="Write an asterisk before it: *grades(...)."
            if isinstance(data, Graded | GradedSystems)
            else f"Leave out the inner parentheses: ({', '.join(names)}).",
        )


def _are_ids(data: Any) -> bool:
    """Tell whether the data are one list of ids or grades: integers, or texts unlike a file's."""
    if not isinstance(data, list | tuple | np.ndarray) or len(data) == 0:
        return False
    return all(
        is_whole_number(id_or_grade)
        or (
            isinstance(id_or_grade, str)
            and "." not in id_or_grade
            and not os.path.exists(id_or_grade)
        )
        for id_or_grade in data
    )


def _are_grades(data: Any) -> bool:
    """Tell whether the data may be grades without documents: whole numbers, None, or lists."""
    if not is_sequence(data) or isinstance(data, Qrels | Run):
        return False
    grades = [
        grade
        for query_grades in data
        for grade in (query_grades if isinstance(query_grades, list) else [query_grades])
    ]
    return bool(grades) and all(grade is None or is_whole_number(grade) for grade in grades)


def _are_scores(data: Any) -> bool:
    """Tell whether the data may be scores: a dict or a list of them, or a list of files."""
    if isinstance(data, dict):
        return isinstance(next(iter(data.values()), None), Scores | Systems)
    is_list = isinstance(data, list | tuple) and len(data) > 0
    return is_list and isinstance(data[0], Scores | Systems | str | os.PathLike)


def _are_measures(runs: Any) -> bool:
    """Tell whether `runs`, or the first of them, are a measure or its name, and no file."""
    first = runs if isinstance(runs, str | Measure) else next(iter(runs), None)
    if not isinstance(first, str) or os.path.exists(first):
        return isinstance(first, Measure)
    try:
        return bool(parse_all(first))
    except MeasureError:
        return False
