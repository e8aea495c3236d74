"""Ties: the mean and the extremes over all orders of tied scores, against each of them."""

import contextlib
import itertools
import json
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.notes import codes, sentence
from helpers.profile import sample_cases, seeds
from helpers.variants import variants

import cranfield
from cranfield import (
    Measure,
    MeasureError,
    OptionError,
    Qrels,
    Run,
    definitions,
    evaluate,
    keywords,
    parse,
    read_run,
)
from cranfield.cli import cli
from cranfield.data.judge import judge
from cranfield.data.judging import Judging
from cranfield.formats.block import LARGEST_GRADE
from cranfield.measures import Plan
from cranfield.measures.parameters import Depth

Grades = dict[str, int]
Scores = dict[str, float]

BY_GRADE: list[Any] = ["best", "worst"]
MORE: list[Any] = ["expected", *BY_GRADE]
ALL: list[Any] = ["document", "ascending", *MORE]
OPTIONS: list[keywords.Judging] = [{}, {"depth": 2}, {"depth": 3}, {"judged_only": True}]
# Of each of these, some queries make a collection.
LEVELS = [(-2, -1, 0, 1, 2, 3), (0, 1), (0, 0, 1, 2), (0, 9, 10), (-1, 0, 1)]
SEEDS = seeds(60)

# Lower where documents of higher grades are first.
LOWEST_IS_BEST = {"Unjudged", "RBPResidual", "SearchLength", "EEL", "FallOut", "LastRel"}

# For these, some order is better than the one by grade, or worse than the reverse.
NOT_BY_GRADE = {
    "G": "what a document is worth depends on what the ideal ranking had gained by then",
    "infAP": "documents of the pool that nobody judged help those below them",
    "RelString": "a string",
    "P_measure": "its preferred rank is the first of the highest gain, wherever that is",
    "Pplus": "as P_measure",
    "NCU": "its users stop at relevant documents of any grade",
}
WITH_A_FORMULA = {
    *("P", "R", "F", "RelP", "Success", "Rprec", "RR", "AP", "DCG", "nDCG", "IDCG", "Judged"),
    "MeanP",
    *("AUC", "NumQ", "NumRet", "NumRel"),
}

NUMBERS = [definition.name for definition in definitions() if not definition.is_text]


def case(seed: int) -> tuple[Grades, Scores]:
    """Make a query: few scores, so that most are tied; unjudged and negative grades among all."""
    chance = random.Random(seed)
    scores: Scores = {}
    sizes = chance.choice([(1, 4), (2, 3, 1), (5,), (1, 1, 3), (3, 2)])
    for score, size in enumerate(reversed(sizes)):
        scores |= {f"d{len(scores) + i}": float(score) for i in range(size)}
    levels = LEVELS[seed % len(LEVELS)]
    grades = {doc: chance.choice(levels) for doc in scores if chance.random() < 0.75}
    grades |= {f"missed{i}": chance.choice(levels) for i in range(chance.randint(0, 2))}
    return grades or {"missed": 1}, scores


def orders(scores: Scores) -> Iterator[list[str]]:
    """Yield every order of the documents in which no score is above a higher one."""
    ties: dict[float, list[str]] = {}
    for doc, score in scores.items():
        ties.setdefault(score, []).append(doc)
    levels = [itertools.permutations(ties[score]) for score in sorted(ties, reverse=True)]
    for level_orders in itertools.product(*levels):
        yield list(itertools.chain(*level_orders))


@cache
def measures() -> list[Measure]:
    all_measures = [measure for name in NUMBERS for measure in variants(name)]
    return [
        measure
        for measure in all_measures
        if "top" not in dict(measure.given) and has_mean(measure)
    ]


def has_mean(measure: Measure) -> bool:
    """Tell whether its value for ties="expected" is the mean over all orders."""
    return not divides_by_hits(measure) and "tie_rank" not in dict(measure.given)


def divides_by_hits(measure: Measure) -> bool:
    """Tell whether it is a mean over the documents found, which has no formula: see below."""
    return (measure.name, measure.parameters.get("over")) in {("AP", "retrieved"), ("RR", "hits")}


