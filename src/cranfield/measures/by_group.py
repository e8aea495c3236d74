"""Measures of judgments in groups: averages over groups, and preferences.

A group is a set of judgments of its own for a query: those of one user, or for one facet of the
need. Plain judgments are one group.
"""

from functools import partial
from typing import Annotated, Literal

import numpy as np

from cranfield.arrays.ranked import Floats, ratio
from cranfield.data.judged import Judged
from cranfield.data.preferences import PreferenceSet
from cranfield.measures.average_precision import ALL_RELEVANT_REASON, average_precision
from cranfield.measures.gain import TREC_CUTOFFS
from cranfield.measures.parameters import Cutoff, Parameter, Rel, choice
from cranfield.measures.precision import MULTIPLES, Multiple, precision, r_precision
from cranfield.measures.registry import Names, measure
from cranfield.measures.sets import count_measure
from cranfield.measures.traits import Traits, depth_cut_reason

GROUP_TRAITS = Traits(takes_groups=True, by_grade=True)
PREFERENCE_TRAITS = Traits(takes_groups=True, by_grade=depth_cut_reason, fractions="taken")
_preference_measure = partial(
    measure,
    traits=PREFERENCE_TRAITS,
    perfect="where all grades are equal, nothing is preferred, and it is 0",
)


@measure("GroupAP", names=("map_avgjg",), traits=GROUP_TRAITS, perfect_cut=ALL_RELEVANT_REASON)
def group_average_precision(judged: Judged, k: Cutoff | None = None, *, rel: Rel = 1) -> Floats:
    """Average precision against each judgment group's own judgments, averaged over the groups.

    A group without relevant documents counts as 0. With plain judgments it is AP. Unjudged
    documents count as not relevant.

    Formula: mean over judgment groups of AP
    Source: trec_eval map_avgjg
    """
    AP = average_precision(judged.groups.judged, k, rel=rel)  # noqa: N806 - its name
    return judged.groups.mean(AP)


@measure(
    "GroupP",
    names=Names(families={"P_avgjg": TREC_CUTOFFS}),
    traits=GROUP_TRAITS,
    perfect="with fewer than k relevant documents, even a perfect ranking has others",
)
def group_precision(judged: Judged, k: Cutoff, *, rel: Rel = 1) -> Floats:
    """Precision against each judgment group's own judgments, averaged over the groups.

    Unjudged documents count as not relevant.

    Formula: mean over judgment groups of P@k
    Source: trec_eval P_avgjg
    """
    precision_ = precision(judged.groups.judged, k, rel=rel)
    return judged.groups.mean(precision_)


@measure(
    "GroupRprec",
    names=Names(
        families={"Rprec_mult_avgjg": MULTIPLES}, parameter={"rprec_mult_avgjg": "multiple"}
    ),
    traits=GROUP_TRAITS,
)
def group_r_precision(judged: Judged, *, multiple: Multiple = 1.0, rel: Rel = 1) -> Floats:
    """R-precision against each judgment group's own judgments, averaged over the groups.

    Unjudged documents count as not relevant.

    Formula: mean over judgment groups of Rprec
    Source: trec_eval Rprec_mult_avgjg
    """
    r_precision_ = r_precision(judged.groups.judged, multiple=multiple, rel=rel)
    return judged.groups.mean(r_precision_)


# ---- preferences ----------------------------------------------------------------------------


_OverPreferences = Annotated[
    PreferenceSet,
    Parameter(
        "which preferences count: 'all', also between two documents that were not retrieved; "
        "'implied', at least one was; 'retrieved', both were",
        choice("all", "implied", "retrieved"),
    ),
]


def _preference_names(name: str) -> Names:
    """Return trec_eval's names of a measure: over all, implied and retrieved preferences."""
    return Names(
        (name,), variants={f"{name}_imp": {"over": "implied"}, f"{name}_ret": {"over": "retrieved"}}
    )


@count_measure(
    "NumPrefs", names=("prefs_num_prefs_poss",), traits=PREFERENCE_TRAITS, higher_is_better=None
)
def n_preferences(judged: Judged, *, over: _OverPreferences = "all") -> Floats:
    """The number of preferences: pairs of documents of which a group judged one better.

    Unjudged documents are in no preference, and are passed over.

    Formula: preferences in the judgments
    Source: trec_eval prefs_num_prefs_poss
    """
    preferences = judged.preferences
    return preferences.total(preferences.group_counts.count_possible(over))


@count_measure(
    "NumPrefsFul",
    names=Names(
        ("prefs_num_prefs_ful",), variants={"prefs_num_prefs_ful_ret": {"over": "retrieved"}}
    ),
    traits=PREFERENCE_TRAITS,
)
def n_preferences_fulfilled(judged: Judged, *, over: _OverPreferences = "all") -> Floats:
    """The number of preferences fulfilled: the better document is above the other.

    A document that was not retrieved is below all that were. Unjudged documents are in no
    preference, and are passed over.

    Formula: preferences that the run fulfils
    Source: trec_eval prefs_num_prefs_ful, prefs_num_prefs_ful_ret
    """
    preferences = judged.preferences
    return preferences.total(preferences.group_counts.count_fulfilled(over))


