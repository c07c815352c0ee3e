"""What every joint type can do, and the facts that describe it."""

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import field, replace
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from myoquat.core import Array, Pair, Record, frozen, unchecked
from myoquat.joints.functions import AxisFunction, Linear, MultivariatePolynomial
from myoquat.joints.ranges import check_ranges, is_plausible, size_limit
from myoquat.joints.sequences import child_axes
from myoquat.joints.vectors import cross, matvec, vecmat, vector
from myoquat.kernels.tracing.context import memoize

from .angles import Angles, Vector3, angular_drift, successive_rotations

VELOCITY_FRAMES = ("child", "parent")


@frozen
class JointFacts:
    """A row of the table of joint types: names and units of q and u, and the frames of both.

    `quaternion` is where a unit quaternion begins in q, if there is one. Of velocities that are the rates of the
    coordinates, names, units and frame follow from these where they are left out.

    >>> from myoquat.joints import SphericalJoint
    >>> SphericalJoint().facts.nq, SphericalJoint().facts.velocity_units
    (4, ('rad/s', 'rad/s', 'rad/s'))
    """

    kind: str
    coordinates: tuple[str, ...]
    coordinate_units: tuple[str, ...]
    coordinate_frame: str
    velocities: tuple[str, ...] = ()
    velocity_units: tuple[str, ...] = ()
    velocity_frame: str = ""
    quaternion: int | None = None

    def __post_init__(self) -> None:
        rates = {
            "velocities": tuple(f"{name}_dot" for name in self.coordinates),
            "velocity_units": tuple(f"{unit}/s" for unit in self.coordinate_units),
            "velocity_frame": self.coordinate_frame,
        }
        for name, value in rates.items():
            object.__setattr__(self, name, getattr(self, name) or value)

    @property
    def force_units(self) -> tuple[str, ...]:
        """The unit of the generalized force on each velocity: power is the product of both."""
        return tuple("N" if unit == "m/s" else "N m" for unit in self.velocity_units)

    @property
    def nq(self) -> int:
        """Number of coordinates, |q|."""
        return len(self.coordinates)

    @property
    def nu(self) -> int:
        """Number of velocities, |u|."""
        return len(self.velocities)


