"""Public functions of muscles on SymPy and CasADi symbols: the same numbers, expressions to read, named refusals."""

from dataclasses import replace
from functools import partial

import casadi
import numpy as np
import pytest
import sympy

from myoquat.data import load_model
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.muscle import (
    ActivationDynamics,
    CoordinateLimit,
    Model,
    Muscle,
    MusclePath,
    PathPoint,
    WrapEllipsoid,
    WrapSphere,
    WrapTorus,
    activation_rates,
    equilibrium_states,
    limit_torques,
    muscle_forces,
    muscle_state_rates,
    muscle_state_residuals,
    muscle_torques,
    path_flags,
    path_jacobian,
    path_lengths,
)
from myoquat.muscle.derivation import derive
from myoquat.muscle.laws import DeGrooteFregly2016, ExponentialMuscle, Millard2012
from tests.bodies import on_hinge

TWO_LINK = load_model("two_link")
ROD = on_hinge("rod", "z", "flexion", center_of_mass=(0.1, 0.0, 0.0), inertia=0.01)
PATH = (PathPoint("ground", (-0.2, 0.1, 0.0)), PathPoint("rod", (0.2, 0.1, 0.02)))
LAW = DeGrooteFregly2016(100.0, 0.2, 0.2, 0.1)
SPHERE = WrapSphere(body="ground", radius=0.12)


def hinge(*wraps):
    """One hinge with every type of state: an elastic tendon, activation dynamics, a limit."""
    muscles = (
        Muscle("elastic", MusclePath(PATH, wraps), LAW, None, ActivationDynamics()),
        Muscle("plain", (PATH[1], PATH[0]), ExponentialMuscle(0.3, 50.0), None, ActivationDynamics(form="piecewise")),
    )
    limit = CoordinateLimit("stop", "flexion", -0.5, 0.1, 20.0, 30.0, 0.1, 0.5)
    return Model(ArticulatedSystem((ROD,)), muscles, limits=(limit,))


HINGE, ONE = hinge(), replace(TWO_LINK, muscles=TWO_LINK.muscles[:1])
ARGUMENTS = {
    "q": np.array([0.3]),
    "pose": TWO_LINK.system.random(1, np.random.default_rng(7))[0],
    "u": np.array([0.7]),
    "activation": np.array([0.2, 0.9]),
    "excitation": np.array([0.6, 0.1]),
    "state": np.array([0.19]),
    "rate": np.array([0.05]),
}
STATE = ("q", "u", "activation", "state")
CALLS = [
    (HINGE, path_lengths, ("q",)),
    (HINGE, path_jacobian, ("q",)),
    (HINGE, muscle_forces, STATE),
    (HINGE, muscle_torques, STATE),
    (HINGE, muscle_state_rates, STATE),
    (HINGE, muscle_state_residuals, (*STATE, "rate")),
    (HINGE, limit_torques, ("q", "u")),
    (HINGE, activation_rates, ("excitation", "activation")),
    *((ONE, partial(path_jacobian, wrt=wrt), ("pose",))
      for wrt in ("velocity", "coordinates", "quaternion", "constrained")),
]  # fmt: skip


@pytest.mark.parametrize(("model", "function", "names"), CALLS, ids=lambda x: getattr(x, "__name__", None))
def test_symbols_give_the_numbers(model, function, names):
    given = [ARGUMENTS[name] for name in names]
    wanted = function(model, *given)
    symbols = [sympy.symbols(f"{name}:{len(x)}", real=True) for name, x in zip(names, given, strict=True)]
    expression = function(model, *symbols)
    values = {s: v for row, x in zip(symbols, given, strict=True) for s, v in zip(row, x, strict=True)}
    found = np.array([sympy.sympify(e).subs(values).evalf() for e in expression.flat], float)
    np.testing.assert_allclose(found.reshape(wanted.shape), wanted, rtol=1e-10, atol=1e-11)
    columns = [casadi.SX.sym(name, len(x)) for name, x in zip(names, given, strict=True)]
    traced = casadi.array.to_casadi(function(model, *columns).reshape(-1))
    result = np.array(casadi.Function("f", columns, [traced])(*given)).reshape(wanted.shape)
    np.testing.assert_allclose(result, wanted, rtol=1e-10, atol=1e-11)


def test_a_path_length_is_an_expression_to_read():
    q = sympy.symbols("Q0:8", real=True)
    length = path_lengths(TWO_LINK, q)[0]
    assert length.func is sympy.Pow
    assert length.exp == sympy.Rational(1, 2)
    assert length.base.is_polynomial(*q)
    assert len(str(length)) < 500
    values = TWO_LINK.system.random(3, np.random.default_rng(5))
    for row, wanted in zip(values, path_lengths(TWO_LINK, values), strict=True):
        assert float(length.subs(dict(zip(q, row, strict=True)))) == pytest.approx(wanted[0], rel=1e-13)


@pytest.mark.parametrize("function", [path_lengths, path_jacobian])
def test_a_path_around_a_sphere_takes_casadi_symbols_and_refuses_sympys(function):
    model = hinge(SPHERE)
    q = casadi.SX.sym("q", 1)
    traced = casadi.Function("f", [q], [casadi.array.to_casadi(function(model, q).reshape(-1))])
    for row in ([0.3], [-0.4], [2.0]):
        np.testing.assert_allclose(np.array(traced(row)).ravel(), function(model, row).ravel(), rtol=1e-12)
    with pytest.raises(TypeError, match="muscle 'elastic': whether its path touches a sphere depends on the pose"):
        function(model, sympy.symbols("q:1"))


@pytest.mark.parametrize("library", ["sympy", "casadi"])
def test_error_names_quantities_without_an_expression(library):
    q = sympy.symbols("q:1") if library == "sympy" else casadi.SX.sym("q", 1)
    with pytest.raises(TypeError, match="path_flags: the flags depend on the values of q"):
        path_flags(HINGE, q)
    with pytest.raises(TypeError, match="equilibrium_states: an iterative solver"):
        equilibrium_states(HINGE, q, ARGUMENTS["activation"])
    ball = sympy.symbols("Q0:8") if library == "sympy" else casadi.SX.sym("q", 8)
    with pytest.raises(TypeError, match="eliminated='largest' depends on the values of q"):
        path_jacobian(TWO_LINK, ball, "constrained", eliminated="largest")
    ellipsoid = WrapEllipsoid(body="ground", radii=(0.1, 0.12, 0.1))
    torus = WrapTorus(body="ground", ring_radius=0.3, tube_radius=0.05)
    for wraps, what in (
        ((ellipsoid,), "a surface of type 'ellipsoid'"),
        ((torus,), "a surface of type 'torus'"),
        ((SPHERE, replace(SPHERE, position=(0.1, 0.0, 0.0))), "several surfaces"),
    ):
        with pytest.raises(TypeError, match=f"muscle 'elastic': an iterative solver finds its path around {what}"):
            path_lengths(hinge(*wraps), q)


def test_error_names_curves_of_an_iteration_for_sympy():
    muscle = replace(hinge().muscles[0], law=Millard2012(1000.0, 0.1, 0.2, 0.1, tendon="rigid"))
    model = replace(hinge(), muscles=(muscle,))
    x, a = sympy.symbols("x a", real=True)
    with pytest.raises(TypeError, match="curves of its law 'millard2012' are found by an iteration"):
        muscle_forces(model, [x], [0.0], [a])
    with pytest.raises(ModelError, match=r"curves of its law 'millard2012' .* forces=False"):
        derive(model, "sequence")
