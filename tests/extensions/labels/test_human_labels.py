"""Prediction-powered means: a few labels by people, many by a model."""

import json
from collections.abc import Iterator
from itertools import product
from math import log2, sqrt
from pathlib import Path
from statistics import covariance, mean, variance
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.profile import repetitions
from scipy import stats

from cranfield import (
    CranfieldWarning,
    InputError,
    MeasureError,
    OptionError,
    evaluate,
    parse,
    prediction_powered,
    read_qrels,
    read_run,
)
from cranfield.comparison.alignment import align
from cranfield.data.judge import judge
from cranfield.data.qrels import Qrels
from cranfield.extensions.labels.added import score_contributions
from cranfield.extensions.labels.human.powered import (
    PoweredEstimate,
    estimate_by_documents,
    estimate_by_queries,
    deviation_from_chance,
)
from cranfield.extensions.labels.pools.draw import proportional_chances, draw_rows

Y = [0.2, 0.5, 0, 0.7, 0.4, 0.9, 0.1, 0.6, 0.3, 0.5]
F = [0.35, 0.45, 0.30, 0.6, 0.7, 0.8, 0.2, 0.75, 0.25, 0.7]
OTHERS = [0.5, 0.4, 0.8, 0.2, 0.6, 0.3, 0.9, 0.1, 0.7, 0.5, 0.6, 0.4, 0.3, 0.8, 0.5]
OTHERS += [0.2, 0.7, 0.6, 0.4, 0.5, 0.9, 0.3, 0.6, 0.5, 0.4, 0.7, 0.8, 0.2, 0.5, 0.6]


def columns(*lists: list[float]) -> list[Any]:
    return [np.array(one, np.float64) for one in lists]


# ---- the numbers ---------------------------------------------------------------------------------


def slow(y: list[float], f: list[float], others: list[float]) -> tuple[float, float, float]:
    """Return lam, the estimate and its error, as the definition has them."""
    n, n_others = len(y), len(others)
    lam = covariance(y, f) / ((1 + n / n_others) * variance([*f, *others]))
    lam = min(max(lam, 0), 1)
    estimate = mean(y) + lam * (mean(others) - mean(f))
    off = [one - lam * by_model for one, by_model in zip(y, f, strict=True)]
    return lam, estimate, sqrt(variance(off) / n + lam**2 * variance(others) / n_others)


def test_the_published_vector() -> None:
    found = estimate_by_queries(*columns(Y, F, OTHERS))
    assert [found.lam, found.estimate, found.error] == pytest.approx(slow(Y, F, OTHERS), rel=1e-13)
    assert round(found.lam, 10) == 0.8445308162
    assert round(found.estimate, 10) == 0.4256302054
    assert round(found.error, 10) == 0.0607256587
    half = stats.t.ppf(0.975, 9) * found.error
    ends = [round(found.estimate + sign * half, 10) for sign in (-1, 1)]
    assert ends == [0.2882592217, 0.5630011892]
    half = stats.norm.ppf(0.975) * found.error
    ends = [round(found.estimate + sign * half, 10) for sign in (-1, 1)]
    assert ends == [0.3066101015, 0.5446503094]
    assert (round(found.human, 2), round(found.human_error, 10)) == (0.42, 0.0879393731)
    assert round(found.model, 3) == 0.515
    assert found.worth == pytest.approx(10 * (found.human_error / found.error) ** 2)


def test_a_stated_lam() -> None:
    y, f, others = columns(Y, F, OTHERS)
    assert round(estimate_by_queries(y, f, others, None, 1.0).estimate, 10) == 0.4266666667
    alone = estimate_by_queries(y, f, others, None, 0.0)
    assert (alone.estimate, alone.error, alone.worth) == (alone.human, alone.human_error, 10)


def test_a_model_that_says_the_opposite_counts_for_nothing() -> None:
    found = estimate_by_queries(*columns(Y, [1 - one for one in F], OTHERS))
    assert (found.lam, found.estimate) == (0, found.human)


def test_where_all_are_labelled_the_model_counts_for_nothing() -> None:
    found = estimate_by_queries(*columns(Y, F, []))
    assert (found.lam, found.estimate, found.error) == (0, found.human, found.human_error)


def test_scores_that_are_all_the_same() -> None:
    found = estimate_by_queries(*columns([0.1] * 3, [0.3] * 3, [0.3] * 4))
    assert found.estimate == pytest.approx(0.1)
    assert (found.error, found.worth) == (0, None)


CHANCE = [0.2, 0.3, 0.2, 0.5, 0.2, 0.6, 0.2, 0.5, 0.3, 0.4]


def test_unequal_probabilities_are_the_ratio_of_the_definition() -> None:
    """A loop over all queries: what each adds to the estimate, and the variance of that."""
    found = estimate_by_queries(*columns(Y, F, OTHERS, CHANCE))
    every = [*F, *OTHERS]
    weights = [1 / one for one in CHANCE]
    off = [y - found.lam * f for y, f in zip(Y, F, strict=True)]
    middle = sum(w * one for w, one in zip(weights, off, strict=True)) / sum(weights)
    assert found.estimate == pytest.approx(middle + found.lam * mean(every))
    n, n_all, of_model = len(Y), len(every), mean(every)
    total = 0.0
    for i, score in enumerate(every):
        share = found.lam * (score - of_model) / n_all
        if i < n:
            labelled = weights[i] * (off[i] - middle) / sum(weights)
            total += n / (n - 1) * labelled**2
            total += 2 * sqrt(n / (n - 1)) * labelled * share
        total += share**2 * n_all / (n_all - 1)
    assert found.error == pytest.approx(sqrt(total))
    y, f, others, chance = columns(Y, F, OTHERS, CHANCE)
    tried = [estimate_by_queries(y, f, others, chance, lam).error for lam in np.linspace(0, 1, 101).tolist()]
    assert found.error <= min(tried) + 1e-12


