"""M = L^T D L for the mass matrix of a tree: a factorization that keeps the zeros between branches.

L is unit lower triangular when velocities are numbered parents first; row k has entries only at ancestors of k. A body
that follows a ball joint moves with the velocities of its leader's joint, which are ancestors of all that it carries.
Source: [RBDA] R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, section 6.5, tables 6.3 and 6.4.
"""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import Array
from myoquat.joints import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD
from myoquat.joints.vectors import components, mirrored, transpose
from myoquat.kernels.control_flow.out_of_line_call import out_of_line_call
from myoquat.kernels.control_flow.table_loop import Rows
from myoquat.kernels.tracing.context import becomes_loops

from .composite import add_blocks, mass
from .inverse import inverse
from .rows import filled_entries

# entries of L from which its code is long beside a call: 30 for ten four-bar loops, 356 for Rajagopal2016
MIN_LOOPED_ENTRIES = 100
# entries of L from which its products with many columns are a loop over blocks: 16 ball joints in a chain have 1,176
MIN_BLOCKED_ENTRIES = 1000
PANEL_COLUMNS = 8  # of a block of three rows: its products stay in registers


def ancestors(system: ArticulatedSystem) -> list[tuple[int, list[int]]]:
    """Every velocity, with its ancestors: the velocities that move the body on which its joint hangs. Ancestors come
    first in both lists. [RBDA] expands the parent array in the same way in section 6.5."""
    above: dict[int, list[int]] = {WORLD: []}
    found: list[tuple[int, list[int]]] = []
    for i, link in enumerate(system.tree.links):
        chain = list(above[link.parent])
        for k in range(link.u.start, link.u.stop):
            if not link.follows:  # the velocities of a follower are those of its leader, which has the same ancestors
                found.append((k, list(chain)))
            chain.append(k)
        above[i] = chain
    return found


def elimination_order(filled: Array) -> list[tuple[int, list[int]]]:
    """The same for any symmetric matrix (n, n) that is zero where `filled` is not True: the entries of its factor."""
    filled, found = filled.copy(), list[tuple[int, list[int]]]()
    for k in reversed(range(len(filled))):
        above = np.flatnonzero(filled[k, :k])
        filled[np.ix_(above, above)] = True
        found.insert(0, (k, above.tolist()))
    return found


def factor(order: list[tuple[int, list[int]]], M: Array) -> Array:
    """(..., nu, nu) L below its unit diagonal and 1/D on it, of M (..., nu, nu), M = L^T D L."""
    F = M.copy()
    for k, above in reversed(order):
        F[..., k, k] = 1.0 / F[..., k, k]
        if not above:
            continue
        row = F[..., k, above]
        scaled = row * F[..., k, k, None]
        for a, i in enumerate(above):
            F[..., i, above[: a + 1]] = F[..., i, above[: a + 1]] - scaled[..., a, None] * row[..., : a + 1]
        F[..., k, above] = scaled
    return F


def mass_factor(system: ArticulatedSystem, q: Array) -> Array:
    """(..., nu, nu) the factor of M(q). In a kernel of a large system it is a function of its own. Constraints ask for
    it once for accelerations and twice, at other coordinates, for a projection."""
    order = ancestors(system)
    if sum(len(above) for _, above in order) < MIN_LOOPED_ENTRIES:
        return factor(order, mass(system, q))
    rows, columns = pattern(order)
    entries = out_of_line_call(_entries, (system,), q, len(rows))
    F = 0.0 * entries[..., :1, None] + np.zeros((system.nu, system.nu))  # of floats or symbols
    F[..., rows, columns] = entries
    return F


