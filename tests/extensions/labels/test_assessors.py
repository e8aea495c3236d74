"""Agreement of two qrels: published numbers, slow loops from the definitions, and mixtures."""

import csv
import io
import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from helpers.profile import examples, seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import cranfield
from cranfield import Agreement, InputError, MeasureError, OptionError, agreement, evaluate
from cranfield.cli import cli
from cranfield.errors import NothingSharedError
from cranfield.extensions.labels.assessors.judgments import PairAgreement
from cranfield.measures import definitions, make_example

Grades = dict[str, dict[str, int]]


def case_j() -> tuple[Grades, Grades]:
    """The matrix [[20, 5], [10, 15]], of which the first class is "relevant"."""
    cells = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    random.Random(1).shuffle(cells)
    sides = [{f"d{i}": cell[side] for i, cell in enumerate(cells)} for side in (0, 1)]
    return {"q": sides[0]}, {"q": sides[1]}


def test_case_j() -> None:
    assessment = agreement(*case_j())
    assert (assessment.grades, assessment.matrix.tolist()) == ([0, 1], [[15, 10], [5, 20]])
    for numbers in (assessment.pooled, assessment.per_query["q"]):
        assert (numbers.kappa, numbers.agreement, numbers.overlap) == (0.4, 0.7, 20 / 35)
        assert (numbers.weighted_kappa, numbers.same_grade, numbers.overlap_all) == (
            0.4,
            0.7,
            20 / 35,
        )
    inverse_qrels = [
        {"q": {doc: 1 - grade for doc, grade in grades_of_query["q"].items()}}
        for grades_of_query in case_j()
    ]
    assert agreement(*inverse_qrels).pooled.overlap == 15 / 30


# ---- from the definitions -------------------------------------------------------------------


def make_test_qrels(seed: int) -> Grades:
    chance = random.Random(seed)
    return {
        f"q{q}": {
            f"d{d}": chance.choice([-1, 0, 0, 1, 2, 3])
            for d in chance.sample(range(12), chance.randint(1, 9))
        }
        for q in chance.sample(range(6), 5)
    }


def kappa_of(pairs: list[tuple[int, int]]) -> float | None:
    """Weigh every cell of the confusion matrix, and every cell that chance would fill."""
    n, rows, columns = len(pairs), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    difference = sum((a - b) ** 2 for a, b in pairs) / n if n else 0
    by_chance = sum(rows[a] * columns[b] * (a - b) ** 2 for a in rows for b in columns)
    return 1 - difference / (by_chance / n**2) if by_chance else None


def from_the_definition(a: Grades, b: Grades, queries: list[str], rel: int) -> dict[str, Any]:
    def share(part_docs: set[Any], all_docs: set[Any]) -> float | None:
        return len(part_docs) / len(all_docs) if all_docs else None

    grade_a, grade_b = (
        {(q, d): grades[q][d] for q in queries for d in grades[q]} for grades in (a, b)
    )
    shared_docs = grade_a.keys() & grade_b.keys()
    relevant_a, relevant_b = (
        {d for d in grades if grades[d] >= rel} for grades in (grade_a, grade_b)
    )
    return {
        "both": len(shared_docs),
        "only_a": len(grade_a.keys() - grade_b.keys()),
        "only_b": len(grade_b.keys() - grade_a.keys()),
        "relevant_a": len(relevant_a),
        "relevant_b": len(relevant_b),
        "agreement": share(
            {d for d in shared_docs if (d in relevant_a) == (d in relevant_b)}, shared_docs
        ),
        "kappa": kappa_of([(int(d in relevant_a), int(d in relevant_b)) for d in shared_docs]),
        "same_grade": share({d for d in shared_docs if grade_a[d] == grade_b[d]}, shared_docs),
        "weighted_kappa": kappa_of([(grade_a[d], grade_b[d]) for d in shared_docs]),
        "overlap": share(
            shared_docs & relevant_a & relevant_b, shared_docs & (relevant_a | relevant_b)
        ),
        "overlap_all": share(relevant_a & relevant_b, relevant_a | relevant_b),
    }


