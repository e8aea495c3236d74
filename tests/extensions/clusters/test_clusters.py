"""Clusters of queries: whole clusters are flipped, and errors are cluster-robust."""

import json
import time
from dataclasses import replace
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from cranfield import (
    CranfieldWarning,
    InputError,
    OptionError,
    compare,
    detectable,
    evaluate,
    gate,
    intervals,
    power,
    queries_needed,
)
from cranfield.cli import cli
from cranfield.comparison.alignment import align
from cranfield.comparison.flips import Flips, PairedScores
from cranfield.comparison.noninferiority import GainSample, run_gain_tests
from cranfield.comparison.randomization import invert_sign_flips, sign_flip_p_values
from cranfield.comparison.settings import GateSettings
from cranfield.comparison.significance import Moments, t_interval, t_test
from cranfield.comparison.units import EACH_QUERY
from cranfield.errors import DuplicateError
from cranfield.extensions.clusters.clusters import _id_pattern_notes
from cranfield.extensions.clusters.units import Clusters

GAINS = [0.10, 0.12, 0.08, -0.05, -0.02, 0.20, 0.18, 0.22, 0.15, 0.01, -0.10, 0.05]
SESSIONS = dict(zip([f"q{i:02}" for i in range(12)], "aaabbccccdef", strict=True))
OLD = dict.fromkeys(SESSIONS, 0.5)
NEW = {query: 0.5 + gain for query, gain in zip(SESSIONS, GAINS, strict=True)}
BOTH = {"old": OLD, "new": NEW}

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")


def sum_clusters_by_hand(gains: list[float], labels: str) -> tuple[list[float], list[int]]:
    """Return the sum and the number of queries of each cluster, by a loop."""
    names = list(dict.fromkeys(labels))
    sums = [
        sum(g for g, label in zip(gains, labels, strict=True) if label == name) for name in names
    ]
    return sums, [labels.count(name) for name in names]


def flip_clusters(gains: list[float], labels: str) -> tuple[float, list[float]]:
    """Return the exact p, and for each flip the two means of which a shift lies between."""
    sums, sizes = sum_clusters_by_hand(gains, labels)
    as_large, means = 0, []
    for signs in product((1, -1), repeat=len(sums)):
        total = sum(sign * cluster_sum for sign, cluster_sum in zip(signs, sums, strict=True))
        as_large += abs(total) >= abs(sum(sums)) - 1e-12
        positive = [i for i, sign in enumerate(signs) if sign == 1]
        if len(positive) > 0:
            means.append(sum(sums[i] for i in positive) / sum(sizes[i] for i in positive))
    return as_large / 2 ** len(sums), means


def estimate_error(gains: list[float], labels: str) -> tuple[float, float]:
    """Return CR2's standard error of a mean, and its degrees of freedom, by their definitions.

    Bell & McCaffrey, Survey Methodology 28, 2002: the degrees come from the matrix K, by loops.
    """
    sums, sizes = sum_clusters_by_hand(gains, labels)
    mean, n = sum(gains) / len(gains), len(gains)
    residuals = [total - size * mean for total, size in zip(sums, sizes, strict=True)]
    factors = [1 / sqrt(1 - size / n) for size in sizes]
    variance = sum((a * e) ** 2 for a, e in zip(factors, residuals, strict=True)) / n**2
    clusters = range(len(sizes))
    k = [
        [
            factors[c] * factors[d] * (sizes[c] * (c == d) - sizes[c] * sizes[d] / n) / n**2
            for d in clusters
        ]
        for c in clusters
    ]
    trace = sum(k[c][c] for c in clusters)
    return sqrt(variance), trace**2 / sum(cell**2 for row in k for cell in row)


def interval_by_hand(mean: float, gains: list[float], labels: str) -> tuple[float, float]:
    error, df = estimate_error(gains, labels)
    half = stats.t.ppf(0.975, df) * error
    return mean - half, mean + half


def test_p_is_the_share_of_flips_of_whole_clusters() -> None:
    pair = compare(BOTH, clusters=SESSIONS)["score"]["new"]
    assert pair.p == flip_clusters(GAINS, "aaabbccccdef")[0] == 26 / 64
    assert pair.clusters == 6
    assert pair.n == 12
    assert pair.difference == pytest.approx(sum(GAINS) / 12)


