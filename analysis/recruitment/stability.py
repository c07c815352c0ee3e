"""When a joint is stable: rules on the direction of the force in it, from the axes of its socket or from markers."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np

from myoquat.core import Array, frozen, indices_of, warn_user
from myoquat.muscle.loads import world_point
from myoquat.muscle.model import Model

LENGTH_ROUNDING = 1e-15  # error of the length of a unit vector
SOCKET_RATIO = 0.5  # stability ratio of the circle, I. M. I. Hasan et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012
SOCKET_RATIOS = (0.34, 0.61)  # of the ellipse, along and across the line to the posterior edge; the same source
PARALLEL_SINE = 1e-6  # sine of the angle below which two directions count as parallel


@frozen
class StabilityRule:
    """A condition on the force f that a joint's child presses on its parent with, in the parent's axes.

    `joint` is named by itself or by the body that it carries; `direction` (3,) points into the socket, and is stored
    at length 1. A rule limits the direction of f by second-order cones and equations. The first entry of T f is at
    least the length of the rest, and E f = 0. Both depend on a parameter where the rule is not convex.

    Raises ValueError for a direction of length zero.

    >>> from myoquat.analysis.recruitment import JointCone, StabilityRule
    >>> rule = JointCone("shoulder", (0.0, 0.0, 2.0), half_angle=0.5)
    >>> isinstance(rule, StabilityRule), rule.direction
    (True, (0.0, 0.0, 1.0))
    """

    joint: str
    direction: tuple[float, float, float]

    equation_count: ClassVar[int] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", _unit_vector(f"rule of {self.joint!r}: direction", self.direction))

    @property
    def frame(self) -> Array:
        """(3, 3) unit vectors in rows, in the parent's axes: the direction n, and two across it, e1 and e2 = n x e1."""
        n = np.array(self.direction)
        across = self._across(n)
        across = across / np.linalg.norm(across)
        return np.stack([n, across, np.cross(n, across)])

    def _across(self, n: Array) -> Array:
        """(3,) along e1."""
        return np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])

    def cones(self, parameter: Array) -> Array:
        """(t, 3, 3) T at parameters (t,)."""
        raise NotImplementedError

    def equations(self, parameter: Array) -> Array:
        """(t, k, 3) E at parameters (t,), k = `equation_count`."""
        return np.zeros((len(parameter), 0, 3))

    def outer(self) -> Array:
        """(3, 3) the T of a convex cone around all that the rule allows: no effort of the rule is less than there."""
        return self.cones(np.zeros(1))[0]

    def edge(self, azimuth: Array) -> Array:
        """(...) [rad] the greatest angle between f and the direction, for f at angles (...) [rad] about it, from e1
        towards e2."""
        raise NotImplementedError

    def margin(self, force: Array) -> Array:
        """(...) [rad] by how much forces (..., 3) are inside: what is left to the edge; negative outside."""
        along, first, second = np.moveaxis(force @ self.frame.T, -1, 0)
        angle = np.arctan2(np.hypot(first, second), along)
        return self.edge(np.arctan2(second, first)) - angle


@frozen
class OrientedRule(StabilityRule):
    """A rule for a socket that is not round. e1 is the part of `axis` (3,), in the parent's axes, across the direction.

    Raises ValueError for an axis along the direction too.
    """

    axis: tuple[float, float, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "axis", _unit_vector(f"rule of {self.joint!r}: axis", self.axis))
        if np.linalg.norm(np.cross(self.direction, self.axis)) < PARALLEL_SINE:
            raise ValueError(f"rule of {self.joint!r}: axis must not lie along direction, but is {self.axis}")

    def _across(self, n: Array) -> Array:
        return np.array(self.axis) - (self.axis @ n) * n


