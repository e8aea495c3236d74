"""The report's page, read back without a browser: every number in it, and texts that stay texts."""

import base64
import hashlib
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.page_parts import Page, parsed

from cranfield import Comparison, InputError, OptionError, compare, demo, evaluate, report
from cranfield.comparison.compare import every_pair
from cranfield.extensions.report.report import Report

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
def found() -> Comparison:
    return compare(demo.QRELS, list(demo.RUNS), MEASURES)


@pytest.fixture(scope="module")
def made(found: Comparison) -> Report:
    return report(found)


@pytest.fixture(scope="module")
def page(found: Comparison) -> Page:
    return Page(report(found, query_texts=QUERIES).html)


# ---- numbers ------------------------------------------------------------------------------------


def check_board(found: Comparison, page: Page) -> None:
    """Hold every number of the leaderboards against the comparison, bit for bit."""
    names = page.data["systems"]
    assert names == list(found.aligned.names)
    for measure, rows in zip(found.aligned.measures, page.data["board"], strict=True):
        result = found[measure]
        ordered = sorted(result.systems, key=lambda one: -one.mean if result.rising else one.mean)
        assert [names[row["s"]] for row in rows] == [one.name for one in ordered]
        for row, one in zip(rows, ordered, strict=True):
            assert (row["mean"], row["low"], row["high"]) == (one.mean, one.low, one.high)
            assert (row["judged"], row["little"]) == (one.judged, one.little_judged)
            pair = result.by_names.get((one.name, str(found.settings.baseline)))
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
            assert row["verdict"] == VERDICTS[pair.verdict]


def check_pairs(found: Comparison, page: Page) -> None:
    """Hold every pair of systems against a comparison of all pairs."""
    every = every_pair(found)
    names = page.data["systems"]
    for m, measure in enumerate(found.aligned.measures):
        result = every[measure]
        rows = page.data["pairs"][m]
        assert len(rows) == len(result.pairs)
        told = set()
        for a, b, difference, low, high, p, verdict, wins, ties, losses, *probable in rows:
            assert a < b
            pair = result.by_names[names[a], names[b]]
            ratio = pair.scale == "ratio"
            assert difference == (pair.ratio if ratio else pair.difference)
            assert (low, high) == (
                (pair.ratio_low, pair.ratio_high) if ratio else (pair.low, pair.high)
            )
            assert (p, verdict) == (pair.p_adjusted, VERDICTS[pair.verdict])
            assert (wins, ties, losses) == (pair.wins, pair.ties, pair.losses)
            chances = (pair.probability_better, pair.probability_same, pair.probability_worse)
            assert probable == [one for one in chances if one is not None]
            told |= {(a, b), (b, a)} if verdict else set()
        first, *others = (row["s"] for row in page.data["board"][m])
        assert page.data["alike"][m] == [s for s in others if (first, s) not in told]


def check_scores(found: Comparison, page: Page) -> None:
    """Hold the scores of every query against those that were compared."""
    page.whole()
    assert page.data["queries"] == list(found.aligned.query_ids)
    for m, one in enumerate(page.data["measures"]):
        if one["queries"] is not None:
            steps = one["unit"]
            own = found.aligned.values[m].T
            shown = page.scores(m)
            if steps is None:
                assert np.array_equal(shown, own)
            else:
                assert np.array_equal(shown, np.rint(own * steps) / steps)


def check(found: Comparison, page: Page) -> None:
    check_board(found, page)
    check_pairs(found, page)
    check_scores(found, page)
    check_tables(found, page)


