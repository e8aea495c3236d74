"""Verbs that read several collections or experiments take columns that only a later file has."""

from typing import Any

import pandas as pd
import pytest

from cranfield import compare_collections, correlate, reproduce, tune
from cranfield.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
QUERIES = [f"q{i}" for i in range(12)]
QRELS = pd.DataFrame({"query_id": QUERIES, "doc_id": "d0", "relevance": 1})


def make_run(seed: int, name: str = "score") -> pd.DataFrame:
    scores = [(7 * i + seed * i * i) % 11 for i in range(2 * len(QUERIES))]
    return pd.DataFrame(
        {"query_id": QUERIES * 2, "doc_id": ["d0"] * 12 + ["d1"] * 12, name: scores}
    )


RUNS = {"a": make_run(1), "b": make_run(2)}
OTHER_RUNS = {"a": make_run(3, "guess"), "b": make_run(4, "guess")}
CALLS: dict[str, Any] = {
    "tune": lambda columns: tune(QRELS, [RUNS["a"], OTHER_RUNS["b"]], columns=columns),
    "compare_collections": lambda columns: compare_collections(
        {"old": (QRELS, RUNS), "new": (QRELS, OTHER_RUNS)}, "AP", columns=columns
    ),
    "reproduce": lambda columns: reproduce(QRELS, RUNS, OTHER_RUNS, "AP", columns=columns),
}


@pytest.mark.parametrize("verb", ["tune", "compare_collections", "reproduce"])
def test_a_column_of_a_later_file_is_taken(verb: str) -> None:
    assert CALLS[verb]({"score": "guess"}).notes is not None


def test_tune_refuses_what_no_file_has_with_the_columns_of_all() -> None:
    with pytest.raises(InputError, match="no file has a column 'guss'") as caught:
        CALLS["tune"]({"score": "guss"})
    assert "the qrels: its columns are 'query_id', 'doc_id', 'relevance'" in str(caught.value)
    assert "'doc_id', 'score'" in str(caught.value)
    assert "'doc_id', 'guess'" in str(caught.value)
    excluded = pd.DataFrame({"query_id": ["q1"], "gone": [["d0"]]})
    runs = [RUNS["a"], OTHER_RUNS["b"]]
    columns = {"score": "guess", "excluded_ids": "gone"}
    without: Any = tune(QRELS, runs, columns=columns, without=excluded).run.to_dict()
    assert "d0" not in without["q1"]


@pytest.mark.parametrize("verb", ["compare_collections", "reproduce"])
def test_several_collections_refuse_what_none_has_with_the_columns_of_all(verb: str) -> None:
    with pytest.raises(InputError, match="relevance=stars: no file has a column 'stars'") as caught:
        CALLS[verb]({"score": "guess", "relevance": "stars"})
    assert "'doc_id', 'guess'" in str(caught.value)


def test_an_ordering_of_each_judgments_takes_a_column_of_the_last(tmp_path: Any) -> None:
    QRELS.to_csv(tmp_path / "old.csv", index=False)
    QRELS.rename(columns={"relevance": "stars"}).to_csv(tmp_path / "new.csv", index=False)
    files = {name: tmp_path / f"{name}.csv" for name in ("old", "new")}
    correlation: Any = correlate(files, RUNS, "AP", columns={"relevance": "stars"})
    assert "old" in str(correlation)
    with pytest.raises(InputError, match="no file has a column 'starz'"):
        correlate(
            {"old": files["old"], "again": files["old"]}, RUNS, columns={"relevance": "starz"}
        )
