"""Measures of the lists of all users together: one number for a run."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Numbers
from cranfield.extensions.lists.lists import RBP_P, Exposure, Lists
from cranfield.measures.parameters import Cutoff, Parameter, Persistence, choice
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import Traits

_TRAITS = Traits(bounds="refused")


class RunValue(NamedTuple):
    """The value of a run, NaN without one, and the numbers that it is made of, in words."""

    value: float
    sums: str


@measure(
    "Coverage",
    names=("CatalogCoverage", "ItemCoverage"),
    traits=_TRAITS,
    range=(0, None),
    of="run",
)
def coverage(
    lists: Lists,
    k: Cutoff | None = None,
    *,
    of: Annotated[
        str,
        Parameter(
            "what it is a share of: the catalogue, the items of train; or the number itself",
            choice("catalogue", "train", "count"),
        ),
    ] = "catalogue",
) -> RunValue:
    """Coverage: the share of the catalogue that is in the list of any user.

    Items outside of a catalogue of ids do not count. recommenders' catalog_coverage is
    Coverage(of='count') divided by the items of train, and may exceed 1.

    Formula: distinct listed items / items of the catalogue
    Source: Ge, Delgado-Battenfeld & Jannach, RecSys 2010; RePlay Coverage (of='train')
    """
    is_listed = lists.counts(k) > 0
    if of == "train":
        is_had = lists.facts.popularity("users") > 0
        n_listed, n = int(np.count_nonzero(is_listed & is_had)), int(np.count_nonzero(is_had))
    else:
        n_listed, n = int(np.count_nonzero(_of_catalogue(lists, is_listed))), lists.facts.n_catalogue
    if of == "count":
        return RunValue(float(n_listed), f"{n_listed:,} distinct")
    return RunValue(n_listed / n if n else math.nan, f"{n_listed:,} distinct / {n or 0:,}")


def _of_catalogue(lists: Lists, values: Numbers) -> Numbers:
    """Return the values (n_items,) of the items that a catalogue of ids has, else of all."""
    in_catalogue = lists.facts.in_catalogue
    return values if in_catalogue is None else values[in_catalogue]


@measure(
    "Gini",
    names=Names(("GiniIndex", "ListGini"), variants={"ExposureGini": {"exposure": "rbp"}}),
    traits=_TRAITS,
    higher_is_better=False,
    of="run",
)
def gini(
    lists: Lists, k: Cutoff | None = None, *, exposure: Exposure = "none", p: Persistence = RBP_P
) -> RunValue:
    """Gini index: how unevenly lists are spread over the catalogue; 0 is evenly.

    Items of the catalogue that are in no list count, with 0. Elliot's Gini is 1 - Gini N / (N - 1);
    Evidently's leaves out items that are in no list.

    Formula: sum over items, least exposed first, of (2 j - N - 1) x_j / (N sum of x)
    Source: Gini 1912; Fleder & Hosanagar, Management Science 2009; LensKit ListGini, ExposureGini
    """
    x = np.sort(_of_catalogue(lists, lists.counts(k, exposure, p)))
    x, n = x[x > 0], lists.facts.n_catalogue or 0
    j = np.arange(n - len(x) + 1, n + 1)
    total, weighted_sum = x.sum(), ((2 * j - n - 1) * x).sum()
    text = f"{weighted_sum:,.10g} / ({n:,} * {total:,.10g})"
    return RunValue(float(weighted_sum / (n * total)) if total else math.nan, text)


@measure("Entropy", names=("distributional_coverage",), traits=_TRAITS, range=(0, None), of="run")
def entropy(
    lists: Lists, k: Cutoff | None = None, *, exposure: Exposure = "none", p: Persistence = RBP_P
) -> RunValue:
    """Entropy: how evenly lists are spread over the items that are listed, in bits.

    RecBole's ShannonEntropy is Entropy ln 2 / distinct items.

    Formula: - sum over items of share log2 share, of all listed items
    Source: Shannon 1948; recommenders distributional_coverage
    """
    x = lists.counts(k, exposure, p)
    share = np.sort(x[x > 0] / x.sum()) if x.any() else np.zeros(0)
    value = float(-(share * np.log2(share)).sum()) + 0.0 if len(share) else math.nan
    return RunValue(value, f"over {len(share):,} distinct")


@measure("Personalization", traits=_TRAITS, of="run")
def personalization(lists: Lists, k: Cutoff | None = None) -> RunValue:
    """Personalization: how unlike each other the lists of users are, in pairs.

    Formula: 1 - mean over pairs of users of common items / sqrt(product of both lengths)
    Source: Zhou et al., PNAS 2010; Evidently PersonalizationMetric
    """
    cut_lists = lists.cut(k)
    lengths = np.diff(cut_lists.starts)
    weight = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths)
    n, sums = int(np.count_nonzero(lengths)), np.bincount(cut_lists.item, weight)
    total = float((sums * sums).sum()) - n
    value = 1 - total / (n * (n - 1)) if n > 1 else math.nan
    return RunValue(value, f"1 - {total:,.10g} / ({n:,} * {n - 1:,})")


@measure(
    "PopLift",
    names=("popularity_lift",),
    traits=_TRAITS,
    range=(-1, None),
    higher_is_better=None,
    of="run",
)
def popularity_lift(lists: Lists, k: Cutoff | None = None) -> RunValue:
    """Popularity lift: how much more popular lists are than what their users had.

    Of users with a list and a history, by the users of each item.

    Formula: mean over users of the list's mean popularity / that of their history's - 1
    Source: Abdollahpouri et al., RecSys 2020
    """
    cut_lists, history = lists.cut(k), lists.facts.history[lists.user]
    users = lists.facts.popularity("users").astype(np.float64)
    ends = np.append(0, np.cumsum(users[cut_lists.item]))[cut_lists.starts]
    n_listed, n_had = np.diff(cut_lists.starts), np.diff(history.indptr)
    has_both = (n_listed > 0) & (n_had > 0)
    listed = (np.diff(ends)[has_both] / n_listed[has_both]).sum()
    had = ((history @ users)[has_both] / n_had[has_both]).sum()
    value = float(listed / had) - 1 if had else math.nan
    return RunValue(value, f"{listed:,.10g} / {had:,.10g} - 1, of {has_both.sum():,} users")


