"""What a trajectory shows and keeps."""

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.dynamics import Simulator, Trajectory, simulate
from myoquat.dynamics.constraints import PointLoop
from myoquat.joints import ArticulatedSystem
from myoquat.joints.system import Body
from myoquat.joints.types import FloatingJoint
from myoquat.kernels import Outcome


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


def write_first_format(path, way, codes):
    """A file as the first format had it: outcomes numbered from 0, ran to the end, to 4, step size too small."""
    way.save(path)
    with np.load(path) as archive:
        data = dict(archive) | {"format": "myoquat-trajectory-1", "code": np.array(codes)}
    np.savez_compressed(path, **data)


def test_files_of_the_first_format_are_read(tmp_path):
    model = load_model("two_link")
    way = simulate(model, u0=np.zeros((5, 6)), duration=0.002)
    path = tmp_path / "old.npz"
    write_first_format(path, way, [0, 1, 2, 3, 4])
    again = Trajectory.load(path)
    names = ("COMPLETED", "NOT_FINITE", "BOUND", "EVENT", "STUCK")
    assert [Outcome(code).name for code in again.code] == list(names)
    assert list(again.reason) == [Outcome[name].sentence for name in names]
    np.testing.assert_array_equal(again.q, way.q)
    write_first_format(path, simulate(model, duration=0.002), 0)
    assert Trajectory.load(path).complete
    write_first_format(path, way, [0, 1, 2, 3, 5])
    with pytest.raises(ValueError, match=r"no saved trajectory .*: code \[0 1 2 3 5\]"):
        Trajectory.load(path)


def test_the_representation_is_short(way):
    text = repr(way)
    assert text == (
        "<Trajectory of 'two_link' (2 bodies, 6 velocities, 6 muscles): 11 rows from 0 to 0.2 s; rk4, projection; "
        "ran to the end>"
    )
    many = simulate(way.model, u0=np.zeros((2, 3, 6)), duration=0.002)
    assert "<Trajectory 2 x 3 runs of" in repr(many)
    assert "6: ran to the end" in repr(many)
    table = way._repr_html_()
    assert table.startswith("<table><tr><th>model</th>")
    assert "11 rows from 0 to 0.2 s" in table
    simulator = Simulator(way.model, constraints=[PointLoop("A", "ground")])
    assert repr(simulator).endswith("6 muscles): rk4, projection, 1 constraint>")
    assert max(len(repr(x)) for x in (way, many, simulator)) < 200


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04broken"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(ValueError, match="no saved trajectory"):
        Trajectory.load(tmp_path / "x.npz")
    np.savez(tmp_path / "y.npz", time=np.zeros(3))
    with pytest.raises(ValueError, match="format 'myoquat-trajectory-2' or 'myoquat-trajectory-1'"):
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
