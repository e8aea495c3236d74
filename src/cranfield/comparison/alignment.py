"""Alignment: the scores of several systems, for the same queries in the same order.

Scores are paired by the query's id, never by its place. Every system and every measure has the same
queries.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from cranfield.arrays.ids import encode
from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.comparing import ComparingOptions
from cranfield.comparison.extra_columns import ExtraColumns
from cranfield.comparison.scale import find_outside, possible_range
from cranfield.comparison.score_columns import (
    Columns,
    system_columns,
    read_columns,
    find_measure,
    canonical_names,
    drop_query_counts,
)
from cranfield.comparison.settings import Alignment, Missing
from cranfield.comparison.significance import AddedVariance
from cranfield.comparison.units import EACH_QUERY, Units, find_units
from cranfield.data.judge import judge_all
from cranfield.data.judged import Judged
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import InputError, MeasureError, NothingSharedError, OptionError, escape_unprintable
from cranfield.formats.small.score_files import GREATEST_SCORE, not_a_score_error
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth
from cranfield.notes import Note
from cranfield.render.numbers import format_names
from cranfield.scoring.arguments import Reading, arrange_arguments, check_scores
from cranfield.scoring.assembly import option_notes
from cranfield.scoring.evaluate import MeasuresLike, list_measures, refuse_mapping, score_runs
from cranfield.scoring.scores import Systems
from cranfield.scoring.sides import are_same_two_sided_table, find_two_sided_tables
from cranfield.version import __version__

DEFAULT_MEASURES = "nDCG@10"


@dataclass(frozen=True, eq=False)
class EvaluatedRuns:
    """Where scores come from: judgments and runs.

    The first measures of `systems` are the aligned ones.
    """

    qrels: Qrels
    runs: Mapping[str, Run]
    systems: Systems

    @property
    def judging(self) -> Judging:
        """How the runs were judged."""
        return Judging.of(next(iter(self.systems.values())).recipe)

    @cached_property
    def judged_runs(self) -> Sequence[tuple[Sequence[str], Judged]]:
        """Each run's queries, and the run as measures see it: for measures that come later.

        The first access reads the runs again and judges them with the same options.
        """
        costs = any(one.definition.traits.takes_cost for one in self.systems.measures)
        runs = list(self.runs.values())
        return [
            (one.query_ids, one.judged)
            for one in judge_all(self.qrels, runs, self.judging, costs=costs)
        ]


@dataclass(frozen=True, eq=False)
class AlignedScores:
    """Several systems' scores for the same queries.

    `values` is (n_measures, n_queries, n_systems), without a NaN. `query_ids` are sorted by their
    bytes. A measure has its canonical text as its name; an unknown measure keeps its name in the
    file.
    """

    system_names: tuple[str, ...]  # of the systems
    measures: tuple[str, ...]
    query_ids: tuple[str, ...]
    scores: Floats
    notes: tuple[Note, ...]  # on the data
    recipe: Mapping[str, Any]
    evaluated_runs: "EvaluatedRuns | None" = None  # if they were evaluated here
    # The share of judged documents among those that a measure looks at, for each score; None if
    # these are not known, and for judgments in groups.
    judged_share: Floats | None = None
    units: Units = EACH_QUERY  # what is independent of one another
    extra_columns: tuple[ExtraColumns, ...] = ()  # what extensions add
    # What they add to the variances of the systems' means, by measure.
    added_variances: Mapping[str, AddedVariance] = field(default_factory=dict)

    def find_measure(self, measure: str) -> Measure | None:
        """Return the Measure with this name; None if it is unknown."""
        return find_measure(measure)

    def is_higher_better(self, measure: str) -> bool:
        """Return whether higher is better, as is assumed of an unknown measure."""
        known = find_measure(measure)
        falls = known is not None and known.definition.higher_is_better is False
        return not falls and measure not in self.recipe.get("less_is_better", ())

    def measure_scores(self, measure: str) -> Floats:
        """Return the scores under one measure: (n_queries, n_systems)."""
        found: Floats = self.scores[self.measures.index(measure)]
        return found

    def check_range(
        self, measure: str, score_range: tuple[float, float], hint: str | None, file_of_system: Mapping[str, str]
    ) -> None:
        """Raise InputError for a score beyond the ends of its range; `files` are by system."""
        values = self.measure_scores(measure)
        for query, system in find_outside(values, *score_range)[:1].tolist():
            name, query_id = self.system_names[system], self.query_ids[query]
            raise InputError(
                f"{name}: {measure} of query {query_id!r:.80} is {values[query, system]:.10g}: "
                f"expected a score from {score_range[0]:g} to {score_range[1]:g}",
                source=file_of_system.get(name),
                hint=hint,
                query_id=query_id,
            )

    def select_variances(self, measure: str, *systems: Sequence[int]) -> tuple[AddedVariance, ...]:
        """Return what extensions add to the variances of some systems' means; () for nothing."""
        added = self.added_variances.get(measure)
        return () if added is None else tuple(added.select_systems(places) for places in systems)

    def find_baseline(self, name: object) -> str:
        """Return the name of the baseline, given that name or the path of its run.

        Raises InputError if no system has this name or path.
        """
        hint = f"The systems are {', '.join(map(escape_unprintable, self.system_names))}."
        if not isinstance(name, str | os.PathLike):
            problem = f"the baseline must be the name of a system, not a {type(name).__name__}"
            among = "Add the data to the systems under a name, as in {'old': ..., 'new': ...}."
            raise InputError(problem, hint=f"{among} {hint}")
        named = os.fspath(name)
        if named in self.system_names:
            return named
        for system, run in () if self.evaluated_runs is None else self.evaluated_runs.runs.items():
            if os.path.realpath(named) in [os.path.realpath(one.path) for one in run.sources]:
                return system
        if os.path.exists(named):
            problem = "the baseline must be one of the systems, and this file is not"
            among = f"Add it to them, as in [{named!r}, ...]."
            raise InputError(problem, source=named, hint=f"{among} {hint}")
        if os.path.splitext(named)[1] or os.path.dirname(named):  # a file's name
            problem = "cannot be read: no such file, and no system of this name"
            raise InputError(problem, source=named, hint=hint)
        raise InputError(f"there is no system {named!r:.80} to be the baseline", hint=hint)


