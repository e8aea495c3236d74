"""Bounds: the lowest and the highest value over every way to grade the unjudged.

Every unjudged document that the run retrieved may have any grade from 0 to the collection's
highest; documents that nobody retrieved stay unjudged. The grades count in the ideal ranking, too,
which is why it is not enough to try the lowest and the highest grade for all.

A completion gives every unjudged document a grade. It becomes a query of its own in a Judged, as
large as memory allows, and the measure is called as ever. Which completions are tried is declared
with the measure (`@measure(bounds=...)`):

- "extremes": all at the lowest grade, all at the highest. Enough where no grade of a document can
  lower the value: P, Success, RR, DCG, ERR.
- "split": the m highest-ranked, or the m lowest-ranked, at the highest grade, the others at the
  lowest, for every m; and all at one grade. Enough where a document is relevant or is not, and
  for the low end of ratios of gains: R, F, Rprec, AP, bpref.
- "ratio": "split" for the low end of nDCG; its high end is sought directly (Dinkelbach 1967).
- "sorted": grades that never rise, or never fall, down the ranking: nERR.
- "every": all completions: Q, of which the lowest value may have a low grade in any place. (Of two
  grades "split" is enough.)
- "attained", for any other measure: those of "split". These values were reached; there may be
  lower and higher ones.

Where "sorted" or "every" are too many for a query, some are tried and its values are attained ones;
where all completions of a query are few, an "attained" measure's are tried, and it has bounds.

Documents below a cutoff only enter the ideal and the number of relevant documents: the lowest
value has them all relevant, the highest none. Each was held against all completions of small
collections (tests/test_bounds.py).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from cranfield.errors import MeasureError, OptionError
from cranfield.judged import Judged
from cranfield.judging import Ties
from cranfield.measures import Measure, Plan
from cranfield.measures.gain import gains
from cranfield.measures.parameters import Depth, Gains
from cranfield.measures.registry import Bounded
from cranfield.notes import Note
from cranfield.ranked import Bools, Floats, Ints, Ranked
from cranfield.ranking import in_threads

_ROWS = 1 << 16  # of hits and ideal in one Judged: columns of half a MB, which stay in the cache
_MOST_ROWS = 1 << 21  # in "sorted" or "every" of one query: half a second; of more, some are tried
_MOST_PAIRED = 5  # of a query's grades, where these are too many


@dataclass(frozen=True, eq=False)
class Bounds:
    """The lowest and the highest value of each query and measure.

    `low` and `high` are (n_queries, n_measures), NaN for a measure that does not hang on grades.
    `proved` says where no completion is lower or higher; elsewhere the values are attained by
    those that were tried.
    """

    low: Floats
    high: Floats
    proved: Bools
    top_grade: int  # the highest grade that was given to an unjudged document
    n_retrieved: int  # documents, of all queries
    n_judged: int  # of these

    def notes(self, measures: Sequence[Measure]) -> list[Note]:
        """Return what to know of the bounds of these measures, which are its columns."""
        unjudged = self.n_retrieved - self.n_judged
        what = (
            f"[low, high]: over every way to grade the {unjudged:,} unjudged of the "
            f"{self.n_retrieved:,} documents retrieved, from 0 to {self.top_grade}."
        )
        said = [("bounds", what)]
        bounds, attained = [], []
        for measure, low, proved in zip(measures, self.low.T, self.proved.T, strict=True):
            n_open = np.count_nonzero(~proved)
            if np.isnan(low).all():
                continue
            if n_open == 0:
                bounds.append(str(measure))
            else:
                part = (
                    f" (in {n_open:,} of {len(proved):,} queries)" if n_open < len(proved) else ""
                )
                attained.append(f"{measure}{part}")
        if bounds:
            said.append(("bounds-proved", f"Bounds: {', '.join(bounds)}."))
        if attained:
            text = f"Attained, not bounds (more extreme values may exist): {', '.join(attained)}."
            said.append(("bounds-attained", text))
        return [Note(code, "info", text) for code, text in said]


def check_bounded(measures: Iterable[Measure], judged_only: bool, ties: Ties) -> None:
    """Raise OptionError or MeasureError if there are no bounds to be had."""
    if ties not in ("document", "ascending"):
        raise OptionError(
            f"bounds=True takes one order of equal scores, and ties={ties!r} ranks them by "
            "grade, or in all orders: leave one of them out"
        )
    if judged_only:
        raise OptionError(
            "bounds=True grades the unjudged documents, and judged_only=True leaves none: "
            "leave one of them out"
        )
    for measure in measures:
        definition, method = measure.definition, measure.bounds
        why = "it takes more than a grade for each document" if method == "refused" else ""
        if definition.takes_groups and method != "none":
            why = "it is of judgments in groups or of preferences"
        if definition.is_text:
            why = "its value is a text"
        if why:
            raise MeasureError(f"{measure} has no bounds: {why}")


def bounds_of(measures: Sequence[Measure], judged: Judged) -> Bounds:
    """Return the bounds of each query's value of each measure."""
    if judged.cost is not None:
        costly = [str(one) for one in measures if one.definition.takes_cost]
        raise OptionError(
            f"bounds=True takes no costs, and {', '.join(costly)} takes those of the run's "
            "column cost: leave one of them out"
        )
    shape = len(judged.n_retrieved), len(measures)
    low, high, proved = np.full(shape, np.inf), np.full(shape, -np.inf), np.ones(shape, np.bool_)
    top_grade = max(judged.top_grade, 1)  # where nothing was found relevant, something may be
    alike: dict[_Way, list[int]] = {}
    for i, measure in enumerate(measures):
        if measure.bounds == "none":
            low[:, i] = high[:, i] = np.nan
        else:
            alike.setdefault(_Way.of(measure), []).append(i)
    rankings = _rankings(judged) if alike else []
    for way, columns in alike.items():
        plan = Plan([measures[i] for i in columns])
        tried = _Tried(way, measures[columns[0]], rankings, top_grade)

        def values(batch: _Batch, plan: Plan = plan) -> tuple[Ints, Floats]:
            return batch.owners, plan.values(batch.judged(top_grade))

        for owners, found in in_threads(values, _batches(tried.completions(), way.cutoff)):
            for i, column in zip(columns, found.T, strict=True):
                np.minimum.at(low[:, i], owners, column)
                np.maximum.at(high[:, i], owners, column)
        proved[:, columns] = tried.proved[:, None]
    n_retrieved, n_judged = int(judged.n_retrieved.sum()), len(judged.hits.rank)
    return Bounds(low, high, proved, top_grade, n_retrieved, n_judged)


