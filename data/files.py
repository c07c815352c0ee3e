"""Whole files: read with a limit, written at once or not at all; existing files are replaced only on request."""

import codecs
import contextlib
import io
import os
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

import numpy as np

from myoquat.core import PATH, Array, check_types
from myoquat.joints import ModelError
from myoquat.joints.errors import shortened

MAX_BYTES = 16 * 2**20  # no hand-made model comes near; a larger file is a mistake or an attack
MAX_LINE = 4 * 2**20  # characters: 300,000 columns of numbers
SEPARATORS = "/\\:"  # of folders, and of drives and streams on Windows
DEVICES = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}
DEVICES |= {f"{port}{digit}" for port in ("COM", "LPT") for digit in "0123456789¹²³"}
MAX_NAME_BYTES = 255  # of most file systems
MAX_KEPT_CHARACTERS = 50  # of a name, in that of its temporary file, which is longer and must not exceed them
_READ: ContextVar[set[Path] | None] = ContextVar("files_read", default=None)
OPENING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe must not block here


UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_text(path: Path, limit: int = MAX_BYTES, decode: Callable[[bytes], str] | None = None) -> str:
    """The text of a regular UTF-8 file of at most `limit` bytes, or of UTF-16 where it begins with the mark of that;
    `decode`, if given, takes one in another encoding.

    Raises ModelError for a directory, a pipe or device, and for a file that is empty, too large or not text.
    """
    content = read_bytes(path, limit)
    try:
        marked = content[:2] in UTF_16
        text = content.decode("utf-16" if marked else "utf-8-sig") if marked or decode is None else decode(content)
    except UnicodeDecodeError as error:
        problem, line = (
            f"this is not a text file: {error.reason} at byte {error.start}",
            error.object.count(b"\n", 0, error.start),
        )
        raise ModelError(problem, file=path, line=line + 1) from None
    if not text.strip():
        raise ModelError("the file is empty", file=path, line=1)
    return text


