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
from helpers.profile import some_of, thorough
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
SAVED = compare(dict(evaluate(*DEMO, "nDCG@10")))
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
    found: dict[str, dict[str, int]] = {}
    for line in demo.QRELS.read_text().splitlines():
        query, _, doc, grade = line.split()
        found.setdefault(query, {})[doc] = int(grade)
    return found


def rankings(run: str) -> dict[str, list[str]]:
    """Return a run's documents, the best first: by score, then by id, both falling."""
    rows = [line.split() for line in Path(run).read_text().splitlines()]
    found: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: (float(row[4]), row[2]), reverse=True):
        found.setdefault(row[0], []).append(row[2])
    return found


def means(values: list[float], alpha: float = 0.05) -> tuple[float, float, float]:
    """Return the mean of values from 0 to 1, and its interval by the formula, cut to 0 and 1."""
    n, mean = len(values), math.fsum(values) / len(values)
    sd = math.sqrt(math.fsum((one - mean) ** 2 for one in values) / (n - 1))
    half = float(student.ppf(1 - alpha / 2, n - 1)) * sd / math.sqrt(n)
    return mean, max(0.0, mean - half), min(1.0, mean + half)


# ---- the numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["nDCG@10", "GMAP", "SearchLength"])
def test_the_leaderboard_is_what_compare_found(measure: str) -> None:
    points = figures.leaderboard(FOUND, measure).points
    result = FOUND[measure]
    by_mean = sorted(result.systems, key=lambda one: one.mean, reverse=measure != "SearchLength")
    assert [point["system"] for point in points] == [one.name for one in by_mean]
    assert [point["place"] for point in points] == [1, 2, 3, 4]
    for point, one in zip(points, by_mean, strict=True):
        shown = point["mean"], point["low"], point["high"], point["judged"], point["little_judged"]
        assert shown == (one.mean, one.low, one.high, one.judged, one.little_judged)
        others = {name: value for name, value in point.items() if name not in vars(one)}
        if one.name == "bm25":
            assert set(others.values()) == {"bm25", point["place"], None}
            continue
        pair = result[one.name]
        assert point["difference"] == pair.difference
        assert (point["difference_low"], point["difference_high"]) == (pair.low, pair.high)
        for name in ("p", "p_adjusted", "verdict", "wins", "ties", "losses"):
            assert point[name] == getattr(pair, name)
        ratios = point["ratio"], point["ratio_low"], point["ratio_high"]
        assert ratios == (pair.ratio, pair.ratio_low, pair.ratio_high)
        assert (point["ratio"] is None) == (measure != "GMAP")


def test_without_a_baseline_there_are_no_differences() -> None:
    every = compare(*DEMO, all_pairs=True)
    for point in figures.leaderboard(every).points:
        assert (point["difference"], point["wins"], point["verdict"]) == (None, None, None)


def test_means_by_cutoff_are_those_of_single_evaluations() -> None:
    points = figures.by_cutoff(FOUND, cutoffs=[3, 10, 1]).points
    assert [point["cutoff"] for point in points] == [1, 3, 10] * 4
    for k in (1, 3, 10):
        scores = evaluate(*DEMO, f"nDCG@{k}")
        for point in points:
            if point["cutoff"] == k:
                own = scores[point["system"]]
                assert point["mean"] == own[f"nDCG@{k}"]
                _, low, high = means(list(own.per_query(f"nDCG@{k}").values()))
                assert (point["low"], point["high"]) == pytest.approx((low, high), rel=1e-12)
    at_ten = {point["system"]: point for point in points if point["cutoff"] == 10}
    for one in FOUND["nDCG@10"].systems:  # to the last bit
        shown = at_ten[one.name]
        assert (shown["mean"], shown["low"], shown["high"]) == (one.mean, one.low, one.high)


