"""Free velocities of models with constraints: motions along them, torques without their forces, moment arms."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from myoquat.analysis.recruitment import free_moment_arms, free_torques, moment_arms
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.dynamics import inverse_dynamics
from myoquat.dynamics.constraints import (
    ConstraintArrays,
    Constraints,
    Distance,
    Holonomic,
    PointLoop,
    assemble,
    constraints_of,
)
from myoquat.joints import ArticulatedSystem
from myoquat.joints.errors import ConstraintWarning
from myoquat.joints.functions import Linear
from myoquat.joints.types import RevoluteJoint, UniversalJoint
from myoquat.muscle import CubicExponentialMuscle, Model, Muscle, PathPoint, path_jacobian, path_lengths
from myoquat.muscle.coordinates import Coordinate, Coupler
from tests.analysis.recruitment.shoulders import limb
from tests.bodies import on_hinge, on_slide

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@pytest.fixture(scope="module")
def model():
    """Two chains whose tips a point and a rod hold together, one coordinate that follows, one that is locked."""
    system = ArticulatedSystem((
        limb("A", "ground", UniversalJoint(X, Z), (0.0, 0.0, 0.0)), limb("B", "A", UniversalJoint(Y, Z), (0, -0.4, 0)),
        limb("C", "ground", UniversalJoint(X, Z), (0.5, 0.0, 0.0)), limb("D", "C", UniversalJoint(Y, Z), (0, -0.4, 0)),
        limb("E", "D", RevoluteJoint(X), (0, -0.2, 0)), limb("F", "ground", RevoluteJoint(X), (0, 0.3, 0)),
    ))  # fmt: skip
    names = system.coordinate_names
    path = (PathPoint("ground", (0.1, 0.1, 0.0)), PathPoint("B", (0.03, -0.2, 0.0)))
    other = (PathPoint("C", (0.05, -0.1, 0.0)), PathPoint("E", (0.03, -0.1, 0.02)))
    return Model(
        system,
        (
            Muscle("one", path, CubicExponentialMuscle(500.0, 0.5)),
            Muscle("two", other, CubicExponentialMuscle(300.0, 0.3)),
        ),
        coordinates=(Coordinate(names[9], locked=True),),
        couplers=(Coupler("gear", names[8], names[7], Linear(0.4)),),
        constraints=(PointLoop("B", "D", (0.25, -0.3, 0.0), (-0.25, -0.3, 0.0)), Distance("A", "C", distance=0.5)),
    )


@pytest.fixture
def poses(model, rng):
    flat = model.system.neutral() + rng.uniform(-0.3, 0.3, (6, model.system.nq))
    held = ConstraintArrays(Constraints(model.system, constraints_of(model)))
    return held, assemble(model, flat)


def test_free_velocities_keep_the_constraints(model, poses):
    held, q = poses
    names, C = free_velocities(model, q)
    assert C.shape == (6, 10, 10 - 1 - 1 - 3)  # without the lock, the coupler and the point; the rod asks for nothing
    assert len(names) == 5
    np.testing.assert_allclose(held.jacobian(q, 0.0) @ C, 0, atol=1e-12)
    assert (np.linalg.matrix_rank(C) == 5).all()


def test_torques_on_them_alone_give_the_motion(model, poses, rng):
    """Inverse dynamics of a motion on the constraints, forces of these dropped, moves the model as before."""
    held, q = poses
    names, C = free_velocities(model, q)
    u = np.einsum("pij,pj->pi", C, rng.normal(size=(6, 5)))
    tau = rng.normal(size=(6, 10))
    udot = held.motion(q, u, tau, np.zeros(6)).acceleration
    free = free_torques(model, q, inverse_dynamics(model, q, u, udot))
    np.testing.assert_allclose(free, np.einsum("pij,pi->pj", C, inverse_dynamics(model, q, u, udot)))
    assert tuple(free.columns) == names
    alone = np.zeros((6, 10))
    columns = [model.system.velocity_names.index(name) for name in names]
    alone[:, columns] = free
    alone[:, 9] = inverse_dynamics(model, q, u, udot)[:, 9]  # the lock is no constraint: its torque stays
    np.testing.assert_allclose(held.motion(q, u, alone, np.zeros(6)).acceleration, udot, atol=1e-9)


def test_moment_arms_along_them_are_rates_of_lengths(model, poses):
    """dl/dt along a motion on the constraints, by central differences of assembled poses."""
    _, q = poses
    names, C = free_velocities(model, q)
    arms = free_moment_arms(model, q).to_numpy().reshape(6, 2, 5)
    for k in range(len(names)):
        ends = [assemble(model, model.system.integrate(q, h * C[:, :, k])) for h in (1e-5, -1e-5)]
        rate = (path_lengths(model, ends[0]) - path_lengths(model, ends[1])) / 2e-5
        np.testing.assert_allclose(-arms[:, :, k], rate, atol=1e-8)


def test_poses_at_which_the_driven_velocities_are_lost_are_named(model, poses):
    _, q = poses
    broken = Model(model.system, model.muscles, constraints=(Distance("B", "ground", second_point=(0, -1.0, 0)),))
    straight = np.stack([q[0], model.system.neutral()])
    with pytest.raises(ValueError, match="at pose 1 the constraints do not determine"):
        free_moment_arms(broken, straight)


def five_bar():
    """Two pins, and a pin with a slide, closed by a point: two degrees of freedom, one of them in metres."""
    down = (0.0, -0.4, 0.0)
    bodies = (
        on_hinge("a", "z", "q1", inertia=0.02),
        on_hinge("b", "z", "q2", "a", down, inertia=0.02),
        on_hinge("c", "z", "q3", "ground", (0.5, 0.0, 0.0), inertia=0.02),
        on_slide("s", "y", "slide", "c", down, inertia=0.02),
    )
    paths = (("ground", (0.1, 0.0, 0.0), "b", (0.2, 0.02, 0.0)), ("a", (0.1, 0.0, 0.0), "s", (0.05, 0.02, 0.0)))
    muscles = (Muscle(n, (PathPoint(*p[:2]), PathPoint(*p[2:]))) for n, p in zip("mk", paths, strict=True))
    loop = PointLoop("b", "s", (0.5, 0.0, 0.0), (0.0, 0.05, 0.0))
    return Model(ArticulatedSystem(bodies), tuple(muscles), constraints=(loop,))


def test_moment_arms_follow_constraints_as_opensim_computes_them():
    """Values of OpenSim 4.6, `PathActuator.computeMomentArm`, at the pose that it assembled."""
    q = [0.15589897002115358, -0.13179261488582986, 0.16035117070846922, -0.03807544245388034]
    expected = [
        [0.02285341, 0.1772637, 0.06808479, 0.334989112],
        [-0.113361911, 0.326961445, -0.011500058, 0.487294169],
    ]
    arms = moment_arms(five_bar(), q, follow_constraints=True)
    np.testing.assert_allclose(arms.to_numpy(), expected, atol=2e-9)
    np.testing.assert_allclose(
        moment_arms(five_bar(), [q, q], follow_constraints=True).to_numpy()[2:], arms, rtol=1e-12
    )
    free = replace(five_bar(), constraints=())
    assert moment_arms(free, q, follow_constraints=True).equals(moment_arms(free, q))


def test_moment_arms_in_a_loop_are_differences_along_it():
    """With its slide locked the loop has one degree of freedom: -dl/dx by differences between assembled poses."""
    model = replace(five_bar(), coordinates=(Coordinate("slide", locked=True),), start_q=(0.0, 0.0, 0.0, -0.05))
    ends = [assemble(model, [x, 0.0, 0.0, -0.05]) for x in (0.1 - 1e-5, 0.1, 0.1 + 1e-5)]
    lengths = path_lengths(model, np.array(ends))
    arms = moment_arms(model, ends[1], follow_constraints=True)
    for k, name in enumerate(("q1", "q2", "q3")):
        np.testing.assert_allclose(arms[name], -(lengths[2] - lengths[0]) / (ends[2][k] - ends[0][k]), rtol=1e-6)


def test_moment_arms_that_hold_what_constraints_move_are_reported():
    with pytest.warns(ConstraintWarning, match=r"the model's constraints \(PointLoop\) may not allow; follow_constr"):
        arms = moment_arms(five_bar(), np.zeros(4))
    np.testing.assert_allclose(arms.to_numpy(), -path_jacobian(five_bar(), np.zeros(4)), rtol=1e-13)


@dataclass(frozen=True)
class Turning(Holonomic):
    """a cos t = b sin t."""

    name: str = "turning"

    def position(self, system, q, t):
        return (np.cos(t) * q[..., 0] - np.sin(t) * q[..., 1])[..., None]


def test_constraints_that_change_with_time_are_taken_at_the_time_of_each_pose():
    """b drives a = b tan t, so that the torque along b is tau_b + tau_a tan t."""
    bodies = tuple(on_slide(name, X) for name in ("a", "b"))
    model = Model(ArticulatedSystem(bodies), constraints=(Turning(),))
    time = np.array([0.2, 0.4, 0.7])
    found = free_torques(model, np.zeros((3, 2)), np.tile([1.0, 3.0], (3, 1)), time)
    np.testing.assert_allclose(found["b.speed"], 3.0 + np.tan(time), rtol=1e-12)
