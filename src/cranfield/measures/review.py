"""Measures for users who must find everything, and of what they read in vain."""

from typing import Annotated

import numpy as np

from cranfield.arrays.ranked import Floats, Ints, ratio
from cranfield.data.judged import Judged
from cranfield.errors import MeasureError
from cranfield.measures.parameters import Cutoff, Parameter, RecallPoint, Rel, whole_between
from cranfield.measures.registry import measure
from cranfield.measures.traits import BY_GRADE, Traits, depth_cut_reason

Collection = Annotated[
    int,
    Parameter(
        "the number of documents in the collection; 0: what was retrieved is all there is",
        whole_between(0),
    ),
]


def _collection_size(judged: Judged, collection: int) -> Ints:
    """Return the size of the collection, at least as many as were retrieved: (n_queries, 1)."""
    return np.maximum(judged.n_retrieved, collection) if collection else judged.n_retrieved


@measure(
    "AUC", names=("AUROC", "ROC_AUC"), traits=Traits(by_grade=depth_cut_reason, averages_ties=True)
)
def area_under_curve(judged: Judged, k: Cutoff | None = None, *, rel: Rel = 1) -> Floats:
    """Area under the ROC curve of the list retrieved: how often relevant is above nonrelevant.

    Of all pairs of a relevant and a nonrelevant document among those retrieved (in the first k).
    Unjudged documents count as nonrelevant; relevant ones that were not retrieved play no part. 1
    where only relevant ones were retrieved, 0 where none was. ties='expected' takes half of a tied
    pair, as scikit-learn does.

    Formula: 1 - pairs of a nonrelevant document above a relevant one / pairs of a relevant and
        a nonrelevant document, among those retrieved
    Source: Hanley & McNeil, Radiology 1982; ir_measures Accuracy
    """
    if (k is not None or judged.is_cut) and judged.ties in ("expected", "best", "worst"):
        raise MeasureError(f"AUC with ties={judged.ties!r}: leave out the cutoff and the depth")
    hits = judged.hits.relevant(rel).top(k)
    down_to = judged.n_retrieved if k is None else np.minimum(judged.n_retrieved, k)
    n_others = down_to - hits.count()
    rank = hits.mean_rank if judged.ties == "expected" else hits.rank
    nonrelevant_above = rank - hits.ordinal
    above = hits.total(nonrelevant_above)
    return np.where(hits.count() > 0, 1 - ratio(above, hits.count() * n_others), 0)


@measure(
    "FallOut",
    names=("fall_out", "false_positive_rate"),
    traits=Traits(of_sets=True, by_grade=depth_cut_reason),
    higher_is_better=False,
)
def fall_out(
    judged: Judged, k: Cutoff | None = None, *, collection: Collection = 0, rel: Rel = 1
) -> Floats:
    """Fall-out: the share of the nonrelevant documents that the first k ranks hold.

    Unjudged documents count as nonrelevant, retrieved or not. How many there are is the size of
    the collection less the relevant ones; without a size, of what was retrieved.

    Formula: nonrelevant documents in the first k / nonrelevant documents of the collection
    Source: Cleverdon, Mills & Keen, Aslib Cranfield 1966
    """
    hits = judged.hits.relevant(rel)
    down_to = judged.n_retrieved if k is None else np.minimum(judged.n_retrieved, k)
    n_relevant = judged.n_relevant(rel) if collection else hits.count()
    n_others = np.maximum(
        _collection_size(judged, collection) - n_relevant, down_to - hits.top(k).count()
    )
    return ratio(down_to - hits.top(k).count(), n_others)


@measure(
    "WSS",
    names=("work_saved",),
    traits=BY_GRADE,
    range=(-1, 1),
    perfect="a user who reads only what is relevant still reads that",
)
def work_saved(
    judged: Judged, recall: RecallPoint, *, collection: Collection = 0, rel: Rel = 1
) -> Floats:
    """Work saved over sampling: what a reader is spared who stops at recall x, beside chance.

    Reading at random down to recall x spares 1 - x of the collection; this is how much more the
    ranking spares. Where the run never reaches recall x, everything has to be read. Unjudged
    documents are read, and are not relevant.

    Formula: (N - documents read until recall x) / N - (1 - x), N = the size of the collection
    Source: Cohen, Hersh, Peterson & Yen, JAMIA 2006
    """
    hits, size = judged.hits.relevant(rel), _collection_size(judged, collection)
    hits_from_recall = hits.where(hits.ordinal / hits.spread(judged.n_relevant(rel)) >= recall)
    read = np.where(
        hits_from_recall.count() > 0, hits_from_recall.first(hits_from_recall.rank), size
    )
    read = np.where((judged.n_relevant(rel) > 0) & (recall > 0), read, 0)  # nothing to be found
    return ratio(size - read, size) - (1 - recall)


@measure(
    "LastRel",
    names=("last_rel",),
    traits=Traits(bounds="retrieved", by_grade=depth_cut_reason),
    range=(0, None),
    higher_is_better=False,
)
def last_relevant(judged: Judged, *, rel: Rel = 1) -> Floats:
    """The rank of the last relevant document retrieved: how far down one has to read for all.

    For all that were retrieved, that is: ask for recall, too. 0 where nothing relevant was.
    Unjudged documents count as not relevant.

    Formula: rank of the last relevant document retrieved
    Source: Grossman, Cormack & Roegiest, TREC Total Recall 2016; CLEF TAR last_rel
    """
    hits = judged.hits.relevant(rel)
    return hits.maximum(hits.rank)


@measure(
    "SearchLength",
    names=("search_length",),
    traits=BY_GRADE,
    range=(0, None),
    higher_is_better=False,
)
def search_length(
    judged: Judged,
    *,
    n: Annotated[int, Parameter("how many relevant documents are wanted", whole_between(1))] = 1,
    rel: Rel = 1,
) -> Floats:
    """Search length: how many nonrelevant documents are read before the n-th relevant one.

    Unjudged documents count as nonrelevant. Where fewer than n relevant ones were retrieved, all
    others that were are read in vain.

    Formula: nonrelevant documents above the n-th relevant one
    Source: Cooper, American Documentation 1968
    """
    hits = judged.hits.relevant(rel)
    nth_hit = hits.where(hits.ordinal == n)
    in_vain = judged.n_retrieved - hits.count()
    return np.where(nth_hit.count() > 0, nth_hit.first(nth_hit.rank - n), in_vain)