@pytest.mark.parametrize("rel", [0, 1, 2])
def test_every_number_is_its_definition(rel: int) -> None:
    for seed in seeds(60):
        a, b = make_test_qrels(seed), make_test_qrels(seed + 1000)
        assessment = agreement(a, b, rel=rel)
        shared_queries = sorted(a.keys() & b.keys())
        assert list(assessment.per_query) == shared_queries
        for queries, numbers in [
            (shared_queries, assessment.pooled),
            *(([q], assessment.per_query[q]) for q in shared_queries),
        ]:
            expected = from_the_definition(a, b, queries, rel)
            assert vars(numbers) == pytest.approx(expected, abs=1e-12), (seed, queries)
        pairs = [(a[q][d], b[q][d]) for q in shared_queries for d in a[q].keys() & b[q].keys()]
        count_of_pair = Counter(pairs)
        assert assessment.grades == sorted({grade for pair in pairs for grade in pair})
        assert assessment.matrix.tolist() == [
            [count_of_pair[x, y] for y in assessment.grades] for x in assessment.grades
        ]


def test_ids_of_any_length_and_script_are_matched() -> None:
    ids = ["a", "a" * 8, "a" * 9, "ä", "ä" * 40, "x" * 300, "x" * 299 + "y", "\udcff"]
    a = {"q": dict.fromkeys(ids, 1), "only a": {"a": 1}}
    b = {"q": dict.fromkeys(ids[::-1], 1), "z": {"a": 1}, "zz": {"a": 1}}
    assessment = agreement(a, b)
    assert (assessment.pooled.both, assessment.pooled.only_a, assessment.pooled.only_b) == (
        len(ids),
        0,
        0,
    )
    assert [(note.code, note.source, note.queries) for note in assessment.notes] == [
        ("few-queries", None, 1),
        ("in-both", None, 1),
        ("in-one", "A", 1),
        ("in-one", "B", 2),
    ]


QRELS = st.dictionaries(
    st.sampled_from("pqr"),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 3), min_size=1),
    min_size=1,
)


@settings(max_examples=examples(150), deadline=None)
@given(QRELS, QRELS)
def test_swapping_the_two_transposes_the_matrix_and_changes_nothing_else(
    a: Grades, b: Grades
) -> None:
    try:
        assessment = agreement(a, b)
    except NothingSharedError:
        assert not any(a[q].keys() & b[q].keys() for q in a.keys() & b.keys())
        return
    swapped_assessment = agreement(b, a)
    assert swapped_assessment.matrix.tolist() == assessment.matrix.T.tolist()
    for numbers, exchanged_numbers in [
        (assessment.pooled, swapped_assessment.pooled),
        *((assessment.per_query[q], swapped_assessment.per_query[q]) for q in assessment.per_query),
    ]:
        fields = vars(numbers)
        assert vars(exchanged_numbers) == {
            **fields,
            "only_a": fields["only_b"],
            "only_b": fields["only_a"],
            "relevant_a": fields["relevant_b"],
            "relevant_b": fields["relevant_a"],
        }


@settings(max_examples=examples(50), deadline=None)
@given(QRELS)
def test_qrels_agree_with_themselves(a: Grades) -> None:
    assessment = agreement(a, a)
    for numbers in (assessment.pooled, *assessment.per_query.values()):
        assert numbers.agreement == numbers.same_grade == 1
        assert {numbers.kappa, numbers.weighted_kappa, numbers.overlap, numbers.overlap_all} <= {
            1.0,
            None,
        }


def test_what_has_no_value_is_none() -> None:
    assessment = agreement({"p": {"a": 1}, "q": {"a": 0}}, {"p": {"a": 1}, "q": {"b": 0, "a": 0}})
    assert assessment.per_query["p"] == PairAgreement(1, 0, 0, 1, 1, 1.0, None, 1.0, None, 1.0, 1.0)
    assert assessment.per_query["q"] == PairAgreement(
        1, 0, 1, 0, 0, 1.0, None, 1.0, None, None, None
    )
    table = assessment.tables(per_query=True)[0]
    assert [row[0] for row in table.rows] == ["p", "q", "mean of 2", "all together"]
    assert table.rows[1][-2:] == ["-", "-"]
    assert "NaN" not in json.dumps(assessment.to_dict())
    assessment_without_value = agreement({"q": {"a": 1}}, {"q": {"b": 1, "a": 0}, "p": {"a": 0}})
    assert assessment_without_value.pooled.kappa == 0


