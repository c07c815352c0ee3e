"""Explicit constraints: gears, a four-bar loop, the unit quaternion; and the equations in quaternion coordinates."""

import json
from pathlib import Path

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.dynamics import forward_dynamics, simulate
from myoquat.dynamics.constraints import PointLoop, PositionFormula
from myoquat.dynamics.other_coordinates import (
    Gamma,
    first_order_form,
    forward_dynamics_gamma,
    quaternion_accelerations,
    quaternion_form,
)
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.multibody.body import Body
from myoquat.joints.multibody.sampling import random_system
from myoquat.joints.types import RevoluteJoint, SphericalJoint


def wheel(name, mass, center, inertia):
    axis = RevoluteJoint((0.0, 1.0, 0.0))
    moments = (1.0, inertia, 1.0, 0.0, 0.0, 0.0)
    return Body(name, "ground", axis, mass=mass, center_of_mass=center, inertia=moments, coordinate_names=(name,))


GEARS = ArticulatedSystem((wheel("a", 1.0, (0.2, 0.0, 0.0), 0.5), wheel("b", 0.5, (0.0, 0.0, 0.1), 0.2)))


def gears(Ts=None):
    return Gamma(lambda y, q0: np.concatenate([y, 3 * y + 0.1], axis=-1), lambda q: q[..., :1], 1, Ts)


def four_bar():
    """Crank 0.3, coupler 1, rocker 0.8, base 0.9, in the x-z plane; relative angles about -y."""
    rod = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1, 0.0, 0.0, 0.0)}
    axis = RevoluteJoint((0.0, -1.0, 0.0))

    def bar(name, parent, x, half):
        return Body(name, parent, axis, (x, 0, 0), center_of_mass=(half, 0, 0), coordinate_names=(name,), **rod)

    return ArticulatedSystem(
        (bar("crank", "ground", 0.0, 0.15), bar("coupler", "crank", 0.3, 0.5), bar("rocker", "ground", 0.9, 0.4))
    )


def bar_angles(y, q0):
    """Coupler and rocker from the crank; the side on which the knee lies is that of q0."""
    a = y[..., 0]
    x, z = 0.9 - 0.3 * np.cos(a), -0.3 * np.sin(a)
    d = np.sqrt(x * x + z * z)
    side = np.where(np.sin(q0[..., 2] - (q0[..., 0] + q0[..., 1])) > 0, 1.0, -1.0)
    alpha = np.arccos((1.0 + d * d - 0.64) / (2 * d))
    beta = np.arccos((0.64 + d * d - 1.0) / (1.6 * d))
    base = np.arctan2(z, x)
    return np.stack([a, base + side * alpha - a, base + np.pi - side * beta], axis=-1)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_four_bar_loop_moves_as_under_the_point_constraint(side):
    gamma = Gamma(bar_angles, lambda q: q[..., :1], 1)
    system = four_bar()
    q = gamma.corrected(np.array([0.7, 0.5 * side, 1.9 if side > 0 else -2.5]))
    tau = np.array([0.5, 0.0, -0.3])
    loop = PointLoop("coupler", "rocker", (1.0, 0, 0), (0.8, 0, 0))
    planar = PositionFormula(lambda system, q, t: loop.position(system, q, t)[..., ::2])
    way = simulate(system, q, [0.9, 0, 0], 1e-3, torque=tau, constraints=[planar], project_start=True)
    qdd = forward_dynamics_gamma(system, gamma, way.q[0], way.u[0], tau)
    np.testing.assert_allclose(qdd, way.acceleration[0], atol=1e-10)


