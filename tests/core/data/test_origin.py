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
    rows = [
        (query, doc, grade)
        for query, grade_of_doc in judged.items()
        for doc, grade in grade_of_doc.items()
    ]
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
    hashes = [hash_judgments(Qrels(judgments)) for judgments in (JUDGED, *OTHERS)]
    assert len(set(hashes)) == len(hashes)


def test_what_measures_see_of_a_sample_changes_the_hash() -> None:
    rows = [{"query_id": "q1", "doc_id": "a", "relevance": 1, "stratum": 1}]
    plain = [{name: row[name] for name in ("query_id", "doc_id", "relevance")} for row in rows]
    changed_rows = [{**rows[0], "stratum": 2}]
    assert (
        len({hash_judgments(Qrels(sample_rows)) for sample_rows in (rows, plain, changed_rows)})
        == 3
    )


# ---- the sketch of what was retrieved -----------------------------------------------------------


def test_small_sets_are_compared_exactly() -> None:
    chance = np.random.default_rng(5)
    for _ in range(20):
        sets = [{f"doc{i}" for i in chance.integers(0, 40, 25)} for _ in range(2)]
        sketch, second_sketch = (
            sketch_documents(Run({"q1": sorted(docs), "q2": sorted(docs)[:3]})) for docs in sets
        )
        assert estimate_overlap(sketch, second_sketch) == len(sets[0] & sets[1]) / len(
            sets[0] | sets[1]
        )


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_large_sets_are_compared_nearly(share: float) -> None:
    """Of 64 hashes, the share is four standard deviations of a binomial count off at most."""
    for name in ("d{}", "https://example.org/documents/{:09}"):
        n, shift = 20_000, round(20_000 * (1 - share) / (1 + share))
        first_docs, second_docs = (
            [name.format(i + start) for i in range(n)] for start in (0, shift or n)
        )
        exact = len({*first_docs} & {*second_docs}) / len({*first_docs} | {*second_docs})
        overlap = estimate_overlap(
            sketch_documents(Run({"q": first_docs})), sketch_documents(Run({"q": second_docs}))
        )
        assert abs(overlap - exact) <= 4 * (exact * (1 - exact) / SKETCH_SIZE) ** 0.5


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
    all_bits = 2**64 - 1
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & all_bits
    word = (word ^ word >> 27) * 0x94D049BB133111EB & all_bits
    return word ^ word >> 31


# ---- saved scores -------------------------------------------------------------------------------

Save = Callable[..., str]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def save_scores(name: str, run: str, *extra_arguments: str, qrels: str = QRELS) -> str:
        path = str(tmp_path / name)
        invocation = invoke(
            "evaluate", qrels, run, "-m", "nDCG@10", "-q", "-o", path, *extra_arguments
        )
        assert invocation.exit_code == 0, invocation.output
        return path

    return save_scores


def test_scores_made_alike_are_compared_without_a_word(save: Save) -> None:
    old_path, new_path = save("old.json", BM25), save("new.json", DENSE)
    comparison = compare([old_path, new_path])
    assert codes(comparison) == []
    fresh = compare(QRELS, [BM25, DENSE])
    assert comparison["nDCG@10"].pairs[0].p == fresh["nDCG@10"].pairs[0].p
    assert gate([old_path, new_path], baseline="bm25", margin=0.02).passed


@pytest.mark.parametrize(
    ("extra_arguments", "message"),
    [
        (["--depth", "5"], "depth=5, not None"),
        (
            ["--ties", "ascending", "--scores", "single"],
            "scores=single, not double; ties=ascending",
        ),
        (["--judged-only"], "judged_only=True, not False"),
    ],
)
def test_other_options_are_refused_and_named(
    save: Save, extra_arguments: list[str], message: str
) -> None:
    old_path, new_path = save("old.json", BM25), save("new.json", DENSE, *extra_arguments)
    for verb in (compare, lambda paths: gate(paths, baseline="bm25", margin=0.1)):
        with pytest.raises(InputError, match="made differently from") as error:
            verb([old_path, new_path])
        assert message in str(error.value)
        assert "new.json" in str(error.value)
    with pytest.warns(CranfieldWarning, match="made differently"):
        comparison = compare([old_path, new_path], differing="allow")
    assert codes(comparison) == ["made-otherwise"]


