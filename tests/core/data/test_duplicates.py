"""Documents that occur more than once for a query: refused, or as `duplicates` says."""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from helpers.commands import invoke
from helpers.notes import codes, find_note, sentence
from helpers.rows import FORMS, Row, Write, vary_block_sizes

from cranfield import (
    InputError,
    OptionError,
    Qrels,
    Run,
    check,
    compare,
    evaluate,
    explain,
    read_qrels,
    read_run,
)
from cranfield.errors import DuplicateError
from cranfield.formats.block import Duplicates

MEASURES = "P@3 SetR AP RR nDCG@5 DCG NumRet NumRelRet Success@2 Rprec RBP(p=0.5)"
KEPT: list[Duplicates] = ["first", "best"]
REFUSED_RULES: list[Duplicates] = ["refuse", "each", "once", "joined"]  # of judgments


def collection(seed: int) -> tuple[dict[str, dict[str, int]], list[Row]]:
    """Return judgments, and rows of which many have a document that another one has."""
    chance = random.Random(seed)
    docs = [f"d{i}" * chance.choice([1, 1, 9]) for i in range(8)]
    qrels = {f"q{i}": {doc: chance.randint(0, 2) for doc in docs[:5]} for i in range(5)}
    rows = [
        (query, chance.choice(docs), chance.choice([0.5, 1.0, 1.5, 2.0, -3.0]))
        for query in qrels
        for _ in range(chance.randint(1, 12))
    ]
    return qrels, rows


