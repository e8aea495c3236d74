"""Tables of systems that are means of several runs: their spread, and training them again."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from cranfield.comparison.corrections import CORRECTIONS as OF_P
from cranfield.comparison.method import CORRECTIONS
from cranfield.comparison.result import Pair, Result, System
from cranfield.comparison.settings import Settings
from cranfield.comparison.tables import MARKS
from cranfield.render.numbers import format_interval, format_number, format_percent, format_p, format_signed
from cranfield.render.table import Column, Table, legend, select_shown


class _TableLine(NamedTuple):
    """A row: a system, its pair with the baseline, or any pair."""

    system: System
    pair: Pair | None = None


def make_seed_tables(result: Result, settings: Settings) -> list[Table]:
    """Return tables of the runs of each system, and of the systems as trained again.

    One table if there is a baseline; none without several runs.
    """
    if all(one.runs is None or one.seeds == 1 for one in result.systems):
        return []
    pairs = {one.system: one for one in result.pairs}
    if settings.baseline is None:
        pairs = {}
    lines = [_TableLine(one, pairs.get(one.name)) for one in result.ranked_systems]
    lines.sort(key=lambda one: one.system.name != settings.baseline)
    found = [_make_table(result, settings, lines, with_spread=True, with_pairs=bool(pairs))]
    if settings.baseline is None and any(one.training_p is not None for one in result.pairs):
        by_name = {one.name: one for one in result.systems}
        of_pairs = [_TableLine(by_name[one.system], one) for one in result.pairs]
        found.append(_make_table(result, settings, of_pairs, with_spread=False, with_pairs=True))
    return found


def _make_table(
    result: Result, settings: Settings, lines: Sequence[_TableLine], *, with_spread: bool, with_pairs: bool
) -> Table:
    columns = select_shown(_list_columns(result, settings, with_spread=with_spread, with_pairs=with_pairs))
    what = "training again, with other seeds" if with_pairs else "the runs of each system"
    against = f"   baseline {settings.baseline}" if settings.baseline is not None else ""
    return Table(
        [one.heading for one in columns],
        [[one.cell(line) for one in columns] for line in lines],
        legend(columns),
        1 if with_spread else 2,
        title=[f"{result.measure}   {what}{against}"],
    )


def _list_columns(result: Result, settings: Settings, *, with_spread: bool, with_pairs: bool) -> Iterator[Column]:
    """Yield the columns: a cell shows a _Line."""
    level, by_ratio = format_percent(1 - settings.alpha), result.by_ratio

    def column(heading: str, show: Callable[[Pair], str], meaning: str = "", *how: bool) -> Column:
        return Column(
            heading, lambda one: "" if one.pair is None else show(one.pair), meaning, *how
        )

    yield Column("system", lambda one: one.system.name)
    yield column("minus", lambda one: one.other, "", not with_spread)
    yield Column("runs", lambda one: f"{one.system.seeds}", is_shown=with_spread)
    yield Column("mean", lambda one: format_number(one.system.mean), is_shown=with_spread)
    yield Column(
        "sd",
        lambda one: format_number(one.system.seed_sd),
        f"sd{', least, most' * (not with_pairs)}: the standard deviation of the means of a system's "
        f"runs{', and the least and the greatest of them' * (not with_pairs)}.",
        with_spread,
    )
    yield Column("least", lambda one: _extreme_mean(one.system, min), is_shown=with_spread and not with_pairs)
    yield Column("most", lambda one: _extreme_mean(one.system, max), is_shown=with_spread and not with_pairs)
    if not with_pairs:
        return
    yield column("ratio" if by_ratio else "diff", _format_difference)
    yield column(
        f"{level} interval",
        _format_interval,
        "The interval and p allow for other seeds as for other queries: would the systems differ "
        "if they were trained again? Queries and seeds are crossed random effects; Student's t "
        "with Satterthwaite's degrees of freedom, df.",
    )
    how = str(settings.correction) if settings.correction in OF_P else "holm"  # as `corrected` does
    several = any(one.training_p != one.training_p_adjusted for one in result.pairs)
    p_corrected = f"p {CORRECTIONS[how]}" if several else "p"
    yield column("p", lambda one: format_p(one.training_p))
    yield column(
        p_corrected,
        lambda one: format_p(one.training_p_adjusted),
        f"{p_corrected}: corrected for all comparisons that have a p.",
        p_corrected != "p",
    )
    yield column("df", lambda one: format_number(one.training_df, 1))


def _extreme_mean(system: System, end: Callable[[Iterable[float]], float]) -> str:
    """Return the least, or the greatest, mean of a system's runs."""
    return format_number(system.mean if system.runs is None else end(system.runs.values()))


def _format_difference(pair: Pair) -> str:
    """Return the difference, or the ratio, with the mark of training again."""
    shown = format_signed(pair.difference) if pair.ratio is None else format_number(pair.ratio)
    return f"{shown} {MARKS[pair.training_verdict]}"


def _format_interval(pair: Pair) -> str:
    """Return the interval of training again, of the difference or of the ratio."""
    ends = pair.training_low, pair.training_high
    if pair.scale == "difference" or None in ends:
        return format_interval(*ends)
    low, high = (math.exp(one) for one in ends if one is not None)
    return format_interval(low, high, signs=False)
