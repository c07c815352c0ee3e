"""Motions as OpenSim's tools read them."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from myoquat.analysis.motion.inverse_kinematics import MotionWarning
from myoquat.core.lazy_imports import scipy
from myoquat.core.typing import Array
from myoquat.data.motions import Forces, Motion, load_forces, load_motion, load_table
from myoquat.data.motions.angles import with_quaternions
from myoquat.data.motions.coordinates import bare_name, states_from_motion
from myoquat.data.motions.series import row_at, rows_within
from myoquat.data.osim.force_set import read_force_set
from myoquat.joints.errors import ModelError, in_file
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.actuators.base import Actuator
from myoquat.muscle.model import Model

__all__ = [
    "actuators_of",
    "cut_motion",
    "degree_scale",
    "loaded_motion",
    "loads_at",
    "tell_missing_times",
    "warn_of_missing_times",
    "with_speeds",
]


def loaded_motion(path: Path, model: Model, in_degrees: bool) -> Motion:
    """The motion in a file. Coordinates that it lacks keep their start, as in OpenSim.

    Columns of other models and of muscles are ignored. in_degrees: the unit of angles where the file does not name it.
    """
    table = load_table(path)
    own = {*model.system.coordinate_names, *model.system.angle_names}
    own |= {f"{name}_u" for name in own} | {*model.system.velocity_names}
    names = [str(label) for label in table.columns]
    ignore = [name for name in names if bare_name(name, own) not in own]
    if len(ignore) == len(names):
        raise ModelError("no column is a coordinate of the model", file=path)
    said = table.attrs.get("in_degrees")
    return load_motion(path, model, in_degrees=in_degrees if said is None else None, start=model.start, ignore=ignore)


def with_speeds(motion: Motion, path: Path) -> Motion:
    """The motion with the speeds of a file, by linear interpolation between its rows, as in OpenSim's AnalyzeTool.
    Speeds are in radians and metres per second; a file that declares degrees raises an error."""
    given = load_table(path)
    table = motion.angles()
    given.columns = [bare_name(str(label), {*table}) for label in given.columns]
    speeds = [name for name in table if name.endswith("_u")]
    missing = [name for name in speeds if name not in given]
    if missing:
        raise ModelError(f"the file of speeds has no column {', '.join(missing)}", file=path)
    if given.attrs.get("in_degrees"):
        raise ModelError("speeds must be in radians per second: inDegrees=no", file=path)
    time, rows = motion.time, given.index.to_numpy(dtype=float)
    if not len(rows) or not rows_within(time[[0, -1]], rows[0], rows[-1]).all():
        raise ModelError(f"speeds are needed from {time[0]:g} to {time[-1]:g} s", file=path)
    for name in speeds:
        table[name] = np.interp(time, rows, given[name])
    frame, _ = with_quaternions(motion.system, table, False, None)
    q, u = states_from_motion(motion.system, frame, in_degrees=False)
    return replace(motion, q=q, u=u)


def loads_at(path: Path | None, time: Array) -> Forces | None:
    """The external loads at these times, on natural cubic splines through the rows of their file, as OpenSim's
    ExternalForce has them; None for no file. ModelError for times that they do not cover."""
    if path is None:
        return None
    loads = load_forces(path)
    try:
        found = loads.resampled(time)
    except ValueError as error:
        raise in_file(error, path) from None
    if len(loads.time) < 3 or not len(time):
        return found
    fields = ("force", "point", "torque")
    splines = {
        field: scipy.interpolate.CubicSpline(loads.time, getattr(loads, field), bc_type="natural")(time)
        for field in fields
    }
    return replace(found, **splines)


def degree_scale(system: ArticulatedSystem) -> Array:
    """(nq,) what takes coordinates from radians to degrees, and leaves lengths alone."""
    units = [unit for body in system.bodies for unit in body.joint.facts.coordinate_units]
    scale: Array = np.where(np.array(units) == "rad", 180 / np.pi, 1.0)
    return scale


def cut_motion(motion: Motion, times: tuple[float, float], setup: Path) -> tuple[slice, Motion]:
    """The rows between two times, and their motion; ModelError if the motion has none of these times."""
    row, (first, last), (start, end) = _longest_step(motion.time), times, motion.time[[0, -1]]
    if first > end + row or last < start - row:
        raise ModelError(f"{_asked(motion.time, times, setup)}: no frame lies there")
    rows = rows_between(motion.time, *times)
    u, udot = (None if x is None else x[rows] for x in (motion.u, motion.udot))
    return rows, Motion(motion.system, motion.time[rows], motion.q[rows], u, udot)


def warn_of_missing_times(time: Array, times: tuple[float, float], setup: Path) -> None:
    """A warning where the recorded times end more than one row inside the wanted ones.

    OpenSim's InverseDynamicsTool writes rows there that stem from the padding of its filter.
    """
    if _missing(time, times):
        warnings.warn(f"{_asked(time, times, setup)}: the rest is left out", MotionWarning, stacklevel=2)


def tell_missing_times(time: Array, times: tuple[float, float], tell: Callable[[str], None]) -> None:
    """Tell which of the wanted times are not among those of the results, by more than one row."""
    if missing := _missing(time, times):
        tell(f"left out: {' and '.join(missing)}, which the setup asks for and the recording lacks")


def _missing(time: Array, times: tuple[float, float]) -> list[str]:
    """The wanted times before and after the recorded ones, by more than one row."""
    row, (first, last), (start, end) = _longest_step(time), times, time[[0, -1]]
    before = [f"{first:g} to {start:g} s"] if np.isfinite(first) and first < start - row else []
    after = [f"{end:g} to {last:g} s"] if np.isfinite(last) and last > end + row else []
    return before + after


def _longest_step(time: Array) -> float:
    return float(np.diff(time).max(initial=0.0))


def _asked(time: Array, times: tuple[float, float], setup: Path) -> str:
    (first, last), (start, end) = times, time[[0, -1]]
    return f"{setup}: the times {first:g} to {last:g} s are asked for, and the motion has {start:g} to {end:g} s"


def rows_between(time: Array, first: float, last: float) -> slice:
    """Rows of OpenSim's Storage from `first` to `last`: from the last that is not later than each of them."""
    return slice(row_at(time, first), row_at(time, last) + 1)


def actuators_of(model: Model, force_sets: Sequence[Path]) -> dict[str, Actuator]:
    """By name the actuators of a model and of a setup's force sets, which replace those of the same name."""
    own = {actuator.name: actuator for actuator in model.actuators}
    return own | {actuator.name: actuator for path in force_sets for actuator in read_force_set(path)}
