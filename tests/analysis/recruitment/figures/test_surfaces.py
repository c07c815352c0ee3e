"""Moment-arm surfaces, their pictures, comparisons of models, and what `myoquat info` says."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from myoquat.analysis.recruitment import moment_arm_surface, moment_arms
from myoquat.analysis.recruitment.figures import plot_surface
from myoquat.apps.command import main
from myoquat.data import load_model
from myoquat.joints.functions import Linear
from myoquat.muscle import WrapSphere, path_lengths
from myoquat.muscle.coordinates import Coordinate, Coupler
from myoquat.muscle.laws import ExponentialMuscle

VALUES = np.linspace(0.3, 1.2, 7)


@pytest.fixture(scope="module")
def euler():
    return load_model("two_link", rotations="sequence")


def test_a_surface_is_the_moment_arms_of_its_grid(euler):
    names = euler.system.coordinate_names
    found = moment_arm_surface(euler, {names[1]: VALUES, names[3]: VALUES[:4]}, arm=names[4])
    assert found.moment_arm.dims == ("muscle", names[1], names[3])
    q = np.array(euler.start_q)
    q[[1, 3]] = VALUES[2], VALUES[3]
    wanted = moment_arms(euler, q)[names[4]]
    np.testing.assert_allclose(found.moment_arm.values[:, 2, 3], wanted, rtol=1e-14)
    np.testing.assert_allclose(found.length.values[:, 2, 3], path_lengths(euler, q), rtol=1e-14)
    single = moment_arm_surface(euler, {names[1]: VALUES}, muscles=["m2", "m5"])
    assert single.sizes == {"muscle": 2, names[1]: 7}
    assert list(found.muscle.values) == list(euler.muscle_names)


@pytest.mark.parametrize("count", [1, 2])
def test_pictures(euler, tmp_path, count):
    over = dict.fromkeys(euler.system.coordinate_names[:count], VALUES)
    for variable in ("moment_arm", "length"):
        figure = plot_surface(moment_arm_surface(euler, over, muscles=["m1", "m2", "m3", "m4"]), variable)
        figure.savefig(tmp_path / f"{variable}.png")
        labels = [axis.get_xlabel() for axis in figure.axes if axis.get_xlabel()]
        assert labels[0] == f"{euler.system.coordinate_names[0]} [deg]"
        reach = np.degrees(VALUES)[[0, -1]]
        np.testing.assert_allclose(figure.axes[0].get_xlim(), reach)


def test_mistakes(euler):
    with pytest.raises(ValueError, match="one or two coordinates"):
        moment_arm_surface(euler, {})
    with pytest.raises(ValueError, match="no coordinate for over: 'knee'"):
        moment_arm_surface(euler, {"knee": VALUES})
    with pytest.raises(ValueError, match="no muscle 'gastroc'"):
        moment_arm_surface(euler, {euler.system.coordinate_names[0]: VALUES}, muscles=["gastroc"])


def test_info_says_what_a_model_holds(euler, tmp_path, capsys):
    names = euler.system.coordinate_names
    wrapped = replace(
        euler.muscles[0],
        path=replace(euler.muscles[0].path, wraps=(WrapSphere(body="A", radius=0.05, quadrant="+x", name="head"),)),
    )
    model = replace(
        euler,
        muscles=(wrapped, replace(euler.muscles[1], law=ExponentialMuscle(2.3, 30.0))),
        coordinates=(Coordinate(names[0], (-1.0, 2.0), locked=True),),
        couplers=(Coupler("pair", names[4], names[3], Linear(0.5), 2.0),),
    )
    model.save(tmp_path / "m.toml")
    with contextlib.suppress(SystemExit):
        main(["info", str(tmp_path / "m.toml")])
    out = capsys.readouterr().out
    for words in (
        f"coordinate {names[0]} [rad]: from -1 to 2 rad, locked",
        f"coupler pair: {names[4]} = 2 times Linear of {names[3]}",
        "around sphere head of A on +x",
        "law B",
    ):
        assert words in out
