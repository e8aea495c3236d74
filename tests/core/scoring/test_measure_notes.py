"""Notes on what tied documents and the lengths of lists do to the measures that are printed."""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.notes import codes, find_note

from cranfield import check, compare, evaluate, gate
from cranfield.scoring import measure_notes

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")

Grades = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]


# ---- ties ---------------------------------------------------------------------------------------


def list_orders(ranking: Mapping[str, float]) -> Iterator[list[str]]:
    """Every order of a ranking's documents in which scores fall."""
    falling = sorted(ranking, key=lambda doc: -ranking[doc])
    ties = [[*docs] for _, docs in groupby(falling, key=lambda doc: ranking[doc])]
    for orders in product(*map(permutations, ties)):
        yield [doc for order in orders for doc in order]


def find_extreme_means(
    qrels: Grades, run: Scores, measures: str, **options: Any
) -> dict[str, tuple[float, float]]:
    """{measure: the lowest and the highest mean} of all orders of tied documents: a slow loop.

    Each order is a query of its own, of a run that is a list.
    """
    ends_of_queries = []
    for query, ranking in run.items():
        orders = {f"{query} {i}": order for i, order in enumerate(list_orders(ranking))}
        judged = dict.fromkeys(orders, qrels[query])
        values = evaluate(judged, orders, measures, **options).values
        ends_of_queries.append((values.min(axis=0), values.max(axis=0)))
    low, high = np.mean(ends_of_queries, axis=0)
    return dict(zip(measures.split(), zip(low, high, strict=True), strict=True))


def read_ranges(result: Any) -> dict[str, tuple[float, float]]:
    """{measure: (lowest, highest mean)} as the warnings on ties say."""
    texts = [note.text for note in result.notes if note.code == "ties" and note.is_grave]
    found = re.findall(r"(\S+) (\d\.\d{4}) to (\d\.\d{4})", "\n".join(texts))
    return {measure: (float(low), float(high)) for measure, low, high in found}


MEASURES = "nDCG nDCG@3 nDCG(gain='exp2')@4 AP AP(rel=2) AP@3 RR RR(rel=2)@2 P@1 P@R R@2 R(rel=2)@4"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "options", [{}, {"depth": 4}, {"judged_only": True}, {"ties": "ascending"}]
)
def test_no_order_of_tied_documents_is_beyond_the_range(seed: int, options: dict[str, Any]) -> None:
    random = np.random.default_rng(seed)
    queries, docs = [f"q{i}" for i in range(3)], list("abcdefg")
    qrels = {
        q: {d: int(g) for d, g in zip(docs[1:], random.integers(-1, 4, 6), strict=True)}
        for q in queries
    }
    run = {
        q: {d: float(s) for d, s in zip(docs, random.integers(0, 3, 7), strict=True)}
        for q in queries
    }
    for query in queries:
        qrels[query]["z"] = 1  # which was not retrieved
    order_options = {name: value for name, value in options.items() if name != "ties"}
    n_noted = 0
    for measure, (low, high) in find_extreme_means(qrels, run, MEASURES, **order_options).items():
        scores = evaluate(qrels, run, measure, **options)
        mean = scores[measure]
        is_noted = max(mean - low, high - mean) > 0.005 + 1e-9
        ends = pytest.approx((low, high), abs=0.5e-4 + 1e-9)
        assert read_ranges(scores) == ({measure: ends} if is_noted else {})
        n_noted += is_noted
    assert n_noted > 3


def test_a_known_run_of_rounded_scores(data: Path) -> None:
    """RepLLaMA's run of DL'19: nDCG@10 is between .7340 and .7505, by the order of its ties."""
    files = str(data / "dl19" / "qrels.txt"), str(data / "dl19" / "repllama.run.gz")
    note = find_note(evaluate(*files, "nDCG@10").notes, "ties")
    assert note.severity == "warning"
    assert note.text == (
        "42,360 documents are tied and allow nDCG@10 0.7340 to 0.7505. "
        "--order rank takes the rank column, --ties expected averages."
    )
    mean_of_ties: dict[Any, str] = {"worst": "0.7340", "best": "0.7505"}
    for ties, mean in mean_of_ties.items():
        assert f"{evaluate(*files, 'nDCG@10', ties=ties)['nDCG@10']:.4f}" == mean
    bm25 = str(data / "dl19" / "bm25.run.gz")
    comparison = compare(files[0], [bm25, files[1]], "nDCG@10")
    assert "repllama: 42,360 documents are tied and allow nDCG@10 0.7340" in str(comparison)
    finding = find_note(check(*files).findings, "ties")
    assert finding.text.endswith(". --order rank takes the rank column, --ties expected averages.")


