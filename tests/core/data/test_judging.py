"""How a run is judged: each option of it, and all together, against a slow loop of their rules."""

import json
import random
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.commands import invoke
from helpers.judging_loop import (
    CHOICES,
    OPTION_CASES,
    QUERY_CHOICES,
    Options,
    compute_scores,
    list_rankings,
    make_collection,
    nest_rows,
    select_docs,
)
from helpers.notes import codes, sentence
from helpers.profile import seeds
from helpers.rows import FORMS

import cranfield
from cranfield import InputError, OptionError, Qrels, Run, compare, evaluate, explain, read_run
from cranfield.data.judging import Judging, Queries
from cranfield.formats.block import SIZES
from cranfield.measures.plan import make_example

MEASURES = "AP RR P@3 R@3 nDCG@3 DCG NumRet NumRel"


OF_FORMS = {"apart", "ranks-as-scores", "scores-rise"}  # notes that some forms have alone


# ---- the slow loop ------------------------------------------------------------------------------


# ---- collections --------------------------------------------------------------------------------


def options(seed: int) -> Options | None:
    """Return a choice of each option; None if these do not go together."""
    chance = random.Random(seed)
    options = {name: chance.choice(choices) for name, choices in CHOICES.items()}
    if options["duplicates"] == "joined" and options["unretrieved"] == "below":
        options["depth"] = None  # of documents below, each is there once
    depends_on_grade = options["ties"] in ("expected", "best", "worst")
    together = (options["judged_only"], options["unretrieved"] == "below")
    if options["depth"] and depends_on_grade and any(together):
        with pytest.raises(OptionError, match="with depth and"):
            Judging.of(options)
        return None
    return options


PART = 200


@pytest.mark.no_cover  # others run the same lines
@pytest.mark.parametrize("part", range(10))
def test_all_options_together_against_the_slow_loop(
    part: int, write: Any, monkeypatch: Any
) -> None:
    """The same in every form that a run may have, to the last bit."""
    monkeypatch.setattr(SIZES, "bytes", 40)  # several blocks
    monkeypatch.setattr(SIZES, "tail", 20)
    n_compared = 0
    for seed in (part * PART + n for n in seeds(PART)):
        judging_options, twice = options(seed), seed % 3 == 0
        if judging_options is None:
            continue
        qrels, rows, run = make_collection(seed, repeat_docs=twice)
        forms: list[Any] = [] if twice else [nest_rows(rows, run)]
        if not twice:
            forms.append(write("a.json", json.dumps(forms[0])))
        if {query for query, *_ in rows} == run:  # a table has no empty list
            form_names = random.Random(seed).sample(sorted(FORMS), 2)
            forms += [FORMS[name](rows, write) for name in form_names]
        if not forms:
            continue
        if not set(qrels) & run:
            with pytest.raises(InputError):
                evaluate(qrels, forms[0], "AP", **judging_options)
            continue
        expected = compute_scores(qrels, rows, run, judging_options)
        if not expected:
            with pytest.raises(InputError, match="leaves none to average"):
                evaluate(qrels, forms[0], "AP", **judging_options)
            continue
        form_scores = [evaluate(Qrels(qrels), form, MEASURES, **judging_options) for form in forms]
        for scores in form_scores:
            assert scores.to_dict() == form_scores[0].to_dict(), (seed, judging_options)
            assert {*codes(scores)} - OF_FORMS == {*codes(form_scores[0])} - OF_FORMS
            assert scores.counts == form_scores[0].counts
        assert form_scores[0].query_ids == list(expected), (seed, judging_options)
        for query, query_values in expected.items():
            assert form_scores[0].to_dict()[query] == pytest.approx(query_values, abs=1e-12), (
                seed,
                judging_options,
            )
        n_compared += 1
    assert n_compared > 0.35 * len(seeds(PART))


# ---- which queries ------------------------------------------------------------------------------

