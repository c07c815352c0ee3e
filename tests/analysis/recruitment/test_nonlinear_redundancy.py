"""Redundancy of force laws that are not affine in the activation.

The conditions of the posed problem are evaluated here without the solver. The least effort is found by enumeration and
by many starts of SciPy's solver.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

from myoquat.analysis.recruitment import Coupled, Effort, JointCone, joint_loads, redundancy
from myoquat.analysis.recruitment.convex import Status
from myoquat.data import Motion
from myoquat.dynamics import inverse_dynamics
from myoquat.joints import ArticulatedSystem, Body, FixedJoint
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle import ActivationDynamics, Model, Muscle, PathPoint, muscle_forces, path_jacobian, path_lengths
from myoquat.muscle.laws import Millard2012, Thelen2003
from tests.analysis.recruitment.planar_arm import LEAST, STRENGTH, arm, frames_of, reserves_of, smooth
from tests.bodies import with_muscles
from tests.volume import draws


class Posed:
    """One frame, evaluated on its own: forces by NumPy, torques of a unit tension, and the torque of the motion."""

    def __init__(self, model, motion, k):
        self.model, self.q, self.u = model, motion.q[k], motion.u[k]
        self.arms = -path_jacobian(model, self.q, backend="numpy").T
        self.at = path_lengths(model, self.q, backend="numpy"), -self.u @ self.arms
        self.torque = inverse_dynamics(model, self.q, self.u, motion.udot[k])

    def forces(self, a):
        rows = zip(self.model.muscles, *self.at, np.moveaxis(a, -1, 0), strict=True)
        return np.stack([muscle.law.force(l, v, own) for muscle, l, v, own in rows], axis=-1)

    def slopes(self, a, side, h=1e-6):
        """One-sided differences of second order of the forces."""
        steps = [self.forces(np.clip(a + side * n * h, LEAST, 1.0)) for n in range(3)]
        return side * (-3 * steps[0] + 4 * steps[1] - steps[2]) / (2 * h)

    def assert_stationary(self, a, paid, tolerance):
        """No activation can move either way for less effort, if tensions are paid for."""
        up, down = (2 * a - paid * self.slopes(a, side) for side in (1.0, -1.0))
        assert (up[a < 1 - 1e-5] > -tolerance).all()
        assert (down[a > LEAST + 1e-5] < tolerance).all()

    def effort(self, a):
        """That of activations, reserves making up for the rest."""
        rest = (self.torque - self.arms @ self.forces(a)) / STRENGTH
        return float((a**2).sum() + (rest**2).sum())


def solved(model, motion, **options):
    return redundancy(model, motion, reserves=reserves_of(model), backend="numpy", **options)


@pytest.fixture(scope="module", params=["millard", "thelen"])
def fast(request):
    """A model, a fast motion, and what redundancy finds."""
    model = arm(request.param)
    motion = smooth(model, 2.5, 40)
    return model, motion, solved(model, motion)


def test_fast_motions_meet_the_conditions_of_the_posed_problem(fast):
    """Equations, bounds, and stationarity: no activation can move either way for less effort at the prices given."""
    model, motion, found = fast
    assert np.isin(found.status, (Status.SOLVED, Status.LOCAL)).all()
    flat = 0
    for k in range(0, len(motion.time), draws(3, 1)):
        posed, a, c = Posed(model, motion, k), found.activation[k], found.reserve[k] / STRENGTH
        F = muscle_forces(model, motion.q[k], motion.u[k], a, backend="numpy")
        np.testing.assert_allclose(F, found.force[k], rtol=1e-9, atol=1e-7)
        size = max(np.abs(posed.torque).max(), 1.0)
        np.testing.assert_allclose(posed.arms @ F + STRENGTH * c, posed.torque, atol=2e-9 * size)
        assert a.min() >= LEAST
        assert a.max() <= 1
        assert found.effort[k] == pytest.approx((a**2).sum() + (c**2).sum(), rel=1e-9)
        price = found.price[k]
        np.testing.assert_allclose(2 * c, STRENGTH * price, rtol=1e-4, atol=1e-4)
        posed.assert_stationary(a, price @ posed.arms, 1e-4 * max(np.abs(2 * a).max(), 1.0))
        flat += int((posed.forces(np.full(6, 0.2)) <= 0).sum())
    assert flat > draws(6, 20)  # muscles that do not pull over a range of activations


def test_slopes_are_exact_derivatives(fast):
    """Beside complex steps of the formula; at a kink both take the branch of its values."""
    model, motion, found = fast
    for k in range(0, len(motion.time), draws(3, 12)):
        exact = np.diagonal(jacobian_at(Posed(model, motion, k).forces, found.activation[k]))
        np.testing.assert_allclose(found.slopes[k], exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())


def on_and_off(posed, laws_at):
    """The least effort of muscles that are affine where they pull at all: of all choices of those that do."""
    start, slope = laws_at
    best = np.inf
    for choice in product((False, True), repeat=len(start)):
        on = np.array(choice)
        if ((posed.forces(np.full(len(on), LEAST)) > 1e-9) & ~on).any():
            continue
        rest = LEAST**2 * float((~on).sum())
        low = np.minimum(np.maximum(-start[on] / slope[on], LEAST), 1 - 1e-12)
        if not on.any():
            best = min(best, rest + float(((posed.torque / STRENGTH) ** 2).sum()))
            continue
        A = np.vstack([posed.arms[:, on] * slope[on] / STRENGTH, np.eye(int(on.sum()))])
        b = np.concatenate([(posed.torque - posed.arms[:, on] @ start[on]) / STRENGTH, np.zeros(int(on.sum()))])
        best = min(best, rest + 2 * lsq_linear(A, b, (low, np.ones(len(low))), tol=1e-13).cost)
    return best


def many_starts(posed, rng):
    """The least effort that SciPy's solver finds from many starts."""

    def value(a):
        rest = (posed.torque - posed.arms @ posed.forces(a)) / STRENGTH
        slope = (posed.forces(np.minimum(a + 1e-7, 1)) - posed.forces(np.maximum(a - 1e-7, LEAST))) / (
            np.minimum(a + 1e-7, 1) - np.maximum(a - 1e-7, LEAST)
        )
        return (a**2).sum() + (rest**2).sum(), 2 * a - 2 * slope * (posed.arms.T @ rest) / STRENGTH

    starts = [np.full(6, x) for x in (LEAST, 0.5, 1.0)] + [rng.uniform(LEAST, 1, 6) ** (1 + k % 2) for k in range(6)]
    bounds = [(LEAST, 1.0)] * 6
    return min(minimize(value, a, jac=True, method="L-BFGS-B", bounds=bounds).fun for a in starts)