def collection(levels: int) -> tuple[dict[str, Grades], dict[str, Scores]]:
    """Return the cases with the same grades to choose from, each a query."""
    cases = {f"{seed:02}": case(seed) for seed in SEEDS if seed % len(LEVELS) == levels}
    return {q: grades for q, (grades, _) in cases.items()}, {
        q: run for q, (_, run) in cases.items()
    }


@cache
def values_of_all_orders(levels: int, option: int) -> dict[Measure, list[Any]]:
    """Return what each measure is in all orders, for each query: each order is judged as one."""
    qrels, run = collection(levels)
    orders_of_query = {
        q: {f"{q}/{i:04}": order for i, order in enumerate(orders(run[q]))} for q in qrels
    }
    judgments = Qrels(
        {name: qrels[q] for q, orders_by_name in orders_of_query.items() for name in orders_by_name}
    )
    rankings = Run(
        {
            name: order
            for orders_by_name in orders_of_query.values()
            for name, order in orders_by_name.items()
        }
    )
    columns = Plan(measures()).values(
        judge(judgments, rankings, Judging.of(OPTIONS[option])).judged
    )
    ends = np.cumsum([len(orders_by_name) for orders_by_name in orders_of_query.values()])[:-1]
    return {
        measure: np.split(column, ends)
        for measure, column in zip(measures(), columns.T, strict=True)
    }


def tied_values(levels: int, option: int, ties: Any) -> Iterator[tuple[Measure, float, Any]]:
    """Yield each measure that takes these ties, its value, and that in all orders: per query."""
    qrels, run = collection(levels)
    options: keywords.Judging = {**OPTIONS[option], "ties": ties}
    judged = judge(Qrels(qrels), Run(run), Judging.of(options)).judged
    able = [measure for measure in measures() if takes(measure, ties)]
    column_of_measure = dict(zip(able, Plan(able).values(judged).T, strict=True))
    for measure in set(measures()) - set(able):
        with contextlib.suppress(MeasureError):
            column_of_measure[measure] = measure.values(judged)[:, 0]
    for measure, column in column_of_measure.items():
        for tie_value, order_values in zip(
            column, values_of_all_orders(levels, option)[measure], strict=True
        ):
            yield measure, tie_value, order_values


def takes(measure: Measure, ties: str) -> bool:
    """Tell whether a measure takes these ties for any data."""
    definition = measure.definition
    if ties == "expected":  # what was retrieved depends on what a depth keeps
        retrieved_options = {("ideal", "retrieved"), ("over", "retrieved")} & set(measure.given)
        is_of_retrieved = retrieved_options or measure.name == "AUC"
        return definition.traits.averages_ties and not is_of_retrieved
    return definition.traits.by_grade is True


@pytest.mark.parametrize(("ties", "rank_of_d2"), [("best", 2), ("worst", 4)])
def test_the_largest_grades_are_ranked_in_tables(ties: Any, rank_of_d2: int) -> None:
    """Whose ranks are held in 32 bits: a rank times the span of grades takes more."""
    qrels = [("q", "d1", 0), ("q", "d2", LARGEST_GRADE), ("q", "d3", -LARGEST_GRADE)]
    run: Any = [("q", "d1", 2.0), ("q", "d2", 1.0), ("q", "d3", 1.0), ("q", "d4", 1.0)]
    scores: Scores = evaluate(qrels, run, "RR", ties=ties)
    assert scores["RR"] == 1 / rank_of_d2


