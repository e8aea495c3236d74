"""Measures of lists: of those of all users together, a number for a run, and of each user's."""

import math
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from cranfield.arrays.elementary import log2
from cranfield.arrays.ranked import Floats, Ints, Numbers, Ranked, ratio
from cranfield.extensions.lists.user_lists import Lists, weigh_ranks
from cranfield.measures.parameters import (
    Cutoff,
    Parameter,
    Persistence,
    Rel,
    between,
    choice,
    optional,
)
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import Traits
from cranfield.options import check_flag

_measure = partial(measure, traits=Traits(bounds="refused"), of="lists")
_run_measure = partial(measure, traits=Traits(bounds="refused"), of="run")
K = Cutoff | None
Over = Annotated[str, Parameter("what is divided by", choice("returned", "cutoff"))]
Exposure = Annotated[
    str,
    Parameter(
        "what a rank is worth: all 1, 1 / log2(rank + 1), 1 / log2(max(rank, 2)), p^(rank - 1)",
        choice("none", "log2", "jk", "rbp"),
    ),
]


class RunValue(NamedTuple):
    """The value of a run, NaN without one, and the numbers that it is made of, in words."""

    value: float
    sums: str


def _select_catalogue(lists: Lists, values: Numbers) -> Numbers:
    """Return the values (n_items,) of the items of a catalogue of ids, else of all."""
    in_catalogue = lists.facts.in_catalogue
    return values if in_catalogue is None else values[in_catalogue]


_Whole = Annotated[
    str, Parameter("what it is a share of, or the number", choice("catalogue", "train", "count"))
]


@_run_measure("Coverage", names=("CatalogCoverage", "ItemCoverage"))
def coverage(lists: Lists, k: K = None, *, of: _Whole = "catalogue") -> RunValue:
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


