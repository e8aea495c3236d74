"""Scores of queries that any tool saved: from files, tables, dicts and rows.

A score is (system, measure, query, value). Lines and rows may hold one each (trec_eval,
ir_measures, PyTerrier, this library's `evaluate -q`), or a column for each measure (data frames,
gdeval), or for each system. Nested dicts are {query: {measure: value}} (pytrec_eval) or
{measure: {query: value}} (ranx), or {system: either}.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.columns import NAMES as COLUMN_NAMES
from cranfield.formats.columns import plain_name
from cranfield.formats.small.read import INDEX, Bare, Document, Origin, Table, number_of, read_table
from cranfield.formats.source import Source
from cranfield.notes import Note

Layout = Literal["measures", "systems"]

# What the columns are called: the first of these that a row has is taken.
NAMES: Mapping[str, Sequence[str]] = {
    "system": ("run", "system", "run_id", "runid", "run_name", "system_id", "name"),
    "measure": ("measure", "metric", "measure_name", "metric_name"),
    "query": COLUMN_NAMES["query"],
    "value": ("value", "score", "measure_value"),
}
# What tools write in place of a query's id where the value is one over all queries.
SUMMARIES = frozenset({"all", "ALL", "amean", "mean"})
_TEXTS = ("runid", "relstring")  # a query's value is a text, even where it looks like a number
_TRIED = 40  # names of each side, of which it is asked whether they are measures
_BARE = Bare(
    3,
    "a measure, a query and a value,",
    hint="A table of other columns begins with a line of their names, such as query_id.",
    quoted=",",
)

_OVER_ALL = (
    "Have each query's values saved: the option -q of trec_eval, ir_measures and `cranfield "
    "evaluate`."
)

System = str | None
Measure = str | None
_Score = tuple[int | None, System, Measure, Any, Any]  # the row, ..., the query, the value


@dataclass(frozen=True)
class ScoreRows:
    """Scores by system and measure, as the file names them, and what was left out.

    `scores` is {(system, measure): {query: value}}; the system is None where nothing names it, the
    measure where the columns are systems. `summaries` counts the values over all queries, by what
    stands in place of a query; `texts` those that are no numbers, by measure. `missing` counts the
    empty cells.
    """

    scores: Mapping[tuple[System, Measure], Mapping[str, float]]
    summaries: Mapping[str, int]
    texts: Mapping[str, int]
    missing: int = 0

    def notes(self) -> list[Note]:
        """Return what was left out, in words."""
        left_out = "values of {!r} left out: they are over all queries."
        said = [
            Note("over-all", "info", f"{n:,} {left_out.format(query)}", count=n)
            for query, n in self.summaries.items()
        ]
        if self.texts:
            text = f"Left out, as they are no numbers: {', '.join(self.texts)}."
            said.append(Note("texts", "info", text))
        return said


def file_name_of(path: Any) -> str:
    """Return the name of the system whose scores a file holds: the file's, as for a run."""
    from cranfield.formats.files import stem_of  # and all formats, which tables do not need

    return stem_of(Source(path))


def score_rows(
    data: Any, is_measure: Callable[[str], bool], layout: Layout = "measures"
) -> ScoreRows:
    """Return the scores of queries in a file, a table, a dict or rows.

    `is_measure` tells whether a text is the name of a measure: it decides which side of a file
    without names, or of a dict, is the measure, and which the query. `layout` says what the
    columns are of a table that has one for each measure or system; also what the outer names of
    a dict {system: {query: value}} are.

    Raises InputError for what is no score, and DuplicateError for a score that comes twice.
    """
    found = read_table(data, "the scores", ("query_id", "measure", "value"), _BARE, _is_header)
    if isinstance(found, Document):
        found = found.as_row(NAMES["query"]) or found
    if isinstance(found, Table):
        rows = _named(found, layout) if found.names else _bare(found, is_measure)
        return _gather(rows, found)
    if isinstance(found.value.get("runs"), list):  # `cranfield evaluate --format json`
        return _gather(_document(found.value["runs"], found), found, frozenset())
    return _gather(_nested(found.value, is_measure, layout, found), found)


