"""The lines above and below the tables of a comparison: how it was made, what its marks mean."""

import math
from collections.abc import Sequence

from cranfield.comparison.result import Result
from cranfield.comparison.settings import Settings
from cranfield.measures import parse
from cranfield.render.numbers import interval, number, number_of, percent, queries_of, some

_TESTS = {
    "randomization": "randomization test",
    "t": "t-test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "sign": "sign test",
    "bootstrap": "studentised bootstrap test",
    "bayes": "Bayesian estimate",
}
_CORRECTIONS = {
    "holm": "Holm",
    "maxt": "maxT",
    "tukey": "Tukey",
    "rtukey": "r. Tukey",
    "bonferroni": "Bonferroni",
    "bh": "BH",
    "by": "BY",
}
_INTERVALS = {
    "randomization": "by inversion of the test",
    "t": "by Student's t",
    "bca": "by the BCa bootstrap",
}


def title_of(results: Sequence[Result], settings: Settings) -> list[str]:
    """Return the lines above a table: what is compared, and how it was tested."""
    first = results[0]
    what = f"{first.measure}   by {first.label}"
    if first.label is None:
        what = f"{first.measure}   {queries_of(len(first.query_ids))}"
    against = "all pairs" if settings.baseline is None else f"baseline {settings.baseline}"
    if len(first.systems) == 1:
        return [what]
    return [f"{what}   {against}", *_method(results, settings)]


def _method(results: Sequence[Result], settings: Settings) -> list[str]:
    """Return the line that says how it was tested; more of it where slices differ."""
    first = results[0]
    said = [_TESTS[settings.test]]
    if settings.test != "bayes":
        said[0] += ", two-sided"
    if settings.test in ("randomization", "wilcoxon"):
        exact = [pair.exact for result in results for pair in result.pairs[:1]]
        drawn = f"{settings.flips:,} flips, seed {settings.seed}"
        every = "exact: all flips"
        said[0] += ", " + (every if all(exact) else drawn)
        if any(exact) and not all(exact):
            said[0] += "; exact up to 20 queries"
    elif settings.test == "bootstrap":
        said[0] += f", {settings.flips:,} resamples, seed {settings.seed}"
    if settings.test == "bayes" or settings.rope is not None:
        said.append(f"the same: within {settings.rope or 0:g}")
    if settings.test != "bayes":
        over = number_of(first.comparisons, "comparison")
        over += " in each slice" if first.label is not None else ""
        over += " of all measures" if settings.family == "all" else ""
        if settings.correction == "none":
            said.append(f"uncorrected, {over}")
        else:
            drawn = f", {settings.permutations:,} permutations" if settings.permutations else ""
            said.append(f"{_CORRECTIONS[settings.correction]} over {over}{drawn}")
    said.append(f"alpha {settings.alpha:g}")
    return ["; ".join(said)]


def of_difference(results: Sequence[Result], settings: Settings) -> str:
    """Return what the difference to the baseline is, and its interval."""
    first, level = results[0], percent(1 - settings.alpha)
    kinds = dict.fromkeys(pair.interval for one in results for pair in one.pairs)
    how = " or ".join(_INTERVALS[kind] for kind in kinds if kind in _INTERVALS)
    change, ends = "diff: mean difference to", f"its {level} interval{f' ({how})' if how else ''}"
    if settings.test == "bayes":
        ends = f"its {level} credible interval"
    if first.by_ratio:
        change = f"ratio: {first.measure}, a geometric mean, divided by that of"
        ends += "; tested are the differences of the queries' logarithms"
    said = f"{change} {settings.baseline}, and {ends}."
    if is_corrected(first, settings):
        none = "1" if first.by_ratio else "0"
        said += (
            f" Each interval is for one pair, uncorrected: it may exclude {none} although the pair "
            "has no mark."
        )
    return said


