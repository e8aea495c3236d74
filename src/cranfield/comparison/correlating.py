"""correlate: how alike several measures, or several judgments, order the same systems."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Unpack

import numpy as np

from cranfield.comparison.correlation import (
    Kendall,
    kendall,
    rounded,
    spearman,
    tau_ap,
    tau_ap_a,
    tau_ap_b,
    weighted_tau,
)
from cranfield.comparison.discrimination import Discrimination
from cranfield.comparison.orderings import (
    Ordering,
    Orderings,
    shown_flips,
)
from cranfield.comparison.products import product
from cranfield.comparison.settings import (
    Alignment,
    AlignmentOptions,
    CorrelationSettings,
    CorrelationSettingsOptions,
    SignFlips,
)
from cranfield.comparison.shown import interval, number
from cranfield.comparison.significance import resampled
from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.evaluation import MeasuresLike
from cranfield.judging import Judging, JudgingOptions
from cranfield.measures import Measure, parse
from cranfield.notes import Note, lines_of
from cranfield.options import refuse_others, takes
from cranfield.pairs import RBO, rbo
from cranfield.ranked import Floats, Ints
from cranfield.render import Table, text, to_html
from cranfield.version import __version__

_HOLDS_AT = 97  # queries: measured of so many, the interval holds as often as it says
_NAMED = 5  # pairs of systems that a note names

Cell = str | float | int | None


@dataclass(frozen=True)
class Swapped:
    """Two systems that two orderings order differently, and each ordering's p-value for them.

    The reference takes `better` to be the better one. With one query there are no p-values.
    """

    better: str
    worse: str
    p_reference: float | None
    p_other: float | None

    def sure(self, alpha: float) -> bool:
        """Tell whether both orderings are sure, and say the opposite."""
        found = self.p_reference, self.p_other
        return all(p is not None and p <= alpha for p in found)


@dataclass(frozen=True)
class OrderingPair:
    """How alike two orderings are, of which the first is the reference.

    `tau_ap` is None where there are ties, `tau_ap_a` where the reference has some. `interval` is
    that of tau-b, over `resamples` of the queries: those in which it has a value. It is None where
    the orderings are not of the same queries, or of one only.

    >>> runs = ["demo/bm25.run", "demo/tfidf.run", "demo/dense.run"]
    >>> [pair] = correlate("demo/qrels.txt", runs, "nDCG@10 Success@10").pairs
    >>> [(one.better, one.worse) for one in pair.swapped], pair.swapped_sure
    ([('bm25', 'tfidf')], 0)
    """

    reference: str
    other: str
    kendall: Kendall
    tau_ap: float | None
    tau_ap_a: float | None
    tau_ap_b: float | None
    weighted_tau: float | None
    spearman: float | None
    rbo: RBO
    same_queries: bool
    interval: tuple[float, float] | None
    resamples: int
    swapped: tuple[Swapped, ...]
    swapped_sure: int | None  # of these, those where both are sure; None for one query

    @property
    def label(self) -> str:
        """Both orderings' labels."""
        return f"{self.reference} ~ {self.other}"

    def values(self) -> dict[str, Cell]:
        """Return {name: value} of all that is one number."""
        low, high = self.interval or (None, None)
        counted = self.kendall
        return {
            "tau_b": counted.tau_b,
            "tau_b_low": low,
            "tau_b_high": high,
            "tau_a": counted.tau_a,
            "concordant": counted.concordant,
            "discordant": counted.discordant,
            "discordant_sure": self.swapped_sure,
            "tied_in_reference": counted.ties_x,
            "tied_in_other": counted.ties_y,
            "tied_in_both": counted.ties_both,
            "tau_ap": self.tau_ap,
            "tau_ap_a": self.tau_ap_a,
            "tau_ap_b": self.tau_ap_b,
            "weighted_tau": self.weighted_tau,
            "spearman": self.spearman,
            "rbo": self.rbo.ext,
            "rbo_min": self.rbo.min,
            "rbo_max": self.rbo.max,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "reference": self.reference,
            "other": self.other,
            **self.values(),
            "same_queries": self.same_queries,
            "resamples_with_a_value": self.resamples,
            "swapped": [asdict(one) for one in self.swapped],
        }