@pytest.mark.no_cover  # others run the same lines
@pytest.mark.parametrize("option", range(len(OPTIONS)), ids=map(str, OPTIONS))
def test_no_order_is_better_than_the_best_or_worse_than_the_worst(option: int) -> None:
    able_names = set()
    for levels, ties in itertools.product(sample_cases(range(len(LEVELS))), BY_GRADE):
        for measure, tie_value, order_values in tied_values(levels, option, ties):
            highest = (ties == "best") != (measure.name in LOWEST_IS_BEST)
            extreme = order_values.max() if highest else order_values.min()
            assert abs(tie_value - extreme) <= 1e-15 * max(1, abs(extreme)), (measure, levels, ties)
            able_names.add(measure.name)
    has_depth = {"depth"} & OPTIONS[option].keys()
    counts = {
        "NumNonRelRet",
        "FallOut",
        "LastRel",
        "AUC",
        *(name for name in NUMBERS if "Pref" in name),
    }
    depth_dependent = counts if has_depth else set()
    expected_names = {definition.name for definition in definitions() if definition.traits.by_grade}
    assert able_names == expected_names - depth_dependent


@pytest.mark.parametrize("name", sorted(NOT_BY_GRADE.keys() & set(NUMBERS)))
def test_what_is_refused_has_a_better_or_worse_order(name: str) -> None:
    """The values by grade, which no one can ask for, are not the extremes."""
    measure = Measure(name)
    n_better = 0
    for levels, ties in itertools.product(range(len(LEVELS)), BY_GRADE):
        qrels, run = collection(levels)
        judged = judge(Qrels(qrels), Run(run), Judging(ties=ties)).judged
        with pytest.raises(MeasureError, match=f"not the {ties} order"):
            measure.values(judged)
        grade_values = measure.definition.kernel(judged, **measure.parameters)[:, 0]
        for grade_value, order_values in zip(
            grade_values, values_of_all_orders(levels, 0)[measure], strict=True
        ):
            extreme = order_values.max() if ties == "best" else order_values.min()
            n_better += abs(grade_value - extreme) > 1e-12
    assert n_better


def test_depth_makes_counts_depend_on_more_than_the_relevant_documents() -> None:
    """Of a tied a (relevant), b (grade 0) and c (unjudged), two are kept."""
    qrels_and_run: tuple[Any, Any] = {"q": {"a": 1, "b": 0}}, {"q": dict.fromkeys("abc", 1.0)}
    assert evaluate(*qrels_and_run, "NumNonRelRet Prefs", ties="best").means() == {
        "NumNonRelRet": 1,
        "Prefs": 1,
    }
    for name in ("NumNonRelRet", "Prefs(over='implied')", "Utility(weights=(0, 1, 0, 0))"):
        with pytest.raises(MeasureError, match="which tied documents `depth` keeps"):
            evaluate(*qrels_and_run, name, ties="best", depth=2)


# ---- the mean -------------------------------------------------------------------------------


@pytest.mark.parametrize("option", range(len(OPTIONS)), ids=map(str, OPTIONS))
def test_the_expected_value_is_the_mean_over_all_orders(option: int) -> None:
    able_names = set()
    for levels in sample_cases(range(len(LEVELS))):
        for measure, tie_value, order_values in tied_values(levels, option, "expected"):
            mean = math.fsum(order_values) / len(order_values)
            # Of gains that cost, the terms may cancel each other.
            size = math.fsum(abs(order_values)) / len(order_values)
            assert abs(tie_value - mean) <= 1e-15 * size, (measure, levels)
            able_names.add(measure.name)
    refused_names = {"AUC"} if "depth" in OPTIONS[option] else set()
    assert able_names == WITH_A_FORMULA - refused_names
    assert able_names | refused_names == {
        definition.name for definition in definitions() if definition.traits.averages_ties
    }


