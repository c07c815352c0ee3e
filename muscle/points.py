"""Points of a path: fixed to a body, there only within a range of a coordinate, or moving with coordinates."""

from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np

from myoquat.core import Array, Record, frozen, real_array
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.constraints.base import check_coordinates
from myoquat.joints.functions import AxisFunction, Multiplier
from myoquat.joints.vectors import vector
from myoquat.kernels.symbolic.arrays import as_array

from .loads import check_part

RANGE_MARGIN = 1e-5  # by which OpenSim widens the range of a conditional point, in the coordinate's unit


@frozen
class PathPoint(Record):
    """A point fixed to a body: position [m] in the body's frame.

    >>> import myoquat as mq
    >>> from myoquat.muscle import PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)))
    >>> biceps = mq.Muscle("biceps", (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0))))
    >>> mq.path_lengths(mq.Model(mq.ArticulatedSystem((rod,)), (biceps,)), [0.0])
    array([0.5])
    """

    on_body: ClassVar[bool] = True  # whether it has a place in space; the end of a path of a given length has none
    body: str
    position: Annotated[tuple[float, ...], 3]

    def check(self, system: ArticulatedSystem, element: str) -> None:
        """ModelError if the system lacks what the point names, or a number is not finite."""
        check_part(self, system, element)

    def local(self, system: ArticulatedSystem, q: Array) -> Array:
        """(..., 3) [m] where the point is in its body's frame."""
        return as_array(self.position)

    def scaled(self, factors: Array) -> "PathPoint":
        """The point on a body stretched by factors (3,) along its axes."""
        position: Any = real_array("factors", factors) * self.position
        return replace(self, position=position)

    def active(self, system: ArticulatedSystem, q: Array) -> Array | bool:
        """(...) whether the point is on the path; True for one that always is."""
        return True

    def leaves(self, system: ArticulatedSystem, q: Array) -> Array | None:
        """(...) whether the pose is outside the set of poses that the point was fitted to; None for one of no fit."""
        return None


@frozen
class ConditionalPoint(PathPoint):
    """A point that is on the path only while a coordinate lies in a range.

    The ends of the range are widened by 1e-5, as in OpenSim. Where the point comes or goes, the length and the Jacobian
    jump, unless the path is straight there.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle import ConditionalPoint
    >>> shin = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)), coordinate_names=("knee",))
    >>> point = ConditionalPoint("shin", (0.05, 0.0, 0.0), "knee", (-2.0, -1.4))  # only when the knee is bent
    >>> point.active(mq.ArticulatedSystem((shin,)), np.array([[-1.5], [0.0]]))
    array([ True, False])
    """

    coordinate: str
    range: tuple[float, float]

    def active(self, system: ArticulatedSystem, q: Array) -> Array:
        x = system.coordinate(self.coordinate, q)
        return (x >= self.range[0] - RANGE_MARGIN) & (x <= self.range[1] + RANGE_MARGIN)


class DrivenPoint(PathPoint):
    """A point that moves on its body with coordinates, the `driving` ones, and then does work."""

    def driving(self, system: ArticulatedSystem) -> tuple[str, ...]:
        """The names of the coordinates of the system, those of constant functions left out."""
        raise NotImplementedError

    def check(self, system: ArticulatedSystem, element: str) -> None:
        super().check(system, element)
        for name in self.driving(system):
            check_coordinates(system, name, element=element)


@frozen
class MovingPoint(DrivenPoint):
    """A point whose x, y, z [m] in its body's frame are position + functions of coordinates.

    There are three `functions`, each of the coordinate at the same place in `coordinates` ("" for a constant function).
    Outside its range (`ranges` are three or none) a coordinate counts as it does at the nearest end. As in OpenSim, the
    point then rests. The point's own motion does work: Jacobians hold its part.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.joints.functions import Constant, Linear
    >>> from myoquat.muscle import MovingPoint
    >>> shin = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)), coordinate_names=("knee",))
    >>> functions = (Linear(0.01, 0.05), Constant(0.02), Constant(0.0))  # x = 0.05 + 0.01 knee
    >>> point = MovingPoint("shin", (0.0, 0.0, 0.0), ("knee",) * 3, functions)
    >>> point.local(mq.ArticulatedSystem((shin,)), np.array([-1.0]))
    array([0.04, 0.02, 0.  ])
    """

    coordinates: tuple[str, str, str]
    functions: tuple[AxisFunction, AxisFunction, AxisFunction]
    ranges: tuple[tuple[float, float], ...] = ()

    def driving(self, system: ArticulatedSystem) -> tuple[str, ...]:
        return tuple(filter(None, self.coordinates))

    def check(self, system: ArticulatedSystem, element: str) -> None:
        super().check(system, element)
        if len(self.ranges) not in (0, 3):
            raise ModelError(f"ranges must be three of (low, high), not {self.ranges}", element=element)

    def local(self, system: ArticulatedSystem, q: Array) -> Array:
        offsets = [function.value(self._seen(system, q, i)) for i, function in enumerate(self.functions)]
        return as_array(self.position) + vector(offsets)

    def scaled(self, factors: Array) -> "MovingPoint":
        """Its functions are stretched too."""
        x, y, z = (Multiplier(f, float(s)) for f, s in zip(self.functions, factors, strict=True))
        position: Any = real_array("factors", factors) * self.position
        return replace(self, position=position, functions=(x, y, z))

    def _seen(self, system: ArticulatedSystem, q: Array, i: int) -> Array:
        """(...) what function i sees of its coordinate."""
        if not self.coordinates[i]:
            return np.zeros(q.shape[:-1])
        x = system.coordinate(self.coordinates[i], q)
        return np.clip(x, *self.ranges[i]) if self.ranges else x