@dataclass(frozen=True)
class _Way:
    """How the bounds of a measure are sought. Measures of the same way share the completions."""

    method: Bounded
    cutoff: int | None  # documents below it only count as far as the ideal has them
    gain: str | Gains  # what a grade is worth
    given: Any = None  # what else the completions hang on

    @classmethod
    def of(cls, measure: Measure) -> "_Way":
        method, cutoff = measure.bounds, measure.cutoff
        gain = dict(measure.given).get("gain", measure.definition.defaults.get("gain")) or "linear"
        if isinstance(cutoff, Depth) and cutoff.at_relevant:  # each completion has its own
            known = method in ("extremes", "split") and isinstance(gain, str)
            return cls("split" if known else "attained", None, gain)
        if not isinstance(cutoff, Depth) or method in ("extremes", "attained"):
            ranks = None
        else:
            ranks = cutoff.ranks
        return cls(method, ranks, gain, measure.given if method == "ratio" else None)


# ---- what is known of a query -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Ranking:
    """One query: the retrieved documents, and the judgments."""

    grade: Ints  # (n_retrieved,) by rank; 0 where unjudged
    unjudged: Bools  # (n_retrieved,)
    levels: Ints  # (n_levels,) the grades in the judgments, highest first
    counts: Ints  # (n_levels,) how many documents have each
    n_unjudged: int
    n_documents: int  # judged or retrieved: of a completion's ideal ranking


def _rankings(judged: Judged) -> list[_Ranking]:
    every, ideal = judged.every(), judged.ideal
    ends = np.flatnonzero(ideal.steps(ideal.grade))  # of the ideal's runs of one grade
    lengths = np.diff(ends, prepend=-1)
    runs, rows = np.searchsorted(ends, ideal.starts).tolist(), every.starts.tolist()
    n_judged = np.diff(ideal.starts).tolist()
    found = []
    for i, n in enumerate(n_judged):
        row, run = slice(rows[i], rows[i + 1]), slice(runs[i], runs[i + 1])
        unjudged = ~every.judged[row]
        u = int(np.count_nonzero(unjudged))
        levels = ideal.grade[ends[run]]
        found.append(_Ranking(every.grade[row], unjudged, levels, lengths[run], u, n + u))
    return found


