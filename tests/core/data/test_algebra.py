"""Runs and judgments made of others: cut, mixed, merged, drawn; by slow loops over dicts."""

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke

from cranfield import InputError, OptionError, Qrels, Run, evaluate, read_qrels, read_run
from cranfield.errors import DuplicateError
from cranfield.formats.block import SIZES

ScoreDict = dict[str, dict[str, float]]


def invent_scores(seed: int, n_queries: int = 6, n_docs: int = 12) -> ScoreDict:
    """Return scores with ties, and lists of different lengths."""
    chance = random.Random(seed)
    return {
        f"q{q}": {
            f"d{doc}": float(chance.randint(0, 5))
            for doc in chance.sample(range(n_docs), chance.randint(1, n_docs))
        }
        for q in range(n_queries)
    }


def ranked(scores: dict[str, float]) -> list[str]:
    """Return the documents: the score falling, then the id falling, as trec_eval ranks."""
    return sorted(sorted(scores, reverse=True), key=lambda doc: -scores[doc])


def write_run(folder: Path, name: str, scores: ScoreDict, *, apart: bool = False) -> Path:
    """Write a TREC run, the rows of each query together or in any order."""
    rows = [(q, doc, score) for q, docs in scores.items() for doc, score in docs.items()]
    if apart:
        random.Random(1).shuffle(rows)
    path = folder / f"{name}.run"
    path.write_text("".join(f"{q} Q0 {doc} 0 {score} {name}\n" for q, doc, score in rows))
    return path


def sources(tmp_path: Path, scores: ScoreDict) -> list[Run]:
    """Return the same run as a dict, a table and files."""
    rows = [(q, doc, score) for q, docs in scores.items() for doc, score in docs.items()]
    return [
        Run(scores),
        Run(rows),
        read_run(write_run(tmp_path, "in-order", scores)),
        read_run(write_run(tmp_path, "apart", scores, apart=True)),
    ]


# ---- runs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_first_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    scores = invent_scores(seed)
    for k in (1, 3, 50):
        want = {q: {d: docs[d] for d in ranked(docs)[:k]} for q, docs in scores.items()}
        for run in sources(tmp_path, scores):
            assert run.top(k).to_dict() == want
    for size in ("bytes", "rows"):  # a block of a few lines
        monkeypatch.setattr(SIZES, size, 60 if size == "bytes" else 5)
    for run in sources(tmp_path, scores):
        assert run.top(2).to_dict() == {
            q: {d: docs[d] for d in ranked(docs)[:2]} for q, docs in scores.items()
        }


def test_the_first_by_another_order() -> None:
    run = Run([("q", "a", 1.0), ("q", "b", 1.0), ("q", "c", 1.0)])
    assert [*run.top(2).to_dict()["q"]] == ["c", "b"]
    assert [*run.top(2, ties="ascending").to_dict()["q"]] == ["a", "b"]
    assert [*run.top(2, ties="given").to_dict()["q"]] == ["a", "b"]
    with_ranks = Run(
        [
            {"query_id": "q", "doc_id": d, "score": s, "rank": r}
            for d, s, r in (("a", 1, 1), ("b", 2, 2))
        ]
    )
    assert [*with_ranks.top(1).to_dict()["q"]] == ["b"]
    assert [*with_ranks.top(1, order="rank").to_dict()["q"]] == ["a"]
    lists = Run({"q": ["b", "a"]})
    assert [*lists.top(1).to_dict()["q"]] == ["b"]
    twice = Run([("q", "a", 1.0), ("q", "a", 3.0), ("q", "b", 2.0)])
    with pytest.raises(InputError):
        twice.top(1)
    assert twice.top(1, duplicates="best").to_dict() == {"q": {"a": 3.0}}
    chunks = Run({"q": {"a#1": 3.0, "a#2": 2.0, "b#1": 1.0}}).map_docs("(.*)#")
    assert chunks.top(2).to_dict() == {"q": {"a": 3.0, "b": 1.0}}


