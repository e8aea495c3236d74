"""What measures cannot take: judgments in groups, grades that are not whole, orders of ties."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.data.judged import Judged
from cranfield.errors import MeasureError
from cranfield.measures.parameters import Depth
from cranfield.measures.registry import Definition, definitions
from cranfield.render.numbers import plain

if TYPE_CHECKING:
    from cranfield.measures.plan import Measure


def _those(wanted: Callable[[Definition], Any]) -> str:
    return ", ".join(each.name for each in definitions() if wanted(each))


def groups_error(one: "Measure") -> MeasureError:
    """Return the error of judgments in groups for a measure of grades."""
    return MeasureError(
        f"{one} takes one grade for each document, and these judgments are in groups; measures of "
        f"groups, subtopics and preferences are {_those(lambda each: each.traits.takes_groups)}. "
        "A column that was read as groups and is something else: columns={'qrels': {'group': "
        "None}}, --qrels-columns group=-"
    )


def check_fractions(one: "Measure", depths: Iterable[Depth], judged: Judged) -> None:
    """Raise MeasureError unless the measure has a meaning for grades that are not whole."""
    how, parameters, top = one.fractions, one.parameters, judged.top_grade
    level = 1 if top > 1 else 0.5 if top >= 0.5 else float(f"{top / 2:.1g}")
    binary = [name for name, value in parameters.items() if value == "binary"]
    wanted: dict[str, Any] = dict.fromkeys(binary, ("binary", level))
    if how == "level" and "rel" not in one.stated:
        wanted["rel"] = level
    if "rel" not in parameters and any(depth.at_relevant for depth in depths):
        how = "how many documents are relevant, where it is cut, is not known: cut at a rank"
    elif how in ("taken", "level") and not wanted:
        return
    grades = "the grades are not whole numbers"
    if len(judged.ideal.grade):
        every = judged.ideal.grade
        some = [f"{plain(one)}, for one; " for one in every[every != np.floor(every)][:1]]
        # Of a part of the queries, no more is known of the others than their highest grade.
        grades += f" ({''.join(some)}all at most {plain(top)})"
    if how not in ("taken", "level"):
        raise MeasureError(f"{one}: {grades}, and {how}")
    known = replace(one, given=tuple((k, v) for k, v in one.given if k not in wanted))
    shown = replace(known, given=(*known.given, *wanted.items()))
    for_all = "; --rel states it for all measures" if "rel" in wanted else ""
    raise MeasureError(
        f"{one}: {grades}: from which grade on is a document relevant? State it, as in {shown}"
        f"{for_all}"
    )


def check_ties(one: "Measure", judged: Judged) -> None:
    """Raise MeasureError unless the measure takes equal scores as they were ranked."""
    traits = one.definition.traits
    by_grade = traits.by_grade
    if judged.ties == "expected" and not traits.averages_ties:
        raise MeasureError(
            f"{one} has no formula for ties='expected'; "
            f"these have: {_those(lambda each: each.traits.averages_ties)}"
        )
    if judged.ties in ("best", "worst") and by_grade is not True:
        why = "a higher grade is not always the better one to have first"
        if by_grade:
            why = by_grade(judged, **one.parameters)
        if why:
            raise MeasureError(
                f"{one}: ties={judged.ties!r} ranks equal scores by grade, and for this measure "
                f"that is not the {judged.ties} order: {why}; it is for "
                f"{_those(lambda each: each.traits.by_grade)}"
            )
