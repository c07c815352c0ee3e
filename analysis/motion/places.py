"""Where the coordinates that a person names are in a system: in q, in u, or among the angles of a quaternion."""

from typing import NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.data.motions.angles import BallAngles, angle_axes, balls
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.types import FloatingJoint
from myoquat.joints.vectors import cross, dot, matvec

__all__ = ["Place", "angle_row", "places_of", "velocity_of"]


class Place(NamedTuple):
    """A coordinate task: where its coordinate and its velocity are; or the ball joint and which of its angles it is; or
    the floating joint, its velocities in u, and along which of its axes it goes."""

    q: int = 0
    u: int = 0
    ball: BallAngles | None = None
    floating: FloatingJoint | None = None
    velocities: slice = slice(0)
    axis: int = 0


def velocity_of(system: ArticulatedSystem) -> dict[str, int]:
    """The velocity that is the rate of a coordinate, by the coordinate's name; quaternions have none."""
    found: dict[str, int] = {}
    for iq, iu, body in zip(system.q_slices, system.u_slices, system.bodies, strict=True):
        if body.joint.facts.quaternion is None and iq.stop - iq.start == iu.stop - iu.start:
            found.update(zip(system.coordinate_names[iq], range(iu.start, iu.stop), strict=True))
    return found


def places_of(system: ArticulatedSystem) -> dict[str, Place]:
    """Every coordinate that a task can name: all but entries of quaternions, and the named angles in their place."""
    q_of = {name: i for i, name in enumerate(system.coordinate_names)}
    found = {name: Place(q_of[name], u) for name, u in velocity_of(system).items()}
    for iq, iu, body in zip(system.q_slices, system.u_slices, system.bodies, strict=True):
        if isinstance(body.joint, FloatingJoint):
            names = system.coordinate_names[iq.start : iq.start + 3]
            found |= {n: Place(iq.start + k, floating=body.joint, velocities=iu, axis=k) for k, n in enumerate(names)}
    for ball in balls(system):
        found |= {name: Place(ball=ball, axis=k) for k, name in enumerate(ball.angles.names)}
    return found


def angle_row(ball: BallAngles, Q: Array, angle: int) -> Array:
    """(..., 3) derivative of a named angle along the angular velocity of its joint; zero in its gimbal lock."""
    B = angle_axes(ball.angles, ball.angles.values(Q))
    row: Array = cross(B[..., (angle + 1) % 3], B[..., (angle + 2) % 3])
    volume = dot(B[..., angle], row)
    row = row * (np.where(volume == 0, 0.0, 1.0) / np.where(volume == 0, 1.0, volume))[..., None]
    if not ball.in_child:
        row = matvec(rotation_matrix(Q), row)
    return row
