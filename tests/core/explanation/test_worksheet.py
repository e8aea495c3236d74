"""Worksheets: the value to the bit, sums that add up, formulas that a reader can redo."""

import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
import pytest
from helpers import diversity_oracle, oracle, redo
from helpers.profile import sample_cases
from helpers.samples import make_sampled_collection as samples
from helpers.variants import variants

from cranfield import (
    Cutoff,
    Measure,
    MeasureError,
    Qrels,
    Rel,
    Run,
    definitions,
    evaluate,
    keywords,
    parse,
    read_qrels,
    read_run,
)
from cranfield import measure as register_measure
from cranfield.arrays.elementary import log2
from cranfield.arrays.ranked import Ranked, ratio
from cranfield.arrays.trace import UNKNOWN
from cranfield.data.judged import Groups, Judged, TiePlaces
from cranfield.data.judging import Judging
from cranfield.data.preferences import PreferenceCounts, Preferences
from cranfield.explanation.entries import Line, Sheet, Worksheet
from cranfield.explanation.follow import trace_value
from cranfield.explanation.retrieved import add_unjudged
from cranfield.explanation.scene import Scene
from cranfield.explanation.words import BASES, SHORT_NAMES, WORDS
from cranfield.explanation.worksheet import write_worksheet
from cranfield.measures.cwl import QUANTITIES
from cranfield.measures.user_models import USER_MODELS

QUERIES = ("full0", "full1", "full2")
NAMES = [definition.name for definition in definitions()]
OPTIONS: dict[str, keywords.Judging] = {
    "as it is": {},
    "judged only": {"judged_only": True},
    "depth": {"depth": 4},
    "expected": {"ties": "expected"},
}
Data = tuple[Qrels, Run]


def trace_measure(one: Measure, data: Data, query: str, options: keywords.Judging) -> Worksheet:
    return trace_scene(
        one, Scene.of(*data, query, Judging.of(options), costs=one.definition.traits.takes_cost)
    )


def trace_scene(one: Measure, scene: Scene) -> Worksheet:
    return write_worksheet(str(one), trace_value(one, scene))


@cache
def lists() -> tuple[oracle.Qrels, oracle.Run]:
    """Return three queries that have everything, with ties, and some that lack something."""
    chance = random.Random(11)
    qrels, run = oracle.make_collection(5, 6, lowest=-1)
    for i in range(3):
        docs = [f"d{j}" for j in range(24)]
        grades = [-1, 0, 0, 1, 1, 2, 3, 3, 1, 0, 2, 1, 0, 1] + [0, 1, 2, 3][i:] * i
        query = f"full{i}"
        qrels[query] = dict(zip(docs, chance.sample(grades, len(grades)), strict=False))
        docs_found = chance.sample(docs[:12], 10) + chance.sample(docs[12:], 6 + i)
        scores = [chance.choice([9.0, 8.0, 7.5, 3.0, 1.0]) for _ in docs_found]
        run[query] = dict(zip(docs_found, scores, strict=True))
    qrels["without relevant"], run["without relevant"] = {"a": 0, "b": -1}, {"a": 1.0, "c": 2.0}
    qrels["nothing found"] = {"a": 1}
    run["nothing found"] = {}
    qrels["missing"] = {"a": 2, "b": 0}
    return qrels, run


@cache
def plain() -> Data:
    return Qrels(lists()[0]), Run(lists()[1])


@cache
def group_data(weighted: bool = False) -> Data:
    """Return queries with judgments in groups; weighted: subtopics that count differently."""
    qrels, run = diversity_oracle.make_subtopic_collection(3, 5)
    for i in range(2):
        pool = [f"d{j}" for j in range(9 + i)]
        chance = random.Random(i)
        grades = [0, 1, 2, 3, 1, 0, -1, 1, 2] + [3] * i
        qrels[f"full{i}"] = {
            name: dict(zip(pool, chance.sample(grades, 9 + i), strict=True)) for name in "xyz"[i:]
        }
        run[f"full{i}"] = chance.sample([*pool, "u", "v"], 8 + i)
    if not weighted:
        return Qrels(qrels), Run(run)
    rows = [
        {"query_id": q, "subtopic": name, "doc_id": doc, "relevance": grade, "weight": 1 + i}
        for q, groups in qrels.items()
        for i, (name, docs) in enumerate(groups.items())
        for doc, grade in docs.items()
    ]
    return Qrels(rows), Run(run)


