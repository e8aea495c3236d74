"""Score files: reads scores of queries, saved by any tool, from files, tables, dicts and rows.

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
from typing import Any, Literal, cast

from cranfield.errors import DuplicateError, InputError
from cranfield.formats.columns import NAMES as COLUMN_NAMES
from cranfield.formats.small.read import (
    NestedObject,
    Origin,
    Table,
    TableForm,
    parse_number,
    read_table,
)
from cranfield.formats.source import Source
from cranfield.notes import Note, merge_notes, read_note
from cranfield.options import finite_number

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
# Measures whose names begin so have texts as values, even if these look like numbers.
_TEXTS = ("runid", "relstring")
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
    """Scores by system and measure, with the file's names, and counts of what was left out.

    `scores` is {(system, measure): {query: score}}; the system and the measure are None if they
    have no name. `summaries` counts the values over all queries, by the text instead of a query's
    id; `text_counts` counts the values that are not numbers, by measure; `n_missing` counts the
    empty cells. `recipe` is how `cranfield evaluate` computed the scores; `retrieved_sketches` are,
    by system, sketches of the documents that were retrieved, and `conversions` say what the
    documents were made of, such as chunks; `judged_shares` are, by system and measure, shares of
    documents that are judged. `warnings` were given when the scores were computed, as
    (system, note). `source` is the name of the file, or of the data, in errors.
    """

    source: str
    scores: Mapping[tuple[System, Measure], Mapping[str, float]]
    summaries: Mapping[str, int]
    text_counts: Mapping[str, int]
    n_missing: int = 0
    recipe: Mapping[str, Any] = field(default_factory=dict)
    retrieved_sketches: Mapping[System, str] = field(default_factory=dict)
    conversions: Mapping[System, str] = field(default_factory=dict)
    judged_shares: Mapping[System, Mapping[str, float]] = field(default_factory=dict)
    warnings: Sequence[tuple[str, Note]] = ()

    def notes(self) -> list[Note]:
        """Return notes on the summaries and texts that were left out, and the warnings."""
        notes = []
        for query, n in self.summaries.items():
            text = f"{n:,} of {query!r} left out: the value over all queries."
            notes.append(Note("over-all", "info", text, count=n))
        if self.text_counts:
            text = f"Left out, as they are not numbers: {', '.join(self.text_counts)}."
            notes.append(Note("texts", "info", text))
        return [*notes, *merge_notes(self.warnings)]


def system_name_of_file(path: Any) -> str:
    """Return the name of the system in a file of scores: the file's name, as for a run."""
    from cranfield.formats.files import stem_of  # slow, and not needed for tables

    return stem_of(Source(path))


def read_scores(
    data: Any, is_measure: Callable[[str], bool], layout: Layout = "measures"
) -> ScoreRows:
    """Return the scores of queries in a file, a table, a dict or rows.

    `is_measure` tells whether a text is the name of a measure: it decides which side of a file
    without names, or of a dict, is the measure, and which is the query. `layout` says whether the
    columns of a table are measures or systems; "systems" makes the outer names of a dict systems,
    too: {system: {query: value}}.

    Raises InputError for a value that is not a score, and for data without scores or of unclear
    sides; DuplicateError for a score that occurs twice.
    """
    source = read_table(data, _FORM)
    if isinstance(source, Table):
        if source.is_headless:
            return _gather(_read_lines_without_names(source, is_measure), source)
        return _gather(_read_named_rows(source, layout), source)
    members = source.members
    if isinstance(members.get("runs"), list):  # `cranfield evaluate --format json`
        scores = _gather(_read_runs(members["runs"], source), source, frozenset())
        recipe = members.get("recipe")
        if not isinstance(recipe, Mapping):
            return scores
        runs = {source.read_id(None, run.get("run")): run for run in members["runs"]}

        def find_values(key: str, kind: type) -> dict[System, Any]:
            return {name: run[key] for name, run in runs.items() if isinstance(run.get(key), kind)}

        notes = [
            (name, read_note(note))
            for name, run in runs.items()
            for note in (run["notes"] if isinstance(run.get("notes"), list) else ())
        ]
        return replace(
            scores,
            recipe=recipe,
            retrieved_sketches=find_values("retrieved", str),
            conversions=find_values("made_of", str),
            judged_shares={
                name: _check_shares(run["judged"], name, source)
                for name, run in runs.items()
                if "judged" in run
            },
            warnings=[
                (name, note)
                for name, note in notes
                if note is not None and (note.is_grave or note.code == "model-labels")
            ],
        )
    ids, columns = members.get("query_ids"), members.get("scores")
    if isinstance(ids, list) and isinstance(columns, Mapping):  # `cranfield compare --format json`
        cells = _read_comparison(ids, NestedObject(source.name, columns))
        return _gather(cells, source, frozenset())
    return _gather(_read_nested(source, is_measure, layout), source)


