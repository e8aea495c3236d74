"""Judged share: how much of each system's ranking is judged, and the legends on that."""

from collections.abc import Sequence

from cranfield.arrays.ranked import Bools, mean
from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.result import Result
from cranfield.comparison.score_columns import find_measure
from cranfield.measures import parse
from cranfield.measures.parameters import Depth
from cranfield.render.numbers import format_names

_APART, _ROUNDING = 0.05, 1e-12  # of shares: how far below another is low, and its slack


def judged_shares(
    aligned_scores: AlignedScores, measure: str, is_included: Bools
) -> list[tuple[float | None, bool]]:
    """Return the judged share of each system's ranking on some queries, None if it is not known.

    `is_included` (n_queries,) selects the queries. The flag beside the share says whether it is
    low: 0.05 or more below the share of another system.
    """
    if aligned_scores.judged_share is None:
        return [(None, False)] * len(aligned_scores.system_names)
    judged_share = aligned_scores.judged_share[aligned_scores.measures.index(measure)]
    shares = [mean(column) for column in judged_share[is_included].T]
    return [(share, share - max(shares) <= _ROUNDING - _APART) for share in shares]


def judged_legend(results: Sequence[Result]) -> list[str]:
    """Return the line on the judged shares of systems, and on their mark; none without shares."""
    if results[0].systems[0].judged is None:
        return []
    measures_of_documents: dict[str, list[str]] = {}
    for measure in dict.fromkeys(result.measure for result in results):
        cutoff = parse(measure).cutoff
        documents = f"first {cutoff}" if isinstance(cutoff, Depth) else "documents"
        measures_of_documents.setdefault(documents, []).append(measure)
    first_documents, *other_documents = measures_of_documents
    phrases = [
        f"{format_names(measures_of_documents[words])}: {words.replace('documents', 'all')}"
        for words in other_documents
    ]
    subject = f"{first_documents} ({'; '.join(phrases)})" if phrases else f"its {first_documents}"
    has_marks = any(system.little_judged for result in results for system in result.systems)
    mark_phrase = "; ! 0.05 or more below another's" * has_marks
    return [f"Judged: share of {subject} that is judged{mark_phrase}."]


def unjudged_legend(result: Result) -> str:
    """Return the legend of the bounds over all grades of unjudged documents, or why none exist."""
    if all(pair.unjudged_low is None for pair in result.pairs):
        if _bounds_kind(result.measure) in (None, "none", "refused"):
            return f"unjudged: {result.measure} has no bounds of diff."
        return (
            f"unjudged: {result.measure} has no bounds of diff: it also depends on documents that "
            "the run did not retrieve.\n--judged-only compares without unjudged documents."
        )
    text = "unjudged: bounds of diff over all grades of unjudged documents."
    ideal_line = "\nNew grades change the ideal ranking, and with it both means."
    return text + ideal_line * (parse(result.measure).linear == "ratio")


def _bounds_kind(measure: str) -> str | None:
    """Return the kind of bounds that a measure declares; None if the measure is unknown."""
    parsed_measure = find_measure(measure)
    return None if parsed_measure is None else parsed_measure.bounds
