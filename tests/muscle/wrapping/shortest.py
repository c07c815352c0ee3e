"""Shortest paths around surfaces by SciPy's optimizer: points and curves on the surfaces, nothing of the toolkit's own.

A path touches the surfaces named, in order. On each it comes on at P and leaves at Q: unit vectors (sphere, ellipsoid)
or angle and height (cylinder). Between them it runs along the surface, by the great circle or the helix. On an
ellipsoid it is a curve with free coefficients, whose length Gauss quadrature measures. The straight pieces may not run
into the surface: (A - P) . n(P) >= 0. That is all; tangency comes out of the minimum. All functions take parameters
(..., size), of CasADi's symbols too, which give the derivatives.
"""

from dataclasses import astuple, dataclass, replace
from functools import cache
from itertools import pairwise

import casadi
import numpy as np
from scipy.optimize import minimize

NODES, WEIGHTS = np.polynomial.legendre.leggauss(14)
T = 0.5 * (1 + NODES)
BEND = 7  # free coefficients of a curve on an ellipsoid, in each direction
P_K = [np.polynomial.legendre.Legendre.basis(k) for k in range(BEND)]
BASIS = np.array([T * (1 - T) * p(NODES) for p in P_K])
SLOPES = np.array([(1 - 2 * T) * p(NODES) + 2 * T * (1 - T) * p.deriv()(NODES) for p in P_K])


@dataclass
class Sphere:
    """Parameters of a touch: P and Q as any two vectors, with the great circle between them."""

    R: np.ndarray
    c: np.ndarray
    radius: float
    size = 6

    def start(self, A, B, side, share):
        return np.concatenate([_unit((1 - share) * _unit(x) + share * _unit(side)) for x in (A, B)])

    def claimed(self, P, Q, start):
        return np.concatenate([_unit(P), _unit(Q)])

    def ends(self, x):
        return self.radius * _unit(x[..., :3]), self.radius * _unit(x[..., 3:6])

    def arc(self, x):
        P, Q = _unit(x[..., :3]), _unit(x[..., 3:6])
        across, along = _size(np.cross(P, Q)), np.sum(P * Q, axis=-1)
        return self.radius * 2 * np.arctan(across / (np.sqrt(across**2 + along**2) + along))

    def normal(self, P):
        return P / self.radius


@dataclass
class Cylinder:
    """Parameters of a touch: angle and height of P and of Q."""

    R: np.ndarray
    c: np.ndarray
    radius: float
    size = 4

    def start(self, A, B, side, share):
        """Angles that run from A over `side` to B."""
        a, s, b = (np.arctan2(v[1], v[0]) for v in (A, side, B))
        first, last = (s + (1 - share) * ((x - s + np.pi) % (2 * np.pi) - np.pi) for x in (a, b))
        return np.array([first, 0.6 * A[2] + 0.4 * B[2], last, 0.4 * A[2] + 0.6 * B[2]])

    def claimed(self, P, Q, start):
        """The angles nearest to those of the start, which turns the right way."""
        a, b = (np.arctan2(x[1], x[0]) for x in (P, Q))
        a, b = (x + 2 * np.pi * np.round((near - x) / (2 * np.pi)) for x, near in ((a, start[0]), (b, start[2])))
        return np.array([a, P[2], b, Q[2]])

    def ends(self, x):
        return tuple(
            np.stack([self.radius * np.cos(x[..., k]), self.radius * np.sin(x[..., k]), x[..., k + 1]], axis=-1)
            for k in (0, 2)
        )

    def arc(self, x):
        return np.hypot(self.radius * (x[..., 2] - x[..., 0]), x[..., 3] - x[..., 1])

    def normal(self, P):
        return P * np.array([1.0, 1.0, 0.0]) / self.radius


