"""Against trec_eval 9 in C (pytrec_eval): every value of generated collections, difference 0.

Through `cranfield.pytrec_eval`, which calls `evaluate` and stands in for it.

Version 9 compares scores as 32-bit floats, averages over the queries in both, and counts the
documents of a recall point otherwise: (long)(x R + 0.9) where version 10 has lround(x R).
"""

import copy
import io
import json
import math
import os
import pickle
import random
import resource
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval
from helpers import oracle
from helpers.profile import seeds

from cranfield import pytrec_eval as mine

# Which collections are compared: more of them with CRANFIELD_COLLECTIONS=10000 pytest ...
N_COLLECTIONS = os.environ.get("CRANFIELD_COLLECTIONS")
COLLECTIONS = range(int(N_COLLECTIONS)) if N_COLLECTIONS else seeds(600, step=6)


def collections() -> Iterator[tuple[oracle.Qrels, oracle.Run]]:
    for seed in COLLECTIONS:
        # Grades as pytrec_eval takes them: negative ones as trec_eval does.
        qrels, run = oracle.make_collection(
            seed, 8, depth=(8, 15, 40)[seed % 3], tie_share=seed % 5 / 5
        )
        run = {query: docs for query, docs in run.items() if docs}
        # A topic all of whose grades are negative makes trec_eval 9 read stale memory.
        qrels = {q: docs for q, docs in qrels.items() if max(docs.values()) >= 0}
        if qrels.keys() & run.keys():
            yield qrels, run


# ---- the module in its place ----------------------------------------------------------------

QRELS = {"q1": {"d1": 1, "d2": 0, "d3": 2}, "q2": {"d2": 1}}
RUN = {"q2": {"d2": 1.0}, "q1": {"d2": 0.9, "d3": 0.7, "d1": 0.1}, "q9": {"d1": 1.0}}


def count_equal(theirs: dict[str, Any], ours: dict[str, Any], case: object) -> int:
    """Compare results to the last bit, except what is not defined there; return how many."""
    assert list(theirs) == list(ours), case
    n_compared = 0
    for query, values in theirs.items():
        assert values.keys() == ours[query].keys(), case
        for name, value in values.items():
            if name == "runid" or math.isnan(value):  # memory that was never written
                assert ours[query][name] == 0
            else:
                assert ours[query][name] == value, (case, query, name)
                n_compared += 1
    return n_compared


@pytest.mark.parametrize("rel", [1, 2])
@pytest.mark.parametrize("only", [False, True])
def test_every_measure_of_every_collection_is_the_same(rel: int, only: bool) -> None:
    n_compared = 0
    for number, (qrels, run) in enumerate(collections()):
        theirs, ours = (
            module.RelevanceEvaluator(
                qrels, {"all_trec"}, relevance_level=rel, judged_docs_only_flag=only
            ).evaluate(run)
            for module in (pytrec_eval, mine)
        )
        n_compared += count_equal(theirs, ours, number)
    assert n_compared > 333 * len(COLLECTIONS)


PARAMETERS = [
    {"P.3,7", "P_2", "recall_5"},
    {"ndcg_cut.10", "ndcg_cut_3", "map_cut.2,4", "relative_P.2"},
    {"iprec_at_recall.0.3,0.55", "Rprec_mult.0.3,1.7", "success.2"},
    {"set_F.2", "11pt_avg.0.5,0.25,0.1", "P.5.0"},
    {"set_F.2", "set_F_2"},
    {"official", "ndcg"},
    {"set"},
    ["map", "P"],
    ("recip_rank", "map.5"),
    {"P", "P.5"},
    {"gm_map", "gm_bpref", "num_q"},
    set(),
]


@pytest.mark.parametrize(
    "measures", PARAMETERS, ids=lambda measures: f"{type(measures).__name__} {sorted(measures)}"
)
def test_parameters_mean_the_same(measures: Any) -> None:
    for number, (qrels, run) in zip(seeds(60), collections(), strict=False):
        theirs, ours = (
            module.RelevanceEvaluator(qrels, measures).evaluate(run)
            for module in (pytrec_eval, mine)
        )
        count_equal(theirs, ours, number)


