"""explain: what a user reads of a query, and of two runs, against `evaluate` and slow loops."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from helpers import diversity_oracle
from helpers.explain_cases import (
    IN_MEMORY,
    OPTIONS,
    SEEDS,
    explain_query,
    make_collection,
    query_cases,
)
from helpers.explained import (
    Judgments,
    Write,
    explain_pair,
    join_notes,
    last_line,
    rank_docs,
    run_explain,
    same_bits,
)
from helpers.notes import codes, sentence
from helpers.profile import sample_cases, seeds
from markdown_it import MarkdownIt

from cranfield import (
    InputError,
    MeasureError,
    OptionError,
    Qrels,
    evaluate,
    explain,
    grades,
    read_qrels,
    read_run,
)
from cranfield.data.judging import Judging
from cranfield.explanation.mean import MeanExplanation
from cranfield.explanation.query import Explanation
from cranfield.render.plain import to_text
from cranfield.render.table import to_html, to_markdown


def steps(explanation: Explanation) -> list[Any]:
    steps: list[Any] = explanation.to_dict()["steps"]
    return steps


def list_values(step: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return (rank, document, grade) of a table."""
    return list(zip(step["rank"], step["document"], step["grade"], strict=True))


# ---- rankings, slowly -------------------------------------------------------------------------


def best_first(judged: Judgments) -> list[str]:
    """Return the judged documents: grade falling, equal grades by id, descending."""
    by_id = sorted(judged, key=str.encode, reverse=True)
    return sorted(by_id, key=lambda doc: -judged[doc])


def rows(
    docs: Sequence[str], judged: Judgments, *, lowest: int = -9, k: int | None = None
) -> list[tuple[int, str, int]]:
    """Return (rank, document, grade) of those of a ranking that are judged."""
    return [
        (rank, doc, judged[doc])
        for rank, doc in enumerate(docs[:k], 1)
        if doc in judged and judged[doc] >= lowest
    ]


# ---- the value ----------------------------------------------------------------------------------

SOME = ["nDCG@10", "AP", "RR", "P@5", "DCG(gain='exp2')@7", "R@20", "Rprec"]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_last_line_is_the_value_with_every_digit(
    options: dict[str, Any], demo_folder: Path
) -> None:
    qrels = read_qrels(demo_folder / "demo/qrels.txt")
    run = read_run(demo_folder / "demo/bm25.run")
    values = evaluate(qrels, run, SOME, **options)
    for i, query in enumerate(sample_cases(qrels.query_ids)):
        name = SOME[i % len(SOME)]
        explanation = explain_query(qrels, run, name, query, **options)
        expected = values.per_query(name)[query]
        assert same_bits(explanation.value, expected)
        assert last_line(str(explanation)).startswith(f"{name} = ")
        assert last_line(str(explanation)).endswith(f" = {expected!r}")


@pytest.mark.parametrize("options", IN_MEMORY, ids=str)
def test_odd_collections_too(options: dict[str, Any]) -> None:
    """Ties, scores equal as 32-bit floats only, no results, negative grades, nothing judged."""
    for seed in SEEDS:
        qrels, run = make_collection(seed)
        name = SOME[seed % len(SOME)]
        values = evaluate(qrels, run, name, **options).per_query(name)
        for query in qrels:
            explanation = explain_query(qrels, run, name, query, **options)
            assert same_bits(explanation.value, values[query])
            assert last_line(str(explanation)).endswith(f" = {values[query]!r}")


def test_the_command_ends_with_it(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo_folder)
    files = "demo/qrels.txt", "demo/bm25.run"
    arguments = [
        "-m",
        "AP",
        "--query",
        "q07",
        "--ties",
        "worst",
        "--scores",
        "single",
        "--depth",
        "9",
    ]
    outcome = run_explain(*files, *arguments)
    value = evaluate(*files, "AP", ties="worst", scores="single", depth=9).per_query("AP")["q07"]
    assert last_line(outcome.stdout).endswith(f" = {value!r}")
    assert "Options: scores=single, ties=worst, depth=9." in outcome.stdout
    explanation = json.loads(run_explain(*files, *arguments, "--format", "json").stdout)
    assert same_bits(explanation["value"], value)
    assert explanation["options"] == {"depth": 9, "scores": "single", "ties": "worst"}


