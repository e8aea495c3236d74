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
    DocumentScores,
    PoweredEstimate,
    QueryScores,
    deviation_from_chance,
)
from cranfield.extensions.labels.pools.draw import draw_rows, proportional_chances

Y = [0.2, 0.5, 0, 0.7, 0.4, 0.9, 0.1, 0.6, 0.3, 0.5]
F = [0.35, 0.45, 0.30, 0.6, 0.7, 0.8, 0.2, 0.75, 0.25, 0.7]
OTHERS = [0.5, 0.4, 0.8, 0.2, 0.6, 0.3, 0.9, 0.1, 0.7, 0.5, 0.6, 0.4, 0.3, 0.8, 0.5]
OTHERS += [0.2, 0.7, 0.6, 0.4, 0.5, 0.9, 0.3, 0.6, 0.5, 0.4, 0.7, 0.8, 0.2, 0.5, 0.6]


def columns(*lists: list[float]) -> list[Any]:
    return [np.array(numbers, np.float64) for numbers in lists]


# ---- the numbers ---------------------------------------------------------------------------------


def slow(y: list[float], f: list[float], others: list[float]) -> tuple[float, float, float]:
    """Return lam, the estimate and its error, as the definition has them."""
    n, n_others = len(y), len(others)
    lam = covariance(y, f) / ((1 + n / n_others) * variance([*f, *others]))
    lam = min(max(lam, 0), 1)
    estimate = mean(y) + lam * (mean(others) - mean(f))
    errors = [score - lam * model_score for score, model_score in zip(y, f, strict=True)]
    return lam, estimate, sqrt(variance(errors) / n + lam**2 * variance(others) / n_others)


def test_the_published_vector() -> None:
    estimate = QueryScores(*columns(Y, F, OTHERS)).estimate()
    assert [estimate.lam, estimate.estimate, estimate.error] == pytest.approx(
        slow(Y, F, OTHERS), rel=1e-13
    )
    assert round(estimate.lam, 10) == 0.8445308162
    assert round(estimate.estimate, 10) == 0.4256302054
    assert round(estimate.error, 10) == 0.0607256587
    half_width = stats.t.ppf(0.975, 9) * estimate.error
    ends = [round(estimate.estimate + sign * half_width, 10) for sign in (-1, 1)]
    assert ends == [0.2882592217, 0.5630011892]
    half_width = stats.norm.ppf(0.975) * estimate.error
    ends = [round(estimate.estimate + sign * half_width, 10) for sign in (-1, 1)]
    assert ends == [0.3066101015, 0.5446503094]
    assert (round(estimate.human, 2), round(estimate.human_error, 10)) == (0.42, 0.0879393731)
    assert round(estimate.model, 3) == 0.515
    assert estimate.worth == pytest.approx(10 * (estimate.human_error / estimate.error) ** 2)


def test_a_stated_lam() -> None:
    y, f, other_scores = columns(Y, F, OTHERS)
    assert round(QueryScores(y, f, other_scores).estimate(1.0).estimate, 10) == 0.4266666667
    human_estimate = QueryScores(y, f, other_scores).estimate(0.0)
    assert (human_estimate.estimate, human_estimate.error, human_estimate.worth) == (
        human_estimate.human,
        human_estimate.human_error,
        10,
    )


def test_a_model_that_says_the_opposite_counts_for_nothing() -> None:
    estimate = QueryScores(*columns(Y, [1 - score for score in F], OTHERS)).estimate()
    assert (estimate.lam, estimate.estimate) == (0, estimate.human)


def test_where_all_are_labelled_the_model_counts_for_nothing() -> None:
    estimate = QueryScores(*columns(Y, F, [])).estimate()
    assert (estimate.lam, estimate.estimate, estimate.error) == (
        0,
        estimate.human,
        estimate.human_error,
    )


def test_scores_that_are_all_the_same() -> None:
    estimate = QueryScores(*columns([0.1] * 3, [0.3] * 3, [0.3] * 4)).estimate()
    assert estimate.estimate == pytest.approx(0.1)
    assert (estimate.error, estimate.worth) == (0, None)


CHANCE = [0.2, 0.3, 0.2, 0.5, 0.2, 0.6, 0.2, 0.5, 0.3, 0.4]


def test_unequal_probabilities_are_the_ratio_of_the_definition() -> None:
    """A loop over all queries: what each adds to the estimate, and the variance of that."""
    estimate = QueryScores(*columns(Y, F, OTHERS, CHANCE)).estimate()
    all_scores = [*F, *OTHERS]
    weights = [1 / probability for probability in CHANCE]
    errors = [y - estimate.lam * f for y, f in zip(Y, F, strict=True)]
    middle = sum(w * error for w, error in zip(weights, errors, strict=True)) / sum(weights)
    assert estimate.estimate == pytest.approx(middle + estimate.lam * mean(all_scores))
    n, n_all, model_mean = len(Y), len(all_scores), mean(all_scores)
    total = 0.0
    for i, score in enumerate(all_scores):
        share = estimate.lam * (score - model_mean) / n_all
        if i < n:
            share_of_labels = weights[i] * (errors[i] - middle) / sum(weights)
            total += n / (n - 1) * share_of_labels**2
            total += 2 * sqrt(n / (n - 1)) * share_of_labels * share
        total += share**2 * n_all / (n_all - 1)
    assert estimate.error == pytest.approx(sqrt(total))
    y, f, other_scores, chance = columns(Y, F, OTHERS, CHANCE)
    errors_of_lam = [
        QueryScores(y, f, other_scores, chance).estimate(lam).error
        for lam in np.linspace(0, 1, 101).tolist()
    ]
    assert estimate.error <= min(errors_of_lam) + 1e-12


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


