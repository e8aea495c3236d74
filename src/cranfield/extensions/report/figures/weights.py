"""What ranks are worth: how a measure values a relevant document at each rank."""

from collections.abc import Sequence
from dataclasses import replace

from cranfield.errors import MeasureError, escape_unprintable
from cranfield.extensions.report.figures.figure import Figure
from cranfield.extensions.report.figures.marks import (
    SHARE_AXIS,
    draw_lines,
    draw_points,
    make_chart,
    number_channel,
    rank_axis,
)
from cranfield.extensions.report.figures.style import COLOURS, A, Drawing, Style, StyleName
from cranfield.measures import Measure
from cranfield.options import check_option, whole_check
from cranfield.scoring.evaluate import MeasuresLike, evaluate, list_measures

DEFAULT_MEASURES = "P@10 RBP(p=0.8) DCG RR"
DEPTH = 20  # ranks
_MAX_DEPTH = 100  # points that a reader can still distinguish


def rank_weights(
    measures: MeasuresLike = DEFAULT_MEASURES, depth: int = DEPTH, *, style: StyleName = "screen"
) -> Figure:
    """Draw how much each measure values a relevant document at each rank, compared with rank 1.

    For every rank, the measure scores a ranking of `depth` documents whose only relevant one, of
    grade 1, is there. What it gives is divided by what it gives at rank 1, so that the shapes
    can be compared: RR falls as 1/rank, DCG as 1/log2(rank + 1), RBP as p^(rank - 1), and P@10
    values the first ten ranks alike and no other. For a measure in which a document's value
    depends on others, such as AP, this is the value of a single relevant document.

    Args:
        measures: as `evaluate` takes them; seven at most. A measure that is a text, or is not above
            0 at rank 1, is refused.
        depth: how many ranks, 2 to 100.
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; its points have "rank", "weight" and "measure".

    Raises:
        MeasureError: a measure that does not exist, too many, or one without weights.
        OptionError: a depth out of range.
        LibraryError: when it is drawn, if Altair or vl-convert is not installed.

    >>> figure = rank_weights("P@2 RR", depth=3)
    >>> [point["weight"] for point in figure.points]
    [1.0, 1.0, 0.0, 1.0, 0.5, 0.3333333333333333]

    """
    parsed_measures = list_measures(measures)
    if len(parsed_measures) > len(COLOURS):
        raise MeasureError(
            f"{len(parsed_measures)} measures in one picture: at most {len(COLOURS)} lines "
            "can be distinguished"
        )
    names = [escape_unprintable(_write_name(measure)) for measure in parsed_measures]
    points = [
        {"rank": rank, "weight": value / values[0], "measure": name}
        for name, values in zip(names, _score_single_documents(parsed_measures, depth), strict=True)
        for rank, value in enumerate(values, 1)
    ]

    def draw(style: Style) -> Drawing:
        y = number_channel("weight", title="weight, relative to rank 1", axis=SHARE_AXIS)
        base = make_chart(points, x=rank_axis("rank", depth), y=y)
        layers = [
            draw_series(base, "measure", names, style) for draw_series in (draw_lines, draw_points)
        ]
        return Drawing(layers, style.height)

    return Figure(
        points,
        "What a relevant document is worth at each rank",
        "what the measure gives to the only relevant document, divided by what it gives at rank 1",
        draw,
        style,
    )


def reciprocal_rank(depth: int = DEPTH, *, style: StyleName = "screen") -> Figure:
    """Draw how 1/rank falls: the reciprocal rank by the rank of the first relevant document.

    Args:
        depth: how many ranks, 2 to 100; up to 20, the first ten values are written out.
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; its points have "rank" and "value".

    Raises:
        OptionError: a depth out of range.
        LibraryError: when it is drawn, if Altair or vl-convert is not installed.

    >>> [point["rank"] for point in reciprocal_rank(3).points]
    [1, 2, 3]

    """
    (values,) = _score_single_documents((Measure("RR"),), depth)
    points = [{"rank": rank, "value": value} for rank, value in enumerate(values, 1)]

    def draw(style: Style) -> Drawing:
        x = rank_axis("rank of the first relevant document", depth)
        base = make_chart(
            points, x=x, y=number_channel("value", title="reciprocal rank", axis=SHARE_AXIS)
        )
        layers = [base.mark_bar(color=A, size=0.55 * style.width / depth)]
        if depth <= DEPTH:
            first_ranks = base.transform_filter(f"(datum.rank <= {DEPTH / 2})")
            texts = first_ranks.mark_text(dy=-0.7 * style.size, aria=False)
            layers.append(texts.encode(text=number_channel("value", format=".2~f")))
        return Drawing(layers, style.height)

    return Figure(
        points,
        "How 1/rank falls",
        "RR, the reciprocal rank: 1 divided by the rank of the first relevant document",
        draw,
        style,
    )


def _score_single_documents(measures: Sequence[Measure], depth: int) -> list[list[float]]:
    """Return each measure's value for a ranking whose only relevant document is at each rank."""
    ranks = range(1, check_option("depth", depth, whole_check(2, _MAX_DEPTH)) + 1)
    rankings = {
        str(rank): ["relevant" if position == rank else f"other {position}" for position in ranks]
        for rank in ranks
    }
    scores = evaluate({query: {"relevant": 1} for query in rankings}, rankings, measures)
    values_of_measure = []
    for measure in measures:
        values = scores.per_query(measure)
        if measure.definition.is_text or not values["1"] > 0:
            raise MeasureError(
                f"{measure} gives {values['1']} to a ranking whose only relevant document, of "
                "grade 1, is the first: so ranks cannot be compared with the first"
            )
        values_of_measure.append([values[query] for query in rankings])
    return values_of_measure


def _write_name(measure: Measure) -> str:
    """Return a measure's name with its real numbers, such as RBP's p, also default ones."""
    reals = {name: value for name, value in measure.parameters.items() if isinstance(value, float)}
    return str(replace(measure, given=tuple((dict(measure.given) | reals).items())))
