"""Bad formulas, bad arrays, bad numbers: one clear error, or a result in which only the bad lane suffers."""

import functools
import subprocess
import sys

import casadi
import numpy as np
import pytest

from myoquat import kernels
from myoquat.kernels import ConversionWarning


@pytest.fixture
def kernel():
    return kernels.compile(lambda q, a: np.sqrt(q) * a, {"q": (2, 3), "a": ()}, ["root"], name="roots")


def test_error_of_a_formula_that_branches_names_where():
    def branching(q):
        return q if q[0] > 0.0 else -q

    with pytest.raises(TypeError, match=r"kernel 'branching', test_faults.py:\d+ `return q if .*np\.where"):
        kernels.compile(branching, {"q": 2})


def test_an_unknown_function_is_named_with_its_line():
    def odd(q):
        return np.arccosh(q)

    with pytest.raises(TypeError, match=r"test_faults.py:\d+ `return np.arccosh\(q\)`: np.arccosh has no meaning"):
        kernels.compile(odd, {"q": 2})


def test_a_function_of_casadi_is_named_with_its_line():
    def inverse_error(q):
        return casadi.erfinv(q[0].item())

    with pytest.raises(
        TypeError, match=r"test_faults.py:\d+ `return casadi.erfinv\(.*'erfinv'. Keep the formula in NumPy"
    ):
        kernels.compile(inverse_error, {"q": 1})


def test_outputs_are_checked():
    with pytest.raises(ValueError, match=r"output 'y' has shape \(3,\); \(2,\) was announced"):
        kernels.compile(lambda q: q, {"q": 3}, {"y": 2})
    with pytest.raises(ValueError, match=r"gives 1 outputs \['output0'\]; announced: \['a', 'b'\]"):
        kernels.compile(lambda q: q, {"q": 3}, ["a", "b"])
    with pytest.raises(ValueError, match="shape of 'q' is -1"):
        kernels.compile(lambda q: q, {"q": -1})
    with pytest.raises(ValueError, match="two outputs are named 'y'"):
        kernels.compile([lambda q: {"y": q}, lambda q: {"y": q}], {"q": 3})


def test_several_formulas_share_their_inputs():
    def double(q):
        return q * 2.0

    kernel = kernels.compile([double, functools.partial(np.add, 1.0)], {"q": 3}, {"a": 3, "b": 3})
    a, b = kernel(np.arange(3.0))
    assert np.array_equal(a, [0, 2, 4])
    assert np.array_equal(b, [1, 2, 3])
    assert kernel.name == "double"


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        ((np.ones((2, 2)), 1.0), ValueError, r"'roots': input 'q' has shape \(2, 2\); \(\.\.\., 2, 3\) is needed"),
        ((np.ones((5, 2, 3)), np.ones(4)), ValueError, r"leading axes do not broadcast: 'q' \(5,\), 'a' \(4,\)"),
        ((np.ones((2, 3)), "one"), ValueError, "input 'a' holds <U3; real numbers are needed"),
        ((np.ones((2, 3)), 1j), ValueError, "input 'a' holds complex128"),
        (([[1, 2, 3], [4]], 1.0), ValueError, "input 'q' is not an array"),
        ((np.ones((2, 3)),), TypeError, r"inputs \['a'\] are missing"),
        ((1, 2, 3), TypeError, "takes 2 inputs; 3 were given"),
    ],
)
def test_bad_arrays_are_named(kernel, arrays, error, message):
    with pytest.raises(error, match=message):
        kernel(*arrays)


def test_bad_names_are_named(kernel):
    with pytest.raises(TypeError, match=r"given twice: \['q'\], unknown: \['b'\]"):
        kernel(np.ones((2, 3)), q=1.0, b=2.0)


@pytest.mark.parametrize(
    "out", [np.empty((4, 3, 2)), np.empty((4, 2, 3), np.float32), np.empty((8, 2, 3))[::2], [0.0], None]
)
def test_bad_out_is_refused(kernel, out):
    given = (np.ones((4, 2, 3)), 1.0)
    with pytest.raises(ValueError, match=r"out (for 'root' is|has 2)"):
        kernel(*given, out=(out, out) if out is None else out)


def test_out_that_overlaps_an_input_is_refused():
    kernel = kernels.compile(lambda q: q[::-1], {"q": 3}, name="turned")
    memory = np.arange(30.0)
    with pytest.raises(ValueError, match="overlaps an input"):
        kernel(memory[:27].reshape(9, 3), out=memory[3:].reshape(9, 3))
    q = memory.reshape(10, 3).copy()
    kernel(q, out=q)
    assert np.array_equal(q, memory.reshape(10, 3)[:, ::-1])


def test_conversions_are_counted_and_large_ones_warn(kernel):
    q = np.ones((40_000, 2, 3))
    kernel(q, 1.0)
    assert kernel.conversions == 0
    kernel(q[:9].astype(np.float32), 1)
    assert kernel.conversions == 1
    with pytest.warns(ConversionWarning, match=r"input 'q' \(float32, C order\) is copied"):
        kernel(q.astype(np.float32).repeat(2, axis=0), 1.0)
    with pytest.warns(ConversionWarning, match=r"input 'q' \(float64, strides\) is copied"):
        kernel(np.asfortranarray(q), 1.0)
    assert kernel.conversions == 3


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1.0, 1e308, 5e-324])
@pytest.mark.parametrize("lanes", [1, 8])
def test_a_bad_state_disturbs_no_other(bad, lanes):
    def busy(q):
        s = np.sqrt(q[0]) + np.log(q[1]) + np.sin(q[2]) / q[3] + np.maximum(q[0], q[1])
        return np.stack([s, np.exp(s), np.where(s > 0.0, s, np.arctan2(q[0], q[3]))])

    kernel = kernels.compile(busy, {"q": 4}, lanes=lanes)
    q = np.random.default_rng(0).uniform(0.5, 2.0, (29, 4))
    clean = kernel(q)
    for k in (0, 5, 28):
        for component in range(4):
            spoiled = q.copy()
            spoiled[k, component] = bad
            value = kernel(spoiled)
            others = np.arange(29) != k
            assert np.array_equal(value[others], clean[others])
            if np.isnan(bad):
                assert np.isnan(value[k, 0])


