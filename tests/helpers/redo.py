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
    {"rank", "grade", "nth", "judged", "cost", "stratum", "probability", "weight"}
    | {"worth of the tie", "size of the tie", "nth of the tie", "worth above the tie"}
    | {"place in the ideal", "preferences fulfilled", "preferences", "relevant", "in one order"}
    | {"relevant retrieved", "nonrelevant", "nonrelevant retrieved", "documents retrieved"}
)
SYMBOL = re.compile(r"[A-Z]\d*(?![\w'])")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
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
Value = Callable[[int], Any]  # of a row
Symbols = Mapping[str, Sequence[Any]]


def divided(a: Any, b: Any) -> Any:
    """0/0 is 0, as a line says beside every explanation in which it happens."""
    return a / b if b else 0.0


class Text:
    """What is left to read of an expression, in a sheet (or in none: numbers of the query)."""

    def __init__(
        self, text: str, symbols: Symbols, sheet: Sheet | None = None, others: Sequence[Sheet] = ()
    ) -> None:
        self.whole, self.left = text, text
        self.symbols, self.sheet, self.others = symbols, sheet, others
        self.used: set[str] = set()
        self.index: list[int] = []  # what i is, in a sum over i
        columns = {} if sheet is None else columns_of(sheet)
        self.names = sorted(columns, key=len, reverse=True)
        self.columns = columns

    def value(self) -> Value:
        """Read all of it."""
        found = self.either()
        assert not self.left, f"{self.left!r} of {self.whole!r}"
        return found

    def takes(self, token: str) -> bool:
        left = self.left.lstrip()
        if not left.startswith(token):
            return False
        if token[-1].isalpha() and left[len(token) : len(token) + 1].isalnum():
            return False
        self.left = left[len(token) :].lstrip()
        return True

    def needs(self, token: str) -> None:
        assert self.takes(token), f"{token!r} before {self.left!r} of {self.whole!r}"

    # ---- from what binds least to what binds most

    def either(self) -> Value:
        yes = self.any_of()
        if not self.takes("if"):
            return yes
        condition = self.any_of()
        self.needs(",")
        self.needs("else")
        no = self.compared()
        return lambda row: yes(row) if condition(row) else no(row)

    def any_of(self) -> Value:
        found = [self.all_of()]
        while self.takes("or"):
            found.append(self.all_of())
        return found[0] if len(found) == 1 else lambda row: any(one(row) for one in found)

    def all_of(self) -> Value:
        found = [self.compared()]
        while self.takes("and"):
            found.append(self.compared())
        return found[0] if len(found) == 1 else lambda row: all(one(row) for one in found)

    def compared(self) -> Value:
        if self.takes("not"):
            negated = self.atom()
            return lambda row: not negated(row)
        left = self.sum()
        for sign, compare in COMPARED.items():
            if self.takes(sign):
                right = self.sum()
                return lambda row: compare(left(row), right(row))
        return left

    def sum(self) -> Value:
        if self.takes("-"):
            negative = self.power()
            found: Value = lambda row: -negative(row)  # noqa: E731
        else:
            found = self.product()
        while self.left.startswith(("+ ", "- ")):
            found = self.both(found, "+" if self.takes("+") else "-", self.product)
        return found

    def product(self) -> Value:
        found = self.power()
        while self.left.startswith(("* ", "/ ", "// ")):
            sign = next(sign for sign in ("//", "*", "/") if self.takes(sign))
            found = self.both(found, sign, self.power)
        return found

    def both(self, left: Value, sign: str, read: Callable[[], Value]) -> Value:
        if sign == "-":
            self.takes("-")
        right = read()
        reckon: dict[str, Callable[[Any, Any], Any]] = {
            "+": lambda a, b: a + b,
            "-": lambda a, b: a - b,
            "*": lambda a, b: a * b,
            "/": divided,
            "//": lambda a, b: a // b,
        }
        return lambda row: reckon[sign](left(row), right(row))

    def power(self) -> Value:
        if self.takes("e^"):
            exponent = self.atom()
            return lambda row: math.exp(exponent(row))
        base = self.atom()
        if not self.takes("^"):
            return base
        raised = self.atom()
        return lambda row: base(row) ** raised(row)

    def atom(self) -> Value:
        found = self.operand()
        while True:
            if self.takes("so far"):
                found = self.down(found, lambda so_far, one: so_far + one)
            elif self.takes("from here down"):
                found = self.down(found, lambda so_far, one: so_far + one, upwards=True)
            elif self.takes("changes below"):
                found = self.changes(found)
            elif (
                start := re.match(r"one above \((\S+) in the first row\)", self.left)
            ) is not None:
                self.left = self.left[start.end() :].lstrip()
                found = self.beside(found, -1, float(start[1]))
            elif self.takes("one below (0 in the last row)"):
                found = self.beside(found, 1, 0)
            else:
                return found

    def operand(self) -> Value:
        for name in self.names:
            if self.takes(name):
                values = self.columns[name]
                return lambda row: values[row]
        if self.takes('"'):
            text, _, self.left = self.left.partition('"')
            self.left = self.left.lstrip()
            return lambda row: text
        for word, is_so in (("yes", True), ("no", False)):
            if self.takes(word):
                return lambda row: is_so
        for name, function in FUNCTIONS.items():
            if self.takes(name + "("):
                return self.called(function)
        if self.takes("rows so far with"):
            return self.counted(self.any_of())
        if self.takes("rows above with"):
            marked = self.any_of()
            so_far = self.counted(marked)
            return lambda row: so_far(row) - marked(row)
        if self.takes("product of"):
            factor = self.atom()
            self.needs("above")
            return self.down(self.beside(factor, -1, 1.0), lambda product, one: product * one)
        if self.takes("the ranking's") or self.takes("ideal"):
            return self.elsewhere()
        if self.takes("(sum of"):
            return self.series()
        if self.takes("("):
            found = self.either()
            self.needs(")")
            return found
        if self.index and self.takes("i"):
            return lambda row: self.index[-1]
        return self.symbol_or_number()

    def symbol_or_number(self) -> Value:
        written = SYMBOL.match(self.left)
        if written is not None:
            symbol = written[0]
            assert symbol in self.symbols, f"{symbol} of {self.whole!r} is not defined"
            self.needs(symbol)
            self.used.add(symbol)
            values = self.symbols[symbol]
            if self.takes("of the group"):
                return lambda row: values[self.group(row)]
            if len(values) == 1:
                return lambda row: values[0]
            return lambda row: values[row]  # of the sheet of the groups
        digits = NUMBER.match(self.left)
        assert digits is not None, f"{self.left!r} of {self.whole!r}"
        self.needs(digits[0])
        value = float(digits[0])
        whole = int(value) if re.fullmatch(r"\d+", digits[0]) else value
        return lambda row: whole

    def called(self, function: Callable[..., Any]) -> Value:
        arguments = [self.either()]
        while self.takes(","):
            arguments.append(self.either())
        self.needs(")")
        return lambda row: function(*(one(row) for one in arguments))

    def series(self) -> Value:
        self.index.append(0)
        term = self.either()
        self.index.pop()
        self.needs(", i =")
        first = self.sum()
        self.needs("to")
        last = self.sum()
        self.needs(")")

        def added(row: int) -> float:
            total = 0.0
            for i in range(int(first(row)), int(last(row)) + 1):
                self.index.append(i)
                total += term(row)
                self.index.pop()
            return total

        return added

    # ---- other rows

    def rows(self) -> int:
        assert self.sheet is not None
        return len(next(iter(self.sheet.labels.values())))

    def is_of_groups(self) -> bool:
        return self.sheet is not None and list(self.sheet.labels) == ["group"]

    def group(self, row: int) -> Any:
        """Return which group a row is of; the query alone is one."""
        assert self.sheet is not None
        if "group" not in self.sheet.labels or self.is_of_groups():
            return 0
        return self.symbols["groups"].index(self.sheet.labels["group"][row])

    def down(self, one: Value, add: Callable[[Any, Any], Any], upwards: bool = False) -> Value:
        """Go down (or up) the rows, group by group."""
        found: dict[int, Any] = {}
        rows = range(self.rows())
        above: int | None = None
        for row in reversed(rows) if upwards else rows:
            is_first = above is None or self.group(above) != self.group(row)
            found[row] = one(row) if is_first else add(found[above or 0], one(row))
            above = row
        return lambda row: found[row]

    def counted(self, marked: Value) -> Value:
        return self.down(lambda row: int(marked(row)), lambda so_far, one: so_far + one)

    def beside(self, one: Value, step: int, at_end: Any) -> Value:
        def found(row: int) -> Any:
            there = row + step
            inside = 0 <= there < self.rows() and self.group(there) == self.group(row)
            return one(there) if inside else at_end

        return found

    def changes(self, one: Value) -> Value:
        below = self.beside(one, 1, None)
        return lambda row: below(row) is None or one(row) != below(row)

    def elsewhere(self) -> Value:
        """Read a column of the other ranking: what is at its last row that is not deeper."""
        headers = [(column.header, other) for other in self.others for column in other.columns]
        found = [(h, other) for h, other in headers if self.left.startswith(h)]
        assert found, f"no column {self.left!r} in another table"
        header, other = max(found, key=lambda one: len(one[0]))
        self.needs(header)
        values = next(column.values for column in other.columns if column.header == header)
        here = self.sheet
        assert here is not None

        def looked_up(row: int) -> Any:
            groups = other.labels.get("group")
            at = [
                i
                for i, rank in enumerate(other.labels["rank"])
                if rank <= here.labels["rank"][row]
                and (groups is None or groups[i] == here.labels["group"][row])
            ]
            return values[at[-1]] if at else 0

        return looked_up


