"""The custom joint: rotations about and translations along given axes, functions of up to six coordinates."""

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import product
from typing import ClassVar, Self

import numpy as np

from myoquat.core.records import Record, dataclass
from myoquat.core.typing import Array
from myoquat.joints.functions import AxisFunction, Linear, Multiplier, MultivariatePolynomial
from myoquat.joints.types.angles import angular_drift, child_axes, successive_rotations
from myoquat.joints.types.base import CoordinateJoint, JointFacts, unit_axis
from myoquat.joints.vectors import cross, vecmat, vector
from myoquat.kernels.tracing.context import memoize

__all__ = ["Axis", "CustomJoint"]


@dataclass(frozen=True)
class Axis(Record):
    """A rotation [rad] about `direction`, or a translation [m] along it, by a `function` of coordinates of the joint.

    `coordinate` is the number of that coordinate, None where the function is constant, or the numbers of the
    coordinates of a `MultivariatePolynomial`. The direction is normalized. Raises ValueError for a direction of length
    zero, and for a function of another number of coordinates.

    >>> import numpy as np
    >>> from myoquat.joints import Axis, CustomJoint
    >>> from myoquat.joints.functions import Linear
    >>> screw = CustomJoint(("turn",), (Axis((0, 0, 1), 0),), (Axis((0, 0, 1), 0, Linear(0.01)),))
    >>> R, p = screw.transform(np.array([3.0]))
    >>> p.round(3)  # 1 cm per radian along the axis
    array([0.  , 0.  , 0.03])
    """

    constants: ClassVar[tuple[str, ...]] = ("direction",)
    direction: tuple[float, float, float]
    coordinate: int | tuple[int, ...] | None
    function: AxisFunction | MultivariatePolynomial = field(default_factory=Linear)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "direction", unit_axis(self.direction))
        several = len(self.coordinate) if isinstance(self.coordinate, tuple) else None
        if isinstance(self.function, MultivariatePolynomial):
            count = self.function.dimension
            if several != count:
                raise ValueError(f"a polynomial of {count} coordinates needs their numbers, not {self.coordinate}")
        elif several is not None:
            raise ValueError(f"a function of the coordinates {self.coordinate} must be a MultivariatePolynomial")

    @property
    def coordinates(self) -> tuple[int, ...]:
        """The numbers of all coordinates on which the axis depends."""
        if self.coordinate is None:
            return ()
        return self.coordinate if isinstance(self.coordinate, tuple) else (self.coordinate,)

    def value(self, q: Array) -> Array:
        """(...) f; of no coordinate, that of zero."""
        return self.function.value(self._own(q))

    def slopes(self, q: Array) -> list[Array]:
        """(...) df/dx_i of each of the `coordinates`."""
        x, f = self._own(q), self.function
        if isinstance(f, MultivariatePolynomial):
            return [f.partial(k).value(x) for k in range(f.dimension)]
        return [f.slope(x) for _ in self.coordinates]

    def rate(self, q: Array, u: Array) -> Array:
        """(...) df/dt."""
        if not self.coordinates:
            return np.zeros(q.shape[:-1])
        first, *others = (f * u[..., i] for f, i in zip(self.slopes(q), self.coordinates, strict=True))
        return sum(others, start=first)

    def bend(self, q: Array, u: Array) -> Array:
        """(...) the sum of d2f/dx_i dx_j u_i u_j: what d2f/dt2 has without udot."""
        x, v, f = self._own(q), self._own(u), self.function
        if not isinstance(f, MultivariatePolynomial):
            return f.curvature(x) * v * v
        pairs = product(range(f.dimension), repeat=2)
        return sum((f.partial(j).partial(k).value(x) * v[..., j] * v[..., k] for j, k in pairs), start=0.0 * x[..., 0])

    def _own(self, x: Array) -> Array:
        """The coordinate of the axis in x (..., n), or its coordinates (..., k); zero (...) for one that has none."""
        if isinstance(self.coordinate, tuple):
            return np.stack([x[..., i] for i in self.coordinate], axis=-1)
        return np.zeros(x.shape[:-1]) if self.coordinate is None else x[..., self.coordinate]


