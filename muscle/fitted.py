"""Paths whose length is a function of coordinates."""

from collections.abc import Mapping, Sequence
from functools import cache, cached_property, reduce
from itertools import chain, combinations_with_replacement, groupby
from operator import or_
from typing import Any, ClassVar, Self

import numpy as np

from myoquat.core import Array, Record, check_type, check_types, frozen
from myoquat.joints import ArticulatedSystem, G, ModelError
from myoquat.joints.functions import MultivariatePolynomial
from myoquat.joints.ranges import Positive, check_ranges
from myoquat.joints.vectors import vector
from myoquat.kernels.symbolic.arrays import as_array

from .loads import world_point
from .points import DrivenPoint, PathPoint
from .segments.stops import stops_length


@frozen
class FunctionPoint(DrivenPoint):
    """The end of a path whose length [m] is a function of coordinates.

    It moves along x of its body, as far from `position` as the function says. The path from `position` to it thus has
    that length. Such a path has no place: pictures show it as a straight line. The function must be positive where the
    model moves, since the length is its magnitude. Scaling bodies leaves it as it is.
    """

    on_body: ClassVar[bool] = False
    constants: ClassVar[tuple[str, ...]] = ("position", "fitted")

    def distance(self, system: ArticulatedSystem, q: Array) -> Array:
        """(...) [m] the length at coordinates q (..., nq): the formula, on floats and symbols."""
        raise NotImplementedError

    def local(self, system: ArticulatedSystem, q: Array) -> Array:
        length = self.distance(system, q)
        x, y, z = self.position
        return vector([x + length, y + 0.0 * length, z + 0.0 * length])

    def scaled(self, factors: Array) -> Self:
        return self


@frozen
class LengthPoint(FunctionPoint):
    """The end of a path whose length [m] is a polynomial of coordinates [rad or m].

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.joints.functions import MultivariatePolynomial
    >>> from myoquat.muscle import LengthPoint
    >>> shin = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)), coordinate_names=("knee",))
    >>> length = MultivariatePolynomial(dimension=1, order=1, coefficients=(0.3, 0.04))  # 0.3 + 0.04 knee
    >>> point = LengthPoint("ground", (0.0, 0.0, 0.0), ("knee",), length)
    >>> point.local(mq.ArticulatedSystem((shin,)), np.array([0.5]))
    array([0.32, 0.  , 0.  ])
    """

    coordinates: tuple[str, ...]
    length: MultivariatePolynomial

    def driving(self, system: ArticulatedSystem) -> tuple[str, ...]:
        return self.coordinates

    def check(self, system: ArticulatedSystem, element: str) -> None:
        super().check(system, element)
        if len(self.coordinates) != self.length.dimension or len(set(self.coordinates)) < len(self.coordinates):
            raise ModelError(
                f"a length that is a polynomial of {self.length.dimension} coordinates needs as many different "
                f"coordinates, not {list(self.coordinates)}",
                element=element,
            )

    def distance(self, system: ArticulatedSystem, q: Array) -> Array:
        return self.length.value(vector([system.coordinate(name, q) for name in self.coordinates]))


def function_path(
    coordinates: tuple[str, ...], length: MultivariatePolynomial, body: str = "ground"
) -> tuple[PathPoint, LengthPoint]:
    """The `path` of a Muscle whose length [m] is a polynomial of coordinates, OpenSim's FunctionBasedPath.

    Lengths, Jacobians, speeds, torques and everything built on them work as for a path of points; J is the derivative
    of the polynomial. The path pulls on the joints of its coordinates. Where it pulls on bones
    is not known without a `MusclePath.anatomy`.

    >>> import myoquat as mq
    >>> from myoquat.joints.functions import MultivariatePolynomial
    >>> from myoquat.muscle import function_path
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), coordinate_names=("elbow",))
    >>> length = MultivariatePolynomial(dimension=1, order=1, coefficients=(0.3, -0.04))  # a moment arm of 4 cm
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", function_path(("elbow",), length)),))
    >>> mq.path_lengths(model, [0.5]).round(12), mq.path_jacobian(model, [0.5])[0].round(12)
    (array([0.28]), array([-0.04]))
    """
    check_types(coordinates=(coordinates, (tuple, list)), length=(length, MultivariatePolynomial))
    start = PathPoint(body, (0.0, 0.0, 0.0))
    return start, LengthPoint(body, start.position, tuple(coordinates), length)


