"""The methods of fusion: the value that a list gives a document, and the score of all its values.

Norms make scores comparable, and methods of ranks make points of ranks: (rows,) of `RunLists`. Then
a document's values become its score: (n,) of `DocumentValues`. Each is as its paper has it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cranfield.arrays.elementary import log, power, powers
from cranfield.arrays.ranked import Floats, Ints
from cranfield.arrays.slots import number_pairs
from cranfield.errors import OptionError
from cranfield.extensions.fusion.fusing import Fusing, Method, Norm
from cranfield.extensions.fusion.run_lists import DocumentValues, RunLists

_PointsFunction = Callable[[RunLists, Fusing, Floats], Floats]
_ScoreFunction = Callable[[DocumentValues, Fusing], Floats]

# ---- values of rows; `n_candidates` (n_queries,): how many documents a query has in all lists


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    """Return numerator / denominator; 0 where the denominator is 0, as of a list of one row."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0)


def none(lists: RunLists, fusing: Fusing, n_candidates: Floats) -> Floats:
    """Return the scores as they are."""
    return lists.score


def min_max(lists: RunLists, fusing: Fusing, n_candidates: Floats) -> Floats:
    """Return scores from 0, the list's lowest, to 1, its highest."""
    # Halved, so that no difference is too large.
    half_score, half_lowest = lists.score / 2, lists.lowest / 2
    return _divide(half_score - half_lowest, lists.highest / 2 - half_lowest)


def share_of_highest(lists: RunLists, fusing: Fusing, n_candidates: Floats) -> Floats:
    """Return scores as a share of the list's highest; if that is 0 or less, of minus the lowest.

    Shares are then from -1 to 0: dividing by a highest score below 0 would reverse the list.
    """
    return _divide(lists.score, np.where(lists.highest > 0, lists.highest, -lists.lowest))


def share_of_sum(lists: RunLists, fusing: Fusing, n_candidates: Floats) -> Floats:
    """Return how far scores are above the list's lowest, as a share of the sum of these."""
    above = min_max(lists, fusing, n_candidates)
    return _divide(above, lists.total(above))


def zmuv(lists: RunLists, fusing: Fusing, n_candidates: Floats) -> Floats:
    """Return standard deviations from the list's mean (zero mean, unit variance)."""
    deviation = lists.score - lists.total(lists.score) / lists.length
    # So that no square is too large, or too small.
    deviation = _divide(deviation, lists.greatest_size(deviation))
    sd = np.sqrt(lists.total(deviation * deviation) / lists.length)
    return _divide(deviation, np.where(lists.highest > lists.lowest, sd, 0.0))


def l2(lists: RunLists, fusing: Fusing, n_candidates: Floats) -> Floats:
    """Return scores as a share of the list's Euclidean length."""
    scaled_score = _divide(lists.score, lists.greatest_size(lists.score))
    return _divide(scaled_score, np.sqrt(lists.total(scaled_score * scaled_score)))


def rank_share(lists: RunLists, fusing: Fusing, n_candidates: Floats) -> Floats:
    """Return 1 for the first of a list, 1 / n for the last of n."""
    return 1 - (lists.rank - 1) / lists.length


def borda_share(lists: RunLists, fusing: Fusing, n_candidates: Floats) -> Floats:
    """Return 1 for the first, 1 / c for the last of all c documents of the query."""
    return 1 - (lists.rank - 1) / n_candidates[lists.query]


def rrf(lists: RunLists, fusing: Fusing, n_candidates: Floats) -> Floats:
    """Return 1 / (k + rank) (Cormack, Clarke & Buettcher, SIGIR 2009)."""
    return 1 / (fusing.k + lists.rank)


def inverse_squares(lists: RunLists, fusing: Fusing, n_candidates: Floats) -> Floats:
    """Return 1 / rank^2 (Mourao, Martins & Magalhaes, TREC 2013)."""
    return 1 / lists.rank.astype(np.float64) ** 2


def rbc(lists: RunLists, fusing: Fusing, n_candidates: Floats) -> Floats:
    """Return (1 - phi) phi^(rank - 1) (Bailey, Moffat, Scholer & Thomas, SIGIR 2017)."""
    return (1 - fusing.phi) * powers(fusing.phi, lists.rank - 1)


