"""Seed columns: what a comparison shows of systems that have several runs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Ints, mean
from cranfield.comparison.aligned_scores import AlignedScores
from cranfield.comparison.cells import Cell
from cranfield.comparison.extra_columns import ExtraColumns, ValueColumns
from cranfield.comparison.result import Result, find_verdicts
from cranfield.comparison.scale import (
    clip_ends,
    compared_range,
    is_geometric,
    score_range,
    to_compared_unit,
)
from cranfield.comparison.settings import Settings
from cranfield.comparison.significance import t_interval
from cranfield.errors import OptionError
from cranfield.extensions.seeds import training
from cranfield.extensions.seeds.seed_tables import make_seed_tables
from cranfield.extensions.seeds.seeds import SeedGroup, training_notes
from cranfield.notes import Note
from cranfield.render.table import Table


class SeedColumns(ExtraColumns):
    """The means and spread of the runs of each system, and tests of training them again."""

    def __init__(self, groups: Sequence[SeedGroup]) -> None:
        self.groups = groups

    def prepare(
        self,
        aligned_scores: AlignedScores,
        settings: Settings,
        left_column: Ints,
        right_column: Ints,
    ) -> "SeedColumns":
        """Refuse bounds, which apply to single runs."""
        if settings.bounds:
            raise OptionError("bounds=True applies to single runs: leave it or the groups out")
        return self

    def pair_columns(self, cells: Sequence[Cell], settings: Settings) -> list[ValueColumns]:
        """Return the tests of whether the systems of each pair differ when trained again."""
        tests_of_cells = [training.compare_retrained(self.groups, cell) for cell in cells]
        tests_of_cells = training.correct_tests(tests_of_cells, settings)
        return [
            {} if tests is None else _training_columns(cell, tests)
            for cell, tests in zip(cells, tests_of_cells, strict=True)
        ]

    def system_columns(self, cell: Cell) -> ValueColumns:
        """Return the means of each system's runs, and their standard deviation; None for one."""
        measure_index = cell.aligned_scores.measures.index(cell.measure)
        runs: list[dict[str, float]] = []
        sds: list[float | None] = []
        for group in self.groups:
            scores = group.scores[measure_index][cell.queries.is_included]
            means = [mean(column) for column in to_compared_unit(cell.parsed_measure, scores).T]
            means = list(map(math.exp, means)) if is_geometric(cell.parsed_measure) else means
            runs.append(dict(zip(group.runs, means, strict=True)))
            sds.append(float(np.std(means, ddof=1)) if len(means) > 1 else None)
        return {"runs": runs, "seed_sd": sds}

    def tables(self, result: Result, settings: Settings) -> list[Table]:
        """Return the runs of each system, and the systems as trained again."""
        return make_seed_tables(result, settings)

    def notes(self) -> Iterator[Note]:
        """Yield notes on what a comparison of means of runs shows."""
        return training_notes(self.groups)

    def to_dict(self, aligned_scores: AlignedScores) -> Mapping[str, Any]:
        """Return the scores of each run."""
        run_scores: dict[str, dict[str, list[float]]] = {}
        for i, measure in enumerate(aligned_scores.measures):
            run_scores[measure] = {}
            for group in self.groups:
                columns = group.scores[i].T.tolist()
                run_scores[measure] |= zip(group.runs, columns, strict=True)
        return {"run_scores": run_scores}


def _training_columns(cell: Cell, tests: training.TrainingTests) -> ValueColumns:
    """Return the interval, the tests and the verdict of each pair, trained again."""
    low, high = t_interval(tests.moments, cell.settings.alpha)
    measure = cell.parsed_measure
    lowest, highest = compared_range(measure, *score_range(measure, cell.scores))
    low, high = clip_ends(low, high, lowest - highest, highest - lowest)
    is_significant = tests.p_adjusted <= cell.settings.alpha
    return {
        "training_low": low,
        "training_high": high,
        "training_p": tests.p,
        "training_p_adjusted": tests.p_adjusted,
        "training_df": np.where(np.isnan(tests.p), np.nan, tests.moments.degrees),
        "training_verdict": find_verdicts(
            is_significant, cell.moments.mean, higher_is_better=cell.higher_is_better
        ),
    }
