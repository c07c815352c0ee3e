"""Expressions of files, such as "-20*q^3-qdot", evaluated on floats and symbols.

They are those of Lepton, which OpenSim uses: numbers, names, + - * / ^, parentheses and functions. Python's own parser
reads them, since `^` binds there as `**` does: to the right, and before a sign. Nothing else of Python is accepted.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from keyword import iskeyword
from typing import Any

import numpy as np

from myoquat.core import Array
from myoquat.joints import ModelError

MAX_CHARACTERS = 4000  # of one expression
MAX_NESTING = 60  # of parentheses and signs, below Python's limit on recursion
TOO_DEEP = f"it is nested more than {MAX_NESTING} deep"
TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\S))")
Function = Callable[..., Any]
Formula = Callable[[Mapping[str, Array]], Any]
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
OPERATORS: dict[type, Function] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}


def evaluate(text: str, values: Mapping[str, Array]) -> Array:
    """An expression at the values of its names: the formula. ModelError as `check_expression`."""
    return _parsed(text)[0](values) + 0.0 * sum(values.values())  # of the shape of all of them


def check_expression(text: str, names: Sequence[str], element: str) -> None:
    """ModelError, naming the `element`, for a text that is no expression or has other names than these."""
    try:
        _, found = _parsed(text)
    except ModelError as error:
        raise ModelError(error.message, element=element) from None
    if unknown := [name for name in found if name not in names]:
        known = f"{', '.join(names)}; functions: {', '.join(FUNCTIONS)}"
        raise ModelError(f"the expression {text!r} has an unknown name {unknown[0]!r}; known: {known}", element=element)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> tuple[Formula, list[str]]:
    """The formula of the values of names, and these names."""
    if len(text) > MAX_CHARACTERS:
        raise ModelError(f"an expression of more than {MAX_CHARACTERS} characters is not read")
    names: list[str] = []

    def unreadable(problem: str) -> ModelError:
        return ModelError(f"the expression {text!r} cannot be read: {problem}")

    def in_python(number: str, name: str, sign: str) -> str:
        if (sign and sign not in "+-*/^(),") or (name and (iskeyword(name) or name == "__debug__")):
            raise unreadable(f"{sign or name!r} is not expected there")
        return repr(float(number)) if number else name or ("**" if sign == "^" else sign)

    def formula(node: ast.expr, depth: int) -> Formula:
        """That of a node; ModelError for what Python reads and Lepton does not, and for deep nesting."""
        if depth > MAX_NESTING:
            raise unreadable(TOO_DEEP)
        if isinstance(node, ast.BinOp):
            later = []  # the operations of a long sum, whose first operand is nested deepest
            while isinstance(node, ast.BinOp):
                later.append((OPERATORS[type(node.op)], formula(node.right, depth + 1)))
                node = node.left
            first = formula(node, depth + 1)
            return lambda values: reduce(lambda x, then: then[0](x, then[1](values)), reversed(later), first(values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand = formula(node.operand, depth + 1)
            return lambda values: np.negative(operand(values))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            called = node.func.id
            if called not in FUNCTIONS:
                raise unreadable(f"the function {called!r} is unknown; known: {', '.join(FUNCTIONS)}")
            count, function = FUNCTIONS[called]
            if len(node.args) != count:
                raise unreadable(f"{called} takes {count} argument{'s' * (count > 1)}, not {len(node.args)}")
            parts = [formula(part, depth + 1) for part in node.args]
            return lambda values: function(*(part(values) for part in parts))
        if isinstance(node, ast.Name):
            name = node.id
            names.append(name)
            return lambda values: values[name]
        if isinstance(node, ast.Constant):
            number = np.asarray(node.value)
            return lambda values: number
        raise unreadable("it has signs that are not expected there")

    python = " ".join(in_python(*match.groups()) for match in TOKEN.finditer(text))
    try:
        return formula(ast.parse(python, mode="eval").body, 0), names
    except (SyntaxError, RecursionError, MemoryError) as error:
        problem = str(getattr(error, "msg", "nested"))
        raise unreadable(TOO_DEEP if "nested" in problem else problem) from None
