"""Linearization and derivatives of single steps: closed forms and messages. Slopes are laws of `tests/pairs`."""

from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.dynamics import Inputs, forward_dynamics_derivatives, linearize, simulate, step_derivatives
from myoquat.dynamics.integrators import FIXED_STEP
from myoquat.joints.multibody.sampling import random_system
from tests.bodies import on_ball, on_hinge
from tests.pairs.interpreted import interpreted

RNG = np.random.default_rng(40)
SYSTEM = random_system(2, RNG, ("spherical", "revolute"), passive=True)
Q, U, TAU = SYSTEM.random(1, RNG)[0], RNG.normal(size=SYSTEM.nu), RNG.normal(size=SYSTEM.nu)
H = 0.01


def ball(frame="child"):
    """A body with three different moments of inertia about a fixed point, without gravity."""
    body = on_ball("top", inertia=(1.0, 2.0, 2.5))
    return mq.ArticulatedSystem((body,), gravity=(0.0, 0.0, 0.0), velocity_frame=frame)


def test_a_free_top_has_eulers_equations():
    """ddq/dt = -omega x dq + du, I domega/dt = I omega x omega, and torques through the inverse of I."""
    omega, inertia = np.array([0.3, -1.2, 0.8]), np.array([1.0, 2.0, 2.5])

    def cross(v):
        return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])

    found = linearize(ball(), [0.5, 0.5, -0.5, 0.5], omega)
    expected = (cross(inertia * omega) - cross(omega) @ np.diag(inertia)) / inertia[:, None]
    assert np.abs(found.A - np.block([[-cross(omega), np.eye(3)], [np.zeros((3, 3)), expected]])).max() < 1e-14
    assert np.abs(found.B - np.vstack([np.zeros((3, 3)), np.diag(1 / inertia)])).max() < 1e-15
    assert found.state_names[:4] == ("dtop.omega_x", "dtop.omega_y", "dtop.omega_z", "top.omega_x")


@pytest.mark.parametrize("method", FIXED_STEP)
def test_steps_are_those_of_simulate(method):
    system = ball() if method == "variational" else SYSTEM
    q, (u, tau) = system.random(1, RNG)[0], RNG.normal(size=(2, system.nu))
    way = simulate(system, q, u, H, H, torque=tau, method=method)
    with interpreted():
        found = step_derivatives(system, q, u, H, method=method, inputs=Inputs(torque=tau))
    assert np.abs(found.q - way.q[-1]).max() < 1e-14
    assert np.abs(found.u - way.u[-1]).max() < 1e-12


def test_radau_steps():
    """Against a tight simulation, of order 5."""

    def step(q, u, h=H):
        return step_derivatives(SYSTEM, q, u, h, method="radau", inputs=Inputs(torque=TAU))

    def error(h):
        exact = simulate(SYSTEM, Q, U, h, torque=TAU, rtol=1e-13)
        return np.abs(step(Q, U, h).u - exact.u[-1]).max()

    assert error(H) < 1e-6
    assert error(2 * H) / error(H) > 2**5


def test_one_sided_derivatives_are_flagged():
    """A point that comes at 0.5 rad: beside it the derivative of one side, elsewhere the derivative."""
    arm = on_hinge("arm", center_of_mass=(0.2, 0, 0))
    (angle,) = mq.ArticulatedSystem((arm,)).coordinate_names
    ends = mq.muscle.PathPoint("ground", (0.0, 0.3, 0.0)), mq.muscle.PathPoint("arm", (0.3, 0.0, 0.0))
    via = mq.muscle.ConditionalPoint("arm", (0.1, 0.05, 0.0), angle, (0.5, 1.5))
    muscles = [mq.Muscle(str(len(path)), path) for path in ((ends[0], via, ends[1]), ends)]
    laws = [replace(each, law=mq.muscle.ExponentialMuscle(0.3, 10.0)) for each in muscles]
    model, half = mq.Model(mq.ArticulatedSystem((arm,)), tuple(laws)), Inputs([0.5, 0.5])
    q, u, tau = np.array([[0.2], [0.49999]]), np.zeros((2, 1)), np.zeros((2, 1))
    expected = [[False, False], [True, False]]
    assert linearize(model, q, u, inputs=half, one_sided=True).one_sided.tolist() == expected
    assert step_derivatives(model, q, u, 1e-3, inputs=half, one_sided=True).one_sided.tolist() == expected
    assert forward_dynamics_derivatives(model, q, u, tau, inputs=half, one_sided=True).one_sided.tolist() == expected
    assert linearize(model, q, u, inputs=half).one_sided is None
    with pytest.raises(ValueError, match="one_sided"):
        forward_dynamics_derivatives(model, q, u, tau, one_sided=True)


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="step"):
        step_derivatives(SYSTEM, Q, U, -1.0)
    with pytest.raises(ValueError, match="chooses its steps"):
        step_derivatives(SYSTEM, Q, U, method="dop853")
    with pytest.raises(RuntimeError, match="shorter step"):
        step_derivatives(SYSTEM, Q, 1e3 * U, 10.0, method="radau")
    with pytest.raises(ValueError, match="activation"):
        linearize(SYSTEM, Q, U, inputs=Inputs([0.5]))


def test_a_path_that_a_solver_finds_is_named():
    rod = on_hinge("rod", "y", center_of_mass=(0, 0, -0.3))
    path = (mq.muscle.PathPoint("ground", (0.2, 0.0, 0.2)), mq.muscle.PathPoint("rod", (0.1, 0.0, -0.6)))
    ring = mq.muscle.WrapTorus(body="ground", position=(0.0, 0.0, -0.2), ring_radius=0.2, tube_radius=0.05)
    muscle = mq.Muscle("biceps", mq.muscle.MusclePath(path, wraps=(ring,)), mq.muscle.laws.PathActuator(50.0))
    model = mq.Model(mq.ArticulatedSystem((rod,)), (muscle,))
    inputs = Inputs([0.5])
    for call in (
        lambda: linearize(model, [0.0], [0.0], inputs=inputs),
        lambda: step_derivatives(model, [0.0], [0.0], inputs=inputs),
        lambda: forward_dynamics_derivatives(model, [0.0], [0.0], [0.0], inputs=inputs),
    ):
        with pytest.raises(ValueError, match=r"muscle 'biceps': .* around a torus.*with_fitted_paths"):
            call()
    with pytest.raises(ValueError, match=r"'start_q.rod.angle' is an input of its own"):
        forward_dynamics_derivatives(model, [0.0], [0.0], [0.0], parameters="start_q.rod.angle")
