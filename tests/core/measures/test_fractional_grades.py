"""Grades that are not whole numbers: who takes them, what they are worth, where they come from."""

import itertools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers import oracle, redo
from helpers.commands import invoke
from helpers.fractions import NAMES, QRELS, RUN, THRESHOLDS, list_measures, takes_fractions
from helpers.notes import codes
from helpers.profile import seeds
from helpers.variants import variants
from scipy import sparse

import cranfield
from cranfield import (
    AP,
    CranfieldWarning,
    Measure,
    MeasureError,
    Qrels,
    check,
    compare,
    evaluate,
    explain,
    gate,
    grades,
    nDCG,
    parse,
    read_qrels,
)
from cranfield.formats.block import SIZES

LEVELS = (-0.5, 0.0, 0.1, 0.3, 0.5, 0.87, 1.0, 1.0, 2.5)


def collection(seed: int) -> tuple[Any, Any]:
    """Return an odd collection whose grades are fractions."""
    chance = random.Random(seed)
    qrels, run = oracle.make_collection(seed)
    fractions: Any = {q: {doc: chance.choice(LEVELS) for doc in docs} for q, docs in qrels.items()}
    next(iter(fractions.values()))["half"] = 0.5
    return fractions, run


# ---- values ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_measure_equals_its_slow_loop_to_the_bit(name: str) -> None:
    measures = list_measures(name)
    assert bool(measures) == (name not in ("RelString", "Dsharp_nDCG"))
    for seed in seeds(4 if len(measures) > 100 else 12):
        qrels, run = collection(seed)
        if not measures:
            continue
        scores = evaluate(qrels, run, measures)
        top_grade = max(0, *(grade for docs in qrels.values() for grade in docs.values()))
        for query, (ranking, grade_of_doc) in oracle.grade_rankings(qrels, run).items():
            for measure in measures:
                if name == "D_nDCG":  # nDCG of plain judgments, as its own loop counts from 1 on
                    as_ndcg = nDCG if measure.cutoff is None else nDCG @ measure.cutoff
                    expected = oracle.compute_value(as_ndcg, ranking, grade_of_doc, top_grade)
                else:
                    expected = oracle.compute_value(measure, ranking, grade_of_doc, top_grade)
                value = scores.per_query(measure)[query]
                assert value == oracle.allow_rounding(measure, expected), (measure, seed, query)


@pytest.mark.parametrize("name", NAMES)
def test_a_threshold_makes_them_relevant_or_not(name: str) -> None:
    """With rel=t a value is that of the judgments 1 from t on and 0 below, with rel=1."""
    measures = [
        measure
        for measure in list_measures(name)
        if measure.fractions == "level" and name != "RnDCG"
    ]
    for seed, level in itertools.product(seeds(3), THRESHOLDS):
        level_measures = [measure for measure in measures if measure.parameters["rel"] == level]
        if not level_measures:
            continue
        qrels, run = collection(seed)
        binary = {
            query: {doc: -1 if grade < 0 else int(grade >= level) for doc, grade in docs.items()}
            for query, docs in qrels.items()
        }
        mine, theirs = (
            evaluate(qrels, run, level_measures),
            evaluate(binary, run, [measure(rel=1) for measure in level_measures]),
        )
        for measure in level_measures:
            assert mine.per_query(measure) == theirs.per_query(measure(rel=1)), (measure, seed)


@pytest.mark.parametrize("name", NAMES)
def test_queries_of_whole_grades_keep_their_bits_beside_fractions(name: str) -> None:
    """Another query's fraction makes doubles of all grades; the values are the same."""
    measures = [
        measure for measure in list_measures(name) if measure.definition.aggregation != "none"
    ]
    for seed in seeds(2 if measures else 0):
        qrels, run = oracle.make_collection(seed)
        top = max(grade for docs in qrels.values() for grade in docs.values())
        wider_qrels = {**qrels, "zz": {"half": 0.5, "top": top}}
        alone, wider_scores = evaluate(qrels, run, measures), evaluate(wider_qrels, run, measures)
        for measure in measures:
            assert wider_scores.per_query(measure).items() >= alone.per_query(measure).items(), (
                measure,
                seed,
            )


