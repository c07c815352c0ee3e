"""Models with every type of joint, function, force, limit, actuator, input, law, path point and surface."""

from dataclasses import replace

import numpy as np

import myoquat as mq
from myoquat.joints import functions as fn, types as j
from myoquat.joints.multibody.sampling import KINDS
from myoquat.muscle import actuators as act, forces as fo, laws

START = 0.4  # [s] of functions with a jump
SOLID = {"mass": 2.0, "inertia": (0.3, 0.4, 0.35, 0.01, 0.02, 0.03), "center_of_mass": (0.1, 0.05, -0.2)}
TURN = (0.5, 0.1, 0.7, 0.5)  # of length one
AXES = ((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.6, 0.8))
ANGLES = j.Angles(("plane", "elevation", "rotation"), AXES, (1.0, 2.0, 1.5), (0.1, 0.2, 0.3))
MIXED = replace(ANGLES, names=("p", "e", "r"), mixing=((1.0, 0.2, 0.0), (0.0, 1.0, 0.1), (0.0, 0.0, 1.0)))
FUNCTIONS = (
    fn.Constant(0.3),
    fn.Linear(1.2, 0.1),
    fn.Polynomial((0.1, 1.0, 0.3)),
    fn.PiecewiseLinear((-2.0, 0.0, 2.0), (-1.0, 0.3, 1.5)),
    fn.PiecewiseConstant((-2.0, START), (0.3, 0.4)),
    fn.Multiplier(fn.SimmSpline((-2.0, 0.0, 1.0, 2.0), (0.0, 0.5, 1.0, 3.0)), 1.1),
    fn.Multiplier(fn.NaturalSpline((-2.0, -1.0, 0.0, 1.0, 1.5, 2.0), (0.0, 0.2, 0.5, 1.0, 1.2, 1.1)), 0.9),
    fn.Sine(0.7, 3.0, 0.2, 0.1),
    fn.SmoothStep(-2.0, 2.0, 0.1, 0.8),
)


def tree(*joints, length=3):
    """Bodies b0, b1, ... on these joints, in chains of so many, with dampers, springs and rotors."""
    bodies = [
        mq.Body(f"b{k}", f"b{k - 1}" if k % length else "ground", joint, (0.1, 0.02 * k, -0.3), TURN,
                damping=0.1 + 0.1 * k, stiffness=1.0 + k, rotor_inertia=0.02, **SOLID)
        for k, joint in enumerate(joints)
    ]  # fmt: skip
    return mq.ArticulatedSystem(tuple(bodies))


def joints():
    rng = np.random.default_rng(3)
    free = [make(rng) for make in KINDS.values()]
    every = tree(*free, j.GimbalJoint(ANGLES), j.SphericalJoint(angles=replace(ANGLES, names=("f", "g", "h"))))
    ball = every.bodies[-1]
    follower = j.FollowerJoint(ball.name, ball.joint, (j.Turn((0.0, 1.0, 0.0), (1.0, 0.5, 0.1), 0.1),), TURN)
    mount = replace(every.bodies[2], spring_mount=(0.3,))
    bodies = (
        *every.bodies[:2],
        mount,
        *every.bodies[3:],
        mq.Body("between", ball.parent, follower, (0.1, 0, 0), TURN, **SOLID),
    )
    return mq.Model(replace(every, bodies=bodies))


def functions():
    rotations = [j.Axis((0.0, 0.6, 0.8), 0, function) for function in FUNCTIONS]
    custom = [
        j.CustomJoint((f"x{k}",), rotations=(j.Axis((0.0, 0.0, 1.0), 0), axis)) for k, axis in enumerate(rotations)
    ]
    driven = j.CustomJoint(("y",), translations=(j.Axis((1.0, 0.0, 0.0), 0), j.Axis((0.0, 1.0, 0.0), 0, FUNCTIONS[2])))
    return mq.Model(tree(*custom, j.ReversedJoint(driven), j.GimbalJoint(MIXED)))


ARM = tree(j.SphericalJoint(angles=ANGLES), j.RevoluteJoint((0.0, 1.0, 0.0)))
THREE = (fn.Sine(3.0, 5.0, 0.3, 1.0), fn.Linear(2.0, 1.0), fn.Constant(2.0))


