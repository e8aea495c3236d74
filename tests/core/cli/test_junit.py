"""JUnit: the verdicts of a gate as continuous integration reads them."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers.commands import invoke
from helpers.folders import DEMO

from cranfield import CranfieldWarning, gate
from cranfield.render.junit import Case, to_junit
from cranfield.render.shown import FORMS

QRELS, BM25, DENSE, TFIDF = (
    str(DEMO / name) for name in ("qrels.txt", "bm25.run", "dense.run", "tfidf.run")
)

# The schema of Jenkins' xUnit plug-in (junit-10.xsd), as far as these elements are concerned:
# {element: (attributes that it must have, those that it may have, {child})}.
SCHEMA: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (
        set(),
        {"name", "time", "tests", "failures", "errors", "disabled"},
        {"testsuite"},
    ),
    "testsuite": (
        {"name", "tests"},
        {"failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"},
        {"testcase", "properties", "system-out", "system-err"},
    ),
    "testcase": (
        {"name", "classname"},
        {"time", "assertions", "status"},
        {"failure", "skipped", "error", "system-out", "system-err"},
    ),
    "failure": (set(), {"message", "type"}, set()),
    "skipped": (set(), {"message", "type"}, set()),
    "system-out": (set(), set(), set()),
}


def parse_checked(content: str) -> ElementTree.Element:
    """Parse a report, and hold it against the schema and its own counts."""
    root = ElementTree.fromstring(content.encode())  # noqa: S314 - our own
    assert root.tag == "testsuites"
    for node in root.iter():
        needed_attributes, allowed_attributes, children = SCHEMA[node.tag]
        assert needed_attributes <= {*node.keys()} <= needed_attributes | allowed_attributes
        assert {child.tag for child in node} <= children
    for node in (root, *root):
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
            if name != "skipped" or node.tag == "testsuite":
                assert int(node.get(name, "")) == len([*node.iter(tag)])
        assert node.get("errors") == "0"
    return root


def outcomes(root: ElementTree.Element) -> dict[tuple[str | None, str | None], str]:
    cases = root.iter("testcase")
    tags_of_case = {
        (case.get("classname"), case.get("name")): [child.tag for child in case] for case in cases
    }
    return {name: (tags or ["passed"])[0] for name, tags in tags_of_case.items()}


def test_each_verdict_and_threshold_is_a_test_case() -> None:
    runs = [BM25, DENSE, TFIDF]
    gate_options: dict[str, Any] = {"baseline": "bm25", "margin": 0.02, "at_least": {"R@5": 0.5}}
    gate_result = gate(QRELS, runs, "nDCG@10 AP", **gate_options)
    root = parse_checked(gate_result.to_junit())
    assert outcomes(root) == {
        ("dense", "nDCG@10"): "passed",
        ("dense", "AP"): "passed",
        ("tfidf", "nDCG@10"): "failure",
        ("tfidf", "AP"): "failure",
        ("dense", "R@5 >= 0.5"): "passed",
        ("tfidf", "R@5 >= 0.5"): "failure",
    }
    for node in root.iter("failure"):
        # By Holm's rule over four rows, neither loss of tfidf is significant.
        is_goal = "R@5" in (node.text or "").partition("\n")[0]
        outcome = "FAIL" if is_goal else "UNDECIDED"
        assert (node.get("message") or "").startswith(outcome)
        assert "tfidf" in (node.text or "")
        assert "dense" not in (node.text or "")


def test_warnings_stand_in_the_case_that_they_are_of() -> None:
    scores_of = {"old": {f"q{i}": 0.5 for i in range(50)}}
    scores_of["few"] = {query: 0.5 + 0.1 * (query == "q1") for query in scores_of["old"]}
    scores_of["other"] = {query: 0.51 + 0.01 * (int(query[1:]) % 2) for query in scores_of["old"]}
    with pytest.warns(CranfieldWarning):
        gate_result = gate(scores_of, baseline="old", margin=0.02)
    output_of_case = {
        case.get("classname"): case.findtext("system-out")
        for case in parse_checked(gate_result.to_junit()).iter("testcase")
    }
    assert output_of_case == {"few": str(gate_result.notes[0]), "other": None}
    assert str(gate_result.notes[0]).startswith("Warning: few (score): only 1 of 50 queries")


@pytest.mark.parametrize(
    ("undecided", "tag"), [(None, "failure"), ("fail", "failure"), ("pass", "skipped")]
)
def test_undecided_is_what_it_is_taken_for(undecided: Any, tag: str) -> None:
    gate_result = gate(QRELS, DENSE, at_least={"R@5": 0.55}, limit=True, undecided=undecided)
    assert gate_result.outcome == "UNDECIDED"
    root = parse_checked(gate_result.to_junit())
    assert outcomes(root) == {("dense", "R@5 >= 0.55"): tag}
    assert (next(root.iter(tag)).get("message") or "").startswith("UNDECIDED")


def test_the_command_writes_it_by_the_suffix_beside_other_forms(tmp_path: Path) -> None:
    outputs = [tmp_path / f"gate.{end}" for end in ("xml", "md", "json")]
    paths = [part for output_path in outputs for part in ("-o", str(output_path))]
    outcome = invoke("gate", QRELS, TFIDF, "--at-least", "RR=0.9", *paths)
    assert outcome.exit_code == 1
    assert outcomes(parse_checked(outputs[0].read_text("utf-8"))) == {
        ("tfidf", "RR >= 0.9"): "failure"
    }
    assert re.search(r"^\| tfidf +\| RR +\| FAIL", outputs[1].read_text("utf-8"), re.M)
    printed_report = invoke("gate", QRELS, TFIDF, "--at-least", "RR=0.9", "--format", "junit")
    assert printed_report.stdout == outputs[0].read_text("utf-8")


def test_only_a_gate_has_this_form() -> None:
    assert "junit" not in FORMS
    outcome = invoke("compare", QRELS, BM25, DENSE, "-o", "found.xml")
    assert outcome.exit_code == 2
    assert ".jsonl" in outcome.output
    assert invoke("evaluate", QRELS, BM25, "--format", "junit").exit_code == 2


EVIL = [
    "<b>&amp;]]>",
    "a\x1b[31mb\x00\x08\x0b",
    "\ud800\udcff\ufffe\uffff",
    '"quoted"',
    "line\nbreak\ttab\r",
    "\u202eevil",
    "</failure></testcase>",
]


@pytest.mark.parametrize("evil", EVIL)
def test_no_id_breaks_the_report(evil: str) -> None:
    content = to_junit(
        evil, [Case(evil, evil, "failed", evil, evil), Case(evil, evil, "skipped", evil)]
    )
    root = parse_checked(content)
    content.encode()  # which half a surrogate would not
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", content)
    assert len([*root.iter("testcase")]) == 2


def test_a_system_of_any_name_has_a_report() -> None:
    scores = {name: {"R@5": {"<q1>\x1b": 0.1}} for name in ("<old>\x1b", "new & \udcff")}
    root = parse_checked(gate(scores, at_least={"R@5": 0.5}).to_junit())
    assert len(outcomes(root)) == 2
