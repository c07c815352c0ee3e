"""The custom joint: rotations about and translations along given axes, functions of up to six coordinates."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from myoquat.core import Array, frozen
from myoquat.joints import Angles, FloatingJoint, ModelError, SphericalJoint
from myoquat.joints.functions import Linear, Multiplier, MultivariatePolynomial
from myoquat.joints.sequences import PARALLEL_SINE
from myoquat.joints.vectors import joined

from .base import AxesJoint, Axis, JointFacts, directions_of


@frozen
class CustomJoint(AxesJoint):
    """q = up to six coordinates named in `coordinates`, u = qdot.

    R = R(a1, f1) R(a2, f2) R(a3, f3) over `rotations`. Each axis is fixed in the frame that the rotations before it
    have reached. The child's origin is at the sum of f_k t_k over `translations`, whose axes are in the joint frame.
    Axes need not be orthogonal. `units` of the coordinates are "rad", "m", or "1" for a number that is neither an angle
    nor a length. Where they are left out they follow from the axes, as OpenSim's motion types do. A coordinate is an
    angle if a rotation is the coordinate itself or its opposite, by a line of slope 1 or -1. It is a length if a
    translation is, or if it moves translations alone by a line of another slope, as where a model was scaled. Otherwise
    it has no unit, for example where a rotation is a curve of it. Tables in degrees hold angles in degrees, and the
    other coordinates as they are. Raises ValueError for more than six coordinates, three
    rotations or three translations, or an axis of a coordinate that is not there.

    >>> import numpy as np
    >>> from myoquat.joints import Axis, CustomJoint
    >>> from myoquat.joints.functions import Polynomial
    >>> shift = Axis((1, 0, 0), 0, Polynomial((0.0, 0.0, 0.002)))
    >>> knee = CustomJoint(("flexion",), rotations=(Axis((0, 0, 1), 0),), translations=(shift,))
    >>> R, p = knee.transform(np.array([-1.5]))
    >>> p.round(4)  # the shin shifts with the square of the angle
    array([0.0045, 0.    , 0.    ])
    """

    kind: ClassVar[str] = "custom"
    coordinates: tuple[str, ...]
    rotations: tuple[Axis, ...] = ()
    translations: tuple[Axis, ...] = ()
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        count = len(self.coordinates)
        if count > 6 or len(self.rotations) > 3 or len(self.translations) > 3:
            raise ValueError(
                f"a custom joint has at most 6 coordinates, 3 rotations and 3 translations, not {count}, "
                f"{len(self.rotations)} and {len(self.translations)}"
            )
        for axis in (*self.rotations, *self.translations):
            for i in axis.coordinates:
                if not 0 <= i < count:
                    raise ValueError(f"an axis uses coordinate {i}, but there are {count}")
        units = dict.fromkeys(range(count), "1")
        units |= {i: "m" for axis in self.translations if axis.line and axis.line[0] for i in axis.coordinates}
        units |= {i: "1" for axis in self.rotations for i in axis.coordinates}
        for unit, axes in (("rad", self.rotations), ("m", self.translations)):  # of several, the last one decides
            units |= {i: unit for axis in axes if axis.is_coordinate for i in axis.coordinates}
        object.__setattr__(self, "units", tuple(self.units) or tuple(units.values()))
        if len(self.units) != count or not set(self.units) <= {"rad", "m", "1"}:
            raise ValueError(f"units must be {count} of 'rad', 'm' and '1', not {self.units}")

    def __repr__(self) -> str:
        names = ", ".join(self.coordinates)
        return f"<CustomJoint ({names}): {len(self.rotations)} rotations, {len(self.translations)} translations>"

    def scaled(self, parent: tuple[float, ...], child: tuple[float, ...]) -> Self:
        """Translations grow by the sum of the parent's factors weighted by their direction's |components|, as in
        OpenSim. Those that are a coordinate itself, f(x) = x, do not."""
        return replace(self, translations=tuple(_stretched(axis, parent) for axis in self.translations))

    @property
    def facts(self) -> JointFacts:
        return JointFacts("custom", self.coordinates, self.units, "given axes")

    @property
    def made_of_axes(self) -> bool:
        return True

    # ---- as a ball joint: three angles about successive axes, and three slides along x, y and z, or none ----------

    @cached_property
    def turns_obstacle(self) -> str | None:
        """Why its rotations are not three angles about successive axes; None if they are."""
        if any(len(axis.coordinates) > 1 for axis in self.rotations):
            return "a rotation is a function of several coordinates"
        turning = {axis.coordinate for axis in self.rotations} - {None}
        if not len(self.rotations) == len(turning) == 3:
            return (
                f"{len(turning)} coordinates rotate it, not three"
                if len(turning) != 1
                else "one coordinate rotates it, not three"
            )
        if not all(axis.line and axis.line[0] for axis in self.rotations):
            return "a rotation is not a linear function of its coordinate"
        return "two of its successive axes are parallel" if are_parallel(directions_of(self.rotations)) else None

    @cached_property
    def own_angles(self) -> Angles | None:
        if self.turns_obstacle is not None:
            return None
        lines: Any = [axis.line for axis in self.rotations]
        names, units = zip(*((self.coordinates[i], self.units[i]) for i in self.turning), strict=True)
        factors, offsets = zip(*lines, strict=True)
        return Angles(names, tuple(directions_of(self.rotations)), factors, offsets, units=units)  # type: ignore[arg-type]

    @property
    def turning(self) -> tuple[int, ...]:
        """The coordinates that turn it, in the order of its rotations."""
        return tuple(i for axis in self.rotations for i in axis.coordinates)

    @property
    def sliding(self) -> list[int]:
        """The coordinates that slide it, in the order of its translations."""
        return [i for axis in self.translations if axis.constant is None for i in axis.coordinates]

    @cached_property
    def ball_obstacle(self) -> str | None:
        if self.turns_obstacle is not None:
            return self.turns_obstacle
        sliding, directions = self.sliding, np.array(directions_of(self.translations))
        if {*sliding} & {*self.turning}:
            return "its centre moves with its rotations"
        plain = len({*sliding}) == 3 and all(axis.line == (1.0, 0.0) for axis in self.translations)
        if sliding and not (plain and np.array_equal(directions, np.eye(3))):
            return "its translations are not along x, y and z by a coordinate each"
        return None

    @cached_property
    def ball_joint(self) -> SphericalJoint | FloatingJoint | None:
        if self.ball_obstacle is not None:
            return None
        return (FloatingJoint if self.sliding else SphericalJoint)(angles=self.own_angles)

    def _as_angles(self) -> Angles:
        """Its own angles, if it is a ball joint; ModelError otherwise."""
        if self.own_angles is None or self.ball_obstacle is not None:
            raise ModelError(f"no ball joint: {self.ball_obstacle}")
        return self.own_angles

    def to_ball(self, q: Array) -> Array:
        return joined([q[..., self.sliding], self._as_angles().quaternion(q[..., [*self.turning]])])

    def from_ball(self, q: Array, named: Angles | None = None) -> Array:
        angles, order = self._as_angles(), np.argsort([*self.sliding, *self.turning])
        if named is not None and replace(named, ranges=(), branch=()) == angles:
            angles = named
        return joined([q[..., : len(self.sliding)], angles.values(q[..., -4:])])[..., order]


def are_parallel(axes: Sequence[Sequence[float]]) -> bool:
    """Whether two successive ones of unit axes are parallel."""
    return any(np.linalg.norm(np.cross(a, b)) < PARALLEL_SINE for a, b in pairwise(axes))


def _stretched(axis: Axis, factors: Sequence[float]) -> Axis:
    scale = sum(abs(a) * s for a, s in zip(axis.direction, factors, strict=True))
    if axis.function == Linear() or scale == 1.0:
        return axis
    if isinstance(axis.function, MultivariatePolynomial):
        coefficients = tuple(scale * c for c in axis.function.coefficients)
        return replace(axis, function=replace(axis.function, coefficients=coefficients))
    return replace(axis, function=Multiplier(axis.function, scale))
