"""Completions: ways to grade the unjudged documents of a query, of which bounds try some.

A completion says how many unjudged documents, down the ranking, have which grade. Which completions
have to be tried depends on the measure: see `bounds`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints, Numbers, Ranked
from cranfield.data.judged import Judged
from cranfield.data.qrels import Qrels
from cranfield.extensions.whatif.highest_ratio import find_highest_ratio, find_rungs, sum_prefixes
from cranfield.extensions.whatif.variants import make_rankings, measure_variants
from cranfield.measures import Measure
from cranfield.measures.gain import gain_of_grades
from cranfield.measures.parameters import Depth, Gains
from cranfield.measures.traits import BoundsMethod
from cranfield.progress import watch_steps

_MAX_ROWS = 1 << 21  # of one query's completions, half a second; of more rows, some are tried
_MAX_PAIRED_GRADES = 5  # of a query's grades, where all completions are too many


@dataclass(frozen=True)
class BoundsSearch:
    """How the bounds of a measure are sought. Measures with equal searches share completions."""

    method: BoundsMethod
    cutoff: int | None  # documents below it count only in the ideal ranking
    gain: str | tuple[str, float] | Gains  # what a grade is worth
    dcg: Measure | None = None  # the DCG that a "ratio" divides by that of the ideal ranking

    @classmethod
    def of(cls, measure: Measure, *, whole_grades: bool) -> "BoundsSearch":
        """Return how a measure's bounds are sought; `whole_grades`: no grade is a fraction."""
        method, cutoff = measure.bounds, measure.cutoff
        if method == "retrieved":
            method = "extremes"
        if not whole_grades and not _is_proved_for_fractions(measure):
            method = "attained"
        gain = dict(measure.given).get("gain", measure.definition.defaults.get("gain")) or "linear"
        if isinstance(cutoff, Depth) and cutoff.at_relevant:  # it differs between completions
            is_bounded = method in ("extremes", "split") and not isinstance(gain, Gains)
            return cls("split" if is_bounded else "attained", None, gain)
        ranks = cutoff.n_ranks if isinstance(cutoff, Depth) else None
        if method in ("extremes", "attained"):
            ranks = None
        return cls(method, ranks, gain, undivided_dcg(measure) if method == "ratio" else None)


def _is_proved_for_fractions(measure: Measure) -> bool:
    """Tell whether a measure's completions prove its bounds where grades may be fractions.

    They do for a measure that only asks whether a grade reaches `rel`; for a measure that rises
    with every grade; and for nDCG: as a function of the grades it is a ratio of sums, as long as
    these are in one order, so that its extremes have each grade at 0, at the highest, or at
    another document's. They do not where a mapping turns the order of grades round, nor where gains
    are divided by the highest of the query. Of "sorted" and "every", which prove none,
    `CompletionSet` notes it.
    """
    gain = measure.parameters.get("gain")
    return not isinstance(gain, Mapping) and (measure.bounds != "split" or gain is None)


# ---- the ranking of a query --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JudgedRanking:
    """The ranking of one query, and the grades in its judgments."""

    grade: Numbers  # (n_retrieved,) by rank; 0 where unjudged
    is_unjudged: Bools  # (n_retrieved,)
    level_grade: Numbers  # (n_levels,) the grades in the judgments, highest first
    level_count: Ints  # (n_levels,) how many judged documents have each grade
    n_unjudged: int
    n_documents: int  # judged or retrieved: of a completion's ideal ranking


def _query_slices(ranked: Ranked) -> list[slice]:
    """Return the rows of each query."""
    return list(map(slice, ranked.starts[:-1].tolist(), ranked.starts[1:].tolist()))


def list_rankings(judged: Judged) -> list[JudgedRanking]:
    """Return the ranking of each query of a Judged."""
    retrieved_docs, ideal = judged.every(), judged.ideal
    rankings = []
    for ranking_rows, ideal_rows in zip(
        _query_slices(retrieved_docs), _query_slices(ideal), strict=True
    ):
        is_unjudged = ~retrieved_docs.judged[ranking_rows]
        n_unjudged = int(np.count_nonzero(is_unjudged))
        level_grade, level_count = np.unique(-ideal.grade[ideal_rows], return_counts=True)
        n_documents = n_unjudged + ideal_rows.stop - ideal_rows.start
        rankings.append(
            JudgedRanking(
                retrieved_docs.grade[ranking_rows],
                is_unjudged,
                -level_grade,
                level_count,
                n_unjudged,
                n_documents,
            )
        )
    return rankings


