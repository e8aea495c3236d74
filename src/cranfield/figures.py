"""Pictures of measures and rankings: Vega-Lite charts by Altair, as SVG or PNG without a browser.

Every number in them comes from the package's own measures. They need the extra `plot`.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack, cast

from cranfield.data.judge import judge
from cranfield.data.judged import Judged
from cranfield.data.judging import Judging, JudgingOptions
from cranfield.data.qrels import Qrels, QrelsLike, as_qrels
from cranfield.data.run import Run, RunLike, as_run
from cranfield.errors import (
    InputError,
    MeasureError,
    NothingSharedError,
    OptionError,
    need,
    printable,
)
from cranfield.formats.identifiers import is_id
from cranfield.formats.source import written
from cranfield.lazy import cached_property
from cranfield.measures import Measure, Plan
from cranfield.options import checked, finite, refuse_others, takes, whole
from cranfield.scoring.arguments import check_judged
from cranfield.scoring.evaluate import MeasuresLike, evaluate, measures_of

if TYPE_CHECKING:
    import altair as alt

WEIGHTED = "P@10 RBP(p=0.8) DCG RR"
DEPTH = 20
SUFFIXES = (".svg", ".png", ".json")
RECALL_POINTS = tuple(i / 10 for i in range(11))

_LIBRARIES = ("altair", "vl_convert")
_DEEPEST = 100  # points that can still be told apart
_LARGEST_SCALE = 10
_LABELLED = 12  # so many points have room for their ranks
_WIDTH, _HEIGHT = 580, 300
_WAY = "at each rank (points: relevant documents)"
_BEST = "interpolated (points: IPrec@0.0 to IPrec@1.0)"
_SHARES = {"tickCount": 5, "labelFlush": False}  # the axis of numbers from 0 to 1: few lines
_INK = "#333333"
_DRESS: dict[str, Any] = {
    "background": "white",
    "font": "sans-serif",
    "padding": 12,
    "view": {"stroke": None},
    "title": {"fontSize": 16, "subtitleFontSize": 12, "color": _INK, "subtitleColor": _INK},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelColor": _INK,
        "titleColor": _INK,
        "gridColor": "#e4e4e4",
        "domainColor": _INK,
        "tickColor": _INK,
    },
    "legend": {"labelFontSize": 12, "labelColor": _INK, "symbolSize": 70},
    "text": {"fontSize": 11, "color": _INK},
}
# Okabe & Ito's colours, which the colour-blind can tell apart, without the yellow, too light here.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")

_Rows = Sequence[Mapping[str, Any]]  # a dict for each point
_Channel = dict[str, Any]  # what an axis, a colour or a shape shows, in Vega-Lite


@dataclass(frozen=True, eq=False)
class Figure:
    """A picture: `chart` is Altair's, `spec` the same in Vega-Lite; a notebook shows it as SVG.

    `points` are the numbers that it shows, a dict for each point.

    >>> figure = reciprocal_rank(4)
    >>> [point["value"] for point in figure.points]
    [1.0, 0.5, 0.3333333333333333, 0.25]
    """

    chart: "alt.LayerChart"
    points: _Rows
    title: str

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The chart in Vega-Lite, data included: a JSON object."""
        return self.chart.to_dict()

    def to_svg(self) -> str:
        """Return the picture as SVG; its texts stay texts."""
        import vl_convert

        # No address may be read from: all data are in the specification.
        return vl_convert.vegalite_to_svg(self.spec, allowed_base_urls=[])

    def to_png(self, scale: float = 2) -> bytes:
        """Return the picture as PNG, `scale` times as large: above 0, 10 at most."""
        import vl_convert

        if not 0 < (finite(scale) or 0) <= _LARGEST_SCALE:
            raise OptionError(
                f"scale={scale!r:.40}: expected a number above 0, {_LARGEST_SCALE} at most"
            )
        return vl_convert.vegalite_to_png(self.spec, scale=scale, allowed_base_urls=[])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, as its suffix says: .svg, .png, or .json for Vega-Lite.

        Raises OptionError for another suffix, InputError for a file that cannot be written.
        """
        suffix = suffix_of(path)
        if suffix == ".png":
            content = self.to_png()
        else:
            text = self.to_svg() if suffix == ".svg" else json.dumps(self.spec, indent=2) + "\n"
            content = text.encode()
        with written(path) as stream:
            stream.write(content)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __repr__(self) -> str:
        return f"Figure({self.title!r}, {len(self.points)} points)"


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a picture's file; raise OptionError if it is none of `SUFFIXES`."""
    name = os.fspath(path)
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in SUFFIXES:
        raise OptionError(
            f"{printable(name)}: the suffix says how a picture is written; "
            f"choose one of {', '.join(SUFFIXES)}"
        )
    return suffix


