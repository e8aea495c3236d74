"""Worksheet: the steps of a measure as tables and lines that a reader can redo by hand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield.derivation import Derived, Record, Step, plain
from cranfield.explanation.following import GroupSpace, Rows

# What binds: an expression of a lower number stands in brackets beside one of a higher.
_LOOSE, _OR, _AND, _COMPARED, _SUM, _PRODUCT, _POWER, _ATOM = range(8)

_BINARY = {
    "add": ("+", _SUM),
    "subtract": ("-", _SUM),
    "multiply": ("*", _PRODUCT),
    "divide": ("/", _PRODUCT),
    "ratio": ("/", _PRODUCT),
    "floor_divide": ("//", _PRODUCT),
    "power": ("^", _POWER),
    "powers": ("^", _POWER),
    "raised": ("^", _POWER),
    "greater": (">", _COMPARED),
    "greater_equal": (">=", _COMPARED),
    "less": ("<", _COMPARED),
    "less_equal": ("<=", _COMPARED),
    "equal": ("=", _COMPARED),
    "not_equal": ("is not", _COMPARED),
    "logical_and": ("and", _AND),
    "bitwise_and": ("and", _AND),
    "logical_or": ("or", _OR),
    "bitwise_or": ("or", _OR),
}
_FUNCTIONS = {"minimum": "min", "maximum": "max", "log": "ln", "absolute": "abs"}
_NOTHING = {"add": 0, "subtract": 0, "multiply": 1, "divide": 1, "ratio": 1}  # changes no value
# Columns of their own: what a calculator has no key for, or what comes from other rows.
_OWN_COLUMN = frozenset(
    {"running", "before", "above", "below", "remaining", "at", "places", "steps"}
    | {"log2", "log", "exp", "powers", "raised", "looked_up"}
)
_OTHER_ROWS = {
    "running": "{} so far",
    "before": "product of {} above",
    "above": "{} one above ({} in the first row)",
    "below": "{} one below (0 in the last row)",
    "remaining": "{} from here down",
    "steps": "{} changes below",
}
_WORDS = {  # what a Judged and its rankings hold
    "ordinal": "nth",
    "n_retrieved": "documents retrieved",
    "costs": "cost",
    "judged": "judged",
    "top_grade": "top grade",
    "n_groups": "groups",
    "weight": "weight",
    "held": "worth of the tie",
    "size": "size of the tie",
    "nth": "nth of the tie",
    "above": "worth above the tie",
    "n_relevant": "relevant",
    "n_relevant_retrieved": "relevant retrieved",
    "n_nonrelevant": "nonrelevant",
    "n_nonrelevant_retrieved": "nonrelevant retrieved",
    "is_ordered": "in one order",
    "unknown": "(numbers of unknown origin)",
}
_IN_ORDER = ", highest grade first"
_BASES = {  # what stands before the grades, and what behind
    "hits": "judged documents retrieved",
    "ideal": "judged documents{}, retrieved or not" + _IN_ORDER,
    "every": "documents retrieved",
    "filled": "the top grade of the collection at every rank",
    "novel_first": "relevant documents, the one that adds most to what stands above it first",
    "most_first": "relevant documents, the one worth most to all subtopics together first",
    "ranked": "places that a document of value may take among equal scores",
}
_CUT_BASES = {"every": 0, "filled": 0, "ranked": 1}  # which argument is the cutoff
_IDEALS = frozenset({"ideal", "filled", "novel_first", "most_first"})
_SHORT = {"hits": "the ranking's", "ideal": "ideal"}
_AGGREGATED = {
    "total": "sum of {}",
    "first": "{} in the first row, 0 if there is none",
    "maximum": "highest {}",
    "joined": "{}, one after the other",
}
_LONGEST_HEADER = 32
_PAIRS = "preferences are given: counted over all pairs of the group's documents"
_COUNTED = {"preferences fulfilled": _PAIRS, "preferences": _PAIRS}
_UNKNOWN = "(numbers of unknown origin)"


# What a node is called, and how tightly that binds; None: it is to be written out.
_Label = Callable[[Derived], tuple[str, int] | None]


@dataclass(frozen=True)
class Column:
    """A number for each row; `made` says of what, where the header does not."""

    header: str
    values: Sequence[Any]
    made: str = ""


@dataclass(frozen=True)
class Total:
    """What becomes of a column: its sum, or its first or its highest value; or a count of rows."""

    symbol: str
    words: str
    values: Sequence[float | str]  # one, or one for each group
    column: str = ""  # the header
    running: Sequence[float] | None = None  # of a sum: how it adds up, row by row


@dataclass
class Sheet:
    """Rows of a ranking, or the groups of a query, with the columns that matter."""

    title: str
    labels: dict[str, Sequence[Any]]
    columns: list[Column] = field(default_factory=list)
    totals: list[Total] = field(default_factory=list)


@dataclass(frozen=True)
class Line:
    """A number and how it comes of others: in words or symbols, then in numbers."""

    symbol: str
    words: str
    numbers: str
    value: float | str


@dataclass(frozen=True)
class Worksheet:
    """What a value was made of, in the order in which it is to be read.

    `result` is the last line: the value itself. `lost` says that the measure lost some of it.
    """

    entries: Sequence[Sheet | Line]
    result: Line
    lost: bool = False
    divided_by_nothing: tuple[str, ...] = ()  # the columns and lines where 0/0 counted as 0


def number(value: Any) -> str:
    """Return a number as it is shown: whole ones as they are, others with six decimals."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.6f}" if abs(value) >= 1e-3 else f"{value:.6g}"