def test_values_by_hand() -> None:
    run = ["b", "x", "a", "c"]  # 0.3, unjudged, 0.9, 0; 1.0 is missed
    truth = QRELS["q1"]
    assert (nDCG @ 3)(truth, run) == (0.3 / 1 + 0.9 / 2) / (1 / 1 + 0.9 / np.log2(3) + 0.3 / 2)
    assert AP(rel=0.5)(truth, run) == (1 / 3) / 2
    assert AP(rel=1)(truth, run) == 0
    stops = (2**0.3 - 1) / 2, (2**0.9 - 1) / 2
    assert Measure("ERR")(truth, run) == stops[0] / 1 + (1 - stops[0]) * stops[1] / 3
    assert parse("RBP(gain='linear', p=0.5)")(truth, run) == (1 - 0.5) * (0.3 + 0.9 * 0.5**2)
    assert nDCG([0.3, None, 0.9]) == (0.3 + 0.9 / 2) / (0.9 + 0.3 / np.log2(3))


@pytest.mark.parametrize("seed", seeds(20))
def test_ties_by_grade_are_those_of_whole_grades_in_the_same_order(seed: int) -> None:
    """Levels times 10 are whole, and rank alike: of tied scores, by grade."""
    qrels, run = collection(seed)
    tens = {q: {doc: round(100 * g) for doc, g in docs.items()} for q, docs in qrels.items()}
    for ties in ("best", "worst"):
        for name, other in (("P(rel=0.5)@3", "P(rel=50)@3"), ("AP(rel=0.3)", "AP(rel=30)")):
            mine = evaluate(qrels, run, name, ties=ties)
            assert mine.per_query(name) == evaluate(tens, run, other, ties=ties).per_query(other)
    mine = evaluate(qrels, run, "AP(rel=0.5) nDCG Compat", ties="document")
    assert mine.per_query("Compat") == evaluate(tens, run, "Compat").per_query("Compat")


# ---- gain='binary' --------------------------------------------------------------------------


def test_a_binary_gain_is_1_for_what_is_relevant() -> None:
    truth, run = {"a": 3, "b": 1, "c": 0, "d": 2}, ["c", "b", "a", "x"]
    gain = {1: 1, 2: 1, 3: 1}
    for name in ("nDCG@3", "DCG", "IDCG", "nDCG_rel", "RnDCG", "G", "Q", "O_measure", "Pplus"):
        measure = parse(name)
        assert measure(gain="binary")(truth, run) == measure(gain=gain)(truth, run), name
        from_2 = measure(gain=("binary", 2))(truth, run)
        assert from_2 == measure(gain={1: 0, 2: 1, 3: 1})(truth, run), name
    for p in (0.5, 0.8):
        assert Measure("RBP")(gain="binary", p=p)(truth, run) == Measure("RBP")(p=p)(truth, run)
    cut_measure = parse("CWL('P')@3")
    assert cut_measure(gain="binary")(truth, run) == 2 / 3
    assert cut_measure(gain=("binary", 3), top=1)(truth, run) == 1 / 3, "top has no part in it"
    assert (nDCG(gain=("binary", 0.5)) @ 2)({"a": 0.5, "b": 0.4}, ["b", "a"]) == 1 / np.log2(3)


@pytest.mark.parametrize(
    "text", ["P(rel=0.5)@10", "nDCG(gain=('binary', 0.5))@10", "nDCG(gain='binary')", "AP(rel=2)"]
)
def test_names_read_back_the_same(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)
    assert parse("P(rel=2.0)@10") == parse("P(rel=2)@10")


def test_what_is_no_gain_says_what_is() -> None:
    for gain in (("binary", -1), ("binary",), ("linear", 2), ("binary", "1"), ("binary", np.nan)):
        with pytest.raises(MeasureError, match=r"'binary', \('binary', lowest relevant grade\)"):
            nDCG(gain=gain)


def test_a_threshold_that_is_the_default_is_the_same_measure() -> None:
    assert AP(rel=1) == AP
    assert hash(AP(rel=1)) == hash(AP)
    assert "rel" in AP(rel=1).stated
    assert "rel" not in AP.stated
    assert "rel" in (AP(rel=1) @ 5).stated
    assert "rel" in parse("AP(rel=1)").stated
    assert "rel" in parse("AP", rel=1).stated


# ---- who refuses them, and says what to do ----------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_who_does_not_take_them_says_what_to_write(name: str) -> None:
    """What an error says to write is a measure that takes them."""
    measures = [measure for measure in variants(name) if not takes_fractions(measure)]
    for measure in measures:
        with pytest.raises(MeasureError, match="the grades are not whole numbers") as caught:
            evaluate(QRELS, RUN, measure)
        text = str(caught.value)
        if "as in " in text:
            example = text.partition("as in ")[2].partition(";")[0]
            assert takes_fractions(parse(example)), measure
            evaluate(QRELS, RUN, example)


