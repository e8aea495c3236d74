"""Tables of a comparison: rows of texts, columns with their legend, and titles, for `render`."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cranfield.comparison.effects import FEW_UNITS
from cranfield.comparison.judged_share import judged_share_sentences, unjudged_legend
from cranfield.comparison.method import deciding_p_name, describe_method, mark_condition
from cranfield.comparison.result import Change, Outcome, Pair, Result, System
from cranfield.comparison.sequential import CLEAR
from cranfield.comparison.settings import Settings
from cranfield.explanation.pointer import explain_hint
from cranfield.measures import Measure, parse
from cranfield.measures.parameters import Depth
from cranfield.notes import Note, lines_below_table, merge_notes
from cranfield.render.numbers import (
    format_interval,
    format_names,
    format_number,
    format_p,
    format_percent,
    format_query_count,
    format_signed,
)
from cranfield.render.table import Column, Table, legend, select_shown

MARKS = {"better": "^", "worse": "v", None: " "}
_WIDEST_MATRIX = 12  # systems
_INTERVALS = {
    "randomization": "the values that the test does not reject",
    "t": "by Student's t",
    "bca": "by the BCa bootstrap",
}


class _SystemRow(NamedTuple):
    """A row of the table: a system with its rank, and its pair with the baseline, if any."""

    result: Result
    rank: int
    system: System
    pair: Pair | None = None


def comparison_table(
    results: Sequence[Result], settings: Settings, notes: Sequence[Note] = ()
) -> Table:
    """Return the table of one measure: on all queries, or on each slice of one label.

    With a baseline, it has a row for the baseline and then for each pair; of all pairs, or of one
    system, it has a row for each system.
    """
    first = results[0]
    rows = [line for result in results for line in _list_rows(result, settings)]
    columns = select_shown(_columns(results, settings))
    n_labels = [column.heading for column in columns].index("mean")
    named_notes = ((result.slice_label, note) for result in results for note in result.notes)
    result_notes = merge_notes(named_notes, join_names=format_names)
    legend_lines = [*_mark_legend(results, settings), *legend(columns)]
    legend_lines += judged_share_sentences(results, settings)
    rankings = [row.result.ranked_systems for row in rows]
    best_and_worst = [(systems[0].mean, systems[-1].mean) for systems in rankings]
    best_rows = (
        i for i, (best, worst) in enumerate(best_and_worst) if rows[i].system.mean == best != worst
    )
    first_rows = (i for i, row in enumerate(rows) if row.rank == 1 and len(first.systems) > 1)
    return Table(
        [column.heading for column in columns],
        [[column.cell(row) for column in columns] for row in rows],
        lines_below_table(legend_lines, [*result_notes, *notes]),
        n_labels,
        frozenset((i, n_labels) for i in best_rows),
        frozenset(first_rows) - {0},
        title=_title(results, settings),
    )


def _list_rows(result: Result, settings: Settings) -> Iterator[_SystemRow]:
    """Yield the rows of a result, the best system first; but a baseline comes before all others."""
    if settings.baseline is None or len(result.systems) == 1:
        for rank, system in enumerate(result.ranked_systems, 1):
            yield _SystemRow(result, rank, system)
        return
    pairs = {pair.system: pair for pair in result.pairs}
    baseline = next(system for system in result.systems if system.name == settings.baseline)
    other_systems = (system for system in result.ranked_systems if system is not baseline)
    for rank, system in enumerate((baseline, *other_systems), 1):
        yield _SystemRow(result, rank, system, pairs.get(system.name))


def _columns(results: Sequence[Result], settings: Settings) -> Iterator[Column]:
    """Yield all columns that a comparison may have; a column's function takes a _SystemRow."""
    first = results[0]
    has_several_systems, has_slices = len(first.systems) > 1, first.label is not None
    all_pairs = settings.baseline is None and has_several_systems
    yield Column(str(first.label), lambda row: str(row.result.slice), is_shown=has_slices)
    yield Column("queries", lambda row: f"{len(row.result.query_ids):,}", is_shown=has_slices)
    has_clusters = has_slices and first.units.n_groups is not None
    yield Column(
        first.units.unit_words, lambda row: f"{row.result.units.n_groups:,}", is_shown=has_clusters
    )
    yield Column("", lambda row: f"{row.rank}", is_shown=all_pairs and not has_slices)
    yield Column("system", lambda row: row.system.name)
    yield Column(
        "mean",
        lambda row: format_number(row.system.mean),
        "" if first.higher_is_better else f"{first.measure}: less is better.",
    )
    yield Column(
        f"{format_percent(1 - settings.alpha)} interval",
        lambda row: format_interval(row.system.low, row.system.high, signs=False),
        "One system: there is nothing to compare it with. The interval is that of its mean "
        f"({first.units.error_method}).",
        not has_several_systems,
    )
    yield Column(
        "letters",
        lambda row: row.result.letters[row.result.systems.index(row.system)],
        "letters: systems that share a letter do not differ significantly.",
        all_pairs,
    )
    yield Column(
        "better than",
        lambda row: _count_verdicts(row, "better"),
        "better than, worse than: the number of systems that it differs from significantly, by "
        f"{mark_condition(first, settings)}.",
        all_pairs,
    )
    yield Column(
        "worse than",
        lambda row: _count_verdicts(row, "worse"),
        "Intervals, p-values and bounds of the pairs: --format csv or json.",
        all_pairs,
    )
    if settings.baseline is not None and has_several_systems:
        yield from _test_columns(results, settings)
        yield from _effect_columns(results, settings)
    if first.systems[0].judged is not None:
        cutoff = parse(first.measure).cutoff
        name = str(Measure("Judged", cutoff))
        documents_phrase = f"first {cutoff}" if isinstance(cutoff, Depth) else "documents"
        yield Column(
            name,
            _format_judged,
            f"{name}: share of the system's {documents_phrase} that is judged.",
        )


