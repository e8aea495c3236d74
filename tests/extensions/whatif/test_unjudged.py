"""Joint bounds of two runs: held against every way to grade the unjudged."""

import itertools
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from helpers.profile import sample_cases, seeds
from helpers.variants import variants

from cranfield import (
    CranfieldWarning,
    JointBounds,
    Measure,
    MeasureError,
    OptionError,
    Qrels,
    Run,
    Systems,
    Traits,
    compare,
    definitions,
    evaluate,
    joint_bounds,
    parse,
    parse_all,
    read_qrels,
    read_run,
)
from cranfield.arrays.ranked import Floats, ratio
from cranfield.data.judged import Judged
from cranfield.errors import NothingSharedError
from cranfield.extensions.whatif.extremes import RatioExtremes
from cranfield.extensions.whatif.joint_bounds import PairBounds, pair_bounds
from cranfield.measures import measure as register
from cranfield.scoring.evaluate import judged_share_measure

OF_USERS = (
    "CWL('P')@3 CWL('SDCG')@2 CWL('INSQ') CWL('TBG(h=2)', depth=6) CWL('U(L=4)', depth=6) "
    "CWL('INSQ', value='ETU', depth=5) CWL('SDCG', value='EC')@3"
)
LINEAR = [
    *(
        measure
        for definition in definitions()
        for measure in variants(definition.name)
        if measure.linear != "no"
    ),
    *parse_all(OF_USERS),
]
EXACT = [measure for measure in LINEAR if measure.linear == "exact"]
RATIO_MEASURES = [measure for measure in LINEAR if measure.linear == "ratio"]
RATIOS = [
    *(measure for measure in RATIO_MEASURES if measure.bounds == "ratio"),
    *parse_all("nDCG(gain={0: 1, 1: 3})@2 nDCG(gain={1: 2, 2: 1, -1: 1}) nDCG(gain='exp2')@3"),
]

Collection = tuple[dict[str, dict[str, int]], dict[str, list[str]], dict[str, list[str]]]


def test_which_measures_are_linear() -> None:
    names = {measure.name for measure in EXACT}
    assert names == {"P", "MeanP", "DCG", "nDCG", "RBP", "SetP", "NumRelRet", "NumNonRelRet", "CWL"}
    assert {measure.name for measure in RATIO_MEASURES} == {"nDCG"}
    for name in ("P@R", "nDCG@min(5,R)", "nDCG(ideal='retrieved')", "RBP(gain='linear')", "AP"):
        assert parse(name).linear == "no"
    for name in ("CWL('INST')", "CWL('RBP', unjudged=0.5)", "CWL('BPM')@5", "ERR", "Success@3"):
        assert parse(name).linear == "no"


# ---- case H of the design ---------------------------------------------------------------------

JUDGED = {"q": {"a": 1, "b": 0, "c": 1, "d": 0}}
A, B = {"q": ["a", "u1", "c", "u2", "b"]}, {"q": ["u1", "b", "a", "u3", "d"]}


@pytest.mark.parametrize(
    ("name", "difference", "joint", "naive"),
    [
        ("P@3", 1 / 3, (1 / 3, 1 / 3), (0, 2 / 3)),
        ("RBP", 0.2, (0.0576, 0.3024), (-0.1024, 0.4624)),
        ("DCG@5", 1, (0.2002531955, 1.4306765581), (-0.4306765581, 2.0616063116)),
    ],
)
def test_case_h(
    name: str, difference: float, joint: tuple[float, float], naive: tuple[float, float]
) -> None:
    bounds = joint_bounds(JUDGED, [A, B], name)
    assert bounds.methods == ("exact",)
    assert bounds.difference.tolist() == pytest.approx([difference], abs=1e-15)
    assert [bounds.low[0], bounds.high[0]] == pytest.approx(joint, abs=5e-11)
    a, b = (evaluate(JUDGED, run, name, bounds=True) for run in (A, B))
    separate = a[f"{name} low"] - b[f"{name} high"], a[f"{name} high"] - b[f"{name} low"]
    assert separate == pytest.approx(naive, abs=5e-11)
    assert bounds.robust.all()
    assert separate[0] <= 0


def test_case_h_by_eye() -> None:
    """DCG@5: u1 is at ranks 2 and 1, u2 at 4 in A, u3 at 4 in B."""
    u1, u2, u3 = 1 / math.log2(3) - 1, 1 / math.log2(5), -1 / math.log2(5)
    bounds = joint_bounds(JUDGED, [A, B], "DCG@5 nDCG@5")
    assert bounds.low[0] == pytest.approx(1 + u1 + u3, abs=1e-15)
    assert bounds.high[0] == pytest.approx(1 + u2, abs=1e-15)
    assert bounds.methods == ("exact", "exact")
    three = 1 + 1 / math.log2(3) + 1 / 2  # the ideal of a, c and u2
    assert bounds.low[1] == pytest.approx((1 + u1 + u3) / (three + 1 / math.log2(5)), abs=1e-15)
    assert bounds.high[1] == pytest.approx((1 + u2) / three, abs=1e-15)


# ---- every completion of small collections ----------------------------------------------------


