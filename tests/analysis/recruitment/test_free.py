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
from myoquat.muscle import Model, Muscle, PathPoint, path_jacobian, path_lengths
from myoquat.muscle.coordinates import Coordinate
from tests.analysis.recruitment.chains import CHAINS, LOCKED, SYSTEM, free_to_move
from tests.bodies import on_hinge, on_slide

# a rod between points that do not move asks for nothing
MODEL = replace(CHAINS, constraints=(*CHAINS.constraints, Distance("A", "C", distance=0.5)), forces=())
HELD = ConstraintArrays(Constraints(SYSTEM, constraints_of(MODEL)))


@pytest.fixture
def q(rng):
    return assemble(MODEL, free_to_move(rng.uniform(-0.3, 0.3, (6, 12))))


def test_free_velocities_keep_the_constraints(q):
    names, C = free_velocities(MODEL, q)
    assert C.shape == (6, 12, 12 - 1 - 1 - 3)  # without the lock, the coupler and the pin
    assert len(names) == 7
    np.testing.assert_allclose(HELD.jacobian(q, 0.0) @ C, 0, atol=1e-12)
    assert (np.linalg.matrix_rank(C) == 7).all()


def test_torques_on_them_alone_give_the_motion(q, rng):
    """Inverse dynamics of a motion on the constraints, forces of these dropped, moves the model as before."""
    names, C = free_velocities(MODEL, q)
    u, time = np.einsum("pij,pj->pi", C, rng.normal(size=(6, 7))), np.zeros(6)
    udot = HELD.motion(q, u, rng.normal(size=(6, 12)), time).acceleration
    needed = inverse_dynamics(MODEL, q, u, udot)
    free = free_torques(MODEL, q, needed)
    np.testing.assert_allclose(free, np.einsum("pij,pi->pj", C, needed))
    assert tuple(free.columns) == names
    alone = np.zeros((6, 12))
    alone[:, [SYSTEM.velocity_names.index(name) for name in names]] = free
    alone[:, LOCKED] = needed[:, LOCKED]  # the lock is no constraint: its torque stays
    np.testing.assert_allclose(HELD.motion(q, u, alone, time).acceleration, udot, atol=1e-9)


def test_moment_arms_along_them_are_rates_of_lengths(q):
    """dl/dt along a motion on the constraints, by central differences of assembled poses."""
    _, C = free_velocities(MODEL, q)
    arms = free_moment_arms(MODEL, q).to_numpy().reshape(6, 2, 7)
    for k in range(7):
        ends = [path_lengths(MODEL, assemble(MODEL, q + h * C[:, :, k])) for h in (1e-5, -1e-5)]
        np.testing.assert_allclose(-arms[:, :, k], (ends[0] - ends[1]) / 2e-5, atol=1e-8)


def test_poses_at_which_the_driven_velocities_are_lost_are_named(q):
    broken = Model(SYSTEM, CHAINS.muscles, constraints=(Distance("B", "ground", second_point=(0, -1.0, 0)),))
    with pytest.raises(ValueError, match="at pose 1 the constraints do not determine"):
        free_moment_arms(broken, np.stack([q[0], SYSTEM.neutral()]))


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
    bodies = tuple(on_slide(name) for name in ("a", "b"))
    model = Model(ArticulatedSystem(bodies), constraints=(Turning(),))
    time = np.array([0.2, 0.4, 0.7])
    found = free_torques(model, np.zeros((3, 2)), np.tile([1.0, 3.0], (3, 1)), time)
    np.testing.assert_allclose(found["b.speed"], 3.0 + np.tan(time), rtol=1e-12)
