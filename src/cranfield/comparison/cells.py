"""Cells: one measure on some of the queries, from the scores of the systems to a Result."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, mean
from cranfield.comparison.alignment import Aligned, hash_of
from cranfield.comparison.doubts import FEW
from cranfield.comparison.effects import cliff, effects_of
from cranfield.comparison.flips import Flips, Paired
from cranfield.comparison.geometric import is_geometric, logs
from cranfield.comparison.judged_share import judged_shares, little_judged
from cranfield.comparison.letters import letters
from cranfield.comparison.power import detectable
from cranfield.comparison.ranges import cut, range_of
from cranfield.comparison.remarks import remarks_on
from cranfield.comparison.result import Change, Outcome, Pair, Result, System
from cranfield.comparison.settings import Settings
from cranfield.comparison.significance import (
    TIE,
    Moments,
    beliefs,
    rank_biserial,
    signs,
    t_interval,
    t_test,
)
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.render.numbers import or_none
from cranfield.scoring.joint_bounds import PairBounds

_LEAST_LEVEL = 1e-9  # that options take for alpha
_DRAWN = ("randomization", "wilcoxon", "bootstrap")
_Column = Sequence[Any]  # (n_pairs,) of a Pair's values


@dataclass(frozen=True, eq=False)
class Cell:
    """One measure, on some of the queries: what is compared, and the test of each pair alone."""

    aligned: Aligned
    settings: Settings
    flips: Flips
    measure: str
    label: str | None
    slice: str | None
    rows: Bools  # (n_queries,)
    scores: Floats  # on these rows: (n_rows, n_systems)
    paired: Paired  # of logarithms if the measure has a geometric mean
    moments: Moments
    p: Floats  # (n_pairs,)
    interval: tuple[Floats, Floats, str]  # (n_pairs,) each, infinite or NaN where there is none

    @cached_property
    def known(self) -> Measure | None:
        """The measure; None if only its name is known."""
        return self.aligned.known(self.measure)

    @cached_property
    def rising(self) -> bool:
        """Whether more is better."""
        return self.aligned.rising[self.aligned.measures.index(self.measure)]

    @cached_property
    def query_ids(self) -> Sequence[str]:
        """The queries of these rows."""
        return [self.aligned.query_ids[i] for i in np.flatnonzero(self.rows).tolist()]

    @cached_property
    def means(self) -> Sequence[float]:
        """Each system's mean, geometric if that of the measure is: (n_systems,)."""
        found = [mean(column) for column in self.paired.values.T]
        return list(map(math.exp, found)) if is_geometric(self.known) else found


@dataclass(frozen=True)
class Comparisons:
    """The comparisons that one is corrected with."""

    n: int
    told: int  # of which the corrected p is at most alpha

    def level(self, settings: Settings, told: bool) -> float:
        """Return the level that the correction leaves a t-test of one of them.

        Holm's divides alpha by the number of those that are not told, itself included.
        """
        left = {"bonferroni": self.n, "holm": self.n - self.told + told}
        return max(settings.alpha / max(left.get(settings.correction, 1), 1), _LEAST_LEVEL)


def result_of(
    cell: Cell, adjusted: Floats, family: Comparisons, bounds: PairBounds | None
) -> Result:
    """Return what was found of all pairs; `adjusted` are their corrected p-values: (n_pairs,)."""
    columns: dict[str, _Column] = {
        **_differences(cell),
        **_tests(cell, adjusted, family),
        **_effects(cell),
        **_unjudged(bounds, len(adjusted), cell.rows),
    }
    pairs = [
        Pair(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)
    ]
    every, settings = cell.aligned.names, cell.settings
    return Result(
        cell.measure,
        cell.label,
        cell.slice,
        cell.rising,
        cell.query_ids,
        hash_of(cell.query_ids),
        _systems(cell),
        pairs,
        family.n,
        _letters(every, cell.means, cell.rising, pairs) if settings.all_pairs else None,
        remarks_on(cell.known, pairs, cell.flips, settings, family.n, cell.rising),
    )


def _listed(values: Floats) -> list[float | None]:
    """Return a column's values; what is no number does not exist."""
    return list(map(or_none, values))


