"""The report's page, read back without a browser: every number in it, and texts that stay texts."""

import base64
import hashlib
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.judged_runs import cannot_be_placed
from helpers.page_parts import Page, parse_page

from cranfield import Comparison, InputError, OptionError, compare, demo, evaluate, report
from cranfield.comparison.compare import compare_all_pairs
from cranfield.comparison.result import Pair, Result
from cranfield.extensions.report.report import Report
from cranfield.scoring.scores import Systems

MEASURES = "nDCG@10 AP RR GMAP"
VERDICTS = {"better": 1, "worse": -1, None: 0}
QUERIES = demo.HERE / "queries.tsv"

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    "{{SCRIPT}}{{DATA}}",
    "\"'`&lt;&amp;",
    "javascript:alert(1)",
    "right\u202eleft\u2066\u200f",
    "byte \udcff of no text",
    "bell \x07 line\u2028end",
    "<!--",
    "]]>",
    "\N{COMBINING ACUTE ACCENT}x",
    "long " + "y" * 10_000,
)
NO_IDS = "nul \x00", "half \ud800 of a character"


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(demo.QRELS, list(demo.RUNS), MEASURES)


@pytest.fixture(scope="module")
def report_page(comparison: Comparison) -> Report:
    return report(comparison)


@pytest.fixture(scope="module")
def page(comparison: Comparison) -> Page:
    return Page(report(comparison, query_texts=QUERIES).html)


# ---- numbers ------------------------------------------------------------------------------------


def expect_verdict(result: Result, pair: Pair) -> int | None:
    """Return the number of a verdict; None if a system of the pair is little judged."""
    return None if cannot_be_placed(result, pair) else VERDICTS[pair.verdict]


def check_board(comparison: Comparison, page: Page) -> None:
    """Hold every number of the leaderboards against the comparison, bit for bit."""
    names = page.archive["systems"]
    assert names == list(comparison.aligned.system_names)
    for measure, rows in zip(comparison.aligned.measures, page.archive["board"], strict=True):
        measure_result = comparison[measure]
        ranked_systems = sorted(
            measure_result.systems,
            key=lambda system: -system.mean if measure_result.higher_is_better else system.mean,
        )
        assert [names[row["s"]] for row in rows] == [system.name for system in ranked_systems]
        for row, system in zip(rows, ranked_systems, strict=True):
            assert (row["mean"], row["low"], row["high"]) == (system.mean, system.low, system.high)
            assert (row["judged"], row["less"]) == (system.judged, system.judged_lags)
            pair = measure_result.pair_of_names.get(
                (system.name, str(comparison.settings.baseline))
            )
            if pair is None:
                assert row["diff"] is None
                assert row["wins"] is None
                assert row["verdict"] is None
                continue
            ratio = pair.scale == "ratio"
            assert row["diff"] == (pair.ratio if ratio else pair.difference)
            assert row["diff_low"] == (pair.ratio_low if ratio else pair.low)
            assert row["diff_high"] == (pair.ratio_high if ratio else pair.high)
            assert row["p_adjusted"] == pair.p_adjusted
            for name in ("better", "same", "worse"):
                assert row.get(name) == getattr(pair, f"probability_{name}")
            assert (row["wins"], row["ties"], row["losses"]) == (pair.wins, pair.ties, pair.losses)
            assert row["verdict"] == expect_verdict(measure_result, pair)


def check_pairs(comparison: Comparison, page: Page) -> None:
    """Hold every pair of systems against a comparison of all pairs."""
    pair_comparison = compare_all_pairs(comparison)
    names = page.archive["systems"]
    for m, measure in enumerate(comparison.aligned.measures):
        pair_result = pair_comparison[measure]
        rows = page.archive["pairs"][m]
        assert len(rows) == len(pair_result.pairs)
        different_pairs = set()
        for a, b, difference, low, high, p, verdict, wins, ties, losses, *probable in rows:
            assert a < b
            pair = pair_result.pair_of_names[names[a], names[b]]
            ratio = pair.scale == "ratio"
            assert difference == (pair.ratio if ratio else pair.difference)
            assert (low, high) == (
                (pair.ratio_low, pair.ratio_high) if ratio else (pair.low, pair.high)
            )
            assert (p, verdict) == (pair.p_adjusted, expect_verdict(pair_result, pair))
            assert (wins, ties, losses) == (pair.wins, pair.ties, pair.losses)
            chances = (pair.probability_better, pair.probability_same, pair.probability_worse)
            assert probable == [chance for chance in chances if chance is not None]
            different_pairs |= {(a, b), (b, a)} if verdict != 0 else set()
        first, *other_indices = (row["s"] for row in page.archive["board"][m])
        assert page.archive["alike"][m] == [
            s for s in other_indices if (first, s) not in different_pairs
        ]


def check_scores(comparison: Comparison, page: Page) -> None:
    """Hold the scores of every query against those that were compared."""
    page.check_sizes()
    assert page.archive["queries"] == list(comparison.aligned.query_ids)
    for m, measure in enumerate(page.archive["measures"]):
        if measure["queries"] is not None:
            steps = measure["unit"]
            expected_scores = comparison.aligned.scores[m].T
            page_scores = page.scores(m)
            if steps is None:
                assert np.array_equal(page_scores, expected_scores)
            else:
                assert np.array_equal(page_scores, np.rint(expected_scores * steps) / steps)


