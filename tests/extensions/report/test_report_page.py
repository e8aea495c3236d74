"""The report in a browser: what it draws are the numbers of the comparison."""

from dataclasses import replace
from math import floor
from pathlib import Path
from typing import Any

import pytest
from helpers.browser import Browser, Page
from helpers.judged_runs import cannot_be_placed
from helpers.pages import Pages, ReportFile, check_quiet

from cranfield import Comparison, Explanation, demo, explain, figures
from cranfield.comparison.compare import compare_all_pairs, compare_scores

pytestmark = pytest.mark.more

# The values at marks of a chart, from the labels of its axes: a line of an axis, and its label
# after it. `along` is "x" or "y".
READ = """
globalThis.inverse = (svg, along) => {
  const [one, other] = along === "x" ? ["x1", "x2"] : ["y1", "y2"];
  const known = [];
  for (const line of svg.querySelectorAll("line.axis")) {
    if (line.getAttribute(one) !== line.getAttribute(other)) continue;
    const text = line.nextElementSibling.textContent.replace("\\u2212", "-");
    known.push([Number(line.getAttribute(one)), Number(text)]);
  }
  const [from, to] = [known[0], known[known.length - 1]];
  const slope = (to[1] - from[1]) / (to[0] - from[0]);
  return (px) => from[1] + (Number(px) - from[0]) * slope;
};
globalThis.marks = (selector, along, attribute, key) => {
  const svg = document.querySelector(selector).closest("svg");
  const value = inverse(svg, along);
  return [...document.querySelectorAll(selector)].map((mark) =>
    [Number(mark.dataset[key]), value(mark.getAttribute(attribute))]);
};
"""


SECTIONS = {"which", "where", "query", "depth", "pairs", "steady", "amount", "parts", "holes"} | {
    *("all", "recipe")
}
LACKING = {
    "demonstration": set(),
    "saved": {"depth", "amount", "parts", "holes"},
    "one run": {"where", "pairs", "parts"},
    "geometric": set(),
    "one query": {"pairs", "parts"},
}


@pytest.mark.parametrize("kind", LACKING)
def test_sections_are_there_that_have_something_to_show(
    browser: Browser, pages: Pages, kind: str
) -> None:
    with browser.open(pages(kind).path) as page:
        assert set(page.read_all("main > section[id]", "it.id")) == SECTIONS - LACKING[kind]
        links = page.read_all("#nav a", "it.hash.slice(1)")
        assert set(links) <= set(page.read_all("section[id]", "it.id"))


def test_the_real_collection(browser: Browser, pages: Pages, data: Path) -> None:
    report_file = pages("deep learning", data)
    with browser.open(report_file.path) as page:
        check_quiet(page)
        _differences_are(
            page, report_file, report_file.comparison.results[0].ranked_systems[0].name, "bm25"
        )
        assert len(page.read_all("#matrix rect.cell")) == 2 * sum(
            point["verdict"] is not None
            for point in figures.pair_matrix(report_file.comparison).points
        )
        _board_is(page, report_file)


@pytest.mark.parametrize(
    "kind",
    [
        *("demonstration", "saved", "geometric", "odd grades", "one run", "all pairs"),
        *("several baselines", "probabilities"),
    ],
)
def test_the_cells_of_the_leaderboard_under_every_measure(
    browser: Browser, pages: Pages, kind: str
) -> None:
    report_file = pages(kind)
    with browser.open(report_file.path) as page:
        _board_is(page, report_file)


