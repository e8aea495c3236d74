"""Discrimination: how many pairs of systems a measure distinguishes, and how often halves disagree.

Gives `DiscriminativePower` and `SwapRate` to users, and `Discrimination`, both of them for several
orderings, to `correlate`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Unpack

import numpy as np

from cranfield.arrays.products import matrix_product
from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.corrections import holm
from cranfield.comparison.flips import Flips
from cranfield.comparison.settings import Alignment
from cranfield.data.judging import Judging
from cranfield.extensions import keywords
from cranfield.extensions.orderings.coefficients import round_scores
from cranfield.extensions.orderings.options import (
    BINS,
    CorrelationSettings,
    SignFlips,
    SwapSettings,
)
from cranfield.extensions.orderings.ordering import Ordering, describe_flips, make_orderings
from cranfield.extensions.whatif.variants import split_variants
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress, watch_slices
from cranfield.render.numbers import format_number, format_query_count
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike

_MIN_DIFFERENCES = 100  # differences of a size: of fewer, `Discrimination` shows no swap rate


@dataclass(frozen=True, repr=False)
class DiscriminativePower(Shown):
    """How many pairs of systems an ordering finds significantly different.

    Those for which the two-sided sign-flip test has a p-value of at most alpha; `holm` counts
    those that are left when p-values are corrected for all pairs of this ordering. Where `needed`
    is not None, too few flips were drawn for the correction to leave any: so many would do.

    >>> DiscriminativePower(pairs=10, significant=4, holm=3, needed=None).share
    0.4
    """

    header = ("pairs", "significant", "holm", "needed", "share", "share_holm")
    notes = ()

    pairs: int
    significant: int
    holm: int
    needed: int | None

    @property
    def share(self) -> float | None:
        """Significant pairs of all; None if there is no pair."""
        return self.significant / self.pairs if self.pairs else None

    @property
    def share_holm(self) -> float | None:
        """Pairs that are significant after correction, of all."""
        return self.holm / self.pairs if self.pairs else None

    def tables(self) -> list[Table]:
        """Return the counts and shares of pairs as a table."""
        counts = [f"{n:,}" for n in (self.pairs, self.significant, self.holm)]
        header = ["pairs", "significant", "Holm", "share", "Holm"]
        cells = [*counts, format_number(self.share), format_number(self.share_holm)]
        sentences = [f"{line[0].upper()}{line[1:]}" for line in self.too_few]
        return [Table(header, [cells], sentences, 0)]

    @property
    def too_few(self) -> list[str]:
        """What to say of the flips, if they are too few for the correction."""
        if self.needed is None:
            return []
        return [f"too few flips for Holm's correction to leave any; it takes {self.needed:,}."]


@dataclass(frozen=True, repr=False)
class SwapRate(Shown):
    """How often two halves of the queries order two systems differently.

    `seen` and `swapped` count pairs of systems over all splits, for each bin of the absolute
    difference of the means on the first half: below `bins[0]`, from there to below `bins[1]`, and
    so on, the last one open.

    >>> SwapRate(queries=25, bins=(0.01,), seen=(30, 70), swapped=(12, 3)).rates
    (0.4, 0.04285714285714286)
    """

    header = ("from", "seen", "swapped", "rate")
    notes = ()

    queries: int  # in each half
    bins: tuple[float, ...]
    seen: tuple[int, ...]
    swapped: tuple[int, ...]

    @property
    def rate(self) -> float | None:
        """The share of swapped pairs over all differences; None if none was seen."""
        return sum(self.swapped) / sum(self.seen) if sum(self.seen) else None

    @property
    def rates(self) -> tuple[float | None, ...]:
        """The share of swapped pairs in each bin; None where no difference fell."""
        pairs = zip(self.swapped, self.seen, strict=True)
        return tuple(n_swapped / n_seen if n_seen else None for n_swapped, n_seen in pairs)

    def tables(self) -> list[Table]:
        """Return a table with a row for each bin of the difference, and one for all."""
        bin_rows = [*self._size_bins(), ("all", sum(self.seen), sum(self.swapped), self.rate)]
        rows = [
            [str(begin), f"{n_seen:,}", f"{n_swapped:,}", format_number(rate)]
            for begin, n_seen, n_swapped, rate in bin_rows
        ]
        note = f"Two halves of {format_query_count(self.queries)} each; from: the least difference."
        header = ["from", "pairs seen", "swapped", "rate"]
        return [Table(header, rows, [note], ruled_rows=frozenset({len(rows) - 1}))]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each bin of the difference on the first half, named by its least."""
        return self._rows_as_dicts(self._size_bins())

    def _size_bins(self) -> Iterable[tuple[float, int, int, float | None]]:
        return zip((0.0, *self.bins), self.seen, self.swapped, self.rates, strict=True)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "rate": self.rate, "rates": self.rates}


