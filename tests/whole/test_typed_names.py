"""Names as typed: people read a measure as it was typed, programs read its one name."""

import copy
import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cranfield import compare, definitions, demo, evaluate, explain, gate, parse, parse_all
from cranfield.cli import cli
from cranfield.render.typed_names import TypedName, as_typed, write_as_typed

DENSE, BM25 = demo.HERE / "dense.run", demo.HERE / "bm25.run"
TYPED = "recall@5 mrr hit_rate@5"
CANONICAL = "R@5 RR Success@5"


def invoke(*arguments: object) -> str:
    outcome = CliRunner().invoke(cli, [*map(str, arguments)])
    assert outcome.exit_code in (0, 1, 3), outcome.output
    return outcome.stdout


def typed_names(text: str, rel: float | None = None) -> list[str]:
    return [as_typed(str(measure)) for measure in parse_all(text, rel)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (TYPED, TYPED.split()),
        ("nDCG@5,10", ["nDCG@5", "nDCG@10"]),
        ("ndcg@[5,10]", ["ndcg@5", "ndcg@10"]),
        ("map@1..3", ["map@1", "map@2", "map@3"]),
        ("P.5,10 ndcg_cut_20", ["P.5", "P.10", "ndcg_cut_20"]),
        ("ndcg10,20", ["ndcg10", "ndcg20"]),
        ("recall@5 R@5 R_5", ["recall@5"]),  # one column, the first typed
        ("R@5 recall@5", ["R@5"]),
        ("ndcg_cut", [str(measure) for measure in parse_all("ndcg_cut")]),
        ("mean average precision@10", ["mean average precision@10"]),
        ("G MAP", ["G", "MAP"]),
        ("map@100-l2", ["map@100-l2"]),
        ("P(rel=2)@5,10", ["P(rel=2)@5", "P(rel=2)@10"]),
        ("rbp.95", ["rbp.95"]),
    ],
)
def test_a_column_is_headed_as_it_was_typed(text: str, names: list[str]) -> None:
    assert typed_names(text) == names


def test_canonical_names_and_all_names_of_a_measure_are_told_apart() -> None:
    for definition in definitions():
        measure_text = definition.name + {"required": "@0.5" if definition.cutoff_kind == "recall"
                                          else "@10"}.get(definition.cutoff, "")  # fmt: skip
        try:
            (measure,) = parse_all(measure_text)
        except Exception:  # noqa: BLE001, S112 - one that needs parameters
            continue
        assert type(str(measure)) is str or as_typed(str(measure)) == measure_text
        lower = [
            as_typed(str(parsed_measure))
            for parsed_measure in parse_all(str(measure).replace("nDCG", "NDCG"))
        ]
        assert lower == [str(measure).replace("nDCG", "NDCG")]


def test_other_parameters_have_the_canonical_name() -> None:
    assert typed_names("map recall@5 ndcg@10", 2) == ["AP(rel=2)", "R(rel=2)@5", "ndcg@10"]
    assert typed_names("map", 1) == ["map"]  # the same measure
    measure = parse("map")
    for new_measure in (measure @ 10, measure(rel=2), (measure @ 10)(rel=2)):
        assert as_typed(str(new_measure)) == str(new_measure) != "map"
    assert measure == parse("AP")
    assert hash(measure) == hash(parse("AP"))
    for measure_copy in (pickle.loads(pickle.dumps(measure)), copy.deepcopy(measure)):  # noqa: S301
        assert as_typed(str(measure_copy)) == "map"


def test_a_text_has_names_as_typed_and_other_names_untouched() -> None:
    chance = random.Random(3)
    words = ["R@5", "R@50", "SetR@5", "R@5.", "(R@5)", "'R@5'", "R(rel=2)@5", "R@5:", "R@5,", "AP",
             "AP@5", "GMAP", "AP(rel=2)", "R@5.5", "bm25.R@5"]  # fmt: skip
    expected = {"R@5": "recall@5", "R@5.": "recall@5.", "(R@5)": "(recall@5)", "AP": "map",
                "'R@5'": "'recall@5'", "R@5:": "recall@5:", "R@5,": "recall@5,"}  # fmt: skip
    names = [TypedName("R@5", "recall@5"), TypedName("AP", "map"), "RR"]
    for _ in range(200):
        text_words = chance.choices(words, k=6)
        text = write_as_typed(" ".join(text_words), names)
        assert text == " ".join(expected.get(word, word) for word in text_words)
    assert write_as_typed("R@5", []) == "R@5"
    name_with_blank = [TypedName("AP", "mean average precision")]
    assert write_as_typed("AP: explain ... -m AP", name_with_blank) == (
        "mean average precision: explain ... -m AP"
    )


def test_names_of_systems_queries_and_files_are_no_measures(tmp_path: Path) -> None:
    for name, file in {"bm25-AP": BM25, "AP": BM25, "the AP one": BM25, "dense": DENSE}.items():
        (tmp_path / f"{name}.run").write_bytes(file.read_bytes())
    hyphened_run, run, worded_run, dense = (
        tmp_path / f"{name}.run" for name in ("bm25-AP", "AP", "the AP one", "dense")
    )
    text = invoke("gate", demo.QRELS, hyphened_run, "--baseline", dense, "--margin=2%", "-m", "map")
    assert text.startswith("FAIL: bm25-AP, map -")
    assert "bm25-AP.run -m map --query " in text
    text = invoke("gate", demo.QRELS, worded_run, "--at-least", "map=0.9")
    assert text.startswith("FAIL: the AP one, map 0.")
    text = invoke("explain", demo.QRELS, run, dense, "-m", "map")
    assert text.startswith("AP: 0.3388 (AP), ")
    assert "map" not in text
    text = invoke("correlate", demo.QRELS, worded_run, dense, DENSE, "-m", "map", "-m", "RR")
    assert "tau-AP,b" in text
    assert "map ~ RR" in text
    assert write_as_typed("AP/AP.run of x-AP", [TypedName("AP", "map")]) == "AP/AP.run of x-AP"