@dataclass
class _Writing:
    """Writes the worksheet of one value."""

    symbols: Iterator[str]
    is_strict: bool  # as in Record
    entries: dict[str, Sheet | Line] = field(default_factory=dict)  # by symbol
    # What an entry refers to: symbols, or sheets. A sheet by its id, as a line.
    needs: dict[int, Any] = field(default_factory=dict)
    refers: list[Any] = field(default_factory=lambda: [_Ordered()])
    sheets: dict[Any, Sheet] = field(default_factory=dict)
    known: dict[Any, Any] = field(default_factory=dict)  # (sheet, key of a node) -> its label
    keys: dict[int, Any] = field(default_factory=dict)
    uses: dict[Any, int] = field(default_factory=dict)
    asked: dict[Any, Sheet] = field(default_factory=dict)  # by which rows were chosen
    # Of each sheet of rows, by its id: the sheet, its rows, and what its title refers to.
    titles: dict[int, tuple[Sheet, Rows, dict[Any, Any]]] = field(default_factory=dict)
    rankings: set[int] = field(default_factory=set)  # sheets of which more is used than a count
    alive: list[Any] = field(default_factory=list)  # so that no id is given twice
    in_numbers: bool = False
    lost: bool = False
    # Whether what is being written divides by 0, for each column or line that is not done; and the
    # names of those that are done and did.
    divides: list[bool] = field(default_factory=lambda: [False])
    divided: dict[str, None] = field(default_factory=dict)

    # ---- which nodes are the same ---------------------------------------------------------------

    def key(self, node: Any) -> Any:
        """Return what is equal for what was made in the same way."""
        if isinstance(node, Rows):
            if id(node) not in self.keys:
                self.alive.append(node)
                rows = node.ranked.sampling["row"].tobytes(), node.ranked.rank.tobytes()
                chain: list[Any] = []
                one = node
                while one.subset is not None:
                    one, how, what = one.subset
                    chain.append((how, self.key(what)))
                asked = tuple(map(self.key, node.asked))
                chain = list(dict.fromkeys(chain))
                whole_rows = node.base, node.home is None, rows, asked, tuple(chain)
                self.keys[id(node)] = self.known.setdefault(("rows", whole_rows), len(self.known))
            return self.keys[id(node)]
        if isinstance(node, GroupSpace):
            return id(node)
        if isinstance(node, np.ndarray) and not isinstance(node, Derived):
            self.lost |= self.is_strict and node.flags.writeable  # cutoffs are read-only
            return node.shape, node.tobytes()
        if not isinstance(node, Derived):
            return repr(node)
        if id(node) not in self.keys:
            made = node.step
            self.lost |= made.op == "unknown"
            self.alive.append(node)
            inputs = tuple(self.key(one) for one in made.inputs)
            space = self.key(made.space) if isinstance(made.space, Rows) else made.space
            # A number for each way, so that keys of keys stay short.
            values = b"" if made.inputs else node.values.tobytes()
            whole = made.op, made.name, inputs, space if space is None else str(space), values
            self.keys[id(node)] = self.known.setdefault(("key", whole), len(self.known))
        return self.keys[id(node)]

    def count_uses(self, node: Any) -> None:
        """Count how often each way is used."""
        key = self.key(node)
        self.uses[key] = self.uses.get(key, 0) + 1
        if self.uses[key] == 1:
            for one in node.step.inputs:
                if isinstance(one, Derived):
                    self.count_uses(one)

    def ordered(self, refers: Mapping[Any, Any]) -> list[Sheet | Line]:
        """Return the entries so that what one refers to stands above it, where that can be."""
        found: list[Sheet | Line] = []
        met: set[int] = set()

        def visit(needed: Mapping[Any, Any]) -> None:
            for one in needed.values():
                entry = self.entries[one] if isinstance(one, str) else one
                if id(entry) not in met:
                    met.add(id(entry))
                    visit(self.needs.get(id(entry), {}))
                    found.append(entry)

        visit(refers)
        return found

    # ---- expressions ----------------------------------------------------------------------------

    def written(self, node: Any, label: _Label) -> tuple[str, int]:
        """Return an expression, and how tightly it binds; `label` names what stays closed."""
        if not isinstance(node, Derived):
            text = self._constant(node)
            return text, _SUM if text.startswith(("-", "1 - ")) else _ATOM
        if node.step.op == "constant":
            return self.written(node.step.inputs[0], label)
        known = label(node)
        if known is not None:
            return known
        op, inputs = node.step.op, node.step.inputs
        if op == "item":  # some of an array, in some order
            self.lost |= not node.step.name
            return node.step.name or _UNKNOWN, _ATOM
        if op == "spread":  # the same number, elsewhere
            return self.written(inputs[-1], label)
        if op == "ldexp":  # x times 2^n
            power = self._bracketed(inputs[1], label, _POWER)
            if _is(inputs[0], 1):
                return f"2^{power}", _POWER
            if power.startswith("(-"):
                return f"{self._bracketed(inputs[0], label, _PRODUCT)} / 2^{power[2:-1]}", _PRODUCT
            return f"{self._bracketed(inputs[0], label, _PRODUCT)} * 2^{power}", _PRODUCT
        if op in ("ones_like", "zeros_like"):
            return ("1" if op == "ones_like" else "0"), _ATOM
        simpler = self._simpler(op, inputs, label)
        if simpler is not None:
            return simpler
        if op in ("ratio", "divide") and np.size(node):
            below = np.asarray(inputs[1])
            self.divides[-1] |= bool((below == 0).any())
        if op in _BINARY:
            sign, binds = _BINARY[op]
            left = self._number(inputs[0], op, label, binds + (binds in (_COMPARED, _POWER)))
            # As it was reckoned: a * (b / c) and a * b / c differ in the last bit.
            right = self._number(inputs[1], op, label, binds + 1)
            return f"{left}^{right}" if sign == "^" else f"{left} {sign} {right}", binds
        if op == "where":
            return self._either(inputs[0], inputs[1], inputs[2], label)
        if op in ("invert", "logical_not"):
            return f"not {self._bracketed(inputs[0], label, _ATOM)}", _COMPARED
        if op == "negative":
            return f"-{self._bracketed(inputs[0], label, _POWER)}", _SUM
        if op == "exp":
            return f"e^{self._bracketed(inputs[0], label, _ATOM)}", _POWER
        if op == "square":
            return f"{self._bracketed(inputs[0], label, _ATOM)}^2", _POWER
        if op == "looked_up" and self.in_numbers:
            return number(node.values.flat[0].item()), _ATOM
        if op == "looked_up":
            return inputs[0].format(self._bracketed(inputs[2], label, _SUM)), _ATOM
        inside = ", ".join(self.written(one, label)[0] for one in inputs)
        return f"{_FUNCTIONS.get(op, op)}({inside})", _ATOM

    def _simpler(self, op: str, inputs: Any, label: _Label) -> tuple[str, int] | None:
        """Return what is simpler to read than the operation, and the same number."""
        if op in ("multiply", "add"):
            for one, other in (inputs, inputs[::-1]):
                if _is(one, _NOTHING[op]) and not _is_bool(other):
                    return self.written(other, label)
                if op == "add" and self._is_nothing(one):
                    return self.written(other, label)
                if op == "multiply" and self._is_nothing(one):
                    return "0", _ATOM
                if op == "multiply" and isinstance(one, Derived) and _is_bool(one):
                    return self._either(one, other, 0, label)
        elif op in _NOTHING and _is(inputs[1], _NOTHING[op]):
            return self.written(inputs[0], label)
        elif op == "subtract" and isinstance(inputs[0], Derived) and _is_bool(inputs[1]):
            running = inputs[0].step
            if running.op == "running" and self.key(running.inputs[1]) == self.key(inputs[1]):
                return f"rows above with {self._bracketed(inputs[1], label, _OR)}", _LOOSE
        elif op in ("logical_and", "bitwise_and", "logical_or", "bitwise_or"):
            for one, other in (inputs, inputs[::-1]):
                if not isinstance(one, Derived) and np.size(one) == 1:
                    is_so = bool(np.asarray(one).flat[0])
                    if is_so == op.endswith("and"):
                        return self.written(other, label)
                    return number(is_so), _ATOM
        return None

    def _is_nothing(self, node: Any) -> bool:
        """Tell whether a node is 0 whatever the query."""
        if isinstance(node, Derived):
            op, inputs = node.step.op, node.step.inputs
            return op == "multiply" and any(_is(one, 0) for one in inputs)
        return _is(node, 0)

    def _either(self, condition: Any, yes: Any, no: Any, label: _Label) -> tuple[str, int]:
        """Write one of two, as a condition says; in numbers the one that it is."""
        asked = self._bracketed(condition, label, _OR)
        if asked in ("yes", "no") or (self.in_numbers and np.size(condition) == 1):
            return self.written(yes if np.asarray(condition).flat[0] else no, label)
        texts = [self._number(one, "where", label, _COMPARED) for one in (yes, no)]
        if texts[0] == texts[1]:
            return self.written(no, label)
        return f"{texts[0]} if {asked}, else {texts[1]}", _LOOSE

    def _number(self, node: Any, op: str, label: _Label, least: int) -> str:
        """Write a number of an operation: where it is a truth value, 1 or 0."""
        is_logical = op.startswith(("logical", "bitwise", "equal", "not_equal"))
        if not is_logical and isinstance(node, Derived) and _is_bool(node):
            text, binds = self._either(node, 1, 0, label)
            return text if binds >= least else f"({text})"
        return self._bracketed(node, label, least)

    def _bracketed(self, node: Any, label: _Label, least: int) -> str:
        text, binds = self.written(node, label)
        return text if binds >= least else f"({text})"

    def _constant(self, value: Any) -> str:
        if isinstance(value, np.ndarray):
            if value.size == 0:
                return "0"
            if (value != value.flat[0]).any():
                self.lost = True
                return _UNKNOWN
            value = value.flat[0]
        if isinstance(value, bool | np.bool_):
            return number(value)
        if isinstance(value, int | float | np.number):
            return _digits(float(value)) if isinstance(value, float | np.floating) else str(value)
        return f'"{value}"' if isinstance(value, str) else str(value)

    # ---- the query's numbers --------------------------------------------------------------------

    def symbol(self, node: Derived) -> tuple[str, int] | None:
        """Return the symbol of a number of the query; None if it is to be written out."""
        key = self.key(node)
        self.lost |= isinstance(node.step.space, Rows)  # a column: this shows one number of it
        if ("symbol", key) not in self.known:
            op, inputs = node.step.op, node.step.inputs
            leaf = not any(isinstance(one, Derived | Rows | GroupSpace) for one in inputs)
            if inputs and isinstance(inputs[0], Rows | GroupSpace):
                self._aggregated(node, key)
            elif leaf or node.step.name or (self.uses.get(key, 0) > 1 and op != "item"):
                self._line(node, key, leaf)
            else:
                return None
        found: str = self.known["symbol", key]
        self.refers[-1].add(found)
        return found, _ATOM

    def _line(self, node: Derived, key: Any, leaf: bool) -> None:
        """Write a line for a number of the query."""
        with self._referring() as refers, self._dividing() as place:
            words = self._words(node, self.symbol)
            numbers = "" if leaf else self._numbers(node, words)
            same = words in self.entries  # the same number, but for a factor of 1, say
            symbol = self.known["symbol", key] = words if same else next(self.symbols)
            place.append(symbol)
        if same:
            return
        line = Line(symbol, words, numbers, node.values.flat[0].item())
        self.entries[symbol] = line
        self.needs[id(line)] = refers

    @contextmanager
    def _referring(self) -> Iterator[dict[str, None]]:
        """Note which symbols are referred to meanwhile."""
        self.refers.append(_Ordered())
        yield self.refers[-1]
        self.refers.pop()

    @contextmanager
    def _dividing(self) -> Iterator[list[str]]:
        """Note whether what is written meanwhile divides by 0; the name of it is to be added."""
        self.divides.append(False)
        name: list[str] = []
        yield name
        if self.divides.pop():
            self.divided[name[0]] = None

    def _words(self, node: Derived, label: _Label) -> str:
        """Return how a node is made: its name, if it has one, and the expression."""
        made = node.step
        if not made.inputs:
            return made.name or _WORDS.get(made.op, made.op)
        opened = False

        def inside(one: Derived) -> tuple[str, int] | None:
            nonlocal opened
            if one is node and not opened:
                opened = True
                return None
            return label(one)

        text, _ = self.written(node, inside)
        return f"{made.name} = {text}" if made.name and text != made.name else text

    def _numbers(self, node: Derived, words: str) -> str:
        """Return the expression of a node with numbers in the place of symbols, if it has any."""

        def shown(one: Derived) -> tuple[str, int] | None:
            if one is node or self.symbol(one) is None:
                return None
            value = number(one.values.flat[0].item())
            return value, _SUM if value.startswith("-") else _ATOM

        self.in_numbers = True
        text = self.written(node, shown)[0]
        self.in_numbers = False
        return "" if text == words or words.endswith(f" = {text}") else text

    def _aggregated(self, node: Derived, key: Any) -> None:
        """Write what becomes of a column into the sheet of its rows."""
        op, (of, *inputs) = node.step.op, node.step.inputs
        values = node.values.ravel().tolist()
        if op == "count" and isinstance(of, Rows) and of.base != "hits" and of.home is None:
            symbol = self.known["symbol", key] = next(self.symbols)
            words = f"number of {self.described(of).replace(_IN_ORDER, '')}"
            self.entries[symbol] = Line(symbol, words, "", values[0])
            return
        rows = of if isinstance(of, Rows) else None
        sheet = self.sheet(of) if rows else self.group_sheet(of)
        if op in ("count", "n_groups"):
            words, header, running = "number of these" if rows else "number of groups", "", None
        else:
            if op == "total" and isinstance(inputs[0], Derived):
                inputs[0] = _counted(inputs[0])
            with self._referring() as refers:
                header = self.column(sheet, inputs[0], rows)
            self.rankings.add(id(sheet))
            self.needs.setdefault(id(sheet), _Ordered()).update(refers)
            loose = " if " in header or any(sign in header for sign in "<>=")
            shown, running = f"({header})" if loose and " " in header else header, None
            words = _AGGREGATED.get(op, op + " {}").format(shown)
            if op == "total" and _is_bool(inputs[0]):
                words = f"number of {'rows' if rows else 'groups'} where {header}"
            elif op == "total":
                terms = plain(inputs[0]) * 1.0
                summed = rows.ranked.running(terms) if rows else np.cumsum(np.ravel(terms))
                running = summed.tolist()
        symbol = self.known["symbol", key] = next(self.symbols)
        self.entries[symbol] = sheet
        sheet.totals.append(Total(symbol, words, values, header, running))

    def title(self) -> None:
        """Say of the tables of an ideal ranking that they are; a count alone has no order."""
        for sheet, rows, _ in self.titles.values():
            if rows.base in _IDEALS or _reordered(rows):
                is_ranking = id(sheet) in self.rankings
                title = sheet.title if is_ranking else sheet.title.replace(_IN_ORDER, "")
                sheet.title = f"the ideal ranking: {title}" if is_ranking else title

    def part(self) -> None:
        """Give what a title refers to a table of its own, if its table needs that of the title.

        Else each would have to stand above the other.
        """
        for titled, _, refers in list(self.titles.values()):
            for symbol in refers:
                whole = self.entries[symbol] if isinstance(symbol, str) else None
                if isinstance(whole, Sheet) and self._is_needed(titled, whole, set()):
                    self._part(whole, symbol)

    def _part(self, whole: Sheet, symbol: str) -> None:
        """Move a total to a table of its own."""
        total = next(one for one in whole.totals if one.symbol == symbol)
        headers = [one.header for one in whole.columns]
        last = headers.index(total.column) + 1 if total.column in headers else 0
        own = Sheet(whole.title, whole.labels, whole.columns[:last], [total])
        whole.totals.remove(total)
        _, rows, refers = self.titles[id(whole)]
        self.entries[symbol] = own
        self.titles[id(own)] = own, rows, refers
        self.needs[id(own)] = _Ordered(refers)
        if id(whole) in self.rankings:
            self.rankings.add(id(own))

    def _is_needed(self, one: Sheet, by: Sheet | Line, met: set[int]) -> bool:
        """Tell whether an entry refers to a table, or to one that does."""
        met.add(id(by))
        needed = self.needs.get(id(by), {})
        entries = [
            self.entries[name] if isinstance(name, str) else name for name in needed.values()
        ]
        return any(
            entry is one or (id(entry) not in met and self._is_needed(one, entry, met))
            for entry in entries
        )

    def described(self, rows: Rows) -> str:
        """Return what the rows of a ranking are, in words."""
        said: list[str] = []
        one = rows
        while one.subset is not None:
            above, how, what = one.subset
            if how == "relevant":
                said.append(f"of grade {what} or more")
            elif how == "top":
                said.append(f"down to rank {self.written(what, self.symbol)[0]}")
            elif how == "reordered":
                said.append(f"in the order of {self._condition(what, above)}")
            elif said and said[-1].startswith("where "):
                said[-1] = f"where {self._condition(what, above)} and {said[-1][6:]}"
            else:
                said.append(f"where {self._condition(what, above)}")
            one = above
        cutoff = one.asked[_CUT_BASES[one.base]] if one.asked and one.base in _CUT_BASES else None
        if cutoff is not None:
            said.append(f"down to rank {self.written(cutoff, self.symbol)[0]}")
        said = list(dict.fromkeys(reversed(said)))
        base = _BASES.get(rows.base, rows.base)
        if rows.base == "every" and None in rows.documents:
            base = "every rank, with a document or without"
        if "{}" in base:
            grades = [one for one in said if one.startswith("of grade")]
            said = [one for one in said if one not in grades]
            base = base.format("".join(f" {one}" for one in grades))
        if any(one.startswith("in the order") for one in said):
            base = base.removesuffix(_IN_ORDER)
        return ", ".join([base, *said])

    def _condition(self, node: Derived, rows: Rows) -> str:
        """Write out what is asked of the rows of a ranking."""
        labels = {"rank": rows.ranked.rank.tolist(), "grade": _grades(rows)}
        sheet = self.asked[self.key(node), self.key(rows)] = Sheet("", labels)
        return self.written(node, lambda one: self._label(sheet, one, rows))[0]

    def _show_condition(self, sheet: Sheet, rows: Rows, above: Rows) -> None:
        """Show in a sheet the columns by which its rows were chosen."""
        what = rows.subset[2] if rows.subset is not None else None
        asked = self.asked.get((self.key(what), self.key(above)))
        kept = np.isin(above.ranked.sampling["row"], rows.ranked.sampling["row"])
        for one in asked.columns if asked is not None else ():
            values = [value for value, is_kept in zip(one.values, kept, strict=True) if is_kept]
            sheet.columns.append(Column(one.header, values, one.made))

    # ---- sheets ---------------------------------------------------------------------------------

    def sheet(self, rows: Rows) -> Sheet:
        """Return the sheet of a ranking's rows."""
        key = self.key(rows)
        if key not in self.sheets:
            ranked = rows.ranked
            labels: dict[str, Sequence[Any]] = {}
            if rows.home is not None:
                names = rows.home.names
                labels["group"] = [names[i] for i in ranked.query.tolist()]
            labels["rank"] = ranked.rank.tolist()
            if rows.base not in ("filled", "ranked"):
                labels["document"] = rows.documents
            if rows.base != "ranked":
                labels["grade"] = _grades(rows)
            with self._referring() as refers:
                self.sheets[key] = made = Sheet(self.described(rows), labels)
            self.needs.setdefault(id(made), _Ordered()).update(refers)
            self.titles[id(made)] = made, rows, dict(refers)
            if rows.subset is not None and rows.subset[1] == "where":
                self._show_condition(made, rows, rows.subset[0])
        return self.sheets[key]

    def group_sheet(self, groups: GroupSpace) -> Sheet:
        """Return the sheet of a query's groups."""
        key = "groups", id(groups)
        if key not in self.sheets:
            self.sheets[key] = Sheet("the groups of the query", {"group": groups.names})
        return self.sheets[key]

    def column(self, sheet: Sheet, node: Any, rows: Rows | None) -> str:
        """Return the header of the node's column in the sheet, which it gets if it has none."""
        if not isinstance(node, Derived):
            values = np.broadcast_to(node, (_length(sheet),))
            node = Derived.of(values, Step("constant", (node,)), Record())
        label = self._label(sheet, node, rows)
        if label is not None and (label[0] in sheet.labels or _has(sheet, label[0])):
            return label[0]
        return self._added(sheet, node, rows)[0]

    def _label(self, sheet: Sheet, node: Derived, rows: Rows | None) -> tuple[str, int] | None:
        """Return how a column refers to a node: by a header, or a symbol; None: write it out."""
        made = node.step
        first = made.inputs[0] if made.inputs else None
        if made.space is None and made.op != "constant":
            return self.symbol(node)
        if rows is not None and isinstance(made.space, Rows):
            self.lost |= self.key(made.space) != self.key(rows)  # the rows of another table
        known = id(sheet), self.key(node)
        if known in self.known:
            found: tuple[str, int] = self.known[known]
            return found
        if made.op in ("rank", "grade") and not made.inputs and made.op in sheet.labels:
            return made.op, _ATOM
        if made.op == "spread":
            column = made.inputs[-1]
            if not isinstance(column, Derived) or column.step.space is None:
                return None
            # A number of the row's group: it stands in the sheet of groups, too.
            self.column(self.group_sheet(column.step.space), column, None)
            return self._added(sheet, node, rows)
        shared = self.uses.get(self.key(node), 0) > 1 and not self._is_short(node)
        aggregated = rows is None and isinstance(first, Rows)
        if not made.inputs or made.name or made.op in _OWN_COLUMN or shared or aggregated:
            return self._added(sheet, node, rows)
        return None

    def _is_short(self, node: Derived) -> bool:
        """Tell whether a node is as easy to read written out as by a letter."""
        if node.step.op in ("item", "where", "constant") or _is_bool(node):
            return True
        inputs = [one for one in node.step.inputs if isinstance(one, Derived)]
        return node.step.op in _BINARY and all(
            one.step.name or not one.step.inputs or one.step.op in _OWN_COLUMN for one in inputs
        )

    def _added(self, sheet: Sheet, node: Derived, rows: Rows | None) -> tuple[str, int]:
        """Add the column of a node; return its header."""
        with self._dividing() as place:
            label = self._column_of(sheet, node, rows)
            place.append(label[0])
        return label

    def _column_of(self, sheet: Sheet, node: Derived, rows: Rows | None) -> tuple[str, int]:
        made, inputs = node.step, node.step.inputs
        first = inputs[0] if inputs else None
        values = np.broadcast_to(np.ravel(node.values), (_length(sheet),)).tolist()
        text, binds = "", _ATOM
        if rows is None and isinstance(first, Rows):  # of each group
            if ("symbol", self.key(node)) not in self.known:
                self._aggregated(node, self.key(node))
            text = self.known["symbol", self.key(node)]
            self.refers[-1].add(text)
        elif made.op == "spread" and isinstance(first, Rows):
            home = self.group_sheet(inputs[1].step.space)
            text = f"{self.column(home, inputs[1], None)} of the group"
        elif made.op in _OTHER_ROWS and isinstance(first, Rows):
            is_counted = made.op == "running" and _is_bool(inputs[1])
            of = self._bracketed(
                inputs[1],
                lambda one: self._label(sheet, one, rows),
                _OR if is_counted else _ATOM,
            )
            text = (
                f"rows so far with {of}"
                if is_counted
                else _OTHER_ROWS[made.op].format(of, *map(self._constant, inputs[2:]))
            )
            binds = _LOOSE if is_counted else _ATOM
        elif made.op == "at":
            source, _, there = inputs
            other = self.sheet(source)
            text = f"{_SHORT.get(source.base, 'its')} {self.column(other, there, source)}"
            self.needs.setdefault(id(sheet), _Ordered())[id(other)] = other
            self.rankings.add(id(other))
        elif made.op == "places":
            text = "place in the ideal"
        elif made.op == "constant":
            text = self._constant(inputs[0])
        elif not inputs:
            text = _WORDS.get(made.op, made.op)
        else:
            opened = [node]
            text, binds = self.written(
                node,
                lambda one: (
                    None if opened and one is opened.pop() else self._label(sheet, one, rows)
                ),
            )
        if rows is None and made.name in _COUNTED:
            sheet.title = f"the groups of the query; {_COUNTED[made.name]}"
        header, spelled = (made.name, text) if made.name else (text, "")
        if spelled == header:
            spelled = ""
        if any(header == column.header and values == column.values for column in sheet.columns):
            label = header, _ATOM if made.name else binds  # but for a factor of 1, say
        else:
            taken = {column.header for column in sheet.columns} | sheet.labels.keys()
            if (len(header) > _LONGEST_HEADER and not made.name) or header in taken:
                letters = (chr(i) for i in range(ord("a"), ord("z")) if chr(i) not in taken)
                header, spelled = next(letters), text
            label = header, _ATOM if spelled else binds
            sheet.columns.append(Column(header, values, spelled))
        self.known[id(sheet), self.key(node)] = label
        return label


