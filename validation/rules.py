"""Rules of glenohumeral stability of one publication: I. M. I. Hasan et al., IEEE TNSRE, 2025,
10.1109/TNSRE.2025.3635012.

They are searched: for one value of a parameter the allowed forces are convex (`SearchedRule`).
"""

from typing import ClassVar

import numpy as np

from myoquat.analysis.recruitment.stability import OrientedRule, SearchedRule, SocketMarkers, StabilityRule
from myoquat.core import Array, check_types, frozen
from myoquat.muscle.model import Model

FULL_TURN = 2 * np.pi
# The stability ratio of the glenoid about its axis, from concavity-compression tests. They are coefficients of powers 0
# to 6 of the angle [rad] from its superior edge over the anterior one. Source: I. M. I. Hasan et al., IEEE TNSRE, 2025,
# 10.1109/TNSRE.2025.3635012; there in percent and degrees.
_PER_DEGREE = (50.915928515941545, 0.116047310713347, -0.024526120335986, 3.899916118022262e-4,
               -2.309728860559176e-6, 5.880441464447251e-9, -5.430378773797311e-12)  # fmt: skip
GLENOID_POLYNOMIAL = tuple(c / 100 * (180 / np.pi) ** k for k, c in enumerate(_PER_DEGREE))


@frozen
class BorderCone(OrientedRule, SearchedRule):
    """The force f on the parent crosses the socket within its measured border: |f - (n . f) n| <= r(a) n . f.

    a is the angle [rad] of f about the direction, from e1 towards e2. With x = a - `start` in [0, 2 pi), r(a) = sum_k
    c_k x^k, and `polynomial` holds the c_k. The unit vector of `direction` is n. That of the part of `axis` across it
    is e1, and e2 = n x e1. The default border is that of the glenoid, with `axis` from its centre to its posterior edge
    [I. M. I. Hasan et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012].

    The cone need not be convex. `redundancy` therefore searches the angle a. For one angle the forces form a plane
    sector, which is convex. The least effort over all angles is that of the rule.

    Raises ValueError for a border that is not positive, a vector of length zero, and an axis along the direction.

    >>> from validation.rules import BorderCone
    >>> glenoid = BorderCone("shoulder", direction=(0, 0, 1), axis=(1, 0, 0))
    >>> glenoid.ratio([0.0, 1.5708]).round(3)  # along e1 and e2
    array([0.296, 0.509])
    """

    polynomial: tuple[float, ...] = GLENOID_POLYNOMIAL
    start: float = np.pi / 2

    monotone: ClassVar[bool] = False
    equation_count: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.ratio(np.linspace(0, FULL_TURN, 721)) > 0).all():
            raise ValueError(f"rule of {self.joint!r}: the border r(a) must be positive at all angles")

    def ratio(self, angle: Array) -> Array:
        """(...) r at angles (...) [rad]."""
        past = np.mod(np.asarray(angle, dtype=float) - self.start, FULL_TURN)
        return np.asarray(np.polynomial.polynomial.polyval(past, self.polynomial))

    def cones(self, parameter: Array) -> Array:
        """(t, 3, 3) of the sector 0 <= e . f <= r n . f in the plane of n and e = cos(a) e1 + sin(a) e2."""
        n, e1, e2 = self.frame
        e = np.cos(parameter)[:, None] * e1 + np.sin(parameter)[:, None] * e2
        half = self.ratio(parameter)[:, None] / 2 * n
        return np.stack([half, e - half, np.zeros(half.shape)], axis=1)

    def equations(self, parameter: Array) -> Array:
        """(t, 1, 3) the normal of the sector's plane."""
        _, e1, e2 = self.frame
        normal: Array = np.cos(parameter)[:, None] * e2 - np.sin(parameter)[:, None] * e1
        return normal[:, None]

    def edge(self, azimuth: Array) -> Array:
        """(...) [rad] of the border."""
        return np.asarray(np.arctan(self.ratio(azimuth)))

    # ---- the search ------------------------------------------------------------------------------------------

    @property
    def grid(self) -> Array:
        """(36,) angles [rad] at which the search begins."""
        return np.arange(36) * FULL_TURN / 36

    def cost(self, parameter: Array) -> Array:
        """(t,) zero: the border is a condition, not a part of the effort."""
        return np.zeros(len(parameter))

    def parameter_of(self, force: Array) -> Array:
        """(t,) [rad] the angles of forces (t, 3) about the direction."""
        _, first, second = np.moveaxis(force @ self.frame.T, -1, 0)
        return np.asarray(np.mod(np.arctan2(second, first), FULL_TURN))

    def outer(self) -> Array:
        """(3, 3) the round cone around the border: no effort of the rule is less than there."""
        widest = float(self.ratio(np.linspace(0, FULL_TURN, 7201)).max())
        return self.frame / np.array([[1.0], [widest], [widest]])