# ---- which completions are tried --------------------------------------------------------------


class _GradeSteps(NamedTuple):
    """Completions of one query: how many unjudged documents have which grade, down the ranking."""

    grades: Numbers  # (n_steps,)
    counts: Ints  # (n_completions, n_steps)


def _uniform_steps(grades: Numbers, n_unjudged: int) -> _GradeSteps:
    """Return a completion for each grade, which all unjudged documents have in it."""
    return _GradeSteps(grades, n_unjudged * np.eye(len(grades), dtype=np.int64))


def _two_grade_steps(
    first_grade: float, rest_grade: float, n_unjudged: int, n_within: int
) -> _GradeSteps:
    """Return completions: `first_grade` for the first m = 0..n_within documents, then the other."""
    m = np.arange(n_within + 1)
    grades = np.array([first_grade, rest_grade])
    return _GradeSteps(grades, np.column_stack((m, n_unjudged - m)))


def _sorted_steps(grades: Ints, n_unjudged: int, n_within: int) -> Iterator[_GradeSteps]:
    """Yield all completions whose gains never rise, or never fall; `grades`: best gain first.

    Below the first `n_within`, all have the grade of the worst gain, or, where gains never fall,
    the best.
    """
    bars = combinations(range(n_within + len(grades) - 1), len(grades) - 1)
    bar_place = np.fromiter(bars, np.dtype((np.int64, len(grades) - 1)))
    counts = np.diff(bar_place, axis=1, prepend=-1, append=n_within + len(grades) - 1) - 1
    counts = np.column_stack((counts, np.full(len(counts), n_unjudged - n_within)))
    yield _GradeSteps(np.append(grades, grades[-1]), counts)
    yield _GradeSteps(np.append(grades[::-1], grades[0]), counts)


def _all_steps(grades: Ints, n_unjudged: int, n_within: int) -> Iterator[_GradeSteps]:
    """Yield all completions of the first `n_within`; below, all have the first or last grade."""
    choices = np.indices((len(grades),) * n_within).reshape(n_within, -1).T
    counts = (choices[:, :, None] == np.arange(len(grades))).reshape(len(choices), -1) * 1
    counts = np.column_stack((counts, np.full(len(counts), n_unjudged - n_within)))
    for end_grade in (grades[0], grades[-1]) if n_unjudged > n_within else grades[:1]:
        yield _GradeSteps(np.append(np.tile(grades, n_within), end_grade), counts)


