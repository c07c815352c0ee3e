"""Recorded motions: files read back equal, open in OpenSim, and say where they are wrong."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from myoquat.apps.opensim_tools.moving import rows_between
from myoquat.data import Forces, Markers, Motion, Orientations, load_marker_weights, load_model
from myoquat.data.motions import (
    load_motion,
    load_table,
    motion_from_states,
    muscle_states_from_motion,
    save_table,
    states_from_motion,
)
from myoquat.data.motions.series import rows_within
from myoquat.data.reports import ImplausibleWarning
from myoquat.data.storage import read_motion, write_motion
from myoquat.data.trc import read_markers, write_markers
from myoquat.joints import ArticulatedSystem, Body, random_quaternions
from myoquat.joints.errors import CoordinateWarning, ModelError
from myoquat.joints.functions import Linear, Polynomial
from myoquat.joints.types import FloatingJoint, GimbalJoint, SphericalJoint
from myoquat.joints.types.angles import Angles
from myoquat.muscle import Model
from myoquat.muscle.coordinates import Coordinate, Coupler
from myoquat.muscle.laws import Millard2012, Thelen2003
from tests.bodies import on_hinge, on_slide
from tests.data.tables import rejected, reported

HEADER = "walk\nversion=1\nnRows=2\nnColumns=3\ninDegrees=yes\nendheader\n"
GOOD = HEADER + "time\tflexion\tslide\n0\t90\t0.5\n0.5\t-45\t.25\n"


@pytest.fixture
def system():
    hinge = on_hinge("thigh", "z", "flexion")
    return ArticulatedSystem((hinge, on_slide("sled", "z", "slide", "thigh")))


def write(tmp_path, text, name="x.mot"):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("in_degrees", [False, True])
def test_states_go_through_a_file_and_back(tmp_path, system, rng, in_degrees):
    """Also of a joint whose angles have other names than its coordinates: both are written."""
    angles = Angles(("plane", "elevation", "twist"), ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    system = replace(system, bodies=(*system.bodies, Body("arm", "sled", GimbalJoint(angles), mass=1.0)))
    q, u, time = system.random(7, rng), rng.normal(size=(7, 5)), np.sort(rng.uniform(size=7))
    motion = motion_from_states(system, time, q, u, in_degrees=in_degrees)
    write_motion(motion, tmp_path / "x.sto")
    again = read_motion(tmp_path / "x.sto")
    pd.testing.assert_frame_equal(again, motion, check_exact=True)
    assert again.attrs["in_degrees"] is in_degrees
    for mine, theirs in zip((q, u), states_from_motion(system, again), strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=4e-16)


def test_states_of_muscles_go_along(tmp_path, rng):
    """Under the names that OpenSim gives them; what is no muscle's is passed over, what is half there is refused."""
    base = load_model("two_link")
    laws = [Thelen2003(30.0, 1.0, 1.0), Millard2012(40.0, 1.0, 1.0)]
    muscles = [replace(muscle, law=law) for muscle, law in zip(base.muscles, laws, strict=False)]
    model = replace(base, muscles=(*muscles, *base.muscles[2:]))
    q, time = model.system.random(4, rng), np.arange(4.0)
    activation, states = rng.uniform(size=(4, 6)), rng.uniform(size=(4, 2))
    motion = motion_from_states(model, time, q, activation=activation, muscle_states=states)
    assert motion.columns[-1] == "/forceset/m2/fiber_length"
    write_motion(motion, tmp_path / "x.sto")
    again = read_motion(tmp_path / "x.sto")
    for found, wanted in zip(muscle_states_from_motion(model, again), (activation, states), strict=True):
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(states_from_motion(model, again)[0], q)
    assert muscle_states_from_motion(model, motion_from_states(model, time, q)) == (None, None)
    with pytest.raises(ValueError, match=r"lacks m2\.fiber_length"):
        muscle_states_from_motion(model, again.drop(columns="/forceset/m2/fiber_length"))
    with pytest.raises(ValueError, match="must lie in"):
        muscle_states_from_motion(model, again * 3)


