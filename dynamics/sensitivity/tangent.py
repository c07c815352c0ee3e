"""The tangent space of the state x = (q, u, w): small changes, with three numbers for each quaternion."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from myoquat import kernels
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.integrators import StateEquations
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.multibody import state
from myoquat.joints.vectors import joined
from myoquat.kernels import Kernel
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = ["StateTangent", "changed_inputs", "state_tangent"]


@dataclass(frozen=True)
class StateTangent:
    """Small changes (dq, du, dw) of states: a small motion (nu), velocities (nu) and the states of muscles."""

    equations: StateEquations

    @property
    def size(self) -> int:
        """Number of components."""
        return 2 * self.equations.system.nu + len(self.equations.own)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the components: small motions, velocities, states of muscles and actuators."""
        velocities = self.equations.system.velocity_names
        return (*(f"d{name}" for name in velocities), *velocities, *self.equations.own)

    def moved(self, x: Array, change: Array) -> Array:
        """(..., n) x after a small change (..., size), exact to first order."""
        system = self.equations.system
        q, u = self.equations.split(x)
        dq, du, dw = self.split(change)
        rest = [self.equations.rest(x) + dw] if self.equations.own else []
        return joined([state.displaced(system.layout, q, dq), u + du, *rest])

    def split(self, change: Array) -> tuple[Array, Array, Array]:
        """(dq, du, dw) of a change (..., size)."""
        nu = self.equations.system.nu
        return change[..., :nu], change[..., nu : 2 * nu], change[..., 2 * nu :]

    def components(self, x: Array, dx: Array) -> Array:
        """(..., size) the change whose x moves by dx (..., n), a tangent vector at x."""
        q, _ = self.equations.split(x)
        dq, du = self.equations.split(dx)
        rest = [self.equations.rest(dx)] if self.equations.own else []
        return joined([state.velocities(self.equations.system.layout, q, dq), du, *rest])

    def structure(self, x: Array) -> Array:
        """(..., nu, nu) C(q, u): beside a motion, a small change of pose moves by ddq/dt = C dq + du.

        Let N(q) u = qdot. Then C dq is the Lie bracket of the two fields. It is N^+ times the derivative of N u along N
        dq, minus that of N dq along N u. For a ball joint with velocities in the child's frame it is -omega x dq, for
        coordinates zero.
        """
        layout = self.equations.system.layout
        q, u = self.equations.split(x)
        moved = partial(state.displaced, layout, q)
        turned = jacobian_at(lambda d: state.rates(layout, moved(d), u), np.zeros(layout.nu), like=q)
        carried = jacobian_at(lambda s: state.rate_matrix(layout, moved(s * u)), np.zeros(1), like=q)[..., 0]
        found: Array = state.rate_inverse(layout, q) @ (turned - carried)
        return found


def changed_inputs(equations: StateEquations, values: Sequence[Array], change: Array) -> list[Array]:
    """The inputs, the first of the values, plus a change (..., m) of all their components."""
    ends = np.cumsum([0, *equations.inputs.values()])
    return [v + change[..., i:j] for v, i, j in zip(values, ends, ends[1:], strict=False)]


def state_tangent(equations: StateEquations) -> Kernel:
    """The kernel of x (n,) -> how the components of x move with a change (n, size), and the converse (size, n)."""
    return kernel_for(("state tangent", equations.key), lambda content: _tangents(equations, content))


def _tangents(equations: StateEquations, content: str | None) -> Kernel:
    tangent = StateTangent(equations)

    def formula(x: Array) -> tuple[Array, Array]:
        basis = jacobian_at(lambda d: tangent.moved(x, d), np.zeros(tangent.size), like=x)
        components = jacobian_at(lambda d: tangent.components(x, d), np.zeros(equations.size), like=x)
        return basis, components

    return kernels.compile(
        formula, {"x": equations.size}, ["basis", "components"], name="state_tangent", content=content
    )
