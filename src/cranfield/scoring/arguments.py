"""Arguments: checks and reads the first arguments of `evaluate` and other verbs."""

import glob
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from cranfield.data.lists import Graded, GradedSystems, grades, unequal_lists_error
from cranfield.data.named_ids import read_named_documents
from cranfield.data.qrels import Qrels, make_qrels
from cranfield.data.reader import QrelsReader, open_qrels
from cranfield.data.run import Run, make_run
from cranfield.data.run_names import make_runs, open_runs
from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.formats import read_id_lists
from cranfield.formats.block import Duplicates, Errors
from cranfield.formats.columns import COLUMNS, ColumnsOfBoth, Side, TextMatching
from cranfield.formats.matrices import hold_labels_and_scores, match_sparse, note_unstored_zeros
from cranfield.formats.rewrite import NumberedResponses, plain
from cranfield.formats.shapes import are_files, kind_of, kinds_in, list_ids
from cranfield.formats.stated_columns import (
    ContainedTexts,
    Statements,
    refuse_unread,
    select_columns,
    select_side_columns,
)
from cranfield.measures import Measure, parse_all
from cranfield.options import Options, option, whole_check
from cranfield.scoring.scores import Scores, Systems
from cranfield.scoring.sides import are_same_table, find_two_sided_tables, open_table_pair

_QRELS_TYPES, _RUN_TYPES = (dict, Qrels), (dict, Run)
_EXCLUDED_NAMES = COLUMNS["doc"].list_names[Side.EXCLUDED]
_COMPARE_ARGUMENTS = ["qrels", "runs", "measures"]
_SCORES_ORDER = "Scores are given instead of qrels and runs; write measures=... by name."


def _check_columns_option(value: Any) -> ColumnsOfBoth:
    if not isinstance(value, Mapping):
        raise ValueError("a dict, as in {'query_id': 'user', 'doc_id': 'item'}")
    return value if isinstance(value, Statements) else Statements(value)


