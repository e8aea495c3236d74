"""Against scikit-learn, on generated lists without equal scores (see test_tie_aware for those).

It looks at the documents that it is given only, so that all that are judged are retrieved here, and
none but these: then its label ranking average precision is AP, and its ideal is the one of all
documents. Of a list without relevant, or without other documents it has no AUC, or warns.
"""

import math
import random

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    cohen_kappa_score,
    dcg_score,
    label_ranking_average_precision_score,
    ndcg_score,
    roc_auc_score,
)

from cranfield import agreement, parse


def make_lists(seed: int) -> tuple[dict[str, int], dict[str, float], np.ndarray, np.ndarray]:
    chance = random.Random(seed)
    n = chance.randint(2, 30)
    grades = [chance.choice([0, 0, 1, 2, 3]) for _ in range(n)]
    scores = chance.sample(range(1000), n)
    docs = [f"d{i}" for i in range(n)]
    return (
        dict(zip(docs, grades, strict=True)),
        {doc: float(score) for doc, score in zip(docs, scores, strict=True)},
        np.array([grades]),
        np.array([scores], float),
    )


@pytest.mark.parametrize("k", [None, 1, 5, 10])
def test_dcg_and_ndcg(k: int | None) -> None:
    cutoff_text = "" if k is None else f"@{k}"
    for seed in range(300):
        grade_of_doc, run, grades, scores = make_lists(seed)
        gain = parse(f"DCG{cutoff_text}")(grade_of_doc, run)
        assert math.isclose(gain, dcg_score(grades, scores, k=k), rel_tol=1e-12, abs_tol=1e-15)
        theirs = ndcg_score(grades, scores, k=k)
        for name in (f"nDCG{cutoff_text}", f"nDCG(ideal='retrieved'){cutoff_text}"):
            value = parse(name)(grade_of_doc, run)
            assert math.isclose(value, theirs, rel_tol=1e-12, abs_tol=1e-15), (name, seed)


def test_auc_ap_and_label_ranking_average_precision() -> None:
    n_compared = 0
    for seed in range(300):
        grade_of_doc, run, grades, scores = make_lists(seed)
        is_relevant = (grades > 0).astype(int)
        if is_relevant.min() == is_relevant.max():
            continue
        n_compared += 1
        for name, theirs in (
            ("AUC", roc_auc_score(is_relevant[0], scores[0])),
            ("AP", average_precision_score(is_relevant[0], scores[0])),
            ("LRAP", label_ranking_average_precision_score(is_relevant, scores)),
        ):
            value = parse(name)(grade_of_doc, run)
            assert math.isclose(value, theirs, rel_tol=1e-12), (name, seed)
    assert n_compared > 250


def test_ndcg_of_what_was_retrieved_only() -> None:
    """Where a judged document was not retrieved, its ideal does not know it."""
    grade_of_doc, run = {"a": 1, "b": 3, "c": 2}, {"a": 2.0, "c": 1.0}
    theirs = ndcg_score([[1, 2]], [[2.0, 1.0]])
    assert math.isclose(parse("nDCG(ideal='retrieved')")(grade_of_doc, run), theirs, rel_tol=1e-12)
    assert parse("nDCG")(grade_of_doc, run) < theirs


def test_kappa() -> None:
    """Of grades 0 to 3 its weights are by their numbers, too, if it is told all four."""
    for seed in range(300):
        chance = random.Random(seed)
        n = chance.randint(2, 40)
        a, b = ([chance.choice([0, 0, 1, 2, 3]) for _ in range(n)] for _ in range(2))
        qrels = ({"q": {f"d{i}": grade for i, grade in enumerate(grades)}} for grades in (a, b))
        pooled_agreement = agreement(*qrels, rel=2).pooled
        binary = [[int(grade >= 2) for grade in grades] for grades in (a, b)]
        for ours, grade_lists, options in (
            (pooled_agreement.kappa, binary, {}),
            (
                pooled_agreement.weighted_kappa,
                [a, b],
                {"weights": "quadratic", "labels": [0, 1, 2, 3]},
            ),
        ):
            if len({*grade_lists[0], *grade_lists[1]}) == 1:  # of which it says NaN, and warns
                assert ours is None
                continue
            theirs = cohen_kappa_score(*grade_lists, **options)
            assert ours is not None
            assert math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-14), seed
