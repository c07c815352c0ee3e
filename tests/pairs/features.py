"""The features of a random model and its setting: a table of levels by feature, each a function of a draft.

A level changes the draft (`Draft`): it adds a body, a force, a muscle, or sets an option. Its random numbers come
from the case and the feature alone, so that other features stay the same where one is dropped.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.analysis.control import TRANSCRIPTIONS
from myoquat.dynamics import constraints as held
from myoquat.joints import Body, random_quaternions
from myoquat.joints.functions import (
    Constant,
    Linear,
    MultivariatePolynomial,
    NaturalSpline,
    Polynomial,
    SimmSpline,
    Sine,
)
from myoquat.joints.multibody.sampling import KINDS
from myoquat.joints.sequences import SEQUENCES
from myoquat.joints.types import (
    CustomJoint,
    EllipsoidJoint,
    EulerJoint,
    FixedJoint,
    FloatingJoint,
    FollowerJoint,
    GimbalJoint,
    Joint,
    PrismaticJoint,
    RevoluteJoint,
    SphericalJoint,
)
from myoquat.joints.types.angles import Angles
from myoquat.joints.types.base import Axis
from myoquat.joints.types.follower import Turn
from myoquat.muscle import (
    ActivationDynamics,
    ConditionalPoint,
    CoordinateLimit,
    Model,
    MovingPoint,
    Muscle,
    MusclePath,
    PathPoint,
    PoseFunction,
    PoseVariables,
    PrescribedInput,
    Pulley,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    WrapTorus,
    actuators,
    fitted_path,
    forces,
    function_path,
    laws,
    path_lengths,
)
from myoquat.muscle.constraints import PathLengthConstraint
from myoquat.muscle.coordinates import Coordinate, Coupler

from .draft import Draft, numbers

AXES = ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.6, 0.8))


# ---- bodies and joints --------------------------------------------------------------------------------------------


def _angles(d: Draft, body: str) -> Angles:
    axes = AXES if d.rng.random() < 0.5 else ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    return Angles(tuple(f"{body}_{k}" for k in "abc"), axes)


def _ball_custom(d: Draft) -> CustomJoint:
    """Three angles of a file about orthogonal axes, as OpenSim's models have them."""
    names = ("b1_a", "b1_b", "b1_c")
    axes = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    return CustomJoint(names, rotations=tuple(Axis(axis, k) for k, axis in enumerate(axes)), units=("rad",) * 3)


def _joint(make: Callable[[Draft], Joint], own: tuple[str, ...] | None = None) -> Callable[[Draft], None]:
    def level(d: Draft) -> None:
        joint = make(d)
        names = (
            own
            or getattr(joint, "coordinates", None)
            or (joint.angles.names if isinstance(joint, GimbalJoint) else None)
        )
        d.body("b1", "b0", joint, coordinate_names=names)

    return level


def _sampled(sort: str) -> Callable[[Draft], None]:
    return _joint(lambda d: KINDS[sort](d.rng))


def _follower(d: Draft) -> None:
    """A frame that follows part of a ball joint's rotation, with a moving body on it (b2)."""
    ball = SphericalJoint(angles=_angles(d, "b1"), velocity_frame=d.frame)
    d.body("b1", "b0", ball)
    d.body("f", "b0", FollowerJoint("b1", ball, (Turn((0.0, 1.0, 0.0), (0.7, 0.2, 0.0), 0.1),)))
    d.options["tip parent"] = "f"


JOINT = {
    "revolute": _sampled("revolute"),
    "fixed": _sampled("fixed"),
    "prismatic": _sampled("prismatic"),
    "spherical": _sampled("spherical"),
    "spherical with angles": _joint(lambda d: SphericalJoint(angles=_angles(d, "b1"))),
    "euler": _joint(lambda d: EulerJoint(str(d.rng.choice(SEQUENCES))), ("b1_a", "b1_b", "b1_c")),
    "gimbal": _joint(lambda d: GimbalJoint(_angles(d, "b1"))),
    "floating": _sampled("floating"),
    "floating with angles": _joint(lambda d: FloatingJoint(angles=_angles(d, "b1"))),
    "planar": _sampled("planar"),
    "universal": _sampled("universal"),
    "custom": _sampled("custom"),
    "custom ball": _joint(_ball_custom),
    "ellipsoid": _joint(lambda d: EllipsoidJoint((0.2, 0.3, 0.25), str(d.rng.choice(SEQUENCES)))),
    "constant curvature": _sampled("constant_curvature"),
    "reversed": _sampled("reversed"),
    "follower": _follower,
}


