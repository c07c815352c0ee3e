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
from myoquat.kernels import root
from myoquat.muscle.laws.bracketing import Bracket, searched
from myoquat.muscle.laws.equilibrium import LawKind, law_of

__all__ = ["tendon_forces", "tendon_strain", "tendon_strains"]

RELATIVE_TOLERANCE = 1e-12  # of strains
MAX_STEPS = 100


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
        return tendon_strain(kind, names, rows[..., 0], rows[..., 1], rows[..., 2:])

    return _evaluated("tendon_strains", kind, numbers, formula, (force, longest))


def tendon_strain(kind: LawKind, names: list[str], force: Array, longest: Array, own: Array) -> Array:
    """(...) the formula of `tendon_strains` for one tendon of numbers `own` (..., c); its derivative is that of the
    inverse of the tendon's curve."""

    def excess(strain: Array, given: dict[str, Array]) -> Array:
        return _pull(kind, names, strain, given["own"]) - given["force"]

    def bracketed(strain: Array, given: dict[str, Array]) -> Array:
        zero = 0.0 * given["force"]
        at_slack, at_longest = (excess(x, given) for x in (zero, given["longest"]))
        start = Bracket.of(given["longest"], zero, at_longest, at_slack)
        on = (at_slack < 0) & (at_longest > 0)
        return searched(excess, start, given, RELATIVE_TOLERANCE, MAX_STEPS, on).best[..., None]

    given = {"force": force, "longest": longest, "own": own}
    zero = 0.0 * force
    at_slack, at_longest = (excess(x, given) for x in (zero, longest))
    found = root(lambda x, given: excess(x[..., 0], given)[..., None], bracketed, zero[..., None], given)[..., 0]
    return np.where(at_slack < 0, np.where(at_longest > 0, found, longest), 0.0)


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
