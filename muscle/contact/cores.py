"""Convex solids as cores swept by a ball: each point of the solid is within a radius of its core.

A core is known by its support function: its point that is farthest along a direction. Between disjoint cores the
closest points are defined, and so are normal and depth of two solids that overlap by less than both radii. The radius
of an ellipsoid is its least radius of curvature, c^2 / a for half axes a >= b >= c. Its core is then convex, and the
swept core is the ellipsoid itself (Schneider 2014, Convex Bodies: The Brunn-Minkowski Theory, section 3.2). Boxes and
cylinders are opened: their cores are smaller by a tenth of the least half length, so that edges become round.
"""

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.vectors import dot
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.contact.surfaces import (
    ContactBox,
    ContactCapsule,
    ContactCylinder,
    ContactEllipsoid,
    ContactHull,
    ContactSphere,
    ContactSurface,
)

__all__ = ["CORES", "ROUNDING", "SEGMENTS", "TINY", "Core", "core_of"]

ROUNDING = 0.1  # radius of rounded edges over the least half length
TINY = 1e-300  # keeps a division by a length of zero finite; the quotient is zero

Support = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Core:
    """A convex core and the ball that sweeps it.

    support  (direction (..., 3), sizes (k,)) -> (..., 3), the farthest point in the frame of the surface
    sizes    (k,) numbers of the core
    radius   [m] of the ball
    reach    [m] the greatest distance of the swept core from its centre
    """

    support: Support
    sizes: Array
    radius: Any
    reach: Any


def core_of(surface: ContactSurface) -> Core:
    """The core of a convex surface."""
    return CORES[type(surface)](surface)


def _of_point(direction: Array, sizes: Array) -> Array:
    return 0.0 * direction


def _of_segment(direction: Array, sizes: Array) -> Array:
    x = direction[..., 0]
    return np.stack([0.0 * x, 0.0 * x, _end(direction[..., 2], sizes[..., 0])], axis=-1)


def _of_box(direction: Array, sizes: Array) -> Array:
    return np.stack([_end(direction[..., k], sizes[..., k]) for k in range(3)], axis=-1)


def _of_cylinder(direction: Array, sizes: Array) -> Array:
    x, y, z = (direction[..., k] for k in range(3))
    ratio = sizes[..., 0] / np.sqrt(np.maximum(x * x + y * y, TINY))
    return np.stack([ratio * x, ratio * y, _end(z, sizes[..., 1])], axis=-1)


def _of_ellipsoid(direction: Array, sizes: Array) -> Array:
    radii = sizes[..., :3]
    stretched = radii * direction
    size, length = np.sqrt(dot(stretched, stretched)), np.sqrt(dot(direction, direction))
    on_surface = radii * stretched / np.maximum(size, TINY)[..., None]
    core: Array = on_surface - (sizes[..., 3] / np.maximum(length, TINY))[..., None] * direction
    return core


def _of_hull(direction: Array, sizes: Array) -> Array:
    """The first of the farthest vertices (k, 3), which follow each other in `sizes`."""
    best, reach = sizes[..., :3], dot(direction, sizes[..., :3])
    for k in range(3, sizes.shape[-1], 3):
        vertex = sizes[..., k : k + 3]
        other = dot(direction, vertex)
        farther = other > reach
        best = np.where(farther[..., None], vertex, best)
        reach = np.where(farther, other, reach)
    return best + 0.0 * direction


def _end(x: Array, half: Array) -> Array:
    """(...) the end of [-half, half] on the side of x."""
    return np.where(x < 0, -half, half)


def _ellipsoid(surface: Any) -> Core:
    longest = reduce(np.maximum, surface.radii)
    radius = reduce(np.minimum, surface.radii) ** 2 / longest
    return Core(_of_ellipsoid, as_array((*surface.radii, radius)), radius, longest)


def _box(surface: Any) -> Core:
    radius = ROUNDING * reduce(np.minimum, surface.half_sizes)
    return Core(_of_box, as_array(surface.half_sizes) - radius, radius, _norm(surface.half_sizes))


def _cylinder(surface: Any) -> Core:
    radius = ROUNDING * np.minimum(surface.radius, surface.half_length)
    sizes = as_array((surface.radius - radius, surface.half_length - radius))
    return Core(_of_cylinder, sizes, radius, _norm((surface.radius, surface.half_length)))


def _norm(sizes: Sequence[Any]) -> Array:
    """() the length of a vector of sizes, floats or symbols."""
    length: Array = np.sqrt(dot(as_array(sizes), as_array(sizes)))
    return length


def _hull(surface: Any) -> Core:
    farthest = max(math.hypot(*vertex) for vertex in surface.vertices)
    return Core(_of_hull, as_array(np.ravel(surface.vertices)), surface.radius, farthest + surface.radius)


def _capsule(surface: Any) -> Core:
    half, radius = surface.half_length, surface.radius
    return Core(_of_segment, as_array((half,)), radius, half + radius)


CORES: dict[type[ContactSurface], Callable[[Any], Core]] = {
    ContactSphere: lambda surface: Core(_of_point, np.zeros(1), surface.radius, surface.radius),
    ContactCapsule: _capsule,
    ContactEllipsoid: _ellipsoid,
    ContactBox: _box,
    ContactCylinder: _cylinder,
    ContactHull: _hull,
}
SEGMENTS = (ContactSphere, ContactCapsule)  # their cores are segments, of length zero in a sphere
