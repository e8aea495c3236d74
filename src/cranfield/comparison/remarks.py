"""Notes on how far a comparison can be trusted."""

import math
from collections.abc import Iterator, Sequence

from cranfield.comparison.effects import FEW, Doubt
from cranfield.comparison.flips import MANY, Flips
from cranfield.comparison.result import Pair
from cranfield.comparison.sequential import CLEAR, STOP
from cranfield.comparison.settings import Settings
from cranfield.comparison.units import Units
from cranfield.measures import Measure
from cranfield.notes import Note
from cranfield.render.numbers import number, number_of, probability, some

_LISTED = 3  # pairs whose differing queries are listed
DRAWN = ("randomization", "wilcoxon", "bootstrap")  # tests that draw flips or resamples
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


def remarks_on(
    measure: Measure | None,
    pairs: Sequence[Pair],
    doubts: Sequence[Doubt | None],
    flips: Flips,
    settings: Settings,
    comparisons: int,
    units: Units,
    *,
    rising: bool,
) -> Iterator[Note]:
    """Yield notes on the comparison of some systems under one measure.

    `doubts` are why the test and the interval of each pair may be wrong.
    """
    n, alpha = flips.n_units, settings.alpha
    if n == 1:
        single = units.word if pairs else "query"
        text = f"One {single} cannot show whether a difference is due to chance: there is no test."
        yield Note("few-queries", "warning", text, 1)
        return

    if pairs:
        n_clear = sum(one.method == "bound" for one in pairs)  # without any flip
        if n_clear < len(pairs):
            yield from _of_so_few(
                flips, units.of_queries, settings, comparisons, some_clear=n_clear > 0
            )
        yield from _doubts(pairs, doubts, settings, units)
        yield from _of_so_many(pairs, settings)
    if settings.test in _OTHER_QUESTIONS:
        yield Note("not-the-mean", "info", _OTHER_QUESTIONS[settings.test])
    of_many = "bayes" if settings.test == "bayes" else settings.correction
    if comparisons > 1 and of_many in _OF_CORRECTIONS:
        yield Note("correction", "info", _OF_CORRECTIONS[of_many])
    if apart := [
        f"{_named(one, settings)} (p {probability(one.p)}, t-test {probability(one.p_t)})"
        for one in pairs
        if one.p is not None and one.p_t is not None and (one.p <= alpha) != (one.p_t <= alpha)
    ]:
        text = f"The t-test disagrees at alpha, before correction: {some(apart)}."
        yield Note("t-test-differs", "info", text)
    constant = [_named(one, settings) for one in pairs if one.sd == 0 and one.difference != 0]
    if constant and settings.test in ("t", "bootstrap"):
        text = f"The same difference on every query, so that t does not exist: {some(constant)}."
        yield Note("no-t", "info", text)
    if against := [
        _named(one, settings)
        for one in pairs
        if one.verdict is not None and (one.verdict == "better") != ((one.difference > 0) == rising)
    ]:
        text = f"The mean difference has the opposite sign: {some(against)}."
        yield Note("mean-disagrees", "warning", text)
    yield from on_its_mean(measure)


def on_its_mean(measure: Measure | None) -> Iterator[Note]:
    """Yield a note if the measure's value over all queries is a sum: means are compared."""
    if measure is not None and measure.definition.aggregation == "sum":
        text = (
            f"{measure}: the means of the queries' values are compared, not the sums, which are "
            "its value over all queries."
        )
        yield Note("mean-of-sum", "info", text)


def up_to(n: int, alpha: float) -> str:
    """Return what share of all queries, at most, may be unlike n that are alike, in words."""
    return f"up to {100 * (1 - alpha ** (1 / n)):.2g} %"


def of_few(n: int, units: str) -> Iterator[Note]:
    """Yield a note if there are few queries, or clusters of queries: `units` has the word."""
    if n < FEW:
        yield Note("few-queries", "warning", f"Only {n} {units}: take any of this as a hint.", n)


