"""What the tasks of an engine do, without an engine: each query's bits, and exact totals."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import cranfield.extensions.scale.tasks as tasks
from cranfield import InputError, Qrels, definitions, evaluate, parse
from cranfield.arrays import threads
from cranfield.data.judging import Judging
from cranfield.extensions.scale.group_sums import (
    BASELINE_PREFIX,
    ROW_COUNT,
    ScoreColumn,
    list_differences,
    list_means,
    merge_sums,
    sum_pairs,
    sum_scores,
)
from cranfield.extensions.scale.tasks import Task, score_arrays, score_bucket, score_partition
from cranfield.measures import Measure
from cranfield.version import __version__

CHANCE = random.Random(20261124)
QUERIES = [f"q{i}" for i in range(60)]
JUDGED = {
    query: {f"d{doc}": CHANCE.randint(0, 3) for doc in CHANCE.sample(range(30), 8)}
    for query in QUERIES[:50]
}
RUNS = {
    name: {
        query: {f"d{doc}": CHANCE.randint(0, 6) / 4 for doc in CHANCE.sample(range(30), 12)}
        for query in QUERIES[begin:]
    }
    for name, begin in (("new", 10), ("old", 0))
}
PLAIN = [
    definition.name
    if definition.cutoff != "required"
    else f"{definition.name}@{0.5 if definition.cutoff_kind == 'recall' else 5}"
    for definition in definitions()
    if definition.traits.takes_groups is False
    and not definition.traits.takes_cost
    and not definition.is_user_defined
]


def measures(names: str) -> tuple[Measure, ...]:
    return tuple(parse(name) for name in names.split())


def table_of_judgments(queries: Sequence[str]) -> pa.Table:
    rows = [
        {"query_id": query, "doc_id": doc, "relevance": grade, "kind": f"k{len(query)}"}
        for query in queries
        for doc, grade in JUDGED.get(query, {}).items()
    ]
    kinds = [("query_id", pa.string()), ("doc_id", pa.string())]
    kinds += [("relevance", pa.int64()), ("kind", pa.string())]
    return pa.Table.from_pylist(rows, pa.schema(kinds))


def table_of_runs(queries: Sequence[str], seed: int | None = None) -> pa.Table:
    rows = [
        {"system": name, "query_id": query, "doc_id": doc, "score": score}
        for name, run in RUNS.items()
        for query in queries
        for doc, score in run.get(query, {}).items()
    ]
    if seed is not None:
        random.Random(seed).shuffle(rows)
    kinds = [("system", pa.string()), ("query_id", pa.string()), ("doc_id", pa.string())]
    return pa.Table.from_pylist(rows, pa.schema([*kinds, ("score", pa.float64())]))


def task(names: str, **task_fields: Any) -> Task:
    usual: dict[str, Any] = {"by": "system", "systems": ("new", "old"), "top_grade": 3}
    usual |= {"keep": ("kind",), "query_columns": ("query_id", "query_id"), **task_fields}
    judging = usual.pop("judging", Judging())
    return Task(measures(names), judging, usual.pop("errors", "strict"), __version__, **usual)


def parts(n: int) -> Iterator[list[str]]:
    """Yield the queries in random parts."""
    places = {query: CHANCE.randrange(n) for query in QUERIES}
    for part in range(n):
        yield [query for query in QUERIES if places[query] == part]


def score_parts(names: str, n: int, **task_fields: Any) -> pa.Table:
    job = task(names, **task_fields)
    tables = [
        score_bucket(job, table_of_judgments(part), table_of_runs(part, seed=len(part)))
        for part in parts(n)
        if part
    ]
    return pa.concat_tables(table for table in tables if table.num_rows)


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
@pytest.mark.parametrize("n", [1, 3, 50])
def test_every_measure_has_the_bits_of_one_evaluation(n: int) -> None:
    names = " ".join(PLAIN)
    assert len(PLAIN) > 40
    table = score_parts(names, n)
    expected = evaluate(Qrels(JUDGED, top_grade=3), RUNS, names)
    rows = table.to_pylist()
    assert sorted((row["system"], row["query_id"]) for row in rows) == sorted(
        (name, query) for name in RUNS for query in JUDGED
    )
    for row in rows:
        assert row["answered"] == (row["query_id"] in RUNS[row["system"]])
        assert row["kind"] == f"k{len(row['query_id'])}"
        values = expected[row["system"]].to_dict()[row["query_id"]]
        assert {name: row[name] for name in values} == values


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
@pytest.mark.parametrize(
    "judging",
    [
        Judging(ties="expected"),
        Judging(depth=3),
        Judging(judged_only=True),
        Judging(queries="both"),
        Judging(queries="run"),
    ],
)
def test_options_are_those_of_one_evaluation(judging: Judging) -> None:
    names = "nDCG@5 AP RR"
    expected = evaluate(Qrels(JUDGED, top_grade=3), RUNS, names, **judging.changed_options())
    rows = score_parts(names, 7, judging=judging).to_pylist()
    row_of_pair = {(row["system"], row["query_id"]): row for row in rows}
    assert len(row_of_pair) == sum(len(scores.query_ids) for scores in expected.values())
    for name, scores in expected.items():
        for query, values in scores.to_dict().items():
            assert {column: row_of_pair[name, query][column] for column in values} == values


def test_a_run_alone_has_no_column_of_systems() -> None:
    job = task("RR", by=None, systems=(), keep=())
    only = table_of_runs(QUERIES).filter(pa.compute.equal(table_of_runs(QUERIES)["system"], "new"))
    table = score_bucket(job, table_of_judgments(QUERIES), only.drop_columns(["system"]))
    assert table.column_names == ["query_id", "answered", "RR"]
    values = evaluate(JUDGED, RUNS["new"], "RR").per_query("RR")
    assert dict(zip(table["query_id"].to_pylist(), table["RR"].to_pylist(), strict=True)) == values


def test_rows_of_both_sides_come_as_pairs_where_there_is_no_cogroup() -> None:
    judged, ranked = table_of_judgments(QUERIES), table_of_runs(QUERIES, seed=1)
    types = [pa.struct(list(side.schema)) for side in (judged, ranked)]
    rows = [{"__bucket": 0, "judged": row, "ranked": None} for row in judged.to_pylist()]
    rows += [{"__bucket": 1, "judged": None, "ranked": row} for row in ranked.to_pylist()]
    CHANCE.shuffle(rows)
    schema = [("__bucket", pa.int64()), ("judged", types[0]), ("ranked", types[1])]
    batches = pa.Table.from_pylist(rows, pa.schema(schema)).to_batches(max_chunksize=100)
    table = pa.Table.from_batches(list(score_partition(task("AP RR"), iter(batches))))
    order = [("system", "ascending"), ("query_id", "ascending")]
    assert table.sort_by(order).equals(score_parts("AP RR", 1).sort_by(order))
    assert list(score_partition(task("AP"), iter([]))) == []


ARRAYS = [
    {
        "question": query,
        "expected_ids": list(docs),
        "retrieved_ids": sorted(RUNS["new"].get(query, {})),
        "kind": "a",
    }
    for query, docs in JUDGED.items()
]


def test_a_table_of_arrays_is_scored_batch_by_batch() -> None:
    job = task("RR R@5", by=None, systems=(), top_grade=None)
    batches = pa.Table.from_pylist(ARRAYS).to_batches(max_chunksize=7)
    table = pa.Table.from_batches(list(score_arrays(job, None, iter(batches))))
    rows = [{name: row[name] for name in row if name != "kind"} for row in ARRAYS]
    expected = evaluate(rows, "RR R@5").to_dict()
    assert table.num_rows == len(expected)
    for row in table.to_pylist():
        assert {name: row[name] for name in ("RR", "R@5")} == expected[row["query_id"]]
        assert row["kind"] == "a"


def test_what_is_wrong_with_rows_names_query_and_document() -> None:
    twice = pa.concat_tables([table_of_runs(["q20"]), table_of_runs(["q20"])])
    with pytest.raises(InputError, match="q20"):
        score_bucket(task("RR"), table_of_judgments(["q20"]), twice)
    table_without_faults = score_bucket(
        task("RR", judging=Judging(duplicates="first")), table_of_judgments(["q20"]), twice
    )
    assert table_without_faults.num_rows == 2
    null = table_of_runs(["q20"]).set_column(3, "score", pa.nulls(24, pa.float64()))
    with pytest.raises(InputError, match="score"):
        score_bucket(task("RR"), table_of_judgments(["q20"]), null)
    table = score_bucket(task("RR", errors="skip"), table_of_judgments(["q20"]), null)
    assert table["answered"].to_pylist() == [False, False]
    no_ids = table_of_judgments(["q20"]).set_column(1, "doc_id", pa.nulls(8, pa.string()))
    with pytest.raises(InputError, match="doc_id"):
        score_bucket(task("RR"), no_ids, table_of_runs(["q20"]))
    table_without_ids = score_bucket(task("RR", errors="skip"), no_ids, table_of_runs(["q20"]))
    assert table_without_ids.num_rows == 0
    with pytest.raises(InputError, match="above top_grade=2"):
        score_bucket(task("ERR", top_grade=2), table_of_judgments(QUERIES), table_of_runs(QUERIES))


BAD_ROWS = {
    "null score": ("run", "score", None, "got None (query 'q20', document 'BAD')"),
    "NaN": ("run", "score", float("nan"), "got nan (query 'q20', document 'BAD')"),
    "null query of the run": ("run", "query_id", None, "(query None, document 'BAD')"),
    "null document of the run": ("run", "doc_id", None, "(query 'q20', document None)"),
    "null query of the judgments": ("qrels", "query_id", None, "(query None, document 'BAD')"),
    "null document of the judgments": ("qrels", "doc_id", None, "(query 'q20', document None)"),
    "null grade": ("qrels", "relevance", None, "got None (query 'q20', document 'BAD')"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_bad_row_is_named_by_query_and_document(case: str) -> None:
    side, column, value, message = BAD_ROWS[case]
    tables = {"qrels": table_of_judgments(["q20"]), "run": table_of_runs(["q20"])}
    rows = tables[side].to_pylist()
    bad = {**rows[3], "doc_id": "BAD", column: value}
    tables[side] = pa.Table.from_pylist([*rows, bad], tables[side].schema)
    with pytest.raises(InputError, match=re.escape(message)):
        score_bucket(task("RR"), tables["qrels"], tables["run"])


def test_two_systems_in_a_bucket_are_asked_about_with_what_spark_takes() -> None:
    judged, ranked = table_of_judgments(["q20"]), table_of_runs(["q20"])
    for duplicates in ("refuse", "best"):
        job = task("RR", by=None, judging=Judging(duplicates=duplicates))
        with pytest.raises(InputError, match=r"columns=\{'system': 'system'\}") as caught:
            score_bucket(job, judged, ranked)
        assert "Column 'system' has 2 values" in str(caught.value)
    alone = ranked.filter(pa.compute.equal(ranked["system"], "old"))
    assert score_bucket(task("RR", by=None), judged, alone).num_rows == 1


def test_what_is_kept_belongs_to_the_query() -> None:
    judged = table_of_judgments(["q20", "q30"])
    kinds = pa.array(["a", *["b"] * (judged.num_rows - 1)])
    with pytest.raises(InputError, match="query 'q20' have several values in kind"):
        score_bucket(task("RR"), judged.set_column(3, "kind", kinds), table_of_runs(["q20"]))
    empty = score_bucket(
        task("RR", judging=Judging(queries="run")), table_of_judgments([]), table_of_runs(["q55"])
    )
    assert empty["kind"].to_pylist() == [None, None]


def test_a_giant_query_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_MAX_QUERY_ROWS", 20)
    with pytest.raises(InputError, match=r"query 'q20' has 24 rows, more than 20: keep its"):
        score_bucket(task("RR"), table_of_judgments(["q20"]), table_of_runs(["q20", "q5"]))


def test_another_version_is_refused() -> None:
    job = Task(measures("RR"), Judging(), "strict", "0.0.0")
    with pytest.raises(InputError, match="install one version on all machines"):
        score_bucket(job, table_of_judgments(["q20"]), table_of_runs(["q20"]))
    with pytest.raises(InputError, match="install one version on all machines"):
        list(score_arrays(job, None, iter([])))


def test_names_that_any_table_takes() -> None:
    job = replace(task("nDCG(gain='exp2')@10 IPrec@0.1 AP(rel=2)"), names="safe")
    assert job.score_columns == ["nDCG_gain_exp2_at_10", "IPrec_at_0_1", "AP_rel_2"]


# ---- totals -------------------------------------------------------------------------------------

NAMES = "nDCG@5 AP GMAP NumRet RR"
KINDS = [
    ScoreColumn(str(measure), str(measure), measure.definition.aggregation, True)
    for measure in measures(NAMES)
]


def merge_parts(
    groups: Sequence[str], sum_batches: Any, table: pa.Table, n: int
) -> Iterator[pa.RecordBatch]:
    """Yield the states of random partitions, put together, as the engine does."""
    place = [CHANCE.randrange(n) for _ in range(table.num_rows)]
    states = []
    for part in range(n):
        rows = [i for i, position in enumerate(place) if position == part]
        batches = (
            table.take(pa.array(rows, pa.int64())).combine_chunks().to_batches(max_chunksize=13)
        )
        states += list(sum_batches(iter(batches)))
    CHANCE.shuffle(states)
    yield from merge_sums(groups, iter(states))


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
@pytest.mark.parametrize("n", [1, 3, 37])
def test_means_are_exact_for_any_partitions(n: int) -> None:
    table = score_parts(NAMES, 5)
    sum_batches = partial(sum_scores, ["system"], KINDS, True)
    batches = list(
        list_means(["system"], KINDS, 0.95, merge_parts(["system"], sum_batches, table, n))
    )
    rows = pa.Table.from_batches(batches).to_pylist()
    expected = evaluate(Qrels(JUDGED, top_grade=3), RUNS, NAMES)
    assert len(rows) == 2 * len(KINDS)
    for row in rows:
        assert row["value"] == expected[row["system"]].means(exact=True)[row["measure"]]
        assert row["queries"] == len(JUDGED)
        assert row["answered"] == sum(query in RUNS[row["system"]] for query in JUDGED)
        if row["measure"] in ("AP", "RR"):
            from scipy import stats

            values = list(expected[row["system"]].per_query(row["measure"]).values())
            assert row["std_error"] == pytest.approx(stats.sem(values), rel=1e-12)
            low, high = stats.t.interval(0.95, len(values) - 1, row["value"], stats.sem(values))
            assert (row["low"], row["high"]) == pytest.approx((low, high), rel=1e-9)
        if row["measure"] == "NumRet":
            assert row["std_error"] is None


def pairs(n: int) -> pa.Table:
    """Return each query's scores of the new system beside those of the old one."""
    table = score_parts(NAMES, 5)
    by = {(row["system"], row["query_id"]): row for row in table.to_pylist()}
    rows = [
        {
            **by["new", query],
            **{f"__base_{column.name}": by["old", query][column.name] for column in KINDS},
            **dict.fromkeys((ROW_COUNT, BASELINE_PREFIX + ROW_COUNT), 1),
        }
        for query in JUDGED
    ]
    return pa.Table.from_pylist(rows)


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
@pytest.mark.parametrize("n", [1, 3, 37])
def test_differences_are_those_of_a_paired_t_test(n: int) -> None:
    from scipy import stats

    table = pairs(n)
    sum_batches = partial(sum_pairs, ["system"], KINDS, "system", None)
    states = merge_parts(["system"], sum_batches, table, n)
    batches = list(list_differences(["system"], KINDS, 0.9, False, states))
    rows = {row["measure"]: row for row in pa.Table.from_batches(batches).to_pylist()}
    for name in ("nDCG@5", "AP", "RR"):
        new, old = table[name].to_numpy(), table[f"__base_{name}"].to_numpy()
        row, test = rows[name], stats.ttest_rel(new, old)
        low, high = test.confidence_interval(0.9)
        assert row["difference"] == pytest.approx((new - old).mean(), rel=1e-12)
        assert (row["low"], row["high"]) == pytest.approx((low, high), rel=1e-9)
        assert row["p"] == pytest.approx(test.pvalue, rel=1e-9)
        assert row["better"] == (new > old).sum()
        assert row["worse"] == (new < old).sum()
        assert row["better"] + row["worse"] + row["same"] == row["queries"] == len(new)
    new, old = (table[name].to_numpy() for name in ("NumRet", "__base_NumRet"))
    assert rows["NumRet"]["difference"] == new.sum() - old.sum()
    assert rows["GMAP"]["difference"] == pytest.approx(
        rows["GMAP"]["mean"] / rows["GMAP"]["baseline_mean"], rel=1e-12
    )
    assert rows["GMAP"]["low"] < rows["GMAP"]["difference"] < rows["GMAP"]["high"]


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_a_relative_difference_has_the_interval_of_a_jackknife() -> None:
    """Each query is nearly alone in one of 1,000 groups: as the jackknife over queries."""
    table = pairs(1)
    sum_batches = partial(sum_pairs, [], KINDS, "system", "query_id")
    batches = list(list_differences([], KINDS, 0.95, True, merge_parts([], sum_batches, table, 4)))
    rows = {row["measure"]: row for row in pa.Table.from_batches(batches).to_pylist()}
    new, old = table["AP"].to_numpy(), table["__base_AP"].to_numpy()
    row = rows["AP"]
    assert row["relative"] == pytest.approx(new.mean() / old.mean() - 1, rel=1e-12)
    n = len(new)
    jackknife_gains = (new.sum() - new) / (old.sum() - old) - 1
    error = ((n - 1) / n * ((jackknife_gains - jackknife_gains.mean()) ** 2).sum()) ** 0.5
    far = (row["relative_high"] - row["relative_low"]) / 2
    assert far == pytest.approx(2.0096 * error, rel=0.1)
    batches_of_one = list(
        list_differences([], KINDS, 0.95, True, merge_parts([], sum_batches, table, 1))
    )
    assert batches_of_one[0].equals(batches[0])
    assert rows["GMAP"]["relative"] == pytest.approx(rows["GMAP"]["difference"] - 1, rel=1e-9)


