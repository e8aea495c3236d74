"""How the numbers of one list came about: its items, and each measure step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cranfield.errors import InputError
from cranfield.explanation.entries import Line, Worksheet
from cranfield.explanation.follow import trace_value
from cranfield.explanation.worksheet import write_worksheet
from cranfield.extensions.lists.described import values_of_run
from cranfield.extensions.lists.user_lists import Lists
from cranfield.measures import Measure
from cranfield.notes import Note
from cranfield.render.shown import Shown
from cranfield.render.table import Table

if TYPE_CHECKING:
    from cranfield.extensions.lists.describe import RunLists


class ListScene(NamedTuple):
    """A list as the recorder sees it, and the ids of its items."""

    judged: Lists
    docs: Sequence[str]
    query: str


@dataclass(frozen=True, eq=False, repr=False)
class ListExplanation(Shown):
    """The list of a user in a run, item by item, and how each measure came about."""

    run: str
    query: str
    items: Sequence[Mapping[str, Any]]  # {column: value} of each item
    worksheets: Mapping[str, Worksheet]  # of the measures of users
    sums: Mapping[str, str]  # what the measures of the run are made of
    notes: tuple[Note, ...] = ()

    @property
    def header(self) -> list[str]:
        """The names of the columns of `rows`."""
        return ["run", "query_id", *self.items[0]]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each item of the list."""
        return [{"run": self.run, "query_id": self.query, **row} for row in self.items]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        steps = {
            name: [section.to_dict() for section in (*sheet.sections, sheet.value_line)]
            for name, sheet in self.worksheets.items()
        }
        return {**vars(self), "worksheets": steps, "notes": [n.to_dict() for n in self.notes]}

    def tables(self, limit: int | None = 20) -> list[Table]:
        """Return the list, and the tables of each measure with its value below."""
        rows = [["-" if cell is None else f"{cell}" for cell in row.values()] for row in self.items]
        title = [f"The list of {self.query} in {self.run}"]
        tables = [Table([*self.items[0]], rows, [], 2, title=title)]
        notes = [f"{name} = {text} (of all users)" for name, text in self.sums.items()]
        for name, sheet in self.worksheets.items():
            for section in (*sheet.sections, sheet.value_line):
                if isinstance(section, Line):
                    notes.append(section.text(digits=section is sheet.value_line))
                    continue
                tables[-1] = replace(tables[-1], notes=notes)
                tables.append(section.to_table(limit, [f"{name}: {section.title}"], ()))
                notes = [*section.formula_lines]
        return [*tables[:-1], replace(tables[-1], notes=notes)]


def explain_list(run_lists: "RunLists", measures: Sequence[Measure], user: str) -> ListExplanation:
    """Return how the numbers of a user's list in the first run came about."""
    name, lists = next(iter(run_lists.lists.items()))
    user_ids = run_lists.user_ids.take(lists.user).to_texts()
    rows = [row for row, user_id in enumerate(user_ids) if user_id == user]
    if not rows or lists.starts[rows[0]] == lists.starts[rows[0] + 1]:
        raise InputError(f"{name}: the user {user!r:.80} has no list")
    is_user = np.zeros(len(user_ids), np.bool_)
    is_user[rows[0]] = True
    user_lists = lists.take_users(is_user)
    docs = run_lists.facts.items.take(user_lists.item_code).to_texts()
    scene: Any = ListScene(user_lists, docs, user)
    worksheets = {
        str(measure): write_worksheet(str(measure), trace_value(measure, scene))
        for measure in measures
        if measure.definition.of == "lists"
    }
    run_values = values_of_run(measures, lists)
    sums = {key: f"{value.sums} = {value.value:.6g}" for key, value in run_values.items()}
    items = _describe_items(user_lists, docs)
    return ListExplanation(name, user, items, worksheets, sums, tuple(run_lists.inputs.notes))


def _describe_items(lists: Lists, docs: Sequence[str]) -> list[dict[str, Any]]:
    """Return what is known of each item of a list."""
    facts, items = lists.facts, lists.items
    columns: dict[str, Sequence[Any]] = {"rank": items.rank.tolist(), "item": docs}
    if "train" in facts.pairs:
        tables = {name: facts.table(name)[lists.item_code] for name in ("rows", "users")}
        tables["tail"] = facts.table("tail", "interactions", 0.2)[lists.item_code] > 0
        tables["known"] = lists.look_up_pairs(items, "train") > 0
        columns |= {name: table.tolist() for name, table in tables.items()}
    if facts.categories is not None:
        columns["categories"] = facts.table("n_categories")[lists.item_code].tolist()
    if "qrels" in facts.pairs:
        grades = zip(items.grade.tolist(), items.judged.tolist(), strict=True)
        columns["grade"] = [grade if is_judged else None for grade, is_judged in grades]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
