"""Expressions of files, such as "-20*q^3-qdot", evaluated on floats and symbols.

They are those of Lepton, which OpenSim uses: numbers, names, + - * / ^, parentheses and functions. Python's own parser
reads them, since `^` binds there as `**` does: to the right, and before a sign. Nothing else of Python is accepted.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from keyword import iskeyword
from typing import Any

import numpy as np

from myoquat.core import Array
from myoquat.joints import ModelError

__all__ = ["FUNCTIONS", "check_expression", "evaluate"]

MAX_CHARACTERS = 4000  # of one expression
MAX_NESTING = 60  # of parentheses and signs, below Python's limit on recursion
TOO_DEEP = f"it is nested more than {MAX_NESTING} deep"
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
OPERATORS: dict[type, Function] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}


def evaluate(text: str, values: Mapping[str, Array]) -> Array:
    """An expression at the values of its names: the formula. ModelError as `check_expression`."""
    return _value(_parsed(text), values) + 0.0 * sum(values.values())  # of the shape of all of them


def check_expression(text: str, names: Sequence[str], element: str) -> None:
    """ModelError, naming the `element`, for a text that is no expression or has other names than these."""
    try:
        tree = _parsed(text)
    except ModelError as error:
        raise ModelError(error.message, element=element) from None
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called]
    if unknown := [name for name in found if name not in names]:
        known = f"{', '.join(names)}; functions: {', '.join(FUNCTIONS)}"
        raise ModelError(f"the expression {text!r} has an unknown name {unknown[0]!r}; known: {known}", element=element)


def _value(node: ast.expr, values: Mapping[str, Array]) -> Any:
    later = []  # the operations of a long sum, whose first operand is nested deepest
    while isinstance(node, ast.BinOp):
        later.append((OPERATORS[type(node.op)], node.right))
        node = node.left
    if isinstance(node, ast.Name):
        result: Any = values[node.id]
    elif isinstance(node, ast.Constant):
        result = np.asarray(node.value)
    elif isinstance(node, ast.UnaryOp):
        result = np.negative(_value(node.operand, values))
    else:
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        result = FUNCTIONS[node.func.id][1](*(_value(part, values) for part in node.args))
    for operator, right in reversed(later):
        result = operator(result, _value(right, values))
    return result


@lru_cache(maxsize=1024)
def _parsed(text: str) -> ast.expr:
    if len(text) > MAX_CHARACTERS:
        raise ModelError(f"an expression of more than {MAX_CHARACTERS} characters is not read")
    python = " ".join(_in_python(text, *match.groups()) for match in TOKEN.finditer(text))
    try:
        tree = ast.parse(python, mode="eval").body
        _check(text, tree, 0)
    except (SyntaxError, RecursionError, MemoryError) as error:
        problem = str(getattr(error, "msg", "nested"))
        raise _unreadable(text, TOO_DEEP if "nested" in problem else problem) from None
    return tree


def _in_python(text: str, number: str, name: str, sign: str) -> str:
    if sign and sign not in "+-*/^(),":
        raise _unreadable(text, f"{sign!r} is not expected there")
    if name and (iskeyword(name) or name == "__debug__"):
        raise _unreadable(text, f"{name!r} is not expected there")
    return repr(float(number)) if number else name or ("**" if sign == "^" else sign)


def _unreadable(text: str, problem: str) -> ModelError:
    return ModelError(f"the expression {text!r} cannot be read: {problem}")


def _check(text: str, node: ast.expr, depth: int) -> None:
    """ModelError for what Python reads and Lepton does not, and for deep nesting."""
    if depth > MAX_NESTING:
        raise _unreadable(text, TOO_DEEP)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        parts = [node.right]
        while isinstance(node.left, ast.BinOp) and type(node.left.op) in OPERATORS:  # of a long sum
            node = node.left
            parts.append(node.right)
        parts.append(node.left)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        parts = [node.operand]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name, parts = node.func.id, node.args
        if name not in FUNCTIONS:
            raise _unreadable(text, f"the function {name!r} is unknown; known: {', '.join(FUNCTIONS)}")
        count = FUNCTIONS[name][0]
        if len(parts) != count:
            raise _unreadable(text, f"{name} takes {count} argument{'s' * (count > 1)}, not {len(parts)}")
    elif isinstance(node, (ast.Name, ast.Constant)):
        parts = []
    else:
        raise _unreadable(text, "it has signs that are not expected there")
    for part in parts:
        _check(text, part, depth + 1)
