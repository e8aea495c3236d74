"""cranfield as a provider of ir_measures 0.4.3, against the providers that ir_measures has.

PyTerrier's Experiment asks ir_measures; scripts/adapters.py tries it.
"""

import doctest
import math
import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import ir_measures
import pandas as pd
import pytest
from helpers.folders import DOCS
from helpers.profile import seeds
from ir_measures import Qrel, ScoredDoc, parse_measure
from ir_measures.measures import registry

from cranfield import evaluate
from cranfield.adapters.ir_measures import provider
from cranfield.errors import DuplicateError, MeasureError, OptionError
from cranfield.extensions.tools.adapters import ir_measures as adapter

SAME_MEASURES = """
AP AP@5 AP(rel=2) AP(rel=2)@5 AP(judged_only=True) AP(judged_only=True)@5 Bpref Bpref(rel=2)
IPrec@0.1 IPrec@0.7 IPrec(rel=2)@0.1 IPrec(rel=2)@0.5 IPrec(judged_only=True)@0.5 Judged@5 Judged
nDCG nDCG@5 nDCG(judged_only=True)@5 nDCG(gains={1:1,2:3,3:8})@5
NumRet NumRet(rel=1) P@5 P(rel=2)@5 P(judged_only=True)@5
R@5 R(rel=2)@5 RR@5 RBP(rel=1) RBP(p=0.5,rel=2) Rprec Rprec(judged_only=True) RR RR(rel=2)
SetP SetP(relative=True) SetR SetF SetAP Success@1 Success(rel=2)@5
BPM(max_rel=4)@5 SDCG(max_rel=4)@5 NERR8(max_rel=4)@5 NERR9(max_rel=4)@5 NERR10(max_rel=4)
NERR11(max_rel=4) INST(max_rel=4) INSQ(max_rel=4,T=2.0) infAP
"""
SUBTOPICS = """
alpha_DCG@5 alpha_nDCG@5 alpha_nDCG(alpha=0.2)@10 ERR_IA@5 nERR_IA@5 NRBP nNRBP AP_IA P_IA@5
StRecall@5
"""
ROUNDED_MEASURES = (
    "ERR@5 ERR@10 nDCG(dcg='exp-log2')@5"  # by gdeval, to five digits; grades up to 4
)
# Of these, cranfield's number may be another one, on purpose: docs/how-to/adapters.md says why.
DIFFERENT_MEASURES = "Compat NumQ NumRel SetF(beta=2.0) Accuracy RBP"


def parse_measures(text: str) -> list[Any]:
    return [parse_measure(name) for name in text.split()]


def make_collection(seed: int) -> tuple[list[Qrel], list[ScoredDoc]]:
    """Return judgments of 8 queries and a run of 7 of them and one more; scores differ."""
    chance = random.Random(seed)
    qrels, run = [], []
    for query in range(9):
        docs = [f"d{i}" for i in range(30)]
        if query < 8:
            judged_docs = chance.sample(docs, 12)
            qrels += [
                Qrel(str(query), doc, chance.choice([0, 0, 1, 2, 3, 4])) for doc in judged_docs
            ]
        if query > 0:
            retrieved_docs = chance.sample(docs, chance.choice([3, 10, 20]))
            run += [ScoredDoc(str(query), doc, 99.5 - i) for i, doc in enumerate(retrieved_docs)]
    return qrels, run


