"""Tables of the verdicts of a gate, and of the queries that changed."""

import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from cranfield.comparison.effects import FEW_UNITS
from cranfield.comparison.noninferiority import SCORE_METHODS
from cranfield.comparison.thresholds import Threshold, describe_score_methods, make_decisions_table
from cranfield.explanation.pointer import explain_hint
from cranfield.notes import lines_below_table
from cranfield.render.numbers import (
    format_count,
    format_number,
    format_p,
    format_percent,
    format_query_count,
    format_signed,
)
from cranfield.render.table import Column, Table, legend, select_shown

if TYPE_CHECKING:
    from cranfield.comparison.verdict import Gate, Verdict


def verdicts_table(gate: "Gate") -> Table:
    """Return the table of verdicts: a row for each measure of a system, and for all if several."""
    has_summary = len(gate.verdicts) > len(gate.outcomes) and not gate.thresholds
    columns = select_shown(_columns(gate))
    legend_lines = legend(columns)
    if has_summary:
        legend_lines.append(
            "all: every measure must pass; to pass needs no correction for their number."
        )
    legend_lines += describe_score_methods(gate.verdicts)
    if losses := list(_list_detectable_losses(gate)):
        size = "beyond the margin" if gate.settings.equivalence else "worse"
        line = f"Shown to be {size} with a chance of 80%, by the sd seen: a true difference of"
        legend_lines.append(f"{line} {', '.join(losses)}.")
    if any(_fails_alone(gate, verdict) for verdict in gate.verdicts):
        legend_lines.append("UNDECIDED where the limits alone say FAIL: not so by Holm's rule.")
    if any(verdict.lower is None and not verdict.changed for verdict in gate.verdicts):
        legend_lines.append("-: no query differs: there is nothing to test.")
    lines = [*lines_below_table(legend_lines, gate.notes), describe_method(gate)]
    outcomes, title = gate.outcomes if has_summary else {}, _describe_baseline(gate)
    return make_decisions_table(gate.verdicts, columns, outcomes, lines, title)


def _list_detectable_losses(gate: "Gate") -> Iterator[str]:
    """Yield for each measure the least and the greatest loss that is likely to be shown."""
    for measure in dict.fromkeys(verdict.measure for verdict in gate.verdicts):
        loss_texts = {
            loss: format_difference(verdict, -loss)
            for verdict in gate.verdicts
            if verdict.measure == measure and (loss := verdict.detectable) is not None
        }
        if loss_texts:
            ends = dict.fromkeys(loss_texts[find_end(loss_texts)] for find_end in (min, max))
            yield f"{' to '.join(ends)} ({measure})"


def _fails_alone(gate: "Gate", verdict: "Verdict") -> bool:
    """Tell whether a verdict is UNDECIDED, and would be FAIL if there were no other row."""
    lower, upper, margin = verdict.lower, verdict.upper, verdict.margin
    if verdict.outcome != "UNDECIDED" or lower is None or upper is None:
        return False
    if gate.settings.equivalence:
        return upper < -margin or lower > margin
    return upper < 0 and lower <= -margin


def _columns(gate: "Gate") -> Iterator[Column]:
    """Yield the columns of the verdicts; a column's function takes a Verdict."""
    verdict_legend, p_legend = _rules(gate)
    yield from _change_columns(gate, verdict_legend)
    yield from _difference_columns(gate, p_legend)


def _change_columns(gate: "Gate", verdict_legend: str) -> Iterator[Column]:
    """Yield the columns of each verdict, and of how many queries changed."""
    settings, verdicts = gate.settings, gate.verdicts
    in_clusters = any(verdict.clusters is not None for verdict in verdicts)
    has_few_changes = any(
        0 < row.changed_units < FEW_UNITS and row.method not in SCORE_METHODS for row in verdicts
    )
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
    changed_legend = "changed: queries on which the score differs."
    yield Column(
        "changed",
        lambda verdict: f"{verdict.changed:,}",
        changed_legend if in_clusters else f"{changed_legend} {rare_legend}".rstrip(),
    )
    yield Column(
        "clusters",
        lambda verdict: f"{verdict.changed_clusters:,}",
        f"clusters: those with a query that changed. {rare_legend}".rstrip(),
        in_clusters,
    )


