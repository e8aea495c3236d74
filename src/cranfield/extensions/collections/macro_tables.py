"""Tables of systems over several collections: each collection, and the averages."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cranfield.comparison.comparison import Comparison
from cranfield.comparison.method import CORRECTIONS
from cranfield.comparison.tables import MARKS, name_baselines
from cranfield.extensions.collections.macro_result import MacroPair, MacroResult, MacroSystem
from cranfield.extensions.collections.options import CollectionSettings
from cranfield.notes import Note, lines_below_table
from cranfield.render.numbers import (
    format_count,
    format_interval,
    format_number,
    format_p,
    format_percent,
    format_signed,
)
from cranfield.render.table import Column, Table, legend, put_lines_last, select_shown

_TESTS = {"randomization": "randomization test", "t": "t-test"}


def make_macro_tables(
    results: Sequence[MacroResult],
    comparisons: Mapping[str, Comparison],
    settings: CollectionSettings,
    notes: Sequence[Note],
) -> list[Table]:
    """Return, for each measure, a table of the collections, and one for each question."""
    tables: list[Table] = []
    for measure_index, averages in enumerate(results):
        tables += [
            _make_collections_table(averages, measure_index, comparisons, settings),
            _make_averages_table(averages, comparisons, settings, by_collections=False),
            _make_averages_table(averages, comparisons, settings, by_collections=True),
        ]
    legend_lines = dict.fromkeys(line for table in tables for line in table.notes)
    return put_lines_last(tables, lines_below_table(legend_lines, notes))


def _make_collections_table(
    averages: MacroResult,
    measure_index: int,
    comparisons: Mapping[str, Comparison],
    settings: CollectionSettings,
) -> Table:
    """Return a table with a row for each collection, one of averages, and a column per system."""
    system_names = dict.fromkeys(
        name for comparison in comparisons.values() for name in comparison.aligned.system_names
    )
    mean_of_system = {system.name: system.mean for system in averages.systems}
    rows, best_cells = [], set()
    measure_of_collection = {
        name: comparison.aligned.measures[measure_index] for name, comparison in comparisons.items()
    }
    has_own_measures = len({*measure_of_collection.values()}) > 1
    for row, (name, comparison) in enumerate(comparisons.items()):
        collection_result = comparison[measure_of_collection[name]]
        mean_on_collection = {system.name: system.mean for system in collection_result.systems}
        cells = []
        for column, system in enumerate(system_names, 2 + has_own_measures):
            if system not in mean_on_collection:
                cells.append("-  ")
                continue
            pair = collection_result.pair_of_names.get(
                (system, str(comparison.settings.only_baseline))
            )
            mark = MARKS[None if pair is None else pair.verdict]
            cells.append(f"{format_number(mean_on_collection[system])} {mark}")
            if system == collection_result.ranked_systems[0].name:
                best_cells.add((row, column))
        labels = [name, *[measure_of_collection[name]] * has_own_measures]
        rows.append([*labels, f"{len(comparison.aligned.query_ids):,}", *cells])
    average_cells = [
        f"{format_number(mean_of_system[system])}  " if system in mean_of_system else "-  "
        for system in system_names
    ]
    n_queries = sum(len(comparison.aligned.query_ids) for comparison in comparisons.values())
    rows.append(["average", *[""] * has_own_measures, f"{n_queries:,}", *average_cells])
    if averages.ranked_systems:
        best_system = [*system_names].index(averages.ranked_systems[0].name)
        best_cells.add((len(comparisons), 2 + has_own_measures + best_system))
    captions = ["average: the mean of the collections, each of which counts the same."]
    baseline = next(iter(comparisons.values())).settings.only_baseline
    if baseline is not None:
        captions = [
            _describe_marks(averages, settings, baseline),
            "Marks of a collection are of it alone, uncorrected for their number.",
            *captions,
        ]
    return Table(
        ["collection", *["measure"] * has_own_measures, "queries", *system_names],
        rows,
        captions,
        1 + has_own_measures,
        frozenset(best_cells),
        frozenset({len(comparisons)}),
        title=[f"{averages.measure}   {format_count(len(comparisons), 'collection')}"],
    )


class _TableLine(NamedTuple):
    """A row of the averages: a system with its pair with the baseline, or any pair."""

    system: MacroSystem
    pair: MacroPair | None


def _make_averages_table(
    averages: MacroResult,
    comparisons: Mapping[str, Comparison],
    settings: CollectionSettings,
    *,
    by_collections: bool,
) -> Table:
    """Return a table of systems, or of pairs: tested on these collections, or for others."""
    resolved_settings = next(iter(comparisons.values())).settings
    baseline = resolved_settings.only_baseline
    system_of_name = {system.name: system for system in averages.systems}
    lines = [_TableLine(system_of_name[pair.system], pair) for pair in averages.pairs]
    if baseline is not None:
        pair_of_system = {pair.system: pair for pair in averages.pairs}
        lines = [
            _TableLine(system, pair_of_system.get(system.name))
            for system in averages.ranked_systems
        ]
        lines.sort(key=lambda line: line.system.name != baseline)
    columns = select_shown(
        _list_columns(averages, settings, baseline, by_collections=by_collections)
    )
    scope = "other collections like these" if by_collections else "these collections"
    rivals = name_baselines(resolved_settings)
    n_labels = 1 + (baseline is None)
    return Table(
        [column.heading for column in columns],
        [[column.cell(line) for column in columns] for line in lines],
        legend(columns),
        n_labels,
        title=[
            f"{averages.measure}   {scope}   {rivals}",
            _describe_test(averages, settings, by_collections=by_collections),
        ],
    )


def _describe_test(
    averages: MacroResult, settings: CollectionSettings, *, by_collections: bool
) -> str:
    """Return a text on how the pairs were tested."""
    n_collections = len(averages.systems[0].means)
    unit = "collections" if by_collections else "queries"
    test_text = f"{_TESTS[settings.test]}, two-sided"
    if settings.test == "randomization" and (by_collections or averages.pairs[0].method == "exact"):
        is_exact = not by_collections or n_collections <= 20  # as `Flips.is_exact`
        sample_text = f"{settings.flips:,} flips, seed {settings.seed}"
        test_text += f", {'all flips' if is_exact else sample_text} of {unit}"
    elif settings.test == "randomization":
        prefix = "up to " if averages.pairs[0].method == "sequential" else ""
        test_text += f", {prefix}{settings.flips:,} flips of {unit}, seed {settings.seed}"
    comparisons_text = format_count(len(averages.pairs), "comparison")
    correction = CORRECTIONS.get(settings.correction)
    test_text += (
        f"; {correction} over {comparisons_text}"
        if correction and len(averages.pairs) > 1
        else f"; {comparisons_text}"
    )
    return test_text


def _list_columns(
    averages: MacroResult,
    settings: CollectionSettings,
    baseline: str | None,
    *,
    by_collections: bool,
) -> Iterator[Column]:
    """Yield the columns of the averages: a cell shows a _TableLine."""
    prefix = "others_" if by_collections else ""
    level = format_percent(1 - settings.alpha)

    def make_column(
        heading: str, show: Callable[[MacroPair], str], meaning: str = "", *is_shown: bool
    ) -> Column:
        return Column(
            heading, lambda line: "" if line.pair is None else show(line.pair), meaning, *is_shown
        )

    def pair_number(pair: MacroPair, name: str) -> float | None:
        number: float | None = getattr(pair, f"{prefix}{name}")
        return number

    def mark_difference(pair: MacroPair) -> str:
        verdict = pair.others_verdict if by_collections else pair.verdict
        return f"{format_signed(pair.difference)} {MARKS[verdict]}"

    p_name = _p_name(averages, settings)
    yield Column("system", lambda line: line.system.name)
    yield make_column("minus", lambda pair: pair.other, "", baseline is None)
    yield Column(
        "mean",
        lambda line: format_number(line.system.mean),
        "mean: of the collections' means.",
        not by_collections and baseline is not None,
    )
    yield make_column("diff", mark_difference, _describe_marks(averages, settings, baseline))
    yield make_column(
        f"{level} interval",
        lambda pair: format_interval(pair_number(pair, "low"), pair_number(pair, "high")),
        "Other collections: interval and p allow for these, each one observation."
        if by_collections
        else "These collections: interval and p allow for other queries of each.",
    )
    correction = f", corrected for {len(averages.pairs):,} comparisons" * (p_name != "p")
    yield make_column(
        p_name,
        lambda pair: format_p(pair_number(pair, "p_adjusted")),
        f"{p_name}: how often chance alone does as much{correction}.",
    )
    yield make_column(
        "W/T/L",
        lambda pair: f"{pair.wins}/{pair.ties}/{pair.losses}",
        "W/T/L: collections on which it is better, the same, worse.",
        by_collections,
    )


def _describe_marks(
    averages: MacroResult, settings: CollectionSettings, baseline: str | None
) -> str:
    condition = f"{_p_name(averages, settings)} at most {settings.alpha:g}"
    return f"^ better, v worse than {baseline or 'the other'} ({condition})."


def _p_name(averages: MacroResult, settings: CollectionSettings) -> str:
    """Return the name of the p-value that decides."""
    correction = CORRECTIONS.get(settings.correction)
    return f"p {correction}" if correction and len(averages.pairs) > 1 else "p"
