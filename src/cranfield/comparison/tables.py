"""Tables of a comparison: rows of texts, columns with their legend, and titles, for `render`."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from cranfield.comparison.effects import FEW_UNITS
from cranfield.comparison.judged_share import unjudged_legend
from cranfield.comparison.mean_interval import describe_error
from cranfield.comparison.method import deciding_p_name, describe_method, mark_condition
from cranfield.comparison.result import Change, Pair, Result, System
from cranfield.comparison.sequential import CLEAR
from cranfield.comparison.settings import Settings
from cranfield.explanation.pointer import explain_hint
from cranfield.notes import MAX_WIDTH
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
_MAX_NAMED = 3  # systems in a sentence
_LONGEST_NAME = 14  # characters of a baseline's name above its columns
_SKEWED_BEST = "\nSkewed differences: * misses the best more often, at alpha 0.05 in up to 9%."
# {how an interval was made: words for the legend}
_INTERVALS = {
    "randomization": "the values that the test does not reject",
    "t": "its interval by Student's t",
    "bca": "its interval by the BCa bootstrap",
    "tango": "of zeros and ones, Tango's score interval, whose edge may differ from the test's",
}


class _SystemRow(NamedTuple):
    """A row of the table: a system of a result."""

    result: Result
    number: int  # from 1, among the rows of the result
    system: System


def comparison_table(results: Sequence[Result], settings: Settings) -> Table:
    """Return the table of one measure: on all queries, or on each slice of one label.

    It has a row for each system of each result, the best first; but baselines come before. Its
    lines below are the legend of its columns. Several baselines have a group of columns each.
    """
    first = results[0]
    rows = [row for result in results for row in _list_rows(result, settings)]
    columns = select_shown(_columns(results, settings))
    n_labels = [column.heading for column in columns].index("mean")
    rankings = [row.result.ranked_systems for row in rows]
    best_and_worst = [(systems[0].mean, systems[-1].mean) for systems in rankings]
    best_rows = (
        i for i, (best, worst) in enumerate(best_and_worst) if rows[i].system.mean == best != worst
    )
    first_rows = (i for i, row in enumerate(rows) if row.number == 1 and len(first.systems) > 1)
    return Table(
        [column.heading for column in columns],
        [[column.cell(row) for column in columns] for row in rows],
        legend(columns),
        n_labels,
        frozenset((i, n_labels) for i in best_rows),
        frozenset(first_rows) - {0},
        title=_title(results, settings),
        group_headings=groups if any(groups := [column.group for column in columns]) else (),
    )


def _list_rows(result: Result, settings: Settings) -> Iterator[_SystemRow]:
    """Yield the rows of a result, the best system first; but baselines come before all others."""
    places = {name: place for place, name in enumerate(settings.baselines)}
    systems = sorted(result.ranked_systems, key=lambda system: places.get(system.name, len(places)))
    for number, system in enumerate(systems, 1):
        yield _SystemRow(result, number, system)


def _columns(results: Sequence[Result], settings: Settings) -> Iterator[Column]:
    """Yield all columns that a comparison may have; a column's function takes a _SystemRow."""
    first = results[0]
    has_several_systems, has_slices = len(first.systems) > 1, first.label is not None
    all_pairs = settings.all_pairs and has_several_systems
    is_skewed = any(note.code == "skewed" for result in results for note in result.notes)
    yield Column(str(first.label), lambda row: str(row.result.slice), is_shown=has_slices)
    yield Column("queries", lambda row: f"{len(row.result.query_ids):,}", is_shown=has_slices)
    has_clusters = has_slices and first.units.n_groups is not None
    yield Column(
        first.units.unit_words, lambda row: f"{row.result.units.n_groups:,}", is_shown=has_clusters
    )
    yield Column("", lambda row: f"{row.number}", is_shown=all_pairs and not has_slices)
    yield Column("system", lambda row: row.system.name)
    yield Column(
        "mean",
        lambda row: format_number(row.system.mean),
        "" if first.higher_is_better else f"{first.measure}: less is better.",
    )
    yield Column(
        f"{format_percent(1 - settings.alpha)} interval",
        lambda row: format_interval(row.system.low, row.system.high, signs=False),
        "One system: there is nothing to compare it with. Interval: of its mean "
        f"({describe_error([first.systems[0].interval], first.units)}).",
        not has_several_systems,
    )
    yield Column(
        "letters",
        lambda row: row.result.letters[row.result.systems.index(row.system)],
        "letters: systems that share a letter are not shown to differ.",
        all_pairs,
    )
    yield Column(
        "better than",
        lambda row: f"{row.result.list_verdicts(row.system.name).count('better')}",
        "better than, worse than: how many systems it differs from "
        f"({mark_condition(first, settings)}).",
        all_pairs,
    )
    yield Column(
        "worse than",
        lambda row: f"{row.result.list_verdicts(row.system.name).count('worse')}",
        "Intervals, p-values and bounds of the pairs: --format csv or json.",
        all_pairs,
    )
    yield Column(
        "ranks",
        lambda row: str((row.result.ranks or {}).get(row.system.name, "")),
        f"ranks: places each may have, all right at once in {format_percent(1 - settings.alpha)} "
        f"of samples; * may be best.{_SKEWED_BEST * is_skewed}",
        all_pairs and any(result.ranks for result in results),
    )
    for baseline in settings.baselines if has_several_systems else ():
        yield from _pair_columns(results, settings, baseline)
    yield Column("Judged", _format_judged, is_shown=first.systems[0].judged is not None)


