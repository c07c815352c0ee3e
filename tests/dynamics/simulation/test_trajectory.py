"""What a trajectory shows and keeps."""

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.dynamics import Trajectory, simulate
from myoquat.dynamics.constraints import PointLoop
from myoquat.joints import ArticulatedSystem
from myoquat.joints.system import Body
from myoquat.joints.types import FloatingJoint


@pytest.fixture(scope="module")
def way():
    return simulate(load_model("two_link"), duration=0.2, output_step=0.02)


def test_a_saved_trajectory_comes_back_whole(way, tmp_path):
    way.save(tmp_path / "way.npz")
    again = Trajectory.load(tmp_path / "way.npz")
    assert again.model == way.model
    for name in ("time", "q", "u", "activation", "stopped", "code", "steps"):
        np.testing.assert_array_equal(getattr(again, name), getattr(way, name))
    np.testing.assert_array_equal(again.forces, way.forces)
    assert again.method == way.method


def test_a_system_without_muscles_comes_back_as_one(tmp_path):
    system = ArticulatedSystem((Body("b", "ground", FloatingJoint(), mass=1.0, inertia=(1, 1, 1, 0, 0, 0)),))
    way = simulate(system, duration=0.01, torque=np.ones(6))
    way.save(tmp_path / "way.npz")
    again = Trajectory.load(tmp_path / "way.npz")
    assert again.model == system
    np.testing.assert_array_equal(again.torque, way.torque)
    held = simulate(system, duration=0.01, constraints=[PointLoop("b", "ground")])
    with pytest.raises(ValueError, match="under constraints cannot be saved"):
        held.save(tmp_path / "held.npz")


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04broken"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(ValueError, match="no saved trajectory"):
        Trajectory.load(tmp_path / "x.npz")
    np.savez(tmp_path / "y.npz", time=np.zeros(3))
    with pytest.raises(ValueError, match="format 'myoquat-trajectory-1'"):
        Trajectory.load(tmp_path / "y.npz")


def test_the_figure_has_units_and_legends(way):
    figure = way.plot()
    labels = [ax.get_ylabel() for ax in figure.axes]
    assert [label.rsplit("[")[-1] for label in labels] == ["rad, m, 1]", "rad/s, m/s]", "N]", "J]"]
    assert all(ax.get_legend() for ax in figure.axes)


@pytest.mark.parametrize("suffix", [".gif", ".html"])
def test_a_film_is_written(way, tmp_path, suffix):
    way.animate(tmp_path / f"film{suffix}", speed=2.0)
    content = (tmp_path / f"film{suffix}").read_bytes()
    assert content.startswith(b"GIF8" if suffix == ".gif" else b"\n<link")


def test_pictures_that_cannot_be(way, tmp_path):
    with pytest.raises(ValueError, match=r"a film ends in \.gif"):
        way.animate(tmp_path / "film.avi")
    with pytest.raises(ValueError, match="speed must be positive"):
        way.animate(speed=0.0)
    with pytest.raises(ValueError, match="does not name one of a batch"):
        way.plot(3)