def _difference_columns(gate: "Gate", p_legend: str) -> Iterator[Column]:
    """Yield the columns of the mean, of its difference from the baseline's, and of the limits."""
    verdicts = gate.verdicts

    def list_measures(is_shown: "Callable[[Verdict], bool]") -> str:
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
        lambda verdict: format_difference(verdict, verdict.difference),
        ratio_legend if ratio_measures else "",
    )
    has_all_limits = all(
        None not in (verdict.lower, verdict.upper) or not verdict.changed for verdict in verdicts
    )
    yield Column(
        "lower",
        lambda verdict: format_difference(verdict, verdict.lower),
        "" if has_all_limits else _no_limit(gate),
    )
    yield Column("upper", lambda verdict: format_difference(verdict, verdict.upper))
    if any(verdict.p is None and verdict.lower is not None for verdict in verdicts):
        p_legend += (
            "\np -: differences that are all equal have no t test; their limits are the mean."
        )
    yield Column("p", lambda verdict: format_p(verdict.p), p_legend)
    yield Column(
        "needed",
        lambda verdict: f"{verdict.queries_needed:,}" if verdict.queries_needed else "",
        f"needed: {_name_needed(gate)} with which a system as good as {gate.baseline} passes with "
        "a chance of 80%.",
        any(verdict.queries_needed is not None for verdict in verdicts),
    )