def test_a_measure_that_was_not_compared_has_a_curve() -> None:
    points = figures.by_cutoff(FOUND, "P(rel=2)@7", [5]).points
    for point in points:
        own = evaluate(DEMO[0], str(demo.HERE / f"{point['system']}.run"), "P(rel=2)@5")
        assert point["mean"] == own["P(rel=2)@5"]


@pytest.mark.parametrize("rel", [1, 2])
def test_mean_precision_at_recall_is_that_of_a_slow_loop(rel: int) -> None:
    points = figures.precision_recall(FOUND, rel=rel).points
    assert [point["recall"] for point in points] == [i / 10 for i in range(11)] * 4
    for run in DEMO[1]:
        ranked, name = rankings(run), Path(run).stem
        shown = [point for point in points if point["system"] == name]
        for tenths in range(11):
            values = []
            for query, judged in grades().items():
                total = sum(grade >= rel for grade in judged.values())
                needed, found, best = (2 * tenths * total + 10) // 20, 0, Fraction(0)
                for rank, doc in enumerate(ranked.get(query, []), 1):
                    found += judged.get(doc, 0) >= rel
                    if judged.get(doc, 0) >= rel and found >= needed:
                        best = max(best, Fraction(found, rank))
                values.append(float(best))
            one = shown[tenths]
            expected = pytest.approx(means(values), rel=1e-12)
            assert (one["precision"], one["low"], one["high"]) == expected


def test_precision_by_recall_takes_the_level_that_a_measure_states() -> None:
    stated = figures.precision_recall(compare(*DEMO, "nDCG AP(rel=2)")).points
    assert stated == figures.precision_recall(FOUND, rel=2).points
    assert stated != figures.precision_recall(FOUND).points


def test_what_is_judged_at_each_rank_is_counted() -> None:
    points = figures.judged_by_rank(FOUND, 100).points
    assert len(points) == 4 * 100
    judged = grades()
    for run in DEMO[1]:
        ranked = rankings(run)
        for rank in range(1, 101):
            there = [(q, docs[rank - 1]) for q, docs in ranked.items() if len(docs) >= rank]
            hits = sum(doc in judged[query] for query, doc in there)
            (point,) = (
                one for one in points if (one["system"], one["rank"]) == (Path(run).stem, rank)
            )
            assert point["retrieved"] == len(there)
            assert point["judged"] == (hits / len(there) if there else None)


def test_what_is_judged_follows_the_order_of_ties() -> None:
    """Of two documents of one score, the judged one is first, last, or either half of the time."""
    judgments = {"q1": {"a": 1, "x": 0}}
    run = {"r": {"q1": {"a": 1.0, "b": 1.0, "x": 0.5}}}

    def shares(**options: Any) -> list[float]:
        found = compare(judgments, run, "P@1", **options)
        return [one["judged"] for one in figures.judged_by_rank(found, 3).points]

    assert shares() == [0, 1, 1]
    assert shares(ties="ascending") == [1, 0, 1]
    assert shares(ties="best") == [1, 0, 1]
    assert shares(ties="expected") == [1 / 2, 1 / 2, 1]
    assert shares(judged_only=True) == [1, 1, None]
    assert shares(depth=1) == [0, None, None]


def test_queries_that_were_dropped_are_not_counted() -> None:
    judgments = {"q1": {"a": 1}, "q2": {"a": 1}}
    runs = {"x": {"q1": ["a"], "q2": ["b"]}, "y": {"q1": ["a"]}}
    found = compare(judgments, runs, "P@1", missing="drop")
    assert [one["retrieved"] for one in figures.judged_by_rank(found, 1).points] == [1, 1]
    assert [one["mean"] for one in figures.by_cutoff(found, cutoffs=[1]).points] == [1, 1]
    kept = compare(judgments, runs, "P@1")
    assert [one["retrieved"] for one in figures.judged_by_rank(kept, 1).points] == [2, 1]
    assert [one["mean"] for one in figures.by_cutoff(kept, cutoffs=[1]).points] == [1 / 2, 1 / 2]


