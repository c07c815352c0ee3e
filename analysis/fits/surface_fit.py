"""Lengths with terms of surfaces (`SurfaceTerm`), fitted by the Levenberg-Marquardt method.

A length is a sum of parts: polynomials, and functions T(B) of polynomials B. Where a path touches a surface, or changes
from one side of it to the other, moment arms have a corner or a jump. Polynomials follow these slowly, T exactly.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from myoquat.core import Array, frozen, scipy
from myoquat.muscle.fitted import surface_shape

MAX_STEPS = 12  # of the Levenberg-Marquardt method, for each degree
MIN_GAIN = 1e-2  # relative decrease of the objective, below which it ends
FIRST_DAMPING, LAST_DAMPING, LEAST_DAMPING = 1e-6, 1e4, 1e-9
WEIGHT = 1e-9  # of the squares of coefficients in linear least squares, relative to those of their terms
CONTACT_WIDTH = 0.01  # of the greatest B of a contact
SIDES_WIDTH_M = 3e-4
MAX_CENSORED, MAX_ASSIGNMENTS = 20, 20  # iterations of the first guesses
FAR_QUANTILE = 0.85  # of the errors of one polynomial, above which poses make the guess of the other side
MIN_SIDE_POSES = 50
FAR_WIDTHS = 3.0  # from B = 0 to where the effect of a contact is zero
ON_SURFACE_M = 1e-9  # [m] by which a path that touches a surface is longer than a straight one


@frozen
class Part:
    """A summand of a length: a polynomial of the first terms with these coefficients, or an effect T of it."""

    coefficients: Array
    effect: str | None = None
    width: float = 0.0

    def polynomial(self, terms: Array) -> Array:
        """(1 + r, n) B and its rates, by terms (t, 1 + r, n)."""
        c = self.coefficients
        return (c @ terms[: len(c)].reshape(len(c), -1)).reshape(terms.shape[1:])

    def value(self, B: Array) -> Array:
        """(1 + r, n) the part and its rates, by those of its polynomial B."""
        if self.effect is None:
            return B
        T, slope, _ = surface_shape(self.effect, B[0], self.width)
        return np.concatenate([T[None], slope * B[1:]])

    def slopes(self, B: Array) -> tuple[Array, Array]:
        """(n,) a and (1 + r, n) b: the derivative of the part by the coefficient of a term phi is a phi + b phi[0]."""
        if self.effect is None:
            return np.ones(B.shape[1]), np.zeros_like(B)
        _, first, second = surface_shape(self.effect, B[0], self.width)
        return first, np.concatenate([np.zeros((1, B.shape[1])), second * B[1:]])

    def widened(self, count: int) -> "Part":
        """The same part with zero coefficients for further terms, up to `count`."""
        return replace(self, coefficients=np.pad(self.coefficients, (0, max(0, count - len(self.coefficients)))))


def part_values(parts: Sequence[Part], terms: Array) -> Array:
    """(1 + r, n) the sum of parts: lengths and their rates, by terms (t, 1 + r, n)."""
    return sum((part.value(part.polynomial(terms)) for part in parts), np.zeros(terms.shape[1:]))


@frozen
class LeastSquares:
    """Observations y (1 + r, n), lengths and their rates, by terms (t, 1 + r, n), with `weights` (1 + r, 1)."""

    terms: Array
    y: Array
    weights: Array

    @cached_property
    def gram(self) -> Array:
        """(t, t) weighted sums of the products of terms over all poses."""
        phi = (self.terms * self.weights).reshape(len(self.terms), -1)
        return phi @ phi.T

    def moments(self, y: Array, count: int) -> Array:
        """(count,) weighted sums of the products of the first terms with y (1 + r, n)."""
        return self.terms[:count].reshape(count, -1) @ (self.weights**2 * y).ravel()

    def linear(self, y: Array, count: int) -> Array:
        """(count,) coefficients of the first terms that fit other observations y."""
        return _solved(self.gram[:count, :count], self.moments(y, count), WEIGHT)

    def at(self, poses: Array, count: int | None = None) -> "LeastSquares":
        """The first terms at some poses."""
        terms = np.take(self.terms[:count], poses, axis=-1)  # side by side in memory
        return LeastSquares(terms, self.y[:, poses], self.weights)

    def fitted(self, parts: Sequence[Part]) -> list[Part]:
        """The parts with better coefficients."""
        parts, damping = list(parts), FIRST_DAMPING
        combined, off, cost = self._state(parts)
        ends = np.cumsum([len(part.coefficients) for part in parts])[:-1]
        for _ in range(MAX_STEPS):
            G, g, before = self._normal(parts, combined), self._gradient(parts, combined, off), cost
            while True:
                steps = np.split(_solved(G, g, damping), ends)
                tried = [replace(p, coefficients=p.coefficients + x) for p, x in zip(parts, steps, strict=True)]
                state = self._state(tried)
                if state[-1] < before:
                    break
                damping *= 10.0
                if damping >= LAST_DAMPING:
                    return parts
            parts, (combined, off, cost), damping = tried, state, max(damping / 10.0, LEAST_DAMPING)
            if 1.0 - cost / before < MIN_GAIN:
                break
        return parts

    def _state(self, parts: Sequence[Part]) -> tuple[list[Array], Array, float]:
        """The polynomials of all parts, the errors (1 + r, n), and their weighted sum of squares."""
        combined = [part.polynomial(self.terms) for part in parts]
        off = self.y - sum(part.value(B) for part, B in zip(parts, combined, strict=True))
        return combined, off, float(np.sum((off * self.weights) ** 2))

    def _gradient(self, parts: Sequence[Part], combined: Sequence[Array], off: Array) -> Array:
        """J r by the derivatives J of the weighted observations by all coefficients, and the weighted errors r."""
        found = []
        for part, B in zip(parts, combined, strict=True):
            first, bend = part.slopes(B)
            pull = first * off
            pull[0] += np.sum(bend * self.weights**2 * off, axis=0) / self.weights[0] ** 2
            found.append(self.moments(pull, len(part.coefficients)))
        return np.concatenate(found)

    def _normal(self, parts: Sequence[Part], combined: Sequence[Array]) -> Array:
        """J J^T. Far from a contact its J is zero, and poses there are left out."""
        poses = np.arange(self.y.shape[-1])
        for part, B in zip(parts, combined, strict=True):
            poses = np.flatnonzero(B[0] > -FAR_WIDTHS * part.width) if part.effect == "contact" else poses
        rows = [self._rows(part, B, poses) for part, B in zip(parts, combined, strict=True)]
        blocks = [[one @ other.T for other in rows] for one in rows]
        for k, part in enumerate(parts):
            if part.effect is None:
                blocks[k][k] = self.gram[: len(rows[k]), : len(rows[k])]
        return np.block(blocks)

    def _rows(self, part: Part, B: Array, poses: Array) -> Array:
        """(t, (1 + r) n) J of a part at some poses."""
        terms = np.take(self.terms[: len(part.coefficients)], poses, axis=-1)
        if part.effect is not None:
            first, bend = part.slopes(B[:, poses])
            terms = terms * first + terms[:, :1] * bend
        return (terms * self.weights).reshape(len(terms), -1)


def first_contact(problem: LeastSquares, y: Array, count: int) -> list[Part]:
    """A guess of the contact that explains lengths y (n,), which are zero where nothing is touched. Nothing where it is
    touched at all poses or at none.

    B is the root of 2 y where the surface is touched. Elsewhere it is only known to be negative: a regression on
    censored data, by expectation maximisation [J. Tobin, Econometrica 26, 24 (1958)].
    """
    touched = y > ON_SURFACE_M
    if touched.all() or not touched.any():
        return []
    phi, B = problem.terms[:count, 0], np.sqrt(2.0 * np.maximum(y, 0.0))
    target, G = np.where(touched, B, 0.0), phi @ phi.T
    for _ in range(MAX_CENSORED):
        c = _solved(G, phi @ target, 1e-8)
        target = np.where(touched, B, np.minimum(c @ phi, 0.0))
    return [Part(c, "contact", CONTACT_WIDTH * float(B.max()))]


def first_sides(problem: LeastSquares, count: int) -> list[Part]:
    """A guess of the two ways around a surface, of which observed lengths are the shorter one.

    Returns a polynomial and the term that takes their difference, or nothing where all poses follow one way. Each way
    is a polynomial of the first terms. Poses belong to the way that fits them better, in turns [as k-means for
    regressions: H. Spath, Algorithm 39: clusterwise linear regression, Computing 22, 367 (1979)].
    """
    off = (Part(problem.linear(problem.y, count)).polynomial(problem.terms) - problem.y) * problem.weights
    far, rates = np.sum(off[1:] ** 2, axis=0), off[1:]
    along = np.linalg.svd(rates @ rates.T)[0][:, 0] @ rates
    guesses = [_ways(problem, count, other) for other in (far > np.quantile(far, FAR_QUANTILE), along > 0)]
    found = [guess for guess in guesses if guess is not None]
    if not found:
        return []
    _, a, b = min(found, key=lambda guess: guess[0])
    return [Part(0.5 * (a + b)), Part(0.5 * (a - b), "sides", SIDES_WIDTH_M)]


def _ways(problem: LeastSquares, count: int, other: Array) -> tuple[float, Array, Array] | None:
    """The sum of the squared errors of two polynomials, each of the poses that it fits better, and the coefficients of
    both. At first the second one is that of the `other` poses. None where one has too few poses."""
    for _ in range(MAX_ASSIGNMENTS):
        if min(other.sum(), (~other).sum()) < MIN_SIDE_POSES:
            return None
        parts = (problem.at(np.flatnonzero(poses), count) for poses in (~other, other))
        ways = [part.linear(part.y, count) for part in parts]
        off = ((Part(c).polynomial(problem.terms) - problem.y) * problem.weights for c in ways)
        errors = [np.sum(each**2, axis=0) for each in off]
        before, other = other, errors[1] < errors[0]
        if np.array_equal(before, other):
            break
    return float(np.minimum(*errors).sum()), ways[0], ways[1]


def _solved(G: Array, g: Array, damping: float) -> Array:
    """The solution of (G + damping diag(G)) x = g."""
    d = np.sqrt(np.maximum(np.diag(G), 1e-14 * np.diag(G).max(initial=1e-280)))
    A = G / (d[:, None] * d)
    A[np.diag_indices(len(d))] += damping
    factor = scipy.linalg.cho_factor(A, check_finite=False)
    return scipy.linalg.cho_solve(factor, g / d, check_finite=False) / d