def test_no_effort_is_less(fast, rng):
    """By enumeration for Millard's muscles, from many starts for Thelen's."""
    model, motion, found = fast
    for k in range(0, len(motion.time), 12):
        posed = Posed(model, motion, k)
        if isinstance(model.muscles[0].law, Millard2012):
            one, near = posed.forces(np.ones(6)), posed.forces(np.full(6, 0.99))
            slope = np.maximum((one - near) / 0.01, 1e-9)
            least = on_and_off(posed, (one - slope, slope))
        else:
            least = many_starts(posed, rng)
        assert found.effort[k] <= least * (1 + 1e-6)
        assert np.isnan(found.bound[k]) == (found.status[k] == Status.LOCAL)


def test_prices_prove_the_effort_of_most_frames(fast):
    """The Lagrange dual on a grid of activations that is much finer than the solver's."""
    model, motion, found = fast
    grid, proved = np.linspace(LEAST, 1.0, 4001), 0
    frames = range(0, len(motion.time), 5)
    for k in frames:
        posed, price = Posed(model, motion, k), found.price[k]
        F = posed.forces(np.broadcast_to(grid[:, None], (len(grid), 6)))
        muscles = (grid[:, None] ** 2 - F * (price @ posed.arms)).min(axis=0).sum()
        dual = price @ posed.torque + muscles - ((STRENGTH * price) ** 2).sum() / 4
        assert dual <= found.effort[k] + 1e-6 * max(found.effort[k], 1.0)  # of what is between points
        proved += dual == pytest.approx(found.effort[k], rel=1e-6, abs=1e-6)
    assert proved >= len(frames) / 2