class SearchedRule(StabilityRule):
    """A rule that is convex at every value of a parameter, and adds `cost` to the effort. With `monotone` the cones at
    greater parameters hold those at smaller ones, and the cost never falls.

    `validation/rules.py` of the repository has four such rules.

    >>> from myoquat.analysis.recruitment import JointCone, SearchedRule
    >>> isinstance(JointCone("shoulder", (0.0, 0.0, 1.0), half_angle=0.5), SearchedRule)  # convex: nothing to search
    False
    """

    monotone: ClassVar[bool]

    @property
    def grid(self) -> Array:
        """(g,) parameters, ascending, at which the search begins."""
        raise NotImplementedError

    def cost(self, parameter: Array) -> Array:
        """(...) what the rule adds to the effort at parameters (...)."""
        raise NotImplementedError

    def parameter_of(self, force: Array) -> Array:
        """(t,) the parameters at which forces (t, 3) are just allowed."""
        raise NotImplementedError


def margins_of(rules: Sequence[StabilityRule], force: Array) -> Array:
    """(t, c) [rad] by how much forces (t, c, 3) in joints are inside the rules; negative outside."""
    if not rules:
        return np.zeros((len(force), 0))
    return np.stack([rule.margin(force[:, j]) for j, rule in enumerate(rules)], axis=-1)


def _unit_vector(what: str, vector: tuple[float, float, float]) -> tuple[float, float, float]:
    """A vector (3,) at length 1; ValueError for one that is not finite, or zero. A unit vector keeps its bits."""
    size = float(np.linalg.norm(vector))
    if len(vector) != 3 or not np.isfinite(size) or size == 0:
        raise ValueError(f"{what} must be a vector (3,), not {vector}")
    size = 1.0 if abs(size - 1) < LENGTH_ROUNDING else size
    return float(vector[0]) / size, float(vector[1]) / size, float(vector[2]) / size


@frozen
class JointCone(StabilityRule):
    """The force of a joint's child on its parent lies within `half_angle` [rad] of `direction` (3,).

    With n the unit vector of the direction, in the parent's axes, tan(half_angle) n . f >= |f - (n . f) n|. `joint` is
    named by itself or by the body that it carries. Raises ValueError for a direction of length zero, and a half angle
    outside (0, pi / 2).

    >>> from myoquat.analysis.recruitment import JointCone
    >>> glenoid = JointCone("shoulder", direction=(0.0, 0.0, 1.0), half_angle=0.5)
    >>> glenoid.half_angle  # [rad] between the direction and the force of the child on its parent
    0.5
    """

    half_angle: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.half_angle < np.pi / 2:
            raise ValueError(f"cone of {self.joint!r}: half_angle must lie in (0, pi / 2), not {self.half_angle}")

    @classmethod
    def from_markers(cls, model: Model, joint: str, head: str, centre: str, rim: str) -> Self:
        """The cone through a rim, from markers in the model's start pose.

        Its apex is at the marker `head`, the centre of the head. Its axis is the line to `centre`, the centre of the
        socket. It passes through the marker `rim` on the edge of the socket.

        ValueError for a marker that does not exist.
        """
        socket = SocketMarkers.of(model, joint, head, centre, rim)
        return cls(joint, socket.direction, socket.half_angle)

    def cones(self, parameter: Array) -> Array:
        """(t, 3, 3) the same for all frames."""
        rows = np.array([[1.0], *2 * [[1 / np.tan(self.half_angle)]]]) * self.frame
        return np.broadcast_to(rows, (len(parameter), 3, 3))

    def edge(self, azimuth: Array) -> Array:
        """(...) the half angle."""
        return np.full(np.shape(azimuth), self.half_angle)


