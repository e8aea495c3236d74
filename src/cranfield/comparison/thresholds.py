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
from cranfield.comparison.alignment import Aligned
from cranfield.comparison.effects import FEW, doubt_of, n_uncommon, skewness
from cranfield.comparison.margins import over_all, scores_range
from cranfield.comparison.noninferiority import GateMethod, Held, Outcome, Question, hold
from cranfield.comparison.remarks import on_its_mean
from cranfield.comparison.scale import ends_of, is_geometric, logs
from cranfield.comparison.score_columns import named_texts
from cranfield.comparison.settings import GateSettings
from cranfield.comparison.significance import Moments
from cranfield.errors import MeasureError, OptionError
from cranfield.explanation.pointer import how_to_explain
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.notes import Note, around
from cranfield.render.numbers import number, number_of, or_none, probability, queries_of
from cranfield.render.table import Column, Table, legend, wanted

WORST = 5  # queries to show of a system that did not pass


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
        limits = "" if self.lower is None else f", lower limit {number(self.lower)}"
        found = f"{self.measure} {number(self.mean)}{limits}"
        return f"{self.outcome}: {found}, must be at least {self.at_least:g}"


def by_measure(
    at_least: Mapping[str, float] | None, named: Callable[[str], Iterable[object]] = named_texts
) -> dict[str, float]:
    """Return {measure: number}; `named` returns the canonical measures of a text.

    Raises OptionError for a measure that is named twice, with two numbers.
    """
    found: dict[str, float] = {}
    for text, least in (at_least or {}).items():
        for measure in map(str, named(text)):
            if found.setdefault(measure, least) != least:
                raise OptionError(
                    f"at_least: {measure} has two numbers, {found[measure]:g} and {least:g}"
                )
    return found


def thresholds_of(
    aligned: Aligned, at_least: Mapping[str, float], systems: Sequence[str], settings: GateSettings
) -> tuple[list[Threshold], list[Note]]:
    """Return whether some systems reach the numbers, system after system; and notes on it.

    Raises OptionError for a number that no system can reach, or that every one does, and for a
    measure of which less is better.
    """
    at = [aligned.names.index(name) for name in systems]
    asked = [_asked(aligned, name, least, at, settings) for name, least in at_least.items()]
    held = [hold(one.question, settings) if settings.limit else None for one in asked]
    found = [
        _threshold(one, shown, i, system, settings, aligned.query_ids)
        for i, system in enumerate(systems)
        for one, shown in zip(asked, held, strict=True)
    ]
    notes = [note for one in asked for note in on_its_mean(one.known)]
    if settings.limit and not settings.gate_test.any_number:
        notes += [note for one in asked for note in _doubts(one, systems, found)]
    return found, notes


@dataclass(frozen=True, eq=False)
class _Asked:
    """One measure's scores, and the number that their means must reach."""

    measure: str
    known: Measure | None
    at_least: float
    scores: Floats  # (n_queries, n_systems)
    range: tuple[float, float]  # of a query's score, infinite if that is not known
    question: Question  # of the scores less the number, as they are compared

    @cached_property
    def others(self) -> Ints:
        """How many queries do not have a system's most common score: (n_systems,).

        Where clusters are tested, how many clusters have such a query.
        """
        return n_uncommon(self.scores, self.question.units)


def _asked(
    aligned: Aligned, measure: str, least: float, at: Sequence[int], settings: GateSettings
) -> _Asked:
    if measure not in aligned.measures:
        raise MeasureError(f"{measure} has texts as values, and no mean that could reach a number")
    known, scores = aligned.known(measure), aligned.column(measure)[:, at]
    low, high = scores_range(aligned, measure, settings.range, settings.gate_test) or (
        -math.inf,
        math.inf,
    )
    _refuse(aligned, measure, least, low, high)
    compared = logs(known, scores)
    number = float(logs(known, np.array([least]))[0])
    reach = settings.gate_test.reach_of_scores(*ends_of(known, low, high), number)
    added = aligned.added_to(measure, at)
    question = Question(compared - number, 0.0, reach=reach, units=aligned.units, added=added)
    return _Asked(measure, known, least, scores, (low, high), question)


def _refuse(aligned: Aligned, measure: str, least: float, low: float, high: float) -> None:
    """Raise OptionError for a number that every system reaches, or that no system can reach."""
    said = f"at_least={measure}={least:g}"
    if not aligned.rising(measure):
        raise OptionError(f"{said}: at_least does not apply to {measure}, of which less is better")
    if least > high:
        meant = f" Did you mean {least / 100:g}?" if high == 1 and 1 < least <= 100 else ""
        raise OptionError(f"{said}: {measure} is at most {high:g}: no system can reach it.{meant}")
    if least <= low:
        raise OptionError(f"{said}: {measure} is at least {low:g}: every system reaches it")