JUDGED = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 0}, "q4": {"a": 2}, "q5": {"a": -1}}
ANSWERS = {"q1": {"a": 1.0}, "q3": {"a": 1.0, "x": 2.0}, "q4": {}, "q7": {}, "q0": {"x": 1.0}}
# (the queries, what is counted beside them)
EXPECTED_QUERIES: dict[Queries, tuple[list[str], dict[str, int]]] = {
    "judged": (["q1", "q2", "q3", "q4", "q5"], {"without-results": 3, "without-judgments": 2}),
    "both": (["q1", "q3", "q4"], {"without-run": 2, "without-results": 1, "without-judgments": 2}),
    "relevant": (
        ["q1", "q2", "q4"],
        {"none-relevant": 2, "without-results": 2, "without-judgments": 2},
    ),
    "relevant-and-both": (
        ["q1", "q4"],
        {"without-run": 2, "none-relevant": 1, "without-results": 1, "without-judgments": 2},
    ),
    "retrieved": (["q1", "q3"], {"none-retrieved": 3, "without-judgments": 2}),
    "relevant-and-retrieved": (
        ["q1"],
        {"none-retrieved": 3, "none-relevant": 1, "without-judgments": 2},
    ),
    "run": (
        ["q0", "q1", "q3"],
        {"none-retrieved": 3, "unjudged-queries": 1, "without-judgments": 1},
    ),
}


@pytest.mark.parametrize("queries", QUERY_CHOICES)
def test_queries_and_what_is_counted_beside_them(queries: Queries) -> None:
    expected, counts = EXPECTED_QUERIES[queries]
    scores = evaluate(JUDGED, ANSWERS, "RR NumRet", queries=queries)
    assert scores.query_ids == expected
    value_of_query = {"q1": 1.0, "q3": 0.0, "q0": 0.0}
    assert scores.per_query("RR") == {query: value_of_query.get(query, 0.0) for query in expected}
    assert scores["RR"] == 1 / len(expected)
    n_docs_of_query = {query: len(docs) for query, docs in ANSWERS.items()}
    assert scores.per_query("NumRet") == {
        query: n_docs_of_query.get(query, 0) for query in expected
    }
    count_of_note = {note.code: note.queries for note in scores.notes}
    n_zero = sum(max(JUDGED.get(query, {}).values(), default=0) < 1 for query in expected)
    if n_zero:
        counts = {**counts, "without-relevant": n_zero}
    del count_of_note["queries"]
    count_of_note.pop("options", None)
    assert count_of_note == counts
    assert scores.counts.queries == len(expected)
    assert scores.counts.without_judgments == counts["without-judgments"]


def test_each_run_has_its_own_queries_and_slices_count_them() -> None:
    second_run = {"q1": {"x": 1.0}, "q2": {"a": 1.0}}
    runs = {"one": ANSWERS, "other": second_run}
    labels = {"q0": "new", "q1": "old", "q2": "old", "q3": "old"}
    systems = evaluate(JUDGED, runs, "RR", queries="run", slices=labels)
    assert {name: scores.query_ids for name, scores in systems.items()} == {
        "one": ["q0", "q1", "q3"],
        "other": ["q1", "q2"],
    }
    old = systems["one"].slice("old")
    assert (old.query_ids, old["RR"], old.counts.without_results) == (["q1", "q3"], 1 / 2, 0)


def test_every_measure_has_of_a_query_without_judgments_what_nothing_relevant_gives() -> None:
    """And of the others what it has without it."""
    qrels = {"q1": {"a": 1, "b": 0}, "q3": {"a": 0, "b": 1}, "q4": {"c": 2}}
    run = {"q1": {"a": 1.0, "b": 2.0}, "q3": {"b": 1.0, "x": 2.0}, "q5": {"a": 1.0}}
    irrelevant = {**qrels, "q5": {"z": -1}}
    for definition in cranfield.definitions():
        measure, _ = make_example(definition)
        value_of_query = evaluate(qrels, run, measure, queries="run").per_query(measure)
        alike = evaluate(irrelevant, run, measure, queries="run").per_query(measure)
        assert value_of_query == alike, measure


