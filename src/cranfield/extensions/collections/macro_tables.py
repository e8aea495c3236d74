"""Tables of systems over several collections: each collection, and the averages."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cranfield.comparison.comparison import Comparison
from cranfield.comparison.method import CORRECTIONS
from cranfield.comparison.tables import MARKS
from cranfield.extensions.collections.macro_result import MacroPair, MacroResult, MacroSystem
from cranfield.extensions.collections.options import CollectionSettings
from cranfield.notes import Note, lines_below_table
from cranfield.render.numbers import format_interval, format_number, format_count, format_percent, format_p, format_signed
from cranfield.render.table import Column, Table, legend, select_shown

_TESTS = {"randomization": "randomization test", "t": "t-test"}


def make_macro_tables(
    results: Sequence[MacroResult],
    comparisons: Mapping[str, Comparison],
    settings: CollectionSettings,
    notes: Sequence[Note],
) -> list[Table]:
    """Return, for each measure, a table of the collections, and one for each question."""
    found: list[Table] = []
    for place, result in enumerate(results):
        found += [
            _make_collections_table(result, place, comparisons, settings, () if found else notes),
            _make_averages_table(result, comparisons, settings, about_others=False),
            _make_averages_table(result, comparisons, settings, about_others=True),
        ]
    return found


def _make_collections_table(
    result: MacroResult,
    measure_index: int,
    comparisons: Mapping[str, Comparison],
    settings: CollectionSettings,
    notes: Sequence[Note],
) -> Table:
    """Return a row for each collection, and one of the averages: a column for each system."""
    every = dict.fromkeys(name for one in comparisons.values() for name in one.aligned.system_names)
    averages = {one.name: one.mean for one in result.systems}
    rows, best = [], set()
    own = {name: one.aligned.measures[measure_index] for name, one in comparisons.items()}
    several = len({*own.values()}) > 1
    for row, (name, one) in enumerate(comparisons.items()):
        of_one = one[own[name]]
        means = {system.name: system.mean for system in of_one.systems}
        cells = []
        for column, system in enumerate(every, 2 + several):
            if system not in means:
                cells.append("-  ")
                continue
            pair = of_one.pair_of_names.get((system, str(one.settings.baseline)))
            cells.append(f"{format_number(means[system])} {MARKS[None if pair is None else pair.verdict]}")
            if system == of_one.ranked_systems[0].name:
                best.add((row, column))
        rows.append([name, *[own[name]] * several, f"{len(one.aligned.query_ids):,}", *cells])
    means_of_all = [f"{format_number(averages[one])}  " if one in averages else "-  " for one in every]
    n = sum(len(one.aligned.query_ids) for one in comparisons.values())
    rows.append(["average", *[""] * several, f"{n:,}", *means_of_all])
    if result.ranked_systems:
        best.add((len(comparisons), 2 + several + [*every].index(result.ranked_systems[0].name)))
    said = ["average: the mean of the collections, each of which counts the same."]
    if settings.all_pairs is False:
        baseline = next(iter(comparisons.values())).settings.baseline
        corrected = CORRECTIONS.get(settings.correction)
        how = f"{_TESTS[settings.test]}{f', {corrected}' if corrected else ''}"
        said.insert(
            0,
            f"^ better, v worse than {baseline} on that collection alone ({how}, alpha "
            f"{settings.alpha:g}; not corrected for the number of collections).",
        )
    return Table(
        ["collection", *["measure"] * several, "queries", *every],
        rows,
        lines_below_table(said, notes),
        1 + several,
        frozenset(best),
        frozenset({len(comparisons)}),
        title=[f"{result.measure}   {format_count(len(comparisons), 'collection')}"],
    )


class _TableLine(NamedTuple):
    """A row: a system with its pair, or a pair."""

    system: MacroSystem
    pair: MacroPair | None


def _make_averages_table(
    result: MacroResult,
    comparisons: Mapping[str, Comparison],
    settings: CollectionSettings,
    *,
    about_others: bool,
) -> Table:
    """Return a row for each system, or pair: about these collections, or others like these."""
    baseline = next(iter(comparisons.values())).settings.baseline
    by_name = {one.name: one for one in result.systems}
    lines = [_TableLine(by_name[one.system], one) for one in result.pairs]
    if baseline is not None:
        pairs = {one.system: one for one in result.pairs}
        lines = [_TableLine(one, pairs.get(one.name)) for one in result.ranked_systems]
        lines.sort(key=lambda one: one.system.name != baseline)
    columns = select_shown(_list_columns(result, settings, baseline, about_others=about_others))
    about = "other collections like these" if about_others else "these collections"
    against = "all pairs" if baseline is None else f"baseline {baseline}"
    n_labels = 1 + (baseline is None)
    return Table(
        [one.heading for one in columns],
        [[one.cell(line) for one in columns] for line in lines],
        legend(columns),
        n_labels,
        title=[f"{result.measure}   {about}   {against}", _describe_test(result, settings, about_others=about_others)],
    )


def _describe_test(result: MacroResult, settings: CollectionSettings, *, about_others: bool) -> str:
    """Return how the pairs were tested."""
    n = len(result.systems[0].means)
    unit = "collections" if about_others else "queries"
    said = f"{_TESTS[settings.test]}, two-sided"
    if settings.test == "randomization" and (about_others or result.pairs[0].method == "exact"):
        exact = not about_others or n <= 20
        drawn = f"{settings.flips:,} flips, seed {settings.seed}"
        said += f", {'all flips' if exact else drawn} of {unit}"
    elif settings.test == "randomization":
        most = "up to " if result.pairs[0].method == "sequential" else ""
        said += f", {most}{settings.flips:,} flips of {unit}, seed {settings.seed}"
    over = format_count(len(result.pairs), "comparison")
    how = CORRECTIONS.get(settings.correction)
    said += f"; {how} over {over}" if how and len(result.pairs) > 1 else f"; {over}"
    return f"{said}; alpha {settings.alpha:g}"


def _list_columns(
    result: MacroResult, settings: CollectionSettings, baseline: str | None, *, about_others: bool
) -> Iterator[Column]:
    """Yield the columns of the averages: a cell shows a _Line."""
    prefix = "others_" if about_others else ""
    level = format_percent(1 - settings.alpha)

    def column(
        heading: str, show: Callable[[MacroPair], str], meaning: str = "", *how: bool
    ) -> Column:
        return Column(
            heading, lambda one: "" if one.pair is None else show(one.pair), meaning, *how
        )

    def of(pair: MacroPair, name: str) -> float | None:
        found: float | None = getattr(pair, f"{prefix}{name}")
        return found

    def marked(pair: MacroPair) -> str:
        verdict = pair.others_verdict if about_others else pair.verdict
        return f"{format_signed(pair.difference)} {MARKS[verdict]}"

    mark = f"^ better, v worse{f' than {baseline}' if baseline else ' than the other'}: "
    mark += f"{_p_name(result, settings)} at most {settings.alpha:g}."
    yield Column("system", lambda one: one.system.name)
    yield column("minus", lambda one: one.other, "", baseline is None)
    yield Column(
        "mean",
        lambda one: format_number(one.system.mean),
        "mean: of the collections' means.",
        not about_others and baseline is not None,
    )
    yield column("diff", marked, mark)
    yield column(
        f"{level} interval",
        lambda one: format_interval(of(one, "low"), of(one, "high")),
        "The interval and p allow for other collections, each of which is one observation."
        if about_others
        else "The interval and p allow for other queries of these collections; a collection with "
        "few queries counts as much as one with many.",
    )
    yield column("p", lambda one: format_p(of(one, "p")))
    yield column(
        _p_name(result, settings),
        lambda one: format_p(of(one, "p_adjusted")),
        f"{_p_name(result, settings)}: corrected for all comparisons.",
        _p_name(result, settings) != "p",
    )
    yield column(
        "W/T/L",
        lambda one: f"{one.wins}/{one.ties}/{one.losses}",
        "W/T/L: collections on which the system is better, the same, worse.",
        about_others,
    )


def _p_name(result: MacroResult, settings: CollectionSettings) -> str:
    """Return the name of the p-value that decides."""
    how = CORRECTIONS.get(settings.correction)
    return f"p {how}" if how and len(result.pairs) > 1 else "p"
