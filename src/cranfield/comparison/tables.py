"""Comparisons to tables of texts."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cranfield.comparison.effects import FEW
from cranfield.comparison.legend import (
    ideal_moves,
    is_corrected,
    of_difference,
    on_judged,
    on_marks,
    sure_by,
    title_of,
    told_by,
)
from cranfield.comparison.result import Change, Outcome, Pair, Result, System
from cranfield.comparison.settings import Settings
from cranfield.measures import Measure, parse
from cranfield.measures.parameters import Depth
from cranfield.notes import Note, around, merged
from cranfield.render.numbers import interval, number, percent, probability, signed, some
from cranfield.render.table import Column, Table, legend, wanted

_MARKS = {"better": "^", "worse": "v", None: " "}
_WIDEST_MATRIX = 12  # systems


class _Line(NamedTuple):
    """A row of a table: a system, at its place, and its pair with the baseline if it has one."""

    result: Result
    place: int
    system: System
    pair: Pair | None = None


def table_of(results: Sequence[Result], settings: Settings, notes: Sequence[Note] = ()) -> Table:
    """Return one measure's comparison: on all queries, or on each slice of one label.

    With a baseline, a row for each pair, below that of the baseline; of all pairs, or of one
    system, a row for each system.
    """
    first = results[0]
    lines = [line for result in results for line in _lines(result, settings)]
    labels = list(_labels(first, settings))
    columns = [*labels, *wanted(_columns(results, settings))]
    found = merged(
        (
            (str(result.slice) if first.label is not None else "", note)
            for result in results
            for note in result.notes
        ),
        listed=some,
    )
    said = [*on_marks(results, settings), *legend(columns), *on_judged(results, settings)]
    best = [_is_best(one) for one in lines]
    tops = [i > 0 and one.place == 1 and len(first.systems) > 1 for i, one in enumerate(lines)]
    return Table(
        [one.heading for one in columns],
        [[one.cell(line) for one in columns] for line in lines],
        around(said, [*found, *notes]),
        len(labels),
        frozenset((i, len(labels)) for i, is_best in enumerate(best) if is_best),
        frozenset(i for i, is_top in enumerate(tops) if is_top),
        title=title_of(results, settings),
    )


def _lines(result: Result, settings: Settings) -> Iterator[_Line]:
    """Yield the rows of a result, the best first; a baseline before all."""
    if settings.baseline is None or len(result.systems) == 1:
        for place, system in enumerate(_ordered(result), 1):
            yield _Line(result, place, system)
        return
    systems = {one.name: one for one in result.systems}
    yield _Line(result, 1, systems[settings.baseline])
    pairs = sorted(result.pairs, key=lambda one: one.mean, reverse=result.rising)
    for place, pair in enumerate(pairs, 2):
        yield _Line(result, place, systems[pair.system], pair)


def _is_best(line: _Line) -> bool:
    """Tell whether a row has the best mean, if not all are the same."""
    means = [one.mean for one in line.result.systems]
    best, worst = (max(means), min(means)) if line.result.rising else (min(means), max(means))
    return line.system.mean == best != worst


def _labels(first: Result, settings: Settings) -> Iterator[Column]:
    """Yield the columns that say what a row is about."""
    if first.label is not None:
        yield Column(first.label, lambda one: str(one.result.slice))
        yield Column("queries", lambda one: f"{len(one.result.query_ids):,}")
    elif _among_all(first, settings):
        yield Column("", lambda one: f"{one.place}")
    yield Column("system", lambda one: one.system.name)


def _among_all(result: Result, settings: Settings) -> bool:
    """Tell whether every two systems are compared."""
    return settings.baseline is None and len(result.systems) > 1


def _columns(results: Sequence[Result], settings: Settings) -> Iterator[Column]:
    """Yield every column that a comparison may have: a cell shows a _Line."""
    first = results[0]
    among = _among_all(first, settings)
    yield Column(
        "mean",
        lambda one: number(one.system.mean),
        "" if first.rising else f"{first.measure}: less is better.",
    )
    yield Column(
        f"{percent(1 - settings.alpha)} interval",
        lambda one: interval(one.system.low, one.system.high, signs=False),
        "One system: there is nothing to compare it with. The interval is its mean's (Student's "
        "t).",
        len(first.systems) == 1,
    )
    yield Column(
        "letters",
        lambda one: one.result.letters[one.result.systems.index(one.system)],
        "letters: systems that share a letter are not found to differ.",
        among,
    )
    yield Column(
        "better than",
        lambda one: _n_told(one, "better"),
        "better than, worse than: the number of systems that it is found to differ from, by "
        f"{sure_by(first, settings)}.",
        among,
    )
    yield Column(
        "worse than",
        lambda one: _n_told(one, "worse"),
        "Intervals and p-values of the pairs: --format csv or json.",
        among,
    )
    if settings.baseline is not None and len(first.systems) > 1:
        yield from _of_pairs(results, settings)
    if first.systems[0].judged is not None:
        cutoff = parse(first.measure).cutoff
        name = str(Measure("Judged", cutoff))
        what = f"first {cutoff}" if isinstance(cutoff, Depth) else "documents"
        yield Column(name, _judged, f"{name}: share of the system's {what} that is judged.")


def _n_told(line: _Line, outcome: Outcome) -> str:
    """Return how many systems one is told to be better, or worse, than."""
    result, name = line.result, line.system.name
    others = [one.name for one in result.systems if one.name != name]
    return str(sum(result.between(name, other)[1] == outcome for other in others))


def _of_pairs(results: Sequence[Result], settings: Settings) -> Iterator[Column]:
    """Yield the columns of a system's pair with the baseline; the baseline's cells are empty."""
    first = results[0]
    pairs = [pair for result in results for pair in result.pairs]
    bayes, by_ratio = settings.test == "bayes", first.by_ratio
    p_corrected = told_by(first, settings)
    rope = f"within {settings.rope:g} of 0" if settings.rope else "0"
    rope = f"its logarithm {rope}" if by_ratio else rope

    def column(heading: str, show: Callable[[Pair], str], meaning: str = "", *how: bool) -> Column:
        return Column(
            heading, lambda one: "" if one.pair is None else show(one.pair), meaning, *how
        )

    yield column("ratio" if by_ratio else "diff", _change, of_difference(results, settings))
    yield column(f"{percent(1 - settings.alpha)} interval", _ends)
    yield column(
        "p",
        lambda pair: probability(pair.p),
        "p: how often chance alone gives a difference as large, to either side.",
        not bayes,
    )
    yield column(
        p_corrected,
        lambda pair: probability(pair.p_adjusted),
        f"{p_corrected}: corrected for all comparisons.",
        not bayes and is_corrected(first, settings),
        True,  # on the line of p
    )
    of_rope = bayes or settings.rope is not None
    yield column(
        "P(better)",
        lambda pair: number(pair.probability_better, 2),
        f"P: how probable it is that the true difference is better, the same ({rope}), worse.",
        of_rope,
    )
    yield column("P(same)", lambda pair: number(pair.probability_same, 2), "", of_rope)
    yield column("P(worse)", lambda pair: number(pair.probability_worse, 2), "", of_rope)
    yield column(
        "d_z",
        lambda pair: number(pair.d_z, 2),
        "d_z: the mean difference divided by the standard deviation of the queries' differences.",
    )
    yield column(
        "changed",
        lambda pair: f"{pair.changed:,}",
        "changed: queries on which the two differ.",
        # Else W/T/L says it: their number is W + L, unless ties are wider than usual.
        any(pair.changed < FEW or pair.changed != pair.wins + pair.losses for pair in pairs),
    )
    yield column(
        "W/T/L",
        lambda pair: f"{pair.wins}/{pair.ties}/{pair.losses}",
        "W/T/L: queries on which the system is better, the same, worse.",
    )
    yield column(
        "unjudged",
        lambda pair: interval(pair.unjudged_low, pair.unjudged_high),
        f"unjudged: where diff may lie, whatever the unjudged documents are.{ideal_moves(first)}",
        settings.bounds,
    )


def _judged(line: _Line) -> str:
    """Return how much of what a system ranks is judged, marked where it is little."""
    return f"{number(line.system.judged, 2)} {'!' if line.system.little_judged else ' '}"


def _change(pair: Pair) -> str:
    """Return a pair's difference, or its ratio, with its mark."""
    shown = number(pair.ratio) if pair.scale == "ratio" else signed(pair.difference)
    return f"{shown} {_MARKS[pair.verdict]}"


