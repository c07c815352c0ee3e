"""Two models beside each other: what is equal, what was changed by a known amount, names, and engines."""

import importlib.util
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis import compare_models
from myoquat.analysis.comparison.sides import match_names
from myoquat.apps.command import main
from myoquat.apps.drawing import write_comparison_report
from myoquat.joints import EulerJoint, FixedJoint
from myoquat.joints.constraints import Distance
from myoquat.joints.functions import Linear
from myoquat.muscle import PathPoint, WrapSphere
from myoquat.muscle.coordinates import Coordinate, Coupler
from myoquat.muscle.laws import PathActuator, RigidTendonMuscle
from tests.analysis.motion.test_tools import saved
from tests.bodies import afloat, on_hinge, with_muscles

FIXED = """<mujoco><worldbody><body name="a"><joint name="x" type="slide" range="-1 1"/><geom size="0.1"/></body>
<body pos="0 1 0"><joint name="y" axis="1 0 0"/><geom size="0.1" pos="0.2 0 0.1"/></body></worldbody>
<tendon><fixed name="t" stiffness="2" frictionloss="0.1"><joint joint="x" coef="-2"/></fixed>
<fixed name="spring" stiffness="3"><joint joint="x" coef="1"/></fixed></tendon><actuator>
<general tendon="t" gainprm="5" dyntype="filter" dynprm="0.1" ctrlrange="-1 2"/></actuator></mujoco>"""
ORIGIN, INSERTION = 0.4, 0.3  # [m] above the hinge, along the rod


def arm(strength=100.0, insertion=INSERTION, names=("elbow", "biceps", "rod")):
    """A rod on a hinge with a muscle past nothing and one around a sphere."""
    elbow, biceps, rod = names
    bodies = (on_hinge(rod, "y", elbow, mass=1.5, center_of_mass=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02)),)
    path = PathPoint("ground", (0.0, 0.0, ORIGIN)), PathPoint(rod, (insertion, 0.0, 0.0))
    around = PathPoint("ground", (0.1, 0.05, -0.3)), PathPoint(rod, (0.25, 0.05, 0.0))
    wrap = WrapSphere(body="ground", position=(0.05, 0.05, -0.05), radius=0.04, name="bone")
    muscles = (
        mq.Muscle(biceps, path, PathActuator(strength)),
        mq.Muscle("triceps", mq.muscle.MusclePath(around, wraps=(wrap,)), PathActuator(200.0)),
    )
    range_of_motion = (Coordinate(elbow, (-1.0, 1.2), clamped=True),)
    return mq.Model(mq.ArticulatedSystem(bodies, name="arm"), muscles, name="arm", coordinates=range_of_motion)


def row(found, name, quantity):
    table = found.table
    (index,) = table.index[(table["name"] == name) & (table["quantity"] == quantity)]
    return table.loc[index]


def test_files_of_two_formats_agree(tmp_path):
    files = [tmp_path / "arm.osim", tmp_path / "arm.xml"]
    for file in files:
        arm().save(file, strict=True)
    found = compare_models(*files, poses=40)
    assert found.agrees(1e-9), found.to_text()
    assert found.unmatched == {}
    assert found.compared == 40
    assert list(found.muscles.index) == ["biceps", "triceps"]
    assert list(found.bodies.index) == ["rod"]


def test_changed_strength_shows_in_the_force_alone():
    found = compare_models(arm(), arm(strength=110.0), poses=30)
    assert row(found, "biceps", "force")["relative"] == pytest.approx(0.1)
    assert row(found, "biceps", "force")["greatest"] == row(found, "biceps", "force")["RMS"] == pytest.approx(10.0)
    others = found.table[~((found.table["name"] == "biceps") & (found.table["quantity"] == "force"))]
    assert others["greatest"].max() == 0.0
    assert not found.agrees(0.09)
    assert found.agrees(0.11)