def test_a_cone_meets_the_conditions_of_the_posed_problem():
    """The force in the elbow stays within its cone. The cone's multiplier is within the dual cone and does no work on
    the force. With the prices it balances every muscle's effort."""
    model = arm("thelen")
    motion = frames_of(smooth(model, 1.5, 24), np.arange(0, 24, 4))
    cone = JointCone("lower", (0.0, 1.0, 0.0), 0.35)
    found = solved(model, motion, cones=[cone])
    met = np.isin(found.status, (Status.SOLVED, Status.LOCAL))
    assert met.sum() >= 4
    assert (found.margin[met, 0] < 1e-6).any()

    def pressed(force):
        return joint_loads(model, motion, force).of("lower", on="parent", frame="parent").force

    nothing = pressed(np.zeros(found.force.shape))
    lines = [pressed(np.tile(row, (len(motion.time), 1))) - nothing for row in np.eye(6)]
    for k in np.flatnonzero(met):
        posed, a, pull = Posed(model, motion, k), found.activation[k], found.pull[k, 0]
        force = pressed(found.force)[k]
        size = np.linalg.norm(force)
        assert force[1] * np.tan(0.35) >= np.linalg.norm(force[[0, 2]]) - 1e-7 * size
        assert pull[1] >= np.linalg.norm(pull) * np.sin(0.35) - 1e-7
        assert abs(pull @ force) < 1e-5 * max(np.linalg.norm(pull) * size, 1.0)
        np.testing.assert_allclose(2 * found.reserve[k] / STRENGTH, STRENGTH * found.price[k], atol=1e-5)
        paid = found.price[k] @ posed.arms + pull @ np.stack([line[k] for line in lines], axis=-1)
        posed.assert_stationary(a, paid, 1e-3)


@pytest.mark.parametrize("effort", [Effort(3.0, of="stress"), Effort(1.5), Effort(np.inf)])
def test_other_efforts_are_least(effort):
    """No activations among many have less effort."""
    model = arm("millard")
    motion = frames_of(smooth(model, 2.5, 60), np.arange(0, 60, 6))
    found = solved(model, motion, effort=effort)
    if effort.power == np.inf:
        np.testing.assert_array_equal(np.isnan(found.bound), found.status == Status.LOCAL)
        assert 3 <= np.isnan(found.bound).sum() < 10  # some frames have laws that are affine there
        return
    rng, strength = np.random.default_rng(2), np.array([m.law.max_isometric_force for m in model.muscles])
    for k in range(len(motion.time)):
        posed = Posed(model, motion, k)
        tried = np.clip(
            found.activation[k] + rng.normal(size=(2000, 6)) * rng.choice([0.01, 0.1, 0.5], (2000, 1)), LEAST, 1
        )
        F = posed.forces(tried)
        own = np.abs(F / strength if effort.of == "stress" else tried) ** effort.power
        rest = np.abs((posed.torque - F @ posed.arms.T) / STRENGTH) ** effort.power
        assert (own.sum(axis=-1) + rest.sum(axis=-1)).min() >= found.effort[k] * (1 - 1e-6)


def test_minimum_activation_and_slack_muscles(rng):
    """A muscle on a path too short for its tendon gives nothing at any activation; a least activation of 0 is kept."""
    model = arm("thelen", minimum_activation=0.0)
    first = replace(model.muscles[0], law=replace(model.muscles[0].law, tendon_slack_length=1.0))
    model = replace(model, muscles=(first, *model.muscles[1:]))
    motion = frames_of(smooth(model, 2.5, 60), np.arange(0, 60, 6))
    found = solved(model, motion)
    assert np.isin(found.status, (Status.SOLVED, Status.LOCAL)).all()
    assert (found.force[:, 0] == 0).all()
    assert np.abs(found.activation[:, 0]).max() < 1e-9
    assert not (found.bound > found.effort).any()


def test_muscles_of_what_cannot_move_have_the_least_effort():
    """No velocity is free, and no torque is asked for."""
    path, law = (PathPoint("ground", (0.0, 0.0, 0.0)), PathPoint("a", (0.1, 0.0, 0.0))), Thelen2003(100.0, 0.05, 0.05)
    muscle = Muscle(
        "m", path, law=replace(law, tendon="rigid"), activation_dynamics=ActivationDynamics(minimum_activation=LEAST)
    )
    model = Model(ArticulatedSystem((Body("a", "ground", FixedJoint()),)), (muscle,))
    nothing = np.zeros((40, 0))
    found = redundancy(model, Motion(model.system, np.linspace(0, 1, 40), nothing, nothing, nothing), backend="numpy")
    assert (found.status == Status.SOLVED).all()
    np.testing.assert_allclose(found.activation, LEAST, atol=1e-9)


def test_a_coupled_trial_of_nonlinear_laws_has_no_bound():
    """Of laws that are not affine no bound is known."""
    slow = ActivationDynamics(0.05, 0.2, "quadratic", minimum_activation=LEAST)
    model = with_muscles(arm("thelen"), activation_dynamics=slow)
    motion = smooth(model, 0.8, 16)
    whole = solved(model, motion, dynamics=Coupled(rates=1e-4))
    assert whole.trial.linked > 0
    assert np.isnan(whole.trial.bound)
    assert whole.trial.status == Status.LOCAL
