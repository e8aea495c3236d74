"""Pictures of curves: a measure's mean by its cutoff, and precision by recall."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Unpack

from cranfield.arrays.ranked import Floats
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.mean_interval import mean_intervals
from cranfield.comparison.result import Result
from cranfield.data.judging import Judging
from cranfield.data.qrels import QrelsLike, make_qrels
from cranfield.data.run import RunLike, make_run
from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.extensions.report.figures.choice import (
    check_comparison,
    choose_systems,
    find_measure,
    find_result,
    find_source,
    list_doubts,
    read_stated_rel,
)
from cranfield.extensions.report.figures.figure import Draw, Figure, Points
from cranfield.extensions.report.figures.marks import (
    SHARE_AXIS,
    Channel,
    choose_colours,
    make_chart,
    number_channel,
    scale_dashes,
    series_channel,
    shorten_names,
    word_channel,
)
from cranfield.extensions.report.figures.phrases import describe_means, interval_name
from cranfield.extensions.report.figures.query_curve import draw_query_curve
from cranfield.extensions.report.figures.source_runs import rejudge_runs
from cranfield.extensions.report.figures.style import GREY, SHAPES, Drawing, Style, StyleName
from cranfield.formats.identifiers import is_id
from cranfield.measures import Measure, parse
from cranfield.measures.interpolated import RECALL_POINTS
from cranfield.options import (
    check_option,
    keywords,
    level_check,
    refuse_unknown_options,
    takes,
    whole_check,
)
from cranfield.render.numbers import format_count, format_query_count, format_shortest
from cranfield.scoring.arguments import check_qrels_and_runs

CUTOFFS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100)
_MAX_CUTOFFS, _MAX_RANK = 1_000, 1_000_000
_LOG_RATIO = 10  # times as deep: cutoffs are then drawn by their logarithms
_TICKS = tuple(base * 10**power for power in range(7) for base in (1, 2, 5))


def by_cutoff(
    found: Comparison,
    measure: str | Measure | None = None,
    cutoffs: Iterable[int] = CUTOFFS,
    *,
    systems: Iterable[str] | None = None,
    style: StyleName = "screen",
) -> Figure:
    """Draw a measure's mean, with its interval, at one cutoff after the other: nDCG@1 to nDCG@100.

    The runs are read once more, and judged as they were for the comparison.

    Args:
        found: what `compare` returns of judgments and runs.
        measure: a measure that has a cutoff or may have a cutoff, compared or not; the curve is
            the same with any cutoff of its own. A measure that was compared with that cutoff orders
            the systems; for others, the first compared measure does. [default: the first that was
            compared]
        cutoffs: 1 to 1,000 ranks, each from 1 to 1,000,000.
        systems: the systems that have a colour, 7 at most. [default: all of up to 4; else the best
            one and the baseline, or the best two; the others are grey, without their intervals]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point for each system and cutoff has "system", "cutoff", "mean", "low", "high".

    Raises:
        InputError: precomputed scores, which come without rankings; means of several runs.
        MeasureError: a measure that does not exist, or that has no cutoff at a rank.
        OptionError: cutoffs that are not ranks; an unknown system; too many of either.

    >>> from cranfield import compare
    >>> judgments, run = {"q1": {"a": 1}, "q2": {"a": 1}}, {"q1": ["b", "a"], "q2": ["a"]}
    >>> comparison = compare(judgments, {"x": run}, "RR")
    >>> points = by_cutoff(comparison, cutoffs=[1, 2]).points
    >>> [(point["cutoff"], point["mean"]) for point in points]
    [(1, 0.5), (2, 0.75)]

    """
    comparison = check_comparison(found, "by_cutoff")
    source = find_source(comparison, "a measure by its cutoff")
    result, cut_measure = _find_measure_result(comparison, measure)
    ranks = _check_cutoffs(cutoffs)
    chosen_systems = choose_systems(comparison, result, systems)
    if cut_measure.definition.cutoff == "none" or cut_measure.definition.cutoff_kind != "depth":
        raise MeasureError(
            f"{cut_measure} has no cutoff at a rank; name a measure that has one, such as nDCG"
        )
    scores = rejudge_runs(comparison, source, [cut_measure @ rank for rank in ranks]).scores
    points = _mean_points(comparison, cut_measure, "cutoff", ranks, scores)
    low, high = ranks[0], ranks[-1]
    scale: dict[str, Any] = {"domain": [low, max(high, low + 1)], "nice": False, "zero": False}
    scale |= {"type": "log"} if high >= _LOG_RATIO * low else {}
    ticks = [rank for rank in _TICKS if low <= rank <= high] or [low]
    axis = {"values": ticks, "format": "d", "grid": False}
    x = number_channel("cutoff", title="cutoff k", scale=scale, axis=axis)
    base_measure = replace(cut_measure, cutoff=None)
    less_is_better = cut_measure.definition.higher_is_better is False
    y = number_channel("mean", title=f"{base_measure}@k" + " (less is better)" * less_is_better)
    return Figure(
        points,
        f"{base_measure} at every cutoff",
        describe_means(result, comparison.settings),
        _draw_curves(result, points, chosen_systems, x, y),
        style,
        list_doubts(comparison),
    )


def _find_measure_result(
    comparison: Comparison, measure: str | Measure | None
) -> tuple[Result, Measure]:
    """Return the result that orders the systems, a measure's own if it has any, and the measure."""
    names = comparison.aligned.measures
    if measure is None or str(measure) in names:
        result = find_result(comparison, measure)
        compared_measure = find_measure(comparison, result.measure)
        if compared_measure is not None:
            return result, compared_measure
        raise MeasureError(f"{result.measure} is not a measure known here: name another")
    measure = measure if isinstance(measure, Measure) else parse(measure)
    return find_result(comparison, str(measure) if str(measure) in names else None), measure