# ---- which completions are tried --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Steps:
    """Completions of one query: down the ranking, so many unjudged documents of each grade."""

    grades: Ints  # (n_steps,)
    counts: Ints  # (n_completions, n_steps)


def _alike(grades: Ints, n: int) -> _Steps:
    """Return: all n of one grade, for each of the grades."""
    return _Steps(grades, n * np.eye(len(grades), dtype=np.int64))


def _highest_ranked(high: int, low: int, n: int, within: int) -> _Steps:
    """Return: the m highest-ranked at one grade, m = 0..within, the others at another."""
    m = np.arange(within + 1)
    return _Steps(np.array([high, low]), np.column_stack((m, n - m)))


def _lowest_ranked(high: int, low: int, n: int, within: int) -> _Steps:
    """Return: the m lowest-ranked at one grade, m = n - within..n, the others at another."""
    m = np.arange(within + 1)
    return _Steps(np.array([low, high]), np.column_stack((m, n - m)))


def _sorted(grades: Ints, n: int, within: int) -> Iterator[_Steps]:
    """Yield every way in which grades do not rise, or do not fall; `grades` is the highest first.

    Below the first `within`, all are at the lowest grade, or all at the highest.
    """
    bars = combinations(range(within + len(grades) - 1), len(grades) - 1)
    places = np.fromiter(bars, np.dtype((np.int64, len(grades) - 1)))
    counts = np.diff(places, axis=1, prepend=-1, append=within + len(grades) - 1) - 1
    counts = np.column_stack((counts, np.full(len(counts), n - within)))
    yield _Steps(np.append(grades, grades[-1]), counts)
    yield _Steps(np.append(grades[::-1], grades[0]), counts)


def _every(grades: Ints, n: int, within: int) -> Iterator[_Steps]:
    """Yield every way to grade the first `within`; below, all have one of the grades' ends."""
    choices = np.indices((len(grades),) * within).reshape(within, -1).T
    counts = (choices[:, :, None] == np.arange(len(grades))).reshape(len(choices), -1) * 1
    counts = np.column_stack((counts, np.full(len(counts), n - within)))
    for end in (grades[0], grades[-1]) if n > within else grades[:1]:
        yield _Steps(np.append(np.tile(grades, within), end), counts)


