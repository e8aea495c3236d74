"""Worksheet: writes the steps of a measure as tables and lines that a reader can redo by hand."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from cranfield.arrays.ranked import Ranked
from cranfield.arrays.trace import CONSTANT, ITEM, Record, Recorder, Step, TracedArray, remove_trace
from cranfield.data.judged import Judged
from cranfield.explanation import words
from cranfield.explanation.entries import (
    Column,
    Line,
    Section,
    Sheet,
    Total,
    Worksheet,
    order_sections,
)
from cranfield.explanation.expressions import (
    ATOM,
    BINARY,
    LOOSE,
    OR,
    SPREAD_METHODS,
    SUM,
    Expression,
    ExpressionWriter,
    Frame,
    Label,
    Nodes,
    is_bool,
    is_constant,
    to_six_decimals,
)
from cranfield.explanation.follow import (
    base_ranking,
    base_row_numbers,
    has_sheet,
    is_deep,
    is_ranking,
    row_documents,
    row_grades,
    subset_chain,
)

_MAX_HEADER = 32  # characters of an expression, before a column gets a letter instead


@dataclass
class _Writer:
    """Writes the worksheet of one value."""

    nodes: Nodes
    expressions: ExpressionWriter
    symbols: Iterator[str] = field(default_factory=lambda: _letter_symbols(ascii_uppercase))
    # The symbol of a number of the query, by the key of its node.
    symbol_of: dict[int, str] = field(default_factory=dict)
    # By the key of the ranking; a sheet of groups by ("groups", their id).
    sheets: dict[Any, Sheet] = field(default_factory=dict)
    # How a sheet's columns refer to a node, by the sheet and the key of the node.
    labels: dict[tuple[Sheet, int], Expression] = field(default_factory=dict)
    # The columns by which rows were chosen or sorted, by the keys of the condition and of the rows.
    condition_sheets: dict[tuple[int, int], Sheet] = field(default_factory=dict)
    sections: dict[str, Section] = field(default_factory=dict)  # by symbol
    # The columns and lines that divide by 0.
    divisions_by_zero: dict[str, None] = field(default_factory=dict)

    def find_symbol(self, node: TracedArray) -> Expression | None:
        """Return the symbol of a number of the query, written at first; None: to be written out."""
        key = self.nodes.key(node)
        # Of a column, one number would be shown.
        self.nodes.is_incomplete |= is_ranking(node.step.row_owner)
        if key not in self.symbol_of:
            op, inputs = node.step.op, node.step.inputs
            if inputs and has_sheet(inputs[0]):
                self._write_total(node, key)
            elif _is_leaf(node) or (self.nodes.n_uses.get(key, 0) > 1 and op != ITEM):
                line = self.write_line(node)
                self.symbol_of[key] = line.symbol
                self.sections.setdefault(line.symbol, line)
            else:
                return None
        symbol = self.symbol_of[key]
        self.expressions.frames[-1].references[symbol] = None
        return Expression(symbol, ATOM)

    def write_line(self, node: TracedArray, name: str = "") -> Line:
        """Return the line of a number, under a name, the formula if it is a symbol, or the next."""
        with self._open_frame() as frame:
            formula = self._write_words(node, self.find_symbol)
            numbers = self._write_numbers(node, formula) if name or not _is_leaf(node) else ""
            is_repeated = formula in self.sections  # the same number, apart from a factor of 1
            frame.name = name or (formula if is_repeated else next(self.symbols))
        return Line(frame.name, formula, numbers, node.values.flat[0].item(), frame.references)

    @contextmanager
    def _open_frame(self) -> Iterator[Frame]:
        """Yield a frame that notes what is referred to meanwhile, and whether it divides by 0."""
        frame = Frame()
        self.expressions.frames.append(frame)
        yield frame
        self.expressions.frames.pop()
        if frame.divides_by_zero:
            self.divisions_by_zero[frame.name] = None

    def _write_words(self, node: TracedArray, label: Label) -> str:
        """Return how a node is made, after its name if it has one; without inputs what it is."""
        step, name = node.step, self.nodes.name(node)
        if step.op in words.GROUP_TEXTS or not step.inputs:
            return name or words.GROUP_TEXTS.get(step.op) or words.WORDS.get(step.op, step.op)
        text, _ = self.expressions.write_out(node, label)
        return f"{name} = {text}" if name and text != name else text

    def _write_numbers(self, node: TracedArray, formula: str) -> str:
        """Return the expression of a node with numbers for symbols; empty if `formula` has it."""

        def symbol_number(operand: TracedArray) -> Expression | None:
            if self.find_symbol(operand) is None:
                return None
            value = to_six_decimals(operand.values.flat[0].item())
            return Expression(value, SUM if value.startswith("-") else ATOM)

        self.expressions.uses_numbers = True
        text = self.expressions.write_out(node, symbol_number).text
        self.expressions.uses_numbers = False
        return "" if text == formula or formula.endswith(f" = {text}") else text

    def _write_total(self, node: TracedArray, key: Any) -> None:
        """Write what is computed from a column, or a count, into its sheet; some counts as Line."""
        op, (source, *inputs) = node.step.op, node.step.inputs
        values = node.values.ravel().tolist()
        if (
            op is Ranked.count
            and base_ranking(source).step.op != "hits"
            and source.grouping is None
        ):
            symbol = self.symbol_of[key] = next(self.symbols)
            count_text = f"number of {self.describe_rows(source).replace(words.IN_ORDER, '')}"
            self.sections[symbol] = Line(symbol, count_text, "", values[0])
            return
        rows = source if is_ranking(source) else None
        sheet = self.find_sheet(source) if rows else self.find_group_sheet(source)
        header, running_sums = "", None
        if op in words.COUNTS:
            total_text = "number of these" if rows else "number of groups"
        else:
            column = inputs[0]
            if op in words.TOTALS and isinstance(column, TracedArray):
                column = _truth_values(column)
            with self._open_frame() as frame:
                header = self.find_column(sheet, column, rows)
            sheet.is_used = True
            sheet.references.update(frame.references)
            is_loose = " if " in header or any(sign in header for sign in "<>=")
            operand = f"({header})" if is_loose and " " in header else header
            total_text = words.AGGREGATE_TEXTS[op].format(operand)
            if op in words.TOTALS and is_bool(column):
                total_text = f"number of {'rows' if rows else 'groups'} where {header}"
            elif op in words.TOTALS:
                terms = remove_trace(column) * 1.0
                sums = rows.original.running(terms) if rows else np.cumsum(np.ravel(terms))
                running_sums = sums.tolist()
        symbol = self.symbol_of[key] = next(self.symbols)
        self.sections[symbol] = sheet
        sheet.totals.append(Total(symbol, total_text, values, header, running_sums))

    def describe_rows(self, rows: Recorder) -> str:
        """Return what the rows of a ranking are, in words."""
        return words.describe_rows(
            rows,
            lambda node: self.expressions.write(node, self.find_symbol).text,
            self._write_condition,
        )

    def _write_condition(self, node: TracedArray, rows: Recorder) -> str:
        """Return the condition on which rows of a ranking count, or what they are sorted by."""
        labels = {"rank": rows.original.rank.tolist(), "grade": row_grades(rows)}
        sheet = Sheet("", labels)
        self.condition_sheets[self.nodes.key(node), self.nodes.key(rows)] = sheet
        return self.expressions.write(node, self._label_columns(sheet, rows)).text

    def _label_columns(self, sheet: Sheet, rows: Recorder | None) -> Label:
        """Return what calls a node by its column in the sheet of some rows; None: of groups."""
        return lambda node: self._find_label(sheet, node, rows)

    def _add_condition_columns(self, sheet: Sheet, rows: Recorder) -> None:
        """Add to a sheet the columns by which its rows were chosen, the last time, by `where`."""
        subset = next(subset_chain(rows), None)
        if subset is None or subset.method is not Ranked.where:
            return
        key = self.nodes.key(subset.argument), self.nodes.key(subset.source)
        condition_sheet = self.condition_sheets.get(key)
        keeps_row = np.isin(base_row_numbers(subset.source), base_row_numbers(rows))
        for column in condition_sheet.columns if condition_sheet is not None else ():
            values = list(compress(column.values, keeps_row))
            sheet.columns.append(Column(column.header, values, column.formula))

    def find_sheet(self, rows: Recorder) -> Sheet:
        """Return the sheet of a ranking's rows."""
        key = self.nodes.key(rows)
        if key not in self.sheets:
            ranked, base_operation = rows.original, base_ranking(rows).step.op
            labels: dict[str, Sequence[Any]] = {}
            if rows.grouping is not None:
                names = rows.grouping.record.names.group_names
                labels["group"] = [names[i] for i in ranked.query.tolist()]
            labels["rank"] = ranked.rank.tolist()
            if base_operation not in (Judged.fill_ranks, "ranked"):
                labels["document"] = row_documents(rows)
            if base_operation != "ranked":
                labels["grade"] = row_grades(rows)
            with self._open_frame() as frame:
                frame.name = "the choice of rows"
                self.sheets[key] = sheet = Sheet(self.describe_rows(rows), labels)
            sheet.is_sorted = words.is_ideal(rows) or words.is_reordered(rows)
            sheet.title_references = frame.references
            sheet.references.update(frame.references)
            self._add_condition_columns(sheet, rows)
        return self.sheets[key]

    def find_group_sheet(self, groups: Recorder) -> Sheet:
        """Return the sheet of a query's groups."""
        key = "groups", id(groups)
        if key not in self.sheets:
            names = {"group": groups.record.names.group_names}
            self.sheets[key] = Sheet("the groups of the query", names)
        return self.sheets[key]

    def find_column(self, sheet: Sheet, node: Any, rows: Recorder | None) -> str:
        """Return the header of a node's column in a sheet; the column is added if there is none."""
        if not isinstance(node, TracedArray):
            values = np.broadcast_to(node, (sheet.n_rows,))
            node = TracedArray.of(values, Step(CONSTANT, (node,)), Record())
        label = self._find_label(sheet, node, rows)
        if label is None or label.text not in sheet.column_names:
            label = self._add_column(sheet, node, rows)
        return label.text

    def _find_label(
        self, sheet: Sheet, node: TracedArray, rows: Recorder | None
    ) -> Expression | None:
        """Return how a column refers to a node: by a header or a symbol; None: write it out."""
        step = node.step
        first_input = step.inputs[0] if step.inputs else None
        if step.row_owner is None and step.op != CONSTANT:
            return self.find_symbol(node)
        if rows is not None and is_ranking(step.row_owner):
            # The rows may be those of another table.
            self.nodes.is_incomplete |= self.nodes.key(step.row_owner) != self.nodes.key(rows)
        label_key = sheet, self.nodes.key(node)
        if label_key in self.labels:
            return self.labels[label_key]
        if step.op in ("rank", "grade") and not step.inputs and step.op in sheet.labels:
            return Expression(step.op, ATOM)
        if step.op in SPREAD_METHODS:
            column = step.inputs[-1]
            if not isinstance(column, TracedArray) or column.step.row_owner is None:
                return None
            # A number of the row's group: it is in the sheet of groups, too.
            self.find_column(self.find_group_sheet(column.step.row_owner), column, None)
            return self._add_column(sheet, node, rows)
        is_shared = self.nodes.n_uses.get(self.nodes.key(node), 0) > 1 and not self._is_short(node)
        if self._is_closed(node) or is_shared or (rows is None and is_ranking(first_input)):
            return self._add_column(sheet, node, rows)
        return None

    def _is_short(self, node: TracedArray) -> bool:
        """Tell whether a node is as easy to read written out as it is by a letter."""
        if node.step.op in (ITEM, np.where, CONSTANT) or is_bool(node):
            return True
        inputs = [source for source in node.step.inputs if isinstance(source, TracedArray)]
        return node.step.op in BINARY and all(map(self._is_closed, inputs))

    def _is_closed(self, node: TracedArray) -> bool:
        """Tell whether a node has a column of its own, named or not, so that a word shows it."""
        step = node.step
        return (
            bool(self.nodes.name(node)) or not step.inputs or step.op in words.OWN_COLUMN_OPERATIONS
        )

    def _add_column(self, sheet: Sheet, node: TracedArray, rows: Recorder | None) -> Expression:
        """Add the column of a node to a sheet, and return its header."""
        with self._open_frame() as frame:
            label = self._make_column(sheet, node, rows)
            frame.name = label.text
        self.expressions.frames[-1].references.update(frame.references)
        return label

    def _make_column(self, sheet: Sheet, node: TracedArray, rows: Recorder | None) -> Expression:
        """Add the column of a node to a sheet unless an equal one is there; return its header."""
        step, name = node.step, self.nodes.name(node)
        values = np.broadcast_to(np.ravel(node.values), (sheet.n_rows,)).tolist()
        text, binding = self._write_column(sheet, node, rows)
        if rows is None and step.op in words.GROUP_TEXTS:
            sheet.title = f"the groups of the query; {words.PAIRS_TEXT}"
        header = name or text
        formula = "" if header == text else text
        if any(header == column.header and values == column.values for column in sheet.columns):
            label = Expression(header, ATOM if name else binding)  # apart from a factor of 1
        else:
            used_names = sheet.column_names
            if (len(header) > _MAX_HEADER and not name) or header in used_names:
                letters = _letter_symbols(ascii_lowercase)
                header = next(letter for letter in letters if letter not in used_names)
                formula = text
            label = Expression(header, ATOM if formula else binding)
            sheet.columns.append(Column(header, values, formula))
        self.labels[sheet, self.nodes.key(node)] = label
        return label

    def _write_column(self, sheet: Sheet, node: TracedArray, rows: Recorder | None) -> Expression:
        """Return the expression of how a column is made."""
        step, inputs = node.step, node.step.inputs
        first_input = inputs[0] if inputs else None
        if rows is None and is_ranking(first_input):  # of each group
            symbol = self.find_symbol(node)
            if symbol is not None:
                return symbol
        if step.op in SPREAD_METHODS and is_ranking(first_input):
            group_sheet = self.find_group_sheet(inputs[1].step.row_owner)
            return Expression(
                f"{self.find_column(group_sheet, inputs[1], None)} of the group", ATOM
            )
        if step.op in words.OTHER_ROW_TEXTS:
            return self._write_other_rows(sheet, node, rows)
        if step.op is Ranked.at:
            source, _, column_node = inputs
            source_sheet = self.find_sheet(source)
            sheet.references[source_sheet] = None
            source_sheet.is_used = True
            owner = words.SHORT_NAMES.get(base_ranking(source).step.op, "its")
            return Expression(
                f"{owner} {self.find_column(source_sheet, column_node, source)}", ATOM
            )
        if step.op is Ranked.places:
            return Expression("place in the ideal", ATOM)
        if step.op in words.WORDS or not inputs:
            return Expression(words.WORDS.get(step.op, step.op), ATOM)
        return self.expressions.write_out(node, self._label_columns(sheet, rows))

    def _write_other_rows(
        self, sheet: Sheet, node: TracedArray, rows: Recorder | None
    ) -> Expression:
        """Return the expression of a column that is made from the rows above or below."""
        op, (_, rows_node, *constants) = node.step.op, node.step.inputs
        is_counted = op is Ranked.running and is_bool(rows_node)
        label, min_binding = self._label_columns(sheet, rows), OR if is_counted else ATOM
        operand = self.expressions.write_operand(rows_node, label, min_binding)
        if is_counted:
            return Expression(f"rows so far with {operand}", LOOSE)
        constant_texts = map(self.expressions.write_constant, constants)
        return Expression(words.OTHER_ROW_TEXTS[op].format(operand, *constant_texts), ATOM)