def count_held(population: Any, level: str, n: int, times: int, seed: int) -> int:
    """Count how often the 95 % interval holds the population's mean, with 200 queries."""
    chance, n_held = np.random.default_rng(seed), 0
    for _ in range(times):
        y = chance.choice(population, 200)
        f = by_model(y, level, chance)
        estimate = QueryScores(y[:n], f[:n], f[n:]).estimate()
        n_held += covers(estimate, n - 1, population.mean())
    return n_held


def covers(estimate: PoweredEstimate, degrees: int, truth: float) -> bool:
    return bool(abs(estimate.estimate - truth) <= stats.t.ppf(0.975, degrees) * estimate.error)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("n", "min_share", "max_share"), [(10, 0.9, 0.95), (20, 0.92, 0.955), (50, 0.925, 0.96)]
)
def test_intervals_hold_as_often_as_the_page_says(
    level: str, n: int, min_share: float, max_share: float
) -> None:
    """Of made scores, beta(.6, .6); binomial limits of 99.9 %."""
    times = repetitions(1_000)
    population = np.random.default_rng(3).beta(0.6, 0.6, 2_000)
    n_held = count_held(population, level, n, times, 20261127)
    assert (
        stats.binom.ppf(0.0005, times, min_share)
        <= n_held
        <= stats.binom.ppf(0.9995, times, max_share)
    )


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("n", "min_share", "max_share"), [(10, 0.9, 0.95), (20, 0.92, 0.955), (50, 0.925, 0.96)]
)
@pytest.mark.parametrize("pair", [None, 5])
def test_intervals_of_real_scores_hold(
    data: Path, pair: int | None, level: str, n: int, min_share: float, max_share: float
) -> None:
    """nDCG@10 of DL 2019, of a system, or the difference of two: 1,000 times."""
    runs = sorted((data / "dl19").glob("*.run.gz"))
    scores = align(data / "dl19" / "qrels.txt", runs, "nDCG@10").scores[0]
    population = scores[:, 0] if pair is None else scores[:, pair] - scores[:, 0]
    n_held = count_held(population, level, n, 1_000, 20261127)
    assert (
        stats.binom.ppf(0.0005, 1_000, min_share)
        <= n_held
        <= stats.binom.ppf(0.9995, 1_000, max_share)
    )


def test_unequal_probabilities_hold_too() -> None:
    """Queries that the model scores high are drawn twice as often."""
    chance, times, hits, naive_hits = np.random.default_rng(11), repetitions(1_000), 0, 0
    population = chance.beta(0.6, 0.6, 2_000)
    truth = population.mean()
    for _ in range(times):
        y = chance.choice(population, 300)
        f = by_model(y, "good", chance)
        probability = np.where(f > 0.5, 0.2, 0.1)
        is_drawn = chance.random(300) < probability
        labelled_rows, other_rows = np.flatnonzero(is_drawn), np.flatnonzero(~is_drawn)
        args = y[labelled_rows], f[labelled_rows], f[other_rows]
        hits += covers(
            QueryScores(*args, probability[labelled_rows]).estimate(), len(labelled_rows) - 1, truth
        )
        naive_hits += covers(QueryScores(*args).estimate(0.0), len(labelled_rows) - 1, truth)
    assert stats.binom.ppf(0.0005, times, 0.93) <= hits <= stats.binom.ppf(0.9995, times, 0.96)
    assert naive_hits < stats.binom.ppf(0.0005, times, 0.9)  # as if all had been as likely


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
    estimate = DocumentScores(np.zeros(4, np.int64), y, f, pi, np.array([model])).estimate(1.0)
    expected = model + sum((y[j] - f[j]) / pi[j] for j in range(4))
    error = sqrt(sum((1 - pi[j]) / pi[j] ** 2 * (y[j] - f[j]) ** 2 for j in range(4)))
    assert (estimate.estimate, estimate.label_error) == pytest.approx((expected, error))
    assert round(estimate.model, 10) == 2.2235208607
    assert round(estimate.estimate, 10) == 2.6928386726
    assert (estimate.label_error or 0) ** 2 == pytest.approx(1.9678897771, abs=2e-10)


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_over_all_draws_the_estimate_is_the_truth(lam: float) -> None:
    """Every one of 2^5 draws of documents of two queries, with its probability."""
    query, pi = np.array([0, 0, 0, 1, 1]), np.array([0.5, 0.25, 1.0, 0.4, 0.8])
    y, f = np.array([1, 0, 0.5, 1, 0.25]), np.array([0.7, 0.4, 0.5, 0.2, 0.9])
    model_scores = np.bincount(query, f)
    expected, mean_square, variances = 0.0, 0.0, 0.0
    for draw in product([False, True], repeat=5):
        is_drawn = np.array(draw)
        chance = float(np.prod(np.where(is_drawn, pi, 1 - pi)))
        if not chance:
            continue
        estimate = DocumentScores(
            query[is_drawn], y[is_drawn], f[is_drawn], pi[is_drawn], model_scores
        ).estimate(lam)
        expected += chance * estimate.estimate
        mean_square += chance * estimate.estimate**2
        variances += chance * (estimate.label_error or 0) ** 2
    truth = np.bincount(query, y).mean()
    assert expected == pytest.approx(truth)
    assert variances == pytest.approx(mean_square - expected**2)  # the stated error, on average


