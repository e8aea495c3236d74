"""A gate on scores by a model's labels, whose verdicts labels by people correct."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.decisions import POWER, Outcome, find_greatest_p
from cranfield.comparison.effects import FEW_UNITS
from cranfield.comparison.settings import Alignment
from cranfield.comparison.verdict import Gate, Verdict
from cranfield.data.judging import Judging
from cranfield.errors import OptionError
from cranfield.extensions import load_families
from cranfield.extensions.labels.human.human_labels import Estimation, sample_estimation
from cranfield.extensions.labels.human.powered_settings import PoweredSettings
from cranfield.notes import Note
from cranfield.render.numbers import finite_or_none

_NOTES_OF_ROWS = ("several-candidates", "wide-margin")  # which hold for every test


def judge_by_people(
    gate: Gate, scores: AlignedScores, human: Any, lam: float | None, options: Mapping[str, Any]
) -> Gate:
    """Return a gate on scores by a model's labels with verdicts that people's labels correct.

    `options` are those of `gate`. Raises OptionError for a margin that is a share, and for options
    of other extensions; the errors of `prediction_powered`.
    """
    for family in load_families("gate"):
        for name in family.of(options).changed_options().keys() - {"human", "lam"}:
            raise OptionError(f"{name} does not go with human labels (human=, --human)")
    if str(gate.recipe["margin"]).rstrip().endswith("%"):
        raise OptionError("with human labels, the margin is a number: margin=0.01, not a share")
    settings = PoweredSettings(baseline=gate.baseline, lam=lam)
    alignment, judging = Alignment.of(options), Judging.of(options)
    estimation = sample_estimation(scores, human, alignment, judging, settings)
    sample = estimation.sample
    unit_plural = "queries" if sample.unit == "query" else "documents"
    text = (
        f"By {sample.n_labelled:,} labelled {unit_plural} beside a model's labels: the numbers are "
        f"corrected.{' So few let no system pass.' * sample.is_little}"
    )
    notes = [Note("human-labels", "info", text, count=sample.n_labelled), *estimation.notes]
    notes += [note for note in gate.notes if note.code in _NOTES_OF_ROWS]
    alpha = gate.settings.alpha
    judge = partial(_judge_by_people, estimation=estimation, alpha=alpha)
    p_worse = [judge(verdict, greatest_p=-1.0).p_worse for verdict in gate.verdicts]
    greatest_p = find_greatest_p([np.array(p_worse, np.float64)], alpha)
    verdicts = tuple(judge(verdict, greatest_p=greatest_p) for verdict in gate.verdicts)
    recipe = {"needed_units": f"labelled {unit_plural}", "labelled": sample.n_labelled, "lam": lam}
    return replace(gate, verdicts=verdicts, notes=tuple(notes), recipe={**gate.recipe, **recipe})


def _judge_by_people(
    verdict: Verdict, estimation: Estimation, alpha: float, greatest_p: float
) -> Verdict:
    """Return a verdict on a model's labels as people's correct it.

    `greatest_p` is the greatest by which a row fails.
    """
    from scipy.special import stdtr, stdtrit

    scores, sample, base = estimation.scores, estimation.sample, estimation.baseline_column
    m, i = scores.measures.index(verdict.measure), scores.system_names.index(verdict.system)
    estimate = sample.estimate(m, i, base)
    difference = estimate.estimate * (-1 if verdict.turned else 1)
    error, margin = estimate.error or np.nan, verdict.margin
    reach = float(stdtrit(sample.degrees, 1 - alpha)) * error
    lower, upper = difference - reach, difference + reach
    p_worse = finite_or_none(stdtr(sample.degrees, difference / error))
    n_changed, n_needed = estimate.n_changed, None
    outcome: Outcome = "UNDECIDED"
    if lower > -margin and not sample.is_little and (n_changed >= FEW_UNITS or difference >= 0):
        outcome = "PASS"
    elif p_worse is not None and p_worse <= greatest_p and lower <= -margin:
        outcome = "FAIL"
    elif lower <= -margin or sample.is_little:  # else more queries would have to differ
        levels = 1 - alpha, POWER
        n_needed = sample.select(m, i, base).count_labels(sample.lam, margin, levels)
        if n_needed is not None:
            n_needed = max(n_needed, math.ceil(sample.n_reliable))
            n_needed = n_needed if n_needed <= sample.n_pooled else None
    return replace(
        verdict,
        outcome=outcome,
        better=lower > 0,
        worse=upper < 0,
        n=sample.n_labelled if sample.unit == "query" else verdict.n,
        changed=n_changed,
        mean=sample.estimate(m, i).estimate,
        baseline_mean=sample.estimate(m, base).estimate,
        difference=difference,
        sd=None,
        lower=finite_or_none(lower),
        upper=finite_or_none(upper),
        p=finite_or_none(stdtr(sample.degrees, -(difference + margin) / error)),
        p_worse=p_worse,
        queries_needed=n_needed,
        detectable=None,
        method=None,
        changes=(),
    )
