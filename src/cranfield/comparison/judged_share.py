"""Judged share: how much of each system's ranking is judged, and sentences on low shares."""

from collections.abc import Sequence

from cranfield.arrays.ranked import Bools, mean
from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.result import Result
from cranfield.comparison.score_columns import find_measure
from cranfield.comparison.settings import Settings
from cranfield.measures import parse
from cranfield.render.numbers import format_interval, format_names

_APART = 0.05


def judged_shares(
    aligned_scores: AlignedScores, measure: str, is_included: Bools
) -> list[tuple[float | None, bool]]:
    """Return the judged share of each system's ranking on some queries, None if it is not known.

    `is_included` (n_queries,) selects the queries. The flag beside the share says whether it is
    low: more than 0.05 below the share of another system.
    """
    if aligned_scores.judged_share is None:
        return [(None, False)] * len(aligned_scores.system_names)
    judged_share = aligned_scores.judged_share[aligned_scores.measures.index(measure)]
    shares = [mean(column) for column in judged_share[is_included].T]
    return [(share, share < max(shares) - _APART) for share in shares]


def judged_share_sentences(results: Sequence[Result], settings: Settings) -> list[str]:
    """Return sentences on systems with a low judged share, each after the names of its slices."""
    slices: dict[str, list[str]] = {}
    for result in results:
        for sentence in _result_sentences(result, settings):
            slices.setdefault(sentence, []).append(str(result.slice))
    has_slices = results[0].label is not None
    return [
        f"{format_names(slice_names)}: {sentence}" if has_slices else sentence
        for sentence, slice_names in slices.items()
    ]


def _result_sentences(result: Result, settings: Settings) -> list[str]:
    """Return sentences on the systems of one result that have a low judged share."""
    low_systems = {system.name for system in result.systems if system.little_judged}
    sentences = []
    if low_systems and _bounds_kind(result.measure) != "none":
        sentences.append(
            "! more than 0.05 below the share of another system: its mean may be too low, where "
            "unjudged documents count as not relevant."
        )
    bounds = [
        f"{pair.system} {format_interval(pair.unjudged_low, pair.unjudged_high)}"
        for pair in result.pairs
        if {pair.system, pair.other} & low_systems and pair.unjudged_low is not None
    ]
    if bounds and result.letters is None:
        n_left = len(bounds) - 3
        rest_phrase = f", and {n_left} more (--format csv or json)" if n_left > 0 else ""
        lead = "For any grades of the unjudged documents, diff is in"
        # With an option, the column's legend has the sentence on the ideal ranking.
        ideal_note = "" if settings.bounds else ideal_sentence(result)
        sentences.append(f"{lead}: {', '.join(bounds[:3])}{rest_phrase}.{ideal_note}")
    return sentences


def unjudged_legend(result: Result) -> str:
    """Return the legend of the column of bounds over all grades of unjudged documents."""
    if all(pair.unjudged_low is None for pair in result.pairs):
        if _bounds_kind(result.measure) in (None, "none", "refused"):
            return f"unjudged: {result.measure} has no bounds of diff."
        return (
            f"unjudged: {result.measure} has no bounds of diff: it also depends on documents that "
            "the run did not retrieve. --judged-only compares without unjudged documents."
        )
    text = "unjudged: bounds of diff over all grades of unjudged documents."
    return f"{text}{ideal_sentence(result)}"


def _bounds_kind(measure: str) -> str | None:
    """Return the kind of bounds that a measure declares; None if the measure is unknown."""
    parsed_measure = find_measure(measure)
    return None if parsed_measure is None else parsed_measure.bounds


def ideal_sentence(result: Result) -> str:
    """Return a sentence for a measure divided by an ideal, which new grades change."""
    has_bounds = any(pair.unjudged_low is not None for pair in result.pairs)
    has_moving_ideal = has_bounds and parse(result.measure).linear == "ratio"
    return (
        " New grades change the ideal ranking, and with it both means." if has_moving_ideal else ""
    )
