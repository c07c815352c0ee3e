"""Events: a quantity of the motion crosses a value."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat.joints.door import system_of
from myoquat.muscle.evaluate import path_lengths

__all__ = ["Event", "Occurrence"]


@dataclass(frozen=True)
class Event:
    """value(model, t, q, u), a smooth number, becomes zero: rising (direction 1), falling (-1) or either way (0).

    A terminal event ends the simulation. `Event.coordinate` and `Event.length` make the usual ones.
    """

    name: str
    value: Callable[[Any, float, np.ndarray, np.ndarray], float]
    direction: int = 0
    terminal: bool = False

    def __post_init__(self) -> None:
        if self.direction not in (-1, 0, 1):
            raise ValueError(f"event {self.name!r}: direction is -1, 0 or 1, not {self.direction!r}")

    @classmethod
    def coordinate(cls, name: str, at: float, direction: int = 0, terminal: bool = False) -> "Event":
        """The coordinate `name`, or an angle that a quaternion has replaced, passes the value `at`."""
        return cls(name, lambda model, t, q, u: float(system_of(model).coordinate(name, q)) - at, direction, terminal)

    @classmethod
    def length(cls, muscle: str, at: float, direction: int = 0, terminal: bool = False) -> "Event":
        """The path of a muscle passes the length `at` [m]."""

        def value(model: Any, t: float, q: np.ndarray, u: np.ndarray) -> float:
            if muscle not in model.muscle_names:
                raise ValueError(f"event: no muscle {muscle!r}; known: {', '.join(model.muscle_names)}")
            return path_lengths(model, q)[model.muscle_names.index(muscle)] - at

        return cls(muscle, value, direction, terminal)

    def crossed(self, before: float, after: float) -> bool:
        """True if the value went through zero in the event's direction."""
        rising, falling = before < 0 <= after, before > 0 >= after
        return (rising and self.direction >= 0) or (falling and self.direction <= 0)


@dataclass(frozen=True)
class Occurrence:
    """An event that happened: its name, when [s], and the state then."""

    name: str
    time: float
    q: np.ndarray
    u: np.ndarray
