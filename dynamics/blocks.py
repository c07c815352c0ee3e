"""Small symmetric systems, solved by formulas without branches that run on floats and symbols alike. They are those of
the articulated-body recursion at every joint, of constraints and of independent coordinates."""

from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.vectors import components

__all__ = ["Factors", "inverse3", "solve_small"]


def inverse3(S: Array) -> Array:
    """(..., 6) inverse of a symmetric 3 x 3 matrix of entries S (..., 6), by its adjugate."""
    xx, yy, zz, xy, xz, yz = components(S)
    A, B, C = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    D, E, F = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    scale = 1.0 / (xx * A + xy * B + xz * C)
    result: Array = np.stack([A, D, F, B, C, E], axis=-1) * scale[..., None]
    return result


def solve_small(D: Array, B: Array) -> Array:
    """(..., n, m) D^-1 B for a symmetric positive definite D (..., n, n) of a few rows and B (..., n, m).

    By the root-free Cholesky factorization D = L P L^T, P diagonal, without pivoting. Source: G. H. Golub, C. F. Van
    Loan, Matrix Computations, 4th ed., Johns Hopkins 2013, section 4.1.2.
    """
    n = D.shape[-1]
    if n == 1:
        return B / D
    factors = Factors([[D[..., i, j][..., None] for j in range(i + 1)] for i in range(n)])
    return np.stack(factors.solve([B[..., i, :] for i in range(n)]), axis=-2)


class Factors:
    """L and P of D = L P L^T.

    The lower triangle of D is given by its rows, D[i][j] with j <= i, as lists of entries (...). Rows whose pivot is
    not above `least` (...) are left out, as are the unknowns of the same number.
    """

    def __init__(self, D: list[list[Any]], least: Any = None) -> None:
        n, lower = len(D), [list(row) for row in D]
        ratios: list[list[Any]] = [[] for _ in D]
        pivots: list[Any] = []
        for j in range(n):
            pivots.append(1.0 / lower[j][j] if least is None else _inverse_above(lower[j][j], least))
            for i in range(j + 1, n):
                ratio = lower[i][j] * pivots[j]
                for k in range(j + 1, i + 1):
                    lower[i][k] = lower[i][k] - ratio * lower[k][j]
                ratios[i].append(ratio)
        self.lower, self.ratios, self.pivots = lower, ratios, pivots

    @classmethod
    def of(cls, lower: list[list[Any]], ratios: list[list[Any]], pivots: list[Any]) -> "Factors":
        """Factors from their parts as another instance holds them; of `lower` what is below the diagonal is enough."""
        self = cls.__new__(cls)
        self.lower, self.ratios, self.pivots = lower, ratios, pivots
        return self

    def solve(self, right: list[Any]) -> list[Any]:
        """D^-1 of a right-hand side by its rows."""
        rows, n = list(right), len(right)
        for i in range(n):
            for ratio, row in zip(self.ratios[i], rows, strict=False):
                rows[i] = rows[i] - ratio * row
        for i in reversed(range(n)):
            for k in range(i + 1, n):
                rows[i] = rows[i] - self.lower[k][i] * rows[k]
            rows[i] = rows[i] * self.pivots[i]
        return rows


def _inverse_above(pivot: Any, least: Any) -> Any:
    """1 / pivot above the least, 0 otherwise."""
    above = pivot > least
    return np.where(above, 1.0 / np.where(above, pivot, 1.0), 0.0)
