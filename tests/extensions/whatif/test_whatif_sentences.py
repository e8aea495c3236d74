"""What explain says of ties, of the best swap and of one more judgment."""

from typing import Any

import pytest
from helpers.explain_cases import IN_MEMORY, SEEDS, explain_query, make_collection, query_cases
from helpers.explained import join_notes, rank_docs, to_single

from cranfield import Qrels
from cranfield.explanation.sentences import format_change


def test_a_tie_that_is_cut_is_told() -> None:
    explanation = explain_query({"q": {"a": 1}}, {"q": {"z": 2, "b": 1, "a": 1}}, "AP", depth=2)
    assert (
        "Ranks 2 to 3 are tied; of these, 1 was kept (b): the best and the worst order by "
        "grade would give 0.5000 and 0.0000."
    ) in join_notes(explanation)
    judged = explain_query({"q": {"a": 1, "z": 0}}, {"q": {"z": 2, "b": 1, "a": 1}}, "AP", depth=2)
    alone = explain_query(
        *({"q": {"a": 1, "z": 0}}, {"q": {"z": 2, "b": 1, "a": 1}}, "AP"),
        depth=2,
        judged_only=True,
    )
    assert "of these, 1 was kept (b): the best" in join_notes(judged)
    assert "of these, none was kept: the best" in join_notes(alone)


@pytest.mark.parametrize(
    "options", [options for options in IN_MEMORY if options.get("ties") != "expected"]
)
def test_ties_and_swaps_name_their_documents(options: dict[str, Any]) -> None:
    for seed in SEEDS:
        qrels, run = make_collection(seed)
        for query, judged, scores in query_cases(seed):
            docs = rank_docs(scores, judged, **options)
            explanation = explain_query(qrels, run, "DCG@6", query, **options)
            for tie in explanation.ties:
                if not options.get("judged_only"):
                    assert list(tie.docs) == docs[tie.first - 1 :][: len(tie.docs)]
                    assert len({to_single(scores[doc]) for doc in tie.docs}) == 1
            if explanation.swap is not None:
                assert explanation.swap.doc_i == docs[explanation.swap.i - 1]
                assert explanation.swap.doc_j == docs[explanation.swap.j - 1]


def test_a_swap_and_a_judgment_that_change_nothing() -> None:
    qrels = {"q": {"a": 1, "b": 0}}
    assert "No swap of two ranks would raise it." in join_notes(
        explain_query(qrels, {"q": ["a", "b"]}, "AP")
    )
    assert "swap" not in join_notes(explain_query(qrels, {"q": ["a"]}, "AP"))
    explanation = explain_query(qrels, {"q": ["a", "b", "x"]}, "P@2")
    assert "One more judgment would not change it." in join_notes(explanation)


def test_where_lower_is_better() -> None:
    """The rank of the last relevant document: 3; the swap of 2 and 3 lowers it."""
    qrels = {"q": {"a": 1, "b": 0, "c": 1}}
    explanation = explain_query(
        qrels, {"q": {"a": 3.0, "b": 2.0, "c": 2.0}}, "LastRel", ties="ascending"
    )
    assert explanation.value == 3
    assert "3 (c): 2.0000 (-1.0000)." in join_notes(explanation)
    assert (
        "Ranks 2 to 3 are tied (b, c): the best and the worst order by grade would give "
        "2.0000 and 3.0000."
    ) in join_notes(explanation)


def test_ties_beyond_the_depth_are_counted() -> None:
    run = {"q": {"d": 2.0, "c": 1.0, "b": 1.0, "a": 1.0}}
    explanation = explain_query({"q": {"b": 1, "c": 0}}, run, "AP", depth=3)
    assert "Ranks 2 to 4 are tied; of these, 2 were kept (c, b): the best" in join_notes(
        explanation
    )


def test_one_order_of_many() -> None:
    qrels = {"q": {"a": 1, "b": 0}}
    text = "Ranks of tied documents are those of one of many orders."
    assert text in join_notes(
        explain_query(qrels, {"q": {"a": 1.0, "b": 1.0}}, "P@1", ties="expected")
    )
    assert text not in join_notes(
        explain_query(qrels, {"q": {"a": 2.0, "b": 1.0}}, "P@1", ties="expected")
    )
    assert text not in join_notes(explain_query(qrels, {"q": {"a": 1.0, "b": 1.0}}, "P@1"))


def test_long_rankings_say_how_far_was_tried() -> None:
    docs = [f"d{i:04}" for i in range(1100)]
    explanation = explain_query({"q": {"d0050": 1, "d1050": 1}}, {"q": docs}, "AP")
    assert "Best swap of two ranks among the first 100: 1 (d0000) and 51" in join_notes(explanation)
    assert "one more judgment down to rank 1,000: grade 1 for d0000 at rank 1" in join_notes(
        explanation
    )


def test_why_no_judgment_was_tried() -> None:
    groups = Qrels({"q": {"g": {"a": 1, "b": 0}}})
    assert "the judgments are in groups" in join_notes(
        explain_query(groups, {"q": ["x", "a"]}, "GroupAP")
    )
    assert "No judgment" not in join_notes(explain_query(groups, {"q": ["a"]}, "GroupAP"))
    row = {"query_id": "q", "doc_id": "a", "relevance": 1, "stratum": 1}
    sample = Qrels([row, {**row, "doc_id": "b", "stratum": 2}])
    assert "the judgments are a sample" in join_notes(
        explain_query(sample, {"q": ["x", "a"]}, "xinfAP")
    )


def test_which_grades_were_tried_is_said() -> None:
    text = join_notes(
        explain_query({"q": {"a": 2**31 - 1, "b": 1}}, {"q": ["b", "x", "a"]}, "nDCG@10")
    )
    assert "one more judgment (of grades 0, 1 and 2147483647): grade 2147483647" in text
    assert "for x at rank 2: " in text
    text = join_notes(explain_query({"q": {"a": 11}}, {"q": ["a", "x"]}, "P@1"))
    assert "One more judgment (of grades 0, 1 and 11) would not change it." in text
    text = join_notes(explain_query({"q": {"a": 10}}, {"q": ["a", "x"]}, "P@1"))
    assert "One more judgment would not change it." in text


def test_a_small_change_is_not_said_to_be_nothing() -> None:
    """From rank 300 to rank 299: 1 / 299 - 1 / 300."""
    docs = [f"d{i:03}" for i in range(1, 301)]
    explanation = explain_query({"q": {"d300": 1, "d299": 0}}, {"q": docs}, "RR")
    assert explanation.judgments.up is not None
    up = f"{explanation.judgments.up.value:.4f}"
    assert f"grade 1 for d001 at rank 1: {up} (+{float(up) - 1 / 300:.4f})" in join_notes(
        explanation
    )
    assert format_change(0.5 - (0.5 - 1e-6)) == "+1e-06"
