"""The conventions of other tools, against these, on generated collections.

Collections have ties, groups without relevant documents, with relevant documents only, and short
lists.
"""

import math
import random
import warnings
from typing import Any

import numpy as np
import pytest
from helpers.profile import seeds
from helpers.tool_groups import (
    Groups,
    assert_equal,
    flatten_groups,
    make_groups,
    score,
    split_sides,
)

from cranfield import evaluate

pytestmark = pytest.mark.more

SEEDS = seeds(100)
CUTOFFS = (1, 3, 5, 10)


@pytest.mark.parametrize("ties", [False, True])
def test_lightgbm(ties: bool) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    for seed in SEEDS:
        groups = make_groups(seed, ties=ties)
        grades, scores, sizes = flatten_groups(groups)
        rows = np.zeros((len(grades), 1))  # one feature, which is constant: nothing is learned
        options = {"group": sizes, "init_score": scores, "free_raw_data": False}
        data = lightgbm.Dataset(rows, grades, params={"verbosity": -1}, **options)
        parameters = {
            "objective": "lambdarank",
            "metric": ["ndcg", "map"],
            "eval_at": [*CUTOFFS],
            "verbosity": -1,
            "num_threads": 1,
        }
        booster = lightgbm.Booster(parameters, data)
        booster.add_valid(lightgbm.Dataset(rows, grades, reference=data, **options), "valid")
        names = {"ndcg": "nDCG", "map": "AP"}
        theirs = {
            names[name.partition("@")[0]] + name[name.index("@") :]: value
            for _, name, value, _ in booster.eval_valid()
        }
        assert_equal(score(*split_sides(groups), [*theirs], "lightgbm"), theirs, seed)


def xgboost_values(groups: Groups, metrics: list[str]) -> dict[str, float]:
    """Return the metrics of a model without trees, whose predictions are the base margin."""
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    grades, scores, sizes = flatten_groups(groups)
    matrix = xgboost.DMatrix(np.zeros((len(grades), 1)), grades, base_margin=scores)
    matrix.set_group(sizes)
    parameters = {"objective": "rank:ndcg", "eval_metric": metrics, "base_score": 0, "nthread": 1}
    text = xgboost.Booster(parameters, [matrix]).eval_set([(matrix, "x")])
    pairs = (word.rsplit(":", 1) for word in text.split()[1:])
    return {name.removeprefix("x-"): float(value) for name, value in pairs}


@pytest.mark.parametrize("ties", [False, True])
def test_xgboost(ties: bool) -> None:
    own_names = {"ndcg": "nDCG", "map": "AP", "pre": "P"}
    for seed in SEEDS:
        for names, grades in ((("ndcg",), (0, 0, 1, 2, 3)), (("map", "pre"), (0, 0, 1))):
            groups = make_groups(seed, grades=grades, ties=ties)
            keys = [f"{name}@{k}" for name in names for k in CUTOFFS]
            values = xgboost_values(groups, keys)
            theirs = {
                own_names[key[: key.index("@")]] + key[key.index("@") :]: values[key]
                for key in keys
            }
            ours = score(*split_sides(groups), [*theirs], "xgboost")
            assert_equal(ours, theirs, seed, 1e-6)


def test_implicit() -> None:
    evaluation = pytest.importorskip("implicit.evaluation", reason="implicit is not installed")
    sparse = pytest.importorskip("scipy.sparse")

    class Lists:
        """A model that recommends stored lists."""

        def __init__(self, lists: np.ndarray) -> None:
            self.lists = lists

        def recommend(self, users: Any, _: Any, N: int, **__: Any) -> tuple[Any, None]:
            return self.lists[users, :N].astype(np.int32), None

    for seed in SEEDS:
        chance = random.Random(seed)
        lists = np.array([chance.sample(range(20), 10) for _ in range(8)])
        likes = [chance.sample(range(20), chance.choice([0, 1, 2, 12])) for _ in range(8)]
        if not any(likes):
            continue
        likes_matrix = sparse.lil_matrix((8, 20))
        for user, items in enumerate(likes):
            likes_matrix[user, items] = 1
        likes_matrix = sparse.csr_matrix(likes_matrix)
        qrels = {
            str(user): dict.fromkeys(map(str, items), 1)
            for user, items in enumerate(likes)
            if items
        }
        run = {str(user): [*map(str, items)] for user, items in enumerate(lists)}
        for k in CUTOFFS:
            theirs = evaluation.ranking_metrics_at_k(
                Lists(lists), likes_matrix, likes_matrix, K=k, show_progress=False, num_threads=1
            )
            own_names = {"precision": f"P@{k}", "map": f"AP@{k}", "ndcg": f"nDCG@{k}"}
            expected = {own_name: theirs[name] for name, own_name in own_names.items()}
            assert_equal(score(qrels, run, [*expected], "implicit"), expected, (seed, k))


# ---- ranx -----------------------------------------------------------------------------------


