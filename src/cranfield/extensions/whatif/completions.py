"""Completions: ways to grade the unjudged documents of a query, of which bounds try some.

A completion is told by how many unjudged documents, down the ranking, have which grade. Which of
them have to be tried depends on the measure: see `bounds`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

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

_MAX_ROWS = 1 << 21  # in "sorted" or "every" of one query: half a second; of more, some are tried
_MAX_PAIRED_GRADES = 5  # of a query's grades, where these are too many


@dataclass(frozen=True)
class BoundsSearch:
    """How the bounds of a measure are sought. Measures of the same way share the completions."""

    method: BoundsMethod
    cutoff: int | None  # documents below it only count as far as the ideal has them
    gain: str | tuple[str, float] | Gains  # what a grade is worth
    dcg: Measure | None = None  # what a "ratio" divides by that of the ideal ranking

    @classmethod
    def of(cls, measure: Measure, *, whole_grades: bool) -> "BoundsSearch":
        """Return how the bounds of this measure are sought; `whole`: of grades that are whole."""
        method, cutoff = measure.bounds, measure.cutoff
        if method == "retrieved":
            method = "extremes"
        if not whole_grades and not _is_proved_for_fractions(measure):
            method = "attained"
        gain = dict(measure.given).get("gain", measure.definition.defaults.get("gain")) or "linear"
        if isinstance(cutoff, Depth) and cutoff.at_relevant:  # each completion has its own
            known = method in ("extremes", "split") and not isinstance(gain, Gains)
            return cls("split" if known else "attained", None, gain)
        ranks = cutoff.n_ranks if isinstance(cutoff, Depth) else None
        if method in ("extremes", "attained"):
            ranks = None
        return cls(method, ranks, gain, undivided_dcg(measure) if method == "ratio" else None)


def _is_proved_for_fractions(measure: Measure) -> bool:
    """Tell whether the completions tried are enough where a grade may be any number.

    They are where all that counts of a grade is whether it reaches `rel`; where the value rises
    with every grade; and for nDCG: as a function of the grades it is a ratio of sums, as long as
    these are in one order, so that its extremes have each grade at 0, at the highest, or at
    another document's. Not where a mapping turns the order of grades round, nor where gains are
    divided by the highest of the query.
    """
    gain = measure.parameters.get("gain")
    return not isinstance(gain, Mapping) and (measure.bounds != "split" or gain is None)


# ---- what is known of a query -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JudgedRanking:
    """One query: the retrieved documents, and the judgments."""

    grade: Numbers  # (n_retrieved,) by rank; 0 where unjudged
    is_unjudged: Bools  # (n_retrieved,)
    level_grade: Numbers  # (n_levels,) the grades in the judgments, highest first
    level_count: Ints  # (n_levels,) how many documents have each
    n_unjudged: int
    n_documents: int  # judged or retrieved: of a completion's ideal ranking


def _query_slices(ranked: Ranked) -> list[slice]:
    return list(map(slice, ranked.starts[:-1].tolist(), ranked.starts[1:].tolist()))


def list_rankings(judged: Judged) -> list[JudgedRanking]:
    """Return every query of a Judged."""
    every, ideal = judged.every(), judged.ideal
    found = []
    for row, graded in zip(_query_slices(every), _query_slices(ideal), strict=True):
        unjudged = ~every.judged[row]
        n = int(np.count_nonzero(unjudged))
        levels, counts = np.unique(-ideal.grade[graded], return_counts=True)
        n_documents = n + graded.stop - graded.start
        found.append(JudgedRanking(every.grade[row], unjudged, -levels, counts, n, n_documents))
    return found


# ---- which completions are tried --------------------------------------------------------------


# Completions of one query: down the ranking, so many unjudged documents of each grade, as grades
# (n_steps,) and counts (n_completions, n_steps).
_GradeSteps = tuple[Numbers, Ints]


def _uniform_steps(grades: Numbers, n: int) -> _GradeSteps:
    """Return: all n of one grade, for each of the grades."""
    return grades, n * np.eye(len(grades), dtype=np.int64)


def _two_grade_steps(upper: float, lower: float, n: int, within: int) -> _GradeSteps:
    """Return: the m highest-ranked at one grade, m = 0..within, the others at another."""
    m = np.arange(within + 1)
    return np.array([upper, lower]), np.column_stack((m, n - m))


def _sorted_steps(grades: Ints, n: int, within: int) -> Iterator[_GradeSteps]:
    """Yield every way in which grades do not rise, or do not fall; `grades` is the highest first.

    Below the first `within`, all are at the lowest grade, or all at the highest.
    """
    bars = combinations(range(within + len(grades) - 1), len(grades) - 1)
    places = np.fromiter(bars, np.dtype((np.int64, len(grades) - 1)))
    counts = np.diff(places, axis=1, prepend=-1, append=within + len(grades) - 1) - 1
    counts = np.column_stack((counts, np.full(len(counts), n - within)))
    yield np.append(grades, grades[-1]), counts
    yield np.append(grades[::-1], grades[0]), counts


def _all_steps(grades: Ints, n: int, within: int) -> Iterator[_GradeSteps]:
    """Yield every way to grade the first `within`; below, all have one of the grades' ends."""
    choices = np.indices((len(grades),) * within).reshape(within, -1).T
    counts = (choices[:, :, None] == np.arange(len(grades))).reshape(len(choices), -1) * 1
    counts = np.column_stack((counts, np.full(len(counts), n - within)))
    for end in (grades[0], grades[-1]) if n > within else grades[:1]:
        yield np.append(np.tile(grades, within), end), counts