NAMES_LINE = "recall@5 is R@5, mrr is RR, hit_rate@5 is Success@5 in csv, json and Python."


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", demo.QRELS, BM25, DENSE),
        ("evaluate", demo.QRELS, BM25, "-q"),
        ("evaluate", demo.QRELS, BM25, "--intervals"),
        ("evaluate", demo.QRELS, BM25, "--bounds"),
        ("compare", demo.QRELS, BM25, DENSE),
        ("compare", demo.QRELS, BM25, DENSE, "--all-pairs", "--means", "--changes", "2"),
        ("gate", demo.QRELS, DENSE, "--baseline", BM25, "--margin", "0.02"),
        ("table", demo.QRELS, BM25, DENSE),
        ("correlate", demo.QRELS, BM25, DENSE, demo.HERE / "tfidf.run"),
    ],
)
def test_what_people_read_has_names_as_typed(arguments: tuple[object, ...]) -> None:
    typed_text = invoke(*arguments, "-m", TYPED)
    assert typed_text.rstrip().endswith(NAMES_LINE)
    assert typed_text.count("in csv, json and Python") == 1
    above = typed_text.replace(NAMES_LINE, "")
    for name, canonical in zip(TYPED.split(), CANONICAL.split(), strict=True):
        assert name in above
        assert canonical not in above
    canonical_text = invoke(*arguments, "-m", CANONICAL)
    assert "in csv, json and Python" not in canonical_text
    for name, canonical in zip(TYPED.split(), CANONICAL.split(), strict=True):
        above = above.replace(name, canonical)
    assert above.split() == "".join(
        character if character != "─" else " " for character in canonical_text
    ).split() or [word for word in above.split() if "─" not in word] == [
        word for word in canonical_text.split() if "─" not in word
    ]
    for form in ("csv", "tsv", "json", "jsonl"):
        texts = [invoke(*arguments, "-m", names, "--format", form) for names in (TYPED, CANONICAL)]
        assert texts[0] == texts[1]
    for form in ("markdown", "html", "latex"):
        page = invoke(*arguments, "-m", TYPED, "--format", form)
        assert "recall@5" in page
        assert page.count("in csv, json and Python") == 1


@pytest.mark.parametrize("arguments", [(BM25,), (BM25, DENSE), (BM25, "--query", "q01")])
def test_an_explanation_has_names_as_typed(arguments: tuple[object, ...]) -> None:
    text = invoke("explain", demo.QRELS, *arguments, "-m", "recall@5")
    assert text.startswith("recall@5")
    assert text.rstrip().endswith("recall@5 is R@5 in csv, json and Python.")
    assert text.count("R@5") == 1


def test_a_report_has_names_as_typed(tmp_path: Path) -> None:
    page_file = tmp_path / "page.html"
    invoke("report", demo.QRELS, BM25, DENSE, "-m", "recall@5 mrr", "-o", page_file)
    page = page_file.read_text("utf-8")
    assert "scores highest: recall@5 <b" in page
    assert "<li>recall@5 is R@5, mrr is RR in csv, json and Python.</li>" in page
    assert '"measures":[{"name":"recall@5"' in page
    assert ">R@5<" not in page


def test_saved_scores_keep_the_canonical_name(tmp_path: Path) -> None:
    saved_files = [tmp_path / "bm25.json", tmp_path / "dense.csv"]
    for run, path in zip((BM25, DENSE), saved_files, strict=True):
        invoke("evaluate", demo.QRELS, run, "-m", TYPED, "-q", "-o", path)
        assert "recall" not in path.read_text("utf-8")
    text = invoke("compare", "--saved", *saved_files, "-m", "mrr")
    assert text.startswith("mrr   40 queries")
    assert "R@5" in invoke("compare", "--saved", *saved_files)


def test_names_of_python_stay(tmp_path: Path) -> None:
    scores = evaluate(demo.QRELS, BM25, TYPED)
    assert list(scores.means()) == CANONICAL.split()
    assert scores["recall@5"] == scores["R@5"]
    comparison: Any = compare(demo.QRELS, [BM25, DENSE], TYPED)
    assert [row["measure"] for row in comparison.rows()] == CANONICAL.split()
    assert comparison["mrr"] is comparison["RR"]
    goals = {"recall@5": 0.1, "mrr": 0.1}
    gate_result = gate(demo.QRELS, DENSE, at_least=goals)
    assert [row["measure"] for row in gate_result.rows()] == ["R@5", "RR"]
    assert "recall@5" in str(gate_result)
    assert json.loads(gate_result.to_json())["thresholds"][0]["measure"] == "R@5"
    assert explain(demo.QRELS, BM25, "recall@5", "q01").to_dict()["measure"] == "R@5"
