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
from cranfield.extensions.labels.assessors.judgments import Agreed
from cranfield.measures import definitions, example_of

Grades = dict[str, dict[str, int]]


def case_j() -> tuple[Grades, Grades]:
    """The matrix [[20, 5], [10, 15]], of which the first class is "relevant"."""
    cells = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    random.Random(1).shuffle(cells)
    sides = [{f"d{i}": cell[side] for i, cell in enumerate(cells)} for side in (0, 1)]
    return {"q": sides[0]}, {"q": sides[1]}


def test_case_j() -> None:
    found = agreement(*case_j())
    assert (found.grades, found.matrix.tolist()) == ([0, 1], [[15, 10], [5, 20]])
    for one in (found.pooled, found.per_query["q"]):
        assert (one.kappa, one.agreement, one.overlap) == (0.4, 0.7, 20 / 35)
        assert (one.weighted_kappa, one.same_grade, one.overlap_all) == (0.4, 0.7, 20 / 35)
    other_way = [{"q": {doc: 1 - grade for doc, grade in one["q"].items()}} for one in case_j()]
    assert agreement(*other_way).pooled.overlap == 15 / 30


# ---- from the definitions -------------------------------------------------------------------


def some_qrels(seed: int) -> Grades:
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
    seen = sum((a - b) ** 2 for a, b in pairs) / n if n else 0
    by_chance = sum(rows[a] * columns[b] * (a - b) ** 2 for a in rows for b in columns)
    return 1 - seen / (by_chance / n**2) if by_chance else None


def from_the_definition(a: Grades, b: Grades, queries: list[str], rel: int) -> dict[str, Any]:
    def share(part: set[Any], whole: set[Any]) -> float | None:
        return len(part) / len(whole) if whole else None

    ours, theirs = ({(q, d): one[q][d] for q in queries for d in one[q]} for one in (a, b))
    both = ours.keys() & theirs.keys()
    r_ours, r_theirs = ({d for d in one if one[d] >= rel} for one in (ours, theirs))
    return {
        "both": len(both),
        "only_a": len(ours.keys() - theirs.keys()),
        "only_b": len(theirs.keys() - ours.keys()),
        "relevant_a": len(r_ours),
        "relevant_b": len(r_theirs),
        "agreement": share({d for d in both if (d in r_ours) == (d in r_theirs)}, both),
        "kappa": kappa_of([(int(d in r_ours), int(d in r_theirs)) for d in both]),
        "same_grade": share({d for d in both if ours[d] == theirs[d]}, both),
        "weighted_kappa": kappa_of([(ours[d], theirs[d]) for d in both]),
        "overlap": share(both & r_ours & r_theirs, both & (r_ours | r_theirs)),
        "overlap_all": share(r_ours & r_theirs, r_ours | r_theirs),
    }


@pytest.mark.parametrize("rel", [0, 1, 2])
def test_every_number_is_its_definition(rel: int) -> None:
    for seed in seeds(60):
        a, b = some_qrels(seed), some_qrels(seed + 1000)
        found = agreement(a, b, rel=rel)
        shared = sorted(a.keys() & b.keys())
        assert list(found.per_query) == shared
        for queries, one in [(shared, found.pooled), *(([q], found.per_query[q]) for q in shared)]:
            expected = from_the_definition(a, b, queries, rel)
            assert vars(one) == pytest.approx(expected, abs=1e-12), (seed, queries)
        pairs = [(a[q][d], b[q][d]) for q in shared for d in a[q].keys() & b[q].keys()]
        counted = Counter(pairs)
        assert found.grades == sorted({grade for pair in pairs for grade in pair})
        assert found.matrix.tolist() == [
            [counted[x, y] for y in found.grades] for x in found.grades
        ]


