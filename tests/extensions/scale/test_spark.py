"""cranfield.spark against one machine, in a local session and through Spark Connect.

Each session is started here, on loopback, and stopped here. It needs pyspark and Java.
"""

import os
import random
import re
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.folders import DOCS, ROOT
from helpers.profile import is_full, sample_cases

from cranfield import CranfieldWarning, InputError, MeasureError, OptionError, Qrels, evaluate
from cranfield.errors import NothingSharedError

pytestmark = [
    pytest.mark.more,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Failed to set spark:UserWarning"),  # of a running server
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.xdist_group("spark"),
]

CHANCE = random.Random(20261125)
NAMES = "nDCG@5 AP GMAP ERR NumRet RR"
JUDGED = {
    f"{i}": {f"d{doc}": CHANCE.randint(0, 3) for doc in CHANCE.sample(range(40), 6)}
    for i in range(100, 160)
}
RUNS = {
    name: {
        f"{i}": {f"d{doc}": CHANCE.randint(0, 6) / 4 for doc in CHANCE.sample(range(40), 10)}
        for i in range(begin, 170)
    }
    for name, begin in (("new", 110), ("old", 100))
}
COUNTRY = {query: "abc"[int(query) % 3] for query in JUDGED}


# Connect alone in the quick profile: each starts a machine of its own.
@pytest.fixture(scope="module", params=["classic", "connect"] if is_full() else ["connect"])
def session(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Any]:
    """Start Spark, as a process of this one or behind Spark Connect; end it afterwards."""
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("there is no Java: apt-get install openjdk-17-jre-headless")
    before = dict(os.environ)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    paths = [str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    builder = sql.SparkSession.builder
    connect = request.param == "connect"
    if connect:
        os.environ["SPARK_TESTING"] = (
            "1"  # a free port, as another process may run these tests, too
        )
    builder = builder.remote("local[2]") if connect else builder.master("local[2]")
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
        os.environ.clear()
        os.environ.update(before)


def judgments(session: Any, kind: str = "string") -> Any:
    rows = [
        (query if kind == "string" else int(query), doc, grade, COUNTRY[query])
        for query, docs in JUDGED.items()
        for doc, grade in docs.items()
    ]
    return session.createDataFrame(
        rows, f"query_id {kind}, doc_id string, relevance int, country string"
    )


def runs(session: Any, kind: str = "string", only: str | None = None) -> Any:
    rows = [
        (name, query if kind == "string" else int(query), doc, score)
        for name, run in RUNS.items()
        for query, docs in run.items()
        for doc, score in docs.items()
    ]
    CHANCE.shuffle(rows)
    frame = session.createDataFrame(
        rows, f"system string, query_id {kind}, doc_id string, score double"
    )
    return frame if only is None else frame.where(f"system = '{only}'").drop("system")


@pytest.fixture(scope="module")
def score_table(session: Any, tmp_path_factory: Any) -> Any:
    """Return the scores of both systems, written to a table and read again."""
    from cranfield import spark

    path = str(tmp_path_factory.mktemp("scores") / "scores.parquet")
    scores = spark.evaluate(
        judgments(session), runs(session), NAMES, by="system", keep=["country"], buckets=5
    )
    scores.write.parquet(path)
    return session.read.parquet(path)


@pytest.fixture(scope="module")
def expected() -> Any:
    return evaluate(Qrels(JUDGED, top_grade=3), RUNS, NAMES)


def check(rows: list[Any], expected: Any) -> None:
    row_of_pair = {(row["system"], row["query_id"]): row for row in rows}
    assert (
        len(row_of_pair)
        == len(rows)
        == sum(len(system_scores.query_ids) for system_scores in expected.values())
    )
    for name, scores in expected.items():
        for query, values in scores.to_dict().items():
            assert {column: row_of_pair[name, query][column] for column in values} == values
            assert row_of_pair[name, query]["answered"] == (query in RUNS[name])


def test_each_query_has_its_bits(score_table: Any, expected: Any) -> None:
    rows = score_table.collect()
    check(rows, expected)
    assert all(row["country"] == COUNTRY[row["query_id"]] for row in rows)


@pytest.mark.parametrize("buckets", sample_cases([1, 7, None]))
def test_neither_buckets_nor_partitions_nor_kinds_of_ids_matter(
    session: Any, expected: Any, buckets: int | None
) -> None:
    from cranfield import spark

    kinds = {1: ("string", "int"), 7: ("int", "bigint"), None: ("string", "string")}[buckets]
    scores = spark.evaluate(
        judgments(session, kinds[0]).repartition(buckets or 3),
        runs(session, kinds[1]).repartition(4),
        NAMES,
        by="system",
        systems=["new", "old"],
        top_grade=3,
        buckets=buckets,
    )
    check(scores.collect(), expected)


def test_without_a_cogroup_the_scores_are_the_same(
    session: Any, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark 3.5 has no applyInArrow on two sides."""
    from cranfield import spark
    from cranfield.extensions.scale import spark as engine

    monkeypatch.setattr(engine, "_accepts_arrow", lambda _: False)
    scores = spark.evaluate(
        judgments(session), runs(session), NAMES, by="system", keep="country", buckets=4
    )
    rows = scores.collect()
    check(rows, expected)
    assert all(row["country"] == COUNTRY[row["query_id"]] for row in rows)


@pytest.mark.parametrize("partitions", [1, 3, 37])
def test_means_are_exact_for_any_partitions(
    score_table: Any, expected: Any, partitions: int
) -> None:
    from cranfield import spark

    rows = spark.summarize(score_table.repartition(partitions)).collect()
    assert len(rows) == 2 * len(NAMES.split())
    for row in rows:
        assert row["value"] == expected[row["system"]].means(exact=True)[row["measure"]]
        assert (row["queries"], row["answered"]) == (60, 50 if row["system"] == "new" else 60)


def test_slices_are_those_of_the_judged_queries(score_table: Any) -> None:
    from cranfield import spark

    slice_scores = evaluate(Qrels(JUDGED, top_grade=3), RUNS, NAMES, slices=COUNTRY)
    rows = spark.summarize(score_table, by=["system", "country"], measures="RR").collect()
    assert len(rows) == 2 * 3
    for row in rows:
        scores = slice_scores[row["system"]].slice(row["country"])
        assert row["value"] == scores.means(exact=True)["RR"]
        assert row["queries"] == len(scores.query_ids)
    (row,) = spark.summarize(score_table.where("system = 'new'"), by=(), measures="AP").collect()
    assert row["value"] == slice_scores["new"].means(exact=True)["AP"]


def test_a_comparison_is_that_of_the_t_test(score_table: Any, expected: Any) -> None:
    from cranfield import compare, spark

    rows = spark.compare(score_table, "old", relative=True).collect()
    row_of_measure = {row["measure"]: row for row in rows}
    of_one = compare(expected, baseline="old", test="t", correction="none")
    for name in ("nDCG@5", "AP", "RR"):
        pair, row = of_one[name]["new"], row_of_measure[name]
        assert row["system"] == "new"
        numbers = (pair.difference, pair.low, pair.high, pair.p)
        ours = (row["difference"], row["low"], row["high"], row["p"])
        assert ours == pytest.approx(numbers, rel=1e-9)
        assert (row["better"], row["same"]) == (pair.wins, pair.ties)
        assert row["relative_low"] < row["relative"] < row["relative_high"]
    rows = spark.compare(score_table, "old", by="country", measures="AP").collect()
    assert sorted(row["country"] for row in rows) == ["a", "b", "c"]


def test_several_rows_of_a_query_are_refused_by_a_comparison(score_table: Any) -> None:
    from cranfield import spark

    for system, system_text in (("old", "the baseline"), ("new", "'new'")):
        twice = score_table.unionByName(
            score_table.where(f"system = '{system}' AND query_id = '117'")
        )
        with pytest.raises(Exception, match=f"query '117' has 2 rows of scores of {system_text}"):
            spark.compare(twice, "old").collect()


def test_a_run_alone_and_a_side_without_rows(session: Any) -> None:
    from cranfield import spark

    alone = runs(session, only="new")
    scores = spark.evaluate(judgments(session), alone, "RR", buckets=3)
    assert scores.columns == ["query_id", "answered", "RR"]
    assert {row["query_id"]: row["RR"] for row in scores.collect()} == evaluate(
        JUDGED, RUNS["new"], "RR"
    ).per_query("RR")
    empty_scores = spark.evaluate(judgments(session), alone.where("1 = 0"), "RR", buckets=3)
    (row,) = spark.summarize(empty_scores).collect()
    assert (row["value"], row["queries"], row["answered"]) == (0.0, 60, 0)
    with pytest.raises(InputError, match="the qrels: hold no judgment"):
        spark.evaluate(judgments(session).where("1 = 0"), alone, "RR")


def test_arrays_are_scored_without_a_shuffle(session: Any) -> None:
    from cranfield import spark

    rows = [
        (query, list(docs), [(doc, float(-i)) for i, doc in enumerate(RUNS["new"].get(query, {}))])
        for query, docs in JUDGED.items()
    ]
    kinds = (
        "user string, relevant_items array<string>, "
        "recommendations array<struct<item: string, rating: double>>"
    )
    array_scores = spark.evaluate(session.createDataFrame(rows, kinds), "R@5 RR")
    lists = {query: list(RUNS["new"].get(query, {})) for query in JUDGED}
    sets = {query: set(docs) for query, docs in JUDGED.items()}
    expected = evaluate(sets, lists, "R@5 RR").to_dict()
    for row in array_scores.collect():
        assert {name: row[name] for name in ("R@5", "RR")} == expected[row["query_id"]]
    one_side = session.createDataFrame(rows, kinds).select("user", "recommendations")
    two_scores = spark.evaluate(
        judgments(session).withColumnRenamed("query_id", "user"), one_side, "RR", buckets=2
    )
    expected = evaluate(JUDGED, lists, "RR").to_dict()
    for row in two_scores.collect():
        assert row["RR"] == expected[row["query_id"]]["RR"]


def test_own_measures_are_sent_or_refused(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    from cranfield import parse, spark

    sys.modules.pop("helpers.own_measure", None)
    own_measure = importlib.import_module("helpers.own_measure")  # for this test alone

    scores = spark.evaluate(judgments(session), runs(session, only="new"), "OwnFirst", buckets=2)
    expected = evaluate(JUDGED, RUNS["new"], "OwnFirst").per_query("OwnFirst")
    assert {row["query_id"]: row["OwnFirst"] for row in scores.collect()} == expected
    monkeypatch.setattr(own_measure.own_first, "__module__", "__main__")
    assert parse("OwnFirst").definition.module == "__main__"
    with pytest.raises(MeasureError, match="declared in the program itself"):
        spark.evaluate(judgments(session), runs(session, only="new"), "OwnFirst")


def test_what_is_wrong_is_refused_where_it_is_called(
    session: Any, score_table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cranfield import spark

    judged, ranked = judgments(session), runs(session)
    wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (InputError, "has no column 'who'", {"by": "who"}),
        (InputError, "has no column 'land'", {"keep": "land"}),
        (OptionError, "Spark keeps no order of rows", {"order": "given"}),
        (OptionError, "choose one of 'plain', 'safe'", {"names": "nice"}),
        (TypeError, "tie", {"tie": "best"}),
    ]
    for kind, message, options in wrong:
        with pytest.raises(kind, match=message):
            spark.evaluate(judged, ranked, "RR", **options)
    with pytest.raises(InputError, match="has no column 'relevance'"):
        spark.evaluate(judged.withColumnRenamed("relevance", "stars"), ranked, "RR")
    with pytest.raises(InputError, match="has no column 'system'"):
        spark.evaluate(judged, "RR", by="system")
    with pytest.raises(InputError, match="have no column 'land'"):
        spark.summarize(score_table, by="land")
    with pytest.raises(MeasureError, match="no scores of P@5"):
        spark.summarize(score_table, measures="P@5")
    with pytest.raises(OptionError, match="cluster goes with relative"):
        spark.compare(score_table, "old", cluster="country")
    with pytest.raises(InputError, match="no scores of the baseline 'odl'"):
        spark.compare(score_table, "odl")
    unnamed_run = ranked.selectExpr("CAST(NULL AS string) AS system", "query_id", "doc_id", "score")
    with pytest.raises(InputError, match="rows without a system"):
        spark.evaluate(judged, ranked.unionByName(unnamed_run), "RR", by="system")
    with pytest.raises(InputError, match="has no system in system"):
        spark.evaluate(judged, ranked.where("1 = 0"), "RR", by="system")
    lists = judged.selectExpr("query_id", "doc_id", "relevance", "array(doc_id) AS words")
    with pytest.raises(OptionError, match=r"column 'words' holds an array<string>"):
        spark.evaluate(lists, ranked, "RR", by="system", keep="words")
    with monkeypatch.context() as context:
        context.setattr("cranfield.extensions.scale.tasks._safe_name", lambda _: "same")
        with pytest.raises(OptionError, match="RR and AP would both be column 'same'"):
            spark.evaluate(judged, ranked, "RR AP", by="system", names="safe")
    plain = score_table.select("query_id", "RR")
    with pytest.raises(OptionError, match="state it, system="):
        spark.compare(plain, "old")


STRANGERS = {
    "another query": ("x1", "d1", "share no query: the run has for instance 'x1', the qrels '7'"),
    "capitals of a query": ("Q1", "d1", "the run has for instance 'Q1', the qrels 'q1'"),
    "zeros of a query": ("007", "d1", "the run has for instance '007', the qrels '7'"),
    "capitals of a document": ("q1", "D1", "for query 'q1' the run has 'D1', the qrels 'd1'"),
}


@pytest.mark.parametrize("case", STRANGERS)
def test_ids_that_match_nothing_are_the_error_that_they_are_in_memory(
    session: Any, case: str
) -> None:
    from cranfield import spark

    query, doc, message = STRANGERS[case]
    judged = [("q1", "d1", 1), ("7", "d1", 1)]
    ranked = [("a", "q1", "d1", 0.5), ("b", query, doc, 0.5)]
    with pytest.raises(NothingSharedError, match=message) as in_memory:
        evaluate({query: {doc: grade} for query, doc, grade in judged}, {query: {doc: 0.5}}, "RR")
    qrels = session.createDataFrame(judged, "query_id string, doc_id string, relevance int")
    kinds = "system string, query_id string, doc_id string, score double"
    run = session.createDataFrame(ranked, kinds)
    with pytest.raises(NothingSharedError) as caught:
        spark.evaluate(qrels, run, "RR", by="system")  # of system b
    assert str(caught.value) == str(in_memory.value).replace("'run'", "'b'")
    assert spark.evaluate(qrels, run.where("system = 'a'"), "RR", by="system").count() == 2


def test_documents_that_match_but_for_a_suffix_are_warned_of(session: Any) -> None:
    from cranfield import spark

    rows = [("q1", f"d{i}", i) for i in range(5)]
    judged = session.createDataFrame(rows, "query_id string, doc_id string, relevance int")
    ranked = judged.selectExpr("query_id", "doc_id || '.md' AS doc_id", "0.5D AS score")
    with pytest.warns(CranfieldWarning, match=r"ids match except for '\.md' behind those of the"):
        spark.evaluate(judged, ranked, "RR")
    strange = judged.selectExpr("query_id", "'x' || doc_id || 'y' AS doc_id", "0.5D AS score")
    with pytest.warns(CranfieldWarning, match="not one judged document was retrieved"):
        spark.evaluate(judged, strange.where("doc_id = 'xd1y'"), "RR")


def test_unmatched_queries_and_skipped_rows_are_counted_in_the_result(session: Any) -> None:
    from cranfield import spark

    grade = "IF(doc_id = 'd3', NULL, relevance) AS relevance"
    judged = judgments(session).selectExpr("query_id", "doc_id", grade)
    score = "IF(doc_id = 'd5', double('NaN'), score) AS score"
    ranked = runs(session).selectExpr("system", "query_id", "doc_id", score)
    n_judged = sum("d3" in docs for docs in JUDGED.values())
    scores = spark.evaluate(judged, ranked, "RR", by="system", errors="skip", buckets=3)
    rows = {row["system"]: row for row in spark.summarize(scores).collect()}
    for name, run in RUNS.items():
        n_left_out = n_judged + sum("d5" in docs for docs in run.values())
        assert rows[name]["left_out"] == n_left_out
        assert rows[name]["unjudged"] == len(run.keys() - JUDGED.keys()) == 10
    (row,) = spark.summarize(scores, by=()).collect()
    assert row["unjudged"] == 20
    (unknown,) = spark.summarize(scores.select("query_id", "RR"), by=()).collect()
    assert (unknown["unjudged"], unknown["left_out"]) == (None, None)


COLUMNS = ("query_id", "doc_id", "score")
WRONG_KINDS = {
    "CAST(query_id AS double)": ("query_id", "column 'query_id' holds double", '.cast("long")'),
    "CAST(7 AS decimal(10,2))": ("query_id", "holds decimal\\(10,2\\)", '.cast("long")'),
    "current_date()": ("doc_id", "column 'doc_id' holds date", '.cast("string")'),
    "CAST(score AS string)": ("score", "column 'score' holds string", '.cast("double")'),
}


@pytest.mark.parametrize("expression", WRONG_KINDS)
def test_types_are_checked_at_the_call_with_the_remedy_of_spark(
    session: Any, expression: str
) -> None:
    from cranfield import spark

    name, message, remedy = WRONG_KINDS[expression]
    names = [column if column != name else f"{expression} AS {name}" for column in COLUMNS]
    ranked = runs(session, only="new").selectExpr(*names)
    with pytest.raises(InputError, match=message) as caught:
        spark.evaluate(judgments(session), ranked, "RR")
    assert remedy in str(caught.value)
    assert "astype" not in str(caught.value)


def test_types_and_columns_of_arrays_are_checked_at_the_call(session: Any) -> None:
    from cranfield import spark

    table = session.sql(
        "SELECT 1 AS user, array(float(1), float(2)) AS shown, array(float(1)) AS wanted"
    )
    columns = {"query_id": "user", "retrieved_ids": "shown", "expected_ids": "wanted"}
    with pytest.raises(InputError, match=r'array<float>(?s:.)*\.cast\("array<long>"\)'):
        spark.evaluate(table, "RR", columns=columns)
    long = table.selectExpr("user", "CAST(shown AS array<long>)", "CAST(wanted AS array<long>)")
    with pytest.raises(InputError, match="has no column 'shown'"):
        spark.evaluate(long.drop("shown"), "RR", columns=columns)
    assert spark.evaluate(long, "RR", columns=columns).collect()[0]["RR"] == 1
    ids = session.sql("SELECT CAST(7 AS decimal(38, 0)) AS user, 1 AS item, 1 AS relevance")
    run = session.sql("SELECT '7' AS user, 1 AS item, 0.5D AS score")
    assert spark.evaluate(ids, run, "RR").collect()[0]["RR"] == 1


NAMES_OF_RANKING_EVALUATOR = {
    "whole numbers": "array(3L, 9L, 7L) AS prediction, array(3L) AS label",
    "texts": "array('3', '9', '7') AS prediction, array('3') AS label",
    "doubles": "array(3D, 9D, 7D) AS prediction, array(3D) AS label",  # as its users hold them
}


@pytest.mark.parametrize("case", NAMES_OF_RANKING_EVALUATOR)
@pytest.mark.parametrize("is_stated", [False, True])
def test_prediction_and_label_with_arrays_are_lists_of_ids(
    session: Any, case: str, is_stated: bool
) -> None:
    from cranfield import spark

    columns = {"query_id": "user", "expected_ids": "label", "retrieved_ids": "prediction"}
    table = session.sql(f"SELECT 1 AS user, {NAMES_OF_RANKING_EVALUATOR[case]}")
    scores = spark.evaluate(table, "RR", columns=columns if is_stated else None)
    assert scores.collect()[0]["RR"] == 1  # 3 is first


def test_of_arrays_one_job_looks_for_what_is_shared(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cranfield import spark

    table = session.sql("SELECT 1 AS user, array(3D, 9D) AS prediction, array(3D) AS label")
    jobs: list[str] = []
    for name in ("isEmpty", "count"):
        method = getattr(type(table), name)

        def start(frame: Any, name: str = name, method: Any = method) -> Any:
            jobs.append(name)
            return method(frame)

        monkeypatch.setattr(type(table), name, start)
    columns = {"query_id": "user", "expected_ids": "label", "retrieved_ids": "prediction"}
    scores = spark.evaluate(table, "RR", columns=columns)
    assert jobs == ["isEmpty"]
    (row,) = spark.summarize(scores).collect()
    assert (row["value"], row["unjudged"], row["left_out"]) == (1, 0, 0)


@pytest.mark.parametrize("kind", ["double", "bigint"])
def test_a_row_without_a_user_is_a_query(session: Any, kind: str) -> None:
    from cranfield import spark

    rows = [([3.0, 9.0], [9.0, 3.0], "a"), ([4.0], [7.0], "b"), ([5.0], [5.0], "c")]
    names = "wanted array<double>, shown array<double>, country string"
    table = session.createDataFrame(rows, names).repartition(2)
    table = table.selectExpr(
        f"CAST(wanted AS array<{kind}>) AS label",
        f"CAST(shown AS array<{kind}>) AS prediction",
        "country",
    )
    scores = spark.evaluate(table, "RR", keep="country").collect()
    assert {row["country"]: row["RR"] for row in scores} == {"a": 1, "b": 0, "c": 1}
    assert len({row["query_id"] for row in scores}) == 3


def test_one_table_with_a_row_for_each_document_is_refused_at_the_call(session: Any) -> None:
    from cranfield import spark

    with pytest.raises(InputError, match="are two DataFrames"):
        spark.evaluate(judgments(session).selectExpr("*", "0.5D AS score"), "RR")


def test_a_column_of_systems_is_stated_or_found(session: Any) -> None:
    from cranfield import spark

    expected = {
        name: evaluate(Qrels(JUDGED), run, "RR").per_query("RR") for name, run in RUNS.items()
    }
    statements: list[dict[str, Any]] = [
        {"by": "system"},
        {"columns": {"system": "system"}},
        {},
    ]
    for options in statements:
        rows = spark.evaluate(judgments(session), runs(session), "RR", **options).collect()
        scores: dict[str, dict[str, float]] = {name: {} for name in RUNS}
        for row in rows:
            scores[row["system"]][row["query_id"]] = row["RR"]
        assert scores == expected


def test_a_table_of_arrays_has_systems(session: Any) -> None:
    from cranfield import spark

    rows = [("q", "a", ["d"], ["d"]), ("q", "b", ["x", "d"], ["d"])]
    kinds = "user string, model string, retrieved_ids array<string>, expected_ids array<string>"
    table = session.createDataFrame(rows, kinds)
    for options in ({}, {"by": "model"}, {"columns": {"system": "model"}}):
        scores = spark.evaluate(table, "RR", **options).collect()
        assert {(row["model"], row["query_id"]): row["RR"] for row in scores} == {
            ("a", "q"): 1,
            ("b", "q"): 1 / 2,
        }
    assert spark.evaluate(table.where("model = 'a'"), "RR").collect()[0]["RR"] == 1
    for other in [("q", "b", ["x"], ["x"])], [("q", "b", ["x"], ["d"]), ("p", "b", ["x"], ["d"])]:
        with pytest.raises(InputError, match="judgments of the systems in column 'model' differ"):
            spark.evaluate(session.createDataFrame([rows[0], *other], kinds), "RR")


def test_what_is_no_dataframe_is_refused(session: Any) -> None:
    from cranfield import spark

    tables: list[tuple[Any, Any]] = [(JUDGED, JUDGED), ([1], [1]), (judgments(session), JUDGED)]
    for qrels, run in tables:
        with pytest.raises(InputError, match="Spark DataFrames are needed"):
            spark.evaluate(qrels, run)


def test_what_is_wrong_with_rows_ends_the_job_in_words(session: Any) -> None:
    from cranfield import spark

    ranked = runs(session, only="new")
    twice = spark.evaluate(judgments(session), ranked.unionByName(ranked), "RR", buckets=2)
    with pytest.raises(Exception, match=r"DuplicateError: .*document 'd\d+'"):
        twice.collect()
    scores_of_valid_rows = spark.evaluate(
        judgments(session), ranked.unionByName(ranked), "RR", buckets=2, duplicates="first"
    )
    assert scores_of_valid_rows.count() == 60
    null = ranked.selectExpr("query_id", "doc_id", "IF(query_id = '120', NULL, score) AS score")
    with pytest.raises(Exception, match=r"InputError: .*score.*query '120', document 'd\d+'"):
        spark.evaluate(judgments(session), null, "RR", buckets=2).collect()
    skipped_rows = spark.evaluate(
        judgments(session), null, "RR", buckets=2, errors="skip"
    ).collect()
    assert {row["query_id"] for row in skipped_rows if not row["answered"]} == {
        *(query for query in JUDGED if query not in RUNS["new"]),
        "120",
    }


def test_the_page_runs(session: Any, capsys: pytest.CaptureFixture[str]) -> None:
    page = (DOCS / "background" / "scale.md").read_text("utf-8")
    (block,) = (
        block_text
        for block_text in re.findall(r"```python\n(.*?)```", page, re.S)
        if "ranking." in block_text
    )
    session.sql("CREATE DATABASE IF NOT EXISTS lake")
    for name in ("judgments", "recommendations", "scores"):
        session.sql(f"DROP TABLE IF EXISTS lake.{name}")
    judgments(session).write.saveAsTable("lake.judgments")
    ranked = runs(session).selectExpr(
        "IF(system = 'old', 'bm25', system) AS system", "query_id", "doc_id", "score"
    )
    ranked.write.saveAsTable("lake.recommendations")
    exec(compile(block, "scale.md", "exec"), {"spark": session})  # noqa: S102 - it is the page's
    output = capsys.readouterr().out
    assert "std_error" in output
    assert "baseline_mean" in output


def test_what_judges_gave_is_not_read_and_said(session: Any) -> None:
    from cranfield import spark

    judged = judgments(session).selectExpr("*", "'gpt-x' AS judge_model")
    with pytest.warns(CranfieldWarning, match="which judgments are a model's: not read judge_mod"):
        scores = spark.evaluate(judged, runs(session, only="new"), "P@5", buckets=1)
    assert scores.where("answered").count() == len(RUNS["new"].keys() & JUDGED.keys())
