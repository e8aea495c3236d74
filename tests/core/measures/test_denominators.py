"""What P, R, AP, RR and nDCG are divided by in other tools: loops, and these tools' own numbers."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers import oracle

from cranfield import AP, RR, Measure, MeasureError, P, R, evaluate, explain, nDCG, parse

Grades = Mapping[str, int]


# ---- by the definitions ----------------------------------------------------------------------


def relevant(grades: Grades, documents: Sequence[str]) -> list[bool]:
    return [grades.get(doc, 0) > 0 for doc in documents]


def precision(grades: Grades, ranking: Sequence[str], i: int) -> float:
    return sum(relevant(grades, ranking[:i])) / i


def quotient(above: float, below: float) -> float:
    return above / below if below else 0.0


def compute_expected(grades: Grades, ranking: Sequence[str], k: int) -> dict[str, float]:
    """Return what each measure is, for one query: n documents retrieved, R relevant."""
    n, R_ = len(ranking), sum(relevant(grades, list(grades)))
    hits = [
        rank for rank, is_relevant in enumerate(relevant(grades, ranking[:k]), 1) if is_relevant
    ]
    precisions = sum(precision(grades, ranking, rank) for rank in hits)
    gains = [grades.get(doc, 0) for doc in ranking[:k]]
    best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    dcg, ideal = (
        sum(max(gain, 0) / math.log2(i + 1) for i, gain in enumerate(row, 1))
        for row in (gains, best)
    )
    return {
        f"P(over='returned')@{k}": quotient(len(hits), min(k, n)),
        f"R(over='reachable')@{k}": quotient(len(hits), min(R_, k)),
        f"RelP@{k}": quotient(len(hits), min(R_, k)),
        f"R(over='retrieved')@{k}": quotient(len(hits), sum(relevant(grades, ranking))),
        f"AP(over='reachable')@{k}": quotient(precisions, min(R_, k)),
        f"AP(over='returned')@{k}": quotient(precisions, min(R_, n, k)),
        f"AP(over='cutoff')@{k}": precisions / k,
        f"AP(over='retrieved')@{k}": quotient(precisions, len(hits)),
        f"RR(over='hits')@{k}": quotient(sum(1 / rank for rank in hits), len(hits)),
        f"MeanP@{k}": sum(precision(grades, ranking, i) for i in range(1, k + 1)) / k,
        f"nDCG(ideal='uncut')@{k}": quotient(dcg, ideal),
        f"IDCG(ideal='uncut')@{k}": ideal,
    }


@pytest.mark.parametrize("seed", range(30))
def test_what_is_divided_by_is_as_defined(seed: int) -> None:
    qrels, run = oracle.make_collection(seed)
    cutoffs = (1, 2, 3, 5, 20, 100)
    measures = [name for k in cutoffs for name in compute_expected({}, [], k)]
    scores = evaluate(qrels, run, measures)  # the cutoffs of a measure in one pass
    for query, grades in qrels.items():
        given = run.get(query, {})
        ranking = sorted(given, key=lambda doc: (given[doc], doc.encode()), reverse=True)
        for k in cutoffs:
            for name, value in compute_expected(grades, ranking, k).items():
                found = scores.per_query(name)[query]
                assert found == pytest.approx(value, rel=1e-11, abs=1e-14), (name, query)


def test_without_a_cutoff() -> None:
    truth, ranking = {"a": 1, "b": 1, "c": 1}, ["a", "x"]
    assert AP(over="returned")(truth, ranking) == (1 / 1) / 2
    assert AP(over="reachable")(truth, ranking) == (1 / 1) / 3
    assert RR(over="hits")(truth, ["a", "x", "b"]) == (1 / 1 + 1 / 3) / 2
    assert nDCG(ideal="uncut")(truth, ranking) == nDCG(truth, ranking)
    scores = evaluate({"q": truth}, {"q": ranking}, "AP(over='returned') AP(over='returned')@1")
    assert scores.means() == {"AP(over='returned')": 1 / 2, "AP(over='returned')@1": 1 / 1}


def test_0_where_there_is_nothing_to_divide_by() -> None:
    for name in compute_expected({}, [], 5):
        for truth, ranking in (({"a": 0}, ["a"]), ({"a": 1}, []), ({"a": 1}, ["x"])):
            if not name.startswith("IDCG"):
                assert parse(name)(truth, ranking) == 0, name


# ---- what goes with it -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("AP(over='cutoff')", r"needs a cutoff: AP\(over='cutoff'\)@10"),
        ("P(over='judged')@5", "'cutoff' or 'returned'"),
        ("R(over='cutoff')@5", "'judged', 'reachable' or 'retrieved'"),
        ("RR(over='all')", "'first' or 'hits'"),
        ("nDCG(ideal='cut')@5", "'judged', 'uncut', 'returned', 'retrieved' or 'top'"),
        ("nDCG(ideal='uncut', discount='linear')@5", "leave one of them out"),
        ("MeanP", "needs a cutoff: MeanP@10"),
        ("MeanP@2000000", "at most 1,000,000 ranks"),
    ],
)
def test_what_has_no_meaning_is_refused(text: str, problem: str) -> None:
    with pytest.raises(MeasureError, match=problem):
        evaluate({"q": {"a": 1}}, {"q": ["a"]}, text)


def test_they_are_written_as_people_type_them() -> None:
    assert parse("p(over=returned)@5") == P(over="returned") @ 5
    assert parse("Recall(over=reachable)@5") == R(over="reachable") @ 5
    assert parse("map(over='Cutoff')@5") == AP(over="cutoff") @ 5
    assert parse("granular_mrr@5") == RR(over="hits") @ 5
    assert parse("ndcg(ideal=uncut)@5") == nDCG(ideal="uncut") @ 5
    for text in ("P(over='returned')@5", "RR(over='hits')", "R(over='reachable', rel=2)@5"):
        assert str(parse(text)) == text


def test_equal_scores_of_which_a_depth_keeps_some() -> None:
    """What was retrieved depends on the order of the equal ones, of which one is kept."""
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}
    for ties in ("expected", "best", "worst"):
        options: Any = {"ties": ties, "depth": 1}
        with pytest.raises(MeasureError, match="depth"):
            evaluate(qrels, run, "R(over='retrieved')@1", **options)
    scores = evaluate(qrels, run, "R(over='retrieved')@1", ties="expected")
    assert scores.means() == {"R(over='retrieved')@1": 1 / 2}


def test_bounds_that_are_proved_and_those_that_were_only_reached() -> None:
    exact_names = (
        "AP(over='reachable')@9",
        "AP(over='returned')@9",
        "AP(over='cutoff')@9",
        "MeanP@9",
    )
    attained_names = ("AP(over='retrieved')@9", "R(over='retrieved')@9", "RR(over='hits')@9")
    assert {parse(name).bounds for name in exact_names} == {"split", "retrieved", "extremes"}
    assert {parse(name).bounds for name in attained_names} == {"attained"}
    assert parse("nDCG(ideal='uncut')@9").bounds == "attained"


def test_why_a_perfect_ranking_may_have_less_than_1() -> None:
    """With 3 relevant documents of which all were found first."""
    truth = {"a": 1, "b": 1, "c": 1}
    for text in (
        compute_expected({}, [], 2) | compute_expected({}, [], 5) | {"AP@2": 0.0, "R@2": 0.0}
    ):
        measure: Measure = parse(text)
        if not text.startswith("IDCG"):
            has_1 = measure(truth, ["a", "b", "c"]) == pytest.approx(1)
            assert has_1 or measure.imperfect, text
    assert not (AP(over="reachable") @ 2).imperfect
    assert not (R(over="reachable") @ 2).imperfect
    assert (AP @ 2).imperfect


def test_explain_says_what_is_divided_by() -> None:
    qrels, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": ["a", "x", "b", "y"]}
    texts = {
        "P(over='returned')@5": "A / min(5, B) = 2 / min(5, 4)",
        "R(over='retrieved')@2": "A / B = 1 / 2",
        "R(over='reachable')@2": "A / min(2, B) = 1 / min(2, 3)",
        "RR(over='hits')": "A / B = ",
        "AP(over='cutoff')@3": "A / 3 = ",
    }
    for text, formula in texts.items():
        page = str(explain(qrels, run, text, "q"))
        assert formula in page, text
    page = str(explain(qrels, run, "MeanP@3", "q"))
    assert "above = (sum of 1 / i, i = 1 to rank - 1)" in page


# ---- tools -----------------------------------------------------------------------------------


Population = Callable[[Any, Any], list[str]]
POPULATIONS: dict[str, Population] = {
    "judged": lambda qrels, lists: list(qrels),
    "relevant": lambda qrels, lists: [q for q in qrels if any(g > 0 for g in qrels[q].values())],
    "relevant, in the run": lambda qrels, lists: [
        q for q in POPULATIONS["relevant"](qrels, lists) if q in lists
    ],
    "relevant, with documents": lambda qrels, lists: [
        q for q in POPULATIONS["relevant"](qrels, lists) if lists.get(q)
    ],
}
BINARY = "gain='binary'"
DISTINCT = ("odd", "graded", "negative")  # without equal scores, without duplicates
# (tool, its queries, its name of a number, what it is here, the collections)
TOOLS: list[tuple[str, str, str, str, tuple[str, ...]]] = [
    ("lenskit", "relevant, in the run", "P@5", "P(over='returned')@5", DISTINCT),
    ("lenskit", "relevant, in the run", "R@5", "R(over='reachable')@5", DISTINCT),
    ("lenskit", "relevant, in the run", "AP@5", "AP(over='returned')@5", DISTINCT),
    ("replay", "relevant", "AP@5", "AP(over='reachable')@5", DISTINCT),
    ("sentence-transformers", "relevant", "AP@5", "AP(over='reachable')@5", DISTINCT),
    ("rectools", "relevant", "AP_div_k@5", "AP(over='cutoff')@5", DISTINCT),
    ("rectools", "relevant", "AP@5", "AP@5", DISTINCT),
    ("recommenders", "relevant, with documents", "AP_at_k@5", "AP(over='reachable')@5", DISTINCT),
    ("haystack (top5)", "judged", "nDCG@5", "nDCG(ideal='uncut')@5", DISTINCT),
    (
        "haystack (top5)",
        "judged",
        "nDCG_binary@5",
        f"nDCG({BINARY}, ideal='uncut')@5",
        DISTINCT,
    ),
]
LLAMA = "llamaindex (top5, mean of non-errors)"
TOOLS += [
    (LLAMA, "relevant, with documents", "nDCG@5", f"nDCG({BINARY}, ideal='uncut')@5", DISTINCT),
    (LLAMA, "relevant, with documents", "P@5", "P(over='returned')@5", DISTINCT),
    ("llamaindex granular", "relevant, with documents", "RR@5", "RR(over='hits')@5", DISTINCT),
]
# Of a list with a document twice: each of its ranks counts.
EACH = [
    ("lenskit", "AP@5", "AP(over='returned')@5"),
    ("lenskit", "P@5", "P(over='returned')@5"),
    ("lenskit", "R@5", "R(over='reachable')@5"),
    ("lenskit", "nDCG@5", f"nDCG({BINARY}, discount='jk')@5"),
    ("replay", "AP@5", "AP(over='reachable')@5"),
    ("replay", "nDCG@5", f"nDCG({BINARY})@5"),
    (LLAMA, "AP@5", "AP@5"),
    (LLAMA, "nDCG@5", f"nDCG({BINARY}, ideal='uncut')@5"),
    ("llamaindex granular", "RR@5", "RR(over='hits')@5"),
    ("llamaindex granular", "Hit@5", "R@5"),
    ("rectools", "AP_div_k@5", "AP(over='cutoff')@5"),
    ("rectools", "nDCG@5", f"nDCG({BINARY}, ideal='top')@5"),
]


@pytest.mark.parametrize(("tool", "queries", "theirs", "ours", "collections"), TOOLS)
def test_the_numbers_of_tools(
    tool: str, queries: str, theirs: str, ours: str, collections: tuple[str, ...], data: Path
) -> None:
    vectors = json.loads((data / "conventions.json").read_text())
    for name in collections:
        collection, expected = vectors["collections"][name], vectors["tools"][tool][name][theirs]
        qrels = {
            q: collection["qrels"][q]
            for q in POPULATIONS[queries](collection["qrels"], collection["lists"])
        }
        value = evaluate(qrels, collection["lists"], [ours])[ours]
        assert value == pytest.approx(expected, abs=1e-9), name


@pytest.mark.parametrize(("tool", "theirs", "ours"), EACH)
def test_the_numbers_of_tools_that_count_a_document_twice(
    tool: str, theirs: str, ours: str, data: Path
) -> None:
    vectors = json.loads((data / "conventions.json").read_text())
    collection, expected = (
        vectors["collections"]["duplicates"],
        vectors["tools"][tool]["duplicates"],
    )
    value = evaluate(collection["qrels"], collection["lists"], [ours], duplicates="each")[ours]
    assert value == pytest.approx(expected[theirs], abs=1e-9)


def test_the_numbers_of_tools_that_take_sets(data: Path) -> None:
    vectors = json.loads((data / "conventions.json").read_text())
    collection, ours = vectors["collections"]["duplicates"], "P(over='returned')@5"
    value = evaluate(collection["qrels"], collection["lists"], [ours], duplicates="first")[ours]
    for tool in (LLAMA, "ragas id-based"):
        expected = vectors["tools"][tool]["duplicates"]["P@5"]
        assert value == pytest.approx(expected, abs=1e-9)


def test_rectools_judges_a_document_as_often_as_it_stands_in_the_list(data: Path) -> None:
    """Here by hand: each further time is a document of its own, of the same grade."""
    vectors = json.loads((data / "conventions.json").read_text())
    collection, expected = (
        vectors["collections"]["duplicates"],
        vectors["tools"]["rectools"]["duplicates"],
    )
    lists = {
        query: [f"{doc} {ranking[:i].count(doc)}" for i, doc in enumerate(ranking)]
        for query, ranking in collection["lists"].items()
    }
    qrels = {
        query: {
            f"{doc} {i}": grade
            for doc, grade in grades.items()
            for i in range(max(1, collection["lists"][query].count(doc)))
        }
        for query, grades in collection["qrels"].items()
    }
    ours = {
        "AP@5": "AP@5",
        "P@5": "P@5",
        "R@5": "R@5",
        "AP_div_k@5": "AP(over='cutoff')@5",
        "nDCG@5": f"nDCG({BINARY}, ideal='top')@5",
        "nDCG_achievable@5": f"nDCG({BINARY})@5",
    }
    scores = evaluate(qrels, lists, list(ours.values()))
    for theirs, text in ours.items():
        assert scores[text] == pytest.approx(expected[theirs], abs=1e-9), theirs