def exactly(measure: Measure, ranking: list[str], grades: Grades) -> Fraction:
    """Return the value in one order, as a fraction: by the definitions."""
    rel = measure.parameters["rel"]
    relevant = [doc for doc, grade in grades.items() if grade >= rel]
    depth = measure.cutoff.n_ranks if isinstance(measure.cutoff, Depth) else None
    cutoff = len(ranking) if depth is None else depth
    hits = [rank for rank, doc in enumerate(ranking[:cutoff], 1) if doc in relevant]
    n_hits, n = Fraction(len(hits)), len(relevant)
    divisors = {
        "cutoff": cutoff,
        "returned": len(ranking[:cutoff]) if measure.name == "P" else min(n, len(ranking[:cutoff])),
        "reachable": n if depth is None else min(n, cutoff),
        "retrieved": len([doc for doc in ranking if doc in relevant]),
    }
    over: str = measure.parameters.get("over", "")
    match measure.name:
        case "P":
            return n_hits / divisors[over]
        case "R":
            n = divisors.get(over, n)
            return n_hits / n if n else Fraction(0)
        case "F":
            return 2 * n_hits / (n + cutoff)
        case "RelP":
            return n_hits / min(n, cutoff) if n else Fraction(0)
        case "MeanP":
            sums = (Fraction(sum(h <= i for h in hits), i) for i in range(1, cutoff + 1))
            return sum(sums, Fraction(0)) / cutoff
        case "Success":
            return Fraction(bool(hits))
        case "Rprec":
            first = [doc for doc in ranking[:n] if doc in relevant]
            return Fraction(len(first), n) if n else Fraction(0)
        case "RR":
            return Fraction(1, hits[0]) if hits else Fraction(0)
    total = sum((Fraction(i, rank) for i, rank in enumerate(hits, 1)), Fraction(0))
    n = divisors.get(over, n)
    return total / n if n else Fraction(0)


@pytest.mark.no_cover  # others run the same lines
@pytest.mark.parametrize("name", ["P", "R", "F", "RelP", "MeanP", "Success", "Rprec", "RR", "AP"])
def test_the_expected_value_is_the_exact_mean(name: str) -> None:
    exact_measures = [
        measure
        for measure in variants(name)
        if not (isinstance(measure.cutoff, Depth) and measure.cutoff.at_relevant)
        and not {"multiple", "beta"} & dict(measure.given).keys()
        and has_mean(measure)
    ]
    for seed in sample_cases(SEEDS):
        grades, scores = case(seed)
        all_orders = list(orders(scores))
        read_values = evaluate(
            {"q": grades}, {"q": scores}, exact_measures, ties="expected"
        ).per_query
        for measure in exact_measures:
            mean = sum(
                (exactly(measure, order, grades) for order in all_orders), Fraction(0)
            ) / len(all_orders)
            assert abs(Fraction(read_values(measure)["q"]) - mean) <= mean * Fraction(1, 10**15), (
                measure,
                seed,
            )


def test_a_tie_whose_documents_all_have_its_last_rank() -> None:
    """Of a, then b, c, d tied, then e: c, d and e are relevant, and x, which was not retrieved."""
    qrels = {"q": {"c": 1, "d": 1, "e": 1, "x": 1}}
    run = {"q": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 2.0, "e": 1.0}}
    scores = evaluate(qrels, run, "AP(tie_rank='last')", ties="expected")
    assert scores.means() == {"AP(tie_rank='last')": (2 / 4 + 2 / 4 + 3 / 5) / 4}
    scores = evaluate(qrels, run, "AP(tie_rank='last')")
    assert scores["AP(tie_rank='last')"] == evaluate(qrels, run, "AP")["AP"]


