"""Pictures of systems that were compared: their numbers by slow loops, what is drawn of them."""

import json
import math
import re
import struct
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import make_docs
import numpy as np
import pytest
from click.testing import CliRunner
from helpers.profile import is_full, sample_cases
from scipy.stats import t as student

from cranfield import (
    Comparison,
    InputError,
    LibraryError,
    MeasureError,
    OptionError,
    compare,
    demo,
    evaluate,
    figures,
)
from cranfield.cli import cli
from cranfield.extensions.report.figures.style import STYLES, StyleName
from cranfield.figures import Figure

DEMO = demo.QRELS, [str(path) for path in demo.RUNS]
PARITY = {f"q{i:02}": "even" if i % 2 == 0 else "odd" for i in range(1, 41)}
FOUND = compare(*DEMO, "nDCG@10 AP GMAP SearchLength", slices={"parity": PARITY})
SAVED_COMPARISON = compare(dict(evaluate(*DEMO, "nDCG@10")))
NASTY = ["<script>x</script>", "\u202eevil", "a" * 10_000, "a" * 5_000 + "b" + "a" * 4_999]
NASTY += ["x\x1b[31m\n\t", "'\"&;}{{JS}}", "javascript:alert(1)", "datum.mean", "\udcff", " "]

OF_SAVED: dict[str, Callable[..., Figure]] = {
    "leaderboard": figures.leaderboard,
    "differences": figures.differences,
    "scatter": figures.scatter,
    "spread": figures.spread,
    "pair_matrix": figures.pair_matrix,
}
OF_RUNS: dict[str, Callable[..., Figure]] = {
    "by_cutoff": figures.by_cutoff,
    "precision_recall": figures.precision_recall,
    "judged_by_rank": figures.judged_by_rank,
    "by_relevant": figures.by_relevant,
}
EVERY = {**OF_SAVED, **OF_RUNS, "by_slice": figures.by_slice}


def grades() -> dict[str, dict[str, int]]:
    """Return the demonstration's judgments."""
    grades_of_query: dict[str, dict[str, int]] = {}
    for line in demo.QRELS.read_text().splitlines():
        query, _, doc, grade = line.split()
        grades_of_query.setdefault(query, {})[doc] = int(grade)
    return grades_of_query


def rankings(run: str) -> dict[str, list[str]]:
    """Return a run's documents, the best first: by score, then by id, both falling."""
    rows = [line.split() for line in Path(run).read_text().splitlines()]
    docs_of_query: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: (float(row[4]), row[2]), reverse=True):
        docs_of_query.setdefault(row[0], []).append(row[2])
    return docs_of_query


def means(values: list[float], alpha: float = 0.05) -> tuple[float, float, float]:
    """Return the mean of values from 0 to 1, and its interval by the formula, cut to 0 and 1."""
    n, mean = len(values), math.fsum(values) / len(values)
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = float(student.ppf(1 - alpha / 2, n - 1)) * sd / math.sqrt(n)
    return mean, max(0.0, mean - half), min(1.0, mean + half)


# ---- the numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["nDCG@10", "GMAP", "SearchLength"])
def test_the_leaderboard_is_what_compare_found(measure: str) -> None:
    points = figures.leaderboard(FOUND, measure).points
    measure_result = FOUND[measure]
    by_mean = sorted(
        measure_result.systems, key=lambda system: system.mean, reverse=measure != "SearchLength"
    )
    assert [point["system"] for point in points] == [system.name for system in by_mean]
    assert [point["place"] for point in points] == [1, 2, 3, 4]
    for point, system in zip(points, by_mean, strict=True):
        point_numbers = (
            point["mean"],
            point["low"],
            point["high"],
            point["judged"],
            point["little_judged"],
        )
        assert point_numbers == (
            system.mean,
            system.low,
            system.high,
            system.judged,
            system.little_judged,
        )
        other_fields = {name: value for name, value in point.items() if name not in vars(system)}
        if system.name == "bm25":
            assert set(other_fields.values()) == {"bm25", point["place"], None}
            continue
        pair = measure_result[system.name]
        assert point["difference"] == pair.difference
        assert (point["difference_low"], point["difference_high"]) == (pair.low, pair.high)
        for name in ("p", "p_adjusted", "verdict", "wins", "ties", "losses"):
            assert point[name] == getattr(pair, name)
        ratios = point["ratio"], point["ratio_low"], point["ratio_high"]
        assert ratios == (pair.ratio, pair.ratio_low, pair.ratio_high)
        assert (point["ratio"] is None) == (measure != "GMAP")


