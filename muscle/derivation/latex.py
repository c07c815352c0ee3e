"""LaTeX documents: the derivation as a person reads it."""

import sympy

from myoquat.muscle.derivation.derive import Derivation
from myoquat.muscle.derivation.describe import description

__all__ = ["source"]

_LETTERS = {"l": r"\ell", "J_phi": r"J_{\varphi}", "J_Q": "J_{Q}", "J_star": "J^{*}_{Q}", "F": "F", "tau": r"\tau"}

_SPECIAL = {
    **{c: "\\" + c for c in "_%&#${}"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def source(d: Derivation, name: str) -> str:
    """A document with the common subexpressions and every entry of l, J, F and tau, one equation each."""
    lines = [rf"\noindent {_escaped(line)}\\" for line in description(d)]
    lines.append(r"\section*{Common subexpressions}")
    lines += [_equation(sympy.latex(symbol), expression) for symbol, expression in d.common]
    for key, array in d.outputs.items():
        lines.append(rf"\section*{{${_LETTERS[key]}$}}")
        for i, expression in enumerate(array.flat):
            place = str(i + 1) if array.ndim == 1 else f"{i // array.shape[1] + 1},{i % array.shape[1] + 1}"
            lines.append(_equation(f"({_LETTERS[key]})_{{{place}}}", expression))
    head = r"\documentclass{article}" + "\n" + r"\usepackage{amsmath}" + "\n"
    title = rf"\title{{{_escaped(name)}}}"
    return f"{head}{title}\n\\begin{{document}}\n" + "\n".join(lines) + "\n\\end{document}\n"


def _equation(left: str, expression: sympy.Expr) -> str:
    return rf"\[ {left} = {sympy.latex(expression)} \]"


def _escaped(text: str) -> str:
    """The text as LaTeX sets it literally: no command, no mathematics, no comment."""
    return "".join(_SPECIAL.get(c, c) for c in text)
