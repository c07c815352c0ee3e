"""Lengths with terms of surfaces (`SurfaceTerm`), fitted by the Levenberg-Marquardt method.

A length is a sum of parts: polynomials, and functions T(B) of polynomials B. Where a path touches a surface, or changes
from one side of it to the other, moment arms have a corner or a jump. Polynomials follow these slowly, T exactly.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.muscle.fitted import surface_shape

__all__ = ["Part", "SurfaceProblem", "first_contact", "first_sides", "part_values", "widened"]

MAX_STEPS = 12  # of the Levenberg-Marquardt method, for each degree
MIN_GAIN = 1e-2  # relative decrease of the objective, below which it ends
FIRST_DAMPING, LAST_DAMPING, LEAST_DAMPING = 1e-6, 1e4, 1e-9
WEIGHT = 1e-9  # of the squares of coefficients in linear least squares, relative to those of their terms
CONTACT_WIDTH = 0.01  # of the greatest B of a contact
SIDES_WIDTH_M = 3e-4
MAX_CENSORED, MAX_ASSIGNMENTS = 20, 20  # iterations of the first guesses
FAR_QUANTILE = 0.85  # of the errors of one polynomial, above which poses make the guess of the other side
MIN_SIDE_POSES = 50
FAR_WIDTHS = 3.0  # from B = 0 to where T(B) is that of a width of zero
ON_SURFACE_M = 1e-9  # [m] by which a path that touches a surface is longer than a straight one


@dataclass(frozen=True)
class Part:
    """A summand of a length: a polynomial of the first terms with these coefficients, or with an effect T of it."""

    coefficients: Array
    effect: str | None = None
    width: float = 0.0


@dataclass(frozen=True)
class SurfaceProblem:
    """Observations y (1 + r, n), lengths and their rates, by terms (t, 1 + r, n), with `weights` (1 + r, 1)."""

    terms: Array
    y: Array
    weights: Array

    @cached_property
    def gram(self) -> Array:
        """(t, t) weighted sums of the products of terms over all poses."""
        return self.gram_of(len(self.terms), slice(None))

    def gram_of(self, count: int, poses: Array | slice) -> Array:
        """(count, count) the same of the first terms over some poses."""
        phi = (self.terms[:count][..., poses] * self.weights).reshape(count, -1)
        return phi @ phi.T

    def linear(self, y: Array, count: int, used: Array | None = None) -> Array:
        """(count,) coefficients of the first terms that fit other observations y, at the poses that are `used`."""
        G = self.gram[:count, :count] if used is None else self.gram_of(count, used)
        wanted = self.weights**2 * (y if used is None else np.where(used, y, 0.0))
        return _solved(G, self.terms[:count].reshape(count, -1) @ wanted.ravel(), WEIGHT)

    def fitted(self, parts: Sequence[Part]) -> list[Part]:
        """The parts with better coefficients."""
        state, damping = self._state(parts), FIRST_DAMPING
        sides = _Sides(self) if [part.effect for part in parts] == [None, "sides"] else None
        for _ in range(MAX_STEPS):
            G = self._touched(state) if sides is None else sides.normal(state)
            better, damping = self._better(state, G, damping)
            if better is None:
                break
            gain, state, damping = 1.0 - better.cost / state.cost, better, max(damping / 10.0, LEAST_DAMPING)
            if gain < MIN_GAIN:
                break
        return list(state.parts)

    def _better(self, state: "_State", G: Array, damping: float) -> tuple["_State | None", float]:
        """A state of less cost and the damping that led to it; None where there is none."""
        g = np.concatenate(self._gradients(state))
        ends = np.cumsum([len(part.coefficients) for part in state.parts])[:-1]
        while damping < LAST_DAMPING:
            steps = np.split(_solved(G, g, damping), ends)
            found = self._state(
                [replace(p, coefficients=p.coefficients + x) for p, x in zip(state.parts, steps, strict=True)]
            )
            if found.cost < state.cost:
                return found, damping
            damping *= 10.0
        return None, damping

    def _state(self, parts: Sequence[Part]) -> "_State":
        combined = [_combined(part.coefficients, self.terms[: len(part.coefficients)]) for part in parts]
        off = self.y - sum(_part_value(part, B) for part, B in zip(parts, combined, strict=True))
        return _State(tuple(parts), combined, off, float(np.sum((off * self.weights) ** 2)))

    def _gradients(self, state: "_State") -> list[Array]:
        """J r by the derivatives J by the coefficients of every part, and the errors r."""
        found = []
        for part, B in zip(state.parts, state.combined, strict=True):
            pull = self.weights**2 * state.off
            if part.effect is not None:
                _, first, second = surface_shape(part.effect, B[0], part.width)
                along = np.sum(B[1:] * pull[1:], axis=0)
                pull = pull * first
                pull[0] += second * along
            count = len(part.coefficients)
            found.append(self.terms[:count].reshape(count, -1) @ pull.ravel())
        return found

    def rows(self, part: Part, B: Array, poses: Array) -> tuple[Array, Array]:
        """(t, 1 + r, n) weighted terms of a part at some poses, and the derivatives of its observations by its
        coefficients; (1 + r, n) is its polynomial."""
        _, first, second = surface_shape(str(part.effect), B[0, poses], part.width)
        phi = np.take(self.terms[: len(part.coefficients)], poses, axis=-1)
        phi *= self.weights
        J = phi * first
        J[:, 1:] += phi[:, :1] * (second * B[1:, poses] * (self.weights[1:] / self.weights[0]))
        return phi, J

    def _touched(self, state: "_State") -> Array:
        """J J^T of a contact, with a polynomial beside it or alone; without poses far from it."""
        (contact, *rest), B = state.parts, state.combined[0]
        near = np.flatnonzero(B[0] > -FAR_WIDTHS * contact.width)
        J = self.rows(contact, B, near)[1].reshape(len(contact.coefficients), -1)
        if not rest:
            return J @ J.T
        count = len(rest[0].coefficients)
        phi = (np.take(self.terms[:count], near, axis=-1) * self.weights).reshape(count, -1)
        across = J @ phi.T
        return np.block([[J @ J.T, across], [across.T, self.gram[:count, :count]]])


@dataclass(frozen=True)
class _State:
    """Parts, the polynomial B of each and its rates, (1 + r, n), the errors, and their weighted sum of squares."""

    parts: tuple[Part, ...]
    combined: list[Array]
    off: Array
    cost: float


class _Sides:
    """J J^T of a polynomial A and two sides, A + T(B).

    Far from B = 0 it is that of A - |B|: sums of the products of terms over the poses of each side. From one step to
    the next few poses change sides, and only these and those near B = 0 are looked at again.
    """

    def __init__(self, problem: SurfaceProblem) -> None:
        self._problem = problem
        self._positive, self._gram = np.zeros(problem.y.shape[1], dtype=bool), np.zeros((0, 0))

    def normal(self, state: _State) -> Array:
        """(2 t, 2 t) J J^T of the derivatives J by the coefficients of A and of B."""
        B, problem, part = state.combined[1], self._problem, state.parts[1]
        count = len(part.coefficients)
        G, own = problem.gram[:count, :count], self._first(count, B[0] > 0)
        near = np.flatnonzero(np.abs(B[0]) < FAR_WIDTHS * part.width)
        phi, J = (x.reshape(count, -1) for x in problem.rows(part, B, near))
        far = np.tile(np.where(B[0, near] > 0, -1.0, 1.0), len(B))  # the slope of -|B|
        square = phi @ phi.T
        across = G - 2.0 * own + phi @ J.T - (phi * far) @ phi.T
        return np.block([[G, across], [across.T, G - square + J @ J.T]])

    def _first(self, count: int, positive: Array) -> Array:
        """(count, count) the products of terms over the poses of the first side, where B > 0."""
        if len(self._gram) != count:
            self._positive, self._gram = np.zeros(len(positive), dtype=bool), np.zeros((count, count))
            if np.mean(positive) > 0.5:
                self._positive, self._gram = ~self._positive, self._problem.gram[:count, :count]
        come, gone = (np.flatnonzero(x) for x in (positive & ~self._positive, self._positive & ~positive))
        self._gram = self._gram + self._problem.gram_of(count, come) - self._problem.gram_of(count, gone)
        self._positive = positive
        return self._gram


def part_values(parts: Sequence[Part], terms: Array) -> Array:
    """(1 + r, n) the sum of parts: lengths and their rates, by terms (t, 1 + r, n)."""
    total = np.zeros(terms.shape[1:])
    for part in parts:
        total += _part_value(part, _combined(part.coefficients, terms[: len(part.coefficients)]))
    return total


def _part_value(part: Part, B: Array) -> Array:
    """(1 + r, n) a part of which (1 + r, n) is the polynomial."""
    if part.effect is None:
        return B
    T, slope, _ = surface_shape(part.effect, B[0], part.width)
    return np.concatenate([T[None], slope * B[1:]])


def widened(parts: Sequence[Part], count: int) -> list[Part]:
    """The same parts with zero coefficients for further terms, up to `count`."""
    return [replace(p, coefficients=np.pad(p.coefficients, (0, max(0, count - len(p.coefficients))))) for p in parts]


def first_contact(problem: SurfaceProblem, y: Array, count: int) -> Part | None:
    """A guess of the contact that explains lengths y (1 + r, n), which are zero where nothing is touched. None where it
    is touched at all poses or at none.

    B is the root of 2 y where the surface is touched. Elsewhere it is only known to be negative: a regression on
    censored data, by expectation maximisation [J. Tobin, Econometrica 26, 24 (1958)].
    """
    touched = y[0] > ON_SURFACE_M
    if touched.all() or not touched.any():
        return None
    phi, B = problem.terms[:count, 0], np.sqrt(2.0 * np.maximum(y[0], 0.0))
    target = np.where(touched, B, 0.0)
    G = phi @ phi.T
    for _ in range(MAX_CENSORED):
        c = _solved(G, phi @ target, 1e-8)
        target = np.where(touched, B, np.minimum(c @ phi, 0.0))
    return Part(c, "contact", CONTACT_WIDTH * float(B.max()))


def first_sides(problem: SurfaceProblem, y: Array, count: int, first: int) -> list[Part] | None:
    """A guess of the two ways around a surface, the shorter of which has the lengths y (1 + r, n).

    Returns a polynomial and the term that takes their difference, or None where all poses follow one way. Each way is a
    polynomial of the `first` terms. Poses belong to the way that fits them better, in turns [as k-means for
    regressions: H. Spath, Algorithm 39: clusterwise linear regression, Computing 22, 367 (1979)].
    """
    plain = problem.linear(y, first)
    far = _squared_errors(problem, y, plain)
    rates = ((_combined(plain, problem.terms[:first]) - y) * problem.weights)[1:]
    along = np.linalg.svd(rates @ rates.T)[0][:, 0] @ rates
    guesses = [_ways(problem, y, first, other) for other in (far > np.quantile(far, FAR_QUANTILE), along > 0)]
    found = [guess for guess in guesses if guess is not None]
    if not found:
        return None
    _, ways = min(found, key=lambda guess: guess[0])
    mean, half = 0.5 * (ways[0] + ways[1]), 0.5 * (ways[0] - ways[1])
    return widened([Part(mean), Part(half, "sides", SIDES_WIDTH_M)], count)


def _ways(problem: SurfaceProblem, y: Array, first: int, other: Array) -> tuple[float, list[Array]] | None:
    """Two polynomials of the `first` terms, each of the poses that it fits better, and the sum of their squared errors.
    At first the second one is that of the `other` poses. None where one has too few poses."""
    for _ in range(MAX_ASSIGNMENTS):
        if min(other.sum(), (~other).sum()) < MIN_SIDE_POSES:
            return None
        ways = [problem.linear(y, first, ~other), problem.linear(y, first, other)]
        errors = [_squared_errors(problem, y, c, whole=True) for c in ways]
        before, other = other, errors[1] < errors[0]
        if np.array_equal(before, other):
            break
    return float(np.minimum(*errors).sum()), ways


def _squared_errors(problem: SurfaceProblem, y: Array, c: Array, whole: bool = False) -> Array:
    """(n,) squares of the errors of a polynomial at every pose: of its rates, or of the `whole`, lengths included."""
    off = (_combined(c, problem.terms[: len(c)]) - y) * problem.weights
    return np.sum(off[0 if whole else 1 :] ** 2, axis=0)


def _combined(c: Array, terms: Array) -> Array:
    """(1 + r, n) the sum of c times terms (t, 1 + r, n)."""
    return (c @ terms.reshape(len(terms), -1)).reshape(terms.shape[1:])


def _solved(G: Array, g: Array, damping: float) -> Array:
    """The solution of (G + damping diag(G)) x = g."""
    d = np.sqrt(np.maximum(np.diag(G), 1e-14 * np.diag(G).max(initial=1e-280)))
    A = G / (d[:, None] * d)
    A[np.diag_indices(len(d))] += damping
    factor = scipy.linalg.cho_factor(A, check_finite=False)
    return scipy.linalg.cho_solve(factor, g / d, check_finite=False) / d
