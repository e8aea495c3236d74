"""What `without=` leaves out of runs: from which data, with which numbers and notes."""

import io
import json
import pickle
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.commands import invoke

from cranfield import (
    InputError,
    Note,
    OptionError,
    Qrels,
    Run,
    Scores,
    check,
    compare,
    evaluate,
    explain,
    read_qrels,
)
from cranfield.errors import CranfieldWarning, NothingSharedError

QRELS = {"q1": {"d1": 2, "d9": 1, "d6": 0}, "q2": {"d2": 1, "d5": 3}, "q3": {"d8": 1}}
RUN = {
    "q1": {"d4": 0.9, "d1": 0.5, "d9": 0.4},
    "q2": {"d2": 0.8, "d7": 0.6, "d5": 0.1},
    "q3": {"d3": 0.7, "d8": 0.2},
}
EXCLUSIONS = {"q1": ["d4"], "q2": ["d2"], "q3": ["d3"]}
REMAINING_RUN = {"q1": {"d1": 0.5, "d9": 0.4}, "q2": {"d7": 0.6, "d5": 0.1}, "q3": {"d8": 0.2}}
# Of q2, d5 is at rank 2, and the denominator counts d2, which was left out.
AP_OF_QUERY = {"q1": (1 / 1 + 2 / 2) / 2, "q2": (1 / 2) / 2, "q3": 1 / 1}
REMOVAL_TEXT = "3 of 8 rows removed, in 3 queries: 5 of 8 rows left."
RELEVANT_TEXT = "1 relevant document left out of the run: still counted."

PAIRS = [(query, doc) for query, docs in EXCLUSIONS.items() for doc in docs]
LISTS = [{"user": query, "seen_items": docs} for query, docs in EXCLUSIONS.items()]
ROWS = [{"user": query, "item": doc, "stars": 3} for query, (doc,) in EXCLUSIONS.items()]
BRIGHT: list[dict[str, Any]] = [
    {"id": query, "query": f"what is {query}", "gold_ids": [*QRELS[query]], "excluded_ids": docs}
    for query, docs in EXCLUSIONS.items()
]


def values_of_notes(notes: Any, code: str) -> list[tuple[str, int | None, int | None]]:
    """Return (text, queries, count) of each note with a code."""
    return [(note.text, note.queries, note.count) for note in notes if note.code == code]


def write_json(folder: Path, name: str, content: Any) -> str:
    """Write data as JSON, or a list of rows as JSON lines; return the path."""
    path = folder / name
    rows = content if path.suffix == ".jsonl" else [content]
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def write_csv(folder: Path) -> str:
    """Write the exclusions as rows of CSV; return the path."""
    path = folder / "seen.csv"
    path.write_text("user,item\n" + "".join(f"{query},{doc}\n" for query, doc in PAIRS))
    return str(path)


