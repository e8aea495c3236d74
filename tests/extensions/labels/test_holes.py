"""What the judgments lack for each run, and what each run brought to them: by slow loops."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from scipy import stats

from cranfield import InputError, MeasureError, OptionError, Qrels, Run, evaluate, holes
from cranfield.data.judge import judge_match
from cranfield.extensions.labels.pools import removals
from cranfield.measures import parse

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
        pool_docs = {doc for docs_of_query in runs.values() for doc in docs_of_query[f"q{q}"][:5]}
        qrels[f"q{q}"] = {doc: chance.randint(0, 2) for doc in sorted(pool_docs)}
    return qrels, runs


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "measure", ["nDCG@10", "nDCG@3", "AP", "AP(rel=2)", "Bpref", "P@5", "Success@3", "Q"]
)
def test_numbers_are_those_of_loops(seed: int, measure: str) -> None:
    qrels, runs = collection(seed)
    holes_of_runs = holes(qrels, runs, measure, k=7, pool_depth=5)
    full = {name: evaluate(qrels, run, measure)[measure] for name, run in runs.items()}
    means_left_out = {}
    for name, run in runs.items():
        unique_docs = {
            (q, doc)
            for q, docs in run.items()
            for doc in docs[:5]
            if doc in qrels[q]
            and not any(doc in other_run[q][:5] for key, other_run in runs.items() if key != name)
        }
        grades_left = {
            q: {d: g for d, g in grades.items() if (q, d) not in unique_docs}
            for q, grades in qrels.items()
        }
        means = {
            key: evaluate(grades_left, other_run, measure)[measure]
            for key, other_run in runs.items()
        }
        means_left_out[name] = means[name]
        hole = holes_of_runs[name]
        top_docs = [(q, doc) for q, docs in run.items() for doc in docs[:7]]
        n = sum(doc not in qrels[q] for q, doc in top_docs)
        assert (hole.unjudged, hole.judged) == (n, 1 - n / len(top_docs))
        assert hole.unique == len(unique_docs)
        assert hole.unique_relevant == sum(qrels[q][doc] >= 1 for q, doc in unique_docs)
        assert hole.mean == pytest.approx(full[name])
        assert hole.left_out == pytest.approx(means[name])
        assert hole.place == 1 + sum(
            other_mean > full[name] + 1e-12 for other_mean in full.values()
        )
        assert hole.place_left_out == 1 + sum(
            other_mean > means[name] + 1e-12 for other_mean in means.values()
        )
    assert holes_of_runs.tau == pytest.approx(
        stats.kendalltau([*full.values()], [*means_left_out.values()])[0]
    )


@pytest.mark.parametrize("ties", ["document", "best", "worst", "expected"])
@pytest.mark.parametrize("measure", ["AP", "P@5", "RR"])
def test_equal_scores_and_grades_that_are_left_out(ties: Any, measure: str) -> None:
    """Other runs have what is left out below the pool, among documents of the same score."""
    qrels, lists = collection(3)
    runs = {
        name: {q: {doc: float(-(i // 3)) for i, doc in enumerate(docs)} for q, docs in run.items()}
        for name, run in lists.items()
    }
    holes_of_runs = holes(qrels, runs, measure, pool_depth=4, ties=ties)
    tops = {
        name: {(q, doc) for q, docs in run.items() for doc in sort_ties(docs, qrels[q], ties)[:4]}
        for name, run in runs.items()
    }
    for name, top in tops.items():
        other_docs = set().union(*(other for key, other in tops.items() if key != name))
        grades_left = {
            q: {doc: grade for doc, grade in grades.items() if (q, doc) not in top - other_docs}
            for q, grades in qrels.items()
        }
        means = {
            key: evaluate(grades_left, run, measure, ties=ties)[measure]
            for key, run in runs.items()
        }
        hole = holes_of_runs[name]
        assert hole.left_out == means[name]
        assert hole.place_left_out == 1 + sum(mean > means[name] + 1e-12 for mean in means.values())


def sort_ties(scores: dict[str, float], grades: dict[str, int], ties: str) -> list[str]:
    """Return documents in their order: ties by grade, unjudged ones as least, or by id falling."""
    sign = {"best": 1, "worst": -1}.get(ties, 0)
    return sorted(scores, key=lambda doc: (scores[doc], sign * grades.get(doc, -9), doc))[::-1]


def test_work_grows_with_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run is read once, and scored on few more queries than there are."""
    n_read, n_scored = [], []
    blocks = Run.blocks

    def count_reading(run: Run, *args: Any, **options: Any) -> Any:
        n_read.append(1)
        return blocks(run, *args, **options)

    monkeypatch.setattr(Run, "blocks", count_reading)

    def count_queries(qrels: Qrels, *args: Any) -> Any:
        n_scored.append(len(qrels.query_ids))
        return judge_match(qrels, *args)

    monkeypatch.setattr(removals, "judge_match", count_queries)
    n_scored_of_size = {}
    for n_runs in (10, 40):
        chance = random.Random(n_runs)
        docs = [f"d{i}" for i in range(500)]
        paths = []
        for i in range(n_runs):
            rows = [
                f"q{q} Q0 {doc} 1 {-rank} run"
                for q in range(4)
                for rank, doc in enumerate(chance.sample(docs, 20))
            ]
            paths.append(tmp_path / f"{n_runs}-{i}.run")
            paths[-1].write_text("\n".join(rows))
        n_read.clear()
        n_scored.clear()
        holes({f"q{q}": dict.fromkeys(docs, q % 2) for q in range(4)}, paths, "nDCG@10")
        assert len(n_read) == n_runs
        n_scored_of_size[n_runs] = sum(n_scored)
    assert n_scored_of_size[40] < 8 * n_scored_of_size[10]  # each run on all removals: 16


