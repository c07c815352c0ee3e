"""One step of a fixed-step method as a formula, from which its compiled loop and its derivatives come."""

from collections.abc import Callable
from typing import Any

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.kernels import METHODS, ExplicitMethod, StepLoop, step_loop

__all__ = ["StepFormula"]

RUNGE_KUTTA_4 = ExplicitMethod.of(METHODS["rk4"])


@dataclass(frozen=True)
class StepFormula:
    """x (n,) -> x after a step h, in one of two forms.

    step     (t, h, x, *values) -> x, with the inputs at t + node h; or
    slope    (t, x, *values) -> xdot, stepped by the stages of `method`, then
    project  (t, x, *values) -> x, the return to |Q| = 1 and to the constraints at the end t of the step.
    bound    (t, x, *values) -> number, positive where a state is to stop.

    >>> import numpy as np
    >>> from myoquat.dynamics.integrators import StepFormula
    >>> decay = StepFormula(slope=lambda t, x: -x)
    >>> decay(0.0, 0.1, np.array([1.0])).round(6)  # exp(-0.1) up to O(h^5)
    array([0.904838])
    """

    step: Callable[..., Array] | None = None
    slope: Callable[..., Array] | None = None
    method: ExplicitMethod = RUNGE_KUTTA_4
    project: Callable[..., Array] | None = None
    bound: Callable[..., Array] | None = None
    node: float = 0.0

    def __call__(self, t: Array, h: Array, x: Array, *values: Array) -> Array:
        """x after the step, from values that are constant during it."""
        if self.step is not None:
            return self.step(t, h, x, *values)
        assert self.slope is not None
        slopes: list[Array] = []
        at = x
        for node, indices, update in zip(self.method.c, self.method.slope_indices, self.method.updates, strict=True):
            slopes.append(self.slope(t + node * h, at, *values))
            at = update(x, h, *(slopes[j] for j in indices))
        return at if self.project is None else self.project(t + h, at, *values)

    def loop(self, size: int, **options: Any) -> StepLoop:
        """The compiled loop over steps of states (size,); options as for `myoquat.kernels.step_loop`."""
        if self.step is not None:
            return step_loop(size, step=self.step, node=self.node, bound=self.bound, **options)
        return step_loop(size, rhs=self.slope, method=self.method, project=self.project, bound=self.bound, **options)
