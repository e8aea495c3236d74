"""Intervals of what lists are like: grouped jackknife for runs, Student's t for means of users."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.ids import Ids
from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.flips import PairedScores
from cranfield.comparison.level import Level
from cranfield.comparison.mean_interval import mean_intervals
from cranfield.comparison.scale import clip_ends, score_range
from cranfield.comparison.significance import Moments, t_interval, t_interval_ends
from cranfield.errors import MeasureError, OptionError
from cranfield.extensions.lists.described import ListScores, values_of_run
from cranfield.extensions.lists.user_lists import Lists
from cranfield.measures import Measure
from cranfield.notes import Note, merge_notes
from cranfield.render.numbers import finite_or_none, format_interval, format_number, format_signed
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, make_table

N_GROUPS, FEWEST_USERS = 40, 20
_ALPHA = Level().alpha


class Estimate(NamedTuple):
    """A value, or a difference, and the ends of its interval; NaN: there is none."""

    value: float
    low: float = np.nan
    high: float = np.nan


@dataclass(frozen=True, eq=False, repr=False)
class ListIntervals(Shown):
    """Values of runs with their intervals, and those of their differences from the baseline."""

    header = (
        *("run", "measure", "value", "low", "high"),
        *("difference", "difference_low", "difference_high"),
    )

    estimates: Mapping[tuple[str, str], tuple[Estimate, Estimate]]  # {(run, measure): ...}
    baseline: str
    notes: tuple[Note, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each run and measure; what does not exist is None."""
        return self._rows_as_dicts(
            (*key, *map(finite_or_none, (*value, *difference)))
            for key, (value, difference) in self.estimates.items()
        )

    def tables(self) -> list[Table]:
        """Return one table, with a row for each run and measure."""
        has_rivals = len({run for run, _ in self.estimates}) > 1
        legend = "Intervals: for as many users of the same kind; more users cover more items."

        def show_ends(name: str) -> Any:
            names = f"{name}low", f"{name}high"
            return lambda row: format_interval(*map(row.get, names), signs=bool(name))

        columns = [
            *(Column(name, lambda row, name=name: row[name]) for name in self.header[:2]),
            Column("value", lambda row: format_number(row["value"])),
            Column("95% interval", show_ends(""), legend),
            Column(
                f"- {self.baseline}", lambda row: format_signed(row["difference"]), "", has_rivals
            ),
            Column("its 95% interval", show_ends("difference_"), "", has_rivals),
        ]
        return [make_table(self.rows(), columns, notes=self.notes, n_labels=2)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        notes = [note.to_dict() for note in self.notes]
        return {"baseline": self.baseline, "values": self.rows(), "notes": notes}


def assign_groups(lists: Sequence[Lists], user_ids: Ids) -> Ints:
    """Return the group of each user with a list, by code: dealt out by ids, at most 40; else -1."""
    users = np.unique(np.concatenate([part.user[part.lengths > 0] for part in lists]))
    users = users[user_ids.take(users).sort_keys().argsort()]
    group = np.full(len(user_ids), -1)
    group[users] = np.arange(len(users)) % min(N_GROUPS, max(len(users), 1))
    return group


def leave_groups_out(
    measures: Sequence[Measure], lists: Lists, group_of_user: Ints, fewest: int = FEWEST_USERS
) -> dict[str, Floats]:
    """Return {measure of a run: values without the lists of each group, (n_groups,)}.

    Of fewer than `fewest` users, there are none.
    """
    group, n_groups = group_of_user[lists.user], int(group_of_user.max(initial=-1)) + 1
    if np.count_nonzero(group_of_user >= 0) < fewest:
        return {}
    values = [values_of_run(measures, lists.take_users(group != i)) for i in range(n_groups)]
    return {name: np.array([part[name].value for part in values]) for name in values[0]}


def jackknife(value: float, values: Floats | None) -> Estimate:
    """Return a value with its interval, by the values without each of some groups: (n_groups,)."""
    if values is None:
        return Estimate(value)
    n = len(values)
    error = np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum())
    low, high = t_interval_ends(np.array([value]), np.array([error]), n - 1, _ALPHA)
    return Estimate(value, float(low[0]), float(high[0]))


