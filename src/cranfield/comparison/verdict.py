"""Verdicts: the result of `gate`, with its tables, rows, plain values and JUnit report."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self, get_args

import numpy as np

from cranfield.arrays.ranked import floored_log
from cranfield.comparison.decisions import Outcome
from cranfield.comparison.noninferiority import GateMethod
from cranfield.comparison.result import Scale
from cranfield.comparison.settings import GateSettings
from cranfield.comparison.thresholds import Threshold, lowest_table, thresholds_table
from cranfield.comparison.verdict_tables import (
    describe_failing,
    describe_method,
    gate_changes_table,
    headline,
    verdicts_table,
)
from cranfield.notes import Note
from cranfield.render.junit import Case, to_junit
from cranfield.render.junit import Outcome as CaseOutcome
from cranfield.render.numbers import format_query_count
from cranfield.render.shown import FORMS, Shown
from cranfield.render.table import Table

_WORST_LAST: tuple[Outcome, ...] = get_args(Outcome)


class GateFailed(AssertionError):  # noqa: N818 - what pytest prints before the verdict
    """A gate that did not pass: the text is its worst row in a line, and its tables.

    >>> from cranfield import GateFailed, gate
    >>> try:
    ...     found = gate({"new": {"q1": 0.5}}, at_least={"score": 0.75}).require()
    ... except GateFailed as failure:
    ...     print(str(failure).splitlines()[0])
    FAIL: new, score 0.5000, at least 0.75, 1 query
    """


@dataclass(frozen=True)
class Change:
    """A query on which a system's score differs from the baseline's.

    `difference` has its sign reversed where less is better: above 0 is better.
    """

    query_id: str
    baseline: float
    score: float
    difference: float


@dataclass(frozen=True)
class Verdict:
    """The verdict on one system under one measure.

    Differences are the system's minus the baseline's; where less is better (`turned`), the sign is
    reversed, so that above 0 is better. Where the mean over the queries is geometric, `scale` is
    "ratio": they are differences of natural logarithms, so that exp(difference) is the ratio of the
    two means; so are `sd`, `margin` and the limits. `changed` is the number of queries on which the
    two differ; `changes` are these queries, the worst first, or as many of them as the option
    `changes` says.

    `lower` and `upper` are one-sided limits of the mean difference, each at level 1 - alpha, None
    where there is no limit. `p` tests a true difference beyond the margin: at most -margin or, with
    `equivalence`, at least margin. `p_worse` tests a true difference of at least 0. Both are None
    where there is no test. The limits and the p-values never contradict each other. `method` is how
    the randomization test found them: "exact", by all possible flips; "drawn", by as many as were
    asked for; "t", by Student's t, where there are more than 7,000 queries and its limits agree.
    Of zeros and ones it is "tango", with any of these tests (Statistics in Medicine 17, 1998).

    >>> from cranfield import gate
    >>> runs = ["demo/bm25.run", "demo/dense.run"]
    >>> found = gate("demo/qrels.txt", runs, "nDCG@10", baseline="bm25", margin=0.02)
    >>> verdict = found["dense", "nDCG@10"]
    >>> str(verdict), verdict.n, round(verdict.difference, 4), round(verdict.lower, 4)
    ('PASS, better', 40, 0.2131, 0.1526)
    """

    system: str
    measure: str
    outcome: Outcome
    better: bool  # significantly above 0
    worse: bool  # significantly below 0
    n: int  # queries
    changed: int  # queries on which the two differ
    mean: float
    baseline_mean: float
    difference: float
    sd: float | None  # of the queries' differences
    margin: float
    lower: float | None
    upper: float | None
    p: float | None
    p_worse: float | None
    queries_needed: int | None  # if UNDECIDED: for a system as good as the baseline to pass
    detectable: float | None  # a true loss that is shown with a chance of 80%, given the sd
    turned: bool
    scale: Scale
    method: GateMethod | None  # how the limits were found; None for a test without flips
    changes: tuple[Change, ...]
    clusters: int | None = None  # of the queries, if whole clusters were tested
    changed_clusters: int | None = None  # those with a query on which the two differ
    design_effect: float | None = None  # variance of the difference / that of independent queries

    @property
    def changed_units(self) -> int:
        """How many queries, or clusters if these were tested, differ."""
        return self.changed if self.changed_clusters is None else self.changed_clusters

    def __str__(self) -> str:
        if self.outcome == "PASS" and not self.changed:
            return f"PASS, identical on {'all ' * (self.n > 1)}{format_query_count(self.n)}"
        if self.outcome == "PASS" and self.worse:
            return "PASS, worse by less than the margin"
        if self.outcome == "PASS" and self.better:
            return "PASS, better"
        return self.outcome

    def compared(self, change: Change) -> float:
        """Return a query's difference in the unit compared: of logarithms if `scale` is "ratio"."""
        if self.scale == "difference":
            return change.difference
        old_score, new_score = floored_log(np.array([change.baseline, change.score])).tolist()
        return float(old_score - new_score if self.turned else new_score - old_score)


