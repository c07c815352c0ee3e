"""Files of trajectories: .npz archives of arrays, the model as text; no pickle.

The text "format" names the format. "myoquat-trajectory-2" stores the outcome of each run as the number of
`myoquat.kernels.Outcome`. "myoquat-trajectory-1" had numbers of its own, one less each (0 ran to the end, 1 not
finite, 2 bound, 3 event, 4 step size too small); they are translated when such a file is read.
"""

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.data.files import write_bytes
from myoquat.data.toml import model_text, parse_model
from myoquat.joints.door import SystemLike, system_of
from myoquat.joints.errors import shortened
from myoquat.kernels import Outcome
from myoquat.kernels.typing import Array
from myoquat.muscle.model import Model
from myoquat.muscle.states import state_names

__all__ = ["FORMAT", "OPTIONAL", "REQUIRED", "read", "write"]

FORMAT = "myoquat-trajectory-2"
FIRST_FORMAT = "myoquat-trajectory-1"
FIRST_OUTCOMES = (Outcome.COMPLETED, Outcome.NOT_FINITE, Outcome.BOUND, Outcome.EVENT, Outcome.STUCK)
REQUIRED = ("time", "q", "u", "stopped", "code")
DAMAGED = (
    ValueError,
    zipfile.BadZipFile,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    OSError,
    zlib.error,
    MemoryError,
)
OPTIONAL = ("activation", "torque", "steps", "muscle_states", "excitation", "parameters")


def write(
    path: str | Path, model: SystemLike, method: str, parameter_names: tuple[str, ...], arrays: Mapping[str, Any]
) -> None:
    """Write a trajectory's arrays, those that are None left out, with its model and how it was computed."""
    with_muscles = isinstance(model, Model)
    system = system_of(model)
    whole = model if isinstance(model, Model) else Model(system, name=system.name or "system")
    found = {name: value for name, value in arrays.items() if value is not None}
    found |= {"parameter_names": np.array(parameter_names)} if parameter_names else {}
    texts: dict[str, Any] = {"model": model_text(whole), "method": method, "format": FORMAT}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, muscles=np.array(with_muscles), **found, **texts)
    write_bytes(path, buffer.getvalue())


def read(path: str | Path) -> dict[str, Any]:
    """The arguments of the Trajectory in a file; ValueError for a file that `write` did not write."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            data: dict[str, Any] = dict(archive)
    except FileNotFoundError:
        raise
    except DAMAGED as error:
        raise ValueError(f"{path}: this is no saved trajectory ({shortened(str(error), 300)})") from None
    form = str(data.get("format"))
    if form not in (FORMAT, FIRST_FORMAT) or not {*REQUIRED, "model", "method", "muscles"} <= set(data):
        raise ValueError(f"{path}: this is no saved trajectory of the format {FORMAT!r} or {FIRST_FORMAT!r}")
    if form == FIRST_FORMAT:
        data["code"] = _translated(path, data["code"])
    model = parse_model(str(data["model"]), Path(path))
    arrays: dict[str, Any] = {name: data.get(name) for name in (*REQUIRED, *OPTIONAL)}
    names = tuple(map(str, np.ravel(data.get("parameter_names", ()))))
    _check_arrays(path, arrays, model, len(names))
    if np.shape(data["muscles"]) or data["muscles"].dtype != bool:
        raise ValueError(f"{path}: muscles must be true or false")
    moved = model if data["muscles"] else model.system
    return {"model": moved, "method": str(data["method"]), "parameter_names": names, **arrays}


def _check_arrays(path: str | Path, arrays: Mapping[str, Any], model: Model, parameters: int) -> None:
    """ValueError for an array of another kind or shape than a trajectory of this model has."""
    q, time = arrays["q"], arrays["time"]
    batch, rows = (q.shape[:-2], q.shape[-2]) if q.ndim > 1 else ((), 0)
    m, ns = len(model.muscles), len(state_names(model))
    last = {"q": model.system.nq, "u": model.system.nu, "activation": m, "torque": model.system.nu}
    last |= {"excitation": m, "muscle_states": ns}
    shapes = {name: (*batch, rows, n) for name, n in last.items()}
    shapes |= {"time": (rows,), "stopped": batch, "code": batch, "parameters": (*batch, parameters)}
    for name, array in arrays.items():
        kinds = "iu" if name in ("code", "steps") else "fiu"
        if array is not None and array.dtype.kind not in kinds:
            raise ValueError(f"{path}: {name} must hold numbers, not {array.dtype}")
        if array is not None and name in shapes and not _fits(array.shape, shapes[name], name in REQUIRED):
            raise ValueError(f"{path}: {name} must have shape {shapes[name]}, not {array.shape}")
    if not rows or not np.isfinite(time).all():
        raise ValueError(f"{path}: the times must be finite, and at least one")
    if not np.isin(arrays["code"], list(Outcome)).all():
        raise ValueError(f"{path}: an outcome is unknown: {np.unique(arrays['code']).tolist()[:10]}")


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...], exactly: bool) -> bool:
    """Whether a shape is the wanted one or, unless exactly, broadcasts to it."""
    if exactly or shape[-1:] != wanted[-1:]:
        return shape == wanted
    return len(shape) <= len(wanted) and all(n in (1, w) for n, w in zip(shape[::-1], wanted[::-1], strict=False))


def _translated(path: str | Path, codes: Array) -> Array:
    """Outcomes from the numbers of the first format."""
    if codes.dtype.kind not in "iu" or ((codes < 0) | (codes >= len(FIRST_OUTCOMES))).any():
        raise ValueError(f"{path}: this is no saved trajectory of the format {FIRST_FORMAT!r}: code {codes}")
    return np.array(FIRST_OUTCOMES)[codes]
