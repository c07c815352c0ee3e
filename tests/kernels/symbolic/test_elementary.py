"""Elementary functions: special values as a table, accuracy over all exponents, every type of processor."""

import math
import platform

import mpmath
import numpy as np
import pytest

from benchmarks.own.elementary import FUNCTIONS, largest_error
from myoquat import kernels
from myoquat.kernels.codegen.elementary import ARITY, PACKABLE

INF, NAN, PI = math.inf, math.nan, math.pi
TINY, BIG = 5e-324, 1.7976931348623157e308

# (argument, value) after annex F of the C standard; a zero's sign counts
SPECIAL = {
    "sin": [(0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (TINY, 1.0), (INF, NAN), (NAN, NAN)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (-TINY, -TINY), (INF, NAN), (NAN, NAN)],
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (BIG, INF), (-BIG, 0.0), (710.0, INF), (NAN, NAN)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (INF, INF), (-INF, -1.0), (-40.0, -1.0), (NAN, NAN)],
    "log": [(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (-TINY, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (-1.0, -INF), (-1.5, NAN), (INF, INF), (NAN, NAN)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (-TINY, -TINY), (INF, INF), (-INF, -INF), (711.0, INF), (NAN, NAN)],
    "cosh": [(0.0, 1.0), (INF, INF), (-INF, INF), (711.0, INF), (NAN, NAN)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (INF, 1.0), (-INF, -1.0), (30.0, 1.0), (NAN, NAN)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (INF, INF), (-INF, -INF), (NAN, NAN)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (TINY, TINY), (1.0, PI / 2), (-1.0, -PI / 2), (1.5, NAN), (NAN, NAN)],
    "acos": [(1.0, 0.0), (-1.0, PI), (0.0, PI / 2), (-1.5, NAN), (INF, NAN), (NAN, NAN)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (-TINY, -TINY), (INF, PI / 2), (-INF, -PI / 2), (1.0, PI / 4), (NAN, NAN)],
}
SIGNS = [0.0, -0.0, 1.0, -1.0, INF, -INF, TINY, -TINY, BIG, -BIG]

PROCESSORS = ["native"]
if platform.machine().lower() in ("x86_64", "amd64"):
    features = kernels.info()["features"]
    PROCESSORS += ["x86-64", "x86-64-v3"] if "avx2" in features else ["x86-64"]


def kernel_of(name, length, lanes=None):
    case = FUNCTIONS[name]
    inputs = {f"x{k}": length for k in range(case.arity)}
    return kernels.compile(case.formula, inputs, name=name, lanes=lanes)


def same_bits(a, b):
    """Equal, NaN with NaN, and zeros with their signs."""
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(
        np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(b)]
    )


@pytest.mark.parametrize("cpu", PROCESSORS)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(monkeypatch, cpu, name):
    monkeypatch.setenv("MYOQUAT_CPU", cpu)
    arguments, values = map(np.array, zip(*SPECIAL[name], strict=True))
    assert same_bits(kernel_of(name, len(arguments))(arguments), values)


@pytest.mark.parametrize("cpu", PROCESSORS)
def test_atan2_of_zeros_infinities_and_extremes(monkeypatch, cpu):
    monkeypatch.setenv("MYOQUAT_CPU", cpu)
    y, x = (a.ravel() for a in np.meshgrid(SIGNS, SIGNS))
    wanted = np.array([math.atan2(*pair) for pair in zip(y, x, strict=True)])
    value = kernel_of("atan2", len(y))(y, x)
    assert np.array_equal(np.signbit(value), np.signbit(wanted))
    np.testing.assert_allclose(value, wanted, rtol=2.3e-16, atol=0)
    kernel = kernel_of("atan2", 4)
    assert np.isnan(kernel([NAN, 1.0, NAN, NAN], [1.0, NAN, INF, NAN])).all()


# a little above the largest errors that `python -m benchmarks.own.elementary 1e8` found
BOUNDS = {
    "sin": 1.0, "cos": 1.0, "tan": 2.5, "exp": 1.1, "expm1": 2.2, "log": 1.0, "log1p": 1.0, "sinh": 2.7, "cosh": 1.6,
    "tanh": 2.8, "asinh": 2.0, "asin": 1.0, "acos": 1.0, "atan": 1.0, "atan2": 1.6, "pow": 1.0,
}  # fmt: skip


@pytest.mark.parametrize("cpu", PROCESSORS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_in_units_of_the_last_place(monkeypatch, cpu, name):
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("long double is no wider than double here")
    monkeypatch.setenv("MYOQUAT_CPU", cpu)
    error, where = largest_error(kernel_of(name, 8), FUNCTIONS[name], 40_000, np.random.default_rng(3))
    assert error <= BOUNDS[name], where


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_lane_has_the_same_bits_at_every_width(name):
    rng = np.random.default_rng(4)
    x = [a.reshape(-1, 5) for a in FUNCTIONS[name].arguments(rng, 2000)]
    results = [kernel_of(name, 5, lanes)(*x) for lanes in (1, 2, 4, 8)]
    assert all(same_bits(r, results[0]) for r in results)


def test_the_reference_itself_against_many_digits():
    """sin and cos near multiples of pi/2 and far out, against 60 digits."""
    mpmath.mp.dps = 400
    x = np.array([3.0 * PI, 1e6 * PI, 1e12 + 0.5, 9.9e12, 1.1e13, 1e15, 1e22, 1e300])
    for name, exact in (("sin", mpmath.sin), ("cos", mpmath.cos)):
        value = kernel_of(name, len(x))(x)
        for v, a in zip(value, x, strict=True):
            assert abs(mpmath.mpf(float(v)) - exact(mpmath.mpf(float(a)))) <= 1.0 * float(np.spacing(abs(v)))


def test_sine_beside_cosine_is_the_sine_alone():
    x = np.random.default_rng(5).normal(size=(100, 3)) * 100
    both = kernels.compile(lambda x: (np.sin(x), np.cos(x)), {"x": 3}, name="both")(x)
    assert np.array_equal(both[0], kernel_of("sin", 3)(x))
    assert np.array_equal(both[1], kernel_of("cos", 3)(x))


@pytest.mark.parametrize("name", sorted(PACKABLE - {"sincos"}))
def test_one_lane_packs_calls_into_vectors_with_the_same_bits(name, rng):
    """Eleven calls of one function in one formula, and calls of calls: one lane packs them, eight do not."""
    function = getattr(np, f"arc{name[1:]}" if name in ("asin", "asinh", "acos", "atan", "atan2") else name)

    def formula(x):
        inner = [function(x[..., i], x[..., i + 1]) if ARITY[name] == 2 else function(x[..., i]) for i in range(11)]
        outer = function(inner[0] / 9, inner[1] / 9) if ARITY[name] == 2 else function(inner[0] / 9)
        return np.stack([*inner, outer, np.sin(x[..., 0]), np.cos(x[..., 0]), np.sin(x[..., 1])], axis=-1)

    x = rng.uniform(0.05, 0.95, (40, 12))
    one, eight = (kernels.compile(formula, {"x": 12}, cache="off", lanes=lanes) for lanes in (1, 8))
    assert "packed_" in one.ir
    assert "packed_" not in eight.ir
    np.testing.assert_array_equal(one(x), eight(x))