@cache
def sample_data() -> Data:
    rows, _, run = samples(7)
    return Qrels(rows), Run(run)


@cache
def costly() -> Data:
    chance = random.Random(2)
    rows = [
        {"query_id": query, "doc_id": doc, "score": score, "cost": chance.choice([0.5, 1, 20.25])}
        for query, docs in lists()[1].items()
        for doc, score in docs.items()
    ]
    return plain()[0], Run(rows)


def list_cases(name: str) -> Iterator[tuple[Measure, Data, list[str], keywords.Judging]]:
    """Yield a measure with its parameters, judgments and runs of each shape, and options."""
    definition = Measure(name).definition
    measures = [
        measure for measure in variants(name) if getattr(measure.cutoff, "ranks", 0) != 1000
    ]
    measures = sample_cases(measures[:10] + measures[10::3], step=8)
    if name == "CWL":
        measures += users()
    chance = random.Random(name)
    for i, measure in enumerate(measures):
        data = costly() if definition.traits.takes_cost else plain()
        query_ids = ["full0", chance.choice([q for q in data[0].query_ids if q != "full0"])]
        key = list(OPTIONS)[i % 3]
        yield measure, data, query_ids if i < 8 else query_ids[:1], OPTIONS[key]
        if definition.traits.averages_ties and i % 2 == 0:
            yield measure, data, query_ids[:1], OPTIONS["expected"]
        if definition.traits.takes_groups and i % 2 == 0:
            yield (
                measure,
                group_data(i % 4 == 0 and definition.traits.takes_groups == "subtopics"),
                (["full0", "full1", "q2"]),
                OPTIONS[key],
            )
    if name in ("xinfAP", "statAP", "AP"):
        for measure in measures[:8]:
            yield measure, sample_data(), list(sample_data()[0].query_ids)[:5], {}


def users() -> Iterator[Measure]:
    """Yield every user model, the quantities in turn."""
    for i, model in enumerate(USER_MODELS.values()):
        measure = Measure("CWL")(model=model.name, depth=12, value=QUANTITIES[i % 5])
        yield measure @ 7 if model.stops_at_cutoff else measure


@pytest.mark.parametrize("name", NAMES)
def test_a_worksheet_has_the_value_to_the_bit_and_can_be_redone(name: str) -> None:
    n_redone = 0
    for measure, data, queries, options in list_cases(name):
        try:
            values = evaluate(*data, [measure], **options).per_query(measure)
        except MeasureError:  # this measure does not take these judgments, or these ties
            continue
        for query in queries:
            try:
                costs = measure.definition.traits.takes_cost
                scene = Scene.of(*data, query, Judging.of(options), costs=costs)
                worksheet = trace_scene(measure, scene)
                value, expected = worksheet.value_line.value, values[query]
                assert value == expected
                assert isinstance(value, str) or float(value).hex() == float(expected).hex()
                assert not worksheet.is_incomplete, "it lost how it was made"
                redo.check_worksheet(worksheet, scene.group_names)
                wider = add_unjudged(worksheet, measure, scene, 10)
                if wider is not worksheet:
                    assert wider.value_line == worksheet.value_line
                    redo.check_worksheet(wider, scene.group_names)
                n_redone += 1
            except Exception as error:
                error.add_note(f"{measure}, {query!r}, {options}")
                raise
    assert n_redone


@pytest.mark.parametrize("name", NAMES)
def test_the_formula_is_the_same_for_every_query(name: str) -> None:
    """A kernel that loses the derivation shows a number of the query's in place of how it came."""
    for measure, data, _, _ in sample_cases(list_cases(name)):
        if data is plain() or data is costly():
            forms = [
                redo.describe_form(trace_measure(measure, data, f"full{i}", {})) for i in range(3)
            ]
            assert forms[0] == forms[1] == forms[2], measure
        elif data[0].has_groups:
            forms = [
                redo.describe_form(trace_measure(measure, data, f"full{i}", {})) for i in range(2)
            ]
            assert forms[0] == forms[1], measure


def tables(of: Worksheet) -> list[Sheet]:
    return [entry for entry in of.sections if isinstance(entry, Sheet)]