def _check_shares(shares: Any, system: System, source: NestedObject) -> Mapping[str, float]:
    """Return {measure: share judged} of a run; InputError for what is no share from 0 to 1."""
    for measure, share in shares.items() if isinstance(shares, dict) else [("measure", shares)]:
        number = finite_number(share)
        if number is None or not 0 <= number <= 1:
            problem = f"'judged' of {system}, {measure!r:.80}: expected a share from 0 to 1"
            raise source.row_error(None, f"{problem}, got {share!r:.80}")
    return cast("dict[str, float]", shares)


def read_system_scores(
    data: Mapping[Any, Any], name: str, is_measure: Callable[[str], bool]
) -> ScoreRows:
    """Return the scores of one system in a dict.

    The dict is {query: score}, {measure: {query: score}} or {query: {measure: score}}, the last
    only for known measures. `name` is the dict's in errors, which are those of `read_scores`.
    """
    source = NestedObject(name, data)
    if any(isinstance(inner, Mapping) for inner in data.values()):
        return _gather(_read_system(source, is_measure, None, measures_first=True), source)
    cells = ((None, None, None, *pair) for pair in source.read_leaves(1))
    return _gather(cells, source)


def _gather(
    cells: Iterable[_ScoreCell], origin: Origin, summary_names: Set[str] = SUMMARIES
) -> ScoreRows:
    """Return the scores in cells, without texts, summaries and empty cells, which are counted.

    Raises InputError for a number that is not finite, a score that comes twice, a text beside
    numbers, and where no score is left. `summary_names` are written instead of a query's id for a
    value over all queries.
    """
    scores_of_column: dict[tuple[System, Measure], dict[str, float]] = {}
    text_columns: set[tuple[System, Measure]] = set()
    summaries: Counter[str] = Counter()
    text_counts: Counter[str] = Counter()
    error_of_measure: dict[str, InputError] = {}  # of its first value that is not a number
    n_missing = 0
    for row, system, measure, query, value in cells:
        scores = scores_of_column.get((system, measure))
        if scores is None:
            scores = scores_of_column[system, measure] = {}
            if measure is not None and measure.lower().startswith(_TEXTS):
                text_columns.add((system, measure))
        if type(query) is not str or not query or "\0" in query:
            query = origin.read_id(row, query)
        if query in summary_names:
            summaries[query] += 1
            continue
        if _is_empty(value):
            n_missing += 1
            continue
        number = value if type(value) is float else parse_number(value)
        if number is None or (text_columns and (system, measure) in text_columns):
            name = measure or "the scores"
            text_counts[name] += 1
            if name not in error_of_measure:
                problem = f"expected a number as {name} of query {query!r:.80}, got {value!r:.80}"
                error_of_measure[name] = origin.row_error(row, problem)
        elif not math.isfinite(number):
            if row is None:
                raise not_a_score_error(origin.name, measure, query, value)
            raise origin.row_error(
                row,
                f"expected a finite number as {measure or 'the score'} of query {query!r:.80}, "
                f"got {value!r:.80}",
                "For a query without a value, leave out the row, or the value: it is then missing.",
            )
        elif query in scores:
            raise _repeated_query_error(origin, row, system, measure, query)
        else:
            scores[query] = number + 0.0  # never -0
    scores_of_column = {key: values for key, values in scores_of_column.items() if values}
    for _, measure in scores_of_column:
        if (measure or "the scores") in error_of_measure:
            raise error_of_measure[measure or "the scores"]
    if not scores_of_column and summaries:
        raise origin.row_error(None, "holds values over all queries only", _PER_QUERY_HINT)
    if not scores_of_column:
        no_scores = origin.row_error(None, "holds no scores: there is no query")
        raise next(iter(error_of_measure.values()), no_scores)
    return ScoreRows(origin.name, scores_of_column, dict(summaries), dict(text_counts), n_missing)


