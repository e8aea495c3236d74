"""Remarks: notes on how far a comparison, or a gate, can be trusted."""

import math
from collections.abc import Iterator, Sequence

from cranfield.comparison.effects import FEW_UNITS, Doubt
from cranfield.comparison.flips import MANY_UNITS, Flips
from cranfield.comparison.result import Pair
from cranfield.comparison.sequential import CLEAR, STOP
from cranfield.comparison.settings import Settings
from cranfield.comparison.units import Units
from cranfield.measures import Measure
from cranfield.notes import Note
from cranfield.render.numbers import format_count, format_names, format_number, format_p

_MAX_LISTED = 3  # pairs of which the queries that differ are listed
RESAMPLING_TESTS = ("randomization", "wilcoxon", "bootstrap")  # tests that draw flips or resamples
# {test: what it asks}, of the tests that are not about the mean.
_OTHER_QUESTIONS = {
    "wilcoxon": "Wilcoxon's test asks whether differences are as often and as far above 0 as "
    "below, not whether their mean is 0: with many queries, skewness alone is significant.",
    "sign": "The sign test asks on how many queries a system is better, by any amount, not "
    "whether the mean difference is 0.",
}
# {correction, or "bayes": what to know of it}
_OF_CORRECTIONS = {
    "bayes": "The probabilities are uncorrected, however many pairs there are.",
    "rtukey": "Randomised Tukey uses all systems, not p: it tests that all are equal, and a "
    "bad one among them hides the differences of the others.",
    "tukey": "Tukey uses all systems, not p: it assumes that all scores vary alike, and a bad "
    "one among them hides the differences of the others.",
    "bh": "bh bounds the share of false alarms among the marks, not the chance of any.",
    "by": "by bounds the share of false alarms among the marks, not the chance of any.",
    "none": "Uncorrected: of 20 comparisons of equal systems, one is marked by chance alone.",
}
_SO_FEW = (
    "With so few, intervals miss the true difference more often than alpha says, and tests give "
    "more false alarms"
)


def note_comparison(
    measure: Measure | None,
    pairs: Sequence[Pair],
    doubts: Sequence[Doubt | None],
    flips: Flips,
    settings: Settings,
    n_comparisons: int,
    units: Units,
    *,
    higher_is_better: bool,
) -> Iterator[Note]:
    """Yield notes on the comparison of systems under one measure.

    `doubts` (n_pairs,) say why the test and the interval of each pair may be wrong, if they may.
    `n_comparisons` are corrected together. Of one unit, that is the only note.
    """
    if flips.n_units == 1:
        subject = f"One {units.unit_word if pairs else 'query'}"
        text = f"{subject} cannot show whether a difference is due to chance: there is no test."
        yield Note("few-queries", "warning", text, 1)
        return

    if pairs:
        n_clear = sum(pair.method == "bound" for pair in pairs)  # p is a bound, without any flip
        if n_clear < len(pairs):
            yield from _note_few_units(
                flips, units.full_words, settings, n_comparisons, has_clear_pairs=n_clear > 0
            )
        yield from _note_doubts(pairs, doubts, settings, units)
        yield from _note_many_queries(pairs, settings)
    if settings.test in _OTHER_QUESTIONS:
        yield Note("not-the-mean", "info", _OTHER_QUESTIONS[settings.test])
    correction_name = "bayes" if settings.test == "bayes" else settings.correction
    if n_comparisons > 1 and correction_name in _OF_CORRECTIONS:
        text = _OF_CORRECTIONS[correction_name]
        if settings.all_pairs and not settings.is_familywise:
            text += " So there are no ranks, which are right at once with holm or maxt."
        yield Note("correction", "info", text)
    yield from _note_contradictions(pairs, settings, higher_is_better=higher_is_better)
    yield from note_sum_measure(measure)


