"""Results over several collections: systems, and pairs of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.comparison.alignment import AlignedScores
from cranfield.comparison.result import Method, Outcome, Pairs, column_to_list
from cranfield.comparison.scale import clip_ends, score_range
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
    higher_is_better: bool  # whether higher is better
    systems: Sequence[MacroSystem]
    pairs: Sequence[MacroPair]

    @property
    def ranked_systems(self) -> Sequence[MacroSystem]:
        """Return the systems, the best first."""
        return sorted(self.systems, key=lambda one: one.mean, reverse=self.higher_is_better)


def compare_averages(
    aligned_scores: Mapping[str, AlignedScores],
    system_names: Sequence[str],
    settings: CollectionSettings,
    baseline: str | None,
    measure: str,
    measure_names: Sequence[str],
) -> MacroResult:
    """Return the comparison of macro averages under one measure."""
    first = next(iter(aligned_scores.values()))
    rising = first.is_higher_better(measure_names[0])
    of_each = {
        key: one.measure_scores(column)[:, [one.system_names.index(name) for name in system_names]]
        for (key, one), column in zip(aligned_scores.items(), measure_names, strict=True)
    }
    place = {key: i for i, key in enumerate(sorted(of_each))}  # who is flipped when: by name alone
    values = [of_each[key] for key in place]
    code = np.repeat(np.arange(len(values)), [len(one) for one in values])
    strata = Strata(np.concatenate(values), code)
    left, right = np.triu_indices(len(system_names), 1)
    if baseline is not None:
        base = system_names.index(baseline)
        left = np.delete(np.arange(len(system_names)), base)
        right = np.full(len(left), base)
    means = strata.means
    macro = means.mean(axis=0)
    pairs = {
        "system": [system_names[i] for i in left.tolist()],
        "other": [system_names[i] for i in right.tolist()],
        "mean": macro[left],
        "other_mean": macro[right],
        **compare_on_these(strata, left, right, settings, higher_is_better=rising),
        **compare_on_others(means, left, right, settings, higher_is_better=rising),
    }
    ranges = [
        score_range(one.find_measure(column), of_each[key])
        for (key, one), column in zip(aligned_scores.items(), measure_names, strict=True)
    ]
    most = sum(high - low for low, high in ranges) / len(ranges)  # of a difference
    for low, high in (("low", "high"), ("others_low", "others_high")):
        pairs |= zip((low, high), clip_ends(pairs[low], pairs[high], -most, most), strict=True)
    rows = zip(*(column_to_list(one) for one in pairs.values()), strict=True)
    systems = [
        MacroSystem(name, float(macro[i]), {key: float(means[place[key], i]) for key in aligned_scores})
        for i, name in enumerate(system_names)
    ]
    macro_pairs = [MacroPair(**dict(zip(pairs, row, strict=True))) for row in rows]
    return MacroResult(measure, rising, systems, macro_pairs)