def build_tied_run(n_queries: int, n_docs: int, n_tied: int = 2) -> tuple[Grades, Scores]:
    """Judgments, and a run whose first documents are tied; the last of these by its id counts."""
    ranking = {f"d{i:03}": float(-max(i, n_tied - 1)) for i in range(n_docs)}
    queries = [f"q{i}" for i in range(n_queries)]
    return {q: {"d000": 1, "z": 1} for q in queries}, {q: {**ranking} for q in queries}


@pytest.mark.parametrize(
    ("measure", "n_docs", "is_noted"),
    [
        ("RR", 20, True),  # 2 of 20 documents
        ("RR", 21, False),
        ("RR@10", 21, True),  # 2 of the first 10
        ("RR@10", 300, True),
        ("RR@21", 300, False),
        ("R@1", 300, True),
        ("ERR", 20, False),  # of which nothing is promised
    ],
)
def test_only_where_a_tenth_of_the_first_documents_are_tied(
    measure: str, n_docs: int, is_noted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, run = build_tied_run(5, n_docs)
    assert bool(read_ranges(evaluate(qrels, run, measure))) == is_noted
    rows = [(q, d, s) for q, ranking in run.items() for d, s in ranking.items()]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    assert bool(read_ranges(evaluate(qrels, frame, measure))) == is_noted
    if not is_noted:  # then it was not looked at

        def refuse(*_: Any) -> None:
            raise AssertionError

        monkeypatch.setattr(measure_notes, "judge_match", refuse)
        assert not read_ranges(evaluate(qrels, frame, measure))


@pytest.mark.parametrize(("n_queries", "is_noted"), [(20, False), (19, True)])
def test_only_where_a_mean_moves_by_more_than_a_two_hundredth(
    n_queries: int, is_noted: bool
) -> None:
    """One query of 19 has 1 or 2 tenths, 18 have 1: the mean moves by .1 / 19; of 20, by .005."""
    queries = [f"q{i:02}" for i in range(n_queries)]
    run = {q: {f"d{i:02}": float(-min(i, 9)) for i in range(11)} for q in queries}
    qrels: Grades = {q: {"d00": 1, "z": 1} for q in queries}
    qrels["q00"] = {"d00": 1, "d09": 1}  # tied with d10, which is before it
    ends = 0.1, (18 * 0.1 + 0.2) / 19
    ranges = read_ranges(evaluate(qrels, run, "P@10"))
    assert ranges == ({"P@10": pytest.approx(ends, abs=0.5e-4)} if is_noted else {})


def test_options_are_named_where_they_help(tmp_path: Path) -> None:
    qrels, run = build_tied_run(5, 10)
    rows = [
        (query, doc, score, rank)
        for query, ranking in run.items()
        for rank, (doc, score) in enumerate(ranking.items(), 1)
    ]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score", "rank"])
    ranked = find_note(evaluate(qrels, frame, "RR").notes, "ties").text
    assert ranked == (
        "10 documents are tied and allow RR 0.5000 to 1.0000. "
        "--order rank takes the rank column, --ties expected averages."
    )
    assert evaluate(qrels, frame, "RR", order="rank")["RR"] == 1
    assert evaluate(qrels, frame, "RR", ties="expected")["RR"] == (1 + 1 / 2) / 2
    unranked = find_note(evaluate(qrels, frame.drop(columns="rank"), "RR").notes, "ties").text
    assert unranked.endswith("0.5000 to 1.0000. --ties expected averages.")
    both = find_note(evaluate(qrels, frame, "RR ERR@10").notes, "ties").text
    assert both.endswith("--order rank takes the rank column."), "ERR has no mean of all orders"


@pytest.mark.parametrize(
    "options", [{"ties": "given"}, {"ties": "expected"}, {"ties": "best"}, {"ties": "worst"}]
)
def test_an_order_that_was_asked_for_is_no_surprise(options: dict[str, Any]) -> None:
    qrels, run = build_tied_run(5, 10)
    assert read_ranges(evaluate(qrels, run, "RR"))
    result = evaluate(qrels, run, "RR", **options)
    assert not read_ranges(result)
    assert not [note for note in result.notes if note.is_grave]


def test_equal_scores_throughout_are_warned_of_once() -> None:
    qrels, run = build_tied_run(5, 4, n_tied=4)
    notes = evaluate(qrels, run, "RR P@1").notes
    assert [note.code for note in notes if note.is_grave] == ["level-scores"]


def test_tied_ranks_count_as_tied_scores() -> None:
    qrels, run = build_tied_run(5, 10)
    rows = [(q, d, 1 - s) for q, ranking in run.items() for d, s in ranking.items()]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "rank"])
    assert read_ranges(evaluate(qrels, frame, "RR")) == {"RR": (0.5, 1)}
    assert not read_ranges(evaluate(qrels, frame, "RR", order="rank")), "which was asked for"