def _board_is(page: Page, report_file: ReportFile) -> None:
    for measure in dict.fromkeys(result.measure for result in report_file.comparison.results):
        page.choose_option("#pick-measure", measure)
        measure_result = report_file.comparison[measure]
        rows = page.read_all(
            "#board tbody tr",
            "[...it.cells].map((cell) => cell.dataset.v == null ? null : Number(cell.dataset.v))",
        )
        names = page.read_all("#board tbody th bdi")
        heads = page.read_all("#board thead th", "it.dataset.key ?? ''")
        texts = page.read_all(
            "#board tbody tr", "[...it.cells].map((cell) => cell.innerText.trim())"
        )
        assert names == [system.name for system in measure_result.ranked_systems]
        points = figures.leaderboard(report_file.comparison, measure).points
        all_pairs = compare_all_pairs(report_file.comparison)[measure]
        has_unplaced = any(cannot_be_placed(all_pairs, pair) for pair in all_pairs.pairs)
        for i, point in enumerate(points):
            cell = dict(zip(heads, rows[i], strict=True))
            text = dict(zip(heads, texts[i], strict=True))
            assert cell["mean"] == point["mean"]
            assert text["mean"] == f"{point['mean']:.4f}"
            assert text["rank"] == str(i + 1)
            if point["low"] is not None:
                low, high = (f"{point[end]:.3f}".replace("-", "\u2212") for end in ("low", "high"))
                assert (
                    text["low"].split() == [low, "\u2013", high]
                    or text["low"] == f"{low}\u2013{high}"
                )
            if "diff" in cell and point["difference"] is not None:
                change = point["difference"] if point["ratio"] is None else point["ratio"]
                assert cell["diff"] == change
                mark = {"better": "▲", "worse": "▼", None: "○"}[point["verdict"]]
                baseline = str(report_file.comparison.settings.first_baseline)
                pair = measure_result[point["system"], baseline]
                is_unplaced = cannot_be_placed(measure_result, pair)
                assert text["diff"].endswith("?" if is_unplaced else mark)
                assert text["wins"].endswith(
                    f"{point['wins']} / {point['ties']} / {point['losses']}"
                )
            if "p_adjusted" in cell and point["p_adjusted"] is not None:
                assert cell["p_adjusted"] == point["p_adjusted"]
            if "better" in cell and point["difference"] is not None:
                assert cell["better"] == point["probability_better"]
                assert text["same"] == f"{point['probability_same']:.2f}"
            if "judged" in cell:
                percents = floor(100 * point["judged"] + 1 / 2)
                assert text["judged"] == f"{min(percents, 99 if point['judged'] < 1 else 100)}%"
            if "letters" in cell:
                letters = dict(
                    zip(
                        report_file.comparison.aligned.system_names,
                        measure_result.letters or (),
                        strict=True,
                    )
                )
                assert text["letters"] == letters[point["system"]]
            if "ranks" in cell:
                ranks = {} if has_unplaced else all_pairs.ranks or {}
                assert text["ranks"] == str(ranks.get(point["system"], "")).strip()
            if "vs0" in cell and (point["system"], "dense") in measure_result.pair_of_names:
                pair = measure_result[point["system"], "dense"]
                assert cell["vs0"] == pair.difference
                marks = {"better": "\u25b2", "worse": "\u25bc", None: "\u25cb"}
                is_unplaced = cannot_be_placed(measure_result, pair)
                assert text["vs0"].endswith("?" if is_unplaced else marks[pair.verdict])
        assert measure in page.read_first("#means-said")


