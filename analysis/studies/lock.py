"""One writer per store: a lock file beside it, which names its owner.

The operating system holds the lock and releases it when the owner ends, also when it is killed. A lock of a killed
process is taken over. The file says who has it: host, process and since when. A file left by a process of another host
is not taken over, since whether that still runs cannot be seen from here.
"""

import contextlib
import json
import os
import platform
import sys
from datetime import datetime
from pathlib import Path

from myoquat.core.records import dataclass

__all__ = ["Lock", "LockedError"]

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


_LOCKED_BYTE = 2**30  # where Windows locks a byte: away from the text, so that others can read that


class LockedError(ValueError):
    """Another process is writing.

    >>> from myoquat.analysis.studies import LockedError
    >>> issubclass(LockedError, ValueError)  # its message names the process that is writing
    True
    """


@dataclass
class Lock:
    """The lock of the store at a path, held from `Lock.of` to `release`."""

    path: Path
    handle: int

    @classmethod
    def of(cls, store: Path) -> "Lock":
        """Take the lock of a store, which need not exist. LockedError, telling the owner, if another process has it."""
        path = store.with_name(f".{store.name}.lock")
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            try:
                _take(handle, store)
                if _is_at(handle, path):  # else its last owner has removed it meanwhile
                    _check_host(handle, store, path)
                    _write(handle, _myself())
                    return cls(path, handle)
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)

    def release(self) -> None:
        """Let go of it."""
        if sys.platform == "win32":  # an open file cannot be removed there
            os.close(self.handle)
            with contextlib.suppress(OSError):
                self.path.unlink()
        else:
            with contextlib.suppress(OSError):
                self.path.unlink()
            os.close(self.handle)


def _take(handle: int, store: Path) -> None:
    """LockedError if another process has the lock."""
    try:
        if sys.platform == "win32":
            os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise LockedError(f"{store} is being written by {_words(_read(handle))}") from None


def _is_at(handle: int, path: Path) -> bool:
    """Whether the open file is still the one at the path."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _check_host(handle: int, store: Path, path: Path) -> None:
    owner = _read(handle)
    if owner and owner.get("host") != platform.node():
        raise LockedError(
            f"{store} is being written by {_words(owner)}, or was when that process died; if it no longer runs, "
            f"remove {path}"
        )


def _myself() -> dict[str, str]:
    now = datetime.now().astimezone().isoformat(" ", "seconds")
    return {"host": platform.node(), "process": str(os.getpid()), "since": now}


def _read(handle: int) -> dict[str, str]:
    """What the file says of its owner; {} where that is nothing."""
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        found = json.loads(os.read(handle, 4096))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _write(handle: int, owner: dict[str, str]) -> None:
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, json.dumps(owner).encode())


def _words(owner: dict[str, str]) -> str:
    if not {"host", "process", "since"} <= owner.keys():
        return "another process"
    return f"process {owner['process']} on {owner['host']} since {owner['since']}"
