"""The mapping analysis: that it finds what holds, and that it can fail."""

import json
import tracemalloc
from dataclasses import replace

import matplotlib.figure
import numpy as np
import pytest

from myoquat.analysis import mapping_analysis
from myoquat.analysis.mapping import approach, figures, run
from myoquat.analysis.mapping.report import Statistics
from myoquat.analysis.mapping.run import ROWS, Pair
from myoquat.data import load_model
from myoquat.joints import ArticulatedSystem, Axis, Body, CustomJoint, ModelError, SphericalJoint, convert_coordinates
from myoquat.joints.functions import Constant, Linear
from myoquat.joints.types.angles import Angles
from myoquat.muscle import CubicExponentialMuscle, Model, Muscle, PathPoint
from myoquat.muscle.coordinates import Coordinate
from myoquat.muscle.points import ConditionalPoint, MovingPoint
from tests.bodies import afloat
from tests.joints.phantom_arm import arm as phantom_arm

LAW = CubicExponentialMuscle(300.0, 0.2)
MODELS = ("mapping_analysis", "mapping_analysis_euler", "two_link", "two_link_euler")


@pytest.fixture(scope="module")
def report():
    return mapping_analysis("two_link", 5000, seed=3)


@pytest.mark.parametrize("name", MODELS)
def test_everything_that_should_hold_does(name):
    report = mapping_analysis(name, 3000, seed=1)
    assert report.holds
    assert (report.mappings["poses beyond"][report.mappings["should hold"]] == 0).all()
    assert (report.power["per condition"] < 1e-12).all()
    wrong = report.mappings[~report.mappings["should hold"]]
    assert list(wrong["mapping"]) == ["J_Q back from J_phi"]
    assert (wrong["poses beyond"] == 3000).all()


def test_the_split_explains_the_difference(report):
    split = report.split.set_index("extension of R(Q)")
    assert (split["poses beyond"] == 0).all()
    assert split.loc["normalized", "largest |J_Q Q|"] < 1e-13
    assert split.loc["polynomial", "largest |J_Q Q|"] > 1
    assert split.loc["homogeneous", "largest |J_Q Q|"] > 1
    wrong = report.mappings.set_index("mapping").loc["J_Q back from J_phi", "max |error|"]
    assert wrong <= split.loc["polynomial", "largest |J_Q Q|"]


def test_a_wrong_map_is_found(monkeypatch):
    right = run.quaternion_to_spatial
    monkeypatch.setattr(run, "quaternion_to_spatial", lambda J, Q: right(J, Q) * (1 + 1e-9))
    report = mapping_analysis("two_link", 100)
    rows = report.mappings.set_index("mapping")
    assert not report.holds
    assert rows.loc["J from J_Q", "poses beyond"] == 100
    assert rows.loc["J from J*_Q", "poses beyond"] == 0
    assert "SOME MAPPINGS THAT SHOULD HOLD DO NOT" in report.to_text()


def test_errors_below_the_scatter_of_a_jacobian_are_explained():
    """Errors of two muscles at four poses: within the limit, beyond it and below the scatter, beyond both, NaN."""
    found = Statistics(np.array([1.0, 2.0]), 1e-13)
    error = np.array([[5e-14, 1e-13], [3e-13, 0.0], [0.0, 2e-12], [np.nan, 0.0]])[:, None, :, None]
    seen = []

    def scatter(rows):
        seen.append(rows.tolist())
        return np.array([[4e-13, 0.0], [1.0, 9e-13], [1.0, 1.0]])

    found.add(error, np.ones((4, 1)), np.zeros((4, 8)), scatter)
    assert seen == [[1, 2, 3]]
    assert (found.row["poses beyond"], found.row["unexplained"]) == (3, 2)
    assert found.row["scatter"] == 1.0
    found.add(error[:3], np.ones((3, 1)), np.zeros((3, 8)))
    assert (found.row["poses beyond"], found.row["unexplained"]) == (5, 4)
    assert (found.row["max |error|"], found.row["scatter"], found.row["worst pose"]) == (np.inf, 1.0, 3)  # of the first


def test_errors_and_conditions_that_are_both_infinite_have_a_row():
    found = Statistics(np.array([1.0]), 1e-13)
    with np.errstate(invalid="ignore"):
        found.add(np.full((1, 1, 1, 3), np.nan), np.array([[np.inf]]), np.zeros((1, 2)))
    row = found.record(("a",))
    assert np.isnan(row["per condition"])
    assert (row["max |error|"], row["worst muscle"], row["worst pose"]) == (np.inf, "a", 0)