def test_the_example_is_a_grade_of_the_scale() -> None:
    for grade, example in ((0.9, "rel=0.5"), (0.02, "rel=0.01"), (87.5, "rel=1")):
        with pytest.raises(MeasureError, match=rf"as in AP\({example}\); --rel"):
            evaluate({"q": {"a": grade}}, {"q": ["a"]}, "AP")


def test_own_measures_say_whether_they_take_them() -> None:
    from cranfield.measures.registry import DEFINITIONS
    from cranfield.measures.traits import Traits

    def kernel(judged: Any) -> Any:
        """Add up the grades.

        Formula: sum of grades
        Source: this test
        """
        return judged.hits.total(judged.hits.grade)

    try:
        cranfield.measure("OwnSum", range=(0, None))(kernel)
        assert Measure("OwnSum")({"a": 2}, ["a"]) == 2
        with pytest.raises(MeasureError, match=r"traits=Traits\(fractions='taken'\)"):
            Measure("OwnSum")({"a": 0.5}, ["a"])
        cranfield.measure("OwnSum", range=(0, None), traits=Traits(fractions="taken"))(kernel)
        assert Measure("OwnSum")({"a": 0.5}, ["a"]) == 0.5
    finally:
        DEFINITIONS.pop("OwnSum", None)


# ---- where they come from, and go -------------------------------------------------------------

TABLE = [(query, doc, grade) for query, docs in QRELS.items() for doc, grade in docs.items()]
ROWS: dict[str, Any] = dict(
    zip(("query_id", "doc_id", "relevance"), map(list, zip(*TABLE, strict=True)), strict=True)
)
WHOLE: Any = {
    query: {doc: round(grade) for doc, grade in docs.items()} for query, docs in QRELS.items()
}


@pytest.mark.parametrize(
    "data",
    [
        QRELS,
        TABLE,
        [{"qid": q, "docno": d, "label": g} for q, d, g in TABLE],
        pd.DataFrame(ROWS),
        pl.DataFrame(ROWS),
        pa.table(ROWS),
        pd.DataFrame(ROWS).to_records(index=False),
    ],
    ids=["dict", "rows", "objects", "pandas", "polars", "arrow", "array"],
)
def test_data_in_memory_keep_every_bit(data: Any) -> None:
    assert Qrels(data).to_dict() == QRELS
    assert Qrels(data).grade.dtype == np.float64
    assert codes(evaluate(data, RUN, "nDCG"))[0] == "fractions"


def test_a_matrix_of_fractions() -> None:
    matrix = sparse.csr_array(np.array([[0.25, 0.0, 1.5]]))
    assert Qrels(matrix).to_dict() == {"0": {"0": 0.25, "2": 1.5}}


@pytest.mark.parametrize("suffix", ["qrels", "csv", "tsv", "json", "jsonl", "parquet", "arrow"])
def test_files_keep_every_bit(suffix: str, tmp_path: Path) -> None:
    chance = random.Random(7)
    judgments: Any = {
        f"q{i}": {f"d{j}": chance.random() * 10 ** chance.randint(-9, 3) for j in range(9)}
        for i in range(20)
    }
    judgments["q0"]["d0"], judgments["q1"]["d1"], judgments["q2"]["d2"] = 1.0, -0.5, 5e-324
    path = tmp_path / f"a.{suffix}"
    Qrels(judgments).write(path)
    assert read_qrels(path).to_dict() == judgments
    Qrels(WHOLE).write(path)
    qrels_read = read_qrels(path)
    assert qrels_read.to_dict() == WHOLE
    assert qrels_read.grade.dtype == np.int64


def test_a_beir_file_keeps_every_bit(tmp_path: Path) -> None:
    Qrels(QRELS).write(tmp_path / "a.tsv", "beir")
    assert read_qrels(tmp_path / "a.tsv").to_dict() == QRELS


