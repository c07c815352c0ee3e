"""How the articulated-body algorithm eliminates the acceleration of a joint.

It is done in one of three ways:

- A joint that leaves all rotations free and nothing else (spherical, Euler) passes only the inertia of translation to
  its parent. That is a single symmetric 3 x 3 block.
- A floating joint passes no inertia at all.
- Any other joint is eliminated by D = S^T I S.

Source: [RBDA] R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, table 7.1, with articulated inertias in
blocks: n = I a_omega + H a_v, f = H^T a_omega + M a_v.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.factor import inverse3, solve_small
from myoquat.dynamics.inverse import gyroscopic
from myoquat.joints.motion import Pair, inertia_times, to_parent
from myoquat.joints.multibody.tree import Link
from myoquat.joints.vectors import (
    congruent,
    full,
    joined_matrices,
    matvec,
    product_upper,
    row_cross,
    skew,
    symmetric_times,
    vecmat,
)
from myoquat.kernels.symbolic.arrays import may_be_nonzero

__all__ = [
    "Articulated",
    "Elimination",
    "FreeElimination",
    "GeneralElimination",
    "RotationElimination",
    "alone",
    "eliminated",
]


@dataclass(frozen=True)
class Articulated:
    """Articulated inertia (I (..., 6), H (..., 3, 3), M (..., 6)) and the force (n, f) at zero acceleration."""

    I: Any
    H: Any
    M: Any
    n: Any
    f: Any

    def plus(self, other: "Articulated") -> "Articulated":
        """Both bodies as one."""
        return Articulated(self.I + other.I, self.H + other.H, self.M + other.M, self.n + other.n, self.f + other.f)

    def times(self, a: Pair) -> Pair:
        """(n, f) that the acceleration a = (a_omega, a_v) asks for, beside the force at zero."""
        a_omega, a_v = a
        return (
            symmetric_times(self.I, a_omega) + matvec(self.H, a_v),
            vecmat(a_omega, self.H) + symmetric_times(self.M, a_v),
        )


class Elimination(ABC):
    """A joint whose acceleration is eliminated: what its link passes to the parent, and udot once the parent's
    acceleration is known."""

    def __init__(self, link: Link, body: Articulated, motion: tuple[Pair, Pair, Pair], tau: Array) -> None:
        self.link, self.body, self.tau = link, body, tau
        self.transform, self.subspace, self.drift = motion

    @abstractmethod
    def passed(self) -> Articulated:
        """The articulated body that the parent feels, in the parent's axes."""

    @abstractmethod
    def solved(self, a: Pair) -> tuple[Array, Pair]:
        """udot and the link's acceleration from a = X a_parent + c."""


class RotationElimination(Elimination):
    """Spherical and Euler joints: omegadot = I^-1 (torque - n - H a_v)."""

    def __init__(self, link: Link, body: Articulated, motion: tuple[Pair, Pair, Pair], tau: Array, B: Array) -> None:
        super().__init__(link, body, motion, tau)
        self.B = B  # S_omega^-1
        self.torque = vecmat(tau, B)
        self.inverse = inverse3(body.I)
        self.G = full(self.inverse) @ body.H
        self.excess = self.torque - body.n

    def passed(self) -> Articulated:
        """M_a = M - H^T I^-1 H, felt at the parent's origin through the lever p: H' = p~ M_a, I' = p~ M_a p~^T."""
        body, (R, p) = self.body, self.transform
        M_a = body.M - product_upper(np.swapaxes(body.H, -1, -2), np.swapaxes(self.G, -1, -2))
        f = body.f + symmetric_times(M_a, self.drift[1]) + vecmat(self.excess, self.G)
        n, f = to_parent(self.transform, (self.torque, f))
        M = congruent(R, M_a)
        H = row_cross(p, full(M))
        return Articulated(product_upper(H, skew(p)), H, M, n, f)

    def solved(self, a: Pair) -> tuple[Array, Pair]:
        a_omega, a_v = a
        omegadot = symmetric_times(self.inverse, self.excess) - matvec(self.G, a_v)
        return matvec(self.B, omegadot - a_omega), (omegadot, a_v)


