"""Clusters as units: queries that are tested together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.comparison.flips import PairedScores, sum_by_cluster
from cranfield.comparison.units import Units
from cranfield.errors import OptionError

if TYPE_CHECKING:
    from cranfield.comparison.significance import Moments

_CLUSTER_TESTS = ("randomization", "t", "bayes")  # that take whole clusters


class Clusters(Units):
    """The cluster of each query.

    `labels` has the label of each query, None if it has none and is a cluster of its own; `code`
    (n_queries,) numbers the clusters from 0. If queries were selected, `code` has these alone.
    """

    unit_word, unit_words, full_words = "cluster", "clusters", "clusters of queries"
    error_method = "Student's t, cluster-robust"

    def __init__(self, labels: Sequence[str | None], code: Ints) -> None:
        self.labels = self.label_of_query = labels
        self.code, self.n_groups = code, int(code.max()) + 1

    def select_queries(self, is_included: Bools) -> "Clusters":
        """Return the clusters of some of the queries, numbered from 0; `labels` keeps all."""
        _, code = np.unique(self.code[is_included], return_inverse=True)
        return Clusters(self.label_of_query, code.astype(np.int64))

    def pair_units(self, paired_scores: PairedScores) -> PairedScores:
        """Return the scores of the pairs added up over each cluster."""
        return paired_scores.sum_clusters(self.code)

    def sum_queries(self, query_values: Floats) -> Floats:
        """Return the sums over each cluster: (n_queries, ...) -> (n_clusters, ...)."""
        return sum_by_cluster(query_values, self.code)

    def check(self, settings: Any) -> None:
        """Raise OptionError for a test or a correction that does not hold with these clusters."""
        sizes = np.bincount(self.code)
        if settings.test == "t" and np.ptp(sizes):
            raise OptionError(
                f"test='t': the clusters have {sizes.min():,} to {sizes.max():,} queries; if they "
                "are unequal, the usual t gives false alarms in 12 to 44% of cases instead of 5%. "
                "Leave it out: the default, flips of whole clusters, holds"
            )
        if settings.test not in _CLUSTER_TESTS:
            raise OptionError(
                f"test={settings.test!r} takes queries as independent; with clusters, leave it "
                "out: the default flips whole clusters"
            )
        if getattr(settings, "correction", None) in ("tukey", "rtukey"):
            raise OptionError(
                f"correction={settings.correction!r} takes queries as independent; with clusters, "
                "choose another, such as 'holm' or 'maxt'"
            )

    def columns(
        self, unit_moments: "Moments", moments: "Moments", n_changed: Ints
    ) -> dict[str, Any]:
        """Return how many clusters there are, how many changed, and what they do to the error.

        `unit_moments` are of clusters, `moments` of queries, `n_changed` clusters (n_pairs,) those
        on which two systems differ. The design effect is how much larger the variance of a mean is
        than that of independent queries; NaN where nothing varies. So many times as many queries
        are needed (Kish, Survey Sampling, 1965).
        """
        variance = moments.error**2  # (n_pairs,) of independent queries
        design_effect = np.full(len(variance), np.nan)
        np.divide(unit_moments.error**2, variance, out=design_effect, where=variance > 0)
        return {
            "clusters": self.n_groups,
            "changed_clusters": n_changed,
            "design_effect": design_effect,
        }