def test_nothing_shared_is_said_kindly() -> None:
    with pytest.raises(NothingSharedError, match="share no query: the first has 'q1'"):
        agreement({"q1": {"d": 1}}, {"q2": {"d": 1}})
    with pytest.raises(NothingSharedError, match="judge no document of these both"):
        agreement({"q": {"d": 1}, "p": {"e": 1}}, {"q": {"e": 1}})


# ---- systems --------------------------------------------------------------------------------


def make_test_runs(n: int, seed: int = 5, n_queries: int = 6) -> dict[str, dict[str, list[str]]]:
    chance = random.Random(seed)
    docs = [f"d{d}" for d in range(12)]
    return {f"s{s}": {f"q{q}": chance.sample(docs, 8) for q in range(n_queries)} for s in range(n)}


def two_of(seed: int, n_queries: int = 6) -> tuple[Grades, Grades]:
    chance = random.Random(seed)
    return tuple(  # type: ignore[return-value] # of two
        {
            f"q{q}": {f"d{d}": chance.choice([0, 0, 1, 2]) for d in range(12)}
            for q in range(n_queries)
        }
        for _ in range(2)
    )


def test_mixtures_are_evaluations_of_mixed_qrels() -> None:
    """The same draws, but each mixture's qrels put together and evaluated."""
    (a, b), runs, n, measures = two_of(1), make_test_runs(4), 25, ["nDCG@5", "ERR@5", "AP"]
    a["q0"]["d0"] = 3  # the highest grade is in A alone, and ERR asks for it
    b["q9"] = {"d0": 1}
    assessment = agreement(a, b, runs, measures, mixtures=n, seed=7)
    generator = np.random.Generator(np.random.PCG64(7))
    is_from_a = generator.random((n, 6)) < 0.5
    query_ids = sorted(a)
    scale = {"scale": {"d": 3}}
    for k, measure in enumerate(measures):
        ordering = assessment.orderings[k]
        assert ordering.systems == sorted(runs, key=lambda s: -means(a | scale, runs, measure)[s])
        means_of_mixtures = []
        for choices in is_from_a.tolist():
            mixture = {q: (a if is_a else b)[q] for q, is_a in zip(query_ids, choices, strict=True)}
            means_of_mixtures.append(means(mixture | scale, runs, measure))
        for s, name in enumerate(ordering.systems):
            means_of_system = [mixture_means[name] for mixture_means in means_of_mixtures]
            assert ordering.mean_a[s] == pytest.approx(means(a | scale, runs, measure)[name])
            assert ordering.mean_mixed[s] == pytest.approx(math.fsum(means_of_system) / n)
            assert ordering.low[s] == pytest.approx(min(means_of_system))
            assert ordering.high[s] == pytest.approx(max(means_of_system))
        assert ordering.mean_b is not None
        means_a, means_b = ordering.mean_a, ordering.mean_b
        assert ordering.tau == pytest.approx(stats.kendalltau(means_a, means_b).statistic)
        taus = [
            stats.kendalltau(means_a, [mixture_means[name] for name in ordering.systems]).statistic
            for mixture_means in means_of_mixtures
        ]
        assert ordering.taus == pytest.approx(taus)
        assert ordering.mean_tau == pytest.approx(sum(taus) / n)
        assert ordering.min_tau == pytest.approx(min(taus))
        for pair in ordering.pairs:
            assert pair.difference_a >= 0  # the left one is the better under A
            is_first_better = [
                mixture_means[pair.left] > mixture_means[pair.right]
                for mixture_means in means_of_mixtures
            ]
            assert pair.same_sign == sum(is_first_better) / n
    (note,) = [note for note in assessment.notes if note.code == "highest-grade"]
    assert "The highest grade is 3 in A and 2 in B" in note.text


