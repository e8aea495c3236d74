"""Names of measures as people type them, and what is reported on names that are none."""

from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke

import cranfield
from cranfield import (
    F,
    Measure,
    MeasureError,
    P,
    R,
    Success,
    definitions,
    evaluate,
    parse,
    parse_all,
)
from cranfield.measures.absent import describe_absent
from cranfield.measures.grammar import _are_name
from cranfield.measures.registry import (
    EXACT_NAMES,
    VARIANTS,
    bare_name,
    find_variant,
    strip_library_words,
)

QRELS, RUN = {"q1": {"d1": 1}, "q2": {"d2": 1}}, {"q1": ["d1"], "q2": ["d1", "d2"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P@5,MAP,MRR,nDCG@10", "P@5 AP RR nDCG@10"),
        ("Recall@5, MRR@10", "R@5 RR@10"),
        ("MAP ,MRR", "AP RR"),
        ("nDCG@5,10", "nDCG@5 nDCG@10"),
        ("nDCG@5, 10", "nDCG@5 nDCG@10"),
        ("nDCG@5,10,AP,P@1", "nDCG@5 nDCG@10 AP P@1"),
        ("ndcg@[5,10]", "nDCG@5 nDCG@10"),
        ("P@5,R,min(7,R)", "P@5 P@R P@min(7,R)"),
        ("P@5,R@10", "P@5 R@10"),
        ("nDCG@1..3,10", "nDCG@1 nDCG@2 nDCG@3 nDCG@10"),
        ("IPrec@0.1,0.2", "IPrec@0.1 IPrec@0.2"),
        ("P(rel=2)@5,10 R(rel=2)@5", "P(rel=2)@5 P(rel=2)@10 R(rel=2)@5"),
        ("nDCG(gain={1: 1, 2: 3})@5,AP", "nDCG(gain={1: 1, 2: 3})@5 AP"),
        ("P.5,10,MAP", "P@5 P@10 AP"),
        ("ndcg.1=3,2=9,map", "nDCG(gain={1: 3, 2: 9}) AP"),
        ("utility.2,-1,0,0", "Utility(weights=(2, -1, 0, 0))"),
        ("AP,,RR,", "AP RR"),
        ("P5 ndcg10 recall100 MRR10 hit5", "P@5 nDCG@10 R@100 RR@10 Success@5"),
        ("P5,10", "P@5 P@10"),
        ("F1@5 F2@5 F0.5@5", "F@5 F(beta=2)@5 F(beta=0.5)@5"),
        ("NERR8@10 11pt", "CWL('NERR8')@10 IAP"),
        ("rbp.95 rbp.8 rbp", "RBP(p=0.95) RBP RBP(p=0.9, gain='linear')"),
        ("RBP(p=0.5)@10", "RBP(p=0.5)@10"),
        ("mean average precision@10, hit rate@5", "AP@10 Success@5"),
        ("average precision mean reciprocal rank", "AP RR"),
        ("normalized discounted cumulative gain@5", "nDCG@5"),
        ("mean_average_precision mean-reciprocal-rank", "AP RR"),
        ("average_precision reciprocal_rank", "AP RR"),
        ("ndcg_score dcg_score roc_auc_score", "nDCG DCG AUC"),
        ("label_ranking_average_precision_score average_precision_score", "AP"),
        ("top_k_accuracy_score@3 f1_score@5 HR@10", "Success@3 F@5 Success@10"),
        (
            "RetrievalMAP RetrievalMRR RetrievalNormalizedDCG RetrievalRPrecision",
            "AP RR nDCG Rprec",
        ),
        ("RetrievalRecall@5 RetrievalHitRate@5 RetrievalFallOut", "R@5 Success@5 FallOut"),
        ("retrieval_normalized_dcg retrieval_average_precision", "nDCG AP"),
        ("expected_reciprocal_rank rank_biased_precision", "ERR RBP"),
        ("AUROC roc-auc RocAuc", "AUC"),
        ("HitRatio@5 Hit-Rate@10 R-Prec 11-pt_avg", "Success@5 Success@10 Rprec IAP"),
        ("R precision, MAP; mrr", "Rprec AP RR"),
        ("G MAP", "G AP"),
        ("recall at 5 nDCG AT 5,10", "R@5 nDCG@5 nDCG@10"),
        ("rank-biased precision(p=0.5)@5 hit rate@5", "RBP(p=0.5)@5 Success@5"),
        ("cosine_ndcg@10 cos_sim-map@100 dot_score_recall@5", "nDCG@10 AP@100 R@5"),
        ("eval_cosine_mrr@10 DocumentMAPEvaluator", "RR@10 AP"),
    ],
)
def test_what_people_type(text: str, expected: str) -> None:
    assert " ".join(map(str, parse_all(text))) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("P(rel=2", r"a bracket is not closed: \) is missing"),
        ("nDCG(gain={1: 2)@5", "closes none that is open"),
        ("P rel=2)", r"the bracket \) closes none that is open"),
        ("nDCG@5,x", "unknown measure 'x'"),
        ("Rprec5", "unknown measure 'Rprec5'"),
        ("IPrec5", "unknown measure 'IPrec5'"),
        ("set_F2", "unknown measure 'set_F2'"),
        ("NDGC@10", "Did you mean nDCG"),
        ("mean_average_precisoin", "Did you mean AP"),
        (",", "no measure is named"),
        ("P@5 (rel=2)", r"as in P\(rel=2\)@5"),
        ("nDCG@10(gain='exp2')", r"as in nDCG\(gain='exp2'\)@10"),
        ("nDCG(10)", "a cutoff behind @"),
        ("nDCG(k=10)", "written nDCG@10"),
        ("MAP@all", "everything retrieved is AP alone"),
        ("nDCG 10", "unknown measure '10'"),
    ],
)
def test_slips(text: str, problem: str) -> None:
    with pytest.raises(MeasureError, match=problem):
        parse_all(text)


