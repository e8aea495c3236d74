"""Orderings of systems: correlate, discriminative power, swap rate, and their command."""

import csv
import io
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.vectors import CASE_A, to_fractions
from scipy import stats

import cranfield
from cranfield import (
    InputError,
    MeasureError,
    OptionError,
    Qrels,
    correlate,
    discriminative_power,
    evaluate,
    swap_rate,
)
from cranfield.arrays import products
from cranfield.cli import cli
from cranfield.extensions.whatif import variants

SystemScores = dict[str, dict[str, dict[str, float]]]  # system -> measure -> query -> score

SAKAI = {  # case A: 20 queries, three systems
    name: {f"q{i:02}": value for i, value in enumerate(to_fractions(of_system))}
    for name, of_system in CASE_A.items()
}


def scores_of(values: dict[str, Any]) -> SystemScores:
    """Return {measure: (n_queries, n_systems)} as scores."""
    n, m = next(iter(values.values())).shape
    return {
        f"s{j}": {
            measure: {f"q{i:02}": float(scores[i, j]) for i in range(n)}
            for measure, scores in values.items()
        }
        for j in range(m)
    }


def draw_scores(seed: int, n: int, m: int) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    truth = generator.random((n, m)) + np.linspace(0, 0.2, m)
    return {"one": truth.round(2), "two": (truth + generator.normal(0, 0.3, (n, m))).round(2)}


# ---- correlate ------------------------------------------------------------------------------


def test_coefficients_are_those_of_the_means() -> None:
    scores_of_measure = draw_scores(1, 12, 7)
    [pair] = correlate(scores_of(scores_of_measure)).pairs
    x, y = (scores.mean(axis=0) for scores in scores_of_measure.values())
    assert (pair.reference, pair.other) == ("one", "two")
    assert pair.kendall == cranfield.kendall(x, y)
    assert pair.tau_ap == pair.tau_ap_a == cranfield.tau_ap(x, y)
    assert pair.tau_ap_b == cranfield.tau_ap_b(x, y)
    assert pair.weighted_tau == cranfield.weighted_tau(x, y)
    assert pair.spearman == pytest.approx(stats.spearmanr(x, y).statistic)
    first, second = ([f"s{j}" for j in np.argsort(-means)] for means in (x, y))
    assert pair.rbo == cranfield.rbo(first, second, p=0.9)


def test_the_interval_is_made_of_resampled_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    scores_of_measure = draw_scores(2, 15, 5)
    [pair] = correlate(scores_of(scores_of_measure), resamples=200, seed=7).pairs
    rows = np.random.default_rng(7).integers(15, size=(200, 15))
    taus = [
        stats.kendalltau(
            *(scores[resample].mean(axis=0).round(9) for scores in scores_of_measure.values())
        ).statistic
        for resample in rows
    ]
    assert pair.interval == pytest.approx(np.quantile(taus, [0.025, 0.975]), abs=1e-12)
    for cells in (1, 100):
        monkeypatch.setattr(products, "BLOCK_CELLS", cells)
        [pair_in_small_cells] = correlate(scores_of(scores_of_measure), resamples=200, seed=7).pairs
        assert pair_in_small_cells.interval == pair.interval
    [narrow_pair] = correlate(scores_of(scores_of_measure), resamples=200, seed=7, alpha=0.4).pairs
    assert narrow_pair.interval == pytest.approx(np.quantile(taus, [0.2, 0.8]), abs=1e-12)


def test_the_logarithms_of_a_geometric_mean_are_said() -> None:
    scores = {name: {"GMAP": scores, "AP": scores} for name, scores in SAKAI.items()}
    correlation = correlate(scores, resamples=10)
    (note,) = [note for note in correlation.notes if note.code == "geometric"]
    assert note.text.startswith("GMAP: its mean is geometric;")


def test_how_often_the_interval_of_tau_holds_is_said_where_queries_are_few() -> None:
    short_correlation = correlate(
        {name: {"P@5": scores, "AP": scores} for name, scores in SAKAI.items()}, resamples=10
    )
    (note,) = [note for note in short_correlation.notes if note.code == "tau-interval"]
    assert (note.severity, note.queries) == ("info", 20)
    assert note.text in short_correlation.tables()[0].notes
    assert note.to_dict() in short_correlation.to_dict()["notes"]
    long_scores = {
        name: {
            measure: {f"{query}-{i}": score for query, score in scores.items() for i in range(5)}
            for measure in ("P@5", "AP")
        }
        for name, scores in SAKAI.items()
    }
    assert "tau-interval" not in [note.code for note in correlate(long_scores, resamples=10).notes]


