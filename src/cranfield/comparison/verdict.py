"""Verdicts: the result of `gate`, with its tables, rows, plain values and JUnit report."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self, get_args

import numpy as np

from cranfield.arrays.ranked import floored_log
from cranfield.comparison.effects import FEW_UNITS
from cranfield.comparison.noninferiority import GateMethod, Outcome
from cranfield.comparison.result import Scale
from cranfield.comparison.settings import GateSettings
from cranfield.comparison.thresholds import Threshold, lowest_table, thresholds_table
from cranfield.errors import escape_unprintable
from cranfield.explanation.pointer import explain_hint
from cranfield.notes import Note, lines_below_table
from cranfield.render.junit import Case, to_junit
from cranfield.render.junit import Outcome as CaseOutcome
from cranfield.render.numbers import (
    format_number,
    format_p,
    format_percent,
    format_query_count,
    format_signed,
)
from cranfield.render.shown import FORMS, Shown
from cranfield.render.table import Column, Table, legend, select_shown

_WORST_LAST: tuple[Outcome, ...] = get_args(Outcome)


class GateFailed(AssertionError):  # noqa: N818 - what pytest prints before the verdict
    """A gate that did not pass: the text is the outcome of each system, and the gate's tables.

    >>> from cranfield import GateFailed, gate
    >>> try:
    ...     found = gate({"new": {"q1": 0.5}}, at_least={"score": 0.75}).require()
    ... except GateFailed as failure:
    ...     print(str(failure).splitlines()[0])
    new: FAIL
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
    ('FAIL', {'dense': 'PASS', 'tfidf': 'FAIL'})
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
        """Return the gate if it passed; raise GateFailed, with its verdicts and tables, if not."""
        __tracebackhide__ = True  # pytest shows the line of the test
        if self.passed:
            return self
        outcomes = (
            f"{escape_unprintable(name)}: {outcome}" for name, outcome in self.outcomes.items()
        )
        raise GateFailed(f"{', '.join(outcomes)}\n\n{self}")

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

        Thresholds have their own table, before these queries, and their lowest scores after.
        """
        has_summary = len(self.verdicts) + len(self.thresholds) > len(self.outcomes)
        outcomes = self.outcomes if has_summary else {}
        tables = [_verdicts_table(self)] if self.verdicts else []
        if self.thresholds:
            method_phrase, notes = ", ".join(_describe_method(self)), () if tables else self.notes
            tables.append(
                thresholds_table(self.thresholds, self.settings, method_phrase, outcomes, notes)
            )
        worst_tables = [_changes_table(self), lowest_table(self.thresholds)]
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
    for decision in gate._decisions:
        if isinstance(decision, Verdict):
            case_name = decision.measure
            difference = _format_difference(decision, decision.difference)
            lower = _format_difference(decision, decision.lower)
            message = (
                f"{decision}: {decision.measure} {format_number(decision.mean)}, difference "
                f"{difference} from {gate.baseline}, lower limit {lower}, margin "
                f"{gate.recipe['margin']}"
            )
            gate_of_one = replace(gate, verdicts=(decision,), thresholds=())
        else:
            case_name, message = decision.stated, decision.reason
            gate_of_one = replace(gate, verdicts=(), thresholds=(decision,))
        outcome: CaseOutcome = "passed" if gate.takes(decision.outcome) == "PASS" else "failed"
        if outcome == "passed" and decision.outcome == "UNDECIDED":
            outcome = "skipped"
        yield Case(decision.system, case_name, outcome, message, format_gate(gate_of_one))


# ---- tables -------------------------------------------------------------------------------------


def _verdicts_table(gate: Gate) -> Table:
    """Return the table of verdicts: a row for each measure of a system, and for all if several."""
    has_summary = len(gate.verdicts) > len(gate.outcomes) and not gate.thresholds
    columns = select_shown(_columns(gate))
    rows: list[list[str]] = []
    rules = set()
    for system, outcome in gate.outcomes.items():
        rules.add(len(rows))
        system_verdicts = [verdict for verdict in gate.verdicts if verdict.system == system]
        rows += [[column.cell(verdict) for column in columns] for verdict in system_verdicts]
        if has_summary:
            rows.append([system, "all", outcome, *[""] * (len(columns) - 3)])
    legend_lines = legend(columns)
    if has_summary:
        legend_lines.append(
            "all: every measure must pass; this needs no correction for their number."
        )
    if any(verdict.lower is None and not verdict.changed for verdict in gate.verdicts):
        legend_lines.append("-: no query differs: there is nothing to test.")
    return Table(
        [column.heading for column in columns],
        rows,
        lines_below_table(legend_lines, gate.notes),
        3,
        ruled_rows=frozenset(rules - {0} if has_summary else ()),
        title=_title(gate),
    )


def _columns(gate: Gate) -> Iterator[Column]:
    """Yield the columns of the verdicts; a column's function takes a Verdict."""
    verdict_legend, p_legend = _rules(gate)
    yield from _change_columns(gate, verdict_legend)
    yield from _difference_columns(gate, p_legend)


