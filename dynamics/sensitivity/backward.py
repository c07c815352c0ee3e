"""The backward pass of the adjoint method: a compiled loop from the last step of a simulation to the first."""

from typing import Any

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.integrators import FixedStep, StateEquations
from myoquat.dynamics.sensitivity.adjoint import StepAdjoint
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.vectors import joined
from myoquat.kernels import StepLoop, ZeroOrderHold, step_loop

__all__ = ["Costates", "backward_loop", "carried_back", "lanes_for"]


@dataclass(frozen=True)
class Costates:
    """Gradients by states, inputs and parameters.

    states      (..., n) at the start of a piece
    inputs      (..., K, m), one row for each interval
    parameters  (..., k)
    """

    states: Array
    inputs: Array
    parameters: Array


def lanes_for(x: Array) -> int | None:
    """The lanes of a loop over states x (..., n): a single one is fastest in one lane."""
    return 1 if x.ndim == 1 else None


def backward_loop(method: FixedStep, equations: StateEquations, lanes: int | None) -> StepLoop:
    """The loop over z = (gradient by x, by inputs, by parameters): one step takes it from x_(k + 1) to x_k.

    Inputs of a step are those of the simulation, and:

    time, state  of x_k
    push         the gradient of the running goal at x_k
    keep         zero where an interval of the inputs ends
    """
    return kernel_for(
        ("simulation gradient", method.key, equations.key, lanes),
        lambda content: _loop(method, equations, lanes, content),
    )


def _loop(method: FixedStep, equations: StateEquations, lanes: int | None, content: str | None) -> StepLoop:
    n, m = equations.size, sum(equations.inputs.values())
    shapes = (*((size,) for size in equations.inputs.values()), *map(tuple, equations.parameters.values()))
    adjoint = StepAdjoint(method.varied_formula(equations, "projection"), n, shapes)

    def step(t: Array, h: Array, z: Array, time: Array, state: Array, push: Array, keep: Array, *values: Any) -> Array:
        by_x, by_values = adjoint(time, h, state, values, z[:n])
        return joined([by_x + push, keep * z[n : n + m] + by_values[:m], z[n + m :] + by_values[m:]])

    return step_loop(
        n + adjoint.values_size,
        step=step,
        inputs={"time": (), "state": n, "push": n, "keep": (), **equations.inputs},
        parameters=equations.parameters,
        name=f"gradient_{method.name}",
        content=content,
        lanes=lanes,
    )


def carried_back(
    loop: StepLoop, equations: StateEquations, end: tuple[Array, Array], piece: tuple[Array, Array, Array],
    inputs: dict[str, Array], constants: dict[str, Any], timing: tuple[float, int],
) -> Costates:  # fmt: skip
    """The gradients at the start of a piece of a simulation.

    end      gradients by the states (..., n) and the parameters (..., k) at the end of the piece.
    piece    times (s,), states (..., s, n) and gradients of the running goal (..., s, n) before each of its steps.
    inputs   name -> (..., K, size), constant in K intervals; timing: the step h and the steps of an interval.
    """
    h, hold = timing
    times, states, pushes = piece
    n, m, steps = equations.size, sum(equations.inputs.values()), len(times)
    keep = np.where(np.arange(steps) % hold == 0, 0.0, 1.0)
    batch = np.broadcast_shapes(end[0].shape[:-1], end[1].shape[:-1])
    z = joined([end[0], np.zeros((*batch, m)), end[1]])
    backwards: dict[str, Any] = {
        "time": ZeroOrderHold(np.ascontiguousarray(times[::-1])),
        "state": ZeroOrderHold(np.ascontiguousarray(states[..., ::-1, :])),
        "push": ZeroOrderHold(np.ascontiguousarray(pushes[..., ::-1, :])),
        "keep": ZeroOrderHold(keep),
        **{name: ZeroOrderHold(np.ascontiguousarray(values[..., ::-1, :]), hold) for name, values in inputs.items()},
    }
    ran = loop(z, h=h, steps=steps, every=hold, **backwards, **constants)
    final = np.where((ran.stopped >= 0)[..., None], np.nan, ran.final)
    by_inputs = ran.states[..., :0:-1, n : n + m]
    return Costates(final[..., :n], by_inputs, final[..., n + m :])
