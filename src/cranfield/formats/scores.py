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
from itertools import islice
from typing import Any, Literal

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.columns import NAMES as COLUMN_NAMES
from cranfield.formats.columns import plain_name
from cranfield.formats.identifiers import as_text
from cranfield.formats.records import Document, Origin, Records, Text, read_records
from cranfield.formats.source import Source
from cranfield.notes import Note

WideColumns = Literal["measures", "systems"]

# What the columns are called: the first of these that a row has is taken.
NAMES: Mapping[str, Sequence[str]] = {
    "system": ("run", "system", "run_id", "runid", "run_name", "system_id", "name"),
    "measure": ("measure", "metric", "measure_name", "metric_name"),
    "query": COLUMN_NAMES["query"],
    "value": ("value", "score", "measure_value"),
}
# The column in which pandas keeps a table's index, and what a file then has instead of a name.
INDEX = ("", "__index_level_0__", "Unnamed: 0")
# What tools write in place of a query's id where the value is one over all queries.
SUMMARIES = frozenset({"all", "ALL", "amean", "mean"})
_TEXTS = ("runid", "relstring")  # a query's value is a text, even where it looks like a number
_SAMPLE = 2000  # lines at either end, of which it is asked which side is the measure
_TRIED = 40  # and so many names of each side

System = str | None
Measure = str | None
_Score = tuple[int | None, System, Measure, Any, Any]  # the second to last is the query's id
_Error = Callable[..., InputError]


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

    def rows(self) -> Iterator[tuple[System, Measure, str, float]]:
        """Yield (system, measure, query, value)."""
        for (system, measure), values in self.scores.items():
            for query, value in values.items():
                yield system, measure, query, value

    def notes(self) -> list[Note]:
        """Return what was left out, in words."""
        said = [
            Note(
                "over-all",
                "info",
                f"{n:,} values of {query!r} left out: they are over all queries.",
                count=n,
            )
            for query, n in self.summaries.items()
        ]
        if self.texts:
            text = f"Left out, as they are no numbers: {', '.join(self.texts)}."
            said.append(Note("texts", "info", text))
        return said


def file_name_of(path: Any) -> str:
    """Return the name of the system whose scores a file holds: the file's, as for a run."""
    return Source(path).stem


def score_rows(
    data: Any, is_measure: Callable[[str], bool], columns: WideColumns = "measures"
) -> ScoreRows:
    """Return the scores of queries in a file, a table, a dict or rows.

    `is_measure` tells whether a text is the name of a measure: it decides which side of a file
    without names, or of a dict, is the measure, and which the query. `columns` says what the
    columns are of a table that has one for each measure or system; also what the outer names of
    a dict {system: {query: value}} are.

    Raises InputError for what is no score, and DuplicateError for a score that comes twice.
    """
    found = read_records(data, "the scores", ("query_id", "measure", "value"))
    if isinstance(found, Text) and _is_header(found.first()):
        found = found.records()
    if isinstance(found, Document) and found.is_plain and "query" in _roles(found.names):
        found = found.records()
    if isinstance(found, Text):
        return _gather(_headerless(found, is_measure), found)
    if isinstance(found, Records):
        return _gather(_named(found, columns), found)
    if isinstance(found.value.get("runs"), list):  # `cranfield evaluate --format json`
        return _gather(_document(found.value["runs"], found), found, frozenset())
    return _gather(_nested(found.value, is_measure, columns, found), found)


def _gather(rows: Iterable[_Score], origin: Origin, over_all: Set[str] = SUMMARIES) -> ScoreRows:
    error = origin.error
    found: dict[tuple[System, Measure], dict[str, float]] = {}
    text_columns: set[tuple[System, Measure]] = set()
    summaries: Counter[str] = Counter()
    texts: Counter[str] = Counter()
    refused: dict[str, InputError] = {}  # the first value of each measure that is no number
    of_numbers: dict[Any, str] = {}  # ids that are whole numbers
    missing = 0
    for at, system, measure, query, value in rows:
        scores = found.get((system, measure))
        if scores is None:
            scores = found[system, measure] = {}
            if measure is not None and measure.lower().startswith(_TEXTS):
                text_columns.add((system, measure))
        if type(query) is not str or not query or "\0" in query:
            if type(query) is int:
                query = of_numbers.get(query) or of_numbers.setdefault(query, str(query))
            else:
                query = _id(query, at, error)
        if query in over_all:
            summaries[query] += 1
            continue
        if value is None or (type(value) is str and not value):
            missing += 1
            continue
        number = value if type(value) is float else _number(value)
        if number is None or (text_columns and (system, measure) in text_columns):
            name = measure or "the scores"
            texts[name] += 1
            if name not in refused:
                problem = f"expected a number as {name} of query {query!r:.80}, got {value!r:.80}"
                refused[name] = error(at, problem)
        elif not math.isfinite(number):
            raise error(
                at,
                f"expected a finite number as {measure or 'the score'} of query {query!r:.80}, "
                f"got {value!r:.80}",
                "A query without a value has no row, or an empty cell: it is then missing.",
            )
        elif query in scores:
            of = " of ".join(repr(one) for one in (measure, system) if one is not None)
            raise error(
                at,
                f"a second {of or 'score'} for query {query!r:.80}",
                "Several systems' scores stand in files of their own, or have a column `run`.",
                DuplicateError,
            )
        else:
            scores[query] = number + 0.0  # never -0
    found = {key: values for key, values in found.items() if values}
    for _, measure in found:
        name = measure or "the scores"
        if name in refused:
            raise refused[name]
    if not found:
        if summaries:
            raise error(
                None,
                "holds values over all queries only",
                "Have each query's values saved: the option -q of trec_eval, ir_measures and "
                "`cranfield evaluate`.",
            )
        raise next(iter(refused.values()), error(None, "holds no scores of queries"))
    return ScoreRows(found, dict(summaries), dict(texts), missing)


