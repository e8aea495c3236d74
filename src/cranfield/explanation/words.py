"""Words: describes the steps of a measure, the numbers it is given, and its rankings."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cranfield.arrays.elementary import exp, log, log2, power, powers
from cranfield.arrays.grades import SMALLEST_POSITIVE, exp2
from cranfield.arrays.ranked import Ranked, look_up
from cranfield.arrays.trace import UNKNOWN, Recorder, TracedArray
from cranfield.data.judged import Groups, Judged
from cranfield.data.preferences import PreferenceCounts, Preferences
from cranfield.explanation.expressions import UNKNOWN_ORIGIN
from cranfield.explanation.follow import base_ranking, row_documents, subset_chain

OTHER_ROW_TEXTS: Mapping[Any, str] = {
    Ranked.running: "{} so far",
    Ranked.before: "product of {} above",
    Ranked.above: "{} one above ({} in the first row)",
    Ranked.below: "{} one below (0 in the last row)",
    Ranked.remaining: "{} from here down",
    Ranked.steps: "{} changes below",
}
# Columns of their own: what is more than plain arithmetic, or what comes from other rows.
OWN_COLUMN_OPERATIONS = OTHER_ROW_TEXTS.keys() | {
    *(Ranked.at, Ranked.places, log2, log, exp, exp2, powers, power, look_up),
    *(PreferenceCounts.count_fulfilled, PreferenceCounts.count_possible),
}
WORDS: Mapping[Any, str] = {  # what a Judged and what it holds have
    "ordinal": "nth",
    "mean_rank": "mean rank",
    "n_retrieved": "documents retrieved",
    "costs": "cost",
    "worth": "worth of the tie",
    "size": "size of the tie",
    "nth": "nth of the tie",
    "worth_above": "worth above the tie",
    "n_relevant": "relevant",
    "n_relevant_retrieved": "relevant retrieved",
    "n_nonrelevant": "nonrelevant",
    "n_nonrelevant_retrieved": "nonrelevant retrieved",
    "is_ordered": "in one order",
    PreferenceCounts.count_fulfilled: "preferences fulfilled",
    PreferenceCounts.count_possible: "preferences",
    UNKNOWN: UNKNOWN_ORIGIN,
}
GROUP_TEXTS: Mapping[Any, str] = {  # of all groups together
    PreferenceCounts.count_fulfilled: "given: the share of groups that the run agrees with, added "
    "up over all pairs of documents",
    PreferenceCounts.count_possible: "given: pairs of documents of which a group prefers one",
}
IN_ORDER = ", highest grade first"


class BaseRanking(NamedTuple):
    """A ranking before any subset was taken from it, in words."""

    words: str  # with {} where phrases about grades are put, if not at the end
    is_ideal: bool = False
    cutoff_position: int | None = None  # among the arguments of the method, of which 0 is `self`


BASES: Mapping[Any, BaseRanking] = {
    "hits": BaseRanking("judged documents retrieved"),
    "items": BaseRanking("the list"),
    "ideal": BaseRanking("judged documents{}, retrieved or not" + IN_ORDER, is_ideal=True),
    Judged.every: BaseRanking("documents retrieved", cutoff_position=1),
    Judged.fill_ranks: BaseRanking(
        "the top grade of the collection at every rank", is_ideal=True, cutoff_position=1
    ),
    Groups.novel_first: BaseRanking(
        "relevant documents, the one that adds most to those above it first", is_ideal=True
    ),
    Groups.most_first: BaseRanking(
        "relevant documents, the one worth most to all subtopics together first", is_ideal=True
    ),
    Judged.tie_places: BaseRanking(
        "places that a document of value may take among equal scores", cutoff_position=2
    ),
}
SHORT_NAMES = {"hits": "the ranking's", "ideal": "ideal"}  # of a base, before its column's name
TOTALS = {Ranked.total, Groups.total, Preferences.total}
AGGREGATE_TEXTS: Mapping[Any, str] = {
    **dict.fromkeys(TOTALS, "sum of {}"),
    Ranked.first: "{} in the first row, 0 if there is none",
    Ranked.maximum: "highest {}",
    Ranked.joined: "{}, one after the other",
}
COUNTS = {Ranked.count, Groups.count, Preferences.count}
PAIRS_TEXT = "preferences are given: counted over all pairs of the group's documents"


def describe_base(rows: Recorder) -> BaseRanking:
    """Return the words for a ranking before any subset was taken from it."""
    op = base_ranking(rows).step.op
    return BASES[Judged.tie_places if op == "ranked" else op]


def is_ideal(rows: Recorder) -> bool:
    """Tell whether a ranking is an ideal ranking, or was made from one."""
    return describe_base(rows).is_ideal


def is_reordered(rows: Recorder) -> bool:
    """Tell whether a ranking was put in another order."""
    return any(subset.method is Ranked.reordered for subset in subset_chain(rows))


def describe_rows(
    rows: Recorder,
    write_number: Callable[[Any], str],
    write_condition: Callable[[TracedArray, Recorder], str],
) -> str:
    """Return what the rows of a ranking are, in words.

    `write_number` writes out a number of the query; `write_condition`, from an array and the
    ranking of its rows, which of them count, or what they are sorted by.
    """
    phrases: list[str] = []
    for source, method, argument in subset_chain(rows):
        if method is Ranked.relevant:
            is_above_zero = argument == SMALLEST_POSITIVE
            level = "a grade above 0" if is_above_zero else f"grade {argument} or more"
            phrases.append(f"of {level}")
        elif method is Ranked.top:
            phrases.append(f"down to rank {write_number(argument)}")
        elif method is Ranked.reordered:
            phrases.append(f"in the order of {write_condition(argument, source)}")
        elif phrases and phrases[-1].startswith("where "):
            phrases[-1] = f"where {write_condition(argument, source)} and {phrases[-1][6:]}"
        else:
            phrases.append(f"where {write_condition(argument, source)}")
    step, (base_text, _, cutoff_position) = base_ranking(rows).step, describe_base(rows)
    arguments = (step.inputs[0].step if step.op == "ranked" else step).inputs
    if cutoff_position is not None and len(arguments) > cutoff_position:
        cutoff = arguments[cutoff_position]
        if cutoff is not None:
            phrases.append(f"down to rank {write_number(cutoff)}")
    phrases = list(dict.fromkeys(reversed(phrases)))
    if step.op is Judged.every and None in row_documents(rows):
        base_text = "every rank, with a document or without"
    if "{}" in base_text:
        beginnings = ("of grade", "of a grade")
        grade_phrases = [phrase for phrase in phrases if phrase.startswith(beginnings)]
        phrases = [phrase for phrase in phrases if phrase not in grade_phrases]
        base_text = base_text.format("".join(f" {phrase}" for phrase in grade_phrases))
    if any(phrase.startswith("in the order") for phrase in phrases):
        base_text = base_text.removesuffix(IN_ORDER)
    return ", ".join([base_text, *phrases])