# ---- Paths whose length is a function of poses ----------------------------------------------------------------------
# The length is a polynomial on the sphere of each ball joint's quaternion, times one in scalar coordinates.
#
# Let P = conj(C) Q be the quaternion Q of a ball joint relative to a center C, and alpha = (a1, a2, a3) powers. The
# functions
#
#     P0^s P1^a1 P2^a2 P3^a3,    s = 0 for an even sum |alpha|, 1 for an odd one,
#
# are smooth on all rotations and even, f(Q) = f(-Q). For even d there are 1, 10, 35, 84, 165 of them with |alpha| <=
# d = 0, 2, 4, 6, 8. They span the even polynomials of degree d in all four components on the sphere |Q| = 1, because
# P0^2 = 1 - P1^2 - P2^2 - P3^2. These are the hyperspherical harmonics of even degree. There is no chart and no
# singular pose. Near the center P1, P2, P3 are half the components of the rotation vector, so that |alpha| is the
# order of a term there.


DOMAIN_TOLERANCE = 1e-9  # by which a scaled variable may lie outside [-1, 1]


@frozen
class PoseVariables(Record):
    """The variables of a fitted function: P0, P1, P2, P3 of each ball joint, then each scalar coordinate.

    balls         bodies whose joints have a unit quaternion Q: spherical and floating joints
    centers       a unit quaternion C (4,) for each; its variables are the components of P = conj(C) Q
    coordinates   names of scalar coordinates x [rad or m]
    intervals     (low, high) for each; its variable is x mapped linearly from there to [-1, 1]

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle import PoseVariables
    >>> shoulder = mq.Body("arm", "ground", mq.joints.SphericalJoint())
    >>> variables = PoseVariables(("arm",), ((1.0, 0.0, 0.0, 0.0),))
    >>> [float(x) for x in variables.values(mq.ArticulatedSystem((shoulder,)), np.array([0.8, 0.6, 0.0, 0.0]))]
    [0.8, 0.6, 0.0, 0.0]
    """

    balls: tuple[str, ...] = ()
    centers: tuple[tuple[float, ...], ...] = ()
    coordinates: tuple[str, ...] = ()
    intervals: tuple[tuple[float, float], ...] = ()

    @property
    def size(self) -> int:
        """The number of variables."""
        return 4 * len(self.balls) + len(self.coordinates)

    def names(self, system: ArticulatedSystem) -> tuple[str, ...]:
        """The coordinates of the system on which the variables depend."""
        slices = _quaternions(system)
        quaternions = [name for ball in self.balls for name in system.coordinate_names[slices[ball]]]
        return (*quaternions, *self.coordinates)

    def check(self, system: ArticulatedSystem, element: str) -> None:
        """ModelError for a joint without quaternion, an unknown coordinate, and numbers that do not fit."""
        for name in self.balls:
            if name not in _quaternions(system):
                message = f"a fitted path needs a quaternion at the joint of body {name!r}; its joint has none"
                raise ModelError(f"{message}. Fit the paths again for these joints", element=element)
        for name in self.coordinates:
            if name not in system.coordinate_names:
                message = f"a fitted path depends on the coordinate {name!r}, which the system does not have"
                raise ModelError(f"{message}. Fit the paths again for these joints", element=element)
        check_ranges(self, element, "fitted path: ")
        if len(self.centers) != len(self.balls) or any(abs(np.linalg.norm(C) - 1) > 1e-9 for C in self.centers):
            raise ModelError(f"each of {list(self.balls)} needs a unit quaternion as its center", element=element)
        if len(self.intervals) != len(self.coordinates) or not all(0 < b - a < np.inf for a, b in self.intervals):
            raise ModelError(f"each of {list(self.coordinates)} needs an interval (low, high)", element=element)

    def values(self, system: ArticulatedSystem, q: Array) -> list[Array]:
        """[(...) each variable] at coordinates q (..., nq): the formula, on floats and symbols."""
        found, slices = list[Array](), _quaternions(system)
        for ball, C in zip(self.balls, self.centers, strict=True):
            Q = q[..., slices[ball]]
            for row in (as_array(C), *G(as_array(C))):  # P0 = C . Q, and the vector part is G(C) Q
                found.append(np.sum(row * Q, axis=-1))
        for name, (low, high) in zip(self.coordinates, self.intervals, strict=True):
            x = system.coordinate(name, q)
            found.append((x - 0.5 * (low + high)) * (2.0 / (high - low)))
        return found