def make_frame(rows: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(rows).assign(title="of no matter")


def make_frame_without_iteration(rows: list[Any]) -> pd.DataFrame:
    return make_frame(rows).drop(columns="iteration", errors="ignore")


def nest_rows(rows: list[Any]) -> dict[str, dict[str, Any]]:
    number_of_doc: dict[str, dict[str, Any]] = {}
    for query, doc, number, *_ in rows:
        number_of_doc.setdefault(query, {})[doc] = number
    return number_of_doc


FORMS: dict[str, Any] = {
    "rows": iter,
    "list": list,
    "frames": make_frame,
    "frames without iteration": make_frame_without_iteration,
    "dicts": nest_rows,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_the_other_providers(seed: int, form: str) -> None:
    qrels, run = make_collection(seed)
    ir_measures_asked = parse_measures(SAME_MEASURES)
    ours = provider.calc(ir_measures_asked, FORMS[form](qrels), FORMS[form](run))
    own_values = {(metric.query_id, metric.measure): metric.value for metric in ours.per_query}
    values: dict[Any, float] = {}
    for (
        measure
    ) in ir_measures_asked:  # one by one: asked together, some of theirs become another's value
        theirs = ir_measures.calc([measure], qrels, run)
        values |= {(metric.query_id, metric.measure): metric.value for metric in theirs.per_query}
        assert ours.aggregated[measure] == pytest.approx(theirs.aggregated[measure], rel=1e-9)
    assert own_values == pytest.approx(values, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_subtopics(seed: int) -> None:
    chance = random.Random(seed)
    qrels, run = make_collection(seed)
    qrels_of_subtopics = [
        qrel._replace(iteration=topic) for qrel in qrels for topic in chance.sample("abc", 2)
    ]
    subtopic_measures = parse_measures(SUBTOPICS)
    theirs = {
        measure: ir_measures.calc_aggregate([measure], qrels_of_subtopics, run)[measure]
        for measure in subtopic_measures
    }
    ours = provider.calc_aggregate(subtopic_measures, qrels_of_subtopics, run)
    assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_subtopics_without_iteration(seed: int) -> None:
    qrels, run = (make_frame_without_iteration(rows) for rows in make_collection(seed))
    for measure in parse_measures(SUBTOPICS):
        theirs = ir_measures.calc_aggregate([measure], qrels, run)
        assert provider.calc_aggregate([measure], qrels, run) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_convention_is_the_tool(seed: int) -> None:
    """Interpolated precision with many relevant documents, and F, whose beta is a square there."""
    chance = random.Random(seed)
    docs = [f"d{i}" for i in range(60)]
    qrels = {"q": dict.fromkeys(chance.sample(docs, chance.randint(1, 40)), 1)}
    run = {"q": {doc: 99.5 - i for i, doc in enumerate(chance.sample(docs, 30))}}
    recalls = [f"IPrec@{i / 10:.1f}" for i in range(11)]
    names = [*recalls, "SetF", "SetF(beta=0.5)", "SetF(beta=2.0)", "SetF(beta=4.0)"]
    for name in names:
        theirs = ir_measures.calc_aggregate([parse_measure(name)], qrels, run)
        scores = evaluate(qrels, run, name, convention="ir_measures")
        assert scores[name] == pytest.approx(theirs[parse_measure(name)], rel=1e-9), name
    for name in recalls:
        theirs, ours = (
            provider.calc_aggregate([parse_measure(name)], qrels, run)
            for provider in (ir_measures, adapter.provider)
        )
        assert ours == pytest.approx(theirs, rel=1e-9)


TIED_QRELS = [Qrel("1", "a", 1, "s1"), Qrel("1", "b", 0, "s1"), Qrel("1", "z", 1, "s2")]
TIED_RUN = [ScoredDoc("1", doc, 1.0) for doc in "abc"]


def calculate(text: str, provider_module: Any, qrels: Any, run: Any) -> float:
    measure = parse_measure(text)
    value: float = provider_module.calc_aggregate([measure], qrels, run)[measure]
    return value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("P_IA@1", 1 / 2),  # a, of one of two subtopics, and not c
        ("StRecall@1", 1 / 2),
        ("AP_IA", 1 / 2),
        ("alpha_nDCG@5", 1 / (1 + 1 / math.log2(3))),
    ],
)
def test_equal_scores_in_measures_of_subtopics(name: str, value: float) -> None:
    """They are ranked as by pyndeval, and by every other measure the other way round."""
    for provider_module in (ir_measures, provider, adapter.CranfieldProvider()):
        assert calculate(name, provider_module, TIED_QRELS, TIED_RUN) == pytest.approx(value)
    assert calculate("RR", provider, TIED_QRELS, TIED_RUN) == 1 / 3


@pytest.mark.parametrize(
    ("name", "theirs", "ours"),
    [("RBP(p=0.5,rel=1)", 1 - 0.5, (1 - 0.5) * 0.5**2), ("Accuracy", 1, 0)],
)
def test_equal_scores_in_measures_of_other_tools(name: str, theirs: float, ours: float) -> None:
    """As docs/how-to/adapters.md says: as given there, in reverse order of the ids here."""
    values = [calculate(name, tool, TIED_QRELS, TIED_RUN) for tool in (ir_measures, provider)]
    assert values == pytest.approx([theirs, ours])


# ---- ir_measures' own numbers --------------------------------------------------------------------

OWN_NUMBERS = adapter.CranfieldProvider(convention="ir_measures")
RECALLS = " ".join(f"IPrec@{i / 10} IPrec(rel=2)@{i / 10}" for i in range(11))
MORE_MEASURES = """
NumQ NumRel RR@20 Judged@20 Accuracy Accuracy@5 Compat(p=0.8) SetF(beta=2.0)
SetF(beta=0.5) SetF(rel=2,beta=3.0) RR(judged_only=True) ERR@20
"""
LEFT_TO_OTHERS = {"Accuracy", "Compat"}


def make_tied_collection(seed: int) -> tuple[list[Qrel], list[Qrel], list[ScoredDoc]]:
    """Return judgments, the same by subtopics, and a run: 1 to 30 relevant documents, with ties.

    One query has no results, and one no judgments.
    """
    chance = random.Random(seed)
    docs = [f"d{i}" for i in range(40)]
    qrels: list[Qrel] = []
    qrels_of_subtopics: list[Qrel] = []
    run: list[ScoredDoc] = []
    for i, query in enumerate(f"{seed}0{digit}" for digit in range(4)):  # gdeval takes numbers
        if i != 2:
            relevant_docs = chance.sample(docs, chance.randint(1, 30))
            other_docs = {doc for doc in docs if chance.random() < 0.5} - {*relevant_docs}
            for doc in chance.sample(docs, len(docs)):
                grade = chance.randint(1, 4) if doc in relevant_docs else 0
                if doc in relevant_docs or doc in other_docs:
                    qrels.append(Qrel(query, doc, grade))
                    topics = chance.sample("abc", chance.randint(1, 2))
                    qrels_of_subtopics += [Qrel(query, doc, grade, topic) for topic in topics]
        if i != 3:
            highest_score = chance.choice([0, 2, 8, 50])
            retrieved_docs = chance.sample(docs, chance.choice([1, 3, 10, 25, 40]))
            scores = [float(chance.randint(0, highest_score)) for _ in retrieved_docs]
            run += map(ScoredDoc, [query] * len(scores), retrieved_docs, scores)
    return qrels, qrels_of_subtopics, run


@pytest.mark.parametrize("batch", seeds(14))
def test_its_own_numbers_with_ties(batch: int) -> None:
    """50 collections side by side, 700 in all; ir_measures is asked one by one: see above."""
    collections = [make_tied_collection(seed) for seed in range(50 * batch, 50 * batch + 50)]
    qrels, qrels_of_subtopics, run = (
        [row for rows in parts for row in rows] for parts in zip(*collections, strict=True)
    )
    plain_names = f"{SAME_MEASURES} {RECALLS} {ROUNDED_MEASURES} {MORE_MEASURES}"
    for names, side in ((plain_names, 0), (SUBTOPICS, 1)):
        measures = parse_measures(names)
        own_measures = [measure for measure in measures if OWN_NUMBERS.supports(measure)]
        assert {measure.NAME for measure in {*measures} - {*own_measures}} <= LEFT_TO_OTHERS
        judgments = (qrels, qrels_of_subtopics)[side]
        results = OWN_NUMBERS.calc(own_measures, judgments, run)
        values_of_measure = defaultdict[str, dict[str, float]](dict)
        for row in results.per_query:
            values_of_measure[str(row.measure)][row.query_id] = row.value  # its == is slow
        for measure in own_measures:
            theirs = {
                row.query_id: row.value for row in ir_measures.iter_calc([measure], judgments, run)
            }
            decimals = 5 if measure.NAME == "ERR" or "dcg" in measure.params else 12
            own_values = values_of_measure[str(measure)]
            assert own_values == pytest.approx(theirs, rel=1e-9, abs=0.51 * 10**-decimals), measure


def test_its_own_numbers_over_all_queries(default_pipeline: list[Any]) -> None:
    """The whole pipeline, with measures that are left to others, gives the same table.

    Accuracy is left out: ir_measures has another mean of it when it is asked for others, too.
    """
    measures = parse_measures(f"{SAME_MEASURES} {RECALLS} {MORE_MEASURES}")
    measures = [measure for measure in measures if measure.NAME != "Accuracy"]
    for seed in range(5):
        qrels, _, run = make_tied_collection(seed)
        theirs = {
            measure: ir_measures.calc_aggregate([measure], qrels, run)[measure]
            for measure in measures
        }
        default_pipeline.insert(0, OWN_NUMBERS)
        ours = ir_measures.calc_aggregate(measures, qrels, run)
        default_pipeline.remove(OWN_NUMBERS)
        for measure, value in ours.items():
            margin = 1e-5 if measure.NAME == "ERR" else 1e-12
            assert value == pytest.approx(theirs[measure], rel=1e-9, abs=margin), measure


def test_what_the_convention_lacks_is_refused() -> None:
    for name, reason in (("Compat", "no such measure"), ("Accuracy", "leaves out queries")):
        assert not OWN_NUMBERS.supports(parse_measure(name))
        with pytest.raises(MeasureError, match=reason):
            calculate(name, OWN_NUMBERS, TIED_QRELS, TIED_RUN)
    with pytest.raises(OptionError, match="Did you mean 'ir_measures'"):
        adapter.CranfieldProvider(convention="ir-measure").supports(ir_measures.AP)


@pytest.mark.parametrize("seed", range(3))
def test_gdeval(seed: int) -> None:
    qrels, run = make_collection(seed)
    qrels.append(Qrel("1", "d99", 4))
    gdeval_measures = parse_measures(ROUNDED_MEASURES)
    theirs, ours = (
        provider_module.calc(gdeval_measures, qrels, run)
        for provider_module in (ir_measures, provider)
    )
    values, own_values = (
        {(metric.query_id, metric.measure): metric.value for metric in results.per_query}
        for results in (theirs, ours)
    )
    assert own_values == pytest.approx(values, abs=5e-6 + 1e-12)


def test_every_measure_is_compared_or_named() -> None:
    named_measures = parse_measures(
        " ".join((SAME_MEASURES, SUBTOPICS, ROUNDED_MEASURES, DIFFERENT_MEASURES))
    )
    assert {measure.NAME for measure in registry.values()} == {one.NAME for one in named_measures}
    assert all(map(provider.supports, named_measures[:-1]))


def test_of_equal_scores_the_higher_id_is_first() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    measure = parse_measure("RR@5")
    assert ir_measures.calc_aggregate([measure], qrels, run)[measure] == 1
    assert provider.calc_aggregate([measure], qrels, run)[measure] == 1 / 2


def test_a_query_without_results_is_counted() -> None:
    """There it is no query, and has no relevant document; nor an accuracy."""
    qrels, run = {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 1}}, {"1": {"a": 1.0, "b": 0.5}}
    for name, theirs, ours in (("NumQ", 1, 2), ("NumRel", 1, 3), ("Accuracy", 1, 1 / 2)):
        measure = parse_measure(name)
        assert ir_measures.calc_aggregate([measure], qrels, run)[measure] == theirs
        assert provider.calc_aggregate([measure], qrels, run)[measure] == ours