# ---- coverage ------------------------------------------------------------------------------------

LEVELS = ("useless", "poor", "good", "perfect")


def by_model(y: Any, level: str, chance: np.random.Generator) -> Any:
    """Return the scores by a model that is as good as this."""
    noise = chance.normal(0, y.std(), len(y))
    return {
        "useless": chance.permutation(y),
        "poor": 0.4 * y + 0.3 + noise,
        "good": 0.8 * y + 0.1 + noise / 2,
        "perfect": y,
    }[level]


def held(population: Any, level: str, n: int, times: int, seed: int) -> int:
    """Count how often the 95 % interval holds the population's mean, with 200 queries."""
    chance, found = np.random.default_rng(seed), 0
    for _ in range(times):
        y = chance.choice(population, 200)
        f = by_model(y, level, chance)
        one = estimate_by_queries(y[:n], f[:n], f[n:])
        found += covers(one, n - 1, population.mean())
    return found


def covers(one: PoweredEstimate, degrees: int, truth: float) -> bool:
    return bool(abs(one.estimate - truth) <= stats.t.ppf(0.975, degrees) * one.error)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("n", "least", "most"), [(10, 0.9, 0.95), (20, 0.92, 0.955), (50, 0.925, 0.96)]
)
def test_intervals_hold_as_often_as_the_page_says(
    level: str, n: int, least: float, most: float
) -> None:
    """Of made scores, beta(.6, .6); binomial limits of 99.9 %."""
    times = repetitions(1_000)
    population = np.random.default_rng(3).beta(0.6, 0.6, 2_000)
    found = held(population, level, n, times, 20261127)
    assert stats.binom.ppf(0.0005, times, least) <= found <= stats.binom.ppf(0.9995, times, most)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("n", "least", "most"), [(10, 0.9, 0.95), (20, 0.92, 0.955), (50, 0.925, 0.96)]
)
@pytest.mark.parametrize("pair", [None, 5])
def test_intervals_of_real_scores_hold(
    data: Path, pair: int | None, level: str, n: int, least: float, most: float
) -> None:
    """nDCG@10 of DL 2019, of a system, or the difference of two: 1,000 times."""
    runs = sorted((data / "dl19").glob("*.run.gz"))
    values = align(data / "dl19" / "qrels.txt", runs, "nDCG@10").scores[0]
    population = values[:, 0] if pair is None else values[:, pair] - values[:, 0]
    found = held(population, level, n, 1_000, 20261127)
    assert stats.binom.ppf(0.0005, 1_000, least) <= found <= stats.binom.ppf(0.9995, 1_000, most)


def test_unequal_probabilities_hold_too() -> None:
    """Queries that the model scores high are drawn twice as often."""
    chance, times, hits, naive = np.random.default_rng(11), repetitions(1_000), 0, 0
    population = chance.beta(0.6, 0.6, 2_000)
    truth = population.mean()
    for _ in range(times):
        y = chance.choice(population, 300)
        f = by_model(y, "good", chance)
        likely = np.where(f > 0.5, 0.2, 0.1)
        is_drawn = chance.random(300) < likely
        labelled, rest = np.flatnonzero(is_drawn), np.flatnonzero(~is_drawn)
        args = y[labelled], f[labelled], f[rest]
        hits += covers(estimate_by_queries(*args, likely[labelled]), len(labelled) - 1, truth)
        naive += covers(estimate_by_queries(*args, lam=0.0), len(labelled) - 1, truth)
    assert stats.binom.ppf(0.0005, times, 0.93) <= hits <= stats.binom.ppf(0.9995, times, 0.96)
    assert naive < stats.binom.ppf(0.0005, times, 0.9)  # as if all had been as likely


# ---- documents -----------------------------------------------------------------------------------

GAIN_F, GAIN_Y = [1, 0.8, 0.3, 0.9, 0.1, 0.4], [1, 0, None, 1, 1, None]
PI = [1, 0.5, 0.5, 0.5, 0.25, 0.25]


def test_the_published_vector_of_documents() -> None:
    weights = [1 / log2(rank + 1) for rank in range(1, 7)]
    model = sum(w * f for w, f in zip(weights, GAIN_F, strict=True))
    rows = [i for i, y in enumerate(GAIN_Y) if y is not None]
    y, f, pi = columns(
        [weights[i] * float(GAIN_Y[i] or 0) for i in rows],
        [weights[i] * GAIN_F[i] for i in rows],
        [PI[i] for i in rows],
    )
    found = estimate_by_documents(np.zeros(4, np.int64), y, f, pi, np.array([model]), 1.0)
    slow = model + sum((y[j] - f[j]) / pi[j] for j in range(4))
    error = sqrt(sum((1 - pi[j]) / pi[j] ** 2 * (y[j] - f[j]) ** 2 for j in range(4)))
    assert (found.estimate, found.label_error) == pytest.approx((slow, error))
    assert round(found.model, 10) == 2.2235208607
    assert round(found.estimate, 10) == 2.6928386726
    assert (found.label_error or 0) ** 2 == pytest.approx(1.9678897771, abs=2e-10)


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_over_all_draws_the_estimate_is_the_truth(lam: float) -> None:
    """Every one of 2^5 draws of documents of two queries, with its probability."""
    query, pi = np.array([0, 0, 0, 1, 1]), np.array([0.5, 0.25, 1.0, 0.4, 0.8])
    y, f = np.array([1, 0, 0.5, 1, 0.25]), np.array([0.7, 0.4, 0.5, 0.2, 0.9])
    of_model = np.bincount(query, f)
    expected, whole, variances = 0.0, 0.0, 0.0
    for draw in product([False, True], repeat=5):
        kept = np.array(draw)
        chance = float(np.prod(np.where(kept, pi, 1 - pi)))
        if not chance:
            continue
        one = estimate_by_documents(query[kept], y[kept], f[kept], pi[kept], of_model, lam)
        expected += chance * one.estimate
        whole += chance * one.estimate**2
        variances += chance * (one.label_error or 0) ** 2
    truth = np.bincount(query, y).mean()
    assert expected == pytest.approx(truth)
    assert variances == pytest.approx(whole - expected**2)  # the stated error, on average


