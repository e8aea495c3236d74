"""compare: is one system better than another, by how much, how sure is that, and where."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack, get_args

import numpy as np

from cranfield.comparison import options
from cranfield.comparison.alignment import Aligned, Missing, align, hash_of
from cranfield.comparison.anova import PERMUTATIONS, randomised_tukey, tukey
from cranfield.comparison.compared import Comparison
from cranfield.comparison.corrections import (
    benjamini_hochberg,
    benjamini_yekutieli,
    bonferroni,
    holm,
)
from cranfield.comparison.doubts import FEW
from cranfield.comparison.effects import cliff, effects_of
from cranfield.comparison.flips import (
    FLIPS,
    MOST_FLIPS,
    SEED,
    Flips,
    Paired,
    inverted,
    step_down,
)
from cranfield.comparison.geometric import is_geometric, logs
from cranfield.comparison.letters import letters
from cranfield.comparison.power import detectable
from cranfield.comparison.ranges import cut, range_of
from cranfield.comparison.remarks import remarks_on
from cranfield.comparison.result import (
    Change,
    Correction,
    Family,
    Outcome,
    Pair,
    Result,
    Settings,
    System,
    Test,
)
from cranfield.comparison.significance import (
    TIE,
    Moments,
    bca_interval,
    beliefs,
    bootstrap_test,
    rank_biserial,
    sign_test,
    signs,
    t_interval,
    t_test,
    wilcoxon,
)
from cranfield.comparison.unjudged import judged_shares, little_judged, unjudged_bounds
from cranfield.errors import InputError, OptionError, one_of, printable
from cranfield.evaluation import MeasuresLike
from cranfield.formats.small.labels import label_rows
from cranfield.formats.small.scores import Layout
from cranfield.judging import JudgingOptions
from cranfield.notes import Note, warn_of
from cranfield.pairs.joint_bounds import PairBounds
from cranfield.ranked import Bools, Floats, Ints, mean
from cranfield.render.numbers import or_none
from cranfield.version import __version__

_LEAST_LEVEL = 1e-9  # that options take for alpha
_CORRECTIONS = {
    "holm": holm,
    "bonferroni": bonferroni,
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
}


@dataclass(frozen=True, eq=False)
class _Cell:
    """One measure, on some of the queries: what is compared."""

    measure: int
    label: str | None
    slice: str | None
    rows: Bools  # (n_queries,)
    paired: Paired  # of logarithms if the measure has a geometric mean
    moments: Moments
    p: Floats  # (n_pairs,)
    interval: tuple[Floats, Floats, str]  # (n_pairs,) each, infinite or NaN where there is none


class _Family(NamedTuple):
    """The comparisons that one is corrected with."""

    comparisons: int
    told: int  # of which the corrected p is at most alpha

    def level(self, settings: Settings, told: bool) -> float:
        """Return the level that the correction leaves a t-test of one of them.

        Holm's divides alpha by the number of those that are not told, itself included.
        """
        left = {"bonferroni": self.comparisons, "holm": self.comparisons - self.told + told}
        return max(settings.alpha / max(left.get(settings.correction, 1), 1), _LEAST_LEVEL)


def compare(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    *,
    baseline: str | None = None,
    all_pairs: bool = False,
    test: Test = "randomization",
    correction: Correction | None = None,
    family: Family = "measure",
    alpha: float = 0.05,
    flips: int = FLIPS,
    seed: int = SEED,
    tie: float = TIE,
    rope: float | None = None,
    slices: Any = None,
    bounds: bool = False,
    missing: Missing | None = None,
    layout: Layout = "measures",
    **judging: Unpack[JudgingOptions],
) -> Comparison:
    """Compare systems over the same queries: differences, how sure they are, and where they are.

    Args:
        qrels: judgments, as `evaluate` takes them; or, without runs, scores: Systems, a list of
            Scores, a dict `{name: Scores}` or `{name: {query_id: value}}`; or saved per-query
            scores of any tool: a path, a list of paths, a table.
        runs: several runs, as `evaluate` takes them. None: the first argument holds scores.
        measures: which to compare; each has a table. [default: all there are; nDCG@10 of runs]
        baseline: the system that the others are compared with. [default: the first]
        all_pairs: compare each system with each other, instead.
        test: "randomization" flips the signs of queries' differences; "t", "wilcoxon" and "sign"
            are the classical tests (the latter two do not test the mean), "bootstrap" is Sakai's
            studentised one; "bayes" says how probable it is that a system is better.
        correction: of p-values for the number of comparisons: "holm", "maxt" (step-down, by the
            greatest t of each flip), "tukey" (two-way analysis of variance), "rtukey" (randomised),
            "bonferroni", "bh" and "by" (share of false alarms), "none". [default: "holm"]
        family: the comparisons that are corrected together: those of one "measure", or "all". A
            slice is always a family of its own.
        alpha: the level of the test; intervals are 1 - alpha.
        flips: how many are drawn, or resamples; up to 20 queries have all their flips tried.
        seed: of the flips.
        tie: a query is tied where two scores differ by no more.
        rope: a mean difference below is practically none: adds how probable it is that a system is
            better, the same, worse. (Of a geometric mean, `tie` and `rope` are of the difference of
            two logarithms.)
        slices: labels of queries, to compare on those of each label by themselves: a dict
            `{query_id: label}` or `{name: {query_id: label}}`, or a file or table with a column of
            query ids and one or more of labels.
        bounds: of judgments and runs, show how far each difference may be off, whatever the
            unjudged documents are, for every measure that has bounds; those that are found quickly
            are found without.
        missing: what to do with a query that some system has no score for: "error", "zero", or
            "drop" it for all. [default: of runs "zero", which is to retrieve nothing; else "error"]
        layout: what the columns of a table of saved scores are: "measures" or "systems".
        judging: options of `evaluate`, of judgments and runs.

    A measure with a geometric mean, such as GMAP, is compared by the ratio of the geometric means:
    tested are differences of logarithms.

    Returns:
        a Comparison, which shows itself as tables.

    Warns:
        CranfieldWarning: once, of all that makes tests and intervals doubtful (fewer than 10
            queries, or fewer than 10 on which two systems differ; skewed differences), and of what
            `evaluate` warns of (ranks that contradict the scores, ids that do not match). Its
            `notes` say so, too.

    Raises:
        InputError: scores that are missing or are no numbers; a baseline that is not there.
        MeasureError: a measure that does not exist or that there are no scores for.
        OptionError: an option with a value that it does not know, or that goes with no other.

    Sources: Smucker, Allan & Carterette, CIKM 2007; Urbano, Lima & Hanjalic, SIGIR 2019; Holm,
    Scandinavian Journal of Statistics 1979; Sakai, SIGIR Forum 2014.

    >>> old = {f"q{i}": score for i, score in enumerate([0.1, 0.4, 0.0, 0.5, 0.2] * 2)}
    >>> new = {query: score + 0.1 for query, score in old.items()}
    >>> pair = compare({"old": old, "new": new})["score"]["new"]
    >>> pair.p == 2 / 2**10, pair.verdict
    (True, 'better')

    """
    correction = correction or ("none" if test == "bayes" else "holm")
    for option, value, known in (
        ("test", test, Test),
        ("correction", correction, Correction),
        ("family", family, Family),
    ):
        one_of(option, value, get_args(known))
    options.flag("all_pairs", all_pairs)
    options.flag("bounds", bounds)
    alpha = options.share("alpha", alpha, below=0.5)
    tie = options.number("tie", tie, least=0)
    rope = None if rope is None else options.number("rope", rope, least=0)
    flips = options.whole("flips", flips, least=1, most=MOST_FLIPS)
    seed = options.whole("seed", seed, least=0)
    if correction == "maxt" and test != "randomization":
        raise OptionError("correction='maxt' corrects the randomization test, and no other")
    if correction != "none" and test == "bayes":
        raise OptionError("test='bayes' has no p-values to correct: leave correction out")
    if correction in ("tukey", "rtukey") and test not in ("randomization", "t"):
        raise OptionError(
            f"correction={correction!r} is of mean differences, and test={test!r} is not: take "
            "test='t' or 'randomization'"
        )
    if correction in ("tukey", "rtukey") and family == "all":
        raise OptionError(
            f"correction={correction!r} corrects the pairs of one measure: family='all' cannot be"
        )
    if all_pairs and baseline is not None:
        raise OptionError("all_pairs=True compares with no baseline: leave one of the two out")
    aligned = align(qrels, runs, measures, missing=missing, layout=layout, **judging)
    if not all_pairs:
        baseline = _baseline(aligned.names, baseline)
    settings = Settings(
        baseline,
        test,
        correction,
        family,
        alpha,
        flips,
        seed,
        tie,
        rope,
        PERMUTATIONS if correction == "rtukey" else None,
        __version__,
    )
    notes = [*aligned.notes]
    left, right = _pairs(aligned.names, baseline)
    unjudged = unjudged_bounds(aligned, left, right, asked=bounds)
    parts: list[tuple[str | None, str | None, Bools]]
    parts = [(None, None, np.ones(len(aligned.query_ids), np.bool_))]
    if slices is not None:
        labelled, said = _labelled(slices, aligned.query_ids)
        parts += labelled
        notes += said
    results = [
        result
        for label, name, rows in parts
        for result in _results(aligned, left, right, settings, label, name, rows, unjudged)
    ]
    found = Comparison(aligned, settings, tuple(results), tuple(notes), bounds)
    warn_of(found.notes)
    return found


def _baseline(names: Sequence[str], baseline: str | None) -> str:
    if baseline is None:
        return names[0]
    if baseline not in names:
        raise InputError(
            f"there is no system {baseline!r} to be the baseline",
            hint=f"There are {', '.join(map(printable, names))}.",
        )
    return baseline


def _pairs(names: Sequence[str], baseline: str | None) -> tuple[Ints, Ints]:
    """Return the systems of each pair: (n_pairs,) twice."""
    if baseline is None:
        left, right = np.triu_indices(len(names), 1)
        return left, right
    base = names.index(baseline)
    others = np.delete(np.arange(len(names)), base)
    return others, np.full(len(others), base)


def _labelled(
    slices: Any, query_ids: Sequence[str]
) -> tuple[list[tuple[str, str, Bools]], list[Note]]:
    """Return (what is labelled, label, which queries have it), and what to know of the labels."""
    given = label_rows(slices)
    found, said = [], [*given.notes]
    for label, of_query in given.labels.items():
        every = [of_query.get(query) for query in query_ids]
        names = dict.fromkeys(of_query.values())
        for name in names:
            rows = np.array([one == name for one in every])
            if rows.any():
                found.append((label, name, rows))
        without = every.count(None)
        if without == len(every):
            raise InputError(f"{label}: no query that is compared has a label")
        if without:
            text = f"{label}: {without:,} of {len(every):,} queries have no label."
            said.append(Note("without-label", "info", text, without))
    return found, said


def _results(
    aligned: Aligned,
    left: Ints,
    right: Ints,
    settings: Settings,
    label: str | None,
    name: str | None,
    rows: Bools,
    bounds: Sequence[PairBounds | None],
) -> list[Result]:
    """Return the results of all measures on some of the queries."""
    flips = Flips(int(np.count_nonzero(rows)), settings.flips, settings.seed)
    cells = []
    for i, measure in enumerate(aligned.measures):
        values = logs(aligned.known(measure), aligned.values[i][rows])
        paired = Paired(values, left, right)
        moments = Moments.of(paired)
        if settings.test == "randomization" and flips.n_queries > 1:
            p, low, high = inverted(paired, flips, settings.alpha)
            interval = low, high, "randomization"
        else:
            p = _p_values(paired, moments, flips, settings)
            interval = _interval(paired, moments, flips, settings)
        cells.append(_Cell(i, label, name, rows, paired, moments, p, interval))
    adjusted = _adjusted(cells, flips, settings)
    return [
        _result(aligned, cell, p_adjusted, family, flips, settings, its and its.among(rows))
        for cell, p_adjusted, family, its in zip(
            cells, adjusted, _families(adjusted, aligned, settings), bounds, strict=True
        )
    ]


def _families(adjusted: Sequence[Floats], aligned: Aligned, settings: Settings) -> list[_Family]:
    """Return the family of each measure's comparisons."""
    told = [int(np.count_nonzero(p <= settings.alpha)) for p in adjusted]
    sizes = [len(p) for p in adjusted]
    if settings.family == "all":
        told, sizes = [sum(told)] * len(told), [sum(sizes)] * len(sizes)
    if settings.correction in ("tukey", "rtukey"):  # which know no baseline
        sizes = [math.comb(len(aligned.names), 2)] * len(sizes)
    return [_Family(*one) for one in zip(sizes, told, strict=True)]


