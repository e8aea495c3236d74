"""Orderings: what other judgments, or many of them, do to the ordering of systems."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cranfield.ranked import Floats, Ints, mean

_SAME = 1e-9  # means that differ by no more are tied


@dataclass(frozen=True)
class SystemPair:
    """Two systems under A, under B and under the mixtures of both.

    A difference is that of the means, `left` minus `right`; p is of a two-sided paired t test, None
    where that has none. `same_sign` and `same_verdict` are shares of the mixtures: where the
    difference has the sign that it has under A, and where it is significant if and only if it is
    under A, in the same direction.
    """

    left: str
    right: str
    difference_a: float
    difference_b: float | None
    p_a: float | None
    p_b: float | None
    same_sign: float
    same_verdict: float


@dataclass(frozen=True, eq=False)
class Ordering:
    """What another assessor does to the ordering of systems by one measure.

    The systems stand as A orders them, the best first, and the left of a pair before the right.
    Means are (n_systems,). `taus` are Kendall's tau-b of the ordering under A with that under each
    mixture, but for those where one of the two ties all systems and there is none.
    """

    measure: str
    systems: Sequence[str]
    mean_a: Floats
    mean_b: Floats | None
    mean_mixed: Floats
    low: Floats
    high: Floats
    pairs: Sequence[SystemPair]
    tau: float | None  # of A's ordering and B's
    swapped: int | None  # pairs that stand the other way round under B
    swapped_significant: int | None  # of these, significant under A and under B
    taus: Floats

    @property
    def mean_tau(self) -> float | None:
        """The mean of tau over the mixtures; None where no mixture has one."""
        return mean(self.taus) if len(self.taus) else None

    @property
    def min_tau(self) -> float | None:
        """The lowest tau of any mixture; None where no mixture has one."""
        return float(self.taus.min()) if len(self.taus) else None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        systems = [
            {
                "system": name,
                "mean_a": float(self.mean_a[i]),
                "mean_b": None if self.mean_b is None else float(self.mean_b[i]),
                "mean_mixed": float(self.mean_mixed[i]),
                "low": float(self.low[i]),
                "high": float(self.high[i]),
            }
            for i, name in enumerate(self.systems)
        ]
        return {
            "measure": self.measure,
            "tau": self.tau,
            "swapped": self.swapped,
            "swapped_significant": self.swapped_significant,
            "mean_tau": self.mean_tau,
            "min_tau": self.min_tau,
            "systems": systems,
            "pairs": [asdict(pair) for pair in self.pairs],
        }


@dataclass(frozen=True, eq=False)
class _Looked:
    """Systems under some qrels: means (n_qrels, n_systems), of pairs (n_qrels, n_pairs)."""

    means: Floats
    differences: Floats
    p: Floats  # NaN where there is none

    @property
    def signs(self) -> Floats:
        return np.sign(np.where(np.abs(self.differences) <= _SAME, 0.0, self.differences))

    def verdicts(self, alpha: float) -> Floats:
        """Return 1, -1, or 0 where a difference is not significant."""
        return np.where(self.p <= alpha, self.signs, 0.0)


def _looked(values: Floats, left: Ints, right: Ints) -> _Looked:
    """Test all pairs of systems under each qrels; `values` is (n_qrels, n_queries, n_systems).

    The variance of a difference is that of the two systems, less twice their covariance: one
    product for all pairs. Each query's mean is taken away first, which changes no difference.
    """
    from scipy.special import stdtr

    n = values.shape[1]
    means = np.cumsum(values, axis=1)[:, -1] / n  # left to right, as evaluate adds
    differences = means[:, left] - means[:, right]
    centred = values - values.mean(axis=2, keepdims=True)
    centred -= centred.mean(axis=1, keepdims=True)
    products = np.matmul(centred.transpose(0, 2, 1), centred)
    own = np.diagonal(products, axis1=1, axis2=2)
    squares = own[:, left] + own[:, right] - 2 * products[:, left, right]
    varies = squares > 1e-12 * (own[:, left] + own[:, right])
    if n > 1:
        error = np.sqrt(np.where(varies, squares, 1.0) / (n * (n - 1)))
        p = np.maximum(2 * stdtr(n - 1, -np.abs(differences) / error), np.finfo(np.float64).tiny)
    else:
        p = np.full(differences.shape, np.nan)
    constant = np.where(np.abs(differences) <= _SAME, 1.0, np.nan)
    return _Looked(means, differences, np.where(varies, p, constant if n > 1 else np.nan))


def _tau(signs: Floats, others: Floats) -> Floats:
    """Return Kendall's tau-b of orderings, given as signs of pairs' differences (..., n_pairs)."""
    untied = np.count_nonzero(signs, axis=-1) * np.count_nonzero(others, axis=-1)
    agreeing = (signs * others).sum(axis=-1) + 0.0  # not -0.0
    found: Floats = np.full(agreeing.shape, np.nan)
    np.divide(agreeing, np.sqrt(untied), out=found, where=untied > 0)
    return found


def orderings(
    measures: Sequence[str],
    systems: Sequence[str],
    a: Floats,
    b: Floats | None,
    batches: Iterable[Floats],
    alpha: float,
) -> list[Ordering]:
    """Look at the systems under A, under B, and under mixtures of both, by each measure.

    `a` and `b` are (n_queries, n_systems, n_measures), a batch is (n_mixtures, n_queries,
    n_systems, n_measures).
    """
    left, right = np.triu_indices(len(systems), 1)
    totals = np.cumsum(a, axis=0)[-1]
    ranks = [np.argsort(-totals[:, k], kind="stable") for k in range(len(measures))]

    def looked(values: Floats, k: int) -> _Looked:
        # The same layout, and so the same bits, however many there are.
        return _looked(np.ascontiguousarray(values[:, :, ranks[k], k]), left, right)

    under_a = [looked(a[None], k) for k in range(len(measures))]
    means: list[list[Floats]] = [[] for _ in measures]
    taus: list[list[Floats]] = [[] for _ in measures]
    same = np.zeros((len(measures), 2, len(left)), np.int64)  # signs, verdicts
    for batch in batches:
        for k, ours in enumerate(under_a):
            found = looked(batch, k)
            means[k].append(found.means)
            taus[k].append(_tau(ours.signs, found.signs))
            same[k, 0] += np.count_nonzero(found.signs == ours.signs, axis=0)
            alike = found.verdicts(alpha) == ours.verdicts(alpha)
            same[k, 1] += np.count_nonzero(alike, axis=0)
    return [
        _ordering(
            measure,
            [systems[i] for i in ranks[k].tolist()],
            under_a[k],
            None if b is None else looked(b[None], k),
            np.concatenate(means[k]),
            np.concatenate(taus[k]),
            same[k],
            alpha,
        )
        for k, measure in enumerate(measures)
    ]


def _ordering(
    measure: str,
    systems: Sequence[str],
    a: _Looked,
    b: _Looked | None,
    means: Floats,
    taus: Floats,
    same: Ints,
    alpha: float,
) -> Ordering:
    left, right = np.triu_indices(len(systems), 1)
    nothing = [None] * len(left)
    columns = [
        [systems[i] for i in left.tolist()],
        [systems[i] for i in right.tolist()],
        a.differences[0].tolist(),
        nothing if b is None else b.differences[0].tolist(),
        _or_none(a.p[0]),
        nothing if b is None else _or_none(b.p[0]),
        *(same / len(means)).tolist(),
    ]
    tau = swapped = significant = None
    if b is not None:
        tau = _or_none(_tau(a.signs, b.signs))[0]
        swapped = int(np.count_nonzero(a.signs * b.signs < 0))
        significant = int(np.count_nonzero(a.verdicts(alpha) * b.verdicts(alpha) < 0))
    return Ordering(
        measure,
        systems,
        a.means[0],
        None if b is None else b.means[0],
        means.mean(axis=0),
        means.min(axis=0),
        means.max(axis=0),
        [SystemPair(*row) for row in zip(*columns, strict=True)],
        tau,
        swapped,
        significant,
        taus[~np.isnan(taus)],
    )


def _or_none(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
