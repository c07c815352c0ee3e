"""The derivative inside a formula: complex step, CasADi and SymPy against each other and against known derivatives."""

import numpy as np
import pytest

from myoquat import joints, kernels
from myoquat.kernels.symbolic.arrays import SymbolArray, as_array, formula
from myoquat.kernels.tracing.derivatives import jacobian_at
from tests.differences import differences

N = 5


def curve(x):
    """(..., 3) of x (..., 2): products, roots, powers and elementary functions."""
    a, b = x[..., 0], x[..., 1]
    return np.stack([np.sin(a) * b, np.sqrt(a * a + b**4), np.exp(-a / b)], axis=-1)


def curve_derivative(x):
    a, b = x[..., 0], x[..., 1]
    root, fall = np.sqrt(a * a + b**4), np.exp(-a / b)
    rows = [[np.cos(a) * b, np.sin(a)], [a / root, 2 * b**3 / root], [-fall / b, a / b**2 * fall]]
    return np.moveaxis(np.array(rows), -1, 0)


@formula(x=(2,))
def jacobian(x, function=curve):
    return jacobian_at(function, x)


@pytest.fixture
def points(rng):
    return rng.uniform(0.5, 2, (N, 2))


def test_every_type_of_number_gives_the_derivative(scalar, points):
    result = scalar(jacobian, points)
    np.testing.assert_allclose(result, curve_derivative(points), rtol=2e-15, atol=1e-15)


def test_functions_over_symbols_that_are_all_numbers_have_derivatives():
    """As where a pose does not depend on what varies."""

    def product(x):
        known = np.array([2.0, 3.0], dtype=object).view(SymbolArray)
        return x * jacobian_at(lambda d: np.sin(known[:1] + d) * known[1:], np.zeros(1), like=known)[0]

    np.testing.assert_allclose(kernels.compile(product, {"x": 1})([2.0]), [6 * np.cos(2.0)], rtol=1e-15)


def test_batches_of_any_shape_and_size(points):
    """Of many states, directions are taken one after the other, so that memory does not grow with them."""
    expected = jacobian_at(curve, points)
    np.testing.assert_array_equal(jacobian_at(curve, points.reshape(1, N, 1, 2))[0, :, 0], expected)
    many = jacobian_at(curve, np.tile(points, (2000, 1)))
    np.testing.assert_array_equal(many, np.tile(expected, (2000, 1, 1)))
    assert not jacobian_at(lambda x: np.ones(3), np.tile(points, (2000, 1))).any()


@pytest.mark.parametrize("batch", [(2,), (2, 2), (2, 1, 2), (3, 1), (0,), (2,) * 8])
def test_functions_of_a_point_may_close_over_further_batch_axes(batch, rng):
    """Also over axes as long as the point, along which its directions could be taken for the batch."""
    x, scale = rng.normal(size=2), rng.normal(size=(*batch, 2))
    found = jacobian_at(lambda x: scale * np.sin(x), x)
    np.testing.assert_allclose(found, scale[..., None] * np.diag(np.cos(x)), rtol=1e-15)


def test_a_function_that_closes_over_too_many_axes_is_rejected():
    with pytest.raises(TypeError, match="more than 8 further axes"):
        jacobian_at(lambda x: np.ones((2,) * 11) * x, np.ones(2))


def test_a_number_may_be_the_point_of_a_function_of_symbols(scalar, points):
    """dl/dt along a motion from rest: the point is zero, the pose is the symbol."""

    @formula(x=(2,))
    def along(x):
        return jacobian_at(lambda motion: curve(x + motion), np.zeros(2), like=x)

    np.testing.assert_allclose(scalar(along, points), curve_derivative(points), rtol=2e-15, atol=1e-15)


@pytest.mark.parametrize("scalar", ["sympy", "casadi", "kernel"], indirect=True)
def test_derivatives_nest_on_symbols(scalar, points):
    """The Hessian of a b^2 exp(a)."""

    def gradient(x):
        return jacobian_at(lambda y: (y[..., 0] * y[..., 1] ** 2 * np.exp(y[..., 0]))[..., None], x)[..., 0, :]

    a, b = points.T
    e = np.exp(a)
    hessian = np.array([[(2 + a) * b**2 * e, 2 * (1 + a) * b * e], [2 * (1 + a) * b * e, 2 * a * e]])
    value = scalar(lambda x: jacobian(x, gradient), points)
    np.testing.assert_allclose(value, np.moveaxis(hessian, -1, 0), rtol=1e-14)
    with pytest.raises(TypeError, match="works on symbols only"):
        jacobian(points, gradient)


def test_the_step_leaves_no_error_beside_cancellation():
    """d/dx (x^2 - 1) at 1 + 1e-12: a difference quotient loses all digits, the complex step none."""
    x = np.array([1 + 1e-12])
    np.testing.assert_allclose(jacobian_at(lambda x: x * x - 1, x), [[2 * x[0]]], rtol=1e-16)