def _root(make: Callable[[Draft], Joint]) -> Callable[[Draft], None]:
    return lambda d: d.body("b0", "ground", make(d))


ROOT = {
    "hinge": _root(lambda d: RevoluteJoint(d.vector(1.0))),
    "weld": _root(lambda d: FixedJoint()),
    "slide": _root(lambda d: PrismaticJoint(d.vector(1.0))),
    "ball": _root(lambda d: SphericalJoint()),
    "free": _root(lambda d: FloatingJoint()),
}


def _tip(d: Draft) -> None:
    d.body("b2", d.options.pop("tip parent", "b1"), RevoluteJoint(d.vector(1.0)), coordinate_names=("h",))


def _branch(d: Draft) -> None:
    d.options.pop("tip parent", None)
    d.body("b2", "b0", RevoluteJoint(d.vector(1.0)), coordinate_names=("h",))


def _children_first(d: Draft) -> None:
    _tip(d)
    d.order = [body.name for body in reversed(d.bodies)]


def _massless(d: Draft) -> None:
    """A body without mass between b1 and b2."""
    parent = d.options.pop("tip parent", "b1")
    d.bodies.append(Body("n", parent, PrismaticJoint(d.vector(1.0)), d.vector(), coordinate_names=("n",)))
    d.body("b2", "n", RevoluteJoint(d.vector(1.0)), coordinate_names=("h",))


TREE = {"chain": _tip, "branch": _branch, "children first": _children_first, "massless": _massless}
FRAME = {"child": lambda d: None, "parent": lambda d: setattr(d, "frame", "parent")}


def _every_body(**changes: float) -> Callable[[Draft], None]:
    def level(d: Draft) -> None:
        d.bodies = [body if isinstance(body.joint, FollowerJoint) else replace(body, **changes) for body in d.bodies]

    return level


def _tip_only(d: Draft) -> None:
    d.bodies = [replace(b, damping=0.3, stiffness=5.0) if b.name == "b2" else b for b in d.bodies]


def _nothing(d: Draft) -> None:
    pass


PASSIVE = {
    "none": _nothing,
    "damping": _every_body(damping=0.3),
    "stiffness": _every_body(stiffness=5.0),
    "rotor": _every_body(rotor_inertia=0.2),
    "tip": _tip_only,
}


# ---- what holds the motion ----------------------------------------------------------------------------------------
# A free body "w" is held to b1 so that constraints are always consistent; a slider "s" serves couplers.


def _needs(*bodies: str) -> Callable[[Draft], None]:
    def level(d: Draft) -> None:
        if "w" in bodies:
            d.body("w", "ground", FloatingJoint())
        if "s" in bodies:
            d.body("s", "b1", PrismaticJoint(d.vector(1.0)), coordinate_names=("s",))

    return level


def _held(make: Callable[[Draft], Any]) -> Callable[[Draft], None]:
    def level(d: Draft) -> None:
        made = make(d)
        found = made if isinstance(made, tuple) else (made,)
        d.add("constraints", *(replace(constraint, name=f"held{k}") for k, constraint in enumerate(found)))

    return level


def _pair(d: Draft) -> tuple[str, str, tuple[float, ...], tuple[float, ...]]:
    point = d.vector()
    return "w", "b1", d.local("w", d.world("b1", point)), point


def _turned(d: Draft, first: str, second: str) -> tuple[float, ...]:
    """The XYZ angles of the second body in the first one's frame, in the first state."""
    R = d.pose(first)[0].T @ d.pose(second)[0]
    return numbers((np.arctan2(-R[1, 2], R[2, 2]), np.arcsin(R[0, 2]), np.arctan2(-R[0, 1], R[0, 0])))