def forces():
    between = {"first": "b0", "second": "b1"}
    frames = {**between, "first_point": (0.1, 0.2, 0.3), "second_point": (0.0, 0.1, 0.2),
              "first_angles": (0.1, 0.2, 0.3), "second_angles": (0.3, 0.2, 0.1)}  # fmt: skip
    points = {**between, "first_point": (0.1, 0.2, 0.3), "second_point": (0.0, 0.1, 0.2)}
    damping = {"rotational_damping": (1.0, 2.0, 3.0), "translational_damping": (2.0, 3.0, 4.0)}
    stiffness = {"rotational_stiffness": (5.0, 6.0, 7.0), "translational_stiffness": (8.0, 9.0, 10.0)}
    functions = {"moments": FUNCTIONS[:3], "forces": FUNCTIONS[6:9]}
    texts = {"moments": ("theta_x", "2*theta_y", "theta_z^2"), "forces": ("delta_x", "delta_y", "delta_z")}
    return mq.Model(
        ARM,
        forces=(
            fo.Bushing("bush", **frames, **stiffness, **damping),
            fo.BushingFunctions("functions", **frames, **functions, **damping),
            fo.BushingExpressions("expressions", **frames, **texts, **damping),
            fo.PointSpring("spring", **points, stiffness=20.0, rest_length=0.1),
            fo.PointExpression("point", **points, expression="3*d"),
            fo.CoordinateSpring("coordinate", "b1.angle", 3.0, 0.1, 0.2),
            fo.CoordinateSpring("angle", "elevation", 3.0, 0.1, 0.2),
            fo.CoordinateExpression("text", "b1.angle", "2*q"),
            fo.CoordinateFriction("friction", "b1.angle", 2.0, 0.5),
            fo.GravityCompensation("light", "b1", 0.7),
            fo.PrescribedForce("wind", "b1", THREE, THREE, THREE),
            fo.PrescribedForce("carried", "b1", THREE, THREE, THREE, in_world=False, point_in_world=True),
            fo.RotationLimit("ball", "b0", 0.2, 30.0, 0.1, 2.0),
            fo.SwingTwistLimit("cone", "b0", 0.3, (-0.1, 0.2), (0.0, 1.0, 0.1), (0.1, 1.0, 0.1), 30.0, 40.0, 0.05),
            fo.SwingTwistLimit("twist", "b0", twist=(-0.1, 0.2)),
        ),
        limits=(
            mq.muscle.CoordinateLimit("below", "b1.angle", 0.3, 0.4, 30.0, 40.0, 0.5, 2.0),
            mq.muscle.CoordinateLimit("above", "elevation", -0.9, -0.8, 30.0, 40.0, 0.5, 2.0),
        ),
    )  # fmt: skip


def contacts():
    floor = fo.ContactHalfSpace("floor", "ground", (0.0, 0.0, -0.1), (0.1, 0.2, 1.0))
    place = {"body": "b1", "position": (0.1, 0.2, 0.1), "orientation": TURN}
    solids = (
        fo.ContactSphere("ball", "b1", (0.1, 0.2, 0.1), 0.3),
        fo.ContactEllipsoid("egg", **place, radii=(0.2, 0.3, 0.4)),
        fo.ContactCapsule("finger", **place, radius=0.2, half_length=0.3),
    )
    linear = {"damping": 2.0, "friction": 0.5, "margin": 0.1, "transition": 1.0, "transition_velocity": 0.2}
    materials = (
        fo.ContactMaterial((floor,), 1e3, 0.5, 0.8, 0.7, 0.1),
        fo.ContactMaterial((solids[0], solids[1]), 2e3, 0.4, 0.9, 0.6, 0.2),
    )
    near = fo.ContactSphere("wall", "ground", (0.8, 0.2, 0.2), 0.5)
    solid = mq.Body("b1", "ground", j.PlanarJoint((0.0, 1.0, 0.0)), **SOLID)
    return mq.Model(
        mq.ArticulatedSystem((solid,)),
        forces=(
            *(fo.LinearContact(f"on {x.name}", floor, x, 100.0, **linear) for x in solids),
            *(fo.LinearContact(f"at {x.name}", near, x, 100.0, **linear) for x in (solids[0], solids[2])),
            fo.HuntCrossley("hunt", materials, 0.2),
            fo.SmoothSphereHalfSpace("smooth", solids[0], floor, 1e3, 0.5, 0.8, 0.7, 0.1, 0.2, 1e-3, 300.0, 50.0),
        ),
    )


