"""Cells: one measure on some of the queries, from the scores of the systems to a Result."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints, mean
from cranfield.comparison.aligned_scores import AlignedScores, hash_query_ids
from cranfield.comparison.binary import PairedCounts, normal_quantile, tango_interval
from cranfield.comparison.effects import (
    FEW_UNITS,
    Doubt,
    cliffs_delta,
    effect_sizes,
    find_doubt,
    skewness,
)
from cranfield.comparison.extra_columns import ValueColumns
from cranfield.comparison.flips import Flips, PairedScores
from cranfield.comparison.judged_share import find_judged_shares, note_little_judged
from cranfield.comparison.letters import assign_letters
from cranfield.comparison.mean_interval import have_wilson, mean_intervals, note_intervals
from cranfield.comparison.needed import Goal, estimate_mean, find_least_effect
from cranfield.comparison.pair_tests import PairSample, PairTests
from cranfield.comparison.ranks import BestTest
from cranfield.comparison.remarks import note_comparison
from cranfield.comparison.result import Change, Pair, Result, System, column_to_list, find_verdicts
from cranfield.comparison.scale import (
    clip_ends,
    compared_range,
    is_geometric,
    score_range,
    to_compared_unit,
)
from cranfield.comparison.settings import Settings
from cranfield.comparison.significance import (
    TIE,
    Moments,
    count_wins,
    posterior_probabilities,
    rank_biserial,
    t_test,
)
from cranfield.lazy import cached_property
from cranfield.options import MIN_SHARE
from cranfield.render.numbers import finite_or_none
from cranfield.scoring.slices import Slice


class QueryGroup(NamedTuple):
    """The queries to compare on: all, or those of the slice that `label` and `slice` name."""

    label: str | None
    slice: str | None
    is_included: Bools  # (n_queries,) whether each of all queries is here
    ids: Sequence[str]
    hash: str

    @classmethod
    def of(cls, aligned_scores: AlignedScores, query_slice: Slice) -> "QueryGroup":
        """Return the queries of a slice."""
        ids = [*compress(aligned_scores.query_ids, query_slice.has_label.tolist())]
        return cls(*query_slice, ids, hash_query_ids(ids))


class Cell:
    """The scores to compare: of all systems, under one measure, on some of the queries.

    `left_column` and `right_column` (n_pairs,) are the systems of each pair.
    """

    def __init__(
        self,
        aligned_scores: AlignedScores,
        settings: Settings,
        left_column: Ints,
        right_column: Ints,
        measure: str,
        queries: QueryGroup,
    ) -> None:
        self.aligned_scores, self.settings, self.measure = aligned_scores, settings, measure
        self.queries = queries
        self.parsed_measure = aligned_scores.find_measure(measure)  # None if the measure is unknown
        self.higher_is_better = aligned_scores.is_higher_better(measure)
        # (n_queries, n_systems); `compared_scores` are logarithms for geometric means.
        self.scores = aligned_scores.measure_scores(measure)[queries.is_included]
        compared_scores = to_compared_unit(self.parsed_measure, self.scores)
        self.paired_scores = PairedScores(compared_scores, left_column, right_column)
        self.moments = Moments.of(self.paired_scores)
        self.units = aligned_scores.units.select_queries(queries.is_included)
        # The same on the units that are tested, queries or clusters.
        self.unit_pairs = self.units.pair_units(self.paired_scores)
        tests_queries = self.unit_pairs is self.paired_scores
        self.unit_moments = self.moments if tests_queries else Moments.of(self.unit_pairs)
        self.flips = Flips(self.unit_pairs.n_units, settings.flips, settings.seed)
        means = [mean(column) for column in self.paired_scores.scores.T]
        # The mean of each system: (n_systems,).
        self.means = list(map(math.exp, means)) if is_geometric(self.parsed_measure) else means

    @cached_property
    def is_binary_pair(self) -> Bools:
        """Whether a pair is compared by the interval of zeros and ones: (n_pairs,)."""
        pairs = self.paired_scores
        is_tested = pairs.n_units > 1 and self.settings.test in _TESTS_OF_BINARY
        is_binary = have_wilson(self.parsed_measure, pairs.scores, self.units) & is_tested
        is_binary_pair: Bools = is_binary[pairs.left_column] & is_binary[pairs.right_column]
        return is_binary_pair

    @property
    def sample(self) -> PairSample:
        """The pairs to test."""
        return PairSample(self.queries.is_included, self.unit_pairs, self.unit_moments, self.flips)


class CorrectionFamily(NamedTuple):
    """The family of comparisons whose p-values are corrected together."""

    n_comparisons: int
    n_significant: int  # comparisons with a corrected p of at most alpha

    def level(self, settings: Settings, is_significant: bool) -> float:
        """Return the level of the t-test of one comparison, after the correction.

        Holm's correction divides alpha by the number of comparisons that are not significant,
        counting this comparison, Bonferroni's by the number of all; the others leave it.
        """
        divisors = {
            "bonferroni": self.n_comparisons,
            "holm": self.n_comparisons - self.n_significant + is_significant,
        }
        return max(settings.alpha / max(divisors.get(settings.correction, 1), 1), MIN_SHARE)


_TESTS_OF_BINARY = ("randomization", "t", "wilcoxon", "sign")  # whose interval is Tango's


def set_binary_intervals(cell: Cell, tests: PairTests) -> PairTests:
    """Return the tests with Tango's interval for each pair whose scores are zeros and ones."""
    if not cell.is_binary_pair.any():
        return tests
    z = normal_quantile(1 - cell.settings.alpha / 2)
    low, high = tango_interval(PairedCounts.of(cell.paired_scores.differences), z)
    interval = [
        "tango" if is_binary else kind
        for is_binary, kind in zip(cell.is_binary_pair, tests.interval, strict=True)
    ]
    return tests._replace(
        low=np.where(cell.is_binary_pair, low, tests.low),
        high=np.where(cell.is_binary_pair, high, tests.high),
        interval=interval,
    )