def test_ids_of_any_length_and_script_are_matched() -> None:
    ids = ["a", "a" * 8, "a" * 9, "ä", "ä" * 40, "x" * 300, "x" * 299 + "y", "\udcff"]
    a = {"q": dict.fromkeys(ids, 1), "only a": {"a": 1}}
    b = {"q": dict.fromkeys(ids[::-1], 1), "z": {"a": 1}, "zz": {"a": 1}}
    found = agreement(a, b)
    assert (found.pooled.both, found.pooled.only_a, found.pooled.only_b) == (len(ids), 0, 0)
    assert [(note.code, note.source, note.queries) for note in found.notes] == [
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
        found = agreement(a, b)
    except NothingSharedError:
        assert not any(a[q].keys() & b[q].keys() for q in a.keys() & b.keys())
        return
    swapped = agreement(b, a)
    assert swapped.matrix.tolist() == found.matrix.T.tolist()
    for one, other in [
        (found.pooled, swapped.pooled),
        *((found.per_query[q], swapped.per_query[q]) for q in found.per_query),
    ]:
        ours = vars(one)
        assert vars(other) == {
            **ours,
            "only_a": ours["only_b"],
            "only_b": ours["only_a"],
            "relevant_a": ours["relevant_b"],
            "relevant_b": ours["relevant_a"],
        }


@settings(max_examples=examples(50), deadline=None)
@given(QRELS)
def test_qrels_agree_with_themselves(a: Grades) -> None:
    found = agreement(a, a)
    for one in (found.pooled, *found.per_query.values()):
        assert one.agreement == one.same_grade == 1
        assert {one.kappa, one.weighted_kappa, one.overlap, one.overlap_all} <= {1.0, None}


def test_what_has_no_value_is_none() -> None:
    found = agreement({"p": {"a": 1}, "q": {"a": 0}}, {"p": {"a": 1}, "q": {"b": 0, "a": 0}})
    assert found.per_query["p"] == Agreed(1, 0, 0, 1, 1, 1.0, None, 1.0, None, 1.0, 1.0)
    assert found.per_query["q"] == Agreed(1, 0, 1, 0, 0, 1.0, None, 1.0, None, None, None)
    table = found.tables(per_query=True)[0]
    assert [row[0] for row in table.rows] == ["p", "q", "mean of 2", "all together"]
    assert table.rows[1][-2:] == ["-", "-"]
    assert "NaN" not in json.dumps(found.to_dict())
    alone = agreement({"q": {"a": 1}}, {"q": {"b": 1, "a": 0}, "p": {"a": 0}})
    assert alone.pooled.kappa == 0


def test_nothing_shared_is_said_kindly() -> None:
    with pytest.raises(NothingSharedError, match="share no query: the first has 'q1'"):
        agreement({"q1": {"d": 1}}, {"q2": {"d": 1}})
    with pytest.raises(NothingSharedError, match="judge no document of these both"):
        agreement({"q": {"d": 1}, "p": {"e": 1}}, {"q": {"e": 1}})


# ---- systems --------------------------------------------------------------------------------


def some_runs(n: int, seed: int = 5, n_queries: int = 6) -> dict[str, dict[str, list[str]]]:
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
    (a, b), runs, n, measures = two_of(1), some_runs(4), 25, ["nDCG@5", "ERR@5", "AP"]
    a["q0"]["d0"] = 3  # the highest grade is in A alone, and ERR asks for it
    b["q9"] = {"d0": 1}
    found = agreement(a, b, runs, measures, mixtures=n, seed=7)
    source = np.random.Generator(np.random.PCG64(7))
    drawn = source.random((n, 6)) < 0.5
    shared = sorted(a)
    scale = {"scale": {"d": 3}}
    for k, measure in enumerate(measures):
        ordering = found.orderings[k]
        assert ordering.systems == sorted(runs, key=lambda s: -means(a | scale, runs, measure)[s])
        by_mixture = []
        for from_a in drawn.tolist():
            mixed = {q: (a if one else b)[q] for q, one in zip(shared, from_a, strict=True)}
            by_mixture.append(means(mixed | scale, runs, measure))
        for s, name in enumerate(ordering.systems):
            values = [one[name] for one in by_mixture]
            assert ordering.mean_a[s] == pytest.approx(means(a | scale, runs, measure)[name])
            assert ordering.mean_mixed[s] == pytest.approx(math.fsum(values) / n)
            assert ordering.low[s] == pytest.approx(min(values))
            assert ordering.high[s] == pytest.approx(max(values))
        assert ordering.mean_b is not None
        ours, theirs = ordering.mean_a, ordering.mean_b
        assert ordering.tau == pytest.approx(stats.kendalltau(ours, theirs).statistic)
        taus = [
            stats.kendalltau(ours, [one[name] for name in ordering.systems]).statistic
            for one in by_mixture
        ]
        assert ordering.taus == pytest.approx(taus)
        assert ordering.mean_tau == pytest.approx(sum(taus) / n)
        assert ordering.min_tau == pytest.approx(min(taus))
        for pair in ordering.pairs:
            assert pair.difference_a >= 0  # the left one is the better under A
            same = [one[pair.left] > one[pair.right] for one in by_mixture]
            assert pair.same_sign == sum(same) / n
    (note,) = [one for one in found.notes if one.code == "highest-grade"]
    assert "The highest grade is 3 in A and 2 in B" in note.text


@pytest.mark.parametrize("measure", ["nDCG@5", "LastRel"])
def test_what_two_assessors_say_of_two_systems_is_compared(measure: str) -> None:
    (a, b), runs = two_of(3), some_runs(4)
    found = agreement(a, b, runs, measure, mixtures=2)
    under = [
        {name: evaluate(q, run, measure).per_query(measure) for name, run in runs.items()}
        for q in (a, b)
    ]
    for pair in found.orderings[0].pairs:
        of_a, of_b = (
            np.array([of[pair.left][query] - of[pair.right][query] for query in sorted(a)])
            for of in under
        )
        assert pair.change == pytest.approx(np.mean(of_a) - np.mean(of_b), abs=1e-12)
        assert pair.difference_b is not None
        assert pair.change == pytest.approx(pair.difference_a - pair.difference_b, abs=1e-12)
        assert pair.p_change == pytest.approx(stats.ttest_rel(of_a, of_b).pvalue, rel=1e-9)
    (first,) = found.to_dict()["orderings"]
    assert {"change", "p_change"} <= set(first["pairs"][0])
    generated = agreement(
        a, None, runs, measure, mixtures=2, confusion={g: {g: 1} for g in range(4)}
    )
    assert {pair.p_change for pair in generated.orderings[0].pairs} == {None}


def test_the_difference_of_two_differences_is_beside_them() -> None:
    (a, b), runs = two_of(3), some_runs(4)
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
        name: sum(v for q, v in one.per_query(measure).items() if q != "scale") / 6
        for name, one in scores.items()
    }


