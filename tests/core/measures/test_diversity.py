"""Measures of diversity: arithmetic, slow loops, weights; how judgments by subtopic are read."""

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers import diversity_oracle as oracle
from helpers.profile import seeds
from helpers.variants import variants

from cranfield import (
    InputError,
    Measure,
    MeasureError,
    OptionError,
    Qrels,
    Run,
    definitions,
    evaluate,
    parse,
    read_qrels,
)
from cranfield.data.judge import judge
from cranfield.data.subtopics import novel_first
from cranfield.measures.parameters import Depth

Write = Callable[[str, str], str]
NAMES = [one.name for one in definitions() if one.traits.takes_groups == "subtopics"]
SEEDS = seeds(20)

# Subtopic 1 wants a or b, subtopic 2 b or c; nothing was found for subtopic 3. The run has a first,
# then an unjudged document, then b. The greedy ideal is b, c, a: c before a, as its id is greater.
JUDGED = {"1": {"a": 1, "b": 3}, "2": {"b": 1, "c": 2, "a": 0}, "3": {"c": 0}}
FOUND = ["a", "x", "b"]
LOG = [math.inf, *(math.log2(rank + 1) for rank in range(1, 4))]  # by rank, from 1

ARITHMETIC = {
    "alpha_DCG@3": (1 / LOG[1] + (0.5 + 1) / LOG[3]) / (2 * (1 / LOG[1] + 0.5 / LOG[2] + 0.25 / 2)),
    "alpha_DCG@1": (1 / LOG[1]) / 2,
    "alpha_nDCG@3": (1 / LOG[1] + 1.5 / LOG[3]) / (2 / LOG[1] + 0.5 / LOG[2] + 0.5 / LOG[3]),
    "alpha_nDCG@1": 1 / 2,
    "alpha_nDCG(alpha=0)": (1 / LOG[1] + 2 / LOG[3]) / (2 / LOG[1] + 1 / LOG[2] + 1 / LOG[3]),
    "alpha_nDCG(rel=2)": (1 / LOG[3]) / (1 / LOG[1] + 1 / LOG[2]),  # b for 1 and c for 2: c, b
    "ERR_IA@3": (1 / 1 + 1.5 / 3) / (2 * (1 / 1 + 0.5 / 2 + 0.25 / 3)),
    "nERR_IA@3": (1 / 1 + 1.5 / 3) / (2 / 1 + 0.5 / 2 + 0.5 / 3),
    "NRBP": (1 + 1.5 / 4) / 2 * (1 - 0.5 * 0.5),
    "NRBP(beta=0.8)": (1 + 1.5 * 0.8 * 0.8) / 2 * (1 - 0.5 * 0.8),
    "nNRBP": (1 + 1.5 / 4) / (2 + 0.5 / 2 + 0.5 / 4),
    "AP_IA": ((1 / 1 + 2 / 3) / 2 + (1 / 3) / 2) / 2,
    "P_IA@3": (2 / 3 + 1 / 3) / 2,
    "StRecall@2": 1 / 2,
    "StRecall": 2 / 2,
    "StRecall(rel=2)@3": 1 / 2,
    "StRecall(rel=3)": 1 / 1,
    # Global gains: b 3 + 1, c 2, a 1.
    "D_nDCG": (1 / LOG[1] + 4 / LOG[3]) / (4 / LOG[1] + 2 / LOG[2] + 1 / LOG[3]),
    "D_nDCG@1": 1 / 4,
    "Dsharp_nDCG@1": 0.5 * (1 / 2) + 0.5 * (1 / 4),
    "Dsharp_nDCG(gamma=1)@2": 1 / 2,
    "alpha_nDCG@R": (1 / LOG[1] + 1.5 / LOG[3]) / (2 / LOG[1] + 0.5 / LOG[2] + 0.5 / LOG[3]),
}


@pytest.mark.parametrize(("name", "value"), ARITHMETIC.items(), ids=ARITHMETIC.keys())
def test_arithmetic(name: str, value: float) -> None:
    assert evaluate({"q": JUDGED}, {"q": FOUND}, name)[name] == pytest.approx(value, rel=1e-15)


