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
    """Return each system's name and the places of its runs, in the order of the first of them.

    `runs` are what names those of each group, `deterministic` the systems without seeds. A run that
    is in no group is a system of its own. `names` are those of all runs, `paths` the files of each,
    if these are known. Raises InputError for what names no run, for a run in two
    groups, and for a group called as a run that is not in it.
    """
    of_run: dict[int, str] = {}
    for group, wanted in _expand_templates(patterns_of_group, run_names):
        for one in wanted:
            found = [i for i, name in enumerate(run_names) if _matches_run(one, name, paths_of_run.get(name, ()))]
            if not found:
                raise InputError(
                    f"the group {group!r:.80}: there is no run {one!r:.80}",
                    hint=f"The runs are {', '.join(map(escape_unprintable, run_names))}.",
                )
            for i in found:
                if of_run.setdefault(i, group) != group:
                    raise InputError(
                        f"the run {run_names[i]!r:.80} is in two groups, {of_run[i]!r:.80} and "
                        f"{group!r:.80}"
                    )
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(run_names):
        group = of_run.get(i, name)
        if i not in of_run and group in of_run.values():
            raise InputError(
                f"a group and a run that is not in it are both called {group!r:.80}",
                hint="Name the group otherwise, or add the run to it.",
            )
        groups.setdefault(group, []).append(i)
    for one in deterministic:
        if one not in groups:
            raise InputError(
                f"deterministic: there is no system {one!r:.80}",
                hint=f"The systems are {', '.join(map(escape_unprintable, groups))}.",
            )
        if len(groups[one]) > 1:
            raise InputError(
                f"deterministic: {one!r:.80} has {len(groups[one]):,} runs",
                hint="A system without seeds has one: leave the option out for it.",
            )
    return list(groups.items())


def _expand_templates(
    groups: Mapping[str, Sequence[str]], run_names: Sequence[str]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each group and what names its runs; a template makes a group of each name in it."""
    for group, wanted in groups.items():
        if group != TEMPLATE:
            yield group, wanted
            continue
        for template in wanted:
            before, _, after = template.partition(TEMPLATE)
            parts = (f"{re.escape(one)}".replace(r"\*", ".*") for one in (before, after))
            pattern = re.compile("(.+)".join(parts), re.DOTALL)
            found = [(name, match[1]) for name in run_names if (match := pattern.fullmatch(name))]
            if not found:
                raise InputError(
                    f"groups: no run is called as in {template!r:.80}",
                    hint=f"The runs are {', '.join(map(escape_unprintable, run_names))}.",
                )
            for name, system in found:
                yield system, [re.sub(r"([*?[])", r"[\1]", name)]


def _matches_run(pattern: str, run_name: str, paths: Sequence[str]) -> bool:
    """Tell whether a run is meant: by its name or file, or by a pattern of them."""
    if pattern == run_name or fnmatchcase(run_name, pattern):
        return True
    return any(
        fnmatchcase(path, pattern) or os.path.realpath(path) == os.path.realpath(pattern)
        for path in paths
    )


def average_runs(measure: Measure | None, scores: Floats) -> Floats:
    """Return the mean of each query's scores: (n_queries, n_runs) -> (n_queries,).

    For a measure with a geometric mean, that is the geometric one.
    """
    first, *others = to_compared_unit(measure, scores).T
    found: Floats = sum(others, first) / (1 + len(others))
    return np.exp(found) if is_geometric(measure) else found


def list_notes(groups: Sequence[SeedGroup]) -> list[Note]:
    """Return a note on the numbers of runs, if there are several of a system."""
    several = [one for one in groups if len(one.runs) > 1]
    if not several:
        return []
    of_each = ", ".join(f"{escape_unprintable(one.name)} of {len(one.runs):,}" for one in several)
    return [Note("runs", "info", f"Means of several runs: {of_each}.", len(several))]


def training_notes(groups: Sequence[SeedGroup]) -> Iterator[Note]:
    """Yield notes on what a comparison of such means is about, and on what it cannot say."""
    if all(len(one.runs) == 1 for one in groups):
        if groups:
            text = "Each group has one run: it is as if there were no groups."
            yield Note("one-run-each", "warning", text, count=len(groups))
        return
    text = (
        "Tests and intervals are about these trained models. Those of the table `training again` "
        "of compare allow for other seeds, too."
    )
    yield Note("these-models", "info", text)
    few = [f"{escape_unprintable(one.name)} {len(one.runs)}" for one in groups if len(one.runs) in (2, 3)]
    if few:
        text = (
            f"Systems of few runs ({', '.join(few)}): intervals of training again are then often "
            "too narrow. 95% intervals held the true difference in 85 to 96% of simulated cases "
            "with two runs of a system, in 91 to 97% with three, in 93 to 96% with five."
        )
        grave = any(len(one.runs) == 2 for one in groups)
        yield Note("few-runs", "warning" if grave else "info", text, len(few))
    same = [escape_unprintable(one.name) for one in groups if _has_twin_runs(one)]
    if same:
        text = (
            f"Runs of {', '.join(same)} have the same scores on every query: are they one run? "
            "A copy has no other seed, and makes p and intervals of training again too small."
        )
        yield Note("same-runs", "warning", text, count=len(same))
    alone = [escape_unprintable(one.name) for one in groups if not one.shows_seed_effect]
    if alone:
        text = (
            f"One run cannot tell what other seeds would change: training {', '.join(alone)} "
            "again has no test. A system without seeds, such as BM25, is named by "
            "deterministic= (--deterministic)."
        )
        yield Note("one-seed", "info", text, len(alone))


def _has_twin_runs(group: SeedGroup) -> bool:
    """Tell whether two runs of a system have the same scores under every measure."""
    columns = {group.scores[:, :, i].tobytes() for i in range(len(group.runs))}
    return len(columns) < len(group.runs)


def seed_variance(
    groups: Sequence[SeedGroup], measure: Measure | None, measure_index: int, units: Units
) -> AddedVariance:
    """Return what seeds add under the measure at a place, given the units of queries.

    The variance of the runs' means has a part that comes from the queries, by which the runs differ
    on single queries; it is subtracted, since the variance over the queries has it already. The
    rest is divided by the number of runs.
    """
    variance, degrees = np.full(len(groups), np.nan), np.full(len(groups), np.inf)
    for i, one in enumerate(groups):
        n_runs = len(one.runs)
        if one.is_deterministic:
            variance[i] = 0.0
        elif n_runs > 1:
            variance[i] = _group_variance(to_compared_unit(measure, one.scores[measure_index]), units)
            degrees[i] = n_runs - 1
    return AddedVariance(variance, degrees)


def _group_variance(scores: Floats, units: Units) -> float:
    """Return what the seeds of one system add to the variance of its mean: (n_queries, n_runs)."""
    n_runs = int(scores.shape[1])
    alone = PairedScores.from_differences(scores - scores.mean(axis=1, keepdims=True))
    of_queries = Moments.of(units.pair_units(alone)).error
    between = float(scores.mean(axis=0).var(ddof=1))
    within = float((of_queries**2).sum()) / (n_runs - 1)
    return max(0.0, between - within) / n_runs