def test_ranx() -> None:
    """Lists of at most 15 documents: it orders the ties of longer ones arbitrarily."""
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    foreign_names = {
        "precision": "SetP",
        "recall": "SetR",
        "f1": "SetF",
        "hit_rate": "Success@1000",
        "hits": "DCG(gain='binary', discount='none')",
        "hits@3": "DCG(gain='binary', discount='none')@3",
    }
    shared_names = "f1@3 f1@10 r-precision rbp.95 rbp.50 dcg@5 dcg_burges@5 dcg ndcg@5 "
    shared_names += "ndcg_burges@5 precision@5 recall@5 map mrr"
    names = [*foreign_names, *shared_names.split()]
    own_names = [*foreign_names.values(), *shared_names.split()]
    for seed in SEEDS:
        for ties in (False, True):
            qrels, run = split_sides(make_groups(seed, ties=ties), share_retrieved=0.7, seed=seed)
            run["9"] = {"d1": 1.0}  # without judgments
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # numba's
                values = ranx.evaluate(
                    ranx.Qrels(qrels), ranx.Run(run), names, make_comparable=True
                )
                theirs = {name: float(value) for name, value in values.items()}
                means = evaluate(qrels, run, own_names, convention="ranx").means().values()
            assert_equal(dict(zip(theirs, means, strict=True)), theirs, (seed, ties))


def test_ranx_bpref() -> None:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    for seed in SEEDS:
        groups = [
            group for group in make_groups(seed, ties=True) if len({g > 0 for g, _ in group}) > 1
        ]
        qrels, run = split_sides(groups, share_retrieved=0.7, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numba's
            theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), "bpref", make_comparable=True)
        assert_equal(score(qrels, run, ["Bpref"], "ranx"), {"Bpref": float(theirs)}, seed)


# ---- ir_measures ----------------------------------------------------------------------------

EXACT = """
Judged@3 Judged RBP(rel=1) RBP(p=0.5,rel=2) BPM(max_rel=4)@5 SDCG(max_rel=4)@5 NERR8(max_rel=4)@5
NERR9(max_rel=4)@5 NERR10(max_rel=4) NERR11(max_rel=4) INST(max_rel=4) INSQ(max_rel=4,T=2.0)
alpha_DCG@5 alpha_nDCG@5 ERR_IA@5 nERR_IA@5 NRBP AP_IA P_IA@5 StRecall@5
NumQ NumRel NumRet NumRet(rel=1) IPrec@0.1 IPrec@0.2 Bpref Rprec infAP RR RR@3 AP AP@5 P@5 R@5
Success@3 SetP SetP(relative=True) SetR SetAP SetF(beta=2.0) nDCG@5
""".split()  # noqa: SIM905 - as ir_measures writes them
ANOTHER_ALPHA = ["alpha_nDCG(alpha=0.2)@10"]  # beside 0.5, it is 0 there
FIVE_DECIMALS = ["ERR@5", "ERR@10", "nDCG(dcg='exp-log2')@5"]


def test_ir_measures() -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    for seed in SEEDS:
        for ties in (False, True):
            qrels, run = split_sides(
                make_groups(seed, grades=(0, 0, 1, 2, 4), ties=ties), share_retrieved=0.7, seed=seed
            )
            qrels |= {"8": {"d1": 1}}  # not retrieved
            run |= {"9": {"d1": 1.0}}  # without judgments
            for names, tolerance in ((EXACT, 1e-7), (ANOTHER_ALPHA, 1e-7), (FIVE_DECIMALS, 1e-5)):
                measures = [ir_measures.parse_measure(name) for name in names]
                values = ir_measures.calc_aggregate(measures, qrels, run)
                theirs = {
                    name: values[measure] for name, measure in zip(names, measures, strict=True)
                }
                ours = score(qrels, run, names, "ir_measures")
                assert_equal(ours, theirs, (seed, ties), tolerance)


def test_accuracy_of_ir_measures() -> None:
    """The area under the curve; a group of relevant documents only is an error there."""
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    n_compared = 0
    for seed in SEEDS:
        for name in ("Accuracy", "Accuracy@3", "Accuracy(rel=2)"):
            qrels, run = split_sides(make_groups(seed, ties=True), share_retrieved=0.7, seed=seed)
            measure = ir_measures.parse_measure(name)
            try:
                theirs = ir_measures.calc_aggregate([measure], qrels, run)[measure]
            except ZeroDivisionError:
                continue
            own_name = name.replace("Accuracy", "AUC")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                means = evaluate(qrels, run, own_name, convention="ir_measures").means()
            assert_equal(means or {own_name: math.nan}, {own_name: theirs} if means else {}, seed)
            n_compared += bool(means)
    assert n_compared > len(SEEDS) / 4


# ---- scikit-learn ---------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [False, True])
def test_scikit_learn(ties: bool) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    functions = {
        "AP": metrics.label_ranking_average_precision_score,
        "LastRel": metrics.coverage_error,
        "AUC": lambda truth, scores: 1 - metrics.label_ranking_loss(truth, scores),
    }
    for seed in SEEDS:
        groups = make_groups(seed, ties=ties)
        theirs = dict.fromkeys(functions, 0.0)
        for group in groups:  # of different lengths: a row each
            truth = np.array([[int(grade > 0) for grade, _ in group]])
            scores = np.array([[document_score for _, document_score in group]])
            for name, function in functions.items():
                theirs[name] += function(truth, scores) / len(groups)
        ours = score(*split_sides(groups), [*functions], "scikit-learn")
        assert_equal(ours, theirs, seed)


def test_average_precision_and_area_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    for seed in SEEDS:
        for group in make_groups(seed, ties=True)[-4:]:
            truth = [int(grade > 0) for grade, _ in group]
            if len({*truth}) < 2:
                continue
            scores = [document_score for _, document_score in group]
            qrels, run = split_sides([group])
            theirs = metrics.average_precision_score(truth, scores)
            assert_equal(score(qrels, run, ["AP"], "scikit-learn"), {"AP": theirs}, seed)
            means = evaluate(qrels, run, "AUC", ties="expected").means()
            assert_equal(means, {"AUC": metrics.roc_auc_score(truth, scores)}, seed)