def test_a_quantity_that_is_zero_in_the_first_model_alone_differs_without_bound():
    found = compare_models(arm(strength=0.0), arm(), poses=3)
    assert row(found, "biceps", "force")["relative"] == found.largest == np.inf
    assert not found.agrees(1e9)
    assert row(found, "triceps", "force")["relative"] == 0.0
    for muscle, quantity, over, words in (
        ("calf", "length", "elbow", "no partner of 'calf'"),
        ("biceps", "force", "knee", "no partner of 'knee'"),
        ("biceps", "speed", "elbow", "quantity must be one of length"),
    ):
        with pytest.raises(ValueError, match=words):
            found.curves(muscle, quantity, over, np.zeros(2))


def test_moved_insertion_shows_by_the_law_of_cosines():
    found = compare_models(arm(), arm(insertion=INSERTION + 0.01), poses=50, seed=3)
    angle = np.pi / 2 + np.linspace(-1.0, 1.2, 5)  # between the lines from the hinge to both ends
    lengths = [np.sqrt(ORIGIN**2 + r**2 - 2 * ORIGIN * r * np.cos(angle)) for r in (INSERTION, INSERTION + 0.01)]
    for one, two in zip(found.curves("biceps", "length", "elbow", angle - np.pi / 2), lengths, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)
    arms = [r * ORIGIN * np.sin(angle) / l for r, l in zip((INSERTION, INSERTION + 0.01), lengths, strict=True)]
    for one, two in zip(found.curves("biceps", "moment arm", "elbow", angle - np.pi / 2), arms, strict=True):
        np.testing.assert_allclose(-one, two, rtol=1e-12)
    length = row(found, "biceps", "length")
    assert 0 < length["RMS"] < length["greatest"] <= 0.01
    assert row(found, "biceps", "moment arm")["coordinate"] == "elbow"
    assert row(found, "triceps", "length")["greatest"] == 0.0
    assert found.worst(1)["name"].item() == "biceps"


def test_a_floating_body_and_one_without_coordinates_are_compared():
    box = afloat("box", inertia=0.1)
    path = PathPoint("ground", (0.0, 0.0, 1.0)), PathPoint("box", (0.1, 0.0, 0.0))
    model = mq.Model(mq.ArticulatedSystem((box,)), (mq.Muscle("rope", path),))
    found = compare_models(model, model, poses=3)
    assert found.agrees(0.0)
    assert list(found.arms) == [f"box.torque_{axis} [child]" for axis in "xyz"]
    empty = mq.Model(mq.ArticulatedSystem((), name="empty"))
    with pytest.raises(ValueError, match="has no bodies to compare"):
        compare_models(empty, empty)
    fixed = mq.Model(mq.ArticulatedSystem((replace(box, joint=mq.joints.FixedJoint()),)))
    assert compare_models(fixed, fixed, poses=3).agrees(0.0)


def test_changed_mass_centre_and_inertia_show_by_body():
    model = arm()
    system = model.system.with_body(
        "rod", mass=1.8, center_of_mass=(0.2, 0.03, 0.04), inertia=(0.01, 0.025, 0.02, 0, 0, 0)
    )
    found = compare_models(model, replace(model, system=system), poses=5)
    assert row(found, "rod", "mass")["relative"] == pytest.approx(0.2)
    assert row(found, "rod", "centre")["greatest"] == pytest.approx(0.05)
    assert row(found, "rod", "centre in the ground")["greatest"] == pytest.approx(0.05)
    assert row(found, "rod", "inertia")["relative"] == pytest.approx(0.1)


def test_names_that_differ_are_mapped_or_listed():
    other = arm(names=("Elbow_", "BB", "forearm"))
    with pytest.raises(ValueError, match="no body of arm"):
        compare_models(arm(), other, poses=3)
    found = compare_models(arm(), other, bodies={"rod": "forearm"}, poses=3)
    assert found.unmatched == {"muscles of A": ("biceps",), "muscles of B": ("BB",)}
    assert found.coordinates["matched by"].tolist() == ["same letters and digits"]
    assert not found.agrees(1.0)
    whole = compare_models(arm(), other, bodies={"rod": "forearm"}, muscles={"biceps": "BB"}, poses=3)
    assert whole.agrees(0.0)
    assert whole.muscles.loc["biceps", "in B"] == "BB"
    with pytest.raises(ValueError, match="no name among the muscles of B: 'BX'"):
        compare_models(arm(), other, muscles={"biceps": "BX"}, poses=3)