def check_tables(found: Comparison, page: Page) -> None:
    """Hold the cells of the tables against the comparison: each has its double, too."""
    measure = found.aligned.measures[0]
    by_name = {one.name: one for one in found[measure].systems}
    names = page.data["systems"]
    rows = page.root.by_id("board").all("tr")[1:]
    assert [int(row.attributes["data-s"] or "") for row in rows] == [
        row["s"] for row in page.data["board"][0]
    ]
    for row in rows:
        name = names[int(row.attributes["data-s"] or "")]
        (cell,) = row.all("td", "v")
        assert float(cell.attributes["data-v"] or "") == by_name[name].mean
        assert abs(float(cell.text.replace("\N{MINUS SIGN}", "-")) - by_name[name].mean) <= 5.1e-5
    means = page.root.by_id("means").all("tr")[1:]
    for row in means:
        name = names[int(row.attributes["data-s"] or "")]
        shown = [float(cell.attributes["data-v"] or "") for cell in row.all("td")]
        own = [found[one] for one in found.aligned.measures]
        assert shown == [
            next(system.mean for system in result.systems if system.name == name) for result in own
        ]


def test_every_number_is_that_of_the_comparison(found: Comparison, page: Page) -> None:
    check(found, page)
    assert page.data["v"] == 1
    assert page.data["baseline"] == 0
    assert [one["name"] for one in page.data["measures"]] == list(found.aligned.measures)
    assert [one["scale"] for one in page.data["measures"]] == ["difference"] * 3 + ["ratio"]


def test_scores_are_those_of_evaluate(page: Page) -> None:
    systems = evaluate(demo.QRELS, demo.RUNS, MEASURES)
    for m, one in enumerate(page.data["measures"][:3]):
        for name, scores in zip(page.data["systems"], page.scores(m), strict=True):
            own = systems[name].per_query(one["name"])
            assert dict(zip(page.data["queries"], scores.tolist(), strict=True)) == own


def test_best_and_second_are_marked(found: Comparison, page: Page) -> None:
    for row in page.root.by_id("means").all("tr")[1:]:
        name = page.data["systems"][int(row.attributes["data-s"] or "")]
        for cell, measure in zip(row.all("td"), found.aligned.measures, strict=True):
            means = sorted({one.mean for one in found[measure].systems}, reverse=True)
            mean = next(one.mean for one in found[measure].systems if one.name == name)
            assert ("best" in cell.classes) == (mean == means[0])
            assert ("second" in cell.classes) == (mean == means[1])


def test_wins_and_intervals_are_written_where_they_are_read(found: Comparison, page: Page) -> None:
    for row in page.root.by_id("board").all("tr")[1:]:
        name = page.data["systems"][int(row.attributes["data-s"] or "")]
        pair = found[found.aligned.measures[0]].by_names.get((name, "bm25"))
        (cell,) = row.all("td", "wtl")
        assert cell.text == ("" if pair is None else f"{pair.wins} / {pair.ties} / {pair.losses}")


def test_measures_by_cutoff_and_precision_by_recall(found: Comparison, page: Page) -> None:
    cutoffs = page.data["cutoffs"]
    assert cutoffs["measure"] == "nDCG"
    again = compare(demo.QRELS, list(demo.RUNS), [f"nDCG@{k}" for k in cutoffs["at"]])
    for i, k in enumerate(cutoffs["at"]):
        for s, one in enumerate(again[f"nDCG@{k}"].systems):
            shown = [cutoffs[name][s][i] for name in ("mean", "low", "high")]
            assert shown == [one.mean, one.low, one.high]
    recall = page.data["recall"]
    assert recall["at"] == [i / 10 for i in range(11)]
    again = compare(demo.QRELS, list(demo.RUNS), [f"IPrec@{level}" for level in recall["at"]])
    for i, measure in enumerate(again.aligned.measures):
        for s, one in enumerate(again[measure].systems):
            shown = [recall[name][s][i] for name in ("mean", "low", "high")]
            assert shown == [one.mean, one.low, one.high]