FORMS: dict[str, Callable[[Path], Any]] = {
    "a dict": lambda folder: EXCLUSIONS,
    "a dict of scores": lambda folder: {
        query: {docs[0]: 1.0} for query, docs in EXCLUSIONS.items()
    },
    "rows with lists": lambda folder: LISTS,
    "rows of documents": lambda folder: ROWS,
    "rows with expected documents beside": lambda folder: BRIGHT,
    "judgments": lambda folder: Qrels({query: {docs[0]: 0} for query, docs in EXCLUSIONS.items()}),
    "a run": lambda folder: Run({query: {docs[0]: 1.0} for query, docs in EXCLUSIONS.items()}),
    "tuples": lambda folder: PAIRS,
    "a tuple of tuples": lambda folder: tuple(PAIRS),
    "a set of tuples": lambda folder: {*PAIRS},
    "tuples, once": lambda folder: iter(PAIRS),
    "tuples with a number": lambda folder: [(*pair, 3.5) for pair in PAIRS],
    "an open file": lambda folder: io.StringIO(Path(write_csv(folder)).read_text()),
    "an open file of bytes": lambda folder: io.BytesIO(Path(write_csv(folder)).read_bytes()),
    "JSON": lambda folder: write_json(folder, "seen.json", EXCLUSIONS),
    "JSON lines": lambda folder: write_json(folder, "seen.jsonl", BRIGHT),
    "a path": lambda folder: Path(write_json(folder, "seen.jsonl", LISTS)),
    "two of these": lambda folder: (LISTS[:1], write_json(folder, "seen.jsonl", LISTS[1:])),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_leaves_out_the_same(tmp_path: Path, form: str) -> None:
    scores = evaluate(QRELS, RUN, "AP R@2", without=FORMS[form](tmp_path))
    assert {query: scores.to_dict()[query]["AP"] for query in QRELS} == AP_OF_QUERY
    assert scores["AP"] == sum(AP_OF_QUERY.values()) / 3
    assert scores["R@2"] == (2 / 2 + 1 / 2 + 1 / 1) / 3
    assert scores.to_dict() == evaluate(QRELS, REMAINING_RUN, "AP R@2").to_dict()


def test_frames_are_tables() -> None:
    pandas = pytest.importorskip("pandas")
    for rows in (LISTS, ROWS):
        scores = evaluate(QRELS, RUN, "AP", without=pandas.DataFrame(rows))
        assert scores["AP"] == sum(AP_OF_QUERY.values()) / 3


def test_ids_are_left_out_of_all_queries() -> None:
    scores = evaluate(QRELS, RUN, "AP", without=["d4", "d2", "d3"])
    assert scores.to_dict() == evaluate(QRELS, REMAINING_RUN, "AP").to_dict()
    with pytest.raises(OptionError, match="ids go into a list"):
        evaluate(QRELS, RUN, "AP", without=("d4", "d2"))


def test_an_open_file_of_ids_is_no_list_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "seen.txt"
    path.write_text("doc_id\nd4\nd2\nd3\n")
    with path.open() as file:
        scores = evaluate(QRELS, RUN, "AP", without=file)
    assert scores.per_query("AP") == AP_OF_QUERY
    with path.open() as file:
        assert Run(RUN).only(docs=file).to_dict() == {
            query: {docs[0]: RUN[query][docs[0]]} for query, docs in EXCLUSIONS.items()
        }


def test_exclusions_that_are_read_once_reach_all_runs() -> None:
    systems = compare(QRELS, {"a": RUN, "b": RUN}, "AP", without=iter(PAIRS))
    assert REMOVAL_TEXT in str(systems)
    assert str(systems).count("0.7500") == 2, "(1 + 1/4 + 1) / 3 of both"


def test_without_runs_they_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="leaves documents out of runs, and no run"):
        check(QRELS, without=EXCLUSIONS)
    qrels = write_json(tmp_path, "qrels.json", QRELS)
    invocation = invoke("check", qrels, "--without", write_json(tmp_path, "w.json", EXCLUSIONS))
    assert invocation.exit_code == 2
    assert "no run is given" in invocation.stderr


@pytest.mark.parametrize("texts", ["same", "contain"])
def test_texts_are_left_out_by_their_words(texts: Any) -> None:
    rows = [
        {"id": "q1", "reference_contexts": ["Bees dance."], "retrieved_contexts": contexts}
        for contexts in [["Wax\n is old.", "Bees  dance."]]
    ]
    assert evaluate(rows, "RR", texts=texts)["RR"] == 1 / 2
    for exclusions in ({"q1": ["Wax is  old. "]}, [("q1", "Wax is old.")], ["Wax is old."]):
        scores = evaluate(rows, "RR", without=exclusions, texts=texts)
        assert scores["RR"] == 1 / 1
        assert "1 of 2 rows removed, in 1 query: 1 of 2 rows left." in str(scores.notes)
    scores = evaluate(rows, "RR", without={"q1": ["Bees dance."]}, texts=texts)
    assert values_of_notes(scores.notes, "without")[1] == (RELEVANT_TEXT, None, 1)
    rows[0]["seen"] = ["Wax is old."]
    assert values_of_notes(evaluate(rows, "RR", texts=texts).notes, "excluded")


