"""Explanations of many queries of one run: the same as for each alone, and cheap."""

import cProfile
from typing import Any

import pytest
from helpers.folders import DEMO_QRELS, DEMO_RUNS
from helpers.profile import sample_cases

from cranfield import InputError, Run, explain, parse, read_qrels, read_run
from cranfield.data.judging import Judging
from cranfield.explanation.explain import explain_queries

QRELS = read_qrels(DEMO_QRELS)
RUNS = [read_run(path) for path in DEMO_RUNS]


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "RR(rel=2)", "ERR@20", "bpref", "Judged@5"])
def test_each_is_what_explain_says(measure: str) -> None:
    run, queries = RUNS[1], sample_cases(QRELS.query_ids)
    every = [*explain_queries(QRELS, run, parse(measure), queries, Judging())]
    assert [one.query for one in every] == [*queries]
    for one in every:
        alone = explain(QRELS, run, measure, one.query)
        assert str(one) == str(alone)
        assert one.to_json() == alone.to_json()


@pytest.mark.parametrize(
    "options",
    [
        {"depth": 7},
        {"judged_only": True},
        {"ties": "expected"},
        {"ties": "worst"},
        {"unretrieved": "below"},
        {"order": "given"},
        {"scores": "single", "ties": "ascending"},
    ],
)
def test_each_is_judged_as_explain_judges(options: dict[str, Any]) -> None:
    queries = QRELS.query_ids[::7]
    every = explain_queries(QRELS, RUNS[2], parse("nDCG@5"), queries, Judging.of(options))
    alone = [explain(QRELS, RUNS[2], "nDCG@5", query, **options) for query in queries]
    assert list(map(str, every)) == list(map(str, alone))


def test_rows_that_are_left_out_and_queries_that_come_back() -> None:
    rows = [
        ("q01", "csv", 3.0),
        ("q02", "json", 2.0),
        ("q01", "json", float("nan")),
        ("q01", "io", 1.0),
        ("none", "io", 1.0),
    ]
    run, queries = Run(rows, "x", errors="skip"), ["q02", "q01", "q03"]
    measure = parse("P@3")
    every = [*explain_queries(QRELS, run, measure, queries, Judging())]
    for query, one in zip(queries, every, strict=True):
        alone = explain(QRELS, run, measure, query, errors="skip")
        assert (one.query, str(one)) == (query, str(alone))
    assert [doc.document for doc in every[1].retrieved] == ["csv", "io"]
    assert every[2].retrieved == []


def test_a_run_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    n_read, read_columns = [], Run.read_columns

    def counted(self: Run, wanted: Any) -> Any:
        n_read.append(bool(self.sources))
        return read_columns(self, wanted)

    monkeypatch.setattr(Run, "read_columns", counted)
    every = explain_queries(QRELS, RUNS[0], parse("AP"), QRELS.query_ids, Judging())
    assert len([*every]) == 40
    assert n_read.count(True) == 1


def test_a_query_that_is_not_judged_is_named() -> None:
    with pytest.raises(InputError, match="no query 'q99'"):
        next(explain_queries(QRELS, RUNS[0], parse("AP"), ["q01", "q99"], Judging()))


def test_a_profiler_goes_on_after_an_explanation() -> None:
    alone = str(explain(QRELS, RUNS[0], "nDCG@10", "q01"))
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        found = str(explain(QRELS, RUNS[0], "nDCG@10", "q01"))
        sorted([1])
    finally:
        profiler.disable()
    assert found == alone
    seen = {getattr(one.code, "co_name", one.code) for one in profiler.getstats()}
    assert "__str__" in seen  # which comes after the measure was followed
    assert "<built-in method builtins.sorted>" in seen


# ---- what is not tried ---------------------------------------------------------------------------