@pytest.mark.parametrize("seed", range(4))
def test_some_queries_and_documents(tmp_path: Path, seed: int) -> None:
    scores, second_scores = invent_scores(seed), invent_scores(seed + 10, n_queries=4)
    judged = {q: {d: int(s) for d, s in docs.items()} for q, docs in second_scores.items()}
    everywhere = {"d1", "d3", "unknown"}
    ids = tmp_path / "ids"
    ids.write_text("doc_id\n" + "\n".join(sorted(everywhere)) + "\n\n")
    path = write_run(tmp_path, "other", second_scores)
    Qrels(judged).write(qrels := tmp_path / "other.qrels")
    for run in sources(tmp_path, scores):
        for selection in (
            second_scores,
            {q: [*docs] for q, docs in second_scores.items()},
            Run(second_scores),
            str(path),
        ):
            selected_docs = run.only(docs=selection).to_dict()
            assert selected_docs == {
                q: remaining_docs
                for q in scores
                if (
                    remaining_docs := {
                        d: s for d, s in scores[q].items() if d in second_scores.get(q, {})
                    }
                )
            }
            assert run.without(selection).to_dict() == {
                q: remaining_docs
                for q in scores
                if (
                    remaining_docs := {
                        d: s for d, s in scores[q].items() if d not in second_scores.get(q, {})
                    }
                )
            }
        for judgments in (Qrels(judged), qrels):
            assert run.only(docs=judgments).to_dict() == run.only(docs=second_scores).to_dict()
        for doc_selection in (everywhere, sorted(everywhere), str(ids)):
            assert run.without(doc_selection).to_dict() == {
                q: remaining_docs
                for q in scores
                if (remaining_docs := {d: s for d, s in scores[q].items() if d not in everywhere})
            }
        assert run.only(queries=["q1", "q3", "none"]).to_dict() == {
            q: scores[q] for q in ("q1", "q3")
        }
        assert run.without(queries=second_scores).to_dict() == {q: scores[q] for q in ("q4", "q5")}
        if "d1" in scores["q1"]:
            intersection = run.only(queries=["q1"], docs=["d1"]).to_dict()
            assert intersection == {"q1": {"d1": scores["q1"]["d1"]}}
        else:
            with pytest.raises(InputError, match="nothing is left"):
                run.only(queries=["q1"], docs=["d1"])


def test_a_query_of_which_nothing_is_left_is_still_there() -> None:
    run = Run({"q1": {"a": 1.0}, "q2": {"b": 1.0}})
    remaining = run.without({"q1": ["a"]})
    assert remaining.description == "all but some documents of run (2 queries, 1 row)"
    judged = {"q1": {"a": 1}, "q2": {"b": 1}}
    assert evaluate(judged, remaining, "RR", queries="both")["RR"] == 1 / 2
    assert evaluate(judged, run.only(queries=["q2"]), "RR", queries="both")["RR"] == 1


@pytest.mark.parametrize("seed", range(4))
def test_the_union_has_the_rows_of_both(tmp_path: Path, seed: int) -> None:
    first_scores, second_scores = invent_scores(seed), invent_scores(seed + 20, n_queries=8)
    want = {
        q: {**second_scores.get(q, {}), **first_scores.get(q, {})}
        for q in {**first_scores, **second_scores}
    }
    for first_form in sources(tmp_path, first_scores):
        assert (first_form | Run(second_scores)).to_dict() == want
        assert (
            first_form | read_run(write_run(tmp_path, "right", second_scores))
        ).to_dict() == want
    lists = Run({"q": ["a", "b"]}, "l"), Run({"q": ["b", "c"], "r": ["a"]}, "r")
    assert [*(lists[0] | lists[1]).to_dict()["q"]] == ["a", "b", "c"]
    with pytest.raises(InputError, match="one has scores, the other none"):
        _ = Run([("q", "a"), ("q", "b")]) | Run([("q", "a", 1.0)])
    with pytest.raises(TypeError):
        _ = Run(first_scores) | {"q": {"a": 1.0}}