def test_a_greedy_ideal_is_not_always_the_best() -> None:
    """It takes c, of three subtopics, first; a and b cover all four in two."""
    subtopics = {"1": {"a": 1, "c": 1}, "2": {"a": 1, "c": 1}, "3": {"b": 1, "c": 1}, "4": {"b": 1}}
    value = evaluate({"q": subtopics}, {"q": ["a", "b"]}, "alpha_nDCG(alpha=1)@2")
    greedy = 3 / math.log2(2) + 1 / math.log2(3)
    assert value["alpha_nDCG(alpha=1)@2"] == pytest.approx((2 + 2 / math.log2(3)) / greedy)
    run = {"q": ["b", "a"]}
    best = {"1": {"a": 1, "b": 1}, "2": {"a": 1, "b": 1}, "3": {"a": 1, "c": 1}, "4": {"b": 1}}
    assert evaluate({"q": best}, run, "alpha_nDCG@2")["alpha_nDCG@2"] == 1, "b has the greater id"


def compute_expected(
    measure: Measure, run: list[str], subtopics: oracle.Subtopics, weights: Any = None
) -> float:
    cutoff: tuple[int, ...] = ()
    if isinstance(measure.cutoff, Depth):
        rel = measure.parameters.get("rel", 1)
        relevant = {doc for name in subtopics for doc in oracle.relevant_docs(subtopics, name, rel)}
        ranks = measure.cutoff.n_ranks if measure.cutoff.n_ranks is not None else len(relevant)
        cutoff = (min(ranks, len(relevant)) if measure.cutoff.at_relevant else ranks,)
    return oracle.DIVERSITY[measure.name](
        run, subtopics, *cutoff, **measure.parameters, weights=weights
    )


def test_every_measure_of_subtopics_has_an_oracle() -> None:
    assert set(NAMES) == set(oracle.DIVERSITY)


@pytest.mark.parametrize("name", NAMES)
def test_every_measure_of_subtopics_equals_its_slow_loop_to_the_bit(name: str) -> None:
    measures = list(variants(name))
    for seed in SEEDS:
        qrels, run = oracle.make_subtopic_collection(seed)
        scores = evaluate(qrels, run, measures)
        for query, subtopics in qrels.items():
            for measure in measures:
                value = scores.per_query(measure)[query]
                expected = compute_expected(measure, run.get(query, []), subtopics)
                assert value == expected, (measure, seed, query)
                low, high = measure.definition.range
                assert low <= value <= (math.inf if high is None else high + 1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_weights(name: str) -> None:
    measures = list(variants(name))
    for seed in SEEDS:
        qrels, run = oracle.make_subtopic_collection(seed)
        chance = random.Random(seed)
        weights = {
            query: {name: chance.choice([0.25, 1, 3]) for name in subtopics}
            for query, subtopics in qrels.items()
        }
        scores = evaluate(list(rows(qrels, weights)), run, measures)
        for query, subtopics in qrels.items():
            total = 0.0
            for subtopic in oracle.sort_names(subtopics):
                total += weights[query][subtopic]
            shares = {subtopic: weight / total for subtopic, weight in weights[query].items()}
            for measure in measures:
                expected = compute_expected(measure, run.get(query, []), subtopics, shares)
                assert scores.per_query(measure)[query] == expected, (measure, seed, query)


def rows(qrels: Any, weights: Any = None) -> Iterator[dict[str, Any]]:
    for query, subtopics in qrels.items():
        for subtopic, docs in subtopics.items():
            for doc, grade in docs.items():
                row = {"query_id": query, "subtopic": subtopic, "doc_id": doc, "relevance": grade}
                yield row if weights is None else {**row, "weight": weights[query][subtopic]}


@pytest.mark.parametrize("only", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_queries_in_both_a_depth_and_judged_documents_only(name: str, only: bool) -> None:
    """Judged, that is, for any subtopic."""
    measures = list(variants(name))
    for seed in range(5):
        qrels, run = oracle.make_subtopic_collection(seed)
        score_table = evaluate(qrels, run, measures, judged_only=only, queries="both", depth=4)
        assert score_table.query_ids == sorted(qrels.keys() & run.keys())
        for query in score_table.query_ids:
            grades = [pair for docs in qrels[query].values() for pair in docs.items()]
            judged = {doc for doc, grade in grades if grade >= 0}
            docs_in_order = [doc for doc in run[query][:4] if not only or doc in judged]
            for measure in measures:
                assert score_table.per_query(measure)[query] == compute_expected(
                    measure, docs_in_order, qrels[query]
                )


def test_the_best_ranking_is_reckoned_once_for_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return novel_first(*arguments)

    monkeypatch.setattr("cranfield.data.subtopics.novel_first", counted)
    judged = Qrels({"q": JUDGED})
    runs = [Run({"q": FOUND}, name="a"), Run({"q": ["c"]}, name="b")]
    evaluate(judged, runs, "alpha_nDCG@1 alpha_nDCG@2 nERR_IA nNRBP alpha_nDCG(alpha=0.2)")
    assert len(calls) == 2


def test_plain_judgments_are_a_single_subtopic() -> None:
    run = {"q": FOUND}
    plain = evaluate({"q": JUDGED["2"]}, run, list(map(Measure, ["alpha_nDCG", "D_nDCG", "AP_IA"])))
    one_subtopic = evaluate({"q": {"2": JUDGED["2"]}}, run, plain.measures)
    assert plain.to_dict() == one_subtopic.to_dict()
    assert plain["D_nDCG"] == evaluate({"q": JUDGED["2"]}, run, "nDCG")["nDCG"]


def test_names_of_other_tools() -> None:
    assert str(parse("alpha-nDCG@20")) == "alpha_nDCG@20"
    assert str(parse("D#-nDCG@10")) == str(parse("d#-ndcg@10")) == "Dsharp_nDCG@10"
    assert str(parse("alpha_nDCG(alpha=.3,rel=2)@5")) == "alpha_nDCG(alpha=0.3, rel=2)@5"
    name_text = "ERR-IA@5 nERR-IA@5 MAP-IA P-IA@5 strec@5 I-rec@5 NRBP nNRBP alpha-DCG@5 D-nDCG"
    parsed_names = [str(parse(name)) for name in name_text.split()]
    assert parsed_names == [
        *("ERR_IA@5", "nERR_IA@5", "AP_IA", "P_IA@5", "StRecall@5", "StRecall@5"),
        *("NRBP", "nNRBP", "alpha_DCG@5", "D_nDCG"),
    ]


def test_a_cutoff_that_cannot_be_reckoned_is_refused() -> None:
    with pytest.raises(MeasureError, match="at most 1,000,000 ranks"):
        evaluate({"q": JUDGED}, {"q": FOUND}, "alpha_DCG@100000000")


def test_a_judged_run_holds_the_cutoffs_of_its_queries() -> None:
    """@R counts the documents relevant to any subtopic, and cuts all subtopics there."""
    judged = judge(Qrels({"q": JUDGED}), Run({"q": FOUND})).judged
    assert judged.n_relevant().tolist() == [[3]]
    assert judged.n_relevant(2).tolist() == [[2]]


# ---- judgments by subtopic, read and written ------------------------------------------------

ROWS = [("q1", "s1", "a", 2), ("q1", "s1", "b", 0), ("q1", "s2", "b", 1), ("q0", "s1", "c", 1)]
AS_DICT = {"q1": {"s1": [{"a": 2, "b": 0}], "s2": [{"b": 1}]}, "q0": {"s1": [{"c": 1}]}}
HEADER = "query_id,subtopic,doc_id,relevance"


def table(header: str, rows: Any = ROWS) -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in rows), ""])