@pytest.mark.parametrize("measure", ["nDCG@5", "LastRel"])
def test_what_two_assessors_say_of_two_systems_is_compared(measure: str) -> None:
    (a, b), runs = two_of(3), make_test_runs(4)
    assessment = agreement(a, b, runs, measure, mixtures=2)
    scores_of_assessors = [
        {name: evaluate(qrels, run, measure).per_query(measure) for name, run in runs.items()}
        for qrels in (a, b)
    ]
    for pair in assessment.orderings[0].pairs:
        differences_a, differences_b = (
            np.array([scores[pair.left][query] - scores[pair.right][query] for query in sorted(a)])
            for scores in scores_of_assessors
        )
        assert pair.change == pytest.approx(
            np.mean(differences_a) - np.mean(differences_b), abs=1e-12
        )
        assert pair.difference_b is not None
        assert pair.change == pytest.approx(pair.difference_a - pair.difference_b, abs=1e-12)
        assert pair.p_change == pytest.approx(
            stats.ttest_rel(differences_a, differences_b).pvalue, rel=1e-9
        )
    (ordering,) = assessment.to_dict()["orderings"]
    assert {"change", "p_change"} <= set(ordering["pairs"][0])
    rate_assessment = agreement(
        a, None, runs, measure, mixtures=2, confusion={g: {g: 1} for g in range(4)}
    )
    assert {pair.p_change for pair in rate_assessment.orderings[0].pairs} == {None}


def test_the_difference_of_two_differences_is_beside_them() -> None:
    (a, b), runs = two_of(3), make_test_runs(4)
    *_, table = agreement(a, b, runs, "nDCG@5", mixtures=50).tables()
    assert table.header[-4:] == ["A - B", "p A - B", "same sign", "same verdict"]
    assert any("Significant under one of them only does not show" in note for note in table.notes)
    rates = {g: {g: 1, 0: 1} for g in range(4)}
    *_, table = agreement(a, None, runs, "nDCG@5", mixtures=50, confusion=rates).tables()
    assert "A - B" not in table.header


def means(qrels: Grades, runs: Any, measure: str) -> dict[str, float]:
    """Return the means over the six queries, those of the scale left out."""
    scores = evaluate(qrels, runs, measure)
    return {
        name: sum(score for q, score in system_scores.per_query(measure).items() if q != "scale")
        / 6
        for name, system_scores in scores.items()
    }


def test_p_and_verdicts_are_those_of_paired_t_tests() -> None:
    (a, b), runs, n = two_of(2, 15), make_test_runs(4, n_queries=15), 40
    for s in range(15):  # one system is clearly better under A
        runs["s0"][f"q{s}"] = sorted(a[f"q{s}"], key=lambda d: -a[f"q{s}"][d])[:8]
    assessment = agreement(a, b, runs, "nDCG", mixtures=n, seed=3, alpha=0.2)
    query_ids = sorted(a)
    is_from_a = np.random.Generator(np.random.PCG64(3)).random((n, 15)) < 0.5
    scores = [evaluate(qrels, runs, "nDCG") for qrels in (a, b)]

    def verdict(differences: np.ndarray) -> float:
        p = stats.ttest_1samp(differences, 0).pvalue
        return float(np.sign(differences.mean())) if p <= 0.2 else 0.0

    verdicts = set()
    for pair in assessment.orderings[0].pairs:
        differences_a, differences_b = (
            np.array([systems[pair.left].per_query("nDCG")[q] for q in query_ids])
            - np.array([systems[pair.right].per_query("nDCG")[q] for q in query_ids])
            for systems in scores
        )
        assert pair.p_a == pytest.approx(stats.ttest_1samp(differences_a, 0).pvalue, rel=1e-9)
        assert pair.p_b == pytest.approx(stats.ttest_1samp(differences_b, 0).pvalue, rel=1e-9)
        is_same_verdict = [
            verdict(np.where(row, differences_a, differences_b)) == verdict(differences_a)
            for row in is_from_a
        ]
        assert pair.same_verdict == sum(is_same_verdict) / n
        verdicts.add(verdict(differences_a))
    assert verdicts == {0.0, 1.0}


def test_a_second_assessor_who_agrees_changes_nothing() -> None:
    (a, _), runs = two_of(3), make_test_runs(5)
    runs["twin"] = runs["s1"]  # a pair that is tied stays so
    for assessment in (
        agreement(a, a, runs, "nDCG@5 P@3", mixtures=30),
        agreement(
            a, None, runs, "nDCG@5 P@3", mixtures=30, confusion={g: {g: 1} for g in range(3)}
        ),
    ):
        for ordering in assessment.orderings:
            assert ordering.taus == pytest.approx([1.0] * 30)
            assert ordering.mean_mixed.tolist() == pytest.approx(ordering.mean_a.tolist())
            assert all(pair.same_sign == pair.same_verdict == 1 for pair in ordering.pairs)
            twins = [pair for pair in ordering.pairs if {pair.left, pair.right} == {"twin", "s1"}]
            assert [(pair.difference_a, pair.p_a) for pair in twins] == [(0.0, 1.0)]
        assert assessment.pooled.kappa == assessment.pooled.overlap == 1
    assessment = agreement(a, a, runs)
    assert assessment.orderings[0].swapped == 0
    scores = evaluate(a, runs, "nDCG@10")
    assert assessment.orderings[0].mean_a.tolist() == [
        scores[name]["nDCG@10"] for name in assessment.orderings[0].systems
    ]