def test_the_intervals_are_where_the_axis_says(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    points = figures.leaderboard(report_file.comparison).points
    with browser.open(report_file.path) as page:
        ticks = page.read_all(
            "#board th.plot text", "[parseFloat(it.getAttribute('x')), it.textContent]"
        )
        (x0, v0), (x1, v1) = ticks[0], ticks[-1]
        slope = (float(v1) - float(v0)) / (x1 - x0)
        value = [
            [float(v0) + (x - x0) * slope for x in page_value]
            for page_value in page.read_all(
                "#board tbody td.plot svg",
                "((box, dot) => [dot.getAttribute('cx'), box.getAttribute('x'),"
                " parseFloat(box.getAttribute('x')) + parseFloat(box.getAttribute('width'))]"
                ".map(parseFloat))(it.querySelector('.ci'), it.querySelector('.dot'))",
            )
        ]
    for page_value, point in zip(value, points, strict=True):
        assert page_value == pytest.approx([point["mean"], point["low"], point["high"]], abs=1e-4)


def test_the_means_of_all_measures(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    with browser.open(report_file.path) as page:
        cell_values = page.read_all("#means tbody tr td", "[Number(it.dataset.v), it.textContent]")
        names = page.read_all("#means tbody th bdi")
    expected = [
        next(system.mean for system in result.systems if system.name == name)
        for name in names
        for result in report_file.comparison.results
        if result.slice is None
    ]
    assert [value for value, _ in cell_values] == expected
    assert [text for _, text in cell_values] == [f"{value:.4f}" for value in expected]


def _differences_are(page: Page, report_file: ReportFile, a: str, b: str) -> None:
    page.evaluate(READ)
    ids = list(report_file.comparison.aligned.query_ids)
    points = figures.differences(report_file.comparison, a, b).points
    drawn_circles = page.evaluate('marks("#differences circle[data-q]", "y", "cy", "q")')
    assert [ids[query] for query, _ in drawn_circles] == [point["query_id"] for point in points]
    expected = [point["difference"] for point in points]
    assert [value for _, value in drawn_circles] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", ["demonstration", "saved", "odd grades"])
def test_the_differences_are_drawn_as_they_are(browser: Browser, pages: Pages, kind: str) -> None:
    report_file = pages(kind)
    names = [system.name for system in report_file.comparison.results[0].ranked_systems]
    with browser.open(report_file.path) as page:
        for a, b in ((names[0], names[1]), (names[2], names[1])):
            page.choose_option("#pick-a", a)
            page.choose_option("#pick-b", b)
            _differences_are(page, report_file, a, b)
            _scatter_is(page, report_file, a, b)


def _scatter_is(page: Page, report_file: ReportFile, a: str, b: str) -> None:
    ids = list(report_file.comparison.aligned.query_ids)
    points = {
        point["query_id"]: point for point in figures.scatter(report_file.comparison, a, b).points
    }
    up = page.evaluate('marks("#scatter circle[data-q]", "y", "cy", "q")')
    across = page.evaluate('marks("#scatter circle[data-q]", "x", "cx", "q")')
    assert len(up) == len(points)
    for (query, score), (_, other) in zip(up, across, strict=True):
        point = points[ids[query]]
        assert (score, other) == pytest.approx((point["score"], point["other_score"]), abs=1e-9)


@pytest.mark.parametrize("kind", ["demonstration", "saved", "geometric"])
def test_the_sentence_of_a_and_b_is_the_pair_of_the_comparison(
    browser: Browser, pages: Pages, kind: str
) -> None:
    report_file = pages(kind)
    names = [system.name for system in report_file.comparison.results[0].ranked_systems]
    with browser.open(report_file.path) as page:
        for a, b in ((names[0], names[-1]), (names[-1], names[0])):
            page.choose_option("#pick-a", a)
            page.choose_option("#pick-b", b)
            counts_text = page.read_first("#where-said")
            pair = next(
                point
                for point in figures.leaderboard(_with_baseline(report_file.comparison, b)).points
                if point["system"] == a
            )
            n = sum(pair[outcome] for outcome in ("wins", "ties", "losses"))
            wins, ties, losses = pair["wins"], pair["ties"], pair["losses"]
            assert f"better on {wins}, the same on {ties}, worse on {losses} of {n}" in counts_text
            change = (
                f"{pair['difference']:+.4f}"
                if pair["ratio"] is None
                else f"\u00d7{pair['ratio']:.4f}"
            )
            assert change.replace("-", "\u2212") in counts_text


def _with_baseline(comparison: Comparison, baseline: str) -> Comparison:
    """Compare the same scores with another baseline."""
    return compare_scores(comparison.aligned, replace(comparison.settings, baseline=baseline))


def _curve(page: Page, figure: str) -> dict[int, list[tuple[float, float]]]:
    lines = page.evaluate(
        f"""((value) => [...document.querySelectorAll("#{figure} path[data-s]")].map((path) =>
        [Number(path.dataset.s), path.getAttribute("d").slice(1).split("L").map((spot) =>
        spot.split(",").map(Number)).map(([x, y]) => [x, value(y)])]))
        (inverse(document.querySelector("#{figure} svg"), "y"))"""
    )
    return dict(lines)


def test_the_curves_are_the_points_of_the_figures(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    names = list(report_file.comparison.aligned.system_names)
    with browser.open(report_file.path) as page:
        page.evaluate(READ)
        for figure, points in (
            ("cutoffs", figures.by_cutoff(report_file.comparison).points),
            ("recall", figures.precision_recall(report_file.comparison).points),
        ):
            lines = _curve(page, figure)
            assert len(lines) == len(names)
            for system, spots in lines.items():
                expected = [
                    point["mean"] if "mean" in point else point["precision"]
                    for point in points
                    if point["system"] == names[system]
                ]
                # Spots are written to a tenth of a pixel, of some 250.
                assert len(spots) > 5
                assert [value for _, value in spots] == pytest.approx(expected, abs=6e-4)


def test_the_bands_are_the_intervals_of_the_figures(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    best = report_file.comparison.results[0].ranked_systems[0].name
    with browser.open(report_file.path) as page:
        page.evaluate(READ)
        for figure, points in (
            ("cutoffs", figures.by_cutoff(report_file.comparison).points),
            ("recall", figures.precision_recall(report_file.comparison).points),
        ):
            drawn_ends = page.evaluate(
                f"""((value) => document.querySelector("#{figure} path.fill-a").getAttribute("d")
                .slice(1, -1).split("L").map((spot) => value(spot.split(",")[1])))
                (inverse(document.querySelector("#{figure} svg"), "y"))"""
            )
            best_points = [point for point in points if point["system"] == best]
            expected = [point["high"] for point in best_points] + [
                point["low"] for point in reversed(best_points)
            ]
            assert drawn_ends == pytest.approx(expected, abs=6e-4)


def test_scores_by_relevant_documents(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    names = [report_file.comparison.results[0].ranked_systems[0].name, "bm25"]
    expected = {
        (point["query_id"], point["system"]): point["score"]
        for point in figures.by_relevant(report_file.comparison).points
        if point["system"] in names
    }
    with browser.open(report_file.path) as page:
        page.evaluate(READ)
        drawn_marks = page.evaluate(
            """((value) => [...document.querySelectorAll("#relevant circle")].map(
            (dot) => value(dot.getAttribute("cy"))))
            (inverse(document.querySelector("#relevant svg"), "y"))"""
        )
    drawn_keys = [
        (query, name)
        for query in report_file.comparison.aligned.query_ids
        for name in reversed(names)
    ]
    assert len(expected) == len(drawn_keys) == len(drawn_marks)
    assert drawn_marks == pytest.approx([expected[key] for key in drawn_keys], abs=1e-9)


@pytest.mark.parametrize("kind", ["demonstration", "far apart"])
def test_the_matrix_is_the_pairs(browser: Browser, pages: Pages, kind: str) -> None:
    report_file = pages(kind)
    with browser.open(report_file.path) as page:
        names = [system.name for system in report_file.comparison.results[0].ranked_systems]
        texts = page.read_all("#matrix text", "[it.textContent, it.getAttribute('class') ?? '']")
        cells = [text for text, kind in texts if kind in ("on mid", "mid")]
    by_pair = {
        (point["system"], point["other"]): point["difference"]
        for point in figures.pair_matrix(report_file.comparison).points
    }
    expected = []
    for a in names:
        for b in names:
            if a != b:
                value = by_pair[a, b] if (a, b) in by_pair else -by_pair[b, a]
                sign = "+" if value > 0 else "\u2212"
                expected.append(f"{sign}{f'{abs(value):.2f}'.removeprefix('0')}")
    assert cells == expected


def test_the_boxes_of_the_spread(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    names = list(report_file.comparison.aligned.system_names)
    points = {point["system"]: point for point in figures.spread(report_file.comparison).points}
    with browser.open(report_file.path) as page:
        page.evaluate(READ)
        left_edges = dict(page.evaluate('marks("#spread rect[data-s]", "x", "x", "s")'))
        width = page.read_all("#spread rect[data-s]", "Number(it.getAttribute('width'))")
        right = page.evaluate(
            """((value) => [...document.querySelectorAll("#spread rect[data-s]")].map((box) =>
            value(Number(box.getAttribute("x")) + Number(box.getAttribute("width")))))
            (inverse(document.querySelector("#spread svg"), "x"))"""
        )
        assert len(width) == len(names)
        for (system, low), high in zip(left_edges.items(), right, strict=True):
            point = points[names[system]]
            assert (low, high) == pytest.approx((point["q25"], point["q75"]), abs=1e-9)


def test_how_much_was_judged(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    points = figures.judged_by_rank(report_file.comparison).points
    expected = [
        str(min(99, floor(100 * point["judged"] + 1 / 2)))  # what is not all is never 100
        for name in (system.name for system in report_file.comparison.results[0].ranked_systems)
        for point in points
        if point["system"] == name and point["judged"] is not None and point["judged"] < 1
    ]
    with browser.open(report_file.path) as page:
        assert page.read_all("#judged text.on") == expected


def test_slices_show_their_means(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    expected: dict[Any, list[str]] = {}
    for point in figures.by_slice(report_file.comparison).points:
        expected.setdefault(point["slice"], []).append(f"{point['mean']:.4f}")
    with browser.open(report_file.path) as page:
        titles = page.read_all("#slices .panel h4 bdi")
        texts = page.read_all(
            "#slices .panel svg", "[...it.querySelectorAll('text')].map((one) => one.textContent)"
        )
    assert set(titles) == set(expected)
    for title, shown_text in zip(titles, texts, strict=True):
        means = [text for text in shown_text if len(text) == 6 and text.startswith("0.")]
        assert sorted(means) == sorted(expected[title])


def test_every_query_in_the_list_has_its_difference(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    points = figures.differences(report_file.comparison).points
    ids = list(report_file.comparison.aligned.query_ids)
    seen_texts: dict[str, str] = {}
    with browser.open(report_file.path) as page:
        for _ in range(len(points)):
            for query, gap in page.read_all(
                "#rows .q", "[Number(it.dataset.q), it.querySelector('.gap').textContent]"
            ):
                seen_texts[ids[query]] = gap
            if len(seen_texts) == len(points):
                break
            page.evaluate('document.getElementById("queries").scrollTop += 400')
            page.settle()
    expected = {
        point["query_id"]: f"{point['difference']:+.3f}".replace("-", "\u2212")
        .replace("+0.000", "0.000")
        .replace("\u22120.000", "0.000")
        for point in points
    }
    assert seen_texts == expected


def test_the_rankings_are_those_of_the_runs(browser: Browser, pages: Pages) -> None:
    report_file = pages("demonstration")
    best, base = report_file.comparison.results[0].ranked_systems[0].name, "bm25"
    query = "q22"
    qrels = {
        doc: int(grade)
        for judged_query, _, doc, grade in (
            line.split() for line in demo.QRELS.read_text("utf-8").splitlines()
        )
        if judged_query == query
    }
    with browser.open(report_file.path, fragment=f"q={query}") as page:
        assert page.read_first("#stage h3") == demo.queries()[query]
        columns = page.read_all(
            "#stage .ranking",
            "[...it.querySelectorAll('.doc')].map((doc) => [doc.querySelector('.id').textContent,"
            " doc.querySelector('.chip').textContent, doc.querySelector('.snippet').textContent])",
        )
        scores = page.read_all("#stage .ranking .score")
        sheets = page.read_all("#stage details.sheet pre")
    for column, score, system in zip(columns, scores, (best, base), strict=True):
        rows = [
            line.split()
            for line in next(path for path in demo.RUNS if path.stem == system)
            .read_text("utf-8")
            .splitlines()
        ]
        ranked = sorted(((float(row[4]), row[2]) for row in rows if row[0] == query), reverse=True)
        docs = [doc for _, doc in ranked[:10]]
        assert [doc for doc, _, _ in column] == docs
        for doc, chip, snippet in column:
            doc_text = report_file.report_options["doc_texts"][doc]
            assert chip == (f"grade {qrels[doc]}" if doc in qrels else "not judged\u2013")
            assert snippet.rstrip("…") in doc_text
        value = explain(demo.QRELS, demo.HERE / f"{system}.run", "nDCG@10", query)
        assert isinstance(value, Explanation)
        assert score == f"{float(value.value):.4f}"
        assert str(value).strip() in [sheet.strip() for sheet in sheets]


def test_thousands_of_queries_are_binned_and_the_page_says_so(
    browser: Browser, pages: Pages
) -> None:
    report_file = pages("large")
    with browser.open(report_file.path) as page:
        check_quiet(page)
        assert "each pixel" in page.read_first("#differences", "it.textContent")
        assert page.read_all("#differences circle[data-q]") == []
        assert 20 < len(page.read_all("#scatter rect")) <= 40 * 40
        assert len(page.read_all("#rows .q")) < 40
        assert page.evaluate("document.querySelectorAll('*').length") < 12_000
    assert report_file.path.stat().st_size < 3_000_000
