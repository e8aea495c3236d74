"""Notes on how far a comparison can be trusted."""

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
from cranfield.render.numbers import format_number, format_count, format_p, format_names

_MAX_LISTED = 3  # pairs whose differing queries are listed
RESAMPLING_TESTS = ("randomization", "wilcoxon", "bootstrap")  # tests that draw flips or resamples
_OTHER_QUESTIONS = {
    "wilcoxon": "Wilcoxon's test asks whether differences are as often and as far above 0 as "
    "below, not whether their mean is 0: with many queries, skewness alone is significant.",
    "sign": "The sign test asks on how many queries a system is better, by any amount, not "
    "whether the mean difference is 0.",
}
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
    """Yield notes on the comparison of some systems under one measure.

    `doubts` are why the test and the interval of each pair may be wrong.
    """
    n, alpha = flips.n_units, settings.alpha
    if n == 1:
        single = units.unit_word if pairs else "query"
        text = f"One {single} cannot show whether a difference is due to chance: there is no test."
        yield Note("few-queries", "warning", text, 1)
        return

    if pairs:
        n_clear = sum(one.method == "bound" for one in pairs)  # without any flip
        if n_clear < len(pairs):
            yield from _note_few_units(
                flips, units.full_words, settings, n_comparisons, some_clear=n_clear > 0
            )
        yield from _note_doubts(pairs, doubts, settings, units)
        yield from _note_many_queries(pairs, settings)
    if settings.test in _OTHER_QUESTIONS:
        yield Note("not-the-mean", "info", _OTHER_QUESTIONS[settings.test])
    of_many = "bayes" if settings.test == "bayes" else settings.correction
    if n_comparisons > 1 and of_many in _OF_CORRECTIONS:
        yield Note("correction", "info", _OF_CORRECTIONS[of_many])
    if apart := [
        f"{_pair_name(one, settings)} (p {format_p(one.p)}, t-test {format_p(one.p_t)})"
        for one in pairs
        if one.p is not None and one.p_t is not None and (one.p <= alpha) != (one.p_t <= alpha)
    ]:
        text = f"The t-test disagrees at alpha, before correction: {format_names(apart)}."
        yield Note("t-test-differs", "info", text)
    constant = [_pair_name(one, settings) for one in pairs if one.sd == 0 and one.difference != 0]
    if constant and settings.test in ("t", "bootstrap"):
        text = f"The same difference on every query, so that t does not exist: {format_names(constant)}."
        yield Note("no-t", "info", text)
    if against := [
        _pair_name(one, settings)
        for one in pairs
        if one.verdict is not None and (one.verdict == "better") != ((one.difference > 0) == higher_is_better)
    ]:
        text = f"The mean difference has the opposite sign: {format_names(against)}."
        yield Note("mean-disagrees", "warning", text)
    yield from note_sum_measure(measure)


def note_sum_measure(measure: Measure | None) -> Iterator[Note]:
    """Yield a note if the measure's value over all queries is a sum: means are compared."""
    if measure is not None and measure.definition.aggregation == "sum":
        text = (
            f"{measure}: the means of the queries' values are compared, not the sums, which are "
            "its value over all queries."
        )
        yield Note("mean-of-sum", "info", text)


def unlike_share_text(n: int, alpha: float) -> str:
    """Return what share of all queries, at most, may be unlike n that are alike, in words."""
    return f"up to {100 * (1 - alpha ** (1 / n)):.2g} %"


def note_few_queries(n_units: int, full_words: str) -> Iterator[Note]:
    """Yield a note if there are few queries, or clusters of queries: `units` has the word."""
    if n_units < FEW_UNITS:
        yield Note("few-queries", "warning", f"Only {n_units} {full_words}: take any of this as a hint.", n_units)


def _note_few_units(
    flips: Flips, units: str, settings: Settings, comparisons: int, *, some_clear: bool
) -> Iterator[Note]:
    """Yield notes on what so few queries (or clusters: `units`), or flips, cannot show.

    Some pairs may be clear without flips.
    """
    n, alpha, drawn = flips.n_units, settings.alpha, settings.test in RESAMPLING_TESTS
    exact = flips.is_exact and settings.test != "bootstrap"
    least = 1 / flips.n_flips if exact else 1 / (flips.n_drawn + 1)
    corrected = settings.correction in ("holm", "bonferroni")
    floor = min(1.0, least * comparisons) if corrected else least
    hopeless = f"nothing {'else ' * some_clear}can be significant"
    other = "other " * some_clear
    if drawn and exact and least > alpha:
        ends = ", and no interval has ends" if settings.test == "randomization" else ""
        text = f"{n} {units}: no p can be below {least:.4g}; {hopeless}{ends}."
        yield Note("none-significant", "warning", text, n)
    yield from note_few_queries(n, units)
    if drawn and exact and floor > alpha >= least:
        text = f"{n} {units}: no corrected p can be below {floor:.2g}; {hopeless}."
        yield Note("none-significant", "warning", text, n)
    if not drawn or exact:
        return
    what = "resamples" if settings.test == "bootstrap" else "flips"
    if corrected and flips.n_drawn < 20 * comparisons / alpha:
        over = format_count(comparisons, "comparison calls", "comparisons call")
        none = f", and {hopeless}" if floor > alpha else ""
        maxt = settings.test == "randomization" and comparisons > 1
        text = (
            f"{over} for {math.ceil(20 * comparisons / alpha):,} {what}; {flips.n_drawn:,} were "
            f"drawn, so that no {other}corrected p can be below {floor:.2g}{none}. Draw more"
            f"{', or correct by maxt' if maxt else ''}."
        )
        yield Note("few-flips", "warning" if none else "info", text)
    elif not corrected and least > alpha:
        text = (
            f"{flips.n_drawn:,} {what} were drawn, so that no {other}p can be below {least:.2g}, and "
            f"{hopeless}. Draw more."
        )
        yield Note("few-flips", "warning", text)


