"""Identifiers held as bytes, and evaluations in pieces: as if they were lists, and whole."""

import copy
import json
import pickle
import random
import tracemalloc
from collections.abc import Sequence
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield import Qrels, Run, evaluate, lazy, parse, read_qrels, read_run
from cranfield.arrays import ids as ids_module
from cranfield.arrays.grades import narrow_grades, widen_grades
from cranfield.arrays.ids import IdIndex, IdList, Ids, encode_ids, select_texts
from cranfield.data import judged as judged_module
from cranfield.data.judge import judge

TEXTS = ["Z", "a long id, of more than sixteen bytes", "q1", "q10", "q2", "é", "日本", "\udcff"]


def make_id_list(texts: Sequence[str] = TEXTS) -> IdList:
    return IdList(Ids.of_texts(texts))


def test_identifiers_as_a_sequence_are_like_the_list_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ids_module, "_BATCH_SIZE", 3)
    ids = make_id_list()
    assert ids == TEXTS
    assert ids == make_id_list()
    for different_ids in (TEXTS[:-1], [*TEXTS[:-1], "x"], make_id_list(TEXTS[1:])):
        assert ids != different_ids
    assert ids != tuple(TEXTS)  # as a list
    assert repr(ids) == repr(TEXTS)
    assert list(ids) == TEXTS
    assert len(ids) == len(TEXTS)
    assert [ids[i] for i in range(-len(TEXTS), len(TEXTS))] == TEXTS + TEXTS
    for part in (slice(2, 5), slice(None, None, -1), slice(-3, None), slice(5, 2)):
        assert ids[part] == TEXTS[part]
    assert [text in ids for text in (*TEXTS, "q3", 1)] == [True] * len(TEXTS) + [False] * 2
    assert [ids.index(text) for text in TEXTS] == list(range(len(TEXTS)))
    assert list(reversed(ids)) == TEXTS[::-1]
    assert pickle.loads(pickle.dumps(ids)) == TEXTS == copy.deepcopy(ids)  # noqa: S301
    assert json.loads(json.dumps(list(ids))) == TEXTS
    with pytest.raises(IndexError):
        ids[len(TEXTS)]
    with pytest.raises(TypeError):
        hash(ids)
    assert make_id_list([]) == []
    assert list(make_id_list([])) == []


def test_a_slice_of_identifiers_takes_no_more_memory_than_it_has() -> None:
    long_list = make_id_list([f"q{i}" for i in range(10_000)])
    assert len(pickle.dumps(long_list[:3])) < 1000


def test_a_text_with_a_null_byte_is_itself() -> None:
    assert list(make_id_list(["a\0b", "c"])) == ["a\0b", "c"]


def test_a_sequence_is_added_to_lists_and_to_others() -> None:
    texts: list[str] = list(TEXTS)
    assert add(make_id_list(), ["x"]) == [*texts, "x"]
    assert add(["x"], make_id_list()) == ["x", *texts]
    assert add(make_id_list(), make_id_list()) == texts * 2
    for tuples in ((make_id_list(), ("x",)), (("x",), make_id_list())):
        with pytest.raises(TypeError):
            add(*tuples)


def test_some_of_a_sequence_is_held_as_it_was() -> None:
    rows = np.array([4, 0])
    assert select_texts(TEXTS, rows) == [TEXTS[4], TEXTS[0]] == select_texts(make_id_list(), rows)
    assert isinstance(select_texts(make_id_list(), rows), IdList)
    assert encode_ids(TEXTS).to_list() == encode_ids(make_id_list()).to_list()


def test_compact_identifiers_are_the_same_in_few_bytes() -> None:
    chance = random.Random(1)
    for texts in (TEXTS, ["é" * n for n in range(1, 70)], ["x" * 300, "y"], ["", "a", ""], []):
        rows = np.array(
            [chance.randrange(len(texts)) for _ in range(40)] if texts else [], np.int64
        )
        ids = Ids.of_texts(texts).take(rows)
        compact_ids = ids.compact()
        assert compact_ids.to_list() == ids.to_list()
        assert compact_ids.hash().tolist() == ids.hash().tolist()
        assert compact_ids.find_changes().tolist() == ids.find_changes().tolist()
        assert compact_ids.sort_keys().tolist() == ids.sort_keys().tolist()
        assert Ids.concatenate([compact_ids, ids]).to_list() == ids.to_list() * 2
    assert compact_ids.length.itemsize + compact_ids._start.itemsize <= 6


