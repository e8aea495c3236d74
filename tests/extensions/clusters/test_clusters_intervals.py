"""Intervals of means of queries in clusters."""

import json
from pathlib import Path

import pytest
from helpers.commands import invoke
from scipy import stats

from cranfield import evaluate, intervals

QRELS = {f"q{i}": {"a": 1, "b": i % 2} for i in range(12)}
RUN = {f"q{i}": ["x", "b", "a"][i % 3 :] + ["a", "b"][: i % 2] for i in range(12)}
RUN = {query: list(dict.fromkeys(docs)) for query, docs in RUN.items()}


def test_clusters_make_an_interval_cluster_robust() -> None:
    session = {f"q{i}": f"s{i // 3}" for i in range(12)}
    scores = evaluate(QRELS, RUN, "RR")
    (interval,) = intervals(scores, clusters=session).means
    values = list(scores.per_query("RR").values())
    ids = list(scores.per_query("RR"))
    mean = sum(values) / 12
    sums = [
        sum(v - mean for q, v in zip(ids, values, strict=True) if session[q] == s)
        for s in sorted(set(session.values()))
    ]
    error = (4 / 3 * sum(x**2 for x in sums) / 12**2) ** 0.5  # CR1
    half = stats.t.ppf(0.975, 3) * error
    assert interval.clusters == 4
    assert (interval.low, interval.high) == pytest.approx(
        (max(0, mean - half), min(1, mean + half))
    )
    assert "12 queries in 4 clusters" in str(intervals(scores, clusters=session))


def test_the_command_shows_them(tmp_path: Path, demo_folder: Path) -> None:
    demo = demo_folder / "demo"
    files = [str(demo / "qrels.txt"), str(demo / "bm25.run"), str(demo / "dense.run")]
    document = json.loads(
        invoke("evaluate", *files, "-m", "RR", "--intervals", "--format", "json").stdout
    )
    in_python = intervals(evaluate(files[0], files[1:], "RR"))
    assert document["means"] == in_python.rows()
    lines = "".join(f"q{i:02},s{i // 4}\n" for i in range(1, 41))
    (tmp_path / "s.csv").write_text(f"query_id,session\n{lines}")
    options = ["--intervals", "--clusters", str(tmp_path / "s.csv"), "--format", "table"]
    assert "40 queries in 11 clusters" in invoke("evaluate", *files, "-m", "RR", *options).stdout
    assert "add --intervals" in invoke("evaluate", *files, "--alpha", "0.1").stderr
    assert "does not go with --intervals" in invoke("evaluate", *files, "--intervals", "-q").stderr
