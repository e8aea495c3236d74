"""C/W/L against cwl-eval 1.0.12, and ir_measures where it asks cwl-eval.

cwl-eval keeps the order of the file; it is given cranfield's ranking. It adds in other orders, and
multiplies where cranfield divides, so that the last digits differ: hence the tolerance.
"""

import math
import random
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
from cwl.ruler.measures.cwl_ap import APCWLMetric, TrAPCWLMetric
from cwl.ruler.measures.cwl_bpm import BPMCWLMetric, BPMDCWLMetric
from cwl.ruler.measures.cwl_dcg import NDCGCWLMetric
from cwl.ruler.measures.cwl_ift import IFTGoalCWLMetric, IFTGoalRateCWLMetric, IFTRateCWLMetric
from cwl.ruler.measures.cwl_insq import INSQCWLMetric
from cwl.ruler.measures.cwl_inst import INSTCWLMetric
from cwl.ruler.measures.cwl_nerr import (
    NERReq8CWLMetric,
    NERReq9CWLMetric,
    NERReq10CWLMetric,
    NERReq11CWLMetric,
)
from cwl.ruler.measures.cwl_precision import PrecisionCWLMetric
from cwl.ruler.measures.cwl_rbp import RBPCWLMetric
from cwl.ruler.measures.cwl_rr import RRCWLMetric
from cwl.ruler.measures.cwl_tbg import TBGCWLMetric
from cwl.ruler.measures.cwl_umeasure import UMeasureCWLMetric
from cwl.ruler.ranking import Ranking
from helpers import oracle

from cranfield import Run, evaluate, parse, read_qrels, read_run

VALUES = ("EU", "ETU", "EC", "ETC", "ED")
CWL_METRICS = {
    "P@1": PrecisionCWLMetric(1),
    "P@10": PrecisionCWLMetric(10),
    "RBP": RBPCWLMetric(0.9),
    "RBP(p=0.5)": RBPCWLMetric(0.5),
    "RR": RRCWLMetric(),
    "AP": APCWLMetric(),
    "TrAP": TrAPCWLMetric(),
    "SDCG@10": NDCGCWLMetric(10),
    "SDCG@3": NDCGCWLMetric(3),
    "INSQ": INSQCWLMetric(1.0),
    "INSQ(T=3)": INSQCWLMetric(3.0),
    "INST": INSTCWLMetric(1.0),
    "INST(T=2.5)": INSTCWLMetric(2.5),
    "IFT_C1(T=2, b1=0.9, R1=1)": IFTGoalCWLMetric(2.0, 0.9, 1),
    "IFT_C1(T=0.5, b1=0.3, R1=20)": IFTGoalCWLMetric(0.5, 0.3, 20),
    "IFT_C2(A=0.2, b2=0.9, R2=1)": IFTRateCWLMetric(0.2, 0.9, 1),
    "IFT_C2(A=0.5, b2=0.1, R2=8)": IFTRateCWLMetric(0.5, 0.1, 8),
    "IFT(T=2, b1=0.9, R1=1, A=0.2, b2=0.9, R2=1)": IFTGoalRateCWLMetric(2.0, 0.9, 1, 0.2, 0.9, 1),
    "BPM@10": BPMCWLMetric(1.0, 10),
    "BPM(T=2.25)@7": BPMCWLMetric(2.25, 7),
    "BPM(T=2, K=3.5)": BPMCWLMetric(2, 3.5),
    "BPM_dynamic(hc=0)@10": BPMDCWLMetric(1, 10, hc=0),
    "BPM_dynamic(T=3, hb=0.5, hc=0, med=0.25)@8": BPMDCWLMetric(3, 8, 0.5, 0, 0.25),
    "NERR8@5": NERReq8CWLMetric(5),
    "NERR9@9": NERReq9CWLMetric(9),
    "NERR10": NERReq10CWLMetric(0.9),
    "NERR11": NERReq11CWLMetric(1.0),
    "NERR11(T=3)": NERReq11CWLMetric(3.0),
    "TBG": TBGCWLMetric(224),
    "TBG(h=3)": TBGCWLMetric(3),
    "U": UMeasureCWLMetric(1000),
    "U(L=8)": UMeasureCWLMetric(8),
}
# What these three differ in is known:
CWL_METRICS[
    "TrAP"
].residuals = False  # its constructor forgets to say so, and measure() then raises
ONE_RANK_MORE = {"U", "U(L=8)"}  # its last rank has no weight: ours at depth n is theirs at n + 1


def test_every_user_model_is_compared() -> None:
    model_texts = (
        parse("CWL").definition.documentation.split("The user models:\n\n")[1].split("\n\n")
    )
    names = {text.split(":")[0].split("(")[0] for text in model_texts}
    assert {name.split("(")[0].split("@")[0] for name in CWL_METRICS} == names


def cwl_name(name: str, value: str, parameters: str) -> str:
    model, _, cutoff = name.partition("@")
    return f"CWL({model!r}, value={value!r}{parameters})" + (f"@{cutoff}" if cutoff else "")