def test_what_was_removed_is_counted_and_what_is_relevant_stays_judged() -> None:
    scores = evaluate(QRELS, RUN, "AP", without=EXCLUSIONS)
    assert values_of_notes(scores.notes, "without") == [
        (REMOVAL_TEXT, 3, 3),
        (RELEVANT_TEXT, None, 1),
    ]
    assert {note.severity for note in scores.notes} == {"info"}
    assert not values_of_notes(evaluate(QRELS, RUN, "AP").notes, "without")


def test_relevant_documents_count_that_no_run_retrieved() -> None:
    exclusions = {**EXCLUSIONS, "q3": ["d3", "d8", "d77"], "q4": ["d1"]}
    scores = evaluate(
        {**QRELS, "q4": {"d1": 1}}, {**RUN, "q4": {"d2": 0.5}}, "R@9", without=exclusions
    )
    texts = [text for text, _, _ in values_of_notes(scores.notes, "without")]
    n_relevant = sum(
        grade > 0 and doc in exclusions[query]
        for query, docs in {**QRELS, "q4": {"d1": 1}}.items()
        for doc, grade in docs.items()
    )
    assert texts[1] == f"{n_relevant} relevant documents left out of the run: still counted."
    assert scores["R@9"] == (2 / 2 + 1 / 2 + 0 + 0) / 4


def test_one_query_is_explained_with_its_own_counts() -> None:
    assert RELEVANT_TEXT in str(explain(QRELS, RUN, "AP", "q2", without=EXCLUSIONS))
    assert RELEVANT_TEXT not in str(explain(QRELS, RUN, "AP", "q1", without=EXCLUSIONS))


def test_each_system_is_counted() -> None:
    runs = {"a": RUN, "b": {query: {"d2": 0.3, "d8": 0.2} for query in RUN}}
    systems = evaluate(QRELS, runs, "AP", without=EXCLUSIONS)
    assert systems["a"]["AP"] == sum(AP_OF_QUERY.values()) / 3
    texts = [text for text, _, _ in values_of_notes(systems["b"].notes, "without")]
    assert texts[0] == "1 of 6 rows removed, in 1 query: 5 of 6 rows left."
    assert "a: 3 of 8 rows removed" in str(compare(QRELS, runs, "AP", without=EXCLUSIONS))


def test_a_table_of_both_sides_has_one_run() -> None:
    rows = [
        {"id": query, "expected_ids": [*QRELS[query]], "retrieved_ids": [*RUN[query]]}
        for query in QRELS
    ]
    scores = evaluate(rows, "RR", without=EXCLUSIONS)
    assert scores["RR"] == (1 / 1 + 1 / 2 + 1 / 1) / 3
    assert REMOVAL_TEXT in str(check(rows, without=EXCLUSIONS))
    systems = compare([rows, rows], None, "RR", without=EXCLUSIONS)
    assert REMOVAL_TEXT in str(systems)


def test_other_queries_are_refused() -> None:
    with pytest.raises(NothingSharedError, match="share no query"):
        evaluate(QRELS, RUN, "AP", without={"nobody": ["d1"]})


def test_nothing_removed_is_warned_of_once() -> None:
    with pytest.warns(CranfieldWarning) as warning_records:
        evaluate(QRELS, RUN, "AP", without={"q1": ["D4"]})
    assert [str(warning.message) for warning in warning_records] == [
        "0 of 8 rows removed: 8 of 8 rows left. Are ids written in the same way?"
    ]


def test_a_stated_column_of_exclusions_needs_these() -> None:
    gold_columns: Any = {"excluded_ids": "gold_ids"}
    with pytest.raises(OptionError, match="names a column of without="):
        evaluate(BRIGHT, RUN, "AP", columns={"query_id": "id", **gold_columns})
    gold = [{"id": row["id"], "gold_ids": row["gold_ids"]} for row in BRIGHT]
    with pytest.raises(InputError, match="--columns query_id=id,excluded_ids=gold_ids"):
        evaluate(QRELS, RUN, "AP", without=gold)
    scores = evaluate(QRELS, RUN, "AP", without=BRIGHT, columns={"query_id": "id", **gold_columns})
    assert scores["AP"] == 0


