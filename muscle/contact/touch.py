"""Contact of two surfaces: depth, normal, point and effective radius of curvature.

Each pair of surface types with a closed form has one formula, for floats and symbols. Source: the contact trackers of
Simbody (Sherman, Seth, Delp 2011, Procedia IUTAM 2, 241-261).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.vectors import dot, matvec, vecmat
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic, may_be_nonzero
from myoquat.muscle.contact.surfaces import ContactEllipsoid, ContactHalfSpace, ContactSphere, ContactSurface
from myoquat.muscle.loads import Poses, unit_vector, world_point

__all__ = ["Touch", "can_touch", "touch"]


@dataclass(frozen=True)
class Touch:
    """depth (...) [m], negative where the surfaces are apart; the unit normal (..., 3) from the first into the second;
    the point (..., 3) [m] midway between the surfaces, in the world; the effective radius (...) [m] of curvature."""

    depth: Array
    normal: Array
    point: Array
    radius: Array


def can_touch(first: ContactSurface, second: ContactSurface) -> bool:
    """Whether there is a formula for two surfaces, in this order."""
    return (type(first), type(second)) in CONTACT_FORMULAS


def touch(first: ContactSurface, second: ContactSurface, poses: Poses) -> Touch:
    """Where the second surface touches the first."""
    return CONTACT_FORMULAS[type(first), type(second)](first, second, poses)


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
    n = between / distance[..., None]
    depth = first.radius + second.radius - distance
    radius = first.radius * second.radius / (first.radius + second.radius)
    return Touch(depth, n, p + (first.radius - depth / 2)[..., None] * n, as_array(radius))


def _ellipsoid_on_plane(floor: ContactHalfSpace, egg: ContactEllipsoid, poses: Poses) -> Touch:
    """The deepest point of the ellipsoid is -A^2 n / h, h = |A n|, A = diag(radii), in its frame.

    The radius is Simbody's: of the circle as large as the ellipsoid's section through its centre parallel to the plane,
    sqrt(a b c / h), which for a sphere is its radius.
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


CONTACT_FORMULAS: dict[tuple[type, type], Callable[..., Touch]] = {
    (ContactHalfSpace, ContactSphere): _on_plane,
    (ContactSphere, ContactSphere): _on_sphere,
    (ContactHalfSpace, ContactEllipsoid): _ellipsoid_on_plane,
}
