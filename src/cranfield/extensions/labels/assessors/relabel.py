"""The same documents with other grades: judgments that are made of those that there are."""

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
from cranfield.extensions.whatif.variants import regrade_ideal, split_variants, repeat_ranking
from cranfield.measures import Measure, Plan
from cranfield.progress import watch_slices


def select_on_scale(qrels: Qrels, top_grade: float, query_ids: Sequence[str]) -> Qrels:
    """Return the judgments of some queries, on a scale that ends at `top`."""
    some = copy.copy(qrels) if len(query_ids) == len(qrels.query_ids) else qrels.select_queries(query_ids)
    some.top_grade = top_grade
    return some


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
    """Yield systems' scores under n qrels whose grades are drawn by the rates, some qrels at once.

    They are (n_qrels, n_queries, n_systems, n_measures). The runs are ranked once.
    """
    for one in measures:
        if one.definition.traits.takes_groups:
            raise MeasureError(
                f"{one} takes judgments in groups, too, or preferences: not with confusion=..."
            )
    # Where a grade is the row of the judgment, the hits say which judgments they met.
    numbered = copy.copy(qrels)
    numbered.grade = np.arange(len(qrels))
    for name in ("ideal", "top_grade"):  # kept, and by the grades as they were
        vars(numbered).pop(name, None)
    costs = any(one.definition.traits.takes_cost for one in measures)
    systems = [one.judged for one in judge_all(numbered, runs, judging, costs=costs)]
    plan, source, true = Plan(measures), np.random.Generator(np.random.PCG64(seed)), qrels.grade

    def under(system: Judged, ideal: Ranked, grades: Ints) -> Floats:
        """Return a system's scores; each query of each qrels is a query here."""
        many = len(grades)
        hits = repeat_ranking(system.hits, many, grades[:, system.hits.grade])
        cost = None if system.cost is None else np.tile(system.cost, many)
        judged = Judged(hits, ideal, np.tile(system.n_retrieved, (many, 1)), top_grade, cost=cost)
        return plan.values(judged).reshape(many, len(qrels.query_ids), len(measures))

    for some in watch_slices(split_variants(n_qrels, 2 * len(true)), "mixtures", n_qrels):
        drawn = source.random((some.stop - some.start, len(true)))
        grades = np.empty(drawn.shape, np.int64)
        for grade in np.unique(true).tolist():
            rows = np.flatnonzero(true == grade)
            given = np.array(list(rates[grade]))
            ends = np.cumsum(list(rates[grade].values()))[:-1]
            grades[:, rows] = given[np.searchsorted(ends, drawn[:, rows], side="right")]
        ideal = regrade_ideal(qrels.ideal, grades)
        yield np.stack([under(one, ideal, grades) for one in systems], axis=2)
