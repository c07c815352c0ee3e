"""Contact of two surfaces: depth, normal, point and effective radius of curvature.

Each pair of surface types with a closed form has one formula, for floats and symbols. Source: the contact trackers of
Simbody (Sherman, Seth, Delp 2011, Procedia IUTAM 2, 241-261). Any two other convex surfaces touch where their cores are
closest (`myoquat.muscle.contact.closest_points`); that formula runs on floats and in kernels.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.vectors import dot, matvec, vecmat
from myoquat.kernels import call_where
from myoquat.kernels.symbolic.arrays import as_array, is_symbolic, may_be_nonzero
from myoquat.muscle.contact.closest_points import ClosestPoints, PlacedCore, closest_on_segments, closest_points
from myoquat.muscle.contact.surfaces import (
    TINY,
    ContactEllipsoid,
    ContactHalfSpace,
    ContactSphere,
    ContactSurface,
    Core,
)
from myoquat.muscle.loads import Poses, unit_vector, world_point

__all__ = ["Touch", "can_touch", "has_curvature", "touch"]


@dataclass(frozen=True)
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
    return _formula(first, second) is not None


def has_curvature(first: ContactSurface, second: ContactSurface) -> bool:
    """Whether the formula of two surfaces gives the effective radius of curvature that Hertz's law needs."""
    return (type(first), type(second)) in CONTACT_FORMULAS


def touch(first: ContactSurface, second: ContactSurface, poses: Poses, margin: float = 0.0) -> Touch:
    """The contact of the second surface with the first.

    For two solids that are farther apart than the margin [m] the depth is a bound, below minus the margin.
    """
    formula = _formula(first, second)
    assert formula is not None
    return _on_core(first, second, poses, margin) if formula is _on_core else formula(first, second, poses)


def _formula(first: ContactSurface, second: ContactSurface) -> Callable[..., Touch] | None:
    own = CONTACT_FORMULAS.get((type(first), type(second)))
    if own is not None or second.core is None:
        return own
    if isinstance(first, ContactHalfSpace):
        return _core_on_plane
    if first.core is None:
        return None
    return _on_segment if first.segment and second.segment else _on_core


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


def _core_on_plane(floor: ContactHalfSpace, solid: ContactSurface, poses: Poses) -> Touch:
    """The deepest point of the solid: that of its core, and its radius beyond."""
    p, n = _plane(floor, poses)
    core = solid.core
    assert core is not None
    placed = _placed(core, solid, poses, n.shape[:-1])
    deepest = placed.farthest(-n) - core.radius * n
    depth = dot(n, p - deepest)
    return Touch(depth, n, deepest + (depth / 2)[..., None] * n, as_array(core.radius))


def _cores(*solids: ContactSurface) -> tuple[Core, ...]:
    return tuple(core for solid in solids if (core := solid.core) is not None)


def _on_segment(first: ContactSurface, second: ContactSurface, poses: Poses) -> Touch:
    """Spheres and capsules."""
    cores = _cores(first, second)
    placed = [_placed(core, surface, poses, ()) for core, surface in zip(cores, (first, second), strict=True)]
    segments = [(place.p, place.R[..., :, 2], place.sizes[..., 0]) for place in placed]
    return _between(cores, closest_on_segments(segments[0], segments[1]), placed)


def _on_core(first: ContactSurface, second: ContactSurface, poses: Poses, margin: float = 0.0) -> Touch:
    """Two convex solids, which overlap by less than the sum of their radii.

    Deeper inside, the depth is that sum and the normal is the direction between the centres. The contact is sought only
    where balls around the two overlap. Elsewhere the depth is a negative bound.
    """
    cores, surfaces = _cores(first, second), (first, second)
    batch = np.broadcast_shapes(*(poses[surface.body][1].shape[:-1] for surface in surfaces))
    placed = [_placed(core, surface, poses, batch) for core, surface in zip(cores, surfaces, strict=True)]
    between = placed[1].p - placed[0].p
    beyond = np.maximum(margin, 0.0)
    reach = beyond + sum(core.reach for core in cores)
    near = dot(between, between) < reach * reach
    found = call_where(closest_points_of_solids, tuple(placed), near, ClosestPoints(placed[0].p, placed[1].p))
    touching = _between(cores, found, placed)
    apart = reach - beyond - np.sqrt(np.maximum(dot(between, between), reach * reach))
    return replace(touching, depth=np.where(near, touching.depth, apart))


def closest_points_of_solids(placed: tuple[PlacedCore, PlacedCore]) -> ClosestPoints:
    """The closest points of two cores; errors about derivatives, which it has none of, show its name."""
    return closest_points(*placed)


def _between(cores: Sequence[Core], found: ClosestPoints, placed: Sequence[PlacedCore]) -> Touch:
    """The contact of two cores that are swept by balls, from their closest points.

    Where the cores overlap and their centres are one point, the normal is zero.
    """
    radii = cores[0].radius, cores[1].radius
    apart, centers = found.second - found.first, placed[1].p - placed[0].p
    square = dot(apart, apart)
    disjoint = square > OVERLAP_M**2
    direction = np.where(disjoint[..., None], apart, centers)
    length = np.sqrt(dot(direction, direction))
    n = direction / np.maximum(length, TINY)[..., None]
    distance = np.where(disjoint, length, 0.0)
    depth = radii[0] + radii[1] - distance
    radius = radii[0] * radii[1] / (radii[0] + radii[1])
    return Touch(depth, n, found.first + (radii[0] - depth / 2)[..., None] * n, as_array(radius))


def _placed(core: Core, surface: Any, poses: Poses, batch: tuple[int, ...]) -> PlacedCore:
    """The core of a surface in the world, with all batch axes."""
    R = poses[surface.body][0]
    if may_be_nonzero(as_array(getattr(surface, "orientation", IDENTITY)) - IDENTITY):
        R = R @ rotation_matrix(as_array(surface.orientation))
    center = world_point(poses, surface.body, surface.position)
    parts = (core.sizes, 1), (R, 2), (center, 1)
    sizes, R, center = (np.broadcast_to(x, (*batch, *x.shape[-n:]), subok=True) if batch else x for x, n in parts)
    return PlacedCore(sizes=sizes, R=R, p=center, support=core.support)


IDENTITY = (1.0, 0.0, 0.0, 0.0)
OVERLAP_M = 1e-6  # cores nearer than this overlap

CONTACT_FORMULAS: dict[tuple[type, type], Callable[..., Touch]] = {
    (ContactHalfSpace, ContactSphere): _on_plane,
    (ContactSphere, ContactSphere): _on_sphere,
    (ContactHalfSpace, ContactEllipsoid): _ellipsoid_on_plane,
}
