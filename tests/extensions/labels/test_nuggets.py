"""Nugget recall: arithmetic, a slow loop, and what is read and refused."""

import gzip
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers.profile import seeds

from cranfield import InputError, nugget_recall
from cranfield.cli import cli
from cranfield.extensions.labels.nuggets import SCORES

Write = Callable[[str, str], str]
COLUMNS = ("query", "answer", "nugget", "importance", "assignment")
ROWS = [
    ("q1", "run", "a", "vital", "support"),
    ("q1", "run", "b", "vital", "partial_support"),
    ("q1", "run", "c", "okay", "support"),
    ("q1", "run", "d", "okay", "partial_support"),
    ("q1", "run", "e", "okay", "not_support"),
    ("q2", "run", "a", "okay", "support"),
]


def test_arithmetic() -> None:
    scores = nugget_recall(ROWS)
    scores_of_q1 = {score: scores.per_query(score)["run"]["q1"] for score in SCORES}
    assert scores_of_q1 == {
        "all": (1 + 0.5 + 1 + 0.5 + 0) / 5,
        "all_strict": (1 + 0 + 1 + 0 + 0) / 5,
        "vital": (1 + 0.5) / 2,
        "vital_strict": (1 + 0) / 2,
        "weighted": (1 + 0.5 + 0.5 * (1 + 0.5 + 0)) / (2 + 0.5 * 3),
        "weighted_strict": (1 + 0 + 0.5 * (1 + 0 + 0)) / (2 + 0.5 * 3),
    }
    assert scores.per_query("vital")["run"]["q2"] == 0, "it has no vital nugget"
    assert scores.means()["run"]["vital"] == (1.5 / 2 + 0) / 2
    assert scores.means()["run"]["all"] == (3 / 5 + 1 / 1) / 2


def test_what_an_answer_leaves_out_is_not_supported() -> None:
    rows = [*ROWS, ("q1", "other", "a", "vital", "support")]
    scores = nugget_recall(rows)
    assert scores.per_query("vital")["other"] == {"q1": 1 / 2, "q2": 0}
    assert [(note.code, note.source, note.count) for note in scores.notes] == [
        ("queries", None, None),
        ("unassigned", "other", 5),
    ]


def nugget_record(query: str, answer: str, *nuggets: tuple[str, str]) -> dict[str, Any]:
    """Return a record of AutoNuggetizer; each nugget is (importance, assignment)."""
    nugget_dicts = [
        {"text": f"fact {i}", "importance": importance, "assignment": assignment}
        for i, (importance, assignment) in enumerate(nuggets)
    ]
    return {"query": "words", "qid": query, "run_id": answer, "nuggets": nugget_dicts}


