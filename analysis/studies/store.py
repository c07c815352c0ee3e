"""Results of a study in memory or in a Zarr store: one chunk of every array per block, whole or not at all.

Every chunk is written beside its place and renamed, and the chunk of `status` comes last: a block is there if that is
there. A process that dies at any moment leaves a store that opens, and whose missing blocks are known. Every chunk
carries a CRC-32C of its bytes, which resuming and verifying compare. One process at a time writes.
"""

import json
import math
import shutil
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
from zarr.codecs import Crc32cCodec

from myoquat.core import PATH, Array, check_types, frozen, version_of, warn_user
from myoquat.kernels import Outcome

from .durable import (
    CHECKSUM_BYTES,
    CheckedStore,
    Flusher,
    Lock,
    StoreError,
    check_links,
    consolidate,
    flush,
    flush_tree,
    group_at,
)
from .identity import description, differences, fingerprint, machine
from .specification import Specification, labels_of
from .summaries import SUMMARIES


@frozen
class Variable:
    """An array of results: its dimensions, "sample" first, its type and what its attributes say."""

    name: str
    dims: tuple[str, ...]
    dtype: str
    unit: str
    description: str

    @property
    def fill(self) -> Any:
        """The value where nothing has been computed."""
        return int(Outcome.PENDING) if self.dtype == "int8" else np.nan


Labels = Mapping[str, tuple[tuple[str, ...], Any]]


@frozen
class Contents:
    """What the results of a study are.

    count        of samples
    variables    all arrays that are kept
    labels       labels and units along the dimensions: name -> (dimensions, values)
    description  the study as JSON can hold it; results of another one differ in it
    """

    count: int
    variables: tuple[Variable, ...]
    labels: Labels
    description: Mapping[str, Any]

    @property
    def sizes(self) -> dict[str, int]:
        """Length of every dimension."""
        return {"sample": self.count} | {
            name: len(values) for name, (dims, values) in self.labels.items() if dims == (name,)
        }

    def shape(self, variable: Variable) -> tuple[int, ...]:
        """The shape of an array."""
        return tuple(self.sizes[dim] for dim in variable.dims)

    def chunks(self, variable: Variable, block: int) -> tuple[int, ...]:
        """The shape of its chunks, of blocks of so many samples."""
        return block, *(max(n, 1) for n in self.shape(variable)[1:])


_WORDS = "which code computed the sample: its place, counted from 1, in the attribute `fingerprints`"
FINGERPRINT = Variable("fingerprint", ("sample",), "int8", "", _WORDS)


def contents_of(study: Specification) -> Contents:
    """What a study keeps."""
    kept = [
        Variable("values", ("sample", "parameter"), "float64", "", "values of the varied parameters"),
        Variable("status", ("sample",), "int8", "", "; ".join(f"{k:d}: {k.sentence}" for k in Outcome)),
        Variable("stopped_at", ("sample",), "float64", "s", "when a run that failed stopped"),
    ]
    states: list[Any] = [("_final", (), "at the end")] if study.final and study.trial is None else []
    states += [("", ("time",), "at the kept times")] if study.time_steps else []
    for suffix, along, when in states:
        for name, axis, words in (("q", "coordinate", "coordinates"), ("u", "velocity", "velocities")):
            dims = "sample", *along, axis
            kept.append(Variable(f"{name}{suffix}", dims, "float64", f"see {axis}_unit", f"{words} {when}"))
    if study.trial is not None:
        kept.append(Variable("unsolved", ("sample",), "float64", "1", "frames without a solution"))
    for summary in (SUMMARIES[name] for name in study.summaries):
        dims = "sample", summary.along
        kept.append(Variable(summary.name, dims, "float64", summary.unit, summary.description))

    facts = [body.joint.facts for body in study.model.system.bodies]
    units = {
        "parameter": study.parameters.units,
        "coordinate": [unit for f in facts for unit in f.coordinate_units],
        "velocity": [unit for f in facts for unit in f.velocity_units],
    }
    labels: dict[str, Any] = {name: ((name,), np.array(values, dtype="U")) for name, values in labels_of(study).items()}
    labels |= {f"{name}_unit": ((name,), np.array(values, dtype="U")) for name, values in units.items()}
    labels["time"] = ("time",), np.array(study.time_steps) * study.step
    return Contents(study.count, (*kept, FINGERPRINT), labels, description(study))


