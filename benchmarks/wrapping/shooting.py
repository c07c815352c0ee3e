"""All taut paths past spheres, ellipsoids and long cylinders, by geodesic shooting; nothing of the toolkit's own.

A surface is |k x|^2 = 1 in its frame, with the inverse half axes k (0 along the axis of a cylinder). A line from one
end touches the first surface at an angle u of the outline. It follows the geodesic
x'' = -(v . D v) / |D x|^2 D x, D = diag(k^2), leaves it where the tangent touches the next surface, and so on; from the
last one it leaves in the tangent plane of the other end. What it misses that end by, aside, is a function of u alone
for each order of surfaces and for each of the two tangents from one surface to the next. Sign changes of this function,
also next to the folds at which two tangents become one, enclose the taut paths; Newton's method on all conditions
polishes them. Paths through another surface, and those that pass a cylinder on the wrong side, are left out.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Quadric", "shortest_lengths", "taut_paths"]

Array = np.ndarray
Along = Callable[[Array, Array, Array | None], Array]  # x, v, rows -> what crosses zero along a geodesic
FORWARD, BACK, FINE = 40, 14, 48  # steps along half a turn, before the start, and of a polished geodesic
BISECTIONS, NEAR_FOLD, REGULA_FALSI, NEWTON = 16, 9, 8, 8
GRID = 120  # angles of an outline
MET, APART = 1e-8, 1e-9  # conditions of a solution; how far segments stay outside of other surfaces


@dataclass(frozen=True)
class Quadric:
    """Surfaces of n configurations: centers c (n, 3), axes R (n, 3, 3) as columns, inverse half axes k (n, 3)."""

    c: Array
    R: Array
    k: Array
    cylinder: bool = False

    def at(self, rows: Array) -> "Quadric":
        return Quadric(self.c[rows], self.R[rows], self.k[rows], self.cylinder)

    def seen(self, x: Array) -> Array:
        return self.into(x - self.c)

    def into(self, v: Array) -> Array:
        return np.einsum("nj,nji->ni", v, self.R)

    def turned(self, v: Array) -> Array:
        return np.einsum("nj,nij->ni", v, self.R)

    def placed(self, x: Array) -> Array:
        return self.c + self.turned(x)


@dataclass(frozen=True)
class _Task:
    """Ends A, B (n, 3), the surfaces, and which of them a path touches, in this order."""

    A: Array
    B: Array
    bodies: tuple[Quadric, ...]
    order: tuple[int, ...] = ()
    tangents: tuple[int, ...] = ()

    def at(self, rows: Array) -> "_Task":
        return _Task(self.A[rows], self.B[rows], tuple(b.at(rows) for b in self.bodies), self.order, self.tangents)


def taut_paths(A: Array, B: Array, bodies: Sequence[Quadric]) -> list[list[tuple[float, tuple[int, ...]]]]:
    """Of each configuration the lengths of all taut paths found, and the order in which they touch surfaces."""
    task = _Task(A, B, tuple(bodies))
    found: list[list[tuple[float, tuple[int, ...]]]] = [[] for _ in A]
    for i in np.flatnonzero(_clear(task, [A, B]) & _on_side(task, [A, B])):
        found[i].append((float(np.linalg.norm(B[i] - A[i])), ()))
    for count in range(1, len(bodies) + 1):
        for order in itertools.permutations(range(len(bodies)), count):
            for tangents in itertools.product((0, 1), repeat=count - 1):
                for i, length in _solutions(_Task(A, B, task.bodies, order, tangents)):
                    found[i].append((length, order))
    return found


def shortest_lengths(A: Array, B: Array, bodies: Sequence[Quadric]) -> Array:
    """(n,) [m] the least of the lengths of `taut_paths`; infinite where none is found."""
    return np.array([min((length for length, _ in paths), default=np.inf) for paths in taut_paths(A, B, bodies)])


def _solutions(task: _Task) -> list[tuple[int, float]]:
    """Configurations and lengths of the paths in one order, with one choice of tangents."""
    n, u = len(task.A), (np.arange(GRID) + 0.37) / GRID
    missed = _shot(task.at(np.repeat(np.arange(n), GRID)), np.tile(u, n))[0].reshape(n, GRID)
    after = np.roll(missed, -1, 1)
    pair = (missed * after <= 0) & (np.abs(missed - after) < 1.5)
    if task.bodies[task.order[0]].cylinder:
        pair[:, [GRID // 2 - 1, -1]] = False  # from one side to the other
    rows, cols = np.nonzero(pair)
    brackets = [(rows, u[cols], u[cols] + 1 / GRID, missed[rows, cols], after[rows, cols]), *_at_folds(task, u, missed)]
    rows, low, high, f_low, f_high = (np.concatenate(x) for x in zip(*brackets, strict=True))
    if not len(rows):
        return []
    own = task.at(rows)
    for _ in range(REGULA_FALSI):
        steep = f_high != f_low
        mid = np.where(steep, (low * f_high - high * f_low) / np.where(steep, f_high - f_low, 1.0), low)
        f, arcs = _shot(own, mid)
        same = f * f_high > 0
        f_low, f_high = np.where(same, 0.5 * f_low, f), np.where(same, f, 0.5 * f_high)
        low, high = np.where(same, low, mid), np.where(same, mid, high)
    length, stops, good = _polished(own, np.column_stack([mid, *arcs]))
    good &= _clear(own, stops) & _on_side(own, stops)
    return [(int(rows[j]), float(length[j])) for j in np.flatnonzero(good)]


def _at_folds(task: _Task, u: Array, missed: Array) -> list[tuple[Array, Array, Array, Array, Array]]:
    """Brackets of sign changes between the last angle of the grid at which there is a path and the fold behind it."""
    found = []
    for way in (1, -1):
        rows, cols = np.nonzero(np.isfinite(missed) & ~np.isfinite(np.roll(missed, -way, 1)))
        if not len(rows):
            continue
        own, near, far = task.at(rows), u[cols].copy(), u[cols] + way / GRID
        for _ in range(BISECTIONS):
            mid = 0.5 * (near + far)
            there = np.isfinite(_shot(own, mid)[0])
            near, far = np.where(there, mid, near), np.where(there, far, mid)
        last, f_last = u[cols], missed[rows, cols]
        for k in range(1, NEAR_FOLD):
            here = near + (u[cols] - near) * 4.0**-k if k < NEAR_FOLD - 1 else near
            f = _shot(own, here)[0]
            hit = (f * f_last <= 0) & (np.abs(f - f_last) < 1.5)
            found.append((rows[hit], last[hit], here[hit], f_last[hit], f[hit]))
            last, f_last = here, f
    return found


def _shot(task: _Task, u: Array) -> tuple[Array, list[Array]]:
    """(n,) sine of the angle by which the last line misses B aside, NaN where there is none; and the arcs."""
    body = task.bodies[task.order[0]]
    P, v = _outline(body, task.A, u)
    arcs: list[Array] = []
    for j, i in enumerate(task.order):
        body = task.bodies[i]
        if j == len(task.order) - 1:
            x, v, s = _crossing(body, P, v, _above(body, task.B), True)
            d = body.seen(task.B) - x
            aside = _dot(d, np.cross(_unit(body.k**2 * x), v)) / np.sqrt(_dot(d, d))
            arcs.append(s)
            return np.where(_dot(d, v) > 0, aside, np.nan), arcs
        after = task.bodies[task.order[j + 1]]
        x, v, s = _crossing(body, P, v, _discriminant(body, after), task.tangents[j] == 0)
        arcs.append(s)
        W, V = after.seen(body.placed(x)), after.into(body.turned(v))
        p, w = W * after.k, V * after.k
        ahead = -_dot(p, w) / _dot(w, w)
        P, v = W + np.where(ahead > 0, ahead, np.nan)[:, None] * V, V
    raise AssertionError("a path has a last surface")


def _above(body: Quadric, B: Array) -> Along:
    """How high B is above the tangent plane."""
    target = body.seen(B)

    def height(x: Array, v: Array, rows: Array | None) -> Array:
        k, b = (body.k, target) if rows is None else (body.k[rows], target[rows])
        return _dot(b - x, _unit(k**2 * x))

    return height


def _discriminant(body: Quadric, after: Quadric) -> Along:
    """Of the tangent line with the next surface: zero where it touches, positive where it runs into it ahead."""

    def value(x: Array, v: Array, rows: Array | None) -> Array:
        own, other = (body, after) if rows is None else (body.at(rows), after.at(rows))
        p, w = other.seen(own.placed(x)) * other.k, other.into(own.turned(v)) * other.k
        along, outside = _dot(p, w), _dot(w, w) * (_dot(p, p) - 1)
        return np.where(along < 0, along * along - outside, -np.abs(outside))

    return value


def _outline(body: Quadric, A: Array, u: Array) -> tuple[Array, Array]:
    """Where lines from A touch a surface, and their directions; u (n,) from 0 to 1, of a cylinder half on each side."""
    a = body.seen(A)
    if body.cylinder:
        sense, climb = np.where(u < 0.5, 1.0, -1.0), ((u % 0.5) * 2 - 0.5) * np.pi * 0.999
        r, square = 1 / body.k[:, 0], a[:, 0] ** 2 + a[:, 1] ** 2
        t, f = np.sqrt(square - r * r), r / square
        flat = f * (r * a[:, 0] - sense * t * a[:, 1]), f * (r * a[:, 1] + sense * t * a[:, 0])
        P = np.stack([*flat, a[:, 2] + t * np.tan(climb)], -1)
    else:
        s = a * body.k
        square = _dot(s, s)
        aside = np.where(np.abs(s[:, :1]) < 0.6 * np.sqrt(square)[:, None], [[1.0, 0, 0]], [[0, 1.0, 0]])
        e1 = _unit(np.cross(s, aside))
        e2, angle = _unit(np.cross(s, e1)), 2 * np.pi * u[:, None]
        circle = np.cos(angle) * e1 + np.sin(angle) * e2
        P = (s / square[:, None] + np.sqrt(1 - 1 / square)[:, None] * circle) / body.k
    return P, _unit(P - a)


def _crossing(body: Quadric, x: Array, v: Array, along: Along, rising: bool) -> tuple[Array, Array, Array]:
    """Point, direction and arc at the first zero of `along` on a geodesic, or the last one before its start."""
    sign, D = 1.0 if rising else -1.0, body.k**2
    flat = np.maximum(np.hypot(v[:, 0], v[:, 1]), 0.1) if body.cylinder else 1.0
    h = 1.1 * np.pi / np.where(body.k > 0, body.k, np.inf).min(1) / flat / FORWARD
    for _ in range(BACK):
        x, v = _stepped(x, v, D, -h)
    f = sign * along(x, v, None)
    found, final = np.zeros(len(x), dtype=bool), np.zeros(len(x), dtype=bool)
    begin = [x.copy(), v.copy(), f.copy(), f.copy(), 0.0 * f]
    for j in range(-BACK, FORWARD):
        y, w = _stepped(x, v, D, h)
        g = sign * along(y, w, None)
        new = ~final & (f < 0) & (g >= 0)
        for kept, now in zip(begin, (x, v, f, g, h * j), strict=True):
            kept[new] = now[new]
        found |= new
        final |= new & (j >= -1)
        x, v, f = y, w, g
        if final.all():
            break
    return _zero(begin, found, (D, h), lambda x, v, rows: sign * along(x, v, rows))


def _zero(begin: list[Array], found: Array, steps: tuple[Array, Array], along: Along) -> tuple[Array, Array, Array]:
    """The zero within a step, by the Illinois method; NaN where none was found."""
    x, v, s = np.full_like(begin[0], np.nan), np.full_like(begin[1], np.nan), np.full(len(found), np.nan)
    i = np.flatnonzero(found)
    if not len(i):
        return x, v, s
    X, V, f_low, f_high, first = (b[i] for b in begin)
    D, high = steps[0][i], steps[1][i]
    low, side, t = np.zeros(len(i)), np.zeros(len(i)), high
    y, w = X, V
    for _ in range(7):
        steep = f_high != f_low
        t = np.where(steep, (low * f_high - high * f_low) / np.where(steep, f_high - f_low, 1.0), 0.5 * (low + high))
        y, w = _stepped(X, V, D, t)
        f = along(y, w, i)
        up = f >= 0
        f_low, f_high = (
            np.where(up & (side == 1), 0.5 * f_low, f_low),
            np.where(~up & (side == -1), 0.5 * f_high, f_high),
        )
        low, high = np.where(up, low, t), np.where(up, t, high)
        f_low, f_high, side = np.where(up, f_low, f), np.where(up, f, f_high), np.where(up, 1, -1)
    x[i], v[i], s[i] = y, w, first + t
    return x, v, s


def _stepped(x: Array, v: Array, D: Array, h: Array) -> tuple[Array, Array]:
    """A step of the classical Runge-Kutta method along a geodesic."""

    def bent(x: Array, v: Array) -> Array:
        n = D * x
        result: Array = -(_dot(v, D * v) / _dot(n, n))[:, None] * n
        return result

    h = h[:, None]
    k1 = bent(x, v)
    k2 = bent(x + h / 2 * v, v + h / 2 * k1)
    k3 = bent(x + h / 2 * v + h * h / 4 * k1, v + h / 2 * k2)
    k4 = bent(x + h * v + h * h / 2 * k2, v + h * k3)
    return x + h * v + h * h / 6 * (k1 + k2 + k3), v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _conditions(task: _Task, z: Array) -> tuple[Array, Array, list[Array], Array]:
    """All conditions of a taut path in z = (u, arcs): residuals, length, stops, and whether all lines run forward."""
    body = task.bodies[task.order[0]]
    P, v = _outline(body, task.A, z[:, 0])
    length, stops, missed, forward = z[:, 1:].sum(1), [task.A], [], np.ones(len(z), dtype=bool)
    for j, i in enumerate(task.order):
        body = task.bodies[i]
        x, w = P, v
        for _ in range(FINE):
            x, w = _stepped(x, w, body.k**2, z[:, j + 1] / FINE)
        stops += [body.placed(P), body.placed(x)]
        if j == len(task.order) - 1:
            d, n = body.seen(task.B) - x, _unit(body.k**2 * x)
            missed += [_dot(_unit(d), n), _dot(_unit(d), np.cross(n, w))]
            forward &= _dot(d, w) > 0
        else:
            after = task.bodies[task.order[j + 1]]
            W, V = after.seen(stops[-1]), after.into(body.turned(w))
            p, q = W * after.k, V * after.k
            ahead = -_dot(p, q) / _dot(q, q)
            y = p + ahead[:, None] * q
            missed.append(_dot(y, y) - 1)
            forward &= ahead > 0
            P, v = W + ahead[:, None] * V, V
    stops.append(task.B)
    straight = sum((np.sqrt(_dot(b - a, b - a)) for a, b in zip(stops[::2], stops[1::2], strict=True)), 0.0 * length)
    return np.stack(missed, 1), length + straight, stops, forward


def _polished(task: _Task, z: Array) -> tuple[Array, list[Array], Array]:
    """Length and stops after Newton's method on all conditions, and whether they are met."""
    count = z.shape[1]
    farthest, eps = np.array([0.03] + [0.02] * (count - 1)), np.array([1e-7] + [1e-8] * (count - 1))
    for _ in range(NEWTON):
        missed = _conditions(task, z)[0]
        columns = [(_conditions(task, z + d)[0] - _conditions(task, z - d)[0]) / (2 * d.max()) for d in np.diag(eps)]
        J = np.stack(columns, -1)
        lost = ~(np.isfinite(J).all((1, 2)) & np.isfinite(missed).all(1))
        J[lost], missed[lost] = np.eye(count), 0.0
        step = np.einsum("nij,nj->ni", np.linalg.pinv(J), missed)
        z = z - step / np.maximum(1.0, np.max(np.abs(step) / farthest, axis=1))[:, None]
    missed, length, stops, forward = _conditions(task, z)
    return length, stops, (np.abs(missed).max(1) < MET) & forward & (z[:, 1:].min(1) > -1e-9)