class CompletionSet:
    """The completions of every query that are tried.

    `is_proved` (n_queries,): whether they prove the bounds, known once all were yielded.
    """

    def __init__(
        self,
        search: BoundsSearch,
        rankings: Sequence[JudgedRanking],
        top_grade: float,
        *,
        whole_grades: bool,
    ) -> None:
        self._whole_grades = whole_grades
        self._search, self._rankings, self._top_grade = search, rankings, top_grade
        gain = dict(search.gain) if isinstance(search.gain, Gains) else search.gain
        self._worths = Worths(gain, top_grade)
        self.is_proved = np.ones(len(rankings), np.bool_)

    def completions(self) -> Iterator[tuple["Completions", int, int]]:
        """Yield completions, the number of them, and the number of rows that each takes."""
        method, weights = self._search.method, self._rank_weights()
        for i, ranking in enumerate(watch_steps(self._rankings, "bounds")):
            n_unjudged = ranking.n_unjudged
            n_within = int(np.count_nonzero(ranking.is_unjudged[: self._search.cutoff]))
            grades = self._worths.distinct_grades(
                {0, self._top_grade, *ranking.level_grade.tolist()}
            )
            best_grade, worst_grade = grades[0].item(), grades[-1].item()
            if method == "extremes":
                step_sets = [_uniform_steps(np.array([best_grade, worst_grade]), n_unjudged)]
            else:
                step_sets = [
                    _uniform_steps(grades, n_unjudged),
                    _two_grade_steps(worst_grade, best_grade, n_unjudged, n_within),
                ]
                if method == "ratio":
                    step_sets.append(self._ratio_steps(ranking, grades, weights))
                else:
                    step_sets += [
                        _two_grade_steps(best_grade, worst_grade, n_unjudged, n_within),
                        *self._uneven_steps(i, ranking, grades, n_within),
                    ]
            for step_grades, counts in step_sets:
                completions = Completions(i, ranking, step_grades, counts, self._search.cutoff)
                yield completions, len(counts), completions.n_ranks + ranking.n_documents + 1

    def _uneven_steps(
        self, i: int, ranking: JudgedRanking, grades: Numbers, n_within: int
    ) -> Iterator[_GradeSteps]:
        """Yield what to try beside the best and the worst; note whether it proves the bounds."""
        method, n_unjudged = self._search.method, ranking.n_unjudged
        if method == "split" or n_within == 0:
            return  # all completions that matter were tried
        if not self._whole_grades:
            yield from self._unproved_steps(i, grades, n_unjudged, n_within)
            return
        top_grade = int(self._top_grade)
        if top_grade <= 1 and method != "attained":
            return
        n_retrieved = len(ranking.grade)
        n_rows = min(n_retrieved, self._search.cutoff or n_retrieved) + ranking.n_documents
        max_log2_rows = math.log2(_MAX_ROWS / max(n_rows, n_within * (top_grade + 1)))
        if method != "sorted" and n_within * math.log2(top_grade + 1) <= max_log2_rows:
            yield from _all_steps(np.arange(top_grade, -1, -1), n_unjudged, n_within)
            return
        n_sorted = math.comb(n_within + top_grade, n_within)
        if method != "attained" and math.log2(n_sorted) <= max_log2_rows:
            self.is_proved[i] = method == "sorted"
            grades = self._worths.distinct_grades(range(top_grade + 1))
            yield from _sorted_steps(grades, n_unjudged, n_within)
            return
        yield from self._unproved_steps(i, grades, n_unjudged, n_within)

    def _unproved_steps(
        self, i: int, grades: Numbers, n_unjudged: int, n_within: int
    ) -> Iterator[_GradeSteps]:
        """Yield completions that prove no bounds, and note this in `is_proved`."""
        self.is_proved[i] = False
        if self._search.method != "attained":
            for first_grade, rest_grade in permutations(grades[:_MAX_PAIRED_GRADES].tolist(), 2):
                yield _two_grade_steps(first_grade, rest_grade, n_unjudged, n_within)

    def _rank_weights(self) -> Floats:
        """Return what the highest gain adds to `dcg` at each rank, (n_ranks,); without it, (0,)."""
        if self._search.dcg is None:
            return np.zeros(0)
        n_ranks = max(
            [1, *(max(len(ranking.grade), ranking.n_documents) for ranking in self._rankings)]
        )
        best_grade = self._worths.distinct_grades({0, self._top_grade})[0].item()
        return discounted_gains(self._search.dcg, best_grade, self._top_grade, n_ranks)

    def _ratio_steps(self, ranking: JudgedRanking, grades: Numbers, weights: Floats) -> _GradeSteps:
        """Return completions of which the last has the highest nDCG.

        Only the grades that some document has, the lowest and the highest need be tried: between
        two of these the terms of the sum that is maximized differ by a factor.
        """
        gains_of, is_unjudged = self._worths.gains_of, ranking.is_unjudged
        level_gain, judged_level_gain = gains_of(grades), gains_of(ranking.level_grade)
        rank_weight, n_unjudged = weights[: len(is_unjudged)], ranking.n_unjudged
        rung = find_rungs(judged_level_gain, level_gain)
        n_judged = ((judged_level_gain >= rung[:, None]) * ranking.level_count).sum(axis=1)
        judged_gain = gains_of(ranking.grade[~is_unjudged]) @ rank_weight[~is_unjudged]
        unit_gain = sum_prefixes(rank_weight[is_unjudged])
        _, rounds = find_highest_ratio(
            level_gain,
            rung,
            n_judged[None],
            np.array([judged_gain]),
            unit_gain[None],
            np.array([n_unjudged]),
            np.arange(len(unit_gain))[None],
            sum_prefixes(weights[: ranking.n_documents]),
        )
        n_at_least = np.array(rounds)[:, :, 0]
        return _GradeSteps(grades, np.diff(n_at_least, axis=1, prepend=0, append=n_unjudged))