FORMAT, VERSION = "myoquat-study-results", 2
ANY_CODE = "any-code"
_ANY_CODE = "--any-code (resume='any-code') goes on, and records with each block which code computed it"
_EVERY_CHUNK: Any = {"write_empty_chunks": True}  # also those of nothing but NaN: a missing chunk is a missing block


_ENCODED = {"compressors": (Crc32cCodec(),), "filters": (), "shards": None}  # arrays of samples, as xarray tells
# What Zarr, xarray and NumPy raise over damaged descriptions
DAMAGE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    NotImplementedError,
    RecursionError,
    MemoryError,
)
REPORTED = {"machine": dict, "study": dict, "fingerprints": list}  # attributes of results that hold JSON


def _attributes(contents: Contents, code: Mapping[str, str]) -> dict[str, Any]:
    """What stands with results as a whole: the study and what the bits depend on."""
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "myoquat": version_of("myoquat"),
        "fingerprints": json.dumps([_code_of(code)]),
        "machine": json.dumps(machine()),
        "study": json.dumps(contents.description),
    }


def _code_of(code: Mapping[str, str]) -> dict[str, Any]:
    """The code that computes a study: this package's, and the programs of users' `code`."""
    return {**fingerprint(), **({"user_code": dict(code)} if code else {})}


def open_results(path: str | Path) -> xr.Dataset:
    """The results in a store, complete or not, read as they are used; `status` says which samples are there.

    Summaries of one's own that this process does not know are read with a warning. Raises FileNotFoundError, or
    StoreError for anything else; reading numbers of a damaged block raises StoreError with its array and number.

    >>> import tempfile
    >>> import myoquat as mq
    >>> vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = mq.Study("two_link", vary, samples=4, duration=0.01, summaries=["peak_force"])
    ...     done = study.run(f"{folder}/masses.zarr", progress=False)
    ...     again = mq.open_results(f"{folder}/masses.zarr")
    ...     print(dict(again.sizes)["sample"])
    4
    """
    check_types(path=(path, PATH))
    reported = _reported(Path(path))
    try:
        if unknown := [name for name in reported["study"].get("summaries", ()) if name not in SUMMARIES]:
            warn_user(
                f"{path}: {', '.join(map(repr, unknown))} {'is' if len(unknown) == 1 else 'are'} no summary that this "
                "process knows; the numbers are there, but resuming needs `summaries.register` first"
            )
        files = CheckedStore(path)
        found = xr.open_zarr(files, chunks=None, consolidated=False, zarr_format=3)
        sampled = {str(name): array for name, array in found.variables.items() if array.dims[:1] == ("sample",)}
        _check_chunks([*sampled.values()])
        files.checked = frozenset(sampled)
        return _in_order(found, reported["study"])
    except DAMAGE:
        raise StoreError(f"{path}: the description of an array, or a label, is damaged") from None


def _check_chunks(sampled: list[xr.Variable]) -> None:
    """ValueError unless all arrays of samples have blocks of one size, and the types and encodings that are written.

    Otherwise Zarr would detect a damaged description only when the numbers are read.
    """
    layouts = [(array.encoding.get("chunks") or (0,), array.shape) for array in sampled]
    whole = all(chunks[1:] == tuple(max(size, 1) for size in shape[1:]) for chunks, shape in layouts)
    if not whole or len({chunks[0] for chunks, _ in layouts}) > 1 or any(chunks[0] < 1 for chunks, _ in layouts):
        raise ValueError("the blocks of the arrays differ")
    types = {np.dtype(array.encoding.get("dtype", array.dtype)) for array in sampled}
    if not types <= {np.dtype(np.float64), np.dtype(np.int8)}:
        raise ValueError(f"arrays of samples hold {', '.join(sorted(map(str, types)))}")
    if any([array.encoding.get(key) for key in _ENCODED] != list(_ENCODED.values()) for array in sampled):
        raise ValueError("the codecs of an array of samples are not those that are written")