def test_p_and_verdicts_are_those_of_paired_t_tests() -> None:
    (a, b), runs, n = two_of(2, 15), some_runs(4, n_queries=15), 40
    for s in range(15):  # one system is clearly better under A
        runs["s0"][f"q{s}"] = sorted(a[f"q{s}"], key=lambda d: -a[f"q{s}"][d])[:8]
    found = agreement(a, b, runs, "nDCG", mixtures=n, seed=3, alpha=0.2)
    shared = sorted(a)
    drawn = np.random.Generator(np.random.PCG64(3)).random((n, 15)) < 0.5
    scores = [evaluate(one, runs, "nDCG") for one in (a, b)]

    def verdict(differences: np.ndarray) -> float:
        p = stats.ttest_1samp(differences, 0).pvalue
        return float(np.sign(differences.mean())) if p <= 0.2 else 0.0

    verdicts = set()
    for pair in found.orderings[0].pairs:
        ours, theirs = (
            np.array([one[pair.left].per_query("nDCG")[q] for q in shared])
            - np.array([one[pair.right].per_query("nDCG")[q] for q in shared])
            for one in scores
        )
        assert pair.p_a == pytest.approx(stats.ttest_1samp(ours, 0).pvalue, rel=1e-9)
        assert pair.p_b == pytest.approx(stats.ttest_1samp(theirs, 0).pvalue, rel=1e-9)
        same = [verdict(np.where(row, ours, theirs)) == verdict(ours) for row in drawn]
        assert pair.same_verdict == sum(same) / n
        verdicts.add(verdict(ours))
    assert verdicts == {0.0, 1.0}


