"""Calls as teaching material has them: one list, sets, a number of relevant documents, systems."""

from itertools import permutations
from typing import Any

import pytest
from helpers.commands import invoke
from helpers.notes import codes

from cranfield import (
    AP,
    RR,
    InputError,
    Measure,
    MeasureError,
    OptionError,
    P,
    R,
    SetF,
    SetP,
    SetR,
    definitions,
    evaluate,
    explain,
    grades,
    nDCG,
)

_ap: Any = AP  # for calls that no type allows

ACTUAL = [
    *(4, 79, 32, 45, 14, 46, 53, 15, 3, 54, 68, 99, 75, 82, 35),
    *(27, 73, 20, 25, 66, 11, 58, 31, 8, 85),
]
RANKING = [1, 2, 62, 84, 3, 4, 81, 14, 5, 67]


def test_three_things_called_ap_at_k() -> None:
    """Of 25 relevant documents the first 5 ranks hold one, at rank 5."""
    assert (AP @ 5)(ACTUAL, RANKING) == (1 / 5) / 25
    assert (AP(over="retrieved") @ 5)(ACTUAL, RANKING) == (1 / 5) / 1
    assert (AP(over="reachable") @ 5)(ACTUAL, RANKING) == (1 / 5) / min(5, 25)
    precisions = [1 / 5, 2 / 6, 3 / 8]
    assert (AP(over="retrieved") @ 10)(ACTUAL, RANKING) == sum(precisions) / 3
    assert (AP(over="reachable") @ 10)(ACTUAL, RANKING) == sum(precisions) / 10
    assert AP(over="reachable")(ACTUAL, RANKING) == AP(ACTUAL, RANKING) == sum(precisions) / 25
    assert AP(over="retrieved")([0, 0]) == 0


def test_an_average_over_those_found_has_no_best_order_of_ties() -> None:
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 2.0}}
    for ties in ("best", "worst", "expected"):
        with pytest.raises(MeasureError, match="ties"):
            evaluate(qrels, run, "AP(over='retrieved')@2", ties=ties)
    scores = evaluate(qrels, run, "AP(over='reachable')@2", ties="expected")
    # b is second in one of two orders, and then has precision 2 / 2.
    assert scores["AP(over='reachable')@2"] == (1 / 1 + (2 / 2) / 2) / min(2, 2)


def test_the_sides_by_name() -> None:
    assert AP(truth={1}, ranking=[2, 1]) == AP({1}, ranking=[2, 1]) == AP({1}, [2, 1]) == 1 / 2
    assert (P @ 5)(truth={"a": 1}, ranking={"a": 0.5}) == 1 / 5


def test_a_cutoff_beside_the_lists() -> None:
    assert nDCG([3, 2, 0], k=3) == (nDCG @ 3)([3, 2, 0]) == 1
    assert nDCG([0, 2], k=1) == 0
    assert P([1, 0, 0, 0], k=4) == 1 / 4
    assert AP({1}, [2, 1], k=1) == AP(truth={1}, ranking=[2, 1], k=1) == 0
    assert AP({1}, [2, 1], k=None) == 1 / 2
    assert R([0, 1], n_relevant=4, k=2) == 1 / 4
    assert P(rel=2)([1, 2, 2], k="R") == 1 / 2
    any_measure: Any = P
    for name in ("cutoff", "k", "at", "top_k", "at_k"):
        assert any_measure([1, 0, 0, 0, 0], **{name: 5}) == 1 / 5, name


def test_sets_where_the_order_does_not_matter() -> None:
    truth, ranking = {"d1", "d3", "d5"}, {"d1", "d2", "d3", "d4"}
    assert SetP(truth, ranking) == 2 / 4
    assert SetR(truth, ranking) == 2 / 3
    assert SetF(truth, ranking) == pytest.approx(2 * (2 / 4) * (2 / 3) / (2 / 4 + 2 / 3), rel=1e-15)
    assert SetP(truth, set()) == 0
    for measure in (AP, P @ 2, nDCG, RR, R @ 3):
        with pytest.raises(InputError, match="a set has no order"):
            measure(truth, ranking)


# Their values of these judgments are the same in every order, for another reason.
ALIKE = {"IDCG", "Judged", "NumPrefs", "NumPrefsFul"}


def test_which_measures_need_no_order() -> None:
    truth = {"a": 2, "b": 1, "c": 1, "d": 0}
    for definition in definitions():
        groups = definition.traits.takes_groups and not definition.traits.of_sets
        if not groups and not definition.is_user_defined and definition.cutoff != "required":
            try:
                values_of_orders = {
                    Measure(definition.name)(truth, order) for order in permutations("abdx")
                }
            except MeasureError:
                continue  # of groups
            free = definition.traits.of_sets
            assert free or len(values_of_orders) > 1 or definition.name in ALIKE, definition.name
            assert not free or len(values_of_orders) == 1, definition.name


