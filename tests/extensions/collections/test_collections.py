"""Systems compared over several collections, each of which counts the same."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from scipy import stats

from cranfield import (
    CranfieldWarning,
    InputError,
    MeasureError,
    OptionError,
    compare,
    compare_collections,
    evaluate,
    figures,
    paper_table,
)
from cranfield.arrays.ranked import Floats
from cranfield.comparison.alignment import align
from cranfield.comparison.corrections import holm
from cranfield.comparison.flips import Flips, PairedScores
from cranfield.comparison.randomization import invert_sign_flips
from cranfield.extensions.collections.strata import Strata, flip_pairs

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")

# The differences of two systems on three collections: the example of the design.
D = [
    [0.10, 0.05, -0.02, 0.08, 0.04],
    [0.30, -0.10, 0.20],
    [-0.02, 0, 0.01, -0.03, 0.02, 0.01, -0.01, 0.03],
]


def scores_of(*gains: list[float], base: float = 0.5) -> dict[str, dict[str, float]]:
    """Return scores of a first system, and of others that are better by gains."""
    old = {f"q{i}": base for i in range(len(gains[0]))}
    return {"old": old} | {
        f"new{n}": {f"q{i}": base + gain for i, gain in enumerate(system_gains)}
        for n, system_gains in enumerate(gains)
    }


def three() -> dict[str, Any]:
    return {f"c{i}": scores_of(collection_gains) for i, collection_gains in enumerate(D)}


def exact_df(groups: list[list[float]]) -> float:
    """Return Satterthwaite's degrees of freedom of the mean of means, in fractions."""
    variances = []
    for group in groups:
        d = [Fraction(str(x)) for x in group]
        mean = sum(d) / len(d)
        variances.append(sum((x - mean) ** 2 for x in d) / (len(d) - 1) / len(d))
    below = sum(v**2 / (len(group) - 1) for v, group in zip(variances, groups, strict=True))
    return float(sum(variances) ** 2 / below)


# ---- the numbers --------------------------------------------------------------------------------


def test_the_example_of_the_design_has_the_digits_printed_there() -> None:
    pair = compare_collections(three())["score"]["new0"]
    assert round(pair.difference, 10) == 0.0615277778
    assert pair.micro == pytest.approx(0.04125, abs=1e-15)
    assert pair.p == 11992 / 65536
    assert round(pair.error or 0, 10) == 0.0407103685
    assert pair.df == pytest.approx(exact_df(D), rel=1e-12)  # its tenth digit differs there
    assert round(pair.df or 0, 8) == 2.13180919
    assert round(pair.p_t or 0, 10) == 0.2623668396
    # By all flips in whole numbers: -.018282208589 and .135375722543; the design's last digits, of
    # -.0182822084 and .1353757255, are not these.
    assert pair.low == pytest.approx(-0.018282208588957, rel=1e-12)
    assert pair.high == pytest.approx(0.135375722543353, rel=1e-12)
    by_t = compare_collections(three(), test="t")["score"]["new0"]
    assert [round(limit or 0, 10) for limit in (by_t.low, by_t.high)] == [
        -0.1036548276,
        0.2267103831,
    ]
    assert by_t.p == pair.p_t
    assert pair.others_p == 0.25
    of_means = stats.ttest_1samp([0.05, 0.4 / 3, 0.00125], 0).pvalue  # .2516496849; there ..486
    assert pair.others_p_t == pytest.approx(of_means, rel=1e-12)
    assert (pair.others_low, pair.others_high) == (None, None)
    systems = compare_collections(three())["score"].systems
    assert [*systems[1].means.values()] == pytest.approx([0.55, 0.5 + 0.4 / 3, 0.50125], abs=1e-12)