class _Tried:
    """The completions of every query; whether they are known to be enough is in `proved`."""

    def __init__(
        self, way: _Way, measure: Measure, rankings: Sequence[_Ranking], top_grade: int
    ) -> None:
        self._way, self._measure, self._rankings = way, measure, rankings
        self._top_grade = top_grade
        self.proved = np.ones(len(rankings), np.bool_)

    def completions(self) -> Iterator[tuple[int, _Ranking, _Steps]]:
        """Yield (number of the query, query, completions)."""
        method = self._way.method
        weights = self._weights() if method == "ratio" else np.zeros(0)
        for i, one in enumerate(self._rankings):
            n, within = one.n_unjudged, int(np.count_nonzero(one.unjudged[: self._way.cutoff]))
            grades = self._best_first({0, self._top_grade, *one.levels.tolist()})
            ends = int(grades[0]), int(grades[-1])
            found = [_alike(np.array(ends) if method == "extremes" else grades, n)]
            if method != "extremes":
                found.append(_lowest_ranked(*ends, n, within))
            if method == "ratio":
                found.append(self._highest_ratio(one, grades, weights))
            elif method != "extremes":
                found.append(_highest_ranked(*ends, n, within))
            if method in ("sorted", "every", "attained"):
                found += self._more(i, one, grades, within)
            for steps in found:
                yield i, one, steps

    def _more(self, i: int, one: _Ranking, grades: Ints, within: int) -> Iterator[_Steps]:
        """Yield the completions that are not split in two, and note if they are not enough."""
        method, n, top_grade = self._way.method, one.n_unjudged, self._top_grade
        if within == 0 or (top_grade <= 1 and method != "attained"):
            return  # all were tried that differ
        length = min(len(one.grade), self._way.cutoff or len(one.grade)) + one.n_documents
        n_steps = within * (top_grade + 1)
        most = math.log2(_MOST_ROWS / max(length, n_steps))
        if method != "sorted" and within * math.log2(top_grade + 1) <= most:
            yield from _every(np.arange(top_grade, -1, -1), n, within)
            return
        if method != "attained" and math.log2(math.comb(within + top_grade, within)) <= most:
            self.proved[i] = method == "sorted"
            yield from _sorted(self._best_first(range(top_grade + 1)), n, within)
            return
        self.proved[i] = False
        if method != "attained":
            for high, low in combinations(grades[:_MOST_PAIRED].tolist(), 2):
                yield _highest_ranked(high, low, n, within)
                yield _lowest_ranked(high, low, n, within)

    def _worth(self, grades: Ints) -> Floats:
        """Return what the grades (n,) are worth to the measure: (n,)."""
        rows = np.arange(len(grades))
        gain = dict(self._way.gain) if isinstance(self._way.gain, Gains) else self._way.gain
        worth: Floats = gains(Ranked(len(rows), rows, rows, grades), gain, self._top_grade) * 1.0
        return worth

    def _best_first(self, grades: Iterable[int]) -> Ints:
        """Return the grades that may be given, one of each worth, worth most first.

        Besides those asked for all that may be worth the most or the least.
        """
        wanted = set(grades)
        if isinstance(self._way.gain, Gains):
            # Another grade is worth itself: the least and the greatest of these stand beside one.
            wanted |= {near for g, _ in self._way.gain for near in (g - 1, g, g + 1)}
        some = np.array(sorted(g for g in wanted if 0 <= g <= self._top_grade))
        worth = self._worth(some)
        order = np.argsort(-worth, kind="stable")
        first = np.append(True, np.diff(worth[order]) != 0)
        best: Ints = some[order][first]
        return best

    # ---- the highest ratio of gains to those of the ideal ----------------------------------------

    def _weights(self) -> Floats:
        """Return what one document at rank 1, 2, ... counts in DCG, cut as the measure is."""
        n = max([1, *(max(len(one.grade), one.n_documents) for one in self._rankings)])
        best = int(self._best_first({0, self._top_grade})[0])
        rows = np.arange(n)
        alone = Ranked(n, rows, rows + 1, np.full(n, best))
        known = Measure("DCG").definition.parameters
        given = tuple((key, value) for key, value in self._measure.given if key in known)
        dcg = Measure("DCG", self._measure.cutoff, given)
        found: Floats = dcg.values(Judged(alone, alone, rows[:, None] + 1, self._top_grade))[:, 0]
        return found

    def _highest_ratio(self, one: _Ranking, grades: Ints, weights: Floats) -> _Steps:
        """Return completions of which the last has the highest nDCG.

        The higher grades stand higher, so that a completion is told by how many unjudged documents
        have at least the grade g, s_g. Then DCG - t IDCG is a sum of one term for each g, of s_g
        alone, and s_g does not fall with falling g: a pass over s for each g finds its highest
        value. t is the ratio found before, until it rises no more (Dinkelbach, Management Science
        1967). Only grades that some document has, the least and the greatest need be looked at:
        between two of these the terms differ by a factor.
        """
        n, worth = one.n_unjudged, self._worth(grades)
        above = np.concatenate(([0.0], np.cumsum(weights[: len(one.grade)][one.unjudged])))
        best = np.concatenate(([0.0], np.cumsum(weights[: one.n_documents])))
        judged = self._worth(one.grade[~one.unjudged])
        fixed = float(judged @ weights[: len(one.grade)][~one.unjudged]) + worth[-1] * above[n]
        # The ideal's steps: how much the gain rises, how many judged documents gain so much.
        known = self._worth(one.levels)
        rungs = np.array(sorted({g for g in (*known.tolist(), *worth.tolist()) if g > 0}))
        rises = np.diff(rungs, prepend=0.0)
        n_judged = ((known >= rungs[:, None]) * one.counts).sum(axis=1)
        # Which of the grades an unjudged document needs at least to gain so much.
        owner = np.searchsorted(-worth, -rungs, side="right") - 1
        s = np.arange(n + 1)
        numerator = -np.diff(worth)[:, None] * above
        denominator = np.zeros((len(worth), n + 1))
        base = 0.0
        for rise, count, at in zip(rises.tolist(), n_judged.tolist(), owner.tolist(), strict=True):
            if at < 0:  # no unjudged document can
                base += rise * best[count]
            else:
                denominator[at] += rise * best[count + s]
        base += denominator[-1, n]  # of the lowest grade, which they all have
        counts, t = [np.full(len(worth) - 1, n)], -math.inf
        while True:
            steps = np.arange(len(worth) - 1), counts[-1]
            below = base + denominator[steps].sum()
            found = (fixed + numerator[steps].sum()) / below if below > 0 else 0.0
            if found <= t:
                break
            t = found
            total, chosen = np.zeros(n + 1), []
            for of_grade, ideal in zip(numerator, denominator[:-1], strict=True):
                total = total + of_grade - t * ideal
                highest = np.maximum.accumulate(total)
                chosen.append(np.maximum.accumulate(np.where(total == highest, s, 0)))
                total = highest
            at_least, last = [], n
            for choice in reversed(chosen):
                last = int(choice[last])
                at_least.append(last)
            counts.append(np.array(at_least[::-1], np.int64))
        each = np.diff(np.array(counts), axis=1, prepend=0, append=n)
        return _Steps(grades, each)


