"""Conventions of libraries of recommenders."""

from cranfield.extensions.tools.rule import Adjustment, Convention, rule

_BINARY = {"gain": "binary"}
_RELEVANT = {"queries": "relevant"}
_MICRO_MEAN = Adjustment(
    "a mean weighted by min(k, relevant)",
    weight="IDCG(gain=('binary', {rel}), discount='none'){at}",
)

RECOMMENDER_CONVENTIONS = (
    Convention(
        "rectools",
        "rectools 0.19.0",
        "rectools/metrics/ranking.py, classification.py",
        (
            rule(
                "AP P R RR Success",
                judging={**_RELEVANT, "duplicates": "joined"},
                nDCG={"gain": "binary", "ideal": "top"},
            ),
        ),
        (
            "nDCG with divide_by_achievable=True is nDCG(ideal='judged'), MAP with "
            "divide_by_k=True is AP(over='cutoff').",
        ),
    ),
    Convention(
        "replay",
        "replay-rec 0.22.0, on pandas or polars",
        "replay/metrics",
        (
            rule(
                "RR Success",
                judging={**_RELEVANT, "duplicates": "each"},
                nDCG=_BINARY,
                AP={"over": "reachable"},
            ),
            rule("P R", judging={**_RELEVANT, "duplicates": "once"}),
        ),
        ("On dicts, equal scores keep their order, and a query with an empty truth counts 0.",),
    ),
    Convention(
        "lenskit",
        "lenskit 2025.8.1, lists of users with test items",
        "lenskit/metrics/ranking",
        (
            rule(
                "RR Success",
                judging={"queries": "relevant-and-both", "duplicates": "each"},
                nDCG={"gain": "binary", "discount": "jk"},
                AP={"over": "returned"},
                P={"over": "returned"},
                R={"over": "reachable"},
            ),
        ),
        (
            "An empty list is NaN alone, and 0 in the summary.",
            "A list without test items counts 0 if it is there, and is a ZeroDivisionError in "
            "average precision.",
        ),
    ),
    Convention(
        "recommenders",
        "recommenders 1.2.1, python_evaluation",
        "recommenders/evaluation/python_evaluation.py",
        (
            rule(
                "AP P R",
                judging={
                    "queries": "relevant-and-retrieved",
                    "duplicates": "each",
                    "ties": "given",
                },
            ),
            rule(judging={**_RELEVANT, "duplicates": "each", "ties": "given"}, nDCG=_BINARY),
        ),
        (
            "map_at_k is AP(over='reachable'); ndcg_at_k with relevancy 'raw' or 'exp' is "
            "nDCG(gain='linear') or nDCG(gain='exp2').",
            "In nDCG an item that is returned m times weighs m at each occurrence, in the "
            "ideal, too: not imitated.",
        ),
    ),
    Convention(
        "implicit",
        "implicit 0.7.3, ranking_metrics_at_k",
        "implicit/evaluation.pyx",
        (
            rule(judging=_RELEVANT, nDCG=_BINARY, AP={"over": "reachable"}),
            rule(judging=_RELEVANT, adjustment=_MICRO_MEAN, P="RelP"),
        ),
        (
            "Precision is the sum of hits over the sum of min(k, relevant), one quotient for "
            "all users. A user's value is that of RelP times min(k, relevant), divided by the "
            "mean of min(k, relevant): it may be above 1.",
            "AUC takes the items that were not returned as ranked below, in any order, of a "
            "catalogue of a known size: there is no such measure here.",
        ),
    ),
)
