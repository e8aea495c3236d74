"""Cells: one measure on some of the queries, from the scores of the systems to a Result."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints, mean
from cranfield.comparison.alignment import Aligned, hash_of
from cranfield.comparison.effects import FEW, cliff, effects_of
from cranfield.comparison.flips import Flips, Paired
from cranfield.comparison.judged_share import judged_shares
from cranfield.comparison.letters import letters
from cranfield.comparison.power import detectable
from cranfield.comparison.randomization import inverted
from cranfield.comparison.remarks import DRAWN, remarks_on
from cranfield.comparison.result import Change, Pair, Result, System
from cranfield.comparison.scale import cut, is_geometric, logs, range_of
from cranfield.comparison.settings import Settings
from cranfield.comparison.significance import (
    TIE,
    Moments,
    bca_interval,
    beliefs,
    bootstrap_test,
    rank_biserial,
    sign_test,
    signs,
    t_interval,
    t_test,
    wilcoxon,
)
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.options import LEAST_SHARE
from cranfield.render.numbers import or_none
from cranfield.scoring.joint_bounds import PairBounds

_Column = Sequence[Any]  # (n_pairs,) of a Pair's values


class Tested(NamedTuple):
    """The test of each pair alone, (n_pairs,) each; NaN where there is none."""

    p: Floats
    low: Floats  # of the interval of the difference, infinite where it has no end
    high: Floats
    interval: str = "none"  # how it was made


@dataclass(frozen=True, eq=False)
class Cell:
    """One measure, on some of the queries: what is compared, and the test of each pair alone."""

    aligned: Aligned
    settings: Settings
    left: Ints  # (n_pairs,) systems
    right: Ints
    measure: str
    label: str | None
    slice: str | None
    rows: Bools  # (n_queries,)

    @cached_property
    def known(self) -> Measure | None:
        """The measure; None if only its name is known."""
        return self.aligned.known(self.measure)

    @cached_property
    def rising(self) -> bool:
        """Whether more is better."""
        return self.aligned.rising(self.measure)

    @cached_property
    def query_ids(self) -> Sequence[str]:
        """The queries of these rows."""
        return [self.aligned.query_ids[i] for i in np.flatnonzero(self.rows).tolist()]

    @cached_property
    def scores(self) -> Floats:
        """The scores on these rows: (n_rows, n_systems)."""
        return self.aligned.column(self.measure)[self.rows]

    @cached_property
    def paired(self) -> Paired:
        """What is compared: logarithms if the measure has a geometric mean."""
        return Paired(logs(self.known, self.scores), self.left, self.right)

    @cached_property
    def moments(self) -> Moments:
        """The moments of the differences."""
        return Moments.of(self.paired)

    @cached_property
    def flips(self) -> Flips:
        """The flips of these queries' signs."""
        return Flips(self.paired.n_queries, self.settings.flips, self.settings.seed)

    @cached_property
    def means(self) -> Sequence[float]:
        """Each system's mean, geometric if that of the measure is: (n_systems,)."""
        found = [mean(column) for column in self.paired.values.T]
        return list(map(math.exp, found)) if is_geometric(self.known) else found

    @cached_property
    def tested(self) -> Tested:
        """The p-value and the interval of each pair alone."""
        paired, moments, flips, settings = self.paired, self.moments, self.flips, self.settings
        none = np.full(len(self.left), np.nan)
        if paired.n_queries < 2:
            return Tested(none, none, none)
        if settings.test == "randomization":
            return Tested(*inverted(paired, flips, settings.alpha), "randomization")
        if settings.test == "bootstrap":
            drawn = {"resamples": settings.flips, "seed": settings.seed}
            ends = bca_interval(paired, moments, settings.alpha, **drawn)
            return Tested(bootstrap_test(paired, moments, **drawn), *ends, "bca")
        p = none
        if settings.test == "t":
            p = t_test(moments)
        elif settings.test == "wilcoxon":
            p = wilcoxon(paired, flips, settings.tie)
        elif settings.test == "sign":
            p = sign_test(paired, settings.tie)
        return Tested(p, *t_interval(moments, settings.alpha), "t")


class Comparisons(NamedTuple):
    """The comparisons that one is corrected with."""

    n: int
    told: int  # of which the corrected p is at most alpha

    def level(self, settings: Settings, told: bool) -> float:
        """Return the level that the correction leaves a t-test of one of them.

        Holm's divides alpha by the number of those that are not told, itself included.
        """
        left = {"bonferroni": self.n, "holm": self.n - self.told + told}
        return max(settings.alpha / max(left.get(settings.correction, 1), 1), LEAST_SHARE)


def result_of(
    cell: Cell, corrected: Floats, family: Comparisons, bounds: PairBounds | None
) -> Result:
    """Return what was found of all pairs; `corrected` are their p-values: (n_pairs,)."""
    columns: dict[str, _Column] = {
        **_differences(cell),
        **_tests(cell, corrected, family),
        **_effects(cell),
        **_unjudged(cell, bounds),
    }
    pairs = [
        Pair(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)
    ]
    settings = cell.settings
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
        _letters(cell, pairs) if settings.all_pairs else None,
        tuple(remarks_on(cell.known, pairs, cell.flips, settings, family.n, cell.rising)),
    )


def _listed(values: Floats) -> list[float | None]:
    """Return a column's values; what is no number does not exist."""
    return list(map(or_none, values))


