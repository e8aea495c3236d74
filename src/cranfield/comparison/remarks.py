"""What a reader should know of a comparison before believing it."""

import math
from collections.abc import Sequence

from cranfield.comparison.flips import Flips
from cranfield.comparison.result import Pair, Settings
from cranfield.comparison.shown import probability
from cranfield.measures import Measure

_SKEWED = 2.0
_SKEWED_UP_TO = 100  # queries
_OTHER_QUESTIONS = {
    "wilcoxon": "Wilcoxon's test asks whether differences are as often and as far above 0 as "
    "below, not whether their mean is 0: with many queries, skewness alone is significant.",
    "sign": "The sign test asks on how many queries a system is better, by however little, not "
    "whether the mean difference is 0.",
}
_OF_CORRECTIONS = {
    "rtukey": "Randomised Tukey goes by all systems, not by p: it tests that all are equal, and a "
    "bad one among them hides the differences of the others.",
    "tukey": "Tukey goes by all systems, not by p: it takes all scores to vary alike, and a bad "
    "one among them hides the differences of the others.",
    "bh": "bh bounds the share of false alarms among the marks, not the chance of any.",
    "by": "by bounds the share of false alarms among the marks, not the chance of any.",
    "none": "Uncorrected: of 20 comparisons of equal systems, one is marked by chance alone.",
}


def remarks_on(
    measure: Measure | None,
    pairs: Sequence[Pair],
    flips: Flips,
    settings: Settings,
    comparisons: int,
    rising: bool,
) -> list[str]:
    """Return sentences on the comparison of some systems under one measure."""
    said = []
    n, alpha = flips.n_queries, settings.alpha
    if n == 1:
        return ["One query shows a difference, but not whether it is chance: there is no test."]
    if pairs and settings.test == "randomization" and flips.exact:
        least = 1 / flips.looked_at
        if least > alpha:
            said.append(
                f"{n} queries: no p can be below {least:.4g}; nothing can be significant, and no "
                "interval has ends."
            )
    if pairs and n < 10:
        said.append(f"Only {n} queries: take any of this as a hint.")
    if settings.correction in ("holm", "bonferroni") and settings.test in (
        "randomization",
        "bootstrap",
    ):
        exact = settings.test == "randomization" and flips.exact
        least = 1 / flips.looked_at if exact else 1 / (flips.drawn + 1)
        floor = min(1.0, least * comparisons)
        if not exact and flips.drawn < 20 * comparisons / alpha:
            none = ", and nothing can be significant" if floor > alpha else ""
            what = "flips" if settings.test == "randomization" else "resamples"
            other = ", or correct by maxt" if what == "flips" and comparisons > 1 else ""
            over = "1 comparison calls" if comparisons == 1 else f"{comparisons:,} comparisons call"
            said.append(
                f"{over} for {math.ceil(20 * comparisons / alpha):,} {what}; {flips.drawn:,} were "
                f"drawn, so that no corrected p can be below {floor:.2g}{none}. Draw more{other}."
            )
        elif exact and floor > alpha >= least:
            said.append(
                f"{n} queries: no corrected p can be below {floor:.2g}; nothing can be significant."
            )
    drawn = settings.test == "bootstrap" or (settings.test == "randomization" and not flips.exact)
    if drawn and settings.correction not in ("holm", "bonferroni"):
        least = 1 / (flips.drawn + 1)
        if least > alpha:
            said.append(
                f"{flips.drawn:,} were drawn, so that no p can be below {least:.2g}, and nothing "
                "can be significant. Draw more."
            )
    if settings.test in _OTHER_QUESTIONS:
        said.append(_OTHER_QUESTIONS[settings.test])
    if settings.correction in _OF_CORRECTIONS and comparisons > 1 and settings.test != "bayes":
        said.append(_OF_CORRECTIONS[settings.correction])
    apart = [
        f"{_named(one, settings)} (p {probability(one.p)}, t-test {probability(one.p_t)})"
        for one in pairs
        if one.p is not None and one.p_t is not None and (one.p <= alpha) != (one.p_t <= alpha)
    ]
    if apart:
        said.append(f"The t-test is on the other side of alpha, before correction: {_some(apart)}.")
    constant = [_named(one, settings) for one in pairs if one.sd == 0 and one.difference != 0]
    if constant and settings.test in ("t", "bootstrap"):
        said.append(f"The same difference on every query, which has no t: {_some(constant)}.")
    against = [
        _named(one, settings)
        for one in pairs
        if one.verdict is not None and (one.verdict == "better") != ((one.difference > 0) == rising)
    ]
    if against:
        said.append(f"By its mean, it is the other way round: {_some(against)}.")
    skewed = [
        _named(one, settings)
        for one in pairs
        if n < _SKEWED_UP_TO and one.skewness is not None and abs(one.skewness) > _SKEWED
    ]
    if skewed:
        said.append(
            f"Skewed differences (a few large ones to one side): {_some(skewed)}. With so few "
            "queries, every test then gives more false alarms than alpha says."
        )
    return said + on_its_mean(measure)


def on_its_mean(measure: Measure | None) -> list[str]:
    """Return a sentence if a measure's value over all queries is not the mean of theirs."""
    if measure is None or measure.definition.aggregation == "mean":
        return []
    return [
        f"{measure}: compared is the mean of the queries' values, which is not its value over all "
        "queries."
    ]


def _named(pair: Pair, settings: Settings) -> str:
    return pair.system if settings.baseline is not None else f"{pair.system} - {pair.other}"


def _some(names: Sequence[str]) -> str:
    """Return the first few."""
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