def test_intervals_of_labelled_documents_hold(data: Path) -> None:
    """P@10 of DL 2019: queries resampled, grades by a model that errs, documents drawn by rank."""
    run = read_run(data / "dl19" / "bm25.run.gz")
    judged = judge(read_qrels(data / "dl19" / "qrels.txt"), run).judged
    top = judged.every(np.array([[10]]))
    true_scores = (top.grade >= 2).reshape(-1, 10) / 10.0
    pi = np.linspace(0.5, 0.15, 10)
    chance, times, hits = np.random.default_rng(5), 1_000, 0
    for _ in range(times):
        y = true_scores[chance.integers(0, len(true_scores), 60)]
        is_wrong = chance.random(y.shape) < 0.25
        f = np.where(is_wrong, 0.1 - y, y)
        query, rank = np.nonzero(chance.random(y.shape) < pi)
        estimate = DocumentScores(
            query, y[query, rank], f[query, rank], pi[rank], f.sum(axis=1)
        ).estimate()
        hits += covers(estimate, 59, true_scores.sum(axis=1).mean())
    assert stats.binom.ppf(0.0005, times, 0.93) <= hits <= stats.binom.ppf(0.9995, times, 0.96)


@pytest.mark.parametrize("name", ["P@5", "DCG@10", "DCG", "RBP(p=0.8)", "RBP@7", "CG@20"])
def test_what_documents_add_is_the_measure(name: str, demo_folder: Path) -> None:
    judged = judge(
        read_qrels(demo_folder / "demo/qrels.txt"), read_run(demo_folder / "demo/bm25.run")
    ).judged
    contributions, hits = score_contributions(parse(name), judged), judged.hits
    sums = np.bincount(hits.query, contributions, hits.n_queries)
    assert sums == pytest.approx(parse(name).values(judged)[:, 0])
    assert (contributions >= 0).all()


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


def select_queries(human: dict[str, Any], n: int = 12) -> dict[str, Any]:
    query_numbers = np.random.default_rng(4).permutation(len(human))[:n]
    return {
        query: human[query] for i, query in enumerate(human) if i in set(query_numbers.tolist())
    }


@pytest.fixture
def quiet() -> Iterator[None]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        yield


def test_whole_queries_from_judgments(quiet: None) -> None:
    human, model, runs = collection()
    human_labels = select_queries(human)
    estimates = prediction_powered(model, runs, "nDCG@5 AP", human=human_labels, baseline="old")
    for measure in ("nDCG@5", "AP"):
        human_scores = {
            name: evaluate(human, run, measure).per_query(measure) for name, run in runs.items()
        }
        model_scores = {
            name: evaluate(model, run, measure).per_query(measure) for name, run in runs.items()
        }
        for system, baseline in (("old", None), ("new", None), ("new", "old")):
            y, f, other_scores = (
                [
                    scores[system][query] - (scores[baseline][query] if baseline else 0)
                    for query in model
                    if (query in human_labels) == is_labelled
                ]
                for scores, is_labelled in (
                    (human_scores, True),
                    (model_scores, True),
                    (model_scores, False),
                )
            )
            estimate_of_system = (estimates.differences if baseline else estimates.means)[measure][
                system
            ]
            lam, estimate, error = slow(y, f, other_scores)
            assert (
                estimate_of_system.lam,
                estimate_of_system.mean,
                estimate_of_system.error,
            ) == pytest.approx((lam, estimate, error))
            half_width = stats.t.ppf(0.975, len(y) - 1) * error
            assert estimate_of_system.low == pytest.approx(
                max(estimate - half_width, -1 if baseline else 0)
            )
            assert (estimate_of_system.human, estimate_of_system.model) == pytest.approx(
                (mean(y), mean([*f, *other_scores]))
            )
            assert (estimate_of_system.labelled, estimates.n_queries, estimates.unit) == (
                12,
                40,
                "query",
            )
            if baseline:
                assert estimate_of_system.p == pytest.approx(
                    2 * stats.t.sf(abs(estimate / error), len(y) - 1)
                )


def test_three_systems_at_another_level_where_less_is_better(quiet: None) -> None:
    """Every field of each estimate, from loops: Holm's p, both intervals, the verdicts."""
    chance = np.random.default_rng(11)
    query_ids = [f"q{i:02}" for i in range(50)]
    human_scores: dict[str, dict[str, float]] = {}
    model_scores: dict[str, dict[str, float]] = {}
    for name, shift in (("a", 0.0), ("b", -0.1), ("c", 0.02), ("d", 0.2)):
        true_scores = np.clip(0.5 + shift + chance.normal(0, 0.1, 50), 0, 1)
        human_scores[name] = dict(zip(query_ids[::3], true_scores[::3].tolist(), strict=True))
        model_scores[name] = dict(
            zip(
                query_ids,
                np.clip(true_scores + chance.normal(0, 0.05, 50), 0, 1).tolist(),
                strict=True,
            )
        )
    model = {name: {"FallOut": scores} for name, scores in model_scores.items()}
    human = {name: {"FallOut": scores} for name, scores in human_scores.items()}
    estimates = prediction_powered(model, human=human, alpha=0.2)
    n = len(query_ids[::3])
    t_quantile, p = stats.t.ppf(0.9, n - 1), {}
    for system, baseline in [
        *((system_name, None) for system_name in model),
        ("b", "a"),
        ("c", "a"),
        ("d", "a"),
    ]:
        y, f, other_scores = (
            [
                scores_of_system[system][q] - (scores_of_system[baseline][q] if baseline else 0)
                for q in ids
            ]
            for scores_of_system, ids in (
                (human_scores, query_ids[::3]),
                (model_scores, query_ids[::3]),
                (model_scores, [q for i, q in enumerate(query_ids) if i % 3]),
            )
        )
        powered_mean = (estimates.differences if baseline else estimates.means)["FallOut"][system]
        _, estimate, error = slow(y, f, other_scores)
        assert (powered_mean.low, powered_mean.high) == pytest.approx(
            (estimate - t_quantile * error, estimate + t_quantile * error)
        )
        human_error = sqrt(variance(y) / n)
        assert powered_mean.human_low == pytest.approx(mean(y) - t_quantile * human_error)
        assert powered_mean.human_high == pytest.approx(mean(y) + t_quantile * human_error)
        assert powered_mean.worth == pytest.approx(n * (human_error / error) ** 2)
        if baseline:
            p[system] = 2 * float(stats.t.sf(abs(estimate / error), n - 1))
    order = sorted(p, key=lambda name: p[name])
    holm_p = [min(1.0, p[name] * (3 - i)) for i, name in enumerate(order)]
    for i, name in enumerate(order):
        powered_mean = estimates.differences["FallOut"][name]
        assert powered_mean.p_adjusted == pytest.approx(max(holm_p[: i + 1]))
    verdicts = {
        name: difference.verdict for name, difference in estimates.differences["FallOut"].items()
    }
    assert (verdicts["b"], verdicts["d"]) == ("better", "worse")  # less is better


