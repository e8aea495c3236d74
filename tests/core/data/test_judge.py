"""judge: one ranking, one tie rule, one rule for queries, no matter what form the data has."""

import math
import random
import threading
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers import oracle
from helpers.profile import seeds
from hypothesis import given
from hypothesis import strategies as st

from cranfield import InputError, OptionError, Qrels, Run, evaluate, read_qrels, read_run
from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Ranked
from cranfield.data import match
from cranfield.data.judge import judge
from cranfield.data.judging import Judging
from cranfield.data.meeting import MatchedRun
from cranfield.formats import lines, text
from cranfield.formats.block import SIZES


def run_text(run: oracle.Run) -> str:
    return "".join(f"{q} Q0 {d} 0 {s!r} t\n" for q, docs in run.items() for d, s in docs.items())


def qrels_text(qrels: oracle.Qrels) -> str:
    return "".join(f"{q} 0 {d} {g}\n" for q, docs in qrels.items() for d, g in docs.items())


def columns(data: Any, value: str) -> dict[str, list[Any]]:
    rows = [(q, d, v) for q, docs in data.items() for d, v in docs.items()]
    return {
        "query_id": [q for q, _, _ in rows],
        "doc_id": [d for _, d, _ in rows],
        value: [v for _, _, v in rows],
    }


def flat(matched_run: MatchedRun) -> Any:
    def to_rows(ranked: Ranked) -> list[list[int]]:
        return [ranked.query.tolist(), ranked.rank.tolist(), ranked.grade.tolist()]

    judged = matched_run.judged
    return (
        list(matched_run.query_ids),
        to_rows(judged.hits),
        to_rows(judged.ideal),
        judged.n_retrieved.tolist(),
        judged.top_grade,
        matched_run.counts,
    )


def expected(qrels: oracle.Qrels, run: oracle.Run) -> list[list[int]]:
    """The hits, by the slow way: query, rank and grade."""
    rows = []
    rankings = oracle.grade_rankings(qrels, run)
    for i, query in enumerate(sorted(rankings, key=str.encode)):
        for rank, grade in enumerate(rankings[query][0], 1):
            if grade is not None:
                rows.append((i, rank, grade))
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], []]


def filled_collection(seed: int) -> tuple[oracle.Qrels, oracle.Run]:
    """Return a collection without the queries for which nothing was retrieved."""
    qrels, run = oracle.make_collection(seed)
    answered_run = {query: docs for query, docs in run.items() if docs}
    assert qrels.keys() & answered_run.keys(), "one without a query in both tests nothing"
    return qrels, answered_run