def test_without_a_baseline_there_are_no_differences() -> None:
    pair_comparison = compare(*DEMO, all_pairs=True)
    for point in figures.leaderboard(pair_comparison).points:
        assert (point["difference"], point["wins"], point["verdict"]) == (None, None, None)


def test_means_by_cutoff_are_those_of_single_evaluations() -> None:
    points = figures.by_cutoff(FOUND, cutoffs=[3, 10, 1]).points
    assert [point["cutoff"] for point in points] == [1, 3, 10] * 4
    for k in (1, 3, 10):
        scores = evaluate(*DEMO, f"nDCG@{k}")
        for point in points:
            if point["cutoff"] == k:
                system_scores = scores[point["system"]]
                assert point["mean"] == system_scores[f"nDCG@{k}"]
                _, low, high = means(list(system_scores.per_query(f"nDCG@{k}").values()))
                assert (point["low"], point["high"]) == pytest.approx((low, high), rel=1e-12)
    at_ten = {point["system"]: point for point in points if point["cutoff"] == 10}
    for system in FOUND["nDCG@10"].systems:  # to the last bit
        point_at_ten = at_ten[system.name]
        assert (point_at_ten["mean"], point_at_ten["low"], point_at_ten["high"]) == (
            system.mean,
            system.low,
            system.high,
        )


def test_a_measure_that_was_not_compared_has_a_curve() -> None:
    points = figures.by_cutoff(FOUND, "P(rel=2)@7", [5]).points
    for point in points:
        system_scores = evaluate(DEMO[0], str(demo.HERE / f"{point['system']}.run"), "P(rel=2)@5")
        assert point["mean"] == system_scores["P(rel=2)@5"]


@pytest.mark.parametrize("rel", [1, 2])
def test_mean_precision_at_recall_is_that_of_a_slow_loop(rel: int) -> None:
    points = figures.precision_recall(FOUND, rel=rel).points
    assert {*points[0]} == {"system", "recall", "precision", "low", "high"}
    assert [point["recall"] for point in points] == [i / 10 for i in range(11)] * 4
    for run in DEMO[1]:
        ranked, name = rankings(run), Path(run).stem
        system_points = [point for point in points if point["system"] == name]
        for tenths in range(11):
            values = []
            for query, judged in grades().items():
                total = sum(grade >= rel for grade in judged.values())
                n_needed, n_hits, best = (2 * tenths * total + 10) // 20, 0, Fraction(0)
                for rank, doc in enumerate(ranked.get(query, []), 1):
                    n_hits += judged.get(doc, 0) >= rel
                    if judged.get(doc, 0) >= rel and n_hits >= n_needed:
                        best = max(best, Fraction(n_hits, rank))
                values.append(float(best))
            point = system_points[tenths]
            expected = pytest.approx(means(values), rel=1e-12)
            assert (point["precision"], point["low"], point["high"]) == expected


def test_precision_by_recall_takes_the_level_that_a_measure_states() -> None:
    rel_points = figures.precision_recall(compare(*DEMO, "nDCG AP(rel=2)")).points
    assert rel_points == figures.precision_recall(FOUND, rel=2).points
    assert rel_points != figures.precision_recall(FOUND).points


def test_what_is_judged_at_each_rank_is_counted() -> None:
    points = figures.judged_by_rank(FOUND, 100).points
    assert len(points) == 4 * 100
    judged = grades()
    for run in DEMO[1]:
        ranked = rankings(run)
        for rank in range(1, 101):
            ranked_docs = [(q, docs[rank - 1]) for q, docs in ranked.items() if len(docs) >= rank]
            hits = sum(doc in judged[query] for query, doc in ranked_docs)
            (point,) = (
                point
                for point in points
                if (point["system"], point["rank"]) == (Path(run).stem, rank)
            )
            assert point["retrieved"] == len(ranked_docs)
            assert point["judged"] == (hits / len(ranked_docs) if ranked_docs else None)


