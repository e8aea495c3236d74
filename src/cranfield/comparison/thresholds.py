"""Thresholds: whether the mean of a system reaches a number that was stated, without a baseline.

The mean alone reaches it or does not. With `limit`, its one-sided lower limit at level 1 - alpha
must reach it: the test is the gate's, for the queries' scores minus the number, against 0. So the
sign flips and the t test assume scores that are symmetric enough for their number; the bounded test
assumes only that they have a least and a greatest value (Waudby-Smith & Ramdas, JRSS-B 2024).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.binary import are_binary, find_n_of_wilson
from cranfield.comparison.decisions import POWER, Outcome, Shape, find_n_to_decide, find_shapes
from cranfield.comparison.effects import FEW_UNITS, count_uncommon
from cranfield.comparison.margins import aggregate_scores, find_score_range
from cranfield.comparison.noninferiority import (
    SCORE_METHODS,
    GainSample,
    GainTests,
    GateMethod,
    run_gain_tests,
)
from cranfield.comparison.remarks import note_sum_measure
from cranfield.comparison.scale import compared_range, is_geometric, to_compared_unit
from cranfield.comparison.score_columns import canonical_names
from cranfield.comparison.settings import GateSettings
from cranfield.errors import MeasureError, OptionError
from cranfield.explanation.pointer import explain_hint
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.notes import Note, lines_below_table
from cranfield.render.numbers import (
    finite_or_none,
    format_count,
    format_number,
    format_p,
    format_query_count,
)
from cranfield.render.table import Column, Table, legend, select_shown

if TYPE_CHECKING:
    from cranfield.comparison.verdict import Verdict

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
    queries_needed: int | None = None  # if UNDECIDED: for a system with this true mean to be judged
    lowest: tuple[Low, ...] = ()

    def __str__(self) -> str:
        return self.outcome

    @property
    def stated(self) -> str:
        """The condition: a measure, and the number that its mean must reach."""
        return f"{self.measure} >= {self.at_least:g}"

    @property
    def reason(self) -> str:
        """The mean with its limits, and the number that it must reach."""
        lower, upper = format_number(self.lower), format_number(self.upper)
        limits = f" [{lower}, {upper}]" if (lower, upper) != ("-", "-") else ""
        return f"{format_number(self.mean)}{limits}, at least {self.at_least:g}"


def resolve_at_least(
    at_least: Mapping[str, float] | None,
    parse_names: Callable[[str], Iterable[str]] = canonical_names,
) -> dict[str, float]:
    """Return {canonical measure: number to reach}, given {text: number to reach}.

    `parse_names` returns the canonical measures of a text. Raises OptionError for a measure with
    two numbers.
    """
    goal_of_measure: dict[str, float] = {}
    for text, goal in (at_least or {}).items():
        for measure in parse_names(text):
            if goal_of_measure.setdefault(measure, goal) != goal:
                first = goal_of_measure[measure]
                raise OptionError(f"at_least: {measure} has two numbers, {first:g} and {goal:g}")
    return goal_of_measure


def judge_thresholds(
    requirements: "Sequence[Requirement]",
    systems: Sequence[str],
    settings: GateSettings,
    query_ids: Sequence[str],
    greatest_p: float,
) -> tuple[list[Threshold], list[Note]]:
    """Return the thresholds of some systems, system after system, and notes on them.

    With `limit`, a system fails by a p-value of at most `greatest_p`.
    """
    thresholds = [
        _judge_threshold(need, i, system, settings, query_ids, greatest_p)
        for i, system in enumerate(systems)
        for need in requirements
    ]
    notes = [note for need in requirements for note in note_sum_measure(need.parsed_measure)]
    if settings.limit and not settings.gate_test.holds_always:
        notes += [note for need in requirements for note in _note_doubts(need, thresholds)]
    return thresholds, notes


@dataclass(frozen=True, eq=False)
class Requirement:
    """One measure's scores, and the number that their means must reach."""

    measure: str
    parsed_measure: Measure | None
    at_least: float
    scores: Floats  # (n_queries, n_systems)
    range: tuple[float, float]  # of a query's score, infinite if it is not known
    sample: GainSample  # of the scores less the number, in the unit that is compared
    tests: GainTests | None  # of whether the means reach it, with `limit`

    @cached_property
    def n_uncommon(self) -> Ints:
        """The number of queries without a system's most common score: (n_systems,).

        Where clusters are tested, the number of clusters with such a query.
        """
        return count_uncommon(self.scores, self.sample.units)

    @cached_property
    def shapes(self) -> list[Shape]:
        """The shape of each system's scores: a score is distinct if it is not the most common."""
        return find_shapes(self.sample, self.n_uncommon)


