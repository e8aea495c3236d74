"""Alignment: the scores of several systems, for the same queries in the same order.

Scores are paired by the query's id, never by its place. Every system and every measure has the same
queries.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Real
from typing import Any, Literal, NamedTuple, Unpack, get_args

import numpy as np

from cranfield.arguments import check_judged, check_scores
from cranfield.errors import (
    DuplicateError,
    InputError,
    MeasureError,
    NothingSharedError,
    OptionError,
    one_of,
)
from cranfield.evaluation import MeasuresLike, measures_of, score_runs
from cranfield.formats.frames import is_table
from cranfield.formats.identifiers import as_text
from cranfield.formats.small.scores import SUMMARIES, Layout, file_name_of, score_rows
from cranfield.ids import encode
from cranfield.judging import Judging, JudgingOptions
from cranfield.measures import Measure, parse, parse_all
from cranfield.notes import Note
from cranfield.pairs.joint_bounds import judged_measure
from cranfield.qrels import Qrels, QrelsLike, as_qrels
from cranfield.ranked import Floats
from cranfield.runs import Run, as_run, numbering, several_runs
from cranfield.scores import Scores, Systems
from cranfield.version import __version__

Missing = Literal["error", "zero", "drop"]
DEFAULT_MEASURES = "nDCG@10"
_GREATEST = 1e100


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Where scores come from: judgments and runs.

    `judged` is, for each score, the share of what the measure looks at that is judged: (n_measures,
    n_queries, n_systems). The measures of `systems` are the aligned ones.
    """

    qrels: Qrels
    runs: Mapping[str, Run]
    systems: Systems
    judged: Floats | None  # None of judgments in groups


@dataclass(frozen=True, eq=False)
class Aligned:
    """Several systems' scores for the same queries.

    `values` is (n_measures, n_queries, n_systems), without a NaN. `query_ids` stand in the order of
    their bytes. A measure is its canonical text, or, where a file's name for it is not known, that
    name.
    """

    names: tuple[str, ...]  # of the systems
    measures: tuple[str, ...]
    query_ids: tuple[str, ...]
    values: Floats
    notes: tuple[Note, ...]  # what to know of the data
    recipe: Mapping[str, Any]
    source: "Evaluated | None" = None  # if they were evaluated here

    def known(self, measure: str) -> Measure | None:
        """Return a measure by its text, None if only its name is known."""
        return _known(measure)

    @property
    def rising(self) -> tuple[bool, ...]:
        """Whether more is better, for each measure; so it is taken to be if that is not known."""
        every = map(_known, self.measures)
        return tuple(one is None or one.definition.higher_is_better is not False for one in every)

    def column(self, measure: str) -> Floats:
        """Return the scores under one measure: (n_queries, n_systems)."""
        found: Floats = self.values[self.measures.index(measure)]
        return found


def hash_of(query_ids: Iterable[str]) -> str:
    """Return a hash of query ids, by which two comparisons can be seen to share them."""
    return hashlib.sha256(b"\0".join(map(encode, query_ids))).hexdigest()


class _Column(NamedTuple):
    """One system's scores under one measure."""

    system: str
    measure: str
    query_ids: Sequence[str]
    values: Floats