@pytest.mark.parametrize(
    ("measure", "n_kinds"),
    [("Success@5", 2), ("AP", 2 * 2), ("nDCG@1", 2), ("nDCG", 2 * 3), ("Q", 2 * 3)],
)
def test_removals_of_which_a_measure_sees_the_same_are_one_kind(measure: str, n_kinds: int) -> None:
    """Each run brought one document to each of two queries, of grade 0, 1 or 2 in turn."""
    judged = {**{f"d{i}": i % 3 for i in range(9)}, "best": 3}
    judgments = Qrels({"q1": judged, "q2": judged})
    rows = [np.array([i, 10 + i]) for i in range(9)]  # "best" comes first
    grades = [judgments.grade[row].tolist() for row in rows]
    rows = [row for row, grade in zip(rows, grades, strict=True) if 3 not in grade]
    kinds = removals.Removals(judgments, rows, parse(measure)).kind
    assert len(kinds) == 2 * len(rows)
    assert len({*kinds.tolist()}) == n_kinds


def test_a_query_without_a_judgment_left_still_counts() -> None:
    qrels = {"q1": {"x": 1}, "q2": {"y": 1}}
    runs = {"a": {"q1": ["x"], "q2": ["y"]}, "b": {"q2": ["y"]}}
    holes_of_runs = holes(qrels, runs, "RR")
    assert (holes_of_runs["a"].mean, holes_of_runs["a"].left_out) == (1.0, 0.5)
    assert holes_of_runs["a"].unique == 1
    assert "b: 1 query of the judgments without a document." in str(holes_of_runs)
    assert holes_of_runs.tau is None
    with pytest.raises(KeyError, match="c: there are a, b"):
        holes_of_runs["c"]


def test_less_may_be_better() -> None:
    qrels, runs = collection(1)
    holes_of_runs = holes(qrels, runs, "LastRel")
    order = sorted(holes_of_runs.runs, key=lambda hole: hole.mean)
    assert order[0].place == 1


@pytest.mark.parametrize(
    ("runs", "measures", "options", "error", "message"),
    [
        ({"a": {"q": ["d"]}}, "AP", {}, InputError, "one run"),
        (None, ["AP", "RR"], {}, MeasureError, "one measure"),
        (None, "GMAP", {}, MeasureError, "no mean over the queries"),
        (None, "AP", {"k": 0}, OptionError, "k=0"),
        (None, "AP", {"judged_only": True}, TypeError, "judged_only"),
    ],
)
def test_what_is_wrong_is_said(
    runs: Any, measures: Any, options: dict[str, Any], error: Any, message: str
) -> None:
    two_runs = {"a": {"q": ["d"]}, "b": {"q": ["e"]}}
    with pytest.raises(error, match=message):
        holes({"q": {"d": 1}}, runs or two_runs, measures, **options)
    with pytest.raises(OptionError, match="judgments in groups"):
        holes({"q": {"s": {"d": 1}}}, two_runs)


def test_the_command(demo_folder: Path) -> None:
    demo = demo_folder / "demo"
    files = [str(demo / name) for name in ("qrels.txt", "bm25.run", "dense.run", "tfidf.run")]
    outcome = invoke("holes", *files, "-m", "AP", "-k", "20", "--format", "json")
    output = json.loads(outcome.stdout)
    expected = holes(files[0], files[1:], "AP", k=20)
    assert output["runs"] == expected.rows()
    text = invoke("holes", *files).stdout
    assert "unjudged@10" in text
    rows = [line for line in text.splitlines() if line.startswith((" ", "─"))]
    assert max(map(len, rows)) <= 80