def test_no_query_left_is_an_error_that_says_why() -> None:
    with pytest.raises(InputError, match=r"queries='relevant' .*none to average: 1 query left"):
        evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, "AP", queries="relevant")
    run: dict[str, dict[str, float]] = {"q": {}, "p": {}, "r": {}}
    with pytest.raises(InputError, match="2 queries left out: nothing was retrieved"):
        evaluate({"q": {"a": 1}, "p": {"a": 1}}, run, "AP", queries="run")


def test_groups_and_costs_have_no_queries_without_judgments() -> None:
    groups = {"q1": {"ann": {"a": 1, "b": 0}}, "q2": {"ann": {"c": 1}}, "q3": {"bob": {"a": 0}}}
    run = {"q1": ["b", "a"], "q2": ["x"], "q4": ["a"]}
    scores = evaluate(groups, run, "Prefs", queries="relevant-and-retrieved")
    assert scores.query_ids == ["q1", "q2"]
    value_of_query = evaluate(groups, run, "Prefs").per_query("Prefs")
    assert scores.per_query("Prefs") == {query: value_of_query[query] for query in ("q1", "q2")}
    with pytest.raises(OptionError, match=r"queries='run' .* in groups"):
        evaluate(groups, run, "Prefs", queries="run")
    rows = [("q1", "a", 1.0, 2.0), ("q1", "b", 2.0, 4.0), ("q2", "a", 1.0, 8.0)]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "cost"])
    plain = {"q1": {"a": 1}, "q2": {"a": 0}}
    measure = "CWL(P, value=ETC)@3"
    cost = evaluate(plain, frame, measure).per_query(measure)
    assert len(set(cost.values())) == 2
    relevant_values = evaluate(plain, frame, measure, queries="relevant").per_query(measure)
    assert relevant_values == {"q1": cost["q1"]}
    with pytest.raises(OptionError, match=r"queries='run' .* costs"):
        evaluate({"q1": {"a": 1}}, frame, measure, queries="run")
    with pytest.raises(OptionError, match=r"unretrieved='below' .* costs"):
        evaluate(plain, frame, measure, unretrieved="below")


# ---- what is dropped, and what is added ---------------------------------------------------------


def test_what_is_dropped_or_added_is_counted_and_said() -> None:
    qrels = {"d1": {"d2": 1, "d3": 2, "d4": 0, "d5": 1}}
    run = {"d1": {"d1": 5.0, "d2": 0.0, "d4": 1.0, "d9": -1.0}, "d9": {"d9": 1.0}}
    scores = evaluate(
        qrels, run, "AP NumRet", identical_ids="drop", scores_above=0, unretrieved="below"
    )
    # d4, then those that are left out as if of one score: d5, d3, d2.
    assert scores.means() == {"AP": (1 / 2 + 2 / 3 + 3 / 4) / 3, "NumRet": 4}
    counts = {note.code: note.count for note in scores.notes if note.count is not None}
    assert counts == {"identical-ids": 2, "scores-above": 2, "below": 3}
    assert "above 0." in sentence(scores.notes, "scores-above")
    assert codes(evaluate(qrels, run, "AP", scores_above=-7)) == ["without-judgments", "options"]


def test_a_run_without_scores_has_none_above() -> None:
    for run in ({"q": ["a", "b"]}, [("q", "a")]):
        with pytest.raises(OptionError, match=r"scores_above=1 .* has none"):
            evaluate({"q": {"a": 1}}, run, "AP", scores_above=1)
    with pytest.raises(OptionError, match=r"scores_above=1 .* has none"):
        explain({"q": {"a": 1}}, {"q": ["a", "b"]}, "AP", "q", scores_above=1)
    with pytest.raises(OptionError, match=r"scores_above=1 .* has none"):
        evaluate(*cranfield.grades([1, 0]), "AP", scores_above=1)
    for order in ("rank", "given"):
        with pytest.raises(OptionError, match=f"scores_above=0 .* order='{order}'"):
            Judging(scores_above=0, order=order)
    with pytest.raises(OptionError, match="expected a number"):
        Judging(scores_above=float("inf"))


