"""describe: the values of seven libraries on small lists, from data of every kind."""

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from helpers.profile import choose_step, sample_cases

from cranfield import Run, Systems, describe, parse
from cranfield.data.judging import Judging
from cranfield.extensions.lists.facts import Facts, ListInputs
from cranfield.extensions.lists.list_intervals import assign_groups, jackknife, leave_groups_out
from cranfield.extensions.lists.user_lists import Lists

pytestmark = [
    pytest.mark.more,
    pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning"),
]

Toy = dict[str, Any]
Rows = list[dict[str, Any]]
ABSENT = ("RSP", "REO", "GAUC", "EPC", "EFD", "AWRF", "EED", "EER", "EEL")
N_TOYS = 20


@pytest.fixture(scope="module")
def toys(data: Path) -> list[Toy]:
    """Return the toys, with the values of other libraries."""
    toys: list[Toy] = json.loads((data / "recommenders2.json").read_text())["toys"]
    assert len(toys) == N_TOYS
    return toys


def list_measures(toy: Toy) -> list[str]:
    """Return the names of the measures that are computed here."""
    return [name for name in toy["values"]["recs"] if not name.startswith(ABSENT)]


def list_rows(toy: Toy, generator: random.Random) -> dict[str, Rows]:
    """Return each input as shuffled rows with names."""
    rows: dict[str, Rows] = {
        name: [
            {"user_id": int(user), "item_id": doc, "score": -float(rank)}
            for user, items in toy[name].items()
            for rank, doc in enumerate(items)
        ]
        for name in ("recs", "full", "base")
    }
    rows["train"] = [{"user_id": user, "item_id": doc} for user, doc in toy["train"]]
    rows["qrels"] = [
        {"user_id": int(user), "item_id": doc}
        for user, items in toy["test"].items()
        for doc in items
    ]
    rows["items"] = [
        {"item_id": int(doc), "category": names} for doc, names in toy["categories"].items()
    ]
    rows["embeddings"] = [
        {"item_id": int(doc), "vector": vector} for doc, vector in toy["embedding"].items()
    ]
    for table in rows.values():
        generator.shuffle(table)
    return rows


def make_dicts(rows: dict[str, Rows], toy: Toy, _: Path) -> dict[str, Any]:
    """Return dicts, with ids as texts."""
    inputs: dict[str, Any] = {name: toy[name] for name in ("recs", "full", "base")}
    inputs |= {"items": toy["categories"], "embeddings": toy["embedding"]}
    inputs["qrels"] = {user: dict.fromkeys(items, 1) for user, items in toy["test"].items()}
    inputs["train"] = [(str(user), str(doc)) for user, doc in toy["train"]]
    return inputs


def make_frames(library: Any) -> Callable[..., dict[str, Any]]:
    """Return a function that makes data frames of rows."""

    def make(rows: dict[str, Rows], _: Toy, __: Path) -> dict[str, Any]:
        return {name: library.DataFrame(table) for name, table in rows.items()}

    return make


def make_text_frames(rows: dict[str, Rows], _: Toy, __: Path) -> dict[str, Any]:
    """Return data frames of pandas with ids as texts."""
    frames = {name: pd.DataFrame(table) for name, table in rows.items()}
    for frame in frames.values():
        ids = [name for name in frame.columns if name.endswith("_id")]
        frame[ids] = frame[ids].astype(str)
    return frames


def make_files(suffix: str) -> Callable[..., dict[str, Any]]:
    """Return a function that writes files of rows; vectors are Parquet or JSON lines."""

    def make(rows: dict[str, Rows], _: Toy, folder: Path) -> dict[str, Any]:
        paths = {}
        for name, table in rows.items():
            frame = pd.DataFrame(table)
            path = folder / f"{name}{suffix}"
            if suffix == ".parquet":
                frame.to_parquet(path)
            elif name == "embeddings":
                path = folder / f"{name}.jsonl"
                path.write_text("".join(f"{json.dumps(row)}\n" for row in table))
            else:
                if name == "items":
                    frame["category"] = frame["category"].map("|".join)
                frame.to_csv(path, index=False)
            paths[name] = str(path)
        return paths

    return make


FORMS: dict[str, Callable[..., dict[str, Any]]] = {
    "dicts": make_dicts,
    "pandas": make_frames(pd),
    "polars": make_frames(pl),
    "texts": make_text_frames,
    "csv": make_files(".csv"),
    "parquet": make_files(".parquet"),
}
CASES = sample_cases([(i, form) for i in range(N_TOYS) for form in FORMS], 7)


def describe_toy(inputs: dict[str, Any], toy: Toy, measures: list[str]) -> Systems:
    """Return what `describe` says of both sets of lists."""
    runs = {name: inputs.pop(name) for name in ("recs", "full")}
    sizes: dict[str, Any] = {"catalogue": toy["catalogue"], "users": toy["users"]}
    scores: Systems = describe(runs, measures, **inputs, **sizes)
    return scores


def list_differences(scores: Any, values: dict[str, Any], names: list[str]) -> Iterator[str]:
    """Yield the measures whose values, mean or users are not those expected, to 1e-9."""
    for name in names:
        expected = values[name]
        if not isinstance(expected, dict):
            value = scores.means().get(name, math.nan)
            if value != pytest.approx(
                math.nan if expected is None else expected, nan_ok=True, abs=1e-9
            ):
                yield name
            continue
        if scores.per_query(name) != pytest.approx(expected["users"], abs=1e-9, rel=0):
            yield f"{name} of users"
        if expected["users"] and scores.means()[name] != pytest.approx(expected["mean"], abs=1e-9):
            yield f"{name} mean"


@pytest.mark.parametrize(("i", "form"), CASES)
def test_values_are_those_of_other_libraries(
    i: int, form: str, toys: list[Toy], tmp_path: Path
) -> None:
    toy = toys[i]
    names = list_measures(toy)
    assert len(names) == 38
    inputs = FORMS[form](list_rows(toy, random.Random(i)), toy, tmp_path)
    systems = describe_toy(inputs, toy, names)
    for run, scores in systems.items():
        assert [*list_differences(scores, toy["values"][run], names)] == []


def test_intervals_are_those_of_the_vectors(toys: list[Toy]) -> None:
    """A run's interval takes the run's users, a difference the users of both runs."""
    for toy in toys[:: choose_step(4)]:
        names = [name for name in toy["intervals"] if not name.startswith(ABSENT)]
        measures = [*map(parse, names)]
        inputs = {"train": [*map(tuple, toy["train"])], "catalogue": toy["catalogue"]}
        runs = {name: Run(toy[name]) for name in ("recs", "full")}
        facts = Facts(runs, ListInputs(**inputs), {}, Judging())
        scores: Systems = describe(runs, names, **inputs)

        def leave_out(*users_of: str, run: str, lists: Mapping[str, Lists] = facts.lists) -> Any:
            groups = assign_groups(*(lists[name] for name in users_of))
            return leave_groups_out(measures, lists[run], groups, fewest=2)  # noqa: B023

        for name, measure in zip(names, map(str, measures), strict=True):
            expected = toy["intervals"][name]
            for run in runs:
                estimate = jackknife(scores[run][measure], leave_out(run, run=run)[measure])
                assert estimate[:3] == pytest.approx(expected[run], abs=1e-9), name
            parts = [leave_out(*runs, run=run)[measure] for run in ("full", "recs")]
            difference = scores["full"][measure] - scores["recs"][measure]
            estimate = jackknife(difference, parts[0] - parts[1])
            assert estimate[:3] == pytest.approx(expected["full - recs"], abs=1e-9)
