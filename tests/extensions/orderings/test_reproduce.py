"""How near a second experiment came to a first one."""

import json
from itertools import combinations
from math import log2, sqrt
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.profile import repetitions
from scipy import stats

from cranfield import InputError, MeasureError, OptionError, evaluate, rbo, reproduce
from cranfield.comparison.alignment import align
from cranfield.extensions.orderings.estimates import RunPair, estimate_effects, estimate_errors
from cranfield.extensions.orderings.reproduce import kendall_union
from cranfield.extensions.orderings.reproduction import Estimate

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")

BASE, NEW = [0.3, 0.5, 0.2, 0.7], [0.4, 0.6, 0.2, 0.9]
BASE_AGAIN, NEW_AGAIN = [0.28, 0.5, 0.25, 0.65], [0.35, 0.62, 0.2, 0.8]


def scores(*systems: list[float]) -> dict[str, dict[str, float]]:
    """Return the scores of systems, by query."""
    return {
        f"system {i}": {f"q{j:04}": score for j, score in enumerate(system)}
        for i, system in enumerate(systems)
    }


def holds(estimate: object, truth: float) -> bool:
    """Tell whether an interval has both ends, with the truth between them."""
    assert isinstance(estimate, Estimate)
    return (
        estimate.low is not None
        and estimate.high is not None
        and estimate.low <= truth <= estimate.high
    )


def root(x: list[float], y: list[float]) -> float:
    return sqrt(
        mean((score - reproduced_score) ** 2 for score, reproduced_score in zip(x, y, strict=True))
    )


def test_errors_and_effects_are_those_of_their_definitions() -> None:
    run_of_name = reproduce(None, scores(BASE, NEW), scores(BASE_AGAIN, NEW_AGAIN))["score"]
    base, new = run_of_name["system 0"], run_of_name["system 1"]
    assert base.quantities["rmse"].value == pytest.approx(root(BASE, BASE_AGAIN), rel=1e-14)
    assert base.quantities["rmse"].value == pytest.approx(0.0367423461, abs=1e-10)
    assert new.quantities["rmse"].value == pytest.approx(0.0567890835, abs=1e-10)
    assert base.nrmse is None  # a measure that is not known may have any range
    gain = mean(NEW) - mean(BASE)
    assert new.quantities["effect_ratio"].value == pytest.approx(
        (mean(NEW_AGAIN) - mean(BASE_AGAIN)) / gain
    )
    assert new.quantities["effect_ratio"].value == pytest.approx(0.725)
    assert new.improvement == pytest.approx(gain / mean(BASE))
    assert new.improvement == pytest.approx(0.2352941176, abs=1e-10)
    assert new.reproduced_improvement == pytest.approx(0.1726190476, abs=1e-10)
    assert new.quantities["delta_improvement"].value == pytest.approx(0.0626750700, abs=1e-10)
    assert base.effect_ratio is base.delta_improvement is None


def test_nrmse_divides_by_the_greatest_error_that_there_could_be() -> None:
    sides = [{"AP": dict(scores_of_side)} for scores_of_side in scores(BASE, BASE_AGAIN).values()]
    run = reproduce(None, *({"b": side} for side in sides))["AP"]["b"]
    greatest = sqrt(mean(max(x, 1 - x) ** 2 for x in BASE))
    assert run.quantities["nrmse"].value == pytest.approx(
        root(BASE, BASE_AGAIN) / greatest, rel=1e-14
    )
    assert run.quantities["nrmse"].value == pytest.approx(0.0537373291, abs=1e-10)


def union_tau(a: list[str], b: list[str]) -> float:
    """Return Kendall's tau of the places that two lists have in their union."""
    n = min(len(a), len(b))
    union = [*a[:n], *(doc for doc in b[:n] if doc not in a[:n])]
    return float(stats.kendalltau(*([union.index(d) for d in docs[:n]] for docs in (a, b)))[0])


def test_kendall_union_is_that_of_places_and_not_of_names() -> None:
    source = np.random.default_rng(5)
    for _ in range(repetitions(200)):
        m, n = source.integers(2, 12, 2)
        a, b = ([f"d{i}" for i in source.permutation(14)[:size]] for size in (m, n))
        assert kendall_union(a, b) == pytest.approx(union_tau(a, b))
        other_name = {f"d{i}": f"e{j}" for i, j in enumerate(source.permutation(14))}
        assert kendall_union(
            [other_name[d] for d in a], [other_name[d] for d in b]
        ) == kendall_union(a, b)
    assert kendall_union(["a", "b", "c"], ["b", "a", "c"]) == pytest.approx((2 - 1) / 3)
    assert kendall_union(["z", "b", "c"], ["b", "z", "c"]) == pytest.approx((2 - 1) / 3)
    assert kendall_union(["a"], ["a"]) is None


