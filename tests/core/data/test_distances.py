"""Distances: a column of its own role, lowest first; scores that seem to be distances or ranks."""

import json
import random
import re
import shlex
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.commands import invoke
from helpers.notes import codes, find_note, sentence
from helpers.rows import csv, json_lines
from pyarrow import parquet

from cranfield import (
    CranfieldWarning,
    InputError,
    OptionError,
    Run,
    check,
    compare,
    evaluate,
    explain,
    gate,
    read_run,
)

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")

N_QUERIES = 4
JUDGED = {f"q{i}": {"a": 1, "b": 0, "c": 0} for i in range(N_QUERIES)}
NEAREST_FIRST = {"a": 0.25, "b": 0.5, "c": 0.75}
ROWS = [(query, doc, number) for query in JUDGED for doc, number in NEAREST_FIRST.items()]
NAMES = ("query_id", "doc_id", "distance")
LISTS = [
    {"query_id": query, "expected_ids": ["a"], "retrieved_ids": ["a", "b", "c"]} for query in JUDGED
]
OBJECTS = [
    {
        "query": query,
        "expected_ids": ["a"],
        "retrieved": [{"id": doc, "score": number} for doc, number in NEAREST_FIRST.items()],
    }
    for query in JUDGED
]


class Hit(NamedTuple):
    """A row with a distance."""

    query_id: str
    doc_id: str
    distance: float


def objects(names: tuple[str, ...], rows: list[Any]) -> list[Any]:
    return [dict(zip(names, row, strict=True)) for row in rows]


# ---- the column -----------------------------------------------------------------------


