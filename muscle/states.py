"""The muscles' own states, such as fiber lengths: where they lie, their rates, and where a motion can start.

state (..., ns) holds the states of all muscles, muscle by muscle in the model's order.
"""

from collections.abc import Callable, Container, Sequence
from itertools import pairwise

import numpy as np

from myoquat.core import Array, ArrayLike, check_types
from myoquat.joints.ranges import check_state
from myoquat.joints.vectors import joined, vector
from myoquat.kernels.symbolic.arrays import is_symbolic

from .activation import ActivationDynamics
from .laws import ForceLaw, HillLaw
from .laws.shared_structure import of_laws, stacked_laws
from .model import Model
from .segments.path_segments import paths_at

OfLaw = Callable[[ForceLaw, Array], Array]  # of a law and its row: length, speed, activation, states, their rates


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
    check_types(model=(model, Model))
    return tuple(
        f"{muscle.name}.{name}" for muscle in model.muscles if muscle.law is not None for name in muscle.law.states
    )


def state_slices(model: Model) -> tuple[slice, ...]:
    """Where each muscle's states lie."""
    sizes = [0 if muscle.law is None else len(muscle.law.states) for muscle in model.muscles]
    edges = np.concatenate([[0], np.cumsum(sizes, dtype=int)])
    return tuple(slice(int(a), int(b)) for a, b in pairwise(edges))


def check_start(model: Model, name: str, values: ArrayLike) -> Array:
    """States (..., ns) at which a motion can start; ValueError names one that its law does not allow.

    An example is a fiber length that is not positive.
    """
    names = state_names(model)
    checked = check_state(name, values, names)
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


def start_activations(model: Model, inputs: Array, named: Container[int]) -> Array:
    """(..., m) activations at a start: of the muscles with indices in `named` those that the model names, if it does,
    and of others their inputs (..., m)."""
    own = [muscle.activation if i in named else None for i, muscle in enumerate(model.muscles)]
    return np.where([x is None for x in own], inputs, np.array(own, dtype=float))


def elastic(model: Model) -> list[tuple[list[int], HillLaw]]:
    """The muscles with elastic tendons and Hill-type laws: the indices of k muscles, and one law for all of them, as
    `stacked_laws` makes it."""
    laws = {i: m.law for i, m in enumerate(model.muscles) if isinstance(m.law, HillLaw) and m.law.states}
    return [([list(laws)[k] for k in members], law) for members, law in stacked_laws(list(laws.values()))]


def forces(model: Model, q: Array, u: Array, activation: Array, state: Array | None = None) -> Array:
    """(..., m) tensions [N]: the formula, on floats and symbols."""
    at = paths_at(model.system, model.paths, q, u)
    return forces_of_laws(model, at.length, at.speed, activation, state)


def forces_of_laws(model: Model, lengths: Array, speeds: Array, activation: Array, state: Array | None = None) -> Array:
    """(..., m) tensions [N] at path lengths and speeds (..., m): the formula, on floats and symbols."""
    return _by_laws(model, (lengths, speeds, activation), _force, [] if state is None else [state], lambda law: 1)


def _force(law: ForceLaw, row: Array) -> Array:
    """(..., 1) the tension of a law from length, speed, activation and states (..., 3 + ns)."""
    state = row[..., 3:] if row.shape[-1] > 3 else None
    return law.force(row[..., 0], row[..., 1], row[..., 2], state)[..., None]


def torques(model: Model, q: Array, u: Array, activation: Array, state: Array | None = None) -> Array:
    """(..., nu) generalized forces -J^T F: the formula, on floats and symbols."""
    F = forces(model, q, u, activation, state)
    return paths_at(model.system, model.paths, q, u).torque(F)


def rates(model: Model, q: Array, u: Array, activation: Array, state: Array) -> Array:
    """(..., ns) rates of the states: the formula, on floats and symbols.

    Raises ModelError for a law without finite rates at activation 0 (`HillLaw.check_rates`).
    """
    for muscle in model.muscles:
        if isinstance(muscle.law, HillLaw):
            muscle.law.check_rates(f"muscle {muscle.name!r}")
    way = paths_at(model.system, model.paths, q, u)
    return _by_laws(model, (way.length, way.speed, activation), _rate, [state], lambda law: len(law.states))


def residuals(model: Model, q: Array, u: Array, activation: Array, state: Array, rate: Array) -> Array:
    """(..., ns) the equations of the states in implicit form: the formula, on floats and symbols."""
    way = paths_at(model.system, model.paths, q, u)
    return residuals_of_laws(model, (way.length, way.speed, activation), state, rate)


def residuals_of_laws(model: Model, at: tuple[Array, Array, Array], state: Array, rate: Array) -> Array:
    """(..., ns) the same at path lengths, speeds and activations (..., m)."""
    return _by_laws(model, at, _residual, [state, rate], lambda law: len(law.states))


def _rate(law: ForceLaw, row: Array) -> Array:
    """(..., ns) rates of a law's states from length, speed, activation and states (..., 3 + ns)."""
    return law.state_rate(row[..., 0], row[..., 1], row[..., 2], row[..., 3:])


def _residual(law: ForceLaw, row: Array) -> Array:
    """(..., ns) equations of a law's states from length, speed, activation, states and rates (..., 3 + 2 ns)."""
    own = (row.shape[-1] - 3) // 2
    return law.state_residual(row[..., 0], row[..., 1], row[..., 2], row[..., 3 : 3 + own], row[..., 3 + own :])


def activation_rates(model: Model, excitation: Array, activation: Array) -> Array:
    """(..., m) da/dt, zero for muscles without activation dynamics: the formula, on floats and symbols."""
    columns = [0.0 * activation[..., i] for i in range(len(model.muscles))]
    following = {i: own for i, muscle in enumerate(model.muscles) if (own := muscle.activation_dynamics) is not None}
    rows = [joined([x[..., i : i + 1] for x in (excitation, activation)]) for i in following]
    for i, rate in zip(following, of_laws([*following.values()], _followed, rows, lambda law: 1), strict=True):
        columns[i] = rate[..., 0]
    return vector(columns) if columns else activation


def _followed(dynamics: ActivationDynamics, row: Array) -> Array:
    """(..., 1) da/dt from excitation and activation (..., 2)."""
    return dynamics.rate(row[..., 0], row[..., 1])[..., None]


def _by_laws(
    model: Model, at: tuple[Array, ...], function: OfLaw, states: Sequence[Array], size: Callable[[ForceLaw], int]
) -> Array:
    """(..., n) what a function gives for every law, size(law) numbers, at lengths, speeds and activations (..., m)."""
    laws, rows = [], []
    for i, (muscle, s) in enumerate(zip(model.muscles, state_slices(model), strict=True)):
        if muscle.law is not None and size(muscle.law):
            laws.append(muscle.law)
            rows.append(joined([*(x[..., i : i + 1] for x in at), *(x[..., s] for x in states)]))
    return joined(of_laws(laws, function, rows, size)) if laws else 0.0 * at[0][..., :0]
