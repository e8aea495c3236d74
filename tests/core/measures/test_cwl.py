"""C/W/L: every user model and every quantity, against slow loops and against other measures."""

import math
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers import oracle
from helpers.profile import seeds

import cranfield
from cranfield import CWL, MeasureError, definitions, evaluate, parse

MODELS = {
    "P": "@3",
    "RBP": "",
    "RBP(p=0)": "",
    "RBP(p=1)": "",
    "RR": "",
    "AP": "",
    "TrAP": "",
    "SDCG": "@4",
    "INSQ": "",
    "INSQ(T=0.3)": "",
    "INST": "",
    "INST(T=0.5)": "",
    "INST(T=2.5)": "",
    "IFT_C1": "",
    "IFT_C1(T=1, b1=0.5, R1=1e6)": "",
    "IFT_C2": "",
    "IFT_C2(A=1, b2=0.1, R2=10)": "",
    "IFT": "",
    "IFT(T=1, b1=0.5, R1=2, A=0.3, b2=0.8, R2=0)": "",
    "BPM": "@7",
    "BPM(T=0.7, K=3.5)": "",
    "BPM_dynamic": "@7",
    "BPM_dynamic(T=2, hb=0.5, hc=-1, med=0.25)": "@4",
    "NERR8": "@5",
    "NERR9": "@5",
    "NERR10": "",
    "NERR11": "",
    "NERR11(T=3)": "",
    "TBG": "",
    "TBG(h=3)": "",
    "U": "",
    "U(L=6)": "",
}
EVERY = [
    f"CWL({model!r}{quantity}{ending}, depth=20){takes_cutoff}"
    for model, takes_cutoff in MODELS.items()
    for quantity in ("", *(f", value={value!r}" for value in ("ETU", "EC", "ETC", "ED")))
    for ending in ("", ", gain='exp2'", ", unjudged=1")
]


def test_every_user_model_is_tried() -> None:
    documentation = next(
        definition for definition in definitions() if definition.name == "CWL"
    ).documentation
    paragraphs = documentation.split("The user models:\n\n")[1].split("\n\n")
    assert {text.split(":")[0].split("(")[0] for text in paragraphs} == {
        model.split("(")[0] for model in MODELS
    }


def test_every_model_and_quantity_equals_its_slow_loop_to_the_bit() -> None:
    measures = [parse(text) for text in EVERY]
    assert len(set(measures)) == len(MODELS) * 5 * 3
    for seed in seeds(8):
        qrels, run = oracle.make_collection(seed)
        top = max(grade for docs in qrels.values() for grade in docs.values())
        values = evaluate(qrels, run, measures).to_dict()
        for query, (ranking, grades) in oracle.grade_rankings(qrels, run).items():
            for measure in measures:
                k: Any = measure.cutoff and measure.cutoff.n_ranks  # type: ignore[union-attr] # a Depth
                expected = oracle.cwl(ranking, grades, k, **measure.parameters, top_grade=top)
                assert values[query][str(measure)] == expected, (measure, seed, query)


def test_precision_reciprocal_rank_and_average_precision_are_among_them() -> None:
    """With gains of 0 and 1, and every document within the depth."""
    binary = {grade: min(max(grade, 0), 1) for grade in range(-2, 4)}
    pairs = {
        f"CWL('P', gain={binary})@5": "P@5",
        f"CWL('RR', gain={binary})": "RR",
        f"CWL('TrAP', gain={binary})": "AP",
    }
    for seed in seeds(20):
        qrels, run = oracle.make_collection(seed)
        scores = evaluate(qrels, run, [*pairs, *pairs.values()])
        for ours, theirs in pairs.items():
            values, reference = scores.per_query(ours), scores.per_query(theirs)
            assert all(
                math.isclose(values[q], reference[q], rel_tol=1e-12, abs_tol=1e-15)
                for q in reference
            )


def test_what_is_not_said_of_a_model_is_its_default() -> None:
    assert CWL("INST") == CWL("INST(T=1)") == CWL("inst( t = 1.0 )") == CWL(model="INST", T=1)
    assert CWL("RBP", value="eu") == parse("CWL") == cranfield.CWL == CWL("RBP(p=0.9)")
    assert str(parse("CWL(INST(T=2), value=ETU)")) == "CWL('INST(T=2)', value='ETU')"
    assert parse("CWL(AP)") == CWL("AP")
    assert hash(CWL("BPM-dynamic") @ 3) == hash(CWL("BPM_dynamic(hb=1)") @ 3)


