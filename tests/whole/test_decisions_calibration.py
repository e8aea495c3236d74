"""Simulations: power of gates where few queries change, losses that are shown, unequal clusters.

And agreement of few queries, and tuned fusion beside the best run alone. The tables of the pages
are made by the functions here, with these seeds: the last test holds them against the pages.
"""

import math
import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from helpers.folders import DOCS
from helpers.profile import sample_cases
from scipy.stats import binom

from cranfield import power
from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.comparison.decisions import (
    _find_detectable_effect,
    decide_outcome,
    find_n_unchanged,
    find_shapes,
)
from cranfield.comparison.flips import Flips, PairedScores
from cranfield.comparison.noninferiority import GainSample, run_gain_tests
from cranfield.comparison.randomization import sign_flip_p_values
from cranfield.comparison.settings import GateSettings
from cranfield.comparison.significance import Moments, t_test
from cranfield.extensions.labels.assessors.beyond_chance import (
    COEFFICIENTS,
    FLEISS,
    GradeCounts,
    _jackknife_interval,
    sum_documents,
)

pytestmark = pytest.mark.slow

N_TIMES = 2_000
SIZES = (10, 25, 50, 200)
MARGIN, SD = 0.02, 0.08


def format_share(share: float) -> str:
    text = f"{share:.2f}"
    return {"0.00": "0", "1.00": "1"}.get(text, text.removeprefix("0"))


def is_within_limits(share: float, chance: float, n_times: int = N_TIMES) -> bool:
    low, high = binom.ppf([0.0005, 0.9995], n_times, chance) / n_times
    return bool(low <= share <= high)


SHAPES = ("one size", "four levels", "normal", "skewed")


