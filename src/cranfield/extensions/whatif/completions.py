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
from cranfield.extensions.whatif.highest_ratio import highest_ratio, rungs_of, sums_from_0
from cranfield.extensions.whatif.variants import rankings, values_of
from cranfield.measures import Measure
from cranfield.measures.gain import worth
from cranfield.measures.parameters import Depth, Gains
from cranfield.measures.traits import Bounded
from cranfield.progress import steps

_MOST_ROWS = 1 << 21  # in "sorted" or "every" of one query: half a second; of more, some are tried
_MOST_PAIRED = 5  # of a query's grades, where these are too many


@dataclass(frozen=True)
class Way:
    """How the bounds of a measure are sought. Measures of the same way share the completions."""

    method: Bounded
    cutoff: int | None  # documents below it only count as far as the ideal has them
    gain: str | tuple[str, float] | Gains  # what a grade is worth
    dcg: Measure | None = None  # what a "ratio" divides by that of the ideal ranking

    @classmethod
    def of(cls, measure: Measure, *, whole: bool) -> "Way":
        """Return how the bounds of this measure are sought; `whole`: of grades that are whole."""
        method, cutoff = measure.bounds, measure.cutoff
        if method == "retrieved":
            method = "extremes"
        if not whole and not _is_proved_of_fractions(measure):
            method = "attained"
        gain = dict(measure.given).get("gain", measure.definition.defaults.get("gain")) or "linear"
        if isinstance(cutoff, Depth) and cutoff.at_relevant:  # each completion has its own
            known = method in ("extremes", "split") and not isinstance(gain, Gains)
            return cls("split" if known else "attained", None, gain)
        ranks = cutoff.ranks if isinstance(cutoff, Depth) else None
        if method in ("extremes", "attained"):
            ranks = None
        return cls(method, ranks, gain, dcg_of(measure) if method == "ratio" else None)


def _is_proved_of_fractions(measure: Measure) -> bool:
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
class Query:
    """One query: the retrieved documents, and the judgments."""

    grade: Numbers  # (n_retrieved,) by rank; 0 where unjudged
    unjudged: Bools  # (n_retrieved,)
    levels: Numbers  # (n_levels,) the grades in the judgments, highest first
    counts: Ints  # (n_levels,) how many documents have each
    n_unjudged: int
    n_documents: int  # judged or retrieved: of a completion's ideal ranking


def _slices(ranked: Ranked) -> list[slice]:
    return list(map(slice, ranked.starts[:-1].tolist(), ranked.starts[1:].tolist()))


def queries_of(judged: Judged) -> list[Query]:
    """Return every query of a Judged."""
    every, ideal = judged.every(), judged.ideal
    found = []
    for row, graded in zip(_slices(every), _slices(ideal), strict=True):
        unjudged = ~every.judged[row]
        n = int(np.count_nonzero(unjudged))
        levels, counts = np.unique(-ideal.grade[graded], return_counts=True)
        n_documents = n + graded.stop - graded.start
        found.append(Query(every.grade[row], unjudged, -levels, counts, n, n_documents))
    return found


# ---- which completions are tried --------------------------------------------------------------


# Completions of one query: down the ranking, so many unjudged documents of each grade, as grades
# (n_steps,) and counts (n_completions, n_steps).
_Steps = tuple[Numbers, Ints]


def _alike(grades: Numbers, n: int) -> _Steps:
    """Return: all n of one grade, for each of the grades."""
    return grades, n * np.eye(len(grades), dtype=np.int64)


def _split(upper: float, lower: float, n: int, within: int) -> _Steps:
    """Return: the m highest-ranked at one grade, m = 0..within, the others at another."""
    m = np.arange(within + 1)
    return np.array([upper, lower]), np.column_stack((m, n - m))


def _sorted(grades: Ints, n: int, within: int) -> Iterator[_Steps]:
    """Yield every way in which grades do not rise, or do not fall; `grades` is the highest first.

    Below the first `within`, all are at the lowest grade, or all at the highest.
    """
    bars = combinations(range(within + len(grades) - 1), len(grades) - 1)
    places = np.fromiter(bars, np.dtype((np.int64, len(grades) - 1)))
    counts = np.diff(places, axis=1, prepend=-1, append=within + len(grades) - 1) - 1
    counts = np.column_stack((counts, np.full(len(counts), n - within)))
    yield np.append(grades, grades[-1]), counts
    yield np.append(grades[::-1], grades[0]), counts


