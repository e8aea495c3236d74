"""Tables as pictures: every pair of systems, and the share judged at each rank."""

from collections.abc import Sequence

from cranfield.comparison.compare import compare_all_pairs
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.method import describe_marking_test
from cranfield.comparison.result import Result
from cranfield.errors import InputError
from cranfield.extensions.report.figures.choice import (
    PAIR_FIELDS,
    OrderedPair,
    check_comparison,
    find_result,
    find_source,
    list_doubts,
    select_best,
)
from cranfield.extensions.report.figures.figure import Draw, Figure, Points
from cranfield.extensions.report.figures.marks import (
    Channel,
    contrasting_ink,
    make_chart,
    number_channel,
    row_axis,
    shorten_names,
    tint,
    word_channel,
)
from cranfield.extensions.report.figures.source_runs import rejudge_runs
from cranfield.extensions.report.figures.style import LINE, A, B, Drawing, Style, StyleName
from cranfield.measures import Measure
from cranfield.options import check_option, whole_check
from cranfield.render.numbers import format_query_count, format_share

DEPTH = 20  # ranks of `judged_by_rank`, by default
_MAX_DEPTH = 100  # ranks
_MAX_NUMBERED_SYSTEMS = 12  # systems, up to which cells have room for a number
_MAX_NUMBERED_RANKS = 20  # ranks, up to which cells have room for a number
# The colour where all are judged; how pale where none are; the power of the share between.
_JUDGED_COLOUR, _PALEST_SHARE, _COLOUR_POWER = "#1d4568", 0.06, 1.5


def pair_matrix(
    found: Comparison, measure: str | Measure | None = None, *, style: StyleName = "screen"
) -> Figure:
    """Draw the mean difference of every pair of systems, and which differences are significant.

    Where `found` has a baseline, all pairs are compared now, and p-values corrected for all.

    Args:
        found: what `compare` returns, of two systems or more.
        measure: a measure that was compared. [default: the first]
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point for each pair has "system", "other", "difference" (of logarithms if the
        measure has a geometric mean), "low", "high", and, for the two, what a point of
        `leaderboard` has for a system and the baseline. What does not exist is None.

    Raises:
        InputError: not what `compare` returns, or one system.
        MeasureError: a measure that was not compared.

    >>> from cranfield import compare
    >>> half = {"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.0, "q2": 1.0}, "c": {"q1": 0, "q2": 0}}
    >>> points = pair_matrix(compare(half)).points
    >>> [(point["system"], point["other"], point["difference"]) for point in points]
    [('a', 'b', 0.25), ('a', 'c', 0.75), ('b', 'c', 0.5)]

    """
    comparison = check_comparison(found, "pair_matrix")
    name = find_result(comparison, measure).measure
    if len(comparison.aligned.system_names) < 2:
        raise InputError("this picture compares systems, and there is only one")
    pair_comparison = compare_all_pairs(comparison)
    result = pair_comparison[name]
    points = [
        {
            "system": pair.system,
            "other": pair.other,
            **{
                field: getattr(pair, field) for field in ("difference", "low", "high", *PAIR_FIELDS)
            },
        }
        for pair in result.pairs
    ]
    statistic = (
        "Ratio of the row's geometric mean to" if result.by_ratio else "Mean of the row minus"
    )
    return Figure(
        points,
        f"{name}: every pair of systems",
        f"{statistic} that of the column. Filled where they differ significantly: "
        f"{describe_marking_test(result, pair_comparison.settings)}",
        _draw_matrix(result),
        style,
        list_doubts(pair_comparison, result),
    )


