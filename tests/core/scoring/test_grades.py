"""A list of grades alone: as judgments and a run, scored by a measure, on the command line."""

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from helpers.list_grades import invoke_evaluate
from helpers.notes import codes, sentence

import cranfield
from cranfield import (
    AP,
    RR,
    InputError,
    OptionError,
    Qrels,
    evaluate,
    grades,
    nDCG,
    parse,
    read_qrels,
)
from cranfield.cli import cli


def dcg(grades: list[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def ndcg(grades: list[int], collection: list[int], k: int) -> float:
    return dcg(grades[:k]) / dcg(sorted(collection, reverse=True)[:k])


def document(*arguments: str, stdin: str | None = None) -> dict[str, Any]:
    process = invoke_evaluate(*arguments, "--format", "json", "-q", stdin=stdin)
    assert process.exit_code == 0, process.stderr
    run: dict[str, Any] = json.loads(process.stdout)["runs"][0]
    return run


# ---- values ---------------------------------------------------------------------------------

log2, ln = math.log2, math.log
BY_LN = 3 + 2 / ln(2) + sum(g / ln(i) for i, g in enumerate([1, 1, 3, 1, 1, 2, 1], 3))
BY_E = 3 + 2 + sum(g / ln(i) for i, g in enumerate([1, 1, 3, 1, 1, 2, 1], 3))
EXAMPLES = [
    ([5, 2, 4], "nDCG", (5 + 2 / log2(3) + 4 / 2) / (5 + 4 / log2(3) + 2 / 2), 0.9693),
    (
        [5, 2, 4, 0, 1],
        "nDCG@5",
        (5 + 2 / log2(3) + 4 / 2 + 1 / log2(6)) / (5 + 4 / log2(3) + 2 / 2 + 1 / log2(5)),
        0.9659,
    ),
    (
        [3, 2, 3, 0, 1],
        "nDCG(gain='exp2')@5",
        (7 + 3 / log2(3) + 7 / 2 + 1 / log2(6)) / (7 + 7 / log2(3) + 3 / 2 + 1 / log2(5)),
        0.9575,
    ),
    ([3, 2, 1, 1, 3, 1, 1, 2, 1], "DCG(discount='ln')", BY_LN, 11.869906908688476),
    (
        [3, 2, 1, 1, 3, 1, 1, 2, 1],
        "nDCG(discount='ln', ideal='top')",
        BY_LN / (3 + sum(3 / ln(i) for i in range(2, 10))),
        0.5902216528493285,
    ),
    ([3, 2, 1, 1, 3, 1, 1, 2, 1], f"DCG(discount=('jk',{math.e}))", BY_E, 10.984516826910548),
    ([5, 2, 4, 0, 1], "DCG(discount='none')@5", 5 + 2 + 4 + 0 + 1, 12),
    ([2, 0, 5, 1, 4], "DCG(discount='none')@5", 2 + 0 + 5 + 1 + 4, 12),
    ([5, 2, 4, 0, 1], "DCG@5", dcg([5, 2, 4, 0, 1]), 8.65),
    ([2, 0, 5, 1, 4], "DCG@5", dcg([2, 0, 5, 1, 4]), 6.48),
    ([0, 0, 1], "RR", 1 / 3, 0.3333),
    ([0, None, 1, None], "P@4", 1 / 4, 0.25),
    ([0, None, 1, None], "Judged@4", 2 / 4, 0.5),
    ([], "nDCG", 0, 0),
]


@pytest.mark.parametrize(("grade_list", "name", "score", "rounded_score"), EXAMPLES)
def test_every_spelling_gives_the_value(
    grade_list: list[int | None], name: str, score: float, rounded_score: float
) -> None:
    exact = evaluate(*grades(grade_list), name)[name]
    assert exact == pytest.approx(score, rel=1e-15)
    decimals = len(str(rounded_score).partition(".")[2])
    assert round(exact, decimals if decimals < 10 else 12) == round(rounded_score, 12)
    assert parse(name)(grade_list) == exact
    text = "1: " + " ".join("-" if grade is None else str(grade) for grade in grade_list)
    run = document("--grades", text, "-m", name)
    assert run["all"] == run["queries"]["1"] == {str(parse(name)): exact}


def test_average_precision_by_what_the_collection_has() -> None:
    first, later = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 1, 0, 0, 0, 0, 1]
    for grade_list, score in ((first, (1 / 1 + 2 / 2) / 5), (later, (1 / 2 + 2 / 5 + 3 / 10) / 5)):
        collection = [*grade_list, *[1] * (5 - sum(grade_list))]
        assert evaluate(*grades(grade_list, collection=collection), AP)[AP] == pytest.approx(score)
    assert AP(first) == 1


def test_the_ideal_of_the_collection_against_a_slow_loop() -> None:
    draw = random.Random(7)
    lists, collections = {}, {}
    for i in range(40):
        query = f"q{i}"
        collections[query] = [draw.randint(0, 4) for _ in range(draw.randint(1, 20))]
        lists[query] = draw.sample(collections[query], draw.randint(0, len(collections[query])))
        draw.shuffle(collections[query])
    scores = evaluate(*grades(lists, collection=collections), nDCG @ 5).per_query("nDCG@5")
    alone = evaluate(*grades(lists), nDCG @ 5).per_query("nDCG@5")
    for query, collection in collections.items():
        best = any(collection)
        assert scores[query] == pytest.approx(ndcg(lists[query], collection, 5) if best else 0)
        best = any(lists[query])
        assert alone[query] == pytest.approx(ndcg(lists[query], lists[query], 5) if best else 0)


def test_the_documents_have_names_to_read() -> None:
    qrels, run = grades([None, 2, 0], collection=[0, 0, 2, 1])
    assert qrels.to_dict() == {"1": {"#2": 2, "#3": 0, "other 1": 1, "other 2": 0}}
    assert list(run.to_dict()["1"]) == ["#1", "#2", "#3"]
    assert run.name == "grades"
    assert (qrels.description, run.description) == ("lists of grades", "lists of grades")


def test_many_lists() -> None:
    grade_lists = [[1, 0], [0, 1], []]
    for lists in (grade_lists, dict(zip("abc", grade_lists, strict=True)), map(iter, grade_lists)):
        scores = evaluate(*grades(lists), RR)
        assert list(scores.per_query(RR).values()) == [1, 1 / 2, 0]
        assert scores.counts.without_results == scores.counts.without_relevant == 1
    scores = evaluate(*grades(grade_lists, collection=[[1, 0], [0, 1], [1]]), RR)
    assert (scores[RR], scores.counts.without_relevant) == (1 / 2, 0)
    assert list(scores.query_ids) == ["1", "2", "3"]
    pair = grades({7: [1]}, collection={"7": [1, 1]})
    assert list(evaluate(*pair, AP).per_query(AP)) == ["7"]


def test_what_holds_a_list() -> None:
    for lists in (
        np.array([0, 1]),
        np.array([0.0, 1.0]),
        (0, 1),
        iter([0, 1]),
        [np.int8(0), True],
        [False, 1.0],
    ):
        assert evaluate(*grades(lists), RR)[RR] == 1 / 2  # type: ignore[arg-type] # whole floats
    assert list(evaluate(*grades(np.array([[0, 1], [1, 0]])), RR).values[:, 0]) == [1 / 2, 1]
    assert RR(np.array([0, 1])) == 1 / 2


def test_a_grade_may_be_negative() -> None:
    scores = evaluate(*grades([-1, 1]), "P@2 P@2", judged_only=True)
    assert scores["P@2"] == 1 / 2
    assert evaluate(*grades([-1, 1]), RR, judged_only=True)[RR] == 1


def test_the_top_grade_of_the_scale() -> None:
    qrels, run = grades([1, 2], top=3)
    err = 1 / 8 + 7 / 8 * 3 / 8 / 2
    assert evaluate(qrels, run, "ERR")["ERR"] == pytest.approx(err)
    best = evaluate(qrels, run, "nDCG(ideal='top')")
    assert best["nDCG(ideal='top')"] == pytest.approx(dcg([1, 2]) / dcg([3, 3]))
    assert codes(best.notes) == ["grades", "scale", "ideal-top"]
    assert "3" in sentence(best.notes, "scale")
    assert "the top grade, 3," in sentence(best.notes, "ideal-top")


# ---- what is reported ---------------------------------------------------------------------------


def test_the_result_says_which_ideal_it_used() -> None:
    alone = evaluate(*grades([1, 0]), nDCG).notes
    assert codes(alone) == ["grades", "ideal-sorted"]
    notes_of_lists = evaluate(*grades([[1], [0]]), nDCG).notes
    assert sentence(alone, "grades") != sentence(notes_of_lists, "grades")
    pair = grades([1, 0], collection=[0, 1, 2])
    notes_of_pair = evaluate(*pair, "nDCG nDCG(ideal='retrieved')@5").notes
    assert codes(notes_of_pair) == ["collection", "ideal-retrieved", "ideal-sorted"]
    assert sentence(notes_of_pair, "ideal-retrieved").startswith("nDCG(ideal='retrieved')@5: ")
    scores = evaluate(*pair, "nDCG(ideal='retrieved')@5")
    assert codes(scores.notes) == ["collection", "ideal-retrieved"]
    assert f"\n\n1 query averaged.\n{sentence(scores.notes, 'collection')}\n" in str(scores)
    json_notes = document("--grades", "1 0", "-m", "nDCG")["notes"]
    assert [note["code"] for note in json_notes] == ["queries", "grades", "ideal-sorted"]
    outcome = invoke_evaluate("--grades", "1 0", "--format", "tsv")
    assert f"note: {sentence(alone, 'grades')}\n" in outcome.stderr


def test_the_names_of_documents_survive_every_form(write: Any) -> None:
    path = write("q.txt", "1: - 2 0\n")
    for form, name in (
        *(("table", "#2"), ("markdown", "`#`2"), ("latex", "\\#2"), ("html", ">#2<")),
        *(("csv", ",#2,"), ("tsv", "\t#2\t"), ("json", '"#2"')),
    ):
        process = CliRunner().invoke(
            cli, ["explain", "--grades", path, "-m", "RR", "--format", form]
        )
        assert process.exit_code == 0
        assert name in process.stdout, form
    qrels, run = grades([1, 0], collection=[1, 0, 1])
    for form in ("csv", "json"):  # a name with a blank is refused in columns of text
        qrels.write(f"{path}.{form}")
        run.write(f"{path}.run.{form}")
        assert cranfield.read_qrels(f"{path}.{form}").to_dict() == qrels.to_dict()
        assert cranfield.read_run(f"{path}.run.{form}").to_dict() == run.to_dict()


def test_nothing_of_it_is_said_of_other_judgments() -> None:
    scores = evaluate({"q": {"d": 1}}, {"q": ["d"]}, "nDCG nDCG(ideal='top')")
    assert codes(scores.notes) == []


# ---- what is refused ------------------------------------------------------------------------

NUMBER = "expected a number as the grade, or None for an unjudged document, got "


@pytest.mark.parametrize(
    ("lists", "problem"),
    [
        ([1, math.inf], f"the grades, rank 2: {NUMBER}inf"),
        ([1, "2"], f"the grades, rank 2: {NUMBER}'2'"),
        (
            [2**31],
            f"the grades, rank 1: {NUMBER}2147483648\nGrades must be from -2,147,483,647 to 2",
        ),
        ([0, -(2**31)], f"the grades, rank 2: {NUMBER}-2147483648\nGrades must be from -2,147"),
        (pd.Series([1, None, 1e10]), f"the grades, rank 3: {NUMBER}10000000000.0"),
        (np.array(3), "the grades: expected a list of grades, best rank first, got array(3)"),
        ({"a": np.array(3)}, "the grades: expected a list of grades, best rank first, got array"),
        ([np.array([1]), np.array(3)], f"the grades, rank 1: {NUMBER}array([1])"),
        ([[1], [0, None, "x"]], f"the grades of query '2', rank 3: {NUMBER}'x'"),
        ({"a": [1], "b": [10**30]}, f"the grades of query 'b', rank 1: {NUMBER}1000"),
        ([[1], 2], "the grades of query '2': expected a list of grades, best rank first, got 2"),
        ("5 2", "the grades: expected a list of grades, best rank first, got '5 2'"),
        ({3, 1}, "the grades: expected a list of grades, best rank first, got {1, 3}"),
        (3, "the grades: expected a list of grades, best rank first, got 3"),
        ({}, "the grades: hold no list"),
        ({1: [1], "1": [1]}, "the grades: two ids have the same text, as 1 and '1' do"),
        ({"": [1]}, "the grades: the id '' is empty or holds a null byte"),
    ],
)
def test_what_are_no_grades(lists: Any, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        grades(lists)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    ("lists", "collection", "problem"),
    [
        ([5, 5, 2, 3], [5, 2], "the collection: lacks grades that were retrieved: 3 (1 more), 5"),
        ([[1], [3]], [[1], [2]], "the collection of query '2': lacks grades that were retrieved"),
        ([1], [1, None], "the collection: holds None, but what is unjudged has no place in it"),
        ([1], [1, "0.5"], f"the collection, rank 2: {NUMBER}'0.5'"),
        ([1], 1, "the collection: expected a list of grades, best rank first, got 1"),
        ([[1], [1]], [1], "query '2' is in the grades, and not in the collection"),
        ([[1]], [[1], [1]], "query '2' is in the collection, and not in the grades"),
        ({"a": [1]}, {"b": [1]}, "query 'a' is in the grades, and not in the collection"),
    ],
)
def test_what_is_no_collection_of_these(lists: Any, collection: Any, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        grades(lists, collection=collection)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize("top", [2, 2.0, 2.5, "3", True, 2**31])
def test_what_is_no_top_grade(top: Any) -> None:
    expected = "a number from 3, the highest of these grades, to 2147483647"
    with pytest.raises(OptionError, match=expected):
        grades([1, 3], top=top)


def test_a_measure_refuses_what_is_no_list_of_grades() -> None:
    with pytest.raises(InputError, match=r"AP of a list of grades, rank 1: .*, got 'd1'"):
        AP(["d1", "d2"])  # type: ignore[list-item]
    for other in ({"d1"}, {"d1": 1}, "d1", np.array(3)):
        with pytest.raises(TypeError, match=r"AP\(truth, ranking\), or AP\(grades\), scores one"):
            AP(other)  # type: ignore[arg-type, call-overload, unused-ignore]


@pytest.mark.parametrize(
    ("lists", "parameters", "problem"),
    [
        ([1, 0], {"collection": [1, 1, 0]}, "collection: an argument of cranfield.grades"),
        ([1, 0], {"top": 3}, "top: an argument of cranfield.grades"),
        (
            [1, 0],
            {"top": 3, "collection": [1, 0]},
            "collection and top: an argument of cranfield.grades",
        ),
        ("1 0", {}, "'1 0' is a string, no list of grades such as [1, 0]; nDCG@5(truth, ranking)"),
        ([1, 0], {"rel": 2}, "nDCG@5(truth, ranking), or nDCG@5(grades), scores one list"),
    ],
)
def test_a_measure_says_what_was_wrong(lists: Any, parameters: Any, problem: str) -> None:
    with pytest.raises(TypeError) as caught:
        (nDCG @ 5)(lists, **parameters)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize(
    "lists",
    [
        pa.array([1, None, 2]),
        pa.chunked_array([[1, None], [2]]),
        pd.Series([1, None, 2]),
        pd.Series([1, None, 2], dtype="Int64"),
        [1, pd.NA, np.float32(2)],
        [1, float("nan"), 2.0],
        np.array([1, np.nan, 2]),
        np.ma.array([1, 5, 2], mask=[False, True, False]),
        [pa.scalar(1), np.float32("nan"), 2.0],
        [np.array(1), None, np.array(2)],
    ],
)
def test_nulls_of_tables_are_unjudged(lists: Any) -> None:
    expected = grades([1, None, 2])
    single_list: list[Any] = [lists]
    for pair in (grades(lists), grades({"1": lists}), grades(single_list)):
        assert pair.qrels.to_dict() == expected.qrels.to_dict()
        assert pair.run.to_dict() == expected.run.to_dict()
    assert cranfield.DCG(lists) == cranfield.DCG([1, None, 2])
    two: list[list[int | None]] = [[1, None, 2], [0]]
    assert grades(pa.array(two)).qrels.to_dict() == grades(two).qrels.to_dict()


def test_a_measure_takes_lists_and_names() -> None:
    assert (nDCG @ 5)([5, 2, 4, 0, 1]) == evaluate(*grades([5, 2, 4, 0, 1]), "nDCG@5")["nDCG@5"]
    measure = cranfield.CWL("INST")  # a text is a parameter, as ever
    assert isinstance(measure, cranfield.Measure)
    assert isinstance(measure([1, 0]), float)


# ---- the command line -----------------------------------------------------------------------


def test_the_ways_to_write_a_list(write: Any) -> None:
    path = write("lists.txt", "# two\n\n5 2 -\t4\r\nq:9: 1,0\n")
    for arguments in (
        ["--grades", "5 2 - 4", "--grades", "q:9: 1 0"],
        ["--grades", "5, 2 ,-,4", "--grades", " q:9 :+1 0 "],
        ["--grades", path],
        ["--grades", "5 2 - 4\nq:9: 1 0"],
        ["--grades", "\n5 2 - 4\r\n\n# two\nq:9: 1 0\r\n"],
    ):
        run = document(*arguments, "-m", "AP", "-m", "DCG")
        lists: dict[str, list[int | None]] = {"1": [5, 2, None, 4], "q:9": [1, 0]}
        assert run["queries"] == evaluate(*grades(lists), "AP DCG").to_dict()
        assert run["read_as"] == "lists of grades"
    run = document("--grades", "-", "-m", "AP", stdin="a: 0 1")
    assert run["queries"] == {"a": {"AP": 1 / 2}}


def test_a_collection_by_place_or_by_name(write: Any) -> None:
    path = write("collection.txt", "b: 1 1\na: 3 2 1")
    lists = ["--grades", "a: 2 1", "--grades", "b: 1", "-m", "nDCG", "-m", "AP"]
    expected = grades({"a": [2, 1], "b": [1]}, collection={"a": [3, 2, 1], "b": [1, 1]})
    for stated_options in (
        ["--collection", "1 2 3", "--collection", "1 1"],
        ["--collection", "b: 1 1", "--collection", "a: 1 2 3"],
        ["--collection", path],
    ):
        run = document(*lists, *stated_options)
        assert run["queries"] == evaluate(*expected, "nDCG AP").to_dict()


def test_the_options_that_have_an_effect() -> None:
    run = document(
        *("--grades", "- 2 1 0", "--top-grade", "4", "-m", "nDCG(ideal='top')", "-m", "P@2"),
        *("--judged-only", "--depth", "3", "-l", "2"),
    )
    assert run["all"]["P(rel=2)@2"] == 1 / 2
    best = run["all"]["nDCG(ideal='top')"]
    assert best == pytest.approx(dcg([2, 1]) / dcg([4, 4]))


HINT = "Write a list as '5 2 4 - 1', best rank first"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ["--grades", "5 2 x"],
            f"--grades: expected numbers or -, got 'x'\n    5 2 x\n{HINT}",
        ),
        (["--grades", "5,,2"], "--grades: expected numbers or -, got ''\n    5,,2\n"),
        (["--grades", "no.txt"], "--grades: expected numbers or -, got 'no.txt'\n"),
        (["--grades", ""], "--grades: holds no grade; if nothing was retrieved, name the query"),
        (["--grades", ": 5"], "--grades: expected a query before the colon\n    : 5"),
        (["--grades", "q1: 1 0 q2: 0 1"], "--grades: two colons: write one list on each line"),
        (["--grades", "q1:1 0 q2:0 1"], "--grades: two colons: write one list on each line. 'q1"),
        (["--grades", "q1: 1 0\nq2: 0 y"], "--grades:2: expected numbers or -, got 'y'\n"),
        (["--grades", "# a\n\n# b"], "--grades: holds no list of grades\nWrite a list as"),
        (
            ["--grades", "a: 5", "--grades", "a: 1"],
            "--grades: a second list of query 'a'\n    a: 1",
        ),
        (["--grades", "2: 5", "--grades", "1"], "--grades: a second list of query '2'\n    1"),
        (["--grades", "5", "--collection", "y"], "--collection: expected numbers or -, got"),
        (
            ["--grades", "5", "--collection", "2"],
            "the collection: lacks grades that were retrieved",
        ),
        (["--grades", "5", "--collection", "5 -"], "the collection: holds None"),
        (["--grades", "5", "--top-grade", "3"], "top=3 (--top-grade): expected the highest grade"),
        (["--grades", "-", "--collection", "-"], "the standard input, `-`, can be read only once"),
        (["--grades", "-"], "standard input: holds no list of grades\nWrite a list as"),
        (
            ["--grades", "a\x1b: 5", "--grades", "a\x1b: 5"],
            "--grades: a second list of query 'a\\x1b'",
        ),
    ],
)
def test_the_command_refuses(arguments: list[str], problem: str) -> None:
    process = invoke_evaluate(*arguments, stdin="")
    assert process.exit_code == 2
    assert process.stderr.startswith(f"Error: {problem}"), process.stderr
    assert process.stdout == ""