def _differences(cell: Cell) -> dict[str, _Column]:
    """Return the systems of the pairs, their means, and the differences with their intervals."""
    left, right = cell.left.tolist(), cell.right.tolist()
    names, means, n = cell.aligned.names, cell.means, len(left)
    by_ratio = is_geometric(cell.known)
    least, most = logs(cell.known, np.array(range_of(cell.known, cell.scores)))
    low, high = map(_listed, cut(cell.tested.low, cell.tested.high, least - most, most - least))
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
        "interval": [cell.tested.interval] * n,
    }


def _percent(difference: float | None, mean: float, ratio: float | None) -> float | None:
    """Return a difference in percent of a mean; None if that is 0."""
    if ratio is not None:
        return 100 * (ratio - 1)
    return or_none(100 * (difference / mean)) if mean and difference is not None else None


def _tests(cell: Cell, corrected: Floats, family: Comparisons) -> dict[str, _Column]:
    """Return p-values, verdicts, and the differences that so many queries would have shown."""
    settings, flips, n = cell.settings, cell.flips, len(corrected)
    several = flips.n_queries > 1
    drawn = settings.test in DRAWN
    exact = drawn and settings.test != "bootstrap" and flips.exact
    p = _listed(cell.tested.p)
    errors = [None if one is None else 0.0 for one in p]
    if drawn and not exact:
        errors = [one and math.sqrt(one * (1 - one) / flips.drawn) for one in p]
    significant = [bool(one) for one in corrected <= settings.alpha]  # no NaN is
    belief = _belief(cell)
    told = significant
    if settings.test == "bayes":
        either = zip(belief["probability_better"], belief["probability_worse"], strict=True)
        told = [max(better or 0.0, worse or 0.0) >= settings.sure for better, worse in either]
    ranks = rank_biserial(cell.paired, settings.tie) if settings.test == "wilcoxon" else None
    smallest = [
        detectable(flips.n_queries, alpha=family.level(settings, one)) if several else None
        for one in (False, True)
    ]
    sd = _listed(cell.moments.sd)
    return {
        "p": p,
        "p_adjusted": _listed(corrected),
        "p_t": _listed(t_test(cell.moments)) if several else p,
        "p_error": errors,
        "exact": [exact] * n,
        "verdict": [
            ("better" if way > 0 else "worse") if one and way else None
            for way, one in zip(_directions(cell, ranks).tolist(), told, strict=True)
        ],
        "sd": sd,
        "rank_biserial": [None] * n if ranks is None else ranks.tolist(),
        **belief,
        "detectable": [
            None if (least := smallest[one]) is None or not spread else least * spread
            for one, spread in zip(significant, sd, strict=True)
        ],
    }


def _belief(cell: Cell) -> dict[str, _Column]:
    """Return how probable it is that a system is better, the same, worse, if that is shown."""
    names = ["probability_better", "probability_same", "probability_worse"]
    rope = cell.settings.rope
    if rope is None and cell.settings.test != "bayes":
        return dict.fromkeys(names, [None] * len(cell.left))
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


def _effects(cell: Cell) -> dict[str, _Column]:
    """Return effect sizes, and on which queries the systems of each pair differ."""
    paired, tie, n = cell.paired, cell.settings.tie, cell.paired.n_queries
    wins, ties, losses = signs(paired, tie)
    deltas = cliff(paired, tie)
    if not cell.rising:
        wins, losses, deltas = losses, wins, 0.0 - deltas
    differs = np.abs(paired.differences) > min(tie, TIE)
    changed = np.count_nonzero(differs, axis=0)
    return {
        **{name: _listed(one) for name, one in effects_of(paired, cell.moments).items()},
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


def _unjudged(cell: Cell, bounds: PairBounds | None) -> dict[str, _Column]:
    """Return what the differences may be, however the unjudged documents are graded."""
    names = ("unjudged_low", "unjudged_high", "unjudged_method", "unjudged_robust")
    n = len(cell.left)
    if bounds is None or (found := bounds.among(cell.rows)) is None:
        return dict.fromkeys(names, [None] * n)
    low, high, robust = found.low.tolist(), found.high.tolist(), found.robust.tolist()
    return dict(zip(names, (low, high, [found.method] * n, robust), strict=True))


def _systems(cell: Cell) -> list[System]:
    """Return each system's mean with its own interval, and how much of its ranking is judged."""
    alone = Moments.of(Paired.of(cell.paired.values))
    low, high = t_interval(alone, cell.settings.alpha) if alone.n > 1 else (alone.sd, alone.sd)
    least, most = logs(cell.known, np.array(range_of(cell.known, cell.scores))).tolist()
    low, high = cut(low, high, least, most)
    if is_geometric(cell.known):
        low, high = (np.array(list(map(math.exp, ends))) for ends in (low, high))
    judged, little = zip(*judged_shares(cell.aligned, cell.measure, cell.rows), strict=True)
    columns = cell.aligned.names, cell.means, _listed(low), _listed(high), judged, little
    return [System(*row) for row in zip(*columns, strict=True)]


def _letters(cell: Cell, pairs: Sequence[Pair]) -> list[str]:
    """Return the letters of each system; the best has the first."""
    best_first = np.argsort(np.array(cell.means) * (-1 if cell.rising else 1), kind="stable")
    place = np.argsort(best_first)
    apart = [
        (int(place[a]), int(place[b]))
        for a, b, one in zip(cell.left, cell.right, pairs, strict=True)
        if one.verdict is not None
    ]
    of_place = letters(len(place), apart)
    return [of_place[at] for at in place]
