"""Tables of systems that are means of several runs: their spread, and training them again."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from cranfield.comparison.corrections import CORRECTIONS as OF_P
from cranfield.comparison.method import CORRECTIONS
from cranfield.comparison.result import Pair, Result, System
from cranfield.comparison.settings import Settings
from cranfield.comparison.tables import MARKS, format_difference, name_baselines
from cranfield.render.numbers import format_interval, format_number, format_p, format_percent
from cranfield.render.table import Column, Table, legend, select_shown


class _TableLine(NamedTuple):
    """A row: a system, and the pair, if any, in which it is the first."""

    system: System
    pair: Pair | None = None


def make_seed_tables(result: Result, settings: Settings) -> list[Table]:
    """Return tables of the runs of each system, and of the systems as trained again.

    One table if there is a baseline, the first if there are no tests; none without several runs.
    """
    if all(system.runs is None or system.seeds == 1 for system in result.systems):
        return []
    pair_of_system = {pair.system: pair for pair in result.pairs}
    if settings.only_baseline is None:
        pair_of_system = {}
    lines = [
        _TableLine(system, pair_of_system.get(system.name)) for system in result.ranked_systems
    ]
    lines.sort(key=lambda line: line.system.name not in settings.baselines)
    tables = [
        _make_table(result, settings, lines, with_spread=True, with_pairs=bool(pair_of_system))
    ]
    if settings.only_baseline is None and any(pair.training_p is not None for pair in result.pairs):
        system_of_name = {system.name: system for system in result.systems}
        pair_lines = [_TableLine(system_of_name[pair.system], pair) for pair in result.pairs]
        tables.append(_make_table(result, settings, pair_lines, with_spread=False, with_pairs=True))
    return tables


def _make_table(
    result: Result,
    settings: Settings,
    lines: Sequence[_TableLine],
    *,
    with_spread: bool,
    with_pairs: bool,
) -> Table:
    columns = select_shown(
        _list_columns(result, settings, with_spread=with_spread, with_pairs=with_pairs)
    )
    subject = "training again, with other seeds" if with_pairs else "the runs of each system"
    baseline_text = f"   {name_baselines(settings)}" if settings.baselines else ""
    return Table(
        [column.heading for column in columns],
        [[column.cell(line) for column in columns] for line in lines],
        legend(columns),
        1 if with_spread else 2,
        title=[f"{result.measure}   {subject}{baseline_text}"],
    )


def _list_columns(
    result: Result, settings: Settings, *, with_spread: bool, with_pairs: bool
) -> Iterator[Column]:
    """Yield the columns: a cell shows a _TableLine.

    `with_spread` shows those of a system's runs, `with_pairs` those of training a pair again.
    """
    level, by_ratio = format_percent(1 - settings.alpha), result.by_ratio

    def make_column(
        heading: str, show: Callable[[Pair], str], meaning: str = "", *is_shown: bool
    ) -> Column:
        return Column(
            heading, lambda line: "" if line.pair is None else show(line.pair), meaning, *is_shown
        )

    yield Column("system", lambda line: line.system.name)
    yield make_column("minus", lambda pair: pair.other, "", not with_spread)
    yield Column("runs", lambda line: f"{line.system.seeds}", is_shown=with_spread)
    yield Column("mean", lambda line: format_number(line.system.mean), is_shown=with_spread)
    yield Column(
        "sd",
        lambda line: format_number(line.system.seed_sd),
        f"sd{', least, most' * (not with_pairs)}: the standard deviation of the means of a "
        f"system's runs{', and the least and the greatest of them' * (not with_pairs)}.",
        with_spread,
    )
    yield Column(
        "least",
        lambda line: _extreme_mean(line.system, min),
        is_shown=with_spread and not with_pairs,
    )
    yield Column(
        "most",
        lambda line: _extreme_mean(line.system, max),
        is_shown=with_spread and not with_pairs,
    )
    if not with_pairs:
        return
    yield make_column(
        "ratio" if by_ratio else "diff",
        lambda pair: f"{format_difference(pair)} {MARKS[pair.training_verdict]}",
    )
    yield make_column(
        f"{level} interval",
        _format_interval,
        "training again: interval and p allow for other seeds as for other queries.\n"
        "df: Satterthwaite's degrees of freedom, of crossed random effects.",
    )
    # As `correct_tests` does.
    correction = str(settings.correction) if settings.correction in OF_P else "holm"
    has_corrected_p = any(pair.training_p != pair.training_p_adjusted for pair in result.pairs)
    p_heading = f"p {CORRECTIONS[correction]}" if has_corrected_p else "p"
    yield make_column(p_heading, lambda pair: format_p(pair.training_p_adjusted))
    yield make_column("df", lambda pair: format_number(pair.training_df, 1))


def _extreme_mean(system: System, extreme: Callable[[Iterable[float]], float]) -> str:
    """Return the least, or the greatest, mean of a system's runs as text."""
    return format_number(system.mean if system.runs is None else extreme(system.runs.values()))


def _format_interval(pair: Pair) -> str:
    """Return the interval of training again, of the difference or of the ratio."""
    limits = pair.training_low, pair.training_high
    if not pair.changed and limits[0] == limits[1]:  # identical scores
        return "-"
    if pair.scale == "difference" or None in limits:
        return format_interval(*limits)
    low, high = (math.exp(log_limit) for log_limit in limits if log_limit is not None)
    return format_interval(low, high, signs=False)