def _ends(pair: Pair) -> str:
    """Return the interval of a pair's difference, or of its ratio."""
    if pair.scale == "ratio":
        return interval(pair.ratio_low, pair.ratio_high, signs=False)
    return interval(pair.low, pair.high)


# ---- other tables -------------------------------------------------------------------------------


def differences_of(result: Result, settings: Settings) -> Table | None:
    """Return the difference of each system to each better one, if there are few of them."""
    ordered = _ordered(result)
    if settings.baseline is not None or not 1 < len(ordered) <= _WIDEST_MATRIX:
        return None
    rows = []
    for place, system in enumerate(ordered[1:], 1):
        cells = []
        for other in ordered[:place]:
            difference, verdict = result.between(system.name, other.name)
            shown = number(math.exp(difference)) if result.by_ratio else signed(difference)
            cells.append(f"{shown} {_MARKS[verdict]}")
        rows.append([f"{place + 1}", *cells, *[""] * (len(ordered) - 1 - place)])
    header = ["", *(f"- {place}" for place in range(1, len(ordered)))]
    what = "divided by" if result.by_ratio else "less"
    title = f"{result.measure}   {'ratios' if result.by_ratio else 'differences'}"
    note = (
        f"The mean of the row's system {what} that of the column's, by the numbers above. "
        f"^ better, v worse: {told_by(result, settings)} at most {settings.alpha:g}."
    )
    return Table(header, rows, [note], title=[title])


def _ordered(result: Result) -> list[System]:
    """Return the systems, the best first."""
    return sorted(result.systems, key=lambda one: one.mean, reverse=result.rising)


def means_of(result: Result, settings: Settings) -> Table:
    """Return each system's mean with its own interval."""
    rows = [
        [one.name, number(one.mean), interval(one.low, one.high, signs=False)]
        for one in result.systems
    ]
    level = f"{percent(1 - settings.alpha)} interval"
    note = (
        "Each interval is of one system's mean (Student's t). Two that overlap may be of systems "
        "that differ: whether they do, the comparison says."
    )
    return Table(["system", "mean", level], rows, [note], title=[f"{result.measure}   each mean"])


def changes_table(result: Result, changes: Sequence[tuple[Pair, Change]]) -> Table:
    """Return the queries that change most, pair after pair."""
    rows = [
        [
            pair.system,
            one.query_id,
            number(one.other_score),
            number(one.score),
            signed(one.score - one.other_score),
        ]
        for pair, one in changes
    ]
    pairs = [pair for pair, _ in changes]
    rules = frozenset(i for i in range(1, len(pairs)) if pairs[i] is not pairs[i - 1])
    others = list({pair.other for pair in pairs})
    header = ["system", "query_id", others[0] if len(others) == 1 else "other", "score", "diff"]
    title = [f"{result.measure}   the queries that change most, those that get worse first"]
    notes = [] if rows else ["No query changes."]
    return Table(header, rows, notes, 2, rules=rules, title=title)