def test_flips_of_weighted_differences_are_those_of_a_loop() -> None:
    """Every sign of every query, added up one by one; the interval by trying shifts."""
    d = [[0.3, -0.1, 0.2, 0.25], [0.05, 0.1, -0.02], [0.4, 0.1]]
    weights = [1 / (3 * len(collection_gains)) for collection_gains in d for _ in collection_gains]
    flat = [x for collection_gains in d for x in collection_gains]
    macro_mean = sum(w * x for w, x in zip(weights, flat, strict=True))
    signs = list(itertools.product((1, -1), repeat=len(flat)))

    def p_of(shift: float) -> float:
        """Return the share of signs with a weighted sum as far from 0, after a shift."""
        shifted_gains = [w * (x - shift) for w, x in zip(weights, flat, strict=True)]
        far = abs(sum(shifted_gains)) * (1 - 1e-12)
        sums = (
            abs(sum(s * m for s, m in zip(sign_row, shifted_gains, strict=True)))
            for sign_row in signs
        )
        return sum(flip_sum >= far for flip_sum in sums) / len(signs)

    pair = compare_collections(
        {str(i): scores_of(collection_gains) for i, collection_gains in enumerate(d)}
    )["score"]["new0"]
    assert pair.difference == pytest.approx(macro_mean, rel=1e-12)
    assert pair.p == p_of(0.0)
    assert pair.low is not None
    assert pair.high is not None
    for end, outwards in ((pair.low, -1e-6), (pair.high, 1e-6)):
        assert p_of(end - outwards) > 0.05 >= p_of(end + outwards)


def test_of_many_queries_the_interval_is_that_of_all_flips() -> None:
    random = np.random.default_rng(4)
    sizes = [60, 400, 2_000, 5_500]
    code = np.repeat(np.arange(4), sizes)
    values = random.beta(0.5, 0.7, (len(code), 3))
    values[:, 1] += 0.01
    strata = Strata(values, code)
    pairs = np.array([1, 2]), np.array([0, 0])
    paired_scores = strata.pair_systems(*pairs)
    assert paired_scores.n_units > 7_000
    quick = flip_pairs(paired_scores, Flips(paired_scores.n_units), 0.05)
    _, low, high = invert_sign_flips(paired_scores, Flips(paired_scores.n_units), 0.05)
    width = high - low
    assert (np.abs(quick.low - low) / width).max() < 0.01
    assert (np.abs(quick.high - high) / width).max() < 0.01
    slow = invert_sign_flips(paired_scores, Flips(paired_scores.n_units), 0.05)[0]
    assert quick.p == pytest.approx(slow, abs=0.02)
    assert quick.method == "sequential"


@pytest.mark.parametrize("n_small", [2, 5])
def test_of_a_collection_of_a_few_queries_all_flips_are_drawn(n_small: int) -> None:
    """The moments of all flips do not describe a sum in which a few queries count for half."""
    random = np.random.default_rng(4)
    code = np.repeat([0, 1], [7_000, n_small])
    strata = Strata(random.beta(0.5, 0.7, (len(code), 3)), code)
    paired_scores = strata.pair_systems(np.array([1, 2]), np.array([0, 0]))
    assert paired_scores.n_units > 7_000
    quick = flip_pairs(paired_scores, Flips(paired_scores.n_units, 20_000), 0.05)
    p, low, high = invert_sign_flips(paired_scores, Flips(paired_scores.n_units, 20_000), 0.05)
    assert (quick.low.tolist(), quick.high.tolist()) == (low.tolist(), high.tolist())
    assert quick.p.tolist() == p.tolist()


def test_one_difference_on_all_queries_has_no_t() -> None:
    """.3 - .1 and .4 - .2 are not the same number: rounding is no variance."""
    scores_of_collection = {
        name: {"old": dict.fromkeys("abcdefgh", low), "new": dict.fromkeys("abcdefgh", high)}
        for name, low, high in (("x", 0.1, 0.3), ("y", 0.2, 0.4), ("z", 0.7, 0.9))
    }
    pair = compare_collections(scores_of_collection)["score"]["new"]
    assert pair.difference == pytest.approx(0.2)
    assert (pair.error, pair.p_t, pair.df) == (0.0, None, None)
    assert pair.others_p_t is None


def test_flips_take_differences_between_collections_for_noise_and_it_is_told() -> None:
    random = np.random.default_rng(12)
    scores_of_collection = {
        str(i): scores_of((mean + random.normal(0, 0.02, 8)).tolist())
        for i, mean in enumerate([0.3, 0.2, -0.35])
    }
    comparison = compare_collections(scores_of_collection)
    pair = comparison["score"]["new0"]
    assert pair.p is not None
    assert pair.p_t is not None
    assert pair.p > 0.3
    assert pair.p_t < 1e-6
    (note,) = [note for note in comparison.notes if note.code == "far-apart"]
    half = float(stats.t.ppf(0.975, pair.df)) * float(pair.error or 0)
    times = (float(pair.high or 0) - float(pair.low or 0)) / (2 * half)
    assert f"up to {times:.1f} times as wide as by the t-test (--test t)" in note.text
    assert "far-apart" not in {
        note.code for note in compare_collections(scores_of_collection, test="t").notes
    }
    assert "far-apart" not in {note.code for note in compare_collections(three()).notes}