def _change_columns(gate: Gate, verdict_legend: str) -> Iterator[Column]:
    """Yield the columns of each verdict, and of how many queries changed."""
    settings, verdicts = gate.settings, gate.verdicts
    in_clusters = any(verdict.clusters is not None for verdict in verdicts)
    has_few_changes = any(0 < verdict.changed_units < FEW_UNITS for verdict in verdicts)
    rare_legend = ""
    if has_few_changes and not settings.gate_test.holds_always:
        units = "clusters" if in_clusters else "queries"
        mean = "a different" if settings.equivalence else "a lower"
        rare_legend = (
            f"Where fewer than {FEW_UNITS} {units} differ, no system with {mean} mean passes."
        )
    yield Column("system", lambda verdict: verdict.system)
    yield Column("measure", lambda verdict: verdict.measure)
    yield Column("verdict", str, verdict_legend)
    yield Column(
        "changed", lambda verdict: f"{verdict.changed:,}", "" if in_clusters else rare_legend
    )
    yield Column(
        "clusters",
        lambda verdict: f"{verdict.changed_clusters:,}",
        f"clusters: those with a query that changed. {rare_legend}".rstrip(),
        in_clusters,
    )


def _difference_columns(gate: Gate, p_legend: str) -> Iterator[Column]:
    """Yield the columns of the mean, of its difference from the baseline's, and of the limits."""
    verdicts = gate.verdicts

    def list_measures(is_shown: Callable[[Verdict], bool]) -> str:
        measures = (verdict.measure for verdict in verdicts if is_shown(verdict))
        return ", ".join(dict.fromkeys(measures))

    reversed_measures = list_measures(lambda verdict: verdict.turned)
    sign_legend = f"{reversed_measures}: less is better; signs are reversed: + is better."
    yield Column(
        "mean",
        lambda verdict: format_number(verdict.mean),
        sign_legend if reversed_measures else "",
    )
    ratio_measures = list_measures(lambda verdict: verdict.scale == "ratio")
    ratio_legend = (
        f"{ratio_measures}: a geometric mean; diff, lower and upper are ratios (x): above 1 is "
        "better."
    )
    if any(verdict.scale == "difference" for verdict in verdicts):
        ratio_legend += " Their bounds are ratios, too: the margin's, and 1 instead of 0."
    yield Column(
        "diff",
        lambda verdict: _format_difference(verdict, verdict.difference),
        ratio_legend if ratio_measures else "",
    )
    has_all_limits = all(
        None not in (verdict.lower, verdict.upper) or not verdict.changed for verdict in verdicts
    )
    yield Column(
        "lower",
        lambda verdict: _format_difference(verdict, verdict.lower),
        "" if has_all_limits else _no_limit(gate),
    )
    yield Column("upper", lambda verdict: _format_difference(verdict, verdict.upper))
    if any(verdict.p is None and verdict.lower is not None for verdict in verdicts):
        p_legend += (
            "\np -: differences that are all equal have no t test; their limits are the mean."
        )
    yield Column("p", lambda verdict: format_p(verdict.p), p_legend)
    yield Column(
        "needed",
        lambda verdict: f"{verdict.queries_needed:,}" if verdict.queries_needed else "",
        f"needed: queries with which a system as good as {gate.baseline} passes with a chance of "
        "80%.",
        any(verdict.queries_needed is not None for verdict in verdicts),
    )


def _changes_table(gate: Gate) -> Table:
    """Return the table of the queries that changed, the worst of each verdict first."""
    changes = [(verdict, change) for verdict in gate.verdicts for change in verdict.changes]
    rows = [
        [
            verdict.system,
            verdict.measure,
            change.query_id,
            format_number(change.baseline),
            format_number(change.score),
            _format_difference(verdict, verdict.compared(change)),
        ]
        for verdict, change in changes
    ]
    rules = frozenset(i for i in range(1, len(rows)) if changes[i][0] is not changes[i - 1][0])
    header = ["system", "measure", "query_id", str(gate.baseline), "score", "difference"]
    title = ["The queries that changed, the worst first"]
    notes = [
        explain_hint(verdict.measure, change.query_id, [str(gate.baseline), verdict.system])
        for verdict, change in changes[:1]
    ]
    return Table(header, rows, notes, 3, ruled_rows=rules, title=title)