def _parallel(d: Draft) -> held.ParallelAxes:
    axis = np.array(d.vector(1.0))
    return held.ParallelAxes("w", "b1", numbers(axis), numbers(d.pose("b1")[0].T @ d.pose("w")[0] @ axis))


def _rod(d: Draft) -> held.Distance:
    first, second = d.vector(), d.vector()
    far = float(np.linalg.norm(d.world("w", first) - d.world("b1", second)))
    return held.Distance("w", "b1", first, second, distance=far)


def _on_surface(d: Draft) -> held.OnSurface:
    n = d.rng.normal(size=3)
    radii = (0.2, 0.3, 0.4)
    on = n / np.linalg.norm(n) * radii
    center = d.vector()
    return held.OnSurface("b1", "w", center, d.local("w", d.world("b1", on + center)), radii=radii)


def _length(d: Draft) -> PathLengthConstraint:
    rope = Muscle("rope", (PathPoint("w", d.vector()), PathPoint("b1", d.vector())))
    rest = float(path_lengths(Model(d.system, (rope,)), d.q, backend="numpy")[0])
    return PathLengthConstraint(rope.path, rest_length=rest, coefficients=(0.0,))


def _twice(d: Draft) -> tuple[Any, ...]:
    loop = held.PointLoop(*_pair(d), axes="xz")
    return loop, replace(loop, axes="x")


CONSTRAINT = {
    "none": _nothing,
    "point": _held(lambda d: held.PointLoop(*_pair(d))),
    "point in a plane": _held(lambda d: held.PointLoop(*_pair(d), axes=d.choice("xz", "y"))),
    "rod": _held(_rod),
    "line": _held(lambda d: held.PointOnLine("w", "b1", _pair(d)[2], d.vector(1.0), _pair(d)[3])),
    "weld": _held(lambda d: held.Weld(*_pair(d), first_angles=_turned(d, "w", "b1"))),
    "axes": _held(_parallel),
    "surface": _held(_on_surface),
    "path length": _held(_length),
    "rolling": _held(lambda d: held.Rolling("w", 0.3)),
    "twice": _held(_twice),
}


def _coupler(make: Callable[[Draft, float, float], Any]) -> Callable[[Draft], None]:
    """The slider follows another coordinate; the function goes through the first state."""

    def level(d: Draft) -> None:
        name, value = d.coordinate("s")
        at = float(d.system.coordinate("s", d.q))
        d.add("couplers", Coupler("c", "s", name, make(d, value, at)))

    return level


def _multiple(d: Draft) -> None:
    """A constraint with several driving coordinates."""
    name, x = d.coordinate("s")
    other, y = d.coordinate("s", name) if len(_scalars(d)) > 2 else (name, x)
    at = float(d.system.coordinate("s", d.q))
    driving = (name, other) if other != name else (name,)
    powers = ((0, 0), (1, 0), (1, 1)) if other != name else ((0,), (1,), (2,))
    rest = 0.1 * x + (0.2 * x * y if other != name else 0.2 * x * x)
    d.add("constraints", held.PolynomialCoupler("s", driving, (at - rest, 0.1, 0.2), powers))


def _scalars(d: Draft) -> list[str]:
    system = d.system
    return [n for b in system.bodies if b.joint.facts.quaternion is None for n in b.names_of_coordinates] + list(
        system.angle_names
    )


def _spline(d: Draft, x: float, y: float) -> SimmSpline:
    knots = np.array([-8.3, -1.3, -0.3, 0.7, 7.7])  # none at the state: the third derivative jumps there
    return SimmSpline(numbers(x + knots), numbers(y + 0.1 * np.array([-2.0, -0.7, 0.0, 0.5, 1.0])))


COUPLER = {
    "none": _nothing,
    "linear": _coupler(lambda d, x, y: Linear(0.3, y - 0.3 * x)),
    "polynomial": _coupler(lambda d, x, y: Polynomial((0.2, 0.1, y - 0.2 * x * x - 0.1 * x))),
    "spline": _coupler(_spline),
    "several": _multiple,
}