def build_result(
    cell: Cell,
    tests: PairTests,
    adjusted_p: Floats,
    family: CorrectionFamily,
    extra_columns: Mapping[str, Any],
) -> Result:
    """Return the Result of a cell.

    `adjusted_p` (n_pairs,) are its pairs' corrected p-values, `extra_columns` what is added to
    them.
    """
    tests, settings = set_binary_intervals(cell, tests), cell.settings
    columns = {
        **_difference_columns(cell, tests),
        **_test_columns(cell, tests, adjusted_p, family),
        **_effect_columns(cell),
    }
    n_pairs = len(adjusted_p)
    pairs = [
        Pair.of(pair_values, extra_values)
        for pair_values, extra_values in zip(
            _split_rows(columns, n_pairs), _split_rows(extra_columns, n_pairs), strict=True
        )
    ]
    remarks = note_comparison(
        cell.parsed_measure,
        pairs,
        _find_doubts(cell),
        cell.flips,
        settings,
        family.n_comparisons,
        cell.units,
        higher_is_better=cell.higher_is_better,
    )
    names = cell.aligned_scores.system_names
    mean_remarks = (
        () if pairs else note_intervals(cell.parsed_measure, cell.scores, names, cell.units)
    )
    systems = _build_systems(cell)
    best_test = None  # unless ranks hold all at once
    if settings.all_pairs and (family.n_comparisons <= 1 or settings.is_familywise):
        unit_pairs = replace(cell.unit_pairs)  # a copy, without its properties
        best_test = BestTest(unit_pairs, cell.flips, settings.alpha, cell.higher_is_better)
    shown_pairs = pairs if cell.queries.slice is None else []
    judged_notes = note_little_judged(systems, shown_pairs, cell.parsed_measure)
    return Result(
        cell.measure,
        cell.queries.label,
        cell.queries.slice,
        cell.higher_is_better,
        cell.queries.ids,
        cell.queries.hash,
        systems,
        pairs,
        family.n_comparisons,
        _letter_systems(cell, pairs) if settings.all_pairs else None,
        (*remarks, *mean_remarks, *judged_notes),
        cell.units,
        best_test,
    )


def _split_rows(columns: Mapping[str, Any], n: int) -> list[dict[str, Any]]:
    """Return a dict for each of n rows, from columns of n values or of one value for all rows."""
    lists = {name: column_to_list(column, n) for name, column in columns.items()}
    return [{name: column[i] for name, column in lists.items()} for i in range(n)]


