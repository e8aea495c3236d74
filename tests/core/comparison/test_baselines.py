"""Several baselines: each other system with each, and the baselines once with each other."""

import csv
import json
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import run_command
from helpers.folders import DEMO_QRELS, DEMO_RUNS

from cranfield import InputError, OptionError, compare
from cranfield.comparison.alignment import align
from cranfield.comparison.compare import compare_all_pairs, compare_scores
from cranfield.comparison.corrections import holm
from cranfield.comparison.settings import Settings
from cranfield.comparison.system_pairs import SystemPairs

DEMO = DEMO_QRELS, [str(path) for path in DEMO_RUNS]
NAMES = ["bm25", "tfidf", "dense", "fusion"]


def list_pairs(baselines: list[str]) -> list[tuple[str, str]]:
    """Return the pairs of the demonstration's systems that are compared."""
    comparison = compare(*DEMO, "nDCG@10", baseline=baselines)
    return [(pair.system, pair.other) for pair in comparison["nDCG@10"].pairs]


# ---- the pairs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_systems", [2, 3, 5, 8])
def test_each_pair_with_a_baseline_is_compared_once(n_systems: int) -> None:
    for n_baselines in range(1, n_systems + 1):
        baselines = list(range(n_systems))[::-1][:n_baselines]
        pairs = list(zip(*SystemPairs.choose(n_systems, baselines), strict=True))
        expected_pairs = {
            frozenset(pair)
            for pair in combinations(range(n_systems), 2)
            if not set(baselines).isdisjoint(pair)
        }
        assert {frozenset(pair) for pair in pairs} == expected_pairs
        assert len(pairs) == len(expected_pairs)
        assert all(right in baselines for _, right in pairs)
    pairs_of_two = SystemPairs.choose(n_systems, [0, 1]).left_column
    assert len(pairs_of_two) == 2 * n_systems - 3


def test_two_baselines_make_one_family() -> None:
    comparison = compare(*DEMO, "nDCG@10", baseline=["bm25", "dense"])
    result = comparison["nDCG@10"]
    assert [(pair.system, pair.other) for pair in result.pairs] == [
        *(("tfidf", "bm25"), ("dense", "bm25"), ("fusion", "bm25")),
        *(("tfidf", "dense"), ("fusion", "dense")),
    ]
    assert result.comparisons == 2 * 4 - 3
    p_of_pair = {
        (pair.system, pair.other): pair.p
        for baseline in ("bm25", "dense")
        for pair in compare(*DEMO, "nDCG@10", baseline=baseline)["nDCG@10"].pairs
    }
    p = [p_of_pair[pair.system, pair.other] for pair in result.pairs]
    assert [pair.p for pair in result.pairs] == p
    expected_p = holm(np.array(p, float)).tolist()
    assert [pair.p_adjusted for pair in result.pairs] == expected_p
    assert comparison.settings.baseline == ("bm25", "dense")
    assert json.loads(comparison.to_json())["settings"]["baseline"] == ["bm25", "dense"]
    assert result["fusion", "dense"].verdict == "worse"


def test_maxt_takes_all_pairs_of_the_family_jointly() -> None:
    source = np.random.default_rng(2)
    scores = source.random((8, 4)) + np.array([0.0, 0.1, 0.3, 0.5])
    named_scores = {
        name: {f"q{i}": float(score) for i, score in enumerate(column)}
        for name, column in zip("abcd", scores.T, strict=True)
    }
    result = compare(named_scores, baseline=["a", "b"], correction="maxt")["score"]
    columns = [("abcd".index(pair.system), "abcd".index(pair.other)) for pair in result.pairs]
    differences = np.array([scores[:, left] - scores[:, right] for left, right in columns])
    size = np.sqrt((differences**2).sum(axis=1))
    observed_t = np.abs(differences.sum(axis=1)) / size
    flipped_t = np.array(
        [np.abs(differences @ np.array(signs)) / size for signs in product((-1, 1), repeat=8)]
    )
    p, least_p = np.empty(5), 0.0
    order = np.argsort(-observed_t)
    for step, pair in enumerate(order):
        greatest_t = flipped_t[:, order[step:]].max(axis=1)
        least_p = max(least_p, float((greatest_t >= observed_t[pair] - 1e-9).mean()))
        p[pair] = least_p
    assert [pair.p_adjusted for pair in result.pairs] == pytest.approx(p.tolist(), abs=1e-12)


