"""Conventions of libraries of machine learning, which are given scores and grades in groups."""

import math
from collections.abc import Mapping
from typing import Any

from cranfield.extensions.tools.computations import Adjustment, adjust_level
from cranfield.extensions.tools.rule import Convention, Rule, rule

_NONEMPTY, _RELEVANT = {"queries": "retrieved"}, {"queries": "relevant"}
_BELOW = {"unretrieved": "below"}
_N_RELEVANT = "NumRel(rel={rel})"
_EMPTY = "for a query without a relevant document"
# Of torchmetrics: what it is given, as options; those of measures that read the sign of a score;
# what tells an empty query; parameters of nDCG and R; more measures; a remark.
_SCOPES: dict[str, tuple[Any, ...]] = {
    "torchmetrics": (
        *("all judged documents", _BELOW, {}, _N_RELEVANT, {}, {}, "Success Rprec", "P RR SetR"),
        "Judged documents that were not retrieved fill the ranks below, except in P, R, RR and AP. "
        "There what has a score of 0 or less counts as not relevant: it depends on the scores.",
    ),
    "torchmetrics-retrieved": (
        *("what was retrieved", _NONEMPTY, _NONEMPTY, "Success(rel={rel})@1000000"),
        *({"ideal": "retrieved"}, {"over": "retrieved"}, "Success", "P RR SetP"),
        "It sees neither what was missed nor queries without results. A query whose scores are all "
        "0 or less counts 0 in P, R, AP and RR; here it is left out of their mean. In R, and in P "
        "with adaptive_k, such documents count in what is divided by; here they do not.",
    ),
}


def _torchmetrics(name: str, action: str, number: float) -> Convention:
    """Return the convention of torchmetrics that counts an empty query as a number (NaN: not)."""
    scope, base, above, n_relevant, ideal, over, rank_names, score_names, remark = _SCOPES[name]
    judging = {**base, "scores": "single"}
    expected = {**judging, "ties": "expected"}
    gain = "IDCG(gain={gain!r}, ideal='retrieved')" if ideal else "IDCG(gain={gain!r})"
    share, full = "P(over='returned', rel={rel})@", "for a query with relevant documents only"

    def count_empty(helper: str, level: float = 0, words: str = _EMPTY) -> tuple[Adjustment, ...]:
        return () if action == "neg" else (adjust_level(level, number, helper, words),)

    one_kind = adjust_level(1, 0, share + "{k}", full), *count_empty(n_relevant)
    return Convention(
        name if action == "neg" else f"{name}-{action}",
        f"torchmetrics 1.9.0, of {scope}, empty_target_action={action!r}",
        "torchmetrics/functional/retrieval",
        (
            rule(judging=expected, adjustments=count_empty(gain), nDCG=ideal),
            rule(rank_names, judging=judging, adjustments=count_empty(n_relevant)),
            rule(
                score_names,
                judging={**above, "scores": "single", "scores_above": 0},
                adjustments=count_empty(n_relevant),
                AP={"over": "retrieved"},
                R=over,
            ),
            rule("FallOut", judging=judging, adjustments=count_empty(f"{share}1000000", 1, full)),
            rule("AUC", has_cutoff=True, judging=judging, adjustments=one_kind),
            rule("AUC", judging=expected, adjustments=one_kind),
        ),
        (
            remark,
            "Except for nDCG and AUC, an unstable sort permutes tied documents: no rule, not "
            "imitated. Negative grades count as they are in nDCG: not imitated.",
        ),
    )


_EMPTY_IS_1 = [adjust_level(0, 1, _N_RELEVANT, _EMPTY)]
_GAINLESS_IS_1 = [adjust_level(0, 1, "IDCG(gain={gain!r})", _EMPTY)]
_SINGLE = {"ties": "given", "scores": "single"}
_EXPECTED = {**_BELOW, "ties": "expected"}


def _boosting_rules(judging: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Return the rules that LightGBM and XGBoost share, by which an empty query counts 1."""
    return (
        rule(judging=judging, adjustments=_GAINLESS_IS_1, nDCG={"gain": "exp2"}),
        rule(judging=judging, adjustments=_EMPTY_IS_1, AP={"over": "reachable"}),
    )


_MICRO_MEAN = Adjustment(
    "a mean weighted by min(k, relevant)",
    "IDCG(gain=('binary', {rel}), discount='none')@{k}",
    lambda values, weights: values * weights * (len(weights) / (weights.sum() or 1)),
)

LEARNING_CONVENTIONS: tuple[Convention, ...] = (
    Convention(
        "scikit-learn",
        "scikit-learn 1.9.1, of all judged documents",
        "sklearn/metrics/_ranking.py",
        (
            rule("nDCG DCG", judging=_EXPECTED),
            rule(judging=_EXPECTED, adjustments=_EMPTY_IS_1, AP={"tie_rank": "last"}),
            rule("LastRel", judging={**_BELOW, "ties": "worst"}),
            rule("AUC", judging={**_BELOW, "ties": "worst"}, adjustments=_EMPTY_IS_1),
        ),
        (
            "Judged documents that were not retrieved fill the ranks below.",
            "AP is label_ranking_average_precision_score, LastRel coverage_error, and 1 - AUC "
            "label_ranking_loss. roc_auc_score is AUC with ties='expected'.",
            "In ndcg_score, a negative grade, and a query of one document, are a ValueError.",
        ),
    ),
    Convention(
        "scikit-learn-retrieved",
        "scikit-learn 1.9.1, ndcg_score of what was retrieved",
        "sklearn/metrics/_ranking.py",
        (rule("DCG", judging={**_NONEMPTY, "ties": "expected"}, nDCG={"ideal": "retrieved"}),),
        ("It sees neither what was missed nor queries without results.",),
    ),
    *(
        _torchmetrics(name, action, number)
        for name in _SCOPES
        for action, number in (("neg", 0), ("pos", 1), ("skip", math.nan))
    ),
    Convention(
        "lightgbm",
        "LightGBM 4.7.0, metric ndcg and map",
        "src/metric/rank_metric.hpp, map_metric.hpp, dcg_calculator.cpp",
        _boosting_rules({"ties": "given"}),
        ("With label_gain=[0, 1, 3], nDCG(gain={1: 1, 2: 3}). A grade below 0 is an error.",),
    ),
    Convention(
        "xgboost",
        "XGBoost 3.2.0, eval_metric ndcg, map and pre",
        "src/metric/rank_metric.cc, src/common/ranking_utils.h",
        (
            *_boosting_rules(_SINGLE),
            rule(judging=_SINGLE, P={"over": "returned"}),
        ),
        (
            "ndcg@k- and map@k- count 0 for a query without a relevant document.",
            "With ndcg_exp_gain=False, nDCG(gain='linear'). It adds up floats of 32 bits.",
            "A grade below 0, or above 31, is an error; other than 0 and 1 in map and pre, too.",
        ),
    ),
    Convention(
        "implicit",
        "implicit 0.7.3, ranking_metrics_at_k",
        "implicit/evaluation.pyx",
        (
            rule(judging=_RELEVANT, nDCG={"gain": "binary"}, AP={"over": "reachable"}),
            rule(judging=_RELEVANT, adjustments=[_MICRO_MEAN], P="RelP"),
        ),
        (
            "Precision is one quotient for all users, of the sum of hits and that of min(k, "
            "relevant). What a user adds to it may be above 1.",
        ),
    ),
)