@pytest.mark.parametrize("seed", seeds(60, step=9))
def test_every_form_of_the_data_is_ranked_the_same(
    seed: int, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, answered_run = filled_collection(seed)
    first = flat(judge(Qrels(qrels), Run(answered_run)))
    assert first[1] == expected(qrels, answered_run)
    frames = [pd.DataFrame, pl.DataFrame, pa.table]
    pairs: list[tuple[Qrels, Run]] = [
        (Qrels(frame(columns(qrels, "relevance"))), Run(frame(columns(answered_run, "score"))))
        for frame in frames
    ]
    files = write("qrels", qrels_text(qrels)), write("run", run_text(answered_run))
    pairs += [
        (read_qrels(files[0]), read_run(files[1])),
        (Qrels(qrels), read_run(files[1])),
        (read_qrels(files[0]), Run(answered_run)),
    ]
    for judgments, run_form in pairs:
        assert flat(judge(judgments, run_form)) == first
    monkeypatch.setattr(SIZES, "tail", 60)
    chance = np.random.default_rng(seed)
    for size in (120, 150, 2 << 20):
        monkeypatch.setattr(SIZES, "bytes", size)
        assert flat(judge(read_qrels(files[0]), read_run(files[1]))) == first
        lines = qrels_text(qrels).splitlines(True), run_text(answered_run).splitlines(True)
        texts = ["".join(chance.permutation(lines_of_file)) for lines_of_file in lines]
        shuffled_paths = write("qrels in no order", texts[0]), write("run in no order", texts[1])
        assert flat(judge(read_qrels(shuffled_paths[0]), read_run(shuffled_paths[1]))) == first


@pytest.mark.parametrize("seed", range(15))
def test_a_run_that_finds_all_that_is_judged_in_another_order(seed: int, write: Any) -> None:
    """Ids of one length, every judged document retrieved, as a reranker's run is."""
    chance = np.random.default_rng(seed)
    size = [1, 3, 8, 9, 16][seed % 5]
    names = [f"{i:0{size}}"[-size:] for i in range(10)]
    docs = {f"q{i}": list(chance.permutation(names)) for i in range(1 + seed % 12)}
    qrels = {
        q: {str(d): int(chance.integers(0, 3)) for d in query_docs}
        for q, query_docs in docs.items()
    }
    run = {
        q: {
            str(d): float(s) for d, s in zip(chance.permutation(query_docs), range(10), strict=True)
        }
        for q, query_docs in docs.items()
    }
    first = flat(judge(Qrels(qrels), Run(run)))
    assert first[1] == expected(qrels, run)
    path, table = write("run", run_text(run)), pa.table(columns(run, "score"))
    judged = [Qrels(qrels), Qrels(pa.table(columns(qrels, "relevance")))]
    judged.append(read_qrels(write("qrels", qrels_text(qrels))))
    for judgments in judged:
        for run_form in (read_run(path), Run(table), Run(pl.from_arrow(table))):
            assert flat(judge(judgments, run_form)) == first


def test_ties_are_broken_by_the_bytes_of_the_id_falling() -> None:
    docs = ["a", "b", "Z", "é", "d9", "d10", "d1", "dd" * 20, "dd" * 20 + "e"]
    run = {"q": dict.fromkeys(docs, 1.0)}
    sorted_docs = sorted(docs, key=str.encode, reverse=True)
    for doc in docs:
        judged = judge(Qrels({"q": {doc: 1}}), Run(run)).judged
        assert judged.hits.rank.tolist() == [sorted_docs.index(doc) + 1]


def test_single_precision_makes_ties_that_double_does_not() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.00000002, "b": 1.00000001}}
    assert evaluate(qrels, run, "RR")["RR"] == 1 / 1
    assert evaluate(qrels, run, "RR", scores="single")["RR"] == 1 / 2


def test_zero_and_minus_zero_tie() -> None:
    assert evaluate({"q": {"a": 1}}, {"q": {"a": 0.0, "b": -0.0}}, "RR")["RR"] == 1 / 2


def test_infinite_scores_rank() -> None:
    run = {"q": {"a": -np.inf, "b": np.inf, "c": 0.0}}
    assert evaluate({"q": {"a": 1}}, run, "RR")["RR"] == 1 / 3


def test_order_given_and_order_rank(write: Any) -> None:
    path = write("run", "q Q0 a 3 9.0 t\nq Q0 b 1 1.0 t\nq Q0 c 2 5.0 t\n")
    qrels = {"q": {"b": 1}}
    assert evaluate(qrels, path, "RR")["RR"] == 1 / 3
    assert evaluate(qrels, path, "RR", order="given")["RR"] == 1 / 2
    assert evaluate(qrels, path, "RR", order="rank")["RR"] == 1 / 1
    assert evaluate(qrels, {"q": {"a": 1, "b": 9}}, "RR", order="given")["RR"] == 1 / 2
    with pytest.raises(OptionError, match="no rank column"):
        evaluate(qrels, {"q": {"a": 1}}, "RR", order="rank")
    with pytest.raises(OptionError, match="no effect"):
        evaluate(qrels, path, "RR", order="given", ties="ascending")


def test_a_table_ranks_by_its_rank_column_when_asked() -> None:
    qrels = {"q": {"a": 1}}
    assert evaluate(qrels, table(rank=[1, 2]), "RR", order="rank")["RR"] == 1 / 1
    assert evaluate(qrels, table(rank=[1, 2]), "RR")["RR"] == 1 / 2
    assert evaluate(qrels, table(), "RR", order="given")["RR"] == 1 / 1
    ranked = table(rank=[2, 1]).drop_columns(["score"])
    assert evaluate({"q": {"b": 1}}, ranked, "RR", order="rank")["RR"] == 1
    with pytest.raises(InputError, match="has no column 'rank'"):
        evaluate(qrels, table(), "RR", order="rank")