def _draw_curves(
    result: Result, points: Points, chosen_systems: Sequence[str], x: Channel, y: Channel
) -> Draw:
    """Return how to draw the chosen systems in colours, with bands, and the others in grey."""

    def draw(style: Style) -> Drawing:
        names = shorten_names([system.name for system in result.ranked_systems], style)
        labels = [names[name] for name in chosen_systems]
        renamed_points = [{**point, "system": names[point["system"]]} for point in points]
        rows = [point for point in renamed_points if point["system"] in labels]
        other_rows = [point for point in renamed_points if point["system"] not in labels]
        mean_axis = {**y, "scale": {"zero": False, "nice": True, **y.get("scale", {})}}
        base = make_chart(rows, x=x, y=mean_axis)
        colour = series_channel("system", labels, choose_colours(labels), style)
        dash = series_channel("system", labels, scale_dashes(style), style)
        shape = series_channel("system", labels, SHAPES, style)
        layers = []
        if other_rows:
            grey = make_chart(other_rows, x=x, y=mean_axis, detail=word_channel("system"))
            layers.append(grey.mark_line(color=GREY, opacity=0.55, strokeWidth=0.5 * style.line))
        if any(row["low"] is not None for row in rows):
            band = base.mark_area(opacity=0.16 if len(labels) <= 2 else 0.1, aria=False)
            layers.append(
                band.encode(
                    y=number_channel("low", title=y["title"]), y2={"field": "high"}, color=colour
                )
            )
        line = base.mark_line(strokeWidth=1.2 * style.line, aria=False)
        heads = base.mark_point(filled=True, opacity=1, size=0.5 * style.point)
        layers += [
            line.encode(color=colour, strokeDash=dash),
            heads.encode(color=colour, shape=shape),
        ]
        n_grey = len(result.systems) - len(labels)
        grey_text = f"Grey: {format_count(n_grey, 'other system')}, without intervals"
        return Drawing(layers, style.height, [grey_text] * bool(n_grey))

    return draw