def test_ties_given_go_with_ranks_and_not_with_the_order_given() -> None:
    rows = [("q", "b", 1), ("q", "c", 1), ("q", "a", 1)]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "rank"])
    qrels = {"q": {"c": 1}}
    assert evaluate(qrels, frame, "RR")["RR"] == 1
    assert evaluate(qrels, frame, "RR", ties="given")["RR"] == 1 / 2
    with pytest.raises(OptionError, match="ties='given' has no effect with order='given'"):
        Judging(ties="given", order="given")
    equal = {"q": {"b": 1.0, "c": 1.0, "a": 1.0}}
    assert codes(evaluate(qrels, equal, "RR", ties="given")) == ["ties", "options"]


def test_below_the_order_given_there_are_ties() -> None:
    qrels, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": ["a"]}
    scores = evaluate(qrels, run, "RR AP", order="given", unretrieved="below", ties="expected")
    assert scores["AP"] == pytest.approx((1 + (1 + 2 / 3) / 2) / 2)


def test_documents_of_chunks_are_dropped_and_not_chunks() -> None:
    run = Run({"d1": {"d1#1": 9.0, "d2#1": -1.0, "d2#2": 2.0, "d3#1": 0.4, "d3#2": 0.3}})
    qrels = {"d1": {"d1": 1, "d2": 1, "d3": 1}}
    id_scores = evaluate(qrels, run.map_docs("(.*)#"), "NumRet AP", identical_ids="drop")
    assert id_scores.means() == {"NumRet": 2, "AP": (1 + 1) / 3}
    for keep, n in (("first", 2), ("best", 2), ("sum", 3)):
        mapped_run = run.map_docs("(.*)#", keep=keep)  # type: ignore[arg-type] # each is one
        assert evaluate(qrels, mapped_run, "NumRet", scores_above=0.5)["NumRet"] == n
    scores = evaluate(qrels, run.map_docs("(.*)#", keep="sum"), "RR", scores_above=5)
    assert {note.code: note.count for note in scores.notes}["scores-above"] == 2


def test_spans_that_are_dropped_meet_no_judgment() -> None:
    judged = {"query_id": "q1", "doc_id": "d1", "start": 0, "end": 100, "relevance": 1}
    run = Run({"q1": {"d1:0-90": 1.0, "d1:10-100": 2.0, "d2:0-5": 3.0}})
    run = run.spans(r"(?P<doc>.*):(?P<start>\d+)-(?P<end>\d+)")
    assert evaluate(Qrels([judged]), run, "RR")["RR"] == 1 / 2
    scores = evaluate(Qrels([judged]), run, "RR NumRet", scores_above=1.5)
    assert scores.means() == {"RR": 1 / 2, "NumRet": 2}
    assert {note.code: note.count for note in scores.notes}["scores-above"] == 1
    below = evaluate(Qrels([judged]), run, "RR NumRet", scores_above=2.5, unretrieved="below")
    assert below.means() == {"RR": 1 / 2, "NumRet": 2}
    with pytest.raises(OptionError, match=r"identical_ids='drop' .* of spans"):
        evaluate(Qrels([judged]), run, "RR", identical_ids="drop")


def test_groups_have_their_documents_below() -> None:
    groups = {"q1": {"ann": {"a": 1, "b": 0, "c": 2}, "bob": {"b": 1}}}
    scores = evaluate(groups, {"q1": ["x", "a"]}, "NumRet Prefs GroupP@4", unretrieved="below")
    scores_of_all = evaluate(groups, {"q1": ["x", "a", "c", "b"]}, "NumRet Prefs GroupP@4")
    assert scores.means() == scores_of_all.means()
    assert scores["NumRet"] == 4


# ---- all that is told of a run that is judged so ------------------------------------------------


