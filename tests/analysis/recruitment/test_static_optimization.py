"""Static optimization: redundancy of poses, SciPy's optimizer, and what cannot be produced."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from myoquat.analysis.recruitment import Effort, redundancy, static_optimization
from myoquat.data import Motion, load_model
from myoquat.dynamics import forward_dynamics
from myoquat.muscle import muscle_forces, muscle_torques, path_jacobian, path_lengths
from myoquat.muscle.laws import DeGrooteFregly2016
from tests.analysis.recruitment.planar_arm import arm as planar_arm
from tests.bodies import with_muscles


@pytest.fixture(scope="module")
def model():
    return load_model("two_link")


@pytest.fixture(scope="module")
def euler():
    return load_model("two_link", rotations="sequence")


@pytest.fixture(scope="module")
def asked(model):
    """Poses, velocities, and torques that some activations would produce, and a little more."""
    rng = np.random.default_rng(2)
    q, u = model.system.random(25, rng), 0.3 * rng.normal(size=(25, 6))
    return q, u, muscle_torques(model, q, u, rng.uniform(0, 0.8, (25, 6))) + 0.3 * rng.normal(size=(25, 6))


@pytest.mark.parametrize("power", [2, 3, 5])
def test_it_is_redundancy_of_the_motion_that_the_torques_cause(model, asked, power):
    """Whose effort is certified to be the least."""
    q, u, torque = asked
    found = static_optimization(model, q, u, torque, power=power, reserves=5.0)
    np.testing.assert_allclose(found.torque + found.reserve, torque, atol=1e-9)
    np.testing.assert_allclose(found.torque, muscle_torques(model, q, u, found.activation), atol=1e-9)
    motion = Motion(model, np.arange(25.0), q, u, forward_dynamics(model, q, u, torque))
    same = redundancy(model, motion, reserves=5.0, effort=Effort(power))
    assert found.converged.all()
    np.testing.assert_allclose(found.activation, same.activation, atol=1e-6)
    np.testing.assert_allclose(found.effort, same.effort, rtol=1e-8)
    assert (same.effort - same.bound < 1e-8 * same.effort).all()
    assert ((found.activation > 1e-4) & (found.activation < 1 - 1e-6)).any()


def test_the_least_effort_where_passive_forces_are_greater_than_all_others():
    """Muscles that are far too long: efforts of 1e2 to 1e9, whose least value SciPy finds by an active-set method."""
    arm = planar_arm("thelen")
    slack = dict(zip(arm.muscle_names, path_lengths(arm, [0.5, 1.0]) / 2, strict=True))
    long = {"tendon": "rigid", "minimum_activation": 0.0}
    arm = with_muscles(arm, law=lambda m: DeGrooteFregly2016(400.0, 0.1, slack[m.name], **long))
    q, u = np.random.default_rng(3).uniform(-1.0, 2.0, (12, 2)), np.zeros((12, 2))
    torque = np.array([[1.0, -1.0]]) * 10.0 ** np.linspace(0, 5, 12)[:, None]
    found = static_optimization(arm, q, u, torque, reserves=5.0, backend="numpy")
    F0 = muscle_forces(arm, q, u, np.zeros(6))
    F1 = muscle_forces(arm, q, u, np.ones(6)) - F0
    arms = -np.swapaxes(path_jacobian(arm, q), -1, -2)
    assert found.converged.all()
    assert found.effort.max() > 1e8
    for k in range(12):
        A = np.concatenate([np.eye(6), arms[k] * F1[k] / 5.0])
        b = np.concatenate([np.zeros(6), (torque[k] - arms[k] @ F0[k]) / 5.0])
        theirs = lsq_linear(A, b, (0.0, 1.0), method="bvls", tol=1e-14)
        assert found.effort[k] == pytest.approx(2 * theirs.cost, rel=1e-9)
        assert np.abs(found.activation[k] - theirs.x).max() ** 2 <= 1e-9 * found.effort[k]  # the effort is convex


def test_no_poses_have_empty_results(model):
    """As lengths and forces of a batch without poses have."""
    q, u = np.zeros((2, 0, model.system.nq)), np.zeros((2, 0, model.system.nu))
    found = static_optimization(model, q, u, u)
    assert found.activation.shape == muscle_forces(model, q, u, found.activation).shape == (2, 0, 6)
    assert (found.torque.shape, found.effort.shape, len(found.velocities)) == ((2, 0, 6), (2, 0), 6)
    assert len(found.to_dataframe()) == 0


@pytest.mark.parametrize("power", [2.0, 3.0, 10.0])
def test_what_muscles_cannot_do_the_reserves_do(model, power):
    q = model.system.neutral()
    torque = np.full(6, 1e4)
    strengths = dict.fromkeys(model.system.velocity_names, 1.0) | {"A.omega_x": 1e3}
    found = static_optimization(model, q, np.zeros(6), torque, power=power, reserves=strengths)
    assert found.converged
    np.testing.assert_allclose(found.torque + found.reserve, torque)
    assert np.abs(found.reserve).max() > 5e3
    assert ((found.activation < 1e-6) | (found.activation > 1 - 1e-6)).mean() > 0.5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"power": 1.0}, r"power must lie in \[2, 10\]"),
        ({"torque": np.full(6, np.nan)}, "torque must be finite"),
        ({"torque": np.zeros(5)}, "torque must be finite"),
        ({"reserves": 0.0}, "must be positive"),
        ({"reserves": {"nothing": 1.0}}, "'nothing'"),
    ],
)
def test_bad_input(model, change, words):
    given = {"q": model.system.neutral(), "u": np.zeros(6), "torque": np.zeros(6)} | change
    with pytest.raises(ValueError, match=words):
        static_optimization(model, **given)