def small(seed: int, top: int) -> Collection:
    """Return judgments and two runs, of which 4 documents at most are not judged."""
    chance = random.Random(seed)
    n_judged, n_unjudged = chance.randint(1, 4), chance.randint(0, 4 if top == 1 else 3)
    lowest = chance.choice([0, 0, -1])
    grades = {f"j{i}": chance.randint(lowest, top) for i in range(n_judged)}
    docs = [*grades, *(f"u{i}" for i in range(n_unjudged))]
    runs = []
    for _ in range(2):
        ranking = [doc for doc in docs if chance.random() < 0.7] or docs[:1]
        chance.shuffle(ranking)
        runs.append({"q": ranking})
    return {"q": grades}, runs[0], runs[1]


def shared(systems: Systems) -> Sequence[str]:
    """Return the ids of all queries, which every system has."""
    return next(iter(systems.values())).query_ids


def together(cases: list[Collection], top: int) -> tuple[Qrels, Run, Run]:
    """Return the cases as queries, and one more with the collection's top grade."""
    qrels = {f"q{i:06}": case[0]["q"] for i, case in enumerate(cases)}
    left_run, right_run = (
        Run({f"q{i:06}": case[n]["q"] for i, case in enumerate(cases)}, name)
        for n, name in ((1, "left"), (2, "right"))
    )
    return Qrels({**qrels, "the top": {"d": top}}), left_run, right_run


def list_completions(case: Collection, top: int) -> list[Collection]:
    grades, *runs = case
    unknown = sorted({doc for run in runs for doc in run["q"]} - grades["q"].keys())
    return [
        ({"q": {**grades["q"], **dict(zip(unknown, completion, strict=True))}}, runs[0], runs[1])
        for completion in itertools.product(range(top + 1), repeat=len(unknown))
    ]


def differences(qrels: Qrels, left_run: Run, right_run: Run, measures: list[Measure]) -> Floats:
    """Return (n_queries, n_measures)."""
    systems = evaluate(qrels, [left_run, right_run], measures)
    a, b = systems.values()
    return a.values - b.values


def near(scores_a: Floats, scores_b: Floats) -> bool:
    return bool((np.abs(scores_a - scores_b) <= 1e-12 * np.maximum(1, np.abs(scores_b))).all())


N_CASES = len(seeds(110))
# Users of C/W/L look at 1,000 ranks unless told otherwise, and these lists are short.
SHORT = [
    measure(depth=6) if measure.name == "CWL" and measure.parameters["depth"] > 20 else measure
    for measure in dict.fromkeys([*EXACT, *RATIOS])
    if measure.name != "CWL" or measure.cutoff is None or str(measure.cutoff) in "123456"
]


@pytest.mark.parametrize("top", [1, 2, 3])
def test_no_completion_is_beyond_and_both_ends_are_reached(top: int) -> None:
    cases = [small(1000 * top + i, top) for i in seeds(110)]
    completions_of_case = [
        (i, completion)
        for i, case in enumerate(cases)
        for completion in list_completions(case, top)
    ]
    owner = np.array([i for i, _ in completions_of_case] + [N_CASES])
    values = differences(
        *together([completion for _, completion in completions_of_case], top), SHORT
    )
    low, high = (np.full((N_CASES + 1, len(SHORT)), end) for end in (np.inf, -np.inf))
    np.minimum.at(low, owner, values)
    np.maximum.at(high, owner, values)
    qrels, *runs = together(cases, top)
    bounds = joint_bounds(qrels, runs, SHORT)
    assert set(bounds.methods) == {"exact"}
    for i, measure in enumerate(SHORT):
        assert near(bounds.query_low[:, i], low[:, i]), measure
        assert near(bounds.query_high[:, i], high[:, i]), measure
    assert (high - low > 0.01).mean() > 0.2  # there was something to find


@pytest.mark.parametrize("measure", EXACT, ids=str)
def test_a_linear_measure_is_the_sum_of_what_its_documents_add(measure: Measure) -> None:
    chance = random.Random(7)
    for _ in range(3):
        n = chance.randint(2, 9)
        ranking = [f"d{i}" for i in range(n)]
        grades = {doc: chance.randint(0, 3) for doc in ranking if chance.random() < 0.8}
        parts = [{}, *({doc: grade} for doc, grade in grades.items())]
        qrels = {f"q{i}": part for i, part in enumerate([grades, *parts])}
        run = dict.fromkeys(qrels, ranking)
        value, none, *document_values = (
            evaluate({**qrels, "top": {"x": 3}}, run, measure).values[:-1, 0].tolist()
        )
        assert value - none == pytest.approx(
            sum(part - none for part in document_values), abs=1e-12
        )


SEPARATE = [
    *parse_all("P@R P@min(2,R) Success@3 RR@2 ERR@2 R@9 F@3 R@3 SetF(beta=2) SetR(rel=2)"),
    *(
        measure
        for definition in definitions()
        for measure in variants(definition.name)
        if measure.linear == "no" and not (definition.is_text or definition.traits.takes_groups)
        if measure.bounds not in ("none", "refused")
    ),
]


