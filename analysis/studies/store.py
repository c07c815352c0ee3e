"""Results in a Zarr store: one chunk of every array per block, whole or not at all.

Every chunk is written beside its place and renamed, and the chunk of `status` comes last: a block is there if that is
there. A process that dies at any moment leaves a store that opens, and whose missing blocks are known. Every chunk
carries a CRC-32C of its bytes, which resuming and verifying compare. One process at a time writes.
"""

import json
import os
import shutil
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
from zarr.codecs import Crc32cCodec

from myoquat.analysis.studies.durable import (
    CHECKSUM_BYTES,
    CheckedStore,
    Flusher,
    Lock,
    StoreError,
    check_links,
    consolidate,
    entry_of,
    flush,
    flush_tree,
    group_at,
)
from myoquat.analysis.studies.identity import description, differences, fingerprint, machine
from myoquat.analysis.studies.specification import Specification
from myoquat.analysis.studies.summaries import SUMMARIES
from myoquat.core import PATH, Array, check_types, frozen, version_of
from myoquat.kernels import Outcome

__all__ = [
    "FINGERPRINT",
    "FORMAT",
    "VERSION",
    "Contents",
    "Results",
    "Store",
    "StoreError",
    "Variable",
    "attributes",
    "check_store",
    "contents_of",
    "in_order",
    "open_results",
    "stored_description",
]


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


def contents_of(study: Specification) -> Contents:
    """What a study keeps."""
    return Contents(study.count, tuple(_variables(study)), _labels(study), description(study))


_WORDS = "which code computed the sample: its place, counted from 1, in the attribute `fingerprints`"
FINGERPRINT = Variable("fingerprint", ("sample",), "int8", "", _WORDS)


def _variables(study: Specification) -> list[Variable]:
    found = [
        Variable("values", ("sample", "parameter"), "float64", "", "values of the varied parameters"),
        Variable("status", ("sample",), "int8", "", "; ".join(f"{k:d}: {k.sentence}" for k in Outcome)),
        Variable("stopped_at", ("sample",), "float64", "s", "when a run that failed stopped"),
    ]
    if study.keep.final:
        found += _states("_final", (), "at the end")
    if study.keep.time_steps:
        found += _states("", ("time",), "at the kept times")
    if study.trial is not None:
        found.append(Variable("unsolved", ("sample",), "float64", "1", "frames without a solution"))
    for name in study.keep.summaries:
        s = SUMMARIES[name]
        found.append(Variable(name, ("sample", s.along), "float64", s.unit, s.description))
    return [*found, FINGERPRINT]


def _states(suffix: str, along: tuple[str, ...], when: str) -> list[Variable]:
    return [
        Variable(
            f"q{suffix}", ("sample", *along, "coordinate"), "float64", "see coordinate_unit", f"coordinates {when}"
        ),
        Variable(f"u{suffix}", ("sample", *along, "velocity"), "float64", "see velocity_unit", f"velocities {when}"),
    ]


def _labels(study: Specification) -> Labels:
    system, parameters = study.model.system, study.parameters
    trial = {} if study.trial is None else study.trial.labels
    facts = [body.joint.facts for body in system.bodies]
    return {
        "parameter": (("parameter",), np.array(parameters.names)),
        "parameter_unit": (("parameter",), np.array(parameters.units)),
        "coordinate": (("coordinate",), np.array(system.coordinate_names)),
        "coordinate_unit": (("coordinate",), np.array([u for f in facts for u in f.coordinate_units])),
        "velocity": (("velocity",), np.array(system.velocity_names)),
        "velocity_unit": (("velocity",), np.array([u for f in facts for u in f.velocity_units])),
        "muscle": (("muscle",), np.array(study.model.muscle_names)),
        "body": (("body",), np.array(system.body_names)),
        "time": (("time",), np.array(study.keep.time_steps) * study.step),
        **{name: ((name,), np.array(labels, dtype="U")) for name, labels in trial.items()},
    }


FORMAT, VERSION = "myoquat-study-results", 2
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


def attributes(contents: Contents, code: Mapping[str, str]) -> dict[str, Any]:
    """What stands with results as a whole: the study and what the bits depend on."""
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "myoquat": version_of("myoquat"),
        "fingerprints": json.dumps([_code_of(code)]),
        "machine": json.dumps(machine()),
        "study": json.dumps(contents.description),
    }


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
    stored = _check_results(Path(path))
    try:
        _tell_unknown(path, json.loads(stored["study"]).get("summaries", ()))
        files = CheckedStore(path)
        found = xr.open_zarr(files, chunks=None, consolidated=False, zarr_format=3)
        _check_chunks(found)
        files.checked = frozenset(str(name) for name, array in found.variables.items() if _of_samples(array))
        return in_order(found)
    except DAMAGE:
        raise StoreError(f"{path}: the description of an array, or a label, is damaged") from None


