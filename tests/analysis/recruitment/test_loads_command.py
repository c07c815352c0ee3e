"""`myoquat loads` on a model with a constraint: from a file of angles to loads, activations and tensions."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.motion import inverse_dynamics_of_motion, smooth
from myoquat.analysis.motion.smoothing import smooth_angles
from myoquat.analysis.recruitment import EllipticCone, JointCone, joint_loads
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.apps.command import main
from myoquat.apps.commands.loads import solved
from myoquat.apps.commands.parsing import reserves_named, rule_of
from myoquat.core import time_table
from myoquat.data import Markers, Motion, load_markers, load_model, load_motion, load_table, save_table
from myoquat.dynamics.constraints import assemble
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.constraints import PointLoop
from myoquat.joints.types import EulerJoint
from myoquat.muscle import Model, Muscle, PathPoint
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.laws import Millard2012
from tests.analysis.motion.conftest import shown
from tests.bodies import at_rest, on_hinge, on_slide

Z = (0.0, 0.0, 1.0)
LAW = Millard2012(900.0, optimal_fiber_length=0.3, tendon_slack_length=0.1, tendon="rigid")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trunk that slides, a collar bone and a shoulder blade whose ends are held together, and an arm with four
    muscles. The motion is near its constraint."""
    folder = tmp_path_factory.mktemp("loads")
    part = {"mass": 1.0, "center_of_mass": (0.05, -0.1, 0.0), "inertia": (0.01, 0.01, 0.01, 0, 0, 0)}
    bodies = (
        on_slide("trunk", "y", "rise", **part),
        Body("collar", "trunk", EulerJoint("XYZ"), (0, 0.4, 0.02), coordinate_names=("k1", "k2", "k3"), **part),
        Body("blade", "trunk", EulerJoint("XYZ"), (0, 0.3, 0.1), coordinate_names=("s1", "s2", "s3"), **part),
        Body("arm", "blade", EulerJoint("XYZ"), (0.02, 0.05, 0.15), coordinate_names=("a1", "a2", "a3"), **part),
        on_hinge("hand", Z, "e", parent="arm", position=(0, -0.3, 0), **part),
    )
    muscles = tuple(
        Muscle(f"m{k}", (PathPoint("blade", (0.1 * x, 0.15, 0.1 * z)), PathPoint("arm", (0.02 * x, -0.1, 0.02))), LAW)
        for k, (x, z) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1)))
    )
    markers = (Marker("head", "blade", (0.02, 0.05, 0.15)), Marker("centre", "blade", (0.02, 0.05, 0.12)),
               Marker("rim", "blade", (0.02, 0.08, 0.12)))  # fmt: skip
    pin = PointLoop("collar", "blade", (0.0, 0.0, 0.18), (0.0, 0.1, 0.1), name="AC")
    model = Model(ArticulatedSystem(bodies, gravity=(0, -9.81, 0), name="girdle"), muscles, markers=markers,
                  constraints=(pin,))  # fmt: skip
    model.save(folder / "girdle.osim")
    time = np.linspace(0.0, 0.4, 41)
    held = assemble(model, np.outer(np.sin(4 * time), np.linspace(0.02, 0.3, 11)))
    Motion(model, time, held + 3e-5 * np.cos(5 * time)[:, None]).save(folder / "lift.mot")
    return folder


def test_loads_of_a_model_with_a_constraint(folder, capsys):
    """One command brings the motion onto the constraint and stores everything; its loads balance the stored tensions
    and reserves."""
    names = ("loads", "activations", "tensions", "reserves", "constraints")
    files = {name: folder / f"{name}.sto" for name in names}
    arguments = ["loads", str(folder / "girdle.osim"), str(folder / "lift.mot"), str(files["loads"]), "--joint", "arm",
                 "--on", "parent", "--smooth", "-1", "--rotations", "file", "--reserve", "rise=700", "--reserve",
                 "[ks]*=30", "--reserve", "e=20", "--reserve-torque", "10", "--reserve-weight", "rise=0",
                 "--cone", "arm=head,centre,rim"]  # fmt: skip
    for name in names[1:]:
        arguments += [f"--{name}", str(files[name])]
    main([*arguments, "--consistent", "--frame", "parent"])
    out = capsys.readouterr().out
    assert "4 muscles, 41 frames" in out
    off = re.search(r"couplers and constraints are off by (\S+) m, rad at most", out)
    assert float(off[1]) < 1e-10
    assert re.search(r"reserves give at most \[N m, N on slides\]: rise\S* \d", out)
    tables = {name: load_table(path) for name, path in files.items()}
    assert list(tables["activations"]) == list(tables["tensions"]) == ["m0", "m1", "m2", "m3"]
    assert tables["activations"].to_numpy().max() > 0.05
    assert len(tables["reserves"].columns) == 8  # without the three that the constraint drives
    assert list(tables["constraints"])[::9] == ["AC_on_collar_in_ground_fx", "AC_on_blade_in_ground_fx"]
    force = tables["loads"].to_numpy()[:, :3]
    assert (force @ [0, 0, -1] >= np.linalg.norm(force, axis=-1) * np.cos(np.pi / 4) - 1e-6).all()
    given = [*arguments[:4], "--forces", str(files["tensions"]), "--joint", "arm", "--on", "parent", "--frame",
             "parent", "--smooth", "-1", "--rotations", "file", "--consistent", "--force"]  # fmt: skip
    main(given)
    np.testing.assert_allclose(load_table(files["loads"]).to_numpy()[:, :3], force, atol=1e-6 * np.abs(force).max())


