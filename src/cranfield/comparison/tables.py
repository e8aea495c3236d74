"""Comparisons to tables of texts."""

import math
from collections.abc import Callable, Iterator, Sequence

from cranfield.comparison.doubts import FEW
from cranfield.comparison.legend import (
    by_ratio,
    ideal_moves,
    is_corrected,
    of_difference,
    on_judged,
    on_marks,
    sure_by,
    title_of,
    told_by,
)
from cranfield.comparison.result import Outcome, Pair, Result, System
from cranfield.comparison.settings import Settings
from cranfield.measures import Measure, parse
from cranfield.measures.parameters import Depth
from cranfield.notes import Note, around, merged
from cranfield.render.numbers import (
    interval,
    number,
    percent,
    probability,
    signed,
    some,
)
from cranfield.render.table import Column, Table, legend, wanted

_MARKS = {"better": "^", "worse": "v", None: " "}
_WIDEST_MATRIX = 12  # systems


def table_of(
    results: Sequence[Result],
    settings: Settings,
    notes: Sequence[Note] = (),
    *,
    bounds: bool = False,
) -> Table:
    """Return one measure's comparison: on all queries, or on each slice of one label.

    With a baseline, a row for each pair, below that of the baseline; of all pairs, or of one
    system, a row for each system. `bounds` adds where differences may lie.
    """
    first = results[0]
    columns = wanted(_columns(results, settings, bounds))
    labels = [first.label, "queries"] if first.label is not None else []
    if first.label is None and _among_all(first, settings):
        labels = [""]
    rows: list[list[str]] = []
    strong, rules = set(), set()
    for result in results:
        rules.add(len(rows))
        best = _best(result)
        for place, (system, pair) in enumerate(_lines(result, settings), 1):
            of_slice = [str(result.slice), f"{len(result.query_ids):,}"]
            at = of_slice if first.label is not None else [f"{place}"] * len(labels)
            if system.mean == best:
                strong.add((len(rows), len(labels) + 1))
            rows.append([*at, system.name, *(one.cell(system, pair, result) for one in columns)])
    found = merged(
        (
            (str(result.slice) if first.label is not None else "", note)
            for result in results
            for note in result.notes
        ),
        listed=some,
    )
    said = [*on_marks(results, settings), *legend(columns), *on_judged(results, bounds)]
    return Table(
        [*labels, "system", *(one.heading for one in columns)],
        rows,
        around(said, [*found, *notes]),
        len(labels) + 1,
        frozenset(strong),
        frozenset(rules - {0} if len(first.systems) > 1 else ()),
        title=title_of(results, settings),
    )


def _among_all(result: Result, settings: Settings) -> bool:
    """Tell whether every two systems are compared."""
    return settings.baseline is None and len(result.systems) > 1


def _lines(result: Result, settings: Settings) -> Iterator[tuple[System, Pair | None]]:
    """Yield the system of each row, and its pair with the baseline if it has one."""
    if settings.baseline is None or len(result.systems) == 1:
        yield from ((system, None) for system in _ordered(result))
        return
    systems = {one.name: one for one in result.systems}
    yield systems[settings.baseline], None
    for pair in sorted(result.pairs, key=lambda one: one.mean, reverse=result.rising):
        yield systems[pair.system], pair


def _columns(results: Sequence[Result], settings: Settings, bounds: bool) -> Iterator[Column]:
    """Yield every column that a comparison may have: a cell shows (system, pair, result)."""
    first = results[0]
    yield from _of_systems(first, settings)
    if settings.baseline is not None and len(first.systems) > 1:
        yield from _of_pairs(results, settings, bounds)
    if first.systems[0].judged is not None:
        cutoff, name = parse(first.measure).cutoff, _judged_name(first.measure)
        what = f"first {cutoff}" if isinstance(cutoff, Depth) else "documents"
        yield Column(
            name,
            lambda system, pair, result: _judged(system),
            f"{name}: share of the system's {what} that is judged.",
        )


def _of_systems(first: Result, settings: Settings) -> Iterator[Column]:
    """Yield the columns of a system, by itself or among all."""
    among = _among_all(first, settings)

    def told(outcome: Outcome) -> Callable[..., str]:
        return lambda system, pair, result: str(
            sum(_verdict(result, system.name, one.name) == outcome for one in result.systems)
        )

    yield Column(
        "mean",
        lambda system, pair, result: number(system.mean),
        "" if first.rising else f"{first.measure}: less is better.",
    )
    yield Column(
        f"{percent(1 - settings.alpha)} interval",
        lambda system, pair, result: interval(system.low, system.high, signs=False),
        "One system: there is nothing to compare it with. The interval is its mean's (Student's "
        "t).",
        len(first.systems) == 1,
    )
    yield Column(
        "letters",
        lambda system, pair, result: result.letters[result.systems.index(system)],
        "letters: systems that share a letter are not found to differ.",
        among,
    )
    yield Column(
        "better than",
        told("better"),
        "better than, worse than: the number of systems that it is found to differ from, by "
        f"{sure_by(first, settings)}.",
        among,
    )
    yield Column(
        "worse than",
        told("worse"),
        "Intervals and p-values of the pairs: --format csv or json.",
        among,
    )


