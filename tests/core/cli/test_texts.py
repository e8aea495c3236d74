"""Texts of queries and documents, read and shown beside their ids."""

import contextlib
import csv
import gzip
import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pyarrow as pa
import pytest
from helpers.commands import invoke, run_command

from cranfield import (
    Gate,
    InputError,
    OptionError,
    check,
    compare,
    evaluate,
    explain,
    gate,
    with_texts,
)
from cranfield.captions import MAX_TEXT_LENGTH
from cranfield.formats.small.texts import read_texts

Write = Callable[[str, str | bytes], str]
TEXTS = {"q1": "read a CSV file", "q 2": 'say "hello", then go', "10": "žluťoučký kůň"}
WANTED = ["q1", "q 2", "10"]

TREC = """
<top>
<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that participate in international criminal activity.
</top>

<top>
<num> Number: 302
<title>
Poliomyelitis and
Post-Polio
<desc> Description: Is the disease of Polio under control?
</top>
"""
MICROBLOG = (
    "<top><num> Number: MB01 </num><query> BBC World Service </query></top>\n"
    "<top><num> Number: MB02 </num><query> R &amp; D </query></top>\n"
)
XML = """<?xml version="1.0"?><topics task="adhoc">
<topic number="1"><query>coronavirus origin</query><question>what is</question></topic>
<topic number="2" type="faceted"><query>weather &lt; 5</query></topic></topics>
"""


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (TREC, {"301": "International Organized Crime", "302": "Poliomyelitis and Post-Polio"}),
        (MICROBLOG, {"MB01": "BBC World Service", "MB02": "R & D"}),
        (XML, {"1": "coronavirus origin", "2": "weather < 5"}),
        (f"<top><num>1<title>&#{'9' * 5000}; &#65;</top>", {"1": f"&#{'9' * 5000}; A"}),
    ],
)
def test_topics(content: str, expected: dict[str, str], write: Write) -> None:
    path = write("topics.txt", content)
    assert read_texts(path, ["301", "302", "MB01", "MB02", "1", "2"]) == expected
    first = next(iter(expected))
    assert read_texts(path, [first]) == {first: expected[first]}


def as_table(delimiter: str, *names: str) -> str:
    page = io.StringIO()
    rows = csv.writer(page, delimiter=delimiter, lineterminator="\n")
    rows.writerows([names] if names else [])
    rows.writerows(TEXTS.items())
    return page.getvalue()