def hash_query_ids(query_ids: Iterable[str]) -> str:
    """Return a hash of query ids, which is the same for comparisons on the same queries."""
    return hashlib.sha256(b"\0".join(map(encode, query_ids))).hexdigest()


def align(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    alignment: Alignment = Alignment(),
    judging: Judging = Judging(),
    reading: Reading = Reading(),
    families: Sequence[ComparingOptions] = (),
) -> AlignedScores:
    """Return the scores of several systems for the same queries.

    Args:
        qrels: judgments, as `evaluate` takes them; or, without runs, scores: Systems, Scores, a
            list of these, a dict `{name: Scores}`, `{name: {query_id: value}}` or `{name: {measure:
            {query_id: value}}}`; or saved per-query scores of any tool: a path, a list of paths, a
            table; or tables that hold both sides, as `evaluate` takes them.
        runs: as `evaluate` takes them. None: the first argument holds scores, or both sides.
        measures: which to compare. [default: nDCG@10 for qrels and runs, else all that have scores]
        alignment: what to do with missing scores, and what columns of saved ones are.
        judging: how runs are judged, except which queries count: that depends on `alignment`.
        reading: how judgments and runs are read.
        families: options of extensions.

    Raises:
        InputError: a score is missing, not a number, or not in the range of its measure; there is
            no system, or no query.
        MeasureError: a measure without scores, or with texts as values.
        OptionError: options of reading or judging, with scores that exist already.

    """
    aligned = _align_scores(qrels, runs, measures, alignment, judging, reading)
    for family in families:
        aligned = family.join_runs(aligned)
    units, notes = find_units(families, aligned.query_ids)
    return replace(aligned, units=units, notes=(*aligned.notes, *notes))


def _align_scores(
    qrels: Any,
    runs: Any,
    measures: MeasuresLike | None,
    alignment: Alignment,
    judging: Judging,
    reading: Reading,
) -> AlignedScores:
    missing = alignment.missing
    refuse_mapping(measures)
    both: tuple[Qrels, Run | dict[str, Run]] | None = None
    if runs is not None and are_same_two_sided_table(qrels, runs, reading.columns):
        qrels, runs = [qrels, runs], None  # two systems, as a table and its copy are
    if runs is not None:
        judged, named, measures = arrange_arguments(
            *(qrels, runs, measures, None), columns=reading.columns, duplicates=judging.duplicates
        )
        both = judged, named
    elif not _is_read_once(qrels):
        sides = None
        with contextlib.suppress(InputError):  # then they are scores
            sides = find_two_sided_tables(qrels, reading.columns, "strict")
        both = None if sides is None else sides.read("strict", judging.duplicates)
    if both is not None:
        if of_scores := alignment.changed_options().keys() - {"missing"}:
            raise OptionError(f"{min(of_scores)}: applies to scores, not to judgments and runs")
        wanted = DEFAULT_MEASURES if measures is None else measures
        return _evaluate_runs(*both, wanted, missing or "zero", judging)
    check_scores(qrels)
    if given := {**judging.changed_options(), **reading.changed_options()}:
        raise OptionError(f"{', '.join(given)}: applies to judgments and runs, not to scores")
    try:
        columns, notes, recipe, files = read_columns(qrels, alignment)
    except InputError as error:
        if error.line is None:
            raise
        raise error.add_reason("Scores are expected, since no runs are given.") from None
    names = None if measures is None else canonical_names(measures)
    falling, there = alignment.less_is_better, {measure for measure, _ in columns}
    if useless := [name for name in falling if find_measure(name) or name not in there]:
        raise OptionError(
            f"less_is_better={useless[0]!r:.80}: expected a name in the scores that is no measure "
            "of cranfield"
        )
    recipe |= alignment.changed_options()
    aligned = _align_columns(columns, names, missing or "error", notes, recipe)
    for measure in aligned.measures if files is not None else ():
        ends = possible_range(find_measure(measure))
        is_share = ends[1] == 1 and not alignment.percent
        hint = "Is it a percentage? --percent divides by 100 (percent=True)." if is_share else None
        aligned.check_range(measure, ends, hint, files or {})
    return replace(aligned, notes=(*aligned.notes, *_note_unknown(aligned)))