def test_the_same_seed_gives_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    (a, b), runs = two_of(4), make_test_runs(3)
    rates = {0: {0: 0.8, 1: 0.2}, 1: {1: 0.7, 0: 0.3}, 2: {2: 0.9, 1: 0.1}}
    option_sets: list[dict[str, Any]] = [{"qrels_b": b}, {"confusion": rates}]
    for options in option_sets:
        assessment = agreement(a, runs=runs, mixtures=50, seed=1, **options)
        second_assessment = agreement(a, runs=runs, mixtures=50, seed=1, **options)
        assessment_of_other_seed = agreement(a, runs=runs, mixtures=50, seed=2, **options)
        with monkeypatch.context() as patch:  # however many are looked at at once
            patch.setattr("cranfield.extensions.whatif.variants.ROWS", 100)
            assessment_in_parts = agreement(a, runs=runs, mixtures=50, seed=1, **options)
        assert assessment.to_dict() == second_assessment.to_dict() == assessment_in_parts.to_dict()
        assert assessment.orderings[0].taus == assessment_in_parts.orderings[0].taus
        assert assessment.to_dict() != assessment_of_other_seed.to_dict()


# ---- rates ----------------------------------------------------------------------------------


def test_generated_qrels_are_evaluated_as_any_qrels_are() -> None:
    (a, _), runs, n = two_of(5), make_test_runs(3), 6
    del a["q2"]["d3"], runs["s1"]["q4"]
    measures = [
        make_example(definition)[0]
        for definition in definitions()
        if not definition.traits.takes_groups and definition.aggregation in ("mean", "sum")
    ]
    rates: dict[int, dict[int, float]] = {
        0: {0: 6, 2: 4},
        1: {1: 1.0},
        2: {-1: 0.5, 3: 0.5},
        7: {8: 1},
    }
    assessment = agreement(a, None, runs, measures, mixtures=n, seed=11, confusion=rates)
    generator = np.random.Generator(np.random.PCG64(11))
    shares: dict[int, list[tuple[float, int]]] = {
        0: [(0.6, 0), (1, 2)],
        1: [(1, 1)],
        2: [(0.5, -1), (1, 3)],
    }
    rows = [(q, d) for q in sorted(a) for d in a[q]]
    all_means = []
    for _ in range(n):
        qrels: Grades = {q: {} for q in a}
        for (q, d), x in zip(rows, generator.random(len(rows)).tolist(), strict=True):
            qrels[q][d] = next(
                given_grade
                for cumulative_share, given_grade in shares[a[q][d]]
                if x < cumulative_share
            )
        qrels["scale"] = {"d": 8}
        scores = evaluate(qrels, runs, measures)
        all_means.append(
            {
                (m, s): sum(
                    score for q, score in system_scores.per_query(m).items() if q != "scale"
                )
                / 6
                for s, system_scores in scores.items()
                for m in map(str, system_scores.measures)
            }
        )
    assert len(assessment.orderings) > 50
    for ordering in assessment.orderings:
        for s, name in enumerate(ordering.systems):
            means_of_system = [
                means_of_qrels[ordering.measure, name] for means_of_qrels in all_means
            ]
            assert ordering.low[s] == pytest.approx(min(means_of_system), abs=1e-12)
            assert ordering.high[s] == pytest.approx(max(means_of_system), abs=1e-12)
            assert ordering.mean_mixed[s] == pytest.approx(sum(means_of_system) / n, abs=1e-12)
        assert (ordering.tau, ordering.swapped, ordering.mean_b) == (None, None, None)