class _Ordered(dict[Any, Any]):
    """A set that keeps the order."""

    def add(self, one: Any) -> None:
        self[one] = one


def _digits(value: float) -> str:
    """Return a constant with the digits that it takes to have its value.

    >>> _digits(0.25), _digits(1 - 0.8), _digits(1 / 3)
    ('0.25', '1 - 0.8', '0.3333333333333333')
    """
    text = f"{value:.12f}".rstrip("0") if 1e-9 < abs(value) < 1e-4 else f"{value:.10g}"
    if float(text) == value:
        return text
    rest = f"{1 - value:.10g}"  # as of a probability p, which has few digits
    return f"1 - {rest}" if 0 < value < 1 and 1 - float(rest) == value else repr(value)


def _has(sheet: Sheet, header: str) -> bool:
    return any(column.header == header for column in sheet.columns)


def _is_bool(value: Any) -> bool:
    return bool(np.asarray(plain(value)).dtype == np.bool_)


def _counted(node: Derived) -> Derived:
    """Return the truth values of a node that is 1 where they hold; else the node."""
    if node.step.op == "multiply" and not node.step.name and _is(node.step.inputs[1], 1):
        one: Derived = node.step.inputs[0]
        return one if _is_bool(one) else node
    return node


def _is(value: Any, constant: int) -> bool:
    """Tell whether a value is a constant that is this number everywhere."""
    if isinstance(value, Derived | str | Rows):
        return False
    return bool(np.size(value) and np.all(np.asarray(value) == constant))