def count_equal_values(
    qrels: Any, run: Any, depth: int, top: int, costs: dict[str, dict[str, float]] | None = None
) -> int:
    """Compare every quantity of every user model; return the number of values compared.

    `costs` are those of the run's documents, 1 each if there are none.
    """
    texts = {
        (name, value): str(parse(cwl_name(name, value, f", depth={depth}")))
        for name in CWL_METRICS
        for value in VALUES
    }
    rows: Any = run
    if costs is not None:
        rows = [
            {"query_id": query, "doc_id": doc, "score": score, "cost": costs[query][doc]}
            for query, docs in run.items()
            for doc, score in docs.items()
        ]
    values = evaluate(qrels, Run(rows), list(texts.values())).to_dict()
    n_compared = 0
    for query, (ranking, grades) in oracle.grade_rankings(qrels, run).items():
        gains = [math.nan if g is None else max(g, 0) / top for g in ranking]
        n_relevant = sum(1 for grade in grades if grade > 0)
        costs_by_rank = [math.nan] * len(gains)
        if costs is not None:
            costs_by_rank = [costs[query][doc] for doc in oracle.rank_docs(run.get(query, {}))]
        for name, metric in CWL_METRICS.items():
            cwl_ranking = Ranking(
                query, gains, costs_by_rank, max_n=depth + (name in ONE_RANK_MORE)
            )
            cwl_ranking.total_qrel_rels = n_relevant
            if name == "TrAP" and not np.nansum(gains[:depth]):
                continue  # see test_trap_without_a_gain
            metric.measure(cwl_ranking)
            for value, expected in zip(VALUES, metric.get_scores(), strict=True):
                own_value = values[query][texts[name, value]]
                assert own_value == pytest.approx(expected, rel=1e-10, abs=1e-13), (
                    query,
                    name,
                    value,
                )
                n_compared += 1
    return n_compared


@pytest.mark.parametrize("depth", [10, 30, 1000])
def test_generated_collections(depth: int) -> None:
    n_compared = 0
    for seed in range(10 if depth < 100 else 1):
        qrels, run = oracle.make_collection(seed, tie_share=0.2)
        top = max(grade for docs in qrels.values() for grade in docs.values())
        n_compared += count_equal_values(qrels, run, depth, top)
    assert n_compared > (15_000 if depth < 100 else 1500)


def test_generated_collections_with_costs() -> None:
    n_compared = 0
    for seed in range(10):
        chance = random.Random(seed)
        qrels, run = oracle.make_collection(seed, tie_share=0.2)
        costs = {
            query: {doc: chance.choice([0.25, 1, 1, 2.5, 30]) for doc in docs}
            for query, docs in run.items()
        }
        top = max(grade for docs in qrels.values() for grade in docs.values())
        n_compared += count_equal_values(qrels, run, 25, top, costs)
    assert n_compared > 15_000


def test_residuals() -> None:
    """Its best case: what is not judged, and what is beyond the end, gains 1."""
    for seed in range(4):
        qrels, run = oracle.make_collection(seed, tie_share=0.2)
        top = max(grade for docs in qrels.values() for grade in docs.values())
        texts = {
            (name, value): str(parse(cwl_name(name, value, ", depth=20, unjudged=1")))
            for name in CWL_METRICS
            for value in VALUES
        }
        values = evaluate(qrels, run, list(texts.values())).to_dict()
        for query, (ranking, grades) in oracle.grade_rankings(qrels, run).items():
            gains = [math.nan if g is None else max(g, 0) / top for g in ranking]
            for name, metric in CWL_METRICS.items():
                depth = 20 + (name in ONE_RANK_MORE)
                cwl_ranking = Ranking(query, gains, [math.nan] * len(gains), max_n=depth)
                cwl_ranking.total_qrel_rels = sum(1 for grade in grades if grade > 0)
                if name == "TrAP" and not np.nansum(gains[:20]):
                    continue  # see test_trap_without_a_gain
                best_scores = metric._do_score(cwl_ranking, False)
                for value, expected in zip(VALUES, best_scores, strict=True):
                    own_value = values[query][texts[name, value]]
                    assert own_value == pytest.approx(expected, rel=1e-10, abs=1e-13), (name, value)


@pytest.mark.parametrize("system", ["bm25", "splade-rankvicuna"])
def test_real_systems(system: str, data: Path) -> None:
    qrels = read_qrels(data / "dl19" / "qrels.txt").to_dict()
    run = read_run(data / "dl19" / f"{system}.run.gz").to_dict()
    assert count_equal_values(qrels, run, 1000, 3) == 43 * len(CWL_METRICS) * 5


# ---- what is known to differ ----------------------------------------------------------------


def make_cwl_ranking(gains: list[float], n: int, relevant: int = 1) -> Ranking:
    cwl_ranking = Ranking("q", gains, [1.0] * len(gains), max_n=n)
    cwl_ranking.total_qrel_rels = relevant
    return cwl_ranking