def _p_values(paired: Paired, moments: Moments, flips: Flips, settings: Settings) -> Floats:
    """Return the p-value of each pair alone, NaN where there is none: (n_pairs,)."""
    if paired.n_queries < 2:
        return np.full(len(paired.left), np.nan)
    match settings.test:
        case "t":
            return t_test(moments)
        case "wilcoxon":
            return wilcoxon(paired, flips, settings.tie)
        case "sign":
            return sign_test(paired, settings.tie)
        case "bootstrap":
            return bootstrap_test(paired, moments, resamples=flips.drawn, seed=flips.seed)
        case _:
            return np.full(len(paired.left), np.nan)


def _adjusted(cells: Sequence[_Cell], flips: Flips, settings: Settings) -> list[Floats]:
    """Return the p-values of each cell, adjusted for its family."""
    if settings.family == "measure":
        return [_of_family([cell], flips, settings)[0] for cell in cells]
    return _of_family(cells, flips, settings)


def _of_family(cells: Sequence[_Cell], flips: Flips, settings: Settings) -> list[Floats]:
    p = np.concatenate([cell.p for cell in cells])
    if not len(p):
        return [cell.p for cell in cells]
    absent = np.isnan(p)
    if settings.correction == "maxt":
        differences = [cell.paired.differences for cell in cells]
        every = (
            cells[0].paired if len(cells) == 1 else Paired.of(np.concatenate(differences, axis=1))
        )
        adjusted = step_down(every, flips)
    elif settings.correction == "tukey":
        adjusted = tukey(cells[0].paired)
    elif settings.correction == "rtukey":
        adjusted = randomised_tukey(cells[0].paired, seed=settings.seed)
    elif settings.correction == "none":
        adjusted = p
    else:
        # A pair that has no p-value counts as a comparison, too.
        adjusted = _CORRECTIONS[settings.correction](np.where(absent, 1.0, p))
    adjusted = np.where(absent, np.nan, adjusted)
    return np.split(adjusted, np.cumsum([len(cell.p) for cell in cells])[:-1])


