"""Thresholds: whether the mean of a system reaches a number that was stated, without a baseline.

The mean alone reaches it or does not. With `limit`, its one-sided lower limit at level 1 - alpha
must reach it: the test is the gate's, for the queries' scores minus the number, against 0. So the
sign flips and the t test assume scores that are symmetric enough for their number; the bounded test
assumes only that they have a least and a greatest value (Waudby-Smith & Ramdas, JRSS-B 2024).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.alignment import AlignedScores
from cranfield.comparison.effects import FEW_UNITS, find_doubt, count_uncommon, skewness
from cranfield.comparison.margins import aggregate_scores, find_score_range
from cranfield.comparison.noninferiority import GateMethod, GainTests, Outcome, GainSample, run_gain_tests
from cranfield.comparison.remarks import note_sum_measure
from cranfield.comparison.scale import compared_range, is_geometric, to_compared_unit
from cranfield.comparison.score_columns import canonical_names
from cranfield.comparison.settings import GateSettings
from cranfield.comparison.significance import Moments
from cranfield.errors import MeasureError, OptionError
from cranfield.explanation.pointer import explain_hint
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.notes import Note, lines_below_table
from cranfield.render.numbers import format_number, format_count, finite_or_none, format_p, format_query_count
from cranfield.render.table import Column, Table, legend, select_shown

N_WORST = 5  # queries to show of a system that did not pass


class Low(NamedTuple):
    """A query whose score is below the number that the mean has to reach."""

    query_id: str
    score: float


@dataclass(frozen=True)
class Threshold:
    """Whether the mean of one system reaches a number under one measure.

    `lower` and `upper` are one-sided limits of the mean, each at level 1 - alpha, and `p` tests a
    true mean of at most `at_least`: None unless `limit` was asked for, and where there is none.
    `lowest` are the queries below `at_least` with the lowest scores: as many as the option
    `changes` says; by default 5 of a system that does not pass.

    >>> from cranfield import gate
    >>> found = gate("demo/qrels.txt", "demo/dense.run", at_least={"R@100": 0.8}, limit=True)
    >>> one = found.thresholds[0]
    >>> one.outcome, round(one.mean, 4), round(one.lower, 4)
    ('PASS', 0.8748, 0.8301)
    """

    system: str
    measure: str
    outcome: Outcome
    n: int  # queries
    mean: float
    at_least: float
    lower: float | None
    upper: float | None
    p: float | None
    method: GateMethod | None  # as of a Verdict
    lowest: tuple[Low, ...] = ()

    def __str__(self) -> str:
        return self.outcome

    @property
    def stated(self) -> str:
        """The condition: a measure, and the number that its mean must reach."""
        return f"{self.measure} >= {self.at_least:g}"

    @property
    def reason(self) -> str:
        """What was found, in one line."""
        limits = "" if self.lower is None else f", lower limit {format_number(self.lower)}"
        found = f"{self.measure} {format_number(self.mean)}{limits}"
        return f"{self.outcome}: {found}, must be at least {self.at_least:g}"


def resolve_at_least(
    at_least: Mapping[str, float] | None, parse_names: Callable[[str], Iterable[object]] = canonical_names
) -> dict[str, float]:
    """Return {measure: number}; `named` returns the canonical measures of a text.

    Raises OptionError for a measure that is named twice, with two numbers.
    """
    found: dict[str, float] = {}
    for text, least in (at_least or {}).items():
        for measure in map(str, parse_names(text)):
            if found.setdefault(measure, least) != least:
                raise OptionError(
                    f"at_least: {measure} has two numbers, {found[measure]:g} and {least:g}"
                )
    return found


def judge_thresholds(
    aligned_scores: AlignedScores, at_least: Mapping[str, float], systems: Sequence[str], settings: GateSettings
) -> tuple[list[Threshold], list[Note]]:
    """Return whether some systems reach the numbers, system after system; and notes on it.

    Raises OptionError for a number that no system can reach, or that every one does, and for a
    measure of which less is better.
    """
    at = [aligned_scores.system_names.index(name) for name in systems]
    asked = [_build_requirement(aligned_scores, name, least, at, settings) for name, least in at_least.items()]
    held = [run_gain_tests(one.sample, settings) if settings.limit else None for one in asked]
    found = [
        _judge_threshold(one, shown, i, system, settings, aligned_scores.query_ids)
        for i, system in enumerate(systems)
        for one, shown in zip(asked, held, strict=True)
    ]
    notes = [note for one in asked for note in note_sum_measure(one.parsed_measure)]
    if settings.limit and not settings.gate_test.is_valid_for_any_n:
        notes += [note for one in asked for note in _note_doubts(one, systems, found)]
    return found, notes


@dataclass(frozen=True, eq=False)
class _Requirement:
    """One measure's scores, and the number that their means must reach."""

    measure: str
    parsed_measure: Measure | None
    at_least: float
    scores: Floats  # (n_queries, n_systems)
    range: tuple[float, float]  # of a query's score, infinite if that is not known
    sample: GainSample  # of the scores less the number, as they are compared

    @cached_property
    def n_uncommon(self) -> Ints:
        """How many queries do not have a system's most common score: (n_systems,).

        Where clusters are tested, how many clusters have such a query.
        """
        return count_uncommon(self.scores, self.sample.units)