def test_differences_are_those_of_the_scores() -> None:
    scores = evaluate(*DEMO, "nDCG@10").per_query("nDCG@10")
    for one, other in (("dense", "tfidf"), ("bm25", "dense")):
        points = figures.differences(FOUND, one, other).points
        assert points == figures.scatter(FOUND, one, other).points
        gains = [point["difference"] for point in points]
        assert gains == sorted(gains, reverse=True)
        found = {p["query_id"]: (p["score"], p["other_score"]) for p in points}
        assert found == {q: (scores[one][q], scores[other][q]) for q in scores[one]}
        assert gains == [p["score"] - p["other_score"] for p in points]
        assert "ratio" not in points[0]


def test_differences_of_a_geometric_mean_are_ratios() -> None:
    points = figures.differences(FOUND, "dense", "bm25", "GMAP").points
    for one in points:
        floored = max(one["score"], 1e-5) / max(one["other_score"], 1e-5)
        assert one["ratio"] == pytest.approx(floored, rel=1e-12)
    ratios = [one["ratio"] for one in points]
    assert ratios == sorted(ratios, reverse=True)
    mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
    assert mean == pytest.approx(FOUND["GMAP"]["dense"].ratio, rel=1e-12)


@pytest.mark.parametrize("measure", ["nDCG@10", "GMAP"])
def test_two_systems_that_were_not_compared_are_said_as_they_are(measure: str) -> None:
    """Of a comparison with a baseline; and the other way round."""
    pairs = compare(*DEMO, measure, all_pairs=True)[measure]
    for one, other in (("dense", "fusion"), ("fusion", "dense")):
        said = figures.differences(FOUND, one, other, measure).subtitle
        pair = pairs["dense", "fusion"]
        mean, low, high = pair.difference, pair.low, pair.high
        assert low is not None
        assert high is not None
        if one == "fusion":
            mean, low, high = -mean, -high, -low
        show = "{:.4f}" if measure == "GMAP" else "{:+.4f}"
        shown = [math.exp(x) if measure == "GMAP" else x for x in (mean, low, high)]
        assert "{} (95% interval {} to {})".format(*map(show.format, shown)) in said
        wins, losses = (pair.wins, pair.losses) if one == "dense" else (pair.losses, pair.wins)
        assert re.search(
            rf"better on {wins} quer\w+, equal on {pair.ties}, worse on {losses}$", said
        )


