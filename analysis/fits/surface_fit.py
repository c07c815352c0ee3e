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
    """A summand of a length: a polynomial of the first terms with these coefficients, or with an effect T of it."""

    coefficients: Array
    effect: str | None = None
    width: float = 0.0


@frozen
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
        for _ in range(MAX_STEPS):
            better, damping = self._better(state, self._normal(state), damping)
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

    def _normal(self, state: "_State") -> Array:
        """J J^T of the derivatives J of the weighted observations by the coefficients of all parts. Far from a contact
        its J is zero, and poses there are left out."""
        poses = np.arange(self.y.shape[-1])
        for part, B in zip(state.parts, state.combined, strict=True):
            poses = np.flatnonzero(B[0] > -FAR_WIDTHS * part.width) if part.effect == "contact" else poses
        rows = [self._rows(part, B, poses) for part, B in zip(state.parts, state.combined, strict=True)]
        blocks = [[one @ other.T for other in rows] for one in rows]
        for k, part in enumerate(state.parts):
            if part.effect is None:
                blocks[k][k] = self.gram[: len(rows[k]), : len(rows[k])]
        return np.block(blocks)

    def _rows(self, part: Part, B: Array, poses: Array) -> Array:
        """(t, (1 + r) n) J of a part at some poses; (1 + r, n) is its polynomial."""
        J = np.take(self.terms[: len(part.coefficients)], poses, axis=-1) * self.weights
        if part.effect is not None:
            _, first, second = surface_shape(part.effect, B[0, poses], part.width)
            value = J[:, :1].copy()
            J *= first
            J[:, 1:] += value * (second * B[1:, poses] * (self.weights[1:] / self.weights[0]))
        return J.reshape(len(J), -1)


@frozen
class _State:
    """Parts, the polynomial B of each and its rates, (1 + r, n), the errors, and their weighted sum of squares."""

    parts: tuple[Part, ...]
    combined: list[Array]
    off: Array
    cost: float


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
