"""trust: which orders people confirm, how far a model's numbers are off, how far both agree."""

import json
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from statistics import mean, variance
from typing import Any

import numpy as np
import pytest
from helpers.commands import invoke
from scipy import stats

from cranfield import CranfieldWarning, MeasureError, OptionError, evaluate, trust
from cranfield.errors import InputError, NothingSharedError
from cranfield.extensions.labels.human.powered import DocumentScores, QueryScores

Labels = dict[str, dict[str, int]]
RUN_NAMES = ["bm25", "tfidf", "dense", "fusion"]


@pytest.fixture
def folder(data: Path) -> Path:
    return data / "labels" / "trust"


@pytest.fixture
def expected(folder: Path) -> Any:
    return json.loads((folder / "expected.json").read_text())


# ---- the vectors -------------------------------------------------------------------------------


@pytest.mark.more
def test_means_and_pairs_are_those_of_the_vectors(folder: Path, expected: Any) -> None:
    runs = [folder / f"{name}.run" for name in RUN_NAMES]
    human, measures = folder / "human.csv", [vector["measure"] for vector in expected["trust"]]
    result = trust(folder / "model.qrels", runs, measures, human=human, width=0.03)
    assert (result.n_queries, round(result.n_pooled)) == (40, 835)
    for vector in expected["trust"]:
        measure = vector["measure"]
        assert result.tau[measure] == vector["tau"]
        for name, numbers in vector["systems"].items():
            mean = result.means[measure][name]
            fields = ["model", "low", "high", "lam", "off", "off_low", "off_high"]
            assert [getattr(mean, field) for field in fields] == pytest.approx(
                [numbers[field] for field in fields], rel=1e-9, abs=1e-12
            )
            assert (mean.mean, mean.error) == pytest.approx((numbers["estimate"], numbers["se"]))
            assert mean.labelled == vector["labelled"]
            if name != "bm25":
                favour = result.differences[measure][name]
                assert [favour.off, favour.off_low, favour.off_high] == pytest.approx(
                    [numbers[f"favoured{end}"] for end in ("", "_low", "_high")], rel=1e-9
                )
        pair_of_names = {(pair.system, pair.other): pair for pair in result.pairs[measure]}
        assert len(pair_of_names) == len(vector["pairs"])
        for numbers in vector["pairs"]:
            sign = 1 if numbers["model"] > 0 else -1
            first, second = numbers["pair"][::sign]
            pair = pair_of_names[first, second]
            ends = sorted([sign * numbers["low"], sign * numbers["high"]])
            assert [pair.model, pair.mean, pair.low, pair.high, pair.p, pair.p_adjusted] == (
                pytest.approx(
                    [
                        sign * numbers["model"],
                        sign * numbers["estimate"],
                        *ends,
                        numbers["p"],
                        numbers["p_holm"],
                    ],
                    rel=1e-9,
                )
            )
            assert pair.order == numbers["order"]
            assert pair.labels_needed == numbers["labels_needed"]


@pytest.mark.more
def test_agreement_is_that_of_the_vectors(folder: Path, expected: Any) -> None:
    result = trust(folder / "model.qrels", human=folder / "human.csv")
    vector = expected["agreement"]
    assert result.agreement.keys() == vector["coefficients"].keys()
    for name, numbers in vector["coefficients"].items():
        coefficient = result.agreement[name]
        assert [coefficient.value, coefficient.low, coefficient.high] == pytest.approx(
            [numbers["value"], numbers["low"], numbers["high"]], rel=1e-9
        )
        assert coefficient.documents == numbers["n"]
    counts = result.count_grades()
    for i, human in enumerate(vector["grades"]):
        for j, model in enumerate(vector["grades"]):
            n, share = counts[human, model]
            assert n == vector["counts"][i][j]
            assert share == pytest.approx(vector["shares"][i][j])


# ---- own loops ---------------------------------------------------------------------------------


