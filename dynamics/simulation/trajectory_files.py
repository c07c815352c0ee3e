"""Files of trajectories: .npz archives of arrays, the model and the constraints as text; no pickle.

The text "format" names the format. "myoquat-trajectory-3" stores the outcome of each run as the number of
`myoquat.kernels.Outcome`, and the constraints. "myoquat-trajectory-2" had none. "myoquat-trajectory-1" also had numbers
of its own for outcomes, one less each (0 ran to the end, 1 not finite, 2 bound, 3 event, 4 step size too small); they
are translated when such a file is read.
"""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.data.files import check_output, write_bytes
from myoquat.data.motions import MOTION_FORMATS
from myoquat.data.toml import model_text, parse_model
from myoquat.dynamics.constraints.base import Constraint
from myoquat.dynamics.constraints.files import constraints_text, parse_constraints
from myoquat.joints.door import SystemLike, system_of
from myoquat.kernels import Outcome
from myoquat.kernels.typing import Array
from myoquat.muscle.model import Model

__all__ = ["FORMAT", "OPTIONAL", "REQUIRED", "SUFFIXES", "Origin", "check_path", "read", "write"]

FORMAT = "myoquat-trajectory-3"
SECOND_FORMAT = "myoquat-trajectory-2"
FIRST_FORMAT = "myoquat-trajectory-1"
FIRST_OUTCOMES = (Outcome.COMPLETED, Outcome.NOT_FINITE, Outcome.BOUND, Outcome.EVENT, Outcome.STUCK)
REQUIRED = ("time", "q", "u", "stopped", "code")
SUFFIXES = (".npz", ".mot", ".sto", ".csv")
OPTIONAL = ("activation", "torque", "steps", "muscle_states", "excitation", "parameters")


@dataclass(frozen=True)
class Origin:
    """What a trajectory came from, beside its arrays."""

    model: SystemLike
    method: str
    parameter_names: tuple[str, ...]
    constraints: tuple[Constraint, ...]


def check_path(path: str | Path, overwrite: bool) -> Path:
    """The path, if a trajectory may be written there: ValueError for an ending that names no format of trajectories,
    FileExistsError for a file that exists unless `overwrite` is True."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"a trajectory is saved as .npz (whole), .mot, .sto or .csv, not {path.suffix!r}: {path}")
    return check_output(path, overwrite)


def write(path: Path, origin: Origin, arrays: Mapping[str, Any]) -> None:
    """Write a trajectory's arrays, those that are None left out, with what it came from."""
    model, system = origin.model, system_of(origin.model)
    whole = model if isinstance(model, Model) else Model(system, name=system.name or "system")
    try:
        constraints = constraints_text(origin.constraints)
    except ValueError as error:
        raise ValueError(f"{error}; .sto and .csv files keep the motion's numbers") from None
    found = {name: value for name, value in arrays.items() if value is not None}
    found |= {"parameter_names": np.array(origin.parameter_names)} if origin.parameter_names else {}
    texts = {"model": model_text(whole), "method": origin.method, "format": FORMAT, "constraints": constraints}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, muscles=np.array(isinstance(model, Model)), **found, **texts)  # type: ignore[arg-type]
    write_bytes(path, buffer.getvalue())


def read(path: str | Path) -> dict[str, Any]:
    """The arguments of the Trajectory in a file; ValueError for a file that `write` did not write."""
    if Path(path).suffix.lower() in MOTION_FORMATS:
        raise ValueError(
            f"{path}: only .npz files hold a whole trajectory; `myoquat.data.motions.load_table` reads this one, and "
            "`states_from_motion` finds q and u in a .mot or .sto file"
        )
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            data: dict[str, Any] = dict(archive)
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{path}: this is no saved trajectory ({error})") from None
    form = str(data.get("format"))
    if form not in (FORMAT, SECOND_FORMAT, FIRST_FORMAT) or not set(REQUIRED) <= set(data):
        known = f"{FORMAT!r}, {SECOND_FORMAT!r} or {FIRST_FORMAT!r}"
        raise ValueError(f"{path}: this is no saved trajectory of the format {known}")
    if form == FIRST_FORMAT:
        data["code"] = _translated(path, data["code"])
    model = parse_model(str(data["model"]), Path(path))
    arrays: dict[str, Any] = {name: data.get(name) for name in (*REQUIRED, *OPTIONAL)}
    names = tuple(map(str, data.get("parameter_names", ())))
    moved = model if data["muscles"] else model.system
    constraints = parse_constraints(str(data.get("constraints", "[]")), Path(path))
    texts = {"method": str(data["method"]), "parameter_names": names}
    return {"model": moved, "constraints": constraints, **texts, **arrays}


def _translated(path: str | Path, codes: Array) -> Array:
    """Outcomes from the numbers of the first format."""
    if codes.dtype.kind not in "iu" or ((codes < 0) | (codes >= len(FIRST_OUTCOMES))).any():
        raise ValueError(f"{path}: this is no saved trajectory of the format {FIRST_FORMAT!r}: code {codes}")
    return np.array(FIRST_OUTCOMES)[codes]
