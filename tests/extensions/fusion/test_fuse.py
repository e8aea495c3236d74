"""Fusion: published vectors, slow loops from the definitions, and what must hold of any runs."""

import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.profile import seeds

from cranfield import CranfieldWarning, InputError, OptionError, Run, evaluate, fuse, read_run
from cranfield.arrays import slots
from cranfield.arrays.ids import Ids
from cranfield.arrays.threads import limit_threads
from cranfield.cli import cli
from cranfield.errors import DuplicateError
from cranfield.extensions.fusion import fused_rows
from cranfield.extensions.fusion.fusing import Method
from cranfield.extensions.fusion.methods import METHODS as WAYS
from cranfield.extensions.fusion.run_lists import DocumentValues
from cranfield.formats.block import SIZES

ScoresOfQueries = dict[str, dict[str, float]]
METHODS: list[Any] = [*get_args(Method)]
OF_RANKS = [method for method, formula in WAYS.items() if formula.points is not None]
WEIGHTED = [method for method, formula in WAYS.items() if formula.is_weighted]
NORMS = ["none", "min-max", "min-max-inverted", "max", "sum", "zmuv", "l2", "rank", "borda"]
BY_RANX = {"wsum": "sum", "wmnz": "mnz", "bordafuse": "borda", "w_bordafuse": "borda"}
TRAINED = ("mapfuse", "posfuse", "probfuse", "segfuse", "slidefuse", "bayesfuse")


def make_test_runs(
    seed: int, *, n_runs: int = 3, negative: bool = True
) -> dict[str, ScoresOfQueries]:
    """Runs with ties, lists of one document, queries that some lack, documents of one run only."""
    chance = random.Random(seed)
    runs: dict[str, ScoresOfQueries] = {}
    for i in range(n_runs):
        runs[f"r{i}"] = {}
        for query in ("q1", "q2", "q3", "q4"):
            if query == "q4" and i == 1:
                continue
            n = chance.choice([1, 2, 5, 12])
            docs = chance.sample([f"d{j}" for j in range(15)], n)
            low = -3 if negative else 1
            runs[f"r{i}"][query] = {doc: chance.randint(4 * low, 40) / 4 for doc in docs}
    return runs


# ---- a slow loop of each definition -------------------------------------------------------------


def rank_documents(scores: dict[str, float]) -> list[str]:
    """Documents by score, then by id, both falling."""
    return sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)


def normalize_scores(scores: dict[str, float], norm: str, candidates: set[str]) -> dict[str, float]:
    if norm == "min-max-inverted":
        return normalize_scores(
            {doc: -score for doc, score in scores.items()}, "min-max", candidates
        )
    low, high, n, c = min(scores.values()), max(scores.values()), len(scores), len(candidates)
    rank = {doc: i for i, doc in enumerate(rank_documents(scores), 1)}
    sum_above = sum(score - low for score in scores.values())
    mean = sum(scores.values()) / n
    sd = math.sqrt(sum((score - mean) ** 2 for score in scores.values()) / n)
    size = math.sqrt(sum(score * score for score in scores.values()))
    normalize: dict[str, Callable[[str], float]] = {
        "none": lambda doc: scores[doc],
        "min-max": lambda doc: (scores[doc] - low) / (high - low) if high > low else 0,
        "max": lambda doc: scores[doc] / (high if high > 0 else -low or 1),
        "sum": lambda doc: (scores[doc] - low) / sum_above if sum_above else 0,
        "zmuv": lambda doc: (scores[doc] - mean) / sd if high > low else 0,
        "l2": lambda doc: scores[doc] / size if size else 0,
        "rank": lambda doc: 1 - (rank[doc] - 1) / n,
        "borda": lambda doc: 1 - (rank[doc] - 1) / c,
    }
    return {doc: normalize[norm](doc) for doc in scores}


def give_points(
    scores: dict[str, float], method: str, parameters: dict[str, Any], c: int
) -> dict[str, float]:
    points_of_rank: dict[str, Callable[[int], float]] = {
        "rrf": lambda rank: 1 / (parameters["k"] + rank),
        "isr": lambda rank: 1 / rank**2,
        "rbc": lambda rank: (1 - parameters["phi"]) * parameters["phi"] ** (rank - 1),
        "borda": lambda rank: c - rank + 1,
    }
    points = points_of_rank["isr" if method.endswith("isr") else method]
    return {doc: points(rank) for rank, doc in enumerate(rank_documents(scores), 1)}


