"""Against ranx, for what it does rightly: the paired t-test, and Fisher's randomization test.

Not held against it (version 0.3.21): its Tukey test, which takes paired queries for independent
samples; the seed of its randomization test, which does nothing; its p-value of 0, for which ours is
at least 1 / (flips + 1); and that of systems that are the same, which is none.
"""

import math
import random
from typing import Any

import numpy as np
import pytest
import ranx
import scipy.stats
from ranx.statistical_tests.fisher_randomization_test import fisher_randomization_test
from ranx.statistical_tests.paired_student_t_test import paired_student_t_test

from cranfield import compare, evaluate
from cranfield.arrays.ranked import Floats

# Of numba, while it compiles ranx: which test is the first depends on the workers.
pytestmark = pytest.mark.filterwarnings("ignore:unsafe cast from uint64 to int64")

PERMUTATIONS = 20_000


def make_scores(seed: int, n: int = 43) -> Floats:
    """Return scores of six systems on as many queries as of TREC DL 2019: (6, n), 0 to 1."""
    chance = np.random.default_rng(seed)
    query_mean = chance.beta(3, 2, n)
    noise = chance.normal(0, 0.12, (6, n)) + np.linspace(-0.15, 0.05, 6)[:, None]
    return np.clip(query_mean + noise, 0, 1).round(4)


def compare_with_first(scores: Floats, flips: int) -> list[tuple[float, float]]:
    """Return (p, p of the t test) of each system beside the first."""
    scores_of_system = {
        f"s{j}": {f"q{i}": x for i, x in enumerate(scores)} for j, scores in enumerate(scores)
    }
    pairs = compare(scores_of_system, flips=flips)["score"].pairs
    return [(pair.p or 1.0, pair.p_t or 1.0) for pair in pairs]


@pytest.mark.parametrize("seed", range(4))
def test_student(seed: int) -> None:
    values = make_scores(seed)
    theirs = [paired_student_t_test(values[0], system_scores)[0] for system_scores in values[1:]]
    ours = [p_t for _, p_t in compare_with_first(values, 99)]
    assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_randomization(seed: int) -> None:
    """Within 5 standard errors of two draws, theirs of 20,000 and ours of 100,000 flips.

    As their seed does nothing, theirs are others each time: 20 of them pass once in 10^5 times.
    """
    values = make_scores(seed)
    for system_scores, (p, _) in zip(values[1:], compare_with_first(values, 100_000), strict=True):
        theirs, _ = fisher_randomization_test(values[0], system_scores, PERMUTATIONS)
        error = math.sqrt(p * (1 - p) * (1 / PERMUTATIONS + 1 / 100_000))
        assert theirs == pytest.approx(p, abs=5 * error + 1 / 100_000)


# ---- what docs/how-to/coming-from.md says of it --------------------------------------------------


def make_collection(seed: int, n_queries: int = 20) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return judgments, and three runs without ties: {system: {query: {document: score}}}."""
    chance = random.Random(seed)
    docs = [f"d{i}" for i in range(30)]
    qrels = {
        f"q{i}": {doc: chance.randint(0, 3) for doc in chance.sample(docs[2:], 12)}
        | {"d0": 3, "d1": 0}
        for i in range(n_queries)
    }
    runs = {
        name: {query: {doc: -i for i, doc in enumerate(chance.sample(docs, 12))} for query in qrels}
        for name in "abc"
    }
    return qrels, runs


NAMES = "ndcg@10 ndcg ndcg_burges@10 map map@100-l2 mrr@5 precision@5 recall@5 f1@5 r-precision"


@pytest.mark.parametrize("name", [*NAMES.split(), "bpref", "hit_rate@1", "dcg@5"])
def test_means_without_ties(name: str) -> None:
    qrels, runs = make_collection(1)
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(runs["a"]), name)
    assert [*evaluate(qrels, runs["a"], name).means().values()] == pytest.approx([theirs])


@pytest.mark.parametrize(
    ("name", "measure"),
    [("precision", "SetP"), ("recall", "SetR"), ("f1", "SetF"), ("hit_rate", "Success@30")],
)
def test_means_without_a_cutoff(name: str, measure: str) -> None:
    qrels, runs = make_collection(2)
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(runs["a"]), name)
    assert evaluate(qrels, runs["a"], measure)[measure] == pytest.approx(theirs)


def test_rank_biased_precision_is_graded() -> None:
    """Each query's highest grade is 3: gains are grades there, and thirds of them here."""
    qrels, runs = make_collection(3)
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(runs["a"]), "rbp.80")
    ours = evaluate(qrels, runs["a"], ["RBP(p=0.8)", "RBP(p=0.8,gain='linear')"])
    assert theirs == pytest.approx(3 * ours["RBP(p=0.8,gain='linear')"])
    assert theirs > 1.5 * ours["RBP(p=0.8)"]


@pytest.mark.parametrize(("n_docs", "is_kept"), [(10, True), (15, True), (20, False)])
def test_order_of_tied_documents(n_docs: int, is_kept: bool) -> None:
    same_values = []
    for seed in range(20):
        chance = random.Random(seed)
        docs = chance.sample([f"d{i}" for i in range(40)], 40)
        qrels = {"q": dict.fromkeys(chance.sample(docs, 15), 1)}
        run = {"q": dict.fromkeys(docs[:n_docs], 1.0)}
        theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), "map")
        ours = evaluate(qrels, run, "AP", convention="ranx")["AP"]
        same_values.append(math.isclose(theirs, ours, rel_tol=1e-9))
    assert all(same_values) is is_kept


def test_undefined_bpref() -> None:
    qrels = {"1": {"a": 1}, "2": {"a": 1, "b": 0}}
    run = {"1": {"a": 1.0}, "2": {"a": 1.0}}
    assert math.isnan(ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), "bpref"))


def test_p_values_of_its_comparison() -> None:
    """The default is the t-test, not corrected; Tukey's takes the runs for independent samples."""
    qrels, runs = make_collection(4)
    their_runs = [ranx.Run(run, name=name) for name, run in runs.items()]
    reports = {
        test: ranx.compare(ranx.Qrels(qrels), their_runs, ["map"], **options)
        for test, options in {"default": {}, "tukey": {"stat_test": "tukey"}}.items()
    }
    theirs = [reports["default"].comparisons["a", name]["map"]["p_value"] for name in "bc"]
    comparison = compare(qrels, runs, "AP", baseline="a", test="t", correction="none")
    assert [row["p"] for row in comparison.rows()] == pytest.approx(theirs, rel=1e-9)
    values = [[*evaluate(qrels, run, "AP").per_query("AP").values()] for run in runs.values()]
    unpaired = scipy.stats.tukey_hsd(*values).pvalue[0]
    tukey = [reports["tukey"].comparisons["a", name]["map"]["p_value"] for name in "bc"]
    assert tukey == pytest.approx(unpaired[1:], rel=1e-9)