def _note_contradictions(
    pairs: Sequence[Pair], settings: Settings, *, higher_is_better: bool
) -> Iterator[Note]:
    """Yield notes on pairs of which t does not exist, or contradicts the test, or the mean does."""
    alpha = settings.alpha
    disagreeing_pairs = [
        f"{_pair_name(pair, settings)} (p {format_p(pair.p)}, t-test {format_p(pair.p_t)})"
        for pair in pairs
        if pair.p is not None and pair.p_t is not None and (pair.p <= alpha) != (pair.p_t <= alpha)
    ]
    constant_pairs = [
        _pair_name(pair, settings)
        for pair in pairs
        if pair.sd == 0 and pair.difference != 0 and settings.test in ("t", "bootstrap")
    ]
    opposed_pairs = [
        _pair_name(pair, settings)
        for pair in pairs
        if pair.verdict is not None
        and (pair.verdict == "better") != ((pair.difference > 0) == higher_is_better)
    ]
    if disagreeing_pairs:
        text = "The t-test disagrees at alpha, before correction"
        yield Note("t-test-differs", "info", f"{text}: {format_names(disagreeing_pairs)}.")
    if constant_pairs:
        text = "The same difference on every query, so that t does not exist"
        yield Note("no-t", "info", f"{text}: {format_names(constant_pairs)}.")
    if opposed_pairs:
        text = f"The mean difference has the opposite sign: {format_names(opposed_pairs)}."
        yield Note("mean-disagrees", "warning", text)


def note_sum_measure(measure: Measure | None) -> Iterator[Note]:
    """Yield a note if the measure's value over all queries is a sum: means are compared."""
    if measure is not None and measure.definition.aggregation == "sum":
        text = (
            f"{measure}: the means of the queries' values are compared, not the sums, which are "
            "its value over all queries."
        )
        yield Note("mean-of-sum", "info", text)


def unlike_share_text(n: int, alpha: float) -> str:
    """Return the upper limit, at level 1 - alpha, of the share that may differ if n are alike."""
    return f"up to {100 * (1 - alpha ** (1 / n)):.2g} %"


def note_few_queries(n_units: int, full_words: str) -> Iterator[Note]:
    """Yield a note if there are few units, which `full_words` names."""
    if n_units < FEW_UNITS:
        yield Note(
            "few-queries",
            "warning",
            f"Only {n_units} {full_words}: take any of this as a hint.",
            n_units,
        )


def _note_few_units(
    flips: Flips, full_words: str, settings: Settings, n_comparisons: int, *, has_clear_pairs: bool
) -> Iterator[Note]:
    """Yield notes on what few units, or few flips, cannot show.

    `full_words` names the units. `has_clear_pairs`: some pairs are significant without flips.
    """
    n_units, alpha, is_resampled = flips.n_units, settings.alpha, settings.test in RESAMPLING_TESTS
    is_exact = flips.is_exact and settings.test != "bootstrap"
    smallest_p = 1 / flips.n_flips if is_exact else 1 / (flips.n_drawn + 1)
    has_corrected_p = settings.correction in ("holm", "bonferroni")
    smallest_corrected_p = min(1.0, smallest_p * n_comparisons) if has_corrected_p else smallest_p
    hopeless_phrase = f"nothing {'else ' * has_clear_pairs}can be significant"
    other_phrase = "other " * has_clear_pairs
    if is_resampled and is_exact and smallest_p > alpha:
        ends_phrase = ", and no interval has ends" if settings.test == "randomization" else ""
        text = (
            f"{n_units} {full_words}: no p can be below {smallest_p:.4g}; "
            f"{hopeless_phrase}{ends_phrase}."
        )
        yield Note("none-significant", "warning", text, n_units)
    yield from note_few_queries(n_units, full_words)
    if is_resampled and is_exact and smallest_corrected_p > alpha >= smallest_p:
        text = (
            f"{n_units} {full_words}: no corrected p can be below {smallest_corrected_p:.2g}; "
            f"{hopeless_phrase}."
        )
        yield Note("none-significant", "warning", text, n_units)
    if not is_resampled or is_exact:
        return
    flips_word = "resamples" if settings.test == "bootstrap" else "flips"
    if has_corrected_p and flips.n_drawn < 20 * n_comparisons / alpha:
        comparisons_phrase = format_count(n_comparisons, "comparison calls", "comparisons call")
        hopeless_clause = f", and {hopeless_phrase}" if smallest_corrected_p > alpha else ""
        can_use_maxt = settings.test == "randomization" and n_comparisons > 1
        text = (
            f"{comparisons_phrase} for {math.ceil(20 * n_comparisons / alpha):,} {flips_word}; "
            f"{flips.n_drawn:,} were drawn, so that no {other_phrase}corrected p can be below "
            f"{smallest_corrected_p:.2g}{hopeless_clause}. Draw "
            f"more{', or correct by maxt' if can_use_maxt else ''}."
        )
        yield Note("few-flips", "warning" if hopeless_clause else "info", text)
    elif not has_corrected_p and smallest_p > alpha:
        text = (
            f"{flips.n_drawn:,} {flips_word} were drawn, so that no {other_phrase}p can be below "
            f"{smallest_p:.2g}, and {hopeless_phrase}. Draw more."
        )
        yield Note("few-flips", "warning", text)