def test_columns_may_be_systems(tmp_path: Path) -> None:
    paths = []
    for measure, scores_of_system in (("AP", SAKAI), ("RR", {**SAKAI, "a": SAKAI["c"]})):
        rows = [",".join([q, *(str(scores_of_system[s][q]) for s in "abc")]) for q in SAKAI["a"]]
        paths.append(tmp_path / f"{measure}.csv")
        paths[-1].write_text("\n".join(["query_id,a,b,c", *rows]) + "\n")
    wide = discriminative_power(str(paths[0]), layout="systems")
    assert list(wide.values()) == list(discriminative_power(SAKAI).values())
    assert list(swap_rate(str(paths[0]), layout="systems", splits=20).values()) == list(
        swap_rate(SAKAI, splits=20).values()
    )
    with pytest.raises(InputError, match="nothing to compare the ordering"):
        correlate(str(paths[0]), layout="systems")
    with pytest.raises(OptionError, match="layout="):
        correlate(SAKAI, layout="rows")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "option", [{"alpha": 0.5}, {"flips": 0}, {"seed": -1}, {"resamples": 1.5}, {"splits": 0}]
)
def test_options_out_of_their_range_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(option))):
        correlate(SAKAI, **option)


def test_real_systems(data: Path) -> None:
    runs = [str(path) for path in sorted((data / "dl19").glob("*.run.gz"))]
    systems = evaluate(str(data / "dl19" / "qrels.txt"), runs, "nDCG@10 AP R@100")
    for pair in correlate(systems, resamples=20).pairs:
        x, y = (
            [system[name] for system in systems.values()] for name in (pair.reference, pair.other)
        )
        assert pair.kendall.n == 12
        assert pair.kendall.tau_b == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
        assert pair.weighted_tau == pytest.approx(stats.weightedtau(x, y).statistic, abs=1e-12)
        assert pair.spearman == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


def exact_p(differences: Any) -> float:
    """Every flip of the signs, from the definition."""
    sum_size = abs(math.fsum(differences))
    signs = list(itertools.product([-1, 1], repeat=len(differences)))
    is_as_large = [
        abs(math.fsum(s * d for s, d in zip(flip, differences, strict=True))) >= sum_size - 1e-9
        for flip in signs
    ]
    return sum(is_as_large) / len(signs)


def test_swapped_pairs_have_the_p_values_of_both() -> None:
    scores_of_measure = draw_scores(3, 8, 6)
    [pair] = correlate(scores_of(scores_of_measure)).pairs
    x, y = (scores.mean(axis=0) for scores in scores_of_measure.values())
    expected = {
        (i, j)
        for i, j in itertools.permutations(range(6), 2)
        if x[i] - x[j] > 1e-9 and y[j] - y[i] > 1e-9
    }
    assert {
        (int(swapped_pair.better[1:]), int(swapped_pair.worse[1:])) for swapped_pair in pair.swapped
    } == expected
    assert len(expected) == pair.kendall.discordant > 0
    for swapped_pair in pair.swapped:
        i, j = int(swapped_pair.better[1:]), int(swapped_pair.worse[1:])
        assert swapped_pair.p_reference == exact_p(
            scores_of_measure["one"][:, i] - scores_of_measure["one"][:, j]
        )
        assert swapped_pair.p_other == exact_p(
            scores_of_measure["two"][:, i] - scores_of_measure["two"][:, j]
        )


def test_pairs_of_which_both_are_sure_are_counted_and_named() -> None:
    rising = np.arange(10) / 100
    first_scores = np.stack([rising + 0.1, rising, rising + 0.3], axis=1)
    second_scores = np.stack([rising, rising + 0.1, rising + 0.3 * (-1) ** np.arange(10)], axis=1)
    correlation = correlate(scores_of({"one": first_scores, "two": second_scores}))
    [pair] = correlation.pairs
    is_sure_of_pair = {
        (swapped_pair.better, swapped_pair.worse): swapped_pair.is_sure(0.05)
        for swapped_pair in pair.swapped
    }
    assert is_sure_of_pair == {("s0", "s1"): True, ("s2", "s1"): False}
    assert pair.swapped_sure == 1
    text = str(correlation)
    assert "one ~ two: one has s0 above s1, two below, and both are sure." in text
    assert "one ~ two: one has s2 above s1, two below; not both are sure." in text
    assert "all flips" in text
    [strict_pair] = correlate(
        scores_of({"one": first_scores, "two": second_scores}), alpha=0.001
    ).pairs
    assert strict_pair.swapped_sure == 0  # 2 of 1,024 flips are as large