@dataclass(frozen=True)
class CustomJoint(CoordinateJoint):
    """q = up to six coordinates named in `coordinates`, u = qdot.

    R = R(a1, f1) R(a2, f2) R(a3, f3) over `rotations`. Each axis is fixed in the frame that the rotations before it
    have reached. The child's origin is at the sum of f_k t_k over `translations`, whose axes are in the joint frame.
    Axes need not be orthogonal. `units` of the coordinates are "rad", "m", or "1" for a number that is neither an angle
    nor a length. Where they are left out they follow from the axes, as OpenSim's motion types do. A coordinate is an
    angle if a rotation is the coordinate itself or its opposite, by a line of slope 1 or -1. It is a length if a
    translation is. Otherwise it has no unit, for example where a rotation is a curve of it. Tables in degrees hold
    angles in degrees, and the other coordinates as they are. Raises ValueError for more than six coordinates, three
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
        object.__setattr__(self, "units", tuple(self.units) or self._units_of_axes())
        if len(self.units) != count or not set(self.units) <= {"rad", "m", "1"}:
            raise ValueError(f"units must be {count} of 'rad', 'm' and '1', not {self.units}")

    def _units_of_axes(self) -> tuple[str, ...]:
        """The unit of each coordinate; of several axes of slope 1 or -1, the last one decides."""
        units = ["1"] * len(self.coordinates)
        for unit, axes in (("rad", self.rotations), ("m", self.translations)):
            for axis in axes:
                if isinstance(axis.function, Linear) and abs(axis.function.factor) == 1:
                    units = [unit if i in axis.coordinates else known for i, known in enumerate(units)]
        return tuple(units)

    def __repr__(self) -> str:
        names = ", ".join(self.coordinates)
        return f"<CustomJoint ({names}): {len(self.rotations)} rotations, {len(self.translations)} translations>"

    def scaled(self, parent: tuple[float, ...], child: tuple[float, ...]) -> Self:
        """Translations grow by the sum of the parent's factors weighted by their direction's |components|, as in
        OpenSim. Those that are a coordinate itself, f(x) = x, do not."""
        return replace(self, translations=tuple(_stretched(axis, parent) for axis in self.translations))

    @property
    def facts(self) -> JointFacts:
        return JointFacts(
            "custom",
            self.coordinates,
            self.units,
            "given axes",
            tuple(f"{name}_dot" for name in self.coordinates),
            tuple(f"{unit}/s" for unit in self.units),
            "given axes",
        )

    @memoize
    def transform(self, q: Array) -> tuple[Array, Array]:
        return successive_rotations(_directions(self.rotations), _values(self.rotations, q)), self._slide(q)

    def _slide(self, q: Array) -> Array:
        return _sum(self.translations, _values(self.translations, q))

    @memoize
    def subspace(self, q: Array) -> tuple[Array, Array]:
        R, _ = self.transform(q)
        rotation_axes = child_axes(_directions(self.rotations), _values(self.rotations, q))
        translation_axes = [vecmat(np.array(axis.direction), R) for axis in self.translations]
        return self._columns(self.rotations, rotation_axes, q), self._columns(self.translations, translation_axes, q)

    def _columns(self, axes: Sequence[Axis], vectors: Sequence[Array], q: Array) -> Array:
        """(..., 3, nu): column i sums the axes that coordinate i moves, by their slopes."""
        columns: list[Array] = [np.zeros((*q.shape[:-1], 3)) for _ in self.coordinates]
        for axis, v in zip(axes, vectors, strict=True):
            for i, slope in zip(axis.coordinates, axis.slopes(q), strict=True):
                columns[i] = columns[i] + v * slope[..., None]
        return vector(columns) if columns else np.zeros((3, 0))

    def drift(self, q: Array, u: Array) -> tuple[Array, Array]:
        """Sdot u from the curvature of the functions, and from the rotation of the axes."""
        R, _ = self.transform(q)
        rotation_axes = child_axes(_directions(self.rotations), _values(self.rotations, q))
        rates = [axis.rate(q, u) for axis in self.rotations]
        omega = sum((b * r[..., None] for b, r in zip(rotation_axes, rates, strict=True)), start=np.zeros(3))
        c_omega = angular_drift(rotation_axes, rates)
        for b, axis in zip(rotation_axes, self.rotations, strict=True):
            c_omega = c_omega + b * axis.bend(q, u)[..., None]
        v = vecmat(_sum(self.translations, [axis.rate(q, u) for axis in self.translations]), R)
        c_v = vecmat(_sum(self.translations, [axis.bend(q, u) for axis in self.translations]), R) + cross(v, omega)
        return c_omega, c_v


def _stretched(axis: Axis, factors: Sequence[float]) -> Axis:
    scale = sum(abs(a) * s for a, s in zip(axis.direction, factors, strict=True))
    if axis.function == Linear() or scale == 1.0:
        return axis
    if isinstance(axis.function, MultivariatePolynomial):
        coefficients = tuple(scale * c for c in axis.function.coefficients)
        return replace(axis, function=replace(axis.function, coefficients=coefficients))
    return replace(axis, function=Multiplier(axis.function, scale))


def _directions(axes: Sequence[Axis]) -> list[tuple[float, float, float]]:
    return [axis.direction for axis in axes]


def _sum(axes: Sequence[Axis], amounts: Sequence[Array]) -> Array:
    """(..., 3) sum of directions times amounts (...)."""
    total = np.zeros(3)
    for axis, amount in zip(axes, amounts, strict=True):
        total = total + np.array(axis.direction) * amount[..., None]
    return total


def _values(axes: Sequence[Axis], q: Array) -> list[Array]:
    return [axis.value(q) for axis in axes]