@pytest.mark.parametrize("name", ["nDCG", "alpha_nDCG", "nERR_IA", "Dsharp_nDCG", "alpha_DCG"])
def test_every_grade_stands_beside_its_document(name: str) -> None:
    for query in QUERIES:
        measure = next(variants(name))
        for sheet in tables(trace_measure(measure, plain(), query, {})):
            if "document" in sheet.labels:
                for doc, grade in zip(sheet.labels["document"], sheet.labels["grade"], strict=True):
                    assert grade == lists()[0][query].get(doc)


@pytest.mark.parametrize(
    ("name", "n_ideal"), [("GroupAP", 0), ("P_IA", 0), ("StRecall", 0), ("alpha_nDCG", 1)]
)
def test_only_a_ranking_is_called_one(name: str, n_ideal: int) -> None:
    """What is only counted has no order."""
    measure = next(variants(name))
    titles = [sheet.title for sheet in tables(trace_measure(measure, plain(), "full0", {}))]
    assert sum("ideal ranking" in title for title in titles) == n_ideal
    assert "judged documents of grade 1 or more, retrieved or not" in titles
    assert any("highest grade first" in title for title in titles) == 0


def test_preferences_are_given_and_said_to_be() -> None:
    for name in ("Prefs", "PrefsByGroup", "PrefsRnonrel"):
        worksheet = trace_measure(next(variants(name)), group_data(), "full0", {})
        assert any("preferences are given" in sheet.title for sheet in tables(worksheet))
    by_pair = trace_measure(next(variants("PrefsByPair")), group_data(), "full0", {})
    lines = [entry for entry in by_pair.sections if isinstance(entry, Line)]
    assert [line.words.startswith("given: ") for line in lines] == [True, True]


def test_a_constant_has_the_digits_that_it_takes() -> None:
    data = Qrels({"q": {"a": 1}}), Run({"q": ["a"]})
    for p, words in ((0.8, "A * (1 - 0.8)"), (0.5, "A * 0.5"), (1 / 3, "A * 0.6666666666666667")):
        result = trace_measure(Measure("RBP")(p=p), data, "q", {}).value_line
        assert (result.words, result.value) == (words, 1 - p)
        assert eval(result.numbers) == 1 - p  # noqa: S307 - our own text


def test_where_nothing_was_divided_by_nothing() -> None:
    """F of a query without anything relevant: P is known, R is 0 / 0, F too."""
    empty_data = Qrels({"q": {"a": 0}}), Run({"q": ["a"]})
    made = trace_measure(Measure("AP"), empty_data, "q", {})
    assert made.zero_divisions == ("AP",)
    relevant_data = Qrels({"q": {"a": 1}}), Run({"q": ["a"]})
    assert trace_measure(Measure("AP"), relevant_data, "q", {}).zero_divisions == ()
    by_group = trace_measure(Measure("GroupAP"), empty_data, "q", {})
    assert by_group.zero_divisions == ("AP",)  # the column of that name
    both = trace_measure(Measure("F") @ 5, empty_data, "q", {})
    names = {entry.symbol for entry in both.sections if isinstance(entry, Line)}
    assert set(both.zero_divisions) <= {*names, "F@5"}
    assert both.zero_divisions


# ---- measures of one's own ------------------------------------------------------------------


def declare(function: Any) -> Measure:
    function.__doc__ += "\n\nFormula: none\nSource: this test"
    register_measure("Own")(function)
    return Measure("Own")


def test_a_measure_of_ones_own_is_explained_as_any_other() -> None:
    def kernel(judged: Judged) -> Any:
        """Reciprocal squares of the ranks. Unjudged documents count as not relevant."""
        hits = judged.hits.relevant()
        return ratio(hits.total(1 / hits.rank**2), judged.n_relevant())

    worksheets = [trace_measure(declare(kernel), plain(), query, {}) for query in QUERIES]
    assert (
        redo.describe_form(worksheets[0])
        == redo.describe_form(worksheets[1])
        == redo.describe_form(worksheets[2])
    )
    for worksheet, query in zip(worksheets, QUERIES, strict=True):
        redo.check_worksheet(worksheet, [])
        assert not worksheet.is_incomplete
        assert worksheet.value_line.value == evaluate(*plain(), "Own").per_query("Own")[query]
    (sheet,) = tables(worksheets[0])
    assert [column.header for column in sheet.columns] == ["1 / rank^2"]
    assert worksheets[0].value_line.words == "A / B"


