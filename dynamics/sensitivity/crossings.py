"""Columns of forces on their way to the ground, and the entries that they leave at the joints which they cross.

The mathematics is in `myoquat.dynamics.sensitivity.forward_recursions`. Forces that a joint passes on stay about its
own origin, in the axes of the parent. Forces of joints that leave all rotations free then have no moment.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.sensitivity.columns import transposed, work
from myoquat.dynamics.sensitivity.responses import RotationYield, Yield
from myoquat.joints.motion import Pair
from myoquat.joints.vectors import row_cross, skew

__all__ = ["Carried", "Crossing", "Edge", "about_origin", "at_point", "beside", "joined_columns", "turned"]


class Carried(NamedTuple):
    """Columns of forces on one link, about a point of it.

    q, u, tau  F of dq, du and torques
    rows       (..., a, k), by which w is multiplied
    """

    q: Pair
    u: Pair
    tau: Pair
    rows: Any


class RotationPassage(NamedTuple):
    """The forces that a joint passes on, if it leaves all rotations free, of forces (n, f) about a point p of its link.

    It passes the force R (f - G^T (n + p x f)) = A f - RG n. Of rows it passes R rows - RZ n - RZp f.
    """

    R: Any
    A: Any
    RG: Any
    RZ: Any
    RZp: Any

    @classmethod
    def of(cls, R: Array, yields: RotationYield, yielded_by_w: Array, p: Array) -> "RotationPassage":
        """About the point p."""
        RG, RZ, lever = R @ transposed(yields.G), turned(R, transposed(yielded_by_w)), skew(p)
        return cls(R, R - RG @ lever, RG, RZ, RZ @ lever)

    def passed(self, carried: Carried) -> Carried:
        """About the joint's origin, in the parent's axes."""
        zero = np.zeros((3, carried.tau[0].shape[-1]))
        q, u, tau = ((zero, self.A @ f - self.RG @ n) for n, f in carried[:3])
        n, f = carried.tau
        return Carried(q, u, tau, turned(self.R, carried.rows) - self.RZ @ n - self.RZp @ f)


class Passage(NamedTuple):
    """The same of any joint."""

    R: Any
    yields: Yield
    yielded_by_w: Any
    p: Any

    def passed(self, carried: Carried) -> Carried:
        """About the joint's origin, in the parent's axes."""
        forces = [about_origin(F, self.p) for F in carried[:3]]
        rows = carried.rows - transposed(self.yielded_by_w) @ self.yields.along(forces[2])
        q, u, tau = ((self.R @ n, self.R @ f) for n, f in map(self.yields.passed, forces))
        return Carried(q, u, tau, turned(self.R, rows))


class Edge(NamedTuple):
    """How a joint acts on forces about a point of its link.

    passage  how they pass; None on the ground
    beta     (..., 3, nu) accelerations of that point, of dq and du, with changed signs
    w        (..., a, nu) of dq and du, with changed signs
    V        (..., 3, nu) accelerations of torques, with changed signs
    """

    passage: "RotationPassage | Passage | None"
    beta: tuple[Pair, Pair]
    w: tuple[Any, Any]
    V: Pair

    def entries(self, carried: Carried) -> tuple[list[Array], list[Array]]:
        """Of dq, du and torques: (..., nu, k) each in the rows of the joint, (..., k, nu) each in its columns."""
        above = [work(self.V, F) for F in carried[:3]]
        below = [
            work(carried.tau, beta) + transposed(carried.rows) @ w for beta, w in zip(self.beta, self.w, strict=True)
        ]
        return above, [*below, transposed(above[2])]


class Crossing(NamedTuple):
    """A joint that forces cross, in the axes of its link, at its origin.

    R             to the parent's axes; None on the ground.
    yields        how it yields to forces.
    yielded_by_w  (..., r, a) how it yields by w, D^-1 S^T P.
    beta, w, V    as of an `Edge`.
    """

    R: Any
    yields: Yield
    yielded_by_w: Any
    beta: tuple[Pair, Pair]
    w: tuple[Any, Any]
    V: Pair

    def edge(self, p: Array) -> Edge:
        """For forces about a point p (..., 3) of the link."""
        passage: RotationPassage | Passage | None = None
        if self.R is not None and isinstance(self.yields, RotationYield):
            passage = RotationPassage.of(self.R, self.yields, self.yielded_by_w, p)
        elif self.R is not None:
            passage = Passage(self.R, self.yields, self.yielded_by_w, p)
        beta_q, beta_u, V = (at_point((-omega, -v), p) for omega, v in (*self.beta, self.V))
        return Edge(passage, (beta_q, beta_u), (-self.w[0], -self.w[1]), V)


def at_point(motion: Pair, p: Array) -> Pair:
    """Motions in columns of a point p of the link, in its axes."""
    omega, v = motion
    return omega, v - row_cross(p, omega)


def about_origin(force: Pair, p: Array) -> Pair:
    """Forces in columns about a point p of the link as ones about its origin."""
    n, f = force
    return n + row_cross(p, f), f


def beside(groups: Sequence[Carried]) -> Carried:
    """All columns of several groups about one point."""
    q, u, tau = ((joined_columns([F[0] for F in visit_type]), joined_columns([F[1] for F in visit_type]))
                 for visit_type in zip(*(group[:3] for group in groups), strict=True))  # fmt: skip
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
