"""The picture of one query's precision against its recall, for `precision_recall`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from cranfield.data.judge import judge
from cranfield.data.judged import Judged
from cranfield.data.judging import Judging
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import InputError, NothingSharedError, escape_unprintable
from cranfield.extensions.report.figures.figure import Figure
from cranfield.extensions.report.figures.marks import (
    SHARE_AXIS,
    Rows,
    draw_lines,
    draw_points,
    make_chart,
    number_channel,
)
from cranfield.extensions.report.figures.style import Drawing, Style, StyleName
from cranfield.measures import Measure, Plan
from cranfield.measures.interpolated import RECALL_POINTS

if TYPE_CHECKING:
    import altair as alt

_MAX_LABELS = 12  # points that have room for their ranks
_RANK_CURVE = "at each rank (points: relevant documents)"
_INTERPOLATED_CURVE = "interpolated (points: IPrec@0.0 to IPrec@1.0)"


def draw_query_curve(
    judgments: Qrels, system: Run, query: str, rel: float, judging: Judging, style: StyleName
) -> Figure:
    """Return the picture of one query's precision and recall: see `precision_recall`."""
    judged = _judge_query(judgments, system, query, judging)

    def measure_query(name: str, cutoffs: Iterable[float] = ()) -> list[float]:
        measure = Measure(name) if rel == 1 else Measure(name)(rel=rel)
        plan = Plan([measure @ cutoff for cutoff in cutoffs] or [measure])
        return cast(list[float], plan.values(judged)[0].tolist())

    (n_relevant,) = measure_query("NumRel")
    ranks = judged.hits.relevant(rel).rank.tolist()
    grade = "" if rel == 1 else f" of grade {rel} or more"
    if not n_relevant:
        raise InputError(f"the query {query!r} has no relevant document{grade}: nothing to recall")
    if not ranks:
        raise InputError(
            f"the run {system.name!r} has no relevant document{grade} for the query {query!r}: "
            "there is no curve"
        )
    all_ranks = range(1, ranks[-1] + 1)
    rank_points = _curve_points(
        _RANK_CURVE, measure_query("R", all_ranks), measure_query("P", all_ranks)
    )
    rank_points = [
        {**point, "rank": rank} for point, rank in zip(rank_points, all_ranks, strict=True)
    ]
    hits = [rank_points[rank - 1] for rank in ranks]
    levels = sorted({0.0, *(hit["recall"] for hit in hits), 1.0})
    step_points, recall_points = (
        _curve_points(_INTERPOLATED_CURVE, recalls, measure_query("IPrec", recalls))
        for recalls in (levels, RECALL_POINTS)
    )

    summary = f"{len(hits)} of {n_relevant:.0f} relevant documents{grade} found"
    has_labels = len(hits) <= _MAX_LABELS

    def draw(style: Style) -> Drawing:
        names = (_RANK_CURVE, _INTERPOLATED_CURVE)
        layers = [
            draw_lines(_make_plane(step_points), "curve", names, style, interpolate="step-before"),
            draw_lines(_make_plane(rank_points).encode(order="rank:Q"), "curve", names, style),
            draw_points(_make_plane(recall_points), "curve", names, style, size=1.4),
            draw_points(_make_plane(hits).encode(detail="rank:Q"), "curve", names, style),
        ]
        texts = _label_ranks(hits, step_points, style) if has_labels else []
        return Drawing([*layers, *texts], style.height)

    return Figure(
        [*hits, *recall_points],
        f"Precision and recall of query {escape_unprintable(query, 40)}",
        f"run {escape_unprintable(system.name, 40)}: {summary}"
        + "; the numbers are their ranks" * has_labels,
        draw,
        style,
    )


def _label_ranks(hits: Rows, step_points: Rows, style: Style) -> "list[alt.Chart]":
    """Return the ranks as text: above points on the interpolated line, else below."""
    highest_precision = {step["recall"]: step["precision"] for step in step_points}
    top_hits = [hit for hit in hits if hit["precision"] == highest_precision[hit["recall"]]]
    lower_hits = [hit for hit in hits if hit not in top_hits]
    top_labels = _make_plane(top_hits).mark_text(aria=False, dy=-style.size)
    lower_labels = _make_plane(lower_hits).mark_text(
        aria=False, dx=0.5 * style.size, dy=style.size, align="left"
    )
    return [text.encode(text="rank:Q") for text in (top_labels, lower_labels)]


def _make_plane(rows: Rows) -> "alt.Chart":
    """Return a chart of precision against recall."""
    x = number_channel("recall", axis=SHARE_AXIS, scale={"domain": [0, 1]})
    return make_chart(
        rows, x=x, y=number_channel("precision", axis=SHARE_AXIS, scale={"domain": [0, 1.04]})
    )


def _curve_points(
    name: str, recall: Iterable[float], precision: Iterable[float]
) -> list[dict[str, Any]]:
    pairs = zip(recall, precision, strict=True)
    return [{"recall": x, "precision": y, "curve": name} for x, y in pairs]


def _judge_query(qrels: Qrels, run: Run, query: str, judging: Judging) -> Judged:
    """Return the run judged for one query."""
    if qrels.has_groups:
        raise InputError("a precision-recall curve takes one grade for each document, not groups")
    if query not in qrels.query_ids:
        raise InputError(
            f"there are no judgments for the query {query!r}",
            source=qrels.source,
            hint=f"The first query that has some is {qrels.query_ids[0]!r}.",
        )
    try:
        return judge(qrels.select_queries([query]), run, judging).judged
    except NothingSharedError:
        raise InputError(
            f"the run {run.name!r} has nothing for the query {query!r}", source=run.source
        ) from None