def _draw_matrix(result: Result) -> Draw:
    def draw(style: Style) -> Drawing:
        best_first = [system.name for system in result.ranked_systems]
        drawn_systems, sentences = select_best(best_first, style.rows)
        names = shorten_names(drawn_systems, style)
        pairs = {(pair.system, pair.other): OrderedPair.of(pair) for pair in result.pairs}
        pairs |= {(pair.other, pair.system): pair.reversal for pair in pairs.values()}
        max_difference = max((abs(pair.difference) for pair in pairs.values()), default=0) or 1
        has_numbers = len(drawn_systems) <= _MAX_NUMBERED_SYSTEMS and style.numbers
        rows = []
        for (system, other), pair in pairs.items():
            if system in names and other in names:
                share = 0.25 + 0.75 * abs(pair.difference) / max_difference
                fill = {"better": tint(share, A), "worse": tint(share, B), None: "#ffffff"}
                cell = {"system": names[system], "other": names[other], "fill": fill[pair.verdict]}
                # For readers who cannot see the colours.
                signs = {"better": "+", "worse": "\u2212", None: ""}
                cell["shown"] = _format_cell(pair) if has_numbers else signs[pair.verdict]
                cell["ink"] = contrasting_ink(cell["fill"])
                rows.append({**cell, "difference": pair.difference})
        labels = [*names.values()]
        cell_width = (style.width - 0.55 * style.size * max(map(len, labels))) / len(labels)
        axis: Channel = {"title": None, "orient": "top", "ticks": False, "domain": False}
        axis |= {"labelAngle": _label_angle(labels, cell_width, style), "labelOverlap": False}
        axis |= {"labelFontSize": min(style.size, 0.9 * cell_width)}
        x = word_channel("other", sort=labels, axis=axis, scale={"domain": labels})
        base = make_chart(rows, x=x, y=row_axis("system", labels, scale={"domain": labels}))
        cells = base.mark_rect(stroke=LINE, strokeWidth=0.5 * style.line)
        cells = cells.encode(color=_literal_colour("fill"), detail=number_channel("difference"))
        letter_size = 0.85 * style.size if has_numbers else min(style.size, 0.9 * cell_width)
        texts = base.mark_text(fontSize=letter_size, aria=False)
        layers = [cells, texts.encode(text=word_channel("shown"), color=_literal_colour("ink"))]
        key = "Blue, +: the row is better; orange, \u2212: it is worse"
        return Drawing(layers, style.rows_height(len(labels)), [key, *sentences])

    return draw


def _label_angle(names: Sequence[str], cell_width: float, style: Style) -> int:
    """Return the angle of names above columns: upright if they would be cut off or overlap."""
    ends = (
        0.4 * style.size * len(name) - cell_width * (len(names) - i - 0.5)
        for i, name in enumerate(names)
    )
    return -45 if max(ends) < style.size and cell_width > 1.4 * style.size else -90


def _literal_colour(field: str) -> Channel:
    """Return the channel of colours that a field of the rows names."""
    return word_channel(field, scale=None)


def _format_cell(pair: OrderedPair) -> str:
    """Return a difference, or a ratio, with two decimals, as it fits into a cell."""
    if pair.ratio is not None:
        return f"{pair.ratio:.2f}"
    difference = round(pair.difference, 2) + 0.0
    text = f"{difference:+.2f}" if difference else ".00"
    return text.replace("0.", ".", 1) if 0 < abs(difference) < 1 else text