def check(comparison: Comparison, page: Page) -> None:
    check_board(comparison, page)
    check_pairs(comparison, page)
    check_scores(comparison, page)
    check_tables(comparison, page)


def check_tables(comparison: Comparison, page: Page) -> None:
    """Hold the cells of the tables against the comparison: each has its double, too."""
    measure = comparison.aligned.measures[0]
    by_name = {system.name: system for system in comparison[measure].systems}
    names = page.archive["systems"]
    rows = page.root.find_by_id("board").find_all("tr")[1:]
    assert [int(row.attributes["data-s"] or "") for row in rows] == [
        row["s"] for row in page.archive["board"][0]
    ]
    for row in rows:
        name = names[int(row.attributes["data-s"] or "")]
        (cell,) = row.find_all("td", "v")
        assert float(cell.attributes["data-v"] or "") == by_name[name].mean
        assert abs(float(cell.text.replace("\N{MINUS SIGN}", "-")) - by_name[name].mean) <= 5.1e-5
    means = page.root.find_by_id("means").find_all("tr")[1:]
    for row in means:
        name = names[int(row.attributes["data-s"] or "")]
        shown_means = [float(cell.attributes["data-v"] or "") for cell in row.find_all("td")]
        results = [comparison[measure] for measure in comparison.aligned.measures]
        assert shown_means == [
            next(system.mean for system in result.systems if system.name == name)
            for result in results
        ]


def test_every_number_is_that_of_the_comparison(comparison: Comparison, page: Page) -> None:
    check(comparison, page)
    assert page.archive["v"] == 1
    assert page.archive["baseline"] == 0
    assert [measure["name"] for measure in page.archive["measures"]] == list(
        comparison.aligned.measures
    )
    assert [measure["scale"] for measure in page.archive["measures"]] == ["difference"] * 3 + [
        "ratio"
    ]


def test_scores_are_those_of_evaluate(page: Page) -> None:
    systems = evaluate(demo.QRELS, demo.RUNS, MEASURES)
    for m, measure in enumerate(page.archive["measures"][:3]):
        for name, scores in zip(page.archive["systems"], page.scores(m), strict=True):
            expected_scores = systems[name].per_query(measure["name"])
            assert (
                dict(zip(page.archive["queries"], scores.tolist(), strict=True)) == expected_scores
            )


def test_best_and_second_are_marked(comparison: Comparison, page: Page) -> None:
    for row in page.root.find_by_id("means").find_all("tr")[1:]:
        name = page.archive["systems"][int(row.attributes["data-s"] or "")]
        for cell, measure in zip(row.find_all("td"), comparison.aligned.measures, strict=True):
            means = sorted({system.mean for system in comparison[measure].systems}, reverse=True)
            mean = next(
                system.mean for system in comparison[measure].systems if system.name == name
            )
            assert ("best" in cell.classes) == (mean == means[0])
            assert ("second" in cell.classes) == (mean == means[1])


def test_wins_and_intervals_are_written_where_they_are_read(
    comparison: Comparison, page: Page
) -> None:
    for row in page.root.find_by_id("board").find_all("tr")[1:]:
        name = page.archive["systems"][int(row.attributes["data-s"] or "")]
        pair = comparison[comparison.aligned.measures[0]].pair_of_names.get((name, "bm25"))
        (cell,) = row.find_all("td", "wtl")
        assert cell.text == ("" if pair is None else f"{pair.wins} / {pair.ties} / {pair.losses}")


def test_measures_by_cutoff_and_precision_by_recall(comparison: Comparison, page: Page) -> None:
    cutoffs = page.archive["cutoffs"]
    assert cutoffs["measure"] == "nDCG"
    cutoff_comparison = compare(demo.QRELS, list(demo.RUNS), [f"nDCG@{k}" for k in cutoffs["at"]])
    for i, k in enumerate(cutoffs["at"]):
        for s, system in enumerate(cutoff_comparison[f"nDCG@{k}"].systems):
            shown_numbers = [cutoffs[name][s][i] for name in ("mean", "low", "high")]
            assert shown_numbers == [system.mean, system.low, system.high]
    recall = page.archive["recall"]
    assert recall["at"] == [i / 10 for i in range(11)]
    cutoff_comparison = compare(
        demo.QRELS, list(demo.RUNS), [f"IPrec@{level}" for level in recall["at"]]
    )
    for i, measure in enumerate(cutoff_comparison.aligned.measures):
        for s, system in enumerate(cutoff_comparison[measure].systems):
            shown_numbers = [recall[name][s][i] for name in ("mean", "low", "high")]
            assert shown_numbers == [system.mean, system.low, system.high]


