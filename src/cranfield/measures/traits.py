"""Traits: what is known about a measure besides its value, for bounds, ties and comparisons."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from cranfield.data.judged import Judged
from cranfield.errors import MeasureError
from cranfield.measures.parameters import Parameters

TakesGroups = bool | Literal["subtopics"]
BoundsMethod = Literal[
    "retrieved", "extremes", "split", "ratio", "sorted", "every", "attained", "none", "refused"
]
Linearity = Literal["no", "exact", "ratio"]
ByGrade = bool | Callable[..., str]


@dataclass(frozen=True, eq=False, kw_only=True)
class Traits:
    """What is known about a measure besides its value, for bounds, ties and comparisons.

    `takes_groups`: True, it reads `judged.groups`: judgments in groups, with one cutoff for each
    group; "subtopics", it reads `judged.subtopics`, with one cutoff for each query; False: it
    refuses judgments in groups. `of_sets`: its value does not depend on the order of what was
    retrieved. `takes_cost`: it reads what the run says each document costs.

    `bounds` says which grades of the unjudged documents are tried for the measure's bounds, and
    proved to be enough: "retrieved", "extremes", "split", "ratio", "sorted" or "every" (see
    the extension `whatif`). By default they are "attained", not proved. "none": the value does not
    depend on grades; "refused": it depends on more than grades.

    `linear` says whether a document adds what its grade is worth, times a weight that depends on
    its rank, on how many documents were retrieved and on the parameters, and on nothing else:
    "exact"; "ratio", if the value is such a sum divided by that of the ideal ranking, as nDCG is.
    Then the difference of two runs has bounds of its own (see the extension `whatif`).

    `by_grade`: of all orders of tied documents, the one by falling grade has the best value and
    the one by rising grade the worst (unjudged documents last, or first), so that ties="best" and
    "worst" apply. It may be a function of the Judged and the parameters that returns why that is
    not so, or an empty text. `averages_ties`: where `judged.ties` is "expected", the function
    returns the mean over all orders of tied documents (see `Judged.places`).

    `fractions` says what becomes of grades that are not whole numbers: they are "taken" as they
    are; with "level" they are, too, once the parameter `rel` was stated; any other text says why
    they are refused. None: the declaration decides, "level" for a measure with a parameter `rel`;
    others are refused. (In any case, gain='binary' needs its grade: gain=('binary', 0.5).)

    `bounds`, `linear` and `fractions` may be functions of the parameters. `fits` is given a
    Measure, and raises MeasureError if its cutoff and parameters do not go together.

    >>> Traits(bounds="extremes", by_grade=True).linear
    'no'
    """

    takes_groups: TakesGroups = False
    of_sets: bool = False
    takes_cost: bool = False
    bounds: BoundsMethod | Callable[[Parameters], BoundsMethod] = "attained"
    linear: Linearity | Callable[[Parameters], Linearity] = "no"
    by_grade: ByGrade = False
    averages_ties: bool = False
    fractions: str | Callable[[Parameters], str] | None = None
    fits: Callable[[Any], None] | None = None

    def __post_init__(self) -> None:
        flags = (True, False)
        for name, choices, by_function in (
            ("takes_groups", (*flags, "subtopics"), False),
            ("of_sets", flags, False),
            ("takes_cost", flags, False),
            ("bounds", get_args(BoundsMethod), True),
            ("linear", get_args(Linearity), True),
            ("by_grade", flags, True),
            ("averages_ties", flags, False),
            ("fits", (None,), True),
        ):
            value = getattr(self, name)
            if value not in choices and not (by_function and callable(value)):
                expected = ", ".join(map(repr, choices)) + " or a function" * by_function
                raise MeasureError(f"Traits({name}={value!r:.40}): expected {expected}")
        fractions = self.fractions
        if fractions is not None and not isinstance(fractions, str) and not callable(fractions):
            raise MeasureError(
                f"Traits(fractions={fractions!r:.40}): expected a string or a function"
            )


BY_GRADE = Traits(by_grade=True)
EXTREMES = Traits(bounds="extremes", by_grade=True)
SPLIT = Traits(bounds="split", by_grade=True)
LINEAR = Traits(bounds="extremes", linear="exact", by_grade=True)
RETRIEVED_AVERAGED = Traits(bounds="retrieved", by_grade=True, averages_ties=True)
EXTREMES_AVERAGED = replace(EXTREMES, averages_ties=True)
SPLIT_AVERAGED = replace(SPLIT, averages_ties=True)
NOT_OF_GRADES = Traits(bounds="none", by_grade=True, fractions="taken")
DEFAULT_TRAITS = Traits()  # of a measure whose declaration says nothing


def depth_cut_reason(judged: Judged, **_: Any) -> str:
    """Return why grades do not rank ties from best to worst in a run cut at a depth; else "".

    For measures of which documents were retrieved, not only of the relevant ones.
    """
    return "it depends on which tied documents `depth` keeps" if judged.is_cut else ""
