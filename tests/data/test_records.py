"""Labelled records of motions, markers, orientations and forces: round trips, axes, gaps, and what is refused."""

import os
import re

import numpy as np
import pandas as pd
import pytest
from fuzz.captures import add_plates, capture, write_c3d
from scipy.spatial.transform import Rotation

from myoquat.data import (
    Forces,
    Markers,
    Motion,
    Orientations,
    axes_rotation,
    load_emg,
    load_forces,
    load_markers,
    load_motion,
    load_orientations,
    lock_distance,
    save_table,
)
from myoquat.data.c3d import read_c3d_plates
from myoquat.data.reports import ImplausibleWarning
from myoquat.joints import ArticulatedSystem, Body, convert_coordinates, with_rotations
from myoquat.joints.errors import ModelError
from myoquat.joints.quaternion import quaternion_exp, quaternion_multiply, random_quaternions
from myoquat.joints.types import Axis, CustomJoint, RevoluteJoint
from tests.data.tables import rejected, reported

TIME = np.array([0.0, 0.1, 0.25, 0.3])
X, Y, Z = np.eye(3).tolist()


def turns(names, axes=(Z, X, Y)):
    """A custom joint of three turns, as OpenSim's hips are."""
    return CustomJoint(names, tuple(Axis(tuple(a), i) for i, a in enumerate(axes)))


@pytest.fixture(scope="module")
def angles():
    """A free pelvis, a hip and a knee, in the file's own angles."""
    free = CustomJoint(
        ("tilt", "list", "spin", "tx", "ty", "tz"),
        tuple(Axis(tuple(a), i) for i, a in enumerate((Z, X, Y))),
        tuple(Axis(tuple(a), i + 3) for i, a in enumerate((X, Y, Z))),
        ("rad",) * 3 + ("m",) * 3,
    )
    named = lambda joint: {"joint": joint, "coordinate_names": joint.coordinates}  # noqa: E731
    return ArticulatedSystem(
        (
            Body("pelvis", "ground", **named(free), mass=10.0, inertia=(1, 1, 1, 0, 0, 0)),
            Body("thigh", "pelvis", **named(turns(("flexion", "adduction", "rotation"))), mass=5.0,
                 inertia=(0.1, 0.1, 0.1, 0, 0, 0), position=(0, -0.1, 0.1)),
            Body("shank", "thigh", RevoluteJoint(), mass=3.0, coordinate_names=("knee",), position=(0, -0.4, 0)),
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def balls(angles):
    return with_rotations(angles, "quaternion")


def tumbling(system, rng, frames=400):
    """A motion that turns every ball joint through several full turns, locks included."""
    time = np.linspace(0, 1, frames)
    q = system.neutral() + np.zeros((frames, system.nq))
    u = rng.normal(size=system.nu) * 9
    for k in range(1, frames):
        u = u + rng.normal(size=system.nu) * 0.5
        q[k] = system.integrate(q[k - 1], u * (time[k] - time[k - 1]))
    return Motion(system, time, q)


# ---- axes, names, times ------------------------------------------------------------------------------------------


def test_words_say_how_the_laboratory_lies():
    R = axes_rotation("x z -y")
    np.testing.assert_array_equal(R @ [1, 2, 3], [1, 3, -2])  # z was up; now y is
    np.testing.assert_array_equal(axes_rotation("+Y +Z +X") @ [1, 2, 3], [2, 3, 1])
    Q = Rotation.random(random_state=3).as_matrix()
    np.testing.assert_array_equal(axes_rotation(Q), Q)


@pytest.mark.parametrize("axes", ["x y", "x y w", "x z y", "x x y", np.eye(2), 2 * np.eye(3), -np.eye(3), "--x y z"])
def test_other_axes_are_refused(axes):
    with pytest.raises(ValueError, match="axes"):
        axes_rotation(axes)


@pytest.mark.parametrize("time", [[0, 0.1, 0.1, 0.3], [0, 0.3, 0.2, 0.4], [0, np.nan, 1, 2], [[0, 1, 2, 3]]])
def test_times_must_increase(time):
    with pytest.raises(ValueError, match="time"):
        Markers(np.array(time), ("a",), np.zeros((4, 1, 3)))


# ---- markers -----------------------------------------------------------------------------------------------------


@pytest.fixture
def markers(rng):
    positions = rng.normal(size=(4, 3, 3))
    positions[1:3, 1] = np.nan
    return Markers(TIME, ("heel", "toe", "knee"), positions)


def test_markers_go_round(markers, tmp_path):
    for other in (
        Markers.from_dataframe(markers.to_dataframe()),
        Markers.from_xarray(markers.to_xarray()),
        Markers.from_xarray(markers.to_xarray().transpose("axis", "marker", "time")),
    ):
        assert other.names == markers.names
        np.testing.assert_array_equal(other.positions, markers.positions)
        np.testing.assert_array_equal(other.time, markers.time)
    for units in ("m", "mm"):
        markers.save(tmp_path / "x.trc", units=units, overwrite=True)
        np.testing.assert_allclose(load_markers(tmp_path / "x.trc").positions, markers.positions, atol=1e-15)
    assert repr(markers) == "<Markers 3 markers, 4 frames, 0 to 0.3 s, axes of ground>"


def test_a_marker_with_one_lost_coordinate_is_lost():
    positions = np.zeros((4, 1, 3))
    positions[2, 0, 1] = np.nan
    found = Markers(TIME, ("a",), positions)
    assert np.isnan(found.positions[2]).all()
    assert found.gaps().to_numpy().tolist() == [["a", 0.25, 0.25, 1]]


def test_gaps_are_bridged_only_up_to_what_is_said(markers):
    middle = markers.resampled([0.05, 0.1, 0.2], longest_gap=0.2)
    np.testing.assert_allclose(middle.positions[0, 0], markers.positions[:2, 0].mean(axis=0))
    assert np.isnan(middle.positions[:, 1]).all()  # its neighbours are 0.3 s apart
    bridged = markers.resampled([0.1], longest_gap=0.3).positions[0, 1]
    np.testing.assert_allclose(bridged, markers.positions[0, 1] * 2 / 3 + markers.positions[3, 1] / 3)
    assert np.isnan(markers.resampled([-0.1, 0.31], longest_gap=1).positions).all()
    np.testing.assert_array_equal(markers.resampled(TIME, longest_gap=0).positions, markers.positions)


def test_wrong_markers(markers, tmp_path):
    with pytest.raises(ValueError, match="no marker 'hell'; nearest: heel"):
        markers.select(["hell"])
    with pytest.raises(ValueError, match="comes twice"):
        Markers(TIME, ("a", "a"), np.zeros((4, 2, 3)))
    with pytest.raises(ValueError, match="finite"):
        Markers(TIME, ("a",), np.full((4, 1, 3), np.inf))
    with pytest.raises(ValueError, match="shape"):
        Markers(TIME, ("a",), np.zeros((4, 3)))
    with pytest.raises(ValueError, match="metres"):
        Markers.from_xarray(markers.to_xarray().assign_attrs(units="mm"))
    (tmp_path / "x.txt").touch()
    for name, message in (("x.txt", "read from"), ("none.trc", "no such file"), ("none.c3d", "no such file")):
        with pytest.raises(ModelError, match=message):
            load_markers(tmp_path / name)


def test_names_that_stand_two_columns_apart(tmp_path):
    """As in OpenSim's own synthetic marker file."""
    path = tmp_path / "x.trc"
    head = "PathFileType\t4\t(X/Y/Z)\tx\nDataRate NumFrames NumMarkers Units\n60 1 2 m\n"
    path.write_text(head + "Frame#\tTime\t\tA\t\tB\n\t\tX1\n\n1\t0.5\t1\t2\t3\t4\t5\t6\n")
    markers = load_markers(path)
    assert markers.names == ("A", "B")
    np.testing.assert_array_equal(markers.positions, [[[1, 2, 3], [4, 5, 6]]])


HEAD = "Frame#\tTime\tA\t\t\tB\t\t"
TRC = f"""PathFileType\t4\t(X/Y/Z)\tx.trc
DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits
100\t100\t2\t2\tmm
{HEAD}
\t\tX1\tY1\tZ1\tX2\tY2\tZ2

1\t0.00\t1\t2\t3\t4\t5\t6
2\t0.01\t1\t2\t3\t4\t5\t6
"""  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *[("\tmm\n", f"\t{unit}\n") for unit in ("MM", "Mm", "millimeters", "Millimetres", "millimeter", "mm.")],
        *[("Frame#\tTime", head) for head in ("Frame#\ttime", "frame\tTIME", "Frame\tTime (s)", "Frame #\tTime [s]",
                                             "FRAME#\tTime(sec)", "Frame# Time", "Frames\tTime")],
        ("A\t\t\tB\t\t", "A\tA\tA\tB\tB\tB"),
        ("A\t\t\tB\t\t", "A_X\tA_Y\tA_Z\tB.x\tB.y\tB.z"),
        ("A\t\t\tB\t\t", "A\t\t\tB"),
        (HEAD, "Frame# Time A B"),
        (HEAD, "  Frame#   Time (s)   A   B"),
        ("1\t0.00\t1\t2\t3\t4\t5\t6", "1 0.00 1 2 3 4 5 6"),
        ("1\t0.00\t1\t2\t3\t4\t5\t6", "   1   0.00   1   2   3\t4  5  6  "),
        ("\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n", ""),
        ("\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n", ""),
        ("100\t100\t2\t2\t", "100,00\t100,00\t2\t2\t"), ("100\t100\t2\t2\t", "100 Hz\t100 Hz\t2\t2\t"),
        ("100\t100\t2\t2\t", "1e2\t100.0\t2.0\t2.00\t"),
        ("\n", "\r\n"), ("\n", "\r\r\n"), ("\n", "\n\n"),
    ],
)  # fmt: skip
def test_spellings_of_marker_files_are_read(tmp_path, old, new):
    """Such files, as OpenSim 4.6's MarkerData reads them: the same markers in millimetres."""
    assert old in TRC
    (tmp_path / "x.trc").write_text(TRC.replace(old, new), newline="")
    markers = load_markers(tmp_path / "x.trc")
    assert markers.names == ("A", "B")
    np.testing.assert_allclose(markers.positions, [[[1e-3, 2e-3, 3e-3], [4e-3, 5e-3, 6e-3]]] * 2, rtol=1e-15)
    assert markers.time.tolist() == [0.0, 0.01]


