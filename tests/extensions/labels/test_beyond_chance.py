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
    a, b, *others = (
        {"q": {f"d{i:03}": g for i, g in enumerate(row) if g is not None}} for row in table
    )
    return {"qrels_a": a, "qrels_b": b, "others": others or None}


def of_grades(found: Any) -> dict[str, Coefficient]:
    return {one.name: one for one in found.coefficients if one.of == "grade"}


# ---- published examples -------------------------------------------------------------------------


def test_krippendorffs_example_of_four_observers() -> None:
    """Krippendorff 2011: nominal .743, ordinal .815; Gwet's AC1 of the same: .775."""
    n = None
    found = of_grades(
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
    nominal, ordinal = (found[f"Krippendorff's alpha, {one}"] for one in ("nominal", "ordinal"))
    assert [round(one.value or 0, 3) for one in (nominal, ordinal)] == [0.743, 0.815]
    assert round(found["Gwet's AC1"].value or 0, 3) == 0.775
    assert (nominal.documents, found[FLEISS].documents) == (11, 8)  # by two or more; by all four


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
    rows = [[k for k, n in enumerate(one) for _ in range(n)] for one in counts]
    table: list[list[int | None]] = [list(column) for column in zip(*rows, strict=True)]
    found = of_grades(agreement(**judged(table)))[FLEISS]
    assert round(found.value or 0, 3) == 0.210


# ---- from the definitions -----------------------------------------------------------------------


def slowly(units: list[list[int]], n_assessors: int) -> dict[str, float]:
    """Compute the coefficients by going through pairs of values; `units` are values by document."""
    several = [one for one in units if len(one) > 1]
    values = sorted({g for one in units for g in one})

    def agreeing(one: list[int]) -> float:
        pairs = list(itertools.permutations(range(len(one)), 2))
        return sum(one[i] == one[j] for i, j in pairs) / len(pairs)

    seen = sum(map(agreeing, several)) / len(several)
    share = {k: sum(one.count(k) / len(one) for one in units) / len(units) for k in values}
    by_guess = sum(p * (1 - p) for p in share.values()) / (len(values) - 1)
    full = [one for one in units if len(one) == n_assessors]
    of_full = sum(map(agreeing, full)) / len(full)
    all_values = [g for one in full for g in one]
    by_draw = sum((all_values.count(k) / len(all_values)) ** 2 for k in values)

    pooled = [g for one in several for g in one]
    count = Counter(pooled)

    def between(a: int, b: int) -> float:
        if a == b:
            return 0.0
        low, high = sorted((a, b))
        inside = sum(count[k] for k in values if low <= k <= high)
        return float((inside - (count[a] + count[b]) / 2) ** 2)

    def alpha(difference: Any) -> float:
        observed = sum(
            difference(one[i], one[j]) / (len(one) - 1)
            for one in several
            for i, j in itertools.permutations(range(len(one)), 2)
        ) / len(pooled)
        expected = float(sum(difference(a, b) for a, b in itertools.permutations(pooled, 2)))
        return 1 - float(observed) / (expected / (len(pooled) * (len(pooled) - 1)))

    return {
        "agreement": seen,
        FLEISS: (of_full - by_draw) / (1 - by_draw),
        "Gwet's AC1": (seen - by_guess) / (1 - by_guess),
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
        given = {
            i: true if random.random() < 0.6 else int(random.integers(0, 4))
            for i in range(n_assessors)
            if random.random() < 0.8
        }
        for i, grade in given.items():
            qrels[i].setdefault(f"q{q}", {})[f"d{d}"] = grade
        units += [list(given.values())] if given else []
    found = agreement(qrels[0], qrels[1], extra_qrels=qrels[2:] or None, rel=2)
    for of, values in (
        ("grade", units),
        ("relevance", [[int(g >= 2) for g in one] for one in units]),
    ):
        want = slowly(values, n_assessors)
        got = {one.name: one.value for one in found.coefficients if one.of == of}
        assert got == pytest.approx(want, rel=1e-12)
    assert len([one for one in units if len(one) > 1]) == found.coefficients[0].documents


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
    whole = {one.name: one for one in agreement(a, b).coefficients if one.of == "grade"}
    for name, one in whole.items():
        left_out = []
        for query in a if name == "Gwet's AC1" else [q for q in a if set(a[q]) & set(b[q])]:
            kept_a, kept_b = ({q: x for q, x in qrels.items() if q != query} for qrels in (a, b))
            left_out.append(of_grades(agreement(kept_a, kept_b))[name].value)
        n = len(left_out)
        mean = sum(map(float, map(str, left_out))) / n
        error = ((n - 1) / n * sum((float(x or 0) - mean) ** 2 for x in left_out)) ** 0.5
        half = stats.t.ppf(0.975, n - 1) * error
        value = float(one.value or 0)
        assert (one.low, one.high) == pytest.approx((value - half, min(1, value + half)), rel=1e-9)


# ---- coverage, simulated ------------------------------------------------------------------------


def drawn(random: np.random.Generator, n_queries: int, missing: float) -> GradeCounts:
    """Draw three assessors' grades of 20 documents a query, of which some are easy to judge."""
    size = (n_queries, 20)
    true = random.normal(-0.5, 0.7, (n_queries, 1)) + random.normal(0, 1, size)
    noise = 0.5 * np.exp(random.normal(0, 0.6, (n_queries, 1, 1)))
    grades = np.digitize(true[:, :, None] + noise * random.normal(0, 1, (*size, 3)), [0, 0.8, 1.6])
    there = random.random((*size, 3)) >= missing
    counts = np.stack([((grades == k) & there).sum(axis=2) for k in range(4)], axis=2)
    counts, query = counts.reshape(-1, 4), np.repeat(np.arange(n_queries), 20)
    kept = counts.sum(axis=1) > 0
    return GradeCounts(3, query[kept], counts[kept], (0, 1, 2, 3))


@pytest.mark.parametrize(("n_queries", "missing"), [(10, 0.0), (25, 0.3), (43, 0.0)])
def test_intervals_hold_in_92_to_97_of_100_cases(n_queries: int, missing: float) -> None:
    times, random = repetitions(1_000), np.random.default_rng(20261124)
    many = drawn(random, repetitions(100_000), 0.0)
    truth: dict[tuple[str, str], float] = {}
    for of, sample in (("relevance", many.group_by_relevance(1)), ("grade", many)):
        whole = sum_documents(sample, sample.query).overall
        truth |= {(of, name): float(way.compute(whole)[0]) for name, way in COEFFICIENTS.items()}
    held = dict.fromkeys(truth, 0)
    for _ in range(times):
        for one in estimate_coefficients(drawn(random, n_queries, missing), 1, 0.05):
            assert one.low is not None
            assert one.high is not None
            held[one.of, one.name] += one.low <= truth[one.of, one.name] <= one.high
    least, most = stats.binom.ppf(0.0005, times, 0.92), stats.binom.ppf(0.9995, times, 0.97)
    assert least <= min(held.values()) <= max(held.values()) <= most


# ---- what is shown, and refused -----------------------------------------------------------------


def test_what_has_no_value_is_none_and_it_is_told() -> None:
    same = {"q": {"d": 1, "e": 1}}
    found = agreement(same, same)
    of = of_grades(found)
    assert of["agreement"].value == 1.0
    assert [of[name].value for name in NAMES if "alpha" in name or name == FLEISS] == [None] * 3
    assert "-: no value: chance alone would agree on all" in str(found)


def test_further_assessors_have_names_pairs_and_orderings() -> None:
    random = np.random.default_rng(7)
    one: Grades = {
        f"q{q}": {f"d{d}": int(random.integers(0, 3)) for d in range(8)} for q in range(6)
    }
    two, three = (
        {
            q: {d: g if random.random() < 0.7 else 0 for d, g in docs.items()}
            for q, docs in one.items()
        }
        for _ in range(2)
    )
    runs = {
        name: {q: {d: float(random.random()) for d in docs} for q, docs in one.items()}
        for name in ("x", "y")
    }
    found = agreement(one, two, runs, "nDCG", extra_qrels={"crowd": three}, mixtures=20)
    assert [*found.pairs] == [("A", "B"), ("A", "crowd"), ("B", "crowd")]
    assert found.pairs["A", "crowd"] == agreement(one, three).pooled
    assert found.pairs["B", "crowd"] == agreement(two, three).pooled
    alone = agreement(one, three, runs, "nDCG", mixtures=20)
    pair, want = found.others["crowd"].orderings[0].pairs[0], alone.orderings[0].pairs[0]
    assert (pair.change, pair.p_change) == (want.change, want.p_change)
    shown = str(found)
    said_of_grades = "by the grades that A and crowd give", "crowd: 0"
    of_all = ("Agreement of 3 assessors", "under A and crowd", "diff crowd", "A - crowd")
    for said in (*of_all, *said_of_grades):
        assert said in shown
    assert "significant under" not in shown.lower().replace(
        "significant under one of them", ""
    ).replace("significant under both", "")
    assert [*agreement(one, two, extra_qrels=[three]).others] == ["C"]
    rows = found.rows()
    assert {"coefficient", "assessors", "pair", "pair, A and crowd"} <= {
        row["part"] for row in rows
    }
    assert json.loads(found.to_json())["others"]["crowd"]["pooled"]["kappa"] == alone.pooled.kappa


def test_further_assessors_on_the_command_line(tmp_path: Path) -> None:
    for name, grades in (("a", "1102"), ("b", "1002"), ("crowd", "0102")):
        lines = (f"q{i % 2} 0 d{i} {g}\n" for i, g in enumerate(grades))
        (tmp_path / f"{name}.qrels").write_text("".join(lines))
    a, b, crowd = (str(tmp_path / f"{name}.qrels") for name in ("a", "b", "crowd"))
    done = invoke("agreement", a, b, "--qrels", crowd)
    assert "A - crowd" in done.stdout
    assert "Agreement of 3 assessors beyond chance" in done.stdout
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
    done = invoke("agreement", x, y, "--qrels", z, "--qrels", w, "--format", "csv")
    assert done.exit_code == 0
    assert z in done.stdout
    assert w in done.stdout


def test_assessors_that_cannot_be_compared_are_refused_in_words() -> None:
    one, two = {"q": {"d": 1}}, {"q": {"d": 0}}
    with pytest.raises(OptionError, match="'A' is no name for a further assessor"):
        agreement(one, two, extra_qrels={"A": one})
    with pytest.raises(OptionError, match="state the second one, too"):
        agreement(one, confusion={1: {1: 1}}, extra_qrels=[two])
    with pytest.raises(OptionError, match=r"expected \{name: qrels\}, or a list"):
        agreement(one, two, extra_qrels="x")
    with pytest.raises(NothingSharedError):
        agreement(one, two, extra_qrels=[{"z": {"d": 1}}])
    with pytest.raises(InputError, match="whole"):
        agreement(one, two, extra_qrels=[{"q": {"d": 0.5}}])