def test_pairs_of_tied_documents_are_half_in_order() -> None:
    """Of 2 x 2 pairs: a is above b and c; b, c and d are tied, of which d is not relevant."""
    qrels, run = {"q": {"b": 1, "c": 1}}, {"q": {"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.0}}
    for ties, n_right in (("expected", 2 * 1 / 2), ("best", 2), ("worst", 0)):
        options: Any = {"ties": ties}
        assert evaluate(qrels, run, "AUC", **options)["AUC"] == n_right / 4
        cuts: list[tuple[str, dict[str, Any]]] = [("AUC@3", {}), ("AUC", {"depth": 3})]
        for name, cut in cuts:
            with pytest.raises(MeasureError, match=r"depth|cutoff"):
                evaluate(qrels, run, name, **options, **cut)


def test_what_is_divided_by_those_found_has_no_formula() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    for measure in ("AP(over='retrieved')", "RR(over='hits')"):
        with pytest.raises(MeasureError, match="no formula for ties='expected'"):
            evaluate(qrels, run, measure, ties="expected")


def test_arithmetic() -> None:
    """Of four documents, the last three share a score; c is relevant, and one not found, too."""
    qrels, run = {"q": {"c": 1, "x": 1}}, {"q": {"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.0}}
    assert evaluate(qrels, run, "P@2 R@3 Success@2 RR AP DCG", ties="expected").means() == {
        "P@2": (1 / 3) / 2,
        "R@3": (2 / 3) / 2,
        "Success@2": pytest.approx(1 / 3, rel=1e-15),
        "RR": pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3, rel=1e-15),
        "AP": pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3 / 2, rel=1e-15),
        "DCG": pytest.approx(
            (1 / math.log2(3) + 1 / math.log2(4) + 1 / math.log2(5)) / 3, rel=1e-15
        ),
    }
    assert evaluate(qrels, run, "RR", ties="best")["RR"] == 1 / 2
    assert evaluate(qrels, run, "RR", ties="worst")["RR"] == 1 / 4


def test_what_stands_above_what() -> None:
    """Best: 1, 0, -1, unjudged; worst: the other way round; one document of each."""
    grades, scores = {"a": 0, "b": -1, "c": 1}, dict.fromkeys("abcd", 1.0)
    best = evaluate({"q": grades}, {"q": scores}, "Judged@3 Unjudged@2 P@1", ties="best")
    assert best.means() == {"Judged@3": 1, "Unjudged@2": 0, "P@1": 1}
    judged = judge(Qrels({"q": grades}), Run({"q": scores}), Judging(ties="best")).judged
    assert judged.hits.rank.tolist() == [1, 2, 3]
    assert judged.hits.grade.tolist() == [1, 0, -1]
    judged = judge(Qrels({"q": grades}), Run({"q": scores}), Judging(ties="worst")).judged
    assert judged.hits.rank.tolist() == [2, 3, 4]
    assert judged.hits.grade.tolist() == [-1, 0, 1]


@pytest.mark.no_cover  # others run the same lines
@pytest.mark.parametrize("seed", seeds(5, step=5))
def test_without_ties_every_rule_has_the_same_bits(seed: int) -> None:
    grades, scores = case(seed)
    untied_scores = {doc: float(i) for i, doc in enumerate(scores)}
    qrels_and_run: tuple[Any, Any] = (
        {"q": grades, "r": {"z": 1}},
        {"q": untied_scores, "r": {"y": 1, "z": 0}},
    )
    for measure in sample_cases(measures()):
        first = evaluate(*qrels_and_run, measure).to_dict()
        for ties in MORE:
            with contextlib.suppress(MeasureError):
                assert evaluate(*qrels_and_run, measure, ties=ties).to_dict() == first, (
                    measure,
                    ties,
                )


def test_long_ties() -> None:
    """Ten relevant documents among 3,000 of one score, by hand."""
    docs = [f"d{i}" for i in range(3000)]
    qrels, run = {"q": dict.fromkeys(docs[:10], 1)}, {"q": dict.fromkeys(docs, 0.0)}
    scores = evaluate(qrels, run, "P@10 R@30 Success@100 AP RR nDCG@5", ties="expected")
    miss_chance = Fraction(math.comb(2990, 100), math.comb(3000, 100))
    assert scores["P@10"] == 10 * 10 / 3000 / 10
    assert scores["R@30"] == 10 * 30 / 3000 / 10
    assert scores["Success@100"] == pytest.approx(float(1 - miss_chance), rel=1e-13)
    ap = sum(Fraction(1, i) * (1 + Fraction(9 * (i - 1), 2999)) for i in range(1, 3001)) / 3000
    assert scores["AP"] == pytest.approx(float(ap), rel=1e-13)
    rr = sum(Fraction(math.comb(3000 - i, 9), math.comb(3000, 10)) / i for i in range(1, 2992))
    assert scores["RR"] == pytest.approx(float(rr), rel=1e-13)
    assert scores["nDCG@5"] == pytest.approx(10 / 3000, rel=1e-15)


# ---- every form of the data, every option -----------------------------------------------------


def forms(run: dict[str, Scores], folder: Path) -> Iterator[Any]:
    """Yield a run as a dict, as a file in its order, and as a file in no order."""
    yield run
    lines = [f"{q} Q0 {d} 0 {s!r} t\n" for q, docs in run.items() for d, s in docs.items()]
    (folder / "in-order.run").write_text("".join(sorted(lines, key=sort_key_of_line)))
    yield read_run(folder / "in-order.run")
    random.Random(1).shuffle(lines)
    (folder / "shuffled.run").write_text("".join(lines))
    yield read_run(folder / "shuffled.run")


def sort_key_of_line(line: str) -> tuple[str, float, list[int]]:
    query, _, doc, _, score, _ = line.split()
    return query, -float(score), [-byte for byte in doc.encode()]


@pytest.mark.parametrize("options", [*OPTIONS, {"scores": "single"}, {"queries": "both"}])
def test_every_form_of_the_data_has_the_same_ties(options: Any, tmp_path: Path) -> None:
    chance = random.Random(7)
    cases = {f"q{seed:02}": case(seed) for seed in range(30)}
    qrels: dict[str, Grades] = {query: grades for query, (grades, _) in cases.items()}
    run = {query: scores for query, (_, scores) in cases.items() if chance.random() < 0.8}
    run = {
        query: {
            doc: 1 + score * 1e-9 if chance.random() < 0.3 else score for doc, score in docs.items()
        }
        for query, docs in run.items()
    }
    run["unknown"] = {"a": 1.0, "b": 1.0}
    for ties in ALL:
        form_scores = [
            evaluate(qrels, form, "nDCG AP P@2 Success@2 RR@3 Judged@2", ties=ties, **options)
            for form in forms(run, tmp_path)
        ]
        assert form_scores[0].to_dict() == form_scores[1].to_dict() == form_scores[2].to_dict()
        assert form_scores[0].counts == form_scores[1].counts == form_scores[2].counts
        assert form_scores[0].counts.tied > 0
        # What has no rank column is not told to take it.
        remedy = " --order rank takes the rank column."
        notes_of_forms = [
            {
                replace(note, text=note.text.removesuffix(remedy).replace(f"{remedy[:-1]},", ""))
                for note in scores.notes
            }
            for scores in form_scores
        ]
        assert notes_of_forms[0] == notes_of_forms[1] < notes_of_forms[2]
        assert not any(remedy[:-1] in note.text for note in form_scores[0].notes)


def test_tied_documents_are_counted() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"z": 1}, "q3": {"a": 1}}
    run = {
        "q1": {"a": 1.0, "b": 1.0, "c": 2.0, "d": 3.0, "e": 3.0, "f": 3.0},
        "q2": {"a": 5.0, "b": 5.0},
        "not judged": {"a": 1.0, "b": 1.0},
    }
    tie_counts = [
        "ranked by document id, descending",
        "ranked by document id, ascending",
        "averaged over all their orders",
        "ranked by grade, the highest first",
        "ranked by grade, the lowest first",
    ]
    for ties, text in zip(ALL, tie_counts, strict=True):
        scores = evaluate(qrels, run, "P@1", ties=ties)
        assert scores.counts.tied == 7, "a b, d e f of q1, a b of q2"
        (tie_note,) = [note for note in scores.notes if note.code == "ties"]
        assert tie_note.count == 7
        assert tie_note.text.endswith(f": {text}.")
        assert tie_note.text in str(scores)
    assert "ties" not in codes(evaluate(qrels, {"q1": {"a": 1.0, "b": 2.0}}).notes)
    assert evaluate(qrels, {"q1": {"a": 1.0, "b": 1.0 + 1e-12}}).counts.tied == 0
    assert evaluate(qrels, {"q1": {"a": 1.0, "b": 1.0 + 1e-12}}, scores="single").counts.tied == 2
    assert evaluate(qrels, {"q1": ["b", "a"]}, order="given").counts.tied == 0


