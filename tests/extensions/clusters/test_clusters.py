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


def of_clusters(gains: list[float], labels: str) -> tuple[list[float], list[int]]:
    """Return the sum and the number of queries of each cluster, by a loop."""
    names = list(dict.fromkeys(labels))
    sums = [sum(g for g, label in zip(gains, labels, strict=True) if label == one) for one in names]
    return sums, [labels.count(one) for one in names]


def flipped(gains: list[float], labels: str) -> tuple[float, list[float]]:
    """Return the exact p, and for each flip the two means of which a shift lies between."""
    sums, sizes = of_clusters(gains, labels)
    as_large, means = 0, []
    for signs in product((1, -1), repeat=len(sums)):
        total = sum(sign * one for sign, one in zip(signs, sums, strict=True))
        as_large += abs(total) >= abs(sum(sums)) - 1e-12
        kept = [i for i, sign in enumerate(signs) if sign == 1]
        if len(kept) > 0:
            means.append(sum(sums[i] for i in kept) / sum(sizes[i] for i in kept))
    return as_large / 2 ** len(sums), means


def error_of(gains: list[float], labels: str) -> float:
    """Return the cluster-robust standard error (CR1) of a mean, by its definition."""
    mean, n = sum(gains) / len(gains), len(gains)
    names = set(labels)
    residuals = [
        sum(g - mean for g, label in zip(gains, labels, strict=True) if label == one)
        for one in names
    ]
    return sqrt(len(names) / (len(names) - 1) * sum(one**2 for one in residuals)) / n


def test_p_is_the_share_of_flips_of_whole_clusters() -> None:
    pair = compare(BOTH, clusters=SESSIONS)["score"]["new"]
    assert pair.p == flipped(GAINS, "aaabbccccdef")[0] == 26 / 64
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
        return flipped([one - shift for one in GAINS], "aaabbccccdef")[0]

    for end, out in ((low, -1e-6), (high, 1e-6)):
        assert p_of(end + out) <= alpha < p_of(end - out)


def test_the_error_is_cluster_robust() -> None:
    pair = compare(BOTH, clusters=SESSIONS, test="t")["score"]["new"]
    error = error_of(GAINS, "aaabbccccdef")
    assert error == pytest.approx(0.0486103175, abs=1e-10)
    t = sum(GAINS) / 12 / error
    assert pair.p == pair.p_t == pytest.approx(2 * stats.t.sf(t, 5))
    assert pair.p == pytest.approx(0.1679975225, abs=1e-9)
    half = stats.t.ppf(0.975, 5) * error
    assert (pair.low, pair.high) == pytest.approx((pair.difference - half, pair.difference + half))
    assert (pair.low, pair.high) == pytest.approx((-0.0466234657, 0.2032901324), abs=1e-9)
    of_queries = np.var(GAINS, ddof=1) / 12
    assert pair.design_effect == pytest.approx(error**2 / of_queries)
    assert pair.design_effect == pytest.approx(2.6896617802)


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
    sums = np.array([gains[code == one].sum() for one in range(n)])
    flips = Flips(n, 5_000, seed)
    own = sign_flip_p_values(
        PairedScores.from_differences(gains[:, None]).sum_clusters(code), flips
    )
    assert own == sign_flip_p_values(PairedScores.from_differences(sums[:, None]), flips)
    ids = [f"q{i:03}" for i in range(100)]
    data = {"old": dict.fromkeys(ids, 0.5), "new": dict(zip(ids, 0.5 + gains, strict=True))}
    labels = dict(zip(ids, (f"c{one}" for one in code.tolist()), strict=True))
    pair = compare(data, clusters=labels, flips=5_000, seed=seed)["score"]["new"]
    assert pair.p == pytest.approx(own[0])
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
    paired = PairedScores.from_differences(gains)
    clusters = paired.sum_clusters(code)
    alarms = [
        float(np.mean(p <= 0.05))
        for p in (
            sign_flip_p_values(clusters, Flips(24, 2_000, 7)),
            t_test(Moments.of(clusters)),
            t_test(Moments.of(paired)),
        )
    ]
    least, most = stats.binom.ppf([0.0005, 0.9995], 2_000, 0.05) / 2_000
    assert least <= alarms[0] <= most
    assert least <= alarms[1] <= most
    # Student's t of single queries, by its distribution: the mean's variance is 1 + 4 * .5 = 3
    # times as large, and the sums of squares between and within clusters are chi-squared.
    squares = 3 * chance.chisquare(23, 1_000_000) + 0.5 * chance.chisquare(96, 1_000_000)
    t = chance.normal(size=1_000_000) * sqrt(3) / np.sqrt(squares / 119)
    expected = float(np.mean(np.abs(t) >= stats.t.ppf(0.975, 119)))
    least, most = stats.binom.ppf([0.0005, 0.9995], 2_000, expected) / 2_000
    assert least <= alarms[2] <= most
    assert [round(one, 2) for one in (alarms[2], alarms[0])] == [0.27, 0.05]  # as the page says


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.7])
def test_a_cluster_of_half_the_queries_needs_flips(correlation: float) -> None:
    """One cluster of 20 queries and 20 of one: Student's t misses, flips of clusters do not."""
    chance = np.random.default_rng(20261127)
    code = np.array([0] * 20 + list(range(1, 21)))
    of_cluster = chance.normal(size=(21, 4_000))[code] * sqrt(correlation)
    clusters = PairedScores.from_differences(
        of_cluster + chance.normal(size=(40, 4_000)) * sqrt(1 - correlation)
    )
    clusters = clusters.sum_clusters(code)
    low, high = t_interval(Moments.of(clusters), 0.05)
    held = float(np.mean((low <= 0) & (high >= 0)))
    assert 0.73 <= held <= 0.91  # as the note says
    alarms = float(np.mean(sign_flip_p_values(clusters, Flips(21, 2_000, 7)) <= 0.05))
    least, most = stats.binom.ppf([0.0005, 0.9995], 4_000, 0.05) / 4_000
    assert least <= alarms <= most