def test_a_line_of_a_file_is_named(write: Any) -> None:
    path = write("lists.txt", "# grades\na: 1 0\nb: 1 y\n")
    process = invoke_evaluate("--grades", path)
    assert process.stderr.startswith(f"Error: {path}:3: expected numbers or -, got 'y'\n    b: 1 y")
    assert "is not text in UTF-8" in invoke_evaluate("--grades", write("x.txt", b"\xff 1")).stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "Missing argument 'QRELS'; for a list of grades alone, say --grades."),
        (["qrels", "run", "--grades", "5 2"], "--grades is in the place of judgments and a run"),
        (["2", "4", "--grades", "5"], "(A list is one argument, as in --grades '5 2 4'.)"),
        (["--collection", "5 2"], "--collection applies to lists of grades: add --grades."),
        (["qrels", "run", "--top-grade", "0"], "--top-grade applies to lists of grades"),
    ],
)
def test_wrong_usage(arguments: list[str], problem: str) -> None:
    process = invoke_evaluate(*arguments)
    assert process.exit_code == 2
    assert process.stderr.startswith("Usage: ")
    assert problem in process.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--order", "score"],
        ["--scores", "single"],
        ["--ties", "best"],
        ["--queries", "both"],
        ["--errors", "skip"],
        ["--run-format", "trec"],
        ["--qrels-format", "trec"],
        ["--run-columns", "query_id=1"],
        ["--qrels-columns", "query_id=1"],
    ],
)
def test_an_option_without_effect_is_refused(arguments: list[str]) -> None:
    process = invoke_evaluate("--grades", "5 2", *arguments)
    assert process.exit_code == 2
    assert process.stderr.startswith(f"Error: {arguments[0]} has no effect on --grades")


def test_a_folder_is_no_file_of_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "5").mkdir()
    monkeypatch.chdir(tmp_path)
    assert document("--grades", "5", "-m", "DCG")["all"] == {"DCG": 5}


def test_the_highest_grade_of_judgments_is_stated(tmp_path: Path) -> None:
    judged, run = {"q": {"a": 1, "b": 0}}, {"q": ["a"]}
    assert evaluate(judged, run, "ERR")["ERR"] == (2**1 - 1) / 2**1
    assert evaluate(Qrels(judged, top_grade=3), run, "ERR")["ERR"] == (2**1 - 1) / 2**3
    Qrels(judged).write(path := tmp_path / "qrels.txt")
    qrels = read_qrels(path, top_grade=3)
    assert qrels.top_grade == qrels.with_top_grade(3).top_grade == 3
    assert evaluate(qrels, run, "ERR")["ERR"] == 1 / 8
    with pytest.raises(InputError, match=r"grade 1 is above top_grade=0\.5"):
        Qrels(judged, top_grade=0.5)
    with pytest.raises(OptionError, match="top_grade"):
        Qrels(judged, top_grade="high")  # type: ignore[arg-type]
