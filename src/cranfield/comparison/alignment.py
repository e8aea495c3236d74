"""Alignment: the scores of several systems, for the same queries in the same order.

Scores are paired by the query's id, never by its place. Every system and every measure has the same
queries.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.arrays.ids import encode
from cranfield.arrays.ranked import Floats
from cranfield.comparison.score_columns import (
    ScoreColumn,
    columns_of,
    given_columns,
    known_measure,
    without_number,
)
from cranfield.comparison.settings import Alignment, Missing
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels, QrelsLike, as_qrels
from cranfield.data.run import Run, runs_of
from cranfield.errors import InputError, MeasureError, NothingSharedError, OptionError
from cranfield.formats.small.score_files import GREATEST, no_score
from cranfield.measures import Measure, parse_all
from cranfield.notes import Note
from cranfield.scoring.arguments import check_judged, check_scores
from cranfield.scoring.evaluate import MeasuresLike, measures_of, score_runs
from cranfield.scoring.joint_bounds import judged_measure
from cranfield.scoring.scores import Systems
from cranfield.version import __version__

DEFAULT_MEASURES = "nDCG@10"


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
        return known_measure(measure)

    @property
    def rising(self) -> tuple[bool, ...]:
        """Whether more is better, for each measure; so it is taken to be if that is not known."""
        every = map(known_measure, self.measures)
        return tuple(one is None or one.definition.higher_is_better is not False for one in every)

    def column(self, measure: str) -> Floats:
        """Return the scores under one measure: (n_queries, n_systems)."""
        found: Floats = self.values[self.measures.index(measure)]
        return found


def hash_of(query_ids: Iterable[str]) -> str:
    """Return a hash of query ids, by which two comparisons can be seen to share them."""
    return hashlib.sha256(b"\0".join(map(encode, query_ids))).hexdigest()


def align(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    alignment: Alignment = Alignment(),
    judging: Judging = Judging(),
) -> Aligned:
    """Return the scores of several systems for the same queries.

    Args:
        qrels: judgments, as `evaluate` takes them; or, without runs, scores: Systems, Scores, a
            list of these, a dict `{name: Scores}`, `{name: {query_id: value}}` or `{name: {measure:
            {query_id: value}}}`; or saved per-query scores of any tool: a path, a list of paths, a
            table.
        runs: as `evaluate` takes them. None: the first argument holds scores.
        measures: which to compare. [default: all that there are; nDCG@10 of qrels and runs]
        alignment: what to do with missing scores, and what columns of saved ones are.
        judging: how runs are judged; not which queries count, which `alignment` says.

    Raises:
        InputError: a score that is missing or is no number, no system, no query.
        MeasureError: a measure that there are no scores for, or one of texts.
        OptionError: options of judging, of scores that were made already.

    """
    missing = alignment.missing
    if runs is not None:
        check_judged(qrels, runs)
        wanted = DEFAULT_MEASURES if measures is None else measures
        return _evaluated(qrels, runs, wanted, missing or "zero", judging)
    check_scores(qrels)
    if given := judging.unusual():
        raise OptionError(f"{', '.join(given)}: an option of judgments and runs, not of scores")
    try:
        found, notes, recipe = given_columns(qrels, alignment.layout)
    except InputError as error:
        if error.line is None:
            raise
        raise error.because("Scores are expected, since no runs are given.") from None
    names = None if measures is None else _texts_of(measures)
    return _aligned(found, names, missing or "error", notes, recipe)


def _evaluated(
    qrels: QrelsLike, runs: Any, measures: MeasuresLike, missing: Missing, judging: Judging
) -> Aligned:
    how = replace(judging, queries="both" if missing == "drop" else "judged")
    judgments = as_qrels(qrels, "strict")
    named = runs_of(runs, "strict")
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
    notes = without_number(systems.notes)
    texts = [str(one) for one in measures_of(measures) if one.definition.is_text]
    if texts:
        said = f"Not compared, since they are texts: {', '.join(texts)}."
        notes.append(Note("texts", "info", said))
    columns = columns_of(systems)
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
    columns: Iterable[ScoreColumn],
    wanted: Sequence[str] | None,
    missing: Missing,
    notes: Sequence[Note],
    recipe: Mapping[str, Any],
) -> Aligned:
    cells: dict[str, dict[str, ScoreColumn]] = {}  # measure -> system -> its column
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
    for m, q, s in np.argwhere(~(np.abs(values) <= GREATEST))[:1].tolist():
        raise no_score(list(names)[s], measures[m], query_ids[q], float(values[m, q, s]))
    made = {"cranfield": __version__, "missing": missing, **recipe}
    return Aligned(tuple(names), tuple(measures), query_ids, values, tuple(notes), made)


def _queries(
    columns: Sequence[ScoreColumn], missing: Missing, notes: list[Note]
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