# ---- completions as a Judged ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Completions:
    """Completions of one query: how many unjudged documents have which grade, down the ranking."""

    query_index: int  # the number of the query
    ranking: JudgedRanking
    grades: Numbers  # (n_steps,)
    counts: Ints  # (n_completions, n_steps)
    cutoff: int | None  # documents below it count only in the ideal ranking

    def take(self, rows: slice) -> "Completions":
        """Return the completions of some rows of `counts`."""
        return replace(self, counts=self.counts[rows])

    @property
    def n_ranks(self) -> int:
        """The number of ranks, down to the cutoff."""
        return len(self.ranking.grade[: self.cutoff])

    def grades_by_rank(self) -> Numbers:
        """Return the grades by rank, down to the cutoff: (n_completions, n_ranks)."""
        n_completions, ranking = len(self.counts), self.ranking
        unjudged_grade = np.repeat(
            np.tile(self.grades, n_completions), self.counts.ravel()
        ).reshape(n_completions, ranking.n_unjudged)
        is_unjudged = ranking.is_unjudged[: self.cutoff]
        grade = np.tile(ranking.grade[: self.cutoff], (n_completions, 1))
        grade[:, is_unjudged] = unjudged_grade[:, : np.count_nonzero(is_unjudged)]
        return grade

    def ideal_grades(self) -> Numbers:
        """Return all grades, the highest first: (n_completions, n_documents)."""
        ranking = self.ranking
        level_grade = np.array(
            sorted({*ranking.level_grade.tolist(), *self.grades.tolist()}, reverse=True)
        )
        counts = np.zeros((len(self.counts), len(level_grade)), np.int64)
        counts[:, np.searchsorted(-level_grade, -ranking.level_grade)] = ranking.level_count
        for column, grade in zip(self.counts.T, self.grades.tolist(), strict=True):
            counts[:, np.searchsorted(-level_grade, -grade)] += column
        ideal_grade = np.repeat(np.tile(level_grade, len(counts)), counts.ravel())
        return ideal_grade.reshape(len(counts), ranking.n_documents)


def judge_completions(completion_blocks: Sequence[Completions], top_grade: float) -> Judged:
    """Return a Judged with a query for each completion of each block."""
    n_retrieved = [len(block.ranking.grade) for block in completion_blocks]
    n_variants = [len(block.counts) for block in completion_blocks]
    return Judged(
        make_rankings([block.grades_by_rank() for block in completion_blocks]),
        make_rankings([block.ideal_grades() for block in completion_blocks]),
        np.repeat(n_retrieved, n_variants)[:, None],
        top_grade,
    )


# ---- what grades and ranks are worth ----------------------------------------------------------


def find_reachable_grade(judgments: Judged | Qrels) -> float:
    """Return the highest grade that an unjudged document may have."""
    return judgments.top_grade or 1  # where no document is relevant, one may be


def list_candidate_grades(
    gain: str | tuple[str, float] | Mapping[float, float] | None,
    top_grade: float,
    grades: Iterable[float],
) -> Numbers:
    """Return the grades, ascending, and other grades that may be worth the most or the least.

    Only grades from 0 to `top_grade` are among them.
    A grade that a mapping of gains does not name is worth itself: the lowest and the highest of
    such grades are next to a grade that it names.
    """
    candidates = set(grades)
    if isinstance(gain, Mapping):
        named_grades = [grade for grade in gain if isinstance(grade, int)]
        candidates |= {grade + step for grade in named_grades for step in (-1, 0, 1)}
    return np.array(sorted(grade for grade in candidates if 0 <= grade <= top_grade))


@dataclass(frozen=True)
class Worths:
    """What grades are worth to a measure with these gains."""

    gain: str | tuple[str, float] | Mapping[float, float]
    top_grade: float

    def gains_of(self, grades: Numbers) -> Floats:
        """Return the gain of each of the grades (n,): (n,)."""
        gains: Floats = gain_of_grades(grades, self.gain, self.top_grade) * 1.0
        return gains

    def distinct_grades(self, grades: Iterable[float]) -> Numbers:
        """Return a grade for each gain of the grades and of the extremes, highest gain first."""
        candidates = list_candidate_grades(self.gain, self.top_grade, grades)
        best_first: Numbers = candidates[
            np.unique(-self.gains_of(candidates), return_index=True)[1]
        ]
        return best_first


def undivided_dcg(measure: Measure) -> Measure:
    """Return the DCG that an nDCG divides by the DCG of the ideal ranking."""
    dcg_parameters = Measure("DCG").definition.parameters
    parameters = tuple((key, value) for key, value in measure.given if key in dcg_parameters)
    return Measure("DCG", measure.cutoff, parameters)


def discounted_gains(dcg: Measure, grade: float, top_grade: float, n_ranks: int) -> Floats:
    """Return what a document of a grade adds to a DCG at each rank: (n_ranks,)."""

    def judge_single(rows: slice) -> Judged:
        rank = np.arange(rows.start, rows.stop) + 1
        query = np.arange(len(rank))
        hits = Ranked(len(rank), query, rank, np.full(len(rank), grade))
        return Judged(hits, hits, rank[:, None], top_grade)

    return measure_variants(dcg, n_ranks, 2, judge_single)