@pytest.mark.parametrize("top", [1, 2, 3])
def test_separate_bounds_hold_whatever_either_run_retrieved(top: int) -> None:
    """Over every way to grade the unjudged documents of both; a measure has none, or these hold."""
    cases = [small(4_000 * top + i, top) for i in seeds(80)]
    qrels, left_run, right_run = together(cases, top)
    runs = {"left": left_run, "right": right_run}
    pair = np.array([0]), np.array([1])
    measures = list(dict.fromkeys(SEPARATE))
    systems = evaluate(qrels, runs, measures)
    bounds = pair_bounds(qrels, runs, systems, *pair, shared(systems))
    measure_indices = [i for i, measure_bounds in enumerate(bounds) if measure_bounds is not None]
    completions_of_case = [
        (i, completion)
        for i, case in enumerate(cases)
        for completion in list_completions(case, top)
    ]
    owner = np.array([i for i, _ in completions_of_case] + [len(cases)])
    bounded_measures = [measures[i] for i in measure_indices]
    values = differences(
        *together([completion for _, completion in completions_of_case], top), bounded_measures
    )
    for i, measure, column in zip(measure_indices, bounded_measures, values.T, strict=True):
        measure_bounds = bounds[i]
        assert measure_bounds is not None
        assert measure_bounds.method == "separate"
        low, high = (end[owner, 0] for end in (measure_bounds.query_low, measure_bounds.query_high))
        assert (low - 1e-12 <= column).all(), measure
        assert (column <= high + 1e-12).all(), measure
    names = {str(measure) for measure in bounded_measures}
    assert {"Success@3", "RR", "RR@2", "ERR", "ERR@2", "LastRel"} <= names
    assert not {"R@9", "AP", "Rprec", "F@3", "Bpref", "R@3", "NumRel"} & names
    assert not {"SetF", "SetR", "SetAP", "SetRelP", "SetF(beta=2)", "SetRelP(rel=0)"} & names


def test_what_only_the_other_run_retrieved_counts_in_what_there_is_to_be_found() -> None:
    """Where left has all that is relevant, and right has what nobody judged."""
    qrels, left_run, right_run = {"q": {"d0": 0, "d1": 1}}, {"q": ["d1"]}, {"q": ["d3", "d4"]}
    completed_qrels = {"q": {**qrels["q"], "d3": 1, "d4": 1}}
    values = [evaluate(completed_qrels, run, "SetF")["SetF"] for run in (left_run, right_run)]
    p, r = (1 / 1, 2 / 2), (1 / 3, 2 / 3)
    fs = [2 * a * b / (a + b) for a, b in zip(p, r, strict=True)]
    assert values == pytest.approx(fs)
    assert fs[0] - fs[1] == pytest.approx(-0.3)  # left was called the better one in any case
    for name in ("SetF", "SetR", "SetAP", "SetRelP"):
        with pytest.raises(MeasureError, match=f"{name}: there are no bounds"):
            joint_bounds(qrels, [left_run, right_run], name)
    comparison = compare(qrels, [left_run, right_run], "SetF SetP", bounds=True, test="t")
    assert [result.pairs[0].unjudged_low is None for result in comparison.results] == [True, False]


@pytest.fixture
def _own_measure() -> None:
    @register("FoundOf", traits=Traits(bounds="extremes"))
    def found_of(judged: Judged) -> Floats:
        """What was found, of all there is.

        Formula: found / all
        Source: this test
        """
        return ratio(judged.hits.relevant(1).count(), judged.n_relevant(1))


@pytest.mark.usefixtures("_own_measure")
def test_a_measure_of_ones_own_that_depends_on_what_was_not_found() -> None:
    with pytest.raises(MeasureError, match="no bounds of the difference"):
        joint_bounds(JUDGED, [A, B], "FoundOf")


# ---- pairs ------------------------------------------------------------------------------------

SOME = "P@3 DCG@5 nDCG@4 nDCG RBP CWL('SDCG')@4 SetP NumRelRet ERR RR"


def test_a_run_beside_itself_and_a_swapped_pair() -> None:
    qrels, left_run, right_run = together([small(i, 2) for i in range(50)], 2)
    equal_bounds = joint_bounds(qrels, [left_run, left_run], SOME.removesuffix(" ERR RR"))
    for column in (
        equal_bounds.low,
        equal_bounds.high,
        equal_bounds.query_low,
        equal_bounds.query_high,
    ):
        assert not column.any()
        assert not np.signbit(column).any()
    assert not equal_bounds.robust.any()
    forward_bounds, other = (
        joint_bounds(qrels, [left_run, right_run], SOME),
        joint_bounds(qrels, [right_run, left_run], SOME),
    )
    assert forward_bounds.low.tolist() == (-other.high).tolist()
    assert forward_bounds.high.tolist() == (-other.low).tolist()
    assert forward_bounds.query_low.tolist() == (-other.query_high).tolist()
    assert forward_bounds.methods == (
        *["exact"] * 8,
        *["separate"] * 2,
    )


def test_many_pairs_at_once_are_the_pairs_one_by_one() -> None:
    qrels, left_run, right_run = together([small(i, 2) for i in range(40)], 2)
    _, third, _ = together([small(900 + i, 2) for i in range(40)], 2)
    runs = {"left": left_run, "right": right_run, "third": third}
    systems = evaluate(qrels, runs, SOME)
    first, second = np.array([0, 2, 1, 1]), np.array([1, 0, 2, 0])
    bounds = pair_bounds(qrels, runs, systems, first, second, shared(systems))
    for pair in range(4):
        names = [list(runs)[n] for n in (first[pair], second[pair])]
        alone = joint_bounds(qrels, [runs[names[0]], runs[names[1]]], SOME)
        for i, measure_bounds in enumerate(bounds):
            assert measure_bounds is not None
            assert (measure_bounds.low[pair], measure_bounds.high[pair]) == (
                alone.low[i],
                alone.high[i],
            )
            assert measure_bounds.query_low[:, pair].tolist() == alone.query_low[:, i].tolist()
            assert measure_bounds.robust[pair] == alone.robust[i]
    linear = pair_bounds(qrels, runs, systems, first, second, shared(systems), separate=False)
    without = [
        name
        for name, measure_bounds in zip(SOME.split(), linear, strict=True)
        if measure_bounds is None
    ]
    assert without == ["ERR", "RR"]