def test_the_unit_quaternion_is_a_gamma_too(rng):
    """y = (Q1, Q2, Q3), Q0 with the sign of the given one: the motion of the ball joint."""
    inertia = (0.2, 0.28, 0.1, 0.0, 0.0, 0.02)
    body = Body("b", "ground", SphericalJoint(), mass=2.0, center_of_mass=(0.1, 0.0, -0.5), inertia=inertia)
    system = ArticulatedSystem((body,))

    def chart(y, q0):
        root = np.sqrt(1 - np.sum(y * y, axis=-1))
        return np.concatenate([np.where(q0[..., :1] < 0, -root[..., None], root[..., None]), y], axis=-1)

    gamma = Gamma(chart, lambda q: q[..., 1:], 3)
    q = system.random(20, rng)
    q = q[np.abs(q[:, 0]) > 0.1]
    u, tau = rng.normal(size=(2, len(q), 3))
    qd = system.rates(q, u)
    udot = forward_dynamics(system, q, u, tau)
    h = 1e-4
    ahead, behind = (system.integrate(q, s * h * u + h * h * udot / 2) for s in (1, -1))
    qdd = forward_dynamics_gamma(system, gamma, q, qd, tau)
    np.testing.assert_allclose(qdd, (ahead - 2 * q + behind) / h**2, atol=2e-5)
    np.testing.assert_allclose(system.velocities(q, qdd), udot, atol=1e-9)


def test_stabilization_pulls_a_drifted_state_back():
    """q0 off the gears by d, qdot0 by e: the mismatch obeys d'' = -2/Ts d' - d/Ts^2."""
    gamma, Ts = gears(0.1), 0.1
    q, qd = np.array([0.4, 1.3 + 1e-3]), np.array([0.7, 2.1 - 2e-3])
    free = forward_dynamics_gamma(GEARS, gears(), q, qd, np.zeros(2))
    held = forward_dynamics_gamma(GEARS, gamma, q, qd, np.zeros(2))
    mismatch = (held - free) @ np.array([-3.0, 1.0])
    assert mismatch == pytest.approx(-2 / Ts * -2e-3 - 1e-3 / Ts**2, rel=1e-9)


def doubled(y, q0):
    return np.concatenate([y, 2 * y], axis=-1)


@pytest.mark.parametrize(
    ("gamma", "message"),
    [
        (Gamma(doubled, lambda q: 2 * q[..., :1], 1), "gamma_inverse.* fails by"),
        (Gamma(doubled, lambda q: q, 1), "gives"),
    ],
)
def test_maps_that_are_no_inverses_are_refused(gamma, message):
    with pytest.raises((ModelError, ValueError), match=message):
        forward_dynamics_gamma(GEARS, gamma, np.array([0.4, 0.8]), np.zeros(2), np.zeros(2))


@pytest.mark.parametrize("seed", range(4))
def test_quaternion_coordinates_give_the_same_motion(seed):
    """On random trees: u and udot from qdot and qddot; the force that keeps |Q| = 1 lies along Q."""
    rng = np.random.default_rng(seed)
    system = random_system(4, rng, ["spherical", "revolute", "floating"])
    q, (u, tau) = system.random(5, rng), rng.normal(size=(2, 5, system.nu))
    qd = system.rates(q, u)
    found = quaternion_accelerations(system, q, qd, tau)
    h = 1e-6
    ahead, behind = (system.velocities(_unit(system, q + step * qd), qd) for step in (h, -h))
    along = (ahead - behind) / (2 * h)
    udot = forward_dynamics(system, q, u, tau)
    np.testing.assert_allclose(system.velocities(q, found.acceleration) + along, udot, atol=1e-6 * np.abs(udot).max())
    assert np.abs(found.residual).max(initial=0) < 1e-10
    M, *_ = quaternion_form(system, q, qd, tau)
    rank = np.linalg.matrix_rank(M[0], tol=1e-10 * np.abs(M[0]).max())
    assert rank == system.nu


def _unit(system, q):
    q = q.copy()
    for s in system.quaternion_slices():
        q[..., s] /= np.linalg.norm(q[..., s], axis=-1, keepdims=True)
    return q


def test_the_first_order_form():
    """M(Q) xdot = f of two_link against the independent one, whose x orders (Q1, Q2, omega1, omega2) as ours."""
    oracle = json.loads((Path(__file__).parents[1] / "data" / "two_link_states.json").read_text())
    model = load_model("two_link")
    q, u = np.array(oracle["q"]), np.array(oracle["u"])
    M, f = first_order_form(model, q, u, np.zeros(6))
    xdot = np.linalg.solve(M, f[..., None])[..., 0]
    independent = np.linalg.solve(np.array(oracle["mm_quat"]), np.array(oracle["fo_quat"])[..., None])[..., 0]
    np.testing.assert_allclose(xdot, independent, rtol=1e-10, atol=1e-10)
