"""What people should label: pools, and parts of them drawn by chance."""

import csv
import json
import os
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.profile import repetitions, seeds
from scipy import stats

from cranfield import (
    InputError,
    MeasureError,
    OptionError,
    Qrels,
    evaluate,
    joint_bounds,
    pool,
    prediction_powered,
    read_qrels,
)
from cranfield.extensions.labels.pools.draw import draw_rows, proportional_chances

JUDGED = {"q1": {"d1": 1, "d9": 0}, "q2": {"d3": 1}, "q3": {"d4": 1}}
RUNS = {
    "a": {"q1": ["d1", "d2", "d3"], "q2": ["d3", "d5"], "q3": [], "other": ["d1"]},
    "b": {"q1": ["d2", "d4", "d1"], "q2": ["d3"]},
}


def pairs(pool_drawn: Any) -> list[tuple[str, str]]:
    return sorted((row["query_id"], row["doc_id"]) for row in pool_drawn.rows())


def test_a_pool_is_what_any_run_has_on_top() -> None:
    a_pool = pool(JUDGED, RUNS, k=2)
    q1, q2 = ("d1", "d2", "d4"), ("d3", "d5")
    assert pairs(a_pool) == [*(("q1", doc) for doc in q1), *(("q2", doc) for doc in q2)]
    assert (a_pool.n_queries, a_pool.n_pooled) == (2, 5)
    assert a_pool.header == ("query_id", "doc_id", "relevance")
    assert {row["relevance"] for row in a_pool.rows()} == {None}


def test_equal_scores_are_ranked_as_everywhere() -> None:
    run = {"q1": {"d1": 1.0, "d2": 1.0, "d3": 1.0}}
    assert pairs(pool(JUDGED, run, k=1)) == [("q1", "d3")]
    assert pairs(pool(JUDGED, run, k=1, ties="ascending")) == [("q1", "d1")]


def test_judged_documents_can_be_left_out() -> None:
    assert pairs(pool(JUDGED, RUNS, k=2, unjudged=True)) == [
        ("q1", "d2"),
        ("q1", "d4"),
        ("q2", "d5"),
    ]


def test_the_same_seed_draws_the_same_from_the_same_pool() -> None:
    options: dict[str, Any] = {"by": "chance", "n": 3, "k": 3}
    rows = pool(JUDGED, RUNS, **options).rows()
    assert (
        rows == pool(dict(reversed(JUDGED.items())), dict(reversed(RUNS.items())), **options).rows()
    )
    rows_of_seeds = [pool(JUDGED, RUNS, **options, seed=seed).rows() for seed in range(10)]
    assert any(other_rows != rows for other_rows in rows_of_seeds)


def test_documents_are_drawn_with_their_probabilities() -> None:
    """4,000 draws of 5 of 9: how often each is drawn, and always 5."""
    chance = proportional_chances(np.array([1, 1, 2, 2, 3, 4, 5, 6, 40.0]), 5)
    assert chance.sum() == pytest.approx(5)
    generator, n_trials = np.random.default_rng(1), repetitions(4_000)
    counts = np.zeros(9)
    for _ in range(n_trials):
        is_drawn = draw_rows(chance, generator)
        assert is_drawn.sum() == 5
        counts += is_drawn
    assert (counts >= stats.binom.ppf(0.00005, n_trials, chance)).all()
    assert (counts <= stats.binom.ppf(0.99995, n_trials, chance)).all()
    assert counts[chance == 1].tolist() == [n_trials] * int((chance == 1).sum())


def test_with_equal_probabilities_every_part_is_as_likely() -> None:
    generator, counts = np.random.default_rng(7), dict.fromkeys(combinations(range(5), 2), 0)
    for _ in range(repetitions(5_000)):
        rows = np.flatnonzero(draw_rows(proportional_chances(np.ones(5), 2), generator))
        counts[tuple(rows.tolist())] += 1  # type: ignore[index]
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


def test_probabilities_add_up_and_none_is_above_1() -> None:
    for n in range(1, 12):
        chances = proportional_chances(np.array([1, 2, 3, 4, 100, 200, 1, 1, 1.0]), n)
        assert chances.sum() == pytest.approx(min(n, 9))
        assert chances.max() <= 1
    sizes = np.array([1, 2, 3, 4, 100.0])
    assert proportional_chances(sizes, 3)[:4] == pytest.approx(2 * sizes[:4] / 10)


