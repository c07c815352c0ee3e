"""MuJoCo files: what MuJoCo makes of them, and what they cannot hold."""

import math
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from parts import SLANTED, body, point

from myoquat import dynamics
from myoquat.data import load_model
from myoquat.data.reports import UnwrittenWarning
from myoquat.dynamics.inverse import passive_force
from myoquat.joints import (
    ArticulatedSystem,
    Axis,
    Body,
    CustomJoint,
    EulerJoint,
    FixedJoint,
    FloatingJoint,
    ModelError,
    PlanarJoint,
    PrismaticJoint,
    RevoluteJoint,
    Shape,
    SphericalJoint,
    UniversalJoint,
    rotation_matrix,
)
from myoquat.joints.constraints import PointLoop
from myoquat.joints.functions import Constant, Linear, Multiplier, Polynomial, SimmSpline
from myoquat.muscle import (
    ActivationDynamics,
    ConditionalPoint,
    CoordinateLimit,
    Model,
    Muscle,
    MusclePath,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    path_lengths,
)
from myoquat.muscle.actuators import IntegratingCoordinateActuator
from myoquat.muscle.coordinates import Coordinate, Coupler, Marker
from myoquat.muscle.forces import RotationLimit
from myoquat.muscle.laws import ExponentialMuscle, PathActuator, PathSpring
from tests.bodies import on_hinge
from tests.data import mujoco_engine
from tests.data.mujoco_engine import forward, from_mujoco, mass_matrix, tendon_jacobian, write

LEG = Path(__file__).parents[2] / "data" / "small_leg.osim"


CUSTOM = CustomJoint(
    ("bend", "draw"),
    (Axis(SLANTED, 0, Linear(-1.0, 0.3)),),
    (Axis((0.0, 1.0, 0.0), 1, Multiplier(Polynomial((0.1, 2.0)), 0.5)), Axis((1.0, 0.0, 0.0), None, Constant(0.07))),
    ("rad", "m"),
)
SPLINE = SimmSpline((-1.0, -0.3, 0.0, 0.4, 1.0, 2.0), (0.5, 0.3, 0.22, 0.14, 0.05, -0.1))
PASSIVE = {"damping": 0.3, "stiffness": 2.0}
BODIES = (
    body("trunk", "world", FloatingJoint(), position=(0, 0, 0), orientation=(1, 0, 0, 0), damping=0.2),
    body("head", "trunk", SphericalJoint(), joint_name="neck", rotor_inertia=0.05, **PASSIVE),
    body("arm", "trunk", EulerJoint("YZY"), rotor_inertia=0.02),
    body("fore", "arm", RevoluteJoint(SLANTED), coordinate_names=("flex",), spring_mount=(0.4,), **PASSIVE),
    body("hand", "fore", UniversalJoint((0.0, 0.0, 1.0), (0.0, 1.0, 0.0)), **PASSIVE),
    body("nail", "hand", FixedJoint(), inertia=(0.0, 0.01, 0.01, 0.0, 0.0, 0.0), shapes=(Shape("box", (0.1, 0.2, 0.3)),
         Shape("capsule", (0.1, 0.2), purpose="collision", name="pill", color=(1.0, 0.0, 0.0, 0.5)))),
    body("sled", "trunk", PlanarJoint((0.0, 1.0, 0.0)), spring_mount=(0.1, 0.2, 0.3), **PASSIVE),
    body("rod", "sled", PrismaticJoint((0.0, 0.6, 0.8)), coordinate_names=("out",)),
    body("tip", "rod", CUSTOM, **PASSIVE),
    body("drone", "rod", FloatingJoint(), damping=0.4),
)  # fmt: skip
SYSTEM = ArticulatedSystem(BODIES, "world", gravity=(0.0, -9.81, 0.1), name="medley")