@pytest.mark.parametrize(
    ("names", "nearest"),
    [
        ("context_precision contextual_precision LLMContextPrecision", "AP(over='retrieved')"),
        ("context_recall ContextualRecall@5", "R@k"),
        ("id_based_context_precision", "SetP"),
        ("faithfulness groundedness answer_relevancy AnswerRelevance hallucination", "nuggets"),
        ("bleu BleuScore rouge_l BERTScore", "nuggets"),
        ("shannon_entropy popularity_bias diversity intersection", "cranfield describe"),
        ("epc@10 EFD PopRSP reo EED AWRF@5", "not computed"),
        ("accuracy@5 acc Accuracy@10 cosine_accuracy@1", "Success@k"),
        ("fbeta_score@5 F1Beta@5", "F(beta=2)@k"),
        ("PR-AUC auprc", "AP"),
        ("GAUC", "AUC"),
        ("hits@10", "Success@k"),
        ("hole@10", "Unjudged@k"),
        ("coverage_error", "LastRel"),
        ("label_ranking_loss", "1 - AUC"),
        (
            "RetrievalPrecisionRecallCurve recall_at_fixed_precision",
            "IPrec@0.1",
        ),
        ("nauc_ndcg_at_10 p-MRR main_score", "nDCG@10"),
        ("rmse", "AUC"),
        ("official all", "cranfield trec-eval"),
    ],
)
def test_what_is_no_measure_here_gets_an_answer(names: str, nearest: str) -> None:
    for name in names.split():
        with pytest.raises(MeasureError) as caught:
            parse_all(name)
        assert nearest in str(caught.value), name
        assert "Did you mean" not in str(caught.value)


def test_what_is_said_to_come_nearest_is_there() -> None:
    for text in ("AP(over='retrieved')", "SetP", "SetR", "StRecall@5", "alpha_nDCG@5", "ERR_IA@5"):
        assert parse(text)
    for text in (
        "F(beta=2)@5",
        "Success@5",
        "NumRelRet",
        "Unjudged@5",
        "LastRel",
        "AUC",
        "IPrec@0.1",
        "RelP@5",
    ):
        assert parse(text)


def test_no_name_of_a_measure_is_said_to_be_none() -> None:
    assert [name for name in VARIANTS if describe_absent(strip_library_words(name))] == []


