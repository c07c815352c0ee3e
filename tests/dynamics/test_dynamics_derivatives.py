"""Derivatives of the dynamics: against complex steps and CasADi, differences on the group, and identities."""

from itertools import pairwise

import casadi
import numpy as np
import pytest

import myoquat as mq
from myoquat import kernels
from myoquat.dynamics import (
    Inputs,
    articulated,
    constraints,
    factor,
    forward_dynamics_derivatives,
    forward_dynamics_hvp,
    inverse,
    inverse_dynamics_derivatives,
    inverse_dynamics_hvp,
)
from myoquat.dynamics.sensitivity.recursions import forward_derivatives, inverse_derivatives
from myoquat.joints.functions import Linear
from myoquat.joints.multibody.sampling import random_system
from myoquat.kernels import as_casadi_vector, symbols_casadi
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.muscle import Parameters
from tests.bodies import on_hinge, on_slide

RNG = np.random.default_rng(2)
SYSTEM = random_system(3, RNG, ("spherical", "revolute"), passive=True)
Q = SYSTEM.random(6, RNG)
U, TAU = RNG.normal(size=(2, 6, SYSTEM.nu))
WRENCHES = RNG.normal(size=(6, len(SYSTEM.bodies), 6))


def complex_step(system, dynamics, q, u, w, f_ext):
    """Of dynamics(system, q, u, w, f_ext), in columns by a small motion, u and w."""
    nu = system.nu

    def moved(d):
        dq, du, dw = d[..., :nu], d[..., nu : 2 * nu], d[..., 2 * nu :]
        return dynamics(system, system.displaced(q, dq), u + du, w + dw, f_ext)

    return jacobian_at(moved, np.zeros((*q.shape[:-1], 3 * nu)))


