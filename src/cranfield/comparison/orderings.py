"""How alike several measures, or several judgments, order the same systems; what a measure tells.

The same systems, ordered by two measures, or by one measure under two judgments: `correlate` says
how alike the two orderings are, how sure that is, and how many pairs of systems the two order
differently although each is sure of its own. `discriminative_power` and `swap_rate` say of each
measure how often it can tell two systems apart, and how often it would change its mind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from os import PathLike
from typing import Any

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
from cranfield.comparison.corrections import holm
from cranfield.comparison.flips import FLIPS, SEED, Flips, Paired, sign_flip
from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.evaluation import MeasuresLike, evaluate
from cranfield.measures import Measure, parse
from cranfield.pairs import RBO, rbo
from cranfield.qrels import Qrels, QrelsLike
from cranfield.ranked import Bools, Floats, Ints, floored_log
from cranfield.render import Table, text, to_html
from cranfield.scores import Systems
from cranfield.version import __version__

DEFAULT_MEASURES = "nDCG@10 AP"
RESAMPLES = 1_000
SPLITS = 1_000
BINS = (0.01, 0.02, 0.05, 0.1, 0.2)
_CELLS = 1_000_000  # of a matrix at once
_NAMED = 5  # pairs of systems that the notes of a table name

SystemsLike = Systems | Mapping[str, Systems]


@dataclass(frozen=True, eq=False)
class Ordering:
    """Several systems by what they scored under one measure and one set of judgments.

    `scores` (n_systems,) are the values over all queries. `values` (n_queries, n_systems) are
    turned where less is better, and logarithms where the mean is geometric, so that the system
    with the greatest mean is the best.
    """

    label: str
    source: str  # which of several judgments; "" if there is one only
    measure: Measure
    query_ids: Sequence[str]
    scores: Floats
    values: Floats
    recipe: Mapping[str, Any]

    @cached_property
    def merits(self) -> Floats:
        """The scores, rounded, and turned where less is better: (n_systems,)."""
        sign = 1 if self.measure.definition.higher_is_better else -1
        return rounded(self.scores * sign)

    def p_values(self, left: Ints, right: Ints, flips: int, seed: int) -> Floats | None:
        """Return the sign-flip test's p-value of some pairs of systems; None for one query."""
        if len(self.query_ids) < 2:
            return None
        drawn = Flips(len(self.query_ids), flips, seed)
        return sign_flip(Paired(self.values, left, right), drawn)


@dataclass(frozen=True)
class Swapped:
    """Two systems that two orderings order differently, and each ordering's p-value for them.

    The reference takes `better` to be the better one. With one query there are no p-values.
    """

    better: str
    worse: str
    p_reference: float | None
    p_other: float | None

    def significant(self, alpha: float) -> bool:
        """Tell whether both orderings are sure, and say the opposite."""
        found = self.p_reference, self.p_other
        return all(p is not None and p <= alpha for p in found)


@dataclass(frozen=True)
class OrderingPair:
    """How alike two orderings are, of which the first is the reference.

    `tau_ap` is None where there are ties, `tau_ap_a` where the reference has some. `interval` is
    that of tau-b, over `defined` resamples of the queries in which it has a value.
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
    interval: tuple[float, float] | None
    defined: int
    same_queries: bool
    swapped: tuple[Swapped, ...]

    @property
    def label(self) -> str:
        """Both orderings' labels."""
        return f"{self.reference} ~ {self.other}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        counted = self.kendall
        return {
            "reference": self.reference,
            "other": self.other,
            "tau_b": counted.tau_b,
            "tau_b_interval": None if self.interval is None else list(self.interval),
            "resamples_with_a_value": self.defined,
            "tau_a": counted.tau_a,
            "concordant": counted.concordant,
            "discordant": counted.discordant,
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
            "swapped": [vars(one) for one in self.swapped],
        }


@dataclass(frozen=True)
class DiscriminativePower:
    """How many pairs of systems an ordering tells apart (Sakai, SIGIR 2006).

    Those of which the two-sided sign-flip test has a p-value of at most alpha; `holm` counts those
    that are left when p-values are corrected for all pairs of this ordering.
    """

    pairs: int
    significant: int
    holm: int
    needed: int | None  # flips without which the correction could leave none; None: were enough

    @property
    def share(self) -> float | None:
        """Significant pairs of all."""
        return self.significant / self.pairs if self.pairs else None

    @property
    def share_holm(self) -> float | None:
        """Pairs that are significant after correction, of all."""
        return self.holm / self.pairs if self.pairs else None


