"""Which component of each quaternion is eliminated in constrained Jacobians."""

import numpy as np

from myoquat.core.arguments import check_unmasked
from myoquat.core.typing import Array, ArrayLike
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.kernels.symbolic.arrays import is_symbolic

__all__ = ["eliminated_components", "quaternions"]


def eliminated_components(system: ArticulatedSystem, q: Array, eliminated: ArrayLike | str) -> Array:
    """(..., balls) index of the eliminated component of each quaternion; ValueError if it is zero at a pose."""
    if isinstance(eliminated, str) and eliminated != "largest":
        raise ValueError(f"eliminated is 0, 1, 2, 3, 'largest' or an array of these, not {eliminated!r}")
    Q = quaternions(system, q)
    if isinstance(eliminated, str):
        if is_symbolic(q):
            raise TypeError("eliminated='largest' depends on the values of q: with symbols give 0, 1, 2 or 3")
        largest: Array = np.argmax(np.abs(Q), axis=-1)
        return largest
    check_unmasked("eliminated", eliminated)
    index = np.asarray(eliminated)
    if index.dtype.kind not in "iu" or np.any((index < 0) | (index > 3)):
        raise ValueError(f"eliminated is 0, 1, 2, 3, 'largest' or an array of these, not {eliminated!r}")
    index = np.broadcast_to(index, Q.shape[:-1])
    if is_symbolic(q):
        return index
    vanishing = np.take_along_axis(Q, index[..., None], axis=-1)[..., 0] == 0
    if np.any(vanishing):
        where = [int(i) for i in np.argwhere(vanishing)[0]]
        raise ValueError(
            f"eliminated component Q{index[tuple(where)]} of ball joint {where[-1]} is zero at pose {where[:-1]}: "
            "the constrained chart does not exist there; use eliminated='largest'"
        )
    return index


def quaternions(system: ArticulatedSystem, q: Array) -> Array:
    """(..., balls, 4) the quaternions in q (..., nq)."""
    slices = system.quaternion_slices()
    return np.stack([q[..., s] for s in slices], axis=-2) if slices else np.zeros((*q.shape[:-1], 0, 4))