@pytest.mark.parametrize("name", ["subtopic", "subtopic_id", "Intent", "aspect", "group"])
def test_a_column_of_subtopics(name: str, write: Write) -> None:
    qrels = read_qrels(write("qrels.csv", table(f"query_id,{name},doc_id,relevance")))
    assert qrels.to_dict() == AS_DICT
    assert qrels.description == f"CSV with columns query_id, doc_id, relevance, {name}"


def test_every_kind_of_table_has_subtopics(write: Write, tmp_path: Any) -> None:
    import collections
    import json

    import numpy as np
    import polars as pl
    import pyarrow as pa
    from pyarrow import parquet

    names = HEADER.split(",")
    dicts = [dict(zip(names, row, strict=True)) for row in ROWS]
    tsv = write("qrels.tsv", table(HEADER).replace(",", "\t"))
    lines = write("qrels.jsonl", "".join(json.dumps(row) + "\n" for row in dicts))
    json_path = write("qrels.json", json.dumps(dicts))
    trec = write("qrels.txt", "".join(" ".join(map(str, row)) + "\n" for row in ROWS))
    for path in (tsv, lines, json_path):
        assert read_qrels(path).to_dict() == AS_DICT, path
    assert read_qrels(trec, "subtopics").to_dict() == AS_DICT
    column_numbers = {"query_id": 1, "subtopic": 2, "doc_id": 3, "relevance": 4}
    assert read_qrels(trec, columns=column_numbers).to_dict() == AS_DICT
    arrow = pa.Table.from_pylist(dicts)
    parquet.write_table(arrow, tmp_path / "qrels.parquet")
    assert read_qrels(tmp_path / "qrels.parquet").to_dict() == AS_DICT
    row_array = np.array(ROWS, [(name, "i8" if name == "relevance" else "U9") for name in names])
    TrecSubQrel = collections.namedtuple("TrecSubQrel", "query_id doc_id relevance subtopic_id")
    tuples = [TrecSubQrel(query, doc, grade, subtopic) for query, subtopic, doc, grade in ROWS]
    for data in (arrow, pl.DataFrame(dicts), row_array, dicts, tuples):
        assert Qrels(data).to_dict() == AS_DICT