def _build_requirement(
    aligned: AlignedScores, measure: str, least: float, at: Sequence[int], settings: GateSettings
) -> _Requirement:
    if measure not in aligned.measures:
        raise MeasureError(f"{measure} has texts as values, and no mean that could reach a number")
    known, scores = aligned.find_measure(measure), aligned.measure_scores(measure)[:, at]
    low, high = find_score_range(aligned, measure, settings.range, settings.gate_test) or (
        -math.inf,
        math.inf,
    )
    _refuse_impossible(aligned, measure, least, low, high)
    compared = to_compared_unit(known, scores)
    number = float(to_compared_unit(known, np.array([least]))[0])
    reach = settings.gate_test.find_score_test_range(*compared_range(known, low, high), number)
    added = aligned.select_variances(measure, at)
    question = GainSample(compared - number, 0.0, test_range=reach, units=aligned.units, added_variances=added)
    return _Requirement(measure, known, least, scores, (low, high), question)


def _refuse_impossible(aligned: AlignedScores, measure: str, least: float, low: float, high: float) -> None:
    """Raise OptionError for a number that every system reaches, or that no system can reach."""
    said = f"at_least={measure}={least:g}"
    if not aligned.is_higher_better(measure):
        raise OptionError(f"{said}: at_least does not apply to {measure}, of which less is better")
    if least > high:
        meant = f" Did you mean {least / 100:g}?" if high == 1 and 1 < least <= 100 else ""
        raise OptionError(f"{said}: {measure} is at most {high:g}: no system can reach it.{meant}")
    if least <= low:
        raise OptionError(f"{said}: {measure} is at least {low:g}: every system reaches it")


def _judge_threshold(
    asked: _Requirement,
    held: GainTests | None,
    i: int,
    system: str,
    settings: GateSettings,
    query_ids: Sequence[str],
) -> Threshold:
    mean, least = aggregate_scores(asked.parsed_measure, asked.scores[:, i]), asked.at_least
    reached = mean >= least or math.isclose(mean, least, rel_tol=1e-12)
    outcome: Outcome = "PASS" if reached else "FAIL"
    lower = upper = p = None
    if held is not None:
        few = not settings.gate_test.is_valid_for_any_n and asked.n_uncommon[i] < FEW_UNITS
        outcome = "PASS" if held.is_above[0, i] and not few else "UNDECIDED"
        if held.is_below[0, i] and not reached:
            outcome = "FAIL"
        ends = (_mean_limit(asked, end[i]) for end in (held.lower, held.upper))
        lower, upper = (finite_or_none(end) for end in ends)
        p = finite_or_none(held.p_above[0, i])
    usual = 0 if outcome == "PASS" else N_WORST
    scores, kept = asked.scores[:, i], usual if settings.changes is None else settings.changes
    order = scores.argsort(kind="stable")
    lowest = tuple(Low(query_ids[q], float(scores[q])) for q in order[scores[order] < least][:kept])
    return Threshold(
        *(system, asked.measure, outcome, len(scores), mean, least, lower, upper, p),
        None if held is None else held.method[i],
        lowest,
    )


def _mean_limit(asked: _Requirement, end: float) -> float:
    """Return a limit of the mean, given that of the mean minus the number; infinity is kept."""
    if not math.isfinite(end):
        return end
    of_mean = asked.at_least * math.exp(end) if is_geometric(asked.parsed_measure) else asked.at_least + end
    return min(max(of_mean, asked.range[0]), asked.range[1])