@dataclass
class Ellipsoid:
    """Parameters of a touch: P and Q as vectors of the scaled space, and the bends of the curve between them."""

    R: np.ndarray
    c: np.ndarray
    radii: np.ndarray
    size = 6 + 3 * BEND

    def start(self, A, B, side, share):
        P, Q, s = (_unit(v / self.radii) for v in (A, B, side))
        return np.concatenate([*(_unit((1 - share) * x + share * s) for x in (P, Q)), np.zeros(3 * BEND)])

    def claimed(self, P, Q, start):
        return np.concatenate([_unit(P / self.radii), _unit(Q / self.radii), np.zeros(3 * BEND)])

    def ends(self, x):
        return self.radii * _unit(x[..., :3]), self.radii * _unit(x[..., 3:6])

    def curve(self, x):
        """Scaled points, before they are brought onto the unit sphere, and their derivatives."""
        P, Q = _unit(x[..., None, :3]), _unit(x[..., None, 3:6])
        bends = x[..., 6:].reshape(*x.shape[:-1], BEND, 3)
        line, slope = (np.einsum("kt,...kc->...tc", table, bends) for table in (BASIS, SLOPES))
        return P + T[:, None] * (Q - P) + line, (Q - P) + slope

    def arc(self, x):
        line, slope = self.curve(x)
        size = _size(line)[..., None]
        slope = slope / size - line * np.sum(line * slope, axis=-1, keepdims=True) / size**3
        return 0.5 * np.sum(_size(slope * self.radii) * WEIGHTS, axis=-1)

    def resolved(self, x):
        t = np.linspace(0, 1, 301)[:, None]
        P, Q = _unit(x[:3]), _unit(x[3:6])
        bends = sum(t * (1 - t) * p(2 * t - 1) * b for p, b in zip(P_K, x[6:].reshape(BEND, 3), strict=True))
        points = self.radii * _unit(P + t * (Q - P) + bends)
        return abs(_size(np.diff(points, axis=0)).sum() - self.arc(x)) < 1e-4 * self.radii.max()

    def normal(self, P):
        return _unit(P / self.radii**2)


@dataclass
class Torus:
    """Parameters of a touch: azimuth and angle around the tube of P and of Q, and the bends of the curve between."""

    R: np.ndarray
    c: np.ndarray
    ring: float
    tube: float
    size = 4 + 2 * BEND

    def start(self, A, B, side, share):
        phi = np.arctan2(side[1], side[0])
        ends = [np.pi - (1 - share) * np.sign(x[2]) for x in (A, B)]
        return np.array([phi, ends[0], phi, ends[1], *np.zeros(2 * BEND)])

    def claimed(self, P, Q, start):
        found = []
        for x in (P, Q):
            aside = np.hypot(x[0], x[1]) - self.ring
            found += [np.arctan2(x[1], x[0]), np.arctan2(x[2], aside) % (2 * np.pi)]
        found[2] = found[0] + (found[2] - found[0] + np.pi) % (2 * np.pi) - np.pi
        return np.array([*found, *np.zeros(2 * BEND)])

    def ends(self, x):
        found = []
        for k in (0, 2):
            rho = self.ring + self.tube * np.cos(x[..., k + 1])
            flat = [rho * np.cos(x[..., k]), rho * np.sin(x[..., k]), self.tube * np.sin(x[..., k + 1])]
            found.append(np.stack(flat, axis=-1))
        return tuple(found)

    def arc(self, x):
        P, Q = x[..., None, :2], x[..., None, 2:4]
        bends = x[..., 4:].reshape(*x.shape[:-1], BEND, 2)
        line, slope = (np.einsum("kt,...kc->...tc", table, bends) for table in (BASIS, SLOPES))
        line, slope = P + T[:, None] * (Q - P) + line, (Q - P) + slope
        rho = self.ring + self.tube * np.cos(line[..., 1])
        return 0.5 * np.sum(np.hypot(rho * slope[..., 0], self.tube * slope[..., 1]) * WEIGHTS, axis=-1)

    def normal(self, P):
        flat = P * np.array([1.0, 1.0, 0.0])
        return (P - self.ring * _unit(flat)) / self.tube


def shortest(A, B, surfaces, sides, guess):
    """Length of the shortest path from A to B that touches all surfaces in order, passing each cylinder on its side.

    It is the shorter of two: one found from a start on the sides, and one from `guess`. The latter are ends on the
    surfaces (P, Q) in the world that are claimed to be the best.
    """
    path = _Path(A, B, surfaces)
    start = path.start(sides, 0.5)
    found = [_descended(path, x) for x in (start, path.claimed(guess, start))]
    return path.scale * min(path.length(x) for x in found if path.clear(x).min() > -1e-9 and path.resolved(x))


def _descended(path, x):
    best = np.inf
    program = _Program(path)
    constraint = {"type": "ineq", "fun": lambda x: program(x)[2], "jac": lambda x: program(x)[3]}
    for _ in range(4):  # again from where it stopped: every start has a fresh picture of the curvature
        x = minimize(
            lambda x: program(x)[0],
            x,
            jac=lambda x: program(x)[1],
            method="SLSQP",
            constraints=constraint,
            options={"ftol": 1e-14, "maxiter": 60},
        ).x
        if best - path.length(x) < 1e-10:
            break
        best = path.length(x)
    return x