def keep_rows(rows: list[Row], rule: Duplicates) -> dict[str, dict[str, float]]:
    """Return the rows that are kept, one after the other."""
    docs_of_query: dict[str, dict[str, float]] = {}
    for query, doc, score in rows:
        docs = docs_of_query.setdefault(query, {})
        if doc not in docs or (rule == "best" and score > docs[doc]):
            docs[doc] = score
    return docs_of_query


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rule", KEPT)
@pytest.mark.parametrize("seed", range(4))
def test_the_first_or_the_best_row_is_kept(
    seed: int, rule: Duplicates, form: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, rows = collection(seed)
    expected = keep_rows(rows, rule)
    n_repeated = len(rows) - sum(map(len, expected.values()))
    run = FORMS[form](rows, write)
    with pytest.raises(DuplicateError, match="--duplicates best"):
        evaluate(qrels, run)
    for _ in vary_block_sizes(monkeypatch):
        scores = evaluate(qrels, run, MEASURES, duplicates=rule)
        assert scores.to_dict() == evaluate(qrels, expected, MEASURES).to_dict()
        note = find_note(scores.notes, "duplicates")
        assert note.count == n_repeated
        assert scores.recipe["duplicates"] == rule
        assert scores.counts.rows_left_out == 0


KEEPING: list[Duplicates] = ["each", "once", "joined"]  # a rank for every row


def compute_by_loop(
    grades: dict[str, int], rows: list[tuple[str, float]], rule: Duplicates
) -> dict[str, float]:
    """Return measures of one query, of which each row has a rank.

    A document counts "each" time; or "once", at the first of its rows that have its highest score;
    or, "joined", each time, and each time beyond the first is a judgment more.
    """
    ranking = [(score, doc.encode(), -i, doc) for i, (doc, score) in enumerate(rows)]
    ranked = [doc for *_, doc in sorted(ranking, reverse=True)]
    judged = [*grades.values()]
    if rule == "joined":
        judged += [grades[doc] for doc in grades for _ in range(ranked.count(doc) - 1)]
    ideal = sorted((max(grade, 0) for grade in judged), reverse=True)
    n_relevant = sum(grade > 0 for grade in judged)
    hits, precisions, first = 0, 0.0, 0
    gains = []
    for rank, doc in enumerate(ranked, 1):
        counts = rule != "once" or doc not in ranked[: rank - 1]
        grade = grades.get(doc, 0) if counts else 0
        gains.append(grade)
        if grade > 0:
            hits += 1
            precisions += hits / rank
            first = first or rank
    dcg, best = (
        sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains_of[:5], 1))
        for gains_of in (gains, ideal)
    )
    return {
        "P@3": sum(gain > 0 for gain in gains[:3]) / 3,
        "SetR": hits / n_relevant if n_relevant else 0.0,
        "AP": precisions / n_relevant if n_relevant else 0.0,
        "RR": 1 / first if first else 0.0,
        "nDCG@5": dcg / best if best else 0.0,
        "DCG": sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1)),
        "NumRet": len(ranked),
        "NumRel": n_relevant,
        "NumRelRet": hits,
        "Success@2": float(any(gain > 0 for gain in gains[:2])),
        "Rprec": sum(gain > 0 for gain in gains[:n_relevant]) / n_relevant if n_relevant else 0.0,
    }


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rule", KEEPING)
@pytest.mark.parametrize("seed", range(4))
def test_each_row_has_its_rank(
    seed: int, rule: Duplicates, form: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, rows = collection(seed)
    run = FORMS[form](rows, write)
    for _ in vary_block_sizes(monkeypatch):
        scores = evaluate(qrels, run, f"{MEASURES} NumRel", duplicates=rule)
        values_of_measure = scores.to_dict()
        for query, grades in qrels.items():
            expected = compute_by_loop(grades, [row[1:] for row in rows if row[0] == query], rule)
            for measure, expected_value in expected.items():
                assert values_of_measure[query][measure] == pytest.approx(
                    expected_value, abs=1e-12
                ), (query, measure)
        note = find_note(scores.notes, "duplicates")
        assert note.count == len(rows) - sum(map(len, keep_rows(rows, "first").values()))


def test_counted_once_or_joined_by_hand() -> None:
    """Two relevant documents, one of which is at ranks 1 and 2."""
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": ["a", "a", "b"]}
    once = evaluate(qrels, run, "R@9 AP P@2", duplicates="once")
    assert once.means() == {"R@9": 2 / 2, "AP": (1 / 1 + 2 / 3) / 2, "P@2": 1 / 2}
    joined_scores = evaluate(qrels, run, "R@9 AP P@2", duplicates="joined")
    assert joined_scores.means() == {"R@9": 3 / 3, "AP": (1 / 1 + 2 / 2 + 3 / 3) / 3, "P@2": 2 / 2}


def test_the_row_that_is_counted_once_is_the_best_in_every_order() -> None:
    """The highest score, the lowest rank, or the first row: the other one is at rank 3."""
    rows = pa.table(
        {"qid": ["q"] * 3, "docno": ["a", "x", "a"], "rank": [3, 2, 1], "score": [1, 2, 3]}
    )
    for order in ("score", "rank", "given"):
        scores = evaluate({"q": {"a": 1}}, Run(rows), "RR NumRet", order=order, duplicates="once")
        assert scores.means() == {"RR": 1 / 1, "NumRet": 3}


def test_recall_above_1_of_tools_that_count_twice() -> None:
    """Two relevant documents, one of which is at ranks 1 and 2."""
    scores = evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "a", "b"]}, "R@9 AP", duplicates="each")
    assert scores.means() == {"R@9": 3 / 2, "AP": (1 / 1 + 2 / 2 + 3 / 3) / 2}


LISTS: dict[str, Callable[[dict[str, list[str]], Write], Any]] = {
    "dict": lambda lists, write: lists,
    "JSON": lambda lists, write: write("lists.json", json.dumps(lists)),
    "pairs": lambda lists, write: [(q, doc) for q, docs in lists.items() for doc in docs],
}


@pytest.mark.parametrize("form", LISTS)
def test_lists(form: str, write: Write) -> None:
    lists = {"q": ["x", "a", "x", "a", "b"], "r": ["b", "a"]}
    qrels = {"q": {"a": 1, "b": 1}, "r": {"a": 1}}
    run = LISTS[form](lists, write)
    # No number says which of the two is better: 'first' alone is named.
    with pytest.raises(DuplicateError, match=r"'x' occurs twice(.|\n)*duplicates='first' \("):
        evaluate(qrels, run)
    expected: dict[Duplicates, float] = {"first": (1 / 2 + 2 / 3) / 2, "best": (1 / 2 + 2 / 3) / 2}
    expected["each"] = (1 / 2 + 2 / 4 + 3 / 5) / 2
    for rule, expected_value in expected.items():
        ap = evaluate(qrels, run, "AP", duplicates=rule)["AP"]
        assert ap == pytest.approx((expected_value + 1 / 2) / 2)