def test_lists_of_grades() -> None:
    grades_of_query: dict[str, list[int | None]] = {
        "a": [5, 2, 4, 0, 1],
        "b": [None, 0, 3],
        "c": [],
    }
    qrels, run = grades(
        grades_of_query, collection={query: [5, 5, 4, 3, 2, 1, 0, 0] for query in grades_of_query}
    )
    for name in SOME:
        values = evaluate(qrels, run, name).per_query(name)
        for query in grades_of_query:
            explanation = explain_query(qrels, run, name, query)
            assert same_bits(explanation.value, values[query])
            assert "Judged: the grades stated for the collection." in join_notes(explanation)


def test_a_measure_of_one_letter_has_every_digit_too() -> None:
    explanation = explain_query({"q": {"a": 3, "b": 1, "c": 2}}, {"q": ["x", "a", "y", "c"]}, "Q")
    assert last_line(str(explanation)).endswith(f" = {explanation.value!r}")
    assert len(str(explanation.value)) > 12


def test_which_ideal_a_list_of_grades_has() -> None:
    text = "The ideal ranking, where a measure has one: these grades, sorted."
    assert text in join_notes(explain_query(*grades([5, 2, 4]), "nDCG"))
    other = explain_query(*grades([5, 2, 4]), "nDCG(ideal='top')")
    assert "The ideal ranking, where" not in join_notes(other)
    assert (
        "nDCG(ideal='top'): the ideal ranking has the top grade, 5, at every rank."
        in join_notes(other)
    )


@pytest.mark.parametrize(
    ("name", "is_variant"),
    [
        ("DCG", False),
        ("DCG(discount='jk')", True),
        ("nDCG(discount='ln', ideal='top')", True),
        ("RBP(p=0.5)", False),  # the formula has p
        ("P(rel=2)@3", False),
        ("CWL('INST', value='EC')", False),
        ("ERR(stop='linear')", True),
    ],
)
def test_a_formula_is_that_of_the_measure_or_is_said_to_be_another(
    name: str, is_variant: bool
) -> None:
    explanation = explain_query({"q": {"a": 1}}, {"q": ["a"]}, name)
    formula = explanation.measure.definition.formula
    variant = ", of which this is a variant" if is_variant else ""
    assert f"{explanation.measure.name}{variant}: {formula} (" in str(explanation)


def test_the_cutoff_is_that_of_the_query() -> None:
    qrels, run = {"q": {"a": 2, "b": 1, "x": 0}}, {"q": ["u", "a", "v", "b"]}
    for name in ("nDCG@min(3,R)", "P@R", "nDCG@2"):
        text = "Unjudged: 1 of the 2 documents retrieved down to rank 2, at rank 1 (u)."
        assert text in join_notes(explain_query(qrels, run, name)), name
    text = "Unjudged: 1 of the 1 document retrieved down to rank 1, at rank 1 (u)."
    assert text in join_notes(explain_query(qrels, run, "P(rel=2)@R"))
    sentence = "No rank is looked at: R, the number of relevant documents, is 0."
    assert sentence in join_notes(explain_query(qrels, run, "P(rel=3)@R"))


def test_that_numbers_are_rounded_is_said_where_they_are() -> None:
    text = "Numbers are rounded to six decimals (below 0.001: to six significant digits); the "
    text += "value is not."
    qrels = {"q": {"a": 1, "b": 1}}
    assert text in join_notes(explain_query(qrels, {"q": ["a", "x", "b"]}, "AP"))
    assert text not in join_notes(explain_query(qrels, {"q": ["x", "a"]}, "AP"))
    assert text not in join_notes(
        explain_query(qrels, {"q": ["a", "x", "b"]}, "P@3")
    )  # no number of a table


def test_nothing_retrieved_is_said_once() -> None:
    for only_judged in (False, True):
        empty = {"q": {"a": 1}, "r": {"b": 1}}, {"r": ["b"]}
        notes = join_notes(explain_query(*empty, "AP", "q", judged_only=only_judged))
        assert notes.count("Nothing was retrieved.") == 1
        assert "Not one judged document" not in notes
    notes = join_notes(explain_query({"q": {"a": 1}}, {"q": ["x"]}, "AP", "q"))
    assert "Not one judged document was retrieved." in notes