@pytest.mark.parametrize("in_degrees", [False, True])
@pytest.mark.parametrize("free", [False, True])
def test_a_quaternion_is_written_and_read_in_the_angles_of_its_file(tmp_path, rng, in_degrees, free):
    names = ("flexion", "adduction", "rotation")
    angles = Angles(names, ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, -1.0, 0.0)), factors=(1.0, -1.0, 1.0))
    joint = FloatingJoint(angles=angles) if free else SphericalJoint(angles=angles)
    system = ArticulatedSystem((Body("thigh", "ground", joint, mass=1.0),))
    q, u = system.random(6, rng), rng.normal(size=(6, system.nu))
    motion = motion_from_states(system, np.arange(6.0), q, u, in_degrees=in_degrees)
    assert list(motion.columns[:3]) == list(names)
    expected = system.coordinate("flexion", q) * (180 / np.pi if in_degrees else 1)
    turn = 360 if in_degrees else 2 * np.pi
    np.testing.assert_allclose((motion["flexion"] - expected + turn / 2) % turn, turn / 2, rtol=1e-12)
    assert np.abs(np.diff(motion["rotation"])).max() <= turn / 2
    write_motion(motion, tmp_path / "x.mot")
    again_q, again_u = states_from_motion(system, read_motion(tmp_path / "x.mot"))
    np.testing.assert_allclose(system.difference(q, again_q), 0, atol=1e-12)
    np.testing.assert_allclose(again_u, u, rtol=1e-9)
    own = motion_from_states(system, np.arange(6.0), q, u, angles=False)
    np.testing.assert_array_equal(states_from_motion(system, own)[0], q)
    part = states_from_motion(system, motion[["adduction"]].assign(adduction=0.0), start=q[0], in_degrees=in_degrees)[0]
    np.testing.assert_allclose(system.coordinate("flexion", part), system.coordinate("flexion", q[0]), rtol=1e-12)
    np.testing.assert_allclose(system.coordinate("adduction", part), 0, atol=1e-12)
    omega = dict(zip(system.velocity_names, u.T, strict=True))
    turned = motion_from_states(system, np.arange(6.0), q, in_degrees=in_degrees).assign(**omega)
    sizes = [np.pi / 180 if in_degrees and unit == "rad/s" else 1.0 for unit in system.velocity_units.values()]
    np.testing.assert_allclose(states_from_motion(system, turned)[1], sizes * u, rtol=1e-15)
    with pytest.raises(ValueError, match="lacks flexion_u, adduction_u, rotation_u"):
        states_from_motion(system, turned.drop(columns=next(iter(omega))))


def test_names_of_states_files_are_understood(system):
    columns = {"/jointset/hip/flexion/value": [30.0], "/jointset/hip/flexion/speed": [60.0], "hip/slide/value": [1.0]}
    motion = pd.DataFrame(columns | {"/forceset/m/activation": [0.5]}, index=[0.0])
    q, u = states_from_motion(system, motion, in_degrees=True, start=system.neutral())
    np.testing.assert_allclose(q, [[np.pi / 6, 1.0]])
    np.testing.assert_allclose(u, [[np.pi / 3, 0.0]])


@pytest.mark.parametrize(
    ("columns", "arguments", "message"),
    [
        ({"flexion": [0.0]}, {"in_degrees": True}, "lacks slide"),
        (
            {"flexion": [0.0], "slide": [0.0], "flexio": [0.0]},
            {"in_degrees": True},
            "'flexio' is no .* nearest: flexion",
        ),
        ({"flexion": [0.0], "hip/flexion/value": [0.0]}, {"in_degrees": True}, "holds 'flexion' twice"),
        (pd.DataFrame([[0.0] * 2], [0.0], ["slide"] * 2), {"in_degrees": True}, "twice: 'slide' and 'slide'"),
        ({"flexion": [0.0], "slide": [0.0]}, {}, "does not say whether"),
        ({"flexion": [0.0], "slide": [0.0], "flexion_u": [0.0]}, {"in_degrees": True}, "lacks slide_u"),
    ],
)
def test_a_motion_that_does_not_fit(system, columns, arguments, message):
    with pytest.raises(ValueError, match=message):
        states_from_motion(system, pd.DataFrame(columns, index=[0.0]), **arguments)