def _note_many_queries(pairs: Sequence[Pair], settings: Settings) -> Iterator[Note]:
    """Yield notes on tests of many queries: with fewer or no flips, with Student's intervals."""
    methods = {pair.method for pair in pairs}
    if methods & {"sequential", "bound"}:
        text = (
            f"More than {MANY_UNITS:,} queries: flips are drawn until {STOP:,} of them have as "
            f"large a difference, {settings.flips:,} at most; none where a bound shows p to be "
            f"below {CLEAR:.6f}."
        )
        yield Note("sequential", "info", text)
    if settings.test == "randomization" and any(pair.interval == "t" for pair in pairs):
        text = (
            "Intervals by Student's t differ from those of all flips by less than 0.0001, and by "
            "less than a hundredth of their width."
        )
        yield Note("t-interval", "info", text)


def _note_doubts(
    pairs: Sequence[Pair], doubts: Sequence[Doubt | None], settings: Settings, units: Units
) -> Iterator[Note]:
    """Yield notes on the pairs whose test and interval may be wrong, by the kind of doubt."""
    pairs_of_doubt: dict[Doubt | None, list[Pair]] = {}
    for pair, doubt in zip(pairs, doubts, strict=True):
        pairs_of_doubt.setdefault(doubt, []).append(pair)
    n_units, unit_words = units.n_groups or pairs[0].n, units.unit_words
    sentences_of_doubts: tuple[tuple[Doubt, str, str], ...] = (
        ("identical", f"Identical on all {pairs[0].n:,} queries", "differ"),
        (
            "constant",
            f"The same difference on all {n_units:,} {unit_words}, so that its interval has no "
            "width",
            "have another",
        ),
    )
    for doubt, reason_phrase, change_verb in sentences_of_doubts:
        if doubtful_pairs := pairs_of_doubt.get(doubt):
            pair_names = format_names([_pair_name(pair, settings) for pair in doubtful_pairs])
            text = (
                f"{reason_phrase}: {pair_names}. Of other {unit_words}, "
                f"{unlike_share_text(n_units, settings.alpha)} may {change_verb}."
            )
            yield Note(doubt, "warning", text, n_units, count=len(doubtful_pairs))
    rarely_changed_pairs = pairs_of_doubt.get("few-changes", [])
    if len(rarely_changed_pairs) > (1 if settings.baseline is None else _MAX_LISTED):
        descriptions = [
            f"{_pair_name(pair, settings)} ({_n_changed_units(pair)})"
            for pair in rarely_changed_pairs
        ]
        text = (
            f"Fewer than {FEW_UNITS} of {n_units:,} {unit_words} differ: "
            f"{format_names(descriptions)}. {_SO_FEW}."
        )
        if settings.baselines or settings.all_pairs:  # else a trend points to `compare`
            text += f" --changes {FEW_UNITS} lists these queries, as `changes` does."
        yield Note("few-changes", "warning", text, count=len(rarely_changed_pairs))
        rarely_changed_pairs = []
    for pair in rarely_changed_pairs:
        n_changed = _n_changed_units(pair)
        differ_verb = "differs" if n_changed == 1 else "differ"
        change_texts = [
            f"{change.query_id} {format_number(change.other_score)} to "
            f"{format_number(change.score)}"
            for change in pair.changes
        ]
        count_phrase = f"only {n_changed} of {n_units:,} {unit_words}"
        subject_phrase = f"{count_phrase} {differ_verb}"
        if settings.only_baseline is not None:  # the source is the system alone
            subject_phrase = f"differs from {pair.other} on {count_phrase}"
        text = f"{subject_phrase}{': ' * bool(change_texts)}{', '.join(change_texts)}. {_SO_FEW}."
        yield Note("few-changes", "warning", text, n_changed, _pair_name(pair, settings))
    if skewed_pairs := pairs_of_doubt.get("skewed"):
        pair_names = format_names([_pair_name(pair, settings) for pair in skewed_pairs])
        text = f"Skewed differences: {pair_names}. Trust no p near {settings.alpha:g}."
        yield Note("skewed", "warning", text, n_units, count=len(skewed_pairs))


def _n_changed_units(pair: Pair) -> int:
    """Return the number of units on which the systems of a pair differ."""
    return pair.changed if pair.changed_clusters is None else pair.changed_clusters


def _pair_name(pair: Pair, settings: Settings) -> str:
    return pair.system if settings.only_baseline is not None else f"{pair.system} - {pair.other}"