def test_columns_of_one_name_reach_all_three() -> None:
    def name_columns(docs_of_query: Mapping[str, Mapping[str, float]], number: str) -> Any:
        return [
            {"member": query, "sku": doc, number: x}
            for query, docs in docs_of_query.items()
            for doc, x in docs.items()
        ]

    qrels, run = name_columns(QRELS, "relevance"), name_columns(RUN, "score")
    exclusions = name_columns({query: {docs[0]: 1} for query, docs in EXCLUSIONS.items()}, "stars")
    columns: Any = {"query_id": "member", "doc_id": "sku"}
    pairs: list[tuple[Any, Any]] = [(qrels, run), (Qrels(QRELS), Run(RUN))]
    for judgments, ranking in pairs:
        scores: Scores = evaluate(judgments, ranking, "AP", without=exclusions, columns=columns)
        assert scores["AP"] == sum(AP_OF_QUERY.values()) / 3
    scores = evaluate(qrels, run, "AP", without=EXCLUSIONS, columns=columns)  # which has no columns
    assert scores["AP"] == sum(AP_OF_QUERY.values()) / 3


# ---- a column of exclusions beside judgments -----------------------------------------------------


def find_excluded(qrels: Any, run: Any = RUN, **options: Any) -> list[Note]:
    """Return the notes on a column of exclusions that is not applied."""
    return [note for note in evaluate(qrels, run, "AP", **options).notes if note.code == "excluded"]


@pytest.mark.parametrize("name", ["excluded_ids", "seen_items", "history"])
def test_a_column_beside_judgments_is_named_and_not_applied(tmp_path: Path, name: str) -> None:
    rows = [
        {"id": row["id"], "gold_ids": row["gold_ids"], name: EXCLUSIONS[row["id"]]}
        for row in BRIGHT
    ]
    path = write_json(tmp_path, "gold.jsonl", rows)
    copies = [pickle.loads(pickle.dumps(qrels)) for qrels in (Qrels(rows), read_qrels(path))]  # noqa: S301
    for qrels in (rows, path, *copies):
        (note,) = find_excluded(qrels)
        assert (note.severity, note.queries, note.count) == ("info", 3, 3)
        assert f"column {name!r}" in note.text
        assert "without= (--without)" in note.text
    assert (
        evaluate(path, RUN, "AP").to_dict()
        == evaluate(
            {row["id"]: dict.fromkeys(row["gold_ids"], 1) for row in BRIGHT}, RUN, "AP"
        ).to_dict()
    )


def test_frames_and_tables_of_both_sides_are_named() -> None:
    rows = [
        {"id": query, "expected_ids": [*QRELS[query]], "retrieved_ids": [*RUN[query]], "seen": docs}
        for query, docs in EXCLUSIONS.items()
    ]
    tables: list[Any] = [rows]
    with_pandas = pytest.importorskip("pandas")
    tables.append(with_pandas.DataFrame(rows))
    for table in tables:
        (note,) = (note for note in evaluate(table, "AP").notes if note.code == "excluded")
        assert (note.queries, note.count) == (3, 3)