def _repeated_query_error(
    origin: Origin, row: int | None, system: System, measure: Measure, query: str
) -> InputError:
    """Return the error for a second score of a query, in a row of a table or in a nested object."""
    if row is None:
        return origin.row_error(None, f"the query {query!r:.80} occurs twice", kind=DuplicateError)
    owner = " of ".join(repr(label) for label in (measure, system) if label is not None)
    return origin.row_error(
        row,
        f"a second {owner or 'score'} for query {query!r:.80}",
        "Put each system's scores into its own file, or add a column `run`.",
        DuplicateError,
    )


def not_a_score_error(owner: str, measure: Measure, query: str, value: object) -> InputError:
    """Return the error for a value that is not a score; `owner` is its system, or the data."""
    return InputError(
        f"{owner}: {measure or 'score'} of query {query!r} is {value!r:.40}: expected a number of "
        f"at most {GREATEST_SCORE:g}"
    )


def _is_empty(cell: Any) -> bool:
    return cell is None or (type(cell) is str and not cell)


def _read_named_rows(table: Table, layout: Layout) -> Iterator[_ScoreCell]:
    """Yield the scores in rows with one score each, or with columns of measures or of systems."""
    if not table.n_rows:
        return
    optional_positions = {role: table.find_column(names) for role, names in NAMES.items()}
    optional_positions["query"] = table.find_query_column(NAMES["query"])
    position_of_role = {role: i for role, i in optional_positions.items() if i is not None}
    value_columns: list[tuple[int, str]] = []  # (position, measure or system)
    if not {"measure", "value"} <= position_of_role.keys():
        position_of_role.pop("value", None)
        position_of_role.pop("system" if layout == "systems" else "measure", None)
        value_columns = table.other_columns(position_of_role.values())
        if not value_columns:
            raise table.row_error(0, "has no column of values, only queries")
    no_cells = [None] * table.n_rows
    columns = (
        table.columns[position_of_role[role]] if role in position_of_role else no_cells
        for role in ("system", "measure", "query", "value")
    )
    for row, (system, measure, query, value) in enumerate(zip(*columns, strict=True)):
        if "system" in position_of_role and (type(system) is not str or not system):
            system = table.read_id(row, system)
        measure = None if measure is None else str(measure).strip()
        if "measure" in position_of_role and not measure:
            raise _missing_cell_error(table, row, "measure", query)
        for i, name in value_columns:
            if layout == "systems":
                yield row, name, measure, query, table.columns[i][row]
            else:
                yield row, system, name, query, table.columns[i][row]
        if not value_columns:
            if _is_empty(value):
                raise _missing_cell_error(table, row, "value", query)
            yield row, system, measure, query, value


def _missing_cell_error(table: Table, row: int, role: str, query: Any) -> InputError:
    """Return the error that a row has no measure, or no value."""
    hint = "For a query without a value, leave out the row: it is then missing."
    return table.row_error(row, f"has no {role} for query {query!r:.80}", hint)


