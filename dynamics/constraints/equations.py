"""All constraints of a system together: residuals, Jacobian and bias, and the motion that satisfies them.

The formulas here have no branches and need independent constraints: S = A M^-1 A^T is factorized without pivoting. For
redundant ones see `myoquat.dynamics.udwadia_kalaba`, which works on the arrays A and b of `constraint_equations`.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from myoquat.dynamics import factor
from myoquat.dynamics.blocks import solve_small
from myoquat.joints import state
from myoquat.joints.constraints.base import Constraint
from myoquat.joints.system import ArticulatedSystem
from myoquat.joints.vectors import matvec
from myoquat.kernels.content import content_key
from myoquat.kernels.typing import Array

__all__ = ["Constraints"]


class Constraints:
    """Formulas of several constraints on a system, in their order; ModelError for one that names what is not there.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import Constraints, CoordinateCoupler
    >>> bodies = [mq.Body(name, "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1.0) for name in ("a", "b")]
    >>> couple = CoordinateCoupler("b.position", "a.position")
    >>> held = Constraints(mq.ArticulatedSystem(tuple(bodies)), [couple])
    >>> held.position(np.array([0.2, 0.5]), 0.0), held.jacobian(np.zeros(2), 0.0)
    (array([0.3]), array([[-1.,  1.]]))
    """

    def __init__(self, system: ArticulatedSystem, constraints: Sequence[Constraint]) -> None:
        for constraint in constraints:
            constraint.check(system)
        self.system, self.parts = system, tuple(constraints)

    @property
    def key(self) -> Hashable:
        """Equal for equal constraints on equal systems: kernels are kept by it."""
        return (self.system.content_key, content_key(self.parts))

    def position(self, q: Array, t: Array) -> Array:
        """(..., h) phi of all."""
        return _stacked([c.position(self.system, q, t) for c in self.parts])

    def rate(self, q: Array, u: Array, t: Array) -> Array:
        """(..., k) phidot and psi of all."""
        return _stacked([c.rate(self.system, q, u, t) for c in self.parts])

    def jacobian(self, q: Array, t: Array) -> Array:
        """(..., k, nu) A."""
        rows = [c.jacobian(self.system, q, t) for c in self.parts]
        batch = np.broadcast_shapes(*(A.shape[:-2] for A in rows))
        return np.concatenate([np.broadcast_to(A, (*batch, *A.shape[-2:]), subok=True) for A in rows], axis=-2)

    def bias(self, q: Array, u: Array, t: Array) -> Array:
        """(..., k) b: A udot = b."""
        return _stacked([c.bias(self.system, q, u, t) for c in self.parts])

    # ---- independent constraints -----------------------------------------------------------------------------

    def acceleration(self, q: Array, u: Array, t: Array, free: Array, rest: Array | None = None) -> tuple[Array, Array]:
        """(udot (..., nu), lambda (..., k)): the motion nearest to `free` (..., nu) in the metric M with A udot = b
        (Gauss's principle), and the forces A^T lambda that make it so. `rest` (..., k) is added to b: stabilization."""
        b = self.bias(q, u, t) if rest is None else self.bias(q, u, t) + rest
        correct = self._corrector(q, self.jacobian(q, t))
        return correct(b, free)

    def stabilization(self, q: Array, u: Array, t: Array, time_constant: Array) -> Array:
        """(..., k) -2/T phidot - phi/T^2, critically damped; -psi/T on velocities alone.

        Source: J. Baumgarte, Stabilization of constraints and integrals of motion in dynamical systems, Comput. Methods
        Appl. Mech. Engrg. 1, 1972.
        """
        T, parts = time_constant, []
        for c in self.parts:
            phi, rate = c.position(self.system, q, t), c.rate(self.system, q, u, t)
            whole = phi.shape[-1] == rate.shape[-1]
            parts.append(-2 / T * rate - phi / (T * T) if whole else -rate / T)
        return _stacked(parts)

    def nearest(self, q: Array, u: Array, t: Array, rounds: int = 2) -> tuple[Array, Array]:
        """(q, u) brought onto the constraints along M^-1 A^T: `rounds` of Newton's method for q, then u at once."""
        held = Constraints(self.system, [c for c in self.parts if c.position(self.system, q, t).shape[-1]])
        for _ in range(rounds if held.parts else 0):
            phi = held.position(q, t)
            A = held.position_jacobian(q, t)
            q = state.integrate(self.system.layout, q, self._corrector(q, A)(-phi, None)[0])
        A = self.jacobian(q, t)
        correction, _ = self._corrector(q, A)(-self.rate(q, u, t), None)
        return q, u + correction

    def position_jacobian(self, q: Array, t: Array) -> Array:
        """(..., h, nu) d phi / d motion."""
        rows = [c.position_jacobian(self.system, q, t) for c in self.parts]
        batch = np.broadcast_shapes(*(A.shape[:-2] for A in rows))
        return np.concatenate([np.broadcast_to(A, (*batch, *A.shape[-2:]), subok=True) for A in rows], axis=-2)

    def _corrector(self, q: Array, A: Array) -> Callable[[Array, Array | None], tuple[Array, Array]]:
        """(wanted (..., k), free) -> (free + M^-1 A^T lambda, lambda) with A (...) = wanted."""
        order, F = factor.ancestors(self.system), factor.mass_factor(self.system, q)
        W = factor.solve(order, F, np.swapaxes(A, -1, -2))  # M^-1 A^T
        S = A @ W

        def correct(wanted: Array, free: Array | None) -> tuple[Array, Array]:
            lack = wanted if free is None else wanted - matvec(A, free)
            multipliers = solve_small(S, lack[..., None])[..., 0]
            step = matvec(W, multipliers)
            return (step if free is None else free + step), multipliers

        return correct


def _stacked(parts: list[Any]) -> Array:
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return np.concatenate([np.broadcast_to(p, (*batch, p.shape[-1]), subok=True) for p in parts], axis=-1)
