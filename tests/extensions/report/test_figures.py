"""Pictures: the numbers in them by arithmetic and slow loops, the files that they become."""

import json
import re
import struct
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import log2
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair as alt
import make_docs
import pytest
from click.testing import CliRunner
from helpers.commands import HEAVY, loaded_modules

from cranfield import InputError, LibraryError, MeasureError, OptionError, demo
from cranfield.cli import cli
from cranfield.extensions.report.figures.style import Drawing
from cranfield.figures import Figure, precision_recall, rank_weights, reciprocal_rank

NASTY = "<q&\"'>\x1b[31m\u202e\udcff</svg>"
NASTY_SHOWN = "<q&\"'>\\x1b[31m\\u202e\\udcff</svg>"
PAIR = {"q1": {"a": 1, "b": 1}}, {"q1": ["a", "x", "b"]}


def weights(figure: Figure) -> dict[str, list[float]]:
    """Return {measure: its weights, rank after rank}."""
    values_of_measure: dict[str, list[float]] = {}
    for point in figure.points:
        values_of_measure.setdefault(point["measure"], []).append(point["weight"])
        assert point["rank"] == len(values_of_measure[point["measure"]])
    return values_of_measure


FORMULAS: dict[str, Callable[[int], float]] = {
    "P@10": lambda rank: float(rank <= 10),
    "RBP(p=0.8)": lambda rank: 0.8 ** (rank - 1),
    "DCG": lambda rank: 1 / log2(rank + 1),
    "RR": lambda rank: 1 / rank,
}


def test_weights_are_what_the_formulas_say() -> None:
    expected = {
        name: pytest.approx([f(rank) for rank in range(1, 21)], rel=1e-14)
        for name, f in FORMULAS.items()
    }
    assert weights(rank_weights()) == expected


def test_weights_of_any_measure() -> None:
    weights_of_measure = weights(rank_weights(["nDCG@3", "AP ERR"], depth=4))
    assert weights_of_measure["nDCG@3"] == pytest.approx([1, 1 / log2(3), 1 / 2, 0], rel=1e-14)
    assert weights_of_measure["AP"] == [1, 1 / 2, 1 / 3, 1 / 4]
    # The user stops at rank i with probability 1/2 if its document has the top grade, 1.
    assert weights_of_measure["ERR"] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4], rel=1e-14)
    assert list(weights(rank_weights("RBP(p=0.5)", 2))) == ["RBP(p=0.5)"]


@pytest.mark.parametrize("name", ["P(rel=2)@5", "RelString", "SearchLength"])
def test_a_measure_without_weights_is_refused(name: str) -> None:
    with pytest.raises(MeasureError, match="to a ranking whose only relevant document"):
        rank_weights(name)


def test_lines_that_could_not_be_told_apart_are_refused() -> None:
    assert len(weights(rank_weights("P@1..7", depth=2))) == 7
    with pytest.raises(MeasureError, match="8 measures in one picture"):
        rank_weights("P@1..8")


@pytest.mark.parametrize("depth", [1, 0, -3, 101, 2.5, True, "20"])
def test_a_depth_out_of_range_is_refused(depth: Any) -> None:
    for draw in (rank_weights, reciprocal_rank):
        with pytest.raises(OptionError, match="a whole number from 2 to 100"):
            draw(depth=depth)


def test_the_reciprocal_rank_is_1_over_rank() -> None:
    for depth in (2, 20, 100):
        expected = [{"rank": rank, "value": 1 / rank} for rank in range(1, depth + 1)]
        assert list(reciprocal_rank(depth).points) == expected


# ---- precision and recall ---------------------------------------------------------------------


def read(run: Path, query: str) -> tuple[dict[str, int], list[str]]:
    """Return one query's grades, and its documents in the order of the run."""
    judged = [line.split() for line in demo.QRELS.read_text().splitlines()]
    rows = [line.split() for line in run.read_text().splitlines()]
    ranking = sorted(((float(row[4]), row[2]) for row in rows if row[0] == query), reverse=True)
    grades = {doc: int(grade) for q, _, doc, grade in judged if q == query}
    return grades, [doc for _, doc in ranking]


