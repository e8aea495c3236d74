"""Comparisons to tables of texts."""

import math
from collections.abc import Sequence
from typing import Any

from cranfield.comparison.remarks import merged
from cranfield.comparison.result import Outcome, Pair, Result, System
from cranfield.comparison.settings import Settings
from cranfield.comparison.shown import interval, number, probability, signed
from cranfield.measures import Measure, parse
from cranfield.measures.parameters import Depth
from cranfield.notes import Note, lines_of
from cranfield.render import Table

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
_MARKS = {"better": "^", "worse": "v", None: " "}
_WIDEST_MATRIX = 12  # systems


def table_of(
    results: Sequence[Result],
    settings: Settings,
    notes: Sequence[Note] = (),
    *,
    bounds: bool = False,
) -> Table:
    """Return one measure's comparison: on all queries, or on each slice of one label."""
    if len(results[0].systems) == 1:
        return _alone(results, settings, notes)
    if settings.baseline is None:
        return _of_all_pairs(results, settings, notes)
    return _with_baseline(results, settings, notes, bounds)


# ---- with a baseline ----------------------------------------------------------------------------


def _with_baseline(
    results: Sequence[Result], settings: Settings, notes: Sequence[Note], bounds: bool
) -> Table:
    first = results[0]
    columns = _columns(first, settings, bounds)
    rows: list[list[str]] = []
    strong, rules = set(), set()
    for result in results:
        rules.add(len(rows))
        base = next(one for one in result.systems if one.name == settings.baseline)
        ordered = sorted(result.pairs, key=lambda one: one.mean, reverse=result.rising)
        best = _best(result)
        systems = {one.name: one for one in result.systems}
        for pair in [None, *ordered]:
            system = base if pair is None else systems[pair.system]
            if system.mean == best:
                strong.add((len(rows), len(_labels(result)) + 1))
            cells = [show(system, pair, result) for _, show in columns]
            rows.append([*_labels(result), system.name, *cells])
    labels = [first.label, "queries", "system"] if first.label is not None else ["system"]
    return Table(
        [*labels, *(name for name, _ in columns)],
        rows,
        _below(results, notes, _legend(results, settings, bounds)),
        len(labels),
        frozenset(strong),
        frozenset(rules - {0}),
        title=_title(results, settings),
    )


def _below(results: Sequence[Result], notes: Sequence[Note], legend: Sequence[str]) -> list[str]:
    """Return the lines below a table: warnings, what its marks and columns mean, other notes."""
    of_slices = results[0].label is not None
    found = merged(
        (str(result.slice) if of_slices else "", note)
        for result in results
        for note in result.remarks
    )
    every = [*found, *notes]
    grave = [note for note in every if note.is_grave]
    return [*lines_of(grave), *legend, *lines_of(note for note in every if not note.is_grave)]


def _labels(result: Result) -> list[str]:
    return [] if result.label is None else [str(result.slice), f"{len(result.query_ids):,}"]


def _columns(result: Result, settings: Settings, bounds: bool) -> list[tuple[str, Any]]:
    """Return (name, how to show a cell of a system and its pair) of each column."""

    def of_pair(show: Any) -> Any:
        return lambda system, pair, result: "" if pair is None else show(pair)

    level = f"{100 * (1 - settings.alpha):.4g}%"
    found: list[tuple[str, Any]] = [
        ("mean", lambda system, pair, result: number(system.mean)),
        ("ratio" if _by_ratio(result) else "diff", of_pair(_change)),
        (f"{level} interval", of_pair(_ends)),
    ]
    if settings.test != "bayes":
        found.append(("p", of_pair(lambda pair: probability(pair.p))))
        if _corrected(result, settings):
            name = f"p {_CORRECTIONS[settings.correction]}"
            found.append((name, of_pair(lambda pair: probability(pair.p_adjusted))))
    if result.pairs[0].probability_better is not None or settings.test == "bayes":
        found += [
            ("P(better)", of_pair(lambda pair: number(pair.probability_better, 2))),
            ("P(same)", of_pair(lambda pair: number(pair.probability_same, 2))),
            ("P(worse)", of_pair(lambda pair: number(pair.probability_worse, 2))),
        ]
    found += [
        ("d_z", of_pair(lambda pair: number(pair.d_z, 2))),
        ("changed", of_pair(lambda pair: f"{pair.changed:,}")),
        ("W/T/L", of_pair(lambda pair: f"{pair.wins}/{pair.ties}/{pair.losses}")),
    ]
    if bounds:
        found.append(
            ("unjudged", of_pair(lambda pair: interval(pair.unjudged_low, pair.unjudged_high)))
        )
    if result.systems[0].judged is not None:
        found.append((_judged_name(result.measure), lambda system, pair, result: _judged(system)))
    return found