def test_the_beta_of_set_f_is_squared() -> None:
    """As in van Rijsbergen's F: (1 + b^2) P R / (b^2 P + R)."""
    qrels, run = {"1": {"a": 1, "b": 1, "c": 1, "d": 1}}, {"1": {"a": 1.0}}
    measure, p, r = parse_measure("SetF(beta=2.0)"), 1, 1 / 4
    by_2, by_4 = ((1 + beta) * p * r / (beta * p + r) for beta in (2, 4))
    assert ir_measures.calc_aggregate([measure], qrels, run)[measure] == pytest.approx(by_2)
    assert provider.calc_aggregate([measure], qrels, run)[measure] == pytest.approx(by_4)


def test_compatibility_looks_at_1000_ranks() -> None:
    """There at as many as the longer of ranking and ideal has."""
    qrels, run = {"1": {"a": 1, "b": 1}}, {"1": {"x": 1.0, "a": 0.5}}
    measure = parse_measure("Compat(p=0.5)")
    weights = [0.5**i / (i + 1) for i in range(1000)]

    def ratio(depth: int) -> float:
        """Return the value of a ranking that agrees on 0, 1, 1, ... with an ideal of 1, 2, ..."""
        return sum(weights[1:depth]) / (weights[0] + 2 * sum(weights[1:depth]))

    assert ir_measures.calc_aggregate([measure], qrels, run)[measure] == pytest.approx(ratio(2))
    assert provider.calc_aggregate([measure], qrels, run)[measure] == pytest.approx(ratio(1000))


