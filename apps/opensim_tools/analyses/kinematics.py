"""Kinematics, BodyKinematics and PointKinematics: coordinates, centres of mass and points, their velocities and
accelerations, as OpenSim 4 records them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from myoquat.apps.opensim_tools.analyses.moving import Moving, note
from myoquat.apps.opensim_tools.moved import degree_scale
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.core.arguments import indices_of
from myoquat.core.typing import Array
from myoquat.data.setups.analyses import BodyKinematicsSetup, KinematicsSetup, PointKinematicsSetup
from myoquat.joints.errors import ModelError
from myoquat.joints.euler import euler_from_quaternion
from myoquat.joints.kinematics import frame_acceleration, frame_velocity, point_position
from myoquat.joints.quaternion import quaternion_from_matrix
from myoquat.joints.vectors import vecmat

__all__ = ["body_kinematics", "kinematics", "point_kinematics"]

WHOLE = "center_of_mass"
PARTS = ("X", "Y", "Z", "Ox", "Oy", "Oz")
DEGREE = np.pi / 180


def kinematics(moving: Moving, setup: KinematicsSetup, outputs: Outputs) -> None:
    """Note the files of coordinates, speeds and accelerations."""
    system, motion, rows = moving.model.system, moving.motion, moving.rows(setup.interval)
    if system.nq != system.nu:
        raise ModelError(
            "Kinematics writes rates of the file's own angles; take rotations='file'", file=moving.setup.path
        )
    names = system.coordinate_names
    chosen = indices_of("coordinate", names if setup.coordinates == ("all",) else setup.coordinates, names)
    scale = degree_scale(system) if setup.in_degrees else np.ones(system.nq)
    parts = (("q", "Coordinates", motion.q), ("u", "Speeds", motion.u), ("dudt", "Accelerations", moving.accelerations))
    for ending, title, values in parts:
        path = moving.file(setup.name, ending)
        if isinstance(values, str):
            note(f"{path.name} is left out: {values}")
            continue
        assert values is not None
        table = _table(moving, rows, [names[k] for k in chosen], (values * scale)[:, chosen])
        outputs.table(path, table, title, setup.in_degrees)


def body_kinematics(moving: Moving, setup: BodyKinematicsSetup, outputs: Outputs) -> None:
    """Note the files of positions, velocities and accelerations of the bodies' centres of mass."""
    system, rows = moving.model.system, moving.rows(setup.interval)
    known = [body.name for body in system.bodies if body.name != f"{body.joint_name}_frame"]
    names = [*known, WHOLE] if setup.bodies == ("all",) else list(setup.bodies)
    indices_of("body", names, [*known, WHOLE])
    where = "bodyLocal" if setup.local else "global"
    masses = np.array([body.mass for body in system.bodies])
    for order, (ending, title) in enumerate((("pos", "Positions"), ("vel", "Velocities"), ("acc", "Accelerations"))):
        path = moving.file(setup.name, f"{ending}_{'global' if order == 0 else where}")
        if order == 2 and isinstance(moving.accelerations, str):
            note(f"{path.name} is left out: {moving.accelerations}")
            continue
        needed = range(len(masses)) if WHOLE in names else [i for i, b in enumerate(system.bodies) if b.name in names]
        found = {system.bodies[i].name: _of_body(moving, rows, i, order, setup.local) for i in needed}
        columns, labels = [], []
        for name in names:
            if name == WHOLE:
                columns.append(_of_whole(moving, rows, order))
                labels += [f"{name}_{part}" for part in PARTS[:3]]
            else:
                turned = found[name] * np.repeat([1.0, 1 / DEGREE if setup.in_degrees else 1.0], 3)
                columns.append(turned)
                labels += [f"{name}_{part}" for part in PARTS]
        outputs.table(path, _table(moving, rows, labels, np.concatenate(columns, axis=-1), cut=False), title,
                      setup.in_degrees)  # fmt: skip


def point_kinematics(moving: Moving, setup: PointKinematicsSetup, outputs: Outputs) -> None:
    """Note the files of a point's position relative to another body, and of its velocity and acceleration in the
    ground. All are in the axes of that body."""
    system, motion, rows = moving.model.system, moving.motion, moving.rows(setup.interval)
    known = (system.ground, *system.body_names)
    indices_of("body", [setup.body, setup.relative_to], known)
    R, p = (np.asarray(x) for x in system.poses(motion.q[rows])[setup.relative_to])
    for order, (ending, title) in enumerate((("pos", "PointPosition"), ("vel", "PointVelocity"),
                                             ("acc", "PointAcceleration"))):  # fmt: skip
        path = moving.file(setup.name, f"{setup.point_name}_{ending}")
        if order == 2 and isinstance(moving.accelerations, str):
            note(f"{path.name} is left out: {moving.accelerations}")
            continue
        x = _of_point(moving, rows, setup.body, setup.point, order)[..., :3]
        seen = vecmat(x - p if order == 0 else x, R)
        outputs.table(path, _table(moving, rows, ["state_0", "state_1", "state_2"], seen, cut=False), title, False)


# ---- parts -------------------------------------------------------------------------------------------------


def _table(moving: Moving, rows: Array, labels: Sequence[str], values: Array, cut: bool = True) -> pd.DataFrame:
    index = pd.Index(moving.motion.time[rows], name="time")
    values = values[rows] if cut else np.broadcast_to(values, (len(rows), values.shape[-1]))
    return pd.DataFrame(values, index, pd.Index(list(labels)))


def _of_point(moving: Moving, rows: Array, body: str, point: Sequence[float], order: int) -> Array:
    """(k, 3) the position of a point in the ground, or (k, 6) its velocity or acceleration with those of the turn."""
    system, q = moving.model.system, moving.motion.q[rows]
    if body == system.ground:
        return np.broadcast_to(np.array([*point, 0, 0, 0]) if order == 0 else np.zeros(6), (len(rows), 6))
    if order == 0:
        return point_position(system, q, body, point, backend="numpy")
    assert moving.motion.u is not None
    u = moving.motion.u[rows]
    if order == 1:
        return frame_velocity(system, q, u, body, point, backend="numpy")
    assert not isinstance(moving.accelerations, str)
    return frame_acceleration(system, q, u, moving.accelerations[rows], body, point, backend="numpy")


def _of_body(moving: Moving, rows: Array, i: int, order: int, local: bool) -> Array:
    """(k, 6) of the centre of mass; the turn as angles about the body's X, Y, Z [rad], or as vector."""
    system = moving.model.system
    body = system.bodies[i]
    x = _of_point(moving, rows, body.name, body.center_of_mass, order)
    R = np.broadcast_to(system.poses(moving.motion.q[rows])[body.name][0], (len(rows), 3, 3))
    if order == 0:
        return np.concatenate([x[..., :3], euler_from_quaternion(quaternion_from_matrix(R), "XYZ")], axis=-1)
    return np.concatenate([vecmat(x[..., :3], R), vecmat(x[..., 3:], R)], axis=-1) if local else x


def _of_whole(moving: Moving, rows: Array, order: int) -> Array:
    """(k, 3) of the centre of mass of all bodies, in the ground."""
    bodies = [body for body in moving.model.system.bodies if body.mass]
    total = sum(body.mass * _of_point(moving, rows, body.name, body.center_of_mass, order)[..., :3] for body in bodies)
    result: Array = np.asarray(total) / sum(body.mass for body in bodies)
    return result