FILES: dict[str, str] = {
    "named.csv": as_table(",", "query_id", "text"),
    "bare.csv": as_table(","),
    "bare.tsv": "".join(f"{name}\t{text}\n" for name, text in TEXTS.items()),
    "named.tsv": as_table("\t", "qid", "query"),
    "turned.tsv": "question\tid\n" + "".join(f"{text}\t{q}\n" for q, text in TEXTS.items()),
    "beir.jsonl": "".join(
        json.dumps({"_id": name, "text": text, "metadata": {}}) + "\n"
        for name, text in TEXTS.items()
    ),
    "escaped.jsonl": "".join(
        json.dumps({"metadata": {"a": 1}, "_id": name, "text": text}) + "\n"
        for name, text in TEXTS.items()
    ),
    "object.json": json.dumps(TEXTS, indent=1),
    "rows.json": json.dumps([{"id": name, "text": text} for name, text in TEXTS.items()]),
    "corpus.jsonl": "".join(
        json.dumps({"_id": name, "title": title, "text": "the text"}) + "\n"
        for name, title in TEXTS.items()
    ),
    "no titles.jsonl": "".join(
        json.dumps({"_id": name, "title": "", "text": text}) + "\n" for name, text in TEXTS.items()
    ),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_files(name: str, mark: str, write: Write) -> None:
    path = write(name, mark + FILES[name])
    assert read_texts(path, WANTED) == TEXTS
    for text_kind in WANTED:
        assert read_texts(path, [text_kind, "other"]) == {text_kind: TEXTS[text_kind]}
    packed_path = write(f"{name}.gz", gzip.compress(FILES[name].encode()))
    assert read_texts(packed_path, WANTED) == TEXTS
    assert read_texts(path, []) == {}


def test_data_in_memory(tmp_path: Path) -> None:
    frame = pd.DataFrame({"query_id": list(TEXTS), "text": list(TEXTS.values())})
    assert read_texts(frame, WANTED) == TEXTS
    frame.to_parquet(tmp_path / "texts.parquet")
    assert read_texts(tmp_path / "texts.parquet", WANTED) == TEXTS
    assert read_texts(pa.table({"id": [10, 11], "title": ["a  b", None]}), ["10", "11"]) == {
        "10": "a b"
    }
    assert read_texts({10: "ten", "d": {"title": " ", "text": "of d"}}, ["10", "d"]) == {
        "10": "ten",
        "d": "of d",
    }
    assert read_texts([("a", "one"), ("a", "two")], ["a"]) == {"a": "one"}


def test_only_lines_of_what_is_asked_for_are_looked_at(write: Write) -> None:
    """A broken line elsewhere in a corpus is no matter; one of a document that is shown is."""
    lines = [
        '{"_id": "d1", "title": "one"}',
        '{"_id": "d2", "title": ',
        '{"_id": "d3", "title": "x"}',
    ]
    path = write("corpus.jsonl", "\n".join([*lines, ""]))
    assert read_texts(path, ["d1", "d3"]) == {"d1": "one", "d3": "x"}
    with pytest.raises(InputError, match=r"corpus\.jsonl:2"):
        read_texts(path, ["d2"])
    path = write("collection.tsv", "d1\tone\nd2\ttwo\tand more\nd3\tx\n")
    assert read_texts(path, ["d1", "d3"]) == {"d1": "one", "d3": "x"}
    with pytest.raises(InputError, match=r"collection\.tsv:2"):
        read_texts(path, ["d2"])


def test_a_line_that_is_not_utf8_is_named_if_it_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "collection.tsv"
    path.write_bytes(b"d1\tone\nd2\tcaf\xe9\nd3\tth\xc3\xa9\n")
    assert read_texts(path, ["d1", "d3"]) == {"d1": "one", "d3": "thé"}
    with pytest.raises(InputError, match=r"collection\.tsv:2: is not text in UTF-8"):
        read_texts(path, ["d1", "d2"])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("q1 0 d1 3\n", "expected an id and its text, got 4 columns"),
        ("<html><p>no topics</p></html>", "holds no topic with a number"),
        ("query_id,a,b\nq1,x,y\n", "has no column of texts; it has query_id, a, b"),
        ("a,b,c\nq1,x,y\n", "has no column of queries"),
        ('{"_id": "q1", "text": }\n', "is not valid JSON"),
    ],
)
def test_what_holds_no_texts_is_refused(content: str, problem: str, write: Write) -> None:
    path = write("broken", content)
    with pytest.raises(InputError, match="broken") as refusal:
        read_texts(path, ["q1"])
    assert problem in str(refusal.value)


# ---- beside the ids of results ------------------------------------------------------------------

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
OLD, NEW = {"q1": ["a"], "q2": ["b", "a"]}, {"q1": ["b", "a"], "q2": ["a"]}
RUNS = {"old": OLD, "new": NEW}


def results() -> dict[str, Any]:
    return {
        "scores": (evaluate(QRELS, OLD, "AP"), {"per_query": True}),
        "systems": (evaluate(QRELS, RUNS, "AP"), {"per_query": True}),
        "queries": (explain(QRELS, RUNS, "AP"), {}),
        "mean": (explain(QRELS, OLD, "AP"), {}),
        "gate": (gate(QRELS, RUNS, "AP", baseline="old", margin=0.1), {}),
        "check": (check(QRELS | {"q2": {"a": 0}}, {"q1": {"a": 1.0, "b": 1.0}}), {}),
    }


@pytest.mark.parametrize("name", ["scores", "systems", "queries", "mean", "gate", "check"])
@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_every_row_of_a_query_has_its_text(name: str) -> None:
    plain_result, arguments = results()[name]
    texted_result = with_texts(
        plain_result, query_texts={"q1": "one", "q2": "two", "all": "wrong"}, **arguments
    )
    plain = plain_result.tables(**arguments)
    for table, before in zip(texted_result.tables(), plain, strict=True):
        if "query_id" not in before.header:
            assert table == before
            continue
        at = list(before.header).index("query_id")
        assert table.header[-1] == "query"
        assert [row[:-1] for row in table.rows] == [list(row) for row in before.rows]
        texts = {"q1": "one", "q2": "two"}
        assert [row[-1] for row in table.rows] == [texts.get(row[at], "") for row in table.rows]
    assert not {note.code for note in texted_result.notes} - {
        note.code for note in plain_result.notes
    }
    for row in texted_result.rows():
        if "query_id" in plain_result.header:
            assert row["query_text"] == {"q1": "one", "q2": "two"}.get(row["query_id"])
    assert json.loads(texted_result.to_json())["query_texts"] == {"q1": "one", "q2": "two"}


