"""A variational method: symplectic, and with the momenta that the symmetries of the system keep."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from myoquat.core import Array, Pair
from myoquat.dynamics import composite, inverse
from myoquat.dynamics.factor import Metric
from myoquat.dynamics.inverse import damping_force
from myoquat.joints.evaluation import compiled
from myoquat.joints.multibody import state
from myoquat.joints.vectors import joined
from myoquat.kernels import is_symbolic
from myoquat.kernels.tracing.derivatives import jacobian_at

from .base import FixedStep, StepFormula
from .equations import StateEquations

STEP_ITERATIONS = 6  # each gains a factor of the order of (h times the stiffest frequency)^2


class Variational(FixedStep):
    """The midpoint rule as discrete mechanics, L_d(q, q') = h L(q exp(v / 2), v / h), q' = q exp(v)
    [J. E. Marsden, M. West, Discrete mechanics and variational integrators, Acta Numerica 10, 2001, sections 1.5 and
    2.6.2; on Lie groups: T. Lee, M. Leok, N. H. McClamroch, Comput. Methods Appl. Mech. Engrg. 196, 2007]:

        p + D1 L_d + h f / 2 = 0 is solved for v, then p' = D2 L_d + h f / 2,

    p = M(q) u the momenta, f the forces that have no potential, at the middle. Order 2, symplectic without f: over any
    time the energy keeps oscillating within O(h^2), without trend. The derivatives of L_d are exact, by differentiation
    of the energies. Six steps of Newton's method with M(q) / h in place of the derivative give v. They reach round-off
    while (h times the highest frequency)^2 < 1/1000. The norm |Q| is kept to round-off ("none"), or divided out
    ("projection").

    >>> import myoquat as mq
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=1.0, center_of_mass=(0, 0, -1.0))
    >>> system = mq.ArticulatedSystem((bob,))
    >>> way = mq.simulate(system, [1.0], [0.0], duration=10.0, step=0.01, method="variational", stabilization="none")
    >>> energy = way.kinetic_energy + way.potential_energy
    >>> bool(abs(energy - energy[0]).max() < 1e-3)  # of 5 J: it swings about the true value and does not drift
    True
    """

    name: ClassVar[str] = "variational"
    order: ClassVar[int] = 2
    stabilizations: ClassVar[tuple[str, ...]] = ("projection", "norm", "none")

    def formula(self, equations: StateEquations, stabilization: str) -> StepFormula:
        if equations.constraints:
            raise ValueError("method 'variational' takes no constraints; lie_rk4 and the adaptive methods do")
        if equations.feedback:
            raise ValueError("method 'variational' takes no feedback without a period; the others do")
        if equations.own:
            raise ValueError(
                f"method 'variational' moves no states of muscles and actuators ({', '.join(equations.own[:3])} ...); "
                "lie_rk4 and the adaptive methods do"
            )

        def step(t: Array, h: Array, x: Array, *values: Array) -> Array:
            q, p = equations.split(x)
            given = equations.named(values)
            v = _solved(equations, h, q, p, given, t)
            _, gain = _momenta(equations, h, q, v, given, t)
            moved = joined([state.integrate(equations.system, q, v), gain])
            return equations.stabilized(moved, stabilization)

        return StepFormula(step=step, node=0.5)

    def begin(self, equations: StateEquations, q: Array, u: Array, *own: Array) -> Array:
        return super().begin(equations, q, _converted(equations, "momenta", _momentum, q, u))

    def end(self, equations: StateEquations, x: Array) -> Pair:
        q, p = equations.split(x)
        return q, _converted(equations, "velocities", _velocity, q, p)


def _converted(
    equations: StateEquations, name: str, formula: Callable[[StateEquations, Array, Array], Array], q: Array, v: Array
) -> Array:
    """formula(equations, q, v): by a kernel for floats, the formula itself for symbols and complex numbers."""
    if is_symbolic(q) or is_symbolic(v) or np.iscomplexobj(q) or np.iscomplexobj(v):
        return formula(equations, q, v)
    key, sizes = ("variational", name, equations.system.content_key), {"q": q.shape[-1], "v": v.shape[-1]}
    return compiled(key, partial(formula, equations), sizes, [name], name=f"variational_{name}")(q, v)


def _momentum(equations: StateEquations, q: Array, u: Array) -> Array:
    """(..., nu) M u."""
    return np.sum(composite.mass(equations.system, q) * u[..., None, :], -1)


def _velocity(equations: StateEquations, q: Array, p: Array) -> Array:
    """(..., nu) M^-1 p."""
    return Metric.at(equations.system, q).solve(p)


def _solved(equations: StateEquations, h: Array, q: Array, p: Array, given: Mapping[str, Any], t: Array) -> Array:
    """(..., nu) v with p + D1 L_d + h f / 2 = 0."""
    metric = Metric.at(equations.system, q)
    v = h * metric.solve(p)
    for _ in range(STEP_ITERATIONS):
        loss, _ = _momenta(equations, h, q, v, given, t)
        v = v + h * metric.solve(p - loss)
    return v


def _momenta(equations: StateEquations, h: Array, q: Array, v: Array, given: Mapping[str, Any], t: Array) -> Pair:
    """(..., nu), (..., nu): the momenta -D1 L_d - h f / 2 at q and D2 L_d + h f / 2 at q exp(v)."""
    system = equations.system
    after = state.integrate(system, q, v)

    def action(q: Array, v: Array) -> Array:
        middle = state.integrate(system, q, v / 2)
        return h * (inverse.kinetic(system, middle, v / h) - inverse.potential(system, middle))

    def from_start(d: Array) -> Array:
        start = state.integrate(system, q, d)
        return action(start, state.difference(system, start, after))[..., None]

    def to_end(d: Array) -> Array:
        return action(q, state.difference(system, q, state.integrate(system, after, d)))[..., None]

    zero = np.zeros(system.nu)
    D1, D2 = (jacobian_at(f, zero, like=q)[..., 0, :] for f in (from_start, to_end))
    middle = state.integrate(system, q, v / 2)
    f = equations.force(t + h / 2, middle, v / h, given) - damping_force(system, middle, v / h)
    return -D1 - h / 2 * f, D2 + h / 2 * f
