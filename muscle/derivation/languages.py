"""The text of a derivation: functions in Python, C99, MATLAB/Octave; LaTeX as a person writes it, or entry by entry."""

import keyword
import re
from collections.abc import Callable

from myoquat.muscle.derivation import c99, latex, latex_entries, matlab, python
from myoquat.muscle.derivation.derive import Derivation

__all__ = ["LANGUAGES", "source"]

_WRITERS: dict[str, Callable[[Derivation, str], str]] = {
    "python": python.source,
    "c": c99.source,
    "matlab": matlab.source,
    "latex": latex.source,
    "latex_entries": latex_entries.source,
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