# ---- their Judged -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Batch:
    """Completions, of several queries or a part of one's."""

    parts: Sequence[tuple[int, _Ranking, _Steps]]
    cutoff: int | None

    @property
    def owners(self) -> Ints:
        """The query of each completion: (n_completions,)."""
        return np.repeat([i for i, _, _ in self.parts], [len(s.counts) for _, _, s in self.parts])

    def judged(self, top_grade: int) -> Judged:
        """Return a query for each completion."""
        hits = [_graded(one, steps, self.cutoff) for _, one, steps in self.parts]
        ideal = [_ideal(one, steps) for _, one, steps in self.parts]
        sizes = [len(steps.counts) for _, _, steps in self.parts]
        n_retrieved = np.repeat([len(one.grade) for _, one, _ in self.parts], sizes)
        return Judged(_joined(hits), _joined(ideal), n_retrieved[:, None], top_grade)


def _graded(one: _Ranking, steps: _Steps, cutoff: int | None) -> Ints:
    """Return the grades by rank, down to the cutoff: (n_completions, n_ranks)."""
    n = len(steps.counts)
    given = np.repeat(np.tile(steps.grades, n), steps.counts.ravel()).reshape(n, one.n_unjudged)
    unjudged = one.unjudged[:cutoff]
    grade = np.tile(one.grade[:cutoff], (n, 1))
    grade[:, unjudged] = given[:, : np.count_nonzero(unjudged)]
    return grade


def _ideal(one: _Ranking, steps: _Steps) -> Ints:
    """Return all grades, the highest first: (n_completions, n_documents)."""
    levels = np.array(sorted({*one.levels.tolist(), *steps.grades.tolist()}, reverse=True))
    counts = np.zeros((len(steps.counts), len(levels)), np.int64)
    counts[:, np.searchsorted(-levels, -one.levels)] = one.counts
    for column, grade in zip(steps.counts.T, steps.grades.tolist(), strict=True):
        counts[:, np.searchsorted(-levels, -grade)] += column
    every = np.repeat(np.tile(levels, len(counts)), counts.ravel())
    return every.reshape(len(counts), one.n_documents)


def _joined(grades: Sequence[Ints]) -> Ranked:
    """Return the rows of several matrices as rankings, one after the other."""
    n_rankings, query, rank = 0, [], []
    for matrix in grades:
        n, length = matrix.shape
        query.append(np.broadcast_to(np.arange(n_rankings, n_rankings + n)[:, None], matrix.shape))
        rank.append(np.broadcast_to(np.arange(1, length + 1), matrix.shape))
        n_rankings += n
    return Ranked(n_rankings, _flat(query), _flat(rank), _flat(grades))


def _flat(matrices: Sequence[Ints]) -> Ints:
    return np.concatenate([matrix.ravel() for matrix in matrices])


def _batches(
    completions: Iterable[tuple[int, _Ranking, _Steps]], cutoff: int | None
) -> Iterator[_Batch]:
    parts: list[tuple[int, _Ranking, _Steps]] = []
    free = _ROWS
    for i, one, steps in completions:
        length = len(one.grade[:cutoff]) + one.n_documents + 1
        begin = 0
        while begin < len(steps.counts):
            end = begin + max(1, free // length)
            some = steps.counts[begin:end]
            parts.append((i, one, _Steps(steps.grades, some)))
            free -= len(some) * length
            begin = end
            if free < length:
                yield _Batch(parts, cutoff)
                parts, free = [], _ROWS
    if parts:
        yield _Batch(parts, cutoff)