def test_coordinate_with_the_label_of_a_speed_is_rejected():
    """A column x_u would be the coordinate x_u and the speed of x."""
    system = ArticulatedSystem((on_slide("a", "x", "x"), on_slide("b", "y", "x_u")))
    q = np.array([[0.0, 1.0], [0.5, 2.0]])
    table = motion_from_states(system, [0.0, 0.1], q)
    assert table["x_u"].to_list() == [1.0, 2.0]
    with pytest.raises(ValueError, match="coordinate 'x_u' from the speed of this label"):
        states_from_motion(system, table, in_degrees=False)
    with pytest.raises(ValueError, match="coordinate 'x_u' from the speed of this label"):
        motion_from_states(system, [0.0, 0.1], q, 2.0 * q)


def test_a_sentence_says_the_unit_where_no_key_does(tmp_path, system):
    """The files of older programs; degrees that are called radians are reported."""
    for word, degrees in (("degrees.", True), ("radians.", False), ("degrees, mostly", None)):
        path = write(tmp_path, GOOD.replace("inDegrees=yes", f"Angles are in {word}"))
        assert read_motion(path).attrs["in_degrees"] is degrees
    bodies = (replace(system.bodies[0], coordinate_names=("bending",)), system.bodies[1])
    path = write(tmp_path, GOOD.replace("yes", "no").replace("flexion", "bending"))
    with pytest.warns(CoordinateWarning, match="'bending' is 90 rad, 14.3 turns: are these degrees"):
        load_motion(path, ArticulatedSystem(bodies))


def given_modes(system, start=(0.3, 0.0)):
    """The flexion locked where the model starts, and the slide prescribed."""
    modes = (Coordinate("flexion", locked=True), Coordinate("slide", prescribed=Polynomial((0.2, 0.1))))
    return Model(system, coordinates=modes, start_q=start)


def test_motions_that_leave_locked_and_prescribed_coordinates_are_reported(tmp_path, system, recwarn):
    """Where a file, a table or an array meets the model, with both values; what agrees to the file's digits is not."""
    model, time = given_modes(system), np.array([0.0, 0.5])
    path = write(tmp_path, HEADER + "time\tflexion\tslide\n0\t17.1887339\t0.2\n0.5\t17.1887339\t0.25\n")
    load_motion(path, model)
    states_from_motion(model, read_motion(path))
    Motion(model, time, [[0.3, 0.2], [0.3, 0.25]])
    assert not recwarn
    path = write(tmp_path, GOOD)
    words = (r"locks 'flexion' at 0.3 rad, and the motion has 1.571 rad \(frame 0, time 0 s\); it prescribes 'slide' "
             r"at 0.2 m, and the motion has 0.5 m \(frame 0")  # fmt: skip
    for meet in (
        lambda: load_motion(path, model),
        lambda: states_from_motion(model, read_motion(path)),
        lambda: Motion(model, time, [[np.pi / 2, 0.5], [-np.pi / 4, 0.25]]),
    ):
        with pytest.warns(CoordinateWarning, match=words) as caught:
            meet()
        assert (len(caught), caught[0].filename) == (1, __file__)
    blank = replace(model, start_q=None)  # locked wherever the motion begins
    Motion(blank, time, [[0.7, 0.2], [0.7, 0.25]])
    with pytest.warns(CoordinateWarning, match="locks 'flexion' at 0.7 rad, and the motion has 0.6 rad"):
        Motion(blank, time, [[0.7, 0.2], [0.6, 0.25]])
    load_motion(path, system)  # a system knows no modes
    load_motion(path, Model(system))