def _every(grades: Ints, n: int, within: int) -> Iterator[_Steps]:
    """Yield every way to grade the first `within`; below, all have one of the grades' ends."""
    choices = np.indices((len(grades),) * within).reshape(within, -1).T
    counts = (choices[:, :, None] == np.arange(len(grades))).reshape(len(choices), -1) * 1
    counts = np.column_stack((counts, np.full(len(counts), n - within)))
    for end in (grades[0], grades[-1]) if n > within else grades[:1]:
        yield np.append(np.tile(grades, within), end), counts


class Tried:
    """The completions of every query; whether they are known to be enough is in `proved`."""

    def __init__(
        self, way: Way, queries: Sequence[Query], top_grade: float, *, whole: bool
    ) -> None:
        self._whole = whole
        self._way, self._queries, self._top_grade = way, queries, top_grade
        gain = dict(way.gain) if isinstance(way.gain, Gains) else way.gain
        self._worths = Worths(gain, top_grade)
        self.proved = np.ones(len(queries), np.bool_)

    def completions(self) -> Iterator[tuple["Completions", int, int]]:
        """Yield completions, how many these are, and how many rows each has."""
        method, weights = self._way.method, self._weights()
        for i, one in enumerate(steps(self._queries, "bounds")):
            n, within = one.n_unjudged, int(np.count_nonzero(one.unjudged[: self._way.cutoff]))
            grades = self._worths.best_first({0, self._top_grade, *one.levels.tolist()})
            high, low = grades[0].item(), grades[-1].item()
            if method == "extremes":
                found = [_alike(np.array([high, low]), n)]
            else:
                found = [_alike(grades, n), _split(low, high, n, within)]
                if method == "ratio":
                    found.append(self._highest_ratio(one, grades, weights))
                else:
                    found += [_split(high, low, n, within), *self._more(i, one, grades, within)]
            for given, counts in found:
                part = Completions(i, one, given, counts, self._way.cutoff)
                yield part, len(counts), part.n_ranks + one.n_documents + 1

    def _more(self, i: int, one: Query, grades: Numbers, within: int) -> Iterator[_Steps]:
        """Yield the completions that are not split in two, and note if they are not enough."""
        method, n = self._way.method, one.n_unjudged
        if method == "split" or within == 0:
            return  # all were tried that differ
        if not self._whole:
            yield from self._some(i, grades, n, within)
            return
        top_grade = int(self._top_grade)
        if top_grade <= 1 and method != "attained":
            return
        length = min(len(one.grade), self._way.cutoff or len(one.grade)) + one.n_documents
        n_steps = within * (top_grade + 1)
        most = math.log2(_MOST_ROWS / max(length, n_steps))
        if method != "sorted" and within * math.log2(top_grade + 1) <= most:
            yield from _every(np.arange(top_grade, -1, -1), n, within)
            return
        if method != "attained" and math.log2(math.comb(within + top_grade, within)) <= most:
            self.proved[i] = method == "sorted"
            yield from _sorted(self._worths.best_first(range(top_grade + 1)), n, within)
            return
        yield from self._some(i, grades, n, within)

    def _some(self, i: int, grades: Numbers, n: int, within: int) -> Iterator[_Steps]:
        """Yield completions that are not enough, which is noted."""
        self.proved[i] = False
        if self._way.method != "attained":
            for high, low in permutations(grades[:_MOST_PAIRED].tolist(), 2):
                yield _split(high, low, n, within)

    def _weights(self) -> Floats:
        """Return what one document at rank 1, 2, ... adds to the DCG of a ratio."""
        if self._way.dcg is None:
            return np.zeros(0)
        n = max([1, *(max(len(one.grade), one.n_documents) for one in self._queries)])
        best = self._worths.best_first({0, self._top_grade})[0].item()
        return discounts(self._way.dcg, best, self._top_grade, n)

    def _highest_ratio(self, one: Query, grades: Numbers, weights: Floats) -> _Steps:
        """Return completions of which the last has the highest nDCG.

        Only grades that some document has, the least and the greatest need be looked at: between
        two of these the terms of the sum that is maximized differ by a factor.
        """
        worth, known, unjudged = self._worths.of(grades), self._worths.of(one.levels), one.unjudged
        at_ranks, n = weights[: len(unjudged)], np.array([one.n_unjudged])
        rungs = rungs_of(known, worth)
        judged = ((known >= rungs[:, None]) * one.counts).sum(axis=1)
        fixed = self._worths.of(one.grade[~unjudged]) @ at_ranks[~unjudged]
        above, best = sums_from_0(at_ranks[unjudged]), sums_from_0(weights[: one.n_documents])
        taken = np.arange(len(above))[None]
        _, rounds = highest_ratio(
            worth, rungs, judged[None], np.array([fixed]), above[None], n, taken, best
        )
        at_least = np.array(rounds)[:, :, 0]
        return grades, np.diff(at_least, axis=1, prepend=0, append=n[0])


