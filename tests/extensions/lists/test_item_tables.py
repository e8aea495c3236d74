"""describe: one-hot and wide features, catalogues in files, and what errors and notes say."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers.commands import invoke

import cranfield
from cranfield import CranfieldError, Run, describe, evaluate

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")

LISTS = {"1": ["a", "b", "c"], "2": ["b", "d"], "3": ["d", "a", "c"]}
FEATURES = pd.DataFrame(  # as RecTools has them
    {"item_id": [*"abcd"], "drama": [1, 0, 1, 1], "war": [0, 0, 1, 1], "comedy": [1, 1, 0, 1]}
)
ROWS: dict[str, Any] = {row[0]: [*row[1:]] for row in FEATURES.itertuples(index=False, name=None)}
HAMMING = "ILD(distance='hamming')@3"


def mean_distance(distance: Any) -> float:
    """Return the mean over users of the mean distance of the pairs of a list, by slow loops."""
    means = [
        np.mean([distance(ROWS[x], ROWS[y]) for x, y in combinations(items, 2)])
        for items in LISTS.values()
    ]
    return float(np.mean(means))


def hamming(x: list[int], y: list[int]) -> int:
    return sum(a != b for a, b in zip(x, y, strict=True))


def cosine(x: list[int], y: list[int]) -> float:
    return float(1 - np.dot(x, y) / np.sqrt(np.dot(x, x) * np.dot(y, y)))


def write_files(folder: Path) -> dict[str, Path]:
    """Write the features as files; return {kind: path}."""
    FEATURES.to_csv(folder / "wide.csv", index=False)
    FEATURES.set_index("item_id").astype(bool).to_csv(folder / "flags.csv")
    FEATURES.to_parquet(folder / "wide.parquet")
    FEATURES.to_json(folder / "wide.jsonl", orient="records", lines=True)
    return {path.name: path for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    "items",
    [
        ROWS,
        {doc: np.array(row, np.bool_) for doc, row in ROWS.items()},
        {doc: [*map(bool, row)] for doc, row in ROWS.items()},
        pd.DataFrame({"item_id": [*ROWS], "genres": [*ROWS.values()]}),
        pl.DataFrame({"item_id": [*ROWS], "genres": [[*map(float, row)] for row in ROWS.values()]}),
        FEATURES,
        pl.DataFrame(FEATURES),
        FEATURES.set_index("item_id"),
        FEATURES.set_index("item_id").rename_axis(None).astype(float),
        *("wide.csv", "flags.csv", "wide.parquet", "wide.jsonl"),
    ],
)
def test_one_hot_rows_and_wide_tables_are_categories(items: Any, tmp_path: Path) -> None:
    items = write_files(tmp_path)[items] if isinstance(items, str) else items
    description = describe(LISTS, f"{HAMMING} Categories(value='count')@1", items=items)
    counts = [sum(ROWS[ids[0]]) for ids in LISTS.values()]
    assert description[HAMMING] == pytest.approx(mean_distance(hamming))
    assert description["Categories(value='count')@1"] == np.mean(counts)
    assert "0 and 1 tell whether an item has a category." in map(str, description.notes)


def test_one_column_of_0_and_1_is_one_category() -> None:
    columns = {"items": {"category": "war"}}
    measure = "Categories(value='count')@3"
    description = describe(LISTS, measure, items=FEATURES, columns=columns)
    assert description.per_query(measure) == {"1": 1, "2": 1, "3": 1}
    alone = describe({"1": ["a", "b"]}, measure, items={"a": 0, "b": 0, "c": 1})
    assert alone.means() == {measure: 0}


def test_lists_that_are_not_one_hot_are_names() -> None:
    measure = "Categories(value='count')@3"
    for items in ({"a": [0, 1], "b": [1], "c": [2, 0]}, {"a": [0, 2], "b": [1, 0], "c": [0, 1]}):
        description = describe({"1": ["a", "b", "c"]}, measure, items=items)
        assert description[measure] == len({0, 1, 2})


@pytest.mark.parametrize(
    "embeddings", [FEATURES, FEATURES.set_index("item_id"), "wide.csv", "wide.parquet"]
)
def test_a_wide_table_is_vectors(embeddings: Any, tmp_path: Path) -> None:
    is_file = isinstance(embeddings, str)
    embeddings = write_files(tmp_path)[embeddings] if is_file else embeddings
    description = describe(LISTS, "ILD@3", embeddings=embeddings)
    assert description["ILD@3"] == pytest.approx(mean_distance(cosine))
    assert not any("columns" in str(note) for note in description.notes)


def test_columns_that_are_not_read_are_told() -> None:
    movies = FEATURES.assign(title=[*"ABCD"], year=1999)
    notes = describe(LISTS, HAMMING, items=movies).notes
    assert "The items are 3 columns, without title, year." in map(str, notes)
    notes = describe(LISTS, "ILD@3", embeddings=movies).notes
    assert "The embeddings are 4 columns, without title." in map(str, notes)


def test_lists_beside_numbers_are_not_left_out_for_them() -> None:
    embeddings = FEATURES.assign(vector=list(ROWS.values()))
    with pytest.raises(CranfieldError, match="which column is which: item_id, drama") as error:
        describe(LISTS, "ILD@3", embeddings=embeddings)
    assert "--columns doc_id=NAME; in Python columns={'embeddings'" in str(error.value)
    with pytest.raises(CranfieldError, match="which column is which: key, x\n"):
        describe(LISTS, "ILD@3", embeddings=pd.DataFrame({"key": [*"ab"], "x": [*"cd"]}, [7, 2]))


def test_commas_in_a_text_of_categories_are_told() -> None:
    text = "Categories are split at | alone: 'drama, war' is one."
    notes = describe(LISTS, HAMMING, items={"a": "drama, war", "b": "war"}).notes
    assert text in map(str, notes)
    notes = describe(LISTS, HAMMING, items={"a": ["drama, war", "x"], "b": ["war"]}).notes
    assert text not in map(str, notes)


@pytest.mark.parametrize(
    "text",
    [
        "a\nb\nc\nd\np\n",
        "item_id\na\nb\nc\nd\np\n",
        "doc_id\na\nb\nc\nd\np",
        '["a","b","c","d","p"]',
    ],
)
def test_a_catalogue_is_any_file_of_ids(text: str, tmp_path: Path) -> None:
    (tmp_path / "ids").write_text(text)
    assert describe(LISTS, "Coverage@3", catalogue=tmp_path / "ids")["Coverage@3"] == 4 / 5


def test_numbers_of_a_catalogue() -> None:
    assert describe(LISTS, "Coverage@3", catalogue=8.0)["Coverage@3"] == 4 / 8
    with pytest.raises(CranfieldError, match="how many items there are, or their ids"):
        describe(LISTS, "Coverage@3", catalogue=8.5)


def test_a_missing_input_names_the_other_distance() -> None:
    distances = "; of items=: ILD(distance='jaccard') or 'hamming', of embeddings=: 'cosine'"
    for inputs, measure in (
        ({"items": {"a": "x"}}, "IntraListDiversity@3"),
        ({"embeddings": {"a": [1.0]}}, HAMMING),
    ):
        with pytest.raises(cranfield.MeasureError) as error:
            describe(LISTS, measure, **inputs)
        assert str(error.value).startswith(measure)
        assert str(error.value).endswith(distances)


@pytest.mark.parametrize(("name", "pointer"), [("catalog", "catalogue="), ("k", "'nDCG@1,5,10'")])
def test_options_of_other_libraries_are_pointed_to_ours(name: str, pointer: str) -> None:
    options: Any = {name: 5}
    with pytest.raises(TypeError, match=f"takes no {name}=.*{pointer}"):
        describe(LISTS, "Coverage", **options)


def test_lists_that_were_filtered_before_are_no_warning(tmp_path: Path) -> None:
    train = {"1": ["d"], "2": ["a"]}
    for without in (train, [("1", "d"), ("2", "a")], Run(train)):
        (note,) = Run(LISTS).without(without).rows.notes
        assert (note.severity, note.text) == ("info", "0 of 8 rows removed: 8 of 8 rows left.")
    (note,) = Run(LISTS).without({"1": ["D"], "2": ["A"]}).rows.notes
    assert note.severity == "warning"
    notes = evaluate({"1": {"a": 1}}, LISTS, "R@1", without=train).notes
    assert not any("written in the same way" in note.text for note in notes)
    Run(LISTS, "recs").write(tmp_path / "recs.csv")
    FEATURES.to_csv(tmp_path / "wide.csv", index=False)
    words = ["describe", str(tmp_path / "recs.csv"), "--items", str(tmp_path / "wide.csv")]
    assert "0 and 1 tell whether" in invoke(*words, "-m", HAMMING).output