def test_many_swapped_pairs_are_counted_and_not_all_named() -> None:
    values = np.arange(8.0) * np.ones((10, 1))
    text = str(correlate(scores_of({"one": values, "two": -values}), resamples=10))
    assert "s1 above s0, s2 above s0, s2 above s1, s3 above s0, s3 above s1, and 23 more" in text


def test_another_system_changes_no_p_value() -> None:
    scores_of_measure = draw_scores(4, 30, 6)
    scores_of_fewer = {measure: scores[:, :5] for measure, scores in scores_of_measure.items()}
    [pair_of_all], [pair_of_fewer] = (
        correlate(scores_of(scores), flips=2000).pairs
        for scores in (scores_of_measure, scores_of_fewer)
    )
    assert pair_of_fewer.swapped
    assert set(pair_of_fewer.swapped) <= set(pair_of_all.swapped)


def test_every_two_measures_or_each_with_the_reference() -> None:
    scores_of_measure = {**draw_scores(5, 10, 4), "AP": draw_scores(6, 10, 4)["one"] / 2}
    scores = scores_of(scores_of_measure)

    def labels(**options: Any) -> list[str]:
        return [pair.label for pair in correlate(scores, resamples=10, **options).pairs]

    assert labels() == ["one ~ two", "one ~ AP", "two ~ AP"]
    assert labels(reference="two") == ["two ~ one", "two ~ AP"]
    assert labels(reference="map") == ["AP ~ one", "AP ~ two"]
    assert labels(reference=cranfield.AP) == labels(reference="AP")
    assert labels(measures=["two", "AP"]) == ["two ~ AP"]
    with pytest.raises(OptionError, match="there are one, two, AP"):
        labels(reference="RR")
    with pytest.raises(OptionError, match="leaves nothing"):
        correlate({"all": Qrels(QRELS)}, RUNS, "RR AP", reference="all")


QRELS = {f"q{i}": {"a": 2, "b": 1, "c": 0} for i in range(6)}
RUNS = {
    "good": {f"q{i}": ["a", "b", "c"] for i in range(6)},
    "fair": {f"q{i}": ["b", "x", "y", "a"] for i in range(6)},
    "poor": {f"q{i}": ["x", "y", "z", "b", "a"] for i in range(6)},
}
GRADE_2 = Qrels({query: {"a": 1, "b": 0, "c": 0} for query in QRELS})
SOME = Qrels({query: docs for query, docs in QRELS.items() if query != "q0"})


def test_several_judgments() -> None:
    judgments = {"all": Qrels(QRELS), "two": GRADE_2}
    correlation = correlate(judgments, RUNS, "RR")
    assert [pair.label for pair in correlation.pairs] == ["all ~ two"]
    assert correlation.orderings[0].scores.tolist() == [1, 1, 1 / 4]
    assert correlation.orderings[1].scores.tolist() == pytest.approx([1, 1 / 4, 1 / 5])
    assert correlation.tables()[0].title[0] == "3 systems   6 queries   RR"
    correlation_of_scores = correlate(
        {name: evaluate(qrels, RUNS, "RR") for name, qrels in judgments.items()}
    )
    assert correlation_of_scores.pairs == correlation.pairs
    assert correlation.pairs[0].tau_ap_a is None  # tied in the reference
    assert correlate(judgments, RUNS, "RR", reference="two").pairs[0].tau_ap_a is not None


def test_several_judgments_and_measures() -> None:
    """A measure is compared with itself."""
    judgments = {"all": Qrels(QRELS), "two": GRADE_2}
    correlation = correlate(judgments, RUNS, "RR AP")
    assert [pair.label for pair in correlation.pairs] == ["all: RR ~ two: RR", "all: AP ~ two: AP"]
    correlation = correlate(judgments, RUNS, "RR AP", reference="two")
    assert [pair.label for pair in correlation.pairs] == ["two: RR ~ all: RR", "two: AP ~ all: AP"]
    correlation = correlate(judgments, RUNS, "RR AP", reference="two: AP")
    assert [pair.label for pair in correlation.pairs] == ["two: AP ~ all: AP"]
    # One measure each is compared with the other.
    scores = {"a": evaluate(QRELS, RUNS, "RR"), "b": evaluate(QRELS, RUNS, "AP")}
    assert [pair.label for pair in correlate(scores).pairs] == ["a ~ b"]