@pytest.mark.parametrize("option_case", OPTION_CASES, ids=str)
@pytest.mark.parametrize("measure", ["nDCG", "AP"])
def test_explain_has_the_same_values_and_documents(option_case: Options, measure: str) -> None:
    n_seen = 0
    for seed in seeds(30):
        qrels, rows, run = make_collection(seed, repeat_docs=False)
        judging_options = {name: choices[0] for name, choices in CHOICES.items()} | option_case
        docs_of_query, shared = nest_rows(rows, run), sorted(set(qrels) & run)
        if not shared:
            continue
        value_of_query = evaluate(qrels, docs_of_query, measure, **option_case).per_query(measure)
        means: Any = (
            explain(qrels, docs_of_query, measure, **option_case) if len(qrels) > 1 else None
        )
        if means is not None:
            assert means.value == evaluate(qrels, docs_of_query, measure, **option_case)[measure]
        for query in shared:
            explanation: Any = explain(qrels, docs_of_query, measure, query, **option_case)
            assert explanation.value == value_of_query[query]
            docs = select_docs(rows, query, judging_options)
            ranked_docs = next(
                list_rankings(docs, qrels[query], judging_options | {"judged_only": False})
            )
            if option_case.get("ties") == "worst":  # equal grades in any order
                assert [row.grade for row in explanation.retrieved] == [
                    qrels[query].get(doc) for doc in ranked_docs
                ]
                continue
            assert [row.document for row in explanation.retrieved] == ranked_docs
            retrieved_docs = [doc for doc in ranked_docs if doc in dict(docs)][
                : option_case.get("depth")
            ]
            missing = {doc for doc, grade in qrels[query].items() if grade > 0}
            assert {doc for doc, _ in explanation.missing} == missing - set(retrieved_docs)
            scores = dict(docs)
            assert [row.score for row in explanation.retrieved] == pytest.approx(
                [scores[doc] if doc in retrieved_docs else None for doc in ranked_docs], abs=1e-6
            )
            json.loads(explanation.to_json())
            n_seen += 1
    assert n_seen > len(seeds(30)) * 2 / 3 or option_case.get("ties") == "worst"


def test_a_comparison_takes_them() -> None:
    qrels = {f"q{i}": {"a": 1, "b": i % 2, "c": 0} for i in range(8)}
    runs = {
        "x": {query: {"c": 1.0, "a": 1.0, "b": 1.0} for query in qrels},
        "y": {query: {"a": 2.0, query: 3.0} for query in qrels},
    }
    for judging_options in OPTION_CASES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cranfield.CranfieldWarning)  # few queries
            scores = evaluate(qrels, runs, "RR", **judging_options)
            comparison = compare(qrels, runs, "RR", **judging_options)
        means = {name: system_scores["RR"] for name, system_scores in scores.items()}
        (row,) = comparison.rows()
        assert row["mean"] == pytest.approx(means["y"])


# ---- the values of other tools ------------------------------------------------------------------


BINARY = {"nDCG@5": "nDCG(gain='binary')@5"}
ALIKE = {"AP@5": "AP@5", "P@5": "P@5", "R@5": "R@5"}
RANKED: Options = {"queries": "relevant", "ties": "given"}
TOOLS: list[tuple[str, Options, dict[str, str]]] = [
    (
        "sentence-transformers",
        {"queries": "relevant", "ties": "ascending"},
        {**BINARY, "P@5": "P@5", "R@5": "R@5", "RR@5": "RR@5", "Hit@5": "Success@5"},
    ),
    ("recommenders", {**RANKED, "queries": "relevant-and-retrieved"}, ALIKE),
    (
        "recommenders",
        RANKED,
        {**BINARY, "nDCG_raw@5": "nDCG@5", "nDCG_exp@5": "nDCG(gain='exp2')@5"},
    ),
    ("ranx make_comparable", {"ties": "given"}, {**ALIKE, "nDCG@5": "nDCG@5", "RR@5": "RR@5"}),
    ("trectools", {"queries": "run"}, {**ALIKE, "RR@5": "RR"}),
    ("replay", {"queries": "relevant"}, {"P@5": "P@5", "R@5": "R@5", "RR@5": "RR@5"}),
]