def test_some_queries_only() -> None:
    qrels, left_run, right_run = together([small(i, 2) for i in range(20)], 2)
    runs = {"left": left_run, "right": right_run}
    systems = evaluate(qrels, runs, SOME)
    ids = systems["left"].query_ids[3:11]
    pair = np.array([0]), np.array([1])
    selected = pair_bounds(qrels, runs, systems, *pair, ids)
    all_bounds = pair_bounds(qrels, runs, systems, *pair, shared(systems))
    joint = joint_bounds(qrels, [left_run, right_run], SOME)
    rows = np.arange(21)
    for i, (selected_bounds, of_all) in enumerate(zip(selected, all_bounds, strict=True)):
        assert selected_bounds is not None
        assert of_all is not None
        for chosen_rows in (rows[3:11], (rows >= 3) & (rows < 11)):
            sliced_bounds = of_all.select_queries(chosen_rows)
            for name in ("low", "high", "robust", "method"):
                assert getattr(sliced_bounds, name) == getattr(selected_bounds, name)
        assert selected_bounds.low[0] == pytest.approx(joint.query_low[3:11, i].mean(), abs=1e-15)
        assert selected_bounds.high[0] == pytest.approx(joint.query_high[3:11, i].mean(), abs=1e-15)


def test_the_sign_is_robust_if_nothing_can_make_it_0() -> None:
    low, high = np.array([[0.1, -0.3, -0.1, 0, 1e-17]]), np.array([[0.2, -0.2, 0.2, 0.1, 0.1]])
    bounds = PairBounds("exact", low, high)
    assert bounds.robust.tolist() == [True, True, False, False, False]


@pytest.mark.parametrize("top", [1, 2])
def test_a_robust_sign_is_that_of_the_mean_in_every_completion(top: int) -> None:
    """Queries are graded apart from each other: the lowest mean is the mean of the lowest."""
    measures = parse_all("nDCG nDCG@2 nDCG(gain='exp2')@3 P@2")
    cases = [small(9000 * top + i, top) for i in range(150)]
    cases += [({"q": {"a": 0}}, {"q": ["u", "a"]}, {"q": ["a", "u"]})] * 2  # without any gain
    completions_of_case = [
        (i, completion)
        for i, case in enumerate(cases)
        for completion in list_completions(case, top)
    ]
    owner = np.array([i for i, _ in completions_of_case] + [len(cases)])
    values = differences(
        *together([completion for _, completion in completions_of_case], top), measures
    )
    lowest, highest = (np.full((len(cases) + 1, len(measures)), end) for end in (np.inf, -np.inf))
    np.minimum.at(lowest, owner, values)
    np.maximum.at(highest, owner, values)
    qrels, left_run, right_run = together(cases, top)
    runs = {"left": left_run, "right": right_run}
    systems = evaluate(qrels, runs, measures)
    pair = np.array([0]), np.array([1])
    bounds = pair_bounds(qrels, runs, systems, *pair, shared(systems))
    chance = np.random.default_rng(top)
    for m, measure_bounds in enumerate(bounds):
        assert measure_bounds is not None
        assert measure_bounds.method == "exact"
        n_robust = 0
        for size in (1, 2, 3, 4) * 150:
            rows = chance.choice(len(cases), size, replace=False)
            selected_bounds = measure_bounds.select_queries(rows)
            low, high = lowest[rows, m].mean(), highest[rows, m].mean()
            assert selected_bounds.robust[0] == (low > 1e-12 or high < -1e-12)
            n_robust += bool(selected_bounds.robust[0])
        assert n_robust > 20


def test_ideals_that_grow_apart_can_turn_the_mean() -> None:
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1, "d": 0, "e": 0}}
    unjudged = [f"u{i}" for i in range(2, 11)]
    left_run, right_run = (
        {"q1": ["a", *unjudged], "q2": ["d"]},
        {"q1": ["b", *unjudged], "q2": ["e", "c"]},
    )
    bounds = joint_bounds(qrels, [left_run, right_run], "nDCG@10")
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, 11))  # all of q1's are relevant
    assert bounds.low[0] == pytest.approx((1 / ideal - 1 / math.log2(3)) / 2)
    assert bounds.high[0] == pytest.approx((1 - 1 / math.log2(3)) / 2)
    assert bounds.robust.tolist() == [False]
    completed_qrels = {"q1": {**qrels["q1"], **dict.fromkeys(unjudged, 1)}, "q2": qrels["q2"]}
    a, b = (evaluate(completed_qrels, run, "nDCG@10")["nDCG@10"] for run in (left_run, right_run))
    assert a - b == pytest.approx(bounds.low[0])


