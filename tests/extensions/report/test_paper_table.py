"""The table of a paper: its cells, marks and caption, in every form; LaTeX compiles it."""

import json
import math
import shutil
import subprocess
from collections.abc import Mapping
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke
from helpers.hard_names import RESULTS, SCORES, SYSTEM_NAMES

from cranfield import (
    Comparison,
    InputError,
    OptionError,
    PaperTable,
    compare,
    evaluate,
    paper_table,
)

IDS = [f"q{i}" for i in range(10)]
LOW = [0.1, 0.4, 0.0, 0.5, 0.2, 0.3, 0.1, 0.0, 0.6, 0.2]
Values = Mapping[str, list[float]]
SYSTEMS: Values = {
    "low": LOW,
    "same": LOW[::-1],  # the same mean
    "high": [score + 0.3 + 0.01 * i for i, score in enumerate(LOW)],
    "middle": [score + (0.2 if i < 9 else -0.1) for i, score in enumerate(LOW)],
    "lowest": [score / 2 for score in LOW],
}


def scores(values: Values, measure: str = "P@10") -> dict[str, dict[str, dict[str, float]]]:
    return {name: {measure: dict(zip(IDS, column, strict=True))} for name, column in values.items()}


def compare_systems(values: Values = SYSTEMS, **options: Any) -> Comparison:
    return compare(scores(values), **options)


def column(table: PaperTable, c: int = -1) -> list[str]:
    return [str(row[c]) for row in table.tables()[0].rows]


# ---- what the marks say, by a slow loop ---------------------------------------------------------


