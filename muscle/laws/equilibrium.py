"""Equilibria of fibers and elastic tendons. All muscles of one law type are solved together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from myoquat import kernels
from myoquat.core import Array
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.ranges import ranges_of
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.laws.bracketing import find_root

__all__ = ["LawType", "equilibrium_lengths", "law_of", "law_type_of", "numbers_of"]

FIBER_LENGTH_TOLERANCE = 1e-12  # of the fiber length at equilibrium, relative
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
    excess = _excess(law_type, names)
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


def _excess(law_type: LawType, names: list[str]) -> Callable[..., Array]:
    """Force of the fiber at rest minus force of its tendon, divided by the greatest isometric force."""

    def formula(rows: Array) -> Array:
        law = law_of(law_type, names, [rows[..., 3 + i] for i in range(len(names))])
        state = rows[..., :1]
        return law.state_residual(rows[..., 1], 0.0, rows[..., 2], state, 0.0 * state)[..., 0]

    kernel = kernel_for(
        (
            "excess",
            law_type.law,
            law_type.settings,
            tuple(names),
        ),
        lambda content: kernels.compile(formula, {"rows": 3 + len(names)}, ["excess"], name="excess", content=content),
    )

    def excess(fiber: Array, *given: Array) -> Array:
        values = kernel(np.stack(np.broadcast_arrays(fiber, *given), axis=-1))
        return np.clip(
            values, -MAX_EXCESS_FORCE, MAX_EXCESS_FORCE
        )  # an exponential curve may overflow far from the root

    return excess


def law_of(law_type: LawType, names: list[str], values: list[Any]) -> Any:
    """A law of this type with an elastic tendon and these numbers, arrays or symbols. They are not checked."""
    law: Any = object.__new__(law_type.law)
    for name, value in (*law_type.settings, *zip(names, values, strict=True)):
        object.__setattr__(law, name, value)
    object.__setattr__(law, "tendon", "elastic")
    return law