BALL = WrapSphere(body="fore", position=(0.01, 0.0, 0.0), radius=0.03, quadrant="-y", name="side-W1")
ROLL = WrapCylinder(body="arm", position=(0.0, -0.02, 0.0), orientation=(0.5, 0.5, 0.5, 0.5), radius=0.04)
SIDE_ROLL = replace(ROLL, rule="mujoco", quadrant="+x", name="over-W1")
MUSCLES = (
    Muscle("plain", (point("world", 0.3, 0, 0), point("trunk", 0.1, 0, 0.02), point("drone", 0.1, 0, 0.1)),
           PathActuator(20.0), activation=0.25),
    Muscle("side", MusclePath((point("arm", 0.06, 0.22, 0), point("fore", 0.15, -0.12, 0.02)), (BALL,)),
           PathSpring(900.0, 0.2)),
    Muscle("shorter", MusclePath(
        (point("trunk", 0.1, 0.3, 0.1), point("arm", 0.1, 0.2, 0), point("hand", 0.2, 0.1, 0.1)),
        (replace(ROLL, points=(0, 1), name="shorter-W1"),
         replace(BALL, quadrant="all", points=(1, 2), name="shorter-W2"))),
           PathActuator(30.0), activation=0.0),
    Muscle("over", MusclePath((point("trunk", 0.1, 0.3, 0.1), point("fore", 0.1, -0.1, 0)), (SIDE_ROLL,)),
           PathActuator(30.0), activation=0.0),
)  # fmt: skip
MODEL = Model(SYSTEM, MUSCLES, name="medley", markers=(Marker("lamp", "head", (0.0, 0.2, 0.1)),),
              coordinates=(Coordinate("flex", (-1.0, 2.0)),))  # fmt: skip


def opened(model, path):
    model.save(path, overwrite=True)
    return mujoco_engine.opened(path)


def order(engine, system, of, size):
    """Where each of our coordinates or velocities lies in MuJoCo's."""
    indices = []
    for link in system.bodies:
        joint, name = link.joint, link.joint_name or link.name
        if isinstance(joint, SphericalJoint):
            indices += [of(engine, name) + k for k in range(size)]
        elif isinstance(joint, FloatingJoint) and link.parent == system.ground:
            indices += [of(engine, name) + k for k in range(size + 3)]
        elif isinstance(joint, FloatingJoint):
            indices += [of(engine, c) for c in link.names_of_coordinates[:3]]
            indices += [of(engine, name) + k for k in range(size)]
        else:
            indices += [of(engine, c) for c in link.names_of_coordinates]
    return indices


def qpos(engine, name):
    return engine.joint(name).qposadr[0]


def dof(engine, name):
    return engine.joint(name).dofadr[0]


def test_mujoco_computes_the_same(tmp_path, rng):
    """Lengths, markers, mass matrix, gravity, springs and dampers at random states."""
    engine, data = opened(MODEL, tmp_path / "x.xml")
    iq, iu = order(engine, SYSTEM, qpos, 4), order(engine, SYSTEM, dof, 3)
    assert sorted(iq) == list(range(engine.nq))
    assert sorted(iu) == list(range(engine.nv))
    rule = "mujoco3" if mujoco.__version__.startswith("3.") else "mujoco"  # which changed with version 4
    back = load_model(tmp_path / "x.xml", wrapping=rule)
    sided = {k for k, muscle in enumerate(MODEL.muscles) if any(wrap.quadrant != "all" for wrap in muscle.path.wraps)}
    held = 0
    for q in SYSTEM.random(10, rng):
        u = rng.normal(size=SYSTEM.nu)
        T = from_mujoco(SYSTEM, q)
        forward(engine, data, qpos=q[np.argsort(iq)], qvel=np.linalg.solve(T, u)[np.argsort(iu)])
        lengths = path_lengths(MODEL, q)
        np.testing.assert_allclose(path_lengths(back, data.qpos), data.ten_length, atol=1e-13)
        other = np.abs(lengths - data.ten_length) > 1e-13
        assert set(np.flatnonzero(other)) <= sided  # MuJoCo lets a path that clears a cylinder pass on its wrong side
        held += other.any()
        R, p = SYSTEM.poses(q)["head"]
        np.testing.assert_allclose(data.site("lamp").xpos, p + R @ (0.0, 0.2, 0.1), atol=1e-13)
        M = mass_matrix(engine, data)[np.ix_(iu, iu)]
        np.testing.assert_allclose(M, T.T @ dynamics.mass_matrix(SYSTEM, q) @ T, atol=1e-12)
        spring = engine.tendon("side").id
        pull = -900.0 * max(data.ten_length[spring] - 0.2, 0.0)
        springs = pull * tendon_jacobian(engine, data)[spring]
        passive = T.T @ -passive_force(SYSTEM, q, u)
        np.testing.assert_allclose((data.qfrc_passive - springs)[iu], passive, atol=1e-11)
    assert held < 5


def test_the_start_is_a_keyframe(tmp_path, rng):
    q, u = SYSTEM.random(1, rng)[0], rng.normal(size=SYSTEM.nu)
    for frame in ("child", "parent"):
        system = replace(SYSTEM, velocity_frame=frame)
        model = replace(MODEL, system=system, start_q=tuple(q.tolist()), start_u=tuple(u.tolist()))
        engine, data = opened(model, tmp_path / "x.xml")
        mujoco.mj_resetDataKeyframe(engine, data, engine.key("start").id)
        mujoco.mj_forward(engine, data)
        np.testing.assert_allclose(data.qpos[order(engine, SYSTEM, qpos, 4)], q)
        twice_energy = u @ dynamics.mass_matrix(system, q) @ u
        assert data.qvel @ mass_matrix(engine, data) @ data.qvel == pytest.approx(twice_energy, rel=1e-12)


