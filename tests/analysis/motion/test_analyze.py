"""AnalyzeTool: its tables from coordinates and from states, beside those of OpenSim."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fuzz.setups import ANALYSES, MOVES, MUSCLES, OPTIMAL, REACTIONS

import myoquat as mq
from myoquat.analysis.motion.inverse_kinematics import MotionWarning
from myoquat.analysis.motion.smoothing import smooth_angles
from myoquat.apps.opensim_tools import run_setup
from myoquat.apps.opensim_tools.moving import assembled_motion
from myoquat.data import Motion, load_table, motion_from_states, save_table
from myoquat.data.setups import read_setup
from myoquat.data.storage import write_motion
from myoquat.joints import ModelError
from myoquat.joints.functions import Linear, Polynomial
from myoquat.muscle import Muscle, PathPoint, PrescribedInput, equilibrium_states
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.coordinates import Coupler
from myoquat.muscle.laws import Blankevoort1991, Ligament, Millard2012, PathSpring
from myoquat.muscle.states import state_names
from tests.analysis.motion.conftest import edited
from tests.bodies import limbs

SMALL_LEG = Path(__file__).parents[2] / "data" / "small_leg.osim"

CONTROLS = """<ControlSetController><controls_file>controls.xml</controls_file></ControlSetController>"""
SET = """<OpenSimDocument Version="40000"><ControlSet><objects><ControlLinear name="motor.excitation"><x_nodes>
<ControlLinearNode><t>0</t><value>-1</value></ControlLinearNode>
<ControlLinearNode><t>0.5</t><value>2</value></ControlLinearNode></x_nodes></ControlLinear></objects></ControlSet>
</OpenSimDocument>"""
RESERVES = """<OpenSimDocument Version="40000"><ForceSet><defaults><CoordinateActuator name="default">
<optimal_force>2</optimal_force></CoordinateActuator></defaults><objects>{0}</objects></ForceSet></OpenSimDocument>"""
RESERVE = """<CoordinateActuator name="{0}"><coordinate>{1}</coordinate><min_control>-Inf</min_control>
<max_control>Inf</max_control></CoordinateActuator>"""


@pytest.fixture(scope="module")
def arm():
    """Two links in a plane and a muscle over both."""
    path = (PathPoint("ground", (0.1, 0.1, 0.0)), PathPoint("foot", (0.05, -0.1, 0.0)))
    muscle = Muscle("calf", path, law=Millard2012(500.0, 0.3, 0.25, tendon="rigid", damping=0.0))
    return mq.Model(limbs(0.5, shank="knee", foot="ankle"), (muscle,), name="arm")


@pytest.fixture(scope="module")
def leg():
    """The small leg without locks, couplers and motors, with a pennate muscle of Millard."""
    model = mq.load_model(SMALL_LEG)
    free = tuple(replace(c, locked=False) for c in model.coordinates)
    changed = replace(model.muscles[2], law=Millard2012(700.0, 0.2, model.muscles[2].law.tendon_slack_length, 0.4))
    muscles = *model.muscles[:2], changed, *model.muscles[3:]
    return replace(model, couplers=(), coordinates=free, actuators=(), muscles=muscles)


def written(model, folder):
    """The model, a slow walk with activations and fibers, reserves and controls in files."""
    model.save(folder / "leg.osim")
    t = np.arange(60) / 100
    names = model.system.coordinate_names
    phases = 3 * t[:, None] + np.arange(model.system.nq)
    q, u = model.start + 0.1 * np.sin(phases), 0.3 * np.cos(phases)
    a = 0.3 + 0.2 * np.sin(4 * t[:, None] + np.arange(len(model.muscles)))
    fibers = 1.01 * equilibrium_states(model, q, a) if state_names(model) else None
    states = motion_from_states(model, t, q, u, activation=a, muscle_states=fibers)
    write_motion(states, folder / "walk.sto", in_degrees=False, name="states")
    reserves = [RESERVE.format("motor" if k == 0 else f"reserve_{n}", n) for k, n in enumerate(names)]
    (folder / "reserves.xml").write_text(RESERVES.format("".join(reserves)))
    (folder / "controls.xml").write_text(SET)
    return folder


@pytest.fixture
def folder(arm, tmp_path):
    return written(arm, tmp_path)


def setup(folder, source, analyses, controllers=""):
    """The file of a setup."""
    path = folder / "setup.xml"
    path.write_text(ANALYSES.format(source=source, analyses=analyses, controllers=controllers))
    return path


def test_reserves_make_up_for_what_muscles_do_not_give(folder, arm):
    run_setup(setup(folder, "coordinates", OPTIMAL.format(power=3)))
    found = load_table(folder / "out" / "walk_Optimal_activation.sto")
    assert list(found) == ["calf", "motor", "reserve_ankle"]
    forces = load_table(folder / "out" / "walk_Optimal_force.sto")
    assert np.allclose(forces["motor"], 2 * found["motor"])
    fit = smooth_angles(mq.data.load_motion(folder / "walk.sto", arm), None).between(0.095, 0.405)
    J = mq.path_jacobian(arm, fit.q)[:, 0]
    given = -J * forces["calf"].to_numpy()[:, None] + forces[["motor", "reserve_ankle"]].to_numpy()
    assert np.allclose(given, mq.inverse_dynamics(arm, fit.q, fit.u, fit.udot), atol=1e-3)
    price = 3 * found[["motor", "reserve_ankle"]].to_numpy() ** 2 / 2  # of a torque, at the least effort
    signs = np.sign(found[["motor", "reserve_ankle"]].to_numpy())
    slope = 3 * found["calf"] ** 2 - (price * signs * -J * (forces["calf"] / found["calf"]).to_numpy()[:, None]).sum(-1)
    free = (found["calf"] > 0.011) & (found["calf"] < 0.99)
    assert np.allclose(slope[free], 0.0, atol=1e-6)


def test_what_is_not_known_is_left_out_by_name(folder):
    path = setup(folder, "coordinates", MOVES + MUSCLES + '<InducedAccelerations name="forces"/>')
    with pytest.warns(MotionWarning) as messages:
        files = run_setup(path)
    words = " ".join(str(warning.message) for warning in messages)
    for name in ("<InducedAccelerations> forces", "walk_Kinematics_dudt.sto", "forces, fibers and tendons"):
        assert f"{name} " in words, name
    assert {p.name for p in files} >= {"walk_Kinematics_u.sto", "walk_Muscles_Length.sto"}
    with pytest.raises(ModelError, match="needs <forces_file>"):
        run_setup(setup(folder, "coordinates", REACTIONS))


def test_times_that_a_setup_lacks_are_opensims(folder):
    path = setup(folder, "coordinates", '<Kinematics name="K"/>')
    edited(path, "<final_time>0.4</final_time>", "")
    with pytest.warns(UserWarning, match="default where there is no <final_time>, 1 s"):
        assert read_setup(path).times == (0.1, 1.0)


@pytest.mark.filterwarnings("ignore:.*left out:myoquat.analysis.motion.MotionWarning")
def test_speeds_of_a_file_are_taken(folder):
    """In radians per second, beside the coordinates, whatever their slopes."""
    tables = []
    speeds = load_table(folder / "walk.sto").filter(regex="(speed|_u)$")
    for more in (None, 0.0, 0.3):
        path = setup(folder, "coordinates", MOVES)
        if more is not None:
            mq.data.save_table(
                speeds + more * np.sin(9 * speeds.index.to_numpy())[:, None], folder / "u.sto", overwrite=True
            )
            edited(path, "<initial_time>", "<speeds_file>u.sto</speeds_file><initial_time>")
        run_setup(path)
        tables.append(load_table(folder / "out" / "walk_Kinematics_u.sto"))
    t = tables[0].index.to_numpy()[:, None]
    assert np.allclose(tables[1], tables[0], atol=0.2)  # degrees per second, the tool's splines beside the truth
    assert np.allclose(tables[2] - tables[1], np.degrees(0.3 * np.sin(9 * t)), atol=1e-9)
    mq.data.save_table(speeds.iloc[:, :1], folder / "u.sto", overwrite=True)
    with pytest.raises(ModelError, match="no column ankle_u"):
        run_setup(path)


def test_forces_hold_their_ends_for_half_a_step(folder):
    """Of files that a tool has resampled; longer ends are refused with the file. Without an actuator none is used: the
    motor of 2 N m has controls from -1 at 0 s to 2 at 0.5 s."""
    reactions = '<JointReaction name="R"><forces_file>f.sto</forces_file></JointReaction>'
    path = setup(folder, "states", reactions, CONTROLS)
    time = np.linspace(0.1001, 0.3999, 30)
    table = pd.DataFrame({"calf": 50 + time, "motor": 7 * time, "reserve_ankle": 0.0}, pd.Index(time, name="time"))
    moment = "shank_on_shank_in_ground_mz"
    save_table(table.drop(columns="motor"), folder / "f.sto")
    with pytest.warns(MotionWarning, match="f.sto is not used: it lacks motor"):
        run_setup(path)
    found = load_table(folder / "out" / "walk_R_ReactionLoads.sto")[moment]
    np.testing.assert_allclose(found, 12.0 * found.index - 2.0, atol=1e-9)
    save_table(table, folder / "f.sto", overwrite=True)
    run_setup(path)
    found = load_table(folder / "out" / "walk_R_ReactionLoads.sto")[moment]
    np.testing.assert_allclose(found, 7.0 * found.index.to_numpy().clip(*time[[0, -1]]), atol=1e-9)
    save_table(table.set_index(table.index - 0.1), folder / "f.sto", overwrite=True)
    with pytest.raises(ModelError, match=r"f\.sto: forces are needed from 0\.1 to 0\.4 s, and given from"):
        run_setup(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<step_interval>4", "<step_interval>0.5", "<step_interval> must be a count of frames"),
        ("<point_name>tip", "<point_name>../tip", "holds a separator"),
        ("walk.sto", "run.sto", "which does not exist"),
        ("reserves.xml", "controls.xml", "the file holds no <ForceSet>"),
        ("<body_name>foot", "<body_name>fist", "no body 'fist'"),
    ],
)
def test_broken_analyses_are_named(folder, old, new, message):
    path = edited(setup(folder, "states", MOVES), old, new)
    with pytest.raises(ValueError, match=message):
        run_setup(path)
    assert not (folder / "out").exists()


@pytest.mark.filterwarnings("ignore:.*left out:myoquat.analysis.motion.MotionWarning")
def test_a_driven_coordinate_takes_its_driver_along(leg, tmp_path):
    """The moment arm about y = x / 2 is twice that about x, which moves both: OpenSim 4.6 writes the same."""
    whole = mq.load_model(SMALL_LEG)
    folder = written(replace(leg, couplers=whole.couplers), tmp_path)
    (coupler,) = whole.couplers
    with pytest.warns(MotionWarning, match="couplers of the model drive them"):
        run_setup(setup(folder, "coordinates", MUSCLES))
    driver, driven = (
        load_table(folder / "out" / f"walk_Muscles_MomentArm_{name}.sto")
        for name in (coupler.independent, coupler.dependent)
    )
    assert driver.abs().to_numpy().max() > 0.05
    np.testing.assert_allclose(driven * coupler.function.factor, driver, atol=1e-12)


TIME = np.linspace(0.0, 0.2, 5)
KNEE, SPEED = np.sin(3 * TIME), 3 * np.cos(3 * TIME)


@pytest.mark.parametrize("columns", [("knee",), ("knee", "beta")])
def test_a_coupler_drives_its_coordinate_whatever_the_table_has(tmp_path, columns):
    """beta = 0.1 + knee / 2 + 2 knee^2, in closed form; the table lacks it, or has it wrong: in degrees, for example,
    which is far away."""
    follower = Coupler("slides", "beta", "knee", Polynomial((0.1, 0.5, 2.0)))
    model, path = mq.Model(limbs(shin="knee", patella="beta"), couplers=(follower,)), tmp_path / "motion.sto"
    save_table(pd.DataFrame(dict.fromkeys(columns, KNEE), index=pd.Index(TIME, name="time")), path, in_degrees=False)
    wrong = Motion(model, TIME, np.stack([KNEE, 300.0 + 0.7 * KNEE], axis=1), np.stack([SPEED, 0.0 * SPEED], axis=1))
    message = "has no column for beta: couplers" if len(columns) == 1 else "is off coordinate coupler 'slides' by 300"
    with pytest.warns(MotionWarning, match=message):
        found = assembled_motion(model, wrong, path)
    np.testing.assert_allclose(found.q, np.stack([KNEE, 0.1 + KNEE / 2 + 2 * KNEE**2], axis=1), atol=1e-9)
    np.testing.assert_allclose(found.u, np.stack([SPEED, (0.5 + 4 * KNEE) * SPEED], axis=1), atol=1e-9)


THEIRS = """
import os
os.chdir(arguments[0])
tool = opensim.AnalyzeTool("setup.xml")
tool.setResultsDir("theirs")
assert tool.run()
answer = True
"""


FORCES = "".join(
    f'<JointReaction name="{n}"><forces_file>{n}.sto</forces_file></JointReaction>' for n in ("all", "lacking")
)
REPORTER = """<ForceReporter name="Forces"/><StatesReporter name="States"/>"""
LOADED = "<external_loads_file>loads.xml</external_loads_file>"
PUSHED = [f"{part}{axis}" for part in ("v", "p", "m") for axis in "xyz"]
LOADS = """<OpenSimDocument Version="40000"><ExternalLoads name="loads"><objects>
<ExternalForce name="push"><applied_to_body>foot</applied_to_body><force_expressed_in_body>shank
</force_expressed_in_body><point_expressed_in_body>ground</point_expressed_in_body><force_identifier>v</force_identifier>
<point_identifier>p</point_identifier><torque_identifier>m</torque_identifier></ExternalForce>
<ExternalForce name="turn"><applied_to_body>shank</applied_to_body><force_expressed_in_body>ground
</force_expressed_in_body><torque_identifier>m</torque_identifier></ExternalForce>
<ExternalForce name="pull"><applied_to_body>shank</applied_to_body><force_expressed_in_body>ground
</force_expressed_in_body><force_identifier>v</force_identifier></ExternalForce></objects>
<datafile>pushed.sto</datafile></ExternalLoads></OpenSimDocument>"""


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:.*lacking.sto is not used. it lacks own:myoquat.analysis.motion.MotionWarning")
@pytest.mark.parametrize("source", ["states", "coordinates"])
def test_files_are_those_of_opensim(leg, tmp_path, in_opensim, source):
    """Every table that is written, column by column; of static optimization no greater effort. Controllers of the model
    and of the setup add up."""
    own = CoordinateActuator("own", leg.system.coordinate_names[0])
    path = leg.muscles[0].path
    laws = {"cord": Ligament(100.0, 0.2), "band": PathSpring(500.0, 0.2, 0.01), "cross": Blankevoort1991(500.0, 0.2)}
    elastic = tuple(Muscle(name, (path.points[0], path.points[-1]), law) for name, law in laws.items())
    muscles = (*leg.muscles, *elastic) if source == "states" else leg.muscles
    inputs = (PrescribedInput("own", Linear(9.0)),)
    folder = written(replace(leg, muscles=muscles, actuators=(own,), inputs=inputs), tmp_path)
    (folder / "controls.xml").write_text(SET.replace("motor", "own"))
    analyses = MOVES + MUSCLES + REACTIONS + REPORTER + FORCES if source == "states" else OPTIMAL.format(power=2)
    path = setup(folder, source, analyses, CONTROLS if source == "states" else "")
    edited(path, "<AnalysisSet>", f"{LOADED}<AnalysisSet>")
    (folder / "loads.xml").write_text(LOADS)
    t = np.arange(60)[:, None] / 100
    pushed = pd.DataFrame(10 * np.sin(3 * t + np.arange(9)), pd.Index(t[:, 0], name="time"), PUSHED)
    save_table(pushed, folder / "pushed.sto")
    reserves = [f"reserve_{n}" for n in leg.system.coordinate_names[1:]]
    names = [*leg.muscle_names, "motor", *reserves, "own"]
    forces = pd.DataFrame(50 + 10 * np.sin(t + np.arange(len(names))), pushed.index, names)
    save_table(forces, folder / "all.sto")
    save_table(forces.iloc[:, :-1], folder / "lacking.sto")
    in_opensim(THEIRS, str(folder))
    for path in run_setup(folder / "setup.xml"):
        ours, theirs = load_table(path), load_table(folder / "theirs" / path.name)
        assert set(ours) <= set(theirs), path.name
        assert "States" not in path.name or list(ours) == list(theirs)
        assert np.allclose(ours.index, theirs.index, atol=1e-9)
        if path.name.endswith("Optimal_activation.sto"):
            efforts = [(table[ours.columns] ** 2).sum(axis=1).to_numpy() for table in (ours, theirs)]
            assert (efforts[0] <= efforts[1] * (1 + 1e-6)).all()
        elif "Optimal" not in path.name:
            scale = theirs.abs().to_numpy().max()
            assert np.abs(ours - theirs[ours.columns]).max(axis=None) <= 1e-8 * scale + 1e-12, path.name
    if source == "coordinates":
        strengths = [_strengths(folder / place, leg.muscle_names) for place in ("out", "theirs")]
        np.testing.assert_allclose(strengths[0], strengths[1], rtol=1e-7)


def _strengths(folder, names):
    """Forces per activation, of pennate muscles too: OpenSim takes some without the cosine."""
    force, activation = (load_table(folder / f"walk_Optimal_{quantity}.sto") for quantity in ("force", "activation"))
    return (force / activation)[list(names)].to_numpy()