def share_of_relevant(judged: Judged, numerator: Any) -> Any:
    return ratio(numerator + 0.0 * judged.n_relevant(), judged.n_relevant())


def loop_over_rows(judged: Judged) -> Any:
    total = 0.0
    for grade in judged.hits.relevant().grade:
        total += grade / 7
    return share_of_relevant(judged, total)


def grades_overwritten(judged: Judged) -> Any:
    hits = judged.hits.relevant(2)
    grade = hits.grade
    grade[hits.rank > 3] = 0
    return share_of_relevant(judged, hits.total(grade))


def view_overwritten(judged: Judged) -> Any:
    hits = judged.hits.relevant(2)
    grade = hits.grade
    grade[:][hits.rank > 3] = 0
    return share_of_relevant(judged, hits.total(grade))


def discount_in_place(judged: Judged) -> Any:
    hits = judged.hits.relevant()
    discount = log2(hits.rank + 1)
    discount += 1
    return share_of_relevant(judged, hits.total(hits.grade / discount))


def filled_in_place(judged: Judged) -> Any:
    hits = judged.hits.relevant()
    grade = hits.grade * 1.0
    np.copyto(grade, 2.0, where=hits.rank > 3)
    np.add(grade, 1, out=grade)
    return share_of_relevant(judged, hits.total(grade))


def reversed_grades(judged: Judged) -> Any:
    hits = judged.hits.relevant()
    return share_of_relevant(judged, hits.total(hits.grade[::-1] / hits.rank))


def sum_of_numpy(judged: Judged) -> Any:
    return share_of_relevant(judged, 1.0 * np.sum(judged.ideal.grade))


def bincount_of_numpy(judged: Judged) -> Any:
    hits = judged.hits.relevant()
    return share_of_relevant(judged, np.bincount(hits.query, hits.grade, hits.n_queries)[:, None])


def grades_of_the_ideal(judged: Judged) -> Any:
    """The grades of one table in a formula of another."""
    hits, ideal = judged.hits, judged.ideal
    hits, ideal = hits.where(hits.ordinal <= 2), ideal.where(ideal.rank <= 2)
    return share_of_relevant(judged, hits.total(hits.grade * ideal.grade))


LOST: dict[str, Any] = {
    "a number as a float": lambda j: share_of_relevant(
        j, float(j.hits.total(j.hits.grade / 7)[0, 0])
    ),
    "a number as an int": lambda j: share_of_relevant(j, int(j.hits.total(j.hits.grade / 7)[0, 0])),
    "an item": lambda j: share_of_relevant(j, j.hits.total(j.hits.grade / 7).item()),
    "a list": lambda j: share_of_relevant(j, sum(j.hits.grade.tolist())),
    "a flat iterator": lambda j: share_of_relevant(j, max(j.hits.grade.flat, default=0)),
    "a number as an array": lambda j: share_of_relevant(
        j, np.asarray(j.hits.total(j.hits.grade / 7))
    ),
    "an array, computed with": lambda j: share_of_relevant(j, np.asarray(j.n_retrieved) / 7),
    "a column as an array": lambda j: share_of_relevant(
        j, j.hits.total(np.asarray(j.hits.grade) / 7)
    ),
    "a sum": lambda j: share_of_relevant(j, j.hits.grade.sum()),
    "a mean": lambda j: share_of_relevant(j, j.ideal.grade.mean()),
    "a maximum of all rows": lambda j: share_of_relevant(j, 1.0 * j.ideal.grade.max()),
    "a condition": lambda j: share_of_relevant(
        j, j.hits.where(np.asarray(j.hits.grade) > 1).count()
    ),
    "nothing left": lambda j: np.asarray(share_of_relevant(j, j.n_retrieved)),
    "a loop": loop_over_rows,
    "grades overwritten": grades_overwritten,
    "a view overwritten": view_overwritten,
    "in place": discount_in_place,
    "filled in place": filled_in_place,
    "reversed": reversed_grades,
    "numpy's sum": sum_of_numpy,
    "numpy's bincount": bincount_of_numpy,
    "of the ideal": grades_of_the_ideal,
}


