"""Surfaces that bodies touch each other with, and the contact of two: depth, normal, point and radius of curvature.

Each pair of surface types has one formula, for floats and symbols: half-spaces with spheres, ellipsoids and capsules,
spheres and capsules with each other. Source: the contact trackers of Simbody (Sherman, Seth, Delp 2011, Procedia IUTAM
2, 241-261).
"""

from collections.abc import Callable
from typing import Annotated

import numpy as np

from myoquat.core import Array, Record, frozen
from myoquat.joints import ArticulatedSystem, ModelError, rotation_matrix
from myoquat.joints.ranges import NotNegative, Positive, Range
from myoquat.joints.vectors import dot, matvec, vecmat
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic, may_be_nonzero

from .loads import Poses, check_part, unit_vector, world_point

Vector = tuple[float, float, float]
ORIGIN: Vector = (0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0)
TINY = 1e-300  # keeps a division by a length of zero finite; the quotient is zero
SINE_TOLERANCE = 1e-14  # squared sine of the angle of two segments that count as parallel
OVERLAP_M = 1e-6  # segments nearer than this overlap


@frozen
class ContactSurface(Record):
    """A surface fixed to a body, at `position` [m] in its frame.

    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactSphere, ContactSurface
    >>> all(issubclass(surface, ContactSurface) for surface in (ContactHalfSpace, ContactSphere))
    True
    """

    name: str
    body: str
    position: Vector = ORIGIN

    def check(self, system: ArticulatedSystem, element: str) -> None:
        """ModelError, in the words of the force that has the surface, for a body that does not exist or numbers that
        cannot be."""
        check_part(self, system, element, f"surface {self.name!r}: ")


@frozen
class ContactHalfSpace(ContactSurface):
    """All that lies behind the plane through `position` with the outward `normal`, of any length, in the body's frame:
    a floor or a wall.

    >>> from myoquat.muscle.forces import ContactHalfSpace
    >>> ContactHalfSpace("floor", "ground").normal  # up in OpenSim's models
    (0.0, 1.0, 0.0)
    """

    normal: Vector = (0.0, 1.0, 0.0)


@frozen
class ContactSphere(ContactSurface):
    """A ball of `radius` [m] about `position`.

    >>> from myoquat.muscle.forces import ContactSphere
    >>> ContactSphere("heel", "calcaneus", position=(0.01, -0.02, 0.0), radius=0.02).radius
    0.02
    """

    radius: Positive = 1.0


@frozen
class _OrientedSurface(ContactSurface):
    """A surface whose frame the unit quaternion `orientation` turns in the body's."""

    orientation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)


@frozen
class ContactEllipsoid(_OrientedSurface):
    """A solid ellipsoid about `position` with half axes `radii` [m] along the axes of its frame.

    The unit quaternion `orientation` turns this frame in the body's.

    >>> from myoquat.muscle.forces import ContactEllipsoid
    >>> ContactEllipsoid("heel", "calcaneus", position=(0.0, -0.02, 0.0), radii=(0.03, 0.02, 0.02)).radii
    (0.03, 0.02, 0.02)
    """

    radii: Annotated[Vector, Range(0.0, open_low=True)] = (1.0, 1.0, 1.0)


@frozen
class ContactCapsule(_OrientedSurface):
    """All points within `radius` [m] of a segment about `position`, along z of its frame, `half_length` [m] each way.

    >>> from myoquat.muscle.forces import ContactCapsule
    >>> ContactCapsule("finger", "phalanx", radius=0.008, half_length=0.01).half_length
    0.01
    """

    radius: Positive = 1.0
    half_length: NotNegative = 0.0


# ---- The contact of two surfaces ------------------------------------------------------------------------------------


@frozen
class Touch:
    """A contact of two surfaces.

    depth   (...) [m], negative where the surfaces are apart
    normal  (..., 3) unit vector from the first surface into the second
    point   (..., 3) [m] midway between the surfaces, in the world
    radius  (...) [m] the effective radius of curvature
    """

    depth: Array
    normal: Array
    point: Array
    radius: Array


def can_touch(first: ContactSurface, second: ContactSurface) -> bool:
    """Whether there is a formula for two surfaces, in this order."""
    return surface_types(first, second) in CONTACT_FORMULAS


def surface_types(*surfaces: ContactSurface) -> tuple[type[ContactSurface], ...]:
    """The types that formulas are for: a class derived from one of them counts as that."""
    known = {known for pair in CONTACT_FORMULAS for known in pair}
    return tuple(next((t for t in type(surface).__mro__ if t in known), type(surface)) for surface in surfaces)


def touch(first: ContactSurface, second: ContactSurface, poses: Poses) -> Touch:
    """The contact of the second surface with the first."""
    return CONTACT_FORMULAS[surface_types(first, second)](first, second, poses)


def _plane(half_space: ContactHalfSpace, poses: Poses) -> tuple[Array, Array]:
    """A point of its plane and the outward unit normal, in the world."""
    normal = unit_vector(half_space.normal, poses[half_space.body][0])
    return world_point(poses, half_space.body, half_space.position), normal


def _on_plane(floor: ContactHalfSpace, ball: ContactSphere, poses: Poses) -> Touch:
    p, n = _plane(floor, poses)
    c = world_point(poses, ball.body, ball.position)
    depth = ball.radius - dot(n, c - p)
    return Touch(depth, n, c - (ball.radius - depth / 2)[..., None] * n, as_array(ball.radius))


