"""Tuning of fusion: chosen on some queries, judged on others."""

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.profile import repetitions, seeds
from scipy import stats

from cranfield import (
    CranfieldWarning,
    InputError,
    MeasureError,
    OptionError,
    compare,
    evaluate,
    fuse,
    read_run,
    tune,
)
from cranfield.extensions.fusion.trials import _compositions
from cranfield.render.numbers import format_p

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")


def collection(
    seed: int, noise: tuple[float, ...], n: int = 30
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, dict[str, float]]]]:
    """Return judgments, and runs whose scores have so much noise."""
    chance = random.Random(seed)
    qrels = {f"q{i:02}": {f"d{j}": int(chance.random() < 0.3) for j in range(12)} for i in range(n)}
    runs = {
        f"r{k}": {
            query: {doc: grade + chance.gauss(0, sd) for doc, grade in docs.items()}
            for query, docs in qrels.items()
        }
        for k, sd in enumerate(noise)
    }
    return qrels, runs


def test_weights_are_all_parts_of_whole_numbers() -> None:
    """Ranx adds floats up, and finds 62 of these 66, 256 of 286 and 225 of 231."""
    for n_parts, n in ((10, 3), (10, 4), (20, 3), (1, 2), (5, 1)):
        compositions = [*_compositions(n_parts, n)]
        assert len(compositions) == len(set(compositions)) == math.comb(n_parts + n - 1, n - 1)
        assert all(
            sum(composition) == n_parts and min(composition) >= 0 for composition in compositions
        )


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_of_each_fold_is_that_of_a_loop(seed: int) -> None:
    qrels, runs = collection(seed, (0.6, 1.2, 3.0))
    tuning = tune(qrels, runs, "sum", "AP", steps=4, folds=3, seed=seed, norm="zmuv")
    order = np.random.default_rng(seed).permutation(30)
    query_ids = sorted(qrels)
    fold = {query_ids[place]: i % 3 for i, place in enumerate(order.tolist())}
    scores_of_weights = {}
    for weights in _compositions(4, 3):
        weight_of_run = {name: part / 4 for name, part in zip(runs, weights, strict=True)}
        fused_run = fuse(runs, "sum", norm="zmuv", weights=weight_of_run)
        scores_of_weights[weights] = evaluate(qrels, fused_run, "AP").per_query("AP")
    held_out: dict[str, float] = {}
    for i in range(3):
        train = [q for q in query_ids if fold[q] != i]
        means = {
            w: sum(scores[q] for q in train) / len(train) for w, scores in scores_of_weights.items()
        }
        top = max(means.values())
        best = min(
            (w for w in scores_of_weights if means[w] >= top - 1e-9),
            key=lambda w: sum((part / 4 - 1 / 3) ** 2 for part in w),
        )
        assert tuning.settings[tuning.chosen[str(i + 1)]] == {
            name: part / 4 for name, part in zip(runs, best, strict=True)
        }
        held_out |= {q: scores_of_weights[best][q] for q in query_ids if fold[q] == i}
    equal = evaluate(qrels, fuse(runs, "sum", norm="zmuv"), "AP").per_query("AP")
    expected = compare({"untuned": {"AP": equal}, "tuned": {"AP": held_out}}, seed=seed)["AP"][
        "tuned"
    ]
    assert (tuning.pair.difference, tuning.pair.p) == pytest.approx(
        (expected.difference, expected.p)
    )
    assert (tuning.pair.low, tuning.pair.high) == pytest.approx((expected.low, expected.high))
    best_alone = max(runs, key=lambda name: float(evaluate(qrels, runs[name], "AP")["AP"]))
    alone = evaluate(qrels, runs[best_alone], "AP").per_query("AP")
    against_best = compare({"alone": {"AP": alone}, "tuned": {"AP": held_out}}, seed=seed)["AP"][
        "tuned"
    ]
    pair_against_best = tuning.against_best["AP"]["tuned"]
    assert (
        pair_against_best.difference,
        pair_against_best.p,
        pair_against_best.low,
        pair_against_best.high,
    ) == pytest.approx(
        (against_best.difference, against_best.p, against_best.low, against_best.high)
    )
    (row,) = [line for line in str(tuning).splitlines() if "alone, the best run" in line]
    assert row.split()[0] == best_alone
    assert row.split()[-1] == format_p(against_best.p)
    mean_of_weights = {w: sum(scores.values()) / 30 for w, scores in scores_of_weights.items()}
    assert tuning.means == pytest.approx([*mean_of_weights.values()])
    assert mean_of_weights[
        tuple(round(4 * weight) for weight in tuning.best.values())
    ] == pytest.approx(max(mean_of_weights.values()))
    assert evaluate(qrels, tuning.run, "AP")["AP"] == pytest.approx(max(mean_of_weights.values()))
    gaps_of_weights = {
        w: [
            scores[q]
            - scores_of_weights[tuple(round(4 * weight) for weight in tuning.best.values())][q]
            for q in query_ids
        ]
        for w, scores in scores_of_weights.items()
    }
    close = sum(
        -np.mean(gap) <= (np.std(gap, ddof=1) / math.sqrt(30) or 1e-9)
        for gap in gaps_of_weights.values()
    )
    assert tuning.close == close


