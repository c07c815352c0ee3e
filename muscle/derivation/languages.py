"""Derivations as functions in several languages: Python, C, MATLAB and LaTeX."""

import keyword
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from sympy.printing.c import C99CodePrinter
from sympy.printing.octave import OctaveCodePrinter
from sympy.printing.pycode import PythonCodePrinter

from .derive import Derivation, description
from .latex import latex_entries_source, latex_source

# ---- Python function files ------------------------------------------------------------------------------------------
# Python function files: plain `math`, lists in and out.


def _python_source(d: Derivation, name: str) -> str:
    """A module with one function name(q, activation[, max_isometric_force]) -> (l, J, F, tau)."""
    printer = PythonCodePrinter({"fully_qualified_modules": True})
    body = [f"{', '.join(map(str, symbols))}, = {key}" for key, symbols in d.inputs.items()]
    body += [f"{symbol} = {printer.doprint(expression)}" for symbol, expression in d.common]
    body += [f"{key} = {_nested(printer, array)}" for key, array in d.outputs.items()]
    body.append(f"return {', '.join(d.outputs)}")
    # neither backslashes nor quotes do anything within a docstring
    document = "\n    ".join(description(d)).replace("\\", r"\\").replace('"', r"\"")
    lines = "\n    ".join(body)
    return f'import math\n\n\ndef {name}({", ".join(d.inputs)}):\n    """{document}\n    """\n    {lines}\n'


def _nested(printer: Any, array: np.ndarray) -> str:
    if array.ndim == 0:
        return str(printer.doprint(array.item()))
    return "[" + ", ".join(_nested(printer, np.asarray(part, dtype=object)) for part in array) + "]"


# ---- C99 function files ---------------------------------------------------------------------------------------------
# C99 function files: no globals, no allocation, matrices by rows.


def _c_source(d: Derivation, name: str) -> str:
    """A translation unit with one function void name(const double *inputs..., double *outputs...)."""
    printer = C99CodePrinter()
    arguments = [f"const double *{key}" for key in d.inputs] + [f"double *{key}" for key in d.outputs]
    body = [
        f"const double {symbol} = {key}[{i}];" for key, symbols in d.inputs.items() for i, symbol in enumerate(symbols)
    ]
    body += [f"const double {symbol} = {printer.doprint(expression)};" for symbol, expression in d.common]
    body += [
        f"{key}[{i}] = {printer.doprint(e)};" for key, array in d.outputs.items() for i, e in enumerate(array.flat)
    ]
    words = "\n * ".join([*description(d), "Matrices are stored row by row."])
    # names neither end the comment nor hold a trigraph, which could be the end's parts
    comment = words.replace("??", "? ?").replace("*/", "* /").replace("/*", "/ *")
    lines = "\n    ".join(body)
    signature = f"void {name}({', '.join(arguments)})"
    return f"/*\n * {comment}\n */\n#include <math.h>\n\n{signature};\n\n{signature}\n{{\n    {lines}\n}}\n"


# ---- MATLAB and Octave function files -------------------------------------------------------------------------------


def _matlab_source(d: Derivation, name: str) -> str:
    """A file with one function [l, J, F, tau] = name(q, activation[, max_isometric_force])."""
    printer = OctaveCodePrinter({"precision": 17})
    body = [f"{symbol} = {key}({i + 1});" for key, symbols in d.inputs.items() for i, symbol in enumerate(symbols)]
    body += [f"{symbol} = {printer.doprint(expression)};" for symbol, expression in d.common]
    for key, array in d.outputs.items():
        rows, columns = (array.shape[0], 1) if array.ndim == 1 else array.shape
        body.append(f"{key} = zeros({rows}, {columns});")
        body += [
            f"{key}({i // columns + 1}, {i % columns + 1}) = {printer.doprint(e)};" for i, e in enumerate(array.flat)
        ]
    comment = "\n".join(f"% {line}" for line in description(d))
    head = f"function [{', '.join(d.outputs)}] = {name}({', '.join(d.inputs)})"
    return f"{head}\n{comment}\n" + "\n".join(body) + "\nend\n"


# ---- The text of a derivation ---------------------------------------------------------------------------------------
# The text of a derivation: functions in Python, C99, MATLAB/Octave; LaTeX as a person writes it, or entry by entry.


_WRITERS: dict[str, Callable[[Derivation, str], str]] = {
    "python": _python_source,
    "c": _c_source,
    "matlab": _matlab_source,
    "latex": latex_source,
    "latex_entries": latex_entries_source,
}
LANGUAGES = tuple(_WRITERS)
_MATHEMATICS = "sin cos tan asin acos atan atan2 exp log sqrt pow tanh fabs abs "
RESERVED = {  # words of a language, and what the functions call
    "python": " ".join(keyword.kwlist) + " math",
    "c": _MATHEMATICS
    + "auto break case char const continue default do double else enum extern float for goto if inline "
    "int long main register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while",
    "matlab": _MATHEMATICS + "break case catch classdef continue do else elseif end endfunction function for global if "
    "otherwise parfor persistent return spmd switch try until while zeros",
    "latex": "",
    "latex_entries": "",
}


def source(derivation: Derivation, language: str, name: str) -> str:
    """The text of a function `name` in a language; ValueError for an unknown language or a name that is none."""
    if language not in _WRITERS:
        raise ValueError(f"language is one of {', '.join(LANGUAGES)}, not {language!r}")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(f"{name!r} cannot name a function: letters, digits and _, a letter first")
    if name in RESERVED[language].split():
        raise ValueError(f"{name!r} cannot name a function: {language} uses the word itself")
    return _WRITERS[language](derivation, name)