def test_a_query_without_nuggets_counts_0_as_in_autonuggetizer(write: Write) -> None:
    records = [nugget_record("q1", "run", ("vital", "support")), nugget_record("q2", "run")]
    path = write("n.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    for nuggets in (records, path):
        scores = nugget_recall(nuggets)
        assert scores.means() == {"run": dict.fromkeys(SCORES, (1 + 0) / 2)}
        assert scores.query_ids == ["q1", "q2"]
        assert [(note.code, note.queries) for note in scores.notes] == [
            ("queries", 2),
            ("no-nuggets", 1),
        ]


def test_an_answer_with_an_empty_list_lacks_the_nuggets_of_other_answers() -> None:
    records = [nugget_record("q", "full", ("vital", "support")), nugget_record("q", "empty")]
    scores = nugget_recall(records)
    assert scores.per_query("all") == {"full": {"q": 1}, "empty": {"q": 0}}
    assert [(note.code, note.source) for note in scores.notes] == [
        ("queries", None),
        ("unassigned", "empty"),
    ]


def test_only_empty_lists_score_0() -> None:
    scores = nugget_recall([nugget_record("q", "run")])
    assert scores.means() == {"run": dict.fromkeys(SCORES, 0.0)}


def test_what_failed_counts_as_in_autonuggetizer(write: Write) -> None:
    """The values of all and vital are those of nuggetizer's `calculate_nugget_scores`."""
    record = nugget_record(
        "q1",
        "run",
        ("vital", "support"),
        ("vital", "failed"),
        ("failed", "partial_support"),
        ("okay", "failed"),
    )
    for nuggets in ([record], write("n.json", json.dumps([record]))):
        scores = nugget_recall(nuggets)
        assert scores.means()["run"] == {
            "all": (1 + 0 + 0.5 + 0) / 4,
            "all_strict": (1 + 0 + 0 + 0) / 4,
            "vital": (1 + 0) / 2,
            "vital_strict": (1 + 0) / 2,
            "weighted": (1 + 0 + 0.5 * (0.5 + 0)) / (2 + 0.5 * 2),
            "weighted_strict": (1 + 0 + 0.5 * (0 + 0)) / (2 + 0.5 * 2),
        }
        assert [(note.code, note.source, note.count) for note in scores.notes] == [
            ("queries", None, None),
            ("failed", None, 1 + 2),
        ]


def slow(rows: Sequence[tuple[str, ...]], query: str, answer: str) -> list[float]:
    importance = {row[2]: row[3] for row in rows if row[0] == query}
    assignment_of_nugget = {row[2]: row[4] for row in rows if row[:2] == (query, answer)}
    scores = []
    for weights in ({"vital": 1, "okay": 1}, {"vital": 1, "okay": 0}, {"vital": 1, "okay": 0.5}):
        for partial in (0.5, 0):
            gain_of_assignment = {"support": 1, "partial_support": partial}
            gain_sum = weight_sum = 0.0
            for nugget, word in importance.items():
                gain_sum += weights[word] * gain_of_assignment.get(
                    assignment_of_nugget.get(nugget, ""), 0
                )
                weight_sum += weights[word]
            scores.append(gain_sum / weight_sum if weight_sum else 0.0)
    return scores


def test_a_slow_loop() -> None:
    for seed in seeds(30):
        chance = random.Random(seed)
        importance = {
            (f"q{q}", f"n{n}"): chance.choice(["vital", "okay"])
            for q in range(5)
            for n in range(chance.randint(1, 9))
        }
        rows = [
            (q, a, n, word, chance.choice(["support", "partial_support", "not_support"]))
            for (q, n), word in importance.items()
            for a in ("x", "y", "é")
            if chance.random() < 0.9
        ]
        chance.shuffle(rows)
        scores = nugget_recall(rows)
        for i, answer in enumerate(scores.answers):
            for j, query in enumerate(scores.query_ids):
                assert scores.values[i, j].tolist() == slow(rows, query, answer)


def test_every_kind_of_input_holds_the_same(write: Write, tmp_path: Path) -> None:
    import pandas as pd
    import pyarrow as pa

    expected = nugget_recall(ROWS).means()
    dicts = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]
    table = "\n".join([",".join(COLUMNS), "", *(",".join(row) for row in ROWS)])
    record_of_query: dict[str, Any] = {}
    for query, run, text, importance, assignment in ROWS:
        record = record_of_query.setdefault(
            query, {"query": "words", "qid": query, "run_id": run, "answer": ["s"], "nuggets": []}
        )
        nugget = {"text": text, "importance": importance, "assignment": assignment}
        record["nuggets"].append(nugget)
    with gzip.open(tmp_path / "n.csv.gz", "wt") as stream:
        stream.write(table)
    files = [
        write("n.csv", "\ufeff" + table.replace("\n", "\r\n")),
        write("n.tsv", table.replace(",", "\t")),
        write("n.jsonl", "".join(json.dumps(row) + "\n" for row in dicts)),
        write("n.json", json.dumps(dicts, indent=2)),
        write("nested.jsonl", "".join(json.dumps(row) + "\n" for row in record_of_query.values())),
        str(tmp_path / "n.csv.gz"),
    ]
    for source in (*files, dicts, pa.Table.from_pylist(dicts), pd.DataFrame(dicts), iter(ROWS)):
        assert nugget_recall(source).means() == expected, source


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("q,r,n,crucial,support", "n.csv:2: expected one of vital, okay as the importance"),
        ("q,r,n,vital,yes", "n.csv:2: expected one of support, partial_support, not_support as"),
        ("q,r,n,vital,", "n.csv:2: expected one of support.* got ''"),
        ("q,,n,vital,support", "n.csv:2: the id '' is empty"),
        ("q,r,n,vital", "n.csv:2: expected 5 columns, query, answer, .*; got 4"),
        ("q,r,n,vital,support\nq,r,n,vital,support", "n.csv:3: the nugget 'n' occurs twice"),
        ("q,r,n,vital,support\nq,s,n,okay,support", "n.csv:3: .* is okay here, and vital above"),
        ('q,r,"n,vital,support', "n.csv:2: a field is malformed"),
        ("", "hold no row"),
    ],
)
def test_what_is_refused_says_where(lines: str, message: str, write: Write) -> None:
    with pytest.raises(InputError, match=message):
        nugget_recall(write("n.csv", f"{','.join(COLUMNS)}\n{lines}\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"query": "q", "answer": "a"', "n.jsonl:1: is not valid JSON"),
        ('{"query": "q", "answer": "a"}', "n.jsonl:1: has no 'nugget'"),
        ('{"qid": 1, "run_id": "a", "nuggets": [3]}', "n.jsonl:1: expected a nugget as an object"),
        ('{"qid": 1, "nuggets": []}', "n.jsonl:1: has no 'answer'"),
        ('{"qid": [], "run_id": "a", "nuggets": []}', "n.jsonl:1: an id is a string"),
        ('{"qid": 1.5, "run_id": "a", "nuggets": [{"text": "n"}]}', "has no 'importance'"),
        ("[3]", "element 0.*|expected a JSON object"),
        ("[", "is not valid JSON"),
        ("importance\nvital", "n.jsonl:2: has no 'query'"),
    ],
)
def test_json_that_is_refused(text: str, message: str, write: Write) -> None:
    with pytest.raises(InputError, match=message):
        nugget_recall(write("n.jsonl", text))


