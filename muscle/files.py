"""Writing output files: whole or not at all, and never over what exists unless told so."""

import os
import tempfile
from pathlib import Path

__all__ = ["check_output", "write_bytes", "write_text"]


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