def test_scores_beyond_single_precision_are_infinite_there() -> None:
    run = {"q": {"a": 1e300, "b": 1e39, "c": 0.0}}
    assert evaluate({"q": {"a": 1}}, run, "RR", scores="single")["RR"] == 1 / 2
    assert evaluate({"q": {"a": 1}}, run, "RR")["RR"] == 1 / 1


def test_whole_numbers_beyond_double_precision_rank_as_in_a_dict() -> None:
    times = [1_700_000_000_000_000_001, 1_700_000_000_000_009_999]
    run = {"q": dict(zip("ab", times, strict=True))}
    qrels = {"q": {"b": 1}}
    assert evaluate(qrels, run, "RR").means() == evaluate(qrels, table(score=times), "RR").means()


def test_depth_keeps_the_best(write: Any) -> None:
    qrels = {"q": {"a": 1, "c": 1}}
    scores = evaluate(qrels, {"q": ["a", "b", "c"]}, "SetP SetR NumRet", depth=2)
    assert scores.means() == {"SetP": 1 / 2, "SetR": 1 / 2, "NumRet": 2}
    depths: list[tuple[Any, int]] = [(np.int64(2), 2), (2, 2), (10**30, 3)]
    for depth, n in depths:
        assert evaluate(qrels, {"q": ["a", "b", "c"]}, "NumRet", depth=depth).means() == {
            "NumRet": n
        }


def test_judged_only_drops_unjudged_and_negative_and_closes_up() -> None:
    qrels = {"q": {"a": -1, "c": 1, "d": 0}}
    scores = evaluate(qrels, {"q": ["a", "b", "d", "c"]}, "RR NumRet Judged", judged_only=True)
    assert scores.means() == {"RR": 1 / 2, "NumRet": 2, "Judged": 1}
    unjudged = evaluate(qrels, {"q": ["x", "y"]}, "NumRet", judged_only=True)
    assert unjudged["NumRet"] == 0
    assert unjudged.counts.without_results == 0, "it had results, though none was judged"


def test_missing_queries_score_zero_and_all_is_counted() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 0}, "q4": {"a": 2}}
    run: dict[str, dict[str, float]] = {"q1": {"a": 1}, "q3": {"a": 1}, "q4": {}, "q5": {"a": 1}}
    scores = evaluate(qrels, run, "RR")
    assert scores["RR"] == (1 + 0 + 0 + 0) / 4
    counts = scores.counts
    assert (counts.queries, counts.without_results, counts.without_relevant) == (4, 2, 1)
    assert (counts.without_judgments, counts.without_run) == (1, 0)
    common_scores = evaluate(qrels, run, "RR", queries="both")
    assert common_scores["RR"] == (1 + 0 + 0) / 3
    assert common_scores.query_ids == ["q1", "q3", "q4"]
    assert (common_scores.counts.queries, common_scores.counts.without_run) == (3, 1)
    judged_run = judge(Qrels(qrels), Run(run), Judging(queries="both"))
    assert judged_run.is_in_run.tolist() == [True, True, True]


def test_queries_are_in_the_order_of_their_bytes() -> None:
    qrels = {query: {"a": 1} for query in ["q2", "q10", "é", "Z", "q1"]}
    scores = evaluate(qrels, {"q1": {"a": 1}}, "RR")
    assert scores.query_ids == ["Z", "q1", "q10", "q2", "é"]


def test_no_shared_query_is_an_error_with_an_example_of_each() -> None:
    with pytest.raises(InputError, match=r"'run' and the qrels share no query.*'q7'.*'1'"):
        evaluate({1: {"a": 1}}, {"q7": {"a": 1.0}}, "RR")