def test_judged_by_rank_is_a_count(page: Page) -> None:
    judged: dict[str, set[str]] = {}
    for line in demo.QRELS.read_text("utf-8").splitlines():
        query, _, doc, _ = line.split()
        judged.setdefault(query, set()).add(doc)
    for name, shares in zip(page.archive["systems"], page.archive["judged"]["share"], strict=True):
        ranked: dict[str, list[str]] = {}
        for line in (demo.HERE / f"{name}.run").read_text("utf-8").splitlines():
            query, _, doc, *_ = line.split()
            ranked.setdefault(query, []).append(doc)
        # The runs have no ties but those that are in the file's order already: but one, fusion.
        if name == "fusion":
            continue
        for rank, share in zip(page.archive["judged"]["at"], shares, strict=True):
            deep_queries = [query for query in judged if len(ranked.get(query, ())) >= rank]
            n = sum(ranked[query][rank - 1] in judged[query] for query in deep_queries)
            assert share == n / len(deep_queries)


def test_rankings_and_worksheets(comparison: Comparison, page: Page) -> None:
    assert page.archive["lists"] == {"n": 40, "of": 40}
    assert [*page.rankings] != []
    assert {*page.rankings} == {*range(40)}
    leader = page.archive["board"][0][0]["s"]
    assert page.archive["sheets"] == {"systems": [leader, 0], "n": 40}
    assert {*page.worksheets} == {(query, system) for query in range(40) for system in (leader, 0)}
    for (query, system), text in page.worksheets.items():
        score = page.scores(0)[system][query].item()
        assert f"= {score!r}" in text
        assert page.archive["queries"][query] in text


def test_questions_and_relevant_documents(page: Page) -> None:
    questions = dict(line.split("\t") for line in QUERIES.read_text("utf-8").splitlines())
    assert page.archive["texts"] == [questions[query] for query in page.archive["queries"]]
    relevant = dict.fromkeys(page.archive["queries"], 0)
    for line in demo.QRELS.read_text("utf-8").splitlines():
        query, _, _, grade = line.split()
        relevant[query] += int(grade) > 0
    assert relevant_to(page, 0) == [relevant[query] for query in page.archive["queries"]]
    assert page.archive["grades"] == {"least": 0, "top": 3}


def relevant_to(page: Page, measure: int) -> list[int]:
    """Return how many documents of each query are relevant to a measure."""
    counts: list[int] = page.archive["n_relevant"][page.archive["measures"][measure]["relevant"]]
    return counts


def test_documents_are_relevant_from_the_grade_that_the_measure_states() -> None:
    page = Page(
        report(compare(demo.QRELS, list(demo.RUNS), "AP(rel=2) P(rel=2)@10 RR"), worksheets=2).html
    )
    judgments = [line.split() for line in demo.QRELS.read_text("utf-8").splitlines()]
    for measure, level in enumerate((2, 2, 1)):
        assert page.archive["measures"][measure]["from"] == level
        assert relevant_to(page, measure) == [
            sum(
                query == judged_query and int(grade) >= level
                for judged_query, _, _, grade in judgments
            )
            for query in page.archive["queries"]
        ]
    assert len(page.archive["n_relevant"]) == 2
    assert page.archive["cutoffs"]["measure"] == "AP(rel=2)"


def test_probabilities_have_columns() -> None:
    comparison = compare(demo.QRELS, list(demo.RUNS), "nDCG@10 AP", test="bayes", rope=0.02)
    page = Page(report(comparison, worksheets=2).html)
    check(comparison, page)
    heads = [
        node.attributes.get("data-key") for node in page.root.find_by_id("board").find_all("th")
    ]
    assert "p_adjusted" not in heads
    at = heads.index("better")
    assert heads[at + 1] == "same"
    rows = page.root.find_by_id("board").find_all("tr")[1:]
    for row, system in zip(rows, comparison["nDCG@10"].ranked_systems, strict=True):
        better, same_cell = [part for part in row.children if not isinstance(part, str)][
            at : at + 2
        ]
        if system.name == "bm25":
            assert better.text == same_cell.text == ""
            continue
        pair = comparison["nDCG@10"][system.name]
        assert better.text == f"{pair.probability_better:.2f}"
        assert same_cell.text == f"{pair.probability_same:.2f}"


def test_the_same_bytes_twice(comparison: Comparison, report_page: Report) -> None:
    assert report(comparison).html == report_page.html


# ---- the page -----------------------------------------------------------------------------------