def p_of(scores_a: list[float], scores_b: list[float]) -> float:
    """Return the share of all flips of signs with a mean difference as large as the one seen."""
    differences = [a - b for a, b in zip(scores_a, scores_b, strict=True)]
    observed_sum = abs(sum(differences)) - 1e-9
    flips = product((1, -1), repeat=len(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= observed_sum
        for signs in flips
    ]
    return sum(sums) / len(sums)


def better_by_holm(values: Values, pairs: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the pairs (better, worse) whose p is at most alpha by Holm's correction."""
    by_p = sorted((p_of(values[a], values[b]), a, b) for a, b in pairs)
    differing_pairs, highest = set(), 0.0
    for i, (p, a, b) in enumerate(by_p):
        highest = max(highest, p * (len(by_p) - i))
        if highest <= 0.05:
            differing_pairs.add((a, b) if sum(values[a]) > sum(values[b]) else (b, a))
    return differing_pairs


def test_letters_name_the_systems_that_a_value_is_better_than() -> None:
    table = paper_table(compare_systems(all_pairs=True))
    letter = dict(zip(SYSTEMS, "abcde", strict=True))
    better = better_by_holm(SYSTEMS, list(combinations(SYSTEMS, 2)))
    assert len(better) > 3
    assert column(table, 0) == list("abcde")
    for r, name in enumerate(SYSTEMS):
        worse = "".join(letter[other] for other in SYSTEMS if (name, other) in better)
        assert table.tables()[0].superscripts.get((r, 2), "") == worse
        assert table.rows()[r]["marks"] == worse


def test_daggers_mark_what_differs_from_the_baseline() -> None:
    for baseline in ("low", "middle"):
        table = paper_table(compare_systems(baseline=baseline))
        other_pairs = [(name, baseline) for name in SYSTEMS if name != baseline]
        better = better_by_holm(SYSTEMS, other_pairs)
        expected = {
            name: "\N{DAGGER}" * ((name, baseline) in better)
            + "\N{DOUBLE DAGGER}" * ((baseline, name) in better)
            for name in SYSTEMS
        }
        assert {row["system"]: row["marks"] for row in table.rows()} == expected
        assert {"\N{DAGGER}", "\N{DOUBLE DAGGER}"} <= {*expected.values()}


def test_each_of_several_baselines_has_a_sign_of_its_own() -> None:
    baselines = ["low", "middle", list(SYSTEMS)[-1]]
    table = paper_table(compare_systems(baseline=baselines))
    compared_pairs = [
        (name, other)
        for i, other in enumerate(baselines)
        for name in SYSTEMS
        if name not in baselines[: i + 1]
    ]
    better = better_by_holm(SYSTEMS, compared_pairs)
    signs = dict(zip(baselines, "\N{DAGGER}\N{DOUBLE DAGGER}\N{SECTION SIGN}", strict=True))
    expected = {
        name: "".join(
            sign
            for baseline, sign in signs.items()
            if not {(name, baseline), (baseline, name)}.isdisjoint(better)
        )
        for name in SYSTEMS
    }
    assert {row["system"]: row["marks"] for row in table.rows()} == expected
    assert any(len(mark) > 1 for mark in expected.values())
    meanings = ", ".join(f"{sign} from {name}" for name, sign in signs.items())
    assert table.caption[1].startswith(f"Significantly different: {meanings} (")
    assert f"Holm over {len(compared_pairs)} comparisons" in table.caption[1]


def test_the_rule_is_below_all_baselines_where_these_come_first() -> None:
    table = paper_table(compare_systems(baseline=["low", "middle"]), sort=True)
    assert set(table.systems[:2]) == {"low", "middle"}
    assert table.tables()[0].ruled_rows == {2}


def test_several_baselines_from_which_nothing_differs_are_named() -> None:
    values = {name: [0.5, 0.25] * 5 for name in ("one", "two", "three")}
    table = paper_table(compare_systems(values, baseline=["one", "two"]))
    assert table.caption[1].startswith("No system differs significantly from one, two (")
    ranks_line = paper_table(
        compare_systems({name: values[name] for name in ("one", "two")}, correction="none"),
        ranks=True,
    ).caption[-1]
    assert ranks_line.endswith("may have, all right at once; * may be the best.")


def test_ranks_have_a_column_beside_each_measure() -> None:
    pairs = compare_systems(all_pairs=True)
    measure = pairs.aligned.measures[0]
    ranks = pairs[measure].ranks
    assert ranks is not None
    texts = [str(ranks[name]).strip().replace("-", "\N{EN DASH}") for name in SYSTEMS]
    for comparison, n_labels in ((pairs, 2), (compare_systems(baseline="low"), 1)):
        table = paper_table(comparison, ranks=True)
        assert table.tables()[0].header[n_labels:] == [measure, "ranks"]
        assert column(table, n_labels + 1) == texts
        assert [row["ranks"] for row in table.rows()] == texts
        assert "Holm over 10 comparisons of all pairs; * may be the best." in table.caption[-1]
    assert [row["ranks"] for row in paper_table(pairs).rows()] == [None] * len(SYSTEMS)


def test_ranks_need_a_correction_for_any_false_alarm() -> None:
    comparison = compare_systems(all_pairs=True, correction="bh")
    with pytest.raises(OptionError, match="needs a correction for any false alarm"):
        paper_table(comparison, ranks=True)


def test_marks_are_made_from_either_comparison() -> None:
    baseline, pairs = compare_systems(baseline="low"), compare_systems(all_pairs=True)
    letters, daggers = paper_table(pairs), paper_table(baseline)
    assert paper_table(baseline, marks="letters").rows() == letters.rows()
    assert paper_table(pairs, marks="daggers").rows() == daggers.rows()
    none = paper_table(pairs, marks="none")
    assert {row["marks"] for row in none.rows()} == {""}
    assert not none.tables()[0].superscripts
    assert len(none.caption) == 1


def test_more_systems_than_letters_have_numbers() -> None:
    values = {f"s{i}": [i / 40 + k * i / 10_000 for k in range(10)] for i in range(30)}
    table = paper_table(compare_systems(values, all_pairs=True, test="t", correction="none"))
    assert column(table, 0) == [str(i + 1) for i in range(30)]
    superscripts = table.tables()[0].superscripts
    assert superscripts[29, 2] == "1\N{EN DASH}29"
    assert superscripts[2, 2] == "1,2"
    assert (0, 2) not in superscripts


# ---- numbers ------------------------------------------------------------------------------------


def test_the_best_is_bold_and_the_second_underlined_with_ties_as_they_are_shown() -> None:
    values = {
        "a": [0.5] * 9 + [0.5001],  # 0.50001, shown as 0.500
        "b": [0.5] * 10,
        "c": [0.25, 0.75] * 4 + [0.0, 0.0],
        "d": [0.1] * 10,
        "e": [0.4] * 10,
    }
    table = paper_table(compare_systems(values))
    printed_table = table.tables()[0]
    assert column(table) == ["0.500", "0.500", "0.400", "0.100", "0.400"]
    assert printed_table.bold_cells == {(0, 1), (1, 1)}
    assert printed_table.underlined_cells == {(2, 1), (4, 1)}
    assert [row["place"] for row in table.rows()] == [1, 1, 2, 3, 2]
    assert table.rows()[0]["mean"] == pytest.approx((0.5 * 9 + 0.5001) / 10, rel=1e-15)
    finer = paper_table(compare_systems(values), digits=5).tables()[0]
    assert finer.bold_cells == {(0, 1)}
    assert finer.underlined_cells == {(1, 1)}


def test_of_two_systems_none_is_underlined_and_of_equal_ones_none_is_bold() -> None:
    two = paper_table(compare_systems({"a": [0.1] * 10, "b": [0.2] * 10})).tables()[0]
    assert (len(two.bold_cells), len(two.underlined_cells)) == (1, 0)
    tied_table = paper_table(compare_systems({"a": [0.1] * 10, "b": [0.1] * 10})).tables()[0]
    assert (len(tied_table.bold_cells), len(tied_table.underlined_cells)) == (0, 0)


def test_less_is_better_and_numbers_above_1_are_no_percentages() -> None:
    falling = {"a": [0.3] * 10, "b": [0.2] * 10, "c": [0.1] * 10}
    lengths = {"a": [3.0] * 10, "b": [30.5] * 10, "c": [4.0] * 10}
    two_comparisons = {
        name: {**scores(falling, "FallOut@5")[name], **scores(lengths, "NumRet")[name]}
        for name in falling
    }
    table = paper_table(compare(two_comparisons), percent=True)
    printed_table = table.tables()[0]
    assert printed_table.header[1:] == ["FallOut@5 \N{DOWNWARDS ARROW}", "NumRet"]
    assert column(table, 1) == ["30.0", "20.0", "10.0"]
    assert column(table, 2) == ["3.000", "30.500", "4.000"]
    assert printed_table.bold_cells == {(2, 1), (1, 2)}
    assert printed_table.underlined_cells == {(1, 1), (2, 2)}
    assert "\N{DAGGER}" in table.rows()[2]["marks"], "better, as it is lower"
    assert r"\phantom{0}\underline{4.000}" in table.to_latex()


def test_a_geometric_mean_is_shown_as_one() -> None:
    halves = {"a": [0.5, 0.125] * 5, "b": [0.5] * 10}
    table = paper_table(compare(scores(halves, "GMAP")))
    assert table.rows()[0]["mean"] == pytest.approx(math.sqrt(0.5 * 0.125))
    assert column(table) == [f"{math.sqrt(0.5 * 0.125):.3f}", "0.500"]


def test_percent_of_saved_scores_that_are_percentages_already() -> None:
    in_percent = compare(scores({"a": [51.25] * 10}), percent=True)
    assert column(paper_table(in_percent, percent=True, digits=2)) == ["51.25"]
    assert column(paper_table(in_percent, digits=4)) == ["0.5125"]
    assert column(paper_table(compare(scores({"a": [0.512] * 10})), percent=True)) == ["51.2"]
    of_no_measure = compare(scores({"a": [0.5] * 10}, "a measure of mine"))
    assert column(paper_table(of_no_measure, percent=True, digits=0)) == ["50"]


def test_rows_are_sorted_below_the_baseline() -> None:
    order = ["high", "middle", "low", "same", "lowest"]
    comparison = compare_systems(baseline="middle")
    assert column(paper_table(comparison), 0) == list(SYSTEMS)
    below = paper_table(comparison, sort=True)
    assert column(below, 0) == ["middle", "high", "low", "same", "lowest"]
    assert below.tables()[0].ruled_rows == {1}
    assert column(paper_table(comparison, sort=True, marks="letters"), 1) == order
    assert column(paper_table(comparison, sort=True, marks="none"), 0) == order


# ---- collections --------------------------------------------------------------------------------


def test_collections_are_groups_of_columns_and_what_was_not_run_is_a_dash() -> None:
    two_systems = {name: SYSTEMS[name] for name in ("low", "high")}
    table = paper_table(
        {"First": compare_systems(), "Second": compare(scores(two_systems, "RR"), baseline="low")}
    )
    printed_table = table.tables()[0]
    assert printed_table.group_headings == ["", "First", "Second"]
    assert printed_table.header == ["System", "P@10", "RR"]
    assert column(table) == [
        f"{sum(SYSTEMS['low']) / 10:.3f}",
        "\N{EN DASH}",
        f"{sum(SYSTEMS['high']) / 10:.3f}",
        *["\N{EN DASH}"] * 2,
    ]
    (note,) = [note for note in table.notes if note.code == "no-run"]
    assert (note.source, note.count) == ("Second", 3)
    lacking = [row for row in table.rows() if row["mean"] is None]
    assert [row["system"] for row in lacking] == ["same", "middle", "lowest"]
    assert {row["collection"] for row in lacking} == {"Second"}
    assert "4 (First) and 1 (Second) comparisons" in table.caption[1]
    assert r"\cmidrule(lr){2-2}\cmidrule(lr){3-3}" in table.to_latex()
    collections = json.loads(table.to_json())["collections"]
    assert [collection["name"] for collection in collections] == ["First", "Second"]


@pytest.mark.parametrize(
    "options", [{"test": "t"}, {"alpha": 0.01}, {"correction": "bh"}, {"baseline": "high"}]
)
def test_collections_are_compared_alike(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        paper_table({"a": compare_systems(), "b": compare_systems(**options)})
    paper_table({"a": compare_systems(), "b": compare_systems(**options)}, marks="none")


# ---- the caption --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "paired randomization test, two-sided, exact: all flips; Holm over 4 comparisons; p "),
        ({"test": "t", "alpha": 0.01}, "paired t-test, two-sided; Holm over 4 comparisons; p "),
        ({"correction": "none"}, "uncorrected, 4 comparisons; p \u2264 0.05"),
        ({"all_pairs": True, "correction": "tukey"}, "Tukey over 10 comparisons; p \u2264 0.05"),
        ({"test": "bayes"}, "with a probability of at least 0.975"),
    ],
)
def test_the_caption_names_the_test_its_family_and_alpha(
    options: dict[str, Any], message: str
) -> None:
    table = paper_table(compare_systems(**options), caption="Results")
    assert table.caption[0] == "Results. Means over 10 queries; best bold, second underlined."
    assert message in table.caption[1]
    assert len(table.caption) == 2
    assert not table.tables()[0].notes, "nothing is below the table"


def test_the_caption_says_what_is_marked() -> None:
    first = {name: SYSTEMS[name] for name in ("low", "high")}
    assert (
        paper_table(compare_systems(first)).caption[1].startswith("\N{DAGGER} significantly better")
    )
    turned_table = compare_systems(first, baseline="high")
    assert paper_table(turned_table).caption[1].startswith("\N{DOUBLE DAGGER} significantly worse")
    alike = {name: SYSTEMS[name] for name in ("low", "same")}
    assert paper_table(compare_systems(alike)).caption[1].startswith("No system differs")
    pairs = compare_systems(alike, all_pairs=True)
    assert paper_table(pairs).caption[1].startswith("No two systems differ")
    assert len(paper_table(compare_systems({"low": LOW})).caption) == 1


def test_the_family_of_several_measures() -> None:
    two_measures = {
        name: {**scores(SYSTEMS)[name], **scores(SYSTEMS, "RR")[name]} for name in SYSTEMS
    }
    assert "over 4 comparisons of each measure;" in paper_table(compare(two_measures)).caption[1]
    family_table = paper_table(compare(two_measures, family="all"))
    assert "over 8 comparisons of all measures;" in family_table.caption[1]


# ---- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"marks": "stars"},
        {"digits": -1},
        {"digits": 2.5},
        {"percent": "yes"},
        {"label": "a}b"},
        {"label": ""},
        {"caption": 3},
        {"sort": "best"},
    ],
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        paper_table(compare_systems(), **options)