def _note_many_queries(pairs: Sequence[Pair], settings: Settings) -> Iterator[Note]:
    """Yield notes on how so many queries are tested."""
    methods = {one.method for one in pairs}
    if methods & {"sequential", "bound"}:
        text = (
            f"More than {MANY_UNITS:,} queries: flips are drawn until {STOP:,} of them have as large a "
            f"difference, {settings.flips:,} at most; none where a bound shows p to be below "
            f"{CLEAR:.6f}."
        )
        yield Note("sequential", "info", text)
    if settings.test == "randomization" and any(one.interval == "t" for one in pairs):
        text = (
            "Intervals by Student's t differ from those of all flips by less than 0.0001, and by "
            "less than a hundredth of their width."
        )
        yield Note("t-interval", "info", text)


def _note_doubts(
    pairs: Sequence[Pair], doubts: Sequence[Doubt | None], settings: Settings, kind: Units
) -> Iterator[Note]:
    """Yield notes on the pairs whose test and interval may be wrong."""
    of: dict[Doubt | None, list[Pair]] = {}
    for pair, doubt in zip(pairs, doubts, strict=True):
        of.setdefault(doubt, []).append(pair)
    n, units = kind.n_groups or pairs[0].n, kind.unit_words
    said: tuple[tuple[Doubt, str, str], ...] = (
        ("identical", f"Identical on all {pairs[0].n:,} queries", "differ"),
        (
            "constant",
            f"The same difference on all {n:,} {units}, so that its interval has no width",
            "have another",
        ),
    )
    for doubt, what, others in said:
        if same := of.get(doubt):
            names = format_names([_pair_name(one, settings) for one in same])
            text = f"{what}: {names}. Of other {units}, {unlike_share_text(n, settings.alpha)} may {others}."
            yield Note(doubt, "warning", text, n, count=len(same))
    few = of.get("few-changes", [])
    if len(few) > _MAX_LISTED:
        shown = [f"{_pair_name(one, settings)} ({_n_changed_units(one)})" for one in few]
        text = (
            f"Fewer than {FEW_UNITS} of {n:,} {units} differ: {format_names(shown)}. {_SO_FEW}. --changes {FEW_UNITS} "
            "lists these queries, as `changes` does."
        )
        yield Note("few-changes", "warning", text, count=len(few))
        few = []
    for pair in few:
        changed = _n_changed_units(pair)
        differ = "differs" if changed == 1 else "differ"
        shown = [
            f"{one.query_id} {format_number(one.other_score)} to {format_number(one.score)}"
            for one in pair.changes
        ]
        few_of = f"only {changed} of {n:,} {units}"
        which = f"{few_of} {differ}"
        if settings.baseline is not None:  # the source is the system alone
            which = f"differs from {pair.other} on {few_of}"
        text = f"{which}{': ' * bool(shown)}{', '.join(shown)}. {_SO_FEW}."
        yield Note("few-changes", "warning", text, changed, _pair_name(pair, settings))
    if skewed := of.get("skewed"):
        text = (
            "Skewed differences (a few large ones to one side): "
            f"{format_names([_pair_name(one, settings) for one in skewed])}. {n:,} {units} are few for these: "
            "every test then gives more false alarms, and every interval misses more often, than "
            "alpha says. Look at the large ones (compare --changes 5); do not rely on a p near "
            "alpha; more queries help."
        )
        yield Note("skewed", "warning", text, n, count=len(skewed))


def _n_changed_units(pair: Pair) -> int:
    """Return how many queries, or clusters, a pair differs on."""
    return pair.changed if pair.changed_clusters is None else pair.changed_clusters


def _pair_name(pair: Pair, settings: Settings) -> str:
    return pair.system if settings.baseline is not None else f"{pair.system} - {pair.other}"
