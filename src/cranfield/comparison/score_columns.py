"""Score columns: existing scores, from Scores, dicts and files, for `alignment` to align."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import compress
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.origin import Origin, compare_origins
from cranfield.comparison.scale import SLACK, possible_range
from cranfield.comparison.settings import Alignment
from cranfield.data.run_names import make_unique_namer
from cranfield.errors import DuplicateError, InputError, MeasureError, escape_unprintable
from cranfield.formats.identifiers import to_id_text
from cranfield.formats.shapes import is_table
from cranfield.formats.small.score_files import (
    ScoreRows,
    read_scores,
    read_system_scores,
    system_name_of_file,
)
from cranfield.measures import Measure, parse, parse_all
from cranfield.notes import Note
from cranfield.render.numbers import format_names
from cranfield.scoring.evaluate import MeasuresLike
from cranfield.scoring.scores import Scores, Systems


class _HasMeasure(Protocol):
    @property
    def measure(self) -> str: ...


OfMeasure = TypeVar("OfMeasure", bound=_HasMeasure)

# {(measure, system): (query ids, values (n_queries,))}. A measure is its canonical text, or, if it
# is not known, the name that a file has for it ("score" where it has none).
Columns = dict[tuple[str, str], tuple[Sequence[str], Floats]]


class GivenScores(NamedTuple):
    """Columns of scores, notes on them, recipe, {system: file}: None for Scores, {} for dicts.

    `origins` say how the scores of each file, or each of the Scores, were made.
    """

    columns: Columns
    notes: list[Note]
    recipe: dict[str, Any]
    file_of_system: Mapping[str, str] | None
    origins: Sequence[Origin] = ()


def canonical_name(measure: str | Measure, names: Collection[str]) -> str:
    """Return the canonical name of a measure; a text among the names is returned unchanged.

    Raises MeasureError for a text that is neither one of the names nor a measure.
    """
    text = str(measure)
    return text if text in names or isinstance(measure, Measure) else str(parse(text))


def find_result(measure: str | Measure, results: Iterable[OfMeasure]) -> OfMeasure:
    """Return the result of one measure; KeyError, with the measures that there are."""
    result_of_measure = {result.measure: result for result in results}
    name = canonical_name(measure, result_of_measure)
    if name not in result_of_measure:
        raise KeyError(f"{measure}: there are {', '.join(result_of_measure)}")
    return result_of_measure[name]


def canonical_names(measures: MeasuresLike) -> list[str]:
    """Return the canonical names of measures; an unknown text is kept, as a file may have it."""
    if isinstance(measures, str | Measure) or not isinstance(measures, Iterable):
        measures = [measures]
    texts: list[str] = []
    for measure in measures:
        try:
            texts += map(str, [measure] if isinstance(measure, Measure) else parse_all(measure))
        except MeasureError:
            if not isinstance(measure, str):
                raise
            texts.append(measure)
    return texts


def read_columns(source: Any, alignment: Alignment) -> GivenScores:
    """Return the columns of Scores, dicts, tables or files, with notes, recipe and files."""
    if isinstance(source, Scores | Systems | str | os.PathLike):
        source = [source]
    if isinstance(source, Mapping) and source:
        parts = list(source.values())
        if all(isinstance(part, Scores) for part in parts):
            scores_by_name = (replace(scores, name=str(name)) for name, scores in source.items())
            return _columns_of_results(scores_by_name)
        if all(isinstance(part, str | os.PathLike) for part in parts):
            return _read_files(list(map(str, source)), parts, alignment)
        return _read_dicts(source, alignment)
    parts = list(source) if isinstance(source, list | tuple) else []
    if any(isinstance(part, Scores | Systems) for part in parts):
        return _columns_of_results(source)
    if isinstance(source, list) and all(isinstance(part, str | os.PathLike) for part in parts):
        return _read_files([None] * len(source), source, alignment)
    return _read_files([None], [source], alignment)


def _columns_of_results(results: Iterable[Any]) -> GivenScores:
    """Return the columns of Scores and Systems, whose names are made unique."""
    unique_name = make_unique_namer()
    all_scores: list[Scores] = []
    for scores in results:
        if not isinstance(scores, Scores | Systems):
            raise InputError(f"expected Scores in every place, got {type(scores).__name__}")
        runs = scores.values() if isinstance(scores, Systems) else [scores]
        all_scores += [replace(run, name=unique_name(run.name)) for run in runs]
    form_of_run = {scores.name: scores.recipe["run"] for scores in all_scores}
    origins = [*map(Origin.of_scores, all_scores)]
    recipe = {**all_scores[0].recipe, "run": form_of_run}
    for key in ("retrieved", "judged"):  # of one run
        recipe.pop(key, None)
    systems = Systems(all_scores)
    notes = drop_query_counts(systems.notes)
    return GivenScores(system_columns(systems), notes, recipe, None, origins)


def system_columns(systems: Systems) -> Columns:
    """Return the columns of all measures with numbers, over the queries that a measure averages."""
    columns: Columns = {}
    for name, scores in systems.items():
        for measure in scores.measures:
            if not measure.definition.is_text:
                column = np.asarray(scores.columns[str(measure)][1], float)
                has_number = ~np.isnan(column)  # a convention may leave queries out
                ids = scores.query_ids
                if not has_number.all():
                    ids = tuple(compress(ids, has_number))
                columns[str(measure), name] = ids, column[has_number]
    return columns


def drop_query_counts(notes: Iterable[Note]) -> list[Note]:
    """Return the notes without those on the number of queries: a comparison states its own."""
    return [note for note in notes if note.code != "queries"]


def _read_files(
    chosen_names: Sequence[str | None], files: Sequence[Any], alignment: Alignment
) -> GivenScores:
    """Return the columns of saved scores; a file that names no system is one, named by the file."""
    is_known_measure = cache(is_measure)  # the same queries are tried in every file
    origins: list[Origin] = []

    def read_rows() -> Iterator[tuple[str, bool, ScoreRows]]:
        for name, file in zip(chosen_names, files, strict=True):
            rows = read_scores(file, is_known_measure, alignment.layout)
            is_path = isinstance(file, str | os.PathLike)
            file_name = system_name_of_file(file) if is_path else "scores"
            path, sketches = str(file) if is_path else file_name, rows.retrieved_sketches
            shares = rows.judged_shares
            origins.append(Origin(path, rows.recipe, sketches, rows.conversions, shares))
            yield name or file_name, name is not None, rows

    columns, notes, sources = _collect_columns(read_rows(), alignment.percent)
    notes += compare_origins(origins, alignment)
    recipe = {"scores": [str(file) for file in files if not is_table(file)]}
    return GivenScores(columns, notes, recipe, sources, origins)


def _read_dicts(scores_of_system: Mapping[Any, Any], alignment: Alignment) -> GivenScores:
    """Return the columns of {system: {query: score}} or {system: {measure: {query: score}}}."""
    names = [to_id_text(name, "the systems") for name in scores_of_system]
    if len(set(names)) < len(names):
        repeated_name = next(name for name in names if names.count(name) > 1)
        raise DuplicateError(f"the system {repeated_name!r} occurs twice")
    _refuse_one_system(scores_of_system)
    is_known_measure = cache(is_measure)

    def read_rows() -> Iterator[tuple[str, bool, ScoreRows]]:
        for name, scores in zip(names, scores_of_system.values(), strict=True):
            if not isinstance(scores, Mapping) or not scores:
                raise InputError(
                    f"{name!r}: expected the scores of a system, {{query_id: value}} or {{measure: "
                    f"{{query_id: value}}}}, got {scores!r:.60}"
                )
            yield name, True, read_system_scores(scores, name, is_known_measure)

    columns, notes, _ = _collect_columns(read_rows(), alignment.percent)
    return GivenScores(columns, notes, {"scores": "dict"}, {})


def _refuse_one_system(scores_of_system: Mapping[Any, Any]) -> None:
    """Raise InputError for the scores of one system, {measure: {query: score}} or the reverse."""
    score_dicts = list(scores_of_system.values())
    if not all(isinstance(score_dict, Mapping) for score_dict in score_dicts):
        return
    inner_names = [name for score_dict in score_dicts for name in score_dict]
    is_nested = any(
        isinstance(score, Mapping) for score_dict in score_dicts for score in score_dict.values()
    )
    name_lists = [list(scores_of_system)[:5], inner_names[:5]]
    if not is_nested and any(side and all(map(_is_surely_measure, side)) for side in name_lists):
        raise InputError(
            "these are scores of one system, by measure and query",
            hint="Name the systems: {'old': scores, 'new': others}.",
        )


def _is_surely_measure(text: Any) -> bool:
    """Tell whether a string names a measure, and does not look like a query, as `q` does."""
    return len(str(text)) > 1 and is_measure(text)


def _collect_columns(
    score_rows: Iterable[tuple[str, bool, ScoreRows]], percent: bool
) -> tuple[Columns, list[Note], dict[str, str]]:
    """Return columns by canonical names, notes, and {system: source}.

    Notes are on rows that were left out, warnings saved with the scores, and percentages.
    `score_rows` yields (name, whether the user chose it, scores): a chosen name replaces the one in
    the scores, unless these hold several systems. `percent`: divide by 100 the columns with scores
    above 1 of a measure that is 1 at most.
    """
    columns: Columns = {}
    notes: list[Note] = []
    sources: dict[str, str] = {}  # {system: file}
    unique_name, last_ids, percentages = make_unique_namer(), list[str](), list[str]()
    for name, is_chosen, rows in score_rows:
        has_several_systems = len({system for system, _ in rows.scores}) > 1
        name_of_system: dict[str | None, str] = {}
        name_of_column: dict[tuple[str, str], str | None] = {}  # the measure's, in the rows
        for (own_name, measure), score_of_query in rows.scores.items():
            if own_name not in name_of_system:
                keeps_name = own_name is not None and (has_several_systems or not is_chosen)
                name_of_system[own_name] = unique_name(str(own_name) if keeps_name else name)
                sources[name_of_system[own_name]] = rows.source
            system = name_of_system[own_name]
            canonical = "score" if measure is None else str(find_measure(measure) or measure)
            key = canonical, system
            if key in name_of_column:
                raise InputError(
                    f"{system}: {name_of_column[key]!r} and {measure!r} are the same measure, "
                    f"{canonical}"
                )
            name_of_column[key] = measure
            ids = list(score_of_query)
            if ids != last_ids:  # measures and systems mostly have the same queries
                last_ids = ids
            column = np.fromiter(score_of_query.values(), np.float64, len(score_of_query))
            is_share = percent and possible_range(find_measure(canonical))[1] == 1
            if is_share and column.max() > 1 + SLACK:
                column /= 100
                percentages.append(escape_unprintable(f"{canonical} of {system}"))
            columns[key] = last_ids, column
        notes += [replace(note, source=name) for note in rows.notes()]
    if percent:
        text = f"Divided by 100: {format_names(percentages) or 'nothing'}."
        notes.append(Note("percent", "info", text))
    return columns, notes, sources


def is_measure(text: Any) -> bool:
    """Tell whether a string names a measure."""
    return find_measure(str(text)) is not None


def find_measure(text: str) -> Measure | None:
    """Return the measure that a string names; None if it names none."""
    try:
        return parse(text, glued=False)
    except MeasureError:
        return None