@pytest.mark.parametrize("name", ["P@3", "R@3", "Success@3", "NumRet"])
def test_csv_has_a_row_for_each_document(name: str) -> None:
    text = explain_query({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["a", "x", "b"]}, name).to_csv()
    read = list(csv.DictReader(io.StringIO(text)))
    row_of_doc = {row["document"]: (row["rank"], row["grade"]) for row in read}
    assert row_of_doc["a"] == ("1", "2")
    assert row_of_doc["b"] == ("3", "1")
    assert row_of_doc.get("x", ("2", "")) == ("2", "")
    assert read[-1]["step"] == name


# ---- the documents in the tables ----------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [options for options in IN_MEMORY if options.get("ties") != "expected"]
)
def test_the_documents_are_those_retrieved(options: dict[str, Any]) -> None:
    for seed in SEEDS:
        qrels, run = make_collection(seed)
        for query, judged, scores in query_cases(seed):
            docs = rank_docs(scores, judged, **options)
            explanation = explain_query(qrels, run, "DCG@6", query, **options)
            assert list_values(steps(explanation)[0]) == [
                (rank, doc, judged.get(doc)) for rank, doc in enumerate(docs[:6], 1)
            ]
            docs_in_order = rank_docs(scores, judged, **{**options, "judged_only": False})
            assert [
                (document.rank, document.document, document.grade)
                for document in explanation.retrieved
            ] == [(rank, doc, judged.get(doc)) for rank, doc in enumerate(docs_in_order, 1)]
            if options.get("order") != "given":
                assert [document.score for document in explanation.retrieved] == [
                    scores[doc] for doc in docs_in_order
                ]
            assert list(explanation.unjudged) == [
                (rank, doc) for rank, doc in enumerate(docs_in_order, 1) if doc not in judged
            ]
            relevant = list_values(
                steps(explain_query(qrels, run, "AP(rel=2)", query, **options))[0]
            )
            assert relevant == rows(docs, judged, lowest=2)


@pytest.mark.parametrize("options", [{}, {"judged_only": True}, {"depth": 3}], ids=str)
def test_the_ideal_ranking_is_of_all_that_was_judged(options: dict[str, Any]) -> None:
    for seed in SEEDS:
        qrels, run = make_collection(seed)
        for query, judged, scores in query_cases(seed):
            ideal = [row for row in rows(best_first(judged), judged) if row[2] >= 1]
            explanation = explain_query(qrels, run, "nDCG@5", query, **options)
            assert list_values(steps(explanation)[1]) == ideal[:5]

            gains = {1: 3.0, 2: 0.5, 3: 1.0}  # reordered: grade 1 is worth most
            explanation = explain_query(qrels, run, f"nDCG(gain={gains})", query, **options)
            best = sorted(ideal, key=lambda row: -gains[row[2]])
            expected = [(rank, doc, grade) for rank, (_, doc, grade) in enumerate(best, 1)]
            assert list_values(steps(explanation)[1]) == expected

            hits = rows(rank_docs(scores, judged, **options), judged, lowest=1)
            best = sorted(hits, key=lambda row: -row[2])
            expected = [(rank, doc, grade) for rank, (_, doc, grade) in enumerate(best, 1)]
            explanation = explain_query(qrels, run, "nDCG(ideal='retrieved')", query, **options)
            assert list_values(steps(explanation)[1]) == expected


def test_the_ideal_of_subtopics_is_the_greedy_one() -> None:
    for seed in seeds(8):
        qrels, run = diversity_oracle.make_subtopic_collection(seed)
        for query, subtopics in qrels.items():
            explanation = explain_query(Qrels(qrels), run, "alpha_nDCG@4", query)
            tables = [
                list(zip(step["group"], *zip(*list_values(step), strict=True), strict=True))
                for step in steps(explanation)
                if step.get("document")
            ]
            ideal = diversity_oracle.rank_greedily(subtopics, 0.5, 1, None)
            for docs in (ideal[:4], run.get(query, [])[:4]):
                expected = [
                    (name, rank, doc, subtopics[name][doc])
                    for name in diversity_oracle.sort_names(subtopics)
                    for rank, doc in enumerate(docs, 1)
                    if subtopics[name].get(doc, 0) >= 1
                ]
                assert expected in tables or not expected