@pytest.mark.parametrize("data", [{}, None, "qrels.txt", {"a": 1}])
def test_what_is_no_comparison_is_refused(data: Any) -> None:
    with pytest.raises(InputError, match="compare"):
        paper_table(data)


def test_scores_are_to_be_compared_first() -> None:
    scores_of_run: Any = evaluate({"q": {"d": 1}}, {"q": ["d"]}, "AP")
    with pytest.raises(InputError, match="compare"):
        paper_table(scores_of_run)


# ---- the command --------------------------------------------------------------------------------


@pytest.fixture
def folder(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(demo_folder)
    return demo_folder


RUNS = ["demo/bm25.run", "demo/tfidf.run", "demo/dense.run"]


def test_the_command_makes_what_the_function_makes(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tex"
    measures = ["-m", "nDCG@10", "-m", "AP"]
    outcome = invoke(
        "table", "demo/qrels.txt", *RUNS, *measures, "--all-pairs", "--sort", "-o", str(out)
    )
    assert outcome.exit_code == 0
    comparison = compare("demo/qrels.txt", RUNS, "nDCG@10 AP", all_pairs=True)
    assert out.read_text() == paper_table(comparison, sort=True).to_latex()
    assert outcome.stdout == paper_table(comparison, sort=True).to_text()
    assert "Skewed" not in outcome.stdout


def test_collections_are_files_of_saved_scores(folder: Path, tmp_path: Path) -> None:
    files = {"DL 19": tmp_path / "a.json", "DL 20": tmp_path / "b.json"}
    for path, runs in zip(files.values(), (RUNS, RUNS[:2]), strict=True):
        save_outcome = invoke(
            "evaluate", "demo/qrels.txt", *runs, "-m", "AP", "-q", "-o", str(path)
        )
        assert save_outcome.exit_code == 0
    collection_arguments = [
        part for name, path in files.items() for part in ("--collection", f"{name}={path}")
    ]
    outcome = invoke("table", *collection_arguments, "--format", "json")
    assert outcome.exit_code == 0, outcome.stderr
    document = json.loads(outcome.stdout)
    direct = {
        "DL 19": compare("demo/qrels.txt", RUNS, "AP"),
        "DL 20": compare("demo/qrels.txt", RUNS[:2], "AP"),
    }
    assert document["rows"] == paper_table(direct).rows()
    assert document["rows"][-1]["mean"] is None


def test_a_comparison_in_json_is_a_collection_too(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "compared.json"
    assert invoke("compare", "demo/qrels.txt", *RUNS, "-m", "AP", "-o", str(path)).exit_code == 0
    outcome = invoke("table", "--collection", f"A={path}", "--format", "json")
    assert outcome.exit_code == 0, outcome.stderr
    direct = {"A": compare("demo/qrels.txt", RUNS, "AP")}
    assert json.loads(outcome.stdout)["rows"] == paper_table(direct).rows()


def test_a_comparison_in_json_that_is_broken_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "compared.json"
    table_dict = compare_systems(test="t").to_dict()
    for broken_options in (
        {**table_dict, "query_ids": IDS[1:]},
        {**table_dict, "scores": {"P@10": {"low": 3}}},
        {**table_dict, "scores": [1]},
        {"query_ids": IDS},
    ):
        path.write_text(json.dumps(broken_options))
        with pytest.raises(InputError, match=r"compared\.json"):
            compare([path])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "QRELS"),
        (["demo/qrels.txt"], "--saved"),
        (["--collection", "x"], "NAME=FILE"),
        (["--collection", "x=saved.json", "-o", "./saved.json"], "name another file"),
        (["--collection", "x=nowhere.json"], "nowhere.json"),
        (["--collection", "a=demo/qrels.txt", "--collection", "a=x.json"], "same name"),
        (["demo/qrels.txt", *RUNS, "--collection", "a=b.json"], "--collection"),
        (["demo/qrels.txt", *RUNS, "--label", "a b"], "--label"),
        (["demo/qrels.txt", *RUNS, "--slices", "x.csv"], "--slices"),
        (["demo/qrels.txt", *RUNS, "--bounds"], "--bounds"),
        (["demo/qrels.txt", *RUNS, "--all-pairs", "--baseline", "bm25"], "--baseline"),
    ],
)
def test_wrong_use_is_refused(folder: Path, arguments: list[str], message: str) -> None:
    outcome = invoke("table", *arguments)
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert len(outcome.stderr.splitlines()) < 12


