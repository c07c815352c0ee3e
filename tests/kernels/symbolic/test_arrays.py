"""The symbol arrays: every NumPy function of the table against NumPy itself, and what comes in and goes out."""

import math

import casadi
import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from myoquat.kernels.symbolic.arrays import (
    SymbolArray,
    as_array,
    as_casadi_vector,
    formula,
    is_symbolic,
    symbols_casadi,
    symbols_sympy,
)
from myoquat.kernels.symbolic.elements import SCALAR_OPERATIONS

# ---- a NumPy function evaluated through symbols ------------------------------------------------------------


def by_casadi(function, *arrays):
    symbols = [symbols_casadi(f"x{k}", np.shape(a)) for k, a in enumerate(arrays)]
    result = function(*symbols)
    assert isinstance(result, SymbolArray)
    program = casadi.Function("f", [as_casadi_vector(x) for x in symbols], [as_casadi_vector(result)])
    return np.array(program(*(np.ravel(a) for a in arrays))).reshape(result.shape)


def by_sympy(function, *arrays):
    symbols = [symbols_sympy(f"x{k}_", np.shape(a)) for k, a in enumerate(arrays)]
    result = function(*symbols)
    assert isinstance(result, SymbolArray)
    names = [s for x in symbols for s in np.asarray(x).flat]
    numbers = [float(v) for a in arrays for v in np.ravel(a)]
    program = sympy.lambdify(names, [np.asarray(result).ravel().tolist()], modules="math")
    return np.array(program(*numbers), dtype=float).reshape(result.shape)


SYMBOLS = {"casadi": by_casadi, "sympy": by_sympy}


@pytest.fixture(params=list(SYMBOLS))
def symbolic(request):
    """evaluate(function, *arrays): the function run on symbols, numbers put in afterwards."""
    return SYMBOLS[request.param]


BOOLEAN = {np.logical_and, np.logical_or, np.logical_not, np.bitwise_and, np.bitwise_or, np.invert}


def arguments(ufunc, rng):
    """Random numbers within the domain of a ufunc, of both signs where it has both."""
    x = rng.uniform(-0.95, 0.95, (ufunc.nin, 8))
    if ufunc in (np.sqrt, np.log):
        x = np.abs(x)
    elif ufunc is np.power:
        x[0] = np.abs(x[0])
    elif ufunc in (np.equal, np.not_equal, np.less_equal, np.greater_equal):
        x[0, ::2] = x[1, ::2]
    return x