def _draw_mean_curve(
    comparison: Comparison, rel: float | None, systems: Iterable[str] | None, style: StyleName
) -> Figure:
    """Return the picture of all systems' mean interpolated precision: see `precision_recall`."""
    source = find_source(comparison, "precision by recall")
    result = find_result(comparison, None)
    chosen_systems = choose_systems(comparison, result, systems)
    measure = _interpolated_precision(comparison, rel)
    scores = rejudge_runs(comparison, source, [measure @ recall for recall in RECALL_POINTS]).scores
    points = [
        {"precision" if field == "mean" else field: value for field, value in point.items()}
        for point in _mean_points(comparison, measure, "recall", RECALL_POINTS, scores)
    ]
    lowest_grade = measure.parameters["rel"]
    grade_text = "" if lowest_grade == 1 else f" (grade {format_shortest(lowest_grade)} or more)"
    share_axis: dict[str, Any] = {"scale": {"domain": [0, 1]}, "axis": {"tickCount": 6}}
    x = number_channel("recall", title=f"recall{grade_text}", **share_axis)
    y = number_channel("precision", title="interpolated precision", axis=SHARE_AXIS)
    queries_text = format_query_count(len(comparison.aligned.query_ids))
    interval = interval_name(comparison.settings)
    subtitle = f"The mean of {queries_text} at eleven recalls, and its {interval} (Student's t)"
    draw = _draw_curves(result, points, chosen_systems, x, y)
    return Figure(
        points, "Interpolated precision by recall", subtitle, draw, style, list_doubts(comparison)
    )


def _interpolated_precision(comparison: Comparison, rel: float | None) -> Measure:
    """Return interpolated precision with the lowest grade that counts as relevant.

    Without `rel`, the first compared measure that states a lowest grade decides.
    """
    measure = Measure("IPrec")
    if rel is not None:
        return measure(rel=check_option("rel", rel, level_check()))
    for name in comparison.aligned.measures:
        compared_measure = find_measure(comparison, name)
        stated_grade = read_stated_rel(compared_measure) if compared_measure is not None else None
        if stated_grade is not None:
            return measure(rel=stated_grade)
    return measure


def _mean_points(
    comparison: Comparison,
    measure: Measure,
    x_field: str,
    x_values: Sequence[float],
    scores: Floats,
) -> list[dict[str, Any]]:
    """Return a point for each system's mean at each of `x_values`, which `x_field` names.

    `scores` are (n_x_values, n_queries, n_systems).
    """
    alpha, units = comparison.settings.alpha, comparison.aligned.units
    intervals = [mean_intervals(measure, system_scores, alpha, units) for system_scores in scores]
    return [
        {"system": name, x_field: x, **dict(zip(("mean", "low", "high"), ends[i], strict=False))}
        for i, name in enumerate(comparison.aligned.system_names)
        for x, ends in zip(x_values, intervals, strict=True)
    ]


def _check_cutoffs(cutoffs: Iterable[int]) -> list[int]:
    """Return the cutoffs in rising order, each once; OptionError unless 1 to 1,000 ranks."""
    is_several = isinstance(cutoffs, Iterable) and not isinstance(cutoffs, str)
    cutoff_list = cutoffs if is_several else [cutoffs]
    ranks = sorted(
        {check_option("cutoffs", cutoff, whole_check(1, _MAX_RANK)) for cutoff in cutoff_list}
    )
    if not 0 < len(ranks) <= _MAX_CUTOFFS:
        raise OptionError(f"cutoffs: {len(ranks)} of them; 1 to {_MAX_CUTOFFS:,} are drawn")
    return ranks


