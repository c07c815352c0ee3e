"""All constraints of a system together: residuals, Jacobian and bias, and the motion that obeys them.

The straight-line forms here need independent constraints: S = A M^-1 A^T is factorized as it is. For redundant ones
see `myoquat.dynamics.udwadia_kalaba`, which works on the arrays A and b of `constraint_equations`.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from myoquat.dynamics import composite, factor
from myoquat.dynamics.constraints.base import Constraint
from myoquat.joints import state
from myoquat.joints.system import ArticulatedSystem
from myoquat.joints.vectors import matvec
from myoquat.kernels.content import content_key
from myoquat.kernels.derivatives import jacobian_at

__all__ = ["Constraints"]


class Constraints:
    """Formulas of several constraints on a system, in their order; ModelError for one that names what is not there."""

    def __init__(self, system: ArticulatedSystem, constraints: Sequence[Constraint]) -> None:
        for constraint in constraints:
            constraint.check(system)
        self.system, self.parts = system, tuple(constraints)

    @property
    def key(self) -> Hashable:
        """What tells these constraints from others."""
        return (self.system.content_key, content_key(self.parts))

    def position(self, q: Any, t: Any) -> Any:
        """(..., h) phi of all."""
        return _stacked([c.position(self.system, q, t) for c in self.parts])

    def rate(self, q: Any, u: Any, t: Any) -> Any:
        """(..., k) phidot and psi of all."""
        return _stacked([c.rate(self.system, q, u, t) for c in self.parts])

    def jacobian(self, q: Any, t: Any) -> Any:
        """(..., k, nu) A."""
        rows = [c.jacobian(self.system, q, t) for c in self.parts]
        batch = np.broadcast_shapes(*(A.shape[:-2] for A in rows))
        return np.concatenate([np.broadcast_to(A, (*batch, *A.shape[-2:]), subok=True) for A in rows], axis=-2)

    def bias(self, q: Any, u: Any, t: Any) -> Any:
        """(..., k) b: A udot = b."""
        return _stacked([c.bias(self.system, q, u, t) for c in self.parts])

    # ---- independent constraints -----------------------------------------------------------------------------

    def acceleration(self, q: Any, u: Any, t: Any, free: Any, rest: Any = None) -> tuple[Any, Any]:
        """(udot (..., nu), lambda (..., k)): the motion nearest to `free` (..., nu) in the metric M with A udot = b
        (Gauss's principle), and the forces A^T lambda that make it so. `rest` (..., k) is added to b: stabilization."""
        b = self.bias(q, u, t) if rest is None else self.bias(q, u, t) + rest
        correct = self._corrector(q, self.jacobian(q, t))
        return correct(b, free)

    def stabilization(self, q: Any, u: Any, t: Any, time_constant: Any) -> Any:
        """(..., k) -2/T phidot - phi/T^2 [Baumgarte 1972, critically damped]; -psi/T on velocities alone."""
        T, parts = time_constant, []
        for c in self.parts:
            phi, rate = c.position(self.system, q, t), c.rate(self.system, q, u, t)
            whole = phi.shape[-1] == rate.shape[-1]
            parts.append(-2 / T * rate - phi / (T * T) if whole else -rate / T)
        return _stacked(parts)

    def nearest(self, q: Any, u: Any, t: Any, rounds: int = 2) -> tuple[Any, Any]:
        """(q, u) brought onto the constraints along M^-1 A^T: `rounds` of Newton's method for q, then u at once."""
        held = Constraints(self.system, [c for c in self.parts if c.position(self.system, q, t).shape[-1]])
        for _ in range(rounds if held.parts else 0):
            phi = held.position(q, t)
            A = held.position_jacobian(q, t)
            q = state.integrate(self.system.layout, q, self._corrector(q, A)(-phi, None)[0])
        A = self.jacobian(q, t)
        correction, _ = self._corrector(q, A)(-self.rate(q, u, t), None)
        return q, u + correction

    def position_jacobian(self, q: Any, t: Any) -> Any:
        """(..., h, nu) d phi / d motion."""
        rows = [_position_rows(c, self.system, q, t) for c in self.parts]
        batch = np.broadcast_shapes(*(A.shape[:-2] for A in rows))
        return np.concatenate([np.broadcast_to(A, (*batch, *A.shape[-2:]), subok=True) for A in rows], axis=-2)

    def _corrector(self, q: Any, A: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
        """(wanted (..., k), free) -> (free + M^-1 A^T lambda, lambda) with A (...) = wanted."""
        order = factor.carriers(self.system)
        F = factor.factor(order, composite.mass(self.system, q))
        W = factor.solve(order, F, np.swapaxes(A, -1, -2))  # M^-1 A^T
        S = A @ W

        def correct(wanted: Any, free: Any) -> tuple[Any, Any]:
            lack = wanted if free is None else wanted - matvec(A, free)
            multipliers = cholesky_solve(S, lack)
            step = matvec(W, multipliers)
            return (step if free is None else free + step), multipliers

        return correct


def cholesky_solve(S: Any, b: Any) -> Any:
    """(..., k) x with S x = b, S (..., k, k) symmetric positive definite, by S = L D L^T written out."""
    k = S.shape[-1]
    L: list[list[Any]] = [[None] * k for _ in range(k)]
    D: list[Any] = []
    for j in range(k):
        D.append(S[..., j, j] - sum(L[j][m] * L[j][m] * D[m] for m in range(j)))
        for i in range(j + 1, k):
            L[i][j] = (S[..., i, j] - sum(L[i][m] * L[j][m] * D[m] for m in range(j))) / D[j]
    x = [b[..., i] for i in range(k)]
    for i in range(k):
        x[i] = x[i] - sum(L[i][m] * x[m] for m in range(i))
    x = [x[i] / D[i] for i in range(k)]
    for i in reversed(range(k)):
        x[i] = x[i] - sum(L[m][i] * x[m] for m in range(i + 1, k))
    return np.stack(x, axis=-1)


def _position_rows(constraint: Constraint, system: ArticulatedSystem, q: Any, t: Any) -> Any:
    """(..., h, nu) d phi / d motion."""
    zero = np.zeros(system.nu)
    return jacobian_at(lambda m: constraint.position(system, state.displaced(system.layout, q, m), t), zero, like=q)


def _stacked(parts: list[Any]) -> Any:
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return np.concatenate([np.broadcast_to(p, (*batch, p.shape[-1]), subok=True) for p in parts], axis=-1)
