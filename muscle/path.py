"""Paths as records, of points between bodies, surfaces and pulleys; muscles along them, and groups of muscles."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import ClassVar

from myoquat.core import Record, assign, frozen
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.ranges import Fraction, Positive, check_ranges

from .activation import ActivationDynamics
from .laws import ForceLaw
from .points import ConditionalPoint, PathPoint
from .wrapping import Wrap, acting_surfaces, holds_end


@frozen
class Pulley(Record):
    """From the path's point of number `point` on, the path is a branch of its own, whose length counts 1 / divisor.

    No segment leads from the point before to this one. Behind a moving pulley a tendon may split into two branches. Its
    length is then that of its trunk plus half that of the two branches [MuJoCo, `pulley`].

    >>> from myoquat.muscle import MusclePath, PathPoint, Pulley
    >>> points = [PathPoint("ground", (x, 0.0, 0.0)) for x in (0.0, 0.1, 0.1, 0.5)]
    >>> MusclePath(tuple(points), pulleys=(Pulley(2, 2.0),)).shares  # of the pieces between its points
    (1.0, 0.0, 0.5)
    """

    constants: ClassVar[tuple[str, ...]] = ("divisor",)
    point: int
    divisor: Positive


@frozen
class MusclePath(Record):
    """A path from its first over via points to its last point. Muscles, springs, limits and ligaments act along it.

    Between its points it is straight, or goes around the surfaces `wraps` that lie in its way. Over `pulleys` it
    consists of several branches. It is a sequence of its points. Forces whose paths are equal share one path, whose
    length and contacts are computed once.

    `anatomy` is the path of points of one that is a function of coordinates, which was fitted to it
    (`Model.with_fitted_paths`). It has no effect on lengths and torques. It says where forces pull on bones.

    >>> from myoquat.muscle import Muscle, MusclePath, PathPoint
    >>> from myoquat.muscle.laws import PathActuator, PathSpring
    >>> path = MusclePath((PathPoint("ground", (-0.1, 0, 0)), PathPoint("upper", (0, 0, -0.2))))
    >>> motor, spring = Muscle("motor", path, PathActuator(50.0)), Muscle("spring", path, PathSpring(1e3, 0.2))
    >>> motor.path is spring.path
    True
    """

    constants: ClassVar[tuple[str, ...]] = ("anatomy",)
    points: tuple[PathPoint, ...]
    wraps: tuple[Wrap, ...] = ()
    pulleys: tuple[Pulley, ...] = ()
    anatomy: "MusclePath | None" = None

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, number: int) -> PathPoint:
        return self.points[number]

    @property
    def on_bones(self) -> "MusclePath | None":
        """The path of points, which says where forces pull on bones; None for a function of coordinates alone."""
        return self if all(point.on_body for point in self.points) else self.anatomy

    @property
    def acting(self) -> list[tuple[Wrap, ...]]:
        """Of every piece between two points, the surfaces that act on it."""
        return acting_surfaces(self.points, self.wraps)

    @property
    def holding(self) -> list[Wrap]:
        """Surfaces that hold a point of the path on their own body, so that the path passes them over at every pose."""
        pieces = zip(self.acting, self.points, self.points[1:], strict=False)
        return [wrap for acting, first, last in pieces for wrap in acting if holds_end(wrap, first, last)]

    @property
    def shares(self) -> tuple[float, ...]:
        """By how much the length of each piece between two points counts: 1 without pulleys, and 0 where there is no
        piece."""
        found = [1.0] * (len(self.points) - 1)
        for pulley in self.pulleys:
            found[pulley.point :] = [1.0 / pulley.divisor] * (len(found) - pulley.point)
            if pulley.point:
                found[pulley.point - 1] = 0.0
        return tuple(found)

    def check(self, system: ArticulatedSystem, element: str) -> None:
        """ModelError if the path cannot be: too short, an unknown body, a segment of length zero in every pose."""
        if len(self.points) < 2:
            raise ModelError(f"a path needs at least two points, not {len(self.points)}", element=element)
        for point in self.points:
            point.check(system, element)
        if any(isinstance(point, ConditionalPoint) for point in (self.points[0], self.points[-1])):
            raise ModelError("the first and the last point of a path cannot be conditional", element=element)
        self._check_pulleys(element)
        for (a, b), share in zip(pairwise(self.points), self.shares, strict=True):
            if a == b and share:
                raise ModelError(
                    f"two consecutive points are the same point {list(a.position)} of body {a.body!r}", element=element
                )
        for wrap in self.wraps:
            wrap.check(system, element, len(self.points))
        if self.anatomy is not None:
            self.anatomy.check(system, element)

    def _check_pulleys(self, element: str) -> None:
        """ModelError for branches of fewer than two points, or that begin or end at a conditional point, and for
        surfaces that act between branches."""
        starts = [pulley.point for pulley in self.pulleys]
        edges = [0, *(starts[1:] if starts[:1] == [0] else starts), len(self.points)]
        if any(b - a < 2 for a, b in pairwise(edges)):
            raise ModelError(f"every branch needs at least two points; pulleys stand at {starts}", element=element)
        for pulley in self.pulleys:
            check_ranges(pulley, element, "pulley: ")
            ends = self.points[max(pulley.point - 1, 0) : pulley.point + 1]
            if any(isinstance(point, ConditionalPoint) for point in ends):
                raise ModelError("a branch cannot begin or end at a conditional point", element=element)
            if pulley.point and any(wrap.acts(pulley.point) for wrap in self.wraps):
                message = f"no surface can act between points {pulley.point - 1} and {pulley.point}, on two branches"
                raise ModelError(message, element=element)


def different_paths(paths: Sequence[MusclePath]) -> tuple[list[int], list[int]]:
    """Where each of the different ones among some paths stands first, and of every path the number of its equal.

    Paths with symbols in them are equal where they are the same object.
    """
    firsts: dict[Hashable, int] = {}
    numbers: list[int] = []
    for k, path in enumerate(paths):
        try:
            hash(path)
            key: Hashable = path
        except TypeError:
            key = id(path)
        first = firsts.setdefault(key, k)
        numbers.append(len(firsts) - 1 if first == k else numbers[first])
    return list(firsts.values()), numbers


@frozen
class Muscle(Record):
    """A force along a path by a law: a muscle, a spring, a limit, a ligament. Several may act along one path.

    Points as `path` become the `MusclePath` over them, with the surfaces `wraps` and the `pulleys`. `activation` is the
    one that a simulation takes where none is given, None if the model names none. With `activation_dynamics` it follows
    an excitation and is a state of simulations; without, it is given.

    >>> from myoquat.muscle import ExponentialMuscle, Muscle, PathPoint
    >>> path = (PathPoint("ground", (-0.1, 0, 0)), PathPoint("upper", (0, 0, -0.2)))
    >>> Muscle("flexor", path, ExponentialMuscle(optimal_length=0.2, max_isometric_force=100.0)).name
    'flexor'
    """

    name: str
    path: MusclePath
    law: ForceLaw | None = None
    activation: Fraction | None = None
    activation_dynamics: ActivationDynamics | None = None

    def __init__(
        self,
        name: str,
        path: MusclePath | Iterable[PathPoint],
        law: ForceLaw | None = None,
        activation: float | None = None,
        activation_dynamics: ActivationDynamics | None = None,
        wraps: Sequence[Wrap] = (),
        pulleys: Sequence[Pulley] = (),
    ) -> None:
        if not isinstance(path, MusclePath):
            path = MusclePath(path, wraps, pulleys)  # type: ignore[arg-type]
        elif wraps or pulleys:
            raise ValueError(f"muscle {name!r}: a MusclePath has surfaces and pulleys of its own")
        assign(self, name=name, path=path, law=law, activation=activation, activation_dynamics=activation_dynamics)
        super().__post_init__()

    @property
    def default_activation(self) -> float | None:
        """The `activation`, 0 for a law to which none matters; None where it has to be given."""
        return 0.0 if self.activation is None and self.law and not self.law.activated else self.activation

    def check(self, system: ArticulatedSystem) -> None:
        """ModelError for a path that cannot be, or a number outside its range."""
        element = f"muscle {self.name!r}"
        self.path.check(system, element)
        check_ranges(self, element)
        if self.law is not None:
            self.law.check(element)
        if self.activation_dynamics is not None:
            self.activation_dynamics.check(element)


def paths_on_bones(muscles: Iterable[Muscle]) -> tuple[MusclePath, ...]:
    """The path of every muscle as one of points, which says where it pulls on bones.

    ModelError for a path that is a function of coordinates alone, since many forces on bones have its moments.
    """
    found = []
    for muscle in muscles:
        if (path := muscle.path.on_bones) is None:
            raise ModelError(
                "its path is a function of coordinates, which does not say where it pulls on bones, so that forces on "
                "bodies and in joints are not determined. Give the path an `anatomy`, the path of points, as "
                "Model.with_fitted_paths does",
                element=f"muscle {muscle.name!r}",
            )
        found.append(path)
    return tuple(found)


@frozen
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