@takes(Judging, omit=("queries",))
def precision_recall(
    qrels: QrelsLike | Comparison,
    run: RunLike | None = None,
    query: str | int | None = None,
    *,
    rel: float | None = None,
    systems: Iterable[str] | None = None,
    style: StyleName = "screen",
    **judging: "Unpack[keywords.Judging]",
) -> Figure:
    """Draw precision against recall: the mean of all queries, for each system; or of one query.

    For a Comparison alone, the picture shows mean interpolated precision at recall 0, 0.1, ... 1,
    with its interval: for a query, this is the highest precision at that recall or beyond. As in
    trec_eval, the number of relevant documents that a recall needs is rounded: of two, recall 0.7
    needs one. Runs are read once more.

    For judgments, a run and a query, one line goes from rank to rank, P@i over R@i, to the last
    relevant document, with a point at every relevant one. The other is interpolated precision, with
    points at `IPrec@0.0`, `IPrec@0.1`, ... `IPrec@1.0`. (Their numbers of
    documents are rounded, too: a point may be off the line.)

    Args:
        qrels: what `compare` returns of judgments and runs; or the judgments, as `evaluate` takes
            them.
        run: with judgments, one run, as `evaluate` takes it.
        query: with judgments, the query's id.
        rel: the lowest grade that counts as relevant. [default: of a Comparison, as in the first
            of its measures that states one; else 1]
        systems: of a Comparison, the systems that have a colour, 7 at most. [default: all of up to
            4; else the best one and the baseline, or the best two; the others are grey, without
            their intervals]
        style: "screen", "paper" (a column of a two-column paper) or "slides".
        **judging: for one query, each option of `Judging` except `queries`.

    Returns:
        Figure; its points have "system", "recall", "precision" and its interval, "low" and "high".
        Points of one query have "recall", "precision" and "curve"; those of relevant documents
            "rank", too.

    Raises:
        InputError: a query that is not judged, has no relevant document, or none in the run; no
            query; judgments in groups; a Comparison of precomputed scores, which come without
            rankings, or of means of several runs.
        MeasureError: `ties="expected"`, which interpolated precision has no formula for.
        OptionError: an option with an unknown value, or one that does not apply.
        LibraryError: when it is drawn, if Altair or vl-convert is not installed.

    >>> figure = precision_recall({"q1": {"a": 1, "b": 1}}, {"q1": ["a", "x", "b"]}, "q1")
    >>> [(point["recall"], point["precision"]) for point in figure.points if "rank" in point]
    [(0.5, 1.0), (1.0, 0.6666666666666666)]
    >>> from cranfield import compare
    >>> comparison = compare({"q1": {"a": 1, "b": 1}}, {"x": {"q1": ["a", "x", "b"]}})
    >>> [round(point["precision"], 2) for point in precision_recall(comparison).points]
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.67, 0.67, 0.67]

    """
    refuse_unknown_options(precision_recall, judging)
    if isinstance(qrels, Comparison):
        if run is not None or query is not None or judging:
            arguments = {"run": run, "query": query, **judging}
            raise OptionError(
                "for a Comparison, the mean over its queries is drawn, judged as before: leave out "
                f"{', '.join(name for name, argument in arguments.items() if argument is not None)}"
            )
        return _draw_mean_curve(qrels, rel, systems, style)
    if run is None or query is None:
        raise InputError(
            "expected what compare() returns, for the mean over all queries; or judgments, a run "
            "and a query: precision_recall(qrels, run, 'q1')"
        )
    if systems is not None:
        raise OptionError("`systems` applies only to a Comparison: leave it out")
    check_qrels_and_runs(qrels, run, precision_recall)
    if not is_id(query):
        raise OptionError(f"query={query!r:.80}: a query id is a string or a whole number")
    judging_options = Judging.of(judging)
    judgments = make_qrels(qrels, duplicates=judging_options.duplicates)
    relevant_grade = 1 if rel is None else rel
    return draw_query_curve(
        judgments, make_run(run), str(query), relevant_grade, judging_options, style
    )