def curve(
    grades: dict[str, int], ranking: list[str], rel: int
) -> tuple[list[tuple[Fraction, Fraction, int]], list[Fraction]]:
    """Return (recall, precision, rank) of each relevant document, and precision at 11 recalls."""
    total, n_hits, points = sum(grade >= rel for grade in grades.values()), 0, []
    for rank, doc in enumerate(ranking, 1):
        if grades.get(doc, 0) >= rel:
            n_hits += 1
            points.append((Fraction(n_hits, total), Fraction(n_hits, rank), rank))
    eleven = []
    for tenths in range(11):
        n_needed = (2 * tenths * total + 10) // 20  # tenths / 10 of all, halves rounded up
        precisions = [p for n, (_, p, _) in enumerate(points, 1) if n >= n_needed]
        eleven.append(max(precisions, default=Fraction(0)))
    return points, eleven


@pytest.mark.parametrize("rel", [1, 2])
def test_precision_and_recall_are_those_of_a_slow_loop(rel: int) -> None:
    n_drawn = 0
    for run in (demo.RUNS[0], demo.RUNS[2]):
        for query in ("q07", "q15", "q22", "q32"):
            points, eleven = curve(*read(run, query), rel)
            if not points:
                with pytest.raises(InputError, match="no relevant document"):
                    precision_recall(demo.QRELS, run, query, rel=rel)
                continue
            figure = precision_recall(demo.QRELS, run, query, rel=rel)
            hits = [point for point in figure.points if "rank" in point]
            other_points = [point for point in figure.points if "rank" not in point]
            assert [point["rank"] for point in hits] == [rank for _, _, rank in points]
            assert [(point["recall"], point["precision"]) for point in hits] == [
                (float(recall), float(precision)) for recall, precision, _ in points
            ]
            assert [point["recall"] for point in other_points] == [i / 10 for i in range(11)]
            assert [point["precision"] for point in other_points] == [float(p) for p in eleven]
            n_drawn += 1
    assert n_drawn >= 6


def test_the_lines_go_down_the_ranking_and_along_the_highest_precision_to_come() -> None:
    """Of two relevant documents, the first and the third are retrieved, and of a third one none."""
    qrels, run = {"q1": {"a": 1, "b": 1, "c": 1}}, {"q1": ["a", "x", "b", "y"]}
    spec = precision_recall(qrels, run, "q1").spec
    lines = [layer for layer in spec["layer"] if layer["mark"]["type"] == "line"]
    rows_of_layer = [spec["datasets"][layer["data"]["name"]] for layer in lines]
    steps, rank_points = (
        [(row["recall"], row["precision"]) for row in rows] for rows in rows_of_layer
    )
    assert rank_points == [(1 / 3, 1), (1 / 3, 1 / 2), (2 / 3, 2 / 3)]  # not on to rank 4
    assert steps == [(0, 1), (1 / 3, 1), (2 / 3, 2 / 3), (1, 0)]
    assert lines[0]["mark"]["interpolate"] == "step-before"
    assert lines[1]["encoding"]["order"]["field"] == "rank"


def test_a_query_may_be_a_number() -> None:
    figure = precision_recall({7: {1: 1}, 8: {1: 1}}, {7: {1: 0.5}, 8: {2: 0.5}}, 7)
    assert figure.title == "Precision and recall of query 7"


def test_a_query_is_a_text_or_a_number() -> None:
    wrong: list[Any] = [b"q1", ["q1"], True]
    for query in wrong:
        with pytest.raises(OptionError, match="a query id is a string or a whole number"):
            precision_recall(*PAIR, query)