def test_places_are_those_of_a_dict(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(2)
    held_texts = sorted({f"q{chance.randrange(3000)}" * chance.choice([1, 5]) for _ in range(800)})
    sought_texts = [f"q{i}" * n for i in range(3000) for n in (1, 5)]
    row_of_text = {text: i for i, text in enumerate(held_texts)}
    expected = [row_of_text.get(text, -1) for text in sought_texts]
    assert (
        IdIndex(Ids.of_texts(held_texts)).find_rows(Ids.of_texts(sought_texts)).tolist() == expected
    )
    copied_index = copy.deepcopy(IdIndex(make_id_list(held_texts).ids))
    assert copied_index.find_rows(encode_ids(sought_texts)).tolist() == expected
    # where many have the same hash, the ids decide
    full_hash = Ids.hash
    monkeypatch.setattr(Ids, "hash", lambda ids: full_hash(ids) % np.uint64(7))
    assert (
        IdIndex(Ids.of_texts(held_texts)).find_rows(Ids.of_texts(sought_texts[:600])).tolist()
        == expected[:600]
    )
    assert IdIndex(Ids.of([])).find_rows(Ids.of_texts(["q"])).tolist() == [-1]


@pytest.mark.parametrize(
    "grades",
    [[0, 3, -2], [127, -128], [128], [-129], [-(2**15) - 1], [2**31 - 1, -(2**31 - 1)], []],
)
def test_narrow_grades_are_the_same_numbers(grades: list[int]) -> None:
    narrow = narrow_grades(np.array(grades, np.int64))
    assert widen_grades(narrow).tolist() == grades
    assert widen_grades(narrow).dtype == np.int64
    assert narrow_grades(np.array([0.5])).tolist() == [0.5]


def collection(folder: Path) -> tuple[Path, Path]:
    """Write judgments, not in the order of their ids, and a run with ties."""
    chance = random.Random(3)
    queries = [f"q{i}" for i in range(90)]
    chance.shuffle(queries)
    judged, run = folder / "qrels.txt", folder / "run.txt"
    with judged.open("w") as to:
        for query in queries[:80]:
            for doc in chance.sample(range(60), chance.randrange(1, 30)):
                print(query, 0, f"d{doc}", chance.choice([-1, 0, 1, 2, 3]), file=to)
    with run.open("w") as to:
        for query in queries[10:]:
            for rank, doc in enumerate(chance.sample(range(60), 25)):
                print(query, "Q0", f"d{doc}", rank, chance.randrange(9), "r", file=to)
    return judged, run


MEASURES = "nDCG@10 nDCG AP ERR@5 RR@10 P@10 R@100 bpref RBP(p=0.8) INST GMAP RelString@5 NumRet"


@pytest.mark.parametrize(
    "judging_options",
    [
        {},
        {"queries": "both"},
        {"queries": "run"},
        {"queries": "relevant-and-retrieved"},
        {"depth": 7},
        {"judged_only": True},
        {"unretrieved": "below"},
    ],
)
def test_large_evaluations_in_pieces_have_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judging_options: dict[str, Any]
) -> None:
    judged, run = collection(tmp_path)
    whole_scores = evaluate(judged, run, MEASURES, **judging_options)
    memory_scores = evaluate(Qrels(read_qrels(judged).to_dict()), run, MEASURES, **judging_options)
    monkeypatch.setattr(judged_module, "MAX_ROWS", 50)
    monkeypatch.setattr(lazy, "MAX_CACHED_ROWS", 10)
    n_split = []
    pieces = judged_module.Judged.split_queries

    def count_splits(judged: judged_module.Judged, step: int) -> Any:
        n_split.append(1)
        return pieces(judged, step)

    monkeypatch.setattr(judged_module.Judged, "split_queries", count_splits)
    qrels = read_qrels(judged)
    for scores in (evaluate(qrels, read_run(run), MEASURES, **judging_options), memory_scores):
        assert scores.to_dict() == whole_scores.to_dict()
        assert scores.means() == whole_scores.means()
        assert scores.query_ids == list(whole_scores.query_ids)
        assert scores.counts == whole_scores.counts
    assert n_split
    assert not {"ideal", "query", "grade", "doc_lists"} & vars(qrels).keys()


def test_costs_go_with_their_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = {f"q{i}": {"a": 1, "b": i % 3, "c": 0} for i in range(20)}
    rows = [
        {"query_id": f"q{i}", "doc_id": doc, "score": 9.0 - position, "cost": 1.0 + i * position}
        for i in range(20)
        for position, doc in enumerate("xbac"[: 2 + i % 3])
    ]
    import pyarrow as pa

    run = pa.Table.from_pylist(rows)
    measures = "CWL('BPM')@3 P@2"
    scores = evaluate(judged, run, measures)
    monkeypatch.setattr(judged_module, "MAX_ROWS", 7)
    assert evaluate(judged, run, measures).to_dict() == scores.to_dict()


@pytest.mark.parametrize(
    "measure", ["INST", "U", "CWL('RBP')", "Unjudged@1000", "nDCG(ideal='top')"]
)
def test_memory_does_not_grow_with_the_queries(
    measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judged_module, "MAX_ROWS", 20_000)
    peaks = []
    for n_queries in (50, 200):
        qrels = Qrels({f"q{i}": {"d1": 1, "d9": 0} for i in range(n_queries)})
        run = Run({f"q{i}": [f"d{j}" for j in range(400)] for i in range(n_queries)})
        judged = judge(qrels, run).judged
        tracemalloc.start()
        parse(measure).values(judged)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0] + 20_000  # what Python itself allocates


@pytest.mark.parametrize("form", ["together", "apart at the end", "shuffled"])
def test_judgments_are_the_same_in_whatever_order_queries_come(tmp_path: Path, form: str) -> None:
    chance = random.Random(4)
    expected = {
        f"q{i}": {f"d{doc}": chance.randrange(4) for doc in chance.sample(range(50), 9)}
        for i in range(300)
    }
    rows = [(query, doc, grade) for query, docs in expected.items() for doc, grade in docs.items()]
    if form == "shuffled":
        chance.shuffle(rows)
    if form == "apart at the end":
        rows.append(rows.pop(3))
    path = tmp_path / "qrels.txt"
    path.write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in rows))
    qrels = read_qrels(path)
    assert qrels.to_dict() == expected
    assert qrels.query_ids == sorted(expected)
    order = {query: [doc for row_query, doc, _ in rows if row_query == query] for query in expected}
    assert dict(zip(qrels.query_ids, qrels.doc_lists, strict=True)) == order
