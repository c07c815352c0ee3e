"""Function files of a derivation: Python, C99, MATLAB/Octave, LaTeX."""

import re
from collections.abc import Callable
from pathlib import Path

from joints.files import check_output, write_text
from muscle.derivation import c99, latex, matlab, python
from muscle.derivation.derive import Derivation, derive
from muscle.model import Model

__all__ = ["LANGUAGES", "source", "write_derivation"]

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


def write_derivation(
    model: Model, jacobian: str, language: str, path: str | Path, eliminated: int = 0, overwrite: bool = False
) -> Derivation:
    """Derive and write a function file; the function is named after the file.

    Raises ValueError for an unknown Jacobian or language, FileExistsError if the file exists and `overwrite` is
    False. A failed write leaves nothing behind.
    """
    path = check_output(path, overwrite)
    if language not in _WRITERS:
        raise ValueError(f"language is one of {', '.join(LANGUAGES)}, not {language!r}")
    derivation = derive(model, jacobian, eliminated)
    write_text(path, source(derivation, language, path.stem))
    return derivation
