"""All locally shortest paths past a quadric, or none, and through a ring, by geodesic shooting without path solvers.

A path comes to the ring last, as to the last surface of a list. It passes through the ring: no line and no geodesic
crosses the plane of the ring outside of it. Rays are shot over the torus first, from the end of the path. In the plane
of an azimuth a line to its outline touches a circle on two sides. Sign changes over the azimuth therefore bracket all
paths that touch the torus once. Newton's method from both ends finds strings that bear on two sides of the hole. It
starts from many azimuths and arcs on each side. Such a string may run through the other surface. Its length then bounds
that of all paths from below, because another surface never shortens a path.
"""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.wrapping.ray_surfaces import TORUS, Shape
from benchmarks.wrapping.rays import from_both_ends
from benchmarks.wrapping.shooting import MET, Quadric, Task, is_straight, newton, solutions

Array = np.ndarray
SAMPLES = 300  # of a segment, at which its distance from the ring is measured
CLEARANCE_M = 1e-7  # [m] that a segment may enter the tube, by parabolas through the samples
AZIMUTHS, ARCS = (
    24,
    (0.05, 0.6, 1.6),
)  # starts of a string with two contacts: at each end; arcs over the radius of the tube
STARTS = 120  # of a configuration, from which Newton's method begins


@dataclass(frozen=True)
class Ring(Quadric):
    """Tori of n configurations; k (n, 3) holds the radii of ring and tube, and 0."""

    shape: Shape = TORUS

    @property
    def halves(self) -> bool:
        return True

    def clears(self, a: Array, b: Array, touched: bool) -> Array:
        t = np.linspace(0.0, 1.0, SAMPLES + 1)[:, None, None]
        x = self.seen(a) + t * self.into(b - a)
        aside = np.sqrt(x[..., 0] ** 2 + x[..., 1] ** 2) - self.k[:, 0]
        d = np.sqrt(aside * aside + x[..., 2] ** 2) - self.k[:, 1]
        least, bend = d.min(axis=0), d[:-2] - 2 * d[1:-1] + d[2:]
        slope, middle = 0.5 * (d[2:] - d[:-2]), (d[1:-1] <= d[:-2]) & (d[1:-1] <= d[2:]) & (bend > 0)
        vertex = np.where(middle, d[1:-1] - 0.5 * slope**2 / np.where(bend > 0, bend, 1.0), np.inf)
        return np.asarray(np.minimum(least, vertex.min(axis=0)) > -CLEARANCE_M)

    def keeps_side(self, stops: list[Array], first: int | None) -> Array:
        """No line, and no chord under a geodesic of another surface, crosses the plane outside of the ring. A geodesic
        on the tube that does is no solution."""
        own = None if first is None else first + 1
        lines = [pair for g, pair in enumerate(itertools.pairwise(stops)) if g != own]
        return np.asarray(np.all([self.passes(a, b) for a, b in lines], axis=0))

    def passes(self, a: Array, b: Array) -> Array:
        """(n,) whether segments do not cross the plane of the ring outside of it."""
        p, q = self.seen(a), self.seen(b)
        crosses = p[:, 2] * q[:, 2] < 0
        share = p[:, 2] / np.where(crosses, p[:, 2] - q[:, 2], 1.0)
        x = p + share[:, None] * (q - p)
        return ~crosses | (np.sqrt(x[:, 0] ** 2 + x[:, 1] ** 2) < self.k[:, 0])


def shortest_through_ring(A: Array, B: Array, quadric: Quadric, ring: Ring) -> tuple[Array, Array]:
    """(n,) [m] the least length of paths from A to B past a quadric and then through a ring, with a lower bound.

    The length is that of the shortest local minimum found, infinite where there is none. A string over the quadric and
    with two contacts on the ring is not looked for, and may be shorter. This can be so where the string with two
    contacts alone runs through the quadric. There the bound is given; elsewhere it is NaN.
    """
    task = Task(B, A, (quadric, ring))
    straight = is_straight(task)
    best = np.where(straight, np.linalg.norm(B - A, axis=1), np.inf)
    left = np.flatnonzero(~straight)
    for order, tangents in (((0,), ()), ((1,), ()), ((1, 0), (0,)), ((1, 0), (1,))):
        rows, length, valid = solutions(replace(task.at(left), order=order, tangents=tangents))
        np.minimum.at(best, left[rows[valid]], length[valid])
    rows, length, valid = _with_two_contacts(task.at(left))
    np.minimum.at(best, left[rows[valid]], length[valid])
    bound = np.full(len(A), np.inf)
    np.minimum.at(bound, left[rows[~valid]], length[~valid])
    return best, np.where(np.isfinite(bound) & ~straight, bound, np.nan)


def _with_two_contacts(task: Task) -> tuple[Array, Array, Array]:
    """Configurations and lengths of strings that bear on two sides of the hole, and whether they clear the quadric."""
    quadric, ring = task.bodies
    if not isinstance(ring, Ring):
        raise TypeError("the last surface is no ring")
    r, starts = ring.k[:, 1], _starts()
    n, m = len(task.A), len(starts)

    def at(rows: Array, x: Array) -> Array:
        z = x * np.column_stack([np.ones(len(x)), r[rows], np.ones(len(x)), r[rows]])
        row = np.concatenate([z, task.A[rows], task.B[rows], ring.numbers[rows]], axis=1)
        return np.asarray(from_both_ends()(row, threads=1))

    rows = np.repeat(np.arange(n), m)
    first = at(rows, np.tile(starts, (n, 1)))
    usable = np.isfinite(first[:, :4]).all(1) & (first[:, 5] > 0) & (first[:, 6] > 0)
    score = np.where(usable, np.abs(first[:, :4]).max(1), np.inf).reshape(n, m)
    chosen = np.argsort(score, axis=1)[:, :STARTS]
    rows = np.repeat(np.arange(n), STARTS)
    z = newton(
        lambda own, x: at(rows[own], x)[:, :4], starts[chosen.ravel()], np.array([0.03, 0.5] * 2), np.full(4, 1e-7)
    )
    found = at(rows, z)
    good = (np.abs(found[:, :4]).max(1) < MET) & (found[:, 5] > 0) & (found[:, 6] > 0) & (z[:, 1::2].min(1) > 1e-6)
    rows, found = rows[good], found[good]
    stops = np.split(found[:, 7:], 4, axis=1)
    lines = [(task.A[rows], stops[0]), (stops[1], stops[2]), (stops[3], task.B[rows])]
    own, other = ring.at(rows), quadric.at(rows)
    real = np.all([own.clears(a, b, True) & own.passes(a, b) for a, b in lines], axis=0)
    valid = np.all([other.clears(a, b, False) for a, b in lines], axis=0)
    return rows[real], found[real, 4], valid[real]


def _starts() -> Array:
    """(m, 4) angles of the outlines and arcs over the radius of the tube, at both ends."""
    u = (np.arange(2 * AZIMUTHS) + 0.37) / (2 * AZIMUTHS)
    return np.array([(a, s, b, t) for a, b, s, t in itertools.product(u, u, ARCS, ARCS)])