def test_other_queries_have_no_interval() -> None:
    judgments = {"all": Qrels(QRELS), "some": SOME}
    correlation = correlate(judgments, RUNS, "AP")
    assert correlation.pairs[0].interval is None
    assert correlation.pairs[0].kendall.tau_b == 1
    assert correlation.pairs[0].swapped_sure == 0
    assert "all ~ some: no interval, as the two are not of the same queries." in str(correlation)
    assert correlation.tables()[0].title[0] == "3 systems   5 to 6 queries   AP"


def test_other_systems_are_refused() -> None:
    fewer_runs = {name: RUNS[name] for name in ("good", "fair")}
    scores = {"one": evaluate(QRELS, RUNS, "AP"), "two": evaluate(QRELS, fewer_runs, "AP")}
    with pytest.raises(InputError, match="'poor' is not among those of every one of 'one', 'two'"):
        correlate(scores)


def test_systems_in_another_order_are_the_same() -> None:
    reversed_systems = evaluate(QRELS, dict(reversed(RUNS.items())), "AP")
    correlation = correlate({"one": evaluate(QRELS, RUNS, "AP"), "two": reversed_systems})
    assert correlation.pairs[0].kendall.tau_b == 1


def test_less_may_be_better() -> None:
    systems = evaluate(QRELS, RUNS, "AP SearchLength")
    assert not systems.measures[1].definition.higher_is_better
    correlation = correlate(systems)
    assert (correlation.pairs[0].kendall.concordant, correlation.pairs[0].kendall.discordant) == (
        2,
        0,
    )
    assert correlation.orderings[1].scores.tolist() == [
        system["SearchLength"] for system in systems.values()
    ]
    swaps = swap_rate(systems)["SearchLength"]
    assert swaps.rate == 0


def test_the_geometric_mean_orders_by_logarithms() -> None:
    """One query of which nothing is found weighs more than many others."""
    scores = {f"q{i}": {"AP": 0.3 if i else 0.0} for i in range(8)}
    qrels = {query: {"d": 1} for query in scores}
    runs = {
        "all but one": {query: ["d"] for query in qrels if query != "q0"},
        "half": {query: ["x", "d"] for query in qrels},
    }
    systems = evaluate(qrels, runs, "AP GMAP")
    [pair] = correlate(systems).pairs
    assert pair.kendall.discordant == 1
    logs = [math.log(1e-5) - math.log(0.5), *[math.log(1) - math.log(0.5)] * 7]
    assert pair.swapped[0].p_other == exact_p(logs)


# ---- few systems, few queries, no differences ------------------------------------------------


def test_one_system() -> None:
    correlation = correlate(scores_of({"one": np.ones((3, 1)), "two": np.ones((3, 1))}))
    [pair] = correlation.pairs
    assert (pair.kendall.tau_a, pair.kendall.tau_b, pair.interval) == (None, None, None)
    assert (pair.tau_ap, pair.tau_ap_a, pair.tau_ap_b) == (None, None, None)
    assert (pair.weighted_tau, pair.spearman, pair.rbo.ext) == (None, None, 1)
    assert "1 system   3 queries" in str(correlation)
    check_plain(correlation)


def test_two_systems() -> None:
    scores = np.array([[0.1, 0.2], [0.3, 0.5], [0.3, 0.4]])
    [pair] = correlate(scores_of({"one": scores, "two": -scores})).pairs
    assert (pair.kendall.tau_b, pair.interval, pair.swapped_sure) == (-1, (-1, -1), 0)


def test_one_query() -> None:
    correlation = correlate(
        scores_of({"one": np.array([[1.0, 2, 3]]), "two": np.array([[3.0, 2, 1]])})
    )
    [pair] = correlation.pairs
    assert (pair.kendall.tau_b, pair.interval, pair.swapped_sure) == (-1, None, None)
    assert all(
        swapped_pair.p_reference is swapped_pair.p_other is None for swapped_pair in pair.swapped
    )
    assert "1 query" in str(correlation)
    check_plain(correlation)


