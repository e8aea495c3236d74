"""Intervals of what lists are like: grouped jackknife for runs, Student's t for means of users."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Floats, Ints
from cranfield.comparison.flips import PairedScores
from cranfield.comparison.level import Level
from cranfield.comparison.mean_interval import MeanInterval, mean_intervals
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


@dataclass(frozen=True, eq=False, repr=False)
class ListIntervals(Shown):
    """Values of runs with their intervals, and those of their differences from the baseline."""

    header = (
        *("run", "measure", "value", "low", "high"),
        *("difference", "difference_low", "difference_high"),
    )

    values: Sequence[Mapping[str, Any]]  # {column: cell}; what does not exist is None
    baseline: str
    notes: tuple[Note, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each run and measure; what does not exist is None."""
        return [dict(row) for row in self.values]

    def tables(self) -> list[Table]:
        """Return one table, with a row for each run and measure."""
        has_rivals = len({row["run"] for row in self.values}) > 1
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
        return [make_table(self.values, columns, notes=self.notes, n_labels=2)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**vars(self), "values": self.rows(), "notes": [n.to_dict() for n in self.notes]}


def assign_groups(*lists: Lists) -> Ints:
    """Return the group of each user with a list, by number: dealt out by ids, at most 40; else -1.

    The users of several runs are dealt out together.
    """
    user_ids = lists[0].facts.user_ids
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


def jackknife(value: float, values: Floats | None) -> MeanInterval:
    """Return a value with its interval, by the values without each of some groups: (n_groups,).

    The ends are NaN without these values, or if one of them is NaN.
    """
    if values is None:
        return MeanInterval(value, np.nan, np.nan)
    n = len(values)
    error = np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum())
    low, high = t_interval_ends(np.array([value]), np.array([error]), n - 1, _ALPHA)
    return MeanInterval(value, float(low[0]), float(high[0]))


def estimate_difference(
    value_of_user: Mapping[str, float], base_value_of_user: Mapping[str, float]
) -> MeanInterval:
    """Return the mean difference over the users of both, with its interval."""
    users = value_of_user.keys() & base_value_of_user.keys()
    pairs = [value_of_user[user] - base_value_of_user[user] for user in sorted(users)]
    if len(pairs) < 2:
        return MeanInterval(pairs[0] if pairs else np.nan, None, None)
    moments = Moments.of(PairedScores.from_differences(np.array(pairs)[:, None]))
    low, high = t_interval(moments, _ALPHA)
    return MeanInterval(float(moments.mean[0]), float(low[0]), float(high[0]))


def find_intervals(
    scores: Sequence[ListScores], lists: Mapping[str, Lists], baseline: str | None
) -> ListIntervals:
    """Return the intervals of all values, and of the differences from the baseline."""
    score_of_run = {run.name: run for run in scores}
    if baseline not in (None, *score_of_run):
        names = ", ".join(map(repr, score_of_run))
        raise OptionError(f"baseline={baseline!r}: the runs are {names}")
    base = score_of_run[baseline or scores[0].name]
    measures, own_parts, joint_parts = base.measures, {}, {}
    for measure in measures:
        if measure.definition.of != "run" and measure.definition.aggregation != "mean":
            text = "is no mean over users, and has no interval: leave it out"
            raise MeasureError(f"{measure} {text}")
    joint_groups = assign_groups(*lists.values())
    for name, part in lists.items():
        own_groups = assign_groups(part)
        own_parts[name] = joint_parts[name] = leave_groups_out(measures, part, joint_groups)
        if (own_groups != joint_groups).any():  # of the users of a run alone
            own_parts[name] = leave_groups_out(measures, part, own_groups)
    rows, names_without = [], list[str]()
    for run in scores:
        for measure in measures:
            name = str(measure)
            if measure.definition.of == "run":
                value = run[name]
                estimate = jackknife(value, own_parts[run.name].get(name))
                bounds = score_range(measure, np.array(value))
                low, high = clip_ends(np.array(estimate.low), np.array(estimate.high), *bounds)
                estimate = MeanInterval(value, float(low), float(high))
                names_without += [name] * bool(np.isnan(low))
                parts, base_parts = (joint_parts[r.name].get(name) for r in (run, base))
                differences = None if parts is None or base_parts is None else parts - base_parts
                difference = jackknife(value - base[name], differences)
            else:
                values = run.per_query(measure)
                difference = estimate_difference(values, base.per_query(measure))
                column = np.array([*values.values()])[:, None]
                estimate = MeanInterval(run[name], None, None)
                if len(column) > 1:
                    (estimate,) = mean_intervals(measure, column, _ALPHA)
            difference = MeanInterval(np.nan, None, None) if run is base else difference
            cells = (
                None if n is None else finite_or_none(n) for n in (*estimate[:3], *difference[:3])
            )
            rows.append(dict(zip(ListIntervals.header, (run.name, name, *cells), strict=True)))
    notes = merge_notes(((run.name, note) for run in scores for note in run.notes), len(scores))
    if names_without:
        names = ", ".join(dict.fromkeys(names_without))
        reason = f"fewer than {FEWEST_USERS} users, or a part of them without a value"
        notes.append(Note("no-interval", "info", f"No interval of {names}: {reason}."))
    return ListIntervals(rows, base.name, tuple(notes))