def test_their_precision_beyond_the_depth_raises() -> None:
    with pytest.raises(ValueError, match="shapes"):
        PrecisionCWLMetric(1002).measure(make_cwl_ranking([1.0], 1000))


def test_their_dynamic_bpm_never_changes_the_budget() -> None:
    """It changes T a second time, which is not looked at any more."""
    gains = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    scores = []
    for hc in (0, 5):
        metric = BPMDCWLMetric(9, 3, 0, hc)
        metric.measure(make_cwl_ranking(gains, 10))
        scores.append(metric.get_scores())
    assert scores[0] == scores[1]
    grades, ranking_docs = {"a": 1, "d": 1}, list("abcdefg")
    measures = [parse(f"CWL('BPM_dynamic(T=9, hb=0, hc={hc})', value='ED')@3") for hc in (0, 5)]
    # The budget of 3 becomes 3 + 5 (1 - 0.5) after the first, and 2.5 less after each other.
    assert [measure(grades, ranking_docs) for measure in measures] == [3, 3]
    assert parse("CWL('BPM_dynamic(T=9, hb=0, hc=1)', value='ED')@4")(grades, ranking_docs) == 4
    assert (
        parse("CWL('BPM_dynamic(T=9, hb=0, hc=4, med=0)', value='ED')@2")(grades, ranking_docs)
        == 10
    )


def test_trap_without_a_gain() -> None:
    """Theirs has no weight at the last rank alone; without relevant documents, R counts as 1."""
    metric = TrAPCWLMetric()
    weights = metric.w_vector(make_cwl_ranking([0.0, 0.0], 4, 0))
    assert weights.tolist() == [1 / 1, 1 / 2, 1 / 3, 0]
    own_value = parse("CWL('TrAP', value='EC', depth=4)")({"x": 0}, ["x"])
    assert own_value == 1 / 1 + 1 / 2 + 1 / 3 + 1 / 4


def test_their_gains_must_not_be_negative_and_ours_count_as_nothing() -> None:
    with pytest.raises(ValueError, match="violate metric assumptions"):
        INSTCWLMetric(1.0).measure(make_cwl_ranking([-1.0], 10))
    assert parse("INST")({"a": -1, "b": 1}, ["a", "b"]) == parse("INST")({"b": 1}, ["a", "b"])


# ---- ir_measures ----------------------------------------------------------------------------

IR_MEASURES = [
    "SDCG(max_rel=3)@10",
    "SDCG(max_rel=2)@3",
    "BPM(max_rel=3)@10",
    "BPM(T=2.0,max_rel=3)@5",
    "NERR8(max_rel=3)@10",
    "NERR9(max_rel=3)@10",
    "NERR10(max_rel=3)",
    "NERR10(max_rel=3,p=0.5)",
    "NERR11(max_rel=3)",
    "NERR11(T=2.5,max_rel=4)",
    "INST(max_rel=3)",
    "INST(T=2.0,max_rel=3)",
    "INSQ(max_rel=3)",
    "INSQ(T=2.0,max_rel=3)",
    "RBP(rel=1)",
    "RBP(p=0.9,rel=2)",
]


def test_ir_measures_names_have_their_numbers() -> None:
    """Without ties: it leaves equal scores in the order of the input."""
    metric_of_name = {name: ir_measures.parse_measure(name) for name in IR_MEASURES}
    provider = ir_measures.providers.registry["cwl_eval"]
    assert all(provider.supports(metric) for metric in metric_of_name.values())
    assert [str(metric) for metric in metric_of_name.values()] == IR_MEASURES
    for seed in range(20):
        qrels, run = oracle.make_collection(seed, tie_share=0)
        scores = evaluate(qrels, run, IR_MEASURES)
        own_values = {name: scores.per_query(name) for name in IR_MEASURES}
        n_compared = 0
        for metric_value in ir_measures.iter_calc(list(metric_of_name.values()), qrels, run):
            value = own_values[str(metric_value.measure)][metric_value.query_id]
            assert value == pytest.approx(metric_value.value, rel=1e-10, abs=1e-13), metric_value
            n_compared += 1
        assert n_compared == len(IR_MEASURES) * len(qrels)


def test_ir_measures_average_precision_is_not_that_of_cwl_eval() -> None:
    """By default it asks trec_eval for AP, P and RR, as cranfield understands these names."""
    qrels, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    default_ap = ir_measures.calc_aggregate([ir_measures.AP], qrels, run)[ir_measures.AP]
    assert default_ap == pytest.approx((1 + 2 / 3) / 3, rel=1e-7)
    assert parse("AP")(qrels["q"], run["q"]) == (1 + 2 / 3) / 3
    assert parse("CWL('AP')")(qrels["q"], run["q"]) == pytest.approx((1 + 2 / 3) / 2, rel=1e-15)