def test_by_rank_the_top_is_more_likely() -> None:
    run = {"q1": [f"d{i}" for i in range(8)]}
    a_pool = pool({"q1": {"d0": 1}}, run, by="chance", n=3, k=8, likely="rank")
    shares = 1 / np.log2(np.arange(8) + 2)
    expected = 3 * shares / shares.sum()
    for row in a_pool.rows():
        assert row["probability"] == pytest.approx(expected[int(row["doc_id"][1:])])


def test_queries_are_drawn_whole() -> None:
    runs = {"a": {f"q{i}": ["d1", "d2"] for i in range(10)}}
    a_pool = pool({f"q{i}": {"d1": 1} for i in range(10)}, runs, by="chance", n=4, draw="queries")
    assert a_pool.header[-1] == "query_probability"
    assert {row["query_probability"] for row in a_pool.rows()} == {0.4}
    queries = {row["query_id"] for row in a_pool.rows()}
    assert (len(queries), len(a_pool.rows())) == (4, 8)


def test_the_order_of_rows_hides_the_ranking() -> None:
    """Of 40 documents in the order of their ranks, rows are in another order."""
    run = {"q1": [f"d{i:02}" for i in range(40)]}
    docs = [row["doc_id"] for row in pool({"q1": {"d00": 1}}, run, k=40).rows()]
    assert sorted(docs) == run["q1"] != docs
    assert abs(stats.spearmanr([int(doc[1:]) for doc in docs], range(40)).statistic) < 0.5