ELSEWHERE = {  # ir_measures' names, and cwl-eval's
    "SDCG(max_rel=3)@10": "CWL('SDCG', top=3)@10",
    "SDCG(dcg='log2', min_rel=0, max_rel=3)@10": "CWL('SDCG', top=3)@10",
    "INST(T=2.5, max_rel=3)": "CWL('INST(T=2.5)', top=3)",
    "INST": "CWL('INST')",
    "INSQ(T=0.5, max_rel=1)": "CWL('INSQ(T=0.5)', top=1)",
    "BPM(T=2.0, max_rel=4)@20": "CWL('BPM(T=2)', top=4)@20",
    "NERR8(max_rel=3)@5": "CWL('NERR8', top=3)@5",
    "NERR9(max_rel=3)@5": "CWL('NERR9', top=3)@5",
    "NERR10(p=0.8, max_rel=3)": "CWL('NERR10(p=0.8)', top=3)",
    "NERR11(T=3, max_rel=3)": "CWL('NERR11(T=3)', top=3)",
    "IFT(T=1, R2=2)": "CWL('IFT(T=1, R2=2)')",
    "IFT_C1(b1=0.5)": "CWL('IFT_C1(b1=0.5)')",
    "IFT_C2(A=0.5)": "CWL('IFT_C2(A=0.5)')",
    "TBG(h=100, value='ED')": "CWL('TBG(h=100)', value='ED')",
    "U(L=500)": "CWL('U(L=500)')",
    "TrAP": "CWL('TrAP')",
}


@pytest.mark.parametrize(("text", "meant"), ELSEWHERE.items())
def test_names_of_other_tools(text: str, meant: str) -> None:
    assert str(parse(text)) == meant
    assert parse(meant) == parse(text)


REFUSED = {
    "CWL('P')": r"needs a cutoff: CWL\('P'\)@10",
    "BPM": r"needs a cutoff: CWL\('BPM'\)@10",
    "CWL('BPM(K=3)')@10": "does not stop after k",
    "INST@10": "does not stop after k documents, as those of P, SDCG, BPM",
    "CWL('XX')": "expected a user model, one of P, RBP",
    "CWL('INST(2)')": r"parameters as in INST\(T=1\)",
    "CWL('INST(x=2)')": "expected T as the parameters of INST, not 'x'",
    "CWL('RR(x=2)')": "expected nothing as the parameters of RR",
    "CWL('INST(T=0.2)')": r"T \(the gain that the user looks for\): a number from 0.5 up",
    "CWL(3)": "expected a string",
    "CWL('RR', 'EU')": "expected name=value",
    "CWL('RR', model='AP')": "expected name=value",
    "CWL('RR', value='XX')": "'EU', 'ETU', 'EC', 'ETC' or 'ED'",
    "CWL('RR', gain={1: 2})": "gains from 0 to 1",
    "CWL('RR', top=0)": "a whole number from 1 to 2,147,483,647",
    "CWL('RR', depth=0)": "a whole number from 1 to 1,000,000",
    "CWL('RR', depth=1e9)": "a whole number from 1 to 1,000,000",
    "CWL('RR', unjudged=2)": "a number from 0 to 1",
    "INST(min_rel=1, max_rel=3)": "min_rel is 0 here",
    "INST(zz=1)": "no parameter 'zz'",
    "CWL('" + "x" * 2000 + "')": "expected a string",
}


@pytest.mark.parametrize(("text", "problem"), REFUSED.items(), ids=[t[:30] for t in REFUSED])
def test_what_is_refused(text: str, problem: str) -> None:
    with pytest.raises(MeasureError, match=problem):
        parse(text)


def test_a_cutoff_below_the_depth_is_asked_for() -> None:
    with pytest.raises(MeasureError, match="write depth=2000"):
        parse("CWL('P')@2000")
    with pytest.raises(MeasureError, match="write depth=3"):
        (CWL("P", depth=2) @ "R")({"a": 1, "b": 1, "c": 2}, ["a"])
    assert (CWL("P", depth=2000) @ 2000)({"a": 1}, ["a"]) == pytest.approx(1 / 2000, rel=1e-12)


# ---- costs ----------------------------------------------------------------------------------

Rows = list[tuple[str, str, float, float]]


def with_costs(seed: int) -> tuple[oracle.Qrels, oracle.Run, dict[str, list[float]], Rows]:
    """Return judgments, a run, each query's costs by rank, and the run's rows with their costs."""
    qrels, run = oracle.make_collection(seed)
    run = {query: docs for query, docs in run.items() if docs}
    chance = random.Random(seed)
    cost = {q: {doc: chance.choice([0.5, 1, 3, 20.25]) for doc in docs} for q, docs in run.items()}
    rows = [(q, doc, score, cost[q][doc]) for q, docs in run.items() for doc, score in docs.items()]
    by_rank = {q: [cost[q][doc] for doc in oracle.rank_docs(docs)] for q, docs in run.items()}
    return qrels, run, by_rank, rows


SOME = [
    f"CWL({model!r}, value={value!r}, depth=20){takes_cutoff}"
    for model, takes_cutoff in MODELS.items()
    for value in ("EU", "ETU", "EC", "ETC", "ED")
]
HEADER = ("query_id", "doc_id", "score", "cost")