def _note_unknown(aligned: AlignedScores) -> Iterator[Note]:
    """Yield notes on unknown measures: more is taken as better; two systems differ in their unit.

    The name `score` is no name of a measure, and goes without the first one.
    """
    unknown = [measure for measure in aligned.measures if find_measure(measure) is None]
    names = [name for name in unknown if name != "score" and aligned.is_higher_better(name)]
    if names:
        text = (
            f"{format_names([*map(escape_unprintable, names)])}: no measure of cranfield; more is taken as better. "
            "--less-is-better NAME turns that (less_is_better=)."
        )
        yield Note("direction", "info", text, count=len(names))
    for measure in unknown:
        columns = [*zip(map(escape_unprintable, aligned.system_names), aligned.measure_scores(measure).T, strict=True)]
        shares = [name for name, x in columns if x.min() >= 0 and x.max() <= 1]
        above_1 = [name for name, x in columns if x.mean() > 1]
        if shares and above_1:
            text = (
                f"{escape_unprintable(measure)}: all scores of {format_names(shares)} are between 0 and 1, and the "
                f"mean is above 1 of {format_names(above_1)}: are they in the same unit?"
            )
            yield Note("unit", "warning", text)


def _is_read_once(data: Any) -> bool:
    """Tell whether some paths are not regular files: these may be readable only once."""
    if isinstance(data, str | os.PathLike):
        data = [data]
    if not isinstance(data, dict | list | tuple):
        return False
    several = data.values() if isinstance(data, dict) else data
    return any(isinstance(one, str | os.PathLike) and not os.path.isfile(one) for one in several)


def _evaluate_runs(
    judgments: Qrels,
    runs: Run | Mapping[str, Run],
    measures: MeasuresLike,
    missing: Missing,
    judging: Judging,
) -> AlignedScores:
    how = replace(judging, queries="both" if missing == "drop" else "judged")
    named, asked = {runs.name: runs} if isinstance(runs, Run) else runs, list_measures(measures)
    wanted = [one for one in asked if not one.definition.is_text]
    if not wanted:
        raise MeasureError("there is no measure of numbers to compare")
    # The share judged is unknown for judgments in groups, and for lists of relevant documents.
    is_known = judgments.graded and not judgments.has_groups
    shares = list(map(judged_share_measure, wanted)) if is_known else []
    every = list(dict.fromkeys([*wanted, *shares]))
    systems = score_runs(judgments, named, every, how)
    for name, scores in systems.items():
        if missing == "error" and scores.counts.without_results:
            raise InputError(
                f"{name}: {scores.counts.without_results:,} of {scores.counts.queries:,} queries "
                "have no results",
                hint=_MISSING_HINT,
            )
    recipe = {**next(iter(systems.values())).recipe}
    recipe["run"] = {name: one.description for name, one in named.items()}
    notes = [one for one in drop_query_counts(systems.notes) if one.code not in _RUN_NOTE_CODES]
    notes += option_notes(judging)
    texts = [str(one) for one in asked if one.definition.is_text]
    if texts:
        said = f"Not compared, since they are texts: {', '.join(texts)}."
        notes.append(Note("texts", "info", said))
    found = _align_columns(system_columns(systems), list(map(str, every)), missing, notes, recipe)
    judged = np.stack([found.measure_scores(str(share)) for share in shares]) if shares else None
    source = EvaluatedRuns(judgments, named, systems)
    n = len(dict.fromkeys(wanted))  # without the shares
    return replace(
        found, measures=found.measures[:n], values=found.scores[:n], source=source, judged=judged
    )


