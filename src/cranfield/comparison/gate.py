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
from collections.abc import Iterator, Sequence
from typing import Any, Unpack

import numpy as np

from cranfield.comparison.alignment import Aligned, align, hash_of
from cranfield.comparison.betting import BETS
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
from cranfield.comparison.settings import (
    Alignment,
    AlignmentOptions,
    GateSettings,
    GateSettingsOptions,
)
from cranfield.comparison.significance import TIE, Moments
from cranfield.comparison.verdict import Change, Gate, Verdict
from cranfield.data.judging import Judging, JudgingOptions
from cranfield.errors import InputError
from cranfield.notes import Note, warn_of
from cranfield.options import refuse_others, takes
from cranfield.render.numbers import or_none, queries_of
from cranfield.scoring.evaluate import MeasuresLike

_WORST = 5  # queries to show of a system that did not pass


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


# ---- notes --------------------------------------------------------------------------------------


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
        said = f"identical on {'all ' * (one.n > 1)}{queries_of(one.n)}."
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
            f"only {one.changed} of {queries_of(one.n)} {verb}: the limits do not hold, and "
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
