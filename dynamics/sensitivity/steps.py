"""`step_derivatives`: one step of a method, x -> x', and its Jacobians on the tangent space."""

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import Array, ArrayLike, Pair, frozen
from myoquat.dynamics.constraints import Constraint
from myoquat.dynamics.integrators import FIXED_STEP, FixedStep, StateEquations, StepFormula
from myoquat.dynamics.integrators.radau import NODES, STAGE_MATRIX
from myoquat.dynamics.simulation.controls import Inputs
from myoquat.dynamics.simulation.methods import ADAPTIVE, BAUMGARTE_STEPS, MethodChoice, method_named
from myoquat.joints.evaluation import SystemLike
from myoquat.joints.vectors import joined

from .points import (
    StatePoint,
    StateTangent,
    changed_inputs,
    check_curved_paths,
    derivatives_by_change,
    one_sided_paths,
    state_tangent,
)


@frozen
class StepChain:
    """The step of a method on equations of motion, and its derivatives by the state x (n,) and by the inputs (m,)."""

    method: FixedStep
    equations: StateEquations
    stabilization: str

    @property
    def formula(self) -> StepFormula:
        """The step."""
        return self.method.varied_formula(self.equations, self.stabilization)

    def __call__(self, t: float, h: float, x: Array, values: Sequence[Array], constants: Sequence[Any] = ()) -> Pair:
        """x' (..., n) and its derivatives (..., n, n + m) by x and by the inputs `values`, (..., k) each."""
        step, equations, method = self.formula, self.equations, self.method

        def whole(t: Array, h: Array, x: Array, *values: Array) -> Array:
            stepped = step(t, h, method.begin(equations, *equations.parts(x)), *values)
            return joined([*method.end(equations, stepped), *equations.parts(stepped)[2:]])

        return self._differentiated("step", whole, (t, h), x, (*values, *constants))

    def slope(self, t: Any, h: float, x: Array, values: Sequence[Array], constants: Sequence[Any]) -> Pair:
        """xdot (..., n) of a method by slopes, and its derivatives (..., n, n + m)."""
        slope = self.formula.slope
        assert slope is not None
        return self._differentiated("slope", lambda t, h, x, *v: slope(t, x, *v), (t, h), x, (*values, *constants))

    def projected(
        self, times: tuple[float, float], x: Array, dx: Array, values: Sequence[Array], constants: Sequence[Any]
    ) -> Pair:
        """A state after the step's return to |Q| = 1 and to the constraints, and its derivatives."""
        project = self.formula.project
        if project is None:
            return x, dx
        formula = lambda t, h, x, *v: project(t + h, x, *v)  # noqa: E731
        after, P = self._differentiated("project", formula, times, x, (*values, *constants))
        return after, P[..., : self.equations.size] @ dx

    def _differentiated(
        self, name: str, function: Callable[..., Array], times: tuple[Any, Any], x: Array, values: Sequence[Any]
    ) -> Pair:
        """function(t, h, x, *values), and its derivatives (..., n, n + m) by x and by the inputs, the first values."""
        equations, n = self.equations, self.equations.size

        def formula(t: Array, h: Array, x: Array, *given: Array) -> Array:
            *values, change = given
            inputs = changed_inputs(equations, values, change[..., n:])
            return function(t, h, x + change[..., :n], *inputs, *values[len(inputs) :])

        sizes: dict[str, Any] = {"t": (), "h": (), "x": n, **equations.inputs, **equations.parameters}
        key = f"{self.method.name}_{name}", self.method.key, self.stabilization, equations.key
        return derivatives_by_change(key, formula, sizes, (*times, x, *values), n + sum(equations.inputs.values()))


# ---- The derivative of a step of Radau IIA, by the implicit function theorem --------------------------------------


MAX_ITERATIONS = 20  # of Newton's method with exact derivatives; steps that converge need 3 to 6
TOLERANCE = 1e-13  # of its last change, relative to 1 + |x|