class Joint(Record, ABC):
    """A joint between a parent and a child body: coordinates q (nq,), velocities u (nu,).

    All methods are plain NumPy formulas on arrays with leading batch axes, floats or symbols alike. The joint frame is
    fixed to the parent, and q is measured in it; (R, p) place the child frame in it. The motion of the child frame
    relative to the joint frame is (omega, v) = (S_omega u, S_v u) in child-frame components. Here v is the velocity of
    the child's origin [Featherstone, Rigid Body Dynamics Algorithms, ch. 4].

    >>> from myoquat.joints import FloatingJoint, RevoluteJoint, SphericalJoint
    >>> joints = RevoluteJoint((0, 0, 1)), SphericalJoint(), FloatingJoint()
    >>> [(joint.kind, joint.nq, joint.nu) for joint in joints]
    [('revolute', 1, 1), ('spherical', 4, 3), ('floating', 7, 6)]
    """

    kind: ClassVar[str]  # its name in model files; by default that of `facts`, if all joints of the type have the same
    span: ClassVar[str] = "some"  # motions that it leaves free: "some", "rotations" (these alone, all of them) or "all"
    is_weld: ClassVar[bool] = False  # whether its bodies are one
    by_sequence: ClassVar[bool] = False  # whether its rotation is shown, or is, in the angles of its Euler `sequence`

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self, None, f"{type(self).__name__}: ")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" not in cls.__dict__ and isinstance(facts := cls.__dict__.get("facts"), JointFacts):
            cls.kind = facts.kind

    @property
    @abstractmethod
    def facts(self) -> JointFacts:
        """Names, units and frames of q and u."""

    @property
    def rotates_about(self) -> tuple[Vector3, ...]:
        """The axes of the successive rotations that make up the joint, by its last coordinates, if it has such."""
        return ()

    @property
    def slides_along(self) -> tuple[Vector3, ...]:
        """The axes of the translations that make up the joint, by its first coordinates, if it has such."""
        return ()

    @property
    def rotations(self) -> tuple["Axis", ...]:
        """`rotates_about`, with the coordinate of each."""
        return tuple(Axis(axis, i) for i, axis in enumerate(self.rotates_about, len(self.slides_along)))

    @property
    def translations(self) -> tuple["Axis", ...]:
        """`slides_along`, with the coordinate of each."""
        return tuple(Axis(axis, i) for i, axis in enumerate(self.slides_along))

    @property
    def made_of_axes(self) -> bool:
        """Whether `rotations` and `translations` are all that it does."""
        return bool(self.rotates_about or self.slides_along)

    def opposite(self) -> "Joint | None":
        """The joint with its bodies exchanged, where it is of the same type; else `myoquat.joints.ReversedJoint`."""
        return None

    @property
    def forward(self) -> "Joint":
        """The joint of which this one is the reversal, or itself."""
        return self

    @property
    def follows(self) -> str | None:
        """The body whose joint's coordinates move this one, which then has none of its own."""
        return None

    def behind(self, leader: "Joint") -> "Joint":
        """The joint where another joint carries the body that it follows."""
        return self

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.facts.nq

    @property
    def nu(self) -> int:
        """Number of velocities."""
        return self.facts.nu

    @property
    def coordinate_suffixes(self) -> tuple[str, ...]:
        """q is named '<body>.<suffix>'."""
        return self.facts.coordinates

    @property
    def velocity_suffixes(self) -> tuple[str, ...]:
        """u is named '<body>.<suffix>'."""
        return self.facts.velocities

    def in_velocity_frame(self, frame: str) -> "Joint":
        """The same joint with u in the 'child' or the 'parent' frame, where the type knows the difference."""
        return self

    def scaled(self, parent: tuple[float, ...], child: tuple[float, ...]) -> Self:
        """The same joint between bodies that are scaled by factors (3,) along the axes of its frames.

        The lengths of its own shape grow, with its parent's unless the type says otherwise. Coordinates do not.
        """
        return self

    # ---- ball joints, which a quaternion or three angles describe -----------------------------------------------

    @property
    def ball_obstacle(self) -> str | None:
        """Why it is no ball joint; None if it is one, which may also translate freely."""
        return f"a {self.kind} joint is no ball joint" if self.span == "some" else None

    @property
    def ball_joint(self) -> "Joint | None":
        """The joint with a quaternion that moves in the same way; None if there is none."""
        return self if self.facts.quaternion is not None else None

    def to_ball(self, q: Array) -> Array:
        """(..., nq) coordinates of `ball_joint` at those of the joint."""
        return q

    def from_ball(self, q: Array, named: Angles | None = None) -> Array:
        """The inverse of `to_ball`. The angles `named` may know which triple of the joint's own angles is meant."""
        return q

    @property
    def own_angles(self) -> Angles | None:
        """The `myoquat.joints.Angles` that are coordinates of it, if it turns by three angles about fixed axes."""
        return None

    @property
    def turning(self) -> tuple[int, ...]:
        """The coordinates that are those of `own_angles`, in their order."""
        return () if self.own_angles is None else (0, 1, 2)

    @property
    def named(self) -> Angles | None:
        """The `angles` that a model file had in the place of its coordinates or has as these, if any."""
        return None if self.span == "some" else getattr(self, "angles", None)

    # ---- types -----------------------------------------------------------------------------------------------

    @property
    def pattern(self) -> Hashable:
        """Equal for joints whose formulas differ at most in their `numbers`; the joint itself unless the type says
        otherwise."""
        return self

    @property
    def numbers(self) -> tuple[float, ...]:
        """Numbers of the joint's formulas in which joints of one `pattern` differ."""
        return ()

    def with_numbers(self, numbers: Array) -> "Joint":
        """The joint with other `numbers`, floats or symbols, past its checks."""
        return self

    # ---- pose ------------------------------------------------------------------------------------------------

    @abstractmethod
    def transform(self, q: Array) -> Pair:
        """(R (..., 3, 3), p (..., 3)): the child frame seen from the joint frame on the parent."""

    def placed(self, R_frame: Array, p_frame: Array, q: Array) -> Pair:
        """(R_frame R, p_frame + R_frame p) for a constant joint frame: the child frame seen from the parent."""
        R, p = self.transform(q)
        return R_frame @ R, p_frame + matvec(R_frame, p)

    @abstractmethod
    def displaced(self, q: Array, motion: Array) -> Array:
        """(..., nq) coordinates after the small motion u dt = `motion` (..., nu), exact to first order.

        The derivative with respect to `motion` at zero is the derivative along the velocities.
        """

    # ---- motion ----------------------------------------------------------------------------------------------

    @abstractmethod
    def subspace(self, q: Array) -> Pair:
        """(S_omega (..., 3, nu), S_v (..., 3, nu)): omega = S_omega u, v = S_v u, in child-frame components."""

    def drift(self, q: Array, u: Array) -> Pair:
        """(..., 3), (..., 3): Sdot_omega u and Sdot_v u, the rates of omega and v (child components) if udot = 0.

        Zero unless the type says otherwise.
        """
        return np.zeros(3), np.zeros(3)

    def subspace_inverse(self, q: Array) -> Array:
        """(..., 3, 3) S_omega^-1 of a type that spans the rotations; others have none."""
        raise NotImplementedError(f"the motions of a {self.kind} joint are not all rotations")

    # ---- the state's manifold --------------------------------------------------------------------------------

    @abstractmethod
    def rate_matrix(self, q: Array) -> Array:
        """(..., nq, nu) N(q): qdot = N u."""

    @abstractmethod
    def rate_inverse(self, q: Array) -> Array:
        """(..., nu, nq) inverse of N on the rates that can be: u = N^+ qdot, N^+ N = 1."""

    @abstractmethod
    def integrate(self, q: Array, v: Array) -> Array:
        """(..., nq) coordinates after unit time at constant u = v (..., nu)."""

    @abstractmethod
    def difference(self, q0: Array, q1: Array) -> Array:
        """(..., nu) v with integrate(q0, v) = q1, the shortest one."""

    def damped(self, q: Array, u: Array) -> Array:
        """(..., nu) d of a damper c: generalized force -c d. u itself, unless the type says otherwise."""
        return u

    def rotor_drift(self, u: Array) -> Array | None:
        """(..., nu) d of rotors J: generalized force J (udot + d). None for zero: udot is the acceleration in the axes
        of the parent, unless the type says otherwise."""
        return None

    def deviation(self, q: Array, mount: Array) -> Array:
        """(..., nu) d of a spring mounted at q = `mount`: energy k |d|^2 / 2, generalized force -k d."""
        return self.difference(mount, q)

    @abstractmethod
    def neutral(self) -> Array:
        """(nq,) coordinates at which child frame and joint frame coincide, or the nearest regular ones."""

    @abstractmethod
    def random(self, n: int, rng: "np.random.Generator") -> Array:
        """(n, nq) coordinates, uniform over the joint's whole range."""