def test_weights_add_up_to_1_in_each_query(write: Write) -> None:
    weighted_rows = [(*row, 3 if row[1] == "s1" else 1) for row in ROWS]
    qrels = read_qrels(write("qrels.csv", table(f"{HEADER},weight", weighted_rows)))
    assert qrels.levels.names == ["s1", "s1", "s2"]
    assert qrels.levels.weight is not None
    assert qrels.levels.weight.tolist() == [1, 0.75, 0.25]
    score = evaluate(qrels, {"q1": ["b"], "q0": ["c"]}, "P_IA@1")
    assert score.per_query("P_IA@1") == {"q0": 1, "q1": 0.75 * 0 + 0.25 * 1}


def test_a_subtopic_without_relevant_documents_counts_by_its_weight_or_not_at_all() -> None:
    judged = {"q": {"1": {"a": 1}, "2": {"b": 0}}}
    run = {"q": ["a"]}
    assert evaluate(judged, run, "P_IA@1")["P_IA@1"] == 1
    weighted_rows = list(rows(judged, {"q": {"1": 1, "2": 3}}))
    assert evaluate(weighted_rows, run, "P_IA@1")["P_IA@1"] == 1 / (1 + 3)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("q", "s", "a", 1, -1)], r"qrels.csv:2: expected a weight of 0 or more.* got -1.0"),
        ([("q", "s", "a", 1, 1), ("q", "s", "b", 1, "inf")], r"qrels.csv:3: .* got inf"),
        ([("q", "s", "a", 1, 1), ("q", "s", "b", 1, "nan")], "qrels.csv:3: expected a number"),
        ([("q", "s", "a", 1, 1), ("q", "s", "b", 1, "")], "qrels.csv:3: expected a number"),
        ([("q", "s", "a", 1, 1), ("q", "s", "b", 1, 2)], "qrels.csv:3: .*weight 2.0 here, and 1.0"),
        ([("q", "s", "a", 1, 0), ("q", "t", "b", 1, 0)], "query 'q' add up to 0"),
        (
            [("q", "s", "a", 1, 1), ("q", "s", "a", 1, 1)],
            "qrels.csv:3: the document 'a' occurs twice",
        ),
        ([("q", "", "a", 1, 1)], "qrels.csv:2: the subtopic is empty"),
        ([("q", "s", "a", "x", 1)], "qrels.csv:2: expected a number as the grade"),
        ([("q", "s", "a", 1)], "qrels.csv:2: expected 5 columns"),
    ],
)
def test_what_is_refused_says_where(rows: Any, message: str, write: Write) -> None:
    with pytest.raises(InputError, match=message):
        read_qrels(write("qrels.csv", table(f"{HEADER},weight", rows)))


def test_frames_that_are_refused_say_the_row() -> None:
    good = {"query_id": "q", "subtopic": "s", "doc_id": "a", "relevance": 1, "weight": 1.0}
    for change, message in (
        ({"weight": float("nan")}, "row 1: expected a number in column 'weight'"),
        ({"weight": -0.5, "doc_id": "b"}, "row 1.*'b'|got -0.5"),
        ({"subtopic": ""}, "row 1: column 'subtopic': the id '' is empty"),
        ({}, "occurs twice"),
    ):
        with pytest.raises(InputError, match=message):
            Qrels([good, {**good, **change}])


def test_rows_that_cannot_be_used_may_be_left_out(write: Write) -> None:
    bad = [("q", "s", "a", 1, 1), ("q", "s", "b", 1, 2), ("q", "s", "c", "x", 1), ("q", "s")]
    path = write("qrels.csv", table(f"{HEADER},weight", bad))
    qrels = read_qrels(path, errors="skip")
    assert qrels.to_dict() == {"q": {"s": [{"a": 1}]}}
    assert qrels.left_out.count == 3
    with pytest.raises(InputError, match="hold no judgment"):
        read_qrels(write("none.csv", table(f"{HEADER},weight", bad[2:])), errors="skip")