def _corrected(result: Result, settings: Settings) -> bool:
    """Tell whether p-values are corrected for more than one comparison."""
    if settings.correction in ("tukey", "rtukey"):  # of all systems, never the same as p
        return True
    return settings.correction != "none" and result.comparisons > 1


def _title(results: Sequence[Result], settings: Settings) -> list[str]:
    first = results[0]
    n = len(first.query_ids)
    what = first.measure
    if first.label is None:
        what += f"   {n:,} {'query' if n == 1 else 'queries'}"
    else:
        what += f"   by {first.label}"
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
        n = first.comparisons
        over = f"{n:,} comparison" + ("s" if n != 1 else "")
        over += " in each slice" if first.label is not None else ""
        over += " of all measures" if settings.family == "all" else ""
        if settings.correction == "none":
            said.append(f"uncorrected, {over}")
        else:
            drawn = f", {settings.permutations:,} permutations" if settings.permutations else ""
            said.append(f"{_CORRECTIONS[settings.correction]} over {over}{drawn}")
    said.append(f"alpha {settings.alpha:g}")
    return ["; ".join(said)]


def _legend(results: Sequence[Result], settings: Settings, bounds: bool) -> list[str]:
    """Return what the marks and columns mean, and what else to know."""
    first = results[0]
    pairs = [pair for result in results for pair in result.pairs]
    unmarked = [pair for pair in pairs if pair.verdict is None]
    than = settings.baseline
    sure = f"{_told_by(first, settings)} at most {settings.alpha:g}"
    if settings.test == "bayes":
        sure = f"with a probability of at least {settings.sure:g}"
    said = []
    if settings.baseline is None:
        said.append(
            f"better than, worse than: the number of systems that it is found to differ from, "
            f"by {sure}."
        )
        said.append("letters: systems that share a letter are not found to differ.")
    elif len(unmarked) < len(pairs):
        said.append(f"^ better, v worse than {than}: {sure}.")
    if unmarked:
        where = "No mark" if len(unmarked) < len(pairs) else "No system is marked"
        where = "Not found to differ" if settings.baseline is None else where
        said.append(
            f"{where}: no evidence of a difference, which is not evidence that there is none."
        )
        said += _power(results, settings)
    said += _meanings(results, settings, bounds)
    of_slices: dict[str, list[str]] = {}
    for result in results:
        for one in _judged_notes(result, bounds):
            of_slices.setdefault(one, []).append(str(result.slice))
    for one, names in of_slices.items():
        more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
        where = "" if first.label is None else f"{', '.join(names[:5])}{more}: "
        said.append(where + one)
    return said


def _told_by(result: Result, settings: Settings) -> str:
    """Return the name of the p-value that tells whether a pair differs."""
    return f"p {_CORRECTIONS[settings.correction]}" if _corrected(result, settings) else "p"