@pytest.mark.parametrize(
    ("given", "options", "expected"),
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
def test_which_two_are_drawn(given: Any, options: Any, expected: tuple[str, str]) -> None:
    found = compare(*DEMO, **options)
    best = [one.name for one in found["nDCG@10"].ordered]
    assert best[:2] == ["dense", "fusion"]
    assert figures.scatter(found, *given).title == "nDCG@10: {} and {}".format(*expected)


@pytest.mark.parametrize("measure", ["nDCG@10", "SearchLength"])
def test_the_spread_has_the_quantiles(measure: str) -> None:
    scores = evaluate(*DEMO, measure).per_query(measure)
    names = {"least": 0, "q05": 5, "q25": 25, "median": 50, "q75": 75, "q95": 95, "greatest": 100}
    points = figures.spread(FOUND, measure).points
    assert [one["system"] for one in points] == [one.name for one in FOUND[measure].ordered]
    for point in points:
        assert point["scores"] == list(scores[point["system"]].values())
        ordered = sorted(point["scores"])
        for name, hundredths in names.items():
            whole, part = divmod((len(ordered) - 1) * hundredths, 100)
            above = ordered[min(whole + 1, len(ordered) - 1)]
            between = ordered[whole] + part / 100 * (above - ordered[whole])
            assert point[name] == pytest.approx(between, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("measure", ["nDCG@10", "GMAP"])
def test_the_matrix_has_every_pair_once(measure: str) -> None:
    points = figures.pair_matrix(FOUND, measure).points
    pairs = compare(*DEMO, "nDCG@10 AP GMAP SearchLength", all_pairs=True)[measure].pairs
    names = [Path(run).stem for run in DEMO[1]]
    assert [(one["system"], one["other"]) for one in points] == [*combinations(names, 2)]
    for point, pair in zip(points, pairs, strict=True):
        assert point == {name: getattr(pair, name) for name in point}
        assert len(point) == 17


@pytest.mark.parametrize(("measure", "rel"), [("nDCG@10", 1), ("AP", 1), ("AP(rel=2)", 2)])
def test_scores_by_relevant_documents(measure: str, rel: int) -> None:
    found = compare(*DEMO, measure)
    points = figures.by_relevant(found, None, "dense", "tfidf").points
    judged, scores = grades(), evaluate(*DEMO, measure).per_query(measure)
    assert [(one["query_id"], one["system"]) for one in points] == [
        (query, system) for query in sorted(judged) for system in ("dense", "tfidf")
    ]
    for one in points:
        query = one["query_id"]
        assert one["relevant"] == sum(grade >= rel for grade in judged[query].values())
        assert one["score"] == scores[one["system"]][query]


@pytest.mark.parametrize("measure", ["AP", "GMAP"])
def test_slices_are_what_compare_found(measure: str) -> None:
    points = iter(figures.by_slice(FOUND, measure).points)
    of_pair = {"difference_low": "low", "difference_high": "high"}
    for name in ("odd", "even"):
        result = FOUND.slice(measure, name)
        for one in result.systems:
            pair = None if one.name == "bm25" else result[one.name]
            point = next(points)
            label = ("parity", name, 20, one.name, one.mean, one.low, one.high)
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
        OF_RUNS[name](SAVED)


@pytest.mark.parametrize("name", OF_SAVED)
def test_scores_that_were_made_before_are_drawn(name: str) -> None:
    assert OF_SAVED[name](SAVED).points == OF_SAVED[name](compare(*DEMO)).points or name in (
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
        for asked in (lambda figure=figure: figure.chart, figure.to_svg, figure.to_pdf):
            with pytest.raises(LibraryError, match="altair: pip install altair"):
                asked()
    absent = ["figure", "leaderboard", "no-such-file", "neither", "-o", str(tmp_path / "a.svg")]
    said = CliRunner().invoke(cli, absent)
    assert said.exit_code == 2
    assert "pip install altair" in said.stderr  # before anything is read


# ---- what is drawn ------------------------------------------------------------------------------


def marks(figure: Figure) -> list[dict[str, str]]:
    """Return what the marks of a picture say of themselves: {title: value}."""
    root = ElementTree.fromstring(figure.to_svg())  # noqa: S314 - our own
    symbols = (one for one in root.iter() if one.get("role") == "graphics-symbol")
    said = (one.get("aria-label", "").replace("\u2212", "-") for one in symbols)
    return [dict(re.findall(r"([^:;]+): ([^;]*)(?:; |$)", one)) for one in said if one]


def texts(figure: Figure) -> list[str]:
    """Return the texts of a picture."""
    root = ElementTree.fromstring(figure.to_svg())  # noqa: S314 - our own
    return [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("style", STYLES)
def test_the_leaderboard_as_it_is_drawn(style: StyleName) -> None:
    figure = figures.leaderboard(FOUND, style=style)
    drawn = [one for one in marks(figure) if "kind" in one]
    assert [one["system"] for one in drawn] == [one["system"] for one in figure.points]
    for one, point in zip(drawn, figure.points, strict=True):
        assert float(one["nDCG@10"]) == pytest.approx(point["mean"], rel=1e-11)
        expected = {"better": "better", None: "not significant"}[point["verdict"]]
        assert one["kind"] == ("baseline" if point["system"] == "bm25" else expected)
    shown = [f"{point['mean']:.4f}" in texts(figure) for point in figure.points]
    assert shown == [style != "paper"] * 4


@pytest.mark.parametrize("style", STYLES)
def test_differences_as_they_are_drawn(style: StyleName) -> None:
    figure = figures.differences(FOUND, style=style)
    drawn = {one["query_id"]: one for one in marks(figure) if "query_id" in one}
    assert len(drawn) == 40
    for point in figure.points:
        one = drawn[point["query_id"]]
        assert float(one["difference in nDCG@10"]) == pytest.approx(point["difference"], abs=1e-11)
        gain = point["difference"]
        assert one["kind"] == ("better" if gain > 0 else "worse" if gain < 0 else "tied")


def test_where_less_is_better_a_fall_is_better() -> None:
    figure = figures.differences(FOUND, "dense", "bm25", "SearchLength")
    wins = FOUND["SearchLength"]["dense"].wins
    kinds = [one["kind"] for one in marks(figure) if "query_id" in one]
    assert kinds.count("better") == wins > 0
    assert kinds.count("worse") == FOUND["SearchLength"]["dense"].losses
    assert any("less is better" in text for text in texts(figure))


def test_curves_as_they_are_drawn() -> None:
    figure = figures.by_cutoff(FOUND, cutoffs=[1, 10, 50])
    drawn = [one for one in marks(figure) if "system" in one and "cutoff k" in one]
    assert len(drawn) == len(figure.points) == 12
    shown = sorted((one["system"], int(one["cutoff k"]), float(one["nDCG@k"])) for one in drawn)
    wanted = sorted((one["system"], one["cutoff"], one["mean"]) for one in figure.points)
    for one, point in zip(shown, wanted, strict=True):
        assert one[:2] == point[:2]
        assert one[2] == pytest.approx(point[2], rel=1e-11)


def test_the_matrix_as_it_is_drawn() -> None:
    figure = figures.pair_matrix(FOUND)
    cells = {(one["system"], one["other"]): one for one in marks(figure) if "other" in one}
    assert len(cells) == 4 * 3
    for point in figure.points:
        there = cells[point["system"], point["other"]]
        back = cells[point["other"], point["system"]]
        assert float(there["difference"]) == pytest.approx(point["difference"], abs=1e-11)
        assert float(back["difference"]) == pytest.approx(-point["difference"], abs=1e-11)
        assert (there["fill"] == "#ffffff") == (point["verdict"] is None)


def test_what_is_judged_as_it_is_drawn() -> None:
    figure = figures.judged_by_rank(FOUND, 10)
    drawn = {(one["system"], int(one["rank"])): one for one in marks(figure) if "rank" in one}
    assert len(drawn) == 40
    for point in figure.points:
        one = drawn[point["system"], point["rank"]]
        assert float(one["judged"]) == pytest.approx(point["judged"], rel=1e-11)


def test_every_picture_has_its_intervals() -> None:
    """Of what is a mean: the data that are drawn have its ends."""
    for draw in (figures.leaderboard, figures.by_cutoff, figures.by_slice, figures.by_relevant):
        rows = [row for data in draw(FOUND).spec["datasets"].values() for row in data]
        assert any(row.get("low", 0) < row.get("high", 0) for row in rows)
        assert "95% interval" in draw(FOUND).caption


@pytest.mark.parametrize("name", EVERY)
def test_styles_have_their_width(name: str, tmp_path: Path) -> None:
    widths: dict[StyleName, int] = {"screen": 640, "paper": 240, "slides": 1120}
    of_this = [[*widths][[*EVERY].index(name) % 3]]  # in the quick profile
    for style in widths if thorough() else of_this:
        width = widths[style]
        figure = EVERY[name](FOUND, style=style)
        root = ElementTree.fromstring(figure.to_svg())  # noqa: S314 - our own
        unit = "pt" if style == "paper" else ""
        assert root.attrib["width"] == f"{width}{unit}"
        titled = figure.title.split(" ")[0] in " ".join(texts(figure))
        assert titled or style == "paper"
        assert figure.title in figure.caption
        png = figure.to_png(1)
        assert struct.unpack(">I", png[16:20]) == (width,)
    if name not in some_of(EVERY):
        return
    path = tmp_path / "a.pdf"
    EVERY[name](FOUND, style="paper").save(path)
    (box,) = set(re.findall(rb"/MediaBox ?\[0 0 (\d+)", path.read_bytes()))
    assert int(box) == 240  # points, of which an inch has 72: 3.33 inches


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("style", STYLES)
def test_names_from_files_are_texts(name: str, style: StyleName) -> None:
    source = np.random.default_rng(3)
    queries = [f"{one}{i}" for i, one in enumerate(NASTY)]
    judgments = {
        query: {f"d{i}": int(source.integers(0, 3)) for i in range(9)} for query in queries
    }
    runs = {one: {q: [f"d{i}" for i in source.permutation(9)] for q in queries} for one in NASTY}
    labels = {"kind": {query: NASTY[i % 5] for i, query in enumerate(queries)}}
    found = compare(judgments, runs, "nDCG@5", slices=labels)
    figure = EVERY[name](found, style=style)
    root = ElementTree.fromstring(figure.to_svg())  # noqa: S314 - which is well formed
    assert not {"script", "a", "image"} & {one.tag.rpartition("}")[2] for one in root.iter()}
    if name in some_of(EVERY):
        assert figure.to_pdf()[:4] == b"%PDF"
    spec = json.dumps(figure.spec)
    assert "\\u202e" not in spec.replace("\\\\u202e", "")
    assert max(map(len, re.findall(r'"[^"]*"', spec))) < 2_000


def test_systems_with_names_alike_are_told_apart() -> None:
    found = compare({one: {"q1": i / 9, "q2": 0.5} for i, one in enumerate(NASTY[2:4])})
    rows = [one["system"] for one in marks(figures.leaderboard(found)) if "kind" in one]
    assert len(set(rows)) == 2


def test_many_queries_and_systems_are_cut_down_and_it_is_said() -> None:
    source = np.random.default_rng(5)
    columns = {
        f"s{i:02}": {f"q{j:04}": float(one) for j, one in enumerate(source.random(2_000))}
        for i in range(30)
    }
    found = compare(columns, test="t")
    figure = figures.differences(found)
    assert len(figure.points) == 2_000
    assert "400 of 2,000 queries are drawn" in figure.caption
    assert len(json.dumps(figure.spec)) < 200_000
    squares = figures.scatter(found)
    assert "how many are in each of 40 x 40 squares" in squares.caption
    counts = [int(one["queries"]) for one in marks(squares) if "queries" in one]
    assert sum(counts) == 2_000
    assert "A dot for each query" not in figures.spread(found).caption
    for draw in (figures.leaderboard, figures.spread, figures.pair_matrix):
        slide = draw(found, style="slides")
        assert "14 of 30 systems are drawn" in slide.caption
        assert "systems are drawn" not in draw(found).caption
    kept = [
        one["system"] for one in marks(figures.leaderboard(found, style="slides")) if "kind" in one
    ]
    assert "s00" in kept  # the baseline
    assert len(kept) == 14


def test_doubts_are_on_the_picture() -> None:
    few = compare({"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.0, "q2": 1.0}})
    figure = figures.leaderboard(few)
    assert "few-queries" in [note.code for note in figure.notes]
    assert all(note.is_grave for note in figure.notes)
    assert "few-queries" in figure.caption


def test_the_gallery_is_what_is_drawn() -> None:
    """If not: python scripts/make_docs.py."""
    drawn = make_docs.gallery()
    assert len(drawn) == len(EVERY) + 1
    page = (make_docs.ROOT / "docs" / "how-to" / "figures.md").read_text("utf-8")
    for path, figure in drawn.items():
        assert f"(../pictures/{path.name})" in page
        root = ElementTree.parse(path).getroot()  # noqa: S314 - our own
        now = ElementTree.fromstring(figure.to_svg())  # noqa: S314 - our own
        said, wanted = (list(map(_label, tree.iter())) for tree in (root, now))
        assert said == wanted, path.name


def _label(element: ElementTree.Element) -> str | None:
    """Return the label of a mark; last digits of limits differ between versions of scipy."""
    label = element.get("aria-label")
    return label and re.sub(r"\d+\.\d{7,}", lambda found: f"{float(found[0]):.6f}", label)


def test_of_one_query_there_is_no_interval() -> None:
    """Nor does a picture say that there is one."""
    found = compare({"a": {"q1": 0.5}, "b": {"q1": 0.25}})
    for draw in (figures.leaderboard, figures.differences):
        figure = draw(found)
        assert "95%" not in figure.caption
        assert figure.to_svg()
    ticks = [text for text in texts(figures.differences(found)) if text.isdigit()]
    assert ticks.count("1") <= 2  # of the queries once, if at all


# ---- the command --------------------------------------------------------------------------------


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["figure", *map(str, arguments)])
    return result.exit_code, result.stderr


@pytest.mark.parametrize("name", some_of(EVERY))
def test_the_command_draws_what_the_function_draws(name: str, tmp_path: Path) -> None:
    path, labels = tmp_path / "a.json", tmp_path / "labels.csv"
    labels.write_text("query_id,parity\n" + "".join(f"{q},{one}\n" for q, one in PARITY.items()))
    given = [*DEMO[1], "-m", "AP", "--baseline", "tfidf", "--alpha", "0.1"]
    options: dict[str, Any] = {"baseline": "tfidf", "alpha": 0.1}
    if name == "by_slice":
        given += ["--slices", str(labels)]
        options["slices"] = {"parity": PARITY}
    status, said = run(name.replace("_", "-"), DEMO[0], *given, "--style", "slides", "-o", path)
    assert status == 0
    assert f"note: wrote {path}\n" in said
    expected = EVERY[name](compare(*DEMO, "AP", **options), style="slides")
    assert json.loads(path.read_text()) == expected.spec


def test_what_a_command_refuses(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    saved = tmp_path / "scores.json"
    CliRunner().invoke(cli, ["evaluate", *map(str, (DEMO[0], *DEMO[1])), "-q", "-o", str(saved)])
    refused = [
        (["leaderboard", DEMO[0], *DEMO[1], "-m", "AP", "-m", "P@5"], "one measure"),
        (["leaderboard", DEMO[0], *DEMO[1], "--slices", "x"], "by-slice"),
        (["by-slice", DEMO[0], *DEMO[1]], "there are no slices"),
        (["judged-by-rank", "--saved", saved], "precomputed scores"),
        (["by-cutoff", DEMO[0], *DEMO[1], "--cutoffs", "1,x"], "'x'"),
        (["precision-recall", DEMO[0], *DEMO[1], "--query", "q22"], "draws one RUN"),
        (["precision-recall", DEMO[0], DEMO[1][0], "--query", "q22", "--flips", "9"], "--flips"),
        (["precision-recall", DEMO[0], DEMO[1][0], "--query", "q22", "-m", "AP"], "--measure"),
        (["scatter", DEMO[0], *DEMO[1], "--system", "den"], "try dense"),
    ]
    for arguments, message in refused:
        status, said = run(*arguments, "-o", path)
        assert (status, message in said) == (2, True), said
        assert not path.exists()
    assert run("leaderboard", "--saved", saved, "-m", "AP", "-o", path)[0] == 0
    assert path.exists()


def test_a_caption_is_printed_for_a_paper(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    status, said = run("scatter", DEMO[0], *DEMO[1], "-o", path, "--style", "paper")
    figure = figures.scatter(compare(*DEMO), style="paper")
    assert status == 0
    assert f"caption: {figure.caption}\n" in said
    assert path.read_text("utf-8") == figure.to_svg()


def test_comparisons_are_what_the_figures_take() -> None:
    assert isinstance(FOUND, Comparison)
    assert set(EVERY) <= set(vars(figures))