def combine_values(
    method: str, pairs: list[tuple[float, float]], n: int, sum_w: float, parameters: dict[str, Any]
) -> float:
    """The score of a document: `pairs` of values and weights, of which n runs returned it."""
    value_sum, weighted_sum = sum(v for v, _ in pairs), sum(v * w for v, w in pairs)
    weight_sum = sum(w for _, w in pairs)
    score_of_method: dict[str, Callable[[], float]] = {
        "mnz": lambda: value_sum * sum_w,
        "isr": lambda: value_sum * n,
        "log_isr": lambda: value_sum * math.log(n),
        "logn_isr": lambda: value_sum * math.log(n + parameters["sigma"]),
        "gmnz": lambda: value_sum * sum_w ** parameters["gamma"],
        "anz": lambda: weighted_sum / weight_sum if weight_sum else 0.0,
        "mixed": lambda: weighted_sum * math.sqrt(n),
        "max": lambda: max(v for v, _ in pairs),
        "min": lambda: min(v for v, _ in pairs),
        "med": lambda: statistics.median(v for v, _ in pairs),
    }
    return score_of_method.get(method, lambda: weighted_sum)()


def slowly(
    runs: list[ScoresOfQueries], method: str, norm: str, absent: str | None, **parameters: Any
) -> ScoresOfQueries:
    weights = parameters.get("weights") or [1.0] * len(runs)
    fused_run: ScoresOfQueries = {}
    for query in {query for run in runs for query in run}:
        lists = [run.get(query, {}) for run in runs]
        docs = {doc for scores in lists for doc in scores}
        fused_run[query] = {}
        values = [
            (
                give_points(scores, method, parameters, len(docs))
                if method in OF_RANKS
                else normalize_scores(scores, norm, docs)
            )
            if scores
            else {}
            for scores in lists
        ]
        for doc in docs:
            pairs = [
                (list_values[doc], w)
                for list_values, w in zip(values, weights, strict=True)
                if doc in list_values
            ]
            n, sum_w = len(pairs), sum(w for _, w in pairs)
            for list_values, w in zip(values, weights, strict=True):
                if doc in list_values:
                    continue
                if norm == "borda" and method not in OF_RANKS:
                    pairs.append(((len(docs) - len(list_values) + 1) / 2 / len(docs), w))
                    n, sum_w = n + 1, sum_w + w
                elif method == "borda" and absent is None:
                    pairs.append(((len(docs) - len(list_values) + 1) / 2, w))
                elif absent == "zero" and list_values:
                    pairs.append((0.0, w))
                elif absent == "lowest" and list_values:
                    pairs.append((min(list_values.values()), w))
            fused_run[query][doc] = combine_values(method, pairs, n, sum_w, parameters)
    return fused_run


def check_scores(scores_found: ScoresOfQueries, expected: ScoresOfQueries) -> None:
    assert scores_found.keys() == expected.keys()
    for query, scores in expected.items():
        assert scores_found[query] == pytest.approx(scores, rel=1e-12, abs=1e-12)


PARAMETERS: dict[str, dict[str, Any]] = {
    "rrf": {"k": 7},
    "gmnz": {"gamma": 0.5},
    "logn_isr": {"sigma": 0.3},
    "rbc": {"phi": 0.7},
}


