"""check: each thing that silently ruins numbers, with its count, its line and its severity."""

import html
from pathlib import Path
from typing import Any

import pytest

from cranfield import InputError, OptionError, Qrels, Run, check, read_run
from cranfield.notes import Note

QRELS = "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\nq2 0 d 0\n"
RUN = (
    "q1 Q0 a 1 3.5 t\nq1 Q0 x 2 2.5 t\nq1 Q0 b 3 1.5 t\n"
    "q2 Q0 c 1 9 t\nq2 Q0 d 2 8 t\nq2 Q0 y 3 7 t\n"
)


def find_finding(code: str, qrels: Any, run: Any = None, **options: Any) -> Note:
    """Return the finding of a code; there must be just one."""
    report = check(qrels, [] if run is None else run, **options)
    (finding,) = [finding for finding in report.findings if finding.code == code]
    return finding


def test_good_files_have_no_findings(write: Any) -> None:
    report = check(write("qrels", QRELS), write("run", RUN))
    assert report.ok
    assert report.findings == []
    facts = list(report.facts.values())
    assert facts[0]["judgments"] == 4
    assert facts[1]["rows"] == 6
    assert facts[1]["judged documents returned"] == 4
    assert facts[1]["Judged@10"] == (2 / 3 + 2 / 3) / 2


RUNS = {
    "duplicate": (RUN + "q2 Q0 c 4 6 t\n", "error", 1, 7, "q2 Q0 c 4 6 t"),
    "number": (RUN.replace("2.5", "nan"), "error", 1, 2, "q1 Q0 x 2 nan t"),
    "columns": (RUN + "q3 Q0\nq3 Q0 a\n", "error", 2, 7, "q3 Q0"),
    "ranks": (RUN.replace("b 3 1.5", "b 3 3"), "warning", 1, 3, "q1 Q0 b 3 3 t"),
    "infinite-scores": (RUN.replace("3.5", "inf"), "warning", 1, None, None),
    "bom": ("\ufeff" + RUN, "info", 1, 1, None),
    "line-ends": (RUN.replace("2.5 t\n", "2.5 t\r\n"), "warning", 1, None, None),
    "no-last-line-end": (RUN[:-1], "warning", 1, None, None),
    "interleaved": (RUN + "q1 Q0 z 4 1 t\n", "info", 1, None, None),
    "odd-ids": (RUN.replace(" x ", " x\u200b "), "warning", 1, None, None),
    "queries-without-results": (RUN.split("q2")[0], "warning", 1, None, None),
    "queries-without-judgments": (RUN + "q9 Q0 a 1 1 t\n", "info", 1, None, None),
}
# The query of the example, where one is named.
QUERIES = {"duplicate": "q2", "ranks": "q1", "queries-without-results": "q2"}


@pytest.mark.parametrize(("code", "expected"), RUNS.items(), ids=RUNS.keys())
def test_what_is_wrong_with_a_run_is_found_with_its_line(
    code: str, expected: tuple[str, str, int, int | None, str | None], write: Any
) -> None:
    lines, severity, count, line, text = expected
    finding = find_finding(code, write("qrels", QRELS), write("run", lines))
    assert (finding.severity, finding.count, finding.line, finding.row) == (
        severity,
        count,
        line,
        text,
    )
    assert finding.source == str(Path(write("run", lines)))
    assert finding.query_id == QUERIES.get(code)


JUDGMENTS = {
    "number": (QRELS.replace("c 1", "c 1.5x"), "error", 1, 3),
    "fractions": (QRELS.replace("c 1", "c 1.5").replace("a 2", "a 0.5"), "info", 2, None),
    "duplicate": (QRELS + "q1 0 a 1\n", "error", 1, 5),
    "no-relevant": (QRELS.replace("c 1", "c 0"), "warning", 1, None),
    "negative-grades": (QRELS.replace("b 0", "b -2").replace("d 0", "d -1"), "info", 2, None),
    "high-grades": (QRELS.replace("a 2", "a 100"), "warning", 1, None),
    "one-grade": (QRELS.replace("a 2", "a 0").replace("c 1", "c 0"), "info", 1, None),
    "odd-ids": (QRELS.replace(" b ", " b\u00a0 "), "warning", 1, None),
}
QUERIES_OF_JUDGMENTS = {
    "fractions": "q1",
    "duplicate": "q1",
    "no-relevant": "q2",
    "negative-grades": "q1",
    "high-grades": "q1",
}