# What a test compares, of the tests that are not about the mean.
_AS_LARGE = {"wilcoxon": "a sum of signed ranks", "sign": "a surplus of wins or losses"}


def _count_verdicts(row: _SystemRow, outcome: Outcome) -> str:
    """Return the number of systems that the row's system is better, or worse, than."""
    result, system_name = row.result, row.system.name
    other_names = [system.name for system in result.systems if system.name != system_name]
    return str(sum(result.between(system_name, other)[1] == outcome for other in other_names))


def _baseline_column(
    heading: str, show: Callable[[Pair], str], meaning: str = "", *flags: bool
) -> Column:
    """Return a column on a system's pair with the baseline; the baseline's cell is empty."""
    return Column(heading, lambda row: "" if row.pair is None else show(row.pair), meaning, *flags)


def _test_columns(results: Sequence[Result], settings: Settings) -> Iterator[Column]:
    """Yield the columns of a pair's difference, its interval and its p-values."""
    has_p, p_corrected = settings.test != "bayes", deciding_p_name(results[0], settings)
    heading = "ratio" if results[0].by_ratio else "diff"
    yield _baseline_column(heading, _format_difference, _difference_legend(results, settings))
    yield _baseline_column(f"{format_percent(1 - settings.alpha)} interval", _format_interval)
    yield _baseline_column(
        "p",
        lambda pair: _format_p(pair, pair.p),
        f"p: how often chance alone gives {_AS_LARGE.get(settings.test, 'a difference')} as large, "
        "in either direction.",
        has_p,
    )
    yield _baseline_column(
        p_corrected,
        lambda pair: _format_p(pair, pair.p_adjusted),
        f"{p_corrected}: corrected for all comparisons.",
        has_p and p_corrected != "p",
        True,  # on the line of p
    )
    has_rope = not has_p or settings.rope is not None
    same_phrase = f"within {settings.rope:g} of 0" if settings.rope else "0"
    same_phrase = f"its logarithm {same_phrase}" if results[0].by_ratio else same_phrase
    yield _baseline_column(
        "P(better)",
        lambda pair: format_number(pair.probability_better, 2),
        f"P: the probability that the true difference is better, the same ({same_phrase}), worse.",
        has_rope,
    )
    yield _baseline_column(
        "P(same)", lambda pair: format_number(pair.probability_same, 2), "", has_rope
    )
    yield _baseline_column(
        "P(worse)", lambda pair: format_number(pair.probability_worse, 2), "", has_rope
    )