def test_the_rank_column_and_the_order_of_the_lines(write: Write) -> None:
    """Rows of a query are apart; ranks, scores and lines each say another order; a score is broken.

    As in `evaluate`, that is no fault where scores are not asked for.
    """
    qrels = write("qrels", "q1 0 a 1\nq1 0 b 2\nq2 0 c 1\nq1 0 c 0\n")
    lines = ["q1 Q0 a 3 1.5 t", "q1 Q0 b 1 1.0 t", "q2 Q0 c 1 9 t", "q1 Q0 c 2 2.0 t"]
    run = write("run", "\n".join([*lines, "q1 Q0 d 4 no t", "q1 Q0 e 5 0.5 t", ""]))
    for order, docs in (("score", "cabe"), ("rank", "bcade"), ("given", "abcde")):
        options: dict[str, Any] = {"order": order, "errors": "skip"}
        explanation = explain_query(qrels, run, "DCG", "q1", **options)
        assert "".join(document.document for document in explanation.retrieved) == docs
        assert [row[1] for row in list_values(steps(explanation)[0])] == list(docs)
        assert same_bits(
            explanation.value, evaluate(qrels, run, "DCG", **options).per_query("DCG")["q1"]
        )
        left_out = "1 row of the run left out" in join_notes(explanation)
        assert left_out == (order == "score")
        assert left_out == ("left-out" in codes(evaluate(qrels, run, "DCG", **options).notes))
    with pytest.raises(InputError, match="expected a number as the score") as raised:
        explain(qrels, run, "DCG", "q1")
    with pytest.raises(InputError) as other:
        evaluate(qrels, run, "DCG")
    assert str(raised.value) == str(other.value)


def test_rows_of_the_qrels_left_out_are_said(write: Write) -> None:
    qrels = write("qrels", "q1 0 a 1\nq2 0 b\n")
    explanation = explain_query(qrels, {"q1": ["a"]}, "AP", "q1", errors="skip")
    assert "1 row of the qrels left out" in join_notes(explanation)


# ---- what is written beside the tables ----------------------------------------------------------


def test_what_was_not_judged() -> None:
    qrels = {"q": {"a": 1, "b": 0, "z": -1}, "r": {"a": 1}}
    sentences = [
        ("P@2", ["a", "b", "c"], "Judged: all of the 2 documents retrieved down to rank 2."),
        ("P@3", ["a", "b", "c"], "Unjudged: 1 of the 3 documents retrieved, at rank 3 (c)."),
        ("P@1", ["a", "c"], "Judged: the 1 document retrieved down to rank 1."),
        ("P@9", ["a"], "Judged: the 1 document retrieved."),
        ("P@1", ["c"], "Unjudged: 1 of the 1 document retrieved, at rank 1 (c)."),
        ("AP", ["z", "a"], "Judged: all of the 2 documents retrieved."),
        ("AP", [], "Nothing was retrieved."),
        ("P@2", ["c", "d", "e"], "Unjudged: 2 of the 2 documents retrieved down to rank 2, at "
         "ranks 1 (c), 2 (d)."),
        ("AP", [f"u{i}" for i in range(1, 9)], "Unjudged: 8 of the 8 documents retrieved, at "
         "ranks 1 (u1), 2 (u2), 3 (u3), 4 (u4), 5 (u5), and 3 more."),
    ]  # fmt: skip
    for name, docs, phrase in sentences:
        explanation = explain_query(qrels, {"q": docs}, name, "q")
        assert phrase in join_notes(explanation)
        assert same_bits(explanation.value, evaluate(qrels, {"q": docs}, name).per_query(name)["q"])


def test_what_was_dropped() -> None:
    """The tables have the ranks after that, and a line says so."""
    qrels, run = {"q": {"a": 1, "b": 0, "z": -1}}, {"q": ["x", "b", "z", "a"]}
    explanation = explain_query(qrels, run, "AP", judged_only=True)
    assert list_values(steps(explanation)[0]) == [(2, "a", 1)]
    assert "2 of the 4 documents retrieved, at ranks 1 (x), 3 (z)." in join_notes(explanation)
    assert "Dropped" not in join_notes(
        explain_query(qrels, {"q": ["b", "a"]}, "AP", judged_only=True)
    )


