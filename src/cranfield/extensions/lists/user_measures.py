"""Measures of the list of each user: popularity, novelty, diversity, serendipity."""

from typing import Annotated

import numpy as np

from cranfield.arrays.elementary import log2
from cranfield.arrays.ranked import Floats, Ints, Numbers, Ranked, ratio
from cranfield.extensions.lists.lists import Exposure, Lists, weigh_ranks
from cranfield.measures.parameters import Cutoff, Parameter, Rel, between, choice, optional
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import Traits
from cranfield.options import check_flag

_TRAITS = Traits(bounds="refused")
_TAIL = "the share of interactions, or of items, that is the tail"
Over = Annotated[str, Parameter("what is divided by", choice("returned", "cutoff"))]


def average(items: Ranked, values: Numbers) -> Floats:
    """Return the mean over the items of each list: (n_users, 1); NaN of an empty list."""
    n_items = items.count()
    return np.where(n_items > 0, ratio(items.total(values), n_items), np.nan)


def _length(items: Ranked, k: Ints | None, over: str) -> Ints:
    """Return what a sum over a list is divided by: its length, or the cutoff if there is one."""
    return items.count() if k is None or over == "returned" else k


@measure(
    "ARP",
    names=Names(
        ("AvgRecPopularity", "AveragePopularity"), variants={"MeanPopRank": {"by": "percentile"}}
    ),
    traits=_TRAITS,
    range=(0, None),
    higher_is_better=None,
    of="lists",
)
def average_popularity(
    lists: Lists,
    k: Cutoff | None = None,
    *,
    by: Annotated[
        str,
        Parameter(
            "what is averaged: how often an item was had, by how many users, its share of all "
            "interactions, or its mean rank by users among the items of train, as a share",
            choice("interactions", "users", "share", "percentile"),
        ),
    ] = "interactions",
) -> Floats:
    """Average popularity of the list: how often its items were had before.

    An item that nobody had counts 0.

    Formula: mean over the list of f, the item's rows in train
    Source: Yin et al., PVLDB 2012; RecTools AvgRecPopularity, LensKit MeanPopRank (by='percentile')
    """
    items = lists.items.top(k)
    if by == "percentile":
        return average(items, lists.percentile(items))
    if by == "users":
        return average(items, lists.users(items))
    popularity = average(items, lists.interactions(items))
    return popularity / lists.n_interactions if by == "share" else popularity


@measure(
    "APLT",
    names=Names(variants={"TailPercentage": {"by": "items", "tail": 0.1}}),
    traits=_TRAITS,
    of="lists",
)
def tail_share(
    lists: Lists,
    k: Cutoff | None = None,
    *,
    by: Annotated[
        str, Parameter("what the tail is a share of", choice("interactions", "items"))
    ] = "interactions",
    tail: Annotated[float, Parameter(_TAIL, between(0, 1))] = 0.2,
) -> Floats:
    """Share of the list in the long tail: items that are not in the head.

    The head are the items with the most users, while those before have less than 1 - tail of all
    pairs of user and item; by='items', all but the tail's share of items, the least often had.
    Items that nobody had are tail.

    Formula: listed items in the tail / listed items
    Source: Abdollahpouri, Burke & Mobasher, FLAIRS 2019; RecBole TailPercentage (by='items')
    """
    items = lists.items.top(k)
    in_tail = lists.in_tail(items, by, tail)
    return average(items, in_tail * 1)


