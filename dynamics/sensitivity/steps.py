"""`step_derivatives`: one step of a method, x -> x', and its Jacobians on the tangent space."""

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from myoquat import kernels
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics.constraints import Constraint
from myoquat.dynamics.integrators import FIXED_STEP, FixedStep, StateEquations, StepFormula
from myoquat.dynamics.integrators.radau import NODES, STAGE_MATRIX
from myoquat.dynamics.sensitivity.points import (
    StatePoint,
    StateTangent,
    changed_inputs,
    check_curved_paths,
    one_sided_paths,
    state_tangent,
)
from myoquat.dynamics.simulation.controls import Inputs
from myoquat.dynamics.simulation.methods import ADAPTIVE, BAUMGARTE_STEPS, MethodChoice, method_named
from myoquat.joints.evaluation import SystemLike, kernel_for
from myoquat.joints.vectors import joined
from myoquat.kernels import Kernel
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = ["StepDerivatives", "differentiated_step", "step_derivatives"]


# --------------------------------------------------------------------------------------------------------------
#
# The derivative of one step by the chain rule over the stages of its method, each stage in a compiled kernel.


@dataclass(frozen=True)
class StepChain:
    """The step of a method on equations of motion, and its derivatives by the state x (n,) and by the inputs (m,).

    For methods by slopes, one kernel has the derivative of the slope and is called at every stage. The code is then as
    long as that of one stage. For others, it has the derivative of the whole step.
    """

    method: FixedStep
    equations: StateEquations
    stabilization: str

    @property
    def formula(self) -> StepFormula:
        """The step."""
        return self.method.varied_formula(self.equations, self.stabilization)

    def __call__(
        self, t: float, h: float, x: Array, values: Sequence[Array], constants: Sequence[Any] = ()
    ) -> tuple[Array, Array]:
        """x' (..., n) and its derivatives (..., n, n + m) by x and by the inputs `values`, (..., k) each."""
        step = self.formula
        if step.slope is None:
            after, J = self._kernel("step", self._step(step))(t, h, x, *values, *constants)
            return after, J
        n, m = self.equations.size, sum(self.equations.inputs.values())
        start = np.concatenate([np.eye(n), np.zeros((n, m))], axis=-1)
        inputs = np.concatenate([np.zeros((m, n)), np.eye(m)], axis=-1)
        at, dx, slopes, turned = x, start, [], []
        for stage, (node, indices) in enumerate(zip(step.method.c, step.method.slope_indices, strict=True)):
            k, K = self.slope(t + node * h, h, at, values, constants)
            slopes.append(k)
            turned.append(K[..., :n] @ dx + K[..., n:] @ inputs)
            of = [slopes[j] for j in indices], [turned[j] for j in indices]
            at, dx = self._updated(step, stage, (x, start), h, of)
        return self.projected((t, h), at, dx, values, constants)

    def slope(
        self, t: Any, h: float, x: Array, values: Sequence[Array], constants: Sequence[Any]
    ) -> tuple[Array, Array]:
        """xdot (..., n) of a method by slopes, and its derivatives (..., n, n + m)."""
        found, K = self._kernel("slope", _slope(self.equations, self.formula))(t, h, x, *values, *constants)
        return found, K

    def projected(
        self, times: tuple[float, float], x: Array, dx: Array, values: Sequence[Array], constants: Sequence[Any]
    ) -> tuple[Array, Array]:
        """A state after the step's return to |Q| = 1 and to the constraints, and its derivatives."""
        project = self.formula.project
        if project is None:
            return x, dx
        after, P = self._kernel("project", _projection(project))(*times, x, *values, *constants)
        return after, P @ dx

    def _updated(
        self, step: StepFormula, stage: int, x: tuple[Array, Array], h: float, slopes: tuple[list[Array], list[Array]]
    ) -> tuple[Array, Array]:
        """The state of the next stage and its derivatives, from those of x and of the slopes."""
        update = step.method.updates[stage]
        if step.method.entrywise:  # a Runge-Kutta method: sums, the same for states and for derivatives
            return update(x[0], h, *slopes[0]), update(x[1], h, *slopes[1])
        n, count = self.equations.size, len(slopes[0])
        sizes = {"h": (), "x": n, **{f"slope{j}": n for j in range(count)}}

        def formula(h: Array, x: Array, *given: Array) -> tuple[Array, Array]:
            def after(d: Array) -> Array:
                moved = [v + d[..., j * n : (j + 1) * n] for j, v in enumerate((x, *given))]
                return update(moved[0], h, *moved[1:])

            return update(x, h, *given), jacobian_at(after, np.zeros((count + 1) * n), like=x)

        after, J = self._built(f"update{stage}", formula, sizes)(h, x[0], *slopes[0])
        parts = [x[1], *slopes[1]]
        return after, sum(J[..., j * n : (j + 1) * n] @ part for j, part in enumerate(parts))

    def _step(self, step: StepFormula) -> Callable[..., tuple[Array, Array]]:
        """(t, h, x, *values) -> x' and its derivatives, from (q, u, w) to (q, u, w)."""
        method, equations = self.method, self.equations

        def after(t: Array, h: Array, x: Array, *values: Array) -> Array:
            stepped = step(t, h, method.begin(equations, *equations.parts(x)), *values)
            return joined([*method.end(equations, stepped), *equations.parts(stepped)[2:]])

        return lambda t, h, x, *values: _differentiated(equations, lambda x, *v: after(t, h, x, *v), x, values)

    def _kernel(self, name: str, formula: Callable[..., Any]) -> Kernel:
        sizes = {"t": (), "h": (), "x": self.equations.size, **self.equations.inputs, **self.equations.parameters}
        return self._built(name, formula, sizes)

    def _built(self, name: str, formula: Callable[..., Any], sizes: dict[str, Any]) -> Kernel:
        key = ("step derivatives", name, self.method.key, self.stabilization, self.equations.key)
        label = f"{self.method.name}_{name}"
        return kernel_for(
            key, lambda content: kernels.compile(formula, sizes, ["after", "J"], name=label, content=content)
        )


