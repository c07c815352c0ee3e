"""Whole files: read with a limit, written at once or not at all, never over what exists unless told so."""

import os
import tempfile
from pathlib import Path

from myoquat.joints.errors import ModelError

__all__ = ["check_output", "read_text", "write_bytes", "write_text"]

MAX_BYTES = 16 * 2**20  # no hand-made model comes near; a larger file is a mistake or an attack


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """The text of a UTF-8 file of at most `limit` bytes. ModelError for a directory, an empty, huge or binary file."""
    if path.is_dir():
        raise ModelError("this is a directory, not a file", file=path)
    size = path.stat().st_size
    if size > limit:
        raise ModelError(f"the file holds {size / 2**20:.0f} MiB; at most {limit / 2**20:.0f} are read", file=path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(f"this is not a text file: {error.reason} at byte {error.start}", file=path) from None
    if not text.strip():
        raise ModelError("the file is empty", file=path)
    return text


def check_output(path: str | Path, overwrite: bool = False) -> Path:
    """The path, if something may be written there; FileExistsError or NotADirectoryError otherwise."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; --force (overwrite=True) replaces it")
    if not path.parent.is_dir():
        raise NotADirectoryError(f"{path.parent} is not a directory")
    return path


def write_text(path: str | Path, text: str) -> None:
    """Write a whole text file (UTF-8) or nothing."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a whole file or nothing: into a neighbour first, then renamed into place."""
    path = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