def test_nothing_by_nothing() -> None:
    explanation = explain_query({"q": {"a": 0}}, {"q": ["a"]}, "nDCG")
    assert explanation.value == 0
    assert "0 / 0 counts as 0: in nDCG." in join_notes(explanation)
    assert last_line(str(explanation)) == "nDCG = A / B = 0 / 0 = 0.0"
    assert "0 / 0" not in join_notes(explain_query({"q": {"a": 1}}, {"q": []}, "nDCG"))


def test_infinite_scores_are_json() -> None:
    infinite = float("inf")
    run = {"q": {"a": infinite, "b": 1.5, "c": -infinite}}
    explanation = explain_query({"q": {"a": 1}}, run, "AP")
    document = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
    assert [row["score"] for row in document["retrieved"]] == ["inf", 1.5, "-inf"]
    assert [row.score for row in explanation.retrieved] == [infinite, 1.5, -infinite]


def test_a_text_is_explained_and_has_no_difference() -> None:
    qrels, run = {"q": {"a": 2, "b": 0}}, {"q": ["b", "x", "a"]}
    explanation = explain_query(qrels, run, "RelString@3")
    assert explanation.value == "0-2"
    assert last_line(str(explanation)).endswith(" = 0-2")
    assert last_line(str(explain_query(qrels, {"q": []}, "RelString"))).endswith(" = (empty)")
    for query in ("q", None):
        with pytest.raises(MeasureError, match="RelString@3 is a string: two of them have no diff"):
            explain({**qrels, "r": {"a": 1}}, [run, run], "RelString@3", query)


# ---- which explanation -------------------------------------------------------------------------

TWO = {"q1": {"a": 1, "b": 0}, "query two": {"a": 1}}


def test_without_a_query_the_mean_is_explained() -> None:
    assert isinstance(explain(TWO, {"q1": ["a"]}, "AP"), MeanExplanation)
    assert isinstance(explain(TWO, {"q1": ["a"]}, "AP", queries="both"), MeanExplanation)
    assert explain_query({"q1": {"a": 1}}, {"q1": ["a"]}).query == "q1"
    assert explain_query({"q1": {"a": 1}}, [{"q1": ["a"]}]).query == "q1", "a list of one run"


def test_of_a_geometric_mean_the_ratio_of_a_query_is_said() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    old = {"q1": ["a"], "q2": [*(f"d{i}" for i in range(9)), "a"]}  # AP 1, 1/10
    new = {"q1": ["x", "a"], "q2": [*(f"d{i}" for i in range(49)), "a"]}  # 1/2, 1/50
    runs = {"old": old, "new": new}
    notes = explain_pair(qrels, runs, "GMAP", "q1").tables()[0].notes
    assert any(f"= -{math.log(2):.6f}, a ratio of 0.5000." in note for note in notes)
    assert not any(
        "a ratio of" in note for note in explain_pair(qrels, runs, "AP", "q1").tables()[0].notes
    )


def test_what_cannot_be_explained_is_refused() -> None:
    run = {"q1": ["a"]}
    with pytest.raises(OptionError, match="3 runs: one is explained, or the difference of two"):
        explain(TWO, [run, run, run], "AP", "q1")
    with pytest.raises(MeasureError, match="one measure is explained at a time: for example AP"):
        explain(TWO, run, "AP RR", "q1")
    with pytest.raises(MeasureError, match="nDCGG"):
        explain(TWO, run, "nDCGG@10", "q1")
    with pytest.raises(InputError, match=r"no query 'query too'\nDid you mean 'query two'\?"):
        explain(TWO, run, "AP", "query too")
    with pytest.raises(InputError, match="They have 2 queries, the first is 'q1'"):
        explain(TWO, run, "AP", "x" * 9999)
    with pytest.raises(OptionError, match="queries='both' has no effect where one query"):
        explain(TWO, run, "AP", "q1", queries="both")
    with pytest.raises(OptionError, match="queries='all' is not known"):
        explain(TWO, run, "AP", queries="all")  # type: ignore[arg-type] # a mistake
    with pytest.raises(OptionError, match="errors='no' is not known"):
        explain(TWO, run, "AP", "q1", errors="no")  # type: ignore[arg-type] # a mistake
    for query in ("q1", None):
        for options in ({"ties": "up"}, {"depth": 0}, {"order": "given", "ties": "best"}):
            with pytest.raises(OptionError):
                explain(TWO, run, "AP", query, **options)