def test_both_kinds_of_labels_have_one_highest_grade(quiet: None) -> None:
    """ERR and others depend on it: where people's labels are the model's, so are the scores."""
    _, model, runs = collection()
    human_labels = {
        q: {d: min(g, 1) for d, g in grades.items()} for q, grades in select_queries(model).items()
    }
    model |= human_labels  # no 2 among what people labelled
    for measures in (["ERR@5", "nERR@5"], ["P@5", "nDCG@5"]):
        estimates = prediction_powered(model, runs, measures, human=human_labels)
        for measure in measures:
            for name, run in runs.items():
                scores = evaluate(model, run, measure).per_query(measure)
                expected = mean([scores[query] for query in human_labels])
                assert estimates.means[measure][name].human == pytest.approx(expected)
    higher_labels = {q: {d: 2 * g for d, g in grades.items()} for q, grades in human_labels.items()}
    higher_labels[next(iter(higher_labels))]["d00"] = 4
    estimates = prediction_powered(model, runs, "ERR@5", human=higher_labels)
    model_on_scale = Qrels(model, top_grade=4)
    for name, run in runs.items():
        expected = evaluate(model_on_scale, run, "ERR@5")["ERR@5"]
        assert estimates.means["ERR@5"][name].model == pytest.approx(expected, rel=1e-14)
    assert "The highest grade is 4 by people and 2 by the model" in str(estimates)


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
    estimates = prediction_powered(model, runs, "DCG@5", human=rows, lam=1.0)
    for system, run in runs.items():
        scores = dict(evaluate(model, run, "DCG@5").per_query("DCG@5"))
        for row in rows:
            query, doc = str(row["query_id"]), str(row["doc_id"])
            rank = run[query].index(doc) + 1
            if rank <= 5:
                error = float(row["relevance"]) - model[query][doc]
                scores[query] += error / log2(rank + 1) / float(row["probability"])
        powered_mean = estimates.means["DCG@5"][system]
        score_list = list(scores.values())
        assert powered_mean.mean == pytest.approx(mean(score_list))
        assert powered_mean.error == pytest.approx(sqrt(variance(score_list) / len(score_list)))
        assert (powered_mean.labelled, estimates.unit) == (len(rows), "document")
    old, new = estimates.means["DCG@5"].values()
    assert estimates.differences["DCG@5"]["new"].mean == pytest.approx(new.mean - old.mean)


def test_documents_of_a_stratum_that_were_not_drawn_say_nothing(quiet: None) -> None:
    human, model, runs = collection()
    pool_rows = [
        {"query_id": query, "doc_id": doc, "relevance": grade, "stratum": 1, "probability": 0.5}
        for query, docs in human.items()
        for doc, grade in docs.items()
    ]
    drawn_rows = pool_rows[::2]
    undrawn_rows = [{**row, "relevance": -1} for row in pool_rows[1::2]]
    estimates = prediction_powered(model, runs, "P@5", human=[*drawn_rows, *undrawn_rows])
    drawn_estimates = prediction_powered(model, runs, "P@5", human=drawn_rows)
    assert estimates.rows() == drawn_estimates.rows()
    assert estimates.notes == drawn_estimates.notes
    assert "labels-below-0" not in {note.code for note in estimates.notes}


def test_documents_that_nobody_judged_or_no_run_has(quiet: None) -> None:
    _, model, runs = collection(6)
    rows = [("q00", "d01", 2, 0.5), ("q01", "unknown", 2, 0.5), ("q02", "d02", -1, 0.5)]
    table = [dict(zip(("query_id", "doc_id", "relevance", "probability"), row)) for row in rows]  # noqa: B905
    estimates = prediction_powered(model, runs, "P@5", human=table)
    assert estimates.means["P@5"]["new"].labelled == 2


def test_scores_of_any_tool() -> None:
    model = {"new": {f"q{i}": i % 5 / 4 for i in range(40)}}
    human = {"new": {f"q{i}": i % 5 / 5 for i in range(0, 40, 3)}}
    estimate = prediction_powered(model, human=human).means["score"]["new"]
    y = [human["new"][query] for query in human["new"]]
    f = [model["new"][query] for query in human["new"]]
    other_scores = [score for query, score in model["new"].items() if query not in human["new"]]
    assert (estimate.lam, estimate.mean, estimate.error) == pytest.approx(slow(y, f, other_scores))


