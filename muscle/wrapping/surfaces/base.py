"""A surface that a path wraps around, and where the path touches it."""

from abc import ABC, abstractmethod
from dataclasses import field, fields, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from myoquat.core import Array, Record, frozen
from myoquat.joints.errors import ModelError
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix
from myoquat.joints.ranges import vectors_of
from myoquat.joints.vectors import cross, dot, joined, matvec, vecmat
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.loads import check_part

from .vectors import always

QUADRANT_AXES = {f"{sign}{axis}": (i, float(f"{sign}1")) for i, axis in enumerate("xyz") for sign in "+-"}

MAX_DISTANCE_M = 1e9  # stands for no jump, and for the length and residual of a path that was not found
Line = tuple[Any, Any]  # two points


@frozen
class Contact:
    """How a path meets a surface, in the surface's frame, in that of its body, or in the world.

    on      (...) whether the path touches it; where not, the rest has no meaning but is finite
    P, Q    (..., 3) [m] where the path comes onto the surface and where it leaves
    arc     (...) [m] length of the path on the surface
    inside  (...) whether an end of the path lies inside the surface, which is then passed over
    jump    (..., 2) [m] about how far each end of the path would have to move by itself to make the length jump,
            infinite where it cannot
    missed  (...) how far a solver is from its solution, or would be if the path touched; zero for a closed form
    """

    on: Array
    P: Array
    Q: Array
    arc: Array
    inside: Array
    jump: Array
    missed: Array | float = 0.0

    @classmethod
    def none(cls, zero: Array) -> "Contact":
        """No contact, all fields arrays; zero (..., 3)."""
        number, never = zero[..., 0], ~always(zero[..., 0])
        return cls(never, zero, zero, number, never, zero[..., :2] + MAX_DISTANCE_M, number)

    @property
    def reversed(self) -> "Contact":
        """That of the path from its other end."""
        return replace(self, P=self.Q, Q=self.P, jump=self.jump[..., ::-1])

    def passed_over(self, where: Array) -> "Contact":
        """The same without contact where the condition holds, and reported as passed over where there would be one."""
        return replace(self, on=self.on & ~where, inside=self.inside | (self.on & where))


@frozen
class Near:
    """Where a solver begins, in the frame of the contact.

    P, Q   (..., 3) of a contact that is nearly right, where `known`
    arc    (...) of that contact
    known  (...) whether there is such a contact
    rough  (...) where the solver's first guess will do
    """

    P: Array
    Q: Array
    arc: Array
    known: Array
    rough: Array

    @classmethod
    def unknown(cls, zero: Array) -> "Near":
        """Where a solver begins that knows no contact; zero (..., 3)."""
        never = ~always(zero[..., 0])
        return cls(zero, zero, zero[..., 0], never, never)


@frozen
class Geodesic:
    """The end of a geodesic.

    x      (..., 3) [m] the point
    t      (..., 3) the direction
    a, da  (...) the Jacobi field that begins at 1 with the rate 0, and its rate
    r, dr  (...) the Jacobi field that begins at 0 with the rate 1, and its rate
    """

    x: Array
    t: Array
    a: Array
    da: Array
    r: Array
    dr: Array


