"""Muscle forces as straight lines in the activation, tendons rigid."""

from dataclasses import replace

import numpy as np

from myoquat.kernels.typing import Array
from myoquat.muscle import Model, muscle_forces
from myoquat.muscle.laws.hill import HillLaw

__all__ = ["chords", "least_activations", "rigid_tendons", "tangents"]

APART = 1e-5  # half the distance of the activations between which a slope is taken


def rigid_tendons(model: Model) -> Model:
    """The model with tendons that do not stretch."""
    laws = [m.law for m in model.muscles]
    changed = [replace(law, tendon="rigid") if isinstance(law, HillLaw) else law for law in laws]
    muscles = (replace(m, law=law) for m, law in zip(model.muscles, changed, strict=True))
    return replace(model, muscles=tuple(muscles))


def least_activations(model: Model) -> Array:
    """(m,) `minimum_activation` of a muscle's law, or 0."""
    return np.array([m.law.minimum_activation if isinstance(m.law, HillLaw) else 0.0 for m in model.muscles])


def tangents(model: Model, q: Array, u: Array, a: Array, lower: Array) -> tuple[Array, Array]:
    """F0, F1 (poses, m): F0 + F1 a touches F at a."""
    left, right = np.maximum(a - APART, lower), np.minimum(a + APART, 1.0)
    low, high = (muscle_forces(model, q, u, x) for x in (left, right))
    slope = (high - low) / (right - left)
    return muscle_forces(model, q, u, a) - slope * a, slope


def chords(model: Model, q: Array, u: Array, lower: Array) -> tuple[Array, Array]:
    """F0, F1 (poses, m): F0 + F1 a is F at the least activation and at 1, and in between where the law is affine."""
    least = np.broadcast_to(lower, (len(q), len(lower)))
    low, high = muscle_forces(model, q, u, least), muscle_forces(model, q, u, np.ones(least.shape))
    slope = (high - low) / (1 - least)
    return low - slope * least, slope
