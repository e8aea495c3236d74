"""Agreement of several assessors: published examples, loops from the definitions, and coverage."""

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from helpers.profile import repetitions
from scipy import stats

from cranfield import InputError, OptionError, agreement
from cranfield.errors import NothingSharedError
from cranfield.extensions.labels.assessors.beyond_chance import (
    COEFFICIENTS,
    FLEISS,
    Coefficient,
    GradeCounts,
    estimate_coefficients,
    sum_documents,
)

Grades = dict[str, dict[str, int]]
NAMES = [*COEFFICIENTS]


def judged(table: list[list[int | None]]) -> dict[str, Any]:
    """Return arguments of `agreement`: a row for each assessor, a column for each document."""
    a, b, *extra_qrels = (
        {"q": {f"d{i:03}": g for i, g in enumerate(row) if g is not None}} for row in table
    )
    return {"qrels_a": a, "qrels_b": b, "extra_qrels": extra_qrels or None}


def of_grades(assessment: Any) -> dict[str, Coefficient]:
    return {
        coefficient.name: coefficient
        for coefficient in assessment.coefficients
        if coefficient.of == "grade"
    }


# ---- published examples -------------------------------------------------------------------------


def test_krippendorffs_example_of_four_observers() -> None:
    """Krippendorff 2011: nominal .743, ordinal .815; Gwet's AC1 of the same: .775."""
    n = None
    coefficients = of_grades(
        agreement(
            **judged(
                [
                    [1, 2, 3, 3, 2, 1, 4, 1, 2, n, n, n],
                    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, n, 3],
                    [n, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, n],
                    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, n],
                ]
            )
        )
    )
    nominal, ordinal = (
        coefficients[f"Krippendorff's alpha, {scale}"] for scale in ("nominal", "ordinal")
    )
    assert [round(coefficient.value or 0, 3) for coefficient in (nominal, ordinal)] == [
        0.743,
        0.815,
    ]
    assert round(coefficients["Gwet's AC1"].value or 0, 3) == 0.775
    assert (nominal.documents, coefficients[FLEISS].documents) == (
        11,
        8,
    )  # by two or more; by all four


def test_fleiss_kappa_of_fourteen_raters() -> None:
    """The example of ten subjects and five categories that is often shown: kappa .210."""
    counts = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    rows = [
        [k for k, count in enumerate(row_counts) for _ in range(count)] for row_counts in counts
    ]
    table: list[list[int | None]] = [list(column) for column in zip(*rows, strict=True)]
    coefficient = of_grades(agreement(**judged(table)))[FLEISS]
    assert round(coefficient.value or 0, 3) == 0.210


# ---- from the definitions -----------------------------------------------------------------------


def slowly(units: list[list[int]], n_assessors: int) -> dict[str, float]:
    """Compute the coefficients by going through pairs of values; `units` are values by document."""
    paired_units = [unit for unit in units if len(unit) > 1]
    grades = sorted({g for unit in units for g in unit})

    def agreeing(unit: list[int]) -> float:
        pairs = list(itertools.permutations(range(len(unit)), 2))
        return sum(unit[i] == unit[j] for i, j in pairs) / len(pairs)

    observed_share = sum(map(agreeing, paired_units)) / len(paired_units)
    share = {k: sum(unit.count(k) / len(unit) for unit in units) / len(units) for k in grades}
    by_guess = sum(p * (1 - p) for p in share.values()) / (len(grades) - 1)
    full_units = [unit for unit in units if len(unit) == n_assessors]
    full_share = sum(map(agreeing, full_units)) / len(full_units)
    full_grades = [g for unit in full_units for g in unit]
    by_draw = sum((full_grades.count(k) / len(full_grades)) ** 2 for k in grades)

    paired_grades = [g for unit in paired_units for g in unit]
    count = Counter(paired_grades)

    def between(a: int, b: int) -> float:
        if a == b:
            return 0.0
        low, high = sorted((a, b))
        inside = sum(count[k] for k in grades if low <= k <= high)
        return float((inside - (count[a] + count[b]) / 2) ** 2)

    def alpha(difference: Any) -> float:
        difference_seen = sum(
            difference(unit[i], unit[j]) / (len(unit) - 1)
            for unit in paired_units
            for i, j in itertools.permutations(range(len(unit)), 2)
        ) / len(paired_grades)
        expected = float(sum(difference(a, b) for a, b in itertools.permutations(paired_grades, 2)))
        return 1 - float(difference_seen) / (
            expected / (len(paired_grades) * (len(paired_grades) - 1))
        )

    return {
        "agreement": observed_share,
        FLEISS: (full_share - by_draw) / (1 - by_draw),
        "Gwet's AC1": (observed_share - by_guess) / (1 - by_guess),
        "Krippendorff's alpha, nominal": alpha(lambda a, b: float(a != b)),
        "Krippendorff's alpha, ordinal": alpha(between),
    }


