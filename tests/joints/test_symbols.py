"""Every public function of `myoquat.joints` takes floats, SymPy and CasADi alike, or stands below with the reason."""

import inspect
from collections.abc import Callable
from typing import Any

import casadi
import numpy as np
import pytest
import sympy

from myoquat import joints
from myoquat.joints import ArticulatedSystem, Body, EulerJoint, RevoluteJoint, SphericalJoint, with_rotations

FLOATS_ONLY = {
    "condition_davenport": "takes singular values",
    "joint_table": "lists the joint types",
    "quaternion_from_rotation": "takes a SciPy Rotation, which holds floats",
    "random_quaternions": "draws numbers",
    "random_system": "draws a system",
    "rotation_from_quaternion": "gives a SciPy Rotation, which holds floats",
    "ball_joint_obstacle": "says in words why a joint is no ball joint",
    "with_branches": "makes a system",
    "with_rotations": "makes a system",
}
FUNCTIONS = sorted(name for name in joints.__all__ if inspect.isfunction(getattr(joints, name)))

SYSTEM = ArticulatedSystem(
    (
        Body("upper", "ground", SphericalJoint("YZX"), (0.1, 0.0, 0.2), mass=2.0, center_of_mass=(0.0, 0.1, -0.3)),
        Body("lower", "upper", RevoluteJoint((0.0, 1.0, 0.0)), (0.0, 0.0, -0.6), mass=1.0),
    )
)
EULER = with_rotations(SYSTEM, {"upper": "YZX"})
Q = np.array([0.8, 0.4, -0.4, 0.2])
PHI = np.array([0.3, -0.5, 0.7])
VALUES: dict[str, Any] = {
    "Q": Q, "P": np.array([0.5, -0.5, 0.1, 0.7]), "R": joints.rotation_matrix(Q), "v": PHI, "phi": PHI,
    "J": np.array([0.1, 0.2, -0.3]), "J_Q": np.array([0.1, 0.2, -0.3, 0.4]), "J_star": np.array([0.4, 0.1, 0.2]),
    "J_phi": np.array([0.1, -0.2, 0.5]), "tau_E": np.array([1.0, 2.0, 3.0]), "tension": np.array(3.0),
    "q": np.array([*Q, 0.4]), "u": np.array([0.1, -0.2, 0.3, 0.5]), "udot": np.array([0.3, 0.1, -0.2, 0.4]),
    "point": np.array([0.1, 0.2, 0.3]), "about": np.array([-0.1, 0.4, 0.2]),
}  # fmt: skip
FIXED = {
    "sequence": "YZX",
    "directions": ((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.6, 0.8)),
    "model": SYSTEM,
    "source": SYSTEM,
    "target": EULER,
    "frame": "lower",
}


def _call(name: str, values: dict[str, Any]) -> np.ndarray:
    """The function's results, flat and in one array of any type."""
    function = getattr(joints, name)
    wanted = inspect.signature(function).parameters
    result = function(**{key: given for key, given in (FIXED | values).items() if key in wanted})
    parts = result if isinstance(result, tuple) else (result,)
    return np.concatenate([_elements(part) for part in parts])


def _elements(part: Any) -> np.ndarray:
    if isinstance(part, casadi.array):
        column = casadi.array.to_casadi(part.reshape(-1))
        return np.array([*casadi.vertsplit(column), None], dtype=object)[:-1]
    return np.asarray(part, dtype=object).reshape(-1)


def _by_sympy(name: str, arguments: dict[str, np.ndarray]) -> np.ndarray:
    symbols = {key: _dummies(key, np.shape(value)) for key, value in arguments.items()}
    expressions = _call(name, {key: value[()] for key, value in symbols.items()})
    flat = [s for value in symbols.values() for s in value.flat]
    numbers = [x for value in arguments.values() for x in np.ravel(value)]
    return np.array(sympy.lambdify(flat, list(expressions), "math", cse=True)(*numbers), dtype=float)


def _dummies(name: str, shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    return np.array([sympy.Symbol(f"{name}{i}", real=True) for i in range(count)], dtype=object).reshape(shape)


def _by_casadi(name: str, arguments: dict[str, np.ndarray]) -> np.ndarray:
    columns = {key: casadi.SX.sym(key, int(np.size(value))) for key, value in arguments.items()}
    given = {key: casadi.array(columns[key]).reshape(np.shape(value)) if np.ndim(value) else columns[key]
             for key, value in arguments.items()}  # fmt: skip
    expressions = casadi.vertcat(*_call(name, given))
    function = casadi.Function("f", list(columns.values()), [expressions])
    return np.ravel(function.call([casadi.DM(np.ravel(value)) for value in arguments.values()])[0].full())


def _arguments(name: str) -> dict[str, np.ndarray]:
    return {key: VALUES[key] for key in inspect.signature(getattr(joints, name)).parameters if key in VALUES}


@pytest.mark.parametrize("evaluate", [_by_sympy, _by_casadi], ids=["sympy", "casadi"])
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in FLOATS_ONLY])
def test_symbols_give_what_floats_give(name: str, evaluate: Callable[[str, Any], np.ndarray]) -> None:
    arguments = _arguments(name)
    expected = _call(name, arguments).astype(float)
    np.testing.assert_allclose(evaluate(name, arguments), expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("evaluate", [_by_sympy, _by_casadi], ids=["sympy", "casadi"])
@pytest.mark.parametrize("name", ["convert_coordinates", "convert_velocities"])
def test_symbols_convert_the_other_way_too(name: str, evaluate: Callable[[str, Any], np.ndarray], monkeypatch) -> None:
    monkeypatch.setitem(FIXED, "source", EULER)
    monkeypatch.setitem(FIXED, "target", SYSTEM)
    monkeypatch.setitem(VALUES, "q", np.array([*PHI, 0.4]))
    test_symbols_give_what_floats_give(name, evaluate)


def test_every_exception_is_a_function() -> None:
    assert set(FLOATS_ONLY) <= set(FUNCTIONS)
    assert isinstance(EULER.bodies[0].joint, EulerJoint)
