"""xinfAP and statAP with strata and probabilities; the columns, through every form of judgments."""

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers import oracle
from helpers.profile import seeds
from helpers.samples import make_sampled_collection

import cranfield
from cranfield import InputError, OptionError, Qrels, evaluate, read_qrels

E = 1e-5
Sample = dict[str, tuple[int, int]]  # {document: (grade, stratum)}


def xinfap(ranking: list[str], sample: Sample) -> float:
    """Follow the definition stratum by stratum; a negative grade is not judged."""
    strata = sorted({stratum for _, stratum in sample.values()})
    size_of_stratum: dict[int, float] = {}
    means: dict[int, float] = {}
    for stratum in strata:
        grades = [grade for grade, of in sample.values() if of == stratum]
        relevant = sum(grade >= 1 for grade in grades)
        judged = sum(grade >= 0 for grade in grades)
        size_of_stratum[stratum] = oracle.divide(relevant, judged) * len(grades)
        total = 0.0
        for k, doc in enumerate(ranking, 1):
            if doc not in sample or sample[doc][1] != stratum or sample[doc][0] < 1:
                continue
            below = 0.0
            for other in strata:
                above = [
                    sample[d][0] for d in ranking[: k - 1] if sample.get(d, (0, None))[1] == other
                ]
                r = sum(grade >= 1 for grade in above)
                n = sum(grade == 0 for grade in above)
                if k > 1:
                    below += len(above) / (k - 1) * (r + E) / (r + n + 2 * E)
            total += 1 / k + (k - 1) / k * below
        means[stratum] = oracle.divide(total, relevant)
    n_relevant = sum(size_of_stratum.values())
    return sum(oracle.divide(size_of_stratum[s], n_relevant) * means[s] for s in strata)


def statap(ranking: list[str], sample: dict[str, tuple[int, float]], itself: str) -> float:
    total = above = 0.0
    for k, doc in enumerate(ranking, 1):
        grade, probability = sample.get(doc, (0, 1.0))
        if grade >= 1:
            own_weight = 1.0 if itself == "once" else 1 / probability
            total += 1 / probability * (above + own_weight) / k
            above += 1 / probability
    return oracle.divide(total, sum(1 / p for grade, p in sample.values() if grade >= 1))


def test_against_slow_loops() -> None:
    for seed in seeds(60):
        rows, samples, run = make_sampled_collection(seed)
        names = ["xinfAP", "statAP", "statAP(itself='weighted')"]
        scores = evaluate(Qrels(rows), run, names)
        for query, sample in samples.items():
            ranking = oracle.rank_docs(run.get(query, {}))
            strata = {doc: (grade, stratum) for doc, (grade, stratum, _) in sample.items()}
            judgments = {doc: (grade, chance) for doc, (grade, _, chance) in sample.items()}
            values = [scores.per_query(name)[query] for name in names]
            assert values[0] == pytest.approx(xinfap(ranking, strata), rel=1e-13, abs=0)
            assert values[1] == pytest.approx(statap(ranking, judgments, "once"), rel=1e-13, abs=0)
            assert values[2] == pytest.approx(
                statap(ranking, judgments, "weighted"), rel=1e-13, abs=0
            )


def test_a_query_alone_gives_the_bits_of_the_batch() -> None:
    for seed in seeds(20):
        rows, samples, run = make_sampled_collection(seed)
        batch = evaluate(Qrels(rows), run, "xinfAP statAP").to_dict()
        for query in samples.keys() & run.keys():
            query_qrels = Qrels([row for row in rows if row["query_id"] == query])
            assert (
                evaluate(query_qrels, {query: run[query]}, "xinfAP statAP").to_dict()[query]
                == batch[query]
            )
            judged_alone = Qrels(rows).select_queries([query])
            assert (
                evaluate(judged_alone, {query: run[query]}, "xinfAP statAP").to_dict()[query]
                == batch[query]
            )


def test_one_stratum_is_infap_and_probability_1_is_ap_to_the_bit() -> None:
    for seed in seeds(60):
        rows, _, run = make_sampled_collection(seed)
        rows = [row | {"stratum": 3, "probability": 1} for row in rows]
        scores = evaluate(Qrels(rows), run, "xinfAP infAP statAP AP")
        assert scores.per_query("xinfAP") == scores.per_query("infAP")
        assert scores.per_query("statAP") == scores.per_query("AP")


def test_arithmetic_with_strata() -> None:
    """Stratum 1: a and x, both judged; stratum 2: b and c judged, d and e not."""
    rows = [("a", 1, 1), ("x", 0, 1), ("b", 1, 2), ("c", 0, 2), ("d", -1, 2), ("e", -1, 2)]
    names = ("query_id", "doc_id", "relevance", "stratum")
    qrels = Qrels([dict(zip(names, ("q", *row), strict=True)) for row in rows])
    scores = evaluate(qrels, {"q": ["a", "d", "b"]}, "xinfAP")
    at_b = 1 / 3 + 2 / 3 * (1 / 2 * (1 + E) / (1 + 2 * E) + 1 / 2 * (0 + E) / (0 + 2 * E))
    assert scores["xinfAP"] == pytest.approx((1 * 1 + 2 * at_b) / (1 + 2), rel=1e-15)


def test_arithmetic_with_probabilities() -> None:
    rows = [("a", 1, 1.0), ("b", 1, 0.5), ("c", 1, 0.25), ("x", 0, 0.5)]
    names = ("query_id", "doc_id", "relevance", "probability")
    qrels = Qrels([dict(zip(names, ("q", *row), strict=True)) for row in rows])
    scores = evaluate(qrels, {"q": ["a", "x", "b"]}, ["statAP", "statAP(itself='weighted')"])
    assert scores["statAP"] == (1 * 1 / 1 + 2 * (1 + 1) / 3) / (1 + 2 + 4)
    assert scores["statAP(itself='weighted')"] == (1 * 1 / 1 + 2 * (1 + 2) / 3) / (1 + 2 + 4)


