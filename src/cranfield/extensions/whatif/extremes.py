"""The lowest and the highest difference of two runs on each query, over every way to grade.

What an unjudged document adds to a measure is found by asking the measure: see `LinearExtremes`.
For nDCG, which divides by the ideal ranking, the ends are sought directly: see `RatioExtremes`.
"""

from dataclasses import replace

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, Ranked, ratio
from cranfield.data.judged import NO_CUTOFF, Judged
from cranfield.data.qrels import Qrels
from cranfield.extensions.whatif.completions import (
    Worths,
    discounted_gains,
    find_reachable_grade,
    list_candidate_grades,
    undivided_dcg,
)
from cranfield.extensions.whatif.highest_ratio import find_highest_ratio, find_rungs, sum_prefixes
from cranfield.extensions.whatif.unjudged import UnjudgedDocuments
from cranfield.extensions.whatif.variants import (
    make_rankings,
    measure_variants,
    repeat_ranking,
    split_variants,
)
from cranfield.measures import Measure
from cranfield.measures.parameters import Depth

ROUNDING = 1e-12  # a bound so near to 0 may be 0; also relative to a range's end
_PROBE_RANKS = 2 ** np.arange(12)  # ranks, to see where their weights end
_NEGLIGIBLE = 1e-17  # of all weights: less than the last bit of a sum


class LinearExtremes:
    """What an unjudged document adds to a measure, found by asking the measure.

    A pseudo-query has one document: at rank r of n retrieved, with the grade that is worth most
    (or costs most). What it adds is the weight of (r, n). Another grade adds from `least_share` to
    `greatest_share` times as much. The ideal ranking of pseudo-queries holds a document of each
    candidate grade; for each query, a scale says how much more or less a document adds beside the
    query's own ideal ranking.
    """

    def __init__(self, measure: Measure, qrels: Qrels) -> None:
        self._measure, self._ideal_ranking = measure, qrels.ideal
        self._top_grade = find_reachable_grade(qrels)
        # One of these grades is worth the most, and one the least.
        gain = measure.parameters.get("gain", "linear")
        self._grades = list_candidate_grades(gain, self._top_grade, {0, self._top_grade})[::-1]
        first_rank = np.array([1])
        grade_gain = np.array(
            [
                self._measure_singles(first_rank, first_rank, grade)[0]
                for grade in self._grades.tolist()
            ]
        )
        chief_index = int(np.abs(grade_gain).argmax())
        self.chief_grade = self._grades[chief_index].item()
        share = ratio(grade_gain, grade_gain[chief_index : chief_index + 1])
        self.least_share, self.greatest_share = float(share.min()), float(share.max())
        self.zero_share = float(share[self._grades == 0][0])  # of grade 0; unjudged, it adds 0
        self.max_rank = self._find_max_rank()

    def _find_max_rank(self) -> int:
        """Return the cutoff, a rank below which all weights are lost in rounding, or NO_CUTOFF."""
        cutoff = self._measure.cutoff
        if isinstance(cutoff, Depth) and cutoff.n_ranks is not None:
            return cutoff.n_ranks
        rank = _PROBE_RANKS
        weight = np.abs(self._measure_singles(rank, np.full(len(rank), rank[-1]), self.chief_grade))
        # At least the weight of all ranks from each rank on.
        remaining_weight = np.cumsum((weight * rank)[::-1])[::-1]
        matters = remaining_weight > _NEGLIGIBLE * remaining_weight[0]
        return NO_CUTOFF if matters[-1] else int(rank[np.count_nonzero(matters)])

    def _measure_singles(self, rank: Ints, n_retrieved: Ints, grade: float) -> Floats:
        """Return what one document of a grade adds at each rank of `n_retrieved` ranks: (rows,)."""
        n_ranks, ideal = len(rank), make_rankings([self._grades[None]])

        def judge_variants(rows: slice) -> Judged:
            variant = np.arange(rows.start, rows.stop)
            return self._judge_singles(
                variant, rank, n_retrieved, grade, repeat_ranking(ideal, len(variant))
            )

        return _subtract_halves(
            measure_variants(self._measure, 2 * n_ranks, len(self._grades) + 1, judge_variants)
        )

    def _judge_singles(
        self, variant: Ints, rank: Ints, n_retrieved: Ints, grade: float, ideal: Ranked
    ) -> Judged:
        """Return some of 2 n variants: n queries with one document at its rank, and n without."""
        rank_index, document_variant = variant % len(rank), np.flatnonzero(variant < len(rank))
        hits = Ranked(
            len(variant),
            document_variant,
            rank[rank_index[document_variant]],
            np.full(len(document_variant), grade),
        )
        return Judged(hits, ideal, n_retrieved[rank_index][:, None], self._top_grade)

    def weights(self, unjudged: UnjudgedDocuments) -> Floats:
        """Return what each of a run's unjudged documents adds with `chief_grade`: (rows,)."""
        n_retrieved = np.maximum(unjudged.n_retrieved, 1)  # 0: no document needs the scale
        n_queries = len(n_retrieved)
        first_rank, variant = np.ones(n_queries, np.int64), np.arange(2 * n_queries)
        pseudo_queries = self._judge_singles(
            variant,
            first_rank,
            n_retrieved,
            self.chief_grade,
            repeat_ranking(self._ideal_ranking, 2),
        )
        gain = _subtract_halves(self._measure.values(pseudo_queries)[:, 0])
        scale = ratio(gain, self._look_up_weights(first_rank, n_retrieved))
        query = unjudged.query
        return self._look_up_weights(unjudged.rank, n_retrieved[query]) * scale[query]

    def select_documents(self, unjudged: UnjudgedDocuments) -> UnjudgedDocuments:
        """Return the documents that may change an end."""
        return unjudged.cut_at(self.max_rank)

    def ends(
        self, query: Ints, weight_difference: Floats, difference: Floats
    ) -> tuple[Floats, Floats]:
        """Return the lowest and the highest difference of each query: (n_queries,) twice.

        `weight_difference` (rows,) is what each unjudged document adds to the one run less what it
        adds to the other, `query` (rows,) its query; `difference` (n_queries,) as it is.
        """
        # Both sums at once: of the weight differences below 0, and of the others.
        difference_sum = np.bincount(
            2 * query + (weight_difference > 0), weight_difference, 2 * len(difference)
        )
        negative_sum, positive_sum = difference_sum[::2], difference_sum[1::2]
        low = difference + (self.greatest_share * negative_sum + self.least_share * positive_sum)
        return low, difference + (
            self.greatest_share * positive_sum + self.least_share * negative_sum
        )

    def _look_up_weights(self, rank: Ints, n_retrieved: Ints) -> Floats:
        """Return the weight of each rank and `n_retrieved`, (rows,); equal pairs are asked once."""
        rank_base = int(rank.max(initial=0)) + 1
        place, place_index = np.unique(n_retrieved * rank_base + rank, return_inverse=True)
        return self._measure_singles(place % rank_base, place // rank_base, self.chief_grade)[
            place_index
        ]