FORMS: dict[str, Any] = {
    "dicts": objects(NAMES, ROWS),
    "named tuples": [Hit(*row) for row in ROWS],
    "objects": [SimpleNamespace(**row) for row in objects(NAMES, ROWS)],
    "pandas": pd.DataFrame(ROWS, columns=list(NAMES)),
    "polars": pl.DataFrame(ROWS, schema=list(NAMES), orient="row"),
    "structured": pd.DataFrame(ROWS, columns=list(NAMES)).to_records(index=False),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_in_memory_are_ranked_by_their_distance_lowest_first(form: str) -> None:
    run = Run(FORMS[form])
    assert run.to_dict()["q0"] == {"a": -0.25, "b": -0.5, "c": -0.75}
    scores = evaluate(JUDGED, run, "RR")
    assert scores["RR"] == 1
    assert codes(scores) == ["distance"]
    assert find_note(scores.notes, "distance").severity == "info"
    assert "by distance, the lowest first" in sentence(scores.notes, "distance")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json", "parquet", "arrow"])
def test_a_file_is_ranked_by_its_distance(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run.{suffix}"
    table = pa.Table.from_pylist(objects(NAMES, ROWS))
    if suffix == "parquet":
        parquet.write_table(table, path)
    elif suffix == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    else:
        lines = {
            "csv": csv(NAMES, ROWS),
            "tsv": csv(NAMES, ROWS).replace(",", "\t"),
            "jsonl": json_lines(NAMES, ROWS),
            "json": json.dumps(objects(NAMES, ROWS)),
        }
        path.write_text(lines[suffix])
    scores = evaluate(JUDGED, str(path), "RR")
    assert (scores["RR"], codes(scores)) == (1, ["distance"])


@pytest.mark.parametrize("name", ["distance", "dist", "_distance", "Distance"])
def test_names_of_distances(name: str) -> None:
    assert evaluate(JUDGED, Run(objects((*NAMES[:2], name), ROWS)), "RR")["RR"] == 1


def test_a_distance_of_zero_is_a_score_of_zero() -> None:
    assert str(Run([Hit("q0", "a", 0.0)]).to_dict()["q0"]["a"]) == "0.0"


def test_a_score_beside_the_distance_ranks_as_before() -> None:
    rows = [{**row, "score": row["distance"]} for row in objects(NAMES, ROWS)]
    assert Run(rows).to_dict()["q0"] == NEAREST_FIRST
    assert evaluate(JUDGED, Run(rows), "RR")["RR"] == 1 / 3


def test_a_distance_that_is_stated_ranks_beside_a_score() -> None:
    rows = [{**row, "score": row["distance"]} for row in objects(NAMES, ROWS)]
    for columns in ({"distance": "distance"}, {"distance": "score"}):
        assert evaluate(JUDGED, Run(rows, columns=columns), "RR")["RR"] == 1
    with pytest.raises(OptionError, match="by a score or by a distance"):
        Run(rows, columns={"distance": "distance", "score": "score"})


def test_a_rank_stands_beside_a_distance() -> None:
    agreeing = [{**row, "rank": "abc".index(row["doc_id"])} for row in objects(NAMES, ROWS)]
    assert codes(evaluate(JUDGED, Run(agreeing), "RR")) == ["distance"]
    contrary = [{**row, "rank": 9 - row["rank"]} for row in agreeing]
    scores = evaluate(JUDGED, Run(contrary), "RR")
    assert scores["RR"] == 1, "by default, the distance decides"
    rank_scores = evaluate(JUDGED, Run(contrary), "RR", order="rank")
    assert rank_scores["RR"] == 1 / 3
    assert "distance" not in codes(rank_scores)


def test_one_table_of_both_sides_has_distances() -> None:
    rows = [{**row, "relevance": JUDGED["q0"][row["doc_id"]]} for row in objects(NAMES, ROWS)]
    scores = evaluate(rows, "RR")
    assert scores["RR"] == 1
    assert "distance" in codes(scores)


def test_objects_in_lists_keep_their_order_whatever_their_distance_is() -> None:
    """Some vector stores call a similarity so."""
    rows = [
        {**row, "retrieved": [{"id": hit["id"], "distance": -hit["score"]} for hit in hits]}
        for row in OBJECTS
        for hits in [cast("list[Any]", row["retrieved"])]
    ]
    scores = evaluate(rows, "RR")
    assert (scores["RR"], "distance" in codes(scores)) == (1, False)


@pytest.mark.parametrize("name", ["distances", "distance"])
def test_a_list_of_distances_is_read_where_it_is_stated(name: str) -> None:
    rows = [{**row, name: [3.0, 1.0, 2.0]} for row in LISTS]
    assert evaluate(rows, "RR")["RR"] == 1, "the order of the list"
    scores = evaluate(rows, "RR", columns={"distance": name})
    assert scores["RR"] == 1 / 3
    assert "distance" in codes(scores)


def test_a_missing_distance_is_named(write: Any) -> None:
    path = write("run.csv", csv(NAMES, [*ROWS, ("q9", "a", "near")]))
    with pytest.raises(InputError, match=r"expected a number as the distance .*'near'"):
        evaluate(JUDGED, path, "RR")
    assert evaluate(JUDGED, path, "RR", errors="skip")["RR"] == 1


def test_files_of_one_table_all_have_distances(write: Any) -> None:
    paths = [write("a.csv", csv(NAMES, ROWS)), write("b.csv", csv((*NAMES[:2], "score"), ROWS))]
    with pytest.raises(InputError, match="all files of one table have"):
        read_run(paths).to_dict()


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json", "parquet", "run"])
def test_what_is_converted_keeps_the_ranking_and_says_so(suffix: str, write: Any) -> None:
    path, target = write("dist.csv", csv(NAMES, ROWS)), write(f"out.{suffix}", "")
    invocation = invoke("convert", path, target)
    assert "its scores are minus the distances in column 'distance'" in invocation.output
    run = read_run(target)
    assert (run.rows.distance_column, run.to_dict()["q0"]) == (
        None,
        {"a": -0.25, "b": -0.5, "c": -0.75},
    )
    assert codes(evaluate(JUDGED, run, "RR")) == []


def test_runs_made_of_a_run_keep_its_distances() -> None:
    run = Run(FORMS["dicts"])
    assert run.top(2).to_dict()["q0"] == {"a": -0.25, "b": -0.5}
    assert run.top(2).rows.distance_column == "distance"
    reranked_run = run.rerank(Run({query: {"c": 2.0, "a": 1.0} for query in JUDGED}))
    assert (reranked_run.rows.distance_column, reranked_run.to_dict()["q0"]["c"]) == (None, 2.0)


def test_one_query_reads_distances_alike() -> None:
    run = Run(FORMS["pandas"])
    one_query: Any = explain(JUDGED, run, "RR", "q1")
    assert one_query.value == 1
    assert "distance" in codes(one_query)


# ---- scores that rise from row to row -----------------------------------------------------


SCORE_COLUMNS = (*NAMES[:2], "score")


def test_scores_that_rise_are_warned_of_in_every_verb(write: Any) -> None:
    qrels = write("q.csv", csv((*NAMES[:2], "relevance"), judgments()))
    run = write("l2.csv", csv(SCORE_COLUMNS, ROWS))
    good_path = write("good.csv", csv(SCORE_COLUMNS, [(*row[:2], -row[2]) for row in ROWS]))
    results = [
        evaluate(qrels, run, "RR"),
        explain(qrels, run, "RR"),
        explain(qrels, run, "RR", "q1"),
        explain(qrels, [good_path, run], "RR", "q1"),
    ]
    for shown_result in results:
        note = find_note(shown_result.notes, "scores-rise")
        assert (note.severity, note.queries) == ("warning", N_QUERIES)
    for result in (
        compare(qrels, [good_path, run], "RR"),
        gate(qrels, [good_path, run], "RR", baseline="good", margin=0.1),
    ):
        assert "are they distances? columns={'distance': 'score'}" in str(result)
    assert "are they distances?" in invoke("evaluate", qrels, good_path, run, "-m", "RR").output
    (finding,) = [
        finding_or_note
        for finding_or_note in check(qrels, run).findings
        if finding_or_note.code == "scores-rise"
    ]
    assert (finding.severity, finding.count) == ("error", N_QUERIES)


def judgments() -> list[tuple[str, str, int]]:
    return [(query, doc, grade) for query, docs in JUDGED.items() for doc, grade in docs.items()]


def queries(*scores: list[float]) -> Run:
    """Return the run of a query for each list of scores, in the order of its rows."""
    rows = [
        (f"q{i}", "abcdefghijkl"[position], score)
        for i, query_scores in enumerate(scores)
        for position, score in enumerate(query_scores)
    ]
    return Run(objects(SCORE_COLUMNS, rows))


RISING, FALLING, LEVEL = [1.5, 2.5, 2.5, 4], [4, 2.5, 2.5, 1.5], [2.5, 2.5, 2.5]
STRICTLY = [0.11, 0.52, 0.6]


@pytest.mark.parametrize(
    ("scores", "has_note"),
    [
        ([STRICTLY] * 2, True),
        ([STRICTLY], False),
        ([RISING] * 2, True),
        ([RISING] * 9 + [FALLING], True),
        ([RISING] * 8 + [FALLING] * 2, False),
        ([RISING] * 9 + [LEVEL], True),
        ([LEVEL] * 4, False),
        ([[1.5, 2.5]] * 8, False),
        ([[1.5, 2.5]] * 8 + [STRICTLY] * 2, True),
        ([[4, 2.5]] * 3 + [STRICTLY] * 3, True),
        ([[1.5, 3, 2.5]] * 4, False),
    ],
)
def test_in_how_many_queries_scores_are_to_rise(scores: list[list[float]], has_note: bool) -> None:
    run = queries(*scores)
    judged = {query: {"a": 1} for query in run.to_dict()}
    for form in (run, run.to_dict()):
        assert ("scores-rise" in codes(evaluate(judged, form, "RR"))) == has_note
    assert ("scores-rise" in {finding.code for finding in check(judged, run).findings}) == has_note


def test_ranks_that_agree_with_rising_scores_say_that_they_are_meant(write: Any) -> None:
    lines = [f"{query} Q0 {doc} {3 - i % 3} {n} t\n" for i, (query, doc, n) in enumerate(ROWS)]
    assert "scores-rise" not in codes(evaluate(JUDGED, write("run.txt", "".join(lines)), "RR"))


def test_distances_that_fall_may_be_similarities() -> None:
    rows = [(query, doc, 1 - number) for query, doc, number in ROWS]
    scores = evaluate(JUDGED, Run(objects(NAMES, rows)), "RR")
    assert scores["RR"] == 1 / 3
    text = sentence(scores.notes, "scores-rise")
    assert "are they similarities? columns={'score': 'distance'} (--columns score=dis" in text


def test_distances_that_are_ranks_are_in_their_order() -> None:
    rows = [(query, doc, round(4 * number)) for query, doc, number in ROWS]
    scores = evaluate(JUDGED, Run(objects(NAMES, rows)), "RR")
    assert (scores["RR"], codes(scores)) == (1, ["distance"])


# ---- ranks in the place of scores, in any order of the rows -----------------------------------


def ranked_items(seed: int, n: int = 10, n_users: int = 6) -> list[tuple[str, str, int]]:
    """Return the ranks of each user's items in any order; item 1 is the first."""
    rows = [(f"u{user}", f"i{rank}", rank) for user in range(n_users) for rank in range(1, n + 1)]
    random.Random(seed).shuffle(rows)
    return rows


USERS = {f"u{user}": {"i1": 1} for user in range(6)}


def test_ranks_in_any_order_of_the_rows(write: Any) -> None:
    path = write("run.csv", csv(("user", "item", "prediction"), ranked_items(1)))
    scores = evaluate(USERS, path, "RR")
    assert scores["RR"] == pytest.approx(1 / 10)
    text = sentence(scores.notes, "ranks-as-scores")
    assert "columns={'rank': 'prediction'} (--columns rank=prediction)" in text
    assert "given" not in text, "the rows are in any order"
    assert evaluate(USERS, path, "RR", columns={"rank": "prediction"})["RR"] == 1
    (finding,) = [
        candidate
        for candidate in check(USERS, path).findings
        if candidate.code == "ranks-as-scores"
    ]
    assert finding.severity == "error"


def test_ranks_in_any_order_of_a_dict() -> None:
    run: dict[str, dict[str, float]] = {}
    for user, doc, rank in ranked_items(2):
        run.setdefault(user, {})[doc] = rank
    assert "ranks-as-scores" in codes(evaluate(USERS, run, "RR"))
    from_0 = {user: {doc: rank - 1 for doc, rank in items.items()} for user, items in run.items()}
    assert "ranks-as-scores" in codes(evaluate(USERS, from_0, "RR"))


def test_scores_that_count_down_are_no_ranks() -> None:
    falling = [float(n) for n in range(8, 0, -1)]
    in_no_order = [3.0, 1.0, 2.0]
    for score_lists, has_note in (([falling] * 9, False), ([falling] * 9 + [in_no_order], False)):
        run = queries(*score_lists)
        judged = {query: {"a": 1} for query in run.to_dict()}
        for form in (run, run.to_dict()):
            assert ("ranks-as-scores" in codes(evaluate(judged, form, "RR"))) == has_note


# ---- remedies ---------------------------------------------------------------------------


def apply_remedies(files: list[str], text: str) -> set[float]:
    """Return RR by each option that a sentence offers; the results must not have the sentence."""
    scores = set()
    for option in re.findall(r"\((--(?:columns|order) .+?)\)", text):
        invocation = invoke(
            "evaluate", *files, "-m", "RR", *shlex.split(option), "--format", "json"
        )
        assert invocation.exit_code == 0, invocation.output
        (run,) = json.loads(invocation.stdout)["runs"]
        codes_of_run = {note["code"] for note in run["notes"]}
        assert not {"scores-rise", "ranks-as-scores", "ranks"} & codes_of_run
        scores.add(float(run["all"]["RR"]))
    return scores


def test_each_remedy_ranks_the_best_first_when_it_is_typed(write: Any) -> None:
    qrels = write("q.csv", csv((*NAMES[:2], "relevance"), judgments()))
    similar = [(query, doc, 1 - number) for query, doc, number in ROWS]
    lines = "".join(f"{query} Q0 {doc} 0 {number} t\n" for query, doc, number in ROWS)
    lists = [{**row, "scores": [0.1, 0.2, 0.3]} for row in LISTS]
    ranks = [{**row, "scores": [1, 2, 3]} for row in LISTS]
    ranked = [
        {**row, "retrieved": [{"id": doc, "score": i} for i, doc in enumerate("abc", 1)]}
        for row in OBJECTS
    ]
    for files in (
        [qrels, write("score.csv", csv(SCORE_COLUMNS, ROWS))],
        [qrels, write("named.csv", csv((*NAMES[:2], "similarity"), ROWS))],
        [qrels, write("blank.csv", csv((*NAMES[:2], "Cosine Similarity"), ROWS))],
        [qrels, write("fall.csv", csv(NAMES, similar))],
        [qrels, write("trec.run", lines)],
        [
            qrels,
            write("items.csv", csv(SCORE_COLUMNS, [(*row[:2], int(4 * row[2])) for row in ROWS])),
        ],
        [write("objects.json", json.dumps(OBJECTS))],
        [write("ranked.json", json.dumps(ranked))],
        [write("lists.json", json.dumps(lists))],
        [write("ranks.json", json.dumps(ranks))],
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CranfieldWarning)
            scores: Any = cast("Any", evaluate)(*files, "RR")
        assert scores["RR"] < 1, files
        (warning,) = [note for note in scores.notes if note.is_grave]
        assert apply_remedies(files, warning.text) == {1.0}, files


def test_no_hint_offers_a_column_of_distances_as_the_score(write: Any) -> None:
    named_csv = csv(("query_id", "doc_id", "l2_distance"), ROWS)
    with pytest.raises(InputError, match=r"--columns distance=\.\.\.") as lacking:
        evaluate(JUDGED, write("run.csv", named_csv), "RR")
    nameless = csv(("one", "two", "distance"), ROWS)
    with pytest.raises(InputError, match=r"doc_id=\.\.\.,distance=\.\.\.") as without_ids:
        evaluate(JUDGED, write("other.csv", nameless), "RR")
    for error in (lacking, without_ids):
        assert not re.search(r"score=|'score': \.", str(error.value))
    with pytest.raises(InputError, match="This looks like a run") as excinfo:
        evaluate(write("swapped.csv", csv(NAMES, ROWS)), JUDGED, "RR")
    assert "relevance=distance" not in str(excinfo.value)
