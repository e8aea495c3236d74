"""The same documents with other grades: judgments that are made of those that there are."""

import copy
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.data.judge import judge_all
from cranfield.data.judged import Judged
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import MeasureError
from cranfield.measures import Measure, Plan
from cranfield.scoring.variants import best_first, blocks, repeated


def on_scale(qrels: Qrels, top: int, query_ids: Sequence[str]) -> Qrels:
    """Return the judgments of some queries, on a scale that ends at `top`."""
    some = copy.copy(qrels) if len(query_ids) == len(qrels.query_ids) else qrels.of(query_ids)
    some.top_grade = top
    return some


class Relabelled:
    """Systems under qrels that have other grades: the runs are ranked once."""

    def __init__(
        self, qrels: Qrels, runs: Sequence[Run], measures: Sequence[Measure], top: int
    ) -> None:
        for one in measures:
            if one.definition.takes_groups:
                raise MeasureError(
                    f"{one} takes judgments in groups, too, or preferences: not with confusion=..."
                )
        self._qrels, self._plan, self._top = qrels, Plan(measures), top
        self._n_measures = len(measures)
        # Where a grade is the row of the judgment, the hits say which judgments they met.
        numbered = copy.copy(qrels)
        numbered.grade = np.arange(len(qrels))
        for name in ("ideal", "top_grade"):  # kept, and by the grades as they were
            vars(numbered).pop(name, None)
        costs = any(one.definition.takes_cost for one in measures)
        self._systems = [one.judged for one in judge_all(numbered, runs, costs=costs)]

    def scores(
        self, rates: Mapping[int, Mapping[int, float]], n: int, seed: int
    ) -> Iterator[Floats]:
        """Yield scores (n_qrels, n_queries, n_systems, n_measures), some qrels at once."""
        source = np.random.Generator(np.random.PCG64(seed))
        true = self._qrels.grade
        for some in blocks(n, 2 * len(true)):
            drawn = source.random((some.stop - some.start, len(true)))
            grades = np.empty(drawn.shape, np.int64)
            for grade in np.unique(true).tolist():
                rows = np.flatnonzero(true == grade)
                given = np.array(list(rates[grade]))
                ends = np.cumsum(list(rates[grade].values()))[:-1]
                grades[:, rows] = given[np.searchsorted(ends, drawn[:, rows], side="right")]
            yield self._under(grades)

    def _under(self, grades: Ints) -> Floats:
        """Return the scores under grades (n_qrels, rows), each query of each qrels one query."""
        n, n_queries = len(grades), len(self._qrels.query_ids)
        ideal = best_first(self._qrels.ideal, grades)
        found = []
        for one in self._systems:
            hits = repeated(one.hits, n, grades[:, one.hits.grade])
            cost = None if one.cost is None else np.tile(one.cost, n)
            judged = Judged(hits, ideal, np.tile(one.n_retrieved, (n, 1)), self._top, cost=cost)
            found.append(self._plan.values(judged).reshape(n, n_queries, self._n_measures))
        return np.stack(found, axis=2)
