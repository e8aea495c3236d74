"""Relabelling, for `agreement`: scores of systems under qrels with grades drawn again by rates."""

import copy
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, Ranked
from cranfield.data.judge import judge_all
from cranfield.data.judged import Judged
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import MeasureError
from cranfield.extensions.whatif.variants import regrade_ideal, repeat_ranking, split_variants
from cranfield.measures import Measure, Plan
from cranfield.progress import watch_slices


def select_on_scale(qrels: Qrels, top_grade: float, query_ids: Sequence[str]) -> Qrels:
    """Return the judgments of some queries, on a scale whose highest grade is `top_grade`."""
    has_all = len(query_ids) == len(qrels.query_ids)
    qrels_on_scale = copy.copy(qrels) if has_all else qrels.select_queries(query_ids)
    qrels_on_scale.top_grade = top_grade
    return qrels_on_scale


def score_relabelled(
    qrels: Qrels,
    runs: Sequence[Run],
    measures: Sequence[Measure],
    top_grade: float,
    rates: Mapping[int, Mapping[int, float]],
    n_qrels: int,
    seed: int,
    judging: Judging,
) -> Iterator[Floats]:
    """Yield systems' scores under `n_qrels` qrels whose grades are drawn by the rates.

    A batch is (n_qrels of the batch, n_queries, n_systems, n_measures). Runs are ranked once.
    Raises MeasureError for a measure of groups or preferences.
    """
    for measure in measures:
        if measure.definition.traits.takes_groups:
            raise MeasureError(
                f"{measure} takes judgments in groups, too, or preferences: not with confusion=..."
            )
    # With its row as the grade of a judgment, a hit says which judgment it matches.
    numbered_qrels = copy.copy(qrels)
    numbered_qrels.grade = np.arange(len(qrels))
    for name in ("ideal", "top_grade"):  # cached values of the true grades
        vars(numbered_qrels).pop(name, None)
    costs = any(measure.definition.traits.takes_cost for measure in measures)
    judged_systems = [
        matched_run.judged for matched_run in judge_all(numbered_qrels, runs, judging, costs=costs)
    ]
    plan = Plan(measures)
    generator = np.random.Generator(np.random.PCG64(seed))
    true_grade = qrels.grade

    def score_system(system: Judged, ideal: Ranked, grades: Ints) -> Floats:
        """Return scores (n_variants, n_queries, n_measures); `grades` is (n_variants, rows)."""
        n_variants = len(grades)
        hits = repeat_ranking(system.hits, n_variants, grades[:, system.hits.grade])
        cost = None if system.cost is None else np.tile(system.cost, n_variants)
        n_retrieved = np.tile(system.n_retrieved, (n_variants, 1))
        judged = Judged(hits, ideal, n_retrieved, top_grade, cost=cost)
        return plan.values(judged).reshape(n_variants, len(qrels.query_ids), len(measures))

    for block in watch_slices(split_variants(n_qrels, 2 * len(true_grade)), "mixtures", n_qrels):
        uniform = generator.random((block.stop - block.start, len(true_grade)))
        grades = np.empty(uniform.shape, np.int64)
        for grade in np.unique(true_grade).tolist():
            rows = np.flatnonzero(true_grade == grade)
            given_grades = np.array(list(rates[grade]))
            rate_ends = np.cumsum(list(rates[grade].values()))[:-1]
            given_code = np.searchsorted(rate_ends, uniform[:, rows], side="right")
            grades[:, rows] = given_grades[given_code]
        ideal = regrade_ideal(qrels.ideal, grades)
        yield np.stack([score_system(system, ideal, grades) for system in judged_systems], axis=2)