@dataclass(frozen=True)
class SwapRate:
    """How often two halves of the queries order two systems differently.

    `seen` and `swapped` count pairs of systems over all splits, for each bin of the absolute
    difference of the means on the first half: below `bins[0]`, from there to below `bins[1]`, and
    so on, the last one open.
    """

    queries: int  # in each half
    bins: tuple[float, ...]
    seen: tuple[int, ...]
    swapped: tuple[int, ...]

    @property
    def rate(self) -> float | None:
        """The share over all differences."""
        return sum(self.swapped) / sum(self.seen) if sum(self.seen) else None

    @property
    def rates(self) -> tuple[float | None, ...]:
        """The share in each bin; None where no difference fell."""
        pairs = zip(self.swapped, self.seen, strict=True)
        return tuple(swapped / seen if seen else None for swapped, seen in pairs)

    @property
    def labels(self) -> list[str]:
        """What each bin holds."""
        ends = [f"{end:g}" for end in self.bins]
        return [f"< {ends[0]}", *(f"{a}-{b}" for a, b in zip(ends, ends[1:], strict=False)),
                f">= {ends[-1]}"]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Correlation:
    """How alike several orderings of the same systems are, pair by pair.

    >>> runs = ["demo/bm25.run", "demo/tfidf.run", "demo/dense.run", "demo/fusion.run"]
    >>> found = correlate("demo/qrels.txt", runs, "nDCG@10 AP")
    >>> found.pairs[0].kendall.tau_b
    1.0
    """

    systems: tuple[str, ...]
    orderings: tuple[Ordering, ...]
    pairs: tuple[OrderingPair, ...]
    alpha: float
    flips: int
    resamples: int
    seed: int
    p: float  # of RBO
    powers: Mapping[str, DiscriminativePower] | None = None
    swap_rates: Mapping[str, SwapRate] | None = None
    splits: int = SPLITS

    def table(self) -> Table:
        """Return a row for each two orderings."""
        rows = []
        for one in self.pairs:
            counted = one.kendall
            ends = one.interval
            sure = sum(pair.significant(self.alpha) for pair in one.swapped)
            tested = all(pair.p_reference is not None for pair in one.swapped)
            rows.append([
                one.label,
                _shown(counted.tau_b),
                "-" if ends is None else f"[{ends[0]:.4f}, {ends[1]:.4f}]",
                _shown(counted.tau_a),
                f"{counted.concordant:,}",
                f"{counted.discordant:,}",
                f"{counted.ties_x + counted.ties_y + counted.ties_both:,}",
                f"{sure:,}" if tested else "-",
                _shown(one.tau_ap_a),
                _shown(one.tau_ap_b),
                _shown(one.weighted_tau),
                _shown(one.spearman),
                f"{one.rbo.ext:.4f}",
                f"[{one.rbo.min:.4f}, {one.rbo.max:.4f}]",
            ])  # fmt: skip
        header = ["reference ~ other", "tau-b", f"{_percent(1 - self.alpha)} interval", "tau-a"]
        header += ["same", "swapped", "tied", "swapped, both sure", "tau-AP", "tau-AP,b"]
        header += ["weighted tau", "rho", "RBO", "RBO from, to"]
        return Table(header, rows, self.notes(), title=self.title())

    def title(self) -> list[str]:
        """Return what was compared, and how."""
        queries = sorted({len(one.query_ids) for one in self.orderings})
        count = _counted(queries[0], "query", "queries")
        if len(queries) > 1:
            count = f"{queries[0]:,} to {_counted(queries[-1], 'query', 'queries')}"
        measures = {str(one.measure): None for one in self.orderings}
        by = "" if len(measures) > 1 else f"   {next(iter(measures))}"
        return [
            f"{_counted(len(self.systems), 'system')} in {len(self.orderings):,} orderings   "
            f"{count}{by}",
            f"{self.resamples:,} resamples of the queries; two-sided sign-flip test, "
            f"{_flips(self.orderings, self.flips)}; alpha {self.alpha:g}, uncorrected; "
            f"seed {self.seed}",
        ]

    def notes(self) -> list[str]:
        """Return what each column is, and which systems are ordered differently."""
        notes = [
            "tau-b: Kendall's tau, 1 for the same order, -1 for the reverse, 0 for what chance "
            "gives; ties are taken out of what is possible.",
            f"{_percent(1 - self.alpha)} interval: of tau-b, over resamples of the queries "
            "(percentiles); both orderings from the same ones.",
            "tau-a: (same - swapped) / all pairs of systems; same, swapped, tied: how many pairs "
            "both order alike, order differently, or at least one ties.",
            f"swapped, both sure: of the swapped pairs, those for which both orderings have "
            f"p <= {self.alpha:g}, in opposite directions. These matter; the others may be chance.",
            "tau-AP: as tau-a, but the top counts most; the reference is the truth, and ties of "
            "the other are averaged over all their orders ('-': the reference has ties). "
            "tau-AP,b: the same in both directions, with ties as what the data say.",
            "weighted tau: pairs count by 1/rank of their systems; rho: Spearman's, of the ranks.",
            f"RBO: rank-biased overlap of the orderings, p = {self.p:g}; from, to: what it can be "
            "if more systems were to follow.",
        ]
        if any(None in vars(one.kendall).values() or one.kendall.tau_b is None or
               one.interval is None for one in self.pairs):  # fmt: skip
            notes.append("-: has no value: one system, all tied, or one query.")
        for one in self.pairs:
            notes += self._said_of(one)
        return notes

    def _said_of(self, one: OrderingPair) -> list[str]:
        said = []
        if not one.same_queries:
            said.append("no interval, as the two are not of the same queries")
        elif 0 < one.defined < self.resamples:
            said.append(f"in {self.resamples - one.defined:,} resamples tau-b had no value")
        sure = [pair for pair in one.swapped if pair.significant(self.alpha)]
        if sure:
            names = [f"{pair.better} over {pair.worse}" for pair in sure[:_NAMED]]
            more = f", and {len(sure) - _NAMED:,} more" if len(sure) > _NAMED else ""
            said.append(
                f"{one.reference} puts {', '.join(names)}{more}; {one.other} the other way round, "
                "and both are sure"
            )
        unsure = [pair for pair in one.swapped if not pair.significant(self.alpha)]
        if unsure:
            names = [f"{pair.better} over {pair.worse}" for pair in unsure[:_NAMED]]
            more = f", and {len(unsure) - _NAMED:,} more" if len(unsure) > _NAMED else ""
            said.append(
                f"{one.reference} puts {', '.join(names)}{more}; {one.other} the other way round, "
                "and not both are sure"
            )
        return [f"{one.label}: {line}." for line in said]

    def discrimination_table(self) -> Table | None:
        """Return discriminative power and swap rate, a row for each ordering, if asked for."""
        if self.powers is None or self.swap_rates is None:
            return None
        bins = next(iter(self.swap_rates.values())).labels
        rows = []
        for label, power in self.powers.items():
            swaps = self.swap_rates[label]
            shares = [power.share, power.share_holm, swaps.rate, *swaps.rates]
            rows.append([label, *map(_shown, shares)])
        halves = sorted({swaps.queries for swaps in self.swap_rates.values()})
        half = " or ".join(f"{n:,}" for n in halves)
        n_pairs = max(power.pairs for power in self.powers.values())
        notes = [
            f"told apart: the share of the {n_pairs:,} pairs of systems with p <= {self.alpha:g} "
            f"(discriminative power); Holm: after Holm's correction for all {n_pairs:,}, for each "
            "ordering.",
            "swap rate: how often two halves of the queries, drawn by chance, order two systems "
            f"differently ({half} queries each); then by the absolute difference on the first "
            "half ('-': there was none as large).",
        ]
        notes += [
            f"{label}: Holm's correction needs {power.needed:,} flips to leave any, and "
            f"{self.flips:,} were drawn."
            for label, power in self.powers.items()
            if power.needed is not None
        ]
        return Table(
            ["ordering", "told apart", "Holm", "swap rate", *bins],
            rows,
            notes,
            title=[
                f"two-sided sign-flip test, {_flips(self.orderings, self.flips)}; "
                f"{self.splits:,} splits; seed {self.seed}"
            ],
        )

    def __str__(self) -> str:
        return "\n".join(text(table) for table in self._tables())

    def _repr_html_(self) -> str:
        return "".join(map(to_html, self._tables()))

    def _tables(self) -> list[Table]:
        return [table for table in (self.table(), self.discrimination_table()) if table is not None]

    def __repr__(self) -> str:
        shown = ", ".join(f"{one.label}: {_shown(one.kendall.tau_b)}" for one in self.pairs)
        return f"Correlation({len(self.systems):,} systems, tau-b {shown})"

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
                "rbo_p": self.p,
            },
            "systems": list(self.systems),
            "orderings": [
                {
                    "label": one.label,
                    "measure": str(one.measure),
                    "higher_is_better": one.measure.definition.higher_is_better,
                    "scores": dict(zip(self.systems, one.scores.tolist(), strict=True)),
                    "query_ids": list(one.query_ids),
                    "recipe": {key: value for key, value in one.recipe.items() if key != "run"},
                }
                for one in self.orderings
            ],
            "pairs": [one.to_dict() for one in self.pairs],
        }
        if self.powers is not None and self.swap_rates is not None:
            found["settings"]["splits"] = self.splits
            found["discriminative_power"] = {
                label: {**vars(one), "share": one.share, "share_holm": one.share_holm}
                for label, one in self.powers.items()
            }
            found["swap_rate"] = {
                label: {
                    "queries_in_each_half": one.queries,
                    "rate": one.rate,
                    "bins": list(one.bins),
                    "seen": list(one.seen),
                    "swapped": list(one.swapped),
                    "rates": list(one.rates),
                }
                for label, one in self.swap_rates.items()
            }
        return found