def test_the_scatter_is_what_round_off_of_a_pose_changes():
    """By far less than a map's limit where paths are well conditioned, and by more than nothing."""
    pair = Pair.of(load_model("two_link"))
    q = pair.quaternion.system.random(3, np.random.default_rng(0))
    block = run.Block(pair, q, np.zeros((3, 6)), np.zeros(len(pair.quaternion.muscles)))
    found = run.Scatter(block, np.ones(len(pair.quaternion.muscles)))(np.array([2, 0]))
    assert found.shape == (2, len(pair.quaternion.muscles))
    assert (found.max(axis=1) > 1e-18).all()
    assert found.max() < 1e-14


def test_errors_grow_with_the_condition_and_not_with_the_largest_component(report):
    table = report.singular
    for name in ("gimbal lock", "Q0 = 0"):
        part = table[(table["approach"] == name) & (table["condition"] < 1e12)]
        assert (part["error"] <= 1e-13 * part["condition"]).all()
        assert part["error"].max() > 1e-7
        assert (table["error, largest eliminated"] < 1e-12).all()
    lock = table[table["approach"] == "gimbal lock"]
    assert lock["error"].isna().equals(lock["condition"] > 1e12)
    chart = table[table["approach"] == "Q0 = 0"]
    np.testing.assert_allclose(chart["condition"] * chart["distance"], 1, rtol=1e-9)


def test_equal_seeds_give_equal_reports(report):
    again = mapping_analysis("two_link", 5000, seed=3)
    assert again.to_json() == report.to_json()
    assert mapping_analysis("two_link", 5000, seed=4).to_json() != report.to_json()


def test_memory_does_not_grow_with_the_poses():
    def peak(n):
        tracemalloc.start()
        mapping_analysis("two_link", n)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    mapping_analysis("two_link", 10)
    assert peak(12_000) < 1.5 * peak(4_000)


def test_the_report_is_a_text_a_page_and_json(report):
    text, content = report.to_text(), json.loads(report.to_json())
    assert all(words in text for words in (*(row.title for row in ROWS), "signed sum    ", "poses beyond  ", "limit"))
    assert content["holds"] is True
    assert len(content["mappings"]) == len(ROWS)
    assert repr(report) == "MappingReport(two_link, n=5000, seed=3: all that should hold do)"
    page = replace(report, model="<b>$x$")._repr_html_()
    assert "&lt;b&gt;" in page
    assert "$" not in page


def floating_leg() -> Model:
    """A body that floats, a ball joint with a file's angles, and a point that is there by one of these."""
    free = afloat("pelvis", mass=3.0)
    angles = Angles(("flexion", "adduction", "turn"), ((0.0, 0, 1), (-1.0, 0, 0), (0.0, -1, 0)))
    femur = Body("femur", "pelvis", SphericalJoint(angles=angles), (0.0, -0.1, 0.1), mass=2.0)
    path = (
        PathPoint("ground", (0.1, 0.3, 0.0)),
        ConditionalPoint("pelvis", (0.1, -0.2, 0.1), "flexion", (-0.5, 2.0)),
        PathPoint("femur", (0.05, -0.2, 0.02)),
    )
    return Model(ArticulatedSystem((free, femur)), (Muscle("m", path, LAW),))


def locked_foot() -> Model:
    """The same leg with a foot on three rotations, one of them locked, which stay angles beside the quaternions."""
    leg, names = floating_leg(), ("roll", "lift", "spin")
    joint = CustomJoint(names, tuple(Axis(tuple(axis), k) for k, axis in enumerate(np.eye(3))))
    foot = Body("foot", "femur", joint, (0.0, -0.4, 0.0), mass=1.0, coordinate_names=names)
    system, lock = ArticulatedSystem((*leg.system.bodies, foot)), Coordinate("lift", locked=True)
    return Model(system, leg.muscles, coordinates=(lock,), start_q=tuple(system.neutral()))


@pytest.mark.parametrize("model", [floating_leg, locked_foot])
def test_floating_joints_points_by_angles_and_joints_that_stay_angles_take_part(model):
    assert mapping_analysis(model(), 40).holds


@pytest.mark.parametrize(
    ("n", "seed", "message"), [(0, 0, "positive integer"), (-3, 0, "positive"), (1.5, 0, "positive"), (1, -1, "seed")]
)
def test_bad_numbers(n, seed, message):
    with pytest.raises(ValueError, match=message):
        mapping_analysis("two_link", n, seed)


def test_models_without_muscles_are_refused():
    with pytest.raises(ModelError, match="with muscles"):
        mapping_analysis(replace(load_model("two_link"), muscles=()))