def _gather(rows: Iterable[_Score], origin: Origin, over_all: Set[str] = SUMMARIES) -> ScoreRows:
    found: dict[tuple[System, Measure], dict[str, float]] = {}
    text_columns: set[tuple[System, Measure]] = set()
    summaries: Counter[str] = Counter()
    texts: Counter[str] = Counter()
    refused: dict[str, InputError] = {}  # the first value of each measure that is no number
    missing = 0
    for at, system, measure, query, value in rows:
        scores = found.get((system, measure))
        if scores is None:
            scores = found[system, measure] = {}
            if measure is not None and measure.lower().startswith(_TEXTS):
                text_columns.add((system, measure))
        if type(query) is not str or not query or "\0" in query:
            query = origin.id_of(at, query)
        if query in over_all:
            summaries[query] += 1
            continue
        if _is_empty(value):
            missing += 1
            continue
        number = value if type(value) is float else number_of(value)
        if number is None or (text_columns and (system, measure) in text_columns):
            name = measure or "the scores"
            texts[name] += 1
            if name not in refused:
                problem = f"expected a number as {name} of query {query!r:.80}, got {value!r:.80}"
                refused[name] = origin.error(at, problem)
        elif not math.isfinite(number):
            raise origin.error(
                at,
                f"expected a finite number as {measure or 'the score'} of query {query!r:.80}, "
                f"got {value!r:.80}",
                "A query without a value has no row, or an empty cell: it is then missing.",
            )
        elif query in scores:
            of = " of ".join(repr(one) for one in (measure, system) if one is not None)
            raise origin.error(
                at,
                f"a second {of or 'score'} for query {query!r:.80}",
                "Several systems' scores stand in files of their own, or have a column `run`.",
                DuplicateError,
            )
        else:
            scores[query] = number + 0.0  # never -0
    found = {key: values for key, values in found.items() if values}
    for _, measure in found:
        if (measure or "the scores") in refused:
            raise refused[measure or "the scores"]
    if not found and summaries:
        raise origin.error(None, "holds values over all queries only", _OVER_ALL)
    if not found:
        raise next(iter(refused.values()), origin.error(None, "holds no scores of queries"))
    return ScoreRows(found, dict(summaries), dict(texts), missing)


def _is_empty(value: Any) -> bool:
    return value is None or (type(value) is str and not value)


# ---- rows with names --------------------------------------------------------------------------


def _roles(names: Sequence[str]) -> dict[str, int]:
    """Return {role: the number of the column that has it}."""
    plain = [plain_name(name) for name in names]
    found = {}
    for role, known in NAMES.items():
        name = next((name for name in known if name in plain), None)
        if name is not None:
            found[role] = plain.index(name)
    index = next((i for i, name in enumerate(names) if name in INDEX), None)
    if "query" not in found and index is not None:
        found["query"] = index
    return found


def _is_header(fields: Sequence[str]) -> bool:
    """Tell whether a first line holds names: of a column of queries, and no number."""
    known = "query" in _roles(fields) and len(fields) > 1
    return known and all(number_of(field) is None for field in fields)


def _named(table: Table, layout: Layout) -> Iterator[_Score]:
    roles = _roles(table.names)
    if "query" not in roles and table.n_rows:
        raise table.no_queries(0, NAMES["query"])
    wide: list[tuple[int, str]] = []  # the columns of values
    if not {"measure", "value"} <= roles.keys():
        roles.pop("value", None)
        roles.pop("system" if layout == "systems" else "measure", None)
        taken = set(roles.values())
        named = ((i, name) for i, name in enumerate(table.names) if name not in INDEX)
        wide = [(i, name.strip()) for i, name in named if i not in taken]
        if not wide and table.n_rows:
            raise table.error(0, "has no column of values beside the queries")
    nothing = [None] * table.n_rows
    query, system, measure, value = (
        table.columns[roles[role]] if role in roles else nothing
        for role in ("query", "system", "measure", "value")
    )
    for at in range(table.n_rows):
        if query[at] is None:
            raise table.no_queries(at, NAMES["query"])
        of_system = system[at]
        if "system" in roles and (type(of_system) is not str or not of_system):
            of_system = table.id_of(at, of_system)
        of_measure = None if measure[at] is None else str(measure[at]).strip()
        if "measure" in roles and not of_measure:
            raise _lacking(table, at, "measure", query[at])
        for i, name in wide:
            if layout == "systems":
                yield at, name, of_measure, query[at], table.columns[i][at]
            else:
                yield at, of_system, name, query[at], table.columns[i][at]
        if not wide:
            if _is_empty(value[at]):
                raise _lacking(table, at, "value", query[at])
            yield at, of_system, of_measure, query[at], value[at]