def test_no_differences() -> None:
    equal_scores = np.full((30, 4), 0.25)
    correlation = correlate(
        scores_of({"one": equal_scores, "two": equal_scores}), discrimination=True, flips=100
    )
    [pair] = correlation.pairs
    assert pair.kendall.ties_both == 6
    assert (pair.kendall.tau_a, pair.kendall.tau_b, pair.interval) == (0, None, None)
    assert "-: has no value" in str(correlation)
    assert correlation.discrimination is not None
    assert correlation.discrimination.powers["one"].share == 0
    assert correlation.discrimination.swaps["one"].rate == 0
    check_plain(correlation)


def test_resamples_without_a_value_are_said() -> None:
    scores = np.array([[0.0, 1.0], [0.5, 0.5], [0.5, 0.5]])
    correlation = correlate(scores_of({"one": scores, "two": scores}))
    [pair] = correlation.pairs
    assert 0 < pair.resamples < 1000  # without the first query, the two are tied
    assert f"tau-b had a value in {pair.resamples:,} resamples only" in str(correlation)
    assert pair.interval == (1, 1)


def check_plain(correlation: cranfield.Correlation) -> None:
    """Nothing that is shown or handed on is NaN."""
    json.dumps(correlation.to_dict(), allow_nan=False)
    assert "nan" not in str(correlation) + correlation._repr_html_() + repr(correlation)
    assert all(value is None or value == value for *_, value in correlation.rows())


def test_what_is_no_number_is_refused_with_its_system() -> None:
    scores_of_measure = draw_scores(8, 4, 3)
    scores_of_measure["two"][1, 2] = math.nan
    with pytest.raises(InputError, match=r"s2: two of query 'q01' is nan"):
        correlate(scores_of(scores_of_measure))


def test_one_ordering_is_refused() -> None:
    with pytest.raises(InputError, match="Name two measures or more"):
        correlate(QRELS, RUNS, "AP")


def test_a_measure_that_is_not_there_is_refused() -> None:
    with pytest.raises(MeasureError, match="RR"):
        correlate(SAKAI, measures="score RR")


@pytest.mark.parametrize(
    "option",
    [{"alpha": 1}, {"alpha": "x"}, {"flips": 0}, {"resamples": 1.5}, {"seed": -1}, {"splits": 0}],
)
def test_options_out_of_range(option: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(option))):
        correlate(QRELS, RUNS, "AP RR", **option)


# ---- discriminative power -------------------------------------------------------------------


def test_discriminative_power_by_exact_p_values() -> None:
    """The p-values are 69,120, 151,632 and 653,824 of 2^20."""
    for alpha, significant, holm in ((0.07, 1, 0), (0.2, 2, 1)):
        power = discriminative_power(SAKAI, alpha=alpha)["score"]
        assert (power.pairs, power.significant, power.holm) == (3, significant, holm)
        assert (power.share, power.share_holm) == (significant / 3, holm / 3)
        assert power.needed is None


def test_too_few_flips_for_the_correction_are_said() -> None:
    """The least p-value of 99 flips is 1/100: 3 pairs at 0.02 need 1/150."""
    rising_scores = np.stack([np.full(25, 0.1), np.full(25, 0.2), np.full(25, 0.3)], axis=1)
    scores = scores_of({"one": rising_scores, "two": rising_scores})
    power = discriminative_power(scores, alpha=0.02, flips=99)["one"]
    assert (power.significant, power.holm, power.needed) == (3, 0, 149)
    sufficient_power = discriminative_power(scores, alpha=0.02, flips=149)["one"]
    assert (sufficient_power.significant, sufficient_power.holm, sufficient_power.needed) == (
        3,
        3,
        None,
    )
    table = correlate(scores, alpha=0.02, flips=99, discrimination=True)
    assert "one: too few flips for Holm's correction to leave any; it takes 149." in str(table)


# ---- swap rate ------------------------------------------------------------------------------


