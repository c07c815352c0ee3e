"""Tendons of many Hill-type laws of one kind at once: how hard they pull at a strain, and at which strain they pull so.

Both are kernels that take the laws' numbers as inputs, so that every kind of laws is compiled once.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core.class_content import identity, is_foreign
from myoquat.core.typing import Array
from myoquat.joints.compiled import kernel_for
from myoquat.joints.stacking import joined
from myoquat.kernels import iterate
from myoquat.muscle.laws.bracketing import narrowed
from myoquat.muscle.laws.equilibrium import LawKind, law_of

__all__ = ["tendon_forces", "tendon_strains"]

FINE = 1e-12  # of themselves: to what strains are found
STEPS = 100


def tendon_forces(kind: LawKind, numbers: Mapping[str, Any], strain: Array) -> Array:
    """(..., k) f_T, over the greatest isometric forces, of k tendons at strains (..., k); numbers as `numbers_of`."""

    def formula(rows: Array) -> Array:
        return _pull(kind, list(numbers), rows[..., 0], rows[..., 1:])

    return _evaluated("tendon_forces", kind, numbers, formula, (strain,))


def tendon_strains(kind: LawKind, numbers: Mapping[str, Any], force: Array, longest: Array) -> Array:
    """(..., k) strains, to 1e-12 of themselves, at which k tendons pull with f_T = force (..., k): zero where they pull
    as hard without any, `longest` (..., k) where not even that is enough."""
    names = list(numbers)

    def formula(rows: Array) -> Array:
        force, longest, own = rows[..., 0], rows[..., 1], rows[..., 2:]

        def step(state: Array, given: Array) -> Array:
            a, b, fa, fb, t, _, done = (state[..., k] for k in range(7))
            x = a + t * (b - a)
            *ends, t, best, share = narrowed(
                (a, b, fa, fb), x, _pull(kind, names, x, given[..., 1:]) - given[..., 0], FINE
            )
            over = np.where((share > 0.5) | (ends[2] == 0), 1.0, 0.0)
            best = np.where(ends[2] == 0, ends[0], best)
            return np.where(done[..., None] > 0, state, np.stack([*ends, t, best, over], axis=-1))

        zero = 0.0 * force
        at_slack, at_longest = (_pull(kind, names, x, own) - force for x in (zero, longest))
        start = np.stack([longest, zero, at_longest, at_slack, zero + 0.5, zero, zero], axis=-1)
        given = joined([force[..., None], own])
        found = iterate(step, start, given, STEPS, where=(at_slack < 0) & (at_longest > 0))
        return np.where(at_slack < 0, np.where(at_longest > 0, found[..., 5], longest), 0.0)

    return _evaluated("tendon_strains", kind, numbers, formula, (force, longest))


def _pull(kind: LawKind, names: list[str], strain: Array, own: Array) -> Array:
    law = law_of(kind, names, [own[..., i] for i in range(len(names))])
    result: Array = law.tendon_force(1 + strain)
    return result


def _evaluated(
    name: str, kind: LawKind, numbers: Mapping[str, Any], formula: Callable[[Array], Array], given: tuple[Array, ...]
) -> Array:
    """The formula of rows of what is given and of the laws' numbers."""
    rows = np.ascontiguousarray(np.stack(np.broadcast_arrays(*given, *numbers.values()), axis=-1))
    kernel = kernel_for(
        (name, kind.law if is_foreign(kind.law) else identity(kind.law), kind.settings, tuple(numbers)),
        lambda content: kernels.compile(formula, {"rows": rows.shape[-1]}, [name], name=name, content=content),
    )
    found: Array = kernel(rows)
    return found
