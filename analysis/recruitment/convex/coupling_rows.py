"""Rows that couple neighbouring programs, and the banded system of all rows.

Programs with coupled variables are one program. An interior-point step linearizes the conditions and eliminates all but
the multipliers. Its matrix is R D^-1 R^T + M:

    D  the diagonal curvature of the variables
    R  the rows of all equations, cones and couplings
    M  the compliance of the rows

Rows are ordered program by program; coupling rows follow the rows of the first of their two programs. Rows that share a
variable are therefore near each other, and the matrix is banded. The cost of its Cholesky factorization is linear in
the number of programs [G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 2013, section 4.3.5].
"""

import numpy as np

from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array

__all__ = ["BandedRows", "CouplingRows"]

DIAGONAL_REGULARIZATION = 1e-14  # relative, added to the diagonal: dependent rows get finite multipliers


@dataclass(frozen=True, eq=False)
class CouplingRows:
    """l rows d = before x[step, variable] + after x[step + 1, variable] - least, in ascending order of their steps.

    Rows are conditions d >= 0 if `weight` is infinite, and objectives weight d^2 otherwise. All fields are (l,).
    """

    step: Array
    variable: Array
    before: Array
    after: Array
    least: Array
    weight: Array

    @classmethod
    def none(cls) -> "CouplingRows":
        """No rows."""
        zero, whole = np.zeros(0), np.zeros(0, dtype=int)
        return cls(whole, whole, zero, zero, zero, zero)

    @classmethod
    def joined(cls, *parts: "CouplingRows") -> "CouplingRows":
        """All rows of several parts, in order."""
        rows = {name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__}
        order = np.lexsort((rows["variable"], rows["step"]))
        return cls(**{name: values[order] for name, values in rows.items()})

    @property
    def hard(self) -> Array:
        """(l,) the rows that are conditions."""
        return np.isinf(self.weight)

    @property
    def give(self) -> Array:
        """(l,) the compliance of the others, d over the multiplier, which is -2 weight d."""
        hard = self.hard
        return np.where(hard, 0.0, 1 / (2 * np.where(hard, 1.0, self.weight)))

    def of(self, x: Array) -> Array:
        """(l,) d of a change or, less `least`, of a point x (k, n)."""
        result: Array = self.before * x[self.step, self.variable] + self.after * x[self.step + 1, self.variable]
        return result

    def values(self, x: Array) -> Array:
        """(l,) d at x (k, n)."""
        return self.of(x) - self.least

    def objective(self, x: Array) -> Array:
        """(l,) weight d^2 of the rows that have one, at x (k, n)."""
        hard = self.hard
        result: Array = np.where(hard, 0.0, self.weight_or_zero * self.values(x) ** 2)
        return result

    @property
    def weight_or_zero(self) -> Array:
        """(l,) the weights, 0 for conditions."""
        return np.where(self.hard, 0.0, self.weight)

    def price(self, multipliers: Array, shape: tuple[int, int]) -> Array:
        """(k, n) the sum of the rows times multipliers (l,)."""
        place, (k, n) = self.step * shape[1] + self.variable, shape
        found = np.bincount(place, self.before * multipliers, k * n)
        found += np.bincount(place + n, self.after * multipliers, k * n)
        return found.reshape(shape)

    def shifted(self, centre: Array) -> "CouplingRows":
        """The rows of x - centre (k, n)."""
        return CouplingRows(
            self.step, self.variable, self.before, self.after, self.least - self.of(centre), self.weight
        )