def _id(value: Any, at: int | None, error: _Error) -> str:
    try:
        return as_text(value, "")
    except InputError as wrong:
        raise error(at, wrong.problem.removeprefix(": ")) from None


def _number(value: Any) -> float | None:
    """Return the number that a cell holds or a text spells; None if it is none."""
    if isinstance(value, str):
        if "_" in value or not value.isascii():
            return None
    elif isinstance(value, bool | bytes | bytearray):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf


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
    return known and all(_number(field) is None for field in fields)


def _named(records: Records, columns: WideColumns) -> Iterator[_Score]:
    names: Sequence[str] = ()
    of_systems = columns == "systems"
    system: System = None
    measure: Measure = None
    for at, own_names, values in records:
        if own_names is not names and own_names != names:  # other fields than the row above
            roles, wide = _understood(own_names, of_systems, records, at)
            names = own_names
            query_at, value_at = roles["query"], roles.get("value")
            system_at, measure_at = roles.get("system"), roles.get("measure")
        query = values[query_at]
        if system_at is not None:
            system = values[system_at]
            if type(system) is not str or not system:
                system = _id(system, at, records.error)
        if measure_at is not None:
            measure = str(values[measure_at]).strip()
        if value_at is None:
            for i, name in wide:
                if of_systems:
                    yield at, name, measure, query, values[i]
                else:
                    yield at, system, name, query, values[i]
            continue
        value = values[value_at]
        if not measure or value is None or (type(value) is str and not value):
            raise records.error(
                at,
                f"has no {'value' if measure else 'measure'} for query {query!r:.80}",
                "A query without a value has no row: it is then missing.",
            )
        yield at, system, measure, query, value


def _understood(
    names: Sequence[str], of_systems: bool, records: Records, at: int
) -> tuple[dict[str, int], list[tuple[int, str]]]:
    """Return {role: column's number}, and the number and name of the columns of values."""
    roles = _roles(names)
    if "query" not in roles:
        raise records.error(
            at,
            f"has no column of queries; it has {', '.join(names):.200}",
            f"It is called {NAMES['query'][0]!r}, or one of {', '.join(NAMES['query'][1:])}.",
        )
    if "measure" in roles and "value" in roles:
        return roles, []
    roles.pop("value", None)
    roles.pop("system" if of_systems else "measure", None)
    wide = [
        (i, name.strip())
        for i, name in enumerate(names)
        if i not in roles.values() and name not in INDEX
    ]
    if not wide:
        raise records.error(at, "has no column of values beside the queries")
    return roles, wide


# ---- lines without names ----------------------------------------------------------------------


def _headerless(text: Text, is_measure: Callable[[str], bool]) -> Iterator[_Score]:
    """Yield the scores of lines that hold a measure, a query and a value, or query and measure."""
    read = text.quoted if text.separator == "," else text.plain
    head = [fields for _, fields in islice(read(), _SAMPLE)]
    tail = [line.split(text.separator) for line in text.lines[-_SAMPLE:]]
    sample = [fields for fields in (*head, *tail) if len(fields) == 3]
    sides = [list(dict.fromkeys(fields[i].strip() for fields in sample)) for i in (0, 1)]
    measures_first = _is_first(sides[0], sides[1], is_measure)
    if sample and measures_first is None:
        raise text.error(
            1,
            "which of the first two columns is the measure, and which the query?",
            "Neither holds names of known measures. Begin the file with a line of the columns' "
            "names: query_id, measure, value.",
        )
    measure_at, query_at = (0, 1) if measures_first else (1, 0)
    for number, fields in read():
        if len(fields) != 3:
            raise text.error(
                number,
                f"expected a measure, a query and a value, got {len(fields)} columns",
                "A table of other columns begins with a line of their names, such as query_id.",
            )
        yield number, None, fields[measure_at].strip(), fields[query_at], fields[2]


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
                yield None, _id(run.get("run"), None, origin.error), str(measure), query, value


def _nested(
    data: Mapping[Any, Any],
    is_measure: Callable[[str], bool],
    columns: WideColumns,
    origin: Origin,
    system: System = None,
) -> Iterator[_Score]:
    deeper = any(
        isinstance(v, Mapping) for _, inner in _dicts(data, origin) for v in inner.values()
    )
    if deeper and system is None:
        for name, inner in data.items():
            own = _id(name, None, origin.error)
            yield from _nested(inner, is_measure, "measures", origin, own)
        return
    if columns == "systems":
        for system, values in _dicts(data, origin):
            name = _id(system, None, origin.error)
            for query, value in values.items():
                yield None, name, None, query, value
        return
    first: Mapping[Any, Any] = next((inner for _, inner in _dicts(data, origin)), {})
    measures_first = _is_first(list(map(str, data)), list(map(str, first)), is_measure)
    if measures_first is None:
        raise origin.error(
            None,
            "which names are measures: the outer ones, or the inner ones?",
            "Neither are known measures. Of {system: {query: value}}, say that the columns are "
            "systems; else give rows of query_id, measure and value.",
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