@pytest.mark.parametrize(("tool", "tool_options", "measures"), TOOLS)
def test_values_of_other_tools(
    tool: str, tool_options: Options, measures: dict[str, str], data: Path
) -> None:
    vectors = json.loads((data / "conventions.json").read_text())
    for name, collection in vectors["collections"].items():
        run, judging_options = collection["run"], tool_options
        if tool in ("recommenders", "replay") and name == "duplicates":
            continue  # their lists have documents twice, which this run has not
        if tool == "replay" and name == "ties":
            continue  # of lists
        scores = evaluate(collection["qrels"], run, [*measures.values()], **judging_options)
        tool_values = vectors["tools"][tool][name]
        assert {
            tool_name: scores[measure] for tool_name, measure in measures.items()
        } == pytest.approx(
            {tool_name: tool_values[tool_name] for tool_name in measures}, abs=1e-9
        ), name


def test_values_of_scikit_learn_and_torchmetrics_that_are_given_all_judged(data: Path) -> None:
    vectors = json.loads((data / "conventions.json").read_text())
    learn, torch = (vectors["tools"][name] for name in ("sklearn_dense_all_judged", TORCH))
    n_seen = 0
    for name, collection in vectors["collections"].items():
        if name == "negative":
            continue  # the one raises, the other takes the grades as they are
        scores = evaluate(
            collection["qrels"], collection["run"], "nDCG@5", unretrieved="below", ties="expected"
        )
        value_of_query = scores.per_query("nDCG@5")
        for query, expected_value in learn[name]["per_query"].items():
            if isinstance(expected_value, float):  # it raises for one document
                assert value_of_query[query] == pytest.approx(expected_value, abs=1e-12)
                n_seen += 1
        assert scores["nDCG@5"] == pytest.approx(torch[name]["nDCG@5"], abs=2e-7)
    assert n_seen == 5 + 3 + 3 + 2


TORCH = "torchmetrics all_judged neg"


# ---- on the command line ------------------------------------------------------------------------


def test_the_command_line_takes_them(write: Any) -> None:
    qrels = write("qrels", "q1 0 q1 1\nq1 0 b 1\nq2 0 c 0\n")
    run = write("a.run", "q1 Q0 q1 1 3 t\nq1 Q0 a 2 1 t\nq1 Q0 b 3 1 t\nq3 Q0 a 1 1 t\n")
    option_text = (
        "--queries run --ties given --identical-ids drop --scores-above 0 --unretrieved below"
    )
    invocation = invoke(
        "evaluate", qrels, run, "-m", "AP", *option_text.split(), "--format", "json"
    )
    assert invocation.exit_code == 0, invocation.output
    (run_scores,) = json.loads(invocation.output)["runs"]
    # q1: a, b, and below them q1, whose row is dropped; q3 has no judgments.
    assert run_scores["all"]["AP"] == ((1 / 2 + 2 / 3) / 2 + 0) / 2
    assert run_scores["counts"]["unjudged_queries"] == 1
    wrong = invoke("evaluate", qrels, run, "--queries", "relevent")
    assert wrong.exit_code == 2
    assert "'relevant-and-both'" in wrong.output
    refusal = invoke("evaluate", qrels, run, "--scores-above", "0", "--order", "given")
    assert refusal.exit_code != 0
    assert "leave one out" in refusal.output


def test_a_file_is_read_as_a_dict_is(write: Any) -> None:
    """Whose queries lose all of their rows, and come back after others."""
    text = "q1 Q0 q1 1 3 t\nq2 Q0 b 1 2 t\nq1 Q0 q1x 2 1 t\nq2 Q0 q2 2 1 t\nq3 Q0 q3 1 1 t\n"
    run = read_run(write("a.run", text))
    qrels = {"q1": {"q1x": 1}, "q2": {"b": 1}, "q3": {"q3": 1}}
    docs_of_query = {"q1": {"q1": 3.0, "q1x": 1.0}, "q2": {"b": 2.0, "q2": 1.0}, "q3": {"q3": 1.0}}
    for queries in QUERY_CHOICES:
        file_scores, dict_scores = (
            evaluate(qrels, run_form, "RR NumRet", identical_ids="drop", queries=queries)
            for run_form in (run, docs_of_query)
        )
        assert file_scores.to_dict() == dict_scores.to_dict()
        assert ("q3" in file_scores.query_ids) == (queries in ("judged", "both", "relevant", BOTH))


BOTH = "relevant-and-both"