def test_groups_may_be_null_and_scores_may_be_missing() -> None:
    table = pa.table(
        {
            "country": pa.array(["a", None, None, "a"]),
            "answered": [True, False, True, True],
            "RR": pa.array([1.0, 0.5, None, 0.0]),
        }
    )
    kinds = [ScoreColumn("RR", "RR", "mean", True)]
    sum_batches = partial(sum_scores, ["country"], kinds, True)
    states = merge_parts(["country"], sum_batches, table, 2)
    rows = pa.Table.from_batches(list(list_means(["country"], kinds, 0.95, states))).to_pylist()
    row_of_country = {row["country"]: row for row in rows}
    assert (
        row_of_country["a"]["value"],
        row_of_country["a"]["queries"],
        row_of_country["a"]["answered"],
    ) == (0.5, 2, 2)
    assert (
        row_of_country[None]["value"],
        row_of_country[None]["queries"],
        row_of_country[None]["answered"],
    ) == (0.5, 1, 1)
    assert row_of_country[None]["std_error"] is row_of_country[None]["low"] is None
    assert list(merge_sums(["country"], iter([]))) == []


def test_rows_of_systems_that_are_not_listed_are_refused() -> None:
    queries = list(JUDGED)[:4]
    judged, ranked = table_of_judgments(queries), table_of_runs(queries)
    with pytest.raises(InputError, match="rows of system 'old', and systems= lists new"):
        score_bucket(task("RR", systems=("new",)), judged, ranked)
    table = score_bucket(task("RR", systems=("new",), errors="skip"), judged, ranked)
    assert set(table["system"].to_pylist()) == {"new"}
    none = ranked.slice(0, 1).set_column(0, "system", pa.nulls(1, pa.string()))
    nameless = pa.concat_tables([ranked, none])
    with pytest.raises(InputError, match="rows without a system: system is null"):
        score_bucket(task("RR"), judged, nameless)
    assert score_bucket(task("RR", errors="skip"), judged, nameless).num_rows == 8


def test_the_limit_of_threads_ends_with_a_batch() -> None:
    batch = pa.table({"question": ["q"], "expected_ids": [["a"]], "retrieved_ids": [["a"]]})
    batches = iter(batch.to_batches() * 2)
    tables = score_arrays(task("RR", by=None, systems=(), keep=()), None, batches)
    next(tables)
    assert threads._MAX_THREADS.get() is None
    assert len(list(tables)) == 1


def test_the_limit_of_threads_applies_to_what_threads_start() -> None:
    """With a limit, a thread starts none of its own."""
    with threads.limit_threads(2):
        assert (
            list(threads.map_in_threads(lambda _: threads._MAX_THREADS.get(), range(4))) == [1] * 4
        )
        assert threads._MAX_THREADS.get() == 2
