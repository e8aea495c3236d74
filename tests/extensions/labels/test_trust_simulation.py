"""How often trust and gate --human miss what they state at .05: collections and judges by chance.

Fifty queries; two systems show ten documents each, of which four are the same. By people, A is
better than B by MARGIN. Single documents are drawn, with two probabilities.
"""

from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.profile import repetitions
from scipy.stats import binom, t

from cranfield import Gate, gate
from cranfield.extensions.labels.human.human_gate import _judge_by_people
from cranfield.extensions.labels.human.human_labels import Estimation
from cranfield.extensions.labels.human.powered import DocumentScores, QueryScores, Sample
from cranfield.extensions.labels.human.powered_settings import PoweredSettings
from cranfield.extensions.labels.trust.grade_pairs import GradePairs, estimate_agreement

pytestmark = pytest.mark.slow

TIMES = repetitions(1_000)
N_QUERIES, DEPTH, N_POOLED = 50, 10, 16
GAIN, MEAN_RATE = 0.08, 1.2 / 4.2  # A's own documents are relevant more often
MARGIN = (N_POOLED - DEPTH) / DEPTH * GAIN * (1 - MEAN_RATE)
IN_A, IN_B = np.arange(N_POOLED) < DEPTH, np.arange(N_POOLED) >= N_POOLED - DEPTH
# {judge: (how often what is not relevant is called so; of B's own; how often what is, is not)}
JUDGES = {
    "right": (0.0, 0.0, 0.0),
    "noisy": (0.12, 0.12, 0.15),
    "too kind": (0.3, 0.3, 0.03),
    "kind to B": (0.08, 0.35, 0.08),
}
N_LABELS = 50, 100, 250
SIGNS = {"A": 1, "B": -1}
# What is missed more often than .08, as docs/how-to/human-labels.md says: the share there.
OFTENER: Mapping[tuple[str, str, int], float] = {
    ("off", "too kind", 50): 0.115,
    ("off", "too kind", 100): 0.095,
    ("off", "kind to B", 50): 0.12,
    ("off", "kind to B", 100): 0.09,
    ("gate", "kind to B", 100): 0.085,
}


def draw_collection(
    judge: str, chance: np.random.Generator, n_queries: int = N_QUERIES
) -> tuple[Any, Any]:
    """Return what is relevant by people and by the judge: (queries, documents) each."""
    rate = chance.beta(1.2, 3.0, (n_queries, 1)) * np.ones(N_POOLED)
    rate += np.where(IN_A & ~IN_B, GAIN, 0) * (1 - rate)
    y = chance.random(rate.shape) < rate
    kind, kind_to_b, misses = JUDGES[judge]
    call_rate = np.where(y, 1 - misses, np.where(IN_B & ~IN_A, kind_to_b, kind))
    return y * 1.0, (chance.random(rate.shape) < call_rate) * 1.0


class Draw:
    """The documents of a collection that people labelled, and what trust says of them."""

    def __init__(self, judge: str, n_labels: int, chance: np.random.Generator) -> None:
        self.y, self.f = draw_collection(judge, chance)
        share = np.where(np.arange(N_POOLED) % 4 < 2, 1.5, 0.5) * n_labels / self.y.size
        self.query, self.doc = np.nonzero(chance.random(self.y.shape) < share)
        self.chance = share[self.doc]

    def select(self, m: int, i: int, base: int | None) -> DocumentScores:
        shows = IN_A * 1.0, IN_B * 1.0
        weight = (shows[i] - (0 if base is None else shows[base])) / DEPTH
        cells = self.query, self.doc
        y, f = (grades[cells] * weight[self.doc] for grades in (self.y, self.f))
        return DocumentScores(self.query, y, f, self.chance, self.f @ weight)

    @property
    def true_scores(self) -> Any:
        return self.y @ (np.array([IN_A, IN_B]).T / DEPTH)

    def misses_off(self, i: int, base: int | None) -> bool | None:
        """Whether the interval of how far the model is off misses it; None without an interval."""
        estimate = self.select(0, i, base).estimate()
        if not estimate.excess_error:
            return None
        true_scores = self.true_scores[:, i] - (0 if base is None else self.true_scores[:, base])
        error = estimate.estimate - true_scores.mean()
        return bool(abs(error) > t.ppf(0.975, estimate.excess_degrees) * estimate.excess_error)

    def passes_gate(self, verdict: Any) -> bool:
        scores: Any = SimpleNamespace(measures=("score",), system_names=("A", "B"))
        degrees, n = N_QUERIES - 1, len(self.query)
        sample = Sample("document", n, N_QUERIES, degrees, None, self.select, (), 1.0)
        is_little = False
        for i, is_seen in enumerate((IN_A, IN_B)):
            documents = self.select(0, i, None)
            n_relevant = np.count_nonzero((documents.y != 0) | (documents.f != 0))
            is_little |= bool(
                is_seen[self.doc].sum() < 30 or n_relevant < 10
            )  # as few-documents says
        if is_little:
            sample = sample._replace(n_reliable=n + 1)
        estimation = Estimation(scores, sample, PoweredSettings(), 0, ())
        judged = _judge_by_people(verdict, estimation, 0.05, greatest_p=0.05)
        return judged.outcome == "PASS"

    def confirms_wrong_order(self) -> bool:
        """Whether the model says that B is better, and people seem to say so, too."""
        estimate = self.select(0, 1, 0).estimate()
        half_width = t.ppf(0.975, N_QUERIES - 1) * estimate.error
        return bool(estimate.model > 0 and estimate.estimate > half_width)

    def misses_agreement(self) -> dict[str, bool | None]:
        cells = self.query, self.doc
        pairs = GradePairs([], self.query, self.y[cells], self.f[cells], 1 / self.chance)
        coefficients = estimate_agreement(pairs, 1, 0.05)
        is_relevant = self.y > 0
        truths = {
            "sensitivity": self.f[is_relevant].mean(),
            "specificity": 1 - self.f[~is_relevant].mean(),
        }
        is_missed: dict[str, bool | None] = {}
        for name, truth in truths.items():
            low, high = coefficients[name].low, coefficients[name].high
            if low is None or high is None:
                is_missed[name] = None
            else:
                is_missed[name] = bool(truth < low - 1e-9 or truth > high + 1e-9)
        return is_missed