def test_intervals_of_labelled_documents_hold(data: Path) -> None:
    """P@10 of DL 2019: queries resampled, grades by a model that errs, documents drawn by rank."""
    run = read_run(data / "dl19" / "bm25.run.gz")
    judged = judge(read_qrels(data / "dl19" / "qrels.txt"), run).judged
    top = judged.every(np.array([[10]]))
    real = (top.grade >= 2).reshape(-1, 10) / 10.0
    pi = np.linspace(0.5, 0.15, 10)
    chance, times, hits = np.random.default_rng(5), 1_000, 0
    for _ in range(times):
        y = real[chance.integers(0, len(real), 60)]
        wrong = chance.random(y.shape) < 0.25
        f = np.where(wrong, 0.1 - y, y)
        query, rank = np.nonzero(chance.random(y.shape) < pi)
        one = estimate_by_documents(query, y[query, rank], f[query, rank], pi[rank], f.sum(axis=1))
        hits += covers(one, 59, real.sum(axis=1).mean())
    assert stats.binom.ppf(0.0005, times, 0.93) <= hits <= stats.binom.ppf(0.9995, times, 0.96)


@pytest.mark.parametrize("name", ["P@5", "DCG@10", "DCG", "RBP(p=0.8)", "RBP@7", "CG@20"])
def test_what_documents_add_is_the_measure(name: str, demo_folder: Path) -> None:
    judged = judge(
        read_qrels(demo_folder / "demo/qrels.txt"), read_run(demo_folder / "demo/bm25.run")
    ).judged
    adds, hits = score_contributions(parse(name), judged), judged.hits
    sums = np.bincount(hits.query, adds, hits.n_queries)
    assert sums == pytest.approx(parse(name).values(judged)[:, 0])
    assert (adds >= 0).all()


# ---- the function --------------------------------------------------------------------------------


def collection(n: int = 40, seed: int = 1) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the judgments of people, of a model that errs, and two runs."""
    chance = np.random.default_rng(seed)
    human: dict[str, Any] = {}
    model: dict[str, Any] = {}
    runs: dict[str, dict[str, list[str]]] = {"old": {}, "new": {}}
    for i in range(n):
        query = f"q{i:02}"
        grades = chance.integers(0, 3, 12)
        human[query] = {f"d{j:02}": int(grade) for j, grade in enumerate(grades)}
        model[query] = {
            doc: int(grade if chance.random() < 0.75 else chance.integers(0, 3))
            for doc, grade in human[query].items()
        }
        worth = grades + chance.normal(0, 1.0, 12)
        runs["new"][query] = [f"d{j:02}" for j in np.argsort(-worth)]
        runs["old"][query] = [f"d{j:02}" for j in chance.permutation(12)]
    return human, model, runs


def some(human: dict[str, Any], n: int = 12) -> dict[str, Any]:
    chosen = np.random.default_rng(4).permutation(len(human))[:n]
    return {query: human[query] for i, query in enumerate(human) if i in set(chosen.tolist())}


@pytest.fixture
def quiet() -> Iterator[None]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        yield


def test_whole_queries_from_judgments(quiet: None) -> None:
    human, model, runs = collection()
    labelled = some(human)
    found = prediction_powered(model, runs, "nDCG@5 AP", human=labelled, baseline="old")
    for measure in ("nDCG@5", "AP"):
        by_people = {
            name: evaluate(human, run, measure).per_query(measure) for name, run in runs.items()
        }
        modelled = {
            name: evaluate(model, run, measure).per_query(measure) for name, run in runs.items()
        }
        for system, other in (("old", None), ("new", None), ("new", "old")):
            y, f, rest = (
                [
                    of[system][query] - (of[other][query] if other else 0)
                    for query in model
                    if (query in labelled) == is_labelled
                ]
                for of, is_labelled in ((by_people, True), (modelled, True), (modelled, False))
            )
            one = (found.differences if other else found.means)[measure][system]
            lam, estimate, error = slow(y, f, rest)
            assert (one.lam, one.mean, one.error) == pytest.approx((lam, estimate, error))
            half = stats.t.ppf(0.975, len(y) - 1) * error
            assert one.low == pytest.approx(max(estimate - half, -1 if other else 0))
            assert (one.human, one.model) == pytest.approx((mean(y), mean([*f, *rest])))
            assert (one.labelled, found.n_queries, found.unit) == (12, 40, "query")
            if other:
                assert one.p == pytest.approx(2 * stats.t.sf(abs(estimate / error), len(y) - 1))


def test_three_systems_at_another_level_where_less_is_better(quiet: None) -> None:
    """Every field of each estimate, from loops: Holm's p, both intervals, the verdicts."""
    chance = np.random.default_rng(11)
    query_ids = [f"q{i:02}" for i in range(50)]
    of_human: dict[str, dict[str, float]] = {}
    of_model: dict[str, dict[str, float]] = {}
    for name, shift in (("a", 0.0), ("b", -0.1), ("c", 0.02), ("d", 0.2)):
        true = np.clip(0.5 + shift + chance.normal(0, 0.1, 50), 0, 1)
        of_human[name] = dict(zip(query_ids[::3], true[::3].tolist(), strict=True))
        of_model[name] = dict(
            zip(query_ids, np.clip(true + chance.normal(0, 0.05, 50), 0, 1).tolist(), strict=True)
        )
    model = {name: {"FallOut": its} for name, its in of_model.items()}
    human = {name: {"FallOut": its} for name, its in of_human.items()}
    found = prediction_powered(model, human=human, alpha=0.2)
    n = len(query_ids[::3])
    far, p = stats.t.ppf(0.9, n - 1), {}
    for system, other in [*((one, None) for one in model), ("b", "a"), ("c", "a"), ("d", "a")]:
        y, f, rest = (
            [of[system][q] - (of[other][q] if other else 0) for q in ids]
            for of, ids in (
                (of_human, query_ids[::3]),
                (of_model, query_ids[::3]),
                (of_model, [q for i, q in enumerate(query_ids) if i % 3]),
            )
        )
        one = (found.differences if other else found.means)["FallOut"][system]
        _, estimate, error = slow(y, f, rest)
        assert (one.low, one.high) == pytest.approx(
            (estimate - far * error, estimate + far * error)
        )
        alone = sqrt(variance(y) / n)
        assert one.human_low == pytest.approx(mean(y) - far * alone)
        assert one.human_high == pytest.approx(mean(y) + far * alone)
        assert one.worth == pytest.approx(n * (alone / error) ** 2)
        if other:
            p[system] = 2 * float(stats.t.sf(abs(estimate / error), n - 1))
    order = sorted(p, key=lambda name: p[name])
    adjusted = [min(1.0, p[name] * (3 - i)) for i, name in enumerate(order)]
    for i, name in enumerate(order):
        one = found.differences["FallOut"][name]
        assert one.p_adjusted == pytest.approx(max(adjusted[: i + 1]))
    verdicts = {name: one.verdict for name, one in found.differences["FallOut"].items()}
    assert (verdicts["b"], verdicts["d"]) == ("better", "worse")  # less is better