def _on_sphere(first: ContactSphere, second: ContactSphere, poses: Poses) -> Touch:
    """Not determined where the centres meet; ModelError in a formula on symbols in which they always do."""
    p, c = (world_point(poses, ball.body, ball.position) for ball in (first, second))
    between = c - p
    if is_symbolic(between) and not may_be_nonzero(between):
        raise ModelError(
            f"the centres of spheres {first.name!r} and {second.name!r} always coincide: their contact has no direction"
        )
    distance = np.sqrt(dot(between, between))
    return _of_balls(first.radius, second.radius, p, between / distance[..., None], distance)


def _of_balls(first: float, second: float, p: Array, n: Array, distance: Array) -> Touch:
    """The contact of balls of two radii [m]: the first about p, the other at a distance along n."""
    depth = first + second - distance
    return Touch(depth, n, p + (first - depth / 2)[..., None] * n, as_array(first * second / (first + second)))


def _ellipsoid_on_plane(floor: ContactHalfSpace, egg: ContactEllipsoid, poses: Poses) -> Touch:
    """The deepest point of the ellipsoid is -A^2 n / h, h = |A n|, A = diag(radii), in its frame.

    The radius is Simbody's, sqrt(a b c / h). It belongs to the circle with the area of the ellipsoid's section through
    its centre parallel to the plane. For a sphere it is the sphere's radius.
    """
    p, n = _plane(floor, poses)
    R = poses[egg.body][0] @ rotation_matrix(as_array(egg.orientation))
    radii = as_array(egg.radii)
    stretched = radii * vecmat(n, R)
    h = np.sqrt(dot(stretched, stretched))
    deepest = world_point(poses, egg.body, egg.position) - matvec(R, radii * stretched) / h[..., None]
    depth = dot(n, p - deepest)
    volume = radii[..., 0] * radii[..., 1] * radii[..., 2]
    return Touch(depth, n, deepest + (depth / 2)[..., None] * n, np.sqrt(volume / h))


def _capsule_on_plane(floor: ContactHalfSpace, pill: ContactCapsule, poses: Poses) -> Touch:
    """The deeper end of the capsule's segment."""
    p, n = _plane(floor, poses)
    center, along, half = _segment(pill, poses)
    lower = np.where(dot(n, along) > 0, -half, half)
    deepest = center + lower[..., None] * along - pill.radius * n
    depth = dot(n, p - deepest)
    return Touch(depth, n, deepest + (depth / 2)[..., None] * n, as_array(pill.radius))


def _on_segment(first: ContactSphere | ContactCapsule, second: ContactSphere | ContactCapsule, poses: Poses) -> Touch:
    """Balls that sweep segments: the contact of the balls about the closest points (Ericson 2005, Real-Time Collision
    Detection, section 5.1.9).

    Where the segments overlap, the depth is the sum of the radii, and the normal is along the line of the centres; it
    is zero where these are one point.
    """
    (p, u, half), (c, v, other) = (_segment(solid, poses) for solid in (first, second))
    between = c - p
    cosine, along, across = dot(u, v), dot(u, between), dot(v, between)
    sine = np.maximum(1.0 - cosine * cosine, SINE_TOLERANCE)
    s = np.clip((along - cosine * across) / sine, -half, half)
    t = np.clip(cosine * s - across, -other, other)
    s = np.clip(along + cosine * t, -half, half)
    nearest = p + s[..., None] * u
    apart = c + t[..., None] * v - nearest
    disjoint = dot(apart, apart) > OVERLAP_M**2
    direction = np.where(disjoint[..., None], apart, between)
    length = np.sqrt(dot(direction, direction))
    n = direction / np.maximum(length, TINY)[..., None]
    return _of_balls(first.radius, second.radius, nearest, n, np.where(disjoint, length, 0.0))


def _segment(solid: ContactSphere | ContactCapsule, poses: Poses) -> tuple[Array, Array, Array]:
    """Middle (..., 3), unit direction (..., 3) and half length (...) of the segment that a ball sweeps."""
    R, center = poses[solid.body][0], world_point(poses, solid.body, solid.position)
    if isinstance(solid, ContactSphere):
        return center, R[..., :, 2], np.zeros(())
    if may_be_nonzero(as_array(solid.orientation) - IDENTITY):
        R = R @ rotation_matrix(as_array(solid.orientation))
    return center, R[..., :, 2], as_array(solid.half_length)


CONTACT_FORMULAS: dict[tuple[type, ...], Callable[..., Touch]] = {
    (ContactHalfSpace, ContactSphere): _on_plane,
    (ContactHalfSpace, ContactEllipsoid): _ellipsoid_on_plane,
    (ContactHalfSpace, ContactCapsule): _capsule_on_plane,
    (ContactSphere, ContactSphere): _on_sphere,
    (ContactSphere, ContactCapsule): _on_segment,
    (ContactCapsule, ContactSphere): _on_segment,
    (ContactCapsule, ContactCapsule): _on_segment,
}
# pairs whose formulas give the effective radius of curvature that Hertz's law needs
CURVED = {(ContactHalfSpace, ContactSphere), (ContactHalfSpace, ContactEllipsoid), (ContactSphere, ContactSphere)}