def test_locked_coordinate_that_a_coupler_drives_may_move(system, recwarn):
    """As in simulations, it follows."""
    model = Model(system, coordinates=(Coordinate("slide", locked=True),),
                  couplers=(Coupler("c", "slide", "flexion", Linear(0.5)),))  # fmt: skip
    Motion(model, [0.0, 0.5], [[0.4, 0.2], [0.6, 0.3]])
    assert not recwarn


def test_degrees_that_contradict(tmp_path, system):
    with pytest.raises(ValueError, match="in_degrees=True, the call in_degrees=False"):
        states_from_motion(system, read_motion(write(tmp_path, GOOD)), in_degrees=False)


def test_columns_may_be_passed_over(system):
    motion = pd.DataFrame({"flexion": [0.0], "slide": [0.0], "force": [1.0]}, index=[0.0])
    q, _ = states_from_motion(system, motion, in_degrees=False, ignore=("force",))
    assert q.shape == (1, 2)
    motion[["wrist_tx", "wrist_ty", "slide_tx"]] = 0.0
    with pytest.raises(ValueError, match=r"'force' is no coordinate of the model, nor are 3 others; ignore="):
        states_from_motion(system, motion, in_degrees=False)
    with pytest.raises(ValueError, match=r"'slide_tx' is no coordinate of the model; nearest: slide"):
        states_from_motion(system, motion, in_degrees=False, ignore=("force", "wrist_*"))
    assert np.array_equal(states_from_motion(system, motion, in_degrees=False, ignore=("f*e", "*_t[xy]"))[0], q)


test_a_broken_motion_file_names_its_line = rejected(
    GOOD, "x.mot",
    ("endheader\n", "", "no line 'endheader'", 8),
    (GOOD[len(HEADER) :], "", "no line of labels", 6),
    ("nColumns=3", "nColumns=many", "nColumns is many, but the table has 3 columns", 4),
    ("-45\t.25", "-45", "2 columns; the header names 3", 9),
    ("-45", "nan", "column 'flexion': nan is not finite", 9),
    ("-45", "x", "'x' is not a number", 9),
    ("0.5\t-45", "0\t-45", "time must increase", 9),
    ("time", "t", "must be 'time'", 7),
    ("=yes", "=maybe", "'yes' or 'no'", 5),
    ("walk", "DataType=Vec3", r"entries are not numbers; OpenSim's table.flatten\(\)", 1),
    ("=yes", "=yes\ninDegrees=no", "given twice: yes and no", 6),
    read=read_motion,
)  # fmt: skip


def test_motions_are_read_from_columns_too(tmp_path, system):
    path = write(tmp_path, "Time,flexion,slide\n0,90,0.5\n0.5,-45,.25\n", "x.csv")
    found = load_motion(path, system, in_degrees=True)
    np.testing.assert_array_equal(found.q, load_motion(write(tmp_path, GOOD), system).q)
    with pytest.raises(ModelError, match="--degrees or --radians"):
        load_motion(path, system)
    path = write(tmp_path, '"time","a, b"\n0,1\n', "y.csv")
    assert load_table(path)["a, b"].tolist() == [1.0]  # a comma in a quoted label separates no columns


@pytest.mark.parametrize(
    ("name", "message"),
    [("x.trc", "myoquat ik"), ("x.C3D", "myoquat ik"), ("x.npz", "Trajectory.load"), ("x.bvh", "load_bvh")],
)
def test_files_that_hold_no_coordinates_name_their_reader(tmp_path, system, name, message):
    with pytest.raises(ModelError, match=rf"a motion is read from a \.mot, \.sto or \.csv file; .*{message}"):
        load_motion(write(tmp_path, "", name), system)


TWICE = "0\t1\t1\n0.5\t2\t2\n\n0.5\t2\t2\n0.5\t2\t2.0000000001\n1\t5\t5\n1\t5\t5\n"


