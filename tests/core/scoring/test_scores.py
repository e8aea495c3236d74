"""Scores: what one can take out of them, and how they look."""

import math
import sys
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cranfield
from cranfield import AP, LibraryError, MeasureError, P, Run, Scores, Systems, evaluate, nDCG

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2}, "q3": {"c": 0}}
RUN = {"q1": {"a": 0.5, "b": 0.7}, "q2": {"a": 1.0}, "q9": {"a": 1.0}}


@pytest.fixture
def scores() -> Scores:
    return evaluate(QRELS, RUN, [AP, P @ 1, "NumRet"])


@pytest.fixture
def systems() -> Systems:
    return evaluate(
        QRELS, {"good": RUN, "<b>bad</b>\x1b[31m": {"q1": {"b": 1.0}}}, "AP NumRet Judged@1"
    )


def test_values_by_name_and_by_measure(scores: Scores) -> None:
    assert scores["AP"] == scores[AP] == scores["map"] == (1 / 2 + 1 / 1 + 0) / 3
    assert scores["num_ret"] == 2 + 1 + 0
    assert scores.means() == {"AP": (1 / 2 + 1) / 3, "P@1": 1 / 3, "NumRet": 3.0}
    assert scores.per_query(P @ 1) == {"q1": 0.0, "q2": 1.0, "q3": 0.0}
    assert scores.to_dict()["q1"] == {"AP": 0.5, "P@1": 0.0, "NumRet": 2.0}
    with pytest.raises(MeasureError, match=r"nDCG was not evaluated; these were: AP, P@1, NumRet"):
        scores[nDCG]


def test_frames(scores: Scores, systems: Systems) -> None:
    table = scores.to_arrow()
    assert isinstance(table, pa.Table)
    assert table.column_names == ["run", "query_id", "AP", "P@1", "NumRet"]
    assert table["AP"].to_pylist() == [0.5, 1.0, 0.0]
    frame = scores.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["AP"].tolist() == [0.5, 1.0, 0.0]
    assert frame["query_id"].tolist() == ["q1", "q2", "q3"]
    polars = systems.to_polars()
    assert isinstance(polars, pl.DataFrame)
    assert polars.shape == (6, 5)
    assert systems.to_pandas()["run"].tolist()[:3] == ["good"] * 3


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_installed_is_named(
    library: str, scores: Scores, systems: Systems, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)  # as if it were not installed
    for table in (scores, systems):
        with pytest.raises(LibraryError, match=rf"pip install {library}$"):
            getattr(table, f"to_{library}")()
    assert issubclass(LibraryError, ImportError), "what was caught before is caught still"


def test_the_recipe_says_how_it_was_made(scores: Scores) -> None:
    assert scores.recipe == {
        "cranfield": cranfield.__version__,
        "queries": "judged",
        "order": "score",
        "scores": "double",
        "ties": "document",
        "depth": None,
        "judged_only": False,
        "duplicates": "refuse",
        "identical_ids": "keep",
        "scores_above": None,
        "unretrieved": "leave-out",
        "overlap": 0.5,
        "qrels": "dict of dicts",
        "run": "dict of dicts",
    }


def test_a_text_has_a_value_for_each_query_only() -> None:
    runs = {"a": {"q": ["d", "x"]}, "b": {"q": ["x", "d"]}}
    systems = evaluate({"q": {"d": 2}}, runs, "RelString RR")
    scores = systems["b"]
    assert scores.per_query("RelString") == {"q": "-2"}
    assert scores.means() == {"RR": 1 / 2}
    with pytest.raises(MeasureError, match="a string for each query"):
        scores["RelString"]
    assert scores.to_dict() == {"q": {"RelString": "-2", "RR": 1 / 2}}
    assert systems.to_pandas()["RelString"].tolist() == ["2-", "-2"]
    assert systems.to_polars()["RR"].to_list() == [1.0, 1 / 2]
    assert [line.split() for line in str(systems).splitlines()[2:4]] == [
        ["a", "-", "1.0000"],
        ["b", "-", "0.5000"],
    ]
    assert "2-" in systems.to_text(per_query=True)


