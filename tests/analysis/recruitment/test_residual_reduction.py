"""Residual reduction: consistent motions stay, inconsistent ones meet their bounds, masses are found, setups run."""

import itertools
import re
from dataclasses import replace

import matplotlib.figure
import numpy as np
import pytest
from numpy.testing import assert_allclose

import myoquat as mq
from myoquat.analysis import motion as mo
from myoquat.analysis.motion import inverse_dynamics_of_motion
from myoquat.analysis.recruitment import ResidualOptions, dynamically_consistent, residual_reduction
from myoquat.apps.opensim_tools import run_setup
from myoquat.apps.opensim_tools.tools import BOUND
from myoquat.data import load_table
from myoquat.joints import quaternion_exp
from myoquat.muscle.coordinates import Coupler
from tests.bodies import afloat, on_ball, on_hinge, on_joint, on_slide

TIME = np.linspace(0.0, 0.6, 41)


LEG = {"mass": 8.0, "center_of_mass": (0.0, -0.2, 0.0), "inertia": (0.2, 0.05, 0.2)}
TRUNK = {"mass": 30.0, "inertia": (1.5, 0.7, 1.4)}


@pytest.fixture(scope="module")
def walked():
    """A trunk that floats, on two legs, a motion, and the loads at the trunk's origin that leave no residual."""
    bodies = (
        afloat("trunk", center_of_mass=(0.02, 0.1, 0.0), **TRUNK),
        on_hinge("right", parent="trunk", position=(0.0, -0.1, 0.1), **LEG),
        on_ball("left", parent="trunk", position=(0.0, -0.1, -0.1), **LEG),
    )
    model = mq.Model(mq.ArticulatedSystem(bodies, gravity=(0.0, -9.81, 0.0)))
    turn = quaternion_exp(0.2 * np.stack([np.sin(6 * TIME), np.cos(5 * TIME), np.sin(4 * TIME)], axis=-1))
    leg = quaternion_exp(0.4 * np.stack([np.sin(5 * TIME), 0 * TIME, np.sin(9 * TIME)], axis=-1))
    there = np.stack([1.2 * TIME, 1.0 + 0.02 * np.sin(12 * TIME), 0.02 * np.sin(6 * TIME)], axis=-1)
    q = np.concatenate([there, turn, 0.4 * np.sin(7 * TIME)[:, None], leg], axis=1)
    motion = mo.differentiate(mo.Motion(model, TIME, q))
    tau = inverse_dynamics_of_motion(model, motion).torque[:, :6]
    R, point = model.system.poses(q)["trunk"]
    force, torque = (np.einsum("tij,tj->ti", R, part)[:, None] for part in (tau[:, :3], tau[:, 3:]))
    return model, motion, mo.Forces(TIME, ("ground",), ("trunk",), force, point[:, None], torque)


def test_a_consistent_motion_stays(walked):
    model, motion, loads = walked
    found = dynamically_consistent(model, motion, loads, options=ResidualOptions(body="trunk", mass_factor=0.02))
    assert found.success
    assert np.abs(found.before).max() < 1e-6
    assert_allclose(found.motion.q, motion.q, atol=1e-6)
    assert_allclose([found.mass_factor, *found.shift], [1, 0, 0, 0], atol=1e-6)
    assert list(found.to_dataframe().columns) == ["FX", "FY", "FZ", "MX", "MY", "MZ"]
    assert found.to_xarray()["residual"].shape == (41, 6)
    assert isinstance(found.plot(), matplotlib.figure.Figure)


