"""M = L^T D L for the mass matrix of a tree: a factorization that keeps the zeros between branches.

L is unit lower triangular when velocities are numbered parents first; row k has entries only at ancestors of k. A body
that follows a ball joint moves with the velocities of its leader's joint, which are ancestors of all that it carries.
Source: [RBDA] R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, section 6.5, tables 6.3 and 6.4.
"""

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.composite import mass
from myoquat.dynamics.inverse import inverse
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD
from myoquat.joints.vectors import mirrored
from myoquat.kernels.control_flow.map_rows import out_of_line_call

__all__ = [
    "ancestors",
    "ascended",
    "descended",
    "factor",
    "forward",
    "inverse_mass",
    "mass_factor",
    "pattern",
    "solve",
    "sparse_entries",
]

# entries of L from which its code is long beside a call: 30 for ten four-bar loops, 356 for Rajagopal2016
MIN_LOOPED_ENTRIES = 100


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
    order = ancestors(system)
    rows, columns = pattern(order)
    return factor(order, mass(system, q))[..., rows, columns]


def sparse_entries(system: ArticulatedSystem, q: Array) -> Array:
    """(..., 2 n) the entries of M, on and below its diagonal, and those of its factor, in the order of `pattern`."""
    order = ancestors(system)
    rows, columns = pattern(order)
    M = mass(system, q)
    found: Array = np.concatenate([M[..., rows, columns], factor(order, M)[..., rows, columns]], axis=-1)
    return found


def pattern(order: list[tuple[int, list[int]]]) -> tuple[list[int], list[int]]:
    """Rows and columns of the entries of L and 1/D."""
    cells = [(k, i) for k, above in order for i in (*above, k)]
    return [k for k, _ in cells], [i for _, i in cells]


def solve(order: list[tuple[int, list[int]]], F: Array, B: Array) -> Array:
    """(..., nu, n) M^-1 B from the factor F and B (..., nu, n)."""
    return ascended(order, F, descended(order, F, B))


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


def inverse_mass(system: ArticulatedSystem, q: Array) -> Array:
    """(..., nu, nu) M^-1."""
    order = ancestors(system)
    return mirrored(solve(order, factor(order, mass(system, q)), np.eye(system.nu)))


def forward(system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """(..., nu) udot = M^-1 (tau - b + J^T f_ext)."""
    order = ancestors(system)
    rest = tau - inverse(system, q, u, None, f_ext)
    return solve(order, factor(order, mass(system, q)), rest[..., None])[..., 0]
