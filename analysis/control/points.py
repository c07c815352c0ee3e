"""The values at one instant: the arguments of goals, constraints and equations of one's own."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import field

import numpy as np

from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem

__all__ = ["Names", "Point", "field_of"]

EMPTY = np.zeros(0)


def field_of(name: str, fields: Mapping[str, Collection[str]]) -> tuple[str, str]:
    """The field ("coordinates", "controls" ...) that a name is in, and the name; ("", name) for one that is in none.
    'controls.NAME' means the one of this field. ValueError, with these spellings, for a name in several fields.

    >>> from myoquat.analysis.control.points import field_of
    >>> field_of("controls.knee", {"coordinates": ["knee"], "controls": ["knee"]})
    ('controls', 'knee')
    """
    first, _, bare = name.partition(".")
    if bare in fields.get(first, ()):
        return first, bare
    found = [field for field, names in fields.items() if name in names]
    if len(found) > 1:
        spelled = " or ".join(repr(f"{field}.{name}") for field in found)
        raise ValueError(f"{name!r} is a name in {' and in '.join(found)}: write {spelled}")
    return found[0] if found else "", name


@dataclass(frozen=True)
class Names:
    """Names of velocities, states, controls and parameters of a problem, and its system, None for equations of one's
    own."""

    system: ArticulatedSystem | None
    velocities: tuple[str, ...]
    states: tuple[str, ...]
    controls: tuple[str, ...]
    parameters: tuple[str, ...] = ()

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Coordinates, and angles that a quaternion has replaced."""
        return () if self.system is None else (*self.system.coordinate_names, *self.system.angle_names)


@dataclass(frozen=True)
class Point:
    """An instant of a motion: numbers or symbols with the same leading axes (...).

    t            (...) [s] the time
    q            (..., nq) the pose
    u, udot      (..., nu) velocities and their rates
    states       (..., nw) further states
    rates        (..., nw) of the states
    controls     (..., nc)
    multipliers  (..., nk) of constraints
    parameters   (np,) the unknown ones

    point["name"] is a coordinate, an angle that a quaternion has replaced, a velocity, a state, a control or a
    parameter by its name; of two with one name 'coordinates.NAME' or 'controls.NAME'. The rate of a state is
    point.rate("name"). At the ends of a motion rates are empty.

    >>> import numpy as np
    >>> from myoquat.analysis.control import Equations
    >>> from myoquat.analysis.control.points import Names, Point
    >>> names = Names(None, (), ("x", "v"), ("force",))
    >>> point = Point(names, np.array(0.5), states=np.array([1.0, 2.0]), controls=np.array([3.0]))
    >>> float(point["v"]), float(point["force"])
    (2.0, 3.0)
    """

    names: Names
    t: Array
    q: Array = field(default_factory=lambda: EMPTY)
    u: Array = field(default_factory=lambda: EMPTY)
    udot: Array = field(default_factory=lambda: EMPTY)
    states: Array = field(default_factory=lambda: EMPTY)
    rates: Array = field(default_factory=lambda: EMPTY)
    controls: Array = field(default_factory=lambda: EMPTY)
    loads: Array = field(default_factory=lambda: EMPTY)
    multipliers: Array = field(default_factory=lambda: EMPTY)
    prescribed: Array = field(default_factory=lambda: EMPTY)
    parameters: Array = field(default_factory=lambda: EMPTY)

    @property
    def system(self) -> ArticulatedSystem:
        """The bodies; ValueError for equations of one's own."""
        if self.names.system is None:
            raise ValueError("a problem of equations of one's own has no bodies")
        return self.names.system

    def __getitem__(self, name: str) -> Array:
        fields = {field: known for field, (known, _) in self._values().items()}
        field, bare = field_of(name, fields)
        if field:
            return self._values()[field][1](bare)
        known_names = [name for known in fields.values() for name in known]
        raise KeyError(
            f"{name!r} is no coordinate, velocity, state, control or parameter; known: {', '.join(known_names)}"
        )

    def rate(self, name: str) -> Array:
        """(...) the rate of a velocity or state by its name; KeyError for a name that is neither."""
        for known, values in ((self.names.velocities, self.udot), (self.names.states, self.rates)):
            if name in known:
                found: Array = values[..., known.index(name)]
                return found
        raise KeyError(f"{name!r} is no velocity and no state")

    def _values(self) -> Mapping[str, tuple[tuple[str, ...], Callable[[str], Array]]]:
        names = self.names

        def column(known: tuple[str, ...], values: Array) -> Callable[[str], Array]:
            return lambda name: values[..., known.index(name)]

        return {
            "coordinates": (names.coordinates, lambda name: self.system.coordinate(name, self.q)),
            "velocities": (names.velocities, column(names.velocities, self.u)),
            "states": (names.states, column(names.states, self.states)),
            "controls": (names.controls, column(names.controls, self.controls)),
            "parameters": (names.parameters, column(names.parameters, self.parameters)),
        }
