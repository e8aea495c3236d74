"""Cells: one measure on some of the queries, from the scores of the systems to a Result."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints, mean
from cranfield.comparison.alignment import Aligned, hash_of
from cranfield.comparison.effects import FEW, Doubt, cliff, doubt_of, effects_of, skewness
from cranfield.comparison.extra_columns import Columns
from cranfield.comparison.flips import Flips, Paired
from cranfield.comparison.judged_share import judged_shares
from cranfield.comparison.letters import letters
from cranfield.comparison.mean_interval import mean_intervals, on_intervals
from cranfield.comparison.needed import detectable
from cranfield.comparison.pair_tests import Sample, Tested
from cranfield.comparison.remarks import remarks_on
from cranfield.comparison.result import Change, Pair, Result, System, listed, verdicts
from cranfield.comparison.scale import cut, ends_of, is_geometric, logs, range_of
from cranfield.comparison.settings import Settings
from cranfield.comparison.significance import TIE, Moments, beliefs, rank_biserial, signs, t_test
from cranfield.options import LEAST_SHARE
from cranfield.render.numbers import or_none
from cranfield.scoring.slices import Slice


class Queries(NamedTuple):
    """The queries to compare on: all, or those of the slice that `label` and `slice` name."""

    label: str | None
    slice: str | None
    rows: Bools  # (n_queries,) which of all queries
    ids: Sequence[str]
    hash: str

    @classmethod
    def of(cls, aligned: Aligned, one: Slice) -> "Queries":
        """Return the queries of a slice."""
        ids = [*compress(aligned.query_ids, one.rows.tolist())]
        return cls(*one, ids, hash_of(ids))


class Cell:
    """One measure on some of the queries: the scores to compare.

    `left` and `right` (n_pairs,) are the systems of each pair.
    """

    def __init__(
        self,
        aligned: Aligned,
        settings: Settings,
        left: Ints,
        right: Ints,
        measure: str,
        queries: Queries,
    ) -> None:
        self.aligned, self.settings, self.measure = aligned, settings, measure
        self.queries = queries
        self.known = aligned.known(measure)  # None if the measure is unknown
        self.rising = aligned.rising(measure)  # whether higher is better
        self.scores = aligned.column(measure)[queries.rows]  # (n_rows, n_systems)
        # What is compared: logarithms if the measure has a geometric mean.
        self.paired = Paired(logs(self.known, self.scores), left, right)
        self.moments = Moments.of(self.paired)
        self.units = aligned.units.among(queries.rows)
        self.tested = self.units.pair_up(self.paired)  # pairs of systems on the units
        self.of_units = self.moments if self.tested is self.paired else Moments.of(self.tested)
        self.flips = Flips(self.tested.n_units, settings.flips, settings.seed)
        means = [mean(column) for column in self.paired.values.T]
        # Each system's: (n_systems,).
        self.means = list(map(math.exp, means)) if is_geometric(self.known) else means

    @property
    def sample(self) -> Sample:
        """The pairs to test."""
        return Sample(self.queries.rows, self.tested, self.of_units, self.flips)


class Comparisons(NamedTuple):
    """The comparisons that are corrected together."""

    n: int
    told: int  # how many have a corrected p of at most alpha

    def level(self, settings: Settings, told: bool) -> float:
        """Return the level of a t-test of one of them, after the correction.

        Holm's correction divides alpha by the number of comparisons that are not significant,
        counting this one.
        """
        left = {"bonferroni": self.n, "holm": self.n - self.told + told}
        return max(settings.alpha / max(left.get(settings.correction, 1), 1), LEAST_SHARE)


def result_of(
    cell: Cell,
    tested: Tested,
    corrected: Floats,
    family: Comparisons,
    extra_columns: Mapping[str, Any],
) -> Result:
    """Return the Result of a cell; `corrected` are the pairs' p-values: (n_pairs,)."""
    columns = {
        **_differences(cell, tested),
        **_tests(cell, tested, corrected, family),
        **_effects(cell),
    }
    n_pairs = len(corrected)
    pairs = [
        Pair.of(values, extra_values)
        for values, extra_values in zip(
            _in_rows(columns, n_pairs), _in_rows(extra_columns, n_pairs), strict=True
        )
    ]
    settings = cell.settings
    return Result(
        cell.measure,
        cell.queries.label,
        cell.queries.slice,
        cell.rising,
        cell.queries.ids,
        cell.queries.hash,
        _systems(cell),
        pairs,
        family.n,
        _letters(cell, pairs) if settings.all_pairs else None,
        tuple(
            remarks_on(
                *(
                    cell.known,
                    pairs,
                    _doubts(cell, pairs),
                    cell.flips,
                    settings,
                    family.n,
                    cell.units,
                ),
                rising=cell.rising,
            )
        )
        + (() if pairs else tuple(on_intervals(cell.scores, cell.aligned.names, cell.units))),
        cell.units,
    )


