"""Why a solver ended as it did: the worst constraints, the bounds that hold, the multipliers that grew."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from myoquat.core import Array, frozen

from .discretization import Rows
from .program import Program
from .solvers.ipopt import Iterates

MAX_SHOWN = 5  # of the worst constraints and multipliers
ACTIVE_TOLERANCE = 1e-6  # distance from a bound, relative to 1 + |bound|, at which it holds


class Explained(Protocol):
    """A program whose variables and constraints have names and times."""

    program: Program
    rows: Rows

    @property
    def labels(self) -> tuple[list[str], Array]:
        """Name and fraction of the duration of every variable."""

    def times(self, fractions: Array, x: Array) -> Array:
        """(...) [s] the times at fractions of the duration."""


@frozen
class Finding:
    """A constraint or an unknown by name, the time [s], and a number: a violation, a multiplier.

    >>> from myoquat.analysis.control import Finding
    >>> str(Finding("change of v", 0.25, 1.5e-3))
    'change of v at 0.25 s: 0.0015'
    """

    name: str
    time: float
    value: float

    def __str__(self) -> str:
        at = f" at {self.time:.4g} s" if np.isfinite(self.time) else ""
        return f"{self.name}{at}: {self.value:.3g}"


@frozen
class Explanation:
    """Errors, worst constraints and multipliers of a solution, and how often each bound is active.

    kkt_error and violation are unscaled.

    >>> from myoquat.analysis.control import Explanation, Finding
    >>> worst = Finding("change of v", 0.25, 1.5e-3)
    >>> Explanation(1e-9, 1.5e-3, (worst,), (), {"force, upper": 3}).lines()[-1]
    '  force, upper: at 3 points'
    """

    kkt_error: float
    violation: float
    worst: tuple[Finding, ...]
    multipliers: tuple[Finding, ...]
    active: dict[str, int]

    def lines(self) -> list[str]:
        """In words."""
        found = [f"Greatest violation of a constraint {self.violation:.2g}, greatest KKT error {self.kkt_error:.2g}."]
        for title, findings in (("Worst constraints:", self.worst), ("Greatest multipliers:", self.multipliers)):
            found += [title, *(f"  {finding}" for finding in findings)] if findings else []
        if self.active:
            found.append("Bounds that hold:")
            found += [f"  {name}: at {count} points" for name, count in self.active.items()]
        return found


def explanation_of(discretization: Explained, bounds: Array, limits: Array, found: Iterates) -> Explanation:
    """The explanation of an iterate, solution or not."""
    program, rows, x = discretization.program, discretization.rows, found.x
    g = program.constraints(x)
    missed = np.maximum(np.maximum(limits[:, 0] - g, g - limits[:, 1]), 0.0)
    finite = np.where(np.isfinite(missed), missed, np.inf)
    times = discretization.times(np.array(rows.fractions), x)
    # the gradient of the Lagrangian
    pulled = program.jacobian_matrix(x).T @ found.constraint_multipliers
    slope = program.gradient(x) + pulled + found.bound_multipliers
    # how often each unknown is at one of its bounds, fixed ones left out
    names, _ = discretization.labels
    active, free = Counter[str](), bounds[:, 0] < bounds[:, 1]
    for word, bound in zip(("lower", "upper"), bounds.T, strict=True):
        near = np.abs(x - bound) <= ACTIVE_TOLERANCE * (1 + np.abs(bound))
        active.update(f"{names[place]}, {word}" for place in np.flatnonzero(np.isfinite(bound) & near & free))
    return Explanation(
        float(np.abs(slope).max(initial=0.0)),
        float(finite.max(initial=0.0)),
        _greatest(finite, rows.names, times),
        _greatest(np.abs(found.constraint_multipliers), rows.names, times),
        dict(active),
    )


def _greatest(values: Array, names: Sequence[str], times: Array) -> tuple[Finding, ...]:
    """The greatest positive values, one for each name."""
    found: dict[str, Finding] = {}
    for place in np.argsort(-values):
        if len(found) == MAX_SHOWN or not values[place] > 0:
            break
        found.setdefault(names[place], Finding(names[place], float(times[place]), float(values[place])))
    return tuple(found.values())