def test_what_is_judged_follows_the_order_of_ties() -> None:
    """Of two documents of one score, the judged one is first, last, or either half of the time."""
    judgments = {"q1": {"a": 1, "x": 0}}
    run = {"r": {"q1": {"a": 1.0, "b": 1.0, "x": 0.5}}}

    def shares(**options: Any) -> list[float]:
        comparison = compare(judgments, run, "P@1", **options)
        return [point["judged"] for point in figures.judged_by_rank(comparison, 3).points]

    assert shares() == [0, 1, 1]
    assert shares(ties="ascending") == [1, 0, 1]
    assert shares(ties="best") == [1, 0, 1]
    assert shares(ties="expected") == [1 / 2, 1 / 2, 1]
    assert shares(judged_only=True) == [1, 1, None]
    assert shares(depth=1) == [0, None, None]


def test_queries_that_were_dropped_are_not_counted() -> None:
    judgments = {"q1": {"a": 1}, "q2": {"a": 1, "c": 0}}
    runs = {"x": {"q1": ["a"], "q2": ["b"]}, "y": {"q1": ["a"]}}
    comparison = compare(judgments, runs, "P@1", missing="drop")
    assert [point["retrieved"] for point in figures.judged_by_rank(comparison, 1).points] == [1, 1]
    assert [point["mean"] for point in figures.by_cutoff(comparison, cutoffs=[1]).points] == [1, 1]
    full_comparison = compare(judgments, runs, "P@1")
    assert [point["retrieved"] for point in figures.judged_by_rank(full_comparison, 1).points] == [
        2,
        1,
    ]
    assert [point["mean"] for point in figures.by_cutoff(full_comparison, cutoffs=[1]).points] == [
        1 / 2,
        1 / 2,
    ]


def test_differences_are_those_of_the_scores() -> None:
    scores = evaluate(*DEMO, "nDCG@10").per_query("nDCG@10")
    for system, other in (("dense", "tfidf"), ("bm25", "dense")):
        points = figures.differences(FOUND, system, other).points
        assert points == figures.scatter(FOUND, system, other).points
        gains = [point["difference"] for point in points]
        assert gains == sorted(gains, reverse=True)
        scores_of_query = {p["query_id"]: (p["score"], p["other_score"]) for p in points}
        assert scores_of_query == {q: (scores[system][q], scores[other][q]) for q in scores[system]}
        assert gains == [p["score"] - p["other_score"] for p in points]
        assert "ratio" not in points[0]


def test_differences_of_a_geometric_mean_are_ratios() -> None:
    points = figures.differences(FOUND, "dense", "bm25", "GMAP").points
    for point in points:
        ratio = max(point["score"], 1e-5) / max(point["other_score"], 1e-5)
        assert point["ratio"] == pytest.approx(ratio, rel=1e-12)
    ratios = [point["ratio"] for point in points]
    assert ratios == sorted(ratios, reverse=True)
    mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
    assert mean == pytest.approx(FOUND["GMAP"]["dense"].ratio, rel=1e-12)


@pytest.mark.parametrize("measure", ["nDCG@10", "GMAP"])
def test_two_systems_that_were_not_compared_are_said_as_they_are(measure: str) -> None:
    """Of a comparison with a baseline; and the other way round."""
    pairs = compare(*DEMO, measure, all_pairs=True)[measure]
    for system, other in (("dense", "fusion"), ("fusion", "dense")):
        subtitle = figures.differences(FOUND, system, other, measure).subtitle
        pair = pairs["dense", "fusion"]
        mean, low, high = pair.difference, pair.low, pair.high
        assert low is not None
        assert high is not None
        if system == "fusion":
            mean, low, high = -mean, -high, -low
        show = "{:.4f}" if measure == "GMAP" else "{:+.4f}"
        shown_numbers = [math.exp(x) if measure == "GMAP" else x for x in (mean, low, high)]
        assert "{} (95% interval {} to {})".format(*map(show.format, shown_numbers)) in subtitle
        wins, losses = (pair.wins, pair.losses) if system == "dense" else (pair.losses, pair.wins)
        assert re.search(
            rf"better on {wins} quer\w+, equal on {pair.ties}, worse on {losses}$", subtitle
        )


@pytest.mark.parametrize(
    ("names", "options", "expected"),
    [
        ((), {}, ("dense", "bm25")),
        ((), {"baseline": "dense"}, ("fusion", "dense")),
        ((), {"all_pairs": True}, ("dense", "fusion")),
        (("tfidf",), {}, ("tfidf", "bm25")),
        (("bm25",), {}, ("bm25", "dense")),
        ((None, "tfidf"), {}, ("dense", "tfidf")),
        ((None, "dense"), {}, ("fusion", "dense")),
        ((str(demo.HERE / "tfidf.run"),), {}, ("tfidf", "bm25")),
    ],
)
def test_which_two_are_drawn(names: Any, options: Any, expected: tuple[str, str]) -> None:
    comparison = compare(*DEMO, **options)
    best = [system.name for system in comparison["nDCG@10"].ranked_systems]
    assert best[:2] == ["dense", "fusion"]
    assert figures.scatter(comparison, *names).title == "nDCG@10: {} and {}".format(*expected)