# Notes on the queries of each run, which are those of all here, and on its options.
_RUN_NOTE_CODES = ("options", "without-run")
_MISSING_HINT = (
    "missing='zero' counts such a query as 0, missing='drop' leaves it out for every system"
)


def _align_columns(
    columns: Columns,
    wanted: Sequence[str] | None,
    missing: Missing,
    notes: Iterable[Note],
    recipe: Mapping[str, Any],
) -> AlignedScores:
    names = tuple(dict.fromkeys(system for _, system in columns))
    there = dict.fromkeys(measure for measure, _ in columns)
    if not names:
        raise InputError("there are no scores")
    measures = tuple(dict.fromkeys(there if wanted is None else wanted))
    for measure, name in product(measures, names):
        if measure not in there:
            raise MeasureError(f"there are no scores of {measure}; there are {', '.join(there)}")
        if (measure, name) not in columns:
            raise InputError(
                f"{name}: there are no scores of {measure}",
                hint="Every system needs a score for every measure; name those to compare.",
            )
    if not measures:
        raise MeasureError("no measure is named")
    chosen = {key: columns[key] for key in product(measures, names)}
    own = _share_id_tuples(chosen)
    query_ids, said = _choose_queries(chosen, own, missing)
    places = {ids: _find_positions(query_ids, ids) for ids in dict.fromkeys(own.values())}

    def on(measure: str, name: str) -> Floats:
        values, at = chosen[measure, name][1], places[own[measure, name]]
        return values if at is None else np.where(at < 0, 0.0, values[at])

    values = np.stack(
        [np.stack([on(measure, name) for name in names], axis=1) for measure in measures]
    )
    for m, q, s in np.argwhere(~(np.abs(values) <= GREATEST_SCORE))[:1].tolist():
        raise not_a_score_error(names[s], measures[m], query_ids[q], float(values[m, q, s]))
    made = {"cranfield": __version__, "missing": missing, **recipe}
    return AlignedScores(names, measures, query_ids, values, (*notes, *said), made)


def _share_id_tuples(columns: Columns) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the query ids of each column; columns with equal ids share one object."""
    kept: dict[tuple[str, ...], tuple[str, ...]] = {}
    read: dict[int, tuple[str, ...]] = {}  # by the object that the column has
    for ids, _ in columns.values():
        if id(ids) not in read:
            own = tuple(ids)
            read[id(ids)] = kept.setdefault(own, own)
    return {key: read[id(ids)] for key, (ids, _) in columns.items()}


def _find_positions(query_ids: tuple[str, ...], own: tuple[str, ...]) -> Ints | None:
    """Return the position of each query in `own`, -1 if it is not there; None if both are equal."""
    if own == query_ids:
        return None
    place = dict(zip(own, range(len(own)), strict=True))
    found = (place.get(query, -1) for query in query_ids)
    return np.fromiter(found, np.int64, len(query_ids))


def _choose_queries(
    columns: Columns, own: Mapping[tuple[str, str], tuple[str, ...]], missing: Missing
) -> tuple[tuple[str, ...], list[Note]]:
    """Return the queries to compare on, and notes on the others."""
    sets = {ids: frozenset(ids) for ids in dict.fromkeys(own.values())}
    first, *others = sets.values()
    every, shared = first.union(*others), first.intersection(*others)
    if not every:
        raise InputError("there is no query")
    if every == shared:
        return tuple(sorted(every, key=encode)), []
    if missing == "drop":
        if not shared:
            raise NothingSharedError("no query has a score for every system", hint=_MISSING_HINT)
        n = len(every - shared)
        text = f"{n:,} of {len(every):,} queries left out: not every system has a score."
        return tuple(sorted(shared, key=encode)), [Note("dropped", "info", text, n)]
    lacks: dict[str, int] = {}
    for measure, name in columns:
        lacking = every - sets[own[measure, name]]
        if lacking and missing == "error":
            shown = ", ".join(map(repr, sorted(lacking, key=encode)[:5]))
            raise InputError(
                f"{name}: {len(lacking):,} of {len(every):,} queries have no {measure}: "
                f"{shown}{', ...' if len(lacking) > 5 else ''}",
                hint=_MISSING_HINT,
            )
        lacks[name] = max(lacks.get(name, 0), len(lacking))
    notes = []
    for name, n in lacks.items():
        if n:
            text = f"{n:,} of {len(every):,} queries without a score: counted as 0."
            notes.append(Note("without-score", "info", text, n, name))
    return tuple(sorted(every, key=encode)), notes


def judged_share_measure(measure: Measure) -> Measure:
    """Return the share of what a measure looks at that is judged: Judged@10 beside nDCG@10.

    Of the whole ranking where a measure is not cut at a rank.
    """
    return Measure("Judged", measure.cutoff if isinstance(measure.cutoff, Depth) else None)
