"""A stand-in for pytrec_eval: change the import, keep the code.

    from cranfield import pytrec_eval      # instead of: import pytrec_eval

The names, the parameters and the numbers are those of pytrec_eval, and so of trec_eval 9:
scores are compared as 32-bit floats, recall points follow its rule, and the queries evaluated are
those of the run that have judgments. `relstring` and `runid`, which are texts, are 0.0, as in
pytrec_eval.

>>> evaluator = RelevanceEvaluator({"q1": {"d1": 1, "d2": 0, "d3": 2}}, {"map", "ndcg_cut.5"})
>>> evaluator.evaluate({"q1": {"d2": 0.9, "d3": 0.7, "d1": 0.1}})["q1"]["map"]
0.5833333333333333
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.arrays.ranked import floored_log
from cranfield.data.judge import judge
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import InputError, nearest_words
from cranfield.extensions.tools.compat.names import (
    NICKNAMES,
    TrecEvalError,
    columns_of,
    measure_names,
    usual_values,
)
from cranfield.formats.block import LARGEST_GRADE
from cranfield.formats.objects import MAPPINGS
from cranfield.formats.small.read import TableForm, read_text_table, white_space_form
from cranfield.measures import Measure, Plan
from cranfield.version import __version__

__all__ = [
    "RelevanceEvaluator",
    "__version__",
    "compute_aggregated_measure",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
]

_VERSION_9_NAMES = measure_names(version=9)
_MEASURE_NAMES = [name for name in _VERSION_9_NAMES if name in NICKNAMES["all_trec"]]
supported_measures: set[str] = set(_MEASURE_NAMES)
"""The names of the measures that pytrec_eval has."""
supported_nicknames: dict[str, set[str]] = {
    name: {*names} & {*_VERSION_9_NAMES} for name, names in NICKNAMES.items()
}
"""{nickname: the names of its measures}, such as "official" and "all_trec"."""

_TEXT_MEASURES = ("runid", "relstring")

_RUN_FORM = white_space_form("the run", "query_id", "Q0", "doc_id", "rank", "score", "tag")
_QRELS_FORM = white_space_form("the qrels", "query_id", "iteration", "doc_id", "grade")


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """Parse the lines of a TREC run: `query_id Q0 doc_id rank score tag`.

    Args:
        f_run: an open file, or its lines.

    Returns {query_id: {doc_id: score}}, in which an unknown query is an empty dict. Raises
    AssertionError for a document that occurs twice for a query, ValueError for a line of other
    columns or a score that is not a number.

    >>> dict(parse_run(["q1 Q0 d1 1 12.5 bm25"]))
    {'q1': {'d1': 12.5}}

    """
    return _parse_lines(f_run, _RUN_FORM, "score", float)


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """Parse the lines of a TREC qrels file: `query_id iteration doc_id grade`.

    Args:
        f_qrel: an open file, or its lines.

    Returns {query_id: {doc_id: grade}}, in which an unknown query is an empty dict. Raises
    AssertionError for a document that occurs twice for a query, ValueError for a line of other
    columns or a grade that is not a whole number.

    >>> dict(parse_qrel(["q1 0 d1 2", "q1 0 d2 0"]))
    {'q1': {'d1': 2, 'd2': 0}}

    """
    return _parse_lines(f_qrel, _QRELS_FORM, "grade", int)


def _parse_lines(
    lines: Iterable[str], form: TableForm, column: str, convert: Callable[[str], Any]
) -> dict[str, dict[str, Any]]:
    """Return {query: {document: number}} from lines; `convert` reads the number of a column."""
    table = read_text_table(form.title, "\n".join(line.rstrip("\r\n") for line in lines), form)
    numbers: dict[str, dict[str, Any]] = defaultdict(dict)
    column_index = (form.names.index(name) for name in ("query_id", "doc_id", column))
    cells = zip(*(table.columns[index] for index in column_index), strict=True)
    for row, (query, doc, value) in enumerate(cells):
        if doc in numbers[query]:
            raise AssertionError(f"the document {doc!r} occurs twice for query {query!r}")
        try:
            numbers[query][doc] = convert(value)
        except ValueError as error:
            raise table.row_error(row, str(error)) from None
    return numbers


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """Return the value over all queries of one measure's values (n_queries,).

    The sum where the name begins with `num_`, exp(mean) where it begins with `gm_` (their values
    are logarithms), else the mean.

    Args:
        measure: the name of a measure, as in `supported_measures`.
        values: the value of each query.

    >>> compute_aggregated_measure("num_rel", [3.0, 4.0]), compute_aggregated_measure("map", [1, 0])
    (7.0, 0.5)

    """
    if measure.startswith("num_"):
        return float(np.sum(values))
    if measure.startswith("gm_"):
        return float(np.exp(np.sum(values) / len(values)))
    return float(np.mean(values))


class RelevanceEvaluator:
    """Evaluates runs against judgments, with measures.

    `query_relevance` is {query_id: {doc_id: grade}}; a query without judgments is left out.
    `measures` are names of trec_eval or nicknames, with parameters as in `P.5,10`, `P_5`,
    `ndcg.1=2,2=4`. A document is relevant from grade `relevance_level` on. With
    `judged_docs_only_flag`, unjudged documents are dropped before measuring.

    Raises TypeError for judgments or a level of another type, ValueError for an unknown measure.

    >>> evaluator = RelevanceEvaluator({"q1": {"d1": 1}}, {"map"})
    >>> evaluator.evaluate({"q1": {"d2": 2.0, "d1": 1.0}})
    {'q1': {'map': 0.5}}
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        level = relevance_level
        if not isinstance(level, int | np.integer) or not 1 <= level <= LARGEST_GRADE:
            raise TypeError(f"relevance_level={level!r}: expected a whole number, 1 or more")
        columns = _list_columns(_read_requests(measures), int(level))
        self._column_names = [name for name, _ in columns]
        text_columns = [i for i, (_, measure) in enumerate(columns) if measure is None]
        # The number that each text precedes.
        self._text_positions = [i - n for n, i in enumerate(text_columns)]
        number_measures = [measure for _, measure in columns if measure is not None]
        self._plan = Plan(number_measures)
        self._logarithm_columns = [
            i
            for i, measure in enumerate(number_measures)
            if measure.definition.aggregation == "geometric"
        ]
        self._judging = Judging(scores="single", judged_only=bool(judged_docs_only_flag))
        docs_of_query = _check_judgments(query_relevance)
        try:
            self._qrels = Qrels(_name_empty_ids(docs_of_query)) if docs_of_query else None
        except InputError as error:
            raise TypeError(str(error)) from None
        self._judged_queries = frozenset(docs_of_query)

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Evaluate a run {query_id: {doc_id: score}}: {query_id: {measure: value}}.

        Queries are in the run's order; those without judgments are left out. Raises TypeError for a
        run or scores of another type.
        """
        if self._qrels is None or not scores:
            return {}
        _check_mappings(scores, "score")
        run = {query: docs for query, docs in scores.items() if query in self._judged_queries}
        if not run:
            return {}
        named_run = _name_empty_ids(run)
        qrels = (
            self._qrels
            if len(run) == len(self._judged_queries)
            else self._qrels.select_queries(named_run)
        )
        try:
            matched_run = judge(qrels, Run(named_run), self._judging)
        except InputError as error:
            raise TypeError(str(error)) from None
        values = self._plan.values(matched_run.judged)
        for i in self._logarithm_columns:
            values[:, i] = floored_log(values[:, i])
        if self._text_positions:
            values = np.insert(values, self._text_positions, 0.0, axis=1)
        rows = dict(zip(matched_run.query_ids, values.tolist(), strict=True))
        names = self._column_names
        return {query: dict(zip(names, rows[query or _EMPTY_ID], strict=True)) for query in run}


# Replaces the id "", which is not allowed elsewhere in the package. Like "", it is sorted first.
_EMPTY_ID = "\1\1\1 no id"


def _name_empty_ids(docs_of_query: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the documents of queries with another id in place of "", which pytrec_eval accepts."""
    return {
        query or _EMPTY_ID: {doc or _EMPTY_ID: value for doc, value in docs.items()}
        if "" in docs
        else docs
        for query, docs in docs_of_query.items()
    }


