"""Expressions: writes a step of a computation for a reader, and tells which steps are the same."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cranfield.arrays.elementary import exp, log, power, powers
from cranfield.arrays.grades import exp2
from cranfield.arrays.ranked import Ranked, look_up, ratio
from cranfield.arrays.trace import CONSTANT, ITEM, UNKNOWN, Recorder, TracedArray, remove_trace
from cranfield.data.judged import Groups
from cranfield.explanation.follow import base_ranking, base_row_numbers, is_ranking, subset_chain

# How tightly an expression binds: beside a higher number, one of a lower number is in brackets.
LOOSE, OR, AND, COMPARISON, SUM, PRODUCT, POWER, ATOM = range(8)

BINARY: Mapping[Any, tuple[str, int]] = {
    np.add: ("+", SUM),
    np.subtract: ("-", SUM),
    np.multiply: ("*", PRODUCT),
    np.divide: ("/", PRODUCT),
    ratio: ("/", PRODUCT),
    np.floor_divide: ("//", PRODUCT),
    np.power: ("^", POWER),
    powers: ("^", POWER),
    power: ("^", POWER),
    np.greater: (">", COMPARISON),
    np.greater_equal: (">=", COMPARISON),
    np.less: ("<", COMPARISON),
    np.less_equal: ("<=", COMPARISON),
    np.equal: ("=", COMPARISON),
    np.not_equal: ("is not", COMPARISON),
    np.logical_and: ("and", AND),
    np.bitwise_and: ("and", AND),
    np.logical_or: ("or", OR),
    np.bitwise_or: ("or", OR),
}
# The operations of two inputs that leave truth values as they are, where others take 1 and 0.
_LOGICAL = {op for op in BINARY if BINARY[op][1] in (AND, OR)} | {np.equal, np.not_equal}
_FUNCTIONS = {np.minimum: "min", np.maximum: "max", log: "ln", np.absolute: "abs"}
# How an operation of one input is written, how its input has to bind, and how tightly it binds.
_UNARY: Mapping[Any, tuple[str, int, int]] = {
    np.invert: ("not {}", ATOM, COMPARISON),
    np.logical_not: ("not {}", ATOM, COMPARISON),
    np.negative: ("-{}", POWER, SUM),
    exp: ("e^{}", ATOM, POWER),
    exp2: ("2^{}", ATOM, POWER),
    np.square: ("{}^2", ATOM, POWER),
}
# The number that changes no value, as the second of two.
_NEUTRAL_NUMBER = {np.add: 0, np.subtract: 0, np.multiply: 1, np.divide: 1, ratio: 1}
SPREAD_METHODS = {Ranked.spread, Groups.spread}  # the same number, for every row
UNKNOWN_ORIGIN = "(numbers of unknown origin)"


class Expression(NamedTuple):
    """The text of an expression, and how tightly it binds: LOOSE to ATOM."""

    text: str
    binding: int


# Returns what a node is called; None: it is to be written out.
Label = Callable[[TracedArray], Expression | None]


@dataclass
class Nodes:
    """Tells which arrays and rankings of one value were made in the same way.

    A node is an input of a step. `is_strict` is as in `arrays.trace.Record`; `is_incomplete` says
    that how a node was made is not known, or cannot be written.
    """

    is_strict: bool
    is_incomplete: bool = False
    # Numbers the origins, so that keys of keys stay short.
    number_of_origin: dict[tuple[Any, ...], int] = field(default_factory=dict)
    # The id of a node -> the node, so that no id is given twice, and the number of its origin.
    key_of_node: dict[int, tuple[Any, int]] = field(default_factory=dict)
    n_uses: dict[int, int] = field(default_factory=dict)  # by the number of the origin
    name_of_key: dict[int, str] = field(default_factory=dict)  # by the number of the origin

    def key(self, node: Any) -> Any:
        """Return the key of a node, which is equal for nodes that were made in the same way."""
        if isinstance(node, Recorder) and not is_ranking(node):
            return id(node)
        if isinstance(node, np.ndarray) and not isinstance(node, TracedArray):
            self.is_incomplete |= self.is_strict and node.flags.writeable  # cutoffs are read-only
            return node.shape, node.tobytes()
        if not isinstance(node, TracedArray | Recorder):
            return repr(node)
        if id(node) not in self.key_of_node:
            if isinstance(node, TracedArray):
                origin = self._array_origin(node)
            else:
                origin = self._ranking_origin(node)
            number = self.number_of_origin.setdefault(origin, len(self.number_of_origin))
            self.key_of_node[id(node)] = node, number
        return self.key_of_node[id(node)][1]

    def _ranking_origin(self, rows: Recorder) -> tuple[Any, ...]:
        """Return what is equal for rankings of the same rows, chosen in the same way."""
        base = base_ranking(rows)
        holder, *arguments = base.step.inputs
        if isinstance(holder, Recorder) and holder.level == "row":  # the places of tied documents
            _, *arguments = holder.step.inputs
        choices = ((subset.method, self.key(subset.argument)) for subset in subset_chain(rows))
        chain = dict.fromkeys(choices)
        row_bytes = base_row_numbers(rows).tobytes(), rows.original.rank.tobytes()
        argument_keys = tuple(map(self.key, arguments))
        return "rows", base.step.op, rows.grouping is None, row_bytes, argument_keys, tuple(chain)

    def _array_origin(self, node: TracedArray) -> tuple[Any, ...]:
        """Return what is equal for arrays made by the same operation from the same inputs."""
        step = node.step
        self.is_incomplete |= step.op == UNKNOWN
        inputs = tuple(self.key(source) for source in step.inputs)
        owner = self.key(step.row_owner) if is_ranking(step.row_owner) else id(step.row_owner)
        values = b"" if step.inputs else node.values.tobytes()
        return "array", step.op, inputs, owner, values

    def name(self, node: TracedArray) -> str:
        """Return the measure's name of an array, or of one made in the same way; empty if none."""
        return self.name_of_key.get(self.key(node), node.step.name)

    def count_uses(self, node: Any) -> None:
        """Count a use of a node and, if it is the first, of each array that it was made from."""
        key = self.key(node)
        self.n_uses[key] = self.n_uses.get(key, 0) + 1
        if node.step.name:
            self.name_of_key.setdefault(key, node.step.name)
        if self.n_uses[key] == 1:
            for source in node.step.inputs:
                if isinstance(source, TracedArray):
                    self.count_uses(source)