def test_ambiguous_names_have_no_partner():
    found = match_names("muscles", ("a.1", "b", "c"), ("A_1", "a-1", "c", "B"))
    assert found.names == {"b": "B", "c": "c"}
    assert found.only_first == ("a.1",)
    assert found.only_second == ("A_1", "a-1")
    with pytest.raises(ValueError, match="two names are mapped to 'c'"):
        match_names("muscles", ("a", "b"), ("c",), {"a": "c", "b": "c"})


def with_wrist(slope):
    model = arm()
    hand = on_hinge("hand", "y", "wrist", parent="rod", position=(0.3, 0, 0), mass=0.3, inertia=0.001)
    system = mq.ArticulatedSystem((*model.system.bodies, hand), name="arm")
    path = PathPoint("ground", (0.0, 0.0, ORIGIN)), PathPoint("hand", (0.1, 0.0, 0.0))
    couplers = () if slope is None else (Coupler("synergy", "wrist", "elbow", Linear(slope)),)
    return replace(model, system=system, muscles=(mq.Muscle("flexor", path),), couplers=couplers)


def test_couplers_act_on_moment_arms_and_differences_of_them_are_reported():
    found = compare_models(with_wrist(0.5), with_wrist(0.8), poses=30)
    assert row(found, "wrist", "value")["greatest"] == pytest.approx(
        0.6 * row(found, "wrist", "value")["greatest of A"], rel=1e-9
    )
    assert "Couplers or constraints set coordinates differently: wrist" in found.to_text()
    assert list(found.arms) == ["elbow"]
    x, h = np.linspace(-0.5, 0.5, 4), 1e-6
    one, _ = found.curves("flexor", "moment arm", "elbow", x)
    lengths = [found.curves("flexor", "length", "elbow", x + k * h)[0] for k in (1, -1)]
    np.testing.assert_allclose(one, -(lengths[0] - lengths[1]) / (2 * h), atol=1e-9)


def test_a_missing_law_is_a_difference():
    found = compare_models(with_wrist(None), with_wrist(None), poses=2)
    assert found.agrees(0.0)  # neither has a law
    model = with_wrist(None)
    driven = replace(model, muscles=(replace(model.muscles[0], law=PathActuator(1.0)),))
    found = compare_models(model, driven, poses=2)
    assert not found.agrees(1.0)
    assert "One side alone has a value, at some poses or all, of force of 1: flexor" in found.to_text()


def test_bodies_without_mass_have_no_centre_to_compare(tmp_path):
    model = arm()
    frame = mq.Body("frame", "rod", FixedJoint(), center_of_mass=(0.8, 0, 0))
    one, two = (
        replace(model, system=mq.ArticulatedSystem((*model.system.bodies, body)))
        for body in (frame, replace(frame, center_of_mass=(0.0, 0, 0)))
    )
    found = compare_models(one, two, poses=5)
    assert found.agrees(1e-12), found.to_text()
    assert set(found.table[found.table["name"] == "frame"]["quantity"]) == {"mass", "inertia"}
    write_comparison_report(found, tmp_path / "x.html")
    assert "nan" not in (tmp_path / "x.html").read_text().lower()


@pytest.mark.peers
@pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="mujoco is not installed")
def test_mujoco_reads_the_file_as_this_package(tmp_path):
    model = mq.load_model("two_link")
    driven = with_muscles(model, law=PathActuator(50.0))
    driven.save(tmp_path / "two.xml")
    wrist = with_wrist(0.5)
    wrist = replace(wrist, muscles=(replace(wrist.muscles[0], law=PathActuator(10.0)),))
    wrist.save(tmp_path / "wrist.xml")
    balls = compare_models(tmp_path / "two.xml", poses=10)
    assert balls.agrees(1e-12), balls.to_text()
    assert "A.torque_x [child]" in balls.arms
    fixed = tmp_path / "fixed.xml"
    fixed.write_text(FIXED)
    found = compare_models(fixed, poses=5)
    assert found.agrees(1e-12), found.to_text()
    assert list(found.muscles.index) == ["t", "t_2", "t_3", "spring"]  # the actuator, its tendon's spring and friction
    coupled = compare_models(tmp_path / "wrist.xml", poses=10)
    assert coupled.agrees(1e-12)
    assert coupled.coordinates.filter(like="greatest").to_numpy().max() < 1e-12