@frozen
class PoseFunction(Record):
    """f(q) = sum of c x1^i x2^j ... over the listed `powers` of the variables, with the `coefficients` c.

    The powers of each ball joint's four variables must have an even sum, so that f(Q) = f(-Q). ValueError otherwise.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle import PoseFunction, PoseVariables
    >>> arm = mq.ArticulatedSystem((mq.Body("arm", "ground", mq.joints.SphericalJoint()),))
    >>> variables = PoseVariables(("arm",), ((1.0, 0.0, 0.0, 0.0),))
    >>> f = PoseFunction(variables, powers=((0, 0, 0, 0), (1, 1, 0, 0)), coefficients=(0.3, 0.1))  # 0.3 + 0.1 Q0 Q1
    >>> Q = np.array([0.8, 0.6, 0.0, 0.0])
    >>> float(f.value(arm, Q).round(12)), float(f.value(arm, -Q).round(12))
    (0.348, 0.348)
    """

    variables: PoseVariables
    powers: tuple[tuple[int, ...], ...]
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.powers) != len(self.coefficients):
            raise ValueError(f"{len(self.powers)} powers need as many coefficients, not {len(self.coefficients)}")
        size = self.variables.size
        for power in self.powers:
            if len(power) != size or min(power, default=0) < 0:
                raise ValueError(f"the powers of a term must be {size} numbers that are not negative, not {power}")
            odd = [ball for k, ball in enumerate(self.variables.balls) if sum(power[4 * k : 4 * k + 4]) % 2]
            if odd:
                raise ValueError(f"the powers {power} have an odd sum at {odd[0]!r}, so that f(Q) would not be f(-Q)")

    def check(self, system: ArticulatedSystem, element: str) -> None:
        """ModelError as `PoseVariables.check`, and for coefficients that are not finite."""
        self.variables.check(system, element)
        check_ranges(self, element, "fitted path: ")

    def value(self, system: ArticulatedSystem, q: Array) -> Array:
        """(...) f at coordinates q (..., nq): the formula, on floats and symbols."""
        x = self.variables.values(system, q)
        return horner(dict(zip(self.powers, self.coefficients, strict=True)), x) + np.zeros(q.shape[:-1])

    def polynomial(self) -> MultivariatePolynomial:
        """The same function as a polynomial of the coordinates themselves; ValueError with ball joints.

        >>> from myoquat.muscle import PoseFunction, PoseVariables
        >>> knee = PoseVariables(coordinates=("knee",), intervals=((0.0, 2.0),))
        >>> PoseFunction(knee, powers=((0,), (2,)), coefficients=(0.3, 0.1)).polynomial().coefficients  # x = knee - 1
        (0.4, -0.2, 0.1)
        """
        variables = self.variables
        if variables.balls or not variables.coordinates:
            raise ValueError("only a function of scalar coordinates alone is a polynomial of coordinates")
        order, shape = max((sum(power) for power in self.powers), default=0), []
        for low, high in variables.intervals:
            base = np.array([-(low + high), 2.0]) / (high - low)
            shape.append([reduce(np.convolve, [base] * k, np.ones(1)) for k in range(order + 1)])
        total = np.zeros((order + 1,) * len(shape))
        for power, c in zip(self.powers, self.coefficients, strict=True):
            term = reduce(np.multiply.outer, (rows[k] for rows, k in zip(shape, power, strict=True)))
            total[tuple(slice(0, k + 1) for k in power)] += c * term
        kept = tuple(float(total[p]) for p in np.ndindex(total.shape) if sum(p) <= order)
        return MultivariatePolynomial(len(shape), order, kept)


