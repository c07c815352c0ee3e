"""Ranges, locks and couplings of the coordinates of a model file, and its markers."""

from collections.abc import Iterable
from dataclasses import field
from typing import Annotated, ClassVar

import numpy as np

from myoquat.core import Record, frozen
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.constraints import Locked, Prescribed
from myoquat.joints.constraints.base import check_coordinates
from myoquat.joints.functions import AxisFunction, straight_line
from myoquat.joints.multibody.tree import find_cycle
from myoquat.joints.ranges import check_ranges

from .loads import check_part


@frozen
class Coordinate(Record):
    """A coordinate: its range [in its unit], its mode, and whether inverse kinematics keep it in its range.

    A coordinate is free, or locked where it starts, or it follows a function of time [s] that is `prescribed`. A locked
    one follows no function. `constraint` is what the mode means to equations of motion and all that is built on them.

    angular  it is one of three successive angles about x, y and z of a BallJoint, FreeJoint, EllipsoidJoint or
             ScapulothoracicJoint. Their speeds in states files of OpenSim are not rates. They are components of the
             angular velocity in the parent's axes, which `load_motion` converts.
    """

    constants: ClassVar[tuple[str, ...]] = ("range",)
    name: str
    range: tuple[float, float] | None = None
    locked: bool = False
    clamped: bool = False
    prescribed: AxisFunction | None = None
    angular: bool = field(default=False, compare=False)  # of the file, whose joints others may write otherwise

    @property
    def free(self) -> bool:
        """Whether its motion is not given: it is neither locked nor prescribed."""
        return not self.locked and self.prescribed is None

    @property
    def constraint(self) -> Locked | Prescribed | None:
        """The constraint on the motion; None for a free coordinate."""
        if self.locked:
            return Locked(self.name)
        return None if self.prescribed is None else Prescribed(self.name, self.prescribed.value)

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError for a coordinate that the system does not have, or a range whose ends are reversed."""
        element = f"coordinate {self.name!r}"
        check_coordinates(system, self.name, element=element)
        check_ranges(self, element)


@frozen
class Coupler(Record):
    """dependent = scale function(independent): a constraint on two coordinates, by name."""

    name: str
    dependent: str
    independent: str
    function: AxisFunction
    scale: float = 1.0

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError for coordinates that the system does not have, one that drives itself, or an impossible scale."""
        element = f"coupler {self.name!r}"
        check_part(self, system, element)
        if self.dependent == self.independent:
            raise ModelError(f"coordinate {self.dependent!r} cannot drive itself", element=element)


def check_couplers(couplers: Iterable[Coupler]) -> None:
    """ModelError where coordinates drive each other in a circle."""
    driven = {coupler.dependent: coupler for coupler in couplers}
    cycle = find_cycle({name: coupler.independent for name, coupler in driven.items()})
    if cycle:
        around = " -> ".join([*cycle, cycle[0]])
        raise ModelError(f"coordinates drive each other: {around}", element=f"coupler {driven[cycle[0]].name!r}")


def in_order(couplers: Iterable[Coupler]) -> tuple[Coupler, ...]:
    """The couplers, each after those that drive its independent coordinate; ModelError for a circle."""
    waiting, found = list(couplers), list[Coupler]()
    while waiting:
        dependent = {coupler.dependent for coupler in waiting}
        ready = [coupler for coupler in waiting if coupler.independent not in dependent]
        if not ready:
            raise ModelError("couplers go in a circle", element=f"coupler {waiting[0].name!r}")
        found += ready
        waiting = [coupler for coupler in waiting if coupler not in ready]
    return tuple(found)


def follow(couplers: Iterable[Coupler], system: ArticulatedSystem, q: np.ndarray) -> None:
    """Set what couplers drive in coordinates q (..., nq) of a system, each coupler after those that drive its
    independent coordinate.

    A file's angles that a quaternion has replaced may drive others. One that is driven itself is left out
    (`as_constraint`).
    """
    index = {name: k for k, name in enumerate(system.coordinate_names)}
    for coupler in in_order(couplers):
        if coupler.dependent in index:
            driver = system.coordinate(coupler.independent, q)
            q[..., index[coupler.dependent]] = coupler.scale * coupler.function.value(driver)


def linear_couplings(couplers: Iterable[Coupler]) -> dict[str, tuple[str, float, float]]:
    """The couplers whose function is a straight line, by the coordinate that they drive: (driving one, factor, offset).

    >>> from myoquat.joints.functions import SimmSpline
    >>> from myoquat.muscle.coordinates import Coupler, linear_couplings
    >>> linear_couplings([Coupler("back", "b", "a", SimmSpline((-1.0, 2.0), (1.0, -2.0)))])
    {'b': ('a', -1.0, 0.0)}
    """
    lines = {coupler.dependent: (coupler, straight_line(coupler.function)) for coupler in couplers}
    return {
        name: (coupler.independent, coupler.scale * line[0], coupler.scale * line[1])
        for name, (coupler, line) in lines.items()
        if line is not None
    }


@frozen
class Marker(Record):
    """A named point of a body, at `position` [m] in the body's frame.

    A `fixed` marker keeps its place on the body when markers are placed by a recorded pose.
    """

    name: str
    body: str
    position: Annotated[tuple[float, ...], 3]
    fixed: bool = False

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError for a body that does not exist, or a position that is not three finite numbers."""
        check_part(self, system, f"marker {self.name!r}")
