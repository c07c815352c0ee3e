"""The torus: a ring through which a path passes, bearing on the inner side of its tube.

A point is at azimuth phi around the ring and at angle psi around the tube, psi = pi innermost. Three unknowns, phi and
psi of the point where the path comes on and the length s of the geodesic from there, meet three conditions: the line
from A touches the surface, and the line at the end touches it and goes to B. On a geodesic rho^2 phi' = c stays
constant (Clairaut), which leaves psi'' = -c^2 sin(psi) / (r rho^3), rho = R + r cos(psi), for Stoermer's rule (Hairer,
Norsett, Wanner, Solving Ordinary Differential Equations I, II.14). The inner side curves like a saddle, so that there
is one such path. Where s comes out negative the path does not touch.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from myoquat.joints.stacking import joined
from myoquat.joints.vectors import cross
from myoquat.kernels import iterate
from myoquat.kernels.typing import Array
from myoquat.muscle.wrapping.base import Contact, Line, Wrap
from myoquat.muscle.wrapping.circle import around
from myoquat.muscle.wrapping.extrapolation import extrapolated
from myoquat.muscle.wrapping.vectors import dot, unit

__all__ = ["WrapTorus"]

NEWTON = 14  # steps for phi, psi and s
SETTLED = 1e-9  # [rad, m] by which the last but one step may move
PARTS = 4  # of a geodesic, each extrapolated
FINEST = 6  # substeps of the finest rule that is extrapolated
FARTHEST = 0.4  # [rad] of phi and psi, and of s seen from the tube's radius, that one step may change
DIFFERENCE = 1e-7  # for slopes, of the same unknowns
SOLVED = 1e-9  # of the conditions, which are angles


@dataclass(frozen=True, kw_only=True)
class WrapTorus(Wrap):
    """A torus around the z axis of its frame: a tube of `tube_radius` [m] along a ring of `ring_radius` [m] (OpenSim's
    inner and outer radius).

    A path passes through the ring: it never crosses the plane of the ring outside of it, whatever the quadrant. The
    length jumps where an end of it does.
    """

    ring_radius: float
    tube_radius: float

    kind: ClassVar[str] = "torus"
    solved: ClassVar[bool] = True

    def sizes(self) -> dict[str, float]:
        return {
            "ring_radius": self.ring_radius,
            "tube_radius": self.tube_radius,
            "ring_radius - tube_radius": self.ring_radius - self.tube_radius,
        }

    def resized(self, factors: Array, along: Array) -> dict[str, Any]:
        """Both radii by the mean in the plane of the ring."""
        mean = (along[0] + along[1]) / 2
        return {"ring_radius": self.ring_radius * mean, "tube_radius": self.tube_radius * mean}

    def contact(
        self, A: Array, B: Array, line: Line | None = None, where: Array | bool = True, backwards: bool = False
    ) -> Contact:
        R, r = self.ring_radius, self.tube_radius
        share = np.abs(A[..., 2]) / np.maximum(np.abs(A[..., 2]) + np.abs(B[..., 2]), 1e-300)
        crossing = A + share[..., None] * (B - A)
        phi = np.arctan2(crossing[..., 1], crossing[..., 0])
        out = np.stack([np.cos(phi), np.sin(phi), 0.0 * phi], axis=-1)
        ends = [(dot(x, out) - R, x[..., 2]) for x in (A, B)]
        winding = around(ends[0], ends[1], r, (-1.0, 0.0))  # around the tube, seen as a cylinder there
        psi = np.arctan2(winding.P[1], winding.P[0])
        near = np.stack([phi, np.where(psi < 0, psi + 2 * np.pi, psi), r * winding.angle], axis=-1)
        given = joined([A, B, np.stack(np.broadcast_arrays(R + 0.0 * phi, r + 0.0 * phi), axis=-1)])
        solved = iterate(_newton, near, given, NEWTON, SETTLED, where)
        h, P, Q = _conditions(solved, given)
        miss = np.sqrt(dot(h, h))
        inside = ~((self._depth(A) > 0) & (self._depth(B) > 0))
        on = (solved[..., 2] > 0) & (miss < SOLVED) & ~inside
        wanted = (winding.angle > 0) & ~inside
        return Contact(on, P, Q, solved[..., 2], inside, winding.jump, np.where(wanted | on, miss, 0.0))

    def _depth(self, x: Array) -> Array:
        """How far outside the tube a point is."""
        aside = np.sqrt(x[..., 0] * x[..., 0] + x[..., 1] * x[..., 1]) - self.ring_radius
        result: Array = np.sqrt(aside * aside + x[..., 2] * x[..., 2]) - self.tube_radius
        return result

    def onto(self, x: Array) -> Array:
        ring = self.ring_radius * unit(x * np.array([1.0, 1.0, 0.0]))
        return ring + self.tube_radius * unit(x - ring)

    def normal(self, P: Array) -> Array:
        flat = np.stack([P[..., 0], P[..., 1], 0.0 * P[..., 2]], axis=-1)
        return P - self.ring_radius * unit(flat)


def _frame(phi: Array, psi: Array) -> tuple[Array, Array, Array]:
    """Unit vectors outward from the ring's axis, along the ring, and out of the tube."""
    zero = 0.0 * phi
    out = np.stack([np.cos(phi), np.sin(phi), zero], axis=-1)
    along = np.stack([-np.sin(phi), np.cos(phi), zero], axis=-1)
    n = np.cos(psi)[..., None] * out + np.stack([zero, zero, np.sin(psi)], axis=-1)
    return out, along, n


