"""Millard's muscle: its curves of smooth corners, their numbers in OpenSim, and what cannot be."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.interpolate import BPoly

from myoquat import kernels
from myoquat.joints.errors import ModelError
from myoquat.muscle.laws import Millard2012
from myoquat.muscle.laws.corners import Corners, sharpness

LAW = Millard2012(1000.0, 0.1, 0.2, 0.1)
CLASSIC = replace(LAW, damping=0.0, active_lowest=0.1, concentric_slope_at_vmax=0.125, eccentric_slope_at_vmax=0.075)
CURVES = ("active", "velocity", "passive", "tendon")


@given(
    first=st.floats(-2, 0.5), second=st.floats(1.5, 20), curviness=st.floats(0, 1), s=st.floats(0, 1),
    start=st.floats(-1, 1),
)  # fmt: skip
def test_a_corner_is_the_bezier_curve_of_its_control_points(first, second, curviness, s, start):
    """Against SciPy's Bernstein polynomials of the control points that the paper's appendix gives."""
    c = sharpness(curviness)
    ends = np.array([[start, 0.3], [start + 1, 1.3]])
    turn = start + (1 - second) / (first - second)
    meet = np.array([turn, 0.3 + first * (turn - start)])
    near, far = ends[0] + c * (meet - ends[0]), ends[1] + c * (meet - ends[1])
    points = np.array([ends[0], near, near, far, far, ends[1]])
    x, y = BPoly(points[:, None], [0, 1])(s)
    curve = Corners(((start, 0.3, first), (start + 1, 1.3, second)), c)
    slope = max(abs(first), second)
    assert curve.value(x) == pytest.approx(y, abs=1e-13 * slope / min(c * (turn - start), c * (start + 1 - turn)))


@pytest.mark.parametrize("law", [LAW, CLASSIC], ids=["damped", "classic"])
@pytest.mark.parametrize("name", CURVES)
def test_curves_pass_their_joins_and_are_smooth(law, name):
    """Values, slopes and bends fit on both sides of every join, the straight ends included."""
    curve = getattr(law, f"{name}_curve")
    curve.check("muscle", name)
    h = 1e-5
    for x, y, slope in curve.joins:
        assert curve.value(x) == pytest.approx(y, abs=1e-14)
        left, right = (curve.value(x) - curve.value(x - h)) / h, (curve.value(x + h) - curve.value(x)) / h
        assert left == pytest.approx(slope, abs=2e-3 * (1 + abs(slope)))
        assert right == pytest.approx(slope, abs=2e-3 * (1 + abs(slope)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"damping": 0.0}, "active_lowest must be positive"),
        ({"eccentric_force": 1.0}, "eccentric_force must be finite and above 1"),
        ({"active_transition": 0.3}, "numbers of the active curve make no corner"),
        ({"passive_low_stiffness": 8.0}, "numbers of the passive curve make no corner"),
        ({"isometric_slope": 0.2}, "numbers of the velocity curve make no corner"),
    ],
)
def test_numbers_that_cannot_be(changes, message):
    with pytest.raises(ModelError, match=message):
        replace(LAW, **changes).check("muscle 'm'")


OPENSIM = """
x = arguments[0]
muscle = opensim.Millard2012EquilibriumMuscle("m", 1000, 0.1, 0.2, 0.1)
muscle.set_fiber_damping(float(arguments[1]))
muscle.finalizeFromProperties()
curves = (muscle.get_ActiveForceLengthCurve(), muscle.get_FiberForceLengthCurve(), muscle.get_TendonForceLengthCurve())
answer = [[curve.calcValue(opensim.Vector(1, v)) for v in x] for curve in curves]
answer.append([muscle.get_ForceVelocityCurve().calcValue(v - 1) for v in x])
"""


@pytest.mark.peers
@pytest.mark.parametrize("law", [LAW, CLASSIC], ids=["damped", "classic"])
def test_opensim_has_the_same_curves(law, in_opensim):
    x = np.concatenate([np.linspace(-0.2, 2.2, 241), np.linspace(0.99, 1.1, 111)])
    theirs = np.array(in_opensim(OPENSIM, x, law.damping))
    mine = [law.active_force(x), law.passive_force(x), law.tendon_force(x), law.velocity_force(x - 1)]
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CURVES)
def test_kernels_have_the_exact_slope(name):
    """Of every section, against y'(s) / x'(s) of SciPy's Bernstein polynomials."""
    curve = getattr(LAW, f"{name}_curve")
    slope = kernels.compile(lambda x: curve.value(x), {"x": ()}, ["y"], cache="off").jacobian("y", "x")
    s = np.linspace(0.01, 0.99, 50)
    for x, y, *steps in curve._sections():
        control = np.cumsum([[x, y], *np.array([steps[:3], steps[3:]]).T], axis=0)
        bezier = BPoly(control[[0, 1, 1, 2, 2, 3]][:, None], [0, 1])
        rise = bezier.derivative()(s)
        np.testing.assert_allclose(np.ravel(slope(bezier(s)[:, 0])), rise[:, 1] / rise[:, 0], rtol=1e-9, atol=1e-11)
