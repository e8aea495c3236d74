"""Grades that people and a model gave to the same documents, and how far they agree, weighted.

A labelled document stands for 1 / probability of all that could be drawn. Queries are left out one
by one for the errors (the jackknife: Efron & Stein, Annals of Statistics 1981).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.binary import wilson_interval
from cranfield.data.qrels import Qrels
from cranfield.errors import InputError, NothingSharedError
from cranfield.extensions.labels.assessors.beyond_chance import Coefficient, jackknife_error
from cranfield.render.numbers import finite_or_none


class GradePairs(NamedTuple):
    """The documents that people and the model labelled: (rows,) each, by query and document."""

    documents: Sequence[tuple[str, str]]  # (query id, document id)
    query: Ints
    human: Floats
    model: Floats
    weight: Floats  # 1 / the probability of being drawn; 1 where it is not stated


def pair_grades(model: Qrels, human: Qrels) -> GradePairs:
    """Return the grades of documents that both judge.

    Raises NothingSharedError if there are none, InputError for judgments in groups.
    """
    if model.has_groups or human.has_groups:
        raise InputError("trust takes one grade for each document, not judgments in groups")
    by_model = model.to_dict()
    unit_weight = np.ones(len(human))
    chance = human.columns.get("probability", human.columns.get("query_probability", unit_weight))
    labels = [(query, doc) for query, docs in human.to_dict().items() for doc in docs]
    grades = np.array([by_model.get(query, {}).get(doc, np.nan) for query, doc in labels])
    rows = np.flatnonzero((human.grade >= 0) & ~np.isnan(grades))
    if not len(rows):
        raise NothingSharedError("no document is labelled by people and by the model")
    documents = [labels[row] for row in rows.tolist()]
    human_grade, weight = human.grade[rows] * 1.0, 1 / chance[rows]
    return GradePairs(documents, human.query[rows], human_grade, grades[rows], weight)


def estimate_agreement(pairs: GradePairs, rel: float, alpha: float) -> dict[str, Coefficient]:
    """Return {name: coefficient} of people's grades and the model's, with intervals.

    Of a share the interval is Wilson's, with as many documents as would have the error that
    leaving out queries gives; of the others, Student's.
    """
    human, model, unit_weight = pairs.human, pairs.model, np.ones(len(pairs.human))
    a, b = (human >= rel) * unit_weight, (model >= rel) * unit_weight
    # What is added up of each document: first, whether it counts.
    columns_of_name = {
        "sensitivity": [a, a * b],
        "specificity": [1 - a, (1 - a) * (1 - b)],
        "agree": [unit_weight, (a == b) * unit_weight],
        "kappa": [unit_weight, a, b, a * a + b * b, (a - b) ** 2],
        "w. kappa": [unit_weight, human, model, human**2 + model**2, (human - model) ** 2],
        "off": [unit_weight, model - human],
    }
    return {
        name: _estimate_coefficient(name, pairs, columns, alpha)
        for name, columns in columns_of_name.items()
    }


def _estimate_coefficient(
    name: str, pairs: GradePairs, columns: Sequence[Floats], alpha: float
) -> Coefficient:
    """Return a share, or a mean, of two columns, or else the kappa of their moments."""
    from scipy.special import stdtrit

    compute = _compute_kappa if len(columns) > 2 else lambda sums: sums[1] / sums[0]
    rows = np.flatnonzero(columns[0])
    weight, (_, group) = pairs.weight[rows], np.unique(pairs.query[rows], return_inverse=True)
    sums = np.array([np.bincount(group, weight * column[rows]) for column in columns])
    totals, n = sums.sum(axis=1, keepdims=True), sums.shape[1]
    value = finite_or_none(compute(totals)[0]) if n else None
    low: float | None = None
    high: float | None = None
    if value is not None and n > 1:
        error, t = jackknife_error(compute(totals - sums)), float(stdtrit(n - 1, 1 - alpha / 2))
        if name in ("sensitivity", "specificity", "agree"):
            n_units = weight.sum() ** 2 / (weight**2).sum()
            if error and 0 < value < 1:
                n_units = min(len(rows), value * (1 - value) / error**2)
            ends = wilson_interval(n_units, np.array([value * n_units]), t)
            low, high = (float(end[0]) for end in ends)
        elif error:
            limit = np.inf if name == "off" else 1.0
            low, high = max(-limit, value - t * error), min(limit, value + t * error)
    of = "grade" if name in ("w. kappa", "off") else "relevance"
    return Coefficient(name, of, "query", len(rows), value, low, high)


def _compute_kappa(sums: Floats) -> Floats:
    """Return kappa with quadratic weights, Cohen's for 0 and 1; NaN where chance would agree."""
    n, a, b, squares, squared_differences = sums
    by_chance = n * squares - 2 * a * b
    by_chance[by_chance <= 1e-12 * n**2] = np.nan
    kappa: Floats = 1 - n * squared_differences / by_chance
    return kappa
