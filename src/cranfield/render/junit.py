"""JUnit: writes test cases as XML, which continuous integration shows."""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from cranfield.errors import escape_unprintable

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Outcome = Literal["passed", "failed", "skipped"]


class Case(NamedTuple):
    """A test case: subject, name, outcome; unless passed, a reason (a line); if failed, details.

    `output` is what is to be read of any case, such as warnings.
    """

    subject: str
    name: str
    outcome: Outcome
    reason: str
    details: str = ""
    output: str = ""


def to_junit(suite: str, cases: Iterable[Case]) -> str:
    r"""Return test cases as a JUnit report of one suite.

    Elements and attributes are those that Jenkins, GitLab, Azure and GitHub's actions read:
    `testsuites`, `testsuite`, `testcase`, and in a case `failure` or `skipped`, and
    `system-out`. Invisible characters are shown escaped, so that no id controls a terminal or
    breaks the XML.

    >>> print(to_junit("gate", [Case("new", "R@5 < 1\x1b", "failed", "0.4 of 1", "a\nb")]))
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites tests="1" failures="1" errors="0">
      <testsuite name="gate" tests="1" failures="1" errors="0" skipped="0">
        <testcase classname="new" name="R@5 &lt; 1\x1b">
          <failure message="0.4 of 1" type="failed">a
    b</failure>
        </testcase>
      </testsuite>
    </testsuites>
    <BLANKLINE>
    """
    from xml.etree import ElementTree

    cases = list(cases)
    outcomes = [case.outcome for case in cases]
    counts = {"tests": len(outcomes), "failures": outcomes.count("failed"), "errors": 0}
    attributes = {name: str(n) for name, n in counts.items()}
    # Some schemas allow the number of skipped cases for a suite only.
    skip_count = {"skipped": str(outcomes.count("skipped"))}
    root = ElementTree.Element("testsuites", attributes)
    suite_attributes = {"name": _escape_xml(suite), **attributes, **skip_count}
    parent = ElementTree.SubElement(root, "testsuite", suite_attributes)
    for case in cases:
        case_attributes = {"classname": _escape_xml(case.subject), "name": _escape_xml(case.name)}
        case_element = ElementTree.SubElement(parent, "testcase", case_attributes)
        if case.outcome == "failed":
            failure_attributes = {"message": _escape_xml(case.reason), "type": case.outcome}
            failure = ElementTree.SubElement(case_element, "failure", failure_attributes)
            failure.text = _escape_lines(case.details)
        elif case.outcome == "skipped":
            ElementTree.SubElement(case_element, "skipped", {"message": _escape_xml(case.reason)})
        if case.output:
            ElementTree.SubElement(case_element, "system-out").text = _escape_lines(case.output)
    ElementTree.indent(root)
    body = ElementTree.tostring(root, "unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _escape_lines(text: str) -> str:
    return "\n".join(map(_escape_xml, text.split("\n")))


def _escape_xml(text: str) -> str:
    """Return text without the characters that XML does not allow, invisible ones escaped."""
    return _NO_XML.sub("", escape_unprintable(text))
