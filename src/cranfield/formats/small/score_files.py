"""Scores of queries, saved by any tool: from files, tables, dicts and rows.

A score is (system, measure, query, value). Lines and rows may hold one score each (trec_eval,
ir_measures, PyTerrier, this library's `evaluate -q`), or a column for each measure (data frames,
gdeval), or for each system. Nested dicts are {query: {measure: value}} (pytrec_eval) or
{measure: {query: value}} (ranx), or {system: either}. The JSON of `evaluate -q` and of `compare`
has the scores of several systems.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.columns import NAMES as COLUMN_NAMES
from cranfield.formats.small.read import NestedObject, TableForm, Origin, Table, parse_number, read_table
from cranfield.formats.source import Source
from cranfield.notes import Note, merge_notes, read_note

Layout = Literal["measures", "systems"]

# The names of the columns: the first one that a row has is used.
NAMES: Mapping[str, Sequence[str]] = {
    "system": ("run", "system", "run_id", "runid", "run_name", "system_id", "name"),
    "measure": ("measure", "metric", "measure_name", "metric_name"),
    "query": COLUMN_NAMES["query"],
    "value": ("value", "score", "measure_value"),
}
# What tools write instead of a query's id for a value over all queries.
SUMMARIES = frozenset({"all", "ALL", "amean", "mean"})
_TEXTS = ("runid", "relstring")  # their values are texts, even if they look like numbers
GREATEST_SCORE = 1e100  # beyond it, squares may overflow
_N_SAMPLE_NAMES = 40  # how many names of each side are tried as measures
_FORM = TableForm(
    "the scores",
    ("query_id", "measure", "value"),
    header_names=NAMES["query"],
    bare_description="a measure, a query and a value,",
    hint="A table with other columns must begin with a line of their names, such as query_id.",
    quoted_separators=",",
)

_PER_QUERY_HINT = (
    "Save each query's values: the option -q of trec_eval, ir_measures and `cranfield evaluate`."
)

System = str | None
Measure = str | None
_ScoreCell = tuple[int | None, System, Measure, Any, Any]  # the row, ..., the query, the value


@dataclass(frozen=True)
class ScoreRows:
    """Scores by system and measure, with the file's names, and what was left out.

    `scores` is {(system, measure): {query: value}}; the system is None if it has no name, the
    measure if the columns are systems. `summaries` counts the values over all queries, by the text
    instead of a query's id; `texts` counts the values that are not numbers, by measure. `missing`
    counts the empty cells. `recipe` is how the scores were computed, and `retrieved` a sketch of
    the documents that each system retrieved, if the file has them; `made_of` is what these
    documents were made of, of systems where they were mapped. `warnings` were given when the
    scores were computed, by system. `source` is the name of the file, or of what it is, in errors.
    """

    source: str
    scores: Mapping[tuple[System, Measure], Mapping[str, float]]
    summaries: Mapping[str, int]
    text_counts: Mapping[str, int]
    n_missing: int = 0
    recipe: Mapping[str, Any] = field(default_factory=dict)
    retrieved_sketches: Mapping[System, str] = field(default_factory=dict)
    conversions: Mapping[System, str] = field(default_factory=dict)
    warnings: Sequence[tuple[str, Note]] = ()

    def notes(self) -> list[Note]:
        """Return what was left out, in words."""
        notes = []
        for query, n in self.summaries.items():
            text = f"{n:,} of {query!r} left out: the value over all queries."
            notes.append(Note("over-all", "info", text, count=n))
        if self.text_counts:
            text = f"Left out, as they are not numbers: {', '.join(self.text_counts)}."
            notes.append(Note("texts", "info", text))
        return [*notes, *merge_notes(self.warnings)]


def system_name_of_file(path: Any) -> str:
    """Return the name of the system in a file of scores: from the file's name, as for a run."""
    from cranfield.formats.files import stem_of  # slow, and not needed for tables

    return stem_of(Source(path))


def read_scores(
    data: Any, is_measure: Callable[[str], bool], layout: Layout = "measures"
) -> ScoreRows:
    """Return the scores of queries in a file, a table, a dict or rows.

    `is_measure` tells whether a text is the name of a measure: it decides which side of a file
    without names, or of a dict, is the measure, and which is the query. `layout` says whether the
    columns of a table are measures or systems; also whether the outer names of a dict {system:
    {query: value}} are.

    Raises InputError for a value that is not a score, DuplicateError for a score that occurs twice.
    """
    found = read_table(data, _FORM)
    if isinstance(found, Table):
        rows = _read_lines_without_names(found, is_measure) if found.bare else _read_named_rows(found, layout)
        return _gather(rows, found)
    if isinstance(found.value.get("runs"), list):  # `cranfield evaluate --format json`
        scores = _gather(_read_runs(found.value["runs"], found), found, frozenset())
        recipe = found.value.get("recipe")
        if not isinstance(recipe, Mapping):
            return scores
        runs = {found.read_id(None, run.get("run")): run for run in found.value["runs"]}

        def texts(what: str) -> dict[System, str]:
            return {name: run[what] for name, run in runs.items() if isinstance(run.get(what), str)}

        noted = (
            (name, read_note(one)) for name, run in runs.items() for one in _list_or_empty(run.get("notes"))
        )
        grave = [(name, note) for name, note in noted if note is not None and note.is_grave]
        return replace(
            scores,
            recipe=recipe,
            retrieved=texts("retrieved"),
            made_of=texts("made_of"),
            warnings=grave,
        )
    ids, scores_of = found.value.get("query_ids"), found.value.get("scores")
    if isinstance(ids, list) and isinstance(
        scores_of, Mapping
    ):  # `cranfield compare --format json`
        return _gather(_read_comparison(ids, NestedObject(found.name, scores_of)), found, frozenset())
    return _gather(_read_nested(found, is_measure, layout), found)