def test_both_kinds_of_labels_have_one_highest_grade(quiet: None) -> None:
    """ERR and others depend on it: where people's labels are the model's, so are the scores."""
    _, model, runs = collection()
    labelled = {q: {d: min(g, 1) for d, g in its.items()} for q, its in some(model).items()}
    model |= labelled  # no 2 among what people labelled
    for measures in (["ERR@5", "nERR@5"], ["P@5", "nDCG@5"]):
        found = prediction_powered(model, runs, measures, human=labelled)
        for measure in measures:
            for name, run in runs.items():
                scores = evaluate(model, run, measure).per_query(measure)
                want = mean([scores[query] for query in labelled])
                assert found.means[measure][name].human == pytest.approx(want)
    higher = {q: {d: 2 * g for d, g in its.items()} for q, its in labelled.items()}
    higher[next(iter(higher))]["d00"] = 4
    found = prediction_powered(model, runs, "ERR@5", human=higher)
    on_four = Qrels(model, top_grade=4)
    for name, run in runs.items():
        want = evaluate(on_four, run, "ERR@5")["ERR@5"]
        assert found.means["ERR@5"][name].model == pytest.approx(want, rel=1e-14)
    assert "The highest grade is 4 by people and 2 by the model" in str(found)


def test_documents_from_judgments(quiet: None) -> None:
    """A loop over the documents that were drawn, beside what `evaluate` says of the model's."""
    human, model, runs = collection()
    chance = np.random.default_rng(8)
    rows = [
        {"query_id": query, "doc_id": doc, "relevance": grade, "probability": pi}
        for query, docs in human.items()
        for doc, grade in docs.items()
        if chance.random() < (pi := 0.3 if doc < "d06" else 0.6)
    ]
    found = prediction_powered(model, runs, "DCG@5", human=rows, lam=1.0)
    for system, run in runs.items():
        scores = dict(evaluate(model, run, "DCG@5").per_query("DCG@5"))
        for row in rows:
            query, doc = str(row["query_id"]), str(row["doc_id"])
            rank = run[query].index(doc) + 1
            if rank <= 5:
                off = float(row["relevance"]) - model[query][doc]
                scores[query] += off / log2(rank + 1) / float(row["probability"])
        one = found.means["DCG@5"][system]
        values = list(scores.values())
        assert one.mean == pytest.approx(mean(values))
        assert one.error == pytest.approx(sqrt(variance(values) / len(values)))
        assert (one.labelled, found.unit) == (len(rows), "document")
    old, new = found.means["DCG@5"].values()
    assert found.differences["DCG@5"]["new"].mean == pytest.approx(new.mean - old.mean)


def test_documents_that_nobody_judged_or_no_run_has(quiet: None) -> None:
    _, model, runs = collection(6)
    rows = [("q00", "d01", 2, 0.5), ("q01", "unknown", 2, 0.5), ("q02", "d02", -1, 0.5)]
    table = [dict(zip(("query_id", "doc_id", "relevance", "probability"), row)) for row in rows]  # noqa: B905
    found = prediction_powered(model, runs, "P@5", human=table)
    assert found.means["P@5"]["new"].labelled == 2


def test_scores_of_any_tool() -> None:
    model = {"new": {f"q{i}": i % 5 / 4 for i in range(40)}}
    human = {"new": {f"q{i}": i % 5 / 5 for i in range(0, 40, 3)}}
    one = prediction_powered(model, human=human).means["score"]["new"]
    y = [human["new"][query] for query in human["new"]]
    f = [model["new"][query] for query in human["new"]]
    rest = [score for query, score in model["new"].items() if query not in human["new"]]
    assert (one.lam, one.mean, one.error) == pytest.approx(slow(y, f, rest))


def test_the_result_does_not_depend_on_the_order_of_queries(quiet: None) -> None:
    human, model, runs = collection()
    turned = {name: dict(reversed(run.items())) for name, run in runs.items()}
    one, other = (
        prediction_powered(dict(of), run, "P@5", human=dict(labels)).rows()
        for of, run, labels in (
            (model.items(), runs, some(human).items()),
            (reversed(model.items()), turned, reversed(some(human).items())),
        )
    )
    assert one == other