def driven():
    bounds = {"lower": -2.0, "upper": 2.0}
    point = {"point": (0.1, 0.2, 0.3), "direction": (0.3, 0.2, 1.0), "optimal_force": 2.0}
    points = {"first_point": (0.1, 0.2, 0.3), "second_point": (0.0, 0.1, 0.2)}
    actuators = (  # those of six controls first, so that numbers of controls are not those of actuators
        act.BodyActuator("push", "b1", (0.1, 0.2, 0.3)),
        act.BodyActuator("world push", "b1", (0.1, 0.2, 0.3), point_in_world=True, in_world=False),
        act.CoordinateActuator("motor", "b1.angle", optimal_force=3.0, **bounds),
        act.CoordinateActuator("angle", "elevation", optimal_force=3.0),
        act.ActivationCoordinateActuator(
            "delayed", "b1.angle", optimal_force=3.0, activation_time=0.05, activation=0.4
        ),
        act.IntegratingCoordinateActuator(
            "servo", "b1.angle", optimal_force=3.0, activation=0.3, least_activation=0.1, greatest_activation=0.3
        ),
        act.PointActuator("pull", body="b1", **point),
        act.PointActuator("world pull", body="b1", **point, point_in_world=True, direction_in_world=False),
        act.PointToPointActuator("between", first="b0", second="b1", optimal_force=2.0, **points),
        act.PointToPointActuator(
            "between in world", first="b0", second="b1", optimal_force=2.0, **points, in_world=True
        ),
        act.TorqueActuator("torque", first="b0", second="b1", axis=(0.3, 0.2, 1.0), optimal_force=2.0),
    )
    model = mq.Model(ARM, actuators=actuators)
    inputs = [mq.muscle.PrescribedInput(name, FUNCTIONS[k % 8]) for k, name in enumerate(model.control_names)]
    return replace(model, inputs=(*inputs, mq.muscle.PrescribedInput("motor", fn.Linear(2.0, 0.5))))


def way(k):
    return mq.muscle.PathPoint("ground", (0.2, 0.1, 0.02 * k)), mq.muscle.PathPoint("b1", (0.1, 0.02 * k, -0.2))