@add_progress
@takes(SignFlips, Alignment, Reading, Judging, Watching, omit=("queries",))
def discriminative_power(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    **options: "Unpack[keywords.DiscriminativePower]",
) -> dict[str, DiscriminativePower]:
    """Return, for each measure, how many pairs differ significantly (Sakai, SIGIR 2006).

    The same test, with the same flips, for each; the family that is corrected is all pairs of one
    measure. With one query, no pair differs significantly.

    Args:
        qrels: judgments or scores, as `correlate` takes them.
        runs: several runs, as `correlate` takes them.
        measures: as `correlate` takes them.
        **options: each option of `SignFlips`, `Alignment`, `Reading` and `Judging`.

    >>> old = {f"q{i}": 0.1 for i in range(6)}
    >>> new = {f"q{i}": 0.1 + 0.01 * i for i in range(6)}
    >>> discriminative_power({"old": old, "new": new})["score"].share  # 4 of 64 flips are as large
    0.0

    """
    refuse_unknown_options(discriminative_power, options)
    settings = SignFlips.of(options)
    _, orderings, _ = make_orderings(qrels, runs, measures, options)
    return {ordering.label: measure_power(ordering, settings) for ordering in orderings}


@add_progress
@takes(SwapSettings, Alignment, Reading, Judging, Watching, omit=("queries",))
def swap_rate(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    **options: "Unpack[keywords.SwapRate]",
) -> dict[str, SwapRate]:
    """Return, for each measure, how often two halves of the queries order two systems differently.

    Queries are split by chance into two halves, again and again; of an odd number, one is left
    out. A pair is swapped where the mean differences on the halves have opposite signs (Voorhees &
    Buckley, SIGIR 2002). Differences are those of values of queries, or of their logarithms where a
    mean is geometric.

    Args:
        qrels: judgments or scores, as `correlate` takes them.
        runs: several runs, as `correlate` takes them.
        measures: as `correlate` takes them.
        **options: each option of `SwapSettings`, `Alignment`, `Reading` and `Judging`.

    >>> old = {f"q{i}": 0.1 for i in range(6)}
    >>> new = {f"q{i}": 0.1 + 0.01 * i for i in range(6)}
    >>> swap_rate({"old": old, "new": new})["score"].rate
    0.0

    """
    refuse_unknown_options(swap_rate, options)
    settings = SwapSettings.of(options)
    _, orderings, _ = make_orderings(qrels, runs, measures, options)
    return {ordering.label: measure_swaps(ordering, settings) for ordering in orderings}


def measure_power(ordering: Ordering, settings: SignFlips) -> DiscriminativePower:
    """Return the discriminative power of one ordering."""
    first, second = np.triu_indices(len(ordering.scores), 1)
    n_pairs = len(first)
    p = ordering.p_values(first, second, settings) if n_pairs else None
    if p is None:
        return DiscriminativePower(n_pairs, 0, 0, None)
    alpha = settings.alpha
    n_needed = (
        int(np.ceil(n_pairs / alpha)) - 1
    )  # flips; the least p is then alpha / n_pairs, or less
    n_significant, n_holm = (int(np.count_nonzero(p_column <= alpha)) for p_column in (p, holm(p)))
    exact = Flips(len(ordering.query_ids)).is_exact
    can_show = exact or n_needed <= settings.flips or n_holm > 0
    return DiscriminativePower(n_pairs, n_significant, n_holm, None if can_show else n_needed)


