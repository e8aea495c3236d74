"""Runs and judgments of chunks, made into those of documents."""

import json
import math
import random
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from helpers.commands import invoke
from helpers.notes import codes, find_note, sentence
from helpers.rows import ALL_FORMS, Row, make_run, vary_block_sizes

from cranfield import InputError, OptionError, Qrels, Run, check, evaluate, explain, read_run
from cranfield.errors import DuplicateError
from cranfield.formats.block import Keep
from cranfield.formats.small.chunk_files import read_chunks

MEASURES = "P@3 AP RR nDCG@5 NumRet NumRelRet Judged@3"
KEEPS: list[Keep] = ["first", "best", "sum"]


def collection(seed: int) -> tuple[dict[str, dict[str, int]], list[Row]]:
    """Return judgments of documents, and a run of their chunks: d3#5 is one of d3."""
    chance = random.Random(seed)
    docs = [f"d{i}" * chance.choice([1, 1, 30]) for i in range(9)]
    qrels = {f"q{i}": {doc: chance.randint(0, 2) for doc in docs[:6]} for i in range(5)}
    rows: list[Row] = []
    for query in [*qrels, "unjudged"]:
        chunks = [f"{doc}#{i}" for doc in docs for i in range(chance.randint(0, 4))] or ["d0#0"]
        rows += [
            (query, chunk, chance.choice([0.25, 0.5, 1.0, 2.0, -1.5]))
            for chunk in chance.sample(chunks, chance.randint(1, len(chunks)))
        ]
    return qrels, rows


def merge_by_loop(rows: list[Row], keep: Keep) -> dict[str, dict[str, float]]:
    """Return the scores of documents, chunk after chunk."""
    docs_of_query: dict[str, dict[str, float]] = {}
    for query, chunk, score in rows:
        docs, doc = docs_of_query.setdefault(query, {}), chunk.split("#")[0]
        if keep == "sum":
            docs[doc] = docs.get(doc, 0.0) + score
        else:
            docs[doc] = max(score, docs.get(doc, score))
    return docs_of_query