def correlate(
    scores: SystemsLike | QrelsLike | Mapping[str, QrelsLike],
    runs: Any = None,
    measures: MeasuresLike = DEFAULT_MEASURES,
    *,
    reference: str | None = None,
    alpha: float = 0.05,
    flips: int = FLIPS,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    p: float = 0.9,
    discrimination: bool = False,
    splits: int = SPLITS,
) -> Correlation:
    """Say how alike several measures, or several judgments, order the same systems.

    Args:
        scores: Systems, as `evaluate` gives them, with two or more measures; or `{label: Systems}`
            of the same systems, as under several judgments. With several measures for each label,
            a measure is compared with itself. Or judgments, if `runs` is given: whatever
            `evaluate` takes, or `{label: Qrels or path}` for several.
        runs: several runs, as `evaluate` takes them, to be evaluated here by `measures`.
        measures: names or Measure values; only with `runs`.
        reference: the ordering, or the label of the judgments, with which each other one is
            compared. None: every two are compared, and the earlier is the reference.
        alpha: the level of the tests; intervals are of 1 - alpha.
        flips: how many sign flips are drawn where there are more than 20 queries.
        resamples: how many resamples of the queries the interval of tau-b is made of.
        seed: of flips, resamples and splits.
        p: of RBO, between 0 and 1: the greater, the deeper it looks.
        discrimination: add discriminative power and swap rate of each ordering.
        splits: how many halvings of the queries the swap rate is made of.

    Measures of which less is better are turned: the first of an ordering is always the best.

    Raises:
        InputError: fewer than two orderings, other systems, or a score that is no number.
        MeasureError: a measure whose value is a text.
        OptionError: an option out of its range, or a reference that is not there.

    >>> from cranfield import evaluate
    >>> qrels = {"q1": {"d1": 1, "d2": 1}, "q2": {"d3": 1}}
    >>> runs = {"a": {"q1": ["d1", "x", "d2"], "q2": ["d3"]}, "b": {"q1": ["d1", "d2"]}}
    >>> correlate(evaluate(qrels, runs, "RR P@2")).pairs[0].kendall.tau_b
    >>> correlate(evaluate(qrels, runs, "RR P@1")).pairs[0].kendall.tau_b
    1.0

    """
    _check_level(alpha)
    _check_counts(flips=flips, resamples=resamples, splits=splits, seed=seed + 1)
    found = scores if runs is None else _evaluated(scores, runs, measures)
    systems, orderings = _orderings(found)
    if len(orderings) < 2:
        raise InputError(
            f"there is one ordering only, by {orderings[0].label}, and nothing to compare it with",
            hint="name two measures or more, or give several judgments",
        )
    pairs = tuple(
        _pair(systems, one, other, alpha, flips, resamples, seed, p)
        for one, other in _compared(orderings, reference)
    )
    powers = swap_rates = None
    if discrimination:
        powers = {one.label: _power(one, alpha, flips, seed) for one in orderings}
        swap_rates = {one.label: _swaps(one, splits, seed, BINS) for one in orderings}
    return Correlation(
        systems, orderings, pairs, alpha, flips, resamples, seed, p, powers, swap_rates, splits
    )