def _of_pairs(results: Sequence[Result], settings: Settings, bounds: bool) -> Iterator[Column]:
    """Yield the columns of a system's pair with the baseline; the baseline's cells are empty."""
    first = results[0]
    pairs = [pair for result in results for pair in result.pairs]
    bayes, is_ratio = settings.test == "bayes", by_ratio(first)
    p_corrected = told_by(first, settings)
    rope = f"within {settings.rope:g} of 0" if settings.rope else "0"
    rope = f"its logarithm {rope}" if is_ratio else rope

    def column(heading: str, show: Callable[[Pair], str], meaning: str = "", *how: bool) -> Column:
        return Column(
            heading, lambda system, pair, result: "" if pair is None else show(pair), meaning, *how
        )

    yield column("ratio" if is_ratio else "diff", _change, of_difference(results, settings))
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
        bounds,
    )


# ---- other tables -------------------------------------------------------------------------------


def differences_of(result: Result, settings: Settings) -> Table | None:
    """Return the difference of each system to each better one, if there are few of them."""
    ordered = _ordered(result)
    if settings.baseline is not None or not 1 < len(ordered) <= _WIDEST_MATRIX:
        return None
    rows = []
    for place, system in enumerate(ordered[1:], 1):
        cells = [_difference(result, system.name, other.name) for other in ordered[:place]]
        rows.append([f"{place + 1}", *cells, *([""] * (len(ordered) - 1 - len(cells)))])
    header = ["", *(f"- {place}" for place in range(1, len(ordered)))]
    what = "divided by" if by_ratio(result) else "less"
    title = f"{result.measure}   {'ratios' if by_ratio(result) else 'differences'}"
    note = (
        f"The mean of the row's system {what} that of the column's, by the numbers above. "
        f"^ better, v worse: {told_by(result, settings)} at most {settings.alpha:g}."
    )
    return Table(header, rows, [note], title=[title])


def _ordered(result: Result) -> list[System]:
    """Return the systems, the best first."""
    return sorted(result.systems, key=lambda one: one.mean, reverse=result.rising)


def _verdict(result: Result, system: str, other: str) -> Outcome | None:
    """Return whether a system is told to be better or worse than another."""
    pairs = result.by_names
    if (system, other) in pairs:
        return pairs[system, other].verdict
    turned: dict[Outcome | None, Outcome | None] = {
        "better": "worse",
        "worse": "better",
        None: None,
    }
    return turned[pairs[other, system].verdict] if system != other else None


def _difference(result: Result, system: str, other: str) -> str:
    """Return the difference of two systems' means, or their ratio, marked."""
    pairs = result.by_names
    found = pairs.get((system, other))
    turned = pairs[other, system] if found is None else found
    difference = -turned.difference if found is None else turned.difference
    shown = number(math.exp(difference)) if by_ratio(result) else signed(difference)
    return _marked(shown, _verdict(result, system, other))


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


def changes_table(
    measure: str, changes: Sequence[tuple[str, str, str, float, float, float]]
) -> Table:
    """Return the queries that change most: (system, other, query, score, other's score, diff)."""
    rows, rules = [], set()
    for i, (system, other, query, score, others, difference) in enumerate(changes):
        if i and (system, other) != changes[i - 1][:2]:
            rules.add(i)
        rows.append([system, query, number(others), number(score), signed(difference)])
    known = list(dict.fromkeys(change[1] for change in changes))
    header = ["system", "query_id", known[0] if len(known) == 1 else "other", "score", "diff"]
    title = [f"{measure}   the queries that change most, those that get worse first"]
    notes = [] if rows else ["No query changes."]
    return Table(header, rows, notes, 2, frozenset(), frozenset(rules), title=title)


# ---- numbers ------------------------------------------------------------------------------------


def _best(result: Result) -> float | None:
    """Return the best mean, if not all are the same."""
    means = [one.mean for one in result.systems]
    if min(means) == max(means):
        return None
    return max(means) if result.rising else min(means)


def _judged_name(measure: str) -> str:
    """Return the name of the share of judged documents that goes with a measure."""
    return str(Measure("Judged", parse(measure).cutoff))


def _judged(system: System) -> str:
    """Return how much of what a system ranks is judged, marked where it is little."""
    return f"{number(system.judged, 2)} {'!' if system.little_judged else ' '}"


def _change(pair: Pair) -> str:
    """Return a pair's difference, or its ratio, with its mark."""
    shown = number(pair.ratio) if pair.scale == "ratio" else signed(pair.difference)
    return _marked(shown, pair.verdict)


def _ends(pair: Pair) -> str:
    """Return the interval of a pair's difference, or of its ratio."""
    if pair.scale == "ratio":
        return interval(pair.ratio_low, pair.ratio_high, signs=False)
    return interval(pair.low, pair.high)


def _marked(shown: str, verdict: Outcome | None) -> str:
    return f"{shown} {_MARKS[verdict]}"
