"""Goals of a simulation: a number of its last state, and the integral of a number over its course."""

from collections.abc import Callable
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics.integrators import StateEquations
from myoquat.joints.evaluation import kernel_for
from myoquat.kernels import Kernel
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = ["Goals"]

Goal = Callable[..., Any]


@dataclass(frozen=True)
class Goals:
    """final(q, u, w) at the end plus the integral of running(t, q, u, w), w the muscles' states."""

    equations: StateEquations
    final: Goal | None = None
    running: Goal | None = None

    def __post_init__(self) -> None:
        if self.final is None and self.running is None:
            raise ValueError("simulation_gradient: give final=, a function of (q, u), running=, of (t, q, u), or both")

    def at_end(self, t: float, x: Array) -> tuple[Array, Array]:
        """The final goal and its derivatives (..., n) at the last states x (..., n)."""
        return self._evaluated("final", self.final, t, x)

    def along(self, t: Array, x: Array) -> tuple[Array, Array]:
        """The running goal and its derivatives (..., n) at states x (..., n) at times t (...)."""
        return self._evaluated("running", self.running, t, x)

    def _evaluated(self, name: str, goal: Goal | None, t: Any, x: Array) -> tuple[Array, Array]:
        if goal is None:
            return np.zeros(x.shape[:-1]), np.zeros_like(x)
        key = ("simulation goal", name, goal, self.equations.key)
        kernel: Kernel = kernel_for(key, lambda content: self._kernel(name, goal, content))
        value, gradient = kernel(t, x)
        return value, gradient

    def _kernel(self, name: str, goal: Goal, content: str | None) -> Kernel:
        def number(t: Array, x: Array) -> Array:
            before = [t] if name == "running" else []
            value = as_array(goal(*before, *self.equations.parts(x)))
            if value.shape != x.shape[:-1]:
                raise ValueError(f"{name}: one number for each state is needed, not an array of shape {value.shape}")
            return value[..., None]

        def formula(t: Array, x: Array) -> tuple[Array, Array]:
            return number(t, x)[..., 0], jacobian_at(lambda x: number(t, x), x)[..., 0, :]

        sizes = {"t": (), "x": self.equations.size}
        return kernels.compile(formula, sizes, ["value", "gradient"], name=f"goal_{name}", content=content)
