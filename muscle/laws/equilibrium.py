"""Equilibria of fibers and elastic tendons, all muscles of one kind in one solution."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from myoquat import kernels
from myoquat.core.class_content import identity, is_foreign
from myoquat.core.typing import Array
from myoquat.joints.compiled import kernel_for
from myoquat.joints.ranges import ranges_of
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.laws.bracketing import find_root

__all__ = ["LawKind", "equilibrium_lengths", "kind_of", "law_of", "numbers_of"]

TOLERANCE = 1e-12  # of the fiber length at equilibrium, relative
BALANCED = 1e-12  # of the greatest isometric force: what the curves' own round-off may leave over
GREATEST = 1e12  # of the same: what is larger counts as that


class LawKind(NamedTuple):
    """What Hill-type laws have in common whose equilibria are found together: their class, and what is no number, such
    as a curve, as (name, value)."""

    law: type
    settings: tuple[tuple[str, Any], ...]


def kind_of(law: Any) -> LawKind:
    """The kind of a law."""
    kind: type = type(law)
    numbers = ranges_of(kind)
    settings = tuple((f.name, getattr(law, f.name)) for f in fields(law) if f.name not in numbers)
    return LawKind(kind, settings)


def numbers_of(kind: LawKind, laws: Sequence[Any]) -> dict[str, Any]:
    """(k,) or (..., k) the numbers of k laws of one kind by their names; floats, arrays (...) or symbols."""
    named = [f.name for f in fields(kind.law) if f.name in ranges_of(kind.law)]
    return {
        name: np.stack(np.broadcast_arrays(*(as_array(getattr(law, name)) for law in laws), subok=True), axis=-1)
        for name in named
    }


def equilibrium_lengths(kind: LawKind, numbers: Mapping[str, Any], length: Array, activation: Array) -> Array:
    """(..., k) fiber lengths [m] at which the fibers of k Hill-type laws of one kind pull as their tendons, at rest.

    numbers (..., k) as `numbers_of` gives them, length and activation (..., k), floats. Every finite path length has an
    answer: see `HillLaw.equilibrium`; NaN where a number is not finite. The excess of the fiber's force is a kernel
    that takes the laws' numbers as inputs, so that every kind of laws is compiled once.
    """
    names = list(numbers)
    length, activation, *values = np.broadcast_arrays(length, activation, *numbers.values())
    law = law_of(kind, names, values)
    shortest, stretched, slack, longest = (np.broadcast_to(x, length.shape) for x in law.bracket(length))
    given = (length, activation, *values)
    excess = _excess(kind, names)
    at_shortest, at_slack = excess(shortest, *given), excess(slack, *given)
    ended = at_shortest >= -BALANCED
    resting = ~ended & (np.abs(at_slack) <= BALANCED)
    found = np.where(ended, shortest, np.where(resting, slack, np.nan))
    sought = ~ended & ~resting & np.isfinite(at_slack)
    if sought.any():
        given = tuple(x[sought] for x in given)
        shortest, stretched, slack, longest = (x[sought] for x in (shortest, stretched, slack, longest))
        pushing = at_slack[sought] < 0  # only a tendon whose curve goes below zero balances such a fiber
        low = np.where(excess(stretched, *given) < 0, stretched, shortest)
        bracket = np.where(pushing, slack, low), np.where(pushing, longest, slack)
        found[sought] = find_root(excess, bracket, given, TOLERANCE)
    return found


def _excess(kind: LawKind, names: list[str]) -> Callable[..., Array]:
    """By how much a fiber of that length, at rest, pulls harder than its tendon, over the greatest isometric force."""

    def formula(rows: Array) -> Array:
        law = law_of(kind, names, [rows[..., 3 + i] for i in range(len(names))])
        state = rows[..., :1]
        result: Array = law.state_residual(rows[..., 1], 0.0, rows[..., 2], state, 0.0 * state)[..., 0]
        return result

    kernel = kernel_for(
        ("excess", kind.law if is_foreign(kind.law) else identity(kind.law), kind.settings, tuple(names)),
        lambda content: kernels.compile(formula, {"rows": 3 + len(names)}, ["excess"], name="excess", content=content),
    )

    def excess(fiber: Array, *given: Array) -> Array:
        values = kernel(np.stack(np.broadcast_arrays(fiber, *given), axis=-1))
        clipped: Array = np.clip(values, -GREATEST, GREATEST)  # an exponential curve may overflow far from the root
        return clipped

    return excess


def law_of(kind: LawKind, names: list[str], values: list[Any]) -> Any:
    """A law of the kind with an elastic tendon and these numbers, arrays or symbols, past its checks."""
    law: Any = object.__new__(kind.law)
    for name, value in (*kind.settings, *zip(names, values, strict=True)):
        object.__setattr__(law, name, value)
    object.__setattr__(law, "tendon", "elastic")
    return law