@frozen
class RadauStep(StepChain):
    """One step of Radau IIA of order 5 with a given length, x' = x + z3, z_i = h sum_j a_ij f(t + c_j h, x + z_j).

    With Z (3 n,) and K_j the derivatives of f at the stages, (I - h A K) dZ = h A (K dx + the derivatives by inputs).
    Newton's method, which finds Z, has the same matrix. Then the state returns to |Q| = 1 and to the constraints.
    """

    def __call__(self, t: float, h: float, x: Array, values: Sequence[Array], constants: Sequence[Any] = ()) -> Pair:
        """x' (..., n) and its derivatives (..., n, n + m) by x and by the inputs `values`. Raises RuntimeError where
        Newton's method does not converge."""
        n, staged = self.equations.size, [v[..., None, :] for v in values]
        batch = np.broadcast_shapes(x.shape[:-1], *(v.shape[:-1] for v in values))
        x, z = np.broadcast_to(x, (*batch, n)), np.zeros((*batch, 3, n))

        def at_stages(z: Array) -> tuple[Array, Array, Array]:
            """The slopes, their derivatives K, and I - h A K."""
            f, K = self.slope(t + h * NODES, h, x[..., None, :] + z, staged, constants)
            blocks = np.einsum("ij,...jkl->...ikjl", h * STAGE_MATRIX, K[..., :n])  # h a_ij K_j
            return f, K, np.eye(3 * n) - blocks.reshape((*K.shape[:-3], 3 * n, 3 * n))

        for _ in range(MAX_ITERATIONS):
            f, _, matrix = at_stages(z)
            lacking = h * STAGE_MATRIX @ f - z
            change = np.linalg.solve(matrix, lacking.reshape((*batch, 3 * n, 1))).reshape(z.shape)
            z = z + change
            if not np.any(np.abs(change) > TOLERANCE * (1 + np.abs(x))[..., None, :]):
                break
        else:
            raise RuntimeError(f"a step of {h:g} s with method 'radau' has not converged; a shorter step may")
        _, K, matrix = at_stages(z)
        right = np.einsum("ij,...jkl->...ikl", h * STAGE_MATRIX, K).reshape((*batch, 3 * n, -1))
        dz = np.linalg.solve(matrix, right)[..., 2 * n :, :]
        return self.projected((t, h), x + z[..., 2, :], dz + np.eye(*dz.shape[-2:]), values, constants)


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
    stepped, constants = differentiated_step(method, equations, stabilization, step)
    after, J = stepped(found.time, step, found.x, found.values, constants)
    tangent, n = state_tangent(equations), equations.size
    (basis, _), (_, components) = tangent(found.x), tangent(after)
    moved = components @ J
    q, u = equations.split(after)
    poses = (equations.split(found.x)[0], q) if one_sided else ()
    sides = np.logical_or(*(one_sided_paths(model, pose) for pose in poses)) if one_sided else None
    return StepDerivatives(q, u, equations.rest(after), moved[..., :n] @ basis, moved[..., n:],
                           StateTangent(equations).names, found.input_names, sides)  # fmt: skip


def differentiated_step(
    method: str, equations: StateEquations, stabilization: str, step: float
) -> tuple[StepChain, tuple[float, ...]]:
    """A step [s] of a method with its derivatives, and the constants that it takes last. ValueError for a method whose
    steps have no derivatives, and for a step that is not positive and finite."""
    if not (isinstance(step, Real) and 0 < step < math.inf):
        raise ValueError(f"step must be positive and finite [s], not {step!r}")
    constants = (BAUMGARTE_STEPS * step,) if equations.baumgarte else ()
    if method == "radau":
        return RadauStep(FIXED_STEP["rk4"], equations, stabilization), constants  # the slope and the projection of rk4
    if method in ADAPTIVE:
        raise ValueError(f"method {method!r} chooses its steps, which have no derivatives; 'radau' has them")
    return StepChain(method_named(method), equations, stabilization), constants