def test_systems_are_a_mapping_in_the_order_given(systems: Systems) -> None:
    assert list(systems) == ["good", "<b>bad</b>\x1b[31m"]
    assert systems["good"]["AP"] == (1 / 2 + 1) / 3
    assert [str(measure) for measure in systems.measures] == ["AP", "NumRet", "Judged@1"]


def test_runs_of_one_name_are_told_apart() -> None:
    systems = evaluate(QRELS, [Run(RUN), Run(RUN), Run(RUN, "run (2)")], "AP")
    assert list(systems) == ["run", "run (2)", "run (2) (2)"]


def test_several_runs_in_every_form(write: Any) -> None:
    path = write("bm25.run", "q1 Q0 a 1 1 t\n")
    for runs in ([path, RUN], (path, Run(RUN)), {"x": path, "y": path}, {"x": RUN, "y": RUN}):
        assert len(evaluate(QRELS, runs, "AP")) == 2
    assert list(evaluate(QRELS, [path, RUN], "AP")) == ["bm25", "run"]
    assert list(evaluate(QRELS, {"x": path, "y": Run(RUN, "z")}, "AP")) == ["x", "y"]
    frame = pd.DataFrame({"query_id": ["q1"], "doc_id": ["a"], "score": [1.0]})
    assert list(evaluate(QRELS, {"x": frame, "y": frame}, "AP")) == ["x", "y"]
    run = Run(RUN, "mine")
    assert list(evaluate(QRELS, {"x": run, "y": run}, "AP")) == ["x", "y"]
    assert run.name == "mine", "a run keeps its name"
    assert list(evaluate(QRELS, {"x": {"q1": ["a"]}}, "AP")) == ["x"]
    assert isinstance(evaluate(QRELS, {"q1": ["a"]}, "AP"), Scores)
    with pytest.raises(cranfield.InputError, match="no run is given"):
        evaluate(QRELS, [], "AP")


def test_a_table_for_people(systems: Systems) -> None:
    text = str(systems)
    assert "0.5000" in text
    assert "\x1b" not in text
    assert r"<b>bad</b>\x1b[31m" in text
    lines = text.splitlines()
    assert lines[0].split() == ["run", "AP", "NumRet", "Judged@1"]
    assert lines[2].split() == ["good", "0.5000", "3", "0.6667"]
    assert "3 queries averaged." in lines
    assert "good: 1 query without results: counted as retrieving nothing." in lines
    assert "good: 1 query of the run left out: not in the qrels." in lines
    assert any(line.startswith("1 query without a relevant document (no grade") for line in lines)
    assert "Options:" not in text


def test_unusual_options_are_said() -> None:
    assert "Options: depth=5, judged_only=True." in str(
        evaluate(QRELS, RUN, "AP", depth=5, judged_only=True)
    )


def test_html_for_a_notebook(systems: Systems) -> None:
    page = systems._repr_html_()
    assert "<b>bad" not in page
    assert "&lt;b&gt;bad&lt;/b&gt;\\x1b[31m" in page
    assert "<strong>0.5000</strong>" in page
    assert "<strong>3</strong>" not in page, "more documents are not better"
    assert evaluate(QRELS, RUN, "AP")._repr_html_().startswith("<table>")


def test_every_query_as_rows(systems: Systems) -> None:
    table = systems.tables(per_query=True)[0]
    assert table.header[:2] == ["run", "query_id"]
    assert table.rows[0] == ["good", "q1", "0.5000", "2", "1.0000"]
    assert table.rows[3][:3] == ["good", "all", "0.5000"]
    assert len(table.rows) == 2 * (3 + 1)


def test_reprs_are_short(scores: Scores, systems: Systems) -> None:
    assert repr(scores) == "Scores('run', 3 queries, AP: 0.5000, P@1: 0.3333, NumRet: 3.0000)"
    assert repr(systems) == r"Systems('good', '<b>bad</b>\x1b[31m')"


def test_one_query_and_exact_means() -> None:
    scores = evaluate({"q": {"a": 1}}, {"q": ["b", "c", "a"]}, "GMAP RR")
    assert scores["GMAP"] == math.exp(math.log(1 / 3))
    assert scores["RR"] == 1 / 3