def borda(lists: RunLists, fusing: Fusing, n_candidates: Floats) -> Floats:
    """Return c for the first, 1 for the last of all c documents (Aslam & Montague, SIGIR 2001)."""
    return n_candidates[lists.query] - lists.rank + 1


# ---- scores of documents, (n,); below, n is `n_runs`, of the runs that returned a document


def _sum(doc_values: DocumentValues, fusing: Fusing) -> Floats:
    """Return the weighted sum: CombSUM (Fox & Shaw, TREC-2, 1993)."""
    return doc_values.total(doc_values.weight * doc_values.value)


def _mnz(doc_values: DocumentValues, fusing: Fusing) -> Floats:
    """Return the sum times n, or times the sum of these runs' weights: CombMNZ (Fox & Shaw)."""
    n = doc_values.total(doc_values.weight * doc_values.is_returned)
    return doc_values.total(doc_values.value) * n


def _gmnz(doc_values: DocumentValues, fusing: Fusing) -> Floats:
    """Return the sum times n^gamma (Lee, SIGIR 1997), n as in `_mnz`: of the weights, if any."""
    n = doc_values.total(doc_values.weight * doc_values.is_returned)
    distinct_n, position = np.unique(n, return_inverse=True)
    try:
        factor = power(distinct_n, fusing.gamma)
    except OverflowError:  # math.pow raises it where numpy's is infinite
        factor = np.full(len(distinct_n), np.inf)
    return doc_values.total(doc_values.value) * factor[position]


def _anz(doc_values: DocumentValues, fusing: Fusing) -> Floats:
    """Return the weighted mean: CombANZ (Fox & Shaw)."""
    weighted_sum = doc_values.total(doc_values.weight * doc_values.value)
    return _divide(weighted_sum, doc_values.total(doc_values.weight))


def _mixed(doc_values: DocumentValues, fusing: Fusing) -> Floats:
    """Return the weighted sum times the root of n."""
    return doc_values.total(doc_values.weight * doc_values.value) * np.sqrt(doc_values.n_runs)


def _log(doc_values: DocumentValues, fusing: Fusing) -> Floats:
    """Return the sum times ln n, which is 0 for a document of one run."""
    return doc_values.total(doc_values.value) * _log_counts(doc_values.n_runs, 0.0)


def _logn(doc_values: DocumentValues, fusing: Fusing) -> Floats:
    """Return the sum times ln(n + sigma)."""
    return doc_values.total(doc_values.value) * _log_counts(doc_values.n_runs, fusing.sigma)


def _log_counts(n_runs: Floats, addend: float) -> Floats:
    """Return ln(n_runs + addend): (n,); a logarithm for each number of runs is looked up."""
    numbers = np.arange(1.0, n_runs.max(initial=0) + 1)
    logs: Floats = log(numbers + addend)[n_runs.astype(np.int64) - 1]
    return logs


_NORMS: dict[str, _PointsFunction] = {
    "none": none,
    "min-max": min_max,
    "min-max-inverted": min_max,  # of scores with the other sign
    "max": share_of_highest,
    "sum": share_of_sum,
    "zmuv": zmuv,
    "l2": l2,
    "rank": rank_share,
    "borda": borda_share,
}


class Formula(NamedTuple):
    """How a method computes scores."""

    combine: _ScoreFunction
    points: _PointsFunction | None = None  # of ranks; None: the scores, by a norm
    is_weighted: bool = False  # whether there is a form with weights
    parameter: str | None = None  # the option that no other method has


METHODS: dict[Method, Formula] = {
    "rrf": Formula(_sum, rrf, is_weighted=True, parameter="k"),
    "sum": Formula(_sum, is_weighted=True),
    "mnz": Formula(_mnz, is_weighted=True),
    "anz": Formula(_anz, is_weighted=True),
    "max": Formula(lambda doc_values, fusing: doc_values.highest),
    "min": Formula(lambda doc_values, fusing: doc_values.lowest),
    "med": Formula(lambda doc_values, fusing: doc_values.median),
    "gmnz": Formula(_gmnz, is_weighted=True, parameter="gamma"),
    "mixed": Formula(_mixed, is_weighted=True),
    "isr": Formula(_mnz, inverse_squares),
    "log_isr": Formula(_log, inverse_squares),
    "logn_isr": Formula(_logn, inverse_squares, parameter="sigma"),
    "rbc": Formula(_sum, rbc, is_weighted=True, parameter="phi"),
    "borda": Formula(_sum, borda, is_weighted=True),
}