MIN_TANGENT, MAX_TANGENT = 1e-3, 1e3  # of the half angles, in the search


@frozen
class DirectionPenalty(SearchedRule):
    """Adds weight * p(s) to the effort, where s is the tangent of an angle of the force f on the parent.

    The angle is that to the unit vector n of `direction`: s = |f - (n . f) n| / (n . f), n . f >= 0. p never falls with
    s.

    The sum is not convex. For a given bound on s the forces form a round cone, which is convex. `redundancy` therefore
    searches s: the least of effort plus penalty over all cones is that of the rule.

    Raises ValueError for a weight that is negative or not finite, and a direction of length zero.
    """

    weight: float = 3.0

    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (np.isfinite(self.weight) and self.weight >= 0):
            raise ValueError(f"rule of {self.joint!r}: weight must not be negative, but is {self.weight}")

    def penalty(self, tangent: Array) -> Array:
        """(...) p at tangents s (...)."""
        raise NotImplementedError

    def cones(self, parameter: Array) -> Array:
        """(t, 3, 3) round cones whose half angles have the tangents (t,)."""
        width = np.stack([np.ones(len(parameter)), parameter, parameter], axis=-1)
        return self.frame / width[..., None]

    def edge(self, azimuth: Array) -> Array:
        """(...) [rad] a right angle: only forces out of the socket are excluded."""
        return np.full(np.shape(azimuth), np.pi / 2)

    # ---- the search ------------------------------------------------------------------------------------------

    @property
    def grid(self) -> Array:
        """(32,) tangents at which the search begins."""
        return np.geomspace(MIN_TANGENT, MAX_TANGENT, 32)

    def cost(self, parameter: Array) -> Array:
        """(t,) weight * p."""
        return self.weight * self.penalty(parameter)

    def parameter_of(self, force: Array) -> Array:
        """(t,) the tangents of the angles between forces (t, 3) and the direction, within the search's span."""
        along, first, second = np.moveaxis(force @ self.frame.T, -1, 0)
        across = np.hypot(first, second)
        steep = across >= MAX_TANGENT * along
        return np.clip(np.where(steep, MAX_TANGENT, across / np.where(steep, 1.0, along)), MIN_TANGENT, MAX_TANGENT)

    def outer(self) -> Array:
        """(3, 3) the half space n . f >= 0: no effort of the rule is less than there."""
        return self.frame * np.array([[1.0], [0.0], [0.0]])


@frozen
class PlanarPenalty(DirectionPenalty):
    """p(s) = s^2: the part of the force along a flat socket over the part into it, squared ["planar" in I. M. I. Hasan
    et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012].

    >>> from validation.rules import PlanarPenalty
    >>> PlanarPenalty("shoulder", direction=(0, 0, 1)).cost([0.5])  # 3 * 0.25
    array([0.75])
    """

    def penalty(self, tangent: Array) -> Array:
        """(...) s^2."""
        return np.square(tangent)


@frozen
class ConditionalPenalty(DirectionPenalty):
    """p(s) = s^2 where s > `ratio`, and 0 elsewhere: leaving a round socket costs, the more the farther ["conditional"
    in I. M. I. Hasan et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012].

    Raises ValueError for a ratio outside (0.001, 1000) too.

    >>> from validation.rules import ConditionalPenalty
    >>> ConditionalPenalty("shoulder", direction=(0, 0, 1)).cost([0.4, 1.0])
    array([0., 3.])
    """

    ratio: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not MIN_TANGENT < self.ratio < MAX_TANGENT:
            raise ValueError(
                f"rule of {self.joint!r}: ratio must lie in ({MIN_TANGENT}, {MAX_TANGENT}), not {self.ratio}"
            )

    def penalty(self, tangent: Array) -> Array:
        """(...) s^2 beyond the ratio."""
        s = np.asarray(tangent, dtype=float)
        return np.where(s > self.ratio, s * s, 0.0)

    @property
    def grid(self) -> Array:
        """(33,) tangents at which the search begins, the ratio among them."""
        return np.sort(np.append(super().grid, self.ratio))