def test_names() -> None:
    assert mine.supported_measures == set(pytrec_eval.supported_measures)
    theirs = {name: set(names) for name, names in pytrec_eval.supported_nicknames.items()}
    assert mine.supported_nicknames == theirs
    assert set(pytrec_eval.__all__) <= set(mine.__all__)


def test_queries_come_in_the_order_of_the_run_and_measures_in_that_of_trec_eval() -> None:
    scores = mine.RelevanceEvaluator(QRELS, {"P.10,5", "ndcg", "num_q", "map"}).evaluate(RUN)
    assert list(scores) == ["q2", "q1"]
    assert list(scores["q1"]) == ["num_q", "map", "P_5", "P_10", "ndcg"]


def test_few_queries_of_many_are_evaluated_alone() -> None:
    qrels, run = oracle.make_collection(7, 60, lowest=0)
    run = {query: docs for query, docs in run.items() if docs}
    evaluator = mine.RelevanceEvaluator(qrels, {"all_trec"})
    together = evaluator.evaluate(run)
    for query, docs in run.items():
        alone = evaluator.evaluate({query: docs})
        assert alone == ({query: together[query]} if query in together else {})


def test_a_call_leaves_nothing_behind() -> None:
    evaluator = mine.RelevanceEvaluator(QRELS, {"all_trec"})
    run, qrels = copy.deepcopy(RUN), copy.deepcopy(QRELS)
    first = evaluator.evaluate(run)
    assert evaluator.evaluate({"q1": {"x": 1.0}})["q1"]["map"] == 0
    assert evaluator.evaluate(run) == first
    assert (run, qrels) == (RUN, QRELS)


def test_memory_does_not_grow() -> None:
    chance = random.Random(1)
    docs = [f"d{i}" for i in range(1000)]
    qrels = {f"q{i}": {doc: chance.randint(0, 2) for doc in docs[:200]} for i in range(20)}
    run = {f"q{i}": {doc: chance.random() for doc in docs} for i in range(20)}
    evaluator = mine.RelevanceEvaluator(qrels, {"map", "ndcg", "ndcg_cut", "P", "recip_rank"})

    def calls(n: int) -> int:
        for _ in range(n):
            evaluator.evaluate(run)
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    warm = calls(50)
    assert calls(200) - warm < 2_000_000, "bytes; a result alone is some 20,000"