def _clear(task: _Task, stops: list[Array]) -> Array:
    """(n,) whether no segment runs through a surface that it does not touch."""
    clear = np.ones(len(task.A), dtype=bool)
    for g, (a, b) in enumerate(zip(stops[::2], stops[1::2], strict=True)):
        touched = task.order[max(g - 1, 0) : g + 1]
        for i, body in enumerate(task.bodies):
            if i not in touched:
                p, w = body.seen(a) * body.k, body.into(b - a) * body.k
                square = _dot(w, w)
                t = np.clip(-_dot(p, w) / np.where(square > 0, square, 1.0), 0, 1)[:, None]
                clear &= _dot(p + t * w, p + t * w) > 1 - APART
    return clear


def _on_side(task: _Task, stops: list[Array]) -> Array:
    """(n,) whether the path turns about each cylinder as the straight line between its ends does."""
    right = np.ones(len(task.A), dtype=bool)
    for i, body in enumerate(task.bodies):
        if body.cylinder:
            points, turn = [body.seen(x)[:, :2] for x in stops], np.zeros(len(task.A))
            for g, (a, b) in enumerate(itertools.pairwise(points)):
                angle = _angle(a, b)
                if g % 2 == 1 and task.order[g // 2] == i:
                    sense = np.sign(_angle(points[g], 2 * points[g] - points[g - 1]))
                    angle = np.where(angle * sense < -1e-9, angle + 2 * np.pi * sense, angle)
                turn += angle
            right &= np.abs(turn - _angle(points[0], points[-1])) < 1e-3
    return right


def _angle(a: Array, b: Array) -> Array:
    """(n,) from a to b (n, 2)."""
    return np.arctan2(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], _dot(a, b))


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.sum(a * b, -1))


def _unit(v: Array) -> Array:
    return v / np.sqrt(_dot(v, v))[:, None]
