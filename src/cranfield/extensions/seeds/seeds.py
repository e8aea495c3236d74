"""Seeds: several runs of one system, which differ because it was trained with other seeds.

A system is then the mean of its runs, query by query. Two questions have two answers. Whether these
trained models differ depends on the queries alone. Whether the procedure that trains them would
differ again depends on the seeds, too: queries and seeds are crossed random effects, and the
variance of a mean is what the queries add plus what the seeds add (Dorfman, Berbaum & Metz,
Investigative Radiology 1992; Hillis, Statistics in Medicine 2007, where readers are what seeds are
here), with the degrees of freedom of Satterthwaite (Biometrics Bulletin 1946). Why it matters:
Bouthillier et al., MLSys 2021.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.flips import PairedScores
from cranfield.comparison.scale import is_geometric, to_compared_unit
from cranfield.comparison.significance import AddedVariance, Moments
from cranfield.comparison.units import Units
from cranfield.errors import InputError, escape_unprintable
from cranfield.measures import Measure
from cranfield.notes import Note

TEMPLATE = "{}"  # stands for the name of a system


@dataclass(frozen=True, eq=False)
class SeedGroup:
    """The runs of one system, and their scores."""

    name: str
    runs: tuple[str, ...]
    scores: Floats  # (n_measures, n_queries, n_runs)
    is_deterministic: bool = False  # another seed changes nothing

    @property
    def shows_seed_effect(self) -> bool:
        """Whether it is known how much other seeds change."""
        return self.is_deterministic or len(self.runs) > 1


def find_groups(
    patterns_of_group: Mapping[str, Sequence[str]],
    deterministic: Sequence[str],
    run_names: Sequence[str],
    paths_of_run: Mapping[str, Sequence[str]],
) -> list[tuple[str, list[int]]]:
    """Return each system and the indices of its runs, in the order of their first runs.

    `patterns_of_group` has the names, files or patterns of each group's runs, `deterministic` the
    systems without seeds, `paths_of_run` the files of runs, as far as they are known. A run that is
    in no group is a system of its own. Raises InputError for a pattern that names no run, for a run
    in two groups, for a group called as a run that is in no group, and for a system without seeds
    that does not exist or has several runs.
    """
    group_of_run: dict[int, str] = {}
    for group, patterns in _expand_templates(patterns_of_group, run_names):
        for pattern in patterns:
            run_indices = [
                run_index
                for run_index, name in enumerate(run_names)
                if _matches_run(pattern, name, paths_of_run.get(name, ()))
            ]
            if not run_indices:
                raise InputError(
                    f"the group {group!r:.80}: there is no run {pattern!r:.80}",
                    hint=f"The runs are {', '.join(map(escape_unprintable, run_names))}.",
                )
            for run_index in run_indices:
                if group_of_run.setdefault(run_index, group) != group:
                    raise InputError(
                        f"the run {run_names[run_index]!r:.80} is in two groups, "
                        f"{group_of_run[run_index]!r:.80} and {group!r:.80}"
                    )
    groups: dict[str, list[int]] = {}
    for run_index, name in enumerate(run_names):
        group = group_of_run.get(run_index, name)
        if run_index not in group_of_run and group in group_of_run.values():
            raise InputError(
                f"a group and a run that is not in it are both called {group!r:.80}",
                hint="Name the group otherwise, or add the run to it.",
            )
        groups.setdefault(group, []).append(run_index)
    for system in deterministic:
        if system not in groups:
            raise InputError(
                f"deterministic: there is no system {system!r:.80}",
                hint=f"The systems are {', '.join(map(escape_unprintable, groups))}.",
            )
        if len(groups[system]) > 1:
            raise InputError(
                f"deterministic: {system!r:.80} has {len(groups[system]):,} runs",
                hint="A system without seeds has one: leave the option out for it.",
            )
    return list(groups.items())


def _expand_templates(
    patterns_of_group: Mapping[str, Sequence[str]], run_names: Sequence[str]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each group and the patterns of its runs; a template makes one of each name at `{}`."""
    for group, patterns in patterns_of_group.items():
        if group != TEMPLATE:
            yield group, patterns
            continue
        for template in patterns:
            prefix, _, suffix = template.partition(TEMPLATE)
            escaped_affixes = (
                f"{re.escape(affix)}".replace(r"\*", ".*") for affix in (prefix, suffix)
            )
            pattern = re.compile("(.+)".join(escaped_affixes), re.DOTALL)
            matches = [(name, match[1]) for name in run_names if (match := pattern.fullmatch(name))]
            if not matches:
                raise InputError(
                    f"groups: no run is called as in {template!r:.80}",
                    hint=f"The runs are {', '.join(map(escape_unprintable, run_names))}.",
                )
            for name, system in matches:
                yield system, [re.sub(r"([*?[])", r"[\1]", name)]


