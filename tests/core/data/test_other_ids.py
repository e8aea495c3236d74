"""Documents that the run has under other ids: said with the option that mends it, and no others."""

import hashlib
import json
import random
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.profile import seeds

from cranfield import CranfieldWarning, InputError, Qrels, Run, check, evaluate, explain
from cranfield.data import match
from cranfield.data.sketch import QuerySketch, sample_unjudged_dict
from cranfield.data.spelling import find_lookalikes
from cranfield.notes import Note

DOCS = {
    "accent": lambda i: f"Café_{i}x",
    "number": lambda i: f"{i}",
    "timestamp": lambda i: f"{i:04d}2084-2019-04-18T12:20:{i:02d}Z-{i:06d}",
    "part": lambda i: f"guide_{i}",
    "hash": lambda i: hashlib.sha256(str(i).encode()).hexdigest(),
    "title": lambda i: f"The long  history {i}",
}
OTHER_IDS: dict[str, tuple[str, Callable[[str], str]]] = {
    "NFD": ("accent", lambda doc: unicodedata.normalize("NFD", doc)),
    "capitals": ("accent", str.upper),
    "UTF-8 as Latin-1": ("accent", lambda doc: doc.encode().decode("latin-1")),
    "Latin-1 as UTF-8": (
        "accent",
        lambda doc: doc.encode("latin-1").decode(errors="surrogateescape"),
    ),
    ".0": ("accent", lambda doc: f"{doc}.0"),
    ".0 of a number": ("number", lambda doc: f"{doc}.0"),
    "zeros": ("number", lambda doc: f"{int(doc):05d}"),
    ".txt": ("part", lambda doc: f"{doc}.txt"),
    "folder": ("number", lambda doc: f"corpus/{doc}"),
    "letters": ("number", lambda doc: f"doc{doc}"),
    "cut": ("timestamp", lambda doc: doc[:20]),
    "chunk": ("accent", lambda doc: f"{doc}#{len(doc) % 3}"),
    "chunk of a numbered document": ("part", lambda doc: f"{doc}_{int(doc[6:]) % 3}"),
    "anchor": ("number", lambda doc: f"{doc}#{'abc'[int(doc) % 3]}"),
    "address": ("timestamp", lambda doc: f"https://a.org/{doc}"),
    "language": ("part", lambda doc: f"{doc}-en"),
    "page": ("number", lambda doc: f"{doc}?page={int(doc) % 4}"),
    "named chunk": ("part", lambda doc: f"{doc}::chunk{int(doc[6:]) % 3}"),
    "titles": ("part", str.title),
    "cut hash": ("hash", lambda doc: doc[:12]),
    "blanks": ("title", lambda doc: f"{' '.join(doc.split())}"),
}


def make_case(
    kind: str, *, in_run: bool, share: float, n: int = 50
) -> tuple[dict[str, dict[str, int]], dict[str, list[str]], float]:
    """Return judgments, a run of which a part is written otherwise on one side, and the true RR."""
    scheme, write = OTHER_IDS[kind]
    qrels, run, n_right = {}, {}, 0
    for i in range(n):
        doc, filler = DOCS[scheme](i + 10), DOCS[scheme](i + 110)
        is_altered = i < share * n
        qrels[f"q{i}"] = {write(doc) if is_altered and not in_run else doc: 1}
        run[f"q{i}"] = [filler, write(doc) if is_altered and in_run else doc]
        n_right += 1
    return qrels, run, n_right * (1 / 2) / n


def spelling_notes(notes: Any) -> list[Note]:
    return [note for note in notes if note.code == "doc-spelling"]


def write_files(qrels: Any, run: Any, folder: Path) -> tuple[str, str]:
    """Write both sides as JSON, and return the paths."""
    paths = folder / "qrels.json", folder / "run.json"
    for path, side in zip(paths, (qrels, run), strict=True):
        path.write_text(json.dumps(side))
    return str(paths[0]), str(paths[1])