@cache
def count_misses(judge: str, n_labels: int) -> dict[str, tuple[int, int]]:
    """Return {quantity: (how often it is missed, in how many draws it is stated)}."""
    chance = np.random.default_rng(n_labels)
    model_gate: Gate = gate(
        {name: {f"q{i}": 0.5 + sign * 0.01 * i for i in range(12)} for name, sign in SIGNS.items()},
        baseline="A",
        margin=MARGIN,
    )
    flags: dict[str, list[bool | None]] = {}
    for _ in range(TIMES):
        draw = Draw(judge, n_labels, chance)
        is_missed = {
            "off": draw.misses_off(1, None),
            "favoured": draw.misses_off(1, 0),
            "gate": draw.passes_gate(model_gate.verdicts[0]),
            "order": draw.confirms_wrong_order(),
            **draw.misses_agreement(),
        }
        for quantity, flag in is_missed.items():
            flags.setdefault(quantity, []).append(flag)
    return {
        quantity: (flags[quantity].count(True), TIMES - flags[quantity].count(None))
        for quantity in flags
    }


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("n_labels", N_LABELS)
def test_what_is_stated_at_05_is_missed_as_rarely_as_the_page_says(
    judge: str, n_labels: int
) -> None:
    for quantity, (n_missed, n_stated) in count_misses(judge, n_labels).items():
        share = 0.05 if quantity == "order" else OFTENER.get((quantity, judge, n_labels), 0.08)
        assert n_missed <= binom.ppf(0.999, n_stated, share), quantity


@cache
def count_query_misses(judge: str, n_labels: int) -> dict[str, int]:
    """Return how often `off`, and the limit of a gate, miss by whole queries, of 500."""
    chance, n_all = np.random.default_rng(n_labels), 500
    kind, kind_to_b, misses = JUDGES[judge]
    call_rate_of_document = np.where(IN_B & ~IN_A, kind_to_b, kind)[IN_B]
    true_off = float(np.mean((1 - MEAN_RATE) * call_rate_of_document - MEAN_RATE * misses))
    counts = {"off": 0, "gate": 0}
    for _ in range(TIMES):
        collection = draw_collection(judge, chance, n_all)
        y, f = (grades[:, IN_B].mean(axis=1) for grades in collection)
        estimate = QueryScores(y[:n_labels], f[:n_labels], f[n_labels:]).estimate()
        off, error = estimate.model - estimate.estimate, estimate.excess_error or 0.0
        counts["off"] += abs(off - true_off) > t.ppf(0.975, n_labels - 1) * error
        y_d, f_d = (grades @ (IN_B * 1.0 - IN_A) / DEPTH for grades in collection)
        estimate = QueryScores(y_d[:n_labels], f_d[:n_labels], f_d[n_labels:]).estimate()
        lower = estimate.estimate - t.ppf(0.95, n_labels - 1) * estimate.error
        counts["gate"] += lower > -MARGIN
    return counts


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("n_labels", N_LABELS)
def test_whole_queries_are_missed_as_rarely(judge: str, n_labels: int) -> None:
    for quantity, n_missed in count_query_misses(judge, n_labels).items():
        assert n_missed <= binom.ppf(0.999, TIMES, 0.08), quantity
