"""Kernels against the formulas that they were compiled from: values, shapes, lanes, threads, bad input."""

import pickle

import numpy as np
import pytest

from myoquat import kernels

LANES = (1, 2, 4, 8)


def mixed(q, a):
    """A formula with every type of operation: arithmetic, selection, sums, elementary functions, several outputs."""
    radius = np.sqrt(q @ q + 1.0)
    chosen = np.where((q > 0.0) & (q < a), np.exp(q) / radius, np.arctan2(q[1], a) / radius)
    return np.sin(q) * np.cos(q) * a, chosen, np.outer(q, q) @ q, np.maximum(q[0], a)


INPUTS = {"q": 5, "a": ()}


def ulps(value, reference):
    """Largest distance in units of the last place of the largest reference value of its row."""
    scale = np.spacing(np.abs(reference).max())
    return np.abs(value - reference).max() / scale


@pytest.fixture
def states(rng):
    return rng.normal(size=(37, 5)), rng.normal(size=37)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


PROCESSORS = ["native"]
if "x86_64" in kernels.info()["triple"]:
    PROCESSORS += ["x86-64", "x86-64-v3"] if "avx2" in kernels.info()["features"] else ["x86-64"]


@pytest.mark.parametrize("cpu", PROCESSORS)
@pytest.mark.parametrize("lanes", LANES)
def test_kernel_agrees_with_numpy_and_casadi(states, lanes, cpu, monkeypatch):
    """On processors without AVX-512, without AVX2 and fused multiply-add too, as far as this machine can play them."""
    monkeypatch.setenv("MYOQUAT_CPU", cpu)
    kernel = kernels.compile(mixed, INPUTS, lanes=lanes)
    reference = kernel.numpy(*states)
    for value, wanted in zip(kernel(*states), reference, strict=True):
        assert ulps(value, wanted) <= 4
    for k in range(3):
        row = kernel.casadi_function(states[0][k], states[1][k])
        for value, wanted in zip(row, reference, strict=True):
            assert ulps(np.array(value).reshape(wanted[k].shape), wanted[k]) <= 4


def test_both_optimizations_give_the_same_bits(states, monkeypatch):
    def heron(state, a):
        x = 0.5 * (state[0] + (2.0 + a * a) / state[0])
        return x, np.abs(x - state[0])

    def formula(q, a):
        start = 1.0 + 0.0 * a, 1.0 + 0.0 * a
        return *mixed(q, a), kernels.while_loop(lambda state: state[1] > 1e-9, heron, start, a, max_steps=30)[0]

    results = []
    for level in ("0", "1"):
        monkeypatch.setenv("MYOQUAT_OPTIMIZATION", level)
        results.append(kernels.compile(formula, INPUTS, cache="off")(*states))
    for quick, usual in zip(*results, strict=True):
        np.testing.assert_array_equal(quick, usual)


def test_threads_give_the_same_bits(rng):
    kernel = kernels.compile(mixed, INPUTS)
    q, a = rng.normal(size=(200_003, 5)), rng.normal(size=200_003)
    for one, two in zip(kernel(q, a, threads=1), kernel(q, a, threads=2), strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("length", [1, 2, 3, 5, 7, 8, 9, 15, 16, 33, 70])
def test_rows_of_any_length_and_count_pass_through(rng, lanes, length):
    kernel = kernels.compile(lambda x: x + 0.0, {"x": length}, lanes=lanes, name="identity")
    for count in (1, lanes - 1, lanes, 3 * lanes + 1):
        x = rng.normal(size=(count, length))
        assert np.array_equal(kernel(x), x)


def test_leading_axes_broadcast(rng):
    kernel = kernels.compile(lambda q, a: q * a, {"q": 3, "a": ()}, name="scaled")
    q, a = rng.normal(size=(4, 1, 3)), rng.normal(size=(1, 6))
    assert np.array_equal(kernel(q, a), q * a[..., None])
    assert np.array_equal(kernel(q[0, 0], a), q[0, 0] * a[..., None])
    assert np.array_equal(kernel(a=2.0, q=q), 2.0 * q)
    assert kernel(np.empty((0, 3)), 1.0).shape == (0, 3)
    assert kernel([1.0, 2.0, 3.0], 1).shape == (3,)


def test_views_and_out(rng):
    kernel = kernels.compile(lambda q: q * 2.0, {"q": 4}, name="twice")
    wide = rng.normal(size=(50, 9))
    out = np.empty((50, 4))
    assert kernel(wide[:, 2:6], out=out) is out
    assert np.array_equal(out, 2.0 * wide[:, 2:6])
    assert np.array_equal(kernel(wide[::-1, :4]), 2.0 * wide[::-1, :4])
    assert kernel.conversions == 0
    kernel(out, out=out)
    assert np.array_equal(out, 4.0 * wide[:, 2:6])
    kernel(wide[:, :8:2])
    assert kernel.conversions == 1


def test_pickle(states):
    kernel = kernels.compile(mixed, INPUTS, ["s", "c", "o", "m"], lanes=2)
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy.lanes == 2
    assert copy.outputs == kernel.outputs
    assert all(np.array_equal(a, b) for a, b in zip(copy(*states), kernel(*states), strict=True))


def test_one_state_at_a_time(states):
    kernel = kernels.compile(mixed, INPUTS, lanes=1)
    single, before = kernel.single(), kernels.calls()
    first = single(states[0][0], states[1][0])
    for q, a in zip(*states, strict=True):
        for value, wanted in zip(single(q, a), kernel(q, a), strict=True):
            np.testing.assert_array_equal(value, wanted)
    assert kernels.calls() - before == 1 + 2 * len(states[0])
    for value, wanted in zip(first, kernel(states[0][0], states[1][0]), strict=True):
        np.testing.assert_array_equal(value, wanted)  # later calls do not write into earlier results
    with pytest.raises(ValueError, match="broadcast"):
        single(np.zeros(4), 1.0)
    with pytest.raises(ValueError, match="argument"):
        single(np.zeros(5))
