"""Lengths with terms of surfaces (`SurfaceTerm`), fitted by the Levenberg-Marquardt method.

A length is a sum of parts: polynomials, and functions T(B) of polynomials B. Where a path touches a surface, or changes
from one side of it to the other, moment arms have a corner or a jump. Polynomials follow these slowly, T exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from myoquat.core.lazy_imports import scipy
from myoquat.core.typing import Array
from myoquat.muscle.fitted import surface_shape

__all__ = ["Part", "SurfaceProblem", "first_contact", "first_sides", "part_values", "widened"]

MAX_STEPS = 12  # of the Levenberg-Marquardt method, for each degree
MIN_GAIN = 3e-3  # relative decrease of the objective, below which it ends
FIRST_DAMPING, LAST_DAMPING, LEAST_DAMPING = 1e-6, 1e4, 1e-9
WEIGHT = 1e-9  # of the squares of coefficients in linear least squares, relative to those of their terms
CONTACT_WIDTH = 0.01  # of the greatest B of a contact
SIDES_WIDTH_M = 3e-4
MAX_CENSORED, MAX_ASSIGNMENTS = 20, 20  # iterations of the first guesses
FAR_QUANTILE = 0.85  # of the errors of one polynomial, above which poses make the guess of the other side
MIN_SIDE_POSES = 50
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

    def linear(self, y: Array, count: int, used: Array | None = None) -> Array:
        """(count,) coefficients of the first terms that fit other observations y, at the poses that are `used`."""
        at = slice(None) if used is None else used
        phi = (self.terms[:count][..., at] * self.weights).reshape(count, -1)
        return _solved(phi @ phi.T, phi @ (y[:, at] * self.weights).ravel(), WEIGHT)

    def fitted(self, parts: Sequence[Part]) -> list[Part]:
        """The parts with better coefficients."""
        parts, damping = list(parts), FIRST_DAMPING
        cost = self._cost(parts)
        for _ in range(MAX_STEPS):
            G, g = self._normal(parts)
            better, new, damping = self._step(parts, cost, G, g, damping)
            if better is None:
                break
            gain, parts, cost, damping = 1.0 - new / cost, better, new, max(damping / 10.0, LEAST_DAMPING)
            if gain < MIN_GAIN:
                break
        return parts

    def _step(
        self, parts: list[Part], cost: float, G: Array, g: Array, damping: float
    ) -> tuple[list[Part] | None, float, float]:
        """Parts of less cost, their cost and the damping that led to them; None where there are none."""
        while damping < LAST_DAMPING:
            step = _solved(G, g, damping)
            pieces = np.split(step, np.cumsum([len(part.coefficients) for part in parts])[:-1])
            found = [replace(part, coefficients=part.coefficients + x) for part, x in zip(parts, pieces, strict=True)]
            new = self._cost(found)
            if new < cost:
                return found, new, damping
            damping *= 10.0
        return None, cost, damping

    def _cost(self, parts: Sequence[Part]) -> float:
        return float(np.sum(((part_values(parts, self.terms) - self.y) * self.weights) ** 2))

    def _normal(self, parts: Sequence[Part]) -> tuple[Array, Array]:
        """J J^T and J r of the derivatives J by all coefficients and the errors r."""
        rows = []
        for part in parts:
            phi = self.terms[: len(part.coefficients)]
            if part.effect is None:
                rows.append(phi)
                continue
            B = _combined(part.coefficients, phi)
            _, first, second = surface_shape(part.effect, B[0], part.width)
            J = phi * first
            J[:, 1:] += phi[:, :1] * (second * B[1:])
            rows.append(J)
        J = np.concatenate(rows)
        J *= self.weights
        J = J.reshape(len(J), -1)
        off = ((self.y - part_values(parts, self.terms)) * self.weights).ravel()
        return J @ J.T, J @ off


def part_values(parts: Sequence[Part], terms: Array) -> Array:
    """(1 + r, n) the sum of parts: lengths and their rates, by terms (t, 1 + r, n)."""
    total = np.zeros(terms.shape[1:])
    for part in parts:
        B = _combined(part.coefficients, terms[: len(part.coefficients)])
        if part.effect is not None:
            T, slope, _ = surface_shape(part.effect, B[0], part.width)
            B = np.concatenate([T[None], slope * B[1:]])
        total += B
    return total


def widened(parts: Sequence[Part], count: int) -> list[Part]:
    """The same parts with zero coefficients for further terms, up to `count`."""
    return [replace(p, coefficients=np.pad(p.coefficients, (0, max(0, count - len(p.coefficients))))) for p in parts]


def first_contact(problem: SurfaceProblem, y: Array, count: int) -> Part | None:
    """A guess of the contact that explains lengths y (1 + r, n), which are zero where nothing is touched; None where it
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
    """A guess of the two ways around a surface, the shorter of which has the lengths y (1 + r, n): a polynomial and the
    term that takes their difference; None where all poses follow one.

    Each way is a polynomial of the `first` terms. Poses belong to the way that fits them better, in turns [as k-means
    for regressions: H. Spath, Algorithm 39: clusterwise linear regression, Computing 22, 367 (1979)].
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
    found: Array = np.sum(off[0 if whole else 1 :] ** 2, axis=0)
    return found


def _combined(c: Array, terms: Array) -> Array:
    """(1 + r, n) the sum of c times terms (t, 1 + r, n)."""
    found: Array = (c @ terms.reshape(len(terms), -1)).reshape(terms.shape[1:])
    return found


def _solved(G: Array, g: Array, damping: float) -> Array:
    """The solution of (G + damping diag(G)) x = g."""
    d = np.sqrt(np.maximum(np.diag(G), 1e-14 * np.diag(G).max(initial=1e-280)))
    A = G / (d[:, None] * d)
    A[np.diag_indices(len(d))] += damping
    factor = scipy.linalg.cho_factor(A, check_finite=False)
    x: Array = scipy.linalg.cho_solve(factor, g / d, check_finite=False) / d
    return x