@measure(
    "Novelty",
    names=Names(
        ("MIUF", "MeanInvUserFreq"), variants={"Surprisal": {"scale": "users", "over": "cutoff"}}
    ),
    traits=_TRAITS,
    range=(0, None),
    of="lists",
)
def novelty(
    lists: Lists,
    k: Cutoff | None = None,
    *,
    of: Annotated[
        str, Parameter("what a share is taken of", choice("users", "interactions"))
    ] = "users",
    unseen: Annotated[
        str,
        Parameter(
            "an item that nobody had: as if one user had; adds 0; or is left out",
            choice("one", "zero", "skip"),
        ),
    ] = "one",
    over: Over = "returned",
    scale: Annotated[
        str | None, Parameter("'users': divided by log2 of all users", optional(choice("users")))
    ] = None,
) -> Floats:
    """Novelty: how rare the items of the list are, in bits.

    RePlay calls another number novelty: 1 - Seen. That of recommenders is
    Novelty(of='interactions', unseen='zero'), each list weighted by its length.

    Formula: mean over the list of -log2(users of the item / users of train)
    Source: Zhou et al., PNAS 2010; RecTools MeanInvUserFreq, RePlay Surprisal (scale='users')
    """
    items = lists.items.top(k)
    if unseen == "skip":
        items = items.where(lists.users(items) > 0)
    n_all = lists.n_users if of == "users" else lists.n_interactions
    n_had = lists.users(items) if of == "users" else lists.interactions(items)
    rarity = log2(items.spread(n_all)) - log2(np.maximum(n_had, 1))
    if unseen == "zero":
        rarity = np.where(n_had > 0, rarity, 0)
    length = _length(items, k, over)
    value = np.where(items.count() > 0, ratio(items.total(rarity), length), np.nan)
    return value if scale is None else ratio(value, log2(lists.n_users))


@measure("ILD", names=("IntraListDiversity",), traits=_TRAITS, range=(0, None), of="lists")
def intra_list_diversity(
    lists: Lists,
    k: Cutoff | None = None,
    *,
    distance: Annotated[
        str,
        Parameter(
            "1 - cosine of vectors; of categories 1 - shared / all, or how many one of both has",
            choice("cosine", "jaccard", "hamming"),
        ),
    ] = "cosine",
) -> Floats:
    """Intra-list diversity: how unlike each other the items of a list are, in pairs.

    Pairs of items without features do not count; a list of one item has 0. Evidently's Diversity
    is ILD (n - 1) / 2.

    Formula: mean over the pairs of the list of their distance
    Source: Ziegler et al., WWW 2005; RecTools IntraListDiversity (distance='hamming')
    """
    items = lists.items.top(k)
    n_items = items.count()
    value = np.where(n_items == 1, 0.0, lists.pair_distance(items, distance))
    return np.where(n_items > 0, value, np.nan)


@measure("Categories", names=("CategoricalDiversity",), traits=_TRAITS, range=(0, None), of="lists")
def categories(
    lists: Lists,
    k: Cutoff | None = None,
    *,
    value: Annotated[
        str,
        Parameter(
            "their number as a share of k, the number, the share of all categories, or the entropy "
            "in bits, where an item is split equally over its own",
            choice("share", "count", "all", "entropy"),
        ),
    ] = "share",
) -> Floats:
    """Categories of the list: how many different ones its items have.

    Formula: distinct categories / k
    Source: RePlay CategoricalDiversity; LensKit entropy (value='entropy')
    """
    items = lists.items.top(k)
    has_items = items.count() > 0
    if value == "entropy":
        return np.where(has_items, lists.category_entropy(items), np.nan)
    n_distinct = lists.distinct_categories(items)
    divisor = {"share": _length(items, k, "cutoff"), "count": np.array([[1]])}
    return np.where(has_items, ratio(n_distinct, divisor.get(value, lists.n_categories)), np.nan)


@measure(
    "Calibration",
    names=("miscalibration",),
    traits=_TRAITS,
    range=(0, None),
    higher_is_better=False,
    of="lists",
)
def calibration(
    lists: Lists,
    k: Cutoff | None = None,
    *,
    distance: Annotated[
        str, Parameter("Kullback-Leibler, or Jensen-Shannon", choice("kl", "js"))
    ] = "kl",
    a: Annotated[float, Parameter("the share of p in q, so that none is 0", between(0, 1))] = 0.01,
    exposure: Exposure = "none",
) -> Floats:
    """Miscalibration: how far the categories of the list are from those of the history, in bits.

    Of p, the shares of categories in what the user had, and q, in the list; an item counts
    equally for each of its categories. Without categories on a side, there is no value.

    Formula: sum over categories of p log2(p / ((1 - a) q + a p))
    Source: Steck, RecSys 2018
    """
    items = lists.items.top(k)
    return lists.miscalibration(items, weigh_ranks(items.rank, exposure), distance, a)