@pytest.mark.parametrize(("alpha", "low", "high"), [(0.1, -0.045, 0.152), (0.05, -0.1, 0.1875)])
def test_the_interval_holds_the_shifts_that_flips_of_clusters_do_not_reject(
    alpha: float, low: float, high: float
) -> None:
    pair = compare(BOTH, clusters=SESSIONS, alpha=alpha)["score"]["new"]
    assert (pair.low, pair.high) == pytest.approx((low, high))

    def p_of(shift: float) -> float:
        return flip_clusters([gain - shift for gain in GAINS], "aaabbccccdef")[0]

    for end, out in ((low, -1e-6), (high, 1e-6)):
        assert p_of(end + out) <= alpha < p_of(end - out)


def test_the_error_of_unequal_clusters_is_bell_and_mccaffreys() -> None:
    error, df = estimate_error(GAINS, "aaabbccccdef")
    assert (error, df) == pytest.approx((0.0523056568, 3.5728346457), abs=1e-10)
    pair = compare(BOTH, clusters=SESSIONS)["score"]["new"]
    assert pair.p_t == pytest.approx(2 * stats.t.sf(sum(GAINS) / 12 / error, df))
    assert pair.p_t == pytest.approx(0.2168153, abs=1e-7)
    of_queries = np.var(GAINS, ddof=1) / 12
    assert pair.design_effect == pytest.approx(error**2 / of_queries)
    (system,) = compare({"new": dict(zip(SESSIONS, GAINS, strict=True))}, clusters=SESSIONS)[
        "score"
    ].systems
    assert (system.low, system.high) == pytest.approx((-0.0740011, 0.2306678), abs=1e-7)
    probability = compare(BOTH, clusters=SESSIONS, test="bayes")["score"]["new"].probability_better
    assert probability == pytest.approx(stats.t.cdf(sum(GAINS) / 12 / error, df))


def test_equal_clusters_have_the_bits_of_cr1() -> None:
    """Liang & Zeger's error with G / (G - 1), on G - 1 degrees of freedom (Cameron & Miller)."""
    labels = "aaabbbcccddd"
    sums, _ = sum_clusters_by_hand(GAINS, labels)
    mean = sum(GAINS) / 12
    error = sqrt(4 / 3 * sum((total - 3 * mean) ** 2 for total in sums)) / 12
    clusters = PairedScores.from_differences(np.array(GAINS)[:, None]).sum_clusters(
        np.repeat(np.arange(4), 3)
    )
    moments = Moments.of(clusters)
    assert moments.degrees == 3
    deviations = clusters.deviations[:, 0]
    assert moments.sd[0] == np.sqrt((deviations**2).sum() / 3)
    assert moments.error[0] == pytest.approx(error)
    assert estimate_error(GAINS, labels) == pytest.approx((error, 3))
    pair = compare(BOTH, clusters=dict(zip(SESSIONS, labels, strict=True)), test="t")["score"][
        "new"
    ]
    assert pair.p == pair.p_t == pytest.approx(2 * stats.t.sf(mean / error, 3))


def test_t_of_unequal_clusters_is_refused_and_the_remedy_works() -> None:
    message = "the clusters have 1 to 4 queries; .* false alarms in 12 to 44% .* Leave it out"
    with pytest.raises(OptionError, match=message):
        compare(BOTH, clusters=SESSIONS, test="t")
    with pytest.raises(OptionError, match=message):
        gate(BOTH, baseline="old", margin=0.05, clusters=SESSIONS, test="t")
    assert compare(BOTH, clusters=SESSIONS)["score"]["new"].p == 26 / 64
    assert gate(BOTH, baseline="old", margin=0.05, clusters=SESSIONS).verdicts[0].method == "exact"
    seeds = {"old": OLD, "new-1": NEW, "new-2": {query: x + 0.01 for query, x in NEW.items()}}
    retrained_gate = gate(
        seeds,
        baseline="old",
        margin=0.05,
        clusters=SESSIONS,
        groups={"new": ["new-1", "new-2"]},
        deterministic="old",
        trained_again=True,
    )
    assert (
        retrained_gate.verdicts[0].clusters == 6
    )  # a t test by CR2, which has no other to be left for