@pytest.mark.parametrize("body", ["trunk", "left", "sled"])
def test_derivatives_by_the_masses_are_differences(body, walked):
    """Of all masses and inertias together, and of a center of mass, also where it is the reference of the moment, and
    of a root that does not turn."""
    model, motion, loads = walked
    if body == "sled":
        root = on_slide(body, center_of_mass=(0.02, 0.1, 0.0), **TRUNK)
        model = mq.Model(mq.ArticulatedSystem((root, on_hinge("leg", parent=body, **LEG))))
        moves = 0.1 * np.stack([np.sin(6 * TIME), np.cos(5 * TIME)], axis=-1)
        motion, loads = mo.differentiate(mo.Motion(model, TIME, moves)), None
    changes = residual_reduction._Changes.of(model, motion, ResidualOptions(body=body, mass_factor=0.1))

    def residual(x):
        changed = changes.model(x)
        return residual_reduction._residual(changed, replace(motion, system=changed.system), loads, 0)

    zero = np.zeros(changes.size)
    slopes = residual_reduction._slopes(model, motion, loads, changes, zero, residual(zero)).masses
    for k, h in enumerate(1e-6 * np.eye(changes.size)[-4:]):
        assert_allclose(slopes[..., k], (residual(h) - residual(-h)) / 2e-6, atol=1e-5)


@pytest.mark.parametrize("frame", ["child", "parent"])
def test_an_inconsistent_motion_meets_its_bounds_with_quaternions(frame, walked):
    model, motion, loads = walked
    model = replace(model, system=replace(model.system, velocity_frame=frame))
    wrong = np.array(motion.q)
    wrong[:, 1] += 0.003 * np.sin(25 * TIME)
    wrong[:, 7] += 0.03 * np.sin(15 * TIME)
    wrong = mo.differentiate(mo.Motion(model, TIME, wrong))
    options = ResidualOptions(force=2.0, torque=0.5)
    found = dynamically_consistent(model, wrong, loads, options=options)
    assert np.abs(found.before[:, :3]).max() > 50
    assert found.success
    assert found.check() is found
    assert np.abs(found.residual).max(axis=0)[:3].max() <= 2.0 * 1.001
    assert np.abs(found.residual).max(axis=0)[3:].max() <= 0.5 * 1.001
    assert np.abs(found.motion.system.difference(wrong.q, found.motion.q)).max() < 0.05
    # inverse dynamics of the result, by itself: the generalized forces of the root are small too
    again = inverse_dynamics_of_motion(
        found.model, mo.differentiate(mo.Motion(found.model, TIME, found.motion.q)), loads
    )
    assert np.abs(again.torque[3:-3, :3]).max() < 2.0 * np.sqrt(3) + 0.1


def test_wrong_masses_are_found(walked):
    model, motion, loads = walked
    bodies = {body.name: body for body in model.system.bodies}
    heavy = {
        name: replace(b, mass=1.03 * b.mass, inertia=tuple(1.03 * x for x in b.inertia)) for name, b in bodies.items()
    }
    heavy["trunk"] = replace(heavy["trunk"], center_of_mass=(0.04, 0.1, 0.01))
    wrong = replace(model, system=replace(model.system, bodies=tuple(heavy.values())))
    options = ResidualOptions(force=0.1, torque=0.1, body="trunk", mass_factor=0.5, shift=0.5, angle=1e-3, length=1e-4)
    found = dynamically_consistent(
        wrong, mo.Motion(wrong, TIME, motion.q, motion.u, motion.udot), loads, options=options
    )
    assert found.success
    assert_allclose(found.mass_factor, 1 / 1.03, atol=1e-3)
    assert_allclose(found.shift, [-0.02, 0, -0.01], atol=2e-3)
    assert_allclose(found.masses().loc["trunk", "mass"], 30.0, atol=0.05)


def test_factors_are_those_of_the_model_where_no_step_lowers_the_cost(walked, monkeypatch):
    """Every step is halved as often as allowed, since each cost is above the one before."""
    (model, motion, loads), costs = walked, itertools.count(0.0)
    monkeypatch.setattr(residual_reduction._Changes, "cost", lambda *_: next(costs))
    heavy = replace(model, system=model.system.with_body("trunk", mass=35.0))
    options = ResidualOptions(body="trunk", mass_factor=0.02, max_iterations=2)
    moved = mo.Motion(heavy, TIME, motion.q, motion.u, motion.udot)
    found = dynamically_consistent(heavy, moved, loads, options=options)
    assert found.mass_factor != 1
    for after, before in zip(found.model.system.bodies, heavy.system.bodies, strict=True):
        assert after.mass / before.mass == pytest.approx(found.mass_factor, rel=1e-12)


