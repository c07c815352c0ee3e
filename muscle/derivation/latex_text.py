"""Text as LaTeX sets it: nothing in a name is a command, mathematics or a comment."""

__all__ = ["document", "escaped", "subscript"]

_SPECIAL = {
    **{c: "\\" + c for c in "_%&#${}"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def escaped(text: str) -> str:
    """The text as LaTeX sets it literally."""
    return "".join(_SPECIAL.get(c, c) for c in text)


def subscript(text: str) -> str:
    """A name as an upright subscript in mathematics."""
    return rf"\mathrm{{{escaped(text)}}}"


def document(title: str, lines: list[str]) -> str:
    """A whole document of these lines."""
    head = r"\documentclass{article}" + "\n" + r"\usepackage{amsmath}" + "\n"
    return f"{head}\\title{{{escaped(title)}}}\n\\begin{{document}}\n" + "\n".join(lines) + "\n\\end{document}\n"