@pytest.mark.parametrize("ufunc", list(SCALAR_OPERATIONS), ids=lambda u: u.__name__)
def test_every_ufunc_means_what_it_means_on_floats(symbolic, ufunc, rng):
    x = arguments(ufunc, rng)
    apply = (lambda *a: ufunc(*(b > 0 for b in a))) if ufunc in BOOLEAN else ufunc
    np.testing.assert_allclose(symbolic(lambda *a: 1.0 * apply(*a), *x), 1.0 * apply(*x), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(
    "ufunc", [u for u in SCALAR_OPERATIONS if u.nin == 2 and u not in BOOLEAN], ids=lambda u: u.__name__
)
@pytest.mark.parametrize("number", [0.0, 1.0, -1.0, 2.0, 0.1])
def test_numbers_beside_symbols(symbolic, ufunc, number, rng):
    x = np.abs(arguments(ufunc, rng)[0]) + 0.1
    for apply in (lambda a: ufunc(a, number), lambda a: ufunc(number, a)):
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = 1.0 * apply(x)
        if np.isfinite(expected).all():
            np.testing.assert_allclose(symbolic(lambda a, f=apply: 1.0 * f(a), x), expected, rtol=1e-14, atol=1e-15)


FUNCTIONS = {
    "where": lambda a, b: np.where(a > b, a, 2.0),
    "where of a known condition": lambda a, b: np.where([True, False, True], a, b),
    "clip": lambda a, b: np.clip(a, -0.5, b),
    "clip above only": lambda a, b: np.clip(a, None, 0.1) + b.clip(-0.1, 0.1),
    "cross": np.cross,
    "cross used further": lambda a, b: np.sin(np.cross(a, b))[..., 0],
    "einsum": lambda a, b: np.einsum("...i,...j->...ij", a, b),
    "matmul of vectors": lambda a, b: a[0] @ b[1],
    "matmul of matrices": lambda a, b: a @ np.swapaxes(b, -1, -2),
    "matmul of vector and stack": lambda a, b: a[0] @ np.stack([b.T, a.T]),
    "matmul of stack and vector": lambda a, b: np.stack([b, a]) @ a[0],
    "matmul with numbers": lambda a, b: np.eye(2) @ a + b @ np.arange(9.0).reshape(3, 3),
    "stack": lambda a, b: np.stack([a, b], axis=-1),
    "concatenate": lambda a, b: np.concatenate([a, b, np.ones((1, 3))]),
    "split": lambda a, b: np.split(a, [1], axis=-1)[1] * np.split(b, [1, 3], axis=-1)[1],
    "broadcast_to": lambda a, b: np.broadcast_to(a[:, :1], (2, 3), subok=True) * b,
    "broadcast_arrays": lambda a, b: np.broadcast_arrays(a[:1], b, subok=True)[0] + b,
    "moveaxis": lambda a, b: np.moveaxis(a[..., None] * b[:, None, :], -1, 0),
    "ellipsis": lambda a, b: a[..., 1] - b[..., ::2][..., -1],
    "sums": lambda a, b: np.sum(a * b, axis=-1, keepdims=True) + np.sum(b) + a.mean() + np.cumsum(b, axis=1),
    "products": lambda a, b: np.prod(a, axis=0) + np.dot(a[0], b[0]) + np.trace(np.outer(a[1], b[1])),
    "extremes": lambda a, b: np.max(a, axis=-1) + np.min(b, axis=-1) + np.ptp(a[0]),
    "a condition as a number": lambda a, b: (a > b) * b + (a < 0) / 2.0 - (b > 0),
    "any and all": lambda a, b: 1.0 * np.any(a > b, axis=-1) + 2.0 * np.all(a > -b, axis=0)[0],
    "powers": lambda a, b: a**2 + b**3 + a**4 + (a * a) ** 0.5 + (1 + b * b) ** -1,
    "loop over rows": lambda a, b: sum((row * row for row in a), np.zeros(3)) * b[0],
    "in place": lambda a, b: accumulated(a, b),
    "reshape": lambda a, b: (a.reshape(3, 2) @ b.reshape(2, 3)).ravel(),
    "diag": lambda a, b: np.diag(a[0]) @ b[1],
}


def accumulated(a, b):
    total = np.zeros_like(a)
    total += a
    total *= b
    return total


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_functions_mean_what_they_mean_on_floats(symbolic, name, rng):
    a, b = rng.uniform(-1, 1, (2, 2, 3))
    expected = FUNCTIONS[name](a, b)
    value = symbolic(FUNCTIONS[name], a, b)
    assert value.shape == np.shape(expected)
    np.testing.assert_allclose(value, expected, rtol=1e-13, atol=1e-14)


@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
def test_shapes_broadcast_as_in_numpy(shapes):
    (first, second), result = shapes.input_shapes, shapes.result_shape
    x, y = symbols_casadi("x", first), symbols_casadi("y", second)
    assert (x * y).shape == np.where(x < y, x, y).shape == result


@pytest.mark.parametrize("make", [symbols_casadi, symbols_sympy])
def test_a_symbol_has_no_truth_value_and_no_number(make):
    x = make("x", 2)
    for branch in (lambda: 1 if x[0] > 0 else 2, lambda: x[0] > 0 and x[1], lambda: max(x[0], x[1])):
        with pytest.raises(TypeError, match=r"np\.where"):
            branch()
    with pytest.raises(TypeError, match="has no value"):
        math.sin(x[0])
    assert bool(x[0] * 0.0 < 1.0)  # a number all the same


@pytest.mark.parametrize("make", [symbols_casadi, symbols_sympy])
def test_what_has_no_meaning_says_so_and_names_the_way_out(make):
    x = make("x", (3, 3))
    with pytest.raises(TypeError, match=r"np\.isnan has no meaning on symbols; a formula may use: absolute, add"):
        np.isnan(x)
    with pytest.raises(TypeError, match=r"np\.linalg\.norm has no meaning on symbols; write np\.sqrt"):
        np.linalg.norm(x, axis=-1)
    with pytest.raises(TypeError, match=r"linalg\.inv on symbols"):
        np.linalg.inv(x)
    floats = np.zeros((3, 3))
    with pytest.raises(TypeError, match="float64 cannot take symbols"):
        floats += x
    for by_value in (np.nan_to_num, lambda x: np.isin(x, [0.5])):
        with pytest.raises(TypeError, match="no meaning on symbols, which have no value"):
            by_value(x)


# ---- in and out --------------------------------------------------------------------------------------------


@formula(x=(3,))
def doubled(x, factor=2):
    return x * factor


NUMBERS = (1.0, -2.0, 0.5)


@pytest.mark.parametrize(
    "given_x",
    [
        NUMBERS,
        list(NUMBERS),
        np.array(NUMBERS),
        np.array(NUMBERS, dtype=object),
        np.float32(NUMBERS),
        np.array([1, 2, 3]),
    ],
    ids=["tuple", "list", "array", "objects", "float32", "integers"],
)
def test_numbers_come_back_as_floats(given_x):
    result = doubled(given_x)
    assert type(result) is np.ndarray
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, 2 * np.asarray(given_x, dtype=float))