def test_a_second_assessor_who_agrees_changes_nothing() -> None:
    (a, _), runs = two_of(3), some_runs(5)
    runs["twin"] = runs["s1"]  # a pair that is tied stays so
    for found in (
        agreement(a, a, runs, "nDCG@5 P@3", mixtures=30),
        agreement(
            a, None, runs, "nDCG@5 P@3", mixtures=30, confusion={g: {g: 1} for g in range(3)}
        ),
    ):
        for ordering in found.orderings:
            assert ordering.taus == pytest.approx([1.0] * 30)
            assert ordering.mean_mixed.tolist() == pytest.approx(ordering.mean_a.tolist())
            assert all(pair.same_sign == pair.same_verdict == 1 for pair in ordering.pairs)
            twins = [pair for pair in ordering.pairs if {pair.left, pair.right} == {"twin", "s1"}]
            assert [(one.difference_a, one.p_a) for one in twins] == [(0.0, 1.0)]
        assert found.pooled.kappa == found.pooled.overlap == 1
    found = agreement(a, a, runs)
    assert found.orderings[0].swapped == 0
    scores = evaluate(a, runs, "nDCG@10")
    assert found.orderings[0].mean_a.tolist() == [
        scores[name]["nDCG@10"] for name in found.orderings[0].systems
    ]


def test_the_same_seed_gives_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    (a, b), runs = two_of(4), some_runs(3)
    rates = {0: {0: 0.8, 1: 0.2}, 1: {1: 0.7, 0: 0.3}, 2: {2: 0.9, 1: 0.1}}
    ways: list[dict[str, Any]] = [{"qrels_b": b}, {"confusion": rates}]
    for way in ways:
        once = agreement(a, runs=runs, mixtures=50, seed=1, **way)
        again = agreement(a, runs=runs, mixtures=50, seed=1, **way)
        other = agreement(a, runs=runs, mixtures=50, seed=2, **way)
        with monkeypatch.context() as patch:  # however many are looked at at once
            patch.setattr("cranfield.extensions.whatif.variants.ROWS", 100)
            in_parts = agreement(a, runs=runs, mixtures=50, seed=1, **way)
        assert once.to_dict() == again.to_dict() == in_parts.to_dict()
        assert once.orderings[0].taus == in_parts.orderings[0].taus
        assert once.to_dict() != other.to_dict()


# ---- rates ----------------------------------------------------------------------------------


def test_generated_qrels_are_evaluated_as_any_qrels_are() -> None:
    (a, _), runs, n = two_of(5), some_runs(3), 6
    del a["q2"]["d3"], runs["s1"]["q4"]
    measures = [
        example_of(one)[0]
        for one in definitions()
        if not one.traits.takes_groups and one.aggregation in ("mean", "sum")
    ]
    rates: dict[int, dict[int, float]] = {
        0: {0: 6, 2: 4},
        1: {1: 1.0},
        2: {-1: 0.5, 3: 0.5},
        7: {8: 1},
    }
    found = agreement(a, None, runs, measures, mixtures=n, seed=11, confusion=rates)
    source = np.random.Generator(np.random.PCG64(11))
    shares: dict[int, list[tuple[float, int]]] = {
        0: [(0.6, 0), (1, 2)],
        1: [(1, 1)],
        2: [(0.5, -1), (1, 3)],
    }
    rows = [(q, d) for q in sorted(a) for d in a[q]]
    all_means = []
    for _ in range(n):
        made: Grades = {q: {} for q in a}
        for (q, d), x in zip(rows, source.random(len(rows)).tolist(), strict=True):
            made[q][d] = next(given for end, given in shares[a[q][d]] if x < end)
        made["scale"] = {"d": 8}
        scores = evaluate(made, runs, measures)
        all_means.append(
            {
                (m, s): sum(v for q, v in one.per_query(m).items() if q != "scale") / 6
                for s, one in scores.items()
                for m in map(str, one.measures)
            }
        )
    assert len(found.orderings) > 50
    for ordering in found.orderings:
        for s, name in enumerate(ordering.systems):
            values = [one[ordering.measure, name] for one in all_means]
            assert ordering.low[s] == pytest.approx(min(values), abs=1e-12)
            assert ordering.high[s] == pytest.approx(max(values), abs=1e-12)
            assert ordering.mean_mixed[s] == pytest.approx(sum(values) / n, abs=1e-12)
        assert (ordering.tau, ordering.swapped, ordering.mean_b) == (None, None, None)


