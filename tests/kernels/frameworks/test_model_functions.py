"""Functions of models for other libraries: values and Jacobians against the package's own on the tangent space."""

import numpy as np
import pytest

import myoquat as mq
from myoquat.dynamics import Inputs, forward_dynamics_derivatives, model_function, step_derivatives

RNG = np.random.default_rng(46)
MODEL = mq.load_model("two_link")
SYSTEM = MODEL.system
Q, (U, TAU), A = SYSTEM.random(3, RNG), RNG.normal(size=(2, 3, 6)), RNG.uniform(size=(3, 6))


def along(J):
    """Derivatives by the components of q as ones by small motions."""
    return J @ np.stack([SYSTEM.rate_matrix(q) for q in Q])


def test_lengths():
    (J,) = model_function(MODEL, "path_lengths").jacobians().value(Q)
    assert np.abs(along(J) - mq.path_jacobian(MODEL, Q)).max() < 1e-14


@pytest.mark.parametrize("forces", [False, True])
def test_dynamics(forces):
    function = model_function(MODEL, "forward_dynamics", forces=forces)
    given = (Q, U, TAU, *([A] if forces else []))
    found = forward_dynamics_derivatives(MODEL, Q, U, TAU, inputs=Inputs(A) if forces else None)
    J = dict(zip(function.inputs, function.jacobians().value(*given), strict=True))
    expected = {"u": found.u, "tau": found.tau, **found.inputs}
    assert np.abs(along(J.pop("q")) - found.q).max() < 1e-12 * np.abs(found.q).max()
    for name, value in J.items():
        assert np.abs(value - expected[name]).max() < 1e-12 * np.abs(value).max()
    (back,) = model_function(MODEL, "inverse_dynamics", forces=forces).value(Q, U, *function.value(*given), *given[3:])
    assert np.abs(back - TAU).max() < 1e-11


@pytest.mark.parametrize("method", ["lie_rk4", "radau"])
def test_steps(method):
    function = model_function(MODEL, "step", step=5e-3, method=method)
    q, u = function.value(Q, U, A, TAU)
    J = function.jacobians().value(Q, U, A, TAU)
    found = step_derivatives(MODEL, Q, U, 5e-3, method=method, inputs=Inputs(A, TAU))
    assert max(np.abs(q - found.q).max(), np.abs(u - found.u).max()) < 1e-15
    by_u = np.concatenate([np.stack([SYSTEM.rate_inverse(q) for q in found.q]) @ J[1], J[5]], axis=-2)
    assert np.abs(by_u - found.A[..., 6:]).max() < 1e-12
    assert np.abs(np.concatenate([J[6], J[7]], axis=-1) - found.B[..., 6:, :]).max() < 1e-12


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="path_lengths, forward_dynamics"):
        model_function(MODEL, "lengths")
    with pytest.raises(ValueError, match="step"):
        model_function(MODEL, "step", step=0.0)
    with pytest.raises(TypeError, match="muscles"):
        model_function(SYSTEM, "path_lengths")
    with pytest.raises(TypeError, match="must be a Kernel"):
        mq.kernels.Differentiable.of(np.sin)
    with pytest.raises(NotImplementedError, match="derivative of path_lengths"):
        model_function(MODEL, "path_lengths").jacobians().jacobians()


def test_one_step_gives_the_values_and_their_jacobians():
    function = model_function(SYSTEM, "step", step=1e-2)
    arrays = [Q, U, TAU][: len(function.inputs)]
    found = function.value_and_jacobians().value(*arrays)
    expected = (*function.value(*arrays), *function.jacobians().value(*arrays))
    assert len(found) == len(expected)
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