# What a test compares, of the tests that are not about the mean.
_AS_LARGE = {"wilcoxon": "a sum of signed ranks", "sign": "a surplus of wins or losses"}


def _pair_columns(results: Sequence[Result], settings: Settings, baseline: str) -> Iterator[Column]:
    """Yield the columns on systems' pairs with a baseline, without a pair empty.

    Of one of several baselines, only the difference and the number that decides.
    """
    is_alone = settings.only_baseline is not None
    short_columns = (
        "diff",
        "ratio",
        "P(better)",
        deciding_p_name(results[0], settings),
        "unjudged",
    )

    def show_in_row(show: Callable[[Pair], str], row: _SystemRow) -> str:
        pair = row.result.pair_of_names.get((row.system.name, baseline))
        return "" if pair is None else show(pair)

    for column in (*list_test_columns(results, settings), *_effect_columns(results, settings)):
        if is_alone or column.heading in short_columns:
            group = "" if is_alone else f"vs {_shorten_name(baseline)}"
            yield replace(column, cell=partial(show_in_row, column.cell), group=group)


def list_test_columns(
    results: Sequence[Result], settings: Settings, heading: str = "diff"
) -> Iterator[Column]:
    """Yield the columns of a pair's difference, its interval, its p and its probabilities."""
    has_p, p_name = settings.test != "bayes", deciding_p_name(results[0], settings)
    heading = "ratio" if results[0].by_ratio else heading
    yield Column(
        heading,
        lambda pair: f"{format_difference(pair)} {MARKS[pair.verdict]}",
        f"{heading}: {_difference_legend(results, settings)}",
    )
    yield Column(f"{format_percent(1 - settings.alpha)} interval", format_pair_interval)
    event = f"gives {_AS_LARGE[settings.test]} as large" if settings.test in _AS_LARGE else ""
    correction = f", corrected for {results[0].comparisons:,} comparisons"
    yield Column(
        p_name,
        lambda pair: _format_p(pair, pair.p_adjusted),
        f"{p_name}: how often chance alone {event or 'does as much'}"
        f"{correction * (p_name != 'p')}.",
        has_p,
    )
    has_rope = not has_p or settings.rope is not None
    same_phrase = f"within {settings.rope:g} of 0" if settings.rope else "0"
    same_phrase = f"its logarithm {same_phrase}" if results[0].by_ratio else same_phrase
    yield Column(
        "P(better)",
        lambda pair: format_number(pair.probability_better, 2),
        f"P: the probability that the true difference is better, the same ({same_phrase}), worse.",
        has_rope,
    )
    yield Column("P(same)", lambda pair: format_number(pair.probability_same, 2), "", has_rope)
    yield Column("P(worse)", lambda pair: format_number(pair.probability_worse, 2), "", has_rope)


def _effect_columns(results: Sequence[Result], settings: Settings) -> Iterator[Column]:
    """Yield the columns of a pair's design effect, changed queries, W/T/L, and unjudged bounds."""
    first, pairs = results[0], [pair for result in results for pair in result.pairs]
    yield Column(
        "deff",
        lambda pair: format_number(pair.design_effect, 2),
        "deff: the design effect, by which clusters change the difference's variance.",
        first.units.n_groups is not None,
    )
    yield Column(
        "changed",
        lambda pair: f"{pair.changed:,}",
        "changed: queries on which the two differ.",
        # Else W/T/L says it: their number is W + L, unless ties are wider than usual.
        any(pair.changed < FEW_UNITS or pair.changed != pair.wins + pair.losses for pair in pairs),
    )
    yield count_column(str(settings.baseline))
    yield Column(
        "unjudged",
        lambda pair: format_interval(pair.unjudged_low, pair.unjudged_high),
        unjudged_legend(first),
        settings.bounds,
    )


