"""Conventions of libraries of machine learning, which are given scores and grades in groups."""

import math

from cranfield.extensions.tools.rule import NO_ADJUSTMENT, Adjustment, Convention, Rule, rule

_NONEMPTY = {"queries": "retrieved"}
_BELOW = {"unretrieved": "below"}
_SINGLE_GIVEN = {"ties": "given", "scores": "single"}
_EXP2 = {"gain": "exp2"}
_REACHABLE = {"over": "reachable"}


def _count(value: float, template: str, words: str) -> Adjustment:
    """Return what counts `value` (NaN: is left out) where the measure of a template is 0."""
    if value == 0:  # as in all measures here
        return NO_ADJUSTMENT
    count_text = "left out" if math.isnan(value) else f"{value:g}"
    return Adjustment(f"{count_text} for a query {words}", ((template, value),))


def _count_gainless(value: float) -> Adjustment:
    """Return what counts `value` for a query of which no document gains anything."""
    return _count(value, "IDCG(gain={gain!r})", "without a relevant document")


def _count_irrelevant(value: float) -> Adjustment:
    """Return what counts `value` for a query without relevant documents."""
    return _count(value, "NumRel(rel={rel})", "without a relevant document")


def _boosting_rules(value: float, judging: dict[str, str]) -> tuple[Rule, ...]:
    """Return the rules of tools that count a group without relevant documents as `value`."""
    return (
        rule(judging=judging, adjustment=_count_gainless(value), nDCG=_EXP2),
        rule(judging=judging, adjustment=_count_irrelevant(value), AP=_REACHABLE),
    )


_XGBOOST_SOURCE = "src/metric/rank_metric.cc, src/common/ranking_utils.h"
_XGBOOST_REMARKS = (
    "With ndcg_exp_gain=False, nDCG(gain='linear').",
    "Labels above 31 with the default gain, or other than 0 and 1 for map and pre, are an error.",
    "It adds up floats of 32 bits: seven digits are the same.",
)


_TORCHMETRICS_SOURCE = "torchmetrics/retrieval, torchmetrics/functional/retrieval"
_TORCHMETRICS_REMARKS = (
    "Except for nDCG and AUC, an unstable sort permutes tied documents: no rule, not imitated.",
    "Negative grades count as they are in nDCG: not imitated.",
    "If every query is left out, it returns 0; here there is no number.",
)
_SUFFIXES = {0.0: ("", "neg"), 1.0: ("-pos", "pos")}  # of names, and empty_target_action


def _area_rules(value: float, judging_options: dict[str, str], n_relevant: str) -> tuple[Rule, ...]:
    """Return the rules of the area under the curve: 0 where documents of one kind were seen."""
    words = "0 for a query whose list has no other documents than relevant ones"
    zero_values: tuple[tuple[str, float], ...] = (("FallOut(rel={rel}){at}", 0.0),)
    if value != 0:
        empty = _count(value, n_relevant, "without a relevant document")
        words, zero_values = f"{words}, {empty.words}", (*zero_values, *empty.zero_values)
    adjustment = Adjustment(words, zero_values)
    judging = {**judging_options, "scores": "single"}
    return (
        rule("AUC", has_cutoff=True, judging=judging, adjustment=adjustment),
        rule("AUC", judging={**judging, "ties": "expected"}, adjustment=adjustment),
    )


def _torchmetrics(value: float) -> Convention:
    """Return the convention of torchmetrics on all judged documents; an empty query has `value`."""
    suffix, action = _SUFFIXES.get(value, ("-skip", "skip"))
    below = {**_BELOW, "scores": "single"}
    all_relevant = "of which all documents are relevant"
    return Convention(
        f"torchmetrics{suffix}",
        f"torchmetrics 1.9.0, of all judged documents, empty_target_action={action!r}",
        _TORCHMETRICS_SOURCE,
        (
            rule("nDCG", judging={**below, "ties": "expected"}, adjustment=_count_gainless(value)),
            rule("Success Rprec", judging=below, adjustment=_count_irrelevant(value)),
            rule(
                "P R RR SetR",
                judging={"scores_above": 0, "scores": "single"},
                adjustment=_count_irrelevant(value),
                AP={"over": "retrieved"},
            ),
            rule(
                "FallOut",
                judging=below,
                adjustment=_count(value, "FallOut(rel={rel})@1000000", all_relevant),
            ),
            *_area_rules(value, _BELOW, "NumRel(rel={rel})"),
        ),
        (
            "Judged documents that were not retrieved fill the ranks below in nDCG, the hit rate, "
            "R-precision, fall-out and AUC. Elsewhere what has a score of 0 or less counts as not "
            "relevant, and so do they here; it depends on the scores that they are given.",
            *_TORCHMETRICS_REMARKS,
        ),
        names={"recall": "SetR", "retrievalrecall": "SetR"},
    )


