"""Whole files, read with a limit and written at once or not at all."""

import os
import tempfile
from pathlib import Path

from joints.errors import ModelError

__all__ = ["read_text", "write_text"]

MAX_BYTES = 16 * 2**20  # no hand-made model comes near; a larger file is a mistake or an attack


def read_text(path: Path) -> str:
    """The text of a model file in UTF-8. ModelError for a directory, an empty, huge or binary file."""
    if path.is_dir():
        raise ModelError("this is a directory, not a model file", file=path)
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ModelError(f"the file holds {size / 2**20:.0f} MiB; a model file has at most 16", file=path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(f"this is not a text file: {error.reason} at byte {error.start}", file=path) from None
    if not text.strip():
        raise ModelError("the file is empty", file=path)
    return text


def write_text(path: str | Path, text: str) -> None:
    """Write a whole file or nothing: into a neighbour first, then renamed into place."""
    path = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