class BandedRows:
    """The order of the r rows of each of k programs and of the coupling rows, and their banded matrix."""

    def __init__(self, k: int, r: int, coupling: CouplingRows) -> None:
        self.coupling, step = coupling, coupling.step
        first = r * np.arange(k) + np.concatenate([[0], np.cumsum(np.bincount(step, minlength=k))[:-1]])
        self.rows = first[:, None] + np.arange(r)
        self.coupling_numbers = np.arange(len(step)) + r * (step + 1)
        self.size = k * r + len(step)
        low = np.tri(r, dtype=bool)
        own = np.broadcast_to(low, (k, r, r))
        left, right = self._neighbours(coupling)
        place = self.coupling_numbers[:, None]
        pairs = [
            (self.rows[:, :, None] + np.zeros((1, 1, r), int), self.rows[:, None, :] + np.zeros((1, r, 1), int)),
            (place + np.zeros((1, r), int), self.rows[step]),
            (self.rows[step + 1], place + np.zeros((1, r), int)),
            (self.coupling_numbers, self.coupling_numbers),
            (self.coupling_numbers[right], self.coupling_numbers[left]),
        ]
        pairs[0] = (pairs[0][0][own], pairs[0][1][own])
        self.low, self.left, self.right = low, left, right
        self.width = max((int((i - j).max(initial=0)) for i, j in pairs), default=0) + 1
        self.at = [((i - j) + self.width * j).ravel() for i, j in pairs]

    @staticmethod
    def _neighbours(coupling: CouplingRows) -> tuple[Array, Array]:
        """Numbers of rows that share a variable of a program: of one step, and of a step and the next."""
        n = int(coupling.variable.max(initial=0)) + 1
        key = coupling.step * n + coupling.variable
        order = np.argsort(key, kind="stable")
        ranked = key[order]
        left, right = [], []
        for reach in (1, 2, 3):  # rows of one step and variable, of which there are few
            for away in (0, n):
                begin = np.searchsorted(ranked, key + away, side="left") + reach - 1
                found = begin < len(ranked)
                found[found] = ranked[begin[found]] == key[found] + away
                other = order[begin[found]]
                here = np.flatnonzero(found)
                kept = other > here if away == 0 else np.ones(len(here), dtype=bool)
                left.append(here[kept])
                right.append(other[kept])
        return np.concatenate(left), np.concatenate(right)

    def factored(self, B: Array, softness: Array, give: Array, coupling_give: Array) -> Array:
        """The Cholesky factor, (width, size), of R D^-1 R^T + M.

        B              (k, r, n) the rows
        softness       (k, n) D^-1
        give           (k, r) compliances of the rows
        coupling_give  (l,) compliances of the coupling rows
        """
        coupling = self.coupling
        own = (B * softness[:, None, :]) @ np.swapaxes(B, -1, -2)
        diagonal = np.arange(B.shape[1])
        own[:, diagonal, diagonal] += give
        near, far = (softness[coupling.step + off, coupling.variable] for off in (0, 1))
        near, far = near * coupling.before, far * coupling.after
        band = np.zeros(self.width * self.size)
        band[self.at[0]] = own[:, self.low].ravel()
        band[self.at[1]] = (B[coupling.step, :, coupling.variable] * near[:, None]).ravel()
        band[self.at[2]] = (B[coupling.step + 1, :, coupling.variable] * far[:, None]).ravel()
        band[self.at[3]] = near * coupling.before + far * coupling.after + coupling_give
        np.add.at(band, self.at[4], self._between(near, far))
        matrix = band.reshape((self.width, self.size), order="F")
        matrix[0] = np.where(matrix[0] > 0, matrix[0] * (1 + DIAGONAL_REGULARIZATION), 1.0)
        factor, info = scipy.linalg.lapack.dpbtrf(matrix, lower=1, overwrite_ab=1)
        if info:
            raise np.linalg.LinAlgError("the rows of the programs are not positive definite")
        found: Array = factor
        return found

    def _between(self, near: Array, far: Array) -> Array:
        coupling, left, right = self.coupling, self.left, self.right
        same = coupling.step[left] == coupling.step[right]
        return np.where(
            same,
            near[left] * coupling.before[right] + far[left] * coupling.after[right],
            far[left] * coupling.before[right],
        )

    def solved(self, factor: Array, rows: Array, coupling_right: Array) -> tuple[Array, Array]:
        """The multipliers (k, r) and (l,) of right sides (k, r) and (l,)."""
        right = np.empty(self.size)
        right[self.rows], right[self.coupling_numbers] = rows, coupling_right
        found, _ = scipy.linalg.lapack.dpbtrs(factor, right, lower=1, overwrite_b=1)
        return found[self.rows], found[self.coupling_numbers]
