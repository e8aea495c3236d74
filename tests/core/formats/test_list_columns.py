"""Columns of lists, of every kind that Arrow has: to the bit as one row for each document."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.notes import codes
from pyarrow import parquet

from cranfield import InputError, Qrels, Run, evaluate, read_run
from cranfield.formats.block import SIZES

MEASURES = "nDCG@3 AP RR NumRet NumRel"
N, DEPTH = 40, 6
CHANCE = np.random.default_rng(11)
DOCS = np.array([CHANCE.permutation(30)[:DEPTH] for _ in range(N)])
SCORES = CHANCE.integers(0, 4, (N, DEPTH)) / 8  # many are tied
GRADES = CHANCE.integers(0, 4, (N, DEPTH))
JUDGED = np.array([CHANCE.permutation(30)[:DEPTH] for _ in range(N)])

FLAT_RUN = {
    str(q): {str(d): s for d, s in zip(DOCS[q].tolist(), SCORES[q].tolist(), strict=True)}
    for q in range(N)
}
FLAT_QRELS = {
    str(q): {str(d): g for d, g in zip(JUDGED[q].tolist(), GRADES[q].tolist(), strict=True)}
    for q in range(N)
}


def run_columns() -> dict[str, Any]:
    return {"user": [*range(N)], "retrieved_ids": DOCS.tolist(), "scores": SCORES.tolist()}


def qrels_columns() -> dict[str, Any]:
    return {"user": [*range(N)], "expected_ids": JUDGED.tolist(), "grades": GRADES.tolist()}


def structs(columns: dict[str, Any]) -> pa.Table:
    """Return a list of structs in the place of two lists, as Spark's recommenders give it."""
    user, (name, docs), (_, numbers) = columns["user"], *list(columns.items())[1:]
    list_name = "recommendations" if name == "retrieved_ids" else "ground_truth"
    cells = [
        [{"item": d, "rating": n} for d, n in zip(ds, ns, strict=True)]
        for ds, ns in zip(docs, numbers, strict=True)
    ]
    return pa.table({"user": user, list_name: cells})


def cast(kind: Callable[[pa.DataType], pa.DataType]) -> Callable[[dict[str, Any]], pa.Table]:
    def table(columns: dict[str, Any]) -> pa.Table:
        _, docs, numbers = columns
        arrays = {"user": pa.array(columns["user"])}
        arrays[docs] = pa.array(columns[docs], kind(pa.int32()))
        number_type = pa.float64() if numbers == "scores" else pa.int64()
        arrays[numbers] = pa.array(columns[numbers], kind(number_type))
        return pa.table(arrays)

    return table


def with_dictionary(columns: dict[str, Any]) -> pa.Table:
    user, docs, numbers = columns
    ids_in_dictionary = pa.array(
        [str(doc) for cell in columns[docs] for doc in cell]
    ).dictionary_encode()
    bounds = pa.array(range(0, N * DEPTH + 1, DEPTH), pa.int32())
    ids = pa.ListArray.from_arrays(bounds, ids_in_dictionary)
    return pa.table({user: columns[user], docs: ids, numbers: columns[numbers]})


def cut_chunks(columns: dict[str, Any]) -> pa.Table:
    longer_table = pa.table(
        {name: [cells[-1], *cells, cells[0]] for name, cells in columns.items()}
    )
    return pa.concat_tables(
        [longer_table.slice(1 + at, 7) for at in range(0, N - 7, 7)]
        + [longer_table.slice(1 + 35, N - 35)]
    )


def store(columns: dict[str, Any], make: Callable[[dict[str, Any]], pa.Table]) -> pa.Table:
    sink = pa.BufferOutputStream()
    parquet.write_table(make(columns), sink, row_group_size=9)
    return parquet.read_table(pa.BufferReader(sink.getvalue()))


FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "list": pa.table,
    "large_list": cast(pa.large_list),
    "fixed_size_list": cast(lambda kind: pa.list_(kind, DEPTH)),
    "list_view": cast(pa.list_view),
    "large_list_view": cast(pa.large_list_view),
    "structs": structs,
    "large list of structs": lambda columns: structs(columns).cast(
        pa.schema(
            [
                pa.field(field.name, pa.large_list(field.type.value_type))
                if field.name != "user"
                else field
                for field in structs(columns).schema
            ]
        )
    ),
    "ids in a dictionary": with_dictionary,
    "chunks that begin within others": cut_chunks,
    "Parquet": lambda columns: store(columns, pa.table),
    "Parquet of structs": lambda columns: store(columns, structs),
    "polars": pl.DataFrame,
    "polars structs": lambda columns: pl.from_arrow(structs(columns)),
    "polars arrays": lambda columns: pl.DataFrame(columns).with_columns(
        pl.col(list(columns)[1]).list.to_array(DEPTH)
    ),
    "pandas": pd.DataFrame,
    "pandas, lists of dicts": lambda columns: structs(columns).to_pandas(),
    "rows with objects": lambda columns: structs(columns).to_pylist(),
    "pandas, arrays": lambda columns: pa.table(columns).to_pandas(),
}


@pytest.mark.parametrize("rows", [1, 13, SIZES.rows])
@pytest.mark.parametrize("form", FORMS)
def test_lists_of_every_kind_are_their_documents(
    form: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SIZES, "rows", rows)
    expected = evaluate(FLAT_QRELS, FLAT_RUN, MEASURES)
    scores = evaluate(FORMS[form](qrels_columns()), FORMS[form](run_columns()), MEASURES)
    assert scores.query_ids == expected.query_ids
    assert scores.values.tobytes() == expected.values.tobytes()
    assert scores.counts.tied == expected.counts.tied > 0


@pytest.mark.parametrize("kind", ["list", "large_list", "list_view", "structs"])
def test_no_list_is_a_query_without_results_in_a_run_and_a_fault_in_judgments(kind: str) -> None:
    kinds = {"list": pa.list_, "large_list": pa.large_list, "list_view": pa.list_view}
    item_type: Any = pa.int64()
    if kind == "structs":
        item_type = pa.struct([("item", pa.int64()), ("rating", pa.float64())])
    cells: Any = [[5, 7], None, [], [7]]
    if kind == "structs":
        cells = [
            None if cell is None else [{"item": d, "rating": -n} for n, d in enumerate(cell)]
            for cell in cells
        ]
    array = pa.array(cells, kinds.get(kind, pa.list_)(item_type))
    judged = {q: {"7": 1} for q in "abcd"}
    run = Run(pa.table({"user": [*"abcd"], "recommendations": array}))
    scores = evaluate(judged, run, "RR")
    assert scores.per_query("RR") == {"a": 1 / 2, "b": 0, "c": 0, "d": 1}
    assert scores.counts.without_results == 2
    with pytest.raises(InputError, match="row 1"):
        Qrels(pa.table({"user": [*"abcd"], "relevant": array}))


def test_a_struct_that_is_missing_is_named() -> None:
    cells = pa.array([[{"item": 1, "rating": 1.0}], [{"item": 2, "rating": 0.5}, None]])
    table = pa.table({"user": ["a", "b"], "recommendations": cells})
    judged = {"a": {"1": 1}, "b": {"2": 1}}
    with pytest.raises(InputError, match=r"row 1.*'b'"):
        evaluate(judged, Run(table), "RR")
    scores = evaluate(judged, Run(table, errors="skip"), "RR")
    assert scores.per_query("RR") == {"a": 1, "b": 0}
    assert "left-out" in codes(scores.notes)


@pytest.mark.parametrize(
    "columns",
    [{"doc_id": "recommendations"}, {"doc_id": "item", "score": "rating"}, None],
)
def test_fields_of_structs_are_found_or_stated(columns: Any) -> None:
    scores = evaluate(FLAT_QRELS, Run(structs(run_columns()), columns=columns), MEASURES)
    assert scores.values.tobytes() == evaluate(FLAT_QRELS, FLAT_RUN, MEASURES).values.tobytes()


RUN = structs(run_columns()).to_pylist()
OBJECTS: dict[str, Any] = {
    "list": RUN,
    "list whose first is empty": [{"user": "none", "recommendations": []}, *RUN],
    "lines": "".join(json.dumps(row) + "\n" for row in RUN),
    "lines of which the first is empty": "".join(
        json.dumps(row) + "\n" for row in [{"user": "none", "recommendations": []}, *RUN]
    ),
    "by query": {row["user"]: row["recommendations"] for row in RUN},
    "by query, the first empty": {"a": [], **{row["user"]: row["recommendations"] for row in RUN}},
}