def _locked(d: Draft) -> None:
    d.add("coordinates", Coordinate("h", None, locked=True))


def _prescribed(d: Draft) -> None:
    """States are moved to where the function is at their time."""
    way = Sine(0.2, 3.0, 0.4, float(d.system.coordinate("h", d.q)))
    d.add("coordinates", Coordinate("h", prescribed=way))


LOCK = {"none": _nothing, "locked": _locked, "prescribed": _prescribed}


# ---- forces -------------------------------------------------------------------------------------------------------


def _limit(d: Draft) -> None:
    name, x = d.coordinate()
    stop = CoordinateLimit("stop", name, x - 2.0, x - 0.05, 40.0, 60.0, 0.1, damping=d.choice(0.0, 0.5))
    d.add("limits", stop)


LIMIT = {
    "none": _nothing,
    "coordinate": _limit,
    "rotation": lambda d: d.add("forces", forces.RotationLimit("turn", "b1", 0.2, 15.0, 0.1, d.choice(0.0, 0.3))),
    "swing and twist": lambda d: d.add(
        "forces", forces.SwingTwistLimit("cone", "b1", 0.3, (-0.2, 0.1), swing_stiffness=20.0, twist_stiffness=10.0)
    ),
}


def _spring(d: Draft) -> forces.CoordinateSpring:
    name, x = d.coordinate()
    return forces.CoordinateSpring("spring", name, 20.0, x - 0.3, d.choice(0.0, 0.4))


def _expression(d: Draft) -> forces.CoordinateExpression:
    return forces.CoordinateExpression("text", d.coordinate()[0], "-5*q^3-0.5*qdot+sin(q)")


def _force(make: Callable[[Draft], Any]) -> Callable[[Draft], None]:
    return lambda d: d.add("forces", make(d))


SPRING = {
    "none": _nothing,
    "coordinate": _force(_spring),
    "friction": _force(lambda d: forces.CoordinateFriction("dry", d.coordinate()[0], 0.7, 0.5)),
    "expression": _force(_expression),
    "points": _force(lambda d: forces.PointSpring("band", "ground", "b2", d.vector(), d.vector(), 50.0, 0.1)),
    "points by expression": _force(
        lambda d: forces.PointExpression("band", "b0", "b2", d.vector(), d.vector(), "30*(d-0.2)^2+0.1*ddot")
    ),
}


def _frames(d: Draft) -> dict[str, Any]:
    """Frames of b0 and b2 that are turned by less than a right angle against each other in the first state."""
    angles = np.array(_turned(d, "b0", "b2")) + 0.3
    return {"first_point": d.vector(), "second_point": d.vector(), "first_angles": numbers(angles)}


DAMPED = {"rotational_damping": (0.2, 0.1, 0.3), "translational_damping": (0.3, 0.2, 0.4)}
LINEAR = {"rotational_stiffness": (2.0, 3.0, 4.0), "translational_stiffness": (20.0, 30.0, 40.0)}
FUNCTIONS = {
    "moments": (Polynomial((1.0, 2.0, 0.0)), Linear(2.0), Constant()),
    "forces": (Linear(10.0), Constant(), Polynomial((9.0, 0.0, 3.0, 0.0))),
}
TEXTS = {"moments": ("2*theta_x+theta_y*delta_x", "3*theta_y", "0"), "forces": ("20*delta_x", "0", "10*delta_z^3")}


def _bushing(bushing: Any, **elastic: Any) -> Callable[[Draft], None]:
    return _force(lambda d: bushing("disc", "b0", "b2", **elastic, **_frames(d), **DAMPED))


BUSHING = {
    "none": _nothing,
    "linear": _bushing(forces.Bushing, **LINEAR),
    "functions": _bushing(forces.BushingFunctions, **FUNCTIONS),
    "expressions": _bushing(forces.BushingExpressions, **TEXTS),
}


