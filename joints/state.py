"""Formulas of the generalized state S = (q, u) of a system: rates, integration and differences, joint by joint.

All take arrays with leading batch axes, floats or symbols, unchecked; `ArticulatedSystem` has the doors.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from myoquat.joints._layout import joined

if TYPE_CHECKING:
    from myoquat.joints.system import ArticulatedSystem

__all__ = ["difference", "displaced", "integrate", "rate_inverse", "rate_matrix", "rates", "velocities"]


def _parts(system: "ArticulatedSystem") -> Any:
    return zip((body.joint for body in system.bodies), system.q_slices, system.u_slices, strict=True)


def _joined(parts: list[Any], otherwise: Any) -> Any:
    return joined(parts) if parts else otherwise


def displaced(system: "ArticulatedSystem", q: Any, motion: Any) -> Any:
    """(..., nq) coordinates after the small motion u dt = `motion` (..., nu), exact to first order."""
    return _joined([j.displaced(q[..., iq], motion[..., iu]) for j, iq, iu in _parts(system)], q)


def integrate(system: "ArticulatedSystem", q: Any, v: Any) -> Any:
    """(..., nq) coordinates after unit time at constant u = v (..., nu)."""
    return _joined([j.integrate(q[..., iq], v[..., iu]) for j, iq, iu in _parts(system)], q)


def difference(system: "ArticulatedSystem", q0: Any, q1: Any) -> Any:
    """(..., nu) v with integrate(q0, v) = q1, the shortest one in each joint."""
    return _joined([j.difference(q0[..., iq], q1[..., iq]) for j, iq, _ in _parts(system)], np.zeros(0))


def rates(system: "ArticulatedSystem", q: Any, u: Any) -> Any:
    """(..., nq) qdot = N(q) u."""
    return _joined([_times(j.rate_matrix(q[..., iq]), u[..., iu]) for j, iq, iu in _parts(system)], q)


def velocities(system: "ArticulatedSystem", q: Any, qdot: Any) -> Any:
    """(..., nu) u with N(q) u = qdot."""
    return _joined([_times(j.rate_inverse(q[..., iq]), qdot[..., iq]) for j, iq, _ in _parts(system)], np.zeros(0))


def rate_matrix(system: "ArticulatedSystem", q: Any) -> Any:
    """(..., nq, nu) N(q)."""
    blocks = [(iq, iu, j.rate_matrix(q[..., iq])) for j, iq, iu in _parts(system)]
    return _block_diagonal(blocks, q.shape[:-1], system.nq, system.nu)


def rate_inverse(system: "ArticulatedSystem", q: Any) -> Any:
    """(..., nu, nq) N^+(q)."""
    blocks = [(iu, iq, j.rate_inverse(q[..., iq])) for j, iq, iu in _parts(system)]
    return _block_diagonal(blocks, q.shape[:-1], system.nu, system.nq)


def _times(matrix: Any, vector: Any) -> Any:
    return np.sum(matrix * vector[..., None, :], axis=-1)


def _block_diagonal(blocks: list[tuple[slice, slice, Any]], batch: tuple[int, ...], rows: int, columns: int) -> Any:
    """(*batch, rows, columns) of blocks (row slice, column slice, (..., m, n)) that cover all rows in order."""
    strips = []
    for r, c, block in blocks:
        block = np.broadcast_to(block, (*batch, *block.shape[-2:]), subok=True)
        height = r.stop - r.start
        left, right = np.zeros((*batch, height, c.start)), np.zeros((*batch, height, columns - c.stop))
        strips.append(np.concatenate([left, block, right], axis=-1))
    return np.concatenate(strips, axis=-2) if strips else np.zeros((*batch, rows, columns))