def test_casadi_comes_back_as_casadi_arrays():
    x = casadi.SX.sym("x", 3)
    types = {
        "column": x,
        "row": x.T,
        "array": casadi.array(x).reshape(3),
        "list": casadi.vertsplit(x),
        "list with numbers": [x[0], 3.0, x[2]],
        "MX": casadi.MX.sym("x", 3),
        "rows": [x, x],
        "nested": [[x[0], x[1], 1.0], [x[2], 0.0, 2]],
    }
    for type_name, value in types.items():
        result = doubled(value)
        assert isinstance(result, casadi.array), type_name
        shape = {"row": (1, 3), "rows": (2, 3), "nested": (2, 3)}.get(type_name, (3,))
        assert result.shape == shape, type_name
    nested = casadi.Function("f", [x], [doubled(types["nested"]).reshape(-1).to_casadi()])
    np.testing.assert_array_equal(np.array(nested([1, 2, 3])).ravel(), [2, 4, 2, 6, 0, 4])


def test_casadi_numbers_are_checked_and_come_back_as_casadi():
    result = doubled(casadi.DM(NUMBERS))
    assert isinstance(result, casadi.array)
    np.testing.assert_array_equal(np.array(result.to_casadi()).ravel(), 2 * np.array(NUMBERS))
    with pytest.raises(ValueError, match=r"doubled: x\[1\] is nan"):
        doubled(casadi.DM([1.0, np.nan, 2.0]))
    assert type(doubled([casadi.DM(v) for v in NUMBERS])) is np.ndarray


def test_sympy_comes_back_as_plain_objects_with_exact_numbers():
    a, b, c = sympy.symbols("a b c", real=True)
    for value in (sympy.Matrix([a, b, c]), [a, b, c], (a, b, c), np.array([a, b, c])):
        result = doubled(value)
        assert type(result) is np.ndarray
        assert list(result) == [2 * a, 2 * b, 2 * c]
    assert list(doubled([a, 1, sympy.Rational(1, 3)], 0.5)) == [a / 2, sympy.Rational(1, 2), sympy.Rational(1, 6)]
    assert doubled(sympy.Matrix([[a, b, c]])).shape == (1, 3)


def test_symbol_arrays_stay_symbol_arrays():
    x = symbols_casadi("x", (2, 3))
    assert is_symbolic(doubled(x))
    assert doubled(x).shape == (2, 3)
    assert is_symbolic(as_array([x[0], np.zeros(3)]))
    assert as_array(x) is x


@given(hnp.arrays(float, (3,), elements=st.floats(-1e6, 1e6)))
def test_constants_survive_the_way_through_casadi(values):
    vector = as_casadi_vector(values)
    np.testing.assert_array_equal(np.array(casadi.DM(vector)).ravel(), values)
    np.testing.assert_array_equal(np.asarray(SymbolArray.from_casadi(vector), dtype=float).ravel(), values)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, np.nan, 0.0], r"doubled: x\[1\] is nan; finite numbers are needed"),
        ([[0, 0, 0], [0, np.inf, 0]], r"doubled: x\[1, 1\] is inf"),
        ([1.0, 2.0], r"doubled: x has shape \(2,\); expected \(\.\.\., 3\)"),
        (1.0, r"doubled: x has shape \(\); expected \(\.\.\., 3\)"),
        ([1j, 0, 0], "doubled: x: an array of real numbers or symbols is needed, not of complex128"),
        ("abc", "doubled: x: an array of real numbers or symbols is needed, not of <U3"),
        ([[1.0, 2.0], [3.0]], "doubled: x: not an array: "),
        (None, "doubled: x: an array of real numbers or symbols is needed; it holds None"),
        ({"x": 1}, "real numbers or symbols is needed; it holds {'x': 1}"),
        ([10**400, 0, 0], "doubled: x: int too large"),
        (casadi.SX.sym("x", 4), r"doubled: x has shape \(4,\)"),
        ([casadi.SX.sym("x", 3), casadi.SX.sym("y", 2)], "doubled: x: not an array: "),
        (sympy.symbols("a b"), r"doubled: x has shape \(2,\)"),
    ],
)
def test_error_names_the_function_the_argument_and_the_value(value, message):
    with pytest.raises(ValueError, match=message):
        doubled(value)


def test_a_formula_of_an_unknown_argument_is_a_mistake_of_its_author():
    with pytest.raises(TypeError, match=r"doubled has no argument \['y'\]"):
        formula(y=(3,))(doubled)