def discriminative_power(
    scores: SystemsLike, *, alpha: float = 0.05, flips: int = FLIPS, seed: int = SEED
) -> dict[str, DiscriminativePower]:
    """Return, for each measure, how many pairs of systems it tells apart.

    The same test, with the same flips, for each; its family is all pairs of one measure. `scores`
    is as `correlate` takes it. With one query, no pair is told apart.

    >>> from cranfield import evaluate
    >>> qrels = {f"q{i}": {"d": 1} for i in range(6)}
    >>> runs = {"a": {q: ["d"] for q in qrels}, "b": {q: ["x", "d"] for q in qrels}}
    >>> found = discriminative_power(evaluate(qrels, runs, "RR P@2"))
    >>> found["RR"].share, found["P@2"].share  # two of 64 flips are as large
    (1.0, 0.0)
    """
    _check_level(alpha)
    _check_counts(flips=flips, seed=seed + 1)
    return {one.label: _power(one, alpha, flips, seed) for one in _orderings(scores)[1]}


def swap_rate(
    scores: SystemsLike,
    *,
    splits: int = SPLITS,
    seed: int = SEED,
    bins: Sequence[float] = BINS,
) -> dict[str, SwapRate]:
    """Return, for each measure, how often two halves of the queries order two systems differently.

    Queries are split by chance into two halves, again and again; of an odd number, one is left
    out. A pair is swapped where the mean differences on the halves have opposite signs (Voorhees &
    Buckley, SIGIR 2002). `scores` is as `correlate` takes it; differences are those of `Ordering`'s
    values, so of logarithms where a mean is geometric.

    >>> from cranfield import evaluate
    >>> qrels = {f"q{i}": {"d": 1} for i in range(6)}
    >>> runs = {"a": {q: ["d"] for q in qrels}, "b": {q: ["x", "d"] for q in qrels}}
    >>> swap_rate(evaluate(qrels, runs, "RR"))["RR"].rate
    0.0
    """
    _check_counts(splits=splits, seed=seed + 1)
    ends = tuple(float(end) for end in bins)
    if not ends or list(ends) != sorted(set(ends)) or not ends[0] > 0:
        raise OptionError(f"bins={bins!r:.60}: expected rising numbers above 0")
    return {one.label: _swaps(one, splits, seed, ends) for one in _orderings(scores)[1]}