@frozen
class FittedSet(Record):
    """The poses of a fit: those where phi(q)^T M phi(q) <= 1 and every scalar coordinate is in its interval.

    phi are all terms up to `degree` of the variables. Let C be the mean of phi phi^T over the poses of the fit. M is
    C^-1 divided by the greatest value of phi^T C^-1 phi at these poses. This value is the leverage of a pose in a
    regression on phi. The level sets follow the shape of the set, with the correlations between joints. Source: J.-B.
    Lasserre, E. Pauwels, Sorting out typicality with the inverse moment matrix SOS polynomial, NIPS 2016. `factor`
    holds the rows of the lower triangular L with M = L^T L.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle import FittedSet, PoseVariables
    >>> hinge = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)), coordinate_names=("knee",))
    >>> bent = FittedSet(PoseVariables(coordinates=("knee",), intervals=((0.0, 2.0),)), 1, (0.5, 0.0, 0.8))
    >>> bent.leaves(mq.ArticulatedSystem((hinge,)), np.array([[1.5], [2.5]]))  # 0.25 + 0.64 x^2 with x = knee - 1
    array([False,  True])
    """

    variables: PoseVariables
    degree: int
    factor: tuple[float, ...]

    def leaves(self, system: ArticulatedSystem, q: Array) -> Array:
        """(...) whether a pose q (..., nq) is outside the set: the formula, on floats and symbols."""
        x = self.variables.values(system, q)
        phi = [horner({power: 1.0}, x) for power in self._powers]
        rows, square = iter(self.factor), np.zeros(q.shape[:-1])
        for k in range(len(phi)):
            entry = sum((c * f for f, c in zip(phi[: k + 1], rows, strict=False)), np.zeros(q.shape[:-1]))
            square = square + entry * entry
        beyond = [np.abs(scalar) > 1.0 + DOMAIN_TOLERANCE for scalar in x[4 * len(self.variables.balls) :]]
        return reduce(or_, beyond, square > 1.0)

    def check(self, system: ArticulatedSystem, element: str) -> None:
        """ModelError as `PoseVariables.check`, and for a factor that does not fit."""
        self.variables.check(system, element)
        check_ranges(self, element, "fitted set: ")
        n = len(self._powers)
        if len(self.factor) != n * (n + 1) // 2:
            message = f"the factor of a fitted set of {n} terms has {n * (n + 1) // 2} entries, not {len(self.factor)}"
            raise ModelError(message, element=element)

    @cached_property
    def _powers(self) -> tuple[tuple[int, ...], ...]:
        return powers_up_to(self.variables, self.degree)


@frozen
class SurfaceTerm(Record):
    """What a surface adds to a length [m]: T(B(q)), B a function of the pose, smooth on the scale of the `width` w.

    effect  "contact" of a surface that the path touches where B > 0; "sides" of a surface that the path may pass on two
            sides

    With "contact" T = R^2 / 2 and R = (B + sqrt(B^2 + w^2)) / 2; B and w are in m^(1/2). The moment arm has a corner at
    B = 0, which w smooths. With "sides" T = -sqrt(B^2 + w^2), B and w are in m, and the two ways differ in length by 2
    |B|. The moment arm jumps at B = 0 for w = 0. All derivatives are continuous.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle import PoseFunction, PoseVariables, SurfaceTerm
    >>> hinge = mq.Body("shin", "ground", mq.joints.RevoluteJoint((0, 0, 1)), coordinate_names=("knee",))
    >>> depth = PoseFunction(PoseVariables(coordinates=("knee",), intervals=((-1.0, 1.0),)), ((1,),), (0.2,))
    >>> term = SurfaceTerm(depth, 1e-3, "contact")
    >>> term.value(mq.ArticulatedSystem((hinge,)), np.array([[-0.5], [0.5]])).round(6)
    array([0.   , 0.005])
    """

    function: PoseFunction
    width: Positive
    effect: str

    def check(self, system: ArticulatedSystem, element: str) -> None:
        """ModelError as `PoseFunction.check`, for a width that is not positive and an unknown effect."""
        self.function.check(system, element)
        check_ranges(self, element, "surface term: ")
        if self.effect not in SHAPES:
            message = f"a surface term has the effect {' or '.join(map(repr, SHAPES))}, not {self.effect!r}"
            raise ModelError(message, element=element)

    def value(self, system: ArticulatedSystem, q: Array) -> Array:
        """(...) the term at coordinates q (..., nq): the formula, on floats and symbols."""
        return surface_shape(self.effect, self.function.value(system, q), self.width)[0]


