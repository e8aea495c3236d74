"""ListScores and ListExplanation: what `describe` returns of a run, and of one list of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from cranfield.errors import InputError
from cranfield.explanation.entries import Column, Line, Section, Sheet, Worksheet
from cranfield.explanation.follow import trace_value
from cranfield.explanation.worksheet import write_worksheet
from cranfield.extensions.lists.list_measures import RunValue
from cranfield.extensions.lists.user_lists import Lists
from cranfield.measures import Measure, parse
from cranfield.measures.plan import CutoffGroup
from cranfield.measures.refusals import no_user_error
from cranfield.notes import Note
from cranfield.render.shown import Shown
from cranfield.render.table import Table
from cranfield.scoring.scores import Scores


class Means(dict[str, float]):
    """{measure: value}; a measure may also be written in another way."""

    def __missing__(self, measure: str | Measure) -> float:
        name = str(parse(measure) if isinstance(measure, str) else measure)
        if name not in self:
            raise KeyError(measure)
        return self[name]

    def get(self, measure: Any, default: Any = None) -> Any:
        """Return the value of a measure, however it is written, else the default."""
        return self[measure] if str(parse(str(measure))) in self else default


def values_of_run(measures: Iterable[Measure], lists: Lists) -> dict[str, RunValue]:
    """Return {measure: value} of the measures of a run, among some."""
    any_lists: Any = lists
    return {
        str(measure): CutoffGroup([measure], of_lists=True).values(any_lists)  # type: ignore[misc]
        for measure in measures
        if measure.definition.of == "run"
    }


@dataclass(frozen=True, eq=False, repr=False)
class ListScores(Scores):
    """One run's lists in numbers: users x measures, and the measures of the run as a whole.

    A user without a value is NaN in `values`, and is left out of the mean.

    >>> from cranfield import describe
    >>> found = describe({"ann": ["a", "b"], "bob": ["a"]}, "Filled@2 Coverage@2", catalogue=4)
    >>> found.means(), found.per_query("Filled@2")
    ({'Filled@2': 0.75, 'Coverage@2': 0.5}, {'ann': 1.0, 'bob': 0.5})
    """

    run_values: Mapping[str, RunValue] = field(default_factory=dict)

    def _aggregate(self, name: str, *, exact: bool = False) -> float:
        if name in self.run_values:
            return self.run_values[name].value
        return super()._aggregate(name, exact=exact)

    def means(self, *, exact: bool = False) -> dict[str, float]:
        """Return {measure: value}: the means over users, and the values of the run."""
        return Means(super().means(exact=exact))

    def per_query(self, measure: Measure | str) -> dict[str, Any]:
        """Return {user: value} of the users who have a value; MeasureError of the run's."""
        if self._find_column(measure) in self.run_values:
            raise no_user_error(measure if isinstance(measure, Measure) else parse(measure))
        return super().per_query(measure)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return {user: {measure: value}}, without what a user has no value of."""
        return {
            user: {name: value for name, value in values.items() if value is not None}
            for user, values in super().to_dict().items()
        }


# ---- one list ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class ListExplanation(Shown):
    """The list of a user in a run, item by item, and how each measure came about."""

    run: str
    query: str
    items: Sheet
    worksheets: Mapping[str, Worksheet]  # of the measures of users
    sums: Mapping[str, str]  # what the measures of the run are made of
    notes: Sequence[Note] = ()

    @property
    def header(self) -> list[str]:
        """The names of the columns of `rows`."""
        return [*self.rows()[0]]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each item of the list."""
        names = {"run": self.run, "query_id": self.query}
        return [{**names, **row} for row in self.items.rows(())]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        steps = {
            name: [section.to_dict() for section in (*sheet.sections, sheet.value_line)]
            for name, sheet in self.worksheets.items()
        }
        notes = [note.to_dict() for note in self.notes]
        return {**vars(self), "items": self.items.to_dict(), "worksheets": steps, "notes": notes}

    def tables(self, limit: int | None = 20) -> list[Table]:
        """Return the list, and the tables of each measure with its value below."""
        sheets = self.worksheets.items()
        sections: list[tuple[str, Section]] = [(f"{self.run}, {self.query}", self.items)]
        sections += [(name, part) for name, s in sheets for part in (*s.sections, s.value_line)]
        lines = [f"{name} = {text} (of all users)" for name, text in self.sums.items()]
        tables: list[Table] = []
        for name, section in sections:
            if isinstance(section, Line):
                lines.append(section.text(digits=section is self.worksheets[name].value_line))
                tables[-1] = replace(tables[-1], notes=lines)
            else:
                lines = [*(() if tables else lines), *section.formula_lines]
                tables.append(section.to_table(limit, [f"{name}: {section.title}"], lines))
        return tables


def explain_list(
    name: str, lists: Lists, measures: Sequence[Measure], user: str
) -> ListExplanation:
    """Return how the numbers of a user's list in a run came about."""
    facts = lists.facts
    user_ids = facts.user_ids.take(lists.user).to_texts()
    rows = [row for row, user_id in enumerate(user_ids) if user_id == user]
    user_lists = lists.take_users(np.array(rows, np.int64))
    if not len(user_lists.item_code):
        raise InputError(f"{name}: the user {user!r:.80} has no list")
    docs, items = facts.item_ids.take(user_lists.item_code).to_texts(), user_lists.items
    labels: dict[str, Sequence[Any]] = {"rank": items.rank.tolist(), "document": docs}
    columns = {}
    if facts.qrels is not None:
        grades = zip(items.grade.tolist(), items.judged.tolist(), strict=True)
        labels["grade"] = [grade if is_judged else None for grade, is_judged in grades]
    if "train" in facts.pairs:
        columns = {key: user_lists.look_up_items(items, key) for key in ("rows", "users")}
        columns["tail"] = user_lists.look_up_items(items, "tail", "interactions", 0.2) > 0
        columns["known"] = user_lists.look_up_pairs(items, "train") > 0
    if facts.categories is not None:
        columns["categories"] = user_lists.look_up_items(items, "n_categories")
    scene: Any = SimpleNamespace(judged=user_lists, docs=docs, query=user)
    worksheets = {
        str(measure): write_worksheet(str(measure), trace_value(measure, scene))
        for measure in measures
        if measure.definition.of == "lists"
    }
    run_values = values_of_run(measures, lists)
    sums = {key: f"{value.sums} = {value.value:.6g}" for key, value in run_values.items()}
    sheet = Sheet(
        "the list", labels, [Column(key, cells.tolist()) for key, cells in columns.items()]
    )
    return ListExplanation(name, user, sheet, worksheets, sums, facts.notes)