def test_intervals_end_where_differences_do() -> None:
    scores_of_collection = {
        name: {
            "old": {"P@5": {"a": 0.0, "b": 0.0, "c": 0.2}},
            "new": {"P@5": {"a": 1.0, "b": 0.4, "c": 1.0}},
        }
        for name in ("x", "y", "z")
    }
    scores_of_collection["z"]["new"]["P@5"]["b"] = 1.0
    pair = compare_collections(scores_of_collection, test="t")["P@5"]["new"]
    half = float(stats.t.ppf(0.975, pair.df)) * float(pair.error or 0)
    assert pair.difference + half > 1
    assert pair.high == 1.0
    assert pair.low == pytest.approx(pair.difference - half)


def test_an_equal_number_of_queries_gives_the_numbers_of_one_collection() -> None:
    random = np.random.default_rng(5)
    d = random.normal(0.02, 0.1, (3, 12))
    together = [*d.ravel().tolist()]
    pair = compare_collections(
        {str(i): scores_of(collection_gains.tolist()) for i, collection_gains in enumerate(d)}
    )
    alone = compare(scores_of(together))["score"]["new0"]
    macro_pair = pair["score"]["new0"]
    assert (macro_pair.difference, macro_pair.micro) == pytest.approx(
        (alone.difference,) * 2, rel=1e-12
    )
    # Weights are all 1; ids differ, and with them which query has which of the drawn signs.
    assert macro_pair.p == pytest.approx(alone.p, abs=0.01)


def test_over_collections_numbers_are_those_of_scipy() -> None:
    random = np.random.default_rng(6)
    gains = random.normal(0.03, 0.05, (9, 3, 7))  # collections, systems, queries
    scores_of_collection = {
        str(i): scores_of(*collection_gains.tolist()) for i, collection_gains in enumerate(gains)
    }
    macro_result = compare_collections(scores_of_collection)["score"]
    means = np.concatenate([np.full((9, 1), 0.5), 0.5 + gains.mean(axis=2)], axis=1)
    for i, pair in enumerate(macro_result.pairs):
        d = means[:, i + 1] - means[:, 0]
        assert pair.others_p_t == pytest.approx(stats.ttest_1samp(d, 0).pvalue, rel=1e-9)
        sums = [
            abs(sum(s * x for s, x in zip(sign_row, d, strict=True)))
            for sign_row in itertools.product((1, -1), repeat=9)
        ]
        as_far = sum(flip_sum >= abs(d.sum()) * (1 - 1e-12) for flip_sum in sums)
        assert pair.others_p == as_far / 2**9
        assert (pair.wins, pair.ties, pair.losses) == (int((d > 0).sum()), 0, int((d < 0).sum()))


def test_a_measure_of_which_less_is_better_turns_the_verdicts() -> None:
    random = np.random.default_rng(8)
    scores_of_collection = {
        str(i): {
            "old": {"FallOut": {f"q{j}": 0.5 for j in range(15)}},
            "new": {"FallOut": {f"q{j}": float(x) for j, x in enumerate(row)}},
        }
        for i, row in enumerate(random.uniform(0.3, 0.5, (7, 15)))
    }
    (macro_result,) = compare_collections(scores_of_collection).results
    pair = macro_result["new"]
    assert not macro_result.higher_is_better
    assert list(macro_result.to_dict()) == ["measure", "rising", "systems", "pairs"]
    assert macro_result.to_dict()["rising"] is False
    assert pair.difference < 0
    assert (pair.verdict, pair.others_verdict) == ("better", "better")
    assert (pair.wins, pair.losses) == (7, 0)


# ---- level and coverage, simulated --------------------------------------------------------------

SIZES = [8, 12, 20, 43, 60, 80, 150]


def center_differences(data: Path) -> Floats:
    """Return the differences of two systems of DL 2019, less their mean: nDCG@10."""
    runs = sorted((data / "dl19").glob("*.run.gz"))[:2]
    values = align(data / "dl19" / "qrels.txt", runs, "nDCG@10").scores[0]
    differences: Floats = values[:, 0] - values[:, 1]
    differences -= differences.mean()
    return differences