def test_what_is_found_below_the_cutoff_makes_the_ideal_better() -> None:
    """Worse in every way, and least so if all that nobody looked at is relevant."""
    below = [f"u{i}" for i in range(7)]
    left_run, right_run = {"q": ["b", "c", *below]}, {"q": ["a", "c"]}
    bounds = joint_bounds({"q": {"a": 1, "b": 0, "c": 0}}, [left_run, right_run], "nDCG@2")
    ideal = 1 + 1 / math.log2(3)
    assert [bounds.low[0], bounds.high[0]] == pytest.approx([-1, -1 / ideal])
    assert bounds.robust.tolist() == [True]


@pytest.mark.parametrize("seed", seeds(20))
def test_what_is_read_of_deep_runs_is_enough(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    docs = [f"d{i:02}" for i in range(40)]
    judged = {d: chance.randint(0, 2) for d in chance.sample(docs, chance.randint(1, 12))}
    # Judged documents are below the cutoff, above all others that are.
    runs = []
    for _ in range(2):
        top = chance.sample(docs, 3)
        rest = sorted(set(docs) - set(top), key=lambda d: (d not in judged, chance.random()))
        runs.append({"q": [*top, *rest][: chance.randint(1, 40)]})
    qrels = {"q": judged, "top": {"x": 2}}
    measures = parse_all("nDCG@3 nDCG@1 nDCG(gain='exp2')@2")
    bounds = joint_bounds(qrels, [runs[0], runs[1]], measures)

    def endless(self: object, measure: Measure, qrels: Qrels) -> None:
        before(self, measure, qrels)  # type: ignore[arg-type]
        self.deepest = 2**62  # type: ignore[attr-defined]

    before = RatioExtremes.__init__
    monkeypatch.setattr(RatioExtremes, "__init__", endless)
    full_bounds = joint_bounds(qrels, [runs[0], runs[1]], measures)
    assert bounds.query_low.tolist() == full_bounds.query_low.tolist()
    assert bounds.query_high.tolist() == full_bounds.query_high.tolist()


# ---- no bound that cannot be ------------------------------------------------------------------


def hostile(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, dict[str, float]]]]:
    """Return judgments of 6 queries, and runs: by chance, and as mistakes make them."""
    chance = random.Random(seed)
    queries = [f"q{i}" for i in range(6)]
    docs = [f"d{i:02}" for i in range(30)]
    qrels = {
        q: {d: chance.randint(0, 3) for d in chance.sample(docs, chance.randint(1, 14))}
        for q in queries
    }
    good: dict[str, dict[str, float]] = {
        q: {
            d: qrels[q].get(d, 0) + chance.random() * 2
            for d in chance.sample(docs, chance.randint(1, 25))
        }
        for q in queries
    }
    ranked = {q: sorted(good[q], key=lambda d: -good[q][d]) for q in queries}
    runs = {
        "good": good,
        "random": {q: {d: chance.random() for d in chance.sample(docs, 20)} for q in queries},
        "rank as score": {q: {d: i + 1.0 for i, d in enumerate(ranked[q])} for q in queries},
        "constant": {q: dict.fromkeys(good[q], 1.0) for q in queries},
        "nothing judged": {q: {f"x{i}": -float(i) for i in range(20)} for q in queries},
        "all unjudged": {q: {d: 1.0 for d in docs if d not in qrels[q]} for q in queries},
        "one document": {q: {ranked[q][0]: 1.0} for q in queries},
        "one query": {queries[2]: good[queries[2]]},
    }
    return qrels, runs


ALL = sample_cases(
    dict.fromkeys(
        measure
        for definition in definitions()
        for measure in variants(definition.name)
        if not (definition.is_text or definition.traits.takes_groups)
    )
)


@pytest.mark.parametrize("seed", seeds(3))
def test_no_bound_is_beyond_the_range_and_the_values(seed: int) -> None:
    judged, runs = hostile(seed)
    qrels = Qrels(judged)
    run_of_name = {name: Run(run, name) for name, run in runs.items()}
    systems = evaluate(qrels, run_of_name, ALL)
    left_system, right_system = np.triu_indices(len(runs), 1)
    bounds_of_measure = pair_bounds(
        qrels, run_of_name, systems, left_system, right_system, shared(systems)
    )
    values = np.stack([scores.values for scores in systems.values()], axis=1).astype(np.float64)
    n_bounded = 0
    for m, (measure, bounds) in enumerate(zip(ALL, bounds_of_measure, strict=True)):
        if bounds is None:
            continue
        n_bounded += 1
        low, high = bounds.query_low, bounds.query_high
        assert (low <= high).all(), measure
        lowest, highest = measure.definition.range
        difference = values[:, left_system, m] - values[:, right_system, m]
        gain = measure.parameters.get("gain", "linear")
        unjudged_is_0 = isinstance(gain, str) and measure.parameters.get("rel", 1) > 0
        if unjudged_is_0:
            assert (low <= difference + 1e-12).all(), measure
            assert (difference <= high + 1e-12).all(), measure
        in_range = (lowest <= values[..., m]).all() and (
            values[..., m] <= (highest or np.inf)
        ).all()
        if highest is not None and in_range:
            assert (low >= lowest - highest).all(), measure
            assert (high <= highest - lowest).all(), measure
            assert (bounds.low >= lowest - highest).all(), measure
            assert (bounds.high <= highest - lowest).all(), measure
        if measure.linear != "ratio" and unjudged_is_0 and (lowest, highest) == (0.0, 1.0):
            # Where new grades only add, the other run's mean is the least that it may be.
            other_means: Floats = values[:, right_system, m].mean(axis=0)
            assert (bounds.high <= 1 - other_means + 1e-12).all(), measure
    assert n_bounded > 40


