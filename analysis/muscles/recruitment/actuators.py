"""Reserves: actuators that help where muscles cannot produce what a motion needs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from myoquat.data.motions.series import indices_of
from myoquat.joints.system import ArticulatedSystem
from myoquat.kernels.typing import Array

__all__ = ["Reserve", "reserve_columns", "reserves_of"]


@dataclass(frozen=True)
class Reserve:
    """An actuator of strength R [N m or N] on a velocity of a system: it gives R c, and adds weight * |c|^p to the
    effort, lower <= c <= upper. `velocity` is the velocity's name or, where its rate is that velocity, a coordinate's.

    >>> from myoquat.analysis.muscles import Reserve
    >>> Reserve("rod.speed", strength=10.0, weight=100.0)  # dear, so that muscles go first
    Reserve(velocity='rod.speed', strength=10.0, weight=100.0, lower=-inf, upper=inf)
    """

    velocity: str
    strength: float = 1.0
    weight: float = 1.0
    lower: float = -np.inf
    upper: float = np.inf

    def __post_init__(self) -> None:
        element = f"reserve on {self.velocity!r}"
        if not (np.isfinite(self.strength) and self.strength > 0):
            raise ValueError(f"{element}: its strength must be positive, not {self.strength}")
        if not (np.isfinite(self.weight) and self.weight >= 0):
            raise ValueError(f"{element}: its weight must not be negative, but is {self.weight}")
        if not self.lower <= self.upper:
            raise ValueError(f"{element}: lower is above upper: {self.lower} > {self.upper}")


def reserves_of(given: float | Sequence[Reserve], free: Sequence[str]) -> tuple[Reserve, ...]:
    """The reserves as they are given, or one of that strength on every free velocity."""
    if isinstance(given, (int, float)):
        return tuple(Reserve(name, float(given)) for name in free)
    return tuple(given)


def reserve_columns(system: ArticulatedSystem, reserves: Sequence[Reserve]) -> Array:
    """(nu, r) the generalized force of every reserve at c = 1; ValueError for a velocity that does not exist, or that
    has two."""
    columns = np.zeros((system.nu, len(reserves)))
    taken: set[int] = set()
    for k, reserve in enumerate(reserves):
        row = _row(system, reserve.velocity)
        if row in taken:
            raise ValueError(f"the velocity {reserve.velocity!r} has two reserves")
        taken.add(row)
        columns[row, k] = reserve.strength
    return columns


def _row(system: ArticulatedSystem, name: str) -> int:
    if name in system.coordinate_names:
        rows = system.indices.velocities_of_coordinate(name)
        if len(rows) == 1:
            return int(rows[0])
    return indices_of("velocity", [name], system.velocity_names)[0]
