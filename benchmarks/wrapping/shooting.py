"""All locally shortest paths past spheres, ellipsoids and long cylinders by geodesic shooting, without path solvers.

A line from one end touches the first surface at an angle u of the outline. It follows the geodesic, leaves it where the
tangent touches the next surface, and so on. From the last one it leaves in the tangent plane of the other end (`rays`).
It misses that end aside by a function of u. There is one function for each order of surfaces, and for each of the two
tangents from one surface to the next. Sign changes of a function, also next to the folds at which two tangents become
one, bracket the locally shortest paths. Newton's method on all conditions polishes them. Paths through another surface,
and those that pass a cylinder on the wrong side, are left out. A path that does not touch a sided cylinder may come to
it at any place.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from benchmarks.wrapping.ray_surfaces import QUADRIC, Shape
from benchmarks.wrapping.rays import conditions, shots

Array = np.ndarray
BISECTIONS, NEAR_FOLD, REGULA_FALSI, NEWTON = 16, 9, 8, 12
OUTLINE_ANGLES = 120  # angles of an outline
MET = 1e-8  # conditions of a solution
APART = 1e-9  # how far segments stay outside of other surfaces
STILL = 1e-11  # [rad, m] the last step of Newton's method
SAME_LENGTH_M = 1e-9  # [m] beyond a lower bound, up to which a path is the shortest
SADDLE_M = 1e-6  # [m] width of the pencil of rays below which a path is a saddle point of the length


@dataclass(frozen=True)
class Quadric:
    """Surfaces of n configurations: centers c (n, 3), axes R (n, 3, 3) as columns, inverse half axes k (n, 3).

    sided: of a cylinder, whether paths never cross the half plane x < 0 at y = 0 of its frame.
    """

    c: Array
    R: Array
    k: Array
    cylinder: bool = False
    sided: bool = False
    shape: Shape = QUADRIC

    @property
    def halves(self) -> bool:
        """Whether the outline is two curves, one in each half of its angles."""
        return self.cylinder

    def at(self, rows: Array) -> Self:
        return replace(self, c=self.c[rows], R=self.R[rows], k=self.k[rows])

    @property
    def numbers(self) -> Array:
        """(n, SIZE) for `rays`."""
        flag = np.full((len(self.c), 1), float(self.cylinder))
        return np.concatenate([self.c, self.R.reshape(-1, 9), self.k, flag], axis=1)

    def seen(self, x: Array) -> Array:
        return self.into(x - self.c)

    def into(self, v: Array) -> Array:
        return np.einsum("nj,nji->ni", v, self.R)

    def clears(self, a: Array, b: Array, touched: bool) -> Array:
        """(n,) whether segments from a to b (n, 3) do not run through the surface. It is convex, so that those that
        touch it do not."""
        if touched:
            return np.ones(len(a), dtype=bool)
        p, w = self.seen(a) * self.k, self.into(b - a) * self.k
        square = _dot(w, w)
        t = np.clip(-_dot(p, w) / np.where(square > 0, square, 1.0), 0, 1)[:, None]
        return np.asarray(_dot(p + t * w, p + t * w) > 1 - APART)

    def keeps_side(self, stops: list[Array], first: int | None) -> Array:
        """(n,) whether a path keeps to the side of a cylinder that is sided. Others are passed on either side. first:
        the number of the segment before the surface, None where the path does not touch it."""
        if not self.sided:
            return np.ones(len(stops[0]), dtype=bool)
        points = [self.seen(x)[:, :2] for x in stops]
        turns = [_angle(a, b) for a, b in itertools.pairwise(points)]
        if first is not None:
            sense = np.sign(_angle(points[first + 1], 2 * points[first + 1] - points[first]))
            turn = turns[first + 1]
            turns[first + 1] = np.where(turn * sense < -1e-9, turn + 2 * np.pi * sense, turn)
        return _in_front(first, points, turns)


@dataclass(frozen=True)
class Task:
    """Ends A, B (n, 3), the surfaces, and which of them a path touches, in this order."""

    A: Array
    B: Array
    bodies: tuple[Quadric, ...]
    order: tuple[int, ...] = ()
    tangents: tuple[int, ...] = ()

    @property
    def first(self) -> Shape:
        """The shape of the surface that the path touches first."""
        return self.bodies[self.order[0]].shape

    @property
    def numbers(self) -> Array:
        """(n, 6 + SIZE count) both ends, and the numbers of the surfaces in their order."""
        return np.concatenate([self.A, self.B, *(self.bodies[i].numbers for i in self.order)], axis=1)

    def at(self, rows: Array) -> "Task":
        return Task(self.A[rows], self.B[rows], tuple(b.at(rows) for b in self.bodies), self.order, self.tangents)


def local_minima(A: Array, B: Array, bodies: Sequence[Quadric]) -> list[list[tuple[float, tuple[int, ...]]]]:
    """Of each configuration the lengths of all locally shortest paths, and the order in which they touch surfaces.

    Rays are shot from both ends, since a path may be hidden between two rays from one of them.
    """
    task = Task(A, B, tuple(bodies))
    found: list[list[tuple[float, tuple[int, ...]]]] = [[] for _ in A]
    for i in np.flatnonzero(is_straight(task)):
        found[i].append((float(np.linalg.norm(B[i] - A[i])), ()))
    for count in range(1, len(bodies) + 1):
        for order in itertools.permutations(range(len(bodies)), count):
            rows, length, valid = _from_both_ends(task, order)
            for i, own in zip(rows[valid], length[valid], strict=True):
                found[i].append((float(own), order))
    return found


def shortest_lengths(A: Array, B: Array, bodies: Sequence[Quadric]) -> Array:
    """(n,) [m] the least of the lengths of `local_minima`; infinite where none is found.

    Another surface never shortens a path. Paths over several surfaces are not looked for where the straight line clears
    all. Nor are they where the shortest path over one surface without a side clears all others.
    """
    task = Task(A, B, tuple(bodies))
    bound, straight = np.linalg.norm(B - A, axis=1), is_straight(task)
    best = np.where(straight, bound, np.inf)
    for count in range(1, len(bodies) + 1):
        for order in itertools.permutations(range(len(bodies)), count):
            left = np.flatnonzero(best > bound + SAME_LENGTH_M if count > 1 else ~straight)
            rows, length, valid = _from_both_ends(task.at(left), order)
            np.minimum.at(best, left[rows[valid]], length[valid])
            if count == 1 and not bodies[order[0]].sided:
                free = bodies[order[0]].clears(A, B, False)
                alone = np.where(free, np.linalg.norm(B - A, axis=1), np.inf)
                np.minimum.at(alone, left[rows], length)
                bound = np.where(np.isfinite(alone), np.maximum(bound, alone), bound)
    return best


def is_straight(task: Task) -> Array:
    """(n,) whether the straight line between the ends is a path."""
    return _clear(task, [task.A, task.B]) & _on_side(task, [task.A, task.B])


def _from_both_ends(task: Task, order: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """`solutions` in one order, with every choice of tangents, from both ends."""
    back = replace(task, A=task.B, B=task.A)
    tasks = [replace(task, order=order, tangents=t) for t in itertools.product((0, 1), repeat=len(order) - 1)]
    if len(order) > 1:
        tasks += [replace(back, order=order[::-1], tangents=own.tangents) for own in tasks]
    found = [solutions(own) for own in tasks] if len(task.A) else []
    none = np.zeros(0, dtype=int), np.zeros(0), np.zeros(0, dtype=bool)
    rows, length, valid = (np.concatenate(x) for x in zip(none, *found, strict=True))
    return rows, length, valid


def solutions(task: Task) -> tuple[Array, Array, Array]:
    """Configurations and lengths of the paths in one order, with one choice of tangents. Then whether they clear the
    other surfaces and keep to the sides."""
    n, u = len(task.A), (np.arange(OUTLINE_ANGLES) + 0.37) / OUTLINE_ANGLES
    missed = _shot(task.at(np.repeat(np.arange(n), OUTLINE_ANGLES)), np.tile(u, n))[0].reshape(n, OUTLINE_ANGLES)
    after = np.roll(missed, -1, 1)
    pair = (missed * after <= 0) & (np.abs(missed - after) < 1.5)
    if task.bodies[task.order[0]].halves:
        pair[:, [OUTLINE_ANGLES // 2 - 1, -1]] = False  # from one side to the other
    rows, cols = np.nonzero(pair)
    found, begin = _at_folds(task, u, missed)
    brackets = [(rows, u[cols], u[cols] + 1 / OUTLINE_ANGLES, missed[rows, cols], after[rows, cols]), *found]
    rows, low, high, f_low, f_high = (np.concatenate(x) for x in zip(*brackets, strict=True))
    own = task.at(rows)
    if len(rows):
        for _ in range(REGULA_FALSI):
            steep = f_high != f_low
            mid = np.where(steep, (low * f_high - high * f_low) / np.where(steep, f_high - f_low, 1.0), low)
            f, arcs = _shot(own, mid)
            same = f * f_high > 0
            f_low, f_high = np.where(same, 0.5 * f_low, f), np.where(same, f, 0.5 * f_high)
            low, high = np.where(same, low, mid), np.where(same, mid, high)
        begin.append((rows, np.column_stack([mid, *arcs])))
    if not begin:
        return np.zeros(0, dtype=int), np.zeros(0), np.zeros(0, dtype=bool)
    rows, z = (np.concatenate(x) for x in zip(*begin, strict=True))
    own = task.at(rows)
    length, stops, good = _polished(own, z)
    valid = good & _clear(own, stops) & _on_side(own, stops)
    return rows[good], length[good], valid[good]


def _at_folds(task: Task, u: Array, missed: Array) -> tuple[list[tuple[Array, ...]], list[tuple[Array, Array]]]:
    """Brackets of sign changes between the last angle of the grid at which there is a path and the fold behind it. Then
    rows and z there. Newton's method starts there too, because two tangents nearly coincide next to a fold."""
    brackets, begin = [], []
    for way in (1, -1):
        rows, cols = np.nonzero(np.isfinite(missed) & ~np.isfinite(np.roll(missed, -way, 1)))
        if not len(rows):
            continue
        own, near, far = task.at(rows), u[cols].copy(), u[cols] + way / OUTLINE_ANGLES
        for _ in range(BISECTIONS):
            mid = 0.5 * (near + far)
            there = np.isfinite(_shot(own, mid)[0])
            near, far = np.where(there, mid, near), np.where(there, far, mid)
        last, f_last = u[cols], missed[rows, cols]
        for k in range(1, NEAR_FOLD):
            here = near + (u[cols] - near) * 4.0**-k if k < NEAR_FOLD - 1 else near
            f = _shot(own, here)[0]
            hit = (f * f_last <= 0) & (np.abs(f - f_last) < 1.5)
            brackets.append((rows[hit], last[hit], here[hit], f_last[hit], f[hit]))
            last, f_last = here, f
        begin += [(rows, np.column_stack([x, *_shot(own, x)[1]])) for x in (u[cols], near)]
    return brackets, begin


