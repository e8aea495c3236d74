"""Gate: whether systems are not worse than the baseline by more than a margin.

A test that finds no difference has not shown that there is none. Here the margin is stated first,
and a system passes if its mean difference is shown to lie above -margin (non-inferiority) or
between -margin and margin (equivalence by two one-sided tests: Schuirmann, Journal of
Pharmacokinetics and Biopharmaceutics 15, 1987).

A margin that is a share of the baseline's mean is held against each query in proportion to the
baseline's score: that a system keeps 98 % of the mean is to say that the mean of new - 0.98 * old
is above 0. So the baseline's mean is not taken as known. Limits are those of the ratio of the two
means (Fieller, JRSS-B 16, 1954), in the unit of the difference; the t test, where these do not
exist, takes those of new - 0.98 * old.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack, get_args

import numpy as np

from cranfield.comparison.alignment import Aligned, align, hash_of
from cranfield.comparison.bounded import BETS
from cranfield.comparison.doubts import FEW, doubt_of
from cranfield.comparison.effects import skewness
from cranfield.comparison.flips import Flips, Paired
from cranfield.comparison.geometric import is_geometric
from cranfield.comparison.margins import (
    Contrast,
    Margin,
    contrast_of,
    exceeds,
    over_all,
)
from cranfield.comparison.noninferiority import (
    Asked,
    Held,
    Outcome,
    hold,
    outcome_of,
)
from cranfield.comparison.ranges import cut
from cranfield.comparison.remarks import on_its_mean
from cranfield.comparison.result import Scale
from cranfield.comparison.settings import (
    Alignment,
    AlignmentOptions,
    GateSettings,
    GateSettingsOptions,
)
from cranfield.comparison.shown import number, or_none, probability, signed
from cranfield.comparison.significance import TIE, Moments
from cranfield.errors import InputError
from cranfield.evaluation import MeasuresLike
from cranfield.judging import Judging, JudgingOptions
from cranfield.notes import Note, lines_of, warn_of
from cranfield.options import refuse_others, takes
from cranfield.ranked import floored_log
from cranfield.render import Shown, Table

_WORST_LAST: tuple[Outcome, ...] = get_args(Outcome)
_WORST = 5  # queries to show of a system that did not pass


@dataclass(frozen=True)
class Change:
    """A query on which a system scores otherwise than the baseline.

    `difference` is turned where less is better: above 0 is better.
    """

    query_id: str
    baseline: float
    score: float
    difference: float


@dataclass(frozen=True)
class Verdict:
    """What was found of one system under one measure.

    Differences are the system's minus the baseline's; where less is better (`turned`), the other
    way round: so that above 0 is better. Where the mean over the queries is geometric, `scale` is
    "ratio": they are differences of natural logarithms, so that exp(difference) is the ratio of the
    two means; so are `sd`, `margin` and the limits. `changed` is the number of queries on
    which the system scores otherwise; `changes` are these queries, the worst first: all of them if
    they are fewer than 10, else some.

    `lower` and `upper` are one-sided limits of the mean difference, each at level 1 - alpha, None
    where there is none. `p` tests a true difference beyond the margin: at most -margin, or, of
    equivalence, also at least margin; `p_worse` of one of at least 0. Both are None where there is
    no test. The limits and the p-values never contradict each other.

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
    better: bool  # shown to be above 0
    worse: bool  # shown to be below 0
    n: int  # queries
    changed: int  # of these
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
    turned: bool
    scale: Scale
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        if self.outcome == "PASS" and not self.changed:
            return f"PASS, identical on {_queries(self.n, 'all ')}"
        if self.outcome == "PASS" and self.worse:
            return "PASS, worse by less than the margin"
        if self.outcome == "PASS" and self.better:
            return "PASS, better"
        return self.outcome

    def compared(self, change: Change) -> float:
        """Return a query's difference as it is compared: of logarithms if `scale` is "ratio"."""
        if self.scale == "difference":
            return change.difference
        old, new = floored_log(np.array([change.baseline, change.score])).tolist()
        return float(old - new if self.turned else new - old)

    def row(self) -> dict[str, Any]:
        """Return all but the queries, by name: a row of a table for programs."""
        return {name: value for name, value in vars(self).items() if name != "changes"}


