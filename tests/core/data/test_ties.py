"""Ties: the mean and the extremes over all orders of tied scores, against each of them."""

import contextlib
import itertools
import json
import math
import random
from collections.abc import Iterator
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
    *("NumQ", "NumRet", "NumRel"),
}

NUMBERS = [each.name for each in definitions() if not each.is_text]


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
    for parts in itertools.product(*levels):
        yield list(itertools.chain(*parts))


@cache
def measures() -> list[Measure]:
    every = [one for name in NUMBERS for one in variants(name)]
    return [one for one in every if "top" not in dict(one.given) and not of_those_found(one)]


def of_those_found(one: Measure) -> bool:
    """Tell whether it is a mean over the documents found, which has no formula: see below."""
    return (one.name, one.parameters.get("over")) in {("AP", "retrieved"), ("RR", "hits")}


def collection(levels: int) -> tuple[dict[str, Grades], dict[str, Scores]]:
    """Return the cases with the same grades to choose from, each a query."""
    cases = {f"{seed:02}": case(seed) for seed in SEEDS if seed % len(LEVELS) == levels}
    return {q: grades for q, (grades, _) in cases.items()}, {
        q: run for q, (_, run) in cases.items()
    }


@cache
def over_all_orders(levels: int, option: int) -> dict[Measure, list[Any]]:
    """Return what each measure is in all orders, for each query: each order is judged as one."""
    qrels, run = collection(levels)
    every = {q: {f"{q}/{i:04}": order for i, order in enumerate(orders(run[q]))} for q in qrels}
    judgments = Qrels({name: qrels[q] for q, named in every.items() for name in named})
    rankings = Run({name: order for named in every.values() for name, order in named.items()})
    values = Plan(measures()).values(judge(judgments, rankings, Judging.of(OPTIONS[option])).judged)
    ends = np.cumsum([len(named) for named in every.values()])[:-1]
    return {one: np.split(column, ends) for one, column in zip(measures(), values.T, strict=True)}


def of_ties(levels: int, option: int, ties: Any) -> Iterator[tuple[Measure, float, Any]]:
    """Yield each measure that takes these ties, its value, and that in all orders: per query."""
    qrels, run = collection(levels)
    options: keywords.Judging = {**OPTIONS[option], "ties": ties}
    judged = judge(Qrels(qrels), Run(run), Judging.of(options)).judged
    able = [one for one in measures() if takes(one, ties)]
    found = dict(zip(able, Plan(able).values(judged).T, strict=True))
    for one in set(measures()) - set(able):
        with contextlib.suppress(MeasureError):
            found[one] = one.values(judged)[:, 0]
    for one, values in found.items():
        for value, every in zip(values, over_all_orders(levels, option)[one], strict=True):
            yield one, value, every


def takes(one: Measure, ties: str) -> bool:
    """Tell whether a measure takes these ties for any data."""
    definition = one.definition
    if ties == "expected":  # what was retrieved depends on what a depth keeps
        of_retrieved = {("ideal", "retrieved"), ("over", "retrieved")} & set(one.given)
        return definition.traits.averages_ties and not of_retrieved
    return definition.traits.by_grade is True


@pytest.mark.no_cover  # others run the same lines
@pytest.mark.parametrize("option", range(len(OPTIONS)), ids=map(str, OPTIONS))
def test_no_order_is_better_than_the_best_or_worse_than_the_worst(option: int) -> None:
    taken = set()
    for levels, ties in itertools.product(sample_cases(range(len(LEVELS))), BY_GRADE):
        for one, value, every in of_ties(levels, option, ties):
            highest = (ties == "best") != (one.name in LOWEST_IS_BEST)
            extreme = every.max() if highest else every.min()
            assert abs(value - extreme) <= 1e-15 * max(1, abs(extreme)), (one, levels, ties)
            taken.add(one.name)
    cut = {"depth"} & OPTIONS[option].keys()
    counts = {"NumNonRelRet", "FallOut", "LastRel", *(one for one in NUMBERS if "Pref" in one)}
    by_depth = counts if cut else set()
    known = {each.name for each in definitions() if each.traits.by_grade}
    assert taken == known - by_depth


