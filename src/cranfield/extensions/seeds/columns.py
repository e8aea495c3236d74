"""Seeds: what several runs of a system add to a comparison."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Ints, mean
from cranfield.comparison.alignment import Aligned
from cranfield.comparison.cells import Cell
from cranfield.comparison.extra_columns import Columns, ExtraColumns
from cranfield.comparison.result import Result, verdicts
from cranfield.comparison.scale import cut, ends_of, is_geometric, logs, range_of
from cranfield.comparison.settings import Settings
from cranfield.comparison.significance import t_interval
from cranfield.errors import OptionError
from cranfield.extensions.seeds import training
from cranfield.extensions.seeds.seed_tables import seeds_of
from cranfield.extensions.seeds.seeds import Group, on_training
from cranfield.notes import Note
from cranfield.render.table import Table


class Seeds(ExtraColumns):
    """The runs of each system."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = groups

    def for_pairs(self, aligned: Aligned, settings: Settings, left: Ints, right: Ints) -> "Seeds":
        """Refuse bounds, which are of single runs."""
        if settings.bounds:
            raise OptionError("bounds=True applies to single runs: leave it or the groups out")
        return self

    def columns_of_pairs(self, cells: Sequence[Cell], settings: Settings) -> list[Columns]:
        """Return whether the systems differ when trained again."""
        retrained = [training.trained(self.groups, cell) for cell in cells]
        return [
            {} if tests is None else _columns(cell, tests)
            for cell, tests in zip(cells, training.corrected(retrained, settings), strict=True)
        ]

    def columns_of_systems(self, cell: Cell) -> Columns:
        """Return the means of each system's runs, and their standard deviation."""
        place = cell.aligned.measures.index(cell.measure)
        runs: list[dict[str, float]] = []
        sds: list[float | None] = []
        for group in self.groups:
            columns = logs(cell.known, group.values[place][cell.queries.rows]).T
            means = [mean(column) for column in columns]
            means = list(map(math.exp, means)) if is_geometric(cell.known) else means
            runs.append(dict(zip(group.runs, means, strict=True)))
            sds.append(float(np.std(means, ddof=1)) if len(means) > 1 else None)
        return {"runs": runs, "seed_sd": sds}

    def tables(self, result: Result, settings: Settings) -> list[Table]:
        """Return the runs of each system, and the systems as trained again."""
        return seeds_of(result, settings)

    def notes(self) -> Iterator[Note]:
        """Yield what a comparison of such means is about."""
        return on_training(self.groups)

    def to_dict(self, aligned: Aligned) -> Mapping[str, Any]:
        """Return the scores of each run."""
        return {
            "run_scores": {
                measure: {
                    run: column
                    for group in self.groups
                    for run, column in zip(group.runs, group.values[i].T.tolist(), strict=True)
                }
                for i, measure in enumerate(aligned.measures)
            }
        }


def _columns(cell: Cell, tests: training.Trained) -> Columns:
    """Return the interval, the tests and the verdict of each pair, trained again."""
    low, high = t_interval(tests.moments, cell.settings.alpha)
    least, most = ends_of(cell.known, *range_of(cell.known, cell.scores))
    low, high = cut(low, high, least - most, most - least)
    is_significant = tests.p_adjusted <= cell.settings.alpha
    return {
        "training_low": low,
        "training_high": high,
        "training_p": tests.p,
        "training_p_adjusted": tests.p_adjusted,
        "training_df": np.where(np.isnan(tests.p), np.nan, tests.moments.degrees),
        "training_verdict": verdicts(is_significant, cell.moments.mean, rising=cell.rising),
    }