@dataclass(frozen=True, eq=False)
class Correlation:
    """How alike several orderings of the same systems are, pair by pair.

    >>> runs = ["demo/bm25.run", "demo/tfidf.run", "demo/dense.run", "demo/fusion.run"]
    >>> found = correlate("demo/qrels.txt", runs, "nDCG@10 AP")
    >>> found.pairs[0].kendall.concordant
    6
    """

    systems: tuple[str, ...]
    orderings: tuple[Ordering, ...]
    pairs: tuple[OrderingPair, ...]
    notes: tuple[Note, ...]  # what to know of the data, and of the intervals
    alpha: float
    flips: int
    resamples: int
    seed: int
    rbo_p: float
    discrimination: Discrimination | None = None

    def tables(self) -> list[Table]:
        """Return all that there is to show, one table below the other."""
        found = [self.table(), self.coefficients()]
        if self.discrimination is not None:
            options = self.alpha, self.flips, self.seed
            found.append(self.discrimination.table(self.orderings, *options))
        return found

    def table(self) -> Table:
        """Return a row for each two orderings: tau-b, and the pairs of systems behind it."""
        rows = []
        for one in self.pairs:
            counted = one.kendall
            ties = counted.ties_x + counted.ties_y + counted.ties_both
            ends = interval(*one.interval or (None, None), signs=False)
            sure = "-" if one.swapped_sure is None else f"{one.swapped_sure:,}"
            counts = [f"{n:,}" for n in (counted.concordant, counted.discordant, ties)]
            rows.append([one.label, number(counted.tau_b), ends, *counts, sure])
        level = f"{100 * (1 - self.alpha):.6g}%"
        header = ["reference ~ other", "tau-b", f"{level} interval"]
        header += ["same", "swapped", "tied", "swapped, both sure"]
        notes = [
            "tau-b: Kendall's tau, with ties allowed for: 1 is the same order, -1 the reverse, 0 "
            "no relation.",
            f"{level} interval: of tau-b, over {self.resamples:,} resamples of the queries, the "
            "same for both (percentiles).",
            "same, swapped: pairs of systems that the two order alike, and the other way round; "
            "tied: that either ties.",
            f"swapped, both sure: swapped though p <= {self.alpha:g} under each: here it matters "
            "which of the two one believes.",
        ]
        if any("-" in row for row in rows):
            notes.append("-: has no value, for want of systems, of queries, or of differences.")
        for one in self.pairs:
            notes += [f"{one.label}: {line}." for line in self._said_of(one)]
        grave = [note for note in self.notes if note.is_grave]
        others = [note for note in self.notes if not note.is_grave]
        below = [*lines_of(grave), *notes, *lines_of(others)]
        return Table(header, rows, below, title=self._title())

    def coefficients(self) -> Table:
        """Return a row for each two orderings: the other coefficients."""
        rows = [
            [
                one.label,
                number(one.kendall.tau_a),
                number(one.tau_ap_a),
                number(one.tau_ap_b),
                number(one.weighted_tau),
                number(one.spearman),
                number(one.rbo.ext),
                interval(one.rbo.min, one.rbo.max, signs=False),
            ]
            for one in self.pairs
        ]
        header = ["reference ~ other", "tau-a", "tau-AP", "tau-AP,b", "weighted"]
        header += ["Spearman", "RBO", "RBO at least, most"]
        notes = [
            "tau-a: (same - swapped) / all pairs of systems.",
            "tau-AP: the top counts most; the reference is the truth, and may have no ties; those "
            "of the other count in all their orders.",
            "tau-AP,b: the mean of tau-AP with either of the two as the truth; ties count as such.",
            "weighted: tau where a pair counts 1/rank + 1/rank of its systems. Spearman: the "
            "correlation of the ranks.",
            f"RBO: rank-biased overlap, p = {self.rbo_p:g}; at least, most: if more systems "
            "followed.",
        ]
        return Table(header, rows, notes, title=["Other coefficients"])

    def _title(self) -> list[str]:
        counts = sorted({len(one.query_ids) for one in self.orderings})
        queries = " to ".join(f"{n:,}" for n in dict.fromkeys((counts[0], counts[-1])))
        measures = sorted({one.measure for one in self.orderings})
        said = [
            _counted(len(self.systems), "system", "systems"),
            f"{queries} {'query' if counts == [1] else 'queries'}",
            *(measures if len(measures) == 1 else []),
        ]
        return [
            "   ".join(said),
            f"two-sided sign-flip test, {shown_flips(self.orderings, self.flips)}, "
            f"alpha {self.alpha:g}, uncorrected; seed {self.seed}",
        ]

    def _said_of(self, one: OrderingPair) -> Iterator[str]:
        if not one.same_queries:
            yield "no interval, as the two are not of the same queries"
        elif one.interval is not None and one.resamples < self.resamples:
            yield f"tau-b had a value in {one.resamples:,} resamples only"
        sure = [pair for pair in one.swapped if pair.sure(self.alpha)]
        unsure = [pair for pair in one.swapped if not pair.sure(self.alpha)]
        if sure:
            yield f"{_said(one, sure)}, and both are sure"
        if 0 < len(unsure) <= _NAMED:
            yield f"{_said(one, unsure)}; not both are sure"

    def __str__(self) -> str:
        return "\n".join(map(text, self.tables()))

    def _repr_html_(self) -> str:
        return "".join(map(to_html, self.tables()))

    def __repr__(self) -> str:
        found = [f"{one.label}: {number(one.kendall.tau_b)}" for one in self.pairs]
        return f"Correlation({len(self.systems):,} systems, tau-b {', '.join(found)})"

    def rows(self) -> Iterator[tuple[str, str, str, Cell]]:
        """Yield (reference, other, quantity, value) of all numbers, to every digit.

        Of discriminative power and swap rate, which are an ordering's own, `reference` is empty.
        """
        for one in self.pairs:
            for name, value in one.values().items():
                yield one.reference, one.other, name, value
        if self.discrimination is not None:
            for label, power in self.discrimination.powers.items():
                swaps = self.discrimination.swaps[label]
                yield "", label, "discriminative_power", power.share
                yield "", label, "discriminative_power_holm", power.share_holm
                yield "", label, "swap_rate", swaps.rate
                for begin, rate in zip((0.0, *swaps.bins), swaps.rates, strict=True):
                    yield "", label, f"swap_rate_from_{begin:g}", rate

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the scores, what was found, and everything to repeat it."""
        found: dict[str, Any] = {
            "cranfield": __version__,
            "settings": {
                "alpha": self.alpha,
                "test": "sign flips, two-sided, uncorrected",
                "flips": self.flips,
                "resamples": self.resamples,
                "seed": self.seed,
                "rbo_p": self.rbo_p,
            },
            "systems": list(self.systems),
            "orderings": [
                {
                    "label": one.label,
                    "measure": one.measure,
                    "higher_is_better": one.rising,
                    "scores": dict(zip(self.systems, one.scores.tolist(), strict=True)),
                    "query_ids": list(one.query_ids),
                    "recipe": dict(one.recipe),
                }
                for one in self.orderings
            ],
            "pairs": [one.to_dict() for one in self.pairs],
            "notes": [note.to_dict() for note in self.notes],
        }
        if self.discrimination is not None:
            found["discrimination"] = self.discrimination.to_dict()
        return found


class CorrelateOptions(CorrelationSettingsOptions, AlignmentOptions, JudgingOptions, total=False):
    """The options of `correlate`, as keywords."""


@takes(CorrelationSettings, Alignment, Judging, without=("queries",))
def correlate(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    *,
    reference: str | Measure | None = None,
    **options: Unpack[CorrelateOptions],
) -> Correlation:
    """Say how alike several measures, or several judgments, order the same systems.

    Args:
        qrels: judgments, as `evaluate` takes them, or, without runs, scores, as `compare` takes
            them, for two or more measures; or several judgments of the same systems: `{label:
            Qrels or path}`, or, without runs, `{label: Systems}`. With several measures and
            judgments, a measure is compared with itself under each two judgments.
        runs: several runs, as `evaluate` takes them. None: the first argument holds scores.
        measures: which to compare. [default: all there are; nDCG@10 of runs]
        reference: a measure, or the label of the judgments, with which each other one is compared.
            [default: every two are compared, and the earlier one is the reference]
        **options: each option of `CorrelationSettings` and `Alignment`; of judgments and runs, of
            `Judging`, too.

    Measures of which less is better are turned: the first of an ordering is always the best. Where
    the mean is geometric, intervals and tests are of logarithms of the queries' values. The
    pairs that are swapped are tested by flipping the signs of queries' differences, each ordering
    by itself, uncorrected.

    Raises:
        InputError: fewer than two orderings, other systems, or a score that is no number.
        MeasureError: a measure that does not exist or that there are no scores for.
        OptionError: an option out of its range, or a reference that is not there.

    >>> old = {"nDCG": {"q1": 0.1, "q2": 0.4}, "RR": {"q1": 1.0, "q2": 0.5}}
    >>> new = {"nDCG": {"q1": 0.3, "q2": 0.5}, "RR": {"q1": 0.5, "q2": 0.5}}
    >>> found = correlate({"old": old, "new": new})
    >>> found.pairs[0].kendall.tau_b, found.pairs[0].swapped[0].better
    (-1.0, 'new')

    """
    refuse_others(correlate, options)
    settings = CorrelationSettings.of(options)
    every = Orderings.of(qrels, runs, measures, Alignment.of(options), Judging.of(options))
    orderings = every.orderings
    if len(orderings) < 2:
        raise InputError(
            f"there is nothing to compare the ordering by {orderings[0].measure} with",
            hint="Name two measures or more, or give several judgments.",
        )
    pairs = tuple(
        _pair(every.systems, one, other, settings) for one, other in _compared(orderings, reference)
    )
    notes = (*_on_intervals(pairs, orderings), *every.notes)
    more = Discrimination.of(orderings, settings) if settings.discrimination else None
    return Correlation(
        every.systems,
        orderings,
        pairs,
        notes,
        settings.alpha,
        settings.flips,
        settings.resamples,
        settings.seed,
        settings.rbo_p,
        more,
    )


def _on_intervals(pairs: Sequence[OrderingPair], orderings: Sequence[Ordering]) -> Iterator[Note]:
    """Yield how often intervals of tau-b hold, if there are any and the queries are few."""
    n = min(len(one.query_ids) for one in orderings)
    if n < _HOLDS_AT and any(one.interval is not None for one in pairs):
        text = (
            "With few queries the interval of tau-b holds less often than it says, mostly as it is "
            "too low: in trials with TREC systems a 95% interval held 8 times in 10 with 25 "
            f"queries, 9 times in 10 with 43, and as it says with {_HOLDS_AT}."
        )
        yield Note("tau-interval", "info", text, n)


def _compared(
    orderings: Sequence[Ordering], reference: str | Measure | None
) -> list[tuple[Ordering, Ordering]]:
    measures: dict[str, list[str]] = {}
    for one in orderings:
        measures.setdefault(one.source, []).append(one.measure)
    each = list(map(set, measures.values()))
    crossed = len(each) > 1 and len(each[0]) > 1 and all(some == each[0] for some in each)
    chosen: Sequence[Ordering] = orderings
    if reference is not None:
        wanted = {str(reference), _canonical(str(reference))}
        chosen = [one for one in orderings if wanted & {one.label, one.source}]
        if not chosen:
            known = ", ".join([*(one.label for one in orderings), *filter(None, measures)])
            raise OptionError(f"reference={str(reference)!r:.80} is not there; there are {known}")
        if len(chosen) == len(orderings):
            raise OptionError(f"reference={str(reference)!r:.80} leaves nothing to compare it with")
    pairs = (
        combinations(orderings, 2)
        if reference is None
        else ((one, other) for one in chosen for other in orderings if other not in chosen)
    )
    return [(one, other) for one, other in pairs if not crossed or one.measure == other.measure]


def _canonical(name: str) -> str:
    try:
        return str(parse(name))
    except MeasureError:
        return name


def _pair(
    systems: Sequence[str], one: Ordering, other: Ordering, settings: CorrelationSettings
) -> OrderingPair:
    x, y = one.merits, other.merits
    tied_x, tied_y = (len(np.unique(merits)) < len(systems) for merits in (x, y))
    same_queries = one.query_ids == other.query_ids
    enough = len(one.query_ids) > 1 and len(other.query_ids) > 1
    taus: Floats = np.zeros(0)
    if same_queries and enough:
        taus = _taus(one.values, other.values, settings.resamples, settings.seed)
    ends = None
    if len(taus):
        low, high = (np.quantile(taus, [settings.alpha / 2, 1 - settings.alpha / 2]) + 0.0).tolist()
        ends = low, high
    x_listed, y_listed = (dict(zip(systems, each.tolist(), strict=True)) for each in (x, y))
    swapped = _swapped(systems, one, other, settings)
    return OrderingPair(
        one.label,
        other.label,
        kendall(x, y),
        None if tied_x or tied_y else tau_ap(x, y),
        None if tied_x else tau_ap_a(x, y),
        tau_ap_b(x, y),
        weighted_tau(x, y),
        spearman(x, y),
        rbo(x_listed, y_listed, settings.rbo_p),
        same_queries,
        ends,
        len(taus),
        swapped,
        sum(pair.sure(settings.alpha) for pair in swapped) if enough else None,
    )


def _swapped(
    systems: Sequence[str], one: Ordering, other: Ordering, settings: SignFlips
) -> tuple[Swapped, ...]:
    """Return the pairs that are ordered differently: only of these are p-values needed."""
    x, y = one.merits, other.merits
    better, worse = np.nonzero((x[:, None] > x) & (y[:, None] < y))
    if not len(better):
        return ()
    found = []
    for ordering in one, other:
        p = ordering.p_values(better, worse, settings)
        found.append([None] * len(better) if p is None else p.tolist())
    rows = zip(better.tolist(), worse.tolist(), *found, strict=True)
    return tuple(Swapped(systems[i], systems[j], *p) for i, j, *p in rows)


def _taus(x: Floats, y: Floats, resamples: int, seed: int) -> Floats:
    """Return tau-b over resamples of the queries, of those in which it has a value."""
    n, m = x.shape
    left, right = np.triu_indices(m, 1)
    found = []
    for counts in resampled(n, resamples, seed, 2 * len(left)):
        in_x, in_y = (_order(product(counts, values) / n, left, right) for values in (x, y))
        possible = np.count_nonzero(in_x, axis=1) * np.count_nonzero(in_y, axis=1)
        has = possible > 0
        found.append((in_x * in_y).sum(axis=1)[has] / np.sqrt(possible[has]))
    return np.concatenate(found)


def _order(means: Floats, left: Ints, right: Ints) -> Floats:
    """Return which of two systems has the greater mean, 1, 0 or -1: (rows, n_pairs)."""
    means = rounded(means)
    found: Floats = np.sign(means.take(left, axis=1) - means.take(right, axis=1))
    return found


def _counted(n: int, one: str, several: str) -> str:
    return f"{n:,} {one if n == 1 else several}"


def _said(one: OrderingPair, swapped: Sequence[Swapped]) -> str:
    names = [f"{pair.better} above {pair.worse}" for pair in swapped[:_NAMED]]
    more = f" and {len(swapped) - _NAMED:,} more" if len(swapped) > _NAMED else ""
    return f"{one.reference} has {', '.join(names)}{more}, {one.other} below"