@pytest.mark.parametrize("suffix", ["qrels", "csv", "json", "jsonl", "parquet"])
def test_a_fraction_in_a_later_block_makes_doubles_of_all(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SIZES, "bytes", 64)
    monkeypatch.setattr(SIZES, "rows", 3)
    judgments: Any = {f"q{i:02}": {"a": i, "b": 0, "c": 2} for i in range(20)}
    Qrels(judgments).write(tmp_path / f"a.{suffix}")
    assert read_qrels(tmp_path / f"a.{suffix}").grade.dtype == np.int64
    judgments["q19"]["b"] = 0.125
    Qrels(judgments).write(tmp_path / f"a.{suffix}")
    qrels_read = read_qrels(tmp_path / f"a.{suffix}")
    assert qrels_read.to_dict() == judgments
    assert qrels_read.grade.dtype == np.float64


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.qrels", "q 0 a .5\nq 0 b 1e-3\nq 0 c +0.25\nq 0 d 2.0\nq 0 e -1\n"),
        ("a.qrels", "q 0 a .5\nq\t0 b  1e-3 \nq 0 c +0.25\r\nq 0 d 2.0\nq 0 e -1"),
        ("a.csv", 'qid,docno,rel\nq,a,.5\nq,b,1e-3\nq,"c",+0.25\nq,d,2.0\nq,e,-1\n'),
        (
            "a.jsonl",
            "".join(
                f'{{"qid":"q","docno":"{d}","rel":{g}}}\n'
                for d, g in zip("abcde", ("0.5", "1e-3", "0.25", "2.0", "-1"), strict=True)
            ),
        ),
        ("a.json", '{"q": {"a": 0.5, "b": 1e-3, "c": 0.25, "d": 2.0, "e": -1}}'),
    ],
)
def test_numbers_as_they_are_written(name: str, content: str, write: Any) -> None:
    expected = {"q": {"a": 0.5, "b": 0.001, "c": 0.25, "d": 2, "e": -1}}
    assert read_qrels(write(name, content)).to_dict() == expected


def test_whole_doubles_are_whole_numbers() -> None:
    for data in ({"q": {"a": 2.0, "b": 1}}, [("q", "a", 2.0), ("q", "b", 1.0)]):
        qrels = Qrels(data)
        assert qrels.grade.dtype == np.int64
        assert repr(qrels) == "Qrels(1 queries, 2 judgments, grades 1 to 2)"
        assert codes(evaluate(qrels, {"q": ["a"]}, "AP")) == []


def test_judgments_by_subtopic_may_be_fractions(tmp_path: Path) -> None:
    judged: Any = {"q": {"s": {"a": 0.5, "b": 0.25}, "t": {"a": 0.75, "c": 1.0}}}
    qrels = Qrels(judged)
    for suffix in ("csv", "jsonl", "parquet"):
        qrels.write(tmp_path / f"a.{suffix}")
        qrels_read = read_qrels(tmp_path / f"a.{suffix}")
        assert qrels_read.to_dict() == qrels.to_dict()
        run = {"q": ["b", "a", "c"]}
        assert (
            evaluate(qrels_read, run, "GroupAP(rel=0.5)")["GroupAP(rel=0.5)"]
            == (1 / 2 + (1 / 2 + 2 / 3) / 2) / 2
        )
        assert evaluate(qrels_read, run, "StRecall(rel=0.5)@1")["StRecall(rel=0.5)@1"] == 0
        expected = (0.25 / 1 + 1.25 / np.log2(3) + 1 / 2) / (1.25 / 1 + 1 / np.log2(3) + 0.25 / 2)
        assert evaluate(qrels_read, run, "D_nDCG")["D_nDCG"] == pytest.approx(expected, rel=1e-15)
        with pytest.raises(MeasureError, match=r"as in alpha_nDCG\(rel=0.5\)@2"):
            evaluate(qrels_read, run, "alpha_nDCG@2")


def test_lists_of_grades(tmp_path: Path) -> None:
    scores = evaluate(*grades([0.5, None, 1], top=2.5), "nDCG ERR")
    assert scores["nDCG"] == (0.5 + 1 / 2) / (1 + 0.5 / np.log2(3))
    stops = (2**0.5 - 1) / 2**2.5, (2**1 - 1) / 2**2.5
    assert scores["ERR"] == stops[0] + (1 - stops[0]) * stops[1] / 3
    options = ("-m", "DCG@2", "--top-grade", "3", "--format", "tsv")
    outcome = invoke("evaluate", "--grades", "0.5 - 1 .25", *options)
    assert (outcome.exit_code, outcome.stdout.split()[-1]) == (0, "0.5")
    outcome = invoke("evaluate", "--grades", "0.5 1", "-m", "AP", "--rel", "0.6")
    assert "AP(rel=0.6)" in outcome.stdout


# ---- what is reported on them, and what else is done with them ----------------------------------


