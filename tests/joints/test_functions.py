"""Functions of a coordinate: their derivatives, every type of number, and OpenSim's values."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from lxml import etree
from scipy.interpolate import CubicSpline

from myoquat.data.osim.functions import read_function
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import (
    Constant,
    Linear,
    Multiplier,
    NaturalSpline,
    PiecewiseConstant,
    PiecewiseLinear,
    Polynomial,
    SimmSpline,
    Sine,
    SmoothStep,
)
from myoquat.kernels import formula
from myoquat.kernels.tracing.derivatives import jacobian_at

POINTS = (-1.0, -0.2, 0.1, 0.9, 2.0), (0.3, -0.1, 0.5, 0.2, 0.4)
FUNCTIONS = {
    "constant": Constant(0.7),
    "linear": Linear(2.0, -0.3),
    "polynomial": Polynomial((0.1, -0.5, 0.3, 0.2)),
    "multiplier": Multiplier(SimmSpline(*POINTS), -1.7),
    "piecewise": PiecewiseLinear(*POINTS),
    "spline": SimmSpline(*POINTS),
    "staircase": PiecewiseConstant(*POINTS),
    "sine": Sine(0.4, 3.0, 0.2, 0.1),
    "step": SmoothStep(-0.8, 1.3, 0.2, -0.5),
    "step back": SmoothStep(1.3, -0.8),
    "lines": NaturalSpline(*POINTS, degree=1),
    "cubics": NaturalSpline(*POINTS),
    "quintics": NaturalSpline((*POINTS[0], 2.6), (*POINTS[1], 0.1), degree=5),
}
X = np.array([[-3.0], [-1.0 + 1e-9], [-0.5], [0.0], [0.1 + 1e-9], [0.5], [1.5], [2.5]])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_type_of_number_gives_the_same(scalar, name):
    f = FUNCTIONS[name]
    verbs = (f.value, f.slope, f.curvature)
    got = scalar(formula(x=(1,))(lambda x: np.stack([verb(x[..., 0]) for verb in verbs], axis=-1)), X)
    want = np.array([[float(g(x)) for g in (f.value, f.slope, f.curvature)] for x in X[:, 0]])
    np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_on_floats_are_derivatives_by_complex_steps(name):
    function, x = FUNCTIONS[name], np.array([*np.linspace(-1.3, 1.7, 7), *POINTS[0][1:]])[:, None]  # knots too
    found = jacobian_at(lambda moved: function.value(moved[..., 0])[..., None], x)[..., 0, 0]
    np.testing.assert_allclose(found, function.slope(x[:, 0]) + 0.0 * x[:, 0], atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slope_and_curvature_are_derivatives(name):
    f, h = FUNCTIONS[name], 1e-5
    x = X[:, 0] + 1e-3
    np.testing.assert_allclose(f.slope(x), (f.value(x + h) - f.value(x - h)) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(f.curvature(x), (f.slope(x + h) - f.slope(x - h)) / (2 * h), atol=1e-8)


@given(st.lists(st.floats(-2, 2), min_size=4, max_size=8, unique_by=lambda v: round(v, 2)), st.randoms())
def test_a_spline_through_a_cubic_is_the_cubic_and_straight_outside(knots, random):
    x = sorted(knots)
    p = np.polynomial.Polynomial([random.uniform(-1, 1) for _ in range(4)])
    f = SimmSpline(tuple(x), tuple(p(np.array(x)).tolist()))
    inside = np.linspace(x[0], x[-1], 9)
    np.testing.assert_allclose(f.value(inside), p(inside), atol=1e-9)
    np.testing.assert_allclose(f.value(x[-1] + 0.7), p(x[-1]) + 0.7 * p.deriv()(x[-1]), atol=1e-8)
    np.testing.assert_allclose(f.value(x[0] - 0.7), p(x[0]) - 0.7 * p.deriv()(x[0]), atol=1e-8)


def test_a_spline_is_twice_differentiable_at_its_points():
    """Given the second derivatives at its ends, SciPy's spline through the same points is the same function."""
    f = SimmSpline(*POINTS)
    ends = [float(f.curvature(x)) for x in (POINTS[0][0], np.nextafter(POINTS[0][-1], 0))]
    other = CubicSpline(*POINTS, bc_type=((2, ends[0]), (2, ends[1])))
    x = np.linspace(-1, 2, 50)
    np.testing.assert_allclose(f.value(x), other(x), atol=1e-14)
    np.testing.assert_allclose(f.slope(x), other(x, 1), atol=1e-13)