@pytest.mark.parametrize("name", sorted(NOT_BY_GRADE.keys() & set(NUMBERS)))
def test_what_is_refused_has_a_better_or_worse_order(name: str) -> None:
    """The values by grade, which no one can ask for, are not the extremes."""
    one = Measure(name)
    found = 0
    for levels, ties in itertools.product(range(len(LEVELS)), BY_GRADE):
        qrels, run = collection(levels)
        judged = judge(Qrels(qrels), Run(run), Judging(ties=ties)).judged
        with pytest.raises(MeasureError, match=f"not the {ties} order"):
            one.values(judged)
        by_grade = one.definition.kernel(judged, **one.parameters)[:, 0]
        for value, every in zip(by_grade, over_all_orders(levels, 0)[one], strict=True):
            extreme = every.max() if ties == "best" else every.min()
            found += abs(value - extreme) > 1e-12
    assert found


def test_depth_makes_counts_depend_on_more_than_the_relevant_documents() -> None:
    """Of a tied a (relevant), b (grade 0) and c (unjudged), two are kept."""
    data: tuple[Any, Any] = {"q": {"a": 1, "b": 0}}, {"q": dict.fromkeys("abc", 1.0)}
    assert evaluate(*data, "NumNonRelRet Prefs", ties="best").means() == {
        "NumNonRelRet": 1,
        "Prefs": 1,
    }
    for name in ("NumNonRelRet", "Prefs(over='implied')", "Utility(weights=(0, 1, 0, 0))"):
        with pytest.raises(MeasureError, match="which tied documents `depth` keeps"):
            evaluate(*data, name, ties="best", depth=2)


# ---- the mean -------------------------------------------------------------------------------


@pytest.mark.parametrize("option", range(len(OPTIONS)), ids=map(str, OPTIONS))
def test_the_expected_value_is_the_mean_over_all_orders(option: int) -> None:
    taken = set()
    for levels in sample_cases(range(len(LEVELS))):
        for one, value, every in of_ties(levels, option, "expected"):
            mean = math.fsum(every) / len(every)
            # Of gains that cost, the terms may cancel each other.
            size = math.fsum(abs(every)) / len(every)
            assert abs(value - mean) <= 1e-15 * size, (one, levels)
            taken.add(one.name)
    assert taken == WITH_A_FORMULA
    assert taken == {each.name for each in definitions() if each.traits.averages_ties}


def exactly(one: Measure, ranking: list[str], grades: Grades) -> Fraction:
    """Return the value in one order, as a fraction: by the definitions."""
    rel = one.parameters["rel"]
    relevant = [doc for doc, grade in grades.items() if grade >= rel]
    depth = one.cutoff.n_ranks if isinstance(one.cutoff, Depth) else None
    cut = len(ranking) if depth is None else depth
    hits = [rank for rank, doc in enumerate(ranking[:cut], 1) if doc in relevant]
    found, n = Fraction(len(hits)), len(relevant)
    divisors = {
        "cutoff": cut,
        "returned": len(ranking[:cut]) if one.name == "P" else min(n, len(ranking[:cut])),
        "reachable": n if depth is None else min(n, cut),
        "retrieved": len([doc for doc in ranking if doc in relevant]),
    }
    over: str = one.parameters.get("over", "")
    match one.name:
        case "P":
            return found / divisors[over]
        case "R":
            n = divisors.get(over, n)
            return found / n if n else Fraction(0)
        case "F":
            return 2 * found / (n + cut)
        case "RelP":
            return found / min(n, cut) if n else Fraction(0)
        case "MeanP":
            sums = (Fraction(sum(h <= i for h in hits), i) for i in range(1, cut + 1))
            return sum(sums, Fraction(0)) / cut
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
    several = [
        one
        for one in variants(name)
        if not (isinstance(one.cutoff, Depth) and one.cutoff.at_relevant)
        and not {"multiple", "beta"} & dict(one.given).keys()
        and not of_those_found(one)
    ]
    for seed in sample_cases(SEEDS):
        grades, scores = case(seed)
        every = list(orders(scores))
        values = evaluate({"q": grades}, {"q": scores}, several, ties="expected").per_query
        for one in several:
            mean = sum((exactly(one, order, grades) for order in every), Fraction(0)) / len(every)
            assert abs(Fraction(values(one)["q"]) - mean) <= mean * Fraction(1, 10**15), (one, seed)


def test_what_is_divided_by_those_found_has_no_formula() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    for one in ("AP(over='retrieved')", "RR(over='hits')"):
        with pytest.raises(MeasureError, match="no formula for ties='expected'"):
            evaluate(qrels, run, one, ties="expected")


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
    untied = {doc: float(i) for i, doc in enumerate(scores)}
    data: tuple[Any, Any] = {"q": grades, "r": {"z": 1}}, {"q": untied, "r": {"y": 1, "z": 0}}
    for one in sample_cases(measures()):
        first = evaluate(*data, one).to_dict()
        for ties in MORE:
            with contextlib.suppress(MeasureError):
                assert evaluate(*data, one, ties=ties).to_dict() == first, (one, ties)


