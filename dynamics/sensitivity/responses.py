"""How links respond to forces: the joints as the articulated-body algorithm eliminates them, for many columns at once.

A link feels the acceleration a of its parent, in the link's axes, a force F and a joint torque -t. It then accelerates
by a + S du with

    du = -W a - D^-1 (S^T F + t),    D = S^T I_A S,    W = D^-1 S^T I_A.

To its parent it passes F less W^T S^T F. Joints that leave all rotations free have S^T I_A a in closed form, and
floating joints pass nothing on. Source: [RBDA] R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, chapter
7 and section 9.5.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.elimination import Elimination, FreeElimination, GeneralElimination, RotationElimination
from myoquat.dynamics.factor import inverse3, solve_small
from myoquat.dynamics.sensitivity.columns import plus, times, transposed, work
from myoquat.joints.motion import Pair
from myoquat.joints.vectors import congruent, full, joined_matrices, product_upper, row_cross, skew, upper

__all__ = [
    "Carried",
    "Crossing",
    "Edge",
    "Mobility",
    "Response",
    "about_origin",
    "at_point",
    "response_of",
    "turned",
]


class Mobility(NamedTuple):
    """The acceleration of a link by a force on it: a_omega = A n + C f, a_v = C^T n + E f."""

    A: Any
    C: Any
    E: Any

    def times(self, force: Pair) -> Pair:
        """(a_omega, a_v) of forces in columns."""
        n, f = force
        return full(self.A) @ n + self.C @ f, transposed(self.C) @ n + full(self.E) @ f

    def in_child(self, transform: Pair) -> "Mobility":
        """Of the point of the link at which a child has its origin, in the child's axes."""
        R, p = transform
        turned, lever = transposed(R), skew(p)
        C = self.C + full(self.A) @ lever
        E = self.E + upper(transposed(self.C) @ lever - lever @ C)
        return Mobility(congruent(turned, self.A), turned @ C @ R, congruent(turned, E))


class RotationYield(NamedTuple):
    """How a joint yields to forces in columns that leaves all rotations free, and nothing else; G = I^-1 H."""

    G: Any

    def along(self, force: Pair) -> Array:
        """(..., r, k) the parts of forces to which the joint yields: r = 3, in the link's axes."""
        return force[0]

    def passed(self, force: Pair) -> Pair:
        """What the parent feels of forces on the link, at the link's origin in its axes."""
        n, f = force
        return np.zeros(n.shape[-2:]), f - transposed(self.G) @ n


class FreeYield(NamedTuple):
    """The same of a joint that leaves all motions free: r = 6, and the parent feels nothing."""

    def along(self, force: Pair) -> Array:
        """As of other joints."""
        return joined_matrices(force, -2)

    def passed(self, force: Pair) -> Pair:
        """As of other joints."""
        zero = np.zeros(force[0].shape[-2:])
        return zero, zero


class GeneralYield(NamedTuple):
    """The same of any joint, r = nu, by its subspace S and the transpose of W in columns."""

    S: Pair
    W: Pair

    def along(self, force: Pair) -> Array:
        """As of other joints."""
        return work(self.S, force)

    def passed(self, force: Pair) -> Pair:
        """As of other joints."""
        n, f = times(self.W, self.along(force))
        return force[0] - n, force[1] - f


Yield = RotationYield | FreeYield | GeneralYield


class Response(ABC):
    """A joint that yields, with all that its link carries. D_inverse (..., nu, nu); W the transpose (..., 3, nu) each
    of W, what the parent feels of a unit of the joint's torque."""

    yields: Yield
    D_inverse: Any
    W: Pair

    def along(self, force: Pair) -> Array:
        """(..., r, k) the parts of forces in columns to which the joint yields."""
        return self.yields.along(force)

    def passed(self, force: Pair) -> Pair:
        """What the parent feels of forces on the link, at the link's origin in its axes."""
        return self.yields.passed(force)

    @abstractmethod
    def yielded(self, along: Array) -> Array:
        """(..., r, k) how the joint accelerates by those parts, with the sign changed."""

    @abstractmethod
    def torque_along(self, t: Array) -> Array:
        """(..., r, k) those parts of torques t (..., nu, k)."""

    @abstractmethod
    def udot(self, a: Pair | None, yielded: Array) -> Array:
        """(..., nu, k) du at accelerations a, None for zero, and forces that make the joint yield so."""

    @abstractmethod
    def moved(self, a: Pair | None, yielded: Array) -> Pair:
        """The link's acceleration then."""

    @abstractmethod
    def transmitted(self, acceleration: Pair, force: Pair, t: Array) -> Pair:
        """What the joint transmits: I_A acceleration + force, whose part along the joint is -t."""

    @abstractmethod
    def mobility(self, parent: Mobility | None) -> Mobility:
        """Of the link, from that of the point of the parent that it hangs on; None for the ground."""


