"""Where the coordinates that a person names are in a system: in q, in u, or among the angles of a quaternion."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from myoquat.core import Array
from myoquat.data.motions.angles import BallAngles, balls
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.types import Joint
from myoquat.joints.vectors import components, cross, dot, matvec, vector


class Place(NamedTuple):
    """A coordinate task: the indices of its coordinate and velocity, or the joint that it belongs to.

    q           index of the coordinate
    u           index of the velocity
    ball        a ball joint, and which of its angles it is
    floating    a floating joint
    velocities  of the floating joint in u
    axis        of the floating joint, along which the coordinate goes
    """

    q: int = 0
    u: int = 0
    ball: BallAngles | None = None
    floating: Joint | None = None
    velocities: slice = slice(0)
    axis: int = 0


def velocity_of(system: ArticulatedSystem) -> dict[str, int]:
    """The velocity that is the rate of a coordinate, by the coordinate's name; quaternions have none."""
    found: dict[str, int] = {}
    for iq, iu, body in zip(system.q_slices, system.u_slices, system.bodies, strict=True):
        if body.joint.facts.quaternion is None and iq.stop - iq.start == iu.stop - iu.start:
            found.update(zip(system.coordinate_names[iq], range(iu.start, iu.stop), strict=True))
    return found


def task_coordinates(system: ArticulatedSystem) -> dict[str, Place]:
    """Every coordinate that a task can name: all but entries of quaternions, and the named angles in their place."""
    q_of = {name: i for i, name in enumerate(system.coordinate_names)}
    found = {name: Place(q_of[name], u) for name, u in velocity_of(system).items()}
    for iq, iu, body in zip(system.q_slices, system.u_slices, system.bodies, strict=True):
        if body.joint.span == "all":
            names = system.coordinate_names[iq.start : iq.start + 3]
            found |= {n: Place(iq.start + k, floating=body.joint, velocities=iu, axis=k) for k, n in enumerate(names)}
    for ball in balls(system):
        found |= {name: Place(ball=ball, axis=k) for k, name in enumerate(ball.angles.all_names)}
    return found


def coordinate_value(place: Place, q: Sequence[Array]) -> Array:
    """(...) a coordinate, from the entries (...) of q."""
    if place.ball is None:
        return q[place.q]
    angles, s = place.ball.angles, place.ball.quaternion
    return angles.coordinate(angles.values(vector(q[s.start : s.stop])), place.axis)


def driving_velocities(place: Place) -> range:
    """The velocities on which the rate of a coordinate depends."""
    if place.ball is not None:
        return range(place.ball.omega.start, place.ball.omega.stop)
    if place.floating is not None:
        return range(place.velocities.start, place.velocities.stop)
    return range(place.u, place.u + 1)


def coordinate_rates(place: Place, q: Array) -> tuple[Array, ...]:
    """Derivatives (...) of a coordinate along its `driving_velocities` at q (..., nq); zero for an angle in its lock,
    where it has none."""
    if place.ball is not None:
        dependent = None if place.axis < 3 else place.ball.angles.dependents[place.axis - 3]
        row = _angle_row(place.ball, q[..., place.ball.quaternion], dependent.place if dependent else place.axis)
        return components(row * dependent.factor if dependent else row)
    if place.floating is not None:
        N = place.floating.rate_matrix(q[..., place.q - place.axis : place.q - place.axis + 7])
        return components(N[..., place.axis, :])
    return (np.ones(()),)


def frames_in_lock(place: Place, q: Array, sine: float) -> Array:
    """The frames of q (t, nq) in which a coordinate is an angle whose distance from its lock has a lower sine."""
    if place.ball is None:
        return np.zeros(0, dtype=int)
    angles = place.ball.angles
    return np.flatnonzero(angles.lock_sine(angles.values(q[:, place.ball.quaternion])) < sine)


def angle_period(place: Place) -> float:
    """The least shift [rad] of an angle of a quaternion by a full turn."""
    assert place.ball is not None
    angles = place.ball.angles
    if place.axis < 3:
        return float(angles.periods[place.axis])
    dependent = angles.dependents[place.axis - 3]
    return float(abs(dependent.factor) * angles.periods[dependent.place])


def _angle_row(ball: BallAngles, Q: Array, angle: int) -> Array:
    """(..., 3) derivative of a named angle along the angular velocity of its joint; zero in its gimbal lock."""
    B = ball.angles.rate_matrix(ball.angles.values(Q))
    row: Array = cross(B[..., (angle + 1) % 3], B[..., (angle + 2) % 3])
    volume = dot(B[..., angle], row)
    row = row * (np.where(volume == 0, 0.0, 1.0) / np.where(volume == 0, 1.0, volume))[..., None]
    if not ball.in_child:
        row = matvec(rotation_matrix(Q), row)
    return row
