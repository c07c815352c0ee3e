"""`step_derivatives`: one step of a method, x -> x', and its Jacobians on the tangent space."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np

from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics.constraints import Constraint
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.sensitivity.collocation import RadauStep
from myoquat.dynamics.sensitivity.points import StatePoint, check_curved_paths, one_sided_paths
from myoquat.dynamics.sensitivity.stages import StepChain
from myoquat.dynamics.sensitivity.tangent import StateTangent, state_tangent
from myoquat.dynamics.simulation.controls import Inputs
from myoquat.dynamics.simulation.methods import ADAPTIVE, BAUMGARTE_STEPS, MethodChoice, method_named
from myoquat.joints.evaluation import SystemLike

__all__ = ["StepDerivatives", "differentiated_step", "step_derivatives"]


class StepDerivatives(NamedTuple):
    """The state q, u and muscle_states (..., ns) after a step, and dx' = A dx + B dv for small changes before it.

    A, B         (..., n, n), (..., n, m)
    state_names  (n,) of dx, a change at the state before the step, and dx', the change after it. Each has a small
                 motion (three numbers for each quaternion), du, and changes of muscles' states
    input_names  (m,) of dv
    one_sided    (..., muscles), where it was asked for

    >>> import myoquat as mq
    >>> from myoquat.dynamics import step_derivatives
    >>> sled = mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=2.0)
    >>> found = step_derivatives(mq.ArticulatedSystem((sled,)), [0.0], [3.0], step=0.1)
    >>> found.q.round(3), found.A, found.B.ravel().round(6)  # dx = h^2 / 2 m and du = h / m for each newton
    (array([0.3]), array([[1. , 0.1],
           [0. , 1. ]]), array([0.0025, 0.05  ]))
    """

    q: Array
    u: Array
    muscle_states: Array
    A: Array
    B: Array
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    one_sided: Array | None = None


def step_derivatives(
    model: SystemLike, q: ArrayLike | None = None, u: ArrayLike | None = None, step: float = 1e-3, *,
    method: str = "rk4", stabilization: str = "projection", inputs: Inputs | None = None,
    constraints: Sequence[Constraint] = (), time: float = 0.0, one_sided: bool = False,
) -> StepDerivatives:  # fmt: skip
    """One step of `step` [s] from q (..., nq), u (..., nu), as `simulate` makes it, and its derivatives.

    method, stabilization   of fixed step, as for `simulate`, or "radau": one step of Radau IIA of this length.
    inputs                  `Inputs`, constant during the step: torques on u, activations or excitations, controls,
                            muscle_states; those of `simulate` by default.
    constraints, time       as for `simulate`, time that of the start of the step.
    one_sided               also report of every muscle whether its path has a kink or jumps at the start or the end of
                            the step (`myoquat.muscle.path_flags`). The derivatives are then those of one side.

    For optimizers and filters of one's own: x' = F(x, v), with exact A = dF/dx and B = dF/dv. Solutions inside the step
    (fibers, constraints, the equations of the variational method) have implicit derivatives. Raises ValueError for a
    muscle around a surface where a solver finds its path, and otherwise as `simulate` does.

    >>> import myoquat as mq
    >>> from myoquat.dynamics import step_derivatives
    >>> found = step_derivatives(mq.load_model("two_link"), step=1e-3, method="lie_rk4")
    >>> found.q.shape, found.A.shape, found.state_names[0]
    ((8,), (12, 12), 'dA.omega_x')
    """
    choice = MethodChoice.of(method, stabilization, None)
    check_curved_paths(model)
    found = StatePoint.of(model, (q, u), inputs or Inputs(), constraints, time, choice)
    equations = found.equations
    if not (isinstance(step, Real) and 0 < step < math.inf):
        raise ValueError(f"step must be positive and finite [s], not {step!r}")
    constants = (BAUMGARTE_STEPS * step,) if equations.baumgarte else ()
    stepped = differentiated_step(method, equations, stabilization)
    after, J = stepped(found.time, step, found.x, found.values, constants)
    A, B = _on_tangents(equations, found.x, after, J)
    q, u = equations.split(after)
    poses = (equations.split(found.x)[0], q) if one_sided else ()
    sides = np.logical_or(*(one_sided_paths(model, pose) for pose in poses)) if one_sided else None
    return StepDerivatives(q, u, equations.rest(after), A, B, StateTangent(equations).names, found.input_names, sides)


def differentiated_step(method: str, equations: StateEquations, stabilization: str) -> StepChain | RadauStep:
    """The step of a method with its derivatives. ValueError for a method whose steps have no derivatives."""
    if method == "radau":
        return RadauStep(equations, stabilization)
    if method in ADAPTIVE:
        raise ValueError(f"method {method!r} chooses its steps, which have no derivatives; 'radau' has them")
    return StepChain(method_named(method), equations, stabilization)


def _on_tangents(equations: StateEquations, x: Array, after: Array, J: Array) -> tuple[Array, Array]:
    """A and B on the tangent spaces at x and at x', from the derivatives J (..., n, n + m) by the components of x."""
    kernel = state_tangent(equations)
    n = equations.size
    (basis, _), (_, components) = kernel(x), kernel(after)
    moved = components @ J
    return moved[..., :n] @ basis, moved[..., n:]