def test_judged_by_rank_is_a_count(page: Page) -> None:
    judged: dict[str, set[str]] = {}
    for line in demo.QRELS.read_text("utf-8").splitlines():
        query, _, doc, _ = line.split()
        judged.setdefault(query, set()).add(doc)
    for name, shares in zip(page.data["systems"], page.data["judged"]["share"], strict=True):
        ranked: dict[str, list[str]] = {}
        for line in (demo.HERE / f"{name}.run").read_text("utf-8").splitlines():
            query, _, doc, *_ = line.split()
            ranked.setdefault(query, []).append(doc)
        # The runs have no ties but those that are in the file's order already: but one, fusion.
        if name == "fusion":
            continue
        for rank, share in zip(page.data["judged"]["at"], shares, strict=True):
            there = [query for query in judged if len(ranked.get(query, ())) >= rank]
            n = sum(ranked[query][rank - 1] in judged[query] for query in there)
            assert share == n / len(there)


def test_rankings_and_worksheets(found: Comparison, page: Page) -> None:
    assert page.data["lists"] == {"n": 40, "of": 40}
    assert [*page.lists] != []
    assert {*page.lists} == {*range(40)}
    leader = page.data["board"][0][0]["s"]
    assert page.data["sheets"] == {"systems": [leader, 0], "n": 40}
    assert {*page.sheets} == {(query, system) for query in range(40) for system in (leader, 0)}
    for (query, system), text in page.sheets.items():
        score = page.scores(0)[system][query].item()
        assert f"= {score!r}" in text
        assert page.data["queries"][query] in text


def test_questions_and_relevant_documents(page: Page) -> None:
    questions = dict(line.split("\t") for line in QUERIES.read_text("utf-8").splitlines())
    assert page.data["texts"] == [questions[query] for query in page.data["queries"]]
    relevant = dict.fromkeys(page.data["queries"], 0)
    for line in demo.QRELS.read_text("utf-8").splitlines():
        query, _, _, grade = line.split()
        relevant[query] += int(grade) > 0
    assert relevant_to(page, 0) == [relevant[query] for query in page.data["queries"]]
    assert page.data["grades"] == {"least": 0, "top": 3}


def relevant_to(page: Page, measure: int) -> list[int]:
    """Return how many documents of each query are relevant to a measure."""
    found: list[int] = page.data["n_relevant"][page.data["measures"][measure]["relevant"]]
    return found


def test_documents_are_relevant_from_the_grade_that_the_measure_states() -> None:
    page = Page(
        report(compare(demo.QRELS, list(demo.RUNS), "AP(rel=2) P(rel=2)@10 RR"), worksheets=2).html
    )
    judgments = [line.split() for line in demo.QRELS.read_text("utf-8").splitlines()]
    for measure, level in enumerate((2, 2, 1)):
        assert page.data["measures"][measure]["from"] == level
        assert relevant_to(page, measure) == [
            sum(query == own and int(grade) >= level for own, _, _, grade in judgments)
            for query in page.data["queries"]
        ]
    assert len(page.data["n_relevant"]) == 2
    assert page.data["cutoffs"]["measure"] == "AP(rel=2)"


def test_probabilities_have_columns() -> None:
    found = compare(demo.QRELS, list(demo.RUNS), "nDCG@10 AP", test="bayes", rope=0.02)
    page = Page(report(found, worksheets=2).html)
    check(found, page)
    heads = [one.attributes.get("data-key") for one in page.root.by_id("board").all("th")]
    assert "p_adjusted" not in heads
    at = heads.index("better")
    assert heads[at + 1] == "same"
    rows = page.root.by_id("board").all("tr")[1:]
    for row, one in zip(rows, found["nDCG@10"].ordered, strict=True):
        better, same = [part for part in row.children if not isinstance(part, str)][at : at + 2]
        if one.name == "bm25":
            assert better.text == same.text == ""
            continue
        pair = found["nDCG@10"][one.name]
        assert better.text == f"{pair.probability_better:.2f}"
        assert same.text == f"{pair.probability_same:.2f}"


def test_the_same_bytes_twice(found: Comparison, made: Report) -> None:
    assert report(found).html == made.html


# ---- the page -----------------------------------------------------------------------------------