@pytest.mark.parametrize("kind", ["invented", "2019"])
def test_flips_and_intervals_are_as_often_wrong_as_they_say(data: Path, kind: str) -> None:
    """Seven collections of 8 to 150 queries, 1,500 times: false alarms, and means that are missed.

    The mean over all queries is a test of something else where the collections' true means differ.
    """
    random = np.random.default_rng(20261124)
    population, times = center_differences(data), 1_500
    code = np.repeat(np.arange(7), SIZES)
    collection_shift = np.array(
        [0.06, 0.03, 0.03, 0, -0.03, -0.03, -0.06]
    )  # each collection's mean: 0 together
    alarms = {"these": 0, "t": 0, "micro": 0, "others": 0}
    n_missed = 0
    for _ in range(times):
        d = (
            random.choice(population, len(code))
            if kind == "2019"
            else random.normal(0, 0.2, len(code))
        )
        d = d + collection_shift[code]
        strata = Strata(np.stack([d, np.zeros(len(d))], axis=1), code)
        pair_columns = np.array([0]), np.array([1])
        p, low, high = invert_sign_flips(
            strata.pair_systems(*pair_columns), Flips(len(d), 2_000), 0.05
        )
        error, degrees = strata.welch_errors(*pair_columns)
        mean = strata.pair_systems(*pair_columns).means[0]
        alarms["these"] += bool(p[0] <= 0.05)
        alarms["t"] += bool(abs(mean) / error[0] > stats.t.ppf(0.975, degrees[0]))
        alarms["micro"] += bool(stats.ttest_1samp(d, 0).pvalue <= 0.05)
        macro_p = invert_sign_flips(
            PairedScores.from_differences(strata.means[:, :1]), Flips(7), 0.05
        )[0]
        alarms["others"] += bool(macro_p[0] <= 0.05)
        n_missed += not low[0] <= 0 <= high[0]
    lowest, highest = stats.binom.ppf([0.0005, 0.9995], times, 0.05)
    assert lowest <= alarms["these"] <= highest
    assert lowest <= alarms["t"] <= highest
    assert lowest <= n_missed <= highest
    assert alarms["others"] <= highest
    assert alarms["micro"] > 2 * highest


# ---- what is left out, mixed and refused --------------------------------------------------------


def test_a_system_that_a_collection_lacks_has_no_average_and_is_named() -> None:
    scores_of_collection = {
        str(i): scores_of(collection_gains, collection_gains)
        for i, collection_gains in enumerate(D)
    }
    del scores_of_collection["1"]["new1"]
    with pytest.warns(
        CranfieldWarning, match=r"new1 has runs on 2 of 3 collections, and no average"
    ):
        comparison = compare_collections(scores_of_collection)
    assert [system.name for system in comparison["score"].systems] == ["old", "new0"]
    assert "new1" in comparison.comparisons["0"].aligned.system_names
    assert comparison["score"]["new0"].p == 11992 / 65536
    with pytest.raises(InputError, match="the baseline 'new1' has no run on some collections"):
        compare_collections(scores_of_collection, baseline="new1")
    del scores_of_collection["1"]["new0"]
    with pytest.raises(InputError, match="no two systems have a run on every collection"):
        compare_collections(scores_of_collection)


def test_several_baselines_are_one_family() -> None:
    scores_of_collection = {
        str(i): scores_of(collection_gains, collection_gains[::-1])
        for i, collection_gains in enumerate(D)
    }
    comparison = compare_collections(scores_of_collection, baseline=["old", "new0"])
    pairs = comparison["score"].pairs
    pair_names = [("new0", "old"), ("new1", "old"), ("new1", "new0")]
    assert [(pair.system, pair.other) for pair in pairs] == pair_names
    p_by_holm = holm(np.array([pair.p for pair in pairs]))
    assert [pair.p_adjusted for pair in pairs] == p_by_holm.tolist()
    text = str(comparison)
    assert "baselines old, new0" in text
    assert "Holm over 3 comparisons" in text
    for member in comparison.comparisons.values():
        assert member.settings.baseline == ("old", "new0")
        assert [(pair.system, pair.other) for pair in member["score"].pairs] == pair_names
    with pytest.raises(InputError, match="there is no system 'odl'"):
        compare_collections(scores_of_collection, baseline=["old", "odl"])


