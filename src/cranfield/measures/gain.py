"""Measures of graded relevance: gain, discounted by rank."""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from cranfield.errors import MeasureError
from cranfield.judge import Judged
from cranfield.measures.registry import Cutoff, Gains, Parameter, Parameters, measure
from cranfield.ranked import Floats, Numbers, Ranked, log2, ratio

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)  # trec_eval's


def _gain(value: Any) -> str | Gains:
    if isinstance(value, str) and value.lower() in ("linear", "exp2"):
        return value.lower()
    if isinstance(value, Mapping) and 0 < len(value) <= _MOST_GRADES:
        pairs = value.items()
        if all(_is_whole(grade) and _is_gain(gain) for grade, gain in pairs):
            return Gains(sorted((int(grade), float(gain)) for grade, gain in pairs))
    raise ValueError("'linear', 'exp2' or a mapping as {1: 1, 2: 3}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_gain(value: Any) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating)
    return bool(number and -_LARGEST_GAIN <= value <= _LARGEST_GAIN)


Gain = Annotated[
    str | Mapping[int, float],
    Parameter(
        "what a grade is worth: 'linear', the grade; 'exp2', 2^grade - 1; or a mapping "
        "{grade: gain}, where a grade that it does not name keeps its own value",
        _gain,
    ),
]

_MOST_GRADES = 100
_LARGEST_GAIN = 1e100  # so that no sum of gains overflows
_LARGEST_EXP2 = 1000  # the doubles end at 2^1024


def gains(ranked: Ranked, gain: str | Mapping[int, float], top_grade: int) -> Numbers:
    """Return each row's gain; negative grades gain nothing unless a mapping says so."""
    linear = np.maximum(ranked.grade, 0)
    if gain == "exp2":
        if top_grade > _LARGEST_EXP2:
            raise MeasureError(
                f"gain='exp2': 2^{top_grade} is no number that a computer can add up; "
                "rescale the grades or use gain='linear'"
            )
        return np.ldexp(1.0, linear.astype(np.intc)) - 1
    if isinstance(gain, Mapping):
        result = linear * 1.0
        for grade, value in gain.items():
            result = np.where(ranked.grade == grade, value, result)
        return result
    return linear


_IR_MEASURES_DCG = {"log2": "linear", "exp-log2": "exp2"}


def _translate(name: str, parameters: Parameters) -> tuple[str, Parameters]:
    """ir_measures writes `dcg='exp-log2'` and `gains={...}`."""
    if len(parameters.keys() & {"gain", "gains", "dcg"}) > 1:
        raise MeasureError(f"{name} takes one of gain, gains and dcg")
    translated = dict(parameters)
    if str(translated.get("dcg")).lower() in _IR_MEASURES_DCG:
        translated["gain"] = _IR_MEASURES_DCG[translated.pop("dcg").lower()]
    if "gains" in translated:
        translated["gain"] = translated.pop("gains")
    return name, translated


@measure(
    "nDCG",
    formula="DCG@k / DCG@k of the ideal ranking",
    source="Järvelin & Kekäläinen, TOIS 2002; trec_eval ndcg, ndcg_cut",
    aliases=("ndcg",),
    variants={"ndcg_burges": {"gain": "exp2"}},
    families={"ndcg_cut": CUTOFFS},
    translate=_translate,
    exempt={
        "range with own gains": "a grade may cost something, and then a ranking may be below 0",
        "0 without relevant documents with own gains": "grade 0 may be worth something",
    },
)
def ndcg(judged: Judged, k: Cutoff | None = None, *, gain: Gain = "linear") -> Floats:
    """Normalized discounted cumulated gain: the ranking's DCG as a share of the best possible.

    The ideal ranking holds all judged documents of the query, retrieved or not, highest gain
    first, cut at the same k. Gains are the grades themselves unless `gain` says otherwise.
    Unjudged documents gain nothing. 0 for a query whose judged documents gain nothing. A mapping
    may give a grade a negative gain; the ideal leaves such documents out, and a ranking that has
    them may be below 0.
    """
    ideal = judged.ideal
    if isinstance(gain, Mapping):  # which may turn the order of the grades round
        ideal = ideal.reordered(gains(ideal, gain, judged.top_grade))
    ideal = ideal.top(k)
    best = np.maximum(gains(ideal, gain, judged.top_grade), 0)
    return ratio(dcg(judged, k, gain=gain), ideal.total(best / log2(ideal.rank + 1)))


@measure(
    "DCG",
    formula="sum over ranks i <= k of gain_i / log2(i + 1)",
    source="Järvelin & Kekäläinen, TOIS 2002; discount of Burges et al., ICML 2005; trec_eval dcg",
    aliases=("dcg",),
    variants={"dcg_burges": {"gain": "exp2"}},
    translate=_translate,
    range=(0, None),
    exempt={
        "perfect is 1": "it is not normalized: its maximum depends on the judgments",
        "range with own gains": "a grade may cost something, and then the sum may be below 0",
        "0 without relevant documents with own gains": "grade 0 may be worth something",
    },
)
def dcg(judged: Judged, k: Cutoff | None = None, *, gain: Gain = "linear") -> Floats:
    """Discounted cumulated gain: what the documents are worth, less the further down they stand.

    Unjudged documents gain nothing. Not normalized, so not comparable between queries: see nDCG.
    A mapping may give a grade a negative gain, and then the value may be negative.
    """
    hits = judged.hits.top(k)
    return hits.total(gains(hits, gain, judged.top_grade) / log2(hits.rank + 1))