def test_one_line_says_it_of_each_system() -> None:
    qrels, run = build_tied_run(6, 10)
    good = {query: {doc: -int(doc[1:]) for doc in ranking} for query, ranking in run.items()}
    comparison = compare(qrels, {"good": good, "tied": run}, "RR P@1")
    lines = [line for line in str(comparison).splitlines() if "are tied" in line]
    assert len(lines) == 1
    assert lines[0].startswith(
        "Warning: tied: 12 documents are tied and allow RR 0.5000 to 1.0000, "
    )


# ---- lengths ------------------------------------------------------------------------------------


def build_lists(lengths: list[int], n_judged: int = 200) -> tuple[Grades, Scores]:
    """Judgments, and a run that has as many documents for each query."""
    qrels = {f"q{i}": {f"d{j}": 1 for j in range(0, n_judged, 7)} for i in range(len(lengths))}
    run = {f"q{i}": {f"d{j}": float(-j) for j in range(n)} for i, n in enumerate(lengths)}
    return qrels, run


@pytest.mark.parametrize(
    ("lengths", "measures", "text"),
    [
        ([100] * 4, "R@1000", "R@1000: at least half of the lists end at rank 100."),
        (
            [100] * 4,
            "nDCG@10 R@100 P@101",
            "P@101: at least half of the lists end at rank 100.",
        ),
        (
            [5, 5, 9, 70],
            "P@5 P@10 nDCG@20",
            "P@10, nDCG@20: at least half of the lists end at rank 5.",
        ),
        ([5, 5, 0, 0], "P@10", "P@10: at least half of the lists end at rank 5."),
        ([5, 5, 9, 70, 71], "P@10", None),  # less than half
        ([5, 9, 70, 71], "P@10", None),
        ([100] * 4, "AP nDCG RR R@100 P@10 SetF", None),
        ([1000] * 3, "R@1000", None),
    ],
)
def test_lists_that_end_above_a_cutoff(lengths: list[int], measures: str, text: str | None) -> None:
    qrels, run = build_lists(lengths)
    rows = [(q, d, s) for q, ranking in run.items() for d, s in ranking.items()]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    for form in (run, frame):
        notes = [note for note in evaluate(qrels, form, measures).notes if note.code == "depth"]
        assert [note.text for note in notes] == ([] if text is None else [text])
        assert [note.severity for note in notes] == ["info"] * len(notes)


def test_lists_that_cannot_be_longer_are_long_enough() -> None:
    qrels, run = build_lists([100] * 4)
    assert "depth" in codes(evaluate(qrels, run, "R@1000"))
    assert "depth" not in codes(evaluate(qrels, run, "R@1000", depth=50)), "it was asked for"
    qrels, run = build_lists([100] * 4, n_judged=50)  # all of them are retrieved
    assert "depth" not in codes(evaluate(qrels, run, "R@1000"))


def test_expected_documents_of_short_lists() -> None:
    rows: Any = [
        {"query_id": f"q{i}", "expected_ids": ["a", "z"], "retrieved_ids": ["b", "x", "y"]}
        for i in range(6)
    ]
    note = find_note(evaluate(rows, "R@5").notes, "depth")
    assert note.text == "R@5: at least half of the lists end at rank 3."
    assert "depth" not in codes(evaluate(rows, "R@3"))


@pytest.mark.parametrize(
    ("lengths", "measures", "named"),
    [
        ((100, 20), "R@1000", "R@1000"),
        ((1000, 100), "R@1000 nDCG@10", "R@1000"),
        ((100, 20), "AP nDCG@10 nDCG@50 P@30", "nDCG@50, P@30"),
        ((10, 9), "P@10", "P@10"),
        ((100, 20), "RR@10 P@20", None),
        ((100, 95), "R@1000", None),  # nearly alike
        ((100, 20), "SetF", None),  # how long a set is, is the system's choice
        ((30, 30), "P@50", None),
    ],
)
def test_systems_whose_lists_end_at_different_ranks(
    lengths: tuple[int, int], measures: str, named: str | None
) -> None:
    deep, short = lengths
    qrels, run = build_lists([deep] * 8)
    short_run = {query: dict([*ranking.items()][:short]) for query, ranking in run.items()}
    systems = evaluate(qrels, {"bm25": run, "short": short_run}, measures)
    notes = [note for note in systems.notes if note.code == "depth" and note.is_grave]
    text = (
        f"{named}: bm25 has {deep:,}; short has {short} documents a query. "
        f"--depth {short} cuts all alike."
    )
    assert [note.text for note in notes] == ([] if named is None else [text])
    if named is not None:
        assert codes(systems).count("depth") == 1, "a reader is told once"
        cut = evaluate(qrels, {"bm25": run, "short": short_run}, measures, depth=short)
        assert "depth" not in codes(cut)


