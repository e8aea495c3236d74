"""The first line of a gate: its worst row, and what would decide if that is undecided."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers.gates import BM25, DENSE, FUSION, QRELS, TFIDF, gate_scores, run_gate
from scipy import stats

from cranfield import Gate, GateFailed, gate

DEMO_FILES = [QRELS, BM25, DENSE, FUSION, TFIDF]
SPREAD = [0.3 + 0.02 * (i % 21) for i in range(42)]  # twice 0.3, 0.32, ... 0.7: a mean of 0.5


def gate_spread(goal: float, **options: Any) -> Gate:
    """Judge whether the mean of SPREAD is shown to reach the goal."""
    scores_of = {"new": {"R@5": {f"q{i}": score for i, score in enumerate(SPREAD)}}}
    return gate(scores_of, at_least={"R@5": goal}, limit=True, test="t", **options)


def first_lines(result: Gate, n: int = 1) -> list[str]:
    """Return the first lines of a gate's text."""
    return str(result).splitlines()[:n]


def test_a_long_name_is_cut_in_the_first_lines() -> None:
    name, n = "x" * 5000, 12
    scores = {
        name: {"R@5": {f"q{i}": 0.5 + 0.01 * (i % 3) for i in range(n)}},
        name + "y": {"R@5": {f"q{i}": 0.5 + 0.01 * (i % 5) for i in range(n)}},
    }
    lines = first_lines(gate(scores, baseline=name, margin=0.001, test="t"), 2)
    assert [len(line) < 400 and "x" * 80 in line for line in lines] == [True, True]


def print_gate(*arguments: str) -> list[str]:
    """Return the lines that the command prints."""
    _, stdout, stderr = run_gate(*arguments)
    assert not stderr
    return stdout.splitlines()


def worst_of_demo(*options: str) -> list[str]:
    """Return the lines that the command prints of the demonstration's four systems."""
    return print_gate(*DEMO_FILES, "--baseline", BM25, "--margin", "0.02", *options)


def judge_tfidf(*options: str) -> list[str]:
    """Return the lines that the command prints of one system, which is worse than the baseline."""
    return print_gate(QRELS, BM25, TFIDF, "--baseline", BM25, "--margin", "0.02", *options)


def test_the_first_line_is_the_worst_row() -> None:
    lines = judge_tfidf("-m", "nDCG@10")
    row = next(line.split() for line in lines if line.startswith(" tfidf"))
    _, measure, verdict, _, _, difference, lower, upper, _ = row
    assert (measure, verdict) == ("nDCG@10", "FAIL")
    assert lines[0] == (
        f"FAIL: tfidf, nDCG@10 {difference} [{lower}, {upper}], margin 0.02, 40 queries"
    )


def test_other_rows_with_the_same_outcome_are_counted() -> None:
    lines = worst_of_demo("-m", "nDCG@10", "-m", "RR")
    assert lines[0].startswith("UNDECIDED: tfidf, RR -")
    assert lines[0].endswith(", 40 queries, and 1 more row with UNDECIDED")
    scores_of = {name: {"q1": mean} for name, mean in [("a\x1b", 0.1), ("b", 0.6), ("c", 0.4)]}
    failed_gate = gate(scores_of, at_least={"score": 0.5})
    assert first_lines(failed_gate) == [
        "FAIL: a\\x1b, score 0.1000, at least 0.5, 1 query, and 1 more row with FAIL"
    ]


def test_a_gate_that_passes_begins_with_the_row_that_passes_least() -> None:
    lines = judge_tfidf("-m", "RR")
    passed_lines = print_gate(*DEMO_FILES[:4], "--baseline", BM25, "--margin", "0.02", "-m", "RR")
    assert lines[0].startswith("FAIL: tfidf, RR -")
    assert passed_lines[0].startswith("PASS: fusion, RR +0.1572 [+")
    assert passed_lines[0].endswith("], margin 0.02, 40 queries, and 1 more row with PASS")


def test_the_worst_of_differences_and_goals_is_the_furthest_below_what_it_must_reach() -> None:
    lines = worst_of_demo("-m", "nDCG@10", "--at-least", "R@5=0.7")
    assert lines[0].startswith("FAIL: tfidf, R@5 0.3237, at least 0.7, 40 queries")  # .38 below
    lines = judge_tfidf("-m", "nDCG@10", "--at-least", "R@5=0.33")
    assert lines[0].startswith("FAIL: tfidf, nDCG@10 -")  # .024 below -.02; R@5 is .006 below


def test_the_worst_of_an_equivalence_is_the_furthest_from_0() -> None:
    lines = worst_of_demo("-m", "nDCG@10", "--equivalence")
    assert lines[0].startswith("FAIL: dense, nDCG@10 +0.2131 ")


def test_a_geometric_mean_is_told_by_ratios() -> None:
    files = [QRELS, BM25, TFIDF, "--baseline", BM25]
    lines = print_gate(*files, "--margin", "2%", "-m", "GMAP")
    row = next(line.split() for line in lines if line.startswith(" tfidf"))
    ratio = next(cell for cell in row if cell.startswith("x"))
    assert f", GMAP {ratio} [x" in lines[0]
    assert "], margin a ratio of 0.98 (2%), 40 queries" in lines[0]


def test_scores_without_a_difference_have_no_limits_in_the_line() -> None:
    result = gate_scores([50] * 12, [50] * 12, 0.02)
    assert first_lines(result) == ["PASS: left, score 0.0000, margin 0.02, 12 queries"]