def read_as(form: str, rows: Rows, folder: Path) -> Any:
    """Return the rows as a run in some form."""
    if form == "rows":
        return cranfield.Run([dict(zip(HEADER, row, strict=True)) for row in rows])
    if form == "frame":
        return cranfield.Run(pa.table(dict(zip(HEADER, zip(*rows, strict=True), strict=True))))
    cranfield.Run([dict(zip(HEADER, row, strict=True)) for row in rows]).write(
        path := folder / f"run.{form}"
    )
    return str(path)


@pytest.mark.parametrize("form", ["rows", "frame", "csv", "tsv", "jsonl", "parquet", "arrow"])
def test_costs_count_in_the_order_of_the_ranking(form: str, tmp_path: Path) -> None:
    measures = [parse(text) for text in (SOME if form == "rows" else SOME[::7])]
    for seed in range(2):
        qrels, run, costs, rows = with_costs(seed)
        random.Random(seed).shuffle(rows)  # queries come back after others
        top = max(grade for docs in qrels.values() for grade in docs.values())
        values = evaluate(qrels, read_as(form, rows, tmp_path), measures).to_dict()
        for query, (ranking, grades) in oracle.grade_rankings(qrels, run).items():
            for measure in measures:
                k: Any = measure.cutoff and measure.cutoff.n_ranks  # type: ignore[union-attr] # a Depth
                kernel_options = {
                    **measure.parameters,
                    "top_grade": top,
                    "costs": costs.get(query, []),
                }
                expected = oracle.cwl(ranking, grades, k, **kernel_options)
                assert values[query][str(measure)] == expected, (measure, seed, query)


def test_costs_follow_what_is_left_of_a_ranking() -> None:
    rows = [("q", "a", 4, 10), ("q", "x", 3, 20), ("q", "b", 2, 40), ("q", "c", 1, 80)]
    run = cranfield.Run([dict(zip(HEADER, row, strict=True)) for row in rows])
    qrels = {"q": {"a": 0, "b": 1, "c": 0}, "other": {"a": 1}}

    def cost(**options: Any) -> Any:
        scores = evaluate(qrels, run, "CWL(P, value=ETC)@3", **options)
        return scores.per_query("CWL(P, value=ETC)@3")["q"]

    assert cost() == cost(queries="both") == 10 + 20 + 40
    assert cost(depth=2) == 10 + 20 + 1
    assert cost(judged_only=True) == 10 + 40 + 80
    assert cost(judged_only=True, depth=2) == 10 + 1 + 1
    assert cost(order="given") == 10 + 20 + 40


def test_a_depth_keeps_each_query_its_own_costs() -> None:
    rows = [("p", "a", 3, 1), ("p", "b", 2, 2), ("p", "c", 1, 4)]
    rows += [("q", "a", 3, 8), ("q", "b", 2, 16), ("q", "c", 1, 32)]
    run = cranfield.Run([dict(zip(HEADER, row, strict=True)) for row in rows])
    measure = "CWL(P, value=ETC)@2"
    cost_of_query = evaluate({"p": {"a": 1}, "q": {"a": 1}}, run, measure, depth=2).per_query(
        measure
    )
    assert cost_of_query == {"p": 1 + 2, "q": 8 + 16}


@pytest.mark.parametrize("cost", [0, -1, "inf", 1e300])
def test_a_cost_that_is_none_is_refused_where_it_is_asked_for(cost: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text(f"query_id,doc_id,score,cost\nq,a,2,1\nq,b,1,{cost}\n")
    with pytest.raises(cranfield.InputError, match=r"run.csv:3: expected a cost from"):
        evaluate({"q": {"a": 1}}, str(path), "CWL")
    assert evaluate({"q": {"a": 1}}, str(path), "P@1")["P@1"] == 1


def test_a_format_without_costs_says_so(tmp_path: Path) -> None:
    run = cranfield.Run([dict(zip(HEADER, ("q", "a", 2.0, 1.5), strict=True))])
    assert run.extra_roles == {"score", "cost"}
    assert "cost" in run.write(tmp_path / "a.run").lost_roles
    assert "cost" in run.write(tmp_path / "a.json").lost_roles
    assert "cost" not in run.write(tmp_path / "a.tsv").lost_roles
    assert (tmp_path / "a.tsv").read_text() == "query_id\tdoc_id\tscore\tcost\nq\ta\t2\t1.5\n"
    (tmp_path / "b.tsv").write_text("query_id\tdoc_id\tscore\nq2\ta\t1\n")
    with pytest.raises(cranfield.InputError, match="have costs, or none of them"):
        cranfield.read_run([tmp_path / "a.tsv", tmp_path / "b.tsv"]).to_dict()


def test_the_residual_is_what_the_unjudged_could_add() -> None:
    """As RBP's: all that is not judged, and what is beyond the end, down to the depth."""
    truth, ranking = {"a": 1, "b": 0}, ["a", "x", "b"]
    worst, best = (CWL("RBP(p=0.5)", depth=5, unjudged=gain)(truth, ranking) for gain in (0, 1))
    weights = 1 + 0.5 + 0.25 + 0.125 + 0.0625
    assert best - worst == pytest.approx((0.5 + 0.125 + 0.0625) / weights, rel=1e-15)
