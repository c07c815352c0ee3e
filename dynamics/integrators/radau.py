"""Radau IIA of order 5 with steps of its own choice, for stiff motions of one state.

[H&W] E. Hairer, G. Wanner, Solving Ordinary Differential Equations II: Stiff and Differential-Algebraic Problems, 2nd
ed., Springer 1996, sections IV.5 (the method) and IV.8 (its implementation).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import CALLABLE, Array, check_types, scipy

RELATIVE_DIFFERENCE = 1e-8  # of differences, relative to an entry of the state
MIN_DIFFERENCED_SIZE = 0.1  # [rad, m, rad/s, m/s, 1] entries below it are moved as if they were as great

MAX_NEWTON_STEPS = 7  # per step of the integrator
# of convergence: where forces begin, as at a contact, the derivative does not contain them
MIN_FIRST_RATE = 1e-3
MAX_RATE_OF_OLD_DERIVATIVE = 0.03  # a rate of its convergence beyond which the derivative is computed anew
MAX_EXTRAPOLATED_STEPS = 2.0  # of the last length: beyond, its polynomial is worse than no change at all
MIN_STEP_GROWTH = 1.2  # growth of a step that is not worth new factors
MOST, LEAST_FACTOR, SAFETY = 8.0, 0.2, 0.9  # bounds of the change of a step, and what it is multiplied by
MAX_FINAL_STEP_RATIO = 1.01  # steps to the end that are taken as one: nothing is left that is too short for a step
EPS = np.finfo(float).eps

NODES = np.array([(4 - np.sqrt(6)) / 10, (4 + np.sqrt(6)) / 10, 1.0])
_powers = NODES[:, None] ** np.arange(4)
STAGE_MATRIX = _powers[:, 1:] / [1, 2, 3] @ np.linalg.inv(_powers[:, :3])  # A: exact for slopes of degree 2 [H&W IV.5]
INVERSE_STAGE_MATRIX = np.linalg.inv(STAGE_MATRIX)
_values, _vectors = np.linalg.eig(INVERSE_STAGE_MATRIX)
_real, _complex = int(np.abs(_values.imag).argmin()), int(_values.imag.argmax())
GAMMA, ALPHA = float(_values[_real].real), complex(_values[_complex])  # of A^-1; the third one is conjugate to ALPHA
REAL, COMPLEX = _vectors[:, _real].real, _vectors[:, _complex]
_rows = np.linalg.inv(np.stack([REAL, COMPLEX, COMPLEX.conj()], axis=1))
TO_REAL, TO_COMPLEX = _rows[0].real, _rows[1]
# Of the stages in the error, beside the slope at the start [H&W IV.8, (8.19)]. They are those of the quadrature with
# weight 1 / GAMMA on that slope that is exact to degree 2, less the method's own.
ERROR_WEIGHTS = INVERSE_STAGE_MATRIX.T @ np.linalg.solve(_powers[:, :3].T, [-1.0, 0.0, 0.0])
POLYNOMIAL_OF_STAGES = np.linalg.inv(_powers[:, 1:])  # from stages to the coefficients of the polynomial through them

Slope = Callable[[float, Array], Array]
Slopes = Callable[[Array, Array], Array]


class Radau:
    """Collocation at three nodes, the last one the end of the step: Radau IIA, an implicit method of order 5.

    x1 = x + z3, z_i = h sum_j a_ij f(t + c_j h, x + z_j). It is L-stable: parts that have decayed do not bound the
    step, however fast they are.

    slope   f(t, x) (n,).
    slopes  the same at times (k,) and states (k, n), which the stages are given to together.
    start   (t, x).
    end     the time at which the last step ends.
    rtol    bound on the root mean square of the estimated error of a step over 1 + |x|.
    first   the first step, chosen if None.

    Newton's iteration solves for z [H&W IV.8]. The eigenvalues of A^-1 split I - h A (x) J into a real and a complex
    system of n. J is found by differences, and kept while the iteration converges well, as the factors are while h
    hardly changes. An embedded formula of order 3 estimates the error, filtered by (I - h J / GAMMA)^-1: stiff parts do
    not exaggerate it. As a solver of `scipy.integrate` it has t, y, f, h_abs (the next step), status, `step` and
    `dense_output`. A projection may move y a little between steps, if f is set anew, or to None.

    >>> import numpy as np
    >>> from myoquat.dynamics.integrators import Radau
    >>> def fast(t, x):  # settles within a microsecond at cos(t)
    ...     return -1e6 * (x - np.cos(t)[..., None])
    >>> solver = Radau(fast, fast, (0.0, np.array([1.0])), 3.0, rtol=1e-6)
    >>> while solver.status == "running":
    ...     solver.step()
    >>> bool(abs(solver.y[0] - np.cos(3.0)) < 1e-6)
    True
    """

    def __init__(
        self, slope: Slope, slopes: Slopes, start: tuple[float, Array], end: float, rtol: float,
        first: float | None = None,
    ) -> None:  # fmt: skip
        self.t, self.y = start
        self._reached = self.t  # the end of the last step
        self.status = "running"
        self.f: Array | None = None
        self._slope, self._slopes, self._end, self._rtol = slope, slopes, end, rtol
        self._close = max(10 * EPS / rtol, min(0.03, rtol**0.5))  # of Newton's iteration, relative to the tolerance
        self.h_abs = first if first is not None else min(self._first_step(), end - self.t)
        self._last: _LastStep | None = None
        self._J: Array | None = None
        self._current = False  # whether J is that of the present state
        self._factors: _Factors | None = None
        self._rate, self._eta = 0.0, 1.0  # of convergence, and the rate over its distance from 1 [H&W IV.8, (8.10)]

    def step(self) -> None:
        """Move on by one step; status is "finished" at the end, "failed" where no step is small enough."""
        if self.f is None:
            self.f = self._slope(self.t, self.y)
        if self._J is None or (self._rate > MAX_RATE_OF_OLD_DERIVATIVE and not self._current):
            self._differentiate()
        rejected = False
        h = self.h_abs
        while True:
            left = self._end - self.t
            h = left if left < MAX_FINAL_STEP_RATIO * h else h
            if not h > 10 * np.spacing(abs(self.t)):
                self.status = "failed"
                return
            if self._factors is None or self._factors.h != h:
                self._factors = _Factors(self._J, h)
            solved = self._solve(h)
            if solved is None:
                if self._current:
                    h *= 0.5
                else:
                    self._differentiate()
                continue
            z, iterations = solved
            error = self._error(h, z, rejected)
            safety = SAFETY * (2 * MAX_NEWTON_STEPS + 1) / (2 * MAX_NEWTON_STEPS + iterations)
            if error <= 1:
                break
            h *= max(LEAST_FACTOR, safety * error**-0.25)
            rejected = True
        self._accept(h, z, error, safety, rejected)

    def dense_output(self) -> Callable[[float], Array]:
        """The polynomial of degree 3 through the stages of the last step."""
        if self._last is None:
            raise RuntimeError("there is nothing in between before the first step")
        h, x, z, _ = self._last
        end, coefficients = self._reached, POLYNOMIAL_OF_STAGES @ z

        def between(t: float) -> Array:
            s = 1 + (t - end) / h
            return np.asarray(x + np.array([s, s**2, s**3]) @ coefficients)

        return between

    # ---- parts of a step -------------------------------------------------------------------------------------

    def _solve(self, h: float) -> tuple[Array, int] | None:
        """(z (3, n), iterations) by Newton's iteration; None if it does not converge."""
        assert self._factors is not None
        z = self._predicted(h)
        times, scale = self.t + h * NODES, self._scale(self.y)
        eta, before = max(self._eta, MIN_FIRST_RATE) ** 0.8, 0.0
        for k in range(MAX_NEWTON_STEPS):
            change = self._factors.solve(self._slopes(times, self.y + z) - INVERSE_STAGE_MATRIX @ z / h)
            size = _norm(change / scale)
            if not np.isfinite(size):
                return None
            if k:
                rate = size / before if before else 0.0
                if rate >= 1 or rate ** (MAX_NEWTON_STEPS - 1 - k) / (1 - rate) * size > self._close:
                    return None
                self._rate, eta = rate, rate / (1 - rate)
            z = z + change
            if eta * size <= self._close:
                self._eta = eta
                return z, k + 1
            before = size
        return None

    def _predicted(self, h: float) -> Array:
        """z (3, n) by the polynomial of the last step, continued, but not far."""
        if self._last is None or h > MAX_EXTRAPOLATED_STEPS * self._last.h:
            return np.zeros((3, len(self.y)))
        old, x, z, _ = self._last
        s = 1 + NODES * h / old
        return np.asarray(x - self.y + (s[:, None] ** np.arange(1, 4)) @ (POLYNOMIAL_OF_STAGES @ z))

    def _error(self, h: float, z: Array, rejected: bool) -> float:
        """The estimated error over its bound; after a rejected step, and in the first, filtered twice."""
        assert self.f is not None
        assert self._factors is not None
        rest = ERROR_WEIGHTS @ z / h
        scale = self._scale(np.maximum(np.abs(self.y), np.abs(self.y + z[-1])))
        error = self._factors.solve_real(self.f + rest)
        size = _norm(error / scale)
        if size > 1 and (rejected or self._last is None):
            error = self._factors.solve_real(self._slope(self.t, self.y + error) + rest)
            size = _norm(error / scale)
        return size if np.isfinite(size) else np.inf

    def _accept(self, h: float, z: Array, error: float, safety: float, rejected: bool) -> None:
        """Move on, and choose the next step by the last two errors [H&W IV.8, (8.25)]."""
        error = max(error, 1e-10)
        factor = error**-0.25
        if self._last is not None:
            factor *= min(1.0, h / self._last.h * (self._last.error / error) ** 0.25)
        factor = min(1.0 if rejected else MOST, max(LEAST_FACTOR, safety * factor))
        stays = self._rate <= MAX_RATE_OF_OLD_DERIVATIVE and 1 <= factor <= MIN_STEP_GROWTH
        self._last = _LastStep(h, self.y, z, error)
        self.h_abs = h if stays else h * factor
        last = h >= self._end - self.t
        self.t = self._reached = self._end if last else self.t + h
        self.y, self.f, self._current = self.y + z[-1], None, False
        self.status = "finished" if last else "running"

    def _differentiate(self) -> None:
        self._J, self._current = differences(self._slopes, self.t, self.y), True
        self._factors, self._rate = None, 0.0

    def _first_step(self) -> float:
        """A step over which an explicit method would change little [E. Hairer, S. P. Norsett, G. Wanner, Solving
        Ordinary Differential Equations I: Nonstiff Problems, 2nd ed., Springer 1993, section II.4]."""
        self.f = self._slope(self.t, self.y)
        scale = self._scale(self.y)
        there, speed = _norm(self.y / scale), _norm(self.f / scale)
        if not np.isfinite(speed):
            return 0.0  # no step is small enough
        short = 1e-6 if min(there, speed) < 1e-5 else 0.01 * there / speed
        short = min(short, self._end - self.t)
        bend = _norm((self._slope(self.t + short, self.y + short * self.f) - self.f) / scale) / short
        if not np.isfinite(bend):
            return 0.01 * short  # the explicit step leaves the domain of the slope
        greatest = max(speed, bend)
        longer = max(1e-6, 1e-3 * short) if greatest <= 1e-15 else (0.01 / greatest) ** 0.25
        return min(100 * short, longer)

    def _scale(self, x: Array) -> Array:
        return np.asarray(self._rtol * (1 + np.abs(x)))