def test_a_name_that_is_whole_is_never_cut() -> None:
    """A name that ends in digits, as F1, is what it is declared to be."""
    ending = [name for name in VARIANTS if name[-1].isdigit()]
    assert {"f1", "f2", "nerr8"} <= {*ending}
    for name in ending:
        canonical, parameters = VARIANTS[name]
        measure = cranfield.measures.find_measure(name)
        assert measure == Measure(canonical).with_parameters(parameters)


def test_two_measures_side_by_side_are_not_read_as_one() -> None:
    pairs = [(a, b) for a, b in product(VARIANTS, VARIANTS) if find_variant(f"{a}_{b}")]
    assert {("g", "map"), ("r", "ndcg"), ("r", "precision")} <= {*pairs}
    pairs_of_one_name = [(a, b) for a, b in pairs if _are_name([a, b])]
    assert pairs_of_one_name == [("r", "precision")], "and R needs a cutoff"


def test_case_and_lines_between_do_not_matter() -> None:
    """No two measures have names that are the same without these; else one would be lost."""
    bare: dict[str, set[str]] = {}
    for name, (canonical, _) in EXACT_NAMES.items():
        bare.setdefault(bare_name(name), set()).add(canonical)
    assert [name for name, measures in bare.items() if len(measures) > 1] == []


def test_a_query_is_no_measure_where_either_may_stand() -> None:
    assert parse("q1") == parse("Q@1")
    with pytest.raises(MeasureError):
        parse("q1", glued=False)
    scores = {"old": {"q1": 0.5, "q2": 0.25}, "new": {"q1": 0.5, "q2": 0.75}}
    assert cranfield.compare(scores).rows()[0]["difference"] == 0.625 - 0.375


def test_names_of_other_tools_can_be_imported() -> None:
    from cranfield import CG, F1, MAP, MRR, NDCG, HitRate, Recall

    expected = ["AP", "RR", "nDCG", "R", "Success", "F", "DCG(discount='none')"]
    assert list(map(str, (MAP, MRR, NDCG, Recall, HitRate, F1, CG))) == expected
    assert (NDCG @ 5)([3, 0, 2]) == (cranfield.nDCG @ 5)([3, 0, 2])


def test_no_module_is_hidden_by_a_measure() -> None:
    package = Path(cranfield.__file__).parent
    modules = {path.stem for path in package.iterdir() if not path.stem.startswith("_")}
    assert {"data", "measures", "figures", "pytrec_eval"} <= modules
    assert [name for name in modules if find_variant(name)] == ["compat"]
    assert import_module("cranfield.compat").__name__ == "cranfield.compat"
    with pytest.raises(AttributeError, match="'faithfulness'"):
        _ = cranfield.faithfulness


def test_a_measure_has_its_own_page() -> None:
    import pydoc

    for definition in definitions():
        page = Measure(definition.name).__doc__
        assert page is not None
        assert page.startswith(definition.pattern[:20])
        for part in (definition.summary, definition.formula, definition.source):
            assert " ".join(part.split()) in " ".join(page.split())
        for name, parameter in definition.parameters.items():
            assert f"{name}=" in page
            assert parameter.meaning.split()[-1] in page
    ap = pydoc.plain(pydoc.render_doc("cranfield.AP"))
    assert "Average precision: the mean of the precision" in ap
    assert "def __matmul__" not in ap
    assert max(map(len, ap.splitlines())) <= 79
    assert str(Measure.__doc__).startswith("A measure with its parameters")


# ---- the command line ---------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "q.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2 a\nq2 Q0 d1 1 2 a\nq2 Q0 d2 2 1 a\n")
    return [str(tmp_path / name) for name in ("q.txt", "a.run")]