def test_estimates_are_near_the_truth() -> None:
    """Draw 300 samples of a pool; the mean of the estimates is within .015 of the true AP."""
    chance = random.Random(8)
    ranking = [f"d{i:03}" for i in range(300)]
    pool = {doc: int(chance.random() < 0.5 / (1 + i / 40)) for i, doc in enumerate(ranking)}
    truth = cranfield.AP(pool, ranking)
    strata = {doc: (1 if i < 50 else 2) for i, doc in enumerate(ranking)}
    share = {1: 0.6, 2: 0.2}
    rows = []
    for sample in range(300):
        judged = {
            doc
            for stratum in (1, 2)
            for docs in [[d for d in ranking if strata[d] == stratum]]
            for doc in chance.sample(docs, round(share[stratum] * len(docs)))
        }
        rows += [
            {
                "query_id": f"q{sample}",
                "doc_id": doc,
                "relevance": grade if doc in judged else -1,
                "stratum": strata[doc],
                "probability": share[strata[doc]],
            }
            for doc, grade in pool.items()
        ]
    run = {f"q{sample}": ranking for sample in range(300)}
    scores = evaluate(Qrels(rows), run, ["xinfAP", "statAP", "AP"])
    assert scores["xinfAP"] == pytest.approx(truth, abs=0.015)
    assert scores["statAP"] == pytest.approx(truth, abs=0.015)
    assert abs(scores["AP"] - truth) > 0.05, "which takes what is unjudged for not relevant"


# ---- the columns ----------------------------------------------------------------------------

ROWS = [
    {"query_id": "q2", "doc_id": "d1", "relevance": 1, "stratum": 4, "probability": 0.5},
    {"query_id": "q1", "doc_id": "d2", "relevance": -1, "stratum": 2, "probability": 0.1},
    {"query_id": "q1", "doc_id": "d1", "relevance": 2, "stratum": 1, "probability": 1.0},
]
RUN = {"q1": ["d2", "d1"], "q2": ["d1"]}


def columns(qrels: Qrels) -> dict[str, list[float]]:
    return {role: column.tolist() for role, column in qrels.columns.items()}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "arrow", "feather", "csv.gz"])
def test_columns_travel_through_files(suffix: str, tmp_path: Path) -> None:
    expected = {"stratum": [2, 1, 4], "probability": [0.1, 1, 0.5]}
    assert columns(Qrels(ROWS)) == expected
    Qrels(ROWS).write(tmp_path / f"qrels.{suffix}")
    qrels_read = read_qrels(tmp_path / f"qrels.{suffix}")
    assert columns(qrels_read) == expected
    assert qrels_read.to_dict() == Qrels(ROWS).to_dict()
    names = ["xinfAP", "statAP"]
    assert evaluate(qrels_read, RUN, names).to_dict() == evaluate(Qrels(ROWS), RUN, names).to_dict()


def test_columns_of_frames_and_by_other_names() -> None:
    assert columns(Qrels(pd.DataFrame(ROWS))) == columns(Qrels(ROWS))
    frame = pd.DataFrame(ROWS).rename(columns={"stratum": "layer", "probability": "iprob"})
    assert columns(Qrels(frame)) == {"probability": [0.1, 1, 0.5]}
    assert columns(Qrels(frame, columns={"stratum": "layer"})) == columns(Qrels(ROWS))


def test_formats_of_the_field(tmp_path: Path) -> None:
    strata, prels = tmp_path / "strata.txt", tmp_path / "prels.txt"
    strata.write_text("q2 0 d1 4 1\nq1 0 d2 2 -1\nq1 0 d1 1 2\n")
    prels.write_text("q2 d1 1 1 0.5\nq1 d2 -1 1 1e-1\nq1\td1\t2\t0\t1\n")
    assert columns(read_qrels(strata, "strata")) == {"stratum": [2, 1, 4]}
    assert columns(read_qrels(prels, "prels")) == {"probability": [0.1, 1, 0.5]}
    forms: dict[Any, str] = {"strata": "probability", "prels": "stratum"}  # and what it lacks
    for form, lost_columns in forms.items():
        with pytest.raises(OptionError, match=f"{form} has no place for the column {lost_columns}"):
            Qrels(ROWS).write(tmp_path / "written", form)
        rows = [
            {name: value for name, value in row.items() if name != lost_columns} for row in ROWS
        ]
        Qrels(rows).write(tmp_path / "written", form)
        qrels_read = read_qrels(tmp_path / "written", form)
        assert qrels_read.to_dict() == Qrels(ROWS).to_dict()
        assert len(columns(qrels_read)) == 1
    with pytest.raises(OptionError, match="json has no place for the column probability and strat"):
        Qrels(ROWS).write(tmp_path / "written.json")
    with pytest.raises(OptionError, match="have no stratum"):
        Qrels({"q": {"d": 1}}).write(tmp_path / "written", "strata")


def test_errors() -> None:
    for wrong in (0, -1, 1.5, 1e-320, float("inf")):
        rows = [ROWS[1], ROWS[0] | {"probability": wrong}]
        with pytest.raises(InputError, match="expected a probability above 0, up to 1"):
            Qrels(rows)
        assert Qrels(rows, errors="skip").left_out.count == 1
    both = [{"query_id": "q", "subtopic": "s", "doc_id": "d", "relevance": 1, "stratum": 1}]
    with pytest.raises(InputError, match="have subtopics and a column stratum"):
        Qrels(both)