# ---- what is compared -----------------------------------------------------------------------


def _evaluated(qrels: Any, runs: Any, measures: MeasuresLike) -> SystemsLike:
    if not (
        isinstance(qrels, Mapping)
        and qrels
        and all(isinstance(one, Qrels | str | PathLike) for one in qrels.values())
    ):
        return _several(evaluate(qrels, runs, measures))
    return {str(name): _several(evaluate(one, runs, measures)) for name, one in qrels.items()}


def _several(found: Any) -> Systems:
    return found if isinstance(found, Systems) else Systems([found])


def _orderings(scores: Any) -> tuple[tuple[str, ...], tuple[Ordering, ...]]:
    """Return the systems' names, and their scores in the order of these."""
    if isinstance(scores, Systems):
        scores = {"": scores}
    if (
        not isinstance(scores, Mapping)
        or not scores
        or not all(isinstance(one, Systems) for one in scores.values())
    ):
        raise InputError(
            f"expected Systems or {{label: Systems}}, got {type(scores).__name__}",
            hint="evaluate(qrels, [run, run], measures) returns Systems; judgments need runs, too",
        )
    names = tuple(next(iter(scores.values())))
    first = next(iter(scores))
    found = []
    for source, systems in scores.items():
        if set(systems) != set(names):
            odd = sorted(set(systems) ^ set(names))[0]
            here, there = (source, first) if odd in systems else (first, source)
            raise InputError(
                f"the system {odd!r} is among those of {here!r} and not among those of {there!r}; "
                "orderings are to be of the same systems"
            )
        for measure in systems.measures:
            label = str(measure)
            if len(scores) > 1:
                label = f"{source}: {label}" if len(systems.measures) > 1 else str(source)
            found.append(_ordering(label, str(source), measure, names, systems))
    return names, tuple(found)


