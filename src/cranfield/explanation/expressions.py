"""Expressions: how a step is written for a reader, and which steps are the same."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield.arrays.elementary import exp, log, powers, raised
from cranfield.arrays.grades import exp2
from cranfield.arrays.ranked import Ranked, looked_up, ratio
from cranfield.arrays.trace import CONSTANT, ITEM, UNKNOWN, Derived, Recording, plain
from cranfield.data.judged import Groups
from cranfield.explanation.follow import base_of, is_ranking, rows_of_base, subsets

# What binds: an expression of a lower number is in brackets beside one of a higher.
LOOSE, OR, AND, COMPARED, SUM, PRODUCT, POWER, ATOM = range(8)

BINARY: Mapping[Any, tuple[str, int]] = {
    np.add: ("+", SUM),
    np.subtract: ("-", SUM),
    np.multiply: ("*", PRODUCT),
    np.divide: ("/", PRODUCT),
    ratio: ("/", PRODUCT),
    np.floor_divide: ("//", PRODUCT),
    np.power: ("^", POWER),
    powers: ("^", POWER),
    raised: ("^", POWER),
    np.greater: (">", COMPARED),
    np.greater_equal: (">=", COMPARED),
    np.less: ("<", COMPARED),
    np.less_equal: ("<=", COMPARED),
    np.equal: ("=", COMPARED),
    np.not_equal: ("is not", COMPARED),
    np.logical_and: ("and", AND),
    np.bitwise_and: ("and", AND),
    np.logical_or: ("or", OR),
    np.bitwise_or: ("or", OR),
}
_OF_TRUTH = {one for one in BINARY if BINARY[one][1] in (AND, OR)} | {np.equal, np.not_equal}
_FUNCTIONS = {np.minimum: "min", np.maximum: "max", log: "ln", np.absolute: "abs"}
# How an operation of one is written, what its input has to bind, and how tightly it binds.
_SIGNS: Mapping[Any, tuple[str, int, int]] = {
    np.invert: ("not {}", ATOM, COMPARED),
    np.logical_not: ("not {}", ATOM, COMPARED),
    np.negative: ("-{}", POWER, SUM),
    exp: ("e^{}", ATOM, POWER),
    exp2: ("2^{}", ATOM, POWER),
    np.square: ("{}^2", ATOM, POWER),
}
# The number that changes no value, as the second of two.
_NOTHING = {np.add: 0, np.subtract: 0, np.multiply: 1, np.divide: 1, ratio: 1}
SPREAD = {Ranked.spread, Groups.spread}  # the same number, for every row
OF_UNKNOWN_ORIGIN = "(numbers of unknown origin)"

# What a node is called, and how tightly that binds; None: it is to be written out.
Label = Callable[[Derived], tuple[str, int] | None]


@dataclass
class Nodes:
    """Tells which arrays and rankings of one value were made in the same way.

    `is_strict` is as in Record; `lost` says that the way of one is not known.
    """

    is_strict: bool
    lost: bool = False
    ways: dict[tuple[Any, ...], int] = field(default_factory=dict)  # a way -> its number
    # The id of a node -> the node, so that no id is given twice, and its way's number.
    keys: dict[int, tuple[Any, int]] = field(default_factory=dict)
    uses: dict[int, int] = field(default_factory=dict)  # a way's number -> how often it is used
    names: dict[int, str] = field(default_factory=dict)  # a way's number -> what it is called

    def key(self, node: Any) -> Any:
        """Return what is equal for what was made in the same way."""
        if isinstance(node, Recording) and not is_ranking(node):
            return id(node)
        if isinstance(node, np.ndarray) and not isinstance(node, Derived):
            self.lost |= self.is_strict and node.flags.writeable  # cutoffs are read-only
            return node.shape, node.tobytes()
        if not isinstance(node, Derived | Recording):
            return repr(node)
        if id(node) not in self.keys:
            way = self._of_array(node) if isinstance(node, Derived) else self._of_rows(node)
            # A number for each way, so that keys of keys stay short.
            self.keys[id(node)] = node, self.ways.setdefault(way, len(self.ways))
        return self.keys[id(node)][1]

    def _of_rows(self, rows: Recording) -> tuple[Any, ...]:
        base = base_of(rows)
        holder, *given = base.step.inputs
        if isinstance(holder, Recording) and holder.level == "row":  # the places of tied documents
            _, *given = holder.step.inputs
        chain = dict.fromkeys((one.how, self.key(one.what)) for one in subsets(rows))
        which = rows_of_base(rows).tobytes(), rows.plain.rank.tobytes()
        asked = tuple(map(self.key, given))
        return "rows", base.step.op, rows.home is None, which, asked, tuple(chain)

    def _of_array(self, node: Derived) -> tuple[Any, ...]:
        made = node.step
        self.lost |= made.op == UNKNOWN
        inputs = tuple(self.key(one) for one in made.inputs)
        space = self.key(made.space) if is_ranking(made.space) else id(made.space)
        values = b"" if made.inputs else node.values.tobytes()
        return "array", made.op, inputs, space, values

    def name(self, node: Derived) -> str:
        """Return what the measure calls an array, wherever it was made in the same way."""
        return self.names.get(self.key(node), node.step.name)

    def count_uses(self, node: Any) -> None:
        """Count how often each way is used."""
        key = self.key(node)
        self.uses[key] = self.uses.get(key, 0) + 1
        if node.step.name:
            self.names.setdefault(key, node.step.name)
        if self.uses[key] == 1:
            for one in node.step.inputs:
                if isinstance(one, Derived):
                    self.count_uses(one)


@dataclass
class Frame:
    """A line or a column that is being written: to what it refers, and whether it divides by 0."""

    name: str = ""
    needs: dict[Any, None] = field(default_factory=dict)
    divides: bool = False


@dataclass
class Expressions:
    """Writes how an array was made, with signs and brackets, as short as it stays the same.

    `in_numbers`: for one query, whose numbers decide what is left of a condition. `frames` are the
    lines and columns that are being written, each a part of the one before.
    """

    nodes: Nodes
    in_numbers: bool = False
    frames: list[Frame] = field(default_factory=lambda: [Frame()])

    def written(self, node: Any, label: Label) -> tuple[str, int]:
        """Return an expression, and how tightly it binds; `label` names what stays closed."""
        if not isinstance(node, Derived):
            text = self.constant(node)
            return text, SUM if text.startswith(("-", "1 - ")) else ATOM
        known = None if node.step.op == CONSTANT else label(node)
        return self.opened(node, label) if known is None else known

    def opened(self, node: Derived, label: Label) -> tuple[str, int]:
        """Return how an array was made, for any name."""
        op, inputs = node.step.op, node.step.inputs
        if op == ITEM:  # some of an array, in some order
            name = self.nodes.name(node)
            self.nodes.lost |= not name
            return name or OF_UNKNOWN_ORIGIN, ATOM
        if op == CONSTANT or op in SPREAD:  # the same number, elsewhere
            return self.written(inputs[-1], label)
        simpler = self._simpler(op, inputs, label)
        return self._operation(node, label) if simpler is None else simpler

    def _operation(self, node: Derived, label: Label) -> tuple[str, int]:
        """Return what a step did, with what it did it to."""
        op, inputs = node.step.op, node.step.inputs
        if op is np.ldexp:
            return self._scaled(inputs, label)
        if op in (np.ones_like, np.zeros_like):
            return ("1" if op is np.ones_like else "0"), ATOM
        if op in (ratio, np.divide) and np.size(node):
            below = np.asarray(inputs[1])
            self.frames[-1].divides |= bool((below == 0).any())
        if op in BINARY:
            return self._binary(op, inputs, label)
        if op is np.where:
            return self._either(inputs[0], inputs[1], inputs[2], label)
        if op in _SIGNS:
            template, least, binds = _SIGNS[op]
            return template.format(self.bracketed(inputs[0], label, least)), binds
        if op is looked_up and self.in_numbers:
            return number(node.values.flat[0].item()), ATOM
        if op is looked_up:
            return inputs[0].format(self.bracketed(inputs[2], label, SUM)), ATOM
        inside = ", ".join(self.written(one, label)[0] for one in inputs)
        return f"{_FUNCTIONS.get(op) or op.__name__}({inside})", ATOM

    def _scaled(self, inputs: Any, label: Label) -> tuple[str, int]:
        """Write x times 2^n."""
        power = self.bracketed(inputs[1], label, POWER)
        if is_constant(inputs[0], 1):
            return f"2^{power}", POWER
        if power.startswith("(-"):
            return f"{self.bracketed(inputs[0], label, PRODUCT)} / 2^{power[2:-1]}", PRODUCT
        return f"{self.bracketed(inputs[0], label, PRODUCT)} * 2^{power}", PRODUCT

    def _binary(self, op: Any, inputs: Any, label: Label) -> tuple[str, int]:
        sign, binds = BINARY[op]
        left = self._number(inputs[0], op, label, binds + (binds in (COMPARED, POWER)))
        # As it was computed: a * (b / c) and a * b / c differ in the last bit.
        right = self._number(inputs[1], op, label, binds + 1)
        return f"{left}^{right}" if sign == "^" else f"{left} {sign} {right}", binds

    def _simpler(self, op: Any, inputs: Any, label: Label) -> tuple[str, int] | None:
        """Return what is simpler to read than the operation, and the same number."""
        if op in (np.multiply, np.add):
            for one, other in (inputs, inputs[::-1]):
                if is_constant(one, _NOTHING[op]) and not is_bool(other):
                    return self.written(other, label)
                if op is np.add and self._is_nothing(one):
                    return self.written(other, label)
                if op is np.multiply and self._is_nothing(one):
                    return "0", ATOM
                if op is np.multiply and isinstance(one, Derived) and is_bool(one):
                    return self._either(one, other, 0, label)
        elif op in _NOTHING and is_constant(inputs[1], _NOTHING[op]):
            return self.written(inputs[0], label)
        elif op is np.subtract and isinstance(inputs[0], Derived) and is_bool(inputs[1]):
            running = inputs[0].step
            counted = self.nodes.key(inputs[1])
            if running.op is Ranked.running and self.nodes.key(running.inputs[1]) == counted:
                return f"rows above with {self.bracketed(inputs[1], label, OR)}", LOOSE
        elif op in BINARY and BINARY[op][1] in (AND, OR):
            for one, other in (inputs, inputs[::-1]):
                if not isinstance(one, Derived) and np.size(one) == 1:
                    is_so = bool(np.asarray(one).flat[0])
                    if is_so == (BINARY[op][1] == AND):
                        return self.written(other, label)
                    return number(is_so), ATOM
        return None

    def _is_nothing(self, node: Any) -> bool:
        """Tell whether a node is 0 for every query."""
        if isinstance(node, Derived):
            op, inputs = node.step.op, node.step.inputs
            return op is np.multiply and any(is_constant(one, 0) for one in inputs)
        return is_constant(node, 0)

    def _either(self, condition: Any, yes: Any, no: Any, label: Label) -> tuple[str, int]:
        """Write one of two, as a condition says; in numbers the one that it is."""
        asked = self.bracketed(condition, label, OR)
        if asked in ("yes", "no") or (self.in_numbers and np.size(condition) == 1):
            return self.written(yes if np.asarray(condition).flat[0] else no, label)
        texts = [self._number(one, np.where, label, COMPARED) for one in (yes, no)]
        if texts[0] == texts[1]:
            return self.written(no, label)
        return f"{texts[0]} if {asked}, else {texts[1]}", LOOSE

    def _number(self, node: Any, op: Any, label: Label, least: int) -> str:
        """Write a number of an operation: where it is a truth value, 1 or 0."""
        if op not in _OF_TRUTH and isinstance(node, Derived) and is_bool(node):
            text, binds = self._either(node, 1, 0, label)
            return text if binds >= least else f"({text})"
        return self.bracketed(node, label, least)

    def bracketed(self, node: Any, label: Label, least: int) -> str:
        """Return an expression, in brackets if it binds less than that."""
        text, binds = self.written(node, label)
        return text if binds >= least else f"({text})"

    def constant(self, value: Any) -> str:
        """Return a number or a string that is the same for every query, and for every row."""
        if isinstance(value, np.ndarray):
            if value.size == 0:
                return "0"
            if (value != value.flat[0]).any():
                self.nodes.lost = True
                return OF_UNKNOWN_ORIGIN
            value = value.flat[0]
        if isinstance(value, bool | np.bool_):
            return number(value)
        if isinstance(value, int | float | np.number):
            return _digits(float(value)) if isinstance(value, float | np.floating) else str(value)
        return f'"{value}"' if isinstance(value, str) else str(value)


def number(value: Any) -> str:
    """Return a number as it is shown: whole ones as they are, others with six decimals."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if abs(value) < 1e15 and value == int(value):  # neither infinite nor not-a-number
        return str(int(value))
    return f"{value:.6f}" if abs(value) >= 1e-3 else f"{value:.6g}"


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


def is_bool(value: Any) -> bool:
    """Tell whether these are truth values."""
    return bool(np.asarray(plain(value)).dtype == np.bool_)


def is_constant(value: Any, constant: int) -> bool:
    """Tell whether a value is a constant that is this number everywhere."""
    if isinstance(value, Derived) and value.step.op == CONSTANT:
        return is_constant(value.step.inputs[0], constant)
    if isinstance(value, Derived | str | Recording):
        return False
    return bool(np.size(value) and np.all(np.asarray(value) == constant))