def test_documents_whose_keys_of_chance_round_to_one_are_in_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beside the number of a query, the second key is no greater than the first."""
    small_keys = np.array([0.5, 2.0**-53, 0.0, 0.5 + 2.0**-53, 0.5])

    class Generator:
        def random(self, n: int) -> Any:
            return small_keys[:n]

    monkeypatch.setattr(np.random, "default_rng", lambda _: Generator())
    documents = pool({"q1": {"a": 1}, "q2": {"a": 1}}, [{"q1": ["a"], "q2": ["a", "b", "c", "d"]}])
    assert [row["doc_id"] for row in documents.rows()] == ["a", "b", "a", "d", "c"]


def test_where_fewer_are_there_all_are_drawn_and_it_is_said() -> None:
    a_pool = pool(JUDGED, RUNS, by="chance", n=99)
    assert len(a_pool.rows()) == a_pool.n_pooled
    assert {row["probability"] for row in a_pool.rows()} == {1.0}
    assert "there are no more" in str(a_pool)


def test_options_that_do_not_fit_are_refused() -> None:
    for options, text in (
        ({"by": "chance"}, "state n"),
        ({"n": 5}, "n=5 applies to by=chance, decide, move-to-front, and by="),
        ({"by": "decide", "k": 3}, "looks as deep as the measure"),
        ({"by": "decide", "seed": 3}, "draws nothing"),
        ({"by": "chance", "n": 3, "strata": "10=1"}, "leave n out"),
        ({"by": "chance", "k": 3, "strata": "10=1"}, "leave k out"),
        ({"by": "chance", "draw": "queries", "strata": "10=1"}, "leave draw out"),
        ({"by": "chance", "strata": "10=2"}, "ranks and the share"),
        ({"by": "chance", "strata": "10=1,5=1"}, "ranks rise"),
        ({"by": "chance", "strata": "5=0"}, "above 0"),
        ({"by": "chance", "strata": "5=nan"}, "above 0"),
        ({"by": "chance", "strata": "x"}, "ranks and the share"),
        ({"by": "chance", "strata": {}}, "ranks and the share"),
        ({"by": "chance", "strata": {1.5: 1}}, "ranks and the share"),
        ({"strata": "10=1"}, "state by='chance', too"),
        ({"by": "move-to-front", "unjudged": True}, "leave unjudged out"),
        ({"by": "fusion", "scores_above": 1.0}, "scores_above applies to single runs"),
        ({"by": "chance", "n": 5, "draw": "queries", "likely": "rank"}, "queries are equally"),
        ({"by": "rank"}, "by='rank'"),
        ({"by": "bandit"}, "by='bandit'"),
        ({"k": 0}, "k=0"),
        ({"by": "chance", "n": 0}, "n=0"),
    ):
        pool_options: dict[str, Any] = options
        with pytest.raises(OptionError, match=text):
            pool(JUDGED, RUNS, **pool_options)
    with pytest.raises(InputError, match="share no query"):
        pool({"z": {"d": 1}}, RUNS)
    with pytest.raises(InputError, match="nothing is left to label"):
        pool({"q1": {"d1": 1}}, {"q1": ["d1"]}, unjudged=True)


@pytest.mark.parametrize("draw", ["documents", "queries"])
def test_the_file_that_was_filled_in_is_read_back(
    draw: str, demo_folder: Path, tmp_path: Path
) -> None:
    qrels_path, run_path = str(demo_folder / "demo/qrels.txt"), str(demo_folder / "demo/bm25.run")
    labels = tmp_path / "labels.csv"
    n = "15" if draw == "queries" else "200"
    drawing = ["--by", "chance", "-n", n, "--draw", draw, "-o", str(labels)]
    outcome = invoke("pool", qrels_path, run_path, *drawing)
    assert outcome.exit_code == 0, outcome.output
    assert f"{int(n):,}" in outcome.output
    with labels.open() as stream:
        rows = list(csv.DictReader(stream))
    outcome_of_empty = invoke("evaluate", qrels_path, run_path, "-m", "P@5", "--human", str(labels))
    assert outcome_of_empty.exit_code == 2
    assert "labels.csv:2: expected a number as the grade" in outcome_of_empty.output
    assert "All that was drawn needs a label, and its probability" in outcome_of_empty.output
    grades_of_query = read_qrels(qrels_path).to_dict()
    for row in rows:
        row["relevance"] = str(grades_of_query[row["query_id"]].get(row["doc_id"], 0))
    with labels.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    args = [qrels_path, run_path, "-m", "P@5", "--human", str(labels), "--format", "json"]
    (estimate,) = json.loads(invoke("evaluate", *args).output)["estimates"]
    direct_estimate = prediction_powered(grades_of_query, run_path, "P@5", human=str(labels)).means[
        "P@5"
    ]["bm25"]
    assert (estimate["mean"], estimate["lam"], estimate["labelled"]) == (
        direct_estimate.mean,
        direct_estimate.lam,
        int(n),
    )
    # People agree with the model here, so that the estimate is near what all labels say.
    assert estimate["low"] <= estimate["model"] <= estimate["high"]


def test_ids_that_are_odd_come_back(tmp_path: Path) -> None:
    run = {'q,"1': ["a,b", 'c"d', "=1+1"]}
    a_pool = pool({'q,"1': {"a,b": 1}}, run)
    rows = list(csv.DictReader(a_pool.to_csv().splitlines()))
    assert {(row["query_id"], row["doc_id"]) for row in rows} == {
        ('q,"1', doc) for doc in run['q,"1']
    }
    for row in rows:
        row["relevance"] = "1"
    path = tmp_path / "labels.csv"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert read_qrels(path).to_dict() == {'q,"1': dict.fromkeys(sorted(run['q,"1']), 1)}


def test_what_cannot_be_drawn_or_is_not_enough_is_told() -> None:
    a_pool = pool(JUDGED, RUNS, by="chance", draw="queries", n=1)
    codes = {note.code: note.text for note in a_pool.notes}
    assert codes["nothing-pooled"].startswith("1 of 3 queries of the judgments have no pooled")
    assert "nDCG, AP and R depend on relevant documents that no run found" in str(a_pool)
    assert "--human" in str(a_pool)
    unjudged_pool = pool(JUDGED, RUNS, by="chance", n=2, unjudged=True)
    assert "--human" not in str(unjudged_pool)
    for options in ({"draw": "queries"}, {"likely": "rank"}):
        with pytest.raises(OptionError, match="state by='chance', too"):
            pool(JUDGED, RUNS, **options)  # type: ignore[arg-type]


def test_ids_of_the_file_for_labelling_are_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 =d 1 1 a\n")
    (tmp_path / "a.qrels").write_text("q1 0 =d 1\n")
    outcome = invoke(
        "pool",
        f"{tmp_path}/a.qrels",
        f"{tmp_path}/a.run",
        "--formulas",
        "quoted",
        "--format",
        "csv",
    )
    assert outcome.exit_code == 2
    assert "the labels are to be read back" in outcome.stderr


def test_labels_of_documents_go_with_judgments_of_chunks(tmp_path: Path) -> None:
    queries = [f"q{i}" for i in range(6)]
    (tmp_path / "a.run").write_text(
        "".join(f"{q} Q0 d{i}#1 1 1 a\n" for i, q in enumerate(queries))
    )
    model = "".join(f"{q} 0 d{i}#1 {i % 2}\n" for i, q in enumerate(queries))
    (tmp_path / "a.qrels").write_text(model)
    map_options = ("--map-docs-pattern", "(.*)#", "--map-qrels")
    files = (f"{tmp_path}/a.qrels", f"{tmp_path}/a.run")
    labels = f"{tmp_path}/labels.csv"
    invoke(
        "pool", *files, *map_options, "--by", "chance", "--draw", "queries", "-n", "4", "-o", labels
    )
    label_text = Path(labels).read_text().replace(",,", ",1,")
    assert "d0," in label_text or "d1," in label_text
    Path(labels).write_text(label_text)
    outcome = invoke(
        "evaluate", *files, *map_options, "-m", "P@1", "--human", labels, "--format", "json"
    )
    assert outcome.exit_code == 0
    assert json.loads(outcome.stdout)["estimates"][0]["human"] == 1.0


def test_a_file_that_is_not_read_back_is_refused(demo_folder: Path, tmp_path: Path) -> None:
    demo = demo_folder / "demo"
    args = ["pool", str(demo / "qrels.txt"), str(demo / "bm25.run"), "-k", "3"]
    for suffix in ("txt", "md", "json"):
        outcome = invoke(*args, "-o", str(tmp_path / f"labels.{suffix}"))
        assert outcome.exit_code == 2
        assert "labels are read back from .csv, .tsv and .jsonl" in outcome.output
    for suffix in ("csv", "tsv", "jsonl"):
        assert invoke(*args, "-o", str(tmp_path / f"labels.{suffix}")).exit_code == 0


@pytest.mark.parametrize(
    ("by", "weight"), [("fusion", lambda r: 1 / (60 + r)), ("rbp", lambda r: 0.8**r)]
)
def test_the_first_of_the_runs_fused(by: Any, weight: Any) -> None:
    chance = np.random.default_rng(4)
    docs = [f"d{i:02}" for i in range(30)]
    runs = {
        name: {q: [docs[i] for i in chance.permutation(30)[:20]] for q in ("q1", "q2")}
        for name in "abc"
    }
    judged = {"q1": {"d00": 1}, "q2": {"d01": 1}}
    a_pool = pool(judged, runs, by=by, k=7)
    for query in judged:
        total: dict[str, float] = {}
        for run in runs.values():
            for rank, doc in enumerate(run[query], 1):
                total[doc] = total.get(doc, 0) + (1 / (60 + rank) if by == "fusion" else 0.8**rank)
        best = sorted(sorted(total, reverse=True), key=lambda doc: -total[doc])[:7]
        pool_docs = [d for q, d in zip(a_pool.query_ids, a_pool.doc_ids, strict=True) if q == query]
        assert sorted(pool_docs) == sorted(best)
    assert f"Pool of 3 runs by {'their fusion' if by == 'fusion' else 'RBP'}, 7 deep" in str(a_pool)
    with pytest.raises(InputError, match="one run"):
        pool(judged, {"a": runs["a"]}, by=by)
    with pytest.raises(OptionError, match="takes all"):
        pool(judged, runs, by=by, n=3)


def test_queries_without_a_pooled_document_are_told() -> None:
    a_pool = pool({"q1": {"a": 1}, "q2": {"a": 1}}, {"r": {"Q1": ["a"], "q2": ["a"]}}, k=5)
    assert "1 of 2 queries of the judgments have no document in any run" in str(a_pool)


def small(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, list[str]]]]:
    """Return judgments with gaps, and two runs of two queries."""
    chance = np.random.default_rng(seed)
    docs = [f"d{i}" for i in range(6)]
    runs = {
        name: {q: [docs[i] for i in chance.permutation(6)[:4]] for q in ("q1", "q2")}
        for name in ("one", "two")
    }
    judged = {
        q: {doc: int(chance.integers(0, 2)) for doc in docs if chance.random() < 0.5} | {"x": 1}
        for q in ("q1", "q2")
    }
    return judged, runs


@pytest.mark.parametrize("measure", ["P@3", "nDCG@3", "DCG@4", "RBP@4"])
@pytest.mark.parametrize("seed", seeds(12))
def test_what_decides_by_brute_force(seed: int, measure: str) -> None:
    """Judged in this order, for any grades, a certified sign is that of every completion."""
    judged, runs = small(seed)
    a_pool = pool(judged, runs, by="decide", measure=measure)
    pairs = list(zip(a_pool.query_ids, a_pool.doc_ids, strict=True))
    assert len(pairs) == len(set(pairs))
    assert not any(doc in judged[q] for q, doc in pairs)

    def differences(
        grades_of_query: dict[str, dict[str, int]], unjudged_pairs: list[tuple[str, str]]
    ) -> list[float]:
        differences_of_grades = []
        for grades in product((0, 1), repeat=len(unjudged_pairs)):
            complete_grades = {q: dict(grades) for q, grades in grades_of_query.items()}
            for (q, doc), grade in zip(unjudged_pairs, grades, strict=True):
                complete_grades[q][doc] = grade
            means = [
                evaluate(Qrels(complete_grades, top_grade=1), run, measure)[measure]
                for run in runs.values()
            ]
            differences_of_grades.append(means[0] - means[1])
        return differences_of_grades

    grades_of_query, other_pairs = {q: dict(grades) for q, grades in judged.items()}, pairs[7:]
    for q, doc in other_pairs:  # fewer completions to try
        grades_of_query[q][doc] = 0
    pairs = pairs[:7]
    chance = np.random.default_rng(100 + seed)
    for n in range(len(pairs) + 1):
        next_pool = pool(grades_of_query, runs, by="decide", measure=measure)
        bounds = next(note.text for note in next_pool.notes if note.code == "bounds")
        is_certain = any("can change which is better" in note.text for note in next_pool.notes)
        possible_differences = differences(grades_of_query, pairs[n:])
        signs = {int(np.sign(round(difference, 9))) for difference in possible_differences}
        assert is_certain == (signs in ({1}, {-1})), bounds
        if n < len(pairs):
            q, doc = pairs[n]
            grades_of_query = {
                **grades_of_query,
                q: {**grades_of_query[q], doc: int(chance.integers(0, 2))},
            }


@pytest.mark.parametrize("measure", ["P@3", "nDCG@3", "DCG@4"])
@pytest.mark.parametrize("seed", seeds(12))
def test_so_many_that_are_not_relevant_are_enough(seed: int, measure: str) -> None:
    judged, runs = small(seed)
    a_pool = pool(judged, runs, by="decide", measure=measure)
    (note,) = [note for note in a_pool.notes if note.code == "decided"]
    if note.count is None:
        return
    for n in range(note.count + 1):
        more_grades = {q: dict(grades) for q, grades in judged.items()}
        for q, doc in list(zip(a_pool.query_ids, a_pool.doc_ids, strict=True))[:n]:
            more_grades[q][doc] = 0
        robust = bool(joint_bounds(Qrels(more_grades, top_grade=1), runs, measure).robust[0])
        assert robust == (n >= note.count)


def test_the_first_weighs_most() -> None:
    judged = {"q1": {"a": 1}}
    runs = {"one": {"q1": ["u", "a", "v"]}, "two": {"q1": ["a", "v", "w"]}}
    a_pool = pool(judged, runs, by="decide", measure="DCG@3")
    # u: 1 in one; v: 1 / log2(4) in one, 1 / log2(3) in two; w: 1 / log2(4) in two.
    assert list(a_pool.doc_ids) == ["u", "w", "v"]
    assert "What decides between two runs" in str(a_pool)
    assert pool(judged, runs, by="decide", measure="DCG@3", n=1).doc_ids == ["u"]
    with pytest.raises(InputError, match="takes two runs, and there are 3"):
        pool(judged, {**runs, "three": runs["one"]}, by="decide")
    with pytest.raises(MeasureError, match="AP: which documents decide is known for measures"):
        pool(judged, runs, by="decide", measure="AP")
    with pytest.raises(OptionError, match="state by='decide', too"):
        pool(judged, runs, measure="AP")
    with pytest.raises(OptionError, match="leave unjudged out"):
        pool(judged, runs, by="decide", unjudged=True)
    certain_pool = pool({"q1": {"a": 1, "u": 0, "v": 0, "w": 0}}, runs, by="decide", measure="P@1")
    assert "No judgment can change which is better on these queries" in str(certain_pool)


def test_the_order_of_what_decides_is_the_same_in_every_process(demo_folder: Path) -> None:
    """Of documents that weigh the same, too."""
    command = [sys.executable, "-m", "cranfield", "pool", "demo/qrels.txt", "demo/bm25.run"]
    command += ["demo/tfidf.run", "--by", "decide", "-m", "P@20", "--format", "csv"]
    outputs = {
        subprocess.run(
            command,
            cwd=demo_folder,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
