"""trust: which orders people confirm, how far a model's numbers are off, how far both agree."""

import json
from pathlib import Path
from typing import Any

import pytest

from cranfield import trust

RUN_NAMES = ["bm25", "tfidf", "dense", "fusion"]


@pytest.fixture
def folder(data: Path) -> Path:
    return data / "labels" / "trust"


@pytest.fixture
def expected(folder: Path) -> Any:
    return json.loads((folder / "expected.json").read_text())


# ---- the vectors -------------------------------------------------------------------------------


@pytest.mark.more
def test_means_and_pairs_are_those_of_the_vectors(folder: Path, expected: Any) -> None:
    runs = [folder / f"{name}.run" for name in RUN_NAMES]
    human, measures = folder / "human.csv", [vector["measure"] for vector in expected["trust"]]
    result = trust(folder / "model.qrels", runs, measures, human=human, width=0.03)
    assert (result.n_queries, round(result.n_pooled)) == (40, 835)
    for vector in expected["trust"]:
        measure = vector["measure"]
        assert result.tau[measure] == vector["tau"]
        for name, numbers in vector["systems"].items():
            mean = result.means[measure][name]
            fields = ["model", "low", "high", "lam", "off", "off_low", "off_high"]
            assert [getattr(mean, field) for field in fields] == pytest.approx(
                [numbers[field] for field in fields], rel=1e-9, abs=1e-12
            )
            assert (mean.mean, mean.error) == pytest.approx((numbers["estimate"], numbers["se"]))
            assert mean.labelled == vector["labelled"]
            if name != "bm25":
                favour = result.differences[measure][name]
                assert [favour.off, favour.off_low, favour.off_high] == pytest.approx(
                    [numbers[f"favoured{end}"] for end in ("", "_low", "_high")], rel=1e-9
                )
        pair_of_names = {(pair.system, pair.other): pair for pair in result.pairs[measure]}
        assert len(pair_of_names) == len(vector["pairs"])
        for numbers in vector["pairs"]:
            sign = 1 if numbers["model"] > 0 else -1
            first, second = numbers["pair"][::sign]
            pair = pair_of_names[first, second]
            ends = sorted([sign * numbers["low"], sign * numbers["high"]])
            assert [pair.model, pair.mean, pair.low, pair.high, pair.p, pair.p_adjusted] == (
                pytest.approx(
                    [
                        sign * numbers["model"],
                        sign * numbers["estimate"],
                        *ends,
                        numbers["p"],
                        numbers["p_holm"],
                    ],
                    rel=1e-9,
                )
            )
            assert pair.order == numbers["order"]
            assert pair.labels_needed == numbers["labels_needed"]


@pytest.mark.more
def test_agreement_is_that_of_the_vectors(folder: Path, expected: Any) -> None:
    result = trust(folder / "model.qrels", human=folder / "human.csv")
    vector = expected["agreement"]
    assert result.agreement.keys() == vector["coefficients"].keys()
    for name, numbers in vector["coefficients"].items():
        coefficient = result.agreement[name]
        assert [coefficient.value, coefficient.low, coefficient.high] == pytest.approx(
            [numbers["value"], numbers["low"], numbers["high"]], rel=1e-9
        )
        assert coefficient.documents == numbers["n"]
    counts = result.count_grades()
    for i, human in enumerate(vector["grades"]):
        for j, model in enumerate(vector["grades"]):
            assert counts[human, model] == (
                vector["counts"][i][j],
                pytest.approx(vector["shares"][i][j]),
            )