# ---- LaTeX compiles it --------------------------------------------------------------------------

HOSTILE = [
    *SYSTEM_NAMES,
    r"\input{/etc/passwd}",
    "$x^2_{",
    "100%",
    "~#&_",
    "</script>",
    "\x1b[31m\u202e",
]


def compile_latex(body: str, folder: Path, document: str = r"\documentclass{article}") -> str:
    """Return the text of the page that LaTeX makes of tables; fail at its first error."""
    if shutil.which("pdflatex") is None or shutil.which("pdftotext") is None:
        pytest.skip("pdflatex and pdftotext are not installed")
    page = folder / "page.tex"
    page.write_text(
        f"{document}\n\\usepackage{{booktabs}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n",
        "utf-8",
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
    for _ in range(2):  # references are known the second time
        outcome = subprocess.run(
            [*command, page.name], cwd=folder, capture_output=True, timeout=120
        )
        assert outcome.returncode == 0, outcome.stdout.decode(errors="replace")[-2000:]
    assert b"undefined" not in outcome.stdout
    text = ["pdftotext", "-layout", "page.pdf", "-"]
    return subprocess.run(text, cwd=folder, capture_output=True, check=True).stdout.decode()


@pytest.mark.more
@pytest.mark.parametrize("kind", ["article", "twocolumn", "proc"])
def test_latex_compiles_every_variant(kind: str, tmp_path: Path) -> None:
    document = {
        "article": r"\documentclass{article}",
        "twocolumn": r"\documentclass[twocolumn]{article}",
        "proc": r"\documentclass{proc}",
    }[kind]
    hostile = {name: [i / 10, *LOW[1:]] for i, name in enumerate(HOSTILE)}
    tables = [
        paper_table(compare_systems(), label="tab:one", caption="First"),
        paper_table(compare_systems(all_pairs=True), sort=True, percent=True, wide=True),
        paper_table(
            {"DL 2019": compare_systems(), "100% & _": compare_systems()}, digits=4, wide=True
        ),
        paper_table(compare_systems(hostile), caption=r"\end{table} 50% of $x_2$"),
        paper_table(compare_systems(hostile, all_pairs=True)),
    ]
    body = "\n".join(table.to_latex() + r"\clearpage" for table in tables)
    page = compile_latex(f"{body}\nSee Table~\\ref{{tab:one}}.", tmp_path, document)
    assert "See Table 1." in page
    assert "P@10" in page
    assert r"\input{/etc/passwd}" in page
    assert f"{sum(SYSTEMS['high']) / 10:.3f}\N{DAGGER}" in page.replace(" ", "")
    assert r"\end{table} 50% of $x" in " ".join(page.split())


@pytest.mark.more
def test_latex_compiles_every_result(tmp_path: Path) -> None:
    pages = [make().to_latex() for make in RESULTS.values()]
    pages += [compare(SCORES).to_latex(means=True, changes=2)]
    for name in ("scores", "systems", "agreement"):
        pages += [RESULTS[name]().to_latex(per_query=True)]
    page = compile_latex("\\clearpage\n".join(pages), tmp_path)
    assert page.count("Table") >= len([text for text in pages if r"\caption" in text])


@pytest.mark.usefixtures("folder")
def test_the_command_says_which_measures_have_no_number() -> None:
    outcome = invoke("table", "demo/qrels.txt", *RUNS, "-m", "RelString@5 AP")
    assert outcome.exit_code == 0, outcome.output
    assert "RelString@5" not in outcome.stdout
    assert "RelString@5" in outcome.stderr


def test_an_arrow_says_that_less_is_better() -> None:
    times = {"old": [100.0 + i % 7 for i in range(40)], "new": [150.0 + i % 8 for i in range(40)]}
    scores = {
        name: {"latency_ms": {f"q{i:02}": time for i, time in enumerate(column)}}
        for name, column in times.items()
    }
    comparison = compare(scores, less_is_better="latency_ms")
    assert paper_table(comparison).tables()[0].header[1] == "latency_ms \N{DOWNWARDS ARROW}"