@pytest.mark.parametrize("rule", KEEPING)
@pytest.mark.parametrize("form", LISTS)
def test_lists_whose_documents_stand_twice(rule: Duplicates, form: str, write: Write) -> None:
    """A list's first row of a document is its best one."""
    chance = random.Random(7)
    docs = [f"d{i}" for i in range(6)]
    for _ in range(20):
        qrels = {q: {doc: chance.randint(0, 2) for doc in docs[:4]} for q in ("q", "r")}
        lists = {q: chance.choices(docs, k=chance.randint(1, 9)) for q in ("q", "r")}
        scores = evaluate(qrels, LISTS[form](lists, write), MEASURES, duplicates=rule).to_dict()
        for query, grades in qrels.items():
            rows = [(doc, float(-i)) for i, doc in enumerate(lists[query])]
            for measure, expected_value in compute_by_loop(grades, rows, rule).items():
                if measure != "NumRel":
                    assert scores[query][measure] == pytest.approx(expected_value, abs=1e-12), (
                        measure
                    )


def test_an_empty_list_beside_one_with_a_document_twice_counts() -> None:
    scores = evaluate(
        {"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a", "a"], "r": []}, duplicates="first"
    )
    assert scores.counts.without_results == 1
    assert (
        evaluate({"r": {"a": 1}}, {"q": ["a", "a"], "r": []}, "RR", duplicates="first")["RR"] == 0
    )


def test_lists_are_still_checked_where_one_has_a_document_twice() -> None:
    for bad_lists in ({"q": ["a", "a"], "r": {"b": 1.0}}, {"q": ["a", "a"], "r": {"b"}}):
        with pytest.raises(
            InputError, match=r"(a list of documents, best first|a set has no order)"
        ):
            Run(bad_lists)
    with pytest.raises(InputError, match="texts and whole numbers"):
        Run({"q": ["a", "a"], "r": ["b", 1]})
    with pytest.raises(InputError, match="same text"):
        Run({1: ["a", "a"], "1": ["b"]})


def test_by_rank_the_best_row_has_the_lowest_rank() -> None:
    rows = pa.table(
        {
            "qid": ["q"] * 4,
            "docno": ["a", "b", "x", "a"],
            "rank": [4, 2, 3, 1],
            "score": [9, 1, 1, 1],
        }
    )
    run, qrels = Run(rows), {"q": {"a": 1}}
    scores_of_rule = {
        (rule, order): evaluate(qrels, run, "RR", duplicates=rule, order=order)["RR"]
        for rule in KEPT
        for order in ("score", "rank", "given")
    }
    assert scores_of_rule == {
        ("first", "score"): 1,
        ("first", "rank"): 1 / 3,
        ("first", "given"): 1,
        ("best", "score"): 1,
        ("best", "rank"): 1,
        ("best", "given"): 1,
    }


# ---- judgments ------------------------------------------------------------------------------

TWICE = [("q", "a", 1), ("q", "b", 0), ("q", "a", 2), ("q", "a", 0), ("r", "a", 1)]
QRELS: dict[str, Callable[[Write], Any]] = {
    "rows": lambda write: TWICE,
    "frame": lambda write: pd.DataFrame(TWICE, columns=["query_id", "doc_id", "relevance"]),
    "TREC": lambda write: write("qrels", "".join(f"{q} 0 {doc} {g}\n" for q, doc, g in TWICE)),
}


@pytest.mark.parametrize("form", QRELS)
def test_a_document_has_one_grade(form: str, write: Write) -> None:
    judgments = QRELS[form](write)
    read: Callable[..., Qrels] = read_qrels if isinstance(judgments, str) else Qrels
    for refused_rule in REFUSED_RULES:
        with pytest.raises(DuplicateError, match="'a' occurs twice for query 'q'"):
            read(judgments, duplicates=refused_rule)
    assert read(judgments, duplicates="first").to_dict() == {"q": {"a": 1, "b": 0}, "r": {"a": 1}}
    best = read(judgments, duplicates="best")
    assert best.to_dict() == {"q": {"b": 0, "a": 2}, "r": {"a": 1}}
    scores = evaluate(best, {"q": ["a"]}, "DCG")
    assert scores.to_dict()["q"]["DCG"] == 2
    assert codes(scores) == ["without-results", "duplicates"]
    assert "in the qrels, in 2 rows" in sentence(scores.notes, "duplicates")
    assert evaluate(judgments, {"q": ["a"]}, "DCG", duplicates="best").per_query("DCG")["q"] == 2


