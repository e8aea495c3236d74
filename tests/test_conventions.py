"""Conventions: the numbers of other tools, as these gave them."""

import json
import math
from pathlib import Path

import pytest

from cranfield import evaluate

# The names that the stored file has: tools, and what each was given: scores, or lists.
TOOLS = {
    "beir": ("beir", "run"),
    "haystack (top5)": ("haystack", "lists"),
    "ir_measures": ("ir_measures", "run"),
    "lenskit": ("lenskit", "lists"),
    "llamaindex (top5, mean of non-errors)": ("llamaindex", "lists"),
    "llamaindex granular": ("llamaindex-granular", "lists"),
    "mteb": ("mteb", "run"),
    "pytrec_eval_mean_of_returned (RR uncut)": ("pytrec_eval", "run"),
    "ragas id-based": ("ragas", "lists"),
    "ranx make_comparable": ("ranx", "run"),
    "recommenders": ("recommenders", "lists"),
    "rectools": ("rectools", "lists"),
    "replay": ("replay", "lists"),
    "sentence-transformers": ("sentence-transformers", "run"),
    "sklearn_dense_all_judged": ("scikit-learn", "run"),
    "torchmetrics all_judged neg": ("torchmetrics", "run"),
    "torchmetrics returned neg": ("torchmetrics-retrieved", "run"),
    "trectools": ("trectools", "run"),
}
MEASURES = {
    "nDCG@5": "nDCG@5",
    "AP@5": "AP@5",
    "P@5": "P@5",
    "R@5": "R@5",
    "RR@5": "RR@5",
    "Hit@5": "Success@5",
    "R_cap@5": "RelP@5",
    "nDCG_burges@5": "nDCG(gain='exp2')@5",
    "nDCG_achievable@5": "nDCG(ideal='judged')@5",
    "nDCG_binary@5": "nDCG(gain='binary')@5",
    "nDCG_raw@5": "nDCG(gain='linear')@5",
    "nDCG_exp@5": "nDCG(gain='exp2')@5",
    "AP_div_k@5": "AP(over='cutoff')@5",
    "AP_at_k@5": "AP(over='reachable')@5",
    "P_adaptive@5": "P(over='returned')@5",
    "ndcg:NDCG@5": "nDCG@5",
    "map:MAP@5": "AP@5",
    "recall:Recall@5": "R@5",
    "precision:P@5": "P@5",
    "mrr:MRR@5": "RR@5",
    "hit_rate:HitRate@5": "Success@5",
}
# Values that no convention gives: (tool, collection): measures, and why.
DIFFERENT: dict[tuple[str, str], tuple[set[str], str]] = {}


@pytest.mark.parametrize("tool", TOOLS)
def test_the_stored_values_of_a_tool(tool: str, data: Path) -> None:
    stored = json.loads((data / "conventions.json").read_text())
    name, form = TOOLS[tool]
    n_same = 0
    for called, values in stored["tools"][tool].items():
        collection = stored["collections"][called]
        run = collection.get(form, collection["run"])
        expected_to_differ, _ = DIFFERENT.get((tool, called), (set(), ""))
        for measure, value in values.items():
            if measure not in MEASURES or not isinstance(value, float) or math.isnan(value):
                continue  # raised, or no number
            text = "RR" if tool.endswith("(RR uncut)") and measure == "RR@5" else MEASURES[measure]
            found = evaluate(collection["qrels"], run, text, convention=name)[text]
            tolerance = 2e-7 if tool.startswith("torchmetrics") else 1e-9
            is_same = math.isclose(found, value, rel_tol=0, abs_tol=tolerance)
            assert is_same == (measure not in expected_to_differ), (called, measure, found, value)
            n_same += is_same
    assert n_same >= 4