def _in_rows(columns: Mapping[str, Any], n: int) -> list[dict[str, Any]]:
    """Return columns of n values, or of one that is repeated, as a dict for each row."""
    lists = {name: listed(column, n) for name, column in columns.items()}
    return [{name: column[i] for name, column in lists.items()} for i in range(n)]


def _differences(cell: Cell, tested: Tested) -> dict[str, Any]:
    """Return the systems of the pairs, their means, and the differences with their intervals."""
    left, right = cell.paired.left.tolist(), cell.paired.right.tolist()
    names, means = cell.aligned.names, cell.means
    by_ratio = is_geometric(cell.known)
    least, most = ends_of(cell.known, *range_of(cell.known, cell.scores))
    low, high = map(listed, cut(tested.low, tested.high, least - most, most - least))
    difference: list[float | None] = cell.moments.mean.tolist()
    ratio, ratio_low, ratio_high = (
        [math.exp(one) if by_ratio and one is not None else None for one in column]
        for column in (difference, low, high)
    )
    others = [means[b] for b in right]
    return {
        "system": [names[a] for a in left],
        "other": [names[b] for b in right],
        "n": cell.paired.n_units,
        "mean": [means[a] for a in left],
        "other_mean": others,
        "scale": "ratio" if by_ratio else "difference",
        "difference": difference,
        "percent": list(map(_percent, difference, others, ratio)),
        "low": low,
        "high": high,
        "ratio": ratio,
        "ratio_low": ratio_low,
        "ratio_high": ratio_high,
        "interval": tested.interval,
    }


def _percent(difference: float | None, mean: float, ratio: float | None) -> float | None:
    """Return a difference in percent of a mean; None if that is 0."""
    if ratio is not None:
        return 100 * (ratio - 1)
    return or_none(100 * (difference / mean)) if mean and difference is not None else None


def _tests(cell: Cell, tested: Tested, corrected: Floats, family: Comparisons) -> dict[str, Any]:
    """Return p-values, verdicts, and the differences that this many queries can detect."""
    settings, flips = cell.settings, cell.flips
    several = flips.n_units > 1
    p = listed(tested.p)
    significant = [bool(one) for one in corrected <= settings.alpha]  # NaN is not
    shown, told = _belief(cell), significant
    if settings.test == "bayes":
        either = zip(shown["probability_better"], shown["probability_worse"], strict=True)
        told = [max(one or 0.0, other or 0.0) >= settings.sure for one, other in either]
    way = cell.moments.mean  # what the test is about: above 0 if the left system is greater
    if settings.test == "wilcoxon":
        way = shown["rank_biserial"] = rank_biserial(cell.paired, settings.tie)
    elif settings.test == "sign":
        wins, _, losses = signs(cell.paired, settings.tie)
        way = (wins - losses) * 1.0
    smallest = [
        detectable(flips.n_units, alpha=family.level(settings, one)) if several else None
        for one in (False, True)
    ]
    return {
        "p": p,
        "p_adjusted": corrected,
        "p_t": t_test(cell.of_units) if several else p,
        "p_error": tested.error,
        "exact": settings.test in ("randomization", "wilcoxon") and flips.exact,
        "method": tested.method,
        "verdict": verdicts(np.array(told, np.bool_), way, rising=cell.rising),
        "sd": cell.moments.sd,
        **shown,
        "detectable": [
            None if (least := smallest[one]) is None or not spread else least * spread
            for one, spread in zip(significant, listed(cell.of_units.sd), strict=True)
        ],
    }