@pytest.mark.parametrize(("code", "expected"), JUDGMENTS.items(), ids=JUDGMENTS.keys())
def test_what_is_wrong_with_judgments_is_found(
    code: str, expected: tuple[str, str, int, int | None], write: Any
) -> None:
    lines, severity, count, line = expected
    finding = find_finding(code, write("qrels", lines))
    assert (finding.severity, finding.count, finding.line) == (severity, count, line)
    assert finding.query_id == QUERIES_OF_JUDGMENTS.get(code)


def test_ties_are_counted_and_those_in_the_first_k_apart() -> None:
    scores = {"a": 5.0, "b": 4.0, "c": 3.0, "d": 3.0, "e": 3.0}
    finding = find_finding("ties", {"q1": {"a": 1}}, {"q1": scores}, k=3)
    assert finding.count == 3
    assert "in 1 query within the first 3" in finding.text
    assert finding.row == "query 'q1': 'e' and 'd' have 3"
    finding = find_finding("ties", {"q1": {"a": 1}}, {"q1": scores}, k=2)
    assert "in 0 queries within the first 2" in finding.text


def test_what_stands_apart_is_brought_together_first(write: Any) -> None:
    run = write("run", RUN + "q1 Q0 z 4 1.5 t\nq2 Q0 y 4 1 t\n")
    assert (
        find_finding("ties", write("qrels", QRELS), run).row == "query 'q1': 'z' and 'b' have 1.5"
    )
    duplicate = find_finding("duplicate", write("qrels", QRELS), run)
    assert (duplicate.line, duplicate.row) == (8, "q2 Q0 y 4 1 t")


def test_a_run_whose_scores_are_all_equal_is_an_error() -> None:
    run = {"q1": {"a": 1.0, "b": 1.0}, "q2": {"c": 2.0, "d": 2.0}}
    assert find_finding("level-scores", {"q1": {"a": 1}}, run).severity == "error"
    assert (
        find_finding("ties", {"q1": {"a": 1}}, run | {"q2": {"c": 1.0, "d": 2.0}}).severity
        != "error"
    )


@pytest.mark.parametrize("score", [1.0, -1.0])
def test_a_run_of_one_document_each_has_no_ties(score: float) -> None:
    report = check({"q1": {"a": 1}}, {"q1": {"a": score}, "q2": {"b": score}})
    assert not {"ties", "level-scores"} & {finding.code for finding in report.findings}


@pytest.mark.parametrize(
    ("run", "code"),
    [
        ({"q1": {"A": 1.0, "x": 0.5}}, "ids"),
        ({"q1": {"x": 1.0, "y": 0.5}}, "nothing-judged"),
        ({"Q1": {"a": 1.0, "b": 0.5}}, "ids"),
    ],
)
def test_ids_that_do_not_match_are_an_error(run: Any, code: str) -> None:
    assert find_finding(code, {"q1": {"a": 1, "b": 0}}, run).severity == "error"


@pytest.mark.parametrize("name", ["q.tsv", "q.json", "q.parquet"])
def test_judgments_given_as_a_run_are_an_error(name: str, tmp_path: Path) -> None:
    Qrels({"q1": {"a": 2, "b": 0}, "q2": {"c": 1}}).write(
        tmp_path / name, "beir" if "tsv" in name else None
    )
    report = check(
        tmp_path / name,
        read_run(
            tmp_path / name,
            columns=None
            if "json" in name
            else {"score": "score" if "tsv" in name else "relevance"},
        ),
    )
    assert "qrels-as-run" in {finding.code for finding in report.findings}
    new_scores = {"q1": {"a": 2.0, "b": 0.5}, "q2": {"c": 1.0}}
    report = check(tmp_path / name, new_scores)
    assert "qrels-as-run" not in {finding.code for finding in report.findings}