def _touching(d: Draft, surface: Callable[..., Any], depth: float = 0.01, **size: Any) -> tuple[Any, Any]:
    """A floor below a surface of b2, which it presses in the first state."""
    n = d.rng.normal(size=3)
    n /= np.linalg.norm(n)
    center = d.vector()
    made = surface("round", "b2", center, **size)
    low = d.world("b2", center) - n * (size.get("radius", 0.05) - depth)
    return made, forces.ContactHalfSpace("floor", "ground", numbers(low), normal=numbers(n))


def _hertz(d: Draft) -> forces.HuntCrossley:
    made, floor = _touching(d, forces.ContactSphere, radius=0.08)
    hard = forces.ContactMaterial((floor,), 1e5, 0.3, 0.7, 0.5, 0.1)
    return forces.HuntCrossley("contact", (forces.ContactMaterial((made,), 5e4, 0.5, 0.6, 0.4, 0.2), hard), 0.3)


def _smooth_contact(d: Draft) -> forces.SmoothSphereHalfSpace:
    made, floor = _touching(d, forces.ContactSphere, radius=0.08)
    return forces.SmoothSphereHalfSpace("contact", made, floor, 1e5, 0.5, 0.6, 0.4, 0.1, 0.3)


def _linear_contact(d: Draft) -> forces.LinearContact:
    surface, size = d.choice(
        (forces.ContactSphere, {"radius": 0.08}),
        (forces.ContactCapsule, {"radius": 0.05, "half_length": 0.04}),
        (forces.ContactEllipsoid, {"radii": (0.05, 0.06, 0.07)}),
    )
    made, floor = _touching(d, surface, **size)
    return forces.LinearContact("contact", made, floor, 2e3, 5.0, 0.5, 0.002, 0.01, 0.3)


def _between(d: Draft) -> forces.LinearContact:
    """Two solids of b0 and b2."""
    first = forces.ContactSphere("one", "b0", d.vector(), radius=0.08)
    center = d.world("b0", first.position) + 0.12 * np.array([0.6, 0.8, 0.0])
    second = forces.ContactSphere("other", "b2", d.local("b2", center), radius=0.06)
    return forces.LinearContact("contact", first, second, 2e3, 5.0, 0.5, 0.0, 0.01, 0.3)


CONTACT = {
    "none": _nothing,
    "hertz": _force(_hertz),
    "smooth": _force(_smooth_contact),
    "linear": _force(_linear_contact),
    "two bodies": _force(_between),
}


def _timed(**more: Any) -> Callable[[Draft], None]:
    def make(d: Draft) -> forces.PrescribedForce:
        f = (Sine(20.0, 3.0, 0.4, 5.0), Polynomial((4.0, -3.0, 2.0)), Constant(3.0))
        n = (Linear(2.0, 0.5), Constant(1.0), Sine(2.0, 2.0, 0.0, 0.3))
        at = tuple(Constant(x) for x in d.vector())
        return forces.PrescribedForce("push", "b2", forces=f, points=at, torques=n, **more)

    return _force(make)


TIMED = {
    "none": _nothing,
    "world": _timed(in_world=True),
    "body": _timed(in_world=False),
    "point in world": _timed(in_world=False, point_in_world=True),
    "other frames": _timed(force_frame="b0", point_frame="b0"),
}


def _actuator(actuator: Any, make: Callable[[Draft], dict[str, Any]], **more: float) -> Callable[[Draft], None]:
    bounds = {"lower": -1.0, "upper": 1.0} if hasattr(actuator, "lower") else {}
    return lambda d: d.add("actuators", actuator("motor", **make(d), **bounds, **more))


def _on_coordinate(d: Draft) -> dict[str, Any]:
    return {"coordinate": d.coordinate()[0], "optimal_force": 8.0}


def _at_point(d: Draft) -> dict[str, Any]:
    return {"body": "b2", "point": d.vector(), "direction": d.vector(1.0), "direction_in_world": d.choice(True, False)}


def _about_axis(d: Draft) -> dict[str, Any]:
    return {"first": "b2", "second": "b0", "axis": d.vector(1.0), "in_world": d.choice(True, False)}


def _between_points(d: Draft) -> dict[str, Any]:
    return {"first": "ground", "second": "b2", "first_point": d.vector(), "second_point": d.vector()}