@pytest.mark.parametrize("function", LOST.values(), ids=LOST)
def test_a_measure_that_loses_the_derivation_says_so_and_keeps_its_value(function: Any) -> None:
    def kernel(judged: Judged) -> Any:
        """Loses something. Unjudged documents gain nothing."""
        return function(judged)

    measure = declare(kernel)
    for query in QUERIES:
        worksheet = trace_measure(measure, plain(), query, {})
        alone = evaluate({query: lists()[0][query]}, {query: lists()[1][query]}, "Own")
        assert worksheet.value_line.value == alone["Own"]
        assert worksheet.is_incomplete


KEPT: dict[str, Any] = {
    "axes": lambda j: share_of_relevant(
        j, j.hits.total(j.hits.grade[:, None][:, 0] / 7)[None][0, ..., :]
    ),
    "a copy": lambda j: share_of_relevant(j, j.hits.total(j.hits.grade.copy() / 7)),
    "the top grade": lambda j: share_of_relevant(j, j.n_retrieved / float(j.top_grade)),
    "decisions": lambda j: share_of_relevant(
        j, j.n_retrieved * (int(j.hits.rank.max(initial=0)) > 0 and bool(j.hits.judged.any()))
    ),
}


@pytest.mark.parametrize("function", KEPT.values(), ids=KEPT)
def test_what_only_looks_as_if_it_lost_the_derivation(function: Any) -> None:
    def kernel(judged: Judged) -> Any:
        """Loses nothing. Unjudged documents gain nothing."""
        return function(judged)

    measure = declare(kernel)
    for query in QUERIES:
        worksheet = trace_measure(measure, plain(), query, {})
        assert not worksheet.is_incomplete
        redo.check_worksheet(worksheet, [])
        assert worksheet.value_line.value == evaluate(*plain(), "Own").per_query("Own")[query]


def test_a_cutoff_may_be_reckoned_with() -> None:
    def kernel(judged: Judged, k: Cutoff) -> Any:
        """Precision of the next rank. Unjudged documents gain nothing."""
        hits = judged.hits.relevant().top(k + 1)
        return ratio(hits.total(np.ones_like(hits.rank) * 0.5), np.minimum(k + 1, 1.0 * k + 2))

    measure = declare(kernel) @ 4
    worksheet = trace_measure(measure, plain(), "full0", {})
    assert not worksheet.is_incomplete
    redo.check_worksheet(worksheet, [])
    assert worksheet.value_line.value == evaluate(*plain(), [measure]).per_query(measure)["full0"]
    assert worksheet.value_line.words == "A / min(4 + 1, 4 + 2)"
    assert tables(worksheet)[0].title.endswith("of grade 1 or more, down to rank 4 + 1")


def test_what_is_overwritten_is_the_arrays_own() -> None:
    """The run as the judgments see it stays as it is for the next measure."""

    def kernel(judged: Judged) -> Any:
        """Overwrites the grades. Unjudged documents gain nothing."""
        judged.hits.grade[:] = 0
        log2(judged.hits.rank)[:] = 0
        judged.hits.running(judged.hits.grade)[:] = 0
        judged.n_retrieved[:] = 0
        return judged.n_relevant()

    scene = Scene.of(*plain(), "full0", Judging())
    before = trace_scene(Measure("nDCG"), scene).value_line.value
    trace_scene(declare(kernel), scene)
    assert trace_scene(Measure("nDCG"), scene).value_line.value == before
    assert scene.judged.n_retrieved.all()


def test_arguments_may_have_keywords() -> None:
    def cut_by_keyword(judged: Judged, k: Cutoff) -> Any:
        """As cut_by_position. Unjudged documents gain nothing."""
        hits = judged.hits.relevant(rel=2).top(k=k)
        total = hits.total(values=hits.running(values=hits.grade))
        return ratio(total, judged.every(k=k).count() * judged.n_relevant(rel=1))

    def cut_by_position(judged: Judged, k: Cutoff) -> Any:
        """As cut_by_keyword. Unjudged documents gain nothing."""
        hits = judged.hits.relevant(2).top(k)
        total = hits.total(hits.running(hits.grade))
        return ratio(total, judged.every(k).count() * judged.n_relevant(1))

    worksheets = [
        trace_measure(declare(kernel) @ 2, plain(), "full0", {})
        for kernel in (cut_by_keyword, cut_by_position)
    ]
    assert redo.describe_form(worksheets[0]) == redo.describe_form(worksheets[1])
    assert any(
        "documents retrieved, down to rank 2" in line for line in map(str, worksheets[0].sections)
    )
    assert worksheets[0].value_line == worksheets[1].value_line
    assert not worksheets[0].is_incomplete