def _interval(
    paired: Paired, moments: Moments, flips: Flips, settings: Settings
) -> tuple[Floats, Floats, str]:
    """Return the ends of each difference's interval, infinite or NaN where there are none."""
    if paired.n_queries < 2:
        none = np.full(len(paired.left), np.nan)
        return none, none, "none"
    if settings.test == "bootstrap":
        ends = bca_interval(paired, moments, settings.alpha, resamples=flips.drawn, seed=flips.seed)
        return *ends, "bca"
    return *t_interval(moments, settings.alpha), "t"


def _result(
    aligned: Aligned,
    cell: _Cell,
    p_adjusted: Floats,
    family: _Family,
    flips: Flips,
    settings: Settings,
    unjudged: PairBounds | None,
) -> Result:
    paired, moments = cell.paired, cell.moments
    known, values = aligned.known(aligned.measures[cell.measure]), aligned.values[cell.measure]
    scores, by_ratio = values[cell.rows], is_geometric(known)
    measure, rising = aligned.measures[cell.measure], aligned.rising[cell.measure]
    query_ids = [
        query for query, of_slice in zip(aligned.query_ids, cell.rows, strict=True) if of_slice
    ]
    n, freedom = paired.n_queries, paired.n_queries > 1
    least, most = logs(known, np.array(range_of(known, scores)))
    low, high = cut(*cell.interval[:2], least - most, most - least)
    effects = effects_of(paired, moments)
    deltas = cliff(paired, settings.tie)
    wins, ties, losses = signs(paired, settings.tie)
    differs = np.abs(paired.differences) > min(settings.tie, TIE)
    changed = np.count_nonzero(differs, axis=0)
    if not rising:
        wins, losses = losses, wins
    p_t = t_test(moments) if freedom else cell.p
    ranks = rank_biserial(paired, settings.tie) if settings.test == "wilcoxon" else None
    belief = None
    if settings.rope is not None or settings.test == "bayes":
        belief = beliefs(moments, settings.rope or 0.0)
        if not rising:
            belief = belief[::-1]
    # Whichever the test is of: the mean, or the signs, or the ranks.
    direction = moments.mean if rising else -moments.mean
    if settings.test == "sign":
        direction = (wins - losses) * 1.0
    elif ranks is not None:
        direction = ranks if rising else -ranks
    smallest = [
        detectable(n, alpha=family.level(settings, told)) if freedom else None
        for told in (False, True)
    ]
    means = [mean(column) for column in paired.values.T]
    if by_ratio:
        means = list(map(math.exp, means))
    pairs = []
    for i, (a, b) in enumerate(zip(paired.left.tolist(), paired.right.tolist(), strict=True)):
        difference = float(moments.mean[i])
        p, adjusted, sd = or_none(cell.p[i]), or_none(p_adjusted[i]), or_none(moments.sd[i])
        better = worse = None
        if belief is not None:
            better, worse = or_none(belief[0][i]), or_none(belief[2][i])
        rejected = adjusted is not None and adjusted <= settings.alpha
        told = rejected
        if settings.test == "bayes":
            told = max(better or 0.0, worse or 0.0) >= settings.sure
        found = smallest[rejected]
        drawn = settings.test in ("randomization", "wilcoxon", "bootstrap")
        exact = drawn and settings.test != "bootstrap" and flips.exact
        error = math.sqrt(p * (1 - p) / flips.drawn) if p and drawn and not exact else 0.0
        names = aligned.names[a], aligned.names[b]
        few = np.flatnonzero(differs[:, i]).tolist() if changed[i] < FEW else []
        ends = or_none(low[i]), or_none(high[i])
        ratio, ratio_low, ratio_high = (
            math.exp(one) if by_ratio and one is not None else None for one in (difference, *ends)
        )
        pairs.append(
            Pair(
                system=names[0],
                other=names[1],
                n=n,
                mean=means[a],
                other_mean=means[b],
                scale="ratio" if by_ratio else "difference",
                difference=difference,
                percent=_percent(difference, means[b], ratio),
                low=ends[0],
                high=ends[1],
                ratio=ratio,
                ratio_low=ratio_low,
                ratio_high=ratio_high,
                interval=cell.interval[2],
                p=p,
                p_adjusted=adjusted,
                p_t=or_none(p_t[i]),
                p_error=None if p is None else error,
                exact=exact,
                verdict=_outcome(direction[i]) if told else None,
                sd=sd,
                skewness=or_none(effects.skewness[i]),
                d_z=or_none(effects.d_z[i]),
                hedges=or_none(effects.hedges[i]),
                glass=or_none(effects.glass[i]),
                d_av=or_none(effects.d_av[i]),
                es_e=or_none(effects.es_e[i]),
                changed=int(changed[i]),
                changes=tuple(Change(query_ids[q], *scores[q, [b, a]].tolist()) for q in few),
                wins=int(wins[i]),
                ties=int(ties[i]),
                losses=int(losses[i]),
                cliff=float(deltas[i]) if rising else 0.0 - float(deltas[i]),
                dominance=int(wins[i] - losses[i]) / n,
                superiority=int(2 * wins[i] + ties[i]) / (2 * n),
                rank_biserial=None if ranks is None else float(ranks[i]),
                probability_better=better,
                probability_same=None if belief is None else or_none(belief[1][i]),
                probability_worse=worse,
                detectable=None if found is None or not sd else found * sd,
                unjudged_low=None if unjudged is None else float(unjudged.low[i]),
                unjudged_high=None if unjudged is None else float(unjudged.high[i]),
                unjudged_method=None if unjudged is None else unjudged.method,
                unjudged_robust=None if unjudged is None else bool(unjudged.robust[i]),
            )
        )
    systems = _systems(aligned, cell, means, settings.alpha)
    shared = None
    if settings.baseline is None:
        shared = _letters(aligned.names, means, rising, pairs)
    return Result(
        measure,
        cell.label,
        cell.slice,
        rising,
        query_ids,
        hash_of(query_ids),
        systems,
        pairs,
        family.comparisons,
        shared,
        remarks_on(known, pairs, flips, settings, family.comparisons, rising),
    )