def on_marks(results: Sequence[Result], settings: Settings) -> list[str]:
    """Return what the marks mean, and what it means that there is none."""
    pairs = [pair for result in results for pair in result.pairs]
    unmarked = [pair for pair in pairs if pair.verdict is None]
    said = []
    if settings.baseline is not None and len(unmarked) < len(pairs):
        said.append(f"^ better, v worse than {settings.baseline}: {sure_by(results[0], settings)}.")
    if unmarked:
        where = "No mark" if len(unmarked) < len(pairs) else "No system is marked"
        where = "Not found to differ" if settings.baseline is None else where
        said.append(
            f"{where}: no evidence of a difference, which is not evidence that there is none."
        )
        said += _power(results, settings)
    return said


def sure_by(result: Result, settings: Settings) -> str:
    """Return what a pair must have to be marked."""
    if settings.test == "bayes":
        return f"with a probability of at least {settings.sure:g}"
    return f"{told_by(result, settings)} at most {settings.alpha:g}"


def told_by(result: Result, settings: Settings) -> str:
    """Return the name of the p-value that tells whether a pair differs."""
    return f"p {_CORRECTIONS[settings.correction]}" if is_corrected(result, settings) else "p"


def _power(results: Sequence[Result], settings: Settings) -> list[str]:
    """Return which differences so many queries would have missed, of the pairs without a mark."""
    first = results[0]
    unmarked = [pair for pair in first.pairs if pair.verdict is None and pair.detectable]
    if first.label is not None or not unmarked:
        return []
    sizes = [pair.detectable or 0.0 for pair in unmarked]
    sizes = list(map(math.exp, sizes)) if first.by_ratio else sizes
    by_level = first.comparisons == 1 or settings.correction in ("none", "holm", "bonferroni")
    what = "difference smaller than this"
    if first.by_ratio:
        what = "ratio between 1 and this, or 1 and 1 / this,"
    n = (
        f"With {first.pairs[0].n:,} queries, a true {what} is missed more than 1 time in 5"
        f"{'' if by_level else ', before correction'}"
    )
    if len(sizes) > 6 or first.letters is not None:
        least, most = number(min(sizes)), number(max(sizes))
        return [f"{n}: {least}." if least == most else f"{n}: {least} to {most}, by the pair."]
    each = zip(unmarked, sizes, strict=True)
    return [f"{n}: {', '.join(f'{pair.system} {number(size)}' for pair, size in each)}."]


def is_corrected(result: Result, settings: Settings) -> bool:
    """Tell whether p-values are corrected for more than one comparison."""
    if settings.correction in ("tukey", "rtukey"):  # of all systems, never the same as p
        return True
    return settings.correction != "none" and result.comparisons > 1


def on_judged(results: Sequence[Result], settings: Settings) -> list[str]:
    """Return sentences on systems with little judged, each after the slices it applies to."""
    slices: dict[str, list[str]] = {}
    for result in results:
        for one in _on_little_judged(result, settings):
            slices.setdefault(one, []).append(str(result.slice))
    of_slices = results[0].label is not None
    return [f"{some(names)}: {one}" if of_slices else one for one, names in slices.items()]


def _on_little_judged(result: Result, settings: Settings) -> list[str]:
    """Return sentences on systems with little judged."""
    little = {one.name for one in result.systems if one.little_judged}
    if not little:
        return []
    said = ["! more than 0.05 below the share of another system."]
    bounded = [
        f"{one.system} {interval(one.unjudged_low, one.unjudged_high)}"
        for one in result.pairs
        if {one.system, one.other} & little and one.unjudged_low is not None
    ]
    if bounded and result.letters is None:
        more = f", and {len(bounded) - 3} more (--format csv or json)" if len(bounded) > 3 else ""
        lead = "Whatever the unjudged documents are, diff lies in"
        moves = "" if settings.bounds else ideal_moves(result)  # the column's line says it
        said.append(f"{lead}: {', '.join(bounded[:3])}{more}.{moves}")
    return said


def ideal_moves(result: Result) -> str:
    """Return a sentence on a measure of which any mean may fall if more is found relevant."""
    known = any(one.unjudged_low is not None for one in result.pairs)
    moves = known and parse(result.measure).linear == "ratio"
    return " New grades change the ideal ranking, and with it both means." if moves else ""