def _note_doubts(asked: _Requirement, systems: Sequence[str], found: Iterable[Threshold]) -> Iterator[Note]:
    """Yield a note on each system whose limits may be wrong."""
    paired = asked.sample.pair_gains(asked.sample.gains)
    skews = skewness(paired, Moments.of(paired)).tolist()
    of_this = [one for one in found if one.measure == asked.measure]
    for one, others, skew in zip(of_this, asked.n_uncommon.tolist(), skews, strict=True):
        named = f"{one.system} ({one.measure})"
        if others < FEW_UNITS:
            same = "all of" if others == 0 else f"all but {others} of"
            if asked.sample.units.n_groups is not None and others:
                same = (
                    f"all queries but those of {format_count(others, asked.sample.units.unit_word)}, of"
                )
            said = (
                f"{same} {format_query_count(one.n)} have the same score: neither the limits nor p hold, "
                "and rare low scores are not ruled out. The test 'bounded' is valid for any scores."
            )
            yield Note("few-scores", "warning", said, others, named)
        elif find_doubt(paired.n_units, others, skew) == "skewed" and skew < 0:
            units = asked.sample.units.unit_words
            said = (
                f"a few low scores (skewness {skew:+.1f}) make the lower limit too high; "
                f"{math.ceil(25 * skew**2):,} {units} would be enough."
            )
            yield Note("skewed", "warning", said, one.n, named)


# ---- tables -------------------------------------------------------------------------------------


def thresholds_table(
    thresholds: Sequence[Threshold],
    settings: GateSettings,
    test_description: str,
    outcomes: Mapping[str, Outcome],
    notes: Iterable[Note],
) -> Table:
    """Return a row for each system and measure.

    `how` names the level of the limits and the test. `outcomes`, if any, are each system's overall
    outcome: a row for each.
    """
    columns = select_shown(_columns(settings))
    rows: list[list[str]] = []
    rules = set()
    for system in dict.fromkeys(one.system for one in thresholds):
        rules.add(len(rows))
        rows += [[column.cell(one) for column in columns] for one in thresholds if one.system == system]
        if system in outcomes:
            rows.append([system, "all", outcomes[system], *[""] * (len(columns) - 3)])
    said = legend(columns)
    if outcomes:
        said.append("all: everything that the system is judged by must pass.")
    title = f"Means of {format_query_count(thresholds[0].n)}, and what they must reach"
    return Table(
        [one.heading for one in columns],
        rows,
        lines_below_table(said, notes),
        3,
        ruled_rows=frozenset(rules - {0} if outcomes else ()),
        title=[f"{title}, {test_description}" if settings.limit else title],
    )


def lowest_table(thresholds: Iterable[Threshold]) -> Table:
    """Return the queries with the lowest scores, of each system and measure."""
    lows = [(one, low) for one in thresholds for low in one.lowest]
    rows = [[one.system, one.measure, low.query_id, format_number(low.score)] for one, low in lows]
    rules = frozenset(i for i in range(1, len(rows)) if lows[i][0] is not lows[i - 1][0])
    notes = [explain_hint(one.measure, low.query_id, [one.system]) for one, low in lows[:1]]
    header, title = ["system", "measure", "query_id", "score"], ["The lowest scores"]
    return Table(header, rows, notes, 3, ruled_rows=rules, title=title)


def _columns(settings: GateSettings) -> Iterator[Column]:
    """Yield the columns of the thresholds: a cell shows a Threshold."""
    rule = (
        "PASS: mean >= at least. FAIL: mean < at least. Chance is not allowed for: --limit tests "
        "the mean's lower limit instead."
    )
    if settings.limit:
        rule = (
            "PASS: lower >= at least: a lower mean is ruled out."
            "\nFAIL: upper < at least: a mean that high is ruled out. UNDECIDED: neither."
        )
    of_p = "p: the chance of a mean at least as high, if the true mean is only `at least`."
    yield Column("system", lambda one: one.system)
    yield Column("measure", lambda one: one.measure)
    yield Column("verdict", str, rule)
    yield Column("mean", lambda one: format_number(one.mean))
    yield Column("at least", lambda one: f"{one.at_least:g}")
    yield Column("lower", lambda one: format_number(one.lower), is_shown=settings.limit)
    yield Column("upper", lambda one: format_number(one.upper), is_shown=settings.limit)
    yield Column("p", lambda one: format_p(one.p), of_p, settings.limit)