# ---- words ----------------------------------------------------------------------------------


def test_a_local_variable_is_the_word_for_what_it_holds() -> None:
    def kernel(judged: Judged, k: Cutoff, *, rel: Rel = 1) -> Any:
        """Precision with other words. Unjudged documents gain nothing."""
        hits = judged.hits.relevant(rel).top(k)
        gain_ = hits.grade / hits.rank
        is_high = hits.grade > 1
        n_others = k - hits.count()
        mean_gain = ratio(hits.total(np.where(is_high, gain_, 0)), n_others + 1)
        return mean_gain * n_others * helped(mean_gain)

    def helped(given: Any) -> Any:
        half = given / 2
        return half + half

    worksheet = trace_measure(declare(kernel) @ 40, plain(), "full0", {})
    assert [column.header for column in tables(worksheet)[0].columns] == [
        "gain",
        "gain if grade > 1, else 0",
    ]
    words = [entry.words.split(" = ")[0] for entry in worksheet.sections if isinstance(entry, Line)]
    assert words == ["number of others", "mean gain", "half"]
    redo.check_worksheet(worksheet, [])


def test_the_hook_that_names_leaves_no_trace() -> None:
    seen: list[str] = []

    def before(frame: Any, event: str, _: Any) -> None:
        seen.append(event)

    def failing(judged: Judged) -> Any:
        """Fails. Unjudged documents gain nothing."""
        raise MeasureError("on purpose")

    measure, scene = declare(failing), Scene.of(*plain(), "full0", Judging())
    was = sys.getprofile()
    sys.setprofile(before)
    try:
        trace_value(Measure("AP"), scene)
        with pytest.raises(MeasureError, match="on purpose"):
            trace_value(measure, scene)
        assert sys.getprofile() is before
    finally:
        sys.setprofile(was)
    assert seen


def test_threads_are_named_apart() -> None:
    """The hook is that of the thread: what others compute meanwhile stays as it is."""
    alone = {
        name: redo.describe_form(trace_measure(parse(name), plain(), "full0", {})) for name in SOME
    }
    with ThreadPoolExecutor(4) as pool:
        jobs = {
            name: pool.submit(trace_measure, parse(name), plain(), "full0", {}) for name in SOME * 5
        }
        assert {name: redo.describe_form(job.result()) for name, job in jobs.items()} == alone


SOME = ["AP", "nDCG@10", "ERR", "Bpref", "RBP", "Q"]


def test_every_attribute_that_has_a_word_is_one() -> None:
    """Methods are named as they are; what is only held is named by a string."""
    attributes = {
        name
        for kind in (Ranked, Judged, Groups, TiePlaces, PreferenceCounts, Preferences)
        for name in (*vars(kind), *(field.name for field in fields(kind)))
    }
    texts = {word for word in (*WORDS, *BASES, *SHORT_NAMES) if isinstance(word, str)}
    assert texts - {UNKNOWN, "items"} <= attributes  # items of the lists that an extension scores


# ---- a public collection --------------------------------------------------------------------


def test_dl_2019(data: Any) -> None:
    """Every measure with its defaults on 43 queries: to the bit, and the sums add up."""
    folder = data / "dl19"
    qrels, run = read_qrels(folder / "qrels.txt"), read_run(folder / "bm25.run.gz")
    measures = [next(variants(name)) for name in NAMES]
    scores = evaluate(qrels, run, measures)
    assert len(scores.query_ids) == 43
    for i, query in enumerate(scores.query_ids):
        scene = Scene.of(qrels, run, query, Judging())
        for measure in measures:
            worksheet = trace_scene(measure, scene)
            assert worksheet.value_line.value == scores.per_query(measure)[query], (measure, query)
            assert not worksheet.is_incomplete
            if i % 10 == 0 and measure.name != "CWL":  # a thousand rows each
                redo.check_worksheet(worksheet, scene.group_names)
            for sheet in tables(worksheet):
                for total in sheet.totals:
                    redo.check_total(sheet, total, scene.group_names)