@pytest.mark.parametrize(
    "cell",
    ["nan", "-nan", "+NaN", "nan(ind)", "-nan(ind)", "NaN(0x7ff8)", "1.#QNAN", "-1.#IND", "1.#QNAN0", "N/A", "#N/A"],
)
def test_every_spelling_of_nan_is_a_gap(tmp_path, cell):
    (tmp_path / "x.trc").write_text(TRC.replace("1\t0.00\t1\t2\t3", "1\t0.00" + f"\t{cell}" * 3))
    assert load_markers(tmp_path / "x.trc").missing.tolist() == [[True, False], [False, False]]


@pytest.mark.parametrize(
    ("head", "names", "message"),
    [
        ("A\t\t\tA\t\t", ("A", "A_2"), "1 of 2 labels repeat a name; here they are A_2"),
        ("A\t\t\t\t\t", ("A", "unnamed_2"), "1 of 2 labels have no name; here they are unnamed_2"),
        ("\t\t\tB", ("unnamed_1", "B"), "have no name"),
        ("\t\t\t\t\t", ("unnamed_1", "unnamed_2"), "2 of 2 labels have no name"),
        ("Fu\xdf\t\t\tB", ("Fu\xdf", "B"), "x.trc:4: text that is not UTF-8 is taken as Latin-1"),
    ],
)
def test_mended_names_of_markers_are_reported(tmp_path, head, names, message):
    (tmp_path / "x.trc").write_bytes(TRC.replace("A\t\t\tB\t\t", head).encode("latin-1"))
    with pytest.warns(ImplausibleWarning, match=message):
        assert load_markers(tmp_path / "x.trc").names == names
    with pytest.raises(ModelError, match=message):
        load_markers(tmp_path / "x.trc", strict=True)


