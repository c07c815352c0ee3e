"""JAX and PyTorch: `python -m pytest -m frameworks`, with the extras jax and torch. Without them these tests fail."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import myoquat as mq
from myoquat.dynamics import model_function
from myoquat.kernels import as_jax, as_torch

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")]  # its own
RNG = np.random.default_rng(40)
MODEL = mq.load_model("two_link")
Q, U, TAU = MODEL.system.random(3, RNG), *RNG.normal(size=(2, 3, 6))
STATES = {
    "path_lengths": (Q,),
    "forward_dynamics": (Q, U, TAU),
    "inverse_dynamics": (Q, U, TAU),
    "step": (Q, U, RNG.uniform(size=(3, 6)), TAU),
}
CUBIC = mq.kernels.compile(lambda x, y: y * np.sum(x**3) * x, {"x": 3, "y": ()}, cache="off")
GUIDE = Path(__file__).parents[3] / "docs/derivatives.md"


@pytest.fixture
def jax():
    library = importlib.import_module("jax")
    library.config.update("jax_enable_x64", True)
    yield library
    library.config.update("jax_enable_x64", False)


@pytest.fixture
def torch():
    return importlib.import_module("torch")


def close(found, expected):
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert np.abs(np.asarray(x) - y).max() <= 1e-12 * (1 + np.abs(y).max())


@pytest.mark.parametrize("name", STATES)
def test_jax_has_the_derivatives_of_the_package(name, jax):
    """Values under jit, and Jacobians forward and backward under vmap and jit."""
    function, arrays = model_function(MODEL, name), STATES[name]
    in_jax, every = as_jax(function), tuple(range(len(arrays)))
    close(jax.tree.leaves(jax.jit(in_jax)(*arrays)), function.value(*arrays))
    for derivative in (jax.jacfwd, jax.jacrev):
        found = jax.jit(jax.vmap(derivative(in_jax, argnums=every)))(*arrays)
        close(jax.tree.leaves(found), function.jacobians().value(*arrays))


@pytest.mark.parametrize("name", STATES)
def test_torch_has_the_derivatives_of_the_package(name, torch):
    function, arrays = model_function(MODEL, name), [torch.tensor(x) for x in STATES[name]]
    in_torch, every = as_torch(function), tuple(range(len(arrays)))
    leaves = importlib.import_module("torch.utils._pytree").tree_leaves
    close(leaves(in_torch(*arrays)), function.value(*STATES[name]))
    for derivative in (torch.func.jacfwd, torch.func.jacrev):
        found = torch.func.vmap(derivative(in_torch, argnums=every))(*arrays)
        close(leaves(found), function.jacobians().value(*STATES[name]))


def test_kernels_have_all_orders(jax, torch):
    """Second derivatives, with an argument that the others' batch does not have."""
    x, y = RNG.normal(size=(4, 3)), np.array(0.7)
    expected = CUBIC.jacobian(wrt="x").jacobian(wrt="x")(x, y)
    second = jax.vmap(jax.jacfwd(jax.jacrev(as_jax(CUBIC))), (0, None))
    close([second(x, y)], [expected])
    twice = torch.func.vmap(torch.func.jacfwd(torch.func.jacrev(as_torch(CUBIC))), (0, None))
    close([twice(torch.tensor(x), torch.tensor(y))], [expected])
    z = torch.tensor(x, requires_grad=True)
    assert torch.autograd.gradgradcheck(as_torch(CUBIC), (z, torch.tensor(y, requires_grad=True)))


def test_types_and_shapes(jax, torch):
    """Batches broadcast, precision is that of the caller, names and shapes are checked, ends are named."""
    assert as_torch(CUBIC)(torch.ones(5, 3), y=torch.ones(2, 1)).shape == (2, 5, 3)
    assert as_torch(CUBIC)(torch.ones(3), torch.ones(())).dtype == torch.float32
    with pytest.raises(TypeError, match="floating point"):
        as_torch(CUBIC)(torch.ones(3, dtype=int), torch.ones(()))
    for call in (as_torch(CUBIC), as_jax(CUBIC)):
        with pytest.raises(ValueError, match="x must have shape"):
            call(np.ones(2), np.ones(()))
        with pytest.raises(TypeError, match=r"inputs \['y'\] are missing"):
            call(np.ones(3))
    lengths = as_jax(model_function(MODEL, "path_lengths"))
    with pytest.raises(NotImplementedError, match="no further derivative"):
        jax.hessian(lambda q: lengths(q).sum())(Q[0])
    jax.config.update("jax_enable_x64", False)
    assert as_jax(CUBIC)(np.ones(3), 1.0).dtype == np.float32


def test_the_guides_controller_learns(torch):
    """Three iterations of the training in the guide: the pole leans less after each."""
    (code,) = re.findall(r"```py\n(import torch\n.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(code.replace("range(60)", "range(3)"), names)
    assert names["history"] == sorted(names["history"], reverse=True)