def notes(found: Any) -> set[str]:
    return {one.code for one in found.notes}


def test_easy_queries_only_are_seen() -> None:
    human, model, runs = collection(60)
    scores = evaluate(model, runs["new"], "P@5").per_query("P@5")
    easy = sorted(scores, key=lambda query: -scores[query])[:15]
    with pytest.warns(CranfieldWarning, match="Were easy ones chosen"):
        found = prediction_powered(
            model, {"new": runs["new"]}, "P@5", human={query: human[query] for query in easy}
        )
    assert "not-by-chance" in notes(found)


@pytest.mark.parametrize("share", [None, 0.95, 0.9, 0.1])
def test_by_chance_few_alarms(share: float | None) -> None:
    """The warning of a sample that is not one of chance: at most 2 % of 2,000 that are one.

    Of scores between 0 and 1, and of those that are 1 for a share of the queries, else 0.
    """
    chance, alarms = np.random.default_rng(2), 0
    for _ in range(2_000):
        every = chance.beta(0.6, 0.6, 200) if share is None else (chance.random(200) < share) * 1.0
        found = deviation_from_chance(every[:10], every)
        alarms += found is not None and found[1] < 0.01
    assert alarms <= stats.binom.ppf(0.9995, 2_000, 0.02)


def test_the_top_only_is_seen() -> None:
    human, model, runs = collection()
    top = {
        query: {doc: human[query][doc] for doc in runs["new"][query][:2]} for query in some(human)
    }
    with pytest.warns(CranfieldWarning, match="people labelled 40% .* the model 100%"):
        prediction_powered(model, {"new": runs["new"]}, "P@5", human=top)


def test_documents_of_the_top_only_are_seen() -> None:
    human, model, runs = collection()
    rows = [
        {"query_id": query, "doc_id": doc, "relevance": human[query][doc], "probability": 0.2}
        for query in human
        for doc in runs["new"][query][:1]
    ]
    with pytest.warns(CranfieldWarning, match="do not look drawn with these probabilities"):
        prediction_powered(model, {"new": runs["new"]}, "DCG@5", human=rows)


def test_a_pool_that_is_not_deep_enough_is_seen() -> None:
    """Half of the first 3 were labelled, and the measure looks at 10."""
    human, model, runs = collection()
    chance = np.random.default_rng(3)
    rows = [
        {"query_id": query, "doc_id": doc, "relevance": human[query][doc], "probability": 0.5}
        for query in human
        for doc in runs["new"][query][:3]
        if chance.random() < 0.5
    ]
    with pytest.warns(CranfieldWarning, match=r"of the 400 documents of a run that P@10 looks at"):
        prediction_powered(model, {"new": runs["new"]}, "P@10", human=rows)
    every = [{**row, "probability": 1} for row in rows]
    with pytest.warns(
        CranfieldWarning, match=r"stand for \d+ of the 120 documents .* \(p <0.0001\)"
    ):
        prediction_powered(model, {"new": runs["new"]}, "P@3", human=every)


def test_few_documents_are_said() -> None:
    _, model, runs = collection()
    rows = [{"query_id": "q00", "doc_id": "d00", "relevance": 0, "probability": 0.002}]
    with pytest.warns(CranfieldWarning, match="P@12 looks at 1 labelled document of a run"):
        prediction_powered(model, runs, "P@12", human=rows)


def test_documents_of_queries_that_are_dropped(quiet: None) -> None:
    """A run lacks some queries in the middle: they are left out for all."""
    human, model, runs = collection(30)
    rows = [
        {"query_id": query, "doc_id": doc, "relevance": grade, "probability": 0.5}
        for query, docs in human.items()
        for doc, grade in list(docs.items())[::2]
    ]
    lacking = {query for query in model if query[-1] in "37"}
    some_runs = {
        "new": runs["new"],
        "old": {query: docs for query, docs in runs["old"].items() if query not in lacking},
    }
    found = prediction_powered(model, some_runs, "DCG@5", human=rows, missing="drop")
    kept = {query: docs for query, docs in model.items() if query not in lacking}
    only = [row for row in rows if row["query_id"] not in lacking]
    assert found.rows() == prediction_powered(kept, some_runs, "DCG@5", human=only).rows()


def test_how_the_sample_was_drawn_is_stated(quiet: None) -> None:
    human, model, runs = collection()
    labelled = some(human)
    rows = [
        {"query_id": query, "doc_id": doc, "relevance": grade, "query_probability": 0.3}
        for query, docs in labelled.items()
        for doc, grade in docs.items()
    ]
    stated = prediction_powered(model, runs, "P@5", human=rows)
    unstated = prediction_powered(model, runs, "P@5", human=labelled)
    assert stated.rows() == unstated.rows()
    assert "with a probability of 0.3 each" in str(stated)
    assert "nothing in the labels says how they were drawn" in str(unstated)
    for one in rows:
        one["query_probability"] = 0.6 if str(one["query_id"]) < "q20" else 0.3
    unequal = prediction_powered(model, runs, "P@5", human=rows)
    assert unequal.rows() != stated.rows()
    assert "from 0.3 to 0.6" in str(unequal)


def test_all_labelled_and_few_labelled_and_few_that_differ_are_said(quiet: None) -> None:
    human, model, runs = collection()
    assert "all-labelled" in notes(prediction_powered(model, runs, "P@5", human=human))
    assert "few-labelled" in notes(prediction_powered(model, runs, "P@5", human=some(human)))
    same = {"old": runs["new"], "new": runs["new"]}
    assert "few-differ" in notes(prediction_powered(model, same, "P@5", human=some(human)))