def test_findings_are_lines_with_the_question_below_the_example() -> None:
    findings = check(
        {"q1": {"a": 1}, "q2": {"a": 0}}, {"q1": {"a": 2.0, "b": 1.0}, "q9": {"a": 1.0}}
    )
    plain = findings.to_text().splitlines()
    texts = with_texts(findings, query_texts={"q2": "two | 2\x1b[31m"}).to_text().splitlines()
    added_lines = [line for line in texts if line not in plain]
    assert added_lines == ["           q2: two | 2\\x1b[31m"] * 2  # no relevant one, and no results
    at = texts.index(added_lines[0])
    assert "without a relevant document" in texts[at - 1]
    wide = [*with_texts(findings, query_texts={"q2": "word " * 14}).to_text(60).splitlines()]
    assert max(map(len, wide)) <= 60
    unread = check(QRELS, {"q": {"a": 1.0}})
    assert with_texts(unread, query_texts={"q1": "one"}).to_text() == unread.to_text()


def test_changes_of_a_comparison_have_texts() -> None:
    texted_comparison = with_texts(compare(QRELS, RUNS, "AP"), query_texts={"q1": "one"}, changes=2)
    table = texted_comparison.tables()[-1]
    assert [row[-1] for row in table.rows if row[1] == "q1"] == ["one"]
    assert any("1 of the 2 queries shown have no text" in note for note in table.notes)


def test_documents_and_the_query_of_an_explanation() -> None:
    explanation = explain(QRELS, OLD, "nDCG@5", "q2")
    texted_explanation = with_texts(
        explanation, query_texts={"q2": "two"}, doc_texts={"a": "of a", "b": "of b"}
    )
    table = texted_explanation.tables()[0]
    assert table.title[1] == "q2: two"
    assert {row[1]: row[-1] for row in table.rows} == {"a": "of a", "b": "of b"}
    row = texted_explanation.rows()[0]
    assert (row["query_text"], row["document_text"]) == ("two", f"of {row['document']}")
    texted_difference = with_texts(explain(QRELS, RUNS, "AP", "q1"), doc_texts={"a": "of a"})
    assert {row[0]: row[-1] for row in texted_difference.tables()[0].rows}["a"] == "of a"
    assert json.loads(texted_difference.to_json())["document_texts"] == {"a": "of a"}
    assert texted_difference.to_dict()["document_texts"] == {"a": "of a"}
    assert texted_difference.to_dict().items() >= texted_difference.plain_result.to_dict().items()


def test_ids_without_a_text_are_counted() -> None:
    explanation = explain(QRELS, RUNS, "AP")
    codes = {note.code: note for note in with_texts(explanation, query_texts={"q1": "one"}).notes}
    assert (codes["no-text"].count, codes["no-text"].severity) == (1, "info")
    codes = {note.code: note for note in with_texts(explanation, query_texts={"x": "one"}).notes}
    assert (codes["no-text"].count, codes["no-text"].severity) == (2, "warning")
    (table,) = with_texts(explanation, query_texts={"x": "one"}).tables()
    assert table.header == explanation.tables()[0].header


def test_where_the_middle_of_a_table_is_left_out_nothing_is_missing() -> None:
    docs = [f"d{i}" for i in range(40)]
    explanation = explain({"q": dict.fromkeys(docs, 1)}, {"q": docs}, "AP")
    texts = {doc: f"of {doc}" for doc in docs}
    texted_explanation = with_texts(explanation, doc_texts=texts)
    assert not [note for note in texted_explanation.notes if note.code == "no-text"]
    assert not any(
        "no text" in note for table in texted_explanation.tables() for note in table.notes
    )


def test_texts_are_data() -> None:
    """Nothing in them is markup, or a command; a long one is cut in tables, and whole in rows."""
    long = "word " * 100
    texts = {"q1": "<script>|*x*\x1b[31m\n=1+1", "q2": long}
    texted_explanation = with_texts(explain(QRELS, RUNS, "AP"), query_texts=texts)
    for form in ("to_text", "to_html", "to_markdown", "to_latex"):
        page = getattr(texted_explanation, form)()
        assert "\x1b" not in page
        assert "<script>" not in page or form in ("to_text",)
    cells = {row[0]: row[-1] for row in texted_explanation.tables()[0].rows}
    assert len(cells["q2"]) <= MAX_TEXT_LENGTH
    assert cells["q2"].endswith("word...")
    rows = {row["query_id"]: row["query_text"] for row in texted_explanation.rows()}
    assert rows["q2"] == long.strip()
    assert texted_explanation.to_text(60).count("word...") == 1
    assert max(map(len, texted_explanation.to_text(60).splitlines())) <= 60