def build_requirement(
    aligned_scores: AlignedScores,
    measure: str,
    goal: float,
    systems: Sequence[str],
    settings: GateSettings,
) -> Requirement:
    """Return what the means of some systems must reach, with its tests.

    Raises OptionError for a number that no system can reach, or that every system reaches, and for
    a measure of which less is better.
    """
    system_columns = [aligned_scores.system_names.index(name) for name in systems]
    if measure not in aligned_scores.measures:
        raise MeasureError(f"{measure} has texts as values, and no mean that could reach a number")
    parsed_measure = aligned_scores.find_measure(measure)
    scores = aligned_scores.measure_scores(measure)[:, system_columns]
    low, high = find_score_range(aligned_scores, measure, settings) or (-math.inf, math.inf)
    option = f"at_least={measure}={goal:g}"
    if not aligned_scores.is_higher_better(measure):
        raise OptionError(
            f"{option}: at_least does not apply to {measure}, of which less is better"
        )
    if goal > high:
        hint = f" Did you mean {goal / 100:g}?" if high == 1 and 1 < goal <= 100 else ""
        raise OptionError(f"{option}: {measure} is at most {high:g}: no system can reach it.{hint}")
    if goal <= low:
        raise OptionError(f"{option}: {measure} is at least {low:g}: every system reaches it")
    compared_goal = float(to_compared_unit(parsed_measure, np.array([goal]))[0])
    low_end, high_end = compared_range(parsed_measure, low, high)
    sample = GainSample(
        to_compared_unit(parsed_measure, scores) - compared_goal,
        0.0,
        test_range=settings.gate_test.find_score_test_range(low_end, high_end, compared_goal),
        units=aligned_scores.units,
        added_variances=aligned_scores.select_variances(measure, system_columns),
        goal=goal,
    )
    can_use_scores = aligned_scores.units.n_groups is None and not is_geometric(parsed_measure)
    if can_use_scores and not sample.added_variances and 0 < goal < 1:
        sample = replace(sample, is_binary=are_binary(scores))
    tests = run_gain_tests(sample, settings) if settings.limit else None
    return Requirement(measure, parsed_measure, goal, scores, (low, high), sample, tests)