class CompletionSet:
    """The completions of every query; whether they are known to be enough is in `proved`."""

    def __init__(
        self, search: BoundsSearch, rankings: Sequence[JudgedRanking], top_grade: float, *, whole_grades: bool
    ) -> None:
        self._whole_grades = whole_grades
        self._search, self._rankings, self._top_grade = search, rankings, top_grade
        gain = dict(search.gain) if isinstance(search.gain, Gains) else search.gain
        self._worths = Worths(gain, top_grade)
        self.is_proved = np.ones(len(rankings), np.bool_)

    def completions(self) -> Iterator[tuple["Completions", int, int]]:
        """Yield completions, how many these are, and how many rows each has."""
        method, weights = self._search.method, self._rank_weights()
        for i, one in enumerate(watch_steps(self._rankings, "bounds")):
            n, within = one.n_unjudged, int(np.count_nonzero(one.is_unjudged[: self._search.cutoff]))
            grades = self._worths.distinct_grades({0, self._top_grade, *one.level_grade.tolist()})
            high, low = grades[0].item(), grades[-1].item()
            if method == "extremes":
                found = [_uniform_steps(np.array([high, low]), n)]
            else:
                found = [_uniform_steps(grades, n), _two_grade_steps(low, high, n, within)]
                if method == "ratio":
                    found.append(self._ratio_steps(one, grades, weights))
                else:
                    found += [_two_grade_steps(high, low, n, within), *self._uneven_steps(i, one, grades, within)]
            for given, counts in found:
                part = Completions(i, one, given, counts, self._search.cutoff)
                yield part, len(counts), part.n_ranks + one.n_documents + 1

    def _uneven_steps(self, i: int, ranking: JudgedRanking, grades: Numbers, n_within: int) -> Iterator[_GradeSteps]:
        """Yield the completions that are not split in two, and note if they are not enough."""
        method, n = self._search.method, ranking.n_unjudged
        if method == "split" or n_within == 0:
            return  # all were tried that differ
        if not self._whole_grades:
            yield from self._unproved_steps(i, grades, n, n_within)
            return
        top_grade = int(self._top_grade)
        if top_grade <= 1 and method != "attained":
            return
        length = min(len(ranking.grade), self._search.cutoff or len(ranking.grade)) + ranking.n_documents
        n_steps = n_within * (top_grade + 1)
        most = math.log2(_MAX_ROWS / max(length, n_steps))
        if method != "sorted" and n_within * math.log2(top_grade + 1) <= most:
            yield from _all_steps(np.arange(top_grade, -1, -1), n, n_within)
            return
        if method != "attained" and math.log2(math.comb(n_within + top_grade, n_within)) <= most:
            self.is_proved[i] = method == "sorted"
            yield from _sorted_steps(self._worths.distinct_grades(range(top_grade + 1)), n, n_within)
            return
        yield from self._unproved_steps(i, grades, n, n_within)

    def _unproved_steps(self, i: int, grades: Numbers, n_unjudged: int, n_within: int) -> Iterator[_GradeSteps]:
        """Yield completions that are not enough, which is noted."""
        self.is_proved[i] = False
        if self._search.method != "attained":
            for high, low in permutations(grades[:_MAX_PAIRED_GRADES].tolist(), 2):
                yield _two_grade_steps(high, low, n_unjudged, n_within)

    def _rank_weights(self) -> Floats:
        """Return what one document at rank 1, 2, ... adds to the DCG of a ratio."""
        if self._search.dcg is None:
            return np.zeros(0)
        n = max([1, *(max(len(one.grade), one.n_documents) for one in self._rankings)])
        best = self._worths.distinct_grades({0, self._top_grade})[0].item()
        return discounted_gains(self._search.dcg, best, self._top_grade, n)

    def _ratio_steps(self, ranking: JudgedRanking, grades: Numbers, weights: Floats) -> _GradeSteps:
        """Return completions of which the last has the highest nDCG.

        Only grades that some document has, the least and the greatest need be looked at: between
        two of these the terms of the sum that is maximized differ by a factor.
        """
        worth, known, unjudged = self._worths.gains_of(grades), self._worths.gains_of(ranking.level_grade), ranking.is_unjudged
        at_ranks, n = weights[: len(unjudged)], np.array([ranking.n_unjudged])
        rungs = find_rungs(known, worth)
        judged = ((known >= rungs[:, None]) * ranking.level_count).sum(axis=1)
        fixed = self._worths.gains_of(ranking.grade[~unjudged]) @ at_ranks[~unjudged]
        above, best = sum_prefixes(at_ranks[unjudged]), sum_prefixes(weights[: ranking.n_documents])
        taken = np.arange(len(above))[None]
        _, rounds = find_highest_ratio(
            worth, rungs, judged[None], np.array([fixed]), above[None], n, taken, best
        )
        at_least = np.array(rounds)[:, :, 0]
        return grades, np.diff(at_least, axis=1, prepend=0, append=n[0])