class CoordinateJoint(Joint):
    """A joint whose velocities are the rates of its coordinates: u = qdot, on a flat space.

    The base of joint types of one's own; `docs/extending/joint_type.md` has a complete one.

    >>> from myoquat.joints import CoordinateJoint, RevoluteJoint
    >>> issubclass(RevoluteJoint, CoordinateJoint)
    True
    """

    def displaced(self, q: Array, motion: Array) -> Array:
        return q + motion

    def rate_matrix(self, q: Array) -> Array:
        return np.eye(self.nq)

    def rate_inverse(self, q: Array) -> Array:
        return np.eye(self.nq)

    def integrate(self, q: Array, v: Array) -> Array:
        return q + v

    def difference(self, q0: Array, q1: Array) -> Array:
        return q1 - q0

    def neutral(self) -> Array:
        return np.zeros(self.nq)

    def random(self, n: int, rng: "np.random.Generator") -> Array:
        """Angles uniform over the circle, lengths within one metre of neutral."""
        span = [np.pi if unit == "rad" else 1.0 for unit in self.facts.coordinate_units]
        return rng.uniform(-1.0, 1.0, (n, self.nq)) * np.array(span)


# ---- Axes of joints: what turns about or slides along them, and what joints with one axis share -------------------


@frozen
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
    direction: Vector3
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

    @property
    def constant(self) -> float | None:
        """The value of a function that does not vary; None for another one."""
        return float(self.value(np.zeros(0))) if self.coordinate is None else self.function.as_constant

    @property
    def line(self) -> tuple[float, float] | None:
        """(factor, offset) of a linear function of one coordinate, or of a constant one; None for another one."""
        function = self.function
        found = None if isinstance(function, MultivariatePolynomial) else function.as_polynomial
        if found is None or len(found) > 2:
            return None
        return (found[1] if len(found) == 2 and self.coordinates else 0.0), found[0]

    @property
    def is_coordinate(self) -> bool:
        """Whether it moves by a coordinate or its opposite, by a line of slope 1 or -1."""
        return isinstance(self.function, Linear) and abs(self.function.factor) == 1

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