def make_collection(n: int = 30, *, kind: float = 0.3) -> tuple[Labels, Labels, dict[str, Any]]:
    """Return the labels of people, of a model that errs, and three runs of ten documents."""
    chance = np.random.default_rng(3)
    human: Labels = {}
    model: Labels = {}
    runs: dict[str, dict[str, list[str]]] = {"old": {}, "new": {}, "chance": {}}
    for i in range(n):
        query = f"q{i:02}"
        grades = chance.integers(0, 3, 10) * chance.integers(0, 2, 10)
        human[query] = {f"d{j}": int(grade) for j, grade in enumerate(grades)}
        model[query] = {
            doc: int(chance.integers(0, 3)) if chance.random() < kind else grade
            for doc, grade in human[query].items()
        }
        for noise, name in ((0.5, "new"), (2.0, "old"), (99.0, "chance")):
            worth = grades + chance.normal(0, noise, 10)
            runs[name][query] = [f"d{j}" for j in np.argsort(-worth)]
    return human, model, runs


def draw_documents(human: Labels) -> list[dict[str, Any]]:
    """Return the drawn part of people's labels, each with its probability."""
    chance = np.random.default_rng(5)
    return [
        {"query_id": query, "doc_id": doc, "relevance": grade, "probability": share}
        for query, docs in human.items()
        for doc, grade in docs.items()
        if chance.random() < (share := 0.6 if doc < "d4" else 0.3)
    ]


def slow_kappa(rows: list[Any]) -> float:
    """Return 1 - observed / expected squared difference; rows are (query, human, model, weight)."""
    total_weight = sum(weight for *_, weight in rows)
    observed: float = sum(w * (h - m) ** 2 for _, h, m, w in rows) / total_weight
    expected: float = (
        sum(v * w * (h - m) ** 2 for _, h, _, v in rows for _, _, m, w in rows) / total_weight**2
    )
    return 1 - observed / expected


def leave_queries_out(rows: list[Any], statistic: Any) -> tuple[float, int]:
    """Return the jackknife's standard error, and the number of queries."""
    queries = sorted({row[0] for row in rows})
    values = [statistic([row for row in rows if row[0] != query]) for query in queries]
    n = len(queries)
    return sqrt((n - 1) / n * sum((value - mean(values)) ** 2 for value in values)), n


def test_agreement_is_that_of_loops() -> None:
    human, model, _ = make_collection(12)
    drawn_rows = draw_documents(human)
    agreement = trust(model, human=drawn_rows, rel=2, alpha=0.1).agreement
    rows = [
        (
            row["query_id"],
            row["relevance"],
            model[row["query_id"]][row["doc_id"]],
            1 / row["probability"],
        )
        for row in drawn_rows
    ]
    for name, is_counted in (("sensitivity", 1), ("specificity", 0)):
        part_rows = [(q, (m >= 2) == (h >= 2), w) for q, h, m, w in rows if (h >= 2) == is_counted]

        def share(part: list[Any]) -> float:
            hits: float = sum(w for _, hit, w in part if hit)
            weight: float = sum(w for *_, w in part)
            return hits / weight

        p = share(part_rows)
        error, n_queries = leave_queries_out(part_rows, share)
        n, t = min(len(part_rows), p * (1 - p) / error**2), stats.t.ppf(0.95, n_queries - 1)
        middle, half = p + t**2 / (2 * n), t * sqrt(p * (1 - p) / n + t**2 / (4 * n**2))
        ends = [(middle + sign * half) / (1 + t**2 / n) for sign in (-1, 1)]
        coefficient = agreement[name]
        assert [coefficient.value, coefficient.low, coefficient.high] == pytest.approx([p, *ends])
        assert coefficient.documents == len(part_rows)
    kappa = slow_kappa(rows)
    error, n_queries = leave_queries_out(rows, slow_kappa)
    t = stats.t.ppf(0.95, n_queries - 1)
    coefficient = agreement["w. kappa"]
    assert [coefficient.value, coefficient.low] == pytest.approx([kappa, kappa - t * error])
    assert agreement["kappa"].value == pytest.approx(
        slow_kappa([(q, h >= 2, m >= 2, w) for q, h, m, w in rows])
    )


def test_agreement_without_errors_or_with_one_query() -> None:
    labels = {f"q{i}": {"a": 1, "b": 0} for i in range(6)}
    agreement = trust(labels, human=labels).agreement
    t, n = stats.t.ppf(0.975, 5), 6
    assert agreement["sensitivity"].value == agreement["sensitivity"].high == 1
    assert agreement["sensitivity"].low == pytest.approx(1 / (1 + t**2 / n))  # Wilson of 6 of 6
    assert (agreement["kappa"].value, agreement["kappa"].low) == (1, None)  # no width of 0
    one_query = trust({"q": {"a": 1, "b": 1}}, human={"q": {"a": 1, "b": 0}}).agreement
    assert (one_query["specificity"].value, one_query["specificity"].low) == (0, None)
    all_relevant = trust({"q": {"a": 1}}, human={"q": {"a": 1}}).agreement
    assert (all_relevant["specificity"].value, all_relevant["kappa"].value) == (None, None)