# ---- their Judged -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Completions:
    """Completions of one query: down the ranking, so many unjudged documents of each grade."""

    query_index: int  # its number
    ranking: JudgedRanking
    grades: Numbers  # (n_steps,)
    counts: Ints  # (n_completions, n_steps)
    cutoff: int | None  # what is below it only counts in the ideal ranking

    def take(self, rows: slice) -> "Completions":
        """Return some of them."""
        return replace(self, counts=self.counts[rows])

    @property
    def n_ranks(self) -> int:
        """Down to the cutoff."""
        return len(self.ranking.grade[: self.cutoff])

    def grades_by_rank(self) -> Numbers:
        """Return the grades by rank, down to the cutoff: (n_completions, n_ranks)."""
        n, one = len(self.counts), self.ranking
        given = np.repeat(np.tile(self.grades, n), self.counts.ravel()).reshape(n, one.n_unjudged)
        unjudged = one.is_unjudged[: self.cutoff]
        grade = np.tile(one.grade[: self.cutoff], (n, 1))
        grade[:, unjudged] = given[:, : np.count_nonzero(unjudged)]
        return grade

    def ideal_grades(self) -> Numbers:
        """Return all grades, the highest first: (n_completions, n_documents)."""
        one = self.ranking
        levels = np.array(sorted({*one.level_grade.tolist(), *self.grades.tolist()}, reverse=True))
        counts = np.zeros((len(self.counts), len(levels)), np.int64)
        counts[:, np.searchsorted(-levels, -one.level_grade)] = one.level_count
        for column, grade in zip(self.counts.T, self.grades.tolist(), strict=True):
            counts[:, np.searchsorted(-levels, -grade)] += column
        every = np.repeat(np.tile(levels, len(counts)), counts.ravel())
        return every.reshape(len(counts), one.n_documents)


def judge_completions(completion_blocks: Sequence[Completions], top_grade: float) -> Judged:
    """Return a query for each completion."""
    n_retrieved = [len(one.ranking.grade) for one in completion_blocks]
    sizes = [len(one.counts) for one in completion_blocks]
    return Judged(
        make_rankings([one.grades_by_rank() for one in completion_blocks]),
        make_rankings([one.ideal_grades() for one in completion_blocks]),
        np.repeat(n_retrieved, sizes)[:, None],
        top_grade,
    )


# ---- what grades and ranks are worth ----------------------------------------------------------


def find_reachable_grade(judgments: Judged | Qrels) -> float:
    """Return the highest grade that an unjudged document may have."""
    return judgments.top_grade or 1  # where nothing was found relevant, something may be


def list_candidate_grades(
    gain: str | tuple[str, float] | Mapping[float, float] | None,
    top_grade: float,
    grades: Iterable[float],
) -> Numbers:
    """Return these grades, and those that may be worth the most or the least, ascending.

    A grade that a mapping of gains does not name is worth itself: the least and the greatest of
    these are next to one that it names.
    """
    wanted = set(grades)
    if isinstance(gain, Mapping):
        wanted |= {near for g in gain if isinstance(g, int) for near in (g - 1, g, g + 1)}
    return np.array(sorted(g for g in wanted if 0 <= g <= top_grade))


@dataclass(frozen=True)
class Worths:
    """What grades are worth to a measure with these gains."""

    gain: str | tuple[str, float] | Mapping[float, float]
    top_grade: float

    def gains_of(self, grades: Numbers) -> Floats:
        """Return what the grades (n,) are worth: (n,)."""
        found: Floats = gain_of_grades(grades, self.gain, self.top_grade) * 1.0
        return found

    def distinct_grades(self, grades: Iterable[float]) -> Numbers:
        """Return these grades, and the extremes, one of each worth, worth most first."""
        some = list_candidate_grades(self.gain, self.top_grade, grades)
        best: Numbers = some[np.unique(-self.gains_of(some), return_index=True)[1]]
        return best


def undivided_dcg(measure: Measure) -> Measure:
    """Return the DCG whose ratio to the ideal an nDCG is."""
    known = Measure("DCG").definition.parameters
    given = tuple((key, value) for key, value in measure.given if key in known)
    return Measure("DCG", measure.cutoff, given)


def discounted_gains(dcg: Measure, grade: float, top_grade: float, n_ranks: int) -> Floats:
    """Return what a document of this grade adds to a DCG at the ranks from 1 to n: (n,)."""

    def alone(some: slice) -> Judged:
        rank = np.arange(some.start, some.stop) + 1
        query = np.arange(len(rank))
        hits = Ranked(len(rank), query, rank, np.full(len(rank), grade))
        return Judged(hits, hits, rank[:, None], top_grade)

    return measure_variants(dcg, n_ranks, 2, alone)