class _LastStep(NamedTuple):
    """A step that was accepted: its length, the state y (n,) before it, its stages z (3, n), and the estimated error
    over its bound."""

    h: float
    y: Array
    z: Array
    error: float


class _Factors:
    """LU factors of GAMMA / h - J and ALPHA / h - J."""

    def __init__(self, J: Any, h: float) -> None:
        self.h = h
        lapack, one = scipy.linalg.lapack, np.eye(len(J))
        self._get: tuple[Any, Any] = (lapack.dgetrs, lapack.zgetrs)
        self._real = lapack.dgetrf(GAMMA / h * one - J)[:2]
        self._complex = lapack.zgetrf(ALPHA / h * one - J)[:2]

    def solve_real(self, b: Array) -> Array:
        """(GAMMA / h - J)^-1 b."""
        return np.asarray(self._get[0](*self._real, b)[0])

    def solve(self, b: Array) -> Array:
        """(3, n) (A^-1 / h (x) I - I (x) J)^-1 b for b (3, n); not finite where a matrix is singular."""
        first, second = self.solve_real(TO_REAL @ b), self._get[1](*self._complex, TO_COMPLEX @ b)[0]
        return np.asarray(np.outer(REAL, first) + 2 * np.outer(COMPLEX, second).real)


def differences(slopes: Slopes, t: float, x: Array) -> Array:
    """(n, n) d slope / dx by forward differences, all columns in one call.

    Newton's iteration needs it to converge, not to be accurate: an error of some 1e-8 of the curvature slows it by as
    much. Differences serve every model, solved surfaces included, and cost n + 1 slopes.

    >>> import numpy as np
    >>> from myoquat.dynamics.integrators import differences
    >>> differences(lambda t, x: x**2, 0.0, np.array([1.0, 2.0])).round(6)
    array([[2., 0.],
           [0., 4.]])
    """
    check_types(slopes=(slopes, CALLABLE), x=(x, np.ndarray))
    states = x + np.concatenate(
        [np.zeros((1, len(x))), np.diag(RELATIVE_DIFFERENCE * np.maximum(np.abs(x), MIN_DIFFERENCED_SIZE))]
    )
    rates = slopes(np.full(len(states), t), states)
    moved = states[1:].diagonal() - x  # what round-off has left of the steps
    return np.asarray(((rates[1:] - rates[0]) / moved[:, None]).T)


def _norm(x: Array) -> float:
    """The root of the mean square."""
    return float(np.sqrt(np.mean(x * x)))