@pytest.mark.parametrize("absent", [None, "left-out", "zero", "lowest"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_each_method_is_its_slow_loop(method: Any, absent: Any) -> None:
    parameters = PARAMETERS.get(method, {})
    for seed in seeds(6):
        runs = make_test_runs(seed)
        norms: Any = ["none"] if method in OF_RANKS else NORMS
        for norm in norms:
            if norm == "borda" and absent is not None:
                continue
            for weights in [None, [0.5, 0.0, 2.0]] if method in WEIGHTED else [None]:
                fused_run = fuse(
                    runs, method, norm=norm, absent=absent, weights=weights, **parameters
                ).to_dict()
                expected = slowly(
                    [*runs.values()], method, norm, absent, weights=weights, **parameters
                )
                check_scores(fused_run, expected)


def test_every_method_is_declared_once() -> None:
    assert tuple(METHODS) == tuple(WAYS)
    runs = [{"q": {"a": 1.0, "b": 0.5}}, {"q": {"b": 1.0}}]
    fused_runs = [fuse(runs, "log_isr"), fuse(runs, "logn_isr", sigma=0)]
    assert fused_runs[0].to_dict() == fused_runs[1].to_dict()


def test_published_vectors(data: Path) -> None:
    """Of ranx 0.3.21 and loops; equal scores keep the order shown."""
    vectors = json.loads((data / "fusion.json").read_text())
    runs, n = vectors["runs"], 0
    for fusion in vectors["fusions"]:
        method: Any = BY_RANX.get(fusion["method"], fusion["method"])
        if method in TRAINED:
            continue
        norm: Any = None if method in OF_RANKS else fusion["norm"] or "none"
        fused_run = fuse(runs, method, norm=norm, ties="given", **fusion["params"]).to_dict()
        expected = fusion["fused"]
        if norm == "max":  # q3 has a list of negative scores, which ranx divides by 1e-9
            del fused_run["q3"], expected["q3"]
        check_scores(fused_run, expected)
        n += 1
    assert n == 88


@pytest.mark.parametrize("norm", ["max", "none"])
def test_negative_scores_have_no_sentinel(norm: Any) -> None:
    """Where ranx takes -1e9 for what is absent, and divides by 1e-9."""
    runs = [{"q": {"a": -1.0, "b": -4.0}}, {"q": {"a": 2.0, "c": 1.0}}]
    fused_run = fuse(runs, "max", norm=norm).to_dict()["q"]
    size, greatest = {"max": (4, 2), "none": (1, 1)}[norm]
    assert fused_run == {"a": 2 / greatest, "c": 1 / greatest, "b": -4 / size}


# ---- what must hold of any runs -----------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_the_order_of_runs_changes_no_bit(method: Any) -> None:
    for seed in seeds(4):
        runs = make_test_runs(seed, n_runs=4)
        fused_in_order = [
            fuse(dict(order), method).to_dict() for order in permutations(runs.items())
        ]
        assert all(fused_run == fused_in_order[0] for fused_run in fused_in_order)
        assert all(
            list(fused_run[query]) == list(fused_in_order[0][query])
            for fused_run in fused_in_order
            for query in fused_in_order[0]
        )


@pytest.mark.parametrize("method", METHODS)
def test_a_run_fused_with_itself_keeps_its_order(method: Any) -> None:
    for seed in seeds(5):
        run = make_test_runs(seed, n_runs=1, negative=False)["r0"]
        fused_run = fuse([run, run], method).to_dict()
        for query, scores in run.items():
            assert list(fused_run[query]) == rank_documents(scores)


@pytest.mark.parametrize("norm", NORMS[1:])
@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_a_scale_does_not_matter_where_the_norm_says_so(norm: Any) -> None:
    runs = make_test_runs(2, negative=False)
    norms_without_shift = {"min-max", "min-max-inverted", "sum", "zmuv", "rank", "borda"}
    shift = 5.0 if norm in norms_without_shift else 0.0
    other_runs = {
        name: {q: {d: 8 * s + shift for d, s in scores.items()} for q, scores in run.items()}
        for name, run in runs.items()
    }
    check_scores(
        fuse(other_runs, "sum", norm=norm).to_dict(), fuse(runs, "sum", norm=norm).to_dict()
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_no_document_is_lost(method: Any) -> None:
    runs = make_test_runs(5)
    fused_run = fuse(runs, method).to_dict()
    for query in fused_run:
        assert set(fused_run[query]) == {doc for run in runs.values() for doc in run.get(query, {})}


@pytest.mark.parametrize("norm", NORMS)
def test_constant_lists_and_single_documents_are_kept(norm: Any) -> None:
    runs = [{"q": {"a": 0.1, "b": 0.1, "c": 0.1}}, {"q": {"d": 7.0}}]
    fused_run = fuse(runs, "sum", norm=norm).to_dict()["q"]
    assert set(fused_run) == set("abcd")
    if norm in ("min-max", "min-max-inverted", "sum", "zmuv"):
        assert set(fused_run.values()) == {0.0}


def test_equal_scores_are_ranked_by_id_as_everywhere() -> None:
    runs = [{"q": {"b": 2.0, "a": 1.0}}, {"q": {"a": 2.0, "b": 1.0}}]
    fused_run = fuse(runs)
    assert list(fused_run.to_dict()["q"]) == ["b", "a"]
    assert evaluate({"q": {"a": 1}}, fused_run, "RR")["RR"] == 1 / 2


def test_small_values_are_not_lost_beside_large_ones() -> None:
    """Of other documents of the query: each sum is rounded by its own size."""
    deep = {"q": {f"d{i:04d}": 1000.0 - i for i in range(1000)}}
    scores, double_scores = deep["q"], fuse([deep, deep], "rbc").to_dict()["q"]
    weights = [1 - 0.8]
    for _ in scores:
        weights.append(weights[-1] * 0.8)
    for doc, weight in zip(scores, weights, strict=False):
        assert double_scores[doc] == pytest.approx(2 * weight, rel=1e-12)
    assert [*double_scores] == [*scores]
    falling = {"q": {f"d{i:03d}": math.exp(-i) for i in range(700)}}
    for method in ("sum", "mnz", "anz", "mixed", "gmnz"):
        fused_run: Any = fuse([falling, falling], method, norm="max")
        assert [*fused_run.to_dict()["q"]] == [*falling["q"]]
        assert min(fused_run.to_dict()["q"].values()) > 0
    wide = [{"q": {"a": 1e30, "b": 1.0, "c": 2.0}}, {"q": {"b": 0.5}}]
    assert fuse(wide, "sum", norm="none").to_dict()["q"] == {"a": 1e30, "b": 1.5, "c": 2.0}
    tiny = fuse(wide, "sum", norm="none", weights=[1e-30, 0]).to_dict()["q"]
    assert tiny == {"a": 1e30 * 1e-30, "b": 1e-30, "c": 2e-30}
    smallest = {"q": {"a": 5e-324, "b": 1e-310}}
    assert fuse([smallest, smallest], "sum", norm="none").to_dict()["q"] == {
        "b": 2e-310,
        "a": 1e-323,
    }


def test_norms_take_scores_of_any_size() -> None:
    large = {"q": {"a": 1.7e308, "b": -1.7e308, "c": 0.0}}
    assert fuse([large, large], "sum").to_dict()["q"] == {"a": 2.0, "c": 1.0, "b": 0.0}
    for scale in (1e160, 1e-170):
        run = {"q": {"a": scale, "b": -scale}}
        assert fuse([run, run], "sum", norm="zmuv").to_dict()["q"] == {"a": 2.0, "b": -2.0}


@pytest.mark.parametrize("norm", ["sum", "zmuv", "l2"])
def test_the_order_of_rows_changes_no_bit(norm: Any) -> None:
    chance, docs = random.Random(5), [f"d{i:03d}" for i in range(200)]
    scores = {doc: chance.gauss(0, 1) for doc in docs}
    other = {"q": {doc: chance.gauss(0, 1) for doc in docs}}
    first = fuse([{"q": scores}, other], "sum", norm=norm).to_dict()
    for _ in range(5):
        chance.shuffle(docs)
        shuffled_run = {"q": {doc: scores[doc] for doc in docs}}
        assert fuse([shuffled_run, other], "sum", norm=norm).to_dict() == first
    mirror_scores = dict(zip(scores, reversed(scores.values()), strict=True))
    fused_run = fuse([{"q": scores}, {"q": mirror_scores}], "sum", norm=norm).to_dict()["q"]
    names = [*scores]
    assert all(fused_run[a] == fused_run[b] for a, b in zip(names, reversed(names), strict=True))


def test_powers_and_logarithms_have_the_bits_of_the_c_library() -> None:
    deep = {"q": {f"d{i:04d}": -float(i) for i in range(300)}}
    for phi in (0.8, 0.95):
        fused_run = fuse([deep, {"q": {"z": 1.0}}], "rbc", phi=phi).to_dict()["q"]
        power = 1.0
        for doc in deep["q"]:
            assert fused_run[doc] == (1 - phi) * power
            power *= phi
    runs = [{"q": {f"d{i}": 1.0 for i in range(n, 40)}} for n in range(40)]
    gmnz_scores = fuse(runs, "gmnz", norm="none", gamma=1.7).to_dict()["q"]
    log_isr_scores = fuse(runs, "log_isr").to_dict()["q"]
    for n in range(1, 41):
        assert gmnz_scores[f"d{n - 1}"] == n * math.pow(n, 1.7)
        assert n > 1 or log_isr_scores["d0"] == 0.0


def test_a_zero_is_of_runs_that_have_the_query() -> None:
    run, other_run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}, {"q1": {"a": 1.0}}
    for method in ("min", "med", "anz"):
        fused_run: Any = fuse([run, other_run, other_run], method, norm="max", absent="zero")
        with pytest.warns(CranfieldWarning, match="each is fused from the runs that have it"):
            assert fused_run.to_dict()["q2"] == {"a": 1.0, "b": 0.5}


def test_tables_of_any_library_go_into_a_list() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    for runs in ([table, table], [table, {"q": ["a", "b"]}]):
        assert fuse(runs).to_dict()["q"]["a"] == 2 / 61
    assert evaluate({"q": {"b": 1}}, [table, table], "RR")["run"]["RR"] == 1 / 2


def test_sums_are_rounded_once() -> None:
    chance = np.random.default_rng(20261127)
    n, doc = 400, np.repeat(np.arange(400), 12)
    values = chance.normal(size=len(doc)) * 2.0 ** chance.integers(-30, 3, len(doc))
    sums = DocumentValues(
        np.arange(n) // 20, doc, values, np.ones(len(doc)), np.ones(len(doc), np.bool_)
    ).total(values)
    exact_sums = [math.fsum(values[doc == doc_number]) for doc_number in range(n)]
    assert sums.tolist() == exact_sums


def test_other_documents_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    docs = Ids.of_texts(["long document a", "long document b", "long document a", "c", "c"])
    query = np.array([0, 0, 0, 0, 1])
    monkeypatch.setattr(slots, "pair_keys", lambda hashes, group: np.ones(len(hashes), np.uint64))
    rows, doc = slots.number_pairs(query, docs)
    assert {(docs[row], int(query[row])) for row in rows.tolist()} == {
        (b"long document a", 0),
        (b"long document b", 0),
        (b"c", 0),
        (b"c", 1),
    }
    assert len(rows) == 4
    assert doc[0] == doc[2]
    assert len({*doc.tolist()}) == 4
    assert [docs[row] for row in rows[doc].tolist()] == docs.to_list()


# ---- how runs are read --------------------------------------------------------------------------


def write_runs(folder: Path, runs: dict[str, list[tuple[str, str, float]]]) -> list[Path]:
    paths = []
    for name, rows in runs.items():
        paths.append(folder / f"{name}.run")
        lines = (f"{q} Q0 {d} 1 {s} {name}\n" for q, d, s in rows)
        paths[-1].write_text("".join(lines))
    return paths


def read_in_small_blocks(monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> None:
    monkeypatch.setattr(SIZES, "bytes", n_bytes)
    monkeypatch.setattr(SIZES, "tail", n_bytes // 2)


def make_many_rows(seed: int, *, n_queries: int = 60) -> dict[str, list[tuple[str, str, float]]]:
    """Rows of runs whose queries are in different orders, and of which some are missing."""
    chance = random.Random(seed)
    runs = {}
    for name, max_docs in (("a", 9), ("b", 3), ("c", 6)):
        queries = [f"q{i}" for i in range(n_queries) if chance.random() < 0.9]
        chance.shuffle(queries)
        runs[name] = [
            (query, f"d{j}", chance.randint(0, 99) / 4)
            for query in queries
            for j in chance.sample(range(20), chance.randint(1, max_docs))
        ]
    return runs


def to_dicts(rows_of: dict[str, list[tuple[str, str, float]]]) -> dict[str, ScoresOfQueries]:
    runs: dict[str, ScoresOfQueries] = {}
    for name, rows in rows_of.items():
        runs[name] = {}
        for query, doc, score in rows:
            runs[name].setdefault(query, {})[doc] = score
    return runs


@pytest.mark.parametrize("threads", [1, None, 7])
@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
def test_files_are_read_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int | None
) -> None:
    read_in_small_blocks(monkeypatch, 300)
    monkeypatch.setattr(fused_rows, "_ROWS_PER_BATCH", 20)
    rows_of_run = make_many_rows(1)
    paths = write_runs(tmp_path, rows_of_run)
    with limit_threads(threads):
        fuse(paths, "mnz").write(tmp_path / "out.run")
        fused_run = fuse(paths, "mnz").to_dict()
    check_scores(fused_run, slowly([*to_dicts(rows_of_run).values()], "mnz", "min-max", None))
    order = (tmp_path / "out.run").read_bytes()
    with limit_threads(1):
        fuse(paths, "mnz").write(tmp_path / "out.run")
    assert (tmp_path / "out.run").read_bytes() == order


def test_queries_that_come_back_soon_are_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows_of_run = make_many_rows(2)
    random.Random(3).shuffle(rows_of_run["b"])
    paths = write_runs(tmp_path, rows_of_run)
    expected = slowly([*to_dicts(rows_of_run).values()], "rrf", "none", None, k=60)
    with pytest.warns(CranfieldWarning, match="each is fused from the runs that have it"):
        check_scores(fuse(paths).to_dict(), expected)
    read_in_small_blocks(monkeypatch, 300)
    with pytest.warns(CranfieldWarning, match="lacks"):
        check_scores(fuse(paths).to_dict(), expected)


def test_a_query_that_comes_back_when_it_was_fused_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_in_small_blocks(monkeypatch, 100)
    monkeypatch.setattr(fused_rows, "_ROWS_PER_BATCH", 1)
    rows = [(f"q{i}", "d1", 1.0) for i in range(300)]
    paths = write_runs(tmp_path, {"a": rows, "b": [*rows, ("q0", "d2", 0.5)]})
    with pytest.raises(InputError, match="the query 'q0' comes back after many others") as error:
        fuse(paths).to_dict()
    assert error.value.source == str(paths[1])
    read_run(paths[1]).write(tmp_path / "together.run")
    assert fuse([paths[0], tmp_path / "together.run"]).to_dict()["q0"]["d2"] == 1 / 62


def test_few_rows_are_held_where_runs_have_the_same_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_in_small_blocks(monkeypatch, 1000)
    monkeypatch.setattr(fused_rows, "_ROWS_PER_BATCH", 100)
    long_rows = [(f"q{i}", f"d{j}", float(-j)) for i in range(500) for j in range(20)]
    short_rows = [(f"q{i}", f"d{j}", float(-j)) for i in range(500) for j in range(2)]
    paths = write_runs(tmp_path, {"long": long_rows, "short": short_rows})
    sizes = [len(load().query.find_changes()) for load in fuse(paths).blocks()]
    assert sum(sizes) == 500
    assert len(sizes) > 50  # given out as it is read, although one is ten times as long


@pytest.mark.parametrize("suffix", ["run", "csv", "tsv", "json", "jsonl", "parquet", "arrow"])
def test_it_is_written_in_every_format(tmp_path: Path, suffix: str) -> None:
    runs = make_test_runs(4)
    del runs["r1"]
    fused_run = fuse(runs, "sum", name="mine")
    fused_run.write(tmp_path / f"mine.{suffix}")
    assert read_run(tmp_path / f"mine.{suffix}").to_dict() == fused_run.to_dict()


def test_a_run_says_how_it_was_made() -> None:
    fused_run = fuse(
        {"a": {"q": {"d": 1.0}}, "b": {"q": {"d": 2.0}}}, "sum", weights={"b": 2, "a": 1}
    )
    assert fused_run.name == "sum"
    assert (fused_run.recipe["method"], fused_run.recipe["norm"]) == ("sum", "min-max")
    assert (fused_run.recipe["weights"], list(fused_run.recipe["runs"])) == ([1.0, 2.0], ["a", "b"])
    assert fused_run.description == "sum of a, b (norm min-max, absent left-out, weights 1, 2)"
    second_run = fuse({"sum": fused_run, "c": {"q": {"e": 1.0}}})
    assert second_run.recipe["runs"]["sum"] == fused_run.recipe
    assert second_run.description == "rrf of sum, c (norm none, absent left-out, k 60)"
    fused_many = fuse({f"r{i}": {"q": {"d": 1.0}} for i in range(40)})
    assert (
        fused_many.description
        == "rrf of r0, r1, r2, and 37 more (norm none, absent left-out, k 60)"
    )
    assert evaluate({"q": {"d": 1}}, fused_run, "RR").recipe["run"] == fused_run.description
    assert Run({"q": {"d": 1.0}}).recipe == {}
    assert "k 60" in fuse([{"q": ["d"]}, {"q": ["e"]}]).description


def test_ranks_need_no_scores() -> None:
    scores = fuse([{"q": ["a", "b"]}, {"q": ["b", "c"]}]).to_dict()["q"]
    assert scores == {"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62}
    assert fuse([{"q": ["a", "b"]}, {"q": ["b"]}], "sum", norm="rank").to_dict()["q"]["b"] == 1.5


def test_only_the_first_of_each_run_are_fused() -> None:
    runs = [{"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"c": 3.0, "b": 2.0, "a": 1.0}}]
    assert fuse(runs, "sum", depth=2).to_dict()["q"] == {"c": 1.0, "a": 1.0, "b": 0.0}


def test_distances_are_ranked_the_other_way_round() -> None:
    runs = [{"q": {"near": 0.1, "far": 0.9}}, {"q": {"near": 0.2, "far": 0.3}}]
    for method in ("rrf", "sum"):
        assert list(fuse(runs, method, norm="min-max-inverted").to_dict()["q"]) == ["near", "far"]
    scores = fuse(runs, depth=1, norm="min-max-inverted").to_dict()["q"]
    assert list(scores) == ["near"]


def test_rows_that_are_skipped_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("query_id,doc_id,score\nq,a,1\nq,b,x\n")
    fused_run = fuse([read_run(path, errors="skip"), {"q": {"b": 1.0}}])
    assert fused_run.write(tmp_path / "out.run").left_out.count == 1
    with pytest.raises(InputError, match="expected a number as the score"):
        fuse([path, {"q": {"b": 1.0}}]).to_dict()


def test_documents_that_occur_twice_are_refused_or_counted() -> None:
    rows = [("q", "a", 3.0), ("q", "b", 2.0), ("q", "a", 1.0)]
    with pytest.raises(DuplicateError, match="the document 'a' occurs twice"):
        fuse([Run(rows, "twice"), {"q": {"b": 1.0}}]).to_dict()
    fused_run = fuse([Run(rows, "twice"), {"q": {"b": 1.0}}], duplicates="first")
    assert fused_run.to_dict()["q"] == {"b": 1 / 62 + 1 / 61, "a": 1 / 61}
    assert ["twice" in note.text for note in fused_run.rows.notes] == [True]


# ---- what is refused ----------------------------------------------------------------------------

A, B = {"q": {"a": 1.0}}, {"q": {"b": 1.0}}


@pytest.mark.parametrize(
    ("runs", "method", "options", "message"),
    [
        ([A], "rrf", {}, "one run, 'run': there is nothing to fuse it with"),
        (A, "rrf", {}, "one run, 'run'"),
        ([A, {"q": ["b"]}], "sum", {}, "has no scores, and sum with norm='min-max' adds them up"),
        ([A, {"q": {"b": math.inf}}], "sum", {}, "has the score inf for the document 'b'"),
        ([A, {"q2": {"b": 1.0}}], "rrf", {}, "no query is in more than one of the runs"),
        ([A, B], "condorcet", {}, "method"),
        ([A, B], "sum", {"norm": "softmax"}, "norm"),
        ([A, B], "sum", {"weights": [1, math.nan]}, "a number of at least 0 for each run"),
        ([A, B], "sum", {"weights": [1, -1]}, "a number of at least 0 for each run"),
        ([A, B], "sum", {"weights": [1, math.inf]}, "a number of at least 0 for each run"),
        ([A, B], "sum", {"weights": [0, 0]}, "not all 0"),
        ([A, B], "sum", {"weights": [1, 2, 3]}, "3 weights for 2 runs"),
        (
            [A, B],
            "sum",
            {"weights": {"x": 1, "y": 2}},
            "weights: there is no run 'x'; the runs are run, run (2)",
        ),
        ([A, B], "max", {"weights": [1, 2]}, "max has no form with weights"),
        ([A, B], "rrf", {"norm": "zmuv"}, "changes no rank"),
        ([A, B], "sum", {"k": 3}, "k=3 applies to rrf, not to sum"),
        ([A, B], "rrf", {"phi": 0.5}, "phi=0.5 applies to rbc, not to rrf"),
        ([A, B], "rbc", {"phi": 1.0}, "above 0 and below 1"),
        ([A, B], "sum", {"norm": "borda", "absent": "zero"}, "leave absent out"),
        ([A, B], "rrf", {"ties": "expected"}, "a fused run has one order"),
        ([A, B], "rrf", {"duplicates": "each"}, "each document once"),
        ([A, B], "sum", {"norm": "min-max-inverted", "duplicates": "best"}, "of distances"),
        ([A, B], "rrf", {"norm": "min-max-inverted", "order": "given"}, "takes scores"),
        ([A, B], "rrf", {"name": 3}, "what the run is called"),
        ([{"q": ["a"]}, B], "rrf", {"norm": "min-max-inverted"}, "takes distances"),
        (
            [Run({"q": {"a#1": 3.0, "a#2": 0.5}}).map_docs("(.*)#"), B],
            "sum",
            {"norm": "min-max-inverted"},
            "documents of chunks have the highest score",
        ),
        ([A, B], "sum", {"weights": {0.3, 0.7}}, "a number of at least 0 for each run"),
        ([A, B], "sum", {"weights": "run=1,run=2"}, "a run is named twice"),
        ({"x": A, "y": B}, "sum", {"weights": {"x": 1}}, "weights: none of 'y'; the runs are x, y"),
        ([A, {}], "rrf", {}, "Empty, or without a row that can be used: run (2)"),
        (
            [{"q": {"a": 1.7e308}}] * 2,
            "sum",
            {"norm": "none"},
            "query 'q', document 'a': the score of sum is too large for a number (inf)",
        ),
        ([A, B], "sum", {"norm": "none", "weights": [1.7e308] * 2}, None),
        ([A, A], "gmnz", {"norm": "none", "gamma": 1e6}, "too large"),
    ],
)
def test_what_is_wrong_is_said(runs: Any, method: Any, options: Any, message: str | None) -> None:
    if message is None:  # a large number, and no larger than there are
        assert max(fuse(runs, method, **options).to_dict()["q"].values()) == 1.7e308
        return
    with pytest.raises((InputError, OptionError), match=re.escape(message)):
        fuse(runs, method, **options).to_dict()


def test_queries_that_a_run_lacks_are_told_once() -> None:
    fused_run = fuse({"a": {**A, "q2": {"b": 1.0}}, "b": B})
    with pytest.warns(CranfieldWarning, match="Of 2 queries, b lacks 1") as warnings:
        fused_run.to_dict()
    assert warnings[0].filename == __file__
    fused_without_names = fuse([{**A, "q2": {"b": 1.0}}, B])
    with pytest.warns(CranfieldWarning, match=r"Of 2 queries, run \(2\) lacks 1"):
        fused_without_names.to_dict()
    assert fused_run.to_dict()["q2"] == {"b": 1 / 61}  # without a warning, which would be an error


# ---- the command --------------------------------------------------------------------------------


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["fuse", *arguments])


def test_the_command_writes_a_run(demo_folder: Path, tmp_path: Path) -> None:
    runs = [str(demo_folder / "demo" / name) for name in ("bm25.run", "dense.run")]
    target = str(tmp_path / "hybrid.run")
    outcome = invoke(*runs, "-o", target, "--method", "sum", "--weights", "dense=0.7,bm25=0.3")
    assert outcome.exit_code == 0
    assert (
        "made sum of bm25, dense (norm min-max, absent left-out, weights 0.3, 0.7)"
        in outcome.stderr
    )
    expected = fuse(runs, "sum", weights=[0.3, 0.7])
    assert read_run(target).to_dict() == expected.to_dict()
    assert read_run(target).tag == "sum"
    outcome_of_input = invoke(*runs, "-o", runs[0])
    assert outcome_of_input.exit_code == 2
    assert "is read by this command" in outcome_of_input.stderr
    (tmp_path / "parts").mkdir()
    part = tmp_path / "parts" / "1.run"
    part.write_text(Path(runs[0]).read_text())
    outcome_of_input = invoke(str(tmp_path / "parts" / "*.run"), runs[1], "-o", str(part))
    assert "is read by this command" in outcome_of_input.stderr
    chunks = tmp_path / "map.csv"
    chunks.write_text("chunk,document\n")
    outcome_of_input = invoke(*runs, "--map-docs", str(chunks), "-o", str(chunks))
    assert "is read by this command" in outcome_of_input.stderr
    outcome_of_input = invoke(*runs, "-o", target, "--qrels-format", "trec")
    assert "--qrels-format applies to judgments" in outcome_of_input.stderr
    outcome_of_spaces = invoke(
        *runs, "-o", target, "--method", "sum", "--weights", "dense = 0.7, bm25=0.3"
    )
    assert "weights 0.3, 0.7" in outcome_of_spaces.stderr
    assert invoke(runs[0], "-o", target).exit_code == 2
    assert (
        "expected a number of at least 0" in invoke(*runs, "-o", target, "--weights", "1,x").stderr
    )


def test_the_hash_seed_changes_no_byte(demo_folder: Path) -> None:
    """Ties in ranx's Borda depend on it."""
    command = [sys.executable, "-m", "cranfield", "fuse", "demo/bm25.run", "demo/tfidf.run"]
    outputs = [
        subprocess.run(
            [*command, "--method", "borda", "-o", "-"],
            cwd=demo_folder,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].count(b"\n") > 1000


def test_the_run_that_comes_with_the_package_is_made_again(demo_folder: Path) -> None:
    """It was made by a script of its own, with 30 documents a query and six decimals."""
    demo = demo_folder / "demo"
    fused_run = fuse([demo / "bm25.run", demo / "dense.run"]).to_dict()
    for query, scores in read_run(demo / "fusion.run").to_dict().items():
        assert list(scores)[:10] == list(fused_run[query])[:10]
        assert {doc: fused_run[query][doc] for doc in scores} == pytest.approx(scores, abs=5.1e-7)


def test_the_command_tells_of_queries_that_a_run_lacks(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 d 1 1 a\nq2 Q0 d 1 1 a\n")
    (tmp_path / "b.run").write_text("q1 Q0 d 1 1 b\n")
    outcome = invoke(str(tmp_path / "a.run"), str(tmp_path / "b.run"), "-o", "-")
    assert outcome.stdout.startswith("q1 Q0 d 1 0.03278688524590164 rrf\n")
    assert "warning: Of 2 queries, b lacks 1" in outcome.stderr