def align(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    *,
    missing: Missing | None = None,
    layout: Layout = "measures",
    **judging: Unpack[JudgingOptions],
) -> Aligned:
    """Return the scores of several systems for the same queries.

    Args:
        qrels: judgments, as `evaluate` takes them; or, without runs, scores: Systems, Scores, a
            list of these, a dict `{name: Scores}`, `{name: {query_id: value}}` or `{name: {measure:
            {query_id: value}}}`; or saved per-query scores of any tool: a path, a list of paths, a
            table.
        runs: as `evaluate` takes them. None: the first argument holds scores.
        measures: which to compare. [default: all that there are; nDCG@10 of qrels and runs]
        missing: what to do with a query that some system has no score for: "error", "zero", or
            "drop" it for all. [default: of runs "zero", which is to retrieve nothing; else "error"]
        layout: what the columns of a table of saved scores are: "measures" or "systems".
        judging: options of `evaluate`, of qrels and runs.

    Raises:
        InputError: a score that is missing or is no number, no system, no query.
        MeasureError: a measure that there are no scores for, or one of texts.
        OptionError: an option with a value that it does not know.

    """
    if missing is not None:
        one_of("missing", missing, get_args(Missing))
    one_of("layout", layout, get_args(Layout))
    if runs is not None:
        check_judged(qrels, runs)
        wanted = DEFAULT_MEASURES if measures is None else measures
        return _evaluated(qrels, runs, wanted, missing or "zero", judging)
    check_scores(qrels)
    if judging:
        raise OptionError(f"{', '.join(judging)}: an option of judgments and runs, not of scores")
    try:
        found, notes, recipe = _given(qrels, layout)
    except InputError as error:
        if error.line is None:
            raise
        raise error.because("Scores are expected, since no runs are given.") from None
    names = None if measures is None else _texts_of(measures)
    return _aligned(found, names, missing or "error", notes, recipe)


def _evaluated(
    qrels: QrelsLike, runs: Any, measures: MeasuresLike, missing: Missing, judging: JudgingOptions
) -> Aligned:
    if "queries" in judging:
        raise OptionError("queries: systems are compared over the same ones; state missing instead")
    how = replace(Judging.of(judging), queries="both" if missing == "drop" else "judged")
    judgments = as_qrels(qrels, "strict")
    named = several_runs(runs, "strict")
    if named is None:
        one = as_run(runs, "strict")
        named = {one.name: one}
    wanted = [one for one in measures_of(measures) if not one.definition.is_text]
    if not wanted:
        raise MeasureError("there is no measure of numbers to compare")
    # Judgments in groups do not say how much is judged.
    shares = [] if judgments.in_groups else list(map(judged_measure, wanted))
    every = dict.fromkeys([*wanted, *shares])
    systems = score_runs(judgments, named, every, how)
    for name, scores in systems.items():
        if missing == "error" and scores.counts.without_results:
            raise InputError(
                f"{name}: {scores.counts.without_results:,} of {scores.counts.queries:,} queries "
                "have no results",
                hint=_MISSING_HINT,
            )
    recipe = {**next(iter(systems.values())).recipe}
    recipe["run"] = {name: one.form for name, one in named.items()}
    notes = _without_number(systems.notes)
    texts = [str(one) for one in measures_of(measures) if one.definition.is_text]
    if texts:
        said = f"Not compared, since they are texts: {', '.join(texts)}."
        notes.append(Note("texts", "info", said))
    columns = list(_of_systems(systems))
    aligned = _aligned(columns, list(map(str, wanted)), missing, notes, recipe)
    m = len(wanted)  # without the shares
    compared = [
        replace(one, measures=one.measures[:m], values=one.values[:, :m])
        for one in systems.values()
    ]
    judged = None
    if shares:
        found = _aligned(columns, list(dict.fromkeys(map(str, shares))), missing, [], recipe)
        judged = np.stack([found.column(str(share)) for share in shares])
    return replace(aligned, source=Evaluated(judgments, named, Systems(compared), judged))


def _without_number(notes: Iterable[Note]) -> list[Note]:
    """Return the notes but for that on how many queries there are: a comparison has its own."""
    return [one for one in notes if one.code != "queries"]