def test_nonfinite_states_are_reported(kernel):
    q = np.ones((3, 4, 2, 3))
    q[1, 2, 0, 0] = -1.0
    q[2, 0, 1, 1] = np.inf
    assert kernel.nonfinite(kernel(q, 1.0)).tolist() == [[1, 2], [2, 0]]
    with pytest.raises(FloatingPointError, match=r"'roots': 2 states are not finite, first at batch index \(1, 2\), "):
        kernel(q, 1.0, check=True)
    assert kernel(np.abs(q[:1]), 1.0, check=True).shape == (1, 4, 2, 3)


def test_minimum_and_maximum_keep_nan():
    kernel = kernels.compile(lambda a, b: (np.minimum(a, b), np.maximum(a, b)), {"a": (), "b": ()}, name="extremes")
    a = np.array([1.0, np.nan, 2.0, np.nan, -np.inf])
    b = np.array([2.0, 1.0, np.nan, np.nan, np.inf])
    for value, wanted in zip(kernel(a, b), (np.minimum(a, b), np.maximum(a, b)), strict=True):
        assert np.array_equal(value, wanted, equal_nan=True)


def test_settings_are_checked(monkeypatch):
    for variable, value, message in (
        ("MYOQUAT_LANES", "3", "lanes=3; allowed: 1, 2, 4, 8"),
        ("MYOQUAT_THREADS", "0", "threads=0; at least 1"),
        ("MYOQUAT_THREADS", "two", "'two' .* is not a whole number"),
        ("MYOQUAT_OPTIMIZATION", "3", "MYOQUAT_OPTIMIZATION=3; allowed: 0, 1"),
        ("MYOQUAT_CPU", "z80", "MYOQUAT_CPU='z80' is not known .* allowed: native"),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            with pytest.raises(ValueError, match=message):
                kernels.compile(lambda q: q, {"q": 1})


def test_long_formulas_are_split_and_agree():
    """Far above the size of one part; every value is used far from where it is made."""

    def long(q):
        values = [q[k % 5] * (0.1 + k / 997.0) for k in range(300)]
        for turn in range(12):
            values = [np.sin(v) + values[(7 * k + turn) % 300] * 0.5 for k, v in enumerate(values)]
        return np.stack([*values[::3], q[0], q[1] * 0.0 + 4.0, (q[2] > 0.0) * 1.0])

    q = np.random.default_rng(0).normal(size=(5, 5))
    results = [kernels.compile(long, {"q": 5}, lanes=lanes)(q) for lanes in (1, 8)]
    assert np.array_equal(*results)
    function = kernels.compile(long, {"q": 5}).casadi_function
    wanted = np.stack([np.array(function(state)).ravel() for state in q])
    np.testing.assert_allclose(results[0], wanted, rtol=1e-13, atol=1e-13)


SCATTERED = """
import ctypes, mmap
import numpy as np
from myoquat import kernels

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
private, no_reserve = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 0x4000
take = lambda size: libc.mmap(None, size, 0, private | no_reserve, -1, 0)
filled = [take(size) for size in (1 << 20, 1 << 16, 1 << 13) for _ in range(2000)]  # fills the free memory
wall = take(40 * 3 << 30)
for k in range(1, 40):  # small holes in it, gigabytes apart
    libc.munmap(wall + (k * 3 << 30), 8192)
x = np.linspace(0.0, 1.0, 24).reshape(8, 3)
for count in range(100, 1500, 200):

    def formula(x):
        total = 0.0 * x
        for k in range(count):
            total = total * x + np.sqrt(x + k / 7)
        return np.sin(total)

    kernel = kernels.compile(formula, {"x": 3}, cache="off")
    np.testing.assert_allclose(kernel(x), kernel.numpy(x), atol=1e-9)
"""


@pytest.mark.linux
def test_code_and_constants_stay_together_where_memory_is_scattered():
    """An engine that loads them gigabytes apart ends the process: addresses between them have 32 bits."""
    done = subprocess.run([sys.executable, "-c", SCATTERED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_two_outputs_in_one_memory():
    kernel = kernels.compile(lambda q: (q, 2 * q), {"q": 3}, ["a", "b"], cache="off")
    q, out, long = np.ones((4, 3)), np.empty((4, 3)), np.empty((8, 3))
    for pair in ((out, out), (long[:4], long[3:7]), (long[3:7], long[:4])):
        with pytest.raises(ValueError, match=r"out for '[ab]' and for '[ab]' share memory; give each its own"):
            kernel(q, out=pair)
    kernel(q, out=(long[4:], long[:4]))
    np.testing.assert_array_equal(long, np.repeat([[2.0], [1.0]], 4, axis=0) * np.ones(3))
    empty = np.empty((0, 3))
    kernel(empty, out=(empty, empty))