def test_other_judgments_are_refused(save: Save, write: Any) -> None:
    lines = Path(QRELS).read_text().splitlines()
    more_qrels = write("more.txt", "\n".join([*lines, "q01 0 one-more 0"]) + "\n")
    shuffled_qrels = write("shuffled.txt", "\n".join(reversed(lines)) + "\n")
    old_path, new_path = save("old.json", BM25), save("new.json", DENSE, qrels=more_qrels)
    with pytest.raises(InputError, match="other judgments"):
        compare([old_path, new_path])
    assert codes(compare([old_path, save("other.json", DENSE, qrels=shuffled_qrels)])) == []
    gate_options = ["--baseline", old_path, "--margin", "0.02"]
    invocation = invoke("gate", "--saved", new_path, *gate_options)
    assert invocation.exit_code == 2
    assert "--differing allow" in invocation.output
    invocation = invoke(
        "gate", "--saved", new_path, *gate_options, "--differing", "allow", "--format", "json"
    )
    assert invocation.exit_code == 0
    note_codes = [note["code"] for note in json.loads(invocation.stdout)["notes"]]
    assert note_codes == ["unseen-loss", "made-otherwise"]
    assert invoke("compare", QRELS, BM25, DENSE, "--differing", "allow").exit_code == 2


def rechunk_file(path: str, write_file: Any, name: str, column: int) -> str:
    rows = [line.split() for line in Path(path).read_text().splitlines()]
    for row in rows:
        row[column] = f"chunk-{row[column]}"
    rewritten_path: str = write_file(name, "".join(" ".join(row) + "\n" for row in rows))
    return rewritten_path


def test_documents_that_were_named_anew_are_told(save: Save, write: Any) -> None:
    run, judged = (
        rechunk_file(*file_arguments)
        for file_arguments in ((DENSE, write, "dense.run", 2), (QRELS, write, "q", 2))
    )
    old_path, new_path = save("old.json", BM25), save("new.json", run, qrels=judged)
    with pytest.raises(InputError, match="other judgments") as error:
        compare([old_path, new_path])
    assert "almost no documents in common" in str(error.value)
    # By judgments that know both, the judgments are the same, and it is a warning.
    joint_qrels = write("both.txt", Path(QRELS).read_text() + Path(judged).read_text())
    with pytest.warns(CranfieldWarning, match="were documents split or renamed"):
        comparison = compare(
            [save("a.json", BM25, qrels=joint_qrels), save("b.json", run, qrels=joint_qrels)]
        )
    assert codes(comparison) == ["other-documents"]


CHUNKS = {f"q{i}": [f"d{i}#1", f"d{i}#2", f"d{i + 1}#1"] for i in range(1, 31)}
OF_CHUNKS = {f"q{i}": {f"d{i}": 1} for i in range(1, 31)}
KEEPS = {None: "raw", "first": "first", "best": "best"}


def save_mapped(folder: Path, keep: Any, run: Any = None) -> str:
    mapped_run = Run({q: {doc: -i for i, doc in enumerate(docs)} for q, docs in CHUNKS.items()})
    mapped_run = Run(run) if run is not None else mapped_run
    if keep is not None:
        mapped_run = mapped_run.map_docs("^([^#]*)", keep)
    path = folder / f"{KEEPS[keep]}.json"
    scores = evaluate(OF_CHUNKS, mapped_run, "P@5", fingerprints=True)
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
    comparison = compare([first, raw], differing="allow")
    assert codes(comparison) == ["constant", "affix", "made-otherwise", "other-documents"]