def test_the_number_of_relevant_documents() -> None:
    assert AP([1, 1, 0], n_relevant=5) == (1 / 1 + 2 / 2) / 5
    assert AP([0, 1, 0, 0, 1, 0, 0, 0, 0, 1], n_relevant=5) == (1 / 2 + 2 / 5 + 3 / 10) / 5
    assert (R @ 2)([0, 1], n_relevant=4) == 1 / 4
    assert AP(rel=2)([3, 1, 2], n_relevant=4) == (1 / 1 + 2 / 3) / 4
    assert AP([0], n_relevant=0) == 0
    assert nDCG([0, 1], n_relevant=1) == nDCG([0, 1])
    with pytest.raises(InputError, match="not their grades"):
        nDCG([3, 0], n_relevant=2)
    with pytest.raises(InputError, match="2 relevant documents retrieved, and n_relevant=1"):
        AP([1, 1], n_relevant=1)
    wrong: Any
    for wrong in (-1, 1.5, "5", True):
        with pytest.raises(OptionError, match="n_relevant="):
            AP([1], n_relevant=wrong)
    with pytest.raises(TypeError, match="n_relevant goes with a list of grades"):
        AP({1}, [1], n_relevant=1)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _ap({1}, [2, 1], 5), r"\(AP@5\)\(truth, ranking\)"),
        (lambda: (AP @ 3)({1}, [2, 1], k=5), r"\(AP@5\)\(truth, ranking\)"),
        (lambda: _ap({1}, [2, 1], k=5, at=5), r"\(AP@5\)\(truth, ranking\)"),
        (lambda: _ap({1}, [2, 1], k=0), "expected a number of ranks"),
        (lambda: _ap({1}, [2, 1], k="all"), "expected a number of ranks"),
        (lambda: _ap({1}, [2, 1], k=5, rel=2), r"AP@5\(truth, ranking\)"),
        (lambda: SetP({1}, [2, 1], k=5), "SetP takes no cutoff"),
        (lambda: nDCG(k=5), r"written nDCG@5; .* \(nDCG@5\)\(truth"),
        (lambda: _ap([1, 0], 5), r"\(AP@5\)\(grades\), the number .* AP\(grades, n_relevant=5\)"),
        (lambda: AP(actual=[1], predicted=[1]), r"AP\(truth=\.\.\., ranking=\.\.\.\)"),
        (lambda: _ap({1}, predicted=[1]), "truth= and ranking="),
        (lambda: AP(ranking=[1]), r"AP\(truth, ranking\)"),
        (lambda: nDCG(["a"], {"a": 1}), "is that the truth"),
        (lambda: nDCG(ranking={"a": 1}, truth=["a"]), "is that the truth"),
        (lambda: _ap([3, 0, 2], ["a", "b", "c"]), r"whole numbers(.|\n)*AP\(\[1, 0\]\)"),
    ],
)
def test_calls_that_are_misunderstood(call: Any, message: str) -> None:
    with pytest.raises((TypeError, MeasureError, InputError), match=message):
        call()


# ---- lists of grades ----------------------------------------------------------------------------


def test_grades_with_a_number_of_relevant_documents() -> None:
    qrels, run = grades([1, 1, 0], n_relevant=5)
    assert evaluate(qrels, run, "AP NumRel")["AP"] == (1 / 1 + 2 / 2) / 5
    assert codes(qrels) == ["n-relevant"]
    lists = grades({"a": [1, 0], "b": [0, 1]}, n_relevant={"b": 4, "a": 1})
    assert evaluate(*lists, "AP").per_query("AP") == {"a": 1, "b": (1 / 2) / 4}
    assert grades([[1, 0], [0, 1]], n_relevant=[1, 4]).qrels.to_dict().keys() == {"1", "2"}
    with pytest.raises(InputError, match="query '2' is in the grades, and not in n_relevant"):
        grades([[1], [1]], n_relevant=[3])
    with pytest.raises(OptionError, match="beside a collection"):
        grades([1], n_relevant=1, collection=[1])


def test_a_collection_may_leave_out_what_gains_nothing() -> None:
    qrels, run = grades([1, 1, 0, 0, 0], collection=[1] * 5)
    assert evaluate(qrels, run, "AP")["AP"] == (1 / 1 + 2 / 2) / 5
    assert codes(qrels) == ["collection"]
    assert "3 documents" in qrels.notes[0].text
    lists = grades([1, 1, 0, 0, 0], collection=[1] * 5 + [0] * 3)
    assert lists.qrels.to_dict() == qrels.to_dict()
    with pytest.raises(InputError, match=r"lacks grades that were retrieved: 1 \(1 more\)"):
        grades([1, 1, 0], collection=[1, 0])


