"""How the numbers of one list came about: its items, and each measure step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cranfield.errors import InputError
from cranfield.explanation.entries import Line, Worksheet
from cranfield.explanation.follow import trace_value
from cranfield.explanation.worksheet import write_worksheet
from cranfield.extensions.lists.lists import Lists
from cranfield.measures import Measure
from cranfield.measures.plan import CutoffGroup
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
    items: Sequence[Mapping[str, Any]]
    worksheets: Mapping[str, Worksheet]  # of the measures of users
    sums: Mapping[str, str]  # what measures of the run are made of
    notes: tuple[Note, ...] = ()

    @property
    def header(self) -> list[str]:
        """The names of the columns of `rows`."""
        return ["run", "query_id", *(self.items[0] if self.items else ())]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each item of the list."""
        return [{"run": self.run, "query_id": self.query, **item} for item in self.items]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        steps = {
            name: [section.to_dict() for section in (*sheet.sections, sheet.value_line)]
            for name, sheet in self.worksheets.items()
        }
        names = {"run": self.run, "query": self.query}
        return {**names, "items": [*self.items], "measures": steps, "run_measures": {**self.sums}}

    def tables(self, limit: int | None = 20) -> list[Table]:
        """Return the list, and the tables of each measure with its value below."""
        header = [*(self.items[0] if self.items else ("rank", "item"))]
        rows = [["-" if cell is None else f"{cell}" for cell in row.values()] for row in self.items]
        lines = [f"{name} = {text} (of all users)" for name, text in self.sums.items()]
        title = [f"The list of {self.query} in {self.run}"]
        tables = [Table(header, rows, lines, 2, title=title)]
        for name, sheet in self.worksheets.items():
            notes = list(tables[-1].notes)
            for section in sheet.sections:
                if isinstance(section, Line):
                    notes.append(section.text())
                else:
                    tables[-1] = _with_notes(tables[-1], notes)
                    title, notes = [f"{name}: {section.title}"], section.formula_lines
                    tables.append(section.to_table(limit, title, ()))
            tables[-1] = _with_notes(tables[-1], [*notes, sheet.value_line.text(digits=True)])
        return tables


def _with_notes(table: Table, notes: Sequence[str]) -> Table:
    return Table(table.header, table.rows, [*notes], table.n_labels, title=table.title)


def explain_list(
    run_lists: "RunLists", measures: Sequence[Measure], user: str
) -> ListExplanation:
    """Return how the numbers of a user's list in the first run came about."""
    name, lists = next(iter(run_lists.lists.items()))
    user_ids = run_lists.codes.users.ids.take(lists.user).to_texts()
    rows = [row for row, user_id in enumerate(user_ids) if user_id == user]
    if not rows or lists.starts[rows[0]] == lists.starts[rows[0] + 1]:
        raise InputError(f"{name}: the user {user!r:.80} has no list")
    is_user = np.zeros(len(user_ids), np.bool_)
    is_user[rows[0]] = True
    user_lists = lists.select_users(is_user)
    docs = run_lists.codes.items.ids.take(user_lists.item).to_texts()
    scene: Any = ListScene(user_lists, docs, user)
    worksheets, sums = {}, {}
    for measure in measures:
        if measure.definition.of == "lists":
            value = trace_value(measure, scene)
            worksheets[str(measure)] = write_worksheet(str(measure), value)
        elif measure.definition.of == "run":
            run_value: Any = CutoffGroup([measure], of_lists=True).values(lists)  # type: ignore[arg-type]
            sums[str(measure)] = f"{run_value.sums} = {run_value.value:.6g}"
    items = _describe_items(user_lists, docs)
    return ListExplanation(name, user, items, worksheets, sums, tuple(run_lists.notes))


def _describe_items(lists: Lists, docs: Sequence[str]) -> list[dict[str, Any]]:
    """Return what is known of each item of a list."""
    facts, items = lists.facts, lists.items
    columns: dict[str, Sequence[Any]] = {"rank": items.rank.tolist(), "item": docs}
    if facts.train is not None:
        columns["interactions"] = lists.interactions(items).tolist()
        columns["users"] = lists.users(items).tolist()
        columns["tail"] = lists.in_tail(items, "interactions", 0.2).tolist()
        columns["known"] = lists.known(items).tolist()
    if facts.categories is not None:
        columns["categories"] = np.diff(facts.categories.indptr)[lists.item].tolist()
    if facts.relevant is not None:
        grades = zip(items.grade.tolist(), items.judged.tolist(), strict=True)
        columns["grade"] = [grade if is_judged else None for grade, is_judged in grades]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