def test_expected_agreement_is_that_of_the_expected_matrix() -> None:
    a, b = case_j()
    assessment = agreement(a, b)
    expected = agreement(a, confusion=assessment.rates)
    assert expected.matrix == pytest.approx(assessment.matrix)
    for name in ("kappa", "weighted_kappa", "agreement", "same_grade", "overlap"):
        number = getattr(expected.pooled, name)
        assert number == pytest.approx(getattr(assessment.pooled, name), abs=1e-12)
    assert expected.pooled.relevant_a == 25
    assert expected.pooled.relevant_b == pytest.approx(30)
    rate_of_pair = {(g, h): rate for g, row in assessment.rates.items() for h, rate in row.items()}
    assert agreement(a, confusion=rate_of_pair).to_dict() == expected.to_dict()
    assert expected.per_query == {}


# ---- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "takes a second qrels, or confusion"),
        ({"qrels_b": {"q": {"d": 1}}, "confusion": {1: {1: 1}}}, "and not both"),
        ({"confusion": {0: {0: 1}}}, "grade 1, of which it says nothing"),
        ({"confusion": {1: {1: 0}}}, "grade 1, of which it says nothing"),
        ({"confusion": {1: {1: -1}}}, "is no rate"),
        ({"confusion": {1: {1: math.inf}}}, "is no rate"),
        ({"confusion": {"1": {1: 1}}}, "grades are whole numbers"),
        ({"confusion": {1: 1}}, "expected \\(true grade"),
        (
            {"qrels_b": {"q": {"d": 1}}, "mixtures": 0},
            "mixtures=0: expected a whole number of at least 1",
        ),
        ({"qrels_b": {"q": {"d": 1}}, "seed": -1}, "seed=-1"),
        ({"qrels_b": {"q": {"d": 1}}, "rel": 1.5}, "rel=1.5"),
        ({"qrels_b": {"q": {"d": 1}}, "alpha": 1}, "alpha=1"),
    ],
)
def test_impossible_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        agreement({"q": {"d": 1}}, **options)


def test_judgments_and_measures_that_cannot_be_taken() -> None:
    a, runs = {"q": {"d": 1}}, {"s": {"q": ["d"]}, "t": {"q": ["e"]}}
    groups = {"q": {"ann": {"d": 1}, "bob": {"d": 0}}}
    with pytest.raises(InputError, match="the second qrels are judgments in groups"):
        agreement(a, groups)
    with pytest.raises(OptionError, match="not judgments in groups"):
        agreement(groups, confusion={1: {1: 1}})
    for measure in ("GMAP", "RelString@3"):
        with pytest.raises(MeasureError, match="by the mean over their queries"):
            agreement(a, a, runs, measure)
    with pytest.raises(MeasureError, match="takes judgments in groups, too, or preferences"):
        agreement(a, None, runs, "Prefs(over='all')", confusion={1: {1: 1}})


def test_one_query_and_one_system_have_an_answer() -> None:
    a, b = {"q": {"d": 1, "e": 0}}, {"q": {"d": 0, "e": 1}}
    one_system = agreement(a, b, {"s": {"q": ["d", "e"]}}, "RR", mixtures=5)
    assert one_system.orderings[0].pairs == []
    assert (
        one_system.orderings[0].tau
        is one_system.orderings[0].mean_tau
        is one_system.orderings[0].min_tau
        is None
    )
    assert len(one_system.tables()) == 4
    two_systems = agreement(
        a, b, {"s": {"q": ["d", "e"]}, "t": {"q": ["e", "d"]}}, "RR", mixtures=5
    )
    (pair,) = two_systems.orderings[0].pairs
    assert (pair.p_a, pair.p_b, pair.same_verdict) == (None, None, 1.0)
    twins = agreement(a, b, {"s": {"q": ["d"]}, "t": {"q": ["d"]}}, "RR", mixtures=5)
    assert twins.orderings[0].tau is twins.orderings[0].mean_tau is None
    for assessment in (one_system, two_systems, twins):
        assert "nan" not in str(assessment).lower()
        json.dumps(assessment.to_dict(), allow_nan=False)


# ---- the command ----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    a, b = two_of(6)
    for name, qrels in (("a.qrels", a), ("b.qrels", b)):
        cranfield.Qrels(qrels).write(tmp_path / name)
    for name, run in make_test_runs(3).items():
        cranfield.Run({q: {d: -i for i, d in enumerate(docs)} for q, docs in run.items()}).write(
            tmp_path / f"{name}.run"
        )
    return [str(tmp_path / name) for name in ("a.qrels", "b.qrels", "s0.run", "s1.run", "s2.run")]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["agreement", *arguments])