def test_wrong_options_and_queries() -> None:
    options = [option.name for option in fields(Judging)]
    option_names = ", ".join(["errors", "columns", "texts", *options])
    wrong: list[dict[str, Any]] = [{"tie": "best"}, {"bounds": True}]
    for query in ("q1", None):
        for option in wrong:
            name = next(iter(option))
            with pytest.raises(TypeError) as raised:
                explain(TWO, {"q1": ["a"]}, "AP", query, **option)
            message, _, option_text = str(raised.value).partition("; its options are ")
            assert message == f"explain() got an unexpected keyword argument {name!r}"
            assert option_text.startswith(f"{option_names}, ")
            assert option_text.endswith(", progress")
    queries: list[Any] = [b"q1", ["q1"], True, 1.0]
    for query in queries:
        with pytest.raises(OptionError, match=r"query=.*: a query id is a string or a whole"):
            explain(TWO, {"q1": ["a"]}, "AP", query)
    qrels = {1: {"a": 1}, 2: {"a": 1}}
    assert explain(qrels, {1: ["a"]}, "AP", 1).query == "1"  # type: ignore[union-attr]


# ---- tables and data ----------------------------------------------------------------------------


def test_long_tables_are_cut_in_the_middle_and_say_so() -> None:
    docs = [f"d{i:02}" for i in range(60)]
    explanation = explain_query({"q": dict.fromkeys(docs, 1)}, {"q": docs}, "DCG")

    def list_documents(n_rows: int | None) -> list[str]:
        return [row[1] for row in explanation.tables(limit=n_rows)[0].rows]

    assert list_documents(None) == docs
    assert list_documents(60) == list_documents(59) == docs, (
        "a row in the place of one would save nothing"
    )
    assert (
        list_documents(20)
        == [*docs[:18], "(40 more)", *docs[-2:]]
        == [row[1] for row in explanation.tables()[0].rows]
    )
    assert list_documents(4) == ["d00", "d01", "(56 more)", "d58", "d59"]
    assert list_documents(3) == ["d00", "d01", "(57 more)", "d59"]
    assert list_documents(1) == ["d00", "(59 more)"]
    two = explain_pair({"q": dict.fromkeys(docs, 1)}, [{"q": docs}, {"q": docs[::-1]}], "DCG")
    assert len(two.tables(limit=None)[0].rows) == len(two.parts) == 60
    assert "59 more documents make a difference." in two.tables(limit=1)[0].notes
    assert "1 more document makes a difference." in two.tables(limit=59)[0].notes
    for wrong in (0, -1, 1.5, True, "all"):
        for page in (explanation, two):
            with pytest.raises(OptionError, match="expected a number of rows, 1 or more"):
                page.tables(limit=wrong)  # type: ignore[arg-type] # a mistake


def plain_values(value: Any) -> bool:
    if isinstance(value, dict):
        return all(type(key) is str and plain_values(value) for key, value in value.items())
    if isinstance(value, list):
        return all(map(plain_values, value))
    return value is None or type(value) in (str, int, float, bool)


def test_the_sum_can_be_repeated_from_json(demo_folder: Path) -> None:
    """Nothing but what json.loads returns, and the formula of the last step."""
    files = demo_folder / "demo/qrels.txt", demo_folder / "demo/dense.run"
    for name in ("nDCG@10", "AP", "RBP", "ERR@10", "F@5"):
        explanation = explain_query(*files, name, "q17")
        assert plain_values(explanation.to_dict())
        read = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
        assert read["complete"]
        numbers = {}
        for step in read["steps"][:-1]:
            if "symbol" in step:
                numbers[step["symbol"]] = step["value"]
                continue
            columns = {column["name"]: column["values"] for column in step["columns"]}
            for total in step["totals"]:
                value = len(step["rank"]) if not total["column"] else 0.0
                for i, term in enumerate(columns.get(total["column"], [])):
                    value += term
                    assert same_bits(value, total["running"][i])
                assert [value] == total["values"]
                numbers[total["symbol"]] = value
        last = read["steps"][-1]
        number = eval(last["words"].replace("^", "**"), {"__builtins__": {}}, numbers)  # noqa: S307 - ours
        assert number == pytest.approx(read["value"], rel=1e-15)
        if name not in ("F@5", "RBP"):  # of which constants are shown with ten digits
            assert same_bits(number, read["value"])