def test_the_result_does_not_depend_on_the_order_of_queries(quiet: None) -> None:
    human, model, runs = collection()
    reversed_runs = {name: dict(reversed(run.items())) for name, run in runs.items()}
    rows, reversed_rows = (
        prediction_powered(dict(model_items), run, "P@5", human=dict(labels)).rows()
        for model_items, run, labels in (
            (model.items(), runs, select_queries(human).items()),
            (reversed(model.items()), reversed_runs, reversed(select_queries(human).items())),
        )
    )
    assert rows == reversed_rows


def notes(result: Any) -> set[str]:
    return {note.code for note in result.notes}


def test_easy_queries_only_are_seen() -> None:
    human, model, runs = collection(60)
    scores = evaluate(model, runs["new"], "P@5").per_query("P@5")
    easy_queries = sorted(scores, key=lambda query: -scores[query])[:15]
    with pytest.warns(CranfieldWarning, match="Were easy ones chosen"):
        estimates = prediction_powered(
            model,
            {"new": runs["new"]},
            "P@5",
            human={query: human[query] for query in easy_queries},
        )
    assert "not-by-chance" in notes(estimates)


@pytest.mark.parametrize("share", [None, 0.95, 0.9, 0.1])
def test_by_chance_few_alarms(share: float | None) -> None:
    """The warning of a sample that is not one of chance: at most 2 % of 2,000 that are one.

    Of scores between 0 and 1, and of those that are 1 for a share of the queries, else 0.
    """
    chance, alarms = np.random.default_rng(2), 0
    for _ in range(2_000):
        all_scores = (
            chance.beta(0.6, 0.6, 200) if share is None else (chance.random(200) < share) * 1.0
        )
        deviation = deviation_from_chance(all_scores[:10], all_scores)
        alarms += deviation is not None and deviation[1] < 0.01
    assert alarms <= stats.binom.ppf(0.9995, 2_000, 0.02)


def test_the_top_only_is_seen() -> None:
    human, model, runs = collection()
    labels_of_top = {
        query: {doc: human[query][doc] for doc in runs["new"][query][:2]}
        for query in select_queries(human)
    }
    with pytest.warns(CranfieldWarning, match="people labelled 40% .* the model 100%"):
        prediction_powered(model, {"new": runs["new"]}, "P@5", human=labels_of_top)


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
    certain_rows = [{**row, "probability": 1} for row in rows]
    with pytest.warns(
        CranfieldWarning, match=r"stand for \d+ of the 120 documents .* \(p <0.0001\)"
    ):
        prediction_powered(model, {"new": runs["new"]}, "P@3", human=certain_rows)


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
    missing_queries = {query for query in model if query[-1] in "37"}
    incomplete_runs = {
        "new": runs["new"],
        "old": {query: docs for query, docs in runs["old"].items() if query not in missing_queries},
    }
    estimates = prediction_powered(model, incomplete_runs, "DCG@5", human=rows, missing="drop")
    judged_model = {query: docs for query, docs in model.items() if query not in missing_queries}
    judged_rows = [row for row in rows if row["query_id"] not in missing_queries]
    assert (
        estimates.rows()
        == prediction_powered(judged_model, incomplete_runs, "DCG@5", human=judged_rows).rows()
    )


def test_how_the_sample_was_drawn_is_stated(quiet: None) -> None:
    human, model, runs = collection()
    human_labels = select_queries(human)
    rows = [
        {"query_id": query, "doc_id": doc, "relevance": grade, "query_probability": 0.3}
        for query, docs in human_labels.items()
        for doc, grade in docs.items()
    ]
    estimates_of_rows = prediction_powered(model, runs, "P@5", human=rows)
    estimates_of_labels = prediction_powered(model, runs, "P@5", human=human_labels)
    assert estimates_of_rows.rows() == estimates_of_labels.rows()
    assert "with a probability of 0.3 each" in str(estimates_of_rows)
    assert "nothing in the labels says how they were drawn" in str(estimates_of_labels)
    for row in rows:
        row["query_probability"] = 0.6 if str(row["query_id"]) < "q20" else 0.3
    unequal_estimates = prediction_powered(model, runs, "P@5", human=rows)
    assert unequal_estimates.rows() != estimates_of_rows.rows()
    assert "from 0.3 to 0.6" in str(unequal_estimates)


def test_all_labelled_and_few_labelled_and_few_that_differ_are_said(quiet: None) -> None:
    human, model, runs = collection()
    assert "all-labelled" in notes(prediction_powered(model, runs, "P@5", human=human))
    assert "few-labelled" in notes(
        prediction_powered(model, runs, "P@5", human=select_queries(human))
    )
    equal_runs = {"old": runs["new"], "new": runs["new"]}
    assert "few-differ" in notes(
        prediction_powered(model, equal_runs, "P@5", human=select_queries(human))
    )


def test_a_query_that_the_model_did_not_label_is_counted(quiet: None) -> None:
    human, model, runs = collection()
    human_labels = select_queries(human)
    partial_model = {
        query: docs for query, docs in model.items() if query != next(iter(human_labels))
    }
    estimates = prediction_powered(partial_model, runs, "P@5", human=human_labels)
    assert "human labels of queries without a model's label left out" in str(estimates)
    assert "no-model-label" in notes(estimates)
    assert estimates.means["P@5"]["new"].labelled == 11


def test_a_model_whose_scores_are_constant_tells_nothing_of_chance(quiet: None) -> None:
    scores = np.full(5, 0.1 + 0.2)
    assert deviation_from_chance(scores, np.full(12, 0.1 + 0.2)) is None