def test_the_standard_input(demo_folder: Path) -> None:
    files = [str(demo_folder / "demo" / name) for name in ("qrels.txt", "bm25.run")]
    topics = (demo_folder / "demo/queries.tsv").read_text()
    for content in (topics, "".join(f'"{q}","text of {q}"\n' for q in ("q01", "q02"))):
        outcome = run_command("explain", *files, "q02", "--topics", "-", input=content)
        assert outcome.stdout.splitlines()[1].startswith("q02: ")
    outcome = run_command(
        "explain", "-", files[1], "q02", "--topics", "-", input=Path(files[0]).read_text()
    )
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert "only once" in outcome.stderr


def test_commands(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo_folder)
    files = ["demo/qrels.txt", "demo/bm25.run", "demo/tfidf.run"]
    topics = ["--topics", "demo/queries.tsv"]
    for arguments in (
        ["evaluate", *files, "-q", "--format", "table"],
        ["explain", *files],
        ["explain", *files[:2]],
        ["explain", *files[:2], "q02"],
        ["compare", *files, "--changes", "40"],
        ["gate", files[0], files[2], "--baseline", files[1], "--margin", "0.01"],
        ["check", "demo/qrels.txt", "demo/fusion.run"],
    ):
        outcome = invoke(*arguments, *topics)
        assert outcome.exit_code in (0, 1, 3)
        assert outcome.stdout != invoke(*arguments).stdout
    assert "parse command line arguments" in invoke("explain", *files, *topics).stdout
    outcome = invoke("explain", *files, "--query-texts", "demo/queries.tsv", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(outcome.stdout)))
    assert {row["query_id"]: row["query_text"] for row in rows}["q01"] == "read a CSV file"
    for arguments in (["evaluate", *files], ["compare", *files]):
        outcome = invoke(*arguments, *topics)
        assert (outcome.exit_code, outcome.stdout) == (2, "")
        assert "has no effect without" in outcome.stderr
    for arguments in (
        ["check", files[0], files[1]],
        ["gate", files[0], files[1], "--baseline", files[1], "--margin", "0.01"],
    ):  # no query is shown
        assert invoke(*arguments).exit_code == 0
        outcome = invoke(*arguments, "--query-texts", "no such file")
        assert (outcome.exit_code, outcome.stdout) == (2, "")
        assert "no such file: cannot be read" in outcome.stderr
    outcome = invoke("explain", *files, "--doc-texts", "demo/queries.tsv")
    assert (outcome.exit_code, outcome.stdout) == (2, "")


def test_a_gate_with_texts_has_its_report(
    demo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo_folder)
    report = tmp_path / "gate.xml"
    files = ["demo/qrels.txt", "demo/tfidf.run", "--baseline", "demo/bm25.run", "--margin", "0.01"]
    outcome = invoke("gate", *files, "--query-texts", "demo/queries.tsv", "-o", str(report))
    assert outcome.exit_code in (1, 3)
    texted_gate = with_texts(gate(QRELS, RUNS, "AP", baseline="old", margin=0.1), query_texts=TEXTS)
    assert texted_gate.forms == Gate.forms
    failure = next(ElementTree.parse(report).iter("failure"))  # noqa: S314 - our own
    change_lines = [line for line in (failure.text or "").split("\n") if line.startswith(" tfidf")]
    texts = [line.split("\t")[1] for line in Path("demo/queries.tsv").read_text().splitlines()]
    assert any(text in line for line in change_lines for text in texts)


def test_what_is_no_result_is_refused() -> None:
    with pytest.raises(OptionError, match="expected a result"):
        with_texts(3, query_texts=TEXTS)  # type: ignore[arg-type]


def test_of_documents_their_own_column_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("query_id,doc_id,text\n2,7,seven\n3,8,eight\n1,2,two\n")
    assert read_texts(path, ["2", "3"], role="doc") == {"2": "two"}
    assert read_texts(path, ["2", "3"]) == {"2": "seven", "3": "eight"}
    path.write_text("id\tdoc_id\ttext\n2\t7\tseven\n7\t2\ttwo\n")
    assert read_texts(path, ["2"], role="doc") == {"2": "two"}
    path.write_text(
        '{"id": "2", "doc_id": "7", "text": "seven"}\n{"id": "7", "doc_id": "2", "text": "two"}\n'
    )
    assert read_texts(path, ["2"], role="doc") == {"2": "two"}


