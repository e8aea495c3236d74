"""The words of an explanation: every column of every measure says what it holds."""

import re
from pathlib import Path

import pytest

from cranfield import definitions, explain
from cranfield.measures import Definition, make_example

# The demonstration has no groups, and every document costs the same.
OF_GRADES = [definition for definition in definitions() if not definition.traits.takes_groups]
# Words that a reader cannot look up, and variables that hold what has a name of its own.
POOR = re.compile(r"[a-z]|end|ideally|.*\bndcg\b.*|.*\bdcg\b.*")


def words(text: str) -> list[str]:
    """Return what an explanation calls its columns and numbers."""
    lines = text.splitlines()
    rules = [i for i, line in enumerate(lines) if set(line.strip()) == {"─"}]
    columns = [word for i in rules for word in re.split(r"\s{2,}", lines[i - 1].strip())]
    return columns + [word for line in lines for word in line.split(" = ")[:-1]]


@pytest.mark.parametrize("definition", OF_GRADES, ids=lambda definition: definition.name)
def test_what_is_shown_has_words(
    definition: Definition, demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo_folder)
    measure, _ = make_example(definition)
    page_words = words(str(explain("demo/qrels.txt", "demo/bm25.run", measure, "q20")))
    assert page_words
    assert not [word for word in page_words if POOR.fullmatch(word)]


def test_a_cutoff_that_depends_on_the_query_is_called_so(
    demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo_folder)
    page = explain("demo/qrels.txt", "demo/bm25.run", "nDCG(discount='linear')@min(4,R)", "q20")
    assert "cutoff = min(4, A) = min(4, 4) = 4" in str(page)
    assert not [word for word in words(str(page)) if POOR.fullmatch(word)]


def test_rndcg_says_which_dcg_is_whose(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo_folder)
    page_words = words(str(explain("demo/qrels.txt", "demo/bm25.run", "RnDCG", "q20")))
    assert {"the ranking's DCG so far", "DCG so far", "nDCG here"} <= {*page_words}
