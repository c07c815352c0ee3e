"""Muscles and their paths, as records: points between bodies, surfaces, pulleys, and groups of muscles."""

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import ClassVar

from myoquat.core.records import Record, dataclass
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.ranges import Positive, check_ranges
from myoquat.muscle.activation import ActivationDynamics
from myoquat.muscle.laws import ForceLaw
from myoquat.muscle.points import ConditionalPoint, PathPoint
from myoquat.muscle.wrapping import Wrap

__all__ = ["Muscle", "MuscleGroup", "PathWrap", "Pulley", "on_bones"]


@dataclass(frozen=True)
class Pulley(Record):
    """From the path's point of number `point` on, the path is a branch of its own, whose length counts 1 / divisor.

    No segment leads from the point before to this one. Behind a moving pulley a tendon may split into two branches. Its
    length is then that of its trunk plus half that of the two branches [MuJoCo, `pulley`].

    >>> from myoquat.muscle import Muscle, PathPoint, Pulley
    >>> path = [PathPoint("ground", (x, 0.0, 0.0)) for x in (0.0, 0.1, 0.1, 0.5)]
    >>> Muscle("split", tuple(path), pulleys=(Pulley(2, 2.0),)).shares  # of the pieces between its points
    (1.0, 0.0, 0.5)
    """

    constants: ClassVar[tuple[str, ...]] = ("divisor",)
    point: int
    divisor: Positive


@dataclass(frozen=True)
class PathWrap(Record):
    """What an OpenSim file states of a surface on a path.

    wrap    the surface's number in `Muscle.wraps`
    points  the numbers of the points between which it acts; None for the whole path
    method  the method for ellipsoids

    >>> from myoquat.muscle import PathWrap
    >>> PathWrap(0, (1, 2)).method
    'hybrid'
    """

    wrap: int
    points: tuple[int, int] | None = None
    method: str = "hybrid"


