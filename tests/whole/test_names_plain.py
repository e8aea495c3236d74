"""Names say what they hold: scripts/plain_names.toml has the words that do not, and the levels."""

import re

import plain_names
import pytest
from plain_names import Place


@pytest.mark.parametrize("folder", plain_names.folders())
def test_a_folder_keeps_its_level(folder: str) -> None:
    """One place more is allowed, so that a small folder may have a false alarm."""
    n_lines = sum(
        path.read_text("utf-8").count("\n")
        for path in plain_names.python_files(plain_names.ROOT / folder)
    )
    level, margin = plain_names.level(folder), 1000 / max(n_lines, 1)
    rates = plain_names.rates(folder)
    assert {figure for figure, rate in rates.items() if rate > level[figure] + margin} == set()


@pytest.mark.parametrize(
    ("source", "figure"),
    [
        ("for one in runs: pass", "vague"),
        ("its_runs = runs", "vague"),
        ("scores_found = scores", "vague"),
        ("scores.kept = 1", "vague"),
        ("def evaluate(given): pass", "vague"),
        ("def _found(scores): pass", "vague"),
        ("def arranged(scores): pass", "vague"),
        ("def of_scores(scores): pass", "vague"),
        ("def in_order(scores): pass", "vague"),
        ("class Held: pass", "vague"),
        ("f(*(first, last))", "vague"),
        ('"""Return those of the rows that are of it, for all."""', "vague"),
        ("aligned = align_scores(scores)", "participle"),
        ("_drawn = draw_sample(scores)", "participle"),
        ("tmp = align_scores(scores)", "stopgap"),
    ],
)
def test_a_name_without_a_noun_is_found(source: str, figure: str) -> None:
    assert [place.figure for place in plain_names.places(source)] == [figure]


@pytest.mark.parametrize(
    "source",
    [
        "for run in runs: pass",
        "is_judged = [run in judged for run in runs]",
        "each_query, n_most, at_least = counts",
        "ranked = sorted(rows)",
        "mask = np.ones(3); rows.where(mask)",
        "speed = need - seed",
        "class Table:\n    @classmethod\n    def of_rows(cls): pass",
        "class Table:\n    @property\n    def aligned(self): pass",
        "def __getitem__(self): pass",
        "f(*rows, *columns)",
        '"""Return the rows of the runs that are judged, and those who judged."""',
        '"""Return it.\n\n    >>> "those of it that are of it"\n    """',
    ],
)
def test_a_name_with_a_noun_is_not_found(source: str) -> None:
    assert list(plain_names.places(source)) == []


def test_a_place_has_a_line() -> None:
    source = "runs = []\n\n\ndef score(runs):\n    for one in runs:\n        pass\n"
    assert list(plain_names.places(source)) == [Place(5, "vague", "one")]


def test_names_that_stay_are_there() -> None:
    sources = "".join(
        path.read_text("utf-8") for path in plain_names.python_files(plain_names.ROOT / "src")
    )
    missing = [name for name in plain_names.words("exception") if not re.search(name, sources)]
    assert missing == []