def _difference_columns(cell: Cell, tests: PairTests) -> dict[str, Any]:
    """Return {name: column} of the pairs' systems, means, and differences with their intervals."""
    left_systems = cell.paired_scores.left_column.tolist()
    right_systems = cell.paired_scores.right_column.tolist()
    system_names, means = cell.aligned_scores.system_names, cell.means
    by_ratio = is_geometric(cell.parsed_measure)
    lowest, highest = compared_range(
        cell.parsed_measure, *score_range(cell.parsed_measure, cell.scores)
    )
    low, high = map(
        column_to_list, clip_ends(tests.low, tests.high, lowest - highest, highest - lowest)
    )
    difference: list[float | None] = cell.moments.mean.tolist()
    ratio, ratio_low, ratio_high = (
        [
            math.exp(difference_or_end) if by_ratio and difference_or_end is not None else None
            for difference_or_end in column
        ]
        for column in (difference, low, high)
    )
    other_means = [means[b] for b in right_systems]
    return {
        "system": [system_names[a] for a in left_systems],
        "other": [system_names[b] for b in right_systems],
        "n": cell.paired_scores.n_units,
        "mean": [means[a] for a in left_systems],
        "other_mean": other_means,
        "scale": "ratio" if by_ratio else "difference",
        "difference": difference,
        "percent": list(map(_percent_change, difference, other_means, ratio)),
        "low": low,
        "high": high,
        "ratio": ratio,
        "ratio_low": ratio_low,
        "ratio_high": ratio_high,
        "interval": tests.interval,
    }


def _percent_change(difference: float | None, mean: float, ratio: float | None) -> float | None:
    """Return a difference in percent, by the ratio if there is one; None without a finite one."""
    if ratio is not None:
        return 100 * (ratio - 1)
    return finite_or_none(100 * (difference / mean)) if mean and difference is not None else None


def _test_columns(
    cell: Cell, tests: PairTests, adjusted_p: Floats, family: CorrectionFamily
) -> dict[str, Any]:
    """Return {name: column} of what tests give: p-values, verdicts, detectable differences."""
    settings, flips = cell.settings, cell.flips
    has_test = flips.n_units > 1
    p = column_to_list(tests.p)
    is_significant = [bool(flag) for flag in adjusted_p <= settings.alpha]  # NaN is not
    asked_columns, is_marked = _probability_columns(cell), is_significant
    if settings.test == "bayes":
        sides = (asked_columns[f"probability_{side}"] for side in ("better", "worse"))
        is_marked = [
            max(better or 0.0, worse or 0.0) >= settings.decisive_probability
            for better, worse in zip(*sides, strict=True)
        ]
    direction = cell.moments.mean  # (n_pairs,) above 0 where the left system has the greater scores
    if settings.test == "wilcoxon":
        direction = asked_columns["rank_biserial"] = rank_biserial(cell.paired_scores, settings.tie)
    elif settings.test == "sign":
        wins, _, losses = count_wins(cell.paired_scores, settings.tie)
        direction = (wins - losses) * 1.0
    levels = [family.level(settings, is_rejected) for is_rejected in (False, True)]
    least_effect = [
        find_least_effect(Goal(alpha=level), estimate_mean(flips.n_units)) if has_test else None
        for level in levels
    ]
    unit_sd = column_to_list(cell.unit_moments.sd)
    return {
        "p": p,
        "p_adjusted": adjusted_p,
        "p_t": t_test(cell.unit_moments) if has_test else p,
        "p_error": tests.p_error,
        "exact": settings.test in ("randomization", "wilcoxon") and flips.is_exact,
        "method": tests.method,
        "verdict": find_verdicts(
            np.array(is_marked, np.bool_), direction, higher_is_better=cell.higher_is_better
        ),
        "sd": cell.moments.sd,
        **asked_columns,
        "detectable": [
            None if (effect := least_effect[is_rejected]) is None or not sd else effect * sd
            for is_rejected, sd in zip(is_significant, unit_sd, strict=True)
        ],
    }


def _probability_columns(cell: Cell) -> dict[str, Any]:
    """Return {name: column} of the probabilities of better, the same, worse, if asked for."""
    rope = cell.settings.rope
    if rope is None and cell.settings.test != "bayes":
        return {}
    names = ["probability_better", "probability_same", "probability_worse"]
    columns = map(column_to_list, posterior_probabilities(cell.unit_moments, rope or 0.0))
    return dict(zip(names if cell.higher_is_better else names[::-1], columns, strict=True))


