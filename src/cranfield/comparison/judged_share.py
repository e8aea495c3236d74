"""Judged share: how much of each system's ranking is judged, and the legends on that."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Bools, mean
from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.result import Pair, Result, System, is_placed
from cranfield.comparison.score_columns import find_measure
from cranfield.measures import Measure, parse
from cranfield.measures.parameters import Depth
from cranfield.notes import Note
from cranfield.render.numbers import format_names, format_share

_APART, _ROUNDING = 0.05, 1e-12  # of shares: how far below another is less, and its slack
_LITTLE = 0.8  # of the largest share: a system with less of it cannot be placed


class JudgedShare(NamedTuple):
    """How much of a system's ranking is judged, alone and beside the other systems."""

    share: float | None = None  # over queries with documents; None: not known, or there are none
    lags: bool = False  # 0.05 or more below another system's
    is_little: bool = False  # below 0.8 times another system's


def find_judged_shares(
    aligned_scores: AlignedScores, measure: str, is_included: Bools
) -> list[JudgedShare]:
    """Return the judged share of each system on the queries that `is_included` (n_queries,)."""
    if aligned_scores.judged_share is None:
        return [JudgedShare()] * len(aligned_scores.system_names)
    judged_share = aligned_scores.judged_share[aligned_scores.measures.index(measure)]
    shares_by_system = [column[~np.isnan(column)] for column in judged_share[is_included].T]
    shares = [mean(column) if len(column) else None for column in shares_by_system]
    top = max(filter(None, shares), default=0.0)
    lag_limit, little_limit = top - _APART + _ROUNDING, _LITTLE * top - _ROUNDING
    return [
        JudgedShare()
        if share is None
        else JudgedShare(share, share <= lag_limit, share < little_limit)
        for share in shares
    ]


def describe_judged(systems: Sequence[System], measure: str) -> str:
    """Return which part of systems' documents is judged, as "10% of its first 10 are judged"."""
    shares = sorted(system.judged or 0.0 for system in systems)
    ends = " to ".join(dict.fromkeys(map(format_share, (shares[0], shares[-1]))))
    owner = "its" if len(systems) == 1 else "their"
    return f"{ends} of {owner} {name_documents(measure)} are judged"


def note_little_judged(
    systems: Sequence[System], pairs: Sequence[Pair], measure: Measure | None
) -> Iterator[Note]:
    """Yield a note on the systems that cannot be placed: little of their ranking is judged."""
    unplaced_pairs = [pair for pair in pairs if not is_placed(pair, systems)]
    compared_names = {name for pair in unplaced_pairs for name in (pair.system, pair.other)}
    little_judged = [s for s in systems if s.little_judged and s.name in compared_names]
    if little_judged:
        top = max(systems, key=lambda system: system.judged or 0.0)
        *shares, top_share = (
            f"{s.name} {format_share(s.judged or 0.0)}" for s in (*little_judged, top)
        )
        text = f"Little judged, cannot be placed: {format_names(shares)} (most: {top_share})."
        has_bounds = measure is not None and measure.bounds in ("retrieved", "ratio", "extremes")
        if has_bounds and any(pair.unjudged_low is None for pair in unplaced_pairs):
            text += " --bounds may place them (bounds=True)."
        yield Note("little-judged", "info", text, count=len(little_judged))


def name_documents(measure: str) -> str:
    """Return what a measure looks at: "first 10", or "documents"."""
    parsed_measure = find_measure(measure)
    cutoff = parsed_measure and parsed_measure.cutoff
    return f"first {cutoff}" if isinstance(cutoff, Depth) else "documents"


def judged_legend(results: Sequence[Result]) -> list[str]:
    """Return the line on the judged shares of systems, and on their mark; none without shares."""
    if results[0].systems[0].judged is None:
        return []
    measures_of_documents: dict[str, list[str]] = {}
    for measure in dict.fromkeys(result.measure for result in results):
        measures_of_documents.setdefault(name_documents(measure), []).append(measure)
    first_documents, *other_documents = measures_of_documents
    phrases = [
        f"{format_names(measures_of_documents[words])}: {words.replace('documents', 'all')}"
        for words in other_documents
    ]
    subject = f"{first_documents} ({'; '.join(phrases)})" if phrases else f"its {first_documents}"
    has_marks = any(system.judged_lags for result in results for system in result.systems)
    mark_phrase = "; ! 0.05 or more below another's" * has_marks
    return [f"Judged: share of {subject} that is judged{mark_phrase}."]


def unjudged_legend(result: Result) -> str:
    """Return the legend of the bounds over all grades of unjudged documents, or why none exist."""
    if all(pair.unjudged_low is None for pair in result.pairs):
        parsed_measure = find_measure(result.measure)
        if parsed_measure is None or parsed_measure.bounds in ("none", "refused"):
            return f"unjudged: {result.measure} has no bounds of diff."
        return (
            f"unjudged: {result.measure} has no bounds of diff: it also depends on documents that "
            "the run did not retrieve.\n--judged-only compares without unjudged documents."
        )
    text = "unjudged: bounds of diff over all grades of unjudged documents."
    ideal_line = "\nNew grades change the ideal ranking, and with it both means."
    return text + ideal_line * (parse(result.measure).linear == "ratio")
