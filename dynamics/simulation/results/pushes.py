"""Muscles that push: what there is to say where a law gave forces below zero."""

import numpy as np

from myoquat.core.typing import Array
from myoquat.muscle.model import Model

__all__ = ["push_message"]

MIN_REPORTED_PUSH = 0.01  # of the greatest isometric force: what a curve's end may leave below zero is less


def push_message(model: Model, forces: Array) -> str | None:
    """A sentence about the muscles whose forces (..., m) [N] lie below zero by more than 1 % of their greatest
    isometric force, as their laws allow (`ForceLaw.can_push`). None if there are none."""
    pushing = []
    for i, muscle in enumerate(model.muscles):
        strength = getattr(muscle.law, "max_isometric_force", None)
        if muscle.law is None or not muscle.law.can_push or not strength:
            continue
        least = float(np.nanmin(forces[..., i], initial=0.0))
        if least < -MIN_REPORTED_PUSH * strength:
            pushing.append((least, muscle))
    if not pushing:
        return None
    least, worst = min(pushing, key=lambda pair: pair[0])
    option = "; the law has an option pull_only=True" if hasattr(worst.law, "pull_only") else ""
    others = f", and {len(pushing) - 1} other muscles too" if len(pushing) > 1 else ""
    law = worst.law.kind if worst.law is not None else ""
    return f"muscle {worst.name!r} pushes with up to {-least:.4g} N{others}: law {law!r} goes below zero{option}"
