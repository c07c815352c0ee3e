"""Files of trajectories: .npz archives of arrays, the model and the constraints as text; no pickle.

The text "format" is "myoquat-trajectory-3".
"""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.data.files import read_arrays, write_bytes
from myoquat.data.motions import MOTION_FORMATS
from myoquat.data.toml import model_text, parse_model
from myoquat.data.toml.records import read_record, write_fields, written_type
from myoquat.dynamics.constraints import constraints_of
from myoquat.joints import ModelError
from myoquat.joints.constraints.base import Constraint
from myoquat.joints.errors import errors_about, errors_in
from myoquat.joints.evaluation import system_of
from myoquat.kernels import Outcome
from myoquat.muscle import Model, state_names

FORMAT = "myoquat-trajectory-3"
REQUIRED = ("time", "q", "u", "stopped", "code")
SUFFIXES = (".npz", ".mot", ".sto", ".csv", ".bvh")
OPTIONAL = ("activation", "torque", "steps", "muscle_states", "excitation", "parameters", "controls", "actuation")


def write(path: Path, trajectory: Any) -> None:
    """Write a trajectory, arrays that are None left out."""
    model, system = trajectory.model, system_of(trajectory.model)
    whole = model if isinstance(model, Model) else Model(system, name=system.name or "system")
    try:
        own = constraints_of(model)  # which the model's text holds
        constraints = constraints_text([c for c in trajectory.constraints if c not in own])
    except ValueError as error:
        raise ValueError(f"{error}; .sto and .csv files keep the motion's numbers") from None
    found = {name: x for name in (*REQUIRED, *OPTIONAL) if (x := getattr(trajectory, name)) is not None}
    names = trajectory.parameter_names
    found |= {"parameter_names": np.array(names)} if names else {}
    texts = {"model": model_text(whole), "method": trajectory.method, "format": FORMAT, "constraints": constraints}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, muscles=np.array(isinstance(model, Model)), **found, **texts)
    write_bytes(path, buffer.getvalue())


def read(path: str | Path) -> dict[str, Any]:
    """The arguments of the Trajectory in a file; ValueError for a file that `write` did not write."""
    if Path(path).suffix.lower() in MOTION_FORMATS:
        raise ValueError(
            f"{path}: only .npz files hold a whole trajectory. `myoquat.data.motions.load_table` reads this one. "
            "`states_from_motion` finds q and u in a .mot or .sto file"
        )
    data = read_arrays(Path(path), "saved trajectory")
    if str(data.get("format")) != FORMAT or not {*REQUIRED, "model", "method", "muscles", "constraints"} <= set(data):
        raise ValueError(f"{path}: this is no saved trajectory of the format {FORMAT!r}")
    model = parse_model(str(data["model"]), Path(path))
    arrays: dict[str, Any] = {name: data.get(name) for name in (*REQUIRED, *OPTIONAL)}
    names = tuple(map(str, np.ravel(data.get("parameter_names", ()))))
    _check_arrays(path, arrays, model, len(names))
    if np.shape(data["muscles"]) or data["muscles"].dtype != bool:
        raise ValueError(f"{path}: muscles must be true or false")
    moved = model if data["muscles"] else model.system
    constraints = constraints_of(moved, parse_constraints(str(data["constraints"]), Path(path)))
    texts = {"method": str(data["method"]), "parameter_names": names}
    return {"model": moved, "constraints": constraints, **texts, **arrays}


def _check_arrays(path: str | Path, arrays: Mapping[str, Any], model: Model, parameters: int) -> None:
    """ValueError for an array of another type or shape than a trajectory of this model has."""
    q, time = arrays["q"], arrays["time"]
    batch, rows = (q.shape[:-2], q.shape[-2]) if q.ndim > 1 else ((), 0)
    m, ns = len(model.muscles), len(state_names(model))
    last = {"q": model.system.nq, "u": model.system.nu, "activation": m, "torque": model.system.nu}
    last |= {"excitation": m, "muscle_states": ns, "controls": len(model.control_names)}
    last |= {"actuation": len(model.control_names)}
    shapes = {name: (*batch, rows, n) for name, n in last.items()}
    shapes |= {"time": (rows,), "stopped": batch, "code": batch, "parameters": (*batch, parameters)}
    for name, array in arrays.items():
        allowed = "iu" if name in ("code", "steps") else "fiu"
        if array is not None and array.dtype.kind not in allowed:
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


# --------------------------------------------------------------------------------------------------------------
#
# Constraints as text: JSON of the records' fields, by the rules of model files (`myoquat.data.toml.records`).


def constraints_text(constraints: Sequence[Constraint]) -> str:
    """The constraints as JSON; ValueError, naming the constraint, for one that holds a function or whose type could not
    be read again."""
    tables = []
    for number, constraint in enumerate(constraints, start=1):
        element, own_type = f"constraint {number}", type(constraint)
        for name, value in vars(constraint).items():
            if callable(value):
                raise ValueError(
                    f"{element}, {own_type.__name__}, holds a Python function as its {name!r}, which a file cannot keep"
                )
        with errors_about(element):
            tables.append({"type": written_type(own_type), **write_fields(constraint)})
    return json.dumps(tables)


def parse_constraints(text: str, path: Path) -> tuple[Constraint, ...]:
    """The constraints in a text of `constraints_text`; ModelError for another text or an unknown type."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"the constraints are not valid JSON: {error}", file=path) from None
    if not isinstance(found, list):
        raise ModelError(f"the constraints are a list, not {type(found).__name__}", file=path)
    constraints = []
    with errors_in(path):
        for number, table in enumerate(found, start=1):
            with errors_about(f"constraint {number}"):
                constraints.append(read_record(Constraint, table, ""))  # type: ignore[type-abstract]
    return tuple(constraints)