def needs_scores(method: Method, fusing: Fusing) -> bool:
    """Tell whether a method and its norm use scores, and not ranks alone."""
    return METHODS[method].points is None and fusing.norm not in ("rank", "borda")


def settle_options(fusing: Fusing, method: Method) -> Fusing:
    """Return the options with a norm in place of None, and "left-out" too, except for Borda.

    Raises OptionError for an option without effect.
    """
    formula, settings, norm = METHODS[method], fusing.changed_options(), fusing.norm
    for name, other in METHODS.items():
        parameter = other.parameter
        if parameter in settings and parameter != formula.parameter:
            raise OptionError(
                f"{parameter}={settings[parameter]:g} applies to {name}, not to {method}"
            )
    if fusing.weights is not None and not formula.is_weighted:
        able = ", ".join(name for name, other in METHODS.items() if other.is_weighted)
        raise OptionError(f"weights: {method} has no form with weights; {able} have one")
    if formula.points is not None and norm not in (None, "none", "min-max-inverted"):
        raise OptionError(
            f"norm={norm!r} changes no rank, and {method} takes nothing but ranks: leave one out "
            "(min-max-inverted ranks the lowest first)"
        )
    if norm == "borda" and fusing.absent is not None:
        raise OptionError(
            "norm='borda' gives absent documents a share of the points: leave absent out"
        )
    absent = fusing.absent or (None if "borda" in (method, norm) else "left-out")
    default_norm: Norm = "min-max" if formula.points is None else "none"
    return replace(fusing, norm=norm or default_norm, absent=absent)


def fuse_lists(
    lists: RunLists, method: Method, fusing: Fusing, weights: Floats
) -> tuple[Ints, Floats]:
    """Return a row of `lists` for each document, (n,), and the document's score, (n,).

    `weights` is (n_runs,). `fusing` comes from `settle_options`.
    """
    rows, doc = number_pairs(lists.query, lists.docs)
    query = lists.query.take(rows)
    n_candidates, formula = np.bincount(query) * 1.0, METHODS[method]
    value = (formula.points or _NORMS[str(fusing.norm)])(lists, fusing, n_candidates)
    doc_values = DocumentValues(query, doc, value, lists.weight, np.ones(len(doc), np.bool_))
    if fusing.absent != "left-out":
        doc_values = _add_absent(doc_values, lists, weights, fusing, is_norm=method != "borda")
    return rows, formula.combine(doc_values, fusing)


def _add_absent(
    doc_values: DocumentValues, lists: RunLists, weights: Floats, fusing: Fusing, *, is_norm: bool
) -> DocumentValues:
    """Add a row for each document and each run that did not return it.

    With "zero" its value is 0; with "lowest", the lowest of the run's list; a run that has nothing
    for the query gives no row. None: the mean of Borda's points that the run has left; with
    `is_norm`, as a share of the c documents of the query, and counted as returned.
    """
    n_queries, n_runs = int(lists.query.max(initial=-1)) + 1, len(weights)
    n_rows = np.zeros((n_runs, n_queries))
    np.add.at(n_rows, (lists.run, lists.query), 1)
    is_returned = np.zeros((len(doc_values.query), n_runs), np.bool_)
    is_returned[doc_values.doc, lists.run] = True
    doc, run = np.nonzero(~is_returned)
    query = doc_values.query[doc]
    takes_share = fusing.absent is None  # of Borda's points
    if takes_share:
        c = np.bincount(doc_values.query, minlength=n_queries) * 1.0
        value = (c[query] - n_rows[run, query] + 1) / 2
        value = value / c[query] if is_norm else value
    else:
        has_list = n_rows[run, query] > 0
        doc, run, query = doc[has_list], run[has_list], query[has_list]
        value = np.zeros(len(doc))
        if fusing.absent == "lowest":
            low = np.full((n_runs, n_queries), np.inf)
            np.minimum.at(low, (lists.run, lists.query), doc_values.value)
            value = low[run, query]
    counts_as_returned = np.full(len(doc), takes_share and is_norm)  # the norm ranks all documents
    return replace(
        doc_values,
        doc=np.append(doc_values.doc, doc),
        value=np.append(doc_values.value, value),
        weight=np.append(doc_values.weight, weights[run]),
        is_returned=np.append(doc_values.is_returned, counts_as_returned),
    )
