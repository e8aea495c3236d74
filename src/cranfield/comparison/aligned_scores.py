"""AlignedScores: the scores of several systems, for the same queries in the same order.

What pairs of systems, units of queries and tables are made from; `alignment` makes it.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cranfield.arrays.ids import encode
from cranfield.arrays.ranked import Floats
from cranfield.comparison.extra_columns import ExtraColumns
from cranfield.comparison.scale import find_outside
from cranfield.comparison.score_columns import find_measure
from cranfield.comparison.significance import AddedVariance
from cranfield.comparison.units import EACH_QUERY, Units
from cranfield.data.judge import judge_all
from cranfield.data.judged import Judged
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import InputError, escape_unprintable
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.notes import Note
from cranfield.scoring.scores import Systems


@dataclass(frozen=True, eq=False)
class EvaluatedRuns:
    """The judgments and runs that scores were computed from.

    The first measures of `systems` are the measures of the aligned scores.
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
        """(query ids, judged run) of each run, for measures that are computed later.

        The first access reads the runs again and judges them with the same options.
        """
        costs = any(measure.definition.traits.takes_cost for measure in self.systems.measures)
        runs = list(self.runs.values())
        judged_runs = judge_all(self.qrels, runs, self.judging, costs=costs)
        return [(run.query_ids, run.judged) for run in judged_runs]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy, which judges the runs again: a judged run has functions."""
        return {name: value for name, value in vars(self).items() if name != "judged_runs"}


@dataclass(frozen=True, eq=False)
class AlignedScores:
    """Several systems' scores for the same queries.

    `scores` is (n_measures, n_queries, n_systems), without a NaN. `query_ids` are sorted by their
    bytes. A measure has its canonical text as its name; an unknown measure keeps its name in the
    file.
    """

    system_names: tuple[str, ...]
    measures: tuple[str, ...]
    query_ids: tuple[str, ...]
    scores: Floats
    notes: tuple[Note, ...]  # on the data
    recipe: Mapping[str, Any]  # what was read and with which options, to repeat it
    evaluated_runs: EvaluatedRuns | None = None  # None: the scores existed already
    # The share of judged documents among those that a measure looks at, with the shape of
    # `scores`, NaN where none was retrieved; None if it is not known, and for judgments in groups.
    judged_share: Floats | None = None
    units: Units = EACH_QUERY  # what tests take as independent
    extra_columns: tuple[ExtraColumns, ...] = ()  # what extensions add
    # {measure: what extensions add to the variances of the systems' means}
    added_variances: Mapping[str, AddedVariance] = field(default_factory=dict)

    def find_measure(self, measure: str) -> Measure | None:
        """Return the Measure with this name; None if it is unknown."""
        return find_measure(measure)

    def is_higher_better(self, measure: str) -> bool:
        """Tell whether higher is better; it is if unknown, unless `less_is_better` names it."""
        parsed_measure = find_measure(measure)
        falls = parsed_measure is not None and parsed_measure.definition.higher_is_better is False
        return not falls and measure not in self.recipe.get("less_is_better", ())

    def measure_scores(self, measure: str) -> Floats:
        """Return the scores under one measure: (n_queries, n_systems)."""
        measure_scores: Floats = self.scores[self.measures.index(measure)]
        return measure_scores

    def check_range(
        self,
        measure: str,
        score_range: tuple[float, float],
        hint: str | None,
        file_of_system: Mapping[str, str],
    ) -> None:
        """Raise InputError for a score outside of its range; the error names the system's file."""
        scores = self.measure_scores(measure)
        for query_index, system_index in find_outside(scores, *score_range)[:1].tolist():
            name, query_id = self.system_names[system_index], self.query_ids[query_index]
            raise InputError(
                f"{name}: {measure} of query {query_id!r:.80} is "
                f"{scores[query_index, system_index]:.10g}: "
                f"expected a score from {score_range[0]:g} to {score_range[1]:g}",
                source=file_of_system.get(name),
                hint=hint,
                query_id=query_id,
            )

    def select_variances(self, measure: str, *systems: Sequence[int]) -> tuple[AddedVariance, ...]:
        """Return what extensions add to the variances of these systems' means; () for nothing.

        Each of `systems` is a list of columns of the scores.
        """
        variance = self.added_variances.get(measure)
        return (
            () if variance is None else tuple(variance.select_systems(places) for places in systems)
        )

    def find_baseline(self, name: object) -> str:
        """Return the name of the baseline system, given its name or the path of its run.

        Raises InputError if no system has this name or path, or if it is neither.
        """
        hint = f"The systems are {', '.join(map(escape_unprintable, self.system_names))}."
        if not isinstance(name, str | os.PathLike):
            message = f"the baseline must be the name of a system, not a {type(name).__name__}"
            hint_to_add = (
                "Add the data to the systems under a name, as in {'old': ..., 'new': ...}."
            )
            raise InputError(message, hint=f"{hint_to_add} {hint}")
        name_or_path = os.fspath(name)
        if name_or_path in self.system_names:
            return name_or_path
        for system, run in () if self.evaluated_runs is None else self.evaluated_runs.runs.items():
            if os.path.realpath(name_or_path) in [
                os.path.realpath(source.path) for source in run.sources
            ]:
                return system
        if os.path.exists(name_or_path):
            message = "the baseline must be one of the systems, and this file is not"
            hint_to_add = f"Add it to them, as in [{name_or_path!r}, ...]."
            raise InputError(message, source=name_or_path, hint=f"{hint_to_add} {hint}")
        if os.path.splitext(name_or_path)[1] or os.path.dirname(name_or_path):  # a file's name
            message = "cannot be read: no such file, and no system of this name"
            raise InputError(message, source=name_or_path, hint=hint)
        raise InputError(f"there is no system {name_or_path!r:.80} to be the baseline", hint=hint)


def hash_query_ids(query_ids: Iterable[str]) -> str:
    """Return a hash of query ids: comparisons on the same queries have the same hash."""
    return hashlib.sha256(b"\0".join(map(encode, query_ids))).hexdigest()