def test_a_row_that_is_there_twice_counts_once(tmp_path):
    """RRA and CMC of OpenSim write their last row twice, and pseudo-states with every change of step."""
    path = write(tmp_path, HEADER.replace("nRows=2", "nRows=6") + "time\tflexion\tslide\n" + TWICE)
    with pytest.warns(ImplausibleWarning, match=r"x\.mot:11: 3 rows are written twice, the first of 0\.5 s"):
        frame = read_motion(path)
    assert frame.index.tolist() == [0.0, 0.5, 1.0]
    assert frame["slide"].tolist() == [1.0, 2.0000000001, 5.0]


test_what_is_odd_is_reported_or_refused = reported(
    GOOD, "x.mot",
    ("nRows=2", "nRows=3", "nRows is 3, but the table has 2 rows; all of them are read", 3),
    ("nColumns=3", "nColumns=40", "nColumns is 40, but the table has 3 columns; all of them are", 4),
    ("nRows=2", "nRows=1", "nRows is 1, but the table has 2 rows; all of them are read", 3),
    ("slide", "flexion", "several columns are labelled 'flexion'; the first of each is kept", 7),
    (GOOD, HEADER.replace("nRows=2", "nRows=6") + "time\tflexion\tslide\n" + TWICE, "3 rows are written twice", 11),
    read=read_motion, warning=ImplausibleWarning,
)  # fmt: skip


STORAGE = """
storage = opensim.Storage(arguments[0])
kept = [storage.getStateVector(i) for i in range(storage.getSize())]
answer = [[row.getTime(), *(row.getData().get(k) for k in range(row.getSize()))] for row in kept]
"""
ODD = (
    GOOD.replace("slide", "flexion").replace("nRows=2", "nRows=9"),  # the first column of a label counts
    HEADER.replace("nRows=2", "nRows=6") + "time\tflexion\tslide\n" + TWICE,
)


@pytest.mark.peers
@pytest.mark.parametrize("text", ODD)
def test_opensim_keeps_the_same_columns_and_rows(tmp_path, text, in_opensim):
    path = write(tmp_path, text, "x.sto")
    with pytest.warns(ImplausibleWarning):
        frame = read_motion(path).reset_index()
    assert frame.to_numpy().tolist() == [row[: frame.shape[1]] for row in in_opensim(STORAGE, path)]


@pytest.mark.peers
def test_opensim_reads_tables_whose_counts_are_wrong(tmp_path, markers, in_opensim):
    path = write(tmp_path, GOOD.replace("nColumns=3", "nColumns=40"), "x.sto")
    write_markers(markers, tmp_path / "x.trc")
    write(tmp_path, (tmp_path / "x.trc").read_text().replace("\t4\t2\tm", "\t9\t2\tm", 1), "y.trc")
    script = """
storage, markers = opensim.TimeSeriesTable(arguments[0]), opensim.TimeSeriesTableVec3(arguments[1])
answer = [storage.getNumColumns(), storage.getNumRows(), markers.getNumColumns(), markers.getNumRows()]
"""
    with pytest.warns(ImplausibleWarning):
        shapes = *read_motion(path).shape[::-1], *read_markers(tmp_path / "y.trc").shape[::-1]
    columns, rows, coordinates, frames = shapes
    assert in_opensim(script, path, tmp_path / "y.trc") == [columns, rows, coordinates // 3, frames]


def test_the_older_header(tmp_path):
    text = "name gait.mot\ndatacolumns 2\ndatarows 1\notherdata 1\nrange 0 1\nendheader\n\n time   knee\n 0.0   1.5\n"
    frame = read_motion(write(tmp_path, text))
    assert frame.attrs["name"] == "gait.mot"
    assert frame.attrs["in_degrees"] is None
    assert frame["knee"].tolist() == [1.5]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [1.0, np.nan]}, index=[0.0, 1.0]), "finite numbers are needed"),
        (pd.DataFrame({"a\tb": [1.0]}, index=[0.0]), "holds a tab"),
        (pd.DataFrame({"a": [1.0, 2.0]}, index=[0.0, 0.0]), "time must increase"),
    ],
)
def test_a_motion_that_cannot_be_written(tmp_path, frame, message):
    with pytest.raises(ValueError, match=message):
        write_motion(frame, tmp_path / "x.mot")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def markers(rng):
    columns = pd.MultiIndex.from_product([["heel", "toe"], ["x", "y", "z"]], names=["marker", "axis"])
    frame = pd.DataFrame(rng.normal(size=(4, 6)), pd.Index([0.0, 0.25, 0.5, 0.75], name="time"), columns)
    frame.loc[0.25, "toe"] = np.nan
    return frame