@pytest.mark.parametrize("convert", [np.asarray, lambda x: np.moveaxis(np.array([x[..., 0], x[..., 1]]), 0, -1)])
def test_numbers_that_numpy_makes_plain_arrays_of_keep_their_step(convert, points):
    """Functions of the package take them as those of the point."""
    found = jacobian_at(lambda x: np.abs(as_array(convert(x))), -points)
    np.testing.assert_array_equal(found, np.tile(-np.eye(2), (N, 1, 1)))


@pytest.mark.parametrize("method", ["var", "argmax", "round"])
def test_errors_name_the_method_that_has_no_derivative(method):
    with pytest.raises(TypeError, match=rf"np\.{method} has no derivative"):
        jacobian_at(lambda x: x * getattr(x, method)(), np.ones(2))


def test_an_error_inside_leaves_no_complex_numbers_allowed():
    def broken(x):
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        jacobian_at(broken, np.zeros(2))
    with pytest.raises(ValueError, match="complex128"):
        joints.rotation_matrix([1j, 0, 0, 0])


@pytest.mark.parametrize(
    "formula_",
    [
        lambda x: np.maximum(x, 0.5),
        lambda x: np.maximum(-x, -0.5),
        lambda x: np.minimum(0.5, x),
        lambda x: np.minimum(x, -x),
        lambda x: np.clip(-x, -0.5, 0.5),
        lambda x: np.where(x > 0.5, x * x, -x),
        lambda x: np.where((x >= 0.5) & (x != 2.0), x * x, -x),
        lambda x: np.where(x > 0.0, np.sqrt(np.where(x > 0.0, x, 1.0)), 0.0),
        lambda x: x * np.sign(x - 0.5),
        lambda x: np.abs(x - 0.5),
    ],
)
def test_branches_on_floats_are_those_of_kernels(formula_):
    """Where two sides are equal, a comparison of complex numbers would go on to the imaginary parts of the step."""
    points = np.array([[0.5], [-0.5], [0.0], [2.0], [-3.0]])
    kernel = kernels.compile(lambda x: jacobian_at(formula_, x), {"x": 1}, ["J"])
    np.testing.assert_array_equal(jacobian_at(formula_, points), kernel(points))


@pytest.mark.parametrize("choose", [np.maximum, np.minimum, lambda a, b: np.clip(a + b, 0.0, 1.0)])
def test_what_is_chosen_beside_nan_is_nan(choose):
    found = jacobian_at(
        lambda x: np.concatenate([choose(x, 0.5) ** 2, choose(0.5, x) ** 2], axis=-1), np.array([np.nan])
    )
    assert np.isnan(found).all()


REDUCTIONS = {
    "max": lambda x: np.max(x, axis=-1, keepdims=True),
    "min": lambda x: np.amin(x[..., None] * np.ones(2), axis=-2),
    "max with a start": lambda x: np.max(x, axis=-1, initial=1.0)[..., None],
    "max as a method": lambda x: x.max(axis=-1, keepdims=True),
    "peak to peak": lambda x: np.ptp(x, axis=-1, keepdims=True),
    "modulus": lambda x: np.real(x * np.conj(x)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_functions_that_numpy_defines_otherwise_for_complex_numbers(name, rng):
    """On floats as in kernels, also where numbers are equal; beside differences where they are not."""
    function = REDUCTIONS[name]
    points = np.concatenate([rng.normal(size=(3, 3)), [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [2.0, -1.0, 2.0]]])
    found = jacobian_at(function, points)
    kernel = kernels.compile(lambda x: jacobian_at(function, x), {"x": 3}, ["y"])
    np.testing.assert_allclose(found, kernel(points), rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(found[:3], differences(function, points[:3]), atol=1e-9)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.linalg.norm(x, axis=-1, keepdims=True),
        lambda x: np.sort(x, axis=-1),
        lambda x: x * x.argmax(axis=-1)[..., None],
        lambda x: np.linalg.eigvalsh(x[..., None] * np.eye(3)),
        lambda x: x.astype(float),
        lambda x: np.maximum.accumulate(x, axis=-1),
        lambda x: np.var(x, axis=-1, keepdims=True),
        lambda x: x.std(axis=-1, ddof=1)[..., None],
        lambda x: np.fmax(x[..., :1], x[..., 1:2]),
        lambda x: x * np.round(x, 1),
        lambda x: x * x.round(),
        lambda x: np.abs(x, out=x),
        lambda x: np.maximum(x, 1.5, where=x > 0.0, out=np.zeros_like(x)),
        lambda x: np.max(x, axis=-1, keepdims=True, out=x[..., :1]),
    ],
)
def test_functions_of_complex_numbers_alone_are_rejected(function):
    """Their derivative on floats would be zero or that of another function."""
    with pytest.raises(TypeError, match="no derivative"):
        jacobian_at(function, np.array([[1.0, 2.0, 3.0]]))