def test_separated_values_read_back() -> None:
    qrels, run = {'q,"1"': {"a\nb": 3, "c\td": 1}}, {'q,"1"': ["c\td", "x", "a\nb"]}
    explanation = explain_query(qrels, run, "nDCG")
    for delimiter in ",\t":
        text = explanation.to_csv() if delimiter == "," else explanation.to_tsv()
        read = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
        assert {row["query_id"] for row in read} == {'q,"1"'}
        assert float(read[-1]["value"]) == explanation.value
        assert read[-1]["step"] == "nDCG"
        table = steps(explanation)[0]
        cells = [row for row in read if row["table"] == table["table"]]
        gains = [row for row in cells if row["document"]]
        assert [(int(row["rank"]), row["document"], row["grade"]) for row in gains] == [
            (1, "c\td", "1"),
            (2, "x", ""),
            (3, "a\nb", "3"),
        ]
        assert [float(row["gain"]) for row in gains] == [1, 0, 3]
        assert [row["step"] for row in cells if not row["document"]] == ["A"]
    two = explain_pair(qrels, [run, {'q,"1"': ["a\nb"]}], "nDCG")
    read = list(csv.DictReader(io.StringIO(two.to_csv(), newline="")))
    assert [row["document"] for row in read] == [part.document for part in two.parts]
    assert [float(row["change"]) for row in read] == [part.change for part in two.parts]
    assert plain_values(two.to_dict())
    assert json.loads(json.dumps(two.to_dict()))["difference"] == two.difference


# ---- hostile ids --------------------------------------------------------------------------------

HOSTILE = [
    "<b>bold</b>",
    "a|b",
    "&amp;",
    "line\nbreak",
    "\x1b[31mred",
    "$x_1$",
    '"quoted"',
    "\u202eright to left",
    "{brace}%",
    "x" * 10_000,
    "*star*`tick`",
    "\\input{file}",
]
TAGS = {"p", "table", "thead", "tbody", "tr", "th", "td", "div", "strong"}