def _percent(difference: float, mean: float, ratio: float | None) -> float | None:
    """Return a difference in percent of a mean; None if that is 0."""
    if ratio is not None:
        return 100 * (ratio - 1)
    return or_none(100 * (difference / mean)) if mean else None


def _outcome(direction: float) -> Outcome | None:
    if direction == 0:
        return None
    return "better" if direction > 0 else "worse"


def _systems(aligned: Aligned, cell: _Cell, means: Sequence[float], alpha: float) -> list[System]:
    alone = Moments.of(Paired.of(cell.paired.values))
    low, high = t_interval(alone, alpha) if alone.n > 1 else (alone.sd, alone.sd)
    measure = aligned.known(aligned.measures[cell.measure])
    scores = aligned.values[cell.measure][cell.rows]
    low, high = cut(low, high, *logs(measure, np.array(range_of(measure, scores))).tolist())
    if is_geometric(measure):
        low, high = (np.array(list(map(math.exp, ends))) for ends in (low, high))
    shares = judged_shares(aligned, cell.measure, cell.rows)
    judged: Sequence[float | None] = shares or [None] * len(means)
    little = little_judged(shares) or [False] * len(means)
    return [
        System(name, means[i], or_none(low[i]), or_none(high[i]), judged[i], little[i])
        for i, name in enumerate(aligned.names)
    ]


def _letters(
    names: Sequence[str], means: Sequence[float], rising: bool, pairs: Sequence[Pair]
) -> list[str]:
    """Return the letters of each system; the best has the first."""
    order = sorted(range(len(names)), key=lambda i: -means[i] if rising else means[i])
    place = {names[i]: rank for rank, i in enumerate(order)}
    apart = [(place[one.system], place[one.other]) for one in pairs if one.verdict is not None]
    of_place = letters(len(names), apart)
    return [of_place[place[name]] for name in names]
