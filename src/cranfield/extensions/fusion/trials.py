"""Settings of fusion to try, for `tune`: which there are, the scores with each, and the best."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.significance import TIE
from cranfield.data.qrels import Qrels
from cranfield.data.run import Run
from cranfield.errors import OptionError
from cranfield.extensions.fusion.fuse import fuse
from cranfield.extensions.fusion.fused_rows import FusedRows
from cranfield.extensions.fusion.fusing import Fusing, Method
from cranfield.extensions.fusion.methods import METHODS
from cranfield.lazy import cached_property
from cranfield.measures import Measure
from cranfield.progress import watch_steps
from cranfield.scoring.evaluate import score_runs

TuningTarget = Literal["weights", "parameter"]
Setting = Mapping[str, float]  # {run: weight}, or {parameter: value}

_MAX_SETTINGS = 3_000  # settings: with more, it takes very long, and the best is a matter of chance
_MAX_DEFAULT_SETTINGS = 300  # settings, unless `steps` says otherwise
# {parameter: (whole numbers, divisor)}: the values tried are number / divisor.
_GRIDS: Mapping[str, tuple[Sequence[int], int]] = {
    "k": ((1, 2, 5, *range(10, 110, 10), 150, 200, 300, 500, 1000), 1),
    "gamma": (range(1, 21), 10),
    "sigma": ((1, 2, 5, 10, 20, 50, 100), 100),
    "phi": (range(5, 100, 5), 100),
}


@dataclass(frozen=True)
class Trials:
    """Settings to try: the runs are fused with each, and scored."""

    qrels: Qrels
    runs: Mapping[str, Run]
    method: Method
    over: TuningTarget
    measure: Measure
    fixed_options: Mapping[str, Any]  # of fusion, the same for all settings
    settings: Sequence[Setting]
    untuned_setting: Setting

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher value of the measure is better."""
        return self.measure.definition.higher_is_better is not False

    def fuse(self, setting: Setting | None) -> Run:
        """Return the runs fused with a setting; None: with equal weights."""
        options = setting or {} if self.over == "parameter" else {"weights": setting}
        all_options: Any = {**self.fixed_options, **options}
        run = fuse(self.runs, self.method, **all_options)
        rows = run.rows
        assert isinstance(rows, FusedRows)  # noqa: S101 - fuse makes it of these
        rows.is_quiet = True  # its notes are given once, with the others
        return run

    def score_all(self, untuned_run: Run) -> tuple[list[str], Floats, Floats]:
        """Return the query ids, the untuned scores, (n,), and each setting's, (n_settings, n)."""
        scores = [self._score(untuned_run)]
        scores += [
            self._score(self.fuse(setting)) for setting in watch_steps(self.settings, "settings")
        ]
        query_ids = [*self.qrels.query_ids]
        table = np.array([[by_query[query] for query in query_ids] for by_query in scores])
        return query_ids, table[0], table[1:]

    def _score(self, run: Run) -> Mapping[str, float]:
        """Return {query: score} of a run."""
        scores = score_runs(self.qrels, {"run": run}, [self.measure])["run"]
        by_query: Mapping[str, float] = scores.per_query(self.measure)
        return by_query

    def find_best(self, means: Floats) -> int:
        """Return the position of the setting with the best mean: `means` is (n_settings,).

        Of tied settings, the nearest to the untuned one is taken.
        """
        sign = 1 if self.higher_is_better else -1
        best = (sign * means).max()
        tied_settings = np.flatnonzero(sign * means >= best - TIE)
        return int(tied_settings[self._distance_rank[tied_settings].argmin()])

    @cached_property
    def _distance_rank(self) -> Ints:
        """The rank of each setting by its distance from the untuned one: (n_settings,).

        Of settings as far, the weights by the names of runs decide: the order of runs changes
        nothing.
        """
        keys = [
            (round(self._distance(setting), 12), [setting[name] for name in sorted(setting)])
            for setting in self.settings
        ]
        rank = np.empty(len(keys), np.int64)
        rank[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
        return rank

    def _distance(self, setting: Setting) -> float:
        """Return a setting's squared distance from the untuned one.

        Of a parameter: the size of the difference, of logarithms if both values are above 0.
        """
        pairs = [*zip(setting.values(), self.untuned_setting.values(), strict=True)]
        if len(pairs) == 1:
            ((value, untuned_value),) = pairs
            is_log = value > 0 and untuned_value > 0
            return abs(math.log(value / untuned_value)) if is_log else abs(value - untuned_value)
        return math.fsum((weight - untuned_weight) ** 2 for weight, untuned_weight in pairs)


def list_settings(
    method: Method, over: TuningTarget, names: Sequence[str], n_parts: int | None, fusing: Fusing
) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Return the settings to try, and the untuned one; `names` are those of the runs.

    `n_parts` is as `Tuning.steps`. Raises OptionError if nothing, or too much, is there to try.
    """
    formula = METHODS[method]
    if not formula.is_weighted and formula.parameter is None:
        raise OptionError(f"{method} has neither weights nor a parameter to choose")
    if over == "parameter":
        if formula.parameter is None:
            able = ", ".join(name for name, other in METHODS.items() if other.parameter)
            raise OptionError(f"over='parameter': {method} has none; {able} have one")
        if n_parts is not None:
            raise OptionError(f"steps={n_parts} divides weights: over='parameter' has none")
        numbers, divisor = _GRIDS[formula.parameter]
        settings = [{formula.parameter: number / divisor} for number in numbers]
        return settings, {formula.parameter: getattr(fusing, formula.parameter)}
    if not formula.is_weighted:
        able = ", ".join(name for name, other in METHODS.items() if other.is_weighted)
        raise OptionError(f"over='weights': {method} has no form with weights; {able} have one")
    n_parts = count_parts(n_parts, len(names))
    n = _count_settings(n_parts, len(names))
    if n > _MAX_SETTINGS:
        raise OptionError(
            f"steps={n_parts}: {n:,} settings of {len(names)} runs, more than {_MAX_SETTINGS:,}: "
            "fewer steps, or fewer runs"
        )
    settings = [
        {name: part / n_parts for name, part in zip(names, parts, strict=True)}
        for parts in _compositions(n_parts, len(names))
    ]
    return settings, dict.fromkeys(names, 1 / len(names))


def count_parts(n_stated: int | None, n_runs: int) -> int:
    """Return into how many parts weights divide 1: 10, or the most with few enough settings, or 1.

    `n_stated` is the number that was stated, or None.
    """
    if n_stated is not None:
        return n_stated
    return max(
        (n for n in range(1, 11) if _count_settings(n, n_runs) <= _MAX_DEFAULT_SETTINGS), default=1
    )


def _count_settings(n_parts: int, n_runs: int) -> int:
    """Return how many ways there are to give n parts to runs."""
    return math.comb(n_parts + n_runs - 1, n_runs - 1)


def _compositions(total: int, n: int) -> Iterator[tuple[int, ...]]:
    """Yield all tuples of n whole numbers of at least 0 whose sum is `total`."""
    for bars in combinations(range(total + n - 1), n - 1):
        ends = (-1, *bars, total + n - 1)
        yield tuple(b - a - 1 for a, b in pairwise(ends))