def _differentiated(
    equations: StateEquations, function: Callable[..., Array], x: Array, values: Sequence[Array]
) -> tuple[Array, Array]:
    """function(x, *values) and its derivatives by x and by the inputs, the first of the values."""
    n, m, constants = equations.size, sum(equations.inputs.values()), values[len(equations.inputs) :]

    def moved(d: Array) -> Array:
        return function(x + d[..., :n], *changed_inputs(equations, values, d[..., n:]), *constants)

    return function(x, *values), jacobian_at(moved, np.zeros(n + m), like=x)


def _slope(equations: StateEquations, step: StepFormula) -> Callable[..., tuple[Array, Array]]:
    slope = step.slope
    assert slope is not None
    return lambda t, h, x, *values: _differentiated(equations, lambda x, *v: slope(t, x, *v), x, values)


def _projection(project: Callable[..., Array]) -> Callable[..., tuple[Array, Array]]:
    def formula(t: Array, h: Array, x: Array, *values: Array) -> tuple[Array, Array]:
        def moved(d: Array) -> Array:
            return project(t + h, x + d, *values)

        return project(t + h, x, *values), jacobian_at(moved, np.zeros(x.shape[-1]), like=x)

    return formula


# ---- The derivative of a step of Radau IIA, by the implicit function theorem --------------------------------------


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
        return dz


def _blocks(h: float, K: Array) -> Array:
    """(..., 3 n, 3 n) h a_ij K_j of K (..., 3, n, n)."""
    n = K.shape[-1]
    return np.einsum("ij,...jkl->...ikjl", h * STAGE_MATRIX, K).reshape((*K.shape[:-3], 3 * n, 3 * n))


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