def count_column(baseline: str) -> Column:
    """Return the column of a pair's wins, ties and losses."""
    return Column(
        "W/T/L",
        lambda pair: f"{pair.wins}/{pair.ties}/{pair.losses}",
        f"W/T/L: queries on which it is better, the same, worse than {baseline}.",
    )


def _format_p(pair: Pair, p: float | None) -> str:
    """Return a p-value as text, or "<1e-6" for a bound below that."""
    if pair.method == "bound" and p is not None and p < CLEAR:
        return f"<{CLEAR:.0e}".replace("e-0", "e-")
    return format_p(p)


def _format_judged(row: _SystemRow) -> str:
    """Return the share of a system's documents that is judged, marked if it is low."""
    return f"{format_number(row.system.judged, 2)} {'!' if row.system.judged_lags else ' '}"


def format_difference(pair: Pair) -> str:
    """Return a pair's difference, or its ratio."""
    return format_number(pair.ratio) if pair.scale == "ratio" else format_signed(pair.difference)


def format_pair_interval(pair: Pair) -> str:
    """Return the interval of a pair's difference, or of its ratio; "-" of identical scores."""
    if not pair.changed and pair.low == pair.high:
        return "-"
    if pair.scale == "ratio":
        return format_interval(pair.ratio_low, pair.ratio_high, signs=False)
    return format_interval(pair.low, pair.high)


# ---- lines above and below ----------------------------------------------------------------------


def _title(results: Sequence[Result], settings: Settings) -> list[str]:
    """Return the lines above a table: measure and baseline, test; of one system, the measure."""
    first = results[0]
    heading = f"{first.measure}   by {first.label}"
    if first.label is None:
        heading = f"{first.measure}   {_query_counts(first)}"
    baseline_phrase = name_baselines(settings)
    if len(first.systems) == 1:
        return [heading]
    return [f"{heading}   {baseline_phrase}", describe_method(results, settings)]


def name_baselines(settings: Settings) -> str:
    """Return the names of the baselines behind that word; without any, which pairs there are."""
    names = settings.baselines
    if not names:
        return f"{'all ' * settings.all_pairs}pairs"
    return f"baseline{'s' * (len(names) > 1)} {format_names(names)}"


def _shorten_name(name: str) -> str:
    """Return a name, without its middle if it is wider than the two columns below it."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:7]}\N{HORIZONTAL ELLIPSIS}{name[-6:]}"


def _query_counts(result: Result) -> str:
    """Return the text of a result's numbers of queries and clusters."""
    return format_query_count(len(result.query_ids), result.units.n_groups)


def _difference_legend(results: Sequence[Result], settings: Settings) -> str:
    """Return what the difference to the baseline is, and its interval."""
    kinds = dict.fromkeys(pair.interval for result in results for pair in result.pairs)
    interval_phrase = " or ".join(_INTERVALS[kind] for kind in kinds if kind in _INTERVALS)
    if settings.test == "bayes":
        interval_phrase = f"its {format_percent(1 - settings.alpha)} credible interval"
    subject = "of the geometric means" if results[0].by_ratio else "mean difference"
    if len(settings.baselines) > 1:
        return f"{subject}; intervals and W/T/L of the pairs: --format csv or json."
    return f"{subject}; in brackets, {interval_phrase}." if interval_phrase else f"{subject}."


def mark_legend(results: Sequence[Result], settings: Settings) -> Iterator[str]:
    """Yield sentences on marks, rows without a mark, and what these may miss, of all measures."""
    pairs = [pair for result in results for pair in result.pairs]
    verdicts = [pair.verdict for pair in pairs]
    condition = mark_condition(results[0], settings)
    baseline = settings.only_baseline or "the baseline above"
    if settings.baselines and any(verdicts):
        no_mark_sentence = " No mark: not shown to differ." if None in verdicts else ""
        line = f"^ better, v worse than {baseline} ({condition}).{no_mark_sentence}"
        yield line if len(line) <= MAX_WIDTH else line.replace(f" than {baseline}", "", 1)
    elif settings.baselines and verdicts:
        yield f"No mark: not shown to differ from {baseline} ({condition})."
    if settings.only_baseline is not None and any(
        pair.verdict is None and pair.low is not None and (pair.low > 0 or (pair.high or 0) < 0)
        for pair in pairs
    ):
        yield "Intervals are uncorrected, each of one pair: some exclude 0 without a mark."
    yield from _power_sentences(results, settings)


