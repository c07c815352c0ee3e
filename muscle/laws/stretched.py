"""Forces of elastic tendons from their strains, and strains from forces, for many Hill-type laws of one type at once.

Both are kernels that take the laws' numbers as inputs, so each law type is compiled once.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core import Array
from myoquat.joints.evaluation import kernel_for
from myoquat.kernels import root
from myoquat.muscle.laws.bracketing import Bracket, searched
from myoquat.muscle.laws.equilibrium import LawType, law_of

__all__ = ["tendon_forces", "tendon_strain", "tendon_strains"]

RELATIVE_TOLERANCE = 1e-12  # of strains
MAX_STEPS = 100


def tendon_forces(law_type: LawType, numbers: Mapping[str, Any], strain: Array) -> Array:
    """(..., k) f_T, over the greatest isometric forces, of k tendons at strains (..., k); numbers as `numbers_of`."""

    def formula(rows: Array) -> Array:
        return _pull(law_type, list(numbers), rows[..., 0], rows[..., 1:])

    return _evaluated("tendon_forces", law_type, numbers, formula, (strain,))


def tendon_strains(law_type: LawType, numbers: Mapping[str, Any], force: Array, longest: Array) -> Array:
    """(..., k) strains at which k tendons have the force f_T = force (..., k), to a relative error of 1e-12.

    The strain is zero if the slack tendon already has that force. It is `longest` (..., k) if no shorter one has it.
    """
    names = list(numbers)

    def formula(rows: Array) -> Array:
        return tendon_strain(law_type, names, rows[..., 0], rows[..., 1], rows[..., 2:])

    return _evaluated("tendon_strains", law_type, numbers, formula, (force, longest))


def tendon_strain(law_type: LawType, names: list[str], force: Array, longest: Array, own: Array) -> Array:
    """(...) the formula of `tendon_strains` for one tendon of numbers `own` (..., c); its derivative is that of the
    inverse of the tendon's curve."""

    def excess(strain: Array, given: dict[str, Array]) -> Array:
        return _pull(law_type, names, strain, given["own"]) - given["force"]

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


def _pull(law_type: LawType, names: list[str], strain: Array, own: Array) -> Array:
    law = law_of(law_type, names, [own[..., i] for i in range(len(names))])
    return law.tendon_force(1 + strain)


def _evaluated(
    name: str,
    law_type: LawType,
    numbers: Mapping[str, Any],
    formula: Callable[[Array], Array],
    given: tuple[Array, ...],
) -> Array:
    """The formula on rows of the arguments and the laws' numbers, compiled."""
    rows = np.ascontiguousarray(np.stack(np.broadcast_arrays(*given, *numbers.values()), axis=-1))
    kernel = kernel_for(
        (name, law_type.law, law_type.settings, tuple(numbers)),
        lambda content: kernels.compile(formula, {"rows": rows.shape[-1]}, [name], name=name, content=content),
    )
    return kernel(rows)
