"""Files brought to the disk, so that a loss of power does not take them, and one writer per store.

A lock file beside the store names its owner. The operating system holds the lock and releases it when the owner ends,
also when it is killed. A lock of a killed process is taken over. The file says who has it: host, process and since
when. A file left by a process of another host is not taken over, since whether that still runs cannot be seen from
here. The root of the Zarr group repeats what the arrays say of themselves, so that other programs open it at once. What
is opened here is read from the arrays: the copy does not mask a damaged one.
"""

import contextlib
import json
import math
import os
import platform
import sys
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import google_crc32c
import zarr
from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.errors import ZarrUserWarning
from zarr.storage import LocalStore

from myoquat.joints.errors import shortened

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


class Lock:
    """The lock of the store at a path, which need not exist, held until `release`. LockedError, telling the owner, if
    another process has it."""

    def __init__(self, store: Path) -> None:
        self.path = store.with_name(f".{store.name}.lock")
        while True:
            self.handle = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            try:
                self._lock(store)
                if self.path.exists() and os.path.samestat(os.fstat(self.handle), os.stat(self.path)):
                    self._sign(store)
                    return
            except FileNotFoundError:  # its last owner has removed it meanwhile
                pass
            except BaseException:
                os.close(self.handle)
                raise
            os.close(self.handle)

    def release(self) -> None:
        """Let go of it."""
        if sys.platform == "win32":  # an open file cannot be removed there
            os.close(self.handle)
        with contextlib.suppress(OSError):
            self.path.unlink()
        if sys.platform != "win32":
            os.close(self.handle)

    def _lock(self, store: Path) -> None:
        try:
            if sys.platform == "win32":
                os.lseek(self.handle, _LOCKED_BYTE, os.SEEK_SET)
                msvcrt.locking(self.handle, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise LockedError(f"{store} is being written by {_words(self._owner)}") from None

    def _sign(self, store: Path) -> None:
        """Write who has it; LockedError where a process of another host has it, or had it when that died."""
        owner, here = self._owner, platform.node()
        if owner and owner.get("host") != here:
            raise LockedError(
                f"{store} is being written by {_words(owner)}, or was when that process died; if it no longer runs, "
                f"remove {self.path}"
            )
        now = datetime.now().astimezone().isoformat(" ", "seconds")
        os.ftruncate(self.handle, 0)
        os.lseek(self.handle, 0, os.SEEK_SET)
        os.write(self.handle, json.dumps({"host": here, "process": str(os.getpid()), "since": now}).encode())

    @property
    def _owner(self) -> dict[str, str]:
        """What the file says of its owner; {} where that is nothing."""
        os.lseek(self.handle, 0, os.SEEK_SET)
        try:
            found = json.loads(os.read(self.handle, 4096))
        except (OSError, ValueError):
            return {}
        return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _words(owner: dict[str, str]) -> str:
    if not {"host", "process", "since"} <= owner.keys():
        return "another process"
    return f"process {owner['process']} on {owner['host']} since {owner['since']}"


class StoreError(ValueError):
    """A store that cannot take, or does not hold, the results of a study. Messages are shortened.

    >>> import tempfile
    >>> from myoquat.analysis.studies import StoreError, open_results
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         open_results(folder)
    ...     except StoreError as error:
    ...         print(str(error).replace(folder, "this folder"))
    this folder exists and is not a store of study results
    """

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


MAX_FLUSHES = 8  # at once


def flush(path: Path) -> None:
    """Bring a file, or the entries of a folder, to the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows opens no folders; it brings their entries to the disk by itself
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_tree(folder: Path) -> None:
    """Bring a folder with all that is in it to the disk."""
    with ThreadPoolExecutor(MAX_FLUSHES) as pool:
        list(pool.map(flush, (*folder.rglob("*"), folder)))


def check_links(folder: Path) -> None:
    """StoreError where a folder holds a symbolic link, or a junction of Windows: what is written there would land where
    it leads."""
    is_junction = getattr(os.path, "isjunction", os.path.islink)  # from Python 3.12 on
    for above, folders, files in os.walk(folder):
        for path in (Path(above, name) for name in (*folders, *files)):
            if path.is_symlink() or is_junction(path):
                raise StoreError(f"{path} is a link, and writing would change what it leads to; a store holds none")


class Flusher:
    """Flushes files while others are computed, several at once, since a disk takes many as fast as one; `close` waits
    until all are there."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(MAX_FLUSHES, thread_name_prefix="flush")
        self._waiting: list[Future[None]] = []
        self._shared: set[Path] = set()

    def add(self, path: Path, shared: Path) -> None:
        """Flush a file and its folders below `shared`; that one too, when all is written."""
        self._shared.add(shared)
        self._submit(path, *(folder for folder in path.parents if shared in folder.parents))

    def close(self) -> None:
        """Wait; OSError if the disk did not take a file."""
        for folder in self._shared:
            self._submit(folder)
        self._pool.shutdown(wait=True)
        for done in self._waiting:
            done.result()

    def _submit(self, *paths: Path) -> None:
        def flush_all() -> None:
            for path in paths:
                with contextlib.suppress(FileNotFoundError):  # who removes a store is found out by who writes into it
                    flush(path)

        self._waiting.append(self._pool.submit(flush_all))


CHECKSUM_BYTES = 4
COUNT_BYTES = 4  # of a count or a length in a block of texts
MAX_LABELS = 10**7  # numbers or texts of an array that is read at once, such as names and times


class CheckedStore(LocalStore):
    """A folder of arrays, read only, of which those named in `checked` hold blocks that end with their CRC-32C.

    Zarr compares these checksums too, but names neither the file nor the array, and takes four bytes of zero for a
    block without numbers. Labels take no more memory than their files can hold. Otherwise a description of a few bytes,
    or the count in a block of texts, could ask for any amount.
    """

    def __init__(self, root: Path | str, *, read_only: bool = True) -> None:
        super().__init__(root, read_only=read_only)
        self.checked: frozenset[str] = frozenset()
        self._texts: set[str] = set()  # arrays of texts without compression

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """As LocalStore does. Raises StoreError with the array and the block."""
        found = await super().get(key, prototype, byte_range)
        if found is None:
            return None
        content, (name, _, place) = found.to_bytes(), key.partition("/c/")
        if key.endswith("/zarr.json"):
            self._describe(key.removesuffix("/zarr.json"), content)
        # a block of texts is as long as the texts that it counts, each of which begins with its length
        texts = place and name in self._texts
        if texts and COUNT_BYTES * (1 + int.from_bytes(content[:COUNT_BYTES], "little")) > len(content):
            raise StoreError(f"{self.root}: the labels {name!r} are damaged")
        numbers, checksum = content[:-CHECKSUM_BYTES], content[-CHECKSUM_BYTES:]
        intact = numbers and google_crc32c.value(numbers).to_bytes(4, "little") == checksum
        if place and name in self.checked and not intact:
            raise StoreError(
                f"{self.root}: block {place.split('/')[0]} of {name!r} is not as it was written; `myoquat sweep "
                "--verify` lists what is damaged, `--repair` computes it again"
            )
        return found

    def _describe(self, name: str, content: bytes) -> None:
        """Note an array of texts; StoreError for labels of which there are too many. Zarr checks the rest."""
        try:
            found: Any = json.loads(content)
            shape, dims = found.get("shape", ()), found.get("dimension_names") or ()
            many = tuple(dims[:1]) != ("sample",) and math.prod(map(int, shape)) > MAX_LABELS
            texts = found.get("data_type") == "string" and [each["name"] for each in found["codecs"]] == ["vlen-utf8"]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError):
            return
        if many:
            raise StoreError(f"{self.root}: the description of the labels {name!r} is damaged: shape {shape}")
        if texts:
            self._texts.add(name)


def group_at(path: Path | Store, mode: Any) -> Any:
    """The group at a path, or in a store of Zarr, its arrays as they say themselves; mode "r" or "r+"."""
    return zarr.open_group(path, mode=mode, zarr_format=3, use_consolidated=False)


def consolidate(path: Path) -> None:
    """Repeat in the root what the arrays say, where xarray looks first.

    Zarr warns that the specification does not have it; readers that do not know it pass it over.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Consolidated metadata", ZarrUserWarning)
        zarr.consolidate_metadata(path, zarr_format=3)