def judged_by_rank(found: Comparison, depth: int = DEPTH, *, style: StyleName = "screen") -> Figure:
    """Draw the share of the documents at each rank that are judged.

    Any grade is a judgment, a negative one, too. The runs are read once more, and ranked as they
    were for the comparison.

    Args:
        found: what `compare` returns of judgments and runs.
        depth: how many ranks, 1 to 100.
        style: "screen", "paper" (a column of a two-column paper) or "slides".

    Returns:
        Figure; a point for each system and rank has "system", "rank", "judged" (the share of the
        documents retrieved at that rank that are judged, 0 to 1; None where there is none) and
        "retrieved" (how many queries have a document there).

    Raises:
        InputError: precomputed scores; means of several runs; judgments that do not say what else
            was judged.
        OptionError: a depth out of range.

    >>> from cranfield import compare
    >>> judgments = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
    >>> comparison = compare(judgments, {"x": {"q1": ["b", "c"], "q2": ["a"]}})
    >>> points = judged_by_rank(comparison, 2).points
    >>> [(point["rank"], point["judged"], point["retrieved"]) for point in points]
    [(1, 1.0, 2), (2, 0.0, 1)]

    """
    comparison = check_comparison(found, "judged_by_rank")
    n_ranks = check_option("depth", depth, whole_check(1, _MAX_DEPTH))
    source = find_source(comparison, "what is judged at each rank")
    if comparison.aligned.judged_share is None:
        problem = "are in groups" if source.qrels.has_groups else "name relevant documents alone"
        raise InputError(f"these judgments {problem}: they do not say what else was judged")
    statistics = rejudge_runs(comparison, source, (), n_ranks)
    points = [
        {
            "system": name,
            "rank": rank,
            "judged": n_judged / n_retrieved if n_retrieved else None,
            "retrieved": n_retrieved,
        }
        for name, judged_counts, retrieved_counts in zip(
            comparison.aligned.system_names,
            statistics.n_judged.T.tolist(),
            statistics.n_retrieved.T.tolist(),
            strict=True,
        )
        for rank, (n_judged, n_retrieved) in enumerate(
            zip(judged_counts, retrieved_counts, strict=True), 1
        )
    ]
    queries_text = format_query_count(len(comparison.aligned.query_ids))
    return Figure(
        points,
        f"How much is judged at ranks 1 to {n_ranks}",
        f"The share of the documents of {queries_text} at each rank that are judged, in percent",
        _draw_judged(comparison, points, n_ranks),
        style,
        list_doubts(comparison),
    )


def _draw_judged(comparison: Comparison, points: Points, depth: int) -> Draw:
    best_first = [system.name for system in find_result(comparison, None).ranked_systems]

    def draw(style: Style) -> Drawing:
        drawn_systems, sentences = select_best(
            best_first, style.rows, [comparison.settings.first_baseline]
        )
        names = shorten_names(drawn_systems, style)
        rows = []
        for point in points:
            if point["system"] in names and point["judged"] is not None:
                share = point["judged"]
                ink = contrasting_ink(
                    tint(_PALEST_SHARE + (1 - _PALEST_SHARE) * share**_COLOUR_POWER, _JUDGED_COLOUR)
                )
                row = {"system": names[point["system"]], "rank": point["rank"], "judged": share}
                rows.append({**row, "shown": format_share(share).rstrip("%"), "ink": ink})
        has_numbers = style.numbers and depth <= _MAX_NUMBERED_RANKS
        step = next(
            candidate
            for candidate in (1, 5, 10)
            if depth <= (_MAX_NUMBERED_RANKS if has_numbers else 10) * candidate
        )
        ranks = [*range(1, depth + 1)]
        axis: Channel = {"title": "rank", "labelAngle": 0, "ticks": False, "domain": False}
        axis |= {"values": sorted({1, *ranks[step - 1 :: step]}), "labelOverlap": False}
        x = word_channel("rank", sort=ranks, scale={"domain": ranks}, axis=axis)
        base = make_chart(rows, x=x, y=row_axis("system", [*names.values()]))
        scale = {"type": "pow", "exponent": _COLOUR_POWER, "domain": [0, 1], "interpolate": "rgb"}
        legend = {"title": "share judged", "orient": "top", "format": "%", "tickCount": 5}
        legend |= {"gradientThickness": style.size}
        colour = number_channel(
            "judged",
            scale={**scale, "range": [tint(_PALEST_SHARE, _JUDGED_COLOUR), _JUDGED_COLOUR]},
            legend=None if has_numbers else legend,
        )
        layers = [
            base.mark_rect(stroke="#ffffff", strokeWidth=0.5 * style.line).encode(color=colour)
        ]
        if has_numbers:
            texts = base.mark_text(fontSize=0.85 * style.size, aria=False)
            layers.append(texts.encode(text=word_channel("shown"), color=_literal_colour("ink")))
        if any(point["judged"] is None for point in points):
            sentences = [*sentences, "No colour: nothing is retrieved there"]
        scales = {"color": "independent"}  # of cells, of numbers
        return Drawing(layers, style.rows_height(len(names)), sentences, scales)

    return draw