def measure_swaps(ordering: Ordering, settings: SwapSettings) -> SwapRate:
    """Return the swap rate of one ordering."""
    n_queries, splits, bins = len(ordering.query_ids), settings.splits, tuple(settings.bins)
    first, second = np.triu_indices(len(ordering.scores), 1)
    half = n_queries // 2
    n_seen, n_swapped = np.zeros((2, len(bins) + 1), np.int64)
    generator = np.random.Generator(np.random.PCG64(settings.seed))
    blocks = split_variants(splits if half else 0, max(n_queries, len(first)))
    for block in watch_slices(blocks, "splits", splits):
        rows = np.tile(np.arange(n_queries), (block.stop - block.start, 1))
        order = generator.permuted(rows, axis=1)
        differences = []  # of the pairs of systems, on each half: (splits, n_pairs)
        for queries in order[:, :half], order[:, half : 2 * half]:
            sums = matrix_product(_membership(queries, n_queries), ordering.query_merits)
            means = round_scores(sums / half)
            differences.append(round_scores(means[:, first] - means[:, second]))
        difference, other_difference = differences
        bin_number = np.searchsorted(bins, np.abs(difference).ravel(), side="right")
        is_swapped = (difference * other_difference < 0).ravel()
        n_seen += np.bincount(bin_number, minlength=len(n_seen))
        n_swapped += np.bincount(bin_number[is_swapped], minlength=len(n_seen))
    return SwapRate(half, bins, tuple(n_seen.tolist()), tuple(n_swapped.tolist()))


def _membership(queries: Ints, n: int) -> Floats:
    """Return 1 for each of n queries that a row of `queries` (rows, k) holds, else 0: (rows, n)."""
    members: Floats = np.zeros((len(queries), n))
    np.put_along_axis(members, queries, 1.0, axis=1)
    return members


@dataclass(frozen=True, eq=False)
class Discrimination:
    """Discriminative power and swap rate of several orderings, by label."""

    powers: Mapping[str, DiscriminativePower]
    swaps: Mapping[str, SwapRate]

    @classmethod
    def of(cls, orderings: Sequence[Ordering], settings: CorrelationSettings) -> "Discrimination":
        """Measure the power and the swap rate of each ordering."""
        halves = SwapSettings(splits=settings.splits, seed=settings.seed)
        return cls(
            {ordering.label: measure_power(ordering, settings) for ordering in orderings},
            {ordering.label: measure_swaps(ordering, halves) for ordering in orderings},
        )

    def make_table(self, orderings: Sequence[Ordering], settings: CorrelationSettings) -> Table:
        """Return a table with a row for each ordering."""
        rows = []
        for label, power in self.powers.items():
            swaps = self.swaps[label]
            bin_rates = [
                None if n_seen < _MIN_DIFFERENCES else rate
                for n_seen, rate in zip(swaps.seen, swaps.rates, strict=True)
            ]
            shares = [power.share, power.share_holm, swaps.rate, *bin_rates]
            rows.append([label, *map(format_number, shares)])
        edges = [f"{edge:g}" for edge in BINS]
        bin_headings = [f"<{edges[0]}", *(f"{a}-{b}" for a, b in pairwise(edges)), f">={edges[-1]}"]
        bin_headings = [f"swaps {heading}" for heading in bin_headings]
        half_sizes = sorted({swap_rate.queries for swap_rate in self.swaps.values()})
        n_pairs = max(power.pairs for power in self.powers.values())
        notes = [
            f"power: discriminative power, the share of the {n_pairs:,} pairs of systems with "
            f"p <= {settings.alpha:g}.",
            f"Holm: the same after Holm's correction for the {n_pairs:,} pairs of one ordering.",
            "swap rate: how often two halves of the queries "
            f"({' or '.join(f'{n:,}' for n in half_sizes)} each), drawn by chance, order two "
            "systems differently.",
            "swaps: the same where the difference on the first half was of this size ('-': fewer "
            f"than {_MIN_DIFFERENCES} were).",
        ]
        for label, power in self.powers.items():
            notes += [f"{label}: {line}" for line in power.too_few]
        title = (
            "What each can tell   two-sided sign-flip test, "
            f"{describe_flips(orderings, settings.flips)}; {settings.splits:,} splits; "
            f"seed {settings.seed}"
        )
        header = ["ordering", "power", "Holm", "swap rate", *bin_headings]
        return Table(header, rows, notes, title=[title])

    def values(self, label: str) -> Iterator[tuple[str, float | None]]:
        """Yield the name and the number of each quantity of the ordering with this label."""
        power, swaps = self.powers[label], self.swaps[label]
        yield "discriminative_power", power.share
        yield "discriminative_power_holm", power.share_holm
        yield "swap_rate", swaps.rate
        for row in swaps.rows():
            yield f"swap_rate_from_{row['from']:g}", row["rate"]
