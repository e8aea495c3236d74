"""Refusals: the errors of what a measure cannot take: groups, fractional grades, orders of ties."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.data.judged import Judged
from cranfield.errors import MeasureError
from cranfield.measures.parameters import Depth
from cranfield.measures.registry import Definition, definitions
from cranfield.render.numbers import format_shortest

if TYPE_CHECKING:
    from cranfield.measures.plan import Measure


def _list_names(is_meant: Callable[[Definition], Any]) -> str:
    """Return the names of the measures of whose definition `is_meant` is true, by commas."""
    return ", ".join(definition.name for definition in definitions() if is_meant(definition))


def groups_error(measure: "Measure") -> MeasureError:
    """Return the error for judgments in groups, of a measure that takes plain grades."""
    names = _list_names(lambda definition: definition.traits.takes_groups)
    return MeasureError(
        f"{measure} takes one grade for each document, and these judgments are in groups; measures "
        f"of groups, subtopics and preferences are {names}. "
        "A column that was read as groups and is something else: columns={'group': None}, "
        "--columns group=-"
    )


def of_lists_error(measure: "Measure") -> MeasureError:
    """Return the error for a measure of lists, where there are judgments and runs."""
    return MeasureError(
        f"{measure} looks at lists, not at judgments: `cranfield describe RUN... -m {measure}`; "
        "with --qrels both kinds are in one table"
    )


def no_user_error(measure: "Measure") -> MeasureError:
    """Return the error for a measure of a run, where values of users are compared."""
    text = "has no value for a user, so that no test applies: `describe --intervals`"
    return MeasureError(f"{measure} {text}")


def check_fractions(measure: "Measure", depths: Iterable[Depth], judged: Judged) -> None:
    """Raise MeasureError unless the measure, cut at `depths`, takes grades that are not whole."""
    reason, parameters, top_grade = measure.fractions, measure.parameters, judged.top_grade
    level = 1 if top_grade > 1 else 0.5 if top_grade >= 0.5 else float(f"{top_grade / 2:.1g}")
    binary = [name for name, value in parameters.items() if value == "binary"]
    example_of_parameter: dict[str, Any] = dict.fromkeys(binary, ("binary", level))
    if reason == "level" and "rel" not in measure.stated:
        example_of_parameter["rel"] = level
    if "rel" not in parameters and any(depth.at_relevant for depth in depths):
        reason = "how many documents are relevant, where it is cut, is not known: cut at a rank"
    elif reason in ("taken", "level") and not example_of_parameter:
        return
    grades = "the grades are not whole numbers"
    if len(judged.ideal.grade):
        grade_of_row = judged.ideal.grade
        fractions = grade_of_row[grade_of_row != np.floor(grade_of_row)]
        example = [f"{format_shortest(grade)}, for one; " for grade in fractions[:1]]
        # Of a part of the queries, no more is known of the others than their highest grade.
        grades += f" ({''.join(example)}all at most {format_shortest(top_grade)})"
    if reason not in ("taken", "level"):
        raise MeasureError(f"{measure}: {grades}, and {reason}")
    bare_measure = replace(
        measure, given=tuple((k, v) for k, v in measure.given if k not in example_of_parameter)
    )
    example_measure = replace(
        bare_measure, given=(*bare_measure.given, *example_of_parameter.items())
    )
    option_hint = "; --rel states it for all measures" if "rel" in example_of_parameter else ""
    raise MeasureError(
        f"{measure}: {grades}: from which grade on is a document relevant? State it, as in "
        f"{example_measure}{option_hint}"
    )


def check_ties(measure: "Measure", judged: Judged) -> None:
    """Raise MeasureError unless the measure goes with the order of tied scores, `judged.ties`."""
    traits = measure.definition.traits
    by_grade = traits.by_grade
    if judged.ties == "expected" and not traits.averages_ties:
        raise MeasureError(
            f"{measure} has no formula for ties='expected'; "
            f"these have: {_list_names(lambda definition: definition.traits.averages_ties)}"
        )
    if judged.ties in ("best", "worst") and by_grade is not True:
        reason = "a higher grade is not always the better one to have first"
        if by_grade:
            reason = by_grade(judged, **measure.parameters)
        if reason:
            raise MeasureError(
                f"{measure}: ties={judged.ties!r} ranks equal scores by grade, and for this "
                f"measure that is not the {judged.ties} order: {reason}; it is for "
                f"{_list_names(lambda definition: definition.traits.by_grade)}"
            )