@pytest.mark.parametrize("is_interleaved", [False, True])
@pytest.mark.parametrize("size", [60, 2 << 20])
@pytest.mark.parametrize("doc", ["d1", "a-much-longer-document-id", "é" * 9, "x" * 300])
def test_a_document_twice_is_an_error_with_its_line(
    doc: str, size: int, is_interleaved: bool, write: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(SIZES, "bytes", size)
    monkeypatch.setattr(SIZES, "tail", 30)
    lines = [f"q{i // 20} Q0 doc{i} 1 {-i} t" for i in range(60)]
    lines[25] = f"q1 Q0 {doc} 1 -25 t"
    last = 59 if is_interleaved else 37
    lines[last] = f"q1 Q0 {doc} 1 -38 t"
    with pytest.raises(InputError, match=f"the document '{doc}' occurs twice for query 'q1'") as e:
        evaluate({"q1": {"a": 1}}, write("run", "\n".join(lines)), "RR")
    assert e.value.line == last + 1


BAD_MEMORY = {
    "score is text": ({"q": {"a": 1}}, {"q": {"a": "0.5"}}, "'a': expected a number as the score"),
    "score is None": ({"q": {"a": 1}}, {"q": {"a": None}}, "got None"),
    "score is NaN": ({"q": {"a": 1}}, {"q": {"b": 1.0, "a": float("nan")}}, "'a'.*got nan"),
    "grade is endless": ({"q": {"a": math.inf}}, {"q": {"a": 1}}, "number as the grade, got inf"),
    "grade is text": ({"q": {"a": "1"}}, {"q": {"a": 1}}, "a number as the grade, got '1'"),
    "grade is NaN": ({"q": {"a": float("nan")}}, {"q": {"a": 1}}, "got nan"),
    "no qrels": ({}, {"q": {"a": 1}}, "hold no query"),
    "empty id": ({"q": {"": 1}}, {"q": {"a": 1}}, "query 'q': the id '' is empty"),
    "null byte": ({"q": {"a": 1}}, {"q": {"a\0": 1}}, "null byte"),
    "empty query": ({"": {"a": 1}}, {"q": {"a": 1}}, "the qrels: the id '' is empty"),
    "list with a duplicate": ({"q": {"a": 1}}, {"q": ["a", "b", "a"]}, "'a' occurs twice"),
    "a set is no ranking": ({"q": {"a": 1}}, {"q": {"a", "b"}}, "Give a list, best first"),
    "1 and '1'": ({"q": {1: 1, "1": 2}}, {"q": {"a": 1}}, "same text"),
    "relevant twice": ({"q": ["a", "a"]}, {"q": {"a": 1}}, "occurs twice"),
    "docs is text": ({"q": "a"}, {"q": {"a": 1}}, "set of relevant documents"),
    "fractional id": ({"q": {1.5: 1}}, {"q": {"a": 1}}, "a string or a whole number"),
}


@pytest.mark.parametrize(("qrels", "run", "problem"), BAD_MEMORY.values(), ids=BAD_MEMORY.keys())
def test_bad_objects_are_refused(qrels: Any, run: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        evaluate(qrels, run, "RR")


def table(**values: list[Any]) -> pa.Table:
    return pa.table({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, 2.0]} | values)


def test_options_that_do_not_exist_are_refused() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    options: list[dict[str, Any]] = [{"queries": "all"}, {"order": "docid"}, {"scores": "half"}]
    options += [{"depth": depth} for depth in (0, -1, 1.5, float("nan"), "5", True, [5])]
    for option in options:
        with pytest.raises(OptionError):
            evaluate(qrels, run, "RR", **option)


def test_only_a_few_blocks_of_a_run_are_held_at_a_time(write: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(SIZES, "bytes", 1000)
    path = write("run", "".join(f"q{i // 10} Q0 d{i} 1 {-i} t\n" for i in range(20_000)))
    begun: list[int] = []
    finished_blocks: list[int] = []
    open_counts: list[int] = []
    raw_blocks, load = text.read_raw_blocks, lines.Lines._load

    def count_started(*arguments: Any) -> Any:
        for block in raw_blocks(*arguments):
            begun.append(1)
            open_counts.append(len(begun) - len(finished_blocks))
            yield block

    def count_finished(*arguments: Any) -> Any:
        block = load(*arguments)
        finished_blocks.append(1)
        return block

    monkeypatch.setattr(lines, "read_raw_blocks", count_started)
    monkeypatch.setattr(lines.Lines, "_load", count_finished)
    assert evaluate({"q7": {"d75": 1}}, path, "RR")["RR"] == 1 / 6
    assert len(begun) > 300
    assert max(open_counts) <= 3 + 2 * (8 + 1), "threads, what waits for them, and one at hand"


def test_a_table_of_many_blocks_is_brought_together_in_bounded_memory(monkeypatch: Any) -> None:
    """Its blocks share their bytes, which must be taken once, not once for each block."""
    monkeypatch.setattr(SIZES, "rows", 100)
    docs = [f"d{i}" for i in range(5000)]
    frame = pa.table({"query_id": ["q", "r"] * 2500, "doc_id": docs, "relevance": [1, 2] * 2500})
    qrels = Qrels(frame)
    assert len(qrels.docs._buffer) < 2 * sum(map(len, docs))
    assert qrels.to_dict()["r"]["d4999"] == 2
    run = Run(frame.append_column("score", pa.array([float(-i) for i in range(5000)])))
    assert evaluate({"r": {"d4999": 1}}, run, "RR")["RR"] == 1 / 2500


def test_ids_of_the_same_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ids, "hash", lambda ids, keys=None: np.zeros(len(ids), np.uint64))
    first_id, second_id = b"a first document", b"a second document"
    rows = {"query_id": [b"q", b"q"], "doc_id": [first_id, second_id]}
    run = Run(pa.table({**rows, "score": [2.0, 1.0]}))
    for judged, rank in ((first_id, 1), (second_id, 2)):
        alone = pa.table({"query_id": [b"q"], "doc_id": [judged], "relevance": [1]})
        assert evaluate(Qrels(alone), run, "RR")["RR"] == 1 / rank
    qrels = Qrels(pa.table({**rows, "relevance": [1, 3]}))
    hits = judge(qrels, run).judged.hits
    assert (hits.rank.tolist(), hits.grade.tolist()) == ([1, 2], [1, 3])


def test_evaluating_does_not_change_what_it_is_given() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 2.0}}
    evaluate(qrels, run, "RR", scores="single", depth=1, judged_only=True)
    assert (qrels, run) == ({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 2.0}})