def test_clusters_of_one_query_change_nothing() -> None:
    single = {query: query for query in SESSIONS}
    for test in ("randomization", "t", "bayes"):
        alone = compare(BOTH, test=test)["score"]["new"]
        pair = compare(BOTH, test=test, clusters=single)["score"]["new"]
        assert (pair.p, pair.verdict) == (alone.p, alone.verdict)
        assert (pair.low, pair.high) == pytest.approx((alone.low, alone.high))
        assert pair.design_effect == pytest.approx(1)


@pytest.mark.parametrize("seed", range(6))
def test_many_clusters_are_drawn_flips_of_their_sums(seed: int) -> None:
    chance = np.random.default_rng(seed)
    code = np.sort(chance.integers(0, 30, 100))
    code = np.unique(code, return_inverse=True)[1]
    gains = np.round(chance.normal(0.02, 0.1, 100), 3)
    n = int(code.max()) + 1
    sums = np.array([gains[code == cluster].sum() for cluster in range(n)])
    flips = Flips(n, 5_000, seed)
    p_by_clusters = sign_flip_p_values(
        PairedScores.from_differences(gains[:, None]).sum_clusters(code), flips
    )
    assert p_by_clusters == sign_flip_p_values(PairedScores.from_differences(sums[:, None]), flips)
    ids = [f"q{i:03}" for i in range(100)]
    data = {"old": dict.fromkeys(ids, 0.5), "new": dict(zip(ids, 0.5 + gains, strict=True))}
    labels = dict(zip(ids, (f"c{cluster}" for cluster in code.tolist()), strict=True))
    pair = compare(data, clusters=labels, flips=5_000, seed=seed)["score"]["new"]
    assert pair.p == pytest.approx(p_by_clusters[0])
    assert pair.p is not None
    assert pair.low is not None
    assert pair.high is not None
    assert (pair.low > 0 or pair.high < 0) == (pair.p <= 0.05)


def test_level_of_queries_and_of_clusters() -> None:
    """24 clusters of 5 queries, correlated by .5, without a difference: 2,000 times."""
    chance = np.random.default_rng(20261124)
    code = np.repeat(np.arange(24), 5)
    of_cluster = chance.normal(size=(24, 2_000))[code]
    gains = (of_cluster + chance.normal(size=(120, 2_000))) * sqrt(0.5)
    paired_scores = PairedScores.from_differences(gains)
    clusters = paired_scores.sum_clusters(code)
    alarms = [
        float(np.mean(p <= 0.05))
        for p in (
            sign_flip_p_values(clusters, Flips(24, 2_000, 7)),
            t_test(Moments.of(clusters)),
            t_test(Moments.of(paired_scores)),
        )
    ]
    lowest, highest = stats.binom.ppf([0.0005, 0.9995], 2_000, 0.05) / 2_000
    assert lowest <= alarms[0] <= highest
    assert lowest <= alarms[1] <= highest
    # Student's t of single queries, by its distribution: the mean's variance is 1 + 4 * .5 = 3
    # times as large, and the sums of squares between and within clusters are chi-squared.
    squares = 3 * chance.chisquare(23, 1_000_000) + 0.5 * chance.chisquare(96, 1_000_000)
    t = chance.normal(size=1_000_000) * sqrt(3) / np.sqrt(squares / 119)
    expected = float(np.mean(np.abs(t) >= stats.t.ppf(0.975, 119)))
    lowest, highest = stats.binom.ppf([0.0005, 0.9995], 2_000, expected) / 2_000
    assert lowest <= alarms[2] <= highest
    assert [round(share, 2) for share in (alarms[2], alarms[0])] == [0.27, 0.05]  # as the page says


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.7])
def test_a_cluster_of_half_the_queries_is_allowed_for(correlation: float) -> None:
    """One cluster of 20 queries and 20 of one: neither CR2 nor flips of clusters miss too often."""
    chance = np.random.default_rng(20261127)
    code = np.array([0] * 20 + list(range(1, 21)))
    of_cluster = chance.normal(size=(21, 4_000))[code] * sqrt(correlation)
    clusters = PairedScores.from_differences(
        of_cluster + chance.normal(size=(40, 4_000)) * sqrt(1 - correlation)
    )
    clusters = clusters.sum_clusters(code)
    low, high = t_interval(Moments.of(clusters), 0.05)
    share_held = float(np.mean((low <= 0) & (high >= 0)))
    assert 0.94 <= share_held <= 0.98
    alarms = float(np.mean(sign_flip_p_values(clusters, Flips(21, 2_000, 7)) <= 0.05))
    lowest, highest = stats.binom.ppf([0.0005, 0.9995], 4_000, 0.05) / 4_000
    assert lowest <= alarms <= highest


