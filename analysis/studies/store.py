"""Results in a Zarr store: one chunk of every array per block, whole or not at all.

Every chunk is written beside its place and renamed, and the chunk of `status` comes last: a block is there if that is
there. A process that dies at any moment leaves a store that opens, and whose missing blocks are known. Every chunk
carries a CRC-32C of its bytes. Two processes that fill one store write the same bytes.
"""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
import zarr
from zarr.codecs import Crc32cCodec

from myoquat.analysis.studies.describe import description, differences
from myoquat.analysis.studies.layout import Variable, coordinates, sizes, variables
from myoquat.analysis.studies.machine import machine, release
from myoquat.analysis.studies.summaries import SUMMARIES

if TYPE_CHECKING:
    from myoquat.analysis.studies.study import Study

__all__ = ["FORMAT", "VERSION", "Store", "StoreError", "attributes", "in_order", "open_results", "stored"]

FORMAT, VERSION = "myoquat-study-results", 2
READABLE = (1, 2)  # version 1 has the same arrays, and the same numbers for the outcomes that a study knows
CHECKSUM_BYTES = 4
_EVERY_CHUNK: Any = {"write_empty_chunks": True}  # also those of nothing but NaN: a missing chunk is a missing block


class StoreError(ValueError):
    """A store that cannot take, or does not hold, the results of a study."""


def attributes(study: "Study") -> dict[str, Any]:
    """What stands with results as a whole: the study and what the bits depend on."""
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "myoquat": release(),
        "machine": json.dumps(machine()),
        "study": json.dumps(description(study)),
    }


def open_results(path: str | Path) -> xr.Dataset:
    """The results in a store, complete or not, read as they are used; `status` says which samples are there.

    Stores of format version 1 are read too. Raises FileNotFoundError, or StoreError for anything else.
    """
    _check_results(Path(path))
    return in_order(xr.open_zarr(path, chunks=None, consolidated=False, zarr_format=3))


def in_order(found: xr.Dataset) -> xr.Dataset:
    """The Dataset with its variables in the order of `variables`, and labels and units as coordinates of text."""
    labels = {
        name: (array.dims, array.values.astype(object))
        for name, array in found.variables.items()
        if array.dtype.kind in "OTU"
    }
    known = ("values", "status", "stopped_at", "q_final", "u_final", "q", "u", *SUMMARIES)
    return found.assign_coords(labels)[[name for name in known if name in found]]