@pytest.mark.parametrize("in_run", [True, False])
@pytest.mark.parametrize("kind", OTHER_IDS)
def test_what_a_part_of_the_ids_lacks_is_said_and_typing_the_remedy_mends_it(
    kind: str, in_run: bool, tmp_path: Path
) -> None:
    qrels, run, right_score = make_case(kind, in_run=in_run, share=0.2)
    n = round(50 * 0.2)
    scores = evaluate(qrels, run, "RR")
    assert scores["RR"] < right_score
    [note] = spelling_notes(scores.notes)
    assert note.count == n
    assert note.text.startswith(f"{n} of {n} relevant documents that the run missed")
    assert re.search(r": the run has '.*', the qrels '.*'; '.*' and '.*'\. To ", note.text)
    [option] = re.findall(r"\((--map-docs-pattern .*?)\)\. `cranfield", note.text)
    # The option as it is typed.
    paths = write_files(qrels, run, tmp_path)
    if "Latin-1 as" not in kind:  # JSON holds no such bytes
        process = invoke("evaluate", *paths, "-m", "RR", *shlex.split(option), "--format", "json")
        assert json.loads(process.stdout)["runs"][0]["all"]["RR"] == pytest.approx(right_score)
        assert "doc-spelling" not in process.stdout
    # The same in Python.
    pattern = shlex.split(option)[1]
    mapped_qrels = Qrels(qrels).map_docs(pattern) if "--map-qrels" in option else Qrels(qrels)
    scores = evaluate(mapped_qrels, Run(run).map_docs(pattern), "RR")
    assert scores["RR"] == pytest.approx(right_score)
    assert f"Run.map_docs({pattern!r})" in note.text
    # `check` lists more of them, and a run in rows says the same.
    rows = [(query, doc, -i) for query, docs in run.items() for i, doc in enumerate(docs)]
    [finding] = spelling_notes(check(qrels, run).findings)
    assert finding.text.count("' and '") == min(n, 10) - 1
    assert spelling_notes(evaluate(qrels, Run(rows), "RR").notes) == [note]


def test_where_all_ids_differ_the_option_is_said_too() -> None:
    for kind in (".txt", "cut", "chunk", "letters"):
        qrels, run, right_score = make_case(kind, in_run=True, share=1)
        [note] = [note for note in evaluate(qrels, run, "RR").notes if note.is_grave]
        assert note.code == "affix"
        [option] = re.findall(r"--map-docs-pattern (.*?)\)\. ", note.text)
        pattern, *flags = shlex.split(option)
        mapped_qrels = Qrels(qrels).map_docs(pattern) if flags else Qrels(qrels)
        assert evaluate(mapped_qrels, Run(run).map_docs(pattern), "RR")["RR"] == right_score
    qrels, run, right_score = make_case("NFD", in_run=True, share=1)
    with pytest.raises(InputError, match="share no document as they are written") as caught:
        evaluate(qrels, run, "RR")
    assert "--map-docs-pattern plain --map-qrels" in str(caught.value.hint)


def test_where_nothing_matches_an_id_of_each_side_is_shown() -> None:
    qrels = {f"q{i}": {f"judged-{i}": 1} for i in range(9)}
    run = {f"q{i}": [f"retrieved:{i * i}"] for i in range(9)}
    [note] = [note for note in evaluate(qrels, run, "RR").notes if note.is_grave]
    assert "the run has 'retrieved:0', the qrels 'judged-0'" in note.text
    [finding] = [finding for finding in check(qrels, run).findings if finding.severity == "error"]
    assert "the run has 'retrieved:0', the qrels 'judged-0'" in finding.text


def test_chunks_and_documents_mixed_among_the_judgments(tmp_path: Path) -> None:
    """Six questions expect a chunk, four a document; chunks are retrieved."""
    rows = [
        {
            "question": f"q{i}",
            "expected_ids": [f"k{i}#1" if i < 6 else f"k{i}"],
            "retrieved_ids": [f"x{i}#4", f"k{i}#1"],
        }
        for i in range(10)
    ]
    [note] = spelling_notes(evaluate(rows, "RR").notes)
    assert note.count == 10 - 6
    path = tmp_path / "rag.json"
    path.write_text(json.dumps(rows))
    [option] = re.findall(r"\((--map-docs-pattern .*?)\)\.", note.text)
    assert "--map-qrels" in option
    process = invoke("evaluate", str(path), "-m", "RR", *shlex.split(option), "--format", "json")
    assert json.loads(process.stdout)["runs"][0]["all"]["RR"] == 1 / 2
    # Mapped on one side only, as the page on chunks says for judgments of documents.
    notes = evaluate(Qrels(rows), Run(rows).map_docs("^([^#]*)"), "RR").notes
    [note] = spelling_notes(notes)
    assert note.count == 6
    assert "'#1' behind those of the qrels" in note.text


