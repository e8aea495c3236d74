"""A user's own measure is a member like all others, and is told what its declaration lacks."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest
from click.testing import CliRunner

import cranfield
from cranfield import (
    Cutoff,
    Difference,
    Explanation,
    MeasureError,
    Parameter,
    RecallPoint,
    Rel,
    definitions,
    evaluate,
    explain,
    measure,
    parse,
    parse_all,
    ratio,
)
from cranfield.cli import cli
from cranfield.data.judged import Judged
from cranfield.explanation.expressions import to_six_decimals
from cranfield.measures import registry
from cranfield.measures.parameters import between
from cranfield.measures.traits import Traits

QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"a": 1}}
RUN = {"q1": ["b", "x", "a"], "q2": ["x", "y"]}
SAID = {"formula": "hits / k", "source": "this test"}


def document_kernel(name: str, **arguments: Any) -> Callable[[Any], Any]:
    """Declare a measure whose docstring ends in a formula and a source."""
    formula, source = (arguments.pop(label, SAID[label]) for label in ("formula", "source"))

    def register(kernel: Any) -> Any:
        kernel.__doc__ += f"\n\nFormula: {formula}\nSource: {source}\n"
        return measure(name, **arguments)(kernel)

    return register


def declare(name: str = "Weighted", **arguments: Any) -> None:
    @document_kernel(name, **{"names": ("weighted_precision",), **arguments})
    def weighted(
        judged: Judged,
        k: Cutoff | None = None,
        *,
        power: Annotated[float, Parameter("what ranks are raised to", between(0, 9))] = 1.0,
        rel: Rel = 1,
    ) -> Any:
        """The share of the weight of the ranks that hold relevant documents."""
        hits = judged.hits.relevant(rel).top(k)
        return ratio(hits.total(1 / hits.rank**power), judged.n_relevant(rel))


def test_it_is_parsed_evaluated_and_documented() -> None:
    declare()
    assert str(parse("weighted(power=2)@5")) == "Weighted(power=2)@5"
    assert parse("weighted_precision@3") == cranfield.Weighted @ 3
    scores = evaluate(QRELS, RUN, "Weighted Weighted@1 Weighted(rel=2) P@1")
    assert scores.per_query("Weighted") == {"q1": (1 / 1 + 1 / 3) / 2, "q2": 0}
    assert scores.per_query("Weighted@1") == {"q1": (1 / 1) / 2, "q2": 0}
    assert scores.per_query("Weighted(rel=2)") == {"q1": (1 / 3) / 1, "q2": 0}
    assert cranfield.Weighted(QRELS["q1"], RUN["q1"]) == (1 / 1 + 1 / 3) / 2
    definition = definitions()[-1]
    assert (definition.name, definition.pattern) == ("Weighted", "Weighted(power=1, rel=1)[@k]")
    assert definition.summary.startswith("The share of the weight")
    page = CliRunner().invoke(cli, ["measures", "weighted_precision"]).output
    assert "hits / k" in page
    assert "what ranks are raised to" in page


def test_what_is_not_declared_is_refused() -> None:
    declare()
    with pytest.raises(MeasureError, match="no formula for ties='expected'"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1, "b": 1}}, "Weighted", ties="expected")
    with pytest.raises(MeasureError, match="ties='best'"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1, "b": 1}}, "Weighted", ties="best")
    with pytest.raises(MeasureError, match="what ranks are raised to"):
        parse("Weighted(power=10)")


def test_it_may_take_a_recall_point() -> None:
    @document_kernel("RankAt", range=(0, None))
    def rank_at(judged: Judged, recall: RecallPoint) -> Any:
        """The rank where recall is reached."""
        hits = judged.hits.relevant()
        found = hits.where(hits.ordinal >= recall * hits.spread(judged.n_relevant()))
        return found.first(found.rank)

    assert evaluate(QRELS, RUN, "RankAt@0.5 RankAt@1").to_dict()["q1"] == {
        "RankAt@0.5": 1,
        "RankAt@1": 3,
    }


def test_costs_are_in_the_order_in_which_grades_rank_equal_scores() -> None:
    @document_kernel("EffortTo", traits=Traits(by_grade=True, takes_cost=True), range=(0, None))
    def effort_to(judged: Judged, k: Cutoff) -> Any:
        """What it costs to look at the first k documents."""
        every = judged.every(k)
        return every.total(every.costs)

    # Equal scores: by id descending, e d c b, which are unjudged, 0, unjudged, 1.
    rows = [("q", "a", 9, 1.0), ("q", "b", 2, 10.0), ("q", "c", 2, 100.0), ("q", "d", 2, 1000.0)]
    rows += [("q", "e", 2, 10000.0), ("q", "f", 1, 5.0), ("r", "b", 1, 7.0), ("r", "c", 1, 8.0)]
    names = ("query_id", "doc_id", "score", "cost")
    run = cranfield.Run([dict(zip(names, row, strict=True)) for row in rows])
    qrels = {"q": {"b": 1, "d": 0}, "r": {"b": 1}}

    def efforts(k: int, ties: Any) -> Any:
        return evaluate(qrels, run, f"EffortTo@{k}", ties=ties).per_query(f"EffortTo@{k}")

    assert efforts(2, "document") == {"q": 1 + 10000, "r": 8 + 7}
    assert efforts(2, "best") == {"q": 1 + 10, "r": 7 + 8}
    assert efforts(3, "best") == {"q": 1 + 10 + 1000, "r": 7 + 8}
    assert efforts(1, "best") == {"q": 1, "r": 7}
    assert efforts(2, "worst") == {"q": 1 + 10000, "r": 8 + 7}
    assert efforts(4, "worst") == {"q": 1 + 10000 + 100 + 1000, "r": 8 + 7}
    page: Any = explain(qrels, run, "EffortTo@3", "q", ties="best")
    assert page.value == 1 + 10 + 1000


def test_it_may_be_declared_again() -> None:
    declare()
    declare(formula="another")
    assert [
        definition.formula for definition in definitions() if definition.name == "Weighted"
    ] == ["another"]


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("nDCG", {}, "a measure of cranfield has this name"),
        ("ndcg", {}, "the name 'ndcg' is one of nDCG's"),
        ("Mine", {"names": ("MAP",)}, "the name 'MAP' is one of AP's"),
        ("my measure", {}, "has to be a Python identifier"),
        ("Mine", {"formula": " "}, "ends in the lines `Formula: ...` and `Source: ...`"),
        ("Mine", {"source": ""}, "it needs a source"),
    ],
)
def test_a_name_that_is_taken_and_what_is_missing_are_told(
    name: str, arguments: dict[str, Any], problem: str
) -> None:
    before = set(registry.VARIANTS)
    with pytest.raises(MeasureError, match=problem):
        declare(name, **arguments)
    assert set(registry.VARIANTS) == before, "nothing of it is left"


def test_the_function_has_to_be_documented_and_its_parameters_explained() -> None:
    with pytest.raises(MeasureError, match="a docstring that says what it measures"):

        @measure("Mine")
        def undocumented(judged: Judged) -> Any:
            return judged.n_retrieved

    with pytest.raises(MeasureError, match="the parameter 'p' needs a default and a meaning"):

        @document_kernel("Mine")
        def unexplained(judged: Judged, *, p: float = 0.5) -> Any:
            """Something."""
            return judged.n_retrieved

    with pytest.raises(MeasureError, match="the function takes the Judged, then a cutoff"):

        @document_kernel("Mine")
        def too_many(judged: Judged, k: Cutoff, other: int) -> Any:
            """Something."""
            return judged.n_retrieved


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        (0.5, "float"),
        (np.zeros(2), r"one of the shape \(2,\)"),
        (np.zeros((3, 1)), r"one of the shape \(3, 1\)"),
        (np.zeros((2, 2)), r"one of the shape \(2, 2\)"),
        (None, "NoneType"),
    ],
)
def test_what_is_no_column_is_refused(returned: Any, got: str) -> None:
    @document_kernel("Mine")
    def mine(judged: Judged) -> Any:
        """Something."""
        return returned

    with pytest.raises(MeasureError, match=rf"here \(2, 1\), and returned {got}"):
        evaluate(QRELS, RUN, "Mine")


def test_a_range_of_cutoffs_is_a_curve() -> None:
    assert list(map(str, parse_all("P@1..3"))) == ["P@1", "P@2", "P@3"]
    assert list(map(str, parse_all("PR_curve")))[:2] == ["IPrec@0", "IPrec@0.1"]
    for wrong in ("P@3..1", "P@1..99999", "P@0..3", "IPrec@0..1", "P@1...3"):
        with pytest.raises(MeasureError):
            parse_all(wrong)


def test_what_cannot_be_written_out_still_has_its_value() -> None:
    """Too many steps one after the other; many columns; a type that cuts fractions off."""

    @document_kernel("Chain")
    def chain(judged: Judged) -> Any:
        """Something."""
        ranks = judged.hits.rank * 1.0
        for _ in range(3000):
            ranks = ranks + 1
        return judged.hits.total(ranks)

    @document_kernel("Many")
    def many(judged: Judged) -> Any:
        """Something."""
        hits, added = judged.hits, judged.n_retrieved * 0.0
        for i in range(40):
            terms = np.minimum(hits.grade * (i + 2) + hits.rank * 3.5, hits.rank + 70 * i + 0.25)
            added = added + hits.total(terms / (hits.rank + i))
        return added

    @document_kernel("Whole")
    def whole(judged: Judged) -> Any:
        """Something."""
        return judged.hits.total((judged.hits.grade / (judged.hits.rank + 1)).astype(np.int64))

    for name, is_incomplete, deep in (
        ("Chain", True, True),
        ("Many", False, False),
        ("Whole", True, False),
    ):
        query = next(iter(RUN))
        found = explain(QRELS, RUN, name, query)
        assert isinstance(found, Explanation)
        assert found.value == evaluate(QRELS, RUN, name).per_query(name)[query]
        assert (found.worksheet.is_incomplete, found.worksheet.is_deep) == (is_incomplete, deep)
        assert ("too many steps" in str(found)) == deep
        both = explain(QRELS, {"a": RUN, "b": {query: ["nothing"]}}, name, query)
        assert isinstance(both, Difference)
        assert both.left == found.value


def test_numbers_that_are_none_are_shown_as_such() -> None:
    @document_kernel("Endless")
    def endless(judged: Judged) -> Any:
        """Something."""
        hits = judged.hits
        with np.errstate(divide="ignore"):
            return hits.total(np.minimum(1 / (hits.rank - 1.0), 2))

    page = explain(QRELS, RUN, "Endless", "q1")
    assert isinstance(page, Explanation)
    assert page.value == 2 + 1 / 2  # of the ranks 1 and 3
    assert "Endless = A = 2.5" in str(page)
    assert [to_six_decimals(number) for number in (np.inf, -np.inf, np.nan)] == [
        "inf",
        "-inf",
        "nan",
    ]