def columns_of(sheet: Sheet) -> dict[str, Sequence[Any]]:
    """Return the columns that have a name: {name: values}; others are expressions."""
    found = {name: values for name, values in sheet.labels.items() if name != "document"}
    if "grade" in found:  # as the title says, what is unjudged counts as 0
        found["grade"] = [0 if one is None else one for one in found["grade"]]
    for column in sheet.columns:
        if column.made or column.header in LEAVES:
            found[column.header] = column.values
    return found


def same(found: Any, shown: Any, exact: bool) -> bool:
    """Tell whether what was computed is what is shown."""
    if isinstance(shown, str) or isinstance(found, str):
        return str(found) == str(shown)
    if exact:
        return bool(found == shown)
    return math.isclose(found, shown, rel_tol=1e-9, abs_tol=1e-12)


def is_exact(text: str) -> bool:
    """Tell whether an expression is to be redone to the bit: constants have all their digits."""
    return not re.search(r"\^|\be\b|sum of", text)


def check(of: Worksheet, groups: Sequence[str]) -> None:
    """Redo all that is shown. AssertionError names what cannot be."""
    tables = [entry for entry in of.entries if isinstance(entry, Sheet)]
    symbols: dict[str, Sequence[Any]] = {"groups": list(groups)}
    for entry in of.entries:
        totals = entry.totals if isinstance(entry, Sheet) else ()
        symbols |= {total.symbol: total.values for total in totals}
        if isinstance(entry, Line):
            symbols[entry.symbol] = [entry.value]
    known: set[str] = set()
    for entry in of.entries:
        if isinstance(entry, Sheet):
            assert known.issuperset(SYMBOL.findall(entry.title)), f"{entry.title!r}: {known}"
            check_sheet(entry, symbols, [one for one in tables if one is not entry])
            known |= {total.symbol for total in entry.totals}
        else:
            check_line(entry, symbols, known)
            known.add(entry.symbol)
    check_line(of.result, symbols, known)
    assert len(symbols) - 1 == len(known), "every symbol stands for one number"