def test_a_parameter_is_tuned_and_the_nearest_to_the_default_is_taken() -> None:
    qrels, runs = collection(1, (0.8, 0.8))
    tuning = tune(qrels, runs, "rrf", "RR", over="parameter")
    assert [setting["k"] for setting in tuning.settings][:5] == [1, 2, 5, 10, 20]
    for setting, mean in zip(tuning.settings, tuning.means, strict=True):
        fused_run = fuse(runs, "rrf", k=setting["k"])
        assert evaluate(qrels, fused_run, "RR")["RR"] == pytest.approx(mean)
    qrels_of_three = {"q0": {"a": 1}, "q1": {"a": 1}, "q2": {"a": 1}}
    equal_runs = {
        "x": {q: ["a", "b"] for q in qrels_of_three},
        "y": {q: ["a", "c"] for q in qrels_of_three},
    }
    flat = tune(qrels_of_three, equal_runs, "rrf", "RR", over="parameter", folds=3)
    assert flat.best == {"k": 60}
    assert flat.close == len(flat.settings)
    assert "the optimum is flat" in str(flat)
    assert tune(qrels_of_three, equal_runs, "sum", "RR", folds=3, norm="rank").best == {
        "x": 0.5,
        "y": 0.5,
    }
    rbc = tune(qrels_of_three, equal_runs, "rbc", "RR", over="parameter", folds=3)
    assert max(setting["phi"] for setting in rbc.settings) < 1  # ranx tries 1, which is no order


def test_less_may_be_better() -> None:
    qrels, runs = collection(2, (0.4, 4.0))
    tuning = tune(qrels, runs, "sum", "LastRel", steps=4)
    assert tuning.means[tuning.place] == min(tuning.means)
    assert tuning.best["r0"] > 0.5


def test_folds_may_be_labels() -> None:
    qrels, runs = collection(3, (0.6, 2.0))
    labels = {query: "abc"[i % 3] for i, query in enumerate(qrels)}
    tuning = tune(qrels, runs, "sum", "AP", folds=labels)
    assert sorted(tuning.chosen) == ["a", "b", "c"]
    with pytest.raises(InputError, match="1 query has no label, as 'q00'"):
        tune(qrels, runs, "sum", "AP", folds={q: labels[q] for q in list(qrels)[1:]})
    with pytest.raises(InputError, match="all queries have the label 'a'"):
        tune(qrels, runs, "sum", "AP", folds=dict.fromkeys(qrels, "a"))


@pytest.mark.no_cover  # others run the same lines
def test_tuning_of_equal_runs_is_hardly_ever_called_better() -> None:
    """Of two runs of the same quality: equal weights are then the best that there is."""
    n_trials, n_better = repetitions(300, step=15), 0
    for seed in range(n_trials):
        qrels, runs = collection(1000 + seed, (1.0, 1.0), n=20)
        tuning = tune(qrels, runs, "sum", "AP", steps=4, seed=seed)
        n_better += tuning.pair.verdict == "better"
    assert n_better <= stats.binom.ppf(0.9995, n_trials, 0.025)


@pytest.mark.no_cover  # others run the same lines
def test_the_mean_on_other_queries_is_the_honest_one() -> None:
    """On the queries that it was chosen on, the best of many settings of noise looks better."""
    best_means, held_out_means, untuned_means = [], [], []
    for seed in range(repetitions(60)):
        qrels, runs = collection(2000 + seed, (1.0, 1.0, 1.0), n=20)
        tuning = tune(qrels, runs, "sum", "AP", steps=5, seed=seed)
        best_means.append(tuning.means[tuning.place])
        held_out_means.append(tuning.pair.mean)
        untuned_means.append(tuning.pair.other_mean)
    assert np.mean(best_means) > np.mean(untuned_means) > np.mean(held_out_means)