def test_documents_and_orders_are_those_of_loops(quiet: None) -> None:
    human, model, runs = make_collection()
    rows = draw_documents(human)
    result = trust(model, runs, "P@3", human=rows, lam=1.0)
    for system, run in runs.items():
        part_rows = [row for row in rows if row["doc_id"] in run[row["query_id"]][:3]]
        errors = [
            ((row["relevance"] > 0) - (model[row["query_id"]][row["doc_id"]] > 0)) / 3
            for row in part_rows
        ]
        chances = [row["probability"] for row in part_rows]
        pairs = [*zip(errors, chances, strict=True)]
        off = -sum(error / pi for error, pi in pairs) / len(human)
        label_error = sqrt(sum((1 - pi) / pi**2 * e**2 for e, pi in pairs)) / len(human)
        z = sum(
            row["relevance"] > 0 or model[row["query_id"]][row["doc_id"]] > 0 for row in part_rows
        )
        half = stats.t.ppf(0.975, z - 2) * label_error * sqrt(z / (z - 2))
        system_mean = result.means["P@3"][system]
        assert [system_mean.off, system_mean.off_low, system_mean.off_high] == pytest.approx(
            [off, off - half, off + half]
        )
        if system != "old":
            favour = result.differences["P@3"][system].off
            assert favour == pytest.approx(system_mean.off - result.means["P@3"]["old"].off)
    model_means = {name: evaluate(model, run, "P@3")["P@3"] for name, run in runs.items()}
    names = sorted(runs, key=lambda name: -model_means[name])
    pairs = [(pair.system, pair.other) for pair in result.pairs["P@3"]]
    assert pairs == [(names[0], names[1]), (names[0], names[2]), (names[1], names[2])]


def test_whole_queries_are_those_of_loops(quiet: None) -> None:
    human, model, runs = make_collection()
    human_labels = {query: human[query] for query in list(human)[::3]}
    result = trust(model, runs, human=human_labels, width=0.1)
    (measure,) = result.means
    assert measure == "nDCG@10"
    y_scores, f_scores = (
        {name: evaluate(labels, run, measure).per_query(measure) for name, run in runs.items()}
        for labels in (human_labels, model)
    )
    n, n_all = len(human_labels), len(model)
    for pair in result.pairs[measure]:
        y, f, rest = (
            [scores[pair.system][q] - scores[str(pair.other)][q] for q in queries]
            for scores, queries in (
                (y_scores, human_labels),
                (f_scores, human_labels),
                (f_scores, [query for query in model if query not in human_labels]),
            )
        )
        share = pair.lam + n / n_all
        off_variance = variance([a - share * b for a, b in zip(y, f, strict=True)]) / n
        off_variance += (share - 1) ** 2 * variance(rest) / (n_all - n)
        half = stats.t.ppf(0.975, n - 1) * sqrt(off_variance)
        assert pair.off == pytest.approx(pair.model - pair.mean)
        assert [pair.off_low, pair.off_high] == pytest.approx([pair.off - half, pair.off + half])
        all_f, n_needed = f + rest, None
        slope = np.cov(y, f)[0, 1] / variance(all_f)
        for size in range(n, n_all + 1):
            lam = min(max(slope * (n_all - size) / n_all, 0), 1)
            square = variance([a - lam * b for a, b in zip(y, f, strict=True)]) / size
            square += lam**2 * variance(all_f) / (n_all - size) if size < n_all else 0
            if stats.t.ppf(0.975, size - 1) * sqrt(square) <= 0.1:
                n_needed = size
                break
        assert pair.labels_needed == n_needed