@measure("Serendipity", traits=_TRAITS, of="lists")
def serendipity(
    lists: Lists,
    k: Cutoff | None = None,
    *,
    by: Annotated[
        str, Parameter("what makes an item a surprise", choice("popularity", "features"))
    ] = "popularity",
    rel: Rel = 1,
) -> Floats:
    """Serendipity: relevant items that are a surprise, by popularity or by their vectors.

    P = (N + 1 - r) / N of an item of dense rank r by interactions, 0 of one that nobody had, and
    P_u that of the item's rank in the list. by='features': 1 - mean cosine to the history.

    Formula: mean over the list of max(P_u - P, 0) of relevant items, 0 of others
    Source: Zhang et al., WSDM 2012; RecTools Serendipity, recommenders (by='features')
    """
    items = lists.items.top(k)
    if by == "features":
        items = items.where(lists.is_comparable(items))
        surprise = lists.strangeness(items)
    else:
        surprise = lists.surprise(items)
    return average(items, np.where(items.judged & (items.grade >= rel), surprise, 0))


@measure("Unexpectedness", traits=_TRAITS, of="lists")
def unexpectedness(lists: Lists, k: Cutoff | None = None, *, over: Over = "returned") -> Floats:
    """Unexpectedness: the share of the list that another run does not have for the user.

    A user without a list of that run has no value. RecTools' Intersection is 1 - Unexpectedness.

    Formula: 1 - common items of both lists / length of the list, or k with over='cutoff'
    Source: Adamopoulos & Tuzhilin, ACM TIST 2014; RePlay Unexpectedness (over='cutoff')
    """
    items = lists.items.top(k)
    n_common = items.total(lists.in_base(items, k) * 1)
    has_both = (items.count() > 0) & lists.has_base
    return np.where(has_both, 1 - ratio(n_common, _length(items, k, over)), np.nan)


@measure("Seen", traits=_TRAITS, higher_is_better=None, of="lists")
def seen_share(lists: Lists, k: Cutoff | None = None) -> Floats:
    """Share of the list that the user had before: in train.

    RePlay's Novelty is 1 - Seen over the users of train, 1 of a user without a list.

    Formula: listed items in the user's train / listed items
    Source: RePlay Novelty
    """
    items = lists.items.top(k)
    known = lists.known(items)
    return average(items, known * 1)


@measure(
    "Filled", names=Names(variants={"SufficientReco": {"full": True}}), traits=_TRAITS, of="lists"
)
def filled_share(
    lists: Lists,
    k: Cutoff,
    *,
    full: Annotated[bool, Parameter("whether a list counts only if it is full", check_flag)] = False,
) -> Floats:
    """Filled: how much of the first k places the list fills.

    Formula: listed items / k; with full, 1 for k listed items, else 0
    Source: RecTools SufficientReco
    """
    n_items = lists.items.top(k).count()
    return np.where(n_items > 0, (n_items == k) * 1.0 if full else n_items / k, np.nan)


@measure("UserCoverage", names=("CoveredUsers",), traits=_TRAITS, of="lists")
def user_coverage(lists: Lists, k: Cutoff | None = None) -> Floats:
    """User coverage: the share of all users who have a list.

    Formula: 1 of a user with a list, 0 of one without
    Source: RecTools CoveredUsers
    """
    n_items = lists.items.top(k).count()
    return np.where(lists.is_expected, (n_items > 0) * 1.0, np.nan)


