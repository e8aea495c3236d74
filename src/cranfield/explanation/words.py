"""The words for what a measure does: its steps, the numbers it is given, the rankings."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cranfield.arrays.elementary import exp, log, log2, powers, raised
from cranfield.arrays.grades import ABOVE_ZERO, exp2
from cranfield.arrays.ranked import Ranked, looked_up
from cranfield.arrays.trace import UNKNOWN, Derived, Recording
from cranfield.data.judged import Groups, Judged
from cranfield.data.preferences import Counted, Preferences
from cranfield.explanation.expressions import OF_UNKNOWN_ORIGIN
from cranfield.explanation.follow import base_of, documents_of, subsets

OTHER_ROWS: Mapping[Any, str] = {
    Ranked.running: "{} so far",
    Ranked.before: "product of {} above",
    Ranked.above: "{} one above ({} in the first row)",
    Ranked.below: "{} one below (0 in the last row)",
    Ranked.remaining: "{} from here down",
    Ranked.steps: "{} changes below",
}
# Columns of their own: what a calculator has no key for, or what comes from other rows.
OWN_COLUMN = OTHER_ROWS.keys() | {
    *(Ranked.at, Ranked.places, log2, log, exp, exp2, powers, raised, looked_up),
    *(Counted.fulfilled, Counted.possible),
}
WORDS: Mapping[Any, str] = {  # what a Judged and what it holds have
    "ordinal": "nth",
    "n_retrieved": "documents retrieved",
    "costs": "cost",
    "held": "worth of the tie",
    "size": "size of the tie",
    "nth": "nth of the tie",
    "above": "worth above the tie",
    "n_relevant": "relevant",
    "n_relevant_retrieved": "relevant retrieved",
    "n_nonrelevant": "nonrelevant",
    "n_nonrelevant_retrieved": "nonrelevant retrieved",
    "is_ordered": "in one order",
    Counted.fulfilled: "preferences fulfilled",
    Counted.possible: "preferences",
    UNKNOWN: OF_UNKNOWN_ORIGIN,
}
GIVEN: Mapping[Any, str] = {  # of all groups together
    Counted.fulfilled: "given: the share of groups that the run agrees with, added up over all "
    "pairs of documents",
    Counted.possible: "given: pairs of documents of which a group prefers one",
}
IN_ORDER = ", highest grade first"


class Base(NamedTuple):
    """What a ranking is, before any subset was taken."""

    words: str  # what is before the grades, and what behind
    is_ideal: bool = False
    cutoff: int | None = None  # which argument of the method is


BASES: Mapping[Any, Base] = {
    "hits": Base("judged documents retrieved"),
    "ideal": Base("judged documents{}, retrieved or not" + IN_ORDER, is_ideal=True),
    Judged.every: Base("documents retrieved", cutoff=1),
    Judged.filled: Base("the top grade of the collection at every rank", is_ideal=True, cutoff=1),
    Groups.novel_first: Base(
        "relevant documents, the one that adds most to those above it first", is_ideal=True
    ),
    Groups.most_first: Base(
        "relevant documents, the one worth most to all subtopics together first", is_ideal=True
    ),
    Judged.places: Base("places that a document of value may take among equal scores", cutoff=2),
}
SHORT = {"hits": "the ranking's", "ideal": "ideal"}
TOTALS = {Ranked.total, Groups.total, Preferences.total}
AGGREGATED: Mapping[Any, str] = {
    **dict.fromkeys(TOTALS, "sum of {}"),
    Ranked.first: "{} in the first row, 0 if there is none",
    Ranked.maximum: "highest {}",
    Ranked.joined: "{}, one after the other",
}
COUNTS = {Ranked.count, Groups.count, Preferences.count}
PAIRS = "preferences are given: counted over all pairs of the group's documents"


def base_words(rows: Recording) -> Base:
    """Return what a ranking is, before any subset was taken."""
    op = base_of(rows).step.op
    return BASES[Judged.places if op == "ranked" else op]


def is_ideal(rows: Recording) -> bool:
    """Tell whether a ranking is an ideal ranking, or was made from one."""
    return base_words(rows).is_ideal


def is_reordered(rows: Recording) -> bool:
    """Tell whether a ranking was put in another order."""
    return any(subset.how is Ranked.reordered for subset in subsets(rows))


def described(
    rows: Recording, written: Callable[[Any], str], condition: Callable[[Derived, Recording], str]
) -> str:
    """Return what the rows of a ranking are, in words.

    `written` writes out a number of the query, `condition` which rows of a ranking count.
    """
    said: list[str] = []
    for above, how, what in subsets(rows):
        if how is Ranked.relevant:
            said.append("of a grade above 0" if what == ABOVE_ZERO else f"of grade {what} or more")
        elif how is Ranked.top:
            said.append(f"down to rank {written(what)}")
        elif how is Ranked.reordered:
            said.append(f"in the order of {condition(what, above)}")
        elif said and said[-1].startswith("where "):
            said[-1] = f"where {condition(what, above)} and {said[-1][6:]}"
        else:
            said.append(f"where {condition(what, above)}")
    step, (base, _, at) = base_of(rows).step, base_words(rows)
    asked = step.inputs[0].step if step.op == "ranked" else step
    if at is not None and len(asked.inputs) > at and asked.inputs[at] is not None:
        said.append(f"down to rank {written(asked.inputs[at])}")
    said = list(dict.fromkeys(reversed(said)))
    if step.op is Judged.every and None in documents_of(rows):
        base = "every rank, with a document or without"
    if "{}" in base:
        grades = [one for one in said if one.startswith(("of grade", "of a grade"))]
        said = [one for one in said if one not in grades]
        base = base.format("".join(f" {one}" for one in grades))
    if any(one.startswith("in the order") for one in said):
        base = base.removesuffix(IN_ORDER)
    return ", ".join([base, *said])
