"""All that acts on a trajectory: power is the rate of energy, and reactions are the loads of joints.

The formulas are held to the laws of mechanics by `tests/pairs` and `test_reactions.py`.
"""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.fits import FitSettings, fit_paths, range_poses
from myoquat.analysis.recruitment import joint_loads
from myoquat.dynamics import kinetic_energy, potential_energy
from myoquat.joints.functions import Constant, Linear
from myoquat.muscle import PathPoint, WrapEllipsoid, elastic_energy, laws
from myoquat.muscle.acting import energy_rate
from myoquat.muscle.actuators import PointActuator
from myoquat.muscle.forces import CoordinateSpring, PointSpring, PrescribedForce
from tests.bodies import on_ball, on_hinge

PART = {"mass": 1.3, "inertia": (0.1, 0.12, 0.14, 0.01, 0.0, 0.02), "center_of_mass": (0.05, 0.02, -0.3)}
SYSTEM = mq.ArticulatedSystem(
    (
        on_ball("thigh", damping=0.3, stiffness=2.0, **PART),
        on_hinge("shank", "y", "knee", "thigh", (0, 0, -0.6), damping=0.2, **PART),
    )
)  # fmt: skip
WORLD = "ground"
FORCES = (
    PrescribedForce("push", "shank", forces=(Linear(20.0, 5.0), Constant(-7.0), Constant(9.0)),
                    points=(Constant(0.1), Constant(0.0), Constant(-0.2)), torques=(Constant(1.0),) * 3),
    PointSpring("spring", WORLD, "shank", (0.2, 0.1, 0.0), (0.0, 0.1, -0.2), 200.0, 0.3),
)  # fmt: skip
ACTUATORS = (PointActuator("thruster", "shank", (0.1, 0.2, 0.1), (1.0, 0.5, 0.0), optimal_force=20.0),)
LAW = laws.Thelen2003(80.0, 0.3, 0.3, tendon="rigid")
MUSCLES = (
    mq.Muscle("straight", (PathPoint(WORLD, (0.1, 0, 0.05)), PathPoint("shank", (0.05, 0, -0.1))), LAW),
    mq.Muscle("ligament", (PathPoint(WORLD, (0.1, 0.1, 0.0)), PathPoint("shank", (0, 0.1, -0.1))),
              laws.PathSpring(500.0, 0.3, 0.1)),
)  # fmt: skip
FIT = FitSettings(1e-4, 1e-3)
MODEL = mq.Model(SYSTEM, MUSCLES, forces=FORCES, actuators=ACTUATORS)
STRAIGHT = mq.Model(SYSTEM, MUSCLES[:1])
START, SPEED = mq.joints.normalize([1.0, 0.1, 0.05, -0.08]), np.array([0.4, -0.3, 0.5, 0.6])


def run(model, **given):
    """Ten milliseconds from a pose in which all parts act."""
    m, k = len(model.muscles), len(model.control_names)
    inputs = ({"activation": np.full(m, 0.4)} if m else {}) | ({"controls": np.linspace(0.5, 1.0, k)} if k else {})
    return mq.simulate(model, [*START, 0.3], SPEED, 0.01, step=1e-3, start_time=0.2, **inputs, **given)


def test_power_is_the_rate_of_energy():
    """Against the difference quotient of all energies along the motion that the model's own equations give."""
    model, motion = MODEL, run(MODEL)
    q, u, h = motion.q, motion.u, 1e-6
    ends = [(SYSTEM.integrate(q, s * h * (u + s * h / 2 * motion.udot)), u + s * h * motion.udot) for s in (1, -1)]
    after, before = (
        kinetic_energy(model, *end) + potential_energy(model, end[0]) + elastic_energy(model, end[0]) for end in ends
    )
    np.testing.assert_allclose(motion.power, (after - before) / (2 * h), rtol=2e-6, atol=2e-6)


def test_reactions_of_a_run_are_the_loads_of_its_joints():
    motion = run(MODEL)
    found = joint_loads(MODEL, motion.to_motion(), motion.force, controls=motion.controls)
    np.testing.assert_allclose(found.wrench, motion.reactions, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.residual, 0.0, atol=1e-8)  # these forces alone cause the motion


