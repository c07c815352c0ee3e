"""The text of a derivation as a function: Python, C99, MATLAB/Octave, LaTeX."""

import re
from collections.abc import Callable

from myoquat.muscle.derivation import c99, latex, matlab, python
from myoquat.muscle.derivation.derive import Derivation

__all__ = ["LANGUAGES", "source"]

_WRITERS: dict[str, Callable[[Derivation, str], str]] = {
    "python": python.source,
    "c": c99.source,
    "matlab": matlab.source,
    "latex": latex.source,
}
LANGUAGES = tuple(_WRITERS)


def source(derivation: Derivation, language: str, name: str) -> str:
    """The text of a function `name` in a language; ValueError for an unknown language or a name that is none."""
    if language not in _WRITERS:
        raise ValueError(f"language is one of {', '.join(LANGUAGES)}, not {language!r}")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(f"{name!r} cannot name a function: letters, digits and _, a letter first")
    return _WRITERS[language](derivation, name)