def test_of_subtopics_the_first_or_the_highest_level_counts() -> None:
    rows = [("q", s, "a", level) for s, level in (("s", 1), ("s", 2), ("t", 3))]
    table = pd.DataFrame(rows, columns=["query_id", "subtopic", "doc_id", "relevance"])
    for refused_rule in REFUSED_RULES:
        with pytest.raises(DuplicateError, match="subtopic 's'"):
            Qrels(table, duplicates=refused_rule)
    for rule, level in zip(KEPT, (1, 2), strict=True):
        qrels = Qrels(table, duplicates=rule)
        assert qrels.to_dict() == {"q": {"s": [{"a": level}], "t": [{"a": 3}]}}
        scores = evaluate(qrels, {"q": ["a"]}, "alpha_nDCG@5")
        assert [note.count for note in scores.notes if note.code == "duplicates"] == [1]


def test_relevant_documents_that_stand_twice_in_a_list() -> None:
    clicks = {"ann": ["a", "b", "a"], "bob": {"a": 1}}
    with pytest.raises(DuplicateError, match="occurs twice"):
        Qrels(clicks)
    assert Qrels(clicks, duplicates="best").to_dict() == {"ann": {"a": 1, "b": 1}, "bob": {"a": 1}}
    with pytest.raises(InputError, match="For lists of grades"):
        Qrels({"q": [1, 0, 1]})


# ---- what goes with it ------------------------------------------------------------------------


def test_skipping_errors_does_not_touch_duplicates() -> None:
    rows: Any = pd.DataFrame(
        {"qid": ["q"] * 3, "docno": ["a", "b", "a"], "score": [1.0, None, 3.0]}
    )
    with pytest.raises(DuplicateError):
        evaluate({"q": {"a": 1}}, rows, errors="skip")
    scores = evaluate({"q": {"a": 1}}, rows, "NumRet", errors="skip", duplicates="first")
    assert (scores["NumRet"], scores.counts.rows_left_out) == (1, 1)
    assert codes(scores)[:2] == ["left-out", "duplicates"]


def test_options_that_do_not_go_with_each() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": ["a", "x", "a"]}
    with pytest.raises(OptionError, match="duplicates='both'"):
        evaluate(qrels, run, duplicates="both")  # type: ignore[call-overload]
    with pytest.raises(OptionError, match="duplicates"):
        Qrels(qrels, duplicates="both")  # type: ignore[arg-type]
    grouped_judgments = {"q": {"s": {"a": 1}, "t": {"b": 1}}}
    for rule in KEEPING:
        with pytest.raises(OptionError, match="several ranks"):
            explain(qrels, [run, run], "P@2", "q", duplicates=rule)
        with pytest.raises(OptionError, match="in groups"):
            evaluate(grouped_judgments, run, "alpha_nDCG@5", duplicates=rule)
    assert evaluate(grouped_judgments, run, "alpha_nDCG@5", duplicates="first")["alpha_nDCG@5"] > 0


def test_a_group_measure_of_plain_judgments_credits_the_best_rank() -> None:
    """Each judged document has one rank there: 1 of `a`, not 3."""
    qrels = {"q": {"a": 1, "b": 1}}
    scores = evaluate(
        qrels, {"q": ["a", "x", "a", "b"]}, "StRecall@1 StRecall@3", duplicates="each"
    )
    assert scores.means() == {"StRecall@1": 1.0, "StRecall@3": 1.0}


@pytest.mark.parametrize(
    ("rule", "value"),
    [("each", (1 / 1 + 2 / 3) / 2), ("once", (1 / 1) / 2), ("joined", (1 / 1 + 2 / 3) / 3)],
)
def test_explain_shows_every_row_at_its_rank(rule: Duplicates, value: float) -> None:
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "a", "x"]}
    explanation: Any = explain(qrels, run, "AP", "q", duplicates=rule)
    assert explanation.value == value
    assert evaluate(qrels, run, "AP", duplicates=rule)["AP"] == value


