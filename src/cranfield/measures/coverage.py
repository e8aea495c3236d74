"""Measures of how much of a ranking is judged, and of its grades."""

from dataclasses import replace

import numpy as np

from cranfield.arrays.ranked import Floats, Texts, ratio
from cranfield.data.judged import Judged
from cranfield.measures.parameters import Cutoff
from cranfield.measures.registry import Names, measure
from cranfield.measures.traits import NOT_OF_GRADES, Traits


@measure("Judged", traits=replace(NOT_OF_GRADES, averages_ties=True), higher_is_better=None)
def judged_share(judged: Judged, k: Cutoff | None = None) -> Floats:
    """Judged: the share of what was retrieved (in the first k) that carries a judgment.

    Every grade counts as judged, a negative one too, except of a sample (a column `stratum`). Low
    values warn that the other measures count documents as not relevant that nobody has looked at.

    Every unjudged document lowers it; relevant ones that were not retrieved play no part.

    Formula: judged documents in the first k / min(k, retrieved)
    Source: ir_measures Judged (MacAvaney et al., ECIR 2022)
    """
    retrieved = judged.n_retrieved if k is None else np.minimum(k, judged.n_retrieved)
    hits, is_sample = judged.hits, "stratum" in judged.hits.columns
    if judged.ties == "expected":  # the judged ones of a score are spread evenly over its places
        worth = np.where(hits.grade < 0, 1.0 - is_sample, 1.0)
        return ratio(judged.tie_places(worth, k).expected_worth(), retrieved)
    return ratio((hits.relevant(0) if is_sample else hits).top(k).count(), retrieved)


@measure(
    "Unjudged",
    names=Names(("unj",), families={"unj": (5, 10, 20)}),
    traits=NOT_OF_GRADES,
    higher_is_better=False,
)
def unjudged_share(judged: Judged, k: Cutoff) -> Floats:
    """Unjudged: the share of the first k ranks that hold a document without a judgment.

    A negative grade is no judgment here: trec_eval takes it for a document of the pool that nobody
    judged. Ranks that the run leaves empty do not count as unjudged.

    Formula: unjudged documents in the first k / k
    Source: trec_eval unj
    """
    retrieved = np.minimum(k, judged.n_retrieved)
    return ratio(retrieved - judged.hits.relevant(0).top(k).count(), k)


@measure(
    "RelString",
    names=Names(("relstring",), families={"relstring": (10,)}),
    traits=Traits(fractions="a grade is one character there, and a fraction takes several"),
    aggregation="none",
)
def relevance_string(judged: Judged, k: Cutoff | None = None) -> Texts:
    """The grades of the ranking as a string: a character for each document, best rank first.

    A digit is the grade, `>` one above 9, `-` an unjudged document, `.` one of a negative grade.
    A string for each query; there is no value over all.

    Formula: the grades of the first k documents, one character each
    Source: trec_eval relstring
    """
    ranked = judged.every(k)
    character = np.where(ranked.grade > 9, ">", ranked.grade.astype("U1"))
    character = np.where(ranked.grade < 0, ".", character)
    character = np.where(ranked.judged, character, "-")
    return ranked.joined(character)
