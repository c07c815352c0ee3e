"""Activations of the least metabolic power."""

import numpy as np
import pytest
from scipy.optimize import minimize

from myoquat.analysis.recruitment import JointCone, MetabolicEffort, Reserve, metabolic_power, redundancy
from myoquat.analysis.recruitment.convex import Status
from myoquat.dynamics import inverse_dynamics
from myoquat.joints.errors import ModelError
from myoquat.muscle import CubicExponentialMuscle, muscle_torques, path_jacobian, path_lengths
from myoquat.muscle.laws import Millard2012
from myoquat.muscle.laws.thelen import Thelen2003
from myoquat.muscle.metabolics import Bhargava2004, Fiber, Umberger2010
from tests.analysis.recruitment.shoulders import caused, shoulder
from tests.bodies import with_muscles
from tests.volume import draws


@pytest.fixture(scope="module")
def moved():
    """A shoulder with muscles of Millard, and five frames of a motion with the activations that cause it. A motor holds
    the trunk and costs nothing."""
    model = shoulder(lambda k: Millard2012(300.0, 0.08, 0.06, tendon="rigid"), 6, trunk=True)
    return model, *swung(model), (Reserve(model.system.velocity_names[0], 10.0, 0.0),)


def swung(model):
    return caused(model, np.random.default_rng(5), 5, (0.02, 0.4), speed=0.5, held=20.0)


@pytest.mark.parametrize("cost", [Umberger2010(), Bhargava2004(), Umberger2010(recruitment=False, negative_work=False),
                                  Bhargava2004(force_dependent=True, forbid_negative_power=False)])  # fmt: skip
def test_power_bound_and_descents(moved, cost):
    """The effort is the power of `metabolic_power`. SLSQP, on torques of `muscle_torques`, finds nothing less from the
    solution. From anywhere it finds nothing below the bound. Where the bound is met, it finds nothing less at all."""
    model, motion, made, motor = moved
    weights, law = np.linspace(0.5, 2.0, 6), model.muscles[0].law
    effort = MetabolicEffort(weights=weights, cost=cost)
    found = redundancy(model, motion, reserves=motor, effort=effort, backend="numpy")
    assert np.isin(found.status, (Status.SOLVED, Status.LOCAL)).all()
    assert len(found.failures()) == 0
    assert np.abs(found.residual).max() < 1e-7
    powers = metabolic_power(model, motion, found.activation, cost=cost).power
    np.testing.assert_allclose(powers @ weights, found.effort, rtol=1e-12)
    gap = (found.effort - found.bound) / found.effort
    assert (gap >= -1e-7).all()
    assert (gap[found.status == Status.SOLVED] <= 1e-7).all()
    J, torque = path_jacobian(model, motion.q), inverse_dynamics(model.system, motion.q, motion.u, motion.udot)[:, 1:]
    lengths, speeds = path_lengths(model, motion.q), np.einsum("tmu,tu->tm", J, motion.u)
    zero, one = (muscle_torques(model, motion.q, motion.u, np.full(made.shape, x))[:, 1:] for x in (0.01, 1.0))
    mass, rng = cost.mass(300.0, 0.08), np.random.default_rng(6)
    for k in range(draws(1, 3)):
        each = [muscle_torques(model, motion.q[k], motion.u[k], row)[1:] for row in 0.01 + 0.99 * np.eye(6)]
        A = (np.array(each) - zero[k]).T / 0.99
        b = torque[k] - zero[k] + A @ np.full(6, 0.01)
        np.testing.assert_allclose(A @ np.full(6, 0.99), one[k] - zero[k], atol=1e-9)

        def power(a, k=k):
            return float(weights @ cost.power(Fiber.of(law, (lengths[k], speeds[k], a), a, mass=mass)))

        ends = []
        for start in (found.activation[k], made[k], rng.uniform(0.01, 1.0, 6)):
            tried = minimize(power, start, bounds=6 * [(0.01, 1.0)], method="SLSQP", options={"maxiter": 60},
                             constraints={"type": "eq", "fun": lambda a, A=A, b=b: A @ a - b})  # fmt: skip
            ends.append(tried.fun if np.abs(A @ tried.x - b).max() < 1e-7 else np.inf)
        assert ends[0] == pytest.approx(found.effort[k], rel=1e-5)
        assert found.bound[k] <= min(ends) * (1 + 1e-7)


def test_reserves_alone_cost_their_squares(moved):
    model, motion, _, _ = moved
    bare = model.without_muscles()
    metabolic, squares = (redundancy(bare, motion, reserves=50.0, effort=effort, backend="numpy")
                          for effort in (MetabolicEffort(), None))  # fmt: skip
    np.testing.assert_array_equal(metabolic.reserve, squares.reserve)
    np.testing.assert_array_equal(metabolic.effort, squares.effort)


def test_bent_laws_cones_and_kernels(moved):
    """Thelen's law meets the equations by tangents; a cone holds; kernels find what NumPy finds."""
    model, (motion, _) = (
        shoulder(lambda k: Thelen2003(300.0, 0.08, 0.06, tendon="rigid"), 6, trunk=True),
        swung(moved[0]),
    )
    motors = [Reserve(name, 20.0, 50.0) for name in model.system.velocity_names]
    cone = JointCone("arm", (-1.0, 0.0, 0.0), 1.2)
    given = {"reserves": motors, "cones": [cone], "effort": MetabolicEffort(cost=Bhargava2004())}
    found = redundancy(model, motion, backend="numpy", **given)
    assert np.isin(found.status, (Status.SOLVED, Status.LOCAL)).all()
    assert np.abs(found.residual).max() < 1e-6
    assert found.margin.min() > -1e-8
    again = redundancy(model, motion, **given)
    np.testing.assert_allclose(again.effort, found.effort, rtol=1e-5)


def test_bad_questions(moved):
    model, motion, _, motor = moved
    for effort, words in (
        (MetabolicEffort(target=0.1), "no target"), (MetabolicEffort(power=np.inf), "no infinite power"),
        (MetabolicEffort(of="stress"), "has no `of`"), (MetabolicEffort(slow_twitch=1.5), "must lie in"),
        (MetabolicEffort(slow_twitch={"m9": 0.5}), "m9"), (MetabolicEffort(masses={"m1": -1.0}), "must be positive"),
        (MetabolicEffort(weights=-1.0), "not negative"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            redundancy(model, motion, reserves=motor, effort=effort)
    plain = with_muscles(model, law=CubicExponentialMuscle(0.3, 400.0))
    with pytest.raises(ModelError, match="no fiber"):
        redundancy(plain, motion, reserves=motor, effort=MetabolicEffort())
