"""Tables of systems that are means of several runs: their spread, and training them again."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from cranfield.comparison.corrections import CORRECTIONS as OF_P
from cranfield.comparison.method import CORRECTIONS
from cranfield.comparison.result import Pair, Result, System
from cranfield.comparison.settings import Settings
from cranfield.comparison.tables import MARKS
from cranfield.render.numbers import interval, number, percent, probability, signed
from cranfield.render.table import Column, Table, legend, wanted


class _Line(NamedTuple):
    """A row: a system, its pair with the baseline, or any pair."""

    system: System
    pair: Pair | None = None


def seeds_of(result: Result, settings: Settings) -> list[Table]:
    """Return tables of the runs of each system, and of the systems as trained again.

    One table if there is a baseline; none without several runs.
    """
    if all(one.runs is None or one.seeds == 1 for one in result.systems):
        return []
    pairs = {one.system: one for one in result.pairs}
    if settings.baseline is None:
        pairs = {}
    lines = [_Line(one, pairs.get(one.name)) for one in result.ordered]
    lines.sort(key=lambda one: one.system.name != settings.baseline)
    found = [_table(result, settings, lines, spread=True, paired=bool(pairs))]
    if settings.baseline is None and any(one.training_p is not None for one in result.pairs):
        by_name = {one.name: one for one in result.systems}
        of_pairs = [_Line(by_name[one.system], one) for one in result.pairs]
        found.append(_table(result, settings, of_pairs, spread=False, paired=True))
    return found


def _table(
    result: Result, settings: Settings, lines: Sequence[_Line], *, spread: bool, paired: bool
) -> Table:
    columns = wanted(_columns(result, settings, spread=spread, paired=paired))
    what = "training again, with other seeds" if paired else "the runs of each system"
    against = f"   baseline {settings.baseline}" if settings.baseline is not None else ""
    return Table(
        [one.heading for one in columns],
        [[one.cell(line) for one in columns] for line in lines],
        legend(columns),
        1 if spread else 2,
        title=[f"{result.measure}   {what}{against}"],
    )


def _columns(result: Result, settings: Settings, *, spread: bool, paired: bool) -> Iterator[Column]:
    """Yield the columns: a cell shows a _Line."""
    level, by_ratio = percent(1 - settings.alpha), result.by_ratio

    def column(heading: str, show: Callable[[Pair], str], meaning: str = "", *how: bool) -> Column:
        return Column(
            heading, lambda one: "" if one.pair is None else show(one.pair), meaning, *how
        )

    yield Column("system", lambda one: one.system.name)
    yield column("minus", lambda one: one.other, "", not spread)
    yield Column("runs", lambda one: f"{one.system.seeds}", wanted=spread)
    yield Column("mean", lambda one: number(one.system.mean), wanted=spread)
    yield Column(
        "sd",
        lambda one: number(one.system.seed_sd),
        f"sd{', least, most' * (not paired)}: the standard deviation of the means of a system's "
        f"runs{', and the least and the greatest of them' * (not paired)}.",
        spread,
    )
    yield Column("least", lambda one: _end(one.system, min), wanted=spread and not paired)
    yield Column("most", lambda one: _end(one.system, max), wanted=spread and not paired)
    if not paired:
        return
    yield column("ratio" if by_ratio else "diff", _difference)
    yield column(
        f"{level} interval",
        _ends,
        "The interval and p allow for other seeds as for other queries: would the systems differ "
        "if they were trained again? Queries and seeds are crossed random effects; Student's t "
        "with Satterthwaite's degrees of freedom, df.",
    )
    how = str(settings.correction) if settings.correction in OF_P else "holm"  # as `corrected` does
    several = any(one.training_p != one.training_p_adjusted for one in result.pairs)
    p_corrected = f"p {CORRECTIONS[how]}" if several else "p"
    yield column("p", lambda one: probability(one.training_p))
    yield column(
        p_corrected,
        lambda one: probability(one.training_p_adjusted),
        f"{p_corrected}: corrected for all comparisons that have a p.",
        p_corrected != "p",
    )
    yield column("df", lambda one: number(one.training_df, 1))


def _end(system: System, end: Callable[[Iterable[float]], float]) -> str:
    """Return the least, or the greatest, mean of a system's runs."""
    return number(system.mean if system.runs is None else end(system.runs.values()))


def _difference(pair: Pair) -> str:
    """Return the difference, or the ratio, with the mark of training again."""
    shown = signed(pair.difference) if pair.ratio is None else number(pair.ratio)
    return f"{shown} {MARKS[pair.training_verdict]}"


def _ends(pair: Pair) -> str:
    """Return the interval of training again, of the difference or of the ratio."""
    ends = pair.training_low, pair.training_high
    if pair.scale == "difference" or None in ends:
        return interval(*ends)
    low, high = (math.exp(one) for one in ends if one is not None)
    return interval(low, high, signs=False)
