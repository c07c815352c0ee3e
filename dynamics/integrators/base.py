"""What every fixed-step method can do."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, ClassVar

from myoquat.core import Array, Pair, frozen, is_foreign
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.vectors import joined
from myoquat.kernels import METHODS, ExplicitMethod, StepLoop, step_loop

from .equations import StateEquations

# --------------------------------------------------------------------------------------------------------------
#
# One step of a fixed-step method as a formula, from which its compiled loop and its derivatives come.


RUNGE_KUTTA_4 = ExplicitMethod.of(METHODS["rk4"])


@frozen
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
        slope = self.slope
        at = self.method.stepped(lambda node, at: slope(t + node * h, at, *values), x, h)
        return at if self.project is None else self.project(t + h, at, *values)

    def loop(self, size: int, **options: Any) -> StepLoop:
        """The compiled loop over steps of states (size,); options as for `myoquat.kernels.step_loop`."""
        if self.step is not None:
            return step_loop(size, step=self.step, node=self.node, bound=self.bound, **options)
        return step_loop(size, rhs=self.slope, method=self.method, project=self.project, bound=self.bound, **options)


class FixedStep(ABC):
    """A method of fixed step: the formula of its step, and how its state follows from (q, u) and back.

    >>> from myoquat.dynamics.integrators import FIXED_STEP
    >>> {name: method.order for name, method in FIXED_STEP.items()}
    {'rk4': 4, 'lie_rk4': 4, 'semi_implicit_euler': 1, 'variational': 2}
    """

    name: ClassVar[str]  # as `simulate` knows it
    order: ClassVar[int]  # of the global error in the step
    stabilizations: ClassVar[tuple[str, ...]] = ("projection", "norm", "baumgarte", "none")
    stability_bound: ClassVar[float] = math.inf  # of h k, up to which a decay at the rate k stays bounded
    by_acceleration: ClassVar[bool] = False  # whether it uses a model only through its acceleration

    @property
    def key(self) -> Hashable:
        """What tells it from all other methods: its name, or a user's own method itself."""
        return self if is_foreign(type(self)) else self.name

    @abstractmethod
    def formula(self, equations: StateEquations, stabilization: str) -> StepFormula:
        """The step of the method's state."""

    def varied_formula(self, equations: StateEquations, stabilization: str) -> StepFormula:
        """The step, whose equations have the numbers that vary in them (`StateEquations.at`)."""
        whole = self.formula(equations, stabilization)

        def varied(part: str, before: int) -> Callable[..., Array] | None:
            """A part of the formula, whose values follow so many arguments."""

            def run(*given: Array) -> Array:
                own, values = equations.at(given[before:])
                return getattr(self.formula(own, stabilization), part)(*given[:before], *values)

            return None if getattr(whole, part) is None else run

        counts = {"step": 3, "slope": 2, "project": 2, "bound": 2}
        parts: dict[str, Any] = {part: varied(part, before) for part, before in counts.items()}
        return replace(whole, **parts)

    def kept_loop(self, equations: StateEquations, stabilization: str, lanes: int | None) -> StepLoop:
        """The compiled loop over the method's state, compiled at its first use."""
        options = {"inputs": equations.inputs, "parameters": equations.parameters, "lanes": lanes}
        return kernel_for(
            ("simulate", self.key, stabilization, equations.key, lanes),
            lambda content: self.varied_formula(equations, stabilization).loop(
                equations.size, name=f"simulate_{self.name}", content=content, **options
            ),
        )

    def begin(self, equations: StateEquations, q: Array, u: Array, *own: Array) -> Array:
        """(..., n) the method's state from q (..., nq), u (..., nu) and, if there are any, the muscles' states."""
        return joined([q, u, *own])

    def end(self, equations: StateEquations, x: Array) -> Pair:
        """(q, u) from the method's states (..., n)."""
        return equations.split(x)
