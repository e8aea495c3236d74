"""Identifiers held as bytes, and evaluations in pieces: as if they were lists, and whole."""

import copy
import json
import pickle
import random
from collections.abc import Sequence
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield import Qrels, evaluate, lazy, read_qrels, read_run
from cranfield.arrays import ids as ids_module
from cranfield.arrays.grades import narrow_grades, widen_grades
from cranfield.arrays.ids import IdIndex, IdList, Ids, encode_ids, select_texts
from cranfield.data import judged as judged_module

TEXTS = ["Z", "a long id, of more than sixteen bytes", "q1", "q10", "q2", "é", "日本", "\udcff"]


def listed(texts: Sequence[str] = TEXTS) -> IdList:
    return IdList(Ids.of_texts(texts))


def test_identifiers_as_a_sequence_are_like_the_list_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ids_module, "_BATCH_SIZE", 3)
    found = listed()
    assert found == TEXTS
    assert found == listed()
    for other in (TEXTS[:-1], [*TEXTS[:-1], "x"], listed(TEXTS[1:])):
        assert found != other
    assert found != tuple(TEXTS)  # as a list
    assert repr(found) == repr(TEXTS)
    assert list(found) == TEXTS
    assert len(found) == len(TEXTS)
    assert [found[i] for i in range(-len(TEXTS), len(TEXTS))] == TEXTS + TEXTS
    for some in (slice(2, 5), slice(None, None, -1), slice(-3, None), slice(5, 2)):
        assert found[some] == TEXTS[some]
    assert [one in found for one in (*TEXTS, "q3", 1)] == [True] * len(TEXTS) + [False] * 2
    assert [found.index(one) for one in TEXTS] == list(range(len(TEXTS)))
    assert list(reversed(found)) == TEXTS[::-1]
    assert pickle.loads(pickle.dumps(found)) == TEXTS == copy.deepcopy(found)  # noqa: S301
    assert json.loads(json.dumps(list(found))) == TEXTS
    with pytest.raises(IndexError):
        found[len(TEXTS)]
    with pytest.raises(TypeError):
        hash(found)
    assert listed([]) == []
    assert list(listed([])) == []


def test_a_slice_of_identifiers_takes_no_more_memory_than_it_has() -> None:
    many = listed([f"q{i}" for i in range(10_000)])
    assert len(pickle.dumps(many[:3])) < 1000


def test_a_text_with_a_null_byte_is_itself() -> None:
    assert list(listed(["a\0b", "c"])) == ["a\0b", "c"]


def test_a_sequence_is_added_to_lists_and_to_others() -> None:
    ours: list[str] = list(TEXTS)
    assert add(listed(), ["x"]) == [*ours, "x"]
    assert add(["x"], listed()) == ["x", *ours]
    assert add(listed(), listed()) == ours * 2
    for tuples in ((listed(), ("x",)), (("x",), listed())):
        with pytest.raises(TypeError):
            add(*tuples)


def test_some_of_a_sequence_is_held_as_it_was() -> None:
    rows = np.array([4, 0])
    assert select_texts(TEXTS, rows) == [TEXTS[4], TEXTS[0]] == select_texts(listed(), rows)
    assert isinstance(select_texts(listed(), rows), IdList)
    assert encode_ids(TEXTS).to_list() == encode_ids(listed()).to_list()


def test_compact_identifiers_are_the_same_in_few_bytes() -> None:
    chance = random.Random(1)
    for texts in (TEXTS, ["é" * n for n in range(1, 70)], ["x" * 300, "y"], ["", "a", ""], []):
        rows = np.array(
            [chance.randrange(len(texts)) for _ in range(40)] if texts else [], np.int64
        )
        some = Ids.of_texts(texts).take(rows)
        found = some.compact()
        assert found.to_list() == some.to_list()
        assert found.hash().tolist() == some.hash().tolist()
        assert found.find_changes().tolist() == some.find_changes().tolist()
        assert found.sort_keys().tolist() == some.sort_keys().tolist()
        assert Ids.concatenate([found, some]).to_list() == some.to_list() * 2
    assert found.length.itemsize + found._start.itemsize <= 6