def _rules(gate: Gate) -> tuple[str, str]:
    """Return the legend of the verdicts, and the legend of p."""
    lower_bound, upper_bound, no_difference, true_quantity = "-margin", "margin", "0", "difference"
    if all(verdict.scale == "ratio" for verdict in gate.verdicts):
        margin = gate.verdicts[0].margin
        lower_bound, upper_bound = f"x{math.exp(-margin):.6g}", f"x{math.exp(margin):.6g}"
        no_difference, true_quantity = "x1", "ratio"
    if gate.settings.equivalence:
        outside_phrase = f"{lower_bound} or less, or {upper_bound} or more"
        return (
            f"PASS: lower > {lower_bound} and upper < {upper_bound}. FAIL: upper < {lower_bound} "
            f"or lower > {upper_bound}.\nUNDECIDED: neither.",
            f"p: the chance of a difference at most as large, if the true {true_quantity} is "
            f"{outside_phrase}.",
        )
    return (
        f"PASS: lower > {lower_bound}: a loss of the margin is ruled out."
        f"\nFAIL: upper < {no_difference}, and not PASS: significantly worse. UNDECIDED: neither.",
        f"p: the chance of a result at least as good, if the true {true_quantity} is {lower_bound} "
        "or less.",
    )


def _no_limit(gate: Gate) -> str:
    """Return the legend of a missing limit: why there is none."""
    settings = gate.settings
    if settings.test == "t":
        return "-: no limit: too few differences, all of them equal, for a t test."
    n_clusters = gate.recipe["n_clusters"]
    n_units = n_clusters or gate.recipe["n_queries"]
    if settings.gate_test.least_p(settings, n_units) > settings.alpha:
        scarce_units = "queries" if n_clusters is None else "clusters"
        scarce_units += ", or flips," if settings.test == "randomization" else ""
        reason = f"-: no limit: too few {scarce_units} for a p of {settings.alpha:g} or less"
        return f"{reason}, for any differences."
    return (
        "-: no limit: the baseline's scores vary so much that no share of its mean is ruled out "
        "on this side."
    )


def _title(gate: Gate) -> list[str]:
    """Return the lines above the table: the baseline, the test, and each measure's margin."""
    recipe, settings = gate.recipe, gate.settings
    margin = str(recipe["margin"]).strip()
    query_counts = format_query_count(recipe["n_queries"], recipe["n_clusters"])
    share_phrase = f" ({margin})" if margin.endswith("%") else ""
    margins = {}
    for verdict in gate.verdicts:
        margin_phrase = f"{verdict.margin:.4g}"
        if verdict.scale == "ratio":
            margin_phrase = f"a ratio of {math.exp(-verdict.margin):g}"
        baseline_phrase = (
            f"{verdict.measure} {format_number(verdict.baseline_mean)}, margin "
            f"{margin_phrase}{share_phrase}"
        )
        if settings.gate_test.needs_range:
            low, high = recipe["ranges"][verdict.measure]
            baseline_phrase += f", scores from {low:g} to {high:g}"
        margins[verdict.measure] = baseline_phrase
    return [
        f"Differences from {gate.baseline}, {query_counts}, {', '.join(_describe_method(gate))}",
        f"{gate.baseline}: {'; '.join(margins.values())}",
    ]


def _describe_method(gate: Gate) -> tuple[str, str]:
    """Return the level of the limits, and the test."""
    settings = gate.settings
    test = settings.gate_test.title
    if settings.test == "t":
        test = "paired t test" if gate.verdicts else "t test"
    if gate.recipe.get("trained_again"):
        test += " that allows for other seeds"
    if settings.test == "randomization":
        draws = f"{settings.flips:,} flips, seed {settings.seed}"
        test = f"randomization test, {'all flips' if gate.recipe['exact'] else draws}"
        if {decision.method for decision in gate._decisions} == {"t"}:
            test = "randomization test, by Student's t"
    return f"one-sided {format_percent(1 - settings.alpha)} limits", test


def _format_difference(verdict: Verdict, difference: float | None) -> str:
    """Return a difference as the tables show it: a ratio if means are geometric."""
    if verdict.scale == "difference" or difference is None:
        return format_signed(difference)
    ratio = math.exp(difference)
    return f"x{ratio:.4f}" if ratio >= 0.001 else f"x{ratio:.2g}"