def _subtract_halves(values: Floats) -> Floats:
    """Return what documents add: the values with them, the first half, less the second half."""
    half = len(values) // 2
    gain: Floats = values[:half] - values[half:]
    return gain


class RatioExtremes:
    """What unjudged documents may do to a difference of two nDCG: to its gains and to the ideal.

    The difference is (D + sum of gain times d_u) / I, where d_u is the discount of an unjudged
    document u in the one run less that in the other, and I the ideal ranking's DCG. Its highest
    value is found by `find_highest_ratio`; its lowest is the highest of the difference the other
    way round. Documents of which d_u is 0 are all taken or none: they change the ideal alone.
    """

    def __init__(self, measure: Measure, qrels: Qrels) -> None:
        self._dcg = undivided_dcg(measure)
        self._dcg_extremes = LinearExtremes(self._dcg, qrels)
        self.zero_share = self._dcg_extremes.zero_share
        self._top_grade = find_reachable_grade(qrels)
        worths = Worths(measure.parameters["gain"], self._top_grade)
        ideal, n_queries = qrels.ideal, len(qrels.query_ids)
        # Documents below the cutoff k count in the ideal ranking, too, which has k documents. Among
        # the next n_judged + 2 k, k are neither judged nor among the other run's first k.
        n_judged = int(np.bincount(ideal.query, minlength=1).max(initial=0))
        has_cutoff = isinstance(measure.cutoff, Depth)
        self.max_rank = 3 * self._dcg_extremes.max_rank + n_judged if has_cutoff else NO_CUTOFF
        # What an unjudged document may gain, the most first; and what any document may gain.
        reachable_grades = {0, self._top_grade, *np.unique(ideal.grade).tolist()}
        self._level_gain = worths.gains_of(worths.distinct_grades(reachable_grades))
        judged_gain = worths.gains_of(ideal.grade)
        self._rung = find_rungs(judged_gain, self._level_gain)
        # How many judged documents of each query gain at least a rung: (n_queries, n_rungs).
        rung_index = np.searchsorted(self._rung, judged_gain, side="right")
        cell = ideal.query * (len(self._rung) + 1) + rung_index
        counts = np.bincount(cell, minlength=n_queries * (len(self._rung) + 1))
        counts = counts.reshape(n_queries, -1)[:, ::-1].cumsum(axis=1)[:, ::-1]
        self._n_judged = counts[:, 1:]

    def weights(self, unjudged: UnjudgedDocuments) -> Floats:
        """Return the discount of each of a run's unjudged documents: (rows,).

        Here and in `ends`, discounts are times what `chief_grade` gains, which changes no ratio.
        """
        discount = np.zeros(len(unjudged.rank))
        is_counted = unjudged.rank <= self._dcg_extremes.max_rank
        discount[is_counted] = self._dcg_extremes.weights(
            unjudged.cut_at(self._dcg_extremes.max_rank)
        )
        return discount

    def select_documents(self, unjudged: UnjudgedDocuments) -> UnjudgedDocuments:
        """Return the documents that may change an end: with a cutoff k, the first 3 k of a query.

        Of these, k are at ranks below k in both runs: as many as an ideal ranking may take.
        """
        documents = unjudged.cut_at(self.max_rank)
        if self.max_rank == NO_CUTOFF:
            return documents
        first_row = np.searchsorted(documents.query, documents.query)
        rows = np.arange(len(first_row)) - first_row < 3 * self._dcg_extremes.max_rank
        return replace(
            documents,
            query=documents.query[rows],
            rank=documents.rank[rows],
            document=documents.document[rows],
        )

    def ends(self, query: Ints, discount: Floats, difference: Floats) -> tuple[Floats, Floats]:
        """Return the lowest and the highest difference of each query: (n_queries,) twice.

        `discount` (rows,) is the discount of each unjudged document in the one run less that in the
        other, `query` (rows,) its query; `difference` (n_queries,) as it is. Several pairs of runs
        may be one behind another, each with all queries.
        """
        n_queries = len(difference)
        n_all_judged = np.resize(self._n_judged, (n_queries, self._n_judged.shape[1]))
        low, high = np.empty(n_queries), np.empty(n_queries)
        # All documents of a query with the discount 0 are one row.
        is_moved = discount != 0
        n_alike = np.bincount(query[~is_moved], minlength=n_queries)
        query = np.concatenate((query[is_moved], np.arange(n_queries)))
        discount = np.concatenate((discount[is_moved], np.zeros(n_queries)))
        n_rows = np.bincount(query, minlength=n_queries)
        order = np.lexsort((discount, query))
        first_row = np.cumsum(n_rows) - n_rows
        n_ideal = n_rows + n_alike + n_all_judged.max(axis=1, initial=0)
        n_ranks = min(int(n_ideal.max(initial=0)), self._dcg_extremes.max_rank)
        chief_grade, n_gains = self._dcg_extremes.chief_grade, max(n_ranks, 1)
        unit_gain = sum_prefixes(discounted_gains(self._dcg, chief_grade, self._top_grade, n_gains))
        rung_rise = np.diff(self._rung, prepend=0.0)
        for queries in split_variants(n_queries, int(n_rows.max(initial=0)) + 2):
            first, last, size = queries.start, queries.stop - 1, n_rows[queries]
            rows = order[first_row[first] : first_row[last] + n_rows[last]]
            ascending = np.zeros((len(size), int(size.max())))
            place = np.arange(len(rows)) - np.repeat(first_row[queries] - first_row[first], size)
            ascending[query[rows] - first, place] = discount[rows]
            n_judged, block_alike = n_all_judged[queries], n_alike[queries]
            ideal_dcg = (unit_gain[np.minimum(n_judged, n_ranks)] * rung_rise).sum(axis=1)
            judged_gain = difference[queries] * ideal_dcg
            low[queries] = 0.0 - self._find_highest(
                -ascending, size, block_alike, 0.0 - judged_gain, n_judged, unit_gain
            )
            column = np.maximum(size[:, None] - 1 - np.arange(ascending.shape[1]), 0)
            descending = np.take_along_axis(ascending, column, axis=1)
            high[queries] = self._find_highest(
                descending, size, block_alike, judged_gain, n_judged, unit_gain
            )
        if self._level_gain[-1] == 0:  # the judgments as they are, are a completion
            return np.minimum(low, difference), np.maximum(high, difference)
        return low, high

    def _find_highest(
        self,
        discount: Floats,
        n_rows: Ints,
        n_alike: Ints,
        judged_gain: Floats,
        n_judged: Ints,
        ideal_unit_gain: Floats,
    ) -> Floats:
        """Return the highest ratio of each query: (n_queries,).

        `discount` (n_queries, longest) holds the greatest first, and a query has the first
        `n_rows`; a discount of 0 is shared by `n_alike` documents. The other parameters are as in
        `find_highest_ratio`.
        """
        n_taken = np.arange(discount.shape[1] + 1)
        discount = np.where(n_taken[1:] > n_rows[:, None], 0.0, discount)
        is_past = n_taken > np.count_nonzero(discount > 0, axis=1)[:, None]
        n_documents = n_taken + is_past * (n_alike[:, None] - 1)
        unit_gain = np.concatenate((np.zeros((len(n_rows), 1)), discount.cumsum(axis=1)), axis=1)
        highest, _ = find_highest_ratio(
            self._level_gain,
            self._rung,
            n_judged,
            judged_gain,
            unit_gain,
            n_rows,
            n_documents,
            ideal_unit_gain,
        )
        # Where no judged document gains anything, perhaps none does.
        has_no_gain = (n_judged.max(axis=1, initial=0) == 0) & (self._level_gain[-1] == 0)
        return np.where(has_no_gain, np.maximum(highest, 0.0), highest) + 0.0