def test_unequal_and_few_clusters_are_warned_of() -> None:
    ids = [f"q{i:02}" for i in range(40)]
    data = {
        "old": dict.fromkeys(ids, 0.5),
        "new": {query_id: i / 40 for i, query_id in enumerate(ids)},
    }
    unequal = {query_id: "big" if i < 20 else query_id for i, query_id in enumerate(ids)}
    texts = {note.code: note.text for note in compare(data, clusters=unequal).notes}
    assert "the largest of 20 of 40 queries" in texts["unequal-clusters"]
    # (20 + 20 * 1)^2 / (20^2 + 20 * 1^2) = 1600 / 420
    assert f"about {1600 / 420:.1f} clusters, not 21" in texts["unequal-clusters"]
    equal = {query_id: f"c{i // 4}" for i, query_id in enumerate(ids)}
    assert "unequal-clusters" not in {note.code for note in compare(data, clusters=equal).notes}
    three = {query_id: f"c{i // 14}" for i, query_id in enumerate(ids)}
    ranked = {query_id: {"a": 2.0, "b": 1.0 if i % 2 else 3.0} for i, query_id in enumerate(ids)}
    scores = evaluate({query_id: {"a": 1} for query_id in ids}, ranked, "RR")
    mean_intervals = intervals(scores, clusters=three)
    assert "Only 3 clusters of queries" in str(mean_intervals)
    assert "Only" not in str(intervals(scores))
    caution = "often missed"
    text = str(compare(data, clusters=three))
    assert "nothing can be significant" in text
    assert caution not in text


@pytest.mark.parametrize(("systems", "n_clusters"), [((0, 1), 24), ((3, 7), 43)])
def test_on_real_scores_clusters_are_as_often_wrong_as_the_page_says(
    data: Path, systems: tuple[int, int], n_clusters: int
) -> None:
    """Differences of DL 2019, less their mean, each of a cluster of one to five queries.

    1,000 times: how often intervals miss 0, and how often a gate passes what is worse by its
    margin.
    """
    runs = sorted((data / "dl19").glob("*.run.gz"))
    values = align(data / "dl19" / "qrels.txt", runs, "nDCG@10").scores[0]
    real = values[:, systems[0]] - values[:, systems[1]]
    real -= real.mean()
    chance, times = np.random.default_rng(20261124), 1_000
    n_missed, n_passed = {"flips": 0, "t": 0, "queries": 0}, {"flips": 0, "t": 0, "queries": 0}
    by_flips, by_t = GateSettings(flips=1_000), GateSettings(test="t")
    for _ in range(times):
        code = np.repeat(np.arange(n_clusters), chance.integers(1, 6, n_clusters))
        gains = (chance.choice(real, n_clusters)[code] + chance.normal(0, 0.05, len(code)))[:, None]
        queries = PairedScores.from_differences(gains)
        clusters = queries.sum_clusters(code)
        _, *ends = invert_sign_flips(clusters, Flips(n_clusters, 1_000, 7), 0.05)
        intervals = {"flips": ends, "t": t_interval(Moments.of(clusters), 0.05)}
        intervals["queries"] = t_interval(Moments.of(queries), 0.05)
        for name, (low, high) in intervals.items():
            n_missed[name] += not low[0] <= 0 <= high[0]
        gain_sample = GainSample(gains - 0.02, 0.02, units=Clusters([None] * len(code), code))
        n_passed["flips"] += bool(run_gain_tests(gain_sample, by_flips).is_above[0, 0])
        n_passed["t"] += bool(run_gain_tests(gain_sample, by_t).is_above[0, 0])
        n_passed["queries"] += bool(
            run_gain_tests(replace(gain_sample, units=EACH_QUERY), by_t).is_above[0, 0]
        )
    lowest, highest = stats.binom.ppf(0.0005, times, 0.03), stats.binom.ppf(0.9995, times, 0.07)
    for name in ("flips", "t"):
        assert lowest <= n_missed[name] <= highest
        assert lowest <= n_passed[name] <= highest
    assert n_missed["queries"] > 2 * highest
    assert n_passed["queries"] > highest