def test_unequal_and_few_clusters_are_warned_of() -> None:
    ids = [f"q{i:02}" for i in range(40)]
    data = {"old": dict.fromkeys(ids, 0.5), "new": {one: i / 40 for i, one in enumerate(ids)}}
    unequal = {one: "big" if i < 20 else one for i, one in enumerate(ids)}
    texts = {one.code: one.text for one in compare(data, clusters=unequal).notes}
    assert "the largest of 20 of 40 queries" in texts["unequal-clusters"]
    # (20 + 20 * 1)^2 / (20^2 + 20 * 1^2) = 1600 / 420
    assert f"about {1600 / 420:.1f} clusters, not 21" in texts["unequal-clusters"]
    equal = {one: f"c{i // 4}" for i, one in enumerate(ids)}
    assert "unequal-clusters" not in {one.code for one in compare(data, clusters=equal).notes}
    three = {one: f"c{i // 14}" for i, one in enumerate(ids)}
    ranked = {one: {"a": 2.0, "b": 1.0 if i % 2 else 3.0} for i, one in enumerate(ids)}
    scores = evaluate({one: {"a": 1} for one in ids}, ranked, "RR")
    found = intervals(scores, clusters=three)
    assert "Only 3 clusters of queries" in str(found)
    assert "Only" not in str(intervals(scores))
    missed = "is missed in over 20% of cases"
    compared = str(compare(data, clusters=three))
    assert "nothing can be significant" in compared
    assert missed not in compared


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
    missed, passed = {"flips": 0, "t": 0, "queries": 0}, {"flips": 0, "t": 0, "queries": 0}
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
            missed[name] += not low[0] <= 0 <= high[0]
        asked = GainSample(gains - 0.02, 0.02, units=Clusters([None] * len(code), code))
        passed["flips"] += bool(run_gain_tests(asked, by_flips).is_above[0, 0])
        passed["t"] += bool(run_gain_tests(asked, by_t).is_above[0, 0])
        passed["queries"] += bool(
            run_gain_tests(replace(asked, units=EACH_QUERY), by_t).is_above[0, 0]
        )
    least, most = stats.binom.ppf(0.0005, times, 0.03), stats.binom.ppf(0.9995, times, 0.07)
    for name in ("flips", "t"):
        assert least <= missed[name] <= most
        assert least <= passed[name] <= most
    assert missed["queries"] > 2 * most
    assert passed["queries"] > most


