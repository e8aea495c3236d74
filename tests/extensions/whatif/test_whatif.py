"""What-ifs against evaluate() of runs and judgments that are really changed so, to the bit."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from helpers.variants import variants

from cranfield import Measure, MeasureError, Qrels, Run, definitions, evaluate, parse
from cranfield.data.judging import Judging
from cranfield.explanation.query import Explanation
from cranfield.explanation.scene import Scene
from cranfield.extensions.whatif import swaps as whatif
from cranfield.extensions.whatif.swaps import (
    RankableDocuments,
    Judgment,
    Swap,
    Tie,
    find_best_swap,
    find_judgments,
    measure_moves,
    find_ties,
)
from cranfield.measures import make_example

EXAMPLES = [make_example(definition)[0] for definition in definitions()]
EXAMPLES += [parse("CWL('TBG', value='EC')"), parse("nDCG@3"), parse("AP@R"), parse("RR(rel=2)")]
EXAMPLES = [one(depth=20) if one.name == "CWL" else one for one in EXAMPLES]  # it looks at each
POOL = [f"d{i}" for i in range(24)]
Order = Sequence[str]


@dataclass(frozen=True, eq=False)
class Case:
    """Judgments and a run of the query "q"; the collection has another query, with a grade 3."""

    rows: tuple[dict[str, Any], ...] | None  # judgments; None: they are `groups`
    groups: Mapping[str, Any]
    scores: Mapping[str, float]
    costs: Mapping[str, float] | None
    options: Mapping[str, Any]

    def qrels(self, doc: str | None = None, grade: int = 0) -> Qrels:
        """Return the judgments, with one more."""
        return qrels_of(self, doc, grade)

    def run(self, scores: Mapping[str, float] | None = None) -> Run:
        scores = self.scores if scores is None else scores
        if self.costs is None:
            return Run({"q": scores})
        named = ("query_id", "doc_id", "score", "cost")
        return Run(
            [dict(zip(named, ("q", d, scores[d], self.costs[d]), strict=True)) for d in scores]
        )

    def scene(self) -> Scene:
        how, costs = Judging.of(self.options), self.costs is not None
        return Scene.of(self.qrels(), self.run(), "q", how, costs=costs)

    @property
    def uncut(self) -> list[str]:
        """The documents by score, equal ones by id, descending, or ascending."""
        up = self.options.get("ties") == "ascending"
        by_id = sorted(self.scores, reverse=not up)
        return sorted(by_id, key=lambda doc: -self.scores[doc])

    def measured(self, qrels: Qrels, run: Run, **options: Any) -> dict[Measure, Any]:
        """Return the value of every measure that takes such data."""
        them = self.measures()
        # Ranks that are stated leave nothing to cut, and no ties.
        given = {key: value for key, value in self.options.items() if key == "judged_only"}
        scores = evaluate(qrels, run, them, **(options or given))
        return {one: scores.per_query(one)["q"] for one in them}

    def of_order(self, order: Order, **options: Any) -> dict[Measure, Any]:
        """Return the values of a ranking, of documents without ties."""
        scores = {doc: -float(rank) for rank, doc in enumerate(order)}
        return self.measured(self.qrels(), self.run(scores), **options)

    def measures(self) -> list[Measure]:
        return measures_of(self)


@cache
def qrels_of(case: Case, doc: str | None, grade: int) -> Qrels:
    if case.rows is None:
        return Qrels({"q": case.groups, "r": {"x": {"d1": 3}}})
    more = [] if doc is None else [{**case.rows[0], "doc_id": doc, "relevance": grade}]
    return Qrels([*case.rows, *more])


@cache
def measures_of(case: Case) -> list[Measure]:
    found, judged = [], case.scene().judged
    for one in EXAMPLES:
        try:
            one.values(judged)
        except MeasureError:  # of judgments in groups, or of ties
            continue
        found.append(one)
    assert len(found) > 5
    return found


@cache
def cases() -> dict[str, Case]:
    found = {}
    every: dict[str, dict[str, Any]] = {
        "plain": {},
        "judged only": {"judged_only": True},
        "depth": {"depth": 5},
        "ascending": {"ties": "ascending"},
        "no relevant": {},
        "stratum": {},
        "probability": {},
        "costs": {},
        "costs of judged": {"judged_only": True},
        "subtopics": {},
        "weights": {"judged_only": True},
        "preferences": {"depth": 6},
        "subgroups": {},
    }
    for seed, (name, options) in enumerate(every.items()):
        chance = random.Random(seed)
        docs = chance.sample(POOL, 8)
        scores = {doc: chance.choice([3.0, 2.0, 1.0, chance.random() * 4]) for doc in docs}
        judged = sorted(chance.sample(docs, 5) + chance.sample(sorted({*POOL} - {*docs}), 3))
        grades = [0] if name == "no relevant" else [-1, 0, 1, 1, 2, 3]
        # A negative grade is a document that nobody judged, to a sample.
        rows: list[dict[str, Any]] = [
            {"query_id": "q", "doc_id": doc, "relevance": chance.choice(grades)} for doc in judged
        ]
        rows.append({"query_id": "r", "doc_id": "d1", "relevance": max(grades)})
        costs = None
        groups: dict[str, Any] = {}
        if name in ("stratum", "probability"):
            drawn = [1, 2, 7] if name == "stratum" else [0.1, 0.5, 1.0]
            rows = [{**row, name: chance.choice(drawn)} for row in rows]
        if name.startswith("costs"):
            costs = {doc: chance.choice([0.5, 1.0, 3.0, 20.25]) for doc in POOL}
        if name == "weights":
            rows = [
                {**row, "subtopic": group, "weight": 0.25 + (group == "a")}
                for row in rows
                for group in "ab"
                if chance.random() < 0.6 or row["query_id"] == "r"
            ]
        elif name in ("subtopics", "preferences", "subgroups"):
            rows = []
            for group in "abc":
                levels = {
                    doc: chance.choice([0, 1, 2, 3] if name == "subtopics" else [0, 0.5, 1, 2])
                    for doc in chance.sample(judged, 6)
                }
                half = [doc for doc in levels if levels[doc] > 0.5]
                parts = [levels, {doc: levels[doc] * 2 for doc in half}]
                groups[group] = parts if name == "subgroups" else levels
        found[name] = Case(tuple(rows) or None, groups, scores, costs, options)
    return found


ALL = pytest.mark.parametrize("case", cases().values(), ids=list(cases()))


def compared(case: Case) -> Iterator[tuple[Scene, Measure, float]]:
    """Yield each measure whose value is a number, and the value of the run as it is."""
    scene = case.scene()
    now = case.measured(case.qrels(), case.run(), **(case.options or {"depth": None}))
    for one, value in now.items():
        if not one.definition.is_text:
            yield scene, one, value


FULL = [cases()[name] for name in ("depth", "subtopics", "subgroups")]


@ALL
def test_an_unchanged_ranking_has_the_value_to_the_bit(case: Case) -> None:
    scene = case.scene()
    documents = RankableDocuments(scene, scene.measured_ranking)
    rankings = np.tile(np.arange(len(scene.docs)), (3, 1))
    every = [one for definition in definitions() for one in variants(definition.name)]
    for one in every if case in FULL else case.measures():
        try:
            now = one.values(scene.judged)[0, 0]
        except MeasureError:  # of judgments in groups
            continue
        assert one.values(documents.judge_rankings(rankings))[:, 0].tolist() == [now] * 3, one


@pytest.mark.parametrize("order", ["expected", "best", "worst"])
def test_of_other_orders_of_ties(order: str) -> None:
    case = replace(cases()["plain"], options={"ties": order})
    scene = case.scene()
    documents = RankableDocuments(scene, scene.measured_ranking)
    ranking = np.arange(len(scene.docs))[None]
    for one in case.measures():
        assert one.values(documents.judge_rankings(ranking)) == one.values(scene.judged), one


def swapped(order: Order, i: int, j: int) -> list[str]:
    found = list(order)
    found[i - 1], found[j - 1] = found[j - 1], found[i - 1]
    return found


@ALL
def test_the_best_swap_is_the_best_of_all(case: Case) -> None:
    scene = case.scene()
    ranks = range(1, len(scene.docs) + 1)
    pairs = [(i, j) for i in ranks for j in ranks if i < j]
    found = [(i, j, case.of_order(swapped(scene.docs, i, j))) for i, j in pairs]
    n_better = 0
    for scene, one, now in compared(case):
        sign = -1 if one.definition.higher_is_better is False else 1
        tried = [
            Swap(i, j, scene.docs[i - 1], scene.docs[j - 1], its[one], sign * (its[one] - now))
            for i, j, its in found
        ]
        best = max(tried, key=lambda each: each.gain)  # the first of these
        assert find_best_swap(scene, one) == (best if best.gain > 0 else None), one
        n_better += best.gain > 0
    assert n_better > 1 or case is cases()["no relevant"]


def test_a_swap_under_expected_ties_swaps_the_scores() -> None:
    case = replace(cases()["plain"], options={"ties": "expected"})
    scene = case.scene()
    documents = RankableDocuments(scene, scene.measured_ranking)
    for i in range(8):
        for j in range(i):
            ranking = np.arange(8)
            ranking[[i, j]] = j, i
            one, other = scene.docs[i], scene.docs[j]
            scores = {**case.scores, one: case.scores[other], other: case.scores[one]}
            real = case.measured(case.qrels(), case.run(scores), ties="expected")
            for measure, value in real.items():
                assert measure.values(documents.judge_rankings(ranking[None]))[0, 0] == value, measure


def test_only_the_first_hundred_ranks_are_swapped() -> None:
    docs = [f"d{i}" for i in range(130)]
    scene = Scene.of(Qrels({"q": {"d100": 1, "d50": 0}}), Run({"q": docs}), "q", Judging())
    for name in ("AP", "nDCG", "RR", "P@105"):
        assert find_best_swap(scene, parse(name)) is None
    scene = Scene.of(Qrels({"q": {"d99": 1, "d100": 1}}), Run({"q": docs}), "q", Judging())
    assert find_best_swap(scene, parse("RR")) == Swap(1, 100, "d0", "d99", 1.0, 1 - 1 / 100)


def test_lower_is_better_where_the_measure_says_so() -> None:
    scene = Scene.of(Qrels({"q": {"a": 1, "b": 0}}), Run({"q": ["c", "b", "a"]}), "q", Judging())
    lower = [one for one in EXAMPLES if one.definition.higher_is_better is False]
    swaps = [(one, find_best_swap(scene, one)) for one in lower]
    assert any(swap for _, swap in swaps)
    for one, swap in swaps:
        if swap:
            assert swap.gain == one.values(scene.judged)[0, 0] - swap.value > 0, one


def cut_ties() -> dict[str, Case]:
    """Runs cut within a tie."""
    found = {}
    for name in ("plain", "judged only", "ascending", "costs", "costs of judged"):
        case = cases()[name]
        scores = {doc: float(i < 3) for i, doc in enumerate(case.scores)}
        found[f"{name}, cut"] = replace(case, scores=scores, options={**case.options, "depth": 5})
    return found


TIES = {**cases(), **cut_ties()}


@pytest.mark.parametrize("case", TIES.values(), ids=list(TIES))
def test_ties_in_both_orders_of_grades(case: Case) -> None:
    scene, qrels = case.scene(), case.qrels()
    best = dict(zip(qrels.doc_lists[0], qrels.grade.tolist(), strict=False))
    depth, only_judged = case.options.get("depth"), case.options.get("judged_only", False)
    docs = case.uncut
    found = []
    for score in sorted(set(case.scores.values()), reverse=True):
        tied = [doc for doc in docs if case.scores[doc] == score]
        known = [doc for doc in tied if doc in best]
        by_grade = sorted(known, key=lambda doc: -best[doc])
        worst = sorted(known, key=best.__getitem__)
        others = [doc for doc in tied if doc not in best]
        at = [docs.index(doc) for doc in tied]
        if depth is None or at[0] < depth:
            orders = [
                [*docs[: at[0]], *its, *docs[at[-1] + 1 :]]
                for its in (by_grade + others, others + worst)
            ]
            both = [case.of_order(order, depth=depth, judged_only=only_judged) for order in orders]
            kept = docs[: depth or len(docs)][at[0] : at[-1] + 1]
            if only_judged:
                kept = [doc for doc in kept if best.get(doc, -1) >= 0]
            found.append((at[0] + 1, len(tied), tuple(kept), both))
    for scene, one, _ in compared(case):
        expected = [
            Tie(first, size, tied, *sorted((a[one], b[one])))
            for first, size, tied, (a, b) in found
            if a[one] != b[one]
        ]
        expected.sort(key=lambda tie: tie.lowest - tie.highest)
        assert find_ties(scene, one) == expected, one


def test_a_tie_that_is_cut_has_the_values_of_the_best_and_the_worst_order() -> None:
    qrels, run = Qrels({"q": {"a": 1}}), Run({"q": {"z": 2, "b": 1, "a": 1}})
    scene = Scene.of(qrels, run, "q", Judging(depth=2))
    of: dict[Any, float] = {
        rule: evaluate(qrels, run, "AP", ties=rule, depth=2)["AP"] for rule in ("worst", "best")
    }
    assert find_ties(scene, parse("AP")) == [Tie(2, 2, ("b",), of["worst"], of["best"])]
    assert of == {"worst": 0, "best": 1 / 2}


def test_no_ties_where_they_are_ranked_by_something_else() -> None:
    for order in ("expected", "best", "worst"):
        case = replace(cases()["plain"], options={"ties": order})
        assert find_ties(case.scene(), parse("AP")) == []


OTHERS: dict[str, dict[str, Any]] = {
    "expected": {"ties": "expected"},
    "best": {"ties": "best"},
    "worst": {"ties": "worst"},
    "expected, judged only": {"ties": "expected", "judged_only": True},
}
JUDGED = {
    **{name: cases()[name] for name in ("plain", "judged only", "depth", "no relevant", "costs")},
    **{name: replace(cases()["plain"], options=options) for name, options in OTHERS.items()},
    "stratum": cases()["stratum"],
}


@pytest.mark.parametrize("case", JUDGED.values(), ids=list(JUDGED))
def test_the_judgments_that_move_the_value_most(case: Case) -> None:
    scene = case.scene()
    docs = scene.ranking.docs
    known = {row["doc_id"] for row in case.rows or () if row["query_id"] == "q"}
    open_docs = [(rank, doc) for rank, doc in enumerate(docs, 1) if doc not in known]
    assert Explanation.of(scene, parse("NumRet")).unjudged == open_docs
    top = max(case.qrels().top_grade, 1)
    found = [
        (rank, doc, grade, case.measured(case.qrels(doc, grade), case.run(), **options))
        for options in [case.options or {"depth": None}]
        for rank, doc in open_docs
        for grade in range(int(top) + 1)
    ]
    for scene, one, now in compared(case):
        if case is cases()["stratum"] and one.name in ("xinfAP", "statAP"):
            assert find_judgments(scene, one) == whatif.Judgments(None, None)
            continue
        tried = [Judgment(d, r, g, its[one], its[one] - now) for r, d, g, its in found]
        up = max(tried, key=lambda each: each.value)
        down = min(tried, key=lambda each: each.value)
        its = find_judgments(scene, one)
        assert its.up == (up if up.value > now else None), one
        assert its.down == (down if down.value < now else None), one


@pytest.mark.parametrize(
    ("grades", "tried"),
    [
        ([10, 3], ()),  # all
        ([11, 3, 3, -1], (0, 1, 3, 11)),
        ([2**31 - 1, 1], (0, 1, 2**31 - 1)),
        ([0], (0, 1, 3**9)),  # the highest is that of another query
        (range(30), (0, 1, 2, 5, 9, 13, 16, 20, 24, 28, 29)),
    ],
)
def test_of_many_grades_a_few_are_tried(grades: Sequence[int], tried: tuple[int, ...]) -> None:
    judged = {f"d{i}": grade for i, grade in enumerate(grades)}
    other = {"other": {"d": 3**9}} if list(grades) == [0] else {}
    docs = ["x", *judged, "y"]
    scene = Scene.of(Qrels({"q": judged} | other), Run({"q": docs}), "q", Judging())
    found = find_judgments(scene, parse("nDCG"))
    assert found.grades == tried
    every = tried or range(max(grades) + 1)
    now = evaluate({"q": judged}, {"q": docs}, "nDCG")["nDCG"]
    changed = [
        Judgment(doc, rank, grade, value, value - now)
        for rank, doc in ((1, "x"), (len(docs), "y"))
        for grade in every
        for value in [evaluate({"q": {**judged, doc: grade}}, {"q": docs}, "nDCG")["nDCG"]]
    ]
    assert found.up == max(changed, key=lambda one: one.value)
    lowest = min(changed, key=lambda one: one.value)
    assert found.down == (lowest if lowest.value < now else None)


def test_what_takes_more_than_a_grade_is_not_judged() -> None:
    for name in ("subtopics", "weights", "preferences", "costs of judged"):
        scene = cases()[name].scene()
        for one in cases()[name].measures():
            assert find_judgments(scene, one) == whatif.Judgments(None, None)


def test_judgments_are_tried_down_to_rank_1000() -> None:
    docs = [f"d{i}" for i in range(1001)]
    judged = dict.fromkeys(docs[:1000], 0)
    scene = Scene.of(Qrels({"q": judged}), Run({"q": docs}), "q", Judging())
    assert find_judgments(scene, parse("AP")).up is None
    del judged["d999"]
    scene = Scene.of(Qrels({"q": judged}), Run({"q": docs}), "q", Judging())
    assert find_judgments(scene, parse("AP")).up == Judgment("d999", 1000, 1, 0.001, 0.001)


def with_moved(here: Order, there: Order, doc: str) -> list[str]:
    order = [one for one in here if one != doc]
    if doc in there:
        order.insert(there.index(doc), doc)
    return order


@ALL
def test_documents_moved_to_where_another_ranking_has_them(case: Case) -> None:
    chance = random.Random(7)
    scene = case.scene()
    here = list(scene.docs)
    only = [doc for doc in POOL if doc not in case.scores]
    there = chance.sample(here, len(here) - 2) + chance.sample(only, 3)
    chance.shuffle(there)
    if case.options.get("judged_only"):
        there = [doc for doc in there if doc in scene.grades]
    differing = [
        doc
        for doc in dict.fromkeys([*here, *there])
        if doc not in here or doc not in there or here.index(doc) != there.index(doc)
    ]
    real = {doc: case.of_order(with_moved(here, there, doc)) for doc in differing}
    for scene, one, _ in compared(case):
        expected = {doc: its[one] for doc, its in real.items()}
        assert measure_moves(scene, there, one, case.costs) == expected, one


def test_documents_moved_within_the_first_hundred_ranks_of_either() -> None:
    docs = [f"d{i}" for i in range(120)]
    scene = Scene.of(Qrels({"q": {"d119": 1}}), Run({"q": docs}), "q", Judging())
    there = [*docs[:10], "d119", *docs[10:119]]
    moves = measure_moves(scene, there, parse("RR"))
    assert max(moves.items(), key=lambda move: move[1]) == ("d119", 1 / 11)
    assert moves.keys() == {"d119", *docs[10:100]}
    case = replace(cases()["plain"], options={"ties": "expected"})
    assert measure_moves(case.scene(), POOL, parse("AP")) == {}


def test_texts_have_no_what_ifs() -> None:
    scene = cases()["plain"].scene()
    for one in EXAMPLES:
        if one.definition.is_text:
            assert find_best_swap(scene, one) is None
            assert find_ties(scene, one) == []
            assert measure_moves(scene, POOL, one) == {}
            assert find_judgments(scene, one) == whatif.Judgments(None, None)


def test_an_empty_ranking_and_a_query_without_judgments() -> None:
    other = {"d1": {"d1": 1}}
    for qrels, run in (({"q": {"a": 1}}, {"q": []}), ({"q": {}}, {"q": ["a", "b"]})):
        scene = Scene.of(Qrels({**qrels, **other}), Run(run), "q", Judging())
        for one in EXAMPLES:
            if not one.definition.is_text:
                assert find_best_swap(scene, one) is None
                assert find_ties(scene, one) == []
                find_judgments(scene, one)
                assert measure_moves(scene, [*run["q"]], one) == {}


def every_answer(case: Case) -> list[Any]:
    return [
        (find_best_swap(*one), find_judgments(*one), find_ties(*one), measure_moves(one[0], POOL, one[1]))
        for one in [(scene, measure) for scene, measure, _ in compared(case)][::3]
    ]


def test_many_variants_are_reckoned_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("costs", "weights", "subgroups"):
        case = cases()[name]
        whole = every_answer(case)
        with monkeypatch.context() as patch:
            patch.setattr("cranfield.extensions.whatif.variants.ROWS", 70)
            parts = every_answer(case)
        assert parts == whole