def test_a_list_of_one_and_a_name_twice_are_one_baseline() -> None:
    expected_json = compare(*DEMO, "nDCG@10", baseline="dense").to_json()
    for baseline in (["dense"], ("dense",), ["dense", "dense"]):
        assert compare(*DEMO, "nDCG@10", baseline=baseline).to_json() == expected_json


def test_a_file_names_a_baseline_too() -> None:
    pairs = list_pairs([str(DEMO_RUNS[0]), "dense"])
    assert pairs == list_pairs(["bm25", "dense"])


def test_all_systems_as_baselines_are_all_pairs() -> None:
    assert {frozenset(pair) for pair in list_pairs(NAMES)} == {
        frozenset(pair) for pair in combinations(NAMES, 2)
    }


@pytest.mark.parametrize(
    ("baseline", "error", "message"),
    [
        ([], OptionError, "expected the name of a system, or several"),
        (["bm25", "nobody"], InputError, "there is no system 'nobody'"),
        (["bm25", 3], InputError, "must be the name of a system, not a int"),
    ],
)
def test_what_is_no_system_is_refused(baseline: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        compare(*DEMO, "nDCG@10", baseline=baseline)


def test_baselines_and_all_pairs_exclude_each_other() -> None:
    with pytest.raises(OptionError, match="leave one of the two out"):
        compare(*DEMO, "nDCG@10", baseline=["bm25", "dense"], all_pairs=True)


def test_changes_need_the_other_system() -> None:
    comparison = compare(*DEMO, "nDCG@10", baseline=["bm25", "dense"])
    with pytest.raises(OptionError, match="with several baselines, state one of the systems"):
        comparison.changes("fusion")
    assert comparison.changes("fusion", "bm25") == compare(
        *DEMO, "nDCG@10", baseline="bm25"
    ).changes("fusion")


def test_the_table_of_changes_names_both_systems() -> None:
    comparison = compare(*DEMO, "nDCG@10", baseline=["bm25", "dense"])
    table = comparison.tables(changes=1)[-1]
    assert list(table.header) == ["system", "query_id", "other", "score", "diff"]
    pair_names = [f"{pair.system} - {pair.other}" for pair in comparison["nDCG@10"].pairs]
    assert list(dict.fromkeys(row[0] for row in table.rows)) == pair_names
    scores = comparison.aligned.measure_scores("nDCG@10")
    (name, query_id, other_score, score, _) = table.rows[-1]
    row = scores[comparison.aligned.query_ids.index(query_id)]
    columns = [comparison.aligned.system_names.index(system) for system in name.split(" - ")]
    assert [score, other_score] == [f"{row[column]:.4f}" for column in columns]
    (hint,) = [line for line in table.notes if "cranfield explain" in line]
    assert f"--query {table.rows[0][1]}" in hint


def test_all_pairs_of_a_comparison_with_baselines() -> None:
    comparison = compare_all_pairs(compare(*DEMO, "nDCG@10", baseline=["bm25", "dense"]))
    assert comparison.to_json() == compare(*DEMO, "nDCG@10", all_pairs=True).to_json()


def test_any_pairs_are_compared_where_they_are_stated() -> None:
    aligned_scores = align(*DEMO, "nDCG@10")
    steps = SystemPairs(np.array([1, 2, 3]), np.array([0, 1, 2]))  # each with the one before
    comparison = compare_scores(aligned_scores, Settings(), pairs=steps)
    pairs = comparison["nDCG@10"].pairs
    assert [(pair.system, pair.other) for pair in pairs] == list(
        zip(NAMES[1:], NAMES, strict=False)
    )
    p = holm(np.array([pair.p for pair in pairs], float)).tolist()
    assert [pair.p_adjusted for pair in pairs] == p
    assert "40 queries   pairs" in str(comparison)


# ---- how they are shown --------------------------------------------------------------------------


def test_each_baseline_has_its_columns() -> None:
    (table,) = compare(*DEMO, "nDCG@10", baseline=["bm25", "dense"]).tables()
    assert table.title[0] == "nDCG@10   40 queries   baselines bm25, dense"
    assert list(table.headings) == [
        *("system", "mean", "vs bm25 diff", "vs bm25 p Holm", "vs dense diff", "vs dense p Holm"),
        "Judged",
    ]
    assert [row[0] for row in table.rows] == ["bm25", "dense", "fusion", "tfidf"]
    cells = {row[0]: row[2:6] for row in table.rows}
    assert cells["bm25"] == [""] * 4
    assert cells["dense"][0].endswith("^")
    assert cells["dense"][2:] == [""] * 2
    assert cells["fusion"][2].endswith("v")
    text = compare(*DEMO, "nDCG@10", baseline=["bm25", "dense"]).to_text(80)
    lines = text.split("\n")
    assert max(len(line) for line in lines) <= 80
    assert "^ better, v worse (p Holm at most 0.05). No mark: not shown to differ." in text
    assert not any("interval" in line for line in table.header)


def test_a_long_name_is_short_above_its_columns() -> None:
    scores = {f"q{i}": {"score": i / 20} for i in range(12)}
    by_query = {query: value["score"] for query, value in scores.items()}
    name = "a-model-with-a-very-long-name-v2"
    systems = {name: by_query, "b": by_query, "c": by_query}
    (table,) = compare(systems, baseline=[name, "b"]).tables()
    assert table.group_headings[2] == "vs a-model\N{HORIZONTAL ELLIPSIS}ame-v2"
    assert name in table.title[0]


@pytest.mark.filterwarnings("ignore")
def test_twelve_systems_and_two_baselines_fit_a_screen(data: Path) -> None:
    runs = sorted(map(str, (data / "dl19").glob("*.run.gz")))
    comparison = compare(str(data / "dl19" / "qrels.txt"), runs, baseline=["bm25", "tasb"])
    text = comparison.to_text(80)
    assert text.count("\n") <= 28
    assert max(map(len, text.split("\n"))) <= 80


def test_notes_name_both_systems_of_a_pair() -> None:
    rare = {f"q{i}": 0.4 * (i < 3) for i in range(20)}
    flat = dict.fromkeys(rare, 0.0)
    comparison = compare({"a": flat, "b": flat, "c": rare}, baseline=["a", "b"])
    assert any("c - a" in str(note) for note in comparison.notes)


def test_a_baseline_with_the_best_mean_is_said() -> None:
    comparison = compare(*DEMO, "nDCG@10", baseline=["bm25", "dense"])
    (note,) = [note.text for note in comparison.notes if note.code == "best-baseline"]
    assert note.startswith("dense has the best mean nDCG@10 of 4:")


# ---- commands ------------------------------------------------------------------------------------


def test_the_option_is_repeated() -> None:
    arguments = ["compare", str(DEMO[0]), *DEMO[1], "-m", "nDCG@10", "--format", "json"]
    baselines = ["--baseline", str(DEMO_RUNS[0]), "--baseline", "dense"]
    settings = json.loads(run_command(*arguments, *baselines).stdout)["settings"]
    assert settings["baseline"] == ["bm25", "dense"]
    process = run_command(*arguments, *baselines, "--all-pairs")
    assert process.returncode == 2
    assert "--all-pairs compares with no baseline" in process.stderr


def test_saved_scores_are_named_by_their_files(tmp_path: Path) -> None:
    for name, shift in (("old", 0.0), ("older", 0.1), ("new", 0.2)):
        rows = [f"q{i},{i / 20 + shift:.2f}\n" for i in range(12)]
        (tmp_path / f"{name}.csv").write_text("".join(["query_id,AP\n", *rows]))
    files = [str(tmp_path / f"{name}.csv") for name in ("new", "old", "older")]
    baselines = ["--baseline", files[1], "--baseline", files[2]]
    process = run_command("compare", "--saved", *files, *baselines, "--format", "csv")
    assert process.returncode == 0, process.stderr
    rows_of_csv = list(csv.DictReader(process.stdout.splitlines()))
    pairs = {(row["system"], row["other"]) for row in rows_of_csv}
    assert pairs == {("new", "old"), ("new", "older"), ("older", "old")}


def test_two_saved_baselines_of_one_name_are_no_single_baseline(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a/prod.csv", "b/prod.csv", "new.csv")]
    for path, shift in zip(map(Path, files), (0.0, 0.1, 0.2), strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_text("query_id,AP\n" + "".join(f"q{i},{i / 20 + shift}\n" for i in range(12)))
    baselines = ["--baseline", files[0], "--baseline", files[1]]
    process = run_command("compare", "--saved", *files, *baselines)
    assert process.returncode == 2
    assert f"of {files[0]}, {files[1]}, two have one name" in process.stderr