def in_opensim(test):
    missing = importlib.util.find_spec("opensim") is None
    return pytest.mark.peers(pytest.mark.skipif(missing, reason="opensim is not installed")(test))


ROD = (Distance("hand", "ground", (0.3, 0.0, 0.0), (0.1, 0.2, 0.3), 0.4, name="rod"),)
SEVERAL = """
import sys
from myoquat.apps.command import main
for file in sys.argv[1:]:
    print(main(["compare", file, "--engine", "--poses", "5", "--tolerance", "1e-6"]), end="####")
"""


@pytest.fixture(scope="module")
def beside_opensim(tmp_path_factory):
    """What the command says of files beside OpenSim, all in one process."""
    folder, (first, second) = tmp_path_factory.mktemp("opensim"), arm().muscles
    law = RigidTendonMuscle(100.0, optimal_fiber_length=0.1, tendon_slack_length=0.2)
    replace(arm(), muscles=(replace(first, law=law), second)).save(folder / "arm.osim")
    replace(arm(), muscles=(first, twice_around(second))).save(folder / "twice.osim")
    balls = (saved(on_ball(held), folder / f"{name}.osim") for name, held in (("ball", ()), ("held", ROD)))
    files = folder / "arm.osim", folder / "twice.osim", *balls
    done = subprocess.run([sys.executable, "-c", SEVERAL, *files], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return dict(zip(("arm", "twice", "ball", "held"), done.stdout.split("####"), strict=False))


def twice_around(muscle):
    """Two pieces meet the sphere. OpenSim goes round it on one, and past its centre at 11 mm on the other."""
    (wrap,) = muscle.path.wraps
    x, y, z = wrap.position
    ways = (-0.1, 0.011), (0.1, 0.011), (-0.1, 0.011), (-0.1, 0.1)
    path = *(PathPoint("ground", (x + dx, y, z + dz)) for dx, dz in ways), PathPoint("rod", (0.0, 0.0, 0.0))
    return replace(muscle, path=mq.muscle.MusclePath(path, wraps=(wrap,)))


def on_ball(held=()):
    """A hand on a hinge of an arm on a ball joint."""
    solid = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1, 0, 0, 0)}
    upper = mq.Body("upper", "ground", EulerJoint("XYZ"), coordinate_names=("x", "y", "z"), **solid)
    hand = on_hinge("hand", "y", "elbow", parent="upper", position=(0.2, 0, 0), **solid)
    path = PathPoint("ground", (0.05, 0.1, 0.1)), PathPoint("hand", (0.1, 0.02, 0.03))
    ranges = tuple(Coordinate(name, (-0.6, 0.6)) for name in ("x", "y", "z", "elbow"))
    return mq.Model(
        mq.ArticulatedSystem((upper, hand)), (mq.Muscle("m", path, PathActuator(1.0)),), coordinates=ranges,
        constraints=held,
    )  # fmt: skip


@in_opensim
def test_opensim_reads_the_file_as_this_package(beside_opensim):
    """Its RigidTendonMuscle takes the activation from its control."""
    said = beside_opensim["arm"]
    assert said.endswith("None"), said
    assert "in OpenSim" in said
    assert "without a partner" not in said


@in_opensim
def test_a_path_of_opensim_that_runs_through_a_surface_says_so(beside_opensim):
    said = beside_opensim["twice"]
    assert "longer in A around bone; that of B runs through bone by 29 mm there" in said, said


@in_opensim
@pytest.mark.parametrize("name", ["ball", "held"])
def test_arms_of_a_ball_are_about_the_axes_that_opensim_takes(beside_opensim, name):
    """Its speeds are an angular velocity, which also says what moves least along constraints."""
    assert beside_opensim[name].endswith("None"), beside_opensim[name]