def test_functions_of_coordinates_are_equalities(tmp_path):
    """Joints that follow hold where they should: exactly for polynomials, nearly for a spline; couplers pass on."""
    knee = CustomJoint(
        ("knee",),
        (Axis((0.0, 0.0, 1.0), 0, Linear(1.0, 0.2)),),
        (Axis((1.0, 0.0, 0.0), 0, Polynomial((0.01, 0.02, -0.01, 0.005))),),
    )
    cap = CustomJoint(("beta",), (Axis((0.0, 0.0, 1.0), 0, SPLINE),))
    system = ArticulatedSystem((body("shank", "ground", knee), body("patella", "ground", cap)))
    system = system.with_body("shank", coordinate_names=("knee",)).with_body("patella", coordinate_names=("beta",))
    couplers = (Coupler("together", "beta", "knee", Linear(0.5, 0.1), 2.0),)
    path = (point("shank", 0.1, 0, 0), point("patella", 0.1, 0.1, 0))
    model = Model(system, (Muscle("m", path, PathActuator(1.0)),), couplers=couplers,
                  coordinates=(Coordinate("knee", (-0.5, 0.9)),))  # fmt: skip
    with pytest.warns(UnwrittenWarning, match="1 functions, fitted by quartics .patella_beta_1 to"):
        engine, data = opened(model, tmp_path / "x.xml")
    assert [engine.joint(i).name for i in range(engine.njnt)] == ["shank_knee_1", "knee", "patella_beta_1"]
    for x in (-0.5, 0.0, 0.7):
        beta = 2 * (0.5 * x + 0.1)
        data.qpos[:] = knee.translations[0].function.value(x), x, cap.rotations[0].function.value(beta)
        mujoco.mj_forward(engine, data)
        np.testing.assert_allclose(data.ten_length, path_lengths(model, [x, beta]), atol=1e-14)
        assert np.abs(data.efc_pos[0]) < 1e-14
        assert 0 < np.abs(data.efc_pos[1]) < 0.02
        data.qpos[0] += 0.01
        mujoco.mj_forward(engine, data)
        assert data.efc_pos[0] == pytest.approx(0.01, abs=1e-13)


def test_everything_that_the_file_holds_comes_back(tmp_path, rng):
    coupler = Coupler("out_follows_flex", "out", "flex", Polynomial((0.1, 0.2, 0.3)))
    model = replace(MODEL, start_q=tuple(SYSTEM.random(1, rng)[0].tolist()), couplers=(coupler,))
    model.save(tmp_path / "x.xml")
    back = load_model(tmp_path / "x.xml", strict=True)
    for field in ("muscles", "markers", "coordinates", "couplers", "name"):
        assert getattr(back, field) == getattr(model, field)
    assert back.system.gravity == SYSTEM.gravity
    read, written = ({link.name: link for link in system.bodies} for system in (back.system, SYSTEM))
    for name in ("trunk", "head", "fore", "hand", "nail", "rod", "drone"):
        one, other = read[name], written[name]
        assert replace(one, joint=other.joint, joint_name=other.joint_name) == other
        assert type(one.joint) is type(other.joint)
    assert (type(read["sled"].joint), read["sled"].spring_mount) == (CustomJoint, (0.1, 0.2, 0.3))
    names = [name for name in SYSTEM.coordinate_names if name in back.system.coordinate_names]
    assert len(names) > 20
    starts = (each.start[[each.system.coordinate_names.index(name) for name in names]] for each in (back, model))
    np.testing.assert_array_equal(*starts)
    alike = coupler, replace(coupler, dependent="tip.bend"), replace(coupler, dependent="tip.draw", name="loop")
    model = replace(model, couplers=alike, constraints=(PointLoop("fore", "nail", name="loop"),))
    model.save(tmp_path / "y.xml")  # MuJoCo's names are distinct
    assert [c.name for c in load_model(tmp_path / "y.xml").constraints] == ["loop"]