def test_weights_decide_which_coordinates_change(walked):
    model, motion, loads = walked
    wrong = np.array(motion.q)
    wrong[:, 1] += 0.002 * np.sin(25 * TIME)
    wrong = mo.differentiate(mo.Motion(model, TIME, wrong))
    free, held = (
        dynamically_consistent(model, wrong, loads, options=ResidualOptions(weights=weights)).changes()["right.angle"]
        for weights in ({"right.angle": 1e-2}, {"right*": 1e4})
    )
    assert np.abs(held).max() < 0.1 * np.abs(free).max()


def test_couplers_hold(walked):
    bodies = list(walked[0].system.bodies)
    bodies[2] = replace(bodies[2], joint=mq.joints.RevoluteJoint((0, 0, 1)))
    model = mq.Model(
        mq.ArticulatedSystem(tuple(bodies), gravity=(0, -9.81, 0)),
        couplers=(Coupler("swing", "left.angle", "right.angle", mq.joints.functions.Linear(-1.0)),),
    )
    q = np.zeros((len(TIME), 9))
    q[:, 1], q[:, 3] = -4.7 * TIME**2, 1.0
    q[:, 7] = 0.3 * np.sin(8 * TIME)
    q[:, 8] = -q[:, 7]
    found = dynamically_consistent(model, mo.Motion(model, TIME, q), options=ResidualOptions(force=1.0, torque=0.2))
    assert found.success
    assert np.abs(found.before).max() > 5
    assert_allclose(found.motion.q[:, 8], -found.motion.q[:, 7], atol=1e-9)


def test_bounds_that_cannot_be_met_are_reported(walked):
    model, motion, loads = walked
    short = replace(motion, **{x: getattr(motion, x)[:20] for x in ("time", "q", "u", "udot")})
    loads = replace(loads, force=loads.force + np.array([0.0, 5000.0, 0.0]))
    options = ResidualOptions(force=1e-3, torque=1e-3, interval=1.0, max_iterations=2)
    found = dynamically_consistent(model, short, loads, options=options)
    assert not found.success
    with pytest.raises(mq.NotSolvedError, match="MORE THAN ITS BOUNDS"):
        found.check()
    *components, cause = found.reasons()
    assert components[0].startswith("F")
    assert "more than its bound of 0.001 N" in components[0]
    assert cause.startswith("the recorded motion needs 5e+03 N, more than the weight of 451 N: filter it")


def test_wrong_arguments_are_rejected(walked):
    model, motion, loads = walked
    pair = mq.Model(mq.ArticulatedSystem(tuple(afloat(n) for n in "ab")))
    both = mo.Motion(pair, TIME, np.tile(pair.start, (len(TIME), 1)))
    for who, what, options, message in (
        (model, motion, {"body": "trunc"}, "body 'trunc'"),
        (model, motion, {"weights": {"hip": 1.0}}, "free velocity or coordinate"),
        (model, motion, {"force": 0.0}, "force must be positive and finite, not 0"),
        (model, motion, {"shift": -1.0}, "shift must be finite and not negative"),
        (pair, both, {}, "one body that moves on the ground is needed, not a, b"),
    ):
        with pytest.raises(ValueError, match=message):
            dynamically_consistent(who, what, loads if who is model else None, options=ResidualOptions(**options))


# ---- RRATool -----------------------------------------------------------------------------------------------------