def test_command_writes_page_and_table_and_tells_by_its_exit_code(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arm().save("a.toml")
    arm(strength=110.0, names=("elbow", "BB", "rod")).save("b.toml")
    options = ["--muscle", "biceps=BB", "--poses", "3", "--tolerance"]
    assert main(["compare", "a.toml", "b.toml", *options, "0.2", "--report", "c.html", "--table", "c.csv"]) is None
    printed = capsys.readouterr().out
    assert "muscles with different names: biceps = BB" in printed
    assert "wrote c.html" in printed
    page = (tmp_path / "c.html").read_text()
    assert "<h2>Muscles</h2>" in page  # whose names differ
    assert "<h2>Coordinates, all matched by the same name</h2>" in page
    assert ":</li>" not in page  # no line that a table of the text follows
    assert re.search(r"<th>elbow</th>\s*<td>rad</td>", page)
    assert (tmp_path / "c.csv").read_text().startswith("part,name,in B")
    assert main(["compare", "a.toml", "b.toml", *options, "0.05"]) == 1
    for wrong in (["a.toml"], ["a.toml", "b.toml", "--engine"], ["a.toml", "b.toml", "--muscle", "biceps"]):
        with pytest.raises(SystemExit, match="2"):
            main(["compare", *wrong])
    with pytest.raises(SystemExit, match="2"):
        main(["compare", "a.toml", "--engine"])
    assert "no engine owns this format" in capsys.readouterr().err


def test_poses_of_a_motion_take_the_place_of_random_ones(tmp_path):
    """The muscle's length by the law of cosines, at an angle that only the motion has."""
    time = np.linspace(0.0, 1.0, 50)
    motion = mq.data.Motion(arm().system, time, 0.3 + 0.1 * time[:, None])
    motion.save(tmp_path / "x.mot")
    far = arm(insertion=0.35)
    for given in (motion, tmp_path / "x.mot"):
        found = compare_models(arm(), far, motion=given, poses=10)
        angle = np.pi / 2 + np.linspace(0.3, 0.4, 50)[np.linspace(0, 49, 10).round().astype(int)]
        one, two = (np.sqrt(ORIGIN**2 + x**2 - 2 * ORIGIN * x * np.cos(angle)) for x in (INSERTION, 0.35))
        assert row(found, "biceps", "length")["greatest"] == pytest.approx(np.abs(one - two).max(), rel=1e-6)
        assert "10 poses of " in found.to_text()
    assert f"its path is up to {np.abs(one - two).max() * 1e3:.3g} mm longer in B" in found.to_text()
    run = mq.simulate(arm(), duration=0.1, step=1e-2, activation=[0.5, 0.5])
    assert "11 poses of the motion" in compare_models(arm(), far, motion=run).to_text()
    with pytest.raises(ValueError, match="another system"):
        compare_models(arm(names=("elbow", "biceps", "bone")), far, bodies={"bone": "rod"}, motion=motion)


def test_a_motion_whose_header_lacks_units_is_read_by_options(tmp_path, capsys):
    """A file of angles in radians with a column of another model, as programs of laboratories write it."""
    arm().save(tmp_path / "a.toml")
    lines = ["x", "nRows=2", "nColumns=3", "endheader", "time\telbow\tneck", "0\t0.2\t1", "1\t0.4\t2"]
    (tmp_path / "x.mot").write_text("\n".join(lines) + "\n")
    model, motion = str(tmp_path / "a.toml"), str(tmp_path / "x.mot")
    reading = ["--radians", "--ignore", "neck"]
    assert main(["compare", model, model, "--motion", motion, *reading]) is None
    assert "2 poses of the motion" in capsys.readouterr().out
    assert main(["convert", model, str(tmp_path / "y.mot"), "--motion", motion, *reading]) is None
    again = mq.data.load_motion(tmp_path / "y.mot", arm())
    np.testing.assert_allclose(again.q[:, 0], [0.2, 0.4], atol=1e-12)
    size = ["--size", "64", "48", "--rate", "2"]
    assert main(["film", model, motion, str(tmp_path / "x.gif"), *reading, *size]) is None
    for command in (["compare", model, model, "--motion", motion], ["film", model, motion, str(tmp_path / "z.gif")]):
        with pytest.raises(SystemExit):
            main([*command, "--ignore", "neck"])
        assert "--degrees or --radians" in capsys.readouterr().err