def read_system_scores(data: Mapping[Any, Any], name: str, is_measure: Callable[[str], bool]) -> ScoreRows:
    """Return the scores of one system in a dict.

    It is {query: value}, {measure: {query: value}} or {query: {measure: value}}, the last only for
    known measures. Raises the same errors as `score_rows`.
    """
    found = NestedObject(name, data)
    if any(isinstance(inner, Mapping) for inner in data.values()):
        return _gather(_read_system(found, is_measure, None, measures_first=True), found)
    return _gather(((None, None, None, *pair) for pair in found.read_leaves(1)), found)


def _gather(rows: Iterable[_ScoreCell], origin: Origin, summary_names: Set[str] = SUMMARIES) -> ScoreRows:
    found: dict[tuple[System, Measure], dict[str, float]] = {}
    text_columns: set[tuple[System, Measure]] = set()
    summaries: Counter[str] = Counter()
    texts: Counter[str] = Counter()
    refused: dict[str, InputError] = {}  # the first value of each measure that is not a number
    missing = 0
    for at, system, measure, query, value in rows:
        scores = found.get((system, measure))
        if scores is None:
            scores = found[system, measure] = {}
            if measure is not None and measure.lower().startswith(_TEXTS):
                text_columns.add((system, measure))
        if type(query) is not str or not query or "\0" in query:
            query = origin.read_id(at, query)
        if query in summary_names:
            summaries[query] += 1
            continue
        if _is_empty(value):
            missing += 1
            continue
        number = value if type(value) is float else parse_number(value)
        if number is None or (text_columns and (system, measure) in text_columns):
            name = measure or "the scores"
            texts[name] += 1
            if name not in refused:
                problem = f"expected a number as {name} of query {query!r:.80}, got {value!r:.80}"
                refused[name] = origin.row_error(at, problem)
        elif not math.isfinite(number):
            if at is None:
                raise not_a_score_error(origin.name, measure, query, value)
            raise origin.row_error(
                at,
                f"expected a finite number as {measure or 'the score'} of query {query!r:.80}, "
                f"got {value!r:.80}",
                "For a query without a value, leave out the row, or the value: it is then missing.",
            )
        elif query in scores and at is None:
            raise origin.row_error(None, f"the query {query!r:.80} occurs twice", kind=DuplicateError)
        elif query in scores:
            of = " of ".join(repr(one) for one in (measure, system) if one is not None)
            raise origin.row_error(
                at,
                f"a second {of or 'score'} for query {query!r:.80}",
                "Put each system's scores into its own file, or add a column `run`.",
                DuplicateError,
            )
        else:
            scores[query] = number + 0.0  # never -0
    found = {key: values for key, values in found.items() if values}
    for _, measure in found:
        if (measure or "the scores") in refused:
            raise refused[measure or "the scores"]
    if not found and summaries:
        raise origin.row_error(None, "holds values over all queries only", _PER_QUERY_HINT)
    if not found:
        raise next(iter(refused.values()), origin.row_error(None, "holds no scores: there is no query"))
    return ScoreRows(origin.name, found, dict(summaries), dict(texts), missing)


def not_a_score_error(system: str, measure: Measure, query: str, value: object) -> InputError:
    """Return the error for a value that is not a score."""
    return InputError(
        f"{system}: {measure or 'score'} of query {query!r} is {value!r:.40}: expected a number of "
        f"at most {GREATEST_SCORE:g}"
    )


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_empty(value: Any) -> bool:
    return value is None or (type(value) is str and not value)


# ---- rows with names --------------------------------------------------------------------------


def _read_named_rows(table: Table, layout: Layout) -> Iterator[_ScoreCell]:
    if not table.n_rows:
        return
    found = {role: table.find_column(names) for role, names in NAMES.items()}
    found["query"] = table.find_query_column(NAMES["query"])
    roles = {role: place for role, place in found.items() if place is not None}
    wide: list[tuple[int, str]] = []  # the columns of values
    if not {"measure", "value"} <= roles.keys():
        roles.pop("value", None)
        roles.pop("system" if layout == "systems" else "measure", None)
        wide = table.other_columns(roles.values())
        if not wide:
            raise table.row_error(0, "has no column of values, only queries")
    nothing = [None] * table.n_rows
    columns = (
        table.columns[roles[role]] if role in roles else nothing
        for role in ("system", "measure", "query", "value")
    )
    for at, (system, measure, query, value) in enumerate(zip(*columns, strict=True)):
        if "system" in roles and (type(system) is not str or not system):
            system = table.read_id(at, system)
        measure = None if measure is None else str(measure).strip()
        if "measure" in roles and not measure:
            raise _missing_cell_error(table, at, "measure", query)
        for i, name in wide:
            if layout == "systems":
                yield at, name, measure, query, table.columns[i][at]
            else:
                yield at, system, name, query, table.columns[i][at]
        if not wide:
            if _is_empty(value):
                raise _missing_cell_error(table, at, "value", query)
            yield at, system, measure, query, value