def test_expected_reciprocal_rank_goes_up_to_the_highest_grade_of_the_judgments() -> None:
    measure = parse_measure("ERR@5")
    aggregates = provider.calc_aggregate([measure], {"q": {"a": 2, "b": 3}}, {"q": {"a": 1.0}})
    assert aggregates[measure] == (2**2 - 1) / 2**3


def test_a_run_of_nothing_has_the_values_of_queries_without_results() -> None:
    zero_measures = parse_measures("AP NumRet")
    empty_runs: list[Any] = [
        {},
        [],
        iter([]),
        pd.DataFrame(columns=["query_id", "doc_id", "score"]),
    ]
    for empty_run in empty_runs:
        assert provider.calc_aggregate(zero_measures, {"q": {"a": 1}}, empty_run) == dict.fromkeys(
            zero_measures, 0
        )


def test_what_cranfield_lacks_is_left_to_others() -> None:
    foreign_measure = ir_measures.define_byquery(lambda qrels, run: 7.0, name="AP")
    graded_rbp = parse_measure("RBP(p=0.8)")  # ir_measures takes it for one of grades
    assert not provider.supports(foreign_measure)
    assert not provider.supports(graded_rbp)
    with pytest.raises(MeasureError, match="rel=1"):
        provider.calc_aggregate([graded_rbp], {"q": {"a": 1}}, {"q": {"a": 1.0}})