def test_a_query_that_the_model_did_not_label_is_counted(quiet: None) -> None:
    human, model, runs = collection()
    labelled = some(human)
    kept = {query: docs for query, docs in model.items() if query != next(iter(labelled))}
    found = prediction_powered(kept, runs, "P@5", human=labelled)
    assert "human labels of queries without a model's label left out" in str(found)
    assert "no-model-label" in notes(found)
    assert found.means["P@5"]["new"].labelled == 11


def test_a_model_whose_scores_are_constant_tells_nothing_of_chance(quiet: None) -> None:
    one = np.full(5, 0.1 + 0.2)
    assert deviation_from_chance(one, np.full(12, 0.1 + 0.2)) is None


def test_labels_below_0_are_told_as_none(quiet: None) -> None:
    human, model, runs = collection()
    labelled = some(human)
    query = next(iter(labelled))
    labelled[query] = dict.fromkeys(labelled[query], -1)
    found = prediction_powered(model, runs, "P@5", human=labelled)
    assert f"{len(labelled[query]):,} human labels below 0" in str(found)
    del labelled[query]  # it is no query that people labelled
    without = prediction_powered(model, runs, "P@5", human=labelled)
    assert found.means == without.means
    assert found.means["P@5"]["new"].labelled == len(labelled)
    with pytest.raises(InputError, match="all human labels are below 0"):
        prediction_powered(model, runs, "P@5", human={"q00": {"d00": -1}, "q01": {"d01": -1}})


def test_queries_chosen_for_their_difference_are_seen() -> None:
    human, model, runs = collection(60)
    scores = {name: evaluate(model, run, "P@5").per_query("P@5") for name, run in runs.items()}
    gain = {query: scores["new"][query] - scores["old"][query] for query in model}
    best = sorted(gain, key=lambda query: -gain[query])[:15]
    with pytest.warns(CranfieldWarning, match="Were those with a large difference chosen"):
        prediction_powered(model, runs, "P@5", human={query: human[query] for query in best})


def test_what_people_labelled_wrongly_is_told(quiet: None, tmp_path: Path) -> None:
    human, model, runs = collection()
    labelled = some(human)
    query = next(iter(labelled))
    typo = {**labelled, query: {"D00": 1, **labelled[query]}}
    text = "1 labelled document is in no run and without a model's label, as 'D00' of query"
    assert text in str(prediction_powered(model, runs, "P@5", human=typo))
    file = tmp_path / "no-grades.csv"
    file.write_text("query_id,doc_id\n" + "".join(f"{q},d00\n{q},d01\n" for q in labelled))
    assert "Is the column relevance missing?" in str(
        prediction_powered(model, runs, "P@5", human=str(file))
    )
    rows = [
        {"query_id": q, "doc_id": doc, "relevance": grade, "probability": 12 / 40}
        for q, docs in labelled.items()
        for doc, grade in docs.items()
    ]
    found = prediction_powered(model, runs, "P@5", human=rows)
    assert "28 of 40 queries have no labelled document, though there are 3.6 to a query" in str(
        found
    )
    drawn_rows = [
        {"query_id": q, "doc_id": doc, "relevance": grade, "query_probability": 12 / 40}
        for q, docs in [*labelled.items()][:9]
        for doc, grade in docs.items()
    ]
    found = prediction_powered(model, runs, "P@5", human=drawn_rows)
    assert "9 labelled queries stand for 30, and there are 40: are all labelled" in str(found)


def test_scores_that_people_lack_are_told(quiet: None) -> None:
    model = {
        name: {f"q{i}": (i * step % 7) / 7 for i in range(30)}
        for name, step in (("a", 2), ("b", 3))
    }
    human = {name: {q: its[q] for q in list(its)[:12]} for name, its in model.items()}
    del human["b"]["q3"]
    found = prediction_powered(model, human=human, missing="zero")
    assert "Human scores: b: 1 of 12 queries without a score: counted as 0." in str(found)
    with pytest.raises(InputError, match="have no score") as error:
        prediction_powered(model, human=human)
    assert "These are the human scores" in str(error.value)
    percent = {name: {q: 100 * one for q, one in its.items()} for name, its in human.items()}
    of_ap = prediction_powered(
        {name: {"mine": its} for name, its in model.items()},
        human={name: {"mine": its} for name, its in percent.items()},
        missing="drop",
    )
    one = of_ap.means["mine"]["a"]
    assert one.high is not None
    assert one.high > one.mean
    assert "Human scores: 1 of 12 queries left out" in str(of_ap)


def test_a_stated_lam_without_effect_is_told(quiet: None) -> None:
    human, model, runs = collection()
    found = prediction_powered(model, runs, "P@5", human=human, lam=0.5)
    assert "lam 0.5 has no effect where people labelled all queries." in str(found)
    found = prediction_powered(model, runs, "P@5", human=some(human), lam=0.5)
    assert "lam 0.5 was stated" in str(found)


def test_rows_that_were_left_out_are_told(quiet: None, tmp_path: Path) -> None:
    human, model, runs = collection()
    file = tmp_path / "human.csv"
    lines = [f"{q},{d},{g}\n" for q, docs in some(human).items() for d, g in docs.items()]
    file.write_text("query_id,doc_id,relevance\n" + "".join(lines) + "q01,d99,\n")
    judged = read_qrels(str(file), errors="skip")
    found = prediction_powered(model, runs, "P@5", human=judged)
    assert "1 row of the human labels left out" in str(found)