def test_places_are_those_of_a_dict(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(2)
    mine = sorted({f"q{chance.randrange(3000)}" * chance.choice([1, 5]) for _ in range(800)})
    theirs = [f"q{i}" * n for i in range(3000) for n in (1, 5)]
    known = {text: i for i, text in enumerate(mine)}
    wanted = [known.get(text, -1) for text in theirs]
    assert IdIndex(Ids.of_texts(mine)).find_rows(Ids.of_texts(theirs)).tolist() == wanted
    again = copy.deepcopy(IdIndex(listed(mine).ids))
    assert again.find_rows(encode_ids(theirs)).tolist() == wanted
    # where many have the same hash, the ids decide
    whole = Ids.hash
    monkeypatch.setattr(Ids, "hash", lambda ids: whole(ids) % np.uint64(7))
    assert (
        IdIndex(Ids.of_texts(mine)).find_rows(Ids.of_texts(theirs[:600])).tolist() == wanted[:600]
    )
    assert IdIndex(Ids.of([])).find_rows(Ids.of_texts(["q"])).tolist() == [-1]


@pytest.mark.parametrize(
    "grades",
    [[0, 3, -2], [127, -128], [128], [-129], [-(2**15) - 1], [2**31 - 1, -(2**31 - 1)], []],
)
def test_narrow_grades_are_the_same_numbers(grades: list[int]) -> None:
    found = narrow_grades(np.array(grades, np.int64))
    assert widen_grades(found).tolist() == grades
    assert widen_grades(found).dtype == np.int64
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
    "how",
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    judged, run = collection(tmp_path)
    whole = evaluate(judged, run, MEASURES, **how)
    kept = evaluate(Qrels(read_qrels(judged).to_dict()), run, MEASURES, **how)
    monkeypatch.setattr(judged_module, "MAX_ROWS", 50)
    monkeypatch.setattr(lazy, "MAX_CACHED_ROWS", 10)
    seen = []
    pieces = judged_module.Judged.split_queries

    def counted(one: judged_module.Judged) -> Any:
        seen.append(1)
        return pieces(one)

    monkeypatch.setattr(judged_module.Judged, "split_queries", counted)
    qrels = read_qrels(judged)
    for found in (evaluate(qrels, read_run(run), MEASURES, **how), kept):
        assert found.to_dict() == whole.to_dict()
        assert found.means() == whole.means()
        assert found.query_ids == list(whole.query_ids)
        assert found.counts == whole.counts
    assert seen
    assert not {"ideal", "query", "grade", "doc_lists"} & vars(qrels).keys()


def test_costs_go_with_their_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = {f"q{i}": {"a": 1, "b": i % 3, "c": 0} for i in range(20)}
    rows = [
        {"query_id": f"q{i}", "doc_id": doc, "score": 9.0 - at, "cost": 1.0 + i * at}
        for i in range(20)
        for at, doc in enumerate("xbac"[: 2 + i % 3])
    ]
    import pyarrow as pa

    run = pa.Table.from_pylist(rows)
    wanted = "CWL('BPM')@3 P@2"
    whole = evaluate(judged, run, wanted)
    monkeypatch.setattr(judged_module, "MAX_ROWS", 7)
    assert evaluate(judged, run, wanted).to_dict() == whole.to_dict()


@pytest.mark.parametrize("form", ["together", "apart at the end", "shuffled"])
def test_judgments_are_the_same_in_whatever_order_queries_come(tmp_path: Path, form: str) -> None:
    chance = random.Random(4)
    wanted = {
        f"q{i}": {f"d{doc}": chance.randrange(4) for doc in chance.sample(range(50), 9)}
        for i in range(300)
    }
    rows = [(query, doc, grade) for query, docs in wanted.items() for doc, grade in docs.items()]
    if form == "shuffled":
        chance.shuffle(rows)
    if form == "apart at the end":
        rows.append(rows.pop(3))
    path = tmp_path / "qrels.txt"
    path.write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in rows))
    found = read_qrels(path)
    assert found.to_dict() == wanted
    assert found.query_ids == sorted(wanted)
    order = {query: [doc for one, doc, _ in rows if one == query] for query in wanted}
    assert dict(zip(found.query_ids, found.doc_lists, strict=True)) == order