@dataclass(frozen=True, eq=False, repr=False)
class Gate(Shown):
    """The verdicts on every system under every measure, and how they were found.

    It is true if every system passes. In a test, `found.require()` prints the tables if not.

    >>> from cranfield import gate
    >>> runs = ["demo/bm25.run", "demo/dense.run", "demo/tfidf.run"]
    >>> found = gate("demo/qrels.txt", runs, "nDCG@10", baseline="bm25", margin=0.02)
    >>> found.outcome, found.outcomes
    ('UNDECIDED', {'dense': 'PASS', 'tfidf': 'UNDECIDED'})
    """

    forms: ClassVar[Mapping[str, str]] = {**FORMS, "junit": ".xml"}
    header = (*(field.name for field in fields(Verdict) if field.name != "changes"), "at_least")

    verdicts: tuple[Verdict, ...]
    baseline: str | None  # None: there are only thresholds
    settings: GateSettings
    notes: tuple[Note, ...]
    recipe: Mapping[str, Any]
    thresholds: tuple[Threshold, ...] = ()

    @property
    def _decisions(self) -> "tuple[Verdict | Threshold, ...]":
        return (*self.verdicts, *self.thresholds)

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """Return {system: outcome}: the worst of its measures (FAIL, UNDECIDED, PASS)."""
        outcomes: dict[str, Outcome] = {}
        for decision in self._decisions:
            system, outcome = decision.system, decision.outcome
            outcomes[system] = _worst_outcome(outcomes.get(system, "PASS"), outcome)
        return outcomes

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of all systems."""
        return _worst_outcome(*self.outcomes.values())

    @property
    def passed(self) -> bool:
        """Whether every system passes; UNDECIDED counts as the option `undecided` says."""
        return self.takes(self.outcome) == "PASS"

    def __bool__(self) -> bool:
        """Return `passed`, so that `assert gate(...)` fails where the gate does."""
        return self.passed

    def require(self) -> Self:
        """Return the gate if it passed; raise GateFailed, with its tables, if not."""
        __tracebackhide__ = True  # pytest shows the line of the test
        if self.passed:
            return self
        raise GateFailed(str(self))

    def takes(self, outcome: Outcome) -> Outcome:
        """Return the outcome, with UNDECIDED counted as the option `undecided` says."""
        if outcome != "UNDECIDED" or self.settings.undecided is None:
            return outcome
        return "PASS" if self.settings.undecided == "pass" else "FAIL"

    def __getitem__(self, key: tuple[str, str]) -> Verdict:
        """Return the verdict on (system, measure)."""
        for verdict in self.verdicts:
            if (verdict.system, verdict.measure) == key:
                return verdict
        judged_keys = ", ".join(str((verdict.system, verdict.measure)) for verdict in self.verdicts)
        raise KeyError(f"{key} was not judged; these were: {judged_keys}")

    def tables(self) -> list[Table]:
        """Return a row for each system and measure; then the queries that changed, if kept.

        Above the first is the worst row in one line, which begins with the gate's outcome.
        Thresholds have their own table, before these queries, and their lowest scores after.
        """
        has_summary = len(self.verdicts) + len(self.thresholds) > len(self.outcomes)
        outcomes = self.outcomes if has_summary else {}
        tables = [verdicts_table(self)] if self.verdicts else []
        if self.thresholds:
            notes = () if tables else self.notes
            phrases = describe_method(self), describe_failing(self)
            tables.append(
                thresholds_table(self.thresholds, self.settings, *phrases, outcomes, notes)
            )
        worst_decisions = [
            decision for decision in self._decisions if decision.outcome == self.outcome
        ]
        lines_above = [*headline(self, worst_decisions), *tables[0].title]
        tables[0] = replace(tables[0], title=lines_above)
        worst_tables = [gate_changes_table(self), lowest_table(self.thresholds)]
        return [*tables, *(table for table in worst_tables if table.rows)]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each system and measure: its Verdict without the queries.

        The row of a threshold has `at_least`, and the fields that a Threshold shares with a
        Verdict.
        """
        return self._rows_as_dicts(
            [getattr(decision, name, None) for name in self.header] for decision in self._decisions
        )

    def to_junit(self, shown: "Callable[[Gate], str]" = str) -> str:
        """Return a JUnit report: a test case for each verdict and threshold of each system.

        UNDECIDED is a failure, or, with undecided="pass", skipped. `shown` makes the text of a
        case that fails.
        """
        return to_junit("cranfield gate", _list_cases(self, shown))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as for JSON, with what is needed to repeat it."""
        return {
            "outcome": self.outcome,
            "outcomes": self.outcomes,
            "baseline": self.baseline,
            "verdicts": [asdict(verdict) for verdict in self.verdicts],
            "thresholds": [
                {**asdict(threshold), "lowest": [low._asdict() for low in threshold.lowest]}
                for threshold in self.thresholds
            ],
            "notes": [note.to_dict() for note in self.notes],
            "recipe": dict(self.recipe),
        }


def _worst_outcome(*outcomes: Outcome) -> Outcome:
    return max(outcomes, key=_WORST_LAST.index)


def _list_cases(gate: Gate, format_gate: Callable[[Gate], str]) -> Iterator[Case]:
    """Yield a test case for each verdict and threshold, with the text of a gate of it alone."""
    row_names = [f"{decision.system} ({decision.measure})" for decision in gate._decisions]
    for decision, row_name in zip(gate._decisions, row_names, strict=True):
        other_sources = {*gate.outcomes, *row_names} - {decision.system, row_name}
        notes = tuple(note for note in gate.notes if note.source not in other_sources)
        if isinstance(decision, Verdict):
            case_name = decision.measure
            gate_of_one = replace(gate, verdicts=(decision,), thresholds=(), notes=notes)
        else:
            case_name = decision.stated
            gate_of_one = replace(gate, verdicts=(), thresholds=(decision,), notes=notes)
        text = format_gate(gate_of_one)
        outcome: CaseOutcome = "passed" if gate.takes(decision.outcome) == "PASS" else "failed"
        if outcome == "passed" and decision.outcome == "UNDECIDED":
            outcome = "skipped"
        warnings = "\n".join(str(note) for note in notes if note.is_grave)
        yield Case(decision.system, case_name, outcome, text.partition("\n")[0], text, warnings)