def _effect_columns(results: Sequence[Result], settings: Settings) -> Iterator[Column]:
    """Yield the columns of a pair's effect size, and of the numbers of queries that differ."""
    first, pairs = results[0], [pair for result in results for pair in result.pairs]
    yield _baseline_column(
        "d_z",
        lambda pair: format_number(pair.d_z, 2),
        "d_z: the mean difference divided by the standard deviation of the queries' differences.",
    )
    yield _baseline_column(
        "deff",
        lambda pair: format_number(pair.design_effect, 2),
        "deff: the design effect, by which the clusters change the variance of the difference.",
        first.units.n_groups is not None,
    )
    yield _baseline_column(
        "changed",
        lambda pair: f"{pair.changed:,}",
        "changed: queries on which the two differ.",
        # Else W/T/L says it: their number is W + L, unless ties are wider than usual.
        any(pair.changed < FEW_UNITS or pair.changed != pair.wins + pair.losses for pair in pairs),
    )
    yield _baseline_column(
        "W/T/L",
        lambda pair: f"{pair.wins}/{pair.ties}/{pair.losses}",
        "W/T/L: queries on which the system is better, the same, worse.",
    )
    yield _baseline_column(
        "unjudged",
        lambda pair: format_interval(pair.unjudged_low, pair.unjudged_high),
        unjudged_legend(first),
        settings.bounds,
    )


def _format_p(pair: Pair, p: float | None) -> str:
    """Return a p-value as text, or "<1e-06" for a bound below that."""
    if pair.method == "bound" and p is not None and p < CLEAR:
        return f"<{CLEAR:.0e}".replace("e-0", "e-")
    return format_p(p)


def _format_judged(row: _SystemRow) -> str:
    """Return the share of a system's documents that is judged, marked if it is low."""
    return f"{format_number(row.system.judged, 2)} {'!' if row.system.little_judged else ' '}"


def _format_difference(pair: Pair) -> str:
    """Return a pair's difference, or its ratio, with its mark."""
    text = format_number(pair.ratio) if pair.scale == "ratio" else format_signed(pair.difference)
    return f"{text} {MARKS[pair.verdict]}"


def _format_interval(pair: Pair) -> str:
    """Return the interval of a pair's difference, or of its ratio."""
    if pair.scale == "ratio":
        return format_interval(pair.ratio_low, pair.ratio_high, signs=False)
    return format_interval(pair.low, pair.high)


# ---- lines above and below ----------------------------------------------------------------------


def _title(results: Sequence[Result], settings: Settings) -> list[str]:
    """Return the lines above a table: the measure, the baseline, and the method of the test."""
    first = results[0]
    heading = f"{first.measure}   by {first.label}"
    if first.label is None:
        heading = f"{first.measure}   {_query_counts(first)}"
    baseline_phrase = "all pairs" if settings.baseline is None else f"baseline {settings.baseline}"
    if len(first.systems) == 1:
        return [heading]
    return [f"{heading}   {baseline_phrase}", *describe_method(results, settings)]


def _query_counts(result: Result) -> str:
    """Return the text of a result's numbers of queries and clusters."""
    return format_query_count(len(result.query_ids), result.units.n_groups)


def _difference_legend(results: Sequence[Result], settings: Settings) -> str:
    """Return the legend of the difference to the baseline, and of its interval."""
    first, level = results[0], format_percent(1 - settings.alpha)
    kinds = dict.fromkeys(pair.interval for result in results for pair in result.pairs)
    kinds_phrase = " or ".join(_INTERVALS[kind] for kind in kinds if kind in _INTERVALS)
    difference_phrase = "diff: mean difference to"
    interval_phrase = f"its {level} interval{f' ({kinds_phrase})' if kinds_phrase else ''}"
    if settings.test == "bayes":
        interval_phrase = f"its {level} credible interval"
    if first.by_ratio:
        difference_phrase = f"ratio: {first.measure}, a geometric mean, divided by that of"
        interval_phrase += "; differences of the queries' logarithms are tested"
    legend_text = f"{difference_phrase} {settings.baseline}, and {interval_phrase}."
    if deciding_p_name(first, settings) != "p":
        no_difference = "1" if first.by_ratio else "0"
        legend_text += (
            f" Each interval is for one pair, uncorrected: it may exclude {no_difference} although "
            "the pair has no mark."
        )
    return legend_text


def _mark_legend(results: Sequence[Result], settings: Settings) -> Iterator[str]:
    """Yield sentences on the marks ^ and v, and on rows without a mark."""
    verdicts = [pair.verdict for result in results for pair in result.pairs]
    if settings.baseline is not None and any(verdicts):
        yield f"^ better, v worse than {settings.baseline}: {mark_condition(results[0], settings)}."
    if None in verdicts:
        no_mark_phrase = "No mark" if any(verdicts) else "No system is marked"
        no_mark_phrase = "Not found to differ" if settings.baseline is None else no_mark_phrase
        yield (
            f"{no_mark_phrase}: no evidence of a difference, which is not evidence that there is "
            "none."
        )
        yield from _power_sentences(results, settings)


