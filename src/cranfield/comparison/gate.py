"""Gate: whether systems are not worse than the baseline by more than a margin.

A test that finds no difference has not shown that there is none. Here the margin is stated first,
and a system passes if its mean difference is shown to lie above -margin (non-inferiority) or
between -margin and margin (equivalence by two one-sided tests: Schuirmann, Journal of
Pharmacokinetics and Biopharmaceutics 15, 1987).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Unpack, get_args

import numpy as np

from cranfield.comparison import options
from cranfield.comparison.alignment import Aligned, Missing, align, hash_of
from cranfield.comparison.flips import FLIPS, SEED, Flips, Paired, one_sided
from cranfield.comparison.power import topics
from cranfield.comparison.remarks import on_its_mean
from cranfield.comparison.shown import number, or_none, probability, signed
from cranfield.comparison.significance import Moments, student
from cranfield.errors import InputError, OptionError, one_of
from cranfield.evaluation import Judging, MeasuresLike
from cranfield.formats.scores import WideColumns
from cranfield.ranked import Bools, Floats, means
from cranfield.render import Shown, Table

GateTest = Literal["randomization", "t"]
Outcome = Literal["PASS", "UNDECIDED", "FAIL"]
_WORST_LAST: tuple[Outcome, ...] = get_args(Outcome)
_POWER = 0.8


@dataclass(frozen=True)
class Verdict:
    """What was found of one system under one measure.

    Differences are the system's minus the baseline's; where less is better, the other way round: so
    that above 0 is better. `lower` and `upper` are one-sided limits of the mean difference, each at
    level 1 - alpha, None where there is none. `p` is of a true difference beyond the margin: at
    most -margin, or, of equivalence, also at least margin; `p_worse` of one of at least 0. Both are
    None where there is no test. The limits and the p-values never contradict each other.

    >>> from cranfield import gate
    >>> runs = ["demo/bm25.run", "demo/dense.run"]
    >>> found = gate(("demo/qrels.txt", runs), "nDCG@10", baseline="bm25", margin=0.02)
    >>> verdict = found["dense", "nDCG@10"]
    >>> str(verdict), verdict.n, round(verdict.difference, 4), round(verdict.lower, 4)
    ('PASS, better', 40, 0.2131, 0.1526)
    """

    system: str
    measure: str
    outcome: Outcome
    better: bool  # shown to be above 0
    worse: bool  # shown to be below 0
    n: int  # queries
    mean: float
    baseline_mean: float
    difference: float
    sd: float | None  # of the queries' differences
    margin: float
    lower: float | None
    upper: float | None
    p: float | None
    p_worse: float | None
    queries_needed: int | None  # UNDECIDED: to decide, of a system as good as the baseline

    def __str__(self) -> str:
        if self.outcome == "PASS" and self.worse:
            return "PASS, worse by less than the margin"
        if self.outcome == "PASS" and self.better:
            return "PASS, better"
        return self.outcome


@dataclass(frozen=True, eq=False, repr=False)
class Gate(Shown):
    """The verdicts on every system under every measure, and how they were found.

    It shows itself as a table: printed, at the prompt, in a notebook. In a test, `assert
    found.outcome == "PASS", str(found)` says all of it where it fails.

    >>> from cranfield import gate
    >>> runs = ["demo/bm25.run", "demo/dense.run", "demo/tfidf.run"]
    >>> found = gate(("demo/qrels.txt", runs), "nDCG@10", baseline="bm25", margin=0.02)
    >>> found.outcome, found.outcomes
    ('FAIL', {'dense': 'PASS', 'tfidf': 'FAIL'})
    """

    verdicts: tuple[Verdict, ...]
    baseline: str
    notes: tuple[str, ...]
    recipe: Mapping[str, Any]

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """Return {system: outcome}: the worst of its measures (FAIL, UNDECIDED, PASS)."""
        found: dict[str, Outcome] = {}
        for one in self.verdicts:
            found[one.system] = _worst(found.get(one.system, "PASS"), one.outcome)
        return found

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of all systems."""
        return _worst(*self.outcomes.values())

    def __getitem__(self, key: tuple[str, str]) -> Verdict:
        for one in self.verdicts:
            if (one.system, one.measure) == key:
                return one
        known = ", ".join(str((one.system, one.measure)) for one in self.verdicts)
        raise KeyError(f"{key} was not judged; these were: {known}")

    def table(self) -> Table:
        """Return the verdicts as a table to be shown, a row for each system and measure."""
        several = len(self.verdicts) > len(self.outcomes)
        needed = any(one.queries_needed for one in self.verdicts)
        rows: list[list[str]] = []
        rules = set()
        for system, outcome in self.outcomes.items():
            rules.add(len(rows))
            rows += [_row(one, needed) for one in self.verdicts if one.system == system]
            if several:
                rows.append([system, "all", outcome, *[""] * (6 if needed else 5)])
        header = ["system", "measure", "verdict", "mean", "difference", "lower", "upper", "p"]
        header += ["queries needed"] if needed else []
        rules = rules - {0} if several else set()
        return Table(header, rows, self.notes, 3, rules=frozenset(rules), title=_title(self))

    def tables(self) -> list[Table]:
        """Return the table, as other results do theirs."""
        return [self.table()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with everything that is needed to repeat it."""
        return {
            "outcome": self.outcome,
            "outcomes": self.outcomes,
            "baseline": self.baseline,
            "verdicts": [vars(one) for one in self.verdicts],
            "notes": list(self.notes),
            "recipe": dict(self.recipe),
        }


def gate(
    data: Any,
    measures: MeasuresLike | None = None,
    *,
    baseline: str,
    margin: float | str,
    equivalence: bool = False,
    alpha: float = 0.05,
    test: GateTest = "randomization",
    flips: int = FLIPS,
    seed: int = SEED,
    missing: Missing | None = None,
    columns: WideColumns = "measures",
    **judging: Unpack[Judging],
) -> Gate:
    """Judge whether systems are not worse than the baseline by more than a margin.

    For each system and measure: PASS if the lower limit of the mean difference is above -margin;
    FAIL if not, and the upper limit is below 0: it is significantly worse; else UNDECIDED. With
    `equivalence`, PASS if both limits are within the margin; FAIL if the upper one is below -margin
    or the lower one above margin; else UNDECIDED. Every measure must pass at alpha, so that several
    measures need no correction (an intersection-union test: Berger, Technometrics 24, 1982).

    Args:
        data: `(qrels, runs)`, or scores of several systems; whatever `compare` takes.
        measures: which to judge by. [default: all scores that there are; nDCG@10 of runs]
        baseline: the name of the system that the others are held against.
        margin: by how much a system may be worse: a number above 0 in the unit of the measures, or
            "2%" of the baseline's mean, which is then taken as fixed.
        equivalence: also refuse a system that may be better by the margin.
        alpha: how likely a system exactly at the margin may be to pass, below 0.5.
        test: "randomization" flips the signs of the differences (all of them up to 20 queries);
            "t" is the paired t test.
        flips: how many flips to draw, above 20 queries.
        seed: what they are drawn from.
        missing: as `compare` takes it: "error", "zero" or "drop".
        columns: of a table of saved scores: whether they are "measures" or "systems".
        judging: options of `evaluate`, of qrels and runs.

    Raises:
        InputError: scores that are missing; no such baseline, or no system but it.
        OptionError: a margin of no size, an option with a value out of its range.

    >>> old = {"q1": 0.5, "q2": 0.4, "q3": 0.6, "q4": 0.3, "q5": 0.7}
    >>> new = {"q1": 0.5, "q2": 0.5, "q3": 0.6, "q4": 0.3, "q5": 0.7}
    >>> found = gate({"old": old, "new": new}, baseline="old", margin=0.01)
    >>> found.outcome, found.verdicts[0].p, found.verdicts[0].lower
    ('PASS', 0.03125, 0.0)

    """
    options.flag("equivalence", equivalence)
    alpha = options.share("alpha", alpha, below=0.5)
    one_of("test", test, get_args(GateTest))
    flips = options.whole("flips", flips, least=1)
    seed = options.whole("seed", seed, least=0)
    size, percent = _margin(margin)
    aligned = align(data, measures, missing=missing, columns=columns, **judging)
    if baseline not in aligned.names:
        raise InputError(
            f"there is no system {baseline!r:.80} to be the baseline",
            hint=f"There are {', '.join(aligned.names)}.",
        )
    if len(aligned.names) == 1:
        raise InputError(f"there is no system but the baseline, {baseline}")
    base = aligned.names.index(baseline)
    others = [i for i in range(len(aligned.names)) if i != base]
    turn = np.where(aligned.rising, 1.0, -1.0)[:, None, None]
    gains = turn * (aligned.values[:, :, others] - aligned.values[:, :, [base]])
    every = means(aligned.values, axis=1)  # (n_measures, n_systems)
    margins = np.full(len(every), size)
    if percent:
        margins *= np.abs(every[:, base])
        for measure, value in zip(aligned.measures, margins, strict=True):
            if value == 0:
                raise OptionError(
                    f"margin={margin!r}: the mean {measure} of {baseline} is 0; state a number"
                )
    drawn = Flips(len(aligned.query_ids), flips, seed)
    found = [
        _tested(of_measure, float(one), alpha, drawn if test == "randomization" else None)
        for of_measure, one in zip(gains, margins, strict=True)
    ]
    verdicts = [
        _verdict(
            found[m],
            i,
            aligned.names[s],
            aligned.measures[m],
            (float(every[m, s]), float(every[m, base])),
            _Asked(equivalence, alpha, test),
        )
        for i, s in enumerate(others)
        for m in range(len(aligned.measures))
    ]
    recipe: dict[str, Any] = {
        "margin": margin,
        "equivalence": equivalence,
        "alpha": alpha,
        "test": test,
        "flips": (drawn.looked_at if drawn.exact else flips) if test == "randomization" else None,
        "exact": drawn.exact if test == "randomization" else None,
        "seed": seed,
        "n_queries": len(aligned.query_ids),
        "queries_sha256": hash_of(aligned.query_ids),
        **aligned.recipe,
    }
    notes = _notes(verdicts, baseline, recipe, aligned)
    return Gate(tuple(verdicts), baseline, tuple(notes), recipe)


class _Asked(NamedTuple):
    """What is to be shown, and how."""

    equivalence: bool
    alpha: float
    test: GateTest

    def queries(self, margin: float, sd: float) -> int:
        """Return how many queries let a system as good as the baseline pass in _POWER of cases."""
        # Two one-sided tests both pass at least so often if each fails half as often.
        chance = (1 + _POWER) / 2 if self.equivalence else _POWER
        n = topics(margin=margin, sd=sd, power=chance, alpha=self.alpha)
        # With fewer, not even the only flip of as large a mean would be rare enough.
        return n if self.test == "t" else max(n, math.ceil(-math.log2(self.alpha)))


class _Tested(NamedTuple):
    """One measure's differences, held against -margin, 0 and margin."""

    moments: Moments
    margin: float
    lower: Floats  # one-sided limits of the mean: (n_systems,)
    upper: Floats
    above: Bools  # whether the mean is shown to be above -margin, 0, margin: (3, n_systems)
    below: Bools
    p_above: Floats  # of a mean that is not above them, NaN where there is no test
    p_below: Floats


def _tested(gains: Floats, margin: float, alpha: float, flips: Flips | None) -> _Tested:
    """Return what flips show, or the t test if there are none."""
    k = gains.shape[1]
    bounds = np.repeat([[-margin], [0.0], [margin]], k, axis=1)
    moments = Moments.of(Paired.of(gains))
    if moments.n < 2:
        none, no = np.full((3, k), np.nan), np.zeros((3, k), np.bool_)
        return _Tested(moments, margin, none[0], none[0], no, no, none, none)
    if flips is None:
        return _Tested(moments, margin, *_t(moments, bounds, alpha))
    lower, upper, p_above, p_below = one_sided(gains, bounds, flips, alpha)
    above, below = p_above <= alpha, p_below <= alpha
    return _Tested(moments, margin, lower, upper, above, below, p_above, p_below)


def _t(
    moments: Moments, bounds: Floats, alpha: float
) -> tuple[Floats, Floats, Bools, Bools, Floats, Floats]:
    """Return the limits of the mean, and how it stands to the bounds, by the t test.

    Without variance there is no p-value, and both limits are the mean.
    """
    from scipy.special import stdtr, stdtrit

    df, error = moments.n - 1, moments.error
    over = moments.mean - bounds
    over[np.abs(over) <= 1e-12 * (np.abs(moments.mean) + np.abs(bounds))] = 0.0
    t = np.where(error > 0, student(over, error), np.nan)
    far = float(stdtrit(df, 1 - alpha)) * error
    least = np.finfo(float).tiny  # no p-value is 0
    p_above, p_below = np.maximum(stdtr(df, -t), least), np.maximum(stdtr(df, t), least)
    above, below = over > far, -over > far
    # The limits, but for rounding.
    lower = np.where(above, np.inf, bounds).min(axis=0)
    upper = np.where(below, -np.inf, bounds).max(axis=0)
    lower = np.minimum(moments.mean - far, lower) + 0.0
    upper = np.maximum(moments.mean + far, upper) + 0.0
    return lower, upper, above, below, p_above, p_below


def _verdict(
    tested: _Tested,
    i: int,
    system: str,
    measure: str,
    means: tuple[float, float],
    asked: _Asked,
) -> Verdict:
    sd = or_none(tested.moments.sd[i])
    above, below = tested.above[:, i], tested.below[:, i]
    passed, failed, p = above[0], below[1], tested.p_above[0, i]
    if asked.equivalence:
        passed = passed and below[2]
        failed = below[0] or above[2]
        p = np.maximum(p, tested.p_below[2, i])
    outcome: Outcome = "PASS" if passed else "FAIL" if failed else "UNDECIDED"
    # Nothing is relevant, or nothing varies: a t test would be sure of two queries.
    nothing = not any(means) and not sd
    if nothing or (math.isnan(p) and 2.0**-tested.moments.n > asked.alpha):
        outcome = "UNDECIDED"
    return Verdict(
        system,
        measure,
        outcome,
        bool(above[1]),
        bool(below[1]),
        tested.moments.n,
        *means,
        float(tested.moments.mean[i]) + 0.0,
        sd,
        tested.margin,
        or_none(tested.lower[i]),
        or_none(tested.upper[i]),
        or_none(p),
        or_none(tested.p_below[1, i]),
        asked.queries(tested.margin, sd) if outcome == "UNDECIDED" and sd is not None else None,
    )


def _margin(margin: float | str) -> tuple[float, bool]:
    """Return the size of a margin, and whether it is a share of the baseline's mean."""
    said = margin.strip() if isinstance(margin, str) else margin
    percent = isinstance(said, str) and said.endswith("%")
    try:
        if isinstance(said, bool):
            raise ValueError
        size = float(said.removesuffix("%") if isinstance(said, str) else said)
    except (TypeError, ValueError):
        size = math.nan
    if not 0 < size < math.inf:
        raise OptionError(
            f"margin={margin!r:.40}: expected a number above 0, as in 0.01 or '2%': by how much a "
            "system may be worse before it matters"
        )
    return (size / 100 if percent else size), percent


def _worst(*outcomes: Outcome) -> Outcome:
    return max(outcomes, key=_WORST_LAST.index)


def _notes(
    verdicts: list[Verdict], baseline: str, recipe: Mapping[str, Any], aligned: Aligned
) -> list[str]:
    """Return what to say under the table."""
    said = [
        "PASS: lower > -margin. FAIL: not so, and upper < 0: significantly worse. UNDECIDED: else.",
        "p: of a difference of -margin or less.",
    ]
    if recipe["equivalence"]:
        said = [
            "PASS: lower > -margin and upper < margin. FAIL: upper < -margin or lower > margin.",
            "UNDECIDED: else. p: of a difference of margin or more, up or down.",
        ]
    turned = [m for m, up in zip(aligned.measures, aligned.rising, strict=True) if not up]
    if turned:
        said.append(f"{', '.join(turned)}: less is better; differences are turned: + is better.")
    if len(aligned.measures) > 1:
        said.append("all: every measure must pass; that needs no correction for their number.")
    undecided = [one for one in verdicts if one.queries_needed is not None]
    if undecided:
        said.append(f"queries needed: so that a system as good as {baseline} passes 4 times in 5.")
    near = [
        f"{one.system} ({one.measure})" for one in undecided if (one.queries_needed or 0) <= one.n
    ]
    if near:
        said.append(f"{', '.join(near)}: has as many, and may differ by about the margin.")
    if any(one.lower is None for one in verdicts):
        said.append(
            f"-: no limit: so few queries, or flips, cannot give a p of {recipe['alpha']:g} or "
            "less, whatever the differences."
        )
    empty = [
        f"{one.system} ({one.measure})"
        for one in verdicts
        if not (one.mean or one.baseline_mean or one.sd)
    ]
    if empty:
        said.append(
            f"Every score is 0, also the baseline's, which shows nothing: {', '.join(empty)}."
        )
    if any(one.p is None and one.lower is not None for one in verdicts):
        said.append("p -: differences that do not vary have no t test; their limits are the mean.")
    for measure in aligned.measures:
        said += on_its_mean(aligned.known(measure))
    return [*said, *aligned.notes]


def _title(found: Gate) -> list[str]:
    """Return what to say above the table: what is compared with what, and how."""
    recipe, n = found.recipe, found.recipe["n_queries"]
    how = "paired t test"
    if recipe["test"] == "randomization":
        drawn = f"{recipe['flips']:,} flips, seed {recipe['seed']}"
        how = f"randomization test, {'all flips' if recipe['exact'] else drawn}"
    level = f"one-sided {100 * (1 - recipe['alpha']):g}% limits"
    margins = {
        one.measure: f"{one.measure} {number(one.baseline_mean)}, margin {one.margin:.4g}"
        for one in found.verdicts
    }
    return [
        f"Differences from {found.baseline}, {n:,} {'query' if n == 1 else 'queries'}, {level}, "
        f"{how}",
        f"{found.baseline}: {'; '.join(margins.values())}",
    ]


def _row(one: Verdict, needed: bool) -> list[str]:
    numbers = [number(one.mean), *map(signed, (one.difference, one.lower, one.upper))]
    queries = [f"{one.queries_needed:,}" if one.queries_needed else ""] if needed else []
    return [one.system, one.measure, str(one), *numbers, probability(one.p), *queries]
