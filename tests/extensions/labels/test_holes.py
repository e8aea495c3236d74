"""What the judgments lack for each run, and what each run brought to them: by slow loops."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke
from scipy import stats

from cranfield import InputError, MeasureError, OptionError, evaluate, holes

Judged = dict[str, dict[str, int]]
Lists = dict[str, dict[str, list[str]]]


def collection(seed: int) -> tuple[Judged, Lists]:
    chance = random.Random(seed)
    docs = [f"d{i:02}" for i in range(25)]
    runs = {
        name: {f"q{q}": chance.sample(docs, chance.randint(3, 15)) for q in range(6)}
        for name in ("a", "b", "c", "d")
    }
    qrels: Judged = {}
    for q in range(6):
        pooled = {doc for its in runs.values() for doc in its[f"q{q}"][:5]}
        qrels[f"q{q}"] = {doc: chance.randint(0, 2) for doc in sorted(pooled)}
    return qrels, runs


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "P@5"])
def test_numbers_are_those_of_loops(seed: int, measure: str) -> None:
    qrels, runs = collection(seed)
    found = holes(qrels, runs, measure, k=7, pool_depth=5)
    full = {name: evaluate(qrels, run, measure)[measure] for name, run in runs.items()}
    left = {}
    for name, run in runs.items():
        alone = {
            (q, doc)
            for q, its in run.items()
            for doc in its[:5]
            if doc in qrels[q]
            and not any(doc in other[q][:5] for key, other in runs.items() if key != name)
        }
        less = {
            q: {d: g for d, g in its.items() if (q, d) not in alone} for q, its in qrels.items()
        }
        means = {key: evaluate(less, one, measure)[measure] for key, one in runs.items()}
        left[name] = means[name]
        one = found[name]
        first = [(q, doc) for q, its in run.items() for doc in its[:7]]
        n = sum(doc not in qrels[q] for q, doc in first)
        assert (one.unjudged, one.judged) == (n, 1 - n / len(first))
        assert one.unique == len(alone)
        assert one.unique_relevant == sum(qrels[q][doc] >= 1 for q, doc in alone)
        assert one.mean == pytest.approx(full[name])
        assert one.left_out == pytest.approx(means[name])
        assert one.place == 1 + sum(other > full[name] + 1e-12 for other in full.values())
        assert one.place_left_out == 1 + sum(
            other > means[name] + 1e-12 for other in means.values()
        )
    assert found.tau == pytest.approx(stats.kendalltau([*full.values()], [*left.values()])[0])


def test_a_query_without_a_judgment_left_still_counts() -> None:
    qrels = {"q1": {"x": 1}, "q2": {"y": 1}}
    runs = {"a": {"q1": ["x"], "q2": ["y"]}, "b": {"q2": ["y"]}}
    found = holes(qrels, runs, "RR")
    assert (found["a"].mean, found["a"].left_out) == (1.0, 0.5)
    assert found["a"].unique == 1
    assert "b: 1 query of the judgments without a document." in str(found)
    assert found.tau is None
    with pytest.raises(KeyError, match="c: there are a, b"):
        found["c"]


def test_less_may_be_better() -> None:
    qrels, runs = collection(1)
    found = holes(qrels, runs, "LastRel")
    order = sorted(found.runs, key=lambda one: one.mean)
    assert order[0].place == 1


@pytest.mark.parametrize(
    ("runs", "measures", "options", "error", "said"),
    [
        ({"a": {"q": ["d"]}}, "AP", {}, InputError, "one run"),
        (None, ["AP", "RR"], {}, MeasureError, "one measure"),
        (None, "GMAP", {}, MeasureError, "no mean over the queries"),
        (None, "AP", {"k": 0}, OptionError, "k=0"),
        (None, "AP", {"judged_only": True}, TypeError, "judged_only"),
    ],
)
def test_what_is_wrong_is_said(
    runs: Any, measures: Any, options: dict[str, Any], error: Any, said: str
) -> None:
    two = {"a": {"q": ["d"]}, "b": {"q": ["e"]}}
    with pytest.raises(error, match=said):
        holes({"q": {"d": 1}}, runs or two, measures, **options)
    with pytest.raises(OptionError, match="judgments in groups"):
        holes({"q": {"s": {"d": 1}}}, two)


def test_the_command(demo_folder: Path) -> None:
    demo = demo_folder / "demo"
    files = [str(demo / name) for name in ("qrels.txt", "bm25.run", "dense.run", "tfidf.run")]
    done = invoke("holes", *files, "-m", "AP", "-k", "20", "--format", "json")
    found = json.loads(done.stdout)
    want = holes(files[0], files[1:], "AP", k=20)
    assert found["runs"] == want.rows()
    shown = invoke("holes", *files).stdout
    assert "unjudged@10" in shown
    rows = [line for line in shown.splitlines() if line.startswith((" ", "─"))]
    assert max(map(len, rows)) <= 80