@pytest.mark.parametrize("seed", range(6))
def test_reranked_by_the_scores_of_another(tmp_path: Path, seed: int) -> None:
    first, by = invent_scores(seed), invent_scores(seed + 30, n_queries=4)
    for run in sources(tmp_path, first):
        reranked_scores, without_unscored = (
            run.rerank(by).to_dict(),
            run.rerank(by, unscored="drop").to_dict(),
        )
        for query, scores in first.items():
            new_scores = {d: by[query][d] for d in scores if d in by.get(query, {})}
            assert without_unscored.get(query, {}) == new_scores
            unscored_docs = [d for d in ranked(scores) if d not in new_scores]
            low = min(new_scores.values(), default=0.0)
            assert reranked_scores[query] == {
                **new_scores,
                **{d: low - i for i, d in enumerate(unscored_docs, 1)},
            }
            assert ranked(reranked_scores[query]) == [*ranked(new_scores), *unscored_docs]


def test_what_is_below_is_below_in_single_precision() -> None:
    first = Run({"q": ["a", "b", "c"]})
    scores = first.rerank({"q": {"b": 3e9}}).to_dict()["q"]
    single = {doc: np.float32(score) for doc, score in scores.items()}
    assert single["b"] > single["a"] > single["c"]


@pytest.mark.parametrize("seed", range(6))
def test_ties_are_broken_by_the_order_of_another(tmp_path: Path, seed: int) -> None:
    scores, by = invent_scores(seed), invent_scores(seed + 40, n_queries=4)
    for run in sources(tmp_path, scores):
        scores_without_ties = run.break_ties(by).to_dict()
        for query, docs in scores.items():
            position_of_doc = {doc: i for i, doc in enumerate(ranked(by.get(query, {})))}
            order = sorted(ranked(docs), key=lambda doc: (-docs[doc], position_of_doc.get(doc, 99)))
            assert ranked(scores_without_ties[query]) == order
            assert [*scores_without_ties[query].values()] == [
                -float(i) for i in range(1, len(docs) + 1)
            ]


