"""MATLAB and Octave function files."""

from sympy.printing.octave import OctaveCodePrinter

from myoquat.muscle.derivation.derive import Derivation
from myoquat.muscle.derivation.describe import description

__all__ = ["source"]


def source(d: Derivation, name: str) -> str:
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