def test_a_leg_from_opensim_opens(tmp_path):
    model = load_model(LEG, "quaternion")
    with pytest.warns(UnwrittenWarning) as caught:
        engine, data = opened(model, tmp_path / "x.xml")
    message = str(caught[0].message)
    assert "2 muscles on moving or conditional points, left out (moving, conditional)" in message
    assert "1 couplers of angles that a quaternion has replaced, left free (neck_follows_back)" in message
    mujoco.mj_resetDataKeyframe(engine, data, 0)
    mujoco.mj_forward(engine, data)
    rows = [model.muscle_names.index(engine.tendon(i).name) for i in range(engine.ntendon)]
    np.testing.assert_allclose(data.ten_length, path_lengths(model, model.start_q)[rows], atol=1e-14)
    back = load_model(tmp_path / "x.xml", strict=True)
    np.testing.assert_allclose(path_lengths(back, back.start), data.ten_length, atol=1e-14)


def test_what_mujoco_lacks_is_reported_or_refused(tmp_path):
    fore, arm = point("fore", 0.1, 0, 0), point("arm", 0.1, 0.2, 0)
    conditional = ConditionalPoint("fore", (0.1, 0.0, 0.0), "flex", (0.0, 1.0))
    law = PathActuator(1.0)
    shapes = (Shape("mesh", (1.0, 1.0, 1.0), file="skull.stl"), Shape("capsule", (0.1, 0.2), name="pill"))
    model = replace(
        MODEL,
        system=SYSTEM.with_body("tip", joint=replace(CUSTOM, coordinates=("bend", "draw", "idle"), units=()))
        .with_body("arm", damping=0.1)
        .with_body("head", shapes=shapes, spring_mount=(0.0, 1.0, 0.0, 0.0)),
        muscles=(
            Muscle("law", (fore, arm), ExponentialMuscle(0.1, 2.0)),
            Muscle("none", (fore, arm)),
            Muscle("damped", (fore, arm), PathSpring(1.0, 0.1, 0.2)),
            Muscle("conditional", (arm, conditional, fore), law),
            Muscle("egg", MusclePath((fore, arm), wraps=(WrapEllipsoid(body="arm", radii=(0.1, 0.2, 0.3)),)), law),
            Muscle("two", MusclePath((fore, arm), wraps=(BALL, ROLL)), law),
            Muscle("slow", (fore, arm), law, activation_dynamics=ActivationDynamics()),
            Muscle("ends", MusclePath((fore, arm), wraps=(replace(ROLL, length=0.1),)), law),
        ),
        limits=(CoordinateLimit("stop", "flex", -1.0, 1.0, 1.0, 2.0, 0.1),),
    )
    with pytest.warns(UnwrittenWarning) as caught:
        engine, _ = opened(model, tmp_path / "x.xml")
    assert engine.ntendon == 5
    assert engine.geom("pill").type[0] == mujoco.mjtGeom.mjGEOM_CAPSULE
    message = str(caught[0].message)
    for words in (
        "with law 'B', whose tendons pull nothing (law)", "without a law, whose tendons pull nothing (none)",
        "with law 'path_spring', whose tendons pull nothing (damped)", "moving or conditional points", "left out (egg)",
        "around several surfaces at once, left out (two)", "1 ends of wrapping cylinders", "limits of coordinates",
        "1 springs and dampers of Euler joints (arm)", "1 springs of ball joints away from neutral (head)",
        "1 meshes (head: skull.stl)", "1 coordinates that move nothing (tip.idle)",
        "1 activation dynamics of actuators (slow)",
    ):  # fmt: skip
        assert words in message
    with pytest.raises(ModelError, match="the file cannot hold"):
        model.save(tmp_path / "y.xml", strict=True)
    assert not (tmp_path / "y.xml").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"name": "nail", "mass": 0.0, "inertia": (0.0,) * 6, "joint": RevoluteJoint()},
            "'nail': MuJoCo moves no body",
        ),
        ({"name": "fore", "inertia": (0.1, 0.1, 1.0, 0, 0, 0)}, "'fore': the inertia violates the triangle"),
        (
            {"name": "tip", "joint": CustomJoint(("a",), (Axis(SLANTED, 0, Linear(2.0)),))},
            "coordinate 'tip.a': MuJoCo's",
        ),
        (
            {"name": "tip", "joint": CustomJoint(("a",), (Axis(SLANTED, None, Constant(2.0)), Axis(SLANTED, 0)))},
            "'tip': a constant turn",
        ),
    ],
)
def test_what_mujoco_refuses_raises_a_named_error(changes, words, tmp_path):
    path = write(tmp_path, "before")
    name = changes.pop("name")
    with pytest.raises(ModelError, match=words):
        replace(MODEL, system=SYSTEM.with_body(name, **changes)).save(path, overwrite=True)
    assert path.read_text() == "before"


