"""Stability: whether another assessor's judgments, and mixtures of both, order systems alike."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.products import matrix_product
from cranfield.arrays.ranked import Floats, Ints, mean, means
from cranfield.comparison.significance import t_p_values
from cranfield.extensions.orderings.coefficients import kendall, round_scores
from cranfield.measures import Measure
from cranfield.render.numbers import finite_or_none


@dataclass(frozen=True)
class SystemPair:
    """Two systems under A, under B (None without B), and under mixtures or generated qrels.

    A difference is that of the means, `left` minus `right`; p comes from a two-sided paired t test,
    None where that has none. `change` is `difference_a - difference_b`, and `p_change` its p, over
    the queries' differences under A minus those under B: whether A and B see the two systems
    differently, which `p_a` and `p_b` on different sides of alpha do not show (Gelman & Stern, The
    American Statistician 2006). `same_sign` and `same_verdict` are shares of the mixtures: where
    the difference has the sign that it has under A, and where it is significant if and only if it
    is under A, in the same direction.
    """

    left: str
    right: str
    difference_a: float
    difference_b: float | None
    p_a: float | None
    p_b: float | None
    change: float | None
    p_change: float | None
    same_sign: float
    same_verdict: float


@dataclass(frozen=True, eq=False)
class Stability:
    """How the ordering of systems by one measure changes under other judgments.

    The systems are in A's order, the best first, and the left of a pair comes before the right.
    Means are (n_systems,). `taus` are Kendall's tau-b of the ordering under A with that under each
    mixture, except where one of the two ties all systems: there, tau does not exist.
    """

    measure: str
    systems: Sequence[str]
    mean_a: Floats
    mean_b: Floats | None
    mean_mixed: Floats
    low: Floats  # the lowest mean under any mixture
    high: Floats  # the highest
    pairs: Sequence[SystemPair]
    tau: float | None  # of A's ordering and B's
    swapped: int | None  # pairs that B orders the other way round
    swapped_significant: int | None  # of these, significant under A and under B
    taus: Sequence[float]

    @property
    def mean_tau(self) -> float | None:
        """The mean of tau over the mixtures; None where no mixture has one."""
        return mean(np.array(self.taus)) if self.taus else None

    @property
    def min_tau(self) -> float | None:
        """The lowest tau of any mixture; None where no mixture has one."""
        return min(self.taus, default=None)

    def list_system_means(self) -> list[dict[str, Any]]:
        """Return each system's name and its means."""
        n = len(self.systems)
        columns = {
            "system": self.systems,
            "mean_a": self.mean_a.tolist(),
            "mean_b": [None] * n if self.mean_b is None else self.mean_b.tolist(),
            "mean_mixed": self.mean_mixed.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; of the mixtures' tau, the mean and the least."""
        names = ("measure", "tau", "swapped", "swapped_significant", "mean_tau", "min_tau")
        return {
            **{name: getattr(self, name) for name in names},
            "systems": self.list_system_means(),
            "pairs": [asdict(pair) for pair in self.pairs],
        }


class _SystemTests(NamedTuple):
    """Tests of all pairs of systems under some qrels: (n_qrels, n_pairs), save the means."""

    means: Floats
    differences: Floats
    p: Floats  # NaN where there is none
    signs: Floats  # 1 where the left system has more, -1 where the right one has, 0 for a tie
    verdicts: Floats  # the same, 0 where a difference is not significant, too


def _test_systems(values: Floats, alpha: float) -> _SystemTests:
    """Test all pairs of systems under each qrels; `values` is (n_qrels, n_queries, n_systems).

    The variance of a difference is that of the two systems, less twice their covariance: one
    product for all pairs. Each query's mean, then each system's, is taken away first, which changes
    no such variance.
    """
    _, n, n_systems = values.shape
    first, second = np.triu_indices(n_systems, 1)
    system_means = means(values, axis=1)
    differences = system_means[:, first] - system_means[:, second]
    differences[round_scores(system_means)[:, first] == round_scores(system_means)[:, second]] = 0.0
    p = np.full(differences.shape, np.nan)
    if n > 1:
        deviations = values - values.mean(axis=2, keepdims=True)
        deviations -= deviations.mean(axis=1, keepdims=True)
        products = matrix_product(deviations.transpose(0, 2, 1), deviations)
        squared_sums = np.diagonal(products, axis1=1, axis2=2)
        squared_norms = (
            squared_sums[:, first] + squared_sums[:, second] - 2 * products[:, first, second]
        )
        varies = squared_norms > 1e-12 * (squared_sums[:, first] + squared_sums[:, second])
        p = t_p_values(
            differences, np.sqrt(np.where(varies, squared_norms, 0.0) / (n * (n - 1))), n - 1
        )
    signs = np.sign(differences)
    return _SystemTests(system_means, differences, p, signs, np.where(p <= alpha, signs, 0.0))


def measure_stability(
    measures: Sequence[Measure],
    systems: Sequence[str],
    scores_a: Floats,
    scores_b: Floats | None,
    batches: Iterable[Floats],
    alpha: float,
) -> list[Stability]:
    """Compare the systems under A, under B if it is there, and under other qrels, by each measure.

    `scores_a` and `scores_b` are (n_queries, n_systems, n_measures), a batch of mixtures, or
    of generated qrels, is (n_mixtures, n_queries, n_systems, n_measures).
    """
    order_of_measure = []
    for measure, system_sums in zip(measures, np.cumsum(scores_a, axis=0)[-1].T, strict=True):
        is_rising = measure.definition.higher_is_better is not False  # also of no direction
        keys = -system_sums if is_rising else system_sums
        order_of_measure.append(np.argsort(keys, kind="stable"))

    def test_by_measure(values: Floats) -> list[_SystemTests]:
        """Test the systems by each measure; `values` is (n_qrels, ...) as `scores_a`."""
        # A contiguous copy: the same layout gives the same bits, however many qrels there are.
        return [
            _test_systems(np.ascontiguousarray(values[:, :, order, k]), alpha)
            for k, order in enumerate(order_of_measure)
        ]

    under_a = test_by_measure(scores_a[None])
    no_tests = [None] * len(measures)
    return [
        _make_stability(str(measure), [systems[i] for i in order.tolist()], *tests)
        for measure, order, *tests in zip(
            measures,
            order_of_measure,
            under_a,
            no_tests if scores_b is None else test_by_measure(scores_b[None]),
            no_tests if scores_b is None else test_by_measure((scores_a - scores_b)[None]),
            zip(
                *(map(_compare_mixtures, under_a, test_by_measure(batch)) for batch in batches),
                strict=True,
            ),
            strict=True,
        )
    ]


class _MixtureComparison(NamedTuple):
    """Some mixtures beside A."""

    means: Floats  # (n_mixtures, n_systems)
    taus: list[float | None]  # tau-b of each mixture's ordering with A's
    n_equal: Ints  # (2, n_pairs) in how many mixtures a pair has A's sign, and A's verdict


def _compare_mixtures(tests_a: _SystemTests, mixed_tests: _SystemTests) -> _MixtureComparison:
    """Compare tests under some mixtures with the tests under A."""
    taus = [kendall(tests_a.means[0], row).tau_b for row in mixed_tests.means]
    same_sign = np.count_nonzero(mixed_tests.signs == tests_a.signs, axis=0)
    same_verdict = np.count_nonzero(mixed_tests.verdicts == tests_a.verdicts, axis=0)
    return _MixtureComparison(mixed_tests.means, taus, np.stack((same_sign, same_verdict)))


def _make_stability(
    measure: str,
    systems: Sequence[str],
    tests_a: _SystemTests,
    tests_b: _SystemTests | None,
    change_tests: _SystemTests | None,
    comparisons: Sequence[_MixtureComparison],
) -> Stability:
    """Put together the stability by one measure; the tests are in the order of `systems`."""
    first, second = np.triu_indices(len(systems), 1)
    no_numbers = [None] * len(first)

    def list_differences(tests: _SystemTests | None) -> tuple[list[Any], list[Any]]:
        """Return the differences of the pairs, and their p-values; None without tests."""
        if tests is None:
            return no_numbers, no_numbers
        return tests.differences[0].tolist(), list(map(finite_or_none, tests.p[0]))

    mixed_means = np.concatenate([comparison.means for comparison in comparisons])
    n_equal = np.sum([comparison.n_equal for comparison in comparisons], axis=0)
    difference_a, p_a = list_differences(tests_a)
    difference_b, p_b = list_differences(tests_b)
    change, p_change = list_differences(change_tests)
    names = ([systems[i] for i in column.tolist()] for column in (first, second))
    numbers = difference_a, difference_b, p_a, p_b, change, p_change
    pair_rows = zip(*names, *numbers, *(n_equal / len(mixed_means)).tolist(), strict=True)
    tau = n_swapped = n_significant = None
    if tests_b is not None:
        kendall_a_b = kendall(tests_a.means[0], tests_b.means[0])
        tau, n_swapped = kendall_a_b.tau_b, kendall_a_b.discordant
        n_significant = int(np.count_nonzero(tests_a.verdicts * tests_b.verdicts < 0))
    return Stability(
        measure,
        systems,
        tests_a.means[0],
        None if tests_b is None else tests_b.means[0],
        mixed_means.mean(axis=0),
        mixed_means.min(axis=0),
        mixed_means.max(axis=0),
        [SystemPair(*row) for row in pair_rows],
        tau,
        n_swapped,
        n_significant,
        [tau_b for comparison in comparisons for tau_b in comparison.taus if tau_b is not None],
    )