class RotationResponse(Response):
    """All rotations are free, and nothing else: r = 3, in the link's axes."""

    def __init__(self, elimination: RotationElimination) -> None:
        self.body, self.G, self.B = elimination.body, elimination.G, elimination.B
        self.I_inverse = full(elimination.inverse)
        self.D_inverse = self.B @ self.I_inverse @ transposed(self.B)
        self.W = transposed(self.B), transposed(self.G) @ transposed(self.B)
        self.yields = RotationYield(self.G)

    def yielded(self, along: Array) -> Array:
        return self.I_inverse @ along

    def torque_along(self, t: Array) -> Array:
        return transposed(self.B) @ t

    def udot(self, a: Pair | None, yielded: Array) -> Array:
        return -(self.B @ (yielded if a is None else a[0] + self.G @ a[1] + yielded))

    def moved(self, a: Pair | None, yielded: Array) -> Pair:
        if a is None:
            return -yielded, np.zeros(yielded.shape[-2:])
        return -(self.G @ a[1] + yielded), a[1]

    def transmitted(self, acceleration: Pair, force: Pair, t: Array) -> Pair:
        a_omega, a_v = acceleration
        f = transposed(self.body.H) @ a_omega + full(self.body.M) @ a_v + force[1]
        return -self.torque_along(t), f

    def mobility(self, parent: Mobility | None) -> Mobility:
        own = self.I_inverse
        if parent is None:
            return Mobility(upper(own), np.zeros((3, 3)), np.zeros(6))
        GE = self.G @ full(parent.E)
        return Mobility(upper(own) + product_upper(GE, self.G), -GE, parent.E)


class FreeResponse(Response):
    """All motions are free: the link accelerates by itself, and r = 6."""

    def __init__(self, elimination: FreeElimination) -> None:
        body = elimination.body
        M_inverse = inverse3(body.M)
        HM = body.H @ full(M_inverse)
        A = inverse3(body.I - product_upper(HM, body.H))
        C = -(full(A) @ HM)
        self.own = Mobility(A, C, M_inverse - product_upper(transposed(C), transposed(HM)))
        self.S = elimination.subspace
        self.D_inverse = work(self.S, self.own.times(self.S))
        self.W = self.S
        self.yields = FreeYield()

    def yielded(self, along: Array) -> Array:
        found = self.own.times((along[..., :3, :], along[..., 3:, :]))
        return joined_matrices(found, -2)

    def torque_along(self, t: Array) -> Array:
        return self.along(times(self.S, t))

    def udot(self, a: Pair | None, yielded: Array) -> Array:
        total = yielded[..., :3, :], yielded[..., 3:, :]
        return -work(self.S, total if a is None else plus(total, a))

    def moved(self, a: Pair | None, yielded: Array) -> Pair:
        return -yielded[..., :3, :], -yielded[..., 3:, :]

    def transmitted(self, acceleration: Pair, force: Pair, t: Array) -> Pair:
        n, f = times(self.S, t)
        return -n, -f

    def mobility(self, parent: Mobility | None) -> Mobility:
        return self.own


class GeneralResponse(Response):
    """Any joint: r = nu, in its own velocities."""

    def __init__(self, elimination: GeneralElimination) -> None:
        self.body, self.S = elimination.body, elimination.subspace
        self.D_inverse = solve_small(elimination.D, np.eye(elimination.link.joint.nu))
        self.W = transposed(elimination.W_omega), transposed(elimination.W_v)
        self.yields = GeneralYield(self.S, self.W)

    def yielded(self, along: Array) -> Array:
        return self.D_inverse @ along

    def torque_along(self, t: Array) -> Array:
        return t

    def udot(self, a: Pair | None, yielded: Array) -> Array:
        return -yielded if a is None else -(work(self.W, a) + yielded)

    def moved(self, a: Pair | None, yielded: Array) -> Pair:
        own = times(self.S, self.udot(a, yielded))
        return own if a is None else plus(a, own)

    def transmitted(self, acceleration: Pair, force: Pair, t: Array) -> Pair:
        a_omega, a_v = acceleration
        body = self.body
        n = full(body.I) @ a_omega + body.H @ a_v
        f = transposed(body.H) @ a_omega + full(body.M) @ a_v
        return plus((n, f), force)

    def mobility(self, parent: Mobility | None) -> Mobility:
        S_omega, S_v = self.S
        if parent is None:
            D = self.D_inverse
            return Mobility(upper(S_omega @ D @ transposed(S_omega)), S_omega @ D @ transposed(S_v),
                            upper(S_v @ D @ transposed(S_v)))  # fmt: skip
        T_omega, T_v = parent.times(self.W)
        D = self.D_inverse + work(self.W, (T_omega, T_v))
        left = S_omega @ D - T_omega, S_v @ D - T_v
        return Mobility(
            parent.A + upper(left[0] @ transposed(S_omega) - S_omega @ transposed(T_omega)),
            parent.C + left[0] @ transposed(S_v) - S_omega @ transposed(T_v),
            parent.E + upper(left[1] @ transposed(S_v) - S_v @ transposed(T_v)),
        )


_RESPONSES: dict[type, Any] = {
    RotationElimination: RotationResponse, FreeElimination: FreeResponse, GeneralElimination: GeneralResponse,
}  # fmt: skip


def response_of(elimination: Elimination) -> Response:
    """How the joint responds."""
    return _RESPONSES[type(elimination)](elimination)


# --------------------------------------------------------------------------------------------------------------
#
# Columns of forces on their way to the ground, and the entries that they leave at the joints which they cross.
#
# The mathematics is in `myoquat.dynamics.sensitivity.forward_recursions`. Forces that a joint passes on stay about its
# own origin, in the axes of the parent. Forces of joints that leave all rotations free then have no moment.


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


def turned(R: Array, rows: Any) -> Any:
    """Rows (..., a, k) of a link's axes in its parent's, three by three."""
    if rows.shape[-2] == 3:
        return R @ rows
    return transposed(joined_matrices([transposed(R @ rows[..., :3, :]), transposed(R @ rows[..., 3:, :])]))