def test_compare_takes_it() -> None:
    qrels = {f"q{i}": {"a": 1, "b": 1} for i in range(12)}
    first_run, second_run = (dict.fromkeys(qrels, docs) for docs in (["a", "a", "x"], ["x", "b"]))
    with pytest.raises(DuplicateError):
        compare(qrels, [first_run, second_run], "R@9")
    comparison = compare(qrels, {"one": first_run, "other": second_run}, "R@9", duplicates="each")
    assert "duplicates" in codes(comparison)
    assert comparison.to_dict()["recipe"]["duplicates"] == "each"


def test_check_finds_them_all_and_goes_on() -> None:
    report = check(
        [("q", "a", 1), ("q", "a", 1)], [("q", "a", 1.0), ("q", "a", 2.0), ("q", "b", 0.5)]
    )
    duplicates = [finding for finding in report.findings if finding.code == "duplicate"]
    assert [finding.count for finding in duplicates] == [1, 1]
    assert not report.unreadable


def test_a_run_is_written_without_them(tmp_path: Path) -> None:
    run, path = Run([("q", "a", 1.0), ("q", "a", 2.0), ("q", "b", 0.5)]), tmp_path / "a.csv"
    with pytest.raises(DuplicateError):
        run.write(path)
    assert run.write(path, duplicates="best").repeats.count == 1
    assert read_run(path).to_dict() == {"q": {"a": 2.0, "b": 0.5}}
    with pytest.raises(DuplicateError, match="'a' occurs twice"):
        run.to_dict()
    assert run.to_dict(duplicates="first") == {"q": {"a": 1.0, "b": 0.5}}
    for rule in KEEPING:
        with pytest.raises(OptionError, match=f"duplicates='{rule}'"):
            run.to_dict(duplicates=rule)


def test_on_the_command_line(write: Write, tmp_path: Path) -> None:
    qrels = write("qrels", "q 0 a 1\nq 0 a 2\n")
    run = write("x.run", "q Q0 b 1 3 t\nq Q0 a 2 2 t\nq Q0 a 3 1 t\n")
    arguments = ["evaluate", qrels, run, "-m", "R@9", "--format", "json"]
    refusal = invoke(*arguments)
    assert refusal.exit_code == 2
    assert f"{qrels}:2: " in refusal.stderr
    assert "--duplicates best" in refusal.stderr
    scores = json.loads(invoke(*arguments, "--duplicates", "best").stdout)
    assert [note["code"] for note in scores["runs"][0]["notes"]].count("duplicates") == 2
    once = tmp_path / "once.run"
    invocation = invoke("convert", run, str(once), "--duplicates", "first")
    assert invocation.exit_code == 0
    assert "duplicates='first'" in invocation.stderr
    assert once.read_text() == "q Q0 b 1 3 t\nq Q0 a 2 2 t\n"
    invocation = invoke("convert", qrels, str(tmp_path / "once.qrels"), "--duplicates", "best")
    assert (tmp_path / "once.qrels").read_text() == "q 0 a 2\n"
    assert invocation.exit_code == 0


@pytest.mark.parametrize(
    ("tool", "measures"),
    [
        ("recommenders", ["AP@5", "P@5", "R@5"]),
        ("replay", ["nDCG@5", "AP@5"]),
        ("lenskit", ["AP@5", "R@5", "RR@5"]),
        ("llamaindex (top5, mean of non-errors)", ["nDCG@5", "AP@5", "RR@5"]),
    ],
)
def test_each_gives_the_numbers_of_tools_that_count_twice(
    tool: str, measures: list[str], data: Path
) -> None:
    vectors = json.loads((data / "conventions.json").read_text())
    collection, tool_values = (
        vectors["collections"]["duplicates"],
        vectors["tools"][tool]["duplicates"],
    )
    means = evaluate(collection["qrels"], collection["lists"], measures, duplicates="each").means()
    assert means == pytest.approx({name: tool_values[name] for name in measures}, abs=2e-6)


# ---- what a document that occurs twice may be --------------------------------------------------