def test_every_verb_says_that_systems_end_at_different_ranks(write: Any) -> None:
    qrels, run = build_lists([40] * 8)
    paths = []
    for name, n in (("bm25", 20), ("deep", 40), ("dense", 20)):
        rows = [
            f"{query} Q0 {doc} {rank} {score} t\n"
            for query, ranking in run.items()
            for rank, (doc, score) in enumerate([*ranking.items()][:n], 1)
        ]
        paths.append(write(f"{name}.run", "".join(rows)))
    judged = [f"{query} 0 {doc} 1\n" for query, docs in qrels.items() for doc in docs]
    judgments = write("qrels.txt", "".join(judged))
    text = "R@1000: deep has 40; bm25, dense have 20 documents a query. --depth 20 cuts all alike."
    for result in (
        evaluate(judgments, paths, "R@1000"),
        compare(judgments, paths, "R@1000"),
        gate(judgments, paths, baseline=paths[0], measures="R@1000", margin=0.05),
    ):
        assert text in str(result)
        assert str(result).count("documents a query") == 1
    report = check(judgments, paths)
    assert find_note(report.findings, "depth").severity == "warning"
    assert "R@40: " in find_note(report.findings, "depth").text
    assert str(report).count("20 documents in most lists") == 2
    assert str(report).count("20 documents a query") == 1
    assert "depth" not in [note.code for note in check(judgments, paths[0]).findings]


def test_systems_of_many_lengths() -> None:
    qrels, run = build_lists([100] * 4)
    runs = {
        f"s{n}": {query: dict([*ranking.items()][:n]) for query, ranking in run.items()}
        for n in (20, 50, 100)
    }
    runs["uneven"] = {q: dict([*run[q].items()][: 3 + i]) for i, q in enumerate(run)}
    text = find_note(evaluate(qrels, runs, "R@80").notes, "depth").text
    assert text.startswith("R@80: s100 has 100; s50 has 50; s20 has 20 documents a query.")


# ---- ranks with gaps ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranks", "n"),
    [
        ({"q": [9], "p": [1]}, 1),
        ({"q": [1, 2, 5], "p": [3, 1, 7]}, 2),
        ({"q": [0, 1, 3], "p": [0, 1, 2]}, 1),
        ({"q": [2, 3], "p": [1, 2]}, 1),
        ({"q": [1, 2, 3], "p": [2, 1]}, 0),
        ({"q": [0, 1, 2], "p": [1, 2]}, 0),
        ({"q": [1, 1, 3], "p": [1, 2, 2]}, 0),  # documents share a rank
        ({"q": [1, 1, 4], "p": [1]}, 1),
    ],
)
def test_ranks_with_gaps_are_counted(ranks: dict[str, list[int]], n: int) -> None:
    rows = [
        {"query_id": query, "doc_id": f"d{i}", "rank": rank, "score": 50.0 - rank}
        for query, all_ranks in ranks.items()
        for i, rank in enumerate(all_ranks)
    ]
    qrels, frame = {"q": {"d0": 1}, "p": {"d0": 1}}, pd.DataFrame(rows)
    forms: list[tuple[Any, Any]] = [(frame, {"order": "rank"}), (frame.drop(columns="score"), {})]
    for run, options in forms:
        notes = evaluate(qrels, run, "P@3", **options).notes
        gap_notes = [note for note in notes if note.code == "rank-gaps"]
        assert [(note.queries, note.severity) for note in gap_notes] == [(n, "info")] * (n > 0)
        assert all("have gaps" in note.text for note in gap_notes)
    assert "rank-gaps" not in codes(evaluate(qrels, frame, "P@3")), "scores rank it"
    findings = [note.code for note in check(qrels, frame.drop(columns="score")).findings]
    assert ("rank-gaps" in findings) == (n > 0)


def test_ranks_that_close_by_an_option_have_no_gaps() -> None:
    rows = [("q", "q", 1), ("q", "a", 2), ("q", "b", 3), ("q", "a", 4), ("q", "c", 5)]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "rank"])
    options: dict[str, Any] = {"identical_ids": "drop", "duplicates": "first"}
    assert "rank-gaps" not in codes(evaluate({"q": {"a": 1}}, frame, "RR", **options))


def test_rows_that_stand_apart_have_no_gaps() -> None:
    rows = [(f"q{i % 2}", f"d{i}", 1 + i // 2) for i in range(20)]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "rank"])
    qrels = {"q0": {"d0": 1}, "q1": {"d3": 1}}
    assert "rank-gaps" not in codes(evaluate(qrels, frame, "RR"))