@pytest.mark.more
def test_labels_needed_and_off_are_those_of_the_vectors(data: Path) -> None:
    vectors = json.loads((data / "labels" / "numbers.json").read_text())
    for name in ("gate_human", "gate_human_few"):
        model, human = vectors[name]["model"], vectors[name]["human"]
        rest = [query for query in model["old"] if query not in human["old"]]
        y, f, others = (
            np.array([scores["new"][query] - scores["old"][query] for query in queries])
            for scores, queries in ((human, human["old"]), (model, human["old"]), (model, rest))
        )
        scores, expected = QueryScores(y, f, others), vectors[name]["expected"]
        estimate = scores.estimate()
        off = estimate.model - estimate.estimate
        half = stats.t.ppf(0.975, estimate.excess_degrees) * (estimate.excess_error or 0)
        assert off == pytest.approx(expected["off"])
        assert [off - half, off + half] == pytest.approx(expected["off_interval"])
        assert {
            width: scores.count_labels(None, float(width), [0.975])
            for width in expected["labels_needed"]
        } == expected["labels_needed"]


def test_few_documents_have_no_error_and_perfect_labels_need_no_more() -> None:
    query, y = np.arange(4), np.array([0.1, 0.1, 0.0, 0.0])
    model_scores = np.linspace(0, 1, 9)
    scores = DocumentScores(query, y, y, np.full(4, 0.5), model_scores)
    assert scores.estimate().excess_error is None  # two documents add something
    assert scores.count_labels(None, 1.0, [0.975]) == 4
    assert scores.count_labels(None, 0.01, [0.975]) is None


def test_queries_with_unequal_probabilities_have_no_interval_of_off() -> None:
    numbers = np.linspace(0, 1, 8)
    scores = QueryScores(numbers, numbers**2, numbers, np.where(numbers < 0.5, 0.2, 0.4))
    assert scores.estimate().excess_error is None
    assert scores.count_labels(None, 9.0, [0.975]) is None


# ---- notes and refusals ------------------------------------------------------------------------


@pytest.fixture
def quiet() -> Iterator[None]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CranfieldWarning)
        yield


def reverse_labels() -> tuple[Labels, Labels, dict[str, Any]]:
    """Return people who like "a", a model that likes "b", and a run that shows each alone."""
    chance = np.random.default_rng(1)
    human = {f"q{i:02}": {"a": int(chance.random() < 0.9), "b": 0, "c": 0} for i in range(40)}
    model = {query: {"a": 0, "b": 1, "c": 0} for query in human}
    runs = {f"by {doc}": {query: [doc] for query in human} for doc in ("a", "b", "c")}
    return human, model, runs


def test_reversed_and_tied_orders_are_said(quiet: None) -> None:
    human, model, runs = reverse_labels()
    human_labels = {query: human[query] for query in list(human)[::2]}
    with pytest.warns(CranfieldWarning, match=r"reverse 1, leave 1 open\. The model ties 1, of"):
        result = trust(model, runs, "P@1", human=human_labels)
    order_of_pair = {(pair.system, pair.other): pair.order for pair in result.pairs["P@1"]}
    assert order_of_pair == {
        ("by b", "by a"): "reversed",
        ("by b", "by c"): "open",
        ("by a", "by c"): "tied",
    }
    assert "Warning: People confirm the model's order of 0 of 3 pairs" in str(result)
    (tied_pair,) = (pair for pair in result.pairs["P@1"] if pair.order == "tied")
    assert tied_pair.p_adjusted is not None
    assert tied_pair.p_adjusted < 0.001
    assert "The model ties 1, of which people order 1." in str(result)
    same_result = trust(human, runs, "P@1", human=human_labels)
    assert {pair.order for pair in same_result.pairs["P@1"]} == {"same", "tied"}
    assert "orders" in {note.code for note in same_result.notes if not note.is_grave}


def test_the_level_of_relevance_is_said_and_is_that_of_the_default_measure(quiet: None) -> None:
    human, model, runs = make_collection()
    labels = draw_documents(human)
    assert "relevant (a grade of 1 or more; --rel)" in trust(model, human=labels).to_text()
    result = trust(model, runs, human=labels, rel=2)
    assert [*result.means] == ["P(rel=2)@10"]
    assert "(a grade of 2 or more; --rel)" in result.to_text()


@pytest.mark.parametrize(
    ("prompt", "top", "end"),
    [
        ("binary 41218772", 3, 1),
        ("graded e66336a1", 7, 3),
        ("graded e66336a1", 3, None),
        ("", 7, None),
    ],
)
def test_grades_of_people_above_the_scale_of_the_model_are_told(
    quiet: None, prompt: str, top: int, end: int | None
) -> None:
    human, _, runs = make_collection()
    model = [
        {
            "query_id": query,
            "doc_id": doc,
            "relevance": min(grade, 1),
            "judge_model": "m",
            "judge_prompt": prompt,
        }
        for query, docs in human.items()
        for doc, grade in docs.items()
    ]
    people = {q: {d: top * (g > 0) for d, g in docs.items()} for q, docs in [*human.items()][::2]}
    (note,) = (
        n for n in trust(model, runs, "P@1", human=people).notes if n.code == "highest-grade"
    )
    assert note.is_grave == (end is not None)
    assert (f"The model's scale ends at {end}" in note.text) == (end is not None)