def _check_chunks(found: xr.Dataset) -> None:
    """ValueError unless all arrays of samples have blocks of one size, and the types and encodings that are written.

    Otherwise Zarr would detect a damaged description only when the numbers are read.
    """
    sampled = [array for array in found.variables.values() if _of_samples(array)]
    layouts = [(array.encoding.get("chunks") or (0,), array.shape) for array in sampled]
    whole = all(chunks[1:] == tuple(max(size, 1) for size in shape[1:]) for chunks, shape in layouts)
    if not whole or len({chunks[0] for chunks, _ in layouts}) > 1 or any(chunks[0] < 1 for chunks, _ in layouts):
        raise ValueError("the blocks of the arrays differ")
    types = {np.dtype(array.encoding.get("dtype", array.dtype)) for array in sampled}
    if not types <= {np.dtype(np.float64), np.dtype(np.int8)}:
        raise ValueError(f"arrays of samples hold {', '.join(sorted(map(str, types)))}")
    if any([array.encoding.get(key) for key in _ENCODED] != list(_ENCODED.values()) for array in sampled):
        raise ValueError("the codecs of an array of samples are not those that are written")


def _of_samples(array: xr.Variable) -> bool:
    return array.dims[:1] == ("sample",)


def stored_description(path: str | Path) -> dict[str, Any]:
    """The study whose results a store holds, as `description` gave it."""
    found: dict[str, Any] = json.loads(_check_results(Path(path))["study"])
    if "formulas" in found:
        raise StoreError(
            f"{path} holds solutions of a ProblemStudy, whose `run` with resume=True checks and reads them"
        )
    return found


def in_order(found: xr.Dataset) -> xr.Dataset:
    """The Dataset with its variables in the order in which studies keep them, and labels and units as coordinates of
    text."""
    labels = {
        name: (array.dims, array.values.astype(object))
        for name, array in found.variables.items()
        if array.dtype.kind in "OTU"
    }
    summaries = json.loads(found.attrs["study"]).get("summaries", ())
    first = ("values", "status", "stopped_at", "q_final", "u_final", "q", "u", "unsolved")
    known = (*first, *summaries, "fingerprint")
    others = sorted(set(map(str, found.data_vars)) - {*known, *labels})
    return found.assign_coords(labels)[[name for name in (*known, *others) if name in found]]


def _tell_unknown(path: str | Path, summaries: Iterable[str]) -> None:
    """A UserWarning that names summaries that are not registered in this process."""
    unknown = [name for name in summaries if name not in SUMMARIES]
    if unknown:
        warnings.warn(
            f"{path}: {', '.join(map(repr, unknown))} {'is' if len(unknown) == 1 else 'are'} no summary that this "
            "process knows; the numbers are there, but resuming needs `summaries.register` first",
            stacklevel=3,
        )


def _check_results(path: Path) -> dict[str, Any]:
    """The attributes of the store at a path."""
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
    types = {"myoquat": str, "machine": dict, "study": dict, "fingerprints": list}
    for key in types:
        if not isinstance(found.get(key), str):
            raise StoreError(f"{path}: the attribute {key!r} of the results is missing")
        if key != "myoquat" and not isinstance(_decoded(found[key]), types[key]):
            raise StoreError(f"{path}: the attribute {key!r} of the results is damaged")
    return found


