"""Judgments by span: of parts of documents, no matter what the chunks are that a run retrieves."""

import json
import random
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from helpers import rows as rows_in
from helpers.commands import invoke
from helpers.notes import codes, find_note
from helpers.profile import seeds
from helpers.rows import ALL_FORMS, make_run, vary_block_sizes

from cranfield import (
    InputError,
    OptionError,
    Qrels,
    Run,
    check,
    evaluate,
    explain,
    read_qrels,
    read_run,
)
from cranfield.errors import DuplicateError

PATTERN = r"^(?P<doc>.*):(?P<start>\d+)-(?P<end>\d+)$"
MEASURES = "P@3 AP RR nDCG@5 NumRet NumRelRet Judged@3"
JUDGED = ["query_id", "doc_id", "start", "end", "relevance"]
FOUND = ["query_id", "doc_id", "start", "end", "score"]
Judgment = tuple[str, str, int, int, int]
Row = tuple[str, str, int, int, float]


def collection(seed: int) -> tuple[list[Judgment], list[Row]]:
    """Return judged spans, some of which overlap, and chunks of a fixed length, every half one."""
    chance = random.Random(seed)
    judged = {
        (f"q{i}", f"d{chance.randint(0, 2)}", start, start + chance.randint(1, 120)): 0
        for i in range(4)
        for start in (chance.randint(0, 300) for _ in range(6))
    }
    length = chance.choice([20, 50, 120])
    rows = []
    for query in (*(f"q{i}" for i in range(4)), "unjudged"):
        chunks = [(f"d{i}", begin) for i in range(4) for begin in range(0, 400, length // 2)]
        rows += [
            (query, doc, begin, begin + length, chance.choice([0.5, 1.0, 1.5, 2.0, 2.5]))
            for doc, begin in chance.sample(chunks, 15)
        ]
    return [(*span, chance.randint(-1, 3)) for span in judged], rows


def compute_by_loop(
    judged: list[Judgment], rows: list[Row], overlap: float
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return plain judgments and a plain run: each judged span is a document, met once.

    Ranked as documents are: by score, equal scores by the name of the span, descending.
    """
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for query, doc, start, end, grade in judged:
        qrels.setdefault(query, {})[f"{doc}[{start}:{end}]"] = grade
    queries = dict.fromkeys(row[0] for row in rows)
    for query in queries:
        query_rows = [row for row in rows if row[0] == query]
        query_rows.sort(
            key=lambda row: (row[4], f"{row[1]}[{row[2]}:{row[3]}]".encode()), reverse=True
        )
        used_spans: set[tuple[str, int, int]] = set()
        ranking = run.setdefault(query, {})
        for rank, (_, doc, start, end, _) in enumerate(query_rows):
            best, name = None, f"nothing {rank}"
            for judged_query, judged_doc, begin, stop, grade in judged:
                if (judged_query, judged_doc) != (query, doc) or (doc, begin, stop) in used_spans:
                    continue
                common = len(set(range(start, end)) & set(range(begin, stop)))
                share = common / min(end - start, stop - begin)
                if common and share >= overlap:
                    key = (grade, share, -begin, -stop)
                    if best is None or key > best:
                        best, name, span = key, f"{doc}[{begin}:{stop}]", (doc, begin, stop)
            if best is not None:
                used_spans.add(span)
            ranking[name] = -float(rank)
    return qrels, run


def as_ids(rows: list[Row]) -> list[tuple[str, str, float]]:
    return [(query, f"{doc}:{start}-{end}", score) for query, doc, start, end, score in rows]


def with_ids(name: str) -> Callable[[list[Row], Any], Run]:
    """Return how a run is made whose ids carry the spans."""
    return lambda rows, write: make_run(ALL_FORMS[name](as_ids(rows), write)).spans(PATTERN)


FORMS: dict[str, Callable[[list[Row], Any], Run]] = {
    **{name: with_ids(name) for name in ALL_FORMS},
    "frame of spans": lambda rows, write: Run(rows_in.frame(FOUND, rows)),
    "table of spans": lambda rows, write: Run(rows_in.table(FOUND, rows)),
    "CSV of spans": lambda rows, write: read_run(write("a.csv", rows_in.csv(FOUND, rows))),
    "JSON lines of spans": lambda rows, write: read_run(
        write("a.jsonl", rows_in.json_lines(FOUND, rows))
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("overlap", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", seeds(4))
def test_spans_are_those_of_a_slow_loop(
    seed: int, overlap: float, form: str, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged, rows = collection(seed)
    plain = evaluate(*compute_by_loop(judged, rows, overlap), MEASURES)
    qrels = Qrels(pd.DataFrame(judged, columns=JUDGED))
    run = FORMS[form](rows, write)
    for _ in vary_block_sizes(monkeypatch):
        scores = evaluate(qrels, run, MEASURES, overlap=overlap)
        assert scores.to_dict() == plain.to_dict()
        assert "spans" in codes(scores)


@pytest.mark.parametrize("form", ["frame", "rows", "CSV", "JSON lines", "written"])
def test_judgments_by_span_are_read_from_tables(form: str, write: Any, tmp_path: Any) -> None:
    judged, _ = collection(1)
    rows = [dict(zip(JUDGED, row, strict=True)) for row in judged]
    frame = Qrels(pd.DataFrame(judged, columns=JUDGED))
    if form == "written":
        frame.write(tmp_path / "again.csv")
    forms: dict[str, Callable[[], Qrels]] = {
        "frame": lambda: frame,
        "rows": lambda: Qrels(rows),
        "CSV": lambda: read_qrels(write("a.csv", rows_in.csv(JUDGED, judged))),
        "JSON lines": lambda: read_qrels(write("a.jsonl", rows_in.json_lines(JUDGED, judged))),
        "written": lambda: read_qrels(tmp_path / "again.csv"),
    }
    qrels = forms[form]()
    expected, _ = compute_by_loop(judged, [], 0.5)
    assert qrels.to_dict() == expected
    assert qrels.spans == frame.spans


ONE = pd.DataFrame([("q", "d", 100, 200, 1), ("q", "d", 300, 400, 2)], columns=JUDGED)


@pytest.mark.parametrize(
    ("chunk", "overlap", "meets"),
    [
        ((100, 200), 1, True),
        ((150, 160), 1, True),  # all of the shorter
        ((0, 1000), 1, True),
        ((150, 250), 0.5, True),
        ((151, 251), 0.5, False),
        ((151, 251), 0.49, True),
        ((200, 250), 0, False),  # the position behind the last one is not in it
        ((199, 250), 0, True),
    ],
)
def test_what_meets(chunk: tuple[int, int], overlap: float, meets: bool) -> None:
    row = {"qid": "q", "docno": "d", "start": chunk[0], "end": chunk[1], "score": 1.0}
    second_row = {
        "qid": "r",
        "docno": "e",
        "start": 5,
        "end": 7,
        "score": 1.0,
    }  # is met
    qrels = Qrels(pd.concat([ONE, pd.DataFrame([("r", "e", 5, 7, 1)], columns=JUDGED)]))
    value_of_query = evaluate(qrels, Run([row, second_row]), "RR", overlap=overlap).per_query("RR")
    assert value_of_query == {"q": int(meets), "r": 1}


def test_none_is_met() -> None:
    for columns in (("d", 0, 9), ("e", 100, 200)):
        run = Run(pd.DataFrame([("q", *columns, 1.0)], columns=FOUND))
        with pytest.warns(match="not one judged document"):
            assert evaluate(Qrels(ONE), run, "RR")["RR"] == 0


def test_a_judged_span_counts_once_and_a_retrieved_one_is_one_of_them() -> None:
    """The second chunk and the fourth meet a span that was met above: unjudged, at their ranks."""
    run = Run({"q": ["d:100-200", "d:110-210", "d:0-900", "d:300-320"]}).spans(PATTERN)
    scores = evaluate(Qrels(ONE), run, "P@4 AP Judged@4")
    assert scores.means() == {"P@4": 2 / 4, "AP": (1 / 1 + 2 / 3) / 2, "Judged@4": 2 / 4}
    note = find_note(scores.notes, "spans")
    assert note.count == 4
    assert "2 of them" in note.text


def test_explain_shows_the_spans() -> None:
    run = Run({"q": ["d:100-200", "d:110-210", "d:0-900"]}).spans(PATTERN)
    explanation = explain(Qrels(ONE), run, "AP", "q")
    assert explanation.value == (1 / 1 + 2 / 3) / 2  # type: ignore[union-attr]
    assert [row.document for row in explanation.retrieved] == [  # type: ignore[union-attr]
        "d[100:200]",
        "d[110:210] (again)",
        "d[300:400]",
    ]


def test_check_takes_them() -> None:
    judged, rows = collection(2)
    qrels, run = Qrels(pd.DataFrame(judged, columns=JUDGED)), FORMS["frame of spans"](rows, None)
    report = check(qrels, run)
    assert not [finding for finding in report.findings if finding.severity == "error"]
    assert report.facts["run"]["rows"] == len(rows)


# ---- what is refused ------------------------------------------------------------------------


def test_one_side_without_spans() -> None:
    with pytest.raises(InputError, match=r"the run 'run' has none(.|\n)*--span-pattern"):
        evaluate(Qrels(ONE), {"q": ["d"]})
    with pytest.raises(InputError, match="no columns start and end"):
        evaluate({"q": {"d": 1}}, Run({"q": ["d:1-2"]}).spans(PATTERN))
    with pytest.raises(OptionError, match=r"overlap=0\.7"):
        evaluate({"q": {"d": 1}}, {"q": ["d"]}, overlap=0.7)
    with pytest.raises(OptionError, match="mapped already"):
        Run({"q": ["d:1-2"]}).spans(PATTERN).map_docs("(.)")
    with pytest.raises(OptionError, match="spans"):
        Qrels(ONE).map_docs("(.)")


def test_patterns() -> None:
    for pattern, message in (
        ("(?P<doc>.*)", "no group called start or end"),
        ("(?P<doc>", "no regular expression"),
    ):
        with pytest.raises(OptionError, match=message):
            Run({"q": ["d:1-2"]}).spans(pattern)


@pytest.mark.parametrize("bad", ["d", "d:1-", "d:a-b", ":1-2"])
def test_ids_without_a_span(bad: str, write: Any) -> None:
    pattern = r"^(?P<doc>.*):(?P<start>.*)-(?P<end>.*)$"
    path = write("a.run", f"q Q0 d:100-150 1 9 t\nq Q0 {bad} 2 8 t\n")
    with pytest.raises(InputError, match="has no span") as caught:
        evaluate(Qrels(ONE), read_run(path).spans(pattern))
    assert (caught.value.source, caught.value.line) == (path, 2)
    run = read_run(path, errors="skip").spans(pattern)
    scores = evaluate(Qrels(ONE), run, "NumRet")
    assert (scores["NumRet"], scores.counts.rows_left_out) == (1, 1)


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (5, 5), (6, 5)])
def test_what_is_no_span(start: int, end: int) -> None:
    wrong = pd.DataFrame([("q", "d", 1, 2, 1), ("q", "d", start, end, 1)], columns=JUDGED)
    with pytest.raises(InputError, match=f"got start {start} and end {end}"):
        Qrels(wrong)
    assert Qrels(wrong, errors="skip").left_out.count == 1
    frame = pd.DataFrame([("q", "d", 100, 200, 1), ("q", "d", start, end, 1)], columns=FOUND)
    with pytest.raises(InputError, match=f"got start {start} and end {end}"):
        evaluate(Qrels(ONE), frame)
    scores = evaluate(Qrels(ONE), frame, "NumRet", errors="skip")
    assert (scores["NumRet"], scores.counts.rows_left_out) == (1, 1)


def test_the_same_span_twice_is_a_duplicate() -> None:
    twice = pd.DataFrame([("q", "d", 1, 9, 1), ("q", "d", 1, 9, 2)], columns=JUDGED)
    with pytest.raises(DuplicateError, match=r"'d\[1:9\]' occurs twice"):
        Qrels(twice)
    assert Qrels(twice, duplicates="best").to_dict() == {"q": {"d[1:9]": 2}}
    run = Run(pd.DataFrame([("q", "d", 100, 200, 1), ("q", "d", 100, 200, 2)], columns=FOUND))
    with pytest.raises(DuplicateError, match=r"'d\[100:200\]' occurs twice"):
        evaluate(Qrels(ONE), run)
    precisions = [
        evaluate(Qrels(ONE), run, "P@2", duplicates=rule)["P@2"] for rule in ("first", "each")
    ]
    assert precisions == [1 / 2, 1 / 2]


def test_columns_of_one_side_alone_mean_nothing_special() -> None:
    """A run with columns start and end and judgments of documents: they are not looked at."""
    run = pd.DataFrame([("q", "d", 100, 200, 1.0), ("q", "e", 0, 5, 2.0)], columns=FOUND)
    assert evaluate({"q": {"d": 1}}, run, "RR")["RR"] == 1 / 2
    only_start = pd.DataFrame([("q", "d", 7, 1)], columns=["qid", "docno", "start", "rel"])
    assert Qrels(only_start).spans is None


def test_on_the_command_line(write: Any) -> None:
    qrels = write("qrels.csv", "query_id,doc_id,start,end,relevance\n1,d,100,200,1\n")
    run = write("a.run", "1 Q0 d:0-120 1 9 t\n1 Q0 d:100-260 2 8 t\n")
    arguments = ["evaluate", qrels, run, "-m", "RR", "--format", "json"]
    pattern = ["--span-pattern", r"(?P<doc>.*):(?P<start>\d+)-(?P<end>\d+)"]
    value_of_overlap = {}
    for overlap in ("0", "0.5", "1"):
        invocation = invoke(*arguments, *pattern, "--overlap", overlap)
        assert invocation.exit_code == 0, invocation.stderr
        value_of_overlap[overlap] = json.loads(invocation.stdout)["runs"][0]["all"]["RR"]
    assert value_of_overlap == {"0": 1, "0.5": 1 / 2, "1": 1 / 2}
    invocation = invoke(*arguments)
    assert (invocation.exit_code, invocation.stdout) == (2, "")
    assert "--span-pattern" in invocation.stderr


@pytest.mark.parametrize("pattern", [3, None, "(", "(.*)", b"(?P<doc>.)(?P<start>.)(?P<end>.)"])
def test_what_is_no_pattern_of_spans_is_refused(pattern: Any) -> None:
    with pytest.raises(OptionError, match="the pattern"):
        Run({"q": ["d:0-9"]}).spans(pattern)
