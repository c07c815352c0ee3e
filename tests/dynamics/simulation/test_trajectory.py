"""What a trajectory shows and keeps."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from mpl_toolkits.mplot3d import proj3d

from myoquat.data import load_model
from myoquat.data.motions import load_table, states_from_motion
from myoquat.data.motions.figures import _Film
from myoquat.dynamics import SimulationWarning, Simulator, Trajectory, simulate
from myoquat.dynamics.constraints import CoordinateCoupler, Distance, PointLoop, Prescribed, Rolling, Weld
from myoquat.dynamics.simulation.results.trajectory_files import constraints_text, parse_constraints
from myoquat.joints import ArticulatedSystem
from myoquat.joints.functions import Polynomial, Sine
from myoquat.muscle import ActivationDynamics, Model, Muscle, PathPoint
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.laws import Thelen2003
from tests.bodies import afloat, on_slide


@pytest.fixture(scope="module")
def way():
    return simulate(load_model("two_link"), duration=0.2, output_step=0.02)


FREE = ArticulatedSystem((afloat("b", inertia=1),))


def sleds():
    """Three sleds: on a muscle with states, prescribed and locked."""
    bodies = [on_slide(n, "x", n) for n in "abc"]
    path = PathPoint("ground", (-0.3, 0.0, 0.0)), PathPoint("a", (0.0, 0.0, 0.0))
    muscle = Muscle("m", path, Thelen2003(80.0, 0.1, 0.2, 0.2), 0.3, ActivationDynamics())
    modes = Coordinate("b", prescribed=Sine(0.5, 3.0)), Coordinate("c", locked=True)
    return Model(ArticulatedSystem(tuple(bodies)), (muscle,), coordinates=modes)


RUNS = {
    "muscles": lambda: simulate(load_model("two_link"), duration=0.02, output_step=0.01),
    "a system without muscles": lambda: simulate(FREE, duration=0.01, torque=np.ones(6)),
    "constraints": lambda: simulate(FREE, duration=0.01, constraints=[PointLoop("b", "ground", axes="xz")]),
    "states of muscles, a prescribed and a locked coordinate": lambda: simulate(
        sleds(), duration=0.01, excitation=lambda t: np.array([0.3 + t]), activation=[0.2]
    ),
    "parameters": lambda: simulate(load_model("two_link"), duration=0.02, parameters={"bodies.A.mass": [4.0, 5.0]}),
}
KEPT = (
    "time",
    "q",
    "u",
    "activation",
    "excitation",
    "muscle_states",
    "torque",
    "stopped",
    "code",
    "steps",
    "parameters",
)
COMPUTED = ("forces", "torques", "acceleration")  # from all that is kept


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_saved_trajectory_comes_back_whole(run, tmp_path):
    way = run()
    way.save(tmp_path / "way.npz")
    again = Trajectory.load(tmp_path / "way.npz")
    for name in ("model", "method", "parameter_names"):
        assert getattr(again, name) == getattr(way, name)
    assert [type(c) for c in again.constraints] == [type(c) for c in way.constraints]
    for name in KEPT + COMPUTED[2 * (way.model is FREE) :]:
        np.testing.assert_array_equal(getattr(again, name), getattr(way, name))


def test_constraints_are_kept_as_text_and_those_of_python_functions_are_rejected(tmp_path):
    loop = PointLoop("b", "ground", axes="xz")
    coupler = CoordinateCoupler("b.x", "b.y", Polynomial((0.0, 2.0)), scale=0.5)
    several = (loop, coupler, Weld("b", "ground"), Distance("b", "ground", distance=2.0), Rolling("b", 0.1))
    text = constraints_text(several)
    assert parse_constraints(text, tmp_path) == several
    moved = simulate(FREE, duration=0.01, constraints=[loop, Prescribed("b.y", lambda t: 0.0 * t)])
    with pytest.raises(ValueError, match=r"constraint 2, Prescribed, holds a Python function as its 'motion'.* \.sto"):
        moved.save(tmp_path / "moved.npz")
    moved.save(tmp_path / "moved.sto")
    assert {path.name for path in tmp_path.iterdir()} == {"moved.sto"}


def test_the_ending_decides_the_format(way, tmp_path):
    for ending, wanted in ((".mot", 180 / np.pi), (".sto", 1.0)):
        path = tmp_path / f"way{ending}"
        way.save(path)
        with pytest.raises(FileExistsError, match="overwrite=True"):
            way.save(path)
        way.save(path, overwrite=True)
        motion = load_table(path)
        assert motion.attrs["in_degrees"] is (wanted != 1.0)
        q, u = states_from_motion(way.model, motion)
        np.testing.assert_allclose(q, way.q, rtol=1e-14)
        np.testing.assert_allclose(u, way.u, rtol=1e-14, atol=1e-300)
        with pytest.raises(ValueError, match=r"only \.npz files hold a whole trajectory\. .*load_table"):
            Trajectory.load(path)
    way.save(tmp_path / "way.CSV")
    pd.testing.assert_frame_equal(load_table(tmp_path / "way.CSV"), way.to_dataframe().set_index("time"))
    for name in ("way.trc", "way", "way.txt"):
        with pytest.raises(ValueError, match=r"saved as \.npz, \.mot, \.sto, \.csv or \.bvh, not '"):
            way.save(tmp_path / name)
    many = simulate(way.model, u0=np.zeros((2, 6)), duration=0.002)
    with pytest.raises(ValueError, match=r"holds one run, not 2; \.npz holds them all"):
        many.save(tmp_path / "many.mot")
    assert {path.name for path in tmp_path.iterdir()} == {"way.mot", "way.sto", "way.CSV"}


def test_a_motion_that_stopped_is_saved_up_to_there(tmp_path):
    model = load_model("two_link")
    with pytest.warns(SimulationWarning):
        way = simulate(model, u0=np.full(6, 9e5), duration=0.01, torque=np.full(6, 1e12))
    way.save(tmp_path / "way.sto")
    assert len(load_table(tmp_path / "way.sto")) == np.isfinite(way.q).all(axis=-1).sum() < len(way.time)


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


def test_numbers_that_are_no_characters_are_refused(way, tmp_path):
    """NumPy makes strings of them that Python cannot hold, and that end in a SystemError far away."""
    way.save(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as archive:
        data = dict(archive)
    data["model"] = np.frombuffer(np.full(3, 0x11_0000, dtype=np.uint32).tobytes(), dtype="U3")[0:1].reshape(())
    np.savez(tmp_path / "x.npz", **data)
    with pytest.raises(ValueError, match=r"x\.npz: this is no saved trajectory \(its texts hold numbers"):
        Trajectory.load(tmp_path / "x.npz")


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04broken"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(ValueError, match="no saved trajectory"):
        Trajectory.load(tmp_path / "x.npz")
    np.savez(tmp_path / "y.npz", time=np.zeros(3))
    with pytest.raises(ValueError, match="no saved trajectory of the format 'myoquat-trajectory-3'"):
        Trajectory.load(tmp_path / "y.npz")


def test_the_figure_has_units_and_legends(way):
    figure = way.plot()
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_ylabel() for ax in shown] == ["", "[deg/s]", "", "[N]", "[J]"]
    assert all(ax.get_legend() for ax in shown)


@pytest.mark.parametrize(
    ("suffix", "at", "mark"), [(".gif", 0, b"GIF8"), (".html", 0, b"\n<link"), (".mp4", 4, b"ftyp")]
)
def test_a_film_is_written(way, tmp_path, suffix, at, mark):
    way.animate(tmp_path / f"film{suffix}", speed=2.0)
    content = (tmp_path / f"film{suffix}").read_bytes()
    assert content[at:].startswith(mark)


def test_frames_of_a_film_stand_where_the_layout_of_the_first_put_them(way):
    """Nothing that moves in a film has a part in the layout, which takes as long as drawing: it is found once."""
    film = _Film(way, (), np.arange(3))
    kept = film.axes.get_position().bounds
    film.show(2)
    film.figure.set_layout_engine("constrained")
    film.figure.draw_without_rendering()
    np.testing.assert_allclose(film.axes.get_position().bounds, kept, atol=1e-12)


@pytest.mark.parametrize(("gravity", "axis", "up"), [((0.0, -9.8, 0.0), 1, 1), ((9.8, 0.0, 0.0), 0, -1)])
def test_gravity_points_down_in_films(way, gravity, axis, up):
    """On the screen the end of the axis against gravity is the higher one, which the projection of matplotlib says."""
    model = replace(way.model, system=replace(way.model.system, gravity=gravity))
    drawn = _Film(replace(way, model=model), (), np.arange(2)).axes
    low, high = np.zeros(3), np.zeros(3)
    high[axis] = up
    heights = [proj3d.proj_transform(*point, drawn.get_proj())[1] for point in (low, high)]
    assert heights[1] > heights[0]
    drawn.figure.canvas.draw()


def test_pictures_that_cannot_be(way, tmp_path):
    with pytest.raises(ValueError, match=r"a film ends in \.gif"):
        way.animate(tmp_path / "film.avi")
    with pytest.raises(ValueError, match="speed must be positive"):
        way.animate(speed=0.0)
    with pytest.raises(ValueError, match="does not name one of a batch"):
        way.plot(3)
