"""Training again: whether systems of several runs would differ with other seeds, too."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.cells import Cell
from cranfield.comparison.corrections import CORRECTIONS
from cranfield.comparison.settings import Settings
from cranfield.comparison.significance import Moments, t_test
from cranfield.extensions.seeds.seeds import SeedGroup, seed_variance


class TrainingTests(NamedTuple):
    """The t-test of each pair, if systems were trained again: (n_pairs,); NaN where there is none.

    The moments are those of the queries, or clusters, with what the seeds add.
    """

    moments: Moments
    p: Floats
    p_adjusted: Floats


def compare_retrained(groups: Sequence[SeedGroup], cell: Cell) -> TrainingTests | None:
    """Return the tests of pairs on some queries, not corrected; None without several runs."""
    if all(len(one.runs) == 1 for one in groups):
        return None
    groups = [replace(one, values=one.scores[:, cell.queries.is_included]) for one in groups]
    at = cell.aligned_scores.measures.index(cell.measure)
    seeds = seed_variance(groups, cell.parsed_measure, at, cell.units)
    both = cell.paired_scores.left_column, cell.paired_scores.right_column
    moments = cell.unit_moments.add_variances(
        [seeds.variance[one] for one in both], [seeds.degrees[one] for one in both]
    )
    p = t_test(moments) if moments.n_units > 1 else np.full(len(cell.paired_scores.left_column), np.nan)
    return TrainingTests(moments, p, p)


def correct_tests(training_tests: Sequence[TrainingTests | None], settings: Settings) -> list[TrainingTests | None]:
    """Return the tests of some measures, corrected for each measure or for all together.

    Corrections by flips, and those of means of all systems, have no counterpart here: Holm's
    replaces them. A pair without a p-value is no comparison.
    """
    of_pairs = CORRECTIONS.get(str(settings.correction), CORRECTIONS["holm"])
    there = [one for one in training_tests if one is not None]
    if settings.correction == "none" or not there:
        return list(training_tests)
    families = [there] if settings.family == "all" else [[one] for one in there]
    done = []
    for family in families:
        p = np.concatenate([one.p for one in family])
        known = ~np.isnan(p)
        p[known] = of_pairs(p[known])
        parts = np.split(p, np.cumsum([len(one.p) for one in family])[:-1])
        done += [one._replace(p_adjusted=part) for one, part in zip(family, parts, strict=True)]
    each = iter(done)
    return [None if one is None else next(each) for one in training_tests]