def _ordering(
    label: str, source: str, measure: Measure, names: Sequence[str], systems: Systems
) -> Ordering:
    definition = measure.definition
    if definition.is_text:
        raise MeasureError(f"{measure} is a text for each query, and orders no systems")
    every = [systems[name] for name in names]
    query_ids = list(every[0].query_ids)
    for one in every:
        if list(one.query_ids) != query_ids:
            raise InputError(
                f"{one.name} has scores of {len(one.query_ids):,} queries, {every[0].name} of "
                f"{len(query_ids):,}, not all the same; systems are ordered over the same queries",
                hint="evaluate with queries='judged', the default",
            )
    values = np.array([one.columns[str(measure)][1] for one in every], np.float64).T
    if not np.isfinite(values).all():
        query, system = map(int, np.argwhere(~np.isfinite(values))[0])
        raise InputError(
            f"{names[system]}: {measure} of query {query_ids[query]} is {values[query, system]}, "
            "and no number to order by"
        )
    if definition.aggregation == "geometric":
        values = np.array([floored_log(column) for column in values.T]).T
    if not definition.higher_is_better:
        values = -values
    totals = np.array([one[measure] for one in every])
    return Ordering(label, source, measure, query_ids, totals, values, every[0].recipe)


def _compared(
    orderings: Sequence[Ordering], reference: str | None
) -> list[tuple[Ordering, Ordering]]:
    measures: dict[str, set[Measure]] = {}
    for one in orderings:
        measures.setdefault(one.source, set()).add(one.measure)
    each = list(measures.values())
    crossed = len(each) > 1 and len(each[0]) > 1 and all(some == each[0] for some in each)

    def comparable(one: Ordering, other: Ordering) -> bool:
        return not crossed or one.measure == other.measure

    if reference is None:
        return [pair for pair in combinations(orderings, 2) if comparable(*pair)]
    chosen = [one for one in orderings if reference in (one.label, one.source)]
    if not chosen:
        chosen = [one for one in orderings if one.label == _parsed(reference)]
    if not chosen:
        known = ", ".join(one.label for one in orderings)
        raise OptionError(f"reference={reference!r:.80} is not there; choose one of {known}")
    others = [one for one in orderings if one not in chosen]
    return [(one, other) for one in chosen for other in others if comparable(one, other)]


def _parsed(name: str) -> str:
    try:
        return str(parse(name))
    except MeasureError:
        return name


def _pair(
    systems: Sequence[str],
    one: Ordering,
    other: Ordering,
    alpha: float,
    flips: int,
    resamples: int,
    seed: int,
    p: float,
) -> OrderingPair:
    x, y = one.merits, other.merits
    tied_x, tied_y = (len(np.unique(merits)) < len(systems) for merits in (x, y))
    interval, defined = None, 0
    same_queries = one.query_ids == other.query_ids
    if same_queries and len(one.query_ids) > 1:
        taus = _resampled(one.values, other.values, resamples, seed)
        defined = len(taus)
        if defined:
            low, high = (np.quantile(taus, [alpha / 2, 1 - alpha / 2]) + 0.0).tolist()
            interval = low, high
    listed = [dict(zip(systems, merits.tolist(), strict=True)) for merits in (x, y)]
    return OrderingPair(
        one.label,
        other.label,
        kendall(x, y),
        None if tied_x or tied_y else tau_ap(x, y),
        None if tied_x else tau_ap_a(x, y),
        tau_ap_b(x, y),
        weighted_tau(x, y),
        spearman(x, y),
        rbo(*listed, p=p),
        interval,
        defined,
        same_queries,
        _swapped(systems, one, other, flips, seed),
    )


# ---- what is found --------------------------------------------------------------------------


def _swapped(
    systems: Sequence[str], one: Ordering, other: Ordering, flips: int, seed: int
) -> tuple[Swapped, ...]:
    """Return the pairs that are ordered differently: only of these are p-values needed."""
    x, y = one.merits, other.merits
    better, worse = np.nonzero((x[:, None] > x) & (y[:, None] < y))
    if not len(better):
        return ()
    unknown: list[float | None] = [None] * len(better)
    found = []
    for ordering in one, other:
        p = ordering.p_values(better, worse, flips, seed)
        found.append(unknown if p is None else p.tolist())
    rows = zip(better.tolist(), worse.tolist(), *found, strict=True)
    return tuple(Swapped(systems[i], systems[j], p, q) for i, j, p, q in rows)