def _read_lines_without_names(
    table: Table, is_measure: Callable[[str], bool]
) -> Iterator[_ScoreCell]:
    """Yield the scores in lines with measure, query and value, or query, measure and value."""
    sides = [list(dict.fromkeys(map(str.strip, column))) for column in table.columns[:2]]
    are_measures_first = _are_measures_first(sides[0], sides[1], is_measure)
    if table.n_rows and are_measures_first is None:
        raise table.row_error(
            0,
            "which of the first two columns is the measure, and which the query?",
            "Neither has names of known measures. Begin the file with a line of the columns' "
            "names: query_id, measure, value.",
        )
    measure, query = table.columns[:2] if are_measures_first else table.columns[1::-1]
    for row, value in enumerate(table.columns[2]):
        yield row, None, measure[row].strip(), query[row], value


def _are_measures_first(
    first: Sequence[str], second: Sequence[str], is_measure: Callable[[str], bool]
) -> bool | None:
    """Tell whether `first` are measures, and `second` ids of queries; None if that is unclear.

    The side with the greater share of known measures, among its first names, is the measures; else,
    the side without a name of `SUMMARIES`.
    """
    shares = []
    for names in (first, second):
        sample_names = [name for name in names if name not in SUMMARIES][:_N_SAMPLE_NAMES]
        shares.append(sum(map(is_measure, sample_names)) / max(1, len(sample_names)))
    if shares[0] != shares[1]:
        return shares[0] > shares[1]
    has_summary = [not SUMMARIES.isdisjoint(names) for names in (first, second)]
    return has_summary[1] if has_summary[0] != has_summary[1] else None


def _read_runs(runs: Iterable[Any], origin: Origin) -> Iterator[_ScoreCell]:
    """Yield the scores in the runs of `cranfield evaluate --format json`."""
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


def _read_comparison(ids: Sequence[Any], source: NestedObject) -> Iterator[_ScoreCell]:
    """Yield the scores in {measure: {system: [score, ...]}}, a score for each query's id."""
    for measure, name, column in source.read_leaves(2):
        if not isinstance(column, list) or len(column) != len(ids):
            problem = f"expected a score for each of the {len(ids):,} 'query_ids'"
            raise source.row_error(None, f"{problem}, of {name!r:.80} under {measure!r:.80}")
        system = source.read_id(None, name)
        for query, value in zip(ids, column, strict=True):
            yield None, system, str(measure), query, value


def _read_nested(
    source: NestedObject, is_measure: Callable[[str], bool], layout: Layout
) -> Iterator[_ScoreCell]:
    """Yield the scores in dicts: of one system, of systems, or {system: {query: score}}."""
    if any(isinstance(leaf, Mapping) for *_, leaf in source.read_leaves(2)):
        for name, inner in source.members.items():
            system = source.read_id(None, name)
            yield from _read_system(NestedObject(source.name, inner), is_measure, system)
    elif layout == "systems":
        for name, query, value in source.read_leaves(2):
            yield None, source.read_id(None, name), None, query, value
    else:
        yield from _read_system(source, is_measure, None)


def _read_system(
    source: NestedObject,
    is_measure: Callable[[str], bool],
    system: System,
    measures_first: bool | None = None,
) -> Iterator[_ScoreCell]:
    """Yield the scores of a system in a dict of dicts.

    `measures_first` says whether the outer names are measures where that is unclear; InputError if
    it is None.
    """
    dicts = (inner for inner in source.members.values() if isinstance(inner, Mapping))
    outer_names, inner_names = list(map(str, source.members)), list(map(str, next(dicts, {})))
    are_first = _are_measures_first(outer_names, inner_names, is_measure)
    measures_first = measures_first if are_first is None else are_first
    if measures_first is None and source.members:
        raise source.row_error(
            None,
            "which names are measures: the outer ones, or the inner ones?",
            "Neither are known measures. For {system: {query: value}}, set layout='systems' "
            "(--layout systems); else give rows of query_id, measure and value.",
        )
    for outer, inner, value in source.read_leaves(2):
        measure, query = (outer, inner) if measures_first else (inner, outer)
        yield None, system, str(measure), query, value