def test_angles_are_filtered_as_opensim_does(folder):
    """In the file's angles, whatever describes the joints; rotations are filtered otherwise."""
    model = load_model(folder / "girdle.osim", rotations="quaternion")
    motion = load_motion(folder / "lift.mot", model)
    pulls = time_table(motion.time, dict.fromkeys(model.muscle_names, 0.0))
    save_table(pulls, folder / "slack.sto")
    names = [str(folder / name) for name in ("girdle.osim", "lift.mot", "filtered.sto", "slack.sto")]
    arguments, found = ["loads", *names[:3], "--forces", names[3], "--force"], []
    for option in (["--angles"], []):
        main([*arguments, *option])
        found.append(load_table(names[2]).to_numpy())
    wanted = joint_loads(model, smooth_angles(motion, 6.0, model=model), pulls).to_dataframe().to_numpy()
    np.testing.assert_allclose(found[0], wanted, rtol=1e-12, atol=1e-12)
    assert np.abs(found[0] - found[1]).max() > 1e-9


def test_id_divides_a_motion_between_motors_and_constraints(folder, capsys):
    """As `inverse_dynamics_of_motion` with the same motors does; names and patterns choose them."""
    arguments = ["id", str(folder / "girdle.osim"), str(folder / "lift.mot"), str(folder / "id.sto"), "--rotations",
                 "file"]  # fmt: skip
    model = load_model(folder / "girdle.osim")
    moving = smooth(load_motion(folder / "lift.mot", model), 6.0, model=model)
    motors = free_velocities(model, moving.q)[0]
    assert {"a1_dot", "a2_dot", "a3_dot"} < {*motors}
    named = ["a?", *(name for name in motors if not name.startswith("a"))]
    main([*arguments, *(f"--motor={name}" for name in named), "--constraints", str(folder / "held.sto")])
    assert "8 motors; beside them and the constraints the motion needs" in capsys.readouterr().out
    expected = inverse_dynamics_of_motion(model, moving, motors=motors)
    np.testing.assert_allclose(load_table(folder / "id.sto"), expected.of_coordinates(), atol=1e-12)
    np.testing.assert_allclose(load_table(folder / "held.sto"), expected.constraints.to_dataframe(), atol=1e-12)
    for options, words in ((["--motor", "wrist*"], "no coordinate or velocity 'wrist"),
                           (["--constraints", str(folder / "more.sto")], "--constraints needs --motor")):  # fmt: skip
        with pytest.raises(SystemExit):
            main([*arguments, "--force", *options])
        assert words in capsys.readouterr().err


def test_motion_off_the_constraint_says_which_option_helps(folder):
    model = load_model(folder / "girdle.osim")
    still = at_rest(model, [0.0], model.start + 0.1)
    given = SimpleNamespace(strengths=(), reserve_weights=(), reserve_torque=1.0, reserve_force=1.0, cones=(),
                            least_activation=None)  # fmt: skip
    with pytest.raises(ValueError, match=r"off the model's couplers and constraints.*; --consistent brings it there"):
        solved(given, model, still, None)


