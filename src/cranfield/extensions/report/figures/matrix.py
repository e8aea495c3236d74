"""Tables as pictures: every pair of systems, and how much of each rank is judged."""

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
    list_doubts,
    find_result,
    find_source,
    select_best,
)
from cranfield.extensions.report.figures.figure import Draw, Figure, Points
from cranfield.extensions.report.figures.marks import (
    Channel,
    make_chart,
    contrasting_ink,
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

DEPTH = 20
_MAX_DEPTH = 100
_MAX_NUMBERED_SYSTEMS = 12  # systems, up to which cells have room for a number
_MAX_NUMBERED_RANKS = 20  # ranks, up to which cells have room for a number
_JUDGED_COLOUR, _PALEST_SHARE, _COLOUR_POWER = (
    "#1d4568",
    0.06,
    1.5,
)  # the colour where all are judged; how pale where none are


def pair_matrix(
    found: Comparison, measure: str | Measure | None = None, *, style: StyleName = "screen"
) -> Figure:
    """Draw the mean difference of every pair of systems, and which differences are significant.

    Where `found` has a baseline, all pairs are compared now, and p-values corrected for all.

    Args:
        found: what `compare` returns, of two systems or more.
        measure: one of those that were compared. [default: the first]
        style: "screen", "paper" or "slides".

    Returns:
        Figure; a point for each pair has "system", "other", "difference" (of logarithms if the
        measure has a geometric mean), "low", "high", and, for the two, what a point of
        `leaderboard` has for a system and the baseline. What does not exist is None.

    Raises:
        InputError: there is one system.
        MeasureError: a measure that was not compared.

    >>> from cranfield import compare
    >>> half = {"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.0, "q2": 1.0}, "c": {"q1": 0, "q2": 0}}
    >>> points = pair_matrix(compare(half)).points
    >>> [(one["system"], one["other"], one["difference"]) for one in points]
    [('a', 'b', 0.25), ('a', 'c', 0.75), ('b', 'c', 0.5)]

    """
    wanted = find_result(check_comparison(found, "pair_matrix"), measure).measure
    if len(found.aligned.system_names) < 2:
        raise InputError("this picture compares systems, and there is only one")
    every = compare_all_pairs(found)
    result = every[wanted]
    points = [
        {
            "system": one.system,
            "other": one.other,
            **{name: getattr(one, name) for name in ("difference", "low", "high", *PAIR_FIELDS)},
        }
        for one in result.pairs
    ]
    what = "Ratio of the row's geometric mean to" if result.by_ratio else "Mean of the row minus"
    return Figure(
        points,
        f"{wanted}: every pair of systems",
        f"{what} that of the column. Filled where they differ significantly: "
        f"{describe_marking_test(result, every.settings)}",
        _draw_matrix(result),
        style,
        list_doubts(every, result),
    )


def _draw_matrix(result: Result) -> Draw:
    def draw(style: Style) -> Drawing:
        kept, said = select_best([one.name for one in result.ranked_systems], style.rows)
        names = shorten_names(kept, style)
        pairs = {(one.system, one.other): OrderedPair.of(one) for one in result.pairs}
        pairs |= {(one.other, one.system): one.reversal for one in pairs.values()}
        most = max((abs(one.difference) for one in pairs.values()), default=0) or 1
        numbers = len(kept) <= _MAX_NUMBERED_SYSTEMS and style.numbers
        rows = []
        for (system, other), one in pairs.items():
            if system in names and other in names:
                share = 0.25 + 0.75 * abs(one.difference) / most
                fill = {"better": tint(share, A), "worse": tint(share, B), None: "#ffffff"}
                cell = {"system": names[system], "other": names[other], "fill": fill[one.verdict]}
                signs = {
                    "better": "+",
                    "worse": "\u2212",
                    None: "",
                }  # for readers who cannot see the colours
                cell["shown"] = _format_cell(one) if numbers else signs[one.verdict]
                cell["ink"] = contrasting_ink(cell["fill"])
                rows.append({**cell, "difference": one.difference})
        shown = [*names.values()]
        wide = (style.width - 0.55 * style.size * max(map(len, shown))) / len(shown)
        axis: Channel = {"title": None, "orient": "top", "ticks": False, "domain": False}
        axis |= {"labelAngle": _label_angle(shown, wide, style), "labelOverlap": False}
        axis |= {"labelFontSize": min(style.size, 0.9 * wide)}
        x = word_channel("other", sort=shown, axis=axis, scale={"domain": shown})
        base = make_chart(rows, x=x, y=row_axis("system", shown, scale={"domain": shown}))
        cells = base.mark_rect(stroke=LINE, strokeWidth=0.5 * style.line)
        cells = cells.encode(color=_literal_colour("fill"), detail=number_channel("difference"))
        letters = 0.85 * style.size if numbers else min(style.size, 0.9 * wide)
        texts = base.mark_text(fontSize=letters, aria=False)
        layers = [cells, texts.encode(text=word_channel("shown"), color=_literal_colour("ink"))]
        key = "Blue, +: the row is better; orange, \u2212: it is worse"
        return Drawing(layers, style.rows_height(len(shown)), [key, *said])

    return draw


def _label_angle(names: Sequence[str], wide: float, style: Style) -> int:
    """Return the angle of names above columns of a width: upright if one would be cut off."""
    ends = (
        0.4 * style.size * len(name) - wide * (len(names) - i - 0.5) for i, name in enumerate(names)
    )
    return -45 if max(ends) < style.size and wide > 1.4 * style.size else -90


def _literal_colour(field: str) -> Channel:
    """Return a colour that the rows name."""
    return word_channel(field, scale=None)


def _format_cell(one: OrderedPair) -> str:
    """Return a difference, or a ratio, with two decimals, as it fits into a cell."""
    if one.ratio is not None:
        return f"{one.ratio:.2f}"
    rounded = round(one.difference, 2) + 0.0
    text = f"{rounded:+.2f}" if rounded else ".00"
    return text.replace("0.", ".", 1) if 0 < abs(rounded) < 1 else text


def judged_by_rank(found: Comparison, depth: int = DEPTH, *, style: StyleName = "screen") -> Figure:
    """Draw which share of the documents at each rank is judged.

    Any grade is a judgment, a negative one, too. The runs are read once more, and ranked as they
    were for the comparison.

    Args:
        found: what `compare` returns of judgments and runs.
        depth: how many ranks, 1 to 100.
        style: "screen", "paper" or "slides".

    Returns:
        Figure; a point for each system and rank has "system", "rank", "judged" (the share of the
        documents retrieved at that rank that are judged, 0 to 1; None where there is none) and
        "retrieved" (how many queries have a document there).

    Raises:
        InputError: precomputed scores; judgments that do not say what else was judged.
        OptionError: a depth out of range.

    >>> from cranfield import compare
    >>> judgments = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
    >>> found = compare(judgments, {"x": {"q1": ["b", "c"], "q2": ["a"]}})
    >>> [(one["rank"], one["judged"], one["retrieved"]) for one in judged_by_rank(found, 2).points]
    [(1, 1.0, 2), (2, 0.0, 1)]

    """
    check_comparison(found, "judged_by_rank")
    deepest = check_option("depth", depth, whole_check(1, _MAX_DEPTH))
    source = find_source(found, "what is judged at each rank")
    if found.aligned.judged_share is None:
        what = "are in groups" if source.qrels.has_groups else "name relevant documents alone"
        raise InputError(f"these judgments {what}: they do not say what else was judged")
    again = rejudge_runs(found, source, (), deepest)
    points = [
        {"system": name, "rank": rank, "judged": judged / n if n else None, "retrieved": n}
        for name, shares, counts in zip(
            found.aligned.system_names, again.n_judged.T.tolist(), again.n_retrieved.T.tolist(), strict=True
        )
        for rank, (judged, n) in enumerate(zip(shares, counts, strict=True), 1)
    ]
    n = format_query_count(len(found.aligned.query_ids))
    return Figure(
        points,
        f"How much is judged at ranks 1 to {deepest}",
        f"The share of the documents of {n} at each rank that are judged, in percent",
        _draw_judged(found, points, deepest),
        style,
        list_doubts(found),
    )


def _draw_judged(found: Comparison, points: Points, depth: int) -> Draw:
    best_first = [one.name for one in find_result(found, None).ranked_systems]

    def draw(style: Style) -> Drawing:
        kept, said = select_best(best_first, style.rows, [found.settings.baseline])
        names = shorten_names(kept, style)
        rows = []
        for one in points:
            if one["system"] in names and one["judged"] is not None:
                share = one["judged"]
                ink = contrasting_ink(tint(_PALEST_SHARE + (1 - _PALEST_SHARE) * share**_COLOUR_POWER, _JUDGED_COLOUR))
                row = {"system": names[one["system"]], "rank": one["rank"], "judged": share}
                rows.append({**row, "shown": format_share(share).rstrip("%"), "ink": ink})
        numbers = style.numbers and depth <= _MAX_NUMBERED_RANKS
        step = next(one for one in (1, 5, 10) if depth <= (_MAX_NUMBERED_RANKS if numbers else 10) * one)
        there = [*range(1, depth + 1)]
        axis: Channel = {"title": "rank", "labelAngle": 0, "ticks": False, "domain": False}
        axis |= {"values": sorted({1, *there[step - 1 :: step]}), "labelOverlap": False}
        x = word_channel("rank", sort=there, scale={"domain": there}, axis=axis)
        base = make_chart(rows, x=x, y=row_axis("system", [*names.values()]))
        scale = {"type": "pow", "exponent": _COLOUR_POWER, "domain": [0, 1], "interpolate": "rgb"}
        legend = {"title": "share judged", "orient": "top", "format": "%", "tickCount": 5}
        legend |= {"gradientThickness": style.size}
        colour = number_channel(
            "judged",
            scale={**scale, "range": [tint(_PALEST_SHARE, _JUDGED_COLOUR), _JUDGED_COLOUR]},
            legend=None if numbers else legend,
        )
        layers = [
            base.mark_rect(stroke="#ffffff", strokeWidth=0.5 * style.line).encode(color=colour)
        ]
        if numbers:
            texts = base.mark_text(fontSize=0.85 * style.size, aria=False)
            layers.append(texts.encode(text=word_channel("shown"), color=_literal_colour("ink")))
        if any(one["judged"] is None for one in points):
            said = [*said, "No colour: nothing is retrieved there"]
        apart = {"color": "independent"}  # of cells, of numbers
        return Drawing(layers, style.rows_height(len(names)), said, apart)

    return draw
