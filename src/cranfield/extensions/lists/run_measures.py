"""Measures of the lists of all users together: one number for a run."""

import math
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Numbers
from cranfield.extensions.lists.user_lists import Lists
from cranfield.extensions.lists.user_measures import Exposure
from cranfield.measures.parameters import Cutoff, Parameter, Persistence, choice
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import Traits

_measure = partial(measure, traits=Traits(bounds="refused"), of="run")


class RunValue(NamedTuple):
    """The value of a run, NaN without one, and the numbers that it is made of, in words."""

    value: float
    sums: str


def _select_catalogue(lists: Lists, values: Numbers) -> Numbers:
    """Return the values (n_items,) of the items of a catalogue of ids, else of all."""
    in_catalogue = lists.facts.in_catalogue
    return values if in_catalogue is None else values[in_catalogue]


_OF = Parameter("what it is a share of, or the number", choice("catalogue", "train", "count"))


@_measure("Coverage", names=("CatalogCoverage", "ItemCoverage"))
def coverage(
    lists: Lists, k: Cutoff | None = None, *, of: Annotated[str, _OF] = "catalogue"
) -> RunValue:
    """Coverage: the share of the catalogue that is in the list of any user.

    recommenders' catalog_coverage is Coverage(of='count') / items of train, and may exceed 1.

    Formula: distinct listed items / items of the catalogue
    Source: Ge, Delgado-Battenfeld & Jannach, RecSys 2010; RePlay Coverage (of='train')
    """
    is_listed, n = lists.counts(k) > 0, lists.facts.n_catalogue
    if of == "train":
        is_listed = is_listed[lists.facts.table("users") > 0]
        n = len(is_listed)
    else:
        is_listed = _select_catalogue(lists, is_listed)
    n_listed = int(np.count_nonzero(is_listed))
    if of == "count":
        return RunValue(float(n_listed), f"{n_listed:,} distinct")
    return RunValue(n_listed / n if n else math.nan, f"{n_listed:,} distinct / {n:,}")


@_measure(
    "Gini",
    names=Names(("GiniIndex", "ListGini"), variants={"ExposureGini": {"exposure": "rbp"}}),
    higher_is_better=False,
)
def gini(
    lists: Lists, k: Cutoff | None = None, *, exposure: Exposure = "none", p: Persistence = 0.85
) -> RunValue:
    """Gini index: how unevenly lists are spread over the catalogue; 0 is evenly.

    Items in no list count 0. Elliot's is 1 - Gini N / (N - 1); Evidently's leaves them out.

    Formula: sum over items, x rising, of (2 j - N - 1) x_j / (N sum of x)
    Source: Fleder & Hosanagar, Management Science 2009; LensKit ListGini, ExposureGini
    """
    x = np.sort(_select_catalogue(lists, lists.counts(k, exposure, p)))
    x, n = x[x > 0], lists.facts.n_catalogue
    spread = ((2 * np.arange(n - len(x) + 1, n + 1) - n - 1) * x).sum()
    value = float(spread / (n * x.sum())) if len(x) else math.nan
    return RunValue(value, f"{spread:,.10g} / ({n:,} * {x.sum():,.10g})")


@_measure("Entropy", names=("distributional_coverage",), range=(0, None))
def entropy(
    lists: Lists, k: Cutoff | None = None, *, exposure: Exposure = "none", p: Persistence = 0.85
) -> RunValue:
    """Entropy: how evenly lists are spread over the items that are in any, in bits.

    RecBole's ShannonEntropy is Entropy ln 2 / distinct items.

    Formula: - sum over items of share log2(share) of what is listed
    Source: Shannon 1948; recommenders distributional_coverage
    """
    x = lists.counts(k, exposure, p)
    share = np.sort(x[x > 0] / max(x.sum(), 1e-300))
    value = 0.0 - float((share * np.log2(share)).sum()) if len(share) else math.nan
    return RunValue(value, f"of {len(share):,} distinct")


@_measure("Personalization")
def personalization(lists: Lists, k: Cutoff | None = None) -> RunValue:
    """Personalization: how unlike each other the lists of users are, in pairs.

    Formula: 1 - mean over pairs of users of common items / sqrt(product of both lengths)
    Source: Zhou et al., PNAS 2010; Evidently PersonalizationMetric
    """
    lists = lists.cut_lists(k)
    n = int(np.count_nonzero(lists.lengths))
    weight = np.repeat(1 / np.sqrt(np.maximum(lists.lengths, 1)), lists.lengths)
    common = float((np.bincount(lists.item_code, weight) ** 2).sum()) - n
    value = 1 - common / (n * (n - 1)) if n > 1 else math.nan
    return RunValue(value, f"1 - {common:,.10g} / ({n:,} * {n - 1:,})")


@_measure("PopLift", names=("popularity_lift",), range=(-1, None), higher_is_better=None)
def popularity_lift(lists: Lists, k: Cutoff | None = None) -> RunValue:
    """Popularity lift: how much more popular lists are than what their users had.

    Formula: mean of the list's mean users of an item / mean of the history's - 1; users with both
    Source: Abdollahpouri et al., RecSys 2020
    """
    lists, history = lists.cut_lists(k), lists.facts.history[lists.user]
    users, n_had = lists.facts.table("users"), np.diff(history.indptr)
    sums = np.diff(np.append(0, np.cumsum(users[lists.item_code]))[lists.starts])
    is_compared = (lists.lengths > 0) & (n_had > 0)
    list_mean = float((sums[is_compared] / lists.lengths[is_compared]).sum())
    history_mean = float(((history @ users)[is_compared] / n_had[is_compared]).sum())
    value = list_mean / history_mean - 1 if history_mean else math.nan
    return RunValue(value, f"{list_mean:,.10g} / {history_mean:,.10g} - 1, sums over users")