def _power_sentences(results: Sequence[Result], settings: Settings) -> Iterator[str]:
    """Yield a sentence on the differences that pairs without a mark may have."""
    first = results[0]
    detectable_sizes = [
        (pair.system, math.exp(pair.detectable) if first.by_ratio else pair.detectable)
        for pair in first.pairs
        if pair.verdict is None and pair.detectable
    ]
    is_hopeless = any(note.code == "none-significant" for note in first.notes)  # any is missed
    if first.label is not None or not detectable_sizes or is_hopeless or settings.test in _AS_LARGE:
        return
    is_level_corrected = first.comparisons == 1 or settings.correction in (
        "none",
        "holm",
        "bonferroni",
    )
    difference_phrase = "difference smaller than this"
    if first.by_ratio:
        difference_phrase = "ratio between 1 and this, or 1 and 1 / this,"
    sizes_phrase = ", ".join(f"{name} {format_number(size)}" for name, size in detectable_sizes)
    if len(detectable_sizes) > 6 or first.letters is not None:
        sizes = [size for _, size in detectable_sizes]
        smallest, largest = format_number(min(sizes)), format_number(max(sizes))
        sizes_phrase = smallest if smallest == largest else f"{smallest} to {largest}, by the pair"
    yield (
        f"With {_query_counts(first)}, a true {difference_phrase} is missed in over 20% of cases"
        f"{'' if is_level_corrected else ', before correction'}: {sizes_phrase}."
    )


# ---- other tables -------------------------------------------------------------------------------


def differences_table(result: Result, settings: Settings) -> Table | None:
    """Return the differences of each system to each better one; None for many, or a baseline."""
    systems = result.ranked_systems
    if settings.baseline is not None or not 1 < len(systems) <= _WIDEST_MATRIX:
        return None
    rows = []
    for n_better, system in enumerate(systems[1:], 1):
        cells = []
        for other in systems[:n_better]:
            difference, verdict = result.between(system.name, other.name)
            text = (
                format_number(math.exp(difference))
                if result.by_ratio
                else format_signed(difference)
            )
            cells.append(f"{text} {MARKS[verdict]}")
        rows.append([f"{n_better + 1}", *cells, *[""] * (len(systems) - 1 - n_better)])
    header = ["", *(f"- {rank}" for rank in range(1, len(systems)))]
    operation = "divided by" if result.by_ratio else "minus"
    title = f"{result.measure}   {'ratios' if result.by_ratio else 'differences'}"
    note = (
        f"The mean of the row's system {operation} that of the column's, numbered as above. "
        f"^ better, v worse: {deciding_p_name(result, settings)} at most {settings.alpha:g}."
    )
    return Table(header, rows, [note], title=[title])


def means_table(result: Result, settings: Settings) -> Table:
    """Return the table of each system's mean with its own interval."""
    rows = [
        [
            system.name,
            format_number(system.mean),
            format_interval(system.low, system.high, signs=False),
        ]
        for system in result.systems
    ]
    level = format_percent(1 - settings.alpha)
    note = (
        f"Each interval belongs to one system's mean ({result.units.error_method}). Systems whose "
        "intervals overlap may still differ: see the comparison."
    )
    return Table(
        ["system", "mean", f"{level} interval"],
        rows,
        [note],
        title=[f"{result.measure}   each mean"],
    )


def changes_table(result: Result, changes: Sequence[tuple[Pair, Change]]) -> Table:
    """Return the table of the queries of each pair that get worse, and of those that get better."""
    rows = [
        [
            pair.system,
            change.query_id,
            format_number(change.other_score),
            format_number(change.score),
            format_signed(change.score - change.other_score),
        ]
        for pair, change in changes
    ]
    pairs = [pair for pair, _ in changes]
    rules = frozenset(i for i in range(1, len(pairs)) if pairs[i] is not pairs[i - 1])
    other, *other_systems = {pair.other for pair in pairs} or {"other"}
    header = ["system", "query_id", "other" if other_systems else other, "score", "diff"]
    heading = "the queries that get worse most, the worst first, then those that get better most"
    notes = ["No query changes."]
    if changes:
        pair, change = changes[0]
        notes = [explain_hint(result.measure, change.query_id, [pair.other, pair.system])]
    return Table(header, rows, notes, 2, ruled_rows=rules, title=[f"{result.measure}   {heading}"])