def _missing_cell_error(table: Table, row: int, role: str, query: Any) -> InputError:
    hint = "For a query without a value, leave out the row: it is then missing."
    return table.row_error(row, f"has no {role} for query {query!r:.80}", hint)


# ---- lines without names ----------------------------------------------------------------------


def _read_lines_without_names(table: Table, is_measure: Callable[[str], bool]) -> Iterator[_ScoreCell]:
    """Yield the scores from lines with measure, query and value, or query, measure and value."""
    sides = [list(dict.fromkeys(map(str.strip, column))) for column in table.columns[:2]]
    measures_first = _are_measures_first(sides[0], sides[1], is_measure)
    if table.n_rows and measures_first is None:
        raise table.row_error(
            0,
            "which of the first two columns is the measure, and which the query?",
            "Neither has names of known measures. Begin the file with a line of the columns' "
            "names: query_id, measure, value.",
        )
    measure, query = table.columns[:2] if measures_first else table.columns[1::-1]
    for at, value in enumerate(table.columns[2]):
        yield at, None, measure[at].strip(), query[at], value


def _are_measures_first(
    first: Sequence[str], second: Sequence[str], is_measure: Callable[[str], bool]
) -> bool | None:
    """Tell whether the first names are measures, and the second ids of queries; None: unknown.

    The side with more known measures is the measures; else, the side without `all`.
    """
    shares = []
    for names in (first, second):
        tried = [name for name in names if name not in SUMMARIES][:_N_SAMPLE_NAMES]
        shares.append(sum(map(is_measure, tried)) / max(1, len(tried)))
    if shares[0] != shares[1]:
        return shares[0] > shares[1]
    over_all = [not SUMMARIES.isdisjoint(names) for names in (first, second)]
    return over_all[1] if over_all[0] != over_all[1] else None


# ---- nested dicts -----------------------------------------------------------------------------


def _read_runs(runs: Iterable[Any], origin: Origin) -> Iterator[_ScoreCell]:
    for run in runs:
        queries = run.get("queries") if isinstance(run, Mapping) else None
        if not isinstance(queries, Mapping):
            raise origin.row_error(
                None,
                "a run has no 'queries'",
                "Save each query's values: `cranfield evaluate --per-query --format json`.",
            )
        system = origin.read_id(None, run.get("run"))
        for query, measure, value in NestedObject(origin.name, queries).read_leaves(2):
            yield None, system, str(measure), query, value


def _read_comparison(ids: Sequence[Any], nested: NestedObject) -> Iterator[_ScoreCell]:
    for measure, name, values in nested.read_leaves(2):
        if not isinstance(values, list) or len(values) != len(ids):
            problem = f"expected a score for each of the {len(ids):,} 'query_ids'"
            raise nested.row_error(None, f"{problem}, of {name!r:.80} under {measure!r:.80}")
        system = nested.read_id(None, name)
        for query, value in zip(ids, values, strict=True):
            yield None, system, str(measure), query, value


def _read_nested(nested: NestedObject, is_measure: Callable[[str], bool], layout: Layout) -> Iterator[_ScoreCell]:
    if any(isinstance(value, Mapping) for *_, value in nested.read_leaves(2)):
        for name, inner in nested.value.items():
            system = nested.read_id(None, name)
            yield from _read_system(NestedObject(nested.name, inner), is_measure, system)
    elif layout == "systems":
        for name, query, value in nested.read_leaves(2):
            yield None, nested.read_id(None, name), None, query, value
    else:
        yield from _read_system(nested, is_measure, None)


def _read_system(
    nested: NestedObject,
    is_measure: Callable[[str], bool],
    system: System,
    measures_first: bool | None = None,
) -> Iterator[_ScoreCell]:
    """Yield the scores of a dict of dicts; `measures_first` where neither side is known."""
    dicts = (inner for inner in nested.value.values() if isinstance(inner, Mapping))
    first: Mapping[Any, Any] = next(dicts, {})
    known = _are_measures_first(list(map(str, nested.value)), list(map(str, first)), is_measure)
    measures_first = measures_first if known is None else known
    if measures_first is None:
        raise nested.row_error(
            None,
            "which names are measures: the outer ones, or the inner ones?",
            "Neither are known measures. For {system: {query: value}}, set layout='systems' "
            "(--layout systems); else give rows of query_id, measure and value.",
        )
    for outer, inner, value in nested.read_leaves(2):
        measure, query = (outer, inner) if measures_first else (inner, outer)
        yield None, system, str(measure), query, value