def _power(results: Sequence[Result], settings: Settings) -> list[str]:
    """Return which differences so many queries would have missed, of the pairs without a mark."""
    first = results[0]
    if first.label is not None:
        return []
    unmarked = [pair for pair in first.pairs if pair.verdict is None and pair.detectable]
    if not unmarked:
        return []
    by_level = first.comparisons == 1 or settings.correction in ("none", "holm", "bonferroni")
    what = "difference smaller than this"
    if _by_ratio(first):
        what = "ratio between 1 and this, or 1 and 1 / this,"
    n = (
        f"With {unmarked[0].n:,} queries, a true {what} is missed more than 1 time in 5"
        f"{'' if by_level else ', before correction'}"
    )
    if len(unmarked) > 6 or first.letters is not None:
        sizes = [_detectable(pair) for pair in unmarked]
        least, most = number(min(sizes)), number(max(sizes))
        return [f"{n}: {least}." if least == most else f"{n}: {least} to {most}, by the pair."]
    return [f"{n}: {', '.join(f'{pair.system} {number(_detectable(pair))}' for pair in unmarked)}."]


def _detectable(pair: Pair) -> float:
    """Return the difference, or the ratio above 1, that so many queries find 4 times in 5."""
    size = pair.detectable or 0.0
    return math.exp(size) if pair.scale == "ratio" else size


def _by_ratio(result: Result) -> bool:
    """Tell whether systems are compared by the ratio of their geometric means."""
    return result.pairs[0].scale == "ratio"


def _meanings(results: Sequence[Result], settings: Settings, bounds: bool) -> list[str]:
    """Return what the columns are."""
    result = results[0]
    judged_too = []
    if result.systems[0].judged is not None:
        cutoff = parse(result.measure).cutoff
        what = f"first {cutoff}" if isinstance(cutoff, Depth) else "documents"
        judged_too = [
            f"{_judged_name(result.measure)}: share of the system's {what} that is judged."
        ]
    if settings.baseline is None:
        return ["Intervals and p-values of the pairs: --format csv or json.", *judged_too]
    level = f"{100 * (1 - settings.alpha):.4g}%"
    kinds = dict.fromkeys(pair.interval for one in results for pair in one.pairs)
    how = " or ".join(_INTERVALS[kind] for kind in kinds if kind in _INTERVALS)
    change, ends = "diff: mean difference to", f"its {level} interval{f' ({how})' if how else ''}"
    if settings.test == "bayes":
        ends = f"its {level} credible interval"
    if _by_ratio(result):
        change = f"ratio: {result.measure}, a geometric mean, divided by that of"
        ends += "; tested are the differences of the queries' logarithms"
    said = [f"{change} {settings.baseline}, and {ends}."]
    if _corrected(result, settings):
        none = "1" if _by_ratio(result) else "0"
        said[0] += (
            f" Each interval is for one pair, uncorrected: it may exclude {none} although the pair "
            "has no mark."
        )
    if settings.test != "bayes":
        said.append("p: how often chance alone gives a difference as large, to either side.")
    if _corrected(result, settings):
        said[-1] += f" {_told_by(result, settings)}: corrected for all comparisons."
    if settings.test == "bayes" or settings.rope is not None:
        rope = f"within {settings.rope:g} of 0" if settings.rope else "0"
        if _by_ratio(result):
            rope = f"its logarithm {rope}"
        said.append(
            f"P: how probable it is that the true difference is better, the same ({rope}), worse."
        )
    said += [
        "d_z: the mean difference divided by the standard deviation of the queries' differences.",
        "changed: queries on which the two differ. W/T/L: those on which the system is better, the "
        "same, worse.",
    ]
    if bounds:
        lead = "unjudged: where diff may lie, whatever the unjudged documents are."
        said.append(f"{lead}{_ideal_moves(result)}")
    if not result.rising:
        said.append(f"{result.measure}: less is better.")
    return [*said, *judged_too]