@pytest.mark.parametrize("option", ["--metrics", "--metric", "--measures", "--measure", "-m"])
def test_other_spellings_of_the_option(files: list[str], option: str) -> None:
    outcome = invoke("evaluate", *files, option, "MRR,P@1", "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == ["a,RR,all,0.75", "a,P@1,all,0.5"]
    assert invoke("explain", *files, option, "MRR", "--query", "q2").exit_code == 0
    assert invoke("compare", *files, files[1], option, "MRR").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["evaluate", "Q", "R", "-m", "P@1", "MAP", "ndcg@5"], ["-m MAP -m ndcg@5"]),
        (["evaluate", "-m", "P@1", "MAP", "Q", "R"], ["-m MAP"]),
        (["compare", "Q", "R", "-m", "P@1", "MRR@5"], ["MRR@5 is a measure", "-m MRR@5"]),
        (["explain", "Q", "R", "MAP"], ["neither a file nor a query", "-m MAP"]),
        (["check", "Q", "R", "P"], ["P is a measure"]),
    ],
)
def test_a_measure_in_the_place_of_a_file(
    files: list[str], arguments: list[str], messages: list[str]
) -> None:
    places = dict(zip("QR", files, strict=True))
    outcome = invoke(*(places.get(argument, argument) for argument in arguments))
    assert outcome.exit_code == 2
    for message in messages:
        assert message in outcome.stderr


def test_a_query_that_is_missing_is_no_measure(files: list[str]) -> None:
    outcome = invoke("explain", *files, "q3")
    assert "neither a file nor a query" in outcome.stderr
    assert "-m" not in outcome.stderr
    assert "is a measure" not in invoke("evaluate", *files, "p5").stderr


def test_queries_that_are_numbers_are_counted_where_people_read() -> None:
    qrels: Any = {i: {"a": 1} for i in (10, 2, 1)}
    scores = cranfield.evaluate(qrels, {i: ["a"] for i in (10, 2, 1)}, "RR")
    [table] = scores.tables(per_query=True)
    assert [row[1] for row in table.rows] == ["1", "2", "10", "all"]
    assert [row["query_id"] for row in scores.rows(per_query=True)] == ["1", "10", "2", "all"]
    assert scores.to_arrow()["query_id"].to_pylist() == ["1", "10", "2"] == [*scores.query_ids]
    mixed = cranfield.evaluate({**qrels, "x": {"a": 1}}, {"x": ["a"]}, "RR")
    assert [row[1] for row in mixed.tables(per_query=True)[0].rows] == ["1", "10", "2", "x", "all"]
    mean = cranfield.explain(qrels, {i: ["a"] for i in (10, 2, 1)}, "RR")
    assert isinstance(mean, cranfield.MeanExplanation)
    assert [part.query_id for part in mean.queries] == ["1", "2", "10"]


WHOLE_LIST_NAMES = {
    "SetP": "precision Precision PRECISION",
    "SetF": "f1 F1 f_measure f-score FScore",
    "SetF(beta=2)": "F2 f2 F1(beta=2)",
    "SetF(beta=0.5)": "F0.5",
    "SetP(rel=2)": "precision(rel=2) Precision-l2",
    "Success": "hit_rate HitRate hitrate hit hit_ratio HR Success success",
}


@pytest.mark.parametrize(
    ("name", "text"),
    [(name, text) for text, names in WHOLE_LIST_NAMES.items() for name in names.split()],
)
def test_names_without_a_cutoff_are_of_the_whole_list(name: str, text: str) -> None:
    measure = parse(name)
    assert measure == parse(text)
    assert measure.cutoff is None


def test_names_with_a_cutoff_are_cut_and_recall_has_its_cutoffs() -> None:
    assert [parse(name) for name in ("precision@5", "Precision5", "f1@5", "hit_rate@5")] == [
        P @ 5,
        P @ 5,
        F @ 5,
        Success @ 5,
    ]
    assert parse_all("recall")[0] == R @ 5


def test_values_of_the_whole_list() -> None:
    truth, ranking = {"a": 1, "b": 2, "c": 1}, ["x", "a", "y", "b"]
    judged, run = {"q1": truth, "q2": {"a": 1}}, {"q1": ranking, "q2": ["x"]}
    scores = evaluate(judged, run, "precision f1 hit_rate")
    precision, recall = 2 / 4, 2 / 3
    assert scores["precision"] == scores["SetP"] == precision / 2
    assert scores["f1"] == pytest.approx(
        2 * precision * recall / (precision + recall) / 2, abs=1e-15
    )
    assert scores["hit_rate"] == scores["Success"] == 1 / 2