def _differences(cell: Cell) -> dict[str, _Column]:
    """Return the systems of the pairs, their means, and the differences with their intervals."""
    left, right = cell.paired.left.tolist(), cell.paired.right.tolist()
    names, means, n = cell.aligned.names, cell.means, len(left)
    by_ratio = is_geometric(cell.known)
    least, most = logs(cell.known, np.array(range_of(cell.known, cell.scores)))
    low, high = map(_listed, cut(*cell.interval[:2], least - most, most - least))
    difference: list[float | None] = cell.moments.mean.tolist()
    ratio, ratio_low, ratio_high = (
        [math.exp(one) if by_ratio and one is not None else None for one in column]
        for column in (difference, low, high)
    )
    others = [means[b] for b in right]
    return {
        "system": [names[a] for a in left],
        "other": [names[b] for b in right],
        "n": [cell.paired.n_queries] * n,
        "mean": [means[a] for a in left],
        "other_mean": others,
        "scale": ["ratio" if by_ratio else "difference"] * n,
        "difference": difference,
        "percent": list(map(_percent, difference, others, ratio)),
        "low": low,
        "high": high,
        "ratio": ratio,
        "ratio_low": ratio_low,
        "ratio_high": ratio_high,
        "interval": [cell.interval[2]] * n,
    }


def _percent(difference: float | None, mean: float, ratio: float | None) -> float | None:
    """Return a difference in percent of a mean; None if that is 0."""
    if ratio is not None:
        return 100 * (ratio - 1)
    return or_none(100 * (difference / mean)) if mean and difference is not None else None


def _tests(cell: Cell, adjusted: Floats, family: Comparisons) -> dict[str, _Column]:
    """Return p-values, verdicts, and the differences that so many queries would have shown."""
    settings, flips, paired = cell.settings, cell.flips, cell.paired
    n, several = len(adjusted), paired.n_queries > 1
    drawn = settings.test in _DRAWN
    exact = drawn and settings.test != "bootstrap" and flips.exact
    p = _listed(cell.p)
    errors = [None if one is None else 0.0 for one in p]
    if drawn and not exact:
        errors = [one and math.sqrt(one * (1 - one) / flips.drawn) for one in p]
    rejected = [bool(one) for one in adjusted <= settings.alpha]  # no NaN is
    belief = _belief(cell)
    told = rejected
    if settings.test == "bayes":
        either = zip(belief["probability_better"], belief["probability_worse"], strict=True)
        told = [max(better or 0.0, worse or 0.0) >= settings.sure for better, worse in either]
    ranks = rank_biserial(paired, settings.tie) if settings.test == "wilcoxon" else None
    smallest = [
        detectable(paired.n_queries, alpha=family.level(settings, one)) if several else None
        for one in (False, True)
    ]
    sd = _listed(cell.moments.sd)
    found = [smallest[one] for one in rejected]
    return {
        "p": p,
        "p_adjusted": _listed(adjusted),
        "p_t": _listed(t_test(cell.moments)) if several else p,
        "p_error": errors,
        "exact": [exact] * n,
        "verdict": [
            _outcome(way) if one else None
            for way, one in zip(_directions(cell, ranks), told, strict=True)
        ],
        "sd": sd,
        "rank_biserial": [None] * n if ranks is None else ranks.tolist(),
        **belief,
        "detectable": [
            None if one is None or not of_pair else one * of_pair
            for one, of_pair in zip(found, sd, strict=True)
        ],
    }


def _belief(cell: Cell) -> dict[str, _Column]:
    """Return how probable it is that a system is better, the same, worse, if that is shown."""
    names = ["probability_better", "probability_same", "probability_worse"]
    rope = cell.settings.rope
    if rope is None and cell.settings.test != "bayes":
        return dict.fromkeys(names, [None] * len(cell.p))
    found = beliefs(cell.moments, rope or 0.0)
    return dict(zip(names if cell.rising else names[::-1], map(_listed, found), strict=True))