@_run_measure(
    "Gini",
    names=Names(("GiniIndex", "ListGini"), variants={"ExposureGini": {"exposure": "rbp"}}),
    higher_is_better=False,
)
def gini(
    lists: Lists, k: K = None, *, exposure: Exposure = "none", p: Persistence = 0.85
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


@_run_measure("Entropy", names=("distributional_coverage",), range=(0, None))
def entropy(
    lists: Lists, k: K = None, *, exposure: Exposure = "none", p: Persistence = 0.85
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


@_run_measure("Personalization")
def personalization(lists: Lists, k: K = None) -> RunValue:
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


@_run_measure("PopLift", names=("popularity_lift",), range=(-1, None), higher_is_better=None)
def popularity_lift(lists: Lists, k: K = None) -> RunValue:
    """Popularity lift: how much more popular lists are than what their users had.

    Formula: mean of the list's mean users of an item / mean of the history's - 1; users with both
    Source: Abdollahpouri et al., RecSys 2020
    """
    lists, users, means = lists.cut_lists(k), lists.facts.table("users"), []
    have_history = (lists.lengths > 0) & (lists.history.lengths > 0)
    for part in (lists.take_users(have_history), lists.history.take_users(have_history)):
        sums = np.diff(np.append(0, np.cumsum(users[part.item_code]))[part.starts])
        means.append(float((sums / part.lengths).sum()))
    list_mean, history_mean = means
    value = list_mean / history_mean - 1 if history_mean else math.nan
    return RunValue(value, f"{list_mean:,.10g} / {history_mean:,.10g} - 1, sums over users")


# ---- a number for each user ----------------------------------------------------------------------


def average(items: Ranked, values: Numbers) -> Floats:
    """Return the mean over the items of each list: (n_users, 1); NaN of an empty list."""
    n_items = items.count()
    return np.where(n_items > 0, ratio(items.total(values), n_items), np.nan)


def _length(items: Ranked, k: Ints | None, over: str) -> Ints:
    """Return what a sum over a list is divided by: its length, or the cutoff if there is one."""
    return items.count() if k is None or over == "returned" else k


_Popularity = Annotated[
    str,
    Parameter(
        "how often an item was had, by how many, as a share, or its mean rank among all",
        choice("interactions", "users", "share", "percentile"),
    ),
]


@_measure(
    "ARP",
    names=Names(
        ("AvgRecPopularity", "AveragePopularity"), variants={"MeanPopRank": {"by": "percentile"}}
    ),
    range=(0, None),
    higher_is_better=None,
)
def average_popularity(lists: Lists, k: K = None, *, by: _Popularity = "interactions") -> Floats:
    """Average popularity of the list: how often its items were had; 0 of what nobody had.

    Formula: mean over the list of the rows of the item in train
    Source: Yin et al., PVLDB 2012; RecTools AvgRecPopularity, LensKit MeanPopRank (by='percentile')
    """
    items = lists.items.top(k)
    popularity = lists.look_up_items(items, by if by in ("users", "percentile") else "rows")
    mean = average(items, popularity)
    return mean / lists.size("rows of train") if by == "share" else mean


_Shared = Annotated[str, Parameter("what is shared out", choice("interactions", "items"))]
_TAIL = "the share of interactions, or of items, that is the tail"
_Tail = Annotated[float, Parameter(_TAIL, between(0, 1))]


@_measure("APLT", names=Names(variants={"TailPercentage": {"by": "items", "tail": 0.1}}))
def tail_share(
    lists: Lists, k: K = None, *, by: _Shared = "interactions", tail: _Tail = 0.2
) -> Floats:
    """Share of the list in the long tail: what nobody had, and all but the head.

    The head are the items with the most users, as long as those before have less than 1 - tail of
    all pairs of user and item. by='items': the tail's share of items, those least often had.

    Formula: listed items in the tail / listed items
    Source: Abdollahpouri, Burke & Mobasher, FLAIRS 2019; RecBole TailPercentage (by='items')
    """
    items = lists.items.top(k)
    in_tail = lists.look_up_items(items, "tail", by, tail) > 0
    return average(items, in_tail * 1)


_Rare = Annotated[str, Parameter("what is rare", choice("users", "interactions"))]
_UNSEEN = "an item that nobody had counts as if one user had, adds 0, or is left out"
_Unseen = Annotated[str, Parameter(_UNSEEN, choice("one", "zero", "skip"))]
_SCALE = "'users': divided by log2 of all users"
_Scale = Annotated[str | None, Parameter(_SCALE, optional(choice("users")))]


@_measure(
    "Novelty",
    names=Names(
        ("MIUF", "MeanInvUserFreq"), variants={"Surprisal": {"scale": "users", "over": "cutoff"}}
    ),
    range=(0, None),
)
def novelty(
    lists: Lists,
    k: K = None,
    *,
    of: _Rare = "users",
    unseen: _Unseen = "one",
    over: Over = "returned",
    scale: _Scale = None,
) -> Floats:
    """Novelty: how rare the items of the list are among users, in bits.

    RePlay's Novelty is 1 - Seen over the users of train; that of recommenders
    Novelty(of='interactions', unseen='zero'), weighted by the length of lists.

    Formula: mean over the list of -log2(users of the item / users of train)
    Source: Zhou et al., PNAS 2010; RecTools MeanInvUserFreq, RePlay Surprisal, Evidently ('skip')
    """
    items = lists.items.top(k)
    if unseen == "skip":
        items = items.where(lists.look_up_items(items, "users") > 0)
    n_all = lists.size("users of train" if of == "users" else "rows of train")
    n_had = lists.look_up_items(items, "users" if of == "users" else "rows")
    rarity = log2(items.spread(n_all)) - log2(np.maximum(n_had, 1))
    if unseen == "zero":
        rarity = np.where(n_had > 0, rarity, 0)
    mean = ratio(items.total(rarity), _length(items, k, over))
    value = np.where(items.count() > 0, mean, np.nan)
    return value if scale is None else ratio(value, log2(lists.size("users of train")))


_DISTANCE = "1 - cosine of vectors; of categories, 1 - shared / all, or how many one of both has"
_Distance = Annotated[str, Parameter(_DISTANCE, choice("cosine", "jaccard", "hamming"))]


@_measure("ILD", names=("IntraListDiversity",), range=(0, None))
def intra_list_diversity(lists: Lists, k: K = None, *, distance: _Distance = "cosine") -> Floats:
    """Intra-list diversity: how unlike each other the items of a list are; 0 of one item.

    Evidently's Diversity is ILD (n - 1) / 2.

    Formula: mean distance of the pairs of listed items that both have features
    Source: Ziegler et al., WWW 2005; RecTools IntraListDiversity (distance='hamming')
    """
    items = lists.items.top(k)
    n_items = items.count()
    value = np.where(n_items == 1, 0.0, lists.pair_distance(items, distance))
    return np.where(n_items > 0, value, np.nan)


_VALUE = "distinct / k, distinct, distinct / all categories, or the entropy in bits"
_Value = Annotated[str, Parameter(_VALUE, choice("share", "count", "all", "entropy"))]


@_measure("Categories", names=("CategoricalDiversity",), range=(0, None))
def categories(lists: Lists, k: K = None, *, value: _Value = "share") -> Floats:
    """Categories of the list: how many different ones its items have.

    For the entropy, an item is split equally over its own.

    Formula: distinct categories / k
    Source: RePlay CategoricalDiversity; LensKit entropy (value='entropy')
    """
    items = lists.items.top(k)
    if value == "entropy":
        return lists.category_entropy(items)
    n_distinct, divisor = lists.distinct_categories(items), items.count() * 0 + 1
    if value != "count":
        divisor = lists.size("categories") if value == "all" else _length(items, k, "cutoff")
    return np.where(items.count() > 0, ratio(n_distinct, divisor), np.nan)


@_measure("Calibration", names=("miscalibration",), range=(0, None), higher_is_better=False)
def calibration(
    lists: Lists,
    k: K = None,
    *,
    distance: Annotated[str, Parameter("of p and q, in bits", choice("kl", "js"))] = "kl",
    a: Annotated[float, Parameter("how much of p is put into q", between(0, 1))] = 0.01,
    exposure: Exposure = "none",
) -> Floats:
    """Miscalibration: how far categories in the list, q, are from those in the history, p.

    Of shares, where an item is split equally over its own. js is the Jensen-Shannon divergence.

    Formula: sum over categories of p log2(p / ((1 - a) q + a p))
    Source: Steck, RecSys 2018
    """
    items = lists.items.top(k)
    return lists.miscalibration(items, weigh_ranks(items.rank, exposure), distance, a)


_Trait = Annotated[str, Parameter("of items", choice("popularity", "features"))]


@_measure("Serendipity")
def serendipity(lists: Lists, k: K = None, *, by: _Trait = "popularity", rel: Rel = 1) -> Floats:
    """Serendipity: relevant items that surprise, by popularity or by vectors.

    P = (N + 1 - r) / N of an item of dense rank r by rows of train, 0 of what nobody had; P_u that
    of its rank in the list. by='features': 1 - mean cosine to the user's history.

    Formula: mean over the list of max(P_u - P, 0) of relevant items, 0 of others
    Source: Zhang et al., WSDM 2012; RecTools Serendipity, recommenders (by='features')
    """
    items = lists.items.top(k)
    if by == "features":
        surprise = lists.strangeness(items)
        items, surprise = items.where(surprise == surprise), surprise[surprise == surprise]
    else:
        n_all = items.spread(lists.size("catalogue"))
        popularity = lists.look_up_items(items, "popularity")
        surprise = np.maximum((n_all + 1 - items.rank) / n_all - popularity, 0)
    return average(items, np.where(items.judged & (items.grade >= rel), surprise, 0))


@_measure("Unexpectedness")
def unexpectedness(lists: Lists, k: K = None, *, over: Over = "returned") -> Floats:
    """Unexpectedness: the share of the list that another run, the base, does not have.

    A user without a list of the base has no value. RecTools' Intersection is 1 - Unexpectedness.

    Formula: 1 - items in the first k of both / listed items, or / k with over='cutoff'
    Source: Adamopoulos & Tuzhilin, ACM TIST 2014; RePlay Unexpectedness (over='cutoff')
    """
    items = lists.items.top(k)
    rank_in_base = lists.look_up_pairs(items, "base")
    is_common = (rank_in_base > 0) & (rank_in_base <= (np.inf if k is None else k[0, 0]))
    share = ratio(items.total(is_common * 1), _length(items, k, over))
    return np.where((items.count() > 0) & lists.has_user("base"), 1 - share, np.nan)


@_measure("Seen", higher_is_better=None)
def seen_share(lists: Lists, k: K = None) -> Floats:
    """Share of the list that the user had before.

    Formula: listed items in the user's train / listed items
    Source: RePlay Novelty, 1 less this
    """
    items = lists.items.top(k)
    was_had = lists.look_up_pairs(items, "train") > 0
    return average(items, was_had * 1)


_Full = Annotated[bool, Parameter("only full lists count, 1", check_flag)]


@_measure("Filled", names=Names(variants={"SufficientReco": {"full": True}}))
def filled_share(lists: Lists, k: Cutoff, *, full: _Full = False) -> Floats:
    """Share of the first k places that the list fills.

    Formula: listed items / k
    Source: RecTools SufficientReco
    """
    n_items = lists.items.top(k).count()
    return np.where(n_items > 0, (n_items == k) * 1.0 if full else n_items / k, np.nan)


@_measure("UserCoverage", names=("CoveredUsers",))
def user_coverage(lists: Lists, k: K = None) -> Floats:
    """User coverage: the share of all users who have a list.

    Formula: 1 of a user with a list, 0 of a user without
    Source: RecTools CoveredUsers
    """
    n_items = lists.items.top(k).count()
    return np.where(lists.has_user("users"), (n_items > 0) * 1.0, np.nan)
