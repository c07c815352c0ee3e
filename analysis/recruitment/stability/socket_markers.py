"""The socket of a joint from three markers."""

from typing import NamedTuple, Self

import numpy as np

from myoquat.core.arguments import indices_of
from myoquat.joints.vectors import matvec
from myoquat.muscle.model import Model

__all__ = ["SocketMarkers"]

Vector = tuple[float, float, float]


class SocketMarkers(NamedTuple):
    """A socket from markers at the centre of the head, at the centre of the socket and at its rim.

    direction   (3,) [m] the line from head to socket, in the axes of the joint's parent
    axis        (3,) [m] from the socket's centre to its rim, in the same axes
    distance    [m] from head to socket
    half_angle  [rad] between the line and the rim, seen from the head

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import SocketMarkers
    >>> from myoquat.muscle.coordinates import Marker
    >>> arm = mq.Body("arm", "ground", mq.joints.SphericalJoint())
    >>> points = {"head": (0.0, 0.0, 0.0), "centre": (0.0, 0.0, 0.03), "rim": (0.04, 0.0, 0.03)}
    >>> markers = tuple(Marker(name, "ground", at) for name, at in points.items())
    >>> socket = SocketMarkers.of(mq.Model(mq.ArticulatedSystem((arm,)), markers=markers), "arm", *points)
    >>> socket.direction, socket.axis
    ((0.0, 0.0, 0.03), (0.04, 0.0, 0.0))
    """

    direction: Vector
    axis: Vector
    distance: float
    half_angle: float

    @classmethod
    def of(cls, model: Model, joint: str, head: str, centre: str, rim: str) -> Self:
        """From markers by their names, in the model's start pose; ValueError for one that does not exist."""
        system = model.system
        parent = system.bodies[system.indices.body(joint)].parent
        poses = system.poses(model.start)
        R, _ = poses[parent]
        names = [marker.name for marker in model.markers]
        markers = [model.markers[k] for k in indices_of("marker", [head, centre, rim], names)]
        world = [poses[m.body][1] + matvec(poses[m.body][0], np.array(m.position)) for m in markers]
        into, edge = world[1] - world[0], world[2] - world[0]
        distance = float(np.linalg.norm(into))
        half_angle = float(np.arccos(into @ edge / np.linalg.norm(into) / np.linalg.norm(edge)))
        return cls(_vector(R.T @ into), _vector(R.T @ (world[2] - world[1])), distance, half_angle)


def _vector(x: np.ndarray) -> Vector:
    return float(x[0]), float(x[1]), float(x[2])
