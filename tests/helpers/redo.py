"""A reader who has nothing but a worksheet, and redoes it: expressions parsed and computed again.

People who read `gain / log2(rank + 1)` beside the columns `gain` and `rank` compute it row by row.
So does this, from the text alone: what it cannot parse, or computes otherwise, is written badly.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cranfield.explanation.entries import Line, Sheet, Total, Worksheet

# Columns that are given: what the judgments, the run and the measure's parameters say.
LEAVES = frozenset(
    {"rank", "grade", "nth", "mean rank", "judged", "cost", "stratum", "probability", "weight"}
    | {"worth of the tie", "size of the tie", "nth of the tie", "worth above the tie"}
    | {"place in the ideal", "preferences fulfilled", "preferences", "relevant", "in one order"}
    | {"relevant retrieved", "nonrelevant", "nonrelevant retrieved", "documents retrieved"}
)
SYMBOL = re.compile(r"[A-Z]\d*(?![\w'])")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    "is not": lambda a, b: a != b,
    "=": lambda a, b: a == b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log2": math.log2,
    "ln": math.log,
    "min": min,
    "max": max,
    "floor": math.floor,
    "abs": abs,
}
RowFunction = Callable[[int], Any]  # of a row
Symbols = Mapping[str, Sequence[Any]]


def divide(a: Any, b: Any) -> Any:
    """0/0 is 0, as a line says beside every explanation in which it happens."""
    return a / b if b else 0.0


class ExpressionReader:
    """Reads an expression from left to right, in a sheet, or in none: of numbers of the query."""

    def __init__(
        self,
        text: str,
        symbols: Symbols,
        sheet: Sheet | None = None,
        other_sheets: Sequence[Sheet] = (),
    ) -> None:
        self.text, self.remainder = text, text
        self.symbols, self.sheet, self.other_sheets = symbols, sheet, other_sheets
        self.used_symbols: set[str] = set()
        self.index_values: list[int] = []  # what i is, in a sum over i
        columns = {} if sheet is None else find_columns(sheet)
        self.column_names = sorted(columns, key=len, reverse=True)
        self.columns = columns

    def read_all(self) -> RowFunction:
        """Read the expression to its end."""
        row_function = self.read_choice()
        assert not self.remainder, f"{self.remainder!r} of {self.text!r}"
        return row_function

    def take(self, token: str) -> bool:
        remainder = self.remainder.lstrip()
        if not remainder.startswith(token):
            return False
        if token[-1].isalpha() and remainder[len(token) : len(token) + 1].isalnum():
            return False
        self.remainder = remainder[len(token) :].lstrip()
        return True

    def require(self, token: str) -> None:
        assert self.take(token), f"{token!r} before {self.remainder!r} of {self.text!r}"

    # ---- from what binds least to what binds most

    def read_choice(self) -> RowFunction:
        if_true = self.read_or()
        if not self.take("if"):
            return if_true
        condition = self.read_or()
        self.require(",")
        self.require("else")
        if_false = self.read_comparison()
        return lambda row: if_true(row) if condition(row) else if_false(row)

    def read_or(self) -> RowFunction:
        terms = [self.read_and()]
        while self.take("or"):
            terms.append(self.read_and())
        return terms[0] if len(terms) == 1 else lambda row: any(term(row) for term in terms)

    def read_and(self) -> RowFunction:
        terms = [self.read_comparison()]
        while self.take("and"):
            terms.append(self.read_comparison())
        return terms[0] if len(terms) == 1 else lambda row: all(term(row) for term in terms)

    def read_comparison(self) -> RowFunction:
        if self.take("not"):
            condition = self.read_atom()
            return lambda row: not condition(row)
        left = self.read_sum()
        for sign, compare in COMPARISONS.items():
            if self.take(sign):
                right = self.read_sum()
                return lambda row: compare(left(row), right(row))
        return left

    def read_sum(self) -> RowFunction:
        if self.take("-"):
            operand = self.read_power()
            row_function: RowFunction = lambda row: -operand(row)  # noqa: E731
        else:
            row_function = self.read_product()
        while self.remainder.startswith(("+ ", "- ")):
            row_function = self.read_operation(
                row_function, "+" if self.take("+") else "-", self.read_product
            )
        return row_function

    def read_product(self) -> RowFunction:
        row_function = self.read_power()
        while self.remainder.startswith(("* ", "/ ", "// ")):
            sign = next(sign for sign in ("//", "*", "/") if self.take(sign))
            row_function = self.read_operation(row_function, sign, self.read_power)
        return row_function

    def read_operation(
        self, left: RowFunction, sign: str, read_next: Callable[[], RowFunction]
    ) -> RowFunction:
        if sign == "-":
            self.take("-")
        right = read_next()
        operations: dict[str, Callable[[Any, Any], Any]] = {
            "+": lambda a, b: a + b,
            "-": lambda a, b: a - b,
            "*": lambda a, b: a * b,
            "/": divide,
            "//": lambda a, b: a // b,
        }
        return lambda row: operations[sign](left(row), right(row))

    def read_power(self) -> RowFunction:
        if self.take("e^"):
            exponent = self.read_atom()
            return lambda row: math.exp(exponent(row))
        base = self.read_atom()
        if not self.take("^"):
            return base
        power = self.read_atom()
        return lambda row: base(row) ** power(row)

    def read_atom(self) -> RowFunction:
        row_function = self.read_operand()
        while True:
            if self.take("so far"):
                row_function = self.accumulate(
                    row_function, lambda total, row_value: total + row_value
                )
            elif self.take("from here down"):
                row_function = self.accumulate(
                    row_function, lambda total, row_value: total + row_value, upwards=True
                )
            elif self.take("changes below"):
                row_function = self.mark_changes(row_function)
            elif (
                start := re.match(r"one above \((\S+) in the first row\)", self.remainder)
            ) is not None:
                self.remainder = self.remainder[start.end() :].lstrip()
                row_function = self.neighbour_value(row_function, -1, float(start[1]))
            elif self.take("one below (0 in the last row)"):
                row_function = self.neighbour_value(row_function, 1, 0)
            else:
                return row_function

    def read_operand(self) -> RowFunction:
        for name in self.column_names:
            if self.take(name):
                values = self.columns[name]
                return lambda row: values[row]
        if self.take('"'):
            text, _, self.remainder = self.remainder.partition('"')
            self.remainder = self.remainder.lstrip()
            return lambda row: text
        for word, truth in (("yes", True), ("no", False)):
            if self.take(word):
                return lambda row: truth
        for name, function in FUNCTIONS.items():
            if self.take(name + "("):
                return self.read_call(function)
        if self.take("rows so far with"):
            return self.count_marked(self.read_or())
        if self.take("rows above with"):
            is_marked = self.read_or()
            n_marked = self.count_marked(is_marked)
            return lambda row: n_marked(row) - is_marked(row)
        if self.take("product of"):
            factor = self.read_atom()
            self.require("above")
            return self.accumulate(
                self.neighbour_value(factor, -1, 1.0),
                lambda product, factor_value: product * factor_value,
            )
        if self.take("the ranking's") or self.take("ideal"):
            return self.read_other_column()
        if self.take("(sum of"):
            return self.read_series()
        if self.take("("):
            row_function = self.read_choice()
            self.require(")")
            return row_function
        if self.index_values and self.take("i"):
            return lambda row: self.index_values[-1]
        return self.read_symbol_or_number()

    def read_symbol_or_number(self) -> RowFunction:
        symbol_match = SYMBOL.match(self.remainder)
        if symbol_match is not None:
            symbol = symbol_match[0]
            assert symbol in self.symbols, f"{symbol} of {self.text!r} is not defined"
            self.require(symbol)
            self.used_symbols.add(symbol)
            values = self.symbols[symbol]
            if self.take("of the group"):
                return lambda row: values[self.find_group(row)]
            if len(values) == 1:
                return lambda row: values[0]
            return lambda row: values[row]  # of the sheet of the groups
        number_match = NUMBER.match(self.remainder)
        assert number_match is not None, f"{self.remainder!r} of {self.text!r}"
        self.require(number_match[0])
        number_value = float(number_match[0])
        number = int(number_value) if re.fullmatch(r"\d+", number_match[0]) else number_value
        return lambda row: number

    def read_call(self, function: Callable[..., Any]) -> RowFunction:
        arguments = [self.read_choice()]
        while self.take(","):
            arguments.append(self.read_choice())
        self.require(")")
        return lambda row: function(*(argument(row) for argument in arguments))

    def read_series(self) -> RowFunction:
        self.index_values.append(0)
        term = self.read_choice()
        self.index_values.pop()
        self.require(", i =")
        first = self.read_sum()
        self.require("to")
        last = self.read_sum()
        self.require(")")

        def add_terms(row: int) -> float:
            total = 0.0
            for i in range(int(first(row)), int(last(row)) + 1):
                self.index_values.append(i)
                total += term(row)
                self.index_values.pop()
            return total

        return add_terms

    # ---- other rows

    def count_rows(self) -> int:
        assert self.sheet is not None
        return len(next(iter(self.sheet.labels.values())))

    def has_group_rows(self) -> bool:
        return self.sheet is not None and list(self.sheet.labels) == ["group"]

    def find_group(self, row: int) -> Any:
        """Return the number of the group of a row; a query without groups is group 0."""
        assert self.sheet is not None
        if "group" not in self.sheet.labels or self.has_group_rows():
            return 0
        return self.symbols["groups"].index(self.sheet.labels["group"][row])

    def accumulate(
        self, row_value: RowFunction, add: Callable[[Any, Any], Any], upwards: bool = False
    ) -> RowFunction:
        """Return the running value of `add` down (or up) the rows, group by group."""
        value_of_row: dict[int, Any] = {}
        rows = range(self.count_rows())
        above: int | None = None
        for row in reversed(rows) if upwards else rows:
            is_first = above is None or self.find_group(above) != self.find_group(row)
            value_of_row[row] = (
                row_value(row) if is_first else add(value_of_row[above or 0], row_value(row))
            )
            above = row
        return lambda row: value_of_row[row]

    def count_marked(self, is_marked: RowFunction) -> RowFunction:
        return self.accumulate(lambda row: int(is_marked(row)), lambda total, mark: total + mark)

    def neighbour_value(self, row_value: RowFunction, step: int, at_end: Any) -> RowFunction:
        def read_neighbour(row: int) -> Any:
            neighbour = row + step
            is_in_group = 0 <= neighbour < self.count_rows() and self.find_group(
                neighbour
            ) == self.find_group(row)
            return row_value(neighbour) if is_in_group else at_end

        return read_neighbour

    def mark_changes(self, row_value: RowFunction) -> RowFunction:
        below = self.neighbour_value(row_value, 1, None)
        return lambda row: below(row) is None or row_value(row) != below(row)

    def read_other_column(self) -> RowFunction:
        """Read a column of the other ranking: its value in the last row that is not deeper."""
        headers = [
            (column.header, other_sheet)
            for other_sheet in self.other_sheets
            for column in other_sheet.columns
        ]
        candidates = [
            (header, other_sheet)
            for header, other_sheet in headers
            if self.remainder.startswith(header)
        ]
        assert candidates, f"no column {self.remainder!r} in another table"
        header, other_sheet = max(candidates, key=lambda candidate: len(candidate[0]))
        self.require(header)
        values = next(column.values for column in other_sheet.columns if column.header == header)
        sheet = self.sheet
        assert sheet is not None

        def look_up_value(row: int) -> Any:
            groups = other_sheet.labels.get("group")
            positions = [
                i
                for i, rank in enumerate(other_sheet.labels["rank"])
                if rank <= sheet.labels["rank"][row]
                and (groups is None or groups[i] == sheet.labels["group"][row])
            ]
            return values[positions[-1]] if positions else 0

        return look_up_value


def find_columns(sheet: Sheet) -> dict[str, Sequence[Any]]:
    """Return {name: values} of the columns that have a name; the others are expressions."""
    values_of_name = {name: values for name, values in sheet.labels.items() if name != "document"}
    if "grade" in values_of_name:  # as the title says, what is unjudged counts as 0
        values_of_name["grade"] = [
            0 if grade is None else grade for grade in values_of_name["grade"]
        ]
    for column in sheet.columns:
        if column.formula or column.header in LEAVES:
            values_of_name[column.header] = column.values
    return values_of_name


def is_same(computed_value: Any, shown_value: Any, exact: bool) -> bool:
    """Tell whether a value computed again is the value that the worksheet shows."""
    if isinstance(shown_value, str) or isinstance(computed_value, str):
        return str(computed_value) == str(shown_value)
    if exact:
        return bool(computed_value == shown_value)
    return math.isclose(computed_value, shown_value, rel_tol=1e-9, abs_tol=1e-12)


def is_exact(text: str) -> bool:
    """Tell whether an expression is to be redone to the bit: constants have all their digits."""
    return not re.search(r"\^|\be\b|sum of", text)


def check_worksheet(worksheet: Worksheet, groups: Sequence[str]) -> None:
    """Redo all numbers of a worksheet; AssertionError names a number that comes out otherwise."""
    sheets = [entry for entry in worksheet.sections if isinstance(entry, Sheet)]
    symbols: dict[str, Sequence[Any]] = {"groups": list(groups)}
    for entry in worksheet.sections:
        totals = entry.totals if isinstance(entry, Sheet) else ()
        symbols |= {total.symbol: total.values for total in totals}
        if isinstance(entry, Line):
            symbols[entry.symbol] = [entry.value]
    defined_symbols: set[str] = set()
    for entry in worksheet.sections:
        if isinstance(entry, Sheet):
            assert defined_symbols.issuperset(SYMBOL.findall(entry.title)), (
                f"{entry.title!r}: {defined_symbols}"
            )
            check_sheet(entry, symbols, [sheet for sheet in sheets if sheet is not entry])
            defined_symbols |= {total.symbol for total in entry.totals}
        else:
            check_line(entry, symbols, defined_symbols)
            defined_symbols.add(entry.symbol)
    check_line(worksheet.value_line, symbols, defined_symbols)
    assert len(symbols) - 1 == len(defined_symbols), "every symbol stands for one number"


def check_line(line: Line, symbols: Symbols, defined_symbols: set[str]) -> None:
    if not line.numbers and not SYMBOL.fullmatch(line.words):
        return  # a number that is given
    words = re.sub(r"^[a-zR][a-z]*[\w -]* = ", "", line.words)
    reader = ExpressionReader(words, symbols)
    computed_value = reader.read_all()(0)
    assert reader.used_symbols <= defined_symbols, (
        f"{line.words!r} comes before {reader.used_symbols - defined_symbols}"
    )
    exact = is_exact(words) and not isinstance(computed_value, str)
    assert is_same(computed_value, line.value, exact), (line, computed_value)
    if line.numbers:
        typed_value = ExpressionReader(line.numbers, {}).read_all()(0)
        is_close = math.isclose(typed_value, float(line.value), rel_tol=2e-5, abs_tol=2e-6)
        assert is_close, f"a pocket calculator has {typed_value}: {line}"


def check_sheet(sheet: Sheet, symbols: Symbols, other_sheets: Sequence[Sheet]) -> None:
    headers = [*sheet.labels, *(column.header for column in sheet.columns)]
    assert len(set(headers)) == len(headers), headers
    for column in sheet.columns:
        if not column.formula and column.header in LEAVES:
            continue
        words = column.formula or column.header
        row_function = ExpressionReader(words, symbols, sheet, other_sheets).read_all()
        exact = is_exact(words)
        for row, shown_value in enumerate(column.values):
            assert is_same(row_function(row), shown_value, exact), (
                sheet.title,
                column.header,
                words,
                row,
            )
    for total in sheet.totals:
        check_total(sheet, total, symbols["groups"])


def check_total(sheet: Sheet, total: Total, groups: Sequence[str]) -> None:
    """Redo a sum, a count, a first or a highest value by a loop over the rows shown."""
    n_rows = len(next(iter(sheet.labels.values())))
    of_groups = len(total.values) > 1 or ("group" in sheet.labels and "rank" in sheet.labels)
    names = groups if of_groups else [None]
    assert len(total.values) == len(names)
    columns = {**sheet.labels, **{column.header: column.values for column in sheet.columns}}
    for name, shown_value in zip(names, total.values, strict=True):
        rows = [i for i in range(n_rows) if name is None or sheet.labels["group"][i] == name]
        if total.words in ("number of these", "number of groups"):
            assert shown_value == len(rows)
            continue
        values = [columns[total.column][i] for i in rows]
        if total.words.startswith("number of"):
            assert shown_value == sum(1 for value in values if value)
        elif total.words.startswith("sum of"):
            total_value, running = 0.0, total.running
            assert running is not None
            for row, value in zip(rows, values, strict=True):
                total_value += value
                assert running[row] == total_value, "it adds up, left to right"
            assert shown_value == total_value
        elif "in the first row" in total.words:
            assert shown_value == (values[0] if values else 0)
        elif total.words.startswith("highest"):
            assert shown_value == max(values, default=0)
        else:
            assert total.words.endswith(", one after the other")
            assert shown_value == "".join(map(str, values))


def describe_form(worksheet: Worksheet) -> list[Any]:
    """Return a worksheet without the query's numbers: the same for every query."""
    description: list[Any] = []
    for entry in (*worksheet.sections, worksheet.value_line):
        if isinstance(entry, Line):
            description.append((entry.symbol, entry.words))
        else:
            columns = [(column.header, column.formula) for column in entry.columns]
            totals = [(total.symbol, total.words, total.column) for total in entry.totals]
            description.append((entry.title, list(entry.labels), columns, totals))
    return description
