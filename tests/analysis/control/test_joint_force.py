"""The force in a joint as goal and as path constraint: against joint reactions, and in a problem."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.control import Effort, InsideCone, JointLoad, Midpoint, Point, Problem
from myoquat.analysis.control.goals.forces import joint_force
from myoquat.analysis.fits import FitSettings, fit_joint_forces, fit_paths, range_poses
from myoquat.analysis.recruitment import JointCone, joint_loads
from myoquat.data import Motion
from myoquat.dynamics.constraints import Distance
from myoquat.joints import ArticulatedSystem
from myoquat.joints.functions import Constant
from myoquat.joints.types import RevoluteJoint
from myoquat.muscle import ExponentialMuscle, Model, Muscle, PathPoint, muscle_forces
from myoquat.muscle.actuators import CoordinateActuator, PointActuator
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.forces import ContactHalfSpace, ContactSphere, PointSpring, PrescribedForce, SmoothSphereHalfSpace
from tests.bodies import on_hinge, with_muscles

BASE = on_hinge("base", "y", "turn", mass=2.0, inertia=0.01)
ARM = on_hinge(
    "arm", "z", "bend", parent="base", center_of_mass=(0.2, 0.0, 0.0), inertia=0.01, position=(0.0, 0.1, 0.0)
)
LAW = ExponentialMuscle(optimal_length=0.3, max_isometric_force=300.0)
MUSCLES = tuple(Muscle(name, (PathPoint("base", at), PathPoint("arm", (0.15, 0.02, 0.0))), LAW)
                for name, at in (("up", (0.0, 0.35, 0.0)), ("down", (-0.1, -0.15, 0.05))))  # fmt: skip
MODEL = Model(
    ArticulatedSystem((BASE, ARM)), MUSCLES, coordinates=(Coordinate("turn", (-1, 1)), Coordinate("bend", (-1, 1)))
)
CONE = JointCone("arm", (-1.0, 0.0, 0.0), half_angle=0.35)


def at_rest(model, goals, constraints=()):
    """The arm is held for a moment by its muscles and by torques."""
    ends = {"q": [0.0, 0.0], "u": 0.0}
    torques = dict.fromkeys(model.system.velocity_names, 10.0)
    return Problem(model, 0.1, goals, 2, Midpoint(), torques=torques, initial=ends, final=ends, constraints=constraints)


def margin(problem, solution):
    """[rad] the least margin of the force at the middles of the intervals, where the arm rests."""
    rest = {"q": np.zeros((2, 2)), "u": np.zeros((2, 2)), "udot": np.zeros((2, 2))}
    point = Point(problem.plant, np.zeros(2), controls=solution.controls, **rest)
    return CONE.margin(joint_force(problem.plant, point, "arm", None)).min()


def point_of(problem, q, u, udot, controls, **more):
    return Point(problem.plant, np.zeros(len(q)), q=q, u=u, udot=udot, controls=controls, **more)


def test_the_force_counts_all_that_acts(rng):
    """Springs, contacts, prescribed forces and actuators: against `joint_loads`, which Newton's and Euler's equations
    of every body confirm in tests/dynamics/test_everything_acts.py."""
    heel, wall = ContactSphere("heel", "arm", (0.3, 0, 0), radius=0.4), ContactHalfSpace("wall", "ground", (0, 0, -0.3))
    forces = (
        PointSpring("spring", "ground", "arm", (0.4, 0, 0), (0.2, 0, 0), 400.0, 0.1),
        SmoothSphereHalfSpace("contact", heel, wall, 1e5, 1.0, 0.8, 0.5, 0.3, 0.1),
        PrescribedForce("push", "arm", forces=(Constant(5.0), Constant(-7.0), Constant(9.0))),
    )
    actuators = PointActuator("thruster", "arm", (0.1, 0, 0), optimal_force=30.0), CoordinateActuator("motor", "bend")
    model = replace(MODEL, forces=forces, actuators=actuators)
    problem = at_rest(model, ())
    q, u, udot = rng.uniform(-0.5, 0.5, (5, 2)), rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    controls = rng.uniform(size=(5, 4))
    found = joint_force(problem.plant, point_of(problem, q, u, udot, np.c_[controls, np.zeros((5, 2))]), "arm", None)
    tensions = muscle_forces(model, q, u, controls[:, :2])
    motion = Motion(model, np.zeros(5) + np.arange(5.0), q, u, udot)
    loads = joint_loads(model, motion, tensions, controls=controls[:, 2:])
    np.testing.assert_allclose(found, loads.of("arm", on="parent", frame="parent").force, rtol=1e-10, atol=1e-9)


def test_muscles_without_a_fitted_pull_pull_where_their_paths_do(rng):
    """With the fit of one muscle the force is within that fit's error of the force without fits."""
    problem, poses = at_rest(MODEL, ()), range_poses(MODEL, 200)
    pulls = fit_joint_forces(MODEL, "arm", poses, error=1e-3)
    few = replace(pulls, functions={"up": pulls.functions["up"]})
    q, still = rng.uniform(-0.5, 0.5, (5, 2)), np.zeros((5, 2))
    point = point_of(problem, q, still, still, np.c_[np.full((5, 2), 0.8), still])
    every = joint_force(problem.plant, point, "arm", None)
    assert np.abs(joint_force(problem.plant, point, "arm", few) - every).max() < 0.5  # [N], of hundreds
    assert np.abs(every).max() > 100


