"""What the README claims in figures and names."""

import re

import pytest
from helpers.folders import ROOT

from cranfield import parse
from cranfield.extensions.tools.conventions import CONVENTIONS
from cranfield.measures import definitions

README = (ROOT / "README.md").read_text("utf-8")
ROWS = re.findall(r"^\| `([^`]+)` \|([^|]*)\|", README.split("## Measures")[1], re.M)


@pytest.mark.parametrize(("measure", "names"), ROWS)
def test_the_other_names_of_a_measure_are_understood(measure: str, names: str) -> None:
    assert str(parse(measure)) == measure
    for name in re.findall("`([^`]+)`", names):
        assert str(parse(name)) == measure, name


def test_a_dozen_measures_are_shown() -> None:
    assert len(ROWS) == 12


def test_the_numbers_of_measures_and_conventions_are_right() -> None:
    assert re.findall(r"(\d+) measures, each", README) == [str(len(definitions()))]
    assert re.findall(r"All (\d+)\]", README) == [str(len(definitions()))]
    assert re.findall(r"(\d+) conventions of", README) == [str(len(CONVENTIONS))]