def test_options_reach_the_judging() -> None:
    qrels, run = {"q1": {"a": 0, "b": 1, "c": 1}}, {"q1": {"x": 1, "a": 1, "b": 1, "c": 0.5}}

    def ranks(**options: Any) -> list[int]:
        points = precision_recall(qrels, run, "q1", **options).points
        return [point["rank"] for point in points if "rank" in point]

    assert ranks() == [2, 4]
    assert ranks(ties="ascending") == [2, 4]
    assert ranks(ties="best") == [1, 4]
    assert ranks(judged_only=True) == [1, 3]
    assert ranks(depth=2) == [2]
    assert ranks(rel=0) == [2, 3, 4]
    with pytest.raises(MeasureError, match="expected"):
        ranks(ties="expected")


@pytest.mark.parametrize(
    ("qrels", "query", "message"),
    [
        ({"q1": {"a": 1}}, "q9", "no judgments for the query 'q9'.*\n.*'q1'"),
        ({"q1": {"a": 0}}, "q1", "'q1' has no relevant document: "),
        ({"q1": {"b": 1}}, "q1", "the run 'run' has no relevant document for the query 'q1'"),
        ({"q1": {"a": 1}, "q2": {"a": 1}}, "q2", "the run 'run' has nothing for the query 'q2'"),
        ({"q1": {"s": {"a": 1}, "t": {"a": 0}}}, "q1", "one grade for each document"),
    ],
)
def test_a_query_without_a_curve_is_refused(qrels: Any, query: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        precision_recall(qrels, {"q1": ["a"]}, query)


# ---- what becomes of them ---------------------------------------------------------------------


def test_svg_and_png_are_what_they_say() -> None:
    figure = precision_recall({NASTY: PAIR[0]["q1"]}, {NASTY: PAIR[1]["q1"]}, NASTY)
    svg = figure.to_svg()
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert f"Precision and recall of query {NASTY_SHOWN}" in texts
    assert {"recall", "precision", "0.0", "0.2", "1.0", "1", "3"} <= set(texts)
    assert root[0].get("fill") == "white"
    width, height = int(root.attrib["width"]), int(root.attrib["height"])
    assert 600 <= width <= 680  # as wide as a README
    png = figure.to_png()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", png[16:24]) == (2 * width, 2 * height)
    assert struct.unpack(">II", figure.to_png(scale=1)[16:24]) == (width, height)
    assert figure._repr_svg_() == svg
    wrong: list[Any] = [0, -1, 11, float("nan"), "2"]
    for scale in wrong:
        with pytest.raises(OptionError, match=r"scale=.*: expected a number above 0, 10 at most"):
            figure.to_png(scale)


def test_the_suffix_says_how_it_is_saved(tmp_path: Path) -> None:
    figure = reciprocal_rank(3)
    figure.save(tmp_path / "a.SVG")
    assert (tmp_path / "a.SVG").read_text("utf-8") == figure.to_svg()
    figure.save(str(tmp_path / "a.json"))
    assert json.loads((tmp_path / "a.json").read_text()) == figure.spec
    for name in ("a.jpg", "svg", "-", "a.svg.gz"):
        with pytest.raises(OptionError, match=r"choose one of \.svg, \.png, \.pdf, \.json"):
            figure.save(tmp_path / name)
    with pytest.raises(InputError, match="cannot be written"):
        figure.save(tmp_path / "none" / "a.json")


def test_nothing_is_fetched() -> None:
    figures_drawn = (reciprocal_rank(3), rank_weights("RR", 3), precision_recall(*PAIR, "q1"))
    assert not any('"url"' in json.dumps(figure.spec) for figure in figures_drawn)
    away = alt.Chart(alt.UrlData("http://127.0.0.1:9/a.csv")).mark_point()
    figure = Figure([], "away", "", lambda style: Drawing([away], style.height))
    for draw in (figure.to_svg, figure.to_png, figure.to_pdf):
        with pytest.raises(ValueError, match="not allowed"):
            draw()


def test_altair_is_imported_only_to_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not loaded_modules("from cranfield import figures") & {*HEAVY, "vl_convert"}
    monkeypatch.setitem(sys.modules, "vl_convert", None)  # as if it were not installed
    draws = (reciprocal_rank, rank_weights, partial(precision_recall, *PAIR, "q1"))
    for draw in draws:
        figure = draw()
        assert figure.points
        with pytest.raises(LibraryError, match="vl_convert: pip install vl-convert-python"):
            figure.to_svg()


def test_commands_write_pictures(tmp_path: Path) -> None:
    def run(*arguments: str | Path) -> tuple[int, str]:
        outcome = CliRunner().invoke(cli, ["figure", *map(str, arguments)])
        return outcome.exit_code, outcome.stderr

    svg, spec = tmp_path / "a.svg", tmp_path / "a.json"
    svg.write_text("what was there before")
    assert run("reciprocal-rank", "--depth", "3", "-o", svg) == (0, f"note: wrote {svg}\n")
    assert svg.read_text("utf-8") == reciprocal_rank(3).to_svg()
    assert run("rank-weights", "-m", "P@2 RR", "-m", "AP", "--depth", "3", "-o", spec)[0] == 0
    assert json.loads(spec.read_text()) == rank_weights("P@2 RR AP", 3).spec
    inputs = (demo.QRELS, demo.RUNS[0], "--query", "q15", "-o", spec)
    assert run("precision-recall", *inputs, "-l", "2", "--depth", "9")[0] == 0
    expected = precision_recall(demo.QRELS, demo.RUNS[0], "q15", rel=2, depth=9)
    assert json.loads(spec.read_text()) == expected.spec
    status, message = run("rank-weights", "-m", "RelString", "-o", tmp_path / "a.bmp")
    assert status == 2
    assert "choose one of .svg, .png, .pdf, .json" in message
    assert run("rank-weights")[0] == 2
    assert run()[0] == 2
    assert "Missing command" in run()[1]
    assert run("precision-recall", "-", "-", "--query", "q1", "-o", svg)[0] == 2


# ---- those of the documentation ---------------------------------------------------------------


def labels(name: str) -> Iterator[dict[str, str]]:
    """Yield what a picture of the documentation says of its points: {title: value}."""
    root = ElementTree.parse(make_docs.ROOT / "docs" / "pictures" / name)  # noqa: S314 - our own
    for element in root.iter():
        if element.get("aria-roledescription") in ("point", "bar"):
            yield dict(re.findall(r"([^:;]+): ([^;]+)(?:; |$)", element.attrib["aria-label"]))


def test_the_pictures_are_those_that_are_made() -> None:
    """If not: python scripts/make_docs.py."""
    for path, figure in make_docs.make_pictures().items():
        shown_labels = list(labels(path.name))
        assert len(shown_labels) == len(figure.points) > 10, path.name


def test_the_picture_of_1_over_rank_is_right() -> None:
    rank_labels = [
        (int(label["rank of the first relevant document"]), label)
        for label in labels("reciprocal-rank.svg")
    ]
    for rank, bounds in rank_labels:
        assert float(bounds["reciprocal rank"]) == pytest.approx(1 / rank, rel=1e-11)
    assert [rank for rank, _ in rank_labels] == list(range(1, 21))


def test_the_picture_of_weights_is_right() -> None:
    seen_measures = set()
    for label in labels("weights.svg"):
        rank, name = int(label["rank"]), label["measure"]
        expected = FORMULAS[name](rank)
        assert float(label["weight, relative to rank 1"]) == pytest.approx(expected, rel=1e-11)
        seen_measures.add((name, rank))
    assert seen_measures == {(name, rank) for name in FORMULAS for rank in range(1, 21)}


def test_the_picture_of_precision_and_recall_is_right() -> None:
    points, eleven = curve(*read(demo.HERE / "dense.run", "q22"), 1)
    expected = [(Fraction(i, 10), p) for i, p in enumerate(eleven)] + [p[:2] for p in points]
    label_points = [
        (float(label["recall"]), float(label["precision"]))
        for label in labels("precision-recall.svg")
    ]
    assert len(label_points) == len(expected)
    for label_point, exact in zip(label_points, expected, strict=True):
        assert label_point == pytest.approx(tuple(map(float, exact)), rel=1e-11)
