"""Tables as pictures: each system beside each other, and how much of each rank is judged."""

from cranfield.comparison.compare import every_pair
from cranfield.comparison.comparison import Comparison
from cranfield.errors import InputError
from cranfield.figures.choice import compared, result_of, source_of
from cranfield.figures.figure import Figure
from cranfield.figures.source_runs import met
from cranfield.figures.style import StyleName
from cranfield.measures import Measure
from cranfield.options import checked, whole

DEPTH = 20
_DEEPEST = 100
_OF_PAIR = (
    "difference",
    "low",
    "high",
    "p",
    "p_adjusted",
    "verdict",
    "wins",
    "ties",
    "losses",
    "ratio",
    "ratio_low",
    "ratio_high",
)


def pair_matrix(
    found: Comparison, measure: str | Measure | None = None, *, style: StyleName = "screen"
) -> Figure:
    """Draw the mean difference of each system to each other, and which differences are found.

    Where `found` has a baseline, all pairs are compared now, and p-values corrected for all.

    Args:
        found: what `compare` returns, of two systems or more.
        measure: one of those that were compared. [default: the first]
        style: "screen", "paper" or "slides".

    Returns:
        Figure; a point, of each pair once, has "system", "other", "difference" (of a measure with
        a geometric mean, of logarithms), "low", "high", "p", "p_adjusted", "verdict", "wins",
        "ties", "losses", "ratio", "ratio_low" and "ratio_high". What does not exist is None.

    Raises:
        InputError: there is one system.
        MeasureError: a measure that was not compared.

    >>> from cranfield import compare
    >>> half = {"a": {"q1": 0.5, "q2": 1.0}, "b": {"q1": 0.0, "q2": 1.0}, "c": {"q1": 0, "q2": 0}}
    >>> points = pair_matrix(compare(half)).points
    >>> [(one["system"], one["other"], one["difference"]) for one in points]
    [('a', 'b', 0.25), ('a', 'c', 0.75), ('b', 'c', 0.5)]

    """
    wanted = result_of(compared(found, "pair_matrix"), measure).measure
    if len(found.aligned.names) < 2:
        raise InputError("systems are drawn beside each other, and there is only one")
    every = every_pair(found)
    result = every[wanted]
    points = [
        {
            "system": one.system,
            "other": one.other,
            **{name: getattr(one, name) for name in _OF_PAIR},
        }
        for one in result.pairs
    ]
    return Figure(points, "", "", None, style)


def judged_by_rank(found: Comparison, depth: int = DEPTH, *, style: StyleName = "screen") -> Figure:
    """Draw which share of the documents at each rank carries a judgment.

    Any grade is a judgment, a negative one, too. The runs are read once more, and ranked as they
    were for the comparison.

    Args:
        found: what `compare` returns of judgments and runs.
        depth: how many ranks, 1 to 100.
        style: "screen", "paper" or "slides".

    Returns:
        Figure; a point, of every system and rank, has "system", "rank", "judged" (the share of the
        documents retrieved at that rank that are judged, 0 to 1; None where there is none) and
        "retrieved" (how many queries have a document there).

    Raises:
        InputError: scores that were made before; judgments that do not say what was judged.
        OptionError: a depth out of range.

    >>> from cranfield import compare
    >>> judgments = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
    >>> found = compare(judgments, {"x": {"q1": ["b", "c"], "q2": ["a"]}})
    >>> [(one["rank"], one["judged"], one["retrieved"]) for one in judged_by_rank(found, 2).points]
    [(1, 1.0, 2), (2, 0.0, 1)]

    """
    compared(found, "judged_by_rank")
    deepest = checked("depth", depth, whole(1, _DEEPEST))
    source = source_of(found, "what is judged at each rank")
    if source.judged is None:
        what = "are in groups" if source.qrels.in_groups else "name relevant documents alone"
        raise InputError(f"these judgments {what}: they do not say what else was judged")
    again = met(found, source, (), deepest)
    points = [
        {"system": name, "rank": rank, "judged": judged / n if n else None, "retrieved": n}
        for name, shares, counts in zip(
            found.aligned.names, again.judged.T.tolist(), again.retrieved.T.tolist(), strict=True
        )
        for rank, (judged, n) in enumerate(zip(shares, counts, strict=True), 1)
    ]
    return Figure(points, "", "", None, style)
