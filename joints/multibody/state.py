"""Formulas of the generalized state S = (q, u) of a system: rates, integration and differences, joint by joint.

All take arrays with leading batch axes, floats or symbols. They are not checked; `ArticulatedSystem` checks its
arguments.
"""

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.multibody.tree import Layout
from myoquat.joints.vectors import joined, matvec

__all__ = ["difference", "displaced", "integrate", "normalized", "rate_inverse", "rate_matrix", "rates", "velocities"]


def _joined(parts: list[Array], otherwise: Array) -> Array:
    return joined(parts) if parts else otherwise


def _over(result: Array, *given: Array) -> Array:
    """The result over the batch axes of all that was given, of which N may need none."""
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in given))
    return result if result.shape[:-1] == batch else np.broadcast_to(result, (*batch, result.shape[-1]), subok=True)


def normalized(layout: Layout, q: Array) -> Array:
    """(..., nq) q with every quaternion divided by its length: the nearest point of each unit sphere."""
    found = q.copy()
    for s in layout.quaternion_slices():
        found[..., s] = q[..., s] / np.sqrt(np.sum(q[..., s] * q[..., s], axis=-1))[..., None]
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
    return _over(_joined([matvec(j.rate_matrix(q[..., iq]), u[..., iu]) for j, iq, iu in layout.joints()], q), q, u)


def velocities(layout: Layout, q: Array, qdot: Array) -> Array:
    """(..., nu) u with N(q) u = qdot."""
    parts = [matvec(j.rate_inverse(q[..., iq]), qdot[..., iq]) for j, iq, _ in layout.joints()]
    return _over(_joined(parts, np.zeros(0)), q, qdot)


def rate_matrix(layout: Layout, q: Array) -> Array:
    """(..., nq, nu) N(q)."""
    blocks = [(iq, iu, j.rate_matrix(q[..., iq])) for j, iq, iu in layout.joints()]
    return _block_diagonal(blocks, q.shape[:-1], layout.nq, layout.nu)


def rate_inverse(layout: Layout, q: Array) -> Array:
    """(..., nu, nq) N^+(q)."""
    blocks = [(iu, iq, j.rate_inverse(q[..., iq])) for j, iq, iu in layout.joints()]
    return _block_diagonal(blocks, q.shape[:-1], layout.nu, layout.nq)


def _block_diagonal(blocks: list[tuple[slice, slice, Array]], batch: tuple[int, ...], rows: int, columns: int) -> Array:
    """(*batch, rows, columns) of blocks (row slice, column slice, (..., m, n)) that cover all rows in order."""
    strips = []
    for r, c, block in blocks:
        block = np.broadcast_to(block, (*batch, *block.shape[-2:]), subok=True)
        height = r.stop - r.start
        left, right = np.zeros((*batch, height, c.start)), np.zeros((*batch, height, columns - c.stop))
        strips.append(np.concatenate([left, block, right], axis=-1))
    return np.concatenate(strips, axis=-2) if strips else np.zeros((*batch, rows, columns))