def _lacking(table: Table, at: int, what: str, query: Any) -> InputError:
    hint = "A query without a value has no row: it is then missing."
    return table.error(at, f"has no {what} for query {query!r:.80}", hint)


# ---- lines without names ----------------------------------------------------------------------


def _bare(table: Table, is_measure: Callable[[str], bool]) -> Iterator[_Score]:
    """Yield the scores of lines that hold a measure, a query and a value, or query and measure."""
    sides = [list(dict.fromkeys(map(str.strip, column))) for column in table.columns[:2]]
    measures_first = _is_first(sides[0], sides[1], is_measure)
    if table.n_rows and measures_first is None:
        raise table.error(
            0,
            "which of the first two columns is the measure, and which the query?",
            "Neither holds names of known measures. Begin the file with a line of the columns' "
            "names: query_id, measure, value.",
        )
    measure, query = table.columns[:2] if measures_first else table.columns[1::-1]
    for at, value in enumerate(table.columns[2]):
        yield at, None, measure[at].strip(), query[at], value


def _is_first(
    first: Sequence[str], second: Sequence[str], is_measure: Callable[[str], bool]
) -> bool | None:
    """Tell whether the first names are measures, and the second ids of queries; None: unknown.

    Those are of which more are known measures; then those that do not hold `all`.
    """
    shares = []
    for names in (first, second):
        tried = [name for name in names if name not in SUMMARIES][:_TRIED]
        shares.append(sum(map(is_measure, tried)) / max(1, len(tried)))
    if shares[0] != shares[1]:
        return shares[0] > shares[1]
    over_all = [not SUMMARIES.isdisjoint(names) for names in (first, second)]
    return over_all[1] if over_all[0] != over_all[1] else None


# ---- nested dicts -----------------------------------------------------------------------------


def _document(runs: Iterable[Any], origin: Origin) -> Iterator[_Score]:
    for run in runs:
        queries = run.get("queries") if isinstance(run, Mapping) else None
        if not isinstance(queries, Mapping):
            raise origin.error(
                None,
                "a run has no 'queries'",
                "Have each query's values saved: `cranfield evaluate --per-query --format json`.",
            )
        for query, values in _dicts(queries, origin):
            for measure, value in values.items():
                yield None, origin.id_of(None, run.get("run")), str(measure), query, value


def _nested(
    data: Mapping[Any, Any],
    is_measure: Callable[[str], bool],
    layout: Layout,
    origin: Origin,
    system: System = None,
) -> Iterator[_Score]:
    deeper = any(
        isinstance(v, Mapping) for _, inner in _dicts(data, origin) for v in inner.values()
    )
    if deeper and system is None:
        for name, inner in data.items():
            own = origin.id_of(None, name)
            yield from _nested(inner, is_measure, "measures", origin, own)
        return
    if layout == "systems":
        for system, values in _dicts(data, origin):
            name = origin.id_of(None, system)
            for query, value in values.items():
                yield None, name, None, query, value
        return
    first: Mapping[Any, Any] = next((inner for _, inner in _dicts(data, origin)), {})
    measures_first = _is_first(list(map(str, data)), list(map(str, first)), is_measure)
    if measures_first is None:
        raise origin.error(
            None,
            "which names are measures: the outer ones, or the inner ones?",
            "Neither are known measures. Of {system: {query: value}}, say layout='systems' "
            "(--layout systems); else give rows of query_id, measure and value.",
        )
    for outer, values in _dicts(data, origin):
        for inner, value in values.items():
            if measures_first:
                yield None, system, str(outer), inner, value
            else:
                yield None, system, str(inner), outer, value


def _dicts(data: Mapping[Any, Any], origin: Origin) -> Iterator[tuple[Any, Mapping[Any, Any]]]:
    for name, inner in data.items():
        if not isinstance(inner, Mapping):
            raise origin.error(None, f"expected a dict for {name!r:.80}, got {inner!r:.80}")
        yield name, inner