class Tags(HTMLParser):
    """The tags and the texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.data: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)

    def handle_data(self, data: str) -> None:
        self.data.append(data)


def hostile(write: Write) -> list[str]:
    """Return the paths of judgments and two runs in which every id is hostile."""
    judged = {doc: i % 4 for i, doc in enumerate(HOSTILE[::-1])}
    query = HOSTILE[0] + "|" + HOSTILE[3] + HOSTILE[4]
    scores = {doc: float(-i // 2) for i, doc in enumerate([*HOSTILE, "un|judged\n<i>"])}
    new_scores = {doc: -score for doc, score in scores.items()}
    return [
        write("qrels.json", json.dumps({query: judged, "q": {"a": 1}})),
        write("<b>a|$&.json", json.dumps({query: scores})),
        write("b_{}.json", json.dumps({query: new_scores})),
        query,
    ]


def holds_no_markup(text_of_form: Mapping[str, str]) -> None:
    assert all(line.isprintable() for line in text_of_form["table"].split("\n"))
    tags = Tags()
    tags.feed(text_of_form["html"])
    assert tags.seen <= TAGS | {"html", "head", "meta", "title", "style", "body"}
    assert any("<b>bold</b>" in part for part in tags.data)
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text_of_form["markdown"])
    inline = {child.type for token in tokens for child in token.children or ()}
    assert inline <= {"text", "softbreak", "text_special"}
    assert "html_block" not in {token.type for token in tokens}


@pytest.mark.parametrize(("n_runs", "name"), [(1, "nDCG@10"), (2, "RR")])
def test_nothing_in_an_id_is_markup(n_runs: int, name: str, write: Write) -> None:
    *files, query = hostile(write)
    arguments = [*files[: n_runs + 1], "--query", query, "-m", name, "--limit", "all"]
    text_of_form = {}
    for form in ("table", "html", "markdown", "latex", "csv", "tsv", "json"):
        outcome = run_explain(*arguments, "--format", form)
        assert outcome.exit_code == 0, outcome.output
        text_of_form[form] = outcome.stdout
    holds_no_markup(text_of_form)
    assert "\\input{" not in text_of_form["latex"]
    assert "$x" not in text_of_form["latex"].replace("\\$x", "")
    assert json.loads(text_of_form["json"])["query"] == query
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        read = list(csv.reader(io.StringIO(text_of_form[form], newline=""), delimiter=delimiter))
        assert len({len(row) for row in read}) == 1


def test_nothing_in_the_name_of_a_group_is_markup() -> None:
    judged = {doc: i % 2 for i, doc in enumerate(HOSTILE)}
    qrels = Qrels({HOSTILE[3]: dict.fromkeys(HOSTILE[:6], judged)})
    tables = explain_query(qrels, {HOSTILE[3]: HOSTILE[::2]}, "alpha_nDCG").tables()
    forms = {"table": to_text, "html": to_html, "markdown": to_markdown}
    holds_no_markup({form: "\n".join(map(show, tables)) for form, show in forms.items()})


def test_bytes_that_are_no_text_are_escaped(write: Write) -> None:
    files = write("qrels", b"q\xff 0 d\xfe 1\nq2 0 a 1\n"), write("run", b"q\xff Q0 d\xfe 1 1 t\n")
    query = b"q\xff".decode(errors="surrogateescape")
    outcome = run_explain(*files, "--query", query, "-m", "AP")
    assert outcome.exit_code == 0
    assert "d\\udcfe" in outcome.stdout
    outcome = run_explain(*files, "--query", query, "-m", "AP", "--format", "json")
    assert json.loads(outcome.stdout)["retrieved"][0]["document"] == "d\udcfe"


def test_a_query_whose_documents_are_spelled_otherwise_is_explained_and_told() -> None:
    qrels, run = {"q1": {"d1": 1}, "q2": {"D2": 1}}, {"q1": ["d1"], "q2": ["d2"]}
    explanation = explain(qrels, run, "AP", "q2")
    assert isinstance(explanation, Explanation)
    assert explanation.value == evaluate(qrels, run, "AP").per_query("AP")["q2"] == 0
    assert "the run has 'd2', the qrels 'D2'" in sentence(explanation.notes, "spelling")


def test_what_is_missing_is_named_and_the_ideal_knows_the_ranks_of_the_run() -> None:
    qrels = {"q": {"a": 1, "b": 3, "c": 2, "d": 0, "e": 1}}
    explanation = explain(qrels, {"q": ["x", "e", "b"]}, "nDCG", "q")
    assert isinstance(explanation, Explanation)
    assert (explanation.n_relevant, explanation.missing) == (4, [("c", 2), ("a", 1)])
    assert "Relevant (with their grades) and not retrieved: 2 of 4: c (2), a (1)." in str(
        explanation
    )
    ideal = explanation.tables()[1]
    column = ideal.header.index("rank in run")
    assert [(row[1], row[column]) for row in ideal.rows] == [
        *(("b", "3"), ("c", "-"), ("e", "2"), ("a", "-"))
    ]
    above = explain(qrels, {"q": ["x", "e", "b"]}, "AP(rel=2)", "q")
    assert isinstance(above, Explanation)
    assert (above.n_relevant, above.missing) == (2, [("c", 2)])


def test_ranks_before_documents_were_dropped_are_not_beside_the_ideal_ranking() -> None:
    judgments, run = {"q": {"a": 2, "b": 1}}, {"q": {"b": 3.0, "unjudged": 2.0, "a": 1.0}}
    assert "rank in run" in str(explain(judgments, run, "nDCG", "q"))
    assert "rank in run" not in str(explain(judgments, run, "nDCG", "q", judged_only=True))


@pytest.mark.parametrize("options", [{}, {"order": "rank"}, {"order": "given"}, {"ties": "best"}])
@pytest.mark.parametrize("measure", ["AP", "EEL", "RBP"])
def test_a_query_that_a_run_file_does_not_have_scores_as_in_evaluate(
    write: Write, measure: str, options: dict[str, Any]
) -> None:
    qrels = write("qrels", "q1 0 a 1\nq2 0 b 1\n")
    run = write("run", "q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.0 t\n")
    explanation = explain_query(qrels, run, measure, "q2", **options)
    assert same_bits(
        explanation.value, evaluate(qrels, run, measure, **options).per_query(measure)["q2"]
    )
    assert explanation.retrieved == []
    assert "Nothing was retrieved." in join_notes(explanation)
