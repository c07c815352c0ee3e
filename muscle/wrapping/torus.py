"""The torus: a ring through which a path passes, bearing on the inner side of its tube.

A point is at azimuth phi around the ring and at angle psi around the tube, psi = pi innermost. Three unknowns, phi and
psi of the point where the path comes on and the length s of the geodesic from there, meet three conditions: the line
from A touches the surface, and the line at the end touches it and goes to B. On a geodesic rho^2 phi' = c stays
constant (Clairaut), which leaves psi'' = -c^2 sin(psi) / (r rho^3), rho = R + r cos(psi), for Stoermer's rule. The
inner side curves like a saddle, so that there is one such path. Where s comes out negative the path does not touch.
Where Newton's method does not get there, as in holes far narrower than the tube, the path is found around a thin tube
along the edge of the same hole, which then grows.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from myoquat.joints.stacking import joined
from myoquat.joints.vectors import cross
from myoquat.kernels import iterate
from myoquat.kernels.arrays import as_array
from myoquat.kernels.typing import Array
from myoquat.muscle.wrapping.base import Contact, Line, Wrap
from myoquat.muscle.wrapping.circle import Winding, around
from myoquat.muscle.wrapping.geodesics import Rates, finite, followed
from myoquat.muscle.wrapping.vectors import dot, unit

__all__ = ["WrapTorus"]

NEWTON = 14  # steps for phi, psi and s
SETTLED = 1e-9  # [rad, m] by which the last but one step may move
PART = 0.8  # length of a part of a geodesic, of the radius of the tube
FINEST = 6  # substeps of the finest rule that is extrapolated
FARTHEST = 0.8  # [rad] of phi and psi, and of s seen from the tube's radius, that one step may change
SHORTER, TRIALS = 0.4, 4  # of a step that does not lead nearer, and how often
DIFFERENCE = 1e-7  # for slopes, of the same unknowns
TURNS = 8  # to the azimuth at which a string over the hole's edge would lie
LEVELS, STEPS = 4, 3  # how often a tube that was thin grows to twice its radius, and Newton's steps at each
SOLVED = 1e-9  # of the conditions, which are angles


@dataclass(frozen=True, kw_only=True)
class WrapTorus(Wrap):
    """A torus around the z axis of its frame: a tube of `tube_radius` [m] along a ring of `ring_radius` [m] (OpenSim's
    inner and outer radius).

    A path passes through the ring: it never crosses the plane of the ring outside of it, whatever the quadrant. The
    length jumps where an end of it does. Where several surfaces act on one piece, this holds on the path's stretch
    between the neighbours of the torus; beyond the next surface a path may come back past the outside of the tube, as
    a thread through a ring does.

    >>> import numpy as np
    >>> from myoquat.muscle import WrapTorus
    >>> ring = WrapTorus(body="femur", ring_radius=0.05, tube_radius=0.01)  # a path passes through the hole
    >>> contact = ring.contact(np.array([0.08, 0.0, 0.1]), np.array([0.08, 0.0, -0.1]))
    >>> bool(contact.on), float(contact.arc.round(4))
    (True, 0.0077)
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

    def numbers(self) -> tuple[Any, ...]:
        return (self.ring_radius, self.tube_radius)

    def shaped(self, numbers: Array) -> Self:
        changes: dict[str, Any] = {"ring_radius": numbers[..., 0], "tube_radius": numbers[..., 1]}
        return replace(self, **changes)

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
        near, winding = _bent(phi, A, B, R, r)
        given = joined([A, B, np.stack(np.broadcast_arrays(R + 0.0 * phi, r + 0.0 * phi), axis=-1)])
        sought = where if backwards else np.logical_not(self._clear(A, B)) & where
        solved = iterate(_newton, near, given, NEWTON, SETTLED, sought)
        lost = sought & np.logical_not(_missed(_conditions(solved, given)[0]) < SOLVED)
        grown = iterate(_from_thin, near, given, 1, where=lost)
        solved = np.where(lost[..., None], grown, solved)
        solved = np.where(finite(solved), solved, near)
        h, P, Q = _conditions(solved, given)
        miss = _missed(h)
        inside = ~((self._depth(A) > 0) & (self._depth(B) > 0))
        on = sought & (solved[..., 2] > 0) & (miss < SOLVED) & ~inside
        wanted = sought & (winding.angle > 0) & ~inside
        return Contact(on, P, Q, solved[..., 2], inside, winding.jump, np.where(wanted | on, miss, 0.0))

    def _clear(self, A: Array, B: Array) -> Array:
        """(...) whether the line from A to B stays within the hole where it is as high as the tube, so that it surely
        passes without touching."""
        rise = B[..., 2] - A[..., 2]
        rise = np.where(rise != 0, rise, 1e-300)
        widest = 0.0 * rise
        for height in (-self.tube_radius, self.tube_radius):
            share = np.minimum(np.maximum((height - A[..., 2]) / rise, 0.0), 1.0)
            x, y = (A[..., i] + share * (B[..., i] - A[..., i]) for i in range(2))
            widest = np.maximum(widest, x * x + y * y)
        hole = self.ring_radius - self.tube_radius
        result: Array = widest < hole * hole
        return result

    def _depth(self, x: Array) -> Array:
        """How far outside the tube a point is."""
        aside = np.sqrt(x[..., 0] * x[..., 0] + x[..., 1] * x[..., 1]) - self.ring_radius
        result: Array = np.sqrt(aside * aside + x[..., 2] * x[..., 2]) - self.tube_radius
        return result

    def meets(self, A: Array, B: Array) -> Array:
        """Nowhere: without the solver nothing is known."""
        return np.zeros(np.broadcast_shapes(A.shape[:-1], B.shape[:-1])) > 0

    def onto(self, x: Array) -> Array:
        ring = self.ring_radius * unit(x * np.array([1.0, 1.0, 0.0]))
        return ring + self.tube_radius * unit(x - ring)

    def normal(self, P: Array) -> Array:
        flat = np.stack([P[..., 0], P[..., 1], 0.0 * P[..., 2]], axis=-1)
        result: Array = P - as_array(self.ring_radius)[..., None] * unit(flat)
        return result