def rank_weights(measures: MeasuresLike = WEIGHTED, depth: int = DEPTH) -> Figure:
    """Draw how much each measure values a relevant document at each rank, compared with rank 1.

    For every rank, the measure scores a ranking of `depth` documents whose only relevant one, of
    grade 1, is there. What it gives is divided by what it gives at rank 1, so that the shapes
    can be compared: RR falls as 1/rank, DCG as 1/log2(rank + 1), RBP as p^(rank - 1), and P@10
    values the first ten ranks alike and no other. Of a measure in which documents do not count each
    on its own, such as AP, this is the value of one relevant document alone.

    Args:
        measures: as `evaluate` takes them; seven at most. A measure that is not above 0 at rank 1
            is refused.
        depth: how many ranks, 2 to 100.

    Returns:
        Figure; its points have "rank", "weight" and "measure".

    Raises:
        MeasureError: a measure that does not exist, too many, or one without weights.
        OptionError: a depth out of range.
        LibraryError: Altair or vl-convert is not installed.

    >>> figure = rank_weights("P@2 RR", depth=3)
    >>> [point["weight"] for point in figure.points]
    [1.0, 1.0, 0.0, 1.0, 0.5, 0.3333333333333333]

    """
    need(_LIBRARIES, "a picture", "plot")
    wanted = measures_of(measures)
    if len(wanted) > len(_COLOURS):
        raise MeasureError(
            f"{len(wanted)} measures in one picture: more than {len(_COLOURS)} lines cannot be "
            "told apart"
        )
    names = [printable(_named(measure)) for measure in wanted]
    points = [
        {"rank": rank, "weight": value / values[0], "measure": name}
        for name, values in zip(names, _alone(wanted, depth), strict=True)
        for rank, value in enumerate(values, 1)
    ]
    y = _number("weight", title="weight, relative to rank 1", axis=_SHARES)
    base = _chart(points, _ranks("rank", depth), y)
    return _figure(
        [_lines(base, "measure", names), _points(base, "measure", names)],
        points,
        "What a relevant document is worth at each rank",
        "what the measure gives to the only relevant document, divided by what it gives at rank 1",
    )


def reciprocal_rank(depth: int = DEPTH) -> Figure:
    """Draw how 1/rank falls: the reciprocal rank by the rank of the first relevant document.

    Args:
        depth: how many ranks, 2 to 100; up to 20, the first ten values are written out.

    Returns:
        Figure; its points have "rank" and "value".

    Raises:
        OptionError: a depth out of range.
        LibraryError: Altair or vl-convert is not installed.

    >>> [point["rank"] for point in reciprocal_rank(3).points]
    [1, 2, 3]

    """
    need(_LIBRARIES, "a picture", "plot")
    (values,) = _alone((Measure("RR"),), depth)
    points = [{"rank": rank, "value": value} for rank, value in enumerate(values, 1)]
    x = _ranks("rank of the first relevant document", depth)
    base = _chart(points, x, _number("value", title="reciprocal rank", axis=_SHARES))
    layers = [base.mark_bar(color=_COLOURS[0], size=0.6 * _WIDTH / depth)]
    if depth <= DEPTH:
        few = base.transform_filter(f"(datum.rank <= {DEPTH / 2})")
        layers.append(few.mark_text(dy=-8, aria=False).encode(text=_number("value", format=".2~f")))
    return _figure(
        layers,
        points,
        "How 1/rank falls",
        "RR, the reciprocal rank: 1 divided by the rank of the first relevant document",
    )