def _reordered(rows: Rows) -> bool:
    """Tell whether a ranking was put in another order."""
    above = rows.subset
    return above is not None and (above[1] == "reordered" or _reordered(above[0]))


def _length(sheet: Sheet) -> int:
    return len(next(iter(sheet.labels.values())))


def _grades(rows: Rows) -> list[int | None]:
    judged = rows.ranked.judged.tolist()
    return [
        grade if is_judged else None
        for grade, is_judged in zip(rows.ranked.grade.tolist(), judged, strict=True)
    ]


def _letters() -> Iterator[str]:
    every = [chr(i) for i in range(ord("A"), ord("Z") + 1)]
    yield from every
    n = 2
    while True:
        yield from (f"{letter}{n}" for letter in every)
        n += 1


def worksheet(name: str, value: Derived | np.ndarray[Any, Any]) -> Worksheet:
    """Return the steps of a value that `follow` returned, for the measure of that name."""
    result = np.asarray(value).flat[0]
    shown = result if isinstance(result, str) else result.item()
    if not isinstance(value, Derived):
        return Worksheet([], Line(name, "", "", shown), lost=True)
    writing = _Writing(_letters(), value.record.is_strict)
    writing.count_uses(value)
    with writing._referring() as refers, writing._dividing() as place:
        place.append(name)
        first = value.step.inputs[0] if value.step.inputs else None
        if first is None or isinstance(first, Rows | GroupSpace):
            label = writing.symbol(value)
            words, numbers = label[0] if label else "", ""
        else:
            words = writing._words(value, writing.symbol)
            numbers = writing._numbers(value, words)
    line = Line(name, words, numbers, shown)
    writing.part()
    entries = writing.ordered(refers)
    writing.title()
    if writing.divides[0]:
        writing.divided["the choice of rows"] = None
    lost = writing.lost or value.record.was_left
    return Worksheet(entries, line, lost, tuple(writing.divided))