def test_different_measures_are_averaged_and_it_is_told() -> None:
    qrels = {f"q{i}": {"a": 1, "b": 0} for i in range(8)}
    run = {f"q{i}": {"a": 1.0 + i % 2, "b": 1.5} for i in range(8)}
    other = {f"q{i}": {"a": 2.0, "b": 1.5} for i in range(8)}
    runs = {"old": run, "new": other}
    collections = {"x": (qrels, runs), "y": (qrels, runs, "RR"), "z": (qrels, runs)}
    comparison = compare_collections(collections, "P@1")
    assert [result.measure for result in comparison.results] == ["P@1, RR"]
    assert "The average is of different measures: P@1, RR." in str(comparison)
    means = [evaluate(qrels, run, measure)[measure] for measure in ("P@1", "RR", "P@1")]
    assert comparison.results[0].systems[0].mean == pytest.approx(sum(means) / 3)
    with pytest.raises(MeasureError, match="different numbers of measures"):
        compare_collections(collections, "P@1 RR")
    with pytest.raises(MeasureError, match="GMAP has a geometric mean"):
        compare_collections({"x": (qrels, runs), "y": (qrels, runs)}, "GMAP")
    bad = {"x": (qrels, runs, "P@1"), "y": (qrels, runs, "FallOut")}
    with pytest.raises(MeasureError, match="less is better"):
        compare_collections(bad)


def test_few_collections_cannot_tell_about_others() -> None:
    assert "no p over collections can be below 0.25" in str(compare_collections(three()))
    random = np.random.default_rng(1)
    seven = {
        str(i): scores_of(*collection_gains.tolist())
        for i, collection_gains in enumerate(random.normal(0, 1, (7, 5, 4)) / 50)
    }
    comparison = compare_collections(seven)
    assert "no corrected p can be below 0.078" in str(comparison)  # 5 comparisons of 2^-6
    assert "5 comparisons" in str(comparison)
    by_t = compare_collections(three(), test="t")
    assert "assumes that their differences are normal" in str(by_t)


@pytest.mark.parametrize(
    ("n", "options", "least_p"),
    [
        (6, {}, 3 * 2**-5),
        (6, {"correction": "by"}, (1 + 1 / 2 + 1 / 3) * 2**-5),
        (6, {"correction": "bh"}, None),
        (6, {"correction": "maxt"}, None),
        (5, {"correction": "none"}, 2**-4),
        (5, {"correction": "none", "alpha": 0.1}, None),
        (24, {"flips": 40}, 3 / 41),
        (24, {"flips": 15, "correction": "none"}, 1 / 16),
        (24, {"flips": 100}, None),
    ],
)
def test_the_least_p_over_collections_is_told(
    n: int, options: dict[str, Any], least_p: float | None
) -> None:
    random = np.random.default_rng(1)
    scores_of_collection = {
        str(i): scores_of(*collection_gains.tolist())
        for i, collection_gains in enumerate(random.random((n, 3, 2)) / 50)
    }
    comparison = compare_collections(scores_of_collection, **options)
    note_texts = [note.text for note in comparison.notes if note.code == "few-collections"]
    if least_p is None:
        assert note_texts == []
    else:
        # The least of all, alone: three digits; after correction: two.
        digits = "3g" if options.get("correction") == "none" else "2g"
        p = "p over collections" if digits == "3g" else "corrected p"
        assert f"{p} can be below {least_p:.{digits}}" in note_texts[0]
        assert (
            min(pair.others_p_adjusted or 0 for pair in comparison["score"].pairs)
            >= least_p * 0.999
        )


def test_a_collection_of_one_query_has_no_t_and_it_is_told() -> None:
    scores_of_collection = {**three(), "c9": scores_of([0.1])}
    comparison = compare_collections(scores_of_collection, test="t")
    assert comparison["score"]["new0"].p is None
    assert "c9: one query, which has no variance" in str(comparison)
    assert "one query" not in str(compare_collections(scores_of_collection))