def test_chunks_that_were_mapped_are_compared_with_documents(tmp_path: Path) -> None:
    (tmp_path / "of").mkdir()
    first = save_mapped(tmp_path, "first")
    documents = save_mapped(tmp_path / "of", None, {q: [f"d{q[1:]}"] for q in CHUNKS})
    assert compare([first, documents])["P@5"].pairs[0].difference == 0


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_warnings_of_saved_scores_are_given_again(tmp_path: Path) -> None:
    raw = save_mapped(tmp_path, None)
    grave_notes = [note for note in compare(raw, measures="P@5").data_notes if note.is_grave]
    fresh = evaluate(OF_CHUNKS, CHUNKS, "P@5").notes
    assert [note.text for note in grave_notes] == [note.text for note in fresh if note.is_grave]
    document = json.loads(Path(raw).read_text())
    broken_notes = ({"code": 1}, 7, {"code": "a", "severity": "loud", "text": "b"}, None)
    document["runs"][0]["notes"] = [*broken_notes]
    Path(raw).write_text(json.dumps(document))
    assert compare(raw, measures="P@5").data_notes == ()
    document["runs"][0]["notes"] = "none"
    Path(raw).write_text(json.dumps(document))
    assert compare(raw, measures="P@5").data_notes == ()


def test_files_that_do_not_say_are_taken_with_a_note(save: Save, tmp_path: Path) -> None:
    old_path, new_path, csv = (
        save("old.json", BM25),
        save("new.json", DENSE),
        save("new.csv", DENSE),
    )
    comparison = compare([old_path, csv])
    assert codes(comparison) == ["over-all", "judgments-unknown"]
    message = find_note(comparison.notes, "judgments-unknown")
    assert message.severity == "info"
    assert message.source == csv
    assert "judgments-unknown" not in codes(compare(csv))  # there is nothing that may differ
    # Those of Python's own JSON say the options, and the judgments if that was asked for.
    plain = tmp_path / "plain.json"
    plain.write_text(evaluate(QRELS, DENSE, "nDCG@10").to_json(per_query=True))
    assert codes(compare([old_path, str(plain)])) == ["judgments-unknown"]
    plain.write_text(evaluate(QRELS, DENSE, "nDCG@10", depth=5).to_json(per_query=True))
    with pytest.raises(InputError, match="depth=5"):
        compare([old_path, str(plain)])
    scores = evaluate(QRELS, DENSE, "nDCG@10", fingerprints=True)
    plain.write_text(scores.to_json(per_query=True))
    assert codes(compare([old_path, str(plain)])) == []
    assert json.loads(plain.read_text())["runs"] == json.loads(Path(new_path).read_text())["runs"]


def test_nothing_is_computed_unless_every_query_is_saved_as_json(
    save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_call(_: object) -> str:
        raise AssertionError

    monkeypatch.setattr("cranfield.data.fingerprint.hash_judgments", refuse_call)
    assert "judgments_sha256" not in evaluate(QRELS, BM25, "nDCG@10").recipe
    save("old.csv", BM25)
    invocation = invoke("evaluate", QRELS, BM25, "-m", "nDCG@10", "--format", "json")
    assert "judgments_sha256" not in json.loads(invocation.stdout)["recipe"]


BROKEN_PARTS: list[Any] = [
    {"recipe": None},
    {"recipe": {"judgments_sha256": ["no"], "depth": {"a": 1}}},
    {"runs": [{"run": "new", "queries": {"q1": {"AP": 1}}, "retrieved": 7}], "recipe": {}},
    {"runs": [{"run": "new", "queries": {"q1": {"AP": 1}}, "retrieved": "zz"}], "recipe": {}},
    {"runs": [{"run": "new", "queries": {"q1": {"AP": 1}}, "retrieved": ""}], "recipe": {}},
]


@pytest.mark.parametrize("change", BROKEN_PARTS)
@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_what_others_write_there_breaks_nothing(change: Any, write: Any) -> None:
    plain = {"recipe": {}, "runs": [{"run": "new", "queries": {"q1": {"AP": 0.5}}}]}
    files = [
        write(f"{i}.json", json.dumps(document))
        for i, document in enumerate((plain, {**plain, **change}))
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
