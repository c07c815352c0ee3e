"""Affine models of muscle forces, as functions of the activation; tendons are rigid."""

from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.errors import ModelError
from myoquat.muscle import Model
from myoquat.muscle.laws import ForceLaw
from myoquat.muscle.laws.hill import HillLaw
from myoquat.muscle.laws.shared_structure import of_laws

__all__ = ["LawParameters", "least_activations", "secants", "strengths", "tangents", "tensions_with_derivatives"]

Tensions = Callable[[Array], Array]  # (poses, m) tensions of activations (poses, m)
DIFFERENCE_STEP = 1e-5  # of an activation, in the central differences of forces


class LawParameters(NamedTuple):
    """A model's laws as a function of their parameters.

    bind  bind(p) is the model with parameters p (n,), floats or symbols
    key   distinguishes the function from others
    p     (n,) the parameters
    """

    bind: Callable[[Array], Model]
    key: Hashable
    p: Array


def least_activations(model: Model) -> Array:
    """(m,) `minimum_activation` of a muscle's law, or 0."""
    return np.array([m.law.minimum_activation if isinstance(m.law, HillLaw) else 0.0 for m in model.muscles])


def strengths(model: Model) -> Array:
    """(m,) the greatest isometric force of every muscle [N]; ModelError for a law without one, or with none at all."""
    forces = [getattr(m.law, "max_isometric_force", None) for m in model.muscles]
    for muscle, force in zip(model.muscles, forces, strict=True):
        if not force:
            law = type(muscle.law).__name__
            raise ModelError(f"muscle {muscle.name!r}: its law {law} has no greatest isometric force, of which its "
                             "stress is a share")  # fmt: skip
    return np.array(forces, dtype=float)


def tangents(forces: Tensions, a: Array, lower: Array) -> tuple[Array, Array]:
    """F0, F1 (poses, m): F0 + F1 a touches F = forces(a) at a."""
    left, right = np.maximum(a - DIFFERENCE_STEP, lower), np.minimum(a + DIFFERENCE_STEP, 1.0)
    slope = (forces(right) - forces(left)) / (right - left)
    return forces(a) - slope * a, slope


def tensions_with_derivatives(model: Model, lengths: Array, speeds: Array, a: Array) -> Array:
    """(..., m, 3) the tensions of all muscles at (..., m), their first and their second derivatives in the activation:
    the formula, on floats and symbols."""
    rows = [np.stack([x[..., i] for x in (lengths, speeds, a)], axis=-1) for i in range(len(model.muscles))]
    laws = [muscle.law for muscle in model.muscles if muscle.law is not None]
    return np.stack(np.broadcast_arrays(*of_laws(laws, _bend, rows, 3), subok=True), axis=-2)


def _bend(law: ForceLaw, row: Array) -> Array:
    """(..., 3) by central differences about a point inside the bounds."""
    length, speed, a = (row[..., k] for k in range(3))
    lower = law.minimum_activation if isinstance(law, HillLaw) else 0.0
    middle = np.minimum(np.maximum(a, lower + DIFFERENCE_STEP), 1 - DIFFERENCE_STEP)
    left, F, right = (law.force(length, speed, middle + off) for off in (-DIFFERENCE_STEP, 0.0, DIFFERENCE_STEP))
    slope, bend, away = (right - left) / (2 * DIFFERENCE_STEP), (right - 2 * F + left) / DIFFERENCE_STEP**2, a - middle
    return np.stack([F + away * (slope + away * bend / 2), slope + away * bend, bend], axis=-1)


def secants(forces: Tensions, lower: Array, poses: int) -> tuple[Array, Array]:
    """F0, F1 (poses, m): F0 + F1 a is F = forces(a) at the least activation and at 1, and in between where the law is
    affine."""
    least = np.broadcast_to(lower, (poses, len(lower)))
    low = forces(least)
    slope = (forces(np.ones(least.shape)) - low) / (1 - least)
    return low - slope * least, slope