@pytest.mark.peers
def test_opensim_opens_what_is_written(tmp_path, system, markers, rng, in_opensim):
    motion = motion_from_states(system, np.arange(3.0), system.random(3, rng), in_degrees=True)
    write_motion(motion, tmp_path / "x.mot")
    write_motion(motion, tmp_path / "x.sto")
    write_markers(markers, tmp_path / "x.trc")
    script = """
answer = []
for file in arguments[:2]:
    t = opensim.TimeSeriesTable(file)
    answer.append([t.getColumnLabels(), t.getTableMetaDataString("inDegrees"), t.getMatrix().to_numpy().tolist()])
t = opensim.TimeSeriesTableVec3(arguments[2])
rows = [[t.getRowAtIndex(i)[j].to_numpy().tolist() for j in range(2)] for i in range(4)]
answer.append([t.getColumnLabels(), "", rows])
"""
    *tables, marked = in_opensim(script, *(tmp_path / name for name in ("x.mot", "x.sto", "x.trc")))
    for table in tables:
        assert table == [list(motion.columns), "yes", motion.to_numpy().tolist()]
    assert marked[0] == ["heel", "toe"]
    np.testing.assert_allclose(np.reshape(marked[2], (4, 6)), markers.to_numpy(), rtol=1e-15)


@pytest.mark.peers
def test_what_opensim_writes_opens_here(tmp_path, in_opensim):
    script = """
t = opensim.TimeSeriesTable()
t.setColumnLabels(["flexion", "slide"])
t.appendRow(0.0, opensim.RowVector([90.0, 0.1]))
t.appendRow(0.1, opensim.RowVector([45.0, 0.2]))
t.addTableMetaDataString("inDegrees", "yes")
opensim.STOFileAdapter.write(t, arguments[0])
answer = None
"""
    in_opensim(script, tmp_path / "x.sto")
    frame = read_motion(tmp_path / "x.sto")
    assert frame.attrs["in_degrees"] is True
    np.testing.assert_array_equal(frame.to_numpy(), [[90.0, 0.1], [45.0, 0.2]])