def test_measures_are_found_in_any_spelling() -> None:
    qrels = {f"q{i}": {"a": 1, "b": 0} for i in range(3)}
    runs = {"old": {q: ["b", "a"] for q in qrels}, "new": {q: ["a", "b"] for q in qrels}}
    comparison = compare_collections({"x": (qrels, runs), "y": (qrels, runs, "AP")}, "ndcg@10")
    assert comparison["nDCG@10, AP"] is comparison.results[0]
    assert "1 collection has measures of their own, in place of ndcg@10: y." in str(comparison)
    same_measure_comparison = compare_collections(
        {"x": (qrels, runs), "y": (qrels, runs)}, "ndcg@10"
    )
    assert same_measure_comparison["ndcg_cut_10"] is same_measure_comparison["nDCG@10"]
    with pytest.raises(KeyError, match="map: there are nDCG@10"):
        same_measure_comparison["map"]


def test_what_cannot_be_compared_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="1 collection: expected two or more"):
        compare_collections({"a": scores_of(D[0])})
    with pytest.raises(InputError, match="expected collections, got a list"):
        compare_collections([scores_of(D[0])])
    with pytest.raises(InputError, match=r"'a': expected \(qrels, runs\)"):
        compare_collections({"a": ({},), "b": scores_of(D[0])})
    with pytest.raises(OptionError, match="choose one of"):
        compare_collections(three(), test="wilcoxon")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="all_pairs=True compares with no baseline"):
        compare_collections(three(), all_pairs=True, baseline="old")
    with pytest.raises(InputError, match=r"In the collection c\\n1"):
        compare_collections({"c\n1": ({"q": {"d": 1}}, {"r": 7}), "b": scores_of(D[0])})


# ---- files and commands -------------------------------------------------------------------------