def test_labels_below_0_are_told_as_none(quiet: None) -> None:
    human, model, runs = collection()
    human_labels = select_queries(human)
    query = next(iter(human_labels))
    human_labels[query] = dict.fromkeys(human_labels[query], -1)
    estimates = prediction_powered(model, runs, "P@5", human=human_labels)
    assert f"{len(human_labels[query]):,} human labels below 0" in str(estimates)
    del human_labels[query]  # it is no query that people labelled
    estimates_without = prediction_powered(model, runs, "P@5", human=human_labels)
    assert estimates.means == estimates_without.means
    assert estimates.means["P@5"]["new"].labelled == len(human_labels)
    with pytest.raises(InputError, match="all human labels are below 0"):
        prediction_powered(model, runs, "P@5", human={"q00": {"d00": -1}, "q01": {"d01": -1}})


def test_queries_chosen_for_their_difference_are_seen() -> None:
    human, model, runs = collection(60)
    scores = {name: evaluate(model, run, "P@5").per_query("P@5") for name, run in runs.items()}
    gain = {query: scores["new"][query] - scores["old"][query] for query in model}
    best_queries = sorted(gain, key=lambda query: -gain[query])[:15]
    with pytest.warns(CranfieldWarning, match="Were those with a large difference chosen"):
        prediction_powered(
            model, runs, "P@5", human={query: human[query] for query in best_queries}
        )


def test_what_people_labelled_wrongly_is_told(quiet: None, tmp_path: Path) -> None:
    human, model, runs = collection()
    human_labels = select_queries(human)
    query = next(iter(human_labels))
    misspelt_labels = {**human_labels, query: {"D00": 1, **human_labels[query]}}
    text = "1 labelled document is in no run and without a model's label, as 'D00' of query"
    assert text in str(prediction_powered(model, runs, "P@5", human=misspelt_labels))
    file = tmp_path / "no-grades.csv"
    file.write_text("query_id,doc_id\n" + "".join(f"{q},d00\n{q},d01\n" for q in human_labels))
    assert "Is the column relevance missing?" in str(
        prediction_powered(model, runs, "P@5", human=str(file))
    )
    rows = [
        {"query_id": q, "doc_id": doc, "relevance": grade, "probability": 12 / 40}
        for q, docs in human_labels.items()
        for doc, grade in docs.items()
    ]
    estimates = prediction_powered(model, runs, "P@5", human=rows)
    assert "28 of 40 queries have no labelled document, though there are 3.6 to a query" in str(
        estimates
    )
    drawn_rows = [
        {"query_id": q, "doc_id": doc, "relevance": grade, "query_probability": 12 / 40}
        for q, docs in [*human_labels.items()][:9]
        for doc, grade in docs.items()
    ]
    estimates = prediction_powered(model, runs, "P@5", human=drawn_rows)
    assert "9 labelled queries stand for 30, and there are 40: are all labelled" in str(estimates)


def test_scores_that_people_lack_are_told(quiet: None) -> None:
    model = {
        name: {f"q{i}": (i * step % 7) / 7 for i in range(30)}
        for name, step in (("a", 2), ("b", 3))
    }
    human = {name: {q: scores[q] for q in list(scores)[:12]} for name, scores in model.items()}
    del human["b"]["q3"]
    estimates = prediction_powered(model, human=human, missing="zero")
    assert "Human scores: b: 1 of 12 queries without a score: counted as 0." in str(estimates)
    with pytest.raises(InputError, match="have no score") as error:
        prediction_powered(model, human=human)
    assert "These are the human scores" in str(error.value)
    percent = {
        name: {q: 100 * score for q, score in scores.items()} for name, scores in human.items()
    }
    estimates_of_percent = prediction_powered(
        {name: {"mine": scores} for name, scores in model.items()},
        human={name: {"mine": scores} for name, scores in percent.items()},
        missing="drop",
    )
    estimate = estimates_of_percent.means["mine"]["a"]
    assert estimate.high is not None
    assert estimate.high > estimate.mean
    assert "Human scores: 1 of 12 queries left out" in str(estimates_of_percent)


def test_a_stated_lam_without_effect_is_told(quiet: None) -> None:
    human, model, runs = collection()
    estimates = prediction_powered(model, runs, "P@5", human=human, lam=0.5)
    assert "lam 0.5 has no effect where people labelled all queries." in str(estimates)
    estimates = prediction_powered(model, runs, "P@5", human=select_queries(human), lam=0.5)
    assert "lam 0.5 was stated" in str(estimates)


def test_rows_that_were_left_out_are_told(quiet: None, tmp_path: Path) -> None:
    human, model, runs = collection()
    file = tmp_path / "human.csv"
    lines = [f"{q},{d},{g}\n" for q, docs in select_queries(human).items() for d, g in docs.items()]
    file.write_text("query_id,doc_id,relevance\n" + "".join(lines) + "q01,d99,\n")
    human_labels = read_qrels(str(file), errors="skip")
    estimates = prediction_powered(model, runs, "P@5", human=human_labels)
    assert "1 row of the human labels left out" in str(estimates)