def _entries(system: ArticulatedSystem, q: Array) -> Array:
    """(..., n) the entries of the factor of M(q) that are not zero."""
    both = sparse_entries(system, q)
    return both[..., both.shape[-1] // 2 :]


def sparse_entries(system: ArticulatedSystem, q: Array) -> Array:
    """(..., 2 n) the entries of M, on and below its diagonal, and those of its factor, in the order of `pattern`."""
    order = ancestors(system)
    rows, columns = pattern(order)
    M = mass(system, q)
    return np.concatenate([M[..., rows, columns], factor(order, M)[..., rows, columns]], axis=-1)


def pattern(order: list[tuple[int, list[int]]]) -> tuple[list[int], list[int]]:
    """Rows and columns of the entries of L and 1/D."""
    cells = [(k, i) for k, above in order for i in (*above, k)]
    return [k for k, _ in cells], [i for _, i in cells]


def solve(order: list[tuple[int, list[int]]], F: Array, B: Array) -> Array:
    """(..., nu, n) M^-1 B from the factor F and B (..., nu, n)."""
    return ascended(order, F, descended(order, F, B))


def columns_solved(order: list[tuple[int, list[int]]], F: Array, B: Array) -> Array:
    """`solve` for many columns. In a kernel of a large system it is a loop over blocks of F for each panel of B, which
    a cache near the processor holds. The code of each shape of blocks stands once."""
    nu, n = B.shape[-2:]
    if sum(len(above) + 1 for _, above in order) < MIN_BLOCKED_ENTRIES or not becomes_loops(F):
        return solve(order, F, B)
    # With L = diag(L_KK) (1 + N) over groups K of velocities, M = (1 + N)^T diag(M_KK) (1 + N)
    groups, above, rows, N = _groups(order), dict(order), Rows(), F.copy()
    for K in groups:
        for a in range(1, len(K)):
            N[K[a], : K[0]] = N[K[a], : K[0]] - F[K[a], K[0] : K[a]] @ N[K[0] : K[a], : K[0]]

    for first in range(0, n, PANEL_COLUMNS):
        size = min(PANEL_COLUMNS, n - first)
        found = {K: (first + n * K[0], n, len(K), size) for K in groups}
        x = {K: (nu * n + start, *others) for K, (start, *others) in found.items()}  # from B, behind the result
        f = {(K, I): (2 * nu * n + nu * K[0] + I[0], nu, len(K), len(I)) for K in groups for I in groups}
        pairs = [(K, I) for K, I in f if I[0] in above[K[0]]]
        for K, I in reversed(pairs):
            add_blocks(rows, _less_transposed, [f[K, I], x[K], x[I]], x[I])
        for K in groups:
            add_blocks(rows, _solved, [f[K, K], x[K]], found[K])
        for K, I in pairs:
            add_blocks(rows, _less, [f[K, I], found[I], found[K]], found[K])
    cells = [0.0] * (nu * n) + list(np.asarray(B).flat) + list(np.asarray(N).flat)
    return rows.looped(cells, nu * n).reshape(nu, n)


def _groups(order: list[tuple[int, list[int]]]) -> list[tuple[int, ...]]:
    """Velocities that follow each other without a branch between them, up to three of them, ancestors first."""
    children, groups = Counter(above[-1] for _, above in order if above), list[tuple[int, ...]]()
    for k, above in order:
        last = groups[-1] if groups else ()
        joins = last[-1:] == (k - 1,) == tuple(above[-1:]) and children[k - 1] == 1 and len(last) < 3
        groups[-1:] = [(*last, k)] if joins else [*groups[-1:], (k,)]
    return groups


def _less(F: Array, X: Array, Y: Array) -> Array:
    return Y - F @ X


def _less_transposed(F: Array, X: Array, Y: Array) -> Array:
    return Y - F.T @ X


def _solved(F: Array, X: Array) -> Array:
    return solve([(k, list(range(k))) for k in range(len(F))], F, X)


def ascended(order: list[tuple[int, list[int]]], F: Array, X: Array) -> Array:
    """(..., nu, n) L^-1 D^-1 X: the second half of `solve`."""
    X = X.copy()
    for k, above in order:
        X[..., k, :] = X[..., k, :] * F[..., k, k, None]
        if above:
            X[..., k, :] = X[..., k, :] - np.sum(F[..., k, above, None] * X[..., above, :], axis=-2)
    return X


def descended(order: list[tuple[int, list[int]]], F: Array, B: Array) -> Array:
    """(..., nu, n) L^-T B, with B^T M^-1 B = (L^-T B)^T D^-1 (L^-T B): the first half of `solve`."""
    X = B + 0.0 * F[..., :1, :1]  # a fresh array of the common batch, of floats or symbols
    for k, above in reversed(order):
        if above:
            X[..., above, :] = X[..., above, :] - F[..., k, above, None] * X[..., k, None, :]
    return X


class Metric(NamedTuple):
    """M = L^T D L by its factor F (..., nu, nu) in the order of velocities with their ancestors."""

    order: list[tuple[int, list[int]]]
    F: Array

    @classmethod
    def of(cls, M: Array) -> "Metric":
        """M, in the order of its structural zeros."""
        order = elimination_order(filled_entries(M))
        return cls(order, factor(order, M))

    @classmethod
    def at(cls, system: ArticulatedSystem, q: Array) -> "Metric":
        """M(q) of a system."""
        order = ancestors(system)
        return cls(order, factor(order, mass(system, q)))

    @property
    def inverse_pivots(self) -> Array:
        """(..., nu) 1/D."""
        return np.diagonal(self.F, axis1=-2, axis2=-1)

    def solve(self, force: Array) -> Array:
        """(..., nu) M^-1 force."""
        return solve(self.order, self.F, force[..., None])[..., 0]

    def halved(self, A: Array) -> Array:
        """(..., nu, k) Y = D^-1/2 L^-T A^T, with Y^T Y = A M^-1 A^T."""
        return np.sqrt(self.inverse_pivots)[..., None] * descended(self.order, self.F, transpose(A))

    def lengths(self, A: Array, sizes: Array) -> Array:
        """(..., k) the lengths of rows A (..., k, nu) that come from numbers of larger `sizes` with their round-off."""
        least = np.sqrt(self.inverse_pivots)[..., None, :] * sizes
        return np.sqrt(np.sum(self.halved(A) ** 2, axis=-2) + np.sum(least * least, axis=-1))

    def motion(self, x: Array) -> Array:
        """(..., nu) L^-1 D^-1/2 x: M^-1 A^T lambda of x = Y lambda."""
        return ascended(self.order, self.F, (x / np.sqrt(self.inverse_pivots))[..., None])[..., 0]

    def inverse_product(self, A: Array) -> Array:
        """(..., k, k) A M^-1 A^T = Y^T D^-1 Y with Y = L^-T A^T. Y is as sparse as the branches that the rows reach."""
        Y = descended(self.order, self.F, transpose(A))
        return transpose(Y) @ (self.inverse_pivots[..., None] * Y)


def inverse_mass(system: ArticulatedSystem, q: Array) -> Array:
    """(..., nu, nu) M^-1."""
    return mirrored(solve(*Metric.at(system, q), np.eye(system.nu)))


def forward(system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """(..., nu) udot = M^-1 (tau - b + J^T f_ext)."""
    rest = tau - inverse(system, q, u, None, f_ext)
    return Metric.at(system, q).solve(rest)


# --------------------------------------------------------------------------------------------------------------
#
# Small symmetric systems, solved by formulas without branches that run on floats and symbols alike. They are those of
# the articulated-body recursion at every joint, of constraints and of independent coordinates.


def inverse3(S: Array) -> Array:
    """(..., 6) inverse of a symmetric 3 x 3 matrix of entries S (..., 6), by its adjugate."""
    xx, yy, zz, xy, xz, yz = components(S)
    A, B, C = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    D, E, F = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    scale = 1.0 / (xx * A + xy * B + xz * C)
    return np.stack([A, D, F, B, C, E], axis=-1) * scale[..., None]


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
