"""Expressions of files, such as "-20*q^3-qdot": parsed by a grammar of our own, evaluated on floats and symbols.

The grammar is that of Lepton, which OpenSim uses:

    sum     = product { ("+" | "-") product }
    product = power { ("*" | "/") power }
    power   = value [ "^" power ]                    binds to the right, before a sign: -x^2 is -(x^2)
    value   = number | name | function "(" sum { "," sum } ")" | "(" sum ")" | "-" power
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError

__all__ = ["FUNCTIONS", "check_expression", "evaluate"]

MAX_CHARACTERS = 4000  # of one expression
MAX_NESTING = 60  # of parentheses and signs, below Python's limit on recursion
TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\S))")
Function = Callable[..., Any]
FUNCTIONS: dict[str, tuple[int, Function]] = {  # how many arguments, and the formula
    "sqrt": (1, np.sqrt),
    "exp": (1, np.exp),
    "log": (1, np.log),
    "sin": (1, np.sin),
    "cos": (1, np.cos),
    "sec": (1, lambda x: 1 / np.cos(x)),
    "csc": (1, lambda x: 1 / np.sin(x)),
    "tan": (1, np.tan),
    "cot": (1, lambda x: 1 / np.tan(x)),
    "asin": (1, np.arcsin),
    "acos": (1, np.arccos),
    "atan": (1, np.arctan),
    "sinh": (1, np.sinh),
    "cosh": (1, np.cosh),
    "tanh": (1, np.tanh),
    "step": (1, lambda x: np.where(x >= 0, 1.0, 0.0)),
    "delta": (1, lambda x: np.where(x == 0, 1.0, 0.0)),
    "square": (1, lambda x: x * x),
    "cube": (1, lambda x: x * x * x),
    "recip": (1, lambda x: 1 / x),
    "min": (2, np.minimum),
    "max": (2, np.maximum),
    "abs": (1, np.abs),
}
OPERATORS: dict[str, Function] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a**b,
}


def evaluate(text: str, values: Mapping[str, Array]) -> Array:
    """An expression at the values of its names: the formula. ModelError as `check_expression`."""
    result: Array = _value(_parsed(text), values) + 0.0 * sum(values.values())  # of the shape of all of them
    return result


def check_expression(text: str, names: Sequence[str], element: str) -> None:
    """ModelError, naming the `element`, for a text that is no expression or has other names than these."""
    try:
        unknown = [name for name in _names(_parsed(text)) if name not in names]
    except ModelError as error:
        raise ModelError(error.message, element=element) from None
    if unknown:
        known = f"{', '.join(names)}; functions: {', '.join(FUNCTIONS)}"
        raise ModelError(f"the expression {text!r} has an unknown name {unknown[0]!r}; known: {known}", element=element)


@dataclass(frozen=True)
class _Node:
    """A number, the name of a variable, or a function of other nodes."""

    value: float | str | Function
    parts: tuple["_Node", ...] = ()


def _value(node: _Node, values: Mapping[str, Array]) -> Any:
    if isinstance(node.value, str):
        return values[node.value]
    if callable(node.value):
        return node.value(*(_value(part, values) for part in node.parts))
    return np.asarray(node.value)


def _names(node: _Node) -> list[str]:
    own = [node.value] if isinstance(node.value, str) else []
    return own + [name for part in node.parts for name in _names(part)]


@lru_cache(maxsize=1024)
def _parsed(text: str) -> _Node:
    if len(text) > MAX_CHARACTERS:
        raise ModelError(f"an expression of more than {MAX_CHARACTERS} characters is not read")
    return _Parser(text).whole()


class _Parser:
    """The grammar, one method per rule."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [match.groups() for match in TOKEN.finditer(text)]
        self.place = 0
        self.depth = 0

    def whole(self) -> _Node:
        node = self.sum()
        if self.place < len(self.tokens):
            self.complain(f"{self.shown!r} is not expected there")
        return node

    @property
    def shown(self) -> str:
        """The token that comes next."""
        return next((part for part in self.tokens[self.place] if part), "") if self.place < len(self.tokens) else ""

    def complain(self, what: str) -> None:
        raise ModelError(f"the expression {self.text!r} cannot be read: {what}")

    def taken(self, *signs: str) -> str:
        """The next token, if it is one of these signs; "" otherwise."""
        if self.place < len(self.tokens) and self.tokens[self.place][2] in signs:
            self.place += 1
            return str(self.tokens[self.place - 1][2])
        return ""

    def sum(self) -> _Node:
        node = self.product()
        while sign := self.taken("+", "-"):
            node = _Node(OPERATORS[sign], (node, self.product()))
        return node

    def product(self) -> _Node:
        node = self.power()
        while sign := self.taken("*", "/"):
            node = _Node(OPERATORS[sign], (node, self.power()))
        return node

    def power(self) -> _Node:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.complain(f"it is nested more than {MAX_NESTING} deep")
        node = self.value()
        if self.taken("^"):
            node = _Node(OPERATORS["^"], (node, self.power()))
        self.depth -= 1
        return node

    def value(self) -> _Node:
        if self.taken("-"):
            return _Node(np.negative, (self.power(),))
        if self.taken("("):
            return self.closed(self.sum())
        number, name, _ = self.tokens[self.place] if self.place < len(self.tokens) else ("", "", "")
        if not number and not name:
            self.complain(f"a number or a name is missing before {self.shown!r}" if self.shown else "it ends too soon")
        self.place += 1
        if number:
            return _Node(float(number))
        return self.call(name) if self.taken("(") else _Node(name)

    def call(self, name: str) -> _Node:
        if name not in FUNCTIONS:
            self.complain(f"the function {name!r} is unknown; known: {', '.join(FUNCTIONS)}")
        arguments = [self.sum()]
        while self.taken(","):
            arguments.append(self.sum())
        count, function = FUNCTIONS[name]
        if len(arguments) != count:
            self.complain(f"{name} takes {count} argument{'s' * (count > 1)}, not {len(arguments)}")
        return self.closed(_Node(function, tuple(arguments)))

    def closed(self, node: _Node) -> _Node:
        if not self.taken(")"):
            self.complain("a parenthesis is not closed")
        return node