test_headers_of_marker_files_that_contradict_the_table_are_reported = reported(
    TRC, "x.trc",
    ("\t0.01\t", "\t10\t", "DataRate is 100, but the times are 10 s apart", 3),  # in milliseconds
    ("100\t100\t2\t2", "100\t100\t9\t2", "NumFrames is 9, but the table has 2 rows; all of them are read", 3),
    read=load_markers, warning=ImplausibleWarning, holds=lambda markers: len(markers.time) == 2,
)  # fmt: skip
CELL = "column 'A x': .*(is not finite|not a number)"
test_broken_marker_files_name_their_line = rejected(
    TRC, "x.trc",
    ("PathFileType", "Path", "no line 'PathFileType'", 1),
    ("Frame#\tTime", "Time\tFrame#", "must begin with", 4),
    ("0.01", "zero", "'zero' is not a number", 8),
    ("2\t0.01", "2\t0.00", "time must increase", 8),
    ("2\t0.01\t", "2\t0.01\t1\t1\t1\t1\t1\t1\t1\t", "columns; the header names 8", 8),
    *(("1\t0.00\t1", f"1\t0.00\t{cell}", CELL, 7) for cell in ("inf", "-Infinity", "1.#INF", "1,5")),
    ("100\t100", "many\t100", "DataRate must be a number, not 'many'", 3),
    ("100\t2\t2", "100\tmany\t2", "NumFrames must be a number, not 'many'", 3),
    ("2\t2\tmm", "2\tmany\tmm", "NumMarkers must be a number, not 'many'", 3),
    ("2\t2\tmm", "2\t3\tmm", "NumMarkers is 3, but the table has 2", 3),
    ("\tmm\n", "\tfeet\n", "Units is one of m, cm, mm, not 'feet'", 3),
    ("Units\n100\t100\t2\t2\tmm", "Units\tRate\n100\t100\t2\t2\t\t100", "Units is one of m, cm, mm, not ''", 3),
    read=load_markers,
)  # fmt: skip


def test_a_marker_file_in_utf_16_is_read(tmp_path):
    (tmp_path / "x.trc").write_text(TRC.replace("A", "Fu\xdf"), encoding="utf-16")
    assert load_markers(tmp_path / "x.trc").names == ("Fu\xdf", "B")


def walking(**zeros):
    """Two markers that move evenly, which are at 0 0 0 in some frames."""
    positions = np.linspace([[0.5, 0.1, 0.2], [-0.1, 0.0, 0.0]], [[0.7, 0.1, 0.3], [0.1, 0.0, 0.0]], 21)
    for name, frames in zeros.items():
        positions[frames, "AB".index(name)] = 0.0
    return Markers(np.arange(21) / 100, ("A", "B"), positions)


@pytest.mark.parametrize("units", ["m", "mm"])
def test_markers_that_jump_to_the_origin_are_missing(tmp_path, units):
    """Marker B moves through the origin at frame 10, which is no jump; A was not seen in four frames and at the end."""
    walking(A=[4, 5, 6, 7, 20]).save(tmp_path / "x.trc", units=units)
    with pytest.warns(ImplausibleWarning, match=r"exactly 0 0 0.*taken as missing.*\(A in 5 frames, 0.04 to 0.2 s\)"):
        seen = load_markers(tmp_path / "x.trc")
    assert np.flatnonzero(seen.missing[:, 0]).tolist() == [4, 5, 6, 7, 20]
    assert not seen.missing[:, 1].any()
    kept = load_markers(tmp_path / "x.trc", at_origin="position")
    np.testing.assert_allclose(kept.positions, walking(A=[4, 5, 6, 7, 20]).positions, atol=1e-12)
    with pytest.raises(ModelError, match="A in 5 frames"):
        load_markers(tmp_path / "x.trc", strict=True)
    with pytest.raises(ValueError, match="at_origin is 'missing' or 'position'"):
        load_markers(tmp_path / "x.trc", at_origin="gap")


def test_markers_at_the_origin_without_a_jump_stay(tmp_path):
    walking().save(tmp_path / "x.trc")
    assert not load_markers(tmp_path / "x.trc").missing.any()
    for name, frames, why in (("A", range(21), "because they are always at"), ("B", [10, 11], "for more than a frame")):
        walking(**{name: frames}).save(tmp_path / "y.trc", units="mm", overwrite=True)
        with pytest.warns(ImplausibleWarning, match=rf"exactly 0 0 0.*: kept,? {why}.* \({name}\)$"):
            assert not load_markers(tmp_path / "y.trc").missing.any()


# ---- c3d ---------------------------------------------------------------------------------------------------------


def test_points_of_c3d(tmp_path):
    points = write_c3d(tmp_path / "x.c3d")
    markers = load_markers(tmp_path / "x.c3d")
    assert markers.names == ("A", "B")
    np.testing.assert_allclose(np.diff(markers.time), 0.01)
    np.testing.assert_allclose(markers.positions, points[:3].transpose(2, 1, 0) / 1000, rtol=1e-7)
    assert markers.missing.tolist() == [[False, False]] * 2 + [[False, True]] + [[False, False]] * 2