def _given(data: Any, layout: Layout) -> tuple[Iterator[_Column], list[Note], dict[str, Any]]:
    """Return the columns of scores that are given, what to know of them, and where from."""
    if isinstance(data, Scores | Systems):
        data = [data]
    if isinstance(data, Mapping) and data:
        values = list(data.values())
        if all(isinstance(one, Scores) for one in values):
            return _given([replace(one, name=str(name)) for name, one in data.items()], layout)
        if all(isinstance(one, str | os.PathLike) for one in values):
            return _saved(list(map(str, data)), values, layout)
        notes: list[Note] = []
        return iter(list(_nested(data, notes))), notes, {"scores": "dict"}
    if isinstance(data, list | tuple) and any(isinstance(one, Scores | Systems) for one in data):
        numbered = numbering()
        several = [
            replace(scores, name=numbered(name)) for one in data for name, scores in _systems(one)
        ]
        recipe = dict(several[0].recipe)
        recipe["run"] = {one.name: one.recipe["run"] for one in several}
        systems = Systems(several)
        return _of_systems(systems), _without_number(systems.notes), recipe
    if isinstance(data, str | os.PathLike):
        data = [data]
    if isinstance(data, list) and all(isinstance(one, str | os.PathLike) for one in data):
        return _saved([None] * len(data), data, layout)
    return _saved([None], [data], layout)


def _systems(data: Any) -> list[tuple[str, Scores]]:
    if isinstance(data, Scores):
        return [(data.name, data)]
    if not isinstance(data, Systems):
        raise InputError(f"expected Scores among others, got {type(data).__name__}")
    return list(data.items())


def _of_systems(systems: Systems) -> Iterator[_Column]:
    for system, scores in systems.items():
        for measure in scores.measures:
            if not measure.definition.is_text:
                values = scores.columns[str(measure)][1]
                yield _Column(system, str(measure), scores.query_ids, np.asarray(values, float))


def _nested(data: Mapping[Any, Any], notes: list[Note]) -> Iterator[_Column]:
    """Yield the columns of `{system: {query: value}}`, or of a dict of dicts for each system.

    As in files, `all` is no query, but the value over all: it is left out, and noted.
    """
    names = [as_text(name, "the systems") for name in data]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DuplicateError(f"the system {twice!r} stands twice")
    inner = [
        one for of_system in data.values() if isinstance(of_system, Mapping) for one in of_system
    ]
    if all(map(_is_measure, names[:5])) or (inner and all(map(_is_measure, inner[:5]))):
        one_level = all(
            isinstance(of_system, Mapping)
            and not any(isinstance(one, Mapping) for one in of_system.values())
            for of_system in data.values()
        )
        if one_level:
            raise InputError(
                "these are scores of one system, by measure and query",
                hint="Name the systems: {'old': scores, 'new': others}.",
            )
    for name, of_system in zip(names, data.values(), strict=True):
        if not isinstance(of_system, Mapping) or not of_system:
            raise InputError(
                f"{name!r}: expected the scores of a system, {{query_id: value}} or {{measure: "
                f"{{query_id: value}}}}, got {of_system!r:.60}"
            )
        nested = any(isinstance(one, Mapping) for one in of_system.values())
        columns = _by_measure(name, of_system) if nested else {None: of_system}
        kept = {
            measure: {query: value for query, value in of_one.items() if query not in SUMMARIES}
            for measure, of_one in columns.items()
        }
        over_all = sum(map(len, columns.values())) - sum(map(len, kept.values()))
        if over_all:
            text = f"{over_all:,} of 'all' left out: the value over all queries."
            notes.append(Note("over-all", "info", text, source=name, count=over_all))
        yield from _of_measures(name, kept)