def _effect_columns(cell: Cell) -> dict[str, Any]:
    """Return {name: column} of effect sizes, and of the queries on which the systems differ."""
    paired_scores, tie, n = cell.paired_scores, cell.settings.tie, cell.paired_scores.n_units
    wins, ties, losses = count_wins(paired_scores, tie)
    deltas = cliffs_delta(paired_scores, tie)
    if not cell.higher_is_better:
        wins, losses, deltas = losses, wins, 0.0 - deltas
    is_changed = _mark_changes(cell)
    n_changed = np.count_nonzero(is_changed, axis=0)

    def list_changes(pair: int) -> tuple[Change, ...]:
        columns = [paired_scores.right_column[pair], paired_scores.left_column[pair]]
        rows = np.flatnonzero(is_changed[:, pair]).tolist()
        return tuple(Change(cell.queries.ids[q], *cell.scores[q, columns].tolist()) for q in rows)

    return {
        **effect_sizes(paired_scores, cell.moments),
        "changed": n_changed,
        "changes": [
            list_changes(pair) if is_listed else ()
            for pair, is_listed in enumerate(n_changed < FEW_UNITS)
        ],
        "wins": wins,
        "ties": ties,
        "losses": losses,
        "cliff": deltas,
        "dominance": (wins - losses) / n,
        "superiority": (2 * wins + ties) / (2 * n),
    }


def _mark_changes(cell: Cell) -> Bools:
    """Return the mask of queries on which the systems of a pair differ: (n_queries, n_pairs)."""
    is_changed: Bools = np.abs(cell.paired_scores.differences) > min(cell.settings.tie, TIE)
    return is_changed


def unit_columns(cell: Cell) -> ValueColumns:
    """Return {name: column} that the units of a cell add to its pairs: (n_pairs,) each."""
    return cell.units.columns(cell.unit_moments, cell.moments, _count_changed_units(cell))


def _count_changed_units(cell: Cell) -> Ints:
    """Return the number of units in which the two systems differ on a query: (n_pairs,)."""
    n_changed: Ints = np.count_nonzero(cell.units.sum_queries(_mark_changes(cell) * 1.0), axis=0)
    return n_changed


def _find_doubts(cell: Cell) -> list[Doubt | None]:
    """Return for each pair why test and interval may be wrong, None if not or with few units."""
    n_changed = _count_changed_units(cell).tolist()
    skews = column_to_list(skewness(cell.unit_pairs, cell.unit_moments))
    n = cell.unit_pairs.n_units
    return [
        None if is_binary or (n_different and n < FEW_UNITS) else find_doubt(n, n_different, skew)
        for is_binary, n_different, skew in zip(cell.is_binary_pair, n_changed, skews, strict=True)
    ]


def _build_systems(cell: Cell) -> list[System]:
    """Return each system's mean, its own interval, its judged share, and what extensions add."""
    shares = find_judged_shares(cell.aligned_scores, cell.measure, cell.queries.is_included)
    means = mean_intervals(cell.parsed_measure, cell.scores, cell.settings.alpha, cell.units)
    rows = [
        System(name, *mean_interval[:3], *share, interval=mean_interval.interval)
        for name, mean_interval, share in zip(
            cell.aligned_scores.system_names, means, shares, strict=True
        )
    ]
    for block in cell.aligned_scores.extra_columns:
        for name, column in block.system_columns(cell).items():
            rows = [replace(row, **{name: value}) for row, value in zip(rows, column, strict=True)]
    return rows


def _letter_systems(cell: Cell, pairs: Sequence[Pair]) -> list[str]:
    """Return the letters of each system, (n_systems,); the best system has the first letter."""
    best_first = np.argsort(
        np.array(cell.means) * (-1 if cell.higher_is_better else 1), kind="stable"
    )
    rank = np.argsort(best_first)
    differing_ranks = [
        (int(rank[a]), int(rank[b]))
        for a, b, pair in zip(
            cell.paired_scores.left_column, cell.paired_scores.right_column, pairs, strict=True
        )
        if pair.verdict is not None
    ]
    letters_of_rank = assign_letters(len(rank), differing_ranks)
    return [letters_of_rank[system_rank] for system_rank in rank]