def test_orders_are_means_over_queries_of_the_rankings_that_are_scored() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    old = {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 1, "b": 1}, "q3": {"c": 1}}
    new = {"q1": {"b": 3, "a": 2, "c": 1}, "q2": {"a": 2, "b": 1}, "q3": {"c": 1}}
    reproduction = reproduce(qrels, old, new, "RR")
    (run,) = reproduction["RR"].values()
    assert run.quantities["kendall_union"].value == pytest.approx(
        mean([1 / 3, -1])
    )  # tied: b before a
    overlaps = [rbo([*a], [*b]) for a, b in (("abc", "bac"), ("ba", "ab"), ("c", "c"))]
    assert run.quantities["rbo"].value == pytest.approx(mean(overlap.ext for overlap in overlaps))
    assert "1 pair of rankings left out" in "\n".join(map(str, reproduction.notes))


def test_ends_of_the_effect_ratio_are_where_a_t_test_changes_its_mind() -> None:
    generator = np.random.default_rng(8)
    base, base_copy = generator.uniform(0.2, 0.6, (2, 20))
    new, new_reproduced = (
        base + generator.normal(0.15, 0.05, 20),
        base_copy + generator.normal(0.1, 0.05, 20),
    )
    alpha = 0.1
    runs = scores(list(base), list(new)), scores(list(base_copy), list(new_reproduced))
    run = reproduce(None, *runs, alpha=alpha)["score"]["system 1"]
    ratio = run.quantities["effect_ratio"]
    assert holds(ratio, ratio.value)
    for end in ratio[1:]:
        differences = (new_reproduced - base_copy) - (end or 0.0) * (new - base)
        assert stats.ttest_1samp(differences, 0).pvalue == pytest.approx(alpha)


def test_an_effect_that_may_be_0_has_no_interval_of_its_ratio() -> None:
    old, new = [0.1, 0.5, 0.3, 0.7, 0.2], [0.2, 0.4, 0.4, 0.6, 0.25]
    reproduction = reproduce(None, scores(old, new), scores(old, new))
    run = reproduction["score"]["system 1"]
    assert run.effect_ratio == (1.0, None, None)
    assert "not clear of 0" in "\n".join(map(str, reproduction.notes))
    assert run.rmse == (0.0, None, None)
    reproduction_of_no_effect = reproduce(None, scores(old, old), scores(old, new))
    assert reproduction_of_no_effect["score"]["system 1"].effect_ratio is None
    assert "the original runs have the same mean" in "\n".join(
        map(str, reproduction_of_no_effect.notes)
    )
    reproduction_of_zeros = reproduce(
        None, scores([0.0, 0.0], [0.5, 0.4]), scores([0.1, 0.1], [0.5, 0.4])
    )
    assert reproduction_of_zeros["score"]["system 1"].delta_improvement is None
    assert "a baseline's mean is 0" in "\n".join(map(str, reproduction_of_zeros.notes))


def count_covered(n: int, trials: int, *, shared: bool) -> tuple[int, int]:
    """Return how often the intervals of the effect ratio and of delta RI hold, in made-up scores.

    Means .4 and .5, .4 and .48 when reproduced; a query's difficulty has sd .15, all else .05.
    """
    generator = np.random.default_rng(20261124)
    ratio = delta = 0
    for _ in range(trials):
        difficulty = generator.normal(0, 0.15, n)
        copy_difficulty = difficulty if shared else generator.normal(0, 0.15, n)
        base, new = (level + difficulty + generator.normal(0, 0.05, n) for level in (0.4, 0.5))
        base_copy, new_reproduced = (
            level + copy_difficulty + generator.normal(0, 0.05, n) for level in (0.4, 0.48)
        )
        original, replica = RunPair(base, new), RunPair(base_copy, new_reproduced)
        estimates = estimate_effects(original, replica, 0.05, same_queries=shared)
        ratio += holds(estimates["effect_ratio"], 0.08 / 0.1)
        delta += holds(estimates["delta_improvement"], 0.1 / 0.4 - 0.08 / 0.4)
    return ratio, delta


@pytest.mark.parametrize("shared", [True, False])
def test_intervals_of_the_effect_hold_as_often_as_they_say(shared: bool) -> None:
    times = repetitions(4_000)
    fewest, highest = stats.binom.ppf([0.0005, 0.9995], times, 0.95)
    ratio, delta = count_covered(30, times, shared=shared)
    assert fewest <= ratio <= highest
    assert fewest <= delta <= highest