@takes(Judging, without=("queries",))
def precision_recall(
    qrels: QrelsLike,
    run: RunLike,
    query: str | int,
    *,
    rel: float = 1,
    **judging: Unpack[JudgingOptions],
) -> Figure:
    """Draw one query's precision against its recall, down the ranking of a run.

    One line goes from rank to rank, P@i over R@i, to the last relevant document, with a point at
    every relevant one. The other is interpolated precision: the highest at that recall or beyond,
    with points at `IPrec@0.0`, `IPrec@0.1`, ... `IPrec@1.0`. (As in trec_eval, these round the
    number of relevant documents that a recall asks for: a point may be beside the line.)

    Args:
        qrels: the judgments, as `evaluate` takes them.
        run: one run, as `evaluate` takes it.
        query: the query's id.
        rel: the lowest grade that counts as relevant.
        **judging: each option of `Judging` but `queries`.

    Returns:
        Figure; its points have "recall", "precision" and "curve", those of documents "rank", too.

    Raises:
        InputError: a query that is not judged, has no relevant document, or none in the run.
        MeasureError: `ties="expected"`, which interpolated precision has no formula for.
        OptionError: an option with a value that it does not know.
        LibraryError: Altair or vl-convert is not installed.

    >>> figure = precision_recall({"q1": {"a": 1, "b": 1}}, {"q1": ["a", "x", "b"]}, "q1")
    >>> [(point["recall"], point["precision"]) for point in figure.points if "rank" in point]
    [(0.5, 1.0), (1.0, 0.6666666666666666)]

    """
    refuse_others(precision_recall, judging)
    need(_LIBRARIES, "a picture", "plot")
    check_judged(qrels, run, precision_recall)
    if not is_id(query):
        raise OptionError(f"query={query!r:.80}: a query id is a text or a whole number")
    how = Judging.of(judging)
    judgments, system = as_qrels(qrels, duplicates=how.duplicates), as_run(run)
    query = str(query)
    judged = _judged(judgments, system, query, how)

    def values(name: str, cutoffs: Iterable[float] = ()) -> list[float]:
        one = Measure(name) if rel == 1 else Measure(name)(rel=rel)
        plan = Plan([one @ cutoff for cutoff in cutoffs] or [one])
        return cast(list[float], plan.values(judged)[0].tolist())

    (wanted,) = values("NumRel")
    ranks = judged.hits.relevant(rel).rank.tolist()
    grade = "" if rel == 1 else f" of grade {rel} or more"
    if not wanted:
        raise InputError(f"the query {query!r} has no relevant document{grade}: nothing to recall")
    if not ranks:
        raise InputError(
            f"the run {system.name!r} has no relevant document{grade} for the query {query!r}: "
            "there is no curve"
        )
    every = range(1, ranks[-1] + 1)
    way = _curve(_WAY, values("R", every), values("P", every))
    way = [{**point, "rank": rank} for point, rank in zip(way, every, strict=True)]
    hits = [way[rank - 1] for rank in ranks]
    levels = sorted({0.0, *(hit["recall"] for hit in hits), 1.0})
    steps, eleven = (_curve(_BEST, at, values("IPrec", at)) for at in (levels, RECALL_POINTS))

    layers = [
        _lines(_plane(steps), "curve", (_WAY, _BEST), interpolate="step-before"),
        _lines(_plane(way).encode(order="rank:Q"), "curve", (_WAY, _BEST)),
        _points(_plane(eleven), "curve", (_WAY, _BEST), size=70),
        _points(_plane(hits).encode(detail="rank:Q"), "curve", (_WAY, _BEST)),
    ]
    found = f"{len(hits)} of {wanted:.0f} relevant documents{grade} found"
    if len(hits) <= _LABELLED:
        found += "; the numbers are their ranks"
        layers += _numbered(hits, steps)
    return _figure(
        layers,
        [*hits, *eleven],
        f"Precision and recall of query {printable(query, 40)}",
        f"run {printable(system.name, 40)}: {found}",
    )


def _numbered(hits: _Rows, steps: _Rows) -> "list[alt.Chart]":
    """Return the ranks of documents, above their points if these are on the line of the steps."""
    highest = {step["recall"]: step["precision"] for step in steps}
    top = [hit for hit in hits if hit["precision"] == highest[hit["recall"]]]
    under = [hit for hit in hits if hit not in top]
    above_it = _plane(top).mark_text(aria=False, dy=-12)
    below_it = _plane(under).mark_text(aria=False, dx=6, dy=12, align="left")
    return [text.encode(text="rank:Q") for text in (above_it, below_it)]


def _plane(rows: _Rows) -> "alt.Chart":
    """Return a chart of precision against recall."""
    x = _number("recall", axis=_SHARES, scale={"domain": [0, 1]})
    return _chart(rows, x, _number("precision", axis=_SHARES, scale={"domain": [0, 1.04]}))