def test_where_less_is_better_the_least_comes_first(quiet: None) -> None:
    human, model, runs = make_collection()
    human_labels = {query: human[query] for query in list(human)[::2]}
    pairs = trust(model, runs, "SearchLength", human=human_labels).pairs["SearchLength"]
    assert [pair.system for pair in pairs] == ["new", "new", "old"]
    assert all(pair.model < 0 for pair in pairs)
    assert pairs[1].order == "same"


def test_what_needs_runs_and_what_cannot_be_is_refused() -> None:
    human, model, runs = make_collection(6)
    with pytest.raises(OptionError, match="width says something of systems"):
        trust(model, human=human, width=0.1)
    with pytest.raises(OptionError, match="measures says something of systems"):
        trust(model, None, "P@1", human=human)
    with pytest.raises(NothingSharedError, match="by people and by the model"):
        trust(model, human={"q00": {"unknown": 1}})
    with pytest.raises(InputError, match="not judgments in groups"):
        trust({"q": {"ann": {"a": 1}, "bob": {"a": 0}}}, human={"q": {"a": 1}})
    with pytest.raises(MeasureError, match="adds them up"):
        trust(model, runs, "AP", human=draw_documents(human))


def test_columns_are_those_of_the_model() -> None:
    human, model, _ = make_collection(6)
    rows = [{"topic": q, "doc": d, "say": g} for q, docs in model.items() for d, g in docs.items()]
    columns = {"query_id": "topic", "doc_id": "doc", "relevance": "say"}
    agreement = trust(rows, human=human, columns=columns).agreement
    assert agreement == trust(model, human=human).agreement


def test_fractions_of_a_model_are_grades() -> None:
    human = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "b": 0}}
    result = trust({"q1": {"a": 0.5, "b": 0}, "q2": {"a": 1, "b": 0.5}}, human=human, rel=0.5)
    assert result.agreement["specificity"].value == 1 / 2
    assert result.agreement["off"].value == pytest.approx((-0.5 + 0 + 0 + 0.5) / 4)
    assert result.count_grades()[1.0, 0.5] == (1, 1 / 4)


# ---- the command -------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    human, model, runs = make_collection()
    columns = "query_id,doc_id,relevance,probability\n"
    rows = [",".join(map(str, row.values())) for row in draw_documents(human)]
    (tmp_path / "human.csv").write_text(columns + "\n".join(rows) + "\n")
    (tmp_path / "model.json").write_text(json.dumps(model))
    for name, run in runs.items():
        scores_of_query = {
            q: {d: 9 - rank for rank, d in enumerate(docs)} for q, docs in run.items()
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(scores_of_query))
    return [str(tmp_path / f"{name}.json") for name in ("model", *runs)]


def test_the_command_shows_what_the_function_returns(files: list[str], quiet: None) -> None:
    human = str(Path(files[0]).with_name("human.csv"))
    outcome = invoke("trust", *files, "--human", human, "--width", "0.1", "--format", "json")
    assert outcome.exit_code == 0, outcome.output
    document = json.loads(outcome.stdout)
    result = trust(files[0], files[1:], human=human, width=0.1)
    assert document["estimates"] == json.loads(result.to_json())["estimates"]
    assert document["tau"] == result.tau
    text = invoke("trust", *files, "--human", human, "--width", "0.1").output
    title = "P@10   30 queries, "
    assert text.startswith(title)
    assert "labels: about how many" in text
    table_lines = text.partition("\n\n")[2].partition("\n\n")[0].splitlines()
    assert max(map(len, table_lines)) <= 80
    agreement = invoke("trust", files[0], "--human", human, "--format", "csv").output
    assert agreement.splitlines()[1].startswith("sensitivity,,,")
    assert "state people's labels, too: --human" in invoke("trust", *files).output
    assert "is named twice" in invoke("trust", *files, "--human", files[0]).output