def test_relevant_documents_that_people_did_not_see_are_told(quiet: None) -> None:
    human, model, runs = collection()
    human_labels = select_queries(human)
    retrieved = {q: {d for run in runs.values() for d in run[q]} for q in human_labels}
    pool_labels = {
        q: {d: g for d, g in grades.items() if d in retrieved[q]}
        for q, grades in human_labels.items()
    }
    model = {q: {**grades, "unseen": 3} for q, grades in model.items()}
    estimates = prediction_powered(model, runs, ["P@5", "R@5"], human=pool_labels)
    (text,) = (note.text for note in estimates.notes if note.code == "few-of-all")
    assert text.startswith("R@5 depends on documents that the model labelled and people did not")
    shared_labels = {
        q: {d: g for d, g in model[q].items() if d in pool_labels[q]} for q in pool_labels
    }
    for labels in (shared_labels, {q: model[q] for q in pool_labels}):
        means = [evaluate(labels, run, "R@5")["R@5"] for run in runs.values()]
        assert f"{mean(means):.4f}" in text
    assert "few-of-all" not in notes(prediction_powered(model, runs, "P@5", human=pool_labels))


def test_probabilities_that_cannot_be_are_told(quiet: None) -> None:
    human, model, runs = collection()
    rows = [
        {"query_id": q, "doc_id": d, "relevance": g, "query_probability": 1.0}
        for q, grades in select_queries(human).items()
        for d, g in grades.items()
    ]
    estimates = prediction_powered(model, runs, "P@5", human=rows)
    assert "12 labelled queries stand for 12, and there are 40" in str(estimates)


@pytest.mark.parametrize(("n", "spread"), [(15, 0.5), (15, 1.2), (30, 1.2)])
def test_very_unequal_probabilities_hold_as_rarely_as_the_note_says(n: int, spread: float) -> None:
    chance, n_held, n_effective = np.random.default_rng(20261127), 0, []
    for _ in range(1_000):
        truth = chance.beta(0.6, 0.6, 400)
        model = np.clip(truth + chance.normal(0, 0.2, 400), 0, 1)
        probability = proportional_chances(np.exp(chance.normal(0, spread, 400)), n)
        is_drawn = draw_rows(probability, chance)
        estimate = QueryScores(
            truth[is_drawn], model[is_drawn], model[~is_drawn], probability[is_drawn]
        ).estimate()
        half_width = stats.t.ppf(0.975, n - 1) * estimate.error
        n_held += abs(estimate.estimate - 0.5) <= half_width
        weight = 1 / probability[is_drawn]
        n_effective.append(weight.sum() ** 2 / (weight**2).sum())
    assert np.mean(n_effective) < 20
    assert stats.binom.ppf(0.0005, 1_000, 0.82) <= n_held <= stats.binom.ppf(0.9995, 1_000, 0.92)


def test_very_unequal_probabilities_are_told(quiet: None) -> None:
    human, model, runs = collection()
    rows = [
        {"query_id": q, "doc_id": d, "relevance": g, "query_probability": 0.9 if i else 0.05}
        for i, (q, grades) in enumerate(select_queries(human).items())
        for d, g in grades.items()
    ]
    estimates = prediction_powered(model, runs, "P@5", human=rows)
    weights = [20.0, *[1 / 0.9] * 11]
    n_effective = sum(weights) ** 2 / sum(weight * weight for weight in weights)
    assert f"worth about {n_effective:.1f} equally likely ones" in str(estimates)


def test_no_interval_where_nothing_varies(quiet: None) -> None:
    model = {"new": {f"q{i}": i % 5 / 4 for i in range(40)}}
    human = {"new": dict.fromkeys((f"q{i}" for i in range(5)), 0.5)}
    estimate = prediction_powered(model, human=human, lam=0).means["score"]["new"]
    assert (estimate.mean, estimate.low, estimate.high, estimate.human_low) == (
        0.5,
        None,
        None,
        None,
    )


def test_the_order_of_labelled_documents_changes_no_bit(quiet: None) -> None:
    human, model, runs = collection()
    rows = [
        {"query_id": q, "doc_id": d, "relevance": g, "probability": 0.3 + (len(d) + i) % 5 / 10}
        for i, (q, grades) in enumerate(human.items())
        for d, g in list(grades.items())[:4]
    ]
    rows_of_orders = [
        prediction_powered(model, runs, "DCG@5", human=order).rows()
        for order in (rows, rows[::-1], rows[1::2] + rows[::2])
    ]
    assert rows_of_orders[0] == rows_of_orders[1] == rows_of_orders[2]


def test_what_cannot_be_estimated_is_refused() -> None:
    human, model, runs = collection(6)
    one_query = {"q00": human["q00"]}
    with pytest.raises(InputError, match="1 query has both human and model labels"):
        prediction_powered(model, runs, "P@5", human=one_query)
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
    drawn_rows = [
        {**rows[0], "query_probability": pi, "doc_id": f"d0{i}"} for i, pi in enumerate((0.5, 0.4))
    ]
    drawn_rows = [{key: row[key] for key in row if key != "probability"} for row in drawn_rows]
    drawn_rows.append({**drawn_rows[0], "query_id": "q01"})
    with pytest.raises(InputError, match="different values of query_probability"):
        prediction_powered(model, runs, "P@5", human=drawn_rows)
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
    paths = {}
    for name, judgments in (("human", select_queries(human)), ("model", model)):
        paths[name] = str(tmp_path / f"{name}.qrels")
        Qrels(judgments).write(paths[name])
    for name, run in runs.items():
        paths[name] = str(tmp_path / f"{name}.run")
        lines = [
            f"{query} Q0 {doc} {rank} {-rank} {name}\n"
            for query, docs in run.items()
            for rank, doc in enumerate(docs, 1)
        ]
        Path(paths[name]).write_text("".join(lines))
    return paths