def test_reserves_and_cones_are_named(folder, capsys):
    """Strengths in N m and N by name or pattern, the last that fits; angles of the file on ball joints."""
    model = load_model(folder / "girdle.osim")
    q = np.tile(model.start, (2, 1))
    strengths, weights = [("*", 5.0), ("a*", 7.0)], [("rise", 0.0)]
    found = {r.name.removesuffix("_dot"): r for r in reserves_named(model, q, strengths[1:], weights, (2.0, 50.0))}
    assert (found["rise"].strength, found["rise"].weight) == (50.0, 0.0)
    assert (found["a1"].strength, found["e"].strength, found["e"].weight) == (7.0, 2.0, 1.0)
    assert {r.strength for r in reserves_named(model, q, strengths[:1], [], (2.0, 50.0))} == {5.0}
    ball = model.with_rotations("quaternion")
    names = {r.name for r in reserves_named(ball, q_of(ball), [("a2", 3.0)], [], (2.0, 50.0))}
    assert {"a1", "a2", "a3"} <= names
    assert "arm.omega_x" not in names
    assert "arm.omega_x" in {r.name for r in reserves_named(ball, q_of(ball), [], [], (2.0, 50.0))}
    with pytest.raises(ValueError, match="no free coordinate or velocity 'elbow'"):
        reserves_named(model, q, [("elbow", 1.0)], [], (1.0, 1.0))
    ellipse = rule_of(model, "arm=head,centre,rim", "ellipse")
    assert isinstance(ellipse, EllipticCone)
    assert ellipse.axis == (0.0, 1.0, 0.0)
    assert rule_of(model, "arm=0,0,-1,30") == JointCone("arm", (0.0, 0.0, -1.0), float(np.radians(30)))
    for option, words in ((["--reserve", "10"], "--reserve-torque"), (["--cone", "arm=1,2"], "--cone is JOINT=HEAD"),
                          (["--least-activation", "2"], "must lie in")):  # fmt: skip
        with pytest.raises(SystemExit):
            main(["loads", *(str(folder / name) for name in ("girdle.osim", "lift.mot", "no.sto")), *option])
        assert words in capsys.readouterr().err


def q_of(model):
    return np.tile(model.start, (2, 1))


def test_loads_from_markers_are_those_of_the_motion_behind_them(folder, capsys):
    """Markers are fitted with the constraint held, so that the loads are those of the motion that made them."""
    model = load_model(folder / "girdle.osim")
    corners = ((0.1, 0.0, 0.0), (0.0, 0.12, 0.0), (0.0, 0.0, 0.14))
    marked = tuple(Marker(f"{b}{k}", b, p) for b in ("trunk", "collar", "blade", "arm", "hand")
                   for k, p in enumerate(corners))  # fmt: skip
    model = replace(model, markers=marked)
    model.save(folder / "marked.osim")
    motion = load_motion(folder / "lift.mot", model)
    held = assemble(model, motion.q)
    shown(model, replace(motion, q=held)).save(folder / "lift.trc")
    Motion(model, motion.time, held).save(folder / "held.mot")
    tables = []
    for source in ("lift.trc", "held.mot"):
        main(["loads", str(folder / "marked.osim"), str(folder / source), str(folder / f"{source}.sto"), "--joint",
              "arm", "--smooth", "-1", "--consistent", "--rotations", "file", "--reserve-torque", "30",
              "--reserve-force", "700"])  # fmt: skip
        tables.append(load_table(folder / f"{source}.sto").to_numpy())
    assert "0 not converged" in capsys.readouterr().out
    np.testing.assert_allclose(tables[0], tables[1], atol=1e-4 * np.abs(tables[1]).max())


def test_the_report_says_how_well_markers_fit_and_how_large_forces_are(folder, capsys):
    """A marker 0.3 m off is remarked upon; the page names the command, the version, the filter and the weight."""
    model = load_model(folder / "marked.osim")
    recorded = load_markers(folder / "lift.trc")
    positions = recorded.positions.copy()
    positions[:, 0] += 0.3
    Markers(recorded.time, recorded.names, positions).save(folder / "off.trc")
    files = [str(folder / name) for name in ("marked.osim", "off.trc", "off.sto")]
    main(["loads", *files, "--consistent", "--reserve-torque", "30", "--reserve-force", "700", "--body-mass", "70",
          "--report", str(folder / "off.html")])  # fmt: skip
    assert "Markers fit badly" in capsys.readouterr().out
    page = (folder / "off.html").read_text()
    for words in ("Markers fit badly", "filtered at 6 Hz, rotations", "Errors of markers, the worst first",
                  "worst marker", "greatest [% of the weight of 70 kg]", f"myoquat {mq.__version__}", "myoquat loads",
                  "--body-mass 70"):  # fmt: skip
        assert words in page
    table = load_table(folder / "off.sto")
    size = np.linalg.norm(table.filter(regex="arm_on_.*_f[xyz]$").to_numpy(), axis=1).max()
    assert f"<td>{size:.4g}</td>" in page
    assert model.muscles