class FreeElimination(Elimination):
    """Floating joints: the body accelerates by itself, and the parent feels no more than the joint's own force."""

    def passed(self) -> Articulated:
        return Articulated(np.zeros(6), np.zeros((3, 3)), np.zeros(6), *to_parent(self.transform, self._force()))

    def _force(self) -> Pair:
        """(n, f) = S^-T tau, and S S^T = 1."""
        S_omega, S_v = self.subspace
        return matvec(S_omega, self.tau), matvec(S_v, self.tau)

    def solved(self, a: Pair) -> tuple[Array, Pair]:
        """a' = I_A^-1 (force - p_A), by the Schur complement of M, which is diagonal for a lone body."""
        body, (n, f) = self.body, self._force()
        n, f = n - body.n, f - body.f
        M_inverse = inverse3(body.M)
        HM = body.H @ full(M_inverse)
        schur = body.I - product_upper(HM, body.H)
        a_omega = symmetric_times(inverse3(schur), n - matvec(HM, f))
        a_v = symmetric_times(M_inverse, f - vecmat(a_omega, body.H))
        S_omega, S_v = self.subspace
        return vecmat(a_omega - a[0], S_omega) + vecmat(a_v - a[1], S_v), (a_omega, a_v)


class GeneralElimination(Elimination):
    """Any joint: U = I_A S, D = S^T U + rotor, I_a = I_A - U D^-1 U^T."""

    def __init__(
        self, link: Link, body: Articulated, motion: tuple[Pair, Pair, Pair], tau: Array, rotor: Array | float
    ) -> None:
        super().__init__(link, body, motion, tau)
        S_omega, S_v = self.subspace
        self.U_omega = full(body.I) @ S_omega + body.H @ S_v
        self.U_v = np.swapaxes(body.H, -1, -2) @ S_omega + full(body.M) @ S_v
        D = np.swapaxes(S_omega, -1, -2) @ self.U_omega + np.swapaxes(S_v, -1, -2) @ self.U_v
        if may_be_nonzero(rotor):
            D = D + rotor * np.eye(link.joint.nu)
        self.D = D
        excess = tau - vecmat(body.n, S_omega) - vecmat(body.f, S_v)
        right = [excess[..., None], np.swapaxes(self.U_omega, -1, -2), np.swapaxes(self.U_v, -1, -2)]
        found = solve_small(D, joined_matrices(right))
        self.rest, self.W_omega, self.W_v = found[..., 0], found[..., 1:4], found[..., 4:]  # D^-1 (excess, U^T)

    def passed(self) -> Articulated:
        body = self.body
        I = body.I - product_upper(self.U_omega, np.swapaxes(self.W_omega, -1, -2))
        H = body.H - self.U_omega @ self.W_v
        M = body.M - product_upper(self.U_v, np.swapaxes(self.W_v, -1, -2))
        passed = Articulated(I, H, M, body.n, body.f)
        n, f = passed.times(self.drift)
        n, f = body.n + n + matvec(self.U_omega, self.rest), body.f + f + matvec(self.U_v, self.rest)
        return _moved(passed, self.transform, to_parent(self.transform, (n, f)))

    def solved(self, a: Pair) -> tuple[Array, Pair]:
        udot = self.rest - matvec(self.W_omega, a[0]) - matvec(self.W_v, a[1])
        S_omega, S_v = self.subspace
        return udot, (a[0] + matvec(S_omega, udot), a[1] + matvec(S_v, udot))


def _moved(body: Articulated, transform: Pair, force: Pair) -> Articulated:
    """The articulated inertia at the parent's origin, in the parent's axes.

    H' = R H R^T + p~ M',    I' = R I R^T + p~ (R H R^T)^T - H' p~
    """
    R, p = transform
    M = congruent(R, body.M)
    H = R @ body.H @ np.swapaxes(R, -1, -2)
    H_moved = H + row_cross(p, full(M))
    lever = skew(p)
    I = congruent(R, body.I) + product_upper(H, lever) + product_upper(lever, H_moved)
    return Articulated(I, H_moved, M, *force)


def alone(link: Link, velocity: Pair) -> Articulated:
    """A link by itself: its inertia, and the force v x* I v."""
    n, f = gyroscopic(inertia_times(link, velocity), velocity)
    M = link.mass * np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    return Articulated(link.inertia, skew(link.moment), M, n, f)


def eliminated(
    link: Link, rotor: Array | float, body: Articulated, motion: tuple[Pair, Pair, Pair], q: Array, tau: Array
) -> Elimination:
    """The elimination of a link's joint, at its q and tau. `body` is the link with all that it carries. `motion` is its
    transform, subspace and drift. `rotor` is the inertia of the joint's rotors."""
    bare = not may_be_nonzero(rotor)
    if link.joint.span == "rotations" and bare:
        return RotationElimination(link, body, motion, tau, link.joint.subspace_inverse(q))
    if link.joint.span == "all" and bare:
        return FreeElimination(link, body, motion, tau)
    return GeneralElimination(link, body, motion, tau, rotor)
