"""Worksheet: the steps of a measure as tables and lines that a reader can redo by hand."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Ranked
from cranfield.arrays.trace import CONSTANT, ITEM, Derived, Record, Recording, Step, plain
from cranfield.data.judged import Judged
from cranfield.explanation import words
from cranfield.explanation.entries import Column, Entry, Line, Sheet, Total, Worksheet, in_order
from cranfield.explanation.expressions import (
    ATOM,
    BINARY,
    LOOSE,
    OR,
    SPREAD,
    SUM,
    Expressions,
    Frame,
    Label,
    Nodes,
    is_bool,
    is_constant,
    number,
)
from cranfield.explanation.follow import (
    base_of,
    documents_of,
    grades_of,
    is_deep,
    is_ranking,
    is_summed,
    rows_of_base,
    subsets,
)

_LONGEST_HEADER = 32


@dataclass
class _Writing:
    """Writes the worksheet of one value."""

    nodes: Nodes
    texts: Expressions
    symbols: Iterator[str] = field(default_factory=lambda: _letters(ascii_uppercase))
    # The symbol of a number of the query, by the key of its node.
    symbol_of: dict[int, str] = field(default_factory=dict)
    # By the key of its rows; of groups by ("groups", the id of their space).
    sheets: dict[Any, Sheet] = field(default_factory=dict)
    # How a sheet's columns refer to a node, by the key of the node.
    labels: dict[tuple[Sheet, int], tuple[str, int]] = field(default_factory=dict)
    # The columns by which rows were chosen, by the keys of the condition and of the rows.
    asked: dict[tuple[int, int], Sheet] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)  # by symbol
    divided: dict[str, None] = field(default_factory=dict)  # the columns and lines that divide by 0

    def symbol(self, node: Derived) -> tuple[str, int] | None:
        """Return the symbol of a number of the query; None if it is to be written out."""
        key = self.nodes.key(node)
        # Of a column, one number would be shown.
        self.nodes.lost |= is_ranking(node.step.space)
        if key not in self.symbol_of:
            op, inputs = node.step.op, node.step.inputs
            if inputs and is_summed(inputs[0]):
                self._aggregated(node, key)
            elif _is_leaf(node) or (self.nodes.uses.get(key, 0) > 1 and op != ITEM):
                line = self.line(node)
                self.symbol_of[key] = line.symbol
                self.entries.setdefault(line.symbol, line)
            else:
                return None
        found = self.symbol_of[key]
        self.texts.frames[-1].needs[found] = None
        return found, ATOM

    def line(self, node: Derived, name: str = "") -> Line:
        """Write a number of the query out, under a name or by the next symbol."""
        with self._frame() as frame:
            made = self._words(node, self.symbol)
            numbers = self._numbers(node, made) if name or not _is_leaf(node) else ""
            same = made in self.entries  # the same number, apart from a factor of 1
            frame.name = name or (made if same else next(self.symbols))
        return Line(frame.name, made, numbers, node.values.flat[0].item(), frame.needs)

    @contextmanager
    def _frame(self) -> Iterator[Frame]:
        """Note what is referred to meanwhile, and whether it is divided by 0."""
        frame = Frame()
        self.texts.frames.append(frame)
        yield frame
        self.texts.frames.pop()
        if frame.divides:
            self.divided[frame.name] = None

    def _words(self, node: Derived, label: Label) -> str:
        """Return how a node is made: its name, if it has one, and the expression."""
        made, name = node.step, self.nodes.name(node)
        if made.op in words.GIVEN or not made.inputs:
            return name or words.GIVEN.get(made.op) or words.WORDS.get(made.op, made.op)
        text, _ = self.texts.opened(node, label)
        return f"{name} = {text}" if name and text != name else text

    def _numbers(self, node: Derived, made: str) -> str:
        """Return the expression of a node with numbers in the place of symbols, if it has any."""

        def shown(one: Derived) -> tuple[str, int] | None:
            if self.symbol(one) is None:
                return None
            value = number(one.values.flat[0].item())
            return value, SUM if value.startswith("-") else ATOM

        self.texts.in_numbers = True
        text = self.texts.opened(node, shown)[0]
        self.texts.in_numbers = False
        return "" if text == made or made.endswith(f" = {text}") else text

    def _aggregated(self, node: Derived, key: Any) -> None:
        """Write what becomes of a column into the sheet of its rows."""
        op, (of, *inputs) = node.step.op, node.step.inputs
        values = node.values.ravel().tolist()
        if op is Ranked.count and base_of(of).step.op != "hits" and of.home is None:
            symbol = self.symbol_of[key] = next(self.symbols)
            counted = f"number of {self.described(of).replace(words.IN_ORDER, '')}"
            self.entries[symbol] = Line(symbol, counted, "", values[0])
            return
        rows = of if is_ranking(of) else None
        sheet = self.sheet(of) if rows else self.group_sheet(of)
        header, running = "", None
        if op in words.COUNTS:
            made = "number of these" if rows else "number of groups"
        else:
            column = inputs[0]
            if op in words.TOTALS and isinstance(column, Derived):
                column = _counted(column)
            with self._frame() as frame:
                header = self.column(sheet, column, rows)
            sheet.is_used = True
            sheet.needs.update(frame.needs)
            loose = " if " in header or any(sign in header for sign in "<>=")
            made = words.AGGREGATED[op].format(f"({header})" if loose and " " in header else header)
            if op in words.TOTALS and is_bool(column):
                made = f"number of {'rows' if rows else 'groups'} where {header}"
            elif op in words.TOTALS:
                terms = plain(column) * 1.0
                summed = rows.plain.running(terms) if rows else np.cumsum(np.ravel(terms))
                running = summed.tolist()
        symbol = self.symbol_of[key] = next(self.symbols)
        self.entries[symbol] = sheet
        sheet.totals.append(Total(symbol, made, values, header, running))

    def described(self, rows: Recording) -> str:
        """Return what the rows of a ranking are, in words."""
        return words.described(
            rows, lambda one: self.texts.written(one, self.symbol)[0], self._condition
        )

    def _condition(self, node: Derived, rows: Recording) -> str:
        """Write out which rows of a ranking count."""
        labels = {"rank": rows.plain.rank.tolist(), "grade": grades_of(rows)}
        sheet = self.asked[self.nodes.key(node), self.nodes.key(rows)] = Sheet("", labels)
        return self.texts.written(node, lambda one: self._label(sheet, one, rows))[0]

    def _show_condition(self, sheet: Sheet, rows: Recording) -> None:
        """Show in a sheet the columns by which its rows were chosen."""
        subset = next(subsets(rows), None)
        if subset is None or subset.how is not Ranked.where:
            return
        asked = self.asked.get((self.nodes.key(subset.what), self.nodes.key(subset.above)))
        kept = np.isin(rows_of_base(subset.above), rows_of_base(rows))
        for one in asked.columns if asked is not None else ():
            values = [value for value, is_kept in zip(one.values, kept, strict=True) if is_kept]
            sheet.columns.append(Column(one.header, values, one.made))

    def sheet(self, rows: Recording) -> Sheet:
        """Return the sheet of a ranking's rows."""
        key = self.nodes.key(rows)
        if key not in self.sheets:
            ranked, base = rows.plain, base_of(rows).step.op
            labels: dict[str, Sequence[Any]] = {}
            if rows.home is not None:
                names = rows.home.record.names.group_names
                labels["group"] = [names[i] for i in ranked.query.tolist()]
            labels["rank"] = ranked.rank.tolist()
            if base not in (Judged.filled, "ranked"):
                labels["document"] = documents_of(rows)
            if base != "ranked":
                labels["grade"] = grades_of(rows)
            with self._frame() as frame:
                frame.name = "the choice of rows"
                self.sheets[key] = made = Sheet(self.described(rows), labels)
            made.is_sorted = words.is_ideal(rows) or words.is_reordered(rows)
            made.title_needs = frame.needs
            made.needs.update(frame.needs)
            self._show_condition(made, rows)
        return self.sheets[key]

    def group_sheet(self, groups: Recording) -> Sheet:
        """Return the sheet of a query's groups."""
        key = "groups", id(groups)
        if key not in self.sheets:
            names = {"group": groups.record.names.group_names}
            self.sheets[key] = Sheet("the groups of the query", names)
        return self.sheets[key]

    def column(self, sheet: Sheet, node: Any, rows: Recording | None) -> str:
        """Return the header of the node's column in the sheet, which it gets if it has none."""
        if not isinstance(node, Derived):
            values = np.broadcast_to(node, (sheet.n_rows,))
            node = Derived.of(values, Step(CONSTANT, (node,)), Record())
        label = self._label(sheet, node, rows)
        if label is None or label[0] not in sheet.names:
            label = self._added(sheet, node, rows)
        return label[0]

    def _label(self, sheet: Sheet, node: Derived, rows: Recording | None) -> tuple[str, int] | None:
        """Return how a column refers to a node: by a header, or a symbol; None: write it out."""
        made = node.step
        first = made.inputs[0] if made.inputs else None
        if made.space is None and made.op != CONSTANT:
            return self.symbol(node)
        if rows is not None and is_ranking(made.space):
            # Or they are the rows of another table.
            self.nodes.lost |= self.nodes.key(made.space) != self.nodes.key(rows)
        known = sheet, self.nodes.key(node)
        if known in self.labels:
            return self.labels[known]
        if made.op in ("rank", "grade") and not made.inputs and made.op in sheet.labels:
            return made.op, ATOM
        if made.op in SPREAD:
            column = made.inputs[-1]
            if not isinstance(column, Derived) or column.step.space is None:
                return None
            # A number of the row's group: it is in the sheet of groups, too.
            self.column(self.group_sheet(column.step.space), column, None)
            return self._added(sheet, node, rows)
        shared = self.nodes.uses.get(self.nodes.key(node), 0) > 1 and not self._is_short(node)
        if self._is_closed(node) or shared or (rows is None and is_ranking(first)):
            return self._added(sheet, node, rows)
        return None

    def _is_short(self, node: Derived) -> bool:
        """Tell whether a node is as easy to read written out as by a letter."""
        if node.step.op in (ITEM, np.where, CONSTANT) or is_bool(node):
            return True
        inputs = [one for one in node.step.inputs if isinstance(one, Derived)]
        return node.step.op in BINARY and all(map(self._is_closed, inputs))

    def _is_closed(self, node: Derived) -> bool:
        """Tell whether a node is shown by a word, however it was made."""
        made = node.step
        return bool(self.nodes.name(node)) or not made.inputs or made.op in words.OWN_COLUMN

    def _added(self, sheet: Sheet, node: Derived, rows: Recording | None) -> tuple[str, int]:
        """Add the column of a node; return its header."""
        with self._frame() as frame:
            label = self._column_of(sheet, node, rows)
            frame.name = label[0]
        self.texts.frames[-1].needs.update(frame.needs)
        return label

    def _column_of(self, sheet: Sheet, node: Derived, rows: Recording | None) -> tuple[str, int]:
        made, name = node.step, self.nodes.name(node)
        values = np.broadcast_to(np.ravel(node.values), (sheet.n_rows,)).tolist()
        text, binds = self._spelled(sheet, node, rows)
        if rows is None and made.op in words.GIVEN:
            sheet.title = f"the groups of the query; {words.PAIRS}"
        header = name or text
        spelled = "" if header == text else text
        if any(header == column.header and values == column.values for column in sheet.columns):
            label = header, ATOM if name else binds  # apart from a factor of 1
        else:
            taken = sheet.names
            if (len(header) > _LONGEST_HEADER and not name) or header in taken:
                letters = _letters(ascii_lowercase)
                header, spelled = next(one for one in letters if one not in taken), text
            label = header, ATOM if spelled else binds
            sheet.columns.append(Column(header, values, spelled))
        self.labels[sheet, self.nodes.key(node)] = label
        return label

    def _spelled(self, sheet: Sheet, node: Derived, rows: Recording | None) -> tuple[str, int]:
        """Return how a column is made, and how tightly that binds."""
        made, inputs = node.step, node.step.inputs
        first = inputs[0] if inputs else None
        if rows is None and is_ranking(first):  # of each group
            known = self.symbol(node)
            if known is not None:
                return known
        if made.op in SPREAD and is_ranking(first):
            home = self.group_sheet(inputs[1].step.space)
            return f"{self.column(home, inputs[1], None)} of the group", ATOM
        if made.op in words.OTHER_ROWS:
            return self._of_other_rows(sheet, node, rows)
        if made.op is Ranked.at:
            source, _, there = inputs
            other = self.sheet(source)
            sheet.needs[other] = None
            other.is_used = True
            whose = words.SHORT.get(base_of(source).step.op, "its")
            return f"{whose} {self.column(other, there, source)}", ATOM
        if made.op is Ranked.places:
            return "place in the ideal", ATOM
        if made.op in words.WORDS or not inputs:
            return words.WORDS.get(made.op, made.op), ATOM
        return self.texts.opened(node, lambda one: self._label(sheet, one, rows))

    def _of_other_rows(
        self, sheet: Sheet, node: Derived, rows: Recording | None
    ) -> tuple[str, int]:
        """Write what comes of the rows above or below."""
        op, (_, of, *others) = node.step.op, node.step.inputs
        is_counted = op is Ranked.running and is_bool(of)
        text = self.texts.bracketed(
            of, lambda one: self._label(sheet, one, rows), OR if is_counted else ATOM
        )
        if is_counted:
            return f"rows so far with {text}", LOOSE
        return words.OTHER_ROWS[op].format(text, *map(self.texts.constant, others)), ATOM