def _conditions(unknowns: Array, given: Array) -> tuple[Array, Array, Array]:
    """(..., 3) by how much, as sines, the lines miss the surface and each other; and the ends of the geodesic."""
    A, B, R, r = given[..., :3], given[..., 3:6], given[..., 6], given[..., 7]
    phi, psi, s = (unknowns[..., i] for i in range(3))
    out, along, n = _frame(phi, psi)
    P = R[..., None] * out + r[..., None] * n
    line = unit(P - A)
    v = unit(line - dot(line, n)[..., None] * n)
    up = np.stack([0.0 * phi, 0.0 * phi, np.cos(psi)], axis=-1) - np.sin(psi)[..., None] * out  # along growing psi
    c = (R + r * np.cos(psi)) * dot(v, along)
    end = _geodesic(phi, psi, dot(v, up) / r, c, s, R, r)
    phi, psi, turning = (end[..., i] for i in range(3))
    out, along, m = _frame(phi, psi)
    Q = R[..., None] * out + r[..., None] * m
    up = np.stack([0.0 * phi, 0.0 * phi, np.cos(psi)], axis=-1) - np.sin(psi)[..., None] * out
    w = (r * turning)[..., None] * up + (c / (R + r * np.cos(psi)))[..., None] * along
    away = unit(B - Q)
    return np.stack([dot(line, n), dot(away, m), dot(away, cross(m, w))], axis=-1), P, Q


def _newton(unknowns: Array, given: Array) -> Array:
    """A step of Newton's method; its slopes are differences, which only steer."""
    r = given[..., 7]
    units = np.stack([1.0 + 0.0 * r, 1.0 + 0.0 * r, r], axis=-1)
    h = _conditions(unknowns, given)[0]
    J = []
    for i in range(3):
        step = DIFFERENCE * units * np.eye(3)[i]
        J.append((_conditions(unknowns + step, given)[0] - h) / DIFFERENCE)
    volume = dot(J[0], cross(J[1], J[2]))
    volume = np.where(volume != 0, volume, 1.0)
    steps = [dot(h, cross(J[1], J[2])), dot(J[0], cross(h, J[2])), dot(J[0], cross(J[1], h))]
    move = -np.stack(steps, axis=-1) / volume[..., None]
    result: Array = unknowns + np.minimum(np.maximum(move, -FARTHEST), FARTHEST) * units
    return result


def _geodesic(phi: Array, psi: Array, turning: Array, c: Array, length: Array, R: Array, r: Array) -> Array:
    """(..., 3) phi, psi and dpsi/ds after a geodesic of `length`."""
    start = np.stack([phi, psi, turning], axis=-1)
    return iterate(_part, start, np.stack([length / PARTS, c, R, r], axis=-1), PARTS)


def _part(state: Array, given: Array) -> Array:
    """A part of a geodesic: Stoermer's rule for psi and the trapezoidal one for phi, extrapolated together."""
    H, c, R, r = (given[..., i] for i in range(4))
    return extrapolated(lambda count: _stoermer(state, H / count, count, c, R, r), FINEST)


def _stoermer(state: Array, h: Array, count: int, c: Array, R: Array, r: Array) -> Array:
    phi, psi, turning = (state[..., i] for i in range(3))
    force, rate = _rates(psi, c, R, r)
    for k in range(count):
        turning = turning + (h if k else 0.5 * h) * force
        psi = psi + h * turning
        before = rate
        force, rate = _rates(psi, c, R, r)
        phi = phi + 0.5 * h * (before + rate)
    return np.stack([phi, psi, turning + 0.5 * h * force], axis=-1)


def _rates(psi: Array, c: Array, R: Array, r: Array) -> tuple[Array, Array]:
    """psi'' and phi'."""
    rho = R + r * np.cos(psi)
    return -c * c * np.sin(psi) / (r * rho * rho * rho), c / (rho * rho)