@pytest.mark.parametrize("form", ALL_FORMS)
@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("seed", range(3))
def test_chunks_become_documents(
    seed: int, keep: Keep, form: str, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, rows = collection(seed)
    expected = merge_by_loop(rows, keep)
    run = make_run(ALL_FORMS[form](rows, write)).map_docs("^(.*)#", keep)
    assert run.to_dict() == expected
    document_scores = evaluate(qrels, expected, MEASURES)
    for _ in vary_block_sizes(monkeypatch):
        scores = evaluate(qrels, run, MEASURES)
        assert scores.to_dict() == document_scores.to_dict()
        note = find_note(scores.notes, "map-docs")
        assert note.count == len(rows)
        n_docs = sum(map(len, expected.values()))
        assert f" became {n_docs} documents" in note.text
        assert f"({keep})" in scores.recipe["run"]


def test_the_three_ways_to_say_it_are_one() -> None:
    _, rows = collection(7)
    run, expected = Run(rows), merge_by_loop(rows, "first")
    documents = {chunk: chunk.split("#")[0] for _, chunk, _ in rows}
    mappings: list[Any] = [
        documents,
        "^(.*)#",
        re.compile(r"(.+)#\d"),
        lambda chunk: chunk.split("#")[0],
    ]
    for mapping in mappings:
        assert run.map_docs(mapping).to_dict() == expected


def test_whole_numbers_are_ids() -> None:
    run = Run({1: {10: 2.0, 11: 1.0, 20: 1.5}})
    assert run.map_docs({10: 1, 11: 1, 20: 2}).to_dict() == {"1": {"1": 2.0, "2": 1.5}}
    assert run.map_docs(lambda chunk: int(chunk) // 10).to_dict() == {"1": {"1": 2.0, "2": 1.5}}


def test_lists_keep_their_order() -> None:
    run = Run({"q": ["a#1", "b#0", "a#0", "c#2"], "r": []}).map_docs("(.)#")
    scores = evaluate({"q": {"c": 1}, "r": {"a": 1}}, run, "RR NumRet")
    assert scores.to_dict()["q"] == {"RR": 1 / 3, "NumRet": 3}
    assert scores.counts.without_results == 1
    with pytest.raises(OptionError, match="keep='sum'"):
        Run({"q": ["a#1", "b#0"]}).map_docs("(.)#", "sum")


def test_the_first_chunk_is_that_of_the_ranking_asked_for() -> None:
    table = pa.table(
        {
            "qid": ["q"] * 4,
            "docno": ["a#0", "b#0", "a#1", "c#0"],
            "rank": [4, 2, 1, 3],
            "score": [9.0, 8.0, 1.0, 2.0],
        }
    )
    qrels = {"q": {"a": 1}}
    docs_of_order = {
        (keep, order): evaluate(qrels, Run(table).map_docs("(.)#", keep), "RR", order=order)["RR"]
        for keep in KEEPS[:2]
        for order in ("score", "rank", "given")
    }
    assert docs_of_order == {
        ("first", "score"): 1,
        ("first", "rank"): 1,
        ("first", "given"): 1,
        ("best", "score"): 1,
        ("best", "rank"): 1 / 3,  # the place of a#0, behind b at 2 and c at 3
        ("best", "given"): 1,
    }


def test_what_is_cut_is_cut_after_that() -> None:
    run = Run({"q": {"a#0": 5.0, "a#1": 4.0, "a#2": 3.0, "b#0": 2.0}}).map_docs("(.)#")
    assert evaluate({"q": {"b": 1}}, run, "R@2 RR", depth=2).means() == {"R@2": 1, "RR": 1 / 2}


def test_a_chunk_that_is_twice_is_refused_before_that() -> None:
    rows = [("q", "a#0", 1.0), ("q", "a#0", 2.0), ("q", "b#0", 2.5)]
    run = Run(rows).map_docs("(.)#", "sum")
    with pytest.raises(DuplicateError, match="'a#0' occurs twice"):
        evaluate({"q": {"a": 1}}, run)
    scores_of_rule = {
        rule: evaluate({"q": {"a": 1}}, run, "RR", duplicates=rule) for rule in ("first", "each")
    }
    assert {rule: scores["RR"] for rule, scores in scores_of_rule.items()} == {
        "first": 1 / 2,
        "each": 1,
    }
    assert codes(scores_of_rule["each"])[:2] == ["duplicates", "map-docs"]


UNKNOWN: dict[str, tuple[Any, str]] = {
    "dict": ({"a#0": "a"}, "the chunk 'b' has no document in the mapping"),
    "pattern": ("^(.*)#", r"the chunk 'b' does not match the pattern '\^\(\.\*\)#'"),
    "empty": ("([^b#]*)", "the chunk 'b' does not match"),
    "function": (lambda chunk_id: chunk_id[:-2] or None, "the chunk 'b' has no document"),
}


@pytest.mark.parametrize(("mapping", "message"), UNKNOWN.values(), ids=UNKNOWN)
def test_a_chunk_without_a_document_is_refused_or_counted(
    mapping: Any, message: str, write: Any
) -> None:
    path = write("a.run", "q Q0 a#0 1 9 t\nq Q0 b 2 8 t\n")
    qrels = {"q": {"a": 1}}
    with pytest.raises(InputError, match=message) as caught:
        evaluate(qrels, read_run(path).map_docs(mapping))
    assert (caught.value.source, caught.value.line, caught.value.text) == (path, 2, "q Q0 b 2 8 t")
    scores = evaluate(qrels, read_run(path, errors="skip").map_docs(mapping), "NumRet")
    assert (scores["NumRet"], scores.counts.rows_left_out) == (1, 1)
    assert codes(scores) == ["left-out", "map-docs"]


def test_what_is_no_mapping_is_refused() -> None:
    run = Run({"q": {"a#0": 1.0}})
    wrong: list[tuple[Any, str]] = [
        ("a.*", "has no group"),
        ("(a", "no regular expression"),
        (re.compile(b"(a)"), "has no group"),
        (5, "a regular expression or a function"),
    ]
    for mapping, message in wrong:
        with pytest.raises(OptionError, match=message):
            run.map_docs(mapping)
    with pytest.raises(OptionError, match="keep='last'"):
        run.map_docs("(.)#", "last")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="mapped already"):
        run.map_docs("(.)#").map_docs("(.)")
    with pytest.raises(InputError, match=r"a string or a whole number, got 1\.5"):
        run.map_docs({"a#0": 1.5})
    with pytest.raises(InputError, match=r"a string or a whole number, got 1\.5"):
        evaluate({"q": {"a": 1}}, run.map_docs(lambda _: 1.5))


def test_bytes_that_are_no_text_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(b"q Q0 \xff\xfe#1 1 2 t\nq Q0 \xff\xfe#2 2 1 t\n")
    run = read_run(path).map_docs("(.*)#")
    assert run.to_dict() == {"q": {"\udcff\udcfe": 2.0}}


def test_every_verb_takes_it(tmp_path: Path) -> None:
    qrels, rows = collection(3)
    run, expected = Run(rows).map_docs("(.*)#"), Run(merge_by_loop(rows, "first"))
    for query in qrels:
        first, second = (explain(qrels, system, "nDCG@5", query) for system in (run, expected))
        assert first.value == second.value  # type: ignore[union-attr]
        assert first.retrieved == second.retrieved  # type: ignore[union-attr]
    assert check(qrels, run).facts["run"]["rows"] == sum(map(len, expected.to_dict().values()))
    for name in ("a.run", "a.csv", "a.json"):
        report = run.write(tmp_path / name)
        assert read_run(tmp_path / name).to_dict() == expected.to_dict()
        assert report.n_chunks == len(rows)


def test_infinite_scores_of_both_signs_have_no_sum() -> None:
    run = Run([("q", "a#0", math.inf), ("q", "b#0", 1.0), ("q", "a#1", -math.inf)])
    with pytest.raises(InputError, match="of 'a' add up to no number"):
        run.map_docs("(.)#", "sum").to_dict()
    assert run.map_docs("(.)#").to_dict() == {"q": {"a": math.inf, "b": 1.0}}


def test_ranks_close_up_where_they_are_written(tmp_path: Path) -> None:
    table = {"qid": ["q"] * 3, "docno": ["a#0", "a#1", "b#0"], "rank": [1, 2, 3]}
    Run(pa.table(table)).map_docs("(.)#").write(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "query_id,doc_id,rank\nq,a,1\nq,b,2\n"


def test_not_one_judged_document_hints_at_it() -> None:
    with pytest.warns(match="--map-docs-pattern"):
        evaluate({"q": {"d1": 1, "d2": 1}}, {"q": {"d1#4": 2.0, "d2#0": 1.0}})


# ---- judgments ------------------------------------------------------------------------------


def test_a_document_has_the_highest_grade_of_its_chunks() -> None:
    chance = random.Random(5)
    chunks_of = [f"d{chance.randint(0, 5)}#{chance.randint(0, 5)}" for _ in range(12)]
    judged = {f"q{i}": {chunk: chance.randint(-1, 3) for chunk in chunks_of} for i in range(6)}
    expected: dict[str, dict[str, int]] = {}
    for query, chunks in judged.items():
        docs = expected.setdefault(query, {})
        for chunk, grade in chunks.items():
            doc = chunk.split("#")[0]
            docs[doc] = max(grade, docs.get(doc, grade))
    table = [(q, chunk, grade) for q, chunks in judged.items() for chunk, grade in chunks.items()]
    for form in (judged, table, pd.DataFrame(table, columns=["qid", "docno", "rel"])):
        mapped_qrels = Qrels(form).map_docs("(.*)#")
        assert mapped_qrels.to_dict() == expected
        run = {query: {"d1": 1.0, "d2": 0.5} for query in judged}
        scores = evaluate(mapped_qrels, run, MEASURES)
        assert scores.to_dict() == evaluate(expected, run, MEASURES).to_dict()
        note_text, n_docs = sentence(scores.notes, "map-docs"), sum(map(len, expected.values()))
        if len(table) > n_docs:
            assert note_text.startswith(f"{len(table)} chunks judged became {n_docs} ")
        else:
            assert note_text.startswith(f"Ids of {n_docs} documents judged were mapped")


def test_documents_written_in_another_way_are_not_called_chunks() -> None:
    qrels = Qrels({"q": {"A ": 1, "B": 2}, "r": {"C": 1}}).map_docs("plain")
    run = Run({"q": ["a", " b"], "r": ["x", "c"]}).map_docs("plain")
    text = " ".join(note.text for note in evaluate(qrels, run, "RR").notes)
    assert "Ids of 3 documents judged were mapped: no two became one." in text
    assert "Ids of 4 documents retrieved were mapped: no two became one." in text
    assert "chunk" not in text


def test_explaining_one_query_says_what_was_mapped() -> None:
    qrels = Qrels({"q": {"a#0": 1, "a#1": 2}, "r": {"b#0": 1}}).map_docs("(.)#")
    explanation = explain(qrels, {"q": ["a"]}, "P@1", "q")
    assert "3 chunks judged became 2 documents" in sentence(explanation.notes, "map-docs")


def test_of_judgments_in_groups() -> None:
    qrels = Qrels({"q": {"s": {"a#0": 1, "a#1": 2}, "t": {"b#0": 1}}}).map_docs("(.)#")
    assert qrels.to_dict() == {"q": {"s": [{"a": 2}], "t": [{"b": 1}]}}


def test_a_judged_chunk_without_a_document() -> None:
    qrels = Qrels({"q": {"a#0": 1, "b": 2}, "r": {"b": 1}})
    with pytest.raises(
        InputError, match=r"the chunk 'b' does not match(.|\n)*leave --map-qrels out"
    ):
        qrels.map_docs("(.)#")
    mapped_qrels = qrels.map_docs("(.)#", errors="skip")
    assert mapped_qrels.to_dict() == {"q": {"a": 1}, "r": {}}
    assert mapped_qrels.left_out.count == 2
    sample = pa.table({"qid": ["q"], "docno": ["a#0"], "rel": [1], "probability": [0.5]})
    with pytest.raises(OptionError, match="sample"):
        Qrels(sample).map_docs("(.)#")


# ---- files of chunks, and the command line ----------------------------------------------------

TABLES = {
    "csv": ("a.csv", "chunk_id,doc_id\nc1,d1\nc2,d1\n"),
    "other order": ("a.csv", "doc_id,chunk_id\nd1,c1\nd1,c2\n"),
    "no names": ("a.tsv", "c1\td1\nc2\td1\n"),
    "blanks": ("a.txt", "c1 d1\nc2 d1\n"),
    "one name known": ("a.csv", "doc,my key\nd1,c1\nd1,c2\n"),
    "of several columns": ("a.csv", "page,passage_id,text,docno\n7,c1,x,d1\n8,c2,y,d1\n"),
    "json": ("a.json", '{"c1": "d1", "c2": "d1"}'),
    "json lines": ("a.jsonl", '{"node_id": "c1", "file": "d1"}\n{"node_id": "c2", "file": "d1"}\n'),
    "a chunk twice alike": ("a.csv", "chunk_id,doc_id\nc1,d1\nc2,d1\nc1,d1\n"),
}


@pytest.mark.parametrize(("name", "text"), TABLES.values(), ids=TABLES)
def test_tables_of_chunks(name: str, text: str, write: Any) -> None:
    assert read_chunks(write(name, text)) == {"c1": "d1", "c2": "d1"}


def test_tables_of_no_chunks(write: Any) -> None:
    with pytest.raises(
        DuplicateError, match=r"a\.csv:3: the chunk 'c1' has the document 'd2' here"
    ):
        read_chunks(write("a.csv", "chunk_id,doc_id\nc1,d1\nc1,d2\n"))
    with pytest.raises(InputError, match="it has one, two, three"):
        read_chunks([{"one": "a", "two": "b", "three": "c"}])
    with pytest.raises(InputError, match="holds no chunk"):
        read_chunks(write("b.csv", "chunk_id,doc_id\n"))


def test_on_the_command_line(write: Any, tmp_path: Path) -> None:
    run = write("a.run", "1 Q0 doc22.md#0 1 9 t\n1 Q0 doc22.md#4 2 8 t\n1 Q0 doc7.md#1 3 7 t\n")
    qrels = write("qrels", "1 0 doc7.md 1\n")
    chunks = write("map.csv", "chunk_id,doc_id\ndoc22.md#0,doc22.md\ndoc22.md#4,doc22.md\n")
    arguments = ["evaluate", qrels, run, "-m", "RR", "--format", "json"]

    def read_score(*extra_arguments: str) -> float:
        invocation = invoke(*arguments, *extra_arguments)
        assert invocation.exit_code == 0, invocation.stderr
        score: float = json.loads(invocation.stdout)["runs"][0]["all"]["RR"]
        return score

    assert read_score("--map-docs-pattern", "^(.*)#") == 1 / 2
    assert read_score("--map-docs", chunks, "--errors", "skip") == 0
    assert read_score("--map-docs-pattern", "^(.*)#", "--map-docs-keep", "sum") == 1 / 2
    judged = write("chunks.qrels", "1 0 doc7.md#0 1\n1 0 doc7.md#1 0\n")
    arguments[1] = judged
    assert read_score("--map-docs-pattern", "^(.*)#", "--map-qrels") == 1 / 2
    for extra_arguments, message in (
        (["--map-qrels"], "--map-qrels has no effect"),
        (["--map-docs-keep", "best"], "--map-docs-keep has no effect"),
        (["--map-docs", chunks, "--map-docs-pattern", "(.)"], "leave one out"),
        (["--map-docs", chunks], "'doc7.md#1' has no document"),
        (["--map-docs", "nothere.csv"], "nothere.csv: cannot be read"),
    ):
        invocation = invoke(*arguments, *extra_arguments)
        assert (invocation.exit_code, invocation.stdout) == (2, "")
        assert message in invocation.stderr
    invocation = invoke("convert", run, str(tmp_path / "docs.run"), "--map-docs-pattern", "(.*)#")
    assert "3 chunks retrieved became 2 documents" in invocation.stderr
