"""Conventions: the numbers of other tools, as these gave them."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import invoke
from helpers.notes import codes, sentence

import cranfield
from cranfield import (
    AP,
    Explanation,
    InputError,
    MeanExplanation,
    MeasureError,
    OptionError,
    SetF,
    compare,
    conventions,
    correlate,
    evaluate,
    explain,
    gate,
    nDCG,
    parse,
)
from cranfield.comparison.settings import Missing
from cranfield.data.judging import Judging
from cranfield.errors import NothingSharedError
from cranfield.extensions.tools.conventions import CONVENTIONS, find_convention
from cranfield.measures.registry import DEFINITIONS

# The names that the stored file has: tools, and what each was given: scores, or lists.
TOOLS = {
    "beir": ("beir", "run"),
    "haystack (top5)": ("haystack", "lists"),
    "ir_measures": ("ir_measures", "run"),
    "lenskit": ("lenskit", "lists"),
    "llamaindex (top5, mean of non-errors)": ("llamaindex", "lists"),
    "llamaindex granular": ("llamaindex-granular", "lists"),
    "mteb": ("mteb", "run"),
    "pytrec_eval_mean_of_returned (RR uncut)": ("pytrec_eval", "run"),
    "ragas id-based": ("ragas", "lists"),
    "ranx make_comparable": ("ranx", "run"),
    "recommenders": ("recommenders", "lists"),
    "rectools": ("rectools", "lists"),
    "replay": ("replay", "lists"),
    "sentence-transformers": ("sentence-transformers", "run"),
    "sklearn_dense_all_judged": ("scikit-learn", "run"),
    "torchmetrics all_judged neg": ("torchmetrics", "run"),
    "torchmetrics returned neg": ("torchmetrics-retrieved", "run"),
    "trectools": ("trectools", "run"),
}
MEASURES = {
    "nDCG@5": "nDCG@5",
    "AP@5": "AP@5",
    "P@5": "P@5",
    "R@5": "R@5",
    "RR@5": "RR@5",
    "Hit@5": "Success@5",
    "R_cap@5": "RelP@5",
    "nDCG_burges@5": "nDCG(gain='exp2')@5",
    "nDCG_achievable@5": "nDCG(ideal='judged')@5",
    "nDCG_binary@5": "nDCG(gain='binary')@5",
    "nDCG_raw@5": "nDCG(gain='linear')@5",
    "nDCG_exp@5": "nDCG(gain='exp2')@5",
    "AP_div_k@5": "AP(over='cutoff')@5",
    "AP_at_k@5": "AP(over='reachable')@5",
    "P_adaptive@5": "P(over='returned')@5",
    "ndcg:NDCG@5": "nDCG@5",
    "map:MAP@5": "AP@5",
    "recall:Recall@5": "R@5",
    "precision:P@5": "P@5",
    "mrr:MRR@5": "RR@5",
    "hit_rate:HitRate@5": "Success@5",
}
# Values that a convention does not give, (tool, collection): measures, and why.
_TIES = "equal scores are permuted by an unstable sort: no rule"
_NEGATIVE = "negative grades gain what they are, and the ideal has unjudged documents above them"
_PADDING = "what was not retrieved has a score that the caller chose, here often above 0"
_SELF_JOIN = "an item that occurs m times weighs m at each of its ranks, and m * m in the ideal"
DIFFERENT: dict[tuple[str, str], tuple[set[str], str]] = {
    ("recommenders", "duplicates"): ({"nDCG@5", "nDCG_raw@5", "nDCG_exp@5"}, _SELF_JOIN),
    ("sklearn_dense_all_judged", "odd"): ({"nDCG@5"}, "a mean of the rows that do not raise"),
    ("torchmetrics all_judged neg", "odd"): ({"AP@5", "P@5", "P_adaptive@5", "R@5"}, _PADDING),
    ("torchmetrics all_judged neg", "graded"): ({"P_adaptive@5"}, _PADDING),
    ("torchmetrics all_judged neg", "ties"): ({"AP@5", "R@5", "RR@5"}, _TIES),
    ("torchmetrics all_judged neg", "negative"): ({"nDCG@5"}, _NEGATIVE),
    ("torchmetrics returned neg", "ties"): ({"AP@5", "R@5", "RR@5"}, _TIES),
    ("torchmetrics returned neg", "negative"): ({"nDCG@5"}, _NEGATIVE),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_the_stored_values_of_a_tool(tool: str, data: Path) -> None:
    stored_values = json.loads((data / "conventions.json").read_text())
    name, form = TOOLS[tool]
    n_equal = 0
    for measure_text, values in stored_values["tools"][tool].items():
        collection = stored_values["collections"][measure_text]
        run = collection.get(form, collection["run"])
        expected_to_differ, _ = DIFFERENT.get((tool, measure_text), (set(), ""))
        for measure, value in values.items():
            if measure not in MEASURES or not isinstance(value, float) or math.isnan(value):
                continue  # raised, or no number
            text = "RR" if tool.endswith("(RR uncut)") and measure == "RR@5" else MEASURES[measure]
            score = evaluate(collection["qrels"], run, text, convention=name)[text]
            tolerance = 2e-7 if tool.startswith("torchmetrics") else 1e-9
            is_equal = math.isclose(score, value, rel_tol=0, abs_tol=tolerance)
            assert is_equal == (measure not in expected_to_differ), (
                measure_text,
                measure,
                score,
                value,
            )
            n_equal += is_equal
    assert n_equal >= 3


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_convention_names_what_there_is(name: str) -> None:
    convention = CONVENTIONS[name]
    assert convention.tool
    assert convention.source
    for rule in convention.rules:
        # Each differs from the default.
        assert Judging(**rule.judging).changed_options() == {**rule.judging}
        for measure, definition in rule.measures.items():
            bare = parse(measure) if DEFINITIONS[measure].cutoff != "required" else None
            if isinstance(definition, str):
                assert definition in DEFINITIONS
            elif bare is not None:
                changed_measure = bare.with_parameters(definition)
                assert len(changed_measure.given) >= len(
                    definition
                )  # each differs from the default


QRELS = {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"d": 1, "e": 1}, "q3": {"f": 0}, "q4": {"g": 1}}
RUN = {
    "q1": {"b": 3.0, "x": 2.0, "a": 1.0},
    "q2": {"d": 2.0, "y": 2.0, "e": 1.0},
    "q3": {"f": 2.0},
}


# Of conventions whose tools have no stored values: by hand, on the collection above. Of q2, two
# scores are equal: y, d, e by id, and d, y, e as given.
BY_HAND = [
    ("trec_eval", "AP@2", (1 / 3 + (1 / 2) / 2 + 0) / 3),
    ("trec_eval", "IPrec@0.4", (1 / 1 + 2 / 3 + 0) / 3),  # 1 of 3 documents, 1 of 2
    ("trec_eval-9", "IPrec@0.4", (2 / 3 + 2 / 3 + 0) / 3),  # 2 of 3, 1 of 2
    ("trectools-rank", "RR@2", (1 + 1 + 0) / 3),
    ("trectools-rank", "nDCG@1", ((2**2 - 1) / (2**3 - 1) + 1 / 1 + 0) / 3),
    ("scikit-learn-retrieved", "DCG@1", (2 + (1 + 0) / 2 + 0) / 3),
    ("recbole", "R@2", round((1 / 3 + 1 / 2 + 0) / 3, 4)),
    ("elliot", "AP@2", ((1 / 1 + 1 / 2) / 2 + (0 + 1 / 2) / 2) / 2),
    ("spark", "AP@2", ((1 / 1) / 2 + (1 / 2) / 2 + 0 + 0) / 4),
    ("quepid", "P@5", (2 / 3 + 2 / 3 + 0 + 0) / 4),
    ("quepid", "ERR@1", ((2**2 - 1) / 2**3 + 0 + 0 + 0) / 4),
    ("gdeval", "ERR@1", ((2**2 - 1) / 2**4 + 0) / 2),
]


@pytest.mark.parametrize(("name", "measure", "value"), BY_HAND)
def test_a_convention_by_hand(name: str, measure: str, value: float) -> None:
    score = evaluate(QRELS, RUN, measure, convention=name)[measure]
    assert score == pytest.approx(value, abs=1e-15)


# What the library ir_evaluation publishes of itself, in its tests.
ACTUAL = [4, 79, 32, 45, 14, 46, 53, 15, 3, 54, 68, 99, 75]
ACTUAL += [82, 35, 27, 73, 20, 25, 66, 11, 58, 31, 8, 85]
PREDICTED_DOCS = [1, 2, 62, 84, 3, 4, 81, 14, 5, 67]
ONE = ([ACTUAL], [PREDICTED_DOCS])
THREE = (
    [[1, 3, 5], [2, 4, 6], [7, 8, 9]],
    [[1, 2, 3, 4, 5], [9, 2, 3, 1, 5], [4, 5, 9, 8, 3]],
)
FOUR = ([*THREE[0], [7, 8, 9]], [*THREE[1], [1, 2, 3, 4, 5]])


@pytest.mark.parametrize(
    ("lists", "measure", "value"),
    [
        (ONE, "AP@5", 0.2),
        (ONE, "AP@10", 0.30277777777777776),
        (ONE, "nDCG@5", 0.13120507751234178),
        (ONE, "nDCG@10", 0.23297260855707355),
        (THREE, "AP@5", 0.5574074074074074),
        (FOUR, "RR", 0.4583333333333333),
    ],
)
def test_the_published_values_of_ir_evaluation(lists: Any, measure: str, value: float) -> None:
    qrels, run = lists
    score = evaluate(qrels, run, measure, convention="ir_eval")[measure]
    assert score == pytest.approx(value, abs=1e-15)


def test_every_convention_is_compared_with_values() -> None:
    """The variants of torchmetrics are compared in tests/oracles, as the numbers of others are."""
    compared_names = {name for name, _ in TOOLS.values()} | {name for name, *_ in BY_HAND}
    compared_names |= {name for name, *_ in GROUPS} | {"ir_eval"}
    variants = {name for name in CONVENTIONS if re.fullmatch("torchmetrics.*-(pos|skip)", name)}
    assert compared_names | variants == {*CONVENTIONS}


# Three groups of LightGBM's thread on a group without relevant documents, and what it says of them.
LTR_QRELS = {"0": {"a": 3, "b": 0, "c": 1}, "1": {"d": 0, "e": 0}, "2": {"f": 2, "g": 1}}
LTR_RUN = {
    "0": {"a": 0.9, "b": 0.8, "c": 0.1},
    "1": {"d": 0.5, "e": 0.4},
    "2": {"f": 0.2, "g": 0.7, "h": 0.6, "i": 0.5},
}
EXP2_0 = (7 / 1 + 1 / 2) / (7 / 1 + 1 / math.log2(3))
EXP2_2 = (1 / 1 + 3 / math.log2(5)) / (3 / 1 + 1 / math.log2(3))
GROUPS = [
    ("lightgbm", "nDCG@10", (EXP2_0 + 1 + EXP2_2) / 3),
    ("lightgbm", "AP@10", ((1 / 1 + 2 / 3) / 2 + 1 + (1 / 1 + 2 / 4) / 2) / 3),
    ("xgboost", "nDCG@10", (EXP2_0 + 1 + EXP2_2) / 3),
    ("xgboost", "P@10", (2 / 3 + 0 + 2 / 4) / 3),
    ("implicit", "P@2", (1 + 1) / (2 + 2)),
    ("elasticsearch", "nDCG@10", (EXP2_0 + 0 + EXP2_2) / 3),
    ("scikit-learn", "AP", ((1 / 1 + 2 / 3) / 2 + 1 + (1 / 1 + 2 / 4) / 2) / 3),
    ("torchmetrics-skip", "P@1", (1 + 1) / 2),
]


@pytest.mark.parametrize(("name", "measure", "value"), GROUPS)
def test_what_a_group_without_relevant_documents_counts(
    name: str, measure: str, value: float
) -> None:
    scores = evaluate(LTR_QRELS, LTR_RUN, measure, convention=name)
    assert scores[measure] == pytest.approx(value, rel=1e-14)
    (mean,) = scores.means().values()
    assert sum(scores.per_query(measure).values()) / len(scores.per_query(measure)) == mean
    assert measure not in ("nDCG@10",) or scores.per_query(measure)["1"] == (
        0 if name == "elasticsearch" else 1
    )
    assert conventions(LTR_QRELS, LTR_RUN, measure, value=round(value, 6))[name].value == mean
    assert name in conventions(LTR_QRELS, LTR_RUN, measure, value=round(value, 6)).same


def test_a_level_that_is_stated_says_which_groups_are_empty() -> None:
    scores = evaluate(LTR_QRELS, LTR_RUN, "AP(rel=3)@10", convention="lightgbm")
    assert [*scores.per_query("AP(rel=3)@10").values()] == [1 / 1, 1, 1]  # 2 has no grade 3
    scores = evaluate(LTR_QRELS, LTR_RUN, "nDCG(gain={1: 0})@10", convention="lightgbm")
    assert scores.per_query("nDCG(gain={1: 0})@10")["1"] == 1


def test_a_micro_mean_of_the_slices_is_their_own() -> None:
    """Of 12 relevant documents 2 in the first 5, and of 1 relevant 1."""
    qrels = {"1": {"a": 1}, "2": dict.fromkeys(map(str, range(12)), 1)}
    run = {"1": ["a", "x", "y", "z", "w"], "2": ["0", "1", "x", "y", "z"]}
    labels = {"1": "few", "2": "many"}
    scores = evaluate(qrels, run, "P@5", convention="implicit", slices=labels)
    assert scores["P@5"] == (1 + 2) / (1 + 5)
    mean_divisor = (1 + 5) / 2
    assert scores.per_query("P@5") == {
        "1": pytest.approx(1 / mean_divisor),
        "2": pytest.approx(2 / mean_divisor),
    }
    assert scores.slice("many")["P@5"] == 2 / 5
    systems = evaluate(
        qrels, {"a": run, "b": {"1": ["x"], "2": ["0"]}}, "P@5", convention="implicit"
    )
    pair = compare(systems)["RelP@5"]["b"]
    assert pair.difference == pytest.approx((0 + 1) / (1 + 5) - (1 + 2) / (1 + 5))
    scores = evaluate({"1": {"a": 1}}, {"1": ["x"]}, "P@5", convention="implicit")
    assert scores["P@5"] == 0


def test_the_ideal_is_cut_where_the_list_ends() -> None:
    """Of grades 3 and 1, only the one of grade 1 was returned."""
    scores = evaluate({"q": {"a": 3, "b": 1}}, {"q": ["b"]}, "nDCG@10", convention="elasticsearch")
    assert scores["nDCG@10"] == (2**1 - 1) / (2**3 - 1)


def test_what_an_adjustment_changes_is_not_explained() -> None:
    with pytest.raises(OptionError, match="1 for a query without a relevant document"):
        explain(LTR_QRELS, LTR_RUN, "nDCG@10", convention="lightgbm")


# ---- names and parameters that a tool has --------------------------------------------------------


def test_measures_of_whole_lists_of_ranx() -> None:
    run = {"q1": ["a", "x", "b", "y"], "q2": ["x"], "q4": []}
    scores = evaluate(QRELS, run, "SetP SetR SetF F@2 Rprec", convention="ranx")
    assert [*scores.means().values()] == [
        (2 / 4) / 4,
        pytest.approx((2 / 3) / 4, rel=1e-15),
        pytest.approx((2 * 2 / (4 + 3)) / 4, rel=1e-15),
        pytest.approx((2 * 1 / (2 + 3)) / 4, rel=1e-15),
        pytest.approx((2 / 3) / 4, rel=1e-15),
    ]


def test_the_sum_of_grades_of_ranx() -> None:
    """Its RBP adds up (1 - p) p^(i-1) times the grade."""
    run = {"q1": ["b", "x", "a"], "q2": ["e"]}
    expected = (1 - 0.5) * (2 + 0.25 * 3) + (1 - 0.5) * 1
    for text in ("rbp.50", "RBP(p=0.5)"):
        (mean,) = evaluate(QRELS, run, text, convention="ranx").means().values()
        assert mean == pytest.approx(expected / 4)


def test_what_was_stated_of_another_measure_is_kept_or_refused() -> None:
    assert str(find_convention("elliot").translate(parse("AP(rel=2)@5"))) == "MeanP(rel=2)@5"
    assert str(find_convention("implicit").translate(parse("P(rel=2)@5"))) == "RelP(rel=2)@5"
    for name, text in (("elliot", "AP(over='judged')@5"), ("implicit", "P(over='returned')@5")):
        with pytest.raises(MeasureError, match=r"the tool computes .*, which has no over"):
            evaluate(QRELS, RUN, text, convention=name)
        assert name in conventions(QRELS, RUN, text).lacking


def test_accuracy_of_queries_in_which_something_was_found() -> None:
    run = {"q1": ["x", "a"], "q2": ["x"], "q4": ["g", "x"]}
    scores = evaluate(QRELS, run, "AUC", convention="ir_measures")
    assert scores.per_query("AUC") == {"q1": 0, "q4": 1}
    assert scores["AUC"] == (0 + 1) / 2
    with pytest.raises(MeasureError, match="every query is left out"):
        raise_problem(conventions({"q": {"a": 1}}, {"q": ["x"]}, "AUC")["ir_measures"].problem)


def raise_problem(problem: str | None) -> None:
    raise MeasureError(problem or "")


# ---- departures ----------------------------------------------------------------------------------

DEEP = {"q": {"a": 2, "b": 1, "c": 3, "d": 1}}
LONG = {"q": ["x", "b", "y", "a", "z", "c"]}


def test_a_relevance_level_that_gives_the_value() -> None:
    value = round((1 / 4 + 2 / 6) / 2, 6)  # of a and c
    numbers = conventions(DEEP, LONG, "AP", value=value)
    assert numbers.same == []
    assert numbers.departures[0].departure == "AP(rel=2)"
    assert numbers.departures[0].convention == "cranfield"
    assert numbers.answer.startswith(f"{value} is AP(rel=2)")
    assert str(numbers).splitlines()[0] == numbers.answer
    assert "departures" in codes(numbers.notes)
    assert "rel=2, rel=3, @5, @10" in sentence(numbers.notes, "departures")
    document = json.loads(numbers.to_json())
    assert document["departures"][0]["departure"] == "AP(rel=2)"
    assert numbers.rows()[0]["computed"] == "AP(rel=2)"


@pytest.mark.parametrize(
    ("measure", "value", "departure"),
    [
        ("AP(rel=2)", (1 / 2 + 2 / 4 + 3 / 6) / 4, "AP"),
        ("AP@20", (1 / 2 + 2 / 4) / 4, "AP@5"),
        ("P@10", 2 / 5, "P@5"),
        ("R@5", 3 / 4, "R@10"),
        ("P@5", 3 / 5, "P@5, judged_only=True"),
        ("P@10", 3 / 5, "P@5, judged_only=True"),
        ("AP", (1 / 2 + 2 / 3) / 2, "AP(rel=2), judged_only=True"),
    ],
)
def test_other_departures(measure: str, value: float, departure: str) -> None:
    numbers = conventions(DEEP, LONG, measure, value=f"{value:.6f}")
    first_line = numbers.departures[0]
    assert (first_line.convention, first_line.departure) == ("cranfield", departure)
    assert first_line.value == pytest.approx(value)


def test_a_departure_that_adds_nothing_is_not_named() -> None:
    """The list is shorter than 1000."""
    numbers = conventions(DEEP, LONG, "AP", value=f"{(1 / 4 + 2 / 6) / 2:.6f}")
    names = {line.departure for line in numbers.departures if line.convention == "cranfield"}
    assert names == {"AP(rel=2)"}


@pytest.mark.parametrize(
    ("measure", "value", "departure", "text"),
    [
        ("P@5", 2 / 5, "P(rel=2)@5", "rel=2"),  # ranks 4 and 6
        ("P(rel=3)@1000", 2 / 1000, "P(rel=2)@1000", "rel=2"),
        ("RR@5", 1, "RR@5, judged_only=True", "judged_only=True"),
    ],
)
def test_the_cutoff_that_a_measure_has_is_no_departure(
    measure: str, value: float, departure: str, text: str
) -> None:
    run = {"q": ["x", "b", "y", "a", "c", "z"]}
    numbers = conventions(DEEP, run, measure, value=f"{value:.6f}")
    first_line = numbers.departures[0]
    assert (first_line.convention, first_line.departure) == ("cranfield", departure)
    assert first_line.choices == (text,)
    assert {line.departure for line in numbers.departures if line.convention == "cranfield"} == {
        departure
    }
    cutoff = measure.partition("@")[2]
    assert text in numbers.departure_texts
    assert f"@{cutoff}" not in numbers.departure_texts


def test_several_that_give_a_value_are_said() -> None:
    """Relevant are ranks 1 and 2, and 2 of 4 are retrieved in vain; the last one is judged."""
    numbers = conventions({"q": {"a": 2, "b": 1}}, {"q": ["a", "b", "x", "y"]}, "SetP", value="1")
    assert numbers.answer == "1 is SetP, judged_only=True."
    qrels, run = {"q": {"a": 2, "b": 1}}, {"q": ["x", "a", "y", "z"]}
    numbers = conventions(qrels, run, "AP", value="0.5")  # to its one decimal
    assert numbers.answer == "0.5 is AP under ir_eval, scikit-learn."  # which give 0.5 and 0.45
    numbers = conventions(DEEP, LONG, "RR", value="1")
    assert numbers.answer == "1 is RR, judged_only=True."


@pytest.mark.parametrize(
    ("value", "shows_doubt"), [("0.6", True), ("0.25", True), ("0.333", False)]
)
def test_a_match_among_many_may_be_one_by_chance(value: str, shows_doubt: bool) -> None:
    numbers = conventions(DEEP, LONG, "AP", value=value)
    assert ("by chance" in sentence(numbers.notes, "departures")) == shows_doubt
    assert ("Several give it" in numbers.answer) == shows_doubt


def test_nothing_gives_a_value() -> None:
    numbers = conventions(DEEP, LONG, "AP", value="0.98765")
    assert numbers.departures == ()
    text = sentence(numbers.notes, "none-same")
    assert text.startswith("Nothing that was tried gives 0.98765. The nearest is ")
    assert "other queries or documents, or another tool" in text
    assert "Check that" not in text
    assert str(numbers).splitlines()[0].startswith("Nothing that was tried gives 0.98765.")


def test_a_percentage_is_asked_about() -> None:
    percentage = conventions(DEEP, LONG, "AP", value="98.765")
    assert "Is it a percentage? value=0.98765 (--value 0.98765)." in percentage.answer
    assert "percentage" not in conventions(DEEP, LONG, "AP", value="0.98765").answer


def test_equal_values_are_one_row() -> None:
    numbers = conventions(QRELS, RUN, "AP@2")
    (table,) = numbers.tables()
    values = [(row[0], row[2]) for row in table.rows]
    assert len(values) == len({*values}) < len(numbers.every) / 2
    all_names = [line.convention for line in numbers.every]
    n_names = 0
    for _, cell, _ in table.rows:  # six names, and how many more there are
        names, _, n_more = cell.removesuffix(" more").partition(", and ")
        assert {*names.split(", ")} <= {*all_names}
        n_names += len(names.split(", ")) + int(n_more or 0)
    assert n_names == len(all_names)
    assert max(len(cell) for _, cell, _ in table.rows) < 140
    assert table.rows[0][1].startswith("cranfield")


def test_the_number_of_a_track(data: Path) -> None:
    """On TREC DL 2019, passages are relevant from grade 2 on in binary measures."""
    folder = data / "dl19"
    numbers = conventions(
        str(folder / "qrels.txt"), str(folder / "bm25.run.gz"), "AP", value="0.2476"
    )
    assert numbers.answer.startswith("0.2476 is AP(rel=2).")


@pytest.mark.parametrize(("value", "departure"), [("0.4108", "AP(rel=2)"), ("0.3193", "AP@10")])
def test_the_numbers_of_the_demonstration(
    value: str, departure: str, demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo_folder)
    arguments = ["conventions", "demo/qrels.txt", "demo/bm25.run", "-m", "AP", "--value", value]
    outcome = invoke(*arguments)
    assert outcome.stdout.splitlines()[0] == f"{value} is {departure}."


def test_a_result_says_what_was_computed() -> None:
    scores = evaluate(QRELS, RUN, "AP@2 nDCG@2", convention="Sentence_Transformers")
    assert [str(measure) for measure in scores.measures] == [
        "AP(over='reachable')@2",
        "nDCG(gain='binary')@2",
    ]
    assert scores["AP@2"] == scores["AP(over='reachable')@2"] == (1 / 2 + 1 / 2 + 0) / 3
    assert scores.recipe["convention"] == "sentence-transformers"
    assert scores.recipe["queries"] == "relevant"
    assert "convention" in codes(scores.notes)
    with pytest.raises(MeasureError, match="was not evaluated"):
        scores["RR"]


def test_what_was_stated_stays() -> None:
    judged = evaluate(QRELS, RUN, "AP(over='judged')@2", convention="sentence-transformers")
    assert judged["AP(over='judged')@2"] == (1 / 3 + 1 / 2 + 0) / 3
    shared_scores = evaluate(QRELS, RUN, "AP@2", convention="sentence-transformers", queries="both")
    assert shared_scores.query_ids == ["q1", "q2", "q3"]


def test_the_beta_of_ir_measures_is_a_square() -> None:
    qrels, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": ["a", "x"]}
    precision, recall = 1 / 2, 1 / 3

    def f_of(squared_beta: float) -> Any:
        weighted_sum = squared_beta * precision + recall
        return pytest.approx((1 + squared_beta) * precision * recall / weighted_sum)

    for name, squared_beta in (
        ("SetF", 1),
        ("SetF(beta=2)", 2),
        ("SetF(beta=4)", 4),
        ("SetF(beta=2.25)", 2.25),
        ("SetF(x=4)", 4),  # cranfield's own name of the square
        ("set_F.4", 4),
    ):
        scores = evaluate(qrels, run, name, convention="ir_measures")
        assert scores[name] == f_of(squared_beta), name
    assert evaluate(qrels, run, "SetF(beta=2)")["SetF(beta=2)"] == f_of(4)


def test_the_parameter_that_another_replaces_was_not_stated() -> None:
    convention = find_convention("ir_measures")
    assert convention.translate(SetF(x=4)(beta=3)) == SetF(x=3)
    assert convention.translate(SetF(beta=3)(x=4)) == SetF(x=4)


def test_interpolated_precision_of_ir_measures_is_that_of_trec_eval_9() -> None:
    """Recall .1 of 12 documents takes floor(1.2 + .9) = 2 of them; in version 10, 1."""
    qrels, run = {"q": {f"d{i}": 1 for i in range(12)}}, {"q": ["d1", "x", "d2"]}
    scores = evaluate(qrels, run, "IPrec@0.1", convention="ir_measures")
    assert scores["IPrec@0.1"] == 2 / 3
    stated_scores = evaluate(qrels, run, "IPrec(version=10)@0.1", convention="ir_measures")
    assert stated_scores["IPrec(version=10)@0.1"] == 1


def test_measures_over_other_queries_stand_side_by_side() -> None:
    """BEIR averages nDCG over queries that the run has, and MRR over all."""
    scores = evaluate(QRELS, RUN, "RR@2 P@2", convention="beir")
    assert scores.means() == {"RR@2": (1 + 1 + 0 + 0) / 4, "P@2": round(1 / 3, 5)}
    assert scores.per_query("P@2").keys() == {"q1", "q2", "q3"}
    assert scores.per_query("RR@2") == {"q1": 1, "q2": 1, "q3": 0, "q4": 0}
    assert scores.to_dict()["q4"] == {"RR@2": 0, "P@2": None}
    (run,) = json.loads(scores.to_json(per_query=True))["runs"]
    assert run["queries"]["q4"] == {"RR@2": 0, "P@2": None}
    (row,) = [line for line in scores.to_text(per_query=True).splitlines() if " q4 " in line]
    assert row.split() == ["run", "q4", "0.0000", "-"]
    column = scores.to_pandas()["P@2"]
    assert column.isna().tolist() == [False, False, False, True]
    shared = {"scores": "double", "convention": "beir", "ties": "document"}
    assert shared.items() & scores.recipe.items() == {("convention", "beir")}
    assert scores.recipe["depth"] is None
    notes = {(note.code, note.source) for note in scores.notes}
    assert {("queries", "RR@2"), ("queries", "P@2"), ("convention", None)} <= notes


def test_slices_follow_a_convention() -> None:
    labels = {"q1": "a", "q2": "a", "q3": "b", "q4": "b"}
    scores = evaluate(QRELS, RUN, "RR@2 P@2", convention="beir", slices=labels)
    assert scores.slice("a").means() == {"RR@2": 1, "P@2": 0.5}
    assert scores.slice("b").means() == {"RR@2": 0, "P@2": 0}
    assert scores.slice("b").per_query("P@2") == {"q3": 0}


def test_what_a_tool_lacks_is_refused(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo_folder)
    with pytest.raises(MeasureError, match="ERR: beir has no such measure"):
        evaluate(QRELS, RUN, "ERR nDCG@10", convention="beir")
    with pytest.raises(OptionError, match="Did you mean 'sentence-transformers'"):
        find_convention("sentance")
    with pytest.raises(OptionError, match="Did you mean 'beir'"):
        evaluate(QRELS, RUN, "AP", convention="bier")
    with pytest.raises(OptionError, match="bounds"):
        evaluate(QRELS, RUN, "AP", convention="beir", bounds=True)
    default = evaluate(QRELS, RUN, convention="ragas")
    assert {measure.name for measure in default.measures} == {"P", "R"}
    assert "nDCG@10, AP, RR, Judged@10" in sentence(default.notes, "lacking")
    outcome = invoke("evaluate", "demo/qrels.txt", "demo/bm25.run", "--convention", "ragas")
    assert "nDCG@10, AP, RR, Judged@10" in outcome.stdout
    with pytest.raises(MeasureError, match="gdeval has ERR, nDCG"):
        find_convention("gdeval").select_supported([AP])


def test_explain_follows_a_convention() -> None:
    explanation = explain(QRELS, RUN, "AP@2", "q1", convention="sentence-transformers")
    assert isinstance(explanation, Explanation)
    assert explanation.value == 1 / 2
    over_all = explain(QRELS, RUN, "AP@2", convention="sentence-transformers")
    assert isinstance(over_all, MeanExplanation)
    assert over_all.value == evaluate(QRELS, RUN, "AP@2", convention="sbert")["AP@2"]


def test_scores_under_a_convention_are_compared() -> None:
    other = {query: dict(reversed(docs.items())) for query, docs in RUN.items()}
    systems = evaluate(QRELS, {"a": RUN, "b": other}, "nDCG@2 AP@2", convention="ranx")
    assert compare(systems)["nDCG@2"]


def test_a_number_under_every_convention() -> None:
    numbers = conventions(QRELS, RUN, "AP@2", value="0.333")
    assert numbers["cranfield"].value == (1 / 3 + (1 / 2) / 2 + 0 + 0) / 4  # y is before d
    line = numbers["sentence-transformers"]
    assert line.value == (1 / 2 + 1 / 2 + 0) / 3
    assert line.choices == ("queries='relevant'", "ties='ascending'", "over='reachable'")
    alone = {
        "queries='relevant'": (1 / 3 + (1 / 2) / 2 + 0) / 3,
        "ties='ascending'": (1 / 3 + 1 / 2 + 0 + 0) / 4,
        "over='reachable'": (1 / 2 + (1 / 2) / 2 + 0 + 0) / 4,
    }
    largest_choice = max(alone, key=alone.__getitem__)
    assert line.most == largest_choice
    assert line.moves == alone[largest_choice] - (1 / 3 + (1 / 2) / 2 + 0 + 0) / 4
    near = [
        line for line in numbers.every if line.value is not None and abs(line.value - 1 / 3) < 1e-3
    ]
    equal_conventions = [line.convention for line in near]
    assert numbers.same == equal_conventions
    assert "sentence-transformers" in equal_conventions
    assert {"same", "lacking"} <= {*codes(numbers.notes)}
    assert "gdeval" in numbers.lacking
    for name, convention in CONVENTIONS.items():
        if name not in numbers.lacking and numbers[name].value is not None:
            alike = evaluate(QRELS, RUN, "AP@2", convention=name)
            assert [*alike.means().values()] == [numbers[name].value], convention


def test_the_choice_that_moves_a_number_most() -> None:
    """Each choice is made alone, beside the default."""
    qrels, run = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}}
    line = conventions(qrels, run, "P@5")["lenskit"]
    assert line.value == 1
    assert (line.most, line.moves) == ("over='returned'", 1 / 2 - 1 / 10)
    assert "queries='relevant-and-both'" in line.choices


@pytest.mark.parametrize(
    ("value", "is_equal"),
    [
        ("0.17", True),
        ("0.1667", True),
        (0.16667, True),
        ("0.1670", False),
        (0.166, False),
        (0, False),
    ],
)
def test_a_value_is_compared_to_its_digits(value: str | float, is_equal: bool) -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    run = {"q1": ["x", "y", "a"], "q2": ["x", "y"], "q3": [*"vwxyz", "c"]}
    numbers = conventions(qrels, run, "RR", value=value)
    assert numbers["cranfield"].value == (1 / 3 + 0 + 1 / 6) / 3
    assert ("cranfield" in numbers.same) == is_equal


def test_no_convention_gives_a_value() -> None:
    numbers = conventions(QRELS, RUN, "AP@2", value=0.987)
    assert numbers.same == []
    assert "none-same" in codes(numbers.notes)
    for wrong in ("much", float("nan"), True, "1e400"):
        with pytest.raises(OptionError, match="expected a number"):
            conventions(QRELS, RUN, "AP@2", value=wrong)


def test_conventions_take_one_run_and_one_measure() -> None:
    with pytest.raises(MeasureError, match="one measure"):
        conventions(QRELS, RUN, "AP RR")
    with pytest.raises(MeasureError, match="RelString is a string"):
        conventions(QRELS, RUN, "RelString")
    with pytest.raises(OptionError, match="2 runs"):
        conventions(QRELS, {"a": RUN, "b": RUN}, "AP")
    with pytest.raises(InputError):
        conventions(QRELS, "no-such.run", "AP")
    rows = [{"question": "Why?", "expected_ids": ["a", "b"], "retrieved_ids": ["a", "c"]}]
    assert conventions(rows, measure="P@5")["ragas"].value == 1 / 2


def test_the_command(tmp_path: Path) -> None:
    qrels, run = tmp_path / "a.json", tmp_path / "b.json"
    qrels.write_text(json.dumps(QRELS))
    run.write_text(json.dumps(RUN))
    outcome = invoke("conventions", str(qrels), str(run), "-m", "AP@2", "--value", "0.5")
    assert outcome.exit_code == 0
    assert "sentence-transformers" in outcome.stdout
    outcome = invoke("conventions", str(qrels), str(run), "-m", "AP@2", "--format", "json")
    by_name = {line["convention"]: line for line in json.loads(outcome.stdout)["conventions"]}
    assert by_name["cranfield"]["value"] == (1 / 3 + (1 / 2) / 2) / 4
    assert invoke("conventions").stdout.count("beir 2.2.0") == 1
    assert "identical_ids" in invoke("conventions", "BEIR").stdout
    wrong = invoke("conventions", "bier")
    assert wrong.exit_code == 2
    assert "Did you mean 'beir'" in wrong.stderr
    assert invoke("conventions", str(qrels)).exit_code == 2
    assert invoke("conventions", "--value", "0.5").exit_code == 2
    outcome = invoke("evaluate", str(qrels), str(run), "--convention", "beir", "--format", "json")
    assert json.loads(outcome.stdout)["recipe"]["convention"] == "beir"
    assert invoke("evaluate", str(qrels), str(run), "--convention", "bier").exit_code == 2


def test_the_names_are_public() -> None:
    assert cranfield.conventions is conventions
    assert (nDCG @ 5).with_parameters({"gain": "linear"}).stated == {"gain"}


# ---- what is not averaged over all queries ------------------------------------------------------


def test_a_slice_of_which_a_measure_averages_no_query() -> None:
    labels = {"q1": "a", "q2": "a", "q3": "a", "q4": "b"}  # the run has no q4
    scores = evaluate(QRELS, RUN, "RR@2 P@2", convention="beir", slices=labels)
    last = scores.slice("b")
    assert last.means() == {"RR@2": 0}
    assert math.isnan(last["P@2"])
    assert last.per_query("P@2") == {}
    (row,) = [line for line in str(scores).splitlines() if line.startswith(" b ")]
    assert row.split() == ["b", "1", "run", "0.0000", "-"]
    of_slice = json.loads(scores.to_json())["runs"][0]["slices"][1]
    assert of_slice["all"] == {"RR@2": 0}


BOTH = {"one": RUN, "all": {**RUN, "q4": {"g": 1.0}}}


MEANS = ("RR@2", "P@2")


def test_a_query_that_a_measure_is_not_averaged_over_has_no_row() -> None:
    rows = evaluate(QRELS, RUN, "RR@2 P@2", convention="beir").rows(per_query=True)
    queries = {
        measure: {row["query_id"] for row in rows if row["measure"] == measure} for measure in MEANS
    }
    assert queries == {"RR@2": {*QRELS, "all"}, "P@2": {*RUN, "all"}}


# What becomes of q4, which one of the runs has, and the means of P@2 then.
MISSING: dict[Missing, tuple[int, list[float]]] = {
    "zero": (4, [(1 / 2 + 1 / 2 + 0 + 0) / 4, (1 / 2 + 1 / 2 + 0 + 1 / 2) / 4]),
    "drop": (3, [(1 / 2 + 1 / 2 + 0) / 3] * 2),
}


@pytest.mark.parametrize("form", ["scores", "JSON", "CSV"])
@pytest.mark.parametrize("missing", MISSING)
def test_scores_over_other_queries_are_compared_as_missing_says(
    missing: Missing, form: str, tmp_path: Path
) -> None:
    systems = evaluate(QRELS, BOTH, "RR@2 P@2", convention="beir")
    score_source: Any = systems
    if form != "scores":
        path = tmp_path / f"a.{form.lower()}"
        write = systems.to_json if form == "JSON" else systems.to_csv
        path.write_text(write(per_query=True))
        score_source = path
    with pytest.raises(InputError, match="1 of 4 queries have no P@2: 'q4'"):
        compare(score_source)
    n_queries, means = MISSING[missing]
    comparison = compare(score_source, missing=missing)
    assert len(comparison.aligned.query_ids) == n_queries
    assert comparison.aligned.measure_scores("P@2").mean(axis=0).tolist() == pytest.approx(
        means, abs=1e-12
    )
    assert compare(score_source, measures="RR@2")["RR@2"]["all"].difference == 1 / 4
    verdicts = gate(score_source, baseline="one", margin=0.1, missing=missing).verdicts
    assert [verdict.measure for verdict in verdicts] == ["RR@2", "P@2"]
    assert correlate(score_source, missing=missing)


# ---- documents that occur twice -----------------------------------------------------------------


def test_a_list_with_a_document_twice_has_the_numbers_of_tools_that_take_lists() -> None:
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": ["a", "a", "x", "b"]}
    numbers = conventions(qrels, run, "AP@4", value="1.375")
    default_line = numbers["cranfield"]
    assert default_line.value is None
    assert "'a' occurs twice" in (default_line.problem or "")
    expected = {
        "recommenders": (1 / 1 + 2 / 2 + 3 / 4) / 2,  # each
        "haystack": (1 / 1 + 2 / 4) / 2,  # once, at the first rank
        "rectools": (1 / 1 + 2 / 2 + 3 / 4) / 3,  # of three relevant ones
    }
    for name, value in expected.items():
        line = numbers[name]
        assert line.value == pytest.approx(value, abs=1e-15)
        assert (line.most, line.moves) == (None, None)
    assert "recommenders" in numbers.same
    assert numbers["beir"].problem == default_line.problem
    assert "'a' occurs twice" in str(numbers)
    assert "--duplicates best" not in str(numbers)  # what to do is in `problem`
    json.loads(numbers.to_json())


@pytest.mark.parametrize("command", ["compare", "gate", "correlate"])
def test_what_compares_saved_scores_says_how_to_follow_a_convention(command: str) -> None:
    for option_arguments in (["--convention", "beir"], ["--convention=beir"]):
        wrong = invoke(command, "a.txt", "b.run", "c.run", *option_arguments)
        assert wrong.exit_code == 2
        assert "--saved scores.json" in wrong.stderr
    assert "--saved" not in invoke("check", "a.txt", "b.run", "--convention", "beir").stderr


def test_scores_under_another_convention_are_not_compared(tmp_path: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, convention in zip(files, ("beir", None), strict=True):
        scores = evaluate(QRELS, RUN, "RR@2 P@2", convention=convention)
        path.write_text(scores.to_json(per_query=True))
    for file_order in (files, files[::-1]):
        with pytest.raises(InputError, match=r"convention=(None, not beir|beir, not None)"):
            compare([*map(str, file_order)])


def test_what_no_convention_can_read_is_an_error() -> None:
    with pytest.raises(NothingSharedError):
        conventions(QRELS, {"other": {"a": 1.0}}, "AP@4")


def test_measures_that_a_tool_computes_alike_are_one() -> None:
    scores = evaluate(QRELS, RUN, "AP@2 AP(over='reachable')@2 P@2", convention="sbert")
    assert [str(measure) for measure in scores.measures] == ["AP(over='reachable')@2", "P@2"]
    assert scores.values.shape == (3, 2)
    assert scores["P@2"] == (1 / 2 + 1 / 2 + 0) / 3


def test_one_run_in_a_list_or_by_name() -> None:
    alone = conventions(QRELS, RUN, "AP@2")
    for runs in ([RUN], {"mine": RUN}):
        numbers = conventions(QRELS, runs, "AP@2")
        assert [line.value for line in numbers.every] == [line.value for line in alone.every]
    assert numbers.run == "mine"


def test_a_long_name_is_cut_in_what_is_said() -> None:
    outcome = invoke("conventions", "x" * 5000)
    assert outcome.exit_code == 2
    assert len(outcome.stderr) < 1000


def test_a_value_of_sums_in_another_order_is_the_same() -> None:
    scores = {f"q{i}": {"d": i / 7} for i in range(3)}
    judgments = {f"q{i}": {"d": 1, f"e{i}": 1, "f": i % 2} for i in range(3)}
    value = conventions(judgments, scores, "R@5")["cranfield"].value
    assert value is not None
    for text in (f"{value + 1e-15:.17f}", f"{value:.60f}"):
        numbers = conventions(judgments, scores, "R@5", value=text)
        assert "cranfield" in numbers.same
        assert max(map(len, str(numbers).splitlines())) < 1000
        assert f"{value:.17f} " in str(numbers)