def _judge_threshold(
    need: Requirement,
    i: int,
    system: str,
    settings: GateSettings,
    query_ids: Sequence[str],
    greatest_p: float,
) -> Threshold:
    """Judge whether the system in column i of the scores meets a requirement."""
    scores, goal, tests = need.scores[:, i], need.at_least, need.tests
    mean = aggregate_scores(need.parsed_measure, scores)
    is_reached = mean >= goal or math.isclose(mean, goal, rel_tol=1e-12)
    outcome: Outcome = "PASS" if is_reached else "FAIL"
    lower = upper = p = n_needed = None
    if tests is not None:
        shape = need.shapes[i]
        is_safe = settings.gate_test.holds_always or tests.method[i] in SCORE_METHODS
        is_doubtful = not is_safe and need.n_uncommon[i] < FEW_UNITS
        hides_losses = not is_safe and shape.doubt == "skewed" and shape.skewness < 0
        outcome = "UNDECIDED"
        if tests.is_above[0, i] and not is_doubtful and not hides_losses:
            outcome = "PASS"
        if tests.is_below[0, i] and not is_reached and not tests.p_below[0, i] > greatest_p:
            outcome = "FAIL"
        limits = (_mean_limit(need, end[i]) for end in (tests.lower, tests.upper))
        lower, upper = map(finite_or_none, limits)
        p = finite_or_none(tests.p_above[0, i])
        if outcome == "UNDECIDED" and tests.method[i] == "wilson":
            n_needed = find_n_of_wilson(mean, goal, settings.alpha, POWER)
        elif outcome == "UNDECIDED" and not is_doubtful:
            distance = abs(float(tests.unit_moments.mean[i]))
            one_sided = replace(settings, equivalence=False)
            variances = need.sample.added_variances
            least_n_units = shape.n_to_hold if hides_losses else 0
            n_needed = find_n_to_decide(tests, i, one_sided, distance, variances, least_n_units)
    default_n_lowest = 0 if outcome == "PASS" else N_WORST
    n_lowest = default_n_lowest if settings.changes is None else settings.changes
    order = scores.argsort(kind="stable")
    lowest_rows = order[scores[order] < goal][:n_lowest]
    return Threshold(
        system=system,
        measure=need.measure,
        outcome=outcome,
        n=len(scores),
        mean=mean,
        at_least=goal,
        lower=lower,
        upper=upper,
        p=p,
        method=None if tests is None else tests.method[i],
        queries_needed=n_needed,
        lowest=tuple(Low(query_ids[q], float(scores[q])) for q in lowest_rows),
    )


def _mean_limit(need: Requirement, limit: float) -> float:
    """Return the limit of a mean, given that of the mean minus the number; infinity stays."""
    if not math.isfinite(limit):
        return limit
    mean_limit = need.at_least + limit
    if is_geometric(need.parsed_measure):
        mean_limit = need.at_least * math.exp(limit)
    return min(max(mean_limit, need.range[0]), need.range[1])


def _note_doubts(need: Requirement, thresholds: Iterable[Threshold]) -> Iterator[Note]:
    """Yield a note on each system whose limits may be wrong."""
    units = need.sample.units
    same_measure = [threshold for threshold in thresholds if threshold.measure == need.measure]
    for threshold, n_uncommon, shape in zip(
        same_measure, need.n_uncommon.tolist(), need.shapes, strict=True
    ):
        if threshold.method in SCORE_METHODS:
            continue
        name = f"{threshold.system} ({threshold.measure})"
        if n_uncommon < FEW_UNITS:
            same_phrase = "all of" if n_uncommon == 0 else f"all but {n_uncommon} of"
            if units.n_groups is not None and n_uncommon:
                other_units = format_count(n_uncommon, units.unit_word)
                same_phrase = f"all queries but those of {other_units}, of"
            message = (
                f"{same_phrase} {format_query_count(threshold.n)} have the same score: neither the "
                "limits nor p hold, and rare low scores are not ruled out. The test 'bounded' is "
                "valid for any scores."
            )
            yield Note("few-scores", "warning", message, n_uncommon, name)
        elif shape.doubt == "skewed" and shape.skewness < 0:
            message = (
                f"a few low scores (skewness {shape.skewness:+.1f}) make the lower limit too high; "
                f"with {shape.n_to_hold:,} {units.unit_words} it would hold, so that it could pass."
            )
            yield Note("skewed", "warning", message, threshold.n, name)


# ---- tables -------------------------------------------------------------------------------------