def test_relevant_documents_that_people_did_not_see_are_told(quiet: None) -> None:
    human, model, runs = collection()
    labelled = some(human)
    retrieved = {q: {d for run in runs.values() for d in run[q]} for q in labelled}
    pooled = {q: {d: g for d, g in its.items() if d in retrieved[q]} for q, its in labelled.items()}
    model = {q: {**its, "unseen": 3} for q, its in model.items()}
    found = prediction_powered(model, runs, ["P@5", "R@5"], human=pooled)
    (text,) = (one.text for one in found.notes if one.code == "few-of-all")
    assert text.startswith("R@5 depends on documents that the model labelled and people did not")
    both = {q: {d: g for d, g in model[q].items() if d in pooled[q]} for q in pooled}
    for labels in (both, {q: model[q] for q in pooled}):
        means = [evaluate(labels, run, "R@5")["R@5"] for run in runs.values()]
        assert f"{mean(means):.4f}" in text
    assert "few-of-all" not in notes(prediction_powered(model, runs, "P@5", human=pooled))


def test_probabilities_that_cannot_be_are_told(quiet: None) -> None:
    human, model, runs = collection()
    rows = [
        {"query_id": q, "doc_id": d, "relevance": g, "query_probability": 1.0}
        for q, its in some(human).items()
        for d, g in its.items()
    ]
    found = prediction_powered(model, runs, "P@5", human=rows)
    assert "12 labelled queries stand for 12, and there are 40" in str(found)


@pytest.mark.parametrize(("n", "spread"), [(15, 0.5), (15, 1.2), (30, 1.2)])
def test_very_unequal_probabilities_hold_as_rarely_as_the_note_says(n: int, spread: float) -> None:
    chance, held, worth = np.random.default_rng(20261127), 0, []
    for _ in range(1_000):
        truth = chance.beta(0.6, 0.6, 400)
        model = np.clip(truth + chance.normal(0, 0.2, 400), 0, 1)
        likely = proportional_chances(np.exp(chance.normal(0, spread, 400)), n)
        got = draw_rows(likely, chance)
        found = estimate_by_queries(truth[got], model[got], model[~got], likely[got])
        half = stats.t.ppf(0.975, n - 1) * found.error
        held += abs(found.estimate - 0.5) <= half
        weight = 1 / likely[got]
        worth.append(weight.sum() ** 2 / (weight**2).sum())
    assert np.mean(worth) < 20
    assert stats.binom.ppf(0.0005, 1_000, 0.82) <= held <= stats.binom.ppf(0.9995, 1_000, 0.92)


def test_very_unequal_probabilities_are_told(quiet: None) -> None:
    human, model, runs = collection()
    rows = [
        {"query_id": q, "doc_id": d, "relevance": g, "query_probability": 0.9 if i else 0.05}
        for i, (q, its) in enumerate(some(human).items())
        for d, g in its.items()
    ]
    found = prediction_powered(model, runs, "P@5", human=rows)
    weights = [20.0, *[1 / 0.9] * 11]
    worth = sum(weights) ** 2 / sum(one * one for one in weights)
    assert f"worth about {worth:.1f} equally likely ones" in str(found)


def test_no_interval_where_nothing_varies(quiet: None) -> None:
    model = {"new": {f"q{i}": i % 5 / 4 for i in range(40)}}
    human = {"new": dict.fromkeys((f"q{i}" for i in range(5)), 0.5)}
    one = prediction_powered(model, human=human, lam=0).means["score"]["new"]
    assert (one.mean, one.low, one.high, one.human_low) == (0.5, None, None, None)


def test_the_order_of_labelled_documents_changes_no_bit(quiet: None) -> None:
    human, model, runs = collection()
    rows = [
        {"query_id": q, "doc_id": d, "relevance": g, "probability": 0.3 + (len(d) + i) % 5 / 10}
        for i, (q, its) in enumerate(human.items())
        for d, g in list(its.items())[:4]
    ]
    every = [
        prediction_powered(model, runs, "DCG@5", human=order).rows()
        for order in (rows, rows[::-1], rows[1::2] + rows[::2])
    ]
    assert every[0] == every[1] == every[2]


def test_what_cannot_be_estimated_is_refused() -> None:
    human, model, runs = collection(6)
    one = {"q00": human["q00"]}
    with pytest.raises(InputError, match="1 query has both human and model labels"):
        prediction_powered(model, runs, "P@5", human=one)
    with pytest.raises(MeasureError, match="GMAP: is no mean over the queries"):
        prediction_powered(model, runs, "GMAP", human=human)
    rows = [{"query_id": "q00", "doc_id": "d01", "relevance": 1, "probability": 0.5}]
    for measure in ("nDCG@5", "AP", "RBP(gain='linear')", "R@5", "RR"):
        with pytest.raises(MeasureError, match="need a measure that adds them up"):
            prediction_powered(model, runs, measure, human=rows)
    with pytest.raises(OptionError, match="ranks must not depend"):
        prediction_powered(model, runs, "P@5", human=rows, judged_only=True)
    with pytest.raises(InputError, match="probabilities of queries and of documents"):
        prediction_powered(model, runs, "P@5", human=[{**rows[0], "query_probability": 0.5}])
    drawn = [
        {**rows[0], "query_probability": pi, "doc_id": f"d0{i}"} for i, pi in enumerate((0.5, 0.4))
    ]
    drawn = [{key: row[key] for key in row if key != "probability"} for row in drawn]
    drawn.append({**drawn[0], "query_id": "q01"})
    with pytest.raises(InputError, match="different values of query_probability"):
        prediction_powered(model, runs, "P@5", human=drawn)
    with pytest.raises(InputError, match="expected a probability above 0"):
        prediction_powered(model, runs, "P@5", human=[{**rows[0], "probability": 0.0}])
    with pytest.raises(InputError, match="belongs to a query"):
        prediction_powered(model, runs, "P@5", human=[{**rows[0], "query_id": "other"}])
    with pytest.raises(OptionError, match="lam=2"):
        prediction_powered(model, runs, "P@5", human=human, lam=2)
    with pytest.raises(InputError, match="the human scores are of"):
        prediction_powered({"a": {"q": 1.0, "r": 0}}, human={"b": {"q": 1.0, "r": 0}})