def _of_so_few(
    flips: Flips, units: str, settings: Settings, comparisons: int, *, some_clear: bool
) -> Iterator[Note]:
    """Yield notes on what so few queries (or clusters: `units`), or flips, cannot show.

    Some pairs may be clear without flips.
    """
    n, alpha, drawn = flips.n_units, settings.alpha, settings.test in DRAWN
    exact = flips.exact and settings.test != "bootstrap"
    least = 1 / flips.looked_at if exact else 1 / (flips.drawn + 1)
    corrected = settings.correction in ("holm", "bonferroni")
    floor = min(1.0, least * comparisons) if corrected else least
    hopeless = f"nothing {'else ' * some_clear}can be significant"
    other = "other " * some_clear
    if drawn and exact and least > alpha:
        ends = ", and no interval has ends" if settings.test == "randomization" else ""
        text = f"{n} {units}: no p can be below {least:.4g}; {hopeless}{ends}."
        yield Note("none-significant", "warning", text, n)
    yield from of_few(n, units)
    if drawn and exact and floor > alpha >= least:
        text = f"{n} {units}: no corrected p can be below {floor:.2g}; {hopeless}."
        yield Note("none-significant", "warning", text, n)
    if not drawn or exact:
        return
    what = "resamples" if settings.test == "bootstrap" else "flips"
    if corrected and flips.drawn < 20 * comparisons / alpha:
        over = number_of(comparisons, "comparison calls", "comparisons call")
        none = f", and {hopeless}" if floor > alpha else ""
        maxt = settings.test == "randomization" and comparisons > 1
        text = (
            f"{over} for {math.ceil(20 * comparisons / alpha):,} {what}; {flips.drawn:,} were "
            f"drawn, so that no {other}corrected p can be below {floor:.2g}{none}. Draw more"
            f"{', or correct by maxt' if maxt else ''}."
        )
        yield Note("few-flips", "warning" if none else "info", text)
    elif not corrected and least > alpha:
        text = (
            f"{flips.drawn:,} {what} were drawn, so that no {other}p can be below {least:.2g}, and "
            f"{hopeless}. Draw more."
        )
        yield Note("few-flips", "warning", text)


def _of_so_many(pairs: Sequence[Pair], settings: Settings) -> Iterator[Note]:
    """Yield notes on how so many queries are tested."""
    methods = {one.method for one in pairs}
    if methods & {"sequential", "bound"}:
        text = (
            f"More than {MANY:,} queries: flips are drawn until {STOP:,} of them have as large a "
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


def _doubts(
    pairs: Sequence[Pair], doubts: Sequence[Doubt | None], settings: Settings, kind: Units
) -> Iterator[Note]:
    """Yield notes on the pairs whose test and interval may be wrong."""
    of: dict[Doubt | None, list[Pair]] = {}
    for pair, doubt in zip(pairs, doubts, strict=True):
        of.setdefault(doubt, []).append(pair)
    n, units = kind.n_groups or pairs[0].n, kind.words
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
            names = some([_named(one, settings) for one in same])
            text = f"{what}: {names}. Of other {units}, {up_to(n, settings.alpha)} may {others}."
            yield Note(doubt, "warning", text, n, count=len(same))
    few = of.get("few-changes", [])
    if len(few) > _LISTED:
        shown = [f"{_named(one, settings)} ({_changed(one)})" for one in few]
        text = (
            f"Fewer than {FEW} of {n:,} {units} differ: {some(shown)}. {_SO_FEW}. --changes {FEW} "
            "lists these queries, as `changes` does."
        )
        yield Note("few-changes", "warning", text, count=len(few))
        few = []
    for pair in few:
        changed = _changed(pair)
        differ = "differs" if changed == 1 else "differ"
        shown = [
            f"{one.query_id} {number(one.other_score)} to {number(one.score)}"
            for one in pair.changes
        ]
        few_of = f"only {changed} of {n:,} {units}"
        which = f"{few_of} {differ}"
        if settings.baseline is not None:  # the source is the system alone
            which = f"differs from {pair.other} on {few_of}"
        text = f"{which}{': ' * bool(shown)}{', '.join(shown)}. {_SO_FEW}."
        yield Note("few-changes", "warning", text, changed, _named(pair, settings))
    if skewed := of.get("skewed"):
        text = (
            "Skewed differences (a few large ones to one side): "
            f"{some([_named(one, settings) for one in skewed])}. {n:,} {units} are few for these: "
            "every test then gives more false alarms, and every interval misses more often, than "
            "alpha says. Look at the large ones (compare --changes 5); do not rely on a p near "
            "alpha; more queries help."
        )
        yield Note("skewed", "warning", text, n, count=len(skewed))


def _changed(pair: Pair) -> int:
    """Return how many queries, or clusters, a pair differs on."""
    return pair.changed if pair.changed_clusters is None else pair.changed_clusters


def _named(pair: Pair, settings: Settings) -> str:
    return pair.system if settings.baseline is not None else f"{pair.system} - {pair.other}"
