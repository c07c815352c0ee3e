"""The same formulas on SymPy and CasADi symbols."""

import casadi
import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia

from myoquat.dynamics import (
    Gamma,
    Simulator,
    bias_force,
    first_order_form,
    forward_dynamics_gamma,
    mass_matrix,
    quaternion_accelerations,
    quaternion_form,
    simulate,
)
from myoquat.joints import ArticulatedSystem, Body, RevoluteJoint
from myoquat.kernels import as_casadi_vector, symbols_casadi

MASS, LENGTH, CENTER, INERTIA = (2, 3), 1, sympy.Rational(1, 2), (sympy.Rational(1, 4), sympy.Rational(1, 2))


def _pendulum():
    """Two links in the x-z plane that hang down from hinges about y."""
    bodies = [
        Body(
            f"link{k}",
            "ground" if k == 0 else "link0",
            RevoluteJoint((0.0, 1.0, 0.0)),
            position=(0.0, 0.0, 0.0 if k == 0 else -float(LENGTH)),
            mass=float(MASS[k]),
            center_of_mass=(0.0, 0.0, -float(CENTER)),
            inertia=(0.0, float(INERTIA[k]), float(INERTIA[k]), 0.0, 0.0, 0.0),
        )
        for k in range(2)
    ]
    return ArticulatedSystem(tuple(bodies), gravity=(0.0, 0.0, -10.0))


def _kane():
    """Mass matrix and forcing of the same pendulum by Kane's method, in q1, q2, u1, u2."""
    q1, q2, u1, u2 = dynamicsymbols("q1 q2 u1 u2")
    world, frames, points, bodies = ReferenceFrame("N"), [], [], []
    origin = Point("O")
    origin.set_vel(world, 0)
    above, joint = world, origin
    for k, (angle, rate) in enumerate(((q1, u1), (q2, u2))):
        frame = above.orientnew(f"A{k}", "Axis", (angle, world.y))
        frame.set_ang_vel(above, rate * world.y)
        center = joint.locatenew(f"G{k}", -CENTER * frame.z)
        center.v2pt_theory(joint, world, frame)
        bodies.append(RigidBody(f"B{k}", center, frame, MASS[k], (inertia(frame, 0, INERTIA[k], INERTIA[k]), center)))
        joint_next = joint.locatenew(f"P{k}", -LENGTH * frame.z)
        joint_next.v2pt_theory(joint, world, frame)
        points.append(center)
        frames.append(frame)
        above, joint = frame, joint_next
    t = dynamicsymbols._t
    kane = KanesMethod(world, [q1, q2], [u1, u2], kd_eqs=[q1.diff(t) - u1, q2.diff(t) - u2])
    loads = [(point, -10 * m * world.z) for point, m in zip(points, MASS, strict=True)]
    kane.kanes_equations(bodies, loads)
    plain = sympy.symbols("q1 q2 u1 u2", real=True)
    back = dict(zip((q1, q2, u1, u2), plain, strict=True))
    return kane.mass_matrix.subs(back), kane.forcing.subs(back), plain


def test_two_link_pendulum_agrees_with_kane():
    system = _pendulum()
    M_kane, f_kane, (q1, q2, u1, u2) = _kane()
    M = sympy.Matrix(mass_matrix(system, [q1, q2]))
    b = sympy.Matrix(bias_force(system, [q1, q2], [u1, u2]))
    assert sympy.simplify(M - M_kane) == sympy.zeros(2, 2)
    assert sympy.simplify(b + f_kane) == sympy.zeros(2, 1)
    assert "cos(q2)" in str(sympy.simplify(M))


# ---- symbols in every public function that takes a model ---------------------------------------------------


def _geared(y, q0):
    return np.concatenate([y, 2 * y], axis=-1)


GEARED = Gamma(_geared, lambda q: q[..., :1], 1)
WITH_SYMBOLS = {
    "forward_dynamics_gamma": lambda q, u, tau: forward_dynamics_gamma(_pendulum(), GEARED, q, u, tau),
    "quaternion_form": lambda q, u, tau: quaternion_form(_pendulum(), q, u, tau)[1],
    "first_order_form": lambda q, u, tau: first_order_form(_pendulum(), q, u, tau)[1],
}


@pytest.mark.parametrize("name", WITH_SYMBOLS)
def test_less_common_forms_take_symbols(name):
    function = WITH_SYMBOLS[name]
    values = np.array([0.3, 0.6]), np.array([0.5, 1.0]), np.array([0.2, -0.1])
    wanted = function(*values)
    symbols = [np.array(sympy.symbols(f"{letter}1:3", real=True)) for letter in ("q", "u", "tau")]
    found = sympy.Matrix(function(*symbols)).subs(dict(zip(np.ravel(symbols), np.ravel(values), strict=True)))
    np.testing.assert_allclose(np.array(found, dtype=float).ravel(), wanted, rtol=1e-12)
    arrays = [symbols_casadi(letter, (2,)) for letter in ("q", "u", "tau")]
    vectors = [as_casadi_vector(array) for array in arrays]
    compiled = casadi.Function(name, vectors, [as_casadi_vector(function(*arrays))])
    np.testing.assert_allclose(np.array(compiled(*values)).ravel(), wanted, rtol=1e-12)


REFUSED = {
    "q0: a simulation": lambda system, q: simulate(system, q, duration=0.01),
    "torque: a simulation": lambda system, q: simulate(system, torque=q, duration=0.01),
    "u0: a simulation": lambda system, q: Simulator(system)(np.zeros(2), q, 0.01),
    "quaternion_accelerations": lambda system, q: quaternion_accelerations(system, q, q, q),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("library", ["sympy", "casadi"])
def test_symbols_where_numbers_are_needed_raise_an_error_that_names_them(name, library):
    symbols = np.array(sympy.symbols("x1:3", real=True)) if library == "sympy" else symbols_casadi("x", (2,))
    with pytest.raises(TypeError, match=f"{name}.* takes numbers, not symbols"):
        REFUSED[name](_pendulum(), symbols)