def read_bytes(path: Path, limit: int) -> bytes:
    """The content of a regular file of at most `limit` bytes, whatever size it claims to have; ModelError as
    `read_text`."""
    with regular_file(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        content = stream.read(min(size, limit) + 1)  # space for more than there is would be taken
        if len(content) > size:  # it grows, or says no size, as those of /proc
            content += stream.read(limit + 1 - len(content))
    _check_size(path, max(len(content), size) if len(content) > limit else 0, limit)
    return content


def read_lines(path: Path, limit: int = MAX_BYTES, errors: str = "strict") -> Iterator[tuple[int, str]]:
    """Number and text of each line of a regular file of at most `limit` bytes, one after the other.

    The text is UTF-8, or UTF-16 where it begins with the mark of that; with errors="surrogateescape" other bytes are
    lone surrogates. Only one line is in memory. Raises ModelError as `read_text`, and for a line of more than MAX_LINE
    characters.
    """
    number = size = 0
    with regular_file(path) as stream:
        _check_size(path, os.fstat(stream.fileno()).st_size, limit)
        marked = stream.read(2) in UTF_16
        stream.seek(0)
        text = io.TextIOWrapper(stream, encoding="utf-16" if marked else "utf-8-sig", errors=errors)
        try:
            while line := text.readline(MAX_LINE + 1):
                number, size = number + 1, size + len(line)
                if len(line) > MAX_LINE:
                    raise ModelError(f"the line holds more than {MAX_LINE} characters", file=path, line=number)
                if size > limit:  # it grows, or says no size
                    _check_size(path, size, limit)
                yield number, line.rstrip("\n")
        except UnicodeDecodeError as error:
            problem = f"this is not a text file: {error.reason}"
            raise ModelError(problem, file=path, line=number + 1 + error.object.count(b"\n", 0, error.start)) from None
    if not number:
        raise ModelError("the file is empty", file=path, line=1)


def _check_size(path: Path, size: int, limit: int) -> None:
    if size > limit:
        raise ModelError(f"the file holds {size / 2**20:.0f} MiB; at most {limit / 2**20:.0f} are read", file=path)


@contextlib.contextmanager
def regular_file(path: Path) -> Iterator[BinaryIO]:
    """A file opened for reading; ModelError for a directory, a pipe or a device."""
    if path.is_dir():
        raise ModelError("this is a directory, not a file", file=path)
    with os.fdopen(os.open(path, OPENING), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ModelError("this is not a regular file", file=path)
        found = _READ.get()
        if found is not None:
            found.add(path.resolve())
        yield stream


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


def check_ending(what: str, path: str | Path, *endings: str) -> Path:
    """The path of what is saved in these formats; ValueError for one that ends otherwise."""
    path, *others, last = Path(path), *endings
    if path.suffix.lower() not in endings:
        known = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{what} saved as {known}, not {path.suffix!r}: {path}")
    return path


def existing(path: str | Path) -> Path:
    """The path of a file that exists; ModelError for one that does not, TypeError for what is no path."""
    check_types(path=(path, PATH))
    path = Path(path)
    if not os.path.exists(path):  # nor for names that no file can have
        raise ModelError("no such file", file=path)
    return path


def near_file(path: Path) -> str:
    """In words a file beside a path that does not exist, whose name has other capitals or an ending; "" for none."""
    folder, wanted = str(path.parent), path.name.lower()
    names = os.listdir(folder) if os.path.isdir(folder) else []  # which takes names that no folder can have
    near = next((n for n in sorted(names) if wanted in (n.lower(), os.path.splitext(n)[0].lower())), None)
    return "" if near is None else f"; {near!r} is there"


def beside(folder: Path, name: str) -> Path:
    """The path that a file in a folder names, with the separators of Windows or of other systems."""
    return folder / name.replace("\\", "/")


def file_name(name: str) -> str:
    """A name from a model or a setup, if it names a file in its own folder, and no device of any system.

    Raises ModelError for a name that is empty, "." or "..", longer than 255 bytes, or ends in a dot or a blank. It is
    also raised for a separator of folders or drives, a control character, and a device of Windows.
    """
    bad = next((c for c in name if c in SEPARATORS or not c.isprintable()), None)
    if bad is not None:
        problem = "holds a separator of folders" if bad in "/\\" else f"holds {bad!r}"
    elif name in ("", ".", "..") or name[-1] in ". ":
        problem = "ends in a dot or a blank, or is empty"
    elif name.partition(".")[0].rstrip().upper() in DEVICES:
        problem = "is reserved on Windows"
    elif len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        problem = f"takes more than {MAX_NAME_BYTES} bytes"
    else:
        return name
    raise ModelError(f"the name {name!r} would be that of a file, and {problem}")


@contextlib.contextmanager
def files_read() -> Iterator[set[Path]]:
    """The files that are opened for reading while the block runs, in this thread."""
    found: set[Path] = set()
    token = _READ.set(found)
    try:
        yield found
    finally:
        _READ.reset(token)


def write_text(path: str | Path, text: str) -> None:
    """Write a whole text file (UTF-8) or nothing, as `write_bytes` does."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a whole file or nothing: into a temporary file beside it first, then renamed into place.

    The file gets the permissions of any new file of this process. An existing file is replaced: whether it may be is
    for the caller to ask (`check_output`).
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name[:MAX_KEPT_CHARACTERS]}.{os.urandom(8).hex()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


# --------------------------------------------------------------------------------------------------------------
#
# Archives of arrays, .npz, that may come from anybody: no pickle, and limited before they are read.


LARGE_BYTES, MAX_COMPRESSION = 2**30, 200  # a larger content must not be compressed more; numbers compress to a tenth


def read_arrays(path: Path, what: str) -> dict[str, Array]:
    """What an archive holds. ValueError, that it is no such `what`, for one that is damaged, or would be far larger
    than its file; FileNotFoundError for none."""
    try:
        with regular_file(path) as stream:
            with zipfile.ZipFile(stream) as archive:
                total = sum(info.file_size for info in archive.infolist())
            if total > max(LARGE_BYTES, MAX_COMPRESSION * path.stat().st_size):
                raise ValueError(f"its arrays would take {total / 2**30:.1f} GiB")
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as loaded:
                arrays = dict(loaded)
        for array in arrays.values():
            if array.dtype.kind == "U":  # of other numbers NumPy makes strings that Python cannot hold
                codes = np.frombuffer(array.tobytes(), np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
                if not (codes <= sys.maxunicode).all():
                    raise ValueError("its texts hold numbers that are no characters")
        return arrays
    except FileNotFoundError:
        raise
    except Exception as error:  # also of tokenize, zlib and ast, which NumPy calls
        reason = error.message if isinstance(error, ModelError) else str(error)
        raise ValueError(f"{path}: this is no {what} ({shortened(reason, 300)})") from None