def test_queries_of_clusters_are_counted_as_below_the_table(tmp_path: Path) -> None:
    clusters = tmp_path / "clusters.tsv"
    clusters.write_text("".join(f"q{i:02}\tc{i // 2}\n" for i in range(1, 41)))
    first_line = worst_of_demo("--clusters", str(clusters))[0]
    assert first_line.endswith(" margin 0.02, 40 queries in 21 clusters")


def test_undecided_says_how_many_queries_decide_and_what_needs_no_baseline() -> None:
    files = [QRELS, BM25, TFIDF, "--baseline", BM25, "--margin", "0.02", "-m", "R@100"]
    lines = print_gate(*files)
    n_needed = next(line.split()[-1] for line in lines if line.startswith(" tfidf"))
    assert lines[0].startswith("UNDECIDED: tfidf, R@100 -0.0318 [")
    assert lines[1] == (
        f"{n_needed} queries would decide: as good as bm25, tfidf passes with a chance of 80%. "
        "Another way, --at-least R@100=NUMBER, needs no baseline."
    )
    # What it says to type works.
    assert print_gate(QRELS, TFIDF, "--at-least", "R@100=0.5")[0].startswith("PASS: tfidf, R@100 ")


def test_undecided_with_the_bounded_test_knows_no_number() -> None:
    files = [QRELS, BM25, TFIDF, "--baseline", BM25, "--margin", "0.05", "--test", "bounded"]
    assert print_gate(*files)[1].startswith("No number of queries is known ")


def test_undecided_with_as_many_queries_as_needed_says_so() -> None:
    result = gate_scores([50 - 15.5, 50 + 11.5] * 48, [50] * 96, 0.04)
    assert result.outcome == "UNDECIDED"
    assert (result.verdicts[0].queries_needed or 0) <= 96
    assert first_lines(result, 2)[1].startswith("The true mean may be near the bound: ")


@pytest.mark.parametrize("goal", [0.48, 0.51])
def test_the_queries_that_decide_on_a_goal_have_a_power_of_80_percent(goal: float) -> None:
    """The power of a one-sided t test, if the true mean is the observed one."""
    result = gate_spread(goal)
    (threshold,) = result.thresholds
    assert (threshold.outcome, round(threshold.mean, 12)) == ("UNDECIDED", 0.5)
    sd = (sum((score - 0.5) ** 2 for score in SPREAD) / 41) ** 0.5

    def find_power(n: int) -> float:
        noncentrality = abs(0.5 - goal) / sd * n**0.5
        return float(stats.nct.sf(stats.t.ppf(0.95, n - 1), n - 1, noncentrality))

    n_needed = threshold.queries_needed
    assert n_needed is not None
    assert find_power(n_needed) >= 0.8 > find_power(n_needed - 1)
    assert first_lines(result, 2)[1] == (
        f"{n_needed:,} queries would decide: with a true mean of 0.5000, new "
        f"{'passes' if goal < 0.5 else 'fails'} with a chance of 80%."
    )
    assert result.rows()[0]["queries_needed"] == n_needed


def test_an_outcome_that_counts_as_another_says_so() -> None:
    assert first_lines(gate_spread(0.48, undecided="pass"))[0].startswith(
        "UNDECIDED, which counts as PASS: new, R@5 0.5000 ["
    )
    assert first_lines(gate_spread(0.48))[0].startswith("UNDECIDED: new, ")


def test_the_same_line_begins_a_file_a_junit_message_and_the_error(tmp_path: Path) -> None:
    failed_gate = gate(QRELS, [BM25, TFIDF], "nDCG@10", baseline="bm25", margin=0.02)
    (first_line,) = first_lines(failed_gate)
    markdown_path = tmp_path / "gate.md"
    options = ["--baseline", BM25, "--margin", "0.02", "-o", str(markdown_path)]
    run_gate(QRELS, BM25, TFIDF, *options)
    assert markdown_path.read_text("utf-8").splitlines()[0].replace("\\", "") == first_line
    failure = ElementTree.fromstring(failed_gate.to_junit()).find(".//failure")  # noqa: S314
    assert failure is not None
    assert failure.get("message") == first_line
    with pytest.raises(GateFailed, match=re.escape(first_line)):
        failed_gate.require()


def test_a_junit_message_calls_a_measure_as_it_was_typed() -> None:
    lines = print_gate(QRELS, TFIDF, "--at-least", "recall@5=0.9", "--format", "junit")
    message = 'message="FAIL: tfidf, recall@5 0.3237, at least 0.9, 40 queries"'
    assert any(message in line for line in lines)


def test_the_option_without_a_baseline_can_be_typed() -> None:
    scores_of = {
        name: {
            "my score": {f"q{i}": score * (1 + step * (-1) ** i) for i, score in enumerate(SPREAD)}
        }
        for name, step in [("old", 0), ("new", 0.3)]
    }
    result = gate(scores_of, baseline="old", margin=0.01)
    assert first_lines(result, 2)[1].endswith(" --at-least 'my score=NUMBER', needs no baseline.")
    result = gate(scores_of, baseline="old", margin=0.01, less_is_better="my score")
    first_line, second_line = first_lines(result, 2)
    assert "(+ is better), margin 0.01" in first_line
    assert second_line.endswith(": as good as old, new passes with a chance of 80%.")