def _judged_notes(result: Result, bounds: bool) -> list[str]:
    """Return notes on systems with little judged; `bounds`: there is a column of these."""
    if not any(one.little_judged for one in result.systems):
        return []
    said = ["! more than 0.05 below the share of another system."]
    little = {one.name for one in result.systems if one.little_judged}
    bounded = [
        one
        for one in result.pairs
        if {one.system, one.other} & little and one.unjudged_low is not None
    ]
    if bounded and result.letters is None:
        shown = [
            f"{one.system} {interval(one.unjudged_low, one.unjudged_high)}" for one in bounded[:3]
        ]
        more = f", and {len(bounded) - 3} more (--format csv or json)" if len(bounded) > 3 else ""
        lead = "Whatever the unjudged documents are, diff lies in"
        moves = "" if bounds else _ideal_moves(result)  # the column's line says it
        said.append(f"{lead}: {', '.join(shown)}{more}.{moves}")
    return said


def _ideal_moves(result: Result) -> str:
    """Return a sentence on a measure of which any mean may fall if more is found relevant."""
    known = any(one.unjudged_low is not None for one in result.pairs)
    moves = known and parse(result.measure).linear == "ratio"
    return " New grades change the ideal ranking, and with it both means." if moves else ""


# ---- all pairs, and one system ------------------------------------------------------------------


def _of_all_pairs(results: Sequence[Result], settings: Settings, notes: Sequence[Note]) -> Table:
    first = results[0]
    rows: list[list[str]] = []
    strong, rules = set(), set()
    for result in results:
        rules.add(len(rows))
        letters = dict(zip(_names(result), result.letters or (), strict=True))
        best = _best(result)
        for place, system in enumerate(_ordered(result), 1):
            labels = _labels(result) if first.label is not None else [str(place)]
            if system.mean == best:
                strong.add((len(rows), len(labels) + 1))
            told = [_verdict(result, system.name, other) for other in _names(result)]
            cells = [number(system.mean), letters[system.name]]
            cells += [str(told.count("better")), str(told.count("worse"))]
            if system.judged is not None:
                cells.append(_judged(system))
            rows.append([*labels, system.name, *cells])
    header = [first.label, "queries", "system"] if first.label is not None else ["", "system"]
    n_labels = len(header)
    header += ["mean", "letters", "better than", "worse than"]
    if first.systems[0].judged is not None:
        header.append(_judged_name(first.measure))
    return Table(
        header,
        rows,
        _below(results, notes, _legend(results, settings, False)),
        n_labels,
        frozenset(strong),
        frozenset(rules - {0}),
        title=_title(results, settings),
    )


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
    what = "divided by" if _by_ratio(result) else "less"
    title = f"{result.measure}   {'ratios' if _by_ratio(result) else 'differences'}"
    note = (
        f"The mean of the row's system {what} that of the column's, by the numbers above. "
        f"^ better, v worse: {_told_by(result, settings)} at most {settings.alpha:g}."
    )
    return Table(header, rows, [note], title=[title])


def _names(result: Result) -> list[str]:
    return [one.name for one in result.systems]


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
    shown = number(math.exp(difference)) if _by_ratio(result) else signed(difference)
    return _marked(shown, _verdict(result, system, other))


def _alone(results: Sequence[Result], settings: Settings, notes: Sequence[Note]) -> Table:
    first = results[0]
    rows = [
        [
            *_labels(result),
            system.name,
            number(system.mean),
            interval(system.low, system.high, signs=False),
            *([_judged(system)] if system.judged is not None else []),
        ]
        for result in results
        for system in result.systems
    ]
    labels = [first.label, "queries", "system"] if first.label is not None else ["system"]
    level = f"{100 * (1 - settings.alpha):.4g}% interval"
    shares = [_judged_name(first.measure)] if first.systems[0].judged is not None else []
    said = [
        "One system: there is nothing to compare it with. The interval is its mean's (Student's t)."
    ]
    return Table(
        [*labels, "mean", level, *shares],
        rows,
        _below(results, notes, said),
        len(labels),
        title=_title(results, settings),
    )


def means_of(result: Result, settings: Settings) -> Table:
    """Return each system's mean with its own interval."""
    rows = [
        [one.name, number(one.mean), interval(one.low, one.high, signs=False)]
        for one in result.systems
    ]
    level = f"{100 * (1 - settings.alpha):.4g}% interval"
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