def test_the_policy_lets_only_the_pages_own_script_and_style(page: Page) -> None:
    (policy,) = (
        one.attributes["content"] or ""
        for one in page.root.all("meta")
        if one.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    scripts = re.findall(r"<script>(.*?)</script>", page.html, re.S)
    styles = re.findall(r"<style>(.*?)</style>", page.html, re.S)

    def hashes(texts: list[str]) -> str:
        digests = (hashlib.sha256(one.encode()).digest() for one in texts)
        return " ".join(f"'sha256-{base64.b64encode(one).decode()}'" for one in digests)

    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == hashes(scripts)
    assert rules["style-src"] == hashes(styles)
    assert rules["require-trusted-types-for"] == "'script'"
    assert rules["trusted-types"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "connect-src" not in rules  # default-src has it: nothing is sent


def test_no_attribute_runs_or_loads_anything(page: Page) -> None:
    for one in page.root.inside:
        for name, value in one.attributes.items():
            assert not name.startswith("on")
            assert name not in ("style", "src", "srcset", "action")
            if name == "href":
                assert value == "data:," or (value or "").startswith("#")


def test_every_place_of_the_frame_is_filled_once(page: Page) -> None:
    assert not re.search(r"\{\{[A-Z_]+\}\}", page.html)


def test_each_section_that_is_linked_is_there(page: Page) -> None:
    ids = {one.attributes.get("id") for one in page.root.inside}
    links = [one.attributes.get("href") or "" for one in page.root.all("a")]
    assert {link[1:] for link in links} <= ids


def test_hostile_names_stay_text() -> None:
    """In ids of queries and documents, names of systems, title, command, questions and texts."""
    ids = [f"{name}{i}" for i, name in enumerate(HOSTILE)]
    judgments = {query: {doc: 1 + n % 3 for n, doc in enumerate(ids)} for query in ids}
    runs = {name: dict.fromkeys(ids, ids[n:] + ids[:n]) for n, name in enumerate(ids) if n < 4}
    found = compare(judgments, runs, "nDCG@3")
    texts = dict(zip(ids, (*NO_IDS, *HOSTILE), strict=False))
    title, command = ids[0] + NO_IDS[0], ids[1] + NO_IDS[1]
    made = report(found, title=title, command=command, query_texts=texts, doc_texts=texts)
    page = Page(made.html)
    check(found, page)
    assert page.data["title"] == title
    assert page.data["command"] == command
    assert page.data["queries"] == list(found.aligned.query_ids)
    assert {doc for one in page.lists.values() for doc in one["d"]} == {*ids}
    plain = Page(report(compare({"a": {"q": 1.0}, "b": {"q": 0.5}}), title="t").html)
    there = {(one.tag, *sorted(one.attributes)) for one in plain.root.inside}
    for one in page.root.inside:
        assert not any(name.startswith("on") for name in one.attributes)
        assert one.tag not in ("img", "iframe", "object", "base")
    assert len(page.root.all("script")) == len(plain.root.all("script"))
    assert ("script",) in there
    assert parsed(made.html).all("title")[0].text.startswith("<script>alert(1)</script>0")
    made.html.encode()


def test_names_are_cut_in_tables_and_whole_in_the_data() -> None:
    long = "z" * 10_000
    page = Page(report(compare({long: {"q": 1.0, "r": 0.5}, "b": {"q": 0.5, "r": 0.5}})).html)
    assert page.data["systems"][0] == long
    rows = page.root.by_id("board").all("tr")[1:]
    assert max(len(row.text) for row in rows) < 1_000


def test_ids_that_are_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_bytes(b"q\xff 0 d\xfe 1\nq2 0 d 1\n")
    (tmp_path / "a.run").write_bytes(b"q\xff Q0 d\xfe 1 2.0 t\nq2 Q0 d 1 1.0 t\n")
    found = compare(tmp_path / "qrels.txt", [tmp_path / "a.run"], "AP")
    page = Page(report(found).html)
    assert page.data["queries"] == list(found.aligned.query_ids)
    report(found).save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == report(found).html.encode()


# ---- odd inputs ---------------------------------------------------------------------------------


def test_one_run() -> None:
    found = compare(demo.QRELS, [demo.RUNS[0]], "nDCG@10")
    page = Page(report(found).html)
    check(found, page)
    assert page.data["baseline"] is None
    assert page.data["pairs"] == [[]]
    assert page.data["alike"] == [[]]
    assert page.data["tests"] == {"baseline": None, "pairs": None}
    assert page.data["sheets"] == {"systems": [0], "n": 40}
    assert not page.root.by_id("board").all("input")
    assert page.root.all("h1")[0].text.startswith("bm25: nDCG@10 ")


def test_saved_scores_have_no_rankings_and_the_page_says_so(found: Comparison) -> None:
    systems = evaluate(demo.QRELS, demo.RUNS, "nDCG@10 AP")
    page = Page(report(systems).html)
    check(compare(systems), page)
    for name in ("lists", "sheets", "explain", "runs", "cutoffs", "recall", "judged", "grades"):
        assert page.data[name] is None
    assert page.data["why"]
    assert page.lists == {}
    assert page.sheets == {}


def test_scores_of_one_run() -> None:
    page = Page(report(evaluate(demo.QRELS, demo.RUNS[0], "AP")).html)
    assert page.data["systems"] == ["bm25"]


def test_all_pairs_have_no_baseline() -> None:
    found = compare(demo.QRELS, list(demo.RUNS), "nDCG@10", all_pairs=True)
    page = Page(report(found).html)
    check(found, page)
    assert page.data["baseline"] is None
    assert page.data["tests"]["baseline"] is None
    assert len(page.data["sheets"]["systems"]) == 2
    cells = [row.all("td", "letters")[0].text for row in page.root.by_id("board").all("tr")[1:]]
    letters = dict(zip(found.aligned.names, found["nDCG@10"].letters or (), strict=True))
    assert cells == [letters[page.data["systems"][row["s"]]] for row in page.data["board"][0]]


def test_families_of_p_are_named(page: Page) -> None:
    tests = page.data["tests"]
    assert "3 comparisons with the baseline" in tests["baseline"]
    assert "all 6 pairs" in tests["pairs"]
    note = page.root.by_id("which").text
    assert tests["baseline"] in note


@pytest.mark.parametrize("measure", ["nDCG@10", "GMAP"])
def test_slices(measure: str) -> None:
    queries = dict(line.split("\t") for line in QUERIES.read_text("utf-8").splitlines())
    labels = {"type": {query: "ab"[i % 2] for i, query in enumerate(queries)}}
    found = compare(demo.QRELS, list(demo.RUNS), f"{measure} AP", slices=labels)
    page = Page(report(found, worksheets=2).html)
    check(found, page)
    assert [(one["label"], one["slice"]) for one in page.data["slices"]] == [
        ("type", "a"),
        ("type", "b"),
    ]
    for one in page.data["slices"]:
        result = found.slice(measure, one["slice"])
        assert one["queries"] == len(result.query_ids)
        for row, system in zip(one["rows"], result.systems, strict=True):
            assert page.data["systems"][row["s"]] == system.name
            assert (row["mean"], row["low"], row["high"]) == (system.mean, system.low, system.high)
            pair = result.by_names.get((system.name, "bm25"))
            by_ratio = measure == "GMAP"
            of_pair = (
                ("ratio", "ratio_low", "ratio_high") if by_ratio else ("difference", "low", "high")
            )
            assert [row[name] for name in ("diff", "diff_low", "diff_high")] == [
                None if pair is None else getattr(pair, name) for name in of_pair
            ]
            assert row["verdict"] == (None if pair is None else VERDICTS[pair.verdict])


def test_one_query() -> None:
    found = compare({"q": {"a": 1}}, {"x": {"q": ["a"]}, "y": {"q": ["b", "a"]}}, "RR AP")
    page = Page(report(found).html)
    check(found, page)
    assert page.data["board"][0][0]["low"] is None


def test_equal_scores_have_no_best() -> None:
    found = compare({"x": {"q": 0.5, "r": 0.25}, "y": {"q": 0.5, "r": 0.25}})
    page = Page(report(found).html)
    check(found, page)
    assert page.root.all("h1")[0].text == "Both systems have the same score, 0.375."
    assert not page.root.by_id("means").all("td", "best")


def test_two_systems_share_the_first_place() -> None:
    half = {"x": {"q": 1.0, "r": 0}, "y": {"q": 0, "r": 1.0}, "z": {"q": 0.25, "r": 0.25}}
    page = Page(report(compare(half, baseline="z")).html)
    assert page.root.all("h1")[0].text.startswith("x and y score highest: score 0.500")


def test_less_is_better() -> None:
    judgments = {f"q{i}": {"a": 1, "b": 1} for i in range(12)}
    runs = {"far": {q: ["x", "a"] for q in judgments}, "near": {q: ["a"] for q in judgments}}
    found = compare(judgments, runs, "Unjudged@2")
    page = Page(report(found).html)
    check(found, page)
    assert page.data["measures"][0]["rising"] is False
    assert page.data["systems"][page.data["board"][0][0]["s"]] == "near"
    assert "less is better" in page.root.by_id("which").text
    assert page.root.all("h1")[0].text.startswith("near scores lowest")


def test_geometric_means_are_compared_by_ratios(found: Comparison) -> None:
    alone = compare(demo.QRELS, list(demo.RUNS), "GMAP")
    page = Page(report(alone, worksheets=2).html)
    check(alone, page)
    pair = alone["GMAP"]["dense"]
    assert pair.ratio is not None
    assert (
        f"\N{MULTIPLICATION SIGN}{pair.ratio:.3f} against the baseline"
        in page.root.all("h1")[0].text
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
    found = compare(judgments, runs, "nDCG@3")
    page = Page(report(found).html)
    check(found, page)
    assert page.data["grades"] == {"least": min(grades), "top": max(*grades, 0)}
    n = sum(grade > 0 for grade in judgments["q0"].values())
    assert relevant_to(page, 0)[page.data["queries"].index("q0")] == n
    shown = page.lists[0]
    own = judgments[page.data["queries"][0]]
    assert [own.get(doc) for doc in shown["d"]] == shown["g"]


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
    found = compare(judgments, runs, "alpha_nDCG@3")
    page = Page(report(found).html)
    check(found, page)
    assert page.data["judged"] is None
    assert page.data["n_relevant"] is None
    assert page.data["said"]["lists"]
    codes = {one.code for one in report(found).notes}
    assert {"no-judged-by-rank", "no-recall", "best-of-groups"} <= codes


def test_runs_of_other_queries() -> None:
    judgments = {f"q{i}": {"a": 1} for i in range(6)}
    runs = {
        "x": {"q0": ["a"], "q1": ["b", "a"], "other": ["a"]},
        "y": {"q4": ["a"], "q5": ["a"], "another": ["c"]},
    }
    found = compare(judgments, runs, "AP nDCG@2")
    page = Page(report(found).html)
    check(found, page)
    assert page.data["queries"] == [f"q{i}" for i in range(6)]
    assert page.lists[3]["n"] == [0, 0]


def test_what_is_doubtful_stands_above_the_numbers() -> None:
    found = compare({"x": {"q": 0.5, "r": 0.25}, "y": {"q": 0.25, "r": 0.25}})
    made = report(found)
    grave = [one for one in made.notes if one.is_grave]
    assert {"few-queries"} <= {one.code for one in grave}
    (above,) = Page(made.html).root.all("div", "grave")
    assert [one.text for one in above.all("li")] == [str(one) for one in grave]
    assert made.html.index('class="grave"') < made.html.index('id="board"')


def test_doubts_of_other_measures_stand_beside_these(found: Comparison, page: Page) -> None:
    above, beside = (
        page.root.all("div", "grave")
        if len(page.root.all("div", "grave")) == 2
        else (
            None,
            *page.root.all("div", "grave"),
        )
    )
    first = found.aligned.measures[0]
    own = [one.text for one in found[first].notes if one.is_grave]
    assert (above is not None) == bool(own)
    assert beside in page.root.by_id("all").inside
    for measure, one in zip(found.aligned.measures, page.data["measures"], strict=True):
        assert one["doubts"] == [note.text for note in found[measure].notes if note.is_grave]
        assert all(doubt in beside.text for doubt in one["doubts"] if measure != first)
    assert any(one["doubts"] for one in page.data["measures"])


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
    found = compare(random_scores(10, 5_000), test="t")
    page = Page(report(found).html)
    check(found, page)
    assert page.data["measures"][0]["unit"] == 10_000
    assert np.abs(page.scores(0) - found.aligned.values[0].T).max() <= 0.5e-4 + 1e-12


@pytest.mark.parametrize(("high", "unit"), [(60.0, 1_000), (600.0, 100), (6_000.0, None)])
def test_many_scores_beyond_1(high: float, unit: int | None) -> None:
    found = compare(random_scores(10, 4_000, high), test="t")
    page = Page(report(found).html)
    check(found, page)
    assert page.data["measures"][0]["unit"] == unit


def test_measures_that_do_not_fit_have_means_only() -> None:
    scores = {
        name: {f"m{i}": queries for i in range(8)}
        for name, queries in random_scores(20, 5_000).items()
    }
    page = Page(report(compare(scores, test="t", baseline="s0")).html)
    places = [one["queries"] for one in page.data["measures"]]
    assert places[0] == 0
    assert places[-1] is None
    assert len(page.data["board"]) == len(page.data["measures"]) == 8
    assert len(page.html) < 3_000_000


def test_a_budget_leaves_out_the_queries_on_which_systems_differ_least(found: Comparison) -> None:
    page = Page(report(found, budget=12_000, worksheets=3).html)
    n = page.data["lists"]["n"]
    assert 0 < n < 40
    assert page.data["why"]
    spread = np.ptp(found.aligned.values[0], axis=1)
    assert {*page.lists} == {*np.argsort(-spread, kind="stable")[:n].tolist()}
    most = {*np.argsort(-spread, kind="stable")[:3].tolist()}
    assert {query for query, _ in page.sheets} == most
    none = Page(report(found, budget=0, worksheets=0).html)
    assert none.data["lists"] is None
    assert none.data["sheets"] is None
    assert none.data["why"]


# ---- Python, notebook, command ------------------------------------------------------------------


def test_a_notebook_shows_it_in_a_frame(made: Report) -> None:
    (frame,) = parsed(made._repr_html_()).all("iframe")
    assert frame.attributes["srcdoc"] == made.html
    assert frame.attributes["sandbox"] == "allow-scripts"


@pytest.mark.parametrize(
    "options", [{"depth": 0}, {"depth": 101}, {"worksheets": -1}, {"budget": "much"}]
)
def test_numbers_out_of_range(found: Comparison, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        report(found, **options)


def test_what_is_no_comparison() -> None:
    with pytest.raises((InputError, OptionError)):
        report(5)


def test_a_file_is_written_whole_or_not_at_all(made: Report, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        made.save(tmp_path / "nowhere" / "page.html")
    assert not (tmp_path / "nowhere").exists()
    made.save(tmp_path / "page.html")
    assert Page((tmp_path / "page.html").read_text("utf-8")).data["v"] == 1


def test_the_recipe_has_the_hashes_of_the_files(page: Page) -> None:
    recipe = page.root.by_id("recipe").text
    for path in (demo.QRELS, *demo.RUNS):
        assert hashlib.sha256(Path(path).read_bytes()).hexdigest() in recipe
    assert "randomization test" in recipe
    assert "seed 42" in recipe


def test_progress_is_heard() -> None:
    heard: list[int] = []
    found = compare(demo.QRELS, list(demo.RUNS), "AP")
    report(found, progress=heard.append, worksheets=2)
    assert sum(heard) > 0


# ---- the command --------------------------------------------------------------------------------


def test_the_command_writes_the_page(demo_folder: Path, tmp_path: Path) -> None:
    files = [str(demo_folder / "demo" / name) for name in ("qrels.txt", "bm25.run", "dense.run")]
    topics, path = str(demo_folder / "demo" / "queries.tsv"), tmp_path / "page.html"
    typed = ["report", *files, "-m", "AP", "--topics", topics, "--title", "A & B", "-o", str(path)]
    found = invoke(*typed)
    assert found.exit_code == 0, found.output
    page = Page(path.read_text("utf-8"))
    check(compare(files[0], files[1:], "AP"), page)
    assert page.data["title"] == "A & B"
    assert page.data["command"] == shlex.join(["cranfield", *typed])
    assert page.data["texts"][0] == demo.queries()["q01"]
    assert page.data["explain"].startswith(f"cranfield explain {files[0]} {{run}} -m AP")
    assert page.data["runs"] == files[1:]
    assert f"wrote {path}" in found.stderr
    streamed = invoke(*typed[:-1], "-")
    assert "wrote" not in streamed.stderr
    assert streamed.stdout.startswith("<!doctype html>")


def test_the_command_that_the_page_shows_prints_the_worksheet(
    demo_folder: Path, tmp_path: Path
) -> None:
    files = [str(demo_folder / "demo" / name) for name in ("qrels.txt", "bm25.run", "dense.run")]
    path = str(tmp_path / "page.html")
    assert invoke("report", *files, "-m", "AP", "--ties", "worst", "-o", path).exit_code == 0
    page = Page(Path(path).read_text("utf-8"))
    shown = page.data["explain"].replace("{run}", page.data["runs"][1]).replace("{query}", "q02")
    _, *typed = shlex.split(shown)
    query = page.data["queries"].index("q02")
    assert invoke(*typed).stdout.rstrip("\n") == page.sheets[query, 1].rstrip("\n")


def test_saved_scores_have_the_hashes_of_their_files(demo_folder: Path, tmp_path: Path) -> None:
    saved = []
    for name in ("bm25", "dense"):
        saved.append(str(tmp_path / f"{name}.json"))
        files = [str(demo_folder / "demo" / one) for one in ("qrels.txt", f"{name}.run")]
        assert invoke("evaluate", *files, "-m", "AP", "-q", "-o", saved[-1]).exit_code == 0
    assert invoke("report", "--saved", *saved, "-o", str(tmp_path / "page.html")).exit_code == 0
    page = Page((tmp_path / "page.html").read_text("utf-8"))
    check(compare(saved), page)
    for path in saved:
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        assert digest in page.root.by_id("recipe").text


def test_the_demonstration_has_a_page(tmp_path: Path) -> None:
    assert invoke("demo", "--report", str(tmp_path / "page.html")).exit_code == 0
    page = Page((tmp_path / "page.html").read_text("utf-8"))
    assert page.data["systems"] == [Path(one).stem for one in demo.RUNS]
    assert any(any(one["t"]) for one in page.lists.values())


@pytest.mark.parametrize("name", ["page.txt", "page", "qrels.txt"])
def test_other_names_of_files_are_refused(demo_folder: Path, name: str) -> None:
    files = [str(demo_folder / "demo" / one) for one in ("qrels.txt", "bm25.run")]
    assert invoke("report", *files, "-o", name).exit_code == 2
    refused = invoke("demo", "--report", name)
    assert refused.exit_code == 2
    assert f"--report {name}" in refused.stderr


def test_an_input_is_never_written_over(demo_folder: Path, tmp_path: Path) -> None:
    runs = tmp_path / "run.html"
    runs.write_bytes((demo_folder / "demo" / "bm25.run").read_bytes())
    files = [str(demo_folder / "demo" / "qrels.txt"), str(runs)]
    assert invoke("report", *files, "-o", str(runs)).exit_code == 2
    assert runs.read_bytes() == (demo_folder / "demo" / "bm25.run").read_bytes()