def _contact(B: Array, w: float) -> tuple[Array, Array, Array]:
    """R^2 / 2, R = (B + sqrt(B^2 + w^2)) / 2, and its derivatives by B."""
    r = np.sqrt(B * B + w * w)
    R = 0.5 * (B + r)
    slope = R / r
    return 0.5 * R * R, R * slope, slope * slope + 0.5 * R * w * w / (r * r * r)


def _sides(B: Array, w: float) -> tuple[Array, Array, Array]:
    """-sqrt(B^2 + w^2) and its derivatives by B."""
    r = np.sqrt(B * B + w * w)
    return -r, -B / r, -w * w / (r * r * r)


SHAPES = {"contact": _contact, "sides": _sides}


def surface_shape(effect: str, B: Array, width: float) -> tuple[Array, Array, Array]:
    """T(B) of a `SurfaceTerm`, with its first and second derivative by B: the formula, on floats and symbols."""
    return SHAPES[effect](B, width)


def straight_length(system: ArticulatedSystem, points: Sequence[PathPoint], q: Array) -> Array:
    """(...) length [m] of the straight pieces between points at coordinates q (..., nq): the formula, on floats and
    symbols."""
    poses = system.poses(q)
    stops = [(world_point(poses, point.body, point.local(system, q)),) for point in points]
    return stops_length(stops, [True] * len(stops))


@frozen
class FittedPoint(FunctionPoint):
    """The end of a path whose length [m] is a function of the pose; made by `fitted_path`.

    The length is the sum of a `PoseFunction`, of the straight pieces between the points `straight`, and of terms of the
    `surfaces`. Outside the set `fitted`, if there is one, `path_flags` says OUTSIDE.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle import FittedPoint, PoseFunction, PoseVariables
    >>> arm = mq.ArticulatedSystem((mq.Body("arm", "ground", mq.joints.SphericalJoint()),))
    >>> variables = PoseVariables(("arm",), ((1.0, 0.0, 0.0, 0.0),))
    >>> length = PoseFunction(variables, ((0, 0, 0, 0), (1, 1, 0, 0)), (0.3, 0.1))
    >>> FittedPoint("ground", (0.0, 0.0, 0.0), length).local(arm, np.array([0.8, 0.6, 0.0, 0.0])).round(12)
    array([0.348, 0.   , 0.   ])
    """

    length: PoseFunction
    fitted: FittedSet | None = None
    straight: tuple[PathPoint, ...] = ()
    surfaces: tuple[SurfaceTerm, ...] = ()

    def check(self, system: ArticulatedSystem, element: str) -> None:
        PathPoint.check(self, system, element)
        self.length.check(system, element)
        for part in (*(() if self.fitted is None else (self.fitted,)), *self.straight, *self.surfaces):
            part.check(system, element)

    def driving(self, system: ArticulatedSystem) -> tuple[str, ...]:
        functions = (self.length, *(term.function for term in self.surfaces))
        names = [name for f in functions for name in f.variables.names(system)]
        return tuple(dict.fromkeys([*names, *_moving_coordinates(system, self.straight)]))

    def distance(self, system: ArticulatedSystem, q: Array) -> Array:
        length = self.length.value(system, q)
        for term in self.surfaces:
            length = length + term.value(system, q)
        return length + straight_length(system, self.straight, q) if self.straight else length

    def leaves(self, system: ArticulatedSystem, q: Array) -> Array | None:
        return None if self.fitted is None else self.fitted.leaves(system, q)


def _moving_coordinates(system: ArticulatedSystem, points: Sequence[PathPoint]) -> list[str]:
    """The coordinates that move the bodies of some points relative to each other."""
    if not points:
        return []
    bodies = {point.body for point in points}
    base = system.lowest_common_ancestor(list(bodies))
    found: list[str] = []
    for body, at in zip(system.bodies, system.moving_q, strict=True):  # a follower's are its leader's
        if body.name != base and any(system.lowest_common_ancestor([body.name, b]) == body.name for b in bodies):
            inside = system.lowest_common_ancestor([body.name, base]) == base
            found += system.coordinate_names[at] if inside else []
    return list(dict.fromkeys(found))