@pytest.mark.parametrize("qrels", [[[1, 3, 3]], {"1": [1, 3, 3]}])
def test_whole_numbers_that_occur_twice_are_a_matter_of_duplicates(qrels: Any) -> None:
    run: Any = [[3, 2]] if isinstance(qrels, list) else {"1": [3, 2]}
    scores = evaluate(qrels, run, "AP", duplicates="first")
    assert scores["AP"] == (1 / 1) / 2
    assert "duplicates" in codes(scores.notes)
    with pytest.raises(DuplicateError) as excinfo:
        evaluate(qrels, run, "AP")
    hint = excinfo.value.hint or ""
    assert "duplicates='first'" in hint
    assert "grades(" in hint


@pytest.mark.parametrize("side", ["qrels", "run"])
def test_minus_one_may_fill_up_a_list_or_be_a_document(side: str) -> None:
    twice, once = {"q": ["7", "-1", "-1"]}, {"q": ["7"]}
    qrels, run = (twice, once) if side == "qrels" else (once, twice)
    with pytest.raises(DuplicateError) as excinfo:
        evaluate(qrels, run, "P@1")
    hint = excinfo.value.hint or ""
    assert "fill" in hint
    assert "duplicates='first'" in hint
    assert evaluate(qrels, run, "P@1", duplicates="first")["P@1"] == 1


def test_of_other_documents_nobody_asks_whether_they_fill_up_a_list() -> None:
    with pytest.raises(DuplicateError) as excinfo:
        evaluate({"q": ["7"]}, {"q": ["7", "1", "1"]}, "P@1")
    assert "fill" not in (excinfo.value.hint or "")


# ---- a run that holds each document once ------------------------------------------------------


REPEATED_ROWS = [("q", "b", 1.0), ("q", "a", 3.0), ("q", "b", 9.0)]


@pytest.mark.parametrize(("rule", "rank_of_a"), [("first", 1), ("best", 2)])
def test_a_run_keeps_one_row_of_each_document_as_judgments_do(
    rule: Duplicates, rank_of_a: int
) -> None:
    run = Run(REPEATED_ROWS, "mine", duplicates=rule)
    scores = evaluate({"q": {"a": 1}}, run, "RR")
    assert scores["RR"] == 1 / rank_of_a
    assert find_note(scores.notes, "duplicates").count == 1
    comparison = compare({"q": {"a": 1}}, {"mine": run, "other": Run({"q": ["a"]})}, "RR")
    assert "duplicates" in codes(comparison.data_notes)
    assert run.name == "mine"


def test_a_run_without_a_document_twice_stays_as_it_is() -> None:
    run = Run(REPEATED_ROWS[:2], duplicates="best")
    assert run.to_dict() == {"q": {"b": 1.0, "a": 3.0}}
    assert "duplicates" not in codes(evaluate({"q": {"a": 1}}, run, "RR"))


def test_queries_in_several_pieces_and_lists_keep_one_row_of_each_document() -> None:
    rows = [("q", "b", 1.0), ("p", "b", 1.0), ("q", "b", 9.0)]
    assert Run(rows, duplicates="best").to_dict() == {"q": {"b": 9.0}, "p": {"b": 1.0}}
    assert Run({"q": ["a", "b", "a"]}, duplicates="first").to_dict() == {"q": {"a": -1, "b": -2}}


def test_what_a_run_keeps_of_a_document_is_checked() -> None:
    with pytest.raises(OptionError, match="duplicates='last' is not known"):
        Run(REPEATED_ROWS, duplicates="last")  # type: ignore[arg-type] # on purpose


def test_a_column_of_zeros_is_asked_about_and_does_not_fill_up_lists(tmp_path: Path) -> None:
    rows = [(query, 0, doc, 1.0) for query in (1, 2) for doc in (7, 8, 9)]
    path = tmp_path / "run.tsv"
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    columns: Any = {"query_id": 1, "doc_id": 2, "score": 4}
    for run in (path, read_run(path, columns=columns)):
        with pytest.raises(DuplicateError, match="'0' occurs twice for query '1'") as caught:
            evaluate({"1": {"7": 1}}, run, "RR", columns=columns if run is path else None)
        words = "Are these the columns? It was read as columns as stated: query_id doc_id - score"
        assert words in str(caught.value)
        assert "fill up" not in str(caught.value)