def _check_mappings(docs_of_query: object, number_name: str) -> None:
    """Raise TypeError for anything but {query: {document: ...}}."""
    if not isinstance(docs_of_query, MAPPINGS):
        raise TypeError(
            f"expected {{query: {{document: {number_name}}}}}, got {docs_of_query!r:.80}"
        )
    for query, docs in docs_of_query.items():
        if not isinstance(query, str) or not isinstance(docs, MAPPINGS):
            raise TypeError(
                f"expected a string and {{document: {number_name}}}, got {query!r}: {docs!r:.80}"
            )


def _check_judgments(
    docs_of_query: Mapping[str, Mapping[str, int]],
) -> dict[str, Mapping[str, int]]:
    """Return the queries with judgments; raise TypeError for a grade that is no whole number."""
    _check_mappings(docs_of_query, "grade")
    for query, docs in docs_of_query.items():
        if set(map(type, docs.values())) <= {int}:
            continue  # the usual case: no need to check each grade
        for doc, grade in docs.items():
            if not isinstance(grade, int | np.integer):
                raise TypeError(
                    f"query {query!r}, document {doc!r}: expected a whole number as the grade, "
                    f"got {grade!r:.80}"
                )
    return {query: docs for query, docs in docs_of_query.items() if docs}


def _read_requests(measures: Iterable[str]) -> dict[str, str | None]:
    """Return {measure: its parameters, None for the usual ones} for names and nicknames."""
    if isinstance(measures, str):
        raise TypeError(f"expected a set of measures, as in {{{measures!r}}}, got {measures!r}")
    parameters_of_name: dict[str, str | None] = {}
    for measure in measures:
        for name, values in _read_request(measure):
            before = parameters_of_name.get(name)
            if before is None or values is None or before == values:
                parameters_of_name[name] = values or before
            elif usual_values(name):
                parameters_of_name[name] = f"{before},{values}"
            else:
                raise ValueError(f"{name} is given with {before} and with {values}")
    return parameters_of_name