def gate_changes_table(gate: "Gate") -> Table:
    """Return the table of the queries that changed, the worst of each verdict first."""
    changes = [(verdict, change) for verdict in gate.verdicts for change in verdict.changes]
    rows = [
        [
            verdict.system,
            verdict.measure,
            change.query_id,
            format_number(change.baseline),
            format_number(change.score),
            format_difference(verdict, verdict.compared(change)),
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


def describe_failing(gate: "Gate") -> str:
    """Return by which rule rows of a gate fail together; no words for one row."""
    n_rows = gate.recipe["n_rows"]
    return f" by Holm's rule over {n_rows} rows" if n_rows > 1 else ""


def _rules(gate: "Gate") -> tuple[str, str]:
    """Return the legend of the verdicts, and the legend of p."""
    lower_bound, upper_bound, no_difference, true_quantity = "-margin", "margin", "0", "difference"
    if all(verdict.scale == "ratio" for verdict in gate.verdicts):
        margin = gate.verdicts[0].margin
        lower_bound, upper_bound = f"x{math.exp(-margin):.6g}", f"x{math.exp(margin):.6g}"
        no_difference, true_quantity = "x1", "ratio"
    by_holm = describe_failing(gate)
    if gate.settings.equivalence:
        outside_phrase = f"{lower_bound} or less, or {upper_bound} or more"
        return (
            f"PASS: lower > {lower_bound} and upper < {upper_bound}. FAIL: upper < {lower_bound} "
            f"or lower > {upper_bound}{by_holm}.\nUNDECIDED: neither.",
            f"p: the chance of a difference at most as large, if the true {true_quantity} is "
            f"{outside_phrase}.",
        )
    return (
        f"PASS: lower > {lower_bound}: a loss of the margin is ruled out. Better: lower > "
        f"{no_difference}."
        f"\nFAIL: upper < {no_difference}{by_holm}, and not PASS: significantly worse. UNDECIDED: "
        "neither.",
        f"p: the chance of a result at least as good, if the true {true_quantity} is {lower_bound} "
        "or less.",
    )


def _no_limit(gate: "Gate") -> str:
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


def headline(gate: "Gate", decisions: "Sequence[Verdict | Threshold]") -> list[str]:
    """Return the lines above all tables: the worst row, and what would decide if it is UNDECIDED.

    `decisions` are those with the gate's outcome. The worst is the one whose mean is least,
    compared with what it must reach; for an equivalence, whose difference is furthest from 0.
    """

    def find_excess(decision: "Verdict | Threshold") -> float:
        if isinstance(decision, Threshold):
            return decision.mean - decision.at_least
        is_two_sided = gate.settings.equivalence
        difference = -abs(decision.difference) if is_two_sided else decision.difference
        return difference + decision.margin

    worst = min(decisions, key=find_excess)
    outcome, counts_as = worst.outcome, gate.takes(worst.outcome)
    verdict_phrase = outcome if outcome == counts_as else f"{outcome}, which counts as {counts_as}"
    query_count = format_query_count(worst.n, gate.recipe["n_clusters"])
    reason = worst.reason if isinstance(worst, Threshold) else _describe_difference(gate, worst)
    line = f"{verdict_phrase}: {worst.system:.80}, {worst.measure} {reason}, {query_count}"
    n_rows_left = len(decisions) - 1
    if n_rows_left:
        line += f", and {format_count(n_rows_left, 'more row')} with {outcome}"
    return [line, *([_tell_what_decides(gate, worst)] if outcome == "UNDECIDED" else [])]


def _describe_difference(gate: "Gate", verdict: "Verdict") -> str:
    """Return the difference of a verdict with its limits, and the margin."""
    lower, upper = (format_difference(verdict, limit) for limit in (verdict.lower, verdict.upper))
    limits = f" [{lower}, {upper}]" if (lower, upper) != ("-", "-") else ""
    difference = format_difference(verdict, verdict.difference)
    sign = " (+ is better)" if verdict.turned and verdict.scale == "difference" else ""
    return f"{difference}{limits}{sign}, {_describe_margin(gate, verdict)}"


def _tell_what_decides(gate: "Gate", worst: "Verdict | Threshold") -> str:
    """Return the line that tells what would decide on the worst row, which is undecided."""
    n_needed, units, hint = worst.queries_needed, _name_needed(gate), ""
    if isinstance(worst, Threshold):
        verb = "passes" if worst.mean >= worst.at_least else "fails"
        condition = f"with a true mean of {format_number(worst.mean)}, {worst.system:.80} {verb}"
    else:
        condition = f"as good as {gate.baseline!s:.80}, {worst.system:.80} passes"
        if not worst.turned:  # at_least does not apply where less is better
            goal = shlex.quote(f"{worst.measure}=NUMBER")
            hint = f" Another way, --at-least {goal}, needs no baseline."
    if n_needed is None:
        return f"No number of {units} is known that would decide.{hint}"
    if n_needed <= gate.recipe.get("labelled", worst.n):
        return f"The true mean may be near the bound: more {units} may not decide.{hint}"
    return f"{n_needed:,} {units} would decide: {condition} with a chance of 80%.{hint}"


def _name_needed(gate: "Gate") -> str:
    """Return the word for what `queries_needed` counts."""
    return str(gate.recipe.get("needed_units", "queries"))


def _describe_baseline(gate: "Gate") -> str:
    """Return the line above the table of verdicts: the baseline's means, and the margins."""
    recipe, settings = gate.recipe, gate.settings
    margins = {}
    for verdict in gate.verdicts:
        baseline_phrase = (
            f"{verdict.measure} {format_number(verdict.baseline_mean)}, "
            f"{_describe_margin(gate, verdict)}"
        )
        if settings.gate_test.needs_range:
            low, high = recipe["ranges"][verdict.measure]
            baseline_phrase += f", scores from {low:g} to {high:g}"
        margins[verdict.measure] = baseline_phrase
    return f"{gate.baseline}: {'; '.join(margins.values())}"


def _describe_margin(gate: "Gate", verdict: "Verdict") -> str:
    """Return the margin of a verdict in words, with the share that was stated, if one was."""
    margin = f"{verdict.margin:.4g}"
    if verdict.scale == "ratio":
        margin = f"a ratio of {math.exp(-verdict.margin):g}"
    stated_margin = str(gate.recipe["margin"]).strip()
    return f"margin {margin}" + (f" ({stated_margin})" if stated_margin.endswith("%") else "")


def describe_method(gate: "Gate") -> str:
    """Return the line that names what was compared, the level of the limits, and the test."""
    settings = gate.settings
    test = settings.gate_test.title
    if settings.test == "t":
        test = "paired t test" if gate.verdicts else "t test"
    if gate.recipe.get("trained_again"):
        test += " that allows for other seeds"
    if settings.test == "randomization":
        draws = f"{settings.flips:,} flips, seed {settings.seed}"
        test = f"randomization test, {'all flips' if gate.recipe['exact'] else draws}"
        methods = {verdict.method for verdict in gate.verdicts}
        if methods | {threshold.method for threshold in gate.thresholds} == {"t"}:
            test = "randomization test, by Student's t"
    subject = f"Differences from {gate.baseline}" if gate.verdicts else "Means"
    query_count = format_query_count(gate.recipe["n_queries"], gate.recipe["n_clusters"])
    level = format_percent(1 - settings.alpha)
    n_candidates = settings.tried
    tried_phrase = f" for the best of {n_candidates:,} candidates" if n_candidates > 1 else ""
    return f"{subject}, {query_count}, one-sided {level} limits{tried_phrase}, {test}"


def format_difference(verdict: "Verdict", difference: float | None) -> str:
    """Return a difference as the tables show it: a ratio if means are geometric."""
    if verdict.scale == "difference" or difference is None:
        return format_signed(difference)
    ratio = math.exp(difference)
    return f"x{ratio:.4f}" if ratio >= 0.001 else f"x{ratio:.2g}"