def _resampled(x: Floats, y: Floats, resamples: int, seed: int) -> Floats:
    """Return tau-b over resamples of the queries, of those in which it has a value."""
    n, m = x.shape
    left, right = np.triu_indices(m, 1)
    chance = np.random.Generator(np.random.PCG64(seed))
    step = max(1, _CELLS // max(n, len(left)))
    found = []
    for begin in range(0, resamples, step):
        rows = min(step, resamples - begin)
        drawn = chance.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
        in_x, in_y = (_order(counts @ values / n, left, right) for values in (x, y))
        own = np.count_nonzero(in_x, axis=1) * np.count_nonzero(in_y, axis=1)
        has = own > 0
        found.append((in_x * in_y).sum(axis=1)[has] / np.sqrt(own[has]))
    return np.concatenate(found)


def _order(means: Floats, left: Ints, right: Ints) -> Floats:
    """Return which of two systems has the greater mean, 1, 0 or -1: (rows, n_pairs)."""
    means = rounded(means)
    return np.sign(means.take(left, axis=1) - means.take(right, axis=1))


def _power(one: Ordering, alpha: float, flips: int, seed: int) -> DiscriminativePower:
    left, right = np.triu_indices(one.values.shape[1], 1)
    p = one.p_values(left, right, flips, seed) if len(left) else None
    if p is None:
        return DiscriminativePower(len(left), 0, 0, None)
    drawn = Flips(len(one.query_ids), flips, seed)
    needed = int(np.ceil(len(left) / alpha)) - 1
    return DiscriminativePower(
        len(left),
        int(np.count_nonzero(p <= alpha)),
        int(np.count_nonzero(holm(p) <= alpha)),
        needed if not drawn.exact and needed > flips else None,
    )


def _swaps(one: Ordering, splits: int, seed: int, bins: tuple[float, ...]) -> SwapRate:
    n, m = one.values.shape
    left, right = np.triu_indices(m, 1)
    half = n // 2
    seen, swapped = np.zeros((2, len(bins) + 1), np.int64)
    chance = np.random.Generator(np.random.PCG64(seed))
    step = max(1, _CELLS // max(n, len(left), 1))
    for begin in range(0, splits if half else 0, step):
        rows = min(step, splits - begin)
        order = chance.permuted(np.tile(np.arange(n), (rows, 1)), axis=1)
        first, second = (
            _differences(_members(some, n) @ one.values / half, left, right)
            for some in (order[:, :half], order[:, half : 2 * half])
        )
        bin_of = np.searchsorted(bins, np.abs(first).ravel(), side="right")
        opposite = (first * second < 0).ravel()
        seen += np.bincount(bin_of, minlength=len(seen))
        swapped += np.bincount(bin_of[opposite], minlength=len(seen))
    return SwapRate(half, bins, tuple(seen.tolist()), tuple(swapped.tolist()))


def _members(queries: Ints, n: int) -> Floats:
    """Return which of n queries each row holds, 1 or 0: (rows, n)."""
    found: Floats = np.zeros((len(queries), n))
    np.put_along_axis(found, queries, 1.0, axis=1)
    return found


def _differences(means: Floats, left: Ints, right: Ints) -> Floats:
    return rounded(means.take(left, axis=1) - means.take(right, axis=1))


# ---- what is said ---------------------------------------------------------------------------


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 4) + 0.0:.4f}"


def _percent(share: float) -> str:
    return f"{100 * share:.6g}%"


def _counted(n: int, what: str, several: str | None = None) -> str:
    return f"{n:,} {what if n == 1 else several or what + 's'}"


def _flips(orderings: Sequence[Ordering], flips: int) -> str:
    exact = {Flips(len(one.query_ids)).exact for one in orderings}
    if exact == {True}:
        return "all flips"
    return f"{flips:,} flips" + (" (all for 20 queries or fewer)" if len(exact) > 1 else "")


def _check_level(alpha: float) -> None:
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha < 1:
        raise OptionError(f"alpha={alpha!r:.40}: expected a number between 0 and 1")


def _check_counts(**numbers: int) -> None:
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise OptionError(f"{name}={value!r:.40}: expected a whole number, 1 or more")