def test_nothing_is_changed_in_place_and_every_result_says_how_it_was_made(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, "bm25", invent_scores(1)))
    before = run.to_dict()
    derived_runs = [
        run.top(2),
        run.only(queries=["q1"]),
        run.without(docs=["d1"]),
        run | Run({"z": {"d": 1.0}}, "more"),
        run.rerank(invent_scores(2)),
        run.break_ties(invent_scores(2)),
        run.rename("other"),
    ]
    assert run.to_dict() == before
    assert [derived_run.name for derived_run in derived_runs] == ["bm25"] * 6 + ["other"]
    assert derived_runs[0].recipe["top"] == 2
    assert str(tmp_path) in derived_runs[0].recipe["run"]
    assert derived_runs[0].top(1).recipe["run"] == derived_runs[0].recipe
    json.dumps([dict(derived_run.recipe) for derived_run in derived_runs])
    for derived_run in derived_runs[:6]:
        derived_run.write(tmp_path / "again.run")
        read_back = read_run(tmp_path / "again.run").to_dict()
        assert {q: ranked(docs) for q, docs in read_back.items()} == {
            q: ranked(docs) for q, docs in derived_run.to_dict().items()
        }


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda run: run.top(0), OptionError, "k=0: expected a whole number"),
        (lambda run: run.top(2, ties="expected"), OptionError, "expected one of document"),
        (lambda run: run.only(), OptionError, "state queries or docs"),
        (lambda run: run.only(queries=3), OptionError, "expected ids, as"),
        (lambda run: run.only(docs=[None]), OptionError, "expected ids, as"),
        (lambda run: run.only(docs={"q": "a"}), OptionError, r"docs\['q'\]='a': expected ids"),
        (lambda run: run.only(docs={"q": None}), OptionError, "expected ids, as"),
        (lambda run: run.only(docs={"q": [None]}), OptionError, "expected ids, as"),
        (lambda run: run.only(queries="ann"), OptionError, r"ids go into a list, \['ann'\]"),
        (lambda run: run.only(docs=["typo"]), InputError, "nothing is left of the run 'r'"),
        (lambda run: run.top(1, order="rank"), OptionError, "has no rank column"),
        (lambda run: run.rerank({"q": {"b": -math.inf}}), InputError, "documents without one go"),
        (lambda run: run.rerank(run.only(docs=["a"]).break_ties(run)), InputError, "no scores to"),
        (lambda run: run.only(queries=["zz"]), InputError, "nothing is left of the run 'r'"),
        (lambda run: run.rename(""), OptionError, "what the run is called"),
        (lambda run: run.rerank(run, unscored="above"), OptionError, "unscored"),
        (lambda run: run.rerank([("q", "a"), ("q", "b")]), InputError, "no scores to rerank by"),
        (
            lambda run: run.spans("(?P<doc>.)(?P<start>.)(?P<end>.)").top(1),
            OptionError,
            "take rows before it is read as spans",
        ),
    ],
)
def test_what_is_wrong_with_a_run_is_said(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call(Run({"q": {"a": 1.0, "b": 2.0}}, "r"))


def test_queries_without_documents_are_kept_once_and_dropped_when_asked() -> None:
    first_run = Run({"q1": {"b": 1.0}, "q2": {"a": 1.0}}).without(["b"])
    union = first_run | Run({"q1": {"a": 1.0}})
    judged = {"q1": {"a": 1}, "q2": {"a": 1}}
    assert evaluate(judged, union, "RR")["RR"] == 1.0
    assert union.description == "run | run (2 queries, 2 rows)"
    empty = Run({"q1": {}, "q2": {"a": 1.0}})
    for empty_part in (empty.only(queries=["q2"]), empty.without(queries=["q1"])):
        assert evaluate(judged, empty_part, "RR", queries="both")["RR"] == 1.0
        assert "1 query, 1 row" in empty_part.description
    assert "2 queries, 1 row" in empty.top(1).description
    assert empty.only(queries=first_run).to_dict() == {"q2": {"a": 1.0}}
    with pytest.raises(InputError, match="nothing is left"):
        empty.only(queries=["zzz"])
    none = Run({})
    assert (none | first_run).to_dict() == first_run.to_dict() == (first_run | none).to_dict()
    assert first_run.without(none).to_dict() == first_run.to_dict()
    for change in (first_run.rerank, first_run.break_ties):
        with pytest.raises(InputError, match="share no document of a query"):
            change({"q9": {"z": 1.0}})


def test_lists_stay_lists_and_are_put_one_below_the_other() -> None:
    lists = Run({"q": ["a", "b"]})
    union = lists | Run({"q": ["c", "b", "d"]})
    assert ranked(union.to_dict()["q"]) == ["a", "b", "c", "d"]
    for derived_run in (lists.top(1), lists.only(docs=["a"]), union):
        assert not derived_run.has_scores
    table = Run([{"query_id": "q", "retrieved_ids": ["a", "b"]}])
    assert ranked((table | lists).to_dict()["q"]) == ["a", "b"]
    with pytest.raises(InputError, match="one has scores, the other none"):
        _ = Run({"q": {"x": -0.5}}) | lists
    with pytest.raises(InputError, match="no scores to rerank by"):
        Run({"q": {"a": 1.0}}).rerank(lists.only(queries=["q"]))


def test_costs_are_taken_along() -> None:
    names = ("query_id", "doc_id", "score", "cost")
    rows = [("q", "a", 3.0, 100.0), ("q", "b", 2.0, 500.0), ("q", "c", 1.0, 200.0)]
    run = Run([dict(zip(names, row, strict=True)) for row in rows])
    want = evaluate({"q": {"b": 1}}, run, "CWL('TBG')").means()
    for derived_run in (
        run.rerank(run),
        run.break_ties(run),
        run.top(3),
        run | run,
        run.without(["z"]),
    ):
        assert evaluate({"q": {"b": 1}}, derived_run, "CWL('TBG')").means() == want
    with pytest.raises(InputError, match="one has a column cost"):
        _ = run | Run({"q": {"z": 1.0}})
    spans = Run([{"query_id": "q", "doc_id": "a", "start": 0, "end": 5, "score": 1.0}])
    with pytest.raises(OptionError, match="is one of spans"):
        spans.top(1)


def test_rows_that_occur_twice_stay_and_seen_twice_is_seen() -> None:
    twice = Run([("q", "a", 1.0), ("q", "a", 3.0), ("q", "b", 2.0)])
    assert twice.without(["b"]).to_dict(duplicates="best") == {"q": {"a": 3.0}}
    assert Run({"q": {"a": 1.0, "c": 1.0}}).without(twice).to_dict() == {"q": {"c": 1.0}}
    assert (Run({"q": {"c": 9.0}}) | twice).to_dict(duplicates="best")["q"] == {
        "c": 9.0,
        "a": 3.0,
        "b": 2.0,
    }
    for derive in (twice.rerank, twice.break_ties, Run({"q": {"a": 1.0}}).rerank):
        with pytest.raises(DuplicateError):  # which of two rows counts is not said
            derive(twice)
    pandas = pytest.importorskip("pandas")
    seen_rows = pandas.DataFrame({"user_id": ["q", "q"], "item_id": ["a", "a"]})
    assert Run({"q": {"a": 1.0, "c": 1.0}}).without(seen_rows).to_dict() == {"q": {"c": 1.0}}
    assert Run({"1": {"2": 1.0, "3": 1.0}}).without({1: [2]}).to_dict() == {"1": {"3": 1.0}}
    assert Run({"1": {"2": 1.0}}).only(queries=[1]).to_dict() == {"1": {"2": 1.0}}


def test_scores_of_any_size_and_left_out_rows_are_kept(tmp_path: Path) -> None:
    first = Run({"q": ["a", "b", "c"]})
    for low in (-1e39, 1e39, -1e300):
        scores = first.rerank({"q": {"b": low}}).to_dict()["q"]
        assert ranked(scores) == ["b", "a", "c"]
    bad_path = tmp_path / "bad.run"
    bad_path.write_text("q Q0 a 1 1.0 x\nq Q0 b 2 nan x\n")
    skipping_run = read_run(bad_path, errors="skip")
    union = Run({"q": {"c": 1.0}}) | skipping_run
    assert evaluate({"q": {"a": 1}}, union, "RR").means() == {"RR": 1 / 2}
    assert union.write(tmp_path / "out.run").left_out.count == 1


def test_a_file_of_ids_says_what_it_lists(tmp_path: Path) -> None:
    run = Run({"q1": {"a": 1.0, "b": 2.0}, "q2": {"b": 1.0}})
    for name, text in {
        "docs": 'doc_id\n"b"\n\n b \n',
        "upper": '"Doc_ID"\nb\n',
        "queries": "query_id\nq1\n",
        "bare": "q1\nq2\n",
    }.items():
        (tmp_path / name).write_text(text)
    for name in ("docs", "upper"):
        assert run.without(tmp_path / name).to_dict() == {"q1": {"a": 1.0}}
    assert run.only(queries=tmp_path / "queries").to_dict() == {"q1": {"a": 1.0, "b": 2.0}}
    with pytest.raises(OptionError, match="the file lists ids below query_id"):
        run.without(tmp_path / "queries")
    with pytest.raises(InputError) as error:
        run.only(queries=tmp_path / "bare")
    assert "A list of ids begins with the line query_id or doc_id." in str(error.value)


# ---- judgments ----------------------------------------------------------------------------------


def invent_judgments(seed: int) -> dict[str, dict[str, int]]:
    return {q: {d: int(s) // 2 for d, s in docs.items()} for q, docs in invent_scores(seed).items()}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("differing", ["latest", "highest", "majority"])
def test_judgments_are_merged(differing: Any, seed: int) -> None:
    judgments_list = [
        invent_judgments(seed),
        invent_judgments(seed + 50),
        {"z": {"d1": 1}},
        invent_judgments(seed + 70),
    ]
    grades_of_pair: dict[tuple[str, str], list[int]] = {}
    for judgments in judgments_list:
        for query, docs in judgments.items():
            for doc, grade in docs.items():
                grades_of_pair.setdefault((query, doc), []).append(grade)

    def choose_grade(grades: list[int]) -> int:
        if differing == "latest":
            return grades[-1]
        count_of_grade = Counter(grades)
        return (
            max(grades)
            if differing == "highest"
            else max(grades, key=lambda grade: (count_of_grade[grade], grade))
        )

    merged_judgments = Qrels(judgments_list[0]).merge(*judgments_list[1:], differing=differing)
    want: dict[str, dict[str, int]] = {}
    for (query, doc), grades in grades_of_pair.items():
        want.setdefault(query, {})[doc] = choose_grade(grades)
    assert merged_judgments.to_dict() == want
    n = sum(len(set(grades)) > 1 for grades in grades_of_pair.values())
    (note,) = merged_judgments.notes
    assert f"{len(grades_of_pair):,} judgments, of which {n:,} had different grades" in note.text
    assert note in evaluate(merged_judgments, {"q1": ["d1"]}, "RR").notes


def test_judgments_that_differ_are_refused_unless_it_is_said() -> None:
    qrels = Qrels({"q1": {"a": 1, "b": 0}})
    assert qrels.merge({"q1": {"a": 1, "c": 2}}).to_dict() == {"q1": {"a": 1, "b": 0, "c": 2}}
    with pytest.raises(InputError, match="query 'q1', document 'b': has the grades 0, 2") as error:
        qrels.merge({"q1": {"b": 2}})
    assert "'latest', 'highest', 'majority', 'mean'" in str(error.value)
    with pytest.raises(OptionError, match="merge takes judgments one by one"):
        qrels.merge([qrels, qrels])
    with pytest.raises(OptionError, match="differing"):
        qrels.merge(qrels, differing="first")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="judgments in groups"):
        qrels.merge({"q1": {"s1": {"a": 1}}})
    sample_qrels = Qrels([{"query_id": "q", "doc_id": "a", "relevance": 1, "probability": 0.5}])
    with pytest.raises(OptionError, match="a column probability"):
        qrels.merge(sample_qrels)
    assert qrels.with_top_grade(4).merge({"q2": {"a": 1}}).top_grade == 4
    halves = Qrels({"q": {"a": 0.5}}).merge({"q": {"a": 1.5}}, differing="highest")
    assert halves.to_dict() == {"q": {"a": 1.5}}
    empty = Qrels({"q1": {"a": 1}, "q2": {}}).merge({"q3": {"b": 1}})
    assert [*empty.query_ids] == ["q1", "q2", "q3"]


def test_samples_are_drawn_by_chance_and_again_the_same() -> None:
    judged = Qrels(invent_judgments(3))
    sampled_queries = judged.sample(3)
    assert sampled_queries.to_dict() == judged.sample(3, seed=42).to_dict()
    assert len(sampled_queries.query_ids) == 3
    assert all(
        sampled_queries.to_dict()[q] == judged.to_dict()[q] for q in sampled_queries.query_ids
    )
    rows = judged.sample(5, of="judgments", seed=1)
    reversed_qrels = Qrels(
        {q: dict(reversed(docs.items())) for q, docs in judged.to_dict().items()}
    )
    for seed in range(10):
        sampled_rows = judged.sample(5, of="judgments", seed=seed).to_dict()
        assert reversed_qrels.sample(5, of="judgments", seed=seed).to_dict() == sampled_rows
    assert len(rows) == 5
    assert rows.top_grade == judged.top_grade
    assert all(
        judged.to_dict()[q][d] == g for q, docs in rows.to_dict().items() for d, g in docs.items()
    )
    all_pairs = {(q, d) for q, docs in judged.to_dict().items() for d in docs}
    counts = Counter(
        (q, d)
        for seed in range(400)
        for q, docs in judged.sample(len(all_pairs) // 2, of="judgments", seed=seed)
        .to_dict()
        .items()
        for d in docs
    )
    assert set(counts) == all_pairs
    assert max(abs(n - 200) for n in counts.values()) < 5 * 10  # 10 is the standard deviation
    with pytest.raises(OptionError, match="there are 6 queries"):
        judged.sample(7)
    with pytest.raises(OptionError, match="n=0"):
        judged.sample(0)


def test_parts_have_every_query_once() -> None:
    judged = Qrels(invent_judgments(4))
    for k in (2, 4, 6):
        folds = judged.split(k, seed=k)
        assert sorted(q for fold in folds for q in fold.query_ids) == [*judged.query_ids]
        assert {len(fold.query_ids) for fold in folds} <= {6 // k, -(-6 // k)}
        assert all(
            fold.to_dict()[q] == judged.to_dict()[q] for fold in folds for q in fold.query_ids
        )
        assert all(fold.top_grade == judged.top_grade for fold in folds)
    with pytest.raises(OptionError, match="k=7: there are 6 queries"):
        judged.split(7)


# ---- the command --------------------------------------------------------------------------------


def test_convert_takes_parts(tmp_path: Path) -> None:
    scores, second_scores = invent_scores(7), invent_scores(8)
    run, second_path = (
        str(write_run(tmp_path, *name_and_scores))
        for name_and_scores in (("a", scores), ("b", second_scores))
    )
    judged = str(tmp_path / "x.qrels")
    Qrels(invent_judgments(9)).write(judged)
    ids = tmp_path / "ids.txt"
    ids.write_text("query_id\nq1\nq2\n")
    out = str(tmp_path / "out.run")
    invocation = invoke(
        *("convert", run, out, "--merge", second_path, "--only", judged),
        *("--without", str(ids), "--top", "2"),
    )
    assert invocation.exit_code == 0, invocation.output
    want = (
        (Run(scores) | Run(second_scores))
        .only(docs=invent_judgments(9))
        .without(queries=["q1", "q2"])
        .top(2)
    )
    assert read_run(out).to_dict() == want.to_dict()
    assert "read a run as the first 2 of a" in invocation.stderr
    target = str(tmp_path / "out.qrels")
    second = str(tmp_path / "y.qrels")
    Qrels(invent_judgments(10)).write(second)
    differ = invoke("convert", judged, target, "--merge", second)
    assert differ.exit_code == 2
    assert "--differing" in differ.stderr
    invocation = invoke(
        *("convert", judged, target, "--merge", second, "--differing", "highest"),
        *("--only", str(ids)),
    )
    assert invocation.exit_code == 0, invocation.output
    expected = Qrels(invent_judgments(9)).merge(invent_judgments(10), differing="highest").to_dict()
    assert read_qrels(target).to_dict() == {q: expected[q] for q in ("q1", "q2")}
    for args, message in (
        ([judged, target, "--top", "2"], "--top applies to a run"),
        ([judged, target, "--only", judged], "expected their ids, one to a line"),
        ([run, out, "--differing", "latest"], "--differing applies to judgments"),
        ([judged, target, "--differing", "latest"], "--differing applies to --merge"),
        ([run, second_path, "--merge", second_path], "is read by this command"),
        ([run, out, "--only", str(tmp_path / "none")], "No such file"),
        (["-", out, "--run", "--merge", "-"], "only once"),
    ):
        refusal = invoke("convert", *args)
        assert refusal.exit_code == 2
        assert message in refusal.stderr