def test_power_with_clusters_is_that_of_a_test_of_their_means() -> None:
    """Clusters of 4 queries, correlated by .3: found as often as promised, 4,000 times."""
    n = queries_needed(effect=0.3, cluster_size=4, icc=0.3)
    assert n % 4 == 0
    promised = power(0.3, n, cluster_size=4, icc=0.3)
    assert power(0.3, n - 4, cluster_size=4, icc=0.3) < 0.8 <= promised
    chance = np.random.default_rng(5)
    of_cluster = np.repeat(chance.normal(size=(n // 4, 4_000)), 4, axis=0)
    gains = 0.3 + sqrt(0.3) * of_cluster + sqrt(0.7) * chance.normal(size=(n, 4_000))
    clusters = PairedScores.from_differences(gains).sum_clusters(np.repeat(np.arange(n // 4), 4))
    found = float(np.mean(t_test(Moments.of(clusters)) <= 0.05))
    least, most = stats.binom.ppf([0.0005, 0.9995], 4_000, promised) / 4_000
    assert least <= found <= most
    assert (
        detectable(n, cluster_size=4, icc=0.3) <= 0.3 < detectable(n - 4, cluster_size=4, icc=0.3)
    )


def test_power_without_correlation_loses_little_to_clusters() -> None:
    assert queries_needed(effect=0.3, cluster_size=1, icc=0.5) == queries_needed(effect=0.3)
    alone = queries_needed(effect=0.3)
    assert alone <= queries_needed(effect=0.3, cluster_size=5, icc=0) <= alone + 15
    same = queries_needed(effect=0.3, cluster_size=5, icc=1)
    assert same == 5 * alone  # each cluster says as much as one query


def test_power_on_the_command_line_takes_clusters() -> None:
    done = CliRunner().invoke(
        cli, ["power", "--effect", "0.3", "--cluster-size", "5", "--icc", "0.5", "--format", "json"]
    )
    row = json.loads(done.output)
    assert row["queries"] == queries_needed(effect=0.3, cluster_size=5, icc=0.5)
    assert (row["clusters"], row["deff"]) == (row["queries"] // 5, 1 + 4 * 0.5)
    done = CliRunner().invoke(cli, ["power", "--effect", "0.3", "--cluster-size", "5"])
    assert done.exit_code == 2
    assert "state cluster_size and icc together" in done.output
    done = CliRunner().invoke(
        cli, ["power", "--n-queries", "9", "--cluster-size", "5", "--icc", "0.5"]
    )
    assert "expected at least two clusters of 5 queries" in done.output


def test_commands_read_clusters_from_a_file(tmp_path: Path, demo_folder: Path) -> None:
    files = [str(demo_folder / "demo" / name) for name in ("qrels.txt", "dense.run", "fusion.run")]
    lines = Path(files[0]).read_text("utf-8").splitlines()
    queries = list(dict.fromkeys(line.split()[0] for line in lines))
    labels = tmp_path / "labels.csv"
    rows = [f"{query},s{i // 3},{i}" for i, query in enumerate(queries)]
    labels.write_text("\n".join(["query_id,session,number", *rows]))
    chosen = ["--clusters", str(labels), "--cluster-by", "session"]
    done = CliRunner().invoke(cli, ["compare", *files, *chosen])
    assert done.exit_code == 0, done.output
    assert "40 queries in 14 clusters" in done.output
    assert "deff: the design effect" in done.output
    gated = ["gate", *files, "--baseline", "dense", "--margin", "2%", *chosen]
    assert "40 queries in 14 clusters" in CliRunner().invoke(cli, gated).output
    page = tmp_path / "report.html"
    done = CliRunner().invoke(cli, ["report", *files, *chosen, "-o", str(page)])
    assert done.exit_code == 0, done.output
    assert "40 in 14 clusters, ids " in page.read_text("utf-8")
    done = CliRunner().invoke(cli, ["compare", *files, "--clusters", str(labels)])
    assert done.exit_code == 2
    assert "has 2 columns of labels: session, number" in done.output


def test_a_gate_tests_whole_clusters() -> None:
    for test in ("randomization", "t"):
        alone = gate(BOTH, baseline="old", margin=0.05, test=test).verdicts[0]
        found = gate(BOTH, baseline="old", margin=0.05, test=test, clusters=SESSIONS)
        (verdict,) = found.verdicts
        assert verdict.clusters == 6
        assert alone.lower is not None
        assert verdict.lower is not None
        assert verdict.lower < alone.lower
        assert "12 queries in 6 clusters" in str(found)
    t = stats.t.ppf(0.95, 5)
    assert verdict.lower == pytest.approx(verdict.difference - t * error_of(GAINS, "aaabbccccdef"))


def test_a_gate_flips_whole_clusters_about_the_margin() -> None:
    found = gate(BOTH, baseline="old", margin=0.05, clusters=SESSIONS).verdicts[0]
    sums, _ = of_clusters([one + 0.05 for one in GAINS], "aaabbccccdef")
    total = sum(sums)
    as_large = sum(
        sum(sign * one for sign, one in zip(signs, sums, strict=True)) >= total - 1e-12
        for signs in product((1, -1), repeat=6)
    )
    assert found.p == as_large / 64
    _, means = flipped(GAINS, "aaabbccccdef")  # without the flip of none, which counts, too
    assert found.lower == pytest.approx(sorted(means)[int(0.05 * 64) - 1])


def test_a_gate_needs_ten_clusters_that_differ() -> None:
    worse = {query: 0.5 - abs(gain) / 100 for query, gain in zip(SESSIONS, GAINS, strict=True)}
    data = {"old": OLD, "new": worse}
    assert gate(data, baseline="old", margin=0.05).outcome == "PASS"
    found = gate(data, baseline="old", margin=0.05, clusters=SESSIONS)
    assert found.outcome == "UNDECIDED"
    assert found.verdicts[0].changed_clusters == 6
    assert any("only 6 of 6 clusters differ" in note.text for note in found.notes)


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
        found = gate(data, baseline="old", margin="5%", test=test, clusters=single).verdicts[0]
        assert (found.lower, found.upper, found.p) == pytest.approx(
            (alone.lower, alone.upper, alone.p)
        )


def test_a_threshold_takes_clusters() -> None:
    alone = gate({"new": NEW}, at_least={"score": 0.5}, limit=True, test="t").thresholds[0]
    found = gate(
        {"new": NEW}, at_least={"score": 0.5}, limit=True, test="t", clusters=SESSIONS
    ).thresholds[0]
    assert alone.lower is not None
    t = stats.t.ppf(0.95, 5)
    assert found.lower == pytest.approx(0.5 + sum(GAINS) / 12 - t * error_of(GAINS, "aaabbccccdef"))
    assert found.lower is not None
    assert found.lower < alone.lower


def test_the_interval_of_a_mean_is_cluster_robust() -> None:
    result = compare(BOTH, clusters=SESSIONS)["score"]
    new = next(one for one in result.systems if one.name == "new")
    half = stats.t.ppf(0.975, 5) * error_of(GAINS, "aaabbccccdef")
    assert (new.low, new.high) == pytest.approx((new.mean - half, new.mean + half))


def test_one_system_alone_has_a_cluster_robust_interval() -> None:
    found = compare({"new": NEW}, clusters=SESSIONS)
    (new,) = found["score"].systems
    half = stats.t.ppf(0.975, 5) * error_of(GAINS, "aaabbccccdef")
    assert (new.low, new.high) == pytest.approx((new.mean - half, new.mean + half))
    assert "12 queries in 6 clusters" in str(found)
    assert "(Student's t, cluster-robust)" in str(found)


def test_a_slice_has_its_own_clusters() -> None:
    kinds = {query: "x" if i < 9 else "y" for i, query in enumerate(SESSIONS)}
    found = compare(BOTH, clusters=SESSIONS, slices=kinds)
    pair = found.slice("score", "x")["new"]
    assert pair.clusters == 3
    assert pair.p == flipped(GAINS[:9], "aaabbcccc")[0]
    assert "clusters" in found.to_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"test": "sign"}, "test='sign' takes queries as independent"),
        ({"test": "bootstrap"}, "with clusters, choose one of 'randomization', 't', 'bayes'"),
        ({"correction": "tukey"}, "correction='tukey' takes queries as independent"),
    ],
)
def test_tests_of_independent_queries_are_refused(options: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
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
    several = {"session": SESSIONS, "user": SESSIONS}
    with pytest.raises(InputError, match="has 2 columns of labels: session, user"):
        compare(BOTH, clusters=several)
    with pytest.raises(InputError, match="has no labels 'sesion'; it has session, user"):
        compare(BOTH, clusters=several, cluster_by="sesion")
    assert compare(BOTH, clusters=several, cluster_by="user")["score"].n_clusters == 6
    with pytest.raises(OptionError, match="cluster_by='user' names one of the columns"):
        compare(BOTH, cluster_by="user")
    with pytest.raises(OptionError, match="test='bounded' takes queries as independent"):
        gate(BOTH, baseline="old", margin=0.05, clusters=SESSIONS, test="bounded")


def test_a_query_without_a_label_is_a_cluster_of_its_own() -> None:
    some = {query: label for query, label in SESSIONS.items() if label not in "def"}
    with pytest.warns(CranfieldWarning, match="3 of 12 queries have no label of a cluster"):
        pair = compare(BOTH, clusters=some)["score"]["new"]
    assert pair.p == 26 / 64


def codes(found: Any) -> list[str]:
    return [note.code for note in found.notes]


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
    named = {query: query.strip("abc") or query for query in ids}
    assert "looks-clustered" not in codes(compare(data, clusters={**named, ids[0]: "x"}))


def test_json_has_the_clusters() -> None:
    found = compare(BOTH, clusters=SESSIONS).to_dict()
    assert found["clusters"] == list("aaabbccccdef")
    assert found["results"][0]["pairs"][0]["clusters"] == 6
    assert compare(BOTH).to_dict()["clusters"] is None


@pytest.mark.parametrize("end", ["", "\n", "-", "--\n"])
def test_ids_of_many_parts_take_time_as_they_are_long(end: str) -> None:
    """It would be minutes where the time grows with the square of the length."""
    query_ids = [f"{'a-' * 200_000}{i}{end}" for i in range(10)]
    begin = time.process_time()
    [*_id_pattern_notes(query_ids)]
    assert time.process_time() - begin < 20