def test_expected_agreement_is_that_of_the_expected_matrix() -> None:
    a, b = case_j()
    found = agreement(a, b)
    expected = agreement(a, confusion=found.rates)
    assert expected.matrix == pytest.approx(found.matrix)
    for name in ("kappa", "weighted_kappa", "agreement", "same_grade", "overlap"):
        value = getattr(expected.pooled, name)
        assert value == pytest.approx(getattr(found.pooled, name), abs=1e-12)
    assert expected.pooled.relevant_a == 25
    assert expected.pooled.relevant_b == pytest.approx(30)
    flat = {(g, h): rate for g, row in found.rates.items() for h, rate in row.items()}
    assert agreement(a, confusion=flat).to_dict() == expected.to_dict()
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
    one = agreement(a, b, {"s": {"q": ["d", "e"]}}, "RR", mixtures=5)
    assert one.orderings[0].pairs == []
    assert one.orderings[0].tau is one.orderings[0].mean_tau is one.orderings[0].min_tau is None
    assert len(one.tables()) == 4
    two = agreement(a, b, {"s": {"q": ["d", "e"]}, "t": {"q": ["e", "d"]}}, "RR", mixtures=5)
    (pair,) = two.orderings[0].pairs
    assert (pair.p_a, pair.p_b, pair.same_verdict) == (None, None, 1.0)
    twins = agreement(a, b, {"s": {"q": ["d"]}, "t": {"q": ["d"]}}, "RR", mixtures=5)
    assert twins.orderings[0].tau is twins.orderings[0].mean_tau is None
    for found in (one, two, twins):
        assert "nan" not in str(found).lower()
        json.dumps(found.to_dict(), allow_nan=False)


# ---- the command ----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    a, b = two_of(6)
    for name, one in (("a.qrels", a), ("b.qrels", b)):
        cranfield.Qrels(one).write(tmp_path / name)
    for name, run in some_runs(3).items():
        cranfield.Run({q: {d: -i for i, d in enumerate(docs)} for q, docs in run.items()}).write(
            tmp_path / f"{name}.run"
        )
    return [str(tmp_path / name) for name in ("a.qrels", "b.qrels", "s0.run", "s1.run", "s2.run")]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["agreement", *arguments])


def test_the_command_prints_what_the_function_finds(files: list[str]) -> None:
    found = agreement(files[0], files[1], files[2:], "nDCG@5 AP(rel=2)", rel=2, mixtures=20)
    options = ["-m", "nDCG@5", "-m", "AP", "--rel", "2", "--mixtures", "20"]
    table = invoke(*files, *options)
    assert (table.exit_code, table.stdout) == (0, str(found))
    shown = json.loads(invoke(*files, *options, "--format", "json").stdout)
    assert shown == json.loads(json.dumps(found.to_dict()))
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        text = invoke(*files, *options, "--format", form, "-q").stdout
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
        assert rows[0] == ["part", "measure", "name", "other", "quantity", "value"]
        assert ["agreement", "", "all", "", "kappa", str(found.pooled.kappa)] in rows
        assert ["agreement", "", "q1", "", "both", "12"] in rows
        ordering = found.orderings[1]
        assert ["ordering", "AP(rel=2)", "", "", "min_tau", str(ordering.min_tau)] in rows
        pair = ordering.pairs[0]
        wanted = ["pair", "AP(rel=2)", pair.left, pair.right, "same_sign", str(pair.same_sign)]
        assert wanted in rows
    for form, mark in (("markdown", "\n| :--"), ("latex", "\\begin{tabular}"), ("html", "<table>")):
        assert invoke(*files, "--format", form).stdout.count(mark) == len(found.tables())
    assert "q3" in invoke(*files, "-q").stdout
    assert "q3" not in invoke(*files).stdout


