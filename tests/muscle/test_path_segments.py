"""Paths by segments: their speeds are J u and their torques -J^T F, as tables and one by one."""

import numpy as np
import pytest

from myoquat.joints import ArticulatedSystem
from myoquat.joints.crossovers import MinRows
from myoquat.joints.functions import Constant, SimmSpline
from myoquat.kernels import compile
from myoquat.muscle import (
    ConditionalPoint,
    Model,
    MovingPoint,
    Muscle,
    MusclePath,
    PathPoint,
    WrapCylinder,
    muscle_wrenches,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.segments.path_segments import segments
from tests.bodies import afloat, on_ball, on_hinge

SPLINE = SimmSpline((-2.0, -0.5, 0.3, 2.0), (0.02, 0.05, 0.01, 0.04))
COPIES = MinRows.DIFFERENTIATED + 1  # of each sort of path: enough for tables of several rows
STATES = 9
POINTS = (("trunk", 0.1), ("femur", -0.2), ("tibia", -0.1), ("trunk", 0.2))  # their bodies, and heights [m] there


@pytest.fixture(scope="module")
def model():
    """A trunk that floats far from the origin, a ball hip and a hinge knee, with every sort of path several times."""
    trunk = afloat("trunk")
    hip = on_ball("femur", parent="trunk", position=(0.0, -0.1, 0.0))
    knee = on_hinge("tibia", "z", "knee", "femur", (0.0, -0.4, 0.0))
    surface = WrapCylinder(body="femur", radius=0.02)
    rng, muscles = np.random.default_rng(7), []
    for k in range(COPIES):
        start, via, end, high = (PathPoint(body, tuple(rng.normal((0.0, y, 0.0), 0.05))) for body, y in POINTS)
        moving = MovingPoint("tibia", end.position, ("knee", "", ""), (SPLINE, Constant(0.0), Constant(0.0)))
        now_and_then = ConditionalPoint("femur", via.position, "knee", (-0.5, 0.7))
        paths = {
            "straight": (high, start, via, end),
            "sliding": (via, moving),
            "conditional": (start, now_and_then, end),
        }
        muscles += [Muscle(f"{name}{k}", path) for name, path in paths.items()]
        muscles.append(Muscle(f"wrapped{k}", MusclePath((start, via, end), wraps=(surface,))))
    return Model(ArticulatedSystem((trunk, hip, knee)), tuple(muscles[: 4 * COPIES - 2]))


@pytest.fixture(scope="module")
def state(model):
    rng = np.random.default_rng(3)
    q, u = model.system.random(STATES, rng), rng.normal(size=(STATES, model.system.nu))
    q[:, -1] = rng.uniform(-0.4, 1.2, STATES)
    return q, u, rng.uniform(0.0, 100.0, (STATES, len(model.muscles)))


@pytest.fixture(scope="module")
def formula(model):
    def formula(q, u, tension):
        paths = segments(model.system, model.paths, q, u)
        return paths.length, paths.speed, paths.torque(tension)

    return formula


def test_speeds_and_torques_are_those_of_the_jacobian(model, state, formula):
    """Also exactly none where motion or torque passes by: the trunk carries all paths along."""
    q, u, tension = state
    J = path_jacobian(model, q, backend="numpy")
    inputs = {"q": model.system.nq, "u": model.system.nu, "tension": len(model.muscles)}
    kernel = compile(formula, inputs)(*state)
    for length, speed, torque in (formula(*state), kernel):
        np.testing.assert_allclose(length, path_lengths(model, q, backend="numpy"), rtol=1e-14)
        np.testing.assert_allclose(speed, np.einsum("...mj,...j", J, u), atol=1e-14)
        np.testing.assert_allclose(torque, -np.einsum("...mj,...m->...j", J, tension), atol=1e-12)
        assert not torque[:, : model.system.bodies[0].joint.nu].any()
    single = compile(formula, inputs, lanes=1)(*state)
    assert all(np.array_equal(a, b) for a, b in zip(single, kernel, strict=True))


def test_the_trunk_may_be_anywhere(model, state):
    """A kilometre away straight paths have the same lengths, speeds and torques, bit by bit."""
    muscles = tuple(muscle for muscle in model.muscles if not muscle.path.wraps)
    q, u, tension = state
    far = q + np.where(np.arange(model.system.nq) < 3, 1000.0, 0.0)
    near, away = (segments(model.system, tuple(m.path for m in muscles), x, u) for x in (q, far))
    for a, b in ((near.length, away.length), (near.speed, away.speed), (near.torque(tension), away.torque(tension))):
        np.testing.assert_array_equal(a, b)


def test_a_model_without_bodies_has_no_wrenches():
    assert muscle_wrenches(Model(ArticulatedSystem(())), [], []).shape == (0, 6)