def _is_leaf(node: Derived) -> bool:
    return not any(isinstance(one, Derived) or is_summed(one) for one in node.step.inputs)


def _counted(node: Derived) -> Derived:
    """Return the truth values of a node that is 1 where they hold; else the node."""
    if node.step.op is np.multiply and not node.step.name and is_constant(node.step.inputs[1], 1):
        one: Derived = node.step.inputs[0]
        return one if is_bool(one) else node
    return node


def _letters(every: str) -> Iterator[str]:
    yield from every
    n = 2
    while True:
        yield from (f"{letter}{n}" for letter in every)
        n += 1


def worksheet(name: str, value: Derived | np.ndarray[Any, Any]) -> Worksheet:
    """Return the steps of a value that `follow` returned, for the measure of that name."""
    result = np.asarray(value).flat[0]
    shown = result if isinstance(result, str) else float(result)
    if not isinstance(value, Derived) or is_deep(value):
        return Worksheet([], Line(name, "", "", shown), lost=True, is_deep=is_deep(value))
    nodes = Nodes(value.record.is_strict)
    writing = _Writing(nodes, Expressions(nodes))
    nodes.count_uses(value)
    inputs = value.step.inputs
    label = writing.symbol(value) if not inputs or is_summed(inputs[0]) else None
    if label is not None:
        line = Line(name, label[0], "", shown, {label[0]: None})
    else:
        line = replace(writing.line(value, name), value=shown)
    entries = in_order(writing.entries, writing.sheets.values(), line.needs)
    lost = nodes.lost or value.record.was_left
    return Worksheet(entries, line, lost, divided_by_nothing=tuple(writing.divided))