@pytest.mark.parametrize(("n_assessors", "seed"), [(2, 1), (3, 2), (5, 3)])
def test_coefficients_are_those_of_the_definitions(n_assessors: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    qrels: list[Grades] = [{} for _ in range(n_assessors)]
    units: list[list[int]] = []
    for q, d in itertools.product(range(4), range(12)):
        true = int(random.integers(0, 4))
        grade_of_assessor = {
            i: true if random.random() < 0.6 else int(random.integers(0, 4))
            for i in range(n_assessors)
            if random.random() < 0.8
        }
        for i, grade in grade_of_assessor.items():
            qrels[i].setdefault(f"q{q}", {})[f"d{d}"] = grade
        units += [list(grade_of_assessor.values())] if grade_of_assessor else []
    assessment = agreement(qrels[0], qrels[1], extra_qrels=qrels[2:] or None, rel=2)
    for scale, units_on_scale in (
        ("grade", units),
        ("relevance", [[int(g >= 2) for g in unit] for unit in units]),
    ):
        expected = slowly(units_on_scale, n_assessors)
        coefficient_of_name = {
            coefficient.name: coefficient.value
            for coefficient in assessment.coefficients
            if coefficient.of == scale
        }
        assert coefficient_of_name == pytest.approx(expected, rel=1e-12)
    assert len([unit for unit in units if len(unit) > 1]) == assessment.coefficients[0].documents


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_the_interval_leaves_out_one_query_after_the_other(missing: float) -> None:
    """Queries in which nothing counts for a coefficient are not among them."""
    random = np.random.default_rng(5)
    a, b = (
        {f"q{q}": {f"d{d}": int(random.integers(0, 3)) for d in range(10)} for q in range(9)}
        for _ in range(2)
    )
    for query in a:  # so that they agree more than by chance
        for doc in list(a[query])[:6]:
            b[query][doc] = a[query][doc]
    if missing:  # of one query only A's grades are there, of others one document has both
        b = {
            q: {d: g for d, g in docs.items() if random.random() > missing} for q, docs in b.items()
        }
        b["q3"] = {"other": 1}
        assert not set(a["q3"]) & set(b["q3"])
    coefficient_of_name = {
        coefficient.name: coefficient
        for coefficient in agreement(a, b).coefficients
        if coefficient.of == "grade"
    }
    for name, coefficient in coefficient_of_name.items():
        jackknife_values = []
        for query in a if name == "Gwet's AC1" else [q for q in a if set(a[q]) & set(b[q])]:
            other_a, other_b = (
                {q: docs for q, docs in qrels.items() if q != query} for qrels in (a, b)
            )
            jackknife_values.append(of_grades(agreement(other_a, other_b))[name].value)
        n = len(jackknife_values)
        mean = sum(map(float, map(str, jackknife_values))) / n
        error = (
            (n - 1)
            / n
            * sum((float(jackknife_value or 0) - mean) ** 2 for jackknife_value in jackknife_values)
        ) ** 0.5
        half_width = stats.t.ppf(0.975, n - 1) * error
        estimate = float(coefficient.value or 0)
        assert (coefficient.low, coefficient.high) == pytest.approx(
            (estimate - half_width, min(1, estimate + half_width)), rel=1e-9
        )


# ---- coverage, simulated ------------------------------------------------------------------------


def draw_grade_counts(random: np.random.Generator, n_queries: int, missing: float) -> GradeCounts:
    """Draw three assessors' grades of 20 documents a query, of which some are easy to judge."""
    size = (n_queries, 20)
    true = random.normal(-0.5, 0.7, (n_queries, 1)) + random.normal(0, 1, size)
    noise = 0.5 * np.exp(random.normal(0, 0.6, (n_queries, 1, 1)))
    grades = np.digitize(true[:, :, None] + noise * random.normal(0, 1, (*size, 3)), [0, 0.8, 1.6])
    is_judged = random.random((*size, 3)) >= missing
    counts = np.stack([((grades == k) & is_judged).sum(axis=2) for k in range(4)], axis=2)
    counts, query = counts.reshape(-1, 4), np.repeat(np.arange(n_queries), 20)
    has_judgment = counts.sum(axis=1) > 0
    return GradeCounts(3, query[has_judgment], counts[has_judgment], (0, 1, 2, 3))


@pytest.mark.parametrize(("n_queries", "missing"), [(10, 0.0), (25, 0.3), (43, 0.0)])
def test_intervals_hold_in_92_to_97_of_100_cases(n_queries: int, missing: float) -> None:
    n_trials, random = repetitions(1_000), np.random.default_rng(20261124)
    population = draw_grade_counts(random, repetitions(100_000), 0.0)
    truth: dict[tuple[str, str], float] = {}
    for scale, sample in (("relevance", population.group_by_relevance(1)), ("grade", population)):
        sums = sum_documents(sample, sample.query).overall
        truth |= {
            (scale, name): float(statistic.compute(sums)[0])
            for name, statistic in COEFFICIENTS.items()
        }
    n_held = dict.fromkeys(truth, 0)
    for _ in range(n_trials):
        for coefficient in estimate_coefficients(
            draw_grade_counts(random, n_queries, missing), 1, 0.05
        ):
            assert coefficient.low is not None
            assert coefficient.high is not None
            n_held[coefficient.of, coefficient.name] += (
                coefficient.low <= truth[coefficient.of, coefficient.name] <= coefficient.high
            )
    fewest, greatest = (
        stats.binom.ppf(0.0005, n_trials, 0.92),
        stats.binom.ppf(0.9995, n_trials, 0.97),
    )
    assert fewest <= min(n_held.values()) <= max(n_held.values()) <= greatest


# ---- what is shown, and refused -----------------------------------------------------------------


def test_what_has_no_value_is_none_and_it_is_told() -> None:
    qrels = {"q": {"d": 1, "e": 1}}
    assessment = agreement(qrels, qrels)
    coefficients = of_grades(assessment)
    assert coefficients["agreement"].value == 1.0
    assert [coefficients[name].value for name in NAMES if "alpha" in name or name == FLEISS] == [
        None
    ] * 3
    assert "-: no value: chance alone would agree on all" in str(assessment)


def test_further_assessors_have_names_pairs_and_orderings() -> None:
    random = np.random.default_rng(7)
    qrels_a: Grades = {
        f"q{q}": {f"d{d}": int(random.integers(0, 3)) for d in range(8)} for q in range(6)
    }
    qrels_b, crowd_qrels = (
        {
            q: {d: g if random.random() < 0.7 else 0 for d, g in docs.items()}
            for q, docs in qrels_a.items()
        }
        for _ in range(2)
    )
    runs = {
        name: {q: {d: float(random.random()) for d in docs} for q, docs in qrels_a.items()}
        for name in ("x", "y")
    }
    assessment = agreement(
        qrels_a, qrels_b, runs, "nDCG", extra_qrels={"crowd": crowd_qrels}, mixtures=20
    )
    assert [*assessment.pairs] == [("A", "B"), ("A", "crowd"), ("B", "crowd")]
    assert assessment.pairs["A", "crowd"] == agreement(qrels_a, crowd_qrels).pooled
    assert assessment.pairs["B", "crowd"] == agreement(qrels_b, crowd_qrels).pooled
    assessment_of_two = agreement(qrels_a, crowd_qrels, runs, "nDCG", mixtures=20)
    pair, expected = (
        assessment.others["crowd"].orderings[0].pairs[0],
        assessment_of_two.orderings[0].pairs[0],
    )
    assert (pair.change, pair.p_change) == (expected.change, expected.p_change)
    text = str(assessment)
    grade_phrases = "by the grades that A and crowd give", "crowd: 0"
    phrases = ("Agreement of 3 assessors", "under A and crowd", "diff crowd", "A - crowd")
    for phrase in (*phrases, *grade_phrases):
        assert phrase in text
    assert "significant under" not in text.lower().replace(
        "significant under one of them", ""
    ).replace("significant under both", "")
    assert [*agreement(qrels_a, qrels_b, extra_qrels=[crowd_qrels]).others] == ["C"]
    rows = assessment.rows()
    assert {"coefficient", "assessors", "pair", "pair, A and crowd"} <= {
        row["part"] for row in rows
    }
    assert (
        json.loads(assessment.to_json())["others"]["crowd"]["pooled"]["kappa"]
        == assessment_of_two.pooled.kappa
    )


def test_further_assessors_on_the_command_line(tmp_path: Path) -> None:
    for name, grades in (("a", "1102"), ("b", "1002"), ("crowd", "0102")):
        lines = (f"q{i % 2} 0 d{i} {g}\n" for i, g in enumerate(grades))
        (tmp_path / f"{name}.qrels").write_text("".join(lines))
    a, b, crowd = (str(tmp_path / f"{name}.qrels") for name in ("a", "b", "crowd"))
    outcome = invoke("agreement", a, b, "--qrels", crowd)
    assert "A - crowd" in outcome.stdout
    assert "Agreement of 3 assessors beyond chance" in outcome.stdout
    assert (
        "and --confusion has no second one"
        in invoke(*("agreement", a, "--confusion", b, "--qrels", crowd)).stderr
    )
    assert (
        "a file is named twice"
        in invoke(*("agreement", a, b, "--qrels", crowd, "--qrels", crowd)).stderr
    )


def test_assessors_whose_files_have_one_name_are_called_by_their_paths(tmp_path: Path) -> None:
    paths = []
    for folder in "xyzw":
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "qrels.txt")
        paths[-1].write_text(f"q0 0 d0 1\nq1 0 d1 {int(folder in 'xz')}\n")
    x, y, z, w = map(str, paths)
    outcome = invoke("agreement", x, y, "--qrels", z, "--qrels", w, "--format", "csv")
    assert outcome.exit_code == 0
    assert z in outcome.stdout
    assert w in outcome.stdout