def _directions(cell: Cell, ranks: Floats | None) -> Floats:
    """Return what the test is about, above 0 where the system is better: (n_pairs,).

    That is the mean difference, or the signs, or the ranks.
    """
    found = cell.moments.mean if ranks is None else ranks
    if cell.settings.test == "sign":
        wins, _, losses = signs(cell.paired, cell.settings.tie)
        found = (wins - losses) * 1.0
    return found if cell.rising else -found


def _outcome(direction: float) -> Outcome | None:
    if direction == 0:
        return None
    return "better" if direction > 0 else "worse"


def _effects(cell: Cell) -> dict[str, _Column]:
    """Return effect sizes, and on which queries the systems of each pair differ."""
    paired, tie, n = cell.paired, cell.settings.tie, cell.paired.n_queries
    effects = effects_of(paired, cell.moments)
    wins, ties, losses = signs(paired, tie)
    deltas = cliff(paired, tie)
    if not cell.rising:
        wins, losses, deltas = losses, wins, 0.0 - deltas
    differs = np.abs(paired.differences) > min(tie, TIE)
    changed = np.count_nonzero(differs, axis=0)
    return {
        **{
            name: _listed(getattr(effects, name))
            for name in ("skewness", "d_z", "hedges", "glass", "d_av", "es_e")
        },
        "changed": changed.tolist(),
        "changes": [
            _changes(cell, i, np.flatnonzero(differs[:, i]).tolist()) if few else ()
            for i, few in enumerate((changed < FEW).tolist())
        ],
        "wins": wins.tolist(),
        "ties": ties.tolist(),
        "losses": losses.tolist(),
        "cliff": deltas.tolist(),
        "dominance": ((wins - losses) / n).tolist(),
        "superiority": ((2 * wins + ties) / (2 * n)).tolist(),
    }


def _changes(cell: Cell, pair: int, queries: Sequence[int]) -> tuple[Change, ...]:
    """Return some queries with the scores of both systems of a pair."""
    both = [cell.paired.right[pair], cell.paired.left[pair]]
    return tuple(Change(cell.query_ids[q], *cell.scores[q, both].tolist()) for q in queries)


def _unjudged(bounds: PairBounds | None, n_pairs: int, rows: Bools) -> Mapping[str, _Column]:
    """Return what the differences may be, however the unjudged documents are graded."""
    names = ("unjudged_low", "unjudged_high", "unjudged_method", "unjudged_robust")
    found = bounds and bounds.among(rows)
    if found is None:
        return dict.fromkeys(names, [None] * n_pairs)
    low, high, robust = found.low.tolist(), found.high.tolist(), found.robust.tolist()
    return dict(zip(names, (low, high, [found.method] * n_pairs, robust), strict=True))


def _systems(cell: Cell) -> list[System]:
    """Return each system's mean with its own interval, and how much of its ranking is judged."""
    alone = Moments.of(Paired.of(cell.paired.values))
    low, high = t_interval(alone, cell.settings.alpha) if alone.n > 1 else (alone.sd, alone.sd)
    least, most = logs(cell.known, np.array(range_of(cell.known, cell.scores))).tolist()
    low, high = cut(low, high, least, most)
    if is_geometric(cell.known):
        low, high = (np.array(list(map(math.exp, ends))) for ends in (low, high))
    n = len(cell.means)
    shares = judged_shares(cell.aligned, cell.aligned.measures.index(cell.measure), cell.rows)
    judged: _Column = shares or [None] * n
    little = little_judged(shares) or [False] * n
    columns = cell.aligned.names, cell.means, _listed(low), _listed(high), judged, little
    return [System(*row) for row in zip(*columns, strict=True)]


def _letters(
    names: Sequence[str], means: Sequence[float], rising: bool, pairs: Sequence[Pair]
) -> list[str]:
    """Return the letters of each system; the best has the first."""
    order = sorted(range(len(names)), key=lambda i: -means[i] if rising else means[i])
    place = {names[i]: rank for rank, i in enumerate(order)}
    apart = [(place[one.system], place[one.other]) for one in pairs if one.verdict is not None]
    of_place = letters(len(names), apart)
    return [of_place[place[name]] for name in names]