def test_compare_of_hostile_runs_shows_no_bound_that_cannot_be() -> None:
    judged, runs = hostile(0)
    run_list = [Run(run, name) for name, run in runs.items()]
    measures = "nDCG@10 nDCG P@5 RR ERR@10 RBP Success@3 SetP Judged@10 AP"
    comparison = compare(
        judged, run_list, measures, all_pairs=True, bounds=True, flips=999, test="t"
    )
    for measure_result in comparison.results:
        for pair in measure_result.pairs:
            ends = [pair.low, pair.high, pair.unjudged_low, pair.unjudged_high]
            assert all(-1 <= end <= 1 for end in ends if end is not None)
            assert (pair.unjudged_low is None) == (measure_result.measure in ("AP", "Judged@10"))
    assert "ideal ranking left as it is" not in str(comparison)


def test_a_run_with_its_ranks_as_scores(demo_folder: Path, tmp_path: Path) -> None:
    """The mean of bm25 is 0.4523: the other's cannot be 1.5 above it."""
    folder = demo_folder / "demo"
    rows = (folder / "bm25.run").read_text().splitlines()
    fields = [row.split() for row in rows]
    wrong = [" ".join([*fields[:4], fields[3], fields[5]]) for fields in fields]
    (tmp_path / "rankasscore.run").write_text("\n".join(wrong) + "\n")
    runs = [read_run(folder / "bm25.run"), read_run(tmp_path / "rankasscore.run")]
    result = compare(read_qrels(folder / "qrels.txt"), runs, flips=999)["nDCG@10"]
    (pair,) = result.pairs
    assert pair.unjudged_method == "exact"
    assert pair.unjudged_low is not None
    assert pair.unjudged_high is not None
    assert -1 <= pair.unjudged_low <= pair.difference <= pair.unjudged_high <= 1
    assert pair.unjudged_high <= 1 - pair.other_mean


IDS = [f"q{i}" for i in range(4)]
UPSIDE_DOWN = Run({q: {"a": 1, "b": 2, "u": 3} for q in IDS}, "upside down")  # ranks for scores
OTHER, GRADED_QRELS = Run({q: ["u", "b"] for q in IDS}, "other"), {q: {"a": 1, "b": 0} for q in IDS}


def test_compare_with_bounds_warns_once_from_where_it_was_called() -> None:
    with pytest.warns(CranfieldWarning) as warning_list:
        compare(GRADED_QRELS, [UPSIDE_DOWN, OTHER], "RR P@2", bounds=True)
    assert [warning.category for warning in warning_list] == [CranfieldWarning]
    assert [warning.filename for warning in warning_list] == [__file__]


def test_joint_bounds_warn_once_and_say_so() -> None:
    with pytest.warns(CranfieldWarning) as warning_list:
        bounds = joint_bounds(GRADED_QRELS, [UPSIDE_DOWN, OTHER], "RR P@2")
    assert [warning.category for warning in warning_list] == [CranfieldWarning]
    assert [warning.filename for warning in warning_list] == [__file__]
    assert "ranks-as-scores" in {note.code for note in bounds.notes if note.is_grave}
    codes = [note.code for note in bounds.notes]
    assert [note["code"] for note in bounds.to_dict()["notes"]] == codes
    assert all(str(note) in str(bounds) for note in bounds.notes)


@pytest.mark.parametrize("bounds", [False, True])
def test_that_the_ideal_ranking_moves_is_printed_with_the_bounds(bounds: bool) -> None:
    qrels = {f"q{i:02}": {"a": 1, "b": i % 2} for i in range(12)}
    runs = [Run({query: list(docs) for query in qrels}, docs) for docs in ("ab", "ua")]
    text = str(compare(qrels, runs, "nDCG@2", bounds=bounds, test="t"))
    assert ("unjudged: bounds of diff" in text) == bounds
    assert text.count("New grades change the ideal ranking, and with it both means.") == bounds


def test_what_has_no_bounds_says_why_it_has_none() -> None:
    qrels = {f"q{i:02}": {"a": 1, "b": i % 2} for i in range(12)}
    runs = [Run({query: list(docs) for query in qrels}, docs) for docs in ("ab", "ua")]
    text = str(compare(qrels, runs, "AP", bounds=True, test="t"))
    assert "AP has no bounds of diff: it also depends on documents that the run did not" in text
    text = str(compare(qrels, runs, "NumRet", bounds=True, test="t"))
    assert "unjudged: NumRet has no bounds of diff." in text
    assert "may be too low" not in text


# ---- what is unjudged, and where --------------------------------------------------------------


def test_a_document_judged_in_one_query_and_not_in_another() -> None:
    qrels = {"q": {"x": 1}, "r": {"y": 1}}
    bounds = joint_bounds(qrels, [{"q": ["x"], "r": ["x"]}, {"q": ["y"], "r": ["y"]}], "P@1")
    assert bounds.query_low[:, 0].tolist() == [0, -1]  # y is not judged in q, x is not in r
    assert bounds.query_high[:, 0].tolist() == [1, 0]


