"""Explicit methods: Runge-Kutta of order 4 on coordinates and on the Lie group of poses, and semi-implicit Euler."""

from typing import ClassVar

import numpy as np

from myoquat.core import Array
from myoquat.joints.multibody import state
from myoquat.joints.vectors import joined
from myoquat.kernels import ExplicitMethod

from .base import FixedStep, StepFormula
from .equations import StateEquations


class RungeKutta4(FixedStep):
    """x + h (k1 + 2 k2 + 2 k3 + k4) / 6, then |Q| = 1 by division ("projection"), by a force that pulls it back
    ("baumgarte"), or not at all. In the last case |Q| drifts by O(h^5) a step ("none").

    Dividing by |Q| does not lower the order: |Q| - 1 is of the order of the local error.

    >>> from myoquat.dynamics.integrators import RungeKutta4
    >>> RungeKutta4.name, RungeKutta4.order, RungeKutta4.stabilizations
    ('rk4', 4, ('projection', 'norm', 'baumgarte', 'none'))
    """

    name: ClassVar[str] = "rk4"
    order: ClassVar[int] = 4
    stability_bound: ClassVar[float] = 2.785
    by_acceleration: ClassVar[bool] = True

    def formula(self, equations: StateEquations, stabilization: str) -> StepFormula:
        return StepFormula(slope=equations.rate, project=equations.projection(stabilization), bound=equations.beyond)


class LieRungeKutta4(FixedStep):
    """The commutator-free method of four stages and five exponentials:

        q2 = q exp(h k1 / 2), q3 = q exp(h k2 / 2), q4 = q2 exp(h (k3 - k1 / 2)),
        q' = q exp(h (3 k1 + 2 k2 + 2 k3 - k4) / 12) exp(h (-k1 + 2 k2 + 2 k3 + 3 k4) / 12),

    Here k_i are the velocities u of the stages. The velocities themselves, coordinates without a turn and the muscles'
    states move as in the classical method. The norm |Q| is kept to round-off, which adds up ("none"), or divided out
    ("projection"). Source: E. Celledoni, A. Marthinsen, B. Owren, Commutator-free Lie group methods, Future Generation
    Computer Systems 19, 2003, section 3.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> ball = mq.Body("ball", "ground", mq.joints.SphericalJoint(), mass=1.0, inertia=(1.0, 2.0, 2.5, 0, 0, 0))
    >>> system = mq.ArticulatedSystem((ball,), gravity=(0.0, 0.0, 0.0))
    >>> way = mq.simulate(system, [1.0, 0, 0, 0], [1.0, 2.0, 3.0], step=0.01, method="lie_rk4", stabilization="none")
    >>> bool(way.norm_drift.max() < 1e-12)  # |Q| = 1 without any stabilization
    True
    """

    name: ClassVar[str] = "lie_rk4"
    order: ClassVar[int] = 4
    stabilizations: ClassVar[tuple[str, ...]] = ("projection", "norm", "none")
    stability_bound: ClassVar[float] = 2.785
    by_acceleration: ClassVar[bool] = True

    def formula(self, equations: StateEquations, stabilization: str) -> StepFormula:
        system, nu = equations.system, equations.system.nu

        def moved(x: Array, *steps: Array) -> Array:
            """x after the given steps (all of it together), one after the other."""
            q, *others = equations.parts(x)
            rest = joined(others)
            for step in steps:
                q, rest = state.integrate(system, q, step[..., :nu]), rest + step[..., nu : nu + rest.shape[-1]]
            return joined([q, rest])

        def slope(t: Array, x: Array, *values: Array) -> Array:
            q, u = equations.split(x)
            given = equations.given(t, x, values)
            rest = np.zeros((*u.shape[:-1], system.nq - nu))  # slopes are as long as the state
            return joined([u, equations.acceleration(t, q, u, given), *equations.own_rate(q, u, given), rest])

        def last(x: Array, h: Array, k1: Array, k2: Array, k3: Array, k4: Array) -> Array:
            middle = 2 * (k2 + k3)
            return moved(x, h / 12 * (3 * k1 + middle - k4), h / 12 * (middle - k1 + 3 * k4))

        second = lambda x, h, k1: moved(x, h / 2 * k1)  # noqa: E731
        fourth = lambda x, h, k1, k3: moved(x, h / 2 * k1, h * (k3 - k1 / 2))  # noqa: E731
        return StepFormula(
            slope=slope,
            method=ExplicitMethod(
                (0.0, 0.5, 0.5, 1.0), ((0,), (1,), (0, 2), (0, 1, 2, 3)), (second, second, fourth, last)
            ),
            project=equations.projection(stabilization),
            bound=equations.beyond,
        )


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