def write(folder: Path, seed: int, names: str = "old new", qrels: str = "qrels.txt") -> None:
    """Write judgments and runs of a collection."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(seed)
    lines: list[str] = []
    runs: dict[str, list[str]] = {name: [] for name in names.split()}
    for i in range(8 + seed):
        lines.append(f"q{i} 0 d{i} 1\n")
        for at, rows in enumerate(runs.values()):
            rank = 1 + int(random.integers(0, 3 - at))
            docs = [f"x{j}" for j in range(4)]
            docs.insert(rank - 1, f"d{i}")
            rows += [f"q{i} Q0 {doc} {n} {10 - n} t\n" for n, doc in enumerate(docs, 1)]
    (folder / qrels).parent.mkdir(exist_ok=True)
    (folder / qrels).write_text("".join(lines))
    for name, rows in runs.items():
        (folder / f"{name}.run").write_text("".join(rows))


def test_a_folder_of_collections_and_a_table_of_files_are_the_same(tmp_path: Path) -> None:
    for i, name in enumerate(["fiqa", "nq", "touche"]):
        write(tmp_path / "all" / name, i)
    (tmp_path / "all" / "nq" / "notes.md").write_text("x")
    by_folder = invoke(
        "compare", "--collections", str(tmp_path / "all"), "-m", "RR", "--baseline", "old"
    )
    assert "Not read, as neither judgments nor runs: nq/notes.md." in by_folder.stdout
    rows = [
        f"{name},{name}/qrels.txt,{run},{name}/{run}.run\n"
        for name in ("fiqa", "nq", "touche")
        for run in ("new", "old")
    ]
    table = tmp_path / "all" / "files.csv"
    table.write_text("collection,qrels,run,path\n" + "".join(rows))
    by_table = invoke("compare", "--collections", str(table), "-m", "RR", "--baseline", "old")
    note_line = "Not read, as neither judgments nor runs: nq/notes.md.\n"
    assert by_table.stdout == by_folder.stdout.replace(note_line, "")
    old = str(tmp_path / "all" / "nq" / "old.run")
    by_file = invoke("compare", "--collections", str(table), "-m", "RR", "--baseline", old)
    assert by_file.stdout == by_table.stdout
    in_python = compare_collections(tmp_path / "all", "RR", baseline="old")
    (row,) = in_python.rows()
    report = json.loads(
        invoke(
            *("compare", "--collections", str(table), "-m", "RR", "--baseline", "old"),
            *("--format", "json"),
        ).stdout
    )
    assert [*report["results"][0]] == ["measure", "rising", "systems", "pairs"]
    assert report["results"][0]["pairs"][0]["p"] == row["p"]
    assert [*report["collections"]] == ["fiqa", "nq", "touche"]


def test_runs_lie_beside_a_folder_of_runs_and_judgments_have_many_names(tmp_path: Path) -> None:
    for i, name in enumerate(["2019qrels-pass.txt", "qrels_test.txt", "test.qrels", "qrels"]):
        folder = tmp_path / f"c{i}"
        write(folder, i, qrels=name)
        (folder / "runs").mkdir()
        (folder / "new.run").rename(folder / "runs" / "new.run")
    outcome = invoke("compare", "--collections", str(tmp_path), "-m", "RR", "--baseline", "old")
    assert outcome.exit_code == 0, outcome.output
    assert "RR   4 collections" in outcome.stdout
    assert "Not read" not in outcome.stdout


def test_letters_keep_the_notes_on_files(tmp_path: Path) -> None:
    for i in range(2):
        write(tmp_path / f"c{i}", i)
    (tmp_path / "c1" / "notes.md").write_text("x")
    comparison = compare_collections(str(tmp_path), "RR")
    table = paper_table(comparison, marks="letters")
    assert "not-read" in {note.code for note in table.notes}
    assert "flips of the signs of all queries" in " ".join(table.caption)
    by_t = compare_collections(str(tmp_path), "RR", test="t")
    assert "variances of the collections (Welch)" in " ".join(paper_table(by_t).caption)


def test_judgments_and_runs_may_have_folders_of_their_own(tmp_path: Path) -> None:
    for i, name in enumerate(["a", "b"]):
        write(tmp_path / name, i, qrels="qrels/test.tsv")
        (tmp_path / name / "qrels" / "dev.tsv").write_text("q0 0 d0 0\n")
        (tmp_path / name / "runs").mkdir()
        for run in ("old.run", "new.run"):
            (tmp_path / name / run).rename(tmp_path / name / "runs" / run)
    comparison = compare_collections(tmp_path, "RR")
    assert [system.name for system in comparison["RR"].systems] == ["new", "old"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("collection,qrels,run\na,b,c\n", "expected the columns collection, qrels, run and path"),
        ("collection,qrels,run,path\na,q,r,\n", "expected a collection, its judgments"),
        ("collection,qrels,run,path\na,q,r,x\na,p,s,y\n", "'a' has two files of judgments"),
        ("collection,qrels,run,path\na,q,r,x\na,q,r,y\n", "'a' has two runs of 'r'"),
        ("collection,qrels,run,path,measure\na,q,r,x,AP\na,q,s,y,RR\n", "'a' has two measures"),
    ],
)
def test_a_broken_table_of_files_is_refused_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        compare_collections(tmp_path / "t.csv")


def test_a_folder_that_lacks_something_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no folder of a collection"):
        compare_collections(tmp_path)
    (tmp_path / "a").mkdir()
    with pytest.raises(InputError, match="expected one file of judgments, got no file"):
        compare_collections(tmp_path)
    (tmp_path / "a" / "qrels.txt").write_text("q 0 d 1\n")
    with pytest.raises(InputError, match="there is no run"):
        compare_collections(tmp_path)
    (tmp_path / "a" / "other.qrels").write_text("q 0 d 1\n")
    with pytest.raises(InputError, match=r"got 2 files of them: other\.qrels, qrels\.txt"):
        compare_collections(tmp_path)
    (tmp_path / "a" / "other.qrels").unlink()
    for name in ("x.run", "x.run.gz"):
        (tmp_path / "a" / name).write_text("")
    with pytest.raises(InputError, match="two files are called 'x'"):
        compare_collections(tmp_path)


def test_options_of_one_collection_are_refused_for_several(tmp_path: Path) -> None:
    for i in range(2):
        write(tmp_path / str(i), i)
    at = str(tmp_path)
    for command_options, message in (
        (["--slices", "x.csv"], "--slices does not apply to collections together"),
        (["--clusters", "x.csv"], "--clusters does not apply"),
        (["--rope", "0.1"], "--rope does not apply"),
        (["--changes", "3"], "--changes does not apply"),
        (["--layout", "systems"], "--layout does not apply"),
        (["--baseline", "odl"], "there is no system 'odl'"),
        (["--test", "bayes"], "choose one of"),
        (["--all-pairs", "--baseline", "old"], "--all-pairs compares with no baseline"),
    ):
        outcome = invoke("compare", "--collections", at, *command_options)
        assert (outcome.exit_code, message in outcome.stderr) == (2, True), outcome.stderr
    assert "leave these out" in invoke("compare", "q", "r", "--collections", at).stderr
    assert "state QRELS and RUN" in invoke("compare").stderr


# ---- for a paper --------------------------------------------------------------------------------


def eighteen() -> Any:
    random = np.random.default_rng(2)
    return compare_collections(
        {
            f"collection-{i:02d}": scores_of(*collection_gains.tolist())
            for i, collection_gains in enumerate(random.normal(0.02, 0.1, (18, 3, 12)))
        }
    )


def test_a_paper_has_a_column_for_each_collection_and_their_average() -> None:
    comparison = eighteen()
    table = paper_table(comparison, percent=True)
    (table_shown,) = table.tables()
    assert len(table_shown.header) == 1 + 18 + 1
    assert table_shown.header[-1] == "average"
    assert "12 to 12 queries of each of 18 collections" in " ".join(table.caption)
    latex = table.to_latex()
    assert latex.count(r"\rotatebox{90}") == 19
    assert "graphicx" in latex
    averages = [row for row in table.rows() if row["collection"] == "average"]
    for row in averages:
        macro_system = next(
            verdict for verdict in comparison["score"].systems if verdict.name == row["system"]
        )
        assert row["mean"] == macro_system.mean
        assert row["queries"] == 18 * 12
    pairs = {pair.system: pair.verdict for pair in comparison["score"].pairs}
    marks = {None: "", "better": "\N{DAGGER}", "worse": "\N{DOUBLE DAGGER}"}
    assert {row["system"]: row["marks"] for row in averages[1:]} == {
        name: marks[verdict] for name, verdict in pairs.items()
    }
    letters = paper_table(comparison, marks="letters")
    assert letters.marks == "letters"
    assert letters.over is not None
    assert letters.over.settings.all_pairs


def test_the_picture_has_each_collection_and_the_average() -> None:
    comparison = eighteen()
    picture = figures.by_collection(comparison)
    assert len(picture.points) == 19 * 3
    last = picture.points[-1]
    pair = comparison["score"][last["system"]]
    assert (last["collection"], last["difference"], last["low"]) == (
        None,
        pair.difference,
        pair.low,
    )
    with pytest.raises(OptionError, match="there is no such system beside the baseline"):
        figures.by_collection(comparison, systems=["old"])
    with pytest.raises(InputError, match="expected what compare_collections"):
        figures.by_collection(compare(scores_of(D[0])))  # type: ignore[arg-type]
    with pytest.raises(MeasureError, match="AP was not compared"):
        figures.by_collection(comparison, "AP")


def test_no_name_of_a_collection_breaks_a_table() -> None:
    odd = {"a|b\n": scores_of(D[0]), "<b>\x1b[31m": scores_of(D[1]), "%_$": scores_of(D[2])}
    comparison = compare_collections(odd)
    for form in ("to_text", "to_markdown", "to_html", "to_latex", "to_csv"):
        text = getattr(comparison, form)()
        assert "\x1b" not in text
    assert "<b>" not in comparison.to_html()
    assert r"\%\_\$" in comparison.to_latex()
    assert not math.isnan(comparison["score"]["new0"].difference)


def test_a_baseline_that_is_no_system_is_told() -> None:
    scores = {"old": {"q1": 0.1, "q2": 0.2}, "new": {"q1": 0.3, "q2": 0.1}}
    with pytest.raises(InputError, match="there is no system 'odl'"):
        compare_collections({"x": scores, "y": scores}, baseline="odl")


def test_the_order_of_collections_changes_no_bit() -> None:
    chance = np.random.default_rng(3)
    inputs = {
        f"c{i}": {name: dict(enumerate(chance.random(9 + i))) for name in ("old", "new")}
        for i in range(4)
    }
    pairs = [
        compare_collections(dict(order))["score"]["new"]
        for order in (inputs.items(), reversed(inputs.items()))
    ]
    assert pairs[0] == pairs[1]


def test_a_measure_with_two_parameters_is_one_measure() -> None:
    qrels = {f"q{i}": {"a": 1, "b": 0} for i in range(3)}
    runs = {"old": {q: ["b", "a"] for q in qrels}, "new": {q: ["a", "b"] for q in qrels}}
    comparison = compare_collections({"x": (qrels, runs), "y": (qrels, runs)}, "RBP(p=0.5, rel=2)")
    assert "mixed" not in {note.code for note in comparison.notes}
