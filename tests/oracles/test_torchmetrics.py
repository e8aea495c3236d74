"""The conventions of torchmetrics, against it: generated groups, each action for empty ones.

It needs torch, gigabytes of it: `.ci/run` leaves this file out. Scores are above 0, as the
conventions expect; with ties only what does not depend on torch's unstable sort is compared.
"""

import math
from typing import Any

import pytest
from helpers.profile import seeds
from helpers.tool_groups import Groups, assert_equal, make_groups, score, split_sides

pytestmark = pytest.mark.more
torch = pytest.importorskip("torch", reason="torch is not installed")
retrieval = pytest.importorskip("torchmetrics.retrieval", reason="torchmetrics is not installed")

SEEDS = seeds(100)
METRICS: dict[str, Any] = {
    "nDCG": retrieval.RetrievalNormalizedDCG,
    "AP": retrieval.RetrievalMAP,
    "P": retrieval.RetrievalPrecision,
    "R": retrieval.RetrievalRecall,
    "RR": retrieval.RetrievalMRR,
    "Success": retrieval.RetrievalHitRate,
    "FallOut": retrieval.RetrievalFallOut,
    "AUC": retrieval.RetrievalAUROC,
}
STABLE = {"nDCG", "AUC"}  # AUC without a cutoff
SUFFIXES = {"neg": "", "pos": "-pos", "skip": "-skip"}


def compute(metric: Any, groups: Groups, *, is_graded: bool) -> float:
    """Return what a metric is over some groups."""
    rows = [(i, grade, level) for i, group in enumerate(groups) for grade, level in group]
    indexes, grades, levels = zip(*rows, strict=True)
    target = torch.tensor(grades, dtype=torch.long)
    target = target if is_graded else (target > 0).long()
    metric.update(torch.tensor(levels), target, indexes=torch.tensor(indexes, dtype=torch.long))
    return float(metric.compute())


@pytest.mark.parametrize("action", SUFFIXES)
@pytest.mark.parametrize("name", ["torchmetrics", "torchmetrics-retrieved"])
def test_torchmetrics(name: str, action: str) -> None:
    n_compared = 0
    for seed in SEEDS:
        for ties in (False, True):
            groups = make_groups(seed, ties=ties)
            theirs = {}
            for measure, metric in METRICS.items():
                for k in (1, 3, 10):
                    if not ties or measure == "nDCG":
                        theirs[f"{measure}@{k}"] = metric(top_k=k, empty_target_action=action)
                if measure in STABLE:
                    theirs[measure] = metric(empty_target_action=action)
            if not ties and name == "torchmetrics":
                theirs["Rprec"] = retrieval.RetrievalRPrecision(empty_target_action=action)
                theirs["SetR"] = retrieval.RetrievalRecall(empty_target_action=action)
            if name == "torchmetrics-retrieved":
                theirs["SetP"] = retrieval.RetrievalPrecision(empty_target_action=action)
            values = {
                measure: compute(metric, groups, is_graded=measure.startswith("nDCG"))
                for measure, metric in theirs.items()
            }
            ours = score(*split_sides(groups), [*values], name + SUFFIXES[action])
            if any(math.isnan(value) for value in ours.values()):
                continue  # every group is left out: 0 there
            assert_equal(ours, values, (seed, ties), 2e-6)
            n_compared += len(values)
    assert n_compared > 20 * len(SEEDS)