SETUP = """<OpenSimDocument Version="40000"><RRATool name="walk">
<model_file>leg.osim</model_file><replace_force_set>{replaces}</replace_force_set>
<force_set_files>motors.xml</force_set_files><results_directory>Results</results_directory>
<initial_time>0.05</initial_time><final_time>0.5</final_time><desired_kinematics_file>walk.mot</desired_kinematics_file>
<task_set_file>tasks.xml</task_set_file><lowpass_cutoff_frequency>-1</lowpass_cutoff_frequency>
<adjust_com_to_reduce_residuals>true</adjust_com_to_reduce_residuals><adjusted_com_body>{body}</adjusted_com_body>
<output_model_file>adjusted.osim</output_model_file></RRATool></OpenSimDocument>"""


def planar(folder, replaces="true", body="trunk"):
    """A setup of a trunk on slides and a hinge, with a leg, whose fall is recorded wrongly."""
    bodies = (
        on_joint("trunk", mq.joints.PlanarJoint(), center_of_mass=(0.0, 0.1, 0.0), **TRUNK),
        on_hinge("leg", parent="trunk", position=(0.0, -0.1, 0.0), **LEG),
    )
    model = mq.Model(mq.ArticulatedSystem(bodies, gravity=(0.0, -9.81, 0.0)))
    model.save(folder / "leg.osim", overwrite=True)
    again = mq.load_model(folder / "leg.osim", "file")
    names = again.system.coordinate_names
    q = np.zeros((len(TIME), len(names)))
    q[:, names.index("leg.angle") if "leg.angle" in names else len(names) - 1] = 0.3 * np.sin(8 * TIME)
    units = again.system.coordinate_units
    vertical = [k for k, name in enumerate(names) if units[name] == "m"][1]
    q[:, vertical] = -4.7 * TIME**2
    mo.Motion(again, TIME, q).save(folder / "walk.mot", overwrite=True)
    actuators = "".join(
        f'<CoordinateActuator name="{name}"><coordinate>{name}</coordinate><optimal_force>2</optimal_force>'
        "</CoordinateActuator>" for name in names
    )  # fmt: skip
    (folder / "motors.xml").write_text(
        f'<OpenSimDocument Version="40000"><ForceSet><objects>{actuators}</objects></ForceSet></OpenSimDocument>'
    )
    tasks = "".join(
        f'<CMC_Joint name="{name}"><on>true</on><active>true false false</active><weight>{w}</weight>'
        f"<coordinate>{name}</coordinate></CMC_Joint>" for w, name in enumerate(names, start=1)
    )  # fmt: skip
    (folder / "tasks.xml").write_text(
        f'<OpenSimDocument Version="40000"><CMC_TaskSet><objects>{tasks}</objects></CMC_TaskSet></OpenSimDocument>'
    )
    (folder / "setup.xml").write_text(SETUP.format(replaces=replaces, body=body))
    return again


def test_a_setup_of_the_tool_runs(tmp_path):
    model = planar(tmp_path)
    written = run_setup(tmp_path / "setup.xml")
    assert {path.name for path in written} == {
        "adjusted.osim", "walk_controls.sto", "walk_controls.xml", "walk_pErr.sto", "walk_states.sto",
        "walk_avgResiduals.txt", "walk_Kinematics_q.sto", "walk_Kinematics_u.sto", "walk_Kinematics_dudt.sto",
        "walk_Actuation_force.sto", "walk_Actuation_speed.sto", "walk_Actuation_power.sto",
    }  # fmt: skip
    results = tmp_path / "Results"
    force = load_table(results / "walk_Actuation_force.sto")
    root = list(model.system.bodies[0].names_of_coordinates)
    assert np.abs(force[root].to_numpy()).max() <= BOUND + 0.1 * BOUND * np.sqrt(2)  # the center of mass is 0.1 m off
    assert_allclose(force, 2.0 * load_table(results / "walk_controls.sto"), atol=1e-9)
    errors = load_table(results / "walk_pErr.sto")
    q = load_table(results / "walk_Kinematics_q.sto")
    assert list(errors.columns) == list(model.system.coordinate_names)
    assert 1e-4 < np.abs(errors.to_numpy()).max() < 0.1
    assert list(q.columns) == list(model.system.coordinate_names)
    again = mq.load_model(tmp_path / "adjusted.osim", "file")
    assert again.system.bodies[0].mass == 30.0
    assert "FX average" in (results / "walk_avgResiduals.txt").read_text()
    assert "ControlLinear" in (results / "walk_controls.xml").read_text()