@_preference_measure("Prefs", names=_preference_names("prefs_simp"))
def preferences_fulfilled(judged: Judged, *, over: _OverPreferences = "all") -> Floats:
    """The share of preferences that the run fulfils, all groups' together.

    With plain judgments every grade is preferred to every lower one. 0 for a query without
    preferences. Unjudged documents are in no preference, and are passed over.

    Formula: preferences fulfilled / preferences, of all groups together
    Source: Carterette & Bennett, SIGIR 2008; trec_eval prefs_simp, prefs_simp_imp,
        prefs_simp_ret
    """
    preferences = judged.preferences
    counts = preferences.group_counts
    return ratio(
        preferences.total(counts.count_fulfilled(over)),
        preferences.total(counts.count_possible(over)),
    )


@_preference_measure("PrefsByPair", names=_preference_names("prefs_pair"))
def preferences_by_pair(judged: Judged, *, over: _OverPreferences = "all") -> Floats:
    """The share of preferences fulfilled, pair by pair: groups that disagree share a pair.

    The mean over all pairs of documents of which any group prefers one. 0 for a query without
    preferences. Unjudged documents are in no preference, and are passed over.

    Formula: mean over pairs of documents of the share of groups' preferences that are
        fulfilled
    Source: trec_eval prefs_pair, prefs_pair_imp, prefs_pair_ret
    """
    pairs = judged.preferences.pairs()
    return ratio(pairs.count_fulfilled(over), pairs.count_possible(over))


@_preference_measure("PrefsByGroup", names=_preference_names("prefs_avgjg"))
def preferences_by_group(judged: Judged, *, over: _OverPreferences = "all") -> Floats:
    """The share of preferences fulfilled, averaged over the groups; one without any counts as 0.

    Unjudged documents are in no preference, and are passed over.

    Formula: mean over judgment groups of preferences fulfilled / preferences
    Source: trec_eval prefs_avgjg, prefs_avgjg_imp, prefs_avgjg_ret
    """
    preferences = judged.preferences
    counts = preferences.group_counts
    share = ratio(counts.count_fulfilled(over), counts.count_possible(over))
    return ratio(preferences.total(share), preferences.count())


@measure(
    "PrefsRnonrel",
    names=Names(
        ("prefs_avgjg_Rnonrel",), variants={"prefs_avgjg_Rnonrel_ret": {"over": "retrieved"}}
    ),
    traits=PREFERENCE_TRAITS,
    perfect="nonrelevant documents are held against each other, see below",
)
def preferences_balanced(
    judged: Judged,
    *,
    over: Annotated[
        Literal["all", "retrieved"],
        Parameter(
            "'all' preferences, or those between 'retrieved' documents", choice("all", "retrieved")
        ),
    ] = "all",
) -> Floats:
    """The share of preferences fulfilled with R nonrelevant documents, averaged over the groups.

    R is the number of relevant documents, those with a level above 0. Of more nonrelevant ones, the
    first R by rank are kept; if there are fewer, every relevant document retrieved fulfils a
    preference to each that is missing. Where nonrelevant ones were left out of a group without
    subgroups, trec_eval also counts each of the kept as if every nonrelevant one were preferred to
    it, and so does this measure: it has trec_eval's value, not the one that its description gives.
    Unjudged documents are in no preference, and are passed over.

    Formula: mean over judgment groups of preferences fulfilled / preferences, with as many
        nonrelevant documents (level 0) as relevant ones
    Source: trec_eval prefs_avgjg_Rnonrel, prefs_avgjg_Rnonrel_ret
    """
    groups, n_retrieved = judged.preferences, judged.preferences.n_nonrelevant_retrieved
    if over == "retrieved":
        counts, r, n = groups.first_retrieved_counts, groups.n_relevant_retrieved, n_retrieved
    else:
        counts, r, n = groups.first_counts, groups.n_relevant, groups.n_nonrelevant
    missing = np.maximum(r - n, 0)
    # Each of the r kept is held against all n: those above it, retrieved, count as fulfilled.
    crowded = (n > r) * groups.is_ordered
    above = np.minimum(r, n_retrieved)
    held_against_them = above * (above - 1) // 2 + (r - above) * n_retrieved
    fulfilled = counts.count_fulfilled(over) + missing * groups.n_relevant_retrieved
    possible = counts.count_possible(over) + missing * groups.n_relevant
    share = ratio(fulfilled + crowded * held_against_them, possible + crowded * r * n)
    return ratio(groups.total(share), groups.count())