def _power_sentences(results: Sequence[Result], settings: Settings) -> Iterator[str]:
    """Yield a sentence on the differences that pairs without a mark may have."""
    limits: list[tuple[Result, list[str], str]] = []
    for result in results:
        pairs = [pair for pair in result.pairs if pair.verdict is None and pair.detectable]
        is_hopeless = any(note.code == "none-significant" for note in result.notes)
        if result.label is None and pairs and not is_hopeless and settings.test not in _AS_LARGE:
            sizes = sorted(pair.detectable or 0.0 for pair in pairs)
            ends = [format_number(math.exp(size) if result.by_ratio else size) for size in sizes]
            limit = ends[0] if ends[0] == ends[-1] else f"{ends[0]} to {ends[-1]}"
            limit = f"nearer to 1 than {limit}" if result.by_ratio else f"below {limit}"
            limits.append((result, [pair.system for pair in pairs], limit))
    is_level_corrected = results[0].comparisons == 1 or settings.correction in (
        "none",
        "holm",
        "bonferroni",
    )
    missed_phrase = f"often missed{'' if is_level_corrected else ', before correction'}"
    if len(limits) > 1:
        phrases = format_names([f"{result.measure} {limit}" for result, _, limit in limits])
        yield f"Differences {missed_phrase}: {phrases}."
    elif limits:
        ((result, names, limit),) = limits
        has_own_names = settings.only_baseline is not None and len(names) <= _MAX_NAMED
        subject = f"{', '.join(names)}: " if has_own_names else ""
        if len({result.measure for result in results}) > 1:
            subject = f"{result.measure}: {subject}"
        kind = "ratio" if result.by_ratio else "difference"
        sentence = f"{subject}on {_query_counts(result)} a {kind} {limit} is {missed_phrase}."
        yield sentence if subject else sentence.capitalize()


# ---- other tables -------------------------------------------------------------------------------


def differences_table(result: Result, settings: Settings) -> Table | None:
    """Return differences, or ratios, to each better system; None with a baseline, of 1, of many."""
    systems = result.ranked_systems
    if result.letters is None or not 1 < len(systems) <= _WIDEST_MATRIX:
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
    kind = "ratios" if result.by_ratio else "differences"
    note = f"{kind}: row {operation} column, numbered as above; ^ better, v worse."
    return Table(header, rows, [note], title=[f"{result.measure}   {kind}"])


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
    method = describe_error((system.interval for system in result.systems), result.units)
    note = f"each mean: its own interval ({method}); where two overlap, systems may still differ."
    return Table(
        ["system", "mean", f"{level} interval"],
        rows,
        [note],
        title=[f"{result.measure}   each mean"],
    )


def changes_table(
    result: Result, changes: Sequence[tuple[Pair, Sequence[Change], Sequence[Change]]]
) -> Table:
    """Return the table of the queries of each pair that got worse, and of those that got better."""
    rows: list[list[str]] = []
    rules = set()
    other_systems = dict.fromkeys(pair.other for pair in result.pairs)
    has_one_other = len(other_systems) == 1
    for pair, worse_changes, better_changes in changes:
        rules.add(len(rows))
        rows += [
            [
                pair.system if has_one_other else f"{pair.system} - {pair.other}",
                change.query_id,
                format_number(change.other_score),
                format_number(change.score),
                format_signed(change.score - change.other_score),
            ]
            for change in (*worse_changes, *better_changes)
        ]
    header = ["system", "query_id", *(other_systems if has_one_other else ["other"])]
    header += ["score", "diff"]
    title = [f"{result.measure}   the queries that got worse most, then those that got better most"]
    for outcome, side in (("worse", 1), ("better", 2)):
        if names := [sides[0].system for sides in changes if not sides[side]]:
            title.append(f"{format_names(names)}: none got {outcome}")
    changed_pairs = [pair for pair, worse, better in changes if worse or better]
    notes = [
        explain_hint(result.measure, row[1], [pair.other, pair.system])
        for pair, row in zip(changed_pairs[:1], rows, strict=False)
    ]
    ruled_rows = frozenset(rules - {0, len(rows)})
    return Table(header, rows, notes, 2, ruled_rows=ruled_rows, title=title)