@pytest.mark.filterwarnings("ignore:.*toe.angle:myoquat.analysis.motion.MotionWarning")
def test_the_task_of_a_coupled_coordinate_is_one_of_its_driver(tmp_path):
    model, moved = planar(tmp_path), []
    toe = on_hinge("toe", parent="leg", position=(0.0, -0.3, 0.0), **LEG)
    coupler = Coupler("swing", "toe.angle", "leg.angle", mq.joints.functions.Linear(0.5))
    bodies = (*model.system.bodies, toe)
    mq.Model(replace(model.system, bodies=bodies), couplers=(coupler,)).save(tmp_path / "leg.osim", overwrite=True)
    (tmp_path / "setup.xml").write_text(SETUP.format(replaces="true", body="trunk"))
    tasks = (tmp_path / "tasks.xml").read_text()
    for name in ("leg.angle", "toe.angle"):
        (tmp_path / "tasks.xml").write_text(tasks.replace("<coordinate>leg.angle", f"<coordinate>{name}"))
        run_setup(tmp_path / "setup.xml")
        moved.append(load_table(tmp_path / "Results/walk_Kinematics_q.sto"))
    assert_allclose(*moved, atol=1e-9)


def test_averages_are_those_of_the_actuators(tmp_path):
    """Of their file, as in OpenSim's RRATool, although the bounds hold along the ground's axes."""
    planar(tmp_path)
    motors = tmp_path / "motors.xml"
    name = re.findall('name="(.*?)"', motors.read_text())[1]
    tilted = "<body>trunk</body><direction>0.8 0.6 0</direction><optimal_force>2</optimal_force>"
    point = f'<PointActuator name="FX">{tilted}</PointActuator>'
    motors.write_text(re.sub(f'<CoordinateActuator name="{name}">.*?</CoordinateActuator>', point, motors.read_text()))
    run_setup(tmp_path / "setup.xml")
    reported = re.findall("FX average = (.*)", (tmp_path / "Results/walk_avgResiduals.txt").read_text())
    mean = load_table(tmp_path / "Results/walk_Actuation_force.sto")["FX"].mean()
    assert_allclose(float(reported[0]), mean, rtol=1e-4)


def test_analyses_of_the_tool_run_and_others_are_named(tmp_path):
    """OpenSim's tool runs those of its setup, and adds Kinematics and Actuation where there is none."""
    planar(tmp_path)
    analyses = '<Kinematics name="K"/><BodyKinematics name="B"/><ProbeReporter name="probes"/>'
    setup = tmp_path / "setup.xml"
    analyses = f"<AnalysisSet><objects>{analyses}</objects></AnalysisSet><results"
    setup.write_text(setup.read_text().replace("<results", analyses))
    with pytest.warns(mo.MotionWarning, match="^<ProbeReporter> probes is left out"):
        names = {path.name for path in run_setup(setup)}
    assert {"walk_K_q.sto", "walk_B_pos_global.sto", "walk_Actuation_force.sto"} < names
    assert "walk_Kinematics_q.sto" not in names


def test_setups_that_mean_something_else_are_rejected(tmp_path):
    for replaces, body, message in (
        ("false", "trunk", "<replace_force_set> must be true"),
        ("true", "", "<adjust_com_to_reduce_residuals> needs <adjusted_com_body>"),
        ("true", "chest", "chest"),
    ):
        planar(tmp_path, replaces, body)
        with pytest.raises(ValueError, match=message):
            run_setup(tmp_path / "setup.xml")