@pytest.mark.parametrize("form", OBJECTS)
def test_objects_in_lists_of_json_are_read(form: str, tmp_path: Path) -> None:
    recommendations = OBJECTS[form]
    path = tmp_path / ("run.jsonl" if isinstance(recommendations, str) else "run.json")
    path.write_text(
        recommendations if isinstance(recommendations, str) else json.dumps(recommendations)
    )
    expected = evaluate(FLAT_QRELS, FLAT_RUN, MEASURES)
    scores = evaluate(FLAT_QRELS, str(path), MEASURES)
    assert scores.values.tobytes() == expected.values.tobytes()
    if not isinstance(recommendations, str):
        scores_of_object = evaluate(FLAT_QRELS, Run(recommendations), MEASURES)
        assert scores_of_object.values.tobytes() == expected.values.tobytes()


def test_other_names_of_fields_are_stated(tmp_path: Path) -> None:
    lists = {
        row["user"]: [{"sku": hit["item"], "sim": hit["rating"]} for hit in row["recommendations"]]
        for row in RUN
    }
    (path := tmp_path / "run.json").write_text(json.dumps(lists))
    expected = evaluate(FLAT_QRELS, FLAT_RUN, MEASURES).values.tobytes()
    columns = {"doc_id": "sku", "score": "sim"}
    assert evaluate(FLAT_QRELS, Run(lists, columns=columns), MEASURES).values.tobytes() == expected
    run = read_run(path, columns=columns)
    assert evaluate(FLAT_QRELS, run, MEASURES).values.tobytes() == expected


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([{"item": 5, "rating": 1}, 7], "an object with 'item' in column 'recommendations', got"),
        (
            [{"item": 5, "rating": 1}, {"rating": 7}],
            "an id in column 'recommendations.item' is empty",
        ),
        ([{"item": 5, "rating": 1}, {"item": 7}], "expected a number as the score"),
        ([{"item": 5, "rating": 1}, {"item": 7, "rating": "x"}], "expected a number as the score"),
    ],
)
def test_an_object_with_a_fault_is_named_or_left_out(
    wrong: Any, message: str, tmp_path: Path
) -> None:
    recommendations = [*RUN[:3], {"user": 3, "recommendations": wrong}, *RUN[4:]]
    lines = tmp_path / "run.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in recommendations))
    with pytest.raises(InputError, match=message) as error:
        evaluate(FLAT_QRELS, read_run(lines), MEASURES)
    assert error.value.line == 4
    with pytest.raises(InputError, match=message):
        evaluate(FLAT_QRELS, Run(recommendations), MEASURES)
    for run in (Run(recommendations, errors="skip"), read_run(lines, errors="skip")):
        scores = evaluate(FLAT_QRELS, run, MEASURES)
        assert "left-out" in codes(scores.notes)
        assert scores.counts.without_results == 1


def test_structs_of_both_sides_stand_in_one_table() -> None:
    run, qrels = structs(run_columns()), structs(qrels_columns())
    table = run.append_column("ground_truth", qrels["ground_truth"])
    scores = evaluate(table, measures=MEASURES)
    assert scores.values.tobytes() == evaluate(FLAT_QRELS, FLAT_RUN, MEASURES).values.tobytes()


def test_structs_beside_documents_are_left_alone() -> None:
    structs_without_columns = pa.array([[{"id": 1, "score": 3.0}], None])
    table = pa.table({"query_id": ["a", "a"], "doc_id": ["x", "y"], "score": [1, 2]})
    run = Run(table.append_column("entities", structs_without_columns))
    assert run.to_dict() == {"a": {"x": 1, "y": 2}}


def test_a_file_of_structs_is_read(tmp_path: Path) -> None:
    parquet.write_table(structs(run_columns()), tmp_path / "als.parquet")
    scores = evaluate(FLAT_QRELS, str(tmp_path / "als.parquet"), MEASURES)
    assert scores.values.tobytes() == evaluate(FLAT_QRELS, FLAT_RUN, MEASURES).values.tobytes()