def test_sentences_in_the_place_of_ids_are_said() -> None:
    sentence = "The refund window is thirty days from delivery."
    rows: list[Any] = [
        {"question": "a", "expected_ids": ["k#1"], "retrieved_ids": ["k#1", "k#2"]},
        {"question": "b", "expected_ids": [sentence], "retrieved_ids": ["k#3", "k#2"]},
        {"question": "c", "expected_ids": [f"{sentence}y"], "retrieved_ids": ["k#3", "k#2"]},
    ]
    [note] = spelling_notes(evaluate(rows, "RR").notes)
    assert note.count == 2
    assert "the qrels have texts" in note.text
    assert "--map-docs FILE --map-qrels" in note.text
    # The table of all texts and ids that the note asks for.
    doc_of_text = {"k#1": "k#1", "k#2": "k#2", "k#3": "k#3", sentence: "k#3", f"{sentence}y": "k#2"}
    qrels, run = Qrels(rows).map_docs(doc_of_text), Run(rows).map_docs(doc_of_text)
    assert evaluate(qrels, run, "RR")["RR"] == (1 + 1 + 1 / 2) / 3


def test_retrieved_texts_in_the_place_of_ids_are_said() -> None:
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(12)}
    texts = [f"The window of offer {i} is thirty days from delivery." for i in range(4)]
    run = {query: [texts[i] if i < 4 else f"d{i}"] for i, query in enumerate(qrels)}
    [note] = spelling_notes(evaluate(qrels, run, "RR").notes)
    assert note.count == 4
    assert "the run has texts, the qrels ids: the run has 'The window" in note.text
    assert "(--map-docs FILE)" in note.text
    doc_of_text = {text: f"d{i}" for i, text in enumerate(texts)}
    doc_of_text |= {f"d{i}": f"d{i}" for i in range(12)}
    assert evaluate(qrels, Run(run).map_docs(doc_of_text), "RR")["RR"] == 1


def test_judged_texts_within_retrieved_ones_are_said() -> None:
    texts = [f"The window of offer {i} is thirty days from delivery." for i in range(6)]
    qrels = {f"q{i}": {text: 1} for i, text in enumerate(texts)}
    run = {
        f"q{i}": ["A text.", f"{i}. {text} Offer {i}." if i else text]
        for i, text in enumerate(texts)
    }
    [note] = spelling_notes(evaluate(qrels, run, "RR").notes)
    assert note.count == 5
    assert "retrieved texts hold the judged ones" in note.text

    def find_judged(text: str) -> str:
        return next((judged for judged in texts if judged in text), text)

    assert evaluate(qrels, Run(run).map_docs(find_judged), "RR")["RR"] == 1 / 2


def test_one_query_is_explained_with_the_note_on_its_run() -> None:
    qrels, run, _ = make_case("NFD", in_run=True, share=0.2)
    explanation: Any = explain(qrels, run, "RR", "q0")
    [note] = spelling_notes(explanation.notes)
    assert note.count == 50 * 0.2
    explanation = explain(qrels, run, "RR", "q49")  # which has its document
    assert not spelling_notes(explanation.notes)


# ---- ids that are others ------------------------------------------------------------------------


def letters_and_capitals(i: int) -> str:
    return f"{'dD'[i % 2]}{i // 2}"


