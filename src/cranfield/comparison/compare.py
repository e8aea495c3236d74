"""compare: is one system better than another, by how much, how sure is that, and where."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from cranfield.arrays.ranked import Bools, Floats, Ints
from cranfield.comparison.alignment import Aligned, align
from cranfield.comparison.anova import randomised_tukey, tukey
from cranfield.comparison.cells import Cell, Comparisons, result_of
from cranfield.comparison.comparison import Comparison
from cranfield.comparison.corrections import (
    benjamini_hochberg,
    benjamini_yekutieli,
    bonferroni,
    holm,
)
from cranfield.comparison.flips import Flips, Paired, inverted, step_down
from cranfield.comparison.geometric import logs
from cranfield.comparison.judged_share import unjudged_bounds
from cranfield.comparison.settings import (
    Alignment,
    AlignmentOptions,
    Settings,
    SettingsOptions,
)
from cranfield.comparison.significance import (
    Moments,
    bca_interval,
    bootstrap_test,
    sign_test,
    t_interval,
    t_test,
    wilcoxon,
)
from cranfield.data.judging import Judging, JudgingOptions
from cranfield.errors import InputError, printable
from cranfield.formats.small.labels import label_rows
from cranfield.notes import Note, warn_of
from cranfield.options import refuse_others, takes
from cranfield.scoring.evaluate import MeasuresLike

_CORRECTIONS = {
    "holm": holm,
    "bonferroni": bonferroni,
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
}


class CompareOptions(SettingsOptions, AlignmentOptions, JudgingOptions, total=False):
    """The options of `compare`, as keywords."""


@takes(Settings, Alignment, Judging, without=("queries",))
def compare(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    *,
    slices: Any = None,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Compare systems over the same queries: differences, how sure they are, and where they are.

    Args:
        qrels: judgments, as `evaluate` takes them; or, without runs, scores: Systems, a list of
            Scores, a dict `{name: Scores}` or `{name: {query_id: value}}`; or saved per-query
            scores of any tool: a path, a list of paths, a table.
        runs: several runs, as `evaluate` takes them. None: the first argument holds scores.
        measures: which to compare; each has a table. [default: all there are; nDCG@10 of runs]
        slices: labels of queries, to compare on those of each label by themselves: a dict
            `{query_id: label}` or `{name: {query_id: label}}`, or a file or table with a column of
            query ids and one or more of labels.
        **options: each option of `Settings` and `Alignment`; of judgments and runs, of `Judging`,
            too.

    A measure with a geometric mean, such as GMAP, is compared by the ratio of the geometric means:
    tested are differences of logarithms, and `tie` and `rope` are differences of logarithms, too.

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
    refuse_others(compare, options)
    settings = Settings.of(options)
    aligned = align(qrels, runs, measures, Alignment.of(options), Judging.of(options))
    if not settings.all_pairs:
        settings = replace(settings, baseline=_baseline(aligned.names, settings.baseline))
    left, right = _pairs(aligned.names, settings.baseline)
    unjudged = unjudged_bounds(aligned, left, right, asked=settings.bounds)
    slicing: list[tuple[str | None, str | None, Bools]]
    slicing, notes = [(None, None, np.ones(len(aligned.query_ids), np.bool_))], [*aligned.notes]
    if slices is not None:
        labelled, said = _labelled(slices, aligned.query_ids)
        slicing += labelled
        notes += said
    results = []
    for label, name, rows in slicing:
        cells = _cells(aligned, left, right, settings, label, name, rows)
        adjusted = _adjusted(cells)
        families = _families(adjusted, aligned, settings)
        each = zip(cells, adjusted, families, unjudged, strict=True)
        results += [result_of(*one) for one in each]
    found = Comparison(aligned, settings, tuple(results), tuple(notes), settings.bounds)
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


def _cells(
    aligned: Aligned,
    left: Ints,
    right: Ints,
    settings: Settings,
    label: str | None,
    name: str | None,
    rows: Bools,
) -> list[Cell]:
    """Return every measure on some of the queries, each pair tested by itself."""
    flips = Flips(int(np.count_nonzero(rows)), settings.flips, settings.seed)
    found = []
    for measure, values in zip(aligned.measures, aligned.values, strict=True):
        scores = values[rows]
        paired = Paired(logs(aligned.known(measure), scores), left, right)
        moments = Moments.of(paired)
        if settings.test == "randomization" and flips.n_queries > 1:
            p, low, high = inverted(paired, flips, settings.alpha)
            interval = low, high, "randomization"
        else:
            p = _p_values(paired, moments, flips, settings)
            interval = _interval(paired, moments, flips, settings)
        which = aligned, settings, flips, measure, label, name, rows
        found.append(Cell(*which, scores, paired, moments, p, interval))
    return found


def _families(
    adjusted: Sequence[Floats], aligned: Aligned, settings: Settings
) -> list[Comparisons]:
    """Return the family of each measure's comparisons."""
    told = [int(np.count_nonzero(p <= settings.alpha)) for p in adjusted]
    sizes = [len(p) for p in adjusted]
    if settings.family == "all":
        told, sizes = [sum(told)] * len(told), [sum(sizes)] * len(sizes)
    if settings.correction in ("tukey", "rtukey"):  # which know no baseline
        sizes = [math.comb(len(aligned.names), 2)] * len(sizes)
    return [Comparisons(*one) for one in zip(sizes, told, strict=True)]


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


def _adjusted(cells: Sequence[Cell]) -> list[Floats]:
    """Return the p-values of each cell, adjusted for its family."""
    if cells[0].settings.family == "all":
        return _of_family(cells)
    return [_of_family([cell])[0] for cell in cells]


def _of_family(cells: Sequence[Cell]) -> list[Floats]:
    settings, flips = cells[0].settings, cells[0].flips
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