@pytest.mark.parametrize("measure", ["nDCG@10", "SearchLength"])
def test_the_spread_has_the_quantiles(measure: str) -> None:
    scores = evaluate(*DEMO, measure).per_query(measure)
    names = {"least": 0, "q05": 5, "q25": 25, "median": 50, "q75": 75, "q95": 95, "greatest": 100}
    points = figures.spread(FOUND, measure).points
    assert [point["system"] for point in points] == [
        point.name for point in FOUND[measure].ranked_systems
    ]
    for point in points:
        assert point["scores"] == list(scores[point["system"]].values())
        sorted_scores = sorted(point["scores"])
        for name, hundredths in names.items():
            position, part = divmod((len(sorted_scores) - 1) * hundredths, 100)
            above = sorted_scores[min(position + 1, len(sorted_scores) - 1)]
            between = sorted_scores[position] + part / 100 * (above - sorted_scores[position])
            assert point[name] == pytest.approx(between, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("measure", ["nDCG@10", "GMAP"])
def test_the_matrix_has_every_pair_once(measure: str) -> None:
    points = figures.pair_matrix(FOUND, measure).points
    pairs = compare(*DEMO, "nDCG@10 AP GMAP SearchLength", all_pairs=True)[measure].pairs
    names = [Path(run).stem for run in DEMO[1]]
    assert [(point["system"], point["other"]) for point in points] == [*combinations(names, 2)]
    for point, pair in zip(points, pairs, strict=True):
        assert point == {name: getattr(pair, name) for name in point}
        assert len(point) == 17


@pytest.mark.parametrize(("measure", "rel"), [("nDCG@10", 1), ("AP", 1), ("AP(rel=2)", 2)])
def test_scores_by_relevant_documents(measure: str, rel: int) -> None:
    comparison = compare(*DEMO, measure)
    points = figures.by_relevant(comparison, None, "dense", "tfidf").points
    judged, scores = grades(), evaluate(*DEMO, measure).per_query(measure)
    assert [(point["query_id"], point["system"]) for point in points] == [
        (query, system) for query in sorted(judged) for system in ("dense", "tfidf")
    ]
    for point in points:
        query = point["query_id"]
        assert point["relevant"] == sum(grade >= rel for grade in judged[query].values())
        assert point["score"] == scores[point["system"]][query]


@pytest.mark.parametrize("measure", ["AP", "GMAP"])
def test_slices_are_what_compare_found(measure: str) -> None:
    points = iter(figures.by_slice(FOUND, measure).points)
    of_pair = {"difference_low": "low", "difference_high": "high"}
    for name in ("odd", "even"):
        slice_result = FOUND.slice(measure, name)
        for system in slice_result.systems:
            pair = None if system.name == "bm25" else slice_result[system.name]
            point = next(points)
            label = ("parity", name, 20, system.name, system.mean, system.low, system.high)
            assert tuple(point.values())[:7] == label
            for key in [*point][7:]:
                assert point[key] == (pair and getattr(pair, of_pair.get(key, key)))
    assert not list(points)


def test_points_are_json() -> None:
    for draw in EVERY.values():
        points = draw(FOUND).points
        assert json.loads(json.dumps(points, allow_nan=False)) == points


# ---- what cannot be drawn -----------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_RUNS)
def test_scores_that_were_made_before_have_no_rankings(name: str) -> None:
    with pytest.raises(InputError, match="precomputed scores"):
        OF_RUNS[name](SAVED_COMPARISON)


@pytest.mark.parametrize("name", OF_SAVED)
def test_scores_that_were_made_before_are_drawn(name: str) -> None:
    assert OF_SAVED[name](SAVED_COMPARISON).points == OF_SAVED[name](
        compare(*DEMO)
    ).points or name in (
        "leaderboard",  # which has no share that is judged
    )


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda: figures.leaderboard(FOUND, "RR"), MeasureError, "RR was not compared; these were"),
        (lambda: figures.by_cutoff(FOUND, "GMAP"), MeasureError, "GMAP has no cutoff"),
        (lambda: figures.by_cutoff(FOUND, "IPrec@0.1"), MeasureError, "has no cutoff at a rank"),
        (lambda: figures.by_cutoff(FOUND, cutoffs=[]), OptionError, "cutoffs: 0"),
        (lambda: figures.by_cutoff(FOUND, cutoffs=[0]), OptionError, "cutoffs=0: expected"),
        (lambda: figures.by_cutoff(FOUND, cutoffs=2.5), OptionError, "cutoffs=2.5: expected"),  # type: ignore[arg-type]
        (lambda: figures.by_cutoff(FOUND, systems=["x"]), OptionError, "systems='x'"),
        (lambda: figures.by_cutoff(FOUND, systems=[]), OptionError, "systems: 0"),
        (lambda: figures.differences(FOUND, "dens"), OptionError, "system='dens': .*try dense"),
        (lambda: figures.scatter(FOUND, "dense", "x"), OptionError, "other='x'"),
        (lambda: figures.scatter(FOUND, "dense", "dense"), OptionError, "compared with itself"),
        (lambda: figures.by_slice(compare(*DEMO)), InputError, "there are no slices"),
        (lambda: figures.judged_by_rank(FOUND, 0), OptionError, "depth=0"),
        (lambda: figures.judged_by_rank(FOUND, 101), OptionError, "depth=101"),
        (lambda: figures.pair_matrix(compare(DEMO[0], DEMO[1][0])), InputError, "only one"),
        (lambda: figures.differences(compare(DEMO[0], DEMO[1][0])), InputError, "only one"),
        (lambda: figures.precision_recall(FOUND, rel=-1), OptionError, "rel=-1"),
        (lambda: figures.precision_recall(FOUND, query="q1"), OptionError, "leave out query"),
        (lambda: figures.precision_recall(FOUND, ties="best"), OptionError, "leave out ties"),
        (lambda: figures.precision_recall(DEMO[0], DEMO[1][0]), InputError, "and a query"),
        (lambda: figures.leaderboard(FOUND, style="poster"), OptionError, "style='poster'"),  # type: ignore[arg-type]
        (lambda: figures.leaderboard([1]), InputError, "expected what compare"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_is_said(draw: Callable[[], Figure], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        draw()


def test_judgments_that_do_not_say_what_was_judged() -> None:
    groups = compare({"q1": {"s": {"a": 1}, "t": {"b": 1}}}, {"x": {"q1": ["a"]}}, "alphanDCG@5")
    with pytest.raises(InputError, match="are in groups"):
        figures.judged_by_rank(groups)
    relevant = compare({"q1": ["a", "b"]}, {"x": {"q1": ["a"]}}, "P@1")
    with pytest.raises(InputError, match="name relevant documents alone"):
        figures.judged_by_rank(relevant)


def test_the_extra_is_needed_only_to_draw(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)  # as if it were not installed
    for draw in EVERY.values():
        figure = draw(FOUND)
        assert figure.points
        for use_chart in (lambda figure=figure: figure.chart, figure.to_svg, figure.to_pdf):
            with pytest.raises(LibraryError, match="altair: pip install altair"):
                use_chart()
    absent = ["figure", "leaderboard", "no-such-file", "neither", "-o", str(tmp_path / "a.svg")]
    outcome = CliRunner().invoke(cli, absent)
    assert outcome.exit_code == 2
    assert "pip install altair" in outcome.stderr  # before anything is read


# ---- what is drawn ------------------------------------------------------------------------------


def marks(figure: Figure) -> list[dict[str, str]]:
    """Return what the marks of a picture say of themselves: {title: value}."""
    root = ElementTree.fromstring(figure.to_svg())  # noqa: S314 - our own
    symbols = (node for node in root.iter() if node.get("role") == "graphics-symbol")
    symbol_texts = (symbol.get("aria-label", "").replace("\u2212", "-") for symbol in symbols)
    return [
        dict(re.findall(r"([^:;]+): ([^;]*)(?:; |$)", symbol)) for symbol in symbol_texts if symbol
    ]


def texts(figure: Figure) -> list[str]:
    """Return the texts of a picture."""
    root = ElementTree.fromstring(figure.to_svg())  # noqa: S314 - our own
    return [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("style", STYLES)
def test_the_leaderboard_as_it_is_drawn(style: StyleName) -> None:
    figure = figures.leaderboard(FOUND, style=style)
    drawn_marks = [mark for mark in marks(figure) if "kind" in mark]
    assert [mark["system"] for mark in drawn_marks] == [point["system"] for point in figure.points]
    for mark, point in zip(drawn_marks, figure.points, strict=True):
        assert float(mark["nDCG@10"]) == pytest.approx(point["mean"], rel=1e-11)
        expected = {"better": "better", None: "not significant"}[point["verdict"]]
        assert mark["kind"] == ("baseline" if point["system"] == "bm25" else expected)
    number_flags = [f"{point['mean']:.4f}" in texts(figure) for point in figure.points]
    assert number_flags == [style != "paper"] * 4


@pytest.mark.parametrize("style", STYLES)
def test_differences_as_they_are_drawn(style: StyleName) -> None:
    figure = figures.differences(FOUND, style=style)
    mark_of_query = {mark["query_id"]: mark for mark in marks(figure) if "query_id" in mark}
    assert len(mark_of_query) == 40
    for point in figure.points:
        mark = mark_of_query[point["query_id"]]
        assert float(mark["difference in nDCG@10"]) == pytest.approx(point["difference"], abs=1e-11)
        gain = point["difference"]
        assert mark["kind"] == ("better" if gain > 0 else "worse" if gain < 0 else "tied")


def test_where_less_is_better_a_fall_is_better() -> None:
    figure = figures.differences(FOUND, "dense", "bm25", "SearchLength")
    wins = FOUND["SearchLength"]["dense"].wins
    kinds = [mark["kind"] for mark in marks(figure) if "query_id" in mark]
    assert kinds.count("better") == wins > 0
    assert kinds.count("worse") == FOUND["SearchLength"]["dense"].losses
    assert any("less is better" in text for text in texts(figure))


def test_curves_as_they_are_drawn() -> None:
    figure = figures.by_cutoff(FOUND, cutoffs=[1, 10, 50])
    drawn_marks = [mark for mark in marks(figure) if "system" in mark and "cutoff k" in mark]
    assert len(drawn_marks) == len(figure.points) == 12
    drawn_means = sorted(
        (mark["system"], int(mark["cutoff k"]), float(mark["nDCG@k"])) for mark in drawn_marks
    )
    expected_means = sorted(
        (point["system"], point["cutoff"], point["mean"]) for point in figure.points
    )
    for drawn_mean, point in zip(drawn_means, expected_means, strict=True):
        assert drawn_mean[:2] == point[:2]
        assert drawn_mean[2] == pytest.approx(point[2], rel=1e-11)


def test_the_matrix_as_it_is_drawn() -> None:
    figure = figures.pair_matrix(FOUND)
    cells = {(mark["system"], mark["other"]): mark for mark in marks(figure) if "other" in mark}
    assert len(cells) == 4 * 3
    for point in figure.points:
        cell = cells[point["system"], point["other"]]
        back = cells[point["other"], point["system"]]
        assert float(cell["difference"]) == pytest.approx(point["difference"], abs=1e-11)
        assert float(back["difference"]) == pytest.approx(-point["difference"], abs=1e-11)
        assert (cell["fill"] == "#ffffff") == (point["verdict"] is None)


def test_what_is_judged_as_it_is_drawn() -> None:
    figure = figures.judged_by_rank(FOUND, 10)
    mark_of_rank = {
        (mark["system"], int(mark["rank"])): mark for mark in marks(figure) if "rank" in mark
    }
    assert len(mark_of_rank) == 40
    for point in figure.points:
        mark = mark_of_rank[point["system"], point["rank"]]
        assert float(mark["judged"]) == pytest.approx(point["judged"], rel=1e-11)


def test_every_picture_has_its_intervals() -> None:
    """Of what is a mean: the data that are drawn have its ends."""
    for draw in (figures.leaderboard, figures.by_cutoff, figures.by_slice, figures.by_relevant):
        rows = [
            row for rows_of_layer in draw(FOUND).spec["datasets"].values() for row in rows_of_layer
        ]
        assert any(row.get("low", 0) < row.get("high", 0) for row in rows)
        assert "95% interval" in draw(FOUND).caption


@pytest.mark.parametrize("name", EVERY)
def test_styles_have_their_width(name: str, tmp_path: Path) -> None:
    widths: dict[StyleName, int] = {"screen": 640, "paper": 240, "slides": 1120}
    quick_widths = [[*widths][[*EVERY].index(name) % 3]]  # in the quick profile
    for style in widths if is_full() else quick_widths:
        width = widths[style]
        figure = EVERY[name](FOUND, style=style)
        root = ElementTree.fromstring(figure.to_svg())  # noqa: S314 - our own
        unit = "pt" if style == "paper" else ""
        assert root.attrib["width"] == f"{width}{unit}"
        has_title = figure.title.split(" ")[0] in " ".join(texts(figure))
        assert has_title or style == "paper"
        assert figure.title in figure.caption
        png = figure.to_png(1)
        assert struct.unpack(">I", png[16:20]) == (width,)
    if name not in sample_cases(EVERY):
        return
    path = tmp_path / "a.pdf"
    EVERY[name](FOUND, style="paper").save(path)
    (box,) = set(re.findall(rb"/MediaBox ?\[0 0 (\d+)", path.read_bytes()))
    assert int(box) == 240  # points, of which an inch has 72: 3.33 inches


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("style", STYLES)
def test_names_from_files_are_texts(name: str, style: StyleName) -> None:
    source = np.random.default_rng(3)
    queries = [f"{name}{i}" for i, name in enumerate(NASTY)]
    judgments = {
        query: {f"d{i}": int(source.integers(0, 3)) for i in range(9)} for query in queries
    }
    runs = {name: {q: [f"d{i}" for i in source.permutation(9)] for q in queries} for name in NASTY}
    labels = {"kind": {query: NASTY[i % 5] for i, query in enumerate(queries)}}
    comparison = compare(judgments, runs, "nDCG@5", slices=labels)
    figure = EVERY[name](comparison, style=style)
    root = ElementTree.fromstring(figure.to_svg())  # noqa: S314 - which is well formed
    assert not {"script", "a", "image"} & {node.tag.rpartition("}")[2] for node in root.iter()}
    if name in sample_cases(EVERY):
        assert figure.to_pdf()[:4] == b"%PDF"
    spec = json.dumps(figure.spec)
    assert "\\u202e" not in spec.replace("\\\\u202e", "")
    assert max(map(len, re.findall(r'"[^"]*"', spec))) < 2_000


def test_systems_with_names_alike_are_told_apart() -> None:
    comparison = compare({name: {"q1": i / 9, "q2": 0.5} for i, name in enumerate(NASTY[2:4])})
    rows = [mark["system"] for mark in marks(figures.leaderboard(comparison)) if "kind" in mark]
    assert len(set(rows)) == 2


def test_many_queries_and_systems_are_cut_down_and_it_is_said() -> None:
    source = np.random.default_rng(5)
    columns = {
        f"s{i:02}": {f"q{j:04}": float(score) for j, score in enumerate(source.random(2_000))}
        for i in range(30)
    }
    comparison = compare(columns, test="t")
    figure = figures.differences(comparison)
    assert len(figure.points) == 2_000
    assert "400 of 2,000 queries are drawn" in figure.caption
    assert len(json.dumps(figure.spec)) < 200_000
    squares = figures.scatter(comparison)
    assert "how many are in each of 40 x 40 squares" in squares.caption
    counts = [int(mark["queries"]) for mark in marks(squares) if "queries" in mark]
    assert sum(counts) == 2_000
    assert "A dot for each query" not in figures.spread(comparison).caption
    for draw in (figures.leaderboard, figures.spread, figures.pair_matrix):
        slide = draw(comparison, style="slides")
        assert "14 of 30 systems are drawn" in slide.caption
        assert "systems are drawn" not in draw(comparison).caption
    drawn_systems = [
        mark["system"]
        for mark in marks(figures.leaderboard(comparison, style="slides"))
        if "kind" in mark
    ]
    assert "s00" in drawn_systems  # the baseline
    assert len(drawn_systems) == 14


def test_doubts_are_on_the_picture() -> None:
    small_comparison = compare({"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.0, "q2": 1.0}})
    figure = figures.leaderboard(small_comparison)
    assert "few-queries" in [note.code for note in figure.notes]
    assert all(note.is_grave for note in figure.notes)
    assert "few-queries" in figure.caption


def test_the_gallery_is_what_is_drawn() -> None:
    """If not: python scripts/make_docs.py."""
    gallery = make_docs.make_gallery()
    assert len(gallery) == len(EVERY) + 2  # those of a trend and of a paper
    page = (make_docs.ROOT / "docs" / "how-to" / "figures.md").read_text("utf-8")
    for path, figure in gallery.items():
        assert f"(../pictures/{path.name})" in page
        root = ElementTree.parse(path).getroot()  # noqa: S314 - our own
        now = ElementTree.fromstring(figure.to_svg())  # noqa: S314 - our own
        old_labels, new_labels = (list(map(_label, tree.iter())) for tree in (root, now))
        assert old_labels == new_labels, path.name


def _label(element: ElementTree.Element) -> str | None:
    """Return the label of a mark; last digits of limits differ between versions of scipy."""
    label = element.get("aria-label")
    return label and re.sub(r"\d+\.\d{7,}", lambda match: f"{float(match[0]):.6f}", label)


def test_of_one_query_there_is_no_interval() -> None:
    """Nor does a picture say that there is one."""
    comparison = compare({"a": {"q1": 0.5}, "b": {"q1": 0.25}})
    for draw in (figures.leaderboard, figures.differences):
        figure = draw(comparison)
        assert "95%" not in figure.caption
        assert figure.to_svg()
    ticks = [text for text in texts(figures.differences(comparison)) if text.isdigit()]
    assert ticks.count("1") <= 2  # of the queries once, if at all


# ---- the command --------------------------------------------------------------------------------


def run(*arguments: object) -> tuple[int, str]:
    outcome = CliRunner().invoke(cli, ["figure", *map(str, arguments)])
    return outcome.exit_code, outcome.stderr


@pytest.mark.parametrize("name", sample_cases(EVERY))
def test_the_command_draws_what_the_function_draws(name: str, tmp_path: Path) -> None:
    path, labels = tmp_path / "a.json", tmp_path / "labels.csv"
    labels.write_text(
        "query_id,parity\n" + "".join(f"{q},{label}\n" for q, label in PARITY.items())
    )
    arguments = [*DEMO[1], "-m", "AP", "--baseline", "tfidf", "--alpha", "0.1"]
    options: dict[str, Any] = {"baseline": "tfidf", "alpha": 0.1}
    if name == "by_slice":
        arguments += ["--slices", str(labels)]
        options["slices"] = {"parity": PARITY}
    status, message = run(
        name.replace("_", "-"), DEMO[0], *arguments, "--style", "slides", "-o", path
    )
    assert status == 0
    assert f"note: wrote {path}\n" in message
    expected = EVERY[name](compare(*DEMO, "AP", **options), style="slides")
    assert json.loads(path.read_text()) == expected.spec


def test_what_a_command_refuses(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    scores_path = tmp_path / "scores.json"
    CliRunner().invoke(
        cli, ["evaluate", *map(str, (DEMO[0], *DEMO[1])), "-q", "-o", str(scores_path)]
    )
    refusals = [
        (["leaderboard", DEMO[0], *DEMO[1], "-m", "AP", "-m", "P@5"], "one measure"),
        (["leaderboard", DEMO[0], *DEMO[1], "--slices", "x"], "by-slice"),
        (["by-slice", DEMO[0], *DEMO[1]], "there are no slices"),
        (["judged-by-rank", "--saved", scores_path], "precomputed scores"),
        (["by-cutoff", DEMO[0], *DEMO[1], "--cutoffs", "1,x"], "'x'"),
        (["precision-recall", DEMO[0], *DEMO[1], "--query", "q22"], "draws one RUN"),
        (["precision-recall", DEMO[0], DEMO[1][0], "--query", "q22", "--flips", "9"], "--flips"),
        (["precision-recall", DEMO[0], DEMO[1][0], "--query", "q22", "-m", "AP"], "--measure"),
        (["scatter", DEMO[0], *DEMO[1], "--system", "den"], "try dense"),
    ]
    for arguments, message in refusals:
        status, note_text = run(*arguments, "-o", path)
        assert (status, message in note_text) == (2, True), note_text
        assert not path.exists()
    assert run("leaderboard", "--saved", scores_path, "-m", "AP", "-o", path)[0] == 0
    assert path.exists()


def test_a_caption_is_printed_for_a_paper(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    status, message = run("scatter", DEMO[0], *DEMO[1], "-o", path, "--style", "paper")
    figure = figures.scatter(compare(*DEMO), style="paper")
    assert status == 0
    assert f"caption: {figure.caption}\n" in message
    assert path.read_text("utf-8") == figure.to_svg()


def test_comparisons_are_what_the_figures_take() -> None:
    assert isinstance(FOUND, Comparison)
    assert set(EVERY) <= set(vars(figures))