def _bent(phi: Array, A: Array, B: Array, R: Array | float, r: Array | float) -> tuple[Array, Winding]:
    """(..., 3) the unknowns of a path in the plane at azimuth phi, around the tube as around a cylinder there, and how
    that one winds."""
    out = np.stack([np.cos(phi), np.sin(phi), 0.0 * phi], axis=-1)
    ends = [(dot(x, out) - R, x[..., 2]) for x in (A, B)]
    winding = around(ends[0], ends[1], r, (-1.0, 0.0))
    psi = np.arctan2(winding.P[1], winding.P[0])
    return np.stack([phi, np.where(psi < 0, psi + 2 * np.pi, psi), r * winding.angle], axis=-1), winding


def _from_thin(near: Array, given: Array) -> Array:
    """The unknowns, found first around a thin tube along the same hole, which then grows."""
    A, B, R, r = given[..., :3], given[..., 3:6], given[..., 6], given[..., 7]
    hole = R - r
    X = hole[..., None] * np.stack([np.cos(near[..., 0]), np.sin(near[..., 0]), 0.0 * hole], axis=-1)
    for _ in range(TURNS):  # to where a string over the hole's edge would lie
        pull = A * _nearness(A, X) + B * _nearness(B, X)
        phi = np.arctan2(pull[..., 1], pull[..., 0])
        X = hole[..., None] * np.stack([np.cos(phi), np.sin(phi), 0.0 * hole], axis=-1)
    thin = r * 0.5**LEVELS
    state = joined([_bent(phi, A, B, hole + thin, thin)[0], thin[..., None]])
    state = iterate(_thicker, state, given, LEVELS)
    return iterate(_newton, state[..., :3], given, NEWTON, SETTLED)


def _nearness(A: Array, X: Array) -> Array:
    """(..., 1) 1 / |A - X|."""
    result: Array = 1.0 / np.sqrt(dot(A - X, A - X))[..., None]
    return result


def _thicker(state: Array, given: Array) -> Array:
    """The unknowns and the radius of the tube, twice as thick, after some steps at the one it had."""
    tube = state[..., 3]
    thin = joined([given[..., :6], (given[..., 6] - given[..., 7] + tube)[..., None], tube[..., None]])
    found = iterate(_newton, state[..., :3], thin, STEPS)
    return joined([found[..., :2], 2.0 * found[..., 2:], 2.0 * state[..., 3:]])


def _missed(h: Array) -> Array:
    """(...) by how much the conditions are not met."""
    result: Array = np.sqrt(dot(h, h))
    return result


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
    aside = np.arctan2(dot(away, cross(m, w)), dot(away, w))
    return np.stack([dot(line, n), dot(away, m), aside], axis=-1), P, Q


def _newton(unknowns: Array, given: Array) -> Array:
    """A step of Newton's method, shortened until the conditions are met better; its slopes are differences, which only
    steer."""
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
    largest = np.maximum(np.maximum(np.abs(move[..., 0]), np.abs(move[..., 1])), np.abs(move[..., 2]))
    move = move * (FARTHEST / np.maximum(largest, FARTHEST))[..., None] * units
    share = iterate(
        _shortened, 0.0 * move[..., :1] + 1.0, joined([unknowns, move, dot(h, h)[..., None], given]), TRIALS
    )
    result: Array = unknowns + share * move
    return result


def _shortened(share: Array, given: Array) -> Array:
    """The share of a move that is tried next, or the same where it meets the conditions better than none does."""
    unknowns, move, before = given[..., :3], given[..., 3:6], given[..., 6]
    h = _conditions(unknowns + share * move, given[..., 7:])[0]
    result: Array = np.where((dot(h, h) < before)[..., None], share, SHORTER * share)
    return result


def _geodesic(phi: Array, psi: Array, turning: Array, c: Array, length: Array, R: Array, r: Array) -> Array:
    """(..., 3) phi, psi and dpsi/ds after a geodesic of `length`."""
    psi, turning, phi, length = (x[..., None] for x in (psi, turning, phi, length))
    given = np.stack(np.broadcast_arrays(c, R, r, subok=True), axis=-1)
    psi, turning, phi = followed(_part, psi, turning, phi, length, _longest, given, FINEST)
    return joined([phi, psi, turning])


def _longest(psi: Array, turning: Array, given: Array) -> Array:
    """(..., 1) how long a part may be: so much of the tube's radius, and of the distance sqrt(r rho), of about
    1 / sqrt(|K|) with Gauss' curvature K, along which the azimuth's rate c / rho^2 changes in a narrow hole."""
    R, r = given[..., 1:2], given[..., 2:3]
    longest: Array = PART * np.minimum(r, np.sqrt(r * (R + r * np.cos(psi))))
    return longest


def _part(psi: Array, turning: Array, given: Array) -> Rates:
    """psi'' and phi'."""
    c, R, r = (given[..., i : i + 1] for i in range(3))

    def rates(psi: Array) -> tuple[Array, Array]:
        rho = R + r * np.cos(psi)
        return -c * c * np.sin(psi) / (r * rho * rho * rho), c / (rho * rho)

    return rates