# ---- fitted paths ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    """The straight muscle on a fitted path."""
    own = STRAIGHT
    poses = range_poses(own, 400, {"knee": (-0.6, 0.6)}, {"thigh": 0.6})
    return own.with_fitted_paths(fit_paths(own, poses, settings=FIT))


def test_a_fitted_muscle_pulls_on_bones_as_on_its_own_path_with_the_moments_of_the_fit(fitted):
    own, motion = STRAIGHT, run(STRAIGHT)
    tension = np.full((len(motion.time), 1), 100.0)
    found, wanted = (joint_loads(model, motion.to_motion(), tension) for model in (fitted, own))
    np.testing.assert_allclose(found.wrench, wanted.wrench, rtol=1e-12)
    tau = -(tension[..., None] * mq.path_jacobian(fitted, motion.q))[:, 0]
    needed = mq.inverse_dynamics(SYSTEM, motion.q, motion.u, motion.udot)
    np.testing.assert_allclose(found.residual, needed - tau, atol=1e-9)
    for function in (mq.muscle.unit_wrenches, mq.muscle.muscle_wrenches):
        last = "shank" if function is mq.muscle.unit_wrenches else tension
        np.testing.assert_array_equal(function(fitted, motion.q, last), function(own, motion.q, last))
    np.testing.assert_allclose(run(fitted).reactions, motion.reactions, atol=0.2)  # of 80 N, by the error of the fit


def test_a_muscle_that_is_only_a_function_says_so_wherever_bones_are_pulled(fitted):
    lost = replace(fitted, muscles=(replace(fitted.muscles[0], path=replace(fitted.muscles[0].path, anatomy=None)),))
    motion = run(lost)
    calls = (
        lambda: joint_loads(lost, motion.to_motion(), motion.forces),
        lambda: mq.muscle.muscle_wrenches(lost, motion.q, motion.forces),
        lambda: mq.muscle.unit_wrenches(lost, motion.q, "shank"),
        lambda: motion.reactions,
    )
    for call in calls:
        with pytest.raises(mq.ModelError, match=r"muscle 'straight': its path is a function of coordinates.*anatomy"):
            call()


def test_power_of_a_ligament_around_an_ellipsoid_is_the_rate_of_energy():
    """A solver finds the length, and its steps have no derivative. Expected: difference quotients of the energy."""
    rod = on_hinge("rod", "y", center_of_mass=(0.0, 0.0, 0.1))
    path = PathPoint("ground", (0.0, 0.05, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0))
    surface = WrapEllipsoid(body="ground", radii=(0.2, 0.25, 0.22))
    band = mq.Muscle("band", mq.muscle.MusclePath(path, wraps=(surface,)), laws.Ligament(0.3, 100.0))
    model = mq.Model(mq.ArticulatedSystem((rod,)), (band,), forces=(CoordinateSpring("spring", "rod.angle", 5.0),))
    motion = mq.simulate(model, [0.0], [1.0], duration=2e-3, activation=[0.0])
    assert motion.forces[1] > 100.0
    np.testing.assert_allclose(motion.power[1], 0.0, atol=1e-9)
    np.testing.assert_allclose(motion.energy[2] - motion.energy[0], 0.0, atol=1e-6)
    q, u = motion.q[1], motion.u[1]
    quotient = np.diff(elastic_energy(model, np.stack([q - 1e-5 * u, q + 1e-5 * u])))[0] / 2e-5
    np.testing.assert_allclose(energy_rate(model, q, u), quotient, rtol=1e-6)


# ---- numbers of every run --------------------------------------------------------------------------------------


def test_quantities_of_a_run_follow_its_own_numbers():
    """Each run against a model that is built with its numbers."""
    names = ("forces.spring.stiffness", "muscles.ligament.stiffness", "actuators.thruster.optimal_force")
    values = {name: np.array([0.5, 2.0]) * size for name, size in zip(names, (100.0, 300.0, 20.0), strict=True)}
    both = run(MODEL, parameters=values)
    binding = mq.muscle.Parameters.of(MODEL, names)
    for i in range(2):
        alone = run(binding.bind(np.array([values[name][i] for name in names])))
        for quantity in ("lengths", "forces", "torques", "udot", "energy", "power", "loads", "reactions"):
            np.testing.assert_allclose(
                getattr(both, quantity)[i], getattr(alone, quantity), rtol=1e-9, atol=1e-9, err_msg=quantity
            )