@pytest.mark.parametrize("count", [2, 3])
def test_a_spline_through_few_points_is_a_polynomial(count):
    x, y = POINTS[0][:count], POINTS[1][:count]
    p = np.polynomial.Polynomial.fit(x, y, count - 1)
    inside = np.linspace(x[0], x[-1], 5)
    np.testing.assert_allclose(SimmSpline(x, y).value(inside), p(inside), atol=1e-15)


@pytest.mark.parametrize("cls", [SimmSpline, PiecewiseLinear])
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ((0.0,), (1.0,), "at least 2"),
        ((0.0, 1.0), (1.0,), "as many x as y"),
        ((0.0, 0.0), (1.0, 2.0), "must increase"),
        ((0.0, float("nan")), (1.0, 2.0), "must be finite"),
    ],
)
def test_points_that_make_no_function(cls, x, y, message):
    with pytest.raises(ValueError, match=message):
        cls(x, y)


@pytest.mark.peers
def test_opensim_evaluates_the_same(in_opensim):
    script = """
def fill(f):
    for x, y in zip([-1.0, -0.2, 0.1, 0.9, 2.0], [0.3, -0.1, 0.5, 0.2, 0.4]):
        f.addPoint(x, y)
    return f
def at(f):
    orders = [opensim.StdVectorInt(), opensim.StdVectorInt(1, 0)]
    return [[f.calcValue(opensim.Vector(1, x)), f.calcDerivative(orders[1], opensim.Vector(1, x))] for x in xs]
xs = json.loads(arguments[0])
def gcv(degree, more=()):
    spline = opensim.GCVSpline()
    spline.setDegree(degree)
    fill(spline)
    for x, y in more:
        spline.addPoint(x, y)
    return spline
answer = [
    at(fill(opensim.SimmSpline())), at(fill(opensim.PiecewiseLinearFunction())),
    at(fill(opensim.PiecewiseConstantFunction())), at(opensim.Sine(0.4, 3.0, 0.2, 0.1)),
    at(opensim.StepFunction(-0.8, 1.3, 0.2, -0.5)), at(gcv(1)), at(gcv(3)), at(gcv(5, [(2.6, 0.1)])),
]
"""
    x = np.setdiff1d(np.linspace(-2, 3, 41), (*POINTS[0], 2.6))
    names = ("spline", "piecewise", "staircase", "sine", "step", "lines", "cubics", "quintics")
    for name, theirs in zip(names, in_opensim(script, str(x.tolist())), strict=True):
        ours = np.stack([FUNCTIONS[name].value(x), FUNCTIONS[name].slope(x)], axis=-1)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13, err_msg=name)


REPEATED = """<OpenSimDocument Version="40000"><SimmSpline name="f"><x>-1 0.5 1 1 1.2 1.5 2</x>
<y>0 0.1 0.3 0.3 0.2 0.4 0.1</y></SimmSpline></OpenSimDocument>"""


def test_a_spline_is_level_where_a_file_gives_a_point_twice():
    spline = read_function(etree.fromstring(REPEATED)[0])
    assert spline.value(np.array([1.0]))[0] == pytest.approx(0.3, abs=1e-12)
    assert np.abs(spline.slope(np.array([1.0, 1.0 + 5e-8, 1.0 + 1e-7]))).max() < 1e-5
    with pytest.raises(ModelError, match="the x of a spline must increase"):
        read_function(etree.fromstring(REPEATED.replace("0.3 0.3", "0.3 0.2"))[0])


@pytest.mark.peers
def test_opensim_takes_such_a_point_for_two_beside_each_other(tmp_path, in_opensim):
    (tmp_path / "f.xml").write_text(REPEATED)
    script = """
f = opensim.SimmSpline.safeDownCast(opensim.OpenSimObject.makeObjectFromFile(arguments[1]))
answer = [f.calcValue(opensim.Vector(1, x)) for x in json.loads(arguments[0])]
"""
    x, spline = np.linspace(-2, 3, 41), read_function(etree.fromstring(REPEATED)[0])
    np.testing.assert_allclose(
        spline.value(x), in_opensim(script, str(x.tolist()), str(tmp_path / "f.xml")), rtol=1e-6, atol=1e-6
    )