def test_compare_and_evaluate_show_the_same_means(files: dict[str, str], quiet: None) -> None:
    args = [files["model"], files["old"], files["new"], "-m", "P@5", "--human", files["human"]]
    comparison_rows = json.loads(invoke("compare", *args, "--format", "json").output)["estimates"]
    evaluation_rows = json.loads(invoke("evaluate", *args, "--format", "json").output)["estimates"]
    assert comparison_rows[:2] == evaluation_rows
    assert (comparison_rows[2]["system"], comparison_rows[2]["other"]) == ("new", "old")
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
    baseline_rows = json.loads(invoke("compare", *by_path).output)["estimates"]
    assert (baseline_rows[2]["system"], baseline_rows[2]["lam"]) == ("old", 0.5)
    outcome = invoke("evaluate", files["model"], files["old"], "--human", files["model"])
    assert "is named twice, as QRELS and as --human" in outcome.output
    stdin_outcome = invoke("evaluate", "-", files["old"], "--human", "-")
    assert "can be read only once" in stdin_outcome.output
    equal_arguments = [
        files["model"],
        files["old"],
        files["old"],
        "-m",
        "P@5",
        "--human",
        files["human"],
    ]
    assert "systems differ on fewer" in invoke("compare", *equal_arguments).output
    assert "systems differ on fewer" not in invoke("evaluate", *equal_arguments).output


def test_own_columns_of_the_judgments_are_those_of_people_where_these_have_them(
    files: dict[str, str], tmp_path: Path, quiet: None
) -> None:
    own_columns = tmp_path / "model.csv"
    rows = (line.split() for line in Path(files["model"]).read_text().splitlines())
    own_columns.write_text("user,item,stars\n" + "".join(f"{q},{d},{g}\n" for q, _, d, g in rows))
    options = ["--qrels-columns", "query_id=user,doc_id=item,relevance=stars", "-m", "P@5"]
    outcome = invoke(
        "compare", str(own_columns), files["old"], files["new"], *options, "--human", files["human"]
    )
    plain_outcome = invoke(
        *("compare", files["model"], files["old"], files["new"], "-m", "P@5"),
        *("--human", files["human"]),
    )
    assert outcome.stdout == plain_outcome.stdout
    wrong_outcome = invoke(
        "compare", str(own_columns), files["old"], *options, "--human", str(own_columns)
    )
    assert "is named twice" in wrong_outcome.output
    copy = tmp_path / "copy.csv"
    copy.write_text(own_columns.read_text())
    outcome = invoke("compare", str(own_columns), files["old"], *options, "--human", str(copy))
    assert "All queries have human labels" in outcome.output


def test_the_tables_fit_80_columns(files: dict[str, str], quiet: None) -> None:
    args = [files["model"], files["old"], files["new"], "-m", "P@5", "--human", files["human"]]
    text = invoke("compare", *args).output
    assert "difference from old" in text
    rows = [line for line in text.splitlines() if line.startswith((" ", "─"))]
    assert max(map(len, rows)) <= 80


def test_human_labels_have_one_baseline(files: dict[str, str]) -> None:
    args = [files["model"], files["old"], files["new"], "-m", "P@5", "--human", files["human"]]
    baselines = ["--baseline", files["old"], "--baseline", files["new"]]
    outcome = invoke("compare", *args, *baselines)
    assert "--human compares with one baseline: state --baseline once" in outcome.output
    assert "difference from new" in invoke("compare", *args, *baselines[2:]).output


def test_options_without_effect_are_refused(files: dict[str, str]) -> None:
    runs = [files["model"], files["old"], files["new"], "-m", "P@5"]
    human = ["--human", files["human"]]
    for command, options, text in (
        ("compare", [*human, "--test", "t"], "--test does not go with --human"),
        ("compare", [*human, "--means"], "--means does not go with --human"),
        ("compare", ["--lam", "1"], "--lam applies to human labels"),
        ("evaluate", [*human, "--queries", "both"], "--queries does not go with --human"),
        ("evaluate", [*human, "-q"], "--per-query does not go with --human"),
        ("evaluate", ["--lam", "1"], "--lam applies to human labels"),
        ("evaluate", [*human, "--clusters", files["human"]], "--clusters does not go with --human"),
    ):
        outcome = invoke(command, *runs, *options)
        assert outcome.exit_code == 2
        assert text in outcome.output


def test_saved_scores_on_the_command_line(tmp_path: Path, quiet: None) -> None:
    for name, n, step in (("model", 40, 1), ("human", 40, 3)):
        rows = [f"new,AP,q{i},{i % 5 / (4 if name == 'model' else 5)}\n" for i in range(0, n, step)]
        (tmp_path / f"{name}.csv").write_text("run,measure,query_id,value\n" + "".join(rows))
    model, human = str(tmp_path / "model.csv"), str(tmp_path / "human.csv")
    outcome = invoke("compare", model, "--saved", "--human", human, "--format", "json")
    assert outcome.exit_code == 0, outcome.output
    assert json.loads(outcome.output)["estimates"][0]["labelled"] == 14
    for name in ("model", "human"):
        text = (tmp_path / f"{name}.csv").read_text().replace("new,", "old,")
        (tmp_path / f"{name}-old.csv").write_text(text)
        rows_below = (tmp_path / f"{name}.csv").read_text().partition("\n")[2]
        (tmp_path / f"{name}-both.csv").write_text(text + rows_below)
    files = [model, str(tmp_path / "model-old.csv"), "--human", str(tmp_path / "human-both.csv")]
    outcome = invoke(
        *("compare", "--saved", *files, "--baseline", str(tmp_path / "model-old.csv")),
        *("--format", "json"),
    )
    assert outcome.exit_code == 0, outcome.output
    assert json.loads(outcome.output)["estimates"][-1]["other"] == "old"
