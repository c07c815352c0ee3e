"""Semi-implicit Euler on the manifold: the speed first, then the pose along the new speed."""

from typing import ClassVar

from myoquat.core.typing import Array
from myoquat.dynamics.integrators.base import FixedStep, StepFormula
from myoquat.dynamics.integrators.equations import StateEquations
from myoquat.joints.multibody import state
from myoquat.joints.vectors import joined

__all__ = ["SemiImplicitEuler"]


class SemiImplicitEuler(FixedStep):
    """u' = u + h udot(t, q, u), q' = q exp(h u'): order 1, one evaluation a step, what physics engines do. States of
    muscles move by h times their rate at the start, activations with bounds up to these.

    Quaternions turn by the exponential, so that |Q| is kept to round-off, which adds up ("none"), or divided out
    ("projection").

    >>> from myoquat.dynamics.integrators import SemiImplicitEuler
    >>> SemiImplicitEuler.name, SemiImplicitEuler.order, SemiImplicitEuler.stabilizations
    ('semi_implicit_euler', 1, ('projection', 'norm', 'none'))
    """

    name: ClassVar[str] = "semi_implicit_euler"
    order: ClassVar[int] = 1
    stabilizations: ClassVar[tuple[str, ...]] = ("projection", "norm", "none")
    stability_bound: ClassVar[float] = 2.0
    by_acceleration: ClassVar[bool] = True

    def formula(self, equations: StateEquations, stabilization: str) -> StepFormula:
        def step(t: Array, h: Array, x: Array, *values: Array) -> Array:
            q, u = equations.split(x)
            given = equations.given(t, x, values)
            own = [equations.bounded(given["own"] + h * rate) for rate in equations.own_rate(q, u, given)]
            u = u + h * equations.acceleration(t, q, u, given)
            after = joined([state.integrate(equations.system, q, h * u), u, *own])
            return equations.stabilized(after, stabilization, t + h)

        return StepFormula(step=step, bound=equations.beyond)
