"""Files brought to the disk, so that a loss of power does not take them."""

import contextlib
import os
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from myoquat.analysis.studies.storage.errors import StoreError

__all__ = ["Flusher", "check_links", "flush", "flush_tree"]

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
        own = [folder for folder in path.parents if folder != shared and folder.is_relative_to(shared)]
        self._shared.add(shared)
        self._submit(path, *own)

    def close(self) -> None:
        """Wait; OSError if the disk did not take a file."""
        for folder in self._shared:
            self._submit(folder)
        self._pool.shutdown(wait=True)
        for done in self._waiting:
            done.result()

    def _submit(self, *paths: Path) -> None:
        self._waiting.append(self._pool.submit(_flush_all, paths))


def _flush_all(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # who removes a store is found out by who writes into it
            flush(path)
