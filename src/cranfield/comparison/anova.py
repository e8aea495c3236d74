"""Analysis of variance: all systems at once, two-way without replication, and Tukey's tests."""

from dataclasses import dataclass

import numpy as np

from cranfield.arrays.products import block_slices
from cranfield.arrays.ranked import Floats
from cranfield.comparison.flips import DEFAULT_SEED, PairedScores
from cranfield.progress import watch_slices

PERMUTATIONS = 10_000  # that are drawn, as a rule


@dataclass(frozen=True)
class Anova:
    """Variances of scores: of the systems' means, of the queries' means, and the residual.

    Two-way: there is one score for each query and system (Sakai, Laboratory Experiments in
    Information Retrieval, 2018).
    """

    system_variance: float  # each a mean square
    query_variance: float
    residual_variance: float
    residual_degrees: int  # of freedom, of the residual

    @classmethod
    def from_scores(cls, scores: Floats) -> "Anova | None":
        """Return the analysis of scores (n_queries, n_systems); None for one query or system."""
        n_queries, n_systems = scores.shape
        if n_queries < 2 or n_systems < 2:
            return None
        deviations = scores - scores.mean()
        query_effects, system_effects = deviations.mean(axis=1), deviations.mean(axis=0)
        residuals = deviations - query_effects[:, None] - system_effects
        degrees = (n_queries - 1) * (n_systems - 1)
        system_variance = float(n_queries * (system_effects**2).sum() / (n_systems - 1))
        query_variance = float(n_systems * (query_effects**2).sum() / (n_queries - 1))
        residual_squares = float((residuals**2).sum())
        total_scale = float(np.abs(scores).max()) ** 2 * scores.size
        residual = 0.0 if residual_squares <= 1e-24 * total_scale else residual_squares / degrees
        return cls(system_variance, query_variance, residual, degrees)


def tukey(pairs: PairedScores) -> Floats:
    """Return p-values corrected by the studentized range: (n_pairs,).

    NaN for a single unit or system, and for a difference without residual variance. This is
    Tukey's honestly significant difference, with the residual variance of the two-way analysis, so
    that queries are paired.
    """
    from scipy.stats import studentized_range

    anova = Anova.from_scores(pairs.scores)
    if anova is None:
        return np.full(len(pairs.left_column), np.nan)
    difference = np.abs(pairs.totals) / pairs.n_units
    difference[np.abs(pairs.totals) <= pairs.slack] = 0.0
    if anova.residual_variance == 0:
        return np.where(difference == 0, 1.0, np.nan)
    q = difference / np.sqrt(anova.residual_variance / pairs.n_units)
    p = np.ones(len(q))
    is_positive = q > 0
    n_systems = pairs.scores.shape[1]
    p[is_positive] = studentized_range.sf(q[is_positive], n_systems, anova.residual_degrees)
    return np.clip(p, np.finfo(np.float64).tiny, 1.0)


def randomised_tukey(
    pairs: PairedScores, *, permutations: int = PERMUTATIONS, seed: int = DEFAULT_SEED
) -> Floats:
    """Return p-values corrected by permutations of the systems' scores of each query: (n_pairs,).

    The range of the means of a permutation is compared with each observed difference (Carterette,
    ACM TOIS 2012; Sakai 2018). It tests that all systems are equal: one bad system among them hides
    the differences between all others.
    """
    n_queries, n_systems = pairs.scores.shape
    generator = np.random.Generator(np.random.PCG64(seed))
    sorted_scores = np.sort(pairs.scores, axis=1)  # so that the order of systems does not matter
    threshold = np.abs(pairs.totals) - pairs.slack
    counts = np.zeros(len(threshold), np.int64)
    for block in watch_slices(
        block_slices(permutations, n_queries * n_systems), "permutations", permutations
    ):
        n_permutations = block.stop - block.start
        sums = generator.permuted(
            np.broadcast_to(sorted_scores, (n_permutations, n_queries, n_systems)), axis=2
        ).sum(axis=1)
        ranges = np.sort(sums.max(axis=1) - sums.min(axis=1))
        counts += n_permutations - np.searchsorted(ranges, threshold)
    return (counts + 1) / (permutations + 1)
