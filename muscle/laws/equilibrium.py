"""Equilibria of fibers and elastic tendons, forces of tendons and their strains. All muscles of one law type are solved
together, by kernels that take the laws' numbers as inputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from myoquat import kernels
from myoquat.core import Array
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.ranges import ranges_of
from myoquat.kernels import root
from myoquat.kernels.symbolic.arrays import as_array

from .bracketing import Bracket, find_root, searched

FIBER_LENGTH_TOLERANCE = 1e-12  # of the fiber length at equilibrium, relative
RELATIVE_TOLERANCE, MAX_STEPS = 1e-12, 100  # of strains of tendons
FORCE_ROUNDOFF = 1e-12  # bound on the round-off error of the curves, relative to the greatest isometric force
MAX_EXCESS_FORCE = 1e12  # in the same unit; larger values are clipped to it


class LawType(NamedTuple):
    """The part that Hill-type laws share if their equilibria are solved together.

    It holds their class and the fields that are not numbers, such as curves, as (name, value).
    """

    law: type
    settings: tuple[tuple[str, Any], ...]


def law_type_of(law: Any) -> LawType:
    """The type of a law."""
    cls: type = type(law)
    numbers = ranges_of(cls)
    settings = tuple((f.name, getattr(law, f.name)) for f in fields(law) if f.name not in numbers)
    return LawType(cls, settings)


def numbers_of(law_type: LawType, laws: Sequence[Any]) -> dict[str, Any]:
    """(k,) or (..., k) the numbers of k laws of one type by name: floats, arrays (...) or symbols."""
    named = [f.name for f in fields(law_type.law) if f.name in ranges_of(law_type.law)]
    return {name: _side_by_side([getattr(law, name) for law in laws]) for name in named}


def _side_by_side(values: Sequence[Any]) -> Array:
    """(..., k) numbers, arrays (...) or symbols; hundreds of plain numbers are no arrays first."""
    if all(type(value) is float for value in values):
        return np.array(values)
    return np.stack(np.broadcast_arrays(*map(as_array, values), subok=True), axis=-1)


def equilibrium_lengths(law_type: LawType, numbers: Mapping[str, Any], length: Array, activation: Array) -> Array:
    """(..., k) fiber lengths [m] at which fiber and tendon pull equally at rest, for k Hill-type laws of one type.

    numbers (..., k) come from `numbers_of`; length and activation (..., k) are floats. Every finite path length has a
    solution, see `HillLaw.equilibrium`; a number that is not finite gives NaN. A kernel computes the excess of the
    fiber's force. It takes the laws' numbers as inputs, so each law type is compiled once.
    """
    names = list(numbers)
    length, activation, *values = np.broadcast_arrays(length, activation, *numbers.values())
    law = law_of(law_type, names, values)
    shortest, stretched, slack, longest = (np.broadcast_to(x, length.shape) for x in law.bracket(length))
    given = (length, activation, *values)

    def formula(rows: Array) -> Array:
        law, state = law_of(law_type, names, [rows[..., 3 + i] for i in range(len(names))]), rows[..., :1]
        return law.state_residual(rows[..., 1], 0.0, rows[..., 2], state, 0.0 * state)[..., 0]

    def excess(fiber: Array, *given: Array) -> Array:
        """Force of the fiber at rest minus force of its tendon, divided by the greatest isometric force."""
        values = _evaluated("excess", law_type, dict(zip(names, given[2:], strict=True)), formula, (fiber, *given[:2]))
        return np.clip(values, -MAX_EXCESS_FORCE, MAX_EXCESS_FORCE)  # exponential curves may overflow far from the root

    at_shortest, at_slack = excess(shortest, *given), excess(slack, *given)
    ended = at_shortest >= -FORCE_ROUNDOFF
    resting = ~ended & (np.abs(at_slack) <= FORCE_ROUNDOFF)
    found = np.where(ended, shortest, np.where(resting, slack, np.nan))
    sought = ~ended & ~resting & np.isfinite(at_slack)
    if sought.any():
        given = tuple(x[sought] for x in given)
        shortest, stretched, slack, longest = (x[sought] for x in (shortest, stretched, slack, longest))
        pushing = at_slack[sought] < 0  # only a tendon whose curve goes below zero balances such a fiber
        low = np.where(excess(stretched, *given) < 0, stretched, shortest)
        bracket = np.where(pushing, slack, low), np.where(pushing, longest, slack)
        found[sought] = find_root(excess, bracket, given, FIBER_LENGTH_TOLERANCE)
    return found


def law_of(law_type: LawType, names: list[str], values: list[Any]) -> Any:
    """A law of this type with an elastic tendon and these numbers, arrays or symbols. They are not checked."""
    law: Any = object.__new__(law_type.law)
    for name, value in (*law_type.settings, *zip(names, values, strict=True)):
        object.__setattr__(law, name, value)
    object.__setattr__(law, "tendon", "elastic")
    return law


# ---- Forces of elastic tendons from their strains, and strains from forces ------------------------------------------


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
    """The formula on rows of the arguments and the laws' numbers, compiled once for each law type."""
    rows = np.ascontiguousarray(np.stack(np.broadcast_arrays(*given, *numbers.values()), axis=-1))
    kernel = kernel_for(
        (name, law_type.law, law_type.settings, tuple(numbers)),
        lambda content: kernels.compile(formula, {"rows": rows.shape[-1]}, [name], name=name, content=content),
    )
    return kernel(rows)
