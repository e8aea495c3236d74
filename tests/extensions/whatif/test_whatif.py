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
    Judgment,
    RankableDocuments,
    Swap,
    Tie,
    find_best_swap,
    find_judgments,
    find_ties,
    measure_moves,
)
from cranfield.measures import make_example

EXAMPLES = [make_example(definition)[0] for definition in definitions()]
EXAMPLES += [parse("CWL('TBG', value='EC')"), parse("nDCG@3"), parse("AP@R"), parse("RR(rel=2)")]
EXAMPLES = [
    measure(depth=20) if measure.name == "CWL" else measure for measure in EXAMPLES
]  # it looks at each
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
        column_names = ("query_id", "doc_id", "score", "cost")
        return Run(
            [
                dict(zip(column_names, ("q", d, scores[d], self.costs[d]), strict=True))
                for d in scores
            ]
        )

    def scene(self) -> Scene:
        judging, costs = Judging.of(self.options), self.costs is not None
        return Scene.of(self.qrels(), self.run(), "q", judging, costs=costs)

    @property
    def uncut(self) -> list[str]:
        """The documents by score, equal ones by id, descending, or ascending."""
        up = self.options.get("ties") == "ascending"
        by_id = sorted(self.scores, reverse=not up)
        return sorted(by_id, key=lambda doc: -self.scores[doc])

    def measure_values(self, qrels: Qrels, run: Run, **options: Any) -> dict[Measure, Any]:
        """Return the value of every measure that takes such data."""
        measures = self.measures()
        # Ranks that are stated leave nothing to cut, and no ties.
        evaluate_options = {
            key: value for key, value in self.options.items() if key == "judged_only"
        }
        scores = evaluate(qrels, run, measures, **(options or evaluate_options))
        return {measure: scores.per_query(measure)["q"] for measure in measures}

    def measure_order(self, order: Order, **options: Any) -> dict[Measure, Any]:
        """Return the values of a ranking, of documents without ties."""
        scores = {doc: -float(rank) for rank, doc in enumerate(order)}
        return self.measure_values(self.qrels(), self.run(scores), **options)

    def measures(self) -> list[Measure]:
        return measures_of(self)


@cache
def qrels_of(case: Case, doc: str | None, grade: int) -> Qrels:
    if case.rows is None:
        return Qrels({"q": case.groups, "r": {"x": {"d1": 3}}})
    extra_rows = [] if doc is None else [{**case.rows[0], "doc_id": doc, "relevance": grade}]
    return Qrels([*case.rows, *extra_rows])


@cache
def measures_of(case: Case) -> list[Measure]:
    changed_scores, judged = [], case.scene().judged
    for measure in EXAMPLES:
        try:
            measure.values(judged)
        except MeasureError:  # of judgments in groups, or of ties
            continue
        changed_scores.append(measure)
    assert len(changed_scores) > 5
    return changed_scores