def test_equal_ranks_are_said_to_be_ranks(tmp_path: Path) -> None:
    (tmp_path / "x.run").write_text("q Q0 a 1 5 t\nq Q0 b 1 4 t\nq Q0 c 2 3 t\n")
    scores = evaluate({"q": {"a": 1}}, tmp_path / "x.run", "RR", order="rank")
    assert codes(scores.notes) == ["ties", "options"]
    assert "are tied in rank" in sentence(scores.notes, "ties")


# ---- what is refused --------------------------------------------------------------------------


DATA: tuple[Any, Any] = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}


def test_measures_that_cannot_are_refused_with_those_that_can() -> None:
    with pytest.raises(
        MeasureError, match=r"Bpref has no formula for ties='expected'; .*: nDCG, D"
    ):
        evaluate(*DATA, "Bpref", ties="expected")
    for name in NOT_BY_GRADE:
        with pytest.raises(MeasureError, match=f"{name}: ties='worst' .*; it is for nDCG, DCG"):
            evaluate(*DATA, name, ties="worst")
    with pytest.raises(MeasureError, match="a lower grade gains more than a higher one"):
        evaluate(*DATA, "nDCG(gain={0: 2})", ties="best")
    with pytest.raises(MeasureError, match="a judged document costs something"):
        evaluate(*DATA, "DCG(gain={0: -1})", ties="best")
    assert evaluate(*DATA, "DCG(gain={0: -1})", ties="expected")["DCG(gain={0: -1})"] == 0