# ---- the command line ----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    human, model, runs = collection()
    found = {}
    for name, judgments in (("human", some(human)), ("model", model)):
        found[name] = str(tmp_path / f"{name}.qrels")
        Qrels(judgments).write(found[name])
    for name, run in runs.items():
        found[name] = str(tmp_path / f"{name}.run")
        lines = [
            f"{query} Q0 {doc} {rank} {-rank} {name}\n"
            for query, docs in run.items()
            for rank, doc in enumerate(docs, 1)
        ]
        Path(found[name]).write_text("".join(lines))
    return found


def test_compare_and_evaluate_show_the_same_means(files: dict[str, str], quiet: None) -> None:
    args = [files["model"], files["old"], files["new"], "-m", "P@5", "--human", files["human"]]
    compared = json.loads(invoke("compare", *args, "--format", "json").output)["estimates"]
    evaluated = json.loads(invoke("evaluate", *args, "--format", "json").output)["estimates"]
    assert compared[:2] == evaluated
    assert (compared[2]["system"], compared[2]["other"]) == ("new", "old")
    by_path = [
        *args,
        "--baseline",
        files["new"],
        "--alpha",
        "0.1",
        "--lam",
        "0.5",
        "--format",
        "json",
    ]
    other = json.loads(invoke("compare", *by_path).output)["estimates"]
    assert (other[2]["system"], other[2]["lam"]) == ("old", 0.5)
    twice = invoke("evaluate", files["model"], files["old"], "--human", files["model"])
    assert "is named twice, as QRELS and as --human" in twice.output
    stdin = invoke("evaluate", "-", files["old"], "--human", "-")
    assert "can be read only once" in stdin.output
    same = [files["model"], files["old"], files["old"], "-m", "P@5", "--human", files["human"]]
    assert "systems differ on fewer" in invoke("compare", *same).output
    assert "systems differ on fewer" not in invoke("evaluate", *same).output


def test_own_columns_of_the_judgments_are_not_those_of_people(
    files: dict[str, str], tmp_path: Path, quiet: None
) -> None:
    own = tmp_path / "model.csv"
    rows = (line.split() for line in Path(files["model"]).read_text().splitlines())
    own.write_text("user,item,stars\n" + "".join(f"{q},{d},{g}\n" for q, _, d, g in rows))
    stated = ["--qrels-columns", "query_id=user,doc_id=item,relevance=stars", "-m", "P@5"]
    done = invoke(
        "compare", str(own), files["old"], files["new"], *stated, "--human", files["human"]
    )
    plain = invoke(
        *("compare", files["model"], files["old"], files["new"], "-m", "P@5"),
        *("--human", files["human"]),
    )
    assert done.stdout == plain.stdout
    wrong = invoke("compare", str(own), files["old"], *stated, "--human", str(own))
    assert "is named twice" in wrong.output
    copy = tmp_path / "copy.csv"
    copy.write_text(own.read_text())
    wrong = invoke("compare", str(own), files["old"], *stated, "--human", str(copy))
    assert "Its columns are called query_id, doc_id and relevance" in wrong.output


def test_the_tables_fit_80_columns(files: dict[str, str], quiet: None) -> None:
    args = [files["model"], files["old"], files["new"], "-m", "P@5", "--human", files["human"]]
    shown = invoke("compare", *args).output
    assert "difference from old" in shown
    rows = [line for line in shown.splitlines() if line.startswith((" ", "─"))]
    assert max(map(len, rows)) <= 80


def test_options_without_effect_are_refused(files: dict[str, str]) -> None:
    runs = [files["model"], files["old"], files["new"], "-m", "P@5"]
    human = ["--human", files["human"]]
    for command, more, said in (
        ("compare", [*human, "--test", "t"], "--test does not go with --human"),
        ("compare", [*human, "--means"], "--means does not go with --human"),
        ("compare", ["--lam", "1"], "--lam applies to human labels"),
        ("evaluate", [*human, "--queries", "both"], "--queries does not go with --human"),
        ("evaluate", [*human, "-q"], "--per-query does not go with --human"),
        ("evaluate", ["--lam", "1"], "--lam applies to human labels"),
        ("evaluate", [*human, "--clusters", files["human"]], "--clusters does not go with --human"),
    ):
        done = invoke(command, *runs, *more)
        assert done.exit_code == 2
        assert said in done.output


def test_saved_scores_on_the_command_line(tmp_path: Path, quiet: None) -> None:
    for name, n, step in (("model", 40, 1), ("human", 40, 3)):
        rows = [f"new,AP,q{i},{i % 5 / (4 if name == 'model' else 5)}\n" for i in range(0, n, step)]
        (tmp_path / f"{name}.csv").write_text("run,measure,query_id,value\n" + "".join(rows))
    model, human = str(tmp_path / "model.csv"), str(tmp_path / "human.csv")
    done = invoke("compare", model, "--saved", "--human", human, "--format", "json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["estimates"][0]["labelled"] == 14
    for name in ("model", "human"):
        text = (tmp_path / f"{name}.csv").read_text().replace("new,", "old,")
        (tmp_path / f"{name}-old.csv").write_text(text)
        rest = (tmp_path / f"{name}.csv").read_text().partition("\n")[2]
        (tmp_path / f"{name}-both.csv").write_text(text + rest)
    files = [model, str(tmp_path / "model-old.csv"), "--human", str(tmp_path / "human-both.csv")]
    done = invoke(
        *("compare", "--saved", *files, "--baseline", str(tmp_path / "model-old.csv")),
        *("--format", "json"),
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["estimates"][-1]["other"] == "old"