ACTUATOR = {
    "none": _nothing,
    "coordinate": _actuator(actuators.CoordinateActuator, _on_coordinate),
    "body": _actuator(
        actuators.BodyActuator, lambda d: {"body": "b2", "point": d.vector(), "in_world": d.choice(True, False)}
    ),
    "point": _actuator(actuators.PointActuator, _at_point, optimal_force=8.0),
    "torque": _actuator(actuators.TorqueActuator, _about_axis, optimal_force=8.0),
    "two points": _actuator(actuators.PointToPointActuator, _between_points, optimal_force=8.0),
    "delayed": _actuator(actuators.ActivationCoordinateActuator, _on_coordinate),
    "integrating": _actuator(actuators.IntegratingCoordinateActuator, _on_coordinate),
}


# ---- the muscle ---------------------------------------------------------------------------------------------------


def _points(d: Draft) -> tuple[PathPoint, ...]:
    return PathPoint("ground", d.vector()), PathPoint("b0", d.vector()), PathPoint("b2", d.vector())


def _moving(d: Draft) -> tuple[PathPoint, ...]:
    first, middle, last = _points(d)
    x, _ = d.coordinate()
    y = d.choice(x, d.coordinate()[0])
    knots = (-4.0, -1.0, 0.0, 1.0, 4.0)
    functions = (
        Linear(0.05, middle.position[0]),
        SimmSpline(knots, numbers(d.rng.normal(size=5) * 0.05)),
        Constant(0.1),
    )
    return first, MovingPoint("b0", (0.0, 0.0, 0.0), (x, y, x), functions, ((-10.0, 10.0),) * 3), last


def _branched(d: Draft) -> tuple[PathPoint, ...]:
    return *_points(d), PathPoint("b0", d.vector()), PathPoint("b2", d.vector())


def _conditional(d: Draft) -> tuple[PathPoint, ...]:
    first, middle, last = _points(d)
    name, x = d.coordinate()
    inside = d.choice((x - 0.5, x + 3.0), (x + 0.5, x + 3.0))
    return first, ConditionalPoint("b0", middle.position, name, inside), last


def _polynomial(d: Draft) -> tuple[PathPoint, ...]:
    name, x = d.coordinate()
    return function_path((name,), MultivariatePolynomial(1, 2, numbers((0.5 + 0.05 * abs(x), 0.04, 0.01))))


def _fitted(d: Draft) -> tuple[PathPoint, ...]:
    name, x = d.coordinate(*d.system.angle_names)
    balls = tuple(b.name for b in d.system.bodies if b.joint.facts.quaternion is not None and b.name != "w")[:1]
    variables = PoseVariables(balls, ((1.0, 0.0, 0.0, 0.0),) * len(balls), (name,), ((x - 2.0, x + 2.0),))
    zeros = (0, 0, 0, 0) * len(balls)
    turn = [((1, 1, 0, 0, 1), 0.05), ((0, 1, 1, 0, 0), 0.04)] if balls else [((2,), 0.05)]
    terms = [((*zeros, 0), 0.5), ((*zeros, 1), 0.06), *turn]
    length = PoseFunction(variables, tuple(p for p, _ in terms), tuple(c for _, c in terms))
    return fitted_path(length, straight=d.choice((), _points(d)[:2]))


def _path(make: Callable[[Draft], tuple[PathPoint, ...]], **more: Any) -> Callable[[Draft], None]:
    def level(d: Draft) -> None:
        d.muscle["path"] = MusclePath(make(d), **more)

    return level


PATH = {
    "straight": _path(lambda d: (_points(d)[0], _points(d)[2])),
    "via": _path(_points),
    "moving": _path(_moving),
    "conditional": _path(_conditional),
    "pulley": _path(_branched, pulleys=(Pulley(3, 2.0),)),
    "polynomial": _path(_polynomial),
    "fitted": _path(_fitted),
}  # fmt: skip