def test_a_rod_that_carries_the_arm_takes_its_weight_off_the_joint():
    """The arm hangs level on a vertical rod at its centre of mass: nothing is left for the joint."""
    rod = Distance("ground", "arm", (0.2, 0.1, 0.5), (0.2, 0.0, 0.0), 0.5)
    level = replace(ARM, joint=RevoluteJoint((0, 1, 0)))
    model = Model(ArticulatedSystem((BASE, level)), constraints=(rod,), coordinates=MODEL.coordinates)
    problem, still = at_rest(model, ()), np.zeros((1, 2))
    A = problem.plant.constraints.constraints.jacobian(np.zeros((1, 2)), np.zeros(1))
    weight = mq.dynamics.bias_force(model, [0.0, 0.0], [0.0, 0.0])
    point = point_of(problem, still, still, still, still, multipliers=(weight[1] / A[..., 1]))
    np.testing.assert_allclose(joint_force(problem.plant, point, "arm", None), 0.0, atol=1e-9)


def test_a_cone_makes_muscles_press_the_joint_together():
    """Without the cone the arm's weight leaves it; with it the muscles pull, and the load costs more effort."""
    effort = Effort(weights={"up": 1.0, "down": 1.0})
    free, kept = at_rest(MODEL, (effort,)), at_rest(MODEL, (effort,), (InsideCone(CONE),))
    first, second = free.solve(), kept.solve()
    assert first.success
    assert second.success
    assert margin(free, first) < -0.1
    assert margin(kept, second) > -1e-8
    assert second.objective > 1.03 * first.objective


def test_a_joint_load_has_what_a_lock_carries():
    """The level arm is locked: its joint carries the weight without torque, and the accelerations are zero."""
    level = replace(ARM, joint=RevoluteJoint((0, 1, 0)))
    held = Coordinate("turn", locked=True), Coordinate("bend", locked=True)
    model = Model(ArticulatedSystem((BASE, level)), coordinates=held)
    ends = {"initial": {"q": [0.0, 0.0], "u": 0.0}}
    solution = Problem(model, 0.1, (JointLoad("arm", scale=2.0),), 2, **ends).solve()
    assert abs(solution.objective - 0.1 * (9.81 * 1.0 / 2.0) ** 2) < 1e-9
    np.testing.assert_allclose(solution.u, 0.0, atol=1e-12)


def test_forces_that_are_not_known_are_rejected():
    fitted = MODEL.with_fitted_paths(
        fit_paths(MODEL, range_poses(MODEL, 200), settings=FitSettings(1e-2, 1e-1, degree=2))
    )
    lost = with_muscles(fitted, path=lambda m: replace(m.path, anatomy=None))
    with pytest.raises(ValueError, match=r"muscle 'up': its path is a function of coord.*pulls=fit_joint_forces"):
        at_rest(lost, (JointLoad("arm"),))
    pulls = fit_joint_forces(MODEL, "base", range_poses(MODEL, 100), error=0.5)
    with pytest.raises(ValueError, match="fits for the joint of 'base', not 'arm'"):
        at_rest(fitted, (), (InsideCone(CONE, pulls),))
    with pytest.raises(ValueError, match="no body or joint is named 'leg'"):
        at_rest(MODEL, (JointLoad("leg"),))
    with pytest.raises(ValueError, match="margin"):
        InsideCone(CONE, margin=0.0)