@dataclass
class Frame:
    """A line, column or choice of rows being written: its references, whether it divides by 0."""

    name: str = ""
    references: dict[Any, None] = field(default_factory=dict)
    divides_by_zero: bool = False


@dataclass
class ExpressionWriter:
    """Writes how an array was made, with signs and brackets, as short as it stays the same.

    `uses_numbers`: the label writes numbers for symbols, and they decide what a condition leaves.
    `frames` are the lines and columns that are being written, each a part of the one before.
    """

    nodes: Nodes
    uses_numbers: bool = False
    frames: list[Frame] = field(default_factory=lambda: [Frame()])

    def write(self, node: Any, label: Label) -> Expression:
        """Return the expression of a node: what `label` calls it, else written out."""
        if not isinstance(node, TracedArray):
            text = self.write_constant(node)
            return Expression(text, SUM if text.startswith(("-", "1 - ")) else ATOM)
        expression = None if node.step.op == CONSTANT else label(node)
        return self.write_out(node, label) if expression is None else expression

    def write_out(self, node: TracedArray, label: Label) -> Expression:
        """Return how an array was made, even if it has a name: of some of another, only that."""
        op, inputs = node.step.op, node.step.inputs
        if op == ITEM:  # some of an array, in some order
            name = self.nodes.name(node)
            self.nodes.is_incomplete |= not name
            return Expression(name or UNKNOWN_ORIGIN, ATOM)
        if op == CONSTANT or op in SPREAD_METHODS:  # the same number, elsewhere
            return self.write(inputs[-1], label)
        shorter = self._write_shorter(op, inputs, label)
        return self._write_step(node, label) if shorter is None else shorter

    def _write_step(self, node: TracedArray, label: Label) -> Expression:
        """Return the operation of a step, with its inputs."""
        op, inputs = node.step.op, node.step.inputs
        if op is np.ldexp:
            return self._write_scaling(inputs, label)
        if op in (np.ones_like, np.zeros_like):
            return Expression("1" if op is np.ones_like else "0", ATOM)
        if op in (ratio, np.divide) and np.size(node):
            divisor = np.asarray(inputs[1])
            self.frames[-1].divides_by_zero |= bool((divisor == 0).any())
        if getattr(op, "words", None):  # of a method of lists
            return Expression(op.words.format(*inputs), ATOM)
        if op in BINARY:
            return self._write_binary(op, inputs, label)
        if op is np.where:
            return self._write_choice(inputs[0], inputs[1], inputs[2], label)
        if op in _UNARY:
            template, min_binding, binding = _UNARY[op]
            return Expression(
                template.format(self.write_operand(inputs[0], label, min_binding)), binding
            )
        if op is look_up and self.uses_numbers:
            return Expression(to_six_decimals(node.values.flat[0].item()), ATOM)
        if op is look_up:
            return Expression(inputs[0].format(self.write_operand(inputs[2], label, SUM)), ATOM)
        arguments = ", ".join(self.write(source, label).text for source in inputs)
        return Expression(f"{_FUNCTIONS.get(op) or op.__name__}({arguments})", ATOM)

    def _write_scaling(self, inputs: Any, label: Label) -> Expression:
        """Return x times 2^n, of the inputs x and n."""
        power = self.write_operand(inputs[1], label, POWER)
        if is_constant(inputs[0], 1):
            return Expression(f"2^{power}", POWER)
        if power.startswith("(-"):
            return Expression(
                f"{self.write_operand(inputs[0], label, PRODUCT)} / 2^{power[2:-1]}", PRODUCT
            )
        return Expression(f"{self.write_operand(inputs[0], label, PRODUCT)} * 2^{power}", PRODUCT)

    def _write_binary(self, op: Any, inputs: Any, label: Label) -> Expression:
        """Return an operation of two inputs, with its sign between them."""
        sign, binding = BINARY[op]
        left_binding = binding + (binding in (COMPARISON, POWER))
        left = self._write_number(inputs[0], op, label, left_binding)
        # As it was computed: a * (b / c) and a * b / c differ in the last bit.
        right = self._write_number(inputs[1], op, label, binding + 1)
        text = f"{left}^{right}" if sign == "^" else f"{left} {sign} {right}"
        return Expression(text, binding)

    def _write_shorter(self, op: Any, inputs: Any, label: Label) -> Expression | None:
        """Return an expression of the same number that is simpler to read, if there is one."""
        if op in (np.multiply, np.add):
            for operand, partner in (inputs, inputs[::-1]):
                if is_constant(operand, _NEUTRAL_NUMBER[op]) and not is_bool(partner):
                    return self.write(partner, label)
                if op is np.add and self._is_zero(operand):
                    return self.write(partner, label)
                if op is np.multiply and self._is_zero(operand):
                    return Expression("0", ATOM)
                if op is np.multiply and isinstance(operand, TracedArray) and is_bool(operand):
                    return self._write_choice(operand, partner, 0, label)
        elif op in _NEUTRAL_NUMBER and is_constant(inputs[1], _NEUTRAL_NUMBER[op]):
            return self.write(inputs[0], label)
        elif op is np.subtract and isinstance(inputs[0], TracedArray) and is_bool(inputs[1]):
            running_step = inputs[0].step
            key = self.nodes.key(inputs[1])
            if running_step.op is Ranked.running and self.nodes.key(running_step.inputs[1]) == key:
                return Expression(
                    f"rows above with {self.write_operand(inputs[1], label, OR)}", LOOSE
                )
        elif op in BINARY and BINARY[op][1] in (AND, OR):
            for operand, partner in (inputs, inputs[::-1]):
                if not isinstance(operand, TracedArray) and np.size(operand) == 1:
                    truth = bool(np.asarray(operand).flat[0])
                    if truth == (BINARY[op][1] == AND):
                        return self.write(partner, label)
                    return Expression(to_six_decimals(truth), ATOM)
        return None

    def _is_zero(self, node: Any) -> bool:
        """Tell whether a node is a plain 0, or a product with the constant 0."""
        if isinstance(node, TracedArray):
            op, inputs = node.step.op, node.step.inputs
            return op is np.multiply and any(is_constant(source, 0) for source in inputs)
        return is_constant(node, 0)

    def _write_choice(self, condition: Any, yes: Any, no: Any, label: Label) -> Expression:
        """Return "`yes` if `condition`, else `no`", or the one that holds, where that is known."""
        condition_text = self.write_operand(condition, label, OR)
        if condition_text in ("yes", "no") or (self.uses_numbers and np.size(condition) == 1):
            return self.write(yes if np.asarray(condition).flat[0] else no, label)
        texts = [self._write_number(choice, np.where, label, COMPARISON) for choice in (yes, no)]
        if texts[0] == texts[1]:
            return self.write(no, label)
        return Expression(f"{texts[0]} if {condition_text}, else {texts[1]}", LOOSE)

    def _write_number(self, node: Any, op: Any, label: Label, min_binding: int) -> str:
        """Return an input of `op` as text: a truth value as 1 or 0, unless `op` is logical."""
        if op not in _LOGICAL and isinstance(node, TracedArray) and is_bool(node):
            text, binding = self._write_choice(node, 1, 0, label)
            return text if binding >= min_binding else f"({text})"
        return self.write_operand(node, label, min_binding)

    def write_operand(self, node: Any, label: Label, min_binding: int) -> str:
        """Return the text of a node, in brackets if it binds less than `min_binding`."""
        text, binding = self.write(node, label)
        return text if binding >= min_binding else f"({text})"

    def write_constant(self, value: Any) -> str:
        """Return the text of a constant, the same for all queries and rows; else UNKNOWN_ORIGIN."""
        if isinstance(value, np.ndarray):
            if value.size == 0:
                return "0"
            if (value != value.flat[0]).any():
                self.nodes.is_incomplete = True
                return UNKNOWN_ORIGIN
            value = value.flat[0]
        if isinstance(value, bool | np.bool_):
            return to_six_decimals(value)
        if isinstance(value, int | float | np.number):
            is_float = isinstance(value, float | np.floating)
            return _write_digits(float(value)) if is_float else str(value)
        return f'"{value}"' if isinstance(value, str) else str(value)


