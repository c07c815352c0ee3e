"""Least squares with as few terms as the wanted errors need, on normal equations."""

from collections.abc import Callable, Iterator

import numpy as np

from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["Moments", "Selection", "select_terms"]

GROWTH_FACTOR = 0.08  # of the number of terms, between two evaluations of the held-out errors
MAX_STALLED_EVALUATIONS = 5  # without a better held-out error, after which the search ends


@dataclass(frozen=True)
class Moments:
    """Mean squares of a least-squares problem y = sum of c phi: of terms G (t, t), with y b (t,), of y itself s."""

    G: Array
    b: Array
    s: float

    def error(self, chosen: Array, c: Array) -> float:
        """The root of the mean square of y - sum of c phi over the chosen terms."""
        G, b = self.G[np.ix_(chosen, chosen)], self.b[chosen]
        return float(np.sqrt(max(0.0, self.s - 2.0 * (b @ c) + c @ G @ c)))


@dataclass(frozen=True)
class Selection:
    """Chosen terms and their coefficients, and how large the held-out errors are, as fractions of those wanted."""

    chosen: Array
    coefficients: Array
    error: float


def select_terms(fit: Moments, weight: float, most: int, held_out: Callable[[Array, Array], float]) -> Selection:
    """Select terms that lower the error of a fit the most, one after the other.

    The selection ends when `held_out`(chosen, coefficients) is at most 1 or no longer falls, or at `most` terms.
    Returns the selection with the least value of `held_out`.

    The objective is the mean square error plus `weight` times the sum of c^2 mean(phi^2), which is positive definite
    for any set of poses. The Cholesky factor of the chosen terms grows by a row for each [S. Chen, S. A. Billings, W.
    Luo, Orthogonal least squares methods and their application to non-linear system identification, Int. J. Control 50,
    1873 (1989)].
    """
    best: Selection | None = None
    since = looked = 0
    for chosen, coefficients in _growing(fit, weight, most):
        count = len(chosen)
        if count < looked + max(1, int(GROWTH_FACTOR * looked)) and count < most:
            continue
        looked = count
        c = coefficients()
        found = Selection(chosen.copy(), c, held_out(chosen, c))
        since = 0 if best is None or found.error < 0.98 * best.error else since + 1
        best = found if best is None or found.error < best.error else best
        if best.error <= 1.0 or since >= MAX_STALLED_EVALUATIONS:
            break
    return Selection(np.zeros(0, dtype=int), np.zeros(0), np.inf) if best is None else best


def _growing(fit: Moments, weight: float, most: int) -> Iterator[tuple[Array, Callable[[], Array]]]:
    """The chosen terms after each further one, and a function that solves for their coefficients."""
    size = np.sqrt(np.maximum(np.diag(fit.G), 1e-300))
    G, b = fit.G / (size[:, None] * size), fit.b / size
    remaining = np.diag(G) + weight
    floor = 0.5 * weight
    most = min(most, len(b))
    rows, z, chosen = np.zeros((most, len(b))), np.zeros(most), np.zeros(most, dtype=int)
    free = np.ones(len(b), dtype=bool)
    b = b.copy()
    for k in range(most):
        gain = np.where(free & (remaining > floor), b * b / np.maximum(remaining, floor), -1.0)
        j = int(np.argmax(gain))
        if gain[j] <= 0.0:
            return
        pivot = np.sqrt(remaining[j])
        row = G[j] - rows[:k, j] @ rows[:k]
        row[j] += weight
        row /= pivot
        rows[k], z[k], chosen[k], free[j] = row, b[j] / pivot, j, False
        b -= row * z[k]
        remaining -= row * row
        at, n = chosen[: k + 1], k + 1

        def solved(at: Array = at, n: int = n) -> Array:
            L = rows[:n, at].T
            c: Array = scipy.linalg.solve_triangular(L, z[:n], lower=True, trans="T", check_finite=False)
            own: Array = c / size[at]
            return own

        yield at, solved