def _wrap(make: Callable[[Draft, dict[str, Any]], Any]) -> Callable[[Draft], None]:
    """A surface in the way of the last piece of the path; paths that are functions have none."""

    def level(d: Draft) -> None:
        if "path" not in d.muscle or type(d.muscle["path"].points[-1]) is not PathPoint:
            return
        path = d.muscle["path"]
        pieces = (len(path.points) - 2, len(path.points) - 1)
        a, b = (d.world(p.body, p.position) for p in path.points[-2:])
        middle, far = (a + b) / 2, float(np.linalg.norm(a - b))
        body = d.choice("b0", "b2", "ground")
        at = {
            "body": body,
            "position": d.local(body, middle + 0.03 * far * d.rng.normal(size=3)),
            "orientation": numbers(random_quaternions((), d.rng)),
            "points": pieces,
            "name": "surface",
        }
        d.options["size"] = 0.15 * far
        made = make(d, at)
        d.muscle["path"] = replace(path, wraps=made if isinstance(made, tuple) else (made,))

    return level


def _size(d: Draft, factor: float = 1.0) -> float:
    return float(d.options["size"] * factor)


def _ellipsoid(d: Draft, at: dict[str, Any]) -> WrapEllipsoid:
    return WrapEllipsoid(**at, radii=(_size(d), _size(d, 0.7), _size(d, 1.3)))


def _two(d: Draft, at: dict[str, Any]) -> tuple[Any, ...]:
    """Two spheres side by side on the same piece."""
    x, y, z = at["position"]
    other = at | {"position": (x + _size(d, 2.2), y, z), "name": "other"}
    return WrapSphere(**at, radius=_size(d)), WrapSphere(**other, radius=_size(d, 0.8))


WRAP = {
    "none": _nothing,
    "sphere": _wrap(lambda d, at: WrapSphere(**at, radius=_size(d))),
    "cylinder": _wrap(lambda d, at: WrapCylinder(**at, radius=_size(d), length=3.0)),
    "quadrant": _wrap(
        lambda d, at: WrapCylinder(**at, radius=_size(d), length=3.0, quadrant=d.choice("+x", "-x", "+y", "-y"))
    ),
    "ellipsoid": _wrap(_ellipsoid),
    "torus": _wrap(lambda d, at: WrapTorus(**at, ring_radius=_size(d, 1.5), tube_radius=_size(d, 0.4))),
    "two": _wrap(_two),
}


def _law(make: Callable[[Draft, float, float], Any]) -> Callable[[Draft], None]:
    """A law whose lengths suit the path; the muscle is complete with it."""

    def level(d: Draft) -> None:
        muscle = Muscle("m", **d.muscle)
        length = float(path_lengths(Model(d.system, (muscle,)), d.q, backend="numpy")[0])
        law = make(d, length, d.number(50.0, 300.0))
        if not law.activated:
            muscle = replace(muscle, activation_dynamics=None)
        d.add("muscles", replace(muscle, law=law, activation=d.number(0.2, 0.8)))

    return level


def _hill(law: Any, **more: Any) -> Callable[[Draft], None]:
    def make(d: Draft, length: float, strength: float) -> Any:
        fiber = length * d.number(0.4, 0.6)
        return law(strength, fiber, length - fiber * d.number(0.9, 1.1), pennation=d.choice(0.0, 0.3), **more)

    return _law(make)


LAW = {
    "none": _nothing,
    "thelen elastic": _hill(laws.Thelen2003),
    "thelen rigid": _hill(laws.Thelen2003, tendon="rigid"),
    "millard elastic": _hill(laws.Millard2012),
    "millard rigid": _hill(laws.Millard2012, tendon="rigid", damping=0.0),
    "degroote elastic": _hill(laws.DeGrooteFregly2016),
    "degroote rigid": _hill(laws.DeGrooteFregly2016, tendon="rigid"),
    "rigid tendon": _hill(laws.RigidTendonMuscle),
    "schutte": _hill(laws.Schutte1993),
    "exponential": _law(lambda d, l, F: laws.ExponentialMuscle(l * 0.9, F)),
    "cubic": _law(lambda d, l, F: laws.CubicExponentialMuscle(l * 1.2, F)),
    "mujoco": _law(lambda d, l, F: laws.MujocoMuscle(F, 0.7 * l, 1.3 * l)),
    "path actuator": _law(lambda d, l, F: laws.PathActuator(F)),
    "spring": _law(lambda d, l, F: laws.PathSpring(200.0, 0.8 * l, 0.1)),
    "ligament": _law(lambda d, l, F: laws.Ligament(0.9 * l, F)),
    "blankevoort": _law(lambda d, l, F: laws.Blankevoort1991(F, 0.95 * l)),
}


