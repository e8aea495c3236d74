"""Queries that have their places as names are listed as one counts; sums stay as they were."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from helpers.commands import run_command

from cranfield import QueryDifferences, Scores, evaluate, explain, grades

N_QUERIES = 12
ORDER = [str(i) for i in range(1, N_QUERIES + 1)]
LABELS = np.array([[1 + i % 2, 0, 1] for i in range(N_QUERIES)])
NUMBERS = np.array([[0.1 * (i % 3), 0.15, 0.05] for i in range(N_QUERIES)])
TRUTHS = [[i] for i in range(N_QUERIES)]
LISTS = [[i, 99] if i % 2 == 0 else [99, i] for i in range(N_QUERIES)]
FORMS: dict[str, tuple[Any, ...]] = {
    "lists of ids": (TRUTHS, LISTS),
    "arrays": (LABELS, NUMBERS),
    "grades": grades([[1, 0]] * N_QUERIES),
    "groups": grades(LABELS.ravel(), scores=NUMBERS.ravel(), groups=[3] * N_QUERIES),
}


@pytest.mark.parametrize("form", FORMS)
def test_queries_named_by_place_are_listed_as_one_counts(form: str) -> None:
    qrels, run = FORMS[form]
    scores = evaluate(qrels, run, "RR AP")
    assert isinstance(scores, Scores)
    assert [*scores.per_query("RR")] == ORDER
    assert [*scores.to_dict()] == ORDER
    rows = scores.rows(per_query=True)
    assert [row["query_id"] for row in rows if row["measure"] == "AP"] == [*ORDER, "all"]
    document = scores.to_json(per_query=True)
    assert document.index('"2"') < document.index('"10"')


def test_values_stay_with_their_queries_and_sums_keep_their_order() -> None:
    scores = evaluate(TRUTHS, LISTS, "RR")
    values = scores.per_query("RR")
    assert values == {str(i + 1): 1 / (1 + i % 2) for i in range(N_QUERIES)}
    assert scores.query_ids == sorted(ORDER)
    by_id = evaluate(dict(enumerate(TRUTHS, 1)), dict(enumerate(LISTS, 1)), "RR")
    assert isinstance(by_id, Scores)
    assert scores["RR"] == by_id["RR"] == sum(values[query] for query in sorted(ORDER)) / N_QUERIES


def test_rows_of_a_sparse_matrix_are_counted_from_0_and_may_be_empty() -> None:
    labels = LABELS.copy()
    labels[3] = 0
    scores = evaluate(scipy.sparse.csr_array(labels), scipy.sparse.csr_array(NUMBERS), "RR")
    assert [*scores.per_query("RR")] == [str(i) for i in range(N_QUERIES) if i != 3]


@pytest.mark.parametrize("ids", [["7", "10", "9"], ["q2", "q10"], ["02", "1", "10"]])
def test_other_ids_keep_the_order_of_their_bytes(ids: list[str]) -> None:
    judged = {query: {"d": 1} for query in ids}
    assert [*evaluate(judged, judged, "RR").per_query("RR")] == sorted(ids)


def test_differences_are_listed_as_one_counts() -> None:
    truths, worse = [["d"]] * N_QUERIES, [["x", "d"]] * N_QUERIES
    differences = explain(truths, {"A": truths, "B": worse}, "RR")
    assert isinstance(differences, QueryDifferences)
    assert [difference.query_id for difference in differences.queries] == ORDER


def test_rows_of_a_command_are_listed_as_one_counts(tmp_path: Path) -> None:
    for name, lists in (("truths.json", TRUTHS), ("lists.json", LISTS)):
        (tmp_path / name).write_text(json.dumps(lists))
    words = ["evaluate", "truths.json", "lists.json", "-m", "RR", "-q", "--format", "csv"]
    rows = run_command(*words, cwd=tmp_path).stdout.splitlines()
    assert [row.split(",")[2] for row in rows[1:]] == [*ORDER, "all"]
