"""The muscles' own states, such as fiber lengths: where they lie, their rates, and where a motion can start.

state (..., ns) holds the states of all muscles, muscle by muscle in the model's order.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from myoquat.joints.checks import check_state
from myoquat.joints.stacking import joined
from myoquat.joints.vectors import matvec, vecmat
from myoquat.kernels.arrays import is_symbolic
from myoquat.kernels.typing import Array, ArrayLike
from myoquat.muscle import jacobians
from myoquat.muscle.laws import ForceLaw, HillLaw
from myoquat.muscle.model import Model
from myoquat.muscle.path import lengths

__all__ = [
    "activation_rates",
    "check_start",
    "elastic",
    "forces",
    "forces_of_laws",
    "rates",
    "residuals",
    "state_names",
    "state_slices",
    "torques",
]

OfLaw = Callable[..., Array]  # of a law, the slice of its states, and length, speed and activation of its muscle


def state_names(model: Model) -> tuple[str, ...]:
    """'<muscle>.<state>' of every state; none for a model whose laws have none.

    >>> from dataclasses import replace
    >>> import myoquat as mq
    >>> from myoquat.muscle.laws import Thelen2003
    >>> arm = mq.load_model("two_link")
    >>> elastic = replace(arm.muscles[0], law=Thelen2003(1000.0, 1.0, 0.7))
    >>> mq.muscle.state_names(replace(arm, muscles=(elastic, *arm.muscles[1:])))
    ('m1.fiber_length',)
    """
    return tuple(
        f"{muscle.name}.{name}" for muscle in model.muscles if muscle.law is not None for name in muscle.law.states
    )


def state_slices(model: Model) -> tuple[slice, ...]:
    """Where each muscle's states lie."""
    sizes = [0 if muscle.law is None else len(muscle.law.states) for muscle in model.muscles]
    edges = np.concatenate([[0], np.cumsum(sizes, dtype=int)])
    return tuple(slice(int(a), int(b)) for a, b in pairwise(edges))


def check_start(model: Model, name: str, values: ArrayLike) -> Array:
    """States (..., ns) at which a motion can start, or ValueError naming the one that its law does not allow, such as a
    fiber length that is not positive."""
    names = state_names(model)
    checked = check_state(name, values, len(names), names)
    if is_symbolic(checked):
        return checked
    for muscle, s in zip(model.muscles, state_slices(model), strict=True):
        if muscle.law is None:
            continue
        allowed = muscle.law.state_range
        for i in range(s.start, s.stop):
            for value in (checked[..., i].min(initial=np.inf), checked[..., i].max(initial=-np.inf)):
                if np.isfinite(value) and not allowed.holds(float(value)):
                    raise ValueError(f"{name}: {names[i]!r} must be {allowed} at the start, not {value:.6g}")
    return checked


def elastic(model: Model) -> dict[type, list[HillLaw]]:
    """The Hill-type laws with elastic tendons, by their class, in the model's order."""
    found: dict[type, list[HillLaw]] = {}
    for muscle in model.muscles:
        if isinstance(muscle.law, HillLaw) and muscle.law.states:
            found.setdefault(type(muscle.law), []).append(muscle.law)
    return found


def forces(model: Model, q: Array, u: Array, activation: Array, state: Array | None = None) -> Array:
    """(..., m) tensions [N]: the formula, on floats and symbols."""
    l = lengths(model.system, model.muscles, q)
    return forces_of_laws(model, l, matvec(jacobians.velocity(model, q), u), activation, state)


def forces_of_laws(model: Model, l: Array, speed: Array, activation: Array, state: Array | None = None) -> Array:
    """(..., m) tensions [N] at path lengths and speeds (..., m): the formula, on floats and symbols."""
    columns = [
        muscle.law.force(
            l[..., i], speed[..., i], activation[..., i], None if state is None or s.start == s.stop else state[..., s]
        )
        for i, (muscle, s) in enumerate(zip(model.muscles, state_slices(model), strict=True))
        if muscle.law is not None
    ]
    return np.stack(np.broadcast_arrays(*columns, subok=True), axis=-1) if columns else l


def torques(model: Model, q: Array, u: Array, activation: Array, state: Array | None = None) -> Array:
    """(..., nu) generalized forces -J^T F: the formula, on floats and symbols."""
    F = forces(model, q, u, activation, state)
    return -vecmat(F, jacobians.velocity(model, q))


def rates(model: Model, q: Array, u: Array, activation: Array, state: Array) -> Array:
    """(..., ns) rates of the states: the formula, on floats and symbols."""
    return _of_states(model, q, u, activation, lambda law, s, *given: law.state_rate(*given, state[..., s]), state)


def residuals(model: Model, q: Array, u: Array, activation: Array, state: Array, rate: Array) -> Array:
    """(..., ns) the equations of the states in implicit form: the formula, on floats and symbols."""

    def residual(law: ForceLaw, s: slice, l: Array, speed: Array, activation: Array) -> Array:
        return law.state_residual(l, speed, activation, state[..., s], rate[..., s])

    return _of_states(model, q, u, activation, residual, state)


def activation_rates(model: Model, excitation: Array, activation: Array) -> Array:
    """(..., m) da/dt, zero for muscles without activation dynamics: the formula, on floats and symbols."""
    columns = [
        0.0 * activation[..., i]
        if muscle.activation_dynamics is None
        else muscle.activation_dynamics.rate(excitation[..., i], activation[..., i])
        for i, muscle in enumerate(model.muscles)
    ]
    return np.stack(np.broadcast_arrays(*columns, subok=True), axis=-1) if columns else activation


def _of_states(model: Model, q: Array, u: Array, activation: Array, of_law: OfLaw, state: Array) -> Array:
    """(..., ns) what `of_law` gives for every law with states."""
    l = lengths(model.system, model.muscles, q)
    speed = matvec(jacobians.velocity(model, q), u)
    parts = [
        of_law(muscle.law, s, l[..., i], speed[..., i], activation[..., i])
        for i, (muscle, s) in enumerate(zip(model.muscles, state_slices(model), strict=True))
        if s.stop > s.start
    ]
    return joined(parts) if parts else 0.0 * state