def _by_measure(system: str, values: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return {measure: {query: value}}, also of {query: {measure: value}} of known measures."""
    for one in values.values():
        if not isinstance(one, Mapping):
            raise InputError(
                f"{system}: expected {{measure: {{query_id: value}}}}, got {one!r:.60}"
            )
    inner = next(iter(values.values()))
    if any(map(_is_measure, islice(values, 5))) or not any(map(_is_measure, islice(inner, 5))):
        return values
    turned: dict[Any, dict[Any, Any]] = {}
    for query, of_query in values.items():
        for measure, value in of_query.items():
            turned.setdefault(measure, {})[query] = value
    return turned


def _column(system: str, measure: str, pairs: Sequence[tuple[Any, Any]]) -> _Column:
    query_ids = [as_text(query, system) for query, _ in pairs]
    if len(set(query_ids)) < len(query_ids):
        twice = next(query for query in query_ids if query_ids.count(query) > 1)
        raise DuplicateError(f"{system}: the query {twice!r} stands twice")
    values: list[Any] = [value for _, value in pairs]
    for query, value in zip(query_ids, values, strict=True):
        of_type: object = value
        if isinstance(of_type, bool) or not isinstance(of_type, Real):
            raise InputError(f"{system}: {measure} of query {query!r}: {value!r:.40} is no number")
        if isinstance(value, np.floating):
            value = float(value)  # 16 bits do not hold the limit
        if not -_GREATEST <= value <= _GREATEST:
            raise _no_score(system, measure, query, value)
    return _Column(system, measure, query_ids, np.array(values, np.float64))


def _no_score(system: str, measure: str, query: str, value: object) -> InputError:
    return InputError(
        f"{system}: {measure} of query {query!r} is {value!r:.40}: expected a number of at most "
        f"{_GREATEST:g}"
    )


def _saved(
    names: Sequence[str | None], files: Sequence[Any], layout: Layout
) -> tuple[Iterator[_Column], list[Note], dict[str, Any]]:
    """Return the columns of saved scores; a system is named by its file if that names none."""
    found: list[_Column] = []
    notes: list[Note] = []
    numbered = numbering()
    for name, file in zip(names, files, strict=True):
        rows = score_rows(file, _is_measure, layout)
        is_path = isinstance(file, str | os.PathLike)
        of_file = name or (file_name_of(file) if is_path else "scores")
        cells: dict[str | None, dict[str | None, Mapping[str, float]]] = {}
        for (system, measure), values in rows.scores.items():
            cells.setdefault(system, {})[measure] = values
        for own, of_system in cells.items():
            named = own if own is not None and (name is None or len(cells) > 1) else of_file
            found += _of_measures(numbered(named), of_system)
        notes += [replace(note, source=of_file) for note in rows.notes()]
    return iter(found), notes, {"scores": [str(one) for one in files if not is_table(one)]}


def _of_measures(system: str, values: Mapping[Any, Mapping[str, float]]) -> Iterator[_Column]:
    """Yield a system's columns, by the canonical names of its measures."""
    taken: dict[str, Any] = {}
    for measure, of_measure in values.items():
        name = "score" if measure is None else _canonical(str(measure))
        if name in taken:
            raise InputError(
                f"{system}: {taken[name]!r} and {measure!r} are the same measure, {name}"
            )
        taken[name] = measure
        yield _column(system, name, list(of_measure.items()))


def _is_measure(text: Any) -> bool:
    return _known(str(text)) is not None


def _known(text: str) -> Measure | None:
    try:
        return parse(text)
    except MeasureError:
        return None


def _canonical(text: str) -> str:
    return str(_known(text) or text)


def _texts_of(measures: MeasuresLike) -> list[str]:
    if isinstance(measures, Measure):
        return [str(measures)]
    several = [measures] if isinstance(measures, str) else measures
    if not isinstance(several, Iterable):
        raise MeasureError(f"expected measures such as 'nDCG@10', got {measures!r:.80}")
    return [str(found) for one in several for found in _named(one)]


def _named(measure: str | Measure) -> Sequence[str | Measure]:
    """Return the measures of a text; a text that names none may be what a file calls one."""
    if isinstance(measure, Measure):
        return [measure]
    if not isinstance(measure, str):
        raise MeasureError(f"expected a measure such as 'nDCG@10', got {measure!r:.80}")
    try:
        return parse_all(measure)
    except MeasureError:
        return [measure]


_MISSING_HINT = (
    "missing='zero' counts such a query as 0, missing='drop' leaves it out for every system"
)


def _aligned(
    columns: Iterable[_Column],
    wanted: Sequence[str] | None,
    missing: Missing,
    notes: Sequence[Note],
    recipe: Mapping[str, Any],
) -> Aligned:
    cells: dict[str, dict[str, _Column]] = {}  # measure -> system -> its column
    names: dict[str, None] = {}
    for column in columns:
        names[column.system] = None
        cells.setdefault(column.measure, {})[column.system] = column
    if not names:
        raise InputError("there are no scores")
    measures = list(dict.fromkeys(wanted if wanted is not None else cells))
    for measure in measures:
        if measure not in cells:
            raise MeasureError(f"there are no scores of {measure}; there are {', '.join(cells)}")
        for name in names:
            if name not in cells[measure]:
                raise InputError(
                    f"{name}: there are no scores of {measure}",
                    hint="Every system needs a score for every measure; name those to compare.",
                )
    if not measures:
        raise MeasureError("no measure is named")
    chosen = [cells[measure][name] for measure in measures for name in names]
    query_ids, notes = _queries(chosen, missing, [*notes])
    row = {query: i for i, query in enumerate(query_ids)}
    values = np.zeros((len(measures), len(query_ids), len(names)))
    every = iter(chosen)
    for m in range(len(measures)):
        for s in range(len(names)):
            column = next(every)
            if tuple(column.query_ids) == query_ids:
                values[m, :, s] = column.values
                continue
            kept = [i for i, query in enumerate(column.query_ids) if query in row]
            rows = [row[column.query_ids[i]] for i in kept]
            values[m, rows, s] = column.values[kept]
    # Beyond, squares would not be numbers any more.
    for m, q, s in np.argwhere(~(np.abs(values) <= _GREATEST))[:1].tolist():
        raise _no_score(list(names)[s], measures[m], query_ids[q], float(values[m, q, s]))
    made = {"cranfield": __version__, "missing": missing, **recipe}
    return Aligned(tuple(names), tuple(measures), query_ids, values, tuple(notes), made)


def _queries(
    columns: Sequence[_Column], missing: Missing, notes: list[Note]
) -> tuple[tuple[str, ...], list[Note]]:
    """Return the queries to compare on, and what to know of the others."""
    if not any(len(one.query_ids) for one in columns):
        raise InputError("there is no query")
    first = tuple(columns[0].query_ids)
    if all(tuple(one.query_ids) == first for one in columns):
        ordered = tuple(sorted(first, key=encode))
        if len(set(ordered)) < len(ordered):
            raise InputError(f"{columns[0].system}: a query stands twice")
        return ordered, notes
    sets = [frozenset(one.query_ids) for one in columns]
    every, shared = frozenset().union(*sets), sets[0].intersection(*sets)
    if every != shared and missing == "error":
        lacking, one = next(
            (every - of_one, one)
            for of_one, one in zip(sets, columns, strict=True)
            if of_one < every
        )
        shown = ", ".join(map(repr, sorted(lacking, key=encode)[:5]))
        raise InputError(
            f"{one.system}: {len(lacking):,} of {len(every):,} queries have no {one.measure}: "
            f"{shown}{', ...' if len(lacking) > 5 else ''}",
            hint=_MISSING_HINT,
        )
    if missing == "drop":
        if not shared:
            raise NothingSharedError("no query has a score of every system", hint=_MISSING_HINT)
        if every != shared:
            n = len(every - shared)
            text = f"{n:,} of {len(every):,} queries left out: not every system has a score."
            notes.append(Note("dropped", "info", text, n))
        return tuple(sorted(shared, key=encode)), notes
    lacks: dict[str, int] = {}
    for of_one, one in zip(sets, columns, strict=True):
        lacks[one.system] = max(lacks.get(one.system, 0), len(every - of_one))
    notes += [
        Note(
            "without-score",
            "info",
            f"{n:,} of {len(every):,} queries without a score: counted as 0.",
            n,
            name,
        )
        for name, n in lacks.items()
        if n
    ]
    return tuple(sorted(every, key=encode)), notes