def _torchmetrics_retrieved(value: float) -> Convention:
    """Return the convention of torchmetrics on what was retrieved; an empty query has `value`."""
    suffix, action = _SUFFIXES.get(value, ("-skip", "skip"))
    judging_options = {**_NONEMPTY, "scores": "single"}
    empty = _count(value, "Success(rel={rel})@1000000", "without a relevant document retrieved")
    gainless = _count(
        value, "IDCG(gain={gain!r}, ideal='retrieved')", "without a relevant document retrieved"
    )
    return Convention(
        f"torchmetrics-retrieved{suffix}",
        f"torchmetrics 1.9.0, of what was retrieved, empty_target_action={action!r}",
        _TORCHMETRICS_SOURCE,
        (
            rule(
                judging={**judging_options, "ties": "expected"},
                adjustment=gainless,
                nDCG={"ideal": "retrieved"},
            ),
            rule("Success", judging=judging_options, adjustment=empty),
            rule(
                "P RR SetP",
                judging={**judging_options, "scores_above": 0},
                adjustment=empty,
                AP={"over": "retrieved"},
                R={"over": "retrieved"},
            ),
            rule(
                "FallOut",
                judging=judging_options,
                adjustment=_count(
                    value, "FallOut(rel={rel})@1000000", "of which all documents are relevant"
                ),
            ),
            *_area_rules(value, _NONEMPTY, "Success(rel={rel})@1000000"),
        ),
        (
            "It sees neither what was missed nor queries without results.",
            "A query whose scores are all 0 or less counts 0 in P, R, AP and RR; here it is "
            "left out of their mean. In R, and in P with adaptive_k, documents with such "
            "scores still count in what is divided by; here they do not.",
            *_TORCHMETRICS_REMARKS,
        ),
        names={"precision": "SetP", "retrievalprecision": "SetP"},
    )


LEARNING_CONVENTIONS: tuple[Convention, ...] = (
    Convention(
        "scikit-learn",
        "scikit-learn 1.9.1, of all judged documents",
        "sklearn/metrics/_ranking.py",
        (
            rule("nDCG DCG", judging={**_BELOW, "ties": "expected"}),
            rule(
                judging={**_BELOW, "ties": "expected"},
                adjustment=_count_irrelevant(1),
                AP={"tie_rank": "last"},
            ),
            rule("LastRel", judging={**_BELOW, "ties": "worst"}),
            rule("AUC", judging={**_BELOW, "ties": "worst"}, adjustment=_count_irrelevant(1)),
        ),
        (
            "Judged documents that were not retrieved fill the ranks below.",
            "AP is label_ranking_average_precision_score, LastRel coverage_error, and 1 - AUC "
            "label_ranking_loss. roc_auc_score is AUC with ties='expected'.",
            "In ndcg_score, a query of one document is a ValueError; so is a negative grade.",
        ),
        refuses_negative=True,
        names={"coverage_error": "LastRel"},
    ),
    Convention(
        "scikit-learn-retrieved",
        "scikit-learn 1.9.1, ndcg_score of what was retrieved",
        "sklearn/metrics/_ranking.py",
        (rule("DCG", judging={**_NONEMPTY, "ties": "expected"}, nDCG={"ideal": "retrieved"}),),
        ("It sees neither what was missed nor queries without results.",),
        refuses_negative=True,
    ),
    *map(_torchmetrics, (0.0, 1.0, math.nan)),
    *map(_torchmetrics_retrieved, (0.0, 1.0, math.nan)),
    Convention(
        "lightgbm",
        "LightGBM 4.7.0, metric ndcg and map",
        "src/metric/rank_metric.hpp, map_metric.hpp, dcg_calculator.cpp",
        _boosting_rules(1, {"ties": "given"}),
        (
            "With label_gain=[0, 1, 3], nDCG(gain={1: 1, 2: 3}).",
            "With weights of queries, the mean is weighted: not imitated.",
        ),
        refuses_negative=True,
    ),
    Convention(
        "xgboost",
        "XGBoost 3.2.0, eval_metric ndcg, map and pre",
        _XGBOOST_SOURCE,
        (*_boosting_rules(1, _SINGLE_GIVEN), rule(judging=_SINGLE_GIVEN, P={"over": "returned"})),
        _XGBOOST_REMARKS,
        refuses_negative=True,
    ),
    Convention(
        "xgboost-minus",
        "XGBoost 3.2.0, eval_metric ndcg- and map-, as in ndcg@10-",
        _XGBOOST_SOURCE,
        _boosting_rules(0, _SINGLE_GIVEN),
        _XGBOOST_REMARKS,
        refuses_negative=True,
    ),
)