def test_options_that_have_no_meaning_together_are_refused() -> None:
    for ties in MORE:
        with pytest.raises(OptionError, match="no effect with order='given'"):
            evaluate(*DATA, "AP", ties=ties, order="given")
        with pytest.raises(OptionError, match="no effect with order='rank'"):
            evaluate(*DATA, "AP", ties=ties, order="rank")
        with pytest.raises(OptionError, match="with depth and judged_only"):
            evaluate(*DATA, "AP", ties=ties, depth=2, judged_only=True)
        with pytest.raises(OptionError, match="these judgments are in groups"):
            evaluate({"q": {"ann": {"a": 1}, "bob": {"a": 0}}}, DATA[1], "GroupAP", ties=ties)
    with pytest.raises(OptionError, match="expected"):
        evaluate(*DATA, "AP", ties="random")  # type: ignore[call-overload] # on purpose


def test_a_single_list_is_ranked_as_ever() -> None:
    assert cranfield.RR({"a"}, {"a": 1.0, "b": 1.0}) == 1 / 2


def test_the_default_measures_take_all_ties() -> None:
    for ties in MORE:
        assert np.isfinite(list(evaluate(*DATA, ties=ties).means().values())).all()


# ---- the command ------------------------------------------------------------------------------


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("q 0 a 1\nq 0 b 0\n")
    (tmp_path / "r.run").write_text("".join(f"q Q0 {doc} 0 1 t\n" for doc in "abc"))
    files = ["evaluate", str(tmp_path / "q.txt"), str(tmp_path / "r.run"), "-m", "RR"]
    for ties, expected_value in {
        "best": 1,
        "worst": 1 / 3,
        "document": 1 / 3,
        "ascending": 1,
    }.items():
        invocation = CliRunner().invoke(cli, [*files, "--ties", ties, "--format", "json"])
        run = json.loads(invocation.stdout)["runs"][0]
        assert run["all"] == {"RR": expected_value}
        assert run["counts"]["tied"] == 3
    table = CliRunner().invoke(cli, [*files, "--ties", "expected", "--format", "table"]).stdout
    assert "0.6111" in table, "(1 + 1/2 + 1/3) / 3"
    assert "3 documents are tied: averaged over all their orders." in table
    assert "Options: ties=expected." in table
    refusal = CliRunner().invoke(cli, [*files, "-m", "Bpref", "--ties", "expected"])
    assert refusal.exit_code != 0
    assert "these have" in refusal.stderr
    assert parse("AP") in measures()
