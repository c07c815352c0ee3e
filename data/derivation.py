"""Function files of a derivation: Python, C99, MATLAB/Octave, LaTeX."""

from pathlib import Path

from myoquat.muscle import Model
from myoquat.muscle.derivation import LANGUAGES, Derivation, derive, source

from .files import check_output, write_text


def write_derivation(
    model: Model,
    jacobian: str,
    language: str,
    path: str | Path,
    eliminated: int = 0,
    overwrite: bool = False,
    forces: bool = True,
) -> Derivation:
    """Derive and write a function file; the function is named after the file.

    forces: as for `derive`. Raises as `derive` does, ValueError for an unknown language, FileExistsError if the file
    exists and `overwrite` is False. A failed write leaves nothing behind.
    """
    path = check_output(path, overwrite)
    if language not in LANGUAGES:
        raise ValueError(f"language is one of {', '.join(LANGUAGES)}, not {language!r}")
    derivation = derive(model, jacobian, eliminated, forces)
    write_text(path, source(derivation, language, path.stem))
    return derivation