def _in_order(found: xr.Dataset, study: Mapping[str, Any]) -> xr.Dataset:
    """The Dataset with its variables in the order in which studies keep them, and labels and units as coordinates of
    text."""
    labels = {
        name: (array.dims, array.values.astype(object))
        for name, array in found.variables.items()
        if array.dtype.kind in "OTU"
    }
    first = ("values", "status", "stopped_at", "q_final", "u_final", "q", "u", "unsolved")
    known = (*first, *study.get("summaries", ()), "fingerprint")
    others = sorted(set(map(str, found.data_vars)) - {*known, *labels})
    return found.assign_coords(labels)[[name for name in (*known, *others) if name in found]]


def dataset_of(contents: Contents, code: Mapping[str, str], arrays: Mapping[str, Array]) -> xr.Dataset:
    """Arrays of results as a Dataset, as `open_results` reads it from a store."""
    data = {
        v.name: (v.dims, arrays[v.name], {"units": v.unit, "description": v.description}) for v in contents.variables
    }
    found = xr.Dataset(data, attrs=_attributes(contents, code)).assign_coords(contents.labels)
    return _in_order(found, contents.description)


def stored_description(path: str | Path) -> dict[str, Any]:
    """The study whose results a store holds, as `description` gave it."""
    found: dict[str, Any] = _reported(Path(path))["study"]
    if "formulas" in found:
        raise StoreError(
            f"{path} holds solutions of a ProblemStudy, whose `run` with resume=True checks and reads them"
        )
    return found