def _read_request(measure: str) -> list[tuple[str, str | None]]:
    """Return the names that a request means, and the parameters after a point or underscore."""
    if not isinstance(measure, str):
        raise TypeError(f"expected the name of a measure, got {measure!r:.80}")
    names = supported_nicknames.get(measure, {measure})
    if names <= supported_measures:
        return [(name, None) for name in names]
    match = re.fullmatch(rf"(?P<name>.+?)[._](?P<values>{_VALUES_PATTERN})", measure)
    if match and match["name"] in supported_measures:
        return [(match["name"], re.sub(r"\s", "", match["values"]))]
    nearest_names = nearest_words(measure, [*supported_measures, *supported_nicknames])
    guess = f". Did you mean {nearest_names[0]}?" if nearest_names else ""
    raise ValueError(f"unsupported measure {measure}{guess}")


_NUMBER = r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_GAIN = rf"[0-9]+={_NUMBER}"
_VALUES_PATTERN = rf"{_NUMBER}(?:\s*,\s*{_NUMBER})*|{_GAIN}(?:\s*,\s*{_GAIN})*"


def _list_columns(
    requests: Mapping[str, str | None], level: int
) -> list[tuple[str, Measure | None]]:
    """Return the name and measure of each column, in trec_eval's order; None for texts.

    Raises ValueError for parameters that trec_eval does not take.
    """
    columns: list[tuple[str, Measure | None]] = []
    for name in _MEASURE_NAMES:
        if name in requests and name in _TEXT_MEASURES:
            columns.append((name, None))
        elif name in requests:
            parameters, has_values = requests[name], bool(usual_values(name))
            if parameters is not None and (has_values or name == "11pt_avg"):
                parameters = ",".join(sorted(set(parameters.split(",")), key=float))
            try:
                name_columns = columns_of(name, parameters, {"rel": level, "version": 9})
            except TrecEvalError as error:
                raise ValueError(str(error)) from None
            # Only values of which each is a measure are part of the names.
            columns += [
                (column.name if has_values else name, column.measure) for column in name_columns
            ]
    return columns