def test_judgments_in_groups_are_checked() -> None:
    report = check({"q1": {"ann": {"a": 1, "b": 0}}}, {"q1": {"a": 2.0, "b": 1.0}})
    assert report.ok


def test_runs_are_named_as_evaluate_names_them() -> None:
    run = {"q1": {"a": 2.0, "b": 1.0}}
    assert list(check({"q1": {"a": 1, "b": 0}}, {"x": run, "y": run}).facts) == ["qrels", "x", "y"]


def test_bad_values_of_dicts_are_left_out_and_counted() -> None:
    run: Any = {"q1": {"a": 2.0, "b": float("nan"), "c": "x"}}
    report = check({"q1": {"a": 1, "b": "0.5"}}, run)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    counts = [(finding.source, finding.code, finding.count) for finding in errors]
    assert counts == [("qrels", "number", 1), ("run", "number", 2)]


def test_few_judged_documents_returned_hint_at_other_documents() -> None:
    qrels = {"q1": {f"d{i}": i % 2 for i in range(100)}}
    run = {"q1": {f"d{i}" if i == 0 else f"d{i}-0": -float(i) for i in range(100)}}
    finding = find_finding("few-judged-returned", qrels, run)
    assert "only 1.0% of" in finding.text
    assert "(1 of 100)" in finding.text
    assert find_finding("unjudged", qrels, run).severity == "warning"


def test_a_run_that_cannot_be_read_does_not_hide_the_others(write: Any) -> None:
    qrels, run = write("qrels", QRELS), write("run", RUN)
    report = check(qrels, [qrels, write("none", ""), run])
    assert list(report.unreadable) == [f"{qrels} (run)", write("none", "")]
    assert report.facts[run]["rows"] == 6
    assert not report.ok
    assert "This looks like qrels" in report.findings[0].text


def test_judgments_that_cannot_be_read_are_refused(write: Any) -> None:
    with pytest.raises(InputError, match="looks like a run"):
        check(write("run", RUN))


@pytest.mark.parametrize("k", [0, -1, True, 1.5, "10"])
def test_a_depth_that_is_none_is_refused(k: Any) -> None:
    with pytest.raises(OptionError, match="a whole number of at least 1"):
        check({"q": {"a": 1}}, k=k)


def test_what_was_read_strictly_is_looked_at_to_the_end(write: Any) -> None:
    run = Run([("q1", "a", 1.0), ("q1", "a", 0.5), ("q1", "a", 0.2)])
    finding = find_finding("duplicate", Qrels({"q1": {"a": 1}}), run)
    assert finding.count == 2
    assert run.errors == "strict", "the run itself is not changed"


def test_a_report_shows_itself_as_it_prints() -> None:
    qrels = {"q": {"<b>a</b>": 1, "b": 0}, "r": {"c": 0}}
    report = check(qrels, {"q": {"<b>a</b>": 1.0, "b": 1.0}})
    assert repr(report) == str(report).rstrip("\n")
    page = report._repr_html_()
    assert page.count("<table>") == len(report.facts) == 2
    for finding in report.findings:
        assert html.escape(finding.text) in page
    assert "<b>" not in page
    assert str(report).splitlines()[-1] in page
    clean = check({"q": {"a": 1, "b": 0}})
    assert not clean.findings
    assert "0 errors, 0 warnings." in clean._repr_html_()


def test_the_report_of_what_cannot_be_read_shows_itself(tmp_path: Path) -> None:
    report = check({"q": {"a": 1}}, tmp_path / "nothing.run")
    assert report.unreadable
    assert "No such file" in repr(report)
    assert "No such file" in report._repr_html_()
