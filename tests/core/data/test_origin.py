"""Saved scores say how they were made: scores made differently are not compared silently."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.commands import invoke
from helpers.folders import DEMO
from helpers.notes import codes, find_note

from cranfield import CranfieldWarning, InputError, Qrels, Run, compare, evaluate, gate, read_qrels
from cranfield.data.fingerprint import (
    SKETCH_SIZE,
    estimate_overlap,
    hash_judgments,
    sketch_documents,
)

QRELS, BM25, DENSE = (str(DEMO / name) for name in ("qrels.txt", "bm25.run", "dense.run"))

# ---- the hash of judgments ----------------------------------------------------------------------

JUDGED = {"q2": {"b": 2, "a": 0, "\u00e4": 1}, "q1": {"d1": 1}}


def rows_of(judged: dict[str, dict[str, int]], seed: int) -> list[tuple[str, str, int]]:
    rows = [(query, doc, grade) for query, of in judged.items() for doc, grade in of.items()]
    random.Random(seed).shuffle(rows)
    return rows


def test_neither_order_nor_form_changes_the_hash(write: Any) -> None:
    expected = hash_judgments(Qrels(JUDGED))
    for seed in range(5):
        rows = rows_of(JUDGED, seed)
        assert hash_judgments(Qrels(rows)) == expected
        frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])
        assert hash_judgments(Qrels(frame)) == expected
        path = write("qrels.txt", "".join(f"{q} 0 {d} {g}\n" for q, d, g in rows))
        assert hash_judgments(read_qrels(path)) == expected


OTHERS: list[Any] = [
    {**JUDGED, "q2": {"b": 2, "a": 1, "\u00e4": 1}},  # a grade
    {**JUDGED, "q2": {"b": 2, "\u00e4": 1}},  # one less
    {**JUDGED, "q2": {"b": 2, "a": 0, "a\u0308": 1}},  # looks the same
    {**JUDGED, "q3": {"d1": 1}},
    {**JUDGED, "q3": {}},  # which counts in the mean
    {"q2": JUDGED["q1"], "q1": JUDGED["q2"]},
    {"q2": {"b": 2, "a": 0}, "q1": {"d1": 1, "\u00e4": 1}},
    {"q1": {"d1": {"x": 1}}, "q2": {"b": {"x": 1}}},  # in groups
    {"q1": {"d1": {"y": 1}}, "q2": {"b": {"x": 1}}},
]


def test_every_other_judgment_changes_the_hash() -> None:
    hashes = [hash_judgments(Qrels(one)) for one in (JUDGED, *OTHERS)]
    assert len(set(hashes)) == len(hashes)


def test_what_measures_see_of_a_sample_changes_the_hash() -> None:
    rows = [{"query_id": "q1", "doc_id": "a", "relevance": 1, "stratum": 1}]
    plain = [{name: one[name] for name in ("query_id", "doc_id", "relevance")} for one in rows]
    other = [{**rows[0], "stratum": 2}]
    assert len({hash_judgments(Qrels(one)) for one in (rows, plain, other)}) == 3


# ---- the sketch of what was retrieved -----------------------------------------------------------


def test_small_sets_are_compared_exactly() -> None:
    chance = np.random.default_rng(5)
    for _ in range(20):
        sets = [{f"doc{i}" for i in chance.integers(0, 40, 25)} for _ in range(2)]
        a, b = (sketch_documents(Run({"q1": sorted(one), "q2": sorted(one)[:3]})) for one in sets)
        assert estimate_overlap(a, b) == len(sets[0] & sets[1]) / len(sets[0] | sets[1])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_large_sets_are_compared_nearly(share: float) -> None:
    """Of 64 hashes, the share is four standard deviations of a binomial count off at most."""
    for name in ("d{}", "https://example.org/documents/{:09}"):
        n, shift = 20_000, round(20_000 * (1 - share) / (1 + share))
        a, b = ([name.format(i + start) for i in range(n)] for start in (0, shift or n))
        exact = len({*a} & {*b}) / len({*a} | {*b})
        found = estimate_overlap(sketch_documents(Run({"q": a})), sketch_documents(Run({"q": b})))
        assert abs(found - exact) <= 4 * (exact * (1 - exact) / SKETCH_SIZE) ** 0.5


def test_a_sketch_does_not_depend_on_the_form_or_on_the_process(write: Any) -> None:
    docs = [f"document-{i}" for i in range(300)]
    lines = "".join(f"q{i % 3} Q0 {doc} 1 {-i} t\n" for i, doc in enumerate(docs))
    path = write("new.run", lines)
    expected = sketch_documents(Run({"q": docs}))
    assert sketch_documents(Run({"q": dict.fromkeys(docs, 1.0)})) == expected
    qrels = write("qrels.txt", "q0 0 document-0 1\nq1 0 document-1 1\nq2 0 x 1\n")
    out = write("new.json", "")
    assert invoke("evaluate", qrels, path, "-m", "RR", "-q", "-o", out).exit_code == 0
    assert json.loads(Path(out).read_text())["runs"][0]["retrieved"] == expected
    # Made in another process, by hand: the hash of a short id is its bytes, mixed by splitmix64.
    assert sketch_documents(Run({"q": ["a"]})) == f"{splitmix(int.from_bytes(b'a', 'little')):016x}"


def splitmix(word: int) -> int:
    whole = 2**64 - 1
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & whole
    word = (word ^ word >> 27) * 0x94D049BB133111EB & whole
    return word ^ word >> 31


# ---- saved scores -------------------------------------------------------------------------------

Save = Callable[..., str]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def saved(name: str, run: str, *more: str, qrels: str = QRELS) -> str:
        path = str(tmp_path / name)
        done = invoke("evaluate", qrels, run, "-m", "nDCG@10", "-q", "-o", path, *more)
        assert done.exit_code == 0, done.output
        return path

    return saved


def test_scores_made_alike_are_compared_without_a_word(save: Save) -> None:
    old, new = save("old.json", BM25), save("new.json", DENSE)
    found = compare([old, new])
    assert codes(found) == []
    fresh = compare(QRELS, [BM25, DENSE])
    assert found["nDCG@10"].pairs[0].p == fresh["nDCG@10"].pairs[0].p
    assert gate([old, new], baseline="bm25", margin=0.02).passed


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--depth", "5"], "depth=5, not None"),
        (
            ["--ties", "ascending", "--scores", "single"],
            "scores=single, not double; ties=ascending",
        ),
        (["--judged-only"], "judged_only=True, not False"),
    ],
)
def test_other_options_are_refused_and_named(save: Save, more: list[str], said: str) -> None:
    old, new = save("old.json", BM25), save("new.json", DENSE, *more)
    for verb in (compare, lambda data: gate(data, baseline="bm25", margin=0.1)):
        with pytest.raises(InputError, match="made differently from") as error:
            verb([old, new])
        assert said in str(error.value)
        assert "new.json" in str(error.value)
    with pytest.warns(CranfieldWarning, match="made differently"):
        found = compare([old, new], differing="allow")
    assert codes(found) == ["made-otherwise"]


def test_other_judgments_are_refused(save: Save, write: Any) -> None:
    lines = Path(QRELS).read_text().splitlines()
    more = write("more.txt", "\n".join([*lines, "q01 0 one-more 0"]) + "\n")
    shuffled = write("shuffled.txt", "\n".join(reversed(lines)) + "\n")
    old, new = save("old.json", BM25), save("new.json", DENSE, qrels=more)
    with pytest.raises(InputError, match="other judgments"):
        compare([old, new])
    assert codes(compare([old, save("other.json", DENSE, qrels=shuffled)])) == []
    given = ["--baseline", old, "--margin", "0.02"]
    done = invoke("gate", "--saved", new, *given)
    assert done.exit_code == 2
    assert "--differing allow" in done.output
    done = invoke("gate", "--saved", new, *given, "--differing", "allow", "--format", "json")
    assert done.exit_code == 0
    assert [one["code"] for one in json.loads(done.stdout)["notes"]] == ["made-otherwise"]
    assert invoke("compare", QRELS, BM25, DENSE, "--differing", "allow").exit_code == 2


def rechunked(path: str, written: Any, name: str, column: int) -> str:
    rows = [line.split() for line in Path(path).read_text().splitlines()]
    for row in rows:
        row[column] = f"chunk-{row[column]}"
    found: str = written(name, "".join(" ".join(row) + "\n" for row in rows))
    return found


def test_documents_that_were_named_anew_are_told(save: Save, write: Any) -> None:
    run, judged = (
        rechunked(*one) for one in ((DENSE, write, "dense.run", 2), (QRELS, write, "q", 2))
    )
    old, new = save("old.json", BM25), save("new.json", run, qrels=judged)
    with pytest.raises(InputError, match="other judgments") as error:
        compare([old, new])
    assert "almost no documents in common" in str(error.value)
    # By judgments that know both, the judgments are the same, and it is a warning.
    known = write("both.txt", Path(QRELS).read_text() + Path(judged).read_text())
    with pytest.warns(CranfieldWarning, match="were documents split or renamed"):
        found = compare([save("a.json", BM25, qrels=known), save("b.json", run, qrels=known)])
    assert codes(found) == ["other-documents"]


CHUNKS = {f"q{i}": [f"d{i}#1", f"d{i}#2", f"d{i + 1}#1"] for i in range(1, 31)}
OF_CHUNKS = {f"q{i}": {f"d{i}": 1} for i in range(1, 31)}
KEEPS = {None: "raw", "first": "first", "best": "best"}


def save_mapped(folder: Path, keep: Any, run: Any = None) -> str:
    found = Run({q: {doc: -i for i, doc in enumerate(docs)} for q, docs in CHUNKS.items()})
    found = Run(run) if run is not None else found
    if keep is not None:
        found = found.map_docs("^([^#]*)", keep)
    path = folder / f"{KEEPS[keep]}.json"
    scores = evaluate(OF_CHUNKS, found, "P@5", fingerprints=True)
    path.write_text(scores.to_json(per_query=True))
    return str(path)


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_chunks_that_were_mapped_are_not_compared_with_those_that_were_not(tmp_path: Path) -> None:
    raw, first, best = (save_mapped(tmp_path, keep) for keep in KEEPS)
    for pair in ([raw, first], [first, raw]):
        with pytest.raises(InputError, match="documents as they were retrieved") as error:
            compare(pair)
        assert "--map-docs-pattern" in str(error.value)
    with pytest.raises(InputError, match=r"documents \(best\), not chunks mapped to documents \(f"):
        compare([first, best])
    found = compare([first, raw], differing="allow")
    assert codes(found) == ["constant", "affix", "made-otherwise", "other-documents"]


def test_chunks_that_were_mapped_are_compared_with_documents(tmp_path: Path) -> None:
    (tmp_path / "of").mkdir()
    first = save_mapped(tmp_path, "first")
    documents = save_mapped(tmp_path / "of", None, {q: [f"d{q[1:]}"] for q in CHUNKS})
    assert compare([first, documents])["P@5"].pairs[0].difference == 0


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_warnings_of_saved_scores_are_given_again(tmp_path: Path) -> None:
    raw = save_mapped(tmp_path, None)
    said = [note for note in compare(raw, measures="P@5").data_notes if note.is_grave]
    fresh = evaluate(OF_CHUNKS, CHUNKS, "P@5").notes
    assert [note.text for note in said] == [note.text for note in fresh if note.is_grave]
    document = json.loads(Path(raw).read_text())
    broken = ({"code": 1}, 7, {"code": "a", "severity": "loud", "text": "b"}, None)
    document["runs"][0]["notes"] = [*broken]
    Path(raw).write_text(json.dumps(document))
    assert compare(raw, measures="P@5").data_notes == ()
    document["runs"][0]["notes"] = "none"
    Path(raw).write_text(json.dumps(document))
    assert compare(raw, measures="P@5").data_notes == ()


def test_files_that_do_not_say_are_taken_with_a_note(save: Save, tmp_path: Path) -> None:
    old, new, csv = save("old.json", BM25), save("new.json", DENSE), save("new.csv", DENSE)
    found = compare([old, csv])
    assert codes(found) == ["over-all", "judgments-unknown"]
    said = find_note(found.notes, "judgments-unknown")
    assert said.severity == "info"
    assert said.source == csv
    assert "judgments-unknown" not in codes(compare(csv))  # there is nothing that may differ
    # Those of Python's own JSON say the options, and the judgments if that was asked for.
    plain = tmp_path / "plain.json"
    plain.write_text(evaluate(QRELS, DENSE, "nDCG@10").to_json(per_query=True))
    assert codes(compare([old, str(plain)])) == ["judgments-unknown"]
    plain.write_text(evaluate(QRELS, DENSE, "nDCG@10", depth=5).to_json(per_query=True))
    with pytest.raises(InputError, match="depth=5"):
        compare([old, str(plain)])
    kept = evaluate(QRELS, DENSE, "nDCG@10", fingerprints=True)
    plain.write_text(kept.to_json(per_query=True))
    assert codes(compare([old, str(plain)])) == []
    assert json.loads(plain.read_text())["runs"] == json.loads(Path(new).read_text())["runs"]


def test_nothing_is_computed_unless_every_query_is_saved_as_json(
    save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: object) -> str:
        raise AssertionError

    monkeypatch.setattr("cranfield.data.fingerprint.hash_judgments", refused)
    assert "judgments_sha256" not in evaluate(QRELS, BM25, "nDCG@10").recipe
    save("old.csv", BM25)
    done = invoke("evaluate", QRELS, BM25, "-m", "nDCG@10", "--format", "json")
    assert "judgments_sha256" not in json.loads(done.stdout)["recipe"]


BROKEN: list[Any] = [
    {"recipe": None},
    {"recipe": {"judgments_sha256": ["no"], "depth": {"a": 1}}},
    {"runs": [{"run": "new", "queries": {"q1": {"AP": 1}}, "retrieved": 7}], "recipe": {}},
    {"runs": [{"run": "new", "queries": {"q1": {"AP": 1}}, "retrieved": "zz"}], "recipe": {}},
    {"runs": [{"run": "new", "queries": {"q1": {"AP": 1}}, "retrieved": ""}], "recipe": {}},
]


@pytest.mark.parametrize("change", BROKEN)
@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_what_others_write_there_breaks_nothing(change: Any, write: Any) -> None:
    plain = {"recipe": {}, "runs": [{"run": "new", "queries": {"q1": {"AP": 0.5}}}]}
    files = [
        write(f"{i}.json", json.dumps(one)) for i, one in enumerate((plain, {**plain, **change}))
    ]
    assert len(compare(files).aligned.system_names) == 2


def test_a_stated_top_grade_that_is_a_fraction_is_part_of_the_hash() -> None:
    """As ERR and others depend on it."""
    qrels = Qrels({"q": {"a": 0.25}})
    hashes = {
        hash_judgments(qrels.replace_fields(stated_top_grade=top)) for top in (0.25, 0.5, 0.75, 1)
    }
    assert len(hashes) == 4
    assert hash_judgments(qrels.replace_fields(stated_top_grade=1.0)) in hashes