@pytest.mark.parametrize("suffix", [".mot", ".STO", ".csv", ".trc"])
def test_one_table_of_formats_by_suffix(suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    axes = pd.MultiIndex.from_product([["m"], ["x", "y", "z"]], names=["marker", "axis"])
    columns = axes if suffix == ".trc" else ["a", "b", "c"]
    frame = pd.DataFrame([[0.0, 1.0, 2.0]] * 2, pd.Index([0.0, 0.1], name="time"), columns)
    save_table(frame, path)
    pd.testing.assert_frame_equal(load_table(path), frame, check_column_type=False)
    with pytest.raises(FileExistsError):
        save_table(frame, path)
    save_table(frame, path, overwrite=True)
    with pytest.raises(ModelError, match=r"'.xyz' is not that of a motion file; known: .mot"):
        load_table("x.xyz")


def test_times_that_differ_by_round_off_are_equal():
    """0.85 of a setup and 0.8500000000000001 of a filter's even times: the same row, in both directions."""
    exact, filtered = np.array([0.84, 0.85, 0.86]), np.array([0.84, 0.8500000000000001, 0.8600000000000001])
    for time, start, end in ((filtered, 0.85, 0.86), (exact, filtered[1], filtered[2]), (exact, exact[1], exact[2])):
        assert rows_between(time, start, end) == slice(1, 3)
        assert rows_within(time, start, end).tolist() == [False, True, True]
    points = np.arange(9.0).reshape(3, 1, 3)
    markers = Markers(filtered, ("heel",), points)
    assert len(markers.between(0.85, 0.86).time) == 2
    np.testing.assert_allclose(Markers(exact, ("heel",), points).resampled(filtered, 1e-3).positions, points)
    forces = Forces(exact, ("plate",), ("",), points, points, points)
    np.testing.assert_allclose(forces.resampled(filtered).force, points)
    Q = random_quaternions(3, np.random.default_rng(3))[:, None]
    turns = Orientations(exact, ("foot",), Q)
    np.testing.assert_allclose(turns.resampled(filtered, 1e-3).quaternions, turns.quaternions)


def test_low_passed_markers_keep_slow_waves_and_gaps():
    """The amplitude at the cutoff is half, a slow wave stays, and a gap is neither filled nor filtered across."""
    time = np.arange(400) / 100
    wave = np.sin(2 * np.pi * np.array([0.5, 6.0])[:, None] * time)
    positions = np.stack([wave, 0 * wave, 0 * wave], axis=-1).swapaxes(0, 1).copy()
    smooth = Markers(time, ("slow", "fast"), positions).low_passed(6.0)
    middle = slice(100, 300)
    np.testing.assert_allclose(smooth.positions[middle, 0], positions[middle, 0], atol=1e-4)
    assert np.abs(smooth.positions[middle, 1, 0]).max() == pytest.approx(0.5, abs=2e-3)
    broken = positions.copy()
    broken[200:210, 0] = np.nan
    broken[211:213, 0] = np.nan  # one frame stands alone
    found = Markers(time, ("slow", "fast"), broken).low_passed(6.0)
    np.testing.assert_array_equal(np.isnan(found.positions), np.isnan(broken))
    np.testing.assert_allclose(found.positions[210, 0], broken[210, 0], atol=1e-12)
    np.testing.assert_array_equal(found.positions[:, 1], smooth.positions[:, 1])
    with pytest.raises(ValueError, match="cutoff"):
        Markers(time, ("slow", "fast"), positions).low_passed(50.0)
    with pytest.raises(ValueError, match="not even"):
        Markers(time**1.5, ("slow", "fast"), positions).low_passed()


TASKS = """<IKTaskSet><objects><IKMarkerTask name="R.Heel"><weight>5</weight></IKMarkerTask>
<IKMarkerTask name="L.Heel"><apply>false</apply><weight>7</weight></IKMarkerTask>
<IKMarkerTask name="Gone"><weight>1</weight></IKMarkerTask>
<IKCoordinateTask name="knee"><weight>3</weight></IKCoordinateTask></objects></IKTaskSet>"""


@pytest.mark.parametrize("text", ["{}", "<OpenSimDocument>{}</OpenSimDocument>",
                                  "<InverseKinematicsTool>{}</InverseKinematicsTool>"])  # fmt: skip
def test_weights_of_markers_are_those_of_a_task_set(tmp_path, text):
    """Tasks of markers that are not there are passed over with a warning; markers without a task weigh nothing."""
    path = tmp_path / "tasks.xml"
    path.write_text(text.format(TASKS))
    with pytest.warns(UserWarning, match=r"tasks\.xml: tasks of markers that are not there .*: Gone"):
        assert load_marker_weights(path, ("R.Heel", "L.Heel", "Toe")) == {"R.Heel": 5.0, "L.Heel": 0.0, "Toe": 0.0}
    path.write_text("<ScaleTool/>")
    with pytest.raises(ModelError, match="there is no <IKTaskSet>"):
        load_marker_weights(path, ("R.Heel",))