def test_the_policy_lets_only_the_pages_own_script_and_style(page: Page) -> None:
    (policy,) = (
        node.attributes["content"] or ""
        for node in page.root.find_all("meta")
        if node.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    scripts = re.findall(r"<script>(.*?)</script>", page.html, re.S)
    styles = re.findall(r"<style>(.*?)</style>", page.html, re.S)

    def hashes(texts: list[str]) -> str:
        digests = (hashlib.sha256(text.encode()).digest() for text in texts)
        return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)

    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == hashes(scripts)
    assert rules["style-src"] == hashes(styles)
    assert rules["require-trusted-types-for"] == "'script'"
    assert rules["trusted-types"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "connect-src" not in rules  # default-src has it: nothing is sent


def test_no_attribute_runs_or_loads_anything(page: Page) -> None:
    for node in page.root.descendants:
        for name, value in node.attributes.items():
            assert not name.startswith("on")
            assert name not in ("style", "src", "srcset", "action")
            if name == "href":
                assert value == "data:," or (value or "").startswith("#")


def test_every_place_of_the_frame_is_filled_once(page: Page) -> None:
    assert not re.search(r"\{\{[A-Z_]+\}\}", page.html)


def test_each_section_that_is_linked_is_there(page: Page) -> None:
    ids = {node.attributes.get("id") for node in page.root.descendants}
    links = [node.attributes.get("href") or "" for node in page.root.find_all("a")]
    assert {link[1:] for link in links} <= ids


def test_hostile_names_stay_text() -> None:
    """In ids of queries and documents, names of systems, title, command, questions and texts."""
    ids = [f"{name}{i}" for i, name in enumerate(HOSTILE)]
    judgments = {query: {doc: 1 + n % 3 for n, doc in enumerate(ids)} for query in ids}
    runs = {name: dict.fromkeys(ids, ids[n:] + ids[:n]) for n, name in enumerate(ids) if n < 4}
    comparison = compare(judgments, runs, "nDCG@3")
    texts = dict(zip(ids, (*NO_IDS, *HOSTILE), strict=False))
    title, command = ids[0] + NO_IDS[0], ids[1] + NO_IDS[1]
    report_page = report(
        comparison, title=title, command=command, query_texts=texts, doc_texts=texts
    )
    page = Page(report_page.html)
    check(comparison, page)
    assert page.archive["title"] == title
    assert page.archive["command"] == command
    assert page.archive["queries"] == list(comparison.aligned.query_ids)
    assert {doc for rankings in page.rankings.values() for doc in rankings["d"]} == {*ids}
    plain = Page(report(compare({"a": {"q": 1.0}, "b": {"q": 0.5}}), title="t").html)
    plain_nodes = {(node.tag, *sorted(node.attributes)) for node in plain.root.descendants}
    for node in page.root.descendants:
        assert not any(name.startswith("on") for name in node.attributes)
        assert node.tag not in ("img", "iframe", "object", "base")
    assert len(page.root.find_all("script")) == len(plain.root.find_all("script"))
    assert ("script",) in plain_nodes
    assert (
        parse_page(report_page.html)
        .find_all("title")[0]
        .text.startswith("<script>alert(1)</script>0")
    )
    report_page.html.encode()


def test_names_are_cut_in_tables_and_whole_in_the_data() -> None:
    long = "z" * 10_000
    page = Page(report(compare({long: {"q": 1.0, "r": 0.5}, "b": {"q": 0.5, "r": 0.5}})).html)
    assert page.archive["systems"][0] == long
    rows = page.root.find_by_id("board").find_all("tr")[1:]
    assert max(len(row.text) for row in rows) < 1_000


def test_ids_that_are_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_bytes(b"q\xff 0 d\xfe 1\nq2 0 d 1\n")
    (tmp_path / "a.run").write_bytes(b"q\xff Q0 d\xfe 1 2.0 t\nq2 Q0 d 1 1.0 t\n")
    comparison = compare(tmp_path / "qrels.txt", [tmp_path / "a.run"], "AP")
    page = Page(report(comparison).html)
    assert page.archive["queries"] == list(comparison.aligned.query_ids)
    report(comparison).save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == report(comparison).html.encode()


# ---- odd inputs ---------------------------------------------------------------------------------


def test_one_run() -> None:
    comparison = compare(demo.QRELS, [demo.RUNS[0]], "nDCG@10")
    page = Page(report(comparison).html)
    check(comparison, page)
    assert page.archive["baseline"] is None
    assert page.archive["pairs"] == [[]]
    assert page.archive["alike"] == [[]]
    assert page.archive["tests"] == {"baseline": None, "pairs": None}
    assert page.archive["sheets"] == {"systems": [0], "n": 40}
    assert not page.root.find_by_id("board").find_all("input")
    assert page.root.find_all("h1")[0].text.startswith("bm25: nDCG@10 ")


def test_saved_scores_have_no_rankings_and_the_page_says_so(comparison: Comparison) -> None:
    systems = evaluate(demo.QRELS, demo.RUNS, "nDCG@10 AP")
    page = Page(report(systems).html)
    check(compare(systems), page)
    for name in ("lists", "sheets", "explain", "runs", "cutoffs", "recall", "judged", "grades"):
        assert page.archive[name] is None
    assert page.archive["why"]
    assert page.rankings == {}
    assert page.worksheets == {}


def test_scores_of_one_run() -> None:
    page = Page(report(evaluate(demo.QRELS, demo.RUNS[0], "AP")).html)
    assert page.archive["systems"] == ["bm25"]


def test_all_pairs_have_no_baseline() -> None:
    comparison = compare(demo.QRELS, list(demo.RUNS), "nDCG@10", all_pairs=True)
    page = Page(report(comparison).html)
    check(comparison, page)
    assert page.archive["baseline"] is None
    assert page.archive["tests"]["baseline"] is None
    assert len(page.archive["sheets"]["systems"]) == 2
    cells = [
        row.find_all("td", "letters")[0].text
        for row in page.root.find_by_id("board").find_all("tr")[1:]
    ]
    letters = dict(
        zip(comparison.aligned.system_names, comparison["nDCG@10"].letters or (), strict=True)
    )
    assert cells == [letters[page.archive["systems"][row["s"]]] for row in page.archive["board"][0]]


@cache
def evaluate_demo() -> Systems:
    """Return the scores of the demonstration, without the rankings, which take a page long."""
    return evaluate(demo.QRELS, list(demo.RUNS), "nDCG@10 GMAP")


def test_several_baselines_have_a_column_each() -> None:
    comparison = compare(evaluate_demo(), baseline=["bm25", "dense"])
    page = Page(report(comparison).html)
    archive, board = page.archive, page.root.find_by_id("board")
    assert archive["systems"][archive["baseline"]] == "bm25"
    assert "of the 5 comparisons with the baselines" in archive["tests"]["baseline"]
    headings = [heading.text for heading in board.find_all("th")]
    assert headings.index("vs bm25") < headings.index("vs dense")
    for measure, rows in zip(comparison.aligned.measures, archive["board"], strict=True):
        result = comparison[measure]
        for row in rows:
            name = archive["systems"][row["s"]]
            assert (row.get("diff") is None) == (name == "bm25")
            assert ("vs0" in row) == (name in ("tfidf", "fusion"))
            if "vs0" in row:
                pair = result[name, "dense"]
                assert row["vs0"] == (pair.difference if pair.ratio is None else pair.ratio)
                assert row["vs0_verdict"] == {"better": 1, "worse": -1, None: 0}[pair.verdict]
    assert "baselines" in page.root.find_by_id("which").text


@pytest.mark.parametrize("options", [{}, {"all_pairs": True}])
def test_ranks_are_those_of_all_pairs(options: dict[str, Any]) -> None:
    comparison = compare(evaluate_demo(), **options)
    page = Page(report(comparison).html)
    pair_comparison = compare(evaluate_demo(), all_pairs=True)
    for measure, rows in zip(comparison.aligned.measures, page.archive["board"], strict=True):
        ranks = pair_comparison[measure].ranks
        assert ranks is not None
        for row in rows:
            rank = ranks[page.archive["systems"][row["s"]]]
            assert (row["ranks"], row["ranks_text"]) == (rank.low, str(rank))
    headings = [heading.text for heading in page.root.find_by_id("board").find_all("th")]
    assert "Ranks" in headings
    without_ranks = compare(evaluate_demo(), correction="none", **options)
    page = Page(report(without_ranks).html)
    assert "ranks" not in page.archive["board"][0][0]
    assert "Ranks" not in page.root.find_by_id("board").text


def test_families_of_p_are_named(page: Page) -> None:
    tests = page.archive["tests"]
    assert "3 comparisons with the baseline" in tests["baseline"]
    assert "all 6 pairs" in tests["pairs"]
    note = page.root.find_by_id("which").text
    assert tests["baseline"] in note


@pytest.mark.parametrize("measure", ["nDCG@10", "GMAP"])
def test_slices(measure: str) -> None:
    queries = dict(line.split("\t") for line in QUERIES.read_text("utf-8").splitlines())
    labels = {"type": {query: "ab"[i % 2] for i, query in enumerate(queries)}}
    comparison = compare(demo.QRELS, list(demo.RUNS), f"{measure} AP", slices=labels)
    page = Page(report(comparison, worksheets=2).html)
    check(comparison, page)
    assert [(slice_row["label"], slice_row["slice"]) for slice_row in page.archive["slices"]] == [
        ("type", "a"),
        ("type", "b"),
    ]
    for slice_row in page.archive["slices"]:
        slice_result = comparison.slice(measure, slice_row["slice"])
        assert slice_row["queries"] == len(slice_result.query_ids)
        for row, system in zip(slice_row["rows"], slice_result.systems, strict=True):
            assert page.archive["systems"][row["s"]] == system.name
            assert (row["mean"], row["low"], row["high"]) == (system.mean, system.low, system.high)
            pair = slice_result.pair_of_names.get((system.name, "bm25"))
            by_ratio = measure == "GMAP"
            of_pair = (
                ("ratio", "ratio_low", "ratio_high") if by_ratio else ("difference", "low", "high")
            )
            assert [row[name] for name in ("diff", "diff_low", "diff_high")] == [
                None if pair is None else getattr(pair, name) for name in of_pair
            ]
            # Whether it can be placed is decided on all queries.
            of_all = comparison[measure].pair_of_names.get((system.name, "bm25"))
            is_placed = of_all is not None and not cannot_be_placed(comparison[measure], of_all)
            assert row["verdict"] == (VERDICTS[pair.verdict] if pair and is_placed else None)


def test_one_query() -> None:
    comparison = compare({"q": {"a": 1}}, {"x": {"q": ["a"]}, "y": {"q": ["b", "a"]}}, "RR AP")
    page = Page(report(comparison).html)
    check(comparison, page)
    assert page.archive["board"][0][0]["low"] is None


def test_equal_scores_have_no_best() -> None:
    comparison = compare({"x": {"q": 0.5, "r": 0.25}, "y": {"q": 0.5, "r": 0.25}})
    page = Page(report(comparison).html)
    check(comparison, page)
    assert page.root.find_all("h1")[0].text == "Both systems have the same score, 0.375."
    assert not page.root.find_by_id("means").find_all("td", "best")


def test_two_systems_share_the_first_place() -> None:
    half = {"x": {"q": 1.0, "r": 0}, "y": {"q": 0, "r": 1.0}, "z": {"q": 0.25, "r": 0.25}}
    page = Page(report(compare(half, baseline="z")).html)
    assert page.root.find_all("h1")[0].text.startswith("x and y score highest: score 0.500")


def test_less_is_better() -> None:
    judgments = {f"q{i}": {"a": 1, "b": 1} for i in range(12)}
    runs = {"far": {q: ["x", "a"] for q in judgments}, "near": {q: ["a"] for q in judgments}}
    comparison = compare(judgments, runs, "Unjudged@2")
    page = Page(report(comparison).html)
    check(comparison, page)
    assert page.archive["measures"][0]["rising"] is False
    assert page.archive["systems"][page.archive["board"][0][0]["s"]] == "near"
    assert "less is better" in page.root.find_by_id("which").text
    assert page.root.find_all("h1")[0].text.startswith("near scores lowest")


def test_geometric_means_are_compared_by_ratios(comparison: Comparison) -> None:
    alone = compare(demo.QRELS, list(demo.RUNS), "GMAP")
    page = Page(report(alone, worksheets=2).html)
    check(alone, page)
    pair = alone["GMAP"]["dense"]
    assert pair.ratio is not None
    assert page.root.find_all("h1")[0].text.startswith("No system can be called best.")
    scored = compare(evaluate(demo.QRELS, demo.RUNS, "GMAP"))  # nobody knows what was judged
    assert (
        f"\N{MULTIPLICATION SIGN}{pair.ratio:.3f} against the baseline"
        in Page(report(scored).html).root.find_all("h1")[0].text
    )


@pytest.mark.parametrize(
    "grades", [(-2, -1, 0, 1), (0, 1, 2, 3, 4, 5, 6), (0.25, 0.5, 1.0), (0,), (-1, -2)]
)
def test_other_grades(grades: tuple[float, ...]) -> None:
    docs = [f"d{i}" for i in range(7)]
    judgments = {
        f"q{q}": {doc: grades[(i + q) % len(grades)] for i, doc in enumerate(docs)}
        for q in range(11)
    }
    runs = {"x": dict.fromkeys(judgments, docs), "y": {q: [*docs[::-1], "u"] for q in judgments}}
    comparison = compare(judgments, runs, "nDCG@3")
    page = Page(report(comparison).html)
    check(comparison, page)
    assert page.archive["grades"] == {"least": min(grades), "top": max(*grades, 0)}
    n = sum(grade > 0 for grade in judgments["q0"].values())
    assert relevant_to(page, 0)[page.archive["queries"].index("q0")] == n
    page_rankings = page.rankings[0]
    judged_docs = judgments[page.archive["queries"][0]]
    assert [judged_docs.get(doc) for doc in page_rankings["d"]] == page_rankings["g"]


def test_judgments_in_groups() -> None:
    judgments = [
        {"query_id": f"q{q}", "subtopic": s, "doc_id": f"d{d}", "relevance": (q + s + d) % 2}
        for q in range(10)
        for s in (1, 2)
        for d in range(4)
    ]
    runs = {
        "x": {f"q{q}": ["d0", "d1", "d2"] for q in range(10)},
        "y": {f"q{q}": ["d3", "d2", "d1"] for q in range(10)},
    }
    comparison = compare(judgments, runs, "alpha_nDCG@3")
    page = Page(report(comparison).html)
    check(comparison, page)
    assert page.archive["judged"] is None
    assert page.archive["n_relevant"] is None
    assert page.archive["said"]["lists"]
    codes = {note.code for note in report(comparison).notes}
    assert {"no-judged-by-rank", "no-recall", "best-of-groups"} <= codes


def test_runs_of_other_queries() -> None:
    judgments = {f"q{i}": {"a": 1} for i in range(6)}
    runs = {
        "x": {"q0": ["a"], "q1": ["b", "a"], "other": ["a"]},
        "y": {"q4": ["a"], "q5": ["a"], "another": ["c"]},
    }
    comparison = compare(judgments, runs, "AP nDCG@2")
    page = Page(report(comparison).html)
    check(comparison, page)
    assert page.archive["queries"] == [f"q{i}" for i in range(6)]
    assert page.rankings[3]["n"] == [0, 0]


def test_what_is_doubtful_stands_above_the_numbers() -> None:
    comparison = compare({"x": {"q": 0.5, "r": 0.25}, "y": {"q": 0.25, "r": 0.25}})
    report_page = report(comparison)
    grave = [note for note in report_page.notes if note.is_grave]
    assert {"few-queries"} <= {note.code for note in grave}
    (above,) = Page(report_page.html).root.find_all("div", "grave")
    assert [node.text for node in above.find_all("li")] == [str(note) for note in grave]
    assert report_page.html.index('class="grave"') < report_page.html.index('id="board"')


def test_doubts_of_other_measures_stand_beside_these(comparison: Comparison, page: Page) -> None:
    above, lower_box = (
        page.root.find_all("div", "grave")
        if len(page.root.find_all("div", "grave")) == 2
        else (
            None,
            *page.root.find_all("div", "grave"),
        )
    )
    first = comparison.aligned.measures[0]
    first_doubts = [note.text for note in comparison[first].notes if note.is_grave]
    assert (above is not None) == bool(first_doubts)
    assert lower_box in page.root.find_by_id("all").descendants
    for measure, measure_object in zip(
        comparison.aligned.measures, page.archive["measures"], strict=True
    ):
        assert measure_object["doubts"] == [
            note.text for note in comparison[measure].notes if note.is_grave
        ]
        assert all(
            doubt in lower_box.text for doubt in measure_object["doubts"] if measure != first
        )
    assert any(measure["doubts"] for measure in page.archive["measures"])


def test_no_interval_and_no_p_are_null() -> None:
    text = report(compare({"x": {"q": 0.5}, "y": {"q": 0.25}})).html
    assert "NaN" not in text.split("<script type")[1].split("</script>")[0]
    assert "Infinity" not in text.split("<script type")[1].split("</script>")[0]


# ---- sizes --------------------------------------------------------------------------------------


def random_scores(n_systems: int, n_queries: int, high: float = 1.0) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(7)
    values = rng.random((n_systems, n_queries)) * high
    ids = [f"q{i:05d}" for i in range(n_queries)]
    return {f"s{s}": dict(zip(ids, row.tolist(), strict=True)) for s, row in enumerate(values)}


def test_many_scores_are_rounded_to_four_decimals() -> None:
    comparison = compare(random_scores(10, 5_000), test="t")
    page = Page(report(comparison).html)
    check(comparison, page)
    assert page.archive["measures"][0]["unit"] == 10_000
    assert np.abs(page.scores(0) - comparison.aligned.scores[0].T).max() <= 0.5e-4 + 1e-12


@pytest.mark.parametrize(("high", "unit"), [(60.0, 1_000), (600.0, 100), (6_000.0, None)])
def test_many_scores_beyond_1(high: float, unit: int | None) -> None:
    comparison = compare(random_scores(10, 4_000, high), test="t")
    page = Page(report(comparison).html)
    check(comparison, page)
    assert page.archive["measures"][0]["unit"] == unit


def test_measures_that_do_not_fit_have_means_only() -> None:
    scores = {
        name: {f"m{i}": queries for i in range(8)}
        for name, queries in random_scores(20, 5_000).items()
    }
    page = Page(report(compare(scores, test="t", baseline="s0")).html)
    places = [measure["queries"] for measure in page.archive["measures"]]
    assert places[0] == 0
    assert places[-1] is None
    assert len(page.archive["board"]) == len(page.archive["measures"]) == 8
    assert len(page.html) < 3_000_000


def test_a_budget_leaves_out_the_queries_on_which_systems_differ_least(
    comparison: Comparison,
) -> None:
    page = Page(report(comparison, budget=12_000, worksheets=3).html)
    n = page.archive["lists"]["n"]
    assert 0 < n < 40
    assert page.archive["why"]
    spread = np.ptp(comparison.aligned.scores[0], axis=1)
    assert {*page.rankings} == {*np.argsort(-spread, kind="stable")[:n].tolist()}
    widest_queries = {*np.argsort(-spread, kind="stable")[:3].tolist()}
    assert {query for query, _ in page.worksheets} == widest_queries
    none = Page(report(comparison, budget=0, worksheets=0).html)
    assert none.archive["lists"] is None
    assert none.archive["sheets"] is None
    assert none.archive["why"]


# ---- Python, notebook, command ------------------------------------------------------------------


def test_a_notebook_shows_it_in_a_frame(report_page: Report) -> None:
    (frame,) = parse_page(report_page._repr_html_()).find_all("iframe")
    assert frame.attributes["srcdoc"] == report_page.html
    assert frame.attributes["sandbox"] == "allow-scripts"


@pytest.mark.parametrize(
    "options",
    [
        {"depth": 0},
        {"depth": 101},
        {"worksheets": -1},
        {"budget": "much"},
        {"title": 5},
        {"command": ["cranfield", "report"]},
    ],
)
def test_options_of_a_report_that_are_refused(
    comparison: Comparison, options: dict[str, Any]
) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        report(comparison, **options)


def test_what_is_no_comparison() -> None:
    with pytest.raises((InputError, OptionError)):
        report(5)


def test_a_file_is_written_whole_or_not_at_all(report_page: Report, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        report_page.save(tmp_path / "nowhere" / "page.html")
    assert not (tmp_path / "nowhere").exists()
    report_page.save(tmp_path / "page.html")
    assert Page((tmp_path / "page.html").read_text("utf-8")).archive["v"] == 1


def test_the_recipe_has_the_hashes_of_the_files(page: Page) -> None:
    recipe = page.root.find_by_id("recipe").text
    for path in (demo.QRELS, *demo.RUNS):
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() in recipe
    assert "randomization test" in recipe
    assert "seed 42" in recipe


def test_progress_is_heard() -> None:
    reported_counts: list[int] = []
    comparison = compare(demo.QRELS, list(demo.RUNS), "AP")
    report(comparison, progress=reported_counts.append, worksheets=2)
    assert sum(reported_counts) > 0


# ---- the command --------------------------------------------------------------------------------


def test_the_command_writes_the_page(demo_folder: Path, tmp_path: Path) -> None:
    files = [str(demo_folder / "demo" / name) for name in ("qrels.txt", "bm25.run", "dense.run")]
    topics, path = str(demo_folder / "demo" / "queries.tsv"), tmp_path / "page.html"
    arguments = [
        "report",
        *files,
        "-m",
        "AP",
        "--topics",
        topics,
        "--title",
        "A & B",
        "-o",
        str(path),
    ]
    outcome = invoke(*arguments)
    assert outcome.exit_code == 0, outcome.output
    page = Page(path.read_text("utf-8"))
    check(compare(files[0], files[1:], "AP"), page)
    assert page.archive["title"] == "A & B"
    assert page.archive["command"] == shlex.join(["cranfield", *arguments])
    assert page.archive["texts"][0] == demo.queries()["q01"]
    assert page.archive["explain"].startswith(f"cranfield explain {files[0]} {{run}} -m AP")
    assert page.archive["runs"] == files[1:]
    assert f"wrote {path}" in outcome.stderr
    stream_outcome = invoke(*arguments[:-1], "-")
    assert "wrote" not in stream_outcome.stderr
    assert stream_outcome.stdout.startswith("<!doctype html>")


def test_the_command_that_the_page_shows_prints_the_worksheet(
    demo_folder: Path, tmp_path: Path
) -> None:
    files = [str(demo_folder / "demo" / name) for name in ("qrels.txt", "bm25.run", "dense.run")]
    path = str(tmp_path / "page.html")
    assert invoke("report", *files, "-m", "AP", "--ties", "worst", "-o", path).exit_code == 0
    page = Page(Path(path).read_text("utf-8"))
    explain_text = (
        page.archive["explain"].replace("{run}", page.archive["runs"][1]).replace("{query}", "q02")
    )
    _, *explain_arguments = shlex.split(explain_text)
    query = page.archive["queries"].index("q02")
    assert invoke(*explain_arguments).stdout.rstrip("\n") == page.worksheets[query, 1].rstrip("\n")


def test_saved_scores_have_the_hashes_of_their_files(demo_folder: Path, tmp_path: Path) -> None:
    saved_files = []
    for name in ("bm25", "dense"):
        saved_files.append(str(tmp_path / f"{name}.json"))
        files = [str(demo_folder / "demo" / name) for name in ("qrels.txt", f"{name}.run")]
        assert invoke("evaluate", *files, "-m", "AP", "-q", "-o", saved_files[-1]).exit_code == 0
    assert (
        invoke("report", "--saved", *saved_files, "-o", str(tmp_path / "page.html")).exit_code == 0
    )
    page = Page((tmp_path / "page.html").read_text("utf-8"))
    check(compare(saved_files), page)
    for path in saved_files:
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        assert digest in page.root.find_by_id("recipe").text


def test_the_demonstration_has_a_page(tmp_path: Path) -> None:
    assert invoke("demo", "--report", str(tmp_path / "page.html")).exit_code == 0
    page = Page((tmp_path / "page.html").read_text("utf-8"))
    assert page.archive["systems"] == [Path(path).stem for path in demo.RUNS]
    assert any(any(rankings["t"]) for rankings in page.rankings.values())


@pytest.mark.parametrize("name", ["page.txt", "page", "qrels.txt"])
def test_other_names_of_files_are_refused(demo_folder: Path, name: str) -> None:
    files = [str(demo_folder / "demo" / name) for name in ("qrels.txt", "bm25.run")]
    assert invoke("report", *files, "-o", name).exit_code == 2
    refusal = invoke("demo", "--report", name)
    assert refusal.exit_code == 2
    assert f"--report {name}" in refusal.stderr


def test_an_input_is_never_written_over(demo_folder: Path, tmp_path: Path) -> None:
    runs = tmp_path / "run.html"
    runs.write_bytes((demo_folder / "demo" / "bm25.run").read_bytes())
    files = [str(demo_folder / "demo" / "qrels.txt"), str(runs)]
    assert invoke("report", *files, "-o", str(runs)).exit_code == 2
    assert runs.read_bytes() == (demo_folder / "demo" / "bm25.run").read_bytes()


def test_a_system_called_as_a_measure_keeps_its_name_in_notes() -> None:
    qrels: Any = {f"q{i}": {"a": 1} for i in range(12)}
    tied_run: Any = {query: {"a": 1.0, "b": 1.0} for query in qrels}
    other_run: Any = {query: {"b": 2.0, "a": 1.0} for query in qrels}
    html = report(compare(qrels, {"AP": tied_run, "other": other_run}, "map")).html
    assert "AP 24 documents" in html or "AP: 24 documents" in html
    assert "map: 24 documents" not in html
    assert "map is AP" in html
