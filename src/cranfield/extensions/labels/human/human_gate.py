"""HumanGate: the verdicts of a gate on a model's labels that those of people correct."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.decisions import Outcome, find_greatest_p
from cranfield.comparison.settings import Alignment
from cranfield.comparison.verdict import Gate, Verdict
from cranfield.comparison.verdict_tables import headline
from cranfield.data.judging import Judging
from cranfield.errors import OptionError
from cranfield.extensions import load_families
from cranfield.extensions.labels.human.human_labels import MIN_RELIABLE_QUERIES, sample_estimation
from cranfield.extensions.labels.human.powered_settings import HumanOptions, PoweredSettings
from cranfield.render.numbers import finite_or_none, format_number, format_p, format_signed
from cranfield.render.table import Column, Table, make_table

_POWER = 0.8  # with which a system as good as the baseline passes


@dataclass(frozen=True)
class HumanVerdict(Verdict):
    """A Verdict by both kinds of labels: means and the difference are corrected, `model` is not.

    `changed` counts the labelled queries, or documents, that make a difference by people's labels;
    `queries_needed` are labelled queries, or documents.
    """

    model: float | None = None  # the difference by the model's labels alone


@dataclass(frozen=True, eq=False, repr=False)
class HumanGate(Gate):
    """A Gate on a model's labels that people's correct; `unit` is what people labelled."""

    header = (*(field.name for field in fields(HumanVerdict) if field.name != "changes"),)

    unit: str = "query"

    def tables(self) -> list[Table]:
        """Return the table of verdicts."""
        units = "queries" if self.unit == "query" else "documents"
        columns = [
            Column("system", lambda verdict: verdict.system),
            Column("measure", lambda verdict: verdict.measure),
            Column(
                "verdict",
                str,
                f"PASS: lower > -margin, and {MIN_RELIABLE_QUERIES} queries, or 30 documents, are "
                "labelled.\nFAIL: upper < 0, and lower not above -margin. UNDECIDED: neither.",
            ),
            Column("model", lambda verdict: format_signed(verdict.model)),
            Column(
                "diff",
                lambda verdict: format_signed(verdict.difference),
                "diff: the model's difference, corrected by people's labels.",
            ),
            Column("lower", lambda verdict: format_signed(verdict.lower)),
            Column("upper", lambda verdict: format_signed(verdict.upper)),
            Column("p", lambda verdict: format_p(verdict.p)),
            Column(
                "labels",
                lambda verdict: format_number(verdict.queries_needed, 0),
                f"labels: about how many labelled {units} would decide: a system as good as "
                f"{self.baseline} passes with a chance of 80%. -: no number of labels would.",
                self.outcome == "UNDECIDED",
            ),
        ]
        worst_verdicts = [verdict for verdict in self.verdicts if verdict.outcome == self.outcome]
        title = headline(self, worst_verdicts)[:1]
        return [make_table(self.verdicts, columns, notes=self.notes, title=title, n_labels=3)]


def judge_by_people(
    gate: Gate, scores: AlignedScores, human: HumanOptions, options: Mapping[str, Any]
) -> HumanGate:
    """Return a gate on scores by a model's labels with the verdicts that people's labels correct.

    `options` are those of `gate`. Raises OptionError for a margin that is a share, and for options
    of other extensions; the errors of `prediction_powered`.
    """
    families = [family.of(options) for family in load_families("gate")]
    for family in families:
        for name in family.changed_options().keys() - {"human", "lam"}:
            raise OptionError(f"{name} does not go with human labels (human=, --human)")
    if str(gate.recipe["margin"]).rstrip().endswith("%"):
        raise OptionError("with human labels, the margin is a number: margin=0.01, not a share")
    from scipy.special import stdtr, stdtrit

    settings = PoweredSettings(baseline=gate.baseline, lam=human.lam)
    estimation = sample_estimation(
        scores, human.human, Alignment.of(options), Judging.of(options), settings
    )
    sample, names, base = estimation.sample, scores.system_names, estimation.baseline_column
    is_enough = sample.unit == "document" or sample.n_labelled >= MIN_RELIABLE_QUERIES
    is_enough = is_enough and all(note.code != "few-documents" for note in sample.notes)
    alpha, degrees, columns = gate.settings.alpha, sample.degrees, []
    for verdict in gate.verdicts:
        m, i = scores.measures.index(verdict.measure), names.index(verdict.system)
        columns.append((m, i, -1.0 if verdict.turned else 1.0))
    estimates = [sample.estimate(m, i, base) for m, i, _ in columns]
    error = np.array([estimate.error or np.nan for estimate in estimates])
    difference = np.array(
        [sign * e.estimate for (*_, sign), e in zip(columns, estimates, strict=True)]
    )
    margin = np.array([verdict.margin for verdict in gate.verdicts])
    reach = stdtrit(degrees, 1 - alpha) * error
    p, p_worse = stdtr(degrees, -(difference + margin) / error), stdtr(degrees, difference / error)
    is_within = difference - reach > -margin
    is_worse = ~is_within & (p_worse <= find_greatest_p([p_worse], alpha))
    verdicts = []
    for row, ((m, i, sign), verdict) in enumerate(zip(columns, gate.verdicts, strict=True)):
        selected = sample.select(m, i, base)
        outcome: Outcome = "FAIL" if is_worse[row] else "UNDECIDED"
        if is_within[row] and is_enough:
            outcome = "PASS"
        changes = {
            "outcome": outcome,
            "better": bool(difference[row] > reach[row]),
            "worse": bool(difference[row] < -reach[row]),
            "changed": int(np.count_nonzero(selected.y)),
            "mean": sample.estimate(m, i).estimate,
            "baseline_mean": sample.estimate(m, base).estimate,
            "difference": float(difference[row]),
            "sd": None,
            "lower": finite_or_none(difference[row] - reach[row]),
            "upper": finite_or_none(difference[row] + reach[row]),
            "p": finite_or_none(p[row]),
            "p_worse": finite_or_none(p_worse[row]),
            "queries_needed": None
            if outcome != "UNDECIDED"
            else selected.count_labels(human.lam, verdict.margin, [1 - alpha, _POWER]),
            "detectable": None,
            "method": None,
            "changes": (),
            "model": sign * estimates[row].model,
        }
        verdicts.append(HumanVerdict(**{**vars(verdict), **changes}))
    recipe = {
        **gate.recipe,
        "labelled": sample.unit,
        "n_labelled": sample.n_labelled,
        "lam": human.lam,
    }
    changes = {"verdicts": tuple(verdicts), "notes": estimation.notes, "recipe": recipe}
    return HumanGate(**{**vars(gate), **changes}, unit=sample.unit)
