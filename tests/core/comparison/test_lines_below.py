"""What is below the tables of a comparison: warnings, marks, columns, data, each once."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from helpers.folders import DEMO

from cranfield import compare
from cranfield.notes import Note, merge_notes

QRELS = str(DEMO / "qrels.txt")
DEMO_RUNS = [str(DEMO / f"{name}.run") for name in ("bm25", "dense", "fusion", "tfidf")]
METHOD = "randomization test, two-sided, 100,000 flips, seed 42; Holm over 11 comparisons"


@pytest.fixture
def dl19(data: Path) -> tuple[str, list[str]]:
    folder = data / "dl19"
    return str(folder / "qrels.txt"), sorted(map(str, folder.glob("*.run.gz")))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("baseline", ["bm25", None])
def test_twelve_systems_fit_a_screen(dl19: tuple[str, list[str]], baseline: str | None) -> None:
    for measures, most_lines in (("nDCG@10", 28), ("nDCG@10 AP", 47)):
        text = compare(*dl19, measures, baseline=baseline).to_text(85)
        assert text.count("\n") <= most_lines
        assert max(map(len, text.split("\n"))) <= 85


@pytest.mark.filterwarnings("ignore")
def test_one_line_says_what_each_mark_and_column_means(dl19: tuple[str, list[str]]) -> None:
    (table,) = compare(*dl19, "nDCG@10", baseline="bm25").tables()
    assert table.title == ["nDCG@10   43 queries   baseline bm25", METHOD]
    assert list(table.header) == [
        *("system", "mean", "diff", "95% interval", "p Holm", "W/T/L", "Judged"),
    ]
    ties, *lines = table.notes
    assert lines == [
        "^ better, v worse than bm25 (p Holm at most 0.05). No mark: not shown to differ.",
        "bm25rm3: on 43 queries a difference below 0.0492 is often missed.",
        "diff: mean difference; in brackets, the values that the test does not reject.",
        "p Holm: how often chance alone does as much, corrected for 11 comparisons.",
        "W/T/L: queries on which it is better, the same, worse than bm25.",
        "Judged: share of its first 10 that is judged; ! 0.05 or more below another's.",
    ]
    assert all(len(line) <= 80 for line in lines)
    assert ties == (  # those that move no mean have no line beside it
        "Warning: repllama: 42,360 documents are tied and allow nDCG@10 0.7340 to 0.7505. "
        "--order rank takes the rank column, --ties expected averages."
    )


@pytest.mark.filterwarnings("ignore")
def test_lines_are_below_the_last_table_once_and_name_the_measure_that_they_are_of() -> None:
    comparison = compare(QRELS, DEMO_RUNS[:2], "nDCG@10 AP NumRet", baseline="bm25")
    *tables, last_table = comparison.tables()
    assert all(not table.notes for table in tables)
    assert [len(table.title) for table in (*tables, last_table)] == [
        2,
        1,
        1,
    ]
    lines = list(last_table.notes)
    assert len(set(lines)) == len(lines)
    assert "Judged: share of first 10 (AP, NumRet: all) that is judged; ! 0.05 or more" in str(
        lines
    )
    assert lines[0].startswith("Warning: NumRet: dense: differs from bm25 on only 7 of 40 queries")
    assert "NumRet: changed: queries on which the two differ." in lines
    (note,) = [line for line in lines if "means of the queries' values" in line]
    assert note.startswith("NumRet: the means")
    alone = compare(QRELS, DEMO_RUNS[:2], "NumRet", baseline="bm25").tables()[-1].notes
    assert not any(line.startswith("NumRet: NumRet") for line in alone)


def test_less_is_better_names_its_measure() -> None:
    scores = {f"q{i}": {"LastRel": 10.0 + i} for i in range(12)}
    by_measure = {"LastRel": {query: row["LastRel"] for query, row in scores.items()}}
    systems = {"old": by_measure, "new": {"LastRel": dict.fromkeys(scores, 5.0)}}
    assert "LastRel: less is better." in compare(systems).tables()[-1].notes


def test_effect_sizes_and_plain_p_are_for_programs() -> None:
    comparison = compare(QRELS, DEMO_RUNS, "nDCG@10", baseline="bm25")
    header = comparison.tables()[0].header
    assert "d_z" not in header
    assert "p" not in header
    assert {"d_z", "p", "p_adjusted"} <= comparison.rows()[0].keys()
    pair = json.loads(comparison.to_json())["results"][0]["pairs"][0]
    assert {"d_z", "p", "p_adjusted"} <= pair.keys()
    assert "p" in compare(QRELS, DEMO_RUNS[:2], "nDCG@10").tables()[0].header


@pytest.mark.parametrize(
    ("test", "phrase"),
    [
        ("randomization", "in brackets, the values that the test does not reject."),
        ("t", "in brackets, its interval by Student's t."),
        ("bootstrap", "in brackets, its interval by the BCa bootstrap."),
        ("bayes", "in brackets, its 95% credible interval."),
    ],
)
def test_the_interval_is_the_one_that_is_shown(test: Any, phrase: str) -> None:
    lines = compare(QRELS, DEMO_RUNS[:2], "nDCG@10", test=test).tables()[-1].notes
    assert f"diff: mean difference; {phrase}" in lines


def test_the_first_system_is_said_to_be_the_baseline_where_none_is_named() -> None:
    line = "Baseline: bm25, the first of 4."
    comparison = compare(QRELS, DEMO_RUNS, "nDCG@10")
    assert comparison.tables()[-1].notes[-1] == line
    assert line not in comparison.to_json()
    for options in ({"baseline": "bm25"}, {"all_pairs": True}):
        assert line not in str(compare(QRELS, DEMO_RUNS, "nDCG@10", **options))
    assert "Baseline" not in str(compare(QRELS, DEMO_RUNS[:1], "nDCG@10"))


def test_a_family_that_keeps_all_marks_is_no_line() -> None:
    comparison = compare(QRELS, DEMO_RUNS, "nDCG@10 AP", baseline="bm25")
    (note,) = [note for note in comparison.notes if note.code == "family"]
    lead = "Corrected for each measure; --family all: over all 6"
    assert note.text == f"{lead}, which keeps 4 of 4 marks."
    assert note.text not in str(comparison)


def test_as_many_ties_are_named_as_a_line_holds() -> None:
    chance = random.Random(1)
    counts = {f"run-{'x' * chance.randrange(30)}{i}": chance.randrange(2, 9_999) for i in range(9)}
    for n in range(2, 10):
        names = list(counts)[:n]
        notes = [
            (
                name,
                Note(
                    "ties",
                    "info",
                    f"{counts[name]:,} documents are tied: ranked by document id, descending.",
                    count=counts[name],
                ),
            )
            for name in names
        ]
        ((text, source),) = [(note.text, note.source) for note in merge_notes(notes, n_sources=9)]
        ranked = sorted(names, key=lambda name: -counts[name])
        assert source is None
        assert text.startswith(
            f"Ties, ranked by document id: {ranked[0]} {counts[ranked[0]]:,} documents"
        )
        n_named = sum(f"{name} {counts[name]:,}" in text for name in names)
        assert n_named == 1 or len(text) <= 80
        assert text.endswith("more." if n_named < n else f"{counts[ranked[-1]]:,}.")
        assert n_named == n or f"and {n - n_named} more." in text
    assert [str(note) for note in merge_notes(notes[:1], n_sources=2)] == [
        f"{names[0]}: {notes[0][1].text}"
    ]


def test_the_mark_of_a_judged_share_is_of_the_limit_itself(tmp_path: Path) -> None:
    qrels = {f"q{i}": {f"d{j}": j % 2 for j in range(20)} for i in range(12)}
    full = {query: [f"d{j}" for j in range(20)] for query in qrels}
    for n_unjudged, is_marked in ((0, False), (1, True), (2, True)):  # of 20: 0.05 each
        cut = [f"d{j}" for j in range(20 - n_unjudged)] + [f"u{j}" for j in range(n_unjudged)]
        comparison = compare(qrels, {"full": full, "cut": dict.fromkeys(qrels, cut)}, "P@20")
        systems = {system.name: system for system in comparison["P@20"].systems}
        assert systems["cut"].judged_lags is is_marked
        assert ("! 0.05 or more below another's." in str(comparison)) is is_marked