def test_swap_rate_counted_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = draw_scores(9, 11, 4)["one"]
    swaps = swap_rate(scores_of({"one": scores}), splits=50, seed=3, bins=(0.05, 0.1))["one"]
    generator = np.random.default_rng(3)
    n_seen, n_swapped = [0, 0, 0], [0, 0, 0]
    for _ in range(50):
        order = generator.permuted(np.arange(11))
        halves = scores[order[:5]], scores[order[5:10]]
        for i, j in itertools.combinations(range(4), 2):
            first, second = (half[:, i].mean() - half[:, j].mean() for half in halves)
            bin_number = sum(round(abs(first), 9) >= edge for edge in (0.05, 0.1))
            n_seen[bin_number] += 1
            n_swapped[bin_number] += int(round(first, 9) * round(second, 9) < 0)
    assert (list(swaps.seen), list(swaps.swapped), swaps.queries) == (n_seen, n_swapped, 5)
    assert swaps.rate == sum(n_swapped) / 300
    assert swaps.rates == tuple(a / b for a, b in zip(n_swapped, n_seen, strict=True))
    monkeypatch.setattr(variants, "ROWS", 30)
    swaps_in_blocks = swap_rate(scores_of({"one": scores}), splits=50, seed=3, bins=(0.05, 0.1))[
        "one"
    ]
    assert swaps_in_blocks == swaps


def test_swap_rate_of_what_cannot_swap() -> None:
    scores = np.random.default_rng(1).random((7, 1)) + np.array([0.0, 0.01, 0.3])
    swaps = swap_rate(scores_of({"one": scores}), splits=20)["one"]
    assert swaps.swapped == (0,) * 6
    assert swaps.seen == (0, 20, 0, 0, 0, 40)
    assert swaps.rates == (None, 0, None, None, None, 0)


def test_swap_rate_of_one_query() -> None:
    swaps = swap_rate(scores_of({"one": np.array([[1.0, 2.0]])}))["one"]
    assert (swaps.queries, swaps.rate) == (0, None)


@pytest.mark.parametrize(
    "bins", [[], [0.2, 0.1], [0.0, 0.1], [0.1, 0.1], [0.1, math.nan], [10**400]]
)
def test_bins_rise(bins: list[float]) -> None:
    with pytest.raises(OptionError, match="bins"):
        swap_rate(SAKAI, bins=bins)


# ---- the command ----------------------------------------------------------------------------

FILES = ["bm25.run", "tfidf.run", "dense.run", "fusion.run"]


def run(folder: Path, *arguments: str) -> str:
    paths = [str(folder / "demo" / name) for name in FILES]
    qrels = str(folder / "demo" / "qrels.txt")
    outcome = CliRunner().invoke(
        cli, ["correlate", qrels, *paths, *arguments], catch_exceptions=False
    )
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


def test_the_command_prints_what_the_function_finds(demo_folder: Path) -> None:
    measures = ["-m", "nDCG@10", "-m", "Success@10", "--discrimination"]
    demo = demo_folder / "demo"
    correlation = correlate(
        str(demo / "qrels.txt"),
        [str(demo / name) for name in FILES],
        "nDCG@10 Success@10",
        discrimination=True,
    )
    assert run(demo_folder, *measures) == str(correlation)
    as_json = json.loads(run(demo_folder, *measures, "--format", "json"))
    assert as_json["pairs"] == json.loads(json.dumps(correlation.to_dict()))["pairs"]
    assert (
        as_json["discrimination"] == json.loads(json.dumps(correlation.to_dict()))["discrimination"]
    )
    rows = list(csv.reader(io.StringIO(run(demo_folder, *measures, "--format", "csv"))))
    assert rows[0] == ["reference", "ordering", "quantity", "value"]
    expected = [
        ["" if cell is None else str(cell) for cell in row.values()] for row in correlation.rows()
    ]
    assert rows[1:] == expected
    assert run(demo_folder, *measures, "--format", "latex").count(r"\begin{tabular}") == 3
    assert run(demo_folder, *measures, "--format", "markdown").count("| :--") == 3


def test_the_command_with_other_judgments(demo_folder: Path, write: Any) -> None:
    lines = (demo_folder / "demo" / "qrels.txt").read_text("utf-8").splitlines()
    strict = write("strict.txt", "".join(f"{line}\n" for line in lines if line.endswith(" 3")))
    options = ["--qrels", strict, "--seed", "1", "--alpha", "0.1", "--resamples", "50"]
    text = run(demo_folder, *options, "--reference", "strict.txt")
    assert "strict.txt ~ qrels.txt" in text
    assert "90% interval" in text
    assert "50 resamples" in text
    assert "seed 1" in text


def test_the_command_reads_the_standard_input_once(demo_folder: Path) -> None:
    qrels = str(demo_folder / "demo" / "qrels.txt")
    outcome = CliRunner().invoke(cli, ["correlate", qrels, "-", "--qrels", qrels])
    assert outcome.exit_code == 2
    assert "can be read only once" in outcome.stderr
