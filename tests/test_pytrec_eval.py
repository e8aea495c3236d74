"""Against trec_eval 9 in C (pytrec_eval): every value of generated collections, difference 0.

Version 9 compares scores as 32-bit floats, averages over the queries in both, and counts the
documents of a recall point otherwise: (long)(x R + 0.9) where version 10 has lround(x R); so the
interpolated precisions are compared where both rules need as many.
"""

import math
from collections.abc import Iterator

import oracle
import pytest
import pytrec_eval

from cranfield import evaluate, parse

NAMES = [
    *("map", "Rprec", "bpref", "recip_rank", "ndcg", "num_ret", "num_rel", "num_rel_ret"),
    *("set_P", "set_recall", "set_F", "set_map", "set_relative_P"),
]
CUT = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
FAMILIES = {
    "P": CUT,
    "recall": CUT,
    "ndcg_cut": CUT,
    "map_cut": CUT,
    "relative_P": CUT,
    "success": (1, 5, 10),
}


def collections() -> Iterator[tuple[oracle.Qrels, oracle.Run]]:
    for seed in range(600):
        # Grades as pytrec_eval takes them: negative ones as trec_eval does.
        qrels, run = oracle.collection(seed, 8, depth=(8, 15, 40)[seed % 3], tied=seed % 5 / 5)
        run = {query: docs for query, docs in run.items() if docs}
        # A topic all of whose grades are negative makes trec_eval 9 read stale memory.
        qrels = {q: docs for q, docs in qrels.items() if max(docs.values()) >= 0}
        if qrels.keys() & run.keys():
            yield qrels, run


@pytest.mark.parametrize("rel", [1, 2])
def test_every_value_is_trec_eval_9s_to_the_last_bit(rel: int) -> None:
    names = {*NAMES, *FAMILIES}
    mine = {name: parse(name, rel) for name in NAMES}
    for family, cutoffs in FAMILIES.items():
        mine |= {f"{family}_{k}": parse(f"{family}_{k}", rel) for k in cutoffs}
    compared = 0
    for qrels, run in collections():
        theirs = pytrec_eval.RelevanceEvaluator(qrels, names, relevance_level=rel).evaluate(run)
        scores = evaluate(qrels, run, list(mine.values()), queries="both", scores="single")
        assert scores.query_ids == sorted(theirs, key=str.encode)
        for name, measure in mine.items():
            for query, value in scores.per_query(measure).items():
                assert value == theirs[query][name], (name, query)
                compared += 1
    assert compared > 100_000


def test_interpolated_precision_where_both_versions_need_as_many_documents() -> None:
    compared = 0
    for qrels, run in collections():
        theirs = pytrec_eval.RelevanceEvaluator(qrels, {"iprec_at_recall"}).evaluate(run)
        scores = evaluate(qrels, run, "iprec_at_recall", queries="both", scores="single")
        for query, values in theirs.items():
            relevant = oracle.n_relevant(list(qrels[query].values()), 1)
            for name, value in values.items():
                point = float(name.rpartition("_")[2])
                if int(point * relevant + 0.9) == math.floor(point * relevant + 0.5):
                    assert scores.per_query(parse(name))[query] == value
                    compared += 1
    assert compared > 10_000


def test_judged_documents_only() -> None:
    names = {"map", "ndcg_cut", "P", "recip_rank", "num_ret", "bpref"}
    for qrels, run in collections():
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, names, judged_docs_only_flag=True)
        theirs = evaluator.evaluate(run)
        scores = evaluate(
            qrels,
            run,
            "map ndcg_cut P.5,10 recip_rank num_ret bpref",
            queries="both",
            scores="single",
            judged_only=True,
        )
        for query, values in theirs.items():
            for name in ("map", "ndcg_cut_10", "P_5", "recip_rank", "num_ret", "bpref"):
                assert scores.per_query(parse(name))[query] == values[name], (name, query)