def _is_leaf(node: TracedArray) -> bool:
    """Tell whether a node was made from no array, no ranking and no groups."""
    inputs = node.step.inputs
    return not any(isinstance(source, TracedArray) or has_sheet(source) for source in inputs)


def _truth_values(node: TracedArray) -> TracedArray:
    """Return the truth values that a node without a name multiplies by 1; any other as it is."""
    if node.step.op is np.multiply and not node.step.name and is_constant(node.step.inputs[1], 1):
        condition: TracedArray = node.step.inputs[0]
        return condition if is_bool(condition) else node
    return node


def _letter_symbols(letters: str) -> Iterator[str]:
    """Yield A, B, ..., Z, A2, B2, ... of the letters A to Z."""
    yield from letters
    n = 2
    while True:
        yield from (f"{letter}{n}" for letter in letters)
        n += 1


def write_worksheet(name: str, value: TracedArray | np.ndarray[Any, Any]) -> Worksheet:
    """Return the worksheet of a value that `trace_value` returned, for the measure of that name."""
    scalar = np.asarray(value).flat[0]
    plain_value = scalar if isinstance(scalar, str) else float(scalar)
    if not isinstance(value, TracedArray) or is_deep(value):
        line = Line(name, "", "", plain_value)
        return Worksheet([], line, is_incomplete=True, is_deep=is_deep(value))
    nodes = Nodes(value.record.is_strict)
    writer = _Writer(nodes, ExpressionWriter(nodes))
    nodes.count_uses(value)
    inputs = value.step.inputs
    label = writer.find_symbol(value) if not inputs or has_sheet(inputs[0]) else None
    if label is not None:
        line = Line(name, label.text, "", plain_value, {label.text: None})
    else:
        line = replace(writer.write_line(value, name), value=plain_value)
    sections = order_sections(writer.sections, writer.sheets.values(), line.references)
    is_incomplete = nodes.is_incomplete or value.record.is_incomplete
    return Worksheet(sections, line, is_incomplete, zero_divisions=tuple(writer.divisions_by_zero))