def _threshold(
    asked: _Asked,
    held: Held | None,
    i: int,
    system: str,
    settings: GateSettings,
    query_ids: Sequence[str],
) -> Threshold:
    mean, least = over_all(asked.known, asked.scores[:, i]), asked.at_least
    reached = mean >= least or math.isclose(mean, least, rel_tol=1e-12)
    outcome: Outcome = "PASS" if reached else "FAIL"
    lower = upper = p = None
    if held is not None:
        few = not settings.gate_test.any_number and asked.others[i] < FEW
        outcome = "PASS" if held.above[0, i] and not few else "UNDECIDED"
        if held.below[0, i] and not reached:
            outcome = "FAIL"
        ends = (_of_mean(asked, end[i]) for end in (held.lower, held.upper))
        lower, upper = (or_none(end) for end in ends)
        p = or_none(held.p_above[0, i])
    usual = 0 if outcome == "PASS" else WORST
    scores, kept = asked.scores[:, i], usual if settings.changes is None else settings.changes
    order = scores.argsort(kind="stable")
    lowest = tuple(Low(query_ids[q], float(scores[q])) for q in order[scores[order] < least][:kept])
    return Threshold(
        *(system, asked.measure, outcome, len(scores), mean, least, lower, upper, p),
        None if held is None else held.method[i],
        lowest,
    )


def _of_mean(asked: _Asked, end: float) -> float:
    """Return a limit of the mean, given that of the mean minus the number; infinity is kept."""
    if not math.isfinite(end):
        return end
    of_mean = asked.at_least * math.exp(end) if is_geometric(asked.known) else asked.at_least + end
    return min(max(of_mean, asked.range[0]), asked.range[1])


def _doubts(asked: _Asked, systems: Sequence[str], found: Iterable[Threshold]) -> Iterator[Note]:
    """Yield a note on each system whose limits may be wrong."""
    paired = asked.question.paired(asked.question.gains)
    skews = skewness(paired, Moments.of(paired)).tolist()
    of_this = [one for one in found if one.measure == asked.measure]
    for one, others, skew in zip(of_this, asked.others.tolist(), skews, strict=True):
        named = f"{one.system} ({one.measure})"
        if others < FEW:
            same = "all of" if others == 0 else f"all but {others} of"
            if asked.question.units.n_groups is not None and others:
                same = (
                    f"all queries but those of {number_of(others, asked.question.units.word)}, of"
                )
            said = (
                f"{same} {queries_of(one.n)} have the same score: neither the limits nor p hold, "
                "and rare low scores are not ruled out. The test 'bounded' is valid for any scores."
            )
            yield Note("few-scores", "warning", said, others, named)
        elif doubt_of(paired.n_units, others, skew) == "skewed" and skew < 0:
            units = asked.question.units.words
            said = (
                f"a few low scores (skewness {skew:+.1f}) make the lower limit too high; "
                f"{math.ceil(25 * skew**2):,} {units} would be enough."
            )
            yield Note("skewed", "warning", said, one.n, named)


# ---- tables -------------------------------------------------------------------------------------


def table_of(
    found: Sequence[Threshold],
    settings: GateSettings,
    how: str,
    outcomes: Mapping[str, Outcome],
    notes: Iterable[Note],
) -> Table:
    """Return a row for each system and measure.

    `how` names the level of the limits and the test. `outcomes`, if any, are each system's overall
    outcome: a row for each.
    """
    columns = wanted(_columns(settings))
    rows: list[list[str]] = []
    rules = set()
    for system in dict.fromkeys(one.system for one in found):
        rules.add(len(rows))
        rows += [[column.cell(one) for column in columns] for one in found if one.system == system]
        if system in outcomes:
            rows.append([system, "all", outcomes[system], *[""] * (len(columns) - 3)])
    said = legend(columns)
    if outcomes:
        said.append("all: everything that the system is judged by must pass.")
    title = f"Means of {queries_of(found[0].n)}, and what they must reach"
    return Table(
        [one.heading for one in columns],
        rows,
        around(said, notes),
        3,
        rules=frozenset(rules - {0} if outcomes else ()),
        title=[f"{title}, {how}" if settings.limit else title],
    )


def lowest_table(found: Iterable[Threshold]) -> Table:
    """Return the queries with the lowest scores, of each system and measure."""
    lows = [(one, low) for one in found for low in one.lowest]
    rows = [[one.system, one.measure, low.query_id, number(low.score)] for one, low in lows]
    rules = frozenset(i for i in range(1, len(rows)) if lows[i][0] is not lows[i - 1][0])
    notes = [how_to_explain(one.measure, low.query_id, [one.system]) for one, low in lows[:1]]
    header, title = ["system", "measure", "query_id", "score"], ["The lowest scores"]
    return Table(header, rows, notes, 3, rules=rules, title=title)


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
    yield Column("mean", lambda one: number(one.mean))
    yield Column("at least", lambda one: f"{one.at_least:g}")
    yield Column("lower", lambda one: number(one.lower), wanted=settings.limit)
    yield Column("upper", lambda one: number(one.upper), wanted=settings.limit)
    yield Column("p", lambda one: probability(one.p), of_p, settings.limit)