def thresholds_table(
    thresholds: Sequence[Threshold],
    settings: GateSettings,
    test_description: str,
    failing_phrase: str,
    outcomes: Mapping[str, Outcome],
    notes: Iterable[Note],
) -> Table:
    """Return the table of thresholds, with a row for each system and measure.

    `test_description` names the level of the limits and the test, `failing_phrase` the rule by
    which several rows fail. `outcomes`, if any, are each
    system's overall outcome, which has a row of its own.
    """
    columns = select_shown(_columns(settings, failing_phrase))
    lines = [*legend(columns), *describe_score_methods(thresholds)]
    lines += ["all: everything that the system is judged by must pass."] * bool(outcomes)
    lines = [*lines_below_table(lines, notes), *[test_description] * settings.limit]
    title = f"Means of {format_query_count(thresholds[0].n)}, and what they must reach"
    return make_decisions_table(thresholds, columns, outcomes, lines, title)


def describe_score_methods(decisions: "Sequence[Verdict | Threshold]") -> Iterator[str]:
    """Yield a sentence on the measures that have score limits, of zeros and ones."""
    for method in SCORE_METHODS:
        if measures := dict.fromkeys(row.measure for row in decisions if row.method == method):
            names = ", ".join(measures)
            yield f"{names}: zeros and ones; limits and p by {method.capitalize()}'s score."


def make_decisions_table(
    decisions: "Sequence[Verdict | Threshold]",
    columns: Sequence[Column],
    outcomes: Mapping[str, Outcome],
    lines: Sequence[str],
    title: str,
) -> Table:
    """Return the table of verdicts or thresholds, those of a system together.

    `outcomes`, if any, are each system's overall outcome, which has a row of its own.
    """
    rows: list[list[str]] = []
    rules = set()
    for system in dict.fromkeys(decision.system for decision in decisions):
        rules.add(len(rows))
        of_system = [decision for decision in decisions if decision.system == system]
        rows += [[column.cell(decision) for column in columns] for decision in of_system]
        if system in outcomes:
            rows.append([system, "all", outcomes[system], *[""] * (len(columns) - 3)])
    header = [column.heading for column in columns]
    ruled_rows = frozenset(rules - {0} if outcomes else ())
    return Table(header, rows, lines, 3, ruled_rows=ruled_rows, title=[title])


def lowest_table(thresholds: Iterable[Threshold]) -> Table:
    """Return the table of the queries with the lowest scores, of each system and measure."""
    lows = [(threshold, low) for threshold in thresholds for low in threshold.lowest]
    rows = [
        [threshold.system, threshold.measure, low.query_id, format_number(low.score)]
        for threshold, low in lows
    ]
    rules = frozenset(i for i in range(1, len(rows)) if lows[i][0] is not lows[i - 1][0])
    notes = [
        explain_hint(threshold.measure, low.query_id, [threshold.system])
        for threshold, low in lows[:1]
    ]
    header, title = ["system", "measure", "query_id", "score"], ["The lowest scores"]
    return Table(header, rows, notes, 3, ruled_rows=rules, title=title)


def _columns(settings: GateSettings, failing_phrase: str) -> Iterator[Column]:
    """Yield the columns of the thresholds; a column's function takes a Threshold."""
    rule = (
        "PASS: mean >= at least. FAIL: mean < at least. Chance is not allowed for: --limit tests "
        "the mean's lower limit instead."
    )
    if settings.limit:
        rule = (
            "PASS: lower >= at least: a lower mean is ruled out."
            f"\nFAIL: upper < at least{failing_phrase}: a mean that high is ruled out. UNDECIDED: "
            "neither."
        )
    p_legend = "p: the chance of a mean at least as high, if the true mean is only `at least`."
    yield Column("system", lambda threshold: threshold.system)
    yield Column("measure", lambda threshold: threshold.measure)
    yield Column("verdict", str, rule)
    yield Column("mean", lambda threshold: format_number(threshold.mean))
    yield Column("at least", lambda threshold: f"{threshold.at_least:g}")
    yield Column("lower", lambda threshold: format_number(threshold.lower), is_shown=settings.limit)
    yield Column("upper", lambda threshold: format_number(threshold.upper), is_shown=settings.limit)
    yield Column("p", lambda threshold: format_p(threshold.p), p_legend, settings.limit)
