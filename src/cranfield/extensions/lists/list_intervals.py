"""Intervals of what lists are like: grouped jackknife for runs, Student's t for means of users."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cranfield.arrays.ranked import Floats
from cranfield.comparison.flips import PairedScores
from cranfield.comparison.level import Level
from cranfield.comparison.mean_interval import mean_intervals
from cranfield.comparison.scale import clip_ends, possible_range
from cranfield.comparison.significance import Moments, t_interval, t_interval_ends
from cranfield.errors import OptionError
from cranfield.extensions.lists.lists import Lists
from cranfield.measures import Measure
from cranfield.measures.plan import CutoffGroup
from cranfield.notes import Note
from cranfield.render.numbers import finite_or_none, format_interval, format_number, format_signed
from cranfield.render.shown import Shown
from cranfield.render.table import Column, Table, make_table
from cranfield.scoring.scores import Scores

if TYPE_CHECKING:
    from cranfield.extensions.lists.describe import RunLists

N_GROUPS, FEWEST_USERS = 40, 20


class Ends(NamedTuple):
    """The ends of an interval, NaN where there is none."""

    low: float
    high: float


@dataclass(frozen=True)
class ListInterval:
    """A value with its interval, and its difference from the baseline with that; None: none."""

    run: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None


@dataclass(frozen=True, eq=False, repr=False)
class ListIntervals(Shown):
    """Values with their intervals: a row for each run and measure."""

    header = tuple(field.name for field in fields(ListInterval))

    values: Sequence[ListInterval]
    baseline: str
    notes: tuple[Note, ...]

    def tables(self) -> list[Table]:
        """Return one table, with a row for each run and measure."""
        has_others = any(row.run != self.baseline for row in self.values)
        columns = [
            Column("run", lambda row: row.run),
            Column("measure", lambda row: row.measure),
            Column("value", lambda row: format_number(row.value)),
            Column(
                "95% interval",
                lambda row: format_interval(row.low, row.high, signs=False),
                "Intervals are for as many users of the same kind; more users cover more items.",
            ),
            Column(f"- {self.baseline}", lambda row: format_signed(row.difference), "", has_others),
            Column(
                "95% interval of it",
                lambda row: format_interval(row.difference_low, row.difference_high),
                "",
                has_others,
            ),
        ]
        return [make_table(self.values, columns, notes=self.notes, n_labels=2)]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each run and measure; what does not exist is None."""
        return [asdict(row) for row in self.values]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        notes = [note.to_dict() for note in self.notes]
        return {"baseline": self.baseline, "values": self.rows(), "notes": notes}


def leave_groups_out(measure: Measure, lists: Lists, group_of_user: Sequence[int]) -> Floats:
    """Return the value of a run without the lists of each group of users: (n_groups,).

    `group_of_user` has the group of each user, by code.
    """
    plan, group = CutoffGroup([measure], of_lists=True), np.asarray(group_of_user)[lists.user]
    n_groups = int(np.max(group_of_user, initial=-1)) + 1
    parts = (lists.select_users(group != i) for i in range(n_groups))
    values: list[Any] = [plan.values(part) for part in parts]  # type: ignore[arg-type]
    return np.array([value.value for value in values])


def jackknife(value: float, values: Floats, alpha: float) -> Ends:
    """Return the interval of a value by the values without each of some groups, (n_groups,)."""
    n = len(values)
    error = np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum())
    low, high = t_interval_ends(np.array([value]), np.array([error]), n - 1, alpha)
    return Ends(float(low[0]), float(high[0]))


def assign_groups(run_lists: "RunLists") -> list[int]:
    """Return the group of each user, by code: dealt out in the order of ids, 40 at most."""
    has_list = np.zeros(run_lists.codes.users.n_ids, np.bool_)
    for lists in run_lists.lists.values():
        has_list[lists.user[np.diff(lists.starts) > 0]] = True
    users = np.flatnonzero(has_list)
    users = users[run_lists.codes.users.ids.take(users).sort_keys().argsort()]
    group = np.full(len(has_list), -1)
    group[users] = np.arange(len(users)) % min(N_GROUPS, max(len(users), 1))
    return group.tolist()