def test_threads_do_not_disturb_each_other() -> None:
    work = [oracle.make_collection(seed, 30) for seed in range(8)]
    names = "nDCG@10 AP RR Bpref P.5,10 IAP"
    alone = [evaluate(qrels, run, names).to_dict() for qrels, run in work]
    shared = Qrels(work[0][0])
    together: list[Any] = [None] * 8

    def evaluate_run(i: int) -> None:
        for _ in range(10):
            together[i] = evaluate(*work[i], names).to_dict()
            evaluate(shared, work[0][1], names)

    threads = [threading.Thread(target=evaluate_run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


@given(st.data())
def test_ranks_of_any_scores_and_ids(data: Any) -> None:
    """In memory and in a table, for ids and scores of every kind."""
    kinds = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    ids = st.text(kinds, min_size=1)
    scores = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-40, 1e308, -np.inf])
    ranking = data.draw(st.dictionaries(ids, scores, min_size=1, max_size=12))
    docs = data.draw(st.lists(st.sampled_from(sorted(ranking)), min_size=1, unique=True))
    expected_ranks = [i for i, doc in enumerate(oracle.rank_docs(ranking), 1) if doc in docs]
    qrels = Qrels({"q": dict.fromkeys(docs, 1)})
    for run in (Run({"q": ranking}), Run(pa.table(columns({"q": ranking}, "score")))):
        assert judge(qrels, run).judged.hits.rank.tolist() == expected_ranks


def test_rows_in_no_order_are_matched_query_by_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not each row with all judgments of its query: that would be a million steps here."""
    n_blocks: list[int] = []
    find_hits = match._find_hits

    def count_blocks(block: Any, code: Any, qrels: Any) -> Any:
        n_blocks.append(int(np.diff(qrels.starts)[code[code >= 0]].sum()))
        return find_hits(block, code, qrels)

    monkeypatch.setattr(match, "_find_hits", count_blocks)
    chance = random.Random(3)
    docs = [f"d{i}" for i in range(100)]
    qrels = {f"q{i}": dict.fromkeys(docs, 1) for i in range(100)}
    rows = [(query, doc, chance.random()) for query in qrels for doc in docs]
    together = evaluate(qrels, Run(rows), "AP nDCG")
    chance.shuffle(rows)
    apart = evaluate(qrels, Run(rows), "AP nDCG")
    assert apart.to_dict() == together.to_dict()
    assert sum(n_blocks) < 3 * len(rows)