def test_a_document_twice_is_refused() -> None:
    duplicate_rows = [ScoredDoc("q", "a", 1.0), ScoredDoc("q", "a", 0.5)]
    with pytest.raises(DuplicateError):
        provider.calc_aggregate([ir_measures.AP], {"q": {"a": 1}}, duplicate_rows)


@pytest.fixture
def default_pipeline() -> Iterator[list[Any]]:
    providers = ir_measures.DefaultPipeline.providers
    providers_before = [*providers]
    yield providers
    providers[:] = providers_before


def test_the_default_pipeline_takes_it(default_pipeline: list[Any]) -> None:
    assert ir_measures.providers.registry["cranfield"] is provider
    default_pipeline.insert(0, provider)
    foreign_measure = ir_measures.define_byquery(lambda qrels, run: 7.0, name="Seven")
    measures = [parse_measure("RR@5"), foreign_measure]
    frame = pd.DataFrame({"query_id": ["q"] * 2, "doc_id": ["a", "b"], "score": [1.0, 1.0]})
    judgments = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [1]})
    assert ir_measures.calc_aggregate(measures, judgments, frame) == dict(
        zip(measures, (1 / 2, 7), strict=True)
    )
    assert math.isclose(ir_measures.nDCG.calc_aggregate(judgments, frame), 1 / math.log2(3))


def test_the_example_runs(default_pipeline: list[Any]) -> None:
    assert doctest.testmod(adapter).failed == 0


def test_the_page_runs(default_pipeline: list[Any]) -> None:
    page = (DOCS / "how-to" / "adapters.md").read_text("utf-8")
    section = page.partition("\n## ir_measures\n")[2].partition("\n## ")[0]
    names: dict[str, Any] = {"qrels": {"q1": {"csv": 1}, "q2": {"argparse": 2}}}
    for block in section.split("```python\n")[1:]:
        exec(block.partition("```")[0], names)  # noqa: S102 - our own page
    assert default_pipeline[1] is provider
    assert not default_pipeline[0].supports(parse_measure("Compat"))