def find_intervals(
    run_lists: "RunLists", scores: Sequence[Scores], baseline: str | None
) -> ListIntervals:
    """Return the intervals of all values, and of the differences from the baseline."""
    alpha, score_of_run = Level().alpha, {run.name: run for run in scores}
    first = scores[0].name if baseline is None else baseline
    if first not in score_of_run:
        raise OptionError(f"baseline={first!r}: the runs are {', '.join(map(repr, score_of_run))}")
    group_of_user = assign_groups(run_lists)
    n_users = sum(group >= 0 for group in group_of_user)
    rows, notes = [], [note for run in scores for note in run.notes]
    for measure in scores[0].measures:
        means = {name: run[measure] for name, run in score_of_run.items()}
        ends, differences = (
            _intervals_of_run(run_lists, measure, means, group_of_user, first, alpha)
            if measure.definition.of == "run"
            else _intervals_of_users(measure, score_of_run, first, alpha)
        )
        for name, mean in means.items():
            difference = None if name == first else finite_or_none(mean - means[first])
            if name in differences and measure.definition.of != "run":
                difference = finite_or_none(differences[name][0])
            numbers = map(finite_or_none, (mean, *ends[name]))
            of_difference = map(finite_or_none, differences.get(name, (np.nan,) * 3)[1:])
            rows.append(ListInterval(name, str(measure), *numbers, difference, *of_difference))
    if n_users < FEWEST_USERS:
        text = f"No interval of a run's measures: {n_users} users, fewer than {FEWEST_USERS}."
        notes.append(Note("few-users", "info", text, n_users))
    rank = {name: i for i, name in enumerate(score_of_run)}
    rows.sort(key=lambda row: rank[row.run])
    return ListIntervals(rows, first, tuple(dict.fromkeys(notes)))


Differences = Mapping[str, tuple[float, float, float]]


def _intervals_of_run(
    run_lists: "RunLists",
    measure: Measure,
    means: Mapping[str, float],
    group_of_user: Sequence[int],
    first: str,
    alpha: float,
) -> tuple[dict[str, Ends], Differences]:
    """Return the interval of each run's value, and of its difference from the first's."""
    if sum(group >= 0 for group in group_of_user) < FEWEST_USERS:
        return dict.fromkeys(means, Ends(np.nan, np.nan)), {}
    values = {
        name: leave_groups_out(measure, lists, group_of_user)
        for name, lists in run_lists.lists.items()
    }
    ends, differences = {}, {}
    for name, mean in means.items():
        low, high = map(np.array, jackknife(mean, values[name], alpha))
        ends[name] = Ends(*map(float, clip_ends(low, high, *possible_range(measure))))
        if name != first:
            difference = mean - means[first]
            interval = jackknife(difference, values[name] - values[first], alpha)
            differences[name] = (difference, *interval)
    return ends, differences


def _intervals_of_users(
    measure: Measure, score_of_run: Mapping[str, Scores], first: str, alpha: float
) -> tuple[dict[str, Ends], Differences]:
    """Return the same of means over users; differences are of the users of both runs."""
    values = {name: run.per_query(measure) for name, run in score_of_run.items()}
    ends, differences = {}, {}
    for name, value_of_user in values.items():
        ends[name] = Ends(np.nan, np.nan)
        if len(value_of_user) > 1:
            column = np.array([*value_of_user.values()])[:, None]
            (interval,) = mean_intervals(measure, column, alpha)
            ends[name] = Ends(float(interval.low or 0), float(interval.high or 0))
        shared = [user for user in value_of_user if user in values[first]]
        if name != first and len(shared) > 1:
            pairs = [value_of_user[user] - values[first][user] for user in shared]
            moments = Moments.of(PairedScores.from_differences(np.array(pairs)[:, None]))
            low, high = t_interval(moments, alpha)
            differences[name] = (float(moments.mean[0]), float(low[0]), float(high[0]))
    return ends, differences