@frozen
class EllipticCone(OrientedRule):
    """The force f on the parent lies within an elliptic cone.

    The condition is (f . e1 / r1)^2 + (f . e2 / r2)^2 <= (f . n)^2, f . n >= 0. Here n is the unit vector of
    `direction`, e1 that of the part of `axis` across it, and e2 = n x e1. The `ratios` r1, r2 are the tangents of the
    half angles along e1 and e2. All vectors are in the parent's axes.

    For the glenoid, with `axis` to its posterior edge, ratios of 0.34 and 0.61 come from concavity-compression tests
    [I. M. I. Hasan et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012].

    Raises ValueError for ratios that are not positive, a vector of length zero, and an axis along the direction.

    >>> from myoquat.analysis.recruitment import EllipticCone
    >>> glenoid = EllipticCone("shoulder", direction=(0, 0, 1), axis=(1, 0, 0), ratios=(0.34, 0.61))
    >>> glenoid.margin([[0.0, 0.5, 1.0], [0.5, 0.0, 1.0]]).round(3)  # [rad] inside along e2, outside along e1
    array([ 0.084, -0.136])
    """

    ratios: tuple[float, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.ratios) != 2 or not all(np.isfinite(r) and r > 0 for r in self.ratios):
            raise ValueError(f"rule of {self.joint!r}: ratios must be two positive numbers, not {self.ratios}")

    def cones(self, parameter: Array) -> Array:
        """(t, 3, 3) the same for all frames."""
        rows = self.frame / np.array([[1.0], [self.ratios[0]], [self.ratios[1]]])
        return np.broadcast_to(rows, (len(parameter), 3, 3))

    def edge(self, azimuth: Array) -> Array:
        """(...) [rad] of the ellipse."""
        first, second = np.cos(azimuth) / self.ratios[0], np.sin(azimuth) / self.ratios[1]
        return np.asarray(np.arctan(1 / np.hypot(first, second)))


@frozen
class CentralForce(StabilityRule):
    """The force f on the parent points along `direction`: two equations e1 . f = e2 . f = 0, and n . f >= 0.

    It is the strictest rule, a cone of no width ["point" in I. M. I. Hasan et al., IEEE TNSRE, 2025,
    10.1109/TNSRE.2025.3635012].

    >>> from myoquat.analysis.recruitment import CentralForce
    >>> CentralForce("shoulder", direction=(0, 0, 2)).direction
    (0.0, 0.0, 1.0)
    """

    equation_count = 2

    def cones(self, parameter: Array) -> Array:
        """(t, 3, 3) of the half space n . f >= 0."""
        rows = self.frame * np.array([[1.0], [0.0], [0.0]])
        return np.broadcast_to(rows, (len(parameter), 3, 3))

    def equations(self, parameter: Array) -> Array:
        """(t, 2, 3) e1 and e2."""
        return np.broadcast_to(self.frame[1:], (len(parameter), 2, 3))

    def edge(self, azimuth: Array) -> Array:
        """(...) zero."""
        return np.zeros(np.shape(azimuth))


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
        """From markers by their names, in the model's start pose; ValueError for one that does not exist.

        A warning says where the joint's center is nearer to that of the socket than to that of the head.
        """
        system = model.system
        child = system.bodies[system.indices.body(joint)]
        poses = system.poses(model.start)
        R, _ = poses[child.parent]
        names = [marker.name for marker in model.markers]
        markers = [model.markers[k] for k in indices_of("marker", [head, centre, rim], names)]
        world = [world_point(poses, m.body, m.position) for m in markers]
        into, edge = world[1] - world[0], world[2] - world[0]
        to_head, to_centre = (float(np.linalg.norm(x - poses[child.name][1])) for x in world[:2])
        if to_head > to_centre:
            warn_user(
                f"{head!r} lies {1000 * to_head:.3g} mm from the center of the joint of {joint!r}, and {centre!r} "
                f"{1000 * to_centre:.3g} mm: the first marker is that of the head, the second that of the socket. They "
                "seem to be swapped"
            )
        distance = float(np.linalg.norm(into))
        half_angle = float(np.arccos(into @ edge / np.linalg.norm(into) / np.linalg.norm(edge)))
        return cls(_vector(R.T @ into), _vector(R.T @ (world[2] - world[1])), distance, half_angle)

    def rules(self, joint: str) -> dict[str, StabilityRule]:
        """The rules of this socket: "rim" is the cone through the rim, the others are published for the glenoid.

        Source of "point", "circle" and "ellipse": I. M. I. Hasan et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012.
        """
        return {
            "rim": JointCone(joint, self.direction, self.half_angle),
            "point": CentralForce(joint, self.direction),
            "circle": JointCone(joint, self.direction, float(np.arctan(SOCKET_RATIO))),
            "ellipse": EllipticCone(joint, self.direction, self.axis, SOCKET_RATIOS),
        }


def _vector(x: np.ndarray) -> Vector:
    return float(x[0]), float(x[1]), float(x[2])