class AxesJoint(CoordinateJoint):
    """A joint of `rotations` about and `translations` along axes.

    Each axis of a rotation is fixed in the frame that the rotations before it have reached. The axes of translations
    are in the joint frame."""

    @memoize
    def transform(self, q: Array) -> Pair:
        return successive_rotations(directions_of(self.rotations), _values(self.rotations, q)), _sum(
            self.translations, _values(self.translations, q)
        )

    @memoize
    def subspace(self, q: Array) -> Pair:
        R, _ = self.transform(q)
        rotation_axes = self._rotation_axes(q)
        translation_axes = [vecmat(np.array(axis.direction), R) for axis in self.translations]
        return self._columns(self.rotations, rotation_axes, q), self._columns(self.translations, translation_axes, q)

    def _rotation_axes(self, q: Array) -> list[Array]:
        return child_axes(directions_of(self.rotations), _values(self.rotations, q))

    def _columns(self, axes: Sequence[Axis], vectors: Sequence[Array], q: Array) -> Array:
        """(..., 3, nu): column i sums the axes that coordinate i moves, by their slopes."""
        columns: list[Array] = [np.zeros((*q.shape[:-1], 3)) for _ in range(self.nu)]
        for axis, v in zip(axes, vectors, strict=True):
            for i, slope in zip(axis.coordinates, axis.slopes(q), strict=True):
                columns[i] = columns[i] + v * slope[..., None]
        return vector(columns) if columns else np.zeros((3, 0))

    def drift(self, q: Array, u: Array) -> Pair:
        """Sdot u from the curvature of the functions, and from the rotation of the axes."""
        R, _ = self.transform(q)
        rotation_axes = self._rotation_axes(q)
        rates = [axis.rate(q, u) for axis in self.rotations]
        omega = sum((b * r[..., None] for b, r in zip(rotation_axes, rates, strict=True)), start=np.zeros(3))
        c_omega = angular_drift(rotation_axes, rates)
        for b, axis in zip(rotation_axes, self.rotations, strict=True):
            c_omega = c_omega + b * axis.bend(q, u)[..., None]
        v = vecmat(_sum(self.translations, [axis.rate(q, u) for axis in self.translations]), R)
        c_v = vecmat(_sum(self.translations, [axis.bend(q, u) for axis in self.translations]), R) + cross(v, omega)
        return c_omega, c_v


def directions_of(axes: Sequence[Axis]) -> list[Vector3]:
    return [axis.direction for axis in axes]


def _sum(axes: Sequence[Axis], amounts: Sequence[Array]) -> Array:
    """(..., 3) sum of directions times amounts (...)."""
    total = np.zeros(3)
    for axis, amount in zip(axes, amounts, strict=True):
        total = total + np.array(axis.direction) * amount[..., None]
    return total


def _values(axes: Sequence[Axis], q: Array) -> list[Array]:
    return [axis.value(q) for axis in axes]


@frozen
class AxisJoint(CoordinateJoint):
    """A joint with one `axis`, the same in joint and child frame, kept at unit length; ValueError for a bad one."""

    constants: ClassVar[tuple[str, ...]] = ("axis",)
    axis: Vector3 = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "axis", unit_axis(self.axis))


class DirectedJoint(AxisJoint):
    """An AxisJoint whose formulas take any axis, symbols among them, and that its bodies' exchange turns around."""

    def opposite(self) -> "DirectedJoint":
        return replace(self, axis=opposite(self.axis))

    @property
    def pattern(self) -> Hashable:
        """The type, and which components of the axis are zero: along an axis of the frame formulas are shorter."""
        return type(self), tuple(x == 0.0 for x in self.axis)

    @property
    def numbers(self) -> tuple[float, ...]:
        return self.axis

    def with_numbers(self, numbers: Array) -> "DirectedJoint":
        return unchecked(self, {"axis": numbers})


def opposite(axis: Vector3) -> Vector3:
    """The axis the other way round, without a negative zero."""
    x, y, z = (0.0 - entry for entry in axis)
    return x, y, z


def unit_axis(axis: Sequence[float]) -> Vector3:
    """The axis at length 1, unchanged if it already is; ValueError for zero length, NaN or a wrong size."""
    values = tuple(float(x) for x in axis)
    if len(values) != 3 or not all(map(is_plausible, values)):
        raise ValueError(f"an axis must be three finite numbers{size_limit(values)}, not {tuple(axis)}")
    length = math.hypot(*values)
    if length == 0.0:
        raise ValueError("an axis must not have length zero")
    x, y, z = values if abs(length - 1.0) < 1e-15 else (v / length for v in values)
    return x, y, z


def perpendiculars(axis: Sequence[float]) -> Pair:
    """(3,), (3,) unit vectors e1, e2 that make (e1, e2, axis) right-handed; x and y for the z axis."""
    a = np.asarray(axis, dtype=float)
    start = (0.0, 1.0, 0.0) if abs(a[1]) < 0.9 else (0.0, 0.0, 1.0)
    e1 = np.cross(start, a)
    e1 = e1 / np.linalg.norm(e1)
    return e1 + 0.0, np.cross(a, e1) + 0.0
