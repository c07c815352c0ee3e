"""Tensions of a model at a pose without simulation: elastic tendons are in equilibrium with their fibers."""

import numpy as np

from myoquat.core.arguments import real_array
from myoquat.core.typing import Array, ArrayLike
from myoquat.muscle import Model, muscle_forces, path_lengths
from myoquat.muscle.evaluate import equilibria
from myoquat.muscle.laws.equilibrium import numbers_of
from myoquat.muscle.states import elastic, state_names, state_slices

__all__ = ["tensions_at_rest"]


def tensions_at_rest(model: Model, q: ArrayLike, activation: ArrayLike, u: ArrayLike | None = None) -> Array:
    """(..., m) tensions [N] at coordinates q (..., nq) and activation (..., m), muscle states in equilibrium at rest.

    A muscle is given its greatest isometric force F0 where no fiber length balances it, because its path is far too
    long or short there. The velocities u (..., nu), zero if nothing is said, move the muscles that have no states.
    Raises ModelError for muscles whose law or strength is open.
    """
    q = real_array("q", q)
    u = np.zeros(model.system.nu) if u is None else u
    if not state_names(model):
        return muscle_forces(model, q, u, activation)
    l, a = path_lengths(model, q), model.check_activation(activation)
    l, a = np.broadcast_arrays(l, a)
    state = equilibria(model, l, a, {law_type: numbers_of(law_type, laws) for law_type, laws in elastic(model).items()})
    balanced = np.isfinite(state)
    F = muscle_forces(model, q, u, a, np.where(balanced, state, 1.0))
    for i, s in enumerate(state_slices(model)):
        F[~balanced[..., s].all(axis=-1), ..., i] = getattr(model.muscles[i].law, "max_isometric_force", 1.0)
    return F