def test_the_interval_of_rmse_holds_as_the_note_says(data: Path) -> None:
    """Twelve systems of DL 2019: all pairs, as run and reproduction, of resampled queries."""
    runs = sorted((data / "dl19").glob("*.run.gz"))
    scores_of_measures = align(data / "dl19" / "qrels.txt", runs, "nDCG@10 AP P@10 RR").scores
    generator = np.random.default_rng(20261124)
    for n, share in (25, 0.90), (43, 0.92), (97, 0.94):
        holds_of_samples = []
        for measure_scores in scores_of_measures:
            for x, y in combinations(measure_scores.T, 2):
                truth = sqrt(np.mean((x - y) ** 2))
                holds_of_samples += [
                    holds(estimate_errors(x[rows], y[rows], 0, 1, 0.05)["rmse"], truth)
                    for rows in generator.integers(0, len(x), (20, n))
                ]
        assert round(mean(holds_of_samples), 2) == pytest.approx(share, abs=0.015)


def test_another_collection_leaves_the_effect_only() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 2}}
    first = {"base": {"q1": ["b", "a"], "q2": ["b"]}, "new": {"q1": ["a"], "q2": ["b"]}}
    other_qrels = {"q1": {"x": 1}, "t2": {"y": 1}, "t3": {"y": 1}}
    second = {
        "base": {"q1": ["z", "x"], "t2": ["y"], "t3": ["z", "y"]},
        "new": {"q1": ["x"], "t2": ["y"], "t3": ["y"]},
    }
    reproduction = reproduce(qrels, first, second, "RR", other_qrels=other_qrels)
    run = reproduction["RR"]["new"]
    assert (reproduction.n_queries, reproduction.n_reproduced) == (2, 3)
    assert run.rmse is run.rbo is run.kendall_union is None
    assert run.quantities["effect_ratio"].value == pytest.approx(
        (1 - (0.5 + 1 + 0.5) / 3) / (1 - (0.5 + 1) / 2)
    )
    assert "2 queries, 3 in the other collection" in reproduction.to_text()
    with pytest.raises(InputError, match="share no query"):
        reproduce(None, scores(BASE, NEW), {"a": {"x": 0.5}, "b": {"x": 0.25}})


def test_queries_are_paired_by_id_and_others_counted() -> None:
    reversed_scores = {
        name: dict(reversed([*scores_of_measure.items()])) | {"more": 0.5}
        for name, scores_of_measure in scores(BASE_AGAIN, NEW_AGAIN).items()
    }
    reproduction = reproduce(None, scores(BASE, NEW), reversed_scores)
    assert reproduction["score"]["system 0"].quantities["rmse"].value == pytest.approx(
        root(BASE, BASE_AGAIN)
    )
    assert "1 query is in one of the experiments only: left out." in [*map(str, reproduction.notes)]


def test_what_cannot_be_reproduced_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="2 original runs and 1 reproduced run"):
        reproduce(None, scores(BASE, NEW), scores(BASE))
    qrels, run = {"q1": {"a": 1}}, {"q1": ["a"]}
    with pytest.raises(MeasureError, match="GMAP: is no mean over the queries"):
        reproduce(qrels, run, run, "GMAP")
    with pytest.raises(MeasureError, match="no reproduced scores of AP"):
        reproduce(None, {"a": {"AP": {"q": 1.0}}}, {"a": {"RR": {"q": 1.0}}})
    with pytest.raises(KeyError, match="AP: there are RR"):
        reproduce(qrels, run, run, "RR")["AP"]


def test_the_command_says_what_the_function_says(tmp_path: Path) -> None:
    qrels, files = tmp_path / "q.txt", {}
    qrels.write_text("1 0 a 1\n1 0 b 2\n2 0 c 1\n")
    for name, docs in {"b": "zab", "n": "baz", "b2": "abz", "n2": "bza"}.items():
        files[name] = tmp_path / f"{name}.run"
        lines = [f"{q} Q0 {d} {i} {9 - i} {name}" for q in (1, 2) for i, d in enumerate(docs, 1)]
        files[name].write_text("\n".join(lines) + "\n2 Q0 c 4 1 x\n")
    paths = list(map(str, files.values()))
    outcome = invoke("reproduce", str(qrels), *paths, "-m", "nDCG@3", "--format", "json")
    reproduction = reproduce(str(qrels), paths[:2], paths[2:], "nDCG@3")
    assert json.loads(outcome.output)["measures"] == reproduction.to_dict()["measures"]
    assert reproduction["nDCG@3"]["n"].mean == pytest.approx((1 + 0) / 2)
    assert reproduction["nDCG@3"]["b"].mean == pytest.approx(
        (1 / log2(3) + 2 / log2(4)) / (2 + 1 / log2(3)) / 2
    )
    odd_outcome = invoke("reproduce", str(qrels), *paths[:3])
    assert odd_outcome.exit_code == 2
    assert "each original run needs its reproduction" in odd_outcome.output
    rows = invoke("reproduce", str(qrels), *paths, "--format", "csv").output.splitlines()
    assert rows[0] == "measure,run,reproduced,quantity,value,low,high"
    saved_paths = []
    for path in paths:
        saved_paths.append(tmp_path / f"{Path(path).stem}.csv")
        saved_paths[-1].write_text(evaluate(str(qrels), path, "AP").to_csv(per_query=True))
    saved_outcome = invoke("reproduce", "--saved", *map(str, saved_paths), "--format", "json")
    saved_runs = json.loads(saved_outcome.output)["measures"]["AP"]
    runs = reproduce(str(qrels), paths[:2], paths[2:], "AP")["AP"]
    assert saved_runs[1]["effect_ratio"]["value"] == runs["n"].quantities["effect_ratio"].value
    assert saved_runs[0]["rmse"]["value"] == runs["b"].quantities["rmse"].value