def _shot(task: Task, u: Array) -> tuple[Array, list[Array]]:
    """(n,) sine of the angle by which the last line misses B aside, NaN where there is none; and the arcs."""
    count = len(task.order)
    rising = np.broadcast_to([1.0 - 2.0 * t for t in task.tangents], (len(u), count - 1))
    found = shots(count, task.first)(np.concatenate([u[:, None], task.numbers, rising], axis=1), threads=1)
    return found[:, 0], list(found[:, 1:].T)


def _conditions(task: Task, z: Array) -> tuple[Array, Array, list[Array], Array]:
    """Conditions of a locally shortest path in z = (u, arcs): residuals, length and stops. Then whether lines run
    forward and the path is no saddle point of the length."""
    count = len(task.order)
    found = conditions(count, task.first)(np.concatenate([z, task.numbers], axis=1), threads=1)
    stops = [task.A, *np.split(found[:, count + 4 :], 2 * count, axis=1), task.B]
    minimal = (found[:, count + 2] > 0) & (found[:, count + 3] > -SADDLE_M)
    return found[:, : count + 1], found[:, count + 1], stops, minimal


def _polished(task: Task, z: Array) -> tuple[Array, list[Array], Array]:
    """Length and stops after Newton's method on all conditions, and whether they are met."""
    count = z.shape[1]
    farthest, eps = np.array([0.03] + [0.02] * (count - 1)), np.array([1e-7] + [1e-8] * (count - 1))
    z = newton(lambda rows, x: _conditions(task.at(rows), x)[0], z, farthest, eps)
    missed, length, stops, forward = _conditions(task, z)
    return length, stops, (np.abs(missed).max(1) < MET) & forward & (z[:, 1:].min(1) > -1e-9)