def to_six_decimals(value: Any) -> str:
    """Return the text of a number: a whole one in full, others with six decimals.

    Below 0.001 it has six significant digits. A truth value is yes or no; a text stays as it is.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if abs(value) < 1e15 and value == int(value):  # neither infinite nor not-a-number
        return str(int(value))
    return f"{value:.6f}" if abs(value) >= 1e-3 else f"{value:.6g}"


def _write_digits(value: float) -> str:
    """Return a constant with as many digits as its value needs, or as 1 less one that needs few.

    >>> _write_digits(0.25), _write_digits(1 - 0.8), _write_digits(1 / 3)
    ('0.25', '1 - 0.8', '0.3333333333333333')
    """
    text = f"{value:.12f}".rstrip("0") if 1e-9 < abs(value) < 1e-4 else f"{value:.10g}"
    if float(text) == value:
        return text
    complement = f"{1 - value:.10g}"  # as of a probability p, which has few digits
    return f"1 - {complement}" if 0 < value < 1 and 1 - float(complement) == value else repr(value)


def is_bool(value: Any) -> bool:
    """Tell whether a value is one or an array of truth values."""
    return bool(np.asarray(remove_trace(value)).dtype == np.bool_)


def is_constant(value: Any, constant: int) -> bool:
    """Tell whether a value is a constant that equals `constant` everywhere."""
    if isinstance(value, TracedArray) and value.step.op == CONSTANT:
        return is_constant(value.step.inputs[0], constant)
    if isinstance(value, TracedArray | str | Recorder):
        return False
    return bool(np.size(value) and np.all(np.asarray(value) == constant))
