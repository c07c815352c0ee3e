"""External loads on the bodies of a model, as numbers of every point, and as forces of the model."""

from dataclasses import replace

import numpy as np

from myoquat.core.typing import Array
from myoquat.data.motions import Forces
from myoquat.joints.functions import AxisFunction, Constant, PiecewiseLinear
from myoquat.joints.functions.pieces import chosen
from myoquat.joints.stacking import vector
from myoquat.joints.validation import SystemLike, system_of
from myoquat.muscle.forces import PrescribedForce
from myoquat.muscle.model import Model

__all__ = ["load_numbers_at", "with_loads"]


def load_numbers_at(loads: Forces, t: Array) -> Array:
    """(..., 9 n) `Forces.numbers` at times t (...) [s], numbers or symbols, by straight lines between the rows: the
    formula."""
    rows = loads.numbers
    slopes = np.diff(rows, axis=0) / np.diff(loads.time)[:, None]
    start, *entries = chosen(t, loads.time[:-1], loads.time[:-1], *rows[:-1].T, *slopes.T)
    n = rows.shape[1]
    return vector([entries[k] + entries[n + k] * (t - start) for k in range(n)])


def with_loads(model: SystemLike, loads: Forces | None) -> Model:
    """The model with the loads as forces of its own, which act at the pose and the time of each evaluation."""
    whole = model if isinstance(model, Model) else Model(system_of(model))
    if loads is None:
        return whole
    ground, found = whole.system.ground, []
    for k, name in enumerate(loads.names):
        force, point, torque = (_functions(loads.time, rows[:, k]) for rows in (loads.force, loads.point, loads.torque))
        frame, point_frame = loads.force_frames[k], loads.point_frames[k]
        found.append(
            PrescribedForce(
                f"load {name}", loads.bodies[k], force, point, torque, point_in_world=point_frame == ground,
                force_frame=None if frame == ground else frame,
                point_frame=None if point_frame == ground else point_frame,
            )
        )  # fmt: skip
    return replace(whole, forces=(*whole.forces, *found))


def _functions(time: Array, rows: Array) -> tuple[AxisFunction, AxisFunction, AxisFunction]:
    """Straight lines through the rows (t, 3), a function for each axis."""

    def function(values: Array) -> AxisFunction:
        if (values == values[0]).all():
            return Constant(float(values[0]))
        return PiecewiseLinear(tuple(time.tolist()), tuple(values.tolist()))

    x, y, z = (function(column) for column in rows.T)
    return x, y, z