def draw_values(shape_name: str, chance: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Draw values with mean 0 and standard deviation 1."""
    if shape_name == "one size":
        return chance.choice([-1.0, 1.0], shape)
    if shape_name == "four levels":
        return chance.choice([-2.0, -1.0, 1.0, 2.0], shape) / math.sqrt(2.5)
    if shape_name == "normal":
        return chance.normal(0, 1, shape)
    return chance.exponential(1, shape) - 1  # skewed towards gains


# ---- power --changed ----------------------------------------------------------------------------


@cache
def share_passed(shape_name: str, share: float, n: int) -> float:
    """Return how often a gate passes runs that are as good and change a share of the queries."""
    chance = np.random.default_rng(20_261_201 + n)
    sizes = draw_values(shape_name, chance, (n, N_TIMES)) * SD / math.sqrt(share)
    gains = np.where(chance.random((n, N_TIMES)) < share, sizes, 0.0)
    settings = GateSettings(test="t")
    sample = GainSample(gains, MARGIN)
    gain_tests = run_gain_tests(sample, settings)
    n_unchanged = find_n_unchanged(settings.alpha, MARGIN, 1.0)
    shapes = find_shapes(sample, gain_tests.n_changed)
    hides_losses = [shape.hides_losses(settings, n, n_unchanged) for shape in shapes]
    outcomes = [
        decide_outcome(gain_tests, i, settings, settings.alpha, hides_losses=hides)
        for i, hides in enumerate(hides_losses)
    ]
    return outcomes.count("PASS") / N_TIMES


CHANGES = {0.05: (50, 101, 214, 400), 0.1: (50, 101, 125, 200), 0.2: (50, 101, 150, 200)}


@pytest.mark.parametrize("share", CHANGES)
def test_power_of_changes_of_one_size_is_what_power_says(share: float) -> None:
    for n in CHANGES[share][2:]:
        pass_share = share_passed("one size", share, n)
        # Of fewer than ten changes, their mean is 0 in some cases, so that a few more pass.
        says = power(MARGIN / SD, n, sides=1, changed=share)
        chance_below_ten = float(binom.cdf(9, n, share))
        assert says - 0.04 <= pass_share <= says + 0.04 + 0.15 * chance_below_ten


def make_changed_table() -> list[str]:
    rows = []
    for share, n in sample_cases((share, n) for share, sizes in CHANGES.items() for n in sizes):
        shares = [power(MARGIN / SD, n, sides=1, changed=share)]
        shares += [share_passed(name, share, n) for name in SHAPES]
        rows.append(f"| {share:g} | {n} | {' | '.join(map(format_share, shares))} |")
    return rows


# ---- the loss that is shown ---------------------------------------------------------------------


@cache
def share_shown(shape_name: str, n: int) -> float:
    """Return how often a loss of the size that a gate prints is shown to be worse."""
    settings = GateSettings(flips=999)
    chance = np.random.default_rng(20_261_202 + n)
    loss = _find_detectable_effect(n, settings.alpha)
    gains = draw_values(shape_name, chance, (n, N_TIMES)) - loss
    return float(run_gain_tests(GainSample(gains, loss / 2), settings).is_below[1].mean())


@pytest.mark.parametrize("n", SIZES)
def test_the_printed_loss_is_shown_in_four_of_five_cases(n: int) -> None:
    assert share_shown("normal", n) == pytest.approx(0.8, abs=0.03)


def make_loss_table() -> list[str]:
    return [
        f"| {name} | {' | '.join(format_share(share_shown(name, n)) for n in SIZES)} |"
        for name in SHAPES[1:]
    ]


# ---- clusters of unequal size -------------------------------------------------------------------


def draw_clusters(kind: str, n_clusters: int, chance: np.random.Generator) -> Ints:
    """Return the cluster of each query."""
    sizes = np.maximum(1, np.round(np.exp(chance.normal(1.2, 0.8, n_clusters)))).astype(int)
    if kind == "one has half of the queries":
        sizes = np.array([n_clusters - 1] + [1] * (n_clusters - 1))
    return np.repeat(np.arange(n_clusters), sizes)


@cache
def shares_missed(kind: str, shape_name: str, n_clusters: int) -> tuple[float, float]:
    """Return how often CR2 and flips of clusters miss no difference; correlation .5 in clusters."""
    chance = np.random.default_rng(20_261_203 + n_clusters)
    miss_shares = []
    for seed in range(4):
        code = draw_clusters(kind, n_clusters, chance)
        parts = [
            draw_values(shape_name, chance, (n, N_TIMES // 4)) for n in (n_clusters, len(code))
        ]
        gains = math.sqrt(0.5) * (parts[0][code] + parts[1])
        clusters = PairedScores.from_differences(gains).sum_clusters(code)
        p_by_flips = sign_flip_p_values(clusters, Flips(n_clusters, 499, seed))
        miss_shares.append([np.mean(p <= 0.05) for p in (t_test(Moments.of(clusters)), p_by_flips)])
    cr2, flips = np.mean(miss_shares, axis=0).tolist()
    return cr2, flips


CLUSTER_KINDS = ("lognormal", "one has half of the queries")


@pytest.mark.parametrize("kind", CLUSTER_KINDS)
def test_intervals_of_unequal_clusters_hold(kind: str) -> None:
    for n_clusters in SIZES:
        for share in shares_missed(kind, "normal", n_clusters):
            assert share <= binom.ppf(0.9995, N_TIMES, 0.05) / N_TIMES + 0.005


def make_cluster_table() -> list[str]:
    rows = []
    for kind, name in sample_cases((kind, name) for kind in CLUSTER_KINDS for name in SHAPES[1:]):
        cells = (" / ".join(map(format_share, shares_missed(kind, name, n))) for n in SIZES)
        rows.append(f"| {kind} | {name} | {' | '.join(cells)} |")
    return rows


# ---- agreement ----------------------------------------------------------------------------------


@cache
def shares_of_agreement(name: str, agree: float, n: int) -> tuple[float, float]:
    """Return how often the interval misses the true value, and how often there is none.

    Two assessors of n queries of 15 documents, 4 of 10 relevant; the share that they agree on is
    that of a query, by a beta distribution with this mean.
    """
    chance, n_times, n_missed, n_absent = np.random.default_rng(20_261_204 + n), 500, 0, 0
    truth = agree if name == "agreement" else 1 - (1 - agree) / (2 * 0.4 * 0.6)
    query = np.repeat(np.arange(n), 15)
    for _ in range(n_times):
        agrees = chance.random((n, 15)) < chance.beta(10 * agree, 10 * (1 - agree), (n, 1))
        # Of two that disagree, one says relevant: of those that agree, so many that 0.4 remain.
        is_relevant = chance.random((n, 15)) < (0.4 - (1 - agree) / 2) / agree
        n_relevant = np.where(agrees, 2 * is_relevant, 1).ravel()
        counts = np.stack([2 - n_relevant, n_relevant], axis=1)
        sums = sum_documents(GradeCounts(2, query, counts, (0, 1)), query)
        _, low, high = _jackknife_interval(COEFFICIENTS[name], sums, 0.05)
        if low is None or high is None:
            n_absent += 1
        else:
            n_missed += not low <= truth <= high
    return n_missed / n_times, n_absent / n_times


def test_intervals_of_agreement_hold_with_many_queries() -> None:
    assert is_within_limits(shares_of_agreement(FLEISS, 0.8, 200)[0], 0.05, 500)


def make_agreement_table() -> list[str]:
    rows = []
    for agree, name in sample_cases(
        (a, name) for a in (0.94, 0.8) for name in ("agreement", FLEISS)
    ):
        pairs = [shares_of_agreement(name, agree, n) for n in (5, *SIZES)]
        cells = (" / ".join(map(format_share, pair)) for pair in pairs)
        rows.append(f"| {agree} | {name} | {' | '.join(cells)} |")
    return rows


# ---- tuned fusion beside the best run alone -----------------------------------------------------


@cache
def shares_called_better(shape_name: str, n: int) -> tuple[float, float]:
    """Return how often tuned fusion is called better, worse than a best run, without reason.

    Scores of 11 settings between two equal runs: each is a mix of what the runs score by chance.
    """
    chance, n_times = np.random.default_rng(20_261_205 + n), 500
    weight = np.linspace(0, 1, 11)[:, None]
    fold = np.arange(n) % 5
    differences = np.empty((n, n_times))
    for i in range(n_times):
        values = draw_values(shape_name, chance, (3, n))
        scores = (1 - weight) * values[0] + weight * values[1]
        scores /= np.sqrt(weight**2 + (1 - weight) ** 2)
        tuned_scores = np.empty(n)
        for part in range(5):
            tuned_scores[fold == part] = scores[
                scores[:, fold != part].mean(axis=1).argmax(), fold == part
            ]
        best = max((0, 10), key=lambda run: scores[run].mean())
        differences[:, i] = tuned_scores - scores[best]
    p = sign_flip_p_values(PairedScores.from_differences(differences), Flips(n, 499, 1))
    is_better: Bools = differences.mean(axis=0) > 0
    return float(np.mean((p <= 0.05) & is_better)), float(np.mean((p <= 0.05) & ~is_better))


@pytest.mark.parametrize("n", SIZES)
def test_tuned_fusion_is_seldom_called_better_than_the_best_run(n: int) -> None:
    assert shares_called_better("normal", n)[0] <= binom.ppf(0.999, 500, 0.025) / 500


def make_tuned_table() -> list[str]:
    rows = []
    for name in SHAPES[1:]:
        cells = (" / ".join(map(format_share, shares_called_better(name, n))) for n in SIZES)
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return rows


TABLES: dict[Callable[[], list[str]], str] = {
    make_changed_table: "background/error-rates-gates.md",
    make_loss_table: "background/error-rates-gates.md",
    make_cluster_table: "reference/error-rates.md",
    make_agreement_table: "background/agreement.md",
    make_tuned_table: "reference/error-rates.md",
}


@pytest.mark.parametrize("table", TABLES)
def test_the_tables_of_the_pages_are_what_is_measured(table: Callable[[], list[str]]) -> None:
    text = (DOCS / TABLES[table]).read_text("utf-8")
    lines = [re.sub(" +", " ", line) for line in text.splitlines()]
    for row in table():
        assert row in lines