def test_a_limit_of_a_rotation_belongs_to_a_ball_joint(tmp_path):
    limited = replace(MODEL, forces=(RotationLimit("limit", "fore", 0.9, 50.0, 0.002),))
    with pytest.raises(ModelError, match="force 'limit': passive forces are not written"):
        limited.save(tmp_path / "x.xml")


@pytest.mark.peers
@pytest.mark.parametrize("joint", [FloatingJoint(), SphericalJoint(), RevoluteJoint((0.6, 0.0, 0.8))])
@pytest.mark.parametrize("place", [(0.0, 0.0, 0.0), (0.1, 0.2, 0.3)])
@pytest.mark.parametrize("frame", ["child", "parent"])
def test_rotors_are_armature(joint, place, frame, tmp_path, rng):
    """A floating joint on the ground itself is a free joint, elsewhere three slides and a ball. MuJoCo's armature acts
    on the velocity of a free joint in the axes of the world."""
    link = Body("B", "ground", joint, place, mass=2.0, center_of_mass=(0.1, -0.2, 0.1),
                inertia=(0.1, 0.12, 0.13, 0.01, 0.0, 0.02), rotor_inertia=0.2, damping=0.1)  # fmt: skip
    system = ArticulatedSystem((link,), velocity_frame=frame)
    Model(system).save(tmp_path / "x.xml", strict=True)
    back = load_model(tmp_path / "x.xml", strict=True)
    assert (type(back.system.bodies[0].joint), back.system.bodies[0].rotor_inertia) == (type(joint), 0.2)
    engine, data = mujoco_engine.opened(tmp_path / "x.xml")
    for q in system.random(5, rng):
        u = rng.normal(size=system.nu)
        udot, qvel = dynamics.forward_dynamics(system, q, u, np.zeros(system.nu)), u.copy()
        R = rotation_matrix(q[3:]) if isinstance(joint, FloatingJoint) else np.eye(3)
        turns = rotation_matrix(q[-4:]).T if system.nq > 1 and frame == "parent" else np.eye(3)
        if isinstance(joint, FloatingJoint) and frame == "child":
            udot[:3], qvel[:3] = R @ (udot[:3] + np.cross(u[3:], u[:3])), R @ u[:3]
        if system.nq > 1:  # MuJoCo's angular velocities are in the axes of the body
            udot[-3:], qvel[-3:] = turns @ udot[-3:], turns @ u[-3:]
        forward(engine, data, qpos=q, qvel=qvel)
        np.testing.assert_allclose(data.qacc, udot, atol=1e-12)


def test_the_side_rule_of_a_cylinder_that_mujoco_has_not_is_reported(tmp_path):
    """MuJoCo 4.0 runs straight there, 0.3858 m. OpenSim's rule leads around the cylinder, 1.5637 m."""
    surface = WrapCylinder(body="ground", radius=0.147, quadrant="+x")
    path = (point("ground", -0.366, 0.619, 0.192), point("B", -0.296, 0.249, 0.276))
    system = ArticulatedSystem((on_hinge("B", inertia=0.1),))
    for wrap, expected in ((surface, 1.5637), (replace(surface, rule="mujoco"), 0.3858)):
        model = Model(system, (Muscle("m", MusclePath(path, wraps=(wrap,)), PathActuator(1.0)),))
        assert path_lengths(model, [0.0])[0] == pytest.approx(expected, abs=1e-4)
        if wrap is surface:
            with pytest.raises(ModelError, match="1 sides of cylinders by the rule of WrapCylinder"):
                model.save(tmp_path / "x.xml", strict=True)
        else:
            engine, data = opened(model, tmp_path / "x.xml")
            mujoco.mj_forward(engine, data)
            assert data.ten_length[0] == pytest.approx(0.3858, abs=1e-4)


def test_servos_keep_both_bounds_of_their_activation_or_none(tmp_path):
    for low, high in ((-math.inf, math.inf), (-1.0, 2.0), (-1.0, math.inf)):
        servo = IntegratingCoordinateActuator("servo", "B.angle", least_activation=low, greatest_activation=high)
        model = Model(ArticulatedSystem((on_hinge("B", inertia=0.1),)), actuators=(servo,))
        if math.isfinite(low) and math.isinf(high):
            with pytest.raises(ModelError, match=r"1 activations that are bounded on one side \(servo\)"):
                model.save(tmp_path / "x.xml", strict=True, overwrite=True)
        else:
            model.save(tmp_path / "x.xml", strict=True, overwrite=True)
            assert load_model(tmp_path / "x.xml").actuators == (servo,)