def _list_exclusions(docs: Any) -> tuple[Any, ...]:
    """Return several exclusions in a tuple, which are one if all are rows; iterators as lists."""
    sources = docs if isinstance(docs, tuple) and kinds_in(docs) != {"tuple"} else (docs,)
    return tuple([*source] if kind_of(source) == "iterator" else source for source in sources)


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
    without: Any = option(
        None,
        "Leave out of the runs what this has for a query. That may be what users have seen: its "
        "excluded_ids, seen_ids or the like, else its documents. The judgments stay as they are.",
        _list_exclusions,
    )
    texts: TextMatching = option(
        "same",
        'When two texts in a table (`retrieved_contexts`) are one document. "same": if they differ '
        'in white space at most; "contain": if one contains the other.',
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.texts == "contain":
            vars(self)["columns"] = ContainedTexts(self.columns or {})

    def leave_out(self, runs: Any, *, more_follow: bool = False) -> Any:
        """Return a Run, or {name: Run}, without the documents of `without`; OptionError for none.

        Unless `more_follow`, all is opened: columns that no file has are refused.
        """
        has_exclusions = self.without or more_follow
        if self.without and not runs:
            raise OptionError("without=... leaves documents out of runs, and no run is given")
        if self.columns and not (has_exclusions or {*self.columns}.isdisjoint(_EXCLUDED_NAMES)):
            raise OptionError("columns: excluded_ids names a column of without=: state that, too")
        for docs in self.without or ():
            columns: Any = select_columns(self.columns, Side.EXCLUDED) or {}
            named_docs = read_named_documents(docs, make_run, columns)._replace(origin=docs)
            if isinstance(runs, Run):
                runs = runs._select_part(None, named_docs, {})
            else:
                runs = {name: run._select_part(None, named_docs, {}) for name, run in runs.items()}
        if not more_follow:
            refuse_unread(self.columns)
        return runs

    def make_runs(self, runs: Any) -> dict[str, Run]:
        """Return {name: run} of a run, or of several, without the documents of `without`."""
        run_of_name = make_runs(runs, select_columns(self.columns, Side.RUN))
        return self.leave_out(run_of_name)  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class Threads(Options):
    """How many threads are used."""

    threads: int | None = option(
        None,
        "How many threads read and rank at the same time. 1: that of the caller alone, as for "
        "one of many processes. None: one more than there are cores, 9 at most.",
        whole_check(1, 1 << 10),
    )


def arrange_arguments(
    *arguments: Any, reading: Reading, **options: Any
) -> tuple[Qrels, Run | dict[str, Run], Any]:
    """Return what `open_arguments` does, judgments in memory, runs without what is left out."""
    judgments, run_or_runs, measures = open_arguments(*arguments, reading=reading, **options)
    if isinstance(judgments, QrelsReader):
        judgments = judgments.read()
    return judgments, reading.leave_out(run_or_runs), measures


def open_arguments(
    qrels: Any,
    runs: Any,
    measures: Any,
    default_measures: Any,
    *,
    reading: Reading,
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
    columns = reading.columns
    qrels = _rewrite_plainly(qrels, Side.QRELS, columns)
    runs = _rewrite_plainly(runs, Side.RUN, columns)
    if columns is None and type(runs) in _RUN_TYPES and type(qrels) in _QRELS_TYPES:
        judgments = qrels if type(qrels) is Qrels else make_qrels(qrels, errors, None, duplicates)
        return judgments, _follow_rows(open_runs(runs, errors), judgments), measures
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
            return *sides.open(errors, duplicates), runs if runs_are_measures else measures
    elif (table_pair := open_table_pair(qrels, runs, columns, errors)) is not None:
        return *table_pair.open(errors, duplicates), measures
    if runs is None:
        names = _COMPARE_ARGUMENTS if verb is None else _argument_names(verb)
        raise InputError("no runs are given", hint=_order_hint(names))
    check_qrels_and_runs(qrels, runs, verb)
    select = select_side_columns if are_same_table(qrels, runs) else select_columns
    reader = open_qrels(qrels, errors, select(columns, Side.QRELS), duplicates)
    run_or_runs = _follow_rows(open_runs(runs, errors, select(columns, Side.RUN)), reader)
    return reader, run_or_runs, measures


def _follow_rows(run_or_runs: Any, judgments: Qrels | QrelsReader) -> Any:
    """Return a run, or {name: run}; numbers alone are scores of the rows of SVMlight judgments."""
    rows = judgments.rows if isinstance(judgments, QrelsReader) else judgments
    if "SVMlight: " not in rows.description:
        return run_or_runs
    from cranfield.formats.svmlight import follow_rows

    if not isinstance(run_or_runs, Run):
        return {name: _follow_rows(run, judgments) for name, run in run_or_runs.items()}
    return run_or_runs.replace_rows(follow_rows(run_or_runs.rows, rows.sources, run_or_runs.errors))


def _rewrite_plainly(data: Any, side: Side, columns: ColumnsOfBoth | None) -> Any:
    """Return what is no Qrels and no Run by `plain`, if no path is stated where its rows begin."""
    begins_below = bool(columns) and "rows" in select_side_columns(columns, side)
    return data if type(data) in (Qrels, Run) or begins_below else plain(data, side)


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
    name, order_hint = getattr(verb, "__name__", "evaluate"), _order_hint(names)
    scores_hint = order_hint if verb is not None else _SCORES_ORDER
    _refuse_pair(qrels, names)
    if all(set() < kinds_in(ids) <= {"text", "whole number"} for ids in (qrels, runs)) and not any(
        isinstance(identifier, str) and ("." in identifier or os.path.exists(identifier))
        for identifier in chain(qrels, runs)
    ):
        raise InputError(
            f"{first} and {second} are one list each, without queries",
            hint=f"Ids of one query: {name}([{first}], [{second}], ...), or a measure alone, "
            "AP(truth, ranking). The grades of what was retrieved are one list: "
            f"{name}(*grades([3, 2, 0]), ...).",
        )
    # A list of files is one table of judgments, unless measures follow.
    are_judged = (
        are_files(qrels)
        and not could_be_measures(runs)
        and any(not isinstance(path, str) or "." in path or os.path.exists(path) for path in qrels)
    )
    if isinstance(qrels, Scores | Systems) or (_are_scores(qrels) and not are_judged):
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
        grade_list = chain.from_iterable(qrels) if kinds_in(qrels) == {"list"} else qrels
        if set() < kinds_in(grade_list) <= {"whole number", "null"}:
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
    rankings = [*runs.values()] if isinstance(runs, NumberedResponses) else list_ids(runs)
    relevant_lists = list_ids(qrels)
    if relevant_lists is None:
        if list_ids(runs) is not None and not kinds_in(qrels):
            raise unequal_lists_error(0, len(runs))
        return qrels, runs
    if not kinds_in(runs):
        raise unequal_lists_error(len(relevant_lists), 0)
    has_names = rankings is None and kind_of(runs) == "dict"
    members = [("run", rankings)]
    if rankings is None and kind_of(runs) in ("dict", "list", "tuple"):
        pairs = runs.items() if has_names else (("run", run) for run in runs)
        members = [(str(name), list_ids(run)) for name, run in pairs]
    new_runs = []
    for name, lists in members:
        if lists is None:
            return qrels, runs
        if len(relevant_lists) != len(lists):
            raise unequal_lists_error(len(relevant_lists), len(lists))
        new_runs.append(Run(read_id_lists(lists, Side.RUN), name))
    judgments = Qrels(read_id_lists(relevant_lists, Side.QRELS), duplicates=duplicates)
    if has_names:
        return judgments, {run.name: run for run in new_runs}
    return judgments, new_runs[0] if rankings is not None else new_runs


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


def _are_scores(data: Any) -> bool:
    """Tell whether the data may be scores: a dict or a list of them, or a list of files."""
    if kind_of(data) not in ("dict", "list", "tuple"):
        return False
    first = next(iter(data.values() if isinstance(data, Mapping) else data), None)
    is_file = kind_of(data) != "dict" and kind_of(first) in ("text", "path")
    return is_file or isinstance(first, Scores | Systems)


def _are_measures(runs: Any) -> bool:
    """Tell whether `runs`, or the first of them, are a measure or its name, and no file."""
    first = runs if isinstance(runs, str | Measure) else next(iter(runs), None)
    if not isinstance(first, str) or os.path.exists(first):
        return isinstance(first, Measure)
    try:
        return bool(parse_all(first))
    except MeasureError:
        return False