def test_power_with_clusters_is_that_of_a_test_of_their_means() -> None:
    """Clusters of 4 queries, correlated by .3: found as often as promised, 4,000 times."""
    n = queries_needed(effect=0.3, cluster_size=4, icc=0.3)
    assert n % 4 == 0
    stated_power = power(0.3, n, cluster_size=4, icc=0.3)
    assert power(0.3, n - 4, cluster_size=4, icc=0.3) < 0.8 <= stated_power
    chance = np.random.default_rng(5)
    of_cluster = np.repeat(chance.normal(size=(n // 4, 4_000)), 4, axis=0)
    gains = 0.3 + sqrt(0.3) * of_cluster + sqrt(0.7) * chance.normal(size=(n, 4_000))
    clusters = PairedScores.from_differences(gains).sum_clusters(np.repeat(np.arange(n // 4), 4))
    share_significant = float(np.mean(t_test(Moments.of(clusters)) <= 0.05))
    lowest, highest = stats.binom.ppf([0.0005, 0.9995], 4_000, stated_power) / 4_000
    assert lowest <= share_significant <= highest
    assert (
        detectable(n, cluster_size=4, icc=0.3) <= 0.3 < detectable(n - 4, cluster_size=4, icc=0.3)
    )


def test_power_without_correlation_loses_little_to_clusters() -> None:
    assert queries_needed(effect=0.3, cluster_size=1, icc=0.5) == queries_needed(effect=0.3)
    alone = queries_needed(effect=0.3)
    assert alone <= queries_needed(effect=0.3, cluster_size=5, icc=0) <= alone + 15
    n_needed = queries_needed(effect=0.3, cluster_size=5, icc=1)
    assert n_needed == 5 * alone  # each cluster says as much as one query


def test_power_on_the_command_line_takes_clusters() -> None:
    outcome = CliRunner().invoke(
        cli, ["power", "--effect", "0.3", "--cluster-size", "5", "--icc", "0.5", "--format", "json"]
    )
    row = json.loads(outcome.output)
    assert row["queries"] == queries_needed(effect=0.3, cluster_size=5, icc=0.5)
    assert (row["clusters"], row["deff"]) == (row["queries"] // 5, 1 + 4 * 0.5)
    refusal = CliRunner().invoke(cli, ["power", "--effect", "0.3", "--cluster-size", "5"])
    assert refusal.exit_code == 2
    assert "state cluster_size and icc together" in refusal.output
    cluster_refusal = CliRunner().invoke(
        cli, ["power", "--n-queries", "9", "--cluster-size", "5", "--icc", "0.5"]
    )
    assert "expected at least two clusters of 5 queries" in cluster_refusal.output


def test_commands_read_clusters_from_a_file(tmp_path: Path, demo_folder: Path) -> None:
    files = [str(demo_folder / "demo" / name) for name in ("qrels.txt", "dense.run", "fusion.run")]
    lines = Path(files[0]).read_text("utf-8").splitlines()
    queries = list(dict.fromkeys(line.split()[0] for line in lines))
    labels = tmp_path / "labels.csv"
    rows = [f"{query},s{i // 3},{i}" for i, query in enumerate(queries)]
    labels.write_text("\n".join(["query_id,session,number", *rows]))
    cluster_options = ["--clusters", str(labels), "--cluster-by", "session"]
    outcome = CliRunner().invoke(cli, ["compare", *files, *cluster_options])
    assert outcome.exit_code == 0, outcome.output
    assert "40 queries in 14 clusters" in outcome.output
    assert "deff: the design effect" in outcome.output
    gated = ["gate", *files, "--baseline", "dense", "--margin", "2%", *cluster_options]
    assert "40 queries in 14 clusters" in CliRunner().invoke(cli, gated).output
    page = tmp_path / "report.html"
    report_outcome = CliRunner().invoke(cli, ["report", *files, *cluster_options, "-o", str(page)])
    assert report_outcome.exit_code == 0, report_outcome.output
    assert "40 in 14 clusters, ids " in page.read_text("utf-8")
    refusal = CliRunner().invoke(cli, ["compare", *files, "--clusters", str(labels)])
    assert refusal.exit_code == 2
    assert "has 2 columns of labels: session, number" in refusal.output


def test_a_gate_tests_whole_clusters() -> None:
    labels = "aaabbbcccddd"
    equal = dict(zip(SESSIONS, labels, strict=True))
    alone = gate(BOTH, baseline="old", margin=0.05, test="t").verdicts[0]
    result = gate(BOTH, baseline="old", margin=0.05, test="t", clusters=equal)
    (verdict,) = result.verdicts
    assert verdict.clusters == 4
    assert alone.lower is not None
    assert verdict.lower is not None
    assert verdict.lower < alone.lower
    assert "12 queries in 4 clusters" in str(result)
    error, df = estimate_error(GAINS, labels)
    assert verdict.lower == pytest.approx(verdict.difference - stats.t.ppf(0.95, df) * error)


def test_a_gate_flips_whole_clusters_about_the_margin() -> None:
    verdict = gate(BOTH, baseline="old", margin=0.05, clusters=SESSIONS).verdicts[0]
    sums, _ = sum_clusters_by_hand([gain + 0.05 for gain in GAINS], "aaabbccccdef")
    total = sum(sums)
    as_large = sum(
        sum(sign * cluster_sum for sign, cluster_sum in zip(signs, sums, strict=True))
        >= total - 1e-12
        for signs in product((1, -1), repeat=6)
    )
    assert verdict.p == as_large / 64
    _, means = flip_clusters(GAINS, "aaabbccccdef")  # without the flip of none, which counts, too
    assert verdict.lower == pytest.approx(sorted(means)[int(0.05 * 64) - 1])


def test_a_gate_needs_ten_clusters_that_differ() -> None:
    worse = {query: 0.5 - abs(gain) / 100 for query, gain in zip(SESSIONS, GAINS, strict=True)}
    data = {"old": OLD, "new": worse}
    assert gate(data, baseline="old", margin=0.05).outcome == "PASS"
    result = gate(data, baseline="old", margin=0.05, clusters=SESSIONS)
    assert result.outcome == "UNDECIDED"
    assert result.verdicts[0].changed_clusters == 6
    assert any("only 6 clusters differ, as there are no more" in note.text for note in result.notes)


def test_a_share_as_margin_and_single_clusters_are_those_of_queries() -> None:
    chance = np.random.default_rng(3)
    ids = [f"q{i}" for i in range(40)]
    data = {
        "old": dict(zip(ids, chance.random(40).tolist(), strict=True)),
        "new": dict(zip(ids, chance.random(40).tolist(), strict=True)),
    }
    for test in ("randomization", "t"):
        alone = gate(data, baseline="old", margin="5%", test=test).verdicts[0]
        single = {query: query for query in ids}
        verdict = gate(data, baseline="old", margin="5%", test=test, clusters=single).verdicts[0]
        assert (verdict.lower, verdict.upper, verdict.p) == pytest.approx(
            (alone.lower, alone.upper, alone.p)
        )


def test_a_threshold_takes_clusters() -> None:
    labels = "aaabbbcccddd"
    threshold = gate(
        {"new": NEW},
        at_least={"score": 0.5},
        limit=True,
        test="t",
        clusters=dict(zip(SESSIONS, labels, strict=True)),
    ).thresholds[0]
    error, df = estimate_error(GAINS, labels)
    mean = 0.5 + sum(GAINS) / 12
    assert threshold.lower == pytest.approx(mean - stats.t.ppf(0.95, df) * error)


def test_the_interval_of_a_mean_is_cluster_robust() -> None:
    result = compare(BOTH, clusters=SESSIONS)["score"]
    new = next(system for system in result.systems if system.name == "new")
    assert (new.low, new.high) == pytest.approx(interval_by_hand(new.mean, GAINS, "aaabbccccdef"))


def test_one_system_alone_has_a_cluster_robust_interval() -> None:
    comparison = compare({"new": NEW}, clusters=SESSIONS)
    (new,) = comparison["score"].systems
    assert (new.low, new.high) == pytest.approx(interval_by_hand(new.mean, GAINS, "aaabbccccdef"))
    assert "12 queries in 6 clusters" in str(comparison)
    assert "(Student's t, cluster-robust)" in str(comparison)


def test_a_slice_has_its_own_clusters() -> None:
    kinds = {query: "x" if i < 9 else "y" for i, query in enumerate(SESSIONS)}
    comparison = compare(BOTH, clusters=SESSIONS, slices=kinds)
    pair = comparison.slice("score", "x")["new"]
    assert pair.clusters == 3
    assert pair.p == flip_clusters(GAINS[:9], "aaabbcccc")[0]
    assert "clusters" in comparison.to_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "sign"}, "test='sign' takes queries as independent"),
        ({"test": "bootstrap"}, "with clusters, leave it out"),
        ({"correction": "tukey"}, "correction='tukey' takes queries as independent"),
    ],
)
def test_tests_of_independent_queries_are_refused(options: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        compare(BOTH, clusters=SESSIONS, **options)


def test_what_is_wrong_with_clusters_is_said() -> None:
    with pytest.raises(InputError, match="all 12 queries are in one, 'a'"):
        compare(BOTH, clusters=dict.fromkeys(SESSIONS, "a"))
    with pytest.raises(InputError, match="none of the 12 queries here has a label"):
        compare(BOTH, clusters={"other": "a"})
    with pytest.raises(DuplicateError, match="'q00' is 'b' as 'session' here, and 'a' above"):
        compare(
            BOTH,
            clusters=[
                {"query_id": "q00", "session": "a"},
                {"query_id": "q00", "session": "b"},
            ],
        )
    label_columns = {"session": SESSIONS, "user": SESSIONS}
    with pytest.raises(InputError, match="has 2 columns of labels: session, user"):
        compare(BOTH, clusters=label_columns)
    with pytest.raises(InputError, match="has no labels 'sesion'; it has session, user"):
        compare(BOTH, clusters=label_columns, cluster_by="sesion")
    assert compare(BOTH, clusters=label_columns, cluster_by="user")["score"].n_clusters == 6
    with pytest.raises(OptionError, match="cluster_by='user' names one of the columns"):
        compare(BOTH, cluster_by="user")
    with pytest.raises(OptionError, match="test='bounded' takes queries as independent"):
        gate(BOTH, baseline="old", margin=0.05, clusters=SESSIONS, test="bounded")


def test_a_query_without_a_label_is_a_cluster_of_its_own() -> None:
    partial_labels = {query: label for query, label in SESSIONS.items() if label not in "def"}
    with pytest.warns(CranfieldWarning, match="3 of 12 queries have no label of a cluster"):
        pair = compare(BOTH, clusters=partial_labels)["score"]["new"]
    assert pair.p == 26 / 64


def codes(result: Any) -> list[str]:
    return [note.code for note in result.notes]


@pytest.mark.parametrize(
    ("ids", "alike"),
    [
        ([f"q{i}-{letter}" for i in range(6) for letter in "abc"], True),
        ([f"{i}{letter}" for i in range(101, 110) for letter in "ab"], True),
        ([f"{tongue}-{i}" for tongue in ("de", "en") for i in range(9)], True),
        ([f"31_{i}" for i in range(9)] + [f"32_{i}" for i in range(9)], True),
        ([f"q{i}" for i in range(18)], False),
        ([f"MED-{i}" for i in range(18)], False),
        ([f"{i}" for i in range(18)], False),
    ],
)
def test_ids_that_look_like_clusters_are_told(ids: list[str], alike: bool) -> None:
    data = {"old": dict.fromkeys(ids, 0.5), "new": dict.fromkeys(ids, 0.6)}
    assert ("looks-clustered" in codes(compare(data))) == alike
    labels = {query: query.strip("abc") or query for query in ids}
    assert "looks-clustered" not in codes(compare(data, clusters={**labels, ids[0]: "x"}))


def test_json_has_the_clusters() -> None:
    document = compare(BOTH, clusters=SESSIONS).to_dict()
    assert document["clusters"] == list("aaabbccccdef")
    assert document["results"][0]["pairs"][0]["clusters"] == 6
    assert compare(BOTH).to_dict()["clusters"] is None


@pytest.mark.parametrize("end", ["", "\n", "-", "--\n"])
def test_ids_of_many_parts_take_time_as_they_are_long(end: str) -> None:
    """It would be minutes where the time grows with the square of the length."""
    query_ids = [f"{'a-' * 200_000}{i}{end}" for i in range(10)]
    begin = time.process_time()
    [*_id_pattern_notes(query_ids)]
    assert time.process_time() - begin < 20