# ---- their Judged -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Completions:
    """Completions of one query: down the ranking, so many unjudged documents of each grade."""

    query: int  # its number
    one: Query
    grades: Numbers  # (n_steps,)
    counts: Ints  # (n_completions, n_steps)
    cutoff: int | None  # what is below it only counts in the ideal ranking

    def take(self, some: slice) -> "Completions":
        """Return some of them."""
        return replace(self, counts=self.counts[some])

    @property
    def n_ranks(self) -> int:
        """Down to the cutoff."""
        return len(self.one.grade[: self.cutoff])

    def graded(self) -> Numbers:
        """Return the grades by rank, down to the cutoff: (n_completions, n_ranks)."""
        n, one = len(self.counts), self.one
        given = np.repeat(np.tile(self.grades, n), self.counts.ravel()).reshape(n, one.n_unjudged)
        unjudged = one.unjudged[: self.cutoff]
        grade = np.tile(one.grade[: self.cutoff], (n, 1))
        grade[:, unjudged] = given[:, : np.count_nonzero(unjudged)]
        return grade

    def ideal(self) -> Numbers:
        """Return all grades, the highest first: (n_completions, n_documents)."""
        one = self.one
        levels = np.array(sorted({*one.levels.tolist(), *self.grades.tolist()}, reverse=True))
        counts = np.zeros((len(self.counts), len(levels)), np.int64)
        counts[:, np.searchsorted(-levels, -one.levels)] = one.counts
        for column, grade in zip(self.counts.T, self.grades.tolist(), strict=True):
            counts[:, np.searchsorted(-levels, -grade)] += column
        every = np.repeat(np.tile(levels, len(counts)), counts.ravel())
        return every.reshape(len(counts), one.n_documents)


def judged_of(parts: Sequence[Completions], top_grade: float) -> Judged:
    """Return a query for each completion."""
    n_retrieved = [len(one.one.grade) for one in parts]
    sizes = [len(one.counts) for one in parts]
    return Judged(
        rankings([one.graded() for one in parts]),
        rankings([one.ideal() for one in parts]),
        np.repeat(n_retrieved, sizes)[:, None],
        top_grade,
    )


# ---- what grades and ranks are worth ----------------------------------------------------------


def reachable_grade(of: Judged | Qrels) -> float:
    """Return the highest grade that an unjudged document may have."""
    return of.top_grade or 1  # where nothing was found relevant, something may be


def grades_between(
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

    def of(self, grades: Numbers) -> Floats:
        """Return what the grades (n,) are worth: (n,)."""
        found: Floats = worth(grades, self.gain, self.top_grade) * 1.0
        return found

    def best_first(self, grades: Iterable[float]) -> Numbers:
        """Return these grades, and the extremes, one of each worth, worth most first."""
        some = grades_between(self.gain, self.top_grade, grades)
        best: Numbers = some[np.unique(-self.of(some), return_index=True)[1]]
        return best


def dcg_of(measure: Measure) -> Measure:
    """Return the DCG whose ratio to the ideal an nDCG is."""
    known = Measure("DCG").definition.parameters
    given = tuple((key, value) for key, value in measure.given if key in known)
    return Measure("DCG", measure.cutoff, given)


def discounts(dcg: Measure, grade: float, top_grade: float, n: int) -> Floats:
    """Return what a document of this grade adds to a DCG at the ranks from 1 to n: (n,)."""

    def alone(some: slice) -> Judged:
        rank = np.arange(some.start, some.stop) + 1
        query = np.arange(len(rank))
        hits = Ranked(len(rank), query, rank, np.full(len(rank), grade))
        return Judged(hits, hits, rank[:, None], top_grade)

    return values_of(dcg, n, 2, alone)