def test_a_weight_without_subtopics(write: Write) -> None:
    path = write("qrels.csv", "query_id,doc_id,relevance,weight\nq,a,1,7\n")
    assert read_qrels(path).to_dict() == {"q": {"a": 1}}, "a weight of something else"
    with pytest.raises(OptionError, match="format='subtopics' takes no columns"):
        read_qrels(path, "subtopics", columns={"query_id": 1})
    with pytest.raises(OptionError, match="'subtopics' is for judgments in groups"):
        read_qrels(path).write("never", "subtopics")
    with pytest.raises(OptionError, match="state the column subtopic, too"):
        read_qrels(path, columns={"weight": "weight"})


def test_files_with_and_without_subtopics_are_no_one_table(write: Write) -> None:
    paths = [write("a.csv", table(HEADER)), write("b.csv", "query_id,doc_id,relevance\nq,a,1\n")]
    with pytest.raises(InputError, match="have subtopics, or none of them"):
        read_qrels(paths)
    assert read_qrels([paths[0]]).to_dict() == AS_DICT


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".arrow", ".qrels"])
def test_what_is_written_is_read_again(suffix: str, tmp_path: Any) -> None:
    path = tmp_path / f"out{suffix}"
    form: Any = "subtopics" if suffix == ".qrels" else None
    for seed in range(5):
        judged, _ = oracle.make_subtopic_collection(seed)
        qrels = Qrels(judged)
        qrels.write(path, form)
        assert read_qrels(path, form).to_dict() == qrels.to_dict()
        if form:
            continue
        weights = {q: {s: 0.1 + i for i, s in enumerate(docs)} for q, docs in judged.items()}
        weighted_qrels = Qrels(rows(judged, weights))
        weighted_qrels.write(path)
        qrels_read = read_qrels(path)
        assert qrels_read.to_dict() == weighted_qrels.to_dict()
        assert qrels_read.levels.weight is not None
        assert weighted_qrels.levels.weight is not None
        assert qrels_read.levels.weight.tolist() == weighted_qrels.levels.weight.tolist()


def test_a_format_without_a_place_for_weights_is_refused(tmp_path: Any) -> None:
    qrels = Qrels(rows({"q": {"s": {"a": 1}}}, {"q": {"s": 2.0}}))
    for form in (None, "subtopics", "prefs", "json"):
        with pytest.raises(OptionError, match="csv, tsv, jsonl, parquet, arrow"):
            qrels.write(tmp_path / "qrels.txt", form)
    with pytest.raises(OptionError, match="cannot hold these judgments in groups"):
        Qrels({"q": {"s": [{"a": 0.5}, {"b": 1}]}}).write(tmp_path / "qrels.csv")


def test_lines_of_trec_with_a_subtopic_0() -> None:
    """Documents judged not relevant to any subtopic are listed there under a subtopic 0."""
    judged = {"q": {"1": {"a": 1}, "2": {"b": 1}}}
    with_0 = {"q": {"0": {"c": 0, "d": 0}, **judged["q"]}}
    run = {"q": ["c", "a", "x", "b"]}
    names = [f"{name}@3" if Measure(name).definition.cutoff != "none" else name for name in NAMES]
    assert evaluate(with_0, run, names).to_dict() == evaluate(judged, run, names).to_dict()


def test_on_the_command_line(write: Write) -> None:
    from click.testing import CliRunner

    from cranfield.cli import cli

    lines = "1 1 a 1\n1 1 b 1\n1 2 b 1\n1 2 c 1\n1 0 d 0\n"
    qrels = write("diversity.qrels", lines)
    run = write("run", "1 Q0 a 1 3 tag\n1 Q0 x 2 2 tag\n1 Q0 b 3 1 tag\n")
    options = ["--qrels-format", "subtopics", "-m", "alpha-nDCG@3", "-m", "strec@1"]
    options += ["--format", "tsv"]
    result = CliRunner().invoke(cli, ["evaluate", qrels, run, *options])
    value_of_name = {
        line.split("\t")[1]: line.split("\t")[3] for line in result.stdout.splitlines()[1:]
    }
    assert value_of_name["StRecall@1"] == "0.5"
    ideal = 2 / math.log2(2) + 0.5 / math.log2(3) + 0.5 / math.log2(4)
    assert float(value_of_name["alpha_nDCG@3"]) == pytest.approx((1 + 1.5 / 2) / ideal)


def test_judgments_by_subtopic_that_were_not_said_to_be_such_are_told_so(write: Any) -> None:
    path = write("a.qrels", "1 1 d1 1\n1 2 d1 1\n")
    with pytest.raises(InputError, match=r"occurs twice.*\n.*\n.*--qrels-format subtopics"):
        read_qrels(path)
    assert read_qrels(path, "subtopics").has_groups
