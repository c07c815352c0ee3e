"""C99 function files: no globals, no allocation, matrices by rows."""

from sympy.printing.c import C99CodePrinter

from myoquat.muscle.derivation.derive import Derivation
from myoquat.muscle.derivation.describe import description

__all__ = ["source"]


def source(d: Derivation, name: str) -> str:
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
    comment = "\n".join(f" * {_commented(line)}" for line in [*description(d), "Matrices are stored row by row."])
    lines = "\n    ".join(body)
    signature = f"void {name}({', '.join(arguments)})"
    return f"/*\n{comment}\n */\n#include <math.h>\n\n{signature};\n\n{signature}\n{{\n    {lines}\n}}\n"


def _commented(text: str) -> str:
    """The text within a comment: it neither ends it nor holds a trigraph, which could be the end's parts."""
    return text.replace("??", "? ?").replace("*/", "* /").replace("/*", "/ *")
