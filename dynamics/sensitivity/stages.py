"""The derivative of one step by the chain rule over the stages of its method, each stage in a compiled kernel."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.integrators import FixedStep, StateEquations, StepFormula
from myoquat.dynamics.sensitivity.tangent import changed_inputs
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.vectors import joined
from myoquat.kernels import Kernel
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = ["StepChain"]


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
                result: Array = update(moved[0], h, *moved[1:])
                return result

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