@dataclass(frozen=True, eq=False, repr=False)
class Gate(Shown):
    """The verdicts on every system under every measure, and how they were found.

    It shows itself as a table: printed, at the prompt, in a notebook. In a test, `assert
    found.outcome == "PASS", str(found)` says all of it where it fails.

    >>> from cranfield import gate
    >>> runs = ["demo/bm25.run", "demo/dense.run", "demo/tfidf.run"]
    >>> found = gate("demo/qrels.txt", runs, "nDCG@10", baseline="bm25", margin=0.02)
    >>> found.outcome, found.outcomes
    ('FAIL', {'dense': 'PASS', 'tfidf': 'FAIL'})
    """

    verdicts: tuple[Verdict, ...]
    baseline: str
    notes: tuple[Note, ...]
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
                rows.append([system, "all", outcome, *[""] * (7 if needed else 6)])
        header = ["system", "measure", "verdict", "changed", "mean", "difference"]
        header += ["lower", "upper", "p", *(["needed"] if needed else [])]
        rules = rules - {0} if several else set()
        below = [*lines_of(self.notes), *_legend(self)]
        return Table(header, rows, below, 3, rules=frozenset(rules), title=_title(self))

    def tables(self) -> list[Table]:
        """Return the verdicts, and the queries that changed, if there are any to be shown."""
        rows: list[list[str]] = []
        rules = set()
        for one in self.verdicts:
            rules.add(len(rows))
            for change in one.changes:
                scores = number(change.baseline), number(change.score)
                row = [*(one.system, one.measure, change.query_id), *scores]
                rows.append([*row, _shown(one, one.compared(change))])
        if not rows:
            return [self.table()]
        header = ["system", "measure", "query_id", self.baseline, "score", "difference"]
        rules -= {0, len(rows)}
        title = ["The queries that changed, the worst first"]
        return [self.table(), Table(header, rows, [], 3, rules=frozenset(rules), title=title)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with everything that is needed to repeat it."""
        return {
            "outcome": self.outcome,
            "outcomes": self.outcomes,
            "baseline": self.baseline,
            "verdicts": [asdict(one) for one in self.verdicts],
            "notes": [one.to_dict() for one in self.notes],
            "recipe": dict(self.recipe),
        }


class GateOptions(GateSettingsOptions, AlignmentOptions, JudgingOptions, total=False):
    """The options of `gate`, as keywords."""


@takes(GateSettings, Alignment, Judging, without=("queries",))
def gate(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    *,
    baseline: str,
    margin: float | str,
    **options: Unpack[GateOptions],
) -> Gate:
    """Judge whether systems are not worse than the baseline by more than a margin.

    For each system and measure: PASS if the lower limit of the mean difference is above -margin;
    FAIL if not, and the upper limit is below 0: it is significantly worse; else UNDECIDED. With
    `equivalence`, PASS if both limits are within the margin; FAIL if the upper one is below -margin
    or the lower one above margin; else UNDECIDED. Every measure must pass at alpha, so that several
    measures need no correction (an intersection-union test: Berger, Technometrics 24, 1982).

    Limits of a mean do not hold where few queries differ: a rare, large loss may not be among those
    that were sampled. If fewer than 10 queries differ, a system whose mean is lower (with
    `equivalence`: is another) is UNDECIDED at best; if none does, it passes, and the verdict says
    that the two are identical.
    The test "bounded" is valid for any number of queries, and needs none of this.

    A measure whose mean over the queries is geometric (GMAP) is judged by the ratio of the means.

    Args:
        qrels: judgments, as `evaluate` takes them; or, without runs, scores of several systems, as
            `compare` takes them.
        runs: several runs, as `evaluate` takes them. None: the first argument holds scores.
        measures: which to judge by. [default: all scores that there are; nDCG@10 of runs]
        baseline: the name of the system that the others are held against.
        margin: by how much a system may be worse: a number above 0 in the unit of the measures, or
            "2%" of the baseline's mean.
        **options: each option of `GateSettings` and `Alignment`; of judgments and runs, of
            `Judging`, too.

    Returns:
        A Gate: a verdict for each system and measure, the notes, and the recipe that repeats it.

    Warns:
        CranfieldWarning: once, if a verdict may not mean what it seems to: few queries differ, a
            few large differences decide, the margin is too wide, or the baseline cannot be worse.
            `found.notes` says so, too.

    Raises:
        InputError: scores that are missing, or out of the range; no such baseline, or no system
            but it.
        OptionError: a margin of no size, or larger than anything that can be lost; an option with
            a value out of its range; the test "bounded" of a measure whose range is not known.

    >>> old = {f"q{i}": 0.5 for i in range(15)}
    >>> new = {f"q{i}": 0.5 + 0.01 * (i % 3) for i in range(15)}
    >>> found = gate({"old": old, "new": new}, baseline="old", margin=0.01)
    >>> str(found.verdicts[0]), found.verdicts[0].changed, found.verdicts[0].p == 2**-15
    ('PASS, better', 10, True)

    """
    refuse_others(gate, options)
    settings, stated = GateSettings.of(options), Margin.of(margin)
    aligned = align(qrels, runs, measures, Alignment.of(options), Judging.of(options))
    if baseline not in aligned.names:
        raise _no_baseline(baseline, aligned.names)
    others = [name for name in aligned.names if name != baseline]
    if not others:
        raise InputError(f"there is no system but the baseline, {baseline}")
    drawn = None
    if settings.test == "randomization":
        drawn = Flips(len(aligned.query_ids), settings.flips, settings.seed)
    asked = Asked(settings.equivalence, settings.alpha, settings.test, drawn)
    contrasts = [
        contrast_of(aligned, measure, baseline, stated, settings.range, settings.test)
        for measure in aligned.measures
    ]
    tested = [hold(one.question, asked) for one in contrasts]
    verdicts = [
        _verdict(of_measure, contrast, i, system, asked, aligned.query_ids, settings.changes)
        for i, system in enumerate(others)
        for of_measure, contrast in zip(tested, contrasts, strict=True)
    ]
    notes = tuple(_notes(verdicts, baseline, contrasts, asked, aligned))
    warn_of(notes)
    recipe = {"margin": margin, **_recipe(settings, drawn, contrasts), **_data(aligned)}
    return Gate(tuple(verdicts), baseline, notes, recipe)


def _recipe(
    settings: GateSettings, drawn: Flips | None, contrasts: Sequence[Contrast]
) -> dict[str, Any]:
    """Return how the verdicts were found."""
    return {
        "equivalence": settings.equivalence,
        "alpha": settings.alpha,
        "test": settings.test,
        "flips": (drawn.looked_at if drawn.exact else settings.flips) if drawn else None,
        "exact": drawn.exact if drawn else None,
        "seed": settings.seed,
        "ranges": {one.measure: list(one.range) for one in contrasts if one.range is not None},
        "bets": BETS if settings.test == "bounded" else None,
    }


def _data(aligned: Aligned) -> dict[str, Any]:
    """Return what the verdicts are about: the queries, and where the scores come from."""
    ids = aligned.query_ids
    return {"n_queries": len(ids), "queries_sha256": hash_of(ids), **aligned.recipe}


def _no_baseline(baseline: str, names: Sequence[str]) -> InputError:
    """Return the error of a baseline that is not among the systems."""
    hint = f"The systems are {', '.join(names)}."
    name = str(baseline)
    if os.path.splitext(name)[1] or os.path.dirname(name):  # a file's name
        return InputError(
            "cannot be read: no such file, and no system of this name", source=name, hint=hint
        )
    return InputError(f"there is no system {name!r:.80} to be the baseline", hint=hint)


# ---- what is found ------------------------------------------------------------------------------


def _verdict(
    tested: Held,
    contrast: Contrast,
    i: int,
    system: str,
    asked: Asked,
    query_ids: Sequence[str],
    changes: int | None,
) -> Verdict:
    n, changed, sd = tested.moments.n, int(tested.changed[i]), or_none(tested.moments.sd[i])
    margin = contrast.question.margin
    outcome = outcome_of(tested, i, asked)
    # A margin may be larger only where the baseline cannot be worse.
    most = math.inf if contrast.most is None else max(contrast.most, margin)
    lower, upper = cut(tested.lower[[i]], tested.upper[[i]], -most, most)
    p = tested.p_above[0, i]
    if asked.equivalence:
        p = np.maximum(p, tested.p_below[2, i])
    # Where nothing differs, only the bounded test has something to say.
    silent = not changed and asked.test != "bounded"
    needed = None
    if outcome == "UNDECIDED" and sd is not None and asked.test != "bounded" and changed:
        # With fewer than so many, too few would differ.
        differing = math.ceil(FEW * n / changed) if changed < FEW else 0
        needed = max(asked.queries(margin, sd), differing)
    return Verdict(
        system=system,
        measure=contrast.measure,
        outcome=outcome,
        better=bool(tested.above[1, i]) and not silent,
        worse=bool(tested.below[1, i]) and not silent,
        n=n,
        changed=changed,
        mean=over_all(contrast.known, contrast.scores[:, i]),
        baseline_mean=contrast.base_mean,
        difference=float(tested.moments.mean[i]) + 0.0,
        sd=sd,
        margin=margin,
        lower=None if silent else or_none(lower[0]),
        upper=None if silent else or_none(upper[0]),
        p=None if silent else or_none(p),
        p_worse=None if silent else or_none(tested.p_below[1, i]),
        queries_needed=needed,
        turned=not contrast.rising,
        scale="ratio" if is_geometric(contrast.known) else "difference",
        changes=_changes(contrast, i, query_ids, _kept(outcome, changed, changes)),
    )


def _kept(outcome: Outcome, changed: int, changes: int | None) -> int:
    """Return how many of the queries that changed to keep."""
    if changed < FEW:
        return changed
    return changes if changes is not None else 0 if outcome == "PASS" else _WORST


def _changes(contrast: Contrast, i: int, query_ids: Sequence[str], most: int) -> tuple[Change, ...]:
    """Return the queries on which a system differs, the worst first."""
    gains = contrast.question.gains[:, i]
    order = np.argsort(gains, kind="stable")
    order = order[np.abs(gains[order]) > TIE][:most]
    return tuple(
        Change(
            query_ids[q],
            float(contrast.base[q]),
            float(contrast.scores[q, i]),
            float(contrast.scores[q, i] - contrast.base[q]) * (1 if contrast.rising else -1),
        )
        for q in order.tolist()
    )


def _worst(*outcomes: Outcome) -> Outcome:
    return max(outcomes, key=_WORST_LAST.index)


# ---- notes and legends --------------------------------------------------------------------------


def _notes(
    verdicts: Sequence[Verdict],
    baseline: str,
    contrasts: Sequence[Contrast],
    asked: Asked,
    aligned: Aligned,
) -> Iterator[Note]:
    """Yield what to know of the verdicts, and of the data."""
    by_measure = {one.measure: one for one in contrasts}
    for one in verdicts:
        yield from _notes_on(one, by_measure[one.measure], asked)
    for contrast in contrasts:
        of_this = [one for one in verdicts if one.measure == contrast.measure]
        if asked.test != "bounded":
            yield from _skewed(contrast, of_this)
        value, size, stated = contrast.base_mean, contrast.margin.size, contrast.margin.stated
        some = min(contrast.base.min(), contrast.scores.min()) < 0
        unknown = contrast.range is None and contrast.rising and not some
        if contrast.at_worst:
            if any(one.changed for one in of_this):
                yield Note(
                    "baseline-at-worst",
                    "warning",
                    f"every {contrast.measure} is {contrast.base[0]:g}, and none can "
                    "be worse: no system can fail.",
                    source=baseline,
                )
        elif unknown and not contrast.margin.percent and exceeds(size, value):
            yield Note(
                "wide-margin",
                "warning",
                f"{contrast.measure} of {baseline} is {value:.4g}: if no score can be below 0, a "
                f"margin of {stated} lets every system pass{contrast.margin.meant or '.'}",
            )
        if not is_geometric(contrast.known):
            yield from on_its_mean(contrast.known)
    yield from aligned.notes


def _notes_on(one: Verdict, contrast: Contrast, asked: Asked) -> Iterator[Note]:
    """Yield what to know of one verdict."""
    named = f"{one.system} ({one.measure})"
    if not one.changed:
        if contrast.at_worst:
            yield Note(
                "nothing-shown",
                "warning",
                f"every score is {contrast.base[0]:g}, also the baseline's: it passes, which shows "
                "nothing. Are these the judgments of these runs?",
                one.n,
                named,
            )
            return
        said = f"identical on {_queries(one.n, 'all ')}."
        most = contrast.most
        if most is not None and most > one.margin and asked.test != "bounded":
            needed = asked.unchanged(one.margin, most)
            are = "are that many" if one.n >= needed else f"are {one.n:,}"
            lose = f"lose as much as {most:.4g}"
            loss = f"a mean loss of {one.margin:.4g}"
            if one.scale == "ratio":
                lose = f"fall to one in {math.exp(most):,.0f}"
                loss = f"a ratio of {math.exp(-one.margin):.4g}"
            said += (
                f" If a query may {lose}, it takes {needed:,} queries without a change to rule out "
                f"{loss}; these {are}."
            )
        yield Note("identical", "info", said, one.n, named)
    elif one.changed < FEW and asked.test != "bounded":
        verb = "differs" if one.changed == 1 else "differ"
        rare = "difference" if asked.equivalence else "loss"
        yield Note(
            "few-changes",
            "warning",
            f"only {one.changed} of {_queries(one.n)} {verb}: the limits do not hold, and "
            f"a rare, large {rare} is not ruled out.",
            one.changed,
            named,
        )
    if one.queries_needed is not None and one.queries_needed <= one.n:
        yield Note(
            "near-margin",
            "info",
            "has as many queries as needed, and may differ by about the margin.",
            one.n,
            named,
        )


def _skewed(contrast: Contrast, verdicts: Sequence[Verdict]) -> Iterator[Note]:
    """Yield a note on systems whose differences are skewed for so many queries.

    Limits of a mean hold well for n > 25 G^2, G being the skewness: see `doubt_of`.
    """
    question = contrast.question
    weights = np.ones(len(contrast.base)) if question.weights is None else question.weights
    paired = Paired.of(question.gains + question.margin * weights[:, None])
    skews = skewness(paired, Moments.of(paired))
    for one, skew in zip(verdicts, skews.tolist(), strict=True):
        if doubt_of(one.n, one.changed, skew) == "skewed":
            yield Note(
                "skewed",
                "warning",
                f"a few large differences to one side (skewness {skew:+.1f}) make the limits too "
                f"narrow; {math.ceil(25 * skew**2):,} queries would do.",
                one.n,
                f"{one.system} ({one.measure})",
            )


def _legend(found: Gate) -> list[str]:
    """Return what the columns mean."""
    recipe, verdicts = found.recipe, found.verdicts
    said = _rule(found)
    if any(0 < one.changed < FEW for one in verdicts) and recipe["test"] != "bounded":
        such = "another" if recipe["equivalence"] else "a lower"
        said.append(f"Where fewer than {FEW} queries differ, no system with {such} mean passes.")
    turned = list(dict.fromkeys(one.measure for one in verdicts if one.turned))
    if turned:
        said.append(f"{', '.join(turned)}: less is better; differences are turned: + is better.")
    ratios = list(dict.fromkeys(one.measure for one in verdicts if one.scale == "ratio"))
    if ratios:
        said.append(
            f"{', '.join(ratios)}: a geometric mean; difference, lower and upper are ratios (x): "
            "above 1 is better."
        )
    if ratios and any(one.scale == "difference" for one in verdicts):
        said[-1] += " Their bounds are ratios, too: that of the margin, and 1 in the place of 0."
    if len({one.measure for one in verdicts}) > 1:
        said.append("all: every measure must pass; that needs no correction for their number.")
    if any(one.queries_needed is not None for one in verdicts):
        said.append(
            f"needed: queries, so that a system as good as {found.baseline} passes 4 times in 5."
        )
    if any(None in (one.lower, one.upper) and one.changed for one in verdicts):
        said.append(_no_limit(recipe))
    if any(one.lower is None and not one.changed for one in verdicts):
        said.append("-: no query differs, so that there is nothing to test.")
    if any(one.p is None and one.lower is not None for one in verdicts):
        said.append("p -: differences that do not vary have no t test; their limits are the mean.")
    return said


def _rule(found: Gate) -> list[str]:
    """Return when a system passes and fails, and what p is."""
    least, most, none, true = "-margin", "margin", "0", "difference"
    if all(one.scale == "ratio" for one in found.verdicts):
        margin = found.verdicts[0].margin
        least, most = f"x{math.exp(-margin):.6g}", f"x{math.exp(margin):.6g}"
        none, true = "x1", "ratio"
    if found.recipe["equivalence"]:
        beyond = f"{least} or less, or {most} or more"
        return [
            f"PASS: lower > {least} and upper < {most}. FAIL: upper < {least} or lower > {most}.",
            "UNDECIDED: neither.",
            f"p: how likely so small a difference is at most, if the true {true} is {beyond}.",
        ]
    return [
        f"PASS: lower > {least}: a loss of the margin is ruled out.",
        f"FAIL: not so, and upper < {none}: significantly worse. UNDECIDED: neither.",
        f"p: how likely so good a result is at most, if the true {true} is {least} or less.",
    ]


def _no_limit(recipe: Mapping[str, Any]) -> str:
    """Return why a limit is missing."""
    n, test = recipe["n_queries"], recipe["test"]
    if test == "t":
        return "-: no limit: so few differences, which do not vary, show nothing to a t test."
    drawn = Flips(n, recipe["flips"]) if test == "randomization" else None
    asked = Asked(recipe["equivalence"], recipe["alpha"], test, drawn)
    if asked.least(n) > asked.alpha:
        few = "queries, or flips," if drawn else "queries"
        return (
            f"-: no limit: so few {few} cannot give a p of {recipe['alpha']:g} or less, whatever "
            "the differences."
        )
    return (
        "-: no limit: the baseline's scores vary so much that no share of its mean, however "
        "different, is ruled out on this side."
    )


def _title(found: Gate) -> list[str]:
    """Return what to say above the table: what is compared with what, and how."""
    recipe, n = found.recipe, found.recipe["n_queries"]
    how = {"t": "paired t test", "bounded": "bounded test"}.get(recipe["test"], "")
    if recipe["test"] == "randomization":
        drawn = f"{recipe['flips']:,} flips, seed {recipe['seed']}"
        how = f"randomization test, {'all flips' if recipe['exact'] else drawn}"
    level = f"one-sided {100 * (1 - recipe['alpha']):g}% limits"
    margins = {}
    for one in found.verdicts:
        share = str(recipe["margin"]).strip() if str(recipe["margin"]).strip()[-1] == "%" else ""
        size = (
            f"a ratio of {math.exp(-one.margin):g}" if one.scale == "ratio" else f"{one.margin:.4g}"
        )
        said = f"{one.measure} {number(one.baseline_mean)}, margin {size}"
        said += f" ({share})" if share else ""
        if recipe["test"] == "bounded":
            low, high = recipe["ranges"][one.measure]
            said += f", scores from {low:g} to {high:g}"
        margins[one.measure] = said
    return [
        f"Differences from {found.baseline}, {_queries(n)}, {level}, {how}",
        f"{found.baseline}: {'; '.join(margins.values())}",
    ]


def _shown(one: Verdict, difference: float | None) -> str:
    """Return a difference as the tables show it: a ratio of geometric means and their scores."""
    if one.scale == "difference" or difference is None:
        return signed(difference)
    ratio = math.exp(difference)
    return f"x{ratio:.4f}" if ratio >= 0.001 else f"x{ratio:.2g}"


def _row(one: Verdict, needed: bool) -> list[str]:
    shown = [_shown(one, value) for value in (one.difference, one.lower, one.upper)]
    queries = [f"{one.queries_needed:,}" if one.queries_needed else ""] if needed else []
    changed = f"{one.changed:,} of {one.n:,}"
    return [
        *(one.system, one.measure, str(one), changed, number(one.mean)),
        *(*shown, probability(one.p), *queries),
    ]


def _queries(n: int, all_of: str = "") -> str:
    return "1 query" if n == 1 else f"{all_of}{n:,} queries"