def _reported(path: Path) -> dict[str, Any]:
    """The attributes of the store at a path, those of `REPORTED` as the values that they hold."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: there are no results")
    try:
        found: dict[str, Any] = dict(json.loads((path / "zarr.json").read_text(encoding="utf-8"))["attributes"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        raise StoreError(f"{path} exists and is not a store of study results") from None
    if found.get("format") != FORMAT:
        raise StoreError(f"{path} is a Zarr store, but not of study results")
    if found.get("format_version") != VERSION:
        raise StoreError(
            f"{path} holds results in format version {found.get('format_version')}, written by myoquat "
            f"{found.get('myoquat')}; myoquat {version_of('myoquat')} reads version {VERSION}"
        )
    for key, kept in REPORTED.items():
        state = "damaged" if key in found else "missing"
        try:
            found[key] = json.loads(found[key])
        except (ValueError, LookupError, TypeError, RecursionError):
            found[key] = None
        if not isinstance(found[key], kept):
            raise StoreError(f"{path}: the attribute {key!r} of the results is {state}")
    return found


def check_study(contents: Contents, path: Path) -> dict[str, Any]:
    """The attributes of the store at a path. FileNotFoundError, or StoreError if it does not hold results of the
    study."""
    reported = _reported(path)
    if changed := differences(reported["study"], contents.description):
        raise StoreError(f"{path} holds the results of another study; what differs: {'; '.join(changed)}")
    return reported


class Results:
    """The results of one study in memory, filled block by block: `arrays` by name, `block` samples in each."""

    def __init__(self, contents: Contents, code: Mapping[str, str], block: int) -> None:
        self.contents, self.code, self.block = contents, code, block
        self.arrays: dict[str, Any] = {
            v.name: np.full(contents.shape(v), v.fill, dtype=v.dtype) for v in contents.variables
        }

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.contents.count // self.block)

    def span(self, block: int) -> tuple[int, int]:
        """First sample of a block, and the first after it."""
        return block * self.block, min((block + 1) * self.block, self.contents.count)

    @property
    def damaged(self) -> dict[int, str]:
        """The blocks that were there at first, and not as they had been written: number -> what is wrong."""
        return {}

    def pending(self) -> list[int]:
        """The blocks that are still to be computed."""
        return list(range(self.blocks))

    def write(self, block: int, arrays: Mapping[str, Array]) -> None:
        """Put a block in its place."""
        begin, end = self.span(block)
        for name, array in self.arrays.items():
            array[begin:end] = arrays[name]

    def dataset(self) -> xr.Dataset:
        """What is there."""
        return dataset_of(self.contents, self.code, self.arrays)

    def close(self) -> None:
        """End the writing: what was written is safe when this returns."""


class Store(Results):
    """A store of the results of one study; `Store.open` makes or resumes it for writing, alone.

    StoreError if an array is not there or not as it was laid out."""

    def __init__(self, contents: Contents, path: Path, lock: Lock | None = None) -> None:
        self.contents, self.path, self.lock = contents, path, lock
        variables = sorted(contents.variables, key=lambda v: v.name == "status")  # the last makes a block count
        try:
            group = group_at(path, "r+")
            self.arrays = {v.name: group[v.name].with_config(_EVERY_CHUNK) for v in variables}
        except DAMAGE as error:
            raise StoreError(
                f"{path}: an array of the results is missing or its description damaged: {error}"
            ) from None
        self.block = int(self.arrays["status"].chunks[0])
        for v, array in zip(variables, self.arrays.values(), strict=True):
            wanted = contents.shape(v), np.dtype(v.dtype), contents.chunks(v, self.block)
            if (array.shape, array.dtype, array.chunks) != wanted:
                raise StoreError(f"{path}: the description of the array {v.name!r} is damaged")
        self.fingerprint = 1
        self.flusher = Flusher()
        self._identity = self._found_identity()

    @classmethod
    def open(
        cls,
        contents: Contents,
        code: Mapping[str, str],
        path: str | Path,
        block: int,
        resume: bool | str = False,
    ) -> "Store":
        """The store at a path, locked for writing: a new one, or to `resume` the one that is there, `ANY_CODE` also one
        that other code began.

        Raises LockedError while another process is writing, FileExistsError if something is there that is not to be
        resumed, OSError where nothing can be written. StoreError names the differences if it is of another study, other
        code, or another processor.
        """
        path = Path(path)
        if not path.parent.is_dir():
            raise NotADirectoryError(f"{path.parent} is not a directory")
        lock = Lock(path)
        try:
            if not path.exists():
                _lay_out(contents, code, path, block)
                return cls(contents, path, lock)
            if resume:
                return cls._resume(contents, code, path, lock, resume == ANY_CODE)
            raise FileExistsError(f"{path} exists; --resume (resume=True) goes on with it if it is this study's")
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _resume(cls, contents: Contents, code: Mapping[str, str], path: Path, lock: Lock, any_code: bool) -> "Store":
        """The store at a path, to continue it."""
        reported = check_study(contents, path)
        check_links(path)
        own, known = _code_of(code), reported["fingerprints"]
        if not any_code:
            if reported.get("myoquat") != version_of("myoquat"):
                raise StoreError(
                    f"{path} was begun with myoquat {reported.get('myoquat')}; this is {version_of('myoquat')}, which "
                    "may compute other bits. " + _ANY_CODE
                )
            for changed in (differences(other, own) for other in known):
                if changed:
                    raise StoreError(
                        f"{path} holds results of other code, which may compute other bits; what differs: "
                        f"{'; '.join(changed)}. {_ANY_CODE}"
                    )
        if reported["machine"] != machine():
            raise StoreError(
                f"{path} was begun on {json.dumps(reported['machine'])}; this machine is {json.dumps(machine())}, "
                "which may compute other bits. MYOQUAT_CPU (such as x86-64-v3) on both makes them equal"
            )
        store = cls(contents, path, lock)
        for partial in [*path.rglob("*.partial")]:  # what writers that died have left half done
            partial.unlink(missing_ok=True)
        for name in store.label_faults():
            _add_labels(group_at(path, "r+"), name, *contents.labels[name])
        if own not in known:
            known.append(own)
            group_at(path, "r+").update_attributes({"fingerprints": json.dumps(known)})
            consolidate(path)
            flush(path / "zarr.json")
            store._identity = store._found_identity()
        store.fingerprint = known.index(own) + 1
        return store

    def close(self) -> None:
        """Wait until all that was written is on the disk, and let others write."""
        try:
            self.flusher.close()
        finally:
            if self.lock is not None:
                self.lock.release()

    # ---- blocks ----------------------------------------------------------------------------------------------

    def pending(self) -> list[int]:
        """The blocks that are not there, or are damaged."""
        return [block for block, fault in enumerate(self._faults) if fault is not None]

    @property
    def missing(self) -> list[int]:
        """The blocks that were not there when the store was opened."""
        return [block for block, fault in enumerate(self._faults) if fault == ""]

    @property
    def damaged(self) -> dict[int, str]:
        """As of all results."""
        return {block: fault for block, fault in enumerate(self._faults) if fault}

    def write(self, block: int, arrays: Mapping[str, Array]) -> None:
        """Put a block in its place. Raises OSError, with the store as it was, if that cannot be, and StoreError if the
        store is no longer there."""
        begin, end = self.span(block)
        self._check_there(block)
        super().write(block, {**arrays, "fingerprint": np.full(end - begin, self.fingerprint, dtype=np.int8)})
        self._check_there(block)
        for name in self.arrays:
            self.flusher.add(self._chunk(name, block), self.path / name / "c")

    def read(self, block: int) -> dict[str, Array]:
        """What is stored of a block."""
        begin, end = self.span(block)
        return {name: np.asarray(array[begin:end]) for name, array in self.arrays.items()}

    def dataset(self) -> xr.Dataset:
        """What is there."""
        return open_results(self.path)

    # ---- what is there ---------------------------------------------------------------------------------------

    @cached_property
    def _faults(self) -> list[str | None]:
        """For each block None if all of it is as it was written, "" if it is not there, else what is wrong."""
        return [self._fault(block) if self._chunk("status", block).exists() else "" for block in range(self.blocks)]

    def _fault(self, block: int) -> str | None:
        begin, end = self.span(block)
        for name, array in self.arrays.items():
            file, wanted = self._chunk(name, block), math.prod(array.chunks) * array.dtype.itemsize + CHECKSUM_BYTES
            if not file.exists():
                return f"{name} is missing"
            if (size := file.stat().st_size) != wanted:
                return f"{name} has {size} of {wanted} bytes"
            try:
                array[begin:end]  # decoded, and so compared with its checksum
            except (ValueError, OSError) as error:
                return f"{name} cannot be read: {error}"
        return None

    def label_faults(self) -> list[str]:
        """Names of the labels and units that are not those of the study."""
        group, found = group_at(CheckedStore(self.path), "r"), []
        for name, (_, values) in self.contents.labels.items():
            try:
                same = np.array_equal(np.asarray(group[name][:], dtype=values.dtype), values)
            except Exception:  # damaged text and descriptions end in errors of many libraries
                same = False
            found += [] if same else [name]
        return found

    def _chunk(self, name: str, block: int) -> Path:
        return self.path / name / "c" / "/".join([str(block), *["0"] * (self.arrays[name].ndim - 1)])

    def _found_identity(self) -> tuple[int, int] | None:
        """What tells this store from another at the same path; None if there is none."""
        try:
            status = (self.path / "zarr.json").stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def _check_there(self, block: int) -> None:
        if self._found_identity() != self._identity:
            raise StoreError(f"{self.path} was removed or replaced while it was written; block {block} is not stored")


def _lay_out(contents: Contents, code: Mapping[str, str], path: Path, block: int) -> None:
    """A new, empty store of the study's arrays: laid out beside its place, brought to the disk and renamed."""
    begun = path.with_name(f".{path.name}.begun")
    shutil.rmtree(begun, ignore_errors=True)  # what a process that died has left
    begun.mkdir()
    try:
        group = zarr.create_group(begun, zarr_format=3, attributes=_attributes(contents, code))
        for v in contents.variables:
            group.create_array(
                v.name,
                shape=contents.shape(v),
                dtype=v.dtype,
                chunks=contents.chunks(v, block),
                compressors=_ENCODED["compressors"],
                fill_value=v.fill,
                dimension_names=v.dims,
                attributes={"units": v.unit, "description": v.description},
            )
        for name, (dims, values) in contents.labels.items():
            _add_labels(group, name, dims, values)
        consolidate(begun)
        flush_tree(begun)
        begun.rename(path)
        flush(path.parent)
    except BaseException:
        shutil.rmtree(begun, ignore_errors=True)
        raise


def _add_labels(group: Any, name: str, dims: tuple[str, ...], values: Array) -> None:
    text = values.dtype.kind == "U"
    array = group.create_array(
        name,
        shape=values.shape,
        dtype="str" if text else "float64",
        compressors=None,
        dimension_names=dims,
        overwrite=True,
    )
    if len(values):
        array[:] = values.astype(object) if text else values