def test_long_ties() -> None:
    """Ten relevant documents among 3,000 of one score, by hand."""
    docs = [f"d{i}" for i in range(3000)]
    qrels, run = {"q": dict.fromkeys(docs[:10], 1)}, {"q": dict.fromkeys(docs, 0.0)}
    values = evaluate(qrels, run, "P@10 R@30 Success@100 AP RR nDCG@5", ties="expected")
    missed = Fraction(math.comb(2990, 100), math.comb(3000, 100))
    assert values["P@10"] == 10 * 10 / 3000 / 10
    assert values["R@30"] == 10 * 30 / 3000 / 10
    assert values["Success@100"] == pytest.approx(float(1 - missed), rel=1e-13)
    ap = sum(Fraction(1, i) * (1 + Fraction(9 * (i - 1), 2999)) for i in range(1, 3001)) / 3000
    assert values["AP"] == pytest.approx(float(ap), rel=1e-13)
    rr = sum(Fraction(math.comb(3000 - i, 9), math.comb(3000, 10)) / i for i in range(1, 2992))
    assert values["RR"] == pytest.approx(float(rr), rel=1e-13)
    assert values["nDCG@5"] == pytest.approx(10 / 3000, rel=1e-15)


# ---- every form of the data, every option -----------------------------------------------------


def forms(run: dict[str, Scores], folder: Path) -> Iterator[Any]:
    """Yield a run as a dict, as a file in its order, and as a file in no order."""
    yield run
    lines = [f"{q} Q0 {d} 0 {s!r} t\n" for q, docs in run.items() for d, s in docs.items()]
    (folder / "in-order.run").write_text("".join(sorted(lines, key=_by_score)))
    yield read_run(folder / "in-order.run")
    random.Random(1).shuffle(lines)
    (folder / "shuffled.run").write_text("".join(lines))
    yield read_run(folder / "shuffled.run")


def _by_score(line: str) -> tuple[str, float, list[int]]:
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
        several = [
            evaluate(qrels, one, "nDCG AP P@2 Success@2 RR@3 Judged@2", ties=ties, **options)
            for one in forms(run, tmp_path)
        ]
        assert several[0].to_dict() == several[1].to_dict() == several[2].to_dict()
        assert several[0].counts == several[1].counts == several[2].counts
        assert several[0].counts.tied > 0
        assert set(several[0].notes) == set(several[1].notes) < set(several[2].notes)


def test_tied_documents_are_counted() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"z": 1}, "q3": {"a": 1}}
    run = {
        "q1": {"a": 1.0, "b": 1.0, "c": 2.0, "d": 3.0, "e": 3.0, "f": 3.0},
        "q2": {"a": 5.0, "b": 5.0},
        "not judged": {"a": 1.0, "b": 1.0},
    }
    said = [
        "ranked by document id, descending",
        "ranked by document id, ascending",
        "averaged over all their orders",
        "ranked by grade, the highest first",
        "ranked by grade, the lowest first",
    ]
    for ties, text in zip(ALL, said, strict=True):
        scores = evaluate(qrels, run, "P@1", ties=ties)
        assert scores.counts.tied == 7, "a b, d e f of q1, a b of q2"
        (tied,) = [one for one in scores.notes if one.code == "ties"]
        assert tied.count == 7
        assert tied.text.endswith(f": {text}.")
        assert tied.text in str(scores)
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
    for ties, value in {"best": 1, "worst": 1 / 3, "document": 1 / 3, "ascending": 1}.items():
        shown = CliRunner().invoke(cli, [*files, "--ties", ties, "--format", "json"])
        run = json.loads(shown.stdout)["runs"][0]
        assert run["all"] == {"RR": value}
        assert run["counts"]["tied"] == 3
    table = CliRunner().invoke(cli, [*files, "--ties", "expected", "--format", "table"]).stdout
    assert "0.6111" in table, "(1 + 1/2 + 1/3) / 3"
    assert "3 documents are tied: averaged over all their orders." in table
    assert "Options: ties=expected." in table
    refused = CliRunner().invoke(cli, [*files, "-m", "Bpref", "--ties", "expected"])
    assert refused.exit_code != 0
    assert "these have" in refused.stderr
    assert parse("AP") in measures()