@frozen(kw_only=True)
class Wrap(Record, ABC):
    """A surface fixed to a body. A shortest path between two points goes around it.

    position, orientation  [m] and unit quaternion: the surface's frame in the body's
    quadrant               "all", or the side on which the path passes the surface's axis or centre: "+x", "-y", ...
    rule                   by which it passes a sphere or cylinder, see below
    points                 the numbers of the path's points between which the surface acts; None for all of them
                           Where the first are off the path, it acts from the next one that is on, as in OpenSim
    method                 of OpenSim for ellipsoids. It has no effect here, and is written again

    A path in quadrant "+x" never crosses the half plane behind, x < 0 at y = 0, even where the straight line would. For
    a sphere the half plane is within the plane of the two ends and the centre. Around a cylinder a path with both ends
    behind, x < 0, runs past the front. It does so even where the straight line between the ends clears the cylinder.
    The winding grows beyond half a turn, and the path never slips off to the back.

    The length jumps where one end is ahead and the other crosses the half plane behind. It also jumps where an end
    leaves x > 0 on the side on which the other is behind. In quadrant "all" the path takes the shorter way; where both
    are equal the length has a kink.

    The rules of a sphere or a cylinder:

    "shortest"       that of the quadrant or the hint, as above
    "mujoco"         that of MuJoCo 4 for a side site, in the quadrant's direction: the path winds as the way over the
                     side site does. It differs for cylinders alone: a path with both ends behind that clears the
                     cylinder is straight. Source: XML Reference of MuJoCo 4, "spatial/geom/sidesite"
    "mujoco3"        that of MuJoCo until 3.17: the side in whose direction the points of contact lie more. Behind, on
                     the side against the quadrant, no path is straight
    "inside"         along the inner side, as in MuJoCo with a side site inside. A path that would pass the surface by
                     touches it in one point, where both straight pieces meet it at the same angle. A path whose
                     straight line meets the surface is free, and so is one with an end inside
    "mujoco_inside"  the same with a point of contact as inexact as MuJoCo's, whose iteration ends at 1e-6 rad. The
                     Jacobian equals MuJoCo's, and differs from the derivative of the length by up to 1e-7. The length
                     differs by the square of that

    Where several surfaces act on one piece, the ends are those of the path's straight parts before and after the
    surface. A cylinder in quadrant "all" is then passed on the side on which the whole piece is shorter. The same pose
    always gives the same path.

    >>> from myoquat.muscle import WrapCylinder, WrapSphere
    >>> wraps = WrapSphere(body="femur", radius=0.02), WrapCylinder(body="femur", radius=0.03, length=0.1)
    >>> [(wrap.kind, wrap.sizes()) for wrap in wraps]
    [('sphere', {'radius': 0.02}), ('cylinder', {'radius': 0.03, 'length': 0.1})]
    """

    constants: ClassVar[tuple[str, ...]] = ("hint",)
    body: str
    position: Annotated[tuple[float, ...], 3] = (0.0, 0.0, 0.0)
    orientation: Annotated[tuple[float, ...], 4] = (1.0, 0.0, 0.0, 0.0)
    quadrant: str = "all"
    rule: str = "shortest"
    points: tuple[int, int] | None = None
    name: str = ""
    hint: Annotated[tuple[float, ...], 3] | None = None
    method: str = field(default="hybrid", compare=False)

    kind: ClassVar[str] = "wrap"
    shape: ClassVar[str] = "wrap"  # the solid that it bounds: "sphere", "cylinder", "ellipsoid" or "torus"
    rules: ClassVar[tuple[str, ...]] = ("shortest",)
    axes: ClassVar[int] = 3  # how many axes of its frame tell a side
    _sided: ClassVar[bool] = True  # whether the quadrant changes the path
    ring: ClassVar[bool] = False  # whether the path passes through it, however far it lies from the way of the path
    quadrants: ClassVar[tuple[str, ...]] = tuple(QUADRANT_AXES)

    def check(self, system: ArticulatedSystem, element: str, count: int) -> None:
        """ModelError for a body that the system lacks, impossible numbers, or points that a path of `count` lacks."""
        what = f"{self._words}: "
        check_part(self, system, element, what)
        for key, allowed in (("quadrant", ("all", *self.quadrants)), ("rule", self.rules)):
            if (value := getattr(self, key)) not in allowed:
                raise ModelError(f"{what}{key} is one of {', '.join(allowed)}, not {value!r}", element=element)
        if self.hint is not None and self.quadrant != "all":
            raise ModelError(f"{what}give a quadrant or a hint, not both", element=element)
        if self.hint is not None and not self.tells_side(self.hint):
            raise ModelError(
                f"{what}hint {self.hint} lies in the middle of it; give a point on the side where the path passes",
                element=element,
            )
        if self.points is not None and not (len(self.points) == 2 and 0 <= self.points[0] < self.points[1] < count):
            raise ModelError(
                f"{what}points must be two numbers from 0 to {count - 1}, the first below the second, "
                f"not {self.points}",
                element=element,
            )

    @property
    def _words(self) -> str:
        return f"the {self.kind} {self.name!r}" if self.name else f"the {self.kind}"

    def tells_side(self, hint: tuple[float, ...]) -> bool:
        """Whether a path can be passed on the side of a point of the surface's frame, or need not be."""
        return not self._sided or any(hint[: self.axes])

    def sizes(self) -> dict[str, float]:
        """The lengths [m] that make the shape, by name; all must be positive."""
        return {name: getattr(self, name) for name in self._counts if name != "hint"}

    def scaled(self, factors: Array) -> Self:
        """The surface on a body stretched by factors (3,) along its axes, of the same type, by OpenSim's rules.

        With a_k its own axes, its extent along a_k grows by |factors * a_k|; see `resized` of each type.
        """
        s = np.asarray(factors, dtype=float)
        along = np.linalg.norm(s[:, None] * self._rotation(), axis=0)
        changes: dict[str, Any] = {"position": s * np.array(self.position), **self.resized(s, along)}
        if self.hint is not None:
            changes["hint"] = vecmat(s * self.direction_in_body(np.array(self.hint)), self._rotation())
        return replace(self, **changes)

    @abstractmethod
    def resized(self, factors: Array, along: Array) -> dict[str, Any]:
        """The sizes, by field, on a body stretched by factors (3,), the surface's own axes by `along` (3,)."""

    @property
    def _counts(self) -> dict[str, int]:
        """The fields that `shaped` changes, sizes and a hint that tells the side. With its length, 0 of a number."""
        names = [f.name for f in fields(self) if f.name not in Wrap.__dataclass_fields__]
        names += [] if self.hint is None or not self._sided else ["hint"]
        tuples = vectors_of(type(self))
        return {name: as_array(getattr(self, name)).shape[-1] if name in tuples else 0 for name in names}

    def numbers(self) -> Array:
        """(..., n) the numbers that make the shape, for `shaped`."""
        found = [(as_array(getattr(self, name)), count) for name, count in self._counts.items()]
        return joined([x if count else x[..., None] for x, count in found])

    def shaped(self, numbers: Array) -> Self:
        """The same surface with other `numbers` (..., n), floats or symbols, for each state of a batch its own."""
        changes: dict[str, Any] = {}
        first = 0
        for name, count in self._counts.items():
            changes[name] = numbers[..., first : first + count] if count else numbers[..., first]
            first += max(count, 1)
        return replace(self, **changes)

    @abstractmethod
    def contact(self, A: Array, B: Array, line: Line | None = None, near: Near | None = None) -> Contact:
        """Where the shortest path from A to B (..., 3) [m] on the quadrant's side touches; all in the surface's frame.

        line  two points (..., 3) whose straight connection tells the side of a surface that `divides`, so that other
              surfaces do not push the path to and fro
        near  where a solver begins
        """

    @abstractmethod
    def geodesic(self, P: Array, t: Array, length: Array, step: Array | float = 0.0) -> Geodesic:
        """The geodesic from P (..., 3) in the direction t (..., 3) for `length` (..., 1), in the surface's frame.

        It goes backwards where the length is below zero. The `step` (...) [rad] is that of the iteration before, for
        one that needs the geodesic only to steer.
        """

    def bent(self, P: Array, v: Array) -> Array:
        """(..., 3) how the outer unit normal at P (..., 3) changes along v (..., 3) in the tangent plane, but for parts
        along the normal; in the surface's frame. This one holds where `normal` is linear."""
        n = self.normal(P)
        result: Array = self.normal(v) / np.sqrt(dot(n, n))[..., None]
        return result

    @abstractmethod
    def cut(self, A: Array, B: Array) -> Array:
        """(...) whether the straight line from A to B (..., 3) runs through the surface, or past its wrong side."""

    def crossed(self, A: Array, B: Array) -> Array:
        """(...) whether the straight line from A to B (..., 3) runs past the wrong side of the surface."""
        return ~always(A[..., 0])

    def opensim_differs(self, A: Array, B: Array) -> Array:
        """(...) whether OpenSim leads a path from A to B (..., 3) another way round a surface that is `sided`."""
        raise NotImplementedError

    def distance_from_plane(self, x: Array) -> Array:
        """(...) [m] of a point (..., 3) from the plane of a ring outside of it; infinite for other surfaces."""
        none: Array = 0.0 * x[..., 0] + np.inf
        return none

    @property
    def solved(self) -> bool:
        """Whether an iterative solver finds the contact, so that it has no closed form."""
        return False

    @property
    def holds_inside(self) -> bool:
        """Whether a path runs along its inner side."""
        return False

    @property
    def sided(self) -> bool:
        """Whether a path with both ends behind runs past the front."""
        return False

    @property
    def on_one_piece(self) -> bool:
        """Whether it acts on one of several pieces of a path at a time: one that a path passes on one side, or through
        (`contacts`)."""
        return self.ring

    def in_the_way(self, A: Array, B: Array) -> Array:
        """(...) whether a surface `on_one_piece` lies across the straight line from A to B (..., 3), with an end in
        front, or is passed through."""
        raise NotImplementedError

    def on_longer_way(self, A: Array, B: Array, P: Array) -> Array:
        """(...) whether a path from A that comes onto the surface at P (..., 3) and ends in B (..., 3) goes the longer
        way round, because of its side or hint. Then another surface may make it shorter."""
        if self.quadrant == "all" and self.hint is None:
            return ~always(A[..., 0] + B[..., 0])
        a, b, p = (self.normal(x) for x in (A, B, P))
        result: Array = dot(cross(a, p), cross(a, b)) <= 0
        return result

    @property
    def divides(self) -> bool:
        """Whether paths on its two sides differ, so that the shorter one is only known when both are solved."""
        return False

    @property
    def half_axes(self) -> Array | None:
        """(..., 3) [m] of a surface without a side, a sphere or an ellipsoid; None for others."""
        return None

    def middle(self, A: Array, B: Array) -> Array:
        """(..., 3) of the points in the middle of the surface, where there are several, the one nearest to the line
        through A and B (..., 3)."""
        return 0.0 * (A + B)

    def meets(self, A: Array, B: Array) -> Array:
        """(...) whether the path from A to B (..., 3) may touch, as far as this is known without a solver."""
        if self.holds_inside:
            return always(A[..., 0] + B[..., 0])
        return self.cut(A, B) | self.crossed(A, B) if self.solved else self.contact(A, B).on

    @abstractmethod
    def holds(self, x: Array) -> Array:
        """(...) whether points x (..., 3) lie inside, so that no path from there goes around the surface."""

    @abstractmethod
    def normal(self, P: Array) -> Array:
        """(..., 3) a vector across the surface at a point P (..., 3) of it, of any length; in the surface's frame."""

    @abstractmethod
    def onto(self, x: Array) -> Array:
        """(..., 3) a point near x (..., 3) on the surface, for pictures; in the surface's frame."""

    @property
    def prototype(self) -> Self:
        """The surface as it is in its own frame, without its numbers: equal for all that one formula serves."""
        ones = {name: (1.0,) * count if count else 1.0 for name, count in self._counts.items()}
        changes: dict[str, Any] = {**ones, "quadrant": self.quadrant if self._sided else "all", "rule": self.rule}
        return type(self)(body="", **changes)

    @property
    def surface(self) -> Self:
        """The surface alone, whatever piece of a path it acts on: equal ones are one."""
        return replace(self, points=None, method="hybrid")

    @property
    def varies(self) -> bool:
        """Whether one of its numbers is a symbol."""
        values = [getattr(self, f.name) for f in fields(self)]
        flat = [x for value in values for x in (value if isinstance(value, tuple) else (value,))]
        return not all(x is None or isinstance(x, (str, float, int)) for x in flat)

    @property
    def ahead(self) -> Array | None:
        """(3,) the direction of the quadrant in the surface's frame, None for "all"."""
        if self.quadrant == "all":
            return None
        axis, sign = QUADRANT_AXES[self.quadrant]
        direction: Array = sign * np.eye(3)[axis]
        return direction

    def acts(self, number: int) -> bool:
        """Whether the surface acts on the piece of the path that ends in point `number`."""
        return self.points is None or self.points[0] < number <= self.points[1]

    def seen(self, x: Array) -> Array:
        """(..., 3) a point of the body's frame in the surface's."""
        return vecmat(x - as_array(self.position), self._rotation())

    def in_body(self, x: Array) -> Array:
        """(..., 3) a point of the surface's frame in the body's."""
        return as_array(self.position) + self.direction_in_body(x)

    def direction_in_body(self, v: Array) -> Array:
        """(..., 3) a direction of the surface's frame in the body's."""
        return matvec(self._rotation(), v)

    def _rotation(self) -> Array:
        return rotation_matrix(as_array(self.orientation))