def test_a_query_that_a_run_does_not_answer() -> None:
    qrels = {"q": {"x": 1}, "r": {"y": 1}}
    left_run, right_run = {"q": ["x", "u"]}, {"q": ["x"], "r": ["v"]}
    bounds = joint_bounds(qrels, [left_run, right_run], "P@2 SetP")
    assert bounds.query_low.tolist() == [[0, 0.5 - 1], [-0.5, -1]]
    assert bounds.query_high.tolist() == [[0.5, 0], [0, 0]]
    shared_bounds = joint_bounds(qrels, [left_run, right_run], "P@2", queries="both")
    assert list(shared_bounds.query_ids) == ["q"]
    with pytest.raises(NothingSharedError, match="share no query"):
        joint_bounds(qrels, [{"q": ["x"]}, {"r": ["y"]}], "P@2", queries="both")


def test_ids_of_strange_bytes() -> None:
    raw = [
        b"\xff\xfe".decode("utf-8", "surrogateescape"),
        "\u00e9",
        "e\u0301",
        "d" * 200,
        "d" * 201,
    ]
    qrels = {"q": {raw[0]: 1, "z": 0}}
    left_run = {"q": [raw[1], raw[3], raw[0]]}
    right_run = {"q": [raw[2], raw[4], raw[0]]}
    apart = joint_bounds(qrels, [left_run, right_run], "P@3")
    assert [apart.low[0], apart.high[0]] == pytest.approx([-2 / 3, 2 / 3])
    equal_bounds = joint_bounds(qrels, [left_run, {"q": [raw[1], raw[4], raw[0]]}], "P@3")
    assert [equal_bounds.low[0], equal_bounds.high[0]] == pytest.approx([-1 / 3, 1 / 3])


def test_two_documents_of_one_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, left_run, right_run = together([small(i, 2) for i in range(30)], 2)
    before = joint_bounds(qrels, [left_run, right_run], SOME)
    collide_keys = lambda hashes, query: (hashes + query.astype(np.uint64)) % np.uint64(5)  # noqa: E731
    monkeypatch.setattr("cranfield.extensions.whatif.unjudged.pair_keys", collide_keys)
    after = joint_bounds(qrels, [left_run, right_run], SOME)
    assert after.query_low.tolist() == before.query_low.tolist()
    assert after.query_high.tolist() == before.query_high.tolist()


def test_runs_of_several_files_and_in_any_order(tmp_path: Path) -> None:
    qrels, left_run, right_run = together([small(i, 2) for i in range(30)], 2)
    before = joint_bounds(qrels, [left_run, right_run], SOME)
    paths: list[Path] = []
    rows = [
        f"{query} Q0 {doc} 0 {-i} left\n"
        for query, docs in left_run.to_dict().items()
        for i, doc in enumerate(docs)
    ]
    random.Random(3).shuffle(rows)  # each query's rows are apart, in both files
    for part in (rows[::2], rows[1::2]):
        paths.append(tmp_path / f"part{len(paths)}.run")
        paths[-1].write_text("".join(part))
    after = joint_bounds(qrels, [read_run(paths), right_run], SOME)
    assert after.query_low.tolist() == before.query_low.tolist()
    assert after.query_high.tolist() == before.query_high.tolist()


def test_the_options_of_ranking_hold() -> None:
    qrels = {"q": {"x": 1}}
    left_run, right_run = {"q": {"u": 1.0, "v": 1.0, "x": 0.5}}, {"q": {"v": 2.0, "x": 1.0}}
    by_id = joint_bounds(qrels, [left_run, right_run], "P@1")  # v and v
    assert (by_id.low[0], by_id.high[0]) == (0, 0)
    ascending = joint_bounds(qrels, [left_run, right_run], "P@1", ties="ascending")  # u and v
    assert (ascending.low[0], ascending.high[0]) == (-1, 1)
    cut_bounds = joint_bounds(qrels, [left_run, right_run], "P@3 SetP", depth=1)
    assert cut_bounds.low.tolist() == cut_bounds.high.tolist() == [0, 0]
    single = joint_bounds(
        qrels, [{"q": {"u": 1.0 + 1e-12, "v": 1.0}}, right_run], "P@1", scores="single"
    )
    assert (single.low[0], single.high[0]) == (0, 0)  # v and v: u is no higher
    with pytest.raises(OptionError, match="ties='best'"):
        joint_bounds(qrels, [left_run, right_run], "P@1", ties="best")


def test_where_nothing_was_found_relevant_something_may_be() -> None:
    bounds = joint_bounds({"q": {"a": 0}}, [{"q": ["u"]}, {"q": ["a"]}], "P@1 nDCG CWL('P')@1")
    assert bounds.top_grade == 1
    assert bounds.low.tolist() == [0, 0, 0]
    assert bounds.high.tolist() == [1, 1, 1]
    scores = evaluate({"q": {"a": 0}}, {"q": ["a", "u"]}, "RR", bounds=True)
    assert (scores["RR low"], scores["RR"], scores["RR high"]) == (0, 0, 1 / 2)


def test_what_has_no_bounds() -> None:
    for name in ("Judged@5", "RnDCG", "RelString@3", "GroupAP", "xinfAP"):
        with pytest.raises(MeasureError, match="no bounds"):
            joint_bounds(JUDGED, [{"q": [*A["q"], *(f"v{i}" for i in range(20))]}, B], name)
    runs = {"a": Run(A, "a"), "b": Run(B, "b")}
    pair = np.array([0]), np.array([1])
    for options in ({"judged_only": True}, {"ties": "expected"}, {"ties": "best"}):
        systems = evaluate(JUDGED, runs, "P@3 AP", **options)
        assert pair_bounds(Qrels(JUDGED), runs, systems, *pair, shared(systems)) == [None, None]
    groups = Qrels({"q": {"ann": {"a": 1}, "bob": {"b": 1}}})
    systems = evaluate(groups, runs, "GroupAP")
    assert pair_bounds(groups, runs, systems, *pair, shared(systems)) == [None]


