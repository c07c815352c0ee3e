"""Equilibria of fibers and elastic tendons, forces of tendons and their strains. All muscles of one law type are solved
together, by kernels that take the laws' numbers as inputs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from myoquat.core import Array, unchecked
from myoquat.joints.evaluation import compiled
from myoquat.joints.vectors import vector
from myoquat.kernels import root

from .bracketing import Bracket, find_root, searched
from .shared_structure import law_type_of, numbers_of

FIBER_LENGTH_TOLERANCE = 1e-12  # of the fiber length at equilibrium, relative
RELATIVE_TOLERANCE, MAX_STEPS = 1e-12, 100  # of strains of tendons
FORCE_ROUNDOFF = 1e-12  # bound on the round-off error of the curves, relative to the greatest isometric force
MAX_EXCESS_FORCE = 1e12  # in the same unit; larger values are clipped to it


def equilibrium_lengths(law: Any, length: Array, activation: Array) -> Array:
    """(...) fiber lengths [m] at which fiber and tendon pull equally at rest, by a Hill-type law whose numbers may be
    arrays (...), as `stacked_laws` makes them.

    length and activation (...) are floats. Every finite path length has a solution, see `HillLaw.equilibrium`; a number
    that is not finite gives NaN. A kernel computes the excess of the fiber's force.
    """
    names = list(numbers_of(law))
    length, activation, *numbers = np.broadcast_arrays(length, activation, *numbers_of(law).values())
    shortest, stretched, slack, longest = (np.broadcast_to(x, length.shape) for x in law.bracket(length))
    given = (length, activation, *numbers)

    def residual(law: Any, fiber: Array, length: Array, activation: Array) -> Array:
        state = fiber[..., None]
        return law.state_residual(length, 0.0, activation, state, 0.0 * state)[..., 0]

    def excess(fiber: Array, *given: Array) -> Array:
        """Force of the fiber at rest minus force of its tendon, divided by the greatest isometric force."""
        own = unchecked(law, dict(zip(names, given[2:], strict=True)))
        values = _evaluated("excess", own, residual, fiber, *given[:2])
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


# ---- Forces of elastic tendons from their strains, and strains from forces ------------------------------------------


def tendon_forces(law: Any, strain: Array) -> Array:
    """(...) f_T, over the greatest isometric forces, of tendons at strains (...); numbers of the law may be arrays."""
    return _evaluated("tendon_forces", law, lambda law, strain: law.tendon_force(1 + strain), strain)


def tendon_strains(law: Any, force: Array, longest: Array | float) -> Array:
    """(...) strains at which tendons have the force f_T = force (...), to a relative error of 1e-12; numbers of the law
    may be arrays.

    The strain is zero if the slack tendon already has that force. It is `longest` (...) if no shorter one has it.
    """
    return _evaluated("tendon_strains", law, tendon_strain, force, longest)


def tendon_strain(law: Any, force: Array, longest: Array) -> Array:
    """(...) the formula of `tendon_strains`, for numbers of the law of the same shape; its derivative is that of the
    inverse of the tendon's curve."""

    def excess(strain: Array, given: dict[str, Any]) -> Array:
        return unchecked(law, given["numbers"]).tendon_force(1 + strain) - given["force"]

    def bracketed(strain: Array, given: dict[str, Any]) -> Array:
        zero = 0.0 * given["force"]
        at_slack, at_longest = (excess(x, given) for x in (zero, given["longest"]))
        start = Bracket.of(given["longest"], zero, at_longest, at_slack)
        on = (at_slack < 0) & (at_longest > 0)
        return searched(excess, start, given, RELATIVE_TOLERANCE, MAX_STEPS, on).best[..., None]

    given = {"force": force, "longest": longest, "numbers": numbers_of(law)}
    zero = 0.0 * force
    at_slack, at_longest = (excess(x, given) for x in (zero, longest))
    found = root(lambda x, given: excess(x[..., 0], given)[..., None], bracketed, zero[..., None], given)[..., 0]
    return np.where(at_slack < 0, np.where(at_longest > 0, found, longest), 0.0)


def _evaluated(name: str, law: Any, formula: Callable[..., Array], *given: Array | float) -> Array:
    """(...) the formula of a law and arguments (...). A kernel takes the law's numbers as inputs, so that each type of
    law is compiled once."""
    names, count = tuple(numbers_of(law)), len(given)
    columns = np.ascontiguousarray(vector([*given, *numbers_of(law).values()]))

    def of_rows(rows: Array) -> Array:
        own = unchecked(law, {key: rows[..., count + i] for i, key in enumerate(names)})
        return formula(own, *(rows[..., i] for i in range(count)))

    return compiled((name, law_type_of(law), names), of_rows, {"rows": columns.shape[-1]}, [name], name=name)(columns)