SCHEMES: dict[str, Callable[[int], str]] = {
    "numbers": str,
    "doc": lambda i: f"doc{i}",
    "padded": lambda i: f"doc-{i:05d}",
    "capitals are other documents": letters_and_capitals,
    "chunks": lambda i: f"k{i // 4}#{i % 4}",
    "documents and chunks": lambda i: f"k{i // 4}" if i % 4 == 0 else f"k{i // 4}#{i % 4}",
    "sections": lambda i: f"{i % 30}.{i // 30 % 7}" + (f".{i // 210}" if i > 210 else ""),
    "variants": lambda i: f"B{i // 3:04d}{['', '-2', '-red'][i % 3]}",
    "zeros are other documents": lambda i: ["%d", "%02d", "%03d"][i % 3] % (i // 3),
    "hexadecimal": lambda i: f"{i * 7919:x}",
    "letters": lambda i: chr(97 + i % 26) + chr(97 + i // 26 % 26) * (i > 25) + "z" * (i // 676),
    "titles": lambda i: f"Alpha {i // 3}{['', ' (film)', ' of Kent'][i % 3]}",
    "files": lambda i: f"a{i // 2}{['.md', ''][i % 2]}",
    "versions": lambda i: f"2001.{i:05d}{'v2' * (i % 5 == 0)}",
}


def draw_collections(scheme: str, n: int) -> Iterator[tuple[Any, Any]]:
    """Yield judgments and runs of ids of one scheme, all written in one way."""
    for seed in range(n):
        draw = random.Random(f"{scheme} {seed}")
        docs = list(dict.fromkeys(SCHEMES[scheme](i) for i in range(draw.choice([30, 200, 2000]))))
        depth, n_relevant = draw.choice([3, 10, 20]), draw.choice([1, 3, 10])
        qrels, run = {}, {}
        for query in map(str, range(draw.choice([3, 20, 100]))):
            first = draw.randrange(len(docs) - 29)
            near_docs = docs[first : first + 30] if seed % 2 else docs  # of a topic, or of any
            relevant = draw.sample(near_docs, n_relevant)
            hits = [doc for doc in relevant if draw.random() < draw.choice([0.2, 0.8])]
            qrels[query] = dict.fromkeys(relevant, 1)
            run[query] = [*dict.fromkeys([*hits, *draw.sample(near_docs, depth)])]
        yield qrels, run


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
def test_ids_that_look_alike_and_differ_are_not_warned_of(scheme: str) -> None:
    codes = {"doc-spelling", "affix", "spelling", "self-retrieval"}
    for qrels, run in draw_collections(scheme, len(seeds(80))):
        notes = evaluate(qrels, run, "RR").notes
        assert [note.text for note in notes if note.code in codes] == []


@pytest.mark.parametrize("affix", ["_(film)", "-red", "/comments"])
def test_ids_that_a_query_retrieves_with_and_without_an_affix_are_two(affix: str) -> None:
    """Of 40 queries, 10 miss the judged document, and all retrieve the one with the affix."""
    docs = [f"doc{i}x" for i in range(40)]
    run = {
        f"q{i}": [*docs[i : i + (i % 4 > 0)], f"{doc}{affix}", "other"]
        for i, doc in enumerate(docs)
    }
    qrels = {f"q{i}": {doc: 1} for i, doc in enumerate(docs)}
    assert not [note.text for note in evaluate(qrels, run, "RR").notes if note.is_grave]
    one_id_each = {query: [ranking[0], "other"] for query, ranking in run.items()}
    with pytest.warns(CranfieldWarning, match="10 of 10 relevant documents"):
        notes = evaluate(qrels, one_id_each, "RR").notes
    assert "doc-spelling" in {note.code for note in notes}


@pytest.mark.parametrize(
    ("judged", "ranking"), [(["7.0", "8"], [7, 8]), ([7, 8], ["7.0", "8"]), (["7.0", "8"], [8, 7])]
)
def test_one_decimal_beside_its_whole_number_is_warned_of(judged: Any, ranking: Any) -> None:
    with pytest.warns(CranfieldWarning, match="1 of 1 relevant document that the run missed"):
        evaluate({"q": judged}, {"q": ranking}, "RR")
    with pytest.warns(CranfieldWarning, match="1 of 1 query that the run lacks"):
        evaluate({doc: {"a": 1} for doc in judged}, {doc: {"a": 0.5} for doc in ranking}, "RR")


@pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")
def test_ids_are_readable_where_their_letters_differ() -> None:
    def describe(judged: str, retrieved: str) -> str:
        notes = evaluate({"q": {judged: 1}}, {"q": [retrieved]}, "RR").notes
        return next(note.text for note in notes if note.is_grave)

    assert "the run has 'id7', the qrels '返金の方針です。'" in describe("返金の方針です。", "id7")
    assert "the run has 'Café#2', the qrels 'Café'" in describe("Café", "Café#2")
    with pytest.raises(InputError) as caught:
        describe("Café", unicodedata.normalize("NFD", "Café"))
    assert r"the run has 'Cafe\u0301', the qrels 'Caf\xe9'" in str(caught.value)


def test_long_ids_show_where_they_differ() -> None:
    docs = [f"https://a.org/{'folder/' * 20}{i}" for i in range(20)]
    qrels = {f"q{i}": {doc: 1} for i, doc in enumerate(docs)}
    run = {f"q{i}": {f"{doc}#p": 1.0} for i, doc in enumerate(docs)}
    (note,) = (note for note in evaluate(qrels, run, "RR").notes if note.code == "affix")
    assert "/0#p', the qrels '" in note.text
    assert "/0'. To take" in note.text


def test_ids_that_begin_with_very_many_others_take_no_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n_compiled, compile_pattern = 0, re._compile  # type: ignore[attr-defined]

    def count_compiled(pattern: Any, flags: Any) -> Any:
        nonlocal n_compiled
        n_compiled += 1
        return compile_pattern(pattern, flags)

    monkeypatch.setattr(re, "_compile", count_compiled)
    chance, docs = random.Random(1), ["a" * n for n in range(1, 400)]
    qrels = {f"q{i}": dict.fromkeys(chance.sample(docs, 20), 1) for i in range(10)}
    run = {f"q{i}": chance.sample(docs, 100) for i in range(10)}
    evaluate(qrels, run, "RR")
    assert n_compiled < 5_000


IDS_OF_A_FORM = [
    "d1",
    "d12",
    "d0",
    "d01",
    "e12",
    "12",
    "d1x",
    "D12",
    "d12.0",
    "d 12",
    "d12\n",
    "d²",
]


@pytest.mark.parametrize("form", ["d{}", "a1-{}", "{}", "Café {}"])
def test_numbers_of_one_form_are_not_searched(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    *docs, missed_doc = [form.format(number) for number in range(100, 151)]
    qrels = {
        query: dict.fromkeys([*docs[i : i + 20], missed_doc], 1)
        for i, query in enumerate(["q1", "q2"])
    }
    run = {query: {doc: 1 / i for i, doc in enumerate(docs, 1)} for query in qrels}
    samples: list[Any] = []

    def note_sample(*arguments: Any) -> Any:
        samples.append(sample_unjudged_dict(*arguments))
        return samples[-1]

    monkeypatch.setattr(match, "sample_unjudged_dict", note_sample)
    evaluate(qrels, run, "RR")
    assert samples == [{}]
    evaluate(qrels, {query: {**scores, f"{docs[0]}0": 0.5} for query, scores in run.items()}, "RR")
    assert samples[1]  # the run has a longer id


@pytest.mark.parametrize("in_run", [True, False])
@pytest.mark.parametrize("other_id", IDS_OF_A_FORM)
def test_an_id_of_another_form_is_searched_for(other_id: str, in_run: bool) -> None:
    docs = [f"d{number}" for number in range(20, 40)]
    qrels = Qrels({"q": dict.fromkeys(docs if in_run else [*docs, other_id], 1)})
    run_docs = [*docs[10:], other_id] if in_run else docs[10:]
    scores = {doc: float(i) for i, doc in enumerate([*run_docs, "d50"])}
    sample = sample_unjudged_dict(qrels, {"q": scores}, np.array([len(scores)]), 10, 0)
    missed = [doc for doc in qrels.doc_lists[0] if doc not in scores]
    unjudged = [doc for doc in scores if doc not in qrels.doc_lists[0]]
    lookalikes = find_lookalikes([QuerySketch("q", missed, [], unjudged)])
    assert bool(sample) or not lookalikes
    assert bool(sample) is (other_id not in ("d1", "d12", "d0"))
