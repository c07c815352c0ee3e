"""Python function files: plain `math`, lists in and out."""

from typing import Any

import numpy as np
from sympy.printing.pycode import PythonCodePrinter

from myoquat.muscle.derivation.derive import Derivation
from myoquat.muscle.derivation.describe import description

__all__ = ["source"]


def source(d: Derivation, name: str) -> str:
    """A module with one function name(q, activation[, max_isometric_force]) -> (l, J, F, tau)."""
    printer = PythonCodePrinter({"fully_qualified_modules": True})
    body = [f"{', '.join(map(str, symbols))}, = {key}" for key, symbols in d.inputs.items()]
    body += [f"{symbol} = {printer.doprint(expression)}" for symbol, expression in d.common]
    body += [f"{key} = {_nested(printer, array)}" for key, array in d.outputs.items()]
    body.append(f"return {', '.join(d.outputs)}")
    document = "\n    ".join(_quoted(line) for line in description(d))
    lines = "\n    ".join(body)
    return f'import math\n\n\ndef {name}({", ".join(d.inputs)}):\n    """{document}\n    """\n    {lines}\n'


def _quoted(text: str) -> str:
    """The text within a docstring: neither backslashes nor quotes do anything."""
    return text.replace("\\", r"\\").replace('"', r"\"")


def _nested(printer: Any, array: np.ndarray) -> str:
    if array.ndim == 0:
        return str(printer.doprint(array.item()))
    return "[" + ", ".join(_nested(printer, np.asarray(part, dtype=object)) for part in array) + "]"