class _Program:
    """Length, its gradient, the clearances and theirs at some parameters, evaluated once where asked again."""

    def __init__(self, path):
        self.compiled = _compiled(_Shapes(path.surfaces))
        self.x, where = self.compiled.arguments
        self.x[:] = np.nan
        where[:] = np.concatenate([path.A, path.B, *(v for s in path.surfaces for v in (s.R.ravel(), s.c))])

    def __call__(self, x):
        if not (x == self.x).all():
            self.x[:] = x
            self.compiled.run()
        length, slope, clear, slopes = (v.copy() for v in self.compiled.results)
        return length.item(), slope.ravel(), clear.ravel(), slopes


class _Shapes:
    """Surfaces, equal to others of their types and sizes wherever they are."""

    def __init__(self, surfaces):
        self.surfaces = surfaces
        self.key = tuple((type(s), np.hstack(astuple(s)[2:]).tobytes()) for s in surfaces)

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)


@cache
def _compiled(shapes):
    x, A, B = (_symbols(n) for n in (sum(s.size for s in shapes.surfaces), 3, 3))
    surfaces = [replace(s, R=_symbols(9).reshape(3, 3), c=_symbols(3)) for s in shapes.surfaces]
    path = _Path(A[None], B[None], surfaces)
    where = np.concatenate([A, B, *(v for s in surfaces for v in (s.R.ravel(), s.c))])
    length, clear = (casadi.vertcat(*v.ravel()) for v in (path.length(x[None]), path.clear(x[None])))
    x, where = casadi.vertcat(*x), casadi.vertcat(*where)
    results = [length, casadi.jacobian(length, x), clear, casadi.jacobian(clear, x)]
    return _Buffered(casadi.Function("path", [x, where], [casadi.densify(v) for v in results]))


class _Buffered:
    """A function of two vectors whose arguments and results stay in place: a call takes microseconds."""

    def __init__(self, function):
        self.function, (self.buffer, self.run) = function, function.buffer()  # both must outlive the calls
        self.arguments = [np.zeros(function.size1_in(k)) for k in range(function.n_in())]
        columns = [np.zeros(function.size_out(k)[::-1]) for k in range(function.n_out())]
        for k, v in enumerate(self.arguments):
            self.buffer.set_arg(k, memoryview(v))
        for k, v in enumerate(columns):
            self.buffer.set_res(k, memoryview(v))
        self.results = [v.T for v in columns]


def _symbols(n):
    return np.array([casadi.SX.sym(f"x{k}") for k in range(n)], dtype=object)


@dataclass
class _Path:
    A: np.ndarray
    B: np.ndarray
    surfaces: list

    def __post_init__(self):
        self.edges = np.cumsum([0, *(s.size for s in self.surfaces)])
        self.scale = _size(self.B - self.A)

    def start(self, sides, share):
        parts = []
        for s, side in zip(self.surfaces, sides, strict=True):
            a, b = ((x - s.c) @ s.R for x in (self.A, self.B))
            parts.append(s.start(a, b, side, share))
        return np.concatenate(parts)

    def claimed(self, guess, start):
        parts = [start[i:j] for i, j in pairwise(self.edges)]
        local = [[(x - s.c) @ s.R for x in ends] for s, ends in zip(self.surfaces, guess, strict=True)]
        return np.concatenate([s.claimed(*ends, v) for s, ends, v in zip(self.surfaces, local, parts, strict=True)])

    def stops(self, x):
        """A, P1, Q1, P2, ..., B in the world, and what belongs to the surfaces."""
        parts = [x[..., i:j] for i, j in pairwise(self.edges)]
        ends = [s.c + p @ s.R.T for s, v in zip(self.surfaces, parts, strict=True) for p in s.ends(v)]
        return [self.A, *ends, self.B], parts

    def length(self, x):
        stops, parts = self.stops(x)
        straight = sum(_size(b - a) for a, b in zip(stops[::2], stops[1::2], strict=True))
        return (straight + sum(s.arc(v) for s, v in zip(self.surfaces, parts, strict=True))) / self.scale

    def resolved(self, x):
        """Whether the nodes see the curves: one through the middle of an ellipsoid would be quick between two."""
        parts = [x[i:j] for i, j in pairwise(self.edges)]
        return all(s.resolved(v) for s, v in zip(self.surfaces, parts, strict=True) if isinstance(s, Ellipsoid))

    def clear(self, x):
        stops, _ = self.stops(x)
        rows = []
        for i, s in enumerate(self.surfaces):
            for k, other in ((2 * i + 1, 2 * i), (2 * i + 2, 2 * i + 3)):
                n = s.normal((stops[k] - s.c) @ s.R) @ s.R.T
                rows.append(np.sum((stops[other] - stops[k]) * n, axis=-1) / self.scale)
        return np.stack(rows, axis=-1)


def _size(v):
    return np.sqrt(np.sum(v * v, axis=-1))


def _unit(v):
    return v / _size(v)[..., None]
