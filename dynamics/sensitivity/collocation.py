"""The derivative of a step of Radau IIA, by the implicit function theorem."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.integrators import FIXED_STEP, StateEquations
from myoquat.dynamics.integrators.radau import NODES, STAGE_MATRIX
from myoquat.dynamics.sensitivity.stages import StepChain

__all__ = ["RadauStep"]

MAX_ITERATIONS = 20  # of Newton's method with exact derivatives; steps that converge need 3 to 6
TOLERANCE = 1e-13  # of its last change, relative to 1 + |x|


@dataclass(frozen=True)
class RadauStep:
    """One step of Radau IIA of order 5 with a given length, x' = x + z3, z_i = h sum_j a_ij f(t + c_j h, x + z_j).

    With Z (3 n,) and K_j the derivatives of f at the stages, (I - h A K) dZ = h A (K dx + the derivatives by inputs).
    Newton's method, which finds Z, has the same matrix. Then the state returns to |Q| = 1 and to the constraints.
    """

    equations: StateEquations
    stabilization: str

    @property
    def chain(self) -> StepChain:
        """Slope and projection, which Radau IIA shares with the methods by slopes."""
        return StepChain(FIXED_STEP["rk4"], self.equations, self.stabilization)

    def __call__(
        self, t: float, h: float, x: Array, values: Sequence[Array], constants: Sequence[Any] = ()
    ) -> tuple[Array, Array]:
        """x' (..., n) and its derivatives (..., n, n + m) by x and by the inputs `values`. Raises RuntimeError where
        Newton's method does not converge."""
        n = self.equations.size
        staged = [v[..., None, :] for v in values]
        batch = np.broadcast_shapes(x.shape[:-1], *(v.shape[:-1] for v in values))
        x = np.broadcast_to(x, (*batch, n))
        z = np.zeros((*batch, 3, n))
        for _ in range(MAX_ITERATIONS):
            f, K = self.chain.slope(t + h * NODES, h, x[..., None, :] + z, staged, constants)
            matrix = np.eye(3 * n) - _blocks(h, K[..., :n])
            lacking = h * STAGE_MATRIX @ f - z
            change = np.linalg.solve(matrix, lacking.reshape((*batch, 3 * n, 1))).reshape(z.shape)
            z = z + change
            if not np.any(np.abs(change) > TOLERANCE * (1 + np.abs(x))[..., None, :]):
                break
        else:
            raise RuntimeError(f"a step of {h:g} s with method 'radau' has not converged; a shorter step may")
        after, dx = x + z[..., 2, :], self._derivative(t, h, x[..., None, :] + z, (staged, constants))
        return self.chain.projected((t, h), after, dx, values, constants)

    def _derivative(self, t: float, h: float, stages: Array, given: tuple[Sequence[Array], Sequence[Any]]) -> Array:
        """(..., n, n + m) of x + z3."""
        n = self.equations.size
        _, K = self.chain.slope(t + h * NODES, h, stages, *given)
        right = np.einsum("ij,...jkl->...ikl", h * STAGE_MATRIX, K)
        right = right.reshape((*right.shape[:-3], 3 * n, right.shape[-1]))
        dz = np.linalg.solve(np.eye(3 * n) - _blocks(h, K[..., :n]), right)[..., 2 * n :, :]
        dz[..., :n] += np.eye(n)
        found: Array = dz
        return found


def _blocks(h: float, K: Array) -> Array:
    """(..., 3 n, 3 n) h a_ij K_j of K (..., 3, n, n)."""
    n = K.shape[-1]
    found: Array = np.einsum("ij,...jkl->...ikjl", h * STAGE_MATRIX, K).reshape((*K.shape[:-3], 3 * n, 3 * n))
    return found