def _check_results(path: Path) -> dict[str, Any]:
    """The attributes of the store at a path."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: there are no results")
    try:
        found = json.loads((path / "zarr.json").read_text(encoding="utf-8"))["attributes"]
    except (OSError, ValueError, KeyError):
        raise StoreError(f"{path} exists and is not a store of study results") from None
    if found.get("format") != FORMAT:
        raise StoreError(f"{path} is a Zarr store, but not of study results")
    if found.get("format_version") not in READABLE:
        raise StoreError(
            f"{path} holds results in format version {found.get('format_version')}, written by myoquat "
            f"{found.get('myoquat')}; myoquat {release()} reads versions {', '.join(map(str, READABLE))}"
        )
    return found


class Store:
    """A store of the results of one study, open for writing; `Store.create` and `Store.resume` make it."""

    def __init__(self, study: "Study", path: Path) -> None:
        self.study, self.path = study, path
        self.variables = sorted(variables(study), key=lambda v: v.name == "status")  # the last one makes a block count
        group: Any = zarr.open_group(path, mode="r+", zarr_format=3)
        self.arrays: dict[str, Any] = {v.name: group[v.name].with_config(_EVERY_CHUNK) for v in self.variables}
        self.block = int(self.arrays["status"].chunks[0])
        self.blocks = -(-study.count // self.block)

    @classmethod
    def create(cls, study: "Study", path: str | Path, block: int) -> "Store":
        """A new, empty store; FileExistsError if something is there, OSError where nothing can be written."""
        path = Path(path)
        if path.exists():
            raise FileExistsError(f"{path} exists; --resume (resume=True) goes on with it if it is this study's")
        if not path.parent.is_dir():
            raise NotADirectoryError(f"{path.parent} is not a directory")
        begun = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            _lay_out(study, begun, block)
            begun.rename(path)
        except BaseException:
            shutil.rmtree(begun, ignore_errors=True)
            raise
        return cls(study, path)

    @classmethod
    def resume(cls, study: "Study", path: str | Path) -> "Store":
        """The store at a path, to go on with. Raises StoreError, saying what differs, if it is of another study,
        another version or another processor."""
        path = Path(path)
        found = _check_results(path)
        if found["format_version"] != VERSION:
            raise StoreError(
                f"{path} was begun by myoquat {found['myoquat']} in format version {found['format_version']}, which "
                f"can be read but not resumed; myoquat {release()} writes version {VERSION}"
            )
        changed = differences(json.loads(found["study"]), description(study))
        if changed:
            raise StoreError(f"{path} holds the results of another study; what differs: {'; '.join(changed)}")
        if found["myoquat"] != release():
            raise StoreError(
                f"{path} was begun with myoquat {found['myoquat']}; this is {release()}, which may compute other bits"
            )
        if json.loads(found["machine"]) != machine():
            raise StoreError(
                f"{path} was begun on {found['machine']}; this machine is {json.dumps(machine())}, which may compute "
                "other bits. MYOQUAT_CPU (such as x86-64-v3) on both makes them equal"
            )
        store = cls(study, path)
        store._sweep()
        return store

    # ---- blocks ----------------------------------------------------------------------------------------------

    def span(self, block: int) -> tuple[int, int]:
        """First sample of a block, and the first after it."""
        return block * self.block, min((block + 1) * self.block, self.study.count)

    def pending(self) -> list[int]:
        """The blocks that are not there."""
        return [block for block in range(self.blocks) if not self._is_there(block)]

    def write(self, block: int, arrays: dict[str, np.ndarray]) -> None:
        """Put a block in its place. Raises OSError, with the store as it was, if that cannot be."""
        begin, end = self.span(block)
        for variable in self.variables:
            self.arrays[variable.name][begin:end] = arrays[variable.name]

    def dataset(self) -> xr.Dataset:
        """What is there."""
        return open_results(self.path)

    def _is_there(self, block: int) -> bool:
        """Whether all chunks of a block have their size: also after a machine has lost what it had not yet written."""
        if not self._chunk("status", block).exists():
            return False
        return all(self._size(v, block) == self._wanted(v) for v in self.variables)

    def _chunk(self, name: str, block: int) -> Path:
        array = self.arrays[name]
        return self.path / name / "c" / "/".join([str(block), *["0"] * (array.ndim - 1)])

    def _size(self, variable: Variable, block: int) -> int:
        path = self._chunk(variable.name, block)
        return path.stat().st_size if path.exists() else -1

    def _wanted(self, variable: Variable) -> int:
        array = self.arrays[variable.name]
        return int(np.prod(array.chunks)) * np.dtype(variable.dtype).itemsize + CHECKSUM_BYTES

    def _sweep(self) -> None:
        """Remove what writers that died have left half done."""
        for path in self._partial():
            path.unlink(missing_ok=True)

    def _partial(self) -> Iterator[Path]:
        for folder, _, files in os.walk(self.path):
            yield from (Path(folder) / name for name in files if name.endswith(".partial"))


def stored(results: Any, number: int, arrays: dict[str, Any]) -> None:
    """Store a block; OSError saying that the rest is safe if the disk takes no more."""
    try:
        results.write(number, arrays)
    except OSError as error:
        cause = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error)
        text = f"block {number} could not be stored: {cause}. What is stored stays; resume goes on with it"
        raise OSError(error.errno, text) from error


def _lay_out(study: "Study", path: Path, block: int) -> None:
    """An empty store of the study's arrays."""
    group = zarr.create_group(path, zarr_format=3, attributes=attributes(study))
    lengths = sizes(study)
    for v in variables(study):
        shape = tuple(lengths[dim] for dim in v.dims)
        group.create_array(
            v.name,
            shape=shape,
            dtype=v.dtype,
            chunks=(block, *(max(n, 1) for n in shape[1:])),
            compressors=[Crc32cCodec()],
            fill_value=v.fill,
            dimension_names=v.dims,
            attributes={"units": v.unit, "description": v.description},
        )
    for name, (dims, values) in coordinates(study).items():
        text = values.dtype.kind == "U"
        array = group.create_array(
            name, shape=values.shape, dtype="str" if text else "float64", compressors=None, dimension_names=dims
        )
        if len(values):
            array[:] = values.astype(object) if text else values
