"""correlate: how alike several measures, or several judgments, order the same systems."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any, Unpack

import numpy as np

from cranfield.arrays.products import matrix_product
from cranfield.arrays.ranked import Floats
from cranfield.comparison.settings import Alignment
from cranfield.comparison.significance import draw_resamples
from cranfield.data.judging import Judging
from cranfield.errors import InputError, MeasureError, OptionError
from cranfield.extensions import keywords
from cranfield.extensions.orderings.coefficients import (
    kendall,
    round_scores,
    spearman,
    tau_ap,
    tau_ap_a,
    tau_ap_b,
    weighted_tau,
)
from cranfield.extensions.orderings.discrimination import Discrimination
from cranfield.extensions.orderings.options import CorrelationSettings, SignFlips
from cranfield.extensions.orderings.ordering import Ordering, make_orderings
from cranfield.extensions.orderings.pairs import Correlation, OrderingPair, SwappedPair
from cranfield.extensions.orderings.rbo import rbo
from cranfield.measures import Measure, parse
from cranfield.notes import Note
from cranfield.options import refuse_unknown_options, takes
from cranfield.progress import Watching, add_progress
from cranfield.scoring.arguments import Reading
from cranfield.scoring.evaluate import MeasuresLike

_MIN_RELIABLE_QUERIES = 97  # in trials, the interval held as often as it says with so many


@add_progress
@takes(CorrelationSettings, Alignment, Reading, Judging, Watching, omit=("queries",))
def correlate(
    qrels: Any,
    runs: Any = None,
    measures: MeasuresLike | None = None,
    *,
    reference: str | Measure | None = None,
    **options: "Unpack[keywords.Correlate]",
) -> Correlation:
    """Say how alike several measures, or several judgments, order the same systems.

    Args:
        qrels: judgments, as `evaluate` takes them, or, without runs, scores, as `compare` takes
            them, for two or more measures; or several judgments of the same systems: `{label:
            Qrels or path}`, or, without runs, `{label: Systems}`. With several measures and
            judgments, a measure is compared with itself under each two judgments.
        runs: several runs, as `evaluate` takes them. None: the first argument holds scores.
        measures: which to compare. [default: all there are; nDCG@10 of runs]
        reference: a measure, or the label of the judgments, with which each other one is compared.
            [default: every two are compared, and the earlier one is the reference]
        **options: each option of `CorrelationSettings` and `Alignment`; of judgments and runs, of
            `Reading` and `Judging`, too.

    Measures of which less is better are turned: the first of an ordering is always the best. Where
    the mean is geometric, intervals and tests are of logarithms of the queries' values. The
    pairs that are swapped are tested by flipping the signs of queries' differences, each ordering
    alone, uncorrected.

    Raises:
        InputError: fewer than two orderings, other systems, or a score that is no number.
        MeasureError: a measure that does not exist or that there are no scores for.
        OptionError: an option out of its range; a reference that is not there, or is all there is.

    >>> old = {"nDCG": {"q1": 0.1, "q2": 0.4}, "RR": {"q1": 1.0, "q2": 0.5}}
    >>> new = {"nDCG": {"q1": 0.3, "q2": 0.5}, "RR": {"q1": 0.5, "q2": 0.5}}
    >>> found = correlate({"old": old, "new": new})
    >>> found.pairs[0].kendall.tau_b, found.pairs[0].swapped[0].better
    (-1.0, 'new')

    """
    refuse_unknown_options(correlate, options)
    settings = CorrelationSettings.of(options)
    systems, orderings, notes = make_orderings(qrels, runs, measures, options)
    if len(orderings) < 2:
        raise InputError(
            f"there is nothing to compare the ordering by {orderings[0].measure} with",
            hint="Name two measures or more, or give several judgments.",
        )
    pairs = tuple(
        _compare_orderings(systems, first, second, settings)
        for first, second in _pair_orderings(orderings, reference)
    )
    discrimination = Discrimination.of(orderings, settings) if settings.discrimination else None
    notes = (*_interval_notes(pairs, orderings), *notes)
    return Correlation(systems, orderings, pairs, notes, settings, discrimination)


def _interval_notes(pairs: Sequence[OrderingPair], orderings: Sequence[Ordering]) -> Iterator[Note]:
    """Yield a note on how often intervals of tau-b hold, if there are some and few queries."""
    n_queries = min(len(ordering.query_ids) for ordering in orderings)
    if n_queries < _MIN_RELIABLE_QUERIES and any(pair.interval is not None for pair in pairs):
        text = (
            "With few queries the interval of tau-b holds less often than it says, mostly as it is "
            "too low: in trials with TREC systems a 95% interval held in 80% of cases with "
            f"25 queries, in 90% with 43, and as it says with {_MIN_RELIABLE_QUERIES}."
        )
        yield Note("tau-interval", "info", text, n_queries)


def _pair_orderings(
    orderings: Sequence[Ordering], reference: str | Measure | None
) -> list[tuple[Ordering, Ordering]]:
    """Return the pairs of orderings to compare, the reference, or the earlier one, first."""
    measures_of_source: dict[str, set[str]] = {}
    for ordering in orderings:
        measures_of_source.setdefault(ordering.source, set()).add(ordering.measure)
    first_measures, *other_measures = measures_of_source.values()
    is_crossed = len(first_measures) > 1 and bool(other_measures)
    is_crossed = is_crossed and all(measures == first_measures for measures in other_measures)
    pairs = list(combinations(orderings, 2))
    if reference is not None:
        names = {str(reference), _canonical_name(str(reference))}
        references = [
            ordering for ordering in orderings if names & {ordering.label, ordering.source}
        ]
        if not references:
            labels = [
                *(ordering.label for ordering in orderings),
                *filter(None, measures_of_source),
            ]
            raise OptionError(
                f"reference={str(reference)!r:.80} is not there; there are {', '.join(labels)}"
            )
        if len(references) == len(orderings):
            raise OptionError(f"reference={str(reference)!r:.80} leaves nothing to compare it with")
        candidates = [ordering for ordering in orderings if ordering not in references]
        pairs = list(product(references, candidates))
    return [(a, b) for a, b in pairs if not is_crossed or a.measure == b.measure]


def _canonical_name(name: str) -> str:
    """Return a measure's own name, or a name that is no measure's as it is."""
    try:
        return str(parse(name))
    except MeasureError:
        return name


def _compare_orderings(
    systems: Sequence[str], reference: Ordering, other: Ordering, settings: CorrelationSettings
) -> OrderingPair:
    """Compute the coefficients of two orderings, the interval of tau-b, and the swapped pairs."""
    x, y = reference.merits, other.merits
    has_ties_x, has_ties_y = (len(np.unique(merits)) < len(systems) for merits in (x, y))
    same_queries = reference.query_ids == other.query_ids
    can_test = len(reference.query_ids) > 1 and len(other.query_ids) > 1
    taus, interval = np.zeros(0), None
    if same_queries and can_test:
        taus = _resample_taus(reference.query_merits, other.query_merits, settings)
    if len(taus):
        low, high = (np.quantile(taus, [settings.alpha / 2, 1 - settings.alpha / 2]) + 0.0).tolist()
        interval = low, high
    scores_x, scores_y = (dict(zip(systems, merits.tolist(), strict=True)) for merits in (x, y))
    swapped_pairs = _find_swapped_pairs(systems, reference, other, settings)
    return OrderingPair(
        reference.label,
        other.label,
        kendall(x, y),
        None if has_ties_x or has_ties_y else tau_ap(x, y),
        None if has_ties_x else tau_ap_a(x, y),
        tau_ap_b(x, y),
        weighted_tau(x, y),
        spearman(x, y),
        rbo(scores_x, scores_y, settings.rbo_p),
        same_queries,
        interval,
        len(taus),
        swapped_pairs,
        sum(pair.is_sure(settings.alpha) for pair in swapped_pairs) if can_test else None,
    )


def _find_swapped_pairs(
    systems: Sequence[str], reference: Ordering, other: Ordering, settings: SignFlips
) -> tuple[SwappedPair, ...]:
    """Return the pairs of systems that are ordered differently, with p-values of each ordering."""
    x, y = reference.merits, other.merits
    better, worse = np.nonzero((x[:, None] > x) & (y[:, None] < y))
    if not len(better):
        return ()
    p_columns = []
    for ordering in reference, other:
        p = ordering.p_values(better, worse, settings)
        p_columns.append([None] * len(better) if p is None else p.tolist())
    rows = zip(better.tolist(), worse.tolist(), *p_columns, strict=True)
    return tuple(SwappedPair(systems[i], systems[j], *p) for i, j, *p in rows)


def _resample_taus(x: Floats, y: Floats, settings: CorrelationSettings) -> Floats:
    """Return tau-b in each resample of the queries in which it has a value: (n_values,).

    `x` and `y` are (n_queries, n_systems).
    """
    n, m = x.shape
    first, second = np.triu_indices(m, 1)

    def compare_means(means: Floats) -> Floats:
        """Return 1, 0 or -1 for each pair of systems, by whether the first has the greater mean."""
        means = round_scores(means)
        signs: Floats = np.sign(means.take(first, axis=1) - means.take(second, axis=1))
        return signs

    taus = []
    for counts in draw_resamples(n, settings.resamples, settings.seed, 2 * len(first)):
        sign_x, sign_y = (compare_means(matrix_product(counts, values) / n) for values in (x, y))
        squared_norm = np.count_nonzero(sign_x, axis=1) * np.count_nonzero(sign_y, axis=1)
        has_tau = squared_norm > 0
        taus.append((sign_x * sign_y).sum(axis=1)[has_tau] / np.sqrt(squared_norm[has_tau]))
    return np.concatenate(taus)