@cache
def cases() -> dict[str, Case]:
    judged_cases = {}
    rows_of_case: dict[str, dict[str, Any]] = {
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
    for seed, (name, options) in enumerate(rows_of_case.items()):
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
            numbers = [1, 2, 7] if name == "stratum" else [0.1, 0.5, 1.0]
            rows = [{**row, name: chance.choice(numbers)} for row in rows]
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
        judged_cases[name] = Case(tuple(rows) or None, groups, scores, costs, options)
    return judged_cases


ALL = pytest.mark.parametrize("case", cases().values(), ids=list(cases()))


def list_values(case: Case) -> Iterator[tuple[Scene, Measure, float]]:
    """Yield each measure whose value is a number, and the value of the run as it is."""
    scene = case.scene()
    now = case.measure_values(case.qrels(), case.run(), **(case.options or {"depth": None}))
    for measure, value in now.items():
        if not measure.definition.is_text:
            yield scene, measure, value


FULL = [cases()[name] for name in ("depth", "subtopics", "subgroups")]


@ALL
def test_an_unchanged_ranking_has_the_value_to_the_bit(case: Case) -> None:
    scene = case.scene()
    documents = RankableDocuments(scene, scene.measured_ranking)
    rankings = np.tile(np.arange(len(scene.docs)), (3, 1))
    measures = [measure for definition in definitions() for measure in variants(definition.name)]
    for measure in measures if case in FULL else case.measures():
        try:
            now = measure.values(scene.judged)[0, 0]
        except MeasureError:  # of judgments in groups
            continue
        assert measure.values(documents.judge_rankings(rankings))[:, 0].tolist() == [now] * 3, (
            measure
        )


@pytest.mark.parametrize("order", ["expected", "best", "worst"])
def test_of_other_orders_of_ties(order: str) -> None:
    case = replace(cases()["plain"], options={"ties": order})
    scene = case.scene()
    documents = RankableDocuments(scene, scene.measured_ranking)
    ranking = np.arange(len(scene.docs))[None]
    for measure in case.measures():
        assert measure.values(documents.judge_rankings(ranking)) == measure.values(scene.judged), (
            measure
        )


def swap_ranks(order: Order, i: int, j: int) -> list[str]:
    order_copy = list(order)
    order_copy[i - 1], order_copy[j - 1] = order_copy[j - 1], order_copy[i - 1]
    return order_copy


@ALL
def test_the_best_swap_is_the_best_of_all(case: Case) -> None:
    scene = case.scene()
    ranks = range(1, len(scene.docs) + 1)
    pairs = [(i, j) for i in ranks for j in ranks if i < j]
    swaps = [(i, j, case.measure_order(swap_ranks(scene.docs, i, j))) for i, j in pairs]
    n_better = 0
    for scene, measure, now in list_values(case):
        sign = -1 if measure.definition.higher_is_better is False else 1
        swap_list = [
            Swap(
                i,
                j,
                scene.docs[i - 1],
                scene.docs[j - 1],
                values[measure],
                sign * (values[measure] - now),
            )
            for i, j, values in swaps
        ]
        best = max(swap_list, key=lambda swap: swap.gain)  # the first of these
        assert find_best_swap(scene, measure) == (best if best.gain > 0 else None), measure
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
            first_doc, other = scene.docs[i], scene.docs[j]
            scores = {**case.scores, first_doc: case.scores[other], other: case.scores[first_doc]}
            real = case.measure_values(case.qrels(), case.run(scores), ties="expected")
            for measure, value in real.items():
                assert measure.values(documents.judge_rankings(ranking[None]))[0, 0] == value, (
                    measure
                )


def test_only_the_first_hundred_ranks_are_swapped() -> None:
    docs = [f"d{i}" for i in range(130)]
    scene = Scene.of(Qrels({"q": {"d100": 1, "d50": 0}}), Run({"q": docs}), "q", Judging())
    for name in ("AP", "nDCG", "RR", "P@105"):
        assert find_best_swap(scene, parse(name)) is None
    scene = Scene.of(Qrels({"q": {"d99": 1, "d100": 1}}), Run({"q": docs}), "q", Judging())
    assert find_best_swap(scene, parse("RR")) == Swap(1, 100, "d0", "d99", 1.0, 1 - 1 / 100)


def test_lower_is_better_where_the_measure_says_so() -> None:
    scene = Scene.of(Qrels({"q": {"a": 1, "b": 0}}), Run({"q": ["c", "b", "a"]}), "q", Judging())
    lower = [measure for measure in EXAMPLES if measure.definition.higher_is_better is False]
    swaps = [(measure, find_best_swap(scene, measure)) for measure in lower]
    assert any(swap for _, swap in swaps)
    for measure, swap in swaps:
        if swap:
            assert swap.gain == measure.values(scene.judged)[0, 0] - swap.value > 0, measure


def cut_ties() -> dict[str, Case]:
    """Runs cut within a tie."""
    ties = {}
    for name in ("plain", "judged only", "ascending", "costs", "costs of judged"):
        case = cases()[name]
        scores = {doc: float(i < 3) for i, doc in enumerate(case.scores)}
        ties[f"{name}, cut"] = replace(case, scores=scores, options={**case.options, "depth": 5})
    return ties


TIES = {**cases(), **cut_ties()}


@pytest.mark.parametrize("case", TIES.values(), ids=list(TIES))
def test_ties_in_both_orders_of_grades(case: Case) -> None:
    scene, qrels = case.scene(), case.qrels()
    best = dict(zip(qrels.doc_lists[0], qrels.grade.tolist(), strict=False))
    depth, only_judged = case.options.get("depth"), case.options.get("judged_only", False)
    docs = case.uncut
    ties = []
    for score in sorted(set(case.scores.values()), reverse=True):
        tied_docs = [doc for doc in docs if case.scores[doc] == score]
        judged_docs = [doc for doc in tied_docs if doc in best]
        by_grade = sorted(judged_docs, key=lambda doc: -best[doc])
        worst = sorted(judged_docs, key=best.__getitem__)
        unjudged_docs = [doc for doc in tied_docs if doc not in best]
        at = [docs.index(doc) for doc in tied_docs]
        if depth is None or at[0] < depth:
            orders = [
                [*docs[: at[0]], *order, *docs[at[-1] + 1 :]]
                for order in (by_grade + unjudged_docs, unjudged_docs + worst)
            ]
            values = [
                case.measure_order(order, depth=depth, judged_only=only_judged) for order in orders
            ]
            top_docs = docs[: depth or len(docs)][at[0] : at[-1] + 1]
            if only_judged:
                top_docs = [doc for doc in top_docs if best.get(doc, -1) >= 0]
            ties.append((at[0] + 1, len(tied_docs), tuple(top_docs), values))
    for scene, measure, _ in list_values(case):
        expected = [
            Tie(first, size, tied_docs, *sorted((a[measure], b[measure])))
            for first, size, tied_docs, (a, b) in ties
            if a[measure] != b[measure]
        ]
        expected.sort(key=lambda tie: tie.lowest - tie.highest)
        assert find_ties(scene, measure) == expected, measure


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
    judged_docs = {row["doc_id"] for row in case.rows or () if row["query_id"] == "q"}
    open_docs = [(rank, doc) for rank, doc in enumerate(docs, 1) if doc not in judged_docs]
    assert Explanation.of(scene, parse("NumRet")).unjudged == open_docs
    top = max(case.qrels().top_grade, 1)
    judgments = [
        (rank, doc, grade, case.measure_values(case.qrels(doc, grade), case.run(), **options))
        for options in [case.options or {"depth": None}]
        for rank, doc in open_docs
        for grade in range(int(top) + 1)
    ]
    for scene, measure, now in list_values(case):
        if case is cases()["stratum"] and measure.name in ("xinfAP", "statAP"):
            assert find_judgments(scene, measure) == whatif.Judgments(None, None)
            continue
        judgment_list = [
            Judgment(d, r, g, values[measure], values[measure] - now)
            for r, d, g, values in judgments
        ]
        up = max(judgment_list, key=lambda judgment: judgment.value)
        down = min(judgment_list, key=lambda judgment: judgment.value)
        best_judgments = find_judgments(scene, measure)
        assert best_judgments.up == (up if up.value > now else None), measure
        assert best_judgments.down == (down if down.value < now else None), measure


@pytest.mark.parametrize(
    ("grades", "tried_grades"),
    [
        ([10, 3], ()),  # all
        ([11, 3, 3, -1], (0, 1, 3, 11)),
        ([2**31 - 1, 1], (0, 1, 2**31 - 1)),
        ([0], (0, 1, 3**9)),  # the highest is that of another query
        (range(30), (0, 1, 2, 5, 9, 13, 16, 20, 24, 28, 29)),
    ],
)
def test_of_many_grades_a_few_are_tried(
    grades: Sequence[int], tried_grades: tuple[int, ...]
) -> None:
    judged = {f"d{i}": grade for i, grade in enumerate(grades)}
    other = {"other": {"d": 3**9}} if list(grades) == [0] else {}
    docs = ["x", *judged, "y"]
    scene = Scene.of(Qrels({"q": judged} | other), Run({"q": docs}), "q", Judging())
    judgments = find_judgments(scene, parse("nDCG"))
    assert judgments.grades == tried_grades
    grade_list = tried_grades or range(max(grades) + 1)
    now = evaluate({"q": judged}, {"q": docs}, "nDCG")["nDCG"]
    judgment_list = [
        Judgment(doc, rank, grade, value, value - now)
        for rank, doc in ((1, "x"), (len(docs), "y"))
        for grade in grade_list
        for value in [evaluate({"q": {**judged, doc: grade}}, {"q": docs}, "nDCG")["nDCG"]]
    ]
    assert judgments.up == max(judgment_list, key=lambda judgment: judgment.value)
    lowest = min(judgment_list, key=lambda judgment: judgment.value)
    assert judgments.down == (lowest if lowest.value < now else None)


def test_what_takes_more_than_a_grade_is_not_judged() -> None:
    for name in ("subtopics", "weights", "preferences", "costs of judged"):
        scene = cases()[name].scene()
        for measure in cases()[name].measures():
            assert find_judgments(scene, measure) == whatif.Judgments(None, None)


def test_judgments_are_tried_down_to_rank_1000() -> None:
    docs = [f"d{i}" for i in range(1001)]
    judged = dict.fromkeys(docs[:1000], 0)
    scene = Scene.of(Qrels({"q": judged}), Run({"q": docs}), "q", Judging())
    assert find_judgments(scene, parse("AP")).up is None
    del judged["d999"]
    scene = Scene.of(Qrels({"q": judged}), Run({"q": docs}), "q", Judging())
    assert find_judgments(scene, parse("AP")).up == Judgment("d999", 1000, 1, 0.001, 0.001)


def with_moved(docs: Order, other_docs: Order, doc: str) -> list[str]:
    order = [doc_id for doc_id in docs if doc_id != doc]
    if doc in other_docs:
        order.insert(other_docs.index(doc), doc)
    return order


@ALL
def test_documents_moved_to_where_another_ranking_has_them(case: Case) -> None:
    chance = random.Random(7)
    scene = case.scene()
    docs = list(scene.docs)
    only = [doc for doc in POOL if doc not in case.scores]
    other_docs = chance.sample(docs, len(docs) - 2) + chance.sample(only, 3)
    chance.shuffle(other_docs)
    if case.options.get("judged_only"):
        other_docs = [doc for doc in other_docs if doc in scene.grades]
    differing = [
        doc
        for doc in dict.fromkeys([*docs, *other_docs])
        if doc not in docs or doc not in other_docs or docs.index(doc) != other_docs.index(doc)
    ]
    real = {doc: case.measure_order(with_moved(docs, other_docs, doc)) for doc in differing}
    for scene, measure, _ in list_values(case):
        expected = {doc: values[measure] for doc, values in real.items()}
        assert measure_moves(scene, other_docs, measure, case.costs) == expected, measure


def test_documents_moved_within_the_first_hundred_ranks_of_either() -> None:
    docs = [f"d{i}" for i in range(120)]
    scene = Scene.of(Qrels({"q": {"d119": 1}}), Run({"q": docs}), "q", Judging())
    other_docs = [*docs[:10], "d119", *docs[10:119]]
    moves = measure_moves(scene, other_docs, parse("RR"))
    assert max(moves.items(), key=lambda move: move[1]) == ("d119", 1 / 11)
    assert moves.keys() == {"d119", *docs[10:100]}
    case = replace(cases()["plain"], options={"ties": "expected"})
    assert measure_moves(case.scene(), POOL, parse("AP")) == {}


def test_texts_have_no_what_ifs() -> None:
    scene = cases()["plain"].scene()
    for measure in EXAMPLES:
        if measure.definition.is_text:
            assert find_best_swap(scene, measure) is None
            assert find_ties(scene, measure) == []
            assert measure_moves(scene, POOL, measure) == {}
            assert find_judgments(scene, measure) == whatif.Judgments(None, None)


def test_an_empty_ranking_and_a_query_without_judgments() -> None:
    other = {"d1": {"d1": 1}}
    for qrels, run in (({"q": {"a": 1}}, {"q": []}), ({"q": {}}, {"q": ["a", "b"]})):
        scene = Scene.of(Qrels({**qrels, **other}), Run(run), "q", Judging())
        for measure in EXAMPLES:
            if not measure.definition.is_text:
                assert find_best_swap(scene, measure) is None
                assert find_ties(scene, measure) == []
                find_judgments(scene, measure)
                assert measure_moves(scene, [*run["q"]], measure) == {}


def answer_all(case: Case) -> list[Any]:
    return [
        (
            find_best_swap(*case_measure),
            find_judgments(*case_measure),
            find_ties(*case_measure),
            measure_moves(case_measure[0], POOL, case_measure[1]),
        )
        for case_measure in [(scene, measure) for scene, measure, _ in list_values(case)][::3]
    ]


def test_many_variants_are_reckoned_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("costs", "weights", "subgroups"):
        case = cases()[name]
        answer = answer_all(case)
        with monkeypatch.context() as patch:
            patch.setattr("cranfield.extensions.whatif.variants.ROWS", 70)
            parts = answer_all(case)
        assert parts == answer