def fitted_path(
    length: PoseFunction,
    fitted: FittedSet | None = None,
    body: str = "ground",
    *,
    straight: tuple[PathPoint, ...] = (),
    surfaces: tuple[SurfaceTerm, ...] = (),
) -> tuple[PathPoint, FittedPoint]:
    """The `path` of a Muscle whose length [m] is a function of the pose.

    The length is the sum of `length`, of the straight pieces between the points `straight`, and of the terms of
    `surfaces`.

    Lengths, Jacobians, speeds, torques and everything built on them work as for a path of points. J = G grad f / 2 is
    the exact derivative, so that the power of a tension F is -F dl/dt to rounding. The length must be positive. The
    path pulls on the joints of its variables. `MusclePath.anatomy` says where it pulls on bones. Pictures show it as a
    line at `body`.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.muscle import PoseFunction, PoseVariables, fitted_path
    >>> arm = mq.ArticulatedSystem((mq.Body("arm", "ground", mq.joints.SphericalJoint()),))
    >>> variables = PoseVariables(("arm",), ((1.0, 0.0, 0.0, 0.0),))
    >>> length = PoseFunction(variables, ((0, 0, 0, 0), (1, 1, 0, 0)), (0.3, 0.1))  # 0.3 + 0.1 Q0 Q1
    >>> model = mq.Model(arm, (mq.Muscle("deltoid", fitted_path(length)),))
    >>> abs(mq.path_jacobian(model, [1.0, 0.0, 0.0, 0.0])).round(12)  # Q1 changes by omega_x / 2
    array([[0.05, 0.  , 0.  ]])
    """
    check_type("length", length, PoseFunction)
    start = PathPoint(body, (0.0, 0.0, 0.0))
    return start, FittedPoint(body, start.position, length, fitted, tuple(straight), tuple(surfaces))


@cache
def powers_up_to(variables: PoseVariables, degree: int) -> tuple[tuple[int, ...], ...]:
    """All powers whose order is at most `degree`, by order.

    The order counts P1, P2, P3 and scalar coordinates. P0 has the power 0 or 1 that makes each ball joint's sum even.
    """
    balls, powers = len(variables.balls), list[tuple[int, ...]]()
    counted = range(3 * balls + len(variables.coordinates))
    for order in range(degree + 1):
        for alpha in sorted(tuple(map(term.count, counted)) for term in combinations_with_replacement(counted, order)):
            vectors = (alpha[3 * k : 3 * k + 3] for k in range(balls))
            powers.append((*chain.from_iterable((sum(v) % 2, *v) for v in vectors), *alpha[3 * balls :]))
    return tuple(powers)


def horner(terms: Mapping[tuple[int, ...], Any], x: Sequence[Array]) -> Any:
    """The sum of c x1^i x2^j ... over `terms` {powers: c}, by Horner's rule.

    The rule goes through the variables from the last to the first. Powers that no term has cost nothing.
    """
    found: dict[tuple[int, ...], Any] = dict(terms)
    for k in reversed(range(len(x))):
        groups = groupby(sorted(found.items(), reverse=True), key=lambda item: item[0][:-1])
        found = {rest: _in_one_variable([(power[-1], c) for power, c in group], x[k]) for rest, group in groups}
    return found[()] if found else 0.0


def _in_one_variable(terms: Sequence[tuple[int, Any]], x: Array) -> Any:
    """sum of c x^i over terms (i, c), the highest power first."""
    (last, total), *others = terms
    for power, c in others:
        total, last = total * x ** (last - power) + c, power
    return total * x**last if last else total


def _quaternions(system: ArticulatedSystem) -> dict[str, slice]:
    """Where the quaternions of joints lie in q, by the names of the bodies."""
    balls = (body.name for body in system.bodies if body.joint.facts.quaternion is not None)
    return dict(zip(balls, system.quaternion_slices(), strict=True))
