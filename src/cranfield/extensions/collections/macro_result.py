"""Results over several collections: systems, and pairs of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.result import Method, Outcome, Pairs, column_to_list
from cranfield.comparison.scale import clip_ends, score_range
from cranfield.comparison.system_pairs import SystemPairs
from cranfield.extensions.collections.options import CollectionSettings
from cranfield.extensions.collections.strata import (
    Strata,
    compare_by_collections,
    compare_by_queries,
)


@dataclass(frozen=True)
class MacroPair:
    """One system compared with another over several collections. None: the value does not exist.

    `difference` is the mean of the collections' mean differences. `low` to `verdict` are about
    these collections; those that begin with `others_` about other collections like these.
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
    wins: int  # collections on which `system` is better
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
        return sorted(self.systems, key=lambda system: system.mean, reverse=self.higher_is_better)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values; "rising" tells whether higher is better."""
        return {
            "measure": self.measure,
            "rising": self.higher_is_better,
            "systems": [asdict(system) for system in self.systems],
            "pairs": [asdict(pair) for pair in self.pairs],
        }


def compare_averages(
    aligned_scores: Mapping[str, AlignedScores],
    system_names: Sequence[str],
    settings: CollectionSettings,
    baselines: Sequence[str],
    measure: str,
    measure_names: Sequence[str],
) -> MacroResult:
    """Return the comparison of macro averages under one measure, called `measure`.

    `measure_names` has that of each collection. The systems are on every collection; without
    `baselines`, all pairs are compared.
    """
    first_scores = next(iter(aligned_scores.values()))
    higher_is_better = first_scores.is_higher_better(measure_names[0])
    measure_of_collection = dict(zip(aligned_scores, measure_names, strict=True))
    scores_of_collection: dict[str, Floats] = {}
    for name, collection_scores in aligned_scores.items():
        columns = [collection_scores.system_names.index(system) for system in system_names]
        scores = collection_scores.measure_scores(measure_of_collection[name])
        scores_of_collection[name] = scores[:, columns]
    # Which query is flipped when depends on the names of the collections, not on their order.
    index_of_collection = {name: i for i, name in enumerate(sorted(scores_of_collection))}
    score_tables = [scores_of_collection[name] for name in index_of_collection]
    code = np.repeat(np.arange(len(score_tables)), [len(scores) for scores in score_tables])
    strata = Strata(np.concatenate(score_tables), code)
    baseline_columns = [*map(system_names.index, baselines)]
    left_column, right_column = SystemPairs.choose(len(system_names), baseline_columns)
    means = strata.means
    macro_means = means.mean(axis=0)
    pairs = {
        "system": [system_names[i] for i in left_column.tolist()],
        "other": [system_names[i] for i in right_column.tolist()],
        "mean": macro_means[left_column],
        "other_mean": macro_means[right_column],
        **compare_by_queries(strata, left_column, right_column, settings, higher_is_better),
        **compare_by_collections(means, left_column, right_column, settings, higher_is_better),
    }
    ranges = [
        score_range(
            collection_scores.find_measure(measure_of_collection[name]), scores_of_collection[name]
        )
        for name, collection_scores in aligned_scores.items()
    ]
    greatest = sum(high - low for low, high in ranges) / len(ranges)  # of a difference
    for low, high in (("low", "high"), ("others_low", "others_high")):
        pairs[low], pairs[high] = clip_ends(pairs[low], pairs[high], -greatest, greatest)
    rows = zip(*(column_to_list(column) for column in pairs.values()), strict=True)
    systems = []
    for i, system in enumerate(system_names):
        mean_of_name = {name: float(means[index_of_collection[name], i]) for name in aligned_scores}
        systems.append(MacroSystem(system, float(macro_means[i]), mean_of_name))
    macro_pairs = [MacroPair(**dict(zip(pairs, cells, strict=True))) for cells in rows]
    return MacroResult(measure, higher_is_better, systems, macro_pairs)
