"""Less common forms of the equations on SymPy and CasADi symbols; `tests/test_agreement.py` has the others."""

import casadi
import numpy as np
import pytest
import sympy

from myoquat.dynamics import (
    Gamma,
    Simulator,
    first_order_form,
    forward_dynamics_gamma,
    quaternion_accelerations,
    quaternion_form,
    simulate,
)
from myoquat.joints import random_system
from myoquat.kernels import as_casadi_vector, symbols_casadi

SYSTEM = random_system(2, np.random.default_rng(1), ("revolute",))


def _geared(y, q0):
    return np.concatenate([y, 2 * y], axis=-1)


GEARED = Gamma(_geared, lambda q: q[..., :1], 1)
WITH_SYMBOLS = {
    "forward_dynamics_gamma": lambda q, u, tau: forward_dynamics_gamma(SYSTEM, GEARED, q, u, tau),
    "quaternion_form": lambda q, u, tau: quaternion_form(SYSTEM, q, u, tau)[1],
    "first_order_form": lambda q, u, tau: first_order_form(SYSTEM, q, u, tau)[1],
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
        REFUSED[name](SYSTEM, symbols)