def _belief(cell: Cell) -> dict[str, Any]:
    """Return the probabilities that a system is better, the same and worse, if they are shown."""
    rope = cell.settings.rope
    if rope is None and cell.settings.test != "bayes":
        return {}
    names = ["probability_better", "probability_same", "probability_worse"]
    found = map(listed, beliefs(cell.of_units, rope or 0.0))
    return dict(zip(names if cell.rising else names[::-1], found, strict=True))


def _effects(cell: Cell) -> dict[str, Any]:
    """Return effect sizes, and on which queries the systems of each pair differ."""
    paired, tie, n = cell.paired, cell.settings.tie, cell.paired.n_units
    wins, ties, losses = signs(paired, tie)
    deltas = cliff(paired, tie)
    if not cell.rising:
        wins, losses, deltas = losses, wins, 0.0 - deltas
    differs = _differs(cell)
    changed = np.count_nonzero(differs, axis=0)

    def changes(pair: int) -> tuple[Change, ...]:
        both = [paired.right[pair], paired.left[pair]]
        queries = np.flatnonzero(differs[:, pair]).tolist()
        return tuple(Change(cell.queries.ids[q], *cell.scores[q, both].tolist()) for q in queries)

    return {
        **effects_of(paired, cell.moments),
        "changed": changed,
        "changes": [changes(i) if few else () for i, few in enumerate(changed < FEW)],
        "wins": wins,
        "ties": ties,
        "losses": losses,
        "cliff": deltas,
        "dominance": (wins - losses) / n,
        "superiority": (2 * wins + ties) / (2 * n),
    }


def _differs(cell: Cell) -> Bools:
    """Return on which queries the systems of each pair differ: (n_queries, n_pairs)."""
    found: Bools = np.abs(cell.paired.differences) > min(cell.settings.tie, TIE)
    return found


def columns_of_units(cell: Cell) -> Columns:
    """Return the values that the units of a cell add to its pairs: (n_pairs,) each."""
    return cell.units.columns(cell.of_units, cell.moments, _n_units_that_differ(cell))


def _n_units_that_differ(cell: Cell) -> Ints:
    """Return in how many units the systems of each pair differ on a query: (n_pairs,)."""
    n_differing: Ints = np.count_nonzero(cell.units.add_up(_differs(cell) * 1.0), axis=0)
    return n_differing


def _doubts(cell: Cell, pairs: Sequence[Pair]) -> list[Doubt | None]:
    """Return why the test and the interval of each pair may be wrong."""
    changed = _n_units_that_differ(cell).tolist()
    skews = listed(skewness(cell.tested, cell.of_units))
    n = cell.tested.n_units
    return [doubt_of(n, *one) for one in zip(changed, skews, strict=True)]


def _systems(cell: Cell) -> list[System]:
    """Return each system's mean with its own interval, and how much of its ranking is judged."""
    judged = judged_shares(cell.aligned, cell.measure, cell.queries.rows)
    means = mean_intervals(cell.known, cell.scores, cell.settings.alpha, cell.units)
    rows = [
        System(name, *own, *share)
        for name, own, share in zip(cell.aligned.names, means, judged, strict=True)
    ]
    for block in cell.aligned.extra_columns:
        for name, column in block.columns_of_systems(cell).items():
            rows = [replace(row, **{name: value}) for row, value in zip(rows, column, strict=True)]
    return rows


def _letters(cell: Cell, pairs: Sequence[Pair]) -> list[str]:
    """Return the letters of each system; the best has the first."""
    best_first = np.argsort(np.array(cell.means) * (-1 if cell.rising else 1), kind="stable")
    place = np.argsort(best_first)
    apart = [
        (int(place[a]), int(place[b]))
        for a, b, one in zip(cell.paired.left, cell.paired.right, pairs, strict=True)
        if one.verdict is not None
    ]
    of_place = letters(len(place), apart)
    return [of_place[at] for at in place]
