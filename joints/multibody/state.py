"""Formulas of the generalized state S = (q, u) of a system: rates, integration and differences, joint by joint.

All take arrays with leading batch axes, floats or symbols. They are not checked; `ArticulatedSystem` checks its
arguments.
"""

from collections.abc import Callable

import numpy as np

from myoquat.core import Array
from myoquat.joints.vectors import block_diagonal, dot, joined, matvec, spread
from myoquat.kernels.tracing.derivatives import jacobian_at

from .tree import Layout


def _joined(parts: list[Array], otherwise: Array) -> Array:
    return joined(parts) if parts else otherwise


def normalized(layout: Layout, q: Array) -> Array:
    """(..., nq) q with every quaternion divided by its length: the nearest point of each unit sphere."""
    found = q.copy()
    for s in layout.quaternion_slices():
        found[..., s] = q[..., s] / np.sqrt(dot(q[..., s], q[..., s]))[..., None]
    return found


def displaced(layout: Layout, q: Array, motion: Array) -> Array:
    """(..., nq) coordinates after the small motion u dt = `motion` (..., nu), exact to first order."""
    return _joined([j.displaced(q[..., iq], motion[..., iu]) for j, iq, iu in layout.joints()], q)


def integrate(layout: Layout, q: Array, v: Array) -> Array:
    """(..., nq) coordinates after unit time at constant u = v (..., nu)."""
    return _joined([j.integrate(q[..., iq], v[..., iu]) for j, iq, iu in layout.joints()], q)


def difference(layout: Layout, q0: Array, q1: Array) -> Array:
    """(..., nu) v with integrate(q0, v) = q1, the shortest one in each joint."""
    return _joined([j.difference(q0[..., iq], q1[..., iq]) for j, iq, _ in layout.joints()], np.zeros(0))


def rates(layout: Layout, q: Array, u: Array) -> Array:
    """(..., nq) qdot = N(q) u."""
    parts = [matvec(j.rate_matrix(q[..., iq]), u[..., iu]) for j, iq, iu in layout.joints()]
    return spread(_joined(parts, q), q, u)[0]


def velocities(layout: Layout, q: Array, qdot: Array) -> Array:
    """(..., nu) u with N(q) u = qdot."""
    parts = [matvec(j.rate_inverse(q[..., iq]), qdot[..., iq]) for j, iq, _ in layout.joints()]
    return spread(_joined(parts, np.zeros(0)), q, qdot)[0]


def rate_matrix(layout: Layout, q: Array) -> Array:
    """(..., nq, nu) N(q)."""
    return _block_diagonal([j.rate_matrix(q[..., iq]) for j, iq, _ in layout.joints()], q)


def rate_inverse(layout: Layout, q: Array) -> Array:
    """(..., nu, nq) N^+(q)."""
    return _block_diagonal([j.rate_inverse(q[..., iq]) for j, iq, _ in layout.joints()], q)


def rate_along(function: Callable[[Array], Array], like: Array) -> Array:
    """(..., m) the derivative of function(s) by s (1,) at zero; `like` as for `jacobian_at`."""
    rate: Array = jacobian_at(function, np.zeros(1), like=like)[..., 0]
    return rate


def _block_diagonal(blocks: list[Array], q: Array) -> Array:
    """Over the batch axes of q, of which the blocks may need none."""
    found = block_diagonal(blocks) if blocks else np.zeros((0, 0))
    return np.broadcast_to(found, (*q.shape[:-1], *found.shape[-2:]), subok=True)