def test_rows_that_are_refused() -> None:
    with pytest.raises(InputError, match=r"row 1: expected .query, answer, nugget"):
        nugget_recall([ROWS[0], ("q", "run")])
    with pytest.raises(InputError, match="expected nuggets as a file, a table or rows, got dict"):
        nugget_recall({"q": 1})
    with pytest.raises(InputError, match=r"row 0: an id is a string or a whole number, got 1.5"):
        nugget_recall([(1.5, "run", "n", "vital", "support")])


def test_on_the_command_line(write: Write) -> None:
    path = write("n.csv", "\n".join([",".join(COLUMNS), *(",".join(row) for row in ROWS)]))
    result = CliRunner().invoke(cli, ["nuggets", path, "-q", "--format", "tsv"])
    assert result.exit_code == 0
    assert "run\tvital\tq1\t0.75\n" in result.stdout
    assert "run\tvital\tall\t0.375\n" in result.stdout
    text = CliRunner().invoke(cli, ["nuggets", path]).stdout
    assert "0.8000" in text
    assert "2 queries averaged." in text
    lines = CliRunner().invoke(cli, ["nuggets", path, "--format", "jsonl"]).stdout.splitlines()
    row = {"answer": "run", "score": "all", "query_id": "all", "value": 0.8}
    assert json.loads(lines[0]) == row
    text_of_queries = CliRunner().invoke(cli, ["nuggets", path, "--format", "table", "-q"]).stdout
    assert "q2" in text_of_queries
    outcome = CliRunner().invoke(cli, ["nuggets", write("bad.csv", "query\nx\n")])
    assert outcome.exit_code == 2
    assert "bad.csv:2" in outcome.output