def test_the_command_prints_what_the_function_finds(files: list[str]) -> None:
    assessment = agreement(files[0], files[1], files[2:], "nDCG@5 AP(rel=2)", rel=2, mixtures=20)
    options = ["-m", "nDCG@5", "-m", "AP", "--rel", "2", "--mixtures", "20"]
    table = invoke(*files, *options)
    assert (table.exit_code, table.stdout) == (0, str(assessment))
    output = json.loads(invoke(*files, *options, "--format", "json").stdout)
    assert output == json.loads(json.dumps(assessment.to_dict()))
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        text = invoke(*files, *options, "--format", form, "-q").stdout
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
        assert rows[0] == ["part", "measure", "name", "other", "quantity", "value"]
        assert ["agreement", "", "all", "", "kappa", str(assessment.pooled.kappa)] in rows
        assert ["agreement", "", "q1", "", "both", "12"] in rows
        ordering = assessment.orderings[1]
        assert ["ordering", "AP(rel=2)", "", "", "min_tau", str(ordering.min_tau)] in rows
        pair = ordering.pairs[0]
        expected_row = [
            "pair",
            "AP(rel=2)",
            pair.left,
            pair.right,
            "same_sign",
            str(pair.same_sign),
        ]
        assert expected_row in rows
    for form, mark in (("markdown", "\n| :--"), ("latex", "\\begin{tabular}"), ("html", "<table>")):
        assert invoke(*files, "--format", form).stdout.count(mark) == len(assessment.tables())
    assert "q3" in invoke(*files, "-q").stdout
    assert "q3" not in invoke(*files).stdout