@frozen
class CurvedPenalty(DirectionPenalty):
    """p = tan(alpha)^2, alpha the angle [rad] between the force and the normal of a spherical socket where it crosses
    that ["curve" in I. M. I. Hasan et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012].

    The line of the force at the angle theta starts at the centre of the head. This is `offset` [m] from the centre of
    the socket's sphere of `radius` [m]. The line crosses the sphere after the distance d:

        d = sqrt(radius^2 - (offset sin(theta))^2) - offset cos(theta)
        alpha = theta - asin(d sin(theta) / radius)

    Raises ValueError unless 0 <= offset < radius too.

    >>> from validation.rules import CurvedPenalty
    >>> CurvedPenalty("shoulder", direction=(0, 0, 1), radius=0.1, offset=0.06).cost([0.5]).round(4)
    array([0.2328])
    """

    radius: float = 0.1
    offset: float = 0.065

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.offset < self.radius < np.inf:
            raise ValueError(
                f"rule of {self.joint!r}: 0 <= offset < radius is needed, not {self.offset} and {self.radius}"
            )

    def penalty(self, tangent: Array) -> Array:
        """(...) tan(alpha)^2."""
        theta = np.arctan(tangent)
        sine, cosine = np.sin(theta), np.cos(theta)
        along = np.sqrt(self.radius**2 - (self.offset * sine) ** 2) - self.offset * cosine
        return np.asarray(np.tan(theta - np.arcsin(along * sine / self.radius)) ** 2)


RATIO = 0.5  # stability ratio of the conditional penalty
WEIGHT = 3.0  # of the penalties
CAVITY_RADIUS = 0.1  # [m] of the sphere of the glenoid
CAVITY_DEPTH = 0.09  # [m] from the centre of the glenoid to that of its sphere, as the published program has it


def published_rules(model: Model, joint: str, head: str, centre: str, rim: str) -> dict[str, StabilityRule]:
    """The published rules "point", "circle", "ellipse", "polynomial", "conditional", "planar" and "curve".

    Their source is I. M. I. Hasan et al., IEEE TNSRE, 2025, 10.1109/TNSRE.2025.3635012. Markers in the model's start
    pose give the socket. ValueError for a marker that does not exist.

    head    marker at the centre of the humeral head
    centre  marker at the centre of the glenoid
    rim     marker on the posterior edge of the glenoid

    >>> import myoquat as mq
    >>> from validation.rules import published_rules
    >>> from myoquat.muscle.coordinates import Marker
    >>> arm = mq.Body("arm", "ground", mq.joints.SphericalJoint())
    >>> points = {"head": (0.0, 0.0, 0.0), "centre": (0.0, 0.0, 0.03), "rim": (0.02, 0.0, 0.03)}
    >>> markers = tuple(Marker(name, "ground", at) for name, at in points.items())
    >>> model = mq.Model(mq.ArticulatedSystem((arm,)), markers=markers)
    >>> list(published_rules(model, "arm", "head", "centre", "rim"))
    ['point', 'circle', 'ellipse', 'polynomial', 'conditional', 'planar', 'curve']
    """
    names = {"joint": joint, "head": head, "centre": centre, "rim": rim}
    check_types(model=(model, Model), **{name: (value, str) for name, value in names.items()})
    socket = SocketMarkers.of(model, joint, head, centre, rim)
    into, axis = socket.direction, socket.axis
    rules = socket.rules(joint)
    return {
        **{name: rules[name] for name in ("point", "circle", "ellipse")},
        "polynomial": BorderCone(joint, into, axis),
        "conditional": ConditionalPenalty(joint, into, WEIGHT, RATIO),
        "planar": PlanarPenalty(joint, into, WEIGHT),
        "curve": CurvedPenalty(joint, into, WEIGHT, CAVITY_RADIUS, CAVITY_DEPTH - socket.distance),
    }