def _decoded(text: str) -> Any:
    """What a text of JSON holds; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class Results(ABC):
    """The results of one study, filled block by block."""

    contents: Contents
    block: int  # samples in each

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

    @abstractmethod
    def write(self, block: int, arrays: dict[str, Array]) -> None:
        """Put a block in its place."""

    @abstractmethod
    def dataset(self) -> xr.Dataset:
        """What is there."""

    def close(self) -> None:
        """End the writing: what was written is safe when this returns."""
        return


class Store(Results):
    """A store of the results of one study; `Store.open` makes or resumes it for writing, alone."""

    def __init__(self, contents: Contents, path: Path, lock: Lock | None = None) -> None:
        self.contents, self.path, self.lock = contents, path, lock
        self.variables = sorted(contents.variables, key=lambda v: v.name == "status")  # the last makes a block count
        self.arrays = _opened(path, self.variables, contents.sizes)
        self.block = int(self.arrays["status"].chunks[0])
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
        resume: bool = False,
        any_code: bool = False,
    ) -> "Store":
        """The store at a path, locked for writing: a new one, or to `resume` the one that is there; see `resume`.

        Raises LockedError while another process is writing, FileExistsError if something is there that is not to be
        resumed, OSError where nothing can be written.
        """
        path = Path(path)
        if not path.parent.is_dir():
            raise NotADirectoryError(f"{path.parent} is not a directory")
        lock = Lock.of(path)
        try:
            if not path.exists():
                return cls._create(contents, code, path, block, lock)
            if resume:
                return cls._resume(contents, code, path, lock, any_code)
            raise FileExistsError(f"{path} exists; --resume (resume=True) goes on with it if it is this study's")
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _create(cls, contents: Contents, code: Mapping[str, str], path: Path, block: int, lock: Lock) -> "Store":
        """A new, empty store: laid out beside its place, brought to the disk and renamed."""
        begun = path.with_name(f".{path.name}.begun")
        shutil.rmtree(begun, ignore_errors=True)  # what a process that died has left
        begun.mkdir()
        try:
            _lay_out(contents, code, begun, block)
            flush_tree(begun)
            begun.rename(path)
            flush(path.parent)
        except BaseException:
            shutil.rmtree(begun, ignore_errors=True)
            raise
        return cls(contents, path, lock)

    @classmethod
    def _resume(cls, contents: Contents, code: Mapping[str, str], path: Path, lock: Lock, any_code: bool) -> "Store":
        """The store at a path, to continue it. StoreError names the differences if it is of another study, other code
        (unless that is allowed), or another processor.
        """
        found = _check_results(path)
        check_links(path)
        _check_study(found, contents, path)
        if not any_code:
            _check_code(found, code, path)
        if json.loads(found["machine"]) != machine():
            raise StoreError(
                f"{path} was begun on {found['machine']}; this machine is {json.dumps(machine())}, which may compute "
                "other bits. MYOQUAT_CPU (such as x86-64-v3) on both makes them equal"
            )
        store = cls(contents, path, lock)
        store._sweep()
        store._mend_labels()
        store._sign(_code_of(code), json.loads(found["fingerprints"]))
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

    def write(self, block: int, arrays: dict[str, Array]) -> None:
        """Put a block in its place. Raises OSError, with the store as it was, if that cannot be, and StoreError if the
        store is no longer there."""
        begin, end = self.span(block)
        self._check_there(block)
        signed = arrays | {"fingerprint": np.full(end - begin, self.fingerprint, dtype=np.int8)}
        for variable in self.variables:
            self.arrays[variable.name][begin:end] = signed[variable.name]
        self._check_there(block)
        for variable in self.variables:
            self.flusher.add(self._chunk(variable.name, block), self.path / variable.name / "c")

    def read(self, block: int) -> dict[str, Array]:
        """What is stored of a block."""
        begin, end = self.span(block)
        return {variable.name: np.asarray(self.arrays[variable.name][begin:end]) for variable in self.variables}

    def dataset(self) -> xr.Dataset:
        """What is there."""
        return open_results(self.path)

    # ---- what is there ---------------------------------------------------------------------------------------

    @cached_property
    def _faults(self) -> list[str | None]:
        """For each block None if all of it is as it was written, "" if it is not there, else what is wrong."""
        return [self._fault(block) if self._chunk("status", block).exists() else "" for block in range(self.blocks)]

    def _fault(self, block: int) -> str | None:
        for variable in self.variables:
            size, wanted = self._size(variable, block), self._wanted(variable)
            if size < 0:
                return f"{variable.name} is missing"
            if size != wanted:
                return f"{variable.name} has {size} of {wanted} bytes"
            begin, end = self.span(block)
            try:
                self.arrays[variable.name][begin:end]  # decoded, and so compared with its checksum
            except (ValueError, OSError) as error:
                return f"{variable.name} cannot be read: {error}"
        return None

    def label_faults(self) -> list[str]:
        """Names of the labels and units that are not those of the study."""
        group = group_at(CheckedStore(self.path), "r")
        return [name for name, (_, values) in self.contents.labels.items() if not _holds(group, name, values)]

    def _mend_labels(self) -> None:
        group = group_at(self.path, "r+")
        for name in self.label_faults():
            _add_labels(group, name, *self.contents.labels[name])

    def _chunk(self, name: str, block: int) -> Path:
        array = self.arrays[name]
        return self.path / name / "c" / "/".join([str(block), *["0"] * (array.ndim - 1)])

    def _size(self, variable: Variable, block: int) -> int:
        path = self._chunk(variable.name, block)
        return path.stat().st_size if path.exists() else -1

    def _wanted(self, variable: Variable) -> int:
        array = self.arrays[variable.name]
        return int(np.prod(array.chunks)) * np.dtype(variable.dtype).itemsize + CHECKSUM_BYTES

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

    def _sign(self, own: dict[str, Any], known: list[dict[str, Any]]) -> None:
        """Find the code that runs among those of the store, or add it to them."""
        if own not in known:
            known = [*known, own]
            group = group_at(self.path, "r+")
            group.update_attributes({"fingerprints": json.dumps(known)})
            consolidate(self.path)
            flush(self.path / "zarr.json")
            self._identity = self._found_identity()
        self.fingerprint = known.index(own) + 1

    def _sweep(self) -> None:
        """Remove what writers that died have left half done."""
        for path in self._partial():
            path.unlink(missing_ok=True)

    def _partial(self) -> Iterator[Path]:
        for folder, _, files in os.walk(self.path):
            yield from (Path(folder) / name for name in files if name.endswith(".partial"))


def check_store(contents: Contents, path: Path) -> None:
    """FileNotFoundError, or StoreError if the store at a path does not hold results of the study."""
    _check_study(_check_results(path), contents, path)


def _check_study(found: Mapping[str, Any], contents: Contents, path: Path) -> None:
    changed = differences(entry_of(found, "study", path), contents.description)
    if changed:
        raise StoreError(f"{path} holds the results of another study; what differs: {'; '.join(changed)}")


def _code_of(code: Mapping[str, str]) -> dict[str, Any]:
    """The code that computes a study: this package's, and the programs of users' `code`."""
    return {**fingerprint(), **({"user_code": dict(code)} if code else {})}


def _check_code(found: Mapping[str, Any], code: Mapping[str, str], path: Path) -> None:
    """StoreError if other code than this has computed any block, or may have."""
    if found.get("myoquat") != version_of("myoquat"):
        raise StoreError(
            f"{path} was begun with myoquat {found.get('myoquat')}; this is {version_of('myoquat')}, which may compute "
            "other bits. " + _ANY_CODE
        )
    own = _code_of(code)
    fingerprints = entry_of(found, "fingerprints", path)
    for known in fingerprints if isinstance(fingerprints, list) else [fingerprints]:
        changed = differences(known, own)
        if changed:
            raise StoreError(
                f"{path} holds results of other code, which may compute other bits; what differs: "
                f"{'; '.join(changed)}. {_ANY_CODE}"
            )


def _opened(path: Path, wanted: list[Variable], lengths: Mapping[str, int]) -> dict[str, Any]:
    """The arrays of a store, open for writing. StoreError if one is not there or not as it was laid out."""
    try:
        group = group_at(path, "r+")
        arrays = {v.name: group[v.name].with_config(_EVERY_CHUNK) for v in wanted}
    except DAMAGE as error:
        raise StoreError(f"{path}: an array of the results is missing or its description damaged: {error}") from None
    for v in wanted:
        array = arrays[v.name]
        shape = tuple(lengths[dim] for dim in v.dims)
        chunks = (arrays["status"].chunks[0], *(max(n, 1) for n in shape[1:]))
        if (array.shape, array.dtype, array.chunks) != (shape, np.dtype(v.dtype), chunks):
            raise StoreError(f"{path}: the description of the array {v.name!r} is damaged")
    return arrays


def _lay_out(contents: Contents, code: Mapping[str, str], path: Path, block: int) -> None:
    """An empty store of the study's arrays."""
    group = zarr.create_group(path, zarr_format=3, attributes=attributes(contents, code))
    lengths = contents.sizes
    for v in contents.variables:
        shape = tuple(lengths[dim] for dim in v.dims)
        group.create_array(
            v.name,
            shape=shape,
            dtype=v.dtype,
            chunks=(block, *(max(n, 1) for n in shape[1:])),
            compressors=_ENCODED["compressors"],
            fill_value=v.fill,
            dimension_names=v.dims,
            attributes={"units": v.unit, "description": v.description},
        )
    for name, (dims, values) in contents.labels.items():
        _add_labels(group, name, dims, values)
    consolidate(path)


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


def _holds(group: Any, name: str, values: Array) -> bool:
    """Whether a group has these labels."""
    try:
        return np.array_equal(np.asarray(group[name][:], dtype=values.dtype), values)
    except Exception:  # damaged text and descriptions end in errors of many libraries
        return False
