"""Results over several collections: systems, and pairs of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.comparison.alignment import Aligned
from cranfield.comparison.result import Method, Outcome, Pairs, listed
from cranfield.comparison.scale import cut, range_of
from cranfield.extensions.collections.options import CollectionSettings
from cranfield.extensions.collections.strata import Strata, compare_on_others, compare_on_these


@dataclass(frozen=True)
class MacroPair:
    """One system compared with another over several collections. None: the value does not exist.

    `difference` is the mean of the collections' mean differences. `low` to `verdict` are about
    these collections; those that begin with `other_` about other collections like these.
    """

    system: str
    other: str
    mean: float  # macro averages
    other_mean: float
    difference: float
    micro: float  # the mean difference over all queries of all collections
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    p_t: float | None  # by Student's t, with any test
    error: float | None  # the standard error
    df: float | None  # degrees of freedom of t
    method: Method | None  # as of a Pair
    verdict: Outcome | None
    wins: int  # collections
    ties: int
    losses: int
    others_low: float | None
    others_high: float | None
    others_p: float | None
    others_p_adjusted: float | None
    others_p_t: float | None
    others_verdict: Outcome | None


@dataclass(frozen=True)
class MacroSystem:
    """One system's mean on each collection, and their mean."""

    name: str
    mean: float
    means: Mapping[str, float]  # by collection


@dataclass(frozen=True)
class MacroResult(Pairs[MacroPair]):
    """Systems compared under one measure over several collections."""

    measure: str  # of all collections, or their measures
    rising: bool  # whether higher is better
    systems: Sequence[MacroSystem]
    pairs: Sequence[MacroPair]

    @property
    def ordered(self) -> Sequence[MacroSystem]:
        """Return the systems, the best first."""
        return sorted(self.systems, key=lambda one: one.mean, reverse=self.rising)


def compare_averages(
    aligned: Mapping[str, Aligned],
    names: Sequence[str],
    settings: CollectionSettings,
    baseline: str | None,
    measure: str,
    columns: Sequence[str],
) -> MacroResult:
    """Return the comparison of macro averages under one measure."""
    first = next(iter(aligned.values()))
    rising = first.rising(columns[0])
    of_each = {
        key: one.column(column)[:, [one.names.index(name) for name in names]]
        for (key, one), column in zip(aligned.items(), columns, strict=True)
    }
    place = {key: i for i, key in enumerate(sorted(of_each))}  # who is flipped when: by name alone
    values = [of_each[key] for key in place]
    code = np.repeat(np.arange(len(values)), [len(one) for one in values])
    strata = Strata(np.concatenate(values), code)
    left, right = np.triu_indices(len(names), 1)
    if baseline is not None:
        base = names.index(baseline)
        left = np.delete(np.arange(len(names)), base)
        right = np.full(len(left), base)
    means = strata.means
    macro = means.mean(axis=0)
    pairs = {
        "system": [names[i] for i in left.tolist()],
        "other": [names[i] for i in right.tolist()],
        "mean": macro[left],
        "other_mean": macro[right],
        **compare_on_these(strata, left, right, settings, rising=rising),
        **compare_on_others(means, left, right, settings, rising=rising),
    }
    ranges = [
        range_of(one.known(column), of_each[key])
        for (key, one), column in zip(aligned.items(), columns, strict=True)
    ]
    most = sum(high - low for low, high in ranges) / len(ranges)  # of a difference
    for low, high in (("low", "high"), ("others_low", "others_high")):
        pairs |= zip((low, high), cut(pairs[low], pairs[high], -most, most), strict=True)
    rows = zip(*(listed(one) for one in pairs.values()), strict=True)
    systems = [
        MacroSystem(name, float(macro[i]), {key: float(means[place[key], i]) for key in aligned})
        for i, name in enumerate(names)
    ]
    macro_pairs = [MacroPair(**dict(zip(pairs, row, strict=True))) for row in rows]
    return MacroResult(measure, rising, systems, macro_pairs)