def test_two_lists_as_two_systems() -> None:
    qrels, runs = grades({"A": [5, 2, 4, 0, 1], "B": [2, 0, 5, 1, 4]}, systems=True)
    systems = evaluate(qrels, runs, "CG@5 nDCG@5")
    assert list(systems) == ["A", "B"]
    cg = {name: scores["CG@5"] for name, scores in systems.items()}
    assert cg == {"A": 5 + 2 + 4 + 0 + 1, "B": 2 + 0 + 5 + 1 + 4}
    assert systems["A"]["nDCG@5"] == evaluate(*grades([5, 2, 4, 0, 1]), "nDCG@5")["nDCG@5"]
    assert systems["B"]["nDCG@5"] == evaluate(*grades([2, 0, 5, 1, 4]), "nDCG@5")["nDCG@5"]
    assert "systems" in codes(systems)
    difference = explain(qrels, runs, "CG@5", "1")
    assert difference.to_dict()["difference"] == 0


def test_systems_share_as_many_documents_as_their_grades_allow() -> None:
    qrels, runs = grades({"A": [3, 3, None], "B": [3, 1]}, systems=True)
    assert sorted(qrels.to_dict()["1"].values()) == [1, 3, 3]
    assert evaluate(qrels, runs, "NumRel NumRet").means() == {
        "A": {"NumRel": 3, "NumRet": 3},
        "B": {"NumRel": 3, "NumRet": 2},
    }
    graded_systems = grades({"A": [[1], [0, 1]], "B": {"1": [1], "2": [1, 0]}}, systems=True)
    reciprocal_ranks = evaluate(*graded_systems, "RR").per_query("RR")
    assert reciprocal_ranks == {"A": {"1": 1, "2": 1 / 2}, "B": {"1": 1, "2": 1}}
    graded_with_count = grades({"A": [1, 0], "B": [0, 1]}, systems=True, n_relevant=4)
    assert evaluate(*graded_with_count, "AP").means() == {
        "A": {"AP": 1 / 4},
        "B": {"AP": (1 / 2) / 4},
    }
    with pytest.raises(InputError, match="query '2' is in system 'A', and not in system 'B'"):
        grades({"A": [[1], [1]], "B": [[1]]}, systems=True)
    with pytest.raises(InputError, match="system: list of grades"):
        grades([1, 0], systems=True)  # type: ignore[call-overload]


def test_on_the_command_line() -> None:
    process = invoke(
        "evaluate", "--grades", "1 1 0", "--n-relevant", "5", "-m", "AP", "--format", "csv"
    )
    assert process.stdout.splitlines()[1] == f"grades,AP,all,{(1 / 1 + 2 / 2) / 5}"
    lists = ("--grades", "A: 5 2 4", "--grades", "B: 2 5 4")
    csv_process = invoke("evaluate", *lists, "--systems", "-m", "CG@1", "--format", "csv")
    assert csv_process.stdout.splitlines()[1:] == [
        "A,DCG(discount='none')@1,all,5.0",
        "B,DCG(discount='none')@1,all,2.0",
    ]
    assert "add --grades" in invoke("evaluate", "a", "b", "--systems").stderr
    assert "add --grades" in invoke("explain", "a", "b", "--n-relevant", "3").stderr


def test_grades_in_the_place_of_judgments_are_hinted_at() -> None:
    for call, message in (
        (lambda: explain([5, 2, 4], "DCG@5"), r"\*grades\(\[5, 2, 4\]\)"),
        (lambda: evaluate([5, 2, 4], "DCG@5"), r"\*grades\(\[5, 2, 4\]\)"),
        (lambda: evaluate(grades([5, 2]), "DCG@5"), r"\*grades\(\.\.\.\)"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_an_explanation_is_a_table_of_documents() -> None:
    table = explain(*grades([5, 2, 4, 0, 1]), "DCG@5").to_arrow()
    rows = [row for row in table.to_pylist() if row["document"] is not None]
    assert [row["rank"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["grade"] for row in rows] == [5, 2, 4, 0, 1]
    assert rows[2]["discount"] == 2
    assert [row["gain / discount"] for row in rows][2] == 4 / 2
    assert rows[-1]["sum so far"] == table.to_pylist()[-1]["value"]
    assert table.to_pylist()[-1]["step"] == "DCG@5"
    assert table.to_pandas()["rank"].dropna().tolist() == [1, 2, 3, 4, 5]