def close(found, expected, tolerance=1e-11):
    """Whether arrays agree, relative to the greatest number or 1."""
    return np.abs(found - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize(
    ("derivatives", "dynamics"),
    [(forward_dynamics_derivatives, articulated.forward), (inverse_dynamics_derivatives, inverse.inverse)],
)
def test_they_are_those_of_the_complex_step(derivatives, dynamics):
    expected = complex_step(SYSTEM, dynamics, Q, U, TAU, WRENCHES)
    for more in ({}, {"backend": "numpy"}):
        assert close(np.concatenate(derivatives(SYSTEM, Q, U, TAU, WRENCHES, **more)[:3], axis=-1), expected)


@pytest.mark.parametrize("frame", ["child", "parent"])
@pytest.mark.parametrize(
    "types", [("floating", "planar", "custom"), ("euler", "fixed", "reversed"), ("ellipsoid", "constant_curvature")]
)
def test_recursions_hold_for_every_joint_type(types, frame):
    """Also where the subspace of a joint changes with its coordinates, and its drift with both."""
    system = random_system(3, np.random.default_rng(5), types, passive=True, velocity_frame=frame)
    q, (u, w) = system.random(1, RNG)[0], RNG.normal(size=(2, system.nu))
    f_ext = RNG.normal(size=(len(system.bodies), 6))
    for recursion, dynamics in ((forward_derivatives, articulated.forward), (inverse_derivatives, inverse.inverse)):
        found = np.asarray(recursion(system, q, u, w, f_ext), dtype=float)
        assert close(found, complex_step(system, dynamics, q, u, w, f_ext))


def test_columns_of_a_long_chain_are_solved_in_a_table(monkeypatch):
    """Here past a joint without velocities, and with wrenches."""
    system, rng = random_system(4, RNG, ("spherical", "fixed", "revolute")), np.random.default_rng(6)
    q, (u, tau), f_ext = system.random(9, rng), rng.normal(size=(2, 9, system.nu)), rng.normal(size=(9, 4, 6))
    expected = complex_step(system, articulated.forward, q, u, tau, f_ext)
    monkeypatch.setattr(factor, "MIN_BLOCKED_ENTRIES", 0)
    sizes = {"q": system.nq, "u": system.nu, "x": system.nu, "f": (4, 6)}
    kernel = kernels.compile(lambda q, u, x, f: forward_derivatives(system, q, u, x, f), sizes)
    assert close(kernel(q, u, tau, f_ext), expected)


# ---- with the model's own forces: against CasADi ---------------------------------------------------------------------

MODEL = mq.load_model("two_link")


def by_casadi(function, sizes):
    """Jacobian at zero of function(*changes), changes (n,) each, by CasADi."""
    x = symbols_casadi("x", (sum(sizes),))
    ends = np.cumsum([0, *sizes])
    y = as_casadi_vector(function(*(x[i:j] for i, j in pairwise(ends))))
    x = as_casadi_vector(x)
    return np.array(casadi.Function("J", [x], [casadi.jacobian(y, x)])(np.zeros(sum(sizes))))


@pytest.mark.parametrize("forward", [True, False])
def test_multipliers_and_numbers_under_constraints_by_casadi(forward):
    sled = on_slide("sled")
    hinge = mq.joints.RevoluteJoint((0, 1, 0))
    bobs = [
        mq.Body(f"b{i}", p, hinge, (0, 0, -0.5), mass=2.0, center_of_mass=(0, 0, -0.25))
        for i, p in enumerate(("sled", "b0"))
    ]
    system, name, nu = mq.ArticulatedSystem((sled, *bobs)), "bodies.b1.mass", 3
    q, u, w = np.array([0.1, 0.4, -0.3]), np.array([0.5, -0.4, 0.3]), np.array([1.0, 2.0, 3.0])
    loop = constraints.CoordinateCoupler("b1.angle", "b0.angle", Linear(-0.75))
    derivatives = forward_dynamics_derivatives if forward else inverse_dynamics_derivatives
    found = derivatives(system, q, u, w, inputs=Inputs(), constraints=[loop], parameters=name)
    p = Parameters.of(system, name)

    def value(dq, du, dw, dp):
        bound, at = p.bind(p.defaults + dp), system.displaced(q, dq)
        held = constraints.Constraints(bound, [loop], weightless=False)
        if forward:
            return np.concatenate(held.acceleration(at, u + du, 0.0, w + dw))
        lacking = inverse.inverse(bound, at, u + du, w + dw)
        carried, multipliers = held.carried(at, 0.0, lacking)
        return np.concatenate([lacking - carried, multipliers])

    expected = by_casadi(value, (nu, nu, nu, 1))
    for part, rows in ((found, expected[:nu]), (found.multipliers, expected[nu:])):
        assert close(np.concatenate([*part[:3], part.parameters[name][..., None]], axis=-1), rows)


# ---- second order ---------------------------------------------------------------------------------------------------


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="constraints"):
        forward_dynamics_derivatives(SYSTEM, Q[0], U[0], TAU[0], constraints=[object()])
    still = np.zeros(6)
    with pytest.raises(ValueError, match="torque"):
        forward_dynamics_derivatives(MODEL, MODEL.start, still, still, inputs=Inputs(torque=still))
    with pytest.raises(ValueError, match="backend"):
        forward_dynamics_derivatives(SYSTEM, Q[0], U[0], TAU[0], parameters="bodies.*.mass", backend="numpy")


def test_hessian_products_by_numbers_of_the_model():
    """Of udot = -g sin(q) / l + tau / (m l^2) by m, and of its inverse."""
    bob = on_hinge("bob", "y", mass=2.0, center_of_mass=(0, 0, -0.5))
    system, one, zero = mq.ArticulatedSystem((bob,)), [1.0], [0.0]
    directions = (zero, zero, one, one)
    forward = forward_dynamics_hvp(system, [0.3], zero, [3.0], one, directions, parameters="bodies.bob.mass")
    assert np.allclose(forward.force, -1.0, atol=1e-12)
    assert np.allclose(forward.parameters["bodies.bob.mass"], -1.0 + 3.0, atol=1e-12)  # -1/(m l)^2 + 2 tau/(m^3 l^2)
    inverse_product = inverse_dynamics_hvp(system, [0.3], zero, [3.0], one, directions, parameters="bodies.bob.mass")
    assert np.allclose(inverse_product.force, 0.25, atol=1e-12)
    with pytest.raises(ValueError, match=r"direction must be a tuple of 4 arrays"):
        forward_dynamics_hvp(system, [0.3], zero, [3.0], one, directions[:3], parameters="bodies.bob.mass")