@pytest.mark.parametrize("processor", [85, 86])
def test_numbers_of_other_processors_are_read(tmp_path, processor):
    """The same file as DEC, whose real numbers are four times as large and begin with their second half, or a processor
    with big-endian words writes it."""

    def words(data):
        return data if processor == 85 else np.frombuffer(data, "<u2").byteswap().tobytes()

    def reals(data):
        numbers = np.frombuffer(data, "<f4")
        if processor == 86:
            return numbers.byteswap().tobytes()
        return (4 * numbers).view("<u2").reshape(-1, 2)[:, ::-1].tobytes()

    points = write_c3d(tmp_path / "x.c3d")
    data = bytearray((tmp_path / "x.c3d").read_bytes())
    data[515], at, start = processor, 516, 512 * (data[16] - 1)
    for first, after, form in ((2, 12, words), (12, 16, reals), (16, 20, words), (20, 24, reals)):
        data[first:after] = form(bytes(data[first:after]))
    while length := abs(int.from_bytes(data[at : at + 1], signed=True)):
        place, group = at + 2 + length, int.from_bytes(data[at + 1 : at + 2], signed=True)
        step = int.from_bytes(data[place : place + 2], "little")
        data[place : place + 2] = words(bytes(data[place : place + 2]))
        if group > 0 and data[place + 2] in (2, 4):
            first = place + 4 + data[place + 3]
            after = first + int(data[place + 2] * np.prod(data[place + 4 : first], dtype=int))
            data[first:after] = (words if data[place + 2] == 2 else reals)(bytes(data[first:after]))
        at = place + step
    data[start:] = reals(bytes(data[start:]))
    path = tmp_path / "y.c3d"
    path.write_bytes(data)
    np.testing.assert_allclose(load_markers(path).positions, points[:3].transpose(2, 1, 0) / 1000, rtol=1e-7)
    for name in ("force", "point", "torque"):
        assert np.array_equal(*(getattr(load_forces(tmp_path / file), name) for file in ("x.c3d", "y.c3d")))


