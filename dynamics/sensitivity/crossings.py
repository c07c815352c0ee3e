"""Columns of forces on their way to the ground, and the entries that they leave at the joints which they cross.

The mathematics is in `myoquat.dynamics.sensitivity.forward_recursions`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.sensitivity.columns import columns_to_parent, transposed, work
from myoquat.dynamics.sensitivity.responses import Yield
from myoquat.joints.motion import Pair

__all__ = ["Carried", "Crossing", "beside", "joined_columns", "turned"]


class Carried(NamedTuple):
    """Columns of forces on one link: of dq, du and torques, F each, and rows (..., a, k) that w is multiplied with."""

    q: Pair
    u: Pair
    tau: Pair
    rows: Any


class Crossing(NamedTuple):
    """A joint that forces cross, in the axes of its link.

    transform     to the parent.
    yields        how it yields to forces.
    yielded_by_w  (..., r, a) how it yields by w, D^-1 S^T P.
    beta, w, V    columns (..., 3, nu) each: of dq and du the accelerations beta and the vectors w (..., a, nu), of
                  torques the accelerations V.
    """

    transform: Pair
    yields: Yield
    yielded_by_w: Any
    beta: tuple[Pair, Pair]
    w: tuple[Any, Any]
    V: Pair

    def passed(self, carried: Carried) -> Carried:
        """Columns on its link as columns on the parent."""
        along = self.yields.along(carried.tau)
        rows = carried.rows - transposed(self.yielded_by_w) @ along
        q, u, tau = (columns_to_parent(self.transform, self.yields.passed(F)) for F in carried[:3])
        return Carried(q, u, tau, turned(self.transform[0], rows))

    def entries(self, carried: Carried) -> tuple[list[Array], list[Array]]:
        """Of dq, du and torques: (..., nu, k) each in the rows of the joint, (..., k, nu) each in its columns."""
        above = [-work(self.V, F) for F in carried[:3]]
        below = [
            -(work(carried.tau, beta) + transposed(carried.rows) @ w)
            for beta, w in zip(self.beta, self.w, strict=True)
        ]
        return above, [*below, transposed(above[2])]


def beside(groups: Sequence[Carried]) -> Carried:
    """All columns of several groups."""
    q, u, tau = ((joined_columns([F[0] for F in kind]), joined_columns([F[1] for F in kind]))
                 for kind in zip(*(group[:3] for group in groups), strict=True))  # fmt: skip
    return Carried(q, u, tau, joined_columns([group.rows for group in groups]))


def joined_columns(parts: Sequence[Any]) -> Array:
    """Columns (..., m, k) side by side."""
    batch = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
    whole = [np.broadcast_to(part, (*batch, *part.shape[-2:]), subok=True) for part in parts]
    result: Array = np.concatenate(whole, axis=-1)
    return result


def turned(R: Array, rows: Any) -> Any:
    """Rows (..., a, k) of a link's axes in its parent's, three by three."""
    if rows.shape[-2] == 3:
        return R @ rows
    return transposed(joined_columns([transposed(R @ rows[..., :3, :]), transposed(R @ rows[..., 3:, :])]))
