"""What small evaluations keep from call to call, and that no step is taken document by document."""

from typing import Any

import numpy as np
import pytest
from helpers.calls import count_calls, make_ranking

from cranfield import Qrels, evaluate, measure, parse_all
from cranfield.errors import MeasureError
from cranfield.formats.block import LARGEST_GRADE
from cranfield.formats.values import to_whole_numbers

MEASURES = "nDCG@10 AP RR P@5,10"
JUDGED = {"q": {f"d{i}": i % 4 for i in range(15)}}


@pytest.mark.no_cover  # which has calls of its own
def test_there_are_no_more_calls_for_more_documents() -> None:
    def call(run: Any) -> Any:
        return evaluate(JUDGED, run, MEASURES)

    call(make_ranking(300))
    assert count_calls(call, make_ranking(3000)) == count_calls(call, make_ranking(300))


def test_no_text_is_parsed_twice() -> None:
    text = "nDCG(gain='exp2')@7919 AP@6841 Rprec"
    first = count_calls(parse_all, text)
    assert count_calls(parse_all, text) < first / 10


def test_what_was_parsed_is_the_callers() -> None:
    parse_all("AP RR").clear()
    assert list(map(str, parse_all("AP RR"))) == ["AP", "RR"]


def test_a_measure_declared_again_is_parsed_and_computed_anew() -> None:
    def declare(worth: float, names: tuple[str, ...] = ()) -> None:
        @measure("Constant", names=names)
        def constant(judged: Any) -> Any:
            """The same for every query.

            Formula: a constant
            Source: this test
            """
            return np.full((len(judged.n_retrieved), 1), worth)

    run = make_ranking(20)
    declare(0.25, ("the_constant",))
    assert evaluate(JUDGED, run, "Constant AP")["Constant"] == 0.25
    assert str(*parse_all("the_constant")) == "Constant"
    declare(0.75)
    assert evaluate(JUDGED, run, "Constant AP")["Constant"] == 0.75
    with pytest.raises(MeasureError, match="the_constant"):
        parse_all("the_constant")


@pytest.mark.parametrize("stated_first", [True, False])
def test_equal_measures_keep_apart_whether_their_level_was_stated(stated_first: bool) -> None:
    judged, run = {"q": {"d1": 0.5, "d2": 1.5}}, {"q": {"d1": 2.0, "d2": 1.0}}
    if stated_first:
        assert evaluate(judged, run, "AP(rel=1)")["AP"] == 1 / 2
    with pytest.raises(MeasureError, match="from which grade on"):
        evaluate(judged, run, "AP")
    assert evaluate(judged, run, "AP(rel=1)")["AP"] == 1 / 2


def test_the_ideal_ranking_takes_the_largest_and_the_lowest_grades_there_may_be() -> None:
    grades = [0, LARGEST_GRADE, -LARGEST_GRADE, 3, -1, LARGEST_GRADE]
    judged = {f"q{n}": {f"d{i}": grade for i, grade in enumerate(grades[n:])} for n in range(3)}
    ideal = Qrels(judged).ideal
    assert ideal.query.tolist() == [0] * 6 + [1] * 5 + [2] * 4
    assert ideal.grade.tolist() == [g for n in range(3) for g in sorted(grades[n:])[::-1]]
    assert ideal.rank.tolist() == [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["?", "u1", "i2", "i8", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize(
    "number", [0, 1, -1, 0.5, LARGEST_GRADE, LARGEST_GRADE + 1, -LARGEST_GRADE - 1, np.nan, np.inf]
)
def test_whole_numbers_are_those_that_lose_nothing(kind: str, number: float) -> None:
    with np.errstate(all="ignore"):
        numbers = np.array([1, 0]).astype(kind)
        numbers[1] = np.array(number).astype(kind)
    number_list = numbers.tolist()
    whole_numbers = to_whole_numbers(numbers)
    if all(float(number).is_integer() and abs(number) <= LARGEST_GRADE for number in number_list):
        assert whole_numbers is not None
        assert whole_numbers.tolist() == [int(number) for number in number_list]
    else:
        assert whole_numbers is None
    assert to_whole_numbers(numbers[:0]) is not None


def test_a_cut_is_kept_for_the_same_cutoffs_alone() -> None:
    ranked, ten, two = Qrels(JUDGED).ideal, np.array([[10]]), np.array([[2, 3]])
    assert ranked.top(ten) is ranked.top(ten)
    assert [len(ranked.top(k).rank) for k in (ten, np.array([[4]]), ten)] == [10, 4, 10]
    assert ranked.top(two).count().tolist() == [[2, 3]]
    assert ranked.top(np.array([[5, 6]])).count().tolist() == [[5, 6]]