@dataclass(frozen=True)
class Muscle(Record):
    """A muscle: its path from origin over via points to insertion, and its force law.

    Between its points the path is straight, or goes around the surfaces `wraps` that lie in its way. Those that act on
    the same piece stand in the order in which the path meets them. Over `pulleys` it consists of several branches.
    `activation` is the one that a simulation takes where none is given, None if the model names none. With
    `activation_dynamics` it follows an excitation and is a state of simulations; without, it is given.

    `anatomy` is the same muscle on its path of points, where `path` is a function of coordinates that was fitted to it
    (`Model.with_fitted_paths`). It has no effect on lengths and torques. It says where the muscle pulls on bones.

    `path_wraps` holds the surfaces as an OpenSim file states them, in the order of the file. Lengths do not depend on
    it. It serves to write the file again, because OpenSim's lengths depend on the order and the ranges of the file.

    >>> from myoquat.muscle import ExponentialMuscle, Muscle, PathPoint
    >>> path = (PathPoint("ground", (-0.1, 0, 0)), PathPoint("upper", (0, 0, -0.2)))
    >>> Muscle("flexor", path, ExponentialMuscle(optimal_length=0.2, max_isometric_force=100.0)).name
    'flexor'
    """

    constants: ClassVar[tuple[str, ...]] = ("anatomy",)
    name: str
    path: tuple[PathPoint, ...]
    law: ForceLaw | None = None
    activation: float | None = None
    activation_dynamics: ActivationDynamics | None = None
    wraps: tuple[Wrap, ...] = ()
    pulleys: tuple[Pulley, ...] = ()
    path_wraps: tuple[PathWrap, ...] = field(default=(), compare=False)
    anatomy: "Muscle | None" = None

    @property
    def on_bones(self) -> "Muscle":
        """The muscle on a path of points, which says where it pulls on bones.

        ModelError for a path that is a function of coordinates alone, since many forces on bones have its moments.
        """
        if all(point.on_body for point in self.path):
            return self
        if self.anatomy is None:
            raise ModelError(
                "its path is a function of coordinates, which does not say where it pulls on bones, so that forces on "
                "bodies and in joints are not determined. Give the muscle an `anatomy`, the muscle on its path of "
                "points, as Model.with_fitted_paths does",
                element=f"muscle {self.name!r}",
            )
        return self.anatomy

    def on_path(self, path: tuple[PathPoint, ...]) -> "Muscle":
        """The muscle on another path, such as a fitted one, with its path of points as `anatomy`."""
        points = self.anatomy or (self if all(point.on_body for point in self.path) else None)
        if points is not None:
            points = Muscle(self.name, points.path, wraps=points.wraps, pulleys=points.pulleys)
        return replace(self, path=path, wraps=(), pulleys=(), path_wraps=(), anatomy=points)

    @property
    def shares(self) -> tuple[float, ...]:
        """By how much the length of each piece between two points counts: 1 without pulleys, and 0 where there is no
        piece."""
        found = [1.0] * (len(self.path) - 1)
        for pulley in self.pulleys:
            found[pulley.point :] = [1.0 / pulley.divisor] * (len(found) - pulley.point)
            if pulley.point:
                found[pulley.point - 1] = 0.0
        return tuple(found)

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError if the path cannot be: too short, an unknown body, a segment of length zero in every pose."""
        element = f"muscle {self.name!r}"
        if len(self.path) < 2:
            raise ModelError(f"a path needs at least two points, not {len(self.path)}", element=element)
        for point in self.path:
            point.check(system, element)
        if any(isinstance(point, ConditionalPoint) for point in (self.path[0], self.path[-1])):
            raise ModelError("the first and the last point of a path cannot be conditional", element=element)
        self._check_pulleys(element)
        for (a, b), share in zip(pairwise(self.path), self.shares, strict=True):
            if a == b and share:
                raise ModelError(
                    f"two consecutive points are the same point {list(a.position)} of body {a.body!r}", element=element
                )
        for wrap in self.wraps:
            wrap.check(system, element, len(self.path))
        if self.activation is not None and not 0 <= self.activation <= 1:
            raise ModelError(f"activation must lie in [0, 1], not {self.activation}", element=element)
        if self.anatomy is not None:
            self.anatomy.check(system)
        if self.law is not None:
            self.law.check(element)
        if self.activation_dynamics is not None:
            self.activation_dynamics.check(element)

    def _check_pulleys(self, element: str) -> None:
        """ModelError for branches of fewer than two points, or that begin or end at a conditional point, and for
        surfaces that act between branches."""
        starts = [pulley.point for pulley in self.pulleys]
        edges = [0, *(starts[1:] if starts[:1] == [0] else starts), len(self.path)]
        if any(b - a < 2 for a, b in pairwise(edges)):
            raise ModelError(f"every branch needs at least two points; pulleys stand at {starts}", element=element)
        for pulley in self.pulleys:
            check_ranges(pulley, element, "pulley: ")
            ends = self.path[max(pulley.point - 1, 0) : pulley.point + 1]
            if any(isinstance(point, ConditionalPoint) for point in ends):
                raise ModelError("a branch cannot begin or end at a conditional point", element=element)
            if pulley.point and any(wrap.acts(pulley.point) for wrap in self.wraps):
                message = f"no surface can act between points {pulley.point - 1} and {pulley.point}, on two branches"
                raise ModelError(message, element=element)


def on_bones(muscles: tuple[Muscle, ...]) -> tuple[Muscle, ...]:
    """The muscles on paths of points (`Muscle.on_bones`); the same tuple where all are, so that formulas share work."""
    return muscles if all(m.on_bones is m for m in muscles) else tuple(m.on_bones for m in muscles)


@dataclass(frozen=True)
class MuscleGroup(Record):
    """A named group of muscles, such as the flexors of a joint: a muscle may belong to several groups or to none.

    Kept as data, as a file lists it; OpenSim calls it ObjectGroup.

    >>> import dataclasses
    >>> import myoquat as mq
    >>> group = mq.muscle.MuscleGroup("front", ("m1", "m2"))
    >>> model = dataclasses.replace(mq.load_model("two_link"), groups=(group,))
    >>> {group.name: group.members for group in model.groups}
    {'front': ('m1', 'm2')}
    """

    name: str
    members: tuple[str, ...] = ()

    def check(self, muscles: Sequence[str]) -> None:
        """ModelError for a member that is not among the names `muscles`, or that is listed twice."""
        element = f"group {self.name!r}"
        for place, member in enumerate(self.members):
            if member not in muscles:
                raise ModelError(f"member {member!r} is no muscle of the model", element=element)
            if member in self.members[:place]:
                raise ModelError(f"member {member!r} is listed twice", element=element)
