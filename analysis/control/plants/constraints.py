"""Constraints and couplers of a model in collocation: multipliers as unknowns, and projections of every node.

At every point the equations of motion hold with the forces A^T lambda of the constraints. The constraints' second
derivatives hold too, A udot = b. A Runge-Kutta step leaves the constraints by its own error. At the end of every
interval the state is therefore moved back onto them, by unknown multiples g of their gradients,

    theta_1 = h sum_j A_1j thetadot_j + P^T g_pose,   u_1 = u_0 + h sum_j A_1j udot_j + A^T g_velocity,

with phi(q_1) = 0 and phidot(q_1, u_1) = 0. The g are of the size of the local error, and the order of the method stays.
Sources: M. Posa, S. Kuindersma, R. Tedrake, Optimization and stabilization of trajectories for constrained dynamical
systems, ICRA 2016; R. Bordalba, T. Schoels, L. Ros, J. M. Porta, M. Diehl, Direct collocation methods for trajectory
optimization in constrained robotic systems, IEEE Trans. Robot. 39, 2023.
"""

from collections.abc import Hashable, Sequence
from functools import cached_property

from myoquat.core.typing import Array
from myoquat.dynamics.constraints import Constraint, Constraints
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.stacking import joined
from myoquat.joints.vectors import matvec, vecmat
from myoquat.kernels.tracing.trace import trace

__all__ = ["PathEquations"]


class PathEquations:
    """The formulas of a model's constraints that collocation needs; without any, all of them are empty."""

    def __init__(self, system: ArticulatedSystem, constraints: Sequence[Constraint]) -> None:
        self.system = system
        self.constraints = Constraints(system, constraints)

    @property
    def key(self) -> Hashable:
        """What the formulas compute with."""
        return self.constraints.key if self.constraints.parts else None

    @cached_property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """Of every constraint its numbers of rows of phi and of phidot."""
        return tuple(_rows_of(self.system, part) for part in self.constraints.parts)

    @property
    def positions(self) -> int:
        """Number of rows of phi."""
        return sum(h for h, _ in self.sizes)

    @property
    def rates(self) -> int:
        """Number of rows of phidot, and of multipliers."""
        return sum(k for _, k in self.sizes)

    def names(self, what: str) -> tuple[str, ...]:
        """A name for every row of "position", "velocity" or "acceleration"."""
        counts = [(c.label, h if what == "position" else k) for c, (h, k) in zip(self._parts, self.sizes, strict=True)]
        return tuple(f"{what} of {_numbered(label, i, n)}" for label, n in counts for i in range(n))

    @property
    def multiplier_names(self) -> tuple[str, ...]:
        """A name for every multiplier."""
        return tuple(name.replace("velocity of ", "multiplier of ", 1) for name in self.names("velocity"))

    @property
    def _parts(self) -> tuple[Constraint, ...]:
        return self.constraints.parts

    # ---- formulas --------------------------------------------------------------------------------------------

    def force(self, q: Array, t: Array, multipliers: Array) -> Array:
        """(..., nu) generalized forces A^T lambda."""
        return vecmat(multipliers, self.constraints.jacobian(q, t))

    def acceleration(self, q: Array, u: Array, udot: Array, t: Array) -> Array:
        """(..., k) A udot - b."""
        result: Array = matvec(self.constraints.jacobian(q, t), udot) - self.constraints.bias(q, u, t)
        return result

    def state(self, q: Array, u: Array, t: Array) -> Array:
        """(..., h + k) phi and phidot."""
        return joined([self.constraints.position(q, t), self.constraints.rate(q, u, t)])

    def moves(self, q: Array, t: Array, g: Array) -> tuple[Array, Array]:
        """(..., nu) each: the moves of pose and velocities by multiples g (..., h + k) of the gradients at q."""
        P, A = self.constraints.position_jacobian(q, t), self.constraints.jacobian(q, t)
        return vecmat(g[..., : self.positions], P), vecmat(g[..., self.positions :], A)


def _numbered(label: str, i: int, n: int) -> str:
    return label if n == 1 else f"{label}, row {i + 1}"


def _rows_of(system: ArticulatedSystem, constraint: Constraint) -> tuple[int, int]:
    """Numbers of rows of phi and phidot of a constraint, from its traced formulas."""

    def formula(q: Array, u: Array, t: Array) -> tuple[Array, Array]:
        return constraint.position(system, q, t), constraint.rate(system, q, u, t)

    signature = trace(formula, {"q": system.nq, "u": system.nu, "t": ()}, ["phi", "rate"]).signature
    h, k = signature.output_sizes
    return h, k