def test_the_command_takes_rates_in_place_of_the_second_qrels(
    files: list[str], tmp_path: Path
) -> None:
    rates = {0: {0: 0.9, 1: 0.1}, 1: {0: 0.2, 1: 0.8}, 2: {2: 1.0}}
    assessment = agreement(files[0], None, files[2:], mixtures=20, confusion=rates)
    rows = [(true, g, rate) for true, row in rates.items() for g, rate in row.items()]
    contents = {
        "r.json": json.dumps(rates),
        "r.csv": "grade,given,rate\n" + "".join(f"{t},{g},{r}\n" for t, g, r in rows),
        "r.tsv": "rate\tgrade\tgiven\n" + "".join(f"{r}\t{t}\t{g}\n" for t, g, r in rows),
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        options = ["--confusion", str(tmp_path / name), "--mixtures", "20"]
        assert invoke(files[0], *files[2:], *options).stdout == str(assessment)


@pytest.mark.parametrize(
    ("content", "location", "message"),
    [
        (b"", "", "expected the columns grade, given and rate in its first line"),
        (b"[1]", "", "element 0: expected a JSON object"),
        (b"[]", "", "holds no rates"),
        (b"{1: 2}", ":1", "is not valid JSON"),
        (b'{"1": 2}', ":1", "expected the columns grade, given and rate, got 1"),
        (b'{"1": {"0": -1}}', "", "a rate of at least 0, got '1', '0', -1"),
        (b"\na,b\n1,2\n", ":2", "expected the columns grade, given and rate"),
        (b"0,0,0.9\n0,1,0.1\n", ":1", "expected the columns grade, given and rate"),
        (b"grade,given,rate\n1,x,2\n", ":2", "expected two whole grades and a rate"),
        (b"grade,given,rate\n1,0,1\n1,0.5,2\n", ":3", "expected two whole grades and a rate"),
        (b"grade,given,rate\n1,0,1\n1,0,2\n", ":3", "a second rate of grade 0 for grade 1"),
        (b"grade,given,rate\n1,0\n", ":2", "expected 3 columns"),
        (b"\xff", ":1", "is not text"),
    ],
)
def test_rates_that_cannot_be_read(
    files: list[str], tmp_path: Path, content: bytes, location: str, message: str
) -> None:
    (tmp_path / "rates").write_bytes(content)
    outcome = invoke(files[0], "--confusion", str(tmp_path / "rates"))
    assert outcome.exit_code == 2
    assert f"{tmp_path / 'rates'}{location}: " in outcome.stderr
    assert message in outcome.stderr


def test_a_second_qrels_is_asked_for(files: list[str]) -> None:
    outcome = invoke(files[0])
    assert outcome.exit_code == 2
    assert "name a second qrels" in outcome.stderr


def test_results_show_themselves() -> None:
    runs = {"s": {"q": ["d0"]}, "t": {"q": ["d1"]}}
    assessment = agreement({"q": {"d0": 1, "d1": 0}}, {"q": {"d0": 0, "d1": 1}}, runs, mixtures=30)
    assert isinstance(assessment, Agreement)
    assert repr(assessment) == "Agreement(kappa -1.0000, overlap 0.0000, 1 orderings)"
    assert assessment._repr_html_().count("<table>") == len(assessment.tables()) == 6
    equal_result = agreement(
        {"q": {"d0": 1, "d1": 0}}, {"q": {"d0": 1, "d1": 0}}, runs, mixtures=30
    )
    assert len(equal_result.tables()) == 5  # no pair changes


def test_queries_are_left_out_where_two_of_several_assessors_share_them() -> None:
    chance = random.Random(3)
    qrels = {f"q{i}": {f"d{j}": chance.randint(0, 1) for j in range(5)} for i in range(9)}
    noisy_qrels = {
        q: {d: chance.choice([g, 1 - g, g]) for d, g in grades.items()}
        for q, grades in qrels.items()
    }
    assessment = agreement({"q0": qrels["q0"]}, qrels, extra_qrels={"third": noisy_qrels})
    assert "leave out one query after the other" in str(assessment)  # nine, of which all judge one
    assert {coefficient.left_out for coefficient in assessment.coefficients} == {"query"}
    assessment_of_two = agreement({"q0": qrels["q0"]}, {"q0": noisy_qrels["q0"]})
    assert "leave out one document after the other" in str(assessment_of_two)


def test_a_third_qrels_in_the_place_of_a_run_is_told(files: list[str], tmp_path: Path) -> None:
    third = tmp_path / "third.txt"
    third.write_bytes(Path(files[0]).read_bytes())
    outcome = invoke(*files[:2], str(third))
    assert outcome.exit_code == 2
    assert f"--qrels {third}" in outcome.stderr


def test_grades_below_0_are_told() -> None:
    assessment = agreement({"q": {"a": 1, "b": -1}}, {"q": {"a": 1, "b": 0}})
    assert "1 grade of A below 0, compared as any other" in str(assessment)
    third = {"q": {"a": -1, "b": 0}}
    assessment = agreement(
        {"q": {"a": 1, "b": 0}}, {"q": {"a": 1, "b": 0}}, extra_qrels={"crowd": third}
    )
    assert "1 grade of crowd below 0" in str(assessment)
    assert "below-0" in {note.code for note in assessment.notes}


def test_documents_that_were_not_drawn_are_left_out_of_agreement() -> None:
    whole_qrels = {"q": {"a": 1, "b": 0, "c": 1}, "r": {"a": 0, "b": 1, "c": 1}}
    rows = [("q", "a", 1), ("q", "b", 1), ("q", "c", -1), ("r", "a", 0), ("r", "b", -1)]
    names = ("query_id", "doc_id", "relevance", "stratum")
    sample = [dict(zip(names, (*row, 1), strict=True)) for row in rows]
    drawn_qrels = {"q": {"a": 1, "b": 1}, "r": {"a": 0}}
    assessment = agreement(whole_qrels, sample)
    assert assessment.pooled == agreement(whole_qrels, drawn_qrels).pooled
    assert "B is a sample: coefficients are of labelled documents alone" in str(assessment)
    assert "below 0" not in str(assessment)
    assert "A is a sample" in str(agreement(sample, whole_qrels))
    with pytest.raises(OptionError, match="B is a sample"):
        agreement(whole_qrels, sample, {"q": ["a"]}, "P@1")


def test_which_two_of_several_assessors_share_nothing_is_told() -> None:
    a, b, c = ({query: {"d": 1, "e": 0}} for query in ("q1", "q1", "q2"))
    with pytest.raises(NothingSharedError, match="These are the assessors A and third"):
        agreement(a, b, extra_qrels={"third": c})