def test_several_files_of_texts_are_one(write: Write) -> None:
    """As the runs that are shown, which have titles of their own."""
    old = write("old.csv", "query_id,url,title,rank\nq1,u1,First,1\nq1,u2,Second,2\n")
    new = write("new.csv", "query_id,url,title,rank\nq1,u3,Third,1\nq1,u2,Later,2\n")
    expected_texts = {"u1": "First", "u2": "Second", "u3": "Third"}
    assert read_texts([old, new], ["u1", "u2", "u3"], role="doc") == expected_texts
    qrels = write("qrels.csv", "query_id,url,relevance\nq1,u1,1\nq1,u3,1\n")
    words = ["explain", qrels, old, new, "q1", "-m", "RR", "--columns", "doc_id=url"]
    outcome = invoke(*words, "--doc-texts", old, "--doc-texts", new, "--format", "json")
    assert json.loads(outcome.stdout)["document_texts"] == expected_texts
    outcome = invoke(*words, "--doc-texts", "-", "--doc-texts", "-")
    assert "read only once" in outcome.stderr


@pytest.mark.parametrize("role", ["query", "doc"])
def test_ids_are_where_they_are_called_so_not_where_numbers_are_alike(
    role: Any, write: Write
) -> None:
    path = write("texts.csv", f"{role}_id,place,text\nx,1,one\ny,2,two\n")
    assert read_texts(path, ["1", "2"], role=role) == {}


def test_columns_are_named_where_no_text_is_found(write: Write) -> None:
    path = write("texts.csv", "doc_id,title,body\nx,One,1\n")
    run = {"q1": ["d1"]}
    page = str(with_texts(explain({"q1": {"d1": 1}}, run, "RR", "q1"), doc_texts=path))
    assert "Read were ids from column doc_id, texts from title, body." in page
    explanation = explain({"q1": {"d1": 1}}, {"q1": ["d1", "x"]}, "RR", "q1")
    page = str(with_texts(explanation, doc_texts=path))
    assert "have no text" in page
    assert "Read were" not in page


def test_a_finding_that_asks_is_not_ended_twice() -> None:
    rows = [{"question": "a", "expected_ids": None, "retrieved_ids": ["x"]}]
    rows += [{"question": "b", "expected_ids": ["x"], "retrieved_ids": ["x"]}]
    assert "was it not judged? Write []" in str(check(rows))


N_MANY = 300_000  # characters or tags: minutes, where the time grows with their square


@pytest.mark.parametrize(
    "topics",
    [
        "<top><num>" + " " * N_MANY,
        "<top><num>" + " " * N_MANY + "number:" + " " * N_MANY,
        "<top\n" * N_MANY,
        "<topic number='1' " * N_MANY,
        "<query" + " " * N_MANY,
        "<top>" + "<num>" * N_MANY,
        "<top><num>q1<title>" + "&#1" * N_MANY,
        "<top><num>q1<title>" + " " * N_MANY,
    ],
    ids=str.strip,
)
def test_topics_take_time_as_they_are_long(topics: str, write: Write) -> None:
    path = write("topics.xml", topics)
    begin = time.process_time()
    with contextlib.suppress(InputError):
        read_texts(path, ["q1"])
    assert time.process_time() - begin < 20


def test_a_line_of_many_megabytes_takes_time_as_it_is_long(write: Write) -> None:
    """64 MB; it took four times as long where a line was twice as long."""
    path = write("t.jsonl", '{"_id": "q1", "text": "' + "x" * (1 << 26) + '"}\n')
    begin = time.process_time()
    assert len(read_texts(path, ["q1"])["q1"]) == 1 << 26
    assert time.process_time() - begin < 20


@pytest.mark.parametrize("form", ["csv", "tsv", "table", "markdown", "latex", "html", "jsonl"])
def test_half_of_a_surrogate_pair_is_shown_as_an_escape(form: str, write: Write) -> None:
    texts = write("t.json", '{"q1": "\\ud800 x", "d1": "\\udfff y"}')
    qrels, run_path = write("a.qrels", "q1 0 d1 1\n"), write("a.run", "q1 Q0 d1 1 2 x\n")
    saved_path = Path(texts).with_name("out.csv")
    for command in (
        ["evaluate", qrels, run_path, "-m", "AP", "-q", "--topics", texts, "-o", str(saved_path)],
        ["evaluate", qrels, run_path, "-m", "AP", "--slices", texts],
    ):
        result = invoke(*command, "--format", form)
        assert (result.exit_code, result.exception) == (0, None), result.output
    assert "\\ud800 x" in saved_path.read_text("utf-8")


def test_half_of_a_surrogate_pair_in_memory_is_an_escape() -> None:
    assert read_texts({"q1": "a\ud800"}, ["q1"]) == {"q1": "a\\ud800"}