def _curve(name: str, recall: Iterable[float], precision: Iterable[float]) -> list[dict[str, Any]]:
    pairs = zip(recall, precision, strict=True)
    return [{"recall": x, "precision": y, "curve": name} for x, y in pairs]


def _alone(measures: Sequence[Measure], depth: int) -> list[list[float]]:
    """Return what each measure gives to the only relevant document, at every rank down to depth."""
    ranks = range(1, checked("depth", depth, whole(2, _DEEPEST)) + 1)
    rankings = {
        str(rank): ["relevant" if here == rank else f"other {here}" for here in ranks]
        for rank in ranks
    }
    scores = evaluate({query: {"relevant": 1} for query in rankings}, rankings, measures)
    found = []
    for one in measures:
        values = scores.per_query(one)
        if one.definition.is_text or not values["1"] > 0:
            raise MeasureError(
                f"{one} gives {values['1']} to a ranking whose only relevant document, of grade 1, "
                "is the first: it has no weights that could be compared with that"
            )
        found.append([values[query] for query in rankings])
    return found


def _judged(qrels: Qrels, run: Run, query: str, judging: Judging) -> Judged:
    """Return the run seen through the judgments of one query."""
    if qrels.in_groups:
        raise InputError("a precision-recall curve takes one grade for each document, not groups")
    if query not in qrels.query_ids:
        raise InputError(
            f"there are no judgments for the query {query!r}",
            source=qrels.source,
            hint=f"The first query that has some is {qrels.query_ids[0]!r}.",
        )
    try:
        return judge(qrels.of([query]), run, judging).judged
    except NothingSharedError:
        raise InputError(
            f"the run {run.name!r} has nothing for the query {query!r}", source=run.source
        ) from None


def _chart(rows: _Rows, x: _Channel, y: _Channel) -> "alt.Chart":
    import altair as alt

    return alt.Chart(alt.InlineData(rows)).encode(x=x, y=y)


def _number(field: str, **how: Any) -> _Channel:
    return {"field": field, "type": "quantitative", **how}


def _ranks(title: str, depth: int) -> _Channel:
    """Return the axis of ranks, with a tick at each that has room."""
    step = next(step for step in (1, 5, 10) if depth <= DEPTH * step)
    ticks = [1, *range(step, depth + 1, step)]
    scale = {"domain": [0.5, depth + 0.5], "nice": False, "zero": False}
    axis = {"values": ticks, "grid": False, "format": "d"}
    return _number("rank", title=title, axis=axis, scale=scale)


def _named(measure: Measure) -> str:
    """Return a measure's name with its real numbers, such as RBP's p, also where they are usual."""
    reals = {name: value for name, value in measure.parameters.items() if isinstance(value, float)}
    return str(replace(measure, given=tuple((dict(measure.given) | reals).items())))


def _lines(chart: "alt.Chart", field: str, names: Sequence[str], **how: Any) -> "alt.Chart":
    """Return the lines of some series, which say nothing that their points do not."""
    colour = _told_apart(field, names, _COLOURS)
    lines: alt.Chart = chart.mark_line(strokeWidth=1.5, aria=False, **how).encode(color=colour)
    return lines


def _points(chart: "alt.Chart", field: str, names: Sequence[str], size: float = 50) -> "alt.Chart":
    """Return the points of some series, each of its own colour and shape."""
    colour, shape = _told_apart(field, names, _COLOURS), _told_apart(field, names, _SHAPES)
    points: alt.Chart = chart.mark_point(filled=True, size=size, opacity=1)
    return points.encode(color=colour, shape=shape)


def _told_apart(field: str, names: Sequence[str], marks: Sequence[str]) -> _Channel:
    """Return how the series of these names are told apart: by colours, or by shapes."""
    return {
        "field": field,
        "type": "nominal",
        "scale": {"domain": list(names), "range": list(marks[: len(names)])},
        "legend": {"title": None, "orient": "top", "labelLimit": 0},
    }


def _figure(layers: Sequence["alt.Chart"], points: _Rows, title: str, subtitle: str) -> Figure:
    """Put layers together under a title, all in the same dress."""
    import altair as alt

    chart = alt.layer(*layers).properties(
        width=_WIDTH,
        height=_HEIGHT,
        description=f"{title}; {subtitle}",
        title=alt.Title(title, subtitle=subtitle, anchor="start", offset=12),
    )
    return Figure(chart.configure(**_DRESS), points, title)