def _matches_run(pattern: str, run_name: str, paths: Sequence[str]) -> bool:
    """Tell whether a pattern is the name or a file of a run, or matches one of these."""
    if pattern == run_name or fnmatchcase(run_name, pattern):
        return True
    return any(
        fnmatchcase(path, pattern) or os.path.realpath(path) == os.path.realpath(pattern)
        for path in paths
    )


def average_runs(measure: Measure | None, scores: Floats) -> Floats:
    """Return the mean of each query's scores: (n_queries, n_runs) -> (n_queries,).

    It is the geometric mean for a measure whose mean over queries is geometric.
    """
    first_run, *later_runs = to_compared_unit(measure, scores).T
    mean_scores: Floats = sum(later_runs, first_run) / (1 + len(later_runs))
    return np.exp(mean_scores) if is_geometric(measure) else mean_scores


def list_notes(groups: Sequence[SeedGroup]) -> list[Note]:
    """Return a note on the numbers of runs, if there are several of a system."""
    groups_of_runs = [group for group in groups if len(group.runs) > 1]
    if not groups_of_runs:
        return []
    run_counts = ", ".join(
        f"{escape_unprintable(group.name)} of {len(group.runs):,}" for group in groups_of_runs
    )
    return [
        Note("runs", "info", f"Means of several runs: {run_counts}.", count=len(groups_of_runs))
    ]


def training_notes(groups: Sequence[SeedGroup]) -> Iterator[Note]:
    """Yield notes on what a comparison of means of runs shows, and on what it cannot show."""
    if all(len(group.runs) == 1 for group in groups):
        if groups:
            text = "Each group has one run: it is as if there were no groups."
            yield Note("one-run-each", "warning", text, count=len(groups))
        return
    text = (
        "Tests and intervals are about these trained models. Those of the table `training again` "
        "of compare allow for other seeds, too."
    )
    yield Note("these-models", "info", text)
    small_systems = [
        f"{escape_unprintable(group.name)} {len(group.runs)}"
        for group in groups
        if len(group.runs) in (2, 3)
    ]
    if small_systems:
        text = (
            f"Systems of few runs ({', '.join(small_systems)}): intervals of training again are "
            "then often too narrow. 95% intervals held the true difference in 85 to 96% of "
            "simulated cases with two runs of a system, in 91 to 97% with three, in 93 to 96% with "
            "five."
        )
        is_grave = any(len(group.runs) == 2 for group in groups)
        yield Note("few-runs", "warning" if is_grave else "info", text, count=len(small_systems))
    twin_systems = [escape_unprintable(group.name) for group in groups if _has_twin_runs(group)]
    if twin_systems:
        text = (
            f"Runs of {', '.join(twin_systems)} have the same scores on every query: are they one "
            "run? A copy has no other seed, and makes p and intervals of training again too small."
        )
        yield Note("same-runs", "warning", text, count=len(twin_systems))
    single_run_systems = [
        escape_unprintable(group.name) for group in groups if not group.shows_seed_effect
    ]
    if single_run_systems:
        text = (
            "One run cannot tell what other seeds would change: training "
            f"{', '.join(single_run_systems)} again has no test. A system without seeds, such as "
            "BM25, is named by deterministic= (--deterministic)."
        )
        yield Note("one-seed", "info", text, count=len(single_run_systems))


def _has_twin_runs(group: SeedGroup) -> bool:
    """Tell whether two runs of a system have the same scores under every measure."""
    columns = {group.scores[:, :, i].tobytes() for i in range(len(group.runs))}
    return len(columns) < len(group.runs)


def seed_variance(
    groups: Sequence[SeedGroup], measure: Measure | None, measure_index: int, units: Units
) -> AddedVariance:
    """Return the variance that seeds add to the mean of each system under a measure.

    It is 0 for a system without seeds, NaN for another that has one run.
    The variance of the runs' means has a part that comes from the queries, by which the runs differ
    on single queries; it is subtracted, since the variance over the queries has it already. The
    rest is divided by the number of runs.
    """
    variance, degrees = np.full(len(groups), np.nan), np.full(len(groups), np.inf)
    for i, group in enumerate(groups):
        n_runs = len(group.runs)
        if group.is_deterministic:
            variance[i] = 0.0
        elif n_runs > 1:
            variance[i] = _group_variance(
                to_compared_unit(measure, group.scores[measure_index]), units
            )
            degrees[i] = n_runs - 1
    return AddedVariance(variance, degrees)


def _group_variance(scores: Floats, units: Units) -> float:
    """Return the variance that seeds add to a system's mean; `scores` are (n_queries, n_runs)."""
    n_runs = int(scores.shape[1])
    deviations = PairedScores.from_differences(scores - scores.mean(axis=1, keepdims=True))
    query_errors = Moments.of(units.pair_units(deviations)).error
    variance_between = float(scores.mean(axis=0).var(ddof=1))
    variance_within = float((query_errors**2).sum()) / (n_runs - 1)
    return max(0.0, variance_between - variance_within) / n_runs