def newton(missed_at: Callable[[Array, Array], Array], z: Array, farthest: Array, eps: Array) -> Array:
    """z (n, m) after Newton's method on m conditions of rows and z, by differences of eps (m,). A step changes no
    number by more than `farthest` (m,)."""
    z, left = z.copy(), np.arange(len(z))
    for _ in range(NEWTON):
        x = z[left]
        missed = missed_at(left, x)
        columns = [(missed_at(left, x + d) - missed) / d.max() for d in np.diag(eps)]
        J = np.stack(columns, -1)
        going = np.isfinite(J).all((1, 2)) & np.isfinite(missed).all(1)
        left, x, J, missed = left[going], x[going], J[going], missed[going]
        step = np.einsum("nij,nj->ni", np.linalg.pinv(J), missed)
        z[left] = x - step / np.maximum(1.0, np.max(np.abs(step) / farthest, axis=1))[:, None]
        left = left[np.abs(step).max(1) > STILL]
        if not len(left):
            break
    return z


def _clear(task: Task, stops: list[Array]) -> Array:
    """(n,) whether no segment runs through a surface."""
    clear = np.ones(len(task.A), dtype=bool)
    for g, (a, b) in enumerate(zip(stops[::2], stops[1::2], strict=True)):
        touched = task.order[max(g - 1, 0) : g + 1]
        for i, body in enumerate(task.bodies):
            clear &= body.clears(a, b, i in touched)
    return clear


