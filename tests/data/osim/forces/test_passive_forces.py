"""Passive forces: what OpenSim makes of them, files, and what they do in a simulation."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from myoquat.analysis.motion import scale_model
from myoquat.analysis.recruitment import joint_loads, static_optimization
from myoquat.data import Motion, load_model
from myoquat.dynamics import forward_dynamics
from myoquat.dynamics.constraints import ParallelAxes, PointLoop
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.muscle import CubicExponentialMuscle, Model, Muscle, PathPoint, limit_torques
from myoquat.muscle.forces import Bushing, CoordinateSpring, PassiveForce, PointExpression, PointSpring
from tests.data.osim.two_bodies import OPENSIM, SYSTEM


@dataclass(frozen=True)
class Unplaced(PassiveForce):
    """A force of a user that says what it does to velocities, not to bodies."""

    def torque(self, system, q, u, t=None):
        return -1.0 * u

    def check(self, system):
        pass


FORCES = {
    "coordinate": CoordinateSpring("hold", "a2", 12.0, 0.1, 0.7),
    "points": PointSpring("pull", "B", "ground", (0.02, -0.3, 0.1), (0.3, 0.2, -0.1), 250.0, 0.4),
    "bushing": Bushing("soft", "ground", "B", (0.1, 0.5, 0.0), (0.02, -0.1, 0.03), (0.1, -0.2, 0.3), (0.2, 0.1, -0.1),
                       (10.0, 20.0, 15.0), (300.0, 200.0, 150.0), (0.5, 0.3, 0.2), (4.0, 3.0, 2.0)),
}  # fmt: skip


@pytest.mark.peers
def test_opensim_moves_alike(tmp_path, rng, in_opensim):
    """All types in one model: 1e-9 of the greatest acceleration at 200 states."""
    Model(SYSTEM, forces=tuple(FORCES.values()), name="sprung").save(tmp_path / "sprung.osim", strict=True)
    model = load_model(tmp_path / "sprung.osim", strict=True)
    q, u = rng.uniform(-0.6, 0.6, (200, 5)), rng.uniform(-2, 2, (200, 5))
    answer = np.array(in_opensim(OPENSIM, str(tmp_path / "sprung.osim"), json.dumps([q.tolist(), u.tolist()])))
    udot = forward_dynamics(model, q, u, limit_torques(model, q, u))
    np.testing.assert_allclose(udot, answer, atol=1e-9 * np.abs(answer).max())


@pytest.mark.parametrize("case", FORCES)
def test_power_is_that_of_the_measures(scalar, rng, case):
    """tau . u = f . dx/dt, on every type of number, dx/dt by central differences. A bushing holds the first body, whose
    three coordinates keep the expressions of its angles short."""
    force, system = FORCES[case], SYSTEM
    if case == "bushing":
        force, system = replace(force, second="A"), ArticulatedSystem(SYSTEM.bodies[:1], gravity=SYSTEM.gravity)
    q, u = rng.uniform(-0.5, 0.5, (3, system.nq)), rng.uniform(-1, 1, (3, system.nu))
    tau = scalar(lambda q, u: limit_torques(Model(system, forces=(force,)), q, u), q, u)
    x = force.measures(system, q)
    rate = (force.measures(system, q + 1e-6 * u) - force.measures(system, q - 1e-6 * u)) / 2e-6
    np.testing.assert_allclose(np.sum(tau * u, -1), np.sum(force.force(x, rate) * rate, -1), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("suffix", ["toml", "osim"])
def test_forces_come_back_equal(tmp_path, suffix):
    model = Model(SYSTEM, forces=tuple(FORCES.values()), name="sprung")
    model.save(tmp_path / f"sprung.{suffix}", strict=True)
    back = load_model(tmp_path / f"sprung.{suffix}", strict=True)
    assert back.forces[:2] == model.forces[:2]
    for key, value in vars(model.forces[2]).items():
        if not isinstance(value, str):
            np.testing.assert_allclose(getattr(back.forces[2], key), value, atol=1e-15)


def test_static_optimization_leaves_them_their_part(rng):
    path = (PathPoint("ground", (0.1, 0.1, 0.0)), PathPoint("B", (0.03, -0.2, 0.0)))
    plain = Model(SYSTEM, (Muscle("m", path, CubicExponentialMuscle(500.0, 0.5)),))
    sprung = Model(SYSTEM, plain.muscles, forces=(FORCES["coordinate"],))
    q, u, torque = rng.uniform(-0.3, 0.3, 5), rng.uniform(-1, 1, 5), rng.normal(size=5)
    own = limit_torques(sprung, q, u)
    assert own[1] == pytest.approx(-12.0 * (q[1] - 0.1) - 0.7 * u[1])
    found = static_optimization(sprung, q, u, torque + own).activation
    np.testing.assert_allclose(found, static_optimization(plain, q, u, torque).activation, atol=1e-12)


def test_what_cannot_be_scaled_or_loaded_yet_raises_a_named_error():
    pull = PointExpression("pull", "A", "ground", (0.0, 0.1, 0.0), expression="-20*d")
    with pytest.raises(ModelError, match=r"force 'pull': what scaling makes of its lengths"):
        scale_model(Model(SYSTEM, forces=(pull,)), factors={"A": 1.1})
    level = ParallelAxes("A", "B", name="level")
    with pytest.raises(ModelError, match=r"parallel axes 'level': what scaling makes of its lengths"):
        scale_model(Model(SYSTEM, constraints=(level,)), factors={"A": 1.1})
    pinned = Model(SYSTEM, constraints=(PointLoop("A", "ground", (0.1, 0.2, 0.3), (0.3, 0.2, 0.1)),))
    bigger = scale_model(pinned, factors={"A": (1.1, 1.0, 2.0)}).constraints[0]
    assert (bigger.first_point, bigger.second_point) == (pytest.approx((0.11, 0.2, 0.6)), (0.3, 0.2, 0.1))
    motion = Motion(SYSTEM, np.zeros(1), np.zeros((1, 5)), np.zeros((1, 5)), np.zeros((1, 5)))
    with pytest.raises(ModelError, match="it does not say on which bodies it acts"):
        joint_loads(Model(SYSTEM, forces=(Unplaced("pull"),)), motion)


@pytest.mark.parametrize(
    ("force", "message"),
    [
        (CoordinateSpring("f", "knee", 1.0), "coordinate 'knee' does not exist"),
        (CoordinateSpring("f", "a1", -1.0), "stiffness must not be negative"),
        (PointSpring("f", "A", "hand"), "body 'hand' does not exist"),
        (PointSpring("f", "A", "A"), "between body 'A' and itself"),
        (Bushing("f", "A", "B", rotational_damping=(1.0, float("nan"), 0.0)), "rotational_damping must be finite"),
    ],
)
def test_impossible_values_raise_a_named_error(force, message):
    with pytest.raises(ModelError, match=message) as caught:
        Model(SYSTEM, forces=(force,))
    assert "force 'f'" in str(caught.value)