def test_odd_input() -> None:
    evaluator = mine.RelevanceEvaluator({**QRELS, "empty": {}}, {"map"})
    assert evaluator.evaluate({}) == evaluator.evaluate({"q9": {"d": 1.0}}) == {}
    assert evaluator.evaluate({"empty": {"d1": 1.0}}) == {}
    assert evaluator.evaluate({"q1": {}}) == {"q1": {"map": 0.0}}
    assert mine.RelevanceEvaluator({}, {"map"}).evaluate(RUN) == {}
    assert mine.RelevanceEvaluator(QRELS, {"P.5, 10", "map"}, True).evaluate(RUN)["q1"].keys() == {
        *("map", "P_5", "P_10")
    }
    nameless: Any = {"": {"": 1, "a": 0}}, {"": {"a": 1.0, "": 1.0}}
    for qrels, run in (nameless, nameless[::-1]):
        grades = {
            query: {doc: int(grade) for doc, grade in docs.items()} for query, docs in qrels.items()
        }
        theirs, ours = (
            module.RelevanceEvaluator(grades, {"map", "ndcg"}).evaluate(run)
            for module in (pytrec_eval, mine)
        )
        count_equal(theirs, ours, "the id ''")
    run_dict = mine.parse_run(["q Q0 d 1 0.5 x"])
    run_dict["new"]["d"] = 1.0
    assert dict(run_dict) == {"q": {"d": 0.5}, "new": {"d": 1.0}}
    assert evaluator.evaluate(defaultdict(dict, RUN)) == evaluator.evaluate(RUN)
    assert json.loads(json.dumps(evaluator.evaluate(RUN))) == evaluator.evaluate(RUN)
    copied_evaluator = pickle.loads(pickle.dumps(evaluator))  # noqa: S301 - our own
    assert copied_evaluator.evaluate(RUN) == evaluator.evaluate(RUN)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: make_evaluator({"q": {"d": 1.0}}, {"map"}), TypeError, "'q'.*'d'.*1.0"),
        (lambda: make_evaluator({"q": {"d": "1"}}, {"map"}), TypeError, "whole number"),
        (lambda: make_evaluator({1: {"d": 1}}, {"map"}), TypeError, "a string"),
        (lambda: make_evaluator({"q": ["d"]}, {"map"}), TypeError, "document: grade"),
        (lambda: make_evaluator(["q"], {"map"}), TypeError, "query"),
        (
            lambda: mine.RelevanceEvaluator(QRELS, {"mpa"}),
            ValueError,
            "measure mpa.*map",
        ),
        (lambda: mine.RelevanceEvaluator(QRELS, {"P.x"}), ValueError, "unsupported measure P.x"),
        (lambda: mine.RelevanceEvaluator(QRELS, {"P.0"}), ValueError, "ranks"),
        (lambda: mine.RelevanceEvaluator(QRELS, {"utility.1"}), ValueError, "four numbers"),
        (lambda: mine.RelevanceEvaluator(QRELS, {"set_F.1", "set_F.2"}), ValueError, "set_F"),
        (lambda: mine.RelevanceEvaluator(QRELS, "map"), TypeError, "a set of measures"),
        (
            lambda: mine.RelevanceEvaluator(QRELS, {"prefs"}),
            ValueError,
            "unsupported measure prefs",
        ),
        (lambda: mine.RelevanceEvaluator(QRELS, {"map"}, 10**10), TypeError, "whole number"),
        (lambda: make_evaluator({"q": {None: 1}}, {"map"}), TypeError, "an id is a string"),
        (lambda: mine.RelevanceEvaluator(QRELS, {"map"}, 0), TypeError, "1 or more"),
        (lambda: make_evaluator(QRELS, {"map"}, 1.5), TypeError, "1 or more"),
        (lambda: evaluate_run({"q1": {"d1": "x"}}), TypeError, "'q1'.*'d1'.*'x'"),
        (lambda: evaluate_run({"q1": {"d1": float("nan")}}), TypeError, "nan"),
        (lambda: evaluate_run({1: {"d1": 1.0}}), TypeError, "a string"),
        (lambda: make_evaluator(QRELS, {5}), TypeError, "name of a measure"),
        (lambda: evaluate_run({"q1": ["d1"]}), TypeError, "document: score"),
        (lambda: evaluate_run([("q1", {})]), TypeError, "query"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def make_evaluator(*arguments: Any) -> Any:
    return mine.RelevanceEvaluator(*arguments)


def evaluate_run(run: Any) -> Any:
    return mine.RelevanceEvaluator(QRELS, {"map"}).evaluate(run)


def test_gains_of_ones_own_do_not_end_the_process() -> None:
    scores = mine.RelevanceEvaluator(QRELS, {"ndcg.1=3,2=9"}).evaluate(RUN)["q1"]
    best = 9 / math.log2(2) + 3 / math.log2(3)
    assert scores == {"ndcg": (9 / math.log2(3) + 3 / math.log2(4)) / best}


def test_files_are_parsed_the_same(data: Path) -> None:
    folder = data / "trec_eval"
    for name, parser in (("results.test", "parse_run"), ("qrels.test", "parse_qrel")):
        with (folder / name).open() as lines, (folder / name).open() as same_lines:
            assert getattr(mine, parser)(lines) == getattr(pytrec_eval, parser)(same_lines)
    for parser, line in (("parse_run", "q Q0 d 1 0.5 x"), ("parse_qrel", "q 0 d 1")):
        for module in (pytrec_eval, mine):
            with pytest.raises(AssertionError):
                getattr(module, parser)(io.StringIO(f"{line}\n{line}\n"))
            with pytest.raises(ValueError, match="expected"):
                getattr(module, parser)(io.StringIO("q d\n"))


def test_aggregates_are_the_same() -> None:
    chance = random.Random(3)
    for name in ("map", "num_rel", "gm_map", "P_5"):
        values = [chance.random() for _ in range(1000)]
        expected = pytrec_eval.compute_aggregated_measure(name, values)
        assert mine.compute_aggregated_measure(name, values) == expected