def check_line(line: Line, symbols: Symbols, known: set[str]) -> None:
    if not line.numbers and not SYMBOL.fullmatch(line.words):
        return  # a number that is given
    words = re.sub(r"^[a-zR][a-z]*[\w -]* = ", "", line.words)
    text = Text(words, symbols)
    found = text.value()(0)
    assert text.used <= known, f"{line.words!r} comes before {text.used - known}"
    exact = is_exact(words) and not isinstance(found, str)
    assert same(found, line.value, exact), (line, found)
    if line.numbers:
        typed = Text(line.numbers, {}).value()(0)
        close = math.isclose(typed, float(line.value), rel_tol=2e-5, abs_tol=2e-6)
        assert close, f"a pocket calculator has {typed}: {line}"


def check_sheet(sheet: Sheet, symbols: Symbols, others: Sequence[Sheet]) -> None:
    headers = [*sheet.labels, *(column.header for column in sheet.columns)]
    assert len(set(headers)) == len(headers), headers
    for column in sheet.columns:
        if not column.made and column.header in LEAVES:
            continue
        words = column.made or column.header
        redo = Text(words, symbols, sheet, others).value()
        exact = is_exact(words)
        for row, shown in enumerate(column.values):
            assert same(redo(row), shown, exact), (sheet.title, column.header, words, row)
    for total in sheet.totals:
        check_total(sheet, total, symbols["groups"])


def check_total(sheet: Sheet, total: Total, groups: Sequence[str]) -> None:
    """Redo a sum, a count, a first or a highest value by a loop over the rows shown."""
    n_rows = len(next(iter(sheet.labels.values())))
    of_groups = len(total.values) > 1 or ("group" in sheet.labels and "rank" in sheet.labels)
    names = groups if of_groups else [None]
    assert len(total.values) == len(names)
    columns = {**sheet.labels, **{one.header: one.values for one in sheet.columns}}
    for name, shown in zip(names, total.values, strict=True):
        rows = [i for i in range(n_rows) if name is None or sheet.labels["group"][i] == name]
        if total.words in ("number of these", "number of groups"):
            assert shown == len(rows)
            continue
        values = [columns[total.column][i] for i in rows]
        if total.words.startswith("number of"):
            assert shown == sum(1 for one in values if one)
        elif total.words.startswith("sum of"):
            so_far, running = 0.0, total.running
            assert running is not None
            for row, value in zip(rows, values, strict=True):
                so_far += value
                assert running[row] == so_far, "it adds up, left to right"
            assert shown == so_far
        elif "in the first row" in total.words:
            assert shown == (values[0] if values else 0)
        elif total.words.startswith("highest"):
            assert shown == max(values, default=0)
        else:
            assert total.words.endswith(", one after the other")
            assert shown == "".join(map(str, values))


def form(of: Worksheet) -> list[Any]:
    """Return what a worksheet is except the query's numbers: the same for every query."""
    found: list[Any] = []
    for entry in (*of.entries, of.result):
        if isinstance(entry, Line):
            found.append((entry.symbol, entry.words))
        else:
            columns = [(one.header, one.made) for one in entry.columns]
            totals = [(one.symbol, one.words, one.column) for one in entry.totals]
            found.append((entry.title, list(entry.labels), columns, totals))
    return found
