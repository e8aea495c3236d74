"""Training again: tests of whether systems of several runs would differ with other seeds, too."""

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
    if all(len(group.runs) == 1 for group in groups):
        return None
    groups = [replace(group, scores=group.scores[:, cell.queries.is_included]) for group in groups]
    measure_index = cell.aligned_scores.measures.index(cell.measure)
    seed_variances = seed_variance(groups, cell.parsed_measure, measure_index, cell.units)
    pair_columns = cell.paired_scores.left_column, cell.paired_scores.right_column
    moments = cell.unit_moments.add_variances(
        [seed_variances.variance[column] for column in pair_columns],
        [seed_variances.degrees[column] for column in pair_columns],
    )
    n_pairs = len(cell.paired_scores.left_column)
    p = t_test(moments) if moments.n_units > 1 else np.full(n_pairs, np.nan)
    return TrainingTests(moments, p, p)


def correct_tests(
    training_tests: Sequence[TrainingTests | None], settings: Settings
) -> list[TrainingTests | None]:
    """Return the tests of some measures, corrected for each measure or for all together.

    Corrections by flips, and those of means of all systems, have no counterpart here: Holm's
    replaces them. A pair without a p-value is no comparison.
    """
    correct = CORRECTIONS.get(str(settings.correction), CORRECTIONS["holm"])
    available = [tests for tests in training_tests if tests is not None]
    if settings.correction == "none" or not available:
        return list(training_tests)
    families = [available] if settings.family == "all" else [[tests] for tests in available]
    corrected_tests = []
    for family in families:
        p = np.concatenate([tests.p for tests in family])
        has_p = ~np.isnan(p)
        p[has_p] = correct(p[has_p])
        corrected_parts = np.split(p, np.cumsum([len(tests.p) for tests in family])[:-1])
        corrected_tests += [
            tests._replace(p_adjusted=corrected_p)
            for tests, corrected_p in zip(family, corrected_parts, strict=True)
        ]
    next_tests = iter(corrected_tests)
    return [None if tests is None else next(next_tests) for tests in training_tests]