def estimate_mean(value_of_user: Mapping[str, float], measure: Measure) -> Estimate:
    """Return the mean over users with its interval."""
    if len(value_of_user) < 2:
        return Estimate(*value_of_user.values() or (np.nan,))
    ((mean, low, high, _),) = mean_intervals(
        measure, np.array([*value_of_user.values()])[:, None], _ALPHA
    )
    return Estimate(mean, np.nan if low is None else low, np.nan if high is None else high)


def estimate_difference(
    value_of_user: Mapping[str, float], base_value_of_user: Mapping[str, float]
) -> Estimate:
    """Return the mean difference over the users of both, with its interval."""
    shared = [user for user in value_of_user if user in base_value_of_user]
    pairs = [value_of_user[user] - base_value_of_user[user] for user in shared]
    if len(pairs) < 2:
        return Estimate(*pairs or (np.nan,))
    moments = Moments.of(PairedScores.from_differences(np.array(pairs)[:, None]))
    ends = t_interval(moments, _ALPHA)
    return Estimate(*(float(number[0]) for number in (moments.mean, *ends)))


def find_intervals(
    scores: Sequence[ListScores], lists: Mapping[str, Lists], user_ids: Ids, baseline: str | None
) -> ListIntervals:
    """Return the intervals of all values, and of the differences from the baseline."""
    score_of_run = {run.name: run for run in scores}
    base = scores[0].name if baseline is None else baseline
    if base not in score_of_run:
        raise OptionError(f"baseline={base!r}: the runs are {', '.join(map(repr, score_of_run))}")
    measures, own_parts, joint_parts = scores[0].measures, {}, {}
    for measure in measures:
        if measure.definition.of != "run" and measure.definition.aggregation != "mean":
            text = "is no mean over users, and has no interval: leave it out"
            raise MeasureError(f"{measure} {text}")
    joint_groups = assign_groups([*lists.values()], user_ids)
    for name, part in lists.items():
        own_groups = assign_groups([part], user_ids)
        own_parts[name] = joint_parts[name] = leave_groups_out(measures, part, joint_groups)
        if (own_groups != joint_groups).any():  # of the users of a run alone
            own_parts[name] = leave_groups_out(measures, part, own_groups)
    estimates, names_without = {}, list[str]()
    for run in scores:
        for measure in measures:
            name, base_run = str(measure), score_of_run[base]
            if measure.definition.of == "run":
                estimate = jackknife(run[name], own_parts[run.name].get(name))
                low, high = map(np.array, estimate[1:])
                ends = clip_ends(low, high, *score_range(measure, np.array(run[name])))
                estimate = Estimate(run[name], *map(float, ends))
                parts, base_parts = (
                    joint_parts[run_name].get(name) for run_name in (run.name, base)
                )
                difference = jackknife(
                    run[name] - base_run[name],
                    None if parts is None or base_parts is None else parts - base_parts,
                )
                names_without += [name] * bool(np.isnan(estimate.low))
            else:
                values = run.per_query(measure)
                difference = estimate_difference(values, base_run.per_query(measure))
                estimate = estimate_mean(values, measure)
            difference = Estimate(np.nan) if run is base_run else difference
            estimates[run.name, name] = estimate, difference
    notes = merge_notes(((run.name, note) for run in scores for note in run.notes), len(scores))
    if names_without:
        names = ", ".join(dict.fromkeys(names_without))
        reason = f"fewer than {FEWEST_USERS} users, or a part of them without a value"
        notes.append(Note("no-interval", "info", f"No interval of {names}: {reason}."))
    return ListIntervals(estimates, base, tuple(notes))
