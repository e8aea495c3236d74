"""Notes beside numbers: runs that are read differently from what was meant, one record for all."""

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import run_command
from helpers.noted import GRADES, qrels_csv

import cranfield
from cranfield import CranfieldWarning, Note, Run, check, compare, evaluate, explain, gate, grades
from cranfield.data.run_notes import ScoreOrder, are_ranks
from cranfield.data.sketch import QuerySketch
from cranfield.data.spelling import find_lookalikes
from cranfield.notes import format_notes, sort_by_severity, warn_about

N = 12
QRELS = "".join(f"q{q} 0 d{d} {d % 3}\n" for q in range(3) for d in range(0, N, 2))


def trec(score: Any, *, rank: Any = lambda d: d + 1, doc: Any = "d{}".format) -> str:
    """Return a run of three queries; `score` and `rank` map a document's place, from 0."""
    return "".join(
        f"q{q} Q0 {doc(d)} {rank(d)} {score(d)} tag\n" for q in range(3) for d in range(N)
    )


def grave(notes: Any) -> dict[str, int | None]:
    return {note.code: note.queries for note in notes if note.is_grave}


# What is wrong with a run, and the codes of what is reported, with the number of queries.
ODD: dict[str, tuple[str, dict[str, int | None]]] = {
    "in order": (trec(lambda d: 20 - d), {}),
    "shuffled, ranks agree": (trec(lambda d: d * 7 % N, rank=lambda d: N - d * 7 % N), {}),
    "rank as score": (trec(lambda d: d + 1), {"ranks": 3}),
    "rank as score, no rank": (
        "query_id,doc_id,score\n"
        + "".join(f"q{q},d{d},{d + 1}\n" for q in range(3) for d in range(N)),
        {"ranks-as-scores": 3},
    ),
    "rank as score, one rank for all": (trec(lambda d: d + 1, rank=lambda d: 0), {
        "ranks-as-scores": 3
    }),
    "all equal": (trec(lambda d: 1), {"level-scores": 3}),
    "other ids": (trec(lambda d: 20 - d, doc="e{}x".format), {"nothing-judged": None}),
    "suffix": (trec(lambda d: 20 - d, doc="d{}.md".format), {"affix": None}),
    "prefix": (trec(lambda d: 20 - d, doc="corpus/d{}".format), {"affix": None}),
    "parts": (trec(lambda d: 20 - d, doc=lambda d: f"d{d}#{d % 4}"), {"affix": None}),
    "letters": (trec(lambda d: 20 - d, doc="xd{}".format), {"affix": None}),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_evaluate_says_what_is_wrong_with_a_run(case: str, write: Any) -> None:
    lines, codes = ODD[case]
    name = "run.csv" if lines.startswith("query_id") else "run.txt"
    qrels, run = write("qrels.txt", QRELS), write(name, lines)
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        scores = evaluate(qrels, run, "nDCG@5")
    assert grave(scores.notes) == codes
    assert [warning.category for warning in caught_warnings] == [CranfieldWarning] * bool(codes)
    assert [warning.filename for warning in caught_warnings] == [__file__] * bool(codes)
    assert all(scores.per_query("nDCG@5")[f"q{q}"] >= 0 for q in range(3))


@pytest.mark.parametrize("case", [case for case, (_, codes) in ODD.items() if codes])
def test_check_says_the_same(case: str, write: Any) -> None:
    lines, codes = ODD[case]
    name = "run.csv" if lines.startswith("query_id") else "run.txt"
    report = check(write("qrels.txt", QRELS), write(name, lines))
    finding_codes = {note.code for note in report.findings}
    assert set(codes) <= finding_codes
    assert all(isinstance(note, Note) for note in report.findings)


@pytest.mark.parametrize("case", [case for case, (_, codes) in ODD.items() if codes])
def test_compare_gate_and_explain_say_the_same(case: str, write: Any) -> None:
    lines, codes = ODD[case]
    name = "run.csv" if lines.startswith("query_id") else "run.txt"
    qrels, run = write("qrels.txt", QRELS), write(name, lines)
    good_path = write("good.txt", ODD["in order"][0])
    comparison = compare(qrels, [good_path, run], "nDCG@5")
    verdict = gate(qrels, [good_path, run], "nDCG@5", baseline="good", margin=0.1)
    for text in (str(comparison), str(verdict)):
        for note in evaluate(qrels, run, "nDCG@5").notes:
            assert not note.is_grave or f"Warning: run: {note.text}" in text
    mean = explain(qrels, run, "nDCG@5")
    assert grave(mean.notes) == codes
    first = explain(qrels, run, "nDCG@5", "q1")
    two = explain(qrels, [good_path, run], "nDCG@5", "q1")
    alone = set(codes) - {"nothing-judged"}  # a query may well have nothing
    assert set(grave(first.notes)) == set(grave(two.notes)) == alone
    assert set(codes) <= {note.code for note in first.notes}
    for explained_text in (str(mean), *(map(str, (first, two)) if alone else ())):
        assert "Warning: " in explained_text


def test_warnings_are_above_the_other_notes(write: Any) -> None:
    qrels, run = write("qrels.txt", QRELS), write("run.txt", ODD["rank as score"][0])
    lines = str(evaluate(qrels, run, "nDCG@5")).splitlines()
    below = lines[lines.index("") + 1 :]
    assert below[0].startswith("Warning: ")
    assert "3 queries averaged." in below[1:]


def test_the_command_line_says_it_once(write: Any) -> None:
    files = write("qrels.txt", QRELS), write("run.txt", ODD["rank as score"][0])
    command = [sys.executable, "-W", "always", "-m", "cranfield", "evaluate", *files]
    command += ["--format", "tsv"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert process.stderr.count("the rank column contradicts the scores") == 1
    assert process.stderr.startswith("warning: in 3 of 3 queries")
    page = run_command("evaluate", *files, "--format", "json")
    notes = json.loads(page.stdout)["runs"][0]["notes"]
    assert {"ranks"} == {note["code"] for note in notes if note["severity"] == "warning"}


def test_the_rank_column_taken_there_is_nothing_to_say(write: Any) -> None:
    qrels, run = write("qrels.txt", QRELS), write("run.txt", ODD["rank as score"][0])
    assert grave(evaluate(qrels, run, "nDCG@5", order="rank").notes) == {}
    assert grave(evaluate(qrels, run, "nDCG@5", order="given").notes) == {}


def test_ranks_that_cannot_be_read_are_of_no_matter(write: Any) -> None:
    qrels = write("qrels.txt", QRELS)
    run = write("run.txt", trec(lambda d: d * 7 % N, rank=lambda d: "x"))
    assert grave(evaluate(qrels, run, "nDCG@5").notes) == {}


def test_only_the_beginning_of_a_long_run_is_looked_at(
    write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cranfield.formats.block import SIZES

    monkeypatch.setattr(SIZES, "bytes", 200)
    lines_of_20 = "".join(f"q{q:02} Q0 d{d} {d} {d} t\n" for q in range(20) for d in range(1, 9))
    qrels, run = write("qrels.txt", "q00 0 d1 1\n"), write("run.txt", lines_of_20)
    (note,) = [
        candidate for candidate in evaluate(qrels, run, "AP").notes if candidate.code == "ranks"
    ]
    assert note.queries is not None
    assert 2 <= note.queries < 20
    assert "at the beginning of the run" in note.text


@pytest.mark.parametrize("name", ["run.txt", "run.csv"])
def test_rows_in_the_order_of_their_ranks_over_all_queries(name: str, write: Any) -> None:
    rows = [(f"q{q}", f"d{d}", d + 1) for d in range(N) for q in range(3)]
    lines = [f"{q} Q0 {d} {r} {r} t\n" for q, d, r in rows]
    if name.endswith("csv"):
        lines = ["query_id,doc_id,score\n", *(f"{q},{d},{r}\n" for q, d, r in rows)]
    qrels, run = write("qrels.txt", QRELS), write(name, "".join(lines))
    code = "ranks-as-scores" if name.endswith("csv") else "ranks"
    assert grave(evaluate(qrels, run, "AP").notes) == {code: 3}


def test_ranks_that_agree_with_the_scores_are_none_in_their_place(write: Any) -> None:
    """The worst first: the scores rise by 1, and the rank column says that this is meant."""
    lines = trec(lambda d: d + 1, rank=lambda d: N - d)
    qrels, run = write("qrels.txt", QRELS), write("run.txt", lines)
    assert grave(evaluate(qrels, run, "AP").notes) == {}
    assert "ranks-as-scores" not in {note.code for note in check(qrels, run).findings}


def test_rows_for_programs_have_the_warnings_beside_them(write: Any) -> None:
    qrels, odd = write("qrels.txt", QRELS), write("run.txt", ODD["rank as score"][0])
    good_path = write("good.txt", ODD["in order"][0])
    for command in (
        ["evaluate", qrels, odd],
        ["explain", qrels, odd, "-m", "AP"],
        ["explain", qrels, odd, "-m", "AP", "--query", "q1"],
        ["compare", qrels, good_path, odd, "-m", "AP"],
        ["gate", qrels, odd, "--baseline", good_path, "-m", "AP", "--margin", "0.1"],
    ):
        process = run_command(*command, "--format", "csv")
        lines = [line for line in process.stderr.splitlines() if "contradicts the scores" in line]
        assert len(lines) == 1, command
        assert lines[0].startswith("warning: "), command


def warning_of(notes: list[Note]) -> str:
    """Return the text of the CranfieldWarning that is given of some notes."""
    with pytest.warns(CranfieldWarning) as caught:
        warn_about(notes)
    return str(caught[0].message)


def test_long_names_are_cut_in_warnings() -> None:
    warning = warning_of([Note("a", "warning", "2 are tied.", source="n" * 10_000)])
    assert warning == f"{'n' * 500}: 2 are tied."
    text_warning = warning_of([Note("a", "warning", f"{'n' * 10_000} is as good.")])
    assert len(text_warning) <= 2000


def test_other_names_are_whole_in_warnings() -> None:
    names = ", ".join(f"folder/run-{i:0150}" for i in range(3))
    text = "2 documents: 'a  b' are tied."
    assert warning_of([Note("a", "warning", text, source=names)]) == f"{names}: {text}"
    assert warning_of([Note("a", "error", text)]) == text


def test_a_comparison_of_long_names_warns_in_few_words() -> None:
    qrels = {f"q{i}": {"d": 1} for i in range(5)}
    runs = {"n" * 10_000: {query: {"d": 1.0} for query in qrels}}
    runs["m" * 10_000] = {query: {"x": 1.0} for query in qrels}
    with pytest.warns(CranfieldWarning, match="Only 5 queries") as caught:
        compare(qrels, runs, "AP")
    assert len(str(caught[0].message)) < 2000


def test_a_dict_of_ranks() -> None:
    qrels = {f"q{q}": {"b": 1} for q in range(4)}
    upside_down = {f"q{q}": {"a": 1, "b": 2, "c": 3} for q in range(4)}
    assert grave(evaluate(qrels, upside_down, "RR").notes) == {"ranks-as-scores": 4}
    from_0 = {f"q{q}": {"a": 0, "b": 1, "c": 2} for q in range(4)}
    assert grave(evaluate(qrels, from_0, "RR").notes) == {"ranks-as-scores": 4}
    falling = {f"q{q}": {"a": 3, "b": 2, "c": 1} for q in range(4)}
    assert grave(evaluate(qrels, falling, "RR").notes) == {}
    one_of_4 = {**upside_down, "q3": {"a": 1, "b": 4, "c": 2}}
    assert grave(evaluate(qrels, one_of_4, "RR").notes) == {}
    ranks_in_most: Any = {f"q{q}": upside_down["q0"] for q in range(39)} | {"odd": one_of_4["q3"]}
    judged: Any = {query: {"b": 1} for query in ranks_in_most}
    assert grave(evaluate(judged, ranks_in_most, "RR").notes) == {"ranks-as-scores": 39}
    two = {f"q{q}": {"a": 1, "b": 2} for q in range(4)}
    assert grave(evaluate(qrels, two, "RR").notes) == {}, "lists of two may well rise"


def test_a_dict_of_equal_scores() -> None:
    qrels = {f"q{q}": {"b": 1} for q in range(4)}
    level = {f"q{q}": {"a": 1.0, "b": 1.0} for q in range(3)} | {"q3": {"b": 2.0}}
    assert grave(evaluate(qrels, level, "RR").notes) == {"level-scores": 3}
    assert grave(evaluate(qrels, level, "RR", ties="expected").notes) == {}, "then they are meant"
    scores: Any = {**level, "q0": {"a": 1, "b": 2}}
    assert grave(evaluate(qrels, scores, "RR").notes) == {"ties": None}
    single: Any = {f"q{q}": {"a": float(q)} for q in range(100)}
    tied_once = evaluate(qrels, {**single, "q3": {"b": 1, "c": 1}}, "RR")
    assert grave(tied_once.notes) == {"ties": None}


def test_scores_of_queries_without_judgments_are_not_looked_at() -> None:
    run: Any = {"q0": {"a": "x", "b": "y"}, "q1": {"a": 2.0, "b": 1.0}}
    assert evaluate({"q1": {"a": 1}}, run, "RR")["RR"] == 1


def test_notes_are_plain_values() -> None:
    level = {"q1": {"a": 1.0, "b": 1.0}}
    scores = evaluate({"q1": {"a": 1}}, level, "AP")
    assert json.loads(json.dumps([note.to_dict() for note in scores.notes]))
    two = compare({"q1": {"a": 1}}, {"x": level, "y": {"q1": ["a"]}}, "AP")
    assert json.loads(json.dumps(two.to_dict()))


def test_a_run_that_retrieves_nothing_has_no_ids_to_match() -> None:
    assert grave(evaluate({"q1": {"d1": 1}}, {"q1": {}}, "RR").notes) == {}


def test_a_table_with_a_rank_column() -> None:
    rows: list[Any] = [{"query": "q1", "doc": f"d{i}", "score": i, "rank": i} for i in range(1, 6)]
    assert grave(evaluate({"q1": {"d1": 1}}, Run(rows), "RR").notes) == {"ranks": 1}


def test_the_warning_can_be_turned_off() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CranfieldWarning, match="not one judged document"):
            evaluate({"q1": {"a": 1}}, {"q1": {"x": 2, "y": 1}}, "AP")
        warnings.simplefilter("ignore", CranfieldWarning)
        assert evaluate({"q1": {"a": 1}}, {"q1": {"x": 2, "y": 1}}, "AP")["AP"] == 0


def test_real_runs_give_no_warning(data: Path) -> None:
    runs = sorted(map(str, (data / "dl19").glob("*.run*")))
    assert runs
    systems = evaluate(str(data / "dl19" / "qrels.txt"), runs, "nDCG@10")
    assert [(note.code, note.source) for note in systems.notes if note.is_grave] == [
        ("ties", "repllama")  # of which 42,360 documents are tied
    ]


def test_neighbours_in_the_order_of_the_ranks() -> None:
    rank = np.array([2, 1, 3, 1, 1])
    scores = np.array([5.0, 4.0, 1.0, 1.0, 2.0])
    order = ScoreOrder.of_rows(np.array([0, 3, 5]), scores, rank)
    assert (order.n_contradicting, order.first_row) == (1, 0), "equal ranks say nothing"


def test_scores_that_are_ranks() -> None:
    assert are_ranks(np.array([1.0, 2.0, 3.0]))
    assert are_ranks(np.array([0.0, 1.0]))
    assert not are_ranks(np.array([7.5]))
    assert not are_ranks(np.array([2.0, 3.0]))
    assert not are_ranks(np.array([1.0, 1.0, 3.0]))


@pytest.mark.parametrize(
    ("judged", "run_ids", "message"),
    [
        (["d1"], ["d1.txt"], "'.txt' behind those of the run"),
        (["d1.txt"], ["d1"], "'.txt' behind those of the qrels"),
        (["1"], ["doc_1"], "'doc_' before those of the run"),
        (["1", "2", "3"], ["1a", "2a", "3a"], "'a' behind those of the run"),
        (["1", "2"], ["1a", "2a"], None),
        (["pep8", "a"], ["pep8-naming", "b"], None),
        (["12", "34", "56"], ["123", "345", "567"], None),
        (["12", "34", "56"], ["012", "034", "056"], "how they are written"),
        ([], ["a"], None),
        (["x" * 300], ["x" * 300 + ".md"], "'.md' behind those of the run"),
    ],
)
def test_ids_that_match_but_for_an_affix(
    judged: list[str], run_ids: list[str], message: Any
) -> None:
    kinds = find_lookalikes([QuerySketch("q", judged, [], run_ids)])
    assert [message in kind.describe(1) for kind in kinds] == [True] * (message is not None)


def test_notes_are_shown_gravest_first() -> None:
    notes = [Note("a", "info", "A."), Note("b", "warning", "B.", source="run"), Note("c", "error", "C.")]  # fmt: skip  # noqa: E501
    assert format_notes(notes) == ["Error: C.", "Warning: run: B.", "A."]
    assert [note.code for note in sort_by_severity([*notes, notes[0]])] == ["c", "b", "a"]
    assert notes[1].to_dict() == {
        "code": "b", "severity": "warning", "text": "B.", "source": "run"
    }  # fmt: skip
    with pytest.warns(CranfieldWarning, match=r"^C\.\nrun: B\.$"):
        warn_about(notes)


def test_ids_cannot_command_a_terminal_by_a_warning() -> None:
    with pytest.warns(CranfieldWarning) as caught_warnings:
        warn_about([Note("a", "warning", "id \x1b[31m")])
    assert "\x1b" not in str(caught_warnings[0].message)


def test_the_public_names() -> None:
    assert {"Note", "CranfieldWarning"} <= set(cranfield.__all__)


# ---- judgments as their own run -------------------------------------------------------


EXPECTED = {query: dict.fromkeys(docs, 1) for query, docs in GRADES.items()}


def test_judgments_given_twice_are_warned_of_in_every_form(write: Any) -> None:
    path = write("qrels.tsv", qrels_csv("score"))
    rows: list[Any] = [
        {"query": query, "doc": doc, "relevance": grade, "score": float(grade)}
        for query, docs in GRADES.items()
        for doc, grade in docs.items()
    ]
    for scores in (
        evaluate(path, path, "RR"),
        evaluate(GRADES, GRADES, "RR"),
        evaluate(rows, "RR"),
        explain(path, path, "RR"),
    ):
        assert grave(scores.notes)["qrels-as-run"] is None
    assert "the judgments seem to be given as a run" in str(compare(path, [path, GRADES], "AP"))
    (finding,) = [
        candidate for candidate in check(path, path).findings if candidate.severity == "error"
    ]
    assert (finding.code, finding.severity, finding.count) == ("qrels-as-run", "error", 60)


def test_other_scores_of_the_judged_documents_are_a_run() -> None:
    """A reranker's scores, and the grades of another assessor, are no judgments."""
    shifted_scores = {
        query: {doc: n + 0.5 for doc, n in docs.items()} for query, docs in GRADES.items()
    }
    permuted_scores = {
        query: dict(zip(docs, (1, 2, 0), strict=True)) for query, docs in GRADES.items()
    }
    fewer = {query: docs for query, docs in GRADES.items() if query != "q7"}
    extended_scores = {**GRADES, "q7": {**GRADES["q7"], "x": 0}}
    for run in (shifted_scores, permuted_scores, fewer, extended_scores):
        assert "qrels-as-run" not in {note.code for note in evaluate(GRADES, run, "RR").notes}


@pytest.mark.parametrize(
    ("n_queries", "n_different", "is_warned"),
    [(20, 0, True), (20, 1, True), (20, 2, False), (5, 0, True), (4, 0, False), (5, 1, False)],
)
def test_lists_that_are_those_expected(n_queries: int, n_different: int, is_warned: bool) -> None:
    retrieved_lists = [["b", "a"] if i >= n_different else ["b", "x"] for i in range(n_queries)]
    rows: list[Any] = [
        {"query_id": f"q{i}", "expected_ids": ["a", "b"], "retrieved_ids": docs}
        for i, docs in enumerate(retrieved_lists)
    ]
    count_of_code = {"qrels-as-run": n_queries - n_different} if is_warned else {}
    assert grave(evaluate(rows, "R@5").notes) == count_of_code
    scored_rows = [{**row, "scores": [0.9, 0.4]} for row in rows]
    assert grave(evaluate(scored_rows, "R@5").notes) == count_of_code
    assert [finding.count for finding in check(rows).findings if finding.is_grave] == [
        *count_of_code.values()
    ]


def test_lists_of_one_document_and_judged_candidates_may_well_be_those_expected() -> None:
    single: list[Any] = [
        {"query_id": f"q{i}", "expected_ids": ["a"], "retrieved_ids": ["a"]} for i in range(9)
    ]
    assert grave(evaluate(single, "RR").notes) == {}
    reversed_lists = {query: [*reversed(docs)] for query, docs in GRADES.items()}
    assert grave(evaluate(GRADES, reversed_lists, "RR").notes) == {}
    predicted_scores = {
        query: dict(zip(docs, (0.3, 0.9, 0.1), strict=True)) for query, docs in GRADES.items()
    }
    assert grave(evaluate(EXPECTED, predicted_scores, "RR").notes) == {}
    assert grave(evaluate(*grades([[1, 1]] * 9), "RR").notes) == {}
    labelled_rows: list[Any] = [
        {"query_id": f"q{i}", "doc_id": doc, "relevance": 1, "rank": rank}
        for i in range(9)
        for rank, doc in enumerate("ab", 1)
    ]
    assert grave(evaluate(labelled_rows, "RR").notes) == {}
    twice = {query: [*docs] for query, docs in EXPECTED.items()}
    assert grave(evaluate(EXPECTED, twice, "RR").notes) == {"qrels-as-run": 20}


# ---- what judged_only drops ---------------------------------------------------------------------

JUDGED = {"q": {"a": 1, "n": -1}, "p": {"a": 1}}
RANKED = {"q": ["x", "a", "y", "n"], "p": ["a"]}


@pytest.mark.parametrize(("depth", "n_dropped"), [(None, 3), (2, 1), (1, 1)])
def test_judged_only_says_how_many_documents_it_drops(depth: int | None, n_dropped: int) -> None:
    scores = evaluate(JUDGED, RANKED, "RR", judged_only=True, depth=depth)
    (note,) = (note for note in scores.notes if note.code == "judged-only")
    assert note.count == n_dropped
    assert note.text.startswith(f"{n_dropped} document")


def test_judged_only_says_nothing_where_it_drops_nothing() -> None:
    scores = evaluate(JUDGED, {"q": ["a"], "p": ["a"]}, "RR", judged_only=True)
    assert "judged-only" not in [note.code for note in scores.notes]
