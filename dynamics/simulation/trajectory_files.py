"""Files of trajectories: .npz archives of arrays, the model as text; no pickle.

The text "format" names the format. "myoquat-trajectory-2" stores the outcome of each run as the number of
`myoquat.kernels.Outcome`. "myoquat-trajectory-1" had numbers of its own, one less each (0 ran to the end, 1 not
finite, 2 bound, 3 event, 4 step size too small); they are translated when such a file is read.
"""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.data.files import write_bytes
from myoquat.data.toml import model_text, parse_model
from myoquat.joints.door import SystemLike, system_of
from myoquat.kernels import Outcome
from myoquat.kernels.typing import Array
from myoquat.muscle.model import Model

__all__ = ["FORMAT", "OPTIONAL", "REQUIRED", "read", "write"]

FORMAT = "myoquat-trajectory-2"
FIRST_FORMAT = "myoquat-trajectory-1"
FIRST_OUTCOMES = (Outcome.COMPLETED, Outcome.NOT_FINITE, Outcome.BOUND, Outcome.EVENT, Outcome.STUCK)
REQUIRED = ("time", "q", "u", "stopped", "code")
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
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{path}: this is no saved trajectory ({error})") from None
    form = str(data.get("format"))
    if form not in (FORMAT, FIRST_FORMAT) or not set(REQUIRED) <= set(data):
        raise ValueError(f"{path}: this is no saved trajectory of the format {FORMAT!r} or {FIRST_FORMAT!r}")
    if form == FIRST_FORMAT:
        data["code"] = _translated(path, data["code"])
    model = parse_model(str(data["model"]), Path(path))
    arrays: dict[str, Any] = {name: data.get(name) for name in (*REQUIRED, *OPTIONAL)}
    names = tuple(map(str, data.get("parameter_names", ())))
    moved = model if data["muscles"] else model.system
    return {"model": moved, "method": str(data["method"]), "parameter_names": names, **arrays}


def _translated(path: str | Path, codes: Array) -> Array:
    """Outcomes from the numbers of the first format."""
    if codes.dtype.kind not in "iu" or ((codes < 0) | (codes >= len(FIRST_OUTCOMES))).any():
        raise ValueError(f"{path}: this is no saved trajectory of the format {FIRST_FORMAT!r}: code {codes}")
    return np.array(FIRST_OUTCOMES)[codes]