def test_the_command_takes_rates_in_place_of_the_second_qrels(
    files: list[str], tmp_path: Path
) -> None:
    rates = {0: {0: 0.9, 1: 0.1}, 1: {0: 0.2, 1: 0.8}, 2: {2: 1.0}}
    found = agreement(files[0], None, files[2:], mixtures=20, confusion=rates)
    rows = [(true, g, rate) for true, row in rates.items() for g, rate in row.items()]
    contents = {
        "r.json": json.dumps(rates),
        "r.csv": "grade,given,rate\n" + "".join(f"{t},{g},{r}\n" for t, g, r in rows),
        "r.tsv": "rate\tgrade\tgiven\n" + "".join(f"{r}\t{t}\t{g}\n" for t, g, r in rows),
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        options = ["--confusion", str(tmp_path / name), "--mixtures", "20"]
        assert invoke(files[0], *files[2:], *options).stdout == str(found)


@pytest.mark.parametrize(
    ("content", "where", "said"),
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
    files: list[str], tmp_path: Path, content: bytes, where: str, said: str
) -> None:
    (tmp_path / "rates").write_bytes(content)
    done = invoke(files[0], "--confusion", str(tmp_path / "rates"))
    assert done.exit_code == 2
    assert f"{tmp_path / 'rates'}{where}: " in done.stderr
    assert said in done.stderr


def test_a_second_qrels_is_asked_for(files: list[str]) -> None:
    done = invoke(files[0])
    assert done.exit_code == 2
    assert "name a second qrels" in done.stderr


def test_results_show_themselves() -> None:
    runs = {"s": {"q": ["d0"]}, "t": {"q": ["d1"]}}
    found = agreement({"q": {"d0": 1, "d1": 0}}, {"q": {"d0": 0, "d1": 1}}, runs, mixtures=30)
    assert isinstance(found, Agreement)
    assert repr(found) == "Agreement(kappa -1.0000, overlap 0.0000, 1 orderings)"
    assert found._repr_html_().count("<table>") == len(found.tables()) == 6
    alike = agreement({"q": {"d0": 1, "d1": 0}}, {"q": {"d0": 1, "d1": 0}}, runs, mixtures=30)
    assert len(alike.tables()) == 5  # no pair changes


def test_queries_are_left_out_where_two_of_several_assessors_share_them() -> None:
    chance = random.Random(3)
    whole = {f"q{i}": {f"d{j}": chance.randint(0, 1) for j in range(5)} for i in range(9)}
    other = {
        q: {d: chance.choice([g, 1 - g, g]) for d, g in its.items()} for q, its in whole.items()
    }
    one = agreement({"q0": whole["q0"]}, whole, others={"third": other})
    assert "leave out one query after the other" in str(one)  # nine, of which all judge one
    assert {each.left_out for each in one.coefficients} == {"query"}
    alone = agreement({"q0": whole["q0"]}, {"q0": other["q0"]})
    assert "leave out one document after the other" in str(alone)


def test_a_third_qrels_in_the_place_of_a_run_is_told(files: list[str], tmp_path: Path) -> None:
    third = tmp_path / "third.txt"
    third.write_bytes(Path(files[0]).read_bytes())
    done = invoke(*files[:2], str(third))
    assert done.exit_code == 2
    assert f"--qrels {third}" in done.stderr


def test_grades_below_0_are_told() -> None:
    found = agreement({"q": {"a": 1, "b": -1}}, {"q": {"a": 1, "b": 0}})
    assert "1 grade of A below 0, compared as any other" in str(found)
    third = {"q": {"a": -1, "b": 0}}
    found = agreement({"q": {"a": 1, "b": 0}}, {"q": {"a": 1, "b": 0}}, others={"crowd": third})
    assert "1 grade of crowd below 0" in str(found)
    assert "below-0" in {one.code for one in found.notes}


def test_which_two_of_several_assessors_share_nothing_is_told() -> None:
    a, b, c = ({query: {"d": 1, "e": 0}} for query in ("q1", "q1", "q2"))
    with pytest.raises(NothingSharedError, match="These are the assessors A and third"):
        agreement(a, b, others={"third": c})