@pytest.mark.parametrize(
    ("method", "measure", "options", "error", "message"),
    [
        ("max", "AP", {}, OptionError, "max has neither weights nor a parameter"),
        ("isr", "AP", {}, OptionError, "isr has neither weights nor a parameter"),
        ("logn_isr", "AP", {"over": "weights"}, OptionError, "logn_isr has no form with weights"),
        ("sum", "AP", {"over": "parameter"}, OptionError, "over='parameter': sum has none"),
        ("sum", "GMAP", {}, MeasureError, "GMAP: is no mean over the queries"),
        ("sum", "AP", {"folds": 1}, OptionError, "folds=1"),
        (
            "sum",
            "AP",
            {"folds": 31},
            OptionError,
            "folds=31: expected at most the number of queries, 30",
        ),
        ("sum", "AP", {"folds": 2.5}, OptionError, "a whole number of at least 2, or labels"),
        ("sum", "AP", {"steps": 0}, OptionError, "steps=0"),
        ("sum", "AP", {"steps": 5000}, OptionError, "5,001 settings of 2 runs, more than 3,000"),
        ("sum", "AP", {"k": 3}, OptionError, "k=3.0 applies to rrf"),
        ("sumx", "AP", {}, OptionError, "method"),
    ],
)
def test_what_is_wrong_is_said(
    method: Any, measure: str, options: dict[str, Any], error: Any, message: str
) -> None:
    qrels, runs = collection(1, (1.0, 1.0))
    with pytest.raises(error, match=message.replace("(", r"\(").replace("=3.0", "=3")):
        tune(qrels, runs, method, measure, **options)


def test_one_run_and_few_queries_are_told() -> None:
    qrels, runs = collection(1, (1.0, 1.0), n=4)
    with pytest.raises(InputError, match="one run"):
        tune(qrels, {"r0": runs["r0"]})
    with pytest.warns(CranfieldWarning, match="Only 4 queries"):
        tune(qrels, runs, folds=2)
    del runs["r1"]["q00"]
    with pytest.warns(CranfieldWarning, match="r1 lacks 1"):
        tuning = tune(qrels, runs, folds=2)
    assert len(tuning.held_out.aligned.query_ids) == 4


def test_the_command(demo_folder: Path, tmp_path: Path) -> None:
    demo = demo_folder / "demo"
    files = [str(demo / name) for name in ("qrels.txt", "bm25.run", "dense.run")]
    out = str(tmp_path / "tuned.run")
    outcome = invoke("tune", *files, "--write-run", out, "--format", "json")
    assert outcome.exit_code == 0, outcome.output
    tuning = tune(files[0], files[1:])
    assert json.loads(outcome.stdout)["best"] == dict(tuning.best)
    assert read_run(out).to_dict() == tuning.run.to_dict()
    rows = invoke("tune", *files, "--method", "rrf", "-m", "AP", "--format", "tsv").stdout
    assert (
        "40 queries in 4 folds"
        in invoke("tune", *files, "--folds", "4", "--format", "table").stdout
    )
    assert rows.splitlines()[0] == "weight_bm25\tweight_dense\tmean\tdifference\terror\tchosen"
    outcome_of_input = invoke("tune", *files, "--write-run", files[1])
    assert "is read by this command" in outcome_of_input.stderr


@pytest.mark.parametrize("measure", ["nDCG@10", "R@100", "P@100", "RR"])
def test_the_best_of_many_settings_with_one_mean_is_among_the_listed(measure: str) -> None:
    qrels = {query: {"d1": 1, "d2": 0} for query in ("q1", "q2", "q3")}
    runs = {name: {query: {"d1": 2.0, "d2": 1.0} for query in qrels} for name in "abc"}
    tuning = tune(qrels, runs, "sum", measure, folds=3)
    assert tuning.means == [tuning.means[0]] * 66
    _, settings = tuning.tables()
    assert settings.title == ["The best 10 of 66 settings"]
    assert settings.rows[0][:3] == ["0.3", "0.3", "0.4"]
    assert settings.bold_cells == {(0, 3)}


@pytest.mark.parametrize("seed", seeds(8))
def test_the_best_setting_is_listed_for_every_small_collection(seed: int) -> None:
    qrels, runs = collection(seed, (0.5, 0.5, 1.0), n=3 + seed % 3)
    tuning = tune(qrels, runs, "sum", "P@3", folds=2, steps=6)
    (place,) = tuning.tables()[1].bold_cells
    row = tuning.tables()[1].rows[place[0]]
    assert row[:3] == [f"{weight:g}" for weight in tuning.best.values()]


def test_a_run_that_is_as_good_alone_is_named() -> None:
    """Beside the tuned fusion, the best run without the others."""
    qrels = {f"q{i}": {"d0": 1} for i in range(10)}
    good = {q: {"d0": 2.0, "d1": 1.0} for q in qrels}
    poor = {q: {"d1": 2.0, "d0": 1.0} for q in qrels}
    tuning = tune(qrels, {"good": good, "poor": poor}, "sum", "RR", folds=2)
    assert dict(tuning.alone) == {"good": 1.0, "poor": 0.5}
    assert "good alone, the best run" in str(tuning)
    assert "good alone is as good as the tuned fusion, or better" in str(tuning)
