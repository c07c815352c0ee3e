"""A problem in the terms of its plant, the motion at every site, and the rows of its constraints."""

from collections import Counter
from dataclasses import field, replace

import numpy as np

from myoquat.analysis.control.conditions import BoundaryConstraint, PathCondition
from myoquat.analysis.control.goals.base import ChangeGoal, EndGoal, Goal, IntegralGoal
from myoquat.analysis.control.plants import Plant
from myoquat.analysis.control.points import Names
from myoquat.analysis.control.transcriptions import Transcription
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.motions import Forces
from myoquat.joints.functions.splines import chosen
from myoquat.joints.vectors import vector

__all__ = ["Rows", "Sites", "Statement", "load_numbers_at"]


def load_numbers_at(loads: Forces, t: Array) -> Array:
    """(..., 9 n) `Forces.numbers` at times t (...) [s], numbers or symbols, by straight lines between the rows: the
    formula."""
    rows = loads.numbers
    slopes = np.diff(rows, axis=0) / np.diff(loads.time)[:, None]
    start, *entries = chosen(t, loads.time[:-1], loads.time[:-1], *rows[:-1].T, *slopes.T)
    n = rows.shape[1]
    return vector([entries[k] + entries[n + k] * (t - start) for k in range(n)])


@dataclass(frozen=True, eq=False)
class Statement:
    """A problem in the terms of its plant: goals and constraints."""

    plant: Plant
    transcription: Transcription
    mesh: Array
    start: float
    duration: tuple[float, float]
    goals: tuple[Goal, ...]
    path: tuple[PathCondition, ...]
    boundary: tuple[BoundaryConstraint, ...]
    loads: Forces | None = None

    @property
    def fixed(self) -> bool:
        """Whether the duration is given."""
        return self.duration[0] == self.duration[1]

    @property
    def names(self) -> Names:
        """Names of all quantities of a point."""
        plant = self.plant
        unknown = plant.unknown.names
        return Names(plant.system, plant.velocity_names, plant.state_names, plant.control_names, unknown)

    def bound(self, p: Array) -> "Statement":
        """The same with values (np,) of the unknown parameters, floats or symbols."""
        return replace(self, plant=self.plant.bound(p)) if self.plant.unknown.names else self

    def term_names(self, block: str) -> tuple[str, ...]:
        """A name for each goal of a block; goals of the same title are numbered: "Effort", "Effort 2"."""
        found, count = [], Counter[str]()
        for goal in self.goals:
            count[goal.title] += 1
            number = f" {count[goal.title]}" if count[goal.title] > 1 else ""
            apart = {EndGoal: "ends", ChangeGoal: "changes"}
            own = next((name for of, name in apart.items() if isinstance(goal, of)), "points")
            if own == block or (own == "points" and block not in apart.values()):
                found.append(goal.title + number)
        return tuple(found)

    @property
    def integrals(self) -> list[IntegralGoal]:
        """The goals that are integrated."""
        return [goal for goal in self.goals if isinstance(goal, IntegralGoal)]

    @property
    def changes(self) -> tuple[ChangeGoal, ...]:
        """The goals of changes between neighbouring points."""
        return tuple(goal for goal in self.goals if isinstance(goal, ChangeGoal))

    @property
    def ends(self) -> list[EndGoal]:
        """The goals of the ends."""
        return [goal for goal in self.goals if isinstance(goal, EndGoal)]


@dataclass(frozen=True, eq=False)
class Sites:
    """The motion at every site.

    duration    [s]
    q           (s, nq) poses
    fields      (s, n) each, NaN where a site has none
    parameters  (np,) their values, None for those at the start of a search
    """

    duration: float
    q: Array
    fields: dict[str, Array]
    parameters: Array | None = None


@dataclass(eq=False)
class Rows:
    """Constraints as they are added: bounds, words, and the fraction of the duration of each."""

    lower: list[Array] = field(default_factory=list)
    upper: list[Array] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    fractions: list[float] = field(default_factory=list)

    def add(self, bounds: Array, names: tuple[str, ...], fractions: Array) -> Array:
        """(b, nr) indices of new rows with bounds (nr, 2), at b instances."""
        b, start = len(fractions), len(self.names)
        self.lower.append(np.tile(bounds[:, 0], b))
        self.upper.append(np.tile(bounds[:, 1], b))
        self.names += [*names] * b
        self.fractions += [float(x) for x in np.repeat(fractions, len(names))]
        return start + np.arange(b * len(names)).reshape(b, len(names))