def _dynamics(form: str) -> Callable[[Draft], None]:
    return lambda d: d.muscle.update(activation_dynamics=ActivationDynamics(form=form, minimum_activation=0.01))


ACTIVATION = {"none": _nothing} | {f: _dynamics(f) for f in ("smooth", "piecewise", "quadratic", "quintic", "linear")}


def _input(choose: Callable[[Draft, list[str]], list[str]]) -> Callable[[Draft], None]:
    def level(d: Draft) -> None:
        names = [*(m.name for m in d.parts.get("muscles", ()) if m.law.activated)]
        names += [name for a in d.parts.get("actuators", ()) for name in a.control_names]
        function = d.choice(
            Sine(0.2, 5.0, 0.1, 0.5), Linear(0.2, 0.3), NaturalSpline((-1.0, 0.0, 1.0, 2.0), (0.2, 0.5, 0.3, 0.4))
        )
        d.add("inputs", *(PrescribedInput(name, function) for name in choose(d, names)))

    return level


INPUT = {
    "none": _nothing,
    "functions": _input(lambda d, names: names),
    "one": _input(lambda d, names: [d.choice(*names)] if names else []),
}


# ---- the setting --------------------------------------------------------------------------------------------------


def _option(name: str, **levels: Any) -> dict[str, Callable[[Draft], None]]:
    def level(value: Any) -> Callable[[Draft], None]:
        return lambda d: d.options.update({name: value})

    return {key: level(value) for key, value in levels.items()}


Level = Callable[[Draft], None]
INTEGRATORS = ("rk4", "lie_rk4", "semi_implicit_euler", "variational", "dop853", "rk45", "radau")
BODIES: dict[str, Mapping[str, Level]] = {
    "frame": FRAME, "root": ROOT, "joint": JOINT, "tree": TREE, "passive": PASSIVE,
}  # fmt: skip
BESIDE: dict[str, Mapping[str, Level]] = {
    "constraint": CONSTRAINT, "coupler": COUPLER, "lock": LOCK, "limit": LIMIT, "spring": SPRING, "bushing": BUSHING,
    "contact": CONTACT, "timed": TIMED, "actuator": ACTUATOR, "path": PATH, "wrap": WRAP, "activation": ACTIVATION,
    "law": LAW, "input": INPUT,
}  # fmt: skip
SETTING: dict[str, Mapping[str, Level]] = {
    "chart": _option("chart", quaternion="quaternion", sequence="sequence", ZXY="ZXY"),
    "load": _option("load", none=False, wrenches=True),
    "batch": _option("batch", one=(), several=(3,), grid=(2, 2)),
    "parameters": _option("parameters", bodies="bodies", muscles="muscles", forces="forces", actuators="actuators",
                          inputs="inputs", held=("couplers", "constraints", "coordinates"), any="any"),
    "integrator": _option("integrator", **{m: m for m in INTEGRATORS}),
    "stabilization": _option("stabilization", **{s: s for s in ("projection", "baumgarte", "norm", "none")}),
    "transcription": _option("transcription", **{name: name for name in TRANSCRIPTIONS}),
    "start": _option("start", zero=0.0, later=0.37, before=-0.2),
}  # fmt: skip
FEATURES: dict[str, Mapping[str, Level]] = BODIES | BESIDE | SETTING  # in the order in which a draft takes them
PLAIN = {name: next(iter(levels)) for name, levels in FEATURES.items()}  # the level of each that stands for "without"
EXTRA_BODIES = {"constraint": _needs("w"), "coupler": _needs("s")}  # of every level but the plain one