def test_notes_and_check_say_so() -> None:
    assert "fractions" in codes(evaluate(QRELS, RUN, "nDCG"))
    assert "fractions" not in codes(evaluate(WHOLE, RUN, "nDCG"))
    finding_of_code = {finding.code: finding for finding in check(QRELS, RUN).findings}
    assert (finding_of_code["fractions"].severity, finding_of_code["fractions"].count) == (
        "info",
        4,
    )
    assert "no-relevant" not in finding_of_code
    assert {
        finding.code: finding.count
        for finding in check({"q": {"a": 0.5}, "r": {"a": -0.5}}, {"q": ["a"]}).findings
    }["no-relevant"] == 1
    report = check({"q": {f"d{i}": i / 100 for i in range(99)}}, {"q": ["d1"]})
    assert "0 to 0.98, 99 of them" in str(report)


def test_runs_in_the_place_of_judgments_are_noticed(write: Any) -> None:
    scores, judged = {"q": {"a": 12.5, "b": 3.25}}, {"q": {"a": 1, "b": 0}}
    with pytest.warns(CranfieldWarning):
        assert "swapped" in codes(evaluate(scores, judged, "nDCG"))
    path = write("run.csv", "qid,docno,score\nq,a,1\nq,b,0\n")
    with pytest.warns(CranfieldWarning):
        assert "swapped" in codes(evaluate(scores, path, "nDCG"))
    assert "swapped" not in codes(evaluate(QRELS, {"q1": {"a": 12.5, "b": 3.25}}, "nDCG"))
    assert "swapped" not in codes(evaluate(judged, scores, "nDCG"))


def test_queries_without_a_grade_above_0_are_counted() -> None:
    qrels: Any = {"q": {"a": 0.001}, "r": {"a": -0.5, "b": 0.0}}
    assert evaluate(qrels, {"q": ["a"], "r": ["a"]}, "nDCG").counts.without_relevant == 1


@pytest.mark.parametrize(
    "text",
    [
        *("nDCG@3", "nDCG(gain='exp2')", "nDCG(gain=('binary', 0.5))@3", "DCG", "ERR", "nERR@2"),
        *("RBP(gain='linear')", "AP(rel=0.5)", "P(rel=0.3)@2", "Compat", "Q@3", "G", "Judged@2"),
        *("Bpref(rel=0.5)", "CWL('INST')", "NCU", "D_nDCG@2", "GAP(share={0.3: 0.5, 0.9: 0.5})"),
    ],
)
def test_an_explanation_can_be_redone(text: str) -> None:
    """Its steps, read by one who has nothing but the text, come to the value."""
    for query in QRELS:
        page: Any = explain(QRELS, RUN, text, query=query)
        assert page.value == evaluate(QRELS, RUN, text).per_query(text)[query]
        redo.check_worksheet(page.worksheet, ["all"])
        assert str(page)
    mean_page: Any = explain(QRELS, RUN, text)
    assert mean_page.value == evaluate(QRELS, RUN, text)[text]


def test_systems_are_compared() -> None:
    runs = {
        name: {f"q{i}": [f"d{(i * step + j) % 9}" for j in range(7)] for i in range(30)}
        for name, step in (("a", 1), ("b", 2), ("c", 4))
    }
    qrels = {f"q{i}": {f"d{j}": (i * j % 11) / 10 for j in range(9)} for i in range(30)}
    text = "nDCG@5 AP(rel=0.5)"
    means = {name: evaluate(qrels, run, text).means() for name, run in runs.items()}
    for row in compare(qrels, runs, text).rows():
        measure = row["measure"]
        difference = means[row["system"]][measure] - means[row["other"]][measure]
        assert row["difference"] == pytest.approx(difference, abs=1e-15), row
    same_runs = {"a": runs["a"], "again": runs["a"]}
    assert gate(qrels, same_runs, text, baseline="a", margin=0.05).outcome == "PASS"


# ---- bounds ---------------------------------------------------------------------------------


# ---- the command line -------------------------------------------------------------------------


def test_the_command_takes_them(write: Any) -> None:
    qrels = write("a.qrels", "".join(f"{q} 0 {d} {g}\n" for q, d, g in TABLE))
    run = write("a.json", json.dumps(RUN))
    outcome = invoke("evaluate", qrels, run, "-m", "nDCG@3", "-m", "AP", "-l", "0.5")
    assert outcome.exit_code == 0
    assert "AP(rel=0.5)" in outcome.stdout
    outcome = invoke("evaluate", qrels, run, "-m", "AP")
    assert outcome.exit_code == 2
    assert "State it, as in AP(rel=0.5); --rel states it for all measures" in outcome.stderr
    assert invoke("check", qrels, run).exit_code == 0
