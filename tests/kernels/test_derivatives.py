"""Derivative kernels against each other, against central differences and against CasADi's patterns."""

import pickle

import numpy as np
import pytest

from myoquat import kernels
from myoquat.joints.vectors import vector
from myoquat.kernels.tracing.derivatives import jacobian_at
from tests.differences import differences


def field(q, a):
    """A vector, a scalar and a matrix of q (4,) and a (2,), with structural zeros."""
    length = np.sqrt(q @ q)
    return {
        "v": np.stack([np.sin(q[0]) * a[0], q[1] * q[2], np.exp(a[1]) * 1.0]),
        "s": np.cos(length) * a[0] * a[1],
        "m": np.outer(q[:2], a) / length,
    }


@pytest.fixture(scope="module")
def kernel():
    return kernels.compile(field, {"q": 4, "a": 2})


@pytest.fixture
def point():
    rng = np.random.default_rng(5)
    return rng.normal(size=(9, 4)), rng.normal(size=(9, 2))


@pytest.mark.parametrize("output", ["v", "s", "m"])
@pytest.mark.parametrize("which", ["q", "a"])
def test_jacobian_is_the_limit_of_differences(kernel, point, output, which):
    given, index = dict(zip("qa", point, strict=True)), "vsm".index(output)
    slopes = differences(lambda x: kernel(**given | {which: x})[index], given[which])
    np.testing.assert_allclose(kernel.jacobian(output, which)(*point), slopes, rtol=1e-7, atol=1e-8, strict=True)


def test_all_jacobians_at_once(kernel, point):
    every = kernel.jacobian()
    assert list(every.outputs) == ["dv/dq", "dv/da", "ds/dq", "ds/da", "dm/dq", "dm/da"]
    assert np.array_equal(every(*point)[2], kernel.jacobian("s", "q")(*point))


def test_sparse_jacobian_scattered_is_the_dense_one(kernel, point):
    sparse, dense = kernel.jacobian("m", "q", sparse=True), kernel.jacobian("m", "q")
    whole = np.zeros((9, 4, 4))
    whole[:, sparse.rows, sparse.cols] = sparse(*point)
    assert np.array_equal(whole.reshape(9, 2, 2, 4), dense(*point))
    v = kernel.jacobian("v", "q", sparse=True)
    assert list(zip(v.rows, v.cols, strict=True)) == [(0, 0), (1, 1), (1, 2)]
    again = pickle.loads(pickle.dumps(v))
    assert np.array_equal(again.rows, v.rows)
    assert np.array_equal(again(*point), v(*point))


def test_products_are_the_jacobian_times_a_vector(kernel, point):
    rng = np.random.default_rng(2)
    q_dot, v_bar = rng.normal(size=(9, 4)), rng.normal(size=(9, 3))
    jacobian = kernel.jacobian("v", "q")(*point)
    forward = kernel.jvp("v", "q")(*point, q_dot)
    backward = kernel.vjp("v", "q")(*point, v_bar)
    np.testing.assert_allclose(forward, np.einsum("...ij,...j", jacobian, q_dot), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(backward, np.einsum("...ij,...i", jacobian, v_bar), rtol=1e-13, atol=1e-14)


def test_hessian_products(kernel, point):
    rng = np.random.default_rng(3)
    q_dot, v_bar = rng.normal(size=(9, 4)), rng.normal(size=(9, 3))
    scalar = kernel.hvp("s", "q")
    assert list(scalar.inputs) == ["q", "a", "q_dot"]
    hessian = kernel.jacobian("s", "q").jacobian("ds/dq", "q")(*point)
    np.testing.assert_allclose(scalar(*point, q_dot), np.einsum("...ij,...j", hessian, q_dot), rtol=1e-12, atol=1e-13)
    vector = kernel.hvp("v", "q")(*point, v_bar, q_dot)
    tensor = kernel.jacobian("v", "q").jacobian("dv/dq", "q")(*point)
    wanted = np.einsum("...kij,...k,...j", tensor, v_bar, q_dot)
    np.testing.assert_allclose(vector, wanted, rtol=1e-12, atol=1e-13)


def test_unknown_names_are_refused(kernel):
    with pytest.raises(ValueError, match=r"no output \['w'\]; there are: \['v', 's', 'm'\]"):
        kernel.jacobian("w")
    with pytest.raises(ValueError, match=r"no input \['x'\]"):
        kernel.vjp("v", "x")
    with pytest.raises(AttributeError, match="0 sparsity patterns"):
        _ = kernel.rows


def test_a_sparse_hessian_is_the_jacobian_of_the_gradient():
    kernel = kernels.compile(lambda x: (x[0] * x[1] + np.sin(x[2]), x[1] ** 3), {"x": 4}, ["s", "v"])
    at = np.array([0.3, -0.7, 1.1, 2.0]), np.array(0.4), np.array(-1.3)
    direct, chained = kernel.hessian(), kernel.vjp().jacobian("x_bar", "x", sparse=True)
    assert np.array_equal(direct(*at), chained(*at))
    assert np.array_equal(np.stack([direct.rows, direct.cols]), [[0, 1, 1, 2], [1, 0, 1, 2]])


def test_angles_and_lengths_of_two_numbers_have_derivatives_on_floats():
    """As a bushing takes them, whose forces are evaluated on floats too: differences."""

    def formula(x):
        y, z = x[..., 0], x[..., 1]
        return vector([np.arctan2(y, z), np.abs(np.arctan2(z, -y)), np.hypot(y, z)])

    x = np.array([0.3, -0.7])
    np.testing.assert_allclose(jacobian_at(formula, x), differences(formula, x), atol=1e-9)