@pytest.mark.parametrize("where", ["FRAMES", "LONG_FRAMES", "TRIAL", "space"])
def test_frames_of_c3d_beyond_16_bits_are_read(tmp_path, where):
    """The three ways of C3D's manual to write their number, and by the space in the file. A recording that begins
    beyond them has its low and high word, counted from 1, in TRIAL."""
    path, count = tmp_path / "x.c3d", 70000
    points = np.ones((4, 1, count))
    points[0, 0] = np.arange(count)
    content = capture(points)
    begin = 65536 + 6 - 1 if where == "TRIAL" else 0
    for group, name, value in (
        ("POINT", "LONG_FRAMES", [float(count)]), ("TRIAL", "ACTUAL_START_FIELD", [6, 1]),
        ("TRIAL", "ACTUAL_END_FIELD", [(begin + count) % 65536, (begin + count) // 65536]),
    ):  # fmt: skip
        if where in (group, name):
            content.add_parameter(group, name, value)
    content.write(str(path))
    data = bytearray(path.read_bytes())
    if where == "FRAMES":  # a real number in place of the integer: two bytes more
        place, start = data.index(b"\x01FRAMES") + 7, 512 * (data[16] - 1)
        end = place + 4 + data[place + 3]
        data[place], data[place + 2] = data[place] + 2, 4
        data[end : end + 2] = np.array(count, "<f4").tobytes()
        del data[start : start + 2]
    path.write_bytes(data)
    markers = load_markers(path)
    assert len(markers.time) == (count - count % 32 if where == "space" else count)  # the last block of 32 may be empty
    assert np.array_equal(markers.positions[:, 0, 0], np.arange(len(markers.time)))
    assert markers.time[0] == pytest.approx(begin / 100)


@pytest.mark.parametrize(("form", "expected"), [("SIGNED", [27, -5, -100]), ("UNSIGNED", [20 - 65529, -5, -100])])
def test_offsets_of_channels_have_the_sign_that_the_file_says(tmp_path, form, expected):
    """(number - OFFSET) SCALE GEN_SCALE, as C3D's manual has it, of 16 bits; ezc3d 1.7 subtracts the sizes."""
    ezc3d, path = pytest.importorskip("ezc3d", reason="needs ezc3d"), tmp_path / "x.c3d"
    write_c3d(path)
    content = ezc3d.c3d(str(path))
    content.add_parameter("ANALOG", "FORMAT", [form])
    content.write(str(path))
    data = bytearray(path.read_bytes())
    at = data.index(b"OFFSET") + 11  # behind the name: the place of the next record, the type, a dimension of 6
    data[at : at + 12] = np.array([-7, 5, -600, 0, 0, 0], "<i2").tobytes()
    path.write_bytes(bytes(data))
    force = load_forces(path).force[3, 0]
    np.testing.assert_allclose(np.diag([1.0, -1.0, -1.0]) @ force, expected, rtol=1e-6)
    assert load_emg(path, ["Fx"]).signal[3, 0] == pytest.approx(expected[0])


@pytest.mark.parametrize("length", ["mm", "cm", "m"])
@pytest.mark.parametrize(
    "channels",
    [(("N", 1.0), ("N.m", 1.0)), (("N", 1.0), ("Nmm", 1e-3)), (("kN", 1e3), ("kNmm", 1.0)), (("kN", 1e3), ("Nm", 1.0)),
     (("Newtons", 1.0), ("Newton-mm", 1e-3))],
)  # fmt: skip
def test_units_of_force_plates_are_converted(tmp_path, channels, length):
    """At the centre of pressure, 40 mm above the plate's origin, the horizontal moment is zero.

    With M' = M + F x ORIGIN, x = -M'y / Fz and y = M'x / Fz in the plate's axes, from the middle (0.2, 0.3) m. Its y
    axis is opposite to the laboratory's.
    """
    write_c3d(tmp_path / "x.c3d", length, points=np.ones((4, 2, 5)), channels=channels)
    forces = load_forces(tmp_path / "x.c3d")
    Mx, My = -7.0, 14.0 + 20.0 * 0.04
    x, y = My / 700, Mx / -700
    np.testing.assert_allclose(forces.force[3, 0], [20, 0, 700], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(forces.point[3, 0], [0.2 + x, 0.3 - y, 0.0], rtol=1e-6, atol=1e-9)
    assert forces.torque[3, 0] == pytest.approx([0, 0, -(0.5 + 20.0 * y)], abs=1e-6)
    assert (forces.names, forces.bodies) == (("plate1",), ("",))
    np.testing.assert_allclose(np.diff(forces.time), 1e-3)
    assert not any(unloaded[25:].any() for unloaded in (forces.force, forces.point, forces.torque))


@pytest.mark.parametrize(
    ("channels", "message"),
    [((("V", 1.0), ("V", 1.0)), "'V', which is not one of n"), ((("N", 1.0), ("stone", 1.0)), "'stone', which is not")],
)
def test_unknown_units_of_force_plates_are_an_error(tmp_path, channels, message):
    write_c3d(tmp_path / "x.c3d", channels=channels)
    with pytest.raises(ModelError, match=message):
        load_forces(tmp_path / "x.c3d")


@pytest.mark.parametrize("plate_type", [1, 2, 3, 4])
def test_force_plates_of_every_type_are_those_of_ezc3d(tmp_path, plate_type):
    """Of random channels, corners, origins and calibrations in the units that ezc3d takes them to be in."""
    ezc3d, rng = pytest.importorskip("ezc3d", reason="needs ezc3d"), np.random.default_rng(plate_type)
    path, corners = tmp_path / "x.c3d", np.array([[4, 0, 0.1], [0, 0.2, 0], [0, 6, 0], [4, 6, 0]]).T
    content = capture(np.ones((4, 1, 4)), "m", rng.normal(size=(1, 16, 40)), [f"F{k}" for k in range(16)], [""] * 16)
    add_plates(content, [plate_type] * 2, 1 + np.arange(16).reshape(2, 8).T)
    for name, values in (
        ("CORNERS", np.stack([corners, corners + 1], axis=-1)), ("ORIGIN", rng.normal(size=(3, 2))),
        ("CAL_MATRIX", rng.normal(size=(6, 6, 2))),
    ):  # fmt: skip
        content.add_parameter("FORCE_PLATFORM", name, values)
    content.write(str(path))
    expected = ezc3d.c3d(str(path), extract_forceplat_data=True)["data"]["platform"]
    _, numbers = read_c3d_plates(path)
    for plate, reference in zip(np.moveaxis(numbers, 2, 0), expected, strict=True):
        for values, name in zip(plate, ("force", "center_of_pressure", "Tz"), strict=True):
            np.testing.assert_allclose(values, reference[name].T, rtol=1e-9, atol=1e-9)


def test_wrong_c3d(tmp_path):
    path = tmp_path / "x.c3d"
    path.write_bytes(b"text" * 200)
    with pytest.raises(ModelError, match="header block"):
        load_markers(path)
    write_c3d(path)
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(ModelError, match="cannot be read"):
        load_markers(path)
    write_c3d(path)
    content = path.read_bytes()
    for block in range(3):  # the header and the parameters stand there
        path.write_bytes(content[:16] + bytes([block, 0]) + content[18:])
        with pytest.raises(ModelError, match=f"begin in block {block}"):
            load_markers(path)
    write_c3d(path, units="ell")
    with pytest.raises(ModelError, match="'ell', which is not one of m, cm, mm"):
        load_markers(path)
    write_c3d(path, plate=False)
    with pytest.raises(ModelError, match="no force plate"):
        load_forces(path)


@pytest.mark.parametrize(
    ("label", "names", "message"),
    [
        (b"\xc1", ("\xc1", "B"), "POINT:LABELS holds text that is not UTF-8"),
        (b"B", ("B", "B_2"), "POINT:LABELS: 1 of 2 labels repeat a name; here they are B_2"),
        (b" ", ("unnamed_1", "B"), "POINT:LABELS: 1 of 2 labels have no name; here they are unnamed_1"),
    ],
)
def test_mended_labels_of_c3d_are_reported(tmp_path, label, names, message):
    path = tmp_path / "x.c3d"
    points = write_c3d(path)
    head, word, rest = path.read_bytes().partition(b"LABELS")
    path.write_bytes(head + word + rest.replace(b"A", label, 1))
    with pytest.warns(ImplausibleWarning, match=message):
        markers = load_markers(path)
    assert markers.names == names
    np.testing.assert_allclose(markers.positions[0], points[:3, :, 0].T / 1000, rtol=1e-7)
    with pytest.raises(ModelError, match=message):
        load_markers(path, strict=True)


@pytest.mark.parametrize(("last", "announced"), [(1149, r"11\d\d"), (2, r"\d"), (65535, r"(69\d\d\d|70000)")])
def test_a_wrong_last_frame_in_the_header_of_c3d_is_reported(tmp_path, last, announced):
    """The words at bytes 6 and 8 are the first and the last frame; the file holds five, as POINT:FRAMES says. Of one
    beyond 65535, TRIAL:ACTUAL_END_FIELD has the low and the high word."""
    ezc3d, path = pytest.importorskip("ezc3d", reason="needs ezc3d"), tmp_path / "x.c3d"
    points = write_c3d(path)
    if last == 65535:
        content = ezc3d.c3d(str(path))
        content.add_parameter("TRIAL", "ACTUAL_END_FIELD", [70000 - 65536, 1])
        content.write(str(path))
    data = bytearray(path.read_bytes())
    data[8:10] = last.to_bytes(2, "little")
    path.write_bytes(data)
    with pytest.warns(ImplausibleWarning, match=f"it announces {announced} frames; 5 are read"):
        markers = load_markers(path)
    np.testing.assert_allclose(markers.positions[4], points[:3, :, 4].T / 1000, rtol=1e-7)


def test_a_channel_that_comes_twice_does_not_hide_the_others(tmp_path):
    path = tmp_path / "x.c3d"
    write_c3d(path)
    path.write_bytes(path.read_bytes().replace(b"Mx", b"Fx"))
    with pytest.warns(ImplausibleWarning, match="ANALOG:LABELS: 1 of 6 labels repeat a name; here they are Fx_2"):
        assert load_emg(path, ["Fz"]).signal[0, 0] == -700
    with pytest.warns(ImplausibleWarning), pytest.raises(ValueError, match="no channel 'SOL'; nearest"):
        load_emg(path, ["SOL"])


def test_a_file_without_analog_channels_says_so(tmp_path):
    capture(np.ones((4, 2, 5)), "mm").write(str(tmp_path / "x.c3d"))
    assert load_markers(tmp_path / "x.c3d").names == ("A", "B")
    with pytest.raises(ModelError, match="the file holds no analog channels"):
        load_emg(tmp_path / "x.c3d")
    with pytest.raises(ModelError, match="the file holds no force plate"):
        load_forces(tmp_path / "x.c3d")
    data = bytearray((tmp_path / "x.c3d").read_bytes())  # 1e39 samples in a frame of no channel
    for rate, found in zip((1e-30, 1e9), re.finditer(b"RATE", data), strict=False):
        at = found.end() + 4 + data[found.end() + 3]
        data[at : at + 4] = np.array(rate, "<f4").tobytes()
    (tmp_path / "x.c3d").write_bytes(data)
    assert load_markers(tmp_path / "x.c3d").names == ("A", "B")


def test_a_residual_is_a_sign_and_other_numbers_are_not_looked_at(tmp_path):
    """A point with a residual of -0 or infinity was seen, and an infinite sample of a channel is none of it."""
    path = tmp_path / "x.c3d"
    write_c3d(path)
    data = bytearray(path.read_bytes())
    numbers = np.frombuffer(data, "<f4", offset=512 * (data[16] - 1))  # of two points with residuals, and of channels
    numbers[[3, 7, 8]] = -0.0, np.inf, np.inf
    path.write_bytes(data)
    assert not load_markers(path).missing[0].any()
    with pytest.raises(ModelError, match="infinite numbers"):
        load_forces(path)


def test_channels_without_an_offset_are_refused(tmp_path):
    path = tmp_path / "x.c3d"
    write_c3d(path)
    path.write_bytes(path.read_bytes().replace(b"OFFSET", b"OFFSEX"))
    assert load_markers(path).names == ("A", "B")
    with pytest.raises(ModelError, match=r"x\.c3d: this .c3d file cannot be read: ANALOG:OFFSET"):
        load_forces(path)


@pytest.mark.posix
def test_a_pipe_is_no_c3d_file(tmp_path):
    os.mkfifo(tmp_path / "x.c3d")
    with pytest.raises(ModelError, match="not a regular file"):
        load_markers(tmp_path / "x.c3d")


def test_infinite_points_are_refused(tmp_path):
    write_c3d(tmp_path / "x.c3d", points=np.full((4, 2, 5), np.inf))
    with pytest.raises(ModelError, match="infinite"):
        load_markers(tmp_path / "x.c3d")


# ---- orientations ------------------------------------------------------------------------------------------------


@pytest.fixture
def orientations(rng):
    Q = random_quaternions((4, 2), rng)
    Q[1, 1] = np.nan
    return Orientations(TIME, ("thigh_imu", "shank_imu"), Q)


def test_orientations_go_round(orientations, tmp_path):
    orientations.save(tmp_path / "x.sto")
    for other in (
        Orientations.from_dataframe(orientations.to_dataframe()),
        Orientations.from_xarray(orientations.to_xarray()),
        load_orientations(tmp_path / "x.sto"),
    ):
        assert other.names == orientations.names
        np.testing.assert_allclose(other.quaternions, orientations.quaternions, atol=1e-15)


def test_the_order_of_a_file_is_said(tmp_path):
    path = tmp_path / "x.sto"
    path.write_text("DataType=Quaternion\nendheader\ntime\ta\n0\t0,0,0.6,0.8\n")
    np.testing.assert_allclose(load_orientations(path).quaternions[0, 0], [0, 0, 0.6, 0.8])
    np.testing.assert_allclose(load_orientations(path, order="xyzw").quaternions[0, 0], [0.8, 0, 0, 0.6])
    with pytest.raises(ValueError, match="order"):
        load_orientations(path, order="wzyx")


def test_quaternions_are_continuous_and_turn_with_the_laboratory(rng):
    Q = quaternion_multiply(random_quaternions(1, rng), quaternion_exp(np.linspace(0, 9, 50)[:, None] * [0.6, 0.8, 0]))
    signs = rng.choice([-1.0, 1.0], (50, 1))
    found = Orientations(np.arange(50.0), ("a",), (Q * signs)[:, None])
    assert np.linalg.norm(np.diff(found.quaternions[:, 0], axis=0), axis=-1).max() < 0.2
    R = axes_rotation("x z -y")
    expected = R @ Rotation.from_quat(np.roll(Q, -1, axis=-1)).as_matrix()
    got = Rotation.from_quat(np.roll(found.turned(R).quaternions[:, 0], -1, axis=-1)).as_matrix()
    np.testing.assert_allclose(got, expected, atol=1e-14)


def test_sensors_are_resampled_along_the_shortest_turn():
    v = np.array([0.3, -1.2, 0.7])
    Q = quaternion_exp(np.array([0.0, 1.0, 1.5, 2.0])[:, None] * v)
    Q[1], Q[2] = -Q[1], np.nan
    found = Orientations(np.arange(4.0), ("a",), Q[:, None])
    at = np.array([0.25, 1.0, 1.5, 2.0, 3.0, 3.5])
    dense = found.resampled(at, longest_gap=2.0).quaternions[:, 0]
    expected = quaternion_exp(np.array([0.25, 1.0, 1.25, 1.5, 2.0])[:, None] * v)
    np.testing.assert_allclose(np.abs(np.sum(dense[:5] * expected, axis=-1)), 1, atol=1e-14)
    assert np.isnan(dense[5]).all()
    assert np.isnan(found.resampled(at, longest_gap=1.0).quaternions[2:4, 0]).all()


test_wrong_orientation_files = rejected(
    "DataType=Quaternion\nendheader\ntime\ta\n0\t1,0,0,0\n", "x.sto",
    ("DataType=Quaternion\n", "", "no line 'DataType=Quaternion'", 1),
    ("endheader\n", "", "endheader"),
    ("1,0,0,0", "1,0,0", "column 'a'.*not a quaternion", 4),
    ("1,0,0,0", "1,0,0,0\t1,0,0,0", "3 columns", 4),
    ("0\t1,0,0,0", "1\t1,0,0,0\n0\t1,0,0,0", "time must increase", 5),
    ("1,0,0,0", "1,0,0,x", "'x' is not a number", 4),
    ("1,0,0,0", "1,0,0,1", "'a' at 0 s has length 1.414"),
    read=load_orientations,
)  # fmt: skip


def test_orientations_of_two_digits_are_normalised_and_gaps_may_be_one_word(tmp_path):
    rows = "0\t0.71,0.71,0,0\t1,0,0,0\n0.01\tNaN\tnan,nan,nan,nan\n"
    (tmp_path / "x.sto").write_text(f"DataType=Quaternion\nendheader\ntime\ta\tb\n{rows}")
    with pytest.warns(ImplausibleWarning, match=r"x\.sto:4: 1 quaternions are off length 1 by up to 0\.0041") as warned:
        found = load_orientations(tmp_path / "x.sto")
    assert warned[0].filename == __file__
    np.testing.assert_allclose(found.quaternions[0], [[np.sqrt(0.5), np.sqrt(0.5), 0, 0], [1, 0, 0, 0]], atol=1e-15)
    assert np.isnan(found.quaternions[1]).all()


# ---- forces ------------------------------------------------------------------------------------------------------

ENTRY = """<ExternalForce name="{name}"><applied_to_body>{body}</applied_to_body>
<force_expressed_in_body>{frame}</force_expressed_in_body><point_expressed_in_body>ground</point_expressed_in_body>
<force_identifier>f{name}_v</force_identifier><point_identifier>f{name}_p</point_identifier>
<torque_identifier>{torque}</torque_identifier>{more}</ExternalForce>"""
LOADS = """<OpenSimDocument Version="40000"><ExternalLoads><objects>{}</objects>
<datafile>grf.mot</datafile></ExternalLoads></OpenSimDocument>"""


def write_loads(tmp_path, rng, *entries):
    table = rng.normal(size=(4, 9))
    labels = [f"fR_{k}{axis}" for k in "vp" for axis in "xyz"] + [f"tR_{axis}" for axis in "xyz"]
    rows = "\n".join("\t".join(map(repr, map(float, [t, *row]))) for t, row in zip(TIME, table, strict=True))
    (tmp_path / "grf.mot").write_text("grf\nendheader\n" + "\t".join(["time", *labels]) + "\n" + rows + "\n")
    usual = {"name": "R", "body": "/bodyset/foot", "frame": "ground", "torque": "tR", "more": ""}
    filled = [ENTRY.format(**(usual | entry)) for entry in entries]
    (tmp_path / "loads.xml").write_text(LOADS.format("".join(filled)))
    return table


def test_external_loads_are_read_and_go_round(tmp_path, rng):
    off = {"name": "off", "more": "<appliesForce>false</appliesForce>"}
    table = write_loads(tmp_path, rng, {}, off)
    forces = load_forces(tmp_path / "loads.xml")
    assert (forces.names, forces.bodies, forces.force_frames) == (("R",), ("foot",), ("ground",))
    for k, quantity in enumerate(("force", "point", "torque")):
        np.testing.assert_array_equal(getattr(forces, quantity)[:, 0], table[:, 3 * k : 3 * k + 3])
    back = Forces.from_xarray(forces.to_xarray())
    np.testing.assert_array_equal(back.to_dataframe(), forces.to_dataframe())
    assert back.bodies == forces.bodies
    np.testing.assert_array_equal(forces.turned("x z -y").force[..., 1], forces.force[..., 2])
    np.testing.assert_allclose(forces.resampled([0.05]).force, forces.force[:2].mean(axis=0, keepdims=True))
    assert repr(forces) == "<Forces R on foot; 4 frames, 0 to 0.3 s>"


def test_loads_in_a_bodys_frame_do_not_turn_with_the_laboratory(tmp_path, rng):
    write_loads(tmp_path, rng, {"frame": "foot"})
    forces = load_forces(tmp_path / "loads.xml")
    turned = forces.turned("x z -y")
    np.testing.assert_array_equal(turned.force, forces.force)
    np.testing.assert_array_equal(turned.point[..., 1], forces.point[..., 2])


def test_points_are_nan_where_the_force_is_zero(tmp_path, rng):
    """Centres of pressure are quotients by the force. Points of loads that act must be numbers."""
    table = write_loads(tmp_path, rng, {})
    rows = (tmp_path / "grf.mot").read_text().splitlines()
    row = ["0.1", *"000", "nan", "-nan(ind)", "1.#QNAN", "NaN", *"00"]
    (tmp_path / "grf.mot").write_text("\n".join([*rows[:4], "\t".join(row), *rows[5:]]))
    forces = load_forces(tmp_path / "loads.xml")
    assert not forces.numbers[1].any()
    assert forces.between(5.0, 6.0).numbers.shape == (0, forces.numbers.shape[1])
    np.testing.assert_array_equal(forces.point[2, 0], table[2, 3:6])
    row[1] = "5"
    (tmp_path / "grf.mot").write_text("\n".join([*rows[:4], "\t".join(row), *rows[5:]]))
    with pytest.raises(ModelError, match=r"grf.mot:5: column 'fR_px' is nan where the force is not zero, in 1 of 4"):
        load_forces(tmp_path / "loads.xml")
    text = (tmp_path / "grf.mot").read_text()
    (tmp_path / "grf.mot").write_text(text.replace("\t".join(row), "\t".join(["0.1", "nan", *row[2:]])))
    with pytest.raises(ModelError, match=r"'fR_vx' is nan, in 1 of 4 frames, 0.1 to 0.1 s: write 0 where nothing"):
        load_forces(tmp_path / "loads.xml")


@pytest.mark.parametrize("endings", ["123", "xyz", "_1 _2 _3", "_tx _ty _tz", ".X .Y .Z", "_vx _vy _vz"])
def test_markers_are_read_from_tables_of_components(tmp_path, rng, endings):
    """OpenSim's tables pack columns with these endings too."""
    markers = Markers(TIME, ("heel", "B_1"), rng.normal(size=(4, 2, 3)))
    labels = [name + end for name in markers.names for end in (endings.split() if " " in endings else endings)]
    save_table(pd.DataFrame(markers.positions.reshape(4, 6), pd.Index(TIME, name="time"), labels), tmp_path / "m.sto")
    found = load_markers(tmp_path / "m.sto")
    assert found.names == markers.names
    np.testing.assert_allclose(found.positions, markers.positions, atol=1e-9)
    (tmp_path / "m.sto").write_text((tmp_path / "m.sto").read_text().replace(labels[1], "error"))
    with pytest.raises(ModelError, match=r"three columns for each marker are needed, such as A_x.*, not 'error'"):
        load_markers(tmp_path / "m.sto")


def test_markers_in_other_units_than_the_file_says_are_reported(tmp_path, rng):
    Markers(TIME, ("a", "b"), 1000 * rng.normal(size=(4, 2, 3))).save(tmp_path / "m.trc")
    with pytest.warns(ImplausibleWarning, match="too far from each other: check the units"):
        load_markers(tmp_path / "m.trc")
    Markers(TIME, ("a", "b"), np.full((4, 2, 3), 5000.0)).save(
        tmp_path / "m.trc", overwrite=True
    )  # far from the origin
    load_markers(tmp_path / "m.trc")


def test_wrong_forces(tmp_path, rng):
    write_loads(tmp_path, rng, {"torque": "none"})
    with pytest.raises(ModelError, match=r"loads.xml:1: load 'R': the data file grf.mot has 0 columns 'none'"):
        load_forces(tmp_path / "loads.xml")
    (tmp_path / "grf.mot").unlink()
    with pytest.raises(ModelError, match=r"loads.xml:5: the data file .*grf.mot does not exist"):
        load_forces(tmp_path / "loads.xml")
    (tmp_path / "loads.xml").write_text("<OpenSimDocument/>")
    with pytest.raises(ModelError, match="ExternalLoads"):
        load_forces(tmp_path / "loads.xml")
    (tmp_path / "grf.mot").touch()
    with pytest.raises(ModelError, match="read from"):
        load_forces(tmp_path / "grf.mot")
    forces = Forces(TIME, ("a",), ("foot",), *np.zeros((3, 4, 1, 3)))
    with pytest.raises(ValueError, match=r"cover 0 to 0.3 s; they are wanted from 0 to 0.4 s"):
        forces.resampled([0, 0.4])
    with pytest.raises(ValueError, match="no load 'b'; nearest: a"):
        forces.applied_to({"b": "foot"})
    with pytest.raises(ValueError, match="bodies"):
        Forces(TIME, ("a",), (), *np.zeros((3, 4, 1, 3)))


# ---- motions -----------------------------------------------------------------------------------------------------


def test_angles_of_a_tumbling_motion_are_continuous_and_come_back(angles, balls, rng, tmp_path):
    motion = tumbling(balls, rng)
    table = motion.angles()
    assert list(table.columns) == ["tx", "ty", "tz", "tilt", "list", "spin", "flexion", "adduction", "rotation", "knee"]
    assert np.abs(table[["tilt", "flexion", "spin", "rotation"]].to_numpy()).max() > 2 * np.pi  # unwrapped
    q = convert_coordinates(angles, balls, table[list(angles.coordinate_names)].to_numpy())
    np.testing.assert_allclose(balls.difference(motion.q, q), 0, atol=1e-9)
    free = lock_distance(balls, motion.q)["thigh"].to_numpy() > 0.3
    steps = np.abs(np.diff(table[["flexion", "adduction", "rotation"]].to_numpy(), axis=0)).max(axis=1)
    assert steps[free[1:] & free[:-1]].max() < 0.5  # no jump by pi or 2 pi
    motion.save(tmp_path / "x.mot")
    again = load_motion(tmp_path / "x.mot", balls)
    np.testing.assert_allclose(balls.difference(motion.q, again.q), 0, atol=1e-9)
    theirs = load_motion(tmp_path / "x.mot", angles)
    np.testing.assert_allclose(theirs.q, table[list(angles.coordinate_names)].to_numpy(), atol=1e-12)


@pytest.mark.parametrize("frame", ["child", "parent"])
def test_rates_of_angles_are_their_derivatives(angles, balls, rng, tmp_path, frame):
    """Against central differences of the angles, and back from the file to the same velocities."""
    balls = ArticulatedSystem(balls.bodies, velocity_frame=frame)
    q, u = balls.random(1, rng), rng.normal(size=(1, balls.nu))
    h = 1e-5
    time = np.array([-h, 0.0, h])
    path = np.concatenate([balls.integrate(q, t * u) for t in time])
    motion = Motion(balls, time, path, np.repeat(u, 3, axis=0))
    table = motion.angles()
    for name in ("tilt", "spin", "flexion", "rotation", "knee", "tx"):
        slope = (table[name].iloc[2] - table[name].iloc[0]) / (2 * h)
        if name != "tx" or frame == "parent":
            rate = table.get(f"{name}_u", table.get("pelvis.v_x"))
            assert rate.iloc[1] == pytest.approx(slope, rel=1e-6, abs=1e-6)
    motion.save(tmp_path / "x.sto")
    again = load_motion(tmp_path / "x.sto", balls)
    np.testing.assert_allclose(again.u, motion.u, rtol=1e-9, atol=1e-9)


def test_motions_go_round(balls, rng):
    q = balls.random(4, rng)
    motion = Motion(balls, TIME, q, rng.normal(size=(4, balls.nu)), rng.normal(size=(4, balls.nu)))
    shuffled = motion.to_dataframe().sample(frac=1, axis=1, random_state=1)
    for other in (Motion.from_dataframe(balls, shuffled), Motion.from_xarray(balls, motion.to_xarray())):
        for name in ("q", "u", "udot"):
            np.testing.assert_array_equal(getattr(other, name), getattr(motion, name))
    units = motion.to_dataframe().attrs["units"]
    assert units["udot", "pelvis.v_x_rate"] == "m/s^2"
    assert units["q", "thigh.Q0"] == "1"
    assert units["q", "knee"] == "rad"
    assert repr(motion) == "<Motion q, u, udot of 10 velocities, 4 frames, 0 to 0.3 s>"
    assert len(motion.between(0.05, 0.25).time) == 2


def test_records_name_the_endings_of_their_files(balls, orientations, markers, rng, tmp_path):
    motion = Motion(balls, TIME, balls.random(4, rng))
    for wrong, record in ((".csv", motion), (".c3d", markers), (".mot", orientations)):
        with pytest.raises(ValueError, match=rf"saved as .*, not '{wrong}'"):
            record.save(tmp_path / f"y{wrong}")
