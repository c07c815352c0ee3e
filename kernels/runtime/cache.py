"""Compiled kernels on disk.

Each kernel has one file: a magic line, a seal of the rest, the key, a JSON header and the object code. The key makes a
renamed file recognizable. Whatever is wrong with a file or with the folder, the answer is 'not there': the kernel is
then compiled again.

Machine code is executed as it is read. Only this user may therefore write into the folder, and every file in it must be
this user's and writable by no other user. The seal is BLAKE2b under a secret that lies in the folder and that no other
user may read. A file that another user put there, while the folder was open to others, lacks the seal.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import stat
import struct
import tempfile
from pathlib import Path
from typing import Any

LIMIT_BYTES = 256 * 2**20
_MAGIC = b"myoquat kernel 3\n"
_HEADER = struct.Struct("<Q")
_SUFFIX = ".kernel"
_PROBE_BYTES = 2**16  # as much as a small kernel
_SECRET, _SEAL_BYTES = "secret", 32  # the file of the secret; bytes of it and of a seal


class Cache:
    """Entries (header, code) under keys in one folder; beyond the limit the least recently used go first.

    Looking through a full folder takes longer than compiling a kernel. It is therefore done now and then, and the
    folder is beyond its limit by a few hundredths at times.
    """

    def __init__(self, folder: Path | None, limit: int = LIMIT_BYTES) -> None:
        self.folder = folder
        self.limit = limit

    def load(self, key: str) -> tuple[dict[str, Any], bytes] | None:
        """The entry stored under `key`, or None if it is missing, damaged, foreign or not this user's alone."""
        if self.folder is None or not _is_private(self.folder):
            return None
        path = self._path(key)
        try:
            entry = _unpack(_read_private(path), key, _read_secret(self.folder))
        except (OSError, ValueError, RecursionError, struct.error):
            return None
        if entry is not None:
            with contextlib.suppress(OSError):
                os.utime(path)  # marks the use, for the order of removal
        return entry

    def store(self, key: str, header: dict[str, Any], code: bytes) -> bool:
        """Write an entry, whole or not at all; False if the folder cannot be written or is not private."""
        if self.folder is None:
            return False
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(self.folder):
                return False
            entry = _pack(key, header, code, _secret(self.folder))
            _write(self._path(key), entry)
            if self._is_due(key, len(entry)):
                self._shrink()
        except OSError:
            return False
        return True

    def obstacle(self) -> str | None:
        """Why nothing can be kept in the folder, which is made if it is not there; None if it can be."""
        if self.folder is None:
            return "it is off"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(self.folder):
                return f"others may write into {self.folder}, or it belongs to another user"
            _secret(self.folder)
            probe = self.folder / f"{secrets.token_hex(8)}.tmp"
            _write(probe, bytes(_PROBE_BYTES))
            probe.unlink()
        except OSError as error:
            return str(error)
        return None

    def size(self) -> int:
        """Bytes of all entries."""
        return sum(size for _, size, _ in self._entries())

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / (key + _SUFFIX)

    def _is_due(self, key: str, size: int) -> bool:
        """Whether the folder is looked through after an entry of so many bytes. On average this happens once for every
        1/64 of the limit that is written, whichever processes write it: the digits of keys serve as random numbers."""
        return int(key[:8], 16) * self.limit < 64 * size * 2**32

    def _entries(self) -> list[tuple[float, int, str]]:
        """(last use, bytes, path) of every entry, the oldest first."""
        found = []
        if self.folder is not None:
            with contextlib.suppress(OSError):
                for item in os.scandir(self.folder):
                    with contextlib.suppress(OSError):
                        if item.name.endswith((_SUFFIX, ".tmp")):
                            status = item.stat()
                            found.append((status.st_mtime, status.st_size, item.path))
        return sorted(found)

    def _shrink(self) -> None:
        entries = self._entries()
        excess = sum(size for _, size, _ in entries) - self.limit
        for _, size, path in entries:
            if excess <= 0:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            excess -= size


def _is_private(folder: Path) -> bool:
    try:
        status = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and _is_own(status)


def _is_own(status: os.stat_result, denied: int = 0o022) -> bool:
    """Whether what has this status belongs to this user, and has none of the `denied` modes: to others, writing."""
    if not hasattr(os, "getuid"):
        return True  # Windows: the user's local folder is private by its access list
    return status.st_uid == os.getuid() and not status.st_mode & denied


def _secret(folder: Path) -> bytes:
    """The secret of a folder, made where there is none that can be used; OSError where that cannot be."""
    try:
        return _read_secret(folder)
    except OSError:
        _make_secret(folder / _SECRET)
    return _read_secret(folder)


def _read_secret(folder: Path) -> bytes:
    """The secret; OSError unless it is whole and for this user's eyes only."""
    found = _read_private(folder / _SECRET, 0o077)
    if len(found) != _SEAL_BYTES:
        raise OSError(f"{folder / _SECRET} is not whole")
    return found


def _make_secret(path: Path) -> None:
    """A new secret, whole or not at all. One that another process has made meanwhile stays; one of no use does not."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")  # of mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_SEAL_BYTES))
        if os.path.lexists(path):
            os.replace(temporary, path)
        else:
            _name_if_free(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _name_if_free(temporary: str, path: Path) -> None:
    """Give a file its name unless another one has it."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links; of two secrets at once the last one stays
        os.replace(temporary, path)


def _read_private(path: Path, denied: int = 0o022) -> bytes:
    """The content of a regular file, not of a link, that is this user's alone; OSError for another one.

    What was opened is asked, not the path: that may lead elsewhere a moment later.
    """
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not _is_own(status, denied):
            raise PermissionError(f"{path} is not a file of this user alone")
        return file.read()


def _write(path: Path, data: bytes) -> None:
    """Write beside the final name and rename: a reader sees the whole file or none."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _seal(body: bytes, secret: bytes) -> bytes:
    return hashlib.blake2b(body, key=secret, digest_size=_SEAL_BYTES).digest()


def _pack(key: str, header: dict[str, Any], code: bytes, secret: bytes) -> bytes:
    text = json.dumps(header, sort_keys=True).encode()
    body = key.encode() + b"\n" + _HEADER.pack(len(text)) + text + code
    return _MAGIC + _seal(body, secret) + body


def _unpack(data: bytes, key: str, secret: bytes) -> tuple[dict[str, Any], bytes] | None:
    start = len(_MAGIC) + _SEAL_BYTES
    body = data[start:]
    if data[: len(_MAGIC)] != _MAGIC or not hmac.compare_digest(_seal(body, secret), data[len(_MAGIC) : start]):
        return None
    prefix = key.encode() + b"\n"
    if not body.startswith(prefix):
        return None
    offset = len(prefix) + _HEADER.size
    (length,) = _HEADER.unpack(body[len(prefix) : offset])
    header, code = json.loads(body[offset : offset + length]), body[offset + length :]
    return (header, code) if isinstance(header, dict) and code else None