def _on_side(task: Task, stops: list[Array]) -> Array:
    """(n,) whether the path keeps to the sides of all surfaces."""
    right = np.ones(len(task.A), dtype=bool)
    for i, body in enumerate(task.bodies):
        right &= body.keeps_side(stops, 2 * task.order.index(i) if i in task.order else None)
    return right


def _in_front(first: int | None, points: list[Array], turns: list[Array]) -> Array:
    """(n,) whether no segment crosses the half plane behind. The segments before and after the cylinder may have both
    their far ends behind on one side. Between them the path then must lead around the front."""
    near = () if first is None else (first, first + 1, first + 2)
    right = np.ones(len(points[0]), dtype=bool)
    for g in range(len(turns)):
        if g not in near:
            right &= ~_crosses(points[g], points[g + 1])
    if first is not None:
        g = first
        a, b = points[g], points[g + 3]
        rear = (a[:, 0] < 0) & (b[:, 0] < 0) & (a[:, 1] * b[:, 1] > 0)
        short = _angle(a, b)
        asked = np.where(rear | _crosses(a, b), short - 2 * np.pi * np.sign(short), short)
        return right & (np.abs(turns[g] + turns[g + 1] + turns[g + 2] - asked) < 1e-3)
    free = [(points[g][:, 0] >= 0) | (points[g + 1][:, 0] >= 0) for g in range(0, len(turns), 2)]
    return right & np.any(free, axis=0)


def _crosses(a: Array, b: Array) -> Array:
    """(n,) whether the line from a to b (n, 2) crosses the half plane x < 0 at y = 0."""
    differ = a[:, 1] * b[:, 1] < 0
    share = a[:, 1] / np.where(differ, a[:, 1] - b[:, 1], 1.0)
    return differ & (a[:, 0] + share * (b[:, 0] - a[:, 0]) < 0)


def _angle(a: Array, b: Array) -> Array:
    """(n,) from a to b (n, 2)."""
    return np.arctan2(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0], _dot(a, b))


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.sum(a * b, -1))