@pytest.mark.parametrize(
    "rows",
    [
        [{"id": "q1", "gold_ids": ["d1"], "excluded_ids": ["d77"]}],  # not retrieved
        [{"id": "q1", "gold_ids": ["d1"], "excluded_ids": []}],
        [{"id": "q1", "gold_ids": ["d1"], "excluded_ids": None}],
        [{"id": "q1", "item": "d4", "grade": 1, "seen": "d4"}],  # a flag of the document?
        [{"id": "q1", "gold_ids": ["d1"], "history": "He was born in d4, a village."}],
        [{"id": "q1", "gold_ids": ["d1"], "seen_ids": ["d4"], "history": ["d4"]}],  # two of them
        [{"id": "q1", "gold_ids": ["d1"], "excluded_ids": 3.5}],
    ],
)
def test_nothing_is_said_of_what_is_not_retrieved_or_no_exclusion(rows: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not find_excluded(rows)


def test_applied_exclusions_are_not_named(tmp_path: Path) -> None:
    path = write_json(tmp_path, "gold.jsonl", BRIGHT)
    columns: Mapping[str, Any] = {"qrels": {"query_id": "id"}}
    assert find_excluded(path, columns=columns)
    assert not find_excluded(path, columns=columns, without=path)
    excluded_columns = {"qrels": {"query_id": "id", "expected_ids": "excluded_ids"}}
    assert not find_excluded(path, columns=excluded_columns)


# ---- the command line ----------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv"])
def test_an_id_beside_a_text_is_the_query(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"seen.{suffix}"
    if suffix == "jsonl":
        write_json(tmp_path, path.name, BRIGHT)
    else:
        separator = "," if suffix == "csv" else "\t"
        cells = [[row["id"], row["query"], row["excluded_ids"][0]] for row in BRIGHT]
        lines = [["id", "query", "excluded_ids"], *cells]
        path.write_text("\n".join(map(separator.join, lines)))
    qrels, run = write_json(tmp_path, "qrels.json", QRELS), write_json(tmp_path, "run.json", RUN)
    invocation = invoke("evaluate", qrels, run, "-m", "AP", "--without", str(path))
    assert invocation.exit_code == 0, invocation.stderr
    assert REMOVAL_TEXT in invocation.stdout
    assert RELEVANT_TEXT in invocation.stdout
    assert "0.7500" in invocation.stdout  # (1 + 1/4 + 1) / 3
    users = [
        {"user": row["id"], "question": row["query"], "seen": row["excluded_ids"]} for row in BRIGHT
    ]
    assert evaluate(QRELS, RUN, "AP", without=users)["AP"] == sum(AP_OF_QUERY.values()) / 3


def test_several_files_are_left_out(tmp_path: Path) -> None:
    qrels, run = write_json(tmp_path, "qrels.json", QRELS), write_json(tmp_path, "run.json", RUN)
    parts = [
        write_json(tmp_path, f"{query}.json", {query: docs}) for query, docs in EXCLUSIONS.items()
    ]
    options = [word for path in parts for word in ("--without", path)]
    text = invoke("evaluate", qrels, run, "-m", "AP", *options).stdout
    assert "0.7500" in text
    assert "1 of 8 rows removed, in 1 query: 7 of 8 rows left." in text
    assert "1 of 7 rows removed, in 1 query: 6 of 7 rows left." in text


def test_chunks_are_documents_before_they_are_left_out(tmp_path: Path) -> None:
    chunks = {query: {f"{doc}#1": x for doc, x in docs.items()} for query, docs in RUN.items()}
    qrels, run = write_json(tmp_path, "qrels.json", QRELS), write_json(tmp_path, "run.json", chunks)
    exclusions = write_json(tmp_path, "seen.json", EXCLUSIONS)
    options = ("--map-docs-pattern", "(.*)#", "--without", exclusions)
    invocation = invoke("evaluate", qrels, run, "-m", "AP", *options)
    assert "0.7500" in invocation.stdout, invocation.stderr
    assert REMOVAL_TEXT in invocation.stdout


def test_it_is_no_option_of_scores_and_lists(tmp_path: Path) -> None:
    exclusions = write_json(tmp_path, "seen.json", EXCLUSIONS)
    for line in ("evaluate --grades 3,1", "compare --saved scores.json"):
        invocation = invoke(*line.split(), "--without", exclusions)
        assert invocation.exit_code == 2
        assert "--without" in invocation.stderr


def test_exclusions_of_a_query_may_be_a_series() -> None:
    qrels, run = {"q1": {"a": 1}}, {"q1": {"x": 0.75, "a": 0.5}}
    series: Any = {"q1": pd.Series(["x"])}
    assert evaluate(qrels, run, "RR", without=series)["RR"] == 1
    assert "0 of 2 rows removed" in str(evaluate(qrels, run, "RR", without={"q1": []}))