def test_costs_of_a_run_are_not_taken() -> None:
    rows = [{"query_id": "q", "doc_id": "u", "score": 1.0, "cost": 3.0}]
    runs = {"a": Run(rows, "a"), "b": Run(B, "b")}
    systems = evaluate(JUDGED, runs, "CWL('P')@1 P@1")
    bounds = pair_bounds(
        Qrels(JUDGED), runs, systems, np.array([0]), np.array([1]), shared(systems)
    )
    assert bounds[0] is None
    assert bounds[1] is not None


def test_judged_beside_a_measure() -> None:
    assert str(judged_share_measure(parse("nDCG@10"))) == "Judged@10"
    assert str(judged_share_measure(parse("P@R"))) == "Judged@R"
    assert str(judged_share_measure(parse("AP"))) == "Judged"
    assert str(judged_share_measure(parse("IPrec@0.1"))) == "Judged"
    of = evaluate(
        JUDGED, A, [judged_share_measure(parse("P@2")), judged_share_measure(parse("RBP"))]
    )
    assert of.means() == {"Judged@2": 1 / 2, "Judged": 3 / 5}


def test_how_it_is_shown() -> None:
    bounds = joint_bounds(JUDGED, [Run(A, "mine"), Run(B, "theirs")], "P@3 nDCG@3 RR")
    assert isinstance(bounds, JointBounds)
    table = bounds.tables()[0]
    two = 1 + 1 / math.log2(3)  # the ideal of a and c, and of u1, too
    assert bounds.low[1] == pytest.approx((1 + 1 / math.log2(3) - 1) / (two + 1 / 2), abs=1e-15)
    assert bounds.high[1] == pytest.approx(1 / two, abs=1e-15)
    assert table.rows == [
        ["P@3", "+0.3333", "+0.3333", "+0.3333", "exact", "robust"],
        ["nDCG@3", "+0.6131", "+0.2961", "+0.6131", "exact", "robust"],
        ["RR", "+0.6667", "+0.0000", "+0.6667", "separate", "open"],
    ]
    assert table.notes[0] == "Mean difference, mine - theirs, over 1 query."
    assert str(bounds).startswith(" measure")
    assert "<table" in bounds._repr_html_()
    bounds_dict = bounds.to_dict()
    assert bounds_dict["measures"]["P@3"]["bounds"] == "exact"
    assert (bounds_dict["left"], bounds_dict["right"], bounds_dict["n_queries"]) == (
        "mine",
        "theirs",
        1,
    )
    assert bounds_dict["recipe"]["ties"] == "document"
    assert json.loads(json.dumps(bounds_dict)) == bounds_dict
    equal = joint_bounds(JUDGED, [A, A], "P@3")
    assert equal.left != equal.right
    assert "-0.0000" not in str(equal)


# ---- real runs --------------------------------------------------------------------------------


def test_twelve_systems(data: Path) -> None:
    folder = data / "dl19"
    qrels = read_qrels(folder / "qrels.txt")
    runs = {path.name: read_run(path) for path in sorted(folder.glob("*.run.gz"))}
    assert len(runs) == 12
    systems = evaluate(qrels, runs, "P@10 DCG@10 nDCG@10")
    left_system, right_system = np.triu_indices(12, 1)
    bounds = pair_bounds(qrels, runs, systems, left_system, right_system, shared(systems))
    values = np.stack([scores.values for scores in systems.values()], axis=1)
    for i, measure_bounds in enumerate(bounds):
        assert measure_bounds is not None
        difference = values[:, left_system, i] - values[:, right_system, i]
        assert (measure_bounds.query_low <= difference).all()
        assert (difference <= measure_bounds.query_high).all()
        assert measure_bounds.robust.sum() < 66
        assert measure_bounds.robust.any()
        assert measure_bounds.method == "exact"
    # One pair, document by document.
    names = list(runs)
    ranked = [runs[name].to_dict() for name in (names[0], names[4])]
    judged, pair = qrels.to_dict(), int(np.flatnonzero((left_system == 0) & (right_system == 4))[0])
    low = high = 0.0
    for query in judged:
        weight: dict[str, float] = {}
        for sign, run in zip((1, -1), ranked, strict=True):
            best = sorted(run.get(query, {}).items(), key=lambda x: (x[1], x[0]), reverse=True)[:10]
            for doc, _ in best:
                weight[doc] = weight.get(doc, 0) + sign / 10
        rel = sum(w for doc, w in weight.items() if judged[query].get(doc, 0) >= 1)
        open_ = [w for doc, w in weight.items() if doc not in judged[query]]
        low += rel + sum(min(w, 0) for w in open_)
        high += rel + sum(max(w, 0) for w in open_)
    assert bounds[0] is not None
    assert bounds[0].low[pair] == pytest.approx(low / len(judged), abs=1e-12)
    assert bounds[0].high[pair] == pytest.approx(high / len(judged), abs=1e-12)