HILL = (
    laws.Thelen2003(100.0, 0.3, 0.2, 0.2, tendon="elastic"),
    laws.Millard2012(100.0, 0.3, 0.2, 0.2, tendon="elastic"),
    laws.DeGrooteFregly2016(100.0, 0.3, 0.2, 0.2, tendon="rigid"),
    laws.Schutte1993(100.0, 0.3, 0.2, 0.2, tendon="elastic"),
)
CURVE = fn.SimmSpline((0.0, 0.5, 1.0, 1.5, 2.0), (0.0, 0.3, 1.0, 0.4, 0.1))
OTHER = (
    laws.RigidTendonMuscle(100.0, 0.3, 0.2, 0.2, 9.0, CURVE, CURVE, CURVE),
    laws.CubicExponentialMuscle(0.4, 100.0),
    laws.ExponentialMuscle(0.4, 100.0),
    laws.Ligament(0.3, 100.0, CURVE),
    laws.Blankevoort1991(100.0, 0.3, 0.06, 0.003),
    laws.PathSpring(100.0, 0.3, 0.1),
    laws.PathActuator(100.0),
    laws.MujocoMuscle(100.0, 0.2, 0.6),
    laws.ClippedMujocoMuscle(100.0, 0.2, 0.6, least_force=-5.0, greatest_force=90.0),
    laws.AffinePath(1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    laws.ClippedAffinePath(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, least_force=0.1, greatest_force=9.0),
    laws.SlackSpring(100.0, 0.2, 0.3, 2.0),
    laws.PathFriction(3.0, 0.5),
    laws.PathLimit(100.0, 0.2, 0.3, 2.0, 0.01),
)
FORMS = ("smooth", "piecewise", "quadratic", "quintic", "linear", "integral")


def muscled():
    dynamics = [
        mq.muscle.ActivationDynamics(0.02, 0.05, form, 0.3, 0.05 if form != "integral" else 0.0) for form in FORMS
    ]
    muscles = [
        mq.Muscle(f"m{k}", way(k), law, 0.4, dynamics[k] if k < len(dynamics) else None)
        for k, law in enumerate((*HILL, *OTHER))
    ]
    given = tuple(mq.muscle.PrescribedInput(muscle.name, fn.Polynomial((0.3, 0.1))) for muscle in muscles)
    return mq.Model(tree(j.RevoluteJoint((0.0, 1.0, 0.0)), j.SphericalJoint()), tuple(muscles), inputs=given)


def on_paths():
    """Muscles on points of every type, past every surface, on functions of the pose."""
    system = tree(j.SphericalJoint(angles=ANGLES), j.RevoluteJoint((0.0, 1.0, 0.0)))
    p = mq.muscle.PathPoint
    start, end = p("ground", (0.4, 0.05, 0.1)), p("b1", (0.3, 0.0, -0.6))
    moving = mq.muscle.MovingPoint("b0", (0.1, 0.1, 0.0), ("b1.angle",) * 3, FUNCTIONS[:3])
    ranged = mq.muscle.MovingPoint("b0", (0.1, 0.1, 0.0), ("b1.angle",) * 3, FUNCTIONS[5:8], ((-0.1, 0.1),) * 3)
    some = mq.muscle.ConditionalPoint("b0", (0.2, 0.1, 0.0), "b1.angle", (-3.0, 3.0))
    variables = mq.muscle.PoseVariables(("b0",), (TURN,), ("b1.angle",), ((-2.0, 2.0),))
    powers = ((0, 0, 0, 0, 0), (1, 1, 0, 0, 0), (0, 0, 0, 0, 1))
    length = mq.muscle.PoseFunction(variables, powers, (0.5, 0.1, 0.1))
    edge = [mq.muscle.SurfaceTerm(replace(length, coefficients=(0.1, 0.2, 0.3)), 0.1, x) for x in ("contact", "sides")]
    polynomial = fn.MultivariatePolynomial(1, 2, (0.5, 0.1, 0.2))
    paths = {
        "moving": (start, moving, some, ranged, end),
        "split": (start, p("b0", (0.1, 0.2, 0.1)), p("b0", (0.1, 0.3, 0.1)), some, end),
        "fitted": mq.muscle.fitted_path(length, straight=(start, end), surfaces=tuple(edge)),
        "function": mq.muscle.function_path(("b1.angle",), polynomial),
    }
    pulleys = {"split": (mq.muscle.Pulley(2, 2.0),)}
    force = laws.PathActuator(50.0)
    muscles = [
        mq.Muscle(name, mq.muscle.MusclePath(path, pulleys=pulleys.get(name, ())), force, 1.0)
        for name, path in paths.items()
    ]
    return mq.Model(system, tuple(muscles))


def past_surfaces():
    """Muscles past every type of surface, by itself, and past two at a time."""
    system = tree(j.RevoluteJoint((0.0, 1.0, 0.0)), j.RevoluteJoint((0.0, 1.0, 0.0)))
    level = {"orientation": (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)}
    middle = {"body": "ground", "position": (0.05, 0.01, -0.2)}
    w = mq.muscle
    long = {"radius": 0.15, "length": 1.0, **level}
    surfaces = [
        w.WrapSphere(**middle, radius=0.15),
        w.WrapSphere(**middle, radius=0.15, rule="mujoco3", quadrant="+x"),
        w.WrapSphere(**middle, radius=0.15, rule="inside"),
        w.WrapCylinder(**middle, **long),
        w.WrapCylinder(**middle, **long, rule="mujoco", quadrant="+x"),
        w.WrapCylinder(**middle, **long, rule="mujoco3", quadrant="+x"),
        w.WrapCylinder(**middle, **long, rule="inside"),
    ]
    surfaces.append(w.WrapEllipsoid(**middle, radii=(0.15, 0.2, 0.25)))
    surfaces.append(w.WrapTorus(**middle, ring_radius=0.15, tube_radius=0.05))
    second = w.WrapSphere(body="b1", position=(0.05, 0.0, -0.2), radius=0.08)
    straight = (w.PathPoint("ground", (0.2, 0.02, 0.2)), w.PathPoint("b1", (0.1, 0.03, -0.6)))
    force = laws.PathActuator(50.0)
    muscles = [
        mq.Muscle(f"{s.kind} {s.rule}", mq.muscle.MusclePath(straight, wraps=(s,)), force, 1.0) for s in surfaces
    ]
    muscles.append(mq.Muscle("two", mq.muscle.MusclePath(straight, wraps=(surfaces[0], second)), force, 1.0))
    return mq.Model(system, tuple(muscles))


EVERY = (joints, functions, forces, contacts, driven, muscled, on_paths, past_surfaces)
