"""Paths whose length is a polynomial of coordinates: made in Python, TOML and .osim files, and against OpenSim."""

import re
from math import comb

import numpy as np
import pytest

from myoquat.data import UnsupportedWarning, load_model, load_paths
from myoquat.joints import ArticulatedSystem, Body, ModelError
from myoquat.joints.functions import MultivariatePolynomial
from myoquat.joints.types import RevoluteJoint
from myoquat.muscle import ExponentialMuscle, LengthPoint, Model, Muscle, function_path, path_jacobian, path_lengths

pytestmark = pytest.mark.filterwarnings("ignore:.*without a law, written as PathActuator")

RNG = np.random.default_rng(0)
NAMES = ("a", "b", "c")
INERTIA = (0.1, 0.1, 0.1, 0.0, 0.0, 0.0)
LAW = ExponentialMuscle(optimal_length=1.0, max_isometric_force=100.0)
OPENSIM = """
model = opensim.Model(arguments[0])
state = model.initSystem()
coordinates = [model.getCoordinateSet().get(name) for name in ("a", "b", "c")]
answer = []
for q, u in zip(*arguments[1]):
    for coordinate, x, v in zip(coordinates, q, u):
        coordinate.setValue(state, x, False)
        coordinate.setSpeedValue(state, v)
    model.realizeVelocity(state)
    for name in arguments[2]:
        path = opensim.PathActuator.safeDownCast(model.getComponent(f"/forceset/{name}")).getPath()
        answer.append([path.getLength(state), path.getLengtheningSpeed(state),
                       *(path.computeMomentArm(state, c) for c in coordinates)])
"""


def polynomial(dimension, order):
    """One near 1 for coordinates below 1."""
    numbers = 0.05 * RNG.normal(size=comb(dimension + order, order))
    return MultivariatePolynomial(dimension, order, (1.0, *map(float, numbers[1:])))


def arm(muscles):
    """Three links that turn about different axes."""
    bodies, parent = [], "ground"
    for name, axis in zip(NAMES, np.eye(3), strict=True):
        joint = RevoluteJoint(axis=tuple(axis))
        bodies.append(Body(f"link_{name}", parent, joint, coordinate_names=(name,), mass=1.0, inertia=INERTIA))
        parent = f"link_{name}"
    return Model(ArticulatedSystem(tuple(bodies)), muscles, name="arm")


PATHS = {
    "one": function_path(("b",), polynomial(1, 5)),
    "two": function_path(("c", "a"), polynomial(2, 4)),
    "all": function_path(NAMES, polynomial(3, 3)),
    "flat": function_path(("a",), polynomial(1, 0)),
}
MODEL = arm(tuple(Muscle(name, path, LAW) for name, path in PATHS.items()))
Q, U = RNG.uniform(-0.8, 0.8, (2, 200, 3))


def test_files_keep_them(tmp_path):
    """The same as a set of its own, by the names of muscles."""
    model = arm(tuple(Muscle(name, path, None) for name, path in PATHS.items()))
    model.save(tmp_path / "arm.osim")
    assert [muscle.path.points for muscle in load_model(tmp_path / "arm.osim").muscles] == list(PATHS.values())
    text = (tmp_path / "arm.osim").read_text()
    named = zip(PATHS, re.findall("<FunctionBasedPath.*?>(.*?</FunctionBasedPath>)", text, re.S), strict=True)
    inside = "".join(f'<FunctionBasedPath name="/forceset/{name}">{rest}' for name, rest in named)
    (tmp_path / "paths.xml").write_text(f"<Set_FunctionBasedPath_><objects>{inside}</objects></Set_FunctionBasedPath_>")
    assert load_paths(tmp_path / "paths.xml") == PATHS


def test_derivatives_of_the_file_are_its_length_s_or_reported(tmp_path):
    model = arm((Muscle("m", function_path(("a", "b"), MultivariatePolynomial(2, 1, (1.0, 0.2, 0.3)))),))
    model.save(tmp_path / "arm.osim")
    text = (tmp_path / "arm.osim").read_text()
    f = "<coefficients>0 .2 0 .3 0 0 0 0 0 0 0 0 0 0 0</coefficients><dimension>4</dimension><order>2</order>"
    speed = f"<MultivariatePolynomialFunction>{f}</MultivariatePolynomialFunction>"
    arms = "<Constant><value>-0.3</value></Constant><Constant><value>-0.2</value></Constant>"

    def written(name, arms, speed):
        parts = f"<moment_arm_functions>{arms}</moment_arm_functions>"
        parts += f"<lengthening_speed_function>{speed}</lengthening_speed_function>"
        (tmp_path / name).write_text(text.replace("</length_function>", f"</length_function>{parts}"))
        return tmp_path / name

    same, other = written("same.osim", arms, speed), written("other.osim", arms.replace("-0.2", "-0.1"), "<Sine/>")
    assert load_model(same, strict=True).muscles[0].path == model.muscles[0].path
    with pytest.warns(UnsupportedWarning, match=r"1 Constant \(moment_arm.*1 Sine \(lengthening_speed"):
        load_model(other)


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(ValueError, match="coefficients as powers"):
        MultivariatePolynomial(2, 1, (1.0, 2.0))
    with pytest.raises(ModelError, match="'d' does not exist"):
        arm((Muscle("m", function_path(("d",), polynomial(1, 1))),))
    with pytest.raises(ModelError, match="polynomial of 2 coordinates"):
        arm((Muscle("m", function_path(("a",), polynomial(2, 1))),))
    arm((Muscle("m", function_path(("a",), polynomial(1, 1))),)).save(tmp_path / "arm.osim")
    text = (tmp_path / "arm.osim").read_text()
    (tmp_path / "bad.osim").write_text(text.replace("MultivariatePolynomialFunction", "Sine"))
    with pytest.raises(ModelError, match="<Sine> of 1 coordinates is not supported"):
        load_model(tmp_path / "bad.osim")


def test_scaling_leaves_them():
    end = PATHS["two"][1]
    assert isinstance(end, LengthPoint)
    assert end.scaled(np.array([2.0, 3.0, 4.0])) == end


@pytest.mark.peers
def test_lengths_moment_arms_and_speeds_are_opensim_s(tmp_path, in_opensim):
    file = tmp_path / "arm.osim"
    arm(tuple(Muscle(name, path, None) for name, path in PATHS.items())).save(file)
    theirs = np.reshape(in_opensim(OPENSIM, file, [Q, U], list(PATHS)), (200, len(PATHS), 5))
    J = path_jacobian(MODEL, Q)
    assert np.abs(theirs[..., 0] - path_lengths(MODEL, Q)).max() < 1e-9
    assert np.abs(theirs[..., 1] - np.einsum("pmk,pk->pm", J, U)).max() < 1e-9
    assert np.abs(theirs[..., 2:] + J).max() < 1e-9