@pytest.mark.parametrize("name", ["two_link", "mapping_analysis"])
def test_the_prescribed_path_comes_close_to_the_lock(name):
    model = load_model(name)
    time, q = figures.prescribed_path(model)
    pair = Pair.of(model)
    phi = convert_coordinates(pair.quaternion.system, pair.euler.system, q)
    ball = pair.balls[0]
    assert 30 < ball.reading.condition(phi[:, ball.phi]).max() < 100
    assert time[0] == 0
    assert np.abs(np.diff(q, axis=0)).max() < 0.05


@pytest.mark.parametrize(("draw", "width"), [("moment_arms", 3), ("quaternion", 4), ("constrained", 3)])
def test_figures_show_both_curves(draw, width):
    model = load_model("two_link")
    axes = matplotlib.figure.Figure(layout="constrained").subplots(2, width)
    figures.plot_mapped(axes, model, *figures.prescribed_path(model), draw)
    for axis in axes.flat:
        direct, mapped = (line.get_ydata() for line in axis.lines)
        if draw == "quaternion":
            assert np.abs(direct - mapped).max() > 0.01
        else:
            np.testing.assert_allclose(direct, mapped, atol=1e-12)
        assert "[m]" in axis.get_title()
    assert {axis.get_xlabel() for axis in axes[-1]} == {"time [s]"}


def test_figures_are_of_the_wanted_muscle_and_file_format(report, tmp_path):
    model = load_model("two_link")
    figures.check_folder(tmp_path, suffix="pdf")
    paths = figures.save_figures(figures.draw_figures(model, report, "m3"), tmp_path, "pdf")
    assert [path.name for path in paths] == [f"{name}.pdf" for name in (*figures.PLOTS, figures.SINGULAR)]
    assert all(path.read_bytes().startswith(b"%PDF") for path in paths)
    with pytest.raises(FileExistsError):
        figures.check_folder(tmp_path, suffix="pdf")
    with pytest.raises(ValueError, match="no muscle"):
        figures.draw_figures(model, report, "m7")
    with pytest.raises(ValueError, match="png, pdf, svg, not 'doc'"):
        figures.check_folder(tmp_path, suffix="doc")


def test_the_file_s_own_axes_are_compared_where_it_has_some():
    """A ball joint over phantom bodies whose axes are not quite orthogonal, between two hinges."""
    model = phantom_arm()
    model = replace(model, muscles=model.muscles[:1])
    pair = Pair.of(model)
    assert [ball.reading.label for ball in pair.balls] == ["(plane, elev, axial)"]
    assert pair.euler.system.coordinate_names == ("glide", "plane", "elev", "axial", "elbow")
    report = mapping_analysis(model, 60)
    assert report.holds
    singular = report.singular[report.singular.approach == "gimbal lock"]
    assert singular["condition"].is_monotonic_increasing


@pytest.mark.parametrize("seed", range(4))
def test_a_point_that_moves_by_an_angle_agrees_beside_the_lock(seed):
    """The ranges of the angles choose the same triple for the quaternion joint as the poses beside the lock have. Its
    Jacobian grows with the condition number, so the error is compared at moderate ones only."""
    axes = (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (-0.08, 0.9968, 0.0)
    axes = tuple(tuple(axis / np.linalg.norm(axis)) for axis in np.array(axes))
    ranges = (-1.5, 3.1), (-0.8, 2.5), (-1.5, 1.5)
    angles = Angles(("plane", "elevation", "rotation"), axes, ranges=ranges)
    arm = Body("arm", "ground", SphericalJoint(angles=angles), mass=2.0)
    moving = MovingPoint(
        "arm", (0.0, 0.0, 0.0), ("elevation", "", ""), (Linear(0.02, 0.02), Constant(-0.2), Constant(0.0))
    )
    muscle = Muscle("m", (PathPoint("ground", (0.1, 0.1, 0.0)), moving), LAW)
    table = approach(Pair.of(Model(ArticulatedSystem((arm,)), (muscle,))), seed)
    lock = table[(table["approach"] == "gimbal lock") & (table["condition"] < 1e3)]
    assert (lock["error"] <= 1e-13 * lock["condition"]).all()


def test_the_advice_is_not_the_option_that_was_given():
    hinge = Body("shin", "ground", CustomJoint(("a", "b"), (Axis((1, 0, 0), 0), Axis((0, 1, 0), 1))), mass=1.0)
    path = (PathPoint("ground", (0.1, 0.1, 0.0)), PathPoint("shin", (0.03, -0.1, 0.02)))
    model = Model(ArticulatedSystem((hinge,)), (Muscle("m", path, LAW),))
    with pytest.raises(ModelError, match="body 'shin': 2 coordinates rotate it") as raised:
        mapping_analysis(model)
    assert "rotations" not in str(raised.value)