def test_ends_are_in_the_range_of_what_they_limit() -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(4)}
    docs = ["a", "b", "c", "d"]
    original = dict.fromkeys(qrels, docs)
    reproduced = {q: docs[::-1] if i == 0 else docs for i, q in enumerate(qrels)}
    run = reproduce(qrels, original, reproduced, "RR")["RR"]["run"]
    taus = [-1.0, 1.0, 1.0, 1.0]
    half = float(stats.t.ppf(0.975, 3)) * float(np.std(taus, ddof=1)) / 2
    assert run.quantities["kendall_union"] == Estimate(0.5, max(-1.0, 0.5 - half), 1.0)
    assert run.quantities["rbo"].high == 1.0


def test_rounding_is_no_effect_and_one_effect_is_told() -> None:
    base = {f"q{i}": 0.1 * i for i in range(9)}
    rounded_scores = {
        q: 3 * (score / 3) for q, score in base.items()
    }  # differs in the last bit at most
    better_scores = {q: score + 0.1 + 0.01 * (i % 3) for i, (q, score) in enumerate(base.items())}
    best_scores = {q: 2 * better_scores[q] - score for q, score in base.items()}
    run = reproduce(None, {"b": base, "n": rounded_scores}, {"b": base, "n": better_scores})[
        "score"
    ]["n"]
    assert run.effect_ratio is None
    reproduction = reproduce(None, {"b": base, "n": better_scores}, {"b": base, "n": best_scores})
    ratio = reproduction["score"]["n"].quantities["effect_ratio"]
    assert ratio == pytest.approx((2.0, 2.0, 2.0))
    assert "the effect ratio is the same on every query" in str(reproduction)
    assert "Only 9 queries: take any of this as a hint." in str(reproduction)


def test_empty_rankings_are_counted_and_scores_take_no_judgments() -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(3)}
    run = {"q0": ["a", "b"], "q1": ["b", "a"]}
    reproduction = reproduce(qrels, run, run, "RR")
    assert "RBO: 1 pair of rankings left out, of which both are empty." in str(reproduction)
    sides = {"a": {"q": 0.5}}, {"a": {"q": 0.4}}
    with pytest.raises(OptionError, match="other_qrels applies to judgments and runs"):
        reproduce(None, *sides, other_qrels=qrels)
    with pytest.raises(InputError, match="share no query") as error:
        reproduce(None, {"a": {"q": 0.5}}, {"a": {"r": 0.4}})
    assert "state judgments and runs" in str(error.value)


def test_odd_pairs_and_collections_are_told() -> None:
    a, b = ({f"q{i}": (i * step % 7) / 7 for i in range(12)} for step in (2, 3))
    reproduction = reproduce(None, {"a": a, "b": b}, {"b": b, "a": a})
    assert "runs are paired by their places: a with b" in str(reproduction)
    assert "paired by their places" not in str(reproduce(None, {"a": a, "b": b}, {"a": a, "b": b}))
    qrels = {f"q{i}": {"d": 1, "e": 0} for i in range(12)}
    first_run, second_run = (
        {q: ["d", "e"] if i % n else ["e", "d"] for i, q in enumerate(qrels)} for n in (2, 3)
    )
    twin_reproduction = reproduce(
        qrels, [first_run, second_run], [second_run, first_run], other_qrels=qrels
    )
    assert "The two collections have the same queries" in str(twin_reproduction)
    with pytest.raises(InputError, match="one original run, and other judgments"):
        reproduce(qrels, [first_run], [second_run], other_qrels=qrels)