def test_assessors_that_cannot_be_compared_are_refused_in_words() -> None:
    first, second = {"q": {"d": 1}}, {"q": {"d": 0}}
    with pytest.raises(OptionError, match="'A' is no name for a further assessor"):
        agreement(first, second, extra_qrels={"A": first})
    with pytest.raises(OptionError, match="state the second one, too"):
        agreement(first, confusion={1: {1: 1}}, extra_qrels=[second])
    with pytest.raises(OptionError, match=r"expected \{name: qrels\}, or a list"):
        agreement(first, second, extra_qrels="x")
    with pytest.raises(NothingSharedError):
        agreement(first, second, extra_qrels=[{"z": {"d": 1}}])
    with pytest.raises(InputError, match="whole"):
        agreement(first, second, extra_qrels=[{"q": {"d": 0.5}}])


# ---- few queries --------------------------------------------------------------------------------


def make_judgments(n: int, grades: list[int]) -> Grades:
    return {f"q{i}": {f"d{j}": grade for j, grade in enumerate(grades)} for i in range(n)}


def test_few_queries_are_noted_and_agreement_of_all_has_no_interval() -> None:
    first = make_judgments(2, [1, 0, 1, 0, 0])
    assessment = agreement(first, first)
    assert [note.code for note in assessment.notes][:1] == ["few-queries"]
    assert all((c.value, c.low, c.high) == (1.0, None, None) for c in assessment.coefficients)
    assert "-: no interval: no query changes it, or one alone counts." in str(assessment)
    ten_queries = make_judgments(10, [1, 0, 1, 0, 0])
    assert "few-queries" not in [note.code for note in agreement(ten_queries, ten_queries).notes]


def test_ends_are_cut_to_what_a_coefficient_may_be() -> None:
    first = make_judgments(2, [1, 0, 1, 0, 0])
    second = {"q0": {f"d{j}": g for j, g in enumerate([0, 0, 1, 1, 1])}, "q1": first["q1"]}
    share, kappa, *_ = agreement(first, second).coefficients
    # Shares of .4 and 1: .7 +- t(1) * .3, cut.
    assert share.value == pytest.approx(0.7)
    assert (share.low, share.high) == (0.0, 1.0)
    assert (kappa.low, kappa.high) == (-1.0, 1.0)


def test_queries_without_a_shared_document_do_not_count() -> None:
    first = make_judgments(12, [1, 0, 1])
    second = {"q0": {"d0": 1, "d1": 1}} | {f"q{i}": {"other": 1} for i in range(1, 12)}
    (text,) = [n.text for n in agreement(first, second).notes if n.code == "few-queries"]
    assert text == "Only 1 query: take any of this as a hint."
