"""LaTeX documents of every entry, with the common subexpressions that the entries share."""

import sympy

from myoquat.muscle.derivation.derive import Derivation
from myoquat.muscle.derivation.describe import description
from myoquat.muscle.derivation.latex_text import document, escaped

__all__ = ["source"]

_LETTERS = {"l": r"\ell", "J_phi": r"J_{\varphi}", "J_Q": "J_{Q}", "J_star": "J^{*}_{Q}", "F": "F", "tau": r"\tau"}


def source(d: Derivation, name: str) -> str:
    """A document with the common subexpressions and every entry of l, J, F and tau, one equation each."""
    lines = [rf"\noindent {escaped(line)}\\" for line in description(d)]
    lines.append(r"\section*{Common subexpressions}")
    lines += [_equation(sympy.latex(symbol), expression) for symbol, expression in d.common]
    for key, array in d.outputs.items():
        lines.append(rf"\section*{{${_LETTERS[key]}$}}")
        for i, expression in enumerate(array.flat):
            place = str(i + 1) if array.ndim == 1 else f"{i // array.shape[1] + 1},{i % array.shape[1] + 1}"
            lines.append(_equation(f"({_LETTERS[key]})_{{{place}}}", expression))
    return document(name, lines)


def _equation(left: str, expression: sympy.Expr) -> str:
    return rf"\[ {left} = {sympy.latex(expression)} \]"
